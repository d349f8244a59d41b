/* rigid.h -- a free rigid body: its motion, and networks for its field. */
#ifndef TASKS_RIGID_H
#define TASKS_RIGID_H

#include "tasks/task.h"

/* A motion is 1000 angular velocities over 25 s; a window is 10 of them, the first of which is the input of a
 * network. */
enum { RIGID_POINTS = 1000, RIGID_STEPS = 9 };
#define RIGID_INTERVAL (25.0 / (RIGID_POINTS - 1))

/* ---- the body ---------------------------------------------------------------------------------------------------- */

/* The inertia of the space station ISS, in units of 10^7 kg m^2 (the motion does not depend on the unit). */
extern const double rigid_inertia[9];

/* wdot = I^-1 ((I w) x w) */
void rigid_field(const double *w, double *wdot);
/* Computes n velocities, RIGID_INTERVAL apart, beginning with w0: fourth-order Runge-Kutta method, 32 steps
 * for each interval. */
void rigid_motion(const double *w0, int n, double *w);
double rigid_energy(const double *w);   /* w.Iw / 2 */
double rigid_momentum(const double *w); /* |Iw| */

/* ---- networks ---------------------------------------------------------------------------------------------------- */

typedef enum RigidKind {
    RIGID_BRACKET, /* Linear 1 -> channels, Bracket, Linear channels -> 1 */
    RIGID_MIXED,   /* the same, with a learned symmetric matrix on each side of the bracket */
    RIGID_PAIR,    /* (A w) x (B w) and nothing else */
    RIGID_MLP
} RigidKind;

typedef struct RigidModel {
    double rate;
    RigidKind kind;
    int width, channels; /* of an MLP; of elements */
    RelnDtype dtype;
    int hidden; /* hidden dense layers, and the activation between them */
    RelnActivation activation;
} RigidModel;

/* Maps "x" (3, 1) to the RIGID_STEPS velocities after it, (3, RIGID_STEPS), by Runge-Kutta steps of the
 * learned field. */
RelnNode *rigid_network(const RelnNet *net, const void *model);

/* Turns the learned parameters that are vectors and matrices of space to the frame turned by r: m -> r m, A
 * -> r A r^T. */
void rigid_turn(const RigidModel *model, RelnStore *store, const double *r);

#endif
