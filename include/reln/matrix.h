/* matrix.h -- functions of small square matrices (row-major, double): exp, log, square root, symmetric functions; and
 * sparse tensors of constants.
 *
 * `out` may be the input array. The functions return RELN_ERR_NUMERIC for NaN or infinity in the input, and where the
 * result does not exist; the message says which.
 */
#ifndef RELN_MATRIX_H
#define RELN_MATRIX_H

#include "reln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes exp(X) by scaling and squaring with diagonal Padé approximants. */
RELN_API RelnStatus reln_matrix_exp(RelnCtx *ctx, int n, const double *x, double *out);

/* Computes the principal logarithm by inverse scaling and squaring on the Schur form. It fails on singular
 * matrices and on matrices with a real negative eigenvalue, which have no real principal logarithm. */
RELN_API RelnStatus reln_matrix_log(RelnCtx *ctx, int n, const double *x, double *out);

/* Computes the real part of the complex principal logarithm. It equals reln_matrix_log() where that exists,
 * is defined for every invertible matrix, and keeps Re log(g X g^-1) = g (Re log X) g^-1 for real g. */
RELN_API RelnStatus reln_matrix_log_real(RelnCtx *ctx, int n, const double *x, double *out);

/* Computes the principal square root. */
RELN_API RelnStatus reln_matrix_sqrt(RelnCtx *ctx, int n, const double *x, double *out);

/* Applies f to the eigenvalues of a symmetric matrix: V diag(f(w)) Vᵀ. Only the symmetric part of x is read.
 * f must return finite numbers. */
RELN_API RelnStatus reln_matrix_sym(RelnCtx *ctx, int n, const double *x, double (*f)(double),
                                    double *out);

/* Computes the logarithm of a symmetric matrix that is positive definite to working precision. It fails on
 * any other matrix, and the message has the eigenvalue that is too small. */
RELN_API RelnStatus reln_matrix_log_spd(RelnCtx *ctx, int n, const double *x, double *out);

/* A RelnTensor3 is a bilinear map on coordinates, stored by its non-zero entries: z[k] += value * x[i] *
 * y[j]. */
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
