/* Tests random nodes: the numbers have their distribution, and each is a function of seed, step, key, item
 * and element alone. */
#include <math.h>
#include <stdlib.h>

#include "ops/fixture.h"

enum { ITEMS = 200, EACH = 51, ALL = ITEMS * EACH };

typedef RelnNode *Draw(RelnGraph *g, RelnDomain domain, RelnDims dims, uint64_t key);

static RelnNode *rarely(RelnGraph *g, RelnDomain domain, RelnDims dims, uint64_t key)
{
    return reln_random_bernoulli(g, 0.2, domain, dims, key);
}

/* The numbers of one node. */
static void draw(Draw *law, RelnDtype dtype, uint64_t key, RelnRun at, int shard, double *out)
{
    Fixture f;
    RelnPlan *plan;
    const void *values;

    fixture_init(&f, "so:3", "so:3", dtype);
    (void)law(f.graph, RELN_SAMPLES, (RelnDims){.c = 3},
              0); /* this node takes a key and is not used */
    reln_output(f.graph, "z", law(f.graph, RELN_SAMPLES, (RelnDims){.r = 3, .c = EACH / 3}, key));
    plan = plan_of(&f, (RelnPlanOptions){.shard = shard});
    assert_ok(f.ctx, reln_plan_run(plan, &at));
    values = reln_plan_output(plan, "z", NULL);
    for (int i = 0; i < (int)at.n_samples * EACH; i++)
        out[i] =
            dtype == RELN_F64 ? ((const double *)values)[i] : (double)((const float *)values)[i];
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

static double mean_of(const double *x, int n, int power)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += pow(x[i], power);
    return sum / n;
}

/* Means of n = 10200 numbers: five standard deviations of x, x^2, x^4 over sqrt(n). */
static void numbers_follow_their_law(void **state)
{
    const RelnRun at = {.n_samples = ITEMS, .seed = 2, .step = 7};
    const double five = 5.0 / sqrt((double)ALL);
    static double x[ALL];

    (void)state;
    draw(reln_random_uniform, RELN_F64, 1, at, 0, x);
    assert_small(mean_of(x, ALL, 1) - 0.5, five * sqrt(1.0 / 12));
    assert_small(mean_of(x, ALL, 2) - 1.0 / 3, five * sqrt(4.0 / 45));
    draw(reln_random_normal, RELN_F64, 1, at, 0, x);
    assert_small(mean_of(x, ALL, 1), five);
    assert_small(mean_of(x, ALL, 2) - 1.0, five * sqrt(2.0));
    assert_small(mean_of(x, ALL, 4) - 3.0, five * sqrt(96.0));
    draw(rarely, RELN_F64, 1, at, 0, x);
    assert_small(mean_of(x, ALL, 1) - 0.2, five * 0.4);
    assert_true(mean_of(x, ALL, 1) == mean_of(x, ALL, 2)); /* 0 and 1 */
}

/* Correlations of independent numbers are normal with standard deviation 1 / sqrt(n). */
static double correlation(const double *x, const double *y, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum / n;
}

static void seed_step_key_item_and_element_all_matter(void **state)
{
    const RelnRun at = {.n_samples = ITEMS, .seed = 2, .step = 7};
    const RelnRun seed = {.n_samples = ITEMS, .seed = 3, .step = 7};
    const RelnRun step = {.n_samples = ITEMS, .seed = 2, .step = 8};
    static double x[ALL], y[4][ALL];

    (void)state;
    draw(reln_random_normal, RELN_F64, 1, at, 0, x);
    draw(reln_random_normal, RELN_F64, 1, seed, 0, y[0]);
    draw(reln_random_normal, RELN_F64, 1, step, 0, y[1]);
    draw(reln_random_normal, RELN_F64, 2, at, 0, y[2]);
    draw(reln_random_normal, RELN_F64, 0, at, 0, y[3]);
    for (int i = 0; i < 4; i++)
        assert_small(correlation(x, y[i], ALL), 5.0 / sqrt((double)ALL));
    assert_small(correlation(x, x + 1, ALL - 1), 5.0 / sqrt((double)ALL));
    assert_small(correlation(x, x + EACH, ALL - EACH), 5.0 / sqrt((double)ALL));
    assert_true(correlation(x, x, ALL) > 0.9); /* the check can fail */
}

static void nothing_else_matters(void **state)
{
    const RelnRun at = {.n_samples = ITEMS, .seed = 2, .step = 7};
    const RelnRun fewer = {.n_samples = 9, .seed = 2, .step = 7};
    static double x[ALL], y[ALL];

    (void)state;
    for (uint64_t key = 0; key < 2; key++) {
        draw(reln_random_normal, RELN_F32, key, at, 0, x);
        draw(reln_random_normal, RELN_F32, key, at, 7, y);
        assert_memory_equal(x, y, sizeof x);
        draw(reln_random_normal, RELN_F32, key, fewer, 2, y);
        assert_memory_equal(x, y, 9 * EACH * sizeof *x);
    }
    /* single precision has the same numbers, rounded: down, so that 1 is never reached */
    draw(reln_random_uniform, RELN_F64, 1, at, 0, x);
    draw(reln_random_uniform, RELN_F32, 1, at, 0, y);
    for (int i = 0; i < ALL; i++)
        assert_true(y[i] <= x[i] && x[i] - y[i] < 0x1p-24 && x[i] < 1.0);
    draw(rarely, RELN_F64, 1, at, 0, x);
    draw(rarely, RELN_F32, 1, at, 0, y);
    assert_memory_equal(x, y, sizeof x);
}

/* A feature is kept, and divided by 1 - p, or dropped with all its coordinates. */
static void dropout_takes_whole_features(void **state)
{
    Fixture f;
    RelnPlan *plan;
    RelnNode *x;
    static double values[40 * 3 * 5];
    const double *z;
    int kept = 0;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    x = reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.k = 3, .c = 5}, f.adjoint, RELN_DEFAULT);
    assert_ptr_equal(reln_dropout(f.graph, x, 0.0, 1), x);
    reln_output(f.graph, "z", reln_dropout(f.graph, x, 0.5, 1));
    plan = plan_of(&f, (RelnPlanOptions){0});
    for (int i = 0; i < 600; i++)
        values[i] = i + 1;
    assert_ok(f.ctx, reln_plan_bind(plan, "x", values, RELN_F64));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 40}));
    z = reln_plan_output(plan, "z", NULL);
    for (int i = 0; i < 40; i++)
        for (int c = 0; c < 5; c++) {
            const double gain = z[i * 15 + c] / values[i * 15 + c];

            assert_true(gain == 0.0 || gain == 2.0);
            kept += gain == 2.0;
            for (int k = 0; k < 3; k++)
                assert_true(z[i * 15 + k * 5 + c] == gain * values[i * 15 + k * 5 + c]);
        }
    assert_small(kept - 100.0, 5.0 * sqrt(50.0));
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

static void impossible_probabilities_are_refused(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    assert_null(reln_random_bernoulli(f.graph, 1.5, RELN_SAMPLES, (RelnDims){0}, 1));
    assert_refused(&f, RELN_ERR_ARG, "a probability of 1.5");
    fixture_clear(&f);
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    assert_null(reln_dropout(f.graph, reln_scalar(f.graph, 1.0), 1.0, 1));
    assert_refused(&f, RELN_ERR_ARG, "dropout: a probability of 1");
    fixture_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_follow_their_law),
        cmocka_unit_test(seed_step_key_item_and_element_all_matter),
        cmocka_unit_test(nothing_else_matters),
        cmocka_unit_test(dropout_takes_whole_features),
        cmocka_unit_test(impossible_probabilities_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
