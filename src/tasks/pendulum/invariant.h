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
    int hidden, width;
    RelnActivation activation;
    /* H = linear part + share times the dense network, which then starts from 0; both see the invariants less their
     * mean and mixed so that their gradients are uncorrelated over the states to learn from. 0: the dense network
     * alone sees them as they are */
    double share;
} PendInvariant;

extern const PendArchitecture pend_invariant;

/* The linear part is this times f W, so that Adam, which moves every weight alike, moves it faster than the rest. */
#define PEND_LINEAR_GAIN 4.0

/* The invariants by themselves: how many, and their node (K = 1, C = count). */
int pend_features_count(const PendInvariant *s);
RelnNode *pend_features(RelnGraph *g, const PendInvariant *s, RelnNode *z);

/* States "features.mean" (count) and "features.mix" (count, count) for the list of weights, and (f - mean) mix. */
void pend_features_weights(const PendBuild *b, const PendInvariant *s, PendWeights *w);
RelnNode *pend_features_mixed(RelnGraph *g, RelnNode *f, PendWeights *w);
/* Their values, from states: with G the mean over states of grad f_i . grad f_j and f' = f mix, grad f'_i . grad
 * f'_j has the mean 1 for i = j and 0 otherwise. What depends on the invariants before it is mixed with 0. */
RelnStatus pend_features_start(RelnStore *store, const PendInvariant *s, RelnCtx *ctx, int n,
                               const double *states);

/* Seven channels x1, x2, p1, p2, x2 - x1, e, p1 + p2, their 28 pairings, five layers of 128: 69,889 parameters. */
extern const PendInvariant pend_pairings;
/* The same channels, with lengths beside the pairings and a linear part. */
extern const PendInvariant pend_lengths;
/* "Scalars" (Villar and others, 2021): 30 numbers, four layers of 100 with relu; the smooth one has swish. */
extern const PendInvariant pend_scalars, pend_scalars_smooth;

#endif
