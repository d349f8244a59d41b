/* Compares layers and products of the drone networks, and their derivatives, with numbers of the published
 * code and of e3nn: some are in the source tree, others are used where all reference arrays exist beside it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/support.h"
#include "tasks/drone/nets.h"

enum { BATCH = 4, CHANNELS = 5, TIMES = 12, MOST = BATCH * CHANNELS * 9 * TIMES };

static bool load(RelnCtx *ctx, const char *name, RelnArray *a)
{
    static const char *const places[2] = {"tests/golden/drone", "../shared/golden/drone"};
    char path[512];

    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s/%s.npy", RELN_SOURCE_DIR, places[i], name);
        if (reln_npy_load(ctx, path, a) == RELN_OK)
            return true;
    }
    return false;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

static void products_are_those_of_e3nn(void **state)
{
    static const int k_of[3] = {1, 3, 9};
    int compared = 0;

    (void)state;
    for (int i = 0; i < DRONE_PATHS; i++) {
        const DronePathway *p = &drone_pathways[i];
        /* e3nn's product of two matrices into a vector has the other sign */
        const double sign = p->from == 2 && p->filter == 2 && p->to == 1 ? -1 : 1;
        RelnCtx *ctx;
        RelnSetting s;
        RelnPlan *plan;
        RelnNode *a, *b;
        const RelnRep *reps[3] = {NULL};
        RelnArray in[2], want;
        const double *out;
        char name[64];

        assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
        snprintf(name, sizeof name, "tfn/tp_%dx%dto%d_y", p->from, p->filter, p->to);
        if (!load(ctx, name, &want)) { /* or the larger type is first: the same product */
            reln_ctx_destroy(ctx);
            continue;
        }
        for (int j = 0; j < 2; j++) {
            name[strlen(name) - 1] = j == 0 ? 'a' : 'b';
            assert_true(load(ctx, name, &in[j]));
        }
        assert_ok(ctx, reln_setting_init_in(&s, ctx, "so:3", "gl:3", RELN_F64, 1));
        reps[1] = reln_rep_vector(s.group);
        reps[2] = reln_rep_matrix(s.group);
        a = reln_input(s.graph, "a", RELN_SAMPLES, (RelnDims){.k = k_of[p->from]}, reps[p->from],
                       RELN_DEFAULT);
        b = reln_input(s.graph, "b", RELN_SAMPLES, (RelnDims){.k = k_of[p->filter]},
                       reps[p->filter], RELN_DEFAULT);
        reln_output(s.graph, "out",
                    drone_product(&(RelnNet){.graph = s.graph, .algebra = s.algebra}, a, p->from, b,
                                  p->filter, p->to, p->scale));
        assert_ok(ctx, reln_plan_create(s.graph, NULL, &plan));
        assert_ok(ctx, reln_plan_bind(plan, "a", in[0].f64, RELN_F64));
        assert_ok(ctx, reln_plan_bind(plan, "b", in[1].f64, RELN_F64));
        assert_ok(ctx, reln_plan_run(plan, &(RelnRun){.n_samples = want.dims[0]}));
        out = reln_plan_output(plan, "out", NULL);
        for (ptrdiff_t j = 0; j < want.dims[0] * k_of[p->to]; j++)
            if (!(fabs(out[j] - sign * want.f64[j]) < 1e-13))
                fail_msg("%s: %g, wanted %g", name, out[j], sign * want.f64[j]);
        compared++;
        reln_array_clear(&want);
        reln_array_clear(&in[0]);
        reln_array_clear(&in[1]);
        reln_plan_destroy(plan);
        reln_setting_clear(&s);
        reln_ctx_destroy(ctx);
    }
    assert_true(compared >= 2);
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

typedef enum Kind { GATE, CUBIC, VECTOR_NORM, MATRIX_NORM, BRACKET, CROSS, PAIRS } Kind;

typedef struct Layer {
    const char *name; /* of its arrays */
    const char *mode; /* "", or "eval_" and "train_" of norms */
    Kind kind;
    double slope;
    int times;
    double tolerance; /* relative to the largest number of an array */
} Layer;

static RelnNode *built(const RelnNet *net, const Layer *l, RelnNode *x)
{
    switch (l->kind) {
    case GATE:
        return drone_vector_relu(net, "l", x, l->slope);
    case CUBIC:
        return reln_nn_relu(net, "l", x, &(RelnRelu){.leak = l->slope});
    case VECTOR_NORM:
    case MATRIX_NORM:
        return drone_length_norm(net, "l", x, l->kind == VECTOR_NORM);
    case BRACKET:
        return reln_nn_bracket(net, "l", x);
    case CROSS:
        return reln_add(net->graph, x,
                        drone_cross(net, reln_nn_linear(net, "two", x, CHANNELS),
                                    reln_nn_linear(net, "one", x, CHANNELS)));
    default:
        return drone_pair_mean(net, x);
    }
}

/* Converts the published [B, C, K, T of `from`] to (B, T, K, C) of the first `times`. */
static void turn(const double *theirs, int k, int from, int times, double *ours)
{
    for (int b = 0; b < BATCH; b++)
        for (int c = 0; c < CHANNELS; c++)
            for (int i = 0; i < k; i++)
                for (int t = 0; t < times; t++)
                    ours[((b * times + t) * k + i) * CHANNELS + c] =
                        theirs[((b * CHANNELS + c) * k + i) * from + t];
}

static void compare(const Layer *l, const char *what, const double *got, const double *want, int n)
{
    double worst = 0, size = 0;

    for (int i = 0; i < n; i++) {
        worst = fmax(worst, fabs(got[i] - want[i]));
        size = fmax(size, fabs(want[i]));
    }
    if (!(worst <= l->tolerance * size))
        fail_msg("%s, %s%s: off by %g of %g", l->name, l->mode, what, worst, size);
}

/* Returns the name of the published array for one of our parameters or states; NULL: there is none. */
static const char *their_part(const Layer *l, const char *ours)
{
    const char *part = strchr(ours, '.') + 1;

    if (l->kind == BRACKET)
        return strcmp(part, "Wa") == 0 ? "W1" : "W2";
    if (l->kind == CROSS)
        return strncmp(ours, "one", 3) == 0 ? "W1" : "W2";
    if (l->kind == GATE || l->kind == CUBIC)
        return "U";
    if (strcmp(part, "mean") == 0 || strcmp(part, "var") == 0)
        return part[0] == 'm' ? "mean_after" : "var_after";
    return part;
}

static void fill(RelnCtx *ctx, const Layer *l, RelnStore *store)
{
    for (int i = 0; i < reln_store_count(store); i++) {
        const RelnEntryInfo e = reln_store_entry(store, i);
        RelnArray a;
        char name[96];

        snprintf(name, sizeof name, "layers/%s_%s", l->name, their_part(l, e.name));
        assert_true(load(ctx, name, &a));
        for (int k = 0; k < (int)e.count; k++) /* W[out, in] is ours (in, out) */
            ((double *)e.values)[k] =
                e.count == CHANNELS ? a.f64[k] : a.f64[k % CHANNELS * CHANNELS + k / CHANNELS];
        reln_array_clear(&a);
    }
}

static void check_part(RelnCtx *ctx, const Layer *l, RelnPlan *plan, const char *part, int k,
                       int times)
{
    static double ours[MOST];
    const bool of_x = strcmp(part, "y") == 0 || strcmp(part, "grad_x") == 0;
    const double *got = reln_plan_output(plan, part, NULL);
    RelnArray a;
    char name[96];

    snprintf(name, sizeof name, "layers/%s_%s%s", l->name, l->mode, part);
    assert_true(load(ctx, name, &a));
    if (of_x)
        turn(a.f64, k, (int)a.dims[3], times, ours);
    else
        for (int i = 0; i < CHANNELS * CHANNELS; i++)
            ours[i] = a.f64[i % CHANNELS * CHANNELS + i / CHANNELS];
    compare(l, part, got, ours, of_x ? BATCH * CHANNELS * k * times : CHANNELS * CHANNELS);
    reln_array_clear(&a);
}

/* Compares values, and the gradients of sum(r y) with respect to x and, for gates, to their weights. */
static bool check_layer(const Layer *l)
{
    static double x[MOST], r[MOST];
    const bool matrices = l->kind == CUBIC || l->kind == MATRIX_NORM || l->kind == BRACKET ||
                          strstr(l->name, "k9") != NULL,
               norm = l->kind == VECTOR_NORM || l->kind == MATRIX_NORM;
    const int k = matrices ? 9 : 3, after = l->kind == PAIRS ? (l->times + 1) / 2 : l->times;
    RelnCtx *ctx;
    RelnSetting s;
    RelnPlan *plan;
    RelnNode *in, *out, *cotangent, *xs[2], *grads[2];
    RelnArray a;
    char name[96];
    int n = 1;

    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    snprintf(name, sizeof name, "layers/%s_%sr", l->name, l->mode);
    if (!load(ctx, name, &a)) {
        reln_ctx_destroy(ctx);
        return false;
    }
    turn(a.f64, k, (int)a.dims[3], after, r);
    reln_array_clear(&a);
    if (norm)
        snprintf(name, sizeof name, "layers/%s_x", l->name);
    else
        snprintf(name, sizeof name, "layers/%s", matrices ? "xm" : "xv");
    assert_true(load(ctx, name, &a));
    turn(a.f64, k, (int)a.dims[3], l->times, x);
    reln_array_clear(&a);
    assert_ok(ctx, reln_setting_init_in(&s, ctx, "so:3", "gl:3", RELN_F64, 1));
    const RelnNet net = {
        .graph = s.graph, .algebra = s.algebra, .train = strcmp(l->mode, "train_") == 0};
    const RelnRep *rep = matrices ? reln_rep_matrix(s.group) : reln_rep_vector(s.group);

    in = reln_input(s.graph, "x", RELN_SAMPLES, (RelnDims){.p = l->times, .k = k, .c = CHANNELS},
                    rep, RELN_DEFAULT);
    cotangent = reln_input(s.graph, "r", RELN_SAMPLES,
                           (RelnDims){.p = after, .k = k, .c = CHANNELS}, rep, RELN_DEFAULT);
    out = built(&net, l, in);
    xs[0] = in;
    if (l->kind == GATE || l->kind == CUBIC)
        xs[n++] = reln_graph_param(s.graph, 0);
    assert_true(reln_vjp(s.graph, 1, &out, &cotangent, n, xs, grads));
    reln_output(s.graph, "y", out);
    reln_output(s.graph, "grad_x", grads[0]);
    if (n > 1)
        reln_output(s.graph, "grad_U", grads[1]);
    assert_ok(ctx, reln_plan_create(s.graph, NULL, &plan));
    fill(ctx, l, s.store);
    assert_ok(ctx, reln_plan_bind(plan, "x", x, RELN_F64));
    assert_ok(ctx, reln_plan_bind(plan, "r", r, RELN_F64));
    assert_ok(ctx, reln_plan_run(plan, &(RelnRun){.n_samples = BATCH}));
    check_part(ctx, l, plan, "y", k, after);
    check_part(ctx, l, plan, "grad_x", k, l->times);
    if (n > 1)
        check_part(ctx, l, plan, "grad_U", k, 0);
    reln_plan_destroy(plan);
    reln_setting_clear(&s);
    reln_ctx_destroy(ctx);
    return true;
}

static void layers_are_the_published_ones(void **state)
{
    static const Layer layers[] = {
        {"vnrelu00", "", GATE, 0, 12, 1e-12},
        {"vnrelu01", "", GATE, 0.1, 12, 1e-12},
        {"vnrelu_k9_00", "", GATE, 0, 12, 1e-12},
        {"lnrelu_gl3_01", "", CUBIC, 0.1, 12, 1e-12},
        {"lnrelu_gl3_00", "", CUBIC, 0, 12, 1e-12},
        {"vnbn", "eval_", VECTOR_NORM, 0, 12, 1e-12},
        {"vnbn", "train_", VECTOR_NORM, 0, 12, 1e-10},
        {"vnbn_tiny", "eval_", VECTOR_NORM, 0, 12, 1e-10},
        {"lnbn", "eval_", MATRIX_NORM, 0, 12, 1e-12},
        {"lnbn", "train_", MATRIX_NORM, 0, 12, 1e-10},
        {"lnbn_tiny", "eval_", MATRIX_NORM, 0, 12, 1e-10},
        {"bracket_gl3", "", BRACKET, 0, 12, 1e-12},
        {"bracket_so3", "", CROSS, 0, 12, 1e-12},
        {"pairpool_even", "", PAIRS, 0, 12, 1e-12},
        {"pairpool_odd", "", PAIRS, 0, 11, 1e-12},
    };

    int compared = 0;

    (void)state;
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        compared += check_layer(&layers[i]);
    assert_true(compared >= 2);
}

/* Symmetric and skew parts add up in a length and are subtracted in the form of the algebra. After the norm
 * the mean of |y|^4 is 1, up to the added 1e-5, which is small here. */
static void a_norm_by_size_sees_lengths(void **state)
{
    enum { N = 50 };
    double x[9 * N], sum = 0;
    const double *y;
    RelnCtx *ctx;
    RelnSetting s;
    RelnPlan *plan;

    (void)state;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 9; k++)
            x[9 * i + k] = (k / 3 < k % 3 ? 1 : k % 4 == 0 ? 0.7 : -1) * (1 + 0.1 * i);
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_setting_init_in(&s, ctx, "so:3", "gl:3", RELN_F64, 1));
    reln_output(s.graph, "out",
                drone_size_norm(&(RelnNet){.graph = s.graph, .algebra = s.algebra, .train = true},
                                "n",
                                reln_input(s.graph, "x", RELN_SAMPLES, (RelnDims){.k = 9},
                                           reln_rep_matrix(s.group), RELN_DEFAULT)));
    assert_ok(ctx, reln_plan_create(s.graph, NULL, &plan));
    assert_ok(ctx, reln_plan_bind_sized(plan, "x", x, RELN_F64, 9 * N));
    assert_ok(ctx, reln_plan_run(plan, &(RelnRun){.n_samples = N}));
    y = reln_plan_output(plan, "out", NULL);
    for (int i = 0; i < N; i++) {
        double square = 0;

        for (int k = 0; k < 9; k++)
            square += y[9 * i + k] * y[9 * i + k];
        sum += square * square / N;
    }
    assert_true(fabs(sum - 1) < 1e-5);
    reln_plan_destroy(plan);
    reln_setting_clear(&s);
    reln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_e3nn),
        cmocka_unit_test(layers_are_the_published_ones),
        cmocka_unit_test(a_norm_by_size_sees_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
