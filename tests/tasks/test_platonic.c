/* Tests the Platonic task: homographies against geometry and the published code, and networks in both forms. */
#include <float.h>
#include <math.h>

#include "tasks/network.h"
#include "tasks/platonic/platonic.h"

enum { SAMPLES = 9, WIDTH = 16 };

static PlatonicElements elements;

static const PlatonicModel both = {
    .kind = PLATONIC_LAYERS, .width = WIDTH, .relu = true, .bracket = true};
static const PlatonicModel best = {.kind = PLATONIC_BEST, .width = WIDTH};

static int make_elements(void **state)
{
    RelnSetting s;

    (void)state;
    assert_ok(s.ctx, reln_setting_init(&s, "sl:3", "sl:3", RELN_F64, 1));
    assert_ok(s.ctx, platonic_elements(s.algebra, &elements));
    reln_setting_clear(&s);
    return 0;
}

/* ---- data --------------------------------------------------------------------------------------------------------- */

static void there_are_24_60_and_12_edges_and_156_complex_logarithms(void **state)
{
    (void)state;
    assert_int_equal(elements.first[0], 0);
    assert_int_equal(elements.first[1], 24);
    assert_int_equal(elements.first[2], 84);
    assert_int_equal(elements.first[3], 96);
    assert_int_equal(elements.n_halved, 156);
}

static void a_homography_takes_four_points_to_four_points(void **state)
{
    const double from[4][2] = {{0, 0}, {2, 0.5}, {3, 4}, {-1, 2}};
    const double to[4][2] = {{1, 1}, {2, 1.5}, {2, 3}, {0.5, 2.5}};
    const double line[4][2] = {{0, 0}, {1, 1}, {2, 2}, {5, 1}};
    double h[9];

    (void)state;
    assert_true(platonic_homography(from, to, h));
    for (int i = 0; i < 4; i++) {
        const double x = from[i][0], y = from[i][1], w = h[6] * x + h[7] * y + h[8];
        const double got[2] = {(h[0] * x + h[1] * y + h[2]) / w, (h[3] * x + h[4] * y + h[5]) / w};
        assert_near(got, to[i], 2, 1e3 * DBL_EPSILON);
    }
    assert_false(platonic_homography(line, to, h));
}

static double distance(const double *a, const double *b, int count)
{
    double most = 0, size = 0;

    for (int i = 0; i < count; i++) {
        most = fmax(most, fabs(a[i] - b[i]));
        size = fmax(size, fabs(b[i]));
    }
    return most / size;
}

/* Every published triple is one of ours, each a different one. The published vertices are rounded to single precision, which
 * moves logarithms by up to 3.3e-4 of their largest entry. */
static void match(RelnCtx *ctx, const char *name, int class, double tol)
{
    RelnArray want = golden(ctx, name);
    bool used[PLATONIC_ELEMENTS] = {false};

    assert_int_equal(want.dims[0], elements.first[class + 1] - elements.first[class]);
    for (ptrdiff_t i = 0; i < want.dims[0]; i++) {
        int nearest = -1;
        double least = HUGE_VAL;
        for (int e = elements.first[class]; e < elements.first[class + 1]; e++) {
            const double d = distance(elements.log[e][0], want.f64 + i * 27, 27);
            if (d < least)
                least = d, nearest = e;
        }
        assert_small(least, tol);
        assert_false(used[nearest]);
        used[nearest] = true;
    }
    reln_array_clear(&want);
}

static void logarithms_are_those_of_the_published_code(void **state)
{
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    match(ctx, "platonic/octa_logH_re", 0, 5e-5);
    match(ctx, "platonic/icosa_logH_re", 1, 3.3e-4);
    match(ctx, "platonic/tetra_logH_re", 2, 8e-6);
    reln_ctx_destroy(ctx);
}

static void rotations_of_the_camera_commute_with_the_logarithm(void **state)
{
    static double turned[PLATONIC_ELEMENTS][PLATONIC_K][PLATONIC_CHANNELS];
    double ad[PLATONIC_K * PLATONIC_K], turned_h[PLATONIC_K], matrix[9], log[9];
    RelnRng rng = reln_rng(4, 1);
    RelnSetting s;

    (void)state;
    assert_ok(s.ctx, reln_setting_init(&s, "sl:3", "sl:3", RELN_F64, 1));
    assert_ok(s.ctx, platonic_rotation(s.algebra, &rng, false, ad));
    platonic_rotate(ad, &elements, turned);
    for (int e = 0; e < PLATONIC_ELEMENTS; e += 7)
        for (int c = 0; c < PLATONIC_CHANNELS; c++) {
            /* R H R^-1 from the traceless part of H, whose trace no rotation changes */
            const double *h = elements.h[e][c], mean = (h[0] + h[4] + h[8]) / 3;
            double traceless[9], x[PLATONIC_K], want[PLATONIC_K];
            bool halved;
            for (int i = 0; i < 9; i++)
                traceless[i] = h[i] - (i % 4 == 0 ? mean : 0);
            reln_algebra_vee(s.algebra, traceless, x);
            for (int k = 0; k < PLATONIC_K; k++) {
                turned_h[k] = 0;
                for (int j = 0; j < PLATONIC_K; j++)
                    turned_h[k] += ad[k * PLATONIC_K + j] * x[j];
                want[k] = turned[e][k][c];
            }
            reln_algebra_hat(s.algebra, turned_h, matrix);
            for (int i = 0; i < 9; i += 4)
                matrix[i] += mean;
            assert_ok(s.ctx, platonic_log(s.ctx, matrix, log, &halved));
            reln_algebra_vee(s.algebra, log, x);
            assert_small(distance(x, want, PLATONIC_K), 1e-8); /* cond(H) reaches 1e6 */
        }
    reln_setting_clear(&s);
}

static void samples_are_of_one_solid_and_rotations_keep_the_form(void **state)
{
    double ad[PLATONIC_K * PLATONIC_K];
    int32_t labels[300], which[300 * PLATONIC_SET];
    int seen[PLATONIC_CLASSES] = {0};
    RelnRng rng = reln_rng(4, 2);
    RelnSetting s;

    (void)state;
    platonic_draw(&elements, &rng, 300, labels, which);
    for (int i = 0; i < 300 * PLATONIC_SET; i++) {
        const int c = labels[i / PLATONIC_SET];
        seen[c]++;
        assert_true(which[i] >= elements.first[c] && which[i] < elements.first[c + 1]);
    }
    for (int c = 0; c < PLATONIC_CLASSES; c++) /* 100 of 300, sigma 8.2 */
        assert_true(abs(seen[c] / PLATONIC_SET - 100) < 41);
    assert_ok(s.ctx, reln_setting_init(&s, "sl:3", "sl:3", RELN_F64, 1));
    for (int euler = 0; euler < 2; euler++) {
        double x[PLATONIC_K], y[PLATONIC_K] = {0};
        assert_ok(s.ctx, platonic_rotation(s.algebra, &rng, euler, ad));
        fill_normal(&rng, PLATONIC_K, x);
        for (int i = 0; i < PLATONIC_K * PLATONIC_K; i++)
            y[i / PLATONIC_K] += ad[i] * x[i % PLATONIC_K];
        const double want = reln_algebra_form(s.algebra, x, x),
                     got = reln_algebra_form(s.algebra, y, y);
        assert_near(&got, &want, 1, 1e3 * DBL_EPSILON);
        assert_true(distance(x, y, PLATONIC_K) > 1e-2);
    }
    reln_setting_clear(&s);
}

/* ---- networks ------------------------------------------------------------------------------------------------------ */

static size_t count(const PlatonicModel *model, const char *symmetry)
{
    Network n;
    size_t parameters;

    network_init(&n, symmetry, "sl:3");
    assert_non_null(platonic_network(&n.net, model));
    parameters = reln_store_parameters(n.s.store);
    if (model->kind != PLATONIC_MLP) {
        assert_non_null(platonic_network_shared(&n.net, model));
        assert_int_equal(reln_store_parameters(n.s.store), parameters);
    }
    network_clear(&n);
    return parameters;
}

static void networks_have_the_published_numbers_of_parameters(void **state)
{
    PlatonicModel m = {.kind = PLATONIC_LAYERS, .width = 256, .relu = true, .bracket = true};

    (void)state;
    assert_int_equal(count(&m, "sl:3"), 331272);
    m.bracket = false;
    assert_int_equal(count(&m, "sl:3"), 134664);
    m.bracket = true, m.relu = false;
    assert_int_equal(count(&m, "sl:3"), 200200);
    m = (PlatonicModel){.kind = PLATONIC_MLP, .hidden = 3, .width = 256};
    assert_int_equal(count(&m, "none:3"), 206339);
    m.width = 386;
    assert_int_equal(count(&m, "none:3"), 411479);
    m = (PlatonicModel){.kind = PLATONIC_BEST, .width = 64};
    assert_true(count(&m, "sl:3") < 331272);
}

static RelnNode *entropy(RelnGraph *g, RelnNode *logits)
{
    RelnNode *label =
        reln_input_index(g, "label", RELN_SAMPLES, (RelnDims){0}, RELN_STEP, PLATONIC_CLASSES);

    return reln_batch_mean(g, reln_cross_entropy(g, logits, label));
}

static void gather(ptrdiff_t n, const int32_t *which, double *x)
{
    for (ptrdiff_t i = 0; i < n * PLATONIC_SET; i++)
        memcpy(x + i * PLATONIC_ROW, elements.x[which[i]], sizeof elements.x[0]);
}

/* The two plans of one network, run on the same samples. */
static void compare(const PlatonicModel *model)
{
    static double x[SAMPLES * PLATONIC_SET * PLATONIC_ROW];
    int32_t labels[SAMPLES], which[SAMPLES * PLATONIC_SET];
    RelnRng rng = reln_rng(4, 3);
    RelnGraph *g = NULL;
    RelnNet net;
    Network n;

    platonic_draw(&elements, &rng, SAMPLES, labels, which);
    gather(SAMPLES, which, x);
    network_init(&n, "sl:3", "sl:3");
    network_again(&n, &g, &net);
    RelnNode *plain = platonic_network(&n.net, model),
             *shared = platonic_network_shared(&net, model);
    n.plan = network_plan(n.s.graph, plain, entropy(n.s.graph, plain));
    RelnPlan *other = network_plan(g, shared, entropy(g, shared));
    assert_ok(n.s.ctx, reln_plan_bind(n.plan, "x", x, RELN_F64));
    assert_ok(n.s.ctx, reln_plan_bind(n.plan, "label", labels, RELN_I32));
    assert_ok(n.s.ctx, reln_plan_bind(other, "elements", elements.x, RELN_F64));
    assert_ok(n.s.ctx, reln_plan_bind(other, "which", which, RELN_I32));
    assert_ok(n.s.ctx, reln_plan_bind(other, "label", labels, RELN_I32));
    assert_ok(n.s.ctx, reln_plan_run(n.plan, &(RelnRun){.n_samples = SAMPLES}));
    assert_ok(n.s.ctx, reln_plan_run(other, &(RelnRun){.n_samples = SAMPLES}));
    /* the same sums in another order: a few hundred terms in a few products */
    assert_near(reln_plan_output(other, "out", NULL), reln_plan_output(n.plan, "out", NULL),
                SAMPLES * PLATONIC_CLASSES, 4096 * DBL_EPSILON);
    for (int i = 0; i < reln_store_count(n.s.store); i++) {
        const RelnEntryInfo entry = reln_store_entry(n.s.store, i);
        assert_near(network_grad(other, entry.name), network_grad(n.plan, entry.name),
                    (ptrdiff_t)entry.count, 4096 * DBL_EPSILON);
    }
    reln_plan_destroy(other);
    reln_graph_destroy(g);
    network_clear(&n);
}

static void shared_elements_give_the_values_and_gradients_of_whole_sets(void **state)
{
    PlatonicModel m = both;

    (void)state;
    compare(&m);
    m.bracket = false;
    compare(&m);
    m.bracket = true, m.relu = false;
    compare(&m);
    compare(&best);
}

static const struct {
    const char *parameter, *golden;
} names[] = {{"one.W", "W1"},  {"one.U", "U1"},   {"two.W", "W2"}, {"two.Wa", "Wa"},
             {"two.Wb", "Wb"}, {"pool.Wq", "Wq"}, {"out.W", "wf"}};
enum { N_NAMES = sizeof names / sizeof names[0] };

static RelnArray golden_of(RelnCtx *ctx, const char *kind, int i)
{
    char name[64];

    snprintf(name, sizeof name, "platonic/net_%s_%s", kind, names[i].golden);
    return golden(ctx, name);
}

/* (n, channel, K, element) to (n, element, K, channel) */
static void turn(const RelnArray *from, double *to)
{
    for (ptrdiff_t i = 0; i < reln_array_count(from); i++) {
        const ptrdiff_t e = i % PLATONIC_SET, k = i / PLATONIC_SET % PLATONIC_K,
                        c = i / (PLATONIC_SET * PLATONIC_K) % PLATONIC_CHANNELS,
                        n = i / (PLATONIC_SET * PLATONIC_ROW);
        to[((n * PLATONIC_SET + e) * PLATONIC_K + k) * PLATONIC_CHANNELS + c] = from->f64[i];
    }
}

static void the_network_gives_the_published_logits_and_gradients(void **state)
{
    static double x[6 * PLATONIC_SET * PLATONIC_ROW];
    int32_t labels[6];
    Network n;

    (void)state;
    network_init(&n, "sl:3", "sl:3");
    RelnNode *out = platonic_network(&n.net, &both);
    n.plan = network_plan(n.s.graph, out, entropy(n.s.graph, out));
    for (int i = 0; i < N_NAMES; i++) {
        RelnArray w = golden_of(n.s.ctx, "init", i);
        set_golden_weights(n.s.store, names[i].parameter, &w);
        reln_array_clear(&w);
    }
    RelnArray in = golden(n.s.ctx, "platonic/net_x"), label = golden(n.s.ctx, "platonic/net_label"),
              want = golden(n.s.ctx, "platonic/net_logits");
    turn(&in, x);
    for (int i = 0; i < 6; i++)
        labels[i] = (int32_t)label.f64[i];
    assert_ok(n.s.ctx, reln_plan_bind(n.plan, "x", x, RELN_F64));
    assert_ok(n.s.ctx, reln_plan_bind(n.plan, "label", labels, RELN_I32));
    assert_ok(n.s.ctx, reln_plan_run(n.plan, &(RelnRun){.n_samples = 6}));
    assert_near(reln_plan_output(n.plan, "out", NULL), want.f64, reln_array_count(&want),
                4096 * DBL_EPSILON);
    for (int i = 0; i < N_NAMES; i++) {
        RelnArray grad = golden_of(n.s.ctx, "grad", i);
        assert_golden_grad(network_grad(n.plan, names[i].parameter), &grad, 4096 * DBL_EPSILON);
        reln_array_clear(&grad);
    }
    reln_array_clear(&in);
    reln_array_clear(&label);
    reln_array_clear(&want);
    network_clear(&n);
}

/* Must fail: an MLP of coordinates promises an invariance that it has not. */
static void an_mlp_is_refused_under_the_symmetry(void **state)
{
    const PlatonicModel mlp = {.kind = PLATONIC_MLP, .hidden = 3, .width = WIDTH};
    Network n;

    (void)state;
    network_init(&n, "sl:3", "sl:3");
    assert_null(platonic_network(&n.net, &mlp));
    assert_int_equal(reln_graph_status(n.s.graph), RELN_ERR_REP);
    network_clear(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_are_24_60_and_12_edges_and_156_complex_logarithms),
        cmocka_unit_test(a_homography_takes_four_points_to_four_points),
        cmocka_unit_test(logarithms_are_those_of_the_published_code),
        cmocka_unit_test(rotations_of_the_camera_commute_with_the_logarithm),
        cmocka_unit_test(samples_are_of_one_solid_and_rotations_keep_the_form),
        cmocka_unit_test(networks_have_the_published_numbers_of_parameters),
        cmocka_unit_test(shared_elements_give_the_values_and_gradients_of_whole_sets),
        cmocka_unit_test(the_network_gives_the_published_logits_and_gradients),
        cmocka_unit_test(an_mlp_is_refused_under_the_symmetry),
    };

    return cmocka_run_group_tests(tests, make_elements, NULL);
}
