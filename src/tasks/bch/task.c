/* task.c -- the table of the Baker-Campbell-Hausdorff formula on so(3): series, networks, how they are judged. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/bch/bch.h"
#include "tasks/regress/regress.h"

enum { BATCH = 100 };

/* ---- rows ---------------------------------------------------------------------------------------------------------- */

enum { DISTANCE, ANGLE, TURNED, EQUIVARIANCE };

#define MODEL(...)                                                                                 \
    &(const BchModel)                                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static const TaskModel models[] = {
    {.name = "series-1", .label = "a + b", .settings = MODEL(.kind = BCH_SERIES, .order = 1)},
    {.name = "series-2", .label = "and [a,b]/2", .settings = MODEL(.kind = BCH_SERIES, .order = 2)},
    {.name = "series-3",
     .label = "and ([a,[a,b]] + [b,[b,a]])/12",
     .settings = MODEL(.kind = BCH_SERIES, .order = 3)},
    {.name = "mlp", .label = "MLP", .settings = MODEL(.kind = BCH_MLP)},
    {.name = "mlp-aug",
     .label = "MLP + augmentation",
     .settings = MODEL(.kind = BCH_MLP, .augment = true)},
    {.name = "vector-neurons", .label = "Vector Neurons", .settings = MODEL(.kind = BCH_VECTORS)},
    {.name = "reln",
     .label = "ReLN = Lie Neurons",
     .settings = MODEL(.kind = BCH_LAYERS, .blocks = "brbr")},
    {.name = "best", .label = "quaternion (ours)", .settings = MODEL(.kind = BCH_COEFFICIENTS)},
};

static const RegressScale scales[TASK_SCALES] = {
    {200, 100, 100, 20, 10}, {10000, 1000, 2000, 8000, 400}, {10000, 2000, 10000, 50000, 500}};
static const int widths[TASK_SCALES] = {16, 64, 256}, n_frames[TASK_SCALES] = {2, 5, 100};

/* ---- data ---------------------------------------------------------------------------------------------------------- */

enum { TRAIN, VALIDATION, TEST, SETS };

typedef struct Data {
    RegressSet sets[SETS]; /* x: (3, 2); y: the product, (9) */
} Data;

static RelnStatus fill_set(TaskEnv *env, int which, RegressSet *set)
{
    const RegressScale *scale = &scales[env->scale];
    const ptrdiff_t n[SETS] = {scale->train, scale->validation, scale->test};
    RelnRng rng = reln_rng(/*seed=*/20231101, (uint64_t)which);
    double a[BCH_K], b[BCH_K], v[BCH_K];

    TRY(regress_set_init(env, n[which], 2 * BCH_K, BCH_MATRIX, set));
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
    Data *d = calloc(1, sizeof *d);

    if (!d)
        return task_nomem(env);
    *data = d;
    for (int s = 0; s < SETS; s++)
        TRY(fill_set(env, s, &d->sets[s]));
    return RELN_OK;
}

static void release(void *data)
{
    Data *d = data;

    for (int s = 0; d && s < SETS; s++)
        regress_set_clear(&d->sets[s]);
    free(d);
}

static void describe(const TaskEnv *env, const TaskModel *model, RelnDoc *doc, RelnDocNode *map)
{
    const BchModel *m = model->settings;

    regress_describe(&scales[env->scale], doc, map);
    reln_doc_set_number(doc, map, "width", widths[env->scale]);
    reln_doc_set_number(doc, map, "frames", n_frames[env->scale]);
    reln_doc_set_bool(doc, map, "augment", m->augment);
}

/* ---- one run ------------------------------------------------------------------------------------------------------- */

typedef struct Fit {
    TaskRun *run;
    const Data *data;
    const BchModel *model;
    Regress *regress; /* NULL: a series */
    double *x, *y, *before, *after;
} Fit;

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

/* R M R^T: R on every column, then on every row */
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

static RelnStatus augment(const void *self, RelnRng *rng, double *x, double *y)
{
    double r[BCH_MATRIX];

    (void)self;
    bch_frame(rng, r);
    turn_pair(r, x, x);
    turn_matrix(r, y, y);
    return RELN_OK;
}

/* One root over the whole batch, as published: |exp(a) exp(b) exp(-guess) - 1| = |exp(a) exp(b) - exp(guess)|. */
static RelnStatus train(Fit *f)
{
    const TaskEnv *env = f->run->env;
    const RegressScale *scale = &scales[env->scale];
    const BchNetwork network = {.model = f->model, .width = widths[env->scale]};
    const RegressJob job = {.symmetry = f->model->kind == BCH_MLP ? "none:3" : "so:3",
                            .features = "so:3",
                            .dtype = RELN_F32,
                            .x = {.k = BCH_K, .c = 2},
                            .network = bch_network,
                            .model = &network,
                            .root = true,
                            .train = &f->data->sets[TRAIN],
                            .validation = &f->data->sets[VALIDATION],
                            .batch = BATCH,
                            .steps = scale->steps,
                            .evaluate_every = scale->evaluate_every,
                            .schedule = task_schedule(1e-3, true, scale->steps),
                            .move = f->model->augment ? augment : NULL};

    return regress_fit(f->run, &job, &f->regress);
}

/* ---- judging ------------------------------------------------------------------------------------------------------- */

static void expand_series(int order, const double *x, double *out)
{
    const double a[3] = {x[0], x[2], x[4]}, b[3] = {x[1], x[3], x[5]};
    double v[3];

    bch_series(order, a, b, v);
    bch_rotation(v, out);
}

static RelnStatus predict(Fit *f, const double *x, double *out)
{
    const ptrdiff_t n = f->data->sets[TEST].n;

    if (f->regress)
        return regress_predict(f->regress, x, n, out);
    for (ptrdiff_t i = 0; i < n; i++)
        expand_series(f->model->order, x + i * 2 * BCH_K, out + i * BCH_MATRIX);
    return RELN_OK;
}

static double mean_of(double (*size)(const double *r, const double *s), const double *a,
                      const double *b, ptrdiff_t n)
{
    double sum = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        sum += size(a + i * BCH_MATRIX, b + i * BCH_MATRIX);
    return sum / (double)n;
}

static RelnStatus judge_frames(Fit *f)
{
    const RegressSet *test = &f->data->sets[TEST];
    const int n = n_frames[f->run->env->scale];
    RelnRng rng = reln_rng(20231101, 11);
    double r[BCH_MATRIX], sums[2] = {0, 0};

    for (int i = 0; i < n; i++) {
        bch_frame(&rng, r);
        for (ptrdiff_t j = 0; j < test->n; j++)
            turn_pair(r, test->x + j * 2 * BCH_K, f->x + j * 2 * BCH_K);
        TRY(predict(f, f->x, f->after));
        for (ptrdiff_t j = 0; j < test->n * BCH_MATRIX; j += BCH_MATRIX)
            turn_matrix(r, test->y + j, f->y + j);
        sums[0] += mean_of(bch_distance, f->after, f->y, test->n) / n;
        for (ptrdiff_t j = 0; j < test->n * BCH_MATRIX; j += BCH_MATRIX)
            turn_matrix(r, f->before + j, f->y + j);
        sums[1] += mean_of(bch_distance, f->after, f->y, test->n) / n;
    }
    f->run->metrics[TURNED] = sums[0];
    f->run->metrics[EQUIVARIANCE] = sums[1];
    return RELN_OK;
}

static RelnStatus judge(Fit *f)
{
    const RegressSet *test = &f->data->sets[TEST];

    TRY(predict(f, test->x, f->before));
    f->run->metrics[DISTANCE] = mean_of(bch_distance, f->before, test->y, test->n);
    f->run->metrics[ANGLE] = mean_of(bch_angle, f->before, test->y, test->n);
    return judge_frames(f);
}

/* One block for samples that are turned and what is said of them; NULL when memory is out. */
static double *make_room(Fit *f)
{
    const ptrdiff_t n = f->data->sets[TEST].n;
    double *room = malloc((size_t)n * (2 * BCH_K + 3 * BCH_MATRIX) * sizeof *room);

    if (room) {
        f->x = room;
        f->y = f->x + n * 2 * BCH_K;
        f->before = f->y + n * BCH_MATRIX;
        f->after = f->before + n * BCH_MATRIX;
    }
    return room;
}

static RelnStatus run(TaskRun *run, const void *data)
{
    Fit f = {.run = run, .data = data, .model = run->model->settings};
    double *room = make_room(&f);
    RelnStatus status;

    if (!room)
        return task_nomem(run->env);
    status = f.model->kind == BCH_SERIES ? RELN_OK : train(&f);
    if (status == RELN_OK)
        status = judge(&f);
    regress_destroy(f.regress);
    free(room);
    return status;
}

const Task task_bch = {
    .name = "bch",
    .purpose = "the Baker-Campbell-Hausdorff formula on so(3)",
    .about = "Two rotation vectors a and b of lengths up to pi, and log(exp(a) exp(b)). Errors are "
             "means over the test set of "
             "|exp(a) exp(b) - exp(guess)| (Frobenius) and of the angle between the two rotations; "
             "the third column has the "
             "first in frames that are turned, the last |f(g x) - g f(x)|. The rows without "
             "parameters are the series, cut "
             "off after commutators of one, two and three letters.\n\n"
             "The published network has four layers of width 1024 and trains for a million steps; "
             "here they are 64 wide at "
             "scale quick and 256 at full.",
    .n_metrics = 4,
    .metrics = {{.name = "distance", .label = "distance"},
                {.name = "angle", .label = "angle"},
                {.name = "turned", .label = "distance, turned"},
                {.name = "equivariance", .label = "equiv. error"}},
    .n_models = sizeof models / sizeof models[0],
    .models = models,
    .seeds = {1, 1, 3},
    .prepare = prepare,
    .release = release,
    .describe = describe,
    .run = run,
};
