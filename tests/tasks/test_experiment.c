/* Tests a small experiment: the area vector of a triangle, (b - a) x (c - a) / 2, which rotates with the
 * triangle. The data, the networks and the numbers are checked; a network that does not rotate is detected. */
#include <stdlib.h>

#include "support/support.h"
#include "tasks/experiment.h"
#include "tasks/settings.h"

/* ---- the experiment ------------------------------------------------------------------------------------------------ */

typedef struct Scale {
    int train, validation, test, batch, steps, turns, data_seed;
} Scale;
static const Scale scales[TASK_SCALES] = {{400, 100, 100, 50, 400, 5, 11},
                                          {400, 100, 100, 50, 400, 5, 11},
                                          {400, 100, 100, 50, 400, 5, 11}};
static const Key scale_keys[] = {
    TASK_WHOLE(Scale, train),     TASK_WHOLE(Scale, validation), TASK_WHOLE(Scale, test),
    TASK_WHOLE(Scale, batch),     TASK_WHOLE(Scale, steps),      TASK_WHOLE(Scale, turns),
    TASK_WHOLE(Scale, data_seed),
};

typedef enum Kind { BRACKET, MLP, HALF_SUM } Kind;
typedef struct Row {
    double rate;
    Kind kind;
    int parts;    /* trainings, one after the other */
    int steps;    /* at a constant rate; 0: as the scale says, with a cosine */
    int contrary; /* validation has the opposite targets, so that training makes its score worse */
    int last;     /* the last weights, not the best */
    int every;    /* steps from an evaluation to the next; 0: 50 */
    int batch;    /* 0: the scale's */
    int watched;  /* the samples of batches are recorded */
} Row;
static const char *const kinds[] = {"bracket", "mlp", "half-sum", NULL};
static const Key row_keys[] = {
    TASK_NUMBER(Row, rate), TASK_WORD(Row, kind, kinds), TASK_WHOLE(Row, parts),
    TASK_WHOLE(Row, steps), TASK_WHOLE(Row, contrary),   TASK_WHOLE(Row, last),
    TASK_WHOLE(Row, every), TASK_WHOLE(Row, batch),      TASK_WHOLE(Row, watched)};

enum { ALL = 400, EPOCHS = 2 };

static const TaskModel models[] = {
    {.name = "watched",
     .label = "all samples in each step",
     .settings = &(const Row){.rate = 1e-3,
                              .kind = BRACKET,
                              .parts = 1,
                              .steps = EPOCHS,
                              .batch = ALL,
                              .watched = 1}},
    {.name = "bracket",
     .label = "Bracket",
     .settings = &(const Row){.rate = 1e-2, .kind = BRACKET, .parts = 1}},
    {.name = "twice",
     .label = "Bracket, two parts",
     .settings = &(const Row){.rate = 1e-2, .kind = BRACKET, .parts = 2}},
    {.name = "mlp",
     .label = "MLP",
     .settings = &(const Row){.rate = 1e-2, .kind = MLP, .parts = 1}},
    {.name = "half-sum", .label = "(a + b + c) / 2", .settings = &(const Row){.kind = HALF_SUM}},
    {.name = "early",
     .label = "20 steps",
     .settings = &(const Row){.rate = 1e-2, .kind = BRACKET, .parts = 1, .steps = 20, .every = 20}},
    {.name = "late",
     .label = "100 steps",
     .settings =
         &(const Row){.rate = 1e-2, .kind = BRACKET, .parts = 1, .steps = 100, .every = 100}},
    {.name = "steady",
     .label = "100 steps, looked at on the way",
     .settings =
         &(const Row){.rate = 1e-2, .kind = BRACKET, .parts = 1, .steps = 100, .every = 20}},
    {.name = "contrary",
     .label = "100 steps, against validation",
     .settings =
         &(const Row){
             .rate = 1e-2, .kind = BRACKET, .parts = 1, .steps = 100, .contrary = 1, .every = 20}},
    {.name = "contrary-last",
     .label = "the same, the last weights",
     .settings = &(const Row){.rate = 1e-2,
                              .kind = BRACKET,
                              .parts = 1,
                              .steps = 100,
                              .contrary = 1,
                              .last = 1,
                              .every = 20}},
};

enum { TRAIN, VALIDATION, TEST, CONTRARY, SETS };
typedef struct Data {
    RelnAlgebra *so3;
    ExpSamples sets[SETS]; /* x (3, 3): corners are channels; y (3) */
} Data;

static void area(const double *x, double *y)
{
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        const double *p = x + 3 * j, *q = x + 3 * k;

        y[i] = ((p[1] - p[0]) * (q[2] - q[0]) - (q[1] - q[0]) * (p[2] - p[0])) / 2;
    }
}

static RelnStatus prepare(TaskEnv *env, void **data)
{
    const Scale *scale = task_scale(env);
    const int n[SETS] = {scale->train, scale->validation, scale->test, scale->validation};
    RelnRng rng = reln_rng((uint64_t)scale->data_seed, 0);
    Data *d = *data = task_room(&env->rooms, 1, sizeof *d);

    if (!d)
        return task_nomem(env);
    TRY(task_algebra(env, "so:3", &d->so3));
    for (int s = 0; s < SETS; s++) {
        TRY(exp_samples_init(env, n[s], 9, 3, &d->sets[s]));
        for (int i = 0; i < 9 * n[s]; i++)
            d->sets[s].x[i] = reln_rng_normal(&rng) / 2;
        for (int i = 0; i < n[s]; i++)
            area(d->sets[s].x + 9 * i, d->sets[s].y + 3 * i);
    }
    for (int i = 0; i < 3 * n[CONTRARY]; i++)
        d->sets[CONTRARY].y[i] *= -1;
    return RELN_OK;
}

static RelnNode *network(const RelnNet *net, const void *model)
{
    const RelnMlp mlp = {.hidden = 2, .width = 16, .channels = 3, .activation = RELN_ACT_SILU};
    RelnGraph *g = net->graph;
    RelnNode *x = exp_elements(net, "x", (RelnDims){.k = 3, .c = 3});

    if (((const Row *)model)->kind == BRACKET)
        return reln_nn_linear(net, "out",
                              reln_nn_bracket(net, "one", reln_nn_linear(net, "one", x, 4)), 1);
    x = reln_nn_mlp(net, "mlp", reln_reshape(g, x, (RelnDims){.c = 9}), &mlp);
    return reln_reshape(g, x, (RelnDims){.k = 3, .c = 1});
}

static void half_sum(const void *model, ptrdiff_t n, const double *x, double *out)
{
    (void)model;
    for (ptrdiff_t i = 0; i < 3 * n; i++)
        out[i] = (x[3 * i] + x[3 * i + 1] + x[3 * i + 2]) / 2;
}

static RelnStatus draw(const void *self, RelnRng *rng, void *g)
{
    return reln_algebra_random_group(((const Data *)self)->so3, rng, 1, g, NULL, NULL);
}

/* c vectors, channels last */
static void turn_vectors(const double *r, int c, const double *v, double *out)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < c; j++)
            out[c * i + j] =
                r[3 * i] * v[j] + r[3 * i + 1] * v[c + j] + r[3 * i + 2] * v[2 * c + j];
}

static RelnStatus move(const void *self, const void *g, const double *x, double *out)
{
    (void)self;
    turn_vectors(g, 3, x, out);
    return RELN_OK;
}

static void turn(const void *self, const void *g, const double *y, double *out)
{
    (void)self;
    turn_vectors(g, 1, y, out);
}

/* The batches that load() has made, in their order. */
static struct {
    int n;
    double x[EPOCHS * ALL], y[EPOCHS * ALL], drawn[EPOCHS * ALL];
} noted;

static RelnStatus note(const void *self, RelnRng *rng, double *const *columns)
{
    (void)self;
    assert_true(noted.n < EPOCHS * ALL);
    noted.x[noted.n] = columns[0][0];
    noted.y[noted.n] = columns[1][0];
    noted.drawn[noted.n++] = reln_rng_uniform(rng);
    return RELN_OK;
}

static RelnStatus judge(TaskRun *run, Exp *e, const void *self)
{
    const Data *d = self;
    const Scale *scale = task_scale(run->env);
    const ExpSet set = exp_set(&d->sets[TEST]);
    ExpAction action = {.self = d,
                        .test = &d->sets[TEST],
                        .size_g = 9 * sizeof(double),
                        .draw = draw,
                        .move = move,
                        .turn = turn,
                        .error = exp_add_mse,
                        .broken = exp_add_mse};
    RelnRng rng = reln_rng((uint64_t)scale->data_seed, 1);
    double sums[2] = {0, 0}, *before = NULL;

    TRY(exp_outputs(e, EXP_NETWORK, &set, 3, &before));
    action.before = before;
    TRY(exp_act(e, &action, &rng, scale->turns, scale->turns, sums));
    run->metrics[0] = exp_mse(before, d->sets[TEST].y, d->sets[TEST].n, 3);
    run->metrics[1] = sums[0];
    run->metrics[2] = sums[1];
    return RELN_OK;
}

static RelnStatus run(TaskRun *run, const void *data)
{
    const Data *d = data;
    const Row *row = run->model->settings;
    const Scale *scale = task_scale(run->env);
    const ExpSet set = exp_set(&d->sets[TRAIN]),
                 validation = exp_set(&d->sets[row->contrary ? CONTRARY : VALIDATION]);
    const uint64_t steps = (uint64_t)(row->steps > 0 ? row->steps : scale->steps);
    ExpPart parts[2] = {
        {.train = &set,
         .validation = &validation,
         .batch = row->batch > 0 ? row->batch : scale->batch,
         .move = row->watched ? note : NULL,
         .last = row->last,
         .steps = steps,
         .evaluate_every = row->every > 0 ? (uint64_t)row->every : 50,
         .schedule = task_schedule(row->rate, row->steps == 0, steps, TASK_WARMUP, TASK_FLOOR)}};
    const ExpJob job = {.symmetry = row->kind == BRACKET ? "so:3" : "none:3",
                        .features = "so:3",
                        .dtype = RELN_F64,
                        .network = row->kind == HALF_SUM ? NULL : network,
                        .estimate = half_sum,
                        .model = row,
                        .n_parts = row->parts,
                        .parts = parts};

    parts[1] = parts[0];
    parts[1].validation = NULL; /* the last weights, which began from those of the first part */
    return exp_run(run, &job, judge, d);
}

static const Task task = {
    .name = "area",
    .purpose = "the area vector of a triangle",
    .about = "Invented.",
    .n_metrics = 3,
    .metrics = {{.name = "mse"}, {.name = "turned"}, {.name = "equivariance"}},
    .n_models = sizeof models / sizeof models[0],
    .models = models,
    .seeds = {1, 1, 1},
    .scale_fields = TASK_FIELDS(Scale, scale_keys),
    .row_fields = TASK_FIELDS(Row, row_keys),
    .scales = scales,
    .prepare = prepare,
    .run = run,
};

/* ---- what it shows ------------------------------------------------------------------------------------------------- */

typedef struct Lab {
    TaskEnv env;
    void *data;
} Lab;

static int lab_open(void **state)
{
    static Lab lab;

    lab = (Lab){.env = {.task = &task, .scale = TASK_SMOKE}};
    assert_int_equal(reln_ctx_create(NULL, &lab.env.ctx), RELN_OK);
    assert_ok(lab.env.ctx, prepare(&lab.env, &lab.data));
    *state = &lab;
    return 0;
}

static int lab_close(void **state)
{
    Lab *lab = *state;

    task_release(&lab->env);
    assert_int_equal(reln_ctx_live_blocks(lab->env.ctx), 0);
    reln_ctx_destroy(lab->env.ctx);
    return 0;
}

static TaskRun row(Lab *lab, const char *name)
{
    TaskRun r;

    assert_ok(lab->env.ctx, task_run_alone(&lab->env, lab->data, task_model(&task, name), 1, &r));
    task_run_clear(&r);
    return r;
}

/* The square of rounding: outputs are sums of a few dozen products of numbers of size 1. */
static const double rounding = (64 * 0x1p-52) * (64 * 0x1p-52);

static void a_network_of_brackets_learns_it_and_turns_with_it(void **state)
{
    const TaskRun r = row(*state, "bracket");

    assert_true(r.metrics[0] < 1e-3 && r.params > 0 && r.params == r.params_used);
    assert_small(r.metrics[2], rounding);
    assert_small(r.metrics[1] - r.metrics[0], 1e-6 * r.metrics[0]);
}

/* The must-fail check: what is asserted above does not hold for a network without the symmetry. */
static void a_network_without_the_symmetry_is_seen(void **state)
{
    const TaskRun r = row(*state, "mlp");

    assert_true(r.metrics[2] > 1e6 * rounding);
    assert_true(r.metrics[1] > r.metrics[0]);
}

static void a_row_that_trains_nothing_is_judged_like_the_others(void **state)
{
    const TaskRun r = row(*state, "half-sum");

    assert_int_equal(r.params, 0);
    assert_true(r.metrics[0] > 0.1); /* it is wrong, and turns */
    assert_small(r.metrics[2], rounding);
}

static void a_second_part_goes_on_from_the_weights_of_the_first(void **state)
{
    const TaskRun once = row(*state, "bracket"), twice = row(*state, "twice");

    assert_int_equal(once.params, twice.params);
    assert_true(twice.metrics[0] < once.metrics[0]);
}

/* On a validation set with the opposite targets the first evaluation is the best, and on the test set the
 * last. */
static void the_weights_that_validation_finds_best_are_kept(void **state)
{
    const TaskRun early = row(*state, "early"), late = row(*state, "late"),
                  steady = row(*state, "steady"), contrary = row(*state, "contrary"),
                  last = row(*state, "contrary-last");

    assert_true(late.metrics[0] < early.metrics[0] / 2);
    assert_true(steady.metrics[0] == late.metrics[0]);
    assert_true(contrary.metrics[0] == early.metrics[0]);
    assert_true(last.metrics[0] == late.metrics[0]);
}

static int of_sample(const Data *d, double x)
{
    int found = -1;

    for (int i = 0; i < ALL; i++)
        if (d->sets[TRAIN].x[9 * i] == x) {
            assert_int_equal(found, -1);
            found = i;
        }
    assert_true(found >= 0);
    return found;
}

/* Every sample occurs once in an epoch, also if batches are shuffled in several parts; augmentation is drawn
 * for each sample. */
static void an_epoch_has_every_sample_once_with_its_target(void **state)
{
    const Data *d = ((Lab *)*state)->data;
    int same = 0;

    noted.n = 0;
    row(*state, "watched");
    assert_int_equal(noted.n, EPOCHS * ALL);
    for (int e = 0; e < EPOCHS; e++) {
        bool seen[ALL] = {false};
        for (int i = e * ALL; i < (e + 1) * ALL; i++) {
            const int sample = of_sample(d, noted.x[i]);
            assert_false(seen[sample]);
            seen[sample] = true;
            assert_true(noted.y[i] == d->sets[TRAIN].y[3 * sample]);
        }
    }
    for (int i = 0; i < ALL; i++)
        same += noted.x[i] == noted.x[ALL + i];
    assert_true(same < ALL / 10); /* another order */
    for (int i = 0; i < noted.n; i++)
        for (int j = 0; j < i; j++)
            assert_true(noted.drawn[i] != noted.drawn[j]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_of_brackets_learns_it_and_turns_with_it),
        cmocka_unit_test(a_network_without_the_symmetry_is_seen),
        cmocka_unit_test(a_row_that_trains_nothing_is_judged_like_the_others),
        cmocka_unit_test(a_second_part_goes_on_from_the_weights_of_the_first),
        cmocka_unit_test(the_weights_that_validation_finds_best_are_kept),
        cmocka_unit_test(an_epoch_has_every_sample_once_with_its_target),
    };

    return cmocka_run_group_tests(tests, lab_open, lab_close);
}
