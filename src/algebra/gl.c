/* gl.c -- gl(n): all real n x n matrices. */
#include "algebra/family.h"

static bool admits(const RelnTerm *term)
{
    return term->n_sizes == 1 && term->size[0] >= 1;
}

static int size(const RelnTerm *term)
{
    return term->size[0];
}

static int dim(const RelnTerm *term)
{
    return term->size[0] * term->size[0];
}

/* e_ij, row by row */
static void basis(const RelnTerm *term, double *out)
{
    const ptrdiff_t nn = (ptrdiff_t)term->size[0] * term->size[0];

    for (ptrdiff_t k = 0; k < nn; k++)
        out[k * nn + k] = 1;
}

static double residual(const RelnTerm *term, const double *x)
{
    (void)term;
    (void)x;
    return 0;
}

/* GL(n) has two components; diag(-1, 1, ..., 1) is in the other. */
static int discrete(const RelnTerm *term, double *out)
{
    const ptrdiff_t n = term->size[0];

    for (ptrdiff_t i = 0; i < n; i++)
        out[i * n + i] = i == 0 ? -1 : 1;
    return 1;
}

const RelnFamily reln_family_gl = {
    .name = "gl",
    .forms = "gl:n",
    .wanted = "n >= 1",
    .about = "all n x n matrices",
    .admits = admits,
    .n = size,
    .dim = dim,
    .basis = basis,
    .residual = residual,
    .n_discrete = 1,
    .discrete = discrete,
};
