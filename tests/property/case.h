/* case.h -- one sample graph of an op, with data, ready to run; the property tests share it. */
#ifndef TESTS_PROPERTY_CASE_H
#define TESTS_PROPERTY_CASE_H

#include "graph/graph.h"
#include "reln/plan.h"
#include "support/support.h"

enum { CASE_MAX = 2 * RELN_SAMPLE_INPUTS + 2, CASE_SAMPLES = 7 };

/* Binds the row domains of a case for the samples from `first` on; one of the sets is empty. */
void case_bind_rows(RelnCtx *ctx, const RelnGraph *graph, RelnPlan *plan, ptrdiff_t first);

/* An array bound to an input. */
typedef struct Data {
    char name[16];
    const RelnNode *node;
    ptrdiff_t items, count; /* count: elements in all */
    double *values;
    int32_t *indices;
} Data;

/* The graph of a case: z; L = sum <z, r>; gradients g_i of L; S = sum <g_i, v_i>; gradients h_i of S. */
typedef struct Case {
    RelnCtx *ctx;
    RelnAlgebra *algebra;
    RelnGroup *group;
    RelnStore *store;
    RelnGraph *graph;
    RelnNode *z;
    RelnSampler sampler;
    RelnPlan *plan;
    int n_data;
    Data data[CASE_MAX];
    int n_x; /* number of float inputs of the op: data[x[i]] */
    int x[RELN_SAMPLE_INPUTS], v[RELN_SAMPLE_INPUTS];
    int r;        /* data index of the cotangent, -1 for indices */
    bool reduces; /* the graph has sums over the batch */
} Case;

typedef struct CaseOptions {
    RelnDtype dtype;
    int order;   /* 0: z alone, 1: gradients too, 2: second order */
    bool called; /* the op in a function, and z a call of it */
    bool all;    /* every node is an output, "n0", "n1" ... by its number */
    bool
        island; /* derivatives are built in a graph whose default dtype is f32, whatever the dtype of the op is */
    RelnPlanOptions plan;
} CaseOptions;

/* Makes a case; returns false when the op has no case of this index. Data depend on the op's name, the index
 * and the algebra only. */
bool case_make(Case *c, const RelnOp *op, int index, const char *algebra, CaseOptions options);
void case_clear(Case *c);
void case_run(Case *c, ptrdiff_t n_samples);

/* Copies an output as doubles to `out`, which has room for `count`. */
void case_output(const Case *c, const char *name, ptrdiff_t count, double *out);
ptrdiff_t case_items(const RelnNode *x, ptrdiff_t n_samples);
ptrdiff_t case_count(const RelnNode *x, ptrdiff_t n_samples); /* elements for n samples */

#endif
