/* model.c -- networks for the logarithm of a product. */
#include <stdio.h>

#include "tasks/bch/bch.h"
#include "tasks/experiment.h"

static RelnNode *layers(const RelnNet *net, const BchNetwork *of, RelnNode *x)
{
    const RelnRelu leaky = {.leak = 0.2};
    char name[16];

    for (int i = 0; of->model->blocks[i]; i++) {
        snprintf(name, sizeof name, "%d", i);
        x = reln_nn_linear(net, name, x, of->width);
        x = of->model->blocks[i] == 'b' ? reln_nn_bracket(net, name, x)
                                        : reln_nn_relu(net, name, x, &leaky);
    }
    return reln_nn_linear(net, "out", x, 1);
}

/* Uses the dot product and no bracket: every feature stays in the plane of a and b. */
static RelnNode *vectors(const RelnNet *net, const BchNetwork *of, RelnNode *x)
{
    const RelnNet plain = {.graph = net->graph, .train = net->train};
    char name[16];

    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%d", i);
        x = reln_nn_project(&plain, name, reln_nn_linear(&plain, name, x, of->width), NULL);
    }
    return reln_nn_linear(&plain, "out", x, 1);
}

/* 1 + 2 (w V + V^2) / (w^2 + |v|^2), V = hat(v): the rotation of the quaternion (w, v), of any length but 0 */
static RelnNode *rotation(const RelnNet *net, RelnNode *w, RelnNode *v)
{
    static const double one[BCH_MATRIX] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    RelnGraph *g = net->graph;
    RelnNode *V = reln_nn_hat(net, v), *identity;
    RelnNode *size = reln_add(g, reln_square(g, w), reln_pair(g, v, v));
    RelnNode *twice = reln_scale(g, reln_reciprocal(g, size), 2);

    if (!V)
        return NULL;
    identity = reln_const(g, (RelnDims){.k = BCH_MATRIX}, reln_node_rep(V), one);
    V = reln_add(g, reln_mul(g, w, V), reln_matmul(g, 3, V, V));
    return reln_add(g, identity, reln_mul(g, twice, V));
}

/* Every equivariant function of two vectors is c_1 a + c_2 b + c_3 a x b, with c functions of a.a, a.b, b.b
 * (where a x b is not 0). For the logarithm these coefficients are singular at a full turn; for the
 * quaternion of the product they are entire functions. */
static RelnNode *coefficients(const RelnNet *net, const BchNetwork *of, RelnNode *x)
{
    RelnGraph *g = net->graph;
    const RelnMlp mlp = {.hidden = of->model->hidden,
                         .width = of->width,
                         .channels = 4,
                         .activation = of->model->activation};
    const RelnNet traces = {.graph = g, .algebra = net->algebra, .form = RELN_FORM_TRACE};
    RelnNode *a = reln_slice(g, x, RELN_C, 0, 1), *b = reln_slice(g, x, RELN_C, 1, 1);
    RelnNode *const invariants[] = {reln_nn_form(&traces, a, a), reln_nn_form(&traces, a, b),
                                    reln_nn_form(&traces, b, b)};
    RelnNode *const basis[] = {a, b, reln_bracket(g, net->algebra, a, b)};
    RelnNode *s = reln_scale(g, reln_concat(g, 3, invariants, RELN_C), -0.1);
    RelnNode *c = reln_nn_mlp(net, "mlp", s, &mlp);
    RelnNode *c3 = reln_reshape(g, reln_slice(g, c, RELN_C, 0, 3), (RelnDims){.r = 3, .c = 1});
    RelnNode *v = reln_channel_mix(g, reln_concat(g, 3, basis, RELN_C), c3);

    return rotation(net, reln_slice(g, c, RELN_C, 3, 1), v);
}

static RelnNode *mlp(const RelnNet *net, const BchNetwork *of, RelnNode *x)
{
    const RelnMlp shape = {.hidden = of->model->hidden,
                           .width = 2 * of->width,
                           .channels = BCH_K,
                           .activation = of->model->activation};
    RelnNode *v =
        reln_nn_mlp(net, "mlp", reln_reshape(net->graph, x, (RelnDims){.c = 2 * BCH_K}), &shape);
    RelnNode *k = reln_reshape(net->graph, v, (RelnDims){.k = BCH_K, .c = 1});

    return reln_slice_k(net->graph, k, 0, reln_node_rep(x));
}

static RelnNode *guess(const RelnNet *net, const BchNetwork *of, RelnNode *x)
{
    switch (of->model->kind) {
    case BCH_LAYERS:
        return layers(net, of, x);
    case BCH_VECTORS:
        return vectors(net, of, x);
    case BCH_COEFFICIENTS:
    case BCH_MLP:
    case BCH_SERIES:
        break;
    }
    return mlp(net, of, x);
}

RelnNode *bch_network(const RelnNet *net, const void *network)
{
    const BchNetwork *of = network;
    RelnNode *x = exp_elements(net, "x", (RelnDims){.k = BCH_K, .c = 2});

    if (of->model->kind == BCH_COEFFICIENTS)
        return coefficients(net, of, x);
    return reln_matexp(net->graph, reln_nn_hat(net, guess(net, of, x)));
}
