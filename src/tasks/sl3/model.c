/* model.c -- the networks of the two tables on sl(3). */
#include <math.h>
#include <stdio.h>

#include "tasks/experiment.h"
#include "tasks/sl3/sl3.h"

/* The published count includes the learned directions of the invariant layer, which no result depends on. */
static void count_unused(const RelnNet *net, int width)
{
    const RelnInit init = {RELN_INIT_UNIFORM, 1.0 / sqrt(width)};

    reln_param(net->graph, "invariant.W", (RelnDims){.r = width, .c = 1}, init);
    reln_param(net->graph, "invariant.U", (RelnDims){.r = 1, .c = 1}, init);
}

static RelnNode *invariant(const RelnNet *net, const Sl3Model *model, RelnNode *x)
{
    RelnNode *h = reln_nn_relu(net, "one", reln_nn_linear(net, "one", x, model->width), NULL);

    h = reln_nn_bracket(net, "two", reln_nn_linear(net, "two", h, model->width));
    count_unused(net, model->width);
    return reln_nn_dense(net, "out", reln_nn_invariant(net, h), 1);
}

static RelnNode *equivariant(const RelnNet *net, const Sl3Model *model, RelnNode *x)
{
    const RelnRelu leaky = {.leak = 0.2};
    char name[16];

    for (int i = 0; model->blocks[i]; i++) {
        snprintf(name, sizeof name, "%d", i);
        x = reln_nn_linear(net, name, x, model->width);
        x = model->blocks[i] == 'b' ? reln_nn_bracket(net, name, x)
                                    : reln_nn_relu(net, name, x, &leaky);
    }
    return reln_nn_linear(net, "out", x, 1);
}

/* (u, u^2, u^3): the target is steep for large u, where samples are too few to learn a power from. */
static RelnNode *powers(const RelnNet *net, RelnNode *u)
{
    RelnNode *square = reln_square(net->graph, u);
    RelnNode *const all[] = {u, square, reln_mul(net->graph, u, square)};

    return reln_concat(net->graph, 3, all, RELN_C);
}

/* A Product, and the traces after it and after a second one: words of up to four letters, including tr X^3 =
 * 3 det X. */
static RelnNode *complete(const RelnNet *net, const Sl3Model *model, RelnNode *x)
{
    const RelnMlp mlp = {.hidden = model->hidden,
                         .width = model->head,
                         .channels = 1,
                         .activation = model->activation};
    RelnFeatures h = reln_nn_affine(net, "one", (RelnFeatures){.x = x}, model->width, 0);

    h.x = reln_nn_product(net, "one", h.x);
    h = reln_nn_affine(net, "two", h, model->width, 0);
    h.x = reln_nn_product(net, "two", h.x);
    RelnNode *p = powers(net, reln_nn_affine(net, "three", h, 0, model->width).s);
    return reln_add(net->graph, reln_nn_mlp(net, "mlp", p, &mlp), reln_nn_dense(net, "out", p, 1));
}

/* Not equivariant: its inputs are all sixteen coordinates. */
static RelnNode *mlp(const RelnNet *net, const Sl3Model *model, RelnNode *x)
{
    const RelnMlp shape = {.hidden = model->hidden,
                           .width = model->width,
                           .channels = model->outputs,
                           .activation = model->activation};
    RelnNode *flat = reln_reshape(net->graph, x, (RelnDims){.c = 2 * SL3_K});

    return reln_reshape(net->graph, reln_nn_mlp(net, "mlp", flat, &shape),
                        (RelnDims){.k = model->outputs, .c = 1});
}

RelnNode *sl3_network(const RelnNet *net, const void *model)
{
    const Sl3Model *m = model;
    RelnNode *x = exp_elements(net, "x", (RelnDims){.k = m->matrices ? SL3_MATRIX : SL3_K, .c = 2});

    switch (m->kind) {
    case SL3_INVARIANT:
        return invariant(net, m, x);
    case SL3_EQUIVARIANT:
        return equivariant(net, m, x);
    case SL3_COMPLETE:
        return complete(net, m, x);
    case SL3_MLP:
        break;
    }
    return mlp(net, m, x);
}
