/* lanes.h -- the accumulators of a plan's lanes, and the fixed tree that adds them up.
 *
 * Lanes 0 .. n-1 are the leaves of a binary tree: 0 and 1 are added, 2 and 3, then (0 1) and (2 3) ...; a sum without a right
 * neighbour moves up unchanged. Nodes are numbered like those of a heap: the root is 1, the children of i are 2 i and 2 i + 1,
 * and lane l is node `leaves` + l, where `leaves` is the least power of two that is not below the number of lanes. A worker
 * that finishes a lane adds up all sums that are complete, so only sums that wait for a sibling need memory, not every lane.
 */
#ifndef GRAPH_LANES_H
#define GRAPH_LANES_H

#include <pthread.h>

#include "base/base.h"

enum { RELN_LANES = 8, RELN_LANES_MOST = 4096 };

typedef struct Lanes {
    int most;       /* the setting: the number of lanes if there are enough shards */
    int n, leaves;  /* of the current batch */
    int first, end; /* the lanes that this process runs */
    int folds; /* levels of the tree that workers add up; the other levels are added when all lanes have
                * ended */
    size_t size; /* bytes of a lane */
    int n_buffers, n_spare;
    char *memory; /* (n_buffers, size) */
    int *spare;   /* list of free buffers */
    int *held;    /* by node: the buffer with its sum; -1: none */
    pthread_mutex_t lock;
    bool has_lock;
} Lanes;

typedef struct Phase Phase;
typedef struct RelnPlan RelnPlan;

/* Reserves memory for the lanes that n_workers workers of this process run at a time; `most` and `size` must
 * be set. */
RelnStatus reln_lanes_init(Lanes *lanes, RelnCtx *ctx, int n_workers, int n_ranks);
void reln_lanes_clear(Lanes *lanes, RelnCtx *ctx);
/* Sets the number of lanes for a batch of n_shards, and the lanes that one of n_ranks processes runs. */
void reln_lanes_cut(Lanes *lanes, ptrdiff_t n_shards, int rank, int n_ranks);
/* Resets all sums, before the shards of a phase. */
void reln_lanes_begin(Lanes *lanes);

int reln_lanes_take(Lanes *lanes); /* returns a free buffer */
/* Finishes a lane, whose sums are in a buffer: adds up the tree as far as possible. */
void reln_lanes_end(RelnPlan *plan, const Phase *phase, int lane, int buffer);
/* z += x for the sums of a phase between two offsets, which are multiples of RELN_ALIGN. */
void reln_lanes_add(const RelnPlan *plan, const Phase *phase, size_t from, size_t to, char *z,
                    const char *x);

/* Returns the buffer of a node that has been added up. */
static inline char *lanes_at(const Lanes *lanes, int node)
{
    return lanes->memory + (size_t)lanes->held[node] * lanes->size;
}

/* Sets [*first, *end) to the lanes below a node; none if *first >= *end. */
void reln_lanes_below(const Lanes *lanes, int node, int *first, int *end);
/* Returns whether this process runs all lanes below a node. */
bool reln_lanes_own(const Lanes *lanes, int node);
/* Returns the first of the lanes that a rank runs: an even share. */
int reln_lanes_of_rank(int n_lanes, int rank, int n_ranks);

#endif
