/* invariant.c -- invariants computed with the net's form, and the determinant. */
#include "nn/nn.h"

bool reln_nn_want_algebra(const RelnNet *net, const char *layer)
{
    if (net->algebra)
        return true;
    return reln_graph_fail(net->graph, RELN_ERR_ARG,
                           "%s: the net has no algebra, in which alone it is defined", layer);
}

static double *identity(const RelnNet *net, int n)
{
    double *one = reln_graph_alloc(net->graph, (size_t)n * (size_t)n, sizeof *one);

    for (int i = 0; i < n && one; i++)
        one[i * n + i] = 1.0;
    return one;
}

RelnNode *reln_nn_invariant(const RelnNet *net, RelnNode *x)
{
    RELN_NEED(reln_nn_ready(net, true, __func__), NULL);
    RELN_LAYER(net->graph, NULL);

    return reln_nn_form(net, x, x);
}

/* Computes the form of every x_c with every d_e: a matrix product at each point, whose rows and columns
 * become one axis. */
RelnNode *reln_nn_invariant_learned(const RelnNet *net, const char *name, RelnNode *x,
                                    int directions)
{
    RELN_NEED(reln_nn_ready(net, name, __func__), NULL);
    RELN_LAYER(net->graph, reln_nn_path(net, name));

    RelnGraph *g = net->graph;
    RelnNode *d = reln_nn_relu(net, name, reln_nn_linear(net, name, x, directions),
                               &(RelnRelu){.shared = true});
    const RelnDims of = x && d ? reln_node_dims(x) : (RelnDims){0};
    RelnDims flat = {of.p, of.q * of.r, 1, of.k, of.c}, wide = {of.p, of.q, of.r, 1, 0};
    RelnNode *s;

    if (!d)
        return NULL;
    x = reln_reshape(g, x, flat);
    flat.c = directions;
    d = reln_reshape(g, reln_nn_lower(net, d), flat);
    s = reln_channel_gram(g, x, d);
    if (s && __builtin_mul_overflow(of.c, directions, &wide.c))
        reln_graph_fail(g, RELN_ERR_SHAPE, "%s: %d channels times %d directions are too many", name,
                        of.c, directions);
    return reln_reshape(g, s, wide);
}

/* Uses the method of Faddeev and LeVerrier: M_1 = X, c_k = -tr(M_k) / k, M_(k+1) = X (M_k + c_k I); det X =
 * (-1)^n c_n. The flattened identity maps numbers to multiples of I, and matrices to traces. */
RelnNode *reln_nn_invariant_det(const RelnNet *net, RelnNode *x)
{
    RELN_NEED(reln_nn_ready(net, true, __func__), NULL);
    RELN_LAYER(net->graph, NULL);

    RelnGraph *g = net->graph;
    RelnNode *X = reln_nn_hat(net, x), *M = X, *c = NULL;
    const int n = X ? reln_algebra_n(net->algebra) : 0;
    const double *one = X ? identity(net, n) : NULL;
    const RelnRep *number = X ? reln_invariant(g, 1) : NULL;

    for (int k = 1; k <= n && one && number; k++) {
        if (k > 1)
            M = reln_matmul(g, n, X, reln_add(g, M, reln_linear_map(g, c, one, X->rep)));
        c = reln_scale(g, reln_linear_map(g, M, one, number), -1.0 / k);
    }
    return reln_scale(g, c, n % 2 ? -1.0 : 1.0);
}
