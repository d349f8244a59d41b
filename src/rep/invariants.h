/* invariants.h -- the invariant tensors of a product of three legs. */
#ifndef REP_INVARIANTS_H
#define REP_INVARIANTS_H

#include "rep/rep.h"

/* One factor of the product: what the generators do to it. */
typedef struct Leg {
    int dim;
    const double
        *lie; /* (rank, dim, dim): an orthonormal basis of the span of the Lie generators */
    const double *regular;  /* (dim, dim): the span's regular element */
    const double *discrete; /* (n_discrete, dim, dim) */
} Leg;

typedef struct Problem {
    Leg leg[3];
    int rank, n_discrete;
    const Closure
        *elements; /* of the group, where it is finite and has no Lie generators; else NULL */
} Problem;

/* An orthonormal basis (count, dim0 * dim1 * dim2) of the tensors that every generator leaves alone, in the arena.
 * RELN_ERR_UNSUPPORTED when the problem is too large, RELN_ERR_NUMERIC when its dimension cannot be told. */
RelnStatus reln_invariants(RelnArena *arena, const Problem *problem, int *count, double **rows);

#endif
