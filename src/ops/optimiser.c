/* optimiser.c -- Adam and gradient descent: effects that change parameters after everything else of a run. */
#include <math.h>
#include <string.h>

#include "ops/ops.h"

/*!
 * reln_adam() -- one step of Adam (Kingma and Ba, 2015) for one parameter p with gradient g, at the end of every run
 *
 *     m = beta1 m + (1 - beta1) g,   v = beta2 v + (1 - beta2) g^2,   t = step of the run + 1
 *     p = p - rate (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps) - rate decay p
 *
 * With eps_inside: p = p - rate sqrt(1 - beta2^t) / (1 - beta1^t) m / sqrt(v + eps) - rate decay p.
 *
 * m and v are states of the store, named after the parameter: "w.m", "w.v". The rate is any number at step level (an
 * input, a constant or a computed value), and so is the gradient: schedules and clipping can be part of the graph.
 *
 * Options NULL: RELN_ADAM_DEFAULTS
 * Fails   RELN_ERR_SHAPE when rate or gradient do not fit; RELN_ERR_REP when one of them is not invariant;
 *         RELN_ERR_ARG for options out of range and for a parameter that has an optimiser already
 */
RELN_API void reln_adam(RelnGraph *g, const RelnAdam *options, RelnNode *rate, RelnNode *param,
                        RelnNode *grad);

/*!
 * reln_sgd() -- one step of gradient descent for one parameter, at the end of every run; options NULL: plain
 *
 *     d = g + decay p,   m = momentum m + d,   p = p - rate m    (nesterov: rate (d + momentum m))
 *
 * m is a state of the store, "w.m", when there is momentum.
 */
RELN_API void reln_sgd(RelnGraph *g, const RelnSgd *options, RelnNode *rate, RelnNode *param,
                       RelnNode *grad);

/*!
 * reln_adam_all() -- reln_adam() for every parameter of the graph, with the gradient of loss
 */
RELN_API void reln_adam_all(RelnGraph *g, const RelnAdam *options, RelnNode *rate, RelnNode *loss);

/*!
 * reln_adam_groups() -- reln_adam_all() with options and a rate for each group: a parameter belongs to the first group
 * whose prefix its name begins with. Parameters without a group are not changed
 */
RELN_API void reln_adam_groups(RelnGraph *g, int n, const RelnAdamGroup *groups, RelnNode *loss);

/*!
 * reln_sgd_all() -- reln_sgd() for every parameter of the graph, with the gradient of loss
 */
RELN_API void reln_sgd_all(RelnGraph *g, const RelnSgd *options, RelnNode *rate, RelnNode *loss);

/* in: parameter, gradient, rate, then the moments */
enum { PARAM, GRAD, RATE, FIRST, SECOND };

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnNode *p = z->in[PARAM], *grad = z->in[GRAD], *rate = z->in[RATE];

    z->shape = p->shape;
    z->rep = p->rep;
    z->needs_grad = false;
    if (!reln_want_float(g, z))
        return false;
    if (grad->domain != RELN_STEP || memcmp(&grad->shape, &p->shape, sizeof p->shape) != 0)
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "%s: parameter %s is %s, its gradient %s; wanted the same at step "
                               "level",
                               z->op->name, reln_node_name(p), reln_shape_text(p),
                               reln_shape_text(grad));
    if (rate->domain != RELN_STEP || reln_shape_count(&rate->shape) != 1)
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "%s: the rate is %s, wanted one number at step "
                               "level",
                               z->op->name, reln_shape_text(rate));
    return reln_want_returning(g, z->op->name, reln_node_name(p), grad) &&
           reln_want_returning(g, z->op->name, reln_node_name(p), rate);
}

static double rate_of(const RelnExec *e)
{
    const void *rate = e->in[RATE];

    return e->node->dtype == RELN_F64 ? *(const double *)rate : (double)*(const float *)rate;
}

/* 1 - beta^t, without cancellation for beta close to 1 */
static double correction(double beta, uint64_t t)
{
    return beta > 0.0 ? -expm1((double)t * log(beta)) : 1.0;
}

/* The address of the current piece of an input. */
static void *piece(const RelnExec *e, int input)
{
    return reln_at(e->in[input], e->first, reln_kern(e)->size);
}

static RelnStatus forward_adam(const RelnExec *e)
{
    const RelnAdam *o = e->node->attr;
    const double rate = rate_of(e), c1 = correction(o->beta1, e->step + 1);
    const double c2 = correction(o->beta2, e->step + 1);
    const RelnAdamStep step = {
        .beta1 = o->beta1,
        .beta2 = o->beta2,
        .keep = 1.0 - rate * o->decay,
        .rate = o->eps_inside ? rate * sqrt(c2) / c1 : rate / c1,
        .root = o->eps_inside ? 1.0 : 1.0 / c2,
        .inside = o->eps_inside ? o->eps : 0.0,
        .outside = o->eps_inside ? 0.0 : o->eps,
    };

    reln_kern(e)->adam(e->n, &step, piece(e, GRAD), piece(e, PARAM), piece(e, FIRST),
                       piece(e, SECOND));
    return RELN_OK;
}

static RelnStatus forward_sgd(const RelnExec *e)
{
    const RelnSgd *o = e->node->attr;
    const RelnSgdStep step = {rate_of(e), o->decay, o->momentum, o->nesterov};

    reln_kern(e)->sgd(e->n, &step, piece(e, GRAD), piece(e, PARAM),
                      e->node->n_in > FIRST ? piece(e, FIRST) : NULL);
    return RELN_OK;
}

static double flops_adam(const RelnNode *z)
{
    return 14.0 * (double)reln_shape_count(&z->shape);
}

static double flops_sgd(const RelnNode *z)
{
    return (z->n_in > FIRST ? 6.0 : 4.0) * (double)reln_shape_count(&z->shape);
}

const RelnOp reln_op_adam = {
    .name = "adam",
    .rule = RELN_RULE_INVARIANTS,
    .n_in = 5,
    .flags = RELN_OP_EFFECT | RELN_OP_FRESH,
    .infer = infer,
    .forward = forward_adam,
    .flops = flops_adam,
};

const RelnOp reln_op_sgd = {
    .name = "sgd",
    .rule = RELN_RULE_INVARIANTS,
    .n_in = -1,
    .flags = RELN_OP_EFFECT | RELN_OP_FRESH,
    .infer = infer,
    .forward = forward_sgd,
    .flops = flops_sgd,
};

/* ---- one parameter -------------------------------------------------------------------------------------------- */

static RelnNode *moment(RelnGraph *g, const RelnNode *param, const char *which)
{
    const char *name =
        reln_arena_printf(reln_graph_arena(g), "%s.%s", reln_node_name(param), which);

    if (!name) {
        reln_graph_nomem(g);
        return NULL;
    }
    return reln_moment(g, name, reln_node_dims(param));
}

static bool adam_fits(RelnGraph *g, const RelnAdam *o)
{
    if (o->beta1 >= 0.0 && o->beta1 < 1.0 && o->beta2 >= 0.0 && o->beta2 < 1.0 && o->eps > 0.0 &&
        o->decay >= 0.0 && isfinite(o->eps) && isfinite(o->decay))
        return true;
    return reln_graph_fail(g, RELN_ERR_ARG,
                           "adam: beta1 %g, beta2 %g, eps %g, decay %g; wanted betas from 0 to "
                           "below 1, eps above 0, decay from 0",
                           o->beta1, o->beta2, o->eps, o->decay);
}

/* Refuses a missing rate, parameter or gradient: without it nothing would be trained, and no message would say so.
 * Moments are found by the parameter's name, so x has to be a parameter. */
static bool want_param(RelnGraph *g, const char *op, const RelnNode *rate, const RelnNode *x,
                       const RelnNode *grad)
{
    if (!rate || !x || !grad)
        return reln_graph_fail(g, RELN_ERR_ARG, "%s: rate, parameter or gradient is missing", op);
    for (int i = 0; reln_graph_param(g, i); i++)
        if (reln_graph_param(g, i) == x)
            return true;
    return reln_graph_fail(g, RELN_ERR_ARG, "%s: %s is not a parameter", op, x->op->name);
}

void reln_adam(RelnGraph *g, const RelnAdam *options, RelnNode *rate, RelnNode *param,
               RelnNode *grad)
{
    if (!g) {
        reln_graph_null(g, __func__);
        return;
    }
    static const RelnAdam defaults = RELN_ADAM_DEFAULTS;
    const RelnAdam *o = options ? options : &defaults;
    RelnAdam attr;
    RelnNode *in[5];

    if (!adam_fits(g, o) || !want_param(g, "adam", rate, param, grad))
        return;
    memset(&attr, 0, sizeof attr);
    attr.beta1 = o->beta1;
    attr.beta2 = o->beta2;
    attr.eps = o->eps;
    attr.decay = o->decay;
    attr.eps_inside = o->eps_inside;
    in[PARAM] = param;
    in[GRAD] = grad;
    in[RATE] = reln_cast(g, rate, param->dtype);
    in[FIRST] = moment(g, param, "m");
    in[SECOND] = moment(g, param, "v");
    (void)reln_graph_effect(g, reln_node(g, &reln_op_adam, 5, in, &attr, sizeof attr, NULL));
}

static bool sgd_fits(RelnGraph *g, const RelnSgd *o)
{
    if (o->momentum >= 0.0 && o->momentum < 1.0 && o->decay >= 0.0 && isfinite(o->decay) &&
        (!o->nesterov || o->momentum > 0.0))
        return true;
    return reln_graph_fail(g, RELN_ERR_ARG,
                           "sgd: momentum %g, decay %g; wanted momentum from 0 to below 1 (above 0 "
                           "for nesterov), decay from 0",
                           o->momentum, o->decay);
}

void reln_sgd(RelnGraph *g, const RelnSgd *options, RelnNode *rate, RelnNode *param, RelnNode *grad)
{
    if (!g) {
        reln_graph_null(g, __func__);
        return;
    }
    RelnSgd attr;
    RelnNode *in[4];
    int n = FIRST;

    memset(&attr, 0, sizeof attr);
    if (options) {
        attr.momentum = options->momentum;
        attr.nesterov = options->nesterov;
        attr.decay = options->decay;
    }
    if (!sgd_fits(g, &attr) || !want_param(g, "sgd", rate, param, grad))
        return;
    in[PARAM] = param;
    in[GRAD] = grad;
    in[RATE] = reln_cast(g, rate, param->dtype);
    if (attr.momentum > 0.0)
        in[n++] = moment(g, param, "m");
    (void)reln_graph_effect(g, reln_node(g, &reln_op_sgd, n, in, &attr, sizeof attr, NULL));
}

/* ---- all parameters ------------------------------------------------------------------------------------------- */

static int count_params(const RelnGraph *g)
{
    int n = 0;

    while (reln_graph_param(g, n))
        n++;
    return n;
}

/* All parameters, then their gradients, from one reverse sweep; NULL with the graph failed. */
static RelnNode **gradients(RelnGraph *g, RelnNode *loss, int n)
{
    RelnNode **nodes = reln_graph_alloc(g, 2 * (size_t)n, sizeof(RelnNode *));

    if (!nodes)
        return NULL;
    for (int i = 0; i < n; i++)
        nodes[i] = reln_graph_param(g, i);
    return reln_grad(g, loss, n, nodes, nodes + n) ? nodes : NULL;
}

void reln_adam_groups(RelnGraph *g, int n, const RelnAdamGroup *groups, RelnNode *loss)
{
    if (!g) {
        reln_graph_null(g, __func__);
        return;
    }
    const int count = count_params(g);
    RelnNode **nodes = gradients(g, loss, count);

    for (int i = 0; i < count && nodes; i++) {
        int k = 0;

        while (k < n &&
               strncmp(reln_node_name(nodes[i]), groups[k].prefix, strlen(groups[k].prefix)) != 0)
            k++;
        if (k < n)
            reln_adam(g, &groups[k].options, groups[k].rate, nodes[i], nodes[count + i]);
    }
}

void reln_adam_all(RelnGraph *g, const RelnAdam *options, RelnNode *rate, RelnNode *loss)
{
    if (!g) {
        reln_graph_null(g, __func__);
        return;
    }
    static const RelnAdam defaults = RELN_ADAM_DEFAULTS;
    const RelnAdamGroup all = {"", options ? *options : defaults, rate};

    reln_adam_groups(g, 1, &all, loss);
}

void reln_sgd_all(RelnGraph *g, const RelnSgd *options, RelnNode *rate, RelnNode *loss)
{
    if (!g) {
        reln_graph_null(g, __func__);
        return;
    }
    const int count = count_params(g);
    RelnNode **nodes = gradients(g, loss, count);

    for (int i = 0; i < count && nodes; i++)
        reln_sgd(g, options, rate, nodes[i], nodes[count + i]);
}
