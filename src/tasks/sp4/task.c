/* task.c -- the sp(4) table: the trained networks, their evaluation, and the numbers of the paper. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/elements.h"
#include "tasks/experiment.h"
#include "tasks/settings.h"
#include "tasks/sp4/sp4.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

enum { ID, SP4, INVARIANCE, ID_PUBLISHED };

#define LAYERS(...)                                                                                \
    &(const Sp4Model)                                                                              \
    {                                                                                              \
        .kind = SP4_LAYERS, .width = 256, .activation = RELN_ACT_NONE, __VA_ARGS__                 \
    }
#define MLP(...)                                                                                   \
    &(const Sp4Model)                                                                              \
    {                                                                                              \
        .kind = SP4_MLP, .rate = 1e-4, .hidden = 3, .activation = RELN_ACT_RELU, __VA_ARGS__       \
    }

static const TaskModel models[] = {
    {.name = "mlp-256",
     .label = "MLP 256",
     .params = 137217,
     .paper = {{0.126, 0}, {1.360, 0}, {0.722, 0}},
     .peer_seconds = 93,
     .settings = MLP(.width = 256)},
    {.name = "mlp-256-aug",
     .label = "MLP 256 + augmentation",
     .params = 137217,
     .paper = {{0.192, 0}, {0.587, 0}, {0.476, 0}},
     .settings = MLP(.width = 256, .augment = true)},
    {.name = "mlp-512",
     .label = "MLP 512",
     .params = 536577,
     .paper = {{0.107, 0}, {0.906, 0}, {0.585, 0}},
     .peer_seconds = 315,
     .from = TASK_FULL,
     .settings = MLP(.width = 512)},
    {.name = "mlp-512-aug",
     .label = "MLP 512 + augmentation",
     .params = 536577,
     .paper = {{0.123, 0}, {0.446, 0}, {0.374, 0}},
     .from = TASK_FULL,
     .settings = MLP(.width = 512, .augment = true)},
    {.name = "lie-neurons",
     .label = "Lie Neurons",
     .params = 263170,
     .paper = {{5.83e-4, 0}, {5.84e-4, 0}, {3.84e-7, 0}},
     .peer_seconds = 4980,
     .settings = LAYERS(.relu = true, .bracket = true, .form = 6, .rate = 1e-4)},
    {.name = "reln",
     .label = "ReLN",
     .params = 263170,
     .paper = {{5.14e-4, 0}, {5.14e-4, 0}, {4.73e-7, 0}},
     .peer_seconds = 4980,
     .settings = LAYERS(.relu = true, .bracket = true, .form = 8, .rate = 1e-4)},
    {.name = "reln-relu",
     .label = "ReLN, ReLU only",
     .settings = LAYERS(.relu = true, .form = 8, .rate = 1e-4)},
    {.name = "reln-bracket",
     .label = "ReLN, bracket only",
     .settings = LAYERS(.bracket = true, .form = 8, .rate = 1e-4)},
    {.name = "reln-cosine",
     .label = "ReLN, rate 1e-3 with cosine",
     .settings = LAYERS(.relu = true, .bracket = true, .form = 8, .rate = 1e-3, .cosine = true)},
    {.name = "invariants",
     .label = "MLP of four invariants",
     .settings = &(const Sp4Model){.kind = SP4_INVARIANTS,
                                   .hidden = 3,
                                   .activation = RELN_ACT_SILU,
                                   .width = 64,
                                   .rate = 3e-3,
                                   .cosine = true}},
    {.name = "best",
     .label = "Triple and powers (ours)",
     .settings = &(const Sp4Model){.kind = SP4_BEST,
                                   .hidden = 3,
                                   .activation = RELN_ACT_SILU,
                                   .width = 64,
                                   .channels = 8,
                                   .rate = 3e-3,
                                   .cosine = true}},
};

static const char *const kinds[] = {[SP4_LAYERS] = "layers",
                                    [SP4_MLP] = "mlp",
                                    [SP4_INVARIANTS] = "invariants",
                                    [SP4_BEST] = "best",
                                    NULL};

static const Key model_keys[] = {
    TASK_NUMBER(Sp4Model, form),  TASK_NUMBER(Sp4Model, rate),    TASK_WORD(Sp4Model, kind, kinds),
    TASK_WHOLE(Sp4Model, width),  TASK_WHOLE(Sp4Model, channels), TASK_DENSE_KEYS(Sp4Model),
    TASK_FLAG(Sp4Model, cosine),  TASK_FLAG(Sp4Model, augment),   TASK_FLAG(Sp4Model, relu),
    TASK_FLAG(Sp4Model, bracket),
};

/* ---- scales ------------------------------------------------------------------------------------------------------ */

typedef struct Scale {
    ExpScale exp;
    double spread; /* coordinates of pairs, and of h in g = exp(h), are from U(-spread, spread) */
    RelnDtype dtype;
    int train, validation, test;
    int actions,
        blocks; /* each action is applied to one of so many parts of the test set, in turn */
} Scale;

#define SCALE(steps_, every_, ...)                                                                 \
    {                                                                                              \
        .exp = EXP_SCALE(.batch = 100, .data_seed = 20230601, .steps = steps_,                     \
                         .evaluate_every = every_),                                                \
        .spread = 0.5, .dtype = RELN_F32, .blocks = 5, __VA_ARGS__                                 \
    }
static const Scale scales[TASK_SCALES] = {
    SCALE(20, 10, .train = 400, .validation = 200, .test = 200, .actions = 2),
    SCALE(5000, 250, .train = 10000, .validation = 2000, .test = 10000, .actions = 20),
    SCALE(60000, 100, .train = 10000, .validation = 2000, .test = 10000, .actions = 500),
};

static const Key scale_keys[] = {
    EXP_SCALE_KEYS(Scale),
    TASK_NUMBER_BEFORE(Scale, spread, "0.5"),
    TASK_WORD(Scale, dtype, task_dtype_words),
    TASK_WHOLE(Scale, train),
    TASK_WHOLE(Scale, validation),
    TASK_WHOLE(Scale, test),
    TASK_WHOLE(Scale, actions),
    TASK_WHOLE(Scale, blocks),
};

static const char *const targets[] = {[SP4_TARGET_CODE] = "code", [SP4_TARGET_PAPER] = "paper"};

typedef struct Data {
    RelnAlgebra *sp4;
    Sp4Set train, augmented, validation, test;
} Data;

static void end_set(void *set)
{
    sp4_set_clear(set);
}

/* Draws a set from its own stream of random numbers, the same for all runs. */
static RelnStatus fill_set(TaskEnv *env, const Data *d, int stream, ptrdiff_t n, bool conjugates,
                           Sp4Set *set)
{
    const Scale *scale = task_scale(env);
    const Sp4Target target = (Sp4Target)task_choice(env, "target");
    RelnRng rng = exp_rng(&scale->exp, (uint64_t)stream);
    const RelnStatus status = sp4_set_init(set, d->sp4, &rng, scale->spread, n, target, conjugates);

    TRY(task_own(env, set, end_set));
    return status;
}

static RelnStatus prepare(TaskEnv *env, void **data)
{
    const Scale *scale = task_scale(env);
    Data *d = *data = task_room(&env->rooms, 1, sizeof *d);

    if (!d)
        return task_nomem(env);
    TRY(task_algebra(env, "sp:4", &d->sp4));
    TRY(fill_set(env, d, 1, scale->train, false, &d->train));
    TRY(fill_set(env, d, 1, scale->train, true, &d->augmented));
    TRY(fill_set(env, d, 2, scale->validation, false, &d->validation));
    return fill_set(env, d, 3, scale->test, false, &d->test);
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

/* A Fit is a training: training and validation use words if the model has that form, the final evaluation
 * uses elements. */
typedef struct Fit {
    const Data *data;
    bool words;
    double spread; /* of the scale */
    double *guess; /* outputs for a set */
} Fit;

static RelnNode *network(const RelnNet *net, const void *model)
{
    const Sp4Model *m = model;

    return m->kind == SP4_LAYERS ? sp4_network_words(net, m) : sp4_network(net, m);
}

static RelnNode *plain_network(const RelnNet *net, const void *model)
{
    return sp4_network(net, model);
}

static ExpSet set_of(const Fit *f, const Sp4Set *s)
{
    const ExpColumn x = {EXP_NUMBERS("x", 2 * SP4_K, s->x)},
                    words = {EXP_NUMBERS("words", SP4_WORDS, s->words)};

    return (ExpSet){.n = s->n,
                    .n_columns = 2,
                    .column = {f->words ? words : x, {EXP_NUMBERS("y", 1, s->y), .target = true}}};
}

static RelnStatus error_on(Exp *e, Fit *f, const Sp4Set *s, double *error)
{
    const ExpSet set = set_of(f, s);

    TRY(exp_predict(e, EXP_NETWORK, &set, f->guess));
    *error = exp_mse(f->guess, s->y, s->n, 1);
    return RELN_OK;
}

/* The score is the error on the validation set; the metric is the error on the test set, by which the published code
 * chooses its checkpoint. */
static RelnStatus evaluate(Exp *e, void *self, RelnEvaluation *out)
{
    Fit *f = self;

    TRY(error_on(e, f, &f->data->validation, &out->score));
    return error_on(e, f, &f->data->test, &out->metrics[0]);
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

static RelnStatus draw(const void *self, RelnRng *rng, void *g)
{
    const Fit *f = self;

    return element_action(f->data->sp4, rng, f->spread, g);
}

static RelnStatus move(const void *self, const void *g, const double *x, double *out)
{
    (void)self;
    element_act(SP4_K, g, 1, 2, x, out);
    return RELN_OK;
}

/* Mean over the samples of |a - b|. */
static void add_difference(const double *a, const double *b, ptrdiff_t n, int size, double share,
                           double *sum)
{
    for (ptrdiff_t i = 0; i < n * size; i++)
        *sum += fabs(a[i] - b[i]) / (double)n / share;
}

static RelnStatus judge(TaskRun *run, Exp *e, const void *self)
{
    const Fit *f = self;
    const Scale *scale = task_scale(run->env);
    const Sp4Set *test = &f->data->test;
    const ExpSamples samples = {test->n, 2 * SP4_K, 1, test->x, test->y};
    const ExpSet set = exp_set(&samples);
    ExpAction action = {.self = f,
                        .plan = EXP_OTHER,
                        .test = &samples,
                        .blocks = scale->blocks,
                        .size_g = SP4_K * SP4_K * sizeof(double),
                        .draw = draw,
                        .move = move,
                        .error = exp_add_mse,
                        .broken = add_difference};
    RelnRng rng = exp_rng(&scale->exp, /*stream=*/4);
    double sums[2] = {0, 0};

    TRY(exp_act_on(e, &set, &action, &rng, scale->actions, 1, sums));
    run->metrics[ID] = exp_mse(action.before, test->y, test->n, 1);
    run->metrics[SP4] = sums[0] / scale->actions;
    run->metrics[INVARIANCE] = sums[1] / scale->actions;
    run->metrics[ID_PUBLISHED] = exp_best_metric(e, 0, false);
    return RELN_OK;
}

static RelnStatus run(TaskRun *run, const void *data)
{
    const Scale *scale = task_scale(run->env);
    const Sp4Model *m = run->model->settings;
    const Data *d = data;
    const ptrdiff_t most = d->validation.n > d->test.n ? d->validation.n : d->test.n;
    Fit f = {.data = d,
             .words = m->kind == SP4_LAYERS,
             .spread = scale->spread,
             .guess = task_room(&run->rooms, (size_t)most, sizeof *f.guess)};
    const ExpSet set = set_of(&f, m->augment ? &d->augmented : &d->train);
    ExpPart part = exp_part(&scale->exp, m->rate, m->cosine);

    if (!f.guess)
        return task_nomem(run->env);
    part.train = &set;
    part.evaluate = evaluate;
    part.metric = "test mse";
    part.self = &f;
    return exp_run(run,
                   &(ExpJob){.symmetry = m->kind == SP4_MLP ? "none:4" : "sp:4",
                             .features = "sp:4",
                             .dtype = scale->dtype,
                             .network = network,
                             .others = {plain_network},
                             .model = m,
                             .n_parts = 1,
                             .parts = &part},
                   judge, &f);
}

const Task task_sp4 = {
    .name = "sp4",
    .purpose = "invariant regression on sp(4)",
    .about = "Networks learn a function of two matrices X, Y of sp(4) that conjugation by Sp(4) "
             "does not change. They are trained on drawn pairs.\n\nColumns: mean squared errors on "
             "pairs as drawn (ID) and conjugated by random g (SP(4)), the mean of |f(x) - f(g x)|, "
             "and the lowest test error of all checkpoints, as the published code reports it.",
    .n_metrics = 4,
    .main_metric = 1,
    .metrics = {{.name = "id", .label = "ID"},
                {.name = "sp4", .label = "SP(4)"},
                {.name = "invariance", .label = "inv. error"},
                {.name = "id_published", .label = "ID, chosen on test"}},
    .n_models = sizeof models / sizeof models[0],
    .models = models,
    .n_options = 1,
    .options = {{.name = "target",
                 .help = "sin tr(XX) as in the code, or sin tr(XY)",
                 TASK_WORDS(targets)}},
    .seeds = {1, 1, 3},
    .scale_fields = TASK_FIELDS(Scale, scale_keys),
    .row_fields = TASK_FIELDS(Sp4Model, model_keys),
    .scales = scales,
    .prepare = prepare,
    .run = run,
};
