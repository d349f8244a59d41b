/* task.c -- the table of the free rigid body: the trained networks, and how long they follow a motion. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/experiment.h"
#include "tasks/rigid/rigid.h"
#include "tasks/settings.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

enum { AT_5, AT_10, AT_15, AT_20, AT_25, AT_25_TURNED };

#define MODEL(...)                                                                                 \
    &(const RigidModel)                                                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static const TaskModel models[] = {
    {.name = "mlp-64",
     .label = "MLP 64",
     .settings = MODEL(.kind = RIGID_MLP, .hidden = 2, .activation = RELN_ACT_TANH, .width = 64,
                       .rate = 1e-3, .dtype = RELN_F32)},
    {.name = "mlp-512",
     .label = "MLP 512",
     .from = TASK_FULL,
     .params = 266243,
     .paper = {{0.428, 0}, {0.656, 0}, {0.717, 0}, {0.763, 0}, {0.799, 0}},
     .settings = MODEL(.kind = RIGID_MLP, .hidden = 2, .activation = RELN_ACT_TANH, .width = 512,
                       .rate = 1e-3, .dtype = RELN_F32)},
    {.name = "plain",
     .label = "Lie Neurons, no mixing",
     .params = 840,
     .paper = {{0.739, 0}, {0.842, 0}, {0.791, 0}, {0.805, 0}, {0.809, 0}},
     .settings = MODEL(.kind = RIGID_BRACKET, .activation = RELN_ACT_NONE, .channels = 20,
                       .rate = 1e-2, .dtype = RELN_F64)},
    {.name = "mixed",
     .label = "Lie Neurons",
     .params = 1038,
     .paper = {{0.005, 0}, {0.011, 0}, {0.014, 0}, {0.016, 0}, {0.018, 0}, {0.018, 0}},
     .settings = MODEL(.kind = RIGID_MIXED, .activation = RELN_ACT_NONE, .channels = 20,
                       .rate = 1e-2, .dtype = RELN_F64)},
    {.name = "best",
     .label = "(A w) x (B w) (ours)",
     .settings =
         MODEL(.kind = RIGID_PAIR, .activation = RELN_ACT_NONE, .rate = 2e-2, .dtype = RELN_F64)},
};

static const char *const kinds[] = {[RIGID_BRACKET] = "bracket",
                                    [RIGID_MIXED] = "mixed",
                                    [RIGID_PAIR] = "pair",
                                    [RIGID_MLP] = "mlp",
                                    NULL};

static const Key model_keys[] = {
    TASK_NUMBER(RigidModel, rate), TASK_WORD(RigidModel, kind, kinds),
    TASK_WHOLE(RigidModel, width), TASK_WHOLE(RigidModel, channels),
    TASK_DENSE_KEYS(RigidModel),   TASK_WORD(RigidModel, dtype, task_dtype_words),
};

/* ---- scales ------------------------------------------------------------------------------------------------------ */

typedef struct Scale {
    ExpScale exp;
    int trained, validated, tested; /* motions */
    int stride;                     /* points between validated windows */
    int points, window;             /* points of a motion; learned points of a window */
    int turns;                      /* number of turned frames */
    char pad[4];
} Scale;

#define SCALE(steps_, every_)                                                                      \
    {                                                                                              \
        .exp =                                                                                     \
            EXP_SCALE(.batch = 20, .data_seed = 5566, .steps = steps_, .evaluate_every = every_),  \
        .trained = 10, .validated = 3, .tested = 10, .stride = 10, .points = RIGID_POINTS,         \
        .window = RIGID_STEPS, .turns = 10                                                         \
    }
static const Scale scales[TASK_SCALES] = {SCALE(10, 5), SCALE(2000, 100), SCALE(20000, 500)};

static const Key scale_keys[] = {
    EXP_SCALE_KEYS(Scale),     TASK_WHOLE(Scale, trained), TASK_WHOLE(Scale, validated),
    TASK_WHOLE(Scale, tested), TASK_WHOLE(Scale, stride),  TASK_WHOLE(Scale, points),
    TASK_WHOLE(Scale, window), TASK_WHOLE(Scale, turns),   TASK_PAD(Scale, pad),
};

/* ---- data -------------------------------------------------------------------------------------------------------- */

enum { MOTION = 3 * RIGID_POINTS };

typedef struct Data {
    RelnAlgebra *so3;
    ExpSamples train, validation; /* windows: x (3), y (3, RIGID_STEPS) */
    double *test;                 /* (tested, MOTION) */
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

/* Fills windows that begin at every `stride`-th point. */
static RelnStatus fill(TaskEnv *env, RelnRng *rng, int n_motions, int stride, ExpSamples *set)
{
    const ptrdiff_t each = (RIGID_POINTS - RIGID_STEPS) / stride;
    double w[RIGID_POINTS * 3];

    TRY(exp_samples_init(env, n_motions * each, 3, 3 * RIGID_STEPS, set));
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
    const Scale *scale = task_scale(env);
    const uint64_t seed = (uint64_t)scale->exp.data_seed;
    Data *d = *data = task_room(&env->rooms, 1, sizeof *d);
    RelnRng train = reln_rng(seed, 1), validation = reln_rng(seed, 2), test = reln_rng(seed, 3);

    if (!d)
        return task_nomem(env);
    TRY(task_algebra(env, "so:3", &d->so3));
    TRY(fill(env, &train, scale->trained, 1, &d->train));
    TRY(fill(env, &validation, scale->validated, scale->stride, &d->validation));
    if (!(d->test = task_room(&env->rooms, (size_t)scale->tested, MOTION * sizeof *d->test)))
        return task_nomem(env);
    for (int i = 0; i < scale->tested; i++)
        draw_motion(&test, d->test + i * MOTION);
    return RELN_OK;
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

static void turn(const double *r, const double *v, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = r[3 * i] * v[0] + r[3 * i + 1] * v[1] + r[3 * i + 2] * v[2];
}

/* Computes |w - r truth| at every point, mean over the motions, predicted from their beginnings alone. x (n,
 * 3), y (n, 3, RIGID_STEPS). */
static RelnStatus follow(Exp *e, const Data *d, int n, const double *r, double *x, double *y,
                         double *errors)
{
    const ExpSet set = exp_inputs(n, 3, x);
    double truth[3];

    for (int m = 0; m < n; m++)
        turn(r, d->test + m * MOTION, x + 3 * m);
    errors[0] = 0;
    for (int p = 1; p < RIGID_POINTS; p += RIGID_STEPS) {
        TRY(exp_predict(e, EXP_NETWORK, &set, y));
        for (int s = 0; s < RIGID_STEPS; s++) {
            errors[p + s] = 0;
            for (int m = 0; m < n; m++) {
                turn(r, d->test + m * MOTION + 3 * (p + s), truth);
                for (int i = 0; i < 3; i++)
                    x[3 * m + i] = y[(3 * m + i) * RIGID_STEPS + s];
                errors[p + s] +=
                    sqrt(pow(x[3 * m] - truth[0], 2) + pow(x[3 * m + 1] - truth[1], 2) +
                         pow(x[3 * m + 2] - truth[2], 2)) /
                    n;
            }
        }
    }
    return RELN_OK;
}

/* Returns the mean over the points up to a time. */
static double mean_until(const double *errors, double seconds)
{
    const int n = (int)(RIGID_POINTS * seconds / 25);
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += errors[i];
    return sum / n;
}

static RelnStatus judge_still(TaskRun *run, const double *errors)
{
    for (int i = 0; i < 5; i++)
        run->metrics[AT_5 + i] = mean_until(errors, 5.0 * (i + 1));
    for (int p = 1; p < RIGID_POINTS; p += RIGID_STEPS)
        TRY(task_curve(run, "error against time", p * RIGID_INTERVAL, errors[p]));
    return RELN_OK;
}

/* Evaluates the network on the body, and on the body seen from turned frames: the network's vectors are
 * turned with the frame, and turned back. */
static RelnStatus judge(TaskRun *run, Exp *e, const void *self)
{
    const Data *d = self;
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const RigidModel *m = run->model->settings;
    const Scale *scale = task_scale(run->env);
    const int n = scale->tested;
    RelnRng rng = exp_rng(&scale->exp, 4);
    double errors[RIGID_POINTS], r[9], back[9], sum = 0;
    double *x = exp_room(e, (size_t)n * 3 * (1 + RIGID_STEPS) * sizeof *x), *y = x + 3 * n;

    if (!x)
        return task_nomem(run->env);
    TRY(follow(e, d, n, one, x, y, errors));
    TRY(judge_still(run, errors));
    for (int i = 0; i < scale->turns; i++) {
        TRY(exp_go_on(e));
        TRY(reln_algebra_random_group(d->so3, &rng, 1, r, back, NULL));
        rigid_turn(m, exp_store(e), r);
        TRY(follow(e, d, n, r, x, y, errors));
        rigid_turn(m, exp_store(e), back);
        sum += mean_until(errors, 25) / scale->turns;
    }
    run->metrics[AT_25_TURNED] = sum;
    return RELN_OK;
}

static RelnStatus run(TaskRun *run, const void *data)
{
    const Data *d = data;
    const RigidModel *m = run->model->settings;
    const Scale *scale = task_scale(run->env);
    const ExpSet set = exp_set(&d->train), validation = exp_set(&d->validation);
    ExpPart part = exp_part(&scale->exp, m->rate, /*cosine=*/true);

    part.train = &set;
    part.validation = &validation;
    part.loss = RELN_LOSS_MAE;
    return exp_run(run,
                   &(ExpJob){.symmetry = "none:3",
                             .features = "so:3",
                             .dtype = m->dtype,
                             .network = rigid_network,
                             .model = m,
                             .n_parts = 1,
                             .parts = &part},
                   judge, d);
}

static const TaskFigure figures[] = {
    {.curve = "error against time", .x = "seconds", .y = "|w - true|"}};

const Task task_rigid = {
    .name = "rigid",
    .purpose = "a free rigid body from windows of its motion",
    .about = "Networks learn the equation of motion of a free rigid body, I wdot = (I w) x w, from "
             "windows of ten motions. They are tested by predicting ten other motions from their "
             "beginnings.\n\nErrors are means of |w - true| over the time up to 5, 10, 15, 20 and "
             "25 s. In the last column the body is seen from turned frames.",
    .n_metrics = 6,
    .main_metric = 5,
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
    .scale_fields = TASK_FIELDS(Scale, scale_keys),
    .row_fields = TASK_FIELDS(RigidModel, model_keys),
    .scales = scales,
    .prepare = prepare,
    .run = run,
};
