/* closed_real.c -- spans of matrices in doubles: the size of a remainder decides whether it is new or
 * rounding. */
#include <math.h>
#include <string.h>

#include "rep/closed.h"
#include "rep/invariants.h"
#include "tensor/linalg.h"

/* For products of matrices of norm 1: a product is inside the span if its remainder is below INSIDE, and new
 * if it is above the second bound, where the remainder is known to a relative 1e-9. */
#define INSIDE RELN_INTERTWINER_TOLERANCE
#define NEW 1e-7

static void product(Space *s, const Word *a, const Word *b, Word *c)
{
    const int n = s->n;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;

            for (int k = 0; k < n; k++)
                sum += a[i * n + k].real * b[k * n + j].real;
            c[i * n + j].real = sum;
        }
}

static void add(Space *s, Word *a, bool minus, const Word *b)
{
    for (int e = 0; e < s->n * s->n; e++)
        a[e].real += minus ? -b[e].real : b[e].real;
}

static bool has_trace(const Space *s, const Word *a)
{
    double trace = 0;

    for (int i = 0; i < s->n; i++)
        trace += a[i * (s->n + 1)].real;
    return fabs(trace) > INSIDE;
}

static double norm_of(const Space *s, const Word *z)
{
    double sum = 0;

    for (int e = 0; e < s->n * s->n; e++)
        sum += z[e].real * z[e].real;
    return sqrt(sum);
}

/* Subtracts the parts along all rows, twice, so that the remainder is orthogonal up to rounding. */
static void reduce(const Space *s, Word *z)
{
    const int n2 = s->n * s->n;

    for (int pass = 0; pass < 2; pass++)
        for (int t = 0; t < s->count; t++) {
            const Word *q = reln_space_row(s, t);
            double dot = 0;

            for (int e = 0; e < n2; e++)
                dot += q[e].real * z[e].real;
            for (int e = 0; e < n2; e++)
                z[e].real -= dot * q[e].real;
        }
}

/* z must be a sum of at most two products of matrices of norm 1. */
static RelnStatus insert(Space *s, Word *z, bool *grew)
{
    double rest;

    reduce(s, z);
    rest = norm_of(s, z);
    if (rest <= INSIDE)
        return RELN_OK;
    if (!(rest >= NEW))
        return reln_fail(
            s->arena->ctx, RELN_ERR_NUMERIC,
            "a matrix lies outside of the span by %.2g of its factors, neither rounding "
            "(below %g) nor clearly new (above %g)",
            rest, INSIDE, NEW);
    if (s->count == s->capacity)
        return reln_fail(s->arena->ctx, RELN_ERR_UNSUPPORTED,
                         "the closed span has more than %d dimensions", s->capacity);
    for (int e = 0; e < s->n * s->n; e++)
        z[e].real /= rest;
    memcpy(reln_space_row(s, s->count++), z, (size_t)(s->n * s->n) * sizeof *z);
    *grew = true;
    return RELN_OK;
}

static const Field reals = {product, add, has_trace, insert};

/* Copies matrices scaled to norm 1; zeros stay zero. */
static RelnStatus read_units(RelnArena *arena, int count, int n, const double *x, const Word **out)
{
    const ptrdiff_t n2 = (ptrdiff_t)n * n;
    Word *words = reln_arena_alloc(arena, (size_t)(count * n2), sizeof *words);

    for (int i = 0; i < count && words; i++) {
        const double norm = reln_mat_norm(n2, x + i * n2);

        for (ptrdiff_t e = 0; e < n2 && norm > 0; e++)
            words[i * n2 + e].real = x[i * n2 + e] / norm;
    }
    *out = words;
    return words ? RELN_OK : RELN_ERR_NOMEM;
}

static RelnStatus write_basis(RelnArena *arena, const Space *s, double **basis)
{
    const ptrdiff_t n2 = (ptrdiff_t)s->n * s->n;
    ptrdiff_t *pivots = reln_arena_alloc(arena, (size_t)s->count, sizeof *pivots);

    *basis = reln_arena_alloc(arena, (size_t)(s->count * n2), sizeof **basis);
    if (!pivots || !*basis)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t e = 0; e < s->count * n2; e++)
        (*basis)[e] = s->rows[e].real;
    return reln_echelon_rows(arena, s->count, n2, *basis, pivots);
}

RelnStatus reln_closed_real(RelnArena *arena, const RelnGroup *group, const RelnClosing *of,
                            int *dim, double **basis)
{
    const int n = group->n;
    Closing c = {.count = of->count,
                 .n_lie = group->n_lie,
                 .n_discrete = group->n_discrete,
                 .layers = of->layers};
    Space s;

    RELN_TRY(reln_space_init(arena, &reals, n, &s));
    for (int i = 0; i < n; i++)
        s.one[i * (n + 1)].real = 1 / sqrt(n);
    RELN_TRY(read_units(arena, of->count, n, of->matrices, &c.matrices));
    RELN_TRY(read_units(arena, group->n_lie, n, group->lie, &c.lie));
    RELN_TRY(read_units(arena, group->n_discrete, n, group->discrete, &c.discrete));
    RELN_TRY(read_units(arena, group->n_discrete, n, group->inverse, &c.inverse));
    RELN_TRY(reln_space_close(&s, &c));
    *dim = s.count;
    return write_basis(arena, &s, basis);
}
