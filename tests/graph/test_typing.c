/* Tests that a graph which breaks the symmetry is refused, with the reason. */
#include <math.h>
#include <string.h>

#include "graph/fixture.h"

static RelnNode *feature(Fixture *f)
{
    return reln_input(f->graph, "x", RELN_SAMPLES,
                      (RelnDims){.k = reln_rep_dim(f->adjoint), .c = 4}, f->adjoint, RELN_DEFAULT);
}

/* Asserts that the graph has failed with this status and a message of one line that contains the words. */
static void assert_refused(Fixture *f, RelnStatus status, const char *words)
{
    assert_int_equal(reln_graph_status(f->graph), status);
    if (!strstr(reln_ctx_error(f->ctx), words) || strchr(reln_ctx_error(f->ctx), '\n')) {
        print_error("the message is: %s\nwanted in it: %s\n", reln_ctx_error(f->ctx), words);
        fail();
    }
    fixture_clear(f);
}

static void assert_builds(Fixture *f, const RelnNode *node)
{
    assert_ok(f->ctx, reln_graph_status(f->graph));
    assert_non_null(node);
    fixture_clear(f);
}

/* sum_k x_k^2 is the Frobenius norm of a matrix. */
static RelnNode *frobenius(Fixture *f, RelnNode *x)
{
    RelnEntry entries[9];
    const RelnTensor3 t = {9, 9, 1, 9, entries};

    for (int i = 0; i < 9; i++)
        entries[i] = (RelnEntry){i, i, 0, 1.0};
    return reln_contract(f->graph, &t, x, x, reln_rep_trivial(f->group, 1));
}

static void a_frobenius_norm_builds_for_rotations_only(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    assert_null(frobenius(&f, feature(&f)));
    assert_refused(&f, RELN_ERR_REP, "not equivariant under gl:3");
    fixture_init(&f, "gl:3", "so:3", RELN_F64);
    assert_builds(&f, frobenius(&f, feature(&f)));
    fixture_init(&f, "gl:3", "o:3", RELN_F64);
    assert_builds(&f, frobenius(&f, feature(&f)));
}

static void an_elementwise_function_of_a_feature_does_not_build(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    assert_null(reln_tanh(f.graph, feature(&f)));
    assert_refused(&f, RELN_ERR_REP, "tanh: its argument transforms as adjoint(gl:3)");
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    assert_null(reln_relu(f.graph, feature(&f)));
    assert_refused(&f, RELN_ERR_REP, "relu");
    /* the function of an invariant is allowed, and any function in a graph without a symmetry */
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    {
        RelnNode *x = feature(&f);
        assert_builds(&f,
                      reln_tanh(f.graph, reln_form(f.graph, f.algebra, RELN_FORM_COMPLETED, x, x)));
    }
    fixture_init(&f, "gl:3", "none:3", RELN_F64);
    assert_builds(&f, reln_tanh(f.graph, feature(&f)));
}

static void a_bracket_with_one_wrong_constant_does_not_build(void **state)
{
    Fixture f;
    RelnEntry entries[64];
    RelnTensor3 t;

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    t = *reln_algebra_structure(f.algebra);
    assert_true(t.count <= 64);
    memcpy(entries, t.entries, (size_t)t.count * sizeof *entries);
    t.entries = entries;
    {
        RelnNode *x = feature(&f);
        assert_non_null(reln_contract(f.graph, &t, x, x, f.adjoint));
        entries[17].value = -entries[17].value;
        assert_null(reln_contract(f.graph, &t, x, x, f.adjoint));
    }
    assert_refused(&f, RELN_ERR_REP, "generator");
}

static void products_of_two_features_and_mixed_sums_do_not_build(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    {
        RelnNode *x = feature(&f);
        assert_null(reln_mul(f.graph, x, x));
    }
    assert_refused(&f, RELN_ERR_REP, "mul");
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    {
        RelnNode *x = feature(&f);
        assert_null(reln_add(f.graph, x,
                             reln_input(f.graph, "y", RELN_SAMPLES, (RelnDims){.k = 4, .c = 4},
                                        reln_rep_dual(f.adjoint), RELN_DEFAULT)));
    }
    assert_refused(&f, RELN_ERR_REP, "add");
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    assert_null(reln_shift(f.graph, feature(&f), 1.0, 0.5));
    assert_refused(&f, RELN_ERR_REP, "scale");
}

static void constants_must_be_fixed_by_the_group(void **state)
{
    const double identity[4] = {1, 0, 0, 1}, other[4] = {1, 0, 0, 2};
    Fixture f;

    (void)state;
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    assert_builds(&f, reln_const(f.graph, (RelnDims){.k = 4}, f.adjoint, identity));
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    assert_null(reln_const(f.graph, (RelnDims){.k = 4}, f.adjoint, other));
    assert_refused(&f, RELN_ERR_REP, "not fixed by gl:2");
}

static void the_gradient_of_an_invariant_is_coadjoint(void **state)
{
    Fixture f;
    RelnNode *x, *grad = NULL;

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    x = feature(&f);
    assert_true(reln_grad(
        f.graph,
        reln_sum(f.graph, reln_form(f.graph, f.algebra, RELN_FORM_COMPLETED, x, x), RELN_C), 1, &x,
        &grad));
    assert_ptr_equal(reln_node_rep(grad), reln_rep_dual(f.adjoint));
    assert_ptr_not_equal(reln_node_rep(grad), f.adjoint);
    assert_builds(&f, grad);
}

/* y = m x, channel by channel */
static void apply(int k, int c, const double *m, const double *x, double *y)
{
    for (int i = 0; i < k * c; i++) {
        y[i] = 0;
        for (int j = 0; j < k; j++)
            y[i] += m[i / c * k + j] * x[j * c + i % c];
    }
}

static void the_first_error_wins_and_passes_through(void **state)
{
    Fixture f;
    RelnNode *x, *first;

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    x = feature(&f);
    first = reln_tanh(f.graph, x);
    assert_null(reln_exp(f.graph, reln_add(f.graph, first, reln_sin(f.graph, x))));
    assert_null(reln_add(f.graph, x, x));
    assert_refused(&f, RELN_ERR_REP, "tanh");
}

/* Nodes of another graph, and axes other than the five, are refused. */
static void what_belongs_elsewhere_is_refused(void **state)
{
    Fixture f, other;
    RelnNode *stray;

    (void)state;
    fixture_init(&other, "gl:2", "gl:2", RELN_F64);
    for (int i = 0; i < 50; i++)
        stray = reln_scalar(other.graph, i);
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    reln_output(f.graph, "y", stray);
    assert_refused(&f, RELN_ERR_ARG, "output y: the node belongs to another graph");
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    reln_assign(f.graph, reln_state(f.graph, "s", (RelnDims){0}, (RelnInit){0}), stray);
    assert_refused(&f, RELN_ERR_ARG, "assign: state or value belongs to another graph");
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    reln_output(reln_fn_begin(f.graph, "half"), "y", stray);
    assert_refused(&f, RELN_ERR_ARG, "in function half: output y: a function gives its results");
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    assert_null(reln_add(f.graph, reln_scalar(f.graph, 1.0), stray));
    assert_refused(&f, RELN_ERR_ARG, "input 1 belongs to another graph");
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    assert_null(reln_mean(f.graph, reln_scalar(f.graph, 1.0), RELN_AXES));
    assert_refused(&f, RELN_ERR_ARG, "sum: axis 5, wanted RELN_P to RELN_C");
    fixture_clear(&other);
}

/* The gradient of B~(x, x) at g x is the gradient at x, moved by the dual rep of g. */
static void the_gradient_moves_as_a_coadjoint(void **state)
{
    enum { CHANNELS = 4, K = 9 };
    RelnRng rng = reln_rng(5, 0);
    double x[K * CHANNELS], moved[K * CHANNELS], want[K * CHANNELS], ad[K * K], co[K * K];
    RelnElement *element = NULL;
    RelnPlan *plan = NULL;
    RelnNode *in, *s, *grad = NULL;
    Fixture f;

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    in = feature(&f);
    s = reln_form(f.graph, f.algebra, RELN_FORM_COMPLETED, in, in);
    s = reln_sum(f.graph, reln_tanh(f.graph, reln_scale(f.graph, s, 0.1)), RELN_C);
    reln_grad(f.graph, s, 1, &in, &grad);
    reln_output(f.graph, "g", grad);
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    assert_ok(f.ctx, reln_group_random(f.group, &rng, 4.0, &element));
    assert_int_equal(reln_rep_act(f.adjoint, element, ad), RELN_OK);
    assert_int_equal(reln_rep_act(reln_rep_dual(f.adjoint), element, co), RELN_OK);
    fill_normal(&rng, K * CHANNELS, x);
    assert_ok(f.ctx, reln_plan_bind(plan, "x", x, RELN_F64));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 1}));
    apply(K, CHANNELS, co, reln_plan_output(plan, "g", NULL), want);
    apply(K, CHANNELS, ad, x, moved);
    assert_ok(f.ctx, reln_plan_bind(plan, "x", moved, RELN_F64));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 1}));
    /* eps (64 L + 2 cond^3), four layers */
    assert_near(reln_plan_output(plan, "g", NULL), want, K * CHANNELS, 0x1p-52 * (256 + 2 * 64));
    /* the adjoint rep does not give the same result */
    apply(K, CHANNELS, ad, want, moved);
    assert_true(fabs(moved[0] - want[0]) > 1e-3);
    reln_element_destroy(element);
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frobenius_norm_builds_for_rotations_only),
        cmocka_unit_test(an_elementwise_function_of_a_feature_does_not_build),
        cmocka_unit_test(a_bracket_with_one_wrong_constant_does_not_build),
        cmocka_unit_test(products_of_two_features_and_mixed_sums_do_not_build),
        cmocka_unit_test(constants_must_be_fixed_by_the_group),
        cmocka_unit_test(the_gradient_of_an_invariant_is_coadjoint),
        cmocka_unit_test(the_gradient_moves_as_a_coadjoint),
        cmocka_unit_test(the_first_error_wins_and_passes_through),
        cmocka_unit_test(what_belongs_elsewhere_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
