/* less.c -- comparing invariants: masks, maximum, minimum. */
#include "ops/elementwise.h"

/*!
 * reln_less() -- z = 1 where x < y, 0 elsewhere: a mask for reln_select()
 *
 * Shapes  x and y broadcast
 * Rep     invariants
 * Notes   its derivative is 0; with a NaN on either side it is 0
 */
RELN_API RelnNode *reln_less(RelnGraph *g, RelnNode *x, RelnNode *y);

/*!
 * reln_maximum() -- z = max(x, y) for each element; otherwise like reln_less()
 *
 * Notes   the gradient goes to the larger one, and to x where they are equal
 */
RELN_API RelnNode *reln_maximum(RelnGraph *g, RelnNode *x, RelnNode *y);

/*!
 * reln_minimum() -- z = min(x, y) for each element; otherwise like reln_maximum()
 */
RELN_API RelnNode *reln_minimum(RelnGraph *g, RelnNode *x, RelnNode *y);

static bool infer(RelnGraph *g, RelnNode *z)
{
    if (!reln_want_float(g, z) || !reln_infer_broadcast(g, z) ||
        !reln_want_invariant(g, z, z->in[0]) || !reln_want_invariant(g, z, z->in[1]))
        return false;
    z->rep = reln_invariant(g, z->shape.dims[RELN_K]);
    return z->rep != NULL;
}

static bool infer_less(RelnGraph *g, RelnNode *z)
{
    z->needs_grad = false;
    return infer(g, z);
}

static RelnStatus forward_less(const RelnExec *e)
{
    return reln_elementwise(e, RELN_LESS);
}

static RelnStatus forward_maximum(const RelnExec *e)
{
    return reln_elementwise(e, RELN_MAX);
}

static RelnStatus forward_minimum(const RelnExec *e)
{
    return reln_elementwise(e, RELN_MIN);
}

/* Sends gz to y where the mask is 1, to x elsewhere. */
static void share(RelnGraph *g, RelnNode *mask, RelnNode *gz, RelnNode **gin)
{
    gin[0] = reln_mask_not(g, mask, gz);
    gin[1] = reln_mask(g, mask, gz);
}

static void vjp_maximum(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    share(g, reln_less(g, z->in[0], z->in[1]), gz, gin);
}

static void vjp_minimum(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    share(g, reln_less(g, z->in[1], z->in[0]), gz, gin);
}

/* x and y are never close, so that differences do not flip the comparison: |x| in [0.5, 1], |y| in [1.5, 2]. */
static RelnNode *sample_of(RelnSampler *s, int index,
                           RelnNode *(*build)(RelnGraph *, RelnNode *, RelnNode *))
{
    RelnNode *x, *y;

    if (index > 1)
        return NULL;
    x = reln_sample_input(s, RELN_SAMPLES, (RelnDims){1, 2, 1, 3, 5}, NULL, 0.5, 1.0, false);
    y = index == 0
            ? reln_sample_input(s, RELN_SAMPLES, (RelnDims){1, 2, 1, 3, 5}, NULL, 1.5, 2.0, false)
            : reln_sample_input(s, RELN_STEP, (RelnDims){3, 1, 1, 1, 5}, NULL, 1.5, 2.0, false);
    return build(s->graph, x, y);
}

static RelnNode *sample_less(RelnSampler *s, int index)
{
    return sample_of(s, index, reln_less);
}

static RelnNode *sample_maximum(RelnSampler *s, int index)
{
    return sample_of(s, index, reln_maximum);
}

static RelnNode *sample_minimum(RelnSampler *s, int index)
{
    return sample_of(s, index, reln_minimum);
}

const RelnOp reln_op_less = {
    .name = "less",
    .rule = RELN_RULE_INVARIANTS,
    .n_in = 2,
    .infer = infer_less,
    .forward = forward_less,
    .prepare = reln_elementwise_prepare,
    .sample = sample_less,
};

const RelnOp reln_op_maximum = {
    .name = "maximum",
    .rule = RELN_RULE_INVARIANTS,
    .n_in = 2,
    .infer = infer,
    .forward = forward_maximum,
    .vjp = vjp_maximum,
    .prepare = reln_elementwise_prepare,
    .sample = sample_maximum,
};

const RelnOp reln_op_minimum = {
    .name = "minimum",
    .rule = RELN_RULE_INVARIANTS,
    .n_in = 2,
    .infer = infer,
    .forward = forward_minimum,
    .vjp = vjp_minimum,
    .prepare = reln_elementwise_prepare,
    .sample = sample_minimum,
};

RelnNode *reln_less(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    return reln_node(g, &reln_op_less, 2, (RelnNode *[]){x, y}, NULL, 0, NULL);
}

RelnNode *reln_maximum(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    return reln_node(g, &reln_op_maximum, 2, (RelnNode *[]){x, y}, NULL, 0, NULL);
}

RelnNode *reln_minimum(RelnGraph *g, RelnNode *x, RelnNode *y)
{
    return reln_node(g, &reln_op_minimum, 2, (RelnNode *[]){x, y}, NULL, 0, NULL);
}
