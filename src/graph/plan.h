/* plan.h -- the insides of a plan: programs of instructions on places in memory. */
#ifndef GRAPH_PLAN_H
#define GRAPH_PLAN_H

#include <assert.h>

#include "base/pool.h"
#include "graph/exchange.h"
#include "graph/graph.h"
#include "graph/lanes.h"
#include "reln/plan.h"

/* Where a value is while a program runs. */
typedef enum PlaceKind {
    AT_NOWHERE,
    AT_SLAB,  /* offset in the worker's slab, relative to the frame */
    AT_STEP,  /* offset in the plan's shared memory: constants, step-level values */
    AT_LANE,  /* offset in the lane's accumulators */
    AT_KEPT,  /* index of an array over the whole batch */
    AT_ENTRY, /* index of a store's array, or of the copy that a frozen plan has */
    AT_ARG,   /* argument of the function that runs */
    AT_OUT    /* result of the function that runs */
} PlaceKind;

typedef struct Place {
    PlaceKind kind;
    size_t offset; /* bytes, or an index */
    size_t
        step; /* in a loop: bytes for each item before the tile, where all items are in memory; 0: not in step */
} Place;

typedef enum InstrKind {
    DO_OP,     /* the op's forward */
    DO_LOAD,   /* part of a bound input into its place */
    DO_KEEP,   /* copy a value out to its array over the whole batch */
    DO_SUM,    /* add several values: out = in[0] + in[1] + ... */
    DO_ADD_TO, /* out += in[0] */
    DO_COPY,   /* out = in[0] */
    DO_ZERO,   /* out = 0, before a loop adds to it */
    DO_CHAIN,  /* several elementwise ops in one pass */
    DO_CALL
} InstrKind;

/* The links of a chain. A link reads the instruction's input `read` (-1: none), rows of it that its input `index` numbers
 * (-1: none), and steps through it by items, and then by one or two more loops. */
enum {
    CHAIN_FOLDS = 8,
    CHAIN_LINKS = CHAIN_FOLDS + 2,
    CHAIN_READS = 2 * CHAIN_LINKS,
    CHAIN_MEMBERS = 2 * CHAIN_LINKS,
    CHAIN_RANK = 3
};
typedef struct ChainLink {
    RelnLinkKind kind;
    int read, index;
    double a, b;
    ptrdiff_t stride[CHAIN_RANK];
} ChainLink;
typedef struct Chain {
    int rank, n_links;
    ptrdiff_t extent[CHAIN_RANK], item; /* elements of an item */
    bool flat;                          /* items lie one behind the other in every operand */
    ChainLink *links;
} Chain;

typedef struct Program Program;

typedef struct Instr {
    InstrKind kind;
    const RelnNode *node;
    RelnDomain domain; /* whose items are counted */
    bool accumulate;
    bool out_whole;       /* in a loop: `out` holds all items, not only those of the tile */
    const bool *in_whole; /* the same of each input */
    int loop;             /* index in the program; -1: it runs once */
    bool steady;          /* at step level: the same in every run of a frozen plan */
    bool steady_pack;     /* the packed operand is steady too */
    int n_in, n_out;
    const RelnNode *const *reads; /* the nodes whose values are the inputs; while it is planned */
    const Chain *chain;
    Place *in, out, scratch;
    const RelnDomain *in_domains;
    void *prepared;
    int pack; /* index, -1: none */
    const Program *callee;
    Place *outs; /* DO_CALL: one for each result */
} Instr;

/* Instructions that run for one tile of a domain's items after the other, so that the values they pass on stay in a
 * near cache and never need memory for all items. */
typedef struct Loop {
    int first, end; /* instructions */
    RelnDomain domain;
    ptrdiff_t tile; /* most items at a time */
    RelnDomain
        ancestor; /* the items below one of its items go together; RELN_STEP: any may be parted */
} Loop;

struct Program {
    RELN_LIST(Instr) code;
    RELN_LIST(Loop) loops;
    size_t slab;            /* bytes */
    double flops, bytes;    /* for one item */
    RelnRowCost *row_costs; /* a placed function's: by row domain */
    const RelnFn *fn;       /* a function's: and the items there is room for */
    ptrdiff_t items;
};

typedef struct Kept {
    const RelnNode *node;
    size_t item; /* bytes */
    char *values;
    size_t capacity; /* bytes */
} Kept;

/* An accumulator: a value of every lane, combined into a step-level place after the shards. */
typedef struct Accumulator {
    size_t lane; /* offset */
    Place total;
    size_t count;
    RelnDtype dtype;
} Accumulator;

/* A range of elements of an accumulator or of an optimiser's parameter, processed by any free worker. The bounds come
 * from the graph, so that they are the same for any number of threads. */
enum { PIECE = 16384 };
typedef struct Piece {
    int index; /* of the accumulator in its phase, or of the instruction */
    ptrdiff_t first, count;
} Piece;

struct Phase {
    Program step, shards;
    RELN_LIST(Accumulator) sums;
    RELN_LIST(Piece) pieces; /* of the sums */
    size_t lane_size;        /* bytes of its sums; phases use the same memory in turn */
};

/* A constant and its place in the shared memory. */
typedef struct Constant {
    const RelnNode *node;
    size_t offset;
} Constant;

/* An array of the store, and where it is read. */
typedef struct Entry {
    const RelnStoreEntry *of;
    void *values;
} Entry;

typedef struct Bound {
    const void *values;
    RelnDtype dtype;
    size_t count; /* elements that may be read; UNSIZED: the caller did not say */
} Bound;
#define UNSIZED SIZE_MAX

/* Rows of each sample, or of each item of the parent, for a row domain. */
typedef struct BoundRows {
    const int32_t *counts;
    size_t count; /* of them, or UNSIZED */
} BoundRows;

/* A run of samples, and for each row domain a run of rows. */
typedef struct Shard {
    ptrdiff_t first, count;
} Shard;

typedef struct Worker {
    char *slab;
    RelnGemm gemm;
    RelnPack *packs;
    char *pack_memory;
    RelnStatus status;
    char message[RELN_MESSAGE];
    uint64_t n_shards; /* run so far, counted in every phase */
} Worker;

enum { MAX_IN = RELN_INPUTS_MAX };

struct RelnPlan {
    RelnCtx *ctx;
    RelnGraph *graph;
    RelnPool *pool;
    RelnArena arena;
    const RelnKernels *kern;
    RELN_LIST(size_t) packs; /* offsets in a worker's memory */
    size_t pack_size;
    uint64_t n_runs;
    bool finite; /* runs stop at the first value that is not */
    ptrdiff_t shard;
    ptrdiff_t tile; /* asked for; 0: from the graph */
    RELN_LIST(Phase) phases;
    Program commit;
    int effects, effects_end; /* instructions of it: the optimisers */
    RELN_LIST(Piece) pieces;  /* of them */
    RELN_LIST(Kept) kept;
    RELN_LIST(Program *) callees;
    RELN_LIST(Constant) constants;
    RELN_LIST(Entry) entries;
    char *frozen;       /* copies of them; NULL: the store's own are read */
    bool settled;       /* frozen, and its steady values have been computed */
    uint64_t n_freezes; /* so far: packs of another one are stale */
    char *memory;       /* shared: step-level values */
    size_t memory_size;
    Lanes lanes;
    Ranks ranks;
    size_t parameters; /* trainable elements that are read */
    int n_workers;
    Worker *workers;
    size_t slab;
    Bound *bound; /* by source index */
    BoundRows *row_counts;
    RelnRowCost *row_costs; /* by row domain */
    /* of the batch at hand */
    RelnRun run;
    ptrdiff_t n_shards;
    Shard *shards;
    ptrdiff_t **row_first; /* [row domain][sample], n_samples + 1 of them */
    ptrdiff_t **
        item_first; /* [row domain][item of the parent]: counted rows below rows; NULL for others */
    ptrdiff_t *item_capacity; /* of each of them */
    ptrdiff_t sample_capacity;
    Place *outputs; /* by output index */
};

/* Fill in phases, programs and sizes from the graph; false with the graph failed. */
bool reln_plan_compile(RelnPlan *plan);
/* Fails for a name that is no input, with the nearest that is. */
RelnStatus reln_plan_no_input(const RelnPlan *plan, const char *name);
/* Check n items of x, which begin at item `first` of the batch; write a line of text where a value is not finite. */
RelnStatus reln_plan_finite(const RelnNode *x, const void *values, ptrdiff_t n, ptrdiff_t first,
                            char message[RELN_MESSAGE]);
/* Bytes for n items of x. */
size_t reln_plan_room(const RelnNode *x, ptrdiff_t n);

/* Bytes for a call's result without a reader. */
size_t reln_spare_room(const RelnPlan *plan, const Program *callee, int result);

/* Reserve the places of n items of a domain's parent; reserve the kept values of the current batch. */
RelnStatus reln_plan_reserve_items(RelnPlan *plan, int rows, ptrdiff_t n);
RelnStatus reln_plan_reserve_kept(RelnPlan *plan);

/* batch.c: the rows of the batch that is bound, checked and counted, and its shards. */
RelnStatus reln_plan_start(RelnPlan *plan, const RelnRun *run);
/* Shards that this process has run so far, counted in every phase. */
uint64_t reln_plan_shards_run(const RelnPlan *plan);
/* Items of a domain in the batch at hand. */
ptrdiff_t reln_plan_items(const RelnPlan *plan, RelnDomain domain);

/* Shard s belongs to lane s L / n: the first one of a lane is ceil(lane n / L). */
static inline ptrdiff_t lane_begins(const RelnPlan *plan, int lane)
{
    return (lane * plan->n_shards + plan->lanes.n - 1) / plan->lanes.n;
}

#endif
