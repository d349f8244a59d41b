/* structure.c -- structure constants, dense and sparse, and the Killing form computed from them. */
#include <math.h>
#include <string.h>

#include "algebra/analyse.h"
#include "tensor/linalg.h"

/* [x, y] with scratch for y x */
static void commutator(ptrdiff_t n, const double *x, const double *y, double *yx, double *out)
{
    reln_mat_mul(n, n, n, x, y, out);
    reln_mat_mul(n, n, n, y, x, yx);
    for (ptrdiff_t i = 0; i < n * n; i++)
        out[i] -= yx[i];
}

/* For one i: writes the brackets [E_i, E_j], j > i, to rows, their coordinates to c, and with the other sign
 * to c_ji. */
static void row_of(ptrdiff_t dim, ptrdiff_t n, const double *e, const double *f, ptrdiff_t i,
                   double *rows, double *c)
{
    const ptrdiff_t nn = n * n, m = dim - 1 - i;
    double *const yx = rows + dim * nn;
    double *const ci = c + (i * dim + i + 1) * dim;

    for (ptrdiff_t j = i + 1; j < dim; j++)
        commutator(n, e + i * nn, e + j * nn, yx, rows + (j - i - 1) * nn);
    if (m > 0)
        reln_mat_gemm(false, true, m, dim, nn, 1, rows, nn, f, nn, 0, ci, dim);
    for (ptrdiff_t j = i + 1; j < dim; j++)
        for (ptrdiff_t k = 0; k < dim; k++)
            c[(j * dim + i) * dim + k] = -ci[(j - i - 1) * dim + k];
}

/* Subtracts c F from the rows, and returns the length of the longest remaining row. */
static void look_outside(ptrdiff_t dim, ptrdiff_t n, const double *f, ptrdiff_t i, double *rows,
                         const double *c, RelnWorst *worst)
{
    const ptrdiff_t nn = n * n, m = dim - 1 - i;

    if (m > 0)
        reln_mat_gemm(false, false, m, nn, dim, -1, c + (i * dim + i + 1) * dim, dim, f, nn, 1,
                      rows, nn);
    for (ptrdiff_t r = 0; r < m; r++) {
        const double norm = reln_mat_norm(nn, rows + r * nn);
        if (norm > worst->residual)
            *worst = (RelnWorst){norm, (int)i, (int)(i + 1 + r)};
    }
}

RelnStatus reln_structure_dense(RelnCtx *ctx, int dim, int n, const double *e, const double *f,
                                double *c, RelnWorst *worst)
{
    const size_t nn = (size_t)n * (size_t)n;
    double *rows = reln_alloc(ctx, ((size_t)dim + 1) * nn, sizeof *rows);

    if (!rows)
        return RELN_ERR_NOMEM;
    if (worst)
        *worst = (RelnWorst){0, 0, 0};
    for (ptrdiff_t i = 0; i < dim; i++) {
        memset(c + (i * dim + i) * dim, 0, (size_t)dim * sizeof *c);
        row_of(dim, n, e, f, i, rows, c);
        if (worst)
            look_outside(dim, n, f, i, rows, c, worst);
    }
    reln_free(ctx, rows);
    return RELN_OK;
}

static int count_entries(ptrdiff_t dim, const double *c)
{
    int count = 0;

    for (ptrdiff_t i = 0; i < dim * dim * dim; i++)
        count += c[i] != 0.0;
    return count;
}

RelnStatus reln_structure_sparse(RelnArena *arena, int dim, const double *c, RelnTensor3 *out)
{
    const int count = count_entries(dim, c);
    RelnEntry *entries = reln_arena_alloc(arena, (size_t)count, sizeof *entries), *e = entries;

    if (!entries)
        return RELN_ERR_NOMEM;
    for (int k = 0; k < dim; k++)
        for (int i = 0; i < dim; i++)
            for (int j = 0; j < dim; j++) {
                const double value = c[((ptrdiff_t)i * dim + j) * dim + k];
                if (value != 0.0)
                    *e++ = (RelnEntry){i, j, k, value};
            }
    *out = (RelnTensor3){dim, dim, dim, count, entries};
    return RELN_OK;
}

void reln_structure_killing(int dim, const double *c, double *spare, double *kappa)
{
    const ptrdiff_t k = dim, kk = k * k;

    for (ptrdiff_t i = 0; i < k; i++)
        reln_mat_transpose(k, k, c + i * kk, spare + i * kk);
    reln_mat_gemm(false, true, k, k, kk, 1, c, kk, spare, kk, 0, kappa, k);
    for (ptrdiff_t i = 0; i < k; i++)
        for (ptrdiff_t j = 0; j < i; j++)
            kappa[i * k + j] = kappa[j * k + i] = 0.5 * (kappa[i * k + j] + kappa[j * k + i]);
}
