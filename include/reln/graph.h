/* graph.h -- networks as typed graphs: built once, differentiated as often as wanted.
 *
 *     RelnGraph *g = NULL;
 *     reln_graph_create(group, store, RELN_F64, &g);
 *     RelnNode *x = reln_input(g, "x", RELN_SAMPLES, (RelnDims){1, 1, 1, 9, 2}, adjoint, RELN_DEFAULT);
 *     RelnNode *w = reln_param(g, "w", (RelnDims){1, 1, 2, 1, 16}, init);
 *     RelnNode *h = reln_mix(g, x, w);                                        // 16 channels
 *     RelnNode *y = reln_form(g, algebra, RELN_FORM_COMPLETED, h, h);         // 16 invariants
 *     reln_output(g, "y", y);
 *
 * A node is an array of items. An item has five axes (P, Q, R, K, C): three free leading axes (points, heads,
 * neighbours ...), the K coordinates of a rep, and C channels, which are contiguous. How many items there are, and
 * what one stands for, is the node's domain: RELN_STEP (one item: parameters, constants, reduced values),
 * RELN_SAMPLES (one per sample of the batch), or a row domain. Row domains are a tree: rows of a sample (sets of
 * different size), members of a group, pairs of rows; see below.
 *
 * Numbers are f32 or f64 (RELN_DEFAULT is the graph's own); i32 nodes carry indices, no gradient and no rep.
 *
 * Each node has a rep, and every builder checks that what it makes respects the symmetry; the first thing that does
 * not is an error that names the op, the reps and the generator. Builders return NULL then, NULL passes through all
 * of them, and the plan reports it: formulas read as formulas. The ops themselves are in ops.h.
 */
#ifndef RELN_GRAPH_H
#define RELN_GRAPH_H

#include "reln/rep.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RelnGraph RelnGraph;
typedef struct RelnNode RelnNode;
typedef struct RelnStore RelnStore;

typedef enum RelnAxis { RELN_P, RELN_Q, RELN_R, RELN_K, RELN_C, RELN_AXES } RelnAxis;

/* Extents of one item. 0 counts as 1, so unused axes may be left out. */
typedef struct RelnDims {
    int p, q, r, k, c;
} RelnDims;

typedef int RelnDomain;
enum { RELN_STEP = 0, RELN_SAMPLES = 1 };

/* ---- parameters and state --------------------------------------------------------------------------------- */

/* Named arrays that outlive a graph: parameters, running statistics, moments. Graphs that use one store share them
 * by name: a model built for training and again for evaluation has one set of weights. All graphs of a store have the
 * same generators, since what one writes as invariant another reads as invariant. Caller destroys. */
RELN_API RelnStatus reln_store_create(RelnCtx *ctx, uint64_t seed, RelnStore **out);
RELN_API void reln_store_destroy(RelnStore *store); /* NULL is fine */

typedef enum RelnEntryKind {
    RELN_ENTRY_PARAM, /* a weight of the network */
    RELN_ENTRY_STATE, /* of the network: running statistics */
    RELN_ENTRY_MOMENT /* of an optimiser: a trained network does without it */
} RelnEntryKind;

typedef struct RelnEntryInfo {
    const char *name;
    RelnDtype dtype;
    RelnDims dims;
    size_t count; /* elements */
    RelnEntryKind kind;
    bool trained; /* a parameter that an optimiser of some graph changes */
    void *values; /* borrowed: read and write between runs */
} RelnEntryInfo;
RELN_API int reln_store_count(const RelnStore *store);
RELN_API RelnEntryInfo reln_store_entry(const RelnStore *store, int index);
/* False when there is no such name. */
RELN_API bool reln_store_find(const RelnStore *store, const char *name, RelnEntryInfo *out);
/* The entry as an array (P, Q, R, K, C), with the store's own name and values. */
RELN_API RelnArray reln_entry_array(const RelnEntryInfo *entry);
/* Number of elements of parameters. */
RELN_API size_t reln_store_parameters(const RelnStore *store);

/* Starting values, drawn from (store seed, name, element): the same whatever else the store holds. */
typedef struct RelnInit {
    enum { RELN_INIT_CONSTANT, RELN_INIT_UNIFORM, RELN_INIT_NORMAL } kind;
    double scale; /* the constant; the bound a of U(-a, a); the standard deviation */
} RelnInit;

/* ---- graphs ----------------------------------------------------------------------------------------------- */

/* For one symmetry; dtype is the default of its nodes. Group and store must outlive it. Caller destroys. */
RELN_API RelnStatus reln_graph_create(RelnGroup *group, RelnStore *store, RelnDtype dtype,
                                      RelnGraph **out);
RELN_API void reln_graph_destroy(RelnGraph *graph); /* NULL is fine */
RELN_API RelnCtx *reln_graph_ctx(const RelnGraph *graph);
RELN_API RelnGroup *reln_graph_group(const RelnGraph *graph);
RELN_API RelnStore *reln_graph_store(const RelnGraph *graph);
RELN_API RelnDtype reln_graph_dtype(const RelnGraph *graph);
/* RELN_OK, or the first error of building with its message put into the context. */
RELN_API RelnStatus reln_graph_status(const RelnGraph *graph);
RELN_API int reln_graph_size(const RelnGraph *graph); /* number of nodes */

/* ---- row domains ------------------------------------------------------------------------------------------ */

/* Items of a domain that belong to one item of its parent lie one behind the other. So a value of the parent is brought
 * to its children by reln_spread(), and children are added up by reln_reduce(); any other way from one domain of a
 * sample to another takes an index and reln_gather(). A domain asked for again is the same one; inside a function the
 * domains are those of the graph that it belongs to. RELN_STEP when something fails: the message is the graph's. */

/* Sets of different size: rows of the samples. `capacity` is the most rows that are processed together, and so the
 * largest set that is accepted. Their numbers are bound with reln_plan_bind_rows(), one for each sample. */
RELN_API RelnDomain reln_rows(RelnGraph *graph, const char *name, int capacity);
/* The same below any row domain: given neighbours of a row, members of a group. The numbers that are bound are one for
 * each item of the parent, `most` is the largest, and `capacity` what is processed together. */
RELN_API RelnDomain reln_members(RelnGraph *graph, const char *name, RelnDomain parent, int most,
                                 int capacity);
/* `count` children of every item of the parent, which may be RELN_SAMPLES: k nearest rows, groups of equal size. Nothing
 * is bound. */
RELN_API RelnDomain reln_fixed(RelnGraph *graph, const char *name, RelnDomain parent, int count);
/* All pairs (i, j) of a row of `first`, which is the parent, and a row of `second` in the same sample, j running fastest.
 * With first = second and without `self`, the pairs (i, i) are left out. Nothing is bound. */
RELN_API RelnDomain reln_pairs(RelnGraph *graph, const char *name, RelnDomain first,
                               RelnDomain second, bool self);
/* Rows of a coarser resolution: one for each `stride` rows of `fine` in a sample, the last of them for what is left. It
 * is a second parent of `fine`, for pooling. */
RELN_API RelnDomain reln_coarse(RelnGraph *graph, const char *name, RelnDomain fine, int stride);

/* i32: the item of `ancestor` that each row belongs to; RELN_SAMPLES is an ancestor of all rows. */
RELN_API RelnNode *reln_row_parent(RelnGraph *graph, RelnDomain rows, RelnDomain ancestor);
/* i32: the second row of each pair, as reln_row_parent() gives the first. */
RELN_API RelnNode *reln_pair_second(RelnGraph *graph, RelnDomain pairs);
/* reln_row_parent(graph, rows, RELN_SAMPLES). */
RELN_API RelnNode *reln_row_sample(RelnGraph *graph, RelnDomain rows);

/* ---- sources and results ---------------------------------------------------------------------------------- */

/* Sources. A NULL rep is invariants. Names are unique within a graph, except that a parameter or state asked for
 * again is the same node. */
RELN_API RelnNode *reln_input(RelnGraph *graph, const char *name, RelnDomain domain, RelnDims dims,
                              const RelnRep *rep, RelnDtype dtype);
/* i32 indices. Values must be in [0, limit), checked by every run. With a row domain as `target`, a value
 * counts within the rows of its own sample, and limit is that sample's number of rows; otherwise target is RELN_STEP
 * and the limit is given. */
RELN_API RelnNode *reln_input_index(RelnGraph *graph, const char *name, RelnDomain domain,
                                    RelnDims dims, RelnDomain target, int limit);
RELN_API RelnNode *reln_param(RelnGraph *graph, const char *name, RelnDims dims, RelnInit init);
RELN_API RelnNode *reln_state(RelnGraph *graph, const char *name, RelnDims dims, RelnInit init);
/* Constants are finite. Those of a rep must be fixed by the group: the identity matrix in gl(n), the axis of a rotation
 * group. Within tolerance of that, but not within rounding, they become the nearest fixed values. */
RELN_API RelnNode *reln_const(RelnGraph *graph, RelnDims dims, const RelnRep *rep,
                              const double *values);
RELN_API RelnNode *reln_scalar(RelnGraph *graph, double value);
/* Number of samples of the batch, at step level. */
RELN_API RelnNode *reln_batch_count(RelnGraph *graph);

/* What a plan must deliver: read with reln_plan_output() after a run. */
RELN_API void reln_output(RelnGraph *graph, const char *name, RelnNode *node);
/* At the end of a run, state becomes value, which must be invariant: RELN_ERR_REP otherwise. */
RELN_API void reln_assign(RelnGraph *graph, RelnNode *state, RelnNode *value);

RELN_API RelnDims reln_node_dims(const RelnNode *node);
RELN_API const RelnRep *reln_node_rep(const RelnNode *node);
RELN_API RelnDomain reln_node_domain(const RelnNode *node);
RELN_API RelnDtype reln_node_dtype(const RelnNode *node);
RELN_API RelnGraph *reln_node_graph(const RelnNode *node);
/* Of a parameter, state or input; "" for what is computed. */
RELN_API const char *reln_node_name(const RelnNode *node);
/* The parameters of a graph in the order they were asked for; NULL past the last. */
RELN_API RelnNode *reln_graph_param(const RelnGraph *graph, int index);

/* ---- derivatives ------------------------------------------------------------------------------------------ */

/* Gradient of y, one invariant number per item, summed over its items, with respect to each of xs: nodes of the same
 * shape as xs[i] in the dual rep. It is made of the same ops, so it can be differentiated again. out[i] is a zero
 * node where y does not depend on xs[i]. False when something fails; the message is the graph's. */
RELN_API bool reln_grad(RelnGraph *graph, RelnNode *y, int n, RelnNode *const *xs, RelnNode **out);

/* The general one: out[i] = sum_j <cotangents[j], d ys[j] / d xs[i]>. NULL cotangents are left out. */
RELN_API bool reln_vjp(RelnGraph *graph, int n_y, RelnNode *const *ys, RelnNode *const *cotangents,
                       int n_x, RelnNode *const *xs, RelnNode **out);

/* ---- functions -------------------------------------------------------------------------------------------- */

/* A subgraph that is planned once and called often, in shared scratch memory; its gradient is a call of the
 * differentiated subgraph, which recomputes from the inputs: between the call and its gradient nothing of it is kept.
 *
 * A function with arguments of RELN_SAMPLES and without nodes of row domains works on single items, of whatever domain it
 * is called in. Any other works on the samples themselves, and everything in it is of the domain that it says. */
typedef struct RelnFn RelnFn;

/* Begin one: a graph of its own. Declare its arguments in order with reln_argument(), build, and close it with
 * reln_fn_end(). Nodes of the graph around it may be used as they are: each becomes one more argument, which every call
 * fills in; so do parameters and inputs that are asked for inside. Functions belong to the graph they are begun in.
 * A result at step level is a sum over the batch, or a sum of such sums. */
RELN_API RelnGraph *reln_fn_begin(RelnGraph *graph, const char *name);
RELN_API RelnNode *reln_argument(RelnGraph *body, RelnDomain domain, RelnDims dims,
                                 const RelnRep *rep, RelnDtype dtype);
RELN_API RelnFn *reln_fn_end(RelnGraph *body, int n_out, RelnNode *const *outs);
/* Results into out[0 .. n_out-1]. False when something fails. */
RELN_API bool reln_call(RelnGraph *graph, RelnFn *fn, int n_in, RelnNode *const *in,
                        RelnNode **out);

#ifdef __cplusplus
}
#endif

#endif
