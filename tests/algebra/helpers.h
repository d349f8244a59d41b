/* helpers.h -- helpers of the tests of algebras: frames and bases of a chosen condition number, and spans
 * that are not reductive. */
#ifndef TESTS_ALGEBRA_HELPERS_H
#define TESTS_ALGEBRA_HELPERS_H

#include "support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/linalg.h"

#define U 1.1102230246251565e-16 /* unit round-off */

enum { MAX_NN = 64, MAX_K = 36 }; /* of the algebras tested here: n <= 8 */

static inline RelnCtx *new_ctx(void)
{
    RelnCtx *ctx = NULL;

    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    return ctx;
}

static inline void end_ctx(RelnCtx *ctx)
{
    assert_int_equal(reln_ctx_live_blocks(ctx), 0);
    reln_ctx_destroy(ctx);
}

static inline RelnAlgebra *make(RelnCtx *ctx, const char *name)
{
    RelnAlgebra *a = NULL;

    assert_ok(ctx, reln_algebra_create(ctx, name, &a));
    return a;
}

/* x = left diag(s) right with random orthogonal factors and s from sqrt(cond) down to 1/sqrt(cond); its inverse */
static inline void random_frame(RelnCtx *ctx, RelnRng *rng, int n, double cond, double *x,
                                double *inverse)
{
    double a[MAX_K * MAX_K], s[MAX_K], left[MAX_K * MAX_K], right[MAX_K * MAX_K];

    fill_normal(rng, (ptrdiff_t)n * n, a);
    assert_ok(ctx, reln_svd(ctx, n, n, a, false, s, left, right));
    memset(x, 0, (size_t)n * (size_t)n * sizeof *x);
    memset(inverse, 0, (size_t)n * (size_t)n * sizeof *x);
    for (int k = 0; k < n; k++) {
        const double size = n > 1 ? pow(cond, 0.5 - (double)k / (n - 1)) : 1;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                x[i * n + j] += left[i * n + k] * size * right[k * n + j];
                inverse[j * n + i] += left[i * n + k] / size * right[k * n + j];
            }
    }
}

/* out_i = sum_j x_ij e_j with a random x of condition cond: another basis of the same span */
static inline void recombine(RelnCtx *ctx, RelnRng *rng, int dim, int n, double cond,
                             const double *e, double *out)
{
    double x[MAX_K * MAX_K], inverse[MAX_K * MAX_K];

    random_frame(ctx, rng, dim, cond, x, inverse);
    reln_mat_mul(dim, dim, (ptrdiff_t)n * n, x, e, out);
}

/* out_i = g e_i g^-1 */
static inline void conjugate(int dim, int n, const double *g, const double *inverse,
                             const double *e, double *out)
{
    double t[MAX_NN];

    for (ptrdiff_t i = 0; i < dim; i++) {
        reln_mat_mul(n, n, n, g, e + i * n * n, t);
        reln_mat_mul(n, n, n, t, inverse, out + i * n * n);
    }
}

/* A basis by its non-zero entries, "k i j value" for the k-th matrix, all counted from 1; value 0 ends it. */
typedef struct Cell {
    int k, i, j;
    double value;
} Cell;

static inline void fill_cells(int n, const Cell *cells, double *basis)
{
    for (const Cell *c = cells; c->value != 0.0; c++)
        basis[((c->k - 1) * n + c->i - 1) * n + c->j - 1] = c->value;
}

/* Lie algebras that are not reductive, which the analysis must refuse. */
typedef struct Refused {
    const char *name;
    int n, dim, derived_dim, killing_rank;
    Cell cells[24];
} Refused;

static const Refused refused[] = {
    {"aff(1)", 2, 2, 1, 1, {{1, 1, 1, 1}, {2, 1, 2, 1}}},
    {"aff(2)",
     3,
     6,
     5,
     4,
     {{1, 1, 1, 1}, {2, 1, 2, 1}, {3, 2, 1, 1}, {4, 2, 2, 1}, {5, 1, 3, 1}, {6, 2, 3, 1}}},
    {"se(3)",
     4,
     6,
     6,
     3,
     {{1, 3, 2, 1},
      {1, 2, 3, -1},
      {2, 1, 3, 1},
      {2, 3, 1, -1},
      {3, 2, 1, 1},
      {3, 1, 2, -1},
      {4, 1, 4, 1},
      {5, 2, 4, 1},
      {6, 3, 4, 1}}},
    {"heisenberg", 3, 3, 1, 0, {{1, 1, 2, 1}, {2, 2, 3, 1}, {3, 1, 3, 1}}},
    {"upper triangular",
     3,
     6,
     3,
     2,
     {{1, 1, 1, 1}, {2, 1, 2, 1}, {3, 1, 3, 1}, {4, 2, 2, 1}, {5, 2, 3, 1}, {6, 3, 3, 1}}},
    {"sl(2) x R^2",
     3,
     5,
     5,
     3,
     {{1, 1, 1, 1}, {1, 2, 2, -1}, {2, 1, 2, 1}, {3, 2, 1, 1}, {4, 1, 3, 1}, {5, 2, 3, 1}}},
};
enum { N_REFUSED = sizeof refused / sizeof *refused };

/* Reductive Lie algebras, with their dimensions and centres from textbooks. */
typedef struct Known {
    const char *name;
    int n, dim, center, positive, negative, nnz;
} Known;

static const Known known[] = {
    {"gl:1", 1, 1, 1, 1, 0, 0},       {"gl:2", 2, 4, 1, 3, 1, 12},
    {"gl:3", 3, 9, 1, 6, 3, 48},      {"gl:4", 4, 16, 1, 10, 6, 120},
    {"sl:2", 2, 3, 0, 2, 1, 6},       {"sl:3", 3, 8, 0, 5, 3, 54},
    {"sl:4", 4, 15, 0, 9, 6, 150},    {"so:2", 2, 1, 1, 1, 0, 0},
    {"so:3", 3, 3, 0, 0, 3, 6},       {"so:4", 4, 6, 0, 0, 6, 24},
    {"so:5", 5, 10, 0, 0, 10, 60},    {"so:1,1", 2, 1, 1, 1, 0, 0},
    {"so:1,2", 3, 3, 0, 2, 1, 6},     {"so:1,3", 4, 6, 0, 3, 3, 24},
    {"so:2,2", 4, 6, 0, 4, 2, 24},    {"sp:2", 2, 3, 0, 2, 1, 6},
    {"sp:4", 4, 10, 0, 6, 4, 60},     {"sp:6", 6, 21, 0, 12, 9, 210},
    {"u:1", 2, 1, 1, 1, 0, 0},        {"u:2", 4, 4, 1, 1, 3, 12},
    {"u:3", 6, 9, 1, 1, 8, 60},       {"su:2", 4, 3, 0, 0, 3, 6},
    {"su:3", 6, 8, 0, 0, 8, 54},      {"gl:2+so:3", 5, 7, 1, 3, 4, 18},
    {"gl:1+gl:2", 3, 5, 2, 4, 1, 12}, {"so:2+u:1+sl:2", 6, 5, 2, 4, 1, 6},
};
enum { N_KNOWN = sizeof known / sizeof *known };

#endif
