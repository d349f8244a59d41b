/* drop.c -- dropout of channels, and of whole branches (stochastic depth), during training. */
#include "nn/nn.h"

static bool want_share(const RelnNet *net, const char *layer, double p)
{
    return (p >= 0 && p < 1) || reln_graph_fail(net->graph, RELN_ERR_ARG,
                                                "%s: a share of %g, wanted 0 to below 1", layer, p);
}

RelnFeatures reln_nn_dropout(const RelnNet *net, RelnFeatures in, double p)
{
    RELN_NEED(reln_nn_ready(net, true, __func__), (RelnFeatures){0});
    RELN_LAYER(net->graph, NULL);

    if (!want_share(net, "dropout", p))
        return (RelnFeatures){NULL, NULL};
    if (!net->train || p == 0)
        return in;
    return (RelnFeatures){in.x ? reln_dropout(net->graph, in.x, p, 0) : NULL,
                          in.s ? reln_dropout(net->graph, in.s, p, 0) : NULL};
}

/* Returns 1 / (1 - p) with probability 1 - p, else 0: one number for each sample, repeated to x's domain. */
static RelnNode *kept(const RelnNet *net, double p, uint64_t key, const RelnNode *x)
{
    RelnGraph *g = net->graph;
    const RelnDomain of = x->domain == RELN_STEP ? RELN_STEP : RELN_SAMPLES;
    RelnNode *m = reln_random_bernoulli(g, 1 - p, of, (RelnDims){0}, key);

    m = reln_scale(g, reln_cast(g, m, x->dtype), 1 / (1 - p));
    return x->domain > RELN_SAMPLES ? reln_spread(g, m, x->domain) : m;
}

static RelnNode *joined(const RelnNet *net, RelnNode *x, RelnNode *branch, double p, uint64_t key)
{
    if (!x || !branch)
        return x;
    if (net->train && p > 0)
        branch = reln_mul(net->graph, branch, kept(net, p, key, branch));
    return reln_add(net->graph, x, branch);
}

RelnFeatures reln_nn_residual(const RelnNet *net, RelnFeatures in, RelnFeatures branch, double p)
{
    RELN_NEED(reln_nn_ready(net, true, __func__), (RelnFeatures){0});
    RELN_LAYER(net->graph, NULL);

    const RelnFeatures none = {NULL, NULL};
    uint64_t key;

    if (!want_share(net, "residual", p) || reln_graph_status(net->graph) != RELN_OK)
        return none;
    if ((branch.x && !in.x) || (branch.s && !in.s)) {
        reln_graph_fail(net->graph, RELN_ERR_ARG,
                        "residual: a branch has features or invariants that the input does not have");
        return none;
    }
    key = net->train && p > 0 ? reln_graph_key(net->graph) : 0;
    return (RelnFeatures){joined(net, in.x, branch.x, p, key), joined(net, in.s, branch.s, p, key)};
}
