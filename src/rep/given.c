/* given.c -- reps given by the caller: a character for each discrete generator, or all matrices, which are
 * checked. */
#include <math.h>
#include <string.h>

#include "reln/matrix.h"
#include "rep/exact.h"
#include "rep/make.h"
#include "tensor/linalg.h"

/* ---- characters ----------------------------------------------------------------------------------------------- */

/* Returns the sign of the determinant, by Gaussian elimination on a copy. */
static double determinant_sign(int n, double *m)
{
    double sign = 1;

    for (ptrdiff_t c = 0; c < n; c++) {
        ptrdiff_t pivot = c;
        for (ptrdiff_t r = c + 1; r < n; r++)
            pivot = fabs(m[r * n + c]) > fabs(m[pivot * n + c]) ? r : pivot;
        sign = (pivot != c) != (m[pivot * n + c] < 0) ? -sign : sign;
        for (ptrdiff_t j = 0; j < n; j++) {
            const double x = m[c * n + j];
            m[c * n + j] = m[pivot * n + j];
            m[pivot * n + j] = x;
        }
        for (ptrdiff_t r = c + 1; r < n; r++) {
            const double f = m[r * n + c] / m[c * n + c];
            for (ptrdiff_t j = c; j < n; j++)
                m[r * n + j] -= f * m[c * n + j];
        }
    }
    return sign;
}

static RelnStatus fill_sign(const void *given, Candidate *c)
{
    const RelnGroup *g = c->group;
    const size_t n2 = (size_t)square(g->n);
    double *copy = reln_arena_alloc(c->scratch, n2, sizeof *copy);

    (void)given;
    if (!copy)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < g->n_discrete; i++) {
        memcpy(copy, g->discrete + (size_t)i * n2, n2 * sizeof *copy);
        c->discrete[i] = c->inverse[i] = determinant_sign(g->n, copy);
    }
    return RELN_OK;
}

const RelnRep *reln_rep_sign(RelnGroup *group)
{
    return group ? reln_rep_make(group, 1, fill_sign, NULL, "sign") : NULL;
}

static bool given_for(const RelnGroup *group, const char *what, bool given)
{
    if (!given)
        (void)reln_fail(group->ctx, RELN_ERR_ARG, "%s: one for each generator of %s wanted", what,
                        group->name);
    return given;
}

static RelnStatus fill_character(const void *given, Candidate *c)
{
    const double *values = given;

    c->made = c->group->n_discrete == 0 || reln_all_dyadic(c->group->n_discrete, values);
    for (int i = 0; i < c->group->n_discrete; i++) {
        if (!isfinite(values[i]) || values[i] == 0)
            return reln_fail(c->group->ctx, RELN_ERR_ARG,
                             "character: value %d is %g, a finite non-zero number wanted", i,
                             values[i]);
        c->discrete[i] = values[i];
        RELN_TRY(reln_settle_action(c->group->ctx, "discrete generator", i, 1, 1, true,
                                    &c->discrete[i]));
        c->inverse[i] = 1 / c->discrete[i];
    }
    return RELN_OK;
}

const RelnRep *reln_rep_character(RelnGroup *group, const double *values)
{
    if (!group || !given_for(group, "character", values || group->n_discrete == 0))
        return NULL;
    return reln_rep_make(group, 1, fill_character, values, "character");
}

/* ---- from matrices -------------------------------------------------------------------------------------------- */

typedef struct Matrices {
    const double *lie, *discrete;
} Matrices;

static void commutator(int n, const double *x, const double *y, double *tmp, double *out)
{
    reln_mat_mul(n, n, n, x, y, out);
    reln_mat_mul(n, n, n, y, x, tmp);
    for (ptrdiff_t e = 0; e < square(n); e++)
        out[e] -= tmp[e];
}

/* Compare is scratch memory for comparing rho of an element of the span with its expected value. */
typedef struct Compare {
    const Span *span;
    double *small[2]; /* (n, n) */
    double *large[3]; /* (K, K) */
    double *coords;   /* (n_lie) */
    int *block;       /* (K): coordinates that a matrix connects have the same value, the smallest of them */
    double *norm[4];  /* (K): norm of the rows of a block, stored at its smallest coordinate */
} Compare;

static RelnStatus compare_room(Candidate *c, Compare *out)
{
    const size_t n2 = (size_t)square(c->group->n), size = (size_t)square(c->dim);
    bool fine = true;

    RELN_TRY(reln_group_span(c->group, &out->span));
    for (int i = 0; i < 2; i++)
        fine = (out->small[i] = reln_arena_alloc(c->scratch, n2, sizeof(double))) && fine;
    for (int i = 0; i < 3; i++)
        fine = (out->large[i] = reln_arena_alloc(c->scratch, size, sizeof(double))) && fine;
    for (int i = 0; i < 4; i++)
        fine =
            (out->norm[i] = reln_arena_alloc(c->scratch, (size_t)c->dim, sizeof(double))) && fine;
    out->coords = reln_arena_alloc(c->scratch, (size_t)c->group->n_lie, sizeof(double));
    out->block = reln_arena_alloc(c->scratch, (size_t)c->dim, sizeof *out->block);
    return fine && out->coords && out->block ? RELN_OK : RELN_ERR_NOMEM;
}

static void connect(int count, int dim, const double *matrices, int *parent)
{
    for (ptrdiff_t e = 0; e < count * square(dim); e++)
        if (matrices[e] != 0)
            reln_set_join(parent, (int)(e / dim % dim), (int)(e % dim));
}

static void find_blocks(const Candidate *c, const Compare *k)
{
    for (int i = 0; i < c->dim; i++)
        k->block[i] = i;
    connect(c->group->n_lie, c->dim, c->lie, k->block);
    connect(c->group->n_discrete, c->dim, c->discrete, k->block);
    for (int i = 0; i < c->dim; i++)
        k->block[i] = reln_set_root(k->block, i);
}

static void block_norms(const Candidate *c, const Compare *k, const double *m, double *norm)
{
    memset(norm, 0, (size_t)c->dim * sizeof *norm);
    for (int i = 0; i < c->dim; i++)
        norm[k->block[i]] =
            hypot(norm[k->block[i]], reln_mat_norm(c->dim, m + (ptrdiff_t)i * c->dim));
}

/* Returns |large[0] - rho(small[0])| over norm[0] in the worst block; 0 if small[0] is outside the span,
 * where rho is unknown. */
static double mismatch(const Candidate *c, const Compare *k, double small_scale)
{
    const ptrdiff_t size = square(c->dim);
    double worst = 0;

    if (reln_span_coords(c->group, k->span, k->small[0], small_scale, k->coords) > SPAN_RESIDUAL)
        return 0;
    reln_combine(c->group->n_lie, size, k->coords, c->lie, k->large[1]);
    for (ptrdiff_t e = 0; e < size; e++)
        k->large[1][e] -= k->large[0][e];
    block_norms(c, k, k->large[1], k->norm[1]);
    for (int b = 0; b < c->dim; b++)
        if (k->norm[1][b] > 0)
            worst = fmax(worst, k->norm[1][b] / fmax(k->norm[0][b], 1e-300));
    return worst;
}

/* [rho(E_i), rho(E_j)] = rho([E_i, E_j]) */
static RelnStatus check_brackets(const Candidate *c, const Compare *k)
{
    const RelnGroup *g = c->group;
    const ptrdiff_t n2 = square(g->n), size = square(c->dim);

    for (int i = 0; i < g->n_lie; i++)
        for (int j = 0; j < i; j++) {
            const double *x = g->lie + i * n2, *y = g->lie + j * n2;
            const double *rx = c->lie + i * size, *ry = c->lie + j * size;
            commutator(g->n, x, y, k->small[1], k->small[0]);
            commutator(c->dim, rx, ry, k->large[1], k->large[0]);
            block_norms(c, k, rx, k->norm[1]);
            block_norms(c, k, ry, k->norm[2]);
            for (int b = 0; b < c->dim; b++) {
                const double nx = k->norm[1][b], ny = k->norm[2][b];
                k->norm[0][b] = nx * ny + nx * g->size[j] + ny * g->size[i];
            }
            const double rest = mismatch(c, k, reln_mat_norm(n2, x) * reln_mat_norm(n2, y));
            if (!(rest <= SPAN_RESIDUAL))
                return reln_fail(g->ctx, RELN_ERR_REP,
                                 "not a rep of %s: the bracket of generators %d and %d is off by "
                                 "%.2g (tolerance %g)",
                                 g->name, j, i, rest, SPAN_RESIDUAL);
        }
    return RELN_OK;
}

/* rho(gamma) rho(E_i) rho(gamma)^-1 = rho(gamma E_i gamma^-1) */
static RelnStatus check_conjugation(const Candidate *c, const Compare *k, int gamma)
{
    const RelnGroup *g = c->group;
    const ptrdiff_t n2 = square(g->n), size = square(c->dim);
    const double *x = g->discrete + gamma * n2, *y = g->inverse + gamma * n2;
    const double *rx = c->discrete + gamma * size, *ry = c->inverse + gamma * size;

    for (int i = 0; i < g->n_lie; i++) {
        const double *e = g->lie + i * n2, *re = c->lie + i * size;
        reln_mat_mul(g->n, g->n, g->n, x, e, k->small[1]);
        reln_mat_mul(g->n, g->n, g->n, k->small[1], y, k->small[0]);
        reln_mat_mul(c->dim, c->dim, c->dim, rx, re, k->large[2]);
        reln_mat_mul(c->dim, c->dim, c->dim, k->large[2], ry, k->large[0]);
        block_norms(c, k, re, k->norm[1]);
        block_norms(c, k, rx, k->norm[2]);
        block_norms(c, k, ry, k->norm[3]);
        for (int b = 0; b < c->dim; b++)
            k->norm[0][b] = k->norm[1][b] * fmax(1, k->norm[2][b] * k->norm[3][b]);
        const double rest =
            mismatch(c, k, reln_mat_norm(n2, x) * reln_mat_norm(n2, e) * reln_mat_norm(n2, y));
        if (!(rest <= SPAN_RESIDUAL))
            return reln_fail(g->ctx, RELN_ERR_REP,
                             "not a rep of %s: discrete generator %d conjugates generator %d "
                             "wrongly by %.2g (tolerance %g)",
                             g->name, gamma, i, rest, SPAN_RESIDUAL);
    }
    return RELN_OK;
}

static RelnStatus fill_matrices(const void *given, Candidate *c)
{
    const Matrices *m = given;
    const RelnGroup *g = c->group;
    const ptrdiff_t size = square(c->dim);
    Compare k;

    if (g->n_lie > 0)
        memcpy(c->lie, m->lie, (size_t)(g->n_lie * size) * sizeof(double));
    for (int i = 0; i < g->n_lie; i++)
        RELN_TRY(reln_settle_action(g->ctx, "generator", i, c->dim, g->size[i], false,
                                    c->lie + i * size));
    for (int i = 0; i < g->n_discrete; i++) {
        memcpy(c->discrete + i * size, m->discrete + i * size, (size_t)size * sizeof(double));
        RELN_TRY(reln_settle_action(g->ctx, "discrete generator", i, c->dim, 1, true,
                                    c->discrete + i * size));
        RELN_TRY(reln_inverse(g->ctx, c->dim, c->discrete + i * size, c->inverse + i * size));
    }
    if (!reln_candidate_finite(c))
        return reln_fail(g->ctx, RELN_ERR_NUMERIC,
                         "a rep of %s holds a number that is not finite or too large", g->name);
    RELN_TRY(compare_room(c, &k));
    find_blocks(c, &k);
    RELN_TRY(check_brackets(c, &k));
    for (int i = 0; i < g->n_discrete; i++)
        RELN_TRY(check_conjugation(c, &k, i));
    return RELN_OK;
}

const RelnRep *reln_rep_from_matrices(RelnGroup *group, int dim, const double *lie,
                                      const double *discrete)
{
    const Matrices given = {lie, discrete};

    if (!group || !given_for(group, "matrices", lie || group->n_lie == 0) ||
        !given_for(group, "matrices", discrete || group->n_discrete == 0))
        return NULL;
    return reln_rep_make(group, dim, fill_matrices, &given, "rep^%d", dim);
}
