/* matrix.h -- functions of small square matrices (row-major, double): exp, log, square root, symmetric functions; and
 * sparse tensors of constants.
 *
 * In place is fine: out may be the input. RELN_ERR_NUMERIC for NaN, infinity, or where no value exists; the message
 * says which.
 */
#ifndef RELN_MATRIX_H
#define RELN_MATRIX_H

#include "reln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* exp(X): scaling and squaring with diagonal Padé approximants. */
RELN_API RelnStatus reln_matrix_exp(RelnCtx *ctx, int n, const double *x, double *out);

/* The principal logarithm: inverse scaling and squaring on the Schur form. Fails on singular matrices and where an
 * eigenvalue is real and negative (no real principal logarithm). */
RELN_API RelnStatus reln_matrix_log(RelnCtx *ctx, int n, const double *x, double *out);

/* The real part of the complex principal logarithm: equal to reln_matrix_log() where that exists, defined for every
 * invertible matrix, and still Re log(g X g^-1) = g (Re log X) g^-1 for real g. */
RELN_API RelnStatus reln_matrix_log_real(RelnCtx *ctx, int n, const double *x, double *out);

/* The principal square root. */
RELN_API RelnStatus reln_matrix_sqrt(RelnCtx *ctx, int n, const double *x, double *out);

/* f on the eigenvalues of a symmetric matrix: V diag(f(w)) Vᵀ. Only the symmetric part of x is read. The result of f
 * must be finite. */
RELN_API RelnStatus reln_matrix_sym(RelnCtx *ctx, int n, const double *x, double (*f)(double),
                                    double *out);

/* Logarithm of a symmetric matrix, positive definite to working precision; fails with the eigenvalue that is not. */
RELN_API RelnStatus reln_matrix_log_spd(RelnCtx *ctx, int n, const double *x, double *out);

/* A bilinear map on coordinates, stored by its non-zero entries: z[k] += value * x[i] * y[j]. */
typedef struct RelnEntry {
    int i, j, k;
    double value;
} RelnEntry;
typedef struct RelnTensor3 {
    int i, j, k; /* extents */
    int count;
    const RelnEntry *entries; /* sorted by (k, i, j) */
} RelnTensor3;

#ifdef __cplusplus
}
#endif

#endif
