/* score.c -- see score.h. */
#include "tasks/drone/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double square(const double *a)
{
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
}

static double apart(const double *a, const double *b)
{
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};

    return sqrt(square(d));
}

static double path_length(const double *p, ptrdiff_t n)
{
    double sum = 0;

    for (ptrdiff_t i = 1; i < n; i++)
        sum += apart(p + 3 * i, p + 3 * i - 3);
    return sum;
}

/* ---- R1 ---------------------------------------------------------------------------------------------------------- */

/* Returns the error at a time given in joints, linear between them. */
static void error_at(const double *errors, double joint, double *e)
{
    const ptrdiff_t i = (ptrdiff_t)floor(joint);
    const double share = joint - (double)i;

    for (int k = 0; k < 3; k++)
        e[k] = errors[3 * i + k] +
               (share > 0 ? share * (errors[3 * i + 3 + k] - errors[3 * i + k]) : 0);
}

static double relative(const double *errors, int n, double joint_time, double seconds)
{
    double sum = 0, a[3], b[3];
    int count = 0;

    for (double t = 0; (t + seconds) / joint_time <= n; t += 0.5) {
        error_at(errors, t / joint_time, a);
        error_at(errors, (t + seconds) / joint_time, b);
        sum += pow(apart(a, b), 2);
        count++;
    }
    return count > 0 ? sqrt(sum / count) : (double)NAN;
}

void drone_score_tiles(const DroneFlight *f, int size, int n, const double *d, double *errors,
                       DroneScores *out)
{
    const double time = (size - 1) * f->step;
    double windows = 0, squares = 0, sum = 0;

    memset(errors, 0, 3 * sizeof *errors);
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *a = f->p + 3 * i * (size - 1), *b = a + 3 * (size - 1);
        double off[3];

        for (int k = 0; k < 3; k++) {
            off[k] = d[3 * i + k] - (b[k] - a[k]);
            errors[3 * i + 3 + k] = errors[3 * i + k] + off[k];
        }
        windows += square(off) / n;
    }
    for (ptrdiff_t i = 0; i <= n; i++) {
        squares += square(errors + 3 * i) / (n + 1);
        sum += sqrt(square(errors + 3 * i)) / (n + 1);
    }
    *out = (DroneScores){.window = sqrt(windows),
                         .ate = sqrt(squares),
                         .mean = sum,
                         .percent =
                             100 * sqrt(squares) / path_length(f->p, (ptrdiff_t)n * (size - 1) + 1),
                         .rte2 = relative(errors, n, time, 2),
                         .rte20 = relative(errors, n, time, 20)};
}

/* ---- R2 ---------------------------------------------------------------------------------------------------------- */

static void centre(const DroneFlight *f, int size, ptrdiff_t first, double *c)
{
    const double *a = f->p + 3 * (first + (size - 1) / 2), *b = f->p + 3 * (first + size / 2);

    for (int k = 0; k < 3; k++)
        c[k] = 0.5 * (a[k] + b[k]);
}

double drone_score_centres(const DroneFlight *f, int size, int stride, int n, const double *d)
{
    const double time = (size - 1) * f->step, share = stride * f->step / time;
    double p[3], truth[3], sum = 0;

    centre(f, size, 0, p);
    for (ptrdiff_t i = 0; i < n; i++) {
        for (int k = 0; k < 3 && i > 0; k++)
            p[k] += 0.5 * share * (d[3 * i - 3 + k] + d[3 * i + k]);
        centre(f, size, i * stride, truth);
        sum += pow(apart(p, truth), 2) / n;
    }
    return sqrt(sum);
}

/* ---- R3 ---------------------------------------------------------------------------------------------------------- */

enum { APART = 399, EVERY = 100, ROWS = 400 };

DroneCoded drone_score_coded(int n, const double *times, const double *p, const double *d,
                             double window)
{
    const double spacing = n > 1 ? (times[n - 1] - times[0]) / (n - 1) : 0;
    DroneCoded c = {0};
    double sum = 0, squares = 0, (*e)[3] = calloc((size_t)n, sizeof *e), at[3];

    if (!e)
        return c;
    memcpy(at, p, sizeof at);
    for (ptrdiff_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            at[k] += d[3 * i + k] / window * spacing;
            e[i][k] = at[k] - p[3 * i + k];
        }
    while (c.rows < n && times[c.rows] < 200)
        c.rows++;
    for (int i = 0; i < c.rows; i++) {
        sum += sqrt(square(e[i]));
        squares += square(e[i]);
    }
    c.ate = sum / c.rows;
    c.rmse = sqrt(squares / c.rows);
    c.length = path_length(p, c.rows);
    c.percent = 100 * c.ate / c.length;
    c.drift = c.rows > 0 ? sqrt(square(e[c.rows - 1])) / c.length : 0;
    for (int i = 0; i < c.rows - ROWS; i += EVERY, c.windows++) {
        const double off[3] = {e[i + APART][0] - e[i][0], e[i + APART][1] - e[i][1],
                               e[i + APART][2] - e[i][2]};

        c.rpe += square(off);
        c.rpe_z += off[2] * off[2];
    }
    c.rpe = c.windows > 0 ? sqrt(c.rpe / c.windows) : (double)NAN;
    c.rpe_z = c.windows > 0 ? sqrt(c.rpe_z / c.windows) : (double)NAN;
    free(e);
    return c;
}

bool drone_score_coded_flight(const DroneFlight *f, int size, int stride, int n, const double *d,
                              DroneCoded *out)
{
    double *times = malloc((size_t)n * 4 * sizeof *times), *p = times + n;

    if (!times)
        return false;
    for (ptrdiff_t i = 0; i < n; i++) {
        const ptrdiff_t end = i * stride + size - 1;

        times[i] = (double)end * f->step;
        memcpy(p + 3 * i, f->p + 3 * end, 3 * sizeof *p);
    }
    *out = drone_score_coded(n, times, p, d, 1.0);
    free(times);
    return true;
}

/* ---- evo --------------------------------------------------------------------------------------------------------- */

/* Finds the eigenvector of the largest eigenvalue of a symmetric 4 x 4 matrix, by Jacobi's rotations. */
static void leading(double a[4][4], double *q)
{
    double v[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    int best = 0;

    for (int sweep = 0; sweep < 50; sweep++)
        for (int i = 0; i < 3; i++)
            for (int j = i + 1; j < 4; j++) {
                const double angle = 0.5 * atan2(2 * a[i][j], a[j][j] - a[i][i]), c = cos(angle),
                             s = sin(angle);

                for (int k = 0; k < 4; k++) {
                    const double x = a[k][i], y = a[k][j], u = v[k][i], w = v[k][j];

                    a[k][i] = c * x - s * y;
                    a[k][j] = s * x + c * y;
                    v[k][i] = c * u - s * w;
                    v[k][j] = s * u + c * w;
                }
                for (int k = 0; k < 4; k++) {
                    const double x = a[i][k], y = a[j][k];

                    a[i][k] = c * x - s * y;
                    a[j][k] = s * x + c * y;
                }
            }
    for (int i = 1; i < 4; i++)
        if (a[i][i] > a[best][best])
            best = i;
    for (int i = 0; i < 4; i++)
        q[i] = v[i][best];
}

/* Moves est by the rotation and translation that bring it nearest to truth, by Horn's quaternion. */
static void bring_near(int n, double *est, const double *truth)
{
    double a[3] = {0}, b[3] = {0}, m[3][3] = {{0}}, s[QUAD_STATE] = {0}, r[9];

    for (ptrdiff_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            a[k] += est[3 * i + k] / n;
            b[k] += truth[3 * i + k] / n;
        }
    for (ptrdiff_t i = 0; i < n; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                m[j][k] += (est[3 * i + j] - a[j]) * (truth[3 * i + k] - b[k]);
    leading(
        (double[4][4]){
            {m[0][0] + m[1][1] + m[2][2], m[1][2] - m[2][1], m[2][0] - m[0][2], m[0][1] - m[1][0]},
            {m[1][2] - m[2][1], m[0][0] - m[1][1] - m[2][2], m[0][1] + m[1][0], m[2][0] + m[0][2]},
            {m[2][0] - m[0][2], m[0][1] + m[1][0], m[1][1] - m[0][0] - m[2][2], m[1][2] + m[2][1]},
            {m[0][1] - m[1][0], m[2][0] + m[0][2], m[1][2] + m[2][1], m[2][2] - m[0][0] - m[1][1]}},
        s + QUAD_Q);
    quad_attitude(s, r);
    for (ptrdiff_t i = 0; i < n; i++) {
        const double x[3] = {est[3 * i] - a[0], est[3 * i + 1] - a[1], est[3 * i + 2] - a[2]};

        for (int k = 0; k < 3; k++)
            est[3 * i + k] = b[k] + r[3 * k] * x[0] + r[3 * k + 1] * x[1] + r[3 * k + 2] * x[2];
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

bool drone_distances(int n, double *est, const double *truth, bool align, DroneDistances *out)
{
    double *d = malloc((size_t)n * sizeof *d);

    *out = (DroneDistances){0};
    if (!d)
        return false;
    if (align)
        bring_near(n, est, truth);
    for (ptrdiff_t i = 0; i < n; i++) {
        d[i] = apart(est + 3 * i, truth + 3 * i);
        out->sse += d[i] * d[i];
        out->mean += d[i] / n;
    }
    qsort(d, (size_t)n, sizeof *d, ascending);
    for (ptrdiff_t i = 0; i < n; i++)
        out->std += (d[i] - out->mean) * (d[i] - out->mean) / n;
    out->std = sqrt(out->std);
    out->rmse = sqrt(out->sse / n);
    out->median = 0.5 * (d[(n - 1) / 2] + d[n / 2]);
    out->min = d[0];
    out->max = d[n - 1];
    free(d);
    return true;
}
