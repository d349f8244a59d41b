/* unfold.c -- windows along the points, as channels, and their sum back: convolutions as matrix products. */
#include <limits.h>
#include <string.h>

#include "ops/ops.h"

typedef struct Attr {
    int extent; /* of the points outside the windows */
    int width, stride, pad;
} Attr;

/*!
 * reln_unfold() -- z[p, ..., w C + c] = x[p stride + w - pad, ..., c], and 0 where that is outside
 *
 * Shapes  x (P, Q, R, K, C) -> z (P', Q, R, K, width C), P' = (P + 2 pad - width) / stride + 1, rounded down. Mixed by
 *         a matrix (width C -> D) it is a convolution along P
 * Rep     x's: points and channels move, coordinates do not
 * Fails   RELN_ERR_SHAPE when not one window fits, or a number is out of range
 */
RELN_API RelnNode *reln_unfold(RelnGraph *g, RelnNode *x, int width, int stride, int pad);

/*!
 * reln_fold() -- z[p', ..., c] = sum of y[p, ..., w C + c] over p stride + w - pad = p': the adjoint of reln_unfold()
 *
 * Shapes  y (P', Q, R, K, width C) -> z (extent, Q, R, K, C), where reln_unfold() of z has P' windows
 * Rep     y's
 */
RELN_API RelnNode *reln_fold(RelnGraph *g, RelnNode *y, int extent, int width, int stride, int pad);

/* Number of windows; 0 when there is none. */
static int windows(const Attr *a)
{
    const ptrdiff_t room = (ptrdiff_t)a->extent + 2 * (ptrdiff_t)a->pad - a->width;

    if (a->width < 1 || a->stride < 1 || a->pad < 0 || room < 0 || room / a->stride >= INT_MAX)
        return 0;
    return (int)(room / a->stride) + 1;
}

static bool infer(RelnGraph *g, RelnNode *z)
{
    const Attr *a = z->attr;

    z->shape = z->in[0]->shape;
    z->rep = z->in[0]->rep;
    z->shape.dims[RELN_P] = windows(a);
    if (!reln_want_float(g, z))
        return false;
    return (windows(a) > 0 &&
            !__builtin_mul_overflow(z->shape.dims[RELN_C], a->width, &z->shape.dims[RELN_C])) ||
           reln_graph_fail(g, RELN_ERR_SHAPE,
                           "unfold: %s has no window of width %d, stride %d, padding %d",
                           reln_shape_text(z->in[0]), a->width, a->stride, a->pad);
}

static bool infer_fold(RelnGraph *g, RelnNode *z)
{
    const Attr *a = z->attr;
    const RelnNode *y = z->in[0];

    z->shape = y->shape;
    z->rep = y->rep;
    if (!reln_want_float(g, z))
        return false;
    if (a->extent < 1 || windows(a) == 0 || y->shape.dims[RELN_P] != windows(a) ||
        y->shape.dims[RELN_C] % a->width != 0)
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "fold: %s is not made of windows of width %d, stride %d, padding %d "
                               "over %d points",
                               reln_shape_text(y), a->width, a->stride, a->pad, a->extent);
    z->shape.dims[RELN_P] = a->extent;
    z->shape.dims[RELN_C] /= a->width;
    return true;
}

/* One window: w runs over those of its places that are points; both are (point, rest, channel) arrays. */
typedef struct Window {
    ptrdiff_t first, end; /* w */
    ptrdiff_t point;      /* of w = 0; may be negative */
} Window;

static Window window_at(const Attr *a, ptrdiff_t p)
{
    const ptrdiff_t point = p * a->stride - a->pad;
    const ptrdiff_t end = a->extent - point < a->width ? a->extent - point : a->width;

    return (Window){point < 0 ? -point : 0, end, point};
}

static RelnStatus forward(const RelnExec *e)
{
    const RelnNode *z = e->node, *x = z->in[0];
    const Attr *a = z->attr;
    const size_t run = (size_t)x->shape.dims[RELN_C] * reln_dtype_size(z->dtype);
    const ptrdiff_t rest = reln_shape_behind(&x->shape, RELN_P) / x->shape.dims[RELN_C];
    const ptrdiff_t n = z->shape.dims[RELN_P];
    char *out = e->out;

    for (ptrdiff_t i = 0; i < e->n * n; i++) {
        const Window w = window_at(a, i % n);
        const char *from = (const char *)e->in[0] + (size_t)(i / n) * reln_node_bytes(x);

        for (ptrdiff_t r = 0; r < rest; r++)
            for (ptrdiff_t at = 0; at < a->width; at++, out += run)
                if (at >= w.first && at < w.end)
                    memcpy(out, from + (size_t)((w.point + at) * rest + r) * run, run);
                else
                    memset(out, 0, run);
    }
    return RELN_OK;
}

/* Overlaps are added in the order of the windows. */
static RelnStatus forward_fold(const RelnExec *e)
{
    const RelnNode *z = e->node, *y = z->in[0];
    const Attr *a = z->attr;
    const RelnRealKernels *k = reln_kern(e);
    const ptrdiff_t c = z->shape.dims[RELN_C];
    const ptrdiff_t rest = reln_shape_behind(&z->shape, RELN_P) / c;
    const ptrdiff_t n = y->shape.dims[RELN_P];

    memset(e->out, 0, (size_t)e->n * reln_node_bytes(z));
    for (ptrdiff_t i = 0; i < e->n * n; i++) {
        const Window w = window_at(a, i % n);

        for (ptrdiff_t r = 0; r < rest; r++)
            for (ptrdiff_t at = w.first; at < w.end; at++) {
                void *to =
                    reln_at(e->out, ((i / n * a->extent + w.point + at) * rest + r) * c, k->size);

                k->map2[RELN_ADD](c, to, 1,
                                  reln_at(e->in[0], ((i * rest + r) * a->width + at) * c, k->size),
                                  1, to);
            }
    }
    return RELN_OK;
}

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const Attr *a = z->attr;

    gin[0] = reln_fold(g, gz, a->extent, a->width, a->stride, a->pad);
}

static void vjp_fold(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const Attr *a = z->attr;

    gin[0] = reln_unfold(g, gz, a->width, a->stride, a->pad);
}

static double flops(const RelnNode *z)
{
    (void)z;
    return 0.0;
}

static double flops_fold(const RelnNode *z)
{
    return (double)reln_shape_count(&z->in[0]->shape);
}

static RelnNode *sample(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);

    switch (index) {
    case 0:
        return reln_unfold(s->graph,
                           reln_sample_normal(s, RELN_SAMPLES, (RelnDims){5, 1, 1, k, 2}, adjoint),
                           3, 1, 1);
    case 1: /* steps that leave a point out at the end */
        return reln_unfold(s->graph,
                           reln_sample_normal(s, RELN_SAMPLES, (RelnDims){6, 1, 2, k, 1}, adjoint),
                           3, 2, 0);
    case 2: /* windows longer than the points, some of nothing but padding */
        return reln_unfold(
            s->graph, reln_sample_normal(s, RELN_STEP, (RelnDims){2, 1, 1, 1, 3}, NULL), 4, 1, 5);
    default:
        return NULL;
    }
}

static RelnNode *sample_fold(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    const int k = reln_rep_dim(adjoint);

    switch (index) {
    case 0:
        return reln_fold(s->graph,
                         reln_sample_normal(s, RELN_SAMPLES, (RelnDims){5, 1, 1, k, 6}, adjoint), 5,
                         3, 1, 1);
    case 1:
        return reln_fold(s->graph,
                         reln_sample_normal(s, RELN_SAMPLES, (RelnDims){2, 1, 2, k, 3}, adjoint), 6,
                         3, 2, 0);
    default:
        return NULL;
    }
}

const RelnOp reln_op_unfold = {
    .name = "unfold",
    .rule = RELN_RULE_LINEAR,
    .n_in = 1,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .flops = flops,
    .sample = sample,
};

const RelnOp reln_op_fold = {
    .name = "fold",
    .rule = RELN_RULE_LINEAR,
    .n_in = 1,
    .infer = infer_fold,
    .forward = forward_fold,
    .vjp = vjp_fold,
    .flops = flops_fold,
    .sample = sample_fold,
};

RelnNode *reln_unfold(RelnGraph *g, RelnNode *x, int width, int stride, int pad)
{
    const Attr attr = {x ? x->shape.dims[RELN_P] : 0, width, stride, pad};

    return reln_node(g, &reln_op_unfold, 1, &x, &attr, sizeof attr, NULL);
}

RelnNode *reln_fold(RelnGraph *g, RelnNode *y, int extent, int width, int stride, int pad)
{
    const Attr attr = {extent, width, stride, pad};

    return reln_node(g, &reln_op_fold, 1, &y, &attr, sizeof attr, NULL);
}
