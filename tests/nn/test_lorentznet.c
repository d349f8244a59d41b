/* Compares a network of messages between all pairs of particles with arrays that the published code computed:
 * values, gradients of every weight and input, statistics of its norms; in tiles of any size, in functions
 * and without. Weights of rows express the published padding: rows of padding count in the norm of rows,
 * their pairs do not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fixture.h"
#include "reln/ops.h"
#include "support/golden.h"

enum { JETS = 3, NODES = 11, H = 8, BLOCKS = 3, WEIGHTS = 1717, STATES = 12 * H };

#define TOLERANCE                                                                                  \
    1e-10 /* of the largest number of an array; 34 layers of doubles summed in another order */

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static double *load(const char *name, ptrdiff_t want)
{
    ptrdiff_t dims[4], count = 1;
    double *values = NULL;
    char path[64];
    int rank;

    snprintf(path, sizeof path, "jets/%s", name);
    assert_true(golden_load(path, 4, dims, &rank, &values));
    for (int i = 0; i < rank; i++)
        count *= dims[i];
    assert_int_equal(count, want);
    return values;
}

static double largest(const double *x, ptrdiff_t n)
{
    double most = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

static void agrees(const char *what, const double *have, const double *want, ptrdiff_t n,
                   double most)
{
    double off = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        off = fmax(off, fabs(have[i] - want[i]));
    if (!(off <= TOLERANCE * most))
        fail_msg("%s: off by %g of %g", what, off, most);
}

static void output_agrees(const RelnPlan *plan, const char *output, const char *name, ptrdiff_t n)
{
    double *want = load(name, n);
    ptrdiff_t items = 0;
    const double *have = reln_plan_output(plan, output, &items);

    assert_non_null(have);
    agrees(name, have, want, n, largest(want, n));
    free(want);
}

/* ---- the network ------------------------------------------------------------------------------------------------- */

typedef struct Net {
    Fixture f;
    RelnGraph
        *g; /* the graph in which nodes are built: the main graph, or the body of a function */
    RelnDomain nodes, pairs;
    const RelnRep *vector;
    RelnNode *mask, *scalars, *params[64];
    int n_params;
    bool train;
} Net;

/* Creates a parameter. The arrays are read in the order of these calls. */
static RelnNode *param(Net *n, int rows, int columns)
{
    char name[16];
    RelnNode *w;

    snprintf(name, sizeof name, "w%02d", n->n_params);
    w = reln_param(n->f.graph, name, (RelnDims){.r = rows, .c = columns},
                   (RelnInit){RELN_INIT_CONSTANT, 0.0});
    n->params[n->n_params++] = w;
    return w;
}

static RelnNode *rows_of(Net *n, RelnNode *w, int first, int count)
{
    return reln_slice(n->f.graph, w, RELN_R, first, count);
}

/* <x, y> with the signs (+, -, -, -) */
static RelnNode *minkowski(Net *n, RelnNode *x, RelnNode *y)
{
    static const double eta[16] = {1, 0, 0, 0, 0, -1, 0, 0, 0, 0, -1, 0, 0, 0, 0, -1};

    return reln_pair(n->g, x, reln_linear_map(n->g, y, eta, reln_rep_dual(n->vector)));
}

/* sign(t) ln(1 + |t|) */
static RelnNode *psi(Net *n, RelnNode *t)
{
    return reln_mul(n->g, reln_sign(n->g, t),
                    reln_log(n->g, reln_shift(n->g, reln_abs(n->g, t), 1.0, 1.0)));
}

typedef struct Norm {
    RelnNode *gamma, *beta, *mean, *var; /* statistics of the batch, or running ones */
} Norm;

static Norm norm_of(Net *n, const char *name)
{
    char mean[24], var[24];

    snprintf(mean, sizeof mean, "%s.mean", name);
    snprintf(var, sizeof var, "%s.var", name);
    return (Norm){.mean = reln_state(n->f.graph, mean, (RelnDims){.c = H}, (RelnInit){0}),
                  .var = reln_state(n->f.graph, var, (RelnDims){.c = H}, (RelnInit){0})};
}

static RelnNode *normalised(Net *n, const Norm *norm, RelnNode *u)
{
    RelnNode *size = reln_sqrt(n->g, reln_shift(n->g, norm->var, 1.0, 1e-5));

    return reln_add(
        n->g, reln_mul(n->g, reln_sub(n->g, u, norm->mean), reln_div(n->g, norm->gamma, size)),
        norm->beta);
}

static void remember(Net *n, RelnNode *state, RelnNode *now)
{
    reln_assign(
        n->f.graph, state,
        reln_add(n->f.graph, reln_scale(n->f.graph, state, 0.9), reln_scale(n->f.graph, now, 0.1)));
}

/* A Messages holds the inputs of messages. Statistics are computed in separate functions: sums over the batch
 * of the values of `make`, with weights. */
typedef struct Messages {
    RelnNode *by_first, *by_second, *x, *w_scalars; /* nodes of rows, and weights */
} Messages;

static RelnNode *pair_weight(Net *n)
{
    return reln_mul(n->g, reln_spread(n->g, n->mask, n->pairs),
                    reln_spread_second(n->g, n->mask, n->pairs));
}

static RelnNode *first_layer(Net *n, const Messages *m, RelnNode **difference)
{
    RelnNode *xi = reln_spread(n->g, m->x, n->pairs),
             *xj = reln_spread_second(n->g, m->x, n->pairs);
    RelnNode *d = reln_sub(n->g, xi, xj);
    RelnNode *s[2] = {psi(n, minkowski(n, d, d)), psi(n, minkowski(n, xi, xj))};
    RelnNode *ends = reln_add(n->g, reln_spread(n->g, m->by_first, n->pairs),
                              reln_spread_second(n->g, m->by_second, n->pairs));

    *difference = d;
    return reln_add(n->g, ends, reln_mix(n->g, reln_concat(n->g, 2, s, RELN_C), m->w_scalars));
}

/* sum of weight q(u) over all pairs of the batch, and of the weights, by a call */
static void pair_sums(Net *n, const Messages *m, RelnNode *mean, RelnNode **sum, RelnNode **weight)
{
    RelnNode *outs[2], *u, *w, *unused;

    n->g = reln_fn_begin(n->f.graph, "statistics");
    u = first_layer(n, m, &unused);
    if (mean)
        u = reln_square(n->g, reln_sub(n->g, u, mean));
    w = pair_weight(n);
    outs[0] = reln_batch_sum(n->g, reln_mul(n->g, w, u));
    outs[1] = reln_batch_sum(n->g, w);
    assert_true(reln_call(n->f.graph, reln_fn_end(n->g, 2, outs), 0, NULL, outs));
    n->g = n->f.graph;
    *sum = outs[0];
    *weight = outs[1];
}

static void pair_statistics(Net *n, const Messages *m, Norm *norm)
{
    RelnGraph *g = n->f.graph;
    RelnNode *sum, *weight, *squares, *mean, *again;

    if (!n->train)
        return;
    pair_sums(n, m, NULL, &sum, &weight);
    mean = reln_div(g, sum, weight);
    pair_sums(n, m, mean, &squares, &again);
    remember(n, norm->mean, mean);
    remember(n, norm->var, reln_div(g, squares, reln_shift(g, weight, 1.0, -1.0)));
    norm->mean = mean;
    norm->var = reln_div(g, squares, weight);
}

static void node_statistics(Net *n, RelnNode *u, Norm *norm)
{
    RelnGraph *g = n->f.graph;
    RelnNode *count, *mean, *squares;

    if (!n->train)
        return;
    count = reln_batch_sum(g, reln_spread(g, reln_scalar(g, 1.0), n->nodes));
    mean = reln_div(g, reln_batch_sum(g, u), count);
    squares = reln_batch_sum(g, reln_square(g, reln_sub(g, u, mean)));
    remember(n, norm->mean, mean);
    remember(n, norm->var, reln_div(g, squares, reln_shift(g, count, 1.0, -1.0)));
    norm->mean = mean;
    norm->var = reln_div(g, squares, count);
}

/* x W + b */
static RelnNode *dense(Net *n, RelnNode *x, RelnNode *w, RelnNode *b)
{
    return reln_add(n->g, reln_mix(n->g, x, w), b);
}

static void block(Net *n, int index, RelnNode **h, RelnNode **x)
{
    RelnGraph *g = n->f.graph;
    const bool moves = index < BLOCKS - 1;
    char name[16];
    Norm edge, node;
    Messages m;
    RelnNode *w1, *w2, *b2, *gate_w, *gate_b, *x1 = NULL, *xb = NULL, *x2 = NULL, *v1, *c1, *v2,
                                              *c2;
    RelnNode *d, *u, *outs[2], *hidden, *degree;
    RelnGraph *body;

    snprintf(name, sizeof name, "e%d", index);
    edge = norm_of(n, name);
    snprintf(name, sizeof name, "h%d", index);
    node = norm_of(n, name);
    w1 = param(n, 2 * H + 2, H);
    edge.gamma = param(n, 1, H);
    edge.beta = param(n, 1, H);
    w2 = param(n, H, H);
    b2 = param(n, 1, H);
    gate_w = param(n, H, 1);
    gate_b = param(n, 1, 1);
    if (moves) {
        x1 = param(n, H, H);
        xb = param(n, 1, H);
        x2 = param(n, H, 1);
    }
    v1 = param(n, 2 * H + 2, H);
    c1 = param(n, 1, H);
    node.gamma = param(n, 1, H);
    node.beta = param(n, 1, H);
    v2 = param(n, H, H);
    c2 = param(n, 1, H);

    m = (Messages){reln_mix(g, *h, rows_of(n, w1, 0, H)), reln_mix(g, *h, rows_of(n, w1, H, H)), *x,
                   rows_of(n, w1, 2 * H, 2)};
    pair_statistics(n, &m, &edge);
    body = n->g = reln_fn_begin(g, "messages");
    u = reln_relu(body, normalised(n, &edge, first_layer(n, &m, &d)));
    u = reln_relu(body, dense(n, u, w2, b2));
    u = reln_mul(body, u, reln_sigmoid(body, dense(n, u, gate_w, gate_b)));
    outs[0] = reln_reduce(body, reln_mul(body, pair_weight(n), u), n->nodes);
    if (moves) {
        u = reln_mix(body, reln_relu(body, dense(n, u, x1, xb)), x2);
        outs[1] = reln_reduce(body, reln_mul(body, reln_mul(body, pair_weight(n), u), d), n->nodes);
    }
    assert_true(reln_call(g, reln_fn_end(body, moves ? 2 : 1, outs), 0, NULL, outs));
    n->g = g;
    if (moves) {
        degree = reln_reduce(g, pair_weight(n), n->nodes);
        degree = reln_maximum(g, degree, reln_expand(g, reln_scalar(g, 1.0), degree));
        *x = reln_add(g, *x, reln_scale(g, reln_div(g, outs[1], degree), 0.005));
    }
    hidden = reln_concat(g, 3, (RelnNode *[]){*h, outs[0], n->scalars}, RELN_C);
    hidden = dense(n, hidden, v1, c1);
    node_statistics(n, hidden, &node);
    hidden = dense(n, reln_relu(g, normalised(n, &node, hidden)), v2, c2);
    *h = reln_add(g, *h, hidden);
}

static void build(Net *n, bool train)
{
    RelnGraph *g;
    RelnNode *x, *h, *pooled, *w, *b, *label, *loss, *gs[66], *xs[66];
    char name[16];

    memset(n, 0, sizeof *n);
    fixture_init(&n->f, "gl:4", "lorentz", RELN_F64);
    g = n->g = n->f.graph;
    n->train = train;
    n->vector = reln_rep_vector(reln_graph_group(g));
    n->nodes = reln_rows(g, "nodes", 2 * NODES);
    n->pairs = reln_pairs(g, "pairs", n->nodes, n->nodes, false);
    x = xs[0] = reln_input(g, "p", n->nodes, (RelnDims){.k = 4}, n->vector, RELN_DEFAULT);
    n->scalars = xs[1] = reln_input(g, "scalars", n->nodes, (RelnDims){.c = 2}, NULL, RELN_DEFAULT);
    n->mask = reln_input(g, "mask", n->nodes, (RelnDims){.c = 1}, NULL, RELN_DEFAULT);
    label = reln_input_index(g, "label", RELN_SAMPLES, (RelnDims){.c = 1}, RELN_STEP, 2);
    w = param(n, 2, H);
    h = dense(n, n->scalars, w, param(n, 1, H));
    for (int i = 0; i < BLOCKS; i++) {
        block(n, i, &h, &x);
        snprintf(name, sizeof name, "h%d", i);
        reln_output(g, name, h);
        snprintf(name, sizeof name, "x%d", i);
        reln_output(g, name, x);
    }
    pooled = reln_scale(g, reln_reduce(g, reln_mul(g, n->mask, h), RELN_SAMPLES), 1.0 / NODES);
    w = param(n, H, H);
    b = param(n, 1, H);
    pooled = reln_relu(g, dense(n, pooled, w, b));
    w = param(n, H, 2);
    pooled = dense(n, pooled, w, param(n, 1, 2));
    reln_output(g, "logits", pooled);
    loss = reln_batch_mean(g, reln_cross_entropy(g, pooled, label));
    reln_output(g, "loss", loss);
    for (int i = 0; i < n->n_params; i++)
        xs[i + 2] = n->params[i];
    assert_true(reln_grad(g, loss, n->n_params + 2, xs, gs));
    for (int i = 0; i < n->n_params + 2; i++) {
        snprintf(name, sizeof name, "g%d", i);
        reln_output(g, name, gs[i]);
    }
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static void set_states(Net *n, const double *values)
{
    static const char *const kinds[] = {"e", "h"}, *const parts[] = {"mean", "var"};

    for (int i = 0; i < 12; i++) {
        RelnEntryInfo entry;
        char name[16];

        snprintf(name, sizeof name, "%s%d.%s", kinds[i / 2 % 2], i / 4, parts[i % 2]);
        assert_true(reln_store_find(n->f.store, name, &entry));
        if (values)
            memcpy(entry.values, values + (ptrdiff_t)i * H, H * sizeof *values);
    }
}

static void set_weights(Net *n)
{
    double *w = load("weights", WEIGHTS);
    ptrdiff_t at = 0;

    for (int i = 0; i < n->n_params; i++) {
        RelnEntryInfo entry;

        assert_true(reln_store_find(n->f.store, reln_node_name(n->params[i]), &entry));
        memcpy(entry.values, w + at, entry.count * sizeof *w);
        at += (ptrdiff_t)entry.count;
    }
    assert_int_equal(at, WEIGHTS);
    free(w);
}

static RelnPlan *run(Net *n, int tile)
{
    static const int32_t counts[JETS] = {NODES, NODES, NODES};
    double *p = load("Pmu", JETS * NODES * 4), *s = load("node_scalars", JETS * NODES * 2);
    double *mask = load("node_mask", JETS * NODES), *label = load("label", JETS);
    double *states = load(n->train ? "states_before" : "states_after", STATES);
    int32_t labels[JETS];
    RelnPlan *plan = NULL;

    for (int i = 0; i < JETS; i++)
        labels[i] = (int32_t)label[i];
    set_weights(n);
    set_states(n, states);
    assert_ok(n->f.ctx, reln_plan_create(n->f.graph, &(RelnPlanOptions){.tile = tile}, &plan));
    assert_ok(n->f.ctx, reln_plan_bind_rows_sized(plan, "nodes", counts, JETS));
    assert_ok(n->f.ctx, reln_plan_bind_sized(plan, "p", p, RELN_F64, JETS * NODES * 4));
    assert_ok(n->f.ctx, reln_plan_bind_sized(plan, "scalars", s, RELN_F64, JETS * NODES * 2));
    assert_ok(n->f.ctx, reln_plan_bind_sized(plan, "mask", mask, RELN_F64, JETS * NODES));
    assert_ok(n->f.ctx, reln_plan_bind_sized(plan, "label", labels, RELN_I32, JETS));
    assert_ok(n->f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = JETS}));
    free(p);
    free(s);
    free(mask);
    free(label);
    free(states);
    return plan;
}

static void gradients_agree(const Net *n, const RelnPlan *plan, const char *array)
{
    double *want = load(array, WEIGHTS);
    const double most = largest(want, WEIGHTS); /* that of a shift before a norm is 0 */
    ptrdiff_t at = 0;
    char name[16];

    for (int i = 0; i < n->n_params; i++) {
        const RelnDims d = reln_node_dims(n->params[i]);

        snprintf(name, sizeof name, "g%d", i + 2);
        agrees(name, reln_plan_output(plan, name, NULL), want + at, (ptrdiff_t)d.r * d.c, most);
        at += (ptrdiff_t)d.r * d.c;
    }
    free(want);
}

static void compare(bool train, int tile)
{
    const char *mode = train ? "train" : "eval";
    char name[32];
    RelnPlan *plan;
    double *after;
    Net n;

    build(&n, train);
    plan = run(&n, tile);
    for (int i = 0; i < BLOCKS; i++) {
        char output[8];

        snprintf(output, sizeof output, "h%d", i);
        snprintf(name, sizeof name, "%s_block%d_h", mode, i);
        output_agrees(plan, output, name, JETS * NODES * H);
        snprintf(output, sizeof output, "x%d", i);
        snprintf(name, sizeof name, "%s_block%d_x", mode, i);
        output_agrees(plan, output, name, JETS * NODES * 4);
    }
    snprintf(name, sizeof name, "%s_logits", mode);
    output_agrees(plan, "logits", name, JETS * 2);
    snprintf(name, sizeof name, "%s_loss", mode);
    output_agrees(plan, "loss", name, 1);
    snprintf(name, sizeof name, "%s_grad_Pmu", mode);
    output_agrees(plan, "g0", name, JETS * NODES * 4);
    snprintf(name, sizeof name, "%s_grad_node_scalars", mode);
    output_agrees(plan, "g1", name, JETS * NODES * 2);
    snprintf(name, sizeof name, "%s_grad", mode);
    gradients_agree(&n, plan, name);
    after = load("states_after", STATES);
    for (int i = 0; train && i < 12; i++) {
        static const char *const kinds[] = {"e", "h"}, *const parts[] = {"mean", "var"};
        RelnEntryInfo entry;

        snprintf(name, sizeof name, "%s%d.%s", kinds[i / 2 % 2], i / 4, parts[i % 2]);
        assert_true(reln_store_find(n.f.store, name, &entry));
        agrees(name, entry.values, after + (ptrdiff_t)i * H, H,
               largest(after + (ptrdiff_t)i * H, H));
    }
    free(after);
    reln_plan_destroy(plan);
    fixture_clear(&n.f);
}

static void training_is_as_published(void **state)
{
    static const int tiles[] = {0, 1, 7, 1000};

    (void)state;
    for (int i = 0; i < 4; i++)
        compare(true, tiles[i]);
}

static void evaluation_is_as_published(void **state)
{
    static const int tiles[] = {0, 1, 7, 1000};

    (void)state;
    for (int i = 0; i < 4; i++)
        compare(false, tiles[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_is_as_published),
        cmocka_unit_test(evaluation_is_as_published),
    };

    return cmocka_run_group_tests_name("nn/lorentznet", tests, NULL, NULL);
}
