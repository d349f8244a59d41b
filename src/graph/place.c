/* place.c -- sizes of all values, places of the step-level ones, accumulators of the reductions. */
#include "graph/compile.h"

size_t reln_plan_room(const RelnNode *x, ptrdiff_t n)
{
    return align((size_t)n * reln_node_bytes(x));
}

size_t reln_spare_room(const RelnPlan *plan, const Program *callee, int result)
{
    const RelnNode *x = callee->fn->out[result];

    return reln_plan_room(x, callee->items
                                 ? callee->items
                                 : reln_domain_capacity(plan->graph, x->domain, plan->shard));
}

/* The size of each buffer is the largest of a value and its aliases. */
void reln_pass_measure(Planner *p)
{
    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];
        Info *f = &p->info[reln_storage(x)->id];
        const size_t bytes = reln_plan_room(x, capacity_of(p, x));

        f->bytes = bytes > f->bytes ? bytes : f->bytes;
    }
}

Place reln_place_shared(RelnPlan *plan, size_t bytes)
{
    const Place place = {AT_STEP, plan->memory_size, 0};

    plan->memory_size += align(bytes);
    return place;
}

/* ---- sums of reductions --------------------------------------------------------------------------------------- */

/* Returns whether x is an addition whose terms join the tree: the root, or an inner addition with a single
 * reader. */
static bool has_terms(const Planner *p, const RelnNode *x, bool root)
{
    return (root || p->info[x->id].uses == 1) && is_plain_add(x);
}

int reln_count_terms(const Planner *p, const RelnNode *x, bool root)
{
    if (has_terms(p, x, root))
        return reln_count_terms(p, x->in[0], false) + reln_count_terms(p, x->in[1], false);
    return 1;
}

/* Appends the terms to the list of n terms, and returns its new length. */
int reln_collect_terms(Planner *p, const RelnNode *x, bool root, const RelnNode **terms, int n)
{
    if (has_terms(p, x, root)) {
        p->info[x->id].absorbed = !root;
        n = reln_collect_terms(p, x->in[0], false, terms, n);
        return reln_collect_terms(p, x->in[1], false, terms, n);
    }
    terms[n] = x;
    return n + 1;
}

/* ---- step level ----------------------------------------------------------------------------------------------- */

static bool add_accumulator(Planner *p, const RelnNode *x)
{
    Info *f = &p->info[x->id];
    Phase *phase = &p->plan->phases.items[f->phase];
    Lanes *lanes = &p->plan->lanes;
    const Accumulator sum = {phase->lane_size, f->place, (size_t)reln_shape_count(&x->shape),
                             x->dtype};

    f->lane = (Place){AT_LANE, phase->lane_size, 0};
    phase->lane_size += reln_plan_room(x, 1);
    lanes->size = phase->lane_size > lanes->size ? phase->lane_size : lanes->size;
    for (ptrdiff_t at = 0; at < (ptrdiff_t)sum.count; at += PIECE)
        if (!PLAN_ADD(p->plan, &phase->pieces,
                      piece_at(phase->sums.count, at, (ptrdiff_t)sum.count)))
            return nomem(p);
    return PLAN_ADD(p->plan, &phase->sums, sum) || nomem(p);
}

/* Returns the term whose accumulator x can share. */
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
    f->place = reln_place_shared(p->plan, reln_plan_room(x, 1));
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

    sum->terms = reln_arena_alloc(&p->plan->arena, (size_t)reln_count_terms(p, root, true),
                                  sizeof *sum->terms);
    if (!sum->terms)
        return nomem(p);
    sum->n = reln_collect_terms(p, root, true, sum->terms, 0);
    if (!share_accumulators(p, sum))
        return false;
    /* a single term without another reader: its total is the sum */
    if (sum->n == 1 && adds_directly(p, sum->terms[0]))
        p->info[root->id].place = place_of(p, sum->terms[0]);
    return true;
}

bool reln_place_const(Planner *p, const RelnNode *x)
{
    const Place place = reln_place_shared(p->plan, p->info[x->id].bytes);
    const Constant constant = {x, place.offset};

    p->info[x->id].place = place;
    return PLAN_ADD(p->plan, &p->plan->constants, constant) || nomem(p);
}

static bool place_entry(Planner *p, const RelnNode *x)
{
    const RelnStoreEntry *of = ((const RelnParamAttr *)x->attr)->entry;
    const Entry entry = {of, of->values};

    p->info[x->id].place = (Place){AT_ENTRY, (size_t)p->plan->entries.count, 0};
    return PLAN_ADD(p->plan, &p->plan->entries, entry) || nomem(p);
}

static bool place_step_node(Planner *p, const RelnNode *x)
{
    Info *f = &p->info[x->id];

    if (f->place.kind != AT_NOWHERE || x->op == &reln_op_call || (x->op->flags & RELN_OP_EFFECT))
        return true;
    if (x->op == &reln_op_const)
        return reln_place_const(p, x);
    if (x->op == &reln_op_param)
        p->plan->parameters += (size_t)reln_shape_count(&x->shape);
    if (x->op == &reln_op_param || x->op == &reln_op_state)
        return place_entry(p, x);
    f->place = reln_place_shared(p->plan, f->bytes);
    return !is_reduction(x) || add_accumulator(p, x);
}

/* Assigns the places of everything at step level, and the lanes of the reductions. Outer sums come first,
 * because they absorb the inner ones. */
bool reln_pass_place_step(Planner *p)
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
