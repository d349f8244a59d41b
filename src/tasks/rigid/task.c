/* task.c -- the table of the free rigid body: what is trained, how far its motions are followed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/regress/regress.h"
#include "tasks/rigid/rigid.h"

enum { BATCH = 20, TRAINED = 10, VALIDATED = 3, TESTED = 10, TURNS = 10 };

/* ---- rows ---------------------------------------------------------------------------------------------------------- */

enum { AT_5, AT_10, AT_15, AT_20, AT_25, AT_25_TURNED };

#define MODEL(...)                                                                                 \
    &(const RigidModel)                                                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static const TaskModel models[] = {
    {.name = "mlp-64",
     .label = "MLP 64",
     .settings = MODEL(.kind = RIGID_MLP, .width = 64, .rate = 1e-3, .dtype = RELN_F32)},
    {.name = "mlp-512",
     .label = "MLP 512",
     .from = TASK_FULL,
     .params = 266243,
     .paper = {{0.428, 0}, {0.656, 0}, {0.717, 0}, {0.763, 0}, {0.799, 0}},
     .settings = MODEL(.kind = RIGID_MLP, .width = 512, .rate = 1e-3, .dtype = RELN_F32)},
    {.name = "plain",
     .label = "Lie Neurons, no mixing",
     .params = 840,
     .paper = {{0.739, 0}, {0.842, 0}, {0.791, 0}, {0.805, 0}, {0.809, 0}},
     .settings = MODEL(.kind = RIGID_BRACKET, .rate = 1e-2, .dtype = RELN_F64)},
    {.name = "mixed",
     .label = "Lie Neurons",
     .params = 1038,
     .paper = {{0.005, 0}, {0.011, 0}, {0.014, 0}, {0.016, 0}, {0.018, 0}, {0.018, 0}},
     .settings = MODEL(.kind = RIGID_MIXED, .rate = 1e-2, .dtype = RELN_F64)},
    {.name = "best",
     .label = "(A w) x (B w) (ours)",
     .settings = MODEL(.kind = RIGID_PAIR, .rate = 2e-2, .dtype = RELN_F64)},
};

static const uint64_t n_steps[TASK_SCALES] = {10, 2000, 20000},
                      evaluate_every[TASK_SCALES] = {5, 100, 500};

/* ---- data ---------------------------------------------------------------------------------------------------------- */

typedef struct Data {
    RegressSet train, validation; /* windows: x (3), y (3, RIGID_STEPS) */
    double test[TESTED][RIGID_POINTS * 3];
} Data;

static void draw_motion(RelnRng *rng, double *w)
{
    double w0[3];

    for (int i = 0; i < 3; i++)
        w0[i] = reln_rng_uniform(rng);
    rigid_motion(w0, RIGID_POINTS, w);
}

static void cut_window(const double *w, double *x, double *y)
{
    memcpy(x, w, 3 * sizeof *x);
    for (int s = 0; s < RIGID_STEPS; s++)
        for (int i = 0; i < 3; i++)
            y[i * RIGID_STEPS + s] = w[3 * (s + 1) + i];
}

/* Windows that begin at every `stride`-th point. */
static RelnStatus fill(TaskEnv *env, RelnRng *rng, int n_motions, int stride, RegressSet *set)
{
    const ptrdiff_t each = (RIGID_POINTS - RIGID_STEPS) / stride;
    double w[RIGID_POINTS * 3];

    TRY(regress_set_init(env, n_motions * each, 3, 3 * RIGID_STEPS, set));
    for (int m = 0; m < n_motions; m++) {
        draw_motion(rng, w);
        for (ptrdiff_t i = 0; i < each; i++)
            cut_window(w + 3 * i * stride, set->x + (m * each + i) * 3,
                       set->y + (m * each + i) * 3 * RIGID_STEPS);
    }
    return RELN_OK;
}

static RelnStatus prepare(TaskEnv *env, void **data)
{
    Data *d = calloc(1, sizeof *d);
    RelnRng train = reln_rng(/*seed=*/5566, 1), validation = reln_rng(5566, 2),
            test = reln_rng(5566, 3);

    if (!d)
        return task_nomem(env);
    *data = d;
    TRY(fill(env, &train, TRAINED, 1, &d->train));
    TRY(fill(env, &validation, VALIDATED, 10, &d->validation));
    for (int i = 0; i < TESTED; i++)
        draw_motion(&test, d->test[i]);
    return RELN_OK;
}

static void release(void *data)
{
    Data *d = data;

    if (!d)
        return;
    regress_set_clear(&d->train);
    regress_set_clear(&d->validation);
    free(d);
}

static void describe(const TaskEnv *env, const TaskModel *model, RelnDoc *doc, RelnDocNode *map)
{
    const RigidModel *m = model->settings;

    reln_doc_set_number(doc, map, "batch", BATCH);
    reln_doc_set_number(doc, map, "steps", (double)n_steps[env->scale]);
    reln_doc_set_number(doc, map, "evaluate_every", (double)evaluate_every[env->scale]);
    reln_doc_set_number(doc, map, "rate", m->rate);
    reln_doc_set_number(doc, map, "width", m->width);
}

/* ---- one run ------------------------------------------------------------------------------------------------------- */

static RelnStatus train(TaskRun *run, const Data *d, Regress **out)
{
    const RigidModel *m = run->model->settings;
    const uint64_t steps = n_steps[run->env->scale];
    const RegressJob job = {.symmetry = "none:3",
                            .features = "so:3",
                            .dtype = m->dtype,
                            .x = {.k = 3, .c = 1},
                            .network = rigid_network,
                            .model = m,
                            .loss = RELN_LOSS_MAE,
                            .train = &d->train,
                            .validation = &d->validation,
                            .batch = BATCH,
                            .steps = steps,
                            .evaluate_every = evaluate_every[run->env->scale],
                            .schedule = task_schedule(m->rate, true, steps)};

    return regress_fit(run, &job, out);
}

static void turn(const double *r, const double *v, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = r[3 * i] * v[0] + r[3 * i + 1] * v[1] + r[3 * i + 2] * v[2];
}

/* |w - r truth| at every point, mean over the motions, from their beginnings alone. */
static RelnStatus follow(Regress *regress, const Data *d, const double *r, double *errors)
{
    double x[TESTED * 3], y[TESTED * 3 * RIGID_STEPS], truth[3];

    for (int m = 0; m < TESTED; m++)
        turn(r, d->test[m], x + 3 * m);
    errors[0] = 0;
    for (int p = 1; p < RIGID_POINTS; p += RIGID_STEPS) {
        TRY(regress_predict(regress, x, TESTED, y));
        for (int s = 0; s < RIGID_STEPS; s++) {
            errors[p + s] = 0;
            for (int m = 0; m < TESTED; m++) {
                turn(r, d->test[m] + 3 * (p + s), truth);
                for (int i = 0; i < 3; i++)
                    x[3 * m + i] = y[(3 * m + i) * RIGID_STEPS + s];
                errors[p + s] +=
                    sqrt(pow(x[3 * m] - truth[0], 2) + pow(x[3 * m + 1] - truth[1], 2) +
                         pow(x[3 * m + 2] - truth[2], 2)) /
                    TESTED;
            }
        }
    }
    return RELN_OK;
}

/* Mean over the points up to a time. */
static double mean_until(const double *errors, double seconds)
{
    const int n = (int)(RIGID_POINTS * seconds / 25);
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += errors[i];
    return sum / n;
}

static RelnStatus judge(TaskRun *run, const Data *d, Regress *regress)
{
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double errors[RIGID_POINTS];

    TRY(follow(regress, d, one, errors));
    for (int i = 0; i < 5; i++)
        run->metrics[AT_5 + i] = mean_until(errors, 5.0 * (i + 1));
    for (int p = 1; p < RIGID_POINTS; p += RIGID_STEPS)
        TRY(task_curve(run, "error against time", p * RIGID_INTERVAL, errors[p]));
    return RELN_OK;
}

/* The body is seen from another frame: the network's own vectors are turned with it, and turned back. */
static RelnStatus judge_turned(TaskRun *run, const Data *d, const RelnAlgebra *so3,
                               Regress *regress)
{
    const RigidModel *m = run->model->settings;
    RelnRng rng = reln_rng(5566, 4);
    double errors[RIGID_POINTS], r[9], back[9], sum = 0;

    for (int i = 0; i < TURNS; i++) {
        TRY(reln_algebra_random_group(so3, &rng, 1, r, back, NULL));
        rigid_turn(m, regress_store(regress), r);
        TRY(follow(regress, d, r, errors));
        rigid_turn(m, regress_store(regress), back);
        sum += mean_until(errors, 25) / TURNS;
    }
    run->metrics[AT_25_TURNED] = sum;
    return RELN_OK;
}

static RelnStatus run(TaskRun *run, const void *data)
{
    RelnAlgebra *so3 = NULL;
    Regress *regress = NULL;
    RelnStatus status = reln_algebra_create(run->env->ctx, "so:3", &so3);

    if (status == RELN_OK)
        status = train(run, data, &regress);
    if (status == RELN_OK)
        status = judge(run, data, regress);
    if (status == RELN_OK)
        status = judge_turned(run, data, so3, regress);
    regress_destroy(regress);
    reln_algebra_destroy(so3);
    return status;
}

static const TaskFigure figures[] = {
    {.curve = "error against time", .x = "seconds", .y = "|w - true|"}};

const Task task_rigid = {
    .name = "rigid",
    .purpose = "a free rigid body from windows of its motion",
    .about = "Angular velocities of a free body with the inertia of the ISS, I wdot = (I w) x w. "
             "The field is learned "
             "from windows of 10 of 1000 points over 25 s of 10 motions, and followed from the "
             "beginnings of 10 others. "
             "Errors are |w - true|, mean over the time up to 5, 10, 15, 20 and 25 s, as the "
             "published code takes them; in the "
             "last column the body is seen from turned frames.\n\n"
             "Without learned matrices every channel is a multiple of w and all brackets are 0. "
             "With one on each side, a "
             "single bracket is exactly Euler's equation.",
    .n_metrics = 6,
    .metrics = {{.name = "s5", .label = "5 s"},
                {.name = "s10", .label = "10 s"},
                {.name = "s15", .label = "15 s"},
                {.name = "s20", .label = "20 s"},
                {.name = "s25", .label = "25 s"},
                {.name = "s25_turned", .label = "25 s, turned"}},
    .n_models = sizeof models / sizeof models[0],
    .models = models,
    .n_figures = sizeof figures / sizeof figures[0],
    .figures = figures,
    .seeds = {1, 1, 3},
    .prepare = prepare,
    .release = release,
    .describe = describe,
    .run = run,
};
