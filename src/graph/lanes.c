/* lanes.c -- see lanes.h. */
#include "graph/plan.h"

#include <string.h>

int reln_lanes_of_rank(int n_lanes, int rank, int n_ranks)
{
    return (int)((long long)n_lanes * rank / n_ranks);
}

static int levels_of(int leaves)
{
    int levels = 0;

    while (leaves >> levels > 1)
        levels++;
    return levels;
}

static int leaves_for(int n)
{
    int leaves = 1;

    while (leaves < n)
        leaves *= 2;
    return leaves;
}

/* Returns how many levels workers add up if one process has all lanes: until at most RELN_TREE sums are left,
 * which all workers add together. */
static int folds_of(int levels)
{
    int few = 0;

    while (1 << few < RELN_TREE)
        few++;
    return levels > few ? levels - few : 0;
}

/* Returns the largest number of buffers in use at a time. Sums wait beside the paths from the root to the
 * lanes that are running and to those that are next, and, with several processes, beside the paths to the
 * neighbouring processes' lanes. */
static int buffers_for(const Lanes *lanes, int n_workers, int n_ranks)
{
    const int levels = levels_of(leaves_for(lanes->most));
    const int own = (lanes->most + n_ranks - 1) / n_ranks;
    const int most = n_ranks > 1 ? n_workers + (n_workers + 3) * levels
                                 : n_workers + (n_workers + 1) * folds_of(levels) + RELN_TREE;

    return own < most ? own : most;
}

RelnStatus reln_lanes_init(Lanes *lanes, RelnCtx *ctx, int n_workers, int n_ranks)
{
    lanes->n_buffers = buffers_for(lanes, n_workers, n_ranks);
    lanes->memory = reln_alloc_raw(ctx, lanes->size, (size_t)lanes->n_buffers);
    lanes->spare = reln_alloc(ctx, (size_t)lanes->n_buffers, sizeof *lanes->spare);
    lanes->held = reln_alloc(ctx, 2 * (size_t)leaves_for(lanes->most), sizeof *lanes->held);
    lanes->has_lock = pthread_mutex_init(&lanes->lock, NULL) == 0;
    return lanes->memory && lanes->spare && lanes->held ? RELN_OK : RELN_ERR_NOMEM;
}

void reln_lanes_clear(Lanes *lanes, RelnCtx *ctx)
{
    reln_free(ctx, lanes->memory);
    reln_free(ctx, lanes->spare);
    reln_free(ctx, lanes->held);
    if (lanes->has_lock)
        pthread_mutex_destroy(&lanes->lock);
}

void reln_lanes_cut(Lanes *lanes, ptrdiff_t n_shards, int rank, int n_ranks)
{
    lanes->n = n_shards < lanes->most ? (int)n_shards : lanes->most;
    lanes->leaves = leaves_for(lanes->n);
    lanes->first = reln_lanes_of_rank(lanes->n, rank, n_ranks);
    lanes->end = reln_lanes_of_rank(lanes->n, rank + 1, n_ranks);
    lanes->folds = n_ranks > 1 ? levels_of(lanes->leaves) : folds_of(levels_of(lanes->leaves));
}

void reln_lanes_begin(Lanes *lanes)
{
    lanes->n_spare = lanes->n_buffers;
    for (int i = 0; i < lanes->n_buffers; i++)
        lanes->spare[i] = lanes->n_buffers - 1 - i;
    for (int i = 0; i < 2 * lanes->leaves; i++)
        lanes->held[i] = -1;
}

void reln_lanes_below(const Lanes *lanes, int node, int *first, int *end)
{
    int span = 1;

    while (node < lanes->leaves) {
        node *= 2;
        span *= 2;
    }
    *first = node - lanes->leaves;
    *end = *first + span < lanes->n ? *first + span : lanes->n;
}

bool reln_lanes_own(const Lanes *lanes, int node)
{
    int first, end;

    reln_lanes_below(lanes, node, &first, &end);
    return first >= lanes->first && end <= lanes->end;
}

int reln_lanes_take(Lanes *lanes)
{
    int buffer;

    pthread_mutex_lock(&lanes->lock);
    assert(lanes->n_spare > 0);
    buffer = lanes->spare[--lanes->n_spare];
    pthread_mutex_unlock(&lanes->lock);
    return buffer;
}

void reln_lanes_add(const RelnPlan *plan, const Phase *phase, size_t from, size_t to, char *z,
                    const char *x)
{
    for (int i = 0; i < phase->sums.count; i++) {
        const Accumulator *sum = &phase->sums.items[i];
        const RelnRealKernels *k = sum->dtype == RELN_F64 ? plan->kern->f64 : plan->kern->f32;
        const size_t begin = sum->lane > from ? sum->lane : from;
        const size_t last = sum->lane + sum->count * k->size, end = last < to ? last : to;

        if (begin < end)
            k->map2[RELN_ADD]((ptrdiff_t)((end - begin) / k->size), z + begin, 1, x + begin, 1,
                              z + begin);
    }
}

/* Returns the buffer of the sibling if both children are complete. Otherwise stores this buffer for the
 * worker that completes the sibling, and returns -1. */
static int meet(Lanes *lanes, int node, int buffer)
{
    int other;

    pthread_mutex_lock(&lanes->lock);
    other = lanes->held[node ^ 1];
    lanes->held[other < 0 ? node : node ^ 1] = other < 0 ? buffer : -1;
    pthread_mutex_unlock(&lanes->lock);
    return other;
}

static void give_back(Lanes *lanes, int buffer)
{
    pthread_mutex_lock(&lanes->lock);
    lanes->spare[lanes->n_spare++] = buffer;
    pthread_mutex_unlock(&lanes->lock);
}

static bool is_missing(const Lanes *lanes, int node)
{
    int first, end;

    reln_lanes_below(lanes, node, &first, &end);
    return first >= end;
}

/* Adds up the tree from a finished lane, as long as all lanes below the next node belong to this process. The
 * right child is added to the left one. */
void reln_lanes_end(RelnPlan *plan, const Phase *phase, int lane, int buffer)
{
    Lanes *lanes = &plan->lanes;
    int node = lanes->leaves + lane;

    for (int level = 0; level < lanes->folds && reln_lanes_own(lanes, node / 2); level++) {
        if (!is_missing(lanes, node ^ 1)) {
            const int other = meet(lanes, node, buffer);
            const int left = node % 2 == 0 ? buffer : other,
                      right = left == buffer ? other : buffer;

            if (other < 0)
                return;
            reln_lanes_add(plan, phase, 0, phase->lane_size,
                           lanes->memory + (size_t)left * lanes->size,
                           lanes->memory + (size_t)right * lanes->size);
            give_back(lanes, right);
            buffer = left;
        }
        node /= 2;
    }
    pthread_mutex_lock(&lanes->lock);
    lanes->held[node] = buffer;
    pthread_mutex_unlock(&lanes->lock);
}
