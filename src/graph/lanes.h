/* lanes.h -- the accumulators of a plan's lanes, and the fixed tree that adds them up.
 *
 * Lanes 0 .. n-1 are the leaves of a binary tree: 0 and 1 are added, 2 and 3, then (0 1) and (2 3) ...; where there is no
 * right neighbour, a sum goes up as it is. Nodes are numbered like those of a heap: the root is 1, the children of i are 2 i
 * and 2 i + 1, and lane l is node `leaves` + l, `leaves` being the least power of two that holds all lanes. A worker that ends
 * a lane adds up what can be added, so there is memory for the sums that wait for another, not for every lane.
 */
#ifndef GRAPH_LANES_H
#define GRAPH_LANES_H

#include <pthread.h>

#include "base/base.h"

enum { RELN_LANES = 8, RELN_LANES_MOST = 4096 };

typedef struct Lanes {
    int most;       /* the setting: so many lanes where there are shards for them */
    int n, leaves;  /* of the batch at hand */
    int first, end; /* the lanes that this process runs */
    int folds; /* levels of the tree that workers add up; the rest is added when all lanes have ended */
    size_t size; /* bytes of a lane */
    int n_buffers, n_spare;
    char *memory; /* (n_buffers, size) */
    int *spare;   /* buffers that are free */
    int *held;    /* by node: the buffer with its sum; -1: none */
    pthread_mutex_t lock;
    bool has_lock;
} Lanes;

typedef struct Phase Phase;
typedef struct RelnPlan RelnPlan;

/* Make room for the lanes that n_workers workers of this process run at a time; `most` and `size` have been set. */
RelnStatus reln_lanes_init(Lanes *lanes, RelnCtx *ctx, int n_workers, int n_ranks);
void reln_lanes_clear(Lanes *lanes, RelnCtx *ctx);
/* Set the number of lanes that a batch of n_shards has, and those that one of n_ranks processes runs. */
void reln_lanes_cut(Lanes *lanes, ptrdiff_t n_shards, int rank, int n_ranks);
/* Forget all sums, before the shards of a phase. */
void reln_lanes_begin(Lanes *lanes);

int reln_lanes_take(Lanes *lanes); /* a free buffer */
/* A lane has ended, with its sums in a buffer: add up the tree as far as it goes. */
void reln_lanes_end(RelnPlan *plan, const Phase *phase, int lane, int buffer);
/* z += x for the sums of a phase between two offsets, which are multiples of RELN_ALIGN. */
void reln_lanes_add(const RelnPlan *plan, const Phase *phase, size_t from, size_t to, char *z,
                    const char *x);

/* The buffer of a node that has been added up. */
static inline char *lanes_at(const Lanes *lanes, int node)
{
    return lanes->memory + (size_t)lanes->held[node] * lanes->size;
}

/* The lanes below a node, [*first, *end); none where *first >= *end. */
void reln_lanes_below(const Lanes *lanes, int node, int *first, int *end);
/* Are all lanes below a node run by this process? */
bool reln_lanes_own(const Lanes *lanes, int node);
/* The first of the lanes that a rank runs: an even share. */
int reln_lanes_of_rank(int n_lanes, int rank, int n_ranks);

#endif
