/* jet.h -- functions of small matrices together with their derivatives in several directions.
 *
 * A jet of order m is X = sum over subsets S of {1..m} of X_S e_S, with e_i e_j = e_j e_i and e_i^2 = 0, and n x n
 * matrices X_S stored one after the other, S read as bits: X_0 at 0, the directions at 1, 2, 4, ... An analytic f of
 * A + E_1 e_1 + ... + E_m e_m has the m-th derivative of f at A in the directions E_1 .. E_m as its last matrix. It is
 * what f gives on block matrices of size 2^m n, at 3^m products of n x n instead of 8^m; and as no two eigenvalues are
 * ever subtracted, equal or nearly equal ones need no care.
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

/* Numbers of one jet, and of the scratch memory that reln_jet_apply() wants. */
ptrdiff_t reln_jet_count(int n, int order);
ptrdiff_t reln_jet_room(int n, int order);

/* out (n, n) = derivative of f at x[0] in the directions x[1], x[2], x[4], ...; with order 0, f itself. The rest of x
 * is ignored, and all of x is overwritten. NULL, or why there is no value. */
const char *reln_jet_apply(RelnMatFun f, int n, int order, double *x, double *out, double *scratch);

/* schur.c: log and sqrt of the jet x, in place; afterwards only its last matrix is valid. NULL, or why there is no
 * value. Scratch memory of reln_schur_room() numbers. */
const char *reln_schur_apply(RelnMatFun f, int n, int order, double *x, double *scratch);
ptrdiff_t reln_schur_room(int n, int order);

/* f on the eigenvalues of the symmetric matrix x, by Jacobi rotations; exp, log, sqrt only. x is overwritten. NULL, or
 * why there is no value; *bad is the eigenvalue that f was last asked for. */
const char *reln_sym_apply(RelnMatFun f, int n, double *x, double *out, double *scratch,
                           double *bad);

#endif
