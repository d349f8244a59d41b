/* system.c -- energy and field of the pendulum. */
#include <math.h>
#include <string.h>

#include "tasks/pendulum/pendulum.h"

static double norm3(const double *v)
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static void difference(const double *z, double *d)
{
    for (int i = 0; i < 3; i++)
        d[i] = z[i] - z[3 + i];
}

double pend_energy(const PendSystem *s, const double *z)
{
    double d[3], kinetic = 0, u, w;

    difference(z, d);
    u = norm3(z) - 1;
    w = norm3(d) - 1;
    for (int i = 6; i < PEND_STATE; i++)
        kinetic += z[i] * z[i] / 2;
    return kinetic + u * u / 2 + s->stiffness / 2 * w * w + z[2] + z[5];
}

/* a = (1 - 1/|x1|) x1, b = stiffness (1 - 1/|x1-x2|) (x1 - x2): p1dot = -a - b - ez, p2dot = b - ez */
void pend_field(const PendSystem *s, const double *z, double *zdot)
{
    double d[3], pull, push;

    difference(z, d);
    pull = 1 - 1 / norm3(z);
    push = s->stiffness * (1 - 1 / norm3(d));
    memcpy(zdot, z + 6, 6 * sizeof *z);
    for (int i = 0; i < 3; i++) {
        zdot[6 + i] = -pull * z[i] - push * d[i] - (i == 2);
        zdot[9 + i] = push * d[i] - (i == 2);
    }
}

double pend_spin(const double *z)
{
    return z[0] * z[7] - z[1] * z[6] + z[3] * z[10] - z[4] * z[9];
}
