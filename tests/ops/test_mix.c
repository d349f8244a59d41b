/* Tests channel mixes: a product of weights is computed once if that is less work, and gives the same
 * numbers. */
#include <math.h>
#include <string.h>

#include "graph/fixture.h"

enum { BATCH = 3, ROWS = 2, C0 = 2, C1 = 9, C2 = 5 };

/* c = op(a) op(b), plainly */
static void product(int m, int n, int k, const double *a, bool ta, const double *b, bool tb,
                    double *c)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            c[i * n + j] = 0.0;
            for (int l = 0; l < k; l++)
                c[i * n + j] +=
                    (ta ? a[l * m + i] : a[i * k + l]) * (tb ? b[j * k + l] : b[l * n + j]);
        }
}

static RelnNode *weights(Fixture *f, const char *name, bool transposed, int from, int to)
{
    return reln_input(f->graph, name, RELN_STEP,
                      transposed ? (RelnDims){.r = to, .c = from} : (RelnDims){.r = from, .c = to},
                      NULL, RELN_DEFAULT);
}

static RelnNode *mixed(Fixture *f, RelnNode *x, RelnNode *w, bool transposed)
{
    return transposed ? reln_mix_t(f->graph, x, w) : reln_mix(f->graph, x, w);
}

/* Computes x A B for x (BATCH, ROWS, c0); returns the plan's cost. */
static RelnCost chain(bool ta, bool tb, int c0)
{
    double x[BATCH * ROWS * 16], a[16 * C1], b[C1 * C2], xa[BATCH * ROWS * C1],
        want[BATCH * ROWS * C2];
    RelnRng rng = reln_rng(7, (uint64_t)(2 * ta + tb));
    RelnPlan *plan = NULL;
    RelnCost cost;
    RelnNode *y;
    Fixture f;

    fill_normal(&rng, BATCH * ROWS * c0, x);
    fill_normal(&rng, c0 * C1, a);
    fill_normal(&rng, C1 * C2, b);
    product(BATCH * ROWS, C1, c0, x, false, a, ta, xa);
    product(BATCH * ROWS, C2, C1, xa, false, b, tb, want);
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    y = reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.r = ROWS, .c = c0}, NULL, RELN_DEFAULT);
    y = mixed(&f, mixed(&f, y, weights(&f, "a", ta, c0, C1), ta), weights(&f, "b", tb, C1, C2), tb);
    reln_output(f.graph, "y", y);
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    assert_ok(f.ctx, reln_plan_bind(plan, "x", x, RELN_F64));
    assert_ok(f.ctx, reln_plan_bind(plan, "a", a, RELN_F64));
    assert_ok(f.ctx, reln_plan_bind(plan, "b", b, RELN_F64));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = BATCH}));
    /* sums of c0 C1 terms of size up to 4^3 */
    assert_near(reln_plan_output(plan, "y", NULL), want, BATCH * ROWS * C2,
                64.0 * c0 * C1 * 0x1p-52);
    cost = reln_plan_cost(plan);
    reln_plan_destroy(plan);
    fixture_clear(&f);
    return cost;
}

static void thin_products_are_of_weights_first(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        const RelnCost cost = chain(t & 1, t & 2, C0);

        /* x (A B): the product of weights once, ROWS rows of C0 by C2 for a sample */
        assert_true(cost.flops_step == 2.0 * C0 * C1 * C2);
        assert_true(cost.flops_sample == 2.0 * ROWS * C0 * C2);
    }
}

static void wide_products_stay_as_written(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        const RelnCost cost = chain(t & 1, t & 2, C1);

        assert_true(cost.flops_step == 0.0);
        assert_true(cost.flops_sample == 2.0 * ROWS * (C1 * C1 + C1 * C2));
    }
}

static void weights_that_do_not_fit_are_refused_as_ever(void **state)
{
    RelnNode *x;
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    x = reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.c = C0}, NULL, RELN_DEFAULT);
    x = reln_mix(f.graph, x, weights(&f, "a", false, C0, C1));
    assert_null(reln_mix(f.graph, x, weights(&f, "b", false, C2, C1)));
    assert_int_equal(reln_graph_status(f.graph), RELN_ERR_SHAPE);
    assert_non_null(strstr(reln_ctx_error(f.ctx), "has 9 channels, the weights take 5"));
    fixture_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thin_products_are_of_weights_first),
        cmocka_unit_test(wide_products_stay_as_written),
        cmocka_unit_test(weights_that_do_not_fit_are_refused_as_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
