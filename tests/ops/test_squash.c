/* Compares silu, and derivatives of any order of silu, sigmoid and tanh, with their series. */
#include <math.h>
#include <stdio.h>

#include "ops/fixture.h"

enum { PLACES = 9, N = 41, ORDERS = 21 }; /* more than polynomials of one node have terms */

/* ---- what they are ------------------------------------------------------------------------------------------------ */

/* tanh(x) = sum c[k] x^k with (k + 1) c[k + 1] = -sum c[i] c[k - i], which is tanh' = 1 - tanh^2, term by term; for
 * |x| < 0.4, where a hundred terms are enough for order 20. */
static double tanh_slope(int order, double x)
{
    enum { TERMS = 128 };
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

/* sum over k > 0 of -(-1)^k e^(k x) far below 0, (1 + tanh(x/2)) / 2 near it. */
static double sigmoid_slope(int order, double x)
{
    double sum = 0;

    if (x > -1)
        return (tanh_slope(order, x / 2) + (order == 0)) / pow(2, order + 1);
    for (int k = 1; k < 60; k++)
        sum += (k & 1 ? 1 : -1) * pow(k, order) * exp(k * x);
    return sum;
}

/* x sigmoid(x) by the rule of Leibniz. */
static double silu_slope(int order, double x)
{
    return x * sigmoid_slope(order, x) + (order > 0 ? order * sigmoid_slope(order - 1, x) : 0);
}

/* ---- how exact they can be ----------------------------------------------------------------------------------------- */

/* Computes the sum of |c[i]| |u|^i over the terms of the derivative of that order, a polynomial of u. Signs
 * alternate, so the absolute values follow the same rule without signs. */
static double size_of(bool is_tanh, int order, double u)
{
    double c[ORDERS + 3] = {0, 1}, sum = 0;

    for (int n = 0; n < order; n++) {
        double next[ORDERS + 3] = {0};

        for (int i = 1; i <= n + 1; i++) {
            next[is_tanh ? i - 1 : i] += i * c[i];
            next[i + 1] += i * c[i];
        }
        memcpy(c, next, sizeof c);
    }
    for (int i = 0; i <= order + 1; i++)
        sum += c[i] * pow(fabs(u), i);
    return sum;
}

static double tanh_size(int order, double x)
{
    return size_of(true, order, tanh(x));
}

static double sigmoid_size(int order, double x)
{
    return size_of(false, order, 1 / (1 + exp(-x)));
}

static double silu_size(int order, double x)
{
    return fabs(x) * sigmoid_size(order, x) + (order > 0 ? order * sigmoid_size(order - 1, x) : 0);
}

/* ---- tests --------------------------------------------------------------------------------------------------------- */

/* Returns places where the lowest term dominates, and places where all terms count. */
static double sigmoid_place(int i)
{
    return i < 4 ? -14.0 + i : 0.3 * (i - 6);
}

static double tanh_place(int i)
{
    return 0.08 * (i - 4);
}

typedef struct Curve {
    RelnNode *(*build)(RelnGraph *g, RelnNode *x);
    double (*slope)(int order, double x);
    double (*size)(int order, double x);
    double (*place)(int i);
} Curve;

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
        values[i] = curve->place(i % PLACES);
    plan = plan_of(&f, (RelnPlanOptions){.reference = reference});
    assert_ok(f.ctx, reln_plan_bind(plan, "x", values, RELN_F64));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = N}));
    for (int n = 0; n < ORDERS; n++) {
        const double *got;

        snprintf(name, sizeof name, "%d", n);
        got = reln_plan_output(plan, name, NULL);
        for (int i = 0; i < N; i++) {
            const double want = curve->slope(n, values[i]);

            /* the polynomial has two terms more than the order, and each has a few roundings */
            assert_near(&got[i], &want, 1, 16 * (n + 3) * 0x1p-52 * curve->size(n, values[i]));
            assert_true(
                got[i] ==
                got[i %
                    PLACES]); /* the same bits inside of a vector register and after the last full one */
        }
    }
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

static void derivatives_of_every_order_are_those_of_the_series(void **state)
{
    static const Curve curves[] = {{reln_silu, silu_slope, silu_size, sigmoid_place},
                                   {reln_sigmoid, sigmoid_slope, sigmoid_size, sigmoid_place},
                                   {reln_tanh, tanh_slope, tanh_size, tanh_place}};

    (void)state;
    for (int i = 0; i < 3; i++)
        for (int reference = 0; reference < 2; reference++)
            check_orders(&curves[i], reference);
}

/* A gradient, and the gradient of a gradient, have a few nodes, whatever the order. */
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
