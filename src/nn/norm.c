/* norm.c -- norms of features: by running statistics of their invariants over the batch, or by the invariants
 * of each point. */
#include "nn/nn.h"

#define AWAY 1e-6 /* smallest |q| of the published norm */

/* Returns the number of points in a mean over the batch and the leading axes. */
static RelnNode *count_of(const RelnNet *net, const RelnNode *x)
{
    RelnGraph *g = net->graph;
    const int *d = x->shape.dims;
    const double each = (double)d[RELN_P] * d[RELN_Q] * d[RELN_R];
    RelnNode *one = reln_cast(g, reln_scalar(g, 1.0), x->dtype);
    RelnNode *items = x->domain == RELN_SAMPLES
                          ? reln_cast(g, reln_batch_count(g), x->dtype)
                          : reln_batch_sum(g, reln_expand_domain(g, one, x->domain));

    return reln_scale(g, items, each);
}

/* sum over batch and leading axes: (1, 1, 1, 1, C) at step level */
static RelnNode *total(const RelnNet *net, RelnNode *q)
{
    for (RelnAxis a = RELN_P; a <= RELN_R; a = (RelnAxis)(a + 1))
        q = reln_sum(net->graph, q, a);
    return reln_batch_sum(net->graph, q);
}

/* state = (1 - momentum) state + momentum value, at the end of the run */
static void remember(const RelnNet *net, RelnNode *old, RelnNode *value)
{
    RelnGraph *g = net->graph;

    reln_assign(
        g, old,
        reln_add(g, reln_scale(g, old, 1.0 - NN_MOMENTUM), reln_scale(g, value, NN_MOMENTUM)));
}

/* ---- y = gamma x / (eps + E q^2)^(1/4) ---------------------------------------------------------------------------- */

static RelnNode *gain(const RelnNet *net, const char *name, const RelnNode *x)
{
    return reln_nn_param(net, name, "gamma", (RelnDims){.c = reln_nn_channels(x)},
                         (RelnInit){RELN_INIT_CONSTANT, 1.0});
}

/* gamma x / (eps + square)^(1/4): the argument of the root is at least eps, so every derivative is finite */
static RelnNode *divided(const RelnNet *net, const char *name, RelnNode *x, RelnNode *square)
{
    RelnGraph *g = net->graph;
    RelnNode *gamma = gain(net, name, x);

    return reln_mul(
        g, x, reln_div(g, gamma, reln_sqrt(g, reln_sqrt(g, reln_shift(g, square, 1.0, NN_EPS)))));
}

static RelnNode *invariant_norm(const RelnNet *net, const char *name, RelnNode *x)
{
    RelnGraph *g = net->graph;
    RelnNode *square = reln_nn_state(net, name, "square", reln_nn_channels(x), 1.0);

    if (!square)
        return NULL;
    if (net->train) {
        RelnNode *now =
            reln_div(g, total(net, reln_square(g, reln_nn_form(net, x, x))), count_of(net, x));
        remember(net, square, now);
        square = now;
    }
    return divided(net, name, x, square);
}

RelnNode *reln_nn_layer_norm(const RelnNet *net, const char *name, RelnNode *x)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    RelnGraph *g = net->graph;
    RelnNode *square = reln_mean(g, reln_square(g, reln_nn_form(net, x, x)), RELN_C);

    return square ? divided(net, name, x, square) : NULL;
}

/* ---- y = gamma x / sqrt(eps + mean |q|) --------------------------------------------------------------------------- */

/* The mean over the channels of s^2, or, for a definite form, of |B(x, x)|, which has one sign and is
 * therefore smooth. */
static RelnNode *mean_square(const RelnNet *net, RelnNode *x)
{
    RelnGraph *g = net->graph;

    if (reln_is_invariant(x))
        return reln_mean(g, reln_mean(g, reln_square(g, x), RELN_K), RELN_C);
    return reln_mean(g, reln_abs(g, reln_nn_form(net, x, x)), RELN_C);
}

RelnNode *reln_nn_rms_norm(const RelnNet *net, const char *name, RelnNode *x)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    RelnGraph *g = net->graph;
    bool definite = true;

    if (!x)
        return NULL;
    if (!reln_is_invariant(x) && !reln_nn_is_definite(net, x, &definite))
        return NULL;
    if (!definite)
        return reln_nn_layer_norm(net, name, x);
    return reln_mul(g, x,
                    reln_div(g, gain(net, name, x),
                             reln_sqrt(g, reln_shift(g, mean_square(net, x), 1.0, NN_EPS))));
}

/* ---- as published --------------------------------------------------------------------------------------------------- */

/* q <= 0: min(q, -1e-6); q > 0: max(q, 1e-6) */
static RelnNode *keep_away(const RelnNet *net, RelnNode *q)
{
    RelnGraph *g = net->graph;
    RelnNode *near = q ? reln_cast(g, reln_scalar(g, AWAY), q->dtype) : NULL;

    return reln_select(g, reln_step(g, q), reln_maximum(g, q, near),
                       reln_minimum(g, q, reln_scale(g, near, -1.0)));
}

typedef struct Moments {
    RelnNode *mean, *var;
} Moments;

/* Uses two passes. The variance stored for inference is unbiased: n/(n-1) times that of the batch. */
static Moments batch_moments(const RelnNet *net, RelnNode *q, const Moments *kept)
{
    RelnGraph *g = net->graph;
    RelnNode *n = count_of(net, q);
    RelnNode *mean = reln_div(g, total(net, q), n);
    RelnNode *squares = total(net, reln_square(g, reln_sub(g, q, mean)));
    RelnNode *fewer =
        reln_maximum(g, reln_shift(g, n, 1.0, -1.0), reln_cast(g, reln_scalar(g, 1.0), q->dtype));

    remember(net, kept->mean, mean);
    remember(net, kept->var, reln_div(g, squares, fewer));
    return (Moments){mean, reln_div(g, squares, n)};
}

static RelnNode *published_norm(const RelnNet *net, const char *name, RelnNode *x)
{
    RelnGraph *g = net->graph;
    const int c = reln_nn_channels(x);
    RelnNode *q = keep_away(net, reln_nn_form(net, x, x)), *scaled;
    Moments m = {reln_nn_state(net, name, "mean", c, 0.0), reln_nn_state(net, name, "var", c, 1.0)};

    if (!q || !m.mean || !m.var)
        return NULL;
    if (net->train)
        m = batch_moments(net, q, &m);
    scaled = reln_div(g, reln_sub(g, q, m.mean), reln_sqrt(g, reln_shift(g, m.var, 1.0, NN_EPS)));
    return reln_mul(g, x, reln_div(g, scaled, q));
}

RelnNode *reln_nn_batch_norm(const RelnNet *net, const char *name, RelnNode *x, RelnNorm norm)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    if (!x)
        return NULL;
    return norm == RELN_NORM_PUBLISHED ? published_norm(net, name, x)
                                       : invariant_norm(net, name, x);
}
