/* polynomial.c -- fits a polynomial in time to the velocities of a window, with a matrix as the weight of each.
 *
 * u(t) = sum_k a_k p_k(t), with Legendre's polynomials p_k over the window and vectors a_k, which minimise the sum over
 * samples of (v - u)^T W (v - u), plus sum_k r_k |a_k|^2 with learned numbers r_k. The normal equations have matrices as
 * their entries, M_ij = mean over t of p_i p_j W, plus r_i if i = j. They are solved by elimination with products and inverses
 * of these matrices, so the fit respects all rotations and reflections that the weights and velocities respect.
 */
#include <math.h>

#include "tasks/drone/nets.h"

/* The numbers r_k have these values at the start. Accelerations are larger than their changes, so r_k grows with k; r_0 is almost 0, because nothing is
 * known of the mean velocity. */
static const double starts[DRONE_FIT] = {1e-6, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3};

/* Writes p_0, ..., p_(n - 1) at x in [-1, 1]. */
static void legendre(int n, double x, double *p)
{
    for (int k = 0; k < n; k++)
        p[k] = k == 0 ? 1 : k == 1 ? x : ((2 * k - 1) * x * p[k - 1] - (k - 1) * p[k - 2]) / k;
}

static void at_sample(int i, double *p)
{
    legendre(DRONE_FIT, 2.0 * i / (DRONE_WINDOW - 1) - 1, p);
}

/* Small weights are sums of much larger numbers, so the fit is computed in double precision in every network. */
static RelnNode *wide(RelnGraph *g, RelnNode *x)
{
    return reln_cast(g, x, RELN_F64);
}

/* Computes the mean over samples of x p_i, or of x p_i p_j: (P, K, 1) -> (K, 6) or (K, 36). */
static RelnNode *moments(RelnGraph *g, RelnNode *x, bool pairs)
{
    enum { MOST = DRONE_FIT * DRONE_FIT };
    const int n = pairs ? MOST : DRONE_FIT;
    double table[DRONE_WINDOW * MOST], p[DRONE_FIT];

    for (int t = 0; t < DRONE_WINDOW; t++) {
        at_sample(t, p);
        for (int i = 0; i < n; i++)
            table[t * n + i] = (pairs ? p[i / DRONE_FIT] * p[i % DRONE_FIT] : p[i]) / DRONE_WINDOW;
    }
    return reln_mix(g, reln_swap_axes(g, x, RELN_P, RELN_C),
                    wide(g, reln_const(g, (RelnDims){.r = DRONE_WINDOW, .c = n}, NULL, table)));
}

/* Puts the numbers r_k times the identity at the places (k, k) of 36 channels. */
static RelnNode *ridge(const RelnNet *net)
{
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    RelnGraph *g = net->graph;
    double place[DRONE_FIT][DRONE_FIT * DRONE_FIT] = {{0}}, logs[DRONE_FIT];
    RelnNode *r;

    for (int k = 0; k < DRONE_FIT; k++) {
        place[k][k * DRONE_FIT + k] = 1;
        logs[k] = log(starts[k]);
    }
    r = reln_param(g, "fit.r", (RelnDims){.c = DRONE_FIT}, (RelnInit){RELN_INIT_CONSTANT, 0});
    r = reln_exp(g, reln_add(g, reln_scale(g, r, DRONE_FIT_PACE),
                             reln_const(g, (RelnDims){.c = DRONE_FIT}, NULL, logs)));
    r = reln_mix(
        g, r,
        reln_const(g, (RelnDims){.r = DRONE_FIT, .c = DRONE_FIT * DRONE_FIT}, NULL, place[0]));
    r = reln_mul(g, r,
                 reln_const(g, (RelnDims){.k = 9}, reln_rep_matrix(reln_graph_group(g)), one));
    return wide(g, r);
}

/* Moves groups of `each` channels to the axis P: (K, n each) -> (n, K, each). */
static RelnNode *by_row(RelnGraph *g, RelnNode *x, int each)
{
    RelnNode *row[DRONE_FIT];

    for (int i = 0; i < DRONE_FIT; i++)
        row[i] = reln_slice(g, x, RELN_C, i * each, each);
    return reln_concat(g, DRONE_FIT, row, RELN_P);
}

/* A Pivot is an equation that elimination has used: diagonal a_k + row (a_0, ..., a_(k - 1)) = right. */
typedef struct Pivot {
    RelnNode *row, *inverse, *right;
} Pivot;

/* Eliminates a_k from the equations 0, ..., k - 1. */
static Pivot eliminate(const RelnNet *net, int k, RelnNode **m, RelnNode **b)
{
    RelnGraph *g = net->graph;
    RelnNode *last = reln_slice(g, *m, RELN_P, k, 1), *rest = reln_slice(g, *m, RELN_P, 0, k);
    const Pivot p = {.row = reln_slice(g, last, RELN_C, 0, k),
                     .inverse = reln_matinv(g, reln_slice(g, last, RELN_C, k, 1)),
                     .right = reln_slice(g, *b, RELN_P, k, 1)};
    RelnNode *factor = reln_matmul(g, 3, reln_slice(g, rest, RELN_C, k, 1), p.inverse);

    *m = reln_sub(g, reln_slice(g, rest, RELN_C, 0, k), reln_matmul(g, 3, factor, p.row));
    *b = reln_sub(g, reln_slice(g, *b, RELN_P, 0, k), drone_apply(net, factor, p.right));
    return p;
}

/* Computes the means of p_k over the samples of nodes: (6, nodes) as a constant. */
static RelnNode *at_nodes(RelnGraph *g, int nodes)
{
    const int each = DRONE_WINDOW / nodes;
    double table[DRONE_FIT * DRONE_WINDOW] = {0}, p[DRONE_FIT];

    for (int t = 0; t < DRONE_WINDOW; t++) {
        at_sample(t, p);
        for (int k = 0; k < DRONE_FIT; k++)
            table[k * nodes + t / each] += p[k] / each;
    }
    return wide(g, reln_const(g, (RelnDims){.r = DRONE_FIT, .c = nodes}, NULL, table));
}

DroneFit drone_fit(const RelnNet *net, RelnNode *w, RelnNode *wv, int nodes)
{
    RelnGraph *g = net->graph;
    RelnNode *m = by_row(g, reln_add(g, moments(g, w, true), ridge(net)), DRONE_FIT);
    RelnNode *b = by_row(g, moments(g, wv, false), 1), *a;
    Pivot pivot[DRONE_FIT];

    for (int k = DRONE_FIT - 1; k > 0; k--)
        pivot[k] = eliminate(net, k, &m, &b);
    a = drone_apply(net, reln_matinv(g, m), b);
    for (int k = 1; k < DRONE_FIT; k++) {
        RelnNode *known = reln_sum(g, drone_apply(net, pivot[k].row, a), RELN_C);
        RelnNode *both[2] = {
            a, drone_apply(net, pivot[k].inverse, reln_sub(g, pivot[k].right, known))};

        a = reln_concat(g, 2, both, RELN_C);
    }
    return (DroneFit){.u = reln_mix(g, a, at_nodes(g, nodes)), .information = m};
}
