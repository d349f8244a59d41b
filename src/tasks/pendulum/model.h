/* model.h -- networks that learn how a state moves: by an energy H(z), or by the velocity itself.
 *
 *     PendModel m;
 *     pend_model_open(&m, &(PendBuild){.graph = g, .symmetry = PEND_O2}, &pend_mlp);
 *     RelnNode *H = pend_model_energy(&m, z);              // one number for each sample
 *     RelnNode *zdot = pend_model_velocity(&m, z);         // (dH/dp, -dH/dx)
 *     RelnNode *loss = pend_model_loss(&m, chunk, NULL, 2); // of a rollout by Runge and Kutta
 *
 * A state is a node (R = 4, K = 3, C = 1): the vectors x1, x2, p1, p2; or several of them, one in each channel, for an
 * architecture that has no use for channels (abreast.h). An architecture is written once, for any graph:
 * it lists its weights at step level, and computes with what it is given for them, so that the velocity is a function
 * which is planned once, and recomputed, not stored, when it is differentiated.
 */
#ifndef TASKS_PENDULUM_MODEL_H
#define TASKS_PENDULUM_MODEL_H

#include "reln/reln.h"
#include "tasks/pendulum/symmetry.h"

enum { PEND_WEIGHTS = 56, PEND_VECTORS = 4 };

/* Step-level nodes, taken in the order in which they were added. */
typedef struct PendWeights {
    int n, next;
    RelnNode *node[PEND_WEIGHTS];
} PendWeights;

typedef struct PendBuild {
    RelnGraph *graph;
    PendSymmetry symmetry;
    const void *settings; /* the architecture's own */
    int abreast;          /* states in the channels of a node; 0 means 1 */
    uint64_t seed;        /* of what an architecture draws itself */
} PendBuild;

typedef struct PendArchitecture {
    bool
        typed; /* its graph has the symmetry for its group; otherwise none:3, and types prove nothing */
    bool velocity; /* the value is zdot, four vectors: a neural ODE */
    int abreast;   /* so many states are best put abreast; 0: it takes one only */
    /* Parameters, and what is computed from them once a step. */
    void (*weights)(const PendBuild *b, PendWeights *w);
    /* In b->graph, which may be another than the one that lists the weights. */
    RelnNode *(*value)(const PendBuild *b, RelnNode *z, PendWeights *w);
    /* Starting values that RelnInit cannot draw, or that depend on the n states to learn from; NULL: none. */
    RelnStatus (*start)(const PendBuild *b, RelnStore *store, int n, const double *states);
} PendArchitecture;

typedef struct PendModel {
    PendBuild build;
    const PendArchitecture *arch;
    PendWeights weights;
    RelnFn *velocity;
} PendModel;

/* False when something fails; the message is the graph's. */
bool pend_model_open(PendModel *m, const PendBuild *b, const PendArchitecture *arch);

RelnDims pend_state_dims(int abreast);
const RelnRep *pend_state_rep(RelnGraph *g); /* the group's vectors */

RelnNode *pend_model_energy(PendModel *m, RelnNode *z);   /* NULL for a neural ODE */
RelnNode *pend_model_velocity(PendModel *m, RelnNode *z); /* as z, by a call of the function */
/* The same without the call, for a plan that is frozen and only run forward. */
RelnNode *pend_model_direct(PendModel *m, RelnNode *z);
/* n steps of length h of the fourth-order method of Runge and Kutta. */
RelnNode *pend_model_steps(PendModel *m, RelnNode *z, double h, int n);

/* Mean over the batch and the 5 x 12 numbers of the squared error of a rollout from the first state of `chunk`
 * (P = 5, R = 4, K = 3), with `substeps` steps in each interval. The zero of the first state is counted. Of chunks
 * abreast, each is counted with its `share` (C = abreast); NULL: with 1. */
RelnNode *pend_model_loss(PendModel *m, RelnNode *chunk, RelnNode *share, int substeps);

/* ---- for those who write an architecture ------------------------------------------------------------------------ */

void pend_weights_add(PendWeights *w, RelnNode *node);
RelnNode *pend_weights_take(PendWeights *w);

/* A vector as one of its own rep again where rounding made the dual of an orthogonal rep another object. */
RelnNode *pend_as_vector(RelnGraph *g, RelnNode *x);

/* A stack of dense layers on invariants, an activation between them: widths[0] numbers to widths[n]. Weights
 * "<name>.<i>.W" from normals of deviation sqrt(2 / (in + out)), "<name>.<i>.b" from 0. */
typedef struct PendDense {
    const char *name;
    int n;
    const int *widths;
    RelnActivation activation;
    bool quiet; /* the last layer starts from 0, and so does the result */
} PendDense;
void pend_dense_weights(const PendBuild *b, const PendDense *d, PendWeights *w);
RelnNode *pend_dense_value(RelnGraph *g, const PendDense *d, RelnNode *s, PendWeights *w);

/* (K = 3, C = 5): the vectors of a state as channels, and the vertical e. */
enum { PEND_BASE = PEND_VECTORS + 1 };
RelnNode *pend_base_vectors(RelnGraph *g, RelnNode *z);

/* Put numbers into an entry of a store, in its dtype. False when there is none of that name and size. */
bool pend_store_fill(RelnStore *store, const char *name, size_t count, const double *values);

/* A parameter "<name>.<part>". */
RelnNode *pend_parameter(const PendBuild *b, const char *name, const char *part, RelnDims dims,
                         RelnInit init);

#endif
