/* sl.c -- sl(n): real n x n matrices of trace 0. */
#include <math.h>

#include "algebra/family.h"
#include "tensor/linalg.h"

static bool admits(const RelnTerm *term)
{
    return term->n_sizes == 1 && term->size[0] >= 2;
}

static int size(const RelnTerm *term)
{
    return term->size[0];
}

static int dim(const RelnTerm *term)
{
    return term->size[0] * term->size[0] - 1;
}

/* diag(1, ..., 1, -(m-1), 0, ..., 0) */
static void diagonal(ptrdiff_t n, ptrdiff_t m, double *e)
{
    for (ptrdiff_t i = 0; i < m - 1; i++)
        e[i * n + i] = 1;
    e[(m - 1) * n + m - 1] = -(double)(m - 1);
}

/* sl(2) is diag(1,-1), e12 + e21, e21 - e12; sl(m) adds diag(1, ..., 1, -(m-1)), then the last column e_im, then the
 * last row e_mi. */
static void basis(const RelnTerm *term, double *out)
{
    const ptrdiff_t n = term->size[0], nn = n * n;
    double *e = out;

    diagonal(n, 2, e);
    e[nn + 1] = e[nn + n] = 1;
    e[2 * nn + n] = 1;
    e[2 * nn + 1] = -1;
    e += 3 * nn;
    for (ptrdiff_t m = 3; m <= n; m++) {
        diagonal(n, m, e);
        e += nn;
        for (ptrdiff_t i = 0; i < m - 1; i++, e += nn)
            e[i * n + m - 1] = 1;
        for (ptrdiff_t i = 0; i < m - 1; i++, e += nn)
            e[(m - 1) * n + i] = 1;
    }
}

static double residual(const RelnTerm *term, const double *x)
{
    return fabs(reln_mat_trace(term->size[0], x));
}

const RelnFamily reln_family_sl = {
    .name = "sl",
    .forms = "sl:n",
    .wanted = "n >= 2",
    .about = "n x n matrices of trace 0",
    .admits = admits,
    .n = size,
    .dim = dim,
    .basis = basis,
    .residual = residual,
};
