/* make_data.c -- arrays to try `reln fit` on, as a .npz file.
 *
 *     make_data gl3 10000 1 train.npz          # X, Y (N, 3, 3) -> y (N,), blind to a change of frame by any g in GL(3)
 *     make_data gl3 10000 1 skew.npz 10        # the same samples, each in a random frame of condition number 10
 *     make_data so3 5000 1 train.npz           # covariances C (N, 3, 3), vectors v (N, 3) -> y (N, 3), follows rotations
 *     make_data clouds 2000 1 train.npz        # 12 points v (N, 12, 3) -> label (N,): 0 small, 1 large, 2 long; fold (N,)
 *     make_data springs 500 1 train.npz        # chains of 2 to 8 points x (N, 8, 3) -> force (N, 8, 3) on each point
 *
 * The targets are formulas, so that what a network has to learn is known:
 *     gl3   y = tr(XY) + sin(tr X) + det(Y)
 *     so3   y = C v + v x (C v) / (1 + |v|^2)
 *     clouds: normal points of size 1, 1.4, and 1.2 with one axis of 2.2, each in a random frame; fold counts 0 to 4
 *     springs: springs of length 1 join neighbours of a chain: force_i = sum_j pull_ij, pull_ij = (1 - 1/|d|) d, d = x_j - x_i
 *
 * The file of springs has sets of different size in two layouts. Padded: x and force (N, 8, 3), n (N,) points, bonds (N, 14, 2),
 * n_bonds (N,), w (N,) weights; of each bond pull (N, 14, 3), on its first point, and stretched (N, 14), 1 or 0. One after another: xs and forces (T, 3), with offsets o (N + 1,).
 */
#include <math.h>
#include <reln/reln.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Set {
    RelnCtx *ctx;
    RelnGroup *group;
    ptrdiff_t n;
    RelnRng rng, frames; /* separate streams: the same samples in any frame */
    double cond;         /* condition number of the frames; 0: no change of frame */
    double *a, *b, *y;
    int64_t *label, *fold;
} Set;

enum { POINTS = 12 };

static void multiply(const double *a, const double *b, double *out)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            out[3 * i + j] = 0;
            for (int k = 0; k < 3; k++)
                out[3 * i + j] += a[3 * i + k] * b[3 * k + j];
        }
}

static void apply(const double *m, const double *v, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = m[3 * i] * v[0] + m[3 * i + 1] * v[1] + m[3 * i + 2] * v[2];
}

static double trace(const double *m)
{
    return m[0] + m[4] + m[8];
}

static double det(const double *m)
{
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
           m[2] * (m[3] * m[7] - m[4] * m[6]);
}

/* x -> g x g^-1 */
static void conjugate(const RelnElement *g, double *x)
{
    double half[9];

    multiply(reln_element_matrix(g), x, half);
    multiply(half, reln_element_inverse(g), x);
}

static RelnStatus pair(Set *s, ptrdiff_t i)
{
    double *x = s->a + 9 * i, *y = s->b + 9 * i, xy[9];
    RelnElement *g = NULL;
    RelnStatus status = RELN_OK;

    for (int k = 0; k < 9; k++) {
        x[k] = 0.5 * reln_rng_normal(&s->rng);
        y[k] = 0.5 * reln_rng_normal(&s->rng);
    }
    multiply(x, y, xy);
    s->y[i] = trace(xy) + sin(trace(x)) + det(y);
    if (s->cond > 0)
        status = reln_group_random(s->group, &s->frames, s->cond, &g);
    if (g) {
        conjugate(g, x);
        conjugate(g, y);
    }
    reln_element_destroy(g);
    return status;
}

static RelnStatus body(Set *s, ptrdiff_t i)
{
    double *c = s->a + 9 * i, *v = s->b + 3 * i, *y = s->y + 3 * i, l[9], cv[3], copy[3];
    RelnElement *g = NULL;
    RelnStatus status = RELN_OK;
    double size;

    for (int k = 0; k < 9; k++)
        l[k] = 0.6 * reln_rng_normal(&s->rng);
    for (int k = 0; k < 3; k++)
        v[k] = reln_rng_normal(&s->rng);
    for (int p = 0; p < 3; p++)
        for (int q = 0; q < 3; q++)
            c[3 * p + q] = 0.1 * (p == q) + l[3 * p] * l[3 * q] + l[3 * p + 1] * l[3 * q + 1] +
                           l[3 * p + 2] * l[3 * q + 2];
    if (s->cond > 0)
        status = reln_group_random(s->group, &s->frames, s->cond, &g);
    if (g) {
        conjugate(g, c); /* g^-1 is g^T: rotations */
        memcpy(copy, v, sizeof copy);
        apply(reln_element_matrix(g), copy, v);
    }
    reln_element_destroy(g);
    apply(c, v, cv);
    size = 1 + v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    y[0] = cv[0] + (v[1] * cv[2] - v[2] * cv[1]) / size;
    y[1] = cv[1] + (v[2] * cv[0] - v[0] * cv[2]) / size;
    y[2] = cv[2] + (v[0] * cv[1] - v[1] * cv[0]) / size;
    return status;
}

/* Points in a random frame of rotations and reflections. */
static RelnStatus cloud(Set *s, ptrdiff_t i)
{
    static const double size[] = {1, 1.4, 1.2}, last[] = {1, 1.4, 2.2};
    const int kind = (int)reln_rng_below(&s->rng, 3);
    RelnElement *g = NULL;
    double x[3];

    s->label[i] = kind;
    s->fold[i] = i % 5;
    for (int p = 0; p < POINTS; p++)
        for (int k = 0; k < 3; k++)
            s->a[(i * POINTS + p) * 3 + k] =
                (k == 2 ? last[kind] : size[kind]) * reln_rng_normal(&s->rng);
    if (reln_group_random(s->group, &s->frames, 1, &g) != RELN_OK)
        return RELN_ERR_NOMEM;
    for (int p = 0; p < POINTS; p++) {
        memcpy(x, s->a + (i * POINTS + p) * 3, sizeof x);
        apply(reln_element_matrix(g), x, s->a + (i * POINTS + p) * 3);
    }
    reln_element_destroy(g);
    return RELN_OK;
}

static RelnStatus make_clouds(Set *s, const char *path)
{
    const RelnArray arrays[] = {RELN_ARRAY("v", RELN_F64, s->a, s->n, POINTS, 3),
                                RELN_ARRAY("label", RELN_I64, s->label, s->n),
                                RELN_ARRAY("fold", RELN_I64, s->fold, s->n)};
    RelnStatus status = reln_group_create(s->ctx, "o:3", &s->group);

    for (ptrdiff_t i = 0; i < s->n && status == RELN_OK; i++)
        status = cloud(s, i);
    return status == RELN_OK ? reln_npz_save(s->ctx, path, 3, arrays) : status;
}

/* ---- springs ---- */

enum { LINKS = 8, BONDS = 2 * (LINKS - 1) };

typedef struct Springs {
    double x[LINKS][3], force[LINKS][3], pull[BONDS][3];
    int64_t bonds[BONDS][2], stretched[BONDS];
} Springs;

/* Adds bond number b, from point i to point j. */
static void spring(Springs *chain, int b, int i, int j)
{
    double d[3], length = 0;

    for (int k = 0; k < 3; k++) {
        d[k] = chain->x[j][k] - chain->x[i][k];
        length += d[k] * d[k];
    }
    for (int k = 0; k < 3; k++) {
        chain->pull[b][k] = (1 - 1 / sqrt(length)) * d[k];
        chain->force[i][k] += chain->pull[b][k];
    }
    chain->bonds[b][0] = i;
    chain->bonds[b][1] = j;
    chain->stretched[b] = length > 1;
}

/* Draws a chain of n points, each about 1 from the point before it. */
static void draw_chain(RelnRng *rng, int n, Springs *out)
{
    memset(out, 0, sizeof *out);
    for (int i = 1; i < n; i++) {
        for (int k = 0; k < 3; k++)
            out->x[i][k] = out->x[i - 1][k] + 0.7 * reln_rng_normal(rng);
        spring(out, 2 * i - 2, i - 1, i);
        spring(out, 2 * i - 1, i, i - 1);
    }
}

typedef struct Chains {
    double *x, *force, *xs, *forces, *w, *pull;
    int64_t *n, *bonds, *n_bonds, *offsets, *stretched;
} Chains;

static void put_chain(Chains *c, ptrdiff_t i, int n, const Springs *s)
{
    c->n[i] = n;
    c->n_bonds[i] = 2 * n - 2;
    c->w[i] = 1 + (double)(i % 2);
    memcpy(c->x + i * LINKS * 3, s->x, sizeof s->x);
    memcpy(c->force + i * LINKS * 3, s->force, sizeof s->force);
    memcpy(c->bonds + i * BONDS * 2, s->bonds, sizeof s->bonds);
    memcpy(c->pull + i * BONDS * 3, s->pull, sizeof s->pull);
    memcpy(c->stretched + i * BONDS, s->stretched, sizeof s->stretched);
    memcpy(c->xs + c->offsets[i] * 3, s->x, (size_t)n * sizeof s->x[0]);
    memcpy(c->forces + c->offsets[i] * 3, s->force, (size_t)n * sizeof s->force[0]);
    c->offsets[i + 1] = c->offsets[i] + n;
}

static RelnStatus save_chains(const Set *s, const Chains *c, const char *path)
{
    const RelnArray arrays[] = {
        RELN_ARRAY("x", RELN_F64, c->x, s->n, LINKS, 3),
        RELN_ARRAY("force", RELN_F64, c->force, s->n, LINKS, 3),
        RELN_ARRAY("n", RELN_I64, c->n, s->n),
        RELN_ARRAY("bonds", RELN_I64, c->bonds, s->n, BONDS, 2),
        RELN_ARRAY("n_bonds", RELN_I64, c->n_bonds, s->n),
        RELN_ARRAY("w", RELN_F64, c->w, s->n),
        RELN_ARRAY("pull", RELN_F64, c->pull, s->n, BONDS, 3),
        RELN_ARRAY("stretched", RELN_I64, c->stretched, s->n, BONDS),
        RELN_ARRAY("xs", RELN_F64, c->xs, (ptrdiff_t)c->offsets[s->n], 3),
        RELN_ARRAY("forces", RELN_F64, c->forces, (ptrdiff_t)c->offsets[s->n], 3),
        RELN_ARRAY("o", RELN_I64, c->offsets, s->n + 1),
    };

    return reln_npz_save(s->ctx, path, sizeof arrays / sizeof arrays[0], arrays);
}

static RelnStatus make_springs(Set *s, const char *path)
{
    const size_t n = (size_t)s->n;
    Chains c = {calloc(n, sizeof(double[LINKS][3])), calloc(n, sizeof(double[LINKS][3])),
                calloc(n, sizeof(double[LINKS][3])), calloc(n, sizeof(double[LINKS][3])),
                calloc(n, sizeof(double)),           calloc(n, sizeof(double[BONDS][3])),
                calloc(n, sizeof(int64_t)),          calloc(n, sizeof(int64_t[BONDS][2])),
                calloc(n, sizeof(int64_t)),          calloc(n + 1, sizeof(int64_t)),
                calloc(n, sizeof(int64_t[BONDS]))};
    const bool there = c.x && c.force && c.xs && c.forces && c.w && c.n && c.bonds && c.n_bonds &&
                       c.offsets && c.pull && c.stretched;
    RelnStatus status = there ? RELN_OK : RELN_ERR_NOMEM;
    Springs chain;

    for (ptrdiff_t i = 0; i < s->n && there; i++) {
        const int size = 2 + (int)reln_rng_below(&s->rng, LINKS - 1);

        draw_chain(&s->rng, size, &chain);
        put_chain(&c, i, size, &chain);
    }
    if (there)
        status = save_chains(s, &c, path);
    free(c.x);
    free(c.force);
    free(c.xs);
    free(c.forces);
    free(c.w);
    free(c.n);
    free(c.bonds);
    free(c.n_bonds);
    free(c.offsets);
    free(c.pull);
    free(c.stretched);
    return status;
}

static RelnStatus save(const Set *s, bool so3, const char *path)
{
    const RelnArray pairs[] = {RELN_ARRAY("X", RELN_F64, s->a, s->n, 3, 3),
                               RELN_ARRAY("Y", RELN_F64, s->b, s->n, 3, 3),
                               RELN_ARRAY("y", RELN_F64, s->y, s->n)};
    const RelnArray bodies[] = {RELN_ARRAY("C", RELN_F64, s->a, s->n, 3, 3),
                                RELN_ARRAY("v", RELN_F64, s->b, s->n, 3),
                                RELN_ARRAY("y", RELN_F64, s->y, s->n, 3)};

    return reln_npz_save(s->ctx, path, 3, so3 ? bodies : pairs);
}

static RelnStatus make(Set *s, bool so3, const char *path)
{
    RelnStatus status = reln_group_create(s->ctx, so3 ? "so:3" : "gl:3", &s->group);

    for (ptrdiff_t i = 0; i < s->n && status == RELN_OK; i++)
        status = so3 ? body(s, i) : pair(s, i);
    return status == RELN_OK ? save(s, so3, path) : status;
}

int main(int argc, char **argv)
{
    const bool so3 = argc > 1 && strcmp(argv[1], "so3") == 0;
    const bool clouds = argc > 1 && strcmp(argv[1], "clouds") == 0;
    const bool springs = argc > 1 && strcmp(argv[1], "springs") == 0;
    Set s = {.n = argc > 2 ? strtol(argv[2], NULL, 10) : 0};
    RelnStatus status;

    if (argc < 5 || argc > 6 || s.n < 1 || s.n > 10000000 ||
        (!so3 && !clouds && !springs && strcmp(argv[1], "gl3") != 0))
        return fprintf(stderr, "usage: make_data gl3|so3|clouds|springs N SEED FILE.npz [COND]\n"),
               2;
    s.rng = reln_rng(strtoull(argv[3], NULL, 10), 0);
    s.frames = reln_rng(strtoull(argv[3], NULL, 10), 1);
    s.cond = argc > 5 ? strtod(argv[5], NULL) : 0;
    s.a = calloc((size_t)s.n, 3 * POINTS * sizeof *s.a);
    s.b = calloc((size_t)s.n, 9 * sizeof *s.b);
    s.y = calloc((size_t)s.n, 3 * sizeof *s.y);
    s.label = calloc((size_t)s.n, sizeof *s.label);
    s.fold = calloc((size_t)s.n, sizeof *s.fold);
    status =
        s.a && s.b && s.y && s.label && s.fold ? reln_ctx_create(NULL, &s.ctx) : RELN_ERR_NOMEM;
    if (status == RELN_OK)
        status = clouds    ? make_clouds(&s, argv[4])
                 : springs ? make_springs(&s, argv[4])
                           : make(&s, so3, argv[4]);
    if (status != RELN_OK)
        fprintf(stderr, "%s\n", s.ctx ? reln_ctx_error(s.ctx) : "out of memory");
    reln_group_destroy(s.group);
    reln_ctx_destroy(s.ctx);
    free(s.a);
    free(s.b);
    free(s.y);
    free(s.label);
    free(s.fold);
    return status != RELN_OK;
}
