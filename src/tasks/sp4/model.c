/* model.c -- the networks of the sp(4) table. */
#include <math.h>

#include "tasks/sp4/sp4.h"

/* Lie Neurons and ReLN use the same form up to a factor; the Killing form is 6 tr. */
static double scale_of(const Sp4Model *model)
{
    return model->form / 6.0;
}

static RelnNode *weights(const RelnNet *net, const char *name, int in, int out)
{
    const RelnInit init = {RELN_INIT_UNIFORM, 1.0 / sqrt(in)};

    return reln_param(net->graph, name, (RelnDims){.r = in, .c = out}, init);
}

/* The paper counts the learned directions of the invariant layer, which no result depends on. */
static void count_unused(const RelnNet *net, const Sp4Model *model)
{
    weights(net, "invariant.W", model->width, 1);
    weights(net, "invariant.U", 1, 1);
}

/* y = x + max(0, B(x, d)) d, d = x U, with the model's form */
static RelnNode *gate(const RelnNet *net, const Sp4Model *model, RelnNode *x)
{
    RelnGraph *g = net->graph;
    RelnNode *d = reln_mix(g, x, weights(net, "one.U", model->width, model->width));
    RelnNode *t = reln_scale(g, reln_nn_form(net, x, d), scale_of(model));

    return reln_add(g, x, reln_mul(g, reln_relu(g, t), d));
}

static RelnNode *layers(const RelnNet *net, const Sp4Model *model, RelnNode *x)
{
    RelnNode *h = reln_nn_linear(net, "one", x, model->width);

    if (model->relu)
        h = gate(net, model, h);
    if (model->relu && model->bracket)
        h = reln_nn_linear(net, "two", h, model->width);
    if (model->bracket)
        h = reln_nn_bracket(net, "two", h);
    count_unused(net, model);
    return reln_nn_dense(net, "out",
                         reln_scale(net->graph, reln_nn_invariant(net, h), scale_of(model)), 1);
}

/* (u, u^2, u^3): the target is steep for large u, where samples are too few to learn a power from. */
static RelnNode *powers(const RelnNet *net, RelnNode *u)
{
    RelnNode *square = reln_square(net->graph, u);
    RelnNode *const all[] = {u, square, reln_mul(net->graph, u, square)};

    return reln_concat(net->graph, 3, all, RELN_C);
}

/* The best network. A Triple, x + abc + cba, makes elements of third degree, and their form contains tr
 * X^4 and so det X, which Linear, ReLU and Bracket cannot compute; a smooth function of the invariants
 * follows. */
static RelnNode *best(const RelnNet *net, const Sp4Model *model, RelnNode *x)
{
    const RelnMlp mlp = {.hidden = model->hidden,
                         .width = model->width,
                         .channels = 1,
                         .activation = model->activation};
    const RelnNet traces = {.graph = net->graph, .algebra = net->algebra, .form = RELN_FORM_TRACE};
    RelnNode *h = reln_nn_triple(net, "one", reln_nn_linear(net, "one", x, model->channels));
    RelnNode *u = reln_nn_dense(net, "two", reln_nn_invariant(&traces, h), model->channels);
    RelnNode *p = powers(net, u);

    return reln_add(net->graph, reln_nn_mlp(net, "mlp", p, &mlp), reln_nn_dense(net, "out", p, 1));
}

/* The plain network: tr XX, tr XY, tr YY, tr [X,Y][X,Y], all invariants that the paper's layers can compute,
 * and a smooth function of them. */
static RelnNode *invariants(const RelnNet *net, const Sp4Model *model, RelnNode *x)
{
    const RelnMlp mlp = {.hidden = model->hidden,
                         .width = model->width,
                         .channels = 1,
                         .activation = model->activation};
    const RelnNet traces = {.graph = net->graph, .algebra = net->algebra, .form = RELN_FORM_TRACE};
    RelnNode *X = reln_slice(net->graph, x, RELN_C, 0, 1);
    RelnNode *Y = reln_slice(net->graph, x, RELN_C, 1, 1);
    RelnNode *Z = reln_bracket(net->graph, net->algebra, X, Y);
    RelnNode *const all[] = {reln_nn_invariant(&traces, X), reln_nn_form(&traces, X, Y),
                             reln_nn_invariant(&traces, Y), reln_nn_invariant(&traces, Z)};

    return reln_nn_mlp(net, "mlp", reln_concat(net->graph, 4, all, RELN_C), &mlp);
}

/* Not equivariant: its inputs are all twenty coordinates. */
static RelnNode *mlp(const RelnNet *net, const Sp4Model *model, RelnNode *x)
{
    const RelnMlp shape = {.hidden = model->hidden,
                           .width = model->width,
                           .channels = 1,
                           .activation = model->activation};

    return reln_nn_mlp(net, "mlp", reln_reshape(net->graph, x, (RelnDims){.c = 2 * SP4_K}), &shape);
}

RelnNode *sp4_network(const RelnNet *net, const Sp4Model *model)
{
    RelnGraph *g = net->graph;
    const RelnRep *rep = reln_rep_adjoint(reln_graph_group(g), net->algebra);
    RelnNode *x =
        reln_input(g, "x", RELN_SAMPLES, (RelnDims){.k = SP4_K, .c = 2}, rep, RELN_DEFAULT);

    if (model->kind == SP4_MLP)
        return mlp(net, model, x);
    if (model->kind == SP4_INVARIANTS)
        return invariants(net, model, x);
    if (model->kind == SP4_BEST)
        return best(net, model, x);
    return layers(net, model, x);
}

/* ---- the same function of words ------------------------------------------------------------------------------------- */

/* (u_X v_X, u_X v_Y + u_Y v_X, u_Y v_Y): pairs with (B(X,X), B(X,Y), B(Y,Y)) to B(u, v) */
static RelnNode *products(RelnGraph *g, RelnNode *u, RelnNode *v)
{
    static const RelnEntry entries[] = {{0, 0, 0, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 2, 1}};
    static const RelnTensor3 T = {2, 2, 3, 4, entries};

    return reln_contract(g, &T, u, v, reln_rep_trivial(reln_graph_group(g), 3));
}

/* u_X v_Y - u_Y v_X: the coefficient of [X,Y] in [u, v] */
static RelnNode *minor_of(RelnGraph *g, RelnNode *u, RelnNode *v)
{
    static const RelnEntry entries[] = {{0, 1, 0, 1}, {1, 0, 0, -1}};
    static const RelnTensor3 T = {2, 2, 1, 2, entries};

    return reln_contract(g, &T, u, v, reln_rep_trivial(reln_graph_group(g), 1));
}

typedef struct Words {
    RelnNode *gram;    /* (K = 3): B(X,X), B(X,Y), B(Y,Y) */
    RelnNode *bracket; /* B([X,Y],[X,Y]) */
} Words;

static Words words_input(RelnGraph *g)
{
    RelnNode *in = reln_input(g, "words", RELN_SAMPLES, (RelnDims){.k = SP4_WORDS},
                              reln_rep_trivial(reln_graph_group(g), SP4_WORDS), RELN_DEFAULT);

    return (Words){reln_slice(g, in, RELN_K, 0, 3), reln_slice(g, in, RELN_K, 3, 1)};
}

static RelnNode *gate_words(const RelnNet *net, const Sp4Model *model, const Words *words,
                            RelnNode *z)
{
    RelnGraph *g = net->graph;
    RelnNode *v = reln_mix(g, z, weights(net, "one.U", model->width, model->width));
    RelnNode *t = reln_scale(g, reln_pair(g, words->gram, products(g, z, v)), scale_of(model));

    return reln_add(g, z, reln_mul(g, reln_relu(g, t), v));
}

/* B(h, h) with h = z_X X + z_Y Y + w [X,Y]; w NULL: no bracket */
static RelnNode *invariant_words(const RelnNet *net, const Words *words, RelnNode *z, RelnNode *w)
{
    RelnGraph *g = net->graph;
    RelnNode *q = reln_pair(g, words->gram, products(g, z, z));

    return w ? reln_add(g, q, reln_mul(g, words->bracket, reln_square(g, w))) : q;
}

RelnNode *sp4_network_words(const RelnNet *net, const Sp4Model *model)
{
    RelnGraph *g = net->graph;
    const int c = model->width;

    if (model->kind != SP4_LAYERS)
        return NULL;
    const Words words = words_input(g);
    RelnNode *w = NULL;
    RelnNode *z = reln_reshape(g, weights(net, "one.W", 2, c), (RelnDims){.k = 2, .c = c});
    if (model->relu)
        z = gate_words(net, model, &words, z);
    if (model->relu && model->bracket)
        z = reln_mix(g, z, weights(net, "two.W", c, c));
    if (model->bracket)
        w = minor_of(g, reln_mix(g, z, weights(net, "two.Wb", c, c)),
                     reln_mix(g, z, weights(net, "two.Wa", c, c)));
    count_unused(net, model);
    return reln_nn_dense(net, "out",
                         reln_scale(g, invariant_words(net, &words, z, w), scale_of(model)), 1);
}
