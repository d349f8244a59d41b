/* model.c -- the networks of the GL(n) table. */
#include <math.h>
#include <stdio.h>

#include "tasks/experiment.h"
#include "tasks/gln/gln.h"

/* A smooth function of invariants, the same in every row that has invariants, so that rows differ only in
 * their invariants. */
static RelnNode *head(const RelnNet *net, const GlnModel *model, RelnNode *s)
{
    const RelnMlp mlp = {.hidden = model->hidden,
                         .width = model->head,
                         .channels = 1,
                         .activation = model->activation};

    return reln_add(net->graph, reln_nn_mlp(net, "head", s, &mlp), reln_nn_dense(net, "out", s, 1));
}

/* A linear layer; with `center`, every intertwiner of the adjoint rep with itself: x W + (centre of x) V. */
static RelnNode *linear(const RelnNet *net, const GlnModel *model, const char *name, RelnNode *x,
                        int channels)
{
    char central[32];
    RelnNode *y = reln_nn_linear(net, name, x, channels);

    if (!model->center)
        return y;
    snprintf(central, sizeof central, "%s.center", name);
    return reln_add(
        net->graph, y,
        reln_nn_linear(net, central, reln_center_part(net->graph, net->algebra, x), channels));
}

/* The paper's layers: Linear, ReLU, Bracket, Bracket, and the invariants B(x, x) or one more Linear. */
static RelnNode *layers(const RelnNet *net, const GlnNetwork *of, RelnNode *x)
{
    const GlnModel *m = of->model;
    RelnNode *h = reln_nn_relu(net, "one", linear(net, m, "one", x, m->width), NULL);

    h = reln_nn_bracket(net, "two", linear(net, m, "two", h, m->width));
    h = reln_nn_bracket(net, "three", linear(net, m, "three", h, m->width));
    if (of->target->element)
        return linear(net, m, "out", h, 1);
    return head(net, m, reln_nn_invariant(net, linear(net, m, "four", h, m->width)));
}

/* Every intertwiner and products of matrices: traces of words of up to four letters, and the words
 * themselves. */
static RelnNode *complete(const RelnNet *net, const GlnNetwork *of, RelnNode *x)
{
    const int c = of->model->width;
    RelnFeatures h = reln_nn_affine(net, "one", (RelnFeatures){.x = x}, c, 0);

    h.x = reln_nn_product(net, "one", h.x);
    h = reln_nn_affine(net, "two", h, c, 0);
    h.x = reln_nn_product(net, "two", h.x);
    if (of->target->element)
        return reln_nn_affine(net, "three", h, 1, 0).x;
    return head(net, of->model, reln_nn_affine(net, "three", h, 0, c).s);
}

static RelnNode *mlp(const RelnNet *net, const GlnNetwork *of, RelnNode *x)
{
    const int k = of->n * of->n, outputs = gln_outputs(of->target, of->n);
    const RelnMlp shape = {.hidden = of->model->hidden,
                           .width = of->model->width,
                           .channels = outputs,
                           .activation = of->model->activation};
    RelnNode *y =
        reln_nn_mlp(net, "mlp", reln_reshape(net->graph, x, (RelnDims){.c = 2 * k}), &shape);

    return reln_reshape(net->graph, y, (RelnDims){.k = outputs, .c = 1});
}

RelnNode *gln_network(const RelnNet *net, const void *network)
{
    const GlnNetwork *of = network;
    RelnNode *x = exp_elements(net, "x", (RelnDims){.k = of->n * of->n, .c = 2});

    if (of->model->kind == GLN_MLP)
        return mlp(net, of, x);
    x = reln_scale(net->graph, x, 1 / sqrt(2.0 * of->n)); /* B~ is then about tr(XY) */
    return of->model->kind == GLN_COMPLETE ? complete(net, of, x) : layers(net, of, x);
}
