/* argmax.c -- where the largest and the smallest number of an axis are. */
#include <string.h>

#include "ops/ops.h"

typedef struct Attr {
    RelnAxis axis;
    bool least;
} Attr;

/*!
 * reln_argmax() -- i32 index of the largest number along an axis, whose extent becomes 1
 *
 * Rep     invariants; indices have no rep and no gradient. reln_pick() reads any feature at them
 * Notes   the first one on ties; a number wins against a NaN
 */
RELN_API RelnNode *reln_argmax(RelnGraph *g, RelnNode *x, RelnAxis axis);

/*!
 * reln_argmin() -- i32 index of the smallest number along an axis; otherwise like reln_argmax()
 */
RELN_API RelnNode *reln_argmin(RelnGraph *g, RelnNode *x, RelnAxis axis);

static bool infer(RelnGraph *g, RelnNode *z)
{
    const Attr *a = z->attr;

    if (!reln_want_axis(g, z, a->axis) || !reln_want_float(g, z) ||
        !reln_want_invariant(g, z, z->in[0]))
        return false;
    z->shape = z->in[0]->shape;
    z->shape.dims[a->axis] = 1;
    z->dtype = RELN_I32;
    return true;
}

static RelnStatus forward(const RelnExec *e)
{
    const Attr *a = e->node->attr;
    const RelnNode *x = e->node->in[0];
    const RelnRealKernels *k = x->dtype == RELN_F64 ? e->kern->f64 : e->kern->f32;
    const ptrdiff_t extent = x->shape.dims[a->axis], inner = reln_shape_behind(&x->shape, a->axis);
    const ptrdiff_t outer = e->n * reln_shape_before(&x->shape, a->axis);

    for (ptrdiff_t i = 0; i < outer; i++)
        k->arg(extent, inner, a->least, reln_at(e->in[0], i * extent * inner, k->size),
               (int32_t *)e->out + i * inner);
    return RELN_OK;
}

static double flops(const RelnNode *z)
{
    return (double)reln_shape_count(&z->in[0]->shape);
}

static RelnNode *sample(RelnSampler *s, int index)
{
    switch (index) {
    case 0:
        return reln_argmax(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){5, 2, 1, 1, 3}, NULL), RELN_P);
    case 1:
        return reln_argmin(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 2, 1, 2, 9}, NULL), RELN_C);
    case 2: /* longer than a block, and not a multiple of it */
        return reln_argmax(
            s->graph, reln_sample_normal(s, RELN_STEP, (RelnDims){3, 1, 1, 2, 67}, NULL), RELN_P);
    default:
        return NULL;
    }
}

const RelnOp reln_op_argmax = {
    .name = "argmax",
    .rule = RELN_RULE_INVARIANTS,
    .n_in = 1,
    .infer = infer,
    .forward = forward,
    .flops = flops,
    .sample = sample,
};

static RelnNode *arg(RelnGraph *g, RelnNode *x, RelnAxis axis, bool least)
{
    Attr attr;

    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    attr.least = least;
    return reln_node(g, &reln_op_argmax, 1, &x, &attr, sizeof attr, NULL);
}

RelnNode *reln_argmax(RelnGraph *g, RelnNode *x, RelnAxis axis)
{
    return arg(g, x, axis, false);
}

RelnNode *reln_argmin(RelnGraph *g, RelnNode *x, RelnAxis axis)
{
    return arg(g, x, axis, true);
}
