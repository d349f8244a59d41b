/* data.c -- functions of pairs of sl(3), and the group that acts on them. */
#include <math.h>
#include <string.h>

#include "tasks/sl3/sl3.h"

static double trace_of_product(const double *a, const double *b)
{
    double sum = 0;

    for (int i = 0; i < SL3_N; i++)
        for (int j = 0; j < SL3_N; j++)
            sum += a[i * SL3_N + j] * b[j * SL3_N + i];
    return sum;
}

static double determinant(const double *x)
{
    return x[0] * (x[4] * x[8] - x[5] * x[7]) - x[1] * (x[3] * x[8] - x[5] * x[6]) +
           x[2] * (x[3] * x[7] - x[4] * x[6]);
}

double sl3_invariant(const RelnAlgebra *sl3, const double *x, const double *y)
{
    double X[SL3_MATRIX], Y[SL3_MATRIX];

    reln_algebra_hat(sl3, x, X);
    reln_algebra_hat(sl3, y, Y);
    const double xx = trace_of_product(X, X), yy = trace_of_product(Y, Y);

    return sin(xx) + cos(yy) - yy * yy * yy / 2 + determinant(X) * determinant(Y) + exp(xx);
}

void sl3_equivariant(const RelnAlgebra *sl3, const double *x, const double *y, double *out)
{
    double xy[SL3_K], yx[SL3_K];

    reln_algebra_bracket(sl3, x, y, xy);
    reln_algebra_bracket(sl3, y, x, yx);
    reln_algebra_bracket(sl3, xy, y, out);
    for (int k = 0; k < SL3_K; k++)
        out[k] += yx[k];
}

RelnStatus sl3_action(const RelnAlgebra *sl3, RelnRng *rng, double *ad)
{
    double h[SL3_K], g[SL3_MATRIX];

    for (int k = 0; k < SL3_K; k++)
        h[k] = reln_rng_uniform(rng) - 0.5;
    TRY(reln_algebra_exp(sl3, h, g));
    return reln_algebra_adjoint(sl3, g, ad);
}

static void act_once(const double *ad, int stride, const double *x, double *y)
{
    double moved[SL3_K] = {0};

    for (int k = 0; k < SL3_K; k++)
        for (int j = 0; j < SL3_K; j++)
            moved[k] += ad[k * SL3_K + j] * x[j * stride];
    for (int k = 0; k < SL3_K; k++)
        y[k * stride] = moved[k];
}

void sl3_act(const double *ad, ptrdiff_t n, int c, const double *x, double *y)
{
    for (ptrdiff_t i = 0; i < n; i++)
        for (int channel = 0; channel < c; channel++)
            act_once(ad, c, x + i * SL3_K * c + channel, y + i * SL3_K * c + channel);
}

void sl3_hats(const RelnAlgebra *sl3, ptrdiff_t n, const double *x, double *matrices)
{
    double coordinates[SL3_K], matrix[SL3_MATRIX];

    for (ptrdiff_t i = 0; i < 2 * n; i++) {
        const double *from = x + i / 2 * 2 * SL3_K + i % 2;
        double *to = matrices + i / 2 * 2 * SL3_MATRIX + i % 2;
        for (int k = 0; k < SL3_K; k++)
            coordinates[k] = from[2 * k];
        reln_algebra_hat(sl3, coordinates, matrix);
        for (int k = 0; k < SL3_MATRIX; k++)
            to[2 * k] = matrix[k];
    }
}
