/* task.c -- the table of the Baker-Campbell-Hausdorff formula on so(3): series, networks, and their
 * evaluation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/bch/bch.h"
#include "tasks/experiment.h"
#include "tasks/settings.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

enum { DISTANCE, ANGLE, TURNED, EQUIVARIANCE };

#define DENSE .hidden = 3, .activation = RELN_ACT_SILU
#define NO_DENSE .activation = RELN_ACT_NONE
#define MODEL(...)                                                                                 \
    &(const BchModel)                                                                              \
    {                                                                                              \
        .rate = 1e-3, __VA_ARGS__                                                                  \
    }

static const TaskModel models[] = {
    {.name = "series-1",
     .label = "series: a + b",
     .settings = MODEL(.kind = BCH_SERIES, NO_DENSE, .order = 1)},
    {.name = "series-2",
     .label = "series: ... + [a,b]/2",
     .settings = MODEL(.kind = BCH_SERIES, NO_DENSE, .order = 2)},
    {.name = "series-3",
     .label = "series: ... + ([a,[a,b]] + [b,[b,a]])/12",
     .settings = MODEL(.kind = BCH_SERIES, NO_DENSE, .order = 3)},
    {.name = "mlp", .label = "MLP", .settings = MODEL(.kind = BCH_MLP, DENSE)},
    {.name = "mlp-aug",
     .label = "MLP + augmentation",
     .settings = MODEL(.kind = BCH_MLP, DENSE, .augment = true)},
    {.name = "vector-neurons",
     .label = "Vector Neurons",
     .settings = MODEL(.kind = BCH_VECTORS, NO_DENSE)},
    {.name = "reln",
     .label = "ReLN = Lie Neurons",
     .settings = MODEL(.kind = BCH_LAYERS, NO_DENSE, .blocks = "brbr")},
    {.name = "best",
     .label = "quaternion (ours)",
     .settings = MODEL(.kind = BCH_COEFFICIENTS, DENSE)},
};

static const char *const kinds[] = {[BCH_SERIES] = "series",   [BCH_LAYERS] = "layers",
                                    [BCH_VECTORS] = "vectors", [BCH_COEFFICIENTS] = "coefficients",
                                    [BCH_MLP] = "mlp",         NULL};

static const Key model_keys[] = {
    TASK_NUMBER(BchModel, rate), TASK_WORD(BchModel, kind, kinds), TASK_WHOLE(BchModel, order),
    TASK_TEXT(BchModel, blocks), TASK_FLAG(BchModel, augment),     TASK_PAD(BchModel, pad),
    TASK_DENSE_KEYS(BchModel),
};

/* ---- scales ------------------------------------------------------------------------------------------------------ */

typedef struct Scale {
    ExpScale exp;
    RelnDtype dtype;
    int train, validation, test, width, frames;
} Scale;

#define SCALE(steps_, every_, ...)                                                                 \
    {                                                                                              \
        .exp = EXP_SCALE(.batch = 100, .data_seed = 20231101, .steps = steps_,                     \
                         .evaluate_every = every_),                                                \
        .dtype = RELN_F32, __VA_ARGS__                                                             \
    }
static const Scale scales[TASK_SCALES] = {
    SCALE(20, 10, .train = 200, .validation = 100, .test = 100, .width = 16, .frames = 2),
    SCALE(8000, 400, .train = 10000, .validation = 1000, .test = 2000, .width = 64, .frames = 5),
    SCALE(50000, 500, .train = 10000, .validation = 2000, .test = 10000, .width = 256,
          .frames = 100),
};

static const Key scale_keys[] = {
    EXP_SCALE_KEYS(Scale),     TASK_WORD(Scale, dtype, task_dtype_words),
    TASK_WHOLE(Scale, train),  TASK_WHOLE(Scale, validation),
    TASK_WHOLE(Scale, test),   TASK_WHOLE(Scale, width),
    TASK_WHOLE(Scale, frames),
};

/* ---- data -------------------------------------------------------------------------------------------------------- */

enum { TRAIN, VALIDATION, TEST, SETS };

typedef struct Data {
    ExpSamples sets[SETS]; /* x: (3, 2); y: the product, (9) */
} Data;

static RelnStatus fill_set(TaskEnv *env, int which, ExpSamples *set)
{
    const Scale *scale = task_scale(env);
    const ptrdiff_t n[SETS] = {scale->train, scale->validation, scale->test};
    RelnRng rng = exp_rng(&scale->exp, (uint64_t)which);
    double a[BCH_K], b[BCH_K], v[BCH_K];

    TRY(exp_samples_init(env, n[which], 2 * BCH_K, BCH_MATRIX, set));
    for (ptrdiff_t i = 0; i < set->n; i++) {
        bch_draw(&rng, a);
        bch_draw(&rng, b);
        for (int k = 0; k < BCH_K; k++) {
            set->x[i * 2 * BCH_K + 2 * k] = a[k];
            set->x[i * 2 * BCH_K + 2 * k + 1] = b[k];
        }
        bch_exact(a, b, v);
        bch_rotation(v, set->y + i * BCH_MATRIX);
    }
    return RELN_OK;
}

static RelnStatus prepare(TaskEnv *env, void **data)
{
    Data *d = *data = task_room(&env->rooms, 1, sizeof *d);

    if (!d)
        return task_nomem(env);
    for (int s = 0; s < SETS; s++)
        TRY(fill_set(env, s, &d->sets[s]));
    return RELN_OK;
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

static void turn_pair(const double *r, const double *x, double *out)
{
    double v[BCH_K];

    for (int c = 0; c < 2; c++) {
        for (int k = 0; k < BCH_K; k++)
            v[k] = x[2 * k + c];
        bch_turn(r, v, v);
        for (int k = 0; k < BCH_K; k++)
            out[2 * k + c] = v[k];
    }
}

/* R M R^T: applies R to every column, then to every row */
static void turn_matrix(const double *r, const double *m, double *out)
{
    double column[3], half[9];

    for (int j = 0; j < 3; j++) {
        for (int i = 0; i < 3; i++)
            column[i] = m[i * 3 + j];
        bch_turn(r, column, column);
        for (int i = 0; i < 3; i++)
            half[i * 3 + j] = column[i];
    }
    for (int i = 0; i < 3; i++)
        bch_turn(r, half + i * 3, out + i * 3);
}

static RelnStatus augment(const void *self, RelnRng *rng, double *const *columns)
{
    double r[BCH_MATRIX];

    (void)self;
    bch_frame(rng, r);
    turn_pair(r, columns[0], columns[0]);
    turn_matrix(r, columns[1], columns[1]);
    return RELN_OK;
}

static void expand_series(const void *model, ptrdiff_t n, const double *x, double *out)
{
    const int order = ((const BchNetwork *)model)->model->order;
    double v[3];

    for (; n > 0; n--, x += 2 * BCH_K, out += BCH_MATRIX) {
        const double a[3] = {x[0], x[2], x[4]}, b[3] = {x[1], x[3], x[5]};

        bch_series(order, a, b, v);
        bch_rotation(v, out);
    }
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

static RelnStatus draw(const void *self, RelnRng *rng, void *g)
{
    (void)self;
    bch_frame(rng, g);
    return RELN_OK;
}

static RelnStatus move(const void *self, const void *g, const double *x, double *out)
{
    (void)self;
    turn_pair(g, x, out);
    return RELN_OK;
}

static void turn(const void *self, const void *g, const double *y, double *out)
{
    (void)self;
    turn_matrix(g, y, out);
}

static double mean_of(double (*size)(const double *r, const double *s), const double *a,
                      const double *b, ptrdiff_t n)
{
    double sum = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        sum += size(a + i * BCH_MATRIX, b + i * BCH_MATRIX);
    return sum / (double)n;
}

static void add_distance(const double *a, const double *b, ptrdiff_t n, int size, double share,
                         double *sum)
{
    (void)size;
    *sum += mean_of(bch_distance, a, b, n) / share;
}

static RelnStatus judge(TaskRun *run, Exp *e, const void *self)
{
    const Data *d = self;
    const Scale *scale = task_scale(run->env);
    const ExpSamples *test = &d->sets[TEST];
    const ExpSet set = exp_set(test);
    ExpAction action = {.test = test,
                        .size_g = BCH_MATRIX * sizeof(double),
                        .draw = draw,
                        .move = move,
                        .turn = turn,
                        .error = add_distance,
                        .broken = add_distance};
    RelnRng rng = exp_rng(&scale->exp, 11);
    double sums[2] = {0, 0};

    TRY(exp_act_on(e, &set, &action, &rng, scale->frames, scale->frames, sums));
    run->metrics[DISTANCE] = mean_of(bch_distance, action.before, test->y, test->n);
    run->metrics[ANGLE] = mean_of(bch_angle, action.before, test->y, test->n);
    run->metrics[TURNED] = sums[0];
    run->metrics[EQUIVARIANCE] = sums[1];
    return RELN_OK;
}

/* Uses one root over the whole batch, as published: |exp(a) exp(b) exp(-guess) - 1| = |exp(a) exp(b) -
 * exp(guess)|. */
static RelnStatus run(TaskRun *run, const void *data)
{
    const Scale *scale = task_scale(run->env);
    const BchModel *m = run->model->settings;
    const BchNetwork network = {.model = m, .width = scale->width};
    const Data *d = data;
    const ExpSet set = exp_set(&d->sets[TRAIN]), validation = exp_set(&d->sets[VALIDATION]);
    ExpPart part = exp_part(&scale->exp, m->rate, /*cosine=*/true);

    part.train = &set;
    part.validation = &validation;
    part.move = m->augment ? augment : NULL;
    part.root = true;
    return exp_run(run,
                   &(ExpJob){.symmetry = m->kind == BCH_MLP ? "none:3" : "so:3",
                             .features = "so:3",
                             .dtype = scale->dtype,
                             .network = m->kind == BCH_SERIES ? NULL : bch_network,
                             .estimate = expand_series,
                             .model = &network,
                             .n_parts = 1,
                             .parts = &part},
                   judge, d);
}

const Task task_bch = {
    .name = "bch",
    .purpose = "the Baker-Campbell-Hausdorff formula on so(3)",
    .about = "Networks learn log(exp(a) exp(b)) for two rotation vectors a and b. They are trained "
             "on vectors with positive coordinates, and tested on such vectors and in turned "
             "frames.\n\nColumns: the mean of |exp(a) exp(b) - exp(guess)| (Frobenius), the mean "
             "angle between the two rotations, the first again in turned frames, and |f(g x) - g "
             "f(x)|. The series is cut off after commutators of one, two and three letters.",
    .n_metrics = 4,
    .metrics = {{.name = "distance", .label = "distance"},
                {.name = "angle", .label = "angle"},
                {.name = "turned", .label = "distance, turned"},
                {.name = "equivariance", .label = "equiv. error"}},
    .n_models = sizeof models / sizeof models[0],
    .models = models,
    .seeds = {1, 1, 3},
    .scale_fields = TASK_FIELDS(Scale, scale_keys),
    .row_fields = TASK_FIELDS(BchModel, model_keys),
    .scales = scales,
    .prepare = prepare,
    .run = run,
};
