/* settle.c -- what a constant of a user becomes: kept where it is an intertwiner to rounding, replaced by the nearest
 * one where it is within tolerance, refused elsewhere.
 *
 * A tolerance that stays in a constant can be used many times over: ((1 + 5e-11 N) x - x) 2e10 = N x. So a residual above
 * rounding is taken out of the constant before it enters a graph.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rep/settle.h"

/* Spaces of maps with more coordinates are not solved for this. */
enum { SOLVED_AT_MOST = 4096 };

/* A constant must be this near to its projection, as a share of its largest number. */
#define NEAR 1e-6

/* Rounding of a residual in units of its terms: each coordinate adds up a term for every coordinate of the reps, and a
 * term is a product of two rounded numbers. */
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

/* The space of equivariant maps; *maps is NULL where it is too large or cannot be solved. */
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

/* The position where map m is 1 and all others are 0, which an echelon form has; -1: none. */
static ptrdiff_t pivot_of(const RelnMaps *maps, ptrdiff_t volume, int m)
{
    for (ptrdiff_t e = 0; e < volume; e++) {
        bool alone = maps->values[m * volume + e] == 1;
        for (int other = 0; other < maps->count && alone; other++)
            alone = other == m || maps->values[other * volume + e] == 0;
        if (alone)
            return e;
    }
    return -1;
}

/* out = sum_m t[pivot of m] M_m. False when a map has no pivot of its own. */
static bool project(const RelnMaps *maps, ptrdiff_t volume, const double *t, double *out)
{
    for (int m = 0; m < maps->count; m++) {
        const ptrdiff_t at = pivot_of(maps, volume, m);
        if (at < 0)
            return false;
        for (ptrdiff_t e = 0; e < volume && t[at] != 0; e++)
            out[e] += t[at] * maps->values[m * volume + e];
    }
    return true;
}

/* Dense numbers (k, i, j) as entries. */
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

/* The projection of the constant, and its largest distance from it; *found is false where there is none. */
static RelnStatus nearest(RelnArena *arena, const RelnMaps *maps, int count,
                          const RelnEntry *entries, RelnSettled *out, double *away, bool *found)
{
    const ptrdiff_t nu = maps->dims[1], nv = maps->dims[2], volume = maps->dims[0] * nu * nv;
    double *t = reln_arena_alloc(arena, (size_t)volume, sizeof *t);
    double *p = reln_arena_alloc(arena, (size_t)volume, sizeof *p);

    if (!t || !p)
        return RELN_ERR_NOMEM;
    for (int e = 0; e < count; e++)
        t[(entries[e].k * nu + entries[e].i) * nv + entries[e].j] += entries[e].value;
    *found = project(maps, volume, t, p);
    *away = 0;
    for (ptrdiff_t e = 0; e < volume; e++)
        *away = fmax(*away, fabs(p[e] - t[e]));
    return list(arena, maps, p, out);
}

static void refuse(RelnVerdict *verdict, double away)
{
    verdict->equivariant = false;
    snprintf(verdict->text, sizeof verdict->text,
             "the nearest equivariant one is %.2g of its size away, though every generator is "
             "within tolerance (residual %.2g)",
             away, verdict->residual);
}

RelnStatus reln_settle(RelnArena *arena, const RelnRep *u, const RelnRep *v, const RelnRep *w,
                       int count, const RelnEntry *entries, RelnSettled *out, RelnVerdict *verdict)
{
    const double size = largest_entry(count, entries);
    const RelnMaps *maps;
    RelnSettled projected = {0};
    RelnVerdict again;
    double own = 0, own_again = 0, away = 0;
    bool found = false;

    *out = (RelnSettled){count, entries, 0};
    RELN_TRY(reln_check_cells(u, v, w, count, entries, verdict, &own));
    out->residual = own;
    if (!verdict->equivariant || own <= rounding(u, v, w))
        return RELN_OK;
    RELN_TRY(solve(u, v, w, &maps));
    if (maps)
        RELN_TRY(nearest(arena, maps, count, entries, &projected, &away, &found));
    if (!found)
        return RELN_OK;
    if (!(away <= NEAR * size)) {
        refuse(verdict, away / size);
        return RELN_OK;
    }
    RELN_TRY(reln_check_cells(u, v, w, projected.count, projected.entries, &again, &own_again));
    if (again.equivariant && own_again < own) {
        *out = projected;
        out->residual = own_again;
    }
    return RELN_OK;
}
