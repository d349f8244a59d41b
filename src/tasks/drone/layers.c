/* layers.c -- layers of the published drone networks, as their code has them. */
#include <stdio.h>

#include "tasks/drone/nets.h"

enum { NAME = 64 };
#define MOMENTUM 0.1
#define EPS 1e-5  /* of batch norms */
#define TINY 1e-6 /* of lengths */

static RelnNode *row(const RelnNet *net, const char *name, const char *part, int c, double start)
{
    char full[NAME];

    snprintf(full, sizeof full, "%s.%s", name, part);
    return reln_param(net->graph, full, (RelnDims){.c = c}, (RelnInit){RELN_INIT_CONSTANT, start});
}

static RelnNode *state(const RelnNet *net, const char *name, const char *part, int c, double start)
{
    char full[NAME];

    snprintf(full, sizeof full, "%s.%s", name, part);
    return reln_state(net->graph, full, (RelnDims){.c = c}, (RelnInit){RELN_INIT_CONSTANT, start});
}

/* ---- norms ------------------------------------------------------------------------------------------------------- */

static RelnNode *total(RelnGraph *g, RelnNode *x)
{
    return reln_batch_sum(g, reln_sum(g, x, RELN_P));
}

static void remember(RelnGraph *g, RelnNode *kept, RelnNode *now)
{
    reln_assign(g, kept, reln_add(g, reln_scale(g, kept, 1 - MOMENTUM), reln_scale(g, now, MOMENTUM)));
}

RelnNode *drone_norm(const RelnNet *net, const char *name, RelnNode *x, double gain)
{
    RelnGraph *g = net->graph;
    const int c = x ? reln_node_dims(x).c : 1, p = x ? reln_node_dims(x).p : 1;
    RelnNode *mean = state(net, name, "mean", c, 0), *var = state(net, name, "var", c, 1);
    RelnNode *gamma = row(net, name, "gamma", c, gain), *beta = row(net, name, "beta", c, 0);

    if (net->train) {
        RelnNode *n = reln_scale(g, reln_batch_count(g), p), *now = reln_div(g, total(g, x), n);
        RelnNode *squares = total(g, reln_square(g, reln_sub(g, x, now)));

        remember(g, mean, now);
        remember(g, var, reln_div(g, squares, reln_shift(g, n, 1, -1)));
        mean = now;
        var = reln_div(g, squares, n);
    }
    return reln_add(
        g, reln_mul(g, reln_div(g, reln_sub(g, x, mean), reln_sqrt(g, reln_shift(g, var, 1, EPS))), gamma), beta);
}

/* Below any length that is not 0: keeps the derivative of the root finite where a feature vanishes. */
#define LEAST_SQUARE 1e-30

RelnNode *drone_length_norm(const RelnNet *net, const char *name, RelnNode *x, bool shifted, double gain)
{
    RelnGraph *g = net->graph;
    RelnNode *n = reln_sqrt(g, reln_shift(g, reln_pair(g, x, x), 1, LEAST_SQUARE));
    RelnNode *above = reln_shift(g, n, 1, TINY);

    return reln_mul(g, x, reln_div(g, drone_norm(net, name, shifted ? above : n, gain), above));
}

/* ---- gates ------------------------------------------------------------------------------------------------------- */

RelnNode *drone_vector_relu(const RelnNet *net, const char *name, RelnNode *x, double slope)
{
    RelnGraph *g = net->graph;
    RelnNode *d = reln_nn_linear(net, name, x, x ? reln_node_dims(x).c : 1);
    RelnNode *against = reln_relu(g, reln_scale(g, reln_pair(g, x, d), -1));
    RelnNode *amount = reln_div(g, against, reln_shift(g, reln_pair(g, d, d), 1, TINY));

    return reln_add(g, x, reln_mul(g, reln_scale(g, amount, 1 - slope), d));
}

RelnNode *drone_pair_mean(const RelnNet *net, RelnNode *x)
{
    return reln_window_mean(net->graph, x, RELN_P, reln_window_same(2, 2, 1));
}

/* ---- matrices and vectors ---------------------------------------------------------------------------------------- */

RelnNode *drone_hat(const RelnNet *net, RelnNode *v)
{
    static const double hat[27] = {0, 0, 0, 0,  0, -1, 0, 1, 0, 0, 0, 1, 0, 0,
                                   0, -1, 0, 0, 0, -1, 0, 1, 0, 0, 0, 0, 0};

    return reln_linear_map(net->graph, v, hat, reln_rep_matrix(reln_graph_group(net->graph)));
}

RelnNode *drone_vee(const RelnNet *net, RelnNode *x)
{
    static const double vee[27] = {0, 0, 0, 0,   0, -.5, 0,   .5, 0, 0, 0, .5, 0, 0,
                                   0, -.5, 0, 0, 0, -.5, 0, .5, 0,  0, 0, 0,  0};

    return reln_linear_map(net->graph, x, vee, reln_rep_vector(reln_graph_group(net->graph)));
}

RelnNode *drone_apply(const RelnNet *net, RelnNode *m, RelnNode *v)
{
    static const RelnEntry entries[9] = {{0, 0, 0, 1}, {1, 1, 0, 1}, {2, 2, 0, 1}, {3, 0, 1, 1}, {4, 1, 1, 1},
                                         {5, 2, 1, 1}, {6, 0, 2, 1}, {7, 1, 2, 1}, {8, 2, 2, 1}};
    static const RelnTensor3 product = {9, 3, 3, 9, entries};

    return reln_contract(net->graph, &product, m, v, reln_rep_vector(reln_graph_group(net->graph)));
}

RelnNode *drone_cross(const RelnNet *net, RelnNode *a, RelnNode *b)
{
    static const RelnEntry entries[6] = {{1, 2, 0, 1}, {2, 1, 0, -1}, {0, 2, 1, -1},
                                         {2, 0, 1, 1}, {0, 1, 2, 1},  {1, 0, 2, -1}};
    static const RelnTensor3 product = {3, 3, 3, 6, entries};

    return reln_contract(net->graph, &product, a, b, reln_rep_vector(reln_graph_group(net->graph)));
}

void drone_unused(const RelnNet *net, int count)
{
    if (count > 0)
        reln_param(net->graph, "unused", (RelnDims){.c = count}, (RelnInit){RELN_INIT_CONSTANT, 0});
}
