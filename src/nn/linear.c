/* linear.c -- layers that mix channels by named weights: linear, convolution, dense. */
#include <math.h>

#include "nn/nn.h"

static RelnNode *parameter(const RelnNet *net, const char *name, const char *part, RelnDims dims,
                           int fan_in)
{
    if (dims.r < 0 || dims.c < 1) {
        reln_graph_fail(net->graph, RELN_ERR_SHAPE, "%s.%s: %d channels, wanted 1 or more", name,
                        part, dims.c);
        return NULL;
    }
    return reln_nn_param(net, name, part, dims,
                         (RelnInit){RELN_INIT_UNIFORM, 1.0 / sqrt((double)fan_in)});
}

RelnNode *reln_nn_weight(const RelnNet *net, const char *name, const char *part, int from, int to,
                         int fan_in)
{
    return parameter(net, name, part, (RelnDims){.r = from, .c = to}, fan_in);
}

RelnNode *reln_nn_bias(const RelnNet *net, const char *name, const char *part, int to, int fan_in)
{
    return parameter(net, name, part, (RelnDims){.c = to}, fan_in);
}

RelnNode *reln_nn_mixed(const RelnNet *net, const char *name, const char *part, RelnNode *x, int to)
{
    const int from = reln_nn_channels(x);

    return x ? reln_mix(net->graph, x, reln_nn_weight(net, name, part, from, to, from)) : NULL;
}

RelnNode *reln_nn_linear(const RelnNet *net, const char *name, RelnNode *x, int channels)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    return reln_nn_mixed(net, name, "W", x, channels);
}

bool reln_nn_want_points(const RelnNet *net, const char *name, const RelnNode *x)
{
    if (!x || x->domain == RELN_STEP || x->domain == RELN_SAMPLES)
        return true;
    return reln_graph_fail(
        net->graph, RELN_ERR_UNSUPPORTED,
        "%s: %s are rows, each an item by itself, and this works along axis P of "
        "an item; wanted points on axis P of a sample",
        name, reln_shape_text(x));
}

static RelnWindow window_of(const RelnConv *conv)
{
    switch (conv->padding) {
    case RELN_PAD_SAME:
        return reln_window_same(conv->width, conv->stride, conv->dilation);
    case RELN_PAD_CAUSAL:
        return reln_window_causal(conv->width, conv->stride, conv->dilation);
    case RELN_PAD_EACH:
        break;
    }
    return (RelnWindow){conv->width, conv->stride, conv->dilation, conv->pad, conv->pad};
}

RelnNode *reln_nn_conv(const RelnNet *net, const char *name, RelnNode *x, const RelnConv *conv)
{
    RELN_NEED(reln_nn_ready(net, name && conv, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    const RelnWindow window = window_of(conv);
    const int from = reln_nn_channels(x);
    int rows;

    if (!x || !reln_nn_want_points(net, name, x))
        return NULL;
    if (window.width < 1 || __builtin_mul_overflow(window.width, from, &rows)) {
        reln_graph_fail(net->graph, RELN_ERR_SHAPE, "%s: a convolution of %d taps of %s", name,
                        window.width, reln_shape_text(x));
        return NULL;
    }
    return reln_conv(net->graph, x, reln_nn_weight(net, name, "W", rows, conv->channels, rows),
                     conv->axis, window);
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

bool reln_nn_want_invariants(const RelnNet *net, const char *layer, const RelnNode *s)
{
    if (s->dtype != RELN_I32 && reln_is_invariant(s))
        return true;
    return reln_graph_fail(net->graph, RELN_ERR_REP,
                           "%s: wanted invariants, saw %s as %s; reln_nn_invariant() makes them",
                           layer, reln_shape_text(s), s->rep ? reln_rep_name(s->rep) : "indices");
}

RelnNode *reln_nn_dense(const RelnNet *net, const char *name, RelnNode *s, int channels)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    RelnNode *y;

    if (s && !reln_nn_want_invariants(net, "dense", s))
        return NULL;
    y = reln_nn_mixed(net, name, "W", s, channels);
    return y ? reln_add(net->graph, y, reln_nn_bias(net, name, "b", channels, reln_nn_channels(s)))
             : NULL;
}

RelnNode *reln_nn_activate(RelnGraph *g, RelnActivation f, RelnNode *s)
{
    switch (f) {
    case RELN_ACT_RELU:
        return reln_relu(g, s);
    case RELN_ACT_SILU:
        return reln_silu(g, s);
    case RELN_ACT_TANH:
        return reln_tanh(g, s);
    case RELN_ACT_SOFTPLUS:
        return reln_softplus(g, s);
    case RELN_ACT_NONE:
        break;
    }
    return s;
}

RelnNode *reln_nn_mlp(const RelnNet *net, const char *name, RelnNode *s, const RelnMlp *mlp)
{
    RELN_NEED(reln_nn_ready(net, name && mlp, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    for (int i = 0; i <= mlp->hidden && s; i++) {
        const char *layer = reln_arena_printf(reln_graph_arena(net->graph), "%s.%d", name, i);

        if (!layer) {
            reln_graph_nomem(net->graph);
            return NULL;
        }
        s = reln_nn_dense(net, layer, s, i < mlp->hidden ? mlp->width : mlp->channels);
        if (i < mlp->hidden)
            s = reln_nn_activate(net->graph, mlp->activation, s);
    }
    return s;
}
