/* pick.c -- reads along an axis by index, and its adjoint, which adds at indices. */
#include <string.h>

#include "ops/ops.h"

typedef struct Attr {
    RelnAxis axis;
} Attr;

typedef struct PlaceAttr {
    RelnAxis axis;
    RelnShape shape; /* of the result: extent 1 on axes that are summed */
    bool items;      /* also sums over items, to step level */
} PlaceAttr;

/*!
 * reln_pick() -- z[i] = x[i with its position on `axis` replaced by index[i]]
 *
 * Shapes  on the axis, z has index's extent; on the others x and index broadcast. Index has K = 1: all coordinates of a
 *         feature come from one position. Pooling: x (P,K,C), index (1,1,C), axis P -> (1,K,C), index e.g. from
 *         reln_argmax(). Neighbours: x (P,1,1,K,C), index (P,Q,1,1,1), axis P -> (P,Q,1,K,C)
 * Rep     as x; the axis must not be K
 * Fails   RELN_ERR_ARG in a run, for an index outside the axis
 */
RELN_API RelnNode *reln_pick(RelnGraph *g, RelnNode *x, RelnNode *index, RelnAxis axis);

/*!
 * reln_place() -- z[i with its position on `axis` replaced by index[i]] += y[i], starting from zeros
 *
 * Shapes  y and index broadcast, index with K = 1; z has their shape, with the extent given on the axis
 * Rep     as y; the axis must not be K
 * Fails   like reln_pick(), of which it is the adjoint
 */
RELN_API RelnNode *reln_place(RelnGraph *g, RelnNode *y, RelnNode *index, RelnAxis axis,
                              int extent);

static bool want_index(RelnGraph *g, const RelnNode *z, RelnAxis axis)
{
    const RelnNode *x = z->in[0], *index = z->in[1];

    if (!reln_want_axis(g, z, axis))
        return false;
    if (axis == RELN_K)
        return reln_graph_fail(g, RELN_ERR_ARG, "%s: coordinates are not picked by index",
                               z->op->name);
    if (x->dtype == RELN_I32 || index->dtype != RELN_I32)
        return reln_graph_fail(g, RELN_ERR_ARG, "%s: wanted numbers first, then i32 indices",
                               z->op->name);
    if (index->target != RELN_STEP)
        return reln_graph_fail(
            g, RELN_ERR_ARG,
            "%s: the indices number items of %s, wanted places on axis %c (items "
            "are taken with reln_gather())",
            z->op->name, reln_domain_name(g, index->target), "PQRKC"[axis]);
    return index->shape.dims[RELN_K] == 1 ||
           reln_graph_fail(g, RELN_ERR_SHAPE,
                           "%s: indices %s, wanted K = 1: coordinates of a feature stay together",
                           z->op->name, reln_shape_text(index));
}

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnAxis axis = ((const Attr *)z->attr)->axis;

    if (!want_index(g, z, axis) || !reln_broadcast(g, z, RELN_ALL_AXES & ~(1 << axis), &z->shape))
        return false;
    z->shape.dims[axis] = z->in[1]->shape.dims[axis];
    z->rep = z->in[0]->rep;
    return true;
}

static bool infer_place(RelnGraph *g, RelnNode *z)
{
    const PlaceAttr *a = z->attr;
    RelnShape full;

    if (!want_index(g, z, a->axis) || !reln_broadcast(g, z, RELN_ALL_AXES, &full))
        return false;
    z->shape = a->shape;
    z->rep = z->in[0]->rep;
    if (a->items)
        z->domain = RELN_STEP;
    return a->shape.dims[a->axis] >= 1 ||
           reln_graph_fail(g, RELN_ERR_SHAPE, "place: an extent of %d, wanted at least 1",
                           a->shape.dims[a->axis]);
}

/* The walk has two operands, x (or the z of place) and the index; for place, y is the third. */
typedef struct Prepared {
    RelnLoops loops;
    ptrdiff_t step; /* of the axis in x, or in place's result */
} Prepared;

/* Strides of x through a shape, with stride 0 on the axis, since the index selects the place there. */
static void strides_off_axis(const RelnNode *x, RelnAxis axis, bool items, ptrdiff_t *stride)
{
    for (int a = 0; a < RELN_AXES; a++)
        stride[a + 1] =
            a == (int)axis || x->shape.dims[a] == 1 ? 0 : reln_shape_behind(&x->shape, (RelnAxis)a);
    stride[0] = items ? reln_shape_count(&x->shape) : 0;
}

static size_t prepare(const RelnNode *z, const RelnKernels *kern, void *prepared)
{
    const RelnAxis axis = ((const Attr *)z->attr)->axis;
    const RelnNode *x = z->in[0];
    ptrdiff_t stride[2][RELN_LOOP_MAX];
    Prepared *p = prepared;

    (void)kern;
    if (!p)
        return sizeof *p;
    strides_off_axis(x, axis, x->domain != RELN_STEP, stride[0]);
    reln_strides(&z->shape, &z->in[1]->shape, reln_is_once(z->in[1], z), stride[1]);
    reln_loops_of(&z->shape, 2, stride, &p->loops);
    p->step = reln_shape_behind(&x->shape, axis);
    return sizeof *p;
}

/* Walks through the shape of y and index together. */
static size_t prepare_place(const RelnNode *z, const RelnKernels *kern, void *prepared)
{
    const RelnAxis axis = ((const PlaceAttr *)z->attr)->axis;
    const RelnNode *y = z->in[0], *index = z->in[1];
    const RelnShape full = reln_shape_join(&y->shape, &index->shape);
    ptrdiff_t stride[3][RELN_LOOP_MAX];
    Prepared *p = prepared;

    (void)kern;
    if (!p)
        return sizeof *p;
    strides_off_axis(z, axis, z->domain != RELN_STEP, stride[0]);
    reln_strides(&full, &index->shape, reln_is_once(index, y), stride[1]);
    reln_strides(&full, &y->shape, reln_is_once(y, index), stride[2]);
    reln_loops_of(&full, 3, stride, &p->loops);
    p->step = reln_shape_behind(&z->shape, axis);
    return sizeof *p;
}

static RelnStatus check(const RelnExec *e, RelnAxis axis, int extent)
{
    const int32_t *index = e->in[1];
    const ptrdiff_t n = e->n_in[1] * reln_shape_count(&e->node->in[1]->shape);

    for (ptrdiff_t i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= extent)
            return reln_exec_fail(e, RELN_ERR_ARG, "index %d on axis %c, wanted 0 to %d",
                                  (int)index[i], "PQRKC"[axis], extent - 1);
    return RELN_OK;
}

/* Copies elements of `size` bytes, whatever their type; the size is a constant, so a copy is one instruction. */
static inline void gather_each(char *z, const char *x, ptrdiff_t sx, const int32_t *index,
                               ptrdiff_t si, ptrdiff_t step, ptrdiff_t n, const size_t size)
{
    for (ptrdiff_t i = 0; i < n; i++)
        memcpy(z + (ptrdiff_t)size * i, x + (ptrdiff_t)size * (i * sx + index[i * si] * step),
               size);
}

/* A run with one index is one copy; otherwise each element is copied by itself. */
static void gather(char *z, const char *x, ptrdiff_t sx, const int32_t *index, ptrdiff_t si,
                   ptrdiff_t step, ptrdiff_t n, size_t size)
{
    if (si == 0 && sx == 1)
        memcpy(z, x + (ptrdiff_t)size * index[0] * step, (size_t)n * size);
    else if (size == 4)
        gather_each(z, x, sx, index, si, step, n, 4);
    else
        gather_each(z, x, sx, index, si, step, n, 8);
}

static RelnStatus forward(const RelnExec *e)
{
    const RelnAxis axis = ((const Attr *)e->node->attr)->axis;
    const Prepared *p = e->prepared;
    const size_t size = reln_dtype_size(e->node->dtype);
    const int32_t *index = e->in[1];

    RELN_TRY(check(e, axis, e->node->in[0]->shape.dims[axis]));
    for (RelnWalk w = reln_walk(&p->loops, 2, e->n); !w.done; reln_walk_next(&w, 2))
        gather(reln_at(e->out, w.out, size), reln_at(e->in[0], w.offset[0], size),
               reln_walk_stride(&w, 0), index + w.offset[1], reln_walk_stride(&w, 1), p->step,
               w.run, size);
    return RELN_OK;
}

/* Terms are added in the order of y and index together, item by item. */
static RelnStatus forward_place(const RelnExec *e)
{
    const PlaceAttr *a = e->node->attr;
    const Prepared *p = e->prepared;
    const RelnRealKernels *k = reln_kern(e);
    const ptrdiff_t items = e->node->domain == RELN_STEP ? 1 : e->n;
    const int32_t *index = e->in[1];

    if (!e->accumulate)
        memset(e->out, 0, (size_t)items * reln_node_bytes(e->node));
    RELN_TRY(check(e, a->axis, a->shape.dims[a->axis]));
    for (RelnWalk w = reln_walk(&p->loops, 3, e->n); !w.done; reln_walk_next(&w, 3))
        k->scatter(w.run, reln_at(e->in[0], w.offset[2], k->size), reln_walk_stride(&w, 2),
                   index + w.offset[1], reln_walk_stride(&w, 1), p->step,
                   reln_at(e->out, w.offset[0], k->size), reln_walk_stride(&w, 0));
    return RELN_OK;
}

static RelnNode *place(RelnGraph *g, RelnNode *y, RelnNode *index, RelnAxis axis,
                       const RelnShape *shape, bool items)
{
    PlaceAttr attr;

    memset(&attr, 0, sizeof attr);
    attr.axis = axis;
    attr.shape = *shape;
    attr.items = items;
    return reln_node(g, &reln_op_place, 2, (RelnNode *[]){y, index}, &attr, sizeof attr, NULL);
}

/* The cotangent is placed directly into x's shape, so that neighbours and batches are summed on the way. */
static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const RelnNode *x = z->in[0];

    gin[0] = place(g, gz, z->in[1], ((const Attr *)z->attr)->axis, &x->shape,
                   x->domain == RELN_STEP && z->domain != RELN_STEP);
}

/* On axes that z sums over, the cotangent of y is repeated; on axes that z broadcasts, the sweep sums it. */
static void vjp_place(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const RelnNode *y = z->in[0];
    RelnNode *back = reln_pick(g, gz, z->in[1], ((const PlaceAttr *)z->attr)->axis);
    RelnShape full;

    if (!back)
        return;
    full = reln_shape_join(&back->shape, &y->shape);
    gin[0] = reln_expand_to(g, back, &full, back->domain == RELN_STEP ? y->domain : back->domain);
}

static double flops(const RelnNode *z)
{
    (void)z;
    return 0.0;
}

static double flops_place(const RelnNode *z)
{
    return (double)reln_shape_count(&z->in[0]->shape);
}

static RelnNode *sample(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);
    RelnNode *x, *at;

    switch (index) {
    case 0: /* pooling: a separate point for each channel */
        x = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){4, 1, 1, k, 3}, adjoint);
        at = reln_sample_index(s, RELN_SAMPLES, (RelnDims){1, 1, 1, 1, 3}, RELN_STEP, 4);
        return reln_pick(s->graph, x, at, RELN_P);
    case 1: /* neighbours */
        x = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){4, 1, 1, k, 2}, adjoint);
        at = reln_sample_index(s, RELN_SAMPLES, (RelnDims){4, 3, 1, 1, 1}, RELN_STEP, 4);
        return reln_pick(s->graph, x, at, RELN_P);
    case 2: /* a row of a table at step level, for each sample */
        x = reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 5, 1, 3}, NULL);
        at = reln_sample_index(s, RELN_SAMPLES, (RelnDims){2, 1, 1, 1, 1}, RELN_STEP, 5);
        return reln_pick(s->graph, x, at, RELN_R);
    case 3: /* a class */
        x = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 1, 1, 5}, NULL);
        at = reln_sample_index(s, RELN_STEP, (RelnDims){2, 1, 1, 1, 1}, RELN_STEP, 5);
        return reln_pick(s->graph, x, at, RELN_C);
    case 4: /* max pooling: the place of the largest form. Few points, so that differences do not change the winner */
        x = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){3, 1, 1, k, 1}, adjoint);
        at = reln_argmax(s->graph,
                         reln_form(s->graph, reln_sample_algebra(s), RELN_FORM_COMPLETED, x, x),
                         RELN_P);
        return reln_pick(s->graph, x, at, RELN_P);
    default:
        return NULL;
    }
}

static RelnNode *sample_place(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);
    RelnNode *y, *at;

    switch (index) {
    case 0: /* several at one place */
        y = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){4, 2, 1, k, 2}, adjoint);
        at = reln_sample_index(s, RELN_SAMPLES, (RelnDims){4, 1, 1, 1, 2}, RELN_STEP, 3);
        return reln_place(s->graph, y, at, RELN_P, 3);
    case 1: /* y repeated: the same at several places */
        y = reln_sample_normal(s, RELN_STEP, (RelnDims){1, 2, 1, 2, 1}, NULL);
        at = reln_sample_index(s, RELN_SAMPLES, (RelnDims){1, 2, 1, 1, 3}, RELN_STEP, 4);
        return reln_place(s->graph, y, at, RELN_C, 4);
    default:
        return NULL;
    }
}

const RelnOp reln_op_pick = {
    .name = "pick",
    .rule = RELN_RULE_FACTOR,
    .n_in = 2,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .prepare = prepare,
    .flops = flops,
    .sample = sample,
};

const RelnOp reln_op_place = {
    .name = "place",
    .rule = RELN_RULE_FACTOR,
    .n_in = 2,
    .flags = RELN_OP_REDUCE,
    .infer = infer_place,
    .forward = forward_place,
    .vjp = vjp_place,
    .prepare = prepare_place,
    .flops = flops_place,
    .sample = sample_place,
};

RelnNode *reln_pick(RelnGraph *g, RelnNode *x, RelnNode *index, RelnAxis axis)
{
    const Attr attr = {axis};

    return reln_node(g, &reln_op_pick, 2, (RelnNode *[]){x, index}, &attr, sizeof attr, NULL);
}

RelnNode *reln_place(RelnGraph *g, RelnNode *y, RelnNode *index, RelnAxis axis, int extent)
{
    RelnShape shape;

    if (!y || !index)
        return NULL;
    shape = reln_shape_join(&y->shape, &index->shape);
    if (axis >= RELN_P && axis <= RELN_C)
        shape.dims[axis] = extent;
    return place(g, y, index, axis, &shape, false);
}
