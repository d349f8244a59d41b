/* schedule.c -- the order in which a program computes its nodes, and which of them loop over tiles of a row domain.
 *
 * Consecutive nodes of one row domain that can be computed tile by tile form one loop. A node joins the open loop if it
 * reads the loop's values tile by tile. A node that needs more than a tile of a value (a gather from rows that the loop
 * itself computes, a sum that is not complete) waits until the loop has ended. Without row domains the order is that of
 * the graph. */
#include "graph/compile.h"

/* The live values of a tile take about this many bytes, so that they stay in a second-level cache. The size
 * depends on the graph alone, never on the machine, because sums over the batch are made of partial sums of
 * tiles. */
enum { TILE_BYTES = 192 * 1024, TILE_LEAST = 16 };

typedef struct Scheduler {
    Planner *p;
    const bool *mine;
    bool *done; /* by id of the unit */
    int loop;   /* the open loop; -1: none */
    RelnDomain domain;
} Scheduler;

/* Returns whether input i of x can be read now. */
static bool is_there(const Scheduler *s, const RelnNode *x, int i)
{
    const RelnNode *y = reln_storage(x->in[i]), *unit = unit_of(y);

    if (!s->mine[unit->id])
        return true;
    if (!s->done[unit->id])
        return false;
    if (s->loop < 0 || s->p->info[unit->id].loop != s->loop)
        return true;
    return in_step(s->p, y) && !reads_whole(x, i);
}

static bool is_ready(const Scheduler *s, const RelnNode *x)
{
    for (int i = 0; i < x->n_in; i++)
        if (!is_there(s, x, i))
            return false;
    return true;
}

/* Appends all nodes of one domain that can run now. Inputs come before their readers, so one pass finds all
 * of them. */
static void take(Scheduler *s)
{
    Planner *p = s->p;

    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];

        if (!s->mine[id] || s->done[id] || loop_domain(x) != s->domain || !is_ready(s, x))
            continue;
        p->info[id].loop = s->loop;
        s->done[id] = true;
        p->order[p->n_order++] = id;
    }
}

static bool open_loop(Scheduler *s, RelnDomain domain)
{
    const Loop loop = {.domain = domain};

    s->loop = s->p->program->loops.count;
    s->domain = domain;
    return PLAN_ADD(s->p->plan, &s->p->program->loops, loop) || nomem(s->p);
}

/* Returns the domain of the next loop: the first domain with a node that is ready. Parents come before their
 * rows, so that more nodes of rows can run in one loop. RELN_STEP: no node is left. */
static RelnDomain next_domain(const Scheduler *s)
{
    RelnDomain next = RELN_STEP;

    for (int id = 0; id < s->p->g->nodes.count; id++) {
        const RelnNode *x = s->p->g->nodes.items[id];

        if (s->mine[id] && !s->done[id] && is_ready(s, x) &&
            (next == RELN_STEP || loop_domain(x) < next))
            next = loop_domain(x);
    }
    return next;
}

/* Alternates between nodes outside loops and a loop. */
static bool fill_order(Scheduler *s)
{
    for (;;) {
        RelnDomain next;

        s->loop = -1;
        s->domain = RELN_STEP;
        take(s);
        next = next_domain(s);
        if (next == RELN_STEP)
            return true;
        if (!open_loop(s, next))
            return false;
        take(s);
    }
}

/* ---- values that need more memory than a tile ------------------------------------------------------------------- */

static void find_whole(Planner *p)
{
    for (int at = 0; at < p->n_order; at++) {
        const RelnNode *x = p->g->nodes.items[p->order[at]];

        for (int i = 0; i < x->n_in; i++) {
            const RelnNode *y = reln_storage(x->in[i]);

            if (in_step(p, y) &&
                (p->info[x->id].loop != p->info[unit_of(y)->id].loop || reads_whole(x, i)))
                p->info[y->id].whole = true;
        }
    }
}

/* ---- the size of a tile --------------------------------------------------------------------------------------- */

/* Returns the bytes of one item of the values that x computes and that stay in its loop. */
static size_t bytes_made(const Planner *p, const RelnNode *x)
{
    size_t bytes = 0;

    if (x->op != &reln_op_call)
        return in_step(p, x) && !p->info[x->id].whole ? reln_node_bytes(x) : 0;
    for (int i = 0; i < callee_of(x)->n_out; i++) {
        const RelnNode *r = result_of(p, x, i);

        if (in_step(p, r) && !p->info[r->id].whole)
            bytes += reln_node_bytes(r);
    }
    return bytes;
}

/* For each unit, finds the position in the order of the last unit that reads its value. */
static void find_last_reads(const Planner *p, int *last)
{
    for (int at = 0; at < p->n_order; at++)
        last[p->order[at]] = at;
    for (int at = 0; at < p->n_order; at++) {
        const RelnNode *x = p->g->nodes.items[p->order[at]];

        for (int i = 0; i < x->n_in; i++)
            last[unit_of(reln_storage(x->in[i]))->id] = at;
    }
}

/* Returns the largest number of bytes of one item that are alive at a time in the loop that begins at
 * `from`. */
static size_t most_alive(const Planner *p, const int *last, int from, int *end)
{
    const int loop = p->info[p->order[from]].loop;
    size_t most = 1;

    for (*end = from; *end < p->n_order && p->info[p->order[*end]].loop == loop; (*end)++) {
        size_t alive = 0;

        for (int at = from; at <= *end; at++)
            if (last[p->order[at]] >= *end)
                alive += bytes_made(p, p->g->nodes.items[p->order[at]]);
        most = alive > most ? alive : most;
    }
    return most;
}

/* Some ops need all items below one item of the domain that their index points into in one tile. If a loop
 * has two such domains, or one above the parent, a tile holds whole samples. */
static void join_groups(const Planner *p, const RelnNode *x, Loop *loop)
{
    RelnDomain ancestor;

    if (!(x->op->flags & RELN_OP_PARENTS))
        return;
    ancestor = x->in[1]->target;
    if (ancestor > RELN_SAMPLES && ancestor != reln_row_domain(p->g, loop->domain)->parent &&
        reln_row_domain(p->g, ancestor)->kind != RELN_ROWS_COARSE)
        ancestor = RELN_SAMPLES;
    loop->ancestor =
        loop->ancestor == RELN_STEP || loop->ancestor == ancestor ? ancestor : RELN_SAMPLES;
}

static ptrdiff_t largest_group(const Planner *p, const Loop *loop)
{
    if (loop->ancestor == RELN_STEP)
        return 1;
    if (loop->ancestor == RELN_SAMPLES)
        return reln_domain_most(p->g, loop->domain);
    return loop->ancestor == reln_row_domain(p->g, loop->domain)->parent
               ? reln_domain_below(p->g, loop->domain)
               : reln_row_domain(p->g, loop->ancestor)->most;
}

static void choose_tile(Planner *p, Loop *loop, size_t alive)
{
    const ptrdiff_t capacity = capacity_in(p, loop->domain), group = largest_group(p, loop);
    ptrdiff_t tile = (ptrdiff_t)(TILE_BYTES / alive);

    tile = tile > TILE_LEAST ? tile : TILE_LEAST;
    if (p->plan->tile > 0)
        tile = p->plan->tile;
    if (tile < group)
        tile = group;
    loop->tile = tile < capacity ? tile : capacity;
}

static bool choose_tiles(Planner *p)
{
    int *last = reln_arena_alloc(p->scratch, (size_t)p->g->nodes.count + 1, sizeof *last);

    if (!last)
        return nomem(p);
    find_last_reads(p, last);
    for (int at = 0, end; at < p->n_order; at = end) {
        Loop *loop = loop_of(p, p->g->nodes.items[p->order[at]]);
        size_t alive;

        end = at + 1;
        if (!loop)
            continue;
        alive = most_alive(p, last, at, &end);
        for (int i = at; i < end; i++)
            join_groups(p, p->g->nodes.items[p->order[i]], loop);
        choose_tile(p, loop, alive);
    }
    return true;
}

void reln_pass_measure_tiles(Planner *p)
{
    for (int id = 0; id < p->g->nodes.count; id++) {
        const RelnNode *x = p->g->nodes.items[id];

        if (in_step(p, x))
            p->info[id].bytes = reln_plan_room(x, is_passing(p, x) ? loop_of(p, unit_of(x))->tile
                                                                   : capacity_of(p, x));
    }
}

bool reln_pass_schedule(Planner *p, const bool *mine)
{
    const int n = p->g->nodes.count;
    Scheduler s = {.p = p, .mine = mine};

    p->order = reln_arena_alloc(p->scratch, (size_t)n + 1, sizeof *p->order);
    s.done = reln_arena_alloc(p->scratch, (size_t)n + 1, sizeof *s.done);
    if (!p->order || !s.done)
        return nomem(p);
    p->n_order = 0;
    reln_no_loops(p);
    for (int id = 0; id < n; id++)
        p->info[id].whole = p->info[id].place.kind == AT_OUT;
    for (int i = 0; p->body && i < p->program->fn->n_out; i++) /* the caller reads the results */
        p->info[reln_storage(p->program->fn->out[i])->id].whole = true;
    if (!fill_order(&s))
        return false;
    find_whole(p);
    return choose_tiles(p) && reln_pass_chain(p, mine);
}
