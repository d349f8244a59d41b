/* likelihood.c -- minus the logarithm of a normal density with predicted mean and variance. */
#include <string.h>

#include "ops/ops.h"
#include "reln/train.h"

/* ---- checks of shapes and reps --------------------------------------------------------------------------------------- */

static bool want_mean(RelnGraph *g, const RelnNode *y, const RelnNode *t)
{
    if (y->dtype == RELN_I32 || t->dtype == RELN_I32)
        return reln_graph_fail(g, RELN_ERR_ARG, "gaussian: indices, wanted numbers");
    if (memcmp(&y->shape, &t->shape, sizeof y->shape) != 0)
        return reln_graph_fail(g, RELN_ERR_SHAPE, "gaussian: the mean is %s, its target %s",
                               reln_shape_text(y), reln_shape_text(t));
    return y->rep == t->rep ||
           reln_graph_fail(g, RELN_ERR_REP, "gaussian: the mean transforms as %s, its target as %s",
                           reln_rep_name(y->rep), reln_rep_name(t->rep));
}

static bool want_length(RelnGraph *g, const RelnNode *y)
{
    return reln_rep_is_orthogonal(y->rep) ||
           reln_graph_fail(g, RELN_ERR_REP,
                           "gaussian: the error of a %s has no size that %s keeps; wanted "
                           "reln_loss_gaussian_matrix(), with an equivariant covariance",
                           reln_rep_name(y->rep), reln_group_name(reln_graph_group(g)));
}

/* Checks that x has k coordinates, and otherwise the extents of y. */
static bool want_beside(RelnGraph *g, const char *what, const RelnNode *x, const RelnNode *y, int k)
{
    for (int a = 0; a < RELN_AXES; a++)
        if (x->shape.dims[a] != (a == RELN_K ? k : y->shape.dims[a]))
            return reln_graph_fail(g, RELN_ERR_SHAPE,
                                   "gaussian: the %s is %s for a mean %s; wanted K = %d and the "
                                   "other extents of the mean",
                                   what, reln_shape_text(x), reln_shape_text(y), k);
    return true;
}

/* ---- one variance --------------------------------------------------------------------------------------------------- */

RelnNode *reln_loss_gaussian(RelnGraph *g, RelnNode *y, RelnNode *log_variance, RelnNode *target)
{
    RELN_NEED(g, (reln_graph_null(g, __func__), NULL));

    RelnNode *e, *square, *l;
    int k;

    if (!y || !log_variance || !target || !want_mean(g, y, target) || !want_length(g, y) ||
        !want_beside(g, "logarithm of the variance", log_variance, y, 1))
        return NULL;
    k = y->shape.dims[RELN_K];
    e = reln_sub(g, target, y);
    /* lengths of vectors, also if all of their coordinates are invariant */
    square =
        e && reln_is_invariant(e) ? reln_sum(g, reln_square(g, e), RELN_K) : reln_pair(g, e, e);
    l = reln_add(g, reln_mul(g, square, reln_exp(g, reln_scale(g, log_variance, -1))),
                 reln_scale(g, log_variance, k));
    return l ? reln_scale(g, reln_sum_all(g, l), 0.5 / (double)reln_shape_count(&y->shape)) : NULL;
}

/* ---- a covariance ---------------------------------------------------------------------------------------------------- */

/* Z_i = sum_j X_ij v_j, for matrices row by row */
static RelnNode *times(RelnGraph *g, int n, RelnNode *x, RelnNode *v, const RelnRep *rep)
{
    RelnEntry *entries = reln_graph_alloc(g, (size_t)n * (size_t)n, sizeof *entries);

    if (!entries || !v)
        return NULL;
    for (int i = 0; i < n * n; i++)
        entries[i] = (RelnEntry){i, i % n, i / n, 1};
    return reln_contract(g, &(RelnTensor3){n * n, n, n, n * n, entries}, x, v, rep);
}

RelnNode *reln_loss_gaussian_matrix(RelnGraph *g, RelnNode *y, RelnNode *precision,
                                    RelnNode *log_determinant, RelnNode *target)
{
    RELN_NEED(g, (reln_graph_null(g, __func__), NULL));

    RelnNode *e, *l;
    int n;

    if (!y || !precision || !log_determinant || !target || !want_mean(g, y, target))
        return NULL;
    n = y->shape.dims[RELN_K];
    if (!want_beside(g, "inverse of the covariance", precision, y, n * n) ||
        !want_beside(g, "logarithm of the determinant", log_determinant, y, 1))
        return NULL;
    e = reln_sub(g, target, y);
    l = reln_add(g, reln_pair(g, e, times(g, n, precision, e, reln_rep_dual(y->rep))),
                 log_determinant);
    return l ? reln_scale(g, reln_sum_all(g, l), 0.5 / (double)reln_shape_count(&y->shape)) : NULL;
}
