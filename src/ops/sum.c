/* sum.c -- sums over axes and over the batch: the adjoint of expand, and the way from samples to the step. */
#include <string.h>

#include "ops/ops.h"

typedef struct Attr {
    RelnShape shape; /* shape of the result */
    bool items;      /* also sums over items, to step level */
} Attr;

/*!
 * reln_sum() -- sums over one axis, whose extent becomes 1
 *
 * Rep     as x; the K axis for invariants only
 */
RELN_API RelnNode *reln_sum(RelnGraph *g, RelnNode *x, RelnAxis axis);

/*!
 * reln_mean() -- mean over one axis, whose extent becomes 1
 */
RELN_API RelnNode *reln_mean(RelnGraph *g, RelnNode *x, RelnAxis axis);

/*!
 * reln_sum_all() -- sums over every axis of an item, for invariants
 */
RELN_API RelnNode *reln_sum_all(RelnGraph *g, RelnNode *x);

/*!
 * reln_batch_sum() -- sums over all items of the batch, to step level; the bits do not depend on the number of threads
 *
 * Rep     as x
 */
RELN_API RelnNode *reln_batch_sum(RelnGraph *g, RelnNode *x);

/*!
 * reln_batch_mean() -- reln_batch_sum() divided by the true number of samples; a step-level x is returned unchanged
 */
RELN_API RelnNode *reln_batch_mean(RelnGraph *g, RelnNode *x);

static bool infer(RelnGraph *g, RelnNode *z)
{
    const Attr *a = z->attr;
    const RelnNode *x = z->in[0];

    if (!reln_want_float(g, z))
        return false;
    for (int i = 0; i < RELN_AXES; i++)
        if (a->shape.dims[i] != x->shape.dims[i] && a->shape.dims[i] != 1)
            return reln_graph_fail(g, RELN_ERR_SHAPE,
                                   "sum: %s cannot be summed to extent %d on axis %d",
                                   reln_shape_text(x), a->shape.dims[i], i);
    z->shape = a->shape;
    z->domain = a->items ? RELN_STEP : x->domain;
    z->rep = x->rep;
    if (a->shape.dims[RELN_K] != x->shape.dims[RELN_K]) {
        if (!reln_want_invariant(g, z, x))
            return false;
        z->rep = reln_invariant(g, 1);
    }
    return z->rep != NULL;
}

/* The walk goes over the shape of x, with the result as the operand that tells where each term is added: loops as for
 * an elementwise op whose "output" is x. */
static size_t prepare(const RelnNode *z, const RelnKernels *kern, void *prepared)
{
    const RelnNode *x = z->in[0];
    ptrdiff_t stride[1][RELN_LOOP_MAX];

    (void)kern;
    if (prepared) {
        reln_strides(&x->shape, &z->shape, reln_is_once(z, x), stride[0]);
        reln_loops_of(&x->shape, 1, stride, prepared);
    }
    return sizeof(RelnLoops);
}

static void clear(const RelnExec *e)
{
    const ptrdiff_t items = e->node->domain == RELN_STEP ? 1 : e->n;

    if (!e->accumulate)
        memset(e->out, 0, (size_t)items * reln_node_bytes(e->node));
}

/* Returns whether consecutive runs of elements are added to the same places. */
static bool adds_rows(const RelnLoops *loops)
{
    const int last = loops->rank - 1;

    return last > 0 && loops->stride[0][last] == 1 && loops->stride[0][last - 1] == 0;
}

static void sum_rows(const RelnExec *e)
{
    const RelnRealKernels *k = reln_kern(e);

    for (RelnWalk w = reln_walk_item_rows(e->prepared, e->n); !w.done; reln_walk_next(&w, 1)) {
        const void *x = reln_at(e->in[0], w.out, k->size);
        void *z = reln_at(e->out, w.offset[0], k->size);

        k->sum_rows(w.rows, w.run, x, z);
    }
}

/* Sums every run to one number, in an order that depends on its length alone. */
static void sum_runs(const RelnExec *e)
{
    const RelnRealKernels *k = reln_kern(e);

    for (RelnWalk w = reln_walk_item_rows(e->prepared, e->n); !w.done; reln_walk_next(&w, 1))
        k->sum_each(w.rows, w.run, reln_at(e->in[0], w.out, k->size),
                    reln_at(e->out, w.offset[0], k->size), reln_walk_row(&w, 0));
}

/* Terms are added in the order of memory. */
static RelnStatus forward(const RelnExec *e)
{
    const RelnLoops *loops = e->prepared;
    const RelnRealKernels *k = reln_kern(e);
    const bool fold = loops->rank > 1 && loops->stride[0][loops->rank - 1] == 0;

    clear(e);
    if (adds_rows(loops))
        sum_rows(e);
    else if (fold)
        sum_runs(e);
    else
        for (RelnWalk w = reln_walk_items(loops, e->n); !w.done; reln_walk_next(&w, 1)) {
            void *z = reln_at(e->out, w.offset[0], k->size);

            k->map2[RELN_ADD](w.run, z, 1, reln_at(e->in[0], w.out, k->size), 1, z);
        }
    return RELN_OK;
}

static double flops(const RelnNode *z)
{
    return (double)reln_shape_count(&z->in[0]->shape);
}

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = reln_expand(g, gz, z->in[0]);
}

static RelnNode *sample(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);
    RelnNode *x = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 3, 2, k, 5}, adjoint);
    RelnNode *y = reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 3, 1, 2, 5}, NULL);

    switch (index) {
    case 0:
        return reln_sum(s->graph, x, RELN_Q);
    case 1:
        return reln_mean(s->graph, x, RELN_C);
    case 2:
        return reln_sum(s->graph, y, RELN_K);
    case 3:
        return reln_sum_all(s->graph, y);
    case 4:
        return reln_batch_sum(s->graph, x);
    case 5:
        return reln_batch_mean(s->graph, reln_sum(s->graph, y, RELN_P));
    case 6:
        return reln_sum(s->graph, reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 2, 1, 5}, NULL),
                        RELN_R);
    default:
        return NULL;
    }
}

const RelnOp reln_op_sum = {
    .name = "sum",
    .rule = RELN_RULE_LINEAR,
    .n_in = 1,
    .flags = RELN_OP_REDUCE,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .prepare = prepare,
    .flops = flops,
    .sample = sample,
};

static RelnNode *sum_to(RelnGraph *g, RelnNode *x, const RelnShape *shape, bool items)
{
    Attr attr;

    memset(&attr, 0, sizeof attr);
    attr.shape = *shape;
    attr.items = items;
    if (!x || (!items && memcmp(&x->shape, shape, sizeof *shape) == 0))
        return x;
    return reln_node(g, &reln_op_sum, 1, &x, &attr, sizeof attr, NULL);
}

RelnNode *reln_sum(RelnGraph *g, RelnNode *x, RelnAxis axis)
{
    RelnShape shape;

    if (!x || !reln_want_axis(g, &(RelnNode){.op = &reln_op_sum}, axis))
        return NULL;
    shape = x->shape;
    shape.dims[axis] = 1;
    return sum_to(g, x, &shape, false);
}

RelnNode *reln_mean(RelnGraph *g, RelnNode *x, RelnAxis axis)
{
    RelnNode *sum = reln_sum(g, x, axis);

    return sum ? reln_scale(g, sum, 1.0 / x->shape.dims[axis]) : NULL;
}

RelnNode *reln_sum_all(RelnGraph *g, RelnNode *x)
{
    const RelnShape one = {{1, 1, 1, 1, 1}};

    return sum_to(g, x, &one, false);
}

RelnNode *reln_batch_sum(RelnGraph *g, RelnNode *x)
{
    if (!x)
        return NULL;
    return x->domain == RELN_STEP ? x : sum_to(g, x, &x->shape, true);
}

RelnNode *reln_batch_mean(RelnGraph *g, RelnNode *x)
{
    if (!x || x->domain == RELN_STEP)
        return x; /* the same for every sample */
    return reln_div(g, reln_batch_sum(g, x), reln_cast(g, reln_batch_count(g), x->dtype));
}

RelnNode *reln_sum_like(RelnGraph *g, RelnNode *x, const RelnNode *like)
{
    return x ? sum_to(g, x, &like->shape, like->domain == RELN_STEP && x->domain != RELN_STEP)
             : NULL;
}
