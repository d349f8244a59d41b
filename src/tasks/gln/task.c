/* task.c -- the GL(n) table: which networks learn which function of two matrices, and how a change of frame
 * affects them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/experiment.h"
#include "tasks/gln/gln.h"
#include "tasks/settings.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

enum { AT_1, AT_10, AT_100, EQUIVARIANCE };

#define MODEL(...)                                                                                 \
    &(const GlnModel)                                                                              \
    {                                                                                              \
        .rate = 3e-3, .head = 32, .activation = RELN_ACT_SILU, __VA_ARGS__                         \
    }

static const TaskModel models[] = {
    {.name = "mlp-aug",
     .label = "MLP + augmentation",
     .settings = MODEL(.kind = GLN_MLP, .hidden = 3, .width = 128, .lift = GLN_LIFT_LOG)},
    {.name = "lie-neurons",
     .label = "ReLN without centre (Lie Neurons)",
     .settings = MODEL(.hidden = 2, .width = 24, .form = RELN_FORM_NO_CENTER)},
    {.name = "reln", .label = "ReLN", .settings = MODEL(.hidden = 2, .width = 24)},
    {.name = "reln-center",
     .label = "ReLN, centre apart (ours)",
     .settings = MODEL(.hidden = 2, .width = 24, .center = true)},
    {.name = "complete",
     .label = "Affine and Product (ours)",
     .settings = MODEL(.kind = GLN_COMPLETE, .hidden = 2, .width = 24)},
    {.name = "reln-log",
     .label = "ReLN on log S, for O(n) only",
     .settings = MODEL(.hidden = 2, .width = 24, .center = true, .lift = GLN_LIFT_LOG)},
};

static const char *const kinds[] = {
    [GLN_LAYERS] = "layers", [GLN_COMPLETE] = "complete", [GLN_MLP] = "mlp", NULL};
static const char *const lifts[] = {
    [GLN_LIFT_REFERENCE] = "reference", [GLN_LIFT_LOG] = "log", NULL};

static const Key model_keys[] = {
    TASK_NUMBER(GlnModel, rate),      TASK_WORD(GlnModel, kind, kinds),
    TASK_WHOLE(GlnModel, width),      TASK_WHOLE(GlnModel, head),
    TASK_DENSE_KEYS(GlnModel),        TASK_WORD(GlnModel, form, task_form_words),
    TASK_WORD(GlnModel, lift, lifts), TASK_FLAG(GlnModel, center),
    TASK_PAD(GlnModel, pad),
};

/* ---- scales ------------------------------------------------------------------------------------------------------ */

enum { CONDS = 7 };

typedef struct Scale {
    double conds[CONDS]; /* condition numbers of the frames in which networks are evaluated */
    double augment_cond; /* frames of augmentation have condition numbers up to this */
    ExpScale exp;
    RelnDtype dtype; /* f64, so that errors are those of the model and not rounding */
    int train, validation, test;
    int frames;      /* number of frames for each condition number */
    int pool, shown; /* frames of augmentation; points of the plot of predictions */
    char pad[4];
} Scale;

#define SCALE(steps_, every_, ...)                                                                 \
    {                                                                                              \
        .conds = {1, 3, 10, 30, 100, 300, 1000}, .augment_cond = 100,                              \
        .exp = EXP_SCALE(.batch = 100, .data_seed = 20240701, .steps = steps_,                     \
                         .evaluate_every = every_),                                                \
        .dtype = RELN_F64, .pool = 256, .shown = 200, __VA_ARGS__                                  \
    }
static const Scale scales[TASK_SCALES] = {
    SCALE(20, 10, .train = 200, .validation = 100, .test = 100, .frames = 2),
    SCALE(3000, 250, .train = 4000, .validation = 1000, .test = 1000, .frames = 5),
    SCALE(6000, 250, .train = 10000, .validation = 2000, .test = 4000, .frames = 50),
};

static const Key scale_keys[] = {
    TASK_NUMBERS(Scale, conds, CONDS),
    TASK_NUMBER(Scale, augment_cond),
    EXP_SCALE_KEYS(Scale),
    TASK_WORD(Scale, dtype, task_dtype_words),
    TASK_WHOLE(Scale, train),
    TASK_WHOLE(Scale, validation),
    TASK_WHOLE(Scale, test),
    TASK_WHOLE(Scale, frames),
    TASK_WHOLE(Scale, pool),
    TASK_WHOLE(Scale, shown),
    TASK_PAD(Scale, pad),
};

static const struct {
    const char *name;
    int n;
    const char *orthogonal, *none;
} groups[] = {{"gl:3", 3, "o:3", "none:3"}, {"gl:4", 4, "o:4", "none:4"}};

static const GlnTarget *target_of(const TaskEnv *env)
{
    return &gln_targets[task_choice(env, "target")];
}

/* Returns whether the row is in the table. Rows with the lift for O(n) are for covariances only. */
static bool wanted(const TaskEnv *env, const TaskModel *model)
{
    return ((const GlnModel *)model->settings)->kind == GLN_MLP ||
           ((const GlnModel *)model->settings)->lift != GLN_LIFT_LOG || target_of(env)->covariance;
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

enum { TRAIN, VALIDATION, TEST, SETS };

typedef struct Data {
    RelnCtx *ctx;
    const Scale *scale;
    const GlnTarget *target;
    int group, n, outputs;
    RelnAlgebra *gl;
    double mean, factor;        /* targets are learned as (y - mean) factor, of mean square 1 */
    ExpSamples raw[SETS];       /* x: pairs */
    ExpSamples lifted[2][SETS]; /* by lift */
    GlnFrame *pool;             /* for augmentation */
} Data;

static RelnStatus draw_set(TaskEnv *env, const Data *d, int which, ExpSamples *set)
{
    const ptrdiff_t n[SETS] = {d->scale->train, d->scale->validation, d->scale->test};
    const int size = 2 * d->n * d->n;
    RelnRng rng = exp_rng(&d->scale->exp, (uint64_t)(10 + which));

    TRY(exp_samples_init(env, n[which], size, d->outputs, set));
    for (ptrdiff_t i = 0; i < set->n; i++) {
        TRY(gln_draw(env->ctx, d->target, d->n, &rng, set->x + i * size));
        TRY(gln_value(env->ctx, d->target, d->n, set->x + i * size, set->y + i * d->outputs));
    }
    return RELN_OK;
}

/* Finds the mean and the factor of the targets. Only numbers are centred: a matrix has no mean that is the
 * same in all frames, except for its centre. */
static void find_factor(Data *d)
{
    const ExpSamples *train = &d->raw[TRAIN];
    const ptrdiff_t count = train->n * train->size_y;
    double square = 0;

    d->mean = 0;
    for (ptrdiff_t i = 0; i < count && !d->target->element; i++)
        d->mean += train->y[i] / (double)count;
    for (ptrdiff_t i = 0; i < count; i++)
        square += (train->y[i] - d->mean) * (train->y[i] - d->mean) / (double)count;
    d->factor = 1 / sqrt(square);
}

static RelnStatus lift_set(TaskEnv *env, const Data *d, GlnLift lift, const ExpSamples *raw,
                           ExpSamples *out)
{
    TRY(exp_samples_init(env, raw->n, raw->size_x, raw->size_y, out));
    memcpy(out->y, raw->y, (size_t)(raw->n * raw->size_y) * sizeof *out->y);
    for (ptrdiff_t i = 0; i < raw->n; i++)
        TRY(gln_lift(env->ctx, d->target, lift, d->n, raw->x + i * raw->size_x,
                     out->x + i * raw->size_x));
    return RELN_OK;
}

static RelnStatus fill_pool(TaskEnv *env, Data *d)
{
    RelnRng rng = exp_rng(&d->scale->exp, 20);

    d->pool = task_room(&env->rooms, (size_t)d->scale->pool, sizeof *d->pool);
    if (!d->pool)
        return task_nomem(env);
    for (int i = 0; i < d->scale->pool; i++)
        TRY(gln_frame(d->gl, &rng, pow(d->scale->augment_cond, reln_rng_uniform(&rng)),
                      &d->pool[i]));
    return RELN_OK;
}

static RelnStatus fill(TaskEnv *env, Data *d)
{
    for (int s = 0; s < SETS; s++)
        TRY(draw_set(env, d, s, &d->raw[s]));
    find_factor(d);
    for (int s = 0; s < SETS; s++) {
        for (ptrdiff_t i = 0; i < d->raw[s].n * d->outputs; i++)
            d->raw[s].y[i] = (d->raw[s].y[i] - d->mean) * d->factor;
        for (int lift = 0; lift < 2; lift++)
            TRY(lift_set(env, d, (GlnLift)lift, &d->raw[s], &d->lifted[lift][s]));
    }
    return fill_pool(env, d);
}

static RelnStatus prepare(TaskEnv *env, void **data)
{
    Data *d = *data = task_room(&env->rooms, 1, sizeof *d);

    if (!d)
        return task_nomem(env);
    d->ctx = env->ctx;
    d->scale = task_scale(env);
    d->target = target_of(env);
    d->group = task_choice(env, "group");
    d->n = groups[d->group].n;
    d->outputs = gln_outputs(d->target, d->n);
    TRY(task_algebra(env, groups[d->group].name, &d->gl));
    return fill(env, d);
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

typedef struct Fit {
    const Data *data;
    const GlnModel *model;
    double cond; /* condition number of the frames that are drawn */
} Fit;

/* Moves a sample to a random frame. */
static RelnStatus augment(const void *self, RelnRng *rng, double *const *columns)
{
    const Data *d = ((const Fit *)self)->data;
    const GlnFrame *frame = &d->pool[reln_rng_below(rng, (uint64_t)d->scale->pool)];
    double pair[GLN_PAIR], *x = columns[0], *y = columns[1];

    TRY(gln_unlift(d->ctx, d->target, d->n, x, pair));
    gln_move_pair(d->target, d->n, frame, pair, pair);
    gln_move_target(d->target, d->n, frame, y, y);
    return gln_lift(d->ctx, d->target, GLN_LIFT_LOG, d->n, pair, x);
}

static const char *symmetry_of(const Fit *f)
{
    if (f->model->kind == GLN_MLP)
        return groups[f->data->group].none;
    return f->model->lift == GLN_LIFT_LOG ? groups[f->data->group].orthogonal
                                          : groups[f->data->group].name;
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

static RelnStatus draw(const void *self, RelnRng *rng, void *g)
{
    const Fit *f = self;

    return gln_frame(f->data->gl, rng, f->cond, g);
}

static RelnStatus move(const void *self, const void *g, const double *x, double *out)
{
    const Fit *f = self;
    const Data *d = f->data;
    double pair[GLN_PAIR];

    gln_move_pair(d->target, d->n, g, x, pair);
    return gln_lift(d->ctx, d->target, f->model->lift, d->n, pair, out);
}

static void turn(const void *self, const void *g, const double *y, double *out)
{
    const Data *d = ((const Fit *)self)->data;

    gln_move_target(d->target, d->n, g, y, out);
}

/* sum |a - b|^2 / sum |b|^2 */
static void add_share(const double *a, const double *b, ptrdiff_t n, int size, double share,
                      double *sum)
{
    const ptrdiff_t count = n * size;
    double square = 0;

    for (ptrdiff_t i = 0; i < count; i++)
        square += b[i] * b[i];
    *sum += exp_mse(a, b, n, size) * (double)count / square / share;
}

static RelnStatus judge_cond(TaskRun *run, Fit *f, Exp *e, const double *before)
{
    const int n = f->data->scale->frames;
    const ExpAction action = {.self = f,
                              .test = &f->data->raw[TEST],
                              .before = before,
                              .size_g = sizeof(GlnFrame),
                              .draw = draw,
                              .move = move,
                              .turn = turn,
                              .error = add_share,
                              .broken = add_share};
    RelnRng rng = exp_rng(&f->data->scale->exp, (uint64_t)f->cond + 30);
    double sums[2] = {0, 0}, broken;

    TRY(exp_act(e, &action, &rng, n, 1, sums));
    broken = sqrt(sums[1] / n);
    TRY(task_curve(run, "error against condition number", f->cond, sums[0] / n));
    TRY(task_curve(run, "broken equivariance against condition number", f->cond, broken));
    if (f->cond == 1)
        run->metrics[AT_1] = sums[0] / n;
    else if (f->cond == 10)
        run->metrics[AT_10] = sums[0] / n;
    else if (f->cond == 100) {
        run->metrics[AT_100] = sums[0] / n;
        run->metrics[EQUIVARIANCE] = broken;
    }
    return RELN_OK;
}

static RelnStatus judge(TaskRun *run, Exp *e, const void *self)
{
    Fit copy = *(const Fit *)self, *f = &copy;
    const ExpSamples *test = &f->data->lifted[f->model->lift][TEST];
    const ExpSet set = exp_set(test);
    double *before = NULL;

    TRY(exp_outputs(e, EXP_NETWORK, &set, test->size_y, &before));
    for (ptrdiff_t i = 0; i < test->n * test->size_y && i < f->data->scale->shown; i++)
        TRY(task_curve(run, "predicted against true", test->y[i], before[i]));
    for (int c = 0; c < CONDS; c++) {
        f->cond = f->data->scale->conds[c];
        TRY(judge_cond(run, f, e, before));
    }
    return RELN_OK;
}

static RelnStatus run(TaskRun *run, const void *data)
{
    const Data *d = data;
    const GlnModel *m = run->model->settings;
    const GlnNetwork network = {.model = m, .target = d->target, .n = d->n};
    const ExpSet set = exp_set(&d->lifted[m->lift][TRAIN]),
                 validation = exp_set(&d->lifted[m->lift][VALIDATION]);
    ExpPart part = exp_part(&d->scale->exp, m->rate, /*cosine=*/true);
    Fit f = {.data = d, .model = m};

    part.train = &set;
    part.validation = &validation;
    part.move = m->kind == GLN_MLP ? augment : NULL;
    part.self = &f;
    return exp_run(run,
                   &(ExpJob){.symmetry = symmetry_of(&f),
                             .features = groups[d->group].name,
                             .form = m->form,
                             .dtype = d->scale->dtype,
                             .network = gln_network,
                             .model = &network,
                             .n_parts = 1,
                             .parts = &part},
                   judge, &f);
}

static const TaskFigure figures[] = {
    {.curve = "error against condition number",
     .x = "condition number of g",
     .y = "share of the target's mean square",
     .log_x = true},
    {.curve = "broken equivariance against condition number",
     .x = "condition number of g",
     .y = "|f(gx) - g f(x)| / |g f(x)|",
     .log_x = true},
    {.curve = "predicted against true", .x = "true", .y = "predicted", .points = true},
};

const Task task_gln = {
    .name = "gln",
    .purpose = "functions of two matrices under GL(n)",
    .about = "Networks learn a function of two matrices that follows every change of frame, X, Y "
             "-> g X g^-1, g Y g^-1. They are trained on matrices as drawn, and tested in frames "
             "of condition number 1, 10 and 100.\n\nErrors are shares of the target's mean square, "
             "so 1 means that nothing was learned. The last column is |f(gx) - g f(x)| / |g f(x)| "
             "at condition number 100.",
    .n_metrics = 4,
    .main_metric = 1,
    .metrics = {{.name = "cond_1", .label = "cond 1"},
                {.name = "cond_10", .label = "cond 10"},
                {.name = "cond_100", .label = "cond 100"},
                {.name = "equivariance", .label = "equiv. error"}},
    .n_models = sizeof models / sizeof models[0],
    .models = models,
    .n_options = 2,
    .options = {{.name = "target",
                 .help = "the function of X and Y that is learned",
                 TASK_NAMES(gln_targets, GLN_TARGETS),
                 .otherwise = 1},
                {.name = "group",
                 .help = "of all changes of frame",
                 TASK_NAMES(groups, sizeof groups / sizeof groups[0])}},
    .scale_fields = TASK_FIELDS(Scale, scale_keys),
    .row_fields = TASK_FIELDS(GlnModel, model_keys),
    .scales = scales,
    .n_figures = sizeof figures / sizeof figures[0],
    .figures = figures,
    .seeds = {1, 1, 3},
    .wanted = wanted,
    .prepare = prepare,
    .run = run,
};
