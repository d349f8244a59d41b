/* phases.c -- which nodes are needed, in which phase each is computed, and which values outlive a shard. */
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

bool reln_pass_find_kept(Planner *p)
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
