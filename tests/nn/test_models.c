/* Counts the parameters of networks, and measures functions that they cannot compute. */
#include <math.h>
#include <stdio.h>

#include "nn/one.h"
#include "tensor/linalg.h"

/* ---- counts ------------------------------------------------------------------------------------------------------ */

static RelnNode *relu_then_bracket(const RelnNet *net, RelnNode *x, int width)
{
    RelnNode *h = reln_nn_relu(net, "one", reln_nn_linear(net, "one", x, width), NULL);

    return reln_nn_bracket(net, "two", reln_nn_linear(net, "two", h, width));
}

/* The published count has 256 x 8 + 8 weights of an invariant layer's other mode, which nothing uses. */
static void the_platonic_network_has_331272_parameters(void **state)
{
    RelnNode *h;
    One o;

    (void)state;
    one_init(&o, "sl:3", 12, 3);
    h = reln_nn_pool_max(&o.net, "pool", relu_then_bracket(&o.net, o.x, 256), RELN_P, false);
    assert_non_null(reln_nn_linear(&o.net, "out", reln_nn_invariant(&o.net, h), 3));
    assert_int_equal(reln_store_parameters(o.f.store), 331272 - 2056);
    assert_non_null(reln_nn_invariant_learned(&o.net, "unused", h, 8));
    assert_int_equal(reln_store_parameters(o.f.store), 331272);
    one_clear(&o);
}

static void the_sp4_network_has_263170_parameters(void **state)
{
    RelnNode *h;
    One o;

    (void)state;
    one_init(&o, "sp:4", 1, 2);
    h = relu_then_bracket(&o.net, o.x, 256);
    assert_non_null(reln_nn_dense(&o.net, "out", reln_nn_invariant(&o.net, h), 1));
    assert_int_equal(reln_store_parameters(o.f.store), 263170 - 257);
    assert_non_null(reln_nn_invariant_learned(&o.net, "unused", h, 1));
    assert_int_equal(reln_store_parameters(o.f.store), 263170);
    one_clear(&o);
}

static void count_mlp(int inputs, const RelnMlp *mlp, size_t want)
{
    One o;

    one_init(&o, "so:3", 1, 1);
    assert_non_null(reln_nn_mlp(
        &o.net, "mlp",
        reln_input(o.f.graph, "s", RELN_SAMPLES, (RelnDims){.c = inputs}, NULL, RELN_F64), mlp));
    assert_int_equal(reln_store_parameters(o.f.store), want);
    one_clear(&o);
}

static void baselines_have_the_published_counts(void **state)
{
    (void)state;
    count_mlp(288, &(RelnMlp){3, 256, 3, RELN_ACT_RELU}, 206339);
    count_mlp(288, &(RelnMlp){3, 386, 3, RELN_ACT_RELU}, 411479);
    count_mlp(20, &(RelnMlp){3, 256, 1, RELN_ACT_RELU}, 137217);
    count_mlp(12, &(RelnMlp){3, 128, 1, RELN_ACT_SILU}, 34817);
}

/* U(-a, a) with a = 1/sqrt(fan-in): variance a^2/3, here of 65536 numbers to 2 % (5 sigma). */
static void weights_start_uniform_within_the_bound(void **state)
{
    const double a = 1.0 / 16.0;
    double square = 0, most = 0;
    RelnEntryInfo entry;
    One o;

    (void)state;
    one_init(&o, "so:3", 1, 256);
    assert_non_null(reln_nn_linear(&o.net, "l", o.x, 256));
    assert_true(reln_store_find(o.f.store, "l.W", &entry));
    for (size_t i = 0; i < entry.count; i++) {
        const double w = ((const double *)entry.values)[i];

        square += w * w / (double)entry.count;
        most = fmax(most, fabs(w));
    }
    assert_true(most <= a && most > 0.99 * a);
    assert_small(fabs(square / (a * a / 3) - 1), 0.02);
    one_clear(&o);
}

/* ---- hidden symmetries ------------------------------------------------------------------------------------------- */

enum { POINTS = 3, CHANNELS = 4, WIDTH = 8 };

static RelnNode *paper_network(One *o)
{
    RelnNode *h = relu_then_bracket(&o->net, o->x, WIDTH);

    h = reln_nn_relu(&o->net, "three", reln_nn_linear(&o->net, "three", h, WIDTH),
                     &(RelnRelu){.leak = 0.2});
    h = reln_nn_bracket(&o->net, "four", h);
    h = reln_nn_rms(&o->net, "five", h, NULL);
    return reln_nn_invariant(&o->net, reln_nn_pool_max(&o->net, "pool", h, RELN_P, false));
}

static RelnNode *complete_network(One *o)
{
    const RelnFeatures in = {.x = o->x};
    RelnNode *h = reln_nn_affine(&o->net, "one", in, WIDTH, 0).x;

    h = reln_nn_product(&o->net, "two", reln_nn_rms(&o->net, "two", h, NULL));
    h = reln_nn_affine(&o->net, "three", (RelnFeatures){.x = h}, WIDTH, 0).x;
    return reln_nn_invariant(&o->net, reln_nn_pool_mean(&o->net, h, RELN_P));
}

/* sigma: X0 + z -> X0 - z */
static void sigma(const double *x, double *y)
{
    const double trace = x[0] + x[4] + x[8];

    for (int i = 0; i < 9; i++)
        y[i] = x[i] - (i % 4 == 0 ? 2 * trace / 3 : 0);
}

/* theta: X0 + z -> -X0^T + z */
static void theta(const double *x, double *y)
{
    const double trace = x[0] + x[4] + x[8];

    for (int i = 0; i < 9; i++)
        y[i] = -x[i % 3 * 3 + i / 3] + (i % 4 == 0 ? 2 * trace / 3 : 0);
}

/* Largest change of the invariants, relative to the largest of them. */
static double seen(RelnNode *(*network)(One *o), void (*map)(const double *x, double *y))
{
    double before[ONE_SAMPLES * WIDTH], x[9], y[9], *moved, most = 0, change = 0;
    One o;

    one_init(&o, "gl:3", POINTS, CHANNELS);
    memcpy(before, one_run(&o, network(&o)), sizeof before);
    moved = malloc((size_t)o.count * sizeof *moved);
    assert_non_null(moved);
    for (int p = 0; p < ONE_SAMPLES * POINTS; p++)
        for (int c = 0; c < CHANNELS; c++) {
            for (int k = 0; k < 9; k++)
                x[k] = o.values[(p * 9 + k) * CHANNELS + c];
            map(x, y);
            for (int k = 0; k < 9; k++)
                moved[(p * 9 + k) * CHANNELS + c] = y[k];
        }
    assert_ok(o.f.ctx, reln_plan_bind(o.plan, "x", moved, RELN_F64));
    assert_ok(o.f.ctx, reln_plan_run(o.plan, &(RelnRun){.n_samples = ONE_SAMPLES}));
    for (int i = 0; i < ONE_SAMPLES * WIDTH; i++) {
        most = fmax(most, fabs(before[i]));
        change = fmax(change,
                      fabs(((const double *)reln_plan_output(o.plan, "y", NULL))[i] - before[i]));
    }
    free(moved);
    one_clear(&o);
    return change / most;
}

static void the_papers_layers_share_two_hidden_symmetries(void **state)
{
    (void)state;
    assert_small(seen(paper_network, sigma), 1e-12);
    assert_small(seen(paper_network, theta), 1e-12);
}

static void affine_and_product_break_them(void **state)
{
    (void)state;
    assert_true(seen(complete_network, sigma) > 1e-3);
    assert_true(seen(complete_network, theta) > 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_platonic_network_has_331272_parameters),
        cmocka_unit_test(the_sp4_network_has_263170_parameters),
        cmocka_unit_test(baselines_have_the_published_counts),
        cmocka_unit_test(weights_start_uniform_within_the_bound),
        cmocka_unit_test(the_papers_layers_share_two_hidden_symmetries),
        cmocka_unit_test(affine_and_product_break_them),
    };

    return cmocka_run_group_tests_name("nn/models", tests, NULL, NULL);
}
