/* frame.h -- the state that a running instruction can see, and the addresses of its values. */
#ifndef GRAPH_FRAME_H
#define GRAPH_FRAME_H

#include "graph/plan.h"

/* A Frame holds the worker's memory, the current shard, the function that is being called, and the tile of a
 * loop. */
typedef struct Frame {
    RelnPlan *plan;
    Worker *worker;
    char *slab;
    char *lane;
    const Shard *shard;
    void *const *args;
    void *const *outs;
    ptrdiff_t items; /* items of a function that works on items; -1 outside of such functions */
    ptrdiff_t first;
    const Piece *piece; /* piece of an optimiser's parameter; NULL outside of optimisers */
    RelnDomain tile;    /* domain of the current loop; RELN_STEP: no loop */
    ptrdiff_t tile_first, tile_count;
} Frame;

/* Returns the index in the batch of the shard's first item of a row domain. */
static inline ptrdiff_t rows_before(const Frame *f, RelnDomain domain)
{
    return f->plan->row_first[domain - 2][f->shard->first];
}

/* Return the number of items of a domain in the shard or in the function's call, and the batch index of the
 * first one. */
static inline ptrdiff_t all_items(const Frame *f, RelnDomain domain)
{
    const ptrdiff_t *first;

    if (domain == RELN_STEP)
        return 1;
    if (f->items >= 0)
        return f->items;
    if (domain == RELN_SAMPLES)
        return f->shard->count;
    first = f->plan->row_first[domain - 2];
    return first[f->shard->first + f->shard->count] - first[f->shard->first];
}

static inline ptrdiff_t first_of_all(const Frame *f, RelnDomain domain)
{
    if (domain == RELN_STEP)
        return 0;
    if (f->items >= 0)
        return f->first;
    return domain == RELN_SAMPLES ? f->shard->first : rows_before(f, domain);
}

/* Return the same for the tile, if the domain is the loop's domain. */
static inline ptrdiff_t n_items(const Frame *f, RelnDomain domain)
{
    return domain != RELN_STEP && domain == f->tile ? f->tile_count : all_items(f, domain);
}

static inline ptrdiff_t first_item(const Frame *f, RelnDomain domain)
{
    return first_of_all(f, domain) + (domain != RELN_STEP && domain == f->tile ? f->tile_first : 0);
}

void *reln_resolve(const Frame *f, const Place *place);
RelnStatus reln_run_fail(Worker *w, RelnStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* load.c: copies part of a bound input, or a value that the plan computes from the batch, to its place. */
RelnStatus reln_run_load(const Frame *f, const Instr *instr);
/* load.c: returns the end of the tile that begins at item `first` of the shard. */
ptrdiff_t reln_tile_end(const Frame *f, const Loop *loop, ptrdiff_t first);

static inline const RelnRealKernels *table_of(const RelnPlan *plan, const RelnNode *x)
{
    return x->dtype == RELN_F64 ? plan->kern->f64 : plan->kern->f32;
}

#endif
