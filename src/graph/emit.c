/* emit.c -- appends instructions to a program: their inputs, prepared constants, packed operands and costs. */
#include "graph/compile.h"

#include <assert.h>

static bool emit(Planner *p, Instr instr)
{
    instr.loop = p->open - 1;
    return PLAN_ADD(p->plan, &p->program->code, instr) || nomem(p);
}

bool reln_emit_simple(Planner *p, InstrKind kind, const RelnNode *node, RelnDomain domain, Place in,
                      Place out)
{
    Place *ins = reln_arena_copy(&p->plan->arena, &in, 1, sizeof in);

    if (!ins)
        return nomem(p);
    return emit(
        p, (Instr){.kind = kind, .node = node, .domain = domain, .n_in = 1, .in = ins, .out = out});
}

bool reln_emit_zero(Planner *p, const RelnNode *x, Place out)
{
    return emit(p, (Instr){.kind = DO_ZERO, .node = x, .domain = x->domain, .out = out});
}

static bool emit_loop(Planner *p, int from, int end, EmitNode before, EmitNode node)
{
    RelnNode *const *nodes = p->g->nodes.items;
    const int index = p->info[p->order[from]].loop;
    Loop *loop = &p->program->loops.items[index];

    for (int at = from; at < end; at++)
        if (!before(p, nodes[p->order[at]]))
            return false;
    loop->first = p->program->code.count;
    p->open = index + 1;
    for (int at = from; at < end; at++)
        if (!p->info[p->order[at]].folded && !node(p, nodes[p->order[at]]))
            return false;
    p->open = 0;
    loop->end = p->program->code.count;
    return true;
}

bool reln_emit_order(Planner *p, EmitNode before, EmitNode node)
{
    for (int at = 0, end; at < p->n_order; at = end) {
        const int loop = p->info[p->order[at]].loop;

        for (end = at + 1; loop >= 0 && end < p->n_order && p->info[p->order[end]].loop == loop;)
            end++;
        if (loop >= 0 ? !emit_loop(p, at, end, before, node)
                      : !p->info[p->order[at]].folded && !node(p, p->g->nodes.items[p->order[at]]))
            return false;
    }
    return true;
}

bool reln_emit_load(Planner *p, const RelnNode *x)
{
    return emit(
        p, (Instr){.kind = DO_LOAD, .node = x, .domain = x->domain, .out = p->info[x->id].place});
}

static bool gather_inputs(Planner *p, const RelnNode *x, Instr *instr)
{
    const Info *f = &p->info[x->id];
    const size_t n = (size_t)(f->chain ? f->n_reads : x->n_in);
    Place *in = reln_arena_alloc(&p->plan->arena, n + 1, sizeof *in);
    RelnDomain *domains = reln_arena_alloc(&p->plan->arena, n + 1, sizeof *domains);
    bool *whole = reln_arena_alloc(&p->plan->arena, n + 1, sizeof *whole);

    if (!in || !domains || !whole)
        return nomem(p);
    instr->reads = f->chain ? f->reads : (const RelnNode *const *)x->in;
    for (size_t i = 0; i < n; i++) {
        in[i] = place_of(p, instr->reads[i]);
        domains[i] = instr->reads[i]->domain;
        whole[i] = f->chain ? f->reads_whole[i] : reads_whole(x, (int)i);
    }
    instr->in = in;
    instr->in_domains = domains;
    instr->in_whole = whole;
    instr->n_in = (int)n;
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

/* Returns the domain whose items count the work of an op. */
static RelnDomain work_domain(const RelnNode *x)
{
    return is_reduction(x) ? x->in[0]->domain : x->domain;
}

/* Adds the cost of one item of a domain to the program. Row domains have separate counts, except in a
 * function that works on items. In a function for n items, each item pays 1/n of the work at step level. */
static void add_cost(Planner *p, RelnDomain domain, double flops, double bytes)
{
    const double share = p->items && domain == RELN_STEP ? 1 / (double)p->items : 1;
    RelnRowCost *rows = p->body ? p->program->row_costs : p->plan->row_costs;

    if (!p->items && domain > RELN_SAMPLES) {
        rows[domain - 2].flops += flops;
        rows[domain - 2].bytes += bytes;
    } else {
        p->program->flops += share * flops;
        p->program->bytes += share * bytes;
    }
}

/* Returns the node with more items: rows before samples, samples before the step, and of two row domains the
 * one with the larger capacity. */
static const RelnNode *more_of(const Planner *p, const RelnNode *a, const RelnNode *b)
{
    if (a->domain > RELN_SAMPLES && b->domain > RELN_SAMPLES)
        return capacity_of(p, b) > capacity_of(p, a) ? b : a;
    return b->domain > a->domain ? b : a;
}

/* Counts the bytes of x, which is read or written: once for each item, or for a step-level x once for all
 * items of a shard. */
static void count_bytes(Planner *p, const RelnNode *x, const RelnNode *most)
{
    const double bytes = (double)reln_node_bytes(x);

    if (x->domain == RELN_STEP)
        add_cost(p, most->domain, 0, bytes / (double)capacity_of(p, most));
    else
        add_cost(p, x->domain, 0, bytes);
}

/* An op is computed once for each item of its largest operand: the node, x or an input of x, with the most items. */
static void count_cost(Planner *p, const RelnNode *x)
{
    const RelnNode *most = x;

    for (int i = 0; i < x->n_in; i++)
        most = more_of(p, most, x->in[i]);
    add_cost(p, most->domain, x->op->flops ? x->op->flops(x) : (double)reln_shape_count(&x->shape),
             0);
    count_bytes(p, x, most);
    for (int i = 0; i < x->n_in; i++)
        count_bytes(p, x->in[i], most);
}

/* Returns whether all step-level inputs of x are steady. */
static bool reads_steady(const Planner *p, const RelnNode *x)
{
    for (int i = 0; i < x->n_in; i++)
        if (x->in[i]->domain == RELN_STEP && !p->info[x->in[i]->id].steady)
            return false;
    return true;
}

/* Reserves memory for a packed operand, if many shards or calls will use it. */
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

static bool emit_chain(Planner *p, const RelnNode *x, Place out)
{
    const Info *f = &p->info[x->id];
    Instr instr = {.kind = DO_CHAIN,
                   .node = x,
                   .domain = x->domain,
                   .out = out,
                   .chain = f->chain,
                   .pack = -1};

    if (!gather_inputs(p, x, &instr))
        return false;
    for (int i = 0; i < f->n_members; i++)
        count_cost(p, f->members[i]);
    return emit(p, instr);
}

bool reln_emit_op(Planner *p, const RelnNode *x, Place out, bool accumulate)
{
    Instr instr = {.kind = DO_OP,
                   .node = x,
                   .domain = work_domain(x),
                   .out = out,
                   .accumulate = accumulate,
                   .out_whole = adds_whole(x),
                   .steady = p->info[x->id].steady};

    if (p->info[x->id].chain)
        return emit_chain(p, x, out);
    if (!gather_inputs(p, x, &instr) || !prepare(p, x, &instr) || !keep_pack(p, x, &instr))
        return false;
    count_cost(p, x);
    return emit(p, instr);
}

bool reln_emit_sum(Planner *p, const RelnNode *x)
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

/* Assigns places to the results of a call; results without a reader get no place. */
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

bool reln_emit_call(Planner *p, const RelnNode *x)
{
    Program *callee = NULL;
    Instr instr = {.kind = DO_CALL, .node = x, .domain = x->domain};

    if (!reln_compile_body(p->plan, callee_of(x),
                           callee_of(x)->placed ? 0 : items_at_once(p, x, x->domain), &callee) ||
        !gather_inputs(p, x, &instr) || !place_call(p, x, &instr))
        return false;
    assert(callee); /* a body that compiles has a program */
    instr.callee = callee;
    add_cost(p, x->domain, callee->flops, callee->bytes);
    for (int i = 0; callee->row_costs && i < reln_domain_count(p->g) - 2; i++)
        add_cost(p, i + 2, callee->row_costs[i].flops, callee->row_costs[i].bytes);
    return emit(p, instr);
}
