/* sampler.c -- random group elements of a chosen condition number.
 *
 * If the span is closed under transposition, g = exp(X1) exp(X2) exp(X3) with X1, X3 antisymmetric and X2 symmetric is a
 * singular value decomposition: the condition number is exp(l_max - l_min) of X2 and can be met exactly. Otherwise
 * g = exp(t X), with t found by bisection.
 */
#include "algebra/sampler.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "reln/matrix.h"
#include "tensor/linalg.h"

typedef struct Sampler {
    RelnCtx *ctx;
    int n, n_lie;
    ptrdiff_t nn;
    int dim;   /* dimension of the span */
    double *q; /* (dim, n, n) orthonormal basis of the span */
    double *u; /* (n_lie, r) and s (r): lie = u diag(s) q */
    double *s;
    ptrdiff_t r;
    double noise; /* error of q */
    double *x;    /* (3, n, n): X1, X2, X3 */
    double *tmp;  /* (2, n, n) */
    double *w;    /* (n) */
} Sampler;

static RelnStatus allocate(RelnArena *arena, Sampler *m)
{
    const size_t nn = (size_t)m->nn, lie = (size_t)m->n_lie;

    m->r = m->n_lie < m->nn ? m->n_lie : m->nn;
    m->q = reln_arena_alloc(arena, (size_t)m->r * nn, sizeof *m->q);
    m->u = reln_arena_alloc(arena, lie * (size_t)m->r, sizeof *m->u);
    m->s = reln_arena_alloc(arena, (size_t)m->r, sizeof *m->s);
    m->x = reln_arena_alloc(arena, 3 * nn, sizeof *m->x);
    m->tmp = reln_arena_alloc(arena, 2 * nn, sizeof *m->tmp);
    m->w = reln_arena_alloc(arena, (size_t)m->n, sizeof *m->w);
    return m->q && m->u && m->s && m->x && m->tmp && m->w ? RELN_OK : RELN_ERR_NOMEM;
}

static RelnStatus span(Sampler *m, const double *lie)
{
    m->dim = 0;
    if (m->n_lie == 0)
        return RELN_OK;
    RELN_TRY(reln_svd(m->ctx, m->n_lie, m->nn, lie, false, m->s, m->u, m->q));
    while (m->dim < m->r && m->s[m->dim] > 1e-12 * m->s[0])
        m->dim++;
    if (m->dim > 0)
        m->noise = fmin(1e-3, 64 * m->dim * DBL_EPSILON * m->s[0] / m->s[m->dim - 1]);
    return RELN_OK;
}

static double dot(ptrdiff_t count, const double *x, const double *y)
{
    double sum = 0;

    for (ptrdiff_t i = 0; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Returns the distance of x from the span. */
static double outside(const Sampler *m, const double *x, double *rest)
{
    memcpy(rest, x, (size_t)m->nn * sizeof *rest);
    for (ptrdiff_t a = 0; a < m->dim; a++) {
        const double *const q = m->q + a * m->nn, part = dot(m->nn, q, x);
        for (ptrdiff_t i = 0; i < m->nn; i++)
            rest[i] -= part * q[i];
    }
    return reln_mat_norm(m->nn, rest);
}

static bool closed_under_transposition(const Sampler *m)
{
    for (ptrdiff_t a = 0; a < m->dim; a++) {
        reln_mat_transpose(m->n, m->n, m->q + a * m->nn, m->tmp);
        if (outside(m, m->tmp, m->tmp + m->nn) > fmax(1e-10, m->noise))
            return false;
    }
    return true;
}

static bool contains_scalars(const Sampler *m)
{
    reln_mat_identity(m->n, m->tmp);
    return outside(m, m->tmp, m->tmp + m->nn) <= fmax(1e-10, m->noise) * sqrt(m->n);
}

static void draw(const Sampler *m, RelnRng *rng, double *x)
{
    memset(x, 0, (size_t)m->nn * sizeof *x);
    for (ptrdiff_t a = 0; a < m->dim; a++) {
        const double weight = reln_rng_normal(rng);
        for (ptrdiff_t i = 0; i < m->nn; i++)
            x[i] += weight * m->q[a * m->nn + i];
    }
}

/* scale (x + sign x^T) / 2 of a random x */
static void draw_part(const Sampler *m, RelnRng *rng, double sign, double scale, double *x)
{
    draw(m, rng, m->tmp);
    reln_mat_transpose(m->n, m->n, m->tmp, m->tmp + m->nn);
    for (ptrdiff_t i = 0; i < m->nn; i++)
        x[i] = 0.5 * scale * (m->tmp[i] + sign * m->tmp[m->nn + i]);
}

/* Makes X2 traceless if the span contains the scalars, then scales it until its eigenvalues spread by
 * log(cond). Without a symmetric part beyond scalars, the group is compact up to scale, and X2 is 0. */
static RelnStatus spread(const Sampler *m, double *x, double cond, bool scalars, double *reached)
{
    const double trace = scalars ? reln_mat_trace(m->n, x) / m->n : 0;
    const double *const w = m->w;
    double t = 0;

    for (ptrdiff_t i = 0; i < m->n; i++)
        x[i * m->n + i] -= trace;
    RELN_TRY(reln_eigh(m->ctx, m->n, x, m->w, NULL));
    *reached = 1;
    if (w[m->n - 1] - w[0] > fmax(1e-8, sqrt(m->noise))) {
        t = log(cond) / (w[m->n - 1] - w[0]);
        *reached = cond;
    }
    for (ptrdiff_t i = 0; i < m->nn; i++)
        x[i] *= t;
    return RELN_OK;
}

static RelnStatus polar(const Sampler *m, RelnRng *rng, double cond, double *reached)
{
    /* A rotation by an angle a has |X| = sqrt(2) a: with this scale, angles cover the whole circle. */
    const double turns = 6;
    const bool scalars = contains_scalars(m);
    double *const x2 = m->x + m->nn;
    const double size = 0.3 * reln_rng_normal(rng);

    draw_part(m, rng, -1, turns, m->x);
    draw_part(m, rng, 1, 1, x2);
    draw_part(m, rng, -1, turns, m->x + 2 * m->nn);
    RELN_TRY(spread(m, x2, cond, scalars, reached));
    for (ptrdiff_t i = 0; scalars && i < m->n; i++)
        x2[i * m->n + i] += size;
    return RELN_OK;
}

/* ---- a skewed frame --------------------------------------------------------------------------------------- */

/* Computes the condition number of exp(t x); infinity where exp overflows. */
static RelnStatus measure(const Sampler *m, double t, const double *x, double *cond)
{
    RelnStatus status;

    for (ptrdiff_t i = 0; i < m->nn; i++)
        m->tmp[i] = t * x[i];
    status = reln_matrix_exp(m->ctx, m->n, m->tmp, m->tmp);
    if (status == RELN_OK)
        status = reln_cond(m->ctx, m->n, m->tmp, cond);
    if (status != RELN_ERR_NUMERIC)
        return status;
    reln_ctx_clear(m->ctx);
    *cond = (double)INFINITY;
    return RELN_OK;
}

/* Increases t until the condition number of exp(t x), which is 1 at t = 0 and continuous, exceeds cond;
 * otherwise *t is where it was largest. The walk ends where rotations have made their full turn and nilpotent
 * elements have grown enough. A larger t is taken only if it stretches by a twentieth more, because exp(t x)
 * loses digits with t, and rotations by thousands of turns hardly stretch more than one turn. */
static RelnStatus walk(const Sampler *m, const double *x, double cond, double *t, double *reached)
{
    double best = 0;

    *reached = 1;
    for (int i = 1; i <= 96 && *reached < cond; i++) {
        const double at = 0.25 * pow(1.08, i) * i;
        double now = 1;
        RELN_TRY(measure(m, at, x, &now));
        if (now - 1 > 1.05 * (*reached - 1) || now >= cond) {
            *reached = now;
            best = at;
        }
    }
    *t = best;
    return RELN_OK;
}

static RelnStatus bisect(const Sampler *m, const double *x, double cond, double *t, double *reached)
{
    double low = 0, high = *t;

    for (int i = 0; i < 200 && fabs(*reached / cond - 1) > 1e-12; i++) {
        *t = 0.5 * (low + high);
        if (*t <= low || *t >= high)
            break;
        RELN_TRY(measure(m, *t, x, reached));
        if (*reached < cond)
            low = *t;
        else
            high = *t;
    }
    return RELN_OK;
}

/* Tries several directions x, because exp(t x) of a rotation never stretches. If none reaches the condition
 * number, it keeps the direction that comes closest. */
static RelnStatus search(const Sampler *m, RelnRng *rng, double cond, double *reached)
{
    enum { TRIES = 12 };
    double *const x = m->x, *const best = m->x + m->nn;
    double t = 0, t_best = 0;

    *reached = 1;
    for (int i = 0; i < TRIES && *reached < cond; i++) {
        double now = 1;
        draw(m, rng, x);
        RELN_TRY(walk(m, x, cond, &t, &now));
        if (now - 1 > 1.05 * (*reached - 1) || now >= cond) {
            *reached = now;
            t_best = t;
            memcpy(best, x, (size_t)m->nn * sizeof *best);
        }
    }
    if (*reached > cond)
        RELN_TRY(bisect(m, best, cond, &t_best, reached));
    memset(x, 0, (size_t)m->nn * sizeof *x);
    for (ptrdiff_t i = 0; i < m->nn; i++)
        best[i] *= t_best;
    return RELN_OK;
}

/* ---- results ---------------------------------------------------------------------------------------------- */

/* x = sum_a <Q_a, x> Q_a and Q = s^-1 u^T lie */
static void coordinates(const Sampler *m, const double *x, double *coords)
{
    memset(coords, 0, (size_t)m->n_lie * sizeof *coords);
    for (ptrdiff_t a = 0; a < m->dim; a++) {
        const double part = dot(m->nn, m->q + a * m->nn, x) / m->s[a];
        for (ptrdiff_t k = 0; k < m->n_lie; k++)
            coords[k] += part * m->u[k * m->r + a];
    }
}

/* out = exp(s X1) exp(s X2) exp(s X3), in reverse order for the inverse */
static RelnStatus multiply(const Sampler *m, double sign, double *out)
{
    reln_mat_identity(m->n, out);
    for (ptrdiff_t f = 0; f < 3; f++) {
        const double *const x = m->x + (sign > 0 ? f : 2 - f) * m->nn;
        for (ptrdiff_t i = 0; i < m->nn; i++)
            m->tmp[i] = sign * x[i];
        RELN_TRY(reln_matrix_exp(m->ctx, m->n, m->tmp, m->tmp));
        memcpy(m->tmp + m->nn, out, (size_t)m->nn * sizeof *out);
        reln_mat_mul(m->n, m->n, m->n, m->tmp + m->nn, m->tmp, out);
    }
    return RELN_OK;
}

static RelnStatus sample(Sampler *m, RelnArena *arena, const double *lie, RelnRng *rng, double cond,
                         double *reached)
{
    RELN_TRY(allocate(arena, m));
    RELN_TRY(span(m, lie));
    *reached = 1;
    if (m->dim == 0)
        return RELN_OK;
    return closed_under_transposition(m) ? polar(m, rng, cond, reached)
                                         : search(m, rng, cond, reached);
}

RelnStatus reln_sample_factors(RelnCtx *ctx, int n, int n_lie, const double *lie, RelnRng *rng,
                               double cond, double *coords, double *g, double *inverse,
                               double *reached)
{
    Sampler m = {.ctx = ctx, .n = n, .n_lie = n_lie, .nn = (ptrdiff_t)n * n};
    RelnArena arena;
    RelnStatus status;
    double found = 1;

    if (!(cond >= 1) || !isfinite(cond))
        return reln_fail(ctx, RELN_ERR_ARG, "condition number %g, wanted a finite one >= 1", cond);
    reln_arena_init(&arena, ctx);
    status = sample(&m, &arena, lie, rng, cond, &found);
    for (ptrdiff_t f = 0; coords && status == RELN_OK && f < 3; f++)
        coordinates(&m, m.x + f * m.nn, coords + f * n_lie);
    if (status == RELN_OK)
        status = multiply(&m, 1, g);
    if (status == RELN_OK && inverse)
        status = multiply(&m, -1, inverse);
    reln_arena_clear(&arena);
    if (reached)
        *reached = found;
    return status;
}
