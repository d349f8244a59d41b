/* Compares first and second derivatives of layers on sets with differences, on rows of vectors of so:3 and of
 * lorentz. */
#include <math.h>
#include <string.h>

#include "graph/fixture.h"
#include "reln/nn.h"
#include "reln/ops.h"

enum { SAMPLES = 4, TOTAL = 13, ROWS = 32, MOST_K = 4, C = 2, COUNT = TOTAL * MOST_K * C };

/* A single row and an empty set are among the sets. */
static const int32_t sizes[SAMPLES] = {6, 1, 0, 6};
static const RelnScales scales = {2.0, 2, {1, 10}};

typedef RelnNode *Build(const RelnNet *net, RelnNode *x);

/* ---- layers -------------------------------------------------------------------------------------------------------- */

static RelnNode *invariants_of(const RelnNet *net, RelnNode *x)
{
    return reln_nn_lengths(net, x, &scales);
}

/* Joins both results of a layer as invariants of rows. */
static RelnNode *both(const RelnNet *net, RelnFeatures f)
{
    RelnNode *y[2] = {invariants_of(net, f.x), f.s};

    return reln_concat(net->graph, 2, y, RELN_C);
}

static RelnNode *messages(const RelnNet *net, RelnNode *x)
{
    return both(net, reln_nn_messages(net, "m", (RelnFeatures){x, invariants_of(net, x)},
                                      &(RelnMessages){.hidden = 5,
                                                      .gate = true,
                                                      .move = true,
                                                      .residual = true,
                                                      .limit = 3,
                                                      .scales = scales,
                                                      .activation = RELN_ACT_SILU}));
}

static RelnNode *messages_with_norm(const RelnNet *net, RelnNode *x)
{
    return both(net, reln_nn_messages(net, "m", (RelnFeatures){x, invariants_of(net, x)},
                                      &(RelnMessages){.hidden = 4,
                                                      .channels = 3,
                                                      .norm = true,
                                                      .scales = scales,
                                                      .activation = RELN_ACT_TANH}));
}

static RelnNode *messages_of_the_nearest(const RelnNet *net, RelnNode *x)
{
    const RelnDomain near = reln_fixed(net->graph, "near", reln_node_domain(x), 2);

    return both(net,
                reln_nn_messages(net, "m", (RelnFeatures){x, invariants_of(net, x)},
                                 &(RelnMessages){.hidden = 4,
                                                 .pairs = near,
                                                 .other = reln_nearest_rows(net->graph, x, x, near),
                                                 .move = true,
                                                 .scales = scales,
                                                 .activation = RELN_ACT_SILU}));
}

static const RelnExchange round_options = {.sums = 3,
                                           .width = 4,
                                           .scales = {2.0, 2, {1, 10}},
                                           .norm = true,
                                           .count = 3,
                                           .activation = RELN_ACT_SILU};

/* Joins all results of two rounds as invariants of the rows of `x`. */
static RelnNode *rounds(const RelnNet *net, RelnSet set, RelnNode *keep)
{
    RelnExchange options = round_options;
    RelnGraph *g = net->graph;
    const RelnDomain rows = reln_node_domain(set.x);
    RelnNode *y[3];

    options.keep = keep;
    set = reln_nn_exchange(net, "one", &set, &options);
    set = reln_nn_exchange(net, "two", &set, &options);
    y[0] = set.s;
    y[1] = reln_spread(g, set.z, rows);
    y[2] = reln_spread(g, invariants_of(net, set.sums), rows);
    return reln_concat(g, 3, y, RELN_C);
}

static RelnNode *exchange(const RelnNet *net, RelnNode *x)
{
    RelnNode *total = reln_reduce(net->graph, x, RELN_SAMPLES);

    return rounds(net, (RelnSet){x, invariants_of(net, x), total, NULL}, total);
}

static RelnNode *exchange_in_groups(const RelnNet *net, RelnNode *x)
{
    RelnGraph *g = net->graph;
    const RelnDomain groups = reln_fixed(g, "groups", RELN_SAMPLES, 2);
    const RelnDomain members = reln_fixed(g, "members", groups, 3);
    RelnNode *c = reln_gather(g, x, reln_farthest_rows(g, x, groups));
    RelnNode *d = reln_sub(g, reln_gather(g, x, reln_nearest_rows(g, c, x, members)),
                           reln_spread(g, c, members));

    return rounds(net, (RelnSet){d, invariants_of(net, d), reln_reduce_mean(g, d, groups), NULL},
                  c);
}

static RelnNode *far_rows(const RelnNet *net, RelnNode *x)
{
    return invariants_of(net, reln_nn_far_rows(net, x, 2));
}

static RelnNode *attention(const RelnNet *net, RelnNode *x)
{
    return both(net, reln_nn_attention(net, "a", (RelnFeatures){x, invariants_of(net, x)}, 2));
}

static RelnNode *cross_attention(const RelnNet *net, RelnNode *x)
{
    const RelnFeatures own = {x, invariants_of(net, x)};
    const RelnFeatures from = {reln_nn_linear(net, "from", x, C), own.s};

    return both(net, reln_nn_cross_attention(net, "a", own, from, 2));
}

static RelnNode *transformer(const RelnNet *net, RelnNode *x)
{
    return both(net,
                reln_nn_transformer(net, "t", (RelnFeatures){x, invariants_of(net, x)},
                                    &(RelnTransformer){.heads = 2, .activation = RELN_ACT_SILU}));
}

static RelnNode *pool_softmax(const RelnNet *net, RelnNode *x)
{
    return invariants_of(net, reln_nn_pool_softmax(net, "p", x, RELN_POOL_ROWS));
}

static RelnNode *pool_max(const RelnNet *net, RelnNode *x)
{
    return invariants_of(net, reln_nn_pool_max(net, "p", x, RELN_POOL_ROWS, false));
}

static RelnNode *norms(const RelnNet *net, RelnNode *x)
{
    RelnNode *s = reln_nn_batch_norm_invariants(net, "b", invariants_of(net, x), NULL);

    return reln_nn_layer_norm_invariants(net, "l", s);
}

/* The list has no reln_nn_parts(): its shares have no gradient, so differences do not agree with it. `kinks`:
 * derivatives jump where a choice changes. `definite`: the layer needs distances. */
static const struct {
    const char *name;
    Build *build;
    bool kinks, definite;
} layers[] = {
    {"messages", messages, false, false},
    {"messages with norms", messages_with_norm, false, false},
    {"messages of the nearest", messages_of_the_nearest, true, true},
    {"exchange", exchange, true, false},
    {"exchange in groups", exchange_in_groups, true, true},
    {"far rows", far_rows, true, false},
    {"attention", attention, false, false},
    {"cross attention", cross_attention, false, false},
    {"transformer", transformer, false, false},
    {"pool softmax", pool_softmax, false, false},
    {"pool max", pool_max, true, false},
    {"norms of invariants", norms, false, false},
};
enum { N_LAYERS = sizeof layers / sizeof *layers };

/* ---- derivatives --------------------------------------------------------------------------------------------------- */

typedef struct Net {
    Fixture f;
    RelnPlan *plan;
    int count; /* numbers of x */
} Net;

/* L = sum of tanh of the results, its gradient G, and H = the gradient of <G, v>. */
static void net_init(Net *n, const char *group, Build *build)
{
    RelnGraph *g;
    RelnNet net;
    RelnDomain rows;
    RelnNode *x, *v, *y, *loss, *grad = NULL, *hessian = NULL;
    const RelnRep *rep;
    const int k = strcmp(group, "lorentz") == 0 ? 4 : 3;

    memset(n, 0, sizeof *n);
    fixture_init(&n->f, k == 4 ? "gl:4" : "gl:3", group, RELN_F64);
    g = n->f.graph;
    net = (RelnNet){.graph = g, .train = true};
    rep = reln_rep_vector(n->f.group);
    rows = reln_rows(g, "points", ROWS);
    x = reln_input(g, "x", rows, (RelnDims){.k = k, .c = C}, rep, RELN_DEFAULT);
    v = reln_input(g, "v", rows, (RelnDims){.k = k, .c = C}, rep, RELN_DEFAULT);
    n->count = TOTAL * k * C;
    y = build(&net, x);
    assert_ok(n->f.ctx, reln_graph_status(g));
    y = reln_tanh(g, y);
    if (reln_node_domain(y) != RELN_SAMPLES)
        y = reln_reduce(g, y, RELN_SAMPLES);
    loss = reln_sum_all(g, y);
    assert_true(reln_grad(g, loss, 1, &x, &grad));
    y = reln_sum_all(g, reln_reduce(g, reln_pair(g, grad, v), RELN_SAMPLES));
    assert_true(reln_grad(g, y, 1, &x, &hessian));
    reln_output(g, "loss", reln_batch_sum(g, loss));
    reln_output(g, "first", reln_batch_sum(g, y));
    reln_output(
        g, "second",
        reln_batch_sum(g, reln_sum_all(g, reln_reduce(g, reln_pair(g, hessian, v), RELN_SAMPLES))));
    assert_ok(n->f.ctx, reln_graph_status(g));
    assert_ok(n->f.ctx, reln_plan_create(g, NULL, &n->plan));
    assert_ok(n->f.ctx, reln_plan_bind_rows(n->plan, "points", sizes));
}

static double run(Net *n, const double *x, const double *v, double t, const char *output)
{
    double moved[COUNT];

    for (int i = 0; i < n->count; i++)
        moved[i] = x[i] + t * v[i];
    assert_ok(n->f.ctx, reln_plan_bind(n->plan, "x", moved, RELN_F64));
    assert_ok(n->f.ctx, reln_plan_bind(n->plan, "v", v, RELN_F64));
    assert_ok(n->f.ctx, reln_plan_run(n->plan, &(RelnRun){.n_samples = SAMPLES}));
    return *(const double *)reln_plan_output(n->plan, output, NULL);
}

/* Returns whether L' = <G, v> and L'' = <H v, v> hold for a draw. Differences of five points with step h are
 * off by h^4 times a derivative of order 5, and by rounding divided by h. L'' is compared with differences of
 * <G, v>, which are tested first. */
static bool agrees(Net *n, RelnRng *rng)
{
    const double h = 1e-3;
    double x[COUNT], v[COUNT], f[5], d[5], first, second, d1, d2;

    fill_normal(rng, n->count, x);
    fill_normal(rng, n->count, v);
    for (int i = 0; i < n->count; i++)
        v[i] *= 0.1;
    for (int t = 0; t < 5; t++) {
        f[t] = run(n, x, v, (t - 2) * h, "loss");
        d[t] = *(const double *)reln_plan_output(n->plan, "first", NULL);
    }
    first = d[2];
    second = run(n, x, v, 0, "second");
    d1 = (f[0] - 8 * f[1] + 8 * f[3] - f[4]) / (12 * h);
    d2 = (d[0] - 8 * d[1] + 8 * d[3] - d[4]) / (12 * h);
    return fabs(d1 - first) < 1e-6 * (1 + fabs(first)) &&
           fabs(d2 - second) < 1e-5 * (1 + fabs(second));
}

static void derivatives_of_both_orders_are_those_of_differences(void **state)
{
    static const char *const groups[] = {"so:3", "lorentz"};

    (void)state;
    for (int l = 0; l < N_LAYERS; l++)
        for (int group = 0; group < (layers[l].definite ? 1 : 2); group++) {
            RelnRng rng = reln_rng(5, (uint64_t)l);
            int good = 0;
            Net n;

            net_init(&n, groups[group], layers[l].build);
            for (int draw = 0; draw < 10; draw++)
                good += agrees(&n, &rng);
            if (good < (layers[l].kinks || group == 1 ? 6 : 10))
                fail_msg("%s of %s: %d of 10 draws have the derivatives of differences",
                         layers[l].name, groups[group], good);
            reln_plan_destroy(n.plan);
            fixture_clear(&n.f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_of_both_orders_are_those_of_differences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
