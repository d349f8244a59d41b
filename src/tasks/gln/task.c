/* task.c -- the GL(n) table: which networks learn which function of two matrices, and what a change of frame does to it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/gln/gln.h"
#include "tasks/regress/regress.h"

enum { BATCH = 100, POOL = 256, CONDS = 7, SHOWN = 200 };

static const double conds[CONDS] = {1, 3, 10, 30, 100, 300, 1000};

/* ---- rows ---------------------------------------------------------------------------------------------------------- */

enum { AT_1, AT_10, AT_100, EQUIVARIANCE };

static const TaskModel models[] = {
    {.name = "mlp-aug",
     .label = "MLP + augmentation",
     .settings = &(const GlnModel){.kind = GLN_MLP, .width = 128, .lift = GLN_LIFT_LOG}},
    {.name = "lie-neurons",
     .label = "ReLN without centre (Lie Neurons)",
     .settings = &(const GlnModel){.width = 24, .form = RELN_FORM_NO_CENTER}},
    {.name = "reln", .label = "ReLN", .settings = &(const GlnModel){.width = 24}},
    {.name = "reln-center",
     .label = "ReLN, centre apart (ours)",
     .settings = &(const GlnModel){.width = 24, .center = true}},
    {.name = "complete",
     .label = "Affine and Product (ours)",
     .settings = &(const GlnModel){.kind = GLN_COMPLETE, .width = 24}},
    {.name = "reln-log",
     .label = "ReLN on log S, for O(n) only",
     .settings = &(const GlnModel){.width = 24, .center = true, .lift = GLN_LIFT_LOG}},
};

static const RegressScale scales[TASK_SCALES] = {
    {200, 100, 100, 20, 10},
    {4000, 1000, 1000, 3000, 250},
    {10000, 2000, 4000, 6000, 250},
};
static const int n_frames[TASK_SCALES] = {2, 5, 50}; /* for each condition number */

static const GlnTarget *target_of(const TaskEnv *env)
{
    return gln_target(task_option(env, "target"));
}

static int size_of(const TaskEnv *env)
{
    return strcmp(task_option(env, "group"), "gl:4") == 0 ? 4 : 3;
}

/* The lift for O(n) is one of covariances. */
static bool wanted(const TaskEnv *env, const TaskModel *model)
{
    return strcmp(model->name, "reln-log") != 0 || target_of(env)->covariance;
}

/* ---- data ---------------------------------------------------------------------------------------------------------- */

enum { TRAIN, VALIDATION, TEST, SETS };

typedef struct Data {
    RelnCtx *ctx;
    const GlnTarget *target;
    int n, outputs;
    RelnAlgebra *gl;
    double mean, scale;         /* targets are learned as (y - mean) scale, of mean square 1 */
    RegressSet raw[SETS];       /* x: pairs */
    RegressSet lifted[2][SETS]; /* by lift */
    GlnFrame pool[POOL];        /* for augmentation: condition numbers from 1 to 100 */
} Data;

static RelnStatus draw_set(TaskEnv *env, const Data *d, int which, RegressSet *set)
{
    const RegressScale *scale = &scales[env->scale];
    const ptrdiff_t n[SETS] = {scale->train, scale->validation, scale->test};
    const int size = 2 * d->n * d->n;
    RelnRng rng = reln_rng(/*seed=*/20240701, (uint64_t)(10 + which));

    TRY(regress_set_init(env, n[which], size, d->outputs, set));
    for (ptrdiff_t i = 0; i < set->n; i++) {
        TRY(gln_draw(env->ctx, d->target, d->n, &rng, set->x + i * size));
        TRY(gln_value(env->ctx, d->target, d->n, set->x + i * size, set->y + i * d->outputs));
    }
    return RELN_OK;
}

/* Only numbers are centred: a matrix has no mean that every frame agrees on, but its centre. */
static void find_scale(Data *d)
{
    const RegressSet *train = &d->raw[TRAIN];
    const ptrdiff_t count = train->n * train->size_y;
    double square = 0;

    d->mean = 0;
    for (ptrdiff_t i = 0; i < count && !d->target->element; i++)
        d->mean += train->y[i] / (double)count;
    for (ptrdiff_t i = 0; i < count; i++)
        square += (train->y[i] - d->mean) * (train->y[i] - d->mean) / (double)count;
    d->scale = 1 / sqrt(square);
}

static RelnStatus lift_set(TaskEnv *env, const Data *d, GlnLift lift, const RegressSet *raw,
                           RegressSet *out)
{
    TRY(regress_set_init(env, raw->n, raw->size_x, raw->size_y, out));
    memcpy(out->y, raw->y, (size_t)(raw->n * raw->size_y) * sizeof *out->y);
    for (ptrdiff_t i = 0; i < raw->n; i++)
        TRY(gln_lift(env->ctx, d->target, lift, d->n, raw->x + i * raw->size_x,
                     out->x + i * raw->size_x));
    return RELN_OK;
}

static RelnStatus fill_pool(TaskEnv *env, Data *d)
{
    RelnRng rng = reln_rng(20240701, 20);

    (void)env;
    for (int i = 0; i < POOL; i++)
        TRY(gln_frame(d->gl, &rng, pow(100, reln_rng_uniform(&rng)), &d->pool[i]));
    return RELN_OK;
}

static RelnStatus fill(TaskEnv *env, Data *d)
{
    for (int s = 0; s < SETS; s++)
        TRY(draw_set(env, d, s, &d->raw[s]));
    find_scale(d);
    for (int s = 0; s < SETS; s++) {
        for (ptrdiff_t i = 0; i < d->raw[s].n * d->outputs; i++)
            d->raw[s].y[i] = (d->raw[s].y[i] - d->mean) * d->scale;
        for (int lift = 0; lift < 2; lift++)
            TRY(lift_set(env, d, (GlnLift)lift, &d->raw[s], &d->lifted[lift][s]));
    }
    return fill_pool(env, d);
}

static RelnStatus prepare(TaskEnv *env, void **data)
{
    Data *d = calloc(1, sizeof *d);

    if (!d)
        return task_nomem(env);
    *data = d;
    d->ctx = env->ctx;
    d->target = target_of(env);
    d->n = size_of(env);
    d->outputs = gln_outputs(d->target, d->n);
    TRY(reln_algebra_create(env->ctx, d->n == 4 ? "gl:4" : "gl:3", &d->gl));
    return fill(env, d);
}

static void release(void *data)
{
    Data *d = data;

    if (!d)
        return;
    for (int s = 0; s < SETS; s++) {
        regress_set_clear(&d->raw[s]);
        regress_set_clear(&d->lifted[0][s]);
        regress_set_clear(&d->lifted[1][s]);
    }
    reln_algebra_destroy(d->gl);
    free(d);
}

static void describe(const TaskEnv *env, const TaskModel *model, RelnDoc *doc, RelnDocNode *map)
{
    const GlnModel *m = model->settings;

    regress_describe(&scales[env->scale], doc, map);
    reln_doc_set_number(doc, map, "frames", n_frames[env->scale]);
    reln_doc_set_number(doc, map, "width", m->width);
}

/* ---- one run ------------------------------------------------------------------------------------------------------- */

typedef struct Fit {
    TaskRun *run;
    const Data *data;
    const GlnModel *model;
    Regress *regress;
    double *x, *y, *before, *after; /* of the test set: moved inputs and targets; outputs */
} Fit;

/* The sample in a random frame. */
static RelnStatus augment(const void *self, RelnRng *rng, double *x, double *y)
{
    const Data *d = self;
    const GlnFrame *frame = &d->pool[reln_rng_below(rng, POOL)];
    double pair[GLN_PAIR];

    TRY(gln_unlift(d->ctx, d->target, d->n, x, pair));
    gln_move_pair(d->target, d->n, frame, pair, pair);
    gln_move_target(d->target, d->n, frame, y, y);
    return gln_lift(d->ctx, d->target, GLN_LIFT_LOG, d->n, pair, x);
}

static const char *symmetry_of(const Fit *f)
{
    const bool four = f->data->n == 4;

    if (f->model->kind == GLN_MLP)
        return four ? "none:4" : "none:3";
    if (f->model->lift == GLN_LIFT_LOG)
        return four ? "o:4" : "o:3";
    return four ? "gl:4" : "gl:3";
}

static RelnStatus train(Fit *f)
{
    const Data *d = f->data;
    const RegressScale *scale = &scales[f->run->env->scale];
    const GlnNetwork network = {.model = f->model, .target = d->target, .n = d->n};
    const RegressJob job = {.symmetry = symmetry_of(f),
                            .features = d->n == 4 ? "gl:4" : "gl:3",
                            .form = f->model->form,
                            .dtype = RELN_F64, /* what is seen is the model, not rounding */
                            .x = {.k = d->n * d->n, .c = 2},
                            .network = gln_network,
                            .model = &network,
                            .train = &d->lifted[f->model->lift][TRAIN],
                            .validation = &d->lifted[f->model->lift][VALIDATION],
                            .batch = BATCH,
                            .steps = scale->steps,
                            .evaluate_every = scale->evaluate_every,
                            .schedule = task_schedule(3e-3, true, scale->steps),
                            .move = f->model->kind == GLN_MLP ? augment : NULL,
                            .self = d};

    return regress_fit(f->run, &job, &f->regress);
}

/* ---- judging ------------------------------------------------------------------------------------------------------- */

static RelnStatus move_test(Fit *f, const GlnFrame *frame)
{
    const Data *d = f->data;
    const RegressSet *raw = &d->raw[TEST];
    double pair[GLN_PAIR];

    for (ptrdiff_t i = 0; i < raw->n; i++) {
        gln_move_pair(d->target, d->n, frame, raw->x + i * raw->size_x, pair);
        TRY(gln_lift(d->ctx, d->target, f->model->lift, d->n, pair, f->x + i * raw->size_x));
        gln_move_target(d->target, d->n, frame, raw->y + i * raw->size_y, f->y + i * raw->size_y);
    }
    return RELN_OK;
}

static double square_of(const double *y, ptrdiff_t count)
{
    double sum = 0;

    for (ptrdiff_t i = 0; i < count; i++)
        sum += y[i] * y[i];
    return sum;
}

/* Both errors in one frame, as shares: sum |f(gx) - gy|^2 / sum |gy|^2, and the same with g f(x) in the place of g y. */
static RelnStatus judge_frame(Fit *f, const GlnFrame *frame, double shares[2])
{
    const Data *d = f->data;
    const ptrdiff_t count = d->raw[TEST].n * d->outputs;

    TRY(move_test(f, frame));
    TRY(regress_predict(f->regress, f->x, d->raw[TEST].n, f->after));
    shares[0] += regress_mse(f->after, f->y, count) * (double)count / square_of(f->y, count);
    for (ptrdiff_t i = 0; i < count; i += d->outputs)
        gln_move_target(d->target, d->n, frame, f->before + i, f->y + i);
    shares[1] += regress_mse(f->after, f->y, count) * (double)count / square_of(f->y, count);
    return RELN_OK;
}

static RelnStatus judge_cond(Fit *f, double cond, double shares[2])
{
    const int n = n_frames[f->run->env->scale];
    RelnRng rng = reln_rng(20240701, (uint64_t)cond + 30);
    GlnFrame frame;

    shares[0] = shares[1] = 0;
    for (int i = 0; i < n; i++) {
        if (task_asked(f->run))
            return task_fail(f->run->env, RELN_ERR_STOPPED, "asked to stop");
        TRY(gln_frame(f->data->gl, &rng, cond, &frame));
        TRY(judge_frame(f, &frame, shares));
    }
    shares[0] /= n;
    shares[1] = sqrt(shares[1] / n);
    return RELN_OK;
}

static RelnStatus judge_conds(Fit *f)
{
    double shares[2];

    for (int c = 0; c < CONDS; c++) {
        TRY(judge_cond(f, conds[c], shares));
        TRY(task_curve(f->run, "error against condition number", conds[c], shares[0]));
        TRY(task_curve(f->run, "broken equivariance against condition number", conds[c],
                       shares[1]));
        if (conds[c] == 1)
            f->run->metrics[AT_1] = shares[0];
        else if (conds[c] == 10)
            f->run->metrics[AT_10] = shares[0];
        else if (conds[c] == 100) {
            f->run->metrics[AT_100] = shares[0];
            f->run->metrics[EQUIVARIANCE] = shares[1];
        }
    }
    return RELN_OK;
}

static RelnStatus judge(Fit *f)
{
    const Data *d = f->data;
    const RegressSet *test = &d->lifted[f->model->lift][TEST];
    const ptrdiff_t count = test->n * test->size_y;

    f->x = malloc((size_t)(test->n * test->size_x) * sizeof *f->x);
    f->y = malloc((size_t)count * sizeof *f->y);
    f->before = malloc((size_t)count * sizeof *f->before);
    f->after = malloc((size_t)count * sizeof *f->after);
    if (!f->x || !f->y || !f->before || !f->after)
        return task_nomem(f->run->env);
    TRY(regress_predict(f->regress, test->x, test->n, f->before));
    for (ptrdiff_t i = 0; i < count && i < SHOWN; i++)
        TRY(task_curve(f->run, "predicted against true", test->y[i], f->before[i]));
    return judge_conds(f);
}

static RelnStatus run(TaskRun *run, const void *data)
{
    Fit f = {.run = run, .data = data, .model = run->model->settings};
    RelnStatus status = train(&f);

    if (status == RELN_OK)
        status = judge(&f);
    regress_destroy(f.regress);
    free(f.x);
    free(f.y);
    free(f.before);
    free(f.after);
    return status;
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
    .about =
        "Two n x n matrices X and Y, and a function of them that follows every change of "
        "frame, X, Y -> g X g^-1, "
        "g Y g^-1. Errors are shares of the target's mean square (1: nothing was learned), "
        "in frames of condition "
        "number 1, 10 and 100; the last column is |f(gx) - g f(x)| / |g f(x)| at condition "
        "number 100.\n\n"
        "Linear layers, brackets, gates and invariant forms all commute with X0 + z -> X0 - z "
        "and with X0 + z -> "
        "-X0^T + z, X0 traceless and z a multiple of I. So whatever they are trained on, they "
        "do not learn tr X, "
        "det X, tr X^3 or X^2. tr X tr Y and (tr X)^2 are even, but a form sees them only in one "
        "sum with traces of "
        "products, 2n tr X0 Y0 + tr X tr Y; linear layers that see the centre by itself take "
        "it apart. Affine layers "
        "and products of matrices reach all of these.\n\n"
        "Target covariance: the squared distance of two covariances in the geometry that "
        "every congruence S -> g S "
        "g^T keeps; the networks see log(S Sbar^-1), Sbar the mean of the two.",
    .n_metrics = 4,
    .metrics = {{.name = "cond_1", .label = "cond 1"},
                {.name = "cond_10", .label = "cond 10"},
                {.name = "cond_100", .label = "cond 100"},
                {.name = "equivariance", .label = "equiv. error"}},
    .n_models = sizeof models / sizeof models[0],
    .models = models,
    .n_options = 2,
    .options =
        {{"target",
          "form|trace-product|trace-square|trace|det|trace-cube|square|commutator|covariance",
          "trace-product", "the function of X and Y that is learned"},
         {"group", "gl:3|gl:4", "gl:3", "of all changes of frame"}},
    .n_figures = sizeof figures / sizeof figures[0],
    .figures = figures,
    .seeds = {1, 1, 3},
    .wanted = wanted,
    .prepare = prepare,
    .release = release,
    .describe = describe,
    .run = run,
};
