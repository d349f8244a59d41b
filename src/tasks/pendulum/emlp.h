/* emlp.h -- EMLP (Finzi, Welling and Wilson, 2021): dense layers whose matrices are projected on the equivariant ones.
 *
 * Features are tensors of rank 0 to 3 over space, several of each: for 128 numbers 38 scalars, 12 vectors, 3 and 1 of
 * ranks 2 and 3, whatever the group. A block is
 *     lin = W x + b,   pre = lin + B(lin) lin / 10,   out = gated pre
 * where W and b are P w and P b, with P the orthogonal projector on what the group leaves as it is; the free w is
 * trained, and projected once a step. Energy: three blocks and a last linear layer, 55,569 parameters.
 */
#ifndef TASKS_PENDULUM_EMLP_H
#define TASKS_PENDULUM_EMLP_H

#include "tasks/pendulum/model.h"

enum { PEND_RANKS = 4, PEND_EMLP_BLOCKS = 3 };

/* How many tensors of each rank. */
typedef struct PendTensors {
    int n[PEND_RANKS];
} PendTensors;

typedef struct PendEmlp {
    int width; /* numbers of a hidden feature */
} PendEmlp;

extern const PendArchitecture pend_emlp, pend_emlp_ode;
extern const PendEmlp pend_emlp_published; /* 128 */

/* EMLP's choice for so many numbers: equal shares for all ranks that fit, then again for what is left. */
PendTensors pend_tensors_uniform(int width);
int pend_tensors_size(const PendTensors *t);
PendTensors
pend_tensors_gated(const PendTensors *t); /* a scalar more for every tensor that is none */
int pend_tensors_chosen(const PendTensors *t,
                        int rank); /* by the bilinear layer: as many as its coordinates at most */

/* P (3^k, 3^k): projector on the tensors of rank k that the symmetry leaves as they are, from the library's solver.
 * `count` is their dimension. Caller frees *out. */
RelnStatus pend_projector(RelnCtx *ctx, PendSymmetry symmetry, int rank, double **out, int *count);

#endif
