/* inputs.c -- makes the inputs of networks from windows of measurements. */
#include <math.h>
#include <string.h>

#include "tasks/drone/classic.h"
#include "tasks/drone/nets.h"

/* Sizes c of (1 + C / c)^-1, m^2/s^2: about the smallest variance of an error, the largest, and one
 * between. */
enum { RESOLVENTS = 3 };
static const double sizes[RESOLVENTS] = {0.1, 0.6, 4.0};

int drone_size_m(DroneInput input, int sensors)
{
    switch (input) {
    case DRONE_IN_COVARIANCE:
    case DRONE_IN_LOG:
        return DRONE_WINDOW * 9 * sensors;
    case DRONE_IN_RESOLVENTS:
        return DRONE_WINDOW * 9 * RESOLVENTS * sensors;
    case DRONE_IN_KRYLOV:
        return DRONE_WINDOW * 6 * sensors;
    case DRONE_IN_AXES:
    case DRONE_IN_AXES_CODED:
        return DRONE_WINDOW * 9;
    case DRONE_IN_V:
    case DRONE_INPUTS:
        break;
    }
    return 0;
}

int drone_size_l(DroneInput input)
{
    return input == DRONE_IN_AXES || input == DRONE_IN_AXES_CODED ? 3 : 0;
}

void drone_integral(int sensors, const DroneSeen *seen, int first, double step, double *d)
{
    double one[3];

    memset(d, 0, 3 * sizeof *d);
    for (int s = 0; s < sensors; s++) {
        drone_displacement(seen[s].v, first, DRONE_WINDOW, step, one);
        for (int k = 0; k < 3; k++)
            d[k] += one[k] / sensors;
    }
}

/* ---- axes -------------------------------------------------------------------------------------------------------- */

#define GAP 1e-6 /* variances that differ by less, relatively, count as equal */

static void column(const double *e, int j, double *out)
{
    for (int k = 0; k < 3; k++)
        out[k] = e[3 * k + j];
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

/* Writes a minus its part along the unit vector b, as a unit vector; 0 if nothing is left. */
static void across(const double *a, const double *b, double *out)
{
    const double along = dot(a, b);
    double size;

    for (int k = 0; k < 3; k++)
        out[k] = a[k] - along * b[k];
    size = sqrt(dot(out, out));
    for (int k = 0; k < 3; k++)
        out[k] = size > 1e-9 * sqrt(dot(a, a)) && size > 0 ? out[k] / size : 0;
}

static void unit_of(const double *a, double *out)
{
    const double size = sqrt(dot(a, a));

    for (int k = 0; k < 3; k++)
        out[k] = size > 0 ? a[k] / size : 0;
}

static void order(const double *var, int *at)
{
    at[0] = 0, at[1] = 1, at[2] = 2;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 - i; j++)
            if (var[at[j]] > var[at[j + 1]]) {
                const int swap = at[j];

                at[j] = at[j + 1];
                at[j + 1] = swap;
            }
}

static bool equal(double a, double b)
{
    return fabs(a - b) <= GAP * fmax(fabs(a), fabs(b));
}

/* Reverses e if it points against v. */
static void along(const double *v, double *e)
{
    const double sign = dot(v, e) < 0 ? -1 : 1;

    for (int k = 0; k < 3; k++)
        e[k] *= sign;
}

/* The paper's axes: signs by the velocity, right-handed. If two variances are equal, the axes in their plane
 * are the velocity's part there and the direction across; if all three are, the velocity's direction, and
 * across it the window's mean. */
static void canonical(const double *axes, const double *var, const double *v, const double *mean,
                      double e[3][3])
{
    int at[3];

    order(var, at);
    for (int j = 0; j < 3; j++)
        column(axes, at[j], e[j]);
    if (equal(var[at[0]], var[at[2]])) {
        unit_of(v, e[0]);
        across(mean, e[0], e[1]);
        cross(e[0], e[1], e[2]);
        return;
    }
    for (int j = 0; j < 2; j++)
        if (equal(var[at[j]], var[at[j + 1]])) {
            const int alone = j == 0 ? 2 : 0, first = j == 0 ? 0 : 1;

            along(v, e[alone]);
            across(v, e[alone], e[first]);
            cross(e[alone], e[first], e[first + 1]);
            return;
        }
    along(v, e[0]);
    along(v, e[1]);
    cross(e[0], e[1], e[2]);
}

/* The axes of the published code: those with a negative first number are multiplied by a millionth. */
static void coded(const double *axes, const double *var, double e[3][3])
{
    int at[3];

    order(var, at);
    for (int j = 0; j < 3; j++) {
        column(axes, at[j], e[j]);
        for (int k = 2; k >= 0; k--)
            e[j][k] *= e[j][0] < 0 ? 1e-6 : 1;
    }
}

static void axes_inputs(DroneInput input, const DroneSeen *s, int first, double *m, double *l)
{
    double mean[3] = {0}, e[3][3];

    memset(l, 0, 3 * sizeof *l);
    for (ptrdiff_t i = first; i < first + DRONE_WINDOW; i++)
        for (int k = 0; k < 3; k++)
            mean[k] += s->v[3 * i + k] / DRONE_WINDOW;
    for (ptrdiff_t i = 0; i < DRONE_WINDOW; i++) {
        const double *var = s->var + 3 * (first + i), *axes = s->axes + 9 * (first + i);
        int at[3];

        if (input == DRONE_IN_AXES)
            canonical(axes, var, s->v + 3 * (first + i), mean, e);
        else
            coded(axes, var, e);
        order(var, at);
        for (int j = 0; j < 3; j++) {
            l[j] += var[at[j]] / DRONE_WINDOW;
            for (int k = 0; k < 3; k++)
                m[9 * i + 3 * k + j] = e[j][k];
        }
    }
}

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

/* The least deviation of an error, m/s. */
#define LEAST 0.2

/* Computes the values on the axes of the n-th matrix that an input makes from a covariance. */
static void values_of(DroneInput input, bool normal, int n, const double *var, double *values)
{
    const double low = normal ? 2 * log(LEAST) : 0,
                 high = normal ? 2 * log(DRONE_USUAL / LEAST) : 1,
                 unit = normal ? DRONE_USUAL * DRONE_USUAL : 1;

    for (int j = 0; j < 3; j++)
        values[j] = input == DRONE_IN_LOG          ? (log(var[j]) - low) / high
                    : input == DRONE_IN_RESOLVENTS ? 1 / (1 + var[j] / sizes[n])
                                                   : var[j] / unit;
}

static void matrix_inputs(DroneInput input, bool normal, int sensors, const DroneSeen *seen,
                          int first, double *m)
{
    const int each = input == DRONE_IN_RESOLVENTS ? RESOLVENTS : 1, c = each * sensors;
    double values[3], x[9];

    for (int s = 0; s < sensors; s++)
        for (ptrdiff_t i = 0; i < DRONE_WINDOW; i++)
            for (int n = 0; n < each; n++) {
                values_of(input, normal, n, seen[s].var + 3 * (first + i), values);
                drone_spectral(seen[s].axes + 9 * (first + i), values, x);
                for (int k = 0; k < 9; k++)
                    m[(9 * i + k) * c + s * each + n] = x[k];
            }
}

/* Unit of C in Cv and C^2 v, so that all three have numbers of similar size. */
#define KRYLOV_UNIT 0.25

/* `v` holds the velocities that the network gets, (200, 3, sensors). */
static void krylov_inputs(double unit, int sensors, const DroneSeen *seen, int first,
                          const double *v, double *m)
{
    const int c = 2 * sensors;
    double x[9], values[3], own[3], once[3], twice[3];

    for (int s = 0; s < sensors; s++)
        for (ptrdiff_t i = 0; i < DRONE_WINDOW; i++) {
            for (int k = 0; k < 3; k++) {
                values[k] = unit * seen[s].var[3 * (first + i) + k];
                own[k] = v[(3 * i + k) * sensors + s];
            }
            drone_spectral(seen[s].axes + 9 * (first + i), values, x);
            drone_turn_vector(x, own, once);
            drone_turn_vector(x, once, twice);
            for (int k = 0; k < 3; k++) {
                m[(3 * i + k) * c + 2 * s] = once[k];
                m[(3 * i + k) * c + 2 * s + 1] = twice[k];
            }
        }
}

/* Subtracts the mean over the window and the sensors, and divides by the usual size. */
static void normalise(int sensors, double *v)
{
    const int n = DRONE_WINDOW * sensors;
    double mean[3] = {0};

    for (ptrdiff_t i = 0; i < 3 * n; i++)
        mean[i / sensors % 3] += v[i] / n;
    for (ptrdiff_t i = 0; i < 3 * n; i++)
        v[i] = (v[i] - mean[i / sensors % 3]) / DRONE_USUAL;
}

void drone_inputs(DroneInput input, bool normal, int sensors, const DroneSeen *seen, int first,
                  double *v, double *m, double *l)
{
    for (int s = 0; s < sensors; s++)
        for (ptrdiff_t i = 0; i < 3 * DRONE_WINDOW; i++)
            v[i * sensors + s] = seen[s].v[3 * first + i];
    if (normal)
        normalise(sensors, v);
    if (input == DRONE_IN_COVARIANCE || input == DRONE_IN_LOG || input == DRONE_IN_RESOLVENTS)
        matrix_inputs(input, normal, sensors, seen, first, m);
    else if (input == DRONE_IN_KRYLOV)
        krylov_inputs(normal ? 1 / (DRONE_USUAL * DRONE_USUAL) : KRYLOV_UNIT, sensors, seen, first,
                      v, m);
    else if (input != DRONE_IN_V)
        axes_inputs(input, &seen[0], first, m, l);
}
