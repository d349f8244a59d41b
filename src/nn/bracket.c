/* bracket.c -- ReLN-Bracket: y = x + [x Wb, x Wa]. */
#include "nn/nn.h"

/* The order of the factors is that of the published code. */
RelnNode *reln_nn_bracket(const RelnNet *net, const char *name, RelnNode *x)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    const int c = reln_nn_channels(x);
    RelnNode *a, *b;

    if (!x || !reln_nn_want_algebra(net, "bracket"))
        return NULL;
    a = reln_nn_mixed(net, name, "Wa", x, c);
    b = reln_nn_mixed(net, name, "Wb", x, c);
    return reln_add(net->graph, x, reln_bracket(net->graph, net->algebra, b, a));
}
