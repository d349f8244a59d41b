/* stop_gradient.c -- the same value with derivative 0. */
#include "ops/ops.h"

/*!
 * reln_stop_gradient() -- z = x, with derivative 0
 *
 * Shapes  as x
 * Rep     any; indices pass unchanged
 * Cost    none: z shares the memory of x
 */
RELN_API RelnNode *reln_stop_gradient(RelnGraph *g, RelnNode *x);

static bool infer(RelnGraph *g, RelnNode *z)
{
    (void)g;
    z->shape = z->in[0]->shape;
    z->rep = z->in[0]->rep;
    z->needs_grad = false;
    return true;
}

static double flops(const RelnNode *z)
{
    (void)z;
    return 0.0;
}

/* Finite differences do not stop at this op, so the stopped value of the sample must have derivative 0 by itself. */
static RelnNode *sample(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    RelnNode *gate, *x;

    if (index > 0)
        return NULL;
    gate = reln_sample_input(s, RELN_SAMPLES, (RelnDims){1, 1, 1, 1, 4}, NULL, 0.5, 2.0, false);
    x = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 1, reln_rep_dim(adjoint), 4}, adjoint);
    return reln_mul(s->graph, x, reln_stop_gradient(s->graph, reln_step(s->graph, gate)));
}

const RelnOp reln_op_stop_gradient = {
    .name = "stop_gradient",
    .rule = RELN_RULE_LINEAR,
    .n_in = 1,
    .flags = RELN_OP_ALIAS,
    .infer = infer,
    .flops = flops,
    .sample = sample,
};

RelnNode *reln_stop_gradient(RelnGraph *g, RelnNode *x)
{
    if (x && !x->needs_grad)
        return x;
    return reln_node(g, &reln_op_stop_gradient, 1, &x, NULL, 0, NULL);
}
