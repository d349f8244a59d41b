/* data.c -- the solids, their edges, and the homographies between adjacent faces. */
#include <math.h>
#include <string.h>

#include "tasks/platonic/platonic.h"

enum { MAX_VERTICES = 12 };

typedef struct Vec {
    double x, y, z;
} Vec;

typedef struct Solid {
    int n;
    Vec v[MAX_VERTICES];
    double edge2; /* squared length of an edge */
} Solid;

static Vec add(Vec a, Vec b)
{
    return (Vec){a.x + b.x, a.y + b.y, a.z + b.z};
}

static Vec sub(Vec a, Vec b)
{
    return (Vec){a.x - b.x, a.y - b.y, a.z - b.z};
}

static double dot(Vec a, Vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static Vec cross(Vec a, Vec b)
{
    return (Vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/* ---- solids, centred at 0 ---------------------------------------------------------------------------------------- */

static Solid octahedron(void)
{
    return (Solid){6, {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}}, 2};
}

static Solid tetrahedron(void)
{
    return (Solid){4, {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}}, 8};
}

/* (±1, ±phi, 0) and its cyclic permutations */
static Solid icosahedron(void)
{
    const double phi = (1 + sqrt(5)) / 2;
    Solid s = {.n = 12, .edge2 = 4};

    for (int i = 0; i < 4; i++) {
        const double a = i & 1 ? -1 : 1, b = i & 2 ? -phi : phi;
        s.v[3 * i] = (Vec){a, b, 0};
        s.v[3 * i + 1] = (Vec){0, a, b};
        s.v[3 * i + 2] = (Vec){b, 0, a};
    }
    return s;
}

static bool adjacent(const Solid *s, int i, int j)
{
    const Vec d = sub(s->v[i], s->v[j]);

    return fabs(dot(d, d) - s->edge2) < 1e-9 * s->edge2;
}

/* The faces are the triples of mutually adjacent vertices; an edge i -> j belongs to two of them. The left
 * one is the face whose normal (v_j - v_i) x (v_k - v_i) points outwards. */
static void third_vertices(const Solid *s, int i, int j, int *left, int *right)
{
    for (int k = 0; k < s->n; k++)
        if (k != i && k != j && adjacent(s, i, k) && adjacent(s, j, k)) {
            const Vec normal = cross(sub(s->v[j], s->v[i]), sub(s->v[k], s->v[i]));
            *(dot(normal, s->v[k]) > 0 ? left : right) = k;
        }
}

/* ---- homographies ------------------------------------------------------------------------------------------------ */

static double det3(const double *m)
{
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
           m[2] * (m[3] * m[7] - m[4] * m[6]);
}

/* adj(m): m adj(m) = det(m) I */
static void adjugate(const double *m, double *out)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
            out[3 * i + j] = m[3 * a + c] * m[3 * b + d] - m[3 * a + d] * m[3 * b + c];
        }
}

static void multiply(const double *a, const double *b, double *out)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

/* A = [l1 p1, l2 p2, l3 p3] with A (1,1,1) = p4: it maps the projective frame e1, e2, e3, e1+e2+e3 to the
 * points. */
static bool frame_of(const double p[4][2], double *A)
{
    const double P[9] = {p[0][0], p[1][0], p[2][0], p[0][1], p[1][1], p[2][1], 1, 1, 1};
    double inverse[9];

    adjugate(P, inverse);
    for (int j = 0; j < 3; j++) {
        const double l =
            inverse[3 * j] * p[3][0] + inverse[3 * j + 1] * p[3][1] + inverse[3 * j + 2];
        for (int i = 0; i < 3; i++)
            A[3 * i + j] = l * P[3 * i + j];
    }
    return det3(A) != 0;
}

/* Four points determine H up to its scale, so this equals the null vector that the direct linear transform
 * finds. */
bool platonic_homography(const double from[4][2], const double to[4][2], double h[9])
{
    double A[9], B[9], inverse[9];

    if (!frame_of(from, A) || !frame_of(to, B))
        return false;
    adjugate(A, inverse);
    multiply(B, inverse, h);
    const double scale = cbrt(det3(h));
    for (int i = 0; i < 9; i++)
        h[i] /= scale;
    return true;
}

RelnStatus platonic_log(RelnCtx *ctx, const double *h, double *log, bool *halved)
{
    double square[9];
    RelnStatus status = reln_matrix_log(ctx, 3, h, log);

    *halved = status == RELN_ERR_NUMERIC;
    if (!*halved)
        return status;
    reln_ctx_clear(ctx);
    multiply(h, h, square);
    status = reln_matrix_log(ctx, 3, square, log);
    for (int i = 0; i < 9; i++)
        log[i] /= 2;
    return status;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

/* The camera is at the origin, the image plane is z = 1. */
static void project(Vec p, double out[2])
{
    const Vec seen = add(p, (Vec){5, 3, 10});

    out[0] = seen.x / seen.z;
    out[1] = seen.y / seen.z;
}

static void project_all(const Vec *p, const int which[4], double out[4][2])
{
    for (int i = 0; i < 4; i++)
        project(p[which[i]], out[i]);
}

/* Computes the three homographies of an edge: from the left face, completed to a parallelogram, to the right
 * face's in the three ways that it can be turned. p1..p8 are p[0]..p[7]. */
static bool edge_homographies(const Solid *s, int i, int j, double h[PLATONIC_CHANNELS][9])
{
    static const int from[4] = {0, 1, 4, 2};
    static const int to[PLATONIC_CHANNELS][4] = {{0, 3, 5, 1}, {1, 0, 6, 3}, {3, 1, 7, 0}};
    double a[4][2], b[4][2];
    int left = i, right = i;

    third_vertices(s, i, j, &left, &right);
    const Vec p1 = s->v[i], p2 = s->v[j], p3 = s->v[left], p4 = s->v[right];
    const Vec p[8] = {p1,
                      p2,
                      p3,
                      p4,
                      sub(add(p2, p3), p1),
                      sub(add(p2, p4), p1),
                      sub(add(p4, p1), p2),
                      sub(add(p1, p2), p4)};
    project_all(p, from, a);
    for (int c = 0; c < PLATONIC_CHANNELS; c++) {
        project_all(p, to[c], b);
        if (!platonic_homography((const double(*)[2])a, (const double(*)[2])b, h[c]))
            return false;
    }
    return true;
}

/* Computes logarithms and coordinates of the homographies of element e. */
static RelnStatus complete(const RelnAlgebra *sl3, PlatonicElements *out, int e)
{
    for (int c = 0; c < PLATONIC_CHANNELS; c++) {
        double x[PLATONIC_K];
        bool halved;
        TRY(platonic_log(reln_algebra_ctx(sl3), out->h[e][c], out->log[e][c], &halved));
        reln_algebra_vee(sl3, out->log[e][c], x);
        for (int k = 0; k < PLATONIC_K; k++)
            out->x[e][k][c] = x[k];
        out->n_halved += halved;
    }
    return RELN_OK;
}

RelnStatus platonic_elements(const RelnAlgebra *sl3, PlatonicElements *out)
{
    const Solid solids[PLATONIC_CLASSES] = {octahedron(), icosahedron(), tetrahedron()};
    int e = 0;

    memset(out, 0, sizeof *out);
    for (int c = 0; c < PLATONIC_CLASSES; c++) {
        for (int i = 0; i < solids[c].n; i++)
            for (int j = 0; j < solids[c].n; j++)
                if (adjacent(&solids[c], i, j)) {
                    if (!edge_homographies(&solids[c], i, j, out->h[e]))
                        return RELN_ERR_NUMERIC;
                    TRY(complete(sl3, out, e++));
                }
        out->first[c + 1] = e;
    }
    return RELN_OK;
}

void platonic_draw(const PlatonicElements *elements, RelnRng *rng, ptrdiff_t n, int32_t *labels,
                   int32_t *which)
{
    for (ptrdiff_t s = 0; s < n; s++) {
        const int c = (int)reln_rng_below(rng, PLATONIC_CLASSES), first = elements->first[c];
        labels[s] = c;
        for (int i = 0; i < PLATONIC_SET; i++)
            which[s * PLATONIC_SET + i] =
                (int32_t)(first +
                          (int)reln_rng_below(rng, (uint64_t)(elements->first[c + 1] - first)));
    }
}

/* ---- rotations --------------------------------------------------------------------------------------------------- */

/* The rotation of a unit quaternion; four normal numbers give a uniform quaternion, and so a Haar
 * rotation. */
static void from_quaternion(const double *q, double *R)
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double rows[9] = {
        1 - 2 * (y * y + z * z), 2 * (x * y - z * w),     2 * (x * z + y * w),
        2 * (x * y + z * w),     1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
        2 * (x * z - y * w),     2 * (y * z + x * w),     1 - 2 * (x * x + y * y)};

    memcpy(R, rows, sizeof rows);
}

static void haar(RelnRng *rng, double *R)
{
    double q[4], norm = 0;

    for (int i = 0; i < 4; i++) {
        q[i] = reln_rng_normal(rng);
        norm += q[i] * q[i];
    }
    for (int i = 0; i < 4; i++)
        q[i] /= sqrt(norm);
    from_quaternion(q, R);
}

/* R = Rz(a) Ry(b) Rx(c) with angles from [0, 2 pi / 0.174533): nearly six turns; the published code probably
 * intended ten degrees. */
static void euler_angles(RelnRng *rng, double *R)
{
    double turn[3][9], zy[9];

    for (int i = 0; i < 3; i++) {
        const double half = acos(-1) / 0.174533 * reln_rng_uniform(rng);
        double q[4] = {cos(half), 0, 0, 0};
        q[3 - i] = sin(half);
        from_quaternion(q, turn[i]);
    }
    multiply(turn[0], turn[1], zy);
    multiply(zy, turn[2], R);
}

RelnStatus platonic_rotation(const RelnAlgebra *sl3, RelnRng *rng, bool euler, double *ad)
{
    double R[9];

    if (euler)
        euler_angles(rng, R);
    else
        haar(rng, R);
    return reln_algebra_adjoint(sl3, R, ad);
}

void platonic_rotate(const double *ad, const PlatonicElements *elements,
                     double x[PLATONIC_ELEMENTS][PLATONIC_K][PLATONIC_CHANNELS])
{
    for (int e = 0; e < PLATONIC_ELEMENTS; e++)
        for (int k = 0; k < PLATONIC_K; k++)
            for (int c = 0; c < PLATONIC_CHANNELS; c++) {
                double sum = 0;
                for (int j = 0; j < PLATONIC_K; j++)
                    sum += ad[k * PLATONIC_K + j] * elements->x[e][j][c];
                x[e][k][c] = sum;
            }
}
