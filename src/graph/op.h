/* op.h -- the definition of an op, and declarations that an op's file needs: nodes, builders, typing, execution. */
#ifndef GRAPH_OP_H
#define GRAPH_OP_H

#include "base/base.h"
#include "reln/graph.h"
#include "tensor/gemm.h"
#include "tensor/kernels.h"

typedef struct RelnOp RelnOp;
typedef struct RelnExec RelnExec;
typedef struct RelnSampler RelnSampler;
typedef struct RelnScope RelnScope;

/* A RelnShape holds the extents of one item, by axis. */
typedef struct RelnShape {
    int dims[RELN_AXES];
} RelnShape;

struct RelnNode {
    const RelnOp *op;
    RelnGraph *graph;
    RelnNode **in;
    int n_in;
    int id; /* position in the graph; inputs have smaller ids than their readers */
    RelnShape shape;
    RelnDomain domain;
    RelnDtype dtype;
    RelnDomain target;  /* for i32: the domain whose items are numbered; RELN_STEP: plain numbers */
    const RelnRep *rep; /* NULL for i32 */
    const void *attr;   /* constants of the op, plain bytes: equal bytes mean equal nodes */
    size_t attr_size;
    bool needs_grad; /* float, and not cut off by stop_gradient or an index */
    bool derived;    /* made by reln_vjp() */
    const RelnScope
        *scope; /* layer in which it, or the value it differentiates, was made; or NULL */
};

/* ---- an op ---------------------------------------------------------------------------------------------------- */

enum {
    RELN_OP_REDUCE = 1,    /* sums over the items of its inputs to RELN_STEP */
    RELN_OP_ALIAS = 2,     /* uses the memory of in[0], with another shape */
    RELN_OP_EFFECT = 4,    /* runs after everything else, in pieces: optimisers */
    RELN_OP_SOURCE = 8,    /* the plan fills it: inputs, parameters, constants */
    RELN_OP_FRESH = 16,    /* never merged with an equal node */
    RELN_OP_SUM = 32,      /* in[0] + in[1]: the plan may add the terms in place */
    RELN_OP_DOMAINS = 64,  /* has inputs of several domains; infer sets the domain of the result */
    RELN_OP_PLACE = 128,   /* an item's value depends on its place in the batch: random numbers */
    RELN_OP_PARENTS = 256, /* an item's value depends on all items below the same parent */
    RELN_OP_DTYPES = 512   /* has inputs of f32 and f64; infer sets the dtype of the result */
};

/* How an op with inputs of several domains can be computed for a part of its items, a tile. All items of its
 * other inputs are in memory. An op of one domain is computed for the items of the tile. */
typedef enum RelnTiling {
    RELN_TILED_NEVER,
    RELN_TILED_BY_RESULT, /* for the items of the result in the tile */
    RELN_TILED_BY_FIRST /* for the items of the first input in the tile; the result holds all items, and is
                           * added to */
} RelnTiling;

/* The reason why an op's node is equivariant; the certificate lists it and checks the reps of the inputs against it. */
typedef enum RelnRule {
    RELN_RULE_NONE, /* a source, or unknown */
    RELN_RULE_LINEAR, /* the same linear map for every coordinate: all inputs have the result's rep, or it is
                       * their sum */
    RELN_RULE_FACTOR,     /* one input has the result's rep, the others are invariants or indices */
    RELN_RULE_INVARIANTS, /* any function of invariants */
    RELN_RULE_PAIRING,    /* the inputs have dual reps, and the result is invariant; or as FACTOR */
    RELN_RULE_CONSTANT, /* a constant tensor between the reps, itself an intertwiner: `constant` */
    RELN_RULE_CONJUGATION /* a function of a matrix that goes to g X g^-1, or a derivative of it */
} RelnRule;

struct RelnOp {
    const char *name;
    RelnRule rule;
    int n_in; /* -1: any number */
    unsigned flags;
    RelnTiling tiling; /* RELN_OP_DOMAINS */
    unsigned
        whole; /* bit set of inputs that are read whole even if they are of the tile's domain */

    /* Checks the inputs, and sets shape, domain, dtype and rep (z->rep holds the rep that the builder asks
     * for). Domain and dtype are already the join of the inputs' ones. Calls reln_graph_fail() and returns
     * false if the inputs do not fit. */
    bool (*infer)(RelnGraph *g, RelnNode *z);

    /* Computes the values. It must not change the node: all changing data are in e. */
    RelnStatus (*forward)(const RelnExec *e);

    /* Computes the cotangents of the inputs from the cotangent of the output, with graph builders; gin[i]
     * stays NULL if there is none. Broadcast axes and domains need no care: the sweep sums each cotangent to
     * the input's shape. NULL: no input has a cotangent. */
    void (*vjp)(RelnGraph *g, const RelnNode *z, RelnNode *gz, RelnNode **gin);

    /* Fills `prepared` with data that is known before the first run (strides, kernel choice), and returns its
     * size; called with NULL to ask for the size. May be NULL. */
    size_t (*prepare)(const RelnNode *z, const RelnKernels *kern, void *prepared);

    /* Returns the bytes of scratch memory for n items. May be NULL. */
    size_t (*scratch)(const RelnNode *z, ptrdiff_t n);

    /* Returns the bytes of memory that a worker keeps for this instruction during a run: an operand packed
     * once for all shards (e->pack). May be NULL. */
    size_t (*packs)(const RelnNode *z, const RelnKernels *kern);

    /* Describes the node's link in a chain (graph/chain.c), if each number of z depends only on the numbers
     * at the same place: a function of in[0] and of the operand in[1], if there is one. RELN_LINK_LOAD: z is
     * in[0] repeated, or rows of in[0] that in[1] numbers. Returns false if z has no link. May be NULL. */
    bool (*link)(const RelnNode *z, RelnLink *link);

    /* Returns the multiplications and additions for one item of the largest domain involved. NULL: one for
     * each element of z. */
    double (*flops)(const RelnNode *z);

    /* Returns the constant of RELN_RULE_CONSTANT: from in[0] (and in[1]) to z. */
    const RelnTensor3 *(*constant)(const RelnNode *z);

    /* Returns the name of this node's function, if one op has several: "sqrt". NULL: the op's name. */
    const char *(*word)(const RelnNode *z);

    /* Builds the index-th case for the generic tests, with reln_sample_*(); returns NULL when there are no
     * more. */
    RelnNode *(*sample)(RelnSampler *s, int index);
};

/* Largest number of inputs of one node. */
enum { RELN_INPUTS_MAX = 512 };

/* The list of ops, terminated by NULL; derived from the files of src/ops. */
extern const RelnOp *const reln_ops[];

/* ---- building ------------------------------------------------------------------------------------------------- */

/* Makes a node, or finds an equal one. attr is copied; rep is the rep that the builder asks for, or NULL to
 * let infer decide. Returns NULL when the graph has failed, an input is NULL, or infer refuses. */
RelnNode *reln_node(RelnGraph *g, const RelnOp *op, int n_in, RelnNode *const *in, const void *attr,
                    size_t attr_size, const RelnRep *rep);

/* Records the first error of a graph. Returns false, for infer. */
bool reln_graph_fail(RelnGraph *g, RelnStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Records the error of a builder that was given NULL; g may be NULL, too. */
bool reln_graph_null(RelnGraph *g, const char *function);
/* Records a failed allocation, with the context's message. */
bool reln_graph_nomem(RelnGraph *g);
RelnArena *reln_graph_arena(RelnGraph *g);
/* Returns zeroed memory of the graph's arena; NULL with the graph failed. */
void *reln_graph_alloc(RelnGraph *g, size_t count, size_t size);

/* Returns "the step", "samples", or the name of a row domain. */
const char *reln_domain_name(const RelnGraph *g, RelnDomain domain);
bool reln_domain_known(const RelnGraph *g, RelnDomain domain);
/* Returns the largest number of items of a domain in one sample. */
ptrdiff_t reln_domain_most(const RelnGraph *g, RelnDomain domain);
/* Sets the two ends of a domain of pairs; returns false for other domains. */
bool reln_domain_pairs(const RelnGraph *g, RelnDomain domain, RelnDomain *first, RelnDomain *second,
                       bool *self);
/* Returns how many items of a reln_fixed() domain are below each item of `parent`; 0 if it is not such a
 * domain. */
int reln_domain_fixed(const RelnGraph *g, RelnDomain domain, RelnDomain parent);
/* Returns a key for a random node, the next of the graph. Models that are built in the same way get equal
 * keys, and a key never equals one of a user's. */
uint64_t reln_graph_key(RelnGraph *g);
/* Makes z, an effect on the parameter in[0], run after everything else. A parameter can have one effect. */
bool reln_graph_effect(RelnGraph *g, RelnNode *z);

/* A layer is a scope that ends where its function returns. RELN_LAYER(net->graph, name) is the first
 * statement of reln_nn_relu() and makes the scope "<name>.relu", or "relu" for a layer without a name. */
RelnGraph *reln_layer_begin(RelnGraph *g, const char *name, const char *function);
void reln_layer_end(RelnGraph **g);
#define RELN_LAYER(g, name)                                                                        \
    __attribute__((cleanup(reln_layer_end), unused)) RelnGraph *layer_of_ =                        \
        reln_layer_begin((g), (name), __func__)
static inline const char *reln_op_word(const RelnNode *x)
{
    return x->op->word ? x->op->word(x) : x->op->name;
}
/* Writes a description of a node for messages: "input X", "mul (#57) of layer one.relu". */
void reln_node_text(const RelnNode *x, char *text, size_t size);

/* Returns a state that belongs to an optimiser, with initial value 0. */
RelnNode *reln_moment(RelnGraph *g, const char *name, RelnDims dims);

/* Return a tensor or matrix of constants that lives as long as the graph. Equal contents are one object, so
 * that checks are made once and nodes can be compared. `turn` is a permutation of "ijk" that says where the
 * axes of the new tensor come from. */
const RelnTensor3 *reln_graph_tensor(RelnGraph *g, const RelnTensor3 *t);
const RelnTensor3 *reln_tensor3_turn(RelnGraph *g, const RelnTensor3 *t, const char *turn);

/* Returns the invariant rep with k coordinates; NULL with the graph failed. */
const RelnRep *reln_invariant(RelnGraph *g, int k);
/* Returns the dual rep; NULL with the graph failed. */
const RelnRep *reln_dual(RelnGraph *g, const RelnRep *rep);

RelnShape reln_shape_from(RelnDims dims); /* 0 counts as 1 */
/* Checks that extents are at least 1 and that the number of elements of an item fits an int. Then no product
 * of extents of a node overflows, and its bytes times a number of items can be checked in one place
 * (reln_plan_fits). Every node is checked. */
bool reln_want_size(RelnGraph *g, const char *op, const RelnShape *s);

/* Returns the text of a shape for messages: "(B, 12, 9, 256)", in the graph's arena. */
const char *reln_shape_text(const RelnNode *x);
/* Writes the text of a shape into `text`. */
void reln_shape_write(const RelnNode *x, char *text, size_t size);

static inline ptrdiff_t reln_shape_count(const RelnShape *s)
{
    ptrdiff_t n = 1;

    for (int a = 0; a < RELN_AXES; a++)
        n *= s->dims[a];
    return n;
}

/* Number of elements of an item before and behind one step along an axis: (before, extent, behind). */
static inline ptrdiff_t reln_shape_before(const RelnShape *s, RelnAxis axis)
{
    ptrdiff_t n = 1;

    for (int a = 0; a < (int)axis; a++)
        n *= s->dims[a];
    return n;
}

static inline ptrdiff_t reln_shape_behind(const RelnShape *s, RelnAxis axis)
{
    ptrdiff_t n = 1;

    for (int a = (int)axis + 1; a < RELN_AXES; a++)
        n *= s->dims[a];
    return n;
}

/* Returns the larger extent on each axis: the shape to which two shapes broadcast. */
static inline RelnShape reln_shape_join(const RelnShape *x, const RelnShape *y)
{
    RelnShape s = *x;

    for (int a = 0; a < RELN_AXES; a++)
        s.dims[a] = y->dims[a] > s.dims[a] ? y->dims[a] : s.dims[a];
    return s;
}

size_t reln_dtype_size(RelnDtype dtype);
static inline size_t reln_node_bytes(const RelnNode *x) /* bytes of one item */
{
    return (size_t)reln_shape_count(&x->shape) * reln_dtype_size(x->dtype);
}

/* ---- typing --------------------------------------------------------------------------------------------------- */

/* Broadcasts the inputs of z: on the given axes (a bit 1 << axis for each), extents must be equal or 1, and
 * the larger one is taken. Other axes get the largest extent unchecked. */
enum { RELN_ALL_AXES = (1 << RELN_AXES) - 1 };
bool reln_broadcast(RelnGraph *g, const RelnNode *z, int axes, RelnShape *out);
/* Infers z's shape by broadcasting all inputs on all axes. */
static inline bool reln_infer_broadcast(RelnGraph *g, RelnNode *z)
{
    return reln_broadcast(g, z, RELN_ALL_AXES, &z->shape);
}
bool reln_is_invariant(const RelnNode *x); /* whether every generator acts trivially */
/* Fails when x is not invariant: "tanh: its argument transforms as adjoint(gl:3) ...". */
bool reln_want_invariant(RelnGraph *g, const RelnNode *z, const RelnNode *x);
bool reln_want_float(RelnGraph *g, const RelnNode *z);
bool reln_want_axis(RelnGraph *g, const RelnNode *z, RelnAxis axis);
/* Returns the tensor to store for a user's constant: checked, and kept or projected (rep/settle.h); NULL when
 * it is refused. Sizes that do not fit are left to infer. */
const RelnTensor3 *reln_graph_settled(RelnGraph *g, const char *op, const RelnTensor3 *t,
                                      const RelnRep *u, const RelnRep *v, const RelnRep *w);
/* Checks that a number is finite in the dtype of its node. */
bool reln_want_finite(RelnGraph *g, const RelnNode *z, double value);
/* Checks that x is invariant: a later run reads it again as state or parameter `name`, and these are
 * invariants. */
bool reln_want_returning(RelnGraph *g, const char *op, const char *name, const RelnNode *x);
/* Check constants; results are cached by (tensor, reps); t must come from reln_graph_tensor(). */
bool reln_want_bilinear(RelnGraph *g, const char *op, const RelnTensor3 *t, const RelnRep *u,
                        const RelnRep *v, const RelnRep *w);

/* Ops that the reverse sweep needs; they are defined in src/ops like all the others. */
RelnNode *reln_add(RelnGraph *g, RelnNode *x, RelnNode *y);
RelnNode *reln_gather(RelnGraph *g, RelnNode *x, RelnNode *index);
RelnNode *reln_cast(RelnGraph *g, RelnNode *x, RelnDtype dtype);
/* Repeat x to the shape and domain of `like`, to a given shape and domain, or to a domain; and zeros, which
 * fit any rep. */
RelnNode *reln_expand(RelnGraph *g, RelnNode *x, const RelnNode *like);
RelnNode *reln_expand_to(RelnGraph *g, RelnNode *x, const RelnShape *shape, RelnDomain domain);
RelnNode *reln_expand_domain(RelnGraph *g, RelnNode *x, RelnDomain domain);
RelnNode *reln_expand_zero(RelnGraph *g, RelnNode *zero, const RelnNode *like, const RelnRep *rep);

/* Sums x over broadcast axes (and its domain) to the shape and domain of `like`; returns x if there is
 * nothing to sum. The sweep calls it; gradients of ops rarely need it. */
RelnNode *reln_sum_like(RelnGraph *g, RelnNode *x, const RelnNode *like);

/* ---- execution ------------------------------------------------------------------------------------------------ */

/* A RelnPack is a packed operand that a worker keeps for an instruction: `values` made from `source` in a
 * run. run is 0 if it must not be kept. */
typedef struct RelnPack {
    const void *source;
    uint64_t run;
    void *values;
} RelnPack;

/* A RelnSpans lists the rows of the current samples: sample s, from 0, has the items first[domain][s] to
 * first[domain][s + 1] of a row domain, counted from the first sample. In a loop over tiles, `tile_first` is
 * the first item of the current tile. */
typedef struct RelnSpans {
    ptrdiff_t n_samples;
    const ptrdiff_t *const *first; /* by domain - 2, counted in the batch: subtract [0] */
    ptrdiff_t sample;              /* number in the batch of the first sample */
    RelnDomain tile;               /* RELN_STEP: no tile, all items are in memory */
    ptrdiff_t tile_first;
} RelnSpans;

static inline ptrdiff_t reln_span(const RelnSpans *s, RelnDomain domain, ptrdiff_t sample)
{
    const ptrdiff_t *first = s->first[domain - 2] + s->sample;

    return first[sample] - first[0];
}

struct RelnExec {
    const RelnNode *node;
    const void *prepared;
    void *const *in;
    void *out;
    /* Number of items of the node. RELN_OP_REDUCE: items of the domain that is summed. RELN_OP_EFFECT:
     * elements of the piece of the parameter that begins at element `first`. */
    ptrdiff_t n;
    const ptrdiff_t *n_in; /* number of items of each input */
    const RelnSpans *spans;
    const bool *passing; /* inputs in the worker's slab, which the next shard or call overwrites */
    bool accumulate;     /* RELN_OP_REDUCE, RELN_TILED_BY_FIRST: add to out instead of setting it */
    void *scratch;
    RelnPack *pack; /* NULL if the op keeps no packed operand */
    uint64_t run;   /* number of this run: a pack of another run is stale */
    const RelnKernels *kern;
    RelnGemm *gemm;
    uint64_t seed, step;
    ptrdiff_t first; /* position of the first item in the batch, or first element of a piece */
    char *message;   /* RELN_MESSAGE bytes for reln_exec_fail() */
};

enum { RELN_MESSAGE = 256 };
RelnStatus reln_exec_fail(const RelnExec *e, RelnStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* RelnLoops holds the strides with which an elementwise op reads every input together with the output: loops
 * from outermost to innermost, after merging adjacent axes that all operands step through in the same way.
 * Axis 0 is the items. */
enum { RELN_LOOP_MAX = RELN_AXES + 1, RELN_LOOP_IN = 4 };
typedef struct RelnLoops {
    int rank;                                      /* number of loops, at least 1 */
    ptrdiff_t extent[RELN_LOOP_MAX];               /* innermost last; items first: 1 until a run */
    ptrdiff_t stride[RELN_LOOP_IN][RELN_LOOP_MAX]; /* in elements; 0: broadcast */
    ptrdiff_t item;                                /* elements of one item of the output */
} RelnLoops;
/* Returns whether all items of z use the same x. */
static inline bool reln_is_once(const RelnNode *x, const RelnNode *z)
{
    return x->domain == RELN_STEP && z->domain != RELN_STEP;
}

/* Computes the loops for z's output shape and its first n_in inputs; the items are a separate loop. */
void reln_loops(const RelnNode *z, int n_in, RelnLoops *out);
/* Computes the loops for given strides, items first. reln_strides() gives the strides of an operand of shape
 * x broadcast to a shape; `once`: all items use one item of the operand. */
void reln_strides(const RelnShape *shape, const RelnShape *x, bool once, ptrdiff_t *stride);
/* Merges the loops of any number of operands: returns their number, and writes extents and the strides of
 * each operand. */
int reln_merge_axes(const RelnShape *shape, int n_in, ptrdiff_t (*stride)[RELN_LOOP_MAX],
                    ptrdiff_t extent[RELN_LOOP_MAX], ptrdiff_t (*merged)[RELN_LOOP_MAX]);
void reln_loops_of(const RelnShape *shape, int n_in, ptrdiff_t (*stride)[RELN_LOOP_MAX],
                   RelnLoops *out);

/* ---- samples for the generic tests ---------------------------------------------------------------------------- */

/* A sample is a small graph around one op. The tests compare its value in f32 with f64, its gradient and
 * second derivatives with differences, and check the declared shape and that the output transforms as its rep
 * says. */
enum { RELN_SAMPLE_INPUTS = 16 };
typedef struct RelnSampleInput {
    RelnNode *node;
    double lo, hi; /* lo <= |value| <= hi; normal when hi is 0 */
    bool positive;
    RelnDomain target; /* indices */
    int limit;
} RelnSampleInput;
struct RelnSampler {
    RelnGraph *graph;
    const RelnAlgebra *algebra;
    int n_inputs;
    RelnSampleInput inputs[RELN_SAMPLE_INPUTS];
};
/* Adds a float input with values away from 0: lo <= |value| <= hi, of either sign unless positive. NULL rep:
 * invariant. */
RelnNode *reln_sample_input(RelnSampler *s, RelnDomain domain, RelnDims dims, const RelnRep *rep,
                            double lo, double hi, bool positive);
RelnNode *reln_sample_normal(RelnSampler *s, RelnDomain domain, RelnDims dims, const RelnRep *rep);
/* Adds an input of indices in [0, limit) (target RELN_STEP), or within the sample's rows of a row domain. */
RelnNode *reln_sample_index(RelnSampler *s, RelnDomain domain, RelnDims dims, RelnDomain target,
                            int limit);
const RelnRep *reln_sample_adjoint(RelnSampler *s);
const RelnAlgebra *reln_sample_algebra(const RelnSampler *s);
/* Adds a row domain with sets of different size, including empty ones. */
RelnDomain reln_sample_rows(RelnSampler *s);

#endif
