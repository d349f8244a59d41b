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

/* A RelnDims holds the extents of one item. 0 counts as 1, so unused axes may be left out. */
typedef struct RelnDims {
    int p, q, r, k, c;
} RelnDims;

/* A RelnWindow describes windows along an axis, for convolutions and pools. Window t covers the points
 * stride t + dilation i - before, i = 0 to width - 1; points outside of the axis are padding. `before` and `after` are
 * the points of padding at the beginning and at the end. An axis of P points has this many windows:
 *     (P + before + after - dilation (width - 1) - 1) / stride + 1, rounded down.
 * A stride or dilation of 0 counts as 1. reln_window_valid(), _same() and _causal() make the usual windows. */
typedef struct RelnWindow {
    int width, stride, dilation, before, after;
} RelnWindow;

typedef int RelnDomain;
enum { RELN_STEP = 0, RELN_SAMPLES = 1 };

/* ---- parameters and state --------------------------------------------------------------------------------- */

/* Creates a store: named arrays that outlive a graph (parameters, running statistics, moments of optimisers).
 * Graphs that use one store share its arrays by name, so a model that is built for training and again for
 * evaluation has one set of weights. All graphs of a store must have the same generators, because an array
 * that one graph writes as invariant is read as invariant by the others. Caller destroys *out. */
RELN_API RelnStatus reln_store_create(RelnCtx *ctx, uint64_t seed, RelnStore **out);
RELN_API void reln_store_destroy(RelnStore *store); /* NULL is fine */

typedef enum RelnEntryKind {
    RELN_ENTRY_PARAM, /* a weight of the network */
    RELN_ENTRY_STATE, /* a state of the network: running statistics */
    RELN_ENTRY_MOMENT /* a state of an optimiser; a trained network does not need it */
} RelnEntryKind;

typedef struct RelnEntryInfo {
    const char *name;
    RelnDtype dtype;
    RelnDims dims;
    size_t count; /* number of elements */
    RelnEntryKind kind;
    bool trained; /* true for a parameter that an optimiser of some graph changes */
    void *values; /* borrowed; the caller may read and write them between runs */
} RelnEntryInfo;
RELN_API int reln_store_count(const RelnStore *store);
RELN_API RelnEntryInfo reln_store_entry(const RelnStore *store, int index);
/* Returns false when the store has no entry of that name. */
RELN_API bool reln_store_find(const RelnStore *store, const char *name, RelnEntryInfo *out);
/* Returns the entry as an array (P, Q, R, K, C). Its name and values are borrowed from the store. */
RELN_API RelnArray reln_entry_array(const RelnEntryInfo *entry);
/* Returns the number of elements of all parameters. */
RELN_API size_t reln_store_parameters(const RelnStore *store);

/* A RelnInit says how starting values are drawn. They depend on (store seed, name, element) alone, not on the
 * other entries of the store. */
typedef struct RelnInit {
    enum { RELN_INIT_CONSTANT, RELN_INIT_UNIFORM, RELN_INIT_NORMAL } kind;
    double scale; /* the constant; the bound a of U(-a, a); the standard deviation */
} RelnInit;

/* ---- graphs ----------------------------------------------------------------------------------------------- */

/* Creates a graph for one symmetry; `dtype` is the default number type of its nodes. Group and store must
 * outlive the graph. Caller destroys *out. */
RELN_API RelnStatus reln_graph_create(RelnGroup *group, RelnStore *store, RelnDtype dtype,
                                      RelnGraph **out);
RELN_API void reln_graph_destroy(RelnGraph *graph); /* NULL is fine */
RELN_API RelnCtx *reln_graph_ctx(const RelnGraph *graph);
RELN_API RelnGroup *reln_graph_group(const RelnGraph *graph);
RELN_API RelnStore *reln_graph_store(const RelnGraph *graph);
RELN_API RelnDtype reln_graph_dtype(const RelnGraph *graph);
/* Returns RELN_OK, or the first error of building; its message is put into the context. */
RELN_API RelnStatus reln_graph_status(const RelnGraph *graph);
RELN_API int reln_graph_size(const RelnGraph *graph); /* number of nodes */

/* ---- row domains ------------------------------------------------------------------------------------------ */

/* Items that belong to one item of the parent domain are adjacent in memory. reln_spread() copies a value of
 * the parent to its children; reln_reduce() adds up the children. Any other way from one domain of a sample
 * to another needs an index and reln_gather().
 *
 * The functions below return the existing domain if they are called again with the same name and arguments.
 * Inside a function body, they return domains of the graph in which the function was begun. On failure they
 * return RELN_STEP, and reln_graph_status() has the message. */

/* Rows of the samples, for sets of different size. `capacity` is the largest number of rows that are
 * processed together, and so the size of the largest set that is accepted. Bind the number of rows of each
 * sample with reln_plan_bind_rows(). */
RELN_API RelnDomain reln_rows(RelnGraph *graph, const char *name, int capacity);
/* A variable number of children for each item of a row domain: given neighbours of a row, members of a group.
 * Bind the number of children of each parent item; `most` is the largest such number, and `capacity` is the
 * largest number of children that are processed together. */
RELN_API RelnDomain reln_members(RelnGraph *graph, const char *name, RelnDomain parent, int most,
                                 int capacity);
/* Exactly `count` children of every item of the parent, which may be RELN_SAMPLES: the k nearest rows, groups
 * of equal size. Nothing needs to be bound. */
RELN_API RelnDomain reln_fixed(RelnGraph *graph, const char *name, RelnDomain parent, int count);
/* All pairs (i, j) of a row of `first`, which is the parent, and a row of `second` in the same sample; j
 * runs fastest. If first = second and `self` is false, the pairs (i, i) are left out. Nothing needs to be
 * bound. */
RELN_API RelnDomain reln_pairs(RelnGraph *graph, const char *name, RelnDomain first,
                               RelnDomain second, bool self);
/* Rows of a coarser resolution, for pooling: one for each `stride` rows of `fine` in a sample; the last one
 * may cover fewer. The new domain is a second parent of `fine`. */
RELN_API RelnDomain reln_coarse(RelnGraph *graph, const char *name, RelnDomain fine, int stride);

/* Returns an i32 node of domain `rows`: the item of `ancestor` that each row belongs to. RELN_SAMPLES is an
 * ancestor of all rows. */
RELN_API RelnNode *reln_row_parent(RelnGraph *graph, RelnDomain rows, RelnDomain ancestor);
/* Returns an i32 node: the second row of each pair. reln_row_parent() returns the first. */
RELN_API RelnNode *reln_pair_second(RelnGraph *graph, RelnDomain pairs);
/* Equals reln_row_parent(graph, rows, RELN_SAMPLES). */
RELN_API RelnNode *reln_row_sample(RelnGraph *graph, RelnDomain rows);

/* ---- sources and results ---------------------------------------------------------------------------------- */

/* Sources are nodes without inputs. A NULL rep means invariants. Names are unique within a graph; asking
 * again for a parameter or state of the same name returns the same node. */
RELN_API RelnNode *reln_input(RelnGraph *graph, const char *name, RelnDomain domain, RelnDims dims,
                              const RelnRep *rep, RelnDtype dtype);
/* Declares an input of i32 indices in [0, limit); every run checks the values. If `target` is a row domain, a
 * value counts rows within its own sample, and the limit is the sample's number of rows. Otherwise `target`
 * is RELN_STEP, and `limit` is used. */
RELN_API RelnNode *reln_input_index(RelnGraph *graph, const char *name, RelnDomain domain,
                                    RelnDims dims, RelnDomain target, int limit);
RELN_API RelnNode *reln_param(RelnGraph *graph, const char *name, RelnDims dims, RelnInit init);
RELN_API RelnNode *reln_state(RelnGraph *graph, const char *name, RelnDims dims, RelnInit init);
/* Adds a constant, which must be finite. A constant of a rep must be fixed by the group: the identity matrix
 * in gl(n), the axis of a rotation group. Values that are fixed within the tolerance, but not within
 * rounding, are replaced by the nearest fixed values. */
RELN_API RelnNode *reln_const(RelnGraph *graph, RelnDims dims, const RelnRep *rep,
                              const double *values);
RELN_API RelnNode *reln_scalar(RelnGraph *graph, double value);
/* Returns the number of samples of the batch, at step level. */
RELN_API RelnNode *reln_batch_count(RelnGraph *graph);

/* Declares an output of the plan: reln_plan_output() reads its values after a run. */
RELN_API void reln_output(RelnGraph *graph, const char *name, RelnNode *node);
/* Stores `value` in `state` at the end of each run. `value` must be invariant, RELN_ERR_REP otherwise. */
RELN_API void reln_assign(RelnGraph *graph, RelnNode *state, RelnNode *value);

RELN_API RelnDims reln_node_dims(const RelnNode *node);
RELN_API const RelnRep *reln_node_rep(const RelnNode *node);
RELN_API RelnDomain reln_node_domain(const RelnNode *node);
RELN_API RelnDtype reln_node_dtype(const RelnNode *node);
RELN_API RelnGraph *reln_node_graph(const RelnNode *node);
/* Returns the name of a parameter, state or input; "" for a computed node. */
RELN_API const char *reln_node_name(const RelnNode *node);
/* Returns a parameter of the graph, in the order of their first use; NULL past the last. */
RELN_API RelnNode *reln_graph_param(const RelnGraph *graph, int index);

/* ---- derivatives ------------------------------------------------------------------------------------------ */

/* Computes the gradient of y with respect to each of xs. y must have one invariant number per item; its items
 * are summed. out[i] has the shape of xs[i] and the dual rep, and is a zero node where y does not depend on
 * xs[i]. The gradient is made of the same ops, so it can be differentiated again. Returns false on failure;
 * the message is in the graph. */
RELN_API bool reln_grad(RelnGraph *graph, RelnNode *y, int n, RelnNode *const *xs, RelnNode **out);

/* Computes the general vector-Jacobian product: out[i] = sum_j <cotangents[j], d ys[j] / d xs[i]>. A NULL
 * cotangent counts as 0. */
RELN_API bool reln_vjp(RelnGraph *graph, int n_y, RelnNode *const *ys, RelnNode *const *cotangents,
                       int n_x, RelnNode *const *xs, RelnNode **out);

/* ---- functions -------------------------------------------------------------------------------------------- */

/* A RelnFn is a subgraph that is planned once and called many times, in shared scratch memory. Its gradient
 * is a call of the differentiated subgraph, which recomputes from the inputs: no inner value is kept between
 * the call and its gradient.
 *
 * If all arguments are of RELN_SAMPLES and the function has no nodes of row domains, it works on single items
 * and can be called in any domain. Otherwise the domains inside the function are the real ones, and its
 * arguments must have the domains that were declared. */
typedef struct RelnFn RelnFn;

/* Begins a function and returns its body, a separate graph. Declare its arguments in order with
 * reln_argument(), build, and close it with reln_fn_end(). Nodes of the outer graph may be used inside: each
 * becomes one more argument, which every call fills in; so do parameters and inputs that are declared inside.
 * A function belongs to the graph in which it was begun. A result at step level must be a sum over the batch,
 * or a sum of such sums. A function ends once; after its end nothing can be added to its body: RELN_ERR_ARG. */
RELN_API RelnGraph *reln_fn_begin(RelnGraph *graph, const char *name);
RELN_API RelnNode *reln_argument(RelnGraph *body, RelnDomain domain, RelnDims dims,
                                 const RelnRep *rep, RelnDtype dtype);
RELN_API RelnFn *reln_fn_end(RelnGraph *body, int n_out, RelnNode *const *outs);
/* Writes the results to out[0 .. n_out-1]. Returns false on failure. */
RELN_API bool reln_call(RelnGraph *graph, RelnFn *fn, int n_in, RelnNode *const *in,
                        RelnNode **out);

/* ---- seeing inside ---------------------------------------------------------------------------------------- */

/* Begins and ends a scope, a named part of a network. Nodes that are made between the two calls belong to it;
 * messages, prints and reln_graph_find() show its name. Scopes nest. Every layer of nn.h is a scope:
 * reln_nn_relu() named "one" is "one.relu". */
RELN_API void reln_scope_begin(RelnGraph *graph, const char *name);
RELN_API void reln_scope_end(RelnGraph *graph);

/* Finds a node by name, for example to make it an output. The name is one of
 *   an input, parameter or state;
 *   an output;
 *   a layer or scope, "one.relu" or with the scopes around it "encoder/one.relu": gives the last node made in it;
 *   "#57", the number that prints show.
 * Returns NULL when there is none; the context's message then suggests the nearest name. */
RELN_API RelnNode *reln_graph_find(const RelnGraph *graph, const char *name);

/* A RelnPrint says how a graph is printed. `put` receives the text piece by piece. */
typedef struct RelnPrint {
    void (*put)(void *self, const char *text);
    void *self;
    bool dot;         /* text for Graphviz (`dot -Tsvg`) instead of a table */
    bool layers;      /* one line or box for each layer or scope instead of each node */
    bool derivatives; /* include the nodes of derivatives and optimisers */
} RelnPrint;
/* Prints the nodes of a graph with shape, rep, cost, inputs and layer. The cost counts multiplications and
 * additions for one item; B in a shape stands for the samples of the batch. A graph that has failed is
 * printed as far as it was built.
 *   Fails   RELN_ERR_ARG without `put`, RELN_ERR_NOMEM */
RELN_API RelnStatus reln_graph_print(const RelnGraph *graph, const RelnPrint *how);

#ifdef __cplusplus
}
#endif

#endif
