/* body.c -- the quadrotor as a rigid body with four rotors that follow their commands with a delay. */
#include <math.h>
#include <string.h>

#include "tasks/drone/flight.h"

#define RAD_PER_RPM 0.10471975511965977462
#define THRUST_PER_RPM2 3.16e-10

const double quad_inertia[3] = {1.4e-5, 1.4e-5, 2.17e-5};
const double quad_drag[3] = {9.1785e-7, 9.1785e-7, 10.311e-7};

/* Signs of a rotor's thrust in the torques about x, y, z. */
static const double sign_x[QUAD_ROTORS] = {-1, -1, 1, 1};
static const double sign_y[QUAD_ROTORS] = {-1, 1, 1, -1};
static const double sign_z[QUAD_ROTORS] = {-1, 1, -1, 1};

void quad_forces(const double *f, double *force, double *torque)
{
    *force = 0;
    memset(torque, 0, 3 * sizeof *torque);
    for (int i = 0; i < QUAD_ROTORS; i++) {
        *force += f[i];
        torque[0] += sign_x[i] * f[i] * QUAD_ARM;
        torque[1] += sign_y[i] * f[i] * QUAD_ARM;
        torque[2] += sign_z[i] * f[i] * QUAD_YAW;
    }
}

/* Torques have priority: the force is limited to what they leave. */
void quad_thrusts(double force, const double *torque, double *f)
{
    double least = 0, most = 0, base;

    for (int i = 0; i < QUAD_ROTORS; i++) {
        f[i] = 0.25 * ((sign_x[i] * torque[0] + sign_y[i] * torque[1]) / QUAD_ARM +
                       sign_z[i] * torque[2] / QUAD_YAW);
        least = fmin(least, f[i]);
        most = fmax(most, f[i]);
    }
    base = fmax(fmin(0.25 * force, QUAD_MOST_THRUST - most), -least);
    for (int i = 0; i < QUAD_ROTORS; i++)
        f[i] = fmin(fmax(base + f[i], 0), QUAD_MOST_THRUST);
}

void quad_attitude(const double *s, double *r)
{
    const double w = s[QUAD_Q], x = s[QUAD_Q + 1], y = s[QUAD_Q + 2], z = s[QUAD_Q + 3];

    r[0] = 1 - 2 * (y * y + z * z);
    r[1] = 2 * (x * y - w * z);
    r[2] = 2 * (x * z + w * y);
    r[3] = 2 * (x * y + w * z);
    r[4] = 1 - 2 * (x * x + z * z);
    r[5] = 2 * (y * z - w * x);
    r[6] = 2 * (x * z - w * y);
    r[7] = 2 * (y * z + w * x);
    r[8] = 1 - 2 * (x * x + y * y);
}

/* Returns the sum of the rotors' angular velocities, rad/s. */
static double rotor_speeds(const double *f)
{
    double sum = 0;

    for (int i = 0; i < QUAD_ROTORS; i++)
        sum += sqrt(fmax(f[i], 0) / THRUST_PER_RPM2) * RAD_PER_RPM;
    return sum;
}

/* m vdot = R (thrust e3 - drag) - m g e3; the drag along each axis of the body is proportional to the
 * velocity along it. */
static void accelerate(const double *r, const double *v, double force, double speeds, double *dv)
{
    double body[3];

    for (int i = 0; i < 3; i++)
        body[i] = -quad_drag[i] * speeds * (r[i] * v[0] + r[3 + i] * v[1] + r[6 + i] * v[2]);
    body[2] += force;
    for (int i = 0; i < 3; i++)
        dv[i] = (r[3 * i] * body[0] + r[3 * i + 1] * body[1] + r[3 * i + 2] * body[2]) / QUAD_MASS;
    dv[2] -= QUAD_GRAVITY;
}

/* qdot = q (0, w) / 2, Jw' = torque - w x Jw */
static void turn(const double *q, const double *w, const double *torque, double *dq, double *dw)
{
    dq[0] = -0.5 * (q[1] * w[0] + q[2] * w[1] + q[3] * w[2]);
    dq[1] = 0.5 * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]);
    dq[2] = 0.5 * (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]);
    dq[3] = 0.5 * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;

        dw[i] = (torque[i] - (quad_inertia[k] - quad_inertia[j]) * w[j] * w[k]) / quad_inertia[i];
    }
}

void quad_field(const double *command, const double *s, double *ds)
{
    double r[9], force, torque[3];

    quad_attitude(s, r);
    quad_forces(s + QUAD_F, &force, torque);
    memcpy(ds + QUAD_P, s + QUAD_V, 3 * sizeof *ds);
    accelerate(r, s + QUAD_V, force, rotor_speeds(s + QUAD_F), ds + QUAD_V);
    turn(s + QUAD_Q, s + QUAD_W, torque, ds + QUAD_Q, ds + QUAD_W);
    for (int i = 0; i < QUAD_ROTORS; i++)
        ds[QUAD_F + i] = (command[i] - s[QUAD_F + i]) / QUAD_LAG;
}

static void moved(const double *s, double step, const double *ds, double *out)
{
    for (int i = 0; i < QUAD_STATE; i++)
        out[i] = s[i] + step * ds[i];
}

void quad_step(const double *command, double step, double *s)
{
    double k[4][QUAD_STATE], at[QUAD_STATE], *q = s + QUAD_Q, length;

    quad_field(command, s, k[0]);
    moved(s, step / 2, k[0], at);
    quad_field(command, at, k[1]);
    moved(s, step / 2, k[1], at);
    quad_field(command, at, k[2]);
    moved(s, step, k[2], at);
    quad_field(command, at, k[3]);
    for (int i = 0; i < QUAD_STATE; i++)
        s[i] += step / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
    length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 4; i++)
        q[i] /= length;
}

/* ---- the controller ---------------------------------------------------------------------------------------------- */

static void cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static double normalise(double *a)
{
    const double length = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);

    for (int i = 0; i < 3 && length > 0; i++)
        a[i] /= length;
    return length;
}

/* Computes the wanted attitude: z along the force, and x as near as possible to the body's current x. The
 * heading is left free, since a fixed heading is impossible where the force points along it. */
static void wanted_attitude(const double *z, const double *r, double *d)
{
    const double own[3] = {r[0], r[3], r[6]}, side[3] = {r[1], r[4], r[7]};
    double x[3], y[3];

    cross(z, own, y);
    if (normalise(y) < 0.1) {
        cross(side, z, x);
        cross(z, x, y);
        normalise(y);
    }
    cross(y, z, x);
    for (int i = 0; i < 3; i++) {
        d[3 * i] = x[i];
        d[3 * i + 1] = y[i];
        d[3 * i + 2] = z[i];
    }
}

/* vee(D^T R - R^T D) / 2 */
static void attitude_error(const double *d, const double *r, double *e)
{
    double m[9]; /* D^T R */

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m[3 * i + j] = d[i] * r[j] + d[3 + i] * r[3 + j] + d[6 + i] * r[6 + j];
    e[0] = 0.5 * (m[7] - m[5]);
    e[1] = 0.5 * (m[2] - m[6]);
    e[2] = 0.5 * (m[3] - m[1]);
}

#define LEAST_FALL                                                                                 \
    (-0.7 * QUAD_GRAVITY) /* a larger wanted acceleration downwards would turn the body over */
#define LEAST_LIFT (0.2 * QUAD_MASS * QUAD_GRAVITY) /* upwards, for the same reason */
#define FAR 2.0                                     /* m: a larger position error counts as this */

void quad_control(const QuadGoal *goal, const double *s, double *command)
{
    static const double stiff[3] = {900, 900, 150}, damp[3] = {50, 50, 22};
    const double *w = s + QUAD_W;
    double r[9], d[9], e[3], force[3], z[3], torque[3], jw[3], gyro[3];

    for (int i = 0; i < 3; i++) {
        const double a = i == 2 ? fmax(goal->a[2], LEAST_FALL) + QUAD_GRAVITY : goal->a[i];

        force[i] = QUAD_MASS * (6 * fmin(fmax(goal->p[i] - s[QUAD_P + i], -FAR), FAR) +
                                4.5 * (goal->v[i] - s[QUAD_V + i]) + a + 0.2 * s[QUAD_V + i]);
    }
    force[2] = fmax(force[2], LEAST_LIFT);
    quad_attitude(s, r);
    memcpy(z, force, sizeof z);
    normalise(z);
    wanted_attitude(z, r, d);
    attitude_error(d, r, e);
    for (int i = 0; i < 3; i++)
        jw[i] = quad_inertia[i] * w[i];
    cross(w, jw, gyro);
    for (int i = 0; i < 3; i++)
        torque[i] = quad_inertia[i] * (-stiff[i] * e[i] - damp[i] * w[i]) + gyro[i];
    quad_thrusts(fmax(force[0] * r[2] + force[1] * r[5] + force[2] * r[8], 0), torque, command);
}
