/* data.c -- the data of a model: finds, checks and lifts arrays in one pass over the archive. */
#include <string.h>

#include "kit/files.h"
#include "model/data.h"

/* ---- the pass --------------------------------------------------------------------------------------------------------- */

/* Checks a row, lifts it if needed, and adds it to the sums. */
static RelnStatus visit(RelnData *d, ptrdiff_t row, ptrdiff_t i, void *self)
{
    const Pass *pass = self;
    const bool counts = pass->counted && reln_counts(pass->counted, row);

    RELN_TRY(reln_data_check(d, row, i));
    if (!d->resident && !counts)
        return RELN_OK;
    RELN_TRY(reln_data_lift(d, row, i));
    if (counts)
        RELN_TRY(reln_sums_add(d, row, i, pass->sums));
    if (!d->resident)
        return RELN_OK;
    reln_lifted_put(d, &d->all, reln_data_before(d, row), reln_data_extent(d, row));
    return reln_lifted_put_targets(d, &d->all, reln_data_before(d, row), row, i);
}

/* Every rank lifts samples that are kept; of other samples, each rank checks a part. */
static RelnStatus pass_over(RelnData *d)
{
    Counted counted = {0};
    RelnStatus status;

    if (d->options.known && !d->resident && !d->options.normalise)
        return RELN_OK;
    if (!d->options.normalise)
        return reln_data_pass(d, NULL, !d->resident, visit);
    status = reln_count_training(d, &counted);
    if (status == RELN_OK)
        status = reln_data_pass(d, &counted, !d->resident, visit);
    reln_free(d->ctx, counted.items);
    return status;
}

/* Allocates memory. Samples without random frames are kept lifted, if they fit the budget. */
static RelnStatus make_room(RelnData *d)
{
    const size_t budget = d->options.budget ? d->options.budget : (size_t)1 << 30;
    const Extent all = reln_data_before(d, d->found.count);

    if (d->options.augment > 0 || reln_data_shakes(d) || reln_data_draws(d) || reln_data_hides(d) ||
        reln_lifted_bytes(d, all) > (double)budget)
        return RELN_OK;
    d->resident = true;
    return reln_lifted_allocate(d, all, &d->all);
}

/* ---- opening --------------------------------------------------------------------------------------------------------- */

static RelnStatus check_like_model(const RelnData *d, const RelnShapes *shapes)
{
    const RelnSpec *spec = &d->m->spec;

    for (int i = 0; i < spec->n_inputs; i++)
        if (shapes->input[i].channels != d->m->shapes.input[i].channels ||
            (shapes->input[i].points != d->m->shapes.input[i].points &&
             !reln_model_places_free(d->m)))
            return reln_fail(
                d->ctx, RELN_ERR_SHAPE,
                "%s: %d points of %d channels; wanted %d and %d, as the model was made "
                "for",
                spec->input[i].name, shapes->input[i].points, shapes->input[i].channels,
                d->m->shapes.input[i].points, d->m->shapes.input[i].channels);
    for (int t = 0; t < spec->n_targets; t++)
        if (d->found.target[t] >= 0 &&
            shapes->target_channels[t] != d->m->shapes.target_channels[t])
            return reln_fail(
                d->ctx, RELN_ERR_SHAPE, "%s: %d channels; wanted %d, as the model was made for",
                spec->target[t].name, shapes->target_channels[t], d->m->shapes.target_channels[t]);
    return RELN_OK;
}

static size_t array_bytes(const RelnData *d, int array)
{
    return array < 0 ? 0 : reln_archive_row_bytes(d->archive, array);
}

/* Returns the bytes of one sample in the file. */
static size_t count_row(const RelnData *d)
{
    size_t bytes = array_bytes(d, d->found.mask) + array_bytes(d, d->found.sizes);

    for (int i = 0; i < d->m->spec.n_inputs; i++)
        bytes += array_bytes(d, d->found.input[i]);
    for (int t = 0; t < d->m->spec.n_targets; t++)
        bytes += array_bytes(d, d->found.target[t]);
    return bytes;
}

static int places_of(const RelnModel *m, const RelnShapes *shapes)
{
    for (int i = 0; i < m->spec.n_inputs; i++)
        if (m->spec.input[i].points)
            return shapes->input[i].points;
    return 0;
}

static RelnStatus find(RelnData *d)
{
    RelnShapes shapes;

    RELN_TRY(reln_data_find(d->ctx, &d->m->spec, d->m->n, reln_group_n_lie(d->m->symmetry),
                            d->archive, &d->found, &shapes));
    for (int t = 0; t < d->m->spec.n_targets; t++)
        if (d->options.without_target)
            d->found.target[t] = -1;
        else if (d->found.target[t] < 0)
            return reln_data_missing(d->ctx, d->archive, d->m->spec.target[t].name, ", the target");
    if (d->options.without_target)
        d->found.weights = -1;
    else if (d->m->spec.weights[0] && d->found.weights < 0)
        return reln_data_missing(d->ctx, d->archive, d->m->spec.weights, ", the weights");
    d->found.weighted = d->found.weights >= 0 || (reln_data_hides(d) && !d->options.without_target);
    if (reln_data_hides(d))
        d->found.weights_of = RELN_ITEMS_POINTS;
    d->row_bytes = count_row(d);
    RELN_TRY(check_like_model(d, &shapes));
    return reln_data_make_rows(d, places_of(d->m, &shapes));
}

/* Makes the metrics of errors, and memory for one sample of every target. */
static RelnStatus make_targets(RelnData *d)
{
    const int most = d->work.places > d->found.edge_places ? d->work.places : d->found.edge_places;

    for (int k = 0; k < 2; k++)
        d->asked[k] = reln_arena_alloc(&d->arena, (size_t)most + 1, sizeof *d->asked[k]);
    d->seen = reln_arena_alloc(&d->arena, (size_t)d->layout.truths + 1, sizeof *d->seen);
    for (int t = 0; d->seen && t < d->m->spec.n_targets; t++) {
        const size_t k = (size_t)reln_model_target_size(d->m, t);

        d->metric[t] = reln_arena_alloc(&d->arena, k * k, sizeof **d->metric);
        if (!d->metric[t])
            return RELN_ERR_NOMEM;
        for (size_t i = 0; i < k; i++)
            d->metric[t][i * k + i] = 1;
    }
    return d->seen && d->asked[0] && d->asked[1] ? RELN_OK : RELN_ERR_NOMEM;
}

static RelnStatus open_data(RelnData *d)
{
    if (!d->options.windows)
        RELN_TRY(reln_sequence_open(d->ctx, &d->m->spec, d->m->n, reln_group_n_lie(d->m->symmetry),
                                    d->archive, &d->sequence));
    if (d->sequence)
        d->archive = d->sequence->windows;
    if (!d->options.windows)
        RELN_TRY(reln_offsets_open(d->ctx, &d->m->spec, d->archive, &d->sets));
    if (d->sets)
        d->archive = d->sets;
    RELN_TRY(find(d));
    RELN_TRY(make_targets(d));
    RELN_TRY(reln_data_count_points(d));
    RELN_TRY(reln_data_read_edges(d));
    RELN_TRY(make_room(d));
    return pass_over(d);
}

RelnStatus reln_data_open(RelnModel *model, RelnArchive *archive, const RelnDataOptions *options,
                          RelnData **out)
{
    RelnData *d = reln_alloc(model->ctx, 1, sizeof *d);
    RelnStatus status;

    *out = NULL;
    if (!d)
        return RELN_ERR_NOMEM;
    d->ctx = model->ctx;
    d->m = model;
    d->archive = archive;
    if (options)
        d->options = *options;
    d->item = model->spec.train.dtype == RELN_F32 ? sizeof(float) : sizeof(double);
    reln_arena_init(&d->arena, d->ctx);
    status = open_data(d);
    if (status == RELN_OK)
        *out = d;
    else
        reln_data_destroy(d);
    return status;
}

void reln_data_destroy(RelnData *d)
{
    if (!d)
        return;
    reln_ahead_clear(d);
    reln_lifted_free(d, &d->all);
    reln_lifted_free(d, &d->batch);
    reln_arena_clear(&d->arena);
    reln_archive_destroy(d->sets);
    reln_sequence_close(d->sequence);
    reln_free(d->ctx, d);
}

bool reln_data_shakes(const RelnData *d)
{
    return d->options.jitter && d->sequence && d->sequence->jitter > 0;
}

bool reln_data_draws(const RelnData *d)
{
    return d->options.jitter && d->m->draws;
}

ptrdiff_t reln_data_count(const RelnData *d)
{
    return d->found.count;
}

RelnStatus reln_data_size(RelnData *d, RelnItems items, ptrdiff_t row, int *size)
{
    double count = 0;

    RELN_TRY(reln_data_array(d, items == RELN_ITEMS_EDGES ? d->found.edge_sizes : d->found.sizes,
                             row, 1, &count));
    *size = (int)count;
    return RELN_OK;
}

bool reln_data_concatenated(const RelnData *d, RelnItems items)
{
    bool points = false;

    for (int i = 0; i < d->m->spec.n_inputs; i++)
        points |= d->m->spec.input[i].offsets[0] != 0;
    return d->sets && (items == RELN_ITEMS_EDGES    ? d->m->spec.edges.offsets[0] != 0
                       : items == RELN_ITEMS_POINTS ? points
                                                    : false);
}

bool reln_data_resident(const RelnData *d)
{
    return d->resident;
}

RelnWeights reln_data_weighted(const RelnData *d)
{
    static const RelnWeights words[] = {[RELN_ITEMS_SAMPLES] = RELN_WEIGHTS_SAMPLES,
                                        [RELN_ITEMS_POINTS] = RELN_WEIGHTS_POINTS,
                                        [RELN_ITEMS_EDGES] = RELN_WEIGHTS_EDGES};

    return d->found.weighted ? words[d->found.weights_of] : RELN_WEIGHTS_NONE;
}

bool reln_data_has_target(const RelnData *d)
{
    return d->found.target[0] >= 0;
}

/* ---- raw numbers ------------------------------------------------------------------------------------------------------------ */

/* Waits for the thread, because windows share a buffer with it. */
static void settle_windows(RelnData *d)
{
    if (d->sequence)
        reln_data_settle(d);
}

RelnStatus reln_data_raw(RelnData *d, int input, ptrdiff_t row, double *values)
{
    settle_windows(d);
    return reln_data_input(d, input, row, 1, values);
}

RelnStatus reln_data_mask(RelnData *d, ptrdiff_t row, double *values)
{
    settle_windows(d);
    return reln_data_read_mask(d, row, 1, values);
}

RelnLayout reln_data_layout(const RelnData *d)
{
    return d->layout;
}

/* Reads the mask of a sample for calls from outside. */
static RelnStatus ask_mask(RelnData *d, ptrdiff_t row, const double **mask)
{
    *mask = d->m->ragged ? d->asked[0] : NULL;
    return *mask ? reln_data_read_mask(d, row, 1, d->asked[0]) : RELN_OK;
}

RelnStatus reln_data_weights(RelnData *d, ptrdiff_t row, double *values)
{
    double *weights = d->asked[1];
    const double *mask;

    settle_windows(d);
    RELN_TRY(ask_mask(d, row, &mask));
    RELN_TRY(reln_data_array(d, d->found.weights, row, 1, weights));
    if (reln_data_hides(d))
        reln_data_draw_hidden(d, row, 0, mask, weights);
    memset(values, 0, (size_t)d->layout.losses * sizeof *values);
    for (int t = 0; t < d->m->spec.n_targets; t++) {
        Items items = reln_data_walk_items(d, t, row, mask);

        for (int p; reln_items_next(&items, &p);)
            values[d->layout.target[t].loss_first + p] = reln_data_weight(d, weights, p);
    }
    return RELN_OK;
}

/* Numbers the items of one sample, which begin at next[target]. */
static void number_items(const RelnData *d, ptrdiff_t row, const double *mask, ptrdiff_t *next,
                         ptrdiff_t *out)
{
    for (ptrdiff_t k = 0; k < d->layout.losses; k++)
        out[k] = -1;
    for (int t = 0; t < d->m->spec.n_targets; t++) {
        Items items = reln_data_walk_items(d, t, row, mask);

        for (int p; reln_items_next(&items, &p);)
            out[d->layout.target[t].loss_first + p] = next[t]++;
    }
}

RelnStatus reln_data_items(RelnData *d, ptrdiff_t n, const ptrdiff_t *rows, ptrdiff_t *items)
{
    ptrdiff_t next[RELN_SPEC_TARGETS] = {0};
    const double *mask;

    settle_windows(d);
    for (ptrdiff_t i = 0; i < n; i++) {
        RELN_TRY(ask_mask(d, rows[i], &mask));
        number_items(d, rows[i], mask, next, items + i * d->layout.losses);
    }
    return RELN_OK;
}

RelnStatus reln_data_target(RelnData *d, ptrdiff_t n, const ptrdiff_t *rows, double *values)
{
    const ptrdiff_t step = d->layout.truths;

    if (!reln_data_has_target(d))
        return reln_fail(d->ctx, RELN_ERR_ARG, "the data were opened without their target");
    settle_windows(d);
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *mask;

        for (int t = 0; t < d->m->spec.n_targets; t++)
            RELN_TRY(reln_data_array(d, d->found.target[t], rows[i], 1,
                                     values + i * step + d->layout.target[t].truth_first));
        if (!reln_data_hides(d))
            continue;
        RELN_TRY(ask_mask(d, rows[i], &mask));
        reln_data_way_back(d, rows[i], mask, d->asked[1], values + i * step);
    }
    return RELN_OK;
}
