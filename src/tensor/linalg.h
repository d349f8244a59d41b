/* linalg.h -- dense linear algebra in double precision on small and medium matrices.
 *
 * Matrices are row-major; outputs must not overlap inputs unless stated. LAPACK computes the decompositions; its workspace
 * comes from the context. NaN or infinity in a matrix gives RELN_ERR_NUMERIC, and never an endless loop in LAPACK.
 */
#ifndef TENSOR_LINALG_H
#define TENSOR_LINALG_H

#include <complex.h>

#include "base/base.h"

/* c (m,n) = a (m,k) b (k,n); plain loops, for small matrices and exact reproducibility. */
void reln_mat_mul(ptrdiff_t m, ptrdiff_t k, ptrdiff_t n, const double *a, const double *b,
                  double *c);
void reln_mat_transpose(ptrdiff_t m, ptrdiff_t n, const double *a, double *at); /* at (n,m) */
void reln_mat_identity(ptrdiff_t n, double *a);
double reln_mat_norm(ptrdiff_t count,
                     const double *a); /* sqrt of the sum of squares, scaled: no overflow */
double reln_mat_trace(ptrdiff_t n, const double *a);
/* Makes the rows of x orthonormal, in their order. Each row is reduced twice, so that the result is
 * orthonormal up to rounding. */
void reln_rows_orthonormalise(ptrdiff_t rows, ptrdiff_t columns, double *x);

/* c (m,n) = alpha op(a) op(b) + beta c through BLAS, for large products; ta, tb: transpose. */
void reln_mat_gemm(bool ta, bool tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha,
                   const double *a, ptrdiff_t lda, const double *b, ptrdiff_t ldb, double beta,
                   double *c, ptrdiff_t ldc);

/* Singular values, largest first: a (m,n) = u (m,r) diag(s) vt (r,n), r = min(m,n). u, vt may be NULL. With full_v,
 * vt is (n,n) and its last rows span the null space. */
RelnStatus reln_svd(RelnCtx *ctx, ptrdiff_t m, ptrdiff_t n, const double *a, bool full_v, double *s,
                    double *u, double *vt);

/* Symmetric: a = v diag(w) vᵀ, w ascending, eigenvectors in the columns of v (NULL: values only). Only the
 * lower triangle of a is read. */
RelnStatus reln_eigh(RelnCtx *ctx, ptrdiff_t n, const double *a, double *w, double *v);
/* Hermitian: a = v diag(w) vᴴ, w ascending, eigenvectors in the columns of v (NULL: values only). Only the
 * lower triangle of a is read. */
RelnStatus reln_eigh_complex(RelnCtx *ctx, ptrdiff_t n, const double complex *a, double *w,
                             double complex *v);
/* Eigenvalues of a general real matrix: a v = v diag(w); v may be NULL. */
RelnStatus reln_eig(RelnCtx *ctx, ptrdiff_t n, const double *a, double complex *w,
                    double complex *v);

/* Real Schur form a = z t zᵀ: t is upper triangular except for 2x2 blocks [[p, q], [r, p]], q r < 0, whose
 * eigenvalues are the complex pairs. Real eigenvalues are therefore exactly real. */
RelnStatus reln_schur_real(RelnCtx *ctx, ptrdiff_t n, const double *a, double *t, double *z);

/* Solves a x = b; b and x are (n,m), x may be b. RELN_ERR_NUMERIC when a is singular to working precision. */
RelnStatus reln_solve(RelnCtx *ctx, ptrdiff_t n, ptrdiff_t m, const double *a, const double *b,
                      double *x);
RelnStatus reln_inverse(RelnCtx *ctx, ptrdiff_t n, const double *a, double *inverse);
RelnStatus reln_inverse_complex(RelnCtx *ctx, ptrdiff_t n, const double complex *a,
                                double complex *inverse);
/* Computes the lower Cholesky factor, upper part zero; RELN_ERR_NUMERIC when a is not positive definite to
 * working precision. */
RelnStatus reln_cholesky(RelnCtx *ctx, ptrdiff_t n, const double *a, double *l);
/* Ratio of the extreme singular values; infinity when singular. */
RelnStatus reln_cond(RelnCtx *ctx, ptrdiff_t n, const double *a, double *cond);

#endif
