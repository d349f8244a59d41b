/* loss.c -- losses as compositions of ops: the error of an output against its target, as invariant
 * numbers. */
#include <math.h>
#include <string.h>

#include "ops/ops.h"
#include "reln/train.h"

/* ---- errors of numbers and features ----------------------------------------------------------------------------- */

/* |r|^2: of each number if the rep is trivial, of each channel's vector otherwise. */
static RelnNode *size_squared(RelnGraph *g, RelnNode *r)
{
    return reln_is_invariant(r) ? reln_square(g, r) : reln_pair(g, r, r);
}

/* |r|, with derivatives 0 at r = 0: there the root of another value is taken, so its infinite derivative
 * enters neither value nor gradient. */
static RelnNode *size(RelnGraph *g, RelnNode *r)
{
    RelnNode *square, *positive, *one;

    if (reln_is_invariant(r))
        return reln_abs(g, r);
    square = size_squared(g, r);
    positive = reln_step(g, square);
    one = reln_cast(g, reln_scalar(g, 1.0), r->dtype);
    return reln_mask(g, positive, reln_sqrt(g, reln_select(g, positive, square, one)));
}

/* r^2/2 where |r| <= delta, delta (|r| - delta/2) beyond */
static RelnNode *huber(RelnGraph *g, double delta, RelnNode *r)
{
    RelnNode *a = size(g, r);
    RelnNode *far = a ? reln_less(g, reln_cast(g, reln_scalar(g, delta), r->dtype), a) : NULL;

    return reln_select(g, far, reln_shift(g, a, delta, -delta * delta / 2),
                       reln_scale(g, size_squared(g, r), 0.5));
}

static bool want_target(RelnGraph *g, const RelnNode *y, const RelnNode *t)
{
    if (y->dtype == RELN_I32 || t->dtype == RELN_I32)
        return reln_graph_fail(g, RELN_ERR_ARG, "loss: indices, wanted numbers (or cross entropy)");
    if (memcmp(&y->shape, &t->shape, sizeof y->shape) != 0)
        return reln_graph_fail(g, RELN_ERR_SHAPE, "loss: the output is %s, its target %s",
                               reln_shape_text(y), reln_shape_text(t));
    if (y->rep != t->rep)
        return reln_graph_fail(g, RELN_ERR_REP,
                               "loss: the output transforms as %s, its target as %s",
                               reln_rep_name(y->rep), reln_rep_name(t->rep));
    return reln_rep_is_orthogonal(y->rep) ||
           reln_graph_fail(g, RELN_ERR_REP,
                           "loss: the error of a %s has no size that %s keeps: its matrices are "
                           "not orthogonal; compare invariants instead",
                           reln_rep_name(y->rep), reln_group_name(reln_graph_group(g)));
}

static RelnNode *mean_over_item(RelnGraph *g, RelnNode *x, double count)
{
    return x ? reln_scale(g, reln_sum_all(g, x), 1.0 / count) : NULL;
}

static RelnNode *distance(RelnGraph *g, const RelnLoss *loss, RelnNode *y, RelnNode *target)
{
    const double delta = loss->delta > 0.0 ? loss->delta : 1.0;
    RelnNode *r = want_target(g, y, target) ? reln_sub(g, y, target) : NULL, *e;

    if (!r)
        return NULL;
    if (loss->kind == RELN_LOSS_MSE)
        return mean_over_item(g, size_squared(g, r), (double)reln_shape_count(&r->shape));
    e = loss->kind == RELN_LOSS_MAE ? size(g, r) : huber(g, delta, r);
    return e ? mean_over_item(g, e, (double)reln_shape_count(&e->shape)) : NULL;
}

/* ---- quantiles -------------------------------------------------------------------------------------------------- */

/* max(q r, (q - 1) r) = q r + max(-r, 0) with r = t - y: its mean is smallest if a share q of the true values
 * is below y. */
static RelnNode *pinball(RelnGraph *g, double q, RelnNode *y, RelnNode *target)
{
    RelnNode *r = reln_sub(g, target, y);

    return reln_add(g, reln_scale(g, r, q), reln_relu(g, reln_scale(g, r, -1)));
}

static bool want_quantiles(RelnGraph *g, const RelnLoss *loss, const RelnNode *y, const RelnNode *t)
{
    RelnShape wanted = t->shape;

    wanted.dims[RELN_C] *= loss->n_quantiles;
    if (y->dtype == RELN_I32 || t->dtype == RELN_I32)
        return reln_graph_fail(g, RELN_ERR_ARG, "quantiles: indices, wanted numbers");
    if (memcmp(&y->shape, &wanted, sizeof wanted) != 0)
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "quantiles: the output is %s, its target %s; wanted %d channels for "
                               "each of its own",
                               reln_shape_text(y), reln_shape_text(t), loss->n_quantiles);
    return (reln_is_invariant(y) && reln_is_invariant(t)) ||
           reln_graph_fail(g, RELN_ERR_REP,
                           "quantiles: the output transforms as %s, which has no order; wanted "
                           "invariants",
                           reln_rep_name(y->rep));
}

static RelnNode *quantiles(RelnGraph *g, const RelnLoss *loss, RelnNode *y, RelnNode *target)
{
    const int c = target->shape.dims[RELN_C];
    RelnNode *sum = NULL;

    if (!want_quantiles(g, loss, y, target))
        return NULL;
    for (int i = 0; i < loss->n_quantiles; i++) {
        RelnNode *l = pinball(g, loss->quantiles[i], reln_slice(g, y, RELN_C, i * c, c), target);

        sum = sum ? reln_add(g, sum, l) : l;
    }
    return sum ? mean_over_item(g, sum, (double)reln_shape_count(&y->shape)) : NULL;
}

/* ---- classes ---------------------------------------------------------------------------------------------------- */

static bool want_classes(RelnGraph *g, const RelnLoss *loss, const RelnNode *y, const RelnNode *t)
{
    const int classes = y->shape.dims[RELN_C];

    if (t->dtype != RELN_I32)
        return reln_graph_fail(g, RELN_ERR_ARG,
                               "cross entropy: the target has numbers, wanted i32 classes");
    if (y->shape.dims[RELN_K] != 1)
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "cross entropy: the output is %s, wanted K = 1 and C classes",
                               reln_shape_text(y));
    for (int a = 0; a < RELN_AXES; a++)
        if (t->shape.dims[a] != (a == RELN_C ? 1 : y->shape.dims[a]))
            return reln_graph_fail(g, RELN_ERR_SHAPE,
                                   "cross entropy: the output is %s, the classes %s; wanted one "
                                   "for each of its rows",
                                   reln_shape_text(y), reln_shape_text(t));
    if (loss->n_weights != 0 && loss->n_weights != classes)
        return reln_graph_fail(g, RELN_ERR_ARG, "cross entropy: %d weights for %d classes",
                               loss->n_weights, classes);
    for (int c = 0; c < loss->n_weights; c++)
        if (!(loss->weights[c] >= 0.0 && isfinite(loss->weights[c])))
            return reln_graph_fail(g, RELN_ERR_ARG,
                                   "cross entropy: weight %g of class %d, wanted 0 or above",
                                   loss->weights[c], c);
    return true;
}

/* Returns the class weight w_t of every row; NULL when the loss has no class weights. */
static RelnNode *class_weights(RelnGraph *g, const RelnLoss *loss, const RelnNode *y,
                               RelnNode *target)
{
    const RelnDims dims = {.c = loss->n_weights};

    if (loss->n_weights == 0)
        return NULL;
    return reln_pick(g, reln_cast(g, reln_const(g, dims, NULL, loss->weights), y->dtype), target,
                     RELN_C);
}

/* Cross entropy against the label with weight 1 - s and every class with weight s / C: lse(y) - (1 - s) y_t -
 * s mean(y), which is that of the label plus s (y_t - mean(y)). */
static RelnNode *smoothed(RelnGraph *g, double s, RelnNode *y, RelnNode *target, RelnNode *l)
{
    const int classes = y->shape.dims[RELN_C];
    RelnNode *mean = reln_scale(g, reln_sum(g, y, RELN_C), 1.0 / classes);

    return reln_add(g, l, reln_scale(g, reln_sub(g, reln_pick(g, y, target, RELN_C), mean), s));
}

static RelnNode *cross_entropy(RelnGraph *g, double smoothing, RelnNode *y, RelnNode *target,
                               RelnNode *weights)
{
    RelnNode *l = reln_cross_entropy(g, y, target);

    if (l && smoothing > 0)
        l = smoothed(g, smoothing, y, target, l);
    return weights ? reln_mul(g, weights, l) : l;
}

static RelnNode *classified(RelnGraph *g, const RelnLoss *loss, RelnNode *y, RelnNode *target)
{
    RelnNode *l;

    if (!want_classes(g, loss, y, target))
        return NULL;
    l = cross_entropy(g, loss->smoothing, y, target, class_weights(g, loss, y, target));
    return l ? mean_over_item(g, l, (double)reln_shape_count(&l->shape)) : NULL;
}

/* ---- all losses ------------------------------------------------------------------------------------------------- */

static bool quantiles_are_known(RelnGraph *g, const RelnLoss *loss)
{
    if (loss->kind != RELN_LOSS_QUANTILES)
        return true;
    if (loss->n_quantiles < 1 || !loss->quantiles)
        return reln_graph_fail(g, RELN_ERR_ARG, "loss: %d quantiles at %p, wanted one or more",
                               loss->n_quantiles, (const void *)loss->quantiles);
    for (int i = 0; i < loss->n_quantiles; i++)
        if (!(loss->quantiles[i] > 0 && loss->quantiles[i] < 1))
            return reln_graph_fail(g, RELN_ERR_ARG, "loss: quantile %g, wanted one between 0 and 1",
                                   loss->quantiles[i]);
    return true;
}

static bool want_loss(RelnGraph *g, const RelnLoss *loss)
{
    if ((int)loss->kind < RELN_LOSS_MSE || loss->kind > RELN_LOSS_QUANTILES)
        return reln_graph_fail(g, RELN_ERR_ARG, "loss: kind %d is unknown", (int)loss->kind);
    if (loss->kind == RELN_LOSS_GAUSSIAN)
        return reln_graph_fail(g, RELN_ERR_ARG,
                               "loss: a Gaussian has a variance, too; wanted reln_loss_gaussian()");
    if (!quantiles_are_known(g, loss))
        return false;
    if (!(loss->delta >= 0.0 && isfinite(loss->delta)))
        return reln_graph_fail(g, RELN_ERR_ARG, "loss: delta %g, wanted a number above 0",
                               loss->delta);
    if (!(loss->smoothing >= 0.0 && loss->smoothing < 1.0))
        return reln_graph_fail(g, RELN_ERR_ARG, "loss: smoothing %g, wanted 0 to below 1",
                               loss->smoothing);
    if (loss->n_weights < 0 || (loss->n_weights > 0 && !loss->weights))
        return reln_graph_fail(g, RELN_ERR_ARG, "loss: %d weights at %p", loss->n_weights,
                               (const void *)loss->weights);
    return loss->n_weights == 0 || loss->kind == RELN_LOSS_CROSS_ENTROPY ||
           reln_graph_fail(g, RELN_ERR_ARG, "loss: weights by class are for cross entropy");
}

RelnNode *reln_loss(RelnGraph *g, const RelnLoss *loss, RelnNode *y, RelnNode *target)
{
    RELN_NEED(g && loss, (reln_graph_null(g, __func__), NULL));

    if (!y || !target || !want_loss(g, loss))
        return NULL;
    if (loss->kind == RELN_LOSS_QUANTILES)
        return quantiles(g, loss, y, target);
    return loss->kind == RELN_LOSS_CROSS_ENTROPY ? classified(g, loss, y, target)
                                                 : distance(g, loss, y, target);
}

/* sum over everything of l / sum over everything of w */
static RelnNode *weighted_mean(RelnGraph *g, RelnNode *l, RelnNode *w)
{
    return reln_div(g, reln_batch_sum(g, reln_sum_all(g, l)),
                    reln_batch_sum(g, reln_sum_all(g, w)));
}

/* Returns w if it is above 0, and 1 for a batch without weight, all of whose terms are 0. */
static RelnNode *divisor(RelnGraph *g, RelnNode *w)
{
    RelnNode *sum = reln_batch_sum(g, reln_sum_all(g, w));

    return sum ? reln_select(g, reln_step(g, sum), sum,
                             reln_cast(g, reln_scalar(g, 1.0), sum->dtype))
               : NULL;
}

RelnNode *reln_weighted_mean(RelnGraph *g, RelnNode *x, RelnNode *weights)
{
    RELN_NEED(g, (reln_graph_null(g, __func__), NULL));

    if (!x)
        return NULL;
    if (!weights && (x->domain == RELN_STEP || x->domain == RELN_SAMPLES))
        return reln_batch_mean(g, x);
    if (!weights)
        return weighted_mean(g, x, reln_expand(g, reln_cast(g, reln_scalar(g, 1.0), x->dtype), x));
    return reln_div(g, reln_batch_sum(g, reln_sum_all(g, reln_mul(g, weights, x))),
                    divisor(g, weights));
}

RelnNode *reln_loss_mean_weighted(RelnGraph *g, const RelnLoss *loss, RelnNode *y, RelnNode *target,
                                  RelnNode *weights)
{
    RELN_NEED(g && loss, (reln_graph_null(g, __func__), NULL));

    RelnNode *l, *w;

    if (!weights)
        return reln_loss_mean(g, loss, y, target);
    l = reln_loss(g, loss, y, target);
    if (!l || loss->n_weights == 0)
        return reln_weighted_mean(g, l, weights);
    w = class_weights(g, loss, y, target);
    l = reln_mul(g, weights, cross_entropy(g, loss->smoothing, y, target, w));
    return reln_div(g, reln_batch_sum(g, reln_sum_all(g, l)), divisor(g, reln_mul(g, weights, w)));
}

RelnNode *reln_loss_mean(RelnGraph *g, const RelnLoss *loss, RelnNode *y, RelnNode *target)
{
    RELN_NEED(g && loss, (reln_graph_null(g, __func__), NULL));

    RelnNode *l = reln_loss(g, loss, y, target), *w;

    if (!l)
        return NULL;
    if (loss->n_weights > 0) {
        w = class_weights(g, loss, y, target);
        return weighted_mean(g, cross_entropy(g, loss->smoothing, y, target, w), w);
    }
    return reln_weighted_mean(g, l, NULL);
}
