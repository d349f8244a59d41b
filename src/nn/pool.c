/* pool.c -- pooling: from a set of points to one feature. */
#include <math.h>

#include "nn/nn.h"

static bool want_place(const RelnNet *net, const char *layer, const RelnNode *x, int over)
{
    if (over >= RELN_P && over <= RELN_R)
        return true;
    if (over == RELN_POOL_ROWS && x->domain > RELN_SAMPLES)
        return true;
    return reln_graph_fail(net->graph, RELN_ERR_ARG,
                           "%s: over axis %d of %s; wanted P, Q or R, or the rows of a row domain",
                           layer, over, reln_shape_text(x));
}

static RelnNode *scores(const RelnNet *net, const char *name, RelnNode *x)
{
    return reln_nn_form(net, x, reln_nn_mixed(net, name, "Wq", x, reln_nn_channels(x)));
}

RelnNode *reln_nn_pool_max(const RelnNet *net, const char *name, RelnNode *x, int over,
                           bool absolute)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    RelnGraph *g = net->graph;
    RelnNode *t;

    if (!x || !want_place(net, "pool_max", x, over))
        return NULL;
    t = scores(net, name, x);
    if (absolute)
        t = reln_abs(g, t);
    if (over == RELN_POOL_ROWS)
        return reln_gather(g, x,
                           reln_segment_argmax(g, t, reln_row_sample(g, x->domain), RELN_SAMPLES));
    return reln_pick(g, x, reln_argmax(g, t, (RelnAxis)over), (RelnAxis)over);
}

RelnNode *reln_nn_pool_softmax(const RelnNet *net, const char *name, RelnNode *x, int over)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    RelnGraph *g = net->graph;
    RelnNode *t, *rows;

    if (!x || !want_place(net, "pool_softmax", x, over))
        return NULL;
    t = reln_scale(g, scores(net, name, x), 1.0 / sqrt((double)x->shape.dims[RELN_K]));
    if (over != RELN_POOL_ROWS)
        return reln_sum(g, reln_mul(g, reln_softmax(g, t, (RelnAxis)over), x), (RelnAxis)over);
    rows = reln_row_sample(g, x->domain);
    return reln_segment_sum(g, reln_mul(g, reln_segment_softmax(g, t, rows, RELN_SAMPLES), x), rows,
                            RELN_SAMPLES);
}

RelnNode *reln_nn_pool_mean(const RelnNet *net, RelnNode *x, int over)
{
    RELN_NEED(reln_nn_ready(net, true, __func__), NULL);
    RELN_LAYER(net->graph, NULL);

    RelnGraph *g = net->graph;

    if (!x || !want_place(net, "pool_mean", x, over))
        return NULL;
    if (over != RELN_POOL_ROWS)
        return reln_mean(g, x, (RelnAxis)over);
    return reln_segment_mean(g, x, reln_row_sample(g, x->domain), RELN_SAMPLES);
}

/* The sum over the points of an axis or the rows of each sample. */
static RelnNode *added(const RelnNet *net, RelnNode *x, int over)
{
    return over == RELN_POOL_ROWS ? reln_reduce(net->graph, x, RELN_SAMPLES)
                                  : reln_sum(net->graph, x, (RelnAxis)over);
}

static bool want_weights(const RelnNet *net, const char *layer, const RelnNode *x,
                         const RelnNode *w)
{
    if (!w)
        return true;
    if (!reln_nn_want_invariants(net, layer, w))
        return false;
    return (w->domain == x->domain && w->shape.dims[RELN_K] == 1) ||
           reln_graph_fail(net->graph, RELN_ERR_SHAPE,
                           "%s: weights %s for %s, wanted invariants of the same items", layer,
                           reln_shape_text(w), reln_shape_text(x));
}

RelnNode *reln_nn_pool_sum(const RelnNet *net, RelnNode *x, RelnNode *weights, int over)
{
    RELN_NEED(reln_nn_ready(net, true, __func__), NULL);
    RELN_LAYER(net->graph, NULL);

    if (!x || !want_place(net, "pool_sum", x, over) || !want_weights(net, "pool_sum", x, weights))
        return NULL;
    return added(net, weights ? reln_mul(net->graph, weights, x) : x, over);
}

RelnNode *reln_nn_pool_weighted(const RelnNet *net, RelnNode *x, RelnNode *weights, int over)
{
    RELN_NEED(reln_nn_ready(net, weights, __func__), NULL);
    RELN_LAYER(net->graph, NULL);

    RelnGraph *g = net->graph;

    if (!x || !want_place(net, "pool_weighted", x, over) ||
        !want_weights(net, "pool_weighted", x, weights))
        return NULL;
    if (over != RELN_POOL_ROWS && weights->shape.dims[over] != x->shape.dims[over])
        weights = reln_expand(g, weights, reln_slice(g, x, RELN_C, 0, 1));
    return reln_div(g, added(net, reln_mul(g, weights, x), over),
                    reln_nn_divisor(g, added(net, weights, over)));
}

RelnNode *reln_nn_pool_largest(const RelnNet *net, RelnNode *s, int over)
{
    RELN_NEED(reln_nn_ready(net, true, __func__), NULL);
    RELN_LAYER(net->graph, NULL);

    RelnGraph *g = net->graph;

    if (!s || !want_place(net, "pool_largest", s, over) ||
        !reln_nn_want_invariants(net, "pool_largest", s))
        return NULL;
    if (over == RELN_POOL_ROWS)
        return reln_reduce_max(g, s, RELN_SAMPLES);
    return reln_pick(g, s, reln_argmax(g, s, (RelnAxis)over), (RelnAxis)over);
}

RelnNode *reln_nn_pool_count(const RelnNet *net, RelnNode *x)
{
    RELN_NEED(reln_nn_ready(net, true, __func__), NULL);
    RELN_LAYER(net->graph, NULL);

    if (!x || !want_place(net, "pool_count", x, RELN_POOL_ROWS))
        return NULL;
    return reln_cast(net->graph, reln_reduce_count(net->graph, x->domain, RELN_SAMPLES), x->dtype);
}
