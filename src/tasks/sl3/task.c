/* task.c -- the two tables on sl(3): what is trained, and how it is judged. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/regress/regress.h"
#include "tasks/sl3/sl3.h"

enum { BATCH = 100, POOL = 256 };

/* ---- rows ---------------------------------------------------------------------------------------------------------- */

enum { ID, MOVED, EQUIVARIANCE };

#define MODEL(kind_, width_, rate_, ...)                                                           \
    &(const Sl3Model)                                                                              \
    {                                                                                              \
        .kind = kind_, .width = width_, .rate = rate_, __VA_ARGS__                                 \
    }

static const TaskModel invariant_models[] = {
    {.name = "mlp-256",
     .label = "MLP 256",
     .params = 136193,
     .settings = MODEL(SL3_MLP, 256, 1e-3, .cosine = true, .outputs = 1)},
    {.name = "mlp-256-aug",
     .label = "MLP 256 + augmentation",
     .params = 136193,
     .settings = MODEL(SL3_MLP, 256, 1e-3, .cosine = true, .outputs = 1, .augment = true)},
    {.name = "reln",
     .label = "ReLN = Lie Neurons",
     .params = 263170,
     .settings = MODEL(SL3_INVARIANT, 256, 1e-3, .cosine = true)},
    {.name = "reln-published",
     .label = "the same, constant rate 1e-4",
     .params = 263170,
     .from = TASK_FULL,
     .settings = MODEL(SL3_INVARIANT, 256, 1e-4, .cosine = false)},
    {.name = "best",
     .label = "Affine and Product (ours)",
     .settings = MODEL(SL3_COMPLETE, 8, 3e-3, .cosine = true, .matrices = true)},
};

static const TaskModel equivariant_models[] = {
    {.name = "mlp-256",
     .label = "MLP 256",
     .settings = MODEL(SL3_MLP, 256, 1e-3, .cosine = true, .outputs = SL3_K)},
    {.name = "mlp-256-aug",
     .label = "MLP 256 + augmentation",
     .settings = MODEL(SL3_MLP, 256, 1e-3, .cosine = true, .outputs = SL3_K, .augment = true)},
    {.name = "reln-relu",
     .label = "ReLN, two ReLU",
     .settings = MODEL(SL3_EQUIVARIANT, 256, 1e-3, .cosine = true, .blocks = "rr")},
    {.name = "reln-bracket",
     .label = "ReLN, two brackets",
     .settings = MODEL(SL3_EQUIVARIANT, 256, 1e-3, .cosine = true, .blocks = "bb")},
    {.name = "reln",
     .label = "ReLN, bracket ReLU bracket ReLU",
     .settings = MODEL(SL3_EQUIVARIANT, 256, 1e-3, .cosine = true, .blocks = "brbr")},
    {.name = "reln-published",
     .label = "two brackets, constant rate 1e-5",
     .from = TASK_FULL,
     .settings = MODEL(SL3_EQUIVARIANT, 256, 1e-5, .cosine = false, .blocks = "bb")},
    {.name = "best",
     .label = "two brackets of 8 channels (ours)",
     .settings = MODEL(SL3_EQUIVARIANT, 8, 1e-2, .cosine = true, .blocks = "bb")},
};

/* ---- data ---------------------------------------------------------------------------------------------------------- */

extern const Task task_sl3_inv, task_sl3_equiv;

/* In the order of TaskScale. The published protocols have 600 epochs (invariant) and 1500 (equivariant) of 100 steps. */
static const RegressScale invariant_scales[TASK_SCALES] = {
    {200, 100, 100, 10, 5}, {10000, 2000, 2000, 1000, 100}, {10000, 2000, 10000, 60000, 500}};
static const RegressScale equivariant_scales[TASK_SCALES] = {
    {200, 100, 100, 10, 5}, {10000, 2000, 2000, 1000, 100}, {10000, 2000, 5000, 150000, 1000}};
static const int n_actions[TASK_SCALES] = {2, 20, 500};

static bool is_invariant(const TaskEnv *env)
{
    return env->task == &task_sl3_inv;
}

static const RegressScale *scale_of(const TaskEnv *env)
{
    return &(is_invariant(env) ? invariant_scales : equivariant_scales)[env->scale];
}

enum { TRAIN, VALIDATION, TEST, SETS };

typedef struct Data {
    RelnAlgebra *sl3;
    bool invariant;
    RegressSet coordinates[SETS], matrices[SETS];
    double pool[POOL][SL3_K * SL3_K]; /* for augmentation */
} Data;

static RelnStatus fill_set(TaskEnv *env, const Data *d, int which, RegressSet *set)
{
    const RegressScale *scale = scale_of(env);
    const ptrdiff_t n[SETS] = {scale->train, scale->validation, scale->test};
    RelnRng rng = reln_rng(/*seed=*/20231015, (uint64_t)which);

    TRY(regress_set_init(env, n[which], 2 * SL3_K, d->invariant ? 1 : SL3_K, set));
    for (ptrdiff_t i = 0; i < set->n; i++) {
        double x[SL3_K], y[SL3_K], *pair = set->x + i * 2 * SL3_K;
        for (int k = 0; k < SL3_K; k++) {
            x[k] = pair[2 * k] = reln_rng_uniform(&rng) - 0.5;
            y[k] = pair[2 * k + 1] = reln_rng_uniform(&rng) - 0.5;
        }
        if (d->invariant)
            set->y[i] = sl3_invariant(d->sl3, x, y);
        else
            sl3_equivariant(d->sl3, x, y, set->y + i * SL3_K);
    }
    return RELN_OK;
}

static RelnStatus hat_set(TaskEnv *env, const Data *d, const RegressSet *from, RegressSet *set)
{
    TRY(regress_set_init(env, from->n, 2 * SL3_MATRIX, from->size_y, set));
    sl3_hats(d->sl3, from->n, from->x, set->x);
    memcpy(set->y, from->y, (size_t)(from->n * from->size_y) * sizeof *set->y);
    return RELN_OK;
}

static RelnStatus prepare(TaskEnv *env, void **data)
{
    Data *d = calloc(1, sizeof *d);
    RelnRng rng = reln_rng(20231015, 10);

    if (!d)
        return task_nomem(env);
    *data = d;
    d->invariant = is_invariant(env);
    TRY(reln_algebra_create(env->ctx, "sl:3", &d->sl3));
    for (int s = 0; s < SETS; s++) {
        TRY(fill_set(env, d, s, &d->coordinates[s]));
        TRY(hat_set(env, d, &d->coordinates[s], &d->matrices[s]));
    }
    for (int i = 0; i < POOL; i++)
        TRY(sl3_action(d->sl3, &rng, d->pool[i]));
    return RELN_OK;
}

static void release(void *data)
{
    Data *d = data;

    if (!d)
        return;
    for (int s = 0; s < SETS; s++) {
        regress_set_clear(&d->coordinates[s]);
        regress_set_clear(&d->matrices[s]);
    }
    reln_algebra_destroy(d->sl3);
    free(d);
}

static void describe(const TaskEnv *env, const TaskModel *model, RelnDoc *doc, RelnDocNode *map)
{
    const Sl3Model *m = model->settings;

    regress_describe(scale_of(env), doc, map);
    reln_doc_set_number(doc, map, "actions", n_actions[env->scale]);
    reln_doc_set_number(doc, map, "width", m->width);
    reln_doc_set_number(doc, map, "rate", m->rate);
    reln_doc_set_bool(doc, map, "cosine", m->cosine);
    reln_doc_set_bool(doc, map, "augment", m->augment);
}

/* ---- one run ------------------------------------------------------------------------------------------------------- */

typedef struct Fit {
    TaskRun *run;
    const Data *data;
    const Sl3Model *model;
    Regress *regress;
    double *x, *matrices, *y, *before, *after; /* of the test set, moved; outputs */
} Fit;

/* Half of what is seen are pairs as they were drawn. */
static RelnStatus augment(const void *self, RelnRng *rng, double *x, double *y)
{
    const Data *d = self;
    const double *ad = d->pool[reln_rng_below(rng, POOL)];

    if (reln_rng_uniform(rng) < 0.5)
        return RELN_OK;
    sl3_act(ad, 1, 2, x, x);
    if (!d->invariant)
        sl3_act(ad, 1, 1, y, y);
    return RELN_OK;
}

static RelnStatus train(Fit *f)
{
    const Sl3Model *m = f->model;
    const RegressSet *sets = m->matrices ? f->data->matrices : f->data->coordinates;
    const RegressScale *scale = scale_of(f->run->env);
    const RegressJob job = {.symmetry = m->kind == SL3_MLP ? "none:3" : "sl:3",
                            .features = m->matrices ? "gl:3" : "sl:3",
                            .dtype = RELN_F32,
                            .x = {.k = m->matrices ? SL3_MATRIX : SL3_K, .c = 2},
                            .network = sl3_network,
                            .model = m,
                            .train = &sets[TRAIN],
                            .validation = &sets[VALIDATION],
                            .batch = BATCH,
                            .steps = scale->steps,
                            .evaluate_every = scale->evaluate_every,
                            .schedule = task_schedule(m->rate, m->cosine, scale->steps),
                            .move = m->augment ? augment : NULL,
                            .self = f->data};

    return regress_fit(f->run, &job, &f->regress);
}

static RelnStatus predict(Fit *f, const double *x, double *out)
{
    const ptrdiff_t n = f->data->coordinates[TEST].n;

    if (!f->model->matrices)
        return regress_predict(f->regress, x, n, out);
    sl3_hats(f->data->sl3, n, x, f->matrices);
    return regress_predict(f->regress, f->matrices, n, out);
}

static void move_outputs(const Fit *f, const double *ad, const double *from, double *to)
{
    const RegressSet *test = &f->data->coordinates[TEST];

    if (f->data->invariant)
        memcpy(to, from, (size_t)test->n * sizeof *to);
    else
        sl3_act(ad, test->n, 1, from, to);
}

/* Mean of |a - b| over the samples. */
static double mean_distance(const double *a, const double *b, ptrdiff_t n, int size)
{
    double sum = 0;

    for (ptrdiff_t i = 0; i < n; i++) {
        double square = 0;
        for (int k = 0; k < size; k++)
            square += (a[i * size + k] - b[i * size + k]) * (a[i * size + k] - b[i * size + k]);
        sum += sqrt(square);
    }
    return sum / (double)n;
}

static RelnStatus judge_actions(Fit *f)
{
    const RegressSet *test = &f->data->coordinates[TEST];
    const int n = n_actions[f->run->env->scale];
    RelnRng rng = reln_rng(20231015, 11);
    double ad[SL3_K * SL3_K], sums[2] = {0, 0};

    for (int a = 0; a < n; a++) {
        if (task_asked(f->run))
            return task_fail(f->run->env, RELN_ERR_STOPPED, "asked to stop");
        TRY(sl3_action(f->data->sl3, &rng, ad));
        sl3_act(ad, test->n, 2, test->x, f->x);
        TRY(predict(f, f->x, f->after));
        move_outputs(f, ad, test->y, f->y);
        sums[0] += regress_mse(f->after, f->y, test->n * test->size_y) / n;
        move_outputs(f, ad, f->before, f->y);
        sums[1] += mean_distance(f->after, f->y, test->n, test->size_y) / n;
    }
    f->run->metrics[MOVED] = sums[0];
    f->run->metrics[EQUIVARIANCE] = sums[1];
    return RELN_OK;
}

static RelnStatus judge(Fit *f)
{
    const RegressSet *test = &f->data->coordinates[TEST];
    const size_t n = (size_t)test->n, outputs = n * (size_t)test->size_y;

    f->x = malloc(n * 2 * SL3_K * sizeof *f->x);
    f->matrices = malloc(n * 2 * SL3_MATRIX * sizeof *f->matrices);
    f->y = malloc(outputs * sizeof *f->y);
    f->before = malloc(outputs * sizeof *f->before);
    f->after = malloc(outputs * sizeof *f->after);
    if (!f->x || !f->matrices || !f->y || !f->before || !f->after)
        return task_nomem(f->run->env);
    TRY(predict(f, test->x, f->before));
    f->run->metrics[ID] = regress_mse(f->before, test->y, (ptrdiff_t)outputs);
    return judge_actions(f);
}

static RelnStatus run(TaskRun *run, const void *data)
{
    Fit f = {.run = run, .data = data, .model = run->model->settings};
    RelnStatus status = train(&f);

    if (status == RELN_OK)
        status = judge(&f);
    regress_destroy(f.regress);
    free(f.x);
    free(f.matrices);
    free(f.y);
    free(f.before);
    free(f.after);
    return status;
}

#define SHARED                                                                                     \
    .n_metrics = 3,                                                                                \
    .metrics = {{.name = "id", .label = "ID"},                                                     \
                {.name = "sl3", .label = "SL(3)"},                                                 \
                {.name = "equivariance", .label = "equiv. error"}},                                \
    .seeds = {1, 1, 3}, .prepare = prepare, .release = release, .describe = describe, .run = run

const Task task_sl3_inv = {
    .name = "sl3-inv",
    .purpose = "invariant regression on sl(3)",
    .about = "Pairs X, Y of sl(3) and the function of the sp(4) table, sin tr(XX) + cos tr(YY) - "
             "tr(YY)^3/2 + det(XY) + "
             "exp tr(XX). Mean squared errors on pairs as drawn (ID) and conjugated by random g "
             "(SL(3)); the last column "
             "is the mean of |f(x) - f(g x)|. On sl(3) the forms of ReLN and Lie Neurons are the "
             "same, 6 tr(XY), and so "
             "are the networks.",
    .n_models = sizeof invariant_models / sizeof invariant_models[0],
    .models = invariant_models,
    SHARED,
};

const Task task_sl3_equiv = {
    .name = "sl3-equiv",
    .purpose = "equivariant regression on sl(3)",
    .about = "Pairs X, Y of sl(3) and [[X,Y],Y] + [Y,X], an element that follows every "
             "conjugation. Mean squared errors of "
             "its coordinates on pairs as drawn (ID) and conjugated by random g (SL(3)); the last "
             "column is the mean of "
             "|f(g x) - g f(x)|. Two bracket layers of four channels hold the function exactly; "
             "layers with ReLU alone "
             "stay in the span of X and Y and cannot.",
    .n_models = sizeof equivariant_models / sizeof equivariant_models[0],
    .models = equivariant_models,
    SHARED,
};
