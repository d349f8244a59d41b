/* bch.h -- the logarithm of a product of rotations: data, series, networks. */
#ifndef TASKS_BCH_H
#define TASKS_BCH_H

#include "tasks/task.h"

enum { BCH_K = 3, BCH_MATRIX = 9 };

/* ---- rotations --------------------------------------------------------------------------------------------------- */

/* log(exp(a) exp(b)), of length at most pi, for vectors of so(3). */
void bch_exact(const double *a, const double *b, double *out);
/* Computes the Baker-Campbell-Hausdorff series up to commutators of `order` letters, 1 to 3. */
void bch_series(int order, const double *a, const double *b, double *out);
/* exp of a vector, row by row. */
void bch_rotation(const double *v, double *r);
/* The angle of the rotation between R and S, and |R - S| (Frobenius): the two errors of a prediction. */
double bch_angle(const double *r, const double *s);
double bch_distance(const double *r, const double *s);

/* Draws a direction uniform in [0,1]^3, scaled to a unit vector, and an angle uniform in (0, pi - 1e-6), like
 * the published data. */
void bch_draw(RelnRng *rng, double *v);
/* Draws a uniformly distributed (Haar) rotation. */
void bch_frame(RelnRng *rng, double *r);
void bch_turn(const double *r, const double *v, double *out); /* out = R v */

/* ---- networks ---------------------------------------------------------------------------------------------------- */

typedef enum BchKind {
    BCH_SERIES,       /* no network */
    BCH_LAYERS,       /* (Linear, Bracket or leaky ReLU)..., Linear */
    BCH_VECTORS,      /* Vector Neurons: the ReLU by projection, no bracket */
    BCH_COEFFICIENTS, /* the quaternion (c_4, c_1 a + c_2 b + c_3 [a,b]), c from a.a, a.b, b.b */
    BCH_MLP
} BchKind;

typedef struct BchModel {
    double rate;
    BchKind kind;
    int order;  /* BCH_SERIES */
    int hidden; /* hidden dense layers, and the activation between them */
    RelnActivation activation;
    char blocks[8]; /* BCH_LAYERS: 'b' and 'r' */
    bool augment;
    char pad[7];
} BchModel;

/* A BchNetwork holds the model and the sizes that a network is built for. */
typedef struct BchNetwork {
    const BchModel *model;
    int width;
} BchNetwork;

/* Maps "x" (3, 2) to a rotation, the exp of the guess, a matrix (9). */
RelnNode *bch_network(const RelnNet *net, const void *network);

#endif
