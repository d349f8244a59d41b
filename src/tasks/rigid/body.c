/* body.c -- a free rigid body: Euler's equations and their solution. */
#include <math.h>
#include <string.h>

#include "tasks/rigid/rigid.h"

enum { SUBSTEPS = 32 };

const double rigid_inertia[9] = {0.5410880,  -0.0246595, 0.2967671,  -0.0246595, 2.9457838,
                                 -0.0047804, 0.2967671,  -0.0047804, 2.6744180};

static void apply(const double *m, const double *v, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = m[3 * i] * v[0] + m[3 * i + 1] * v[1] + m[3 * i + 2] * v[2];
}

static void cross(const double *a, const double *b, double *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* If r_i are the rows of a matrix, the columns of its inverse are r_j x r_k / det. */
static void solve(const double *m, const double *v, double *out)
{
    double c[3][3];

    for (int i = 0; i < 3; i++)
        cross(m + 3 * ((i + 1) % 3), m + 3 * ((i + 2) % 3), c[i]);
    for (int i = 0; i < 3; i++)
        out[i] = (c[0][i] * v[0] + c[1][i] * v[1] + c[2][i] * v[2]) / dot(m, c[0]);
}

void rigid_field(const double *w, double *wdot)
{
    double momentum[3], torque[3];

    apply(rigid_inertia, w, momentum);
    cross(momentum, w, torque);
    solve(rigid_inertia, torque, wdot);
}

static void runge_kutta(double h, double *w)
{
    static const double at[4] = {0, 0.5, 0.5, 1}, weight[4] = {1, 2, 2, 1};
    double k[3] = {0}, sum[3] = {0}, v[3];

    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < 3; i++)
            v[i] = w[i] + h * at[s] * k[i];
        rigid_field(v, k);
        for (int i = 0; i < 3; i++)
            sum[i] += h / 6 * weight[s] * k[i];
    }
    for (int i = 0; i < 3; i++)
        w[i] += sum[i];
}

void rigid_motion(const double *w0, int n, double *w)
{
    double now[3];

    memcpy(now, w0, sizeof now);
    for (int i = 0; i < n; i++) {
        memcpy(w + 3 * i, now, sizeof now);
        for (int s = 0; s < SUBSTEPS; s++)
            runge_kutta(RIGID_INTERVAL / SUBSTEPS, now);
    }
}

double rigid_energy(const double *w)
{
    double momentum[3];

    apply(rigid_inertia, w, momentum);
    return dot(w, momentum) / 2;
}

double rigid_momentum(const double *w)
{
    double momentum[3];

    apply(rigid_inertia, w, momentum);
    return sqrt(dot(momentum, momentum));
}
