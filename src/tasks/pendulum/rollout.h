/* rollout.h -- a learned motion over the whole time, and how far it is from the true one.
 *
 *     PendRollout r = {.plan = plan, .n = 500, .abreast = 1, .h = 0.05};  // its input is "z", its output "velocity"
 *     pend_rollout(&r, starts, z);                            // (n, 150, 12)
 *     PendErrors e = pend_errors(&PEND_AS_PUBLISHED, z, data.truth, 500);
 *
 * The error of one state is e = |zhat - z| / (|zhat| + |z|), between 0 and 1. Numbers of the literature are geometric
 * means of max(e, c) over all motions and all 150 times, the first among them, where e is 0: they depend on c.
 */
#ifndef TASKS_PENDULUM_ROLLOUT_H
#define TASKS_PENDULUM_ROLLOUT_H

#include "reln/reln.h"
#include "tasks/pendulum/data.h"

typedef struct PendRollout {
    RelnPlan *plan;
    RelnDtype dtype; /* of its output */
    int n, abreast;  /* motions, which go ahead together; of them in the channels of z */
    double h;        /* largest step of Runge and Kutta's method */
} PendRollout;

/* The states are added up in double precision, whatever the network computes in. z: (n, 150, 12). */
RelnStatus pend_rollout(const PendRollout *r, const double *starts, double *z);

typedef struct PendErrors {
    double table;  /* c = 1e-5: the numbers of published tables */
    double log;    /* c = 1e-7: the numbers of training logs */
    double moving; /* without the first state, c = 1e-7 */
    double
        energy; /* largest |H(zhat(t)) - H(zhat(0))|, mean over the motions; H is the true energy */
    double spin;             /* the same of the angular momentum about the vertical */
    double at[PEND_ROLLOUT]; /* geometric mean over the motions, by time; c = 1e-7 */
} PendErrors;

/* A motion that is not finite counts as e = 1 from there on. */
PendErrors pend_errors(const PendSystem *system, const double *z, const double *truth, int n);

#endif
