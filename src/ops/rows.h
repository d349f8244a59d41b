/* rows.h -- functions that gather, scatter and the segment ops share: rows with an index into another domain. */
#ifndef OPS_ROWS_H
#define OPS_ROWS_H

#include <assert.h>

#include "ops/ops.h"

/* One index for a row, or one for each element of some of its axes. With a rep, all K coordinates go together. */
static inline bool reln_want_index(RelnGraph *g, const RelnNode *z, const RelnNode *index,
                                   const RelnNode *items, RelnDomain target)
{
    const char *name = z->op->name;

    if (index->dtype != RELN_I32 || index->domain == RELN_STEP)
        return reln_graph_fail(g, RELN_ERR_ARG, "%s: wanted one i32 index or more for each row",
                               name);
    if (target == RELN_STEP || index->target != target)
        return reln_graph_fail(
            g, RELN_ERR_ARG, "%s: the indices are %s%s, wanted numbers of items of %s", name,
            index->target == RELN_STEP ? "plain numbers" : "numbers of items of ",
            index->target == RELN_STEP ? "" : reln_domain_name(g, index->target),
            reln_domain_name(g, target));
    for (int a = 0; a < RELN_AXES; a++)
        if (index->shape.dims[a] != items->shape.dims[a] && index->shape.dims[a] != 1)
            return reln_graph_fail(g, RELN_ERR_SHAPE, "%s: indices %s do not broadcast to items %s",
                                   name, reln_shape_text(index), reln_shape_text(items));
    if (index->shape.dims[RELN_K] != 1 && items->rep && !reln_is_invariant(items))
        return reln_graph_fail(g, RELN_ERR_REP,
                               "%s: %d indices for the coordinates of %s, wanted one for all of "
                               "them",
                               name, index->shape.dims[RELN_K], reln_rep_name(items->rep));
    return true;
}

/* Loops over rows with items of this shape, together with the indices as operand 0. */
static inline void reln_row_loops(const RelnNode *index, const RelnShape *item, RelnLoops *out)
{
    ptrdiff_t stride[1][RELN_LOOP_MAX];

    reln_strides(item, &index->shape, false, stride[0]);
    reln_loops_of(item, 1, stride, out);
}

/* Returns where a run of the walk begins within its item. */
static inline ptrdiff_t reln_row_within(const RelnWalk *w)
{
    return w->out - w->index[0] * w->loops->item;
}

/* The index of the current row. The checks of typing and loading guarantee that it is an item, or -1 for none. */
static inline const int32_t *reln_row_index(const RelnWalk *w, const void *index, ptrdiff_t n_items)
{
    const int32_t *at = (const int32_t *)index + w->offset[0];

    for (ptrdiff_t i = 0; i < (reln_walk_stride(w, 0) ? w->run : 1); i++)
        assert(at[i] >= -1 && at[i] < n_items);
    (void)n_items;
    return at;
}

/* Returns whether there is one index for each row, so that its item is copied as a whole. */
static inline bool reln_index_per_row(const RelnLoops *loops)
{
    return loops->rank == 1 ||
           (loops->rank == 2 && loops->stride[0][1] == 0 && loops->stride[0][0] == 1);
}

static inline void reln_check_rows(const int32_t *index, ptrdiff_t rows, ptrdiff_t n_items)
{
    for (ptrdiff_t r = 0; r < rows; r++)
        assert(index[r] >= -1 && index[r] < n_items);
    (void)index;
    (void)n_items;
}

#endif
