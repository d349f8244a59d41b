/* cost.c -- counts the operations of an energy, by the published rules. */
#include "tasks/pendulum/pendulum.h"

#include <math.h>

double pend_flops_dense(int n, const int *widths)
{
    double flops = 0;

    for (int i = 0; i < n; i++) {
        flops += 2.0 * widths[i] * widths[i + 1];
        flops += i + 1 < n ? 4.0 * widths[i + 1] : 0.0;
    }
    return flops;
}

/* Counts Q^T w and Q of the result, Q (3^k, dims[k]), for every pair of tensors, and for every tensor of a
 * bias. */
static double projection(const PendTensors *in, const PendTensors *out, const int *dims)
{
    double flops = 0;

    for (int a = 0; a < PEND_RANKS; a++) {
        for (int b = 0; b < PEND_RANKS; b++)
            flops += 4.0 * out->n[a] * in->n[b] * pow(3, a + b) * dims[a + b];
        flops += 4.0 * out->n[a] * pow(3, a) * dims[a];
    }
    return flops;
}

/* Counts the operations that fill B(x), theta times the chosen tensors of rank k for every pair of ranks a +
 * b = k, and those of B(x) x. */
static double bilinear(const PendTensors *t)
{
    const double size = pend_tensors_size(t);
    double flops = 2 * size * size;

    for (int a = 0; a < PEND_RANKS; a++)
        for (int b = 0; a + b < PEND_RANKS; b++)
            if (a + b > 0)
                flops += 2.0 * t->n[a] * t->n[b] * pow(3, a + b) * pend_tensors_chosen(t, a + b);
    return flops;
}

/* For each block: bias, factor 1/10 and residual on the gated size, a product and a sigmoid (3) on the
 * other. */
double pend_flops_emlp(const PendTensors *hidden, const int dims[2 * PEND_RANKS - 1],
                       bool projected)
{
    const PendTensors state = {{0, PEND_VECTORS, 0, 0}}, number = {{1, 0, 0, 0}};
    const PendTensors gated = pend_tensors_gated(hidden);
    const double h = pend_tensors_size(hidden), g = pend_tensors_size(&gated);
    double flops = PEND_EMLP_BLOCKS * (3 * g + 4 * h + bilinear(&gated)) + 1;

    flops += 2 * (3 * PEND_VECTORS * g + (PEND_EMLP_BLOCKS - 1) * h * g + h);
    if (projected)
        flops += projection(&state, &gated, dims) +
                 (PEND_EMLP_BLOCKS - 1) * projection(hidden, &gated, dims) +
                 projection(hidden, &number, dims);
    return flops;
}
