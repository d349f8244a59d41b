/* Tests layers on reps with a default form: values, derivatives of both orders, light-like vectors, refusals. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fixture.h"
#include "reln/lift.h"

enum { S = 6, P = 3, K = 4, C = 2, EACH = P * K * C, COUNT = S * EACH };

/* Four-vectors of a group, their graph, and a net without an algebra. */
typedef struct Four {
    Fixture f;
    RelnNet net;
    RelnNode *x;
    RelnPlan *plan;
} Four;

static void four_init(Four *o, const char *group, RelnDtype dtype)
{
    memset(o, 0, sizeof *o);
    fixture_init(&o->f, "gl:4", group, dtype);
    o->net = (RelnNet){.graph = o->f.graph, .train = true};
    o->x = reln_input(o->f.graph, "x", RELN_SAMPLES, (RelnDims){.p = P, .k = K, .c = C},
                      reln_rep_vector(o->f.group), dtype);
    assert_non_null(o->x);
}

static void four_clear(Four *o)
{
    reln_plan_destroy(o->plan);
    fixture_clear(&o->f);
}

static void four_plan(Four *o)
{
    assert_ok(o->f.ctx, reln_graph_status(o->f.graph));
    assert_ok(o->f.ctx, reln_plan_create(o->f.graph, NULL, &o->plan));
}

/* ---- numbers ------------------------------------------------------------------------------------------------------- */

static void four_vectors_have_minkowskis_form(void **state)
{
    RelnRng rng = reln_rng(3, 0);
    double x[COUNT];
    const double *q, *low;
    Four o;

    (void)state;
    four_init(&o, "lorentz", RELN_F64);
    reln_output(o.f.graph, "q", reln_nn_invariant(&o.net, o.x));
    reln_output(o.f.graph, "low", reln_nn_lower(&o.net, o.x));
    four_plan(&o);
    fill_normal(&rng, COUNT, x);
    assert_ok(o.f.ctx, reln_plan_bind(o.plan, "x", x, RELN_F64));
    assert_ok(o.f.ctx, reln_plan_run(o.plan, &(RelnRun){.n_samples = S}));
    q = reln_plan_output(o.plan, "q", NULL);
    low = reln_plan_output(o.plan, "low", NULL);
    for (int p = 0; p < S * P; p++)
        for (int c = 0; c < C; c++) {
            double want = 0;

            for (int k = 0; k < K; k++) {
                const int at = (p * K + k) * C + c;

                want += reln_metric_mostly_plus[k] * x[at] * x[at];
                assert_true(low[at] == reln_metric_mostly_plus[k] * x[at]);
            }
            assert_true(fabs(q[p * C + c] - want) < 16 * DBL_EPSILON);
        }
    four_clear(&o);
}

/* ---- the layers that need a form, one by one ----------------------------------------------------------------------- */

typedef RelnNode *Build(const RelnNet *net, RelnNode *x);

static RelnNode *relu(const RelnNet *net, RelnNode *x)
{
    return reln_nn_relu(net, "l", x, NULL);
}

static RelnNode *rms(const RelnNet *net, RelnNode *x)
{
    return reln_nn_rms(net, "l", x, &(RelnRms){false, 1e-6, RELN_ACT_TANH});
}

static RelnNode *project(const RelnNet *net, RelnNode *x)
{
    return reln_nn_project(net, "l", x, NULL);
}

static RelnNode *project_strictly(const RelnNet *net, RelnNode *x)
{
    return reln_nn_project(net, "l", x, &(RelnProject){.delta = 0, .clip = HUGE_VAL});
}

static RelnNode *gate(const RelnNet *net, RelnNode *x)
{
    return reln_nn_gate(net, "l", x, NULL, 5);
}

static RelnNode *learned(const RelnNet *net, RelnNode *x)
{
    return reln_nn_invariant_learned(net, "l", x, 3);
}

static RelnNode *pool_max(const RelnNet *net, RelnNode *x)
{
    return reln_nn_pool_max(net, "l", x, RELN_P, false);
}

static RelnNode *pool_softmax(const RelnNet *net, RelnNode *x)
{
    return reln_nn_pool_softmax(net, "l", x, RELN_P);
}

static RelnNode *attention(const RelnNet *net, RelnNode *x)
{
    return reln_nn_attention(net, "l", (RelnFeatures){.x = x}, 2).x;
}

static RelnNode *layer_norm(const RelnNet *net, RelnNode *x)
{
    return reln_nn_layer_norm(net, "l", x);
}

static RelnNode *batch_norm(const RelnNet *net, RelnNode *x)
{
    return reln_nn_batch_norm(net, "l", x, RELN_NORM_INVARIANT);
}

static RelnNode *published_norm(const RelnNet *net, RelnNode *x)
{
    return reln_nn_batch_norm(net, "l", x, RELN_NORM_PUBLISHED);
}

static RelnNode *rms_norm(const RelnNet *net, RelnNode *x)
{
    return reln_nn_rms_norm(net, "l", x);
}

/* Joins both parts of the features as invariants. */
static RelnNode *both(const RelnNet *net, RelnFeatures y)
{
    return reln_concat(net->graph, 2, (RelnNode *[]){reln_nn_invariant(net, y.x), y.s}, RELN_C);
}

static RelnFeatures with_invariants(const RelnNet *net, RelnNode *x)
{
    return (RelnFeatures){x, reln_nn_invariant(net, x)};
}

static RelnNode *conv_block(const RelnNet *net, RelnNode *x)
{
    return both(net, reln_nn_conv_block(net, "l", with_invariants(net, x),
                                        &(RelnConvBlock){.stride = 2,
                                                         .channels = 3,
                                                         .norm = RELN_BLOCK_BATCH_NORM,
                                                         .activation = RELN_ACT_TANH}));
}

static RelnNode *transformer(const RelnNet *net, RelnNode *x)
{
    RelnNode *small = reln_scale(net->graph, x, 0.5); /* a softmax of large scores is steep */

    return both(net,
                reln_nn_transformer(net, "t", with_invariants(net, small),
                                    &(RelnTransformer){.heads = 2, .activation = RELN_ACT_TANH}));
}

static RelnNode *invariant_norms(const RelnNet *net, RelnNode *x)
{
    RelnNode *s = reln_nn_dense(net, "d", reln_nn_invariant(net, x), 4);

    return reln_nn_layer_norm_invariants(net, "m",
                                         reln_nn_batch_norm_invariants(net, "k", s, NULL));
}

static RelnNode *pool_weighted(const RelnNet *net, RelnNode *x)
{
    RelnNode *weights = reln_sigmoid(net->graph, reln_nn_invariant(net, x));

    return reln_nn_pool_weighted(net, x, weights, RELN_P);
}

static const struct {
    const char *name;
    Build *build;
    bool kinks; /* where a choice or a sign changes, differences see both sides */
} layers[] = {
    {"relu", relu, true},
    {"rms", rms, false},
    {"project", project, true},
    {"project strictly", project_strictly, true},
    {"gate", gate, false},
    {"invariant learned", learned, true},
    {"pool max", pool_max, true},
    {"pool softmax", pool_softmax, false},
    {"attention", attention, false},
    {"layer norm", layer_norm, false},
    {"batch norm", batch_norm, false},
    {"published norm", published_norm, true},
    {"rms norm", rms_norm, false},
    {"conv block", conv_block, false},
    {"transformer", transformer, false},
    {"norms of invariants", invariant_norms, false},
    {"pool weighted", pool_weighted, false},
};
enum { N_LAYERS = sizeof layers / sizeof *layers };

/* L = sum of tanh of the invariants of y, its gradient G, and H = the gradient of <G, v>: the Hessian
 * times v, an input. */
static void add_derivatives(Four *o, Build *build)
{
    RelnGraph *g = o->f.graph;
    RelnNode *y = build(&o->net, o->x), *grad = NULL, *hessian = NULL, *loss, *v;

    v = reln_input(g, "v", RELN_SAMPLES, (RelnDims){.p = P, .k = K, .c = C},
                   reln_rep_vector(o->f.group), RELN_DEFAULT);
    if (y && !reln_rep_is_trivial(reln_node_rep(y)))
        y = reln_nn_invariant(&o->net, y);
    loss = reln_sum_all(g, reln_tanh(g, y));
    assert_true(reln_grad(g, loss, 1, &o->x, &grad));
    assert_true(reln_grad(g, reln_sum_all(g, reln_pair(g, grad, v)), 1, &o->x, &hessian));
    reln_output(g, "loss", reln_batch_sum(g, loss));
    reln_output(g, "grad", grad);
    reln_output(g, "hessian", hessian);
    four_plan(o);
}

static void run(Four *o, const void *x, const void *v, RelnDtype dtype)
{
    assert_ok(o->f.ctx, reln_plan_bind(o->plan, "x", x, dtype));
    assert_ok(o->f.ctx, reln_plan_bind(o->plan, "v", v, dtype));
    assert_ok(o->f.ctx, reln_plan_run(o->plan, &(RelnRun){.n_samples = S}));
}

static double loss_at(Four *o, const double *x, const double *v, double t, double *moved)
{
    for (int i = 0; i < COUNT; i++)
        moved[i] = x[i] + t * v[i];
    run(o, moved, v, RELN_F64);
    return *(const double *)reln_plan_output(o->plan, "loss", NULL);
}

/* Along v, L' = <G, v> and L'' = <H, v>. Differences of five points with step h are off by h^4 times a
 * derivative of order 5 (6), and by the rounding of L divided by h (h^2). All draws of smooth layers must
 * agree, and of other layers most draws: those without a kink nearby. */
static void derivatives_of_both_orders_are_those_of_differences(void **state)
{
    const double h = 1e-3;
    double x[COUNT], v[COUNT], moved[COUNT];

    (void)state;
    for (int l = 0; l < N_LAYERS; l++) {
        RelnRng rng = reln_rng(5, (uint64_t)l);
        int good = 0;
        Four o;

        four_init(&o, "lorentz", RELN_F64);
        add_derivatives(&o, layers[l].build);
        for (int draw = 0; draw < 10; draw++) {
            double f[5], first = 0, second = 0, d1, d2;

            fill_normal(&rng, COUNT, x);
            fill_normal(&rng, COUNT, v);
            for (int i = 0; i < COUNT; i++)
                v[i] *= 0.1;
            for (int t = 0; t < 5; t++)
                f[t] = loss_at(&o, x, v, (t - 2) * h, moved);
            run(&o, x, v, RELN_F64);
            for (int i = 0; i < COUNT; i++) {
                first += ((const double *)reln_plan_output(o.plan, "grad", NULL))[i] * v[i];
                second += ((const double *)reln_plan_output(o.plan, "hessian", NULL))[i] * v[i];
            }
            d1 = (f[0] - 8 * f[1] + 8 * f[3] - f[4]) / (12 * h);
            d2 = (-f[0] + 16 * f[1] - 30 * f[2] + 16 * f[3] - f[4]) / (12 * h * h);
            good += fabs(d1 - first) < 1e-6 * (1 + fabs(first)) &&
                    fabs(d2 - second) < 1e-5 * (1 + fabs(second));
        }
        if (good < (layers[l].kinks ? 6 : 10))
            fail_msg("%s: %d of 10 draws have the derivatives of differences", layers[l].name,
                     good);
        four_clear(&o);
    }
}

/* ---- light-like vectors -------------------------------------------------------------------------------------------- */

/* Fills samples with 0; multiples of one light-like vector, whose forms are exactly 0; light-like vectors of
 * different directions; very small vectors of the second kind; vectors of the second kind with rounding
 * errors; and a light-like vector beside one that is not. */
static void fill_null(double *x, double *v)
{
    static const double rays[3][4] = {{5, 3, 0, 4}, {13, 5, 12, 0}, {3, 2, 2, -1}};
    RelnRng rng = reln_rng(9, 0);

    fill_normal(&rng, COUNT, v);
    for (int i = 0; i < COUNT; i++) {
        const int s = i / EACH, p = i / (K * C) % P, k = i / C % K, c = i % C;
        const double factor = 1 + p - 3 * c, *ray = rays[s == 2 ? (p + c) % 3 : 0];

        x[i] = s == 0 ? 0 : factor * ray[k];
        if (s == 3)
            x[i] *= 1e-12;
        if (s == 4)
            x[i] *= 1 + DBL_EPSILON * ((i * 7) % 5 - 2);
        if (s == 5 && c == 0)
            x[i] = k == 0 ? 2 : 0.5;
    }
}

static void expect_finite(Four *o, const char *layer, const char *name, RelnDtype dtype)
{
    const void *values = reln_plan_output(o->plan, name, NULL);

    for (int i = 0; i < (strcmp(name, "loss") == 0 ? 1 : COUNT); i++) {
        const double value =
            dtype == RELN_F64 ? ((const double *)values)[i] : (double)((const float *)values)[i];

        if (!isfinite(value))
            fail_msg("%s: number %d of the %s is %g in %s", layer, i, name, value,
                     dtype == RELN_F64 ? "f64" : "f32");
    }
}

static void derivatives_are_finite_at_light_like_vectors(void **state)
{
    double x[COUNT], v[COUNT];
    float fx[COUNT], fv[COUNT];

    (void)state;
    fill_null(x, v);
    for (int i = 0; i < COUNT; i++) {
        fx[i] = (float)x[i];
        fv[i] = (float)v[i];
    }
    for (int l = 0; l < 2 * N_LAYERS; l++) {
        const RelnDtype dtype = l % 2 ? RELN_F32 : RELN_F64;
        const char *name = layers[l / 2].name;
        Four o;

        four_init(&o, "lorentz", dtype);
        add_derivatives(&o, layers[l / 2].build);
        run(&o, dtype == RELN_F64 ? (const void *)x : fx, dtype == RELN_F64 ? (const void *)v : fv,
            dtype);
        expect_finite(&o, name, "loss", dtype);
        expect_finite(&o, name, "grad", dtype);
        expect_finite(&o, name, "hessian", dtype);
        four_clear(&o);
    }
}

/* The form of a massless particle is a rounding error of size u |p|^2 = 1e-14. Gates keep its effect as
 * small: eps^2 bounds r, and eps bounds t / M. So vectors move with the particle, not by a quotient of
 * rounding errors. */
static void gates_do_not_follow_the_rounding_of_light_like_vectors(void **state)
{
    static Build *const gates[] = {rms, project, relu};
    double x[COUNT], v[COUNT];

    (void)state;
    fill_null(x, v);
    for (int l = 0; l < 3; l++) {
        const double *y;
        Four o;

        four_init(&o, "lorentz", RELN_F64);
        reln_output(o.f.graph, "y", gates[l](&o.net, o.x));
        four_plan(&o);
        assert_ok(o.f.ctx, reln_plan_bind(o.plan, "x", x, RELN_F64));
        assert_ok(o.f.ctx, reln_plan_run(o.plan, &(RelnRun){.n_samples = S}));
        y = reln_plan_output(o.plan, "y", NULL);
        for (int i = 4 * EACH; i < 5 * EACH; i++) /* |x| < 100, so forms below 100^2 u 16 */
            assert_true(fabs(y[i] - x[i]) < 16 * 1e4 * DBL_EPSILON / 1e-6 * 100);
        four_clear(&o);
    }
}

/* ---- several reps in one net --------------------------------------------------------------------------------------- */

/* In one net, elements of so(1,3) use the form of the algebra, and four-vectors use their default form. */
static void a_net_with_an_algebra_takes_vectors_too(void **state)
{
    const RelnRep *adjoint;
    RelnNode *f;
    Four o;

    (void)state;
    memset(&o, 0, sizeof o);
    fixture_init(&o.f, "so:1,3", "so:1,3", RELN_F64);
    o.net = (RelnNet){.graph = o.f.graph, .algebra = o.f.algebra};
    adjoint = o.f.adjoint;
    o.x = reln_input(o.f.graph, "x", RELN_SAMPLES, (RelnDims){.k = 4, .c = 2},
                     reln_rep_vector(o.f.group), RELN_F64);
    f = reln_input(o.f.graph, "F", RELN_SAMPLES, (RelnDims){.k = 6, .c = 2}, adjoint, RELN_F64);
    assert_non_null(reln_nn_bracket(&o.net, "b", f));
    assert_ptr_equal(reln_nn_invariant(&o.net, f),
                     reln_form(o.f.graph, o.f.algebra, RELN_FORM_COMPLETED, f, f));
    assert_non_null(reln_nn_gate(&o.net, "g", o.x, reln_nn_invariant(&o.net, f), 3));
    assert_non_null(reln_nn_rms(&o.net, "r", o.x, NULL));
    assert_ok(o.f.ctx, reln_graph_status(o.f.graph));
    four_clear(&o);
}

/* (p, q) with B = 2 p.p + 3 q.q, one of three forms. */
static void a_form_is_chosen_where_there_are_several(void **state)
{
    double values[64] = {0}, x[S * 8], unused[COUNT] = {0};
    const RelnRep *both;
    const double *q;
    RelnRng rng = reln_rng(4, 0);
    RelnRepForm choice;
    Four o;

    (void)state;
    four_init(&o, "lorentz", RELN_F64);
    both = reln_rep_sum(reln_rep_vector(o.f.group), reln_rep_vector(o.f.group));
    o.x = reln_input(o.f.graph, "xx", RELN_SAMPLES, (RelnDims){.k = 8}, both, RELN_F64);
    for (int k = 0; k < 8; k++)
        values[k * 9] = (k < 4 ? 2 : 3) * reln_metric_mostly_plus[k % 4];
    choice = (RelnRepForm){both, values};
    o.net.forms = &choice;
    o.net.n_forms = 1;
    reln_output(o.f.graph, "q", reln_nn_invariant(&o.net, o.x));
    reln_output(o.f.graph, "y", reln_nn_project(&o.net, "p", o.x, NULL));
    four_plan(&o);
    fill_normal(&rng, S * 8, x);
    assert_ok(o.f.ctx, reln_plan_bind(o.plan, "x", unused, RELN_F64));
    assert_ok(o.f.ctx, reln_plan_bind(o.plan, "xx", x, RELN_F64));
    assert_ok(o.f.ctx, reln_plan_run(o.plan, &(RelnRun){.n_samples = S}));
    q = reln_plan_output(o.plan, "q", NULL);
    for (int s = 0; s < S; s++) {
        double want = 0;

        for (int k = 0; k < 8; k++)
            want += values[k * 9] * x[s * 8 + k] * x[s * 8 + k];
        assert_true(fabs(q[s] - want) < 100 * DBL_EPSILON);
    }
    four_clear(&o);
}

/* ---- refusals ------------------------------------------------------------------------------------------------------ */

static void expect(Four *o, const RelnNode *y, RelnStatus status, const char *words)
{
    assert_null(y);
    assert_int_equal(reln_graph_status(o->f.graph), status);
    if (!strstr(reln_ctx_error(o->f.ctx), words))
        fail_msg("the message is \"%s\", wanted \"%s\" in it", reln_ctx_error(o->f.ctx), words);
    four_clear(o);
}

static void what_has_no_form_is_refused(void **state)
{
    static const double euclid[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    static const double skew[16] = {0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0};
    static const double symplectic[16] = {0, 0, 1, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, -1, 0, 0};
    RelnRepForm choice;
    Four o;

    (void)state;
    for (int l = 0; l < N_LAYERS; l++) {
        four_init(&o, "gl:4", RELN_F64);
        expect(
            &o, layers[l].build(&o.net, o.x), RELN_ERR_REP,
            "form: vector of gl:4 has 0 symmetric invariant forms (and 0 antisymmetric), not one "
            "up to a factor; wanted one in the net's forms");
    }
    four_init(&o, "sp:4", RELN_F64);
    expect(&o, relu(&o.net, o.x), RELN_ERR_REP, "(and 1 antisymmetric)");
    four_init(&o, "lorentz", RELN_F64);
    o.x = reln_input(o.f.graph, "xx", RELN_SAMPLES, (RelnDims){.k = 8},
                     reln_rep_sum(reln_node_rep(o.x), reln_node_rep(o.x)), RELN_F64);
    expect(&o, relu(&o.net, o.x), RELN_ERR_REP, "has 3 symmetric invariant forms");
    four_init(&o, "sp:4", RELN_F64); /* the invariant form is antisymmetric, so B(x, x) = 0 */
    choice = (RelnRepForm){reln_node_rep(o.x), symplectic};
    o.net.forms = &choice;
    o.net.n_forms = 1;
    expect(&o, relu(&o.net, o.x), RELN_ERR_ARG, "is not symmetric");
    four_init(&o, "lorentz", RELN_F64);
    choice = (RelnRepForm){reln_node_rep(o.x), skew};
    o.net.forms = &choice;
    o.net.n_forms = 1;
    expect(&o, relu(&o.net, o.x), RELN_ERR_ARG, "is not symmetric");
    four_init(&o, "lorentz", RELN_F64); /* this form is not invariant under boosts */
    choice = (RelnRepForm){reln_node_rep(o.x), euclid};
    o.net.forms = &choice;
    o.net.n_forms = 1;
    expect(&o, relu(&o.net, o.x), RELN_ERR_REP, "is not equivariant under lorentz");
}

static RelnStatus build_all(RelnCtx *ctx)
{
    Fixture f;
    RelnStatus status = fixture_build(&f, ctx, "gl:2", "so:1,1", RELN_F64);
    const RelnRep *v = status == RELN_OK ? reln_rep_vector(f.group) : NULL;

    if (status == RELN_OK) {
        const RelnNet net = {.graph = f.graph, .train = true};
        RelnNode *x =
            reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.p = 2, .k = 2, .c = 2}, v, RELN_F64);

        for (int l = 0; l < N_LAYERS; l++)
            if (layers[l].build != learned) /* its U has another shape */
                layers[l].build(&net, x);
        status = v ? reln_graph_status(f.graph) : RELN_ERR_NOMEM;
    }
    fixture_release(&f);
    return status;
}

static void a_failing_allocation_leaks_nothing(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(build_all) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_vectors_have_minkowskis_form),
        cmocka_unit_test(derivatives_of_both_orders_are_those_of_differences),
        cmocka_unit_test(derivatives_are_finite_at_light_like_vectors),
        cmocka_unit_test(gates_do_not_follow_the_rounding_of_light_like_vectors),
        cmocka_unit_test(a_net_with_an_algebra_takes_vectors_too),
        cmocka_unit_test(a_form_is_chosen_where_there_are_several),
        cmocka_unit_test(what_has_no_form_is_refused),
        cmocka_unit_test(a_failing_allocation_leaks_nothing),
    };

    return cmocka_run_group_tests_name("nn/vectors", tests, NULL, NULL);
}
