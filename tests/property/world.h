/* world.h -- makes a random graph with a batch of data from a seed, for the test of random graphs. */
#ifndef TESTS_PROPERTY_WORLD_H
#define TESTS_PROPERTY_WORLD_H

#include "property/interpret.h"
#include "reln/ops.h"

enum {
    WORLD_POOL = 160,
    WORLD_SOURCES = 120,
    WORLD_SAMPLES = 24,
    WORLD_FNS = 4,
    WORLD_X = 64,
    WORLD_BELOW = 4,
    WORLD_NODES = 2048
};

/* A WorldSource holds the data of an input; the data of parameters and states are in the store. */
typedef struct WorldSource {
    RelnNode *node;
    const char *name;
    ptrdiff_t items, count; /* count: elements in all */
    double *values;
    int32_t *indices;
    bool frozen; /* has no derivative: kinks and choices may depend on it */
} WorldSource;

/* A WorldFn is a function and its arguments: a feature (P, K, C), invariants (P, 1, C), weights (R = C, C),
 * shifts (C). */
typedef struct WorldFn {
    RelnFn *fn;
    int p, c, n_in, n_out;
} WorldFn;

typedef struct World {
    RelnCtx *ctx;
    RelnAlgebra *algebra;
    RelnGroup *group;
    RelnStore *store;
    RelnGraph *graph;
    const RelnRep *adjoint, *coadjoint;
    RelnRng rng;
    ptrdiff_t n_samples;
    int32_t points_of[WORLD_SAMPLES + 1], edges_of[WORLD_SAMPLES + 1];
    int32_t members_of[8 * WORLD_SAMPLES];
    RelnDomain points, edges;
    RelnDomain below[WORLD_BELOW]; /* points, in several ways */
    RelnDomain above;              /* coarser points */
    RelnNode *edge_from, *edge_to; /* i32: the points at the ends of an edge */
    int n_pool, n_sources, n_fns, n_forces, n_outputs;
    RelnNode *pool[WORLD_POOL];
    WorldSource sources[WORLD_SOURCES];
    WorldFn fns[WORLD_FNS];
    int n_known; /* number of nodes for which it is known whether they depend on frozen sources alone */
    bool frozen[WORLD_NODES];
    bool coarse; /* went through f32 somewhere */
    const int32_t *rows[TREE_DOMAINS];
    const void *bindings[WORLD_SOURCES];
    Batch batch;
    Interpreter meaning;
    /* L, its gradients g by xs; S = sum <g, v>, its gradients h. All are outputs: "L", "g0", "S", "h0" ... */
    int n_x, order;
    int x[WORLD_X], v[WORLD_X]; /* of sources */
    RelnNode *L, *S, *g[WORLD_X], *h[WORLD_X];
} World;

void world_make(World *w, uint64_t seed);
void world_clear(World *w);

#endif
