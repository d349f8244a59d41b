/* batch.c -- the start of a run: checks that the bound inputs suffice, counts the rows of each sample, and
 * divides the batch into shards. */
#include "graph/plan.h"

ptrdiff_t reln_plan_items(const RelnPlan *plan, RelnDomain domain)
{
    if (domain <= RELN_SAMPLES)
        return domain == RELN_STEP ? 1 : plan->run.n_samples;
    return plan->row_first[domain - 2] ? plan->row_first[domain - 2][plan->run.n_samples] : 0;
}

/* ---- rows ----------------------------------------------------------------------------------------------------- */

/* Writes the name of an item of a domain for messages: "sample 3", "row 7 of points". */
static RelnStatus fail_count(const RelnPlan *plan, const RelnRowDomain *d, ptrdiff_t item, int seen)
{
    const bool of_sample = d->parent == RELN_SAMPLES;

    return reln_fail(plan->ctx, RELN_ERR_ARG, "run: %s %td%s%s has %d rows of %s, wanted 0 to %d",
                     of_sample ? "sample" : "row", item, of_sample ? "" : " of ",
                     of_sample ? "" : reln_domain_name(plan->graph, d->parent), seen, d->name,
                     d->most);
}

/* Computes, from the bound counts, the index of the first row below each item of the parent domain. */
static RelnStatus add_up(const RelnPlan *plan, const RelnRowDomain *d, const BoundRows *bound,
                         ptrdiff_t n, ptrdiff_t *first)
{
    if (!bound->counts)
        return reln_fail(plan->ctx, RELN_ERR_ARG, "run: rows %s are not bound", d->name);
    if (bound->count < (size_t)n)
        return reln_fail(
            plan->ctx, RELN_ERR_ARG, "run: rows %s are bound for %zu %s, wanted %td", d->name,
            bound->count,
            d->parent == RELN_SAMPLES ? "samples" : reln_domain_name(plan->graph, d->parent), n);
    first[0] = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (bound->counts[i] < 0 || bound->counts[i] > d->most)
            return fail_count(plan, d, i, (int)bound->counts[i]);
        first[i + 1] = first[i] + bound->counts[i];
    }
    return RELN_OK;
}

/* For counted rows whose parent is a row domain: computes the first row of each item of the parent, then of
 * each sample. */
static RelnStatus count_below(RelnPlan *plan, int rows, const RelnRowDomain *d)
{
    const ptrdiff_t *above = plan->row_first[d->parent - 2];
    const ptrdiff_t n_samples = plan->run.n_samples, n = above[n_samples];

    RELN_TRY(reln_plan_reserve_items(plan, rows, n));
    RELN_TRY(add_up(plan, d, &plan->row_counts[rows], n, plan->item_first[rows]));
    for (ptrdiff_t i = 0; i <= n_samples; i++)
        plan->row_first[rows][i] = plan->item_first[rows][above[i]];
    for (ptrdiff_t i = 0; i < n_samples; i++)
        if (plan->row_first[rows][i + 1] - plan->row_first[rows][i] > d->capacity)
            return reln_fail(
                plan->ctx, RELN_ERR_ARG, "run: sample %td has %td rows of %s, wanted 0 to %d", i,
                plan->row_first[rows][i + 1] - plan->row_first[rows][i], d->name, d->capacity);
    return RELN_OK;
}

/* Returns the number of rows of one sample in a domain without bound counts (fixed, coarse, pairs), which
 * follows from other domains. */
static ptrdiff_t derived_rows(const RelnPlan *plan, const RelnRowDomain *d, ptrdiff_t sample)
{
    const ptrdiff_t *up = d->parent > RELN_SAMPLES ? plan->row_first[d->parent - 2] : NULL;
    const ptrdiff_t *other = d->second > RELN_SAMPLES ? plan->row_first[d->second - 2] : NULL;
    const ptrdiff_t n_up = up ? up[sample + 1] - up[sample] : 1;
    const ptrdiff_t n_other = other ? other[sample + 1] - other[sample] : 0;

    if (d->kind == RELN_ROWS_FIXED)
        return n_up * d->most;
    if (d->kind == RELN_ROWS_COARSE)
        return (n_other + d->most - 1) / d->most;
    return n_up * (d->self || n_other == 0 ? n_other : n_other - 1);
}

static RelnStatus count_rows(RelnPlan *plan, int rows)
{
    const RelnRowDomain *d = &plan->graph->rows.items[rows];
    ptrdiff_t *first = plan->row_first[rows];

    if (d->kind == RELN_ROWS_COUNTED)
        return d->parent == RELN_SAMPLES
                   ? add_up(plan, d, &plan->row_counts[rows], plan->run.n_samples, first)
                   : count_below(plan, rows, d);
    first[0] = 0;
    for (ptrdiff_t i = 0; i < plan->run.n_samples; i++)
        if (__builtin_add_overflow(first[i], derived_rows(plan, d, i), &first[i + 1]))
            return reln_fail(plan->ctx, RELN_ERR_NOMEM, "run: more rows of %s than can be counted",
                             d->name);
    return RELN_OK;
}

/* ---- shards --------------------------------------------------------------------------------------------------- */

/* A shard is full when it has plan->shard samples, or when one more sample would exceed the capacity of a row domain.
 * Only counted domains are checked: the capacity of a derived domain follows from the domains it is derived from. The
 * result depends on the batch alone, not on the machine. */
static bool is_full(const RelnPlan *plan, const Shard *shard, ptrdiff_t sample)
{
    if (shard->count == plan->shard)
        return true;
    for (int r = 0; r < plan->graph->rows.count; r++) {
        const RelnRowDomain *d = &plan->graph->rows.items[r];
        const ptrdiff_t *first = plan->row_first[r];

        if (d->kind == RELN_ROWS_COUNTED && first[sample + 1] - first[shard->first] > d->capacity)
            return true;
    }
    return false;
}

static void cut_shards(RelnPlan *plan)
{
    Shard shard = {0, 0};

    plan->n_shards = 0;
    for (ptrdiff_t i = 0; i < plan->run.n_samples; i++) {
        if (is_full(plan, &shard, i)) {
            plan->shards[plan->n_shards++] = shard;
            shard = (Shard){i, 0};
        }
        shard.count++;
    }
    if (shard.count)
        plan->shards[plan->n_shards++] = shard;
    reln_lanes_cut(&plan->lanes, plan->n_shards, plan->ranks.copy.rank, plan->ranks.copy.size);
}

/* ---- the bound inputs ------------------------------------------------------------------------------------------ */

static bool is_bound_input(const RelnNode *x)
{
    return x->op == &reln_op_input || x->op == &reln_op_index_input;
}

static RelnStatus check_bound(const RelnPlan *plan)
{
    const RelnGraph *g = plan->graph;

    for (int i = 0; i < g->sources.count; i++)
        if (is_bound_input(g->sources.items[i].node) && !plan->bound[i].values)
            return reln_fail(plan->ctx, RELN_ERR_ARG, "run: input %s is not bound",
                             g->sources.items[i].name);
    return RELN_OK;
}

/* Checks that every input that was bound with a size has at least as many elements as this batch reads. */
static RelnStatus check_sizes(const RelnPlan *plan)
{
    const RelnGraph *g = plan->graph;

    for (int i = 0; i < g->sources.count; i++) {
        const RelnNode *x = g->sources.items[i].node;
        const ptrdiff_t items = reln_plan_items(plan, x->domain);
        const size_t item = (size_t)reln_shape_count(&x->shape);

        if (is_bound_input(x) && plan->bound[i].count / item < (size_t)items)
            return reln_fail(plan->ctx, RELN_ERR_ARG,
                             "run: input %s is bound to %zu elements, wanted %td items of %zu",
                             g->sources.items[i].name, plan->bound[i].count, items, item);
    }
    return RELN_OK;
}

RelnStatus reln_plan_samples(RelnPlan *plan, ptrdiff_t n_samples, ptrdiff_t *first, ptrdiff_t *end)
{
    RELN_NEED(plan, RELN_ERR_ARG);
    RELN_NEED(first && end, reln_null(plan->ctx, __func__));

    *first = 0;
    *end = n_samples;
    if (n_samples < 0)
        return reln_fail(plan->ctx, RELN_ERR_ARG, "run: %td samples", n_samples);
    if (!plan->ranks.comm)
        return RELN_OK;
    RELN_TRY(reln_plan_reserve(plan, n_samples, 0));
    plan->run = (RelnRun){.n_samples = n_samples};
    for (int r = 0; r < plan->graph->rows.count; r++)
        RELN_TRY(count_rows(plan, r));
    cut_shards(plan);
    *first = reln_ranks_first_sample(plan, plan->ranks.copy.rank);
    *end = reln_ranks_first_sample(plan, plan->ranks.copy.rank + 1);
    return RELN_OK;
}

RelnStatus reln_plan_start(RelnPlan *plan, const RelnRun *run)
{
    if (run->n_samples < 0)
        return reln_fail(plan->ctx, RELN_ERR_ARG, "run: %td samples", run->n_samples);
    RELN_TRY(check_bound(plan));
    RELN_TRY(reln_plan_reserve(plan, run->n_samples, 0));
    plan->run = *run;
    plan->n_runs++;
    for (int r = 0; r < plan->graph->rows.count; r++)
        RELN_TRY(count_rows(plan, r));
    RELN_TRY(check_sizes(plan));
    RELN_TRY(reln_plan_reserve_kept(plan));
    cut_shards(plan);
    return reln_ranks_prepare(plan);
}
