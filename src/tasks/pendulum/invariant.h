/* invariant.h -- energies that see a state by its invariants alone: products of vectors, lengths, a dense network.
 *
 * The vectors are combinations of x1, x2, p1, p2 and the vertical e (hat of a vector is its lift into so(3), where the
 * form is -12 times the dot product of the two, so that these products are the pairings B~ of lifted channels). Every
 * pair is kept by all rotations and mirrors about e: such a network has the symmetry O(2), and so SO(2) and D6.
 */
#ifndef TASKS_PENDULUM_INVARIANT_H
#define TASKS_PENDULUM_INVARIANT_H

#include "tasks/pendulum/model.h"

typedef struct PendPair {
    int a, b; /* of the list of vectors */
} PendPair;

typedef struct PendInvariant {
    int n_vectors;
    const double (*vectors)[PEND_BASE]; /* each by its shares of x1, x2, p1, p2, e */
    int n_pairs;                        /* 0: all a <= b */
    const PendPair *pairs;
    int n_lengths;      /* of the first so many of `lengths` */
    const int *lengths; /* vectors whose length is one more number */
    double scale;       /* of the products */
    int hidden, width;
    RelnActivation activation;
    bool
        linear; /* H has a linear part besides: a sum of the invariants with weights of their own */
} PendInvariant;

extern const PendArchitecture pend_invariant;

/* Seven channels x1, x2, p1, p2, x2 - x1, e, p1 + p2, their 28 pairings, five layers of 128: 69,889 parameters. */
extern const PendInvariant pend_pairings;
/* The same channels, with lengths beside the pairings and a linear part. */
extern const PendInvariant pend_lengths;
/* "Scalars" (Villar and others, 2021): 30 numbers, four layers of 100 with relu; the smooth one has swish. */
extern const PendInvariant pend_scalars, pend_scalars_smooth;

#endif
