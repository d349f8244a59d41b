/* jet.h -- functions of small matrices together with their derivatives in several directions.
 *
 * A jet of order m is X = sum over subsets S of {1..m} of X_S e_S, with e_i e_j = e_j e_i and e_i^2 = 0. The n x n
 * matrices X_S are stored one after the other, S read as bits: X_0 at 0, the directions at 1, 2, 4, ... For an analytic
 * f, the last matrix of f(A + E_1 e_1 + ... + E_m e_m) is the m-th derivative of f at A in the directions E_1 .. E_m.
 * Block matrices of size 2^m n would give the same result with 8^m products of n x n matrices; jets need 3^m. No two
 * eigenvalues are ever subtracted, so equal or nearly equal eigenvalues need no special treatment.
 */
#ifndef TENSOR_JET_H
#define TENSOR_JET_H

#include "base/base.h"

enum { RELN_JET_ORDER = 6, RELN_JET_SIZE = 8 };

typedef enum RelnMatFun {
    RELN_MATFUN_EXP,
    RELN_MATFUN_LOG,  /* principal: no eigenvalue on the closed negative axis */
    RELN_MATFUN_SQRT, /* principal: no eigenvalue on the closed negative axis */
    RELN_MATFUN_INVERSE,
    RELN_MATFUN_COUNT
} RelnMatFun;

/* Number of doubles of one jet, and of the scratch memory of reln_jet_apply(). */
ptrdiff_t reln_jet_count(int n, int order);
ptrdiff_t reln_jet_room(int n, int order);

/* out (n, n) = derivative of f at x[0] in the directions x[1], x[2], x[4], ...; with order 0, f itself. The
 * other matrices of x are ignored, and all of x is overwritten. Returns NULL, or the reason why there is no
 * value. */
const char *reln_jet_apply(RelnMatFun f, int n, int order, double *x, double *out, double *scratch);

/* schur.c: replaces the jet x by its logarithm or square root; afterwards only its last matrix is valid.
 * Returns NULL, or the reason why there is no value. The scratch memory holds reln_schur_room() numbers. */
const char *reln_schur_apply(RelnMatFun f, int n, int order, double *x, double *scratch);
ptrdiff_t reln_schur_room(int n, int order);

/* Applies f (exp, log or sqrt) to the eigenvalues of the symmetric matrix x, by Jacobi rotations. x is
 * overwritten. Returns NULL, or the reason why there is no value; *bad is then the eigenvalue outside the
 * domain of f. */
const char *reln_sym_apply(RelnMatFun f, int n, double *x, double *out, double *scratch,
                           double *bad);

#endif
