/* window.h -- windows along an axis: functions that convolutions and pools share. */
#ifndef OPS_WINDOW_H
#define OPS_WINDOW_H

#include "ops/ops.h"

/* The attributes of an op that works on windows. */
typedef struct RelnWindows {
    RelnAxis axis;
    int extent; /* points on the axis of x, the side that the windows read */
    RelnWindow window;
} RelnWindows;

/* Returns the points of x on an axis; 0 for an invalid axis or a NULL x. */
static inline int reln_window_extent(const RelnNode *x, RelnAxis axis)
{
    return x && axis >= RELN_P && axis <= RELN_C ? x->shape.dims[axis] : 0;
}
/* Attributes with the zeros of the user's window replaced; equal windows have equal bytes. */
RelnWindows reln_windows(RelnAxis axis, int extent, RelnWindow window);
/* Number of windows; 0 when there is none, or a number is out of range. */
int reln_windows_count(const RelnWindows *a);
/* Checks that the axis is P, Q or R and has `points` windows; points 0: any number from 1 on. x is for the message. */
bool reln_want_windows(RelnGraph *g, const RelnNode *z, const RelnNode *x, int points);

/* The windows whose i-th point (tap) lies inside the axis: t in [first, end); and that point for window 0, which may
 * be negative. */
typedef struct RelnInside {
    ptrdiff_t first, end, point;
} RelnInside;
RelnInside reln_window_tap(const RelnWindows *a, int i);

/* Returns the points of window t inside the axis: i in [first, end), and the position of i = 0, which may be negative. */
RelnInside reln_window_points(const RelnWindows *a, ptrdiff_t t);

#endif
