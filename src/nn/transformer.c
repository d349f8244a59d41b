/* transformer.c -- a block of a transformer: attention, then a feed-forward layer for each point, both on
 * normed values and with a residual connection. */
#include "nn/nn.h"

static RelnFeatures normed(const RelnNet *net, const char *stage, RelnFeatures in)
{
    const RelnNet at = reln_nn_within(net, "%s", stage);

    return (RelnFeatures){in.x ? reln_nn_rms_norm(&at, "nx", in.x) : NULL,
                          in.s ? reln_nn_layer_norm_invariants(&at, "ns", in.s) : NULL};
}

/* The usual two layers: channels to `hidden`, the nonlinearity, and back. */
static RelnFeatures fed_forward(const RelnNet *net, RelnFeatures in, const RelnTransformer *o)
{
    const int c = reln_nn_channels(in.x), d = reln_nn_channels(in.s);
    const int hidden = o->hidden ? o->hidden : 2 * d, wide = o->wide ? o->wide : c;
    RelnFeatures h = {in.x ? reln_nn_linear(net, "x1", in.x, wide) : NULL,
                      in.s ? reln_nn_dense(net, "s1", in.s, hidden) : NULL};

    h = reln_nn_gated(net, "gates", h, o->activation);
    h = reln_nn_dropout(net, h, o->dropout);
    return (RelnFeatures){h.x ? reln_nn_linear(net, "x2", h.x, c) : NULL,
                          h.s ? reln_nn_dense(net, "s2", h.s, d) : NULL};
}

RelnFeatures reln_nn_transformer(const RelnNet *net, const char *name, RelnFeatures in,
                                 const RelnTransformer *options)
{
    RELN_NEED(reln_nn_ready(net, name && options, __func__), (RelnFeatures){0});
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    const RelnFeatures none = {NULL, NULL};
    RelnNet inside;
    RelnFeatures branch, h;

    if (reln_graph_status(net->graph) != RELN_OK)
        return none;
    if ((!in.x && !in.s) || options->hidden < 0 || options->wide < 0) {
        reln_graph_fail(net->graph, RELN_ERR_ARG,
                        "%s: wanted features or invariants, and widths of 0 or more", name);
        return none;
    }
    inside = reln_nn_within(net, "%s", name);
    branch = reln_nn_look(&inside, "attention", normed(&inside, "one", in),
                          options->heads ? options->heads : 1);
    h = reln_nn_residual(net, in, reln_nn_dropout(net, branch, options->dropout), options->skip);
    branch = fed_forward(&inside, normed(&inside, "two", h), options);
    return reln_nn_residual(net, h, reln_nn_dropout(net, branch, options->dropout), options->skip);
}
