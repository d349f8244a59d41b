/* shapes.c -- ten classes of objects as five pairs of similar classes (twins), drawn by formulas.
 *
 * Twins consist of the same parts: they differ only in the arrangement (chair and desk, mug and bucket, linked and unlinked
 * rings), the handedness (helices) or the covariances of splats (discs and needles on an ellipsoid). Every object is mapped to
 * variances 1, r1, r2 of one distribution, so that sizes do not distinguish them.
 */
#include <math.h>
#include <string.h>

#include "tasks/splats/splats.h"

const char *const splats_class_names[SPLATS_CLASSES] = {
    "chair",        "desk",           "mug",   "bucket", "right helix", "left helix",
    "linked rings", "unlinked rings", "discs", "needles"};

enum { CHAIR, DESK, MUG, BUCKET, RIGHT, LEFT, LINKED, UNLINKED, DISCS, NEEDLES };

#define NEAR 8          /* points of a neighbourhood */
#define NOISE 0.005     /* standard deviation of positions */
#define SIZE 0.4        /* the largest standard deviation: most of an object is in the unit ball */
#define FLATNESS 0.5    /* log scales of a disc are a, a, -2a about their mean */
#define DISC_SCALE 0.05 /* the geometric mean of its scales */
#define FULL_TURN 6.28318530717958647692

static double between(RelnRng *rng, double low, double high)
{
    return low + (high - low) * reln_rng_uniform(rng);
}

/* Varies a size by up to 20 %. */
static double jitter(RelnRng *rng, double size)
{
    return size * between(rng, 0.8, 1.2);
}

/* ---- parts -------------------------------------------------------------------------------------------------------------- */

/* A Part is a box by its centre and half sides; a piece of a tube around an arc; a disc, or the side of a
 * cylinder. */
typedef struct Part {
    enum { BOX, ARC, SIDE, FLOOR } kind;
    double at[3], half[3]; /* ARC: half = {radius, tube, angle}; SIDE: {radius, height / 2} */
    double u[3], v[3];     /* ARC: the plane of the arc */
} Part;

enum { MOST_PARTS = 8 };
typedef struct Parts {
    int n;
    Part part[MOST_PARTS];
} Parts;

static double area_of(const Part *p)
{
    const double *h = p->half;

    switch (p->kind) {
    case BOX:
        return 8 * (h[0] * h[1] + h[1] * h[2] + h[2] * h[0]);
    case ARC:
        return FULL_TURN * h[1] * h[0] * h[2];
    case SIDE:
        return FULL_TURN * h[0] * 2 * h[1];
    case FLOOR:
        break;
    }
    return FULL_TURN / 2 * h[0] * h[0];
}

static void on_box(const Part *p, RelnRng *rng, double *x)
{
    const double *h = p->half;
    const double areas[3] = {h[1] * h[2], h[2] * h[0], h[0] * h[1]};
    double share = reln_rng_uniform(rng) * (areas[0] + areas[1] + areas[2]);
    const int face = share < areas[0] ? 0 : share < areas[0] + areas[1] ? 1 : 2;

    for (int a = 0; a < 3; a++)
        x[a] = p->at[a] + h[a] * between(rng, -1, 1);
    x[face] = p->at[face] + (reln_rng_uniform(rng) < 0.5 ? -1 : 1) * h[face];
}

static void on_arc(const Part *p, RelnRng *rng, double *x)
{
    const double t = p->half[2] * reln_rng_uniform(rng), w = between(rng, 0, FULL_TURN);
    const double r = p->half[0] + p->half[1] * cos(w), out = p->half[1] * sin(w);
    const double *u = p->u, *v = p->v;

    for (int a = 0; a < 3; a++) {
        const int b = (a + 1) % 3, c = (a + 2) % 3;

        x[a] = p->at[a] + r * (cos(t) * u[a] + sin(t) * v[a]) + out * (u[b] * v[c] - u[c] * v[b]);
    }
}

static void on_part(const Part *p, RelnRng *rng, double *x)
{
    const double t = between(rng, 0, FULL_TURN);

    if (p->kind == BOX) {
        on_box(p, rng, x);
    } else if (p->kind == ARC) {
        on_arc(p, rng, x);
    } else {
        const double r = p->half[0] * (p->kind == FLOOR ? sqrt(reln_rng_uniform(rng)) : 1);

        x[0] = p->at[0] + r * cos(t);
        x[1] = p->at[1] + r * sin(t);
        x[2] = p->at[2] + (p->kind == SIDE ? p->half[1] * between(rng, -1, 1) : 0);
    }
}

static void sample_parts(const Parts *parts, RelnRng *rng, int n, double *points)
{
    double sums[MOST_PARTS], sum = 0;

    for (int i = 0; i < parts->n; i++)
        sums[i] = sum += area_of(&parts->part[i]);
    for (int i = 0; i < n; i++) {
        const double share = sum * reln_rng_uniform(rng);
        int p = 0;

        while (p < parts->n - 1 && sums[p] <= share)
            p++;
        on_part(&parts->part[p], rng, points + 3 * i);
    }
}

static void add(Parts *parts, Part part)
{
    parts->part[parts->n++] = part;
}

/* ---- classes ------------------------------------------------------------------------------------------------------------- */

static void furniture(bool desk, RelnRng *rng, Parts *out)
{
    const double w = jitter(rng, 0.5), d = jitter(rng, 0.5), thick = jitter(rng, 0.04);
    const double leg = jitter(rng, 0.04), h = jitter(rng, 0.35), panel = jitter(rng, 0.3);

    add(out, (Part){.kind = BOX, .half = {w, d, thick}});
    for (int i = 0; i < 4; i++)
        add(out,
            (Part){.kind = BOX,
                   .at = {(i & 1 ? 1 : -1) * (w - leg), (i & 2 ? 1 : -1) * (d - leg), -thick - h},
                   .half = {leg, leg, h}});
    add(out, (Part){.kind = BOX,
                    .at = {0, desk ? 0 : thick - d, (desk ? -1 : 1) * (thick + panel)},
                    .half = {w, thick, panel}});
}

static void vessel(bool bucket, RelnRng *rng, Parts *out)
{
    const double r = jitter(rng, 0.5), h = jitter(rng, 0.5), handle = 0.8 * r;
    const double tube = jitter(rng, 0.06);
    Part arc = {.kind = ARC, .half = {handle, tube, FULL_TURN / 2}};

    add(out, (Part){.kind = SIDE, .half = {r, h}});
    add(out, (Part){.kind = FLOOR, .at = {0, 0, -h}, .half = {r}});
    arc.at[bucket ? 2 : 0] = bucket ? h : r;
    arc.u[bucket ? 0 : 2] = bucket ? 1 : -1;
    arc.v[bucket ? 2 : 0] = 1;
    add(out, arc);
}

static void rings(bool linked, RelnRng *rng, Parts *out)
{
    const double r = jitter(rng, 0.5), distance = jitter(rng, 0.45), tube = jitter(rng, 0.07);
    Part one = {.kind = ARC, .half = {r, tube, FULL_TURN}, .u = {1, 0, 0}, .v = {0, 1, 0}};
    Part two = one;

    two.half[0] = jitter(rng, 0.5);
    two.at[linked ? 0 : 2] = distance;
    if (linked) {
        two.v[1] = 0;
        two.v[2] = 1;
    }
    add(out, one);
    add(out, two);
}

/* Left helices are mirror images of right ones, of the same distribution. */
static void helix(bool left, RelnRng *rng, int n, double *points)
{
    const double turns = between(rng, 2, 3.5), r = jitter(rng, 0.5),
                 tube = between(rng, 0.08, 0.15);
    const double rise = jitter(rng, 1.6) / (turns * FULL_TURN), slope = sqrt(r * r + rise * rise);

    for (int i = 0; i < n; i++) {
        const double t = turns * FULL_TURN * reln_rng_uniform(rng), w = between(rng, 0, FULL_TURN);
        const double c = cos(t), s = sin(t), a = tube * cos(w), b = tube * sin(w) / slope;

        points[3 * i] = (r - a) * c + b * rise * s;
        points[3 * i + 1] = ((r - a) * s - b * rise * c) * (left ? -1 : 1);
        points[3 * i + 2] = rise * t + b * r;
    }
}

/* ---- the whole ------------------------------------------------------------------------------------------------------------- */

/* Computes the symmetric map that gives the points variances in the ratios 1, r1, r2, and their mean, which
 * becomes 0. */
static void equalise(RelnRng *rng, int n, const double *points, double mean[3], double A[9])
{
    const double want[3] = {1, between(rng, 0.55, 0.95), between(rng, 0.55, 0.95)};
    double S[9] = {0}, w[3], V[9];

    memset(mean, 0, 3 * sizeof *mean);
    for (int i = 0; i < 3 * n; i++)
        mean[i % 3] += points[i] / n;
    for (int i = 0; i < n; i++)
        for (int e = 0; e < 9; e++)
            S[e] +=
                (points[3 * i + e / 3] - mean[e / 3]) * (points[3 * i + e % 3] - mean[e % 3]) / n;
    reln_eigen3(S, w, V);
    memset(A, 0, 9 * sizeof *A);
    for (int a = 0; a < 3; a++)
        for (int e = 0; e < 9; e++)
            A[e] += sqrt(want[a] / w[a]) * V[3 * (e / 3) + a] * V[3 * (e % 3) + a];
}

static void apply(const double A[9], const double x[3], double out[3])
{
    for (int a = 0; a < 3; a++)
        out[a] = A[3 * a] * x[0] + A[3 * a + 1] * x[1] + A[3 * a + 2] * x[2];
}

/* Makes discs tangential to the ellipsoid, or needles across it whose log scales are the negatives about the
 * mean. `normal` is that of the surface, of any length. */
static void disc(bool needle, const double normal[3], double *row)
{
    const double a = needle ? -FLATNESS : FLATNESS;
    double V[9], w[3], N[9], length = 0;

    for (int i = 0; i < 3; i++)
        length += normal[i] * normal[i];
    for (int e = 0; e < 9; e++)
        N[e] = normal[e / 3] * normal[e % 3] / length;
    reln_eigen3(N, w, V); /* the first axis is the normal */
    row[RELN_SPLAT_SCALE] = DISC_SCALE * exp(-2 * a);
    row[RELN_SPLAT_SCALE + 1] = row[RELN_SPLAT_SCALE + 2] = DISC_SCALE * exp(a);
    reln_readout_quaternion(1, V, row + RELN_SPLAT_ROTATION);
}

/* Draws opacity and colour from one distribution for all classes. */
static void paint(RelnRng *rng, int n, double *rows)
{
    for (int i = 0; i < n; i++) {
        double *row = rows + (ptrdiff_t)i * RELN_SPLAT;
        const double grey = between(rng, -0.2, 0.2);

        row[RELN_SPLAT_OPACITY] = between(rng, 0.5, 0.95);
        for (int a = 0; a < 3; a++)
            row[RELN_SPLAT_COLOUR + a] = (grey + 0.05 * reln_rng_normal(rng)) / RELN_SPLAT_C0;
    }
}

/* Draws points on an ellipsoid, and writes the directions of their normals to `rows`: D u and D^-1 u for u on
 * the sphere. */
static void ellipsoid(RelnRng *rng, int n, double *points, double *rows)
{
    const double axes[3] = {jitter(rng, 0.5), jitter(rng, 0.5), jitter(rng, 0.5)};

    for (int i = 0; i < n; i++) {
        double u[3], length = 0;

        for (int a = 0; a < 3; a++) {
            u[a] = reln_rng_normal(rng);
            length += u[a] * u[a];
        }
        for (int a = 0; a < 3; a++) {
            points[3 * i + a] = axes[a] * u[a] / sqrt(length);
            rows[(ptrdiff_t)i * RELN_SPLAT + a] = u[a] / axes[a];
        }
    }
}

static void inverse_of(const double A[9], double out[9]) /* of a symmetric matrix */
{
    double w[3], V[9];

    reln_eigen3(A, w, V);
    memset(out, 0, 9 * sizeof *out);
    for (int a = 0; a < 3; a++)
        for (int e = 0; e < 9; e++)
            out[e] += V[3 * (e / 3) + a] * V[3 * (e % 3) + a] / w[a];
}

static void draw_points(int label, RelnRng *rng, int n, double *points, double *rows)
{
    Parts parts = {0};

    if (label == CHAIR || label == DESK)
        furniture(label == DESK, rng, &parts);
    else if (label == MUG || label == BUCKET)
        vessel(label == BUCKET, rng, &parts);
    else if (label == LINKED || label == UNLINKED)
        rings(label == LINKED, rng, &parts);
    else if (label == RIGHT || label == LEFT)
        helix(label == LEFT, rng, n, points);
    else
        ellipsoid(rng, n, points, rows);
    if (parts.n > 0)
        sample_parts(&parts, rng, n, points);
}

void splats_draw(int label, uint64_t seed, uint64_t number, int n, double *room, double *rows)
{
    RelnRng rng = reln_rng(seed, number * SPLATS_CLASSES + (uint64_t)label);
    double *points = room + RELN_SPLATS_ROOM(n), A[9], inverse[9], mean[3];
    const bool is_disc = label == DISCS || label == NEEDLES;

    draw_points(label, &rng, n, points, rows);
    equalise(&rng, n, points, mean, A);
    for (int e = 0; e < 9; e++)
        A[e] *= SIZE;
    inverse_of(A, inverse);
    for (int i = 0; i < n; i++) {
        double *row = rows + (ptrdiff_t)i * RELN_SPLAT, x[3], normal[3];

        for (int a = 0; a < 3; a++)
            x[a] = points[3 * i + a] - mean[a];
        apply(A, x, points + 3 * i);
        for (int a = 0; a < 3; a++)
            points[3 * i + a] += NOISE * reln_rng_normal(&rng);
        if (is_disc) {
            apply(inverse, row, normal);
            disc(label == NEEDLES, normal, row);
        }
    }
    if (!is_disc)
        reln_points_to_splats(n, points, 3, NEAR, n, NULL, &rng, room, rows);
    for (int i = 0; i < n; i++)
        memcpy(rows + (ptrdiff_t)i * RELN_SPLAT, points + 3 * i, 3 * sizeof *points);
    paint(&rng, n, rows);
}
