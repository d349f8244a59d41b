/* lorentz.c -- four-momenta: products, angles, changes of frame, and invariants of a whole jet. */
#include <math.h>
#include <string.h>

#include "tasks/jets/jets.h"

const double jets_beams[JETS_BEAMS][4] = {{JETS_SQRT2, 0, 0, 1}, {JETS_SQRT2, 0, 0, -1}};

double jets_dot(const double *p, const double *q)
{
    return p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3];
}

double jets_pt(const double *p)
{
    return hypot(p[1], p[2]);
}

double jets_eta(const double *p)
{
    return asinh(p[3] / jets_pt(p));
}

double jets_phi(const double *p)
{
    return atan2(p[2], p[1]);
}

double jets_turn(double phi, double from)
{
    return remainder(phi - from, 2 * JETS_PI);
}

void jets_sum(int n, const double *p, double total[4])
{
    memset(total, 0, 4 * sizeof *total);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 4; k++)
            total[k] += p[4 * i + k];
}

double jets_psi(double x)
{
    return copysign(log1p(fabs(x)), x);
}

void jets_boost(int axis, double b, double m[16])
{
    const double gamma = 1 / sqrt(1 - b * b);
    const int k = axis + 1;

    memset(m, 0, 16 * sizeof *m);
    for (int i = 0; i < 4; i++)
        m[5 * i] = 1;
    m[0] = m[5 * k] = gamma;
    m[k] = m[4 * k] = -gamma * b;
}

static void multiply(const double *a, const double *b, double *out)
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            out[4 * i + j] = 0;
            for (int k = 0; k < 4; k++)
                out[4 * i + j] += a[4 * i + k] * b[4 * k + j];
        }
}

/* The rotation of a unit quaternion; four normal numbers give a uniform one. */
static void random_rotation(RelnRng *rng, double m[16])
{
    double q[4], size = 0;

    for (int i = 0; i < 4; i++) {
        q[i] = reln_rng_normal(rng);
        size += q[i] * q[i];
    }
    for (int i = 0; i < 4; i++)
        q[i] /= sqrt(size);
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double rows[16] = {1,
                             0,
                             0,
                             0, //
                             0,
                             1 - 2 * (y * y + z * z),
                             2 * (x * y - z * w),
                             2 * (x * z + y * w),
                             0,
                             2 * (x * y + z * w),
                             1 - 2 * (x * x + z * z),
                             2 * (y * z - x * w),
                             0,
                             2 * (x * z - y * w),
                             2 * (y * z + x * w),
                             1 - 2 * (x * x + y * y)};

    memcpy(m, rows, sizeof rows);
}

void jets_random_frame(RelnRng *rng, double b, double m[16])
{
    double boost[16], before[16], after[16], some[16];

    random_rotation(rng, before);
    random_rotation(rng, after);
    jets_boost(0, b, boost);
    multiply(boost, before, some);
    multiply(after, some, m);
}

void jets_move(const double m[16], ptrdiff_t n, const double *p, double *out)
{
    for (ptrdiff_t i = 0; i < n; i++, p += 4, out += 4) {
        double q[4];

        for (int k = 0; k < 4; k++)
            q[k] =
                m[4 * k] * p[0] + m[4 * k + 1] * p[1] + m[4 * k + 2] * p[2] + m[4 * k + 3] * p[3];
        memcpy(out, q, sizeof q);
    }
}

/* ---- invariants of a jet ------------------------------------------------------------------------------------------- */

/* The nearest other pseudo-particle, by the product. */
typedef struct Near {
    int at;
    double dot;
} Near;

static Near nearest(int n, double (*p)[4], int i)
{
    Near near = {-1, (double)INFINITY};

    for (int j = 0; j < n; j++)
        if (j != i && jets_dot(p[i], p[j]) < near.dot)
            near = (Near){j, jets_dot(p[i], p[j])};
    return near;
}

/* Merges the pair of the smallest product until `want` are left: JADE's clustering without energies, so that
 * the result does not depend on the frame. */
static int merge(int n, double (*p)[4], int want)
{
    Near near[JETS_MOST];

    for (int i = 0; i < n; i++)
        near[i] = nearest(n, p, i);
    while (n > want) {
        int i = 0, j;

        for (int k = 1; k < n; k++)
            i = near[k].dot < near[i].dot ? k : i;
        j = near[i].at;
        if (j < i) {
            const int swap = i;
            i = j;
            j = swap;
        }
        for (int k = 0; k < 4; k++)
            p[i][k] += p[j][k];
        memcpy(p[j], p[--n], sizeof p[j]);
        near[j] = near[n];
        for (int k = 0; k < n; k++)
            if (k == i || near[k].at == i || near[k].at == j || near[k].at == n)
                near[k] = nearest(n, p, k);
            else if (jets_dot(p[k], p[i]) < near[k].dot)
                near[k] = (Near){i, jets_dot(p[k], p[i])};
    }
    return n;
}

static void sort_down(int n, double *x)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && x[j] > x[j - 1]; j--) {
            const double swap = x[j];
            x[j] = x[j - 1];
            x[j - 1] = swap;
        }
}

void jets_invariants(int n, const double *p, const double beams[JETS_BEAMS][4],
                     double out[JETS_INVARIANTS])
{
    double some[JETS_MOST][4], total[4], pair[3] = {0}, own[3] = {0}, spread = 0, mass2;
    int left;

    jets_sum(n, p, total);
    mass2 = jets_dot(total, total);
    for (int i = 0; i < n; i++) {
        const double share = jets_dot(p + 4 * i, total) / (fabs(mass2) + 1e-9);
        spread += share * share;
    }
    memcpy(some, p, (size_t)n * sizeof some[0]);
    left = merge(n, some, 3);
    for (int i = 0; i < left; i++) {
        own[i] = jets_dot(some[i], some[i]);
        pair[i] = jets_dot(some[i], some[(i + 1) % left]);
    }
    sort_down(3, own);
    sort_down(3, pair);
    out[0] = log(n);
    out[1] = jets_psi(mass2);
    out[2] = jets_psi(fmax(jets_dot(total, beams[0]), jets_dot(total, beams[1])));
    out[3] = jets_psi(fmin(jets_dot(total, beams[0]), jets_dot(total, beams[1])));
    out[4] = jets_psi(spread);
    for (int i = 0; i < 3; i++)
        out[5 + i] = jets_psi(pair[i]);
    out[8] = jets_psi(own[0]);
    out[9] = jets_psi(own[1]);
}
