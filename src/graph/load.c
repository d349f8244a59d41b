/* load.c -- loads the inputs of a shard or tile from bound memory, checks indices, and computes which rows
 * belong together. */
#include "graph/frame.h"

static void load_numbers(const Frame *f, const RelnNode *x, const Bound *b, char *out)
{
    const ptrdiff_t count = reln_shape_count(&x->shape), skip = first_item(f, x->domain) * count;
    const ptrdiff_t n = n_items(f, x->domain) * count;

    if (b->dtype == RELN_F64)
        table_of(f->plan, x)->from_f64(n, (const double *)b->values + skip, out);
    else
        table_of(f->plan, x)->from_f32(n, (const float *)b->values + skip, out);
}

/* ---- samples of items ----------------------------------------------------------------------------------------- */

/* Returns the last i in [low, high) with first[i] <= item. `first` ascends; of equal entries, all but the
 * last belong to empty parents. */
static ptrdiff_t last_begun(const ptrdiff_t *first, ptrdiff_t low, ptrdiff_t high, ptrdiff_t item)
{
    while (high - low > 1) {
        const ptrdiff_t middle = low + (high - low) / 2;

        if (first[middle] <= item)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Returns the sample, counted in the batch, that an item of the batch belongs to. */
static ptrdiff_t sample_of(const Frame *f, RelnDomain domain, ptrdiff_t item)
{
    const ptrdiff_t low = f->shard->first;

    if (domain == RELN_SAMPLES)
        return item;
    return last_begun(f->plan->row_first[domain - 2], low, low + f->shard->count, item);
}

/* Returns the first item of the next sample. */
static ptrdiff_t sample_end(const Frame *f, RelnDomain domain, ptrdiff_t sample)
{
    return domain == RELN_SAMPLES ? sample + 1 : f->plan->row_first[domain - 2][sample + 1];
}

/* ---- indices -------------------------------------------------------------------------------------------------- */

static int64_t index_at(const Bound *b, ptrdiff_t at)
{
    return b->dtype == RELN_I64 ? ((const int64_t *)b->values)[at]
                                : ((const int32_t *)b->values)[at];
}

/* Copies indices and checks them. An index counts within its sample. */
static RelnStatus load_indices(const Frame *f, const RelnNode *x, const Bound *b, int32_t *out)
{
    const RelnSourceAttr *s = x->attr;
    const RelnPlan *plan = f->plan;
    const ptrdiff_t count = reln_shape_count(&x->shape), first = first_item(f, x->domain);
    const ptrdiff_t last = first + n_items(f, x->domain);
    const ptrdiff_t *target = s->target >= 2 ? plan->row_first[s->target - 2] : NULL;

    for (ptrdiff_t item = first; item < last;) {
        const bool step = x->domain == RELN_STEP;
        const ptrdiff_t sample = step ? 0 : sample_of(f, x->domain, item);
        const ptrdiff_t own = step ? last : sample_end(f, x->domain, sample);
        const ptrdiff_t end = own < last ? own : last;
        const ptrdiff_t base = target ? target[sample] - target[f->shard->first] : 0;
        const ptrdiff_t limit = target ? target[sample + 1] - target[sample] : s->limit;

        for (ptrdiff_t at = item * count; at < end * count; at++) {
            const int64_t index = index_at(b, at);

            if (index < 0 || index >= limit)
                return reln_run_fail(
                    f->worker, RELN_ERR_ARG, "input %s: index %lld of sample %td, wanted 0 to %td",
                    plan->graph->sources.items[s->index].name, (long long)index, sample, limit - 1);
            *out++ = (int32_t)(index + base);
        }
        item = end;
    }
    return RELN_OK;
}

/* Writes n indices that start at `value` and grow by `step`: equal ones (0) or consecutive ones (1). */
static int32_t *fill(int32_t *out, ptrdiff_t n, ptrdiff_t value, ptrdiff_t step)
{
    for (ptrdiff_t i = 0; i < n; i++)
        *out++ = (int32_t)(value + i * step);
    return out;
}

static ptrdiff_t least(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

static void load_samples(const Frame *f, RelnDomain domain, int32_t *out)
{
    ptrdiff_t item = first_item(f, domain);
    const ptrdiff_t last = item + n_items(f, domain);

    while (item < last) {
        const ptrdiff_t sample = sample_of(f, domain, item);
        const ptrdiff_t end = least(sample_end(f, domain, sample), last);

        out = fill(out, end - item, sample - f->shard->first, 0);
        item = end;
    }
}

/* Returns the parent of a counted row: the last non-empty one that begins at or before the item. */
static ptrdiff_t counted_parent(const Frame *f, RelnDomain domain, ptrdiff_t item)
{
    const RelnDomain parent = reln_row_domain(f->plan->graph, domain)->parent;
    const ptrdiff_t low = rows_before(f, parent);

    return last_begun(f->plan->item_first[domain - 2], low, low + all_items(f, parent), item);
}

static void load_counted(const Frame *f, RelnDomain domain, RelnDomain parent, int32_t *out)
{
    const ptrdiff_t *first = f->plan->item_first[domain - 2];
    ptrdiff_t item = first_item(f, domain);
    const ptrdiff_t last = item + n_items(f, domain), base = rows_before(f, parent);

    for (ptrdiff_t p = item < last ? counted_parent(f, domain, item) : 0; item < last; p++) {
        const ptrdiff_t end = least(first[p + 1], last);

        out = fill(out, end - item, p - base, 0);
        item = end;
    }
}

static void load_fixed(const Frame *f, RelnDomain domain, RelnDomain parent, int count,
                       int32_t *out)
{
    ptrdiff_t item = first_item(f, domain);
    const ptrdiff_t last = item + n_items(f, domain), base = first_of_all(f, parent);

    while (item < last) {
        const ptrdiff_t p = item / count, end = least((p + 1) * count, last);

        out = fill(out, end - item, p - base, 0);
        item = end;
    }
}

/* Computes the coarse row of each fine row. */
static void load_coarse(const Frame *f, RelnDomain fine, RelnDomain coarse, int stride,
                        int32_t *out)
{
    const ptrdiff_t *first = f->plan->row_first[fine - 2], *up = f->plan->row_first[coarse - 2];
    ptrdiff_t item = first_item(f, fine);
    const ptrdiff_t last = item + n_items(f, fine), base = rows_before(f, coarse);

    while (item < last) {
        const ptrdiff_t sample = sample_of(f, fine, item);
        const ptrdiff_t group = (item - first[sample]) / stride;
        const ptrdiff_t end =
            least(least(first[sample] + (group + 1) * stride, first[sample + 1]), last);

        out = fill(out, end - item, up[sample] + group - base, 0);
        item = end;
    }
}

/* The pairs of one first row are (i, 0), (i, 1), ...; without `self`, (i, i) is skipped. */
static void load_pairs(const Frame *f, RelnDomain domain, bool second, int32_t *out)
{
    const RelnRowDomain *d = reln_row_domain(f->plan->graph, domain);
    ptrdiff_t *const *first = f->plan->row_first;
    ptrdiff_t item = first_item(f, domain);
    const ptrdiff_t last = item + n_items(f, domain);

    while (item < last) {
        const ptrdiff_t sample = sample_of(f, domain, item);
        const ptrdiff_t *b = first[d->second - 2];
        const ptrdiff_t per = b[sample + 1] - b[sample] - (d->self ? 0 : 1);
        const ptrdiff_t within = item - first[domain - 2][sample], i = within / per;
        const ptrdiff_t j = within % per, end = least(item + per - j, last), n = end - item;
        const ptrdiff_t to_self = d->self || j >= i ? 0 : least(i - j, n);
        const ptrdiff_t base = b[sample] - rows_before(f, d->second);

        if (!second) {
            out = fill(out, n, first[d->parent - 2][sample] + i - rows_before(f, d->parent), 0);
        } else if (d->self) {
            out = fill(out, n, base + j, 1);
        } else {
            out = fill(out, to_self, base + j, 1);
            out = fill(out, n - to_self, base + j + to_self + 1, 1);
        }
        item = end;
    }
}

static void load_row_index(const Frame *f, const RelnRowIndexAttr *a, int32_t *out)
{
    const RelnGraph *g = f->plan->graph;
    const RelnRowDomain *d = reln_row_domain(g, a->domain);

    if (a->target > RELN_SAMPLES && a->target != d->parent && !a->second) {
        load_coarse(f, a->domain, a->target, reln_row_domain(g, a->target)->most, out);
        return;
    }
    if (a->target == RELN_SAMPLES) {
        load_samples(f, a->domain, out);
        return;
    }
    if (d->kind == RELN_ROWS_COUNTED)
        load_counted(f, a->domain, d->parent, out);
    else if (d->kind == RELN_ROWS_FIXED)
        load_fixed(f, a->domain, d->parent, d->most, out);
    else
        load_pairs(f, a->domain, a->second, out);
}

RelnStatus reln_run_load(const Frame *f, const Instr *instr)
{
    const RelnNode *x = instr->node;
    const RelnPlan *plan = f->plan;
    const RelnSourceAttr *s = x->attr;
    void *out = reln_resolve(f, &instr->out);
    const double count = (double)plan->run.n_samples;

    if (x->op == &reln_op_batch_count) {
        table_of(plan, x)->from_f64(1, &count, out);
        return RELN_OK;
    }
    if (x->op == &reln_op_row_index) {
        load_row_index(f, x->attr, out);
        return RELN_OK;
    }
    if (x->op == &reln_op_index_input)
        return load_indices(f, x, &plan->bound[s->index], out);
    load_numbers(f, x, &plan->bound[s->index], out);
    return RELN_OK;
}

/* ---- tiles ---------------------------------------------------------------------------------------------------- */

/* Returns the end, in the batch, of the items below the same item of the ancestor as `item`. */
static ptrdiff_t group_end(const Frame *f, const Loop *loop, ptrdiff_t item)
{
    const RelnPlan *plan = f->plan;
    const RelnRowDomain *d = reln_row_domain(plan->graph, loop->domain);
    const ptrdiff_t sample = sample_of(f, loop->domain, item);
    const ptrdiff_t first = plan->row_first[loop->domain - 2][sample];
    const ptrdiff_t own = sample_end(f, loop->domain, sample);
    ptrdiff_t per = d->most;

    if (loop->ancestor == RELN_SAMPLES)
        return own;
    if (loop->ancestor != d->parent)
        per = reln_row_domain(plan->graph, loop->ancestor)->most; /* a coarse domain */
    else if (d->kind == RELN_ROWS_COUNTED)
        return plan->item_first[loop->domain - 2][counted_parent(f, loop->domain, item) + 1];
    else if (d->kind == RELN_ROWS_PAIRS)
        per = plan->row_first[d->second - 2][sample + 1] - plan->row_first[d->second - 2][sample] -
              (d->self ? 0 : 1);
    return least(first + ((item - first) / per + 1) * per, own);
}

/* Adds groups to a tile while they fit; the first one always fits, because a tile has room for the
 * largest. */
ptrdiff_t reln_tile_end(const Frame *f, const Loop *loop, ptrdiff_t first)
{
    const ptrdiff_t all = all_items(f, loop->domain);
    const ptrdiff_t most = least(first + loop->tile, all);
    ptrdiff_t end = first;

    if (loop->ancestor == RELN_STEP || most == all)
        return most;
    while (end < most) {
        const ptrdiff_t next =
            group_end(f, loop, rows_before(f, loop->domain) + end) - rows_before(f, loop->domain);

        if (next > most)
            break;
        end = next;
    }
    return end;
}
