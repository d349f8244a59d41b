/* split.c -- divides channels among places of an axis, as heads of attention are, and joins them again. */
#include "ops/elementwise.h"

typedef struct Attr {
    RelnAxis axis;
    int parts;
} Attr;

/*!
 * reln_split() -- divides channels into `parts` ranges, one for each place on an axis: z[.. a .. k, c] = x[.. k, a C' + c]
 *
 * Shapes  x with C = parts C' channels and extent 1 on the axis -> extent `parts` on the axis, C' channels
 * Rep     as x. Indices are not allowed
 * Fails   RELN_ERR_ARG when the axis is not P, Q or R; RELN_ERR_SHAPE when its extent is not 1 or `parts` does not divide C
 */
RELN_API RelnNode *reln_split(RelnGraph *g, RelnNode *x, int parts, RelnAxis axis);

/*!
 * reln_merge() -- joins the channels of all places on an axis: the inverse of reln_split()
 *
 * Shapes  x with extent `parts` on the axis and C' channels -> extent 1 on the axis, parts C' channels
 * Rep     as x. Indices are not allowed
 */
RELN_API RelnNode *reln_merge(RelnGraph *g, RelnNode *x, RelnAxis axis);

static bool want_axis(RelnGraph *g, const RelnNode *z, RelnAxis axis)
{
    return (axis >= RELN_P && axis <= RELN_R) ||
           reln_graph_fail(g, RELN_ERR_ARG, "%s: axis %d, wanted P, Q or R", z->op->name,
                           (int)axis);
}

static bool infer(RelnGraph *g, RelnNode *z)
{
    const Attr *a = z->attr;
    const RelnNode *x = z->in[0];

    if (!want_axis(g, z, a->axis) || !reln_want_float(g, z))
        return false;
    if (a->parts < 1 || x->shape.dims[RELN_C] % a->parts != 0 || x->shape.dims[a->axis] != 1)
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "split: %s into %d parts on axis %c; wanted a number that divides "
                               "the channels, and an axis of extent 1",
                               reln_shape_text(x), a->parts, "PQRKC"[a->axis]);
    z->shape = x->shape;
    z->shape.dims[a->axis] = a->parts;
    z->shape.dims[RELN_C] /= a->parts;
    z->rep = x->rep;
    return true;
}

static bool infer_merge(RelnGraph *g, RelnNode *z)
{
    const RelnAxis axis = ((const Attr *)z->attr)->axis;
    const RelnNode *x = z->in[0];

    if (!want_axis(g, z, axis) || !reln_want_float(g, z))
        return false;
    z->shape = x->shape;
    z->shape.dims[axis] = 1;
    if (__builtin_mul_overflow(x->shape.dims[RELN_C], x->shape.dims[axis], &z->shape.dims[RELN_C]))
        return reln_graph_fail(g, RELN_ERR_SHAPE, "merge: %d times the channels of %s is too large",
                               x->shape.dims[axis], reln_shape_text(x));
    z->rep = x->rep;
    return true;
}

/* Prepares the loops over the divided value; operand 0 is the whole one. */
static size_t prepare_loops(const RelnShape *divided, const RelnShape *whole, RelnAxis axis,
                            void *prepared)
{
    ptrdiff_t stride[1][RELN_LOOP_MAX];

    stride[0][0] = reln_shape_count(whole);
    for (int a = 0; a < RELN_AXES; a++)
        stride[0][a + 1] =
            a == (int)axis ? divided->dims[RELN_C] : reln_shape_behind(whole, (RelnAxis)a);
    if (prepared)
        reln_loops_of(divided, 1, stride, prepared);
    return sizeof(RelnLoops);
}

static size_t prepare(const RelnNode *z, const RelnKernels *kern, void *prepared)
{
    (void)kern;
    return prepare_loops(&z->shape, &z->in[0]->shape, ((const Attr *)z->attr)->axis, prepared);
}

static size_t prepare_merge(const RelnNode *z, const RelnKernels *kern, void *prepared)
{
    (void)kern;
    return prepare_loops(&z->in[0]->shape, &z->shape, ((const Attr *)z->attr)->axis, prepared);
}

/* A Side is one of the two values of a copy: where its rows begin, how far they are apart, and how far their numbers are. */
typedef struct Side {
    void *at;
    ptrdiff_t row, step;
} Side;

/* Rows of adjacent channels are copied together; with one channel at each place, the numbers of a row are apart. */
static void copy(const RelnRealKernels *k, const RelnWalk *w, Side from, Side to)
{
    if (from.step == 1 && to.step == 1) {
        k->copy_rows(w->rows, w->run, from.at, from.row, to.at, to.row);
        return;
    }
    for (ptrdiff_t r = 0; r < w->rows; r++)
        k->copy_rows(w->run, 1, reln_at(from.at, r * from.row, k->size), from.step,
                     reln_at(to.at, r * to.row, k->size), to.step);
}

static Side side_of_whole(const RelnRealKernels *k, const RelnWalk *w, const void *base)
{
    return (Side){reln_at(base, w->offset[0], k->size), reln_walk_row(w, 0),
                  reln_walk_stride(w, 0)};
}

static Side side_of_divided(const RelnRealKernels *k, const RelnWalk *w, const void *base)
{
    return (Side){reln_at(base, w->out, k->size), w->run, 1};
}

static RelnStatus forward(const RelnExec *e)
{
    const RelnRealKernels *k = reln_kern(e);

    for (RelnWalk w = reln_walk_rows(e->prepared, 1, e->n); !w.done; reln_walk_next(&w, 1))
        copy(k, &w, side_of_whole(k, &w, e->in[0]), side_of_divided(k, &w, e->out));
    return RELN_OK;
}

static RelnStatus forward_merge(const RelnExec *e)
{
    const RelnRealKernels *k = reln_kern(e);

    for (RelnWalk w = reln_walk_rows(e->prepared, 1, e->n); !w.done; reln_walk_next(&w, 1))
        copy(k, &w, side_of_divided(k, &w, e->in[0]), side_of_whole(k, &w, e->out));
    return RELN_OK;
}

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    gin[0] = reln_merge(g, gz, ((const Attr *)z->attr)->axis);
}

static void vjp_merge(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const RelnAxis axis = ((const Attr *)z->attr)->axis;

    gin[0] = reln_split(g, gz, z->in[0]->shape.dims[axis], axis);
}

static double flops(const RelnNode *z)
{
    (void)z;
    return 0.0;
}

/* ---- samples and builders ------------------------------------------------------------------------------------- */

static RelnNode *sample(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);

    switch (index) {
    case 0:
        return reln_split(s->graph,
                          reln_sample_normal(s, RELN_SAMPLES, (RelnDims){1, 2, 3, k, 6}, adjoint),
                          2, RELN_P);
    case 1: /* one channel for each place */
        return reln_split(s->graph,
                          reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 1, k, 3}, adjoint),
                          3, RELN_Q);
    case 2:
        return reln_split(
            s->graph, reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 1, 1, 4}, NULL), 2, RELN_R);
    default:
        return NULL;
    }
}

static RelnNode *sample_merge(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);

    switch (index) {
    case 0:
        return reln_merge(s->graph,
                          reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 3, k, 3}, adjoint),
                          RELN_P);
    case 1:
        return reln_merge(s->graph,
                          reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 3, 1, k, 1}, adjoint),
                          RELN_Q);
    case 2:
        return reln_merge(
            s->graph, reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 2, 1, 2}, NULL), RELN_R);
    default:
        return NULL;
    }
}

const RelnOp reln_op_split = {
    .name = "split",
    .rule = RELN_RULE_LINEAR,
    .n_in = 1,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .prepare = prepare,
    .flops = flops,
    .sample = sample,
};

const RelnOp reln_op_merge = {
    .name = "merge",
    .rule = RELN_RULE_LINEAR,
    .n_in = 1,
    .infer = infer_merge,
    .forward = forward_merge,
    .vjp = vjp_merge,
    .prepare = prepare_merge,
    .flops = flops,
    .sample = sample_merge,
};

RelnNode *reln_split(RelnGraph *g, RelnNode *x, int parts, RelnAxis axis)
{
    const Attr attr = {axis, parts};

    return reln_node(g, &reln_op_split, 1, &x, &attr, sizeof attr, NULL);
}

RelnNode *reln_merge(RelnGraph *g, RelnNode *x, RelnAxis axis)
{
    const Attr attr = {axis, 0};

    return reln_node(g, &reln_op_merge, 1, &x, &attr, sizeof attr, NULL);
}
