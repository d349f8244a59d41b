/* settle.c -- decides how a constant enters a graph: unchanged if it is an intertwiner up to rounding, replaced by the
 * nearest intertwiner if it is one within the tolerance, refused otherwise.
 *
 * An error within the tolerance can be amplified: ((1 + 5e-11 N) x - x) 2e10 = N x. So a residual above rounding is removed
 * from the constant before it enters a graph.
 */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rep/exact.h"
#include "rep/settle.h"
#include "tensor/linalg.h"

/* Largest number of coordinates of a space of maps that is solved here. */
enum { SOLVED_AT_MOST = 4096 };

/* A constant must be within this distance of its projection, as a share of its largest number. */
#define NEAR 1e-6

/* Returns the rounding error of a residual in units of its terms: each coordinate sums one term for every
 * coordinate of the reps, and a term is a product of two rounded numbers. */
static double rounding(const RelnRep *u, const RelnRep *v, const RelnRep *w)
{
    return 4 * (double)(u->dim + (v ? v->dim : 0) + w->dim) * DBL_EPSILON;
}

static double largest_entry(int count, const RelnEntry *e)
{
    double largest = 0;

    for (int i = 0; i < count; i++)
        largest = fmax(largest, fabs(e[i].value));
    return largest;
}

/* Solves the space of equivariant maps; *maps is NULL if it is too large or cannot be solved. */
static RelnStatus solve(const RelnRep *u, const RelnRep *v, const RelnRep *w, const RelnMaps **maps)
{
    RelnCtx *ctx = u->group->ctx;
    const double volume = (double)u->dim * (v ? v->dim : 1) * w->dim;
    RelnStatus status;
    Kept before;

    *maps = NULL;
    if (volume > SOLVED_AT_MOST)
        return RELN_OK;
    reln_keep_message(ctx, &before);
    status = v ? reln_maps_bilinear(u, v, w, maps) : reln_maps_linear(u, w, maps);
    if (status == RELN_ERR_NOMEM)
        return status;
    if (status != RELN_OK) {
        *maps = NULL;
        reln_put_back(ctx, &before);
    }
    return RELN_OK;
}

/* ---- exact forms ------------------------------------------------------------------------------------------ */

/* Reads the mantissas of doubles over one power of two, if they fit. */
static bool read_mantissas(int count, const RelnEntry *entries, int64_t *num, int *exponent)
{
    int low = INT_MAX;

    for (int e = 0; e < count; e++) {
        int own = 0;
        if (!isfinite(entries[e].value))
            return false;
        (void)frexp(entries[e].value, &own);
        if (entries[e].value != 0)
            low = own - DBL_MANT_DIG < low ? own - DBL_MANT_DIG : low;
    }
    *exponent = low == INT_MAX ? 0 : low;
    for (int e = 0; e < count; e++) {
        const double whole = ldexp(entries[e].value, -*exponent);
        if (!(fabs(whole) < 0x1p62))
            return false;
        num[e] = (int64_t)whole;
    }
    return true;
}

static bool read_ratios(int count, const RelnEntry *entries, double *x, int64_t *num, int64_t *den)
{
    for (int e = 0; e < count; e++)
        x[e] = entries[e].value;
    return reln_read_numbers(reln_read_ratio, count, x, num, den);
}

static double rounded(int64_t num, int64_t den, int exponent)
{
    return ldexp((double)((long double)num / (long double)den), exponent);
}

/* Stores the entries with the values of their numerators. */
static RelnStatus store(RelnArena *arena, int count, const RelnEntry *entries, const int64_t *num,
                        int64_t den, int exponent, RelnSettled *out)
{
    RelnEntry *copy = reln_arena_copy(arena, entries, (size_t)count, sizeof *copy);
    bool same = true;

    if (!copy)
        return RELN_ERR_NOMEM;
    for (int e = 0; e < count; e++) {
        copy[e].value = rounded(num[e], den, exponent);
        same = same && copy[e].value == entries[e].value;
    }
    *out = (RelnSettled){count, same ? entries : copy, 0, num, den, exponent};
    return RELN_OK;
}

/* *done: the fractions near the numbers, or the numbers themselves, are an intertwiner. Fractions are tried
 * first, so that 2.9999999999999996 from a sum of products becomes 3. */
static RelnStatus settle_exactly(RelnArena *arena, const RelnRep *u, const RelnRep *v,
                                 const RelnRep *w, int count, const RelnEntry *entries,
                                 RelnSettled *out, bool *done)
{
    int64_t *num = reln_arena_alloc(arena, (size_t)count, sizeof *num), den = 1;
    double *x = reln_arena_alloc(arena, (size_t)count, sizeof *x);
    int exponent = 0;

    *done = false;
    if (!num || !x)
        return RELN_ERR_NOMEM;
    if (read_ratios(count, entries, x, num, &den))
        RELN_TRY(reln_exact_verify(u, v, w, count, entries, num, done));
    if (!*done && read_mantissas(count, entries, num, &exponent)) {
        den = 1;
        RELN_TRY(reln_exact_verify(u, v, w, count, entries, num, done));
    }
    return *done ? store(arena, count, entries, num, den, exponent, out) : RELN_OK;
}

/* ---- projections ------------------------------------------------------------------------------------------ */

/* Returns the position where map m is 1 and all others are 0: its first entry, since maps are in echelon
 * form. */
static ptrdiff_t pivot_of(const RelnMaps *maps, ptrdiff_t volume, int m)
{
    ptrdiff_t e = 0;

    while (e < volume && maps->values[m * volume + e] == 0)
        e++;
    return e;
}

static void combine(const RelnMaps *maps, ptrdiff_t volume, const double *c, double *out)
{
    memset(out, 0, (size_t)volume * sizeof *out);
    for (int m = 0; m < maps->count; m++)
        for (ptrdiff_t e = 0; e < volume && c[m] != 0; e++)
            out[e] += c[m] * maps->values[m * volume + e];
}

/* c += (M M^T)^-1 M (t - p): coefficients of the nearest combination. */
static RelnStatus least_squares(RelnArena *arena, const RelnMaps *maps, ptrdiff_t volume,
                                const double *t, const double *p, double *c)
{
    const size_t n = (size_t)maps->count;
    double *gram = reln_arena_alloc(arena, n * n, sizeof *gram);
    double *right = reln_arena_alloc(arena, n, sizeof *right);
    double *step = reln_arena_alloc(arena, n, sizeof *step);

    if (!gram || !right || !step)
        return RELN_ERR_NOMEM;
    for (size_t a = 0; a < n; a++)
        for (ptrdiff_t e = 0; e < volume; e++) {
            const double x = maps->values[(ptrdiff_t)a * volume + e];
            right[a] += x * (t[e] - p[e]);
            for (size_t b = 0; b < n && x != 0; b++)
                gram[a * n + b] += x * maps->values[(ptrdiff_t)b * volume + e];
        }
    RELN_TRY(reln_solve(arena->ctx, maps->count, 1, gram, right, step));
    for (size_t a = 0; a < n; a++)
        c[a] += step[a];
    return RELN_OK;
}

static double distance(ptrdiff_t volume, const double *x, const double *y)
{
    double largest = 0;

    for (ptrdiff_t e = 0; e < volume; e++)
        largest = fmax(largest, fabs(x[e] - y[e]));
    return largest;
}

/* Computes the coefficients of the projection and its values p. If the constant lies in the space up to
 * rounding, the coefficients are its entries at the pivots, so that those entries stay unchanged. */
static RelnStatus project(RelnArena *arena, const RelnMaps *maps, ptrdiff_t volume, const double *t,
                          double *c, double *p)
{
    for (int m = 0; m < maps->count; m++)
        c[m] = t[pivot_of(maps, volume, m)];
    combine(maps, volume, c, p);
    if (maps->count == 0 || distance(volume, t, p) <= 4 * DBL_EPSILON * reln_largest(volume, t))
        return RELN_OK;
    RELN_TRY(least_squares(arena, maps, volume, t, p, c));
    combine(maps, volume, c, p);
    return RELN_OK;
}

/* Lists dense numbers (k, i, j) as entries. */
static RelnStatus list(RelnArena *arena, const RelnMaps *maps, const double *x, RelnSettled *out)
{
    const ptrdiff_t nu = maps->dims[1], nv = maps->dims[2], volume = maps->dims[0] * nu * nv;
    RelnEntry *entries = reln_arena_alloc(arena, (size_t)volume, sizeof *entries);

    if (!entries)
        return RELN_ERR_NOMEM;
    out->entries = entries;
    out->count = 0;
    for (ptrdiff_t e = 0; e < volume; e++)
        if (x[e] != 0)
            entries[out->count++] =
                (RelnEntry){(int)(e / nv % nu), (int)(e % nv), (int)(e / nv / nu), x[e]};
    return RELN_OK;
}

/* num = sum_m whole_m M_m over the maps' common denominator, for coefficients whole_m 2^exponent; false when
 * numbers grow too large. Coefficients are rounded to 52 bits of the largest. */
static bool exact_sum(const RelnMaps *maps, ptrdiff_t volume, const double *c, int64_t *num,
                      int64_t *den, int *exponent)
{
    int64_t common = 1;

    (void)frexp(reln_largest(maps->count, c), exponent);
    *exponent -= DBL_MANT_DIG - 1;
    for (int m = 0; m < maps->count; m++) {
        int64_t a = common, b = maps->denominators[m];
        while (b != 0) {
            const int64_t r = a % b;
            a = b;
            b = r;
        }
        if (__builtin_mul_overflow(common, maps->denominators[m] / a, &common) || common > 1 << 24)
            return false;
    }
    for (int m = 0; m < maps->count; m++) {
        const int64_t whole = (int64_t)nearbyint(ldexp(c[m], -*exponent));
        const int64_t f = common / maps->denominators[m];
        for (ptrdiff_t e = 0; e < volume && whole != 0; e++) {
            int64_t term;
            if (maps->numerators[m * volume + e] == 0)
                continue;
            if (__builtin_mul_overflow(whole, f * maps->numerators[m * volume + e], &term) ||
                __builtin_add_overflow(num[e], term, &num[e]))
                return false;
        }
    }
    *den = common;
    return true;
}

/* Lists the projection with its exact form, if the maps have one and it is verified. */
static RelnStatus list_exactly(RelnArena *arena, const RelnRep *u, const RelnRep *v,
                               const RelnRep *w, const RelnMaps *maps, const double *c,
                               RelnSettled *out)
{
    const ptrdiff_t nu = maps->dims[1], nv = maps->dims[2], volume = maps->dims[0] * nu * nv;
    int64_t *num = reln_arena_alloc(arena, (size_t)volume, sizeof *num), den = 1;
    RelnEntry *entries = reln_arena_alloc(arena, (size_t)volume, sizeof *entries);
    int exponent = 0, count = 0;
    bool holds = false;

    if (!num || !entries)
        return RELN_ERR_NOMEM;
    if (!maps->numerators || !exact_sum(maps, volume, c, num, &den, &exponent))
        return RELN_OK;
    for (ptrdiff_t e = 0; e < volume; e++)
        if (num[e] != 0) {
            entries[count] = (RelnEntry){(int)(e / nv % nu), (int)(e % nv), (int)(e / nv / nu),
                                         rounded(num[e], den, exponent)};
            num[count++] = num[e];
        }
    RELN_TRY(reln_exact_verify(u, v, w, count, entries, num, &holds));
    if (holds)
        *out = (RelnSettled){count, entries, 0, num, den, exponent};
    return RELN_OK;
}

/* Computes the projection of the constant, and the largest distance between the two. */
static RelnStatus nearest(RelnArena *arena, const RelnRep *u, const RelnRep *v, const RelnRep *w,
                          const RelnMaps *maps, int count, const RelnEntry *entries,
                          RelnSettled *out, double *away)
{
    const ptrdiff_t nu = maps->dims[1], nv = maps->dims[2], volume = maps->dims[0] * nu * nv;
    double *t = reln_arena_alloc(arena, (size_t)volume, sizeof *t);
    double *p = reln_arena_alloc(arena, (size_t)volume, sizeof *p);
    double *c = reln_arena_alloc(arena, (size_t)maps->count, sizeof *c);

    if (!t || !p || !c)
        return RELN_ERR_NOMEM;
    for (int e = 0; e < count; e++)
        t[(entries[e].k * nu + entries[e].i) * nv + entries[e].j] += entries[e].value;
    RELN_TRY(project(arena, maps, volume, t, c, p));
    *away = distance(volume, p, t);
    RELN_TRY(list(arena, maps, p, out));
    return list_exactly(arena, u, v, w, maps, c, out);
}

static void refuse(RelnVerdict *verdict, double away)
{
    verdict->equivariant = false;
    snprintf(verdict->text, sizeof verdict->text,
             "the nearest equivariant one is %.2g of its size away, though every generator is "
             "within tolerance (residual %.2g)",
             away, verdict->residual);
}

static bool all_exact(const RelnRep *u, const RelnRep *v, const RelnRep *w)
{
    return u->exact && w->exact && (!v || v->exact);
}

/* Uses the projection if it is better: exact, or with a smaller residual. */
static RelnStatus take_projection(const RelnRep *u, const RelnRep *v, const RelnRep *w,
                                  const RelnSettled *projected, double own, RelnSettled *out)
{
    RelnVerdict again;
    double own_again = 0;

    if (projected->numerators) {
        *out = *projected;
        return RELN_OK;
    }
    RELN_TRY(reln_check_cells(u, v, w, projected->count, projected->entries, &again, &own_again));
    if (again.equivariant && own_again < own) {
        *out = *projected;
        out->residual = own_again;
    }
    return RELN_OK;
}

RelnStatus reln_settle(RelnArena *arena, const RelnRep *u, const RelnRep *v, const RelnRep *w,
                       int count, const RelnEntry *entries, RelnSettled *out, RelnVerdict *verdict)
{
    const double size = largest_entry(count, entries);
    const RelnMaps *maps;
    RelnSettled projected = {0};
    double own = 0, away = 0;
    bool done = false;

    *out = (RelnSettled){.count = count, .entries = entries};
    RELN_TRY(reln_check_cells(u, v, w, count, entries, verdict, &own));
    out->residual = own;
    if (!verdict->equivariant)
        return RELN_OK;
    if (all_exact(u, v, w))
        RELN_TRY(settle_exactly(arena, u, v, w, count, entries, out, &done));
    if (done || (own <= rounding(u, v, w) && !all_exact(u, v, w)))
        return RELN_OK;
    RELN_TRY(solve(u, v, w, &maps));
    if (!maps)
        return RELN_OK;
    RELN_TRY(nearest(arena, u, v, w, maps, count, entries, &projected, &away));
    if (!(away <= NEAR * size)) {
        refuse(verdict, away / size);
        return RELN_OK;
    }
    return take_projection(u, v, w, &projected, own, out);
}

RelnStatus reln_settled_holds(const RelnRep *u, const RelnRep *v, const RelnRep *w,
                              const RelnSettled *settled, const RelnEntry *entries, int units,
                              bool *holds)
{
    *holds = settled->numerators != NULL;
    for (int e = 0; e < settled->count && *holds; e++) {
        const double wanted =
            rounded(settled->numerators[e], settled->denominator, settled->exponent);
        *holds = entries[e].i == settled->entries[e].i && entries[e].j == settled->entries[e].j &&
                 entries[e].k == settled->entries[e].k &&
                 fabs(entries[e].value - wanted) <= units * DBL_EPSILON * fabs(wanted);
    }
    return *holds ? reln_exact_verify(u, v, w, settled->count, settled->entries,
                                      settled->numerators, holds)
                  : RELN_OK;
}
