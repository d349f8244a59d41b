/* Compares layers with their formulas, point by point. */
#include <math.h>

#include "nn/one.h"
#include "tensor/linalg.h"

enum { P = 3, C = 4, MAX_K = 16 };
#define TOL 1e-12

static const double *gram_of(const One *o, RelnForm form)
{
    const double *gram = NULL;

    assert_ok(o->f.ctx, reln_algebra_gram(o->f.algebra, form, &gram));
    return gram;
}

/* ---- gates ----------------------------------------------------------------------------------------------------- */

/* x - <x,d>/<d,d> d where <x,d> < 0 */
static void vn_relu(const double *x, const double *d, const double *gram, double *y)
{
    for (int c = 0; c < C; c++) {
        const double t = one_form(3, gram, C, C, x + c, d + c);
        const double q = one_form(3, gram, C, C, d + c, d + c);

        for (int k = 0; k < 3; k++)
            y[k * C + c] = x[k * C + c] - (t < 0 ? t / q * d[k * C + c] : 0);
    }
}

static void compare_vn(One *o, const double *gram)
{
    const double *y = one_run(
        o, reln_nn_project(&o->net, "gate", o->x, &(RelnProject){.delta = 0, .clip = HUGE_VAL}));
    const double *u = one_parameter(o, "gate.U");
    double d[3 * C], want[3 * C];

    for (int p = 0; p < ONE_SAMPLES * P; p++) {
        one_mix(3, C, C, o->values + p * 3 * C, u, d);
        vn_relu(o->values + p * 3 * C, d, gram, want);
        assert_near(y + p * 3 * C, want, (ptrdiff_t)3 * C, TOL);
    }
}

static void project_on_vectors_is_the_relu_of_vector_neurons(void **state)
{
    One o;

    (void)state;
    one_init_vectors(&o, P, C);
    compare_vn(&o, NULL);
    one_clear(&o);
}

static void project_on_so3_with_its_definite_form_is_too(void **state)
{
    One o;

    (void)state;
    one_init(&o, "so:3", P, C);
    o.net.form = RELN_FORM_DEFINITE;
    compare_vn(&o, gram_of(&o, RELN_FORM_DEFINITE));
    one_clear(&o);
}

/* t, B(x,x), B(d,d) of every channel */
typedef struct Numbers {
    double t[C], x[C], d[C];
} Numbers;

static Numbers numbers_of(int k, const double *gram, const double *x, const double *d)
{
    Numbers n;

    for (int c = 0; c < C; c++) {
        n.t[c] = one_form(k, gram, C, C, x + c, d + c);
        n.x[c] = one_form(k, gram, C, C, x + c, x + c);
        n.d[c] = one_form(k, gram, C, C, d + c, d + c);
    }
    return n;
}

static double rms_amount(const Numbers *n, int c)
{
    double square = 1e-12;

    for (int i = 0; i < C; i++)
        square += (n->t[i] * n->t[i] + n->x[i] * n->x[i] + n->d[i] * n->d[i]) / C;
    return fmax(0, n->t[c]) / sqrt(square);
}

static double project_amount(const Numbers *n, int c)
{
    double mean = 0, r;

    for (int i = 0; i < C; i++)
        mean += n->d[i] * n->d[i] / C;
    r = n->t[c] * n->d[c] / (n->d[c] * n->d[c] + 0.01 * mean + 1e-12);
    return -fmax(-4, fmin(0, r));
}

static void compare_gate(One *o, RelnNode *node, double (*amount)(const Numbers *n, int c))
{
    const double *y = one_run(o, node), *gram = gram_of(o, RELN_FORM_COMPLETED);
    double d[9 * C], want[9 * C];

    for (int p = 0; p < ONE_SAMPLES * P; p++) {
        const double *x = o->values + p * 9 * C;
        Numbers n;

        one_mix(9, C, C, x, one_parameter(o, "gate.U"), d);
        n = numbers_of(9, gram, x, d);
        for (int i = 0; i < 9 * C; i++)
            want[i] = x[i] + amount(&n, i % C) * d[i];
        assert_near(y + p * 9 * C, want, (ptrdiff_t)9 * C, TOL);
    }
}

static void rms_and_project_follow_their_formulas(void **state)
{
    One o;

    (void)state;
    one_init(&o, "gl:3", P, C);
    compare_gate(&o, reln_nn_rms(&o.net, "gate", o.x, NULL), rms_amount);
    one_clear(&o);
    one_init(&o, "gl:3", P, C);
    compare_gate(&o, reln_nn_project(&o.net, "gate", o.x, NULL), project_amount);
    one_clear(&o);
}

/* Nilpotent elements have t = q = 0: neither values nor gradients may become infinite there. */
static void gates_are_finite_on_null_elements(void **state)
{
    RelnNode *y, *loss, *grad;
    const double *values;
    One o;

    (void)state;
    one_init(&o, "gl:2", 1, 1);
    memset(o.values, 0, (size_t)o.count * sizeof *o.values);
    for (int s = 0; s < ONE_SAMPLES; s++)
        o.values[s * 4 + 1] = s; /* multiples of e_12, and 0 */
    y = reln_nn_rms(&o.net, "rms", o.x, NULL);
    y = reln_nn_project(&o.net, "project", y, &(RelnProject){.delta = 0.1, .clip = 4});
    y = reln_nn_batch_norm(&o.net, "norm", y, RELN_NORM_INVARIANT);
    loss = reln_batch_sum(o.f.graph, reln_nn_form(&o.net, y, y));
    assert_true(reln_grad(o.f.graph, loss, 1, &o.x, &grad));
    reln_output(o.f.graph, "grad", grad);
    values = one_run(&o, y);
    for (int i = 0; i < ONE_SAMPLES * 4; i++)
        assert_true(isfinite(values[i]) &&
                    isfinite(((const double *)reln_plan_output(o.plan, "grad", NULL))[i]));
    one_clear(&o);
}

static void a_scalar_gate_scales_each_channel(void **state)
{
    const double *y;
    One o;

    (void)state;
    one_init(&o, "so:3", P, C);
    y = one_run(&o, reln_nn_gate(&o.net, "gate", o.x, NULL, 7));
    for (int p = 0; p < ONE_SAMPLES * P; p++)
        for (int c = 0; c < C; c++) {
            const double *x = o.values + p * 3 * C + c, *z = y + p * 3 * C + c;

            assert_true(z[0] / x[0] > 0 && z[0] / x[0] < 1);
            assert_true(fabs(z[C] / x[C] - z[0] / x[0]) < TOL);
            assert_true(fabs(z[2 * C] / x[2 * C] - z[0] / x[0]) < TOL);
        }
    one_clear(&o);
}

/* ---- products -------------------------------------------------------------------------------------------------- */

typedef struct Mats {
    int n;
    double a[MAX_K], b[MAX_K], c[MAX_K];
} Mats;

static void channel_hat(const One *o, int channel, const double *x, double *matrix)
{
    double column[MAX_K];

    for (int k = 0; k < reln_algebra_dim(o->f.algebra); k++)
        column[k] = x[k * C + channel];
    reln_algebra_hat(o->f.algebra, column, matrix);
}

static void product(const Mats *m, double *z)
{
    reln_mat_mul(m->n, m->n, m->n, m->a, m->b, z);
}

static void jordan(const Mats *m, double *z)
{
    double ba[MAX_K];

    reln_mat_mul(m->n, m->n, m->n, m->a, m->b, z);
    reln_mat_mul(m->n, m->n, m->n, m->b, m->a, ba);
    for (int i = 0; i < m->n * m->n; i++)
        z[i] = (z[i] + ba[i]) / 2;
}

static void triple(const Mats *m, double *z)
{
    const int n = m->n;
    double t[MAX_K], other[MAX_K];

    reln_mat_mul(n, n, n, m->a, m->b, t);
    reln_mat_mul(n, n, n, t, m->c, z);
    reln_mat_mul(n, n, n, m->c, m->b, t);
    reln_mat_mul(n, n, n, t, m->a, other);
    for (int i = 0; i < n * n; i++)
        z[i] += other[i];
}

typedef struct ProductCase {
    const char *algebra;
    RelnNode *(*layer)(const RelnNet *net, const char *name, RelnNode *x);
    void (*formula)(const Mats *m, double *z);
} ProductCase;

static void compare_product(const ProductCase *of)
{
    double w[3][MAX_K * C], z[MAX_K], back[MAX_K];
    const double *y;
    Mats m;
    One o;
    int k;

    one_init(&o, of->algebra, P, C);
    k = reln_algebra_dim(o.f.algebra);
    m.n = reln_algebra_n(o.f.algebra);
    y = one_run(&o, of->layer(&o.net, "p", o.x));
    for (int p = 0; p < ONE_SAMPLES * P; p++) {
        const double *x = o.values + p * k * C;

        one_mix(k, C, C, x, one_parameter(&o, "p.Wa"), w[0]);
        one_mix(k, C, C, x, one_parameter(&o, "p.Wb"), w[1]);
        one_mix(k, C, C, x, one_parameter(&o, of->formula == triple ? "p.Wc" : "p.Wb"), w[2]);
        for (int c = 0; c < C; c++) {
            channel_hat(&o, c, w[0], m.a);
            channel_hat(&o, c, w[1], m.b);
            channel_hat(&o, c, w[2], m.c);
            of->formula(&m, z);
            assert_true(reln_algebra_vee(o.f.algebra, z, back) < 1e-12);
            for (int i = 0; i < k; i++)
                back[i] -= y[(p * k + i) * C + c] - x[i * C + c];
            assert_small(reln_mat_norm(k, back),
                         TOL * (1 + reln_mat_norm((ptrdiff_t)m.n * m.n, z)));
        }
    }
    one_clear(&o);
}

static void products_are_those_of_matrices(void **state)
{
    static const ProductCase cases[] = {
        {"gl:3", reln_nn_product, product}, {"gl:2", reln_nn_jordan, jordan},
        {"gl:3", reln_nn_triple, triple},   {"sp:4", reln_nn_triple, triple},
        {"so:1,3", reln_nn_triple, triple}, {"u:2", reln_nn_triple, triple},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        compare_product(&cases[i]);
}

/* ---- affine ------------------------------------------------------------------------------------------------------ */

/* The affine layer computes tr X, which the published layers cannot: one weight of the map to invariants. */
static void affine_reaches_the_trace(void **state)
{
    RelnFeatures y;
    const double *s;
    One o;

    (void)state;
    one_init(&o, "gl:3", 1, 1);
    y = reln_nn_affine(&o.net, "affine", (RelnFeatures){.x = o.x}, 2, 1);
    assert_non_null(y.x);
    s = one_run(&o, y.s);
    /* two maps, a bias along I, the trace, a bias */
    assert_int_equal(reln_store_parameters(o.f.store), 2 + 2 + 2 + 1 + 1);
    for (int i = 0; i < ONE_SAMPLES; i++) {
        const double *x = o.values + i * 9;
        const double want = one_parameter(&o, "affine.xs0")[0] * (x[0] + x[4] + x[8]) +
                            one_parameter(&o, "affine.bs0")[0];

        assert_near(&s[i], &want, 1, TOL);
    }
    one_clear(&o);
}

/* ---- along points ------------------------------------------------------------------------------------------------ */

static void convolution_is_the_sum_over_its_window(void **state)
{
    enum { POINTS = 7, OUT = 3, WIDTH = 3, AT = 4 }; /* stride 2, padding 1: 4 points */
    const double *y, *w;
    One o;

    (void)state;
    one_init(&o, "so:3", POINTS, C);
    y = one_run(&o,
                reln_nn_conv(&o.net, "conv", o.x,
                             &(RelnConv){.channels = OUT, .width = WIDTH, .stride = 2, .pad = 1}));
    w = one_parameter(&o, "conv.W");
    for (int i = 0; i < ONE_SAMPLES * AT * 3 * OUT; i++) {
        const int d = i % OUT, k = i / OUT % 3, p = i / OUT / 3 % AT, s = i / OUT / 3 / AT;
        double want = 0;

        for (int j = 0; j < WIDTH; j++)
            for (int c = 0; c < C; c++) {
                const int from = 2 * p + j - 1;

                if (from >= 0 && from < POINTS)
                    want +=
                        o.values[((s * POINTS + from) * 3 + k) * C + c] * w[(j * C + c) * OUT + d];
            }
        assert_near(&y[i], &want, 1, TOL);
    }
    one_clear(&o);
}

/* One head of two channels, for one sample. */
static void attend(const One *o, int head, const double *q, const double *k, const double *v,
                   double *out)
{
    const double *gram = gram_of(o, RELN_FORM_COMPLETED);

    for (int i = 0; i < P; i++) {
        double a[P], sum = 0;

        for (int j = 0; j < P; j++) {
            double t = 0;

            for (int c = 2 * head; c < 2 * head + 2; c++)
                t += one_form(9, gram, C, C, q + i * 9 * C + c, k + j * 9 * C + c);
            a[j] = exp(t / sqrt(9.0 * 2));
            sum += a[j];
        }
        for (int e = 0; e < 9; e++)
            for (int c = 2 * head; c < 2 * head + 2; c++)
                for (int j = 0; j < P; j++)
                    out[(i * 9 + e) * C + c] += a[j] / sum * v[(j * 9 + e) * C + c];
    }
}

static void attention_weighs_points_by_their_scores(void **state)
{
    enum { ITEM = P * 9 * C };
    double q[ITEM], k[ITEM], v[ITEM], seen[ITEM], want[ITEM];
    const double *y;
    One o;

    (void)state;
    one_init(&o, "gl:3", P, C);
    for (ptrdiff_t i = 0; i < o.count; i++)
        o.values[i] *= 0.3;
    y = one_run(&o, reln_nn_attention(&o.net, "a", (RelnFeatures){.x = o.x}, 2).x);
    for (int s = 0; s < ONE_SAMPLES; s++) {
        const double *x = o.values + s * ITEM;

        one_mix(P * 9, C, C, x, one_parameter(&o, "a.Wq"), q);
        one_mix(P * 9, C, C, x, one_parameter(&o, "a.Wk"), k);
        one_mix(P * 9, C, C, x, one_parameter(&o, "a.Wv"), v);
        memset(seen, 0, sizeof seen);
        attend(&o, 0, q, k, v, seen);
        attend(&o, 1, q, k, v, seen);
        one_mix(P * 9, C, C, seen, one_parameter(&o, "a.Wo"), want);
        for (int i = 0; i < ITEM; i++)
            want[i] += x[i];
        assert_near(y + s * ITEM, want, ITEM, TOL);
    }
    one_clear(&o);
}

typedef RelnNode *Pool(const RelnNet *net, RelnNode *x, int over);

static RelnNode *pool_max(const RelnNet *net, RelnNode *x, int over)
{
    return reln_nn_pool_max(net, "pool", x, over, false);
}

static RelnNode *pool_softmax(const RelnNet *net, RelnNode *x, int over)
{
    return reln_nn_pool_softmax(net, "pool", x, over);
}

/* Compares a pool over a row domain with the same pool over an axis, for the same points. */
static void compare_pools(Pool *pool)
{
    static const int32_t counts[ONE_SAMPLES] = {P, P, P, P, P};
    RelnNode *rows, *by_rows, *by_axis;
    One o;

    one_init(&o, "gl:2", P, C);
    rows = reln_input(o.f.graph, "rows", reln_rows(o.f.graph, "points", 64),
                      (RelnDims){.k = 4, .c = C}, o.f.adjoint, RELN_F64);
    by_axis = pool(&o.net, o.x, RELN_P);
    by_rows = pool(&o.net, rows, RELN_POOL_ROWS);
    reln_output(o.f.graph, "rows", by_rows);
    reln_output(o.f.graph, "axis", by_axis);
    assert_ok(o.f.ctx, reln_plan_create(o.f.graph, NULL, &o.plan));
    assert_ok(o.f.ctx, reln_plan_bind(o.plan, "x", o.values, RELN_F64));
    assert_ok(o.f.ctx, reln_plan_bind(o.plan, "rows", o.values, RELN_F64));
    assert_ok(o.f.ctx, reln_plan_bind_rows(o.plan, "points", counts));
    assert_ok(o.f.ctx, reln_plan_run(o.plan, &(RelnRun){.n_samples = ONE_SAMPLES}));
    assert_near(reln_plan_output(o.plan, "rows", NULL), reln_plan_output(o.plan, "axis", NULL),
                (ptrdiff_t)ONE_SAMPLES * 4 * C, TOL);
    one_clear(&o);
}

static void pooling_rows_is_pooling_an_axis(void **state)
{
    (void)state;
    compare_pools(pool_max);
    compare_pools(pool_softmax);
    compare_pools(reln_nn_pool_mean);
}

/* ---- norms ------------------------------------------------------------------------------------------------------- */

static void the_norm_divides_by_the_size_it_saw(void **state)
{
    double square[C] = {0}, want[C];
    const double *y, *gram;
    RelnPlan *later = NULL;
    RelnGraph *g = NULL;
    RelnNet eval;
    One o;

    (void)state;
    one_init(&o, "gl:2", P, C);
    y = one_run(&o, reln_nn_batch_norm(&o.net, "norm", o.x, RELN_NORM_INVARIANT));
    gram = gram_of(&o, RELN_FORM_COMPLETED);
    for (int p = 0; p < ONE_SAMPLES * P; p++)
        for (int c = 0; c < C; c++) {
            const double *x = o.values + p * 4 * C + c;
            const double q = one_form(4, gram, C, C, x, x);

            square[c] += q * q / (ONE_SAMPLES * P);
        }
    for (ptrdiff_t i = 0; i < o.count; i++) {
        const double now = o.values[i] / pow(1e-5 + square[i % C], 0.25);

        assert_near(&y[i], &now, 1, TOL);
    }
    for (int c = 0; c < C; c++)
        want[c] = 0.9 * 1.0 + 0.1 * square[c];
    assert_near(one_parameter(&o, "norm.square"), want, C, TOL);

    /* a graph for evaluation uses the running statistics and does not change them */
    assert_ok(o.f.ctx, reln_graph_create(o.f.group, o.f.store, RELN_F64, &g));
    eval = (RelnNet){.graph = g, .algebra = o.f.algebra};
    reln_output(g, "y",
                reln_nn_batch_norm(
                    &eval, "norm",
                    reln_input(g, "x", RELN_SAMPLES, reln_node_dims(o.x), o.f.adjoint, RELN_F64),
                    RELN_NORM_INVARIANT));
    assert_ok(o.f.ctx, reln_plan_create(g, NULL, &later));
    assert_ok(o.f.ctx, reln_plan_bind(later, "x", o.values, RELN_F64));
    assert_ok(o.f.ctx, reln_plan_run(later, &(RelnRun){.n_samples = ONE_SAMPLES}));
    y = reln_plan_output(later, "y", NULL);
    for (ptrdiff_t i = 0; i < o.count; i++) {
        const double recalled = o.values[i] / pow(1e-5 + want[i % C], 0.25);

        assert_near(&y[i], &recalled, 1, TOL);
    }
    assert_near(one_parameter(&o, "norm.square"), want, C, TOL);
    reln_plan_destroy(later);
    reln_graph_destroy(g);
    one_clear(&o);
}

/* ---- forms ------------------------------------------------------------------------------------------------------- */

/* Lie Neurons' form does not see multiples of I; the completed one does. */
static void the_form_without_centre_does_not_see_it(void **state)
{
    double moved[ONE_SAMPLES * 9], seen[2] = {0, 0};
    static const RelnForm forms[] = {RELN_FORM_NO_CENTER, RELN_FORM_COMPLETED};

    (void)state;
    for (int f = 0; f < 2; f++) {
        double before[ONE_SAMPLES];
        One o;

        one_init(&o, "gl:3", 1, 1);
        o.net.form = forms[f];
        memcpy(before, one_run(&o, reln_nn_invariant(&o.net, o.x)), sizeof before);
        for (int i = 0; i < ONE_SAMPLES * 9; i++)
            moved[i] = o.values[i] + (i % 9 % 4 == 0 ? 2 : 0);
        assert_ok(o.f.ctx, reln_plan_bind(o.plan, "x", moved, RELN_F64));
        assert_ok(o.f.ctx, reln_plan_run(o.plan, &(RelnRun){.n_samples = ONE_SAMPLES}));
        for (int i = 0; i < ONE_SAMPLES; i++)
            seen[f] = fmax(seen[f], fabs(((const double *)reln_plan_output(o.plan, "y", NULL))[i] -
                                         before[i]));
        one_clear(&o);
    }
    assert_small(seen[0], 1e-12);
    assert_true(seen[1] > 1);
}

/* ---- what is refused ---------------------------------------------------------------------------------------------- */

static void expect(One *o, const RelnNode *y, RelnStatus status, const char *words)
{
    assert_null(y);
    assert_int_equal(reln_graph_status(o->f.graph), status);
    if (!strstr(reln_ctx_error(o->f.ctx), words))
        fail_msg("the message is \"%s\", wanted \"%s\" in it", reln_ctx_error(o->f.ctx), words);
    one_clear(o);
}

static void what_cannot_be_built_is_said(void **state)
{
    One o;

    (void)state;
    one_init_vectors(&o, P, C);
    expect(&o, reln_nn_bracket(&o.net, "b", o.x), RELN_ERR_ARG, "bracket: the net has no algebra");
    one_init(&o, "gl:2", P, C);
    o.net.algebra = NULL; /* tr XY and tr X tr Y, and no reason to take either */
    expect(&o, reln_nn_invariant(&o.net, o.x), RELN_ERR_REP,
           "form: adjoint(gl:2) of gl:2 has 2 symmetric invariant forms (and 0 antisymmetric), not "
           "one up to a factor; wanted one in the net's forms");
    one_init(&o, "gl:2", P, C);
    expect(&o, reln_nn_attention(&o.net, "a", (RelnFeatures){.x = o.x}, 3).x, RELN_ERR_SHAPE,
           "4 channels do not split into 3 heads");
    one_init(&o, "gl:2", P, C);
    expect(&o, reln_nn_pool_mean(&o.net, o.x, RELN_POOL_ROWS), RELN_ERR_ARG,
           "pool_mean: over axis");
    one_init(&o, "gl:2", P, C);
    expect(&o, reln_nn_linear(&o.net, "l", o.x, 0), RELN_ERR_SHAPE, "l.W: 0 channels");
    one_init(&o, "so:3", P, C);
    expect(&o, reln_nn_affine(&o.net, "a", (RelnFeatures){.x = o.x}, 0, 2).s, RELN_ERR_ARG,
           "no equivariant linear map leads to");
    one_init(&o, "so:3", P, C);
    expect(&o, reln_nn_dense(&o.net, "d", o.x, 2), RELN_ERR_REP, "wanted invariants");
    one_init(&o, "so:3", P, C);
    expect(&o, reln_nn_batch_norm_invariants(&o.net, "n", o.x, NULL), RELN_ERR_REP,
           "wanted invariants");
    one_init(&o, "so:3", P, C);
    expect(&o, reln_nn_layer_norm_invariants(&o.net, "n", o.x), RELN_ERR_REP, "wanted invariants");
    one_init(&o, "so:3", P, C);
    expect(&o, reln_nn_pool_largest(&o.net, o.x, RELN_P), RELN_ERR_REP, "wanted invariants");
    one_init(&o, "so:3", P, C);
    expect(&o, reln_nn_pool_sum(&o.net, o.x, o.x, RELN_P), RELN_ERR_REP, "wanted invariants");
    one_init(&o, "so:3", P, C);
    expect(&o, reln_nn_pool_count(&o.net, o.x), RELN_ERR_ARG, "pool_count: over axis");
    one_init(&o, "so:3", P, C);
    expect(&o, reln_nn_split_heads(&o.net, o.x, 3, RELN_Q), RELN_ERR_SHAPE, "into 3 heads");
    one_init(&o, "so:3", P, C);
    expect(&o, reln_nn_split_heads(&o.net, o.x, 2, RELN_P), RELN_ERR_SHAPE, "an axis of extent 1");
    one_init(&o, "so:3", P, C);
    expect(&o, reln_nn_dropout(&o.net, (RelnFeatures){.x = o.x}, 1).x, RELN_ERR_ARG,
           "dropout: a share of 1");
    one_init(&o, "so:3", P, C);
    expect(&o, reln_nn_residual(&o.net, (RelnFeatures){.x = o.x}, (RelnFeatures){.s = o.x}, 0).x,
           RELN_ERR_ARG, "residual: a branch has");
    one_init(&o, "so:3", P, C);
    expect(&o, reln_nn_conv_block(&o.net, "b", (RelnFeatures){.s = o.x}, &(RelnConvBlock){0}).s,
           RELN_ERR_REP, "b: wanted invariants");
    one_init(&o, "so:3", P, C);
    expect(
        &o,
        reln_nn_transformer(&o.net, "t", (RelnFeatures){.x = o.x}, &(RelnTransformer){.heads = 3})
            .x,
        RELN_ERR_SHAPE, "4 channels do not split into 3 heads");
    one_init(&o, "so:3", P, C);
    expect(
        &o,
        reln_nn_transformer(&o.net, "t", (RelnFeatures){.x = o.x}, &(RelnTransformer){.wide = -1})
            .x,
        RELN_ERR_ARG, "t: wanted features or invariants, and widths of 0 or more");
    one_init(&o, "so:3", P, C);
    expect(&o, reln_nn_transformer(&o.net, "t", (RelnFeatures){0}, &(RelnTransformer){0}).x,
           RELN_ERR_ARG, "t: wanted features or invariants, and widths of 0 or more");
    one_init(&o, "so:3", P, C);
    expect(&o, reln_nn_conv_block(&o.net, "b", (RelnFeatures){0}, &(RelnConvBlock){0}).x,
           RELN_ERR_ARG, "b: wanted features or invariants");
    for (int field = 0; field < 5; field++) {
        static const char *const says[] = {
            "b: -1 channels, 0 invariants, width 0, stride 0, dilation 0; wanted none below 0",
            "b: 0 channels, -1 invariants, width 0, stride 0, dilation 0; wanted none below 0",
            "b: 0 channels, 0 invariants, width -1, stride 0, dilation 0; wanted none below 0",
            "b: 0 channels, 0 invariants, width 0, stride -1, dilation 0; wanted none below 0",
            "b: 0 channels, 0 invariants, width 0, stride 0, dilation -1; wanted none below 0"};
        RelnConvBlock block = {0};

        *(int *[]){&block.channels, &block.invariants, &block.width, &block.stride,
                   &block.dilation}[field] = -1;
        one_init(&o, "so:3", P, C);
        expect(&o, reln_nn_conv_block(&o.net, "b", (RelnFeatures){.x = o.x}, &block).x,
               RELN_ERR_ARG, says[field]);
    }
    for (int width = -1; width < 1; width++) {
        one_init(&o, "so:3", P, C);
        expect(&o, reln_nn_conv(&o.net, "c", o.x, &(RelnConv){.channels = 2, .width = width}),
               RELN_ERR_SHAPE,
               width ? "c: a convolution of -1 taps of" : "c: a convolution of 0 taps of");
    }
}

/* Scales of inner products are positive numbers, in a positive unit; rows on axis R would be added up. */
static void what_has_no_scale_is_refused(void **state)
{
    static const struct {
        RelnScales scales;
        int r;
        RelnStatus status;
        const char *words;
    } cases[] = {
        {{.at = {1}, .count = 0, .unit = 1},
         1,
         RELN_ERR_ARG,
         "relate: wanted 1 to 8 scales in a unit above 0"},
        {{.at = {1, 1, 1, 1, 1, 1, 1, 1}, .count = RELN_SCALES + 1, .unit = 1},
         1,
         RELN_ERR_ARG,
         "relate: wanted 1 to 8 scales in a unit above 0"},
        {{.at = {1}, .count = 1, .unit = 0},
         1,
         RELN_ERR_ARG,
         "relate: wanted 1 to 8 scales in a unit above 0"},
        {{.at = {1, 0}, .count = 2, .unit = 1},
         1,
         RELN_ERR_ARG,
         "relate: a scale of 0; wanted above 0"},
        {{.at = {HUGE_VAL}, .count = 1, .unit = 1},
         1,
         RELN_ERR_ARG,
         "relate: a scale of inf; wanted above 0"},
        {{.at = {1}, .count = 1, .unit = 1}, 2, RELN_ERR_SHAPE, "wanted extent 1 on axis R"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        One o;
        RelnNode *x;

        one_init(&o, "so:3", P, C);
        x = reln_input(o.f.graph, "r", RELN_SAMPLES, (RelnDims){.r = cases[i].r, .k = 3, .c = C},
                       o.f.adjoint, RELN_F64);
        expect(&o, reln_nn_relate(&o.net, x, x, &cases[i].scales), cases[i].status, cases[i].words);
    }
}

/* Rows are separate items without an axis, so convolutions and pools over windows refuse them. */
static void layers_along_an_axis_refuse_rows(void **state)
{
    (void)state;
    for (int layer = 0; layer < 5; layer++) {
        const RelnWindowPool halves = {.window = reln_window_same(2, 2, 1)};
        One o;
        RelnNode *x, *s, *y = NULL;
        RelnDomain rows;

        one_init(&o, "so:3", 1, C);
        rows = reln_rows(o.f.graph, "rows", 8);
        x = reln_input(o.f.graph, "r", rows, (RelnDims){.k = 3, .c = C}, o.f.adjoint, RELN_F64);
        s = reln_input(o.f.graph, "s", rows, (RelnDims){.c = C}, NULL, RELN_F64);
        if (layer == 0)
            y = reln_nn_conv(&o.net, "c", x, &(RelnConv){.channels = 2, .width = 3});
        if (layer == 1)
            y = reln_nn_conv_block(&o.net, "c", (RelnFeatures){.x = x}, &(RelnConvBlock){0}).x;
        if (layer == 2)
            y = reln_nn_pool_windows(&o.net, "c", (RelnFeatures){.x = x}, &halves).x;
        if (layer == 3)
            y = reln_nn_pool_windows(&o.net, "c", (RelnFeatures){.s = s}, &halves).s;
        if (layer == 4)
            y = reln_nn_conv_block(&o.net, "c", (RelnFeatures){.s = s}, &(RelnConvBlock){0}).s;
        expect(&o, y, RELN_ERR_UNSUPPORTED, "are rows, each an item by itself");
    }
}

static RelnStatus build_everything(RelnCtx *ctx)
{
    Fixture f;
    RelnPlan *plan = NULL;
    RelnStatus status = fixture_build(&f, ctx, "gl:2", "gl:2", RELN_F32);

    if (status == RELN_OK) {
        const RelnNet net = {.graph = f.graph, .algebra = f.algebra, .train = true};
        RelnNode *x = reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.p = 2, .k = 4, .c = 2},
                                 f.adjoint, RELN_DEFAULT);
        RelnFeatures y =
            reln_nn_affine(&net, "a", (RelnFeatures){x, reln_nn_invariant(&net, x)}, 2, 2);

        y.x = reln_nn_project(&net, "p", reln_nn_rms(&net, "r", y.x, NULL), NULL);
        y.x = reln_nn_triple(&net, "t", reln_nn_product(&net, "m", y.x));
        y = reln_nn_attention(&net, "h", y, 2);
        y.x = reln_nn_batch_norm(&net, "n", y.x, RELN_NORM_PUBLISHED);
        y.x = reln_nn_pool_max(&net, "q", reln_nn_bracket(&net, "b", y.x), RELN_P, false);
        reln_output(f.graph, "x", reln_nn_gate(&net, "g", y.x, NULL, 3));
        reln_output(f.graph, "s", reln_nn_invariant_learned(&net, "l", y.x, 2));
        reln_output(f.graph, "d", reln_nn_invariant_det(&net, y.x));
        y = reln_nn_conv_block(&net, "c", (RelnFeatures){x, reln_nn_invariant(&net, x)},
                               &(RelnConvBlock){.stride = 2, .norm = RELN_BLOCK_BATCH_NORM});
        y = reln_nn_transformer(&net, "e", y, &(RelnTransformer){.dropout = 0.1, .skip = 0.1});
        reln_output(f.graph, "e", y.x);
        status = reln_plan_create(f.graph, NULL, &plan);
    }
    reln_plan_destroy(plan);
    fixture_release(&f);
    return status;
}

static void a_failing_allocation_leaks_nothing(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(build_everything) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(project_on_vectors_is_the_relu_of_vector_neurons),
        cmocka_unit_test(project_on_so3_with_its_definite_form_is_too),
        cmocka_unit_test(rms_and_project_follow_their_formulas),
        cmocka_unit_test(gates_are_finite_on_null_elements),
        cmocka_unit_test(a_scalar_gate_scales_each_channel),
        cmocka_unit_test(products_are_those_of_matrices),
        cmocka_unit_test(affine_reaches_the_trace),
        cmocka_unit_test(convolution_is_the_sum_over_its_window),
        cmocka_unit_test(attention_weighs_points_by_their_scores),
        cmocka_unit_test(pooling_rows_is_pooling_an_axis),
        cmocka_unit_test(the_norm_divides_by_the_size_it_saw),
        cmocka_unit_test(the_form_without_centre_does_not_see_it),
        cmocka_unit_test(what_cannot_be_built_is_said),
        cmocka_unit_test(what_has_no_scale_is_refused),
        cmocka_unit_test(layers_along_an_axis_refuse_rows),
        cmocka_unit_test(a_failing_allocation_leaks_nothing),
    };

    return cmocka_run_group_tests_name("nn/layers", tests, NULL, NULL);
}
