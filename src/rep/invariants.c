/* invariants.c -- the invariant tensors of a product of three legs, by weights, by averaging, or directly.
 *
 * By weights, with Lie generators: a generic element H of the Lie algebra is diagonal in the eigenbasis of each leg, and there
 * an invariant tensor has entries only where the three eigenvalues (weights) add up to zero. On these few unknowns, the
 * Gram matrix G = sum_a A_a^H A_a of an orthonormal basis of the algebra is small; the solutions are its kernel. If the
 * algebra is closed under transposition, G is the Casimir operator of the compact form, so its eigenvalues are well
 * separated. Discrete generators then restrict the kernel one after another.
 * By averaging, for finite groups: the average over all elements projects on the invariants; its trace is their number.
 * Directly, for all other groups and for generators that cannot be diagonalised: G over all entries, if it fits in memory.
 */
#include "rep/invariants.h"

#include <math.h>
#include <string.h>

#include "tensor/linalg.h"

/* Largest number of unknowns of the direct method; and number of extra vectors that are averaged. */
enum { MAX_DIRECT_UNKNOWNS = 1536, EXTRA_VECTORS = 4 };

/* ---- discrete generators -------------------------------------------------------------------------------------- */

/* Finds the combinations of orthonormal rows (count, d) that gamma leaves unchanged. */
static RelnStatus cut(RelnArena *arena, const Problem *p, int gamma, int *count, double **rows)
{
    const ptrdiff_t d = reln_volume(p), m = *count;
    double *moved = reln_arena_alloc(arena, (size_t)(m * d), sizeof *moved);
    double *tmp = reln_arena_alloc(arena, (size_t)d, sizeof *tmp);
    double *gram = reln_arena_alloc(arena, (size_t)(m * m), sizeof *gram);
    double *v = reln_arena_alloc(arena, (size_t)(m * m), sizeof *v);
    double *w = reln_arena_alloc(arena, (size_t)m, sizeof *w), *kept;
    const double *matrices[3];
    ptrdiff_t zeros = 0;

    if (!moved || !tmp || !gram || !v || !w)
        return RELN_ERR_NOMEM;
    reln_discrete_matrices(p, gamma, matrices);
    for (ptrdiff_t t = 0; t < m; t++) {
        reln_act_group(p, matrices, *rows + t * d, tmp, moved + t * d);
        for (ptrdiff_t e = 0; e < d; e++)
            moved[t * d + e] -= (*rows)[t * d + e];
    }
    reln_mat_gemm(false, true, m, m, d, 1, moved, d, moved, d, 0, gram, m);
    RELN_TRY(reln_eigh(arena->ctx, m, gram, w, v));
    RELN_TRY(reln_count_zeros(arena->ctx, m, w, reln_discrete_scale(p, gamma), &zeros));
    kept = reln_arena_alloc(arena, (size_t)(zeros * d), sizeof *kept);
    if (!kept)
        return RELN_ERR_NOMEM;
    if (zeros > 0)
        reln_combine_rows(m, zeros, 0, v, d, *rows, kept);
    *count = (int)zeros;
    *rows = kept;
    return RELN_OK;
}

/* ---- finite groups -------------------------------------------------------------------------------------------- */

/* Computes the matrices of all elements on a leg: generator times parent. */
static RelnStatus leg_elements(RelnArena *arena, const Problem *p, int l, double **out)
{
    const Closure *c = p->elements;
    const ptrdiff_t dim = p->leg[l].dim, size = dim * dim;

    *out = reln_arena_alloc(arena, (size_t)(c->count * size), sizeof **out);
    if (!*out)
        return RELN_ERR_NOMEM;
    reln_mat_identity(dim, *out);
    for (int e = 1; e < c->count; e++)
        reln_mat_mul(dim, dim, dim, p->leg[l].discrete + c->generator[e] * size,
                     *out + c->parent[e] * size, *out + e * size);
    return RELN_OK;
}

/* Computes the trace of the average, which is the number of invariants. */
static RelnStatus average_trace(RelnArena *arena, const Problem *p, double *const legs[3],
                                int *count)
{
    double sum = 0;

    for (int e = 0; e < p->elements->count; e++) {
        double product = 1;
        for (int l = 0; l < 3; l++) {
            const ptrdiff_t dim = p->leg[l].dim;
            product *= reln_mat_trace(dim, legs[l] + e * dim * dim);
        }
        sum += product / p->elements->count;
    }
    *count = (int)lround(sum);
    if (fabs(sum - *count) > 1e-6)
        return reln_fail(arena->ctx, RELN_ERR_NUMERIC,
                         "the average over %d elements has trace %.9g, a whole number wanted: not "
                         "a representation",
                         p->elements->count, sum);
    return RELN_OK;
}

/* Averages random tensors over the group; their averages span the invariants. */
static RelnStatus by_averaging(RelnArena *arena, const Problem *p, int *count, double **rows)
{
    const ptrdiff_t d = reln_volume(p);
    RelnRng rng = reln_rng(0x61766572616765ULL, 0);
    double *legs[3], *x = reln_arena_alloc(arena, (size_t)(3 * d), sizeof *x), *sums;
    ptrdiff_t m;

    for (int l = 0; l < 3; l++)
        RELN_TRY(leg_elements(arena, p, l, &legs[l]));
    RELN_TRY(average_trace(arena, p, legs, count));
    m = *count + EXTRA_VECTORS;
    sums = reln_arena_alloc(arena, (size_t)(m * d), sizeof *sums);
    *rows = reln_arena_alloc(arena, (size_t)(*count * d), sizeof **rows);
    if (!x || !sums || !*rows)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t t = 0; t<m && * count> 0; t++) {
        for (ptrdiff_t e = 0; e < d; e++)
            x[e] = reln_rng_normal(&rng);
        for (int g = 0; g < p->elements->count; g++) {
            const double *matrices[3];
            for (int l = 0; l < 3; l++)
                matrices[l] = legs[l] + (ptrdiff_t)g * p->leg[l].dim * p->leg[l].dim;
            reln_act_group(p, matrices, x, x + d, x + 2 * d);
            for (ptrdiff_t e = 0; e < d; e++)
                sums[t * d + e] += x[2 * d + e] / p->elements->count;
        }
    }
    return *count > 0 ? reln_orthonormal_rows(arena, m, d, sums, *count, *rows) : RELN_OK;
}

/* ---- directly --------------------------------------------------------------------------------------------- */

/* Writes the image of the t-th unit tensor under a generator to row t; Lie generators come first. */
static void unit_images(const Problem *p, int generator, double *unit, double *tmp, double *images)
{
    const ptrdiff_t d = reln_volume(p);
    const double *matrices[3];

    memset(images, 0, (size_t)(d * d) * sizeof *images);
    if (generator >= p->rank)
        reln_discrete_matrices(p, generator - p->rank, matrices);
    for (ptrdiff_t t = 0; t < d; t++) {
        unit[t] = 1;
        for (int l = 0; l < 3 && generator < p->rank; l++)
            reln_add_mode(p, l,
                          p->leg[l].lie + (ptrdiff_t)generator * p->leg[l].dim * p->leg[l].dim,
                          unit, images + t * d);
        if (generator >= p->rank) {
            reln_act_group(p, matrices, unit, tmp, images + t * d);
            images[t * d + t] -= 1;
        }
        unit[t] = 0;
    }
}

static RelnStatus directly(RelnArena *arena, const Problem *p, int *count, double **rows)
{
    const ptrdiff_t d = reln_volume(p);
    double *unit, *images, *gram, *w, *v, scale = reln_lie_scale(p);
    ptrdiff_t zeros = 0;

    if (d > MAX_DIRECT_UNKNOWNS)
        return reln_fail(arena->ctx, RELN_ERR_UNSUPPORTED,
                         "equivariant maps of generators that cannot be diagonalised: %td "
                         "unknowns, at most %d are possible",
                         d, MAX_DIRECT_UNKNOWNS);
    unit = reln_arena_alloc(arena, (size_t)(2 * d), sizeof *unit);
    images = reln_arena_alloc(arena, (size_t)(d * d), sizeof *images);
    gram = reln_arena_alloc(arena, (size_t)(d * d), sizeof *gram);
    w = reln_arena_alloc(arena, (size_t)d, sizeof *w);
    v = reln_arena_alloc(arena, (size_t)(d * d), sizeof *v);
    if (!unit || !images || !gram || !w || !v)
        return RELN_ERR_NOMEM;
    for (int g = 0; g < p->rank + p->n_discrete; g++) {
        scale += g >= p->rank ? reln_discrete_scale(p, g - p->rank) : 0;
        unit_images(p, g, unit, unit + d, images);
        reln_mat_gemm(false, true, d, d, d, 1, images, d, images, d, 1, gram, d);
    }
    RELN_TRY(reln_eigh(arena->ctx, d, gram, w, v));
    RELN_TRY(reln_count_zeros(arena->ctx, d, w, scale, &zeros));
    *rows = reln_arena_alloc(arena, (size_t)(zeros * d), sizeof **rows);
    if (!*rows)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t t = 0; t < zeros; t++)
        for (ptrdiff_t e = 0; e < d; e++)
            (*rows)[t * d + e] = v[e * d + t];
    *count = (int)zeros;
    return RELN_OK;
}

RelnStatus reln_invariants(RelnArena *arena, const Problem *problem, int *count, double **rows)
{
    bool good = problem->rank > 0;
    Kept before;

    reln_keep_message(arena->ctx, &before);
    if (problem->elements)
        return by_averaging(arena, problem, count, rows);
    if (good)
        RELN_TRY(reln_by_weights(arena, problem, count, rows, &good));
    if (!good) {
        reln_put_back(arena->ctx, &before);
        return directly(arena, problem, count, rows);
    }
    RELN_TRY(reln_polish(arena, problem, *count, *rows));
    for (int g = 0; g < problem->n_discrete && (*count > 0); g++)
        RELN_TRY(cut(arena, problem, g, count, rows));
    return RELN_OK;
}
