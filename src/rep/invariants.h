/* invariants.h -- the invariant tensors of a product of three legs. */
#ifndef REP_INVARIANTS_H
#define REP_INVARIANTS_H

#include "rep/rep.h"

/* A Leg is one factor of the product: the action of the generators on it. */
typedef struct Leg {
    int dim;
    const double *lie;      /* (rank, dim, dim): orthonormal basis of the span of Lie generators */
    const double *regular;  /* (dim, dim): the span's regular element */
    const double *discrete; /* (n_discrete, dim, dim) */
} Leg;

typedef struct Problem {
    Leg leg[3];
    int rank, n_discrete;
    const Closure *elements; /* elements of a finite group without Lie generators; otherwise NULL */
} Problem;

/* Computes an orthonormal basis (count, dim0 * dim1 * dim2) of the tensors that every generator leaves
 * unchanged, in the arena. RELN_ERR_UNSUPPORTED when the problem is too large, RELN_ERR_NUMERIC when rounding
 * hides its dimension. */
RelnStatus reln_invariants(RelnArena *arena, const Problem *problem, int *count, double **rows);

/* ---- helpers of the three methods --------------------------------------------------------------------------------- */

/* Eigenvalues of Gram matrices below this share of the norms count as zero. */
#define RELN_ZERO_BELOW 1e-11

/* Number of entries of a tensor, and distance of neighbours along a leg. */
ptrdiff_t reln_volume(const Problem *p);
ptrdiff_t reln_leg_stride(const Problem *p, int leg);
/* y += m x, with the matrix m acting on one leg */
void reln_add_mode(const Problem *p, int leg, const double *m, const double *x, double *y);
/* y = (m0 x m1 x m2) x; tmp has room for a tensor. */
void reln_act_group(const Problem *p, const double *const m[3], const double *x, double *tmp,
                    double *y);
void reln_discrete_matrices(const Problem *p, int gamma, const double *m[3]);
/* Upper bounds on the eigenvalues of the Gram matrices. */
double reln_leg_norm(const Leg *leg, const double *m);
double reln_lie_scale(const Problem *p);
double reln_discrete_scale(const Problem *p, int gamma);
/* Counts the zeros among n ascending eigenvalues; RELN_ERR_NUMERIC when one is neither clearly zero nor
 * non-zero. */
RelnStatus reln_count_zeros(RelnCtx *ctx, ptrdiff_t n, const double *values, double scale,
                            ptrdiff_t *count);
/* out (count, d) = sum_t v[t][first + i] x_t: combines rows x (m, d) by columns of v (m, m). */
void reln_combine_rows(ptrdiff_t m, ptrdiff_t count, ptrdiff_t first, const double *v, ptrdiff_t d,
                       const double *x, double *out);
/* Computes an orthonormal basis of the span of rows x (m, d), whose dimension `count` is known. */
RelnStatus reln_orthonormal_rows(RelnArena *arena, ptrdiff_t m, ptrdiff_t d, const double *x,
                                 ptrdiff_t count, double *out);
/* solve.c: brings orthonormal rows x (count, d) into reduced echelon form, in place. Entries within rounding
 * of a small fraction are set to that fraction; pivots (count) ascend. RELN_ERR_NUMERIC when an entry is
 * neither clearly zero nor non-zero. */
RelnStatus reln_echelon_rows(RelnArena *arena, ptrdiff_t count, ptrdiff_t d, double *x,
                             ptrdiff_t *pivots);

/* weights.c: *good becomes false if a leg cannot be diagonalised or the problem is too large. */
RelnStatus reln_by_weights(RelnArena *arena, const Problem *p, int *count, double **rows,
                           bool *good);
/* polish.c */
RelnStatus reln_polish(RelnArena *arena, const Problem *p, ptrdiff_t count, double *rows);

#endif
