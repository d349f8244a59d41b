/* plan.c -- creating plans, reserving their memory, binding data, and reading their ports and costs. */
#include "graph/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kit/comm.h"

/* ---- the size of a shard -------------------------------------------------------------------------------------- */

/* Returns how many items of a domain a sample has; 0 if samples differ, and for the step. */
static ptrdiff_t items_of_sample(const RelnGraph *g, RelnDomain domain)
{
    const RelnRowDomain *d;

    if (domain <= RELN_SAMPLES)
        return domain == RELN_SAMPLES;
    d = reln_row_domain(g, domain);
    if (d->kind == RELN_ROWS_COUNTED || items_of_sample(g, d->parent) == 0 ||
        (d->second > RELN_SAMPLES && items_of_sample(g, d->second) == 0))
        return 0;
    return reln_domain_most(g, domain);
}

/* Returns the bytes of the largest value of one sample, all its rows and values inside functions included.
 * Rows that are counted in every batch are left out: their capacity says how many are processed together. */
static double largest_item(const RelnGraph *g)
{
    double most = 1;

    for (int id = 0; id < g->nodes.count; id++) {
        const RelnNode *x = g->nodes.items[id];

        most = fmax(most, (double)reln_node_bytes(x) * (double)items_of_sample(g, x->domain));
    }
    for (int i = 0; i < g->fns.count; i++)
        most = fmax(most, largest_item(g->fns.items[i]->body));
    return most;
}

/* Chooses the number of samples of a shard: the values of a shard should stay in a second-level cache between
 * the op that writes and the op that reads them, a multiple of 6 rows fills whole tiles of a matrix product,
 * and an ordinary batch should have work for all lanes. The number depends on the graph alone, never on the
 * machine. */
static ptrdiff_t choose_shard(const RelnGraph *g)
{
    enum { TARGET = 128 * 1024, MOST = 24 };
    const ptrdiff_t fit = (ptrdiff_t)(TARGET / largest_item(g));

    if (fit >= MOST)
        return MOST;
    return fit >= 12 ? fit / 12 * 12 : fit >= 6 ? 6 : fit >= 3 ? 3 : fit >= 2 ? 2 : 1;
}

/* Returns the bytes of one shard of every value of a graph and its functions. */
static double bytes_of_shard(const RelnGraph *g, ptrdiff_t shard)
{
    double sum = 0;

    for (int id = 0; id < g->nodes.count; id++) {
        const RelnNode *x = g->nodes.items[id];

        sum += (double)reln_node_bytes(x) * (double)reln_domain_capacity(g, x->domain, shard);
    }
    for (int i = 0; i < g->fns.count; i++)
        sum += bytes_of_shard(g->fns.items[i]->body, shard);
    return sum;
}

/* An upper bound on the bytes of a plan: 128 TiB, more memory than any machine has. Below it no sum or small multiple
 * of sizes overflows, so the planner adds sizes without checks; an allocation that is too large fails when made. */
#define MOST_BYTES 0x1p47

static RelnStatus check_size(const RelnPlan *plan)
{
    ptrdiff_t most = plan->shard; /* items of a function: those of the domain it is called in */

    for (int i = 0; i < plan->graph->rows.count; i++)
        if (plan->graph->rows.items[i].capacity > most)
            most = plan->graph->rows.items[i].capacity;
    for (int d = 2; d < reln_domain_count(plan->graph); d++)
        if (reln_domain_capacity(plan->graph, d, plan->shard) == PTRDIFF_MAX)
            return reln_fail(plan->ctx, RELN_ERR_NOMEM, "out of memory: rows %s are too many",
                             reln_domain_name(plan->graph, d));
    if (bytes_of_shard(plan->graph, most) > MOST_BYTES)
        return reln_fail(plan->ctx, RELN_ERR_NOMEM,
                         "out of memory: the values of a shard of %td samples take %.3g bytes",
                         plan->shard, bytes_of_shard(plan->graph, most));
    return RELN_OK;
}

/* ---- making --------------------------------------------------------------------------------------------------- */

static void load_constants(RelnPlan *plan)
{
    for (int i = 0; i < plan->constants.count; i++) {
        const RelnNode *x = plan->constants.items[i].node;
        const RelnRealKernels *k = x->dtype == RELN_F64 ? plan->kern->f64 : plan->kern->f32;

        k->from_f64(reln_shape_count(&x->shape), ((const RelnConstAttr *)x->attr)->values,
                    plan->memory + plan->constants.items[i].offset);
    }
}

static size_t largest_slab(const RelnPlan *plan)
{
    size_t most = plan->commit.slab;

    for (int i = 0; i < plan->phases.count; i++) {
        const Phase *phase = &plan->phases.items[i];

        most = phase->step.slab > most ? phase->step.slab : most;
        most = phase->shards.slab > most ? phase->shards.slab : most;
    }
    return most;
}

static RelnStatus equip(RelnPlan *plan, Worker *w)
{
    RELN_TRY(reln_gemm_init(&w->gemm, plan->ctx, plan->kern));
    w->slab = reln_alloc_raw(plan->ctx, plan->slab, 1);
    w->pack_memory = reln_alloc_raw(plan->ctx, plan->pack_size, 1);
    w->packs = reln_arena_alloc(&plan->arena, (size_t)plan->packs.count, sizeof *w->packs);
    if (!w->slab || !w->pack_memory || !w->packs)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < plan->packs.count; i++)
        w->packs[i].values = w->pack_memory + plan->packs.items[i];
    return RELN_OK;
}

static RelnStatus give_memory(RelnPlan *plan)
{
    const RelnGraph *g = plan->graph;
    const int threads = reln_pool_threads(plan->pool);

    plan->slab = largest_slab(plan);
    plan->n_workers = plan->finite ? 1 : threads < plan->lanes.most ? threads : plan->lanes.most;
    plan->memory = reln_alloc_raw(plan->ctx, plan->memory_size, 1);
    plan->workers = reln_arena_alloc(&plan->arena, (size_t)plan->n_workers, sizeof *plan->workers);
    plan->bound = reln_arena_alloc(&plan->arena, (size_t)g->sources.count, sizeof *plan->bound);
    plan->row_counts =
        reln_arena_alloc(&plan->arena, (size_t)g->rows.count, sizeof *plan->row_counts);
    plan->row_first =
        reln_arena_alloc(&plan->arena, (size_t)g->rows.count, sizeof *plan->row_first);
    plan->item_first =
        reln_arena_alloc(&plan->arena, (size_t)g->rows.count, sizeof *plan->item_first);
    plan->item_capacity =
        reln_arena_alloc(&plan->arena, (size_t)g->rows.count, sizeof *plan->item_capacity);
    if (!plan->memory || !plan->workers || !plan->bound || !plan->row_counts || !plan->row_first ||
        !plan->item_first || !plan->item_capacity)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < plan->n_workers; i++)
        RELN_TRY(equip(plan, &plan->workers[i]));
    RELN_TRY(reln_lanes_init(&plan->lanes, plan->ctx, plan->n_workers, plan->ranks.copy.size));
    RELN_TRY(reln_ranks_init(plan));
    load_constants(plan);
    return RELN_OK;
}

static RelnStatus build(RelnPlan *plan, const RelnPlanOptions *options)
{
    RELN_TRY(reln_graph_status(plan->graph));
    plan->pool = options->pool;
    plan->kern = reln_kernels(options->reference);
    plan->finite = options->finite;
    plan->tile = options->tile;
    RELN_TRY(reln_comm_check(plan->ctx, options->comm));
    plan->ranks.copy = options->comm ? *options->comm : (RelnComm){.size = 1};
    plan->ranks.comm = plan->ranks.copy.size > 1 ? &plan->ranks.copy : NULL;
    plan->lanes.most = options->lanes > 0 ? options->lanes : RELN_LANES;
    if (options->lanes < 0 || options->lanes > RELN_LANES_MOST)
        return reln_fail(plan->ctx, RELN_ERR_ARG, "plan: %d lanes, wanted 1 to %d", options->lanes,
                         RELN_LANES_MOST);
    plan->shard = options->shard > 0 ? options->shard : choose_shard(plan->graph);
    RELN_TRY(check_size(plan));
    if (!reln_plan_compile(plan))
        return reln_graph_status(plan->graph);
    return give_memory(plan);
}

const char *reln_kernels_text(bool reference)
{
    return reln_kernels(reference)->name;
}

RelnStatus reln_plan_create(RelnGraph *graph, const RelnPlanOptions *options, RelnPlan **out)
{
    static const RelnPlanOptions defaults = {0};
    RelnPlan *plan;
    RelnStatus status;

    if (!out)
        return RELN_ERR_ARG;
    *out = NULL;
    if (!graph)
        return RELN_ERR_ARG;
    plan = reln_alloc(graph->ctx, 1, sizeof *plan);
    if (!plan)
        return RELN_ERR_NOMEM;
    plan->ctx = graph->ctx;
    plan->graph = graph;
    reln_arena_init(&plan->arena, graph->ctx);
    status = build(plan, options ? options : &defaults);
    if (status == RELN_OK)
        *out = plan;
    else
        reln_plan_destroy(plan);
    return status;
}

void reln_plan_destroy(RelnPlan *plan)
{
    if (!plan)
        return;
    for (int i = 0; i < plan->n_workers && plan->workers; i++) {
        reln_free(plan->ctx, plan->workers[i].slab);
        reln_free(plan->ctx, plan->workers[i].pack_memory);
        reln_gemm_clear(&plan->workers[i].gemm, plan->ctx);
    }
    for (int i = 0; i < plan->rooms.count; i++)
        reln_free(plan->ctx, plan->rooms.items[i].values);
    for (int i = 0; i < plan->graph->rows.count && plan->row_first; i++)
        reln_free(plan->ctx, plan->row_first[i]);
    for (int i = 0; i < plan->graph->rows.count && plan->item_first; i++)
        reln_free(plan->ctx, plan->item_first[i]);
    reln_free(plan->ctx, plan->shards);
    reln_free(plan->ctx, plan->memory);
    reln_lanes_clear(&plan->lanes, plan->ctx);
    reln_ranks_clear(plan);
    reln_free(plan->ctx, plan->frozen);
    reln_arena_clear(&plan->arena);
    reln_free(plan->ctx, plan);
}

/* ---- binding and room ----------------------------------------------------------------------------------------- */

static const RelnNode *source_named(const RelnPlan *plan, const char *name)
{
    const RelnGraph *g = plan->graph;

    for (int i = 0; i < g->sources.count; i++)
        if (strcmp(g->sources.items[i].name, name) == 0)
            return g->sources.items[i].node;
    return NULL;
}

RelnStatus reln_plan_bind_sized(RelnPlan *plan, const char *input, const void *values,
                                RelnDtype dtype, size_t count)
{
    const RelnNode *x = plan && input ? source_named(plan, input) : NULL;
    bool fits;

    if (!plan)
        return RELN_ERR_ARG;
    if (!x || (x->op != &reln_op_input && x->op != &reln_op_index_input))
        return reln_plan_no_input(plan, input);
    fits = x->dtype == RELN_I32 ? dtype == RELN_I32 || dtype == RELN_I64
                                : dtype == RELN_F32 || dtype == RELN_F64;
    if (!fits)
        return reln_fail(plan->ctx, RELN_ERR_ARG, "bind: input %s wants %s", input,
                         x->dtype == RELN_I32 ? "i32 or i64 indices" : "f32 or f64 numbers");
    if (!values && count > 0)
        return reln_fail(plan->ctx, RELN_ERR_ARG, "bind: no values for input %s", input);
    plan->bound[((const RelnSourceAttr *)x->attr)->index] =
        (Bound){values ? values : "", dtype,
                count}; /* a NULL pointer is allowed for 0 elements: none will be
                                                      * read */
    return RELN_OK;
}

RelnStatus reln_plan_bind(RelnPlan *plan, const char *input, const void *values, RelnDtype dtype)
{
    return reln_plan_bind_sized(plan, input, values, dtype, UNSIZED);
}

RelnStatus reln_plan_bind_rows_sized(RelnPlan *plan, const char *rows, const int32_t *counts,
                                     size_t count)
{
    static const int32_t none[1] = {0};

    if (!plan)
        return RELN_ERR_ARG;
    for (int i = 0; rows && i < plan->graph->rows.count; i++)
        if (strcmp(plan->graph->rows.items[i].name, rows) == 0) {
            if (plan->graph->rows.items[i].kind != RELN_ROWS_COUNTED)
                return reln_fail(plan->ctx, RELN_ERR_ARG,
                                 "bind: the number of rows %s follows from others", rows);
            if (!counts && count > 0)
                return reln_fail(plan->ctx, RELN_ERR_ARG, "bind: no counts of rows %s", rows);
            plan->row_counts[i] = (BoundRows){counts ? counts : none, count};
            return RELN_OK;
        }
    return reln_fail(plan->ctx, RELN_ERR_ARG, "bind: the graph has no row domain %s",
                     rows ? rows : "without a name");
}

RelnStatus reln_plan_bind_rows(RelnPlan *plan, const char *rows, const int32_t *counts)
{
    return reln_plan_bind_rows_sized(plan, rows, counts, UNSIZED);
}

static RelnStatus replace(RelnPlan *plan, void **block, size_t count, size_t size)
{
    void *fresh = reln_alloc_raw(plan->ctx, count, size);

    if (!fresh)
        return RELN_ERR_NOMEM;
    reln_free(plan->ctx, *block);
    *block = fresh;
    return RELN_OK;
}

/* Checks that the largest kept value, for the given number of items, stays below MOST_BYTES. */
static RelnStatus check_reserve(const RelnPlan *plan, ptrdiff_t n_samples, ptrdiff_t n_rows)
{
    const ptrdiff_t most = n_samples > n_rows ? n_samples : n_rows;
    double item = sizeof(Shard);

    if (n_samples < 0 || n_rows < 0)
        return reln_fail(plan->ctx, RELN_ERR_ARG, "reserve: %td samples and %td rows", n_samples,
                         n_rows);
    for (int i = 0; i < plan->kept.count; i++)
        item = fmax(item, (double)reln_node_bytes(plan->kept.items[i].node));
    if (item * (double)most > MOST_BYTES)
        return reln_fail(plan->ctx, RELN_ERR_NOMEM,
                         "out of memory: %td samples and %td rows of %.3g bytes", n_samples, n_rows,
                         item);
    return RELN_OK;
}

/* Notes that a kept value has n items, and at least one, so that the output of a batch without rows has an address. */
static void want_kept(RelnPlan *plan, const Kept *kept, ptrdiff_t n)
{
    const size_t bytes = reln_plan_room(kept->node, n > 0 ? n : 1);
    Room *room = &plan->rooms.items[kept->room];

    room->wanted = bytes > room->wanted ? bytes : room->wanted;
}

static RelnStatus reserve_rooms(RelnPlan *plan)
{
    for (int i = 0; i < plan->rooms.count; i++) {
        Room *room = &plan->rooms.items[i];

        if (room->wanted <= room->capacity)
            continue;
        RELN_TRY(replace(plan, (void **)&room->values, room->wanted, 1));
        room->capacity = room->wanted;
    }
    return RELN_OK;
}

RelnStatus reln_plan_reserve_items(RelnPlan *plan, int rows, ptrdiff_t n)
{
    if (n <= plan->item_capacity[rows] && plan->item_first[rows])
        return RELN_OK;
    RELN_TRY(
        replace(plan, (void **)&plan->item_first[rows], (size_t)n + 1, sizeof **plan->item_first));
    plan->item_capacity[rows] = n;
    return RELN_OK;
}

RelnStatus reln_plan_reserve_kept(RelnPlan *plan)
{
    for (int i = 0; i < plan->kept.count; i++) {
        const Kept *kept = &plan->kept.items[i];
        const ptrdiff_t n = reln_plan_items(plan, kept->node->domain);

        if ((double)kept->item * (double)n > MOST_BYTES)
            return reln_fail(plan->ctx, RELN_ERR_NOMEM, "out of memory: %td rows of %zu bytes", n,
                             kept->item);
        want_kept(plan, kept, n);
    }
    return reserve_rooms(plan);
}

/* Returns the number of rows of a domain to reserve memory for. Rows of a derived domain are counted when a
 * batch is bound. */
static ptrdiff_t rows_reserved(const RelnPlan *plan, RelnDomain domain, ptrdiff_t n_samples,
                               ptrdiff_t n_rows)
{
    if (domain == RELN_SAMPLES)
        return n_samples;
    return reln_row_domain(plan->graph, domain)->kind == RELN_ROWS_COUNTED ? n_rows : 0;
}

RelnStatus reln_plan_reserve(RelnPlan *plan, ptrdiff_t n_samples, ptrdiff_t n_rows)
{
    if (!plan)
        return RELN_ERR_ARG;
    RELN_TRY(check_reserve(plan, n_samples, n_rows));
    for (int i = 0; i < plan->kept.count; i++) {
        const Kept *kept = &plan->kept.items[i];

        want_kept(plan, kept, rows_reserved(plan, kept->node->domain, n_samples, n_rows));
    }
    RELN_TRY(reserve_rooms(plan));
    for (int r = 0; r < plan->graph->rows.count; r++) {
        const RelnRowDomain *d = &plan->graph->rows.items[r];

        if (d->kind == RELN_ROWS_COUNTED && d->parent > RELN_SAMPLES)
            RELN_TRY(reln_plan_reserve_items(plan, r,
                                             rows_reserved(plan, d->parent, n_samples, n_rows)));
    }
    if (n_samples <= plan->sample_capacity && plan->shards)
        return RELN_OK;
    plan->run.n_samples = 0; /* the values of the last batch are no longer valid */
    for (int i = 0; i < plan->graph->rows.count; i++) {
        RELN_TRY(replace(plan, (void **)&plan->row_first[i], (size_t)n_samples + 1,
                         sizeof **plan->row_first));
        plan->row_first[i][0] = 0;
    }
    /* in the worst case of large sets, there are as many shards as samples */
    RELN_TRY(replace(plan, (void **)&plan->shards, (size_t)n_samples, sizeof *plan->shards));
    plan->sample_capacity = n_samples;
    return RELN_OK;
}

/* ---- freezing ------------------------------------------------------------------------------------------------- */

static size_t entry_bytes(const Entry *entry)
{
    return entry->of->count * reln_dtype_size(entry->of->dtype);
}

/* Bytes of an entry, rounded up so that each copy is aligned like the store's array. */
static size_t entry_room(const Entry *entry)
{
    return (entry_bytes(entry) + RELN_ALIGN - 1) / RELN_ALIGN * RELN_ALIGN;
}

static size_t entries_room(const RelnPlan *plan)
{
    size_t bytes = 0;

    for (int i = 0; i < plan->entries.count; i++)
        bytes += entry_room(&plan->entries.items[i]);
    return bytes;
}

RelnStatus reln_plan_freeze(RelnPlan *plan)
{
    const RelnGraph *g;
    size_t at = 0;

    if (!plan)
        return RELN_ERR_ARG;
    g = plan->graph;
    if (g->effects.count || g->assigns.count)
        return reln_fail(plan->ctx, RELN_ERR_ARG,
                         "freeze: the plan has %d optimisers and %d assignments, wanted none that "
                         "change the store",
                         g->effects.count, g->assigns.count);
    if (!plan->frozen)
        plan->frozen = reln_alloc_raw(plan->ctx, entries_room(plan), 1);
    if (!plan->frozen)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < plan->entries.count; i++) {
        Entry *entry = &plan->entries.items[i];

        entry->values = plan->frozen + at;
        memcpy(entry->values, entry->of->values, entry_bytes(entry));
        at += entry_room(entry);
    }
    plan->n_freezes++;
    plan->settled = false;
    return RELN_OK;
}

/* ---- outputs and costs ----------------------------------------------------------------------------------------- */

const void *reln_plan_output(const RelnPlan *plan, const char *name, ptrdiff_t *n_items)
{
    const RelnGraph *g = plan ? plan->graph : NULL;

    for (int i = 0; g && name && i < g->outputs.count; i++) {
        const RelnNode *x = g->outputs.items[i].node;
        const Place *place = &plan->outputs[i];

        if (strcmp(g->outputs.items[i].name, name) != 0)
            continue;
        if (n_items)
            *n_items = reln_plan_items(plan, x->domain);
        return place->kind == AT_KEPT ? kept_values(plan, &plan->kept.items[place->offset])
                                      : plan->memory + place->offset;
    }
    return NULL;
}

const RelnComm *reln_plan_comm(const RelnPlan *plan)
{
    return plan ? plan->ranks.comm : NULL;
}

RelnCost reln_plan_cost(const RelnPlan *plan)
{
    RelnCost cost = {.lanes = RELN_LANES};

    if (!plan)
        return cost;
    cost.lanes = plan->lanes.most;
    cost.flops_step = plan->commit.flops;
    cost.shard = (int)plan->shard;
    cost.n_rows = plan->graph->rows.count;
    cost.rows = plan->row_costs;
    for (int i = 0; i < plan->phases.count; i++) {
        const Phase *phase = &plan->phases.items[i];

        cost.flops_step += phase->step.flops;
        cost.flops_sample += phase->shards.flops;
        cost.bytes_sample += phase->shards.bytes;
        cost.instructions += phase->step.code.count + phase->shards.code.count;
        cost.bytes_sums += phase->lane_size;
        cost.reductions += phase->lane_size > 0;
    }
    for (int i = 0; i < plan->rooms.count; i++)
        cost.bytes_kept += plan->rooms.items[i].capacity;
    cost.instructions += plan->commit.code.count;
    cost.phases = plan->phases.count;
    cost.parameters = plan->parameters;
    cost.bytes_worker = plan->slab + plan->pack_size + reln_gemm_bytes();
    cost.bytes_shared = plan->memory_size + plan->lanes.size * (size_t)plan->lanes.n_buffers;
    cost.bytes_shared += plan->frozen ? entries_room(plan) : 0;
    return cost;
}
