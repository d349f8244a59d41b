/* objects.c -- sets of objects: procedural ones, arrays of points, folders of meshes and splats. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "tasks/splats/data.h"

enum { MOST_SPLATS = 4096, MOST_OBJECTS = 1 << 20, MESH_POINTS = 8192, MESH_NEAR = 32, NEAR = 8 };

static RelnStatus open_objects(TaskEnv *env, ptrdiff_t n, int splats, int n_classes,
                               SplatsObjects *out)
{
    *out = (SplatsObjects){.n = n, .splats = splats, .n_classes = n_classes};
    out->rows = task_room(&env->rooms, (size_t)n * (size_t)splats, RELN_SPLAT * sizeof *out->rows);
    out->label = task_room(&env->rooms, (size_t)n, sizeof *out->label);
    return out->rows && out->label ? RELN_OK : task_nomem(env);
}

static void store(SplatsObjects *o, ptrdiff_t i, const double *rows)
{
    float *to = o->rows + i * o->splats * RELN_SPLAT;

    for (ptrdiff_t e = 0; e < (ptrdiff_t)o->splats * RELN_SPLAT; e++)
        to[e] = (float)rows[e];
}

/* ---- many objects at a time ------------------------------------------------------------------------------------------ */

/* A Making makes objects from random numbers or points, with all workers of the pool. */
typedef struct Making {
    SplatsObjects *out;
    int workers;
    uint64_t seed, first; /* procedural: seed, and the first number of a class */
    const double *points; /* or given points, (n, splats, 3) */
    size_t each;          /* numbers of a worker's scratch memory */
    double *room;
} Making;

static void make_part(void *user, int worker)
{
    const Making *m = user;
    SplatsObjects *o = m->out;
    double *rows = m->room + (size_t)worker * m->each,
           *room = rows + (size_t)o->splats * RELN_SPLAT;

    for (ptrdiff_t i = worker; i < o->n; i += m->workers) {
        if (m->points) {
            double *points = room + RELN_SPLATS_ROOM(o->splats);
            RelnRng rng = reln_rng(m->seed, (uint64_t)i);

            memcpy(points, m->points + i * o->splats * 3, (size_t)o->splats * 3 * sizeof *points);
            reln_points_normalise(o->splats, points, 3);
            reln_points_to_splats(o->splats, points, 3, NEAR, o->splats, NULL, &rng, room, rows);
        } else {
            o->label[i] = (int32_t)(i % SPLATS_CLASSES);
            splats_draw(o->label[i], m->seed, m->first + (uint64_t)(i / SPLATS_CLASSES), o->splats,
                        room, rows);
        }
        store(o, i, rows);
    }
}

static RelnStatus make_all(TaskEnv *env, Making *m)
{
    m->workers = env->pool ? reln_pool_threads(env->pool) : 1;
    m->each = (size_t)m->out->splats * RELN_SPLAT + SPLATS_DRAW_ROOM(m->out->splats);
    m->room = malloc((size_t)m->workers * m->each * sizeof *m->room);
    if (!m->room)
        return task_nomem(env);
    reln_pool_run(env->pool, m->workers, make_part, m);
    free(m->room);
    return RELN_OK;
}

RelnStatus splats_procedural(TaskEnv *env, uint64_t seed, int first, int each, int splats,
                             SplatsObjects *out)
{
    Making m = {.out = out, .seed = seed, .first = (uint64_t)first};

    TRY(open_objects(env, (ptrdiff_t)each * SPLATS_CLASSES, splats, SPLATS_CLASSES, out));
    out->classes = splats_class_names;
    return make_all(env, &m);
}

/* ---- arrays of points -------------------------------------------------------------------------------------------------- */

static RelnStatus check_points(TaskEnv *env, const char *path, const RelnArray *points,
                               const RelnArray *label)
{
    if (!points || !label)
        return task_fail(env, RELN_ERR_FORMAT, "%.80s: no array `%s`; wanted `points` and `label`",
                         path, points ? "label" : "points");
    if (points->rank != 3 || points->dims[2] != 3 || points->dims[1] < 64 ||
        points->dims[1] > MOST_SPLATS || points->dims[0] < 1 || points->dims[0] > MOST_OBJECTS ||
        label->rank < 1 || label->dims[0] != points->dims[0] || reln_array_row_size(label) != 1)
        return task_fail(env, RELN_ERR_SHAPE,
                         "%.80s: wanted points (N, 64 to %d, 3) and label (N), N to %d", path,
                         MOST_SPLATS, MOST_OBJECTS);
    return RELN_OK;
}

static RelnStatus read_labels(TaskEnv *env, const char *path, RelnArchive *archive, int index,
                              SplatsObjects *out)
{
    double *labels = malloc((size_t)out->n * sizeof *labels);
    RelnStatus status =
        labels ? reln_archive_range(archive, index, 0, out->n, labels) : task_nomem(env);

    for (ptrdiff_t i = 0; status == RELN_OK && i < out->n; i++) {
        if (!(labels[i] >= 0 && labels[i] < 1000 && labels[i] == floor(labels[i])))
            status = task_fail(env, RELN_ERR_FORMAT, "%.80s: label %td is %g; wanted 0 to 999",
                               path, i, labels[i]);
        else
            out->label[i] = (int32_t)labels[i];
        if (status == RELN_OK && out->label[i] >= out->n_classes)
            out->n_classes = out->label[i] + 1;
    }
    free(labels);
    return status;
}

static RelnStatus read_points(TaskEnv *env, const char *path, RelnArchive *archive,
                              SplatsObjects *out)
{
    const int p = reln_archive_find(archive, "points"), l = reln_archive_find(archive, "label");
    const RelnArray *points = p >= 0 ? reln_archive_info(archive, p) : NULL;
    const RelnArray *label = l >= 0 ? reln_archive_info(archive, l) : NULL;
    Making m = {.out = out, .seed = 1};
    RelnStatus status;
    double *values;

    TRY(check_points(env, path, points, label));
    TRY(open_objects(env, points->dims[0], (int)points->dims[1], 1, out));
    TRY(read_labels(env, path, archive, l, out));
    values = malloc((size_t)out->n * (size_t)out->splats * 3 * sizeof *values);
    status = values ? reln_archive_range(archive, p, 0, out->n, values) : task_nomem(env);
    for (ptrdiff_t i = 0; status == RELN_OK && i < out->n * out->splats * 3; i++)
        if (!isfinite(values[i]))
            status = task_fail(env, RELN_ERR_FORMAT, "%.80s: a point is not finite", path);
    m.points = values;
    if (status == RELN_OK)
        status = make_all(env, &m);
    free(values);
    return status;
}

RelnStatus splats_from_arrays(TaskEnv *env, const char *path, SplatsObjects *out)
{
    RelnArchive *archive = NULL;
    RelnStatus status = reln_archive_open(env->ctx, path, &archive);

    if (status == RELN_OK)
        status = read_points(env, path, archive, out);
    reln_archive_destroy(archive);
    return status;
}

/* ---- folders -------------------------------------------------------------------------------------------------------------- */

/* A Reading is memory for one file: a cloud of points or splats, larger than an object. */
typedef struct Reading {
    TaskEnv *env;
    int splats;
    double *rows, *chosen, *room; /* (MESH_POINTS, 14), (splats, 14) */
    int32_t *order;
} Reading;

/* Selects the farthest points of a cloud, centred in the unit ball. */
static RelnStatus take_farthest(Reading *r, const char *path, int n)
{
    double size;

    if (n < r->splats)
        return task_fail(r->env, RELN_ERR_FORMAT, "%.120s: %d splats; wanted at least %d", path, n,
                         r->splats);
    size = reln_points_normalise(n, r->rows, RELN_SPLAT);
    if (!(size > 0))
        return task_fail(r->env, RELN_ERR_FORMAT, "%.120s: all points are one", path);
    for (int i = 0; i < n; i++)
        for (int a = 0; a < 3; a++)
            r->rows[(ptrdiff_t)i * RELN_SPLAT + RELN_SPLAT_SCALE + a] /= size;
    reln_points_farthest(n, r->rows, RELN_SPLAT, r->splats, &(RelnGroupRule){0}, r->room, r->order);
    for (int i = 0; i < r->splats; i++)
        memcpy(r->chosen + (ptrdiff_t)i * RELN_SPLAT, r->rows + (ptrdiff_t)r->order[i] * RELN_SPLAT,
               RELN_SPLAT * sizeof *r->chosen);
    return RELN_OK;
}

/* Makes splats of a mesh: centres its points in the unit ball, chooses the farthest points, and gives each a Gaussian of the
 * shape of its neighbourhood among all points. */
static RelnStatus splats_of_mesh(Reading *r, const char *path, double *points, RelnRng *rng)
{
    if (!(reln_points_normalise(MESH_POINTS, points, 3) > 0))
        return task_fail(r->env, RELN_ERR_FORMAT, "%.120s: all points are one", path);
    reln_points_farthest(MESH_POINTS, points, 3, r->splats, &(RelnGroupRule){0}, r->room, r->order);
    reln_points_to_splats(MESH_POINTS, points, 3, MESH_NEAR, r->splats, r->order, rng, r->room,
                          r->chosen);
    return RELN_OK;
}

static RelnStatus read_mesh(Reading *r, const char *path, uint64_t number)
{
    RelnRng rng = reln_rng(number, 1);
    RelnMesh mesh;
    RelnStatus status = reln_off_load(r->env->ctx, path, &mesh);
    double *areas = NULL, *points = NULL;

    if (status == RELN_OK) {
        areas = malloc(((size_t)mesh.n_triangles + 1) * sizeof *areas);
        points = malloc((size_t)MESH_POINTS * 3 * sizeof *points);
        status = areas && points ? reln_mesh_sample(&mesh, &rng, MESH_POINTS, areas, points)
                                 : task_nomem(r->env);
    }
    if (status == RELN_OK)
        status = splats_of_mesh(r, path, points, &rng);
    free(areas);
    free(points);
    reln_mesh_clear(&mesh);
    return status;
}

/* If a file has more splats than fit, each is chosen with the same probability: the i-th replaces a random
 * earlier one. */
static RelnStatus read_splats(Reading *r, const char *path, uint64_t number)
{
    RelnRng rng = reln_rng(number, 1);
    RelnSplatFile *file = NULL;
    RelnStatus status = reln_splats_open(r->env->ctx, path, &file);
    ptrdiff_t n = 1, seen = 0;
    double row[RELN_SPLAT];

    while (status == RELN_OK && n > 0) {
        status = reln_splats_read(file, 1, row, &n);
        if (status == RELN_OK && n > 0) {
            const ptrdiff_t place =
                seen < MESH_POINTS ? seen : (ptrdiff_t)reln_rng_below(&rng, (uint64_t)seen + 1);

            if (place < MESH_POINTS)
                memcpy(r->rows + place * RELN_SPLAT, row, sizeof row);
            seen++;
        }
    }
    reln_splats_close(file);
    return status == RELN_OK
               ? take_farthest(r, path, (int)(seen < MESH_POINTS ? seen : MESH_POINTS))
               : status;
}

static bool ends_in(const char *path, const char *ending)
{
    const size_t n = strlen(path), m = strlen(ending);

    return n >= m && strcmp(path + n - m, ending) == 0;
}

static bool reading_open(TaskEnv *env, int splats, Reading *r)
{
    *r = (Reading){.env = env, .splats = splats};
    r->rows = malloc((size_t)MESH_POINTS * RELN_SPLAT * sizeof *r->rows);
    r->chosen = malloc((size_t)splats * RELN_SPLAT * sizeof *r->chosen);
    r->room = malloc(RELN_SPLATS_ROOM(MESH_POINTS) * sizeof *r->room);
    r->order = malloc((size_t)splats * sizeof *r->order);
    return r->rows && r->chosen && r->room && r->order;
}

static void reading_close(Reading *r)
{
    free(r->rows);
    free(r->chosen);
    free(r->room);
    free(r->order);
}

static RelnStatus read_file(Reading *r, const char *path, uint64_t number)
{
    return ends_in(path, ".off") ? read_mesh(r, path, number) : read_splats(r, path, number);
}

static RelnStatus read_folder(Reading *r, const RelnClassFolder *f, RelnClassSplit split,
                              SplatsObjects *out)
{
    ptrdiff_t n = 0;

    for (ptrdiff_t i = 0; i < f->n_files; i++)
        n += f->files[i].split == split;
    TRY(open_objects(r->env, n, r->splats, f->n_classes, out));
    n = 0;
    for (ptrdiff_t i = 0; i < f->n_files; i++) {
        const RelnClassFile *file = &f->files[i];

        if (file->split != split)
            continue;
        TRY(read_file(r, file->path, (uint64_t)i + 1));
        store(out, n, r->chosen);
        out->label[n++] = file->label;
    }
    return RELN_OK;
}

static RelnStatus keep_names(TaskEnv *env, const RelnClassFolder *f, SplatsObjects *out)
{
    char **names = task_room(&env->rooms, (size_t)f->n_classes, sizeof *names);

    for (int i = 0; i < f->n_classes && names; i++) {
        const size_t size = strlen(f->classes[i]) + 1;

        names[i] = task_room(&env->rooms, size, 1);
        if (!names[i])
            return task_nomem(env);
        memcpy(names[i], f->classes[i], size);
    }
    out->classes = (const char *const *)names;
    return names ? RELN_OK : task_nomem(env);
}

RelnStatus splats_from_file(TaskEnv *env, const char *path, int splats, SplatsObjects *out)
{
    Reading r;
    RelnStatus status = reading_open(env, splats, &r) ? RELN_OK : task_nomem(env);

    if (status == RELN_OK)
        status = open_objects(env, 1, splats, 1, out);
    if (status == RELN_OK)
        status = read_file(&r, path, 1);
    if (status == RELN_OK)
        store(out, 0, r.chosen);
    reading_close(&r);
    return status;
}

RelnStatus splats_from_folder(TaskEnv *env, const char *path, int splats, SplatsObjects *train,
                              SplatsObjects *test)
{
    RelnClassFolder f;
    Reading r;
    RelnStatus status = reln_class_folder(env->ctx, path, &f);
    bool divided = false;

    if (!reading_open(env, splats, &r) && status == RELN_OK)
        status = task_nomem(env);
    for (ptrdiff_t i = 0; i < f.n_files; i++)
        divided = divided || f.files[i].split != RELN_SPLIT_NONE;
    if (status == RELN_OK)
        status = read_folder(&r, &f, divided ? RELN_SPLIT_TRAIN : RELN_SPLIT_NONE, train);
    if (status == RELN_OK && divided)
        status = read_folder(&r, &f, RELN_SPLIT_TEST, test);
    if (status == RELN_OK)
        status = keep_names(env, &f, train);
    reading_close(&r);
    reln_class_folder_clear(&f);
    return status;
}

/* ---- parts of a set --------------------------------------------------------------------------------------------------------- */

RelnStatus splats_part(TaskEnv *env, const SplatsObjects *all, int part, int of, bool rest,
                       SplatsObjects *out)
{
    const size_t size = (size_t)all->splats * RELN_SPLAT;
    ptrdiff_t n = 0;

    for (ptrdiff_t i = 0; i < all->n; i++)
        n += (i % of == part) != rest;
    TRY(open_objects(env, n, all->splats, all->n_classes, out));
    out->classes = all->classes;
    n = 0;
    for (ptrdiff_t i = 0; i < all->n; i++)
        if ((i % of == part) != rest) {
            memcpy(out->rows + (size_t)n * size, all->rows + (size_t)i * size,
                   size * sizeof *out->rows);
            out->label[n++] = all->label[i];
        }
    return RELN_OK;
}

void splats_arrays(const SplatsObjects *o, double *position, double *covariance, double *opacity,
                   double *colour)
{
    for (ptrdiff_t i = 0; i < o->n * o->splats; i++) {
        const float *from = o->rows + i * RELN_SPLAT;
        double row[RELN_SPLAT], R[9];

        for (int e = 0; e < RELN_SPLAT; e++)
            row[e] = (double)from[e];
        reln_splat_axes(row, R);
        for (int a = 0; a < 3; a++) {
            position[3 * i + a] = row[a];
            colour[3 * i + a] = row[RELN_SPLAT_COLOUR + a];
        }
        opacity[i] = row[RELN_SPLAT_OPACITY];
        for (int e = 0; e < 9; e++) {
            double sum = 0;

            for (int a = 0; a < 3; a++)
                sum += R[3 * (e / 3) + a] * row[RELN_SPLAT_SCALE + a] * row[RELN_SPLAT_SCALE + a] *
                       R[3 * (e % 3) + a];
            covariance[9 * i + e] = sum;
        }
    }
}
