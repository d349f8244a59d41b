/* legs.c -- acting on tensors of three legs, sizes of generators, and which eigenvalues count as zero. */
#include <math.h>
#include <string.h>

#include "rep/invariants.h"
#include "tensor/linalg.h"

/* Eigenvalues of Gram matrices count as zero below RELN_ZERO_BELOW of the norms, and as non-zero above this
 * share; between the two, the rank is undecided. */
#define NONZERO_ABOVE 1e-8

/* ---- acting on tensors ---------------------------------------------------------------------------------------- */

ptrdiff_t reln_volume(const Problem *p)
{
    return (ptrdiff_t)p->leg[0].dim * p->leg[1].dim * p->leg[2].dim;
}

ptrdiff_t reln_leg_stride(const Problem *p, int leg)
{
    return leg == 2 ? 1 : leg == 1 ? p->leg[2].dim : (ptrdiff_t)p->leg[1].dim * p->leg[2].dim;
}

void reln_add_mode(const Problem *p, int leg, const double *m, const double *x, double *y)
{
    const ptrdiff_t dim = p->leg[leg].dim, inner = reln_leg_stride(p, leg),
                    outer = reln_volume(p) / dim / inner;

    for (ptrdiff_t o = 0; o < outer; o++)
        for (ptrdiff_t a = 0; a < dim; a++)
            for (ptrdiff_t b = 0; b < dim; b++) {
                const double f = m[a * dim + b];
                const double *from = x + (o * dim + b) * inner;
                double *to = y + (o * dim + a) * inner;
                for (ptrdiff_t i = 0; i < inner && f != 0; i++)
                    to[i] += f * from[i];
            }
}

void reln_act_group(const Problem *p, const double *const m[3], const double *x, double *tmp,
                    double *y)
{
    const size_t bytes = (size_t)reln_volume(p) * sizeof *y;

    memset(y, 0, bytes);
    reln_add_mode(p, 0, m[0], x, y);
    memset(tmp, 0, bytes);
    reln_add_mode(p, 1, m[1], y, tmp);
    memset(y, 0, bytes);
    reln_add_mode(p, 2, m[2], tmp, y);
}

void reln_discrete_matrices(const Problem *p, int gamma, const double *m[3])
{
    for (int l = 0; l < 3; l++)
        m[l] = p->leg[l].discrete + (ptrdiff_t)gamma * p->leg[l].dim * p->leg[l].dim;
}

double reln_leg_norm(const Leg *leg, const double *m)
{
    return reln_mat_norm((ptrdiff_t)leg->dim * leg->dim, m);
}

/* Bounds on G: sum_a (sum of the legs' norms)^2, and sum_gamma (1 + product of the legs' norms)^2. */
double reln_lie_scale(const Problem *p)
{
    double total = 0;

    for (int a = 0; a < p->rank; a++) {
        double sum = 0;
        for (int l = 0; l < 3; l++) {
            const Leg *leg = &p->leg[l];
            sum += reln_leg_norm(leg, leg->lie + (ptrdiff_t)a * leg->dim * leg->dim);
        }
        total += sum * sum;
    }
    return total;
}

/* Norms divided by sqrt(dim), which is 1 for orthogonal matrices. */
double reln_discrete_scale(const Problem *p, int gamma)
{
    const double *m[3];
    double product = 1;

    reln_discrete_matrices(p, gamma, m);
    for (int l = 0; l < 3; l++)
        product *= reln_leg_norm(&p->leg[l], m[l]) / sqrt(p->leg[l].dim);
    return (1 + product) * (1 + product);
}

/* ---- deciding dimensions ---------------------------------------------------------------------------------- */

RelnStatus reln_count_zeros(RelnCtx *ctx, ptrdiff_t n, const double *values, double scale,
                            ptrdiff_t *count)
{
    *count = 0;
    while (*count < n && values[*count] <= NONZERO_ABOVE * scale)
        ++*count;
    if (*count > 0 && values[*count - 1] > RELN_ZERO_BELOW * scale)
        return reln_fail(ctx, RELN_ERR_NUMERIC,
                         "the number of invariant maps cannot be told: eigenvalue %.2g of the "
                         "constraints is neither zero (below %.2g) nor not (above %.2g)",
                         values[*count - 1], RELN_ZERO_BELOW * scale, NONZERO_ABOVE * scale);
    return RELN_OK;
}

void reln_combine_rows(ptrdiff_t m, ptrdiff_t count, ptrdiff_t first, const double *v, ptrdiff_t d,
                       const double *x, double *out)
{
    reln_mat_gemm(true, false, count, d, m, 1, v + first, m, x, d, 0, out, d);
}

RelnStatus reln_orthonormal_rows(RelnArena *arena, ptrdiff_t m, ptrdiff_t d, const double *x,
                                 ptrdiff_t count, double *out)
{
    double *gram = reln_arena_alloc(arena, (size_t)(m * m), sizeof *gram);
    double *v = reln_arena_alloc(arena, (size_t)(m * m), sizeof *v);
    double *w = reln_arena_alloc(arena, (size_t)m, sizeof *w);

    if (!gram || !v || !w)
        return RELN_ERR_NOMEM;
    reln_mat_gemm(false, true, m, m, d, 1, x, d, x, d, 0, gram, m);
    RELN_TRY(reln_eigh(arena->ctx, m, gram, w, v));
    if (!(w[m - count] > NONZERO_ABOVE * w[m - 1]) ||
        (m > count && !(w[m - count - 1] <= RELN_ZERO_BELOW * w[m - 1])))
        return reln_fail(arena->ctx, RELN_ERR_NUMERIC,
                         "%td invariant maps found, but their real parts have eigenvalues %.2g "
                         "and %.2g around that number (largest %.2g)",
                         count, w[m - count], m > count ? w[m - count - 1] : 0.0, w[m - 1]);
    for (ptrdiff_t t = m - count; t < m; t++)
        for (ptrdiff_t i = 0; i < m; i++)
            v[i * m + t] /= sqrt(w[t]);
    reln_combine_rows(m, count, m - count, v, d, x, out);
    return RELN_OK;
}
