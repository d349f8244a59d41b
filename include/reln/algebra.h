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

/* The largest matrix size and the largest dimension of an algebra. */
enum { RELN_ALGEBRA_MAX_N = 64, RELN_ALGEBRA_MAX_DIM = 256 };

/* ---- creating an algebra ------------------------------------------------------------------------------ */

/* Creates an algebra by name:
 *   gl:n  all matrices, e_ij row by row            sl:n  traceless
 *   so:n  antisymmetric (so:3 is hat)              so:p,q  X^T eta + eta X = 0, eta = diag(-1 p times, +1 q times)
 *   sp:2m  [[A,B],[C,-A^T]], B and C symmetric     u:n su:n  (traceless) antihermitian, as real matrices of size 2n
 *   a+b   block-diagonal direct sum of any number of algebras: gl:2+so:3
 * Returns RELN_ERR_ARG for any other name. Caller destroys *out. */
RELN_API RelnStatus reln_algebra_create(RelnCtx *ctx, const char *name, RelnAlgebra **out);

/* Options for reading a basis; NULL or all zero takes the defaults. */
typedef struct RelnBasisOptions {
    const char *name; /* shown in messages; "basis" when NULL */
    double precision; /* unit round-off of the basis numbers; 0: that of double, 1.1e-16; use 6e-8 for
                       * floats */
    /* Matrices (n_discrete, n, n) that normalise the algebra. The analysis uses them only to average the form
     * on a centre that is not diagonalisable, where the form depends on the frame. */
    int n_discrete;
    const double *discrete;
} RelnBasisOptions;

/* Creates an algebra from basis matrices (dim, n, n). Returns RELN_ERR_ALGEBRA when the matrices are
 * dependent, not closed under the bracket, or span an algebra that is not reductive; the message has the
 * dimension or residual that shows it. Caller destroys *out. */
RELN_API RelnStatus reln_algebra_from_basis(RelnCtx *ctx, int dim, int n, const double *basis,
                                            const RelnBasisOptions *options, RelnAlgebra **out);
RELN_API void reln_algebra_destroy(RelnAlgebra *algebra); /* NULL is fine */

/* ---- facts about an algebra ---------------------------------------------------------------------------- */

typedef enum RelnAnswer { RELN_NO, RELN_YES, RELN_UNDECIDED } RelnAnswer;

/* A RelnAlgebraInfo holds the analysis of a basis, also of a refused one. A number that could not be computed
 * is -1, an answer RELN_UNDECIDED. A basis that is dependent or not closed counts as not reductive.
 * `reductive` is undecided where rounding errors of the basis could hide either answer. */
typedef struct RelnAlgebraInfo {
    int n, dim;
    int center_dim, derived_dim, killing_rank;
    RelnAnswer independent, closed, reductive, semisimple;
    /* no: the centre has nilpotent parts, and its form depends on the frame */
    RelnAnswer center_semisimple;
    int form_signature[3];   /* counts of positive, negative and zero eigenvalues */
    int structure_nnz;       /* non-zero structure constants in the given basis */
    double condition;        /* condition number of the basis, its matrices scaled to norm 1 */
    double closure_residual; /* largest part of a bracket of unit elements that lies outside the span */
    double killing_gap; /* smallest |eigenvalue| of the Killing form on [g,g], orthonormal basis */
    char reason[256];   /* reason for a refusal, or a warning; "" otherwise */
} RelnAlgebraInfo;

/* Analyses a basis without creating an algebra. Returns RELN_OK also for a basis that would be refused: see
 * info->reductive and info->reason. */
RELN_API RelnStatus reln_algebra_inspect(RelnCtx *ctx, int dim, int n, const double *basis,
                                         const RelnBasisOptions *options, RelnAlgebraInfo *info);

RELN_API const RelnAlgebraInfo *reln_algebra_info(const RelnAlgebra *algebra);
RELN_API RelnCtx *reln_algebra_ctx(const RelnAlgebra *algebra);
RELN_API const char *reln_algebra_name(const RelnAlgebra *algebra);
RELN_API int reln_algebra_n(const RelnAlgebra *algebra);
RELN_API int reln_algebra_dim(const RelnAlgebra *algebra);
RELN_API const double *reln_algebra_basis(const RelnAlgebra *algebra);   /* (K, n, n) */
RELN_API const double *reln_algebra_killing(const RelnAlgebra *algebra); /* (K, K) */
/* Rows of (center_dim, K) span the centre; rows of (derived_dim, K) span the derived ideal [g, g]. */
RELN_API const double *reln_algebra_center(const RelnAlgebra *algebra);
RELN_API const double *reln_algebra_derived(const RelnAlgebra *algebra);
/* A (K, K) matrix that maps coordinates of X to the coordinates of its part in the centre. The identity minus
 * this matrix projects on [g, g]. */
RELN_API const double *reln_algebra_center_projector(const RelnAlgebra *algebra);

/* Structure constants c_ijk: [E_i, E_j] = sum_k c_ijk E_k. */
RELN_API const RelnTensor3 *reln_algebra_structure(const RelnAlgebra *algebra);

/* ---- forms ------------------------------------------------------------------------------------------------ */

typedef enum RelnForm {
    RELN_FORM_COMPLETED, /* B~: Killing on [g,g] plus n sum_j Re(l_j(Z1) conj l_j(Z2)) on the centre, l_j the
                          * joint eigenvalues. On gl(n): 2n tr(XY) - tr X tr Y */
    RELN_FORM_NO_CENTER, /* the Killing form alone: the paper's "no centre" row, and the form of Lie
                          * Neurons */
    RELN_FORM_NO_SEMISIMPLE, /* the part on the centre alone */
    RELN_FORM_DEFINITE, /* -Killing on [g,g] plus the part on the centre; exists where Killing is negative
                         * definite */
    RELN_FORM_TRACE /* tr(XY) of the defining matrices */
} RelnForm;

/* Sets *out to the (K, K) Gram matrix of a form in the given basis, borrowed from the algebra. Returns
 * RELN_ERR_UNSUPPORTED for RELN_FORM_DEFINITE where the Killing form is not negative definite. */
RELN_API RelnStatus reln_algebra_gram(const RelnAlgebra *algebra, RelnForm form,
                                      const double **out);
/* Fills `gram` (K, K) with the form of a larger algebra, restricted to the basis of this one. For example, B~
 * of gl:5 on lifted four-vectors is 20 p.q, while B~ of so(3,2) is 6 p.q. With this matrix in RelnNet.forms,
 * a network on the smaller algebra computes the same values as on the larger one. Returns RELN_ERR_ALGEBRA,
 * with the distance, when an element does not lie in the larger algebra. */
RELN_API RelnStatus reln_algebra_gram_within(const RelnAlgebra *algebra, const RelnAlgebra *larger,
                                             RelnForm form, double *gram);
/* Returns B~(x, y), the completed form. */
RELN_API double reln_algebra_form(const RelnAlgebra *algebra, const double *x, const double *y);

/* ---- elements --------------------------------------------------------------------------------------------- */

RELN_API void reln_algebra_hat(const RelnAlgebra *algebra, const double *x, double *matrix);
/* Writes the coordinates of the element nearest to the matrix. Returns its distance from the matrix, relative
 * to the matrix's norm; 0 means that the matrix lies in the algebra. */
RELN_API double reln_algebra_vee(const RelnAlgebra *algebra, const double *matrix, double *x);
RELN_API void reln_algebra_bracket(const RelnAlgebra *algebra, const double *x, const double *y,
                                   double *z);
/* Writes exp of the element x: an n x n matrix of the group. */
RELN_API RelnStatus reln_algebra_exp(const RelnAlgebra *algebra, const double *x, double *g);
/* Writes the (K, K) matrix of X -> g X g^-1. Returns RELN_ERR_REP, with the residual, when g does not
 * normalise the algebra. */
RELN_API RelnStatus reln_algebra_adjoint(const RelnAlgebra *algebra, const double *g, double *ad);

/* Draws a random element g of the group's identity component with condition number `cond` (>= 1), and its
 * inverse. *reached is the condition number of g: 1 if the group is compact, `cond` otherwise. In a skewed
 * frame the condition numbers of a compact group are bounded, and *reached is the largest one found.
 * `inverse` and `reached` may be NULL. */
RELN_API RelnStatus reln_algebra_random_group(const RelnAlgebra *algebra, RelnRng *rng, double cond,
                                              double *g, double *inverse, double *reached);

#ifdef __cplusplus
}
#endif

#endif
