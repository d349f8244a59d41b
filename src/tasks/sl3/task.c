/* task.c -- the two tables on sl(3): the trained networks, and their evaluation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/elements.h"
#include "tasks/experiment.h"
#include "tasks/settings.h"
#include "tasks/sl3/sl3.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

enum { ID, MOVED, EQUIVARIANCE };

#define MODEL(kind_, width_, rate_, ...)                                                           \
    &(const Sl3Model)                                                                              \
    {                                                                                              \
        .kind = kind_, .width = width_, .rate = rate_, __VA_ARGS__                                 \
    }

#define DENSE(activation_) .hidden = 3, .activation = RELN_ACT_##activation_
#define NO_DENSE .activation = RELN_ACT_NONE

static const TaskModel invariant_models[] = {
    {.name = "mlp-256",
     .label = "MLP 256",
     .params = 136193,
     .settings = MODEL(SL3_MLP, 256, 1e-3, DENSE(RELU), .cosine = true, .outputs = 1)},
    {.name = "mlp-256-aug",
     .label = "MLP 256 + augmentation",
     .params = 136193,
     .settings =
         MODEL(SL3_MLP, 256, 1e-3, DENSE(RELU), .cosine = true, .outputs = 1, .augment = true)},
    {.name = "reln",
     .label = "ReLN = Lie Neurons",
     .params = 263170,
     .settings = MODEL(SL3_INVARIANT, 256, 1e-3, NO_DENSE, .cosine = true)},
    {.name = "reln-published",
     .label = "the same, constant rate 1e-4",
     .params = 263170,
     .from = TASK_FULL,
     .settings = MODEL(SL3_INVARIANT, 256, 1e-4, NO_DENSE, .cosine = false)},
    {.name = "best",
     .label = "Affine and Product (ours)",
     .settings =
         MODEL(SL3_COMPLETE, 8, 3e-3, .cosine = true, .matrices = true, .head = 64, DENSE(SILU))},
};

static const TaskModel equivariant_models[] = {
    {.name = "mlp-256",
     .label = "MLP 256",
     .settings = MODEL(SL3_MLP, 256, 1e-3, DENSE(RELU), .cosine = true, .outputs = SL3_K)},
    {.name = "mlp-256-aug",
     .label = "MLP 256 + augmentation",
     .settings =
         MODEL(SL3_MLP, 256, 1e-3, DENSE(RELU), .cosine = true, .outputs = SL3_K, .augment = true)},
    {.name = "reln-relu",
     .label = "ReLN, two ReLU",
     .settings = MODEL(SL3_EQUIVARIANT, 256, 1e-3, NO_DENSE, .cosine = true, .blocks = "rr")},
    {.name = "reln-bracket",
     .label = "ReLN, two brackets",
     .settings = MODEL(SL3_EQUIVARIANT, 256, 1e-3, NO_DENSE, .cosine = true, .blocks = "bb")},
    {.name = "reln",
     .label = "ReLN, bracket ReLU bracket ReLU",
     .settings = MODEL(SL3_EQUIVARIANT, 256, 1e-3, NO_DENSE, .cosine = true, .blocks = "brbr")},
    {.name = "reln-published",
     .label = "two brackets, constant rate 1e-5",
     .from = TASK_FULL,
     .settings = MODEL(SL3_EQUIVARIANT, 256, 1e-5, NO_DENSE, .cosine = false, .blocks = "bb")},
    {.name = "best",
     .label = "two brackets of 8 channels (ours)",
     .settings = MODEL(SL3_EQUIVARIANT, 8, 1e-2, NO_DENSE, .cosine = true, .blocks = "bb")},
};

static const char *const kinds[] = {[SL3_INVARIANT] = "invariant",
                                    [SL3_EQUIVARIANT] = "equivariant",
                                    [SL3_COMPLETE] = "complete",
                                    [SL3_MLP] = "mlp",
                                    NULL};

static const Key model_keys[] = {
    TASK_NUMBER(Sl3Model, rate),   TASK_WORD(Sl3Model, kind, kinds), TASK_WHOLE(Sl3Model, width),
    TASK_WHOLE(Sl3Model, outputs), TASK_TEXT(Sl3Model, blocks),      TASK_FLAG(Sl3Model, matrices),
    TASK_FLAG(Sl3Model, augment),  TASK_FLAG(Sl3Model, cosine),      TASK_PAD(Sl3Model, pad),
    TASK_DENSE_KEYS(Sl3Model),     TASK_WHOLE(Sl3Model, head),
};

/* ---- scales ------------------------------------------------------------------------------------------------------ */

typedef struct Scale {
    ExpScale exp;
    double spread; /* coordinates of pairs, and of h in g = exp(h), are from U(-spread, spread) */
    double plain;  /* share of the pairs that augmentation leaves unchanged */
    RelnDtype dtype;
    int train, validation, test, actions;
    int pool; /* number of group elements for augmentation */
} Scale;

#define SCALE(train_, validation_, test_, steps_, every_, actions_)                                \
    {                                                                                              \
        .exp = EXP_SCALE(.batch = 100, .data_seed = 20231015, .steps = steps_,                     \
                         .evaluate_every = every_),                                                \
        .spread = 0.5, .plain = 0.5, .dtype = RELN_F32, .train = train_,                           \
        .validation = validation_, .test = test_, .actions = actions_, .pool = 256                 \
    }

/* In the order of TaskScale. The published protocols have 600 epochs (invariant) and 1500 (equivariant) of 100
 * steps. */
static const Scale invariant_scales[TASK_SCALES] = {SCALE(200, 100, 100, 10, 5, 2),
                                                    SCALE(10000, 2000, 2000, 1000, 100, 20),
                                                    SCALE(10000, 2000, 10000, 60000, 500, 500)};
static const Scale equivariant_scales[TASK_SCALES] = {SCALE(200, 100, 100, 10, 5, 2),
                                                      SCALE(10000, 2000, 2000, 1000, 100, 20),
                                                      SCALE(10000, 2000, 5000, 150000, 1000, 500)};

static const Key scale_keys[] = {
    EXP_SCALE_KEYS(Scale),
    TASK_NUMBER_BEFORE(Scale, spread, "0.5"),
    TASK_NUMBER_BEFORE(Scale, plain, "0.5"),
    TASK_WORD(Scale, dtype, task_dtype_words),
    TASK_WHOLE(Scale, train),
    TASK_WHOLE(Scale, validation),
    TASK_WHOLE(Scale, test),
    TASK_WHOLE(Scale, actions),
    TASK_WHOLE(Scale, pool),
};

/* ---- data -------------------------------------------------------------------------------------------------------- */

extern const Task task_sl3_inv, task_sl3_equiv;

enum { TRAIN, VALIDATION, TEST, SETS };

typedef struct Data {
    const Scale *scale;
    RelnAlgebra *sl3;
    bool invariant;
    ExpSamples coordinates[SETS], matrices[SETS];
    double (*pool)[SL3_K * SL3_K]; /* for augmentation */
} Data;

static RelnStatus fill_set(TaskEnv *env, const Data *d, int which, ExpSamples *set)
{
    const ptrdiff_t n[SETS] = {d->scale->train, d->scale->validation, d->scale->test};
    RelnRng rng = exp_rng(&d->scale->exp, (uint64_t)which);

    TRY(exp_samples_init(env, n[which], 2 * SL3_K, d->invariant ? 1 : SL3_K, set));
    for (ptrdiff_t i = 0; i < set->n; i++) {
        double x[SL3_K], y[SL3_K], *pair = set->x + i * 2 * SL3_K;

        element_draw(&rng, d->scale->spread, 2 * SL3_K, pair);
        for (int k = 0; k < SL3_K; k++) {
            x[k] = pair[2 * k];
            y[k] = pair[2 * k + 1];
        }
        if (d->invariant)
            set->y[i] = sl3_invariant(d->sl3, x, y);
        else
            sl3_equivariant(d->sl3, x, y, set->y + i * SL3_K);
    }
    return RELN_OK;
}

static RelnStatus hat_set(TaskEnv *env, const Data *d, const ExpSamples *from, ExpSamples *set)
{
    TRY(exp_samples_init(env, from->n, 2 * SL3_MATRIX, from->size_y, set));
    sl3_hats(d->sl3, from->n, from->x, set->x);
    memcpy(set->y, from->y, (size_t)(from->n * from->size_y) * sizeof *set->y);
    return RELN_OK;
}

static RelnStatus prepare(TaskEnv *env, void **data)
{
    const Scale *scale = task_scale(env);
    Data *d = *data = task_room(&env->rooms, 1, sizeof *d);
    RelnRng rng = exp_rng(&scale->exp, 10);

    if (!d)
        return task_nomem(env);
    d->scale = scale;
    d->invariant = env->task == &task_sl3_inv;
    TRY(task_algebra(env, "sl:3", &d->sl3));
    for (int s = 0; s < SETS; s++) {
        TRY(fill_set(env, d, s, &d->coordinates[s]));
        TRY(hat_set(env, d, &d->coordinates[s], &d->matrices[s]));
    }
    if (!(d->pool = task_room(&env->rooms, (size_t)scale->pool, sizeof *d->pool)))
        return task_nomem(env);
    for (int i = 0; i < scale->pool; i++)
        TRY(element_action(d->sl3, &rng, scale->spread, d->pool[i]));
    return RELN_OK;
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

typedef struct Fit {
    const Data *data;
    const Sl3Model *model;
} Fit;

static RelnStatus augment(const void *self, RelnRng *rng, double *const *columns)
{
    const Data *d = ((const Fit *)self)->data;
    const double *ad = d->pool[reln_rng_below(rng, (uint64_t)d->scale->pool)];

    if (reln_rng_uniform(rng) < d->scale->plain)
        return RELN_OK;
    element_act(SL3_K, ad, 1, 2, columns[0], columns[0]);
    if (!d->invariant)
        element_act(SL3_K, ad, 1, 1, columns[1], columns[1]);
    return RELN_OK;
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

static RelnStatus draw(const void *self, RelnRng *rng, void *g)
{
    const Data *d = ((const Fit *)self)->data;

    return element_action(d->sl3, rng, d->scale->spread, g);
}

static RelnStatus move(const void *self, const void *g, const double *x, double *out)
{
    const Fit *f = self;
    double moved[2 * SL3_K];

    element_act(SL3_K, g, 1, 2, x, moved);
    if (f->model->matrices)
        sl3_hats(f->data->sl3, 1, moved, out);
    else
        memcpy(out, moved, sizeof moved);
    return RELN_OK;
}

static void turn(const void *self, const void *g, const double *y, double *out)
{
    (void)self;
    element_act(SL3_K, g, 1, 1, y, out);
}

/* Mean of |a - b| over the samples. */
static void add_distance(const double *a, const double *b, ptrdiff_t n, int size, double share,
                         double *total)
{
    double sum = 0;

    for (ptrdiff_t i = 0; i < n; i++) {
        double square = 0;
        for (int k = 0; k < size; k++)
            square += (a[i * size + k] - b[i * size + k]) * (a[i * size + k] - b[i * size + k]);
        sum += sqrt(square);
    }
    *total += sum / (double)n / share;
}

static RelnStatus judge(TaskRun *run, Exp *e, const void *self)
{
    const Fit *f = self;
    const Data *d = f->data;
    const ExpSamples *test = &d->coordinates[TEST],
                     *seen = f->model->matrices ? &d->matrices[TEST] : test;
    const int n = d->scale->actions;
    const ExpSet set = exp_set(seen);
    ExpAction action = {.self = f,
                        .test = test,
                        .size_x = seen->size_x,
                        .size_g = SL3_K * SL3_K * sizeof(double),
                        .draw = draw,
                        .move = move,
                        .turn = d->invariant ? NULL : turn,
                        .error = exp_add_mse,
                        .broken = add_distance};
    RelnRng rng = exp_rng(&d->scale->exp, 11);
    double sums[2] = {0, 0};

    TRY(exp_act_on(e, &set, &action, &rng, n, n, sums));
    run->metrics[ID] = exp_mse(action.before, test->y, test->n, test->size_y);
    run->metrics[MOVED] = sums[0];
    run->metrics[EQUIVARIANCE] = sums[1];
    return RELN_OK;
}

static RelnStatus run(TaskRun *run, const void *data)
{
    const Data *d = data;
    const Sl3Model *m = run->model->settings;
    const ExpSamples *sets = m->matrices ? d->matrices : d->coordinates;
    const ExpSet set = exp_set(&sets[TRAIN]), validation = exp_set(&sets[VALIDATION]);
    ExpPart part = exp_part(&d->scale->exp, m->rate, m->cosine);
    Fit f = {d, m};

    part.train = &set;
    part.validation = &validation;
    part.move = m->augment ? augment : NULL;
    part.self = &f;
    return exp_run(run,
                   &(ExpJob){.symmetry = m->kind == SL3_MLP ? "none:3" : "sl:3",
                             .features = m->matrices ? "gl:3" : "sl:3",
                             .dtype = d->scale->dtype,
                             .network = sl3_network,
                             .model = m,
                             .n_parts = 1,
                             .parts = &part},
                   judge, &f);
}

#define SHARED                                                                                     \
    .n_metrics = 3, .main_metric = 1,                                                              \
    .metrics = {{.name = "id", .label = "ID"},                                                     \
                {.name = "sl3", .label = "SL(3)"},                                                 \
                {.name = "equivariance", .label = "equiv. error"}},                                \
    .seeds = {1, 1, 3}, .scale_fields = TASK_FIELDS(Scale, scale_keys),                            \
    .row_fields = TASK_FIELDS(Sl3Model, model_keys), .prepare = prepare, .run = run

const Task task_sl3_inv = {
    .name = "sl3-inv",
    .purpose = "invariant regression on sl(3)",
    .about = "Networks learn the invariant function of the sp(4) table for two matrices X, Y of "
             "sl(3). They are trained on drawn pairs.\n\nColumns: mean squared errors on pairs as "
             "drawn (ID) and conjugated by random g (SL(3)), and the mean of |f(x) - f(g x)|. On "
             "sl(3) ReLN and Lie Neurons are one network.",
    .n_models = sizeof invariant_models / sizeof invariant_models[0],
    .models = invariant_models,
    .scales = invariant_scales,
    SHARED,
};

const Task task_sl3_equiv = {
    .name = "sl3-equiv",
    .purpose = "equivariant regression on sl(3)",
    .about = "Networks learn [[X,Y],Y] + [Y,X], an element that follows every conjugation of two "
             "matrices X, Y of sl(3). They are trained on drawn pairs.\n\nColumns: mean squared "
             "errors of its coordinates on pairs as drawn (ID) and conjugated by random g (SL(3)), "
             "and the mean of |f(g x) - g f(x)|.",
    .n_models = sizeof equivariant_models / sizeof equivariant_models[0],
    .models = equivariant_models,
    .scales = equivariant_scales,
    SHARED,
};
