/* graph.h -- the internals of graphs and stores, for the files of this module. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "graph/op.h"

/* ---- lists ---------------------------------------------------------------------------------------------------- */

/* A growing array in an arena. */
#define RELN_LIST(type)                                                                            \
    struct {                                                                                       \
        type *items;                                                                               \
        int count, capacity;                                                                       \
    }

/* Makes room for one more item in a list; returns false when there is no memory. */
bool reln_list_grow(RelnArena *arena, void **items, int count, int *capacity, size_t size);
#define RELN_LIST_ADD(arena, list, value)                                                          \
    (reln_list_grow((arena), (void **)&(list)->items, (list)->count, &(list)->capacity,            \
                    sizeof *(list)->items)                                                         \
         ? ((list)->items[(list)->count++] = (value), true)                                        \
         : false)

/* ---- stores --------------------------------------------------------------------------------------------------- */

typedef struct RelnStoreEntry {
    char *name;
    RelnShape shape;
    RelnDtype dtype;
    RelnEntryKind kind;
    bool trained;
    size_t count;
    void *values;
} RelnStoreEntry;

struct RelnStore {
    RelnCtx *ctx;
    RelnArena arena;
    uint64_t seed;
    uint64_t group; /* hash of the generators of the graphs that use it; 0: not used yet */
    RELN_LIST(RelnStoreEntry *) entries;
};

/* Finds or makes an entry. A name that exists must have the same shape, dtype and kind. */
RelnStatus reln_store_get(RelnStore *store, const char *name, const RelnShape *shape,
                          RelnDtype dtype, RelnEntryKind kind, RelnInit init, RelnStoreEntry **out);

/* ---- graphs --------------------------------------------------------------------------------------------------- */

typedef enum RelnRowKind {
    RELN_ROWS_COUNTED, /* the number below each item of the parent is bound for each run */
    RELN_ROWS_FIXED,   /* the same number below each item of the parent */
    RELN_ROWS_PAIRS,   /* one row for each row of `second` in the sample */
    RELN_ROWS_COARSE   /* one row for each `most` rows of `second`, which is its child */
} RelnRowKind;

typedef struct RelnRowDomain {
    char *name;
    RelnRowKind kind;
    RelnDomain parent;
    RelnDomain second; /* pairs: the other end; coarse: the finer rows */
    int most; /* counted: the largest number below one item of the parent; fixed: the number; coarse: the
                   * stride */
    bool self;    /* pairs: whether (i, i) are included */
    int capacity; /* counted: the largest number processed together */
} RelnRowDomain;

typedef struct RelnNamedNode {
    char *name;
    RelnNode *node;
} RelnNamedNode;

typedef struct RelnAssign {
    RelnNode *state, *value;
} RelnAssign;

typedef struct RelnSettled RelnSettled;

/* A RelnScope is a named part of a network: a layer, or the nodes made between reln_scope_begin() and
 * reln_scope_end(). */
struct RelnScope {
    const RelnScope *parent; /* NULL: outermost */
    const char *name;
};

/* Writes the path of a scope, outermost name first: "encoder/one.relu". */
void reln_scope_text(const RelnScope *scope, char *text, size_t size);

/* A RelnChecked records a check of a constant tensor that has already been made. */
typedef struct RelnChecked {
    const RelnTensor3 *t;
    const RelnTensor3 *given; /* the tensor that t was settled from; NULL: only checked */
    const RelnRep *u, *v, *w;
    const struct RelnSettled
        *settled; /* its exact form: rep/settle.h; NULL: the tensor was made by a gradient */
} RelnChecked;

struct RelnGraph {
    RelnCtx *ctx;
    RelnGroup *group;
    RelnStore *store;
    uint64_t group_hash; /* hash of the generators; 0 until asked for */
    RelnDtype dtype;
    RelnArena arena;
    RelnStatus status;
    char message[512];
    RELN_LIST(RelnNode *) nodes;
    RELN_LIST(RelnRowDomain) rows;
    RELN_LIST(RelnNamedNode) sources; /* inputs, parameters, state: by name */
    RELN_LIST(RelnNamedNode) outputs;
    RELN_LIST(RelnAssign) assigns;
    RELN_LIST(RelnNode *) effects;
    RELN_LIST(RelnNode *) arguments; /* of a function's body */
    RELN_LIST(RelnNode *)
    captured; /* for each argument: the outer node that it stands for; NULL: declared */
    RELN_LIST(const RelnTensor3 *) tensors;
    RELN_LIST(RelnChecked) checked;
    RELN_LIST(RelnFn *) fns;
    RelnNode **table; /* hash table of nodes by contents, with open addressing */
    int table_size;
    uint64_t keys;     /* number of keys given to random nodes so far */
    RelnGraph *parent; /* for a function's body: the graph it was begun in */
    RelnFn *fn;
    const char *name;
    const RelnScope *scope; /* scope of the nodes that are being made; NULL: none */
    bool deriving;          /* reln_vjp() is making nodes */
    bool ended;             /* a function's body: calls rely on its arguments and results */
};

/* Appends to a list of a graph; on failure, returns false and the graph has failed. */
#define RELN_GRAPH_ADD(g, list, value)                                                             \
    (RELN_LIST_ADD(&(g)->arena, list, value) || reln_graph_nomem(g))

/* Returns the node whose memory x uses. */
const RelnNode *reln_storage(const RelnNode *x);
/* Largest number of items of a domain in one shard of `shard` samples. */
ptrdiff_t reln_domain_capacity(const RelnGraph *g, RelnDomain domain, ptrdiff_t shard);
/* Largest number of items below one item of the parent. */
ptrdiff_t reln_domain_below(const RelnGraph *g, RelnDomain domain);
const RelnRowDomain *reln_row_domain(const RelnGraph *g, RelnDomain domain);
int reln_domain_count(const RelnGraph *g); /* including the step and samples */
/* Returns whether the items of `domain` that belong to one item of `ancestor` are adjacent in memory. */
bool reln_domain_is_above(const RelnGraph *g, RelnDomain ancestor, RelnDomain domain);

/* ---- sources -------------------------------------------------------------------------------------------------- */

typedef struct RelnSourceAttr {
    int index;         /* index of the name among the graph's sources, or -1 */
    RelnDomain target; /* for indices: the domain that they point into */
    int limit;
} RelnSourceAttr;

extern const RelnOp reln_op_input, reln_op_index_input, reln_op_param, reln_op_state, reln_op_const,
    reln_op_argument, reln_op_batch_count, reln_op_row_index, reln_op_call, reln_op_result;

/* Attribute of row_index: the end of each item of a domain that it numbers. */
typedef struct RelnRowIndexAttr {
    RelnDomain domain;
    RelnDomain target;
    int second; /* 1: the second row of a pair */
} RelnRowIndexAttr;

typedef struct RelnParamAttr {
    RelnStoreEntry *entry;
} RelnParamAttr;
typedef struct RelnConstAttr {
    const double *values; /* in the graph's arena, one for each element; interned by contents */
} RelnConstAttr;

/* ---- functions ------------------------------------------------------------------------------------------------ */

typedef struct RelnFnVjp {
    const bool *wanted; /* arguments whose cotangents are wanted */
    const bool *given;  /* results whose cotangents are given */
    RelnFn *fn;
} RelnFnVjp;

struct RelnFn {
    RelnGraph *home; /* the outermost graph, which owns all functions, including derived ones */
    RelnGraph *body;
    int n_in, n_out;
    RelnNode **in, **out;
    RelnNode **captured; /* by argument: the node of every call; NULL: the caller passes one */
    bool placed;         /* its samples are those of the batch, not the items it is called for */
    RELN_LIST(RelnFnVjp) vjps;
};

typedef struct RelnCallAttr {
    RelnFn *fn;
} RelnCallAttr;
typedef struct RelnResultAttr {
    int index;
} RelnResultAttr;

/* Computes the cotangents of a call's arguments from the cotangents of its results (NULL where there is
 * none); depends[id] says which arguments need one. */
void reln_call_vjp(RelnGraph *g, const RelnNode *z, RelnNode *const *cot, int n_cot,
                   const bool *depends, RelnNode **gin);

RelnGraph *reln_graph_home(RelnGraph *g);
const RelnGraph *reln_graph_home_of(const RelnGraph *g);
/* Returns x, a node of a graph around g, as an argument of g's function; x itself if it belongs to g; NULL
 * with g failed. */
RelnNode *reln_capture(RelnGraph *g, RelnNode *x);
/* Returns NULL with the error recorded in the context. */
RelnGraph *reln_graph_new(RelnCtx *ctx, RelnGroup *group, RelnStore *store, RelnDtype dtype);

#endif
