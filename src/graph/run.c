/* run.c -- runs a plan: divides the batch into shards and executes the phases. */
#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "graph/frame.h"
#include "kit/comm.h"

RelnStatus reln_exec_fail(const RelnExec *e, RelnStatus status, const char *format, ...)
{
    char text[RELN_MESSAGE - 64];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(e->message, RELN_MESSAGE, "%s: %s", e->node->op->name, text);
    return status;
}

RelnStatus reln_run_fail(Worker *w, RelnStatus status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(w->message, sizeof w->message, format, args);
    va_end(args);
    return status;
}

static void *base_of(const Frame *f, const Place *place)
{
    const Kept *kept;

    switch (place->kind) {
    case AT_SLAB:
        return f->slab + place->offset;
    case AT_STEP:
        return f->plan->memory + place->offset;
    case AT_LANE:
        return f->lane + place->offset;
    case AT_KEPT:
        kept = &f->plan->kept.items[place->offset];
        return kept_values(f->plan, kept) +
               (size_t)first_of_all(f, kept->node->domain) * kept->item;
    case AT_ENTRY:
        return f->plan->entries.items[place->offset].values;
    case AT_ARG: /* only functions have arguments and results */
        assert(f->args);
        return f->args[place->offset];
    case AT_OUT:
        assert(f->outs);
        return f->outs[place->offset];
    case AT_NOWHERE:
        break;
    }
    return NULL;
}

void *reln_resolve(const Frame *f, const Place *place)
{
    char *base = base_of(f, place);

    return base && place->step ? base + place->step * (size_t)f->tile_first : base;
}

/* ---- instructions --------------------------------------------------------------------------------------------- */

static RelnStatus run_program(const Program *program, const Frame *f);

/* An Inputs holds the addresses and counts of an op's inputs; `passing` marks the inputs in the worker's
 * slab. */
typedef struct Inputs {
    void *at[MAX_IN];
    ptrdiff_t n[MAX_IN];
    bool passing[MAX_IN];
} Inputs;

static void find_inputs(const Frame *f, const Instr *instr, Inputs *out)
{
    const char *slab = f->worker->slab, *end = slab + f->plan->slab;

    for (int i = 0; i < instr->n_in; i++) {
        const char *at = out->at[i] = reln_resolve(f, &instr->in[i]);

        out->n[i] = instr->in_whole[i] ? all_items(f, instr->in_domains[i])
                                       : n_items(f, instr->in_domains[i]);
        out->passing[i] = at >= slab && at < end;
    }
}

/* Returns the id under which packed weights are valid. Run ids count up from 1, freeze ids down from
 * UINT64_MAX, so a stale pack is never taken for a fresh one. */
static uint64_t pack_run(const RelnPlan *plan, const Instr *instr)
{
    return plan->frozen && instr->steady_pack ? UINT64_MAX - plan->n_freezes : plan->n_runs;
}

static RelnSpans spans_of(const Frame *f)
{
    return (RelnSpans){
        .n_samples = f->shard->count,
        .first = (const ptrdiff_t *const *)f->plan->row_first,
        .sample = f->shard->first,
        .tile = f->tile,
        .tile_first = f->tile_first,
    };
}

static RelnStatus run_op(const Frame *f, const Instr *instr)
{
    const RelnSpans spans = spans_of(f);
    Inputs inputs;
    RelnExec e = {
        .node = instr->node,
        .prepared = instr->prepared,
        .in = inputs.at,
        .n_in = inputs.n,
        .passing = inputs.passing,
        .out = reln_resolve(f, &instr->out),
        .n = instr->out_whole ? all_items(f, instr->domain) : n_items(f, instr->domain),
        .spans = &spans,
        .accumulate = instr->accumulate,
        .scratch = reln_resolve(f, &instr->scratch),
        .pack = instr->pack >= 0 ? &f->worker->packs[instr->pack] : NULL,
        .run = pack_run(f->plan, instr),
        .kern = f->plan->kern,
        .gemm = &f->worker->gemm,
        .seed = f->plan->run.seed,
        .step = f->plan->run.step,
        .first = first_item(f, instr->domain),
        .message = f->worker->message,
    };

    if (f->piece) {
        e.first = f->piece->first;
        e.n = f->piece->count;
    }
    find_inputs(f, instr, &inputs);
    return instr->node->op->forward(&e);
}

/* Finds the memory of a call's results. Results without a reader go to spare memory. The call adds to
 * step-level results, so these are set to 0 first, unless they are accumulators, results of the caller, or
 * were set to 0 before a loop. */
static void find_results(const Frame *f, const Instr *instr, char *spare, void **out)
{
    for (int i = 0; i < instr->n_out; i++) {
        const RelnNode *x = instr->callee->fn->out[i];
        const Place *place = &instr->outs[i];

        out[i] = reln_resolve(f, place);
        if (place->kind == AT_NOWHERE) {
            assert(spare);
            out[i] = spare;
            spare += reln_spare_room(f->plan, instr->callee, i);
        }
        if (x->domain == RELN_STEP && place->kind != AT_LANE && place->kind != AT_OUT &&
            instr->loop < 0)
            memset(out[i], 0, reln_node_bytes(x));
    }
}

static RelnStatus run_call(const Frame *f, const Instr *instr)
{
    void *in[MAX_IN], *out[MAX_IN];
    char *scratch = reln_resolve(f, &instr->scratch);
    Frame callee = *f;

    for (int i = 0; i < instr->n_in; i++)
        in[i] = reln_resolve(f, &instr->in[i]);
    find_results(f, instr, scratch ? scratch + instr->callee->slab : NULL, out);
    callee.slab = scratch;
    callee.args = in;
    callee.outs = out;
    callee.tile = RELN_STEP;
    callee.tile_first = 0;
    callee.items = -1;
    if (!instr->callee->fn->placed) {
        callee.first = first_item(f, instr->domain);
        callee.items = n_items(f, instr->domain);
    }
    return run_program(instr->callee, &callee);
}

/* ---- chains --------------------------------------------------------------------------------------------------- */

/* Finds the operands of all links, and their steps: from item to item, from row to row, and in the last loop. With four
 * loops, the items of the kernel are those of the second loop. */
static void find_operands(const Frame *f, const Instr *instr, RelnLink *links)
{
    const Chain *c = instr->chain;
    const int last = c->rank - 1, first = c->rank == CHAIN_RANK;

    for (int i = 0; i < c->n_links; i++) {
        const ChainLink *from = &c->links[i];

        links[i] = (RelnLink){.kind = from->kind, .a = from->a, .b = from->b};
        if (from->read < 0)
            continue;
        links[i].at = reln_resolve(f, &instr->in[from->read]);
        links[i].index = from->index < 0 ? NULL : reln_resolve(f, &instr->in[from->index]);
        links[i].item = last > 0 ? from->stride[first] : 0;
        links[i].row = last > 1 ? from->stride[first + 1] : 0;
        links[i].column = from->stride[last];
    }
}

/* Runs a chain of four loops: in one call, if the second loop goes on from item to item. */
static void run_deep(const Chain *c, const RelnRealKernels *k, ptrdiff_t n, RelnLink *links,
                     void *out)
{
    const ptrdiff_t *extent = c->extent, times = c->merged ? n : 1;

    for (ptrdiff_t i = 0; i < n; i += times) {
        k->links(times * extent[1], extent[2], extent[3], c->n_links, links,
                 (char *)out + (size_t)(i * c->item) * k->size);
        for (int l = 0; l < c->n_links; l++)
            if (links[l].at)
                links[l].at =
                    (const char *)links[l].at + c->links[l].stride[0] * (ptrdiff_t)k->size;
    }
}

/* Chains of numbers, and of items that are contiguous in all operands, are one long row. */
static void run_chain(const Frame *f, const Instr *instr)
{
    const Chain *c = instr->chain;
    const RelnRealKernels *k = table_of(f->plan, instr->node);
    const ptrdiff_t n = n_items(f, instr->domain), *extent = c->extent;
    void *out = reln_resolve(f, &instr->out);
    RelnLink links[CHAIN_LINKS];

    find_operands(f, instr, links);
    if (c->rank == 1 || c->flat)
        k->links(1, 1, c->rank == 1 ? n : n * extent[1], c->n_links, links, out);
    else if (c->rank == 2)
        k->links(n, 1, extent[1], c->n_links, links, out);
    else if (c->rank == 3)
        k->links(n, extent[1], extent[2], c->n_links, links, out);
    else
        run_deep(c, k, n, links, out);
}

static void run_sum(const Frame *f, const Instr *instr)
{
    const RelnNode *x = instr->node;
    const RelnRealKernels *k = table_of(f->plan, x);
    const ptrdiff_t n = reln_shape_count(&x->shape);
    void *out = reln_resolve(f, &instr->out);

    assert(out && instr->n_in > 0);
    memcpy(out, reln_resolve(f, &instr->in[0]), reln_node_bytes(x));
    for (int i = 1; i < instr->n_in; i++)
        k->map2[RELN_ADD](n, out, 1, reln_resolve(f, &instr->in[i]), 1, out);
}

static RelnStatus run_instr(const Frame *f, const Instr *instr)
{
    const RelnNode *x = instr->node;
    void *out;

    switch (instr->kind) {
    case DO_OP:
        return run_op(f, instr);
    case DO_CHAIN:
        run_chain(f, instr);
        return RELN_OK;
    case DO_CALL:
        return run_call(f, instr);
    case DO_LOAD:
        return reln_run_load(f, instr);
    case DO_KEEP:
    case DO_COPY:
        out = reln_resolve(f, &instr->out);
        memmove(out, reln_resolve(f, &instr->in[0]),
                reln_node_bytes(x) * (size_t)n_items(f, instr->domain));
        return RELN_OK;
    case DO_ZERO:
        memset(reln_resolve(f, &instr->out), 0,
               reln_node_bytes(x) * (size_t)all_items(f, instr->domain));
        return RELN_OK;
    case DO_ADD_TO:
        out = reln_resolve(f, &instr->out);
        table_of(f->plan, x)
            ->map2[RELN_ADD](reln_shape_count(&x->shape), out, 1, reln_resolve(f, &instr->in[0]), 1,
                             out);
        return RELN_OK;
    case DO_SUM:
        run_sum(f, instr);
        return RELN_OK;
    }
    return RELN_OK;
}

/* Checks the values that an instruction has just written. Values inside a call are checked inside it; an
 * optimiser's inputs were checked before it; a sum over the tiles of a loop is incomplete before the last
 * tile, so its reader is checked instead. */
static RelnStatus look(const Frame *f, const Instr *instr)
{
    const RelnNode *x = instr->node;

    if (!f->plan->finite || instr->kind == DO_CALL || x->op->flags & RELN_OP_EFFECT ||
        instr->out.kind == AT_NOWHERE || instr->out_whole)
        return RELN_OK;
    return reln_plan_finite(x, reln_resolve(f, &instr->out), n_items(f, x->domain),
                            first_item(f, x->domain), f->worker->message);
}

static RelnStatus run_looking(const Frame *f, const Instr *instr)
{
    RELN_TRY(run_instr(f, instr));
    return look(f, instr);
}

static RelnStatus run_loop(const Program *program, const Frame *f, const Loop *loop)
{
    const ptrdiff_t all = all_items(f, loop->domain);
    Frame tile = *f;

    tile.tile = loop->domain;
    for (ptrdiff_t first = 0; first < all; first += tile.tile_count) {
        tile.tile_first = first;
        tile.tile_count = reln_tile_end(f, loop, first) - first;
        for (int i = loop->first; i < loop->end; i++)
            RELN_TRY(run_looking(&tile, &program->code.items[i]));
    }
    return RELN_OK;
}

static RelnStatus run_range(const Program *program, const Frame *f, int first, int end)
{
    for (int i = first; i < end; i++) {
        const int loop = program->code.items[i].loop;

        if (loop < 0) {
            RELN_TRY(run_looking(f, &program->code.items[i]));
            continue;
        }
        RELN_TRY(run_loop(program, f, &program->loops.items[loop]));
        i = program->loops.items[loop].end - 1;
    }
    return RELN_OK;
}

static RelnStatus run_program(const Program *program, const Frame *f)
{
    return run_range(program, f, 0, program->code.count);
}

static RelnStatus run_step(const Program *program, const Frame *f)
{
    for (int i = 0; i < program->code.count; i++)
        if (!(f->plan->settled && program->code.items[i].steady))
            RELN_TRY(run_range(program, f, i, i + 1));
    return RELN_OK;
}

static Frame step_frame(RelnPlan *plan, Worker *worker)
{
    static const Shard nothing = {0, 0};

    return (Frame){
        .plan = plan, .worker = worker, .slab = worker->slab, .shard = &nothing, .items = -1};
}

/* ---- work for all workers ------------------------------------------------------------------------------------- */

/* A Round is the list of tasks 0, 1, ... of a phase; each task is taken by a free worker. */
typedef struct Round {
    RelnPlan *plan;
    const Phase *phase;
    RelnStatus (*task)(RelnPlan *plan, const Phase *phase, int index, Worker *worker);
    int n;
    atomic_int next;
    atomic_bool failed;
} Round;

static void work(void *user, int index)
{
    Round *round = user;
    Worker *worker = &round->plan->workers[index];

    worker->status = RELN_OK;
    for (;;) {
        const int task = atomic_fetch_add(&round->next, 1);

        if (task >= round->n || atomic_load(&round->failed))
            return;
        worker->status = round->task(round->plan, round->phase, task, worker);
        if (worker->status != RELN_OK) {
            atomic_store(&round->failed, true);
            return;
        }
    }
}

/* Runs n tasks on all workers; a single task runs on the calling thread without waking the others. */
static RelnStatus share(RelnPlan *plan, const Phase *phase, int n,
                        RelnStatus (*task)(RelnPlan *, const Phase *, int, Worker *))
{
    Round round = {.plan = plan, .phase = phase, .task = task, .n = n};
    const int workers = n < plan->n_workers ? n : plan->n_workers;

    if (n == 0)
        return RELN_OK;
    reln_pool_run(plan->pool, workers, work, &round);
    for (int i = 0; i < workers; i++)
        if (plan->workers[i].status != RELN_OK)
            return reln_fail(plan->ctx, plan->workers[i].status, "%s", plan->workers[i].message);
    return RELN_OK;
}

/* ---- shards and lanes ----------------------------------------------------------------------------------------- */

static RelnStatus run_lane(RelnPlan *plan, const Phase *phase, int index, Worker *worker)
{
    const int lane = plan->lanes.first + index, buffer = reln_lanes_take(&plan->lanes);
    Frame f = {.plan = plan, .worker = worker, .slab = worker->slab, .items = -1};

    f.lane = plan->lanes.memory + (size_t)buffer * plan->lanes.size;
    for (int i = 0; i < phase->sums.count; i++) {
        const Accumulator *sum = &phase->sums.items[i];

        memset(f.lane + sum->lane, 0, sum->count * reln_dtype_size(sum->dtype));
    }
    for (ptrdiff_t s = lane_begins(plan, lane); s < lane_begins(plan, lane + 1); s++) {
        if (plan->run.asked && plan->run.asked(plan->run.self))
            return reln_run_fail(worker, RELN_ERR_STOPPED, "run: asked to stop");
        f.shard = &plan->shards[s];
        RELN_TRY(run_program(&phase->shards, &f));
        worker->n_shards++;
    }
    reln_lanes_end(plan, phase, lane, buffer);
    return RELN_OK;
}

uint64_t reln_plan_shards_run(const RelnPlan *plan)
{
    uint64_t sum = 0;

    for (int w = 0; w < plan->n_workers; w++)
        sum += plan->workers[w].n_shards;
    return sum;
}

/* Add the upper part of the tree of additions, the sums that workers have left; without lanes the total is 0. */
static RelnStatus combine(RelnPlan *plan, const Phase *phase, int index, Worker *worker)
{
    const Piece *piece = &phase->pieces.items[index];
    const Accumulator *sum = &phase->sums.items[piece->index];
    const RelnRealKernels *k = sum->dtype == RELN_F64 ? plan->kern->f64 : plan->kern->f32;
    const Frame f = step_frame(plan, worker);
    const size_t first = (size_t)piece->first * k->size;
    const Lanes *lanes = &plan->lanes;
    const int node = lanes->leaves >> lanes->folds;
    char *total = reln_resolve(&f, &sum->total);
    const void *parts[RELN_TREE];
    int n = 0;

    for (int i = 0; i < node && !plan->ranks.comm && lanes->held[node + i] >= 0; i++)
        parts[n++] = lanes_at(lanes, node + i) + sum->lane + first;
    if (plan->ranks.comm && lanes->n > 0)
        memcpy(total + first, plan->ranks.total + sum->lane + first,
               (size_t)piece->count * k->size);
    else if (n > 0)
        k->tree(piece->count, n, parts, total + first);
    else
        memset(total + first, 0, (size_t)piece->count * k->size);
    return RELN_OK;
}

/* Runs the shards of a phase and adds up their sums. If this rank has already failed, it skips the shards but
 * still takes part in the exchange, so that all ranks learn of the failure. */
static RelnStatus run_shards(RelnPlan *plan, int index, RelnStatus status)
{
    const Phase *phase = &plan->phases.items[index];

    if (phase->shards.code.count == 0)
        return status;
    if (status == RELN_OK) {
        reln_lanes_begin(&plan->lanes);
        status = share(plan, phase, plan->lanes.end - plan->lanes.first, run_lane);
    }
    RELN_TRY(reln_comm_agree(plan->ranks.comm, plan->ctx, status));
    if (plan->ranks.comm && plan->lanes.n > 0 && phase->sums.count > 0)
        RELN_TRY(reln_ranks_reduce(plan, index));
    return share(plan, phase, phase->pieces.count, combine);
}

/* ---- the end of a run ----------------------------------------------------------------------------------------- */

static RelnStatus run_effect(RelnPlan *plan, const Phase *phase, int index, Worker *worker)
{
    const Piece *piece = &plan->pieces.items[index];
    Frame f = step_frame(plan, worker);

    (void)phase;
    f.piece = piece;
    return run_instr(&f, &plan->commit.code.items[piece->index]);
}

static RelnStatus fail_step(RelnPlan *plan, RelnStatus status)
{
    return status == RELN_OK ? RELN_OK
                             : reln_fail(plan->ctx, status, "%s", plan->workers[0].message);
}

/* Computes the outputs, then runs the optimisers, then the assignments. */
static RelnStatus run_commit(RelnPlan *plan)
{
    const Frame f = step_frame(plan, &plan->workers[0]);

    RELN_TRY(fail_step(plan, run_range(&plan->commit, &f, 0, plan->effects)));
    RELN_TRY(share(plan, NULL, plan->pieces.count, run_effect));
    return fail_step(plan,
                     run_range(&plan->commit, &f, plan->effects_end, plan->commit.code.count));
}

static RelnStatus run_phase_step(RelnPlan *plan, int index)
{
    const Frame f = step_frame(plan, &plan->workers[0]);

    return fail_step(plan, run_step(&plan->phases.items[index].step, &f));
}

RelnStatus reln_plan_run(RelnPlan *plan, const RelnRun *run)
{
    RelnStatus status;

    if (!plan)
        return RELN_ERR_ARG;
    if (!run)
        return reln_fail(plan->ctx, RELN_ERR_ARG, "run: no RelnRun was given");
    status = reln_plan_start(plan, run);
    for (int i = 0; i < plan->phases.count; i++) {
        if (status == RELN_OK)
            status = run_phase_step(plan, i);
        if (status != RELN_OK && !plan->ranks.comm)
            return status;
        RELN_TRY(status = run_shards(plan, i, status));
    }
    RELN_TRY(status);
    plan->settled = plan->frozen != NULL;
    RELN_TRY(run_commit(plan));
    return reln_ranks_gather(plan);
}
