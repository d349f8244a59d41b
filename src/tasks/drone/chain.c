/* chain.c -- Tensor Field Networks and SE(3)-Transformers on a chain of samples, in Cartesian form.
 *
 * Features are scalars, vectors and symmetric traceless matrices: types 0, 1 and 2 of SO(3), without spherical harmonics.
 * Samples are nodes, edges lead to their neighbours in time. The direction of an edge is that of the noisy velocity between its
 * ends, since an offset in time has no direction. A kernel multiplies the filter Y^J of that direction, J = 0, 1, 2, with the
 * neighbour's features on 15 paths, each scaled to keep variance one, and mixes channels by weights that a radial network
 * computes from the speed. Pairs of samples are averaged before every layer, as in the other networks.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tasks/drone/nets.h"

enum {
    TYPES = 3,
    MOST_POINTS = DRONE_WINDOW / 2,
    PATHS = DRONE_PATHS,
    MOST_EDGES = 10,
    NAME = 48,
    RADIAL = 32
};

/* A Typed holds features by type. */
typedef struct Typed {
    RelnNode *x[TYPES];
} Typed;

typedef struct Chain {
    const RelnNet *net;
    const DroneRow *row;
    int edges, offset[MOST_EDGES];
} Chain;

const DronePathway drone_pathways[PATHS] = {{0, 0, 0, 1},
                                            {0, 1, 1, 1},
                                            {0, 2, 2, 1},
                                            {1, 0, 1, 1},
                                            {1, 1, 0, 0.57735026918962576}, /* 1/sqrt(3) */
                                            {1, 1, 1, 0.70710678118654752}, /* 1/sqrt(2) */
                                            {1, 1, 2, 1},
                                            {1, 2, 1, 0.77459666924148338}, /* sqrt(3/5) */
                                            {1, 2, 2, 0.81649658092772603}, /* sqrt(2/3) */
                                            {2, 0, 2, 1},
                                            {2, 1, 1, 0.77459666924148338},
                                            {2, 1, 2, 0.81649658092772603},
                                            {2, 2, 0, 0.44721359549995794}, /* 1/sqrt(5) */
                                            {2, 2, 1, 0.63245553203367587}, /* sqrt(2/5) */
                                            {2, 2, 2, 1.3093073414159543}}; /* sqrt(12/7) */

static RelnNode *traceless(const RelnNet *net, RelnNode *x)
{
    RelnGraph *g = net->graph;
    RelnNode *s = reln_scale(g, reln_add(g, x, reln_transpose_matrix(g, x)), 0.5);

    return reln_sub(g, s, reln_center_part(g, net->algebra, s));
}

/* Computes the product of two types into a third, for each channel, with its factor. */
RelnNode *drone_product(const RelnNet *net, RelnNode *a, int type_a, RelnNode *b, int type_b,
                        int to, double scale)
{
    RelnGraph *g = net->graph;
    RelnNode *y;

    if (type_a == 0 || type_b == 0)
        y = reln_mul(g, a, b);
    else if (to == 0)
        y = reln_pair(g, a, b);
    else if (type_a == 1 && type_b == 1) /* hat(a) hat(b) = b a^T - a.b */
        y = to == 1 ? drone_cross(net, a, b)
                    : traceless(net, reln_matmul(g, 3, drone_hat(net, a), drone_hat(net, b)));
    else if (type_a == 2 && type_b == 2)
        y = to == 1 ? drone_vee(net, reln_bracket(g, net->algebra, a, b))
                    : traceless(net, reln_matmul(g, 3, a, b));
    else if (to == 1)
        y = type_a == 2 ? drone_apply(net, a, b) : drone_apply(net, b, a);
    else if (type_a == 1) /* (hat(a) S - S hat(a)) / 2 */
        y = reln_scale(g, reln_bracket(g, net->algebra, drone_hat(net, a), b), 0.5);
    else
        y = reln_scale(g, reln_bracket(g, net->algebra, drone_hat(net, b), a), 0.5);
    return reln_scale(g, y, scale);
}

/* ---- edges ------------------------------------------------------------------------------------------------------- */

/* x at t + offset, zeros outside. */
static RelnNode *shifted(RelnGraph *g, RelnNode *x, int offset)
{
    const int p = x ? reln_node_dims(x).p : 1, n = abs(offset) < p ? p - abs(offset) : 0;

    if (n == 0)
        return reln_scale(g, x, 0);
    return offset > 0 ? reln_pad(g, reln_slice(g, x, RELN_P, offset, n), RELN_P, 0, offset)
                      : reln_pad(g, reln_slice(g, x, RELN_P, 0, n), RELN_P, -offset, 0);
}

/* Returns x of the neighbours, with edges on axis Q. */
static RelnNode *of_neighbours(const Chain *c, RelnNode *x)
{
    RelnNode *part[MOST_EDGES];

    for (int e = 0; e < c->edges; e++)
        part[e] = shifted(c->net->graph, x, c->offset[e]);
    return reln_concat(c->net->graph, c->edges, part, RELN_Q);
}

typedef struct Edges {
    RelnNode *filter[TYPES]; /* (P, E, K, 1) */
    RelnNode *radial;        /* (P, E, 1, 1 + E): speed, and one-hot index of the edge */
} Edges;

#define SLOW 1e-3 /* in the network's units of velocity: a slower edge has no direction */

static Edges edges_of(const Chain *c, RelnNode *v)
{
    RelnGraph *g = c->net->graph;
    const int p = v ? reln_node_dims(v).p : 1;
    double which[MOST_POINTS * MOST_EDGES * MOST_EDGES] = {0};
    RelnNode *part[MOST_EDGES], *r, *speed, *moves, *unit, *in[2];
    Edges e;

    for (int i = 0; i < c->edges; i++) {
        part[i] = reln_scale(g, reln_add(g, v, shifted(g, v, c->offset[i])),
                             c->offset[i] > 0 ? 0.5 : -0.5);
        for (int k = 0; k < p && k < MOST_POINTS; k++)
            which[(k * c->edges + i) * c->edges + i] = 1;
    }
    r = reln_concat(g, c->edges, part, RELN_Q);
    speed = reln_sqrt(g, reln_shift(g, reln_pair(g, r, r), 1, 1e-12));
    moves = reln_step(g, reln_shift(g, speed, 1, -SLOW));
    unit = reln_mask(g, moves, reln_div(g, r, speed));
    e.filter[0] = reln_shift(g, reln_scale(g, speed, 0), 1, 1);
    e.filter[1] = reln_scale(g, unit, sqrt(3));
    e.filter[2] = reln_scale(
        g, traceless(c->net, reln_matmul(g, 3, drone_hat(c->net, unit), drone_hat(c->net, unit))),
        sqrt(7.5));
    in[0] = speed;
    in[1] = reln_const(g, (RelnDims){.p = p, .q = c->edges, .c = c->edges}, NULL, which);
    e.radial = reln_concat(g, 2, in, RELN_C);
    return e;
}

/* Computes the messages of a kernel to `channels` channels of every type: the sum over paths of the products,
 * mixed by radial weights. */
static Typed kernel(const Chain *c, const char *name, const Edges *e, const Typed *near,
                    int channels)
{
    RelnGraph *g = c->net->graph;
    const RelnDims d = reln_node_dims(e->radial);
    Typed out = {{NULL}};
    int total = 0, at = 0;
    RelnNode *w;

    for (int i = 0; i < PATHS; i++)
        if (near->x[drone_pathways[i].from])
            total += reln_node_dims(near->x[drone_pathways[i].from]).c * channels;
    w = reln_nn_mlp(c->net, name, e->radial, &(RelnMlp){2, RADIAL, total, RELN_ACT_SILU});
    for (int i = 0; i < PATHS; i++) {
        RelnNode *x = near->x[drone_pathways[i].from], *y, *mix;
        int from;

        if (!x)
            continue;
        from = reln_node_dims(x).c;
        mix = reln_reshape(g, reln_slice(g, w, RELN_C, at, from * channels),
                           (RelnDims){.p = d.p, .q = d.q, .r = from, .c = channels});
        at += from * channels;
        y = reln_channel_mix(
            g,
            drone_product(c->net, x, drone_pathways[i].from, e->filter[drone_pathways[i].filter],
                          drone_pathways[i].filter, drone_pathways[i].to, drone_pathways[i].scale),
            reln_scale(g, mix, 1 / sqrt(from)));
        out.x[drone_pathways[i].to] =
            out.x[drone_pathways[i].to] ? reln_add(g, out.x[drone_pathways[i].to], y) : y;
    }
    return out;
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* Scalars: silu. Others keep their direction: x relu(|x| + b) / |x|. */
static RelnNode *gated(const RelnNet *net, const char *name, RelnNode *x, int type)
{
    RelnGraph *g = net->graph;
    const int c = reln_node_dims(x).c;
    RelnNode *n, *b;

    if (type == 0)
        return reln_silu(g, x);
    b = reln_param(g, name, (RelnDims){.c = c}, (RelnInit){RELN_INIT_CONSTANT, 0});
    n = reln_sqrt(g, reln_shift(g, reln_pair(g, x, x), 1, 1e-12));
    return reln_mul(g, x, reln_div(g, reln_relu(g, reln_add(g, n, b)), n));
}

/* Softmax over the edges of the products of queries and keys, for each head; edges that lead outside have
 * weight 0. */
static RelnNode *attention(const Chain *c, const char *name, const Typed *own, const Typed *keys,
                           int heads)
{
    RelnGraph *g = c->net->graph;
    RelnNode *score = NULL;
    double outside[MOST_POINTS * MOST_EDGES];
    int features = 0, p = 1, channels = 1;
    char full[NAME];

    for (int t = 0; t < TYPES; t++) {
        RelnNode *q, *s;

        if (!own->x[t] || !keys->x[t])
            continue;
        channels = reln_node_dims(keys->x[t]).c;
        p = reln_node_dims(keys->x[t]).p;
        snprintf(full, sizeof full, "%.20s.q%d", name, t);
        q = reln_nn_linear(c->net, full, own->x[t], channels);
        s = t == 0 ? reln_mul(g, keys->x[t], q) : reln_pair(g, keys->x[t], q);
        score = score ? reln_add(g, score, s) : s;
        features += channels * (2 * t + 1);
    }
    for (int i = 0; i < p; i++)
        for (int e = 0; e < c->edges; e++)
            outside[i * c->edges + e] = i + c->offset[e] < 0 || i + c->offset[e] >= p ? -1e9 : 0;
    score = reln_window_mean(
        g, reln_reshape(g, score, (RelnDims){.p = p, .q = c->edges, .r = channels}), RELN_R,
        reln_window_valid(channels / heads, channels / heads, 1));
    score = reln_scale(g, score, channels / heads / sqrt((double)features / heads));
    score = reln_add(g, score, reln_const(g, (RelnDims){.p = p, .q = c->edges}, NULL, outside));
    return reln_softmax(g, score, RELN_Q); /* (P, E, heads) */
}

/* Repeats weights of heads for the channels of each head. */
static RelnNode *for_channels(RelnGraph *g, RelnNode *a, int channels)
{
    const RelnDims d = reln_node_dims(a);
    RelnNode *part[16];
    const int each = channels / d.r;

    for (int h = 0; h < d.r && h < 16; h++)
        part[h] = reln_slice(g, a, RELN_R, h, 1);
    for (int h = 0; h < d.r && h < 16; h++) {
        RelnNode *copies[16];

        for (int i = 0; i < each && i < 16; i++)
            copies[i] = part[h];
        part[h] = reln_concat(g, each < 16 ? each : 16, copies, RELN_C);
    }
    return reln_concat(g, d.r, part, RELN_C);
}

static Typed layer(const Chain *c, const char *name, const Edges *e, const Typed *in)
{
    RelnGraph *g = c->net->graph;
    const bool attends = c->row->arch == DRONE_SE3T;
    const int channels = attends ? c->row->width / 2 : c->row->width;
    Typed near = {{NULL}}, value, out = {{NULL}};
    RelnNode *weights = NULL;
    char full[NAME];

    for (int t = 0; t < TYPES; t++)
        near.x[t] = in->x[t] ? of_neighbours(c, in->x[t]) : NULL;
    snprintf(full, sizeof full, "%.20s.value", name);
    value = kernel(c, full, e, &near, channels);
    if (attends) {
        Typed keys;

        snprintf(full, sizeof full, "%.20s.key", name);
        keys = kernel(c, full, e, &near, channels);
        weights = for_channels(g, attention(c, name, in, &keys, c->row->last), channels);
    }
    for (int t = 0; t < TYPES; t++) {
        RelnNode *y = value.x[t], *own;

        y = weights ? reln_sum(g, reln_mul(g, y, weights), RELN_Q) : reln_mean(g, y, RELN_Q);
        snprintf(full, sizeof full, "%.20s.out%d", name, t);
        y = reln_nn_linear(c->net, full, y, c->row->width);
        if (in->x[t]) {
            snprintf(full, sizeof full, "%.20s.self%d", name, t);
            own = reln_nn_linear(c->net, full, in->x[t], c->row->width);
            y = reln_add(g, y, own);
        }
        snprintf(full, sizeof full, "%.20s.b%d", name, t);
        out.x[t] = gated(c->net, full, y, t);
    }
    return out;
}

/* ---- the network --------------------------------------------------------------------------------------------------- */

static RelnNode *trace_of(const RelnNet *net, RelnNode *m)
{
    static const double trace[9] = {1 / 3.0, 0, 0, 0, 1 / 3.0, 0, 0, 0, 1 / 3.0};

    return reln_linear_map(net->graph, m, trace, reln_rep_trivial(reln_graph_group(net->graph), 1));
}

/* Sets the offsets to neighbours: 1, and with a reach 2, 4, ... up to it, on either side. */
static void set_edges(Chain *c)
{
    for (int o = 1; o <= (c->row->reach > 1 ? c->row->reach : 1) && c->edges + 2 <= MOST_EDGES;
         o *= 2) {
        c->offset[c->edges++] = -o;
        c->offset[c->edges++] = o;
    }
}

RelnNode *drone_chain(const RelnNet *net, const DroneModel *model)
{
    RelnGraph *g = net->graph;
    Chain c = {.net = net, .row = model->row};
    const RelnRep *vector = reln_rep_vector(reln_graph_group(g)),
                  *matrix = reln_rep_matrix(reln_graph_group(g));
    RelnNode *v = reln_input(g, "v", RELN_SAMPLES,
                             (RelnDims){.p = DRONE_WINDOW, .k = 3, .c = model->sensors}, vector,
                             RELN_DEFAULT),
             *mean;
    Typed x = {{NULL, model->row->normal ? v : reln_scale(g, v, 0.1), NULL}};

    set_edges(&c);
    if (model->row->input != DRONE_IN_V) {
        RelnNode *m = reln_input(g, "m", RELN_SAMPLES,
                                 (RelnDims){.p = DRONE_WINDOW, .k = 9, .c = model->sensors}, matrix,
                                 RELN_DEFAULT);

        x.x[0] = trace_of(net, m);
        x.x[2] = traceless(net, m);
    }
    mean = reln_mean(g, x.x[1], RELN_C);
    for (int i = 0; i < model->row->layers && g && mean; i++) {
        Edges e;
        char name[NAME];

        mean = drone_pair_mean(net, mean);
        for (int t = 0; t < TYPES; t++)
            x.x[t] = x.x[t] ? drone_pair_mean(net, x.x[t]) : NULL;
        e = edges_of(&c, mean);
        if (!e.radial)
            return NULL;
        snprintf(name, sizeof name, "layer%d", i);
        x = layer(&c, name, &e, &x);
        if (!x.x[1])
            return NULL;
    }
    x.x[1] = drone_pair_mean(net, x.x[1]);
    if (!x.x[1])
        return NULL;
    {
        const RelnDims d = reln_node_dims(x.x[1]);
        RelnNode *W = reln_param(g, "out.W", (RelnDims){.r = d.p * d.c, .c = 1},
                                 (RelnInit){RELN_INIT_CONSTANT, 0});

        return reln_conv(g, x.x[1], W, RELN_P, (RelnWindow){.width = d.p});
    }
}
