/* sampler.h -- random elements of a chosen condition number, of the group that given Lie matrices
 * generate. */
#ifndef ALGEBRA_SAMPLER_H
#define ALGEBRA_SAMPLER_H

#include "base/base.h"
#include "reln/random.h"

/* g = exp(X1) exp(X2) exp(X3), each X in the span of lie (n_lie, n, n), which may be dependent or empty.
 *
 *   coords   (3, n_lie): X_f = sum_k coords[f][k] lie_k, so that g can be made again in any representation; may be NULL
 *   g        (n, n)
 *   inverse  (n, n), from the factors, not by inverting g; may be NULL
 *   reached  the condition number of g: `cond` where the group has such elements; 1 for a compact one of orthogonal
 *            matrices; the largest found for a compact group in a skewed frame. May be NULL.
 *
 * RELN_ERR_ARG unless cond is finite and at least 1. */
RelnStatus reln_sample_factors(RelnCtx *ctx, int n, int n_lie, const double *lie, RelnRng *rng,
                               double cond, double *coords, double *g, double *inverse,
                               double *reached);

#endif
