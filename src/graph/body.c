/* body.c -- the program of a function. It writes results for items to the caller's memory, and adds step-level results
 * to it. */
#include "graph/compile.h"

/* A result at step level is added to the caller's value. If the result is a sum of reductions, each reduction adds to
 * the caller's value directly; any other result is computed in the slab first. */
static const RelnNode **result_terms(Planner *p, const RelnNode *out, int *n)
{
    const bool flat = p->info[out->id].uses == 1;
    const int count = flat ? reln_count_terms(p, out, true) : 1;
    const RelnNode **terms = reln_arena_alloc(&p->plan->arena, (size_t)count, sizeof *terms);

    *n = 0;
    if (!terms)
        nomem(p);
    else if (flat)
        *n = reln_collect_terms(p, out, true, terms, 0);
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
            !reln_emit_simple(p, DO_ADD_TO, terms[i], RELN_STEP, place_of(p, terms[i]), place))
            return false;
    return terms != NULL;
}

/* A result for items is computed directly in the caller's memory. If several results share one node's memory, the first
 * result gets it and the others are copied. */
static bool place_results(Planner *p, const RelnFn *fn)
{
    for (int i = 0; i < fn->n_out; i++) {
        const RelnNode *out = fn->out[i], *s = reln_storage(out);
        const Place place = {AT_OUT, (size_t)i, 0};

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
        const Place place = {AT_OUT, (size_t)i, 0}, have = place_of(p, out);

        if (out->domain == RELN_STEP) {
            if (!add_step_result(p, out, place))
                return false;
        } else if ((have.kind != AT_OUT || have.offset != (size_t)i) &&
                   !reln_emit_simple(p, DO_COPY, out, out->domain, have, place)) {
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
    return reln_emit_call(p, x);
}

static bool body_node(Planner *p, const RelnNode *x)
{
    Info *f = &p->info[x->id];

    if (x->op == &reln_op_call)
        return body_call(p, x);
    if (f->place.kind == AT_NOWHERE)
        f->place = in_slab;
    if (is_load(x))
        return reln_emit_load(p, x);
    return reln_emit_op(p, x, f->place,
                        is_reduction(x) ? f->place.kind == AT_OUT || f->loop >= 0
                                        : f->loop >= 0 && adds_whole(x));
}

/* Set a value that a loop adds to to 0 before the loop. A step-level result is not set to 0: it adds to the caller's
 * value. */
static bool zero_first(Planner *p, const RelnNode *x)
{
    Info *f = &p->info[x->id];

    if (!f->needed)
        return true;
    if (f->place.kind == AT_NOWHERE)
        f->place = in_slab;
    return (x->domain == RELN_STEP && f->place.kind == AT_OUT) || reln_emit_zero(p, x, f->place);
}

static bool before_body_loop(Planner *p, const RelnNode *x)
{
    if (x->op != &reln_op_call)
        return (!is_reduction(x) && !adds_whole(x)) || zero_first(p, x);
    for (int i = 0; i < callee_of(x)->n_out; i++)
        if (result_of(p, x, i)->domain == RELN_STEP && !zero_first(p, result_of(p, x, i)))
            return false;
    return true;
}

static bool is_of_body(const Planner *p, const RelnNode *x)
{
    const Info *f = &p->info[x->id];

    return f->needed && !f->absorbed && !is_alias(x) && (!is_source(x) || is_load(x)) &&
           x->op != &reln_op_result;
}

static bool schedule_body(Planner *p)
{
    bool *mine = reln_arena_alloc(p->scratch, (size_t)p->g->nodes.count + 1, sizeof *mine);

    if (!mine)
        return nomem(p);
    for (int id = 0; id < p->g->nodes.count; id++)
        mine[id] = is_of_body(p, p->g->nodes.items[id]);
    return reln_pass_schedule(p, mine);
}

static bool compile_body_nodes(Planner *p, const RelnFn *fn)
{
    reln_pass_measure(p);
    for (int i = 0; i < fn->n_out; i++)
        need(p, fn->out[i]);
    reln_pass_mark_needed(p);
    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];

        if (x->op == &reln_op_argument)
            p->info[id].place =
                (Place){AT_ARG, (size_t)((const RelnSourceAttr *)x->attr)->index, 0};
        else if (x->op == &reln_op_const && p->info[id].needed && !reln_place_const(p, x))
            return false;
    }
    if (!place_results(p, fn) || !schedule_body(p))
        return false;
    return reln_emit_order(p, before_body_loop, body_node) && finish_results(p, fn) &&
           reln_pass_lay_out(p, p->program);
}

static bool compile_body(RelnPlan *plan, RelnArena *scratch, const RelnFn *fn, ptrdiff_t items,
                         Program **out)
{
    Planner p = {.plan = plan, .scratch = scratch, .g = fn->body, .body = true, .items = items};
    const int rows = reln_domain_count(fn->body) - 2;

    p.info = reln_arena_alloc(scratch, (size_t)fn->body->nodes.count + 1, sizeof *p.info);
    p.program = reln_arena_alloc(&plan->arena, 1, sizeof *p.program);
    if (!p.info || !p.program)
        return nomem(&p);
    p.program->fn = fn;
    p.program->items = items;
    p.program->row_costs =
        items ? NULL
              : reln_arena_alloc(&plan->arena, (size_t)rows + 1, sizeof *p.program->row_costs);
    if (!items && !p.program->row_costs)
        return nomem(&p);
    if (!compile_body_nodes(&p, fn))
        return false;
    *out = p.program;
    return PLAN_ADD(plan, &plan->callees, p.program) || nomem(&p);
}

bool reln_compile_body(RelnPlan *plan, const RelnFn *fn, ptrdiff_t items, Program **out)
{
    RelnArena scratch;
    bool done;

    for (int i = 0; i < plan->callees.count; i++)
        if (plan->callees.items[i]->fn == fn && plan->callees.items[i]->items == items) {
            *out = plan->callees.items[i];
            return true;
        }
    reln_arena_init(&scratch, plan->ctx);
    done = compile_body(plan, &scratch, fn, items, out);
    reln_arena_clear(&scratch);
    return done;
}
