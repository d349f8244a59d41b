/* batches.c -- copies the samples of a batch into buffers, and binds the buffers to a plan. */
#include <string.h>

#include "graph/plan.h"
#include "kit/clock.h"
#include "model/data.h"

RelnStatus reln_data_reserve(RelnData *d, ptrdiff_t n)
{
    if (n <= d->room)
        return RELN_OK;
    reln_data_settle(d);
    d->room = 0;
    reln_lifted_free(d, &d->batch);
    reln_lifted_free(d, &d->ahead.batch);
    RELN_TRY(reln_lifted_allocate(d, reln_data_room(d, n), &d->batch));
    if (d->ahead.thread)
        RELN_TRY(reln_lifted_allocate(d, reln_data_room(d, n), &d->ahead.batch));
    d->room = n;
    return RELN_OK;
}

/* Moves a sample to a random frame, which changes with every epoch. */
static RelnStatus augment(RelnData *d, ptrdiff_t row, uint64_t epoch)
{
    const uint64_t key[2] = {epoch, (uint64_t)row};
    RelnRng rng = reln_rng(d->options.seed, reln_hash(RELN_HASH_SEED, key, sizeof key));
    RelnElement *g = NULL;
    RelnStatus status = reln_model_element(d->m, &rng, d->options.augment, &g);

    for (int i = 0; status == RELN_OK && i < d->m->spec.n_inputs; i++)
        status = reln_model_act(d->m, i, g, reln_data_numbers(d, i), d->raw.input[i]);
    for (int t = 0; status == RELN_OK && t < d->m->spec.n_targets; t++)
        for (int p = 0;
             d->found.target[t] >= 0 && status == RELN_OK && p < d->layout.target[t].places; p++)
            status =
                reln_model_act_truth(d->m, t, g, d->raw.target[t] + p * d->layout.target[t].truth);
    reln_element_destroy(g);
    return status;
}

/* Draws other points of a sample in every epoch, and checks them: only the first points were checked when the file was
 * opened. */
static RelnStatus draw(RelnData *d, ptrdiff_t row, uint64_t epoch)
{
    const uint64_t key[2] = {epoch, (uint64_t)row};
    RelnRng rng =
        reln_rng(d->options.seed, reln_hash(RELN_HASH_SEED, key, sizeof key) ^ 0x64726177);

    RELN_TRY(reln_data_draw_points(d, row, &rng));
    return reln_data_check(d, row, 0);
}

/* Loads a sample into a batch, behind the samples `before` it. */
static RelnStatus load_sample(RelnData *d, const Lifted *to, ptrdiff_t row, Extent before,
                              uint64_t epoch)
{
    if (reln_data_shakes(d))
        reln_sequence_shake(d->sequence, row, d->options.seed, epoch);
    RELN_TRY(reln_data_read(d, row, 1));
    d->read_bytes += d->row_bytes;
    if (reln_data_draws(d))
        RELN_TRY(draw(d, row, epoch));
    if (d->options.augment > 0)
        RELN_TRY(augment(d, row, epoch));
    if (reln_data_hides(d))
        reln_data_hide(d, row, epoch);
    RELN_TRY(reln_data_lift(d, row, 0));
    if (reln_data_hides(d))
        reln_data_blank(d);
    reln_lifted_put(d, to, before, reln_data_extent(d, row));
    return reln_lifted_put_targets(d, to, before, row, 0);
}

static bool has_input(const RelnPlan *plan, const char *name)
{
    for (int i = 0; i < plan->graph->sources.count; i++)
        if (strcmp(plan->graph->sources.items[i].name, name) == 0)
            return true;
    return false;
}

static RelnStatus bind_target(const RelnData *d, RelnPlan *plan, int target)
{
    const bool is_class = d->m->spec.target[target].as == RELN_TARGET_CLASS;
    const size_t k = (size_t)reln_model_target_size(d->m, target);
    char name[RELN_TARGET_PORT];

    if (has_input(plan, reln_target_port("metric", target, name)))
        RELN_TRY(reln_plan_bind_sized(plan, name, d->metric[target], RELN_F64, k * k));
    if (!has_input(plan, reln_target_port("target", target, name)))
        return RELN_OK;
    return reln_plan_bind_sized(plan, name, d->batch.target[target],
                                is_class ? RELN_I32 : d->m->spec.train.dtype,
                                (size_t)reln_target_room(d, target, reln_data_room(d, d->room)));
}

RelnStatus reln_data_bind_sets(const RelnData *d, RelnPlan *plan, const Lifted *batch)
{
    RELN_TRY(reln_plan_bind_rows_sized(plan, "points", batch->points, (size_t)d->room));
    if (!d->from || !has_input(plan, "edges.from"))
        return RELN_OK;
    RELN_TRY(reln_plan_bind_rows_sized(plan, "edges", batch->degrees,
                                       (size_t)(d->room * d->work.places)));
    return reln_plan_bind_sized(plan, "edges.from", batch->from, RELN_I32,
                                (size_t)d->room * (size_t)d->largest_edges + 1);
}

static RelnStatus bind(const RelnData *d, RelnPlan *plan)
{
    for (int s = 0; s < SLOT_COUNT; s++)
        if (d->m->slots[s].c && has_input(plan, d->m->slots[s].name))
            RELN_TRY(reln_plan_bind_sized(plan, d->m->slots[s].name, d->batch.slot[s],
                                          reln_slot_dtype(d->m, s),
                                          (size_t)reln_slot_room(d, s, d->room)));
    if (d->m->ragged)
        RELN_TRY(reln_data_bind_sets(d, plan, &d->batch));
    for (int t = 0; t < d->m->spec.n_targets; t++)
        RELN_TRY(bind_target(d, plan, t));
    if (has_input(plan, "weights"))
        RELN_TRY(reln_plan_bind_sized(plan, "weights", d->batch.weights, d->m->spec.train.dtype,
                                      (size_t)reln_weight_room(d, reln_data_room(d, d->room))));
    return RELN_OK;
}

RelnStatus reln_data_check_row(const RelnData *d, ptrdiff_t row)
{
    return row >= 0 && row < d->found.count
               ? RELN_OK
               : reln_fail(d->ctx, RELN_ERR_ARG, "row %td of %td; wanted one from 0", row,
                           d->found.count);
}

static RelnStatus fill_sample(RelnData *d, const Lifted *to, ptrdiff_t row, Extent before,
                              uint64_t epoch)
{
    if (!d->resident)
        return load_sample(d, to, row, before, epoch);
    reln_lifted_copy(d, row, to, before);
    return RELN_OK;
}

RelnStatus reln_data_fill(RelnData *d, const Lifted *to, const Batch *batch, const ptrdiff_t *rows,
                          const atomic_bool *given_up)
{
    Extent before = {0};

    for (ptrdiff_t i = 0; i < batch->end; i++) { /* each rank reads its own samples */
        if (given_up && atomic_load(given_up))
            return RELN_ERR_STOPPED;
        if (i >= batch->first)
            RELN_TRY(fill_sample(d, to, rows[i], before, batch->epoch));
        before.samples++;
        before.points += to->points[i];
        before.edges += reln_data_edges(d, rows[i]);
    }
    return RELN_OK;
}

/* Fills the current batch, which was not read ahead. */
static RelnStatus fill_now(RelnData *d, const Batch *batch, const ptrdiff_t *rows)
{
    const double begin = d->resident ? 0 : reln_wall_seconds();
    const RelnStatus status = reln_data_fill(d, &d->batch, batch, rows, NULL);

    if (!d->resident)
        d->waited += reln_wall_seconds() - begin;
    return status;
}

RelnStatus reln_data_bind(RelnData *d, RelnPlan *plan, ptrdiff_t n, const ptrdiff_t *rows,
                          uint64_t epoch)
{
    Batch batch = {.n = n, .epoch = epoch};
    RelnStatus status = RELN_OK;

    RELN_TRY(reln_data_reserve(d, n));
    if (reln_ahead_take(d, plan, n, rows, epoch, &status))
        return status == RELN_OK ? bind(d, plan) : status;
    for (ptrdiff_t i = 0; i < n; i++) {
        RELN_TRY(reln_data_check_row(d, rows[i]));
        d->batch.points[i] = reln_data_points(d, rows[i]);
    }
    reln_data_put_edges(d, n, rows, &d->batch);
    RELN_TRY(bind(d, plan));
    RELN_TRY(reln_plan_samples(plan, n, &batch.first, &batch.end));
    return fill_now(d, &batch, rows);
}

static int count_mask(int n, const double *mask)
{
    int count = 0;

    for (int p = 0; p < n; p++)
        count += !mask || mask[p] != 0;
    return count;
}

RelnStatus reln_data_bind_raw(RelnData *d, RelnPlan *plan, ptrdiff_t n, const double *const *values,
                              const double *mask, const ptrdiff_t *rows)
{
    Extent before = {0}, size;

    reln_data_settle(d);
    RELN_TRY(reln_data_reserve(d, n));
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *raw[RELN_SPEC_INPUTS] = {0};
        const double *own = mask && d->m->ragged ? mask + i * d->work.places : NULL;

        for (int in = 0; in < d->m->spec.n_inputs; in++)
            raw[in] = values[in] + i * reln_data_numbers(d, in);
        reln_data_go_to_edges(d, rows ? rows[i] : i);
        RELN_TRY(reln_model_lift(d->m, &d->work, i, raw, own, d->lifted));
        size = (Extent){1, count_mask(d->work.places, own), d->work.n_edges};
        d->batch.points[i] = (int32_t)size.points;
        reln_lifted_put(d, &d->batch, before, size);
        before =
            (Extent){before.samples + 1, before.points + size.points, before.edges + size.edges};
    }
    reln_data_put_edges(d, n, rows, &d->batch);
    return bind(d, plan);
}
