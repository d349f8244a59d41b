/* interpret.h -- computes a graph slowly and plainly: every node for the whole batch, in separate memory. */
#ifndef TESTS_PROPERTY_INTERPRET_H
#define TESTS_PROPERTY_INTERPRET_H

#include "graph/graph.h"
#include "property/tree.h"
#include "support/support.h"

/* A Batch holds the data that a plan gets by binding. */
typedef struct Batch {
    ptrdiff_t n_samples;
    const int32_t *const *rows;  /* numbers of rows, for each row domain */
    const void *const *bindings; /* by source index: doubles, or i32 for indices */
    uint64_t seed, step;
} Batch;

/* An Interpreter has no phases, no shards, no shared memory and no accumulators. A reduction is one pass over
 * all items, a call interprets the body, an alias is a copy. */
typedef struct Interpreter {
    const RelnGraph *graph;
    const Batch *batch;
    void *const *args; /* arguments of a function's body */
    ptrdiff_t items;   /* number of items in a call of a function; -1 outside of functions */
    int n, capacity;   /* nodes computed so far */
    void **values;     /* by id */
    Tree tree;
    RelnGemm gemm;
} Interpreter;

void interpret_init(Interpreter *in, const RelnGraph *graph, const Batch *batch);
void interpret_clear(Interpreter *in);
/* Computes the nodes that have been added since the last call. */
void interpret_on(Interpreter *in);
ptrdiff_t interpret_items(const Interpreter *in, RelnDomain domain);

#endif
