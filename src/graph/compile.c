/* compile.c -- from a graph to programs: what is needed, in which phase, at which place in memory. */
#include "graph/plan.h"

#include <assert.h>
#include <string.h>

/* What a tree of additions adds up. */
typedef struct Sum {
    const RelnNode **terms;
    int n;
} Sum;

/* What the planner knows of a node. */
typedef struct Info {
    bool needed;
    int uses;    /* readers among the needed nodes, outputs and assignments included */
    bool steady; /* depends on parameters, state and constants alone */
    int phase;
    int last_phase; /* of a reader */
    bool is_output; /* or has an output's memory */
    bool absorbed;  /* an addition folded into a sum, or a term that adds to another's place */
    Place place;    /* step level: for good; shard level: in the program being laid out */
    Place lane;     /* reductions: the accumulator */
    int array;      /* index of its array over the whole batch; -1: it has none */
    Sum sum;        /* of the root of a tree of additions; n is 0 for all others */
    size_t bytes;   /* room at its place */
    int born, dies; /* instruction indices, in the program being laid out */
} Info;

typedef struct Planner {
    RelnPlan *plan;
    RelnGraph *g; /* the graph being planned: the plan's, or the body of a function */
    Info *info;   /* by id */
    bool body;    /* planning a function, for this many items */
    ptrdiff_t items;
    Program *program; /* being written */
} Planner;

/* Somewhere in the slab: lay_out() says where. */
static const Place in_slab = {AT_SLAB, 0};

static bool compile_body(RelnPlan *plan, const RelnFn *fn, ptrdiff_t items, Program **out);

static bool nomem(Planner *p)
{
    return reln_graph_nomem(p->plan->graph);
}

#define PLAN_ADD(plan, list, value) RELN_LIST_ADD(&(plan)->arena, list, value)

/* ---- what kind of node ---------------------------------------------------------------------------------------- */

static bool is_source(const RelnNode *x)
{
    return (x->op->flags & RELN_OP_SOURCE) != 0;
}

static bool is_alias(const RelnNode *x)
{
    return (x->op->flags & RELN_OP_ALIAS) != 0;
}

const RelnNode *reln_storage(const RelnNode *x)
{
    while (is_alias(x))
        x = x->in[0];
    return x;
}

/* Adds up over a domain: its step-level value exists only after all shards. */
static bool is_reduction(const RelnNode *x)
{
    if (x->op == &reln_op_result)
        return x->domain == RELN_STEP && x->in[0]->domain != RELN_STEP;
    return (x->op->flags & RELN_OP_REDUCE) && x->domain == RELN_STEP &&
           x->in[0]->domain != RELN_STEP;
}

static bool is_plain_add(const RelnNode *x)
{
    return (x->op->flags & RELN_OP_SUM) &&
           memcmp(&x->in[0]->shape, &x->shape, sizeof x->shape) == 0 &&
           memcmp(&x->in[1]->shape, &x->shape, sizeof x->shape) == 0 &&
           x->in[0]->domain == x->domain && x->in[1]->domain == x->domain;
}

/* Runs in the shard program of its phase. */
static bool is_shard_work(const RelnNode *x)
{
    return x->domain != RELN_STEP || is_reduction(x);
}

/* ---- need and phase ------------------------------------------------------------------------------------------- */

static void need(Planner *p, const RelnNode *x)
{
    p->info[x->id].needed = true;
    p->info[x->id].uses++;
}

/* Readers come after what they read: one pass backwards finds everything. */
static void mark_needed(Planner *p)
{
    for (int id = p->g->nodes.count - 1; id >= 0; id--) {
        const RelnNode *x = p->g->nodes.items[id];

        for (int i = 0; i < x->n_in && p->info[id].needed; i++)
            need(p, x->in[i]);
    }
}

static bool is_fixed_source(const RelnNode *x)
{
    return x->op == &reln_op_param || x->op == &reln_op_state || x->op == &reln_op_const;
}

/* What a frozen plan computes once. A function is not looked into. */
static void find_steady(Planner *p)
{
    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];
        bool steady = x->domain == RELN_STEP && (x->n_in > 0 || is_fixed_source(x)) &&
                      x->op != &reln_op_call && !(x->op->flags & (RELN_OP_PLACE | RELN_OP_EFFECT));

        for (int i = 0; i < x->n_in; i++)
            steady = steady && p->info[x->in[i]->id].steady;
        p->info[id].steady = steady;
    }
}

static void raise_to(int *value, int least)
{
    *value = *value > least ? *value : least;
}

/* The first phase that can read x: what a reduction adds up is known one phase later. */
static int readable(const Planner *p, const RelnNode *x)
{
    return p->info[x->id].phase + (is_reduction(x) ? 1 : 0);
}

static void find_phases(Planner *p)
{
    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];
        Info *f = &p->info[id];

        for (int i = 0; i < x->n_in && f->needed; i++)
            raise_to(&f->phase, readable(p, x->in[i]));
        for (int i = 0; i < x->n_in && f->needed; i++)
            raise_to(&p->info[reln_storage(x->in[i])->id].last_phase, f->phase);
    }
}

/* ---- memory --------------------------------------------------------------------------------------------------- */

static size_t align(size_t n)
{
    return (n + RELN_ALIGN - 1) / RELN_ALIGN * RELN_ALIGN;
}

size_t reln_plan_room(const RelnNode *x, ptrdiff_t n)
{
    return align((size_t)n * reln_node_bytes(x));
}

static ptrdiff_t capacity_of(const Planner *p, const RelnNode *x)
{
    if (p->body)
        return x->domain == RELN_STEP ? 1 : p->items;
    return reln_domain_capacity(p->g, x->domain, p->plan->shard);
}

/* Room for every value and everything that is it seen with another shape. */
static void measure(Planner *p)
{
    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];
        Info *f = &p->info[reln_storage(x)->id];
        const size_t bytes = reln_plan_room(x, capacity_of(p, x));

        f->bytes = bytes > f->bytes ? bytes : f->bytes;
    }
}

static Place shared(RelnPlan *plan, size_t bytes)
{
    const Place place = {AT_STEP, plan->memory_size};

    plan->memory_size += align(bytes);
    return place;
}

/* ---- programs ------------------------------------------------------------------------------------------------- */

static Place place_of(const Planner *p, const RelnNode *x)
{
    return p->info[reln_storage(x)->id].place;
}

static bool emit(Planner *p, Instr instr)
{
    return PLAN_ADD(p->plan, &p->program->code, instr) || nomem(p);
}

static bool emit_simple(Planner *p, InstrKind kind, const RelnNode *node, RelnDomain domain,
                        Place in, Place out)
{
    Place *ins = reln_arena_copy(&p->plan->arena, &in, 1, sizeof in);

    if (!ins)
        return nomem(p);
    return emit(
        p, (Instr){.kind = kind, .node = node, .domain = domain, .n_in = 1, .in = ins, .out = out});
}

static bool emit_load(Planner *p, const RelnNode *x)
{
    return emit(
        p, (Instr){.kind = DO_LOAD, .node = x, .domain = x->domain, .out = p->info[x->id].place});
}

static bool gather_inputs(Planner *p, const RelnNode *x, Instr *instr)
{
    Place *in = reln_arena_alloc(&p->plan->arena, (size_t)x->n_in + 1, sizeof *in);
    RelnDomain *domains = reln_arena_alloc(&p->plan->arena, (size_t)x->n_in + 1, sizeof *domains);

    if (!in || !domains)
        return nomem(p);
    for (int i = 0; i < x->n_in; i++) {
        in[i] = place_of(p, x->in[i]);
        domains[i] = x->in[i]->domain;
    }
    instr->in = in;
    instr->in_domains = domains;
    instr->n_in = x->n_in;
    return true;
}

static bool prepare(Planner *p, const RelnNode *x, Instr *instr)
{
    const size_t size = x->op->prepare ? x->op->prepare(x, p->plan->kern, NULL) : 0;

    if (!size)
        return true;
    instr->prepared = reln_arena_alloc(&p->plan->arena, size, 1);
    if (!instr->prepared)
        return nomem(p);
    x->op->prepare(x, p->plan->kern, instr->prepared);
    return true;
}

/* The items that an op's work is counted in. */
static RelnDomain work_domain(const RelnNode *x)
{
    return is_reduction(x) ? x->in[0]->domain : x->domain;
}

/* Items of x for each item that the program is counted in: a sample, an item of a function, or the step itself. */
static double items_each(const Planner *p, const RelnNode *x, RelnDomain work)
{
    const ptrdiff_t unit = p->body ? p->items : work == RELN_STEP ? 1 : p->plan->shard;

    return (double)capacity_of(p, x) / (double)unit;
}

static void count_cost(Planner *p, const RelnNode *x)
{
    const RelnDomain work = work_domain(x);
    double most = items_each(p, x, work), bytes = most * (double)reln_node_bytes(x);

    for (int i = 0; i < x->n_in; i++) {
        const double each = items_each(p, x->in[i], work);

        most = each > most ? each : most;
        bytes += each * (double)reln_node_bytes(x->in[i]);
    }
    p->program->flops +=
        most * (x->op->flops ? x->op->flops(x) : (double)reln_shape_count(&x->shape));
    p->program->bytes += bytes;
}

/* Is everything steady that it reads at step level? */
static bool reads_steady(const Planner *p, const RelnNode *x)
{
    for (int i = 0; i < x->n_in; i++)
        if (x->in[i]->domain == RELN_STEP && !p->info[x->in[i]->id].steady)
            return false;
    return true;
}

/* Only where many shards will use it. */
static bool keep_pack(Planner *p, const RelnNode *x, Instr *instr)
{
    const bool often = p->body || instr->domain != RELN_STEP;
    const size_t bytes = x->op->packs && often ? x->op->packs(x, p->plan->kern) : 0;

    instr->pack = -1;
    if (!bytes)
        return true;
    instr->pack = p->plan->packs.count;
    instr->steady_pack = reads_steady(p, x);
    if (!PLAN_ADD(p->plan, &p->plan->packs, p->plan->pack_size))
        return nomem(p);
    p->plan->pack_size += align(bytes);
    return true;
}

static bool emit_op(Planner *p, const RelnNode *x, Place out, bool accumulate)
{
    Instr instr = {.kind = DO_OP,
                   .node = x,
                   .domain = work_domain(x),
                   .out = out,
                   .accumulate = accumulate,
                   .steady = p->info[x->id].steady};

    if (!gather_inputs(p, x, &instr) || !prepare(p, x, &instr) || !keep_pack(p, x, &instr))
        return false;
    count_cost(p, x);
    return emit(p, instr);
}

/* ---- sums of reductions --------------------------------------------------------------------------------------- */

/* Trees of additions: every inner one is read by the one around it alone. */
static bool has_terms(const Planner *p, const RelnNode *x, bool root)
{
    return (root || p->info[x->id].uses == 1) && is_plain_add(x);
}

static int count_terms(const Planner *p, const RelnNode *x, bool root)
{
    if (has_terms(p, x, root))
        return count_terms(p, x->in[0], false) + count_terms(p, x->in[1], false);
    return 1;
}

/* Appends the terms to the n that are there, and returns how many there are then. */
static int collect_terms(Planner *p, const RelnNode *x, bool root, const RelnNode **terms, int n)
{
    if (has_terms(p, x, root)) {
        p->info[x->id].absorbed = !root;
        n = collect_terms(p, x->in[0], false, terms, n);
        return collect_terms(p, x->in[1], false, terms, n);
    }
    terms[n] = x;
    return n + 1;
}

/* A reduction that may as well add to its reader's place. */
static bool adds_directly(const Planner *p, const RelnNode *x)
{
    return is_reduction(x) && p->info[x->id].uses == 1;
}

/* ---- step level ----------------------------------------------------------------------------------------------- */

static Piece piece_at(int index, ptrdiff_t at, ptrdiff_t count)
{
    return (Piece){index, at, count - at < PIECE ? count - at : PIECE};
}

static bool add_accumulator(Planner *p, const RelnNode *x)
{
    Info *f = &p->info[x->id];
    const Accumulator sum = {p->plan->lane_size, f->place, (size_t)reln_shape_count(&x->shape),
                             x->dtype};

    Phase *phase = &p->plan->phases.items[f->phase];

    f->lane = (Place){AT_LANE, p->plan->lane_size};
    p->plan->lane_size += reln_plan_room(x, 1);
    for (ptrdiff_t at = 0; at < (ptrdiff_t)sum.count; at += PIECE)
        if (!PLAN_ADD(p->plan, &phase->pieces,
                      piece_at(phase->sums.count, at, (ptrdiff_t)sum.count)))
            return nomem(p);
    return PLAN_ADD(p->plan, &phase->sums, sum) || nomem(p);
}

/* The one of n terms that x can share an accumulator with. */
static const RelnNode *partner(const Planner *p, const RelnNode *const *terms, int n,
                               const RelnNode *x)
{
    for (int i = 0; i < n && adds_directly(p, x); i++)
        if (adds_directly(p, terms[i]) && p->info[terms[i]->id].phase == p->info[x->id].phase)
            return terms[i];
    return NULL;
}

static bool place_term(Planner *p, const RelnNode *x)
{
    Info *f = &p->info[x->id];

    if (!is_reduction(x) || f->lane.kind != AT_NOWHERE)
        return true;
    f->place = shared(p->plan, reln_plan_room(x, 1));
    return add_accumulator(p, x);
}

/* Reductions whose only reader is one tree of additions share an accumulator: thirty-two calls of a function add to
 * one array of weight gradients. */
static bool share_accumulators(Planner *p, Sum *sum)
{
    int left = 0;

    for (int i = 0; i < sum->n; i++) {
        const RelnNode *x = sum->terms[i], *y = partner(p, sum->terms, left, x);

        if (y) {
            p->info[x->id].lane = p->info[y->id].lane;
            p->info[x->id].absorbed = true;
            continue;
        }
        if (!place_term(p, x))
            return false;
        sum->terms[left++] = x;
    }
    sum->n = left;
    return true;
}

static bool plan_sum(Planner *p, const RelnNode *root)
{
    Sum *sum = &p->info[root->id].sum;

    sum->terms =
        reln_arena_alloc(&p->plan->arena, (size_t)count_terms(p, root, true), sizeof *sum->terms);
    if (!sum->terms)
        return nomem(p);
    sum->n = collect_terms(p, root, true, sum->terms, 0);
    if (!share_accumulators(p, sum))
        return false;
    /* one term, read by nobody else: the sum is its total */
    if (sum->n == 1 && adds_directly(p, sum->terms[0]))
        p->info[root->id].place = place_of(p, sum->terms[0]);
    return true;
}

static bool place_const(Planner *p, const RelnNode *x)
{
    const Place place = shared(p->plan, p->info[x->id].bytes);
    const Constant constant = {x, place.offset};

    p->info[x->id].place = place;
    return PLAN_ADD(p->plan, &p->plan->constants, constant) || nomem(p);
}

static bool place_entry(Planner *p, const RelnNode *x)
{
    const RelnStoreEntry *of = ((const RelnParamAttr *)x->attr)->entry;
    const Entry entry = {of, of->values};

    p->info[x->id].place = (Place){AT_ENTRY, (size_t)p->plan->entries.count};
    return PLAN_ADD(p->plan, &p->plan->entries, entry) || nomem(p);
}

/* Has a value at step level that is its own. */
static bool is_step_value(const Planner *p, const RelnNode *x)
{
    const Info *f = &p->info[x->id];

    return f->needed && !f->absorbed && x->domain == RELN_STEP && !is_alias(x);
}

static bool place_step_node(Planner *p, const RelnNode *x)
{
    Info *f = &p->info[x->id];

    if (f->place.kind != AT_NOWHERE || x->op == &reln_op_call || (x->op->flags & RELN_OP_EFFECT))
        return true;
    if (x->op == &reln_op_const)
        return place_const(p, x);
    if (x->op == &reln_op_param)
        p->plan->parameters += (size_t)reln_shape_count(&x->shape);
    if (x->op == &reln_op_param || x->op == &reln_op_state)
        return place_entry(p, x);
    f->place = shared(p->plan, f->bytes);
    return !is_reduction(x) || add_accumulator(p, x);
}

/* Places of everything at step level, lanes of the reductions. Outer sums come first: they take in the inner ones. */
static bool place_step(Planner *p)
{
    RelnNode *const *nodes = p->g->nodes.items;

    for (int id = p->g->nodes.count - 1; id >= 0; id--)
        if (is_step_value(p, nodes[id]) && is_plain_add(nodes[id]) && !plan_sum(p, nodes[id]))
            return false;
    for (int id = 0; id < p->g->nodes.count; id++)
        if (is_step_value(p, nodes[id]) && !place_step_node(p, nodes[id]))
            return false;
    return true;
}

static bool emit_sum(Planner *p, const RelnNode *x)
{
    const Info *f = &p->info[x->id];
    const int n = f->sum.n;
    Instr instr;
    Place *in;

    if (n == 1 && place_of(p, f->sum.terms[0]).offset == f->place.offset)
        return true;
    in = reln_arena_alloc(&p->plan->arena, (size_t)n, sizeof *in);
    if (!in)
        return nomem(p);
    for (int i = 0; i < n; i++)
        in[i] = place_of(p, f->sum.terms[i]);
    p->program->flops += (double)(n - 1) * (double)reln_shape_count(&x->shape);
    instr = (Instr){.kind = DO_SUM, .node = x, .domain = RELN_STEP, .n_in = n, .in = in};
    instr.out = f->place;
    instr.steady = f->steady;
    return emit(p, instr);
}

/* ---- calls ---------------------------------------------------------------------------------------------------- */

static const RelnFn *callee_of(const RelnNode *call)
{
    return ((const RelnCallAttr *)call->attr)->fn;
}

/* The results of a call follow it. */
static const RelnNode *result_of(const Planner *p, const RelnNode *call, int i)
{
    return p->g->nodes.items[call->id + 1 + i];
}

/* Where the results of a call go; those that nobody reads go nowhere. */
static bool place_call(Planner *p, const RelnNode *x, Instr *instr)
{
    instr->n_out = callee_of(x)->n_out;
    instr->outs = reln_arena_alloc(&p->plan->arena, (size_t)instr->n_out, sizeof *instr->outs);
    if (!instr->outs)
        return nomem(p);
    for (int i = 0; i < instr->n_out; i++) {
        const Info *f = &p->info[result_of(p, x, i)->id];

        if (f->needed)
            instr->outs[i] = f->lane.kind == AT_LANE ? f->lane : f->place;
    }
    return true;
}

static bool emit_call(Planner *p, const RelnNode *x)
{
    Program *callee = NULL;
    Instr instr = {.kind = DO_CALL, .node = x, .domain = x->domain};

    if (!compile_body(p->plan, callee_of(x), capacity_of(p, x), &callee) ||
        !gather_inputs(p, x, &instr) || !place_call(p, x, &instr))
        return false;
    assert(callee); /* a body that compiles has a program */
    instr.callee = callee;
    p->program->flops += items_each(p, x, x->domain) * callee->flops;
    p->program->bytes += items_each(p, x, x->domain) * callee->bytes;
    return emit(p, instr);
}

/* ---- layout of a program -------------------------------------------------------------------------------------- */

/* A value in the slab while a program is laid out. */
typedef struct Buffer {
    int born, dies; /* instruction indices, both included */
    size_t bytes, offset;
    Place *user; /* where the offset is wanted */
} Buffer;

typedef struct Layout {
    Planner *p;
    RELN_LIST(Buffer) buffers;
} Layout;

/* Offsets by first fit: a buffer goes to the lowest gap among those alive with it. */
static size_t first_fit(const Buffer *placed, int n, const Buffer *b, int *order)
{
    size_t at = 0;

    for (int i = 0; i < n; i++) {
        const Buffer *o = &placed[order[i]];

        if (o->dies < b->born || b->dies < o->born)
            continue;
        if (o->offset >= at + b->bytes)
            break;
        if (o->offset + o->bytes > at)
            at = o->offset + o->bytes;
    }
    return at;
}

static bool place_buffers(Layout *l, size_t *slab)
{
    RelnPlan *plan = l->p->plan;
    const int n = l->buffers.count;
    int *order = reln_arena_alloc(&plan->arena, (size_t)n + 1, sizeof *order);

    if (!order)
        return nomem(l->p);
    *slab = 0;
    for (int i = 0; i < n; i++) {
        Buffer *b = &l->buffers.items[i];
        int at = i;

        b->offset = first_fit(l->buffers.items, i, b, order);
        /* keep the order by offset */
        while (at > 0 && l->buffers.items[order[at - 1]].offset > b->offset) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
        *slab = b->offset + b->bytes > *slab ? b->offset + b->bytes : *slab;
    }
    return true;
}

static bool want_buffer(Layout *l, const RelnNode *x)
{
    Info *f = &l->p->info[x->id];
    const Buffer b = {f->born, f->dies, f->bytes, 0, &f->place};

    return PLAN_ADD(l->p->plan, &l->buffers, b) || nomem(l->p);
}

static bool want_scratch(Layout *l, Instr *instr, int index, size_t bytes)
{
    const Buffer b = {index, index, align(bytes), 0, &instr->scratch};

    instr->scratch.kind = AT_SLAB;
    return PLAN_ADD(l->p->plan, &l->buffers, b) || nomem(l->p);
}

static size_t scratch_of(const Planner *p, const Instr *instr)
{
    const RelnNode *x = instr->node;

    if (instr->kind == DO_CALL) {
        /* results that nobody reads still need somewhere to go */
        size_t bytes = instr->callee->slab;

        for (int i = 0; i < instr->n_out; i++)
            if (instr->outs[i].kind == AT_NOWHERE)
                bytes += reln_plan_room(instr->callee->fn->out[i], instr->callee->items);
        return bytes;
    }
    if (instr->kind != DO_OP || !x->op->scratch)
        return 0;
    if (p->body)
        return x->op->scratch(x, instr->domain == RELN_STEP ? 1 : p->items);
    return x->op->scratch(x, reln_domain_capacity(p->g, instr->domain, p->plan->shard));
}

/* Reads what the node reads, or the node itself. */
static bool reads_inputs(const Instr *instr)
{
    return instr->kind == DO_OP || instr->kind == DO_CALL;
}

static bool reads_node(const Instr *instr)
{
    return instr->kind == DO_KEEP || instr->kind == DO_ADD_TO || instr->kind == DO_COPY;
}

/* A value lives from the instruction that makes it to the last that reads it. */
static void note_life(Planner *p, const Instr *instr, int t)
{
    const RelnNode *x = instr->node;

    for (int i = 0; i < instr->n_out; i++)
        p->info[result_of(p, x, i)->id].born = p->info[result_of(p, x, i)->id].dies = t;
    if (instr->kind == DO_OP || instr->kind == DO_LOAD || instr->kind == DO_SUM)
        p->info[x->id].born = p->info[x->id].dies = t;
    for (int i = 0; i < x->n_in && reads_inputs(instr); i++)
        p->info[reln_storage(x->in[i])->id].dies = t;
    if (reads_node(instr))
        p->info[reln_storage(x)->id].dies = t;
}

static void find_lives(Planner *p, const Program *program)
{
    for (int id = 0; id < p->g->nodes.count; id++)
        p->info[id].born = p->info[id].dies = -1;
    for (int t = 0; t < program->code.count; t++)
        note_life(p, &program->code.items[t], t);
}

static bool want_memory(Layout *l, Program *program)
{
    Planner *p = l->p;

    for (int id = 0; id < p->g->nodes.count; id++)
        if (p->info[id].born >= 0 && p->info[id].place.kind == AT_SLAB &&
            !want_buffer(l, p->g->nodes.items[id]))
            return false;
    for (int t = 0; t < program->code.count; t++) {
        Instr *instr = &program->code.items[t];
        const size_t bytes = scratch_of(p, instr);

        if (bytes && !want_scratch(l, instr, t, bytes))
            return false;
    }
    return true;
}

/* Instructions hold places by value: they take them again once offsets are known. */
static void settle(const Planner *p, Instr *instr)
{
    const RelnNode *x = instr->node;

    for (int i = 0; i < x->n_in && reads_inputs(instr); i++)
        instr->in[i] = place_of(p, x->in[i]);
    if (reads_node(instr) && instr->in[0].kind == AT_SLAB)
        instr->in[0] = place_of(p, x);
    if (!reads_node(instr) && instr->out.kind == AT_SLAB)
        instr->out = p->info[x->id].place;
    for (int i = 0; i < instr->n_out; i++)
        if (instr->outs[i].kind == AT_SLAB)
            instr->outs[i] = p->info[result_of(p, x, i)->id].place;
}

/* Who lives when, then where; and let every instruction know. */
static bool lay_out(Planner *p, Program *program)
{
    Layout l = {.p = p};

    find_lives(p, program);
    if (!want_memory(&l, program) || !place_buffers(&l, &program->slab))
        return false;
    for (int i = 0; i < l.buffers.count; i++)
        l.buffers.items[i].user->offset = l.buffers.items[i].offset;
    for (int t = 0; t < program->code.count; t++)
        settle(p, &program->code.items[t]);
    return true;
}

/* ---- programs of the main graph ------------------------------------------------------------------------------- */

static bool is_load(const RelnNode *x)
{
    return x->op == &reln_op_input || x->op == &reln_op_index_input ||
           x->op == &reln_op_row_sample || x->op == &reln_op_batch_count;
}

static bool reads(const RelnNode *y, const RelnNode *x)
{
    for (int i = 0; i < y->n_in; i++)
        if (reln_storage(y->in[i]) == x)
            return true;
    return false;
}

/* Is a shard-level source read in this phase? */
static bool read_in_phase(const Planner *p, const RelnNode *x, int phase)
{
    for (int id = x->id + 1; id < p->g->nodes.count; id++) {
        const RelnNode *y = p->g->nodes.items[id];
        const Info *f = &p->info[id];

        if (f->needed && f->phase == phase && !is_alias(y) && is_shard_work(y) && reads(y, x))
            return true;
    }
    return false;
}

static bool keep(Planner *p, const RelnNode *x)
{
    const int array = p->info[x->id].array;

    return array < 0 ||
           emit_simple(p, DO_KEEP, x, x->domain, place_of(p, x), (Place){AT_KEPT, (size_t)array});
}

/* Loaded again in each phase that reads it, which costs no more than keeping it. */
static bool shard_load(Planner *p, const RelnNode *x, int phase)
{
    Info *f = &p->info[x->id];
    const bool keep_here = f->array >= 0 && phase == 0;

    if (!keep_here && !read_in_phase(p, x, phase))
        return true;
    f->place = in_slab;
    return emit_load(p, x) && (!keep_here || keep(p, x));
}

static bool shard_call(Planner *p, const RelnNode *x)
{
    const int n_out = callee_of(x)->n_out;

    for (int i = 0; i < n_out; i++) {
        const RelnNode *r = result_of(p, x, i);

        if (r->domain != RELN_STEP && p->info[r->id].needed)
            p->info[r->id].place = in_slab;
    }
    if (!emit_call(p, x))
        return false;
    for (int i = 0; i < n_out; i++)
        if (!keep(p, result_of(p, x, i)))
            return false;
    return true;
}

static bool shard_op(Planner *p, const RelnNode *x)
{
    Info *f = &p->info[x->id];

    if (is_reduction(x))
        return emit_op(p, x, f->lane, true);
    f->place = in_slab;
    return emit_op(p, x, f->place, false) && keep(p, x);
}

static bool shard_node(Planner *p, const RelnNode *x, int phase)
{
    const Info *f = &p->info[x->id];

    if (!f->needed || !is_shard_work(x) || is_alias(x))
        return true;
    if (is_load(x))
        return shard_load(p, x, phase);
    if (f->phase != phase || x->op == &reln_op_result)
        return true;
    return x->op == &reln_op_call ? shard_call(p, x) : shard_op(p, x);
}

static bool shard_program(Planner *p, int phase)
{
    p->program = &p->plan->phases.items[phase].shards;
    for (int id = 0; id < p->g->nodes.count; id++)
        if (!shard_node(p, p->g->nodes.items[id], phase))
            return false;
    if (!lay_out(p, p->program))
        return false;
    /* later phases read from the array over the whole batch */
    for (int id = 0; id < p->g->nodes.count; id++) {
        Info *f = &p->info[id];

        if (f->array >= 0 && f->place.kind == AT_SLAB && !is_load(p->g->nodes.items[id]))
            f->place = (Place){AT_KEPT, (size_t)f->array};
    }
    return true;
}

static bool step_node(Planner *p, const RelnNode *x, int phase)
{
    const Info *f = &p->info[x->id];

    if (!is_step_value(p, x))
        return true;
    if (is_load(x))
        return phase > 0 || emit_load(p, x);
    if (f->phase != phase || is_source(x) || is_reduction(x) || (x->op->flags & RELN_OP_EFFECT) ||
        x->op == &reln_op_result)
        return true;
    if (x->op == &reln_op_call)
        return emit_call(p, x);
    return f->sum.n ? emit_sum(p, x) : emit_op(p, x, f->place, false);
}

static bool step_program(Planner *p, int phase)
{
    p->program = &p->plan->phases.items[phase].step;
    for (int id = 0; id < p->g->nodes.count; id++)
        if (!step_node(p, p->g->nodes.items[id], phase))
            return false;
    return lay_out(p, p->program);
}

static bool find_kept(Planner *p)
{
    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];
        Info *f = &p->info[id];
        const bool across = f->last_phase > f->phase && !is_load(x);
        const Kept kept = {.node = x, .item = reln_node_bytes(x)};

        f->array = -1;
        if (!f->needed || x->domain == RELN_STEP || is_alias(x) || x->op == &reln_op_call ||
            !(f->is_output || across))
            continue;
        f->array = p->plan->kept.count;
        if (!PLAN_ADD(p->plan, &p->plan->kept, kept))
            return nomem(p);
    }
    return true;
}

/* The store's arrays are about to change: what is asked of one is its value in this run, so it is copied first. */
static bool value_of_run(Planner *p, const RelnNode *x, Place *out)
{
    *out = place_of(p, x);
    if (out->kind != AT_ENTRY)
        return true;
    *out = shared(p->plan, reln_node_bytes(x));
    return emit_simple(p, DO_COPY, x, RELN_STEP, place_of(p, x), *out);
}

static bool place_outputs(Planner *p)
{
    const int n = p->g->outputs.count;
    Place *places = reln_arena_alloc(&p->plan->arena, (size_t)n + 1, sizeof *places);

    if (!places)
        return nomem(p);
    p->plan->outputs = places;
    for (int i = 0; i < n; i++) {
        const RelnNode *x = p->g->outputs.items[i].node;
        const int array = p->info[reln_storage(x)->id].array;

        places[i] = (Place){AT_KEPT, (size_t)array};
        if (array < 0 && !value_of_run(p, x, &places[i]))
            return false;
    }
    return true;
}

static bool emit_effect(Planner *p, const RelnNode *x)
{
    const int index = p->program->code.count;
    const ptrdiff_t count = reln_shape_count(&x->shape);

    for (ptrdiff_t at = 0; at < count; at += PIECE)
        if (!PLAN_ADD(p->plan, &p->plan->pieces, piece_at(index, at, count)))
            return nomem(p);
    return emit_op(p, x, (Place){AT_NOWHERE, 0}, false);
}

static bool commit_program(Planner *p)
{
    const int n = p->g->assigns.count;
    const RelnAssign *assigns = p->g->assigns.items;
    Place *values = reln_arena_alloc(&p->plan->arena, (size_t)n + 1, sizeof *values);

    if (!values)
        return nomem(p);
    p->program = &p->plan->commit;
    if (!place_outputs(p))
        return false;
    for (int i = 0; i < n; i++)
        if (!value_of_run(p, assigns[i].value, &values[i]))
            return false;
    p->plan->effects = p->program->code.count;
    for (int i = 0; i < p->g->effects.count; i++)
        if (!emit_effect(p, p->g->effects.items[i]))
            return false;
    p->plan->effects_end = p->program->code.count;
    for (int i = 0; i < n; i++)
        if (!emit_simple(p, DO_COPY, assigns[i].value, RELN_STEP, values[i],
                         place_of(p, assigns[i].state)))
            return false;
    return lay_out(p, p->program);
}

static bool add_phases(Planner *p)
{
    const Phase empty = {0};
    int last = 0;

    for (int id = 0; id < p->g->nodes.count; id++)
        if (p->info[id].needed)
            raise_to(&last, readable(p, p->g->nodes.items[id]));
    for (int i = 0; i <= last; i++)
        if (!PLAN_ADD(p->plan, &p->plan->phases, empty))
            return nomem(p);
    return true;
}

static void mark_roots(Planner *p)
{
    for (int i = 0; i < p->g->outputs.count; i++) {
        const RelnNode *x = p->g->outputs.items[i].node;

        need(p, x);
        p->info[x->id].uses++; /* an output keeps a place of its own */
        p->info[reln_storage(x)->id].is_output = true;
    }
    for (int i = 0; i < p->g->assigns.count; i++) {
        need(p, p->g->assigns.items[i].state);
        need(p, p->g->assigns.items[i].value);
    }
    for (int i = 0; i < p->g->effects.count; i++)
        need(p, p->g->effects.items[i]);
}

bool reln_plan_compile(RelnPlan *plan)
{
    RelnGraph *g = plan->graph;
    Planner p = {.plan = plan, .g = g};

    p.info = reln_arena_alloc(&plan->arena, (size_t)g->nodes.count + 1, sizeof *p.info);
    if (!p.info)
        return nomem(&p);
    measure(&p);
    mark_roots(&p);
    mark_needed(&p);
    find_steady(&p);
    find_phases(&p);
    if (!add_phases(&p) || !find_kept(&p) || !place_step(&p))
        return false;
    for (int i = 0; i < plan->phases.count; i++)
        if (!step_program(&p, i) || !shard_program(&p, i))
            return false;
    return commit_program(&p);
}

/* ---- functions ------------------------------------------------------------------------------------------------ */

/* A result at step level is added to what the caller has. Where it is a sum of reductions, each of them adds by itself;
 * anything else is computed in the slab first. */
static const RelnNode **result_terms(Planner *p, const RelnNode *out, int *n)
{
    const bool flat = p->info[out->id].uses == 1;
    const int count = flat ? count_terms(p, out, true) : 1;
    const RelnNode **terms = reln_arena_alloc(&p->plan->arena, (size_t)count, sizeof *terms);

    *n = 0;
    if (!terms)
        nomem(p);
    else if (flat)
        *n = collect_terms(p, out, true, terms, 0);
    else
        terms[(*n)++] = out;
    return terms;
}

static bool place_step_result(Planner *p, const RelnNode *out, Place place)
{
    int n = 0;
    const RelnNode **terms = result_terms(p, out, &n);

    for (int i = 0; i < n; i++)
        if (adds_directly(p, terms[i]))
            p->info[terms[i]->id].place = place;
    p->info[out->id].absorbed = n > 1;
    return terms != NULL;
}

static bool add_step_result(Planner *p, const RelnNode *out, Place place)
{
    int n = 0;
    const RelnNode **terms = result_terms(p, out, &n);

    for (int i = 0; i < n; i++)
        if (!adds_directly(p, terms[i]) &&
            !emit_simple(p, DO_ADD_TO, terms[i], RELN_STEP, place_of(p, terms[i]), place))
            return false;
    return terms != NULL;
}

/* Results of items are computed in place, the first that has a node's memory; others are copied. */
static bool place_results(Planner *p, const RelnFn *fn)
{
    for (int i = 0; i < fn->n_out; i++) {
        const RelnNode *out = fn->out[i], *s = reln_storage(out);
        const Place place = {AT_OUT, (size_t)i};

        if (out->domain == RELN_STEP) {
            if (!place_step_result(p, out, place))
                return false;
        } else if (!is_source(s) && s->domain != RELN_STEP &&
                   p->info[s->id].place.kind == AT_NOWHERE) {
            p->info[s->id].place = place;
        }
    }
    return true;
}

static bool finish_results(Planner *p, const RelnFn *fn)
{
    for (int i = 0; i < fn->n_out; i++) {
        const RelnNode *out = fn->out[i];
        const Place place = {AT_OUT, (size_t)i}, have = place_of(p, out);

        if (out->domain == RELN_STEP) {
            if (!add_step_result(p, out, place))
                return false;
        } else if ((have.kind != AT_OUT || have.offset != (size_t)i) &&
                   !emit_simple(p, DO_COPY, out, out->domain, have, place)) {
            return false;
        }
    }
    return true;
}

static bool body_call(Planner *p, const RelnNode *x)
{
    for (int i = 0; i < callee_of(x)->n_out; i++) {
        Info *f = &p->info[result_of(p, x, i)->id];

        if (f->needed && f->place.kind == AT_NOWHERE)
            f->place = in_slab;
    }
    return emit_call(p, x);
}

static bool body_node(Planner *p, const RelnNode *x)
{
    Info *f = &p->info[x->id];

    if (!f->needed || f->absorbed || is_alias(x) || is_source(x) || x->op == &reln_op_result)
        return true;
    if (x->op == &reln_op_call)
        return body_call(p, x);
    if (f->place.kind == AT_NOWHERE)
        f->place = in_slab;
    return emit_op(p, x, f->place, is_reduction(x) && f->place.kind == AT_OUT);
}

static bool compile_body_nodes(Planner *p, const RelnFn *fn)
{
    measure(p);
    for (int i = 0; i < fn->n_out; i++)
        need(p, fn->out[i]);
    mark_needed(p);
    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];

        if (x->op == &reln_op_argument)
            p->info[id].place = (Place){AT_ARG, (size_t)((const RelnSource *)x->attr)->index};
        else if (x->op == &reln_op_const && p->info[id].needed && !place_const(p, x))
            return false;
    }
    if (!place_results(p, fn))
        return false;
    for (int id = 0; id < p->g->nodes.count; id++)
        if (!body_node(p, p->g->nodes.items[id]))
            return false;
    return finish_results(p, fn) && lay_out(p, p->program);
}

static bool compile_body(RelnPlan *plan, const RelnFn *fn, ptrdiff_t items, Program **out)
{
    Planner p = {.plan = plan, .g = fn->body, .body = true, .items = items};

    for (int i = 0; i < plan->callees.count; i++)
        if (plan->callees.items[i]->fn == fn && plan->callees.items[i]->items == items) {
            *out = plan->callees.items[i];
            return true;
        }
    p.info = reln_arena_alloc(&plan->arena, (size_t)fn->body->nodes.count + 1, sizeof *p.info);
    p.program = reln_arena_alloc(&plan->arena, 1, sizeof *p.program);
    if (!p.info || !p.program)
        return nomem(&p);
    p.program->fn = fn;
    p.program->items = items;
    if (!compile_body_nodes(&p, fn))
        return false;
    *out = p.program;
    return PLAN_ADD(plan, &plan->callees, p.program) || nomem(&p);
}
