/* Tests training steps: those of the published code, clipping, and which parameters are trained. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fixture.h"
#include "support/golden.h"

/* ---- ten steps of the sp(4) network ------------------------------------------------------------------------------ */

enum { WIDTH = 16, BATCH = 32 };

typedef struct Golden {
    Fixture f;
    RelnPlan *plan;
    RelnTrainer *trainer;
    double x[BATCH * 20], y[BATCH];
} Golden;

/* theirs, named FOLDER/PREFIX+PART; caller frees */
static double *theirs(const char *prefix, const char *part, ptrdiff_t *dims, ptrdiff_t *count)
{
    char name[128];
    double *values = NULL;
    int rank;

    snprintf(name, sizeof name, "sp4_net/%s%s", prefix, part);
    dims[0] = dims[1] = 1;
    assert_true(golden_load(name, 4, dims, &rank, &values));
    *count = 1;
    for (int i = 0; i < rank; i++)
        *count *= dims[i];
    return values;
}

/* theirs [B, C = 2, K = 10] to ours (B, K, C) */
static void load_data(Golden *n)
{
    ptrdiff_t dims[4], count;
    double *x = theirs("", "x", dims, &count), *y;

    assert_int_equal(count, BATCH * 20);
    for (ptrdiff_t i = 0; i < count; i++)
        n->x[i / 20 * 20 + i % 10 * 2 + i / 10 % 2] = x[i];
    y = theirs("", "y_code", dims, &count);
    assert_int_equal(count, BATCH);
    memcpy(n->y, y, sizeof n->y);
    free(x);
    free(y);
}

static const char *const names[7][2] = {{"W1", "one.W"},  {"U1", "one.U"},  {"W2", "two.W"},
                                        {"Wa", "two.Wa"}, {"Wb", "two.Wb"}, {"wf", "out.W"},
                                        {"bf", "out.b"}};

/* theirs W[out, in] and ours (in, out): copied, or the largest difference */
static double visit(const Golden *n, const char *prefix, int which, bool copy)
{
    ptrdiff_t dims[4], count;
    double *w = theirs(prefix, names[which][0], dims, &count), most = 0;
    const ptrdiff_t out = dims[0], in = count / out;
    RelnEntryInfo entry;

    assert_true(reln_store_find(n->f.store, names[which][1], &entry));
    assert_int_equal(entry.count, count);
    for (ptrdiff_t i = 0; i < count; i++) {
        double *ours = (double *)entry.values + i % in * out + i / in;

        if (copy)
            *ours = w[i];
        most = fmax(most, fabs(*ours - w[i]));
    }
    free(w);
    return most;
}

static RelnNode *network(const Golden *n)
{
    const RelnNet net = {.graph = n->f.graph, .algebra = n->f.algebra, .train = true};
    RelnNode *h = reln_input(n->f.graph, "x", RELN_SAMPLES, (RelnDims){.k = 10, .c = 2},
                             n->f.adjoint, RELN_F64);

    h = reln_nn_relu(&net, "one", reln_nn_linear(&net, "one", h, WIDTH), NULL);
    h = reln_nn_bracket(&net, "two", reln_nn_linear(&net, "two", h, WIDTH));
    return reln_nn_dense(&net, "out", reln_nn_invariant(&net, h), 1);
}

static RelnStatus whole_batch(void *self, uint64_t step, ptrdiff_t *n_samples)
{
    (void)self;
    (void)step;
    *n_samples = BATCH;
    return RELN_OK;
}

static void golden_init(Golden *n, const RelnAdam *adam)
{
    const RelnOptimiser optimiser = {.adam = *adam};
    RelnTrainJob job = {.n_steps = 10, .evaluate_every = 1, .schedule = {.rate = 1e-3}};
    RelnNode *out;

    memset(n, 0, sizeof *n);
    load_data(n);
    fixture_init(&n->f, "sp:4", "sp:4", RELN_F64);
    out = network(n);
    assert_true(reln_train_step(
        n->f.graph, &optimiser,
        reln_loss_mean(n->f.graph, &(RelnLoss){.kind = RELN_LOSS_MSE}, out,
                       reln_input(n->f.graph, "y", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_F64))));
    assert_ok(n->f.ctx, reln_plan_create(n->f.graph, NULL, &n->plan));
    assert_ok(n->f.ctx, reln_plan_bind(n->plan, "x", n->x, RELN_F64));
    assert_ok(n->f.ctx, reln_plan_bind(n->plan, "y", n->y, RELN_F64));
    for (int i = 0; i < 7; i++)
        visit(n, "init_", i, true);
    job.plan = n->plan;
    job.store = n->f.store;
    job.load = whole_batch;
    assert_ok(n->f.ctx, reln_trainer_create(n->f.ctx, &job, &n->trainer));
}

static void golden_clear(Golden *n)
{
    reln_trainer_destroy(n->trainer);
    reln_plan_destroy(n->plan);
    fixture_clear(&n->f);
}

static void ten_steps_of_adam_are_the_published_ones(void **state)
{
    const RelnAdam adam = RELN_ADAM_DEFAULTS;
    const RelnTrainRow *rows;
    ptrdiff_t dims[4], count;
    double *losses = theirs("", "adam_losses", dims, &count);
    RelnTrainEnd end;
    Golden n;

    (void)state;
    golden_init(&n, &adam);
    assert_ok(n.f.ctx, reln_trainer_run(n.trainer, UINT64_MAX, &end));
    assert_int_equal(end, RELN_TRAIN_DONE);
    assert_int_equal(reln_trainer_rows(n.trainer, &rows), 10);
    for (int i = 0; i < 10; i++)
        assert_near(&rows[i].loss, &losses[i], 1, 1e-10);
    for (int i = 0; i < 7; i++)
        assert_small(visit(&n, "after10_", i, false), 1e-10);
    free(losses);
    golden_clear(&n);
}

/* The other Adam would be seen. */
static void epsilon_inside_the_root_gives_other_weights(void **state)
{
    const RelnAdam adam = {0.9, 0.999, 1e-8, 0.0, true};
    Golden n;

    (void)state;
    golden_init(&n, &adam);
    assert_ok(n.f.ctx, reln_trainer_run(n.trainer, UINT64_MAX, NULL));
    assert_true(visit(&n, "after10_", 0, false) > 1e-8);
    golden_clear(&n);
}

/* ---- clipping ---------------------------------------------------------------------------------------------------- */

/* loss = a . p + b q: the gradient is (a, b), of norm 13, in two parameters; step 1 of gradient descent shows it. */
static void descend(RelnDtype dtype, double clip, double *moved, double *norm)
{
    static const double a[] = {3, 4};
    const RelnOptimiser sgd = {.kind = RELN_OPTIMISER_SGD, .clip = clip};
    const RelnInit zero = {RELN_INIT_CONSTANT, 0};
    const double rate = 1.0;
    RelnPlan *plan = NULL;
    RelnNode *p, *q, *loss;
    Fixture f;

    fixture_init(&f, "so:3", "so:3", dtype);
    p = reln_param(f.graph, "p", (RelnDims){.c = 2}, zero);
    q = reln_param(f.graph, "q", (RelnDims){0}, zero);
    loss = reln_sum_all(f.graph,
                        reln_mul(f.graph, p, reln_const(f.graph, (RelnDims){.c = 2}, NULL, a)));
    assert_true(
        reln_train_step(f.graph, &sgd, reln_add(f.graph, loss, reln_scale(f.graph, q, 12.0))));
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    assert_ok(f.ctx, reln_plan_bind(plan, "rate", &rate, RELN_F64));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 0}));
    *norm = *(const double *)reln_plan_output(plan, "gradient_norm", NULL);
    for (int i = 0, k = 0; i < reln_store_count(f.store); i++)
        for (size_t e = 0; e < reln_store_entry(f.store, i).count; e++, k++) {
            const void *v = reln_store_entry(f.store, i).values;

            moved[k] = dtype == RELN_F64 ? ((const double *)v)[e] : (double)((const float *)v)[e];
        }
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

static void gradients_are_clipped_by_their_norm_over_all_parameters(void **state)
{
    static const double whole[] = {-3, -4, -12}, clipped[] = {-1.5, -2, -6};
    double moved[3], norm;

    (void)state;
    for (int single = 0; single < 2; single++) {
        const RelnDtype dtype = single ? RELN_F32 : RELN_F64;
        const double eps = single ? (double)FLT_EPSILON : DBL_EPSILON;

        descend(dtype, 0, moved, &norm);
        assert_true(norm == 13.0 && memcmp(moved, whole, sizeof moved) == 0);
        descend(dtype, 6.5, moved, &norm);
        assert_true(norm == 13.0); /* before clipping */
        assert_near(moved, clipped, 3, 4 * eps);
        descend(dtype, 13.5, moved, &norm); /* within the bound: not a bit changes */
        assert_true(memcmp(moved, whole, sizeof moved) == 0);
    }
}

/* ---- who takes part ---------------------------------------------------------------------------------------------- */

static void parameters_without_a_gradient_stay_as_they_are(void **state)
{
    const RelnOptimiser adamw = {.adam = {0.9, 0.999, 1e-8, 0.5, false}};
    const RelnInit one = {RELN_INIT_CONSTANT, 1};
    const double rate = 0.1;
    RelnPlan *plan = NULL;
    RelnEntryInfo entry;
    RelnNode *used, *cut;
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    used = reln_param(f.graph, "used", (RelnDims){0}, one);
    cut = reln_stop_gradient(f.graph, reln_param(f.graph, "cut", (RelnDims){0}, one));
    (void)reln_param(f.graph, "apart", (RelnDims){.c = 3}, one);
    assert_true(
        reln_train_step(f.graph, &adamw, reln_square(f.graph, reln_add(f.graph, used, cut))));
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    assert_ok(f.ctx, reln_plan_bind(plan, "rate", &rate, RELN_F64));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 0}));
    assert_true(reln_store_find(f.store, "used", &entry) && *(double *)entry.values < 0.95);
    assert_true(reln_store_find(f.store, "cut", &entry) && *(double *)entry.values == 1.0);
    assert_true(reln_store_find(f.store, "apart", &entry) && *(double *)entry.values == 1.0);
    assert_false(reln_store_find(f.store, "apart.m", &entry));
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

static void refuse(const RelnOptimiser *o, int what, const char *message)
{
    RelnNode *x, *w, *loss;
    Fixture f;

    fixture_init(&f, "so:3", "so:3", RELN_F64);
    x = reln_input(f.graph, what == 2 ? "rate" : "x", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_F64);
    w = reln_param(f.graph, "w", (RelnDims){0}, (RelnInit){RELN_INIT_CONSTANT, 1});
    loss = what == 0   ? reln_mul(f.graph, x, w)
           : what == 1 ? reln_batch_mean(f.graph, x)
                       : reln_batch_mean(f.graph, reln_mul(f.graph, x, w));
    assert_false(reln_train_step(f.graph, o, loss));
    (void)reln_graph_status(f.graph);
    if (!strstr(reln_ctx_error(f.ctx), message))
        fail_msg("%s", reln_ctx_error(f.ctx));
    fixture_clear(&f);
}

static void what_is_no_step_is_refused(void **state)
{
    const RelnOptimiser adam = {.adam = RELN_ADAM_DEFAULTS};

    (void)state;
    refuse(&adam, 0, "wanted one number at step level");
    refuse(&adam, 1, "the loss depends on none of 1 parameters");
    refuse(&adam, 2, "there is a source of that name already");
    refuse(&(RelnOptimiser){.kind = (RelnOptimiserKind)5}, 3, "optimiser 5 is unknown");
    refuse(&(RelnOptimiser){.adam = RELN_ADAM_DEFAULTS, .clip = -1}, 3, "clip -1");
    refuse(&(RelnOptimiser){0}, 3, "eps above 0"); /* settings left out are no settings */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_steps_of_adam_are_the_published_ones),
        cmocka_unit_test(epsilon_inside_the_root_gives_other_weights),
        cmocka_unit_test(gradients_are_clipped_by_their_norm_over_all_parameters),
        cmocka_unit_test(parameters_without_a_gradient_stay_as_they_are),
        cmocka_unit_test(what_is_no_step_is_refused),
    };

    return cmocka_run_group_tests_name("train/step", tests, NULL, NULL);
}
