/* programs.c -- the programs of a graph: for each phase the step and the shards, and the commit at the
 * end. */
#include "graph/compile.h"

/* Returns whether x runs in the shard program of its phase. */
static bool is_shard_work(const RelnNode *x)
{
    return x->domain != RELN_STEP || is_reduction(x);
}

/* Sets the place of a value of the shard program: in its array over the whole batch, if it has one, else in
 * the slab. */
static void place_in_shard(Planner *p, const RelnNode *x)
{
    Info *f = &p->info[x->id];

    f->place = f->array >= 0 ? (Place){AT_KEPT, (size_t)f->array, 0} : in_slab;
}

/* ---- shards --------------------------------------------------------------------------------------------------- */

/* Loads an input in each phase that reads it, which costs no more than keeping it. */
static bool shard_load(Planner *p, const RelnNode *x)
{
    const Info *f = &p->info[x->id];

    p->info[x->id].place = in_slab;
    return reln_emit_load(p, x) && (p->phase > 0 || f->array < 0 ||
                                    reln_emit_simple(p, DO_KEEP, x, x->domain, in_slab,
                                                     (Place){AT_KEPT, (size_t)f->array, 0}));
}

static bool shard_call(Planner *p, const RelnNode *x)
{
    const int n_out = callee_of(x)->n_out;

    for (int i = 0; i < n_out; i++) {
        const RelnNode *r = result_of(p, x, i);

        if (r->domain != RELN_STEP && p->info[r->id].needed)
            place_in_shard(p, r);
    }
    return reln_emit_call(p, x);
}

/* Returns whether x is complete only when its loop has ended. */
static bool ends_with_loop(const Planner *p, const RelnNode *x)
{
    return p->info[x->id].loop >= 0 && adds_whole(x);
}

static bool shard_op(Planner *p, const RelnNode *x)
{
    const Info *f = &p->info[x->id];

    if (is_reduction(x))
        return reln_emit_op(p, x, f->lane, true);
    if (ends_with_loop(p, x))
        return reln_emit_op(p, x, f->place, true);
    place_in_shard(p, x);
    return reln_emit_op(p, x, f->place, false);
}

static bool before_shard_loop(Planner *p, const RelnNode *x)
{
    if (!ends_with_loop(p, x))
        return true;
    place_in_shard(p, x);
    return reln_emit_zero(p, x, p->info[x->id].place);
}

static bool shard_node(Planner *p, const RelnNode *x)
{
    return is_load(x)               ? shard_load(p, x)
           : x->op == &reln_op_call ? shard_call(p, x)
                                    : shard_op(p, x);
}

/* Returns whether the shard program of the phase has an instruction for x, which the program reads `uses` times. */
static bool is_of_phase(const Planner *p, const RelnNode *x, int phase, int uses)
{
    const Info *f = &p->info[x->id];

    if (!f->needed || !is_shard_work(x) || is_alias(x) || x->op == &reln_op_result)
        return false;
    if (is_load(x))
        return (f->array >= 0 && phase == 0) || uses > 0;
    return f->again ? uses > 0 : f->phase == phase;
}

/* A value that is computed again is new in every program. */
static void renew(Info *f, int uses)
{
    if (!f->again)
        return;
    f->uses = uses;
    f->place = (Place){AT_NOWHERE, 0, 0};
    f->folded = false;
    f->chain = NULL;
}

/* Finds the nodes of a shard program. Readers have larger ids, so they are known before the values that they read. */
static void find_mine(Planner *p, int phase, bool *mine, int *uses)
{
    for (int id = p->g->nodes.count - 1; id >= 0; id--) {
        const RelnNode *x = p->g->nodes.items[id];

        mine[id] = is_of_phase(p, x, phase, uses[id]);
        renew(&p->info[id], uses[id]);
        for (int i = 0; i < x->n_in && mine[id]; i++)
            uses[reln_storage(x->in[i])->id]++;
    }
}

bool reln_pass_shard_program(Planner *p, int phase)
{
    bool *mine = reln_arena_alloc(p->scratch, (size_t)p->g->nodes.count + 1, sizeof *mine);
    int *uses = reln_arena_alloc(p->scratch, (size_t)p->g->nodes.count + 1, sizeof *uses);

    if (!mine || !uses)
        return nomem(p);
    p->program = &p->plan->phases.items[phase].shards;
    p->phase = phase;
    find_mine(p, phase, mine, uses);
    if (!reln_pass_schedule(p, mine) || !reln_emit_order(p, before_shard_loop, shard_node) ||
        !reln_pass_lay_out(p, p->program))
        return false;
    reln_no_loops(p);
    return true;
}

/* ---- the step ------------------------------------------------------------------------------------------------- */

static bool step_node(Planner *p, const RelnNode *x, int phase)
{
    const Info *f = &p->info[x->id];

    if (!is_step_value(p, x))
        return true;
    if (is_load(x))
        return phase > 0 || reln_emit_load(p, x);
    if (f->phase != phase || is_source(x) || is_reduction(x) || (x->op->flags & RELN_OP_EFFECT) ||
        x->op == &reln_op_result)
        return true;
    if (x->op == &reln_op_call)
        return reln_emit_call(p, x);
    return f->sum.n ? reln_emit_sum(p, x) : reln_emit_op(p, x, f->place, false);
}

bool reln_pass_step_program(Planner *p, int phase)
{
    p->program = &p->plan->phases.items[phase].step;
    for (int id = 0; id < p->g->nodes.count; id++)
        if (!step_node(p, p->g->nodes.items[id], phase))
            return false;
    return reln_pass_lay_out(p, p->program);
}

/* ---- the commit ----------------------------------------------------------------------------------------------- */

/* Returns the place of an output's value in this run. If it is an array of the store, which the commit will
 * change, the array is copied first. */
static bool value_of_run(Planner *p, const RelnNode *x, Place *out)
{
    *out = place_of(p, x);
    if (out->kind != AT_ENTRY)
        return true;
    *out = reln_place_shared(p->plan, reln_node_bytes(x));
    return reln_emit_simple(p, DO_COPY, x, RELN_STEP, place_of(p, x), *out);
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

        places[i] = (Place){AT_KEPT, (size_t)array, 0};
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
    return reln_emit_op(p, x, (Place){AT_NOWHERE, 0, 0}, false);
}

bool reln_pass_commit_program(Planner *p)
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
        if (!reln_emit_simple(p, DO_COPY, assigns[i].value, RELN_STEP, values[i],
                              place_of(p, assigns[i].state)))
            return false;
    return reln_pass_lay_out(p, p->program);
}
