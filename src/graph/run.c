/* run.c -- running a plan: cut the batch into shards, work through the phases. */
#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "graph/plan.h"

/* What an instruction can see: the worker's memory, the shard at hand, the function that is being called. */
typedef struct Frame {
    RelnPlan *plan;
    Worker *worker;
    char *slab;
    char *lane;
    const Shard *shard;
    void *const *args;
    void *const *outs;
    ptrdiff_t items; /* of a function's samples; -1 outside of functions */
    ptrdiff_t first;
    const Piece *piece; /* of an optimiser's parameter; NULL outside of them */
} Frame;

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

static RelnStatus run_fail(Worker *w, RelnStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static RelnStatus run_fail(Worker *w, RelnStatus status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(w->message, sizeof w->message, format, args);
    va_end(args);
    return status;
}

/* ---- items ---------------------------------------------------------------------------------------------------- */

static ptrdiff_t first_item(const Frame *f, RelnDomain domain)
{
    if (domain == RELN_STEP)
        return 0;
    if (f->items >= 0)
        return f->first;
    return domain == RELN_SAMPLES ? f->shard->first
                                  : f->plan->row_first[domain - 2][f->shard->first];
}

static ptrdiff_t n_items(const Frame *f, RelnDomain domain)
{
    const ptrdiff_t *first;

    if (domain == RELN_STEP)
        return 1;
    if (f->items >= 0)
        return f->items;
    if (domain == RELN_SAMPLES)
        return f->shard->count;
    first = f->plan->row_first[domain - 2];
    return first[f->shard->first + f->shard->count] - first[f->shard->first];
}

static void *resolve(const Frame *f, const Place *place)
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
        return kept->values + (size_t)first_item(f, kept->node->domain) * kept->item;
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

/* ---- loading -------------------------------------------------------------------------------------------------- */

static const RelnRealKernels *table_of(const RelnPlan *plan, const RelnNode *x)
{
    return x->dtype == RELN_F64 ? plan->kern->f64 : plan->kern->f32;
}

static void load_numbers(const Frame *f, const RelnNode *x, const Bound *b, char *out)
{
    const ptrdiff_t count = reln_shape_count(&x->shape), skip = first_item(f, x->domain) * count;
    const ptrdiff_t n = n_items(f, x->domain) * count;

    if (b->dtype == RELN_F64)
        table_of(f->plan, x)->from_f64(n, (const double *)b->values + skip, out);
    else
        table_of(f->plan, x)->from_f32(n, (const float *)b->values + skip, out);
}

/* Rows of a shard belong to its samples; indices count within the sample and are checked here, once. */
static RelnStatus load_indices(const Frame *f, const RelnNode *x, const Bound *b, int32_t *out)
{
    const RelnSourceAttr *s = x->attr;
    const RelnPlan *plan = f->plan;
    const ptrdiff_t count = reln_shape_count(&x->shape), first = first_item(f, x->domain);
    const int32_t *values = (const int32_t *)b->values + first * count;
    const ptrdiff_t *own = x->domain >= 2 ? plan->row_first[x->domain - 2] : NULL;
    const ptrdiff_t *target = s->target >= 2 ? plan->row_first[s->target - 2] : NULL;
    const ptrdiff_t n_samples = x->domain == RELN_STEP ? 1 : f->shard->count;

    for (ptrdiff_t i = 0, at = 0; i < n_samples; i++) {
        const ptrdiff_t sample = x->domain == RELN_STEP ? 0 : f->shard->first + i;
        const ptrdiff_t end = own ? (own[sample + 1] - first) * count : (i + 1) * count;
        const ptrdiff_t base = target ? target[sample] - target[f->shard->first] : 0;
        const ptrdiff_t limit = target ? target[sample + 1] - target[sample] : s->limit;

        for (; at < end; at++) {
            if (values[at] < 0 || values[at] >= limit)
                return run_fail(
                    f->worker, RELN_ERR_ARG, "input %s: index %d of sample %td, wanted 0 to %td",
                    plan->graph->sources.items[s->index].name, (int)values[at], sample, limit - 1);
            out[at] = (int32_t)(values[at] + base);
        }
    }
    return RELN_OK;
}

static void load_row_sample(const Frame *f, const RelnNode *x, int32_t *out)
{
    const ptrdiff_t *first = f->plan->row_first[x->domain - 2] + f->shard->first;

    for (ptrdiff_t i = 0; i < f->shard->count; i++)
        for (ptrdiff_t r = first[i]; r < first[i + 1]; r++)
            *out++ = (int32_t)i;
}

static RelnStatus load(const Frame *f, const Instr *instr)
{
    const RelnNode *x = instr->node;
    const RelnPlan *plan = f->plan;
    const RelnSourceAttr *s = x->attr;
    void *out = resolve(f, &instr->out);
    const double count = (double)plan->run.n_samples;

    if (x->op == &reln_op_batch_count) {
        table_of(plan, x)->from_f64(1, &count, out);
        return RELN_OK;
    }
    if (x->op == &reln_op_row_sample) {
        load_row_sample(f, x, out);
        return RELN_OK;
    }
    if (x->op == &reln_op_index_input)
        return load_indices(f, x, &plan->bound[s->index], out);
    load_numbers(f, x, &plan->bound[s->index], out);
    return RELN_OK;
}

/* ---- instructions --------------------------------------------------------------------------------------------- */

static RelnStatus run_program(const Program *program, const Frame *f);

/* What the inputs of an op are; passing: in the worker's slab. */
typedef struct Inputs {
    void *at[MAX_IN];
    ptrdiff_t n[MAX_IN];
    bool passing[MAX_IN];
} Inputs;

static void find_inputs(const Frame *f, const Instr *instr, Inputs *out)
{
    const char *slab = f->worker->slab, *end = slab + f->plan->slab;

    for (int i = 0; i < instr->n_in; i++) {
        const char *at = out->at[i] = resolve(f, &instr->in[i]);

        out->n[i] = n_items(f, instr->in_domains[i]);
        out->passing[i] = at >= slab && at < end;
    }
}

/* The id under which packed weights are valid. Run ids count up from 1, freeze ids down from UINT64_MAX, so a stale pack is
 * never taken for a fresh one. */
static uint64_t pack_run(const RelnPlan *plan, const Instr *instr)
{
    return plan->frozen && instr->steady_pack ? UINT64_MAX - plan->n_freezes : plan->n_runs;
}

static RelnStatus run_op(const Frame *f, const Instr *instr)
{
    Inputs inputs;
    RelnExec e = {
        .node = instr->node,
        .prepared = instr->prepared,
        .in = inputs.at,
        .n_in = inputs.n,
        .passing = inputs.passing,
        .out = resolve(f, &instr->out),
        .n = n_items(f, instr->domain),
        .accumulate = instr->accumulate,
        .scratch = resolve(f, &instr->scratch),
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

/* Results that nobody reads go to spare memory. Those at step level are added to; where they have a place of their own
 * they start from zero. */
static void find_results(const Frame *f, const Instr *instr, char *spare, void **out)
{
    for (int i = 0; i < instr->n_out; i++) {
        const RelnNode *x = instr->callee->fn->out[i];
        const Place *place = &instr->outs[i];

        out[i] = resolve(f, place);
        if (place->kind == AT_NOWHERE) {
            assert(spare);
            out[i] = spare;
            spare += reln_plan_room(x, instr->callee->items);
        }
        if (x->domain == RELN_STEP && place->kind != AT_LANE && place->kind != AT_OUT)
            memset(out[i], 0, reln_node_bytes(x));
    }
}

static RelnStatus run_call(const Frame *f, const Instr *instr)
{
    void *in[MAX_IN], *out[MAX_IN];
    char *scratch = resolve(f, &instr->scratch);
    Frame callee = *f;

    for (int i = 0; i < instr->n_in; i++)
        in[i] = resolve(f, &instr->in[i]);
    find_results(f, instr, scratch ? scratch + instr->callee->slab : NULL, out);
    callee.slab = scratch;
    callee.args = in;
    callee.outs = out;
    callee.first = first_item(f, instr->domain);
    callee.items = n_items(f, instr->domain);
    return run_program(instr->callee, &callee);
}

static void run_sum(const Frame *f, const Instr *instr)
{
    const RelnNode *x = instr->node;
    const RelnRealKernels *k = table_of(f->plan, x);
    const ptrdiff_t n = reln_shape_count(&x->shape);
    void *out = resolve(f, &instr->out);

    assert(out && instr->n_in > 0);
    memcpy(out, resolve(f, &instr->in[0]), reln_node_bytes(x));
    for (int i = 1; i < instr->n_in; i++)
        k->map2[RELN_ADD](n, out, 1, resolve(f, &instr->in[i]), 1, out);
}

static RelnStatus run_instr(const Frame *f, const Instr *instr)
{
    const RelnNode *x = instr->node;
    void *out;

    switch (instr->kind) {
    case DO_OP:
        return run_op(f, instr);
    case DO_CALL:
        return run_call(f, instr);
    case DO_LOAD:
        return load(f, instr);
    case DO_KEEP:
    case DO_COPY:
        out = resolve(f, &instr->out);
        memmove(out, resolve(f, &instr->in[0]),
                reln_node_bytes(x) * (size_t)n_items(f, instr->domain));
        return RELN_OK;
    case DO_ADD_TO:
        out = resolve(f, &instr->out);
        table_of(f->plan, x)
            ->map2[RELN_ADD](reln_shape_count(&x->shape), out, 1, resolve(f, &instr->in[0]), 1,
                             out);
        return RELN_OK;
    case DO_SUM:
        run_sum(f, instr);
        return RELN_OK;
    }
    return RELN_OK;
}

/* What an instruction has just written. Calls are looked at from inside, optimisers write what they were given. */
static RelnStatus look(const Frame *f, const Instr *instr)
{
    const RelnNode *x = instr->node;

    if (!f->plan->finite || instr->kind == DO_CALL || x->op->flags & RELN_OP_EFFECT ||
        instr->out.kind == AT_NOWHERE)
        return RELN_OK;
    return reln_plan_finite(x, resolve(f, &instr->out), n_items(f, x->domain),
                            first_item(f, x->domain), f->worker->message);
}

static RelnStatus run_range(const Program *program, const Frame *f, int first, int end)
{
    for (int i = first; i < end; i++) {
        RELN_TRY(run_instr(f, &program->code.items[i]));
        RELN_TRY(look(f, &program->code.items[i]));
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

/* Tasks 0, 1, ... of a phase, each taken by whoever is free. */
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

/* Nobody is woken for a single task. */
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

/* Shard s belongs to lane s L / n: the first one of a lane is ceil(lane n / L). */
static ptrdiff_t lane_begins(const RelnPlan *plan, int lane)
{
    return (lane * plan->n_shards + plan->n_lanes - 1) / plan->n_lanes;
}

static RelnStatus run_lane(RelnPlan *plan, const Phase *phase, int lane, Worker *worker)
{
    Frame f = {.plan = plan, .worker = worker, .slab = worker->slab, .items = -1};

    f.lane = plan->lanes + (size_t)lane * plan->lane_size;
    for (int i = 0; i < phase->sums.count; i++) {
        const Accumulator *sum = &phase->sums.items[i];

        memset(f.lane + sum->lane, 0, sum->count * reln_dtype_size(sum->dtype));
    }
    for (ptrdiff_t s = lane_begins(plan, lane); s < lane_begins(plan, lane + 1); s++) {
        if (plan->run.asked && plan->run.asked(plan->run.self))
            return run_fail(worker, RELN_ERR_STOPPED, "run: asked to stop");
        f.shard = &plan->shards[s];
        RELN_TRY(run_program(&phase->shards, &f));
    }
    return RELN_OK;
}

/* Lanes are added in a fixed tree; no lanes are 0. */
static RelnStatus combine(RelnPlan *plan, const Phase *phase, int index, Worker *worker)
{
    const Piece *piece = &phase->pieces.items[index];
    const Accumulator *sum = &phase->sums.items[piece->index];
    const RelnRealKernels *k = sum->dtype == RELN_F64 ? plan->kern->f64 : plan->kern->f32;
    const Frame f = step_frame(plan, worker);
    const size_t first = (size_t)piece->first * k->size;
    char *total = resolve(&f, &sum->total);

    if (plan->n_lanes)
        k->tree(piece->count, plan->n_lanes, plan->lanes + sum->lane + first, plan->lane_size,
                total + first);
    else
        memset(total + first, 0, (size_t)piece->count * k->size);
    return RELN_OK;
}

static RelnStatus run_shards(RelnPlan *plan, const Phase *phase)
{
    if (phase->shards.code.count == 0)
        return RELN_OK;
    RELN_TRY(share(plan, phase, plan->n_lanes, run_lane));
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

/* Values that are asked for, then the optimisers, then the assignments. */
static RelnStatus run_commit(RelnPlan *plan)
{
    const Frame f = step_frame(plan, &plan->workers[0]);

    RELN_TRY(fail_step(plan, run_range(&plan->commit, &f, 0, plan->effects)));
    RELN_TRY(share(plan, NULL, plan->pieces.count, run_effect));
    return fail_step(plan,
                     run_range(&plan->commit, &f, plan->effects_end, plan->commit.code.count));
}

/* ---- the batch ------------------------------------------------------------------------------------------------ */

static RelnStatus count_rows(RelnPlan *plan, int rows)
{
    const RelnRowDomain *domain = &plan->graph->rows.items[rows];
    const int32_t *counts = plan->row_counts[rows].counts;
    const size_t bound = plan->row_counts[rows].count;
    ptrdiff_t *first = plan->row_first[rows];

    if (!counts)
        return reln_fail(plan->ctx, RELN_ERR_ARG, "run: rows %s are not bound", domain->name);
    if (bound < (size_t)plan->run.n_samples)
        return reln_fail(plan->ctx, RELN_ERR_ARG,
                         "run: rows %s are bound for %zu samples, wanted %td", domain->name, bound,
                         plan->run.n_samples);
    first[0] = 0;
    for (ptrdiff_t i = 0; i < plan->run.n_samples; i++) {
        if (counts[i] < 0 || counts[i] > domain->capacity)
            return reln_fail(plan->ctx, RELN_ERR_ARG,
                             "run: sample %td has %d rows of %s, wanted 0 to %d", i, (int)counts[i],
                             domain->name, domain->capacity);
        first[i + 1] = first[i] + counts[i];
    }
    return RELN_OK;
}

/* Samples join a shard until it is full, or one of its row domains would be: from the batch alone. */
static void cut_shards(RelnPlan *plan)
{
    Shard shard = {0, 0};

    plan->n_shards = 0;
    for (ptrdiff_t i = 0; i < plan->run.n_samples; i++) {
        bool full = shard.count == plan->shard;

        for (int r = 0; r < plan->graph->rows.count && !full; r++)
            full = plan->row_first[r][i + 1] - plan->row_first[r][shard.first] >
                   plan->graph->rows.items[r].capacity;
        if (full) {
            plan->shards[plan->n_shards++] = shard;
            shard = (Shard){i, 0};
        }
        shard.count++;
    }
    if (shard.count)
        plan->shards[plan->n_shards++] = shard;
    plan->n_lanes = plan->n_shards < LANES ? (int)plan->n_shards : LANES;
}

static RelnStatus check_bound(const RelnPlan *plan)
{
    const RelnGraph *g = plan->graph;

    for (int i = 0; i < g->sources.count; i++) {
        const RelnNode *x = g->sources.items[i].node;

        if ((x->op == &reln_op_input || x->op == &reln_op_index_input) && !plan->bound[i].values)
            return reln_fail(plan->ctx, RELN_ERR_ARG, "run: input %s is not bound",
                             g->sources.items[i].name);
    }
    return RELN_OK;
}

/* Every input that was bound with its size has as many elements as this batch reads. */
static RelnStatus check_sizes(const RelnPlan *plan)
{
    const RelnGraph *g = plan->graph;
    const ptrdiff_t n = plan->run.n_samples;

    for (int i = 0; i < g->sources.count; i++) {
        const RelnNode *x = g->sources.items[i].node;
        const ptrdiff_t items = x->domain == RELN_STEP      ? 1
                                : x->domain == RELN_SAMPLES ? n
                                                            : plan->row_first[x->domain - 2][n];
        const size_t item = (size_t)reln_shape_count(&x->shape);

        if ((x->op == &reln_op_input || x->op == &reln_op_index_input) &&
            plan->bound[i].count / item < (size_t)items)
            return reln_fail(plan->ctx, RELN_ERR_ARG,
                             "run: input %s is bound to %zu elements, wanted %td items of %zu",
                             g->sources.items[i].name, plan->bound[i].count, items, item);
    }
    return RELN_OK;
}

static RelnStatus start_batch(RelnPlan *plan, const RelnRun *run)
{
    ptrdiff_t most = 0;

    if (run->n_samples < 0)
        return reln_fail(plan->ctx, RELN_ERR_ARG, "run: %td samples", run->n_samples);
    RELN_TRY(check_bound(plan));
    RELN_TRY(reln_plan_reserve(plan, run->n_samples, 0));
    plan->run = *run;
    plan->n_runs++;
    for (int r = 0; r < plan->graph->rows.count; r++) {
        RELN_TRY(count_rows(plan, r));
        most =
            plan->row_first[r][run->n_samples] > most ? plan->row_first[r][run->n_samples] : most;
    }
    RELN_TRY(check_sizes(plan));
    RELN_TRY(reln_plan_reserve(plan, run->n_samples, most));
    cut_shards(plan);
    return RELN_OK;
}

RelnStatus reln_plan_run(RelnPlan *plan, const RelnRun *run)
{
    if (!plan)
        return RELN_ERR_ARG;
    if (!run)
        return reln_fail(plan->ctx, RELN_ERR_ARG, "run: no RelnRun was given");
    RELN_TRY(start_batch(plan, run));
    for (int i = 0; i < plan->phases.count; i++) {
        const Phase *phase = &plan->phases.items[i];
        const Frame f = step_frame(plan, &plan->workers[0]);

        RELN_TRY(fail_step(plan, run_step(&phase->step, &f)));
        RELN_TRY(run_shards(plan, phase));
    }
    plan->settled = plan->frozen != NULL;
    return run_commit(plan);
}
