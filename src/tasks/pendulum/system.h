/* system.h -- the double spring pendulum in three dimensions, and its motion to rounding.
 *
 *     double z[151 * 12];
 *     pend_motion(&PEND_AS_PUBLISHED, z0, 0.2, 151, z);      // z(0), z(0.2), ..., z(30)
 *
 * A state is z = (x1, x2, p1, p2), twelve numbers. All constants are 1, the pivot is at 0, gravity pulls to -z:
 *     H = |p1|^2/2 + |p2|^2/2 + (|x1| - 1)^2/2 + stiffness/2 (|x1 - x2| - 1)^2 + x1_z + x2_z
 * Papers print a stiffness of 1; the code behind every published number leaves out the 1/2, which makes it 2.
 */
#ifndef TASKS_PENDULUM_SYSTEM_H
#define TASKS_PENDULUM_SYSTEM_H

#include <stdbool.h>

enum { PEND_STATE = 12 };

typedef struct PendSystem {
    double stiffness; /* of the second spring */
} PendSystem;
#define PEND_AS_PUBLISHED ((PendSystem){2.0})
#define PEND_AS_PRINTED ((PendSystem){1.0})

double pend_energy(const PendSystem *s, const double *z);
/* zdot = (dH/dp, -dH/dx) */
void pend_field(const PendSystem *s, const double *z, double *zdot);
/* Angular momentum about the vertical: sum of x p_y - y p_x. */
double pend_spin(const double *z);

/* States at 0, dt, 2 dt, ... by CVODE (Adams, relative tolerance 1e-13): n of them, the first is z0. False when the
 * integrator gave up or memory was out. */
bool pend_motion(const PendSystem *s, const double *z0, double dt, int n, double *z);

#endif
