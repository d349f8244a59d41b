/* analyse.h -- the analysis of basis matrices: structure constants, centre, forms. */
#ifndef ALGEBRA_ANALYSE_H
#define ALGEBRA_ANALYSE_H

#include "base/base.h"
#include "reln/algebra.h"

/* A RelnAnalysis holds the results. Letters used in this module: E_i the K given basis matrices, Q_a an
 * orthonormal basis of their span (Frobenius), E_i = sum_a T_ia Q_a. */
typedef struct RelnAnalysis {
    RelnAlgebraInfo info;
    double tau; /* bound below which unit elements count as zero: 64 K u cond */
    /* The following are NULL unless info.reductive is yes. */
    double *ortho; /* Q (K, n, n) */
    double *dual;  /* F (K, n, n); the coordinates of X are <F_k, X> */
    RelnTensor3 structure;
    double *killing, *center_form, *completed, *trace; /* (K, K) */
    double *definite;                                  /* (K, K); NULL if it does not exist */
    double *center, *derived, *projector; /* (center_dim, K), (derived_dim, K), (K, K) */
} RelnAnalysis;

/* Analyses a basis. Returns RELN_OK also when it is refused. Results live in the arena. */
RelnStatus reln_analyse(RelnArena *arena, int dim, int n, const double *basis,
                        const RelnBasisOptions *options, RelnAnalysis *out);

/* structure.c: computes c (K,K,K) with c_ijk = <F_k, [E_i, E_j]>. In the orthonormal case F = H, it also
 * reports the largest ||[E_i,E_j] - sum_k c_ijk H_k||. */
typedef struct RelnWorst {
    double residual;
    int i, j;
} RelnWorst;
RelnStatus reln_structure_dense(RelnCtx *ctx, int dim, int n, const double *e, const double *f,
                                double *c, RelnWorst *worst);
/* Lists the non-zero entries of c, in the order of RelnTensor3. */
RelnStatus reln_structure_sparse(RelnArena *arena, int dim, const double *c, RelnTensor3 *out);
/* kappa_ij = tr(ad_i ad_j) = sum_kl c_ikl c_jlk; spare is (K,K,K) scratch. */
void reln_structure_killing(int dim, const double *c, double *spare, double *kappa);

/* wide.c: computes the singular values s (k), largest first, and the left vectors, the rows of ut (k, k), of
 * a (k, m) with m much larger than k. The values are accurate to a few units of rounding of the largest. */
RelnStatus reln_wide_svd(RelnCtx *ctx, ptrdiff_t k, ptrdiff_t m, const double *a, double *s,
                         double *ut);

/* center.c: computes the form on the centre; z (dim, n, n) is an orthonormal basis of it. Values below
 * `noise` count as 0. */
RelnStatus reln_center_form(RelnCtx *ctx, int dim, int n, const double *z, double noise,
                            const RelnBasisOptions *options, double *form, RelnAnswer *semisimple);

#endif
