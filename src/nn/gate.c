/* gate.c -- nonlinearities: they change a feature along a learned direction by an invariant amount. */
#include <math.h>

#include "nn/nn.h"

/* d = x U, one direction for each channel, or one for all channels */
static RelnNode *direction(const RelnNet *net, const char *name, RelnNode *x, bool shared)
{
    return reln_nn_mixed(net, name, "U", x, shared ? 1 : reln_nn_channels(x));
}

static RelnNode *along(const RelnNet *net, RelnNode *x, RelnNode *amount, RelnNode *d)
{
    return reln_add(net->graph, x, reln_mul(net->graph, amount, d));
}

RelnNode *reln_nn_relu(const RelnNet *net, const char *name, RelnNode *x, const RelnRelu *options)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    const RelnRelu o = options ? *options : (RelnRelu){0};
    RelnNode *d = direction(net, name, x, o.shared);
    RelnNode *t = reln_relu(net->graph, reln_nn_form(net, x, d));

    return along(net, x, reln_scale(net->graph, t, 1.0 - o.leak), d);
}

/* M = sqrt(eps^2 + mean_c(t^2 + q_x^2 + q_d^2)) */
static RelnNode *size_of(const RelnNet *net, RelnNode *t, RelnNode *qx, RelnNode *qd, double eps)
{
    RelnGraph *g = net->graph;
    RelnNode *squares =
        reln_add(g, reln_add(g, reln_square(g, t), reln_square(g, qx)), reln_square(g, qd));

    return reln_sqrt(g, reln_shift(g, reln_mean(g, squares, RELN_C), 1.0, eps * eps));
}

RelnNode *reln_nn_rms(const RelnNet *net, const char *name, RelnNode *x, const RelnRms *options)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    const RelnRms defaults = RELN_RMS_DEFAULTS, o = options ? *options : defaults;
    RelnNode *d = direction(net, name, x, o.shared);
    RelnNode *t = reln_nn_form(net, x, d);
    RelnNode *M = size_of(net, t, reln_nn_form(net, x, x), reln_nn_form(net, d, d), o.eps);

    return along(net, x, reln_nn_activate(net->graph, o.f, reln_div(net->graph, t, M)), d);
}

#define NULL_EPS 1e-6 /* eps of project for an indefinite form */

/* r = t q / (q^2 + delta^2 mean_c q^2 + eps^2). A denominator of 0 is replaced by 1 before the division, so
 * that neither the value nor a derivative divides by 0. */
static RelnNode *ratio(const RelnNet *net, RelnNode *t, RelnNode *q, double delta, double eps)
{
    RelnGraph *g = net->graph;
    RelnNode *square = reln_square(g, q);
    RelnNode *below =
        reln_add(g, square, reln_scale(g, reln_mean(g, square, RELN_C), delta * delta));
    RelnNode *good, *one;

    if (eps > 0)
        return reln_div(g, reln_mul(g, t, q), reln_shift(g, below, 1.0, eps * eps));
    good = reln_step(g, below);
    one = below ? reln_cast(g, reln_scalar(g, 1.0), below->dtype) : NULL;
    return reln_mask(g, good, reln_div(g, reln_mul(g, t, q), reln_select(g, good, below, one)));
}

RelnNode *reln_nn_project(const RelnNet *net, const char *name, RelnNode *x,
                          const RelnProject *options)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    const RelnProject defaults = RELN_PROJECT_DEFAULTS, o = options ? *options : defaults;
    RelnGraph *g = net->graph;
    RelnNode *d = direction(net, name, x, o.shared), *r, *amount;
    bool definite = true;

    if (!reln_nn_is_definite(net, x, &definite))
        return NULL;
    r = ratio(net, reln_nn_form(net, x, d), reln_nn_form(net, d, d), o.delta,
              o.eps > 0 || definite ? o.eps : NULL_EPS);
    amount = reln_relu(g, reln_scale(g, r, -1.0)); /* -min(r, 0) */
    if (amount && isfinite(o.clip))
        amount = reln_minimum(g, amount, reln_cast(g, reln_scalar(g, o.clip), amount->dtype));
    return along(net, x, amount, d);
}

RelnNode *reln_nn_gate(const RelnNet *net, const char *name, RelnNode *x, RelnNode *s, int width)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    const RelnMlp mlp = {1, width, reln_nn_channels(x), RELN_ACT_SILU};

    if (!x)
        return NULL;
    s = reln_nn_mlp(net, name, s ? s : reln_nn_invariant(net, x), &mlp);
    return reln_mul(net->graph, x, reln_sigmoid(net->graph, s));
}
