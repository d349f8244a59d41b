/* compile.c -- from a graph to programs: what is needed, in which phase, at which place in memory. */
#include "graph/plan.h"

#include <assert.h>
#include <string.h>

/* What the planner knows of a node. */
typedef struct Info {
    bool needed;
    int uses; /* readers among the needed nodes, outputs and assignments included */
    int phase;
    int last_phase; /* of a reader */
    bool kept;      /* per-sample value read in a later phase, or an output */
    bool
        absorbed; /* an addition that was folded into a sum, or a term of one that adds to another's place */
    Place place;    /* step level: for good; shard level: in the program being laid out */
    size_t bytes;   /* room at that place */
    int born, dies; /* instruction indices, in the program being laid out */
} Info;

typedef struct Planner {
    RelnPlan *plan;
    RelnGraph *g; /* the graph being planned: the plan's, or the body of a function */
    Info *info;   /* by id */
    bool body;    /* planning a function, for this many items */
    ptrdiff_t items;
    Program *program;
} Planner;

static bool compile_body(RelnPlan *plan, RelnFn *fn, ptrdiff_t items, Program **out);

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

/* Readers come after what they read: one pass backwards finds everything, one forwards the phases. */
static void mark_needed(Planner *p)
{
    for (int id = p->g->nodes.count - 1; id >= 0; id--) {
        const RelnNode *x = p->g->nodes.items[id];

        for (int i = 0; i < x->n_in && p->info[id].needed; i++)
            need(p, x->in[i]);
    }
    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];
        Info *f = &p->info[id];

        for (int i = 0; i < x->n_in && f->needed; i++) {
            const RelnNode *in = x->in[i];
            const Info *fi = &p->info[in->id];
            /* reading what a reduction adds up: one phase later */
            const int phase = fi->phase + (is_reduction(in) ? 1 : 0);

            f->phase = phase > f->phase ? phase : f->phase;
        }
    }
    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];

        for (int i = 0; i < x->n_in && p->info[id].needed; i++) {
            Info *fs = &p->info[reln_storage(x->in[i])->id];

            fs->last_phase =
                p->info[id].phase > fs->last_phase ? p->info[id].phase : fs->last_phase;
        }
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
    const Place place = {AT_STEP, plan->memory_size, NULL};

    plan->memory_size += align(bytes);
    return place;
}

/* ---- programs ------------------------------------------------------------------------------------------------- */

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

static Place place_of(const Planner *p, const RelnNode *x)
{
    return p->info[reln_storage(x)->id].place;
}

static Instr *emit(Planner *p, Instr instr)
{
    if (!PLAN_ADD(p->plan, &p->program->code, instr)) {
        nomem(p);
        return NULL;
    }
    return &p->program->code.items[p->program->code.count - 1];
}

static bool emit_simple(Planner *p, InstrKind kind, const RelnNode *node, RelnDomain domain,
                        Place in, Place out)
{
    Place *ins = reln_arena_copy(&p->plan->arena, &in, 1, sizeof in);

    if (!ins)
        return nomem(p);
    return emit(p, (Instr){.kind = kind,
                           .node = node,
                           .domain = domain,
                           .n_in = 1,
                           .in = ins,
                           .out = out}) != NULL;
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

/* Only where many shards will use it. */
static bool keep_pack(Planner *p, const RelnNode *x, Instr *instr)
{
    const bool often = p->body || instr->domain != RELN_STEP;
    const size_t bytes = x->op->packs && often ? x->op->packs(x, p->plan->kern) : 0;

    instr->pack = -1;
    if (!bytes)
        return true;
    instr->pack = p->plan->packs.count;
    if (!PLAN_ADD(p->plan, &p->plan->packs, p->plan->pack_size))
        return nomem(p);
    p->plan->pack_size += align(bytes);
    return true;
}

static bool emit_op(Planner *p, const RelnNode *x, Place out, bool accumulate)
{
    Instr instr = {
        .kind = DO_OP, .node = x, .domain = work_domain(x), .out = out, .accumulate = accumulate};

    if (!gather_inputs(p, x, &instr) || !prepare(p, x, &instr) || !keep_pack(p, x, &instr))
        return false;
    count_cost(p, x);
    return emit(p, instr) != NULL;
}

/* ---- sums of reductions --------------------------------------------------------------------------------------- */

/* The terms of a tree of additions in which each inner sum has one reader. */
static bool collect_terms(Planner *p, const RelnNode *x, bool root, const RelnNode **terms, int max,
                          int *n)
{
    if ((root || p->info[x->id].uses == 1) && is_plain_add(x)) {
        p->info[x->id].absorbed = !root;
        return collect_terms(p, x->in[0], false, terms, max, n) &&
               collect_terms(p, x->in[1], false, terms, max, n);
    }
    if (*n == max)
        return false;
    terms[(*n)++] = x;
    return true;
}

static int count_terms(const Planner *p, const RelnNode *x, bool root)
{
    if ((root || p->info[x->id].uses == 1) && is_plain_add(x))
        return count_terms(p, x->in[0], false) + count_terms(p, x->in[1], false);
    return 1;
}

typedef struct Sum {
    const RelnNode *root;
    const RelnNode **terms;
    int n;
} Sum;

/* ---- the main graph ------------------------------------------------------------------------------------------- */

static bool add_accumulator(Planner *p, const RelnNode *x, Place total, Place *lane)
{
    Phase *phase = &p->plan->phases.items[p->info[x->id].phase];
    const Accumulator sum = {p->plan->lane_size, total, (size_t)reln_shape_count(&x->shape),
                             x->dtype, x};

    *lane = (Place){AT_LANE, p->plan->lane_size, NULL};
    p->plan->lane_size += reln_plan_room(x, 1);
    return PLAN_ADD(p->plan, &phase->sums, sum) || nomem(p);
}

/* Reductions whose only reader is one tree of additions share an accumulator: thirty-two calls of a function add to
 * one array of weight gradients. `lane_of` gets each one's place in the lane. */
static bool plan_sum(Planner *p, const RelnNode *root, Place *lane_of, Sum *out)
{
    const int count = count_terms(p, root, true);
    const RelnNode **terms = reln_arena_alloc(&p->plan->arena, (size_t)count, sizeof *terms);
    int n = 0, left = 0;

    if (!terms)
        return nomem(p);
    collect_terms(p, root, true, terms, count, &n);
    for (int i = 0; i < n; i++) {
        const RelnNode *x = terms[i];
        bool merged = false;

        for (int j = 0; j < left && is_reduction(x) && p->info[x->id].uses == 1; j++) {
            const RelnNode *y = terms[j];

            if (is_reduction(y) && p->info[y->id].uses == 1 &&
                p->info[y->id].phase == p->info[x->id].phase) {
                lane_of[x->id] = lane_of[y->id];
                p->info[x->id].absorbed = merged = true;
                break;
            }
        }
        if (merged)
            continue;
        if (is_reduction(x) && lane_of[x->id].kind == AT_NOWHERE) {
            p->info[x->id].place = shared(p->plan, reln_plan_room(x, 1));
            if (!add_accumulator(p, x, p->info[x->id].place, &lane_of[x->id]))
                return false;
        }
        terms[left++] = x;
    }
    /* one term, read by nobody else: the sum is its total */
    if (left == 1 && is_reduction(terms[0]) && p->info[terms[0]->id].uses == 1)
        p->info[root->id].place = p->info[terms[0]->id].place;
    *out = (Sum){root, terms, left};
    return true;
}

static bool place_const(Planner *p, const RelnNode *x)
{
    const Place place = shared(p->plan, p->info[x->id].bytes);
    const Constant constant = {x, place.offset};

    p->info[x->id].place = place;
    return PLAN_ADD(p->plan, &p->plan->constants, constant) || nomem(p);
}

/* Places of everything at step level, lanes of the reductions. */
static bool place_step(Planner *p, Place *lane_of, Sum *sums, int *n_sums)
{
    RelnGraph *g = p->g;

    for (int id = g->nodes.count - 1; id >= 0; id--) {
        const RelnNode *x = g->nodes.items[id];
        Info *f = &p->info[id];

        if (!f->needed || f->absorbed || x->domain != RELN_STEP || is_alias(x) || !is_plain_add(x))
            continue;
        if (!plan_sum(p, x, lane_of, &sums[(*n_sums)++]))
            return false;
    }
    for (int id = 0; id < g->nodes.count; id++) {
        const RelnNode *x = g->nodes.items[id];
        Info *f = &p->info[id];

        if (!f->needed || f->absorbed || x->domain != RELN_STEP || is_alias(x) ||
            f->place.kind != AT_NOWHERE)
            continue;
        if (x->op == &reln_op_param)
            p->plan->parameters += (size_t)reln_shape_count(&x->shape);
        if (x->op == &reln_op_param || x->op == &reln_op_state)
            f->place = (Place){AT_ENTRY, 0, ((const RelnParamAttr *)x->attr)->entry->values};
        else if (x->op == &reln_op_call || (x->op->flags & RELN_OP_EFFECT))
            continue;
        else if (x->op != &reln_op_const)
            f->place = shared(p->plan, f->bytes);
        else if (!place_const(p, x))
            return false;
        if (is_reduction(x) && !add_accumulator(p, x, f->place, &lane_of[id]))
            return false;
    }
    return true;
}

static const Sum *sum_of(const Sum *sums, int n, const RelnNode *x)
{
    for (int i = 0; i < n; i++)
        if (sums[i].root == x)
            return &sums[i];
    return NULL;
}

static bool emit_sum(Planner *p, const Sum *sum)
{
    const RelnNode *x = sum->root;
    Place *in;

    if (sum->n == 1 && place_of(p, sum->terms[0]).offset == p->info[x->id].place.offset)
        return true;
    in = reln_arena_alloc(&p->plan->arena, (size_t)sum->n, sizeof *in);
    if (!in)
        return nomem(p);
    for (int i = 0; i < sum->n; i++)
        in[i] = place_of(p, sum->terms[i]);
    p->program->flops += (double)(sum->n - 1) * (double)reln_shape_count(&x->shape);
    return emit(p, (Instr){.kind = DO_SUM,
                           .node = x,
                           .domain = RELN_STEP,
                           .n_in = sum->n,
                           .in = in,
                           .out = p->info[x->id].place}) != NULL;
}

/* ---- calls ---------------------------------------------------------------------------------------------------- */

static bool emit_call(Planner *p, const RelnNode *x, const Place *lane_of)
{
    RelnFn *fn = ((const RelnCallAttr *)x->attr)->fn;
    Program *callee = NULL;
    Instr instr = {.kind = DO_CALL, .node = x, .domain = x->domain, .n_out = fn->n_out};

    if (!compile_body(p->plan, fn, capacity_of(p, x), &callee) || !gather_inputs(p, x, &instr))
        return false;
    assert(callee); /* a body that compiles has a program */
    instr.callee = callee;
    p->program->flops += items_each(p, x, x->domain) * callee->flops;
    p->program->bytes += items_each(p, x, x->domain) * callee->bytes;
    instr.outs = reln_arena_alloc(&p->plan->arena, (size_t)fn->n_out, sizeof *instr.outs);
    if (!instr.outs)
        return nomem(p);
    for (int i = 0; i < fn->n_out; i++) {
        const RelnNode *r = p->g->nodes.items[x->id + 1 + i];

        if (!p->info[r->id].needed)
            continue;
        instr.outs[i] = is_reduction(r) && lane_of ? lane_of[r->id] : p->info[r->id].place;
    }
    return emit(p, instr) != NULL;
}

/* ---- shard programs ------------------------------------------------------------------------------------------- */

static bool want_buffer(Layout *l, const RelnNode *x)
{
    Buffer b = {.bytes = l->p->info[x->id].bytes, .user = &l->p->info[x->id].place};

    b.born = l->p->info[x->id].born;
    b.dies = l->p->info[x->id].dies;
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

/* Lay a program out: who lives when, then where; and let every instruction know. Instructions refer to places by value,
 * so they are gathered again at the end. */
static bool lay_out(Planner *p, Program *program)
{
    Layout l = {.p = p};
    const int n = program->code.count;

    for (int id = 0; id < p->g->nodes.count; id++) {
        p->info[id].born = -1;
        p->info[id].dies = -1;
    }
    for (int t = 0; t < n; t++) {
        Instr *instr = &program->code.items[t];
        const RelnNode *x = instr->node;

        if (instr->kind == DO_CALL)
            for (int i = 0; i < instr->n_out; i++)
                p->info[x->id + 1 + i].born = p->info[x->id + 1 + i].dies = t;
        else if (instr->kind == DO_OP || instr->kind == DO_LOAD || instr->kind == DO_SUM)
            p->info[x->id].born = p->info[x->id].dies = t;
        for (int i = 0; i < x->n_in && (instr->kind == DO_OP || instr->kind == DO_CALL); i++)
            p->info[reln_storage(x->in[i])->id].dies = t;
        if (instr->kind == DO_KEEP || instr->kind == DO_ADD_TO || instr->kind == DO_COPY)
            p->info[reln_storage(x)->id].dies = t;
    }
    for (int id = 0; id < p->g->nodes.count; id++)
        if (p->info[id].born >= 0 && p->info[id].place.kind == AT_SLAB &&
            !want_buffer(&l, p->g->nodes.items[id]))
            return false;
    for (int t = 0; t < n; t++) {
        Instr *instr = &program->code.items[t];
        const size_t bytes = scratch_of(p, instr);

        if (bytes && !want_scratch(&l, instr, t, bytes))
            return false;
    }
    if (!place_buffers(&l, &program->slab))
        return false;
    for (int i = 0; i < l.buffers.count; i++)
        l.buffers.items[i].user->offset = l.buffers.items[i].offset;
    for (int t = 0; t < n; t++) {
        Instr *instr = &program->code.items[t];
        const RelnNode *x = instr->node;

        if (instr->kind == DO_OP || instr->kind == DO_CALL)
            for (int i = 0; i < x->n_in; i++)
                instr->in[i] = place_of(p, x->in[i]);
        if (instr->n_in == 1 && instr->kind != DO_OP && instr->kind != DO_CALL &&
            instr->in[0].kind == AT_SLAB)
            instr->in[0] = place_of(p, x);
        if ((instr->kind == DO_OP || instr->kind == DO_LOAD) && instr->out.kind == AT_SLAB)
            instr->out = p->info[x->id].place;
        if (instr->kind == DO_CALL)
            for (int i = 0; i < instr->n_out; i++)
                if (instr->outs[i].kind == AT_SLAB)
                    instr->outs[i] = p->info[x->id + 1 + i].place;
    }
    return true;
}

static bool loads(const RelnNode *x)
{
    return x->op == &reln_op_input || x->op == &reln_op_index_input || x->op == &reln_op_row_sample;
}

/* Is a shard-level source read in this phase? */
static bool read_in_phase(const Planner *p, const RelnNode *x, int phase)
{
    for (int id = x->id + 1; id < p->g->nodes.count; id++) {
        const RelnNode *y = p->g->nodes.items[id];

        for (int i = 0;
             i < y->n_in && p->info[id].needed && !is_alias(y) && p->info[id].phase == phase; i++)
            if (reln_storage(y->in[i]) == x && is_shard_work(y))
                return true;
    }
    return false;
}

static bool emit_keep(Planner *p, const RelnNode *x, int index)
{
    return emit_simple(p, DO_KEEP, x, x->domain, place_of(p, x),
                       (Place){AT_KEPT, (size_t)index, NULL});
}

static bool shard_program(Planner *p, int phase, const Place *lane_of, int *kept_of)
{
    RelnPlan *plan = p->plan;

    p->program = &plan->phases.items[phase].shards;
    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];
        Info *f = &p->info[id];

        if (!f->needed || !is_shard_work(x) || is_alias(x))
            continue;
        if (loads(x)) {
            const bool keep_here = kept_of[id] >= 0 && phase == 0;

            if (!read_in_phase(p, x, phase) && !keep_here)
                continue;
            f->place = (Place){AT_SLAB, 0, NULL};
            if (!emit(p, (Instr){.kind = DO_LOAD, .node = x, .domain = x->domain, .out = f->place}))
                return false;
            if (keep_here && !emit_keep(p, x, kept_of[id]))
                return false;
            continue;
        }
        if (f->phase != phase || x->op == &reln_op_result)
            continue;
        if (x->op == &reln_op_call) {
            for (int i = 0; i < ((const RelnCallAttr *)x->attr)->fn->n_out; i++) {
                const RelnNode *r = p->g->nodes.items[id + 1 + i];

                if (r->domain != RELN_STEP && p->info[r->id].needed)
                    p->info[r->id].place = (Place){AT_SLAB, 0, NULL};
            }
            if (!emit_call(p, x, lane_of))
                return false;
            for (int i = 0; i < ((const RelnCallAttr *)x->attr)->fn->n_out; i++)
                if (kept_of[id + 1 + i] >= 0 &&
                    !emit_keep(p, p->g->nodes.items[id + 1 + i], kept_of[id + 1 + i]))
                    return false;
            continue;
        }
        if (is_reduction(x)) {
            if (!emit_op(p, x, lane_of[id], true))
                return false;
            continue;
        }
        f->place = (Place){AT_SLAB, 0, NULL};
        if (!emit_op(p, x, f->place, false))
            return false;
        if (kept_of[id] >= 0 && !emit_keep(p, x, kept_of[id]))
            return false;
    }
    if (!lay_out(p, p->program))
        return false;
    /* later phases read from the array over the whole batch */
    for (int id = 0; id < p->g->nodes.count; id++)
        if (kept_of[id] >= 0 && p->info[id].place.kind == AT_SLAB && !loads(p->g->nodes.items[id]))
            p->info[id].place = (Place){AT_KEPT, (size_t)kept_of[id], NULL};
    return true;
}

static bool step_program(Planner *p, int phase, const Sum *sums, int n_sums)
{
    p->program = &p->plan->phases.items[phase].step;
    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];
        const Info *f = &p->info[id];
        const Sum *sum = sum_of(sums, n_sums, x);

        if (phase == 0 && f->needed && x->domain == RELN_STEP &&
            (x->op == &reln_op_input || x->op == &reln_op_batch_count ||
             x->op == &reln_op_index_input) &&
            !emit(p, (Instr){.kind = DO_LOAD, .node = x, .domain = RELN_STEP, .out = f->place}))
            return false;
        if (!f->needed || f->absorbed || f->phase != phase || x->domain != RELN_STEP ||
            is_alias(x) || is_source(x) || is_reduction(x) || (x->op->flags & RELN_OP_EFFECT) ||
            x->op == &reln_op_result)
            continue;
        if (x->op == &reln_op_call ? !emit_call(p, x, NULL)
            : sum                  ? !emit_sum(p, sum)
                                   : !emit_op(p, x, f->place, false))
            return false;
    }
    return lay_out(p, p->program);
}

static bool find_kept(Planner *p, int *kept_of)
{
    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];
        const Info *f = &p->info[id];
        const bool across = f->last_phase > f->phase && !loads(x);
        const Kept kept = {.node = x, .item = reln_node_bytes(x)};

        kept_of[id] = -1;
        if (!f->needed || x->domain == RELN_STEP || is_alias(x) || x->op == &reln_op_call ||
            !(f->kept || across))
            continue;
        kept_of[id] = p->plan->kept.count;
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

static bool place_outputs(Planner *p, const int *kept_of)
{
    const int n = p->g->outputs.count;

    p->plan->outputs = reln_arena_alloc(&p->plan->arena, (size_t)n + 1, sizeof *p->plan->outputs);
    if (!p->plan->outputs)
        return nomem(p);
    for (int i = 0; i < n; i++) {
        const RelnNode *x = p->g->outputs.items[i].node;
        const int kept = kept_of[reln_storage(x)->id];

        p->plan->outputs[i] = (Place){AT_KEPT, (size_t)kept, NULL};
        if (kept < 0 && !value_of_run(p, x, &p->plan->outputs[i]))
            return false;
    }
    return true;
}

/* A sum of one term: unlike that of a copy, its place stays as it is given. */
static bool emit_assign(Planner *p, const RelnAssign *a, Place value)
{
    Place *in = reln_arena_copy(&p->plan->arena, &value, 1, sizeof value);

    if (!in)
        return nomem(p);
    return emit(p, (Instr){.kind = DO_SUM,
                           .node = a->value,
                           .domain = RELN_STEP,
                           .n_in = 1,
                           .in = in,
                           .out = place_of(p, a->state)}) != NULL;
}

static bool commit_program(Planner *p, const int *kept_of)
{
    const int n = p->g->assigns.count;
    const RelnAssign *assigns = p->g->assigns.items;
    Place *values = reln_arena_alloc(&p->plan->arena, (size_t)n + 1, sizeof *values);

    if (!values)
        return nomem(p);
    p->program = &p->plan->commit;
    if (!place_outputs(p, kept_of))
        return false;
    for (int i = 0; i < n; i++)
        if (!value_of_run(p, assigns[i].value, &values[i]))
            return false;
    for (int i = 0; i < p->g->effects.count; i++)
        if (!emit_op(p, p->g->effects.items[i], (Place){AT_NOWHERE, 0, NULL}, false))
            return false;
    for (int i = 0; i < n; i++)
        if (!emit_assign(p, &assigns[i], values[i]))
            return false;
    return lay_out(p, p->program);
}

static bool add_phases(Planner *p)
{
    const Phase empty = {0};
    int last = 0;

    for (int id = 0; id < p->g->nodes.count; id++)
        if (p->info[id].needed) {
            const int phase = p->info[id].phase + (is_reduction(p->g->nodes.items[id]) ? 1 : 0);
            last = phase > last ? phase : last;
        }
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
        p->info[reln_storage(x)->id].kept = true;
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
    const size_t count = (size_t)g->nodes.count + 1;
    Place *lane_of = reln_arena_alloc(&plan->arena, count, sizeof *lane_of);
    int *kept_of = reln_arena_alloc(&plan->arena, count, sizeof *kept_of);
    Sum *sums = reln_arena_alloc(&plan->arena, count, sizeof *sums);
    int n_sums = 0;

    p.info = reln_arena_alloc(&plan->arena, count, sizeof *p.info);
    if (!lane_of || !kept_of || !sums || !p.info)
        return nomem(&p);
    measure(&p);
    mark_roots(&p);
    mark_needed(&p);
    if (!add_phases(&p) || !find_kept(&p, kept_of) || !place_step(&p, lane_of, sums, &n_sums))
        return false;
    for (int i = 0; i < plan->phases.count; i++)
        if (!step_program(&p, i, sums, n_sums) || !shard_program(&p, i, lane_of, kept_of))
            return false;
    return commit_program(&p, kept_of);
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
        collect_terms(p, out, true, terms, count, n);
    else
        terms[(*n)++] = out;
    return terms;
}

static bool adds_directly(const Planner *p, const RelnNode *term)
{
    return is_reduction(term) && p->info[term->id].uses == 1;
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
        const Place place = {AT_OUT, (size_t)i, NULL};

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
        const Place place = {AT_OUT, (size_t)i, NULL}, have = place_of(p, out);

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

static bool body_node(Planner *p, const RelnNode *x)
{
    Info *f = &p->info[x->id];

    if (!f->needed || f->absorbed || is_alias(x) || is_source(x) || x->op == &reln_op_result)
        return true;
    if (x->op == &reln_op_call) {
        for (int i = 0; i < ((const RelnCallAttr *)x->attr)->fn->n_out; i++) {
            Info *r = &p->info[x->id + 1 + i];

            if (r->needed && r->place.kind == AT_NOWHERE)
                r->place = (Place){AT_SLAB, 0, NULL};
        }
        return emit_call(p, x, NULL);
    }
    if (f->place.kind == AT_NOWHERE)
        f->place = (Place){AT_SLAB, 0, NULL};
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
            p->info[id].place = (Place){AT_ARG, (size_t)((const RelnSource *)x->attr)->index, NULL};
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

static bool compile_body(RelnPlan *plan, RelnFn *fn, ptrdiff_t items, Program **out)
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
