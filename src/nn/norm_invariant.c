/* norm_invariant.c -- norms of invariants: the usual batch norm, over any domain and with weights, and the
 * usual layer norm. */
#include "nn/nn.h"

/* ---- the parts of a batch norm ------------------------------------------------------------------------------------ */

static RelnNode *row(const RelnNet *net, const char *name, const char *part, int channels,
                     double start)
{
    return reln_nn_param(net, name, part, (RelnDims){.c = channels},
                         (RelnInit){RELN_INIT_CONSTANT, start});
}

NnNorm reln_nn_norm(const RelnNet *net, const char *name, const char *const parts[4], int channels)
{
    return (NnNorm){row(net, name, parts[0], channels, 1.0),
                    row(net, name, parts[1], channels, 0.0),
                    reln_nn_state(net, name, parts[2], channels, 0.0),
                    reln_nn_state(net, name, parts[3], channels, 1.0)};
}

RelnNode *reln_nn_norm_scale(RelnGraph *g, const NnNorm *n)
{
    return reln_div(g, n->gamma, reln_sqrt(g, reln_shift(g, n->var, 1.0, NN_EPS)));
}

RelnNode *reln_nn_normalised(RelnGraph *g, const NnNorm *n, RelnNode *u)
{
    return reln_add(g, reln_mul(g, reln_sub(g, u, n->mean), reln_nn_norm_scale(g, n)), n->beta);
}

RelnNode *reln_nn_divisor(RelnGraph *g, RelnNode *w)
{
    return reln_add(g, w, reln_shift(g, reln_step(g, w), -1.0, 1.0));
}

static void remember(RelnGraph *g, RelnNode *state, RelnNode *now, RelnNode *weight)
{
    RelnNode *rate = reln_scale(g, reln_step(g, weight), NN_MOMENTUM);

    reln_assign(g, state, reln_add(g, state, reln_mul(g, rate, reln_sub(g, now, state))));
}

void reln_nn_norm_renew(RelnGraph *g, NnNorm *n, RelnNode *mean, RelnNode *squares,
                        RelnNode *weight)
{
    RelnNode *one = weight ? reln_cast(g, reln_scalar(g, 1.0), weight->dtype) : NULL;
    RelnNode *fewer = reln_maximum(g, reln_shift(g, weight, 1.0, -1.0), one);

    remember(g, n->mean, mean, weight);
    remember(g, n->var, reln_div(g, squares, fewer), weight);
    n->mean = mean;
    n->var = reln_div(g, squares, reln_nn_divisor(g, weight));
}

/* The sum over the leading axes and all items. */
static RelnNode *total(RelnGraph *g, RelnNode *u)
{
    for (RelnAxis a = RELN_P; a <= RELN_R; a = (RelnAxis)(a + 1))
        u = reln_sum(g, u, a);
    return reln_batch_sum(g, u);
}

/* Returns the weights, or ones, with the leading axes of u. */
static RelnNode *weights_like(RelnGraph *g, RelnNode *u, RelnNode *weights)
{
    RelnNode *one = weights ? weights : reln_cast(g, reln_scalar(g, 1.0), u->dtype);

    return reln_expand(g, one, reln_slice(g, u, RELN_C, 0, 1));
}

static RelnNode *weighted(RelnGraph *g, RelnNode *weights, RelnNode *u)
{
    return weights ? reln_mul(g, weights, u) : u;
}

void reln_nn_norm_learn(const RelnNet *net, NnNorm *n, RelnNode *u, RelnNode *weights)
{
    RelnGraph *g = net->graph;
    RelnNode *weight, *mean, *squares;

    if (!u)
        return;
    weight = total(g, weights_like(g, u, weights));
    mean = reln_div(g, total(g, weighted(g, weights, u)), reln_nn_divisor(g, weight));
    squares = total(g, weighted(g, weights, reln_square(g, reln_sub(g, u, mean))));
    reln_nn_norm_renew(g, n, mean, squares, weight);
}

/* ---- layers ------------------------------------------------------------------------------------------------------- */

static bool want(const RelnNet *net, const char *layer, const RelnNode *s)
{
    return reln_nn_want_invariants(net, layer, s) &&
           (s->shape.dims[RELN_K] == 1 ||
            reln_graph_fail(net->graph, RELN_ERR_SHAPE, "%s: %s, wanted invariants with K = 1",
                            layer, reln_shape_text(s)));
}

static bool want_weights(const RelnNet *net, const RelnNode *s, const RelnNode *w)
{
    if (!w)
        return true;
    if (!reln_nn_want_invariants(net, "batch_norm_invariants", w))
        return false;
    return (w->domain == s->domain && w->shape.dims[RELN_C] == 1 && w->shape.dims[RELN_K] == 1) ||
           reln_graph_fail(net->graph, RELN_ERR_SHAPE,
                           "batch_norm_invariants: weights %s for %s, wanted one number for each "
                           "of its items",
                           reln_shape_text(w), reln_shape_text(s));
}

RelnNode *reln_nn_batch_norm_invariants(const RelnNet *net, const char *name, RelnNode *s,
                                        RelnNode *weights)
{
    static const char *const parts[4] = {"gamma", "beta", "mean", "var"};

    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    NnNorm norm;

    if (!s || !want(net, "batch_norm_invariants", s) || !want_weights(net, s, weights))
        return NULL;
    norm = reln_nn_norm(net, name, parts, reln_nn_channels(s));
    if (net->train)
        reln_nn_norm_learn(net, &norm, s, weights);
    return reln_nn_normalised(net->graph, &norm, s);
}

RelnNode *reln_nn_layer_norm_invariants(const RelnNet *net, const char *name, RelnNode *s)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    RelnGraph *g = net->graph;
    const int c = reln_nn_channels(s);
    RelnNode *mean, *centred, *var;

    if (!s || !want(net, "layer_norm_invariants", s))
        return NULL;
    mean = reln_mean(g, s, RELN_C);
    centred = reln_sub(g, s, mean);
    var = reln_mean(g, reln_square(g, centred), RELN_C);
    return reln_add(g,
                    reln_mul(g, reln_div(g, centred, reln_sqrt(g, reln_shift(g, var, 1.0, NN_EPS))),
                             row(net, name, "gamma", c, 1.0)),
                    row(net, name, "beta", c, 0.0));
}
