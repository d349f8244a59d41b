/* plan.h -- the internals of a plan: programs of instructions on places in memory. */
#ifndef GRAPH_PLAN_H
#define GRAPH_PLAN_H

#include <assert.h>

#include "base/pool.h"
#include "graph/exchange.h"
#include "graph/graph.h"
#include "graph/lanes.h"
#include "reln/plan.h"

/* A PlaceKind says where a value is stored while a program runs. */
typedef enum PlaceKind {
    AT_NOWHERE,
    AT_SLAB,  /* offset in the worker's slab, relative to the frame */
    AT_STEP,  /* offset in the plan's shared memory: constants, step-level values */
    AT_LANE,  /* offset in the lane's accumulators */
    AT_KEPT,  /* index of an array over the whole batch */
    AT_ENTRY, /* index of a store's array, or of its copy in a frozen plan */
    AT_ARG,   /* argument of the running function */
    AT_OUT    /* result of the running function */
} PlaceKind;

typedef struct Place {
    PlaceKind kind;
    size_t offset; /* bytes, or an index */
    size_t
        step; /* in a loop, if all items are in memory: bytes for each item before the tile; 0: memory for the
               * tile only */
} Place;

typedef enum InstrKind {
    DO_OP,     /* runs the op's forward */
    DO_LOAD,   /* copies part of a bound input to its place */
    DO_KEEP,   /* copies a value to its array over the whole batch */
    DO_SUM,    /* adds several values: out = in[0] + in[1] + ... */
    DO_ADD_TO, /* out += in[0] */
    DO_COPY,   /* out = in[0] */
    DO_ZERO,   /* out = 0, before a loop adds to it */
    DO_CHAIN,  /* runs several elementwise ops in one pass */
    DO_CALL
} InstrKind;

/* The links of a chain. A link reads the instruction's input `read` (-1: none), or the rows of it that its
 * input `index` numbers (-1: none). It steps through the input by items, and then by one to three more
 * loops. */
enum {
    CHAIN_LINKS = RELN_LINKS,
    CHAIN_FOLDS = CHAIN_LINKS - 2,
    CHAIN_READS = 2 * CHAIN_LINKS,
    CHAIN_MEMBERS = 2 * CHAIN_LINKS,
    CHAIN_RANK = 4
};
typedef struct ChainLink {
    RelnLinkKind kind;
    int read, index;
    double a, b;
    ptrdiff_t stride[CHAIN_RANK];
} ChainLink;
typedef struct Chain {
    int rank, n_links;
    ptrdiff_t extent[CHAIN_RANK], item; /* and elements of an item */
    bool flat;                          /* items are contiguous in every operand */
    bool merged; /* the loop after that over items goes on from item to item, in every operand */
    ChainLink *links;
} Chain;

typedef struct Program Program;

typedef struct Instr {
    InstrKind kind;
    const RelnNode *node;
    RelnDomain domain; /* domain whose items are counted */
    bool accumulate;
    bool out_whole;       /* in a loop: `out` holds all items, not only those of the tile */
    const bool *in_whole; /* for each input: it holds all items */
    int loop;             /* index in the program; -1: not in a loop */
    bool steady;          /* at step level: the same in every run of a frozen plan */
    bool steady_pack;     /* the packed operand is steady too */
    int n_in, n_out;
    const RelnNode *const *reads; /* the nodes whose values are the inputs; used while planning */
    const Chain *chain;
    Place *in, out, scratch;
    const RelnDomain *in_domains;
    void *prepared;
    int pack; /* index of its packed operand, -1: none */
    const Program *callee;
    Place *outs; /* DO_CALL: one for each result */
} Instr;

/* A Loop is a range of instructions that run for one tile of a domain's items after the other, so that the
 * values passed between them stay in a near cache and never need memory for all items. */
typedef struct Loop {
    int first, end; /* range of instructions */
    RelnDomain domain;
    ptrdiff_t tile; /* largest number of items at a time */
    RelnDomain
        ancestor; /* items below the same ancestor are in one tile; RELN_STEP: any items may be separated */
} Loop;

struct Program {
    RELN_LIST(Instr) code;
    RELN_LIST(Loop) loops;
    size_t slab;            /* bytes */
    double flops, bytes;    /* for one item */
    RelnRowCost *row_costs; /* of a placed function: by row domain */
    const RelnFn *fn;       /* the function whose body this is; NULL for a graph */
    ptrdiff_t items;        /* of a function: number of items that its slab has memory for */
};

/* A Kept is a value of all items of the batch, which a later phase or the user reads. */
typedef struct Kept {
    const RelnNode *node;
    size_t item; /* bytes */
    int room;
} Kept;

/* A Room is memory for kept values of one domain, one after the other: values that no phase needs together. */
typedef struct Room {
    RelnDomain domain;
    size_t item; /* bytes of the largest value */
    int dies;    /* the last phase that reads the value in it; INT_MAX: an output */
    char *values;
    size_t capacity, wanted; /* bytes: reserved, and of the largest value at hand */
} Room;

/* An Accumulator is a value of every lane; after the shards, the lanes are combined into a step-level
 * place. */
typedef struct Accumulator {
    size_t lane; /* offset in the lane */
    Place total;
    size_t count;
    RelnDtype dtype;
} Accumulator;

/* A range of elements of an accumulator or of an optimiser's parameter, processed by any free worker. The bounds come
 * from the graph, so that they are the same for any number of threads. */
enum { PIECE = 16384 };
typedef struct Piece {
    int index; /* index of the accumulator in its phase, or of the instruction */
    ptrdiff_t first, count;
} Piece;

struct Phase {
    Program step, shards;
    RELN_LIST(Accumulator) sums;
    RELN_LIST(Piece) pieces; /* pieces of the sums */
    size_t lane_size;        /* bytes of its sums; all phases use the same memory */
};

/* A constant and its place in the shared memory. */
typedef struct Constant {
    const RelnNode *node;
    size_t offset;
} Constant;

/* An Entry is an array of the store, and the address from which it is read. */
typedef struct Entry {
    const RelnStoreEntry *of;
    void *values;
} Entry;

typedef struct Bound {
    const void *values;
    RelnDtype dtype;
    size_t count; /* number of elements that may be read; UNSIZED: unknown */
} Bound;
#define UNSIZED SIZE_MAX

/* A BoundRows holds the number of rows of each sample, or of each item of the parent, for a row domain. */
typedef struct BoundRows {
    const int32_t *counts;
    size_t count; /* length, or UNSIZED */
} BoundRows;

/* A Shard is a range of samples and, for each row domain, a range of rows. */
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
    uint64_t n_shards; /* number of shards run so far, counted in every phase */
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
    bool finite; /* runs stop at the first value that is not finite */
    ptrdiff_t shard;
    ptrdiff_t tile; /* the option; 0: derived from the graph */
    RELN_LIST(Phase) phases;
    Program commit;
    int effects, effects_end; /* range of the instructions of optimisers */
    RELN_LIST(Piece) pieces;  /* pieces of the optimisers' work */
    RELN_LIST(Kept) kept;
    RELN_LIST(Room) rooms;
    RELN_LIST(Program *) callees;
    RELN_LIST(Constant) constants;
    RELN_LIST(Entry) entries;
    char *frozen;       /* copies of the entries; NULL: the store's arrays are read */
    bool settled;       /* frozen, and its steady values have been computed */
    uint64_t n_freezes; /* number of freezes so far; packs of an earlier freeze are stale */
    char *memory;       /* shared: step-level values */
    size_t memory_size;
    Lanes lanes;
    Ranks ranks;
    size_t parameters; /* number of elements of the parameters that are read */
    int n_workers;
    Worker *workers;
    size_t slab;
    Bound *bound; /* by source index */
    BoundRows *row_counts;
    RelnRowCost *row_costs; /* by row domain */
    /* The following describe the current batch. */
    RelnRun run;
    ptrdiff_t n_shards;
    Shard *shards;
    ptrdiff_t **row_first; /* [row domain][sample], n_samples + 1 of them */
    ptrdiff_t **
        item_first; /* [row domain][item of the parent]: counted rows below rows; NULL for others */
    ptrdiff_t *item_capacity; /* capacity of each of them */
    ptrdiff_t sample_capacity;
    Place *outputs; /* by output index */
};

/* Fills in phases, programs and sizes from the graph; returns false with the graph failed. */
bool reln_plan_compile(RelnPlan *plan);
/* Fails for a name that is not an input, and suggests the nearest input. */
RelnStatus reln_plan_no_input(const RelnPlan *plan, const char *name);
/* Checks n items of x, which begin at item `first` of the batch; writes a line of text if a value is not
 * finite. */
RelnStatus reln_plan_finite(const RelnNode *x, const void *values, ptrdiff_t n, ptrdiff_t first,
                            char message[RELN_MESSAGE]);
/* Returns the bytes for n items of x. */
size_t reln_plan_room(const RelnNode *x, ptrdiff_t n);

/* Returns the bytes for a call's result without a reader. */
size_t reln_spare_room(const RelnPlan *plan, const Program *callee, int result);

static inline char *kept_values(const RelnPlan *plan, const Kept *kept)
{
    return plan->rooms.items[kept->room].values;
}

/* Reserve the places of n items of a domain's parent; reserve the kept values of the current batch. */
RelnStatus reln_plan_reserve_items(RelnPlan *plan, int rows, ptrdiff_t n);
RelnStatus reln_plan_reserve_kept(RelnPlan *plan);

/* batch.c: checks and counts the rows of the bound batch, and divides it into shards. */
RelnStatus reln_plan_start(RelnPlan *plan, const RelnRun *run);
/* Returns the number of shards that this process has run so far, counted in every phase. */
uint64_t reln_plan_shards_run(const RelnPlan *plan);
/* Items of a domain in the batch at hand. */
ptrdiff_t reln_plan_items(const RelnPlan *plan, RelnDomain domain);

/* Returns the first shard of a lane, floor(lane n / L). If lanes differ by a shard, the last ones have more: the
 * last shard of a batch is often small. */
static inline ptrdiff_t lane_begins(const RelnPlan *plan, int lane)
{
    return lane * plan->n_shards / plan->lanes.n;
}

#endif
