/* Tests the sp(4) task: its data against their definition, and its networks against each other and the
 * published code. */
#include <float.h>
#include <math.h>

#include "tasks/elements.h"
#include "tasks/network.h"
#include "tasks/sp4/sp4.h"

enum { SAMPLES = 12, WIDTH = 16 };

static const Sp4Model both = {
    .kind = SP4_LAYERS, .width = WIDTH, .relu = true, .bracket = true, .form = 6};

/* ---- data --------------------------------------------------------------------------------------------------------- */

static void setting(RelnSetting *s)
{
    assert_ok(s->ctx, reln_setting_init(s, "sp:4", "sp:4", RELN_F64, 1));
}

static void targets_are_those_of_the_published_code(void **state)
{
    RelnSetting s;

    (void)state;
    setting(&s);
    RelnArray x = golden(s.ctx, "sp4_net/x"), code = golden(s.ctx, "sp4_net/y_code"),
              paper = golden(s.ctx, "sp4_net/y_paper");
    for (ptrdiff_t i = 0; i < x.dims[0]; i++) {
        const double *X = x.f64 + i * 2 * SP4_K, *Y = X + SP4_K;
        const double got[2] = {sp4_target(s.algebra, X, Y, SP4_TARGET_CODE),
                               sp4_target(s.algebra, X, Y, SP4_TARGET_PAPER)};
        const double want[2] = {code.f64[i], paper.f64[i]};
        assert_near(got, want, 2, 100 * DBL_EPSILON);
    }
    reln_array_clear(&x);
    reln_array_clear(&code);
    reln_array_clear(&paper);
    reln_setting_clear(&s);
}

static void coordinates_fill_the_interval_and_nothing_else(void **state)
{
    RelnRng rng = reln_rng(1, 1);
    double low = 1, high = -1, mean = 0;
    RelnSetting s;
    Sp4Set set;

    (void)state;
    setting(&s);
    assert_ok(s.ctx, sp4_set_init(&set, s.algebra, &rng, 0.5, 2000, SP4_TARGET_CODE, false));
    for (int i = 0; i < 2000 * 2 * SP4_K; i++) {
        low = fmin(low, set.x[i]);
        high = fmax(high, set.x[i]);
        mean += set.x[i] / (2000 * 2 * SP4_K);
    }
    assert_true(low >= -0.5 && low < -0.499 && high < 0.5 && high > 0.499);
    assert_small(fabs(mean), 5 * sqrt(1.0 / 12 / (2000 * 2 * SP4_K))); /* five sigma */
    sp4_set_clear(&set);
    reln_setting_clear(&s);
}

/* g = exp(h) with sixteen entries of h up to 1/2: |h| <= 2 and cond(g) <= e^4 < 55. An action costs 2 cond^3 roundings. */
static const double acting = 2.0 * 55 * 55 * 55 * DBL_EPSILON;

static void conjugates_are_other_pairs_with_the_same_invariants_and_targets(void **state)
{
    RelnRng rng = reln_rng(1, 2);
    RelnSetting s;
    Sp4Set set;

    (void)state;
    setting(&s);
    assert_ok(s.ctx, sp4_set_init(&set, s.algebra, &rng, 0.5, 2 * SAMPLES, SP4_TARGET_PAPER, true));
    for (int i = 0; i < SAMPLES; i++) {
        assert_near(set.y + SAMPLES + i, set.y + i, 1, acting);
        assert_near(set.words + (SAMPLES + i) * SP4_WORDS, set.words + i * SP4_WORDS, SP4_WORDS,
                    acting);
        assert_true(fabs(set.x[(SAMPLES + i) * 2 * SP4_K] - set.x[i * 2 * SP4_K]) > 1e-6);
    }
    sp4_set_clear(&set);
    reln_setting_clear(&s);
}

/* ---- counts ------------------------------------------------------------------------------------------------------- */

static size_t count(const Sp4Model *model, const char *symmetry)
{
    Network n;
    size_t parameters;

    network_init(&n, symmetry, "sp:4");
    assert_non_null(sp4_network(&n.net, model));
    parameters = reln_store_parameters(n.s.store);
    if (model->kind == SP4_LAYERS) { /* the words have the same ones and no others */
        assert_non_null(sp4_network_words(&n.net, model));
        assert_int_equal(reln_store_parameters(n.s.store), parameters);
    }
    network_clear(&n);
    return parameters;
}

static void networks_have_the_published_numbers_of_parameters(void **state)
{
    Sp4Model m = {.kind = SP4_LAYERS, .width = 256, .relu = true, .bracket = true, .form = 8};

    (void)state;
    assert_int_equal(count(&m, "sp:4"), 263170);
    m.bracket = false;
    assert_int_equal(count(&m, "sp:4"), 66562);
    m.bracket = true, m.relu = false;
    assert_int_equal(count(&m, "sp:4"), 132098);
    m = (Sp4Model){.kind = SP4_MLP, .hidden = 3, .width = 256};
    assert_int_equal(count(&m, "none:4"), 137217);
    m.width = 512;
    assert_int_equal(count(&m, "none:4"), 536577);
}

/* ---- two forms of one function ------------------------------------------------------------------------------------- */

static RelnNode *squared_error(RelnGraph *g, RelnNode *out)
{
    RelnNode *y = reln_input(g, "y", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_DEFAULT);

    return reln_batch_mean(g, reln_square(g, reln_sub(g, out, y)));
}

static void run(RelnCtx *ctx, RelnPlan *plan, const char *input, const double *x, const double *y,
                ptrdiff_t n)
{
    assert_ok(ctx, reln_plan_bind(plan, input, x, RELN_F64));
    assert_ok(ctx, reln_plan_bind(plan, "y", y, RELN_F64));
    assert_ok(ctx, reln_plan_run(plan, &(RelnRun){.n_samples = n}));
}

/* Sums of up to K C terms in a dozen products one after another: a few thousand roundings. */
static const double rounding = 4096 * DBL_EPSILON;

static void compare(const Sp4Model *model)
{
    RelnRng rng = reln_rng(2, 1);
    RelnGraph *g = NULL;
    RelnNet net;
    Network n;
    Sp4Set set;

    network_init(&n, "sp:4", "sp:4");
    assert_ok(n.s.ctx, sp4_set_init(&set, n.s.algebra, &rng, 0.5, SAMPLES, SP4_TARGET_CODE, false));
    network_again(&n, &g, &net);
    RelnNode *plain = sp4_network(&n.net, model), *words = sp4_network_words(&net, model);
    n.plan = network_plan(n.s.graph, plain, squared_error(n.s.graph, plain));
    RelnPlan *other = network_plan(g, words, squared_error(g, words));
    run(n.s.ctx, n.plan, "x", set.x, set.y, SAMPLES);
    run(n.s.ctx, other, "words", set.words, set.y, SAMPLES);
    assert_near(reln_plan_output(other, "out", NULL), reln_plan_output(n.plan, "out", NULL),
                SAMPLES, rounding);
    for (int i = 0; i < reln_store_count(n.s.store); i++) {
        const RelnEntryInfo entry = reln_store_entry(n.s.store, i);
        assert_near(network_grad(other, entry.name), network_grad(n.plan, entry.name),
                    (ptrdiff_t)entry.count, rounding);
    }
    reln_plan_destroy(other);
    reln_graph_destroy(g);
    sp4_set_clear(&set);
    network_clear(&n);
}

static void words_give_the_values_and_gradients_of_the_layers(void **state)
{
    Sp4Model m = both;

    (void)state;
    compare(&m);
    m.form = 8;
    compare(&m);
    m.bracket = false;
    compare(&m);
    m.bracket = true, m.relu = false;
    compare(&m);
}

/* Must fail: without B([X,Y],[X,Y]) it would be another function. */
static void the_word_of_the_bracket_is_seen(void **state)
{
    RelnRng rng = reln_rng(2, 1);
    double before[SAMPLES], y[SAMPLES] = {0}, change = 0;
    Network n;
    Sp4Set set;

    (void)state;
    network_init(&n, "sp:4", "sp:4");
    assert_ok(n.s.ctx, sp4_set_init(&set, n.s.algebra, &rng, 0.5, SAMPLES, SP4_TARGET_CODE, false));
    RelnNode *out = sp4_network_words(&n.net, &both);
    n.plan = network_plan(n.s.graph, out, squared_error(n.s.graph, out));
    run(n.s.ctx, n.plan, "words", set.words, y, SAMPLES);
    memcpy(before, reln_plan_output(n.plan, "out", NULL), sizeof before);
    for (int i = 0; i < SAMPLES; i++)
        set.words[i * SP4_WORDS + 3] = 0;
    run(n.s.ctx, n.plan, "words", set.words, y, SAMPLES);
    for (int i = 0; i < SAMPLES; i++)
        change = fmax(change,
                      fabs(((const double *)reln_plan_output(n.plan, "out", NULL))[i] - before[i]));
    assert_true(change > 1e-6);
    sp4_set_clear(&set);
    network_clear(&n);
}

/* Layers of nn.h on all 4 x 4 matrices, whose completed form is 8 tr(XY) - tr X tr Y, under the symmetry Sp(4). */
static RelnNode *reln_in_gl4(const RelnNet *net)
{
    RelnGraph *g = net->graph;
    RelnNode *x = reln_input(g, "x", RELN_SAMPLES, (RelnDims){.k = 16, .c = 2},
                             reln_rep_adjoint(reln_graph_group(g), net->algebra), RELN_DEFAULT);
    RelnNode *h = reln_nn_relu(net, "one", reln_nn_linear(net, "one", x, WIDTH), NULL);

    h = reln_nn_bracket(net, "two", reln_nn_linear(net, "two", h, WIDTH));
    return reln_nn_dense(net, "out", reln_nn_invariant(net, h), 1);
}

/* (n, K, 2) coordinates to (n, 16, 2) matrices */
static void hats(const RelnAlgebra *sp4, ptrdiff_t n, const double *x, double *out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        for (int c = 0; c < 2; c++) {
            double coordinates[SP4_K], matrix[16];
            for (int k = 0; k < SP4_K; k++)
                coordinates[k] = x[(i * SP4_K + k) * 2 + c];
            reln_algebra_hat(sp4, coordinates, matrix);
            for (int k = 0; k < 16; k++)
                out[(i * 16 + k) * 2 + c] = matrix[k];
        }
}

static void eight_traces_are_the_completed_form_of_gl4(void **state)
{
    static double matrices[SAMPLES * 16 * 2];
    RelnRng rng = reln_rng(2, 3);
    Sp4Model m = both;
    Network n, wide;
    Sp4Set set;

    (void)state;
    m.form = 8;
    network_init(&n, "sp:4", "sp:4");
    network_init(&wide, "sp:4", "gl:4"); /* one seed and the same names: the same weights */
    assert_ok(n.s.ctx, sp4_set_init(&set, n.s.algebra, &rng, 0.5, SAMPLES, SP4_TARGET_CODE, false));
    hats(n.s.algebra, SAMPLES, set.x, matrices);
    RelnNode *a = sp4_network(&n.net, &m), *b = reln_in_gl4(&wide.net);
    n.plan = network_plan(n.s.graph, a, squared_error(n.s.graph, a));
    wide.plan = network_plan(wide.s.graph, b, squared_error(wide.s.graph, b));
    run(n.s.ctx, n.plan, "x", set.x, set.y, SAMPLES);
    run(wide.s.ctx, wide.plan, "x", matrices, set.y, SAMPLES);
    assert_near(reln_plan_output(n.plan, "out", NULL), reln_plan_output(wide.plan, "out", NULL),
                SAMPLES, rounding);
    sp4_set_clear(&set);
    network_clear(&wide);
    network_clear(&n);
}

/* ---- the published code's numbers ----------------------------------------------------------------------------------- */

static const struct {
    const char *parameter, *golden;
} names[] = {{"one.W", "W1"},  {"one.U", "U1"}, {"two.W", "W2"}, {"two.Wa", "Wa"},
             {"two.Wb", "Wb"}, {"out.W", "wf"}, {"out.b", "bf"}};
enum { N_NAMES = sizeof names / sizeof names[0] };

static RelnArray golden_of(RelnCtx *ctx, const char *kind, int i)
{
    char name[64];

    snprintf(name, sizeof name, "sp4_net/%s_%s", kind, names[i].golden);
    return golden(ctx, name);
}

/* The golden inputs are (n, 2, K): their words by way of a set. */
static void words_of_golden(const RelnAlgebra *sp4, const RelnArray *x, double *words)
{
    for (ptrdiff_t i = 0; i < x->dims[0]; i++) {
        const double *X = x->f64 + i * 2 * SP4_K, *Y = X + SP4_K;
        double z[SP4_K];
        reln_algebra_bracket(sp4, X, Y, z);
        words[i * SP4_WORDS] = reln_algebra_form(sp4, X, X);
        words[i * SP4_WORDS + 1] = reln_algebra_form(sp4, X, Y);
        words[i * SP4_WORDS + 2] = reln_algebra_form(sp4, Y, Y);
        words[i * SP4_WORDS + 3] = reln_algebra_form(sp4, z, z);
    }
}

static void words_give_the_published_outputs_and_gradients(void **state)
{
    static double words[32 * SP4_WORDS];
    Network n;

    (void)state;
    network_init(&n, "sp:4", "sp:4");
    RelnNode *out = sp4_network_words(&n.net, &both);
    n.plan = network_plan(n.s.graph, out, squared_error(n.s.graph, out));
    for (int i = 0; i < N_NAMES; i++) {
        RelnArray w = golden_of(n.s.ctx, "init", i);
        set_golden_weights(n.s.store, names[i].parameter, &w);
        reln_array_clear(&w);
    }
    RelnArray x = golden(n.s.ctx, "sp4_net/x"), y = golden(n.s.ctx, "sp4_net/y_code"),
              want = golden(n.s.ctx, "sp4_net/out0");
    words_of_golden(n.s.algebra, &x, words);
    run(n.s.ctx, n.plan, "words", words, y.values, x.dims[0]);
    assert_near(reln_plan_output(n.plan, "out", NULL), want.f64, reln_array_count(&want), rounding);
    for (int i = 0; i < N_NAMES; i++) {
        RelnArray grad = golden_of(n.s.ctx, "grad0", i);
        assert_golden_grad(network_grad(n.plan, names[i].parameter), &grad, rounding);
        reln_array_clear(&grad);
    }
    reln_array_clear(&x);
    reln_array_clear(&y);
    reln_array_clear(&want);
    network_clear(&n);
}

/* ---- invariance ----------------------------------------------------------------------------------------------------- */

/* Largest |f(x) - f(g x)| over a few pairs, relative to the largest |f|. */
static double change_under_action(const Sp4Model *model, const char *symmetry)
{
    double moved[SAMPLES * 2 * SP4_K], ad[SP4_K * SP4_K], before[SAMPLES], size = 0, change = 0;
    RelnRng rng = reln_rng(2, 4);
    Network n;
    Sp4Set set;

    network_init(&n, symmetry, "sp:4");
    assert_ok(n.s.ctx, sp4_set_init(&set, n.s.algebra, &rng, 0.5, SAMPLES, SP4_TARGET_CODE, false));
    RelnNode *out = sp4_network(&n.net, model);
    n.plan = network_plan(n.s.graph, out, squared_error(n.s.graph, out));
    run(n.s.ctx, n.plan, "x", set.x, set.y, SAMPLES);
    memcpy(before, reln_plan_output(n.plan, "out", NULL), sizeof before);
    assert_ok(n.s.ctx, element_action(n.s.algebra, &rng, 0.5, ad));
    element_act(SP4_K, ad, SAMPLES, 2, set.x, moved);
    run(n.s.ctx, n.plan, "x", moved, set.y, SAMPLES);
    for (int i = 0; i < SAMPLES; i++) {
        const double now = ((const double *)reln_plan_output(n.plan, "out", NULL))[i];
        change = fmax(change, fabs(now - before[i]));
        size = fmax(size, fabs(before[i]));
    }
    sp4_set_clear(&set);
    network_clear(&n);
    return change / size;
}

static void equivariant_networks_do_not_see_the_action_and_an_mlp_does(void **state)
{
    const Sp4Model best = {
        .kind = SP4_BEST, .hidden = 3, .activation = RELN_ACT_SILU, .width = WIDTH, .channels = 8};
    const Sp4Model traces = {
        .kind = SP4_INVARIANTS, .hidden = 3, .activation = RELN_ACT_SILU, .width = WIDTH};
    const Sp4Model mlp = {.kind = SP4_MLP, .hidden = 3, .width = WIDTH};

    (void)state;
    assert_small(change_under_action(&both, "sp:4"), acting);
    assert_small(change_under_action(&traces, "sp:4"), acting);
    assert_small(change_under_action(&best, "sp:4"), acting);
    assert_true(change_under_action(&mlp, "none:4") > 1e-3);
}

/* Must fail: an MLP of coordinates promises an invariance that it has not. */
static void an_mlp_is_refused_under_the_symmetry(void **state)
{
    const Sp4Model mlp = {.kind = SP4_MLP, .hidden = 3, .width = WIDTH};
    Network n;

    (void)state;
    network_init(&n, "sp:4", "sp:4");
    assert_null(sp4_network(&n.net, &mlp));
    assert_int_equal(reln_graph_status(n.s.graph), RELN_ERR_REP);
    network_clear(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_are_those_of_the_published_code),
        cmocka_unit_test(coordinates_fill_the_interval_and_nothing_else),
        cmocka_unit_test(conjugates_are_other_pairs_with_the_same_invariants_and_targets),
        cmocka_unit_test(networks_have_the_published_numbers_of_parameters),
        cmocka_unit_test(words_give_the_values_and_gradients_of_the_layers),
        cmocka_unit_test(the_word_of_the_bracket_is_seen),
        cmocka_unit_test(eight_traces_are_the_completed_form_of_gl4),
        cmocka_unit_test(words_give_the_published_outputs_and_gradients),
        cmocka_unit_test(equivariant_networks_do_not_see_the_action_and_an_mlp_does),
        cmocka_unit_test(an_mlp_is_refused_under_the_symmetry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
