/* phases.c -- which nodes are needed, in which phase each is computed, and which values outlive a shard. */
#include <limits.h>

#include "graph/compile.h"

const RelnNode *reln_storage(const RelnNode *x)
{
    while (is_alias(x))
        x = x->in[0];
    return x;
}

/* ---- need and phase ------------------------------------------------------------------------------------------- */

void reln_pass_mark_roots(Planner *p)
{
    for (int i = 0; i < p->g->outputs.count; i++) {
        const RelnNode *x = p->g->outputs.items[i].node;

        need(p, x);
        p->info[x->id].uses++; /* an output counts as a reader, so its memory is never reused */
        p->info[reln_storage(x)->id].is_output = true;
    }
    for (int i = 0; i < p->g->assigns.count; i++) {
        need(p, p->g->assigns.items[i].state);
        need(p, p->g->assigns.items[i].value);
    }
    for (int i = 0; i < p->g->effects.count; i++)
        need(p, p->g->effects.items[i]);
}

/* A node's readers have larger ids, so one pass backwards marks all needed nodes. */
void reln_pass_mark_needed(Planner *p)
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

/* Finds the nodes that a frozen plan computes once: those that depend on parameters, state and constants
 * alone. A call is never steady. */
void reln_pass_find_steady(Planner *p)
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

/* Returns the first phase that can read x: the total of a reduction is known one phase after its terms. */
static int readable(const Planner *p, const RelnNode *x)
{
    return p->info[x->id].phase + (is_reduction(x) ? 1 : 0);
}

void reln_pass_find_phases(Planner *p)
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

bool reln_pass_add_phases(Planner *p)
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

/* ---- values that outlive a shard ------------------------------------------------------------------------------ */

/* An elementwise function of values that are kept until a later phase is computed again in it, instead of being kept too: that
 * needs no memory. It costs reading these values, so they must be few: the sum of a residual network at layer n is a function of
 * the values of all n layers. */

static bool is_elementwise(const RelnNode *x)
{
    RelnLink link = {0};

    return x->domain != RELN_STEP && x->op->link && x->op->link(x, &link) &&
           (link.kind != RELN_LINK_LOAD || x->in[0]->domain == RELN_STEP);
}

enum { MANY = 2 }; /* sources */

/* Finds out what x, which is not kept, can be computed from again: until which phase, through how many nodes, by reading how
 * many bytes, and from which kept value, if it is the only one. */
static void trace(Planner *p, const RelnNode *x)
{
    Info *f = &p->info[x->id];

    f->reach = INT_MAX;
    f->depth = 0;
    f->reads_bytes = reln_node_bytes(x);
    f->source = NULL;
    f->sources = 0;
    if (is_load(x))
        return;
    if (!is_elementwise(x)) { /* nothing to compute it from */
        f->reach = f->last_phase;
        f->sources = MANY;
        return;
    }
    f->reads_bytes = 0;
    for (int i = 0; i < x->n_in; i++) {
        const RelnNode *s = reln_storage(x->in[i]);
        const Info *y = &p->info[s->id];

        if (s->domain == RELN_STEP)
            continue;
        f->reads_bytes += y->reads_bytes;
        f->reach = y->reach < f->reach ? y->reach : f->reach;
        f->depth = y->depth > f->depth ? y->depth : f->depth;
        if (y->sources != 1 || y->source != f->source)
            f->sources = f->sources + y->sources < MANY ? f->sources + y->sources : MANY;
        f->source = y->source ? y->source : f->source;
    }
    f->depth++;
}

/* If x has a single source, that one is kept for as long as x is needed: at the same time, they would be two. */
static bool can_come_again(Planner *p, const RelnNode *x)
{
    enum { MOST = 6, TIMES = 3 }; /* nodes one after the other; bytes to read for each of x */
    const Info *f = &p->info[x->id];

    if (f->is_output || !is_elementwise(x) || f->depth > MOST ||
        f->reads_bytes > TIMES * reln_node_bytes(x))
        return false;
    if (f->reach < f->last_phase && f->sources == 1 &&
        reln_node_bytes(f->source) <= reln_node_bytes(x)) {
        raise_to(&p->info[f->source->id].last_phase, f->last_phase);
        return true;
    }
    return f->reach >= f->last_phase;
}

static void mark_again(Planner *p, const RelnNode *x)
{
    Info *f = &p->info[x->id];

    if (x->domain == RELN_STEP || is_load(x) || f->array >= 0 || f->again)
        return;
    f->again = true;
    for (int i = 0; i < x->n_in; i++)
        mark_again(p, reln_storage(x->in[i]));
}

static bool keep(Planner *p, const RelnNode *x)
{
    const Kept kept = {.node = x, .item = reln_node_bytes(x)};
    Info *f = &p->info[x->id];

    f->array = p->plan->kept.count;
    f->reach = f->last_phase;
    f->depth = 0;
    f->reads_bytes = kept.item;
    f->source = x;
    f->sources = 1;
    return PLAN_ADD(p->plan, &p->plan->kept, kept) || nomem(p);
}

static bool add_kept(Planner *p)
{
    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];
        Info *f = &p->info[id];
        const bool across = f->last_phase > f->phase && !is_load(x);

        f->array = -1;
        if (!f->needed || x->domain == RELN_STEP || is_alias(x) || x->op == &reln_op_call)
            continue;
        trace(p, x);
        if (!f->is_output && !across)
            continue;
        if (across && can_come_again(p, x))
            mark_again(p, x);
        else if (!keep(p, x))
            return false;
    }
    return true;
}

/* Returns whether room a is better than b for a value of `item` bytes: the smallest room that is large enough, otherwise
 * the largest. */
static bool is_better_room(const Room *a, const Room *b, size_t item)
{
    if (a->item >= item && b->item >= item)
        return a->item < b->item;
    return a->item > b->item;
}

/* Finds a room whose last value is not read in this phase or later; -1: none. */
static int free_room(const RelnPlan *plan, const Kept *kept, int phase)
{
    int best = -1;

    for (int i = 0; i < plan->rooms.count; i++) {
        const Room *room = &plan->rooms.items[i];

        if (room->domain == kept->node->domain && room->dies < phase &&
            (best < 0 || is_better_room(room, &plan->rooms.items[best], kept->item)))
            best = i;
    }
    return best;
}

static bool take_room(Planner *p, Kept *kept)
{
    RelnPlan *plan = p->plan;
    const Info *f = &p->info[kept->node->id];
    const Room empty = {.domain = kept->node->domain};
    Room *room;

    kept->room = f->is_output ? -1 : free_room(plan, kept, f->phase);
    if (kept->room < 0) {
        kept->room = plan->rooms.count;
        if (!PLAN_ADD(plan, &plan->rooms, empty))
            return nomem(p);
    }
    room = &plan->rooms.items[kept->room];
    room->item = kept->item > room->item ? kept->item : room->item;
    room->dies = f->is_output ? INT_MAX : f->last_phase;
    return true;
}

/* Gradients need the values of the last layers first, so the memory of these serves the gradients of earlier layers. */
bool reln_pass_find_kept(Planner *p)
{
    RelnPlan *plan = p->plan;

    if (!add_kept(p))
        return false;
    for (int phase = 0; phase < plan->phases.count; phase++)
        for (int i = 0; i < plan->kept.count; i++)
            if (p->info[plan->kept.items[i].node->id].phase == phase &&
                !take_room(p, &plan->kept.items[i]))
                return false;
    return true;
}
