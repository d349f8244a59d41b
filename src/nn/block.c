/* block.c -- blocks along an axis: residual blocks of two convolutions for features and invariants, and pools that make
 * the axis shorter. */
#include <math.h>

#include "nn/nn.h"

/* ---- exchange between features and invariants --------------------------------------------------------------------- */

/* q / (1 + q^2)^(1/4): about q if q is small, and its root if q is large, so that invariants grow no faster
 * than features. */
static RelnNode *rooted(RelnGraph *g, RelnNode *q)
{
    RelnNode *r = reln_sqrt(g, reln_sqrt(g, reln_shift(g, reln_square(g, q), 1, 1)));

    return reln_div(g, q, r);
}

RelnFeatures reln_nn_gated(const RelnNet *net, const char *name, RelnFeatures in, RelnActivation f)
{
    RelnGraph *g = net->graph;
    const int c = reln_nn_channels(in.x), d = in.s ? reln_nn_channels(in.s) : c;
    RelnNode *s = in.s, *u;

    if (in.x) {
        RelnNode *q = rooted(g, reln_nn_invariant(net, in.x));

        q = reln_mix(g, q, reln_nn_weight(net, name, "Q", c, d, c));
        s = reln_add(g, q, s ? s : reln_nn_bias(net, name, "b", d, c));
    }
    s = reln_nn_activate(g, f, s);
    if (!in.x)
        return (RelnFeatures){NULL, s};
    u = reln_add(g, reln_nn_mixed(net, name, "G", s, c), reln_nn_bias(net, name, "g", c, d));
    u = reln_scale(g, reln_sigmoid(g, u), 2.0);
    return (RelnFeatures){reln_mul(g, in.x, u), in.s ? s : NULL};
}

/* ---- the block ---------------------------------------------------------------------------------------------------- */

/* A Block holds the net of the block's layers, its number of outputs, and its options. */
typedef struct Block {
    const RelnNet *net; /* within the block's name */
    const RelnConvBlock *o;
    int channels, invariants;
} Block;

static RelnConv conv_of(const Block *b, int channels, int width, int stride, int dilation)
{
    return (RelnConv){.channels = channels,
                      .width = width,
                      .stride = stride,
                      .dilation = dilation,
                      .padding = b->o->causal ? RELN_PAD_CAUSAL : RELN_PAD_SAME,
                      .axis = b->o->axis};
}

/* A convolution of invariants has a bias, unless a norm with a bias follows it. */
static RelnNode *biased(const Block *b, const char *name, RelnNode *s, int fan_in)
{
    return b->o->norm == RELN_BLOCK_PLAIN && s
               ? reln_add(b->net->graph, s,
                          reln_nn_bias(b->net, name, "b", reln_nn_channels(s), fan_in))
               : s;
}

static RelnNode *normed_features(const Block *b, const char *name, RelnNode *x)
{
    switch (b->o->norm) {
    case RELN_BLOCK_BATCH_NORM:
        return reln_nn_batch_norm(b->net, name, x, RELN_NORM_INVARIANT);
    case RELN_BLOCK_RMS_NORM:
        return reln_nn_rms_norm(b->net, name, x);
    case RELN_BLOCK_PLAIN:
        break;
    }
    return x;
}

static RelnNode *normed_invariants(const Block *b, const char *name, RelnNode *s)
{
    switch (b->o->norm) {
    case RELN_BLOCK_BATCH_NORM:
        return reln_nn_batch_norm_invariants(b->net, name, s, NULL);
    case RELN_BLOCK_RMS_NORM:
        return reln_nn_layer_norm_invariants(b->net, name, s);
    case RELN_BLOCK_PLAIN:
        break;
    }
    return s;
}

/* Convolves features and invariants, each followed by its norm: "<stage>x" for x, "<stage>s" for s. */
static RelnFeatures convolved(const Block *b, const char *stage, RelnFeatures in, int width,
                              int stride, int dilation)
{
    const RelnNet net = reln_nn_within(b->net, "%s", stage);
    const Block at = {&net, b->o, b->channels, b->invariants};
    const RelnConv cx = conv_of(b, b->channels, width, stride, dilation),
                   cs = conv_of(b, b->invariants, width, stride, dilation);
    RelnFeatures y = {NULL, NULL};

    if (in.x)
        y.x = normed_features(&at, "nx", reln_nn_conv(&net, "x", in.x, &cx));
    if (in.s)
        y.s = normed_invariants(
            &at, "ns",
            biased(&at, "s", reln_nn_conv(&net, "s", in.s, &cs), width * reln_nn_channels(in.s)));
    return y;
}

/* Applies the nonlinearity: gates by invariants, or one of the gates along a direction for x. */
static RelnFeatures bent(const Block *b, const char *name, RelnFeatures in)
{
    RelnFeatures y = {NULL, NULL};

    if (b->o->gate == RELN_BLOCK_GATED)
        return reln_nn_gated(b->net, name, in, b->o->activation);
    y.s = in.s ? reln_nn_activate(b->net->graph, b->o->activation, in.s) : NULL;
    if (!in.x)
        return y;
    switch (b->o->gate) {
    case RELN_BLOCK_RELU:
        y.x = reln_nn_relu(b->net, name, in.x, NULL);
        break;
    case RELN_BLOCK_RMS:
        y.x = reln_nn_rms(b->net, name, in.x, NULL);
        break;
    case RELN_BLOCK_PROJECT:
        y.x = reln_nn_project(b->net, name, in.x, NULL);
        break;
    case RELN_BLOCK_GATED:
        break;
    }
    return y;
}

static bool changes(const Block *b, RelnFeatures in)
{
    return b->o->stride > 1 || (in.x && b->channels != reln_nn_channels(in.x)) ||
           (in.s && b->invariants != reln_nn_channels(in.s));
}

static bool want(const RelnNet *net, const char *name, RelnFeatures in, const RelnConvBlock *o)
{
    if (!in.x && !in.s)
        return reln_graph_fail(net->graph, RELN_ERR_ARG, "%s: wanted features or invariants", name);
    if (in.s && !reln_nn_want_invariants(net, name, in.s))
        return false;
    if (o->channels < 0 || o->invariants < 0 || o->width < 0 || o->stride < 0 || o->dilation < 0)
        return reln_graph_fail(net->graph, RELN_ERR_ARG,
                               "%s: %d channels, %d invariants, width %d, stride %d, dilation %d; "
                               "wanted none below 0",
                               name, o->channels, o->invariants, o->width, o->stride, o->dilation);
    return true;
}

RelnFeatures reln_nn_conv_block(const RelnNet *net, const char *name, RelnFeatures in,
                                const RelnConvBlock *options)
{
    RELN_NEED(reln_nn_ready(net, name && options, __func__), (RelnFeatures){0});
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    const RelnFeatures none = {NULL, NULL};
    const int width = options->width ? options->width : 3;
    RelnNet inside;
    Block b;
    RelnFeatures h, skip;

    if (reln_graph_status(net->graph) != RELN_OK || !want(net, name, in, options))
        return none;
    inside = reln_nn_within(net, "%s", name);
    b = (Block){&inside, options, options->channels ? options->channels : reln_nn_channels(in.x),
                options->invariants ? options->invariants : reln_nn_channels(in.s)};
    h = convolved(&b, "one", in, width, options->stride, options->dilation);
    h = bent(&b, "between", h);
    h = convolved(&b, "two", reln_nn_dropout(net, h, options->dropout), width, 1,
                  options->dilation);
    skip = changes(&b, in) ? convolved(&b, "skip", in, 1, options->stride, 1) : in;
    return bent(&b, "after", reln_nn_residual(net, skip, h, options->skip));
}

/* ---- pools -------------------------------------------------------------------------------------------------------- */

/* For each window and channel, selects the point with the largest score. */
static RelnNode *best(const RelnNet *net, const char *name, RelnNode *x, RelnAxis axis,
                      RelnWindow window)
{
    RelnNode *t =
        reln_is_invariant(x)
            ? x
            : reln_nn_form(net, x, reln_nn_mixed(net, name, "Wq", x, reln_nn_channels(x)));

    return reln_pick(net->graph, x, reln_window_argmax(net->graph, t, axis, window), axis);
}

static RelnNode *pooled(const RelnNet *net, const char *name, RelnNode *x, const RelnWindowPool *o)
{
    if (!x)
        return NULL;
    return o->max ? best(net, name, x, o->axis, o->window)
                  : reln_window_mean(net->graph, x, o->axis, o->window);
}

RelnFeatures reln_nn_pool_windows(const RelnNet *net, const char *name, RelnFeatures in,
                                  const RelnWindowPool *options)
{
    RELN_NEED(reln_nn_ready(net, name && options, __func__), (RelnFeatures){0});
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    const RelnFeatures none = {NULL, NULL};

    if (!reln_nn_want_points(net, name, in.x) || !reln_nn_want_points(net, name, in.s))
        return none;
    return (RelnFeatures){pooled(net, name, in.x, options), pooled(net, name, in.s, options)};
}
