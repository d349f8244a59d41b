/* unitary.c -- u(n) and su(n): antihermitian complex matrices Z as the real [[Re Z, -Im Z], [Im Z, Re Z]]. */
#include <math.h>

#include "algebra/family.h"

static bool admits_u(const RelnTerm *term)
{
    return term->n_sizes == 1 && term->size[0] >= 1;
}

static bool admits_su(const RelnTerm *term)
{
    return term->n_sizes == 1 && term->size[0] >= 2;
}

static int size(const RelnTerm *term)
{
    return 2 * term->size[0];
}

static int dim_u(const RelnTerm *term)
{
    return term->size[0] * term->size[0];
}

static int dim_su(const RelnTerm *term)
{
    return term->size[0] * term->size[0] - 1;
}

/* Writes Z_ij = re + i im into the real matrix. */
static void put(ptrdiff_t n, ptrdiff_t i, ptrdiff_t j, double re, double im, double *e)
{
    e[i * 2 * n + j] = e[(n + i) * 2 * n + n + j] = re;
    e[i * 2 * n + n + j] = -im;
    e[(n + i) * 2 * n + j] = im;
}

/* For each pair j < k: e_jk - e_kj, then i (e_jk + e_kj). */
static void pairs(ptrdiff_t n, double *e)
{
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t k = j + 1; k < n; k++, e += 8 * n * n) {
            put(n, j, k, 1, 0, e);
            put(n, k, j, -1, 0, e);
            put(n, j, k, 0, 1, e + 4 * n * n);
            put(n, k, j, 0, 1, e + 4 * n * n);
        }
}

/* Order of the basis: i e_jj first. */
static void basis_u(const RelnTerm *term, double *out)
{
    const ptrdiff_t n = term->size[0];

    for (ptrdiff_t j = 0; j < n; j++)
        put(n, j, j, 0, 1, out + j * 4 * n * n);
    pairs(n, out + n * 4 * n * n);
}

/* Order of the basis: i diag(1, ..., 1, -(m-1), 0, ..., 0), m = 2 .. n, first. */
static void basis_su(const RelnTerm *term, double *out)
{
    const ptrdiff_t n = term->size[0];
    double *e = out;

    for (ptrdiff_t m = 2; m <= n; m++, e += 4 * n * n)
        for (ptrdiff_t j = 0; j < m; j++)
            put(n, j, j, 0, j < m - 1 ? 1 : -(double)(m - 1), e);
    pairs(n, e);
}

/* Returns how far X is from [[a, -b], [b, a]] with a antisymmetric and b symmetric. */
static double residual_u(const RelnTerm *term, const double *x)
{
    const ptrdiff_t n = term->size[0], w = 2 * n;
    double sum = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < n; j++) {
            const double complex_re = x[i * w + j] - x[(n + i) * w + n + j];
            const double complex_im = x[i * w + n + j] + x[(n + i) * w + j];
            const double anti_re = x[i * w + j] + x[j * w + i];
            const double anti_im = x[(n + i) * w + j] - x[(n + j) * w + i];
            sum += complex_re * complex_re + complex_im * complex_im + anti_re * anti_re +
                   anti_im * anti_im;
        }
    return sqrt(sum);
}

static double residual_su(const RelnTerm *term, const double *x)
{
    const ptrdiff_t n = term->size[0];
    double trace = 0;

    for (ptrdiff_t j = 0; j < n; j++)
        trace += x[(n + j) * 2 * n + j];
    return hypot(residual_u(term, x), trace);
}

const RelnFamily reln_family_u = {
    .name = "u",
    .forms = "u:n",
    .wanted = "n >= 1",
    .about = "antihermitian n x n matrices, as real ones of size 2n",
    .admits = admits_u,
    .n = size,
    .dim = dim_u,
    .basis = basis_u,
    .residual = residual_u,
};

const RelnFamily reln_family_su = {
    .name = "su",
    .forms = "su:n",
    .wanted = "n >= 2",
    .about = "antihermitian n x n matrices of trace 0, as real ones of size 2n",
    .admits = admits_su,
    .n = size,
    .dim = dim_su,
    .basis = basis_su,
    .residual = residual_su,
};
