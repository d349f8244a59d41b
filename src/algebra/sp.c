/* sp.c -- sp(2m): [[A, B], [C, -A^T]] with B and C symmetric; X^T J + J X = 0 with J = [[0, I], [-I, 0]]. */
#include <math.h>

#include "algebra/family.h"

static bool admits(const RelnTerm *term)
{
    return term->n_sizes == 1 && term->size[0] >= 2 && term->size[0] % 2 == 0;
}

static int size(const RelnTerm *term)
{
    return term->size[0];
}

static int dim(const RelnTerm *term)
{
    return term->size[0] * (term->size[0] + 1) / 2;
}

/* e_ij + e_ji (or e_ii) for i <= j in the block whose corner is (row, column) */
static double *symmetric(ptrdiff_t n, ptrdiff_t row, ptrdiff_t column, double *e)
{
    const ptrdiff_t m = n / 2;

    for (ptrdiff_t i = 0; i < m; i++)
        for (ptrdiff_t j = i; j < m; j++, e += n * n)
            e[(row + i) * n + column + j] = e[(row + j) * n + column + i] = 1;
    return e;
}

/* A row by row, then C and B by their upper triangles. */
static void basis(const RelnTerm *term, double *out)
{
    const ptrdiff_t n = term->size[0], m = n / 2;
    double *e = out;

    for (ptrdiff_t i = 0; i < m; i++)
        for (ptrdiff_t j = 0; j < m; j++, e += n * n) {
            e[i * n + j] = 1;
            e[(m + j) * n + m + i] = -1;
        }
    e = symmetric(n, m, 0, e);
    symmetric(n, 0, m, e);
}

/* Frobenius norm of X^T J + J X: its blocks are antisym(C), A^T + D and its negative transpose, antisym(B) */
static double residual(const RelnTerm *term, const double *x)
{
    const ptrdiff_t n = term->size[0], m = n / 2;
    double sum = 0;

    for (ptrdiff_t i = 0; i < m; i++)
        for (ptrdiff_t j = 0; j < m; j++) {
            const double b = x[i * n + m + j] - x[j * n + m + i];
            const double c = x[(m + i) * n + j] - x[(m + j) * n + i];
            const double a = x[i * n + j] + x[(m + j) * n + m + i];
            sum += b * b + c * c + 2 * a * a;
        }
    return sqrt(sum);
}

const RelnFamily reln_family_sp = {
    .name = "sp",
    .forms = "sp:2m",
    .wanted = "an even size, 2 or more",
    .about = "[[A,B],[C,-A^T]] with B and C symmetric",
    .admits = admits,
    .n = size,
    .dim = dim,
    .basis = basis,
    .residual = residual,
};
