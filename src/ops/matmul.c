/* matmul.c -- the product of matrices, a contract with the tensor of matrix multiplication. */
#include "ops/ops.h"

/*!
 * reln_matmul() -- Z = X Y, n x n matrices, for each channel
 *
 * Shapes  x, y (..., K = n n, C), row-major -> the same; leading axes and channels broadcast
 * Rep     as x; checked like reln_contract(): conjugation is accepted, other reps of n n coordinates may be refused
 * Cost    3 n^3 for each channel
 */
RELN_API RelnNode *reln_matmul(RelnGraph *g, int n, RelnNode *x, RelnNode *y);

/* Z_ij = sum_k X_ik Y_kj */
static void fill(int n, RelnEntry *entries)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                *entries++ = (RelnEntry){i * n + k, k * n + j, i * n + j, 1.0};
}

RelnNode *reln_matmul(RelnGraph *g, int n, RelnNode *x, RelnNode *y)
{
    RELN_NEED(g, (reln_graph_null(g, __func__), NULL));

    enum { LARGEST = 64 };
    RelnEntry *entries;

    if (!x || !y)
        return NULL;
    if (n < 1 || n > LARGEST) {
        reln_graph_fail(g, RELN_ERR_ARG, "matmul: n is %d, wanted 1 to %d", n, LARGEST);
        return NULL;
    }
    entries = reln_graph_alloc(g, (size_t)(n * n * n), sizeof *entries);
    if (!entries)
        return NULL;
    fill(n, entries);
    return reln_contract(g, &(RelnTensor3){n * n, n * n, n * n, n * n * n, entries}, x, y, x->rep);
}
