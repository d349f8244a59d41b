/* loop.h -- steps through the operands of an elementwise op together, one innermost run after the other. */
#ifndef GRAPH_LOOP_H
#define GRAPH_LOOP_H

#include "graph/op.h"

/* Returns the kernel table of the type that e computes in. */
static inline const RelnRealKernels *reln_kern(const RelnExec *e)
{
    return e->node->dtype == RELN_F64 ? e->kern->f64 : e->kern->f32;
}

static inline void *reln_at(const void *base, ptrdiff_t index, size_t size)
{
    /* the only place where the const of an operand is removed, so that operands and outputs can share this
     * function */
    return (char *)(uintptr_t)base + index * (ptrdiff_t)size;
}

/* A RelnWalk steps over the outer loops; a kernel executes the innermost loop. */
typedef struct RelnWalk {
    const RelnLoops *loops;
    ptrdiff_t extent[RELN_LOOP_MAX];
    ptrdiff_t index[RELN_LOOP_MAX];
    ptrdiff_t offset[RELN_LOOP_IN]; /* of each operand, in elements */
    ptrdiff_t out;                  /* of the output */
    ptrdiff_t run;                  /* elements of one innermost run */
    ptrdiff_t rows;                 /* number of runs in one call of a kernel; 1 unless asked for */
    int outer;                      /* number of outer loops */
    bool done;
} RelnWalk;

static inline RelnWalk reln_walk(const RelnLoops *loops, int n_in, ptrdiff_t n)
{
    RelnWalk w = {.loops = loops, .outer = loops->rank - 1, .rows = 1, .done = n == 0};
    bool flat = loops->rank == 2;

    for (int r = 0; r < loops->rank; r++)
        w.extent[r] = loops->extent[r];
    w.extent[0] = n;
    w.run = w.extent[loops->rank - 1];
    /* items that are contiguous in every operand are one long run */
    for (int i = 0; i < n_in && flat; i++)
        flat = loops->stride[i][0] == loops->stride[i][1] * loops->extent[1];
    if (flat) {
        w.outer = 0;
        w.run *= n;
    }
    return w;
}

/* Begins a walk that leaves the two innermost loops to a kernel: `rows` runs that are adjacent in the
 * output. */
static inline RelnWalk reln_walk_rows(const RelnLoops *loops, int n_in, ptrdiff_t n)
{
    RelnWalk w = reln_walk(loops, n_in, n);

    if (w.outer > 0)
        w.rows = w.extent[--w.outer];
    return w;
}

/* Begins a walk whose runs never exceed one item: for sums, whose order must not depend on the number of
 * items. */
static inline RelnWalk reln_walk_items(const RelnLoops *loops, ptrdiff_t n)
{
    RelnWalk w = {.loops = loops,
                  .outer = loops->rank - 1,
                  .run = loops->extent[loops->rank - 1],
                  .rows = 1,
                  .done = n == 0};

    for (int r = 0; r < loops->rank; r++)
        w.extent[r] = loops->extent[r];
    w.extent[0] = n;
    if (loops->rank == 1) {
        w.outer = 1;
        w.run = 1;
    }
    return w;
}

static inline RelnWalk reln_walk_item_rows(const RelnLoops *loops, ptrdiff_t n)
{
    RelnWalk w = reln_walk_items(loops, n);

    if (w.outer > 0)
        w.rows = w.extent[--w.outer];
    return w;
}

static inline void reln_walk_next(RelnWalk *w, int n_in)
{
    int r = w->outer - 1;

    w->out += w->run * w->rows;
    for (; r >= 0; r--) {
        w->index[r]++;
        for (int i = 0; i < n_in; i++)
            w->offset[i] += w->loops->stride[i][r];
        if (w->index[r] < w->extent[r])
            return;
        for (int i = 0; i < n_in; i++)
            w->offset[i] -= w->index[r] * w->loops->stride[i][r];
        w->index[r] = 0;
    }
    w->done = true;
}

/* 0 or 1: the step of operand i in the innermost loop. A flat walk of rank 1 (items alone) steps as the items
 * do. */
static inline ptrdiff_t reln_walk_stride(const RelnWalk *w, int i)
{
    return w->loops->stride[i][w->loops->rank - 1];
}

/* Returns the step of operand i from one of the `rows` to the next. */
static inline ptrdiff_t reln_walk_row(const RelnWalk *w, int i)
{
    return w->rows > 1 ? w->loops->stride[i][w->outer] : 0;
}

#endif
