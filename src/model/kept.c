/* kept.c -- lifted samples in the dtype of the model: those of a batch, or all samples. */
#include <string.h>

#include "model/data.h"

static bool in_rows(const RelnData *d, int id)
{
    return d->m->ragged && d->m->slots[id].of != RELN_ITEMS_SAMPLES;
}

/* Returns the number of numbers of a slot for one sample, or for one point or edge if empty places are not
 * kept. */
static ptrdiff_t slot_count(const RelnData *d, int id)
{
    const Slot *s = &d->m->slots[id];

    return in_rows(d, id) ? (ptrdiff_t)s->k * s->c : s->count;
}

/* Returns how many numbers of a slot belong to so many items; for the items before a sample, its first
 * index. */
static ptrdiff_t slot_length(const RelnData *d, int id, Extent extent)
{
    return reln_extent_of(extent, in_rows(d, id) ? d->m->slots[id].of : RELN_ITEMS_SAMPLES) *
           slot_count(d, id);
}

ptrdiff_t reln_slot_room(const RelnData *d, int slot, ptrdiff_t samples)
{
    return slot_length(d, slot, reln_data_room(d, samples));
}

static ptrdiff_t target_items(const RelnData *d, int target, Extent extent)
{
    return reln_extent_of(extent, reln_target_items(&d->m->spec.target[target]));
}

ptrdiff_t reln_target_room(const RelnData *d, int target, Extent extent)
{
    return target_items(d, target, extent) * d->layout.target[target].truth;
}

ptrdiff_t reln_weight_room(const RelnData *d, Extent extent)
{
    return d->found.weighted ? reln_extent_of(extent, d->found.weights_of) : 0;
}

static size_t slot_item(const RelnData *d, int id)
{
    return reln_slot_dtype(d->m, id) == RELN_F32 ? sizeof(float) : sizeof(double);
}

/* ---- room ------------------------------------------------------------------------------------------------------------- */

double reln_lifted_bytes(const RelnData *d, Extent extent)
{
    double bytes = (double)reln_weight_room(d, extent) * (double)d->item;

    for (int t = 0; t < d->m->spec.n_targets; t++)
        bytes += (double)reln_target_room(d, t, extent) * (double)d->item;
    for (int s = 0; s < SLOT_COUNT; s++)
        bytes += (double)slot_length(d, s, extent) * (double)slot_item(d, s);
    return bytes;
}

RelnStatus reln_lifted_allocate(const RelnData *d, Extent extent, Lifted *out)
{
    for (int s = 0; s < SLOT_COUNT; s++)
        if (d->m->slots[s].c) {
            out->slot[s] = reln_alloc(d->ctx, (size_t)slot_length(d, s, extent), slot_item(d, s));
            if (!out->slot[s])
                return RELN_ERR_NOMEM;
        }
    for (int t = 0; t < d->m->spec.n_targets; t++) {
        out->target[t] = reln_alloc(d->ctx, (size_t)reln_target_room(d, t, extent) + 1, d->item);
        if (!out->target[t])
            return RELN_ERR_NOMEM;
    }
    out->weights = reln_alloc(d->ctx, (size_t)reln_weight_room(d, extent) + 1, d->item);
    if (!out->weights)
        return RELN_ERR_NOMEM;
    out->points = reln_alloc(d->ctx, (size_t)extent.samples, sizeof *out->points);
    if (!out->points)
        return RELN_ERR_NOMEM;
    if (!d->from)
        return RELN_OK;
    out->degrees = reln_alloc(d->ctx, (size_t)extent.points + 1, sizeof *out->degrees);
    out->from = reln_alloc(d->ctx, (size_t)extent.edges + 1, sizeof *out->from);
    return out->degrees && out->from ? RELN_OK : RELN_ERR_NOMEM;
}

void reln_lifted_free(const RelnData *d, Lifted *l)
{
    for (int s = 0; s < SLOT_COUNT; s++)
        reln_free(d->ctx, l->slot[s]);
    for (int t = 0; t < RELN_SPEC_TARGETS; t++)
        reln_free(d->ctx, l->target[t]);
    reln_free(d->ctx, l->weights);
    reln_free(d->ctx, l->points);
    reln_free(d->ctx, l->degrees);
    reln_free(d->ctx, l->from);
    memset(l, 0, sizeof *l);
}

/* ---- samples ----------------------------------------------------------------------------------------------------------- */

/* Converts doubles to numbers of `item` bytes. */
static void convert(size_t item, ptrdiff_t count, const double *from, char *to)
{
    if (item == sizeof(double))
        memcpy(to, from, (size_t)count * sizeof *from);
    else
        for (ptrdiff_t i = 0; i < count; i++)
            ((float *)(void *)to)[i] = (float)from[i];
}

void reln_lifted_put(const RelnData *d, const Lifted *to, Extent before, Extent size)
{
    for (int s = 0; s < SLOT_COUNT; s++)
        if (d->m->slots[s].c)
            convert(slot_item(d, s), slot_length(d, s, size), d->lifted[s],
                    to->slot[s] + (size_t)slot_length(d, s, before) * slot_item(d, s));
}

/* Reorder (channels, size) of the file to (size, channels) of an item; an mlp keeps the order. */
static RelnStatus put_item(const RelnData *d, const Lifted *to, int target, ptrdiff_t item,
                           const double *t)
{
    const ptrdiff_t count = d->layout.target[target].truth;
    const ptrdiff_t size = reln_model_is_mlp(d->m) ? 1 : reln_model_target_size(d->m, target);

    if (d->m->spec.target[target].as == RELN_TARGET_CLASS) {
        ((int32_t *)(void *)to->target[target])[item] = (int32_t)t[0];
        return RELN_OK;
    }
    RELN_TRY(reln_model_lift_target(d->m, &d->work, target, t, d->seen));
    for (ptrdiff_t c = 0; c < count / size; c++)
        for (ptrdiff_t k = 0; k < size; k++)
            convert(d->item, 1, &d->seen[c * size + k],
                    to->target[target] + (size_t)(item * count + k * (count / size) + c) * d->item);
    return RELN_OK;
}

/* Copies a target of row i of d->raw to all items of the sample, the first of them at `item`. */
static RelnStatus put_target(const RelnData *d, const Lifted *to, int target, ptrdiff_t item,
                             ptrdiff_t row, ptrdiff_t i)
{
    const RelnTargetLayout *l = &d->layout.target[target];
    const double *t = d->raw.target[target] + i * reln_data_target_count(d, target);
    Items items = reln_data_walk_items(d, target, row, reln_data_mask_of(d, i));

    for (int p; reln_items_next(&items, &p);)
        RELN_TRY(put_item(d, to, target, item++, t + p * l->truth));
    return RELN_OK;
}

static void put_weights(const RelnData *d, const Lifted *to, ptrdiff_t item, ptrdiff_t row,
                        ptrdiff_t i)
{
    const double *w = d->raw.weights + i * reln_data_weight_count(d);
    Items items = reln_data_walk_weights(d, row, i);

    for (int p; reln_items_next(&items, &p);)
        convert(d->item, 1, &w[p], to->weights + (size_t)item++ * d->item);
}

RelnStatus reln_lifted_put_targets(const RelnData *d, const Lifted *to, Extent before,
                                   ptrdiff_t row, ptrdiff_t i)
{
    for (int t = 0; t < d->m->spec.n_targets; t++)
        if (d->found.target[t] >= 0)
            RELN_TRY(put_target(d, to, t, target_items(d, t, before), row, i));
    if (d->found.weighted)
        put_weights(d, to, reln_extent_of(before, d->found.weights_of), row, i);
    return RELN_OK;
}

void reln_lifted_copy(const RelnData *d, ptrdiff_t row, const Lifted *to, Extent before)
{
    const Extent from = reln_data_before(d, row), size = reln_data_extent(d, row);

    for (int s = 0; s < SLOT_COUNT; s++)
        if (d->m->slots[s].c)
            memcpy(to->slot[s] + (size_t)slot_length(d, s, before) * slot_item(d, s),
                   d->all.slot[s] + (size_t)slot_length(d, s, from) * slot_item(d, s),
                   (size_t)slot_length(d, s, size) * slot_item(d, s));
    for (int t = 0; t < d->m->spec.n_targets; t++) {
        const bool class = d->m->spec.target[t].as == RELN_TARGET_CLASS;
        const size_t one = (size_t)d->layout.target[t].truth * (class ? sizeof(int32_t) : d->item);

        memcpy(to->target[t] + (size_t)target_items(d, t, before) * one,
               d->all.target[t] + (size_t)target_items(d, t, from) * one,
               (size_t)target_items(d, t, size) * one);
    }
    if (d->found.weighted)
        memcpy(to->weights + (size_t)reln_extent_of(before, d->found.weights_of) * d->item,
               d->all.weights + (size_t)reln_extent_of(from, d->found.weights_of) * d->item,
               (size_t)reln_extent_of(size, d->found.weights_of) * d->item);
}
