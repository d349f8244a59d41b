/* interpret.h -- what a graph means, computed slowly: every node for the whole batch, in memory of its own. */
#ifndef TESTS_PROPERTY_INTERPRET_H
#define TESTS_PROPERTY_INTERPRET_H

#include "graph/graph.h"
#include "property/tree.h"
#include "support/support.h"

/* A batch: what a plan gets by binding. */
typedef struct Batch {
    ptrdiff_t n_samples;
    const int32_t *const *rows;  /* by row domain: what a plan is bound to */
    const void *const *bindings; /* by source index: doubles, or i32 for indices */
    uint64_t seed, step;
} Batch;

/* No planner: no phases, no shards, no shared memory, no accumulators. A reduction is one pass over all items, a call
 * interprets the body, an alias is a copy. */
typedef struct Interpreter {
    const RelnGraph *graph;
    const Batch *batch;
    void *const *args; /* of a function's body */
    ptrdiff_t items;   /* of a function's samples; -1 outside of functions */
    int n, capacity;   /* nodes computed so far */
    void **values;     /* by id */
    Tree tree;
    RelnGemm gemm;
} Interpreter;

void interpret_init(Interpreter *in, const RelnGraph *graph, const Batch *batch);
void interpret_clear(Interpreter *in);
/* Compute the nodes that have been made since the last time. */
void interpret_on(Interpreter *in);
ptrdiff_t interpret_items(const Interpreter *in, RelnDomain domain);

#endif
