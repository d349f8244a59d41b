/* relate.c -- invariants between two features at several scales; selecting rows that lie far apart, and
 * dividing a set into parts around them. */
#include <math.h>

#include "nn/nn.h"

RelnNode *reln_nn_psi(RelnGraph *g, RelnNode *t)
{
    return reln_mul(g, reln_sign(g, t), reln_log(g, reln_shift(g, reln_abs(g, t), 1.0, 1.0)));
}

RelnNode *reln_nn_psi_scales(RelnGraph *g, RelnNode *t, const RelnScales *scales)
{
    RelnNode *parts[RELN_SCALES];

    t = t ? reln_cast(g, t, RELN_DEFAULT) : NULL;
    if (!t)
        return NULL;
    for (int i = 0; i < scales->count; i++)
        parts[i] = reln_scale(g, reln_nn_psi(g, reln_scale(g, t, scales->at[i] / scales->unit)),
                              1.0 / log1p(scales->at[i]));
    return scales->count == 1 ? parts[0] : reln_concat(g, scales->count, parts, RELN_C);
}

bool reln_nn_want_scales(const RelnNet *net, const char *name, const RelnScales *scales)
{
    if (!scales || scales->count < 1 || scales->count > RELN_SCALES || !(scales->unit > 0))
        return reln_graph_fail(net->graph, RELN_ERR_ARG,
                               "%s: wanted 1 to %d scales in a unit above 0", name, RELN_SCALES);
    for (int i = 0; i < scales->count; i++)
        if (!(scales->at[i] > 0 && isfinite(scales->at[i])))
            return reln_graph_fail(net->graph, RELN_ERR_ARG, "%s: a scale of %g; wanted above 0",
                                   name, scales->at[i]);
    return true;
}

RelnNode *reln_nn_relate(const RelnNet *net, RelnNode *x, RelnNode *y, const RelnScales *scales)
{
    RELN_NEED(reln_nn_ready(net, scales, __func__), NULL);
    RELN_LAYER(net->graph, NULL);

    RelnGraph *g = net->graph;
    RelnDims dims;
    RelnNode *t;

    if (!x || !y || !reln_nn_want_scales(net, "relate", scales))
        return NULL;
    t = reln_channel_gram(g, x, reln_nn_lower(net, y));
    if (!t)
        return NULL;
    if (reln_node_dims(x).r != 1) { /* channel_gram() would add them up */
        reln_graph_fail(g, RELN_ERR_SHAPE, "relate: %s, wanted extent 1 on axis R",
                        reln_shape_text(x));
        return NULL;
    }
    dims = reln_node_dims(t);
    t = reln_reshape(g, t, (RelnDims){dims.p, dims.q, .c = dims.r * dims.c});
    return reln_nn_psi_scales(g, t, scales);
}

RelnNode *reln_nn_lengths(const RelnNet *net, RelnNode *x, const RelnScales *scales)
{
    RELN_NEED(reln_nn_ready(net, scales, __func__), NULL);
    RELN_LAYER(net->graph, NULL);

    if (!x || !reln_nn_want_scales(net, "lengths", scales))
        return NULL;
    return reln_nn_psi_scales(net->graph, reln_nn_form(net, x, x), scales);
}

/* ---- rows far apart ----------------------------------------------------------------------------------------------- */

/* sum_c |B(x_c - y_c, x_c - y_c)|, with y of the sample */
static RelnNode *apart(const RelnNet *net, RelnNode *x, RelnNode *y)
{
    RelnGraph *g = net->graph;
    RelnNode *d = reln_sub(g, x, reln_spread(g, y, x->domain));

    return reln_sum(g, reln_abs(g, reln_nn_form(net, d, d)), RELN_C);
}

/* sum_c |B(x_c, x_c)| + |B(x_c, y_c)|, with y of the sample */
static RelnNode *size_of(const RelnNet *net, RelnNode *x, RelnNode *y)
{
    RelnGraph *g = net->graph;
    RelnNode *with = reln_abs(g, reln_nn_form(net, x, reln_spread(g, y, x->domain)));

    return reln_sum(g, reln_add(g, reln_abs(g, reln_nn_form(net, x, x)), with), RELN_C);
}

RelnNode *reln_nn_far_rows(const RelnNet *net, RelnNode *x, int count)
{
    RELN_NEED(reln_nn_ready(net, true, __func__), NULL);
    RELN_LAYER(net->graph, NULL);

    RelnGraph *g = net->graph;
    RelnNode *y[RELN_FAR_ROWS], *still, *least = NULL;

    if (!x)
        return NULL;
    if (x->domain <= RELN_SAMPLES || count < 1 || count > RELN_FAR_ROWS) {
        reln_graph_fail(g, RELN_ERR_ARG, "far_rows: %d of %s; wanted 1 to %d of a row domain",
                        count, reln_shape_text(x), RELN_FAR_ROWS);
        return NULL;
    }
    still = reln_stop_gradient(g, x);
    for (int i = 0; i < count; i++) {
        RelnNode *t = i == 0 ? size_of(net, still, reln_reduce_mean(g, still, RELN_SAMPLES))
                             : apart(net, still, reln_stop_gradient(g, y[i - 1]));

        least = i < 2 ? t : reln_minimum(g, least, t);
        y[i] = reln_gather(
            g, x, reln_segment_argmax(g, least, reln_row_sample(g, x->domain), RELN_SAMPLES));
    }
    return count == 1 ? y[0] : reln_concat(g, count, y, RELN_C);
}

/* ---- parts ---------------------------------------------------------------------------------------------------------- */

/* The share of a part in a row falls with this power of their distance. */
#define SHARPNESS 1.5
/* Distances below this share of a row's summed distances count as this share. */
#define NEAREST 1e-6

/* Converts between `count` parts of C channels as channels and as rows: (K, count C) <-> (R = count, K,
 * C). */
static RelnNode *stacked(RelnGraph *g, RelnNode *y, int count)
{
    const int c = reln_nn_channels(y) / count;
    RelnNode *parts[RELN_FAR_ROWS];

    for (int i = 0; i < count; i++)
        parts[i] = reln_slice(g, y, RELN_C, i * c, c);
    return count == 1 ? y : reln_concat(g, count, parts, RELN_R);
}

static RelnNode *beside(RelnGraph *g, RelnNode *y, int count)
{
    RelnNode *parts[RELN_FAR_ROWS];

    for (int i = 0; i < count; i++)
        parts[i] = reln_slice(g, y, RELN_R, i, 1);
    return count == 1 ? y : reln_concat(g, count, parts, RELN_C);
}

/* sum_c |t_c| */
static RelnNode *magnitude(RelnGraph *g, RelnNode *t)
{
    return reln_sum(g, reln_abs(g, t), RELN_C);
}

/* Computes t_ik of reln_nn_parts(), (R = count) of rows. `total` is the sum of the set, NULL if the form is
 * definite. */
static RelnNode *distances(const RelnNet *net, RelnNode *x, RelnNode *y, RelnNode *total)
{
    RelnGraph *g = net->graph;
    RelnNode *with, *d;

    if (!total) {
        d = reln_sub(g, x, reln_spread(g, y, x->domain));
        return magnitude(g, reln_nn_form(net, d, d));
    }
    with = reln_nn_divisor(g, magnitude(g, reln_nn_form(net, y, total)));
    return reln_div(g, magnitude(g, reln_nn_form(net, reln_spread(g, y, x->domain), x)),
                    reln_spread(g, with, x->domain));
}

/* a_ik = t_ik^-b / sum_l t_il^-b, b = SHARPNESS; all equal if all distances are 0 */
static RelnNode *shares(RelnGraph *g, RelnNode *t)
{
    RelnNode *all = reln_nn_divisor(g, reln_sum(g, t, RELN_R));
    RelnNode *u = reln_log(g, reln_shift(g, reln_div(g, t, all), 1.0, NEAREST));

    return reln_softmax(g, reln_scale(g, u, -SHARPNESS), RELN_R);
}

RelnNode *reln_nn_parts(const RelnNet *net, RelnNode *x, int count, int rounds)
{
    RELN_NEED(reln_nn_ready(net, true, __func__), NULL);
    RELN_LAYER(net->graph, NULL);

    RelnGraph *g = net->graph;
    RelnNode *y = reln_nn_far_rows(net, x, count), *still = reln_stop_gradient(g, x), *total, *a;
    bool definite;

    if (!y || !still || !reln_nn_is_definite(net, x, &definite))
        return NULL;
    if (rounds < 1) {
        reln_graph_fail(g, RELN_ERR_ARG, "parts: %d rounds; wanted 1 or more", rounds);
        return NULL;
    }
    total = definite ? NULL : reln_reduce(g, still, RELN_SAMPLES);
    y = stacked(g, reln_stop_gradient(g, y), count);
    for (int i = 0; i < rounds; i++) {
        a = shares(g, distances(net, still, y, total));
        y = reln_reduce(g, reln_mul(g, a, i + 1 < rounds ? still : x), RELN_SAMPLES);
        if (definite && i + 1 < rounds)
            y = reln_div(g, y, reln_nn_divisor(g, reln_reduce(g, a, RELN_SAMPLES)));
    }
    return beside(g, y, count);
}
