/* from.c -- starts a new run with the weights of another run: fine-tuning. */
#include <stdio.h>
#include <string.h>

#include "fit/fit.h"

static double number_at(const RelnEntryInfo *entry, size_t i)
{
    return entry->dtype == RELN_F64 ? ((const double *)entry->values)[i]
                                    : (double)((const float *)entry->values)[i];
}

static void put_at(const RelnEntryInfo *entry, size_t i, double value)
{
    if (entry->dtype == RELN_F64)
        ((double *)entry->values)[i] = value;
    else
        ((float *)entry->values)[i] = (float)value;
}

/* Copies the entry of the same name and extents; returns false when there is none. */
static bool take_entry(const RelnStore *from, const RelnEntryInfo *to)
{
    RelnEntryInfo entry;

    if (!reln_store_find(from, to->name, &entry) || entry.kind != to->kind ||
        memcmp(&entry.dims, &to->dims, sizeof to->dims) != 0)
        return false;
    for (size_t i = 0; i < to->count; i++)
        put_at(to, i, number_at(&entry, i));
    return true;
}

static void take_columns(const RelnModel *from, int j, const RelnModel *to, int i, RelnConstants *c)
{
    int theirs, ours;
    const int n = reln_model_columns(from, j, &theirs);

    for (int k = 0; k < n && n == reln_model_columns(to, i, &ours); k++)
        c->column[ours + k] = reln_model_constants(from)->column[theirs + k];
}

/* Inputs of the same name keep the scale with which the weights were trained. */
static void take_scales(const RelnModel *from, RelnModel *to)
{
    const RelnSpec *then = reln_model_spec(from), *now = reln_model_spec(to);
    RelnConstants c = *reln_model_constants(to);

    for (int i = 0; i < now->n_inputs; i++)
        for (int j = 0; j < then->n_inputs; j++)
            if (strcmp(now->input[i].name, then->input[j].name) == 0) {
                c.scale[i] = reln_model_constants(from)->scale[j];
                take_columns(from, j, to, i, &c);
            }
    c.points = reln_model_constants(from)->points;
    reln_model_set_constants(to, &c);
}

/* Weights of the first layers belong to inputs by their order: inputs that both runs have must come in the same order. */
static RelnStatus want_order(const RelnFit *fit, const RelnModel *from)
{
    const RelnSpec *then = reln_model_spec(from), *now = reln_model_spec(fit->model);
    int last = -1, last_input = -1;

    for (int i = 0; i < now->n_inputs; i++)
        for (int j = 0; j < then->n_inputs; j++) {
            if (strcmp(now->input[i].name, then->input[j].name) != 0)
                continue;
            if (j < last)
                return reln_fail(fit->ctx, RELN_ERR_ARG,
                                 "%s: input %s comes before %s, and here behind it; weights are "
                                 "taken by the order of inputs, wanted the same order",
                                 fit->options.from, now->input[i].name,
                                 now->input[last_input].name);
            last = j;
            last_input = i;
        }
    return RELN_OK;
}

static RelnStatus take(RelnFit *fit, const RelnModel *from)
{
    const RelnStore *theirs = reln_model_store(from);
    RelnStore *ours = reln_model_store(fit->model);
    int taken = 0, left = 0;
    const char *first = "";

    RELN_TRY(want_order(fit, from));
    for (int i = 0; i < reln_store_count(ours); i++) {
        const RelnEntryInfo entry = reln_store_entry(ours, i);

        if (entry.kind == RELN_ENTRY_MOMENT)
            continue;
        if (take_entry(theirs, &entry))
            taken++;
        else if (left++ == 0)
            first = entry.name;
    }
    if (taken == 0)
        return reln_fail(
            fit->ctx, RELN_ERR_ARG,
            "%s: none of its arrays has the name and the extents of one of this network; "
            "wanted a run of the same kind and width",
            fit->options.from);
    take_scales(from, fit->model);
    fit->note = reln_arena_printf(
        &fit->arena, "%d arrays of weights are those of %s; %d begin anew%s%s", taken,
        fit->options.from, left, left ? ", the first of them " : "", first);
    return fit->note ? RELN_OK : RELN_ERR_NOMEM;
}

RelnStatus reln_fit_take_from(RelnFit *fit)
{
    RelnModel *from = NULL;
    RelnStatus status;

    if (!fit->options.from)
        return RELN_OK;
    status = reln_model_load(fit->ctx, fit->options.from, RELN_DEFAULT, &from);
    if (status == RELN_OK)
        status = take(fit, from);
    reln_model_destroy(from);
    return status;
}
