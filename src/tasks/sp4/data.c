/* data.c -- random pairs of sp(4), their targets, and group elements that act on them. */
#include <math.h>
#include <stdlib.h>

#include "tasks/elements.h"
#include "tasks/sp4/sp4.h"

/* On sp(4), det X = tr(X^2)^2 / 8 - tr(X^4) / 4: the coefficient of the characteristic polynomial, since tr X = tr X^3
 * = 0. */
static double determinant(const double *x)
{
    const double square = element_trace(SP4_N, x, x);
    double xx[SP4_N * SP4_N] = {0};

    for (int i = 0; i < SP4_N; i++)
        for (int k = 0; k < SP4_N; k++)
            for (int j = 0; j < SP4_N; j++)
                xx[i * SP4_N + j] += x[i * SP4_N + k] * x[k * SP4_N + j];
    return square * square / 8 - element_trace(SP4_N, xx, xx) / 4;
}

double sp4_target(const RelnAlgebra *sp4, const double *x, const double *y, Sp4Target target)
{
    double X[SP4_N * SP4_N], Y[SP4_N * SP4_N];

    reln_algebra_hat(sp4, x, X);
    reln_algebra_hat(sp4, y, Y);
    const double xx = element_trace(SP4_N, X, X), yy = element_trace(SP4_N, Y, Y);
    const double first = target == SP4_TARGET_PAPER ? element_trace(SP4_N, X, Y) : xx;

    return sin(first) + cos(yy) - yy * yy * yy / 2 + determinant(X) * determinant(Y) + exp(xx);
}

static void words_of(const RelnAlgebra *sp4, const double *x, const double *y, double *words)
{
    double z[SP4_K];

    reln_algebra_bracket(sp4, x, y, z);
    words[0] = reln_algebra_form(sp4, x, x);
    words[1] = reln_algebra_form(sp4, x, y);
    words[2] = reln_algebra_form(sp4, y, y);
    words[3] = reln_algebra_form(sp4, z, z);
}

/* Computes the targets and words of sample s from its coordinates. */
static void complete(Sp4Set *set, const RelnAlgebra *sp4, ptrdiff_t s, Sp4Target target)
{
    double x[SP4_K], y[SP4_K];

    for (int k = 0; k < SP4_K; k++) {
        x[k] = set->x[(s * SP4_K + k) * 2];
        y[k] = set->x[(s * SP4_K + k) * 2 + 1];
    }
    set->y[s] = sp4_target(sp4, x, y, target);
    words_of(sp4, x, y, set->words + s * SP4_WORDS);
}

static RelnStatus fill(Sp4Set *set, const RelnAlgebra *sp4, RelnRng *rng, double spread,
                       bool conjugates)
{
    const ptrdiff_t drawn = conjugates ? set->n / 2 : set->n;
    double ad[SP4_K * SP4_K];

    for (ptrdiff_t s = 0; s < drawn; s++)
        element_draw(rng, spread, 2 * SP4_K, set->x + s * 2 * SP4_K);
    for (ptrdiff_t s = drawn; s < set->n; s++) {
        TRY(element_action(sp4, rng, spread, ad));
        element_act(SP4_K, ad, 1, 2, set->x + (s - drawn) * 2 * SP4_K, set->x + s * 2 * SP4_K);
    }
    return RELN_OK;
}

RelnStatus sp4_set_init(Sp4Set *set, const RelnAlgebra *sp4, RelnRng *rng, double spread,
                        ptrdiff_t n, Sp4Target target, bool conjugates)
{
    *set = (Sp4Set){.n = n,
                    .x = calloc((size_t)n, 2 * SP4_K * sizeof(double)),
                    .y = calloc((size_t)n, sizeof(double)),
                    .words = calloc((size_t)n, SP4_WORDS * sizeof(double))};
    if (!set->x || !set->y || !set->words)
        return RELN_ERR_NOMEM;
    TRY(fill(set, sp4, rng, spread, conjugates));
    for (ptrdiff_t s = 0; s < n; s++)
        complete(set, sp4, s, target);
    return RELN_OK;
}

void sp4_set_clear(Sp4Set *set)
{
    free(set->x);
    free(set->y);
    free(set->words);
    *set = (Sp4Set){0};
}
