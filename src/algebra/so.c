/* so.c -- so(p,q): X^T eta + eta X = 0 with eta = diag(-1 p times, +1 q times); so(n) is so(0,n). */
#include <math.h>

#include "algebra/family.h"

static int minus(const RelnTerm *term)
{
    return term->n_sizes == 2 ? term->size[0] : 0;
}

static int size(const RelnTerm *term)
{
    return term->n_sizes == 2 ? term->size[0] + term->size[1] : term->size[0];
}

static bool admits(const RelnTerm *term)
{
    return term->n_sizes >= 1 && size(term) >= 2;
}

static int dim(const RelnTerm *term)
{
    return size(term) * (size(term) - 1) / 2;
}

static double eta(const RelnTerm *term, ptrdiff_t i)
{
    return i < minus(term) ? -1 : 1;
}

/* (-1)^(i+j+1) (e_ji - eta_i eta_j e_ij) for i < j (counted from 1), last pair first: for n = 3 this is the hat map,
 * hat(v) w = v x w. */
static void basis(const RelnTerm *term, double *out)
{
    const ptrdiff_t n = size(term);
    double *e = out;

    for (ptrdiff_t i = n - 2; i >= 0; i--)
        for (ptrdiff_t j = n - 1; j > i; j--, e += n * n) {
            const double sign = (i + j) % 2 ? 1 : -1;
            e[j * n + i] = sign;
            e[i * n + j] = -sign * eta(term, i) * eta(term, j);
        }
}

/* Frobenius norm of X^T eta + eta X */
static double residual(const RelnTerm *term, const double *x)
{
    const ptrdiff_t n = size(term);
    double sum = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < n; j++) {
            const double r = x[j * n + i] * eta(term, j) + eta(term, i) * x[i * n + j];
            sum += r * r;
        }
    return sqrt(sum);
}

/* SO(p,q) with p, q >= 1 has a second component: reverse the last of the minus axes and the first of the plus axes. */
static int discrete(const RelnTerm *term, double *out)
{
    const ptrdiff_t n = size(term), p = minus(term);

    if (p == 0 || p == n)
        return 0;
    for (ptrdiff_t i = 0; i < n; i++)
        out[i * n + i] = i == p - 1 || i == p ? -1 : 1;
    return 1;
}

const RelnFamily reln_family_so = {
    .name = "so",
    .forms = "so:n, so:p,q",
    .wanted = "n >= 2 or p + q >= 2",
    .about = "antisymmetric matrices; X^T eta + eta X = 0 with p times -1 and q times +1 in eta",
    .admits = admits,
    .n = size,
    .dim = dim,
    .basis = basis,
    .residual = residual,
    .n_discrete = 1,
    .discrete = discrete,
};
