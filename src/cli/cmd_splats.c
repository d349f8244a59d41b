/* cmd_splats.c -- `reln splats`: describes a file of splats or a mesh, and makes arrays for `reln fit` from
 * such files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "tasks/splats/data.h"

static const char help[] =
    "info reads a file of 3-D Gaussian splats (.ply, .splat) piece by piece, so memory does not "
    "grow\n"
    "with the file, and prints their number, extent, sizes and opacities; for a mesh (.off) it "
    "prints\n"
    "the number of triangles and their area. --report writes a page with histograms and a "
    "picture.\n"
    "convert makes arrays of sets for reln fit, from a file or from a folder with one subfolder "
    "for\n"
    "each class (CLASS/FILE, or CLASS/train/FILE and CLASS/test/FILE), also of meshes (.off): the\n"
    "--splats farthest splats of each object, centred in the unit ball.\n"
    "\n"
    "  reln splats info scene.ply\n"
    "  reln splats info scene.ply --report scene.html\n"
    "  reln splats convert ModelNet10 --out sets.npz\n"
    "  reln data sets.npz\n";

/* ---- info -------------------------------------------------------------------------------------------------------------- */

enum { PIECE = 4096, SHOWN = 3000, BINS = 120 };

/* Bins counts the numbers of all splats in bins of equal width. */
typedef struct Bins {
    double low, width; /* of the first bin */
    double count[BINS];
    double least, most;
} Bins;

static void bins_add(Bins *b, double x)
{
    const double i = floor((x - b->low) / b->width);

    b->count[i < 0 ? 0 : i >= BINS ? BINS - 1 : (int)i]++;
    b->least = fmin(b->least, x);
    b->most = fmax(b->most, x);
}

/* Returns the value below which a share lies, to the width of a bin. */
static double bins_share(const Bins *b, double n, double share)
{
    double sum = 0;

    for (int i = 0; i < BINS; i++) {
        sum += b->count[i];
        if (sum >= share * n)
            return fmin(b->most, fmax(b->least, b->low + (i + 0.5) * b->width));
    }
    return b->most;
}

typedef struct Survey {
    RelnSplatInfo info;
    double low[3], high[3];
    Bins opacity, scale[3];     /* scale: log10 of the longest, middle, shortest */
    ptrdiff_t n, shown;         /* n: number of splats, or of vertices of a mesh */
    ptrdiff_t triangles;        /* number of triangles of a mesh; -1 for splats */
    double area;                /* total area of its triangles */
    double (*rows)[RELN_SPLAT]; /* (SHOWN): each splat with the same chance */
} Survey;

static void survey_open(Survey *s)
{
    s->triangles = -1;
    s->opacity = (Bins){.low = 0, .width = 1.0 / BINS, .least = HUGE_VAL, .most = -HUGE_VAL};
    for (int a = 0; a < 3; a++) {
        s->scale[a] = (Bins){.low = -9, .width = 12.0 / BINS, .least = HUGE_VAL, .most = -HUGE_VAL};
        s->low[a] = HUGE_VAL;
        s->high[a] = -HUGE_VAL;
    }
}

static void survey_add(Survey *s, RelnRng *rng, const double *row)
{
    double t[3] = {row[RELN_SPLAT_SCALE], row[RELN_SPLAT_SCALE + 1], row[RELN_SPLAT_SCALE + 2]};
    const uint64_t place = s->n < SHOWN ? (uint64_t)s->n : reln_rng_below(rng, (uint64_t)s->n + 1);

    for (int i = 0; i < 3; i++) /* descending */
        for (int j = i + 1; j < 3; j++)
            if (t[j] > t[i]) {
                const double kept = t[i];
                t[i] = t[j];
                t[j] = kept;
            }
    for (int a = 0; a < 3; a++) {
        s->low[a] = fmin(s->low[a], row[a]);
        s->high[a] = fmax(s->high[a], row[a]);
        bins_add(&s->scale[a], log10(fmax(t[a], 1e-30)));
    }
    bins_add(&s->opacity, row[RELN_SPLAT_OPACITY]);
    if (place < SHOWN)
        memcpy(s->rows[place], row, sizeof s->rows[0]);
    s->n++;
    s->shown = s->n < SHOWN ? s->n : SHOWN;
}

static RelnStatus survey_file(RelnCtx *ctx, const char *path, double *piece, Survey *s)
{
    RelnRng rng = reln_rng(1, 1);
    RelnSplatFile *file = NULL;
    RelnStatus status = reln_splats_open(ctx, path, &file);
    ptrdiff_t n = 1;

    survey_open(s);
    if (status == RELN_OK)
        s->info = reln_splats_info(file);
    while (status == RELN_OK && n > 0) {
        status = reln_splats_read(file, PIECE, piece, &n);
        for (ptrdiff_t i = 0; status == RELN_OK && i < n; i++)
            survey_add(s, &rng, piece + i * RELN_SPLAT);
    }
    reln_splats_close(file);
    return status;
}

static double triangle_area(const RelnMesh *mesh, ptrdiff_t t)
{
    const double *a = mesh->vertices + 3 * (ptrdiff_t)mesh->triangles[3 * t],
                 *b = mesh->vertices + 3 * (ptrdiff_t)mesh->triangles[3 * t + 1],
                 *c = mesh->vertices + 3 * (ptrdiff_t)mesh->triangles[3 * t + 2];
    double square = 0;

    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        const double x = (b[j] - a[j]) * (c[k] - a[k]) - (b[k] - a[k]) * (c[j] - a[j]);

        square += x * x;
    }
    return sqrt(square) / 2;
}

/* Draws points of the surface, which represent it in pictures. A mesh without area has none. */
static RelnStatus survey_surface(const RelnMesh *mesh, Survey *s)
{
    RelnRng rng = reln_rng(1, 1);
    double *room = malloc((size_t)mesh->n_triangles * sizeof *room),
           *points = malloc(SHOWN * 3 * sizeof *points);
    RelnStatus status =
        room && points ? reln_mesh_sample(mesh, &rng, SHOWN, room, points) : RELN_ERR_NOMEM;

    for (ptrdiff_t i = 0; status == RELN_OK && i < SHOWN; i++)
        memcpy(s->rows[i], points + 3 * i, 3 * sizeof *points);
    s->shown = status == RELN_OK ? SHOWN : 0;
    free(room);
    free(points);
    return status;
}

static RelnStatus survey_mesh(RelnCtx *ctx, const char *path, Survey *s)
{
    RelnMesh mesh = {0};
    RelnStatus status = reln_off_load(ctx, path, &mesh);

    survey_open(s);
    s->info = (RelnSplatInfo){.format = "off, mesh"};
    s->n = mesh.n_vertices;
    s->triangles = mesh.n_triangles;
    for (ptrdiff_t i = 0; status == RELN_OK && i < 3 * s->n; i++) {
        s->low[i % 3] = fmin(s->low[i % 3], mesh.vertices[i]);
        s->high[i % 3] = fmax(s->high[i % 3], mesh.vertices[i]);
    }
    for (ptrdiff_t t = 0; status == RELN_OK && t < s->triangles; t++)
        s->area += triangle_area(&mesh, t);
    if (status == RELN_OK && s->area > 0)
        status = survey_surface(&mesh, s);
    reln_mesh_clear(&mesh);
    return status;
}

static const char *const scale_names[3] = {"longest scale", "middle scale", "shortest scale"};

static void table_row(RelnTable *table, const char *name, double low, double middle, double high,
                      double least, double most)
{
    reln_table_row(table);
    reln_table_text(table, name);
    reln_table_number(table, least, 3);
    for (int i = 0; i < 3; i++) {
        const double x = i == 0 ? low : i == 1 ? middle : high;

        if (isnan(x))
            reln_table_text(table, "");
        else
            reln_table_number(table, x, 2);
    }
    reln_table_number(table, most, 3);
}

static RelnTable *table_of(RelnCtx *ctx, const Survey *s)
{
    static const char *const heads[6] = {"", "least", "10 %", "50 %", "90 %", "most"};
    static const char *const axes[3] = {"x", "y", "z"};
    RelnTable *table = NULL;
    const double n = (double)s->n;

    if (reln_table_create(ctx, &table) != RELN_OK)
        return NULL;
    for (int i = 0; i < 6; i++)
        reln_table_column(table, heads[i], i ? RELN_COL_RIGHT : RELN_COL_LEFT);
    for (int a = 0; a < 3 && s->n > 0; a++)
        table_row(table, axes[a], (double)NAN, (double)NAN, (double)NAN, s->low[a], s->high[a]);
    if (s->triangles >= 0)
        return table;
    if (s->n > 0)
        table_row(table, "opacity", bins_share(&s->opacity, n, 0.1),
                  bins_share(&s->opacity, n, 0.5), bins_share(&s->opacity, n, 0.9),
                  s->opacity.least, s->opacity.most);
    for (int a = 0; a < 3 && s->n > 0; a++) {
        const Bins *b = &s->scale[a];

        table_row(table, scale_names[a], pow(10, bins_share(b, n, 0.1)),
                  pow(10, bins_share(b, n, 0.5)), pow(10, bins_share(b, n, 0.9)), pow(10, b->least),
                  pow(10, b->most));
    }
    reln_table_note(table, "Shares of opacity and scale are to the width of a bin.");
    return table;
}

static CliExit print_info(RelnCtx *ctx, const char *path, const Survey *s)
{
    RelnTable *table = table_of(ctx, s);
    CliExit code;

    if (!table)
        return cli_fail(CLI_NOMEM, "out of memory");
    cli_print_clean(stdout, path);
    if (s->triangles >= 0)
        printf(": %s, %td vertices, %td triangles of area %.4g\n", s->info.format, s->n,
               s->triangles, s->area);
    else
        printf(": %s, %td splats, %d coefficients of higher harmonics each\n", s->info.format, s->n,
               s->info.rest);
    code = cli_print_table(ctx, table);
    reln_table_destroy(table);
    return code;
}

static CliExit print_info_json(RelnCtx *ctx, const char *path, const Survey *s)
{
    RelnDoc *doc = NULL;
    RelnDocNode *root, *map;
    static const char *const keys[3] = {"scale_longest", "scale_middle", "scale_shortest"};
    const double n = (double)s->n;

    if (reln_doc_create(ctx, &doc) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory");
    root = reln_doc_root_map(doc);
    reln_doc_set_text(doc, root, "file", path);
    reln_doc_set_text(doc, root, "format", s->info.format);
    if (s->triangles >= 0) {
        reln_doc_set_number(doc, root, "vertices", n);
        reln_doc_set_number(doc, root, "triangles", (double)s->triangles);
        reln_doc_set_number(doc, root, "area", s->area);
    } else {
        reln_doc_set_number(doc, root, "splats", n);
        reln_doc_set_number(doc, root, "higher_harmonics", s->info.rest);
    }
    for (int end = 0; end < 2 && s->n > 0; end++) {
        map = reln_doc_set(doc, root, end ? "most" : "least", reln_doc_list(doc));
        for (int a = 0; a < 3; a++)
            reln_doc_set_number(doc, map, NULL, end ? s->high[a] : s->low[a]);
    }
    if (s->triangles >= 0)
        return cli_print_doc(doc, root);
    if (s->n > 0)
        reln_doc_set_number(doc, root, "opacity_median", bins_share(&s->opacity, n, 0.5));
    for (int a = 0; a < 3 && s->n > 0; a++)
        reln_doc_set_number(doc, root, keys[a], pow(10, bins_share(&s->scale[a], n, 0.5)));
    return cli_print_doc(doc, root);
}

/* ---- the page ------------------------------------------------------------------------------------------------------------ */

static void draw_bins(RelnPage *page, const char *title, const char *label, int n, const Bins *bins,
                      const char *const *names)
{
    RelnPlot *plot = reln_page_plot(page, title);
    double x[BINS];

    reln_plot_x(plot, label, RELN_AXIS_LINEAR);
    reln_plot_y(plot, "splats", RELN_AXIS_LINEAR);
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < BINS; i++)
            x[i] = bins[k].low + i * bins[k].width;
        reln_plot_series(plot, &(RelnSeries){.name = names ? names[k] : NULL,
                                             .mark = RELN_MARK_STEP,
                                             .n = BINS,
                                             .x = x,
                                             .y = bins[k].count});
    }
}

static void draw_points(RelnPage *page, const Survey *s, int a, int b, double *xy)
{
    static const char *const axes[3] = {"x", "y", "z"};
    RelnPlot *plot = reln_page_plot(page, "Positions");

    for (ptrdiff_t i = 0; i < s->shown; i++) {
        xy[i] = s->rows[i][a];
        xy[SHOWN + i] = s->rows[i][b];
    }
    reln_plot_x(plot, axes[a], RELN_AXIS_LINEAR);
    reln_plot_y(plot, axes[b], RELN_AXIS_LINEAR);
    reln_plot_equal_aspect(plot);
    reln_plot_points(plot, NULL, s->shown, xy, xy + SHOWN);
}

static CliExit write_page(RelnCtx *ctx, const char *file, const char *out, const Survey *s)
{
    const bool mesh = s->triangles >= 0;
    double *xy = malloc(2 * SHOWN * sizeof *xy);
    RelnTable *table = table_of(ctx, s);
    RelnPage *page = NULL;
    const char *text = NULL;
    size_t n_bytes = 0;
    RelnStatus status = xy && table
                            ? reln_page_create(ctx, mesh ? "Mesh" : "Gaussian splats", &page)
                            : RELN_ERR_NOMEM;

    if (status == RELN_OK) {
        reln_page_text(page, "%s: %s, %td %s. Pictures show at most %d %s.", file, s->info.format,
                       s->n, mesh ? "vertices" : "splats", SHOWN,
                       mesh ? "points of the surface" : "of them");
        reln_page_table(page, table);
        reln_page_columns(page, 2);
        draw_points(page, s, 0, 2, xy);
        draw_points(page, s, 0, 1, xy);
        if (!mesh) {
            draw_bins(page, "Opacities", "opacity", 1, &s->opacity, NULL);
            draw_bins(page, "Scales", "log10 of a scale", 3, s->scale, scale_names);
        }
        status = reln_page_html(page, &text, &n_bytes);
    }
    if (status == RELN_OK)
        status = reln_file_write(ctx, out, text, n_bytes);
    reln_page_destroy(page);
    reln_table_destroy(table);
    free(xy);
    return status == RELN_OK ? CLI_DONE : cli_fail(cli_exit_of(status), "%s", reln_ctx_error(ctx));
}

static bool is_mesh(const char *path)
{
    const size_t n = strlen(path);

    return n > 4 && strcmp(path + n - 4, ".off") == 0;
}

static CliExit info(RelnCtx *ctx, const CliArgs *args)
{
    Survey s = {.rows = malloc(SHOWN * sizeof *s.rows)};
    double *piece = malloc((size_t)PIECE * RELN_SPLAT * sizeof *piece);
    CliExit code;
    RelnStatus status;

    if (!s.rows || !piece) {
        code = cli_fail(CLI_NOMEM, "out of memory");
    } else {
        status = is_mesh(args->operands[1]) ? survey_mesh(ctx, args->operands[1], &s)
                                            : survey_file(ctx, args->operands[1], piece, &s);
        if (status != RELN_OK)
            code = cli_fail(cli_exit_of(status), "%s",
                            status == RELN_ERR_NOMEM ? "out of memory" : reln_ctx_error(ctx));
        else
            code = args->json ? print_info_json(ctx, args->operands[1], &s)
                              : print_info(ctx, args->operands[1], &s);
        if (code == CLI_DONE && args->report)
            code = write_page(ctx, args->operands[1], args->report, &s);
    }
    free(s.rows);
    free(piece);
    return code;
}

/* ---- convert --------------------------------------------------------------------------------------------------------------- */

/* Saves the arrays of a set of objects: position (N, n, 3), covariance (N, n, 3, 3), opacity (N, n), colour
 * (N, n, 3), label (N). */
static RelnStatus save(RelnCtx *ctx, const char *path, const SplatsObjects *o)
{
    const ptrdiff_t n = o->n * o->splats;
    double *position = malloc((size_t)n * 3 * sizeof *position),
           *covariance = malloc((size_t)n * 9 * sizeof *covariance),
           *opacity = malloc((size_t)n * sizeof *opacity),
           *colour = malloc((size_t)n * 3 * sizeof *colour);
    RelnStatus status = RELN_ERR_NOMEM;

    if (position && covariance && opacity && colour) {
        const RelnArray arrays[] = {
            {.name = "position",
             .rank = 3,
             .dims = {o->n, o->splats, 3},
             .dtype = RELN_F64,
             .values = position},
            {.name = "covariance",
             .rank = 4,
             .dims = {o->n, o->splats, 3, 3},
             .dtype = RELN_F64,
             .values = covariance},
            {.name = "opacity",
             .rank = 3,
             .dims = {o->n, o->splats, 1},
             .dtype = RELN_F64,
             .values = opacity},
            {.name = "colour",
             .rank = 3,
             .dims = {o->n, o->splats, 3},
             .dtype = RELN_F64,
             .values = colour},
            {.name = "label", .rank = 1, .dims = {o->n}, .dtype = RELN_I32, .values = o->label}};

        splats_arrays(o, position, covariance, opacity, colour);
        status = reln_npz_save(ctx, path, 5, arrays);
    }
    free(position);
    free(covariance);
    free(opacity);
    free(colour);
    return status;
}

static CliExit fail_with(const TaskEnv *env, RelnStatus status)
{
    return cli_fail(cli_exit_of(status), "%s",
                    env->message[0] ? env->message : reln_ctx_error(env->ctx));
}

static CliExit convert(RelnCtx *ctx, const CliArgs *args)
{
    TaskEnv env = {.ctx = ctx, .task = task_find("splats")};
    SplatsObjects train = {0}, test = {0};
    const int n = args->splats ? (int)args->splats : 1024;
    const char *from = args->operands[1];
    RelnStatus status;
    CliExit code = CLI_DONE;

    if (!args->out)
        return cli_fail(CLI_USAGE, "splats: convert wants --out FILE.npz");
    status = reln_folder_exists(from) ? splats_from_folder(&env, from, n, &train, &test)
                                      : splats_from_file(&env, from, n, &train);
    if (status == RELN_OK)
        status = save(ctx, args->out, &train);
    if (status == RELN_OK && test.n > 0) {
        char path[1024];

        snprintf(path, sizeof path, "%.*s-test.npz",
                 (int)(strlen(args->out) - (strlen(args->out) > 4 ? 4 : 0)), args->out);
        status = save(ctx, path, &test);
        if (status == RELN_OK && !args->quiet)
            fprintf(stderr, "reln: %td objects for testing in %s\n", test.n, path);
    }
    if (status != RELN_OK)
        code = fail_with(&env, status);
    else if (!args->quiet)
        fprintf(stderr, "reln: %td objects of %d splats in %s\n", train.n, n, args->out);
    task_release(&env);
    return code;
}

static CliExit run(RelnCtx *ctx, const CliArgs *args)
{
    if (args->n_operands == 2 && strcmp(args->operands[0], "info") == 0)
        return info(ctx, args);
    if (args->n_operands == 2 && strcmp(args->operands[0], "convert") == 0)
        return convert(ctx, args);
    return cli_fail(CLI_USAGE, "splats: wanted `info FILE` or `convert FILE-OR-FOLDER --out FILE`");
}

const CliCommand cli_cmd_splats = {
    .name = "splats",
    .synopsis = "splats info FILE [--report PAGE]\nsplats convert FILE-OR-FOLDER --out FILE.npz "
                "[--splats N]",
    .purpose = "describe files of 3-D Gaussian splats; make arrays from such files and meshes",
    .help = help,
    .options = CLI_OUT | CLI_SPLATS | CLI_REPORT,
    .max_operands = 2,
    .run = run,
};
