/* add.c -- sums with broadcasting. */
#include "ops/elementwise.h"

/*!
 * reln_add() -- z = x + y
 *
 * Shapes  x and y broadcast: each axis equal, or 1 in one of them
 * Rep     the same for both, and for z
 * Fails   RELN_ERR_SHAPE when they do not broadcast; RELN_ERR_REP when the reps differ
 */
RELN_API RelnNode *reln_add(RelnGraph *g, RelnNode *x, RelnNode *y);

/*!
 * reln_sub() -- z = x - y; otherwise like reln_add()
 */
RELN_API RelnNode *reln_sub(RelnGraph *g, RelnNode *x, RelnNode *y);

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnNode *x = z->in[0], *y = z->in[1];

    if (!reln_want_float(g, z) || !reln_infer_broadcast(g, z))
        return false;
    z->rep = x->rep;
    if (x->rep == y->rep)
        return true;
    if (!reln_is_invariant(x) || !reln_is_invariant(y))
        return reln_graph_fail(
            g, RELN_ERR_REP, "%s: %s and %s transform differently, so their sum is not equivariant",
            z->op->name, reln_rep_name(x->rep), reln_rep_name(y->rep));
    z->rep = reln_invariant(g, z->shape.dims[RELN_K]);
    return z->rep != NULL;
}

static RelnStatus forward(const RelnExec *e)
{
    return reln_elementwise(e, RELN_ADD);
}

static RelnStatus forward_sub(const RelnExec *e)
{
    return reln_elementwise(e, RELN_SUB);
}

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    (void)g;
    (void)z;
    gin[0] = gin[1] = gz;
}

static void vjp_sub(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    (void)z;
    gin[0] = gz;
    gin[1] = reln_scale(g, gz, -1.0);
}

static RelnNode *sample_of(RelnSampler *s, int index,
                           RelnNode *(*build)(RelnGraph *, RelnNode *, RelnNode *))
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);
    RelnNode *x = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 3, k, 4}, adjoint);

    switch (index) {
    case 0:
        return build(s->graph, x,
                     reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 3, k, 4}, adjoint));
    case 1: /* shared channels and points, from step level */
        return build(s->graph, x,
                     reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 3, k, 1}, adjoint));
    case 2: /* broadcasting both ways */
        return build(s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 5, 1, 1, 4}, NULL),
                     reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 1, 3, 1}, NULL));
    default:
        return NULL;
    }
}

static RelnNode *sample(RelnSampler *s, int index)
{
    return sample_of(s, index, reln_add);
}

static RelnNode *sample_sub(RelnSampler *s, int index)
{
    return sample_of(s, index, reln_sub);
}

static bool link(const RelnNode *z, RelnLink *out)
{
    out->kind = z->op == &reln_op_add ? RELN_LINK_ADD : RELN_LINK_SUB;
    return true;
}

const RelnOp reln_op_add = {
    .name = "add",
    .rule = RELN_RULE_LINEAR,
    .n_in = 2,
    .flags = RELN_OP_SUM,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .prepare = reln_elementwise_prepare,
    .link = link,
    .sample = sample,
};

const RelnOp reln_op_sub = {
    .name = "sub",
    .rule = RELN_RULE_LINEAR,
    .n_in = 2,
    .infer = infer,
    .forward = forward_sub,
    .vjp = vjp_sub,
    .prepare = reln_elementwise_prepare,
    .link = link,
    .sample = sample_sub,
};

RelnNode *reln_add(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    return reln_node(g, &reln_op_add, 2, (RelnNode *[]){x, y}, NULL, 0, NULL);
}

RelnNode *reln_sub(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    return reln_node(g, &reln_op_sub, 2, (RelnNode *[]){x, y}, NULL, 0, NULL);
}
