/* Tests models of SPECs, layer by layer: if the raw data are moved to another frame, every output moves by
 * its rep. */
#include <float.h>

#include "model/world.h"

enum { SAMPLES = 5 };

/* Frames have condition number 2. A network of depth 2 with products has degree 8 in its features, and each
 * degree may contribute cond(g)^2: 2^16 eps, times the length of the sums (K C terms, times layers), 1e4,
 * gives 1.5e-7. Networks that break the symmetry are off by 1e-2 and more (below). */
#define COND 2.0
#define TOL (DBL_EPSILON * 65536 * 1e4)

typedef struct Case {
    const char *inputs; /* symmetry, inputs, target */
    const char *model;  /* further keys */
    const char *features;
} Case;

static const Case cases[] = {
    {"{symmetry: gl:3, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar},", "",
     "gl:3"},
    {"{symmetry: gl:3, inputs: [{name: X, as: matrix}], target: {name: y, as: class, classes: 3},",
     ", nonlinearity: [relu, bracket, jordan]", "gl:3"},
    {"{symmetry: gl:3, inputs: [{name: X, as: matrix}, {name: s, as: scalar}],"
     " target: {name: y, as: matrix},",
     "", "gl:3"},
    {"{symmetry: gl:2, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar},",
     ", kind: lie-neurons", "gl:2"},
    {"{symmetry: sl:3, inputs: [{name: X, as: element}], target: {name: y, as: matrix},", "",
     "sl:3"},
    {"{symmetry: sp:4, inputs: [{name: X, as: element}], target: {name: y, as: scalar},",
     ", nonlinearity: [rms, triple, gate]", "sp:4"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector}], target: {name: y, as: vector},", "",
     "so:3"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector}, {name: X, as: matrix}],"
     " target: {name: y, as: vector},",
     "", "gl:3"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector}, {name: C, as: covariance, log: true}],"
     " target: {name: y, as: vector},",
     "", "gl:3"},
    {"{symmetry: so:3, inputs: [{name: q, as: quaternion}, {name: v, as: vector}],"
     " target: {name: y, as: vector},",
     "", "so:3"},
    {"{symmetry: so:3, inputs: [{name: q, as: quaternion, points: true, mask: m}],"
     " target: {name: y, as: matrix},",
     ", pool: max", "so:3"},
    {"{symmetry: so:3, inputs: [{name: q, as: quaternion}], target: {name: y, as: vector},",
     ", kind: vector-neurons", "vectors"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector}, {name: s, as: scalar}],"
     " target: {name: y, as: vector},",
     ", kind: vector-neurons", "vectors"},
    {"{symmetry: o:3, inputs: [{name: v, as: vector}], target: {name: y, as: vector},",
     ", kind: vector-neurons", "vectors"},
    {"{symmetry: o:3, inputs: [{name: v, as: vector}], target: {name: y, as: vector},", "", "gl:4"},
    {"{symmetry: so:2, inputs: [{name: v, as: vector}, {name: C, as: covariance}],"
     " target: {name: y, as: scalar},",
     "", "gl:3"},
    {"{symmetry: so:4, inputs: [{name: C, as: covariance}], target: {name: y, as: scalar},", "",
     "gl:4"},
    {"{symmetry: o:3, inputs: [{name: C, as: covariance, log: true}], target: {name: y, as: "
     "matrix},",
     "", "gl:3"},
    {"{symmetry: lorentz, inputs: [{name: p, as: fourvector}], target: {name: y, as: scalar},",
     ", depth: 1", "gl:5"},
    {"{symmetry: lorentz, inputs: [{name: p, as: fourvector}], target: {name: y, as: vector},",
     ", depth: 1", "gl:5"},
    {"{symmetry: gl:3, inputs: [{name: C, as: covariance, log: true, reference: mean},"
     " {name: v, as: vector}], target: {name: y, as: vector},",
     "", "gl:3"},
    {"{symmetry: gl:2, inputs: [{name: C, as: covariance, reference: mean, points: true, mask: m}],"
     " target: {name: y, as: scalar},",
     ", pool: max", "gl:2"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector, points: true}, {name: X, as: matrix},"
     " {name: s, as: scalar, points: true}], target: {name: y, as: vector},",
     ", pool: softmax", "gl:3"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}, {name: X, as: "
     "matrix},"
     " {name: s, as: scalar}], target: {name: y, as: matrix},",
     ", pool: mean", "gl:3"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}],"
     " target: {name: y, as: scalar},",
     ", kind: vector-neurons, pool: max", "vectors"},
    {"{symmetry: lorentz, inputs: [{name: p, as: fourvector, points: true, mask: m}],"
     " target: {name: y, as: class, classes: 2},",
     ", kind: set, sums: 2", "vectors"},
    {"{symmetry: o:3, inputs: [{name: v, as: vector, points: true, mask: m},"
     " {name: w, as: vector}, {name: s, as: scalar, points: true}], target: {name: y, as: vector},",
     ", kind: graph, sums: 2", "vectors"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector, points: true},"
     " {name: C, as: covariance, log: true, points: true}, {name: s, as: scalar}],"
     " target: {name: y, as: matrix},",
     ", kind: graph, sums: 2", "gl:3"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m},"
     " {name: q, as: quaternion, points: true, mask: m}], target: {name: y, as: vector},",
     ", kind: transformer, heads: 2, sums: 2", "so:3"},
    {"{symmetry: o:3, inputs: [{name: v, as: vector, points: true}], target: {name: y, as: "
     "vector},",
     ", kind: graph, neighbours: 2, sums: 2", "vectors"},
    {"{symmetry: lorentz, inputs: [{name: p, as: fourvector, points: true}],"
     " target: {name: y, as: scalar},",
     ", kind: transformer, heads: 1, sums: 2", "vectors"},
    {"{symmetry: gl:2, inputs: [{name: C, as: covariance, reference: mean, points: true, mask: m}],"
     " target: {name: y, as: scalar},",
     ", kind: set, sums: 2", "gl:2"},
    /* messages alone */
    {"{symmetry: lorentz, inputs: [{name: p, as: fourvector, points: true, mask: m},"
     " {name: b, as: fourvector}], target: {name: y, as: class, classes: 2},",
     ", kind: messages", "vectors"},
    {"{symmetry: o:3, inputs: [{name: v, as: vector, points: true}, {name: s, as: scalar, points: "
     "true}], targets: [{name: y, as: vector, points: true}, {name: z, as: vector}],",
     ", kind: messages, neighbours: 2", "vectors"},
    {"{symmetry: gl:2, inputs: [{name: C, as: covariance, reference: mean, points: true, mask: m}],"
     " target: {name: y, as: scalar},",
     ", kind: messages", "gl:2"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}, {name: C, as: "
     "covariance, log: true, points: true}, {name: X, as: matrix}, {name: w, as: vector}], "
     "targets: [{name: y, as: vector}, {name: z, as: vector, points: true}],",
     ", kind: messages", "gl:3"},
    /* networks beside each other */
    {"{symmetry: lorentz, inputs: [{name: p, as: fourvector, points: true, mask: m},"
     " {name: b, as: fourvector}], target: {name: y, as: class, classes: 2},",
     ", kind: messages, beside: [set, set], sums: 2", "vectors"},
    {"{symmetry: o:3, inputs: [{name: v, as: vector, points: true, mask: m}],"
     " targets: [{name: y, as: vector, points: true}, {name: z, as: vector}, {name: q, as: scalar, "
     "loss: quantiles}],",
     ", kind: set, beside: [graph, transformer], heads: 1, sums: 2", "vectors"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector, points: true}], targets: [{name: y, as: "
     "covariance}, {name: z, as: vector, loss: gaussian, variance: covariance}],",
     ", kind: graph, beside: [set], neighbours: 2, groups: 3, members: 2, sums: 2", "so:3"},
    /* groups, of which some have fewer points than members */
    {"{symmetry: o:3, inputs: [{name: v, as: vector, points: true, mask: m}], target: {name: y, "
     "as: class, classes: 3},",
     ", kind: set, groups: 2, members: 3, sums: 2", "vectors"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}, {name: s, as: "
     "scalar, points: true}], target: {name: y, as: vector},",
     ", kind: graph, groups: 3, members: 2, neighbours: 1, sums: 2", "so:3"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector, points: true}, {name: C, as: covariance, "
     "log: true, points: true}], target: {name: y, as: matrix},",
     ", kind: transformer, heads: 2, groups: 2, members: 2, sums: 2", "gl:3"},
    {"{symmetry: sp:4, inputs: [{name: X, as: element, points: true}], target: {name: y, as: "
     "matrix},",
     ", kind: set, sums: 2", "sp:4"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector, sequence: true},"
     " {name: C, as: covariance, log: true, sequence: true}], target: {name: y, as: vector},"
     " sequence: {estimate: v, step: 0.1},",
     ", kind: sequence", "gl:3"},
    {"{symmetry: o:3, inputs: [{name: v, as: vector, sequence: true}], target: {name: y, as: "
     "scalar}, sequence: {causal: true, taps: 3},",
     ", kind: sequence", "gl:4"},
    {"{symmetry: gl:3, inputs: [{name: X, as: matrix, sequence: true}, {name: Y, as: matrix}], "
     "target: {name: y, as: matrix},",
     ", kind: sequence", "gl:3"},
    {"{symmetry: gl:3, inputs: [{name: C, as: covariance, log: true, reference: mean, sequence: "
     "true}, {name: v, as: vector, sequence: true}], target: {name: y, as: vector},",
     ", kind: sequence, depth: 1", "gl:3"},
    {"{symmetry: lorentz, inputs: [{name: p, as: fourvector, sequence: true}], target: {name: y, "
     "as: class, classes: 3},",
     ", kind: sequence, depth: 1", "gl:5"},
    {"{symmetry: gl:2+so:3, inputs: [{name: X, as: element}], target: {name: y, as: scalar},", "",
     "gl:2+so:3"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector}], target: {name: y, as: covariance},", "",
     "so:3"},
    {"{symmetry: o:3, inputs: [{name: v, as: vector}], target: {name: y, as: covariance},", "",
     "gl:4"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector}], target: {name: y, as: vector, loss: "
     "gaussian, variance: covariance},",
     ", kind: vector-neurons", "vectors"},
    {"{symmetry: gl:3, inputs: [{name: C, as: covariance, log: true, reference: mean},"
     " {name: v, as: vector}], targets: [{name: y, as: covariance}, {name: z, as: vector, loss: "
     "gaussian, variance: covariance}],",
     "", "gl:3"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector}, {name: X, as: matrix}], targets: [{name: a, "
     "as: scalar, loss: quantiles}, {name: b, as: matrix, loss: gaussian}, {name: c, as: class, "
     "classes: 3}, {name: d, as: vector}],",
     "", "gl:3"},
    /* targets of points */
    {"{symmetry: o:3, inputs: [{name: v, as: vector, points: true, mask: m}],"
     " targets: [{name: y, as: vector, points: true}, {name: c, as: class, classes: 3, points: "
     "true}, {name: z, as: scalar}],",
     ", kind: graph, sums: 2", "vectors"},
    {"{symmetry: lorentz, inputs: [{name: p, as: fourvector, points: true, mask: m}],"
     " targets: [{name: y, as: vector, points: true}, {name: z, as: vector}],",
     ", kind: set, sums: 2", "vectors"},
    {"{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}, {name: X, as: "
     "matrix}], targets: [{name: y, as: matrix, points: true}, {name: z, as: vector, points: true, "
     "loss: gaussian, variance: covariance}],",
     ", kind: transformer, heads: 2, sums: 2", "gl:3"},
    {"{symmetry: gl:2, inputs: [{name: C, as: covariance, reference: mean, points: true, mask: m},"
     " {name: w, as: vector}], targets: [{name: y, as: covariance, points: true}, {name: z, as: "
     "vector, points: true}],",
     "", "gl:2"},
    {"{symmetry: o:3, inputs: [{name: v, as: vector, points: true}], targets: [{name: y, as: "
     "vector, points: true}, {name: q, as: scalar, loss: quantiles, points: true}],",
     ", kind: vector-neurons", "vectors"},
};

/* "depth: 1" of a case replaces the common depth, since a key may occur only once. */
static void write_spec(const Case *c, const char *more, char *out, size_t size)
{
    const bool depth = strstr(c->model, "depth") != NULL;

    snprintf(out, size, "%s model: {width: 6%s%s%s}, train: {dtype: f64}}", c->inputs,
             depth ? "" : ", depth: 2", c->model, more);
}

typedef struct Run {
    World w;
    RelnModelGraph net;
    RelnPlan *plan;
    double *raw[RELN_SPEC_INPUTS];
} Run;

static void run_init(Run *r, const char *yaml)
{
    World *w = &r->w;

    memset(r, 0, sizeof *r);
    assert_ok(w->ctx, world_init(w, NULL, yaml, SAMPLES));
    assert_ok(w->ctx, world_model(w));
    assert_ok(w->ctx, world_data(w, NULL));
    assert_ok(w->ctx, reln_model_build(w->model, &(RelnModelOptions){.taps = true}, &r->net));
    assert_ok(w->ctx, reln_plan_create(r->net.graph, NULL, &r->plan));
    for (int i = 0; i < w->spec.n_inputs; i++) {
        const RelnArray *a = world_find(w, w->spec.input[i].name);

        r->raw[i] = calloc((size_t)array_count(a), sizeof(double));
        memcpy(r->raw[i], a->values, (size_t)array_count(a) * sizeof(double));
    }
}

static void run_clear(Run *r)
{
    for (int i = 0; i < r->w.spec.n_inputs; i++)
        free(r->raw[i]);
    reln_plan_destroy(r->plan);
    reln_model_graph_clear(&r->net);
    world_clear(&r->w);
}

static void run(Run *r)
{
    World *w = &r->w;
    const RelnArray *mask = world_find(w, "m");

    assert_ok(w->ctx, reln_data_bind_raw(w->data, r->plan, SAMPLES, (const double *const *)r->raw,
                                         mask ? mask->values : NULL, NULL));
    assert_ok(w->ctx, reln_plan_run(r->plan, &(RelnRun){.n_samples = SAMPLES}));
}

static void put_frame(Run *r, const RelnElement *g)
{
    for (int i = 0; i < r->w.spec.n_inputs; i++)
        for (int s = 0; s < SAMPLES; s++) {
            const ptrdiff_t count = reln_input_count(&r->w.shapes.input[i]);

            assert_ok(r->w.ctx, reln_model_act(r->w.model, i, g, count, r->raw[i] + s * count));
        }
}

static ptrdiff_t tap_count(const Run *r, int t)
{
    const RelnDims d = reln_node_dims(r->net.taps[t].node);
    ptrdiff_t items = 0;

    reln_plan_output(r->plan, r->net.taps[t].name, &items);
    return items * d.p * d.q * d.r * d.k * d.c;
}

static double *copy_tap(const Run *r, int t)
{
    double *x = calloc((size_t)tap_count(r, t), sizeof *x);

    memcpy(x, reln_plan_output(r->plan, r->net.taps[t].name, NULL),
           (size_t)tap_count(r, t) * sizeof *x);
    return x;
}

/* x -> rho(g) x, on the K axis of (..., K, C) */
static void act_tap(const Run *r, int t, const RelnElement *g, double *x)
{
    const RelnDims d = reln_node_dims(r->net.taps[t].node);
    double *rho = calloc((size_t)(d.k * d.k), sizeof *rho), *old = calloc((size_t)d.k, sizeof *old);

    assert_ok(r->w.ctx, reln_rep_act(reln_node_rep(r->net.taps[t].node), g, rho));
    for (ptrdiff_t at = 0; at < tap_count(r, t); at += (ptrdiff_t)d.k * d.c)
        for (int c = 0; c < d.c; c++) {
            for (int k = 0; k < d.k; k++)
                old[k] = x[at + k * d.c + c];
            for (int k = 0; k < d.k; k++) {
                x[at + k * d.c + c] = 0;
                for (int l = 0; l < d.k; l++)
                    x[at + k * d.c + c] += rho[k * d.k + l] * old[l];
            }
        }
    free(rho);
    free(old);
}

static void predictions(Run *r, double *y)
{
    const RelnLayout layout = reln_data_layout(r->w.data);
    ptrdiff_t rows[SAMPLES], *items = calloc((size_t)(SAMPLES * layout.losses), sizeof *items);

    for (int i = 0; i < SAMPLES; i++)
        rows[i] = i;
    assert_non_null(items);
    assert_ok(r->w.ctx, reln_data_items(r->w.data, SAMPLES, rows, items));
    reln_model_predictions(r->w.model, r->plan, &layout, SAMPLES, items, y);
    free(items);
}

static double largest(ptrdiff_t n, const double *x)
{
    double most = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

/* Returns whether every covariance of a prediction is symmetric with positive minors, and so positive
 * definite. */
static bool covariances_are_positive(const Run *r, int sample, const double *y)
{
    for (int t = 0; t < r->w.spec.n_targets; t++) {
        const RelnTargetLayout l = reln_model_layout(r->w.model, t);
        const bool value = r->w.spec.target[t].as == RELN_TARGET_COVARIANCE;
        const int place =
            r->w.spec.target[t].points ? sample % WORLD_POINTS : 0; /* a place that holds a point */
        const ptrdiff_t n = r->w.n,
                        from = l.first + place * (l.value + l.spread) + (value ? 0 : l.value);
        const ptrdiff_t count = value ? l.value : l.spread % (n * n) == 0 ? l.spread : 0;

        for (ptrdiff_t at = from; at < from + count; at += n * n)
            for (ptrdiff_t i = 0; i < n; i++)
                for (ptrdiff_t j = 0; j <= i; j++) {
                    const double a = y[at + i * n + i], b = y[at + j * n + j];
                    const double c = y[at + i * n + j], d = y[at + j * n + i];

                    if (!(a > 0) || fabs(c - d) > 1e-9 * sqrt(a * b) ||
                        (i != j && !(c * d < a * b)))
                        return false;
                }
    }
    return true;
}

static double difference(ptrdiff_t n, const double *x, const double *y)
{
    double most = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        most = fmax(most, fabs(x[i] - y[i]));
    return most / fmax(1e-300, largest(n, y));
}

/* Returns how far outputs deviate from equivariance in a frame, relative to their size; every tap is checked,
 * too. */
static double broken_by(Run *r, const RelnElement *g)
{
    const RelnLayout layout = reln_data_layout(r->w.data);
    const ptrdiff_t outputs = layout.outputs, n = outputs * SAMPLES;
    double *want = calloc((size_t)n, sizeof *want), *got = calloc((size_t)n, sizeof *got);
    double *tap[RELN_MODEL_TAPS] = {0}, off;

    run(r);
    predictions(r, want);
    for (int s = 0; s < SAMPLES; s++)
        assert_ok(r->w.ctx, reln_model_act_target(r->w.model, &layout, g, want + s * outputs));
    for (int t = 0; t < r->net.n_taps; t++) {
        tap[t] = copy_tap(r, t);
        act_tap(r, t, g, tap[t]);
    }
    put_frame(r, g);
    run(r);
    predictions(r, got);
    for (int s = 0; s < SAMPLES; s++)
        assert_true(covariances_are_positive(r, s, got + s * outputs));
    off = difference(n, got, want);
    for (int t = 0; t < r->net.n_taps; t++) {
        const double here = difference(
            tap_count(r, t), reln_plan_output(r->plan, r->net.taps[t].name, NULL), tap[t]);

        if (here > TOL)
            print_error("%s is off by %.2e\n", r->net.taps[t].name, here);
        off = fmax(off, here);
        free(tap[t]);
    }
    assert_true(largest(n, want) > 1e-6);
    free(want);
    free(got);
    return off;
}

static void every_model_follows_its_symmetry(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        RelnRng rng = reln_rng(11, i);
        RelnElement *g = NULL;
        char yaml[768];
        Run r;

        write_spec(&cases[i], "", yaml, sizeof yaml);
        run_init(&r, yaml);
        assert_string_equal(reln_model_features(r.w.model), cases[i].features);
        assert_true(r.net.n_taps > 2);
        assert_ok(r.w.ctx, reln_model_element(r.w.model, &rng, COND, &g));
        assert_small(broken_by(&r, g), TOL);
        reln_element_destroy(g);
        run_clear(&r);
    }
}

/* An mlp, which promises nothing, fails by the same measure. */
static void an_mlp_does_not_follow(void **state)
{
    RelnRng rng = reln_rng(11, 3);
    RelnElement *g = NULL;
    Run r;

    (void)state;
    run_init(&r, "{symmetry: gl:3, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar},"
                 " model: {kind: mlp, width: 8}, train: {dtype: f64}}");
    assert_false(reln_model_promises(r.w.model));
    assert_int_equal(r.net.n_taps, 0);
    assert_ok(r.w.ctx, reln_model_element(r.w.model, &rng, COND, &g));
    assert_true(broken_by(&r, g) > 1e-2);
    reln_element_destroy(g);
    run_clear(&r);
}

/* The measure detects a frame outside of the symmetry, and data that are not moved. */
static void frames_outside_of_the_symmetry_are_seen(void **state)
{
    RelnRng rng = reln_rng(11, 4);
    RelnElement *g = NULL;
    RelnGroup *gl3 = NULL;
    Run r;

    (void)state;
    run_init(&r,
             "{symmetry: so:3, inputs: [{name: C, as: covariance}], target: {name: y, as: scalar},"
             " model: {width: 6}, train: {dtype: f64}}");
    assert_ok(r.w.ctx, reln_group_create(r.w.ctx, "gl:3", &gl3));
    assert_ok(r.w.ctx, reln_group_random(gl3, &rng, 3, &g));
    r.net.n_taps = 0; /* taps are left out, since their reps belong to the smaller group */
    assert_true(broken_by(&r, g) > 1e-2);
    reln_element_destroy(g);
    reln_group_destroy(gl3);
    run_clear(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_follows_its_symmetry),
        cmocka_unit_test(an_mlp_does_not_follow),
        cmocka_unit_test(frames_outside_of_the_symmetry_are_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
