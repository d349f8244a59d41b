/* algebra.h -- matrix Lie algebras from a name or from any basis.
 *
 *     RelnAlgebra *gl3 = NULL;
 *     if (reln_algebra_create(ctx, "gl:3", &gl3) != RELN_OK) ...
 *     double b = reln_algebra_form(gl3, x, y);      // B~(x, y), x and y are K coordinates
 *     reln_algebra_bracket(gl3, x, y, z);           // z = [x, y]
 *     reln_algebra_destroy(gl3);
 *
 * Everything is computed once, from the basis matrices alone, in double precision and in an orthonormal basis, so
 * that a badly conditioned basis is no trap. A span that is not a reductive Lie algebra is refused with the reason.
 *
 * Matrices are row-major, n*n doubles. An element is its K coordinates: X = sum_k x[k] E_k (hat), and back (vee).
 */
#ifndef RELN_ALGEBRA_H
#define RELN_ALGEBRA_H

#include "reln/matrix.h"
#include "reln/random.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RelnAlgebra RelnAlgebra;

/* Largest matrices and largest dimension an algebra may have. */
enum { RELN_ALGEBRA_MAX_N = 64, RELN_ALGEBRA_MAX_DIM = 256 };

/* ---- making one ------------------------------------------------------------------------------------------- */

/* By name:
 *   gl:n  all matrices, e_ij row by row            sl:n  traceless
 *   so:n  antisymmetric (so:3 is hat)              so:p,q  X^T eta + eta X = 0, eta = diag(-1 p times, +1 q times)
 *   sp:2m  [[A,B],[C,-A^T]], B and C symmetric     u:n su:n  (traceless) antihermitian, as real matrices of size 2n
 *   a+b   block-diagonal direct sum, as often as wanted: gl:2+so:3
 * RELN_ERR_ARG for a name that is none of these. Caller destroys *out. */
RELN_API RelnStatus reln_algebra_create(RelnCtx *ctx, const char *name, RelnAlgebra **out);

/* How to read a basis; NULL or all zero for the defaults. */
typedef struct RelnBasisOptions {
    const char *name; /* shown in messages; "basis" when NULL */
    double precision; /* unit round-off of the numbers; 0: double's, 1.1e-16. 6e-8 for floats */
    /* Matrices (n_discrete, n, n) that normalise the algebra. They are only used to average the form on a centre that
     * is not diagonalisable, where it depends on the frame. */
    int n_discrete;
    const double *discrete;
} RelnBasisOptions;

/* From basis matrices (dim, n, n). RELN_ERR_ALGEBRA when they are dependent, not closed under the bracket or span
 * something that is not reductive; the message has the dimension or residual that shows it. Caller destroys *out. */
RELN_API RelnStatus reln_algebra_from_basis(RelnCtx *ctx, int dim, int n, const double *basis,
                                            const RelnBasisOptions *options, RelnAlgebra **out);
RELN_API void reln_algebra_destroy(RelnAlgebra *algebra); /* NULL is fine */

/* ---- what is known of it ---------------------------------------------------------------------------------- */

typedef enum RelnAnswer { RELN_NO, RELN_YES, RELN_UNDECIDED } RelnAnswer;

/* The analysis of a basis, of a refused one too. Numbers that could not be computed are -1, answers undecided. What is
 * dependent or not closed is not reductive; reductive is undecided where rounding in the basis could hide either. */
typedef struct RelnAlgebraInfo {
    int n, dim;
    int center_dim, derived_dim, killing_rank;
    RelnAnswer independent, closed, reductive, semisimple;
    /* no: the centre has nilpotent parts, its form is a frame-dependent choice */
    RelnAnswer center_semisimple;
    int form_signature[3];   /* positive, negative, zero */
    int structure_nnz;       /* non-zero structure constants in the basis given */
    double condition;        /* of the basis, its matrices scaled to norm 1 */
    double closure_residual; /* largest part of a bracket of unit elements outside the span */
    double killing_gap; /* smallest |eigenvalue| of the Killing form on [g,g], orthonormal basis */
    char reason[256];   /* why not; a warning when accepted with one; "" otherwise */
} RelnAlgebraInfo;

/* Analyse without making an algebra. RELN_OK also when the answer is no: see info->reductive and info->reason. */
RELN_API RelnStatus reln_algebra_inspect(RelnCtx *ctx, int dim, int n, const double *basis,
                                         const RelnBasisOptions *options, RelnAlgebraInfo *info);

RELN_API const RelnAlgebraInfo *reln_algebra_info(const RelnAlgebra *algebra);
RELN_API RelnCtx *reln_algebra_ctx(const RelnAlgebra *algebra);
RELN_API const char *reln_algebra_name(const RelnAlgebra *algebra);
RELN_API int reln_algebra_n(const RelnAlgebra *algebra);
RELN_API int reln_algebra_dim(const RelnAlgebra *algebra);
RELN_API const double *reln_algebra_basis(const RelnAlgebra *algebra);   /* (K, n, n) */
RELN_API const double *reln_algebra_killing(const RelnAlgebra *algebra); /* (K, K) */
/* (center_dim, K), rows span the centre; (derived_dim, K), rows span [g, g] */
RELN_API const double *reln_algebra_center(const RelnAlgebra *algebra);
RELN_API const double *reln_algebra_derived(const RelnAlgebra *algebra);
/* (K, K): coordinates of X to those of its part in the centre; identity minus it projects on [g, g]. */
RELN_API const double *reln_algebra_center_projector(const RelnAlgebra *algebra);

/* [E_i, E_j] = sum_k c_ijk E_k */
RELN_API const RelnTensor3 *reln_algebra_structure(const RelnAlgebra *algebra);

/* ---- forms ------------------------------------------------------------------------------------------------ */

typedef enum RelnForm {
    RELN_FORM_COMPLETED, /* B~: Killing on [g,g] plus n sum_j Re(l_j(Z1) conj l_j(Z2)) on the centre. On gl(n) it
                              * is 2n tr(XY) - tr X tr Y */
    RELN_FORM_NO_CENTER, /* the Killing form alone: the paper's "no centre", Lie Neurons' form */
    RELN_FORM_NO_SEMISIMPLE, /* the centre's part alone */
    RELN_FORM_DEFINITE, /* -Killing on [g,g] plus the centre's part; only where Killing is negative definite */
    RELN_FORM_TRACE /* tr(XY) of the defining matrices */
} RelnForm;

/* (K, K) Gram matrix in the basis given, borrowed; RELN_ERR_UNSUPPORTED for DEFINITE where there is none. */
RELN_API RelnStatus reln_algebra_gram(const RelnAlgebra *algebra, RelnForm form,
                                      const double **out);
/* gram (K, K): the form of a larger algebra on this one's basis: B~ of gl:5 on lifted four-vectors is 20 p.q, that of so(3,2)
 * itself 6 p.q. With it in RelnNet.forms a network on the smaller algebra computes what it does on the larger one.
 * RELN_ERR_ALGEBRA when an element is not in the larger one, with its distance. */
RELN_API RelnStatus reln_algebra_gram_within(const RelnAlgebra *algebra, const RelnAlgebra *larger,
                                             RelnForm form, double *gram);
/* B~(x, y) */
RELN_API double reln_algebra_form(const RelnAlgebra *algebra, const double *x, const double *y);

/* ---- elements --------------------------------------------------------------------------------------------- */

RELN_API void reln_algebra_hat(const RelnAlgebra *algebra, const double *x, double *matrix);
/* Coordinates of the element nearest to the matrix; returns the distance relative to the matrix (0: it is in g). */
RELN_API double reln_algebra_vee(const RelnAlgebra *algebra, const double *matrix, double *x);
RELN_API void reln_algebra_bracket(const RelnAlgebra *algebra, const double *x, const double *y,
                                   double *z);
/* exp of the element, an n x n matrix of the group */
RELN_API RelnStatus reln_algebra_exp(const RelnAlgebra *algebra, const double *x, double *g);
/* (K, K) matrix of X -> g X g^-1. RELN_ERR_REP when g does not normalise the algebra, with the residual. */
RELN_API RelnStatus reln_algebra_adjoint(const RelnAlgebra *algebra, const double *g, double *ad);

/* A random element of the group's identity component with condition number `cond` (>= 1), and its inverse (may be
 * NULL). *reached is the condition number it has: 1 where the group is compact, as wanted otherwise; the largest found
 * for a compact group in a skewed frame, where it is bounded. May be NULL too. */
RELN_API RelnStatus reln_algebra_random_group(const RelnAlgebra *algebra, RelnRng *rng, double cond,
                                              double *g, double *inverse, double *reached);

#ifdef __cplusplus
}
#endif

#endif
