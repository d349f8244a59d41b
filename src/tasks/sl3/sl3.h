/* sl3.h -- an invariant and an equivariant function of two elements of sl(3): data, actions, networks. */
#ifndef TASKS_SL3_H
#define TASKS_SL3_H

#include "tasks/task.h"

enum { SL3_N = 3, SL3_K = 8, SL3_MATRIX = 9 };

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* sin tr(XX) + cos tr(YY) - tr(YY)^3 / 2 + det(XY) + exp tr(XX), invariant under conjugation by SL(3); x, y:
 * coordinates */
double sl3_invariant(const RelnAlgebra *sl3, const double *x, const double *y);
/* [[X,Y],Y] + [Y,X], which follows every conjugation; out: coordinates */
void sl3_equivariant(const RelnAlgebra *sl3, const double *x, const double *y, double *out);

/* Converts pairs of coordinates (n, K, 2) to pairs of matrices (n, 9, 2). */
void sl3_hats(const RelnAlgebra *sl3, ptrdiff_t n, const double *x, double *matrices);

/* ---- networks ---------------------------------------------------------------------------------------------------- */

typedef enum Sl3Kind {
    SL3_INVARIANT,   /* Linear, ReLU, Linear, Bracket, B(x,x), dense: as on sp(4) */
    SL3_EQUIVARIANT, /* (Linear, Bracket or ReLU)..., Linear */
    SL3_COMPLETE,    /* on all matrices: Affine, Product, their traces, and a smooth function */
    SL3_MLP
} Sl3Kind;

typedef struct Sl3Model {
    double rate;
    Sl3Kind kind;
    int width;
    int outputs; /* SL3_MLP */
    int head;    /* SL3_COMPLETE: width of the function of invariants */
    int hidden;  /* hidden dense layers, and the activation between them */
    RelnActivation activation;
    char blocks[8]; /* SL3_EQUIVARIANT: 'b' bracket, 'r' leaky ReLU, from the input on */
    bool matrices;  /* the input is (9, 2) */
    bool augment, cosine;
    char pad[5];
} Sl3Model;

/* Maps "x" (8, 2), or (9, 2) for matrices, to the output. */
RelnNode *sl3_network(const RelnNet *net, const void *model);

#endif
