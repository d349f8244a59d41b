/* model.c -- the networks of the Platonic table. */
#include <math.h>

#include "tasks/platonic/platonic.h"

static RelnNode *weights(const RelnNet *net, const char *name, int in, int out)
{
    const RelnInit init = {RELN_INIT_UNIFORM, 1.0 / sqrt(in)};

    return reln_param(net->graph, name, (RelnDims){.r = in, .c = out}, init);
}

/* x / (e + mean_c B(x,x)^2)^(1/4), for each element: of degree 0 where x is large. */
static RelnNode *normalise(const RelnNet *net, RelnNode *x)
{
    RelnGraph *g = net->graph;
    RelnNode *m = reln_mean(g, reln_square(g, reln_nn_invariant(net, x)), RELN_C);

    return reln_div(g, x, reln_sqrt(g, reln_sqrt(g, reln_shift(g, m, 1, 1))));
}

/* Applies the layers to each element: (P, K, 3) -> (P, K, width). */
static RelnNode *each(const RelnNet *net, const PlatonicModel *model, RelnNode *x)
{
    RelnNode *h = reln_nn_linear(net, "one", x, model->width);

    if (model->relu)
        h = reln_nn_relu(net, "one", h, NULL);
    if (model->relu && model->bracket)
        h = reln_nn_linear(net, "two", h, model->width);
    return model->bracket ? reln_nn_bracket(net, "two", h) : h;
}

/* The same layers, with norms before and after them and a bounded gate. */
static RelnNode *each_best(const RelnNet *net, const PlatonicModel *model, RelnNode *x)
{
    RelnNode *h = reln_nn_linear(net, "one", normalise(net, x), model->width);

    h = reln_nn_rms(net, "one", h, NULL);
    h = reln_nn_bracket(net, "two", reln_nn_linear(net, "two", h, model->width));
    return normalise(net, h);
}

static RelnNode *before_pool(const RelnNet *net, const PlatonicModel *model, RelnNode *x)
{
    return model->kind == PLATONIC_BEST ? each_best(net, model, x) : each(net, model, x);
}

/* Adds the parameters that the paper counts although no result depends on them: eight learned directions of
 * the invariant layer. */
static void count_unused(const RelnNet *net, const PlatonicModel *model)
{
    weights(net, "invariant.W", model->width, 8);
    weights(net, "invariant.U", 8, 1);
}

/* Maps invariants of the pooled element to classes, without a bias. */
static RelnNode *classify(const RelnNet *net, const PlatonicModel *model, RelnNode *q)
{
    if (model->kind == PLATONIC_BEST)
        return reln_nn_dense(net, "out", q, PLATONIC_CLASSES);
    count_unused(net, model);
    return reln_mix(net->graph, q, weights(net, "out.W", model->width, PLATONIC_CLASSES));
}

static RelnNode *mlp(const RelnNet *net, const PlatonicModel *model, RelnNode *x)
{
    const RelnMlp shape = {.hidden = model->hidden,
                           .width = model->width,
                           .channels = PLATONIC_CLASSES,
                           .activation = model->activation};
    RelnNode *flat = reln_reshape(net->graph, x, (RelnDims){.c = PLATONIC_SET * PLATONIC_ROW});

    return reln_nn_mlp(net, "mlp", flat, &shape);
}

RelnNode *platonic_network(const RelnNet *net, const PlatonicModel *model)
{
    RelnGraph *g = net->graph;
    const RelnDims dims = {.p = PLATONIC_SET, .k = PLATONIC_K, .c = PLATONIC_CHANNELS};
    RelnNode *x = reln_input(g, "x", RELN_SAMPLES, dims,
                             reln_rep_adjoint(reln_graph_group(g), net->algebra), RELN_DEFAULT);

    if (model->kind == PLATONIC_MLP)
        return mlp(net, model, x);
    RelnNode *h = reln_nn_pool_max(net, "pool", before_pool(net, model, x), RELN_P, false);
    return classify(net, model, reln_nn_invariant(net, h));
}

/* Max-Killing pooling chooses by the score B(h, h Wq), and the layers after it use B(h, h): both are computed
 * for all elements, and samples choose among them. */
RelnNode *platonic_network_shared(const RelnNet *net, const PlatonicModel *model)
{
    RelnGraph *g = net->graph;
    const RelnDims dims = {.p = PLATONIC_ELEMENTS, .k = PLATONIC_K, .c = PLATONIC_CHANNELS};

    if (model->kind == PLATONIC_MLP)
        return NULL;
    RelnNode *x = reln_input(g, "elements", RELN_STEP, dims,
                             reln_rep_adjoint(reln_graph_group(g), net->algebra), RELN_DEFAULT);
    RelnNode *which = reln_input_index(g, "which", RELN_SAMPLES, (RelnDims){.p = PLATONIC_SET},
                                       RELN_STEP, PLATONIC_ELEMENTS);
    RelnNode *h = before_pool(net, model, x);
    RelnNode *d = reln_mix(g, h, weights(net, "pool.Wq", model->width, model->width));
    RelnNode *scores = reln_stop_gradient(g, reln_nn_form(net, h, d));
    RelnNode *chosen = reln_argmax(g, reln_pick(g, scores, which, RELN_P), RELN_P);
    RelnNode *q = reln_pick(g, reln_nn_invariant(net, h), which, RELN_P);

    return classify(net, model, reln_pick(g, q, chosen, RELN_P));
}
