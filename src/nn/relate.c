/* relate.c -- invariants between two features at several scales; and selecting rows that lie far apart. */
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
    RelnNode *t;

    if (!x || !y || !reln_nn_want_scales(net, "relate", scales))
        return NULL;
    t = reln_channel_gram(g, x, reln_nn_lower(net, y));
    t = reln_reshape(g, t, (RelnDims){.c = reln_nn_channels(x) * reln_nn_channels(y)});
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
