/* conv.c -- convolutions along an axis, their adjoints in the features and in the weights. */
#include <string.h>

#include "ops/window.h"

/*!
 * reln_conv() -- y[t, ..., k, d] = sum over i and c of x[stride t + dilation i - before, ..., k, c] W[i C + c, d], for
 * the windows of `window` along an axis; x counts as 0 outside of it
 *
 * Shapes  x (P, Q, R, K, C), W (R = width C, K = 1, C = D) at step level -> y with as many windows as there are on the
 *         axis, P, Q or R, and D channels. `window` as in RelnWindow: stride, dilation, padding at either end
 * Rep     as x: points and channels are mixed, coordinates are not
 * Fails   RELN_ERR_SHAPE when no window fits, or W has other channels
 * Cost    2 width C D for each row. The taps are multiplied one by one in place, or the windows of a few rows are
 *         copied to a matrix in the cache; no other memory is needed
 */
RELN_API RelnNode *reln_conv(RelnGraph *g, RelnNode *x, RelnNode *W, RelnAxis axis,
                             RelnWindow window);

/*!
 * reln_conv_t() -- x[p, ..., k, c] = sum of y[t, ..., k, d] W[i C + c, d] over d and stride t + dilation i - before = p:
 * the adjoint of reln_conv() in x
 *
 * Shapes  y with as many points on the axis as there are windows over `extent` points, W as reln_conv() -> x with
 *         `extent` points on the axis and C channels. With a stride above 1, the axis becomes longer
 * Rep     as y
 * Fails   RELN_ERR_SHAPE when y does not have that many points
 */
RELN_API RelnNode *reln_conv_t(RelnGraph *g, RelnNode *y, RelnNode *W, RelnAxis axis,
                               RelnWindow window, int extent);

/*!
 * reln_conv_outer() -- W[i C + c, d] = sum over all items, windows t, other axes and coordinates of
 * x[stride t + dilation i - before, ..., k, c] y[t, ..., k, d]: the adjoint of reln_conv() in W
 *
 * Shapes  x, and y as reln_conv() makes it of x -> W (R = width C, K = 1, C = D) at step level
 * Rep     y is in the dual rep of x; W is invariant
 */
RELN_API RelnNode *reln_conv_outer(RelnGraph *g, RelnNode *x, RelnNode *y, RelnAxis axis,
                                   RelnWindow window);

/* ---- typing ---------------------------------------------------------------------------------------------------------- */

static bool want_weights(RelnGraph *g, const RelnNode *z, const RelnNode *w)
{
    if (w->domain != RELN_STEP ||
        w->shape.dims[RELN_P] * w->shape.dims[RELN_Q] * w->shape.dims[RELN_K] != 1)
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "%s: the weights are %s, wanted one matrix (R, K = 1, C) at step "
                               "level",
                               z->op->name, reln_shape_text(w));
    return reln_want_invariant(g, z, w);
}

/* The number C of input channels of weights (width C, D); 0 when the number of rows is not a multiple of the width. */
static int weight_channels(const RelnNode *z, const RelnNode *w)
{
    const int width = ((const RelnWindows *)z->attr)->window.width;

    return w->shape.dims[RELN_R] % width ? 0 : w->shape.dims[RELN_R] / width;
}

static bool fail_channels(RelnGraph *g, const RelnNode *z, const RelnNode *w)
{
    return reln_graph_fail(g, RELN_ERR_SHAPE,
                           "%s: %s has %d channels; the weights are %s, for windows of width %d",
                           z->op->name, reln_shape_text(z->in[0]), z->in[0]->shape.dims[RELN_C],
                           reln_shape_text(w), ((const RelnWindows *)z->attr)->window.width);
}

static bool infer(RelnGraph *g, RelnNode *z)
{
    const RelnWindows *a = z->attr;
    const RelnNode *x = z->in[0], *w = z->in[1];

    if (!reln_want_float(g, z) || !reln_want_windows(g, z, x, 0) || !want_weights(g, z, w))
        return false;
    if (x->shape.dims[RELN_C] != weight_channels(z, w))
        return fail_channels(g, z, w);
    z->shape = x->shape;
    z->shape.dims[a->axis] = reln_windows_count(a);
    z->shape.dims[RELN_C] = w->shape.dims[RELN_C];
    z->rep = x->rep;
    return true;
}

static bool infer_t(RelnGraph *g, RelnNode *z)
{
    const RelnWindows *a = z->attr;
    const RelnNode *y = z->in[0], *w = z->in[1];

    if (!reln_want_float(g, z) || !reln_want_axis(g, z, a->axis) ||
        !reln_want_windows(g, z, y, y->shape.dims[a->axis]) || !want_weights(g, z, w))
        return false;
    if (y->shape.dims[RELN_C] != w->shape.dims[RELN_C] || weight_channels(z, w) == 0)
        return fail_channels(g, z, w);
    z->shape = y->shape;
    z->shape.dims[a->axis] = a->extent;
    z->shape.dims[RELN_C] = weight_channels(z, w);
    z->rep = y->rep;
    return true;
}

static bool infer_outer(RelnGraph *g, RelnNode *z)
{
    const RelnWindows *a = z->attr;
    const RelnNode *x = z->in[0], *y = z->in[1];
    const RelnRep *dual = reln_dual(g, x->rep);
    int rows;

    if (!dual || !reln_want_float(g, z) || !reln_want_axis(g, z, a->axis) ||
        !reln_want_windows(g, z, y, y->shape.dims[a->axis]))
        return false;
    for (int i = 0; i < RELN_C; i++)
        if ((i != (int)a->axis && x->shape.dims[i] != y->shape.dims[i]) || x->domain != y->domain)
            return reln_graph_fail(g, RELN_ERR_SHAPE,
                                   "conv_outer: %s and %s differ in more than windows and channels",
                                   reln_shape_text(x), reln_shape_text(y));
    if (y->rep != dual)
        return reln_graph_fail(g, RELN_ERR_REP, "conv_outer: %s and %s are not dual to each other",
                               reln_rep_name(x->rep), reln_rep_name(y->rep));
    if (__builtin_mul_overflow(x->shape.dims[RELN_C], a->window.width, &rows))
        return reln_graph_fail(g, RELN_ERR_SHAPE, "conv_outer: windows of width %d of %s",
                               a->window.width, reln_shape_text(x));
    z->shape = (RelnShape){{1, 1, rows, 1, y->shape.dims[RELN_C]}};
    z->domain = RELN_STEP;
    z->rep = reln_invariant(g, 1);
    return z->rep != NULL;
}

/* ---- windows as rows ------------------------------------------------------------------------------------------------- */

/* x and y are arrays of rows of channels: x (outer, extent, rest, c), y (outer, count, rest, d). Each row of y belongs
 * to one window of x, which is `width` rows of c numbers. The windows of BLOCK rows of y at a time are copied to the
 * rows of a matrix. A block may hold rows of several samples, so that short axes make full products too. */
enum { BLOCK = 96 };
typedef struct Rows {
    const RelnWindows *a;
    ptrdiff_t count, rest, c, d, pitch; /* pitch: of the matrix */
} Rows;

/* Elements from row to row of the matrix: an odd number of cache lines, so that columns, which the gradient by the
 * weights reads, do not crowd into a few sets of the nearest cache. */
static ptrdiff_t pitch_of(const RelnNode *z, const RelnNode *x)
{
    const size_t size = reln_dtype_size(z->dtype), line = 64 / size;
    const size_t wide =
        (size_t)((const RelnWindows *)z->attr)->window.width * (size_t)x->shape.dims[RELN_C];

    return (ptrdiff_t)(((wide + line - 1) / line | 1) * line);
}

/* x is the side that the windows read, y the side that has one row for each window. */
static Rows rows_of(const RelnNode *z, const RelnNode *x, const RelnNode *y)
{
    const RelnWindows *a = z->attr;

    return (Rows){a,
                  y->shape.dims[a->axis],
                  reln_shape_behind(&x->shape, a->axis) / x->shape.dims[RELN_C],
                  x->shape.dims[RELN_C],
                  y->shape.dims[RELN_C],
                  pitch_of(z, x)};
}

static ptrdiff_t rows_count(const RelnExec *e, const RelnNode *y)
{
    return e->n * (reln_shape_count(&y->shape) / y->shape.dims[RELN_C]);
}

/* Copy n rows of the i-th points of windows to the matrix, or, when `back`, add them from the matrix to x. The first
 * row is row r of the point of window t; all points lie inside the axis. Rows of neighbouring points are adjacent
 * unless the stride leaves some out. */
static void move_points(const Rows *v, const RelnRealKernels *k, bool back, ptrdiff_t n,
                        ptrdiff_t row, ptrdiff_t r, void *x, void *matrix)
{
    const ptrdiff_t stride = v->a->window.stride;
    const bool even = stride == 1 || v->rest == 1; /* one distance from row to row */
    const ptrdiff_t ldx = (v->rest == 1 ? stride : 1) * v->c;

    while (n > 0) {
        const ptrdiff_t run = even || n < v->rest - r ? n : v->rest - r;
        void *points = reln_at(x, row * v->c, k->size);

        if (back)
            k->add_to_rows(run, v->c, matrix, v->pitch, points, ldx);
        else
            k->copy_rows(run, v->c, points, ldx, matrix, v->pitch);
        matrix = reln_at(matrix, run * v->pitch, k->size);
        row += run + (stride - 1) * v->rest;
        n -= run;
        r = 0;
    }
}

static void clear_points(const Rows *v, const RelnRealKernels *k, ptrdiff_t n, void *matrix)
{
    for (ptrdiff_t j = 0; j < n; j++)
        memset(reln_at(matrix, j * v->pitch, k->size), 0, (size_t)v->c * k->size);
}

/* Windows of n rows of y from the first on, and the matrix (n, width c) of them: filled from x, or added to x. A point
 * that is the i-th of one window is an earlier one of the next, so going from the last i to the first adds the terms of a
 * point in the order of the windows, wherever blocks begin. */
static void move_windows(const Rows *v, const RelnRealKernels *k, bool back, ptrdiff_t first,
                         ptrdiff_t n, void *x, void *matrix)
{
    for (int i = v->a->window.width - 1; i >= 0; i--) {
        const RelnInside tap = reln_window_tap(v->a, i);
        ptrdiff_t run;

        for (ptrdiff_t j = 0; j < n; j += run) {
            const ptrdiff_t r = (first + j) % v->rest, t = (first + j) / v->rest % v->count;
            const ptrdiff_t outer = (first + j) / v->rest / v->count;
            const ptrdiff_t end = t < tap.first ? tap.first : t < tap.end ? tap.end : v->count;
            const ptrdiff_t point = outer * v->a->extent + t * v->a->window.stride + tap.point;
            void *to = reln_at(matrix, j * v->pitch + i * v->c, k->size);

            run = (end - t) * v->rest - r;
            run = run < n - j ? run : n - j;
            if (t >= tap.first && t < tap.end)
                move_points(v, k, back, run, point * v->rest + r, r, x, to);
            else if (!back)
                clear_points(v, k, run, to);
        }
    }
}

/* ---- products --------------------------------------------------------------------------------------------------------- */

/* The weights in equal parts, each (k, n) or with `transposed` (n, k), packed once in a run unless a function computes
 * them in the worker's own memory. */
static const char *packed_weights(const RelnExec *e, int parts, bool transposed, ptrdiff_t n,
                                  ptrdiff_t k)
{
    const RelnNode *w = e->node->in[1];
    const bool is_double = e->node->dtype == RELN_F64;
    const ptrdiff_t part = reln_shape_count(&w->shape) / parts;
    const size_t bytes = reln_gemm_packed_size(e->kern, is_double, n, k);
    RelnPack *pack = e->pack;

    if (pack->source == e->in[1] && pack->run == e->run)
        return pack->values;
    for (int i = 0; i < parts; i++)
        reln_gemm_pack(e->gemm, is_double, transposed, n, k,
                       reln_at(e->in[1], i * part, reln_dtype_size(w->dtype)),
                       w->shape.dims[RELN_C], (char *)pack->values + (size_t)i * bytes);
    pack->source = e->in[1];
    pack->run = e->passing[1] ? 0 : e->run;
    return pack->values;
}

/* c (m, n) = a b, a (m, k) and b all weights or their transpose */
static void multiply(const RelnExec *e, bool transposed, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k,
                     const void *a, ptrdiff_t lda, void *c, ptrdiff_t ldc)
{
    const bool is_double = e->node->dtype == RELN_F64;

    if (e->pack)
        reln_gemm_packed(e->gemm, is_double, false, m, n, k, a, lda,
                         packed_weights(e, 1, transposed, n, k), false, c, ldc);
    else
        reln_gemm(e->gemm, is_double, false, transposed, m, n, k, a, lda, e->in[1],
                  e->node->in[1]->shape.dims[RELN_C], false, c, ldc);
}

static ptrdiff_t block_at(ptrdiff_t i, ptrdiff_t rows)
{
    return rows - i < BLOCK ? rows - i : BLOCK;
}

/* ---- tap by tap, in place ------------------------------------------------------------------------------------------- */

/* With stride 1 the rows that one tap multiplies are the rows of the input, shifted: no matrix of windows is needed
 * where a product of one tap fills the registers for long enough, and a sample has rows for a block. */
enum { DEEP = 16 };

static bool is_by_taps(const RelnNode *z)
{
    const RelnWindows *a = z->attr;
    const ptrdiff_t rows = reln_shape_behind(&z->shape, a->axis) / z->shape.dims[RELN_C];

    return z->domain != RELN_STEP && a->window.stride == 1 &&
           z->in[0]->shape.dims[RELN_C] >= DEEP && rows * z->shape.dims[a->axis] >= BLOCK;
}

/* Rows of the input (n_in, k) and of the result (n_out, n) along the axis. Row j of the result takes row j + shift of the
 * input: one point of the axis is `rest` rows. */
typedef struct Taps {
    ptrdiff_t n_in, n_out, rest, k, n;
    bool back; /* the adjoint: shifts the other way, weights transposed */
} Taps;

static Taps taps_of(const RelnNode *z, bool back)
{
    const RelnAxis axis = ((const RelnWindows *)z->attr)->axis;
    const RelnNode *in = z->in[0];
    const ptrdiff_t k = in->shape.dims[RELN_C], rest = reln_shape_behind(&in->shape, axis) / k;

    return (Taps){in->shape.dims[axis] * rest,
                  z->shape.dims[axis] * rest,
                  rest,
                  k,
                  z->shape.dims[RELN_C],
                  back};
}

/* Rows first to end of the result. Where the first tap does not reach all of them, they start from zeros. */
static void add_taps(const RelnExec *e, const Taps *v, ptrdiff_t first, ptrdiff_t end,
                     const void *in, void *out)
{
    const RelnWindow *w = &((const RelnWindows *)e->node->attr)->window;
    const bool is_double = e->node->dtype == RELN_F64;
    const size_t size = reln_dtype_size(e->node->dtype),
                 bytes = reln_gemm_packed_size(e->kern, is_double, v->n, v->k);
    const char *weights = packed_weights(e, w->width, v->back, v->n, v->k);
    bool set = false;

    for (int i = 0; i < w->width; i++, weights += bytes) {
        const ptrdiff_t ahead = ((ptrdiff_t)w->dilation * i - w->before) * v->rest;
        const ptrdiff_t shift = v->back ? -ahead : ahead;
        const ptrdiff_t lo = first > -shift ? first : -shift,
                        hi = end < v->n_in - shift ? end : v->n_in - shift;

        if (!set && (lo > first || hi < end)) {
            memset(reln_at(out, first * v->n, size), 0, (size_t)((end - first) * v->n) * size);
            set = true;
        }
        if (lo < hi)
            reln_gemm_packed(e->gemm, is_double, false, hi - lo, v->n, v->k,
                             reln_at(in, (lo + shift) * v->k, size), v->k, weights, set,
                             reln_at(out, lo * v->n, size), v->n);
        set = true;
    }
}

/* Blocks are counted from the start of each sample's axis, so the position of the sample in the batch does not
 * matter. */
static RelnStatus run_by_taps(const RelnExec *e, bool back)
{
    const RelnNode *z = e->node;
    const Taps v = taps_of(z, back);
    const ptrdiff_t outer =
        e->n * reln_shape_before(&z->shape, ((const RelnWindows *)z->attr)->axis);
    const size_t size = reln_dtype_size(z->dtype);

    for (ptrdiff_t o = 0; o < outer; o++)
        for (ptrdiff_t j = 0; j < v.n_out; j += BLOCK)
            add_taps(e, &v, j, j + block_at(j, v.n_out), reln_at(e->in[0], o * v.n_in * v.k, size),
                     reln_at(e->out, o * v.n_out * v.n, size));
    return RELN_OK;
}

static size_t matrix_bytes(const RelnNode *z, const RelnNode *x)
{
    return BLOCK * (size_t)pitch_of(z, x) * reln_dtype_size(z->dtype);
}

static size_t scratch(const RelnNode *z, ptrdiff_t n)
{
    (void)n;
    return is_by_taps(z) ? 0 : matrix_bytes(z, z->in[0]);
}

static size_t scratch_t(const RelnNode *z, ptrdiff_t n)
{
    (void)n;
    return is_by_taps(z) ? 0 : matrix_bytes(z, z);
}

static size_t scratch_outer(const RelnNode *z, ptrdiff_t n)
{
    (void)n;
    return matrix_bytes(z, z->in[0]);
}

static size_t packs(const RelnNode *z, const RelnKernels *kern)
{
    const RelnShape *w = &z->in[1]->shape;
    const int parts = is_by_taps(z) ? ((const RelnWindows *)z->attr)->window.width : 1;

    return (size_t)parts * reln_gemm_packed_size(kern, z->dtype == RELN_F64, w->dims[RELN_C],
                                                 w->dims[RELN_R] / parts);
}

static size_t packs_t(const RelnNode *z, const RelnKernels *kern)
{
    const RelnShape *w = &z->in[1]->shape;
    const int parts = is_by_taps(z) ? ((const RelnWindows *)z->attr)->window.width : 1;

    return (size_t)parts * reln_gemm_packed_size(kern, z->dtype == RELN_F64,
                                                 w->dims[RELN_R] / parts, w->dims[RELN_C]);
}

/* ---- running --------------------------------------------------------------------------------------------------------- */

static RelnStatus forward(const RelnExec *e)
{
    const Rows v = rows_of(e->node, e->node->in[0], e->node);
    const RelnRealKernels *k = reln_kern(e);
    const ptrdiff_t rows = rows_count(e, e->node), wide = v.a->window.width * v.c;

    if (is_by_taps(e->node))
        return run_by_taps(e, false);
    for (ptrdiff_t i = 0; i < rows; i += BLOCK) {
        move_windows(&v, k, false, i, block_at(i, rows), e->in[0], e->scratch);
        multiply(e, false, block_at(i, rows), v.d, wide, e->scratch, v.pitch,
                 reln_at(e->out, i * v.d, k->size), v.d);
    }
    return RELN_OK;
}

static RelnStatus forward_t(const RelnExec *e)
{
    const Rows v = rows_of(e->node, e->node, e->node->in[0]);
    const RelnRealKernels *k = reln_kern(e);
    const ptrdiff_t rows = rows_count(e, e->node->in[0]), wide = v.a->window.width * v.c;

    if (is_by_taps(e->node))
        return run_by_taps(e, true);
    memset(e->out, 0, (size_t)e->n * reln_node_bytes(e->node));
    for (ptrdiff_t i = 0; i < rows; i += BLOCK) {
        multiply(e, true, block_at(i, rows), wide, v.d, reln_at(e->in[0], i * v.d, k->size), v.d,
                 e->scratch, v.pitch);
        move_windows(&v, k, true, i, block_at(i, rows), e->out, e->scratch);
    }
    return RELN_OK;
}

static RelnStatus forward_outer(const RelnExec *e)
{
    const Rows v = rows_of(e->node, e->node->in[0], e->node->in[1]);
    const RelnRealKernels *k = reln_kern(e);
    const ptrdiff_t rows = rows_count(e, e->node->in[1]), wide = v.a->window.width * v.c;
    ptrdiff_t i = 0;

    do { /* once also without rows, to clear the result */
        move_windows(&v, k, false, i, block_at(i, rows), e->in[0], e->scratch);
        reln_gemm(e->gemm, e->node->dtype == RELN_F64, true, false, wide, v.d, block_at(i, rows),
                  e->scratch, v.pitch, reln_at(e->in[1], i * v.d, k->size), v.d,
                  e->accumulate || i > 0, e->out, v.d);
        i += BLOCK;
    } while (i < rows);
    return RELN_OK;
}

/* ---- gradients ------------------------------------------------------------------------------------------------------- */

static void vjp(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const RelnWindows *a = z->attr;

    gin[0] = reln_conv_t(g, gz, z->in[1], a->axis, a->window, a->extent);
    gin[1] = reln_conv_outer(g, z->in[0], gz, a->axis, a->window);
}

static void vjp_t(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const RelnWindows *a = z->attr;

    gin[0] = reln_conv(g, gz, z->in[1], a->axis, a->window);
    gin[1] = reln_conv_outer(g, gz, z->in[0], a->axis, a->window);
}

static void vjp_outer(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin)
{
    const RelnWindows *a = z->attr;

    gin[0] = reln_conv_t(g, z->in[1], gz, a->axis, a->window, a->extent);
    gin[1] = reln_conv(g, z->in[0], gz, a->axis, a->window);
}

/* Windows that reach over an end are counted whole: products with their padding are counted, too. */
static double flops(const RelnNode *z)
{
    return 2.0 * (double)reln_shape_count(&z->shape) * z->in[1]->shape.dims[RELN_R];
}

static double flops_t(const RelnNode *z)
{
    const double added = (double)reln_shape_count(&z->in[0]->shape) / z->in[0]->shape.dims[RELN_C];

    return (2.0 * z->in[1]->shape.dims[RELN_C] + 1.0) * added * z->in[1]->shape.dims[RELN_R];
}

static double flops_outer(const RelnNode *z)
{
    return 2.0 * (double)reln_shape_count(&z->in[1]->shape) * z->shape.dims[RELN_R];
}

/* ---- samples --------------------------------------------------------------------------------------------------------- */

/* The index-th case: x, its windows, and the domain; y is the result of reln_conv() with `to` channels. */
typedef struct Case {
    RelnDims x;
    RelnAxis axis;
    RelnWindow window;
    RelnDomain domain;
    int to;
} Case;

static bool case_at(int index, int k, Case *out)
{
    const Case cases[] = {
        {{5, 1, 1, k, 2}, RELN_P, reln_window_same(3, 1, 1), RELN_SAMPLES, 3},
        /* a stride that leaves out the last point, rows behind the axis */
        {{6, 1, 2, k, 1}, RELN_P, reln_window_valid(3, 2, 1), RELN_SAMPLES, 2},
        /* rows before the axis, gaps inside of the windows */
        {{2, 1, 7, k, 2}, RELN_R, reln_window_causal(3, 2, 2), RELN_SAMPLES, 2},
        /* windows longer than the axis, some of nothing but padding */
        {{1, 2, 1, 1, 3}, RELN_Q, {4, 1, 1, 5, 5}, RELN_STEP, 2},
        /* a stride longer than the windows */
        {{7, 1, 1, k, 2}, RELN_P, {2, 3, 1, 1, 0}, RELN_SAMPLES, 1},
    };

    if (index >= (int)(sizeof cases / sizeof cases[0]))
        return false;
    *out = cases[index];
    return true;
}

/* An input of a case: x, or with `windows` y, which has `channels`. */
static RelnNode *sample_side(RelnSampler *s, const Case *c, bool windows, int channels,
                             const RelnRep *rep)
{
    RelnShape shape = reln_shape_from(c->x);
    const RelnWindows a = reln_windows(c->axis, shape.dims[c->axis], c->window);

    if (windows)
        shape.dims[c->axis] = reln_windows_count(&a);
    return reln_sample_normal(s, c->domain,
                              (RelnDims){shape.dims[RELN_P], shape.dims[RELN_Q], shape.dims[RELN_R],
                                         shape.dims[RELN_K], channels},
                              c->x.k == 1 ? NULL : rep);
}

static RelnNode *sample_weights(RelnSampler *s, const Case *c)
{
    return reln_sample_normal(s, RELN_STEP, (RelnDims){.r = c->window.width * c->x.c, .c = c->to},
                              NULL);
}

static RelnNode *sample(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    RelnNode *x;
    Case c;

    if (!case_at(index, reln_rep_dim(adjoint), &c))
        return NULL;
    x = sample_side(s, &c, false, c.x.c, adjoint);
    return reln_conv(s->graph, x, sample_weights(s, &c), c.axis, c.window);
}

static RelnNode *sample_t(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    RelnNode *y;
    Case c;

    if (!case_at(index, reln_rep_dim(adjoint), &c))
        return NULL;
    y = sample_side(s, &c, true, c.to, adjoint);
    return reln_conv_t(s->graph, y, sample_weights(s, &c), c.axis, c.window,
                       reln_shape_from(c.x).dims[c.axis]);
}

static RelnNode *sample_outer(RelnSampler *s, int index)
{
    const RelnRep *adjoint = reln_sample_adjoint(s);
    RelnNode *x, *y;
    Case c;

    if (!case_at(index, reln_rep_dim(adjoint), &c))
        return NULL;
    x = sample_side(s, &c, false, c.x.c, adjoint);
    y = sample_side(s, &c, true, c.to, reln_rep_dual(adjoint));
    return reln_conv_outer(s->graph, x, y, c.axis, c.window);
}

/* ---- descriptors and builders ---------------------------------------------------------------------------------------- */

const RelnOp reln_op_conv = {
    .name = "conv",
    .rule = RELN_RULE_FACTOR,
    .n_in = 2,
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .scratch = scratch,
    .packs = packs,
    .flops = flops,
    .sample = sample,
};

const RelnOp reln_op_conv_t = {
    .name = "conv_t",
    .rule = RELN_RULE_FACTOR,
    .n_in = 2,
    .infer = infer_t,
    .forward = forward_t,
    .vjp = vjp_t,
    .scratch = scratch_t,
    .packs = packs_t,
    .flops = flops_t,
    .sample = sample_t,
};

const RelnOp reln_op_conv_outer = {
    .name = "conv_outer",
    .rule = RELN_RULE_PAIRING,
    .n_in = 2,
    .flags = RELN_OP_REDUCE,
    .infer = infer_outer,
    .forward = forward_outer,
    .vjp = vjp_outer,
    .scratch = scratch_outer,
    .flops = flops_outer,
    .sample = sample_outer,
};

/* Returns whether each window has one point, and each point one window. Then the convolution is a plain
 * matrix product. */
static bool is_mix(const RelnWindows *a)
{
    const RelnWindow *w = &a->window;

    return a->axis <= RELN_R && a->extent >= 1 && w->width == 1 && w->stride == 1 &&
           w->before == 0 && w->after == 0;
}

RelnNode *reln_conv(RelnGraph *g, RelnNode *x, RelnNode *W, RelnAxis axis, RelnWindow window)
{
    const RelnWindows attr = reln_windows(axis, reln_window_extent(x, axis), window);

    if (is_mix(&attr))
        return reln_mix(g, x, W);
    return reln_node(g, &reln_op_conv, 2, (RelnNode *[]){x, W}, &attr, sizeof attr, NULL);
}

RelnNode *reln_conv_t(RelnGraph *g, RelnNode *y, RelnNode *W, RelnAxis axis, RelnWindow window,
                      int extent)
{
    const RelnWindows attr = reln_windows(axis, extent, window);

    if (is_mix(&attr) && extent == reln_window_extent(y, axis))
        return reln_mix_t(g, y, W);
    return reln_node(g, &reln_op_conv_t, 2, (RelnNode *[]){y, W}, &attr, sizeof attr, NULL);
}

RelnNode *reln_conv_outer(RelnGraph *g, RelnNode *x, RelnNode *y, RelnAxis axis, RelnWindow window)
{
    const RelnWindows attr = reln_windows(axis, reln_window_extent(x, axis), window);

    if (is_mix(&attr) && reln_window_extent(x, axis) == reln_window_extent(y, axis))
        return reln_outer(g, x, y);
    return reln_node(g, &reln_op_conv_outer, 2, (RelnNode *[]){x, y}, &attr, sizeof attr, NULL);
}
