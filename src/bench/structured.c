/* structured.c -- networks on sets, pairs and sequences: message passing, neighbours, attention, convolution.
 *
 * bench/peers/README.md defines each of them, with the names and shapes of its parameters, and has them in other
 * software. One function builds one network. Nominal operations are those of the matrix products as written there, with
 * layers on pairs split by their ends; work that is done again is not counted again.
 */
#include <math.h>
#include <stdio.h>

#include "bench/bench.h"

/* The parameter "<name>.<part>", a matrix from `from` channels to `to` of them. */
static RelnNode *matrix(BenchNet *b, const char *name, const char *part, int from, int to)
{
    char full[64];

    snprintf(full, sizeof full, "%s.%s", name, part);
    return reln_param(b->net.graph, full, (RelnDims){.r = from, .c = to},
                      (RelnInit){RELN_INIT_UNIFORM, 1.0 / sqrt((double)from)});
}

/* x W with the parameter W = "<name>.<part>" */
static RelnNode *mixed(BenchNet *b, const char *name, const char *part, RelnNode *x, int to)
{
    if (!x)
        return NULL;
    bench_count(b, x, 1, to, true);
    return reln_mix(b->net.graph, x, matrix(b, name, part, reln_node_dims(x).c, to));
}

/* A row of parameters "<name>.<part>", all of one value at the start. */
static RelnNode *row(BenchNet *b, const char *name, const char *part, int channels, double start)
{
    char full[64];

    snprintf(full, sizeof full, "%s.%s", name, part);
    return reln_param(b->net.graph, full, (RelnDims){.c = channels},
                      (RelnInit){RELN_INIT_CONSTANT, start});
}

/* "block<i>.<layer>", in the caller's storage */
typedef struct Name {
    char text[32];
} Name;

static Name block_name(int i, const char *layer)
{
    Name name;

    snprintf(name.text, sizeof name.text, "block%d.%s", i, layer);
    return name;
}

/* ---- batch norm of invariants --------------------------------------------------------------------------------------- */

typedef struct Moments {
    RelnNode *mean, *var; /* (C) at step level */
} Moments;

/* sum over P, Q and the batch */
static RelnNode *total(RelnGraph *g, RelnNode *x)
{
    return reln_batch_sum(g, reln_sum(g, reln_sum(g, x, RELN_Q), RELN_P));
}

/* Mean over `each` items of a sample: all of x without those of `left_out`, which may be NULL. */
static RelnNode *mean_of(RelnGraph *g, RelnNode *x, RelnNode *left_out, double each)
{
    RelnNode *sum = total(g, x);

    if (left_out)
        sum = reln_sub(g, sum, total(g, left_out));
    return reln_div(g, sum, reln_scale(g, reln_batch_count(g), each));
}

static Moments moments(RelnGraph *g, RelnNode *x, RelnNode *left_out, double each)
{
    RelnNode *mean = mean_of(g, x, left_out, each);
    RelnNode *own = left_out ? reln_square(g, reln_sub(g, left_out, mean)) : NULL;

    return (Moments){mean, mean_of(g, reln_square(g, reln_sub(g, x, mean)), own, each)};
}

static RelnNode *statistic(BenchNet *b, const char *name, const char *part, int channels,
                           double start)
{
    char full[64];

    snprintf(full, sizeof full, "%s.%s", name, part);
    return reln_state(b->net.graph, full, (RelnDims){.c = channels},
                      (RelnInit){RELN_INIT_CONSTANT, start});
}

static void remember(RelnGraph *g, RelnNode *kept, RelnNode *now)
{
    reln_assign(g, kept, reln_add(g, reln_scale(g, kept, 0.9), reln_scale(g, now, 0.1)));
}

/* gamma (x - mean) / sqrt(var + 1e-5) + beta, with statistics of the batch when it trains, recalled ones otherwise. */
static RelnNode *batch_norm(BenchNet *b, const char *name, RelnNode *x, RelnNode *left_out,
                            double each)
{
    RelnGraph *g = b->net.graph;
    const int c = x ? reln_node_dims(x).c : 1;
    Moments kept = {statistic(b, name, "mean", c, 0.0), statistic(b, name, "var", c, 1.0)},
            m = kept;
    RelnNode *gamma = row(b, name, "gamma", c, 1.0), *beta = row(b, name, "beta", c, 0.0), *scale;

    if (b->net.train) {
        m = moments(g, x, left_out, each);
        remember(g, kept.mean, m.mean);
        remember(g, kept.var, m.var);
    }
    scale = reln_div(g, gamma, reln_sqrt(g, reln_shift(g, m.var, 1.0, 1e-5)));
    return reln_add(g, reln_mul(g, reln_sub(g, x, m.mean), scale), beta);
}

/* ---- message passing -------------------------------------------------------------------------------------------------- */

/* psi(x) = sign(x) log(1 + |x|) */
static RelnNode *psi(RelnGraph *g, RelnNode *x)
{
    return reln_mul(g, reln_sign(g, x), reln_log(g, reln_shift(g, reln_abs(g, x), 1.0, 1.0)));
}

/* Invariants of pairs, n particles: of (i, j) as (P = n, Q = n, C = 2), and of (i, i) as (P = n, C = 2). */
typedef struct Pairs {
    RelnNode *all, *own;
} Pairs;

/* psi(<x_i - x_j, x_i - x_j>) and psi(<x_i, x_j>) of four-vectors x (R = n, K = 4) */
static Pairs minkowski(BenchNet *b, RelnNode *x)
{
    static const double eta[16] = {1, 0, 0, 0, 0, -1, 0, 0, 0, 0, -1, 0, 0, 0, 0, -1};
    RelnGraph *g = b->net.graph;
    const int n = b->c->points;
    RelnNode *low, *dot, *q, *sums, *all[2], *own[2];

    if (!x)
        return (Pairs){NULL, NULL};
    low = reln_linear_map(g, x, eta, reln_rep_dual(reln_node_rep(x)));
    dot = reln_gram(g, x, low); /* (R = n, C = n) */
    q = reln_pair(g, x, low);   /* (R = n) */
    sums = reln_add(g, q, reln_reshape(g, q, (RelnDims){.c = n}));
    all[0] = psi(g, reln_sub(g, sums, reln_scale(g, dot, 2.0)));
    all[1] = psi(g, dot);
    for (int i = 0; i < 2; i++)
        all[i] = reln_reshape(g, all[i], (RelnDims){.p = n, .q = n});
    own[1] = reln_reshape(g, psi(g, q), (RelnDims){.p = n});
    own[0] = reln_scale(g, own[1], 0.0);
    return (Pairs){reln_concat(g, 2, all, RELN_C), reln_concat(g, 2, own, RELN_C)};
}

/* 1 for i != j, (P = n, Q = n) */
static RelnNode *not_self(BenchNet *b)
{
    enum { MOST = 64 };
    const int n = b->c->points;
    double values[MOST * MOST];

    for (int i = 0; i < n * n; i++)
        values[i] = i % (n + 1) ? 1.0 : 0.0;
    return reln_const(b->net.graph, (RelnDims){.p = n, .q = n}, NULL, values);
}

/* Layers on all pairs have been counted since `before`; those of i = j are not nominal. */
static void count_not_self(BenchNet *b, double before)
{
    b->flops -= (b->flops - before) / b->c->points;
}

/* m_ij, gated: h (P = n, C) -> (P = n, Q = n, C), 0 for i = j. The first layer is split by its ends; its batch norm is over
 * the pairs i != j, that is all pairs without the diagonal. */
static RelnNode *messages(BenchNet *b, int block, RelnNode *h, const Pairs *pairs)
{
    RelnGraph *g = b->net.graph;
    const int n = b->c->points, c = b->c->width;
    const Name edge = block_name(block, "edge");
    RelnNode *first = mixed(b, edge.text, "W1", h, c), *second = mixed(b, edge.text, "W2", h, c);
    const double before = b->flops;
    RelnNode *y = mixed(b, edge.text, "W3", pairs->all, c);
    RelnNode *own = reln_mix(g, pairs->own, matrix(b, edge.text, "W3", 2, c)), *m, *gate;

    y = reln_add(g, reln_add(g, y, first), reln_reshape(g, second, (RelnDims){.q = n, .c = c}));
    own = reln_add(g, reln_add(g, own, first), second);
    y = reln_relu(g, batch_norm(b, edge.text, y, own, (double)n * (n - 1)));
    m = reln_relu(g, bench_dense(b, block_name(block, "message").text, y, c));
    gate = reln_sigmoid(g, bench_dense(b, block_name(block, "gate").text, m, 1));
    count_not_self(b, before);
    return reln_mul(g, m, reln_mul(g, gate, not_self(b)));
}

/* x_i + 0.005 mean over j of (x_i - x_j) f_ij, f from the messages; x (R = n, K = 4) */
static RelnNode *moved(BenchNet *b, int block, RelnNode *x, RelnNode *m)
{
    RelnGraph *g = b->net.graph;
    const int n = b->c->points;
    const double before = b->flops;
    RelnNode *f = reln_relu(g, bench_dense(b, block_name(block, "move").text, m, b->c->width));

    f = mixed(b, block_name(block, "size").text, "W", f, 1);
    count_not_self(b, before);
    f = reln_reshape(g, f, (RelnDims){.r = n, .c = n});
    return reln_add(
        g, x,
        reln_scale(g, reln_sub(g, reln_mul(g, reln_sum(g, f, RELN_C), x), reln_weigh(g, f, x)),
                   0.005 / (n - 1)));
}

/* h + phi([h, sum_j m_ij, s]) */
static RelnNode *updated(BenchNet *b, int block, RelnNode *h, RelnNode *m, RelnNode *s)
{
    RelnGraph *g = b->net.graph;
    const int c = b->c->width;
    const Name node = block_name(block, "node");
    RelnNode *y = reln_add(g, mixed(b, node.text, "W1", h, c),
                           mixed(b, node.text, "W2", reln_sum(g, m, RELN_Q), c));

    y = reln_add(g, y, mixed(b, node.text, "W3", s, c));
    y = reln_add(g, y, row(b, node.text, "b", c, 0.0));
    y = reln_relu(g, batch_norm(b, node.text, y, NULL, b->c->points));
    return reln_add(g, h, bench_dense(b, block_name(block, "update").text, y, c));
}

/* LorentzNet with two blocks: particles with four-momenta and two numbers each, all pairs, two classes. */
static RelnNode *message_passing(BenchNet *b)
{
    enum { BLOCKS = 2 };
    const int n = b->c->points, c = b->c->width;
    RelnNode *s = b->x = bench_input(b, "s", (RelnDims){.p = n, .c = 2}, NULL);
    RelnNode *x = bench_input(b, "p", (RelnDims){.r = n, .k = 4},
                              reln_rep_vector(reln_graph_group(b->net.graph)));
    RelnNode *h = bench_dense(b, "embed", s, c), *m;

    for (int i = 0; i < BLOCKS; i++) {
        const Pairs pairs = minkowski(b, x);

        m = messages(b, i, h, &pairs);
        if (i + 1 < BLOCKS)
            x = moved(b, i, x, m);
        h = updated(b, i, h, m, s);
    }
    h = bench_dense(b, "decode", reln_mean(b->net.graph, h, RELN_P), c);
    return bench_dense(b, "out", reln_relu(b->net.graph, h), 2);
}

/* ---- sets -------------------------------------------------------------------------------------------------------------- */

enum { NEIGHBOURS = 16, CLASSES = 10 };

/* h (P, K, C) to the pairs of a point and its neighbours (P, Q, K, C): h_i W1 + h_j W2. */
static RelnNode *ends(RelnGraph *g, RelnNode *first, RelnNode *second, RelnNode *near)
{
    return reln_add(g, reln_pick(g, second, near, RELN_P), first);
}

/* Mean over the neighbours j of relu(relu(h_i W1 + h_j W2) W). The first layer is split by its ends, and so is the direction
 * of its gate, (h_i W1 + h_j W2) U. */
static RelnNode *neighbours(BenchNet *b, int block, RelnNode *h, RelnNode *near)
{
    RelnGraph *g = b->net.graph;
    const int c = b->c->width;
    const Name one = block_name(block, "ends"), two = block_name(block, "pair");
    RelnNode *first = mixed(b, one.text, "W1", h, c), *second = mixed(b, one.text, "W2", h, c);
    RelnNode *y = ends(g, first, second, near);
    RelnNode *d =
        ends(g, mixed(b, one.text, "U", first, c), mixed(b, one.text, "U", second, c), near);

    y = reln_add(g, y, reln_mul(g, reln_relu(g, reln_nn_form(&b->net, y, d)), d));
    return reln_mean(g, bench_relu(b, two.text, bench_linear(b, two.text, y, c)), RELN_Q);
}

/* A set of elements of gl(3) with given neighbours, two blocks, ten classes. */
static RelnNode *set_network(BenchNet *b)
{
    enum { BLOCKS = 2 };
    RelnGraph *g = b->net.graph;
    const int n = b->c->points, c = b->c->width;
    RelnNode *x = b->x = bench_input(
        b, "x", (RelnDims){.p = n, .k = reln_rep_dim(b->rep), .c = b->c->channels}, b->rep);
    RelnNode *near = bench_index(b, "near", (RelnDims){.p = n, .q = NEIGHBOURS}, n);
    RelnNode *h = bench_linear(b, "embed", x, c);

    for (int i = 0; i < BLOCKS; i++) {
        RelnNode *m = neighbours(b, i, h, near);

        h = reln_add(g, h, bench_linear(b, block_name(i, "mean").text, m, c));
        h = bench_bracket(b, block_name(i, "bracket").text, h);
    }
    return bench_dense(b, "out", reln_nn_invariant(&b->net, reln_mean(g, h, RELN_P)), CLASSES);
}

/* ---- transformer ------------------------------------------------------------------------------------------------------- */

/* gamma_c x / sqrt(mean over K and C of x^2 + 1e-6), point by point */
static RelnNode *rms_norm(BenchNet *b, const char *name, RelnNode *x)
{
    RelnGraph *g = b->net.graph;
    RelnNode *square;

    if (!x)
        return NULL;
    square = reln_mean(g, reln_pair(g, x, x), RELN_C);
    square = reln_shift(g, square, 1.0 / reln_node_dims(x).k, 1e-6);
    return reln_mul(
        g, x, reln_div(g, row(b, name, "gamma", reln_node_dims(x).c, 1.0), reln_sqrt(g, square)));
}

/* Attention with residual; scores and sums are products too. */
static RelnNode *attention(BenchNet *b, const char *name, RelnNode *x, int heads)
{
    bench_count(b, x, 4, b->c->width, true);
    bench_count(b, x, 2, b->c->points, true);
    return reln_nn_attention(&b->net, name, (RelnFeatures){.x = x}, heads).x;
}

/* One block on tokens of gl(3) under rotations: attention, then a wide gate and a bracket side by side. */
static RelnNode *transformer(BenchNet *b)
{
    enum { HEADS = 6 };
    RelnGraph *g = b->net.graph;
    const int c = b->c->width;
    RelnNode *x = b->x = bench_input(
        b, "x", (RelnDims){.p = b->c->points, .k = reln_rep_dim(b->rep), .c = b->c->channels},
        b->rep);
    RelnNode *z = rms_norm(b, "norm1", bench_linear(b, "embed", x, c)), *y;

    z = rms_norm(b, "norm2", attention(b, "attention", z, HEADS));
    y = bench_relu(b, "wide", bench_linear(b, "wide", z, 2 * c));
    y = reln_add(g, bench_bracket(b, "bracket", z), bench_linear(b, "narrow", y, c));
    return bench_dense(b, "out", reln_mean(g, reln_nn_invariant(&b->net, y), RELN_P), CLASSES);
}

/* ---- ResNet -------------------------------------------------------------------------------------------------------------- */

/* Convolution along P, then the norm that divides by the size of a channel over batch and time. */
static RelnNode *conv_norm(BenchNet *b, const char *name, RelnNode *x, int width, int stride)
{
    const RelnConv conv = {
        .channels = b->c->width, .width = width, .stride = stride, .pad = width / 2};
    RelnNode *y = reln_nn_conv(&b->net, name, x, &conv);
    RelnDims d;

    if (!y)
        return NULL;
    d = reln_node_dims(y);
    b->flops += 2.0 *
                (b->pass == BENCH_FORWARD ? 1
                 : x == b->x              ? 2
                                          : 3) *
                d.p * d.k * width * reln_node_dims(x).c * d.c;
    return reln_nn_batch_norm(&b->net, name, y, RELN_NORM_INVARIANT);
}

/* The ReLU of Vector Neurons, d = x U: x + max(0, -<x,d>) / (<d,d> + 1e-6) d */
static RelnNode *vector_relu(BenchNet *b, const char *name, RelnNode *x)
{
    RelnGraph *g = b->net.graph;
    RelnNode *d = mixed(b, name, "U", x, b->c->width);
    RelnNode *t = reln_nn_form(&b->net, x, d), *q = reln_nn_form(&b->net, d, d);
    RelnNode *amount =
        reln_div(g, reln_relu(g, reln_scale(g, t, -1.0)), reln_shift(g, q, 1.0, 1e-6));

    return reln_add(g, x, reln_mul(g, amount, d));
}

/* conv, norm, ReLU, conv, norm, and the input added; where the stride is not 1, through a convolution of width 1 */
static RelnNode *residual(BenchNet *b, int block, RelnNode *x, int stride)
{
    const Name one = block_name(block, "one"), two = block_name(block, "two");
    RelnNode *y = conv_norm(b, one.text, x, 3, stride);

    y = conv_norm(b, two.text, vector_relu(b, one.text, y), 3, 1);
    if (stride > 1)
        x = conv_norm(b, block_name(block, "skip").text, x, 1, stride);
    return vector_relu(b, two.text, reln_add(b->net.graph, y, x));
}

/* A recording of vectors, such as velocities, to one vector: four residual blocks, the third with stride 2. */
static RelnNode *resnet(BenchNet *b)
{
    enum { BLOCKS = 4, HALVED = 2 };
    RelnNode *x;

    b->net.algebra = NULL; /* vectors: the form is the dot product */
    x = b->x = bench_input(b, "x", (RelnDims){.p = b->c->points, .k = 3, .c = b->c->channels},
                           reln_rep_vector(reln_graph_group(b->net.graph)));
    x = vector_relu(b, "stem", conv_norm(b, "stem", x, 7, 2));
    for (int i = 0; i < BLOCKS; i++)
        x = residual(b, i, x, i == HALVED ? 2 : 1);
    return bench_linear(b, "out", reln_mean(b->net.graph, x, RELN_P), 1);
}

/* mean over the batch of |y - t|^2 */
static RelnNode *loss_vectors(BenchNet *b, RelnNode *y)
{
    RelnGraph *g = b->net.graph;
    RelnNode *off;

    if (!y)
        return NULL;
    off = reln_sub(g, y, bench_input(b, "t", reln_node_dims(y), reln_node_rep(y)));
    return reln_batch_mean(g, reln_pair(g, off, off));
}

/* ---- the list ---------------------------------------------------------------------------------------------------------- */

static const BenchCase list[] = {
    {.name = "mp50",
     .algebra = "so:1,3",
     .points = 50,
     .channels = 2,
     .width = 48,
     .batches = {1, 32},
     .build = message_passing,
     .loss = bench_loss_classes},
    {.name = "set64-24",
     .algebra = "gl:3",
     .points = 64,
     .channels = 2,
     .width = 24,
     .batches = {1, 16},
     .build = set_network,
     .loss = bench_loss_classes},
    {.name = "set64-64",
     .algebra = "gl:3",
     .points = 64,
     .channels = 2,
     .width = 64,
     .batches = {1, 16},
     .build = set_network,
     .loss = bench_loss_classes},
    {.name = "transformer64",
     .algebra = "so:3",
     .features = "gl:3",
     .points = 64,
     .channels = 6,
     .width = 48,
     .batches = {1, 32},
     .build = transformer,
     .loss = bench_loss_classes},
    {.name = "resnet1d",
     .algebra = "so:3",
     .points = 200,
     .channels = 1,
     .width = 64,
     .batches = {1, 64},
     .build = resnet,
     .loss = loss_vectors},
};
enum { N_LIST = sizeof list / sizeof list[0] };

int bench_structured_cases(BenchCase *out, int room)
{
    int count = 0;

    for (int i = 0; i < N_LIST && count < room; i++)
        out[count++] = list[i];
    return count;
}
