/* gln.h -- functions of two matrices under GL(n): the targets, the frames that test them, and the networks that learn
 * them. */
#ifndef TASKS_GLN_H
#define TASKS_GLN_H

#include "tasks/task.h"

enum { GLN_N = 4, GLN_K = GLN_N * GLN_N, GLN_PAIR = 2 * GLN_K }; /* largest sizes */

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* A GlnTarget is a function of (X, Y) that follows conjugation of both: an invariant number, or a matrix.
 * `covariance`: a function of two covariances under congruence. */
typedef struct GlnTarget {
    const char *name;
    bool element; /* y is an n x n matrix; otherwise one number */
    bool covariance;
    void (*of)(int n, const double *x, const double *y, double *out); /* see gln_value() */
} GlnTarget;

enum { GLN_TARGETS = 9 };
extern const GlnTarget gln_targets[GLN_TARGETS];
int gln_outputs(const GlnTarget *target, int n); /* 1 or n n */

/* A GlnFrame holds g and its inverse. */
typedef struct GlnFrame {
    double g[GLN_K], inverse[GLN_K];
} GlnFrame;

/* Draws a frame of the given condition number. */
RelnStatus gln_frame(const RelnAlgebra *gl, RelnRng *rng, double cond, GlnFrame *frame);

/* Draws a pair: X, then Y, row by row, with entries uniform in (-1, 1); covariances are exp of the symmetric
 * part of such a matrix. */
RelnStatus gln_draw(RelnCtx *ctx, const GlnTarget *target, int n, RelnRng *rng, double *pair);
/* Moves a pair to another frame: X -> g X g^-1, or S -> g S g^T; out may be the input. */
void gln_move_pair(const GlnTarget *target, int n, const GlnFrame *frame, const double *pair,
                   double *out);
/* Computes the target of a pair. */
RelnStatus gln_value(RelnCtx *ctx, const GlnTarget *target, int n, const double *pair, double *y);
/* Computes the target's value in another frame. */
void gln_move_target(const GlnTarget *target, int n, const GlnFrame *frame, const double *y,
                     double *out);

/* How a pair enters the network. Matrices enter unchanged. Covariances enter by their logarithms, log S, for
 * O(n), or relative to their mean, log(S Sbar^-1), for GL(n). out is (n n, 2): channels last. */
typedef enum GlnLift { GLN_LIFT_REFERENCE, GLN_LIFT_LOG } GlnLift;
RelnStatus gln_lift(RelnCtx *ctx, const GlnTarget *target, GlnLift lift, int n, const double *pair,
                    double *out);
/* Inverts gln_lift(), for GLN_LIFT_LOG if they are covariances. */
RelnStatus gln_unlift(RelnCtx *ctx, const GlnTarget *target, int n, const double *x, double *pair);

/* ---- networks ---------------------------------------------------------------------------------------------------- */

typedef enum GlnKind { GLN_LAYERS, GLN_COMPLETE, GLN_MLP } GlnKind;

typedef struct GlnModel {
    double rate;
    GlnKind kind;
    int width;
    int head;   /* width of the function of invariants */
    int hidden; /* hidden dense layers, and the activation between them */
    RelnActivation activation;
    RelnForm form;
    GlnLift lift; /* lift of covariances */
    bool center;  /* GLN_LAYERS: linear layers also have separate weights for the centre */
    char pad[3];
} GlnModel;

/* A GlnNetwork holds the model and the target that a network is built for. */
typedef struct GlnNetwork {
    const GlnModel *model;
    const GlnTarget *target;
    int n;
} GlnNetwork;

/* Maps "x" (n n, 2) to one number, or to one matrix. */
RelnNode *gln_network(const RelnNet *net, const void *network);

#endif
