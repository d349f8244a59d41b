/* analyse.h -- everything that follows from basis matrices. */
#ifndef ALGEBRA_ANALYSE_H
#define ALGEBRA_ANALYSE_H

#include "base/base.h"
#include "reln/algebra.h"

/* Letters used in the module: E_i the K basis matrices given, Q_a an orthonormal basis of their span (Frobenius),
 * E_i = sum_a T_ia Q_a. */
typedef struct RelnAnalysis {
    RelnAlgebraInfo info;
    double tau; /* what counts as zero among unit elements: 64 K u cond */
    /* NULL from here on unless info.reductive is yes */
    double *ortho; /* Q (K, n, n) */
    double *dual;  /* F (K, n, n), the coordinates of X are <F_k, X> */
    RelnTensor3 structure;
    double *killing, *center_form, *completed, *trace; /* (K, K) */
    double *definite;                                  /* (K, K); NULL where there is none */
    double *center, *derived, *projector; /* (center_dim, K), (derived_dim, K), (K, K) */
} RelnAnalysis;

/* RELN_OK also when the answer is no. Results live in the arena. */
RelnStatus reln_analyse(RelnArena *arena, int dim, int n, const double *basis,
                        const RelnBasisOptions *options, RelnAnalysis *out);

/* structure.c: c (K,K,K) with c_ijk = <F_k, [E_i, E_j]>. The worst ||[E_i,E_j] - sum_k c_ijk H_k|| is reported for the
 * orthonormal case F = H. */
typedef struct RelnWorst {
    double residual;
    int i, j;
} RelnWorst;
RelnStatus reln_structure_dense(RelnCtx *ctx, int dim, int n, const double *e, const double *f,
                                double *c, RelnWorst *worst);
/* The entries of c that are not 0, in the order of RelnTensor3. */
RelnStatus reln_structure_sparse(RelnArena *arena, int dim, const double *c, RelnTensor3 *out);
/* kappa_ij = tr(ad_i ad_j) = sum_kl c_ikl c_jlk; spare is (K,K,K) scratch. */
void reln_structure_killing(int dim, const double *c, double *spare, double *kappa);

/* wide.c: singular values s (k), largest first, and left vectors, the rows of ut (k, k), of a (k, m) with m much larger
 * than k. Values are right up to a few units of rounding of the largest, as from any decomposition. */
RelnStatus reln_wide_svd(RelnCtx *ctx, ptrdiff_t k, ptrdiff_t m, const double *a, double *s,
                         double *ut);

/* center.c: the form on the centre, z (dim, n, n) an orthonormal basis of it. `noise`: what counts as 0. */
RelnStatus reln_center_form(RelnCtx *ctx, int dim, int n, const double *z, double noise,
                            const RelnBasisOptions *options, double *form, RelnAnswer *semisimple);

#endif
