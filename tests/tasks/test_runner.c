/* Tests the runner of tasks: runs are made once, resume with the same bits after a stop, and are reported
 * together. */
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/support.h"
#include "tasks/runner.h"
#include "tasks/settings.h"

/* ---- a task of a page: y = a x + b, with a = 3 and b = -1 -------------------------------------------------------------- */

enum { SAMPLES = 32 };

#ifdef __clang__
enum { GCC = 0 };
#else
enum { GCC = 1 };
#endif

typedef struct Line {
    double x[SAMPLES], y[SAMPLES];
} Line;

static int n_prepared, n_run, n_loaded;
static bool stop_fails;   /* a run that is asked to stop fails for another reason */
static bool stop_judging; /* the request to stop comes during the evaluation after training */
typedef struct Scale {
    double rate;
} Scale;
static Scale scales[TASK_SCALES] = {{0.1}, {0.1}, {0.1}};
static const Key scale_keys[] = {TASK_NUMBER(Scale, rate)};
static const char *failing, *dying; /* names of models whose runs fail, or kill their process */
static uint64_t wild;               /* the seed whose training diverges; 0: none */
static uint64_t endless;            /* the seed whose share is not finite; 0: none */
static bool steady;                 /* the share is 0.1 for all seeds */
static uint64_t blank;              /* the seed that has no finite metric; 0: none */

static RelnStatus prepare(TaskEnv *env, void **data)
{
    Line *line = *data = task_room(&env->rooms, 1, sizeof *line);

    if (!line)
        return task_nomem(env);
    n_prepared++;
    for (int i = 0; i < SAMPLES; i++) {
        line->x[i] = i / (double)SAMPLES;
        line->y[i] = 3 * line->x[i] - 1;
    }
    return RELN_OK;
}

static RelnStatus load(void *self, uint64_t step, ptrdiff_t *n_samples)
{
    (void)self;
    (void)step;
    n_loaded++;
    *n_samples = SAMPLES;
    return RELN_OK;
}

static RelnStatus fit(TaskRun *run, RelnSetting *s, RelnPlan **plan, RelnTrainer **trainer)
{
    const uint64_t steps = task_choice(run->env, "length") == 1 ? 4000 : 40;
    const RelnTrainJob job = {.store = s->store,
                              .plan = *plan,
                              .seed = run->seed,
                              .n_steps = steps,
                              .evaluate_every = 10,
                              .schedule = task_schedule(run->seed == wild ? 1e200 : 0.1, true,
                                                        steps, TASK_WARMUP, TASK_FLOOR),
                              .load = load};
    const RelnTrainRow *rows = NULL;
    int n;

    run->params = reln_store_parameters(s->store);
    run->params_used = task_trained(s->store);
    TRY(task_train(run, 0, &job, trainer));
    run->stopped = stop_judging;
    if (stop_fails)
        return task_fail(run->env, RELN_ERR_IO, "the disk is full");
    if (run->stopped)
        return task_fail(run->env, RELN_ERR_STOPPED, "asked to stop");
    n = reln_trainer_rows(*trainer, &rows);
    run->metrics[0] = n > 0 ? rows[n - 1].loss : (double)NAN;
    run->metrics[1] = run->seed == endless ? (double)NAN : 0.5 + 0.01 * (double)run->seed;
    if (strcmp(run->model->name, "other") == 0)
        run->metrics[1] += 0.1;
    if (steady)
        run->metrics[1] = 0.1;
    if (run->seed == blank)
        run->metrics[0] = run->metrics[1] = (double)NAN;
    TRY(task_curve_rows(run, *trainer, "training loss", "score", false));
    TRY(task_curve(run, "dots, true", 0, 1));
    TRY(task_curve(run, "dots", 0, 2));
    TRY(task_curve(run, "count of dots", 0, 1));
    TRY(task_curve(run, "count of dots", 1, 1000));
    return task_keep(run, s->store);
}

static RelnStatus run(TaskRun *run, const void *data)
{
    const Line *line = data;
    RelnPlan *plan = NULL;
    RelnTrainer *trainer = NULL;
    RelnSetting s;
    RelnStatus status = reln_setting_init_in(&s, run->env->ctx, "so:3", NULL, RELN_F64, run->seed);

    n_run++;
    if (dying && strcmp(run->model->name, dying) == 0)
        raise(SIGKILL);
    if (failing && strcmp(run->model->name, failing) == 0)
        status = task_fail(run->env, RELN_ERR_NUMERIC, "it was told to fail");
    if (status == RELN_OK) {
        const RelnNet net = {.graph = s.graph, .algebra = s.algebra, .train = true};
        RelnNode *x = reln_input(s.graph, "x", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_DEFAULT);
        RelnNode *y = reln_input(s.graph, "y", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_DEFAULT);
        RelnNode *out = reln_nn_dense(&net, "line", x, 1);
        reln_train_step(s.graph,
                        &(RelnOptimiser){.kind = RELN_OPTIMISER_ADAM, .adam = RELN_ADAM_DEFAULTS},
                        reln_loss_mean(s.graph, &(RelnLoss){.kind = RELN_LOSS_MSE}, out, y));
        status = reln_plan_create(s.graph, NULL, &plan);
    }
    if (status == RELN_OK)
        status = reln_plan_bind(plan, "x", line->x, RELN_F64);
    if (status == RELN_OK)
        status = reln_plan_bind(plan, "y", line->y, RELN_F64);
    if (status == RELN_OK)
        status = fit(run, &s, &plan, &trainer);
    reln_trainer_destroy(trainer);
    reln_plan_destroy(plan);
    reln_setting_clear(&s);
    return status;
}

static TaskModel models[] = {
    {.name = "plain", .label = "Plain <&>", .params = 2, .paper = {{0.25, 0.01}, {0.4, 0}}},
    {.name = "other", .label = "Other"},
    {.name = "slow", .label = "Slow", .from = TASK_FULL},
};

static const TaskFigure figures[] = {
    {.curve = "dots", .x = "x", .y = "y", .cloud = true, .truth = "dots, true"},
    {.curve = "count of dots", .x = "x", .y = "count", .linear_y = true},
};

static const char *const lengths[] = {"short", "long"};

static const Task line_task = {
    .name = "line",
    .purpose = "a line",
    .about = "Points of a line.",
    .n_metrics = 2,
    .main_metric = 1,
    .metrics = {{.name = "mse", .label = "MSE"},
                {.name = "share", .label = "share", .percent = true, .more = true}},
    .n_models = 3,
    .models = models,
    .n_options = 1,
    .options = {{.name = "length", .help = "how long it trains", TASK_WORDS(lengths)}},
    .n_figures = sizeof figures / sizeof figures[0],
    .figures = figures,
    .scale_fields = TASK_FIELDS(Scale, scale_keys),
    .scales = scales,
    .seeds = {1, 2, 3},
    .prepare = prepare,
    .run = run,
};

/* ---- a folder and a call ------------------------------------------------------------------------------------------------ */

typedef struct Place {
    RelnCtx *ctx;
    char folder[64];
    TaskRequest request;
    TaskOutcome outcome;
} Place;

static void place_init(Place *p)
{
    memset(p, 0, sizeof *p);
    strcpy(p->folder, "/tmp/reln-runner-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    assert_int_equal(reln_ctx_create(NULL, &p->ctx), RELN_OK);
    p->request = (TaskRequest){.task = &line_task, .scale = TASK_QUICK, .out = p->folder};
    n_prepared = n_run = n_loaded = 0;
    stop_judging = false;
    scales[TASK_QUICK].rate = 0.1;
    failing = dying = NULL;
    endless = blank = 0;
    models[1].reference = false;
}

static RelnStatus go(Place *p)
{
    return task_reproduce(p->ctx, &p->request, &p->outcome);
}

static void remove_folder(const char *folder)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void place_clear(Place *p)
{
    reln_ctx_destroy(p->ctx);
    remove_folder(p->folder);
}

static bool exists(const Place *p, const char *name)
{
    char path[256];
    struct stat info;

    snprintf(path, sizeof path, "%s/%s", p->folder, name);
    return stat(path, &info) == 0;
}

/* Returns the content of a file, in static memory. */
static const char *content(const Place *p, const char *name)
{
    static char text[1 << 20];
    char path[256];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", p->folder, name);
    file = fopen(path, "r");
    if (!file)
        fail_msg("there is no %s", path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* A number of results.json: row, metric, "mean" or the like. */
static double result(const Place *p, int row, const char *metric, const char *what)
{
    char path[256];
    RelnDoc *doc = NULL;
    const RelnDocNode *node;
    double value;

    snprintf(path, sizeof path, "%s/results.json", p->folder);
    assert_ok(p->ctx, reln_doc_load(p->ctx, path, &doc));
    node = reln_doc_get(reln_doc_root(doc), "rows")->first;
    for (int i = 0; i < row; i++)
        node = node->next;
    value = reln_doc_number(reln_doc_get(reln_doc_get(node, "metrics"), metric), what, -1);
    reln_doc_destroy(doc);
    return value;
}

/* ---- tests ---------------------------------------------------------------------------------------------------------------- */

static void every_model_of_the_scale_is_run_with_every_seed(void **state)
{
    Place p;

    (void)state;
    place_init(&p);
    assert_ok(p.ctx, go(&p));
    assert_int_equal(n_run, 4); /* two models, two seeds; the slow one is for full */
    assert_int_equal(p.outcome.runs, 4);
    assert_int_equal(p.outcome.found, 0);
    assert_true(exists(&p, "runs/plain-1.json") && exists(&p, "runs/other-2.json"));
    assert_true(exists(&p, "models/plain-2.safetensors") && exists(&p, "report.html"));
    assert_false(exists(&p, "runs/slow-1.json") || exists(&p, "runs/plain-1.part0.safetensors"));
    place_clear(&p);
}

static void results_are_means_and_sample_deviations_over_the_seeds(void **state)
{
    double want;
    Place p;

    (void)state;
    place_init(&p);
    assert_ok(p.ctx, go(&p));
    want = 0.515;
    assert_near(&(double){result(&p, 0, "share", "mean")}, &want, 1, 1e-15);
    want = sqrt(2 * 0.005 * 0.005); /* 0.51 and 0.52 */
    assert_near(&(double){result(&p, 1, "share", "spread")}, &want, 1, 1e-15);
    place_clear(&p);
}

/* (0.1 + 0.1 + 0.1) / 3 is not 0.1: a spread of 1e-17 would be printed with as many digits. */
static void equal_results_have_no_spread(void **state)
{
    Place p;

    (void)state;
    place_init(&p);
    p.request.seeds = 3;
    steady = true;
    assert_ok(p.ctx, go(&p));
    steady = false;
    assert_true(result(&p, 0, "share", "mean") == 0.1);
    assert_true(result(&p, 0, "share", "spread") == 0);
    place_clear(&p);
}

static void the_table_and_the_csv_have_a_line_for_each(void **state)
{
    char *text = NULL;
    size_t size = 0;
    int lines = 0;
    Place p;

    (void)state;
    place_init(&p);
    p.request.stream = open_memstream(&text, &size);
    assert_non_null(p.request.stream);
    assert_ok(p.ctx, go(&p));
    fclose(p.request.stream);
    assert_non_null(strstr(text, "Plain <&>"));
    assert_non_null(strstr(text, "0.250 ± 0.010"));
    assert_non_null(strstr(text, "51.50 ± 0.71")); /* percent */
    free(text);
    for (const char *c = content(&p, "metrics.csv"); *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 5);
    assert_non_null(strstr(content(&p, "metrics.csv"), "\nother,2,2,2,"));
    assert_non_null(strstr(content(&p, "report.html"), "Plain &lt;&amp;&gt;"));
    place_clear(&p);
}

/* Returns the colour of the legend's entry, the number after the last " k" before its name. */
static int colour_of(const char *page, const char *name)
{
    const char *end = strstr(page, name), *at = end;

    assert_non_null(end);
    while (at > page && strncmp(at, " k", 2) != 0)
        at--;
    return at[2] - '0';
}

/* The number of models does not matter: points have no dashes, so a repeated colour would hide the
 * truth. */
static void a_cloud_and_its_truth_have_different_colours(void **state)
{
    Place p;
    const char *page;

    (void)state;
    place_init(&p);
    assert_ok(p.ctx, go(&p));
    page = content(&p, "report.html");
    assert_int_equal(colour_of(page, ">true<"), 0);
    page = strstr(page, ">true<");
    assert_int_equal(colour_of(page, ">Plain &lt;"), 1);
    assert_int_equal(colour_of(page, ">Other<"), 2);
    place_clear(&p);
}

static void an_axis_is_linear_where_the_figure_says_so(void **state)
{
    Place p;
    const char *page;

    (void)state;
    place_init(&p);
    assert_ok(p.ctx, go(&p));
    page = strstr(content(&p, "report.html"), ">count of dots</title>");
    assert_non_null(page);
    /* a label that no logarithmic axis has */
    assert_true(strstr(page, ">200<") && strstr(page, ">200<") < strstr(page, "</svg>"));
    place_clear(&p);
}

static void the_report_says_which_model_came_out_best(void **state)
{
    Place p;

    (void)state;
    place_init(&p);
    assert_ok(p.ctx, go(&p));
    assert_non_null(strstr(content(&p, "report.html"),
                           "Of 2 models, Other has the highest share: 61.50 ± 0.71 % (2 seeds)."));
    assert_non_null(strstr(content(&p, "report.html"),
                           "Plain &lt;&amp;&gt;: 40.00 % there, 51.50 ± 0.71 % here."));
    assert_non_null(strstr(content(&p, "table.md"), "**61.50 ± 0.71**"));
    models[1].reference = true;
    assert_ok(p.ctx, go(&p));
    assert_non_null(strstr(content(&p, "report.html"),
                           "Of 2 models, Plain &lt;&amp;&gt; has the highest share"));
    assert_null(strstr(content(&p, "table.md"), "**61.50 ± 0.71**"));
    place_clear(&p);
}

static void a_mean_that_lacks_a_run_says_so(void **state)
{
    Place p;

    (void)state;
    place_init(&p);
    assert_ok(p.ctx, go(&p));
    assert_null(strstr(content(&p, "table.md"), "not finite"));
    endless = 2;
    scales[TASK_QUICK].rate = 0.2;
    assert_ok(p.ctx, go(&p));
    assert_non_null(strstr(content(&p, "table.md"), "Other: in 1 of 2 runs, share is not finite"));
    p.request.first_seed = 2; /* no run has it: an empty column speaks for itself */
    p.request.seeds = 1;
    assert_ok(p.ctx, go(&p));
    assert_null(strstr(content(&p, "table.md"), "not finite"));
    blank = 2; /* an empty row does not */
    scales[TASK_QUICK].rate = 0.3;
    assert_ok(p.ctx, go(&p));
    assert_non_null(
        strstr(content(&p, "table.md"), "Other: 1 of the runs failed: no metric is finite"));
    place_clear(&p);
}

static void a_finished_run_is_not_made_again(void **state)
{
    double before;
    Place p;

    (void)state;
    place_init(&p);
    p.request.seeds = 1;
    assert_ok(p.ctx, go(&p));
    before = result(&p, 0, "mse", "mean");
    p.request.seeds = 2; /* one more of each */
    assert_ok(p.ctx, go(&p));
    assert_int_equal(n_run, 4);
    assert_int_equal(p.outcome.found, 2);
    assert_int_equal(p.outcome.runs, 4);
    p.request.seeds = 1;
    assert_ok(p.ctx, go(&p));
    assert_int_equal(n_run, 4);
    assert_int_equal(n_prepared, 2); /* nothing missing: no data */
    assert_true(result(&p, 0, "mse", "mean") == before);
    place_clear(&p);
}

static void a_run_of_other_settings_is_made_again(void **state)
{
    Place p;

    (void)state;
    place_init(&p);
    p.request.seeds = 1;
    assert_ok(p.ctx, go(&p));
    scales[TASK_QUICK].rate = 0.2;
    assert_ok(p.ctx, go(&p));
    assert_int_equal(n_run, 4);
    p.request.values[0] = "long";
    assert_ok(p.ctx, go(&p));
    assert_int_equal(n_run, 6);
    place_clear(&p);
}

/* Asks to stop after so many calls. */
static bool asked_after(void *self)
{
    return --*(int *)self < 0;
}

static void a_stopped_run_goes_on_and_ends_with_the_same_bits(void **state)
{
    double whole;
    int looks = 3, stops = 0;
    Place p, q;

    (void)state;
    place_init(&p);
    p.request.values[0] = "long";
    p.request.seeds = 1;
    p.request.models = "plain";
    assert_ok(p.ctx, go(&p));
    whole = result(&p, 0, "mse", "mean");
    place_clear(&p);

    place_init(&q);
    q.request.values[0] = "long";
    q.request.seeds = 1;
    q.request.models = "plain";
    q.request.watch = (TaskWatch){.self = &looks, .asked = asked_after};
    assert_ok(q.ctx, go(&q));
    assert_true(q.outcome.stopped);
    assert_true(exists(&q, "runs/plain-1.part0.safetensors") && !exists(&q, "runs/plain-1.json"));
    for (looks = 6; q.outcome.stopped; stops++, looks = 6 + stops)
        assert_ok(q.ctx, go(&q));
    assert_true(stops >= 1);
    assert_true(result(&q, 0, "mse", "mean") == whole);
    assert_false(exists(&q, "runs/plain-1.part0.safetensors"));
    place_clear(&q);
}

static void note_first(void *self, const char *what, uint64_t first)
{
    (void)what;
    *(uint64_t *)self = first;
}

/* reln 0.1.0 wrote this file before runs of tasks and of `fit` had a common layout. The bits depend on
 * kernels and compiler: it was made with AVX2 and gcc. On other machines both runs end at the minimum of a
 * convex loss up to rounding, about 1e-6 in f32. */
static void a_checkpoint_of_the_first_layout_goes_on(void **state)
{
    uint64_t first = 0;
    double whole;
    char command[512];
    Place p, q;

    (void)state;
    place_init(&p);
    p.request.values[0] = "long";
    p.request.seeds = 1;
    p.request.models = "plain";
    assert_ok(p.ctx, go(&p));
    whole = result(&p, 0, "mse", "mean");
    place_init(&q);
    q.request.values[0] = "long";
    q.request.seeds = 1;
    q.request.models = "plain";
    q.request.watch = (TaskWatch){.self = &first, .begin = note_first};
    snprintf(command, sizeof command, "mkdir -p %s/runs && cp %s %s/runs/plain-1.part0.safetensors",
             q.folder, RELN_SOURCE_DIR "/tests/golden/checkpoints/task.safetensors", q.folder);
    assert_int_equal(system(command), 0);
    assert_ok(q.ctx, go(&q));
    assert_int_equal(first, 255); /* of 4000 */
    if (GCC && system("grep -q avx2 /proc/cpuinfo") == 0)
        assert_true(result(&q, 0, "mse", "mean") == whole);
    else
        assert_true(fabs(result(&q, 0, "mse", "mean") - whole) <= 1e-6);
    assert_false(exists(&q, "runs/plain-1.part0.safetensors"));
    place_clear(&q);
    place_clear(&p);
}

/* The last checkpoint is damaged: only the last half minute of the run is lost. */
static void a_torn_checkpoint_leaves_the_one_before_it(void **state)
{
    uint64_t first = 0;
    int looks = 30;
    double whole;
    char command[512];
    Place p;

    (void)state;
    place_init(&p);
    p.request.values[0] = "long";
    p.request.seeds = 1;
    p.request.models = "plain";
    assert_ok(p.ctx, go(&p));
    whole = result(&p, 0, "mse", "mean");
    place_clear(&p);
    place_init(&p);
    p.request.values[0] = "long";
    p.request.seeds = 1;
    p.request.models = "plain";
    p.request.watch = (TaskWatch){.self = &looks, .asked = asked_after};
    assert_ok(p.ctx, go(&p));
    looks = 30;
    assert_ok(p.ctx, go(&p));
    assert_true(p.outcome.stopped && exists(&p, "runs/plain-1.part0.safetensors.previous"));
    snprintf(command, sizeof command, "echo torn > %s/runs/plain-1.part0.safetensors", p.folder);
    assert_int_equal(system(command), 0);
    p.request.watch = (TaskWatch){.self = &first, .begin = note_first};
    assert_ok(p.ctx, go(&p));
    assert_true(first > 0);
    assert_true(result(&p, 0, "mse", "mean") == whole);
    assert_false(exists(&p, "runs/plain-1.part0.safetensors.previous"));
    place_clear(&p);
}

/* Runs are made in separate processes, and none in this one. */
static void runs_at_a_time_come_to_what_they_are_one_by_one(void **state)
{
    double one[2];
    Place p, q;

    (void)state;
    place_init(&p);
    assert_ok(p.ctx, go(&p));
    for (int row = 0; row < 2; row++)
        one[row] = result(&p, row, "mse", "mean");
    for (int jobs = 2; jobs <= 16; jobs *= 2) { /* 16: more than there are runs */
        place_init(&q);
        q.request.jobs = jobs;
        q.request.threads = 3;
        assert_ok(q.ctx, go(&q));
        assert_int_equal(n_run, 0);
        assert_int_equal(q.outcome.runs, 4);
        assert_int_equal(q.outcome.found, 0);
        for (int row = 0; row < 2; row++)
            assert_true(result(&q, row, "mse", "mean") == one[row]);
        assert_true(exists(&q, "models/other-2.safetensors") && exists(&q, "report.html"));
        place_clear(&q);
    }
    place_clear(&p);
}

static void runs_at_a_time_are_stopped_together_and_go_on(void **state)
{
    double whole;
    int looks = 1000000;
    Place p;

    (void)state;
    place_init(&p);
    p.request.values[0] = "long";
    assert_ok(p.ctx, go(&p));
    whole = result(&p, 1, "mse", "mean");
    place_clear(&p);

    place_init(&p);
    p.request.values[0] = "long";
    p.request.jobs = 2;
    p.request.watch = (TaskWatch){.self = &looks, .asked = asked_after};
    looks = 1;
    assert_ok(p.ctx, go(&p));
    assert_true(p.outcome.stopped && p.outcome.runs < 4);
    assert_true(exists(&p, "runs/plain-1.part0.safetensors") || exists(&p, "runs/plain-1.json"));
    assert_true(exists(&p, "runs/other-1.part0.safetensors") || exists(&p, "runs/other-1.json"));
    looks = 1000000;
    assert_ok(p.ctx, go(&p));
    assert_int_equal(p.outcome.runs, 4);
    assert_true(result(&p, 1, "mse", "mean") == whole);
    assert_false(exists(&p, "runs/plain-1.part0.safetensors"));
    place_clear(&p);
}

static void a_run_that_fails_or_dies_among_others_is_told(void **state)
{
    Place p;

    (void)state;
    place_init(&p);
    p.request.jobs = 2;
    failing = "other";
    assert_int_equal(go(&p), RELN_ERR_NUMERIC);
    assert_non_null(strstr(p.outcome.message, "other, seed 1: it was told to fail"));
    failing = NULL;
    dying = "plain";
    scales[TASK_QUICK].rate = 0.3; /* no earlier results are reused */
    assert_int_equal(go(&p), RELN_ERR_IO);
    assert_non_null(strstr(p.outcome.message, "plain, seed 1: its process was ended by signal 9"));
    dying = NULL;
    assert_ok(p.ctx, go(&p));
    assert_int_equal(p.outcome.runs, 4);
    place_clear(&p);
}

static void training_that_is_over_is_not_done_again_for_the_evaluation(void **state)
{
    Place p;

    (void)state;
    place_init(&p);
    p.request.seeds = 1;
    p.request.models = "plain";
    stop_judging = true;
    assert_ok(p.ctx, go(&p));
    assert_true(p.outcome.stopped);
    assert_int_equal(n_loaded, 40);
    stop_judging = false;
    assert_ok(p.ctx, go(&p));
    assert_false(p.outcome.stopped);
    assert_int_equal(n_loaded, 40);
    assert_true(exists(&p, "runs/plain-1.json"));
    place_clear(&p);
}

static void a_checkpoint_of_other_settings_is_not_gone_on_from(void **state)
{
    int looks = 6;
    uint64_t first = 1;
    Place p;

    (void)state;
    place_init(&p);
    p.request.values[0] = "long";
    p.request.models = "plain";
    p.request.seeds = 1;
    p.request.watch = (TaskWatch){.self = &looks, .asked = asked_after};
    assert_ok(p.ctx, go(&p));
    assert_true(p.outcome.stopped && n_loaded > 0 && n_loaded < 4000);
    scales[TASK_QUICK].rate = 0.3;
    n_loaded = 0;
    p.request.watch = (TaskWatch){.self = &first, .begin = note_first};
    assert_ok(p.ctx, go(&p));
    assert_int_equal(first, 0);
    assert_int_equal(n_loaded, 4000);
    place_clear(&p);
}

/* A diverged run keeps its best weights, and the table says how many runs diverged, also when their records
 * are read again. */
static void a_run_that_diverged_is_told(void **state)
{
    static const char *const note = ": 1 of the runs diverged and kept their best weights";
    Place p;

    (void)state;
    place_init(&p);
    p.request.models = "plain";
    p.request.seeds = 3;
    assert_ok(p.ctx, go(&p));
    assert_null(strstr(content(&p, "table.md"), "diverged"));
    place_clear(&p);
    place_init(&p);
    p.request.models = "plain";
    p.request.seeds = 3;
    wild = 2;
    for (int again = 0; again < 2; again++) {
        assert_ok(p.ctx, go(&p));
        assert_int_equal(p.outcome.found, again * 3);
        assert_non_null(strstr(content(&p, "table.md"), note));
    }
    wild = 0;
    place_clear(&p);
}

/* The status of a run says whether it was stopped: a run that could not save its state has failed and cannot
 * be resumed. */
static void a_run_that_fails_while_it_is_stopped_has_failed(void **state)
{
    (void)state;
    for (int jobs = 1; jobs <= 2; jobs++) {
        Place p;

        place_init(&p);
        p.request.jobs = jobs;
        stop_judging = stop_fails = true;
        assert_int_equal(go(&p), RELN_ERR_IO);
        assert_false(p.outcome.stopped);
        assert_non_null(strstr(p.outcome.message, "the disk is full"));
        stop_judging = stop_fails = false;
        place_clear(&p);
    }
}

static void what_is_asked_wrongly_is_told(void **state)
{
    Place p;

    (void)state;
    place_init(&p);
    p.request.models = "plain,fancy";
    assert_int_equal(go(&p), RELN_ERR_ARG);
    assert_non_null(strstr(p.outcome.message, "no model 'fancy'"));
    p.request.models = NULL;
    p.request.values[0] = "medium";
    assert_int_equal(go(&p), RELN_ERR_ARG);
    assert_non_null(strstr(p.outcome.message, "--length is 'medium'; wanted one of short|long"));
    p.request.values[0] = NULL;
    p.request.out = "/dev/null/folder";
    assert_int_equal(go(&p), RELN_ERR_IO);
    assert_int_equal(n_run, 0);
    place_clear(&p);
}

static void a_damaged_checkpoint_is_refused(void **state)
{
    int looks = 2;
    char path[256];
    FILE *file;
    Place p;

    (void)state;
    place_init(&p);
    p.request.values[0] = "long";
    p.request.watch = (TaskWatch){.self = &looks, .asked = asked_after};
    assert_ok(p.ctx, go(&p));
    assert_true(p.outcome.stopped);
    snprintf(path, sizeof path, "%s/runs/plain-1.part0.safetensors", p.folder);
    file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, -3, SEEK_END);
    fputc('x', file);
    fclose(file);
    looks = 1000000;
    assert_int_equal(go(&p), RELN_ERR_FORMAT);
    place_clear(&p);
}

static char fault_folder[] = "/tmp/reln-runner-XXXXXX";

static RelnStatus small_call(RelnCtx *ctx)
{
    const TaskRequest request = {
        .task = &line_task, .scale = TASK_SMOKE, .models = "plain", .out = fault_folder};
    TaskOutcome outcome;

    return task_reproduce(ctx, &request, &outcome);
}

static void memory_that_is_not_there_is_told_and_nothing_leaks(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(fault_folder));
    assert_true(fail_every_allocation(small_call) > 50);
    remove_folder(fault_folder);
}

/* ---- rooms ------------------------------------------------------------------------------------------------------------- */

typedef struct Owner {
    int *later; /* lies in a room that was made after the owner */
} Owner;

static int n_ended, ended[2];

static void end_owner(void *object)
{
    const Owner *o = object;

    ended[n_ended++] = *o->later;
}

/* Freed memory is overwritten here, so an object that ends too late sees other numbers. The address sanitizer has an allocator without
 * this setting, and sees the access itself. */
static void objects_end_before_any_memory_is_freed(void **state)
{
    TaskEnv env = {.ctx = NULL};
    Owner *owners[2];

    (void)state;
    (void)mallopt(M_PERTURB, 0x55);
    for (int i = 0; i < 2; i++) {
        owners[i] = task_room(&env.rooms, 1, sizeof *owners[i]);
        assert_non_null(owners[i]);
        assert_int_equal(task_own(&env, owners[i], end_owner), RELN_OK);
    }
    for (int i = 0; i < 2; i++) {
        owners[i]->later = task_room(&env.rooms, 1000, sizeof(int));
        assert_non_null(owners[i]->later);
        *owners[i]->later = 7 + i;
    }
    task_release(&env);
    (void)mallopt(M_PERTURB, 0);
    assert_int_equal(n_ended, 2);
    assert_int_equal(ended[0], 8); /* the latest first */
    assert_int_equal(ended[1], 7);
    assert_null(env.rooms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_end_before_any_memory_is_freed),
        cmocka_unit_test(every_model_of_the_scale_is_run_with_every_seed),
        cmocka_unit_test(results_are_means_and_sample_deviations_over_the_seeds),
        cmocka_unit_test(equal_results_have_no_spread),
        cmocka_unit_test(the_table_and_the_csv_have_a_line_for_each),
        cmocka_unit_test(a_cloud_and_its_truth_have_different_colours),
        cmocka_unit_test(an_axis_is_linear_where_the_figure_says_so),
        cmocka_unit_test(the_report_says_which_model_came_out_best),
        cmocka_unit_test(a_mean_that_lacks_a_run_says_so),
        cmocka_unit_test(a_finished_run_is_not_made_again),
        cmocka_unit_test(a_run_of_other_settings_is_made_again),
        cmocka_unit_test(a_stopped_run_goes_on_and_ends_with_the_same_bits),
        cmocka_unit_test(a_checkpoint_of_the_first_layout_goes_on),
        cmocka_unit_test(a_torn_checkpoint_leaves_the_one_before_it),
        cmocka_unit_test(runs_at_a_time_come_to_what_they_are_one_by_one),
        cmocka_unit_test(runs_at_a_time_are_stopped_together_and_go_on),
        cmocka_unit_test(a_run_that_fails_or_dies_among_others_is_told),
        cmocka_unit_test(training_that_is_over_is_not_done_again_for_the_evaluation),
        cmocka_unit_test(a_checkpoint_of_other_settings_is_not_gone_on_from),
        cmocka_unit_test(a_run_that_diverged_is_told),
        cmocka_unit_test(a_run_that_fails_while_it_is_stopped_has_failed),
        cmocka_unit_test(what_is_asked_wrongly_is_told),
        cmocka_unit_test(a_damaged_checkpoint_is_refused),
        cmocka_unit_test(memory_that_is_not_there_is_told_and_nothing_leaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
