/* window_pool.c -- pools over the windows of an axis: means and their adjoint, and the position of the largest number. */
#include <string.h>

#include "ops/window.h"

/*!
 * reln_window_mean() -- z[t] = mean of x over the points of window t along an axis; padding is not counted, so the last
 * window of reln_window_same(2, 2, 1) on 5 points is the last point
 *
 * Shapes  x (P, Q, R, K, C) -> one point for each window on the axis, P, Q or R; other axes stay
 * Rep     as x
 * Fails   RELN_ERR_SHAPE when no window fits, or one has no point
 */
RELN_API RelnNode *reln_window_mean(RelnGraph *g, RelnNode *x, RelnAxis axis, RelnWindow window);

/*!
 * reln_window_mean_t() -- x[p] = sum over the windows t that p is in of y[t] / (number of points of t): the adjoint of
 * reln_window_mean()
 *
 * Shapes  y with as many points on the axis as there are windows over `extent` points -> `extent` points on the axis
 * Rep     as y
 */
RELN_API RelnNode *reln_window_mean_t(RelnGraph *g, RelnNode *y, RelnAxis axis, RelnWindow window,
                                      int extent);

/*!
 * reln_window_argmax() -- i32 position on the axis of the largest number of each window; padding never wins
 *
 * Shapes  x -> one point for each window on the axis, P, Q or R
 * Rep     invariants; indices have no rep and no gradient. reln_pick() reads any feature at them: with
 *         scores of K = 1, all coordinates of a channel come from one point
 * Fails   as reln_window_mean()
 * Notes   the first one on ties; a number wins against a NaN
 */
RELN_API RelnNode *reln_window_argmax(RelnGraph *g, RelnNode *x, RelnAxis axis, RelnWindow window);

/*!
 * reln_window_max() -- the largest number of each window: x at reln_window_argmax()
 *
 * Rep     invariants with K = 1
 */
RELN_API RelnNode *reln_window_max(RelnGraph *g, RelnNode *x, RelnAxis axis, RelnWindow window);

static bool want_points(RelnGraph *g, const RelnNode *z, const RelnNode *x)
{
    const RelnWindows *a = z->attr;
    const RelnWindow *w = &a->window;

    for (ptrdiff_t t = 0; t < reln_windows_count(a); t++) {
        const RelnInside in = reln_window_points(a, t);

        if (in.first == in.end)
            return reln_graph_fail(g, RELN_ERR_SHAPE,
                                   "%s: window %td of %s has no point: width %d, stride %d, "
                                   "dilation %d, padding %d and %d",
                                   z->op->name, t, reln_shape_text(x), w->width, w->stride,
                                   w->dilation, w->before, w->after);
    }
    return true;
}

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnWindows *a = z->attr;
    const RelnNode *x = z->in[0];

    if (!reln_want_float(g, z) || !reln_want_windows(g, z, x, 0) || !want_points(g, z, x))
        return false;
    z->shape = x->shape;
    z->shape.dims[a->axis] = reln_windows_count(a);
    z->rep = x->rep;
    return true;
}

static bool infer_t(RelnGraph *g, RelnNode *z)
{
    const RelnWindows *a = z->attr;
    const RelnNode *y = z->in[0];

    if (!reln_want_float(g, z) || !reln_want_axis(g, z, a->axis) ||
        !reln_want_windows(g, z, y, y->shape.dims[a->axis]) || !want_points(g, z, y))
        return false;
    z->shape = y->shape;
    z->shape.dims[a->axis] = a->extent;
    z->rep = y->rep;
    return true;
}

static bool infer_argmax(RelnGraph *g, RelnNode *z)
{
    if (!infer(g, z) || !reln_want_invariant(g, z, z->in[0]))
        return false;
    z->dtype = RELN_I32;
    z->rep = NULL;
    return true;
}

/* 1 / number of points of window t */
static double part_of(const RelnWindows *a, ptrdiff_t t)
{
    const RelnInside in = reln_window_points(a, t);

    return 1.0 / (double)(in.end - in.first);
}

/* Tap by tap, add the i-th point of each window to the window's sum; then divide the sums. */
static RelnStatus forward(const RelnExec *e)
{
    const RelnNode *x = e->node->in[0];
    const RelnWindows *a = e->node->attr;
    const RelnRealKernels *k = reln_kern(e);
    const ptrdiff_t inner = reln_shape_behind(&x->shape, a->axis), count = reln_windows_count(a);
    const ptrdiff_t outer = e->n * reln_shape_before(&x->shape, a->axis);

    memset(e->out, 0, (size_t)e->n * reln_node_bytes(e->node));
    for (ptrdiff_t o = 0; o < outer; o++) {
        const void *from = reln_at(e->in[0], o * a->extent * inner, k->size);
        void *to = reln_at(e->out, o * count * inner, k->size);

        for (int i = 0; i < a->window.width; i++) {
            const RelnInside tap = reln_window_tap(a, i);
            const ptrdiff_t point = tap.first * a->window.stride + tap.point;

            if (tap.first < tap.end)
                k->add_to_rows(tap.end - tap.first, inner, reln_at(from, point * inner, k->size),
                               a->window.stride * inner, reln_at(to, tap.first * inner, k->size),
                               inner);
        }
        for (ptrdiff_t t = 0; t < count; t++) {
            void *at = reln_at(to, t * inner, k->size);

            k->axpb(inner, part_of(a, t), at, 0.0, at);
        }
    }
    return RELN_OK;
}

static size_t scratch_t(const RelnNode *z, ptrdiff_t n)
{
    (void)n;
    return (size_t)reln_shape_behind(&z->shape, ((const RelnWindows *)z->attr)->axis) *
           reln_dtype_size(z->dtype);
}

static RelnStatus forward_t(const RelnExec *e)
{
    const RelnNode *y = e->node->in[0];
    const RelnWindows *a = e->node->attr;
    const RelnRealKernels *k = reln_kern(e);
    const ptrdiff_t inner = reln_shape_behind(&y->shape, a->axis), count = reln_windows_count(a);
    const ptrdiff_t windows = e->n * reln_shape_before(&y->shape, a->axis) * count;

    memset(e->out, 0, (size_t)e->n * reln_node_bytes(e->node));
    for (ptrdiff_t j = 0; j < windows; j++) {
        const RelnInside in = reln_window_points(a, j % count);
        void *to = reln_at(e->out, j / count * a->extent * inner, k->size);

        k->axpb(inner, part_of(a, j % count), reln_at(e->in[0], j * inner, k->size), 0.0,
                e->scratch);
        for (ptrdiff_t i = in.first; i < in.end; i++) {
            void *at = reln_at(to, (in.point + i * a->window.dilation) * inner, k->size);

            k->map2[RELN_ADD](inner, at, 1, e->scratch, 1, at);
        }
    }
    return RELN_OK;
}

/* Scratch memory for the points of a window, one behind the other. */
static size_t scratch_argmax(const RelnNode *z, ptrdiff_t n)
{
    const RelnWindows *a = z->attr;
    const RelnNode *x = z->in[0];

    (void)n;
    return (size_t)a->window.width * (size_t)reln_shape_behind(&x->shape, a->axis) *
           reln_dtype_size(x->dtype);
}

static RelnStatus forward_argmax(const RelnExec *e)
{
    const RelnNode *x = e->node->in[0];
    const RelnWindows *a = e->node->attr;
    const RelnRealKernels *k = x->dtype == RELN_F64 ? e->kern->f64 : e->kern->f32;
    const ptrdiff_t inner = reln_shape_behind(&x->shape, a->axis), count = reln_windows_count(a);
    const ptrdiff_t windows = e->n * reln_shape_before(&x->shape, a->axis) * count;
    const ptrdiff_t gap = a->window.dilation;
    int32_t *out = e->out;

    for (ptrdiff_t j = 0; j < windows; j++, out += inner) {
        const RelnInside in = reln_window_points(a, j % count);
        const ptrdiff_t first = in.point + in.first * gap;
        const ptrdiff_t at = (j / count * a->extent + first) * inner;

        k->copy_rows(in.end - in.first, inner, reln_at(e->in[0], at, k->size), gap * inner,
                     e->scratch, inner);
        k->arg(in.end - in.first, inner, false, e->scratch, out);
        for (ptrdiff_t c = 0; c < inner; c++)
            out[c] = (int32_t)(first + out[c] * gap);
    }
    return RELN_OK;
}

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const RelnWindows *a = z->attr;

    gin[0] = reln_window_mean_t(g, gz, a->axis, a->window, a->extent);
}

static void vjp_t(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const RelnWindows *a = z->attr;

    gin[0] = reln_window_mean(g, gz, a->axis, a->window);
}

static double flops(const RelnNode *z)
{
    return (double)reln_shape_count(&z->shape) * ((const RelnWindows *)z->attr)->window.width;
}

static double flops_t(const RelnNode *z)
{
    return (double)reln_shape_count(&z->in[0]->shape) *
           ((const RelnWindows *)z->attr)->window.width;
}

static RelnNode *sample(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);

    switch (index) {
    case 0: /* pairs, and a last point alone */
        return reln_window_mean(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){5, 1, 1, k, 2}, adjoint),
            RELN_P, reln_window_same(2, 2, 1));
    case 1: /* windows that overlap, with gaps */
        return reln_window_mean(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 6, 1, k, 1}, adjoint),
            RELN_Q, (RelnWindow){3, 1, 2, 2, 2});
    case 2:
        return reln_window_mean(s->graph,
                                reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 7, 1, 3}, NULL),
                                RELN_R, reln_window_valid(3, 2, 1));
    default:
        return NULL;
    }
}

static RelnNode *sample_t(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);

    switch (index) {
    case 0:
        return reln_window_mean_t(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){3, 1, 1, k, 2}, adjoint),
            RELN_P, reln_window_same(2, 2, 1), 5);
    case 1:
        return reln_window_mean_t(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 6, 1, k, 1}, adjoint),
            RELN_Q, (RelnWindow){3, 1, 2, 2, 2}, 6);
    default:
        return NULL;
    }
}

static RelnNode *sample_argmax(RelnSampler *s, int index)
{
    switch (index) {
    case 0:
        return reln_window_argmax(
            s->graph, reln_sample_normal(s, RELN_SAMPLES, (RelnDims){7, 2, 1, 1, 3}, NULL), RELN_P,
            reln_window_same(3, 2, 1));
    case 1:
        return reln_window_argmax(s->graph,
                                  reln_sample_normal(s, RELN_STEP, (RelnDims){1, 1, 9, 1, 2}, NULL),
                                  RELN_R, reln_window_causal(3, 1, 2));
    default:
        return NULL;
    }
}

const RelnOp reln_op_window_mean = {
    .name = "window_mean",
    .rule = RELN_RULE_LINEAR,
    .n_in = 1,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .flops = flops,
    .sample = sample,
};

const RelnOp reln_op_window_mean_t = {
    .name = "window_mean_t",
    .rule = RELN_RULE_LINEAR,
    .n_in = 1,
    .infer = infer_t,
    .forward = forward_t,
    .vjp = vjp_t,
    .scratch = scratch_t,
    .flops = flops_t,
    .sample = sample_t,
};

const RelnOp reln_op_window_argmax = {
    .name = "window_argmax",
    .rule = RELN_RULE_INVARIANTS,
    .n_in = 1,
    .infer = infer_argmax,
    .forward = forward_argmax,
    .scratch = scratch_argmax,
    .flops = flops,
    .sample = sample_argmax,
};

static RelnNode *pool(RelnGraph *g, const RelnOp *op, RelnNode *x, RelnAxis axis, int extent,
                      RelnWindow window)
{
    const RelnWindows attr = reln_windows(axis, extent, window);

    return reln_node(g, op, 1, &x, &attr, sizeof attr, NULL);
}

RelnNode *reln_window_mean(RelnGraph *g, RelnNode *x, RelnAxis axis, RelnWindow window)
{
    return pool(g, &reln_op_window_mean, x, axis, reln_window_extent(x, axis), window);
}

RelnNode *reln_window_mean_t(RelnGraph *g, RelnNode *y, RelnAxis axis, RelnWindow window,
                             int extent)
{
    return pool(g, &reln_op_window_mean_t, y, axis, extent, window);
}

RelnNode *reln_window_argmax(RelnGraph *g, RelnNode *x, RelnAxis axis, RelnWindow window)
{
    return pool(g, &reln_op_window_argmax, x, axis, reln_window_extent(x, axis), window);
}

RelnNode *reln_window_max(RelnGraph *g, RelnNode *x, RelnAxis axis, RelnWindow window)
{
    return reln_pick(g, x, reln_window_argmax(g, x, axis, window), axis);
}
