/* structured.c -- networks on sets, pairs and sequences: message passing, neighbours, attention, convolution.
 *
 * bench/peers/README.md defines each of them, with the names and shapes of its parameters, and has them in other
 * software. One function builds one network. Nominal operations are those of the matrix products as written there, with
 * layers on pairs split by their ends; recomputed work is not counted again.
 */
#include <math.h>
#include <stdio.h>

#include "bench/bench.h"

/* Returns the parameter "<name>.<part>", a matrix from `from` to `to` channels. */
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

/* Returns a row of parameters "<name>.<part>", all of one starting value. */
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

/* Mean over `each` items of a sample. */
static RelnNode *mean_of(RelnGraph *g, RelnNode *x, double each)
{
    return reln_div(g, total(g, x), reln_scale(g, reln_batch_count(g), each));
}

static Moments moments(RelnGraph *g, RelnNode *x, double each)
{
    RelnNode *mean = mean_of(g, x, each);

    return (Moments){mean, mean_of(g, reln_square(g, reln_sub(g, x, mean)), each)};
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

/* gamma (x - mean) / sqrt(var + 1e-5) + beta, with statistics of the batch in training, running ones
 * otherwise. */
static RelnNode *batch_norm(BenchNet *b, const char *name, RelnNode *x, double each)
{
    RelnGraph *g = b->net.graph;
    const int c = x ? reln_node_dims(x).c : 1;
    Moments kept = {statistic(b, name, "mean", c, 0.0), statistic(b, name, "var", c, 1.0)},
            m = kept;
    RelnNode *gamma = row(b, name, "gamma", c, 1.0), *beta = row(b, name, "beta", c, 0.0), *scale;

    if (b->net.train) {
        m = moments(g, x, each);
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

/* A Particles holds the rows of the network, all pairs of them, and their features. */
typedef struct Particles {
    RelnDomain rows, pairs;
    RelnNode *s, *x, *low, *q, *h;
    RelnNode *t; /* invariants of pairs */
} Particles;

/* Invariants of a pair: psi(<x_i - x_j, x_i - x_j>) and psi(<x_i, x_j>), from the products of the rows. */
static RelnNode *invariants(RelnGraph *g, const Particles *p)
{
    RelnNode *dot = reln_pair_gram(g, p->x, p->low, p->pairs);
    RelnNode *ends =
        reln_add(g, reln_spread(g, p->q, p->pairs), reln_spread_second(g, p->q, p->pairs));
    RelnNode *s[2] = {psi(g, reln_sub(g, ends, reln_scale(g, dot, 2.0))), psi(g, dot)};

    return reln_concat(g, 2, s, RELN_C);
}

/* Sets the positions x and, with the signs (+, -, -, -), eta x and <x, x>; then the invariants of pairs, in a function, so
 * that its gradient computes them again. */
static bool move_to(RelnGraph *g, Particles *p, RelnNode *x)
{
    static const double eta[16] = {1, 0, 0, 0, 0, -1, 0, 0, 0, 0, -1, 0, 0, 0, 0, -1};
    RelnGraph *body;
    RelnNode *t;

    p->x = x;
    p->low = x ? reln_linear_map(g, x, eta, reln_rep_dual(reln_node_rep(x))) : NULL;
    p->q = reln_pair(g, x, p->low);
    body = reln_fn_begin(g, "invariants");
    t = invariants(body, p);
    return reln_call(g, reln_fn_end(body, 1, &t), 0, NULL, &p->t);
}

/* The first layer of messages, split by its ends: y_ij = a_i + b_j + (n_ij, d_ij) W3. */
typedef struct FirstLayer {
    RelnNode *a, *b, *w3;
} FirstLayer;

static RelnNode *first_layer(RelnGraph *g, const Particles *p, const FirstLayer *f)
{
    RelnNode *y = reln_mix(g, p->t, f->w3);

    y = reln_add(g, y, reln_spread(g, f->a, p->pairs));
    return reln_add(g, y, reln_spread_second(g, f->b, p->pairs));
}

/* scale (y - mean) + beta is a first layer too: its ends and its weights are normalised once for each row,
 * not for pairs. */
static FirstLayer normalised(RelnGraph *g, const FirstLayer *f, RelnNode *mean, RelnNode *scale,
                             RelnNode *beta)
{
    return (FirstLayer){reln_add(g, reln_mul(g, reln_sub(g, f->a, mean), scale), beta),
                        reln_mul(g, f->b, scale), reln_mul(g, f->w3, scale)};
}

/* Computes the mean of y over all pairs: each row is the first of n - 1 pairs and the second of as many, so
 * only the invariants are summed over pairs. The variance is the mean of (y - mean)^2, in a function that is
 * computed tile by tile. */
static Moments pair_moments(BenchNet *b, const Particles *p, const FirstLayer *f)
{
    RelnGraph *g = b->net.graph, *body;
    const double n = b->c->points, each = n * (n - 1);
    RelnNode *count = reln_scale(g, reln_batch_count(g), each), *sum, *ends, *mean;

    sum = reln_batch_sum(g, p->t);
    ends = reln_scale(g, reln_batch_sum(g, reln_add(g, f->a, f->b)), n - 1);
    mean = reln_div(g, reln_add(g, ends, reln_mix(g, sum, f->w3)), count);
    body = reln_fn_begin(g, "squares");
    sum = reln_batch_sum(body, reln_square(body, reln_sub(body, first_layer(body, p, f), mean)));
    if (!reln_call(g, reln_fn_end(body, 1, &sum), 0, NULL, &sum))
        return (Moments){NULL, NULL};
    return (Moments){mean, reln_div(g, sum, count)};
}

/* Computes the messages of a block: their sums, and sum_j (x_i - x_j) f_ij; moved may be NULL. */
static bool messages(BenchNet *b, int block, const Particles *p, RelnNode **sums, RelnNode **moved)
{
    RelnGraph *g = b->net.graph, *body;
    const int c = b->c->width;
    const Name edge = block_name(block, "edge");
    FirstLayer f = {mixed(b, edge.text, "W1", p->h, c), mixed(b, edge.text, "W2", p->h, c),
                    matrix(b, edge.text, "W3", 2, c)};
    const Moments kept = {statistic(b, edge.text, "mean", c, 0.0),
                          statistic(b, edge.text, "var", c, 1.0)};
    RelnNode *gamma = row(b, edge.text, "gamma", c, 1.0), *beta = row(b, edge.text, "beta", c, 0.0);
    RelnNode *outs[2], *y, *m, *scale;
    Moments now = kept;

    if (b->net.train) {
        now = pair_moments(b, p, &f);
        remember(g, kept.mean, now.mean);
        remember(g, kept.var, now.var);
    }
    scale = reln_div(g, gamma, reln_sqrt(g, reln_shift(g, now.var, 1.0, 1e-5)));
    f = normalised(g, &f, now.mean, scale, beta);
    body = b->net.graph = reln_fn_begin(g, "messages");
    y = first_layer(body, p, &f);
    if (y)
        b->flops += (b->pass == BENCH_FORWARD ? 1 : 3) * 2.0 * bench_per(b, y) * 2 * c;
    m = reln_relu(body, bench_dense(b, block_name(block, "message").text, reln_relu(body, y), c));
    m = reln_mul(body, m, reln_sigmoid(body, bench_dense(b, block_name(block, "gate").text, m, 1)));
    outs[0] = reln_reduce(body, m, p->rows);
    if (moved) {
        m = reln_relu(body, bench_dense(b, block_name(block, "move").text, m, c));
        m = mixed(b, block_name(block, "size").text, "W", m, 1);
        outs[1] = reln_sub(body, reln_mul(body, reln_reduce(body, m, p->rows), p->x),
                           reln_pair_weigh(body, m, p->x, p->rows));
    }
    b->net.graph = g;
    if (!reln_call(g, reln_fn_end(body, moved ? 2 : 1, outs), 0, NULL, outs))
        return false;
    *sums = outs[0];
    if (moved)
        *moved = outs[1];
    return true;
}

/* h + phi([h, sum_j m_ij, s]) */
static RelnNode *updated(BenchNet *b, int block, const Particles *p, RelnNode *sums)
{
    RelnGraph *g = b->net.graph;
    const int c = b->c->width;
    const Name node = block_name(block, "node");
    RelnNode *y =
        reln_add(g, mixed(b, node.text, "W1", p->h, c), mixed(b, node.text, "W2", sums, c));

    y = reln_add(g, y, mixed(b, node.text, "W3", p->s, c));
    y = reln_add(g, y, row(b, node.text, "b", c, 0.0));
    y = reln_relu(g, batch_norm(b, node.text, y, b->c->points));
    return reln_add(g, p->h, bench_dense(b, block_name(block, "update").text, y, c));
}

/* LorentzNet with two blocks: particles with four-momenta and two numbers each, all pairs, two classes. */
static RelnNode *message_passing(BenchNet *b)
{
    enum { BLOCKS = 2 };
    RelnGraph *g = b->net.graph;
    const int n = b->c->points, c = b->c->width;
    Particles p = {.rows = bench_domain(b, reln_fixed(g, "particles", RELN_SAMPLES, n), n)};
    RelnNode *sums, *moved;

    p.pairs = bench_domain(b, reln_pairs(g, "pairs", p.rows, p.rows, false), n * (n - 1));
    p.s = b->x = bench_input_rows(b, "s", p.rows, (RelnDims){.c = 2}, NULL);
    if (!move_to(g, &p,
                 bench_input_rows(b, "p", p.rows, (RelnDims){.k = 4},
                                  reln_rep_vector(reln_graph_group(g)))))
        return NULL;
    p.h = bench_dense(b, "embed", p.s, c);
    for (int i = 0; i < BLOCKS; i++) {
        const bool moves = i + 1 < BLOCKS;

        if (!messages(b, i, &p, &sums, moves ? &moved : NULL))
            return NULL;
        if (moves && !move_to(g, &p, reln_add(g, p.x, reln_scale(g, moved, 0.005 / (n - 1)))))
            return NULL;
        p.h = updated(b, i, &p, sums);
    }
    p.h = bench_dense(b, "decode", reln_reduce_mean(g, p.h, RELN_SAMPLES), c);
    return bench_dense(b, "out", reln_relu(g, p.h), 2);
}

/* A LorentzNet of reln_nn_messages(): five blocks, the last of which does not move x. Products of a block,
 * forward: two of its width on pairs (one in the last), thin ones, and five on particles. */
static RelnNode *lorentz_net(BenchNet *b)
{
    enum { BLOCKS = 5 };
    RelnGraph *g = b->net.graph;
    const int n = b->c->points, c = b->c->width;
    const RelnDomain rows = bench_domain(b, reln_fixed(g, "particles", RELN_SAMPLES, n), n);
    RelnNode *s = b->x = bench_input_rows(b, "s", rows, (RelnDims){.c = b->c->channels}, NULL);
    RelnFeatures f = {.x = bench_input_rows(b, "p", rows, (RelnDims){.k = 4},
                                            reln_rep_vector(reln_graph_group(g)))};

    b->net.algebra = NULL; /* four-vectors: the form is the Minkowski metric */
    f.s = bench_dense(b, "embed", s, c);
    for (int i = 0; i < BLOCKS; i++) {
        const bool moves = i + 1 < BLOCKS;
        const RelnMessages options = {
            .gate = true, .norm = true, .residual = true, .move = moves, .step = 0.001};

        f = reln_nn_messages(&b->net, block_name(i, "messages").text, f, &options);
        bench_count(b, f.s, 5, c, true);
        b->flops += (b->pass == BENCH_FORWARD ? 1 : 3) * 2.0 * n * (n - 1) * c *
                    (moves ? 2 * c + 4 : c + 3);
    }
    f.s = bench_dense(b, "decode", reln_reduce_mean(g, f.s, RELN_SAMPLES), c);
    return bench_dense(b, "out", reln_relu(g, f.s), 2);
}

/* ---- sets -------------------------------------------------------------------------------------------------------------- */

enum { NEIGHBOURS = 16, CLASSES = 10 };

/* A Set holds the points of a set, and below each of them its neighbours: rows, with the number of the point
 * that each refers to. */
typedef struct Set {
    RelnDomain points, pairs;
    RelnNode *near;
} Set;

/* Computes h_i W1 + h_j W2 for the neighbours j of each point i, from both products. */
static RelnNode *ends(RelnGraph *g, const Set *s, RelnNode *first, RelnNode *second)
{
    return reln_add(g, reln_gather(g, second, s->near), reln_spread(g, first, s->pairs));
}

/* Computes the mean over the neighbours j of relu(relu(h_i W1 + h_j W2) W). The first layer is split by its
 * ends, and so is the direction of its gate, (h_i W1 + h_j W2) U. */
static RelnNode *neighbours(BenchNet *b, int block, RelnNode *h, const Set *s)
{
    RelnGraph *g = b->net.graph;
    const int c = b->c->width;
    const Name one = block_name(block, "ends"), two = block_name(block, "pair");
    RelnNode *first = mixed(b, one.text, "W1", h, c), *second = mixed(b, one.text, "W2", h, c);
    RelnNode *y = ends(g, s, first, second);
    RelnNode *d = ends(g, s, mixed(b, one.text, "U", first, c), mixed(b, one.text, "U", second, c));

    y = reln_add(g, y, reln_mul(g, reln_relu(g, reln_nn_form(&b->net, y, d)), d));
    y = bench_relu(b, two.text, bench_linear(b, two.text, y, c));
    return reln_scale(g, reln_reduce(g, y, s->points), 1.0 / NEIGHBOURS);
}

/* A set of elements of gl(3) with given neighbours, two blocks, ten classes. */
static RelnNode *set_network(BenchNet *b)
{
    enum { BLOCKS = 2 };
    RelnGraph *g = b->net.graph;
    const int n = b->c->points, c = b->c->width;
    Set s = {.points = bench_domain(b, reln_fixed(g, "points", RELN_SAMPLES, n), n)};
    RelnNode *x = b->x = bench_input_rows(
        b, "x", s.points, (RelnDims){.k = reln_rep_dim(b->rep), .c = b->c->channels}, b->rep);
    RelnNode *h = bench_linear(b, "embed", x, c);

    s.pairs = bench_domain(b, reln_fixed(g, "neighbours", s.points, NEIGHBOURS), n * NEIGHBOURS);
    s.near = bench_index_rows(b, "near", s.pairs, s.points, n);
    for (int i = 0; i < BLOCKS; i++) {
        RelnNode *m = neighbours(b, i, h, &s);

        h = reln_add(g, h, bench_linear(b, block_name(i, "mean").text, m, c));
        h = bench_bracket(b, block_name(i, "bracket").text, h);
    }
    h = reln_reduce_mean(g, h, RELN_SAMPLES);
    return bench_dense(b, "out", reln_nn_invariant(&b->net, h), CLASSES);
}

/* ---- transformer ------------------------------------------------------------------------------------------------------- */

/* gamma_c x / sqrt(mean over K and C of x^2 + 1e-6), for each point */
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

/* Attention with residual; scores and sums are counted as products too. */
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

/* conv, norm, ReLU, conv, norm, plus the input; if the stride is not 1, the input passes a convolution of
 * width 1 */
static RelnNode *residual(BenchNet *b, int block, RelnNode *x, int stride)
{
    const Name one = block_name(block, "one"), two = block_name(block, "two");
    RelnNode *y = conv_norm(b, one.text, x, 3, stride);

    y = conv_norm(b, two.text, vector_relu(b, one.text, y), 3, 1);
    if (stride > 1)
        x = conv_norm(b, block_name(block, "skip").text, x, 1, stride);
    return vector_relu(b, two.text, reln_add(b->net.graph, y, x));
}

/* Maps a recording of vectors, such as velocities, to one vector: four residual blocks, the third with stride
 * 2. */
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
RelnNode *bench_loss_lengths(BenchNet *b, RelnNode *y)
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
    {.name = "lorentznet",
     .algebra = "so:1,3",
     .points = 54,
     .channels = 2,
     .width = 48,
     .batches = {1, 16, 128},
     .build = lorentz_net,
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
     .loss = bench_loss_lengths},
};
enum { N_LIST = sizeof list / sizeof list[0] };

int bench_structured_cases(BenchCase *out, int room)
{
    int count = 0;

    for (int i = 0; i < N_LIST && count < room; i++)
        out[count++] = list[i];
    return count;
}
