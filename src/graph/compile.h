/* compile.h -- the data that the planner's passes share: facts about each node, and functions that append
 * instructions. */
#ifndef GRAPH_COMPILE_H
#define GRAPH_COMPILE_H

#include <string.h>

#include "graph/plan.h"

/* A Sum lists the terms of a tree of additions. */
typedef struct Sum {
    const RelnNode **terms;
    int n;
} Sum;

/* An Info holds the facts that the planner knows about a node. */
typedef struct Info {
    bool needed;
    int uses;    /* readers among the needed nodes, outputs and assignments included */
    bool steady; /* depends on parameters, state and constants alone */
    int phase;
    int last_phase; /* the last phase with a reader of the value */
    bool is_output; /* is an output, or shares the memory of one */
    bool absorbed;  /* an addition folded into a sum, or a term that adds to another's place */
    Place place;    /* step level: its final place; shard level: its place in the program being laid
                         * out */
    Place lane;     /* of a reduction: its accumulator */
    int array;      /* index of its array over the whole batch; -1: it has none */
    bool again;     /* computed in every phase that reads it, instead of being kept */
    int reach;      /* the last phase in which it can be computed again */
    int depth;      /* the number of nodes, one after the other, that this takes */
    size_t reads_bytes; /* the bytes of an item that this reads */
    int sources; /* the number of kept values that this takes, at most 2; `source` is one of them */
    const RelnNode *source;
    Sum sum;            /* for the root of a tree of additions; n is 0 for all others */
    int loop;           /* index in the program being written; -1: none */
    bool whole;         /* in a loop's domain, but a reader needs items outside the current tile */
    size_t bytes;       /* size of the memory at its place */
    bool folded;        /* computed by its reader; it has neither an instruction nor memory */
    const Chain *chain; /* of the last node of a chain: its links, its nodes, the values it reads */
    const RelnNode *const *members, *const *reads;
    bool *reads_whole;
    int n_members, n_reads;
    int born, dies; /* instruction indices, in the program being laid out */
} Info;

typedef struct Planner {
    RelnPlan *plan;
    RelnArena *scratch; /* memory that only the planner needs */
    RelnGraph *g;       /* the graph being planned: the plan's, or the body of a function */
    Info *info;         /* by id */
    bool body;          /* planning a function */
    ptrdiff_t
        items; /* of a function that works on items; 0: the graph, or a placed function, which has the graph's
                * rows */
    Program *program; /* being written */
    int phase;        /* phase of the program */
    int open;         /* 1 + index of the loop that is being written; 0: none */
    int *order; /* ids of its nodes in the order of execution; the nodes of a loop are adjacent */
    int n_order;
} Planner;

/* A place in the slab whose offset reln_pass_lay_out() will assign. */
static const Place in_slab = {AT_SLAB, 0, 0};

static inline bool nomem(Planner *p)
{
    return reln_graph_nomem(p->plan->graph);
}

#define PLAN_ADD(plan, list, value) RELN_LIST_ADD(&(plan)->arena, list, value)

/* ---- kinds of nodes ------------------------------------------------------------------------------------------- */

static inline bool is_source(const RelnNode *x)
{
    return (x->op->flags & RELN_OP_SOURCE) != 0;
}

static inline bool is_alias(const RelnNode *x)
{
    return (x->op->flags & RELN_OP_ALIAS) != 0;
}

/* Returns whether x sums over a domain: its step-level value exists only after all shards. */
static inline bool is_reduction(const RelnNode *x)
{
    if (x->op == &reln_op_result)
        return x->domain == RELN_STEP && x->in[0]->domain != RELN_STEP;
    return (x->op->flags & RELN_OP_REDUCE) && x->domain == RELN_STEP &&
           x->in[0]->domain != RELN_STEP;
}

static inline bool is_plain_add(const RelnNode *x)
{
    return (x->op->flags & RELN_OP_SUM) &&
           memcmp(&x->in[0]->shape, &x->shape, sizeof x->shape) == 0 &&
           memcmp(&x->in[1]->shape, &x->shape, sizeof x->shape) == 0 &&
           x->in[0]->domain == x->domain && x->in[1]->domain == x->domain;
}

static inline bool is_load(const RelnNode *x)
{
    return x->op == &reln_op_input || x->op == &reln_op_index_input ||
           x->op == &reln_op_row_index || x->op == &reln_op_batch_count;
}

static inline const RelnFn *callee_of(const RelnNode *call)
{
    return ((const RelnCallAttr *)call->attr)->fn;
}

/* The results of a call follow it. */
static inline const RelnNode *result_of(const Planner *p, const RelnNode *call, int i)
{
    return p->g->nodes.items[call->id + 1 + i];
}

/* ---- facts about nodes ---------------------------------------------------------------------------------------- */

static inline void need(Planner *p, const RelnNode *x)
{
    p->info[x->id].needed = true;
    p->info[x->id].uses++;
}

/* Returns whether x is a reduction with a single reader: it can add to the reader's memory directly. */
static inline bool adds_directly(const Planner *p, const RelnNode *x)
{
    return is_reduction(x) && p->info[x->id].uses == 1;
}

/* Returns whether x has memory at step level that it does not share with an input or with a sum. */
static inline bool is_step_value(const Planner *p, const RelnNode *x)
{
    const Info *f = &p->info[x->id];

    return f->needed && !f->absorbed && x->domain == RELN_STEP && !is_alias(x);
}

static inline Place place_of(const Planner *p, const RelnNode *x)
{
    return p->info[reln_storage(x)->id].place;
}

static inline size_t align(size_t n)
{
    return (n + RELN_ALIGN - 1) / RELN_ALIGN * RELN_ALIGN;
}

/* Returns the largest number of items of a domain that are in memory at a time. */
static inline ptrdiff_t capacity_in(const Planner *p, RelnDomain domain)
{
    if (p->items)
        return domain == RELN_STEP ? 1 : p->items;
    return reln_domain_capacity(p->g, domain, p->plan->shard);
}

static inline ptrdiff_t capacity_of(const Planner *p, const RelnNode *x)
{
    return capacity_in(p, x->domain);
}

/* ---- loops ---------------------------------------------------------------------------------------------------- */

/* Returns the row domain for whose items x can be computed tile by tile; RELN_STEP when x cannot be computed
 * in tiles. */
static inline RelnDomain loop_domain(const RelnNode *x)
{
    RelnDomain d = x->domain;

    if (x->op == &reln_op_call)
        d = callee_of(x)->placed ? RELN_STEP : x->domain;
    else if (x->op->flags & RELN_OP_DOMAINS)
        d = x->op->tiling == RELN_TILED_BY_FIRST    ? x->in[0]->domain
            : x->op->tiling == RELN_TILED_BY_RESULT ? x->domain
                                                    : RELN_STEP;
    else if (x->op->flags & RELN_OP_REDUCE)
        d = x->in[0]->domain;
    return d > RELN_SAMPLES ? d : RELN_STEP;
}

/* Returns whether x adds, tile after tile, to a result outside the tile. */
static inline bool adds_whole(const RelnNode *x)
{
    return x->op->flags & RELN_OP_DOMAINS && x->op->tiling == RELN_TILED_BY_FIRST;
}

/* Returns whether x, in a loop, reads all items of input i, and not only the items of the tile. */
static inline bool reads_whole(const RelnNode *x, int i)
{
    return x->in[i]->domain != loop_domain(x) || (i < 32 && x->op->whole >> i & 1);
}

/* Returns the node that an instruction is emitted for: the call for a call's result, otherwise x itself. */
static inline const RelnNode *unit_of(const RelnNode *x)
{
    return x->op == &reln_op_result ? x->in[0] : x;
}

/* Returns whether the loop that computes x writes one tile of x at a time. */
static inline bool in_step(const Planner *p, const RelnNode *x)
{
    const RelnNode *unit = unit_of(x);

    return p->info[unit->id].loop >= 0 && !adds_whole(unit) && x->domain == loop_domain(unit);
}

/* Returns whether x has memory for one tile only. */
static inline bool is_passing(const Planner *p, const RelnNode *x)
{
    return in_step(p, x) && !p->info[x->id].whole && p->info[x->id].place.kind == AT_SLAB;
}

/* Resets the loops of the last program: no node of the next program is in a loop yet. */
static inline void reln_no_loops(Planner *p)
{
    for (int id = 0; id < p->g->nodes.count; id++)
        p->info[id].loop = -1;
}

static inline Loop *loop_of(const Planner *p, const RelnNode *unit)
{
    const int loop = p->info[unit->id].loop;

    return loop < 0 ? NULL : &p->program->loops.items[loop];
}

/* Returns the largest number of items that a unit is computed for at a time. */
static inline ptrdiff_t items_at_once(const Planner *p, const RelnNode *unit, RelnDomain domain)
{
    const Loop *loop = loop_of(p, unit);

    return loop && loop->domain == domain ? loop->tile : capacity_in(p, domain);
}

static inline Piece piece_at(int index, ptrdiff_t at, ptrdiff_t count)
{
    return (Piece){index, at, count - at < PIECE ? count - at : PIECE};
}

/* ---- the passes, in the order of compile.c -------------------------------------------------------------------- */

/* phases.c: which nodes are needed, in which phase each is computed, which values outlive a shard. */
void reln_pass_mark_roots(Planner *p);
void reln_pass_mark_needed(Planner *p);
void reln_pass_find_steady(Planner *p);
void reln_pass_find_phases(Planner *p);
bool reln_pass_add_phases(Planner *p);
bool reln_pass_find_kept(Planner *p);

/* place.c: sizes of all values, places of step-level values, accumulators of the reductions. */
void reln_pass_measure(Planner *p);
bool reln_pass_place_step(Planner *p);

/* programs.c: the instructions of the main graph. */
bool reln_pass_step_program(Planner *p, int phase);
bool reln_pass_shard_program(Planner *p, int phase);
bool reln_pass_commit_program(Planner *p);

/* schedule.c: the order of a program's nodes, and the loops in it. mine[id] says whether a node belongs to
 * the program. */
bool reln_pass_schedule(Planner *p, const bool *mine);
/* Bytes for the values that loops compute, after the loops have been chosen. */
void reln_pass_measure_tiles(Planner *p);

/* chain.c: which elementwise nodes of the program run in one pass. */
bool reln_pass_chain(Planner *p, const bool *mine);

/* body.c: the program of a function for a number of items; it is compiled once and then reused. */
bool reln_compile_body(RelnPlan *plan, const RelnFn *fn, ptrdiff_t items, Program **out);

/* layout.c: compute lifetimes of the values in the slab, assign their offsets, and write the offsets into the
 * instructions. */
bool reln_pass_lay_out(Planner *p, Program *program);

/* ---- functions that passes share ------------------------------------------------------------------------------ */

/* Reserves a place in the plan's shared memory. */
Place reln_place_shared(RelnPlan *plan, size_t bytes);
bool reln_place_const(Planner *p, const RelnNode *x);
/* The terms of a tree of additions: count them, or append them to the list of n terms and return its new length. */
int reln_count_terms(const Planner *p, const RelnNode *x, bool root);
int reln_collect_terms(Planner *p, const RelnNode *x, bool root, const RelnNode **terms, int n);

/* emit.c: instructions at the end of the program being written. */
bool reln_emit_simple(Planner *p, InstrKind kind, const RelnNode *node, RelnDomain domain, Place in,
                      Place out);
bool reln_emit_load(Planner *p, const RelnNode *x);
bool reln_emit_op(Planner *p, const RelnNode *x, Place out, bool accumulate);
bool reln_emit_sum(Planner *p, const RelnNode *x);
bool reln_emit_call(Planner *p, const RelnNode *x);
/* out = 0, for all items. */
bool reln_emit_zero(Planner *p, const RelnNode *x, Place out);
/* Emits all nodes in their order, with `node` for each; when a loop begins, `before` is called first for each
 * of its nodes. */
typedef bool (*EmitNode)(Planner *p, const RelnNode *x);
bool reln_emit_order(Planner *p, EmitNode before, EmitNode node);

#endif
