/* step.c -- adds a training step to the graph: gradients, their norm, clipping, the optimiser. */
#include <math.h>

#include "ops/ops.h"
#include "reln/train.h"

/* A Slope is a parameter with its gradient. */
typedef struct Slope {
    RelnNode *param, *grad;
} Slope;

/* Returns whether grad is the zero node that reln_grad() gives when the loss does not depend on x. Equal
 * nodes are one object, so it can be recognised. */
static bool is_zero(RelnGraph *g, RelnNode *grad, const RelnNode *x)
{
    const RelnRep *dual = reln_dual(g, x->rep);
    RelnNode *zero = reln_cast(g, reln_scalar(g, 0.0), x->dtype);

    return dual && grad == reln_expand_zero(g, zero, x, dual);
}

static int count_params(const RelnGraph *g)
{
    int n = 0;

    while (reln_graph_param(g, n))
        n++;
    return n;
}

/* Lists the parameters that the loss depends on, with their gradients from one sweep; NULL with the graph
 * failed. */
static Slope *slopes_of(RelnGraph *g, RelnNode *loss, int *count)
{
    const int n = count_params(g);
    RelnNode **nodes = reln_graph_alloc(g, 2 * (size_t)n + 1, sizeof(RelnNode *));
    Slope *slopes = reln_graph_alloc(g, (size_t)n + 1, sizeof *slopes);

    *count = 0;
    if (!nodes || !slopes)
        return NULL;
    for (int i = 0; i < n; i++)
        nodes[i] = reln_graph_param(g, i);
    if (!reln_grad(g, loss, n, nodes, nodes + n))
        return NULL;
    for (int i = 0; i < n; i++)
        if (!is_zero(g, nodes[n + i], nodes[i]))
            slopes[(*count)++] = (Slope){nodes[i], nodes[n + i]};
    if (*count == 0)
        reln_graph_fail(g, RELN_ERR_ARG, "train: the loss depends on none of %d parameters", n);
    return *count ? slopes : NULL;
}

/* sqrt(sum of all squares); the sums of the parameters are added in double precision */
static RelnNode *norm_of(RelnGraph *g, int n, const Slope *slopes)
{
    RelnNode *sum = reln_cast(g, reln_scalar(g, 0.0), RELN_F64);

    for (int i = 0; i < n; i++)
        sum = reln_add(g, sum,
                       reln_cast(g, reln_sum_all(g, reln_square(g, slopes[i].grad)), RELN_F64));
    return reln_sqrt(g, sum);
}

/* min(1, clip / (norm + tiny)): the division stays finite, and a gradient within the bound keeps its bits. */
static void clip_to(RelnGraph *g, double clip, RelnNode *norm, int n, Slope *slopes)
{
    RelnNode *bound = reln_cast(g, reln_scalar(g, clip), RELN_F64);
    RelnNode *one = reln_cast(g, reln_scalar(g, 1.0), RELN_F64);
    RelnNode *scale =
        reln_minimum(g, one, reln_div(g, bound, reln_shift(g, norm, 1.0, clip * 1e-300)));

    for (int i = 0; i < n && scale; i++)
        slopes[i].grad = reln_mul(g, reln_cast(g, scale, slopes[i].grad->dtype), slopes[i].grad);
}

static bool want_step(RelnGraph *g, const RelnOptimiser *o, const RelnNode *loss)
{
    if (o->kind != RELN_OPTIMISER_ADAM && o->kind != RELN_OPTIMISER_SGD)
        return reln_graph_fail(g, RELN_ERR_ARG, "train: optimiser %d is unknown", (int)o->kind);
    if (!(o->clip >= 0.0 && isfinite(o->clip)))
        return reln_graph_fail(g, RELN_ERR_ARG,
                               "train: clip %g, wanted a norm above 0, or 0 for none", o->clip);
    return (loss->domain == RELN_STEP && reln_shape_count(&loss->shape) == 1) ||
           reln_graph_fail(g, RELN_ERR_SHAPE,
                           "train: the loss is %s, wanted one number at step level, like "
                           "reln_batch_mean() of it",
                           reln_shape_text(loss));
}

bool reln_train_step(RelnGraph *g, const RelnOptimiser *optimiser, RelnNode *loss)
{
    RELN_NEED(g && optimiser, reln_graph_null(g, __func__));

    RelnNode *rate, *norm;
    Slope *slopes;
    int n;

    if (!loss || !want_step(g, optimiser, loss))
        return false;
    slopes = slopes_of(g, loss, &n);
    if (!slopes)
        return false;
    rate = reln_input(g, "rate", RELN_STEP, (RelnDims){0}, NULL, RELN_F64);
    norm = norm_of(g, n, slopes);
    if (optimiser->clip > 0.0)
        clip_to(g, optimiser->clip, norm, n, slopes);
    for (int i = 0; i < n && rate && norm; i++)
        if (optimiser->kind == RELN_OPTIMISER_ADAM)
            reln_adam(g, &optimiser->adam, rate, slopes[i].param, slopes[i].grad);
        else
            reln_sgd(g, &optimiser->sgd, rate, slopes[i].param, slopes[i].grad);
    reln_output(g, "loss", reln_cast(g, loss, RELN_F64));
    reln_output(g, "gradient_norm", norm);
    return reln_graph_status(g) == RELN_OK;
}
