/* data.c -- functions of pairs of sl(3), and the group that acts on them. */
#include <math.h>
#include <string.h>

#include "tasks/elements.h"
#include "tasks/sl3/sl3.h"

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
    const double xx = element_trace(SL3_N, X, X), yy = element_trace(SL3_N, Y, Y);

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
