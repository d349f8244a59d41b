/* projector.c -- the orthogonal projector on a space of maps: P = M^T (M M^T)^-1 M, with the maps as rows of M.
 *
 * If the maps are fractions, P is too: it is solved modulo a prime, reconstructed, and verified in integers. The conditions
 * P^T = P = P^2, P M^T = M^T and trace P = number of maps determine the projector.
 */
#include <math.h>
#include <string.h>

#include "rep/exact.h"
#include "tensor/linalg.h"

/* Largest denominator of a projector; and the bound below which its entries count as zero in floating
 * point. */
#define LARGEST_COMMON ((int64_t)1 << 30)
#define ZERO 1e-14

/* ---- in fractions ----------------------------------------------------------------------------------------- */

/* Writes rows [M M^T | M] modulo the prime, with the numerators in place of M: scaling a row does not change
 * the projector. */
static void fill_rows(const RelnMaps *maps, ptrdiff_t d, uint64_t *x)
{
    const ptrdiff_t m = maps->count, width = m + d;

    for (ptrdiff_t a = 0; a < m; a++) {
        for (ptrdiff_t e = 0; e < d; e++)
            x[a * width + m + e] = reln_mod_fraction(maps->numerators[a * d + e], 1);
        for (ptrdiff_t b = 0; b < m; b++) {
            Wide dot = 0;
            for (ptrdiff_t e = 0; e < d; e++)
                dot += (Wide)maps->numerators[a * d + e] * maps->numerators[b * d + e];
            dot %= (Wide)RELN_PRIME;
            x[a * width + b] = (uint64_t)(dot < 0 ? dot + (Wide)RELN_PRIME : dot);
        }
    }
}

/* Gauss-Jordan elimination, after which (M M^T)^-1 M stands on the right. False if the prime divides the
 * determinant. */
static bool solve_rows(ptrdiff_t m, ptrdiff_t width, uint64_t *x)
{
    for (ptrdiff_t a = 0; a < m; a++) {
        ptrdiff_t pivot = a;
        while (pivot < m && x[pivot * width + a] == 0)
            pivot++;
        if (pivot == m)
            return false;
        for (ptrdiff_t e = 0; e < width && pivot != a; e++) {
            const uint64_t y = x[a * width + e];
            x[a * width + e] = x[pivot * width + e];
            x[pivot * width + e] = y;
        }
        const uint64_t inverse = reln_mod_inverse(x[a * width + a]);
        for (ptrdiff_t e = a; e < width; e++)
            x[a * width + e] = reln_mod_mul(x[a * width + e], inverse);
        for (ptrdiff_t b = 0; b < m; b++) {
            const uint64_t f = reln_mod_negate(x[b * width + a]);
            for (ptrdiff_t e = a; e < width && b != a && f != 0; e++)
                x[b * width + e] =
                    reln_mod_add(x[b * width + e], reln_mod_mul(f, x[a * width + e]));
        }
    }
    return true;
}

/* p = M^T X as fractions over one denominator. */
static bool multiply_rows(const RelnMaps *maps, ptrdiff_t d, const uint64_t *x, int64_t *num,
                          int64_t *den)
{
    const ptrdiff_t m = maps->count, width = m + d;
    int64_t common = 1;

    for (int round = 0; round < 2; round++) /* the denominator, then the numerators */
        for (ptrdiff_t i = 0; i < d; i++)
            for (ptrdiff_t j = 0; j < d; j++) {
                uint64_t sum = 0;
                int64_t p, q, a = common, b;
                for (ptrdiff_t t = 0; t < m; t++)
                    if (maps->numerators[t * d + i] != 0)
                        sum = reln_mod_add(
                            sum, reln_mod_mul(reln_mod_fraction(maps->numerators[t * d + i], 1),
                                              x[t * width + m + j]));
                if (!reln_mod_reconstruct(sum, &p, &q))
                    return false;
                for (b = q; b != 0;) {
                    const int64_t r = a % b;
                    a = b;
                    b = r;
                }
                common *= q / a;
                if (common > LARGEST_COMMON || __builtin_mul_overflow(p, common / q, &p))
                    return false;
                num[i * d + j] = p;
            }
    *den = common;
    return true;
}

static bool is_projector(const RelnMaps *maps, ptrdiff_t d, const int64_t *num, int64_t den)
{
    Wide trace = 0;

    for (ptrdiff_t i = 0; i < d; i++) {
        trace += num[i * d + i];
        for (ptrdiff_t j = 0; j < d; j++) {
            Wide square = 0;
            for (ptrdiff_t k = 0; k < d; k++)
                square += (Wide)num[i * d + k] * num[k * d + j];
            if (num[i * d + j] != num[j * d + i] || square != (Wide)den * num[i * d + j])
                return false;
        }
        for (ptrdiff_t t = 0; t < maps->count; t++) {
            Wide image = 0;
            for (ptrdiff_t k = 0; k < d; k++)
                image += (Wide)num[i * d + k] * maps->numerators[t * d + k];
            if (image != (Wide)den * maps->numerators[t * d + i])
                return false;
        }
    }
    return trace == (Wide)den * maps->count;
}

static RelnStatus project_exactly(RelnArena *arena, const RelnMaps *maps, ptrdiff_t d, double *out,
                                  bool *done)
{
    const ptrdiff_t m = maps->count;
    uint64_t *x = reln_arena_alloc(arena, (size_t)(m * (m + d)), sizeof *x);
    int64_t *num = reln_arena_alloc(arena, (size_t)(d * d), sizeof *num), den = 1;

    *done = false;
    if (!x || !num)
        return RELN_ERR_NOMEM;
    fill_rows(maps, d, x);
    if (!solve_rows(m, m + d, x) || !multiply_rows(maps, d, x, num, &den) ||
        !is_projector(maps, d, num, den))
        return RELN_OK;
    for (ptrdiff_t e = 0; e < d * d; e++)
        out[e] = (double)num[e] / (double)den;
    *done = true;
    return RELN_OK;
}

/* ---- in floating point ------------------------------------------------------------------------------------ */

/* P = Q^T Q for orthonormal rows of Q. Entries that are rounding of 0 are set to 0, so that P stays
 * sparse. */
static RelnStatus project_floats(RelnArena *arena, const RelnMaps *maps, ptrdiff_t d, double *out)
{
    const ptrdiff_t m = maps->count;
    double *q = reln_arena_copy(arena, maps->values, (size_t)(m * d), sizeof *q);

    if (!q)
        return RELN_ERR_NOMEM;
    reln_rows_orthonormalise(m, d, q);
    memset(out, 0, (size_t)(d * d) * sizeof *out);
    for (ptrdiff_t r = 0; r < m; r++)
        for (ptrdiff_t i = 0; i < d; i++)
            for (ptrdiff_t j = 0; j < d && q[r * d + i] != 0.0; j++)
                out[i * d + j] += q[r * d + i] * q[r * d + j];
    for (ptrdiff_t e = 0; e < d * d; e++)
        out[e] = fabs(out[e]) < ZERO ? 0.0 : out[e];
    return RELN_OK;
}

RelnStatus reln_maps_projector(const RelnRep *owner, const RelnMaps *maps, double *projector)
{
    RelnStatus status = RELN_OK;
    RelnArena arena;
    bool done = false;

    if (!owner || !maps || !projector)
        return RELN_ERR_ARG;
    const ptrdiff_t d = (ptrdiff_t)maps->dims[0] * maps->dims[1] * maps->dims[2];
    reln_arena_init(&arena, owner->group->ctx);
    if (maps->numerators)
        status = project_exactly(&arena, maps, d, projector, &done);
    if (status == RELN_OK && !done)
        status = project_floats(&arena, maps, d, projector);
    reln_arena_clear(&arena);
    return status;
}
