/* slice.c -- a range of an axis, and its adjoint, which pads with zeros. */
#include <string.h>

#include "ops/ops.h"

typedef struct Attr {
    RelnAxis axis;
    int first, count; /* slice: the range; pad: numbers of zeros before and behind */
} Attr;

/*!
 * reln_slice() -- the `count` positions first, first + 1, ... of an axis
 *
 * Shapes  as x, with extent `count` on the axis
 * Rep     as x; the K axis for invariants only (reln_slice_k() reads parts of other reps). Indices are allowed
 * Fails   RELN_ERR_SHAPE when the range does not lie within the axis
 */
RELN_API RelnNode *reln_slice(RelnGraph *g, RelnNode *x, RelnAxis axis, int first, int count);

/*!
 * reln_pad() -- x with `before` zeros before it and `behind` zeros behind it on an axis
 *
 * Rep     as x; the K axis for invariants only
 */
RELN_API RelnNode *reln_pad(RelnGraph *g, RelnNode *x, RelnAxis axis, int before, int behind);

/* Set the extent on the axis. On K only invariants may gain or lose coordinates. */
static bool infer_axis(RelnGraph *g, RelnNode *z, RelnAxis axis, int extent)
{
    const RelnNode *x = z->in[0];

    z->shape = x->shape;
    z->shape.dims[axis] = extent;
    z->rep = x->rep;
    if (axis != RELN_K || z->dtype == RELN_I32)
        return true;
    z->rep = reln_want_invariant(g, z, x) ? reln_invariant(g, extent) : NULL;
    return z->rep != NULL;
}

static bool infer(RelnGraph *g, RelnNode *z)
{
    const Attr *a = z->attr;
    const RelnNode *x = z->in[0];

    if (!reln_want_axis(g, z, a->axis))
        return false;
    if (a->first < 0 || a->count < 1 || a->first > x->shape.dims[a->axis] - a->count)
        return reln_graph_fail(
            g, RELN_ERR_SHAPE, "slice: %d places from %d on, of axis %c of %s, which has %d",
            a->count, a->first, "PQRKC"[a->axis], reln_shape_text(x), x -> shape.dims[a->axis]);
    return infer_axis(g, z, a->axis, a->count);
}

static bool infer_pad(RelnGraph *g, RelnNode *z)
{
    const Attr *a = z->attr;
    int extent;

    if (!reln_want_axis(g, z, a->axis) || !reln_want_float(g, z))
        return false;
    if (a->first < 0 || a->count < 0 || __builtin_add_overflow(a->first, a->count, &extent) ||
        __builtin_add_overflow(extent, z->in[0]->shape.dims[a->axis], &extent))
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "pad: %d zeros before and %d behind; wanted neither negative nor "
                               "more than an int counts",
                               a->first, a->count);
    return infer_axis(g, z, a->axis, extent);
}

/* With the shape as (before, extent, behind), the slice is one contiguous piece for each index of `before`. */
static RelnStatus forward(const RelnExec *e)
{
    const Attr *a = e->node->attr;
    const RelnShape *from = &e->node->in[0]->shape;
    const RelnRealKernels *k = reln_kern(e); /* copies elements as bytes, so indices are allowed */
    const ptrdiff_t step = reln_shape_behind(from, a->axis), piece = step * a->count;

    k->copy_rows(e->n * reln_shape_before(from, a->axis), piece,
                 reln_at(e->in[0], step * a->first, k->size), step * from->dims[a->axis], e->out,
                 piece);
    return RELN_OK;
}

static RelnStatus forward_pad(const RelnExec *e)
{
    const Attr *a = e->node->attr;
    const RelnShape *from = &e->node->in[0]->shape;
    const RelnRealKernels *k = reln_kern(e);
    const ptrdiff_t step = reln_shape_behind(from, a->axis), piece = step * from->dims[a->axis];

    memset(e->out, 0, (size_t)e->n * reln_node_bytes(e->node));
    k->copy_rows(e->n * reln_shape_before(from, a->axis), piece, e->in[0], piece,
                 reln_at(e->out, step * a->first, k->size), piece + step * (a->first + a->count));
    return RELN_OK;
}

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const Attr *a = z->attr;

    gin[0] =
        reln_pad(g, gz, a->axis, a->first, z->in[0]->shape.dims[a->axis] - a->first - a->count);
}

static void vjp_pad(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const Attr *a = z->attr;

    gin[0] = reln_slice(g, gz, a->axis, a->first, z->in[0]->shape.dims[a->axis]);
}

static double flops(const RelnNode *z)
{
    (void)z;
    return 0.0;
}

static RelnNode *sample_of(RelnSampler *s, int index,
                           RelnNode *(*build)(RelnGraph *, RelnNode *, RelnAxis, int, int))
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);

    switch (index) {
    case 0:
        return build(s->graph,
                     reln_sample_normal(s, RELN_SAMPLES, (RelnDims){4, 1, 2, k, 3}, adjoint),
                     RELN_P, 1, 2);
    case 1:
        return build(s->graph,
                     reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 1, k, 5}, adjoint),
                     RELN_C, 2, 3);
    case 2: /* invariants may be sliced along K */
        return build(s->graph, reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 2, 3, 4}, NULL),
                     RELN_K, 0, 1);
    default:
        return NULL;
    }
}

static RelnNode *sample(RelnSampler *s, int index)
{
    return sample_of(s, index, reln_slice);
}

static RelnNode *sample_pad(RelnSampler *s, int index)
{
    return sample_of(s, index, reln_pad);
}

const RelnOp reln_op_slice = {
    .name = "slice",
    .rule = RELN_RULE_LINEAR,
    .n_in = 1,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .flops = flops,
    .sample = sample,
};

const RelnOp reln_op_pad = {
    .name = "pad",
    .rule = RELN_RULE_LINEAR,
    .n_in = 1,
    .infer = infer_pad,
    .forward = forward_pad,
    .vjp = vjp_pad,
    .flops = flops,
    .sample = sample_pad,
};

RelnNode *reln_slice(RelnGraph *g, RelnNode *x, RelnAxis axis, int first, int count)
{
    const Attr attr = {axis, first, count};

    return reln_node(g, &reln_op_slice, 1, &x, &attr, sizeof attr, NULL);
}

RelnNode *reln_pad(RelnGraph *g, RelnNode *x, RelnAxis axis, int before, int behind)
{
    const Attr attr = {axis, before, behind};

    return before == 0 && behind == 0 ? x
                                      : reln_node(g, &reln_op_pad, 1, &x, &attr, sizeof attr, NULL);
}
