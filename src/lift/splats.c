/* splats.c -- frames of point sets, splats as matrices, and splats made of points and meshes. See kit/points.h. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/sort.h"
#include "kit/points.h"
#include "reln/lift.h"
#include "tensor/linalg.h"

/* ---- eigenvalues of a symmetric 3 x 3 matrix ---------------------------------------------------------------------- */

/* One rotation of Jacobi's method in the plane (p, q), after which a[p][q] is 0. */
static void rotate_plane(double a[9], double V[9], int p, int q)
{
    const double apq = a[3 * p + q];
    const double theta = (a[4 * q] - a[4 * p]) / (2 * apq);
    const double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
    const double c = 1 / sqrt(t * t + 1), s = t * c;

    if (apq == 0)
        return;
    for (int i = 0; i < 3; i++) {
        const double x = a[3 * i + p], y = a[3 * i + q];

        a[3 * i + p] = c * x - s * y;
        a[3 * i + q] = s * x + c * y;
    }
    for (int i = 0; i < 3; i++) {
        const double x = a[3 * p + i], y = a[3 * q + i];

        a[3 * p + i] = c * x - s * y;
        a[3 * q + i] = s * x + c * y;
    }
    for (int i = 0; i < 3; i++) {
        const double x = V[3 * i + p], y = V[3 * i + q];

        V[3 * i + p] = c * x - s * y;
        V[3 * i + q] = s * x + c * y;
    }
}

static void swap_columns(double w[3], double V[9], int i, int j)
{
    const double x = w[i];

    w[i] = w[j];
    w[j] = x;
    for (int r = 0; r < 3; r++) {
        const double y = V[3 * r + i];

        V[3 * r + i] = V[3 * r + j];
        V[3 * r + j] = y;
    }
}

/* Sets the third column to the cross product of the first two. */
static void complete_axes(double V[9])
{
    for (int r = 0; r < 3; r++) {
        const int a = (r + 1) % 3, b = (r + 2) % 3;

        V[3 * r + 2] = V[3 * a] * V[3 * b + 1] - V[3 * b] * V[3 * a + 1];
    }
}

void reln_eigen3(const double a[9], double w[3], double V[9])
{
    enum { SWEEPS = 12 }; /* six are enough for doubles */
    double m[9];

    memcpy(m, a, sizeof m);
    reln_mat_identity(3, V);
    for (int sweep = 0; sweep < SWEEPS && (m[1] != 0 || m[2] != 0 || m[5] != 0); sweep++) {
        rotate_plane(m, V, 0, 1);
        rotate_plane(m, V, 0, 2);
        rotate_plane(m, V, 1, 2);
    }
    for (int i = 0; i < 3; i++)
        w[i] = m[4 * i];
    if (w[0] < w[1])
        swap_columns(w, V, 0, 1);
    if (w[1] < w[2])
        swap_columns(w, V, 1, 2);
    if (w[0] < w[1])
        swap_columns(w, V, 0, 1);
    complete_axes(V);
}

/* ---- frames ------------------------------------------------------------------------------------------------------- */

static void mean_of(ptrdiff_t n, const double *points, ptrdiff_t stride, double m[3])
{
    m[0] = m[1] = m[2] = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        for (int a = 0; a < 3; a++)
            m[a] += points[i * stride + a] / (double)n;
}

double reln_points_normalise(ptrdiff_t n, double *points, ptrdiff_t stride)
{
    double m[3], most = 0;

    mean_of(n, points, stride, m);
    for (ptrdiff_t i = 0; i < n; i++) {
        double *p = points + i * stride;

        for (int a = 0; a < 3; a++)
            p[a] -= m[a];
        most = fmax(most, sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]));
    }
    for (ptrdiff_t i = 0; i < n && most > 0; i++)
        for (int a = 0; a < 3; a++)
            points[i * stride + a] /= most;
    return most;
}

/* Computes the covariance of the points with the given indices (NULL: all) about their mean. */
static void covariance_of(ptrdiff_t n, const double *points, ptrdiff_t stride, const int32_t *which,
                          double m[3], double out[9])
{
    m[0] = m[1] = m[2] = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        for (int a = 0; a < 3; a++)
            m[a] += points[(which ? which[i] : i) * stride + a] / (double)n;
    memset(out, 0, 9 * sizeof *out);
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *p = points + (which ? which[i] : i) * stride;
        const double d[3] = {p[0] - m[0], p[1] - m[1], p[2] - m[2]};

        for (int e = 0; e < 9; e++)
            out[e] += d[e / 3] * d[e % 3] / (double)n;
    }
}

void reln_points_principal(ptrdiff_t n, const double *points, ptrdiff_t stride, double R[9])
{
    double m[3], S[9], w[3], V[9], third[2] = {0, 0};

    covariance_of(n, points, stride, NULL, m, S);
    reln_eigen3(S, w, V);
    for (ptrdiff_t i = 0; i < n; i++)
        for (int a = 0; a < 2; a++) {
            double t = 0;

            for (int r = 0; r < 3; r++)
                t += V[3 * r + a] * (points[i * stride + r] - m[r]);
            third[a] += t * t * t;
        }
    for (int a = 0; a < 2; a++)
        for (int r = 0; r < 3 && third[a] < 0; r++)
            V[3 * r + a] = -V[3 * r + a];
    complete_axes(V);
    reln_mat_transpose(3, 3, V, R);
}

static void rotation_of(const double q[4], double R[9])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double rows[9] = {
        1 - 2 * (y * y + z * z), 2 * (x * y - z * w),     2 * (x * z + y * w),
        2 * (x * y + z * w),     1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
        2 * (x * z - y * w),     2 * (y * z + x * w),     1 - 2 * (x * x + y * y)};

    memcpy(R, rows, sizeof rows);
}

/* Draws a uniformly distributed direction from normal numbers. Four of them, as a quaternion, are a uniformly
 * distributed rotation. */
static void direction(RelnRng *rng, int n, double *v)
{
    double norm = 0;

    while (!(norm > 1e-6)) {
        norm = 0;
        for (int i = 0; i < n; i++) {
            v[i] = reln_rng_normal(rng);
            norm += v[i] * v[i];
        }
        norm = sqrt(norm);
    }
    for (int i = 0; i < n; i++)
        v[i] /= norm;
}

void reln_rotation_random(RelnRng *rng, bool upright, double R[9])
{
    double q[4] = {1, 0, 0, 0};

    if (upright) {
        const double half = acos(-1.0) * reln_rng_uniform(rng);
        q[0] = cos(half);
        q[3] = sin(half);
    } else {
        direction(rng, 4, q);
    }
    rotation_of(q, R);
}

void reln_rotation_about(RelnRng *rng, double angle, double R[9])
{
    double axis[3], q[4] = {cos(angle / 2), 0, 0, 0};

    direction(rng, 3, axis);
    for (int a = 0; a < 3; a++)
        q[1 + a] = sin(angle / 2) * axis[a];
    rotation_of(q, R);
}

/* ---- splats ------------------------------------------------------------------------------------------------------- */

void reln_splats_rotate(ptrdiff_t n, double *rows, const double R[9])
{
    double r[4];

    reln_readout_quaternion(1, R, r);
    for (ptrdiff_t i = 0; i < n; i++) {
        double *p = rows + i * RELN_SPLAT, *q = p + RELN_SPLAT_ROTATION;
        const double x[3] = {p[0], p[1], p[2]}, o[4] = {q[0], q[1], q[2], q[3]};
        double sign;

        for (int a = 0; a < 3; a++)
            p[a] = R[3 * a] * x[0] + R[3 * a + 1] * x[1] + R[3 * a + 2] * x[2];
        q[0] = r[0] * o[0] - r[1] * o[1] - r[2] * o[2] - r[3] * o[3];
        q[1] = r[0] * o[1] + r[1] * o[0] + r[2] * o[3] - r[3] * o[2];
        q[2] = r[0] * o[2] - r[1] * o[3] + r[2] * o[0] + r[3] * o[1];
        q[3] = r[0] * o[3] + r[1] * o[2] - r[2] * o[1] + r[3] * o[0];
        sign = q[0] < 0 ? -1 : 1;
        for (int a = 0; a < 4; a++)
            q[a] *= sign;
    }
}

void reln_splat_axes(const double *row, double R[9])
{
    rotation_of(row + RELN_SPLAT_ROTATION, R);
}

void reln_splat_log_covariance(const double *row, double least, double out[9])
{
    double R[9];

    reln_splat_axes(row, R);
    memset(out, 0, 9 * sizeof *out);
    for (int a = 0; a < 3; a++) {
        const double l = 2 * log(fmax(row[RELN_SPLAT_SCALE + a], least));

        for (int e = 0; e < 9; e++)
            out[e] += l * R[3 * (e / 3) + a] * R[3 * (e % 3) + a];
    }
}

/* ---- meshes ------------------------------------------------------------------------------------------------------- */

void reln_mesh_clear(RelnMesh *mesh)
{
    reln_free(mesh->ctx, mesh->vertices);
    reln_free(mesh->ctx, mesh->triangles);
    *mesh = (RelnMesh){.ctx = mesh->ctx};
}

static double area_of(const RelnMesh *mesh, ptrdiff_t t)
{
    const int32_t *v = mesh->triangles + 3 * t;
    const double *a = mesh->vertices + 3 * (ptrdiff_t)v[0];
    double u[3], w[3], sum = 0;

    for (int i = 0; i < 3; i++) {
        u[i] = mesh->vertices[3 * (ptrdiff_t)v[1] + i] - a[i];
        w[i] = mesh->vertices[3 * (ptrdiff_t)v[2] + i] - a[i];
    }
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        const double n = u[j] * w[k] - u[k] * w[j];

        sum += n * n;
    }
    return sqrt(sum) / 2;
}

/* Returns the first triangle at which the accumulated area exceeds `share`. A triangle without area is never
 * chosen. */
static ptrdiff_t triangle_at(ptrdiff_t n, const double *sums, double share)
{
    ptrdiff_t low = 0, high = n - 1;

    while (low < high) {
        const ptrdiff_t middle = low + (high - low) / 2;

        if (sums[middle] > share)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

RelnStatus reln_mesh_sample(const RelnMesh *mesh, RelnRng *rng, ptrdiff_t n, double *room,
                            double *points)
{
    double sum = 0;

    for (ptrdiff_t t = 0; t < mesh->n_triangles; t++)
        room[t] = sum += area_of(mesh, t);
    if (!(sum > 0) || !isfinite(sum))
        return reln_fail(mesh->ctx, RELN_ERR_NUMERIC,
                         "a mesh of %td triangles has the area %g; wanted a positive one",
                         mesh->n_triangles, sum);
    for (ptrdiff_t i = 0; i < n; i++) {
        const ptrdiff_t t = triangle_at(mesh->n_triangles, room, sum * reln_rng_uniform(rng));
        const double root = sqrt(reln_rng_uniform(rng)), other = reln_rng_uniform(rng);
        const double weight[3] = {1 - root, root * (1 - other), root * other};

        for (int a = 0; a < 3; a++) {
            points[3 * i + a] = 0;
            for (int c = 0; c < 3; c++)
                points[3 * i + a] +=
                    weight[c] * mesh->vertices[3 * (ptrdiff_t)mesh->triangles[3 * t + c] + a];
        }
    }
    return RELN_OK;
}

/* ---- points to splats --------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Chooses the signs of two axes so that their largest component is positive. The choice depends on the frame,
 * but a covariance does not depend on the signs. */
static void fix_signs(double V[9])
{
    for (int c = 0; c < 2; c++) {
        int most = 0;

        for (int r = 1; r < 3; r++)
            most = fabs(V[3 * r + c]) > fabs(V[3 * most + c]) ? r : most;
        for (int r = 0, flip = V[3 * most + c] < 0; r < 3 && flip; r++)
            V[3 * r + c] = -V[3 * r + c];
    }
    complete_axes(V);
}

static void fill_splat(double least, RelnRng *rng, double *row)
{
    double *s = row + RELN_SPLAT_SCALE, sum = 0, round;

    for (int a = 0; a < 3; a++) {
        s[a] = fmax(s[a], least);
        sum += s[a] * s[a];
    }
    round = sum > 0 ? fmin(1, 3 * s[2] * s[2] / sum) : 1;
    row[RELN_SPLAT_OPACITY] = 0.95 - 0.5 * round;
    for (int a = 0; a < 3; a++)
        row[RELN_SPLAT_COLOUR + a] =
            (0.2 - 0.3 * round + 0.05 * reln_rng_normal(rng)) / RELN_SPLAT_C0;
}

void reln_points_to_splats(ptrdiff_t n, const double *points, ptrdiff_t stride, int k,
                           ptrdiff_t n_chosen, const int32_t *chosen, RelnRng *rng, double *room,
                           double *rows)
{
    double *middle = room + RELN_POINTS_ROOM(n);
    int32_t near[RELN_SPLATS_NEAR];

    for (ptrdiff_t i = 0; i < n_chosen; i++) {
        const double *point = points + (chosen ? chosen[i] : i) * stride;
        double *row = rows + i * RELN_SPLAT, m[3], S[9], w[3], V[9];

        reln_points_nearest(n, points, stride, point, k, &(RelnGroupRule){0}, room, near);
        covariance_of(k, points, stride, near, m, S);
        reln_eigen3(S, w, V);
        fix_signs(V);
        memcpy(row, point, 3 * sizeof *row);
        for (int a = 0; a < 3; a++)
            row[RELN_SPLAT_SCALE + a] = sqrt(fmax(w[a], 0));
        reln_readout_quaternion(1, V, row + RELN_SPLAT_ROTATION);
        middle[i] = row[RELN_SPLAT_SCALE + 1];
    }
    reln_sort(middle, (size_t)n_chosen, sizeof *middle, ascending);
    for (ptrdiff_t i = 0; i < n_chosen; i++)
        fill_splat(fmax(0.1 * middle[n_chosen / 2], 1e-12), rng, rows + i * RELN_SPLAT);
}
