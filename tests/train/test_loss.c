/* Tests losses: formulas, first and second derivatives against differences, invariance, and refusals. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "graph/fixture.h"

enum { B = 3, P = 2, K = 3, C = 2, ITEM = P * K * C, COUNT = B * ITEM };

/* ---- a loss of features or numbers, and its derivatives ---------------------------------------------------------- */

typedef struct Trial {
    Fixture f;
    RelnPlan *plan;
    double y[COUNT], t[COUNT], v[COUNT];
} Trial;

/* Outputs: "loss" for each sample, "grad" of their sum, and "hess", the second derivative applied to v. */
static void make(Trial *trial, const RelnLoss *loss, bool vectors)
{
    const RelnDims dims = {.p = P, .k = K, .c = C};
    RelnNode *y, *l, *grad, *hess;
    RelnGraph *g;

    fixture_init(&trial->f, "so:3", "so:3", RELN_F64);
    g = trial->f.graph;
    {
        const RelnRep *rep = vectors ? reln_rep_vector(trial->f.group) : NULL;

        y = reln_input(g, "y", RELN_SAMPLES, dims, rep, RELN_F64);
        l = reln_loss(g, loss, y, reln_input(g, "t", RELN_SAMPLES, dims, rep, RELN_F64));
        reln_output(g, "loss", l);
        assert_true(reln_grad(g, l, 1, &y, &grad));
        reln_output(g, "grad", grad);
        assert_true(reln_grad(
            g,
            reln_sum_all(g,
                         reln_pair(g, grad, reln_input(g, "v", RELN_SAMPLES, dims, rep, RELN_F64))),
            1, &y, &hess));
        reln_output(g, "hess", hess);
    }
    assert_ok(trial->f.ctx, reln_plan_create(g, NULL, &trial->plan));
    assert_ok(trial->f.ctx, reln_plan_bind(trial->plan, "y", trial->y, RELN_F64));
    assert_ok(trial->f.ctx, reln_plan_bind(trial->plan, "t", trial->t, RELN_F64));
    assert_ok(trial->f.ctx, reln_plan_bind(trial->plan, "v", trial->v, RELN_F64));
}

static void fill(Trial *trial)
{
    RelnRng rng = reln_rng(3, 0);

    fill_normal(&rng, COUNT, trial->y);
    fill_normal(&rng, COUNT, trial->t);
    fill_normal(&rng, COUNT, trial->v);
}

static void clear(Trial *trial)
{
    reln_plan_destroy(trial->plan);
    fixture_clear(&trial->f);
}

static const double *run(Trial *trial, const char *output)
{
    assert_ok(trial->f.ctx, reln_plan_run(trial->plan, &(RelnRun){.n_samples = B}));
    return reln_plan_output(trial->plan, output, NULL);
}

/* ---- by hand ----------------------------------------------------------------------------------------------------- */

static double one_number(const RelnLoss *loss, double size)
{
    switch (loss->kind) {
    case RELN_LOSS_MSE:
        return size * size;
    case RELN_LOSS_MAE:
        return size;
    default:
        return size <= loss->delta ? size * size / 2 : loss->delta * (size - loss->delta / 2);
    }
}

/* Numbers are compared one by one. For vectors, lengths are divided by K, and squares are distributed over
 * the K numbers. */
static double by_hand(const RelnLoss *loss, bool vectors, const double *y, const double *t)
{
    double sum = 0;

    for (int p = 0; p < P; p++)
        for (int c = 0; c < C; c++) {
            double square = 0;

            for (int k = 0; k < K; k++) {
                const double r = y[(p * K + k) * C + c] - t[(p * K + k) * C + c];

                square += r * r;
                sum += vectors ? 0 : one_number(loss, fabs(r)) / ITEM;
            }
            if (vectors)
                sum +=
                    one_number(loss, sqrt(square)) / (loss->kind == RELN_LOSS_MSE ? ITEM : P * C);
        }
    return sum;
}

static const RelnLoss losses[] = {{.kind = RELN_LOSS_MSE},
                                  {.kind = RELN_LOSS_MAE},
                                  {.kind = RELN_LOSS_HUBER, .delta = 0.75},
                                  {.kind = RELN_LOSS_HUBER, .delta = 2.5}};

/* Sums of twelve terms of order one. */
static void losses_are_their_formulas(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        Trial trial;
        double want[B];

        fill(&trial);
        make(&trial, &losses[i / 2], i % 2);
        for (int b = 0; b < B; b++)
            want[b] = by_hand(&losses[i / 2], i % 2, trial.y + b * ITEM, trial.t + b * ITEM);
        assert_near(run(&trial, "loss"), want, B, 64 * DBL_EPSILON);
        clear(&trial);
    }
}

/* Asserts that differences do not cross a kink: |r| = 0 of a number, or |r| = delta. Lengths have second
 * derivatives of size 1/r. */
static void assert_smooth(const Trial *trial, double h)
{
    for (int i = 0; i < COUNT; i++) {
        const int first = i / (K * C) * (K * C) + i % C;
        double square = 0;

        for (int k = 0; k < K; k++)
            square += pow(trial->y[first + k * C] - trial->t[first + k * C], 2);
        for (int l = 0; l < 4; l++) {
            assert_true(fabs(fabs(trial->y[i] - trial->t[i]) - losses[l].delta) > 10 * h);
            assert_true(fabs(sqrt(square) - losses[l].delta) > (l < 2 ? 0.1 : 10 * h));
        }
    }
}

/* Central differences of step h: error h^2/6 f''' + eps/h f, with third derivatives up to 3/r^2 for r >= 0.1:
 * 1e-10/6 * 300 + 2e-16/1e-5 < 1e-8. */
static void derivatives_are_those_of_differences(void **state)
{
    const double h = 1e-5, tol = 1e-8;

    (void)state;
    for (int i = 0; i < 8; i++) {
        double grad[COUNT], hess[COUNT], slope, bend[COUNT];
        Trial trial;

        fill(&trial);
        assert_smooth(&trial, h);
        make(&trial, &losses[i / 2], i % 2);
        memcpy(grad, run(&trial, "grad"), sizeof grad);
        memcpy(hess, reln_plan_output(trial.plan, "hess", NULL), sizeof hess);
        for (int k = 0; k < COUNT; k++) {
            const double y = trial.y[k];

            trial.y[k] = y + h;
            slope = run(&trial, "loss")[k / ITEM];
            trial.y[k] = y - h;
            slope = (slope - run(&trial, "loss")[k / ITEM]) / (2 * h);
            trial.y[k] = y;
            assert_small(fabs(slope - grad[k]), tol);
        }
        for (int k = 0; k < COUNT; k++)
            trial.y[k] += h * trial.v[k];
        memcpy(bend, run(&trial, "grad"), sizeof bend);
        for (int k = 0; k < COUNT; k++)
            trial.y[k] -= 2 * h * trial.v[k];
        for (int k = 0; k < COUNT; k++)
            bend[k] = (bend[k] - run(&trial, "grad")[k]) / (2 * h);
        for (int k = 0; k < COUNT; k++)
            assert_small(fabs(bend[k] - hess[k]), tol);
        clear(&trial);
    }
}

/* If output equals target there is no gradient, and Huber's second derivative is that of r^2/2. */
static void derivatives_are_finite_where_there_is_no_error(void **state)
{
    static const double bends[4][2] = {{2.0 / ITEM, 2.0 / ITEM}, /* of numbers, of vectors */
                                       {0, 0},
                                       {1.0 / ITEM, 1.0 / (P * C)},
                                       {1.0 / ITEM, 1.0 / (P * C)}};

    (void)state;
    for (int i = 0; i < 8; i++) {
        const double bend = bends[i / 2][i % 2];
        const double *hess;
        Trial trial;

        fill(&trial);
        memcpy(trial.y, trial.t, sizeof trial.y);
        make(&trial, &losses[i / 2], i % 2);
        hess = run(&trial, "hess");
        for (int k = 0; k < COUNT; k++) {
            assert_small(fabs(hess[k] - bend * trial.v[k]), 8 * DBL_EPSILON);
            assert_true(((const double *)reln_plan_output(trial.plan, "grad", NULL))[k] == 0.0);
        }
        clear(&trial);
    }
}

/* ---- symmetry ---------------------------------------------------------------------------------------------------- */

static void lengths_are_refused_where_the_group_does_not_keep_them(void **state)
{
    static const char *const groups[] = {"gl:3", "sl:3", "none:3", "o:3"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        RelnSetting s;
        RelnNode *y, *t;

        assert_int_equal(reln_setting_init(&s, groups[i], "gl:3", RELN_F64, 1), RELN_OK);
        y = reln_input(s.graph, "y", RELN_SAMPLES, (RelnDims){.k = 3}, reln_rep_vector(s.group),
                       RELN_F64);
        t = reln_input(s.graph, "t", RELN_SAMPLES, (RelnDims){.k = 3}, reln_rep_vector(s.group),
                       RELN_F64);
        if (i < 2) {
            assert_null(reln_loss(s.graph, &losses[0], y, t));
            assert_int_equal(reln_graph_status(s.graph), RELN_ERR_REP);
            assert_non_null(strstr(reln_ctx_error(s.ctx), "has no size that"));
        } else {
            assert_non_null(reln_loss(s.graph, &losses[0], y, t));
        }
        reln_setting_clear(&s);
    }
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

enum { CLASSES = 4, ROWS = 3, SAMPLES = 5 };

/* Means by hand: over everything, and weighted; `of_sample` are weights of samples, NULL: 1. */
static double entropy_by_hand(const double *y, const int32_t *labels, const RelnLoss *loss,
                              const double *of_sample)
{
    const double *weights = loss->weights, s = loss->smoothing;
    double sum = 0, total = 0;

    for (int i = 0; i < SAMPLES * ROWS; i++) {
        const double w =
            (weights ? weights[labels[i]] : 1.0) * (of_sample ? of_sample[i / ROWS] : 1.0);
        double z = 0;

        for (int c = 0; c < CLASSES; c++)
            z += exp(y[i * CLASSES + c]);
        for (int c = 0; c < CLASSES; c++)
            sum += w * (s / CLASSES + (c == labels[i] ? 1 - s : 0)) * (log(z) - y[i * CLASSES + c]);
        total += w;
    }
    return sum / total;
}

static void cross_entropy_is_its_formula(void **state)
{
    static const double weights[CLASSES] = {1.0, 0.25, 3.0, 0.0};
    static double heavy[SAMPLES] = {0.5, 0, 2, 1, 7}, none[SAMPLES];
    double y[SAMPLES * ROWS * CLASSES];
    int32_t labels[SAMPLES * ROWS];
    RelnRng rng = reln_rng(8, 0);

    (void)state;
    fill_normal(&rng, SAMPLES * ROWS * CLASSES, y);
    for (int i = 0; i < SAMPLES * ROWS; i++)
        labels[i] = (int32_t)reln_rng_below(&rng, CLASSES);
    for (int pass = 0; pass < 4; pass++) {
        const bool weighted = pass % 2 == 1;
        const RelnLoss loss = {.kind = RELN_LOSS_CROSS_ENTROPY,
                               .smoothing = pass < 2 ? 0 : 0.3,
                               .n_weights = weighted ? CLASSES : 0,
                               .weights = weighted ? weights : NULL};
        const double want = entropy_by_hand(y, labels, &loss, NULL);
        const double heavier = entropy_by_hand(y, labels, &loss, heavy);
        RelnPlan *plan = NULL;
        RelnNode *in, *t, *w;
        Fixture f;

        fixture_init(&f, "so:3", "so:3", RELN_F64);
        in = reln_input(f.graph, "y", RELN_SAMPLES, (RelnDims){.q = ROWS, .c = CLASSES}, NULL,
                        RELN_F64);
        t = reln_input_index(f.graph, "t", RELN_SAMPLES, (RelnDims){.q = ROWS}, RELN_STEP, CLASSES);
        reln_output(f.graph, "mean", reln_loss_mean(f.graph, &loss, in, t));
        reln_output(f.graph, "each", reln_loss(f.graph, &loss, in, t));
        w = reln_input(f.graph, "w", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_F64);
        reln_output(f.graph, "heavy", reln_loss_mean_weighted(f.graph, &loss, in, t, w));
        assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
        assert_ok(f.ctx, reln_plan_bind(plan, "y", y, RELN_F64));
        assert_ok(f.ctx, reln_plan_bind(plan, "t", labels, RELN_I32));
        assert_ok(f.ctx, reln_plan_bind(plan, "w", heavy, RELN_F64));
        assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = SAMPLES}));
        assert_near(reln_plan_output(plan, "mean", NULL), &want, 1, 64 * DBL_EPSILON);
        assert_near(reln_plan_output(plan, "heavy", NULL), &heavier, 1, 64 * DBL_EPSILON);
        if (!weighted) {
            double mean = 0;

            for (int i = 0; i < SAMPLES; i++)
                mean += ((const double *)reln_plan_output(plan, "each", NULL))[i] / SAMPLES;
            assert_near(&mean, &want, 1, 64 * DBL_EPSILON);
        }
        /* a batch without weight has no loss */
        assert_ok(f.ctx, reln_plan_bind(plan, "w", none, RELN_F64));
        assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = SAMPLES}));
        assert_true(*(const double *)reln_plan_output(plan, "heavy", NULL) == 0);
        reln_plan_destroy(plan);
        fixture_clear(&f);
    }
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

static void rows_count_each(void **state)
{
    static const double y[] = {1, 2, 3, 4}, t[4] = {0};
    static const int32_t counts[] = {3, 0, 1};
    const double want = 30.0 / 4;
    const RelnDims one = {0};
    RelnPlan *plan = NULL;
    RelnDomain rows;
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    rows = reln_rows(f.graph, "points", 8);
    reln_output(f.graph, "mean",
                reln_loss_mean(f.graph, &losses[0],
                               reln_input(f.graph, "y", rows, one, NULL, RELN_F64),
                               reln_input(f.graph, "t", rows, one, NULL, RELN_F64)));
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    assert_ok(f.ctx, reln_plan_bind(plan, "y", y, RELN_F64));
    assert_ok(f.ctx, reln_plan_bind(plan, "t", t, RELN_F64));
    assert_ok(f.ctx, reln_plan_bind_rows(plan, "points", counts));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 3}));
    assert_near(reln_plan_output(plan, "mean", NULL), &want, 1, 8 * DBL_EPSILON);
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

/* ---- refused ----------------------------------------------------------------------------------------------------- */

static void refuse(const RelnLoss *loss, RelnDims y, RelnDims t, bool index, const char *message)
{
    RelnNode *in, *target;
    Fixture f;

    fixture_init(&f, "so:3", "so:3", RELN_F64);
    in = reln_input(f.graph, "y", RELN_SAMPLES, y, NULL, RELN_F64);
    target = index ? reln_input_index(f.graph, "t", RELN_SAMPLES, t, RELN_STEP, 4)
                   : reln_input(f.graph, "t", RELN_SAMPLES, t, NULL, RELN_F64);
    assert_null(reln_loss_mean(f.graph, loss, in, target));
    assert_true(reln_graph_status(f.graph) != RELN_OK);
    if (!strstr(reln_ctx_error(f.ctx), message))
        fail_msg("%s", reln_ctx_error(f.ctx));
    fixture_clear(&f);
}

static void what_does_not_fit_is_refused(void **state)
{
    static const double weights[] = {1, 2, -3, 4};
    const RelnLoss entropy = {.kind = RELN_LOSS_CROSS_ENTROPY};
    const RelnDims four = {.c = 4}, one = {0};

    (void)state;
    refuse(&losses[0], four, one, false, "the output is (B, 1, 4), its target (B, 1, 1)");
    refuse(&losses[0], four, one, true, "indices, wanted numbers");
    refuse(&(RelnLoss){.kind = RELN_LOSS_HUBER, .delta = -1}, four, four, false, "delta -1");
    refuse(&(RelnLoss){.kind = (RelnLossKind)9}, four, four, false, "kind 9 is unknown");
    refuse(&(RelnLoss){.n_weights = 4, .weights = weights}, four, four, false,
           "weights by class are for cross entropy");
    refuse(&entropy, four, four, false, "wanted i32 classes");
    refuse(&entropy, four, four, true, "wanted one for each of its rows");
    refuse(&entropy, (RelnDims){.k = 2, .c = 4}, one, true, "wanted K = 1 and C classes");
    refuse(&(RelnLoss){.kind = RELN_LOSS_CROSS_ENTROPY, .n_weights = 3, .weights = weights}, four,
           one, true, "3 weights for 4 classes");
    refuse(&(RelnLoss){.kind = RELN_LOSS_CROSS_ENTROPY, .n_weights = 4, .weights = weights}, four,
           one, true, "weight -3 of class 2");
    refuse(&(RelnLoss){.kind = RELN_LOSS_CROSS_ENTROPY, .n_weights = 4}, four, one, true,
           "4 weights at");
    refuse(&(RelnLoss){.kind = RELN_LOSS_CROSS_ENTROPY, .n_weights = -1}, four, one, true,
           "-1 weights at");
    refuse(&(RelnLoss){.kind = RELN_LOSS_CROSS_ENTROPY, .smoothing = 1}, four, one, true,
           "smoothing 1, wanted 0 to below 1");
    refuse(&(RelnLoss){.kind = RELN_LOSS_CROSS_ENTROPY, .smoothing = -0.1}, four, one, true,
           "smoothing -0.1");
    refuse(&(RelnLoss){.kind = RELN_LOSS_GAUSSIAN}, four, four, false,
           "wanted reln_loss_gaussian()");
}

static void quantiles_lie_between_0_and_1(void **state)
{
    static const double valid[] = {0.25, 0.75}, least[] = {0.25, 0}, most[] = {1, 0.5};
    const RelnLoss none = {.kind = RELN_LOSS_QUANTILES, .n_quantiles = 2};
    RelnLoss loss = {.kind = RELN_LOSS_QUANTILES, .n_quantiles = 2, .quantiles = valid};
    const RelnDims four = {.c = 4}, two = {.c = 2};

    (void)state;
    refuse(&none, four, two, false, "2 quantiles at");
    refuse(&loss, four, four, false, "wanted 2 channels for each of its own");
    refuse(&loss, four, two, true, "indices, wanted numbers");
    loss.n_quantiles = 0;
    refuse(&loss, four, two, false, "0 quantiles at");
    loss = (RelnLoss){.kind = RELN_LOSS_QUANTILES, .n_quantiles = 2, .quantiles = least};
    refuse(&loss, four, two, false, "quantile 0, wanted one between 0 and 1");
    loss.quantiles = most;
    refuse(&loss, four, two, false, "quantile 1, wanted one between 0 and 1");
}

/* An output and its target that transform differently have no difference. */
static void reps_of_outputs_and_targets_agree(void **state)
{
    Fixture f;
    RelnNode *y, *t;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    y = reln_input(f.graph, "y", RELN_SAMPLES, (RelnDims){.k = 3}, f.adjoint, RELN_F64);
    t = reln_input(f.graph, "t", RELN_SAMPLES, (RelnDims){.k = 3}, NULL, RELN_F64);
    assert_null(reln_loss(f.graph, &losses[0], y, t));
    assert_int_equal(reln_graph_status(f.graph), RELN_ERR_REP);
    assert_non_null(strstr(reln_ctx_error(f.ctx), "the output transforms as"));
    fixture_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_their_formulas),
        cmocka_unit_test(derivatives_are_those_of_differences),
        cmocka_unit_test(derivatives_are_finite_where_there_is_no_error),
        cmocka_unit_test(lengths_are_refused_where_the_group_does_not_keep_them),
        cmocka_unit_test(cross_entropy_is_its_formula),
        cmocka_unit_test(rows_count_each),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(quantiles_lie_between_0_and_1),
        cmocka_unit_test(reps_of_outputs_and_targets_agree),
    };

    return cmocka_run_group_tests_name("train/loss", tests, NULL, NULL);
}
