/* classic.c -- see classic.h. */
#include "tasks/drone/classic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDE_SPEED (100.0 * 100.0) /* variances of unknown starting values, m^2/s^2 and m^2/s^4 */
#define WIDE_ACCELERATION (30.0 * 30.0)

bool drone_track_init(DroneTrack *t, int n, double step)
{
    *t = (DroneTrack){.n = n, .step = step, .v = calloc((size_t)n * 12, sizeof(double))};
    t->r = t->v ? t->v + 3 * (ptrdiff_t)n : NULL;
    return t->v;
}

void drone_track_clear(DroneTrack *t)
{
    free(t->v);
    *t = (DroneTrack){0};
}

void drone_inverse(const double *a, double *x)
{
    const double c0 = a[4] * a[8] - a[5] * a[5], c1 = a[2] * a[5] - a[1] * a[8],
                 c2 = a[1] * a[5] - a[2] * a[4];
    const double d = 1 / (a[0] * c0 + a[1] * c1 + a[2] * c2);

    x[0] = c0 * d;
    x[1] = x[3] = c1 * d;
    x[2] = x[6] = c2 * d;
    x[4] = (a[0] * a[8] - a[2] * a[2]) * d;
    x[5] = x[7] = (a[1] * a[2] - a[0] * a[5]) * d;
    x[8] = (a[0] * a[4] - a[1] * a[1]) * d;
}

static void times(const double *a, const double *v, double *out)
{
    drone_turn_vector(a, v, out);
}

/* ---- measurements ------------------------------------------------------------------------------------------------- */

/* v = (sum r_i^-1)^-1 sum r_i^-1 v_i */
static void fuse(int n_sensors, const DroneSeen *seen, ptrdiff_t i, double *v, double *r)
{
    double information[9] = {0}, sum[3] = {0};

    for (int s = 0; s < n_sensors; s++) {
        const double *slow = seen[s].slow + 3 * i,
                     inverse[3] = {1 / slow[0], 1 / slow[1], 1 / slow[2]};
        double w[9], wv[3];

        drone_spectral(seen[s].axes + 9 * i, inverse, w);
        times(w, seen[s].v + 3 * i, wv);
        for (int k = 0; k < 9; k++)
            information[k] += w[k];
        for (int k = 0; k < 3; k++)
            sum[k] += wv[k];
    }
    drone_inverse(information, r);
    times(r, sum, v);
}

static void plain_mean(int n_sensors, const DroneSeen *seen, ptrdiff_t i, double *v, double *r)
{
    double c[9];

    memset(v, 0, 3 * sizeof *v);
    memset(r, 0, 9 * sizeof *r);
    for (int s = 0; s < n_sensors; s++) {
        drone_spectral(seen[s].axes + 9 * i, seen[s].slow + 3 * i, c);
        for (int k = 0; k < 3; k++)
            v[k] += seen[s].v[3 * i + k] / n_sensors;
        for (int k = 0; k < 9; k++)
            r[k] += c[k] / (n_sensors * n_sensors);
    }
}

static void flatten(DroneTrack *t)
{
    double mean = 0;

    for (ptrdiff_t i = 0; i < t->n; i++)
        mean += (t->r[9 * i] + t->r[9 * i + 4] + t->r[9 * i + 8]) / (3.0 * t->n);
    for (ptrdiff_t i = 0; i < 9 * (ptrdiff_t)t->n; i++)
        t->r[i] = i % 9 % 4 == 0 ? mean : 0;
}

void drone_track(int n_sensors, const DroneSeen *seen, bool fused, bool flat, DroneTrack *out)
{
    for (ptrdiff_t i = 0; i < out->n; i++)
        (fused ? fuse : plain_mean)(n_sensors, seen, i, out->v + 3 * i, out->r + 9 * i);
    if (flat)
        flatten(out);
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

/* State: `parts` vectors, (v, a) or (d, v, a); d is the integral of v. P is (3 parts, 3 parts). */
enum { MOST = 9 };
typedef struct Filter {
    int parts, size;
    double step;
    double q[3][3]; /* covariance between parts that one step of jerk adds */
    double x[MOST], p[MOST * MOST];
} Filter;

/* Integrals of white jerk: cov(part i, part j) = jerk step^(a + b + 1) / (a! b! (a + b + 1)), a, b = integrations. */
static void open_filter(Filter *f, int parts, double step, double jerk)
{
    static const double factorial[3] = {1, 1, 2};

    *f = (Filter){.parts = parts, .size = 3 * parts, .step = step};
    for (int i = 0; i < parts; i++)
        for (int j = 0; j < parts; j++) {
            const int a = parts - 1 - i, b = parts - 1 - j;

            f->q[i][j] = jerk * pow(step, a + b + 1) / (factorial[a] * factorial[b] * (a + b + 1));
        }
    for (int k = 0; k < 3; k++) {
        const int v = 3 * (parts - 2) + k, a = v + 3;

        f->p[v * f->size + v] = WIDE_SPEED;
        f->p[a * f->size + a] = WIDE_ACCELERATION;
    }
}

/* Rows of m (size, n): part i += step part (i+1) + step^2/2 part (i+2) */
static void advance_rows(const Filter *f, int n, double *m)
{
    for (int i = 0; i < f->parts - 1; i++)
        for (int k = 0; k < 3; k++)
            for (int c = 0; c < n; c++) {
                double *row = m + (3 * i + k) * n + c;

                row[0] += f->step * row[3 * n] +
                          (i + 2 < f->parts ? f->step * f->step / 2 * row[6 * n] : 0);
            }
}

static void transpose(int n, double *m)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            const double swap = m[i * n + j];

            m[i * n + j] = m[j * n + i];
            m[j * n + i] = swap;
        }
}

static void predict(Filter *f)
{
    advance_rows(f, 1, f->x);
    advance_rows(f, f->size, f->p);
    transpose(f->size, f->p);
    advance_rows(f, f->size, f->p);
    for (int i = 0; i < f->parts; i++)
        for (int j = 0; j < f->parts; j++)
            for (int k = 0; k < 3; k++)
                f->p[(3 * i + k) * f->size + 3 * j + k] += f->q[i][j];
}

/* An Update holds the values of an update that the smoother needs. */
typedef struct Update {
    double gain[MOST * 3]; /* (size, 3) */
    double weight[9];      /* (P_vv + r)^-1 */
    double off[3];         /* measured minus predicted */
} Update;

static void update(Filter *f, const double *v, const double *r, Update *u)
{
    const int n = f->size, at = 3 * (f->parts - 2);
    double s[9], pv[MOST * 3];

    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            pv[3 * i + k] = f->p[i * n + at + k];
    for (int i = 0; i < 9; i++)
        s[i] = pv[3 * at + i] + r[i];
    drone_inverse(s, u->weight);
    for (int k = 0; k < 3; k++)
        u->off[k] = v[k] - f->x[at + k];
    for (int i = 0; i < n; i++)
        times(u->weight, pv + 3 * i, u->gain + 3 * i);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++)
            f->x[i] += u->gain[3 * i + k] * u->off[k];
        for (int j = 0; j <= i; j++)
            f->p[i * n + j] = f->p[j * n + i] =
                f->p[i * n + j] - (u->gain[3 * i] * pv[3 * j] + u->gain[3 * i + 1] * pv[3 * j + 1] +
                                   u->gain[3 * i + 2] * pv[3 * j + 2]);
    }
}

/* Bryson and Frazier's form of the smoother: with l = adjoint of the state,
 *     l_k = F^T l_(k+1) carried through the update: l - H^T (K^T l + S^-1 off),      x_k smoothed = x_k - P_k l_k
 * with x_k, P_k before the update. It needs no inverse of P. */
enum { PARTS = 2, SIZE = 3 * PARTS };
typedef struct Kept {
    double x[SIZE], p[SIZE * SIZE];
    Update u;
} Kept;

static void smooth(const DroneTrack *t, const Kept *kept, double *u)
{
    double l[SIZE] = {0};

    for (ptrdiff_t i = t->n - 1; i >= 0; i--) {
        const Kept *k = &kept[i];
        double back[3], weighed[3];

        times(k->u.weight, k->u.off, weighed);
        for (int c = 0; c < 3; c++) {
            back[c] = weighed[c];
            for (int j = 0; j < SIZE; j++)
                back[c] += k->u.gain[3 * j + c] * l[j];
        }
        for (int c = 0; c < 3; c++)
            l[c] -= back[c];
        for (int c = 0; c < 3; c++) {
            u[3 * i + c] = k->x[c];
            for (int j = 0; j < SIZE; j++)
                u[3 * i + c] -= k->p[c * SIZE + j] * l[j];
        }
        for (int c = 0; c < 3; c++) /* F^T */
            l[3 + c] += t->step * l[c];
    }
}

bool drone_filter(const DroneTrack *t, double jerk, bool causal, double *u)
{
    Kept *kept = causal ? NULL : malloc((size_t)t->n * sizeof *kept), one;
    Filter f;

    if (!causal && !kept)
        return false;
    open_filter(&f, PARTS, t->step, jerk);
    for (ptrdiff_t i = 0; i < t->n; i++) {
        Kept *k = kept ? &kept[i] : &one;

        if (i > 0)
            predict(&f);
        memcpy(k->x, f.x, sizeof k->x);
        memcpy(k->p, f.p, sizeof k->p);
        update(&f, t->v + 3 * i, t->r + 9 * i, &k->u);
        memcpy(u + 3 * i, f.x, 3 * sizeof *u);
    }
    if (kept)
        smooth(t, kept, u);
    free(kept);
    return true;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

void drone_displacement(const double *u, int first, int n, double step, double *d)
{
    for (int k = 0; k < 3; k++) {
        const double *at = u + 3 * (ptrdiff_t)first + k;
        double sum = 0.5 * (at[0] + at[3 * (n - 1)]);

        for (int i = 1; i < n - 1; i++)
            sum += at[3 * i];
        d[k] = step * sum;
    }
}

void drone_weighted_displacement(const DroneTrack *t, int first, int n, double *d)
{
    double information[9] = {0}, sum[3] = {0}, w[9], wv[3];

    for (ptrdiff_t i = first; i < first + n; i++) {
        drone_inverse(t->r + 9 * i, w);
        times(w, t->v + 3 * i, wv);
        for (int k = 0; k < 9; k++)
            information[k] += w[k];
        for (int k = 0; k < 3; k++)
            sum[k] += wv[k];
    }
    drone_inverse(information, w);
    times(w, sum, d);
    for (int k = 0; k < 3; k++)
        d[k] *= (n - 1) * t->step;
}

void drone_window_filter(const DroneTrack *t, int first, int n, double jerk, double *d, double *c)
{
    Filter f;
    Update u;

    open_filter(&f, 3, t->step, jerk);
    for (ptrdiff_t i = 0; i < n; i++) {
        if (i > 0)
            predict(&f);
        update(&f, t->v + 3 * (first + i), t->r + 9 * (first + i), &u);
    }
    memcpy(d, f.x, 3 * sizeof *d);
    for (int i = 0; i < 3; i++)
        memcpy(c + 3 * i, f.p + (ptrdiff_t)i * f.size, 3 * sizeof *c);
}
