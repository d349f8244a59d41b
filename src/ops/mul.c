/* mul.c -- products and quotients with broadcasting. */
#include "ops/elementwise.h"

/*!
 * reln_mul() -- z = x y, for each element
 *
 * Shapes  x and y broadcast
 * Rep     one of them is invariant; if it has K = 1, the other may have any rep, which z inherits
 * Fails   RELN_ERR_REP when neither is invariant: use reln_contract() with an equivariant tensor
 */
RELN_API RelnNode *reln_mul(RelnGraph *g, RelnNode *x, RelnNode *y);

/*!
 * reln_div() -- z = x / y, for each element; y must be invariant, otherwise like reln_mul()
 */
RELN_API RelnNode *reln_div(RelnGraph *g, RelnNode *x, RelnNode *y);

/* An invariant of one coordinate scales a rep; two invariants multiply coordinate by coordinate. */
static bool infer_product(RelnGraph *g, RelnNode *z, bool quotient)
{
    const RelnNode *x = z->in[0], *y = z->in[1];
    const bool ix = reln_is_invariant(x), iy = reln_is_invariant(y);

    if (!reln_want_float(g, z) || !reln_infer_broadcast(g, z))
        return false;
    if (ix && iy) {
        z->rep = reln_invariant(g, z->shape.dims[RELN_K]);
        return z->rep != NULL;
    }
    if (iy && y->shape.dims[RELN_K] == 1)
        z->rep = x->rep;
    else if (!quotient && ix && x->shape.dims[RELN_K] == 1)
        z->rep = y->rep;
    else
        return reln_graph_fail(
            g, RELN_ERR_REP,
            "%s: %s and %s under %s; wanted an invariant with one coordinate %s (a product of two "
            "features is a contract with an equivariant tensor)",
            z->op->name, reln_rep_name(x->rep), reln_rep_name(y->rep),
            reln_group_name(reln_graph_group(g)), quotient ? "below" : "as one factor");
    return true;
}

static bool infer(RelnGraph *g, RelnNode *z)
{
    return infer_product(g, z, false);
}

static bool infer_div(RelnGraph *g, RelnNode *z)
{
    return infer_product(g, z, true);
}

static RelnStatus forward(const RelnExec *e)
{
    return reln_elementwise(e, RELN_MUL);
}

static RelnStatus forward_div(const RelnExec *e)
{
    return reln_elementwise(e, RELN_DIV);
}

/* The cotangent of the factor that is summed over K pairs gz with the other one: gz is dual to it. */
static RelnNode *partner(RelnGraph *g, RelnNode *gz, RelnNode *other, const RelnNode *self)
{
    if (reln_is_invariant(gz) || !reln_is_invariant(self))
        return reln_mul(g, gz, other);
    return reln_pair(g, other, gz);
}

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = partner(g, gz, z->in[1], z->in[0]);
    gin[1] = partner(g, gz, z->in[0], z->in[1]);
}

/* d(x/y) = dx / y - (x/y) dy / y */
static void vjp_div(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    RelnNode *y = z->in[1], *ratio = reln_div(g, z->in[0], y);

    gin[0] = reln_div(g, gz, y);
    gin[1] = reln_scale(g, reln_div(g, partner(g, gz, ratio, y), y), -1.0);
}

static RelnNode *sample_of(RelnSampler *s, int index,
                           RelnNode *(*build)(RelnGraph *, RelnNode *, RelnNode *))
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);

    switch (index) {
    case 0:
        return build(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 3, k, 4}, adjoint),
            reln_sample_input(s, RELN_SAMPLES, (RelnDims){2, 1, 3, 1, 4}, NULL, 0.5, 2.0, false));
    case 1: /* a gate from step level, shared by all channels */
        return build(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 2, 1, k, 3}, adjoint),
            reln_sample_input(s, RELN_STEP, (RelnDims){1, 1, 1, 1, 1}, NULL, 0.5, 2.0, false));
    case 2:
        return build(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 3, 1, 2, 4}, NULL),
            reln_sample_input(s, RELN_SAMPLES, (RelnDims){2, 1, 1, 2, 1}, NULL, 0.5, 2.0, false));
    default:
        return NULL;
    }
}

static RelnNode *sample(RelnSampler *s, int index)
{
    return sample_of(s, index, reln_mul);
}

static RelnNode *sample_div(RelnSampler *s, int index)
{
    return sample_of(s, index, reln_div);
}

static bool link(const RelnNode *z, RelnLink *out)
{
    out->kind = z->op == &reln_op_mul ? RELN_LINK_MUL : RELN_LINK_DIV;
    return true;
}

const RelnOp reln_op_mul = {
    .name = "mul",
    .rule = RELN_RULE_FACTOR,
    .n_in = 2,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .prepare = reln_elementwise_prepare,
    .link = link,
    .sample = sample,
};

const RelnOp reln_op_div = {
    .name = "div",
    .rule = RELN_RULE_FACTOR,
    .n_in = 2,
    .infer = infer_div,
    .forward = forward_div,
    .vjp = vjp_div,
    .prepare = reln_elementwise_prepare,
    .link = link,
    .sample = sample_div,
};

RelnNode *reln_mul(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    return reln_node(g, &reln_op_mul, 2, (RelnNode *[]){x, y}, NULL, 0, NULL);
}

RelnNode *reln_div(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    return reln_node(g, &reln_op_div, 2, (RelnNode *[]){x, y}, NULL, 0, NULL);
}
