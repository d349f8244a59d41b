/* rotation.c -- rotations as vectors, quaternions and matrices. */
#include <math.h>

#include "tasks/bch/bch.h"

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double *a, const double *b, double *out)
{
    const double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                         a[0] * b[1] - a[1] * b[0]};

    for (int i = 0; i < 3; i++)
        out[i] = c[i];
}

/* sin(t)/t */
static double sinc(double t)
{
    return fabs(t) < 1e-4 ? 1 - t * t / 6 : sin(t) / t;
}

/* (cos t/2, sin(t/2) v/t), t = |v|: real part first */
static void quaternion(const double *v, double *q)
{
    const double half = sqrt(dot(v, v)) / 2;

    q[0] = cos(half);
    for (int i = 0; i < 3; i++)
        q[1 + i] = sinc(half) / 2 * v[i];
}

/* p q = (p0 q0 - p.q, p0 q + q0 p + p x q), and its logarithm with the real part made positive */
void bch_exact(const double *a, const double *b, double *out)
{
    double p[4], q[4], v[3], w, length, factor;

    quaternion(a, p);
    quaternion(b, q);
    w = p[0] * q[0] - dot(p + 1, q + 1);
    cross(p + 1, q + 1, v);
    for (int i = 0; i < 3; i++)
        v[i] += p[0] * q[1 + i] + q[0] * p[1 + i];
    length = sqrt(dot(v, v));
    factor = length > 0 ? 2 * atan2(length, fabs(w)) / length : 2;
    for (int i = 0; i < 3; i++)
        out[i] = w < 0 ? -factor * v[i] : factor * v[i];
}

/* a + b + [a,b]/2 + ([a,[a,b]] + [b,[b,a]])/12 + ... */
void bch_series(int order, const double *a, const double *b, double *out)
{
    double ab[3], aab[3], bab[3];

    cross(a, b, ab);
    cross(a, ab, aab);
    cross(b, ab, bab);
    for (int i = 0; i < 3; i++)
        out[i] =
            a[i] + b[i] + (order > 1 ? ab[i] / 2 : 0) + (order > 2 ? (aab[i] - bab[i]) / 12 : 0);
}

/* 1 + s V + c V^2, s = sin(t)/t, c = (1 - cos t)/t^2 = sinc(t/2)^2 / 2, V = hat(v); V^2 = v v^T - t^2 */
void bch_rotation(const double *v, double *r)
{
    const double t = sqrt(dot(v, v)), s = sinc(t), c = sinc(t / 2) * sinc(t / 2) / 2;
    const double hat[9] = {0, -v[2], v[1], v[2], 0, -v[0], -v[1], v[0], 0};

    for (int i = 0; i < 9; i++)
        r[i] = s * hat[i] + c * v[i / 3] * v[i % 3] + (i / 3 == i % 3 ? 1 - c * t * t : 0);
}

double bch_distance(const double *r, const double *s)
{
    double sum = 0;

    for (int i = 0; i < 9; i++)
        sum += (r[i] - s[i]) * (r[i] - s[i]);
    return sqrt(sum);
}

/* |R - S|^2 = 8 sin^2(t/2): accurate for small angles, where the trace is not */
double bch_angle(const double *r, const double *s)
{
    return 2 * asin(fmin(1, bch_distance(r, s) / sqrt(8)));
}

void bch_draw(RelnRng *rng, double *v)
{
    double length, angle;

    for (int i = 0; i < 3; i++)
        v[i] = reln_rng_uniform(rng);
    length = sqrt(dot(v, v));
    angle = (acos(-1) - 1e-6) * reln_rng_uniform(rng);
    for (int i = 0; i < 3; i++)
        v[i] *= length > 0 ? angle / length : 0;
}

/* Four normal numbers are a quaternion of uniform direction; 2 atan2 of it gives its vector. */
void bch_frame(RelnRng *rng, double *r)
{
    double q[4], v[3], length;

    for (int i = 0; i < 4; i++)
        q[i] = reln_rng_normal(rng);
    length = sqrt(dot(q + 1, q + 1));
    for (int i = 0; i < 3; i++)
        v[i] = 2 * atan2(length, q[0]) * q[1 + i] / length;
    bch_rotation(v, r);
}

void bch_turn(const double *r, const double *v, double *out)
{
    const double w[3] = {dot(r, v), dot(r + 3, v), dot(r + 6, v)};

    for (int i = 0; i < 3; i++)
        out[i] = w[i];
}
