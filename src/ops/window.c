/* window.c -- windows along an axis: the usual kinds, and counting them. */
#include "ops/window.h"

#include <limits.h>
#include <string.h>

/*!
 * reln_window_valid() -- windows without padding, inside the axis
 */
RELN_API RelnWindow reln_window_valid(int width, int stride, int dilation);

/*!
 * reln_window_same() -- windows with padding at both ends, an odd point at the end: P / stride windows, rounded up
 */
RELN_API RelnWindow reln_window_same(int width, int stride, int dilation);

/*!
 * reln_window_causal() -- windows with all padding before, so that window t ends at point stride t: P / stride
 * windows, rounded up
 */
RELN_API RelnWindow reln_window_causal(int width, int stride, int dilation);

/* The number of points from the first of a window to its last; -1, which is refused as padding, when out of range. */
static int span_of(int width, int dilation)
{
    int span;

    return __builtin_mul_overflow(width - 1, dilation ? dilation : 1, &span) ? -1 : span;
}

RelnWindow reln_window_valid(int width, int stride, int dilation)
{
    return (RelnWindow){width, stride, dilation, 0, 0};
}

RelnWindow reln_window_same(int width, int stride, int dilation)
{
    const int span = width < 1 ? -1 : span_of(width, dilation);

    return (RelnWindow){width, stride, dilation, span < 0 ? -1 : span / 2, span - span / 2};
}

RelnWindow reln_window_causal(int width, int stride, int dilation)
{
    return (RelnWindow){width, stride, dilation, width < 1 ? -1 : span_of(width, dilation), 0};
}

RelnWindows reln_windows(RelnAxis axis, int extent, RelnWindow window)
{
    RelnWindows a;

    memset(&a, 0, sizeof a);
    a.axis = axis;
    a.extent = extent;
    a.window = window;
    a.window.stride = window.stride ? window.stride : 1;
    a.window.dilation = window.dilation ? window.dilation : 1;
    return a;
}

int reln_windows_count(const RelnWindows *a)
{
    const RelnWindow *w = &a->window;
    ptrdiff_t room;

    if (w->width < 1 || w->stride < 1 || w->dilation < 1 || w->before < 0 || w->after < 0)
        return 0;
    room = (ptrdiff_t)a->extent + w->before + w->after - 1 -
           (ptrdiff_t)w->dilation * (ptrdiff_t)(w->width - 1);
    if (a->extent < 1 || room < 0 || room / w->stride >= INT_MAX)
        return 0;
    return (int)(room / w->stride) + 1;
}

bool reln_want_windows(RelnGraph *g, const RelnNode *z, const RelnNode *x, int points)
{
    const RelnWindows *a = z->attr;
    const RelnWindow *w = &a->window;
    const int count = reln_windows_count(a);

    if (!reln_want_axis(g, z, a->axis))
        return false;
    if (a->axis > RELN_R)
        return reln_graph_fail(g, RELN_ERR_ARG, "%s: windows along axis %c, wanted P, Q or R",
                               z->op->name, "PQRKC"[a->axis]);
    if (count == 0)
        return reln_graph_fail(g, RELN_ERR_SHAPE,
                               "%s: %s has no window of width %d, stride %d, dilation %d, padding "
                               "%d and %d along %c",
                               z->op->name, reln_shape_text(x), w->width, w->stride, w->dilation,
                               w->before, w->after, "PQRKC"[a->axis]);
    return points == 0 || points == count ||
           reln_graph_fail(g, RELN_ERR_SHAPE,
                           "%s: %d windows along %c of %s, wanted %d: width %d, stride %d, "
                           "dilation %d, padding %d and %d over %d points",
                           z->op->name, points, "PQRKC"[a->axis], reln_shape_text(x), count,
                           w -> width, w -> stride, w -> dilation, w -> before, w -> after,
                           a -> extent);
}

/* Returns the numbers j in [0, count) for which point + step j lies on an axis. */
static RelnInside inside(ptrdiff_t extent, ptrdiff_t point, ptrdiff_t step, ptrdiff_t count)
{
    const ptrdiff_t first = point >= 0 ? 0 : (-point + step - 1) / step;
    const ptrdiff_t end = point >= extent ? 0 : (extent - point + step - 1) / step;
    const ptrdiff_t last = end < count ? end : count;

    return (RelnInside){first < last ? first : last, last, point};
}

RelnInside reln_window_tap(const RelnWindows *a, int i)
{
    const RelnWindow *w = &a->window;

    return inside(a->extent, (ptrdiff_t)w->dilation * i - w->before, w->stride,
                  reln_windows_count(a));
}

RelnInside reln_window_points(const RelnWindows *a, ptrdiff_t t)
{
    const RelnWindow *w = &a->window;

    return inside(a->extent, w->stride * t - w->before, w->dilation, w->width);
}
