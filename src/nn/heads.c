/* heads.c -- splits channels into heads along an axis, and merges them back. */
#include "nn/nn.h"

enum { MAX_HEADS = 64 };

static bool want_axis(const RelnNet *net, const char *layer, RelnAxis axis)
{
    return (axis >= RELN_P && axis <= RELN_R) ||
           reln_graph_fail(net->graph, RELN_ERR_ARG, "%s: axis %d, wanted P, Q or R", layer,
                           (int)axis);
}

RelnNode *reln_nn_split_heads(const RelnNet *net, RelnNode *x, int heads, RelnAxis axis)
{
    RELN_NEED(reln_nn_ready(net, true, __func__), NULL);
    RELN_LAYER(net->graph, NULL);

    if (!x || !want_axis(net, "split_heads", axis))
        return NULL;
    if (heads < 1 || heads > MAX_HEADS || x->shape.dims[RELN_C] % heads != 0 ||
        x->shape.dims[axis] != 1) {
        reln_graph_fail(net->graph, RELN_ERR_SHAPE,
                        "split_heads: %s into %d heads on axis %d; wanted 1 to %d that divide the "
                        "channels, and an axis of extent 1",
                        reln_shape_text(x), heads, (int)axis, MAX_HEADS);
        return NULL;
    }
    return reln_split(net->graph, x, heads, axis);
}

RelnNode *reln_nn_merge_heads(const RelnNet *net, RelnNode *x, RelnAxis axis)
{
    RELN_NEED(reln_nn_ready(net, true, __func__), NULL);
    RELN_LAYER(net->graph, NULL);

    if (!x || !want_axis(net, "merge_heads", axis))
        return NULL;
    if (x->shape.dims[axis] > MAX_HEADS) {
        reln_graph_fail(net->graph, RELN_ERR_SHAPE, "merge_heads: %d heads of %s, wanted 1 to %d",
                        x->shape.dims[axis], reln_shape_text(x), MAX_HEADS);
        return NULL;
    }
    return reln_merge(net->graph, x, axis);
}
