/* compile.c -- compiles a graph to programs: the list of passes.
 *
 * A pass reads facts that earlier passes found about the nodes (Info in compile.h). Each group of passes has a file:
 * phases.c, place.c, programs.c with emit.c, layout.c; body.c compiles a function in the same way. */
#include "graph/compile.h"

static bool compile(RelnPlan *plan, RelnArena *scratch)
{
    RelnGraph *g = plan->graph;
    Planner p = {.plan = plan, .scratch = scratch, .g = g};

    p.info = reln_arena_alloc(scratch, (size_t)g->nodes.count + 1, sizeof *p.info);
    plan->row_costs =
        reln_arena_alloc(&plan->arena, (size_t)g->rows.count, sizeof *plan->row_costs);
    if (!p.info || !plan->row_costs)
        return nomem(&p);
    for (int i = 0; i < g->rows.count; i++)
        plan->row_costs[i].name = g->rows.items[i].name;
    reln_no_loops(&p);
    reln_pass_measure(&p);
    reln_pass_mark_roots(&p);
    reln_pass_mark_needed(&p);
    reln_pass_find_steady(&p);
    reln_pass_find_phases(&p);
    if (!reln_pass_add_phases(&p) || !reln_pass_find_kept(&p) || !reln_pass_place_step(&p))
        return false;
    for (int i = 0; i < plan->phases.count; i++)
        if (!reln_pass_step_program(&p, i) || !reln_pass_shard_program(&p, i))
            return false;
    return reln_pass_commit_program(&p);
}

bool reln_plan_compile(RelnPlan *plan)
{
    RelnArena scratch;
    bool done;

    reln_arena_init(&scratch, plan->ctx);
    done = compile(plan, &scratch);
    reln_arena_clear(&scratch);
    return done;
}
