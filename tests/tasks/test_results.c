/* Compares what the runner writes of a task with what the tree remembers: the table, results.json, metrics.csv, the page. The
 * runs train nothing; their numbers are chosen so that every column, note, figure and sentence occurs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/remembered.h"
#include "support/support.h"
#include "tasks/files.h"
#include "tasks/runner.h"
#include "tasks/settings.h"

/* ---- a task of chosen numbers -------------------------------------------------------------------------------- */

typedef struct Scale {
    double rate;
} Scale;
static const Scale scales[TASK_SCALES] = {{0.1}, {0.2}, {0.3}};
static const Key scale_keys[] = {TASK_NUMBER(Scale, rate)};

typedef struct Row {
    double error, share, count;
} Row;
static const Key row_keys[] = {TASK_NUMBER(Row, error), TASK_NUMBER(Row, share),
                               TASK_NUMBER(Row, count)};
#define ROW(...)                                                                                   \
    .settings = &(const Row)                                                                       \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

enum { ERROR, SHARE, NEES, COUNT, METRICS };

static RelnStatus prepare(TaskEnv *env, void **data)
{
    *data = env;
    return RELN_OK;
}

static RelnStatus draw_curves(TaskRun *run)
{
    const Row *row = run->model->settings;

    for (int i = 0; i < 6; i++) {
        TRY(task_curve(run, "training loss", 10 * i, row->error * exp(-i)));
        TRY(task_curve(run, "validation error", 10 * i, row->error * (1 + 0.1 * i)));
        TRY(task_curve(run, "by noise", pow(10, i - 3), row->share * i));
        TRY(task_curve(run, "predicted", i, i + row->error));
        TRY(task_curve(run, "path", i * i, i));
        TRY(task_curve(run, "true path", i * i, 1.1 * i));
        TRY(task_curve(run, "cloud", i % 3, i / 3));
        TRY(task_curve(run, "true cloud", i % 3, i / 2));
        TRY(task_curve(run, "kept aside", i, i));
    }
    TRY(task_curve(run, "training loss", 0, row->error)); /* a second training */
    TRY(task_curve(run, "training loss", 10, row->error / 2));
    for (int i = 0; i < 2; i++) {
        TRY(task_curve(run, "seen|near", i, 2 * i));
        TRY(task_curve(run, "seen|far", i, 3 * i));
        TRY(task_curve(run, "confusion|one", i, 10 + i));
        TRY(task_curve(run, "confusion|two", i, 20 + i));
    }
    return RELN_OK;
}

static RelnStatus run(TaskRun *r, const void *data)
{
    const Row *row = r->model->settings;
    const double seed = (double)r->seed;

    (void)data;
    r->params = 1000 + (size_t)(100 * row->error);
    r->params_used = r->params - (strcmp(r->model->name, "partly") == 0 ? 17 : 0);
    r->seconds = 60 * row->error * seed;
    r->metrics[ERROR] = row->error * (1 + 0.01 * seed);
    r->metrics[SHARE] = row->share + 0.001 * seed;
    r->metrics[NEES] = r->seed == 2 && row->count > 90 ? (double)NAN : 3 * row->share * seed;
    r->metrics[COUNT] = row->count;
    r->diverged = r->seed == 2 && row->count < 10;
    for (int i = 0; strcmp(r->model->name, "lost") == 0 && i < METRICS; i++)
        r->metrics[i] = (double)NAN;
    return draw_curves(r);
}

static const TaskFigure figures[] = {
    {.curve = "by noise", .x = "noise", .y = "share", .log_x = true, .linear_y = true},
    {.curve = "predicted", .x = "true", .y = "predicted", .points = true},
    {.curve = "path", .x = "x", .y = "y", .path = true, .truth = "true path"},
    {.curve = "cloud", .x = "x", .y = "y", .cloud = true, .truth = "true cloud"},
    {.curve = "kept aside", .hidden = true},
    {.curve = "seen", .x = "x", .y = "y", .cloud = true},
    {.curve = "confusion", .table = true},
};

static const TaskModel few[] = {
    {.name = "known",
     .label = "The truth",
     ROW(0.01, 0.999, 200),
     .params = 1001,
     .reference = true},
    {.name = "partly",
     .label = "Partly",
     ROW(0.25, 0.5, 100),
     .params = 1025,
     .paper = {{0.3, 0.02}, {0.55, 0.01}, {0}, {120, 0}},
     .peer_seconds = 350},
    {.name = "wild", .label = "Wild", ROW(1.5, 0.31, 5), .paper = {{2.5, 0}, {0.21, 0}}},
    {.name = "lost", .label = "Lost", ROW(3, 0.1, 11)},
    {.name = "late", .label = "Late", ROW(4, 0.2, 12), .from = TASK_FULL},
};

static const TaskModel many[] = {
    {.name = "a", .label = "A", ROW(0.1, 0.9, 1)},  {.name = "b", .label = "B", ROW(0.2, 0.8, 2)},
    {.name = "c", .label = "C", ROW(0.3, 0.7, 3)},  {.name = "d", .label = "D", ROW(0.4, 0.6, 4)},
    {.name = "e", .label = "E", ROW(0.5, 0.5, 5)},  {.name = "f", .label = "F", ROW(0.6, 0.4, 6)},
    {.name = "g", .label = "G", ROW(0.7, 0.3, 7)},  {.name = "h", .label = "H", ROW(0.8, 0.2, 8)},
    {.name = "i", .label = "I", ROW(0.9, 0.15, 9)},
};

static RelnStatus remarks(TaskEnv *env, const TaskRun *runs, int n_models, int n_seeds,
                          void (*remark)(void *self, const char *line), void *self)
{
    char line[64];

    (void)env, (void)runs;
    snprintf(line, sizeof line, "a remark on %d rows of %d seeds", n_models, n_seeds);
    remark(self, line);
    return RELN_OK;
}

static const char *const words[] = {"plain", "odd"};

static Task chosen = {
    .name = "chosen",
    .purpose = "rows of chosen numbers",
    .about = "Nothing is learned here.\n\nThe columns are made up.",
    .n_metrics = METRICS,
    .main_metric = ERROR,
    .metrics = {[ERROR] = {.name = "error", .label = "error"},
                [SHARE] = {.name = "share", .label = "share", .percent = true, .more = true},
                [NEES] = {.name = "nees", .label = "NEES", .target = 3},
                [COUNT] = {.name = "count", .label = "count", .count = true, .error = true}},
    .n_options = 2,
    .options = {{.name = "kind", .help = "what kind", TASK_WORDS(words), .otherwise = 1},
                {.name = "note", .help = "any text"}},
    .n_figures = sizeof figures / sizeof figures[0],
    .figures = figures,
    .n_bars = 2,
    .bars = {ERROR, SHARE},
    .seeds = {1, 2, 3},
    .scale_fields = TASK_FIELDS(Scale, scale_keys),
    .row_fields = TASK_FIELDS(Row, row_keys),
    .scales = scales,
    .prepare = prepare,
    .run = run,
    .remarks = remarks,
};

/* ---- what is written ----------------------------------------------------------------------------------------- */

/* Adds the text to `out`, without the version of the program and without the style sheet of a page. */
static void put_text(FILE *out, const char *text)
{
    const char *program = task_program();

    while (*text) {
        if (strncmp(text, "<style>", 7) == 0)
            text = strstr(text, "</style>");
        else if (strncmp(text, "<footer>", 8) == 0)
            text = strstr(text, "</footer>");
        else if (strncmp(text, program, strlen(program)) == 0)
            text += strlen(program);
        else
            fputc(*text++, out);
    }
}

static void put_file(FILE *out, const char *folder, const char *name)
{
    static char text[1 << 20];
    char path[256];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    fprintf(out, "--- %s\n", name);
    put_text(out, text);
}

static void put_printed(RelnCtx *ctx, TaskRequest *request, FILE *out)
{
    TaskOutcome outcome;
    char *printed = NULL;
    size_t n = 0;

    request->stream = open_memstream(&printed, &n);
    assert_non_null(request->stream);
    if (task_reproduce(ctx, request, &outcome) != RELN_OK)
        fail_msg("%s", outcome.message);
    fclose(request->stream);
    put_text(out, printed);
    free(printed);
}

/* Makes the runs, removes the records of some of them (names with blanks between them, or NULL), prints the rest in every way,
 * and compares all files but the records of runs. */
static void check_files(const TaskModel *models, int n_models, int main_metric, TaskScale scale,
                        const char *gone, const char *name)
{
    static const char *const files[] = {"table.md", "metrics.csv", "results.json", "report.html"};
    char folder[] = "/tmp/reln-results-XXXXXX", command[160];
    TaskRequest request = {.task = &chosen, .scale = scale, .out = folder, .command = "reln it"};
    RelnCtx *ctx = NULL;
    TaskOutcome outcome;
    char *all = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&all, &n);

    assert_non_null(mkdtemp(folder));
    assert_non_null(out);
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    chosen.models = models;
    chosen.n_models = n_models;
    chosen.main_metric = main_metric;
    if (gone) {
        assert_int_equal(task_reproduce(ctx, &request, &outcome), RELN_OK);
        snprintf(command, sizeof command, "cd %s/runs && rm %s && rm ../table.md", folder, gone);
        assert_int_equal(system(command), 0);
        request.finished = true;
    }
    put_printed(ctx, &request, out);
    request.width = 60;
    request.colour = true;
    put_printed(ctx, &request, out);
    request.json = true;
    put_printed(ctx, &request, out);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        put_file(out, folder, files[i]);
    fclose(out);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    reln_ctx_destroy(ctx);
    assert_remembered(name, all);
    free(all);
}

static void tables_and_pages_are_as_remembered(void **state)
{
    (void)state;
    check_files(few, 5, ERROR, TASK_QUICK, NULL, "results-quick.txt");
}

static void the_full_scale_shows_the_published_times(void **state)
{
    (void)state;
    check_files(few, 5, SHARE, TASK_FULL, NULL, "results-full.txt");
}

static void pages_of_many_rows_show_one_seed_of_each(void **state)
{
    (void)state;
    check_files(many, 9, NEES, TASK_QUICK, NULL, "results-many.txt");
}

/* Means, spreads, seeds, notes and figures are of the runs that are finished; a row without one is left out. */
static void runs_that_are_not_finished_do_not_count(void **state)
{
    (void)state;
    check_files(few, 5, ERROR, TASK_FULL,
                "partly-2.json partly-3.json wild-1.json lost-1.json lost-2.json lost-3.json "
                "late-2.json",
                "results-some.txt");
}

/* The spread is the standard deviation of the runs, with one less than their number. Equal numbers have exactly their mean. */
static void means_and_spreads_are_of_all_seeds(void **state)
{
    static const struct {
        double values[3], mean, squares;
    } cases[] = {
        {{1, 2, 1}, 4.0 / 3, 2.0 / 3},
        {{2, 1, 1}, 4.0 / 3, 2.0 / 3},
        {{1, 1, 2}, 4.0 / 3, 2.0 / 3},
        {{0.1, 0.1, 0.1}, 0.1, 0},
    };
    TaskRun runs[3] = {{.done = true}, {.done = true}, {.done = true}};
    const TaskCall call = {.runs = runs, .n_models = 1, .n_seeds = 3};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        TaskMean m;

        for (int s = 0; s < 3; s++)
            runs[s].metrics[1] = cases[i].values[s];
        m = task_mean_metric(&call, 0, 1);
        assert_int_equal(m.n, 3);
        assert_near(&m.mean, &cases[i].mean, 1, cases[i].squares > 0 ? 4 * 0x1p-52 : 0);
        assert_near(&m.spread, &(double){sqrt(cases[i].squares / 2)}, 1,
                    cases[i].squares > 0 ? 8 * 0x1p-52 : 0);
    }
}

/* Rows are in the order of the names, and a name that is there twice is one row. */
static void a_row_that_is_asked_for_twice_is_one_row(void **state)
{
    char folder[] = "/tmp/reln-results-XXXXXX", command[64];
    const TaskRequest request = {
        .task = &chosen, .scale = TASK_SMOKE, .out = folder, .models = "wild,known,wild,known"};
    RelnCtx *ctx = NULL;
    TaskOutcome outcome;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    chosen.models = few;
    chosen.n_models = 5;
    if (task_reproduce(ctx, &request, &outcome) != RELN_OK)
        fail_msg("%s", outcome.message);
    assert_int_equal(outcome.runs, 2);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    reln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_and_pages_are_as_remembered),
        cmocka_unit_test(the_full_scale_shows_the_published_times),
        cmocka_unit_test(pages_of_many_rows_show_one_seed_of_each),
        cmocka_unit_test(runs_that_are_not_finished_do_not_count),
        cmocka_unit_test(means_and_spreads_are_of_all_seeds),
        cmocka_unit_test(a_row_that_is_asked_for_twice_is_one_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
