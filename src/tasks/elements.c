/* elements.c -- see elements.h. */
#include "tasks/elements.h"

#include <assert.h>

void element_draw(RelnRng *rng, double spread, int count, double *x)
{
    for (int i = 0; i < count; i++)
        x[i] = 2 * spread * (reln_rng_uniform(rng) - 0.5);
}

RelnStatus element_action(const RelnAlgebra *algebra, RelnRng *rng, double spread, double *ad)
{
    double h[ELEMENT_K], g[ELEMENT_K];

    assert(reln_algebra_n(algebra) <= ELEMENT_N);
    element_draw(rng, spread, reln_algebra_dim(algebra), h);
    TRY(reln_algebra_exp(algebra, h, g));
    return reln_algebra_adjoint(algebra, g, ad);
}

static void act_once(int K, const double *ad, int stride, const double *x, double *y)
{
    double moved[ELEMENT_K] = {0};

    for (int k = 0; k < K; k++)
        for (int j = 0; j < K; j++)
            moved[k] += ad[k * K + j] * x[j * stride];
    for (int k = 0; k < K; k++)
        y[k * stride] = moved[k];
}

void element_act(int K, const double *ad, ptrdiff_t n, int c, const double *x, double *y)
{
    assert(K <= ELEMENT_K);
    for (ptrdiff_t i = 0; i < n; i++)
        for (int channel = 0; channel < c; channel++)
            act_once(K, ad, c, x + i * K * c + channel, y + i * K * c + channel);
}

double element_trace(int n, const double *a, const double *b)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            sum += a[i * n + j] * b[j * n + i];
    return sum;
}
