/* layout.c -- lifetimes of the values of a program, and their offsets in the slab. */
#include "graph/compile.h"

/* A Buffer is a value in the slab while a program is laid out. */
typedef struct Buffer {
    int born, dies; /* instruction indices, both included */
    size_t bytes, offset;
    Place *user; /* receives the offset */
} Buffer;

typedef struct Layout {
    Planner *p;
    RELN_LIST(Buffer) buffers;
} Layout;

/* Assigns an offset by first fit: a buffer gets the lowest gap between the buffers that are alive at the same
 * time. */
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
        /* results without a reader still need memory */
        size_t bytes = instr->callee->slab;

        for (int i = 0; i < instr->n_out; i++)
            if (instr->outs[i].kind == AT_NOWHERE)
                bytes += reln_spare_room(p->plan, instr->callee, i);
        return bytes;
    }
    if (instr->kind != DO_OP || !x->op->scratch)
        return 0;
    return x->op->scratch(x, items_at_once(p, x, instr->domain));
}

/* An instruction reads either the inputs of its node or the value of the node itself. */
static bool reads_inputs(const Instr *instr)
{
    return instr->kind == DO_OP || instr->kind == DO_CHAIN || instr->kind == DO_CALL;
}

static bool reads_node(const Instr *instr)
{
    return instr->kind == DO_KEEP || instr->kind == DO_ADD_TO || instr->kind == DO_COPY;
}

/* A value that is set to 0 and then added to lives from the instruction that sets it to 0. */
static void begin_life(Info *f, int t)
{
    f->born = f->born < 0 ? t : f->born;
    f->dies = t;
}

/* A value lives from the instruction that computes it to the last one that reads it. */
static void note_life(Planner *p, const Instr *instr, int t)
{
    const RelnNode *x = instr->node;

    for (int i = 0; i < instr->n_out; i++)
        begin_life(&p->info[result_of(p, x, i)->id], t);
    if (instr->kind == DO_OP || instr->kind == DO_CHAIN || instr->kind == DO_LOAD ||
        instr->kind == DO_SUM || instr->kind == DO_ZERO)
        begin_life(&p->info[x->id], t);
    for (int i = 0; i < instr->n_in && reads_inputs(instr); i++)
        p->info[reln_storage(instr->reads[i])->id].dies = t;
    if (reads_node(instr))
        p->info[reln_storage(x)->id].dies = t;
}

/* A value that is not recomputed for each tile is needed by all tiles: it lives for the whole of each loop
 * that uses it. */
static void stretch(Info *f, const Program *program)
{
    const int first = program->code.items[f->born].loop, last = program->code.items[f->dies].loop;

    if (first >= 0)
        f->born = program->loops.items[first].first;
    if (last >= 0)
        f->dies = program->loops.items[last].end - 1;
}

static void find_lives(Planner *p, const Program *program)
{
    for (int id = 0; id < p->g->nodes.count; id++)
        p->info[id].born = p->info[id].dies = -1;
    for (int t = 0; t < program->code.count; t++)
        note_life(p, &program->code.items[t], t);
    for (int id = 0; id < p->g->nodes.count; id++)
        if (p->info[id].born >= 0 && !is_passing(p, p->g->nodes.items[id]))
            stretch(&p->info[id], program);
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

/* In a loop, a value that has memory for all items is read and written at the tile's offset. */
static void step_to(const Planner *p, const Instr *instr, const RelnNode *x, bool whole,
                    Place *place)
{
    const RelnDomain domain =
        instr->loop < 0 ? RELN_STEP : p->program->loops.items[instr->loop].domain;

    place->step = domain != RELN_STEP && x->domain == domain && !whole &&
                          (place->kind != AT_SLAB || !is_passing(p, reln_storage(x)))
                      ? reln_node_bytes(x)
                      : 0;
}

static void take_steps(const Planner *p, Instr *instr)
{
    const RelnNode *x = instr->node;

    for (int i = 0; i < instr->n_in && reads_inputs(instr); i++)
        step_to(p, instr, instr->reads[i], instr->in_whole[i], &instr->in[i]);
    if (reads_node(instr))
        step_to(p, instr, x, false, &instr->in[0]);
    step_to(p, instr, x, instr->out_whole, &instr->out);
    for (int i = 0; i < instr->n_out; i++)
        step_to(p, instr, result_of(p, x, i), false, &instr->outs[i]);
}

/* Copies the final places of the values into an instruction, when the offsets are known. */
static void settle(const Planner *p, Instr *instr)
{
    const RelnNode *x = instr->node;

    for (int i = 0; i < instr->n_in && reads_inputs(instr); i++)
        instr->in[i] = place_of(p, instr->reads[i]);
    if (reads_node(instr) && instr->in[0].kind == AT_SLAB)
        instr->in[0] = place_of(p, x);
    if (!reads_node(instr) && instr->out.kind == AT_SLAB)
        instr->out = p->info[x->id].place;
    for (int i = 0; i < instr->n_out; i++)
        if (instr->outs[i].kind == AT_SLAB)
            instr->outs[i] = p->info[result_of(p, x, i)->id].place;
    take_steps(p, instr);
}

/* Compute lifetimes, assign offsets in the slab, and write them into the instructions. */
bool reln_pass_lay_out(Planner *p, Program *program)
{
    Layout l = {.p = p};

    reln_pass_measure_tiles(p);
    find_lives(p, program);
    if (!want_memory(&l, program) || !place_buffers(&l, &program->slab))
        return false;
    for (int i = 0; i < l.buffers.count; i++)
        l.buffers.items[i].user->offset = l.buffers.items[i].offset;
    for (int t = 0; t < program->code.count; t++)
        settle(p, &program->code.items[t]);
    return true;
}
