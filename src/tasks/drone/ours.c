/* ours.c -- our network: linear in the velocities, with matrices made of covariances between the layers.
 *
 * Given the covariances, the best estimate of a displacement is a sum of the velocities, each times a matrix. So the network is
 * u -> u + (G u A) B over and over, where u are vectors at the nodes of the window, A and B mix nodes and channels, and G are
 * matrices, sums of resolvents (1 + C/c)^-1 of the covariances at all nodes: bounded, near 1 where a velocity is good and near
 * 0 along axes where it is not. It is a learned iteration for the normal equations of a smoother, respects all rotations and
 * reflections, and is exactly as sure of its answer in any units of velocity.
 */
#include <stdio.h>

#include "tasks/drone/nets.h"

enum { NODES = 40, EACH = DRONE_WINDOW / NODES, NAME = 32 };

static const char *named(char name[NAME], const char *part, int i)
{
    snprintf(name, NAME, "%s%d", part, i);
    return name;
}

/* Points and channels as channels: (P, K, C) -> (K, P C), by slices, since coordinates stay where they are. */
static RelnNode *as_channels(RelnGraph *g, RelnNode *x)
{
    const RelnDims d = x ? reln_node_dims(x) : (RelnDims){.p = 1};
    RelnNode *turned = reln_swap_axes(g, x, RELN_P, RELN_C), *part[64];

    for (int i = 0; i < d.c && i < 64; i++)
        part[i] = reln_slice(g, turned, RELN_P, i, 1);
    return x ? reln_concat(g, d.c < 64 ? d.c : 64, part, RELN_C) : NULL;
}

/* Means over the samples of a node. */
static RelnNode *nodes_of(RelnGraph *g, RelnNode *x)
{
    return as_channels(g, reln_window_mean(g, x, RELN_P, reln_window_valid(EACH, EACH, 1)));
}

/* x W with W from 0: a layer that changes nothing at first. */
static RelnNode *from_zero(const RelnNet *net, const char *name, RelnNode *x, int to)
{
    const int from = x ? reln_node_dims(x).c : 1;

    return reln_mix(net->graph, x,
                    reln_param(net->graph, name, (RelnDims){.r = from, .c = to}, (RelnInit){RELN_INIT_CONSTANT, 0}));
}

/* The identity times a learned number for each of c channels. */
static RelnNode *identity(const RelnNet *net, const char *name, int c)
{
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    RelnGraph *g = net->graph;
    RelnNode *unit = reln_const(g, (RelnDims){.k = 9}, reln_rep_matrix(reln_graph_group(g)), one);

    return reln_mul(g, unit, reln_param(g, name, (RelnDims){.c = c}, (RelnInit){RELN_INIT_CONSTANT, 0}));
}

/* Velocities by every resolvent of their own sensor: G v, in the order of the resolvents. */
static RelnNode *weighed(const RelnNet *net, RelnNode *m, RelnNode *v, int sensors)
{
    RelnGraph *g = net->graph;
    const int each = m ? reln_node_dims(m).c / sensors : 1;
    RelnNode *part[2];

    for (int s = 0; s < sensors; s++)
        part[s] = drone_apply(net, reln_slice(g, m, RELN_C, s * each, each), reln_slice(g, v, RELN_C, s, 1));
    return reln_concat(g, sensors, part, RELN_C);
}

/* The logarithm of the covariance: a symmetric matrix, linear in the resolvents and in what two of them make together. */
static RelnNode *log_covariance(const RelnNet *net, RelnNode *m, int width)
{
    RelnGraph *g = net->graph;
    RelnNode *a = reln_nn_linear(net, "cov.a", m, width), *b = reln_nn_linear(net, "cov.b", m, width);
    RelnNode *x = reln_add(g, from_zero(net, "cov.M", m, 1),
                           from_zero(net, "cov.P", reln_matmul(g, 3, a, b), 1));

    x = reln_add(g, x, identity(net, "cov.one", 1));
    return reln_scale(g, reln_add(g, x, reln_transpose_matrix(g, x)), 0.5);
}

RelnNode *drone_ours(const RelnNet *net, const DroneModel *model)
{
    RelnGraph *g = net->graph;
    const DroneRow *row = model->row;
    const RelnRep *vector = reln_rep_vector(reln_graph_group(g)), *matrix = reln_rep_matrix(reln_graph_group(g));
    const int n_m = drone_size_m(row->input, model->sensors) / (9 * DRONE_WINDOW);
    RelnNode *v = reln_input(g, "v", RELN_SAMPLES, (RelnDims){.p = DRONE_WINDOW, .k = 3, .c = model->sensors}, vector,
                             RELN_DEFAULT);
    RelnNode *m = reln_input(g, "m", RELN_SAMPLES, (RelnDims){.p = DRONE_WINDOW, .k = 9, .c = n_m}, matrix, RELN_DEFAULT);
    RelnNode *first[2], *u, *at, *out;
    char name[NAME];

    first[0] = nodes_of(g, reln_scale(g, v, 0.1));
    first[1] = nodes_of(g, weighed(net, m, reln_scale(g, v, 0.1), model->sensors));
    at = nodes_of(g, m);
    u = reln_nn_linear(net, "in", reln_concat(g, 2, first, RELN_C), row->width);
    for (int i = 0; i < row->layers; i++) {
        RelnNode *gate = reln_add(g, reln_nn_linear(net, named(name, "gate", i), at, row->last),
                                  identity(net, named(name, "one", i), row->last));
        RelnNode *r = drone_apply(net, gate, reln_nn_linear(net, named(name, "a", i), u, row->last));

        u = reln_add(g, u, reln_nn_linear(net, named(name, "b", i), r, row->width));
    }
    out = from_zero(net, "out.W", u, 1);
    return row->covariance ? reln_concat_k(g, out, log_covariance(net, at, row->prep)) : out;
}
