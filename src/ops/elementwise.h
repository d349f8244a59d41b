/* elementwise.h -- functions shared by the ops that compute element by element, with broadcasting. */
#ifndef OPS_ELEMENTWISE_H
#define OPS_ELEMENTWISE_H

#include "ops/ops.h"

/* Prepares the loops over the output and every input together. */
static inline size_t reln_elementwise_prepare(const RelnNode *z, const RelnKernels *kern,
                                              void *prepared)
{
    (void)kern;
    if (prepared)
        reln_loops(z, z->n_in, prepared);
    return sizeof(RelnLoops);
}

/* out = f(in[0], in[1]) */
static inline RelnStatus reln_elementwise(const RelnExec *e, RelnMap2 f)
{
    const RelnRealKernels *k = reln_kern(e);

    for (RelnWalk w = reln_walk_rows(e->prepared, 2, e->n); !w.done; reln_walk_next(&w, 2))
        k->map2_rows[f](w.rows, w.run, reln_at(e->in[0], w.offset[0], k->size),
                        reln_walk_row(&w, 0), reln_walk_stride(&w, 0),
                        reln_at(e->in[1], w.offset[1], k->size), reln_walk_row(&w, 1),
                        reln_walk_stride(&w, 1), reln_at(e->out, w.out, k->size));
    return RELN_OK;
}

#endif
