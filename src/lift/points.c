/* points.c -- farthest points, nearest points and groups. See kit/points.h. */
#include "kit/points.h"

#include <math.h>
#include <string.h>

/* A Cloud holds the coordinates one axis after the other, so that loops over points vectorise, and a distance
 * for each point. */
typedef struct Cloud {
    ptrdiff_t n;
    double *x, *y, *z, *near, *work;
} Cloud;

/* `single` rounds coordinates to f32, as published kernels read them. */
static Cloud spread_out(ptrdiff_t n, const double *points, ptrdiff_t stride, bool single,
                        double *room)
{
    Cloud c = {n, room, room + n, room + 2 * n, room + 3 * n, room + 4 * n};

    for (ptrdiff_t i = 0; i < n; i++) {
        const double *p = points + i * stride;

        c.x[i] = single ? (double)(float)p[0] : p[0];
        c.y[i] = single ? (double)(float)p[1] : p[1];
        c.z[i] = single ? (double)(float)p[2] : p[2];
    }
    return c;
}

/* ---- farthest ---------------------------------------------------------------------------------------------------- */

static ptrdiff_t farthest_from_mean(const Cloud *c)
{
    double m[3] = {0, 0, 0}, most = -1;
    ptrdiff_t best = 0;

    for (ptrdiff_t i = 0; i < c->n; i++) {
        m[0] += c->x[i];
        m[1] += c->y[i];
        m[2] += c->z[i];
    }
    for (int a = 0; a < 3; a++)
        m[a] /= (double)c->n;
    for (ptrdiff_t i = 0; i < c->n; i++) {
        const double x = c->x[i] - m[0], y = c->y[i] - m[1], z = c->z[i] - m[2];
        const double d = x * x + y * y + z * z;

        if (d > most) {
            most = d;
            best = i;
        }
    }
    return best;
}

/* Updates near[i], the squared distance of i from the nearest chosen point, after `last` was chosen. */
static void come_nearer(const Cloud *c, ptrdiff_t last)
{
    const double x0 = c->x[last], y0 = c->y[last], z0 = c->z[last];

    for (ptrdiff_t i = 0; i < c->n; i++) {
        const double x = c->x[i] - x0, y = c->y[i] - y0, z = c->z[i] - z0;
        const double d = x * x + y * y + z * z;

        c->near[i] = d < c->near[i] ? d : c->near[i];
    }
}

static ptrdiff_t largest(const Cloud *c)
{
    ptrdiff_t best = 0;

    for (ptrdiff_t i = 1; i < c->n; i++)
        best = c->near[i] > c->near[best] ? i : best;
    return best;
}

static void farthest(const Cloud *c, int count, int32_t *out)
{
    ptrdiff_t last = farthest_from_mean(c);

    for (ptrdiff_t i = 0; i < c->n; i++)
        c->near[i] = HUGE_VAL;
    for (int j = 0; j < count; j++) {
        out[j] = (int32_t)last;
        come_nearer(c, last);
        last = largest(c);
    }
}

/* ---- farthest, as published: float arithmetic, in the order of a block of GPU threads --------------------------- */

static bool qualifies(const Cloud *c, ptrdiff_t i)
{
    const float x = (float)c->x[i], y = (float)c->y[i], z = (float)c->z[i];

    return x * x + y * y + z * z > 1e-3F;
}

static void come_nearer_published(const Cloud *c, ptrdiff_t last)
{
    for (ptrdiff_t i = 0; i < c->n; i++) {
        const float x = (float)c->x[i] - (float)c->x[last], y = (float)c->y[i] - (float)c->y[last],
                    z = (float)c->z[i] - (float)c->z[last];
        const double d = (double)(x * x + y * y + z * z);

        if (qualifies(c, i) && d < c->near[i])
            c->near[i] = d;
    }
}

/* Emulates a block of threads: thread t reads the points t, t + block, ...; on ties the lowest thread wins.
 * Returns 0 if there is no point. */
static ptrdiff_t largest_published(const Cloud *c)
{
    ptrdiff_t block = 1, best = -1;

    while (2 * block <= c->n && block < 512)
        block *= 2;
    for (ptrdiff_t t = 0; t < block && t < c->n; t++)
        for (ptrdiff_t i = t; i < c->n; i += block)
            if (qualifies(c, i) && (best < 0 || c->near[i] > c->near[best]))
                best = i;
    return best < 0 ? 0 : best;
}

static void farthest_published(const Cloud *c, int count, int32_t *out)
{
    ptrdiff_t last = 0;

    for (ptrdiff_t i = 0; i < c->n; i++)
        c->near[i] = 1e10;
    for (int j = 0; j < count; j++) {
        out[j] = (int32_t)last;
        come_nearer_published(c, last);
        last = largest_published(c);
    }
}

static void choose(const Cloud *c, int count, const RelnGroupRule *rule, int32_t *out)
{
    if (rule->published)
        farthest_published(c, count, out);
    else
        farthest(c, count, out);
}

void reln_points_farthest(ptrdiff_t n, const double *points, ptrdiff_t stride, int count,
                          const RelnGroupRule *rule, double *room, int32_t *out)
{
    const Cloud c = spread_out(n, points, stride, rule->published, room);

    choose(&c, count, rule, out);
}

/* ---- nearest ------------------------------------------------------------------------------------------------------ */

static void distances(const Cloud *c, const double at[3], bool single)
{
    for (ptrdiff_t i = 0; i < c->n; i++) {
        const double x = c->x[i] - at[0], y = c->y[i] - at[1], z = c->z[i] - at[2];

        c->near[i] = x * x + y * y + z * z;
    }
    for (ptrdiff_t i = 0; i < c->n && single; i++) {
        const float x = (float)c->x[i] - (float)at[0], y = (float)c->y[i] - (float)at[1],
                    z = (float)c->z[i] - (float)at[2];

        c->near[i] = (double)(x * x + y * y + z * z);
    }
}

/* Inserts a point into a list of the k nearest. On ties, the point that comes later goes behind. */
static void nearest(const Cloud *c, const double at[3], int k, bool single, int32_t *out)
{
    double *best = c->work;
    int count = 0;

    distances(c, at, single);
    for (ptrdiff_t i = 0; i < c->n; i++) {
        const double d = c->near[i];
        int j;

        if (count == k && !(d < best[k - 1]))
            continue;
        j = count < k ? count++ : k - 1;
        for (; j > 0 && d < best[j - 1]; j--) {
            best[j] = best[j - 1];
            out[j] = out[j - 1];
        }
        best[j] = d;
        out[j] = (int32_t)i;
    }
}

void reln_points_nearest(ptrdiff_t n, const double *points, ptrdiff_t stride, const double at[3],
                         int k, const RelnGroupRule *rule, double *room, int32_t *out)
{
    const Cloud c = spread_out(n, points, stride, rule->published, room);

    nearest(&c, at, k, rule->published, out);
}

void reln_points_group(ptrdiff_t n, const double *points, ptrdiff_t stride, int groups, int k,
                       const RelnGroupRule *rule, double *room, int32_t *centres, int32_t *members)
{
    const Cloud c = spread_out(n, points, stride, rule->published, room);

    choose(&c, groups, rule, centres);
    for (int g = 0; g < groups; g++) {
        const double at[3] = {c.x[centres[g]], c.y[centres[g]], c.z[centres[g]]};

        nearest(&c, at, k, rule->published, members + (ptrdiff_t)g * k);
    }
}
