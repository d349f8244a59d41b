/* model.c -- fields made of a bracket, and their Runge-Kutta steps.
 *
 * Euler's equations are one bracket: with (N a) x (N b) = det(N) N^-T (a x b) and N = I / sqrt(det I),
 *     I^-1 ((I w) x w) = (N I w) x (N w),
 * so a bracket with a symmetric positive matrix on each side, I^2 and I up to a factor, is exactly the field.
 * Without these matrices every channel is a multiple of w, all brackets are 0, and the field reduces to wdot = c w.
 *
 * Learned vectors and matrices belong to the body's frame: they break the symmetry unless they turn with it. So the
 * graph is built without a promise (none:3), and rigid_turn() turns these parameters with the frame.
 */
#include <math.h>
#include <stddef.h>

#include "tasks/experiment.h"
#include "tasks/rigid/rigid.h"

/* Returns parameters that are vectors, as channels of a feature like x. */
static RelnNode *learned(const RelnNet *net, const char *name, int channels, RelnInit init,
                         const RelnNode *x)
{
    RelnNode *p = reln_param(net->graph, name, (RelnDims){.k = 3, .c = channels}, init);

    return reln_slice_k(net->graph, p, 0, reln_node_rep(x));
}

/* M x, M = sum_e u_e v_e^T: the channels of v are the weights of those of u. */
static RelnNode *outer_product(RelnGraph *g, RelnNode *u, RelnNode *v, RelnNode *x)
{
    return reln_channel_mix(g, u, reln_channel_gram(g, v, x));
}

/* The published matrix, m m^T x: three vectors m are computed from twenty learned ones by a Linear and a
 * ReLU. */
static RelnNode *mixed(const RelnNet *net, int channels, const char *name, RelnNode *x)
{
    RelnNode *all = learned(net, "m", channels, (RelnInit){RELN_INIT_NORMAL, 0.1}, x);
    RelnNode *m = reln_nn_relu(net, name, reln_nn_linear(net, name, all, 3), NULL);

    return outer_product(net->graph, m, m, x);
}

static RelnNode *weights(const RelnNet *net, int channels, const char *name)
{
    const RelnInit init = {RELN_INIT_UNIFORM, 1.0 / sqrt(channels)};

    return reln_param(net->graph, name, (RelnDims){.r = channels, .c = channels}, init);
}

/* h + [M1 h Wb, M2 h Wa]; no M: the plain layer */
static RelnNode *bracket(const RelnNet *net, const RigidModel *model, RelnNode *x)
{
    const int c = model->channels;
    RelnGraph *g = net->graph;
    RelnNode *h = reln_nn_linear(net, "one", x, c);

    if (model->kind == RIGID_BRACKET)
        h = reln_nn_bracket(net, "two", h);
    else {
        RelnNode *b = mixed(net, c, "mix1", reln_mix(g, h, weights(net, c, "two.Wb")));
        RelnNode *a = mixed(net, c, "mix2", reln_mix(g, h, weights(net, c, "two.Wa")));
        h = reln_add(g, h, reln_bracket(g, net->algebra, b, a));
    }
    return reln_nn_linear(net, "out", h, 1);
}

static RelnNode *identity(const RelnNet *net, const RelnNode *x)
{
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

    return reln_const(net->graph, (RelnDims){.k = 3, .c = 3}, reln_node_rep(x), one);
}

/* (A w) x (B w). The channels of a parameter are the rows of A. */
static RelnNode *pair(const RelnNet *net, RelnNode *x)
{
    const RelnInit init = {RELN_INIT_NORMAL, 0.5};
    RelnGraph *g = net->graph;
    RelnNode *e = identity(net, x);
    RelnNode *a = outer_product(g, e, learned(net, "A", 3, init, x), x);
    RelnNode *b = outer_product(g, e, learned(net, "B", 3, init, x), x);

    return reln_bracket(g, net->algebra, a, b);
}

static RelnNode *mlp(const RelnNet *net, const RigidModel *model, RelnNode *x)
{
    const RelnMlp shape = {.hidden = model->hidden,
                           .width = model->width,
                           .channels = 3,
                           .activation = model->activation};
    RelnGraph *g = net->graph;
    RelnNode *y = reln_nn_mlp(net, "mlp", reln_reshape(g, x, (RelnDims){.c = 3}), &shape);

    return reln_slice_k(g, reln_reshape(g, y, (RelnDims){.k = 3, .c = 1}), 0, reln_node_rep(x));
}

static RelnNode *field(const RelnNet *net, const RigidModel *model, RelnNode *x)
{
    if (model->kind == RIGID_MLP)
        return mlp(net, model, x);
    return model->kind == RIGID_PAIR ? pair(net, x) : bracket(net, model, x);
}

static RelnNode *add_scaled(RelnGraph *g, RelnNode *x, double a, RelnNode *y)
{
    return reln_add(g, x, reln_scale(g, y, a));
}

static RelnNode *runge_kutta(const RelnNet *net, const RigidModel *model, RelnNode *x)
{
    const double h = RIGID_INTERVAL;
    RelnGraph *g = net->graph;
    RelnNode *k1 = field(net, model, x);
    RelnNode *k2 = field(net, model, add_scaled(g, x, h / 2, k1));
    RelnNode *k3 = field(net, model, add_scaled(g, x, h / 2, k2));
    RelnNode *k4 = field(net, model, add_scaled(g, x, h, k3));
    RelnNode *ends = add_scaled(g, x, h / 6, reln_add(g, k1, k4));

    return add_scaled(g, ends, h / 3, reln_add(g, k2, k3));
}

RelnNode *rigid_network(const RelnNet *net, const void *model)
{
    RelnNode *w = exp_elements(net, "x", (RelnDims){.k = 3, .c = 1});
    RelnNode *steps[RIGID_STEPS];

    for (int i = 0; i < RIGID_STEPS; i++)
        steps[i] = w = runge_kutta(net, model, w);
    return reln_concat(net->graph, RIGID_STEPS, steps, RELN_C);
}

/* ---- another frame ----------------------------------------------------------------------------------------------- */

/* v -> r v for every channel of p (3, c) */
static void turn_channels(const double *r, int c, double *p)
{
    for (int j = 0; j < c; j++) {
        const double v[3] = {p[j], p[c + j], p[2 * c + j]};
        for (int i = 0; i < 3; i++)
            p[i * c + j] = r[3 * i] * v[0] + r[3 * i + 1] * v[1] + r[3 * i + 2] * v[2];
    }
}

/* Turns the channels of p, which pair with a basis that turns, too: p -> p r^T */
static void turn_basis(const double *r, double *p)
{
    for (int k = 0; k < 3; k++) {
        const double v[3] = {p[3 * k], p[3 * k + 1], p[3 * k + 2]};
        for (int i = 0; i < 3; i++)
            p[3 * k + i] = r[3 * i] * v[0] + r[3 * i + 1] * v[1] + r[3 * i + 2] * v[2];
    }
}

void rigid_turn(const RigidModel *model, RelnStore *store, const double *r)
{
    static const char *const matrices[] = {"A", "B"};
    RelnEntryInfo entry;

    if (model->kind == RIGID_MIXED && reln_store_find(store, "m", &entry))
        turn_channels(r, model->channels, entry.values);
    for (int i = 0; i < 2 && model->kind == RIGID_PAIR; i++)
        if (reln_store_find(store, matrices[i], &entry)) {
            turn_channels(r, 3, entry.values);
            turn_basis(r, entry.values);
        }
}
