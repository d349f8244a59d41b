/* silu, and derivatives of any order of it, of sigmoid and of tanh: against their series. */
#include <math.h>
#include <stdio.h>

#include "ops/fixture.h"

enum { N = 9, ORDERS = 21 }; /* more than polynomials of one node have terms */

/* Where the polynomials in sigmoid(x), tanh(x) are led by their lowest terms: elsewhere a derivative of order 20 is a
 * difference of numbers that are 1e15 times as large. */
static double far_below(int i)
{
    return -14.0 + 0.5 * i;
}

static double near_zero(int i)
{
    return 0.01 * (i + 1);
}

/* sigmoid(x) = sum over k > 0 of -(-1)^k e^(k x), term by term. */
static double sigmoid_slope(int order, double x)
{
    double sum = 0;

    for (int k = 1; k < 60; k++)
        sum += (k & 1 ? 1 : -1) * pow(k, order) * exp(k * x);
    return sum;
}

/* x sigmoid(x) by the rule of Leibniz. */
static double silu_slope(int order, double x)
{
    return x * sigmoid_slope(order, x) + (order > 0 ? order * sigmoid_slope(order - 1, x) : 0);
}

/* tanh(x) = sum c[k] x^k with (k + 1) c[k + 1] = -sum c[i] c[k - i], which is tanh' = 1 - tanh^2, term by term. */
static double tanh_slope(int order, double x)
{
    enum { TERMS = 48 };
    double c[TERMS + 1] = {0, 1}, sum = 0;

    for (int k = 1; k < TERMS; k++) {
        for (int i = 0; i <= k; i++)
            c[k + 1] -= c[i] * c[k - i];
        c[k + 1] /= k + 1;
    }
    for (int k = TERMS; k >= order; k--) {
        double falling = c[k];

        for (int i = 0; i < order; i++)
            falling *= k - i;
        sum += falling * pow(x, k - order);
    }
    return sum;
}

typedef struct Curve {
    RelnNode *(*build)(RelnGraph *g, RelnNode *x);
    double (*slope)(int order, double x);
    double (*place)(int i);
} Curve;

/* A polynomial has at most as many terms as its order and two more, and each term a handful of roundings. */
static double tolerance(double want, int order)
{
    return 64 * (order + 1) * 0x1p-52 * fabs(want);
}

static void check_orders(const Curve *curve, bool reference)
{
    Fixture f;
    RelnNode *x, *y;
    RelnPlan *plan;
    double values[N];
    char name[8];

    fixture_init(&f, "so:3", "so:3", RELN_F64);
    x = reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_DEFAULT);
    y = curve->build(f.graph, x);
    for (int n = 0; n < ORDERS; n++) {
        snprintf(name, sizeof name, "%d", n);
        reln_output(f.graph, name, y);
        if (n + 1 < ORDERS)
            assert_true(reln_grad(f.graph, y, 1, &x, &y));
    }
    for (int i = 0; i < N; i++)
        values[i] = curve->place(i);
    plan = plan_of(&f, (RelnPlanOptions){.reference = reference});
    assert_ok(f.ctx, reln_plan_bind(plan, "x", values, RELN_F64));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = N}));
    for (int n = 0; n < ORDERS; n++) {
        const double *got;

        snprintf(name, sizeof name, "%d", n);
        got = reln_plan_output(plan, name, NULL);
        for (int i = 0; i < N; i++) {
            const double want = curve->slope(n, curve->place(i));

            assert_near(&got[i], &want, 1, tolerance(want, n));
        }
    }
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

static void derivatives_of_every_order_are_those_of_the_series(void **state)
{
    static const Curve curves[] = {{reln_silu, silu_slope, far_below},
                                   {reln_sigmoid, sigmoid_slope, far_below},
                                   {reln_tanh, tanh_slope, near_zero}};

    (void)state;
    for (int i = 0; i < 3; i++)
        for (int reference = 0; reference < 2; reference++)
            check_orders(&curves[i], reference);
}

/* A gradient and the gradient of a gradient: a handful of nodes, whatever the order. */
static void derivatives_do_not_grow(void **state)
{
    Fixture f;
    RelnNode *x, *y;
    RelnPlan *plan;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    x = reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_DEFAULT);
    y = reln_silu(f.graph, x);
    for (int n = 0; n < 8; n++)
        assert_true(reln_grad(f.graph, y, 1, &x, &y));
    reln_output(f.graph, "y", y);
    plan = plan_of(&f, (RelnPlanOptions){0});
    assert_true(reln_plan_cost(plan).instructions < 16);
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

static void features_that_turn_are_refused(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    assert_null(reln_silu(f.graph, reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.k = 3},
                                              f.adjoint, RELN_DEFAULT)));
    assert_refused(&f, RELN_ERR_REP, "invariants only");
    fixture_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_of_every_order_are_those_of_the_series),
        cmocka_unit_test(derivatives_do_not_grow),
        cmocka_unit_test(features_that_turn_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
