/* layers.c -- layers of the published drone networks, following their code. */
#include "tasks/drone/nets.h"

#define TINY 1e-6 /* of lengths */

/* ---- norms ------------------------------------------------------------------------------------------------------- */

/* Smaller than any length that is not 0: keeps the derivative of the root finite where a feature vanishes. */
#define LEAST_SQUARE 1e-30

RelnNode *drone_length_norm(const RelnNet *net, const char *name, RelnNode *x, bool shifted)
{
    RelnGraph *g = net->graph;
    RelnNode *n = reln_sqrt(g, reln_shift(g, reln_pair(g, x, x), 1, LEAST_SQUARE));
    RelnNode *above = reln_shift(g, n, 1, TINY);

    return reln_mul(
        g, x,
        reln_div(g, reln_nn_batch_norm_invariants(net, name, shifted ? above : n, NULL), above));
}

RelnNode *drone_size_norm(const RelnNet *net, const char *name, RelnNode *x)
{
    const int k = x ? reln_node_dims(x).k : 1;
    double dot[81] = {0};
    const RelnRepForm form = {x ? reln_node_rep(x) : NULL, dot};
    RelnNet lengths = *net;

    for (int i = 0; i < k && k <= 9; i++)
        dot[i * k + i] = 1;
    lengths.forms = &form;
    lengths.n_forms = 1;
    return reln_nn_batch_norm(&lengths, name, x, RELN_NORM_INVARIANT);
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
    static const double hat[27] = {0, 0,  0, 0, 0, -1, 0, 1, 0, 0, 0, 1, 0, 0,
                                   0, -1, 0, 0, 0, -1, 0, 1, 0, 0, 0, 0, 0};

    return reln_linear_map(net->graph, v, hat, reln_rep_matrix(reln_graph_group(net->graph)));
}

RelnNode *drone_vee(const RelnNet *net, RelnNode *x)
{
    static const double vee[27] = {0, 0,   0, 0, 0, -.5, 0, .5, 0, 0, 0, .5, 0, 0,
                                   0, -.5, 0, 0, 0, -.5, 0, .5, 0, 0, 0, 0,  0};

    return reln_linear_map(net->graph, x, vee, reln_rep_vector(reln_graph_group(net->graph)));
}

RelnNode *drone_apply(const RelnNet *net, RelnNode *m, RelnNode *v)
{
    static const RelnEntry entries[9] = {{0, 0, 0, 1}, {1, 1, 0, 1}, {2, 2, 0, 1},
                                         {3, 0, 1, 1}, {4, 1, 1, 1}, {5, 2, 1, 1},
                                         {6, 0, 2, 1}, {7, 1, 2, 1}, {8, 2, 2, 1}};
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

size_t drone_unused(const DroneRow *row)
{
    const size_t width = (size_t)row->width, last = (size_t)row->last, prep = (size_t)row->prep;
    const bool axes = row->input == DRONE_IN_AXES || row->input == DRONE_IN_AXES_CODED;

    switch (row->arch) {
    case DRONE_RESNET: /* the head of standard deviations */
        return last * prep + 2 * prep + 7 * prep * last + last + last * last + last + 3 * last + 3;
    case DRONE_VN:
        return 7 * width * (axes ? 4 : 1);
    case DRONE_RELN:
        return width * (row->input == DRONE_IN_V ? 3 : 2);
    default:
        return 0;
    }
}
