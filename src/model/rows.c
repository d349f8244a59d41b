/* rows.c -- reads, checks and lifts rows of an archive. */
#include <math.h>
#include <string.h>

#include "model/data.h"
#include "model/kinds.h"

/* ---- extents --------------------------------------------------------------------------------------------------------- */

int reln_data_places(const RelnData *d)
{
    return d->work.places;
}

ptrdiff_t reln_data_numbers(const RelnData *d, int i)
{
    const RelnInputShape *s = &d->m->shapes.input[i];

    return (ptrdiff_t)reln_lift_places(d->m, &d->work, i) * s->channels * s->size;
}

ptrdiff_t reln_data_target_count(const RelnData *d, int target)
{
    return d->layout.target[target].places * d->layout.target[target].truth;
}

ptrdiff_t reln_data_weight_count(const RelnData *d)
{
    return reln_work_places(&d->work, d->found.weights_of);
}

double reln_data_weight(const RelnData *d, const double *weights, int place)
{
    return d->found.weighted ? weights[d->found.weights_of == RELN_ITEMS_SAMPLES ? 0 : place] : 1;
}

static ptrdiff_t row_count(const RelnData *d)
{
    ptrdiff_t count = d->layout.truths + d->work.places + reln_data_weight_count(d) + 1;

    for (int i = 0; i < d->m->spec.n_inputs; i++)
        count += reln_data_numbers(d, i);
    return count;
}

RelnSizes reln_data_sizes(const RelnData *d)
{
    RelnSizes s = {d->m->ragged ? 0 : d->work.places, d->largest_edges, d->largest_degree};

    for (ptrdiff_t i = 0; d->m->ragged && i < d->found.count; i++)
        s.points = d->points[i] > s.points ? d->points[i] : s.points;
    return s;
}

int reln_data_points(const RelnData *d, ptrdiff_t row)
{
    return d->m->ragged ? d->points[row] : d->work.places;
}

int reln_data_edges(const RelnData *d, ptrdiff_t row)
{
    return d->first_edge ? (int)(d->first_edge[row + 1] - d->first_edge[row]) : 0;
}

Extent reln_data_before(const RelnData *d, ptrdiff_t row)
{
    return (Extent){row, d->m->ragged ? d->first[row] : 0, d->first_edge ? d->first_edge[row] : 0};
}

Extent reln_data_extent(const RelnData *d, ptrdiff_t row)
{
    return (Extent){1, reln_data_points(d, row), reln_data_edges(d, row)};
}

Extent reln_data_room(const RelnData *d, ptrdiff_t n)
{
    return (Extent){n, n * d->work.places, n * d->largest_edges};
}

/* ---- items ------------------------------------------------------------------------------------------------------------ */

Items reln_data_walk_items(const RelnData *d, int target, ptrdiff_t row, const double *mask)
{
    switch (reln_target_items(&d->m->spec.target[target])) {
    case RELN_ITEMS_EDGES:
        return (Items){.place = d->edge_place + d->first_edge[row], .end = reln_data_edges(d, row)};
    case RELN_ITEMS_POINTS:
        return (Items){.mask = mask, .end = d->work.places};
    case RELN_ITEMS_SAMPLES:
        break;
    }
    return (Items){.end = 1};
}

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

static RelnStatus allocate_raw(RelnData *d)
{
    const ptrdiff_t fit = ((ptrdiff_t)1 << 19) / row_count(d);

    d->piece = fit < 1 ? 1 : fit > 4096 ? 4096 : fit;
    for (int i = 0; i < d->m->spec.n_inputs; i++) {
        d->raw.input[i] = reln_arena_alloc(&d->arena, (size_t)(d->piece * reln_data_numbers(d, i)),
                                           sizeof(double));
        if (!d->raw.input[i])
            return RELN_ERR_NOMEM;
    }
    d->raw.mask =
        reln_arena_alloc(&d->arena, (size_t)(d->piece * d->work.places) + 1, sizeof(double));
    for (int t = 0; t < d->m->spec.n_targets; t++) {
        d->raw.target[t] = reln_arena_alloc(
            &d->arena, (size_t)(d->piece * reln_data_target_count(d, t)), sizeof(double));
        if (!d->raw.target[t])
            return RELN_ERR_NOMEM;
    }
    d->raw.weights = reln_arena_alloc(&d->arena, (size_t)(d->piece * reln_data_weight_count(d)) + 1,
                                      sizeof(double));
    return d->raw.mask && d->raw.weights ? RELN_OK : RELN_ERR_NOMEM;
}

RelnStatus reln_data_array(const RelnData *d, int array, ptrdiff_t first, ptrdiff_t n, double *out)
{
    return array < 0 ? RELN_OK : reln_archive_range(d->archive, array, first, n, out);
}

/* Writes the mask of a sample from its number of points. */
static RelnStatus mask_of_size(const RelnData *d, ptrdiff_t row, double size, double *mask)
{
    const int places = d->work.places;

    if (!(size >= 1 && size <= places && size == floor(size)))
        return reln_fail(
            d->ctx, RELN_ERR_FORMAT,
            "%s: row %td has %g points; wanted a whole number from 1 to %d, the places "
            "that there are",
            reln_model_mask(d->m), row, size, places);
    for (int p = 0; p < places; p++)
        mask[p] = p < size;
    return RELN_OK;
}

/* Removes points from the end of a mask until at most `most` are left. */
static void keep_first(int places, int most, double *mask)
{
    for (int p = 0; p < places; p++)
        if (mask[p] != 0 && most-- <= 0)
            mask[p] = 0;
}

static RelnStatus read_mask(const RelnData *d, ptrdiff_t first, ptrdiff_t n, double *mask)
{
    if (d->found.mask >= 0)
        return reln_data_array(d, d->found.mask, first, n, mask);
    for (ptrdiff_t i = 0; i < n * d->work.places; i++)
        mask[i] = 1;
    for (ptrdiff_t i = 0; d->found.sizes >= 0 && i < n; i++) {
        double size = 0;

        RELN_TRY(reln_data_array(d, d->found.sizes, first + i, 1, &size));
        RELN_TRY(mask_of_size(d, first + i, size, mask + i * d->work.places));
    }
    return RELN_OK;
}

RelnStatus reln_data_read_mask(const RelnData *d, ptrdiff_t first, ptrdiff_t n, double *mask)
{
    RELN_TRY(read_mask(d, first, n, mask));
    for (ptrdiff_t i = 0; d->m->most > 0 && i < n; i++)
        keep_first(d->work.places, d->m->most, mask + i * d->work.places);
    return RELN_OK;
}

/* Each remaining point has the same probability of being chosen. */
RelnStatus reln_data_draw_points(RelnData *d, ptrdiff_t row, RelnRng *rng)
{
    double *mask = d->raw.mask;
    int left = 0, wanted = d->points[row];

    RELN_TRY(read_mask(d, row, 1, mask));
    for (int p = 0; p < d->work.places; p++)
        left += mask[p] != 0;
    for (int p = 0; p < d->work.places; p++)
        if (mask[p] != 0) {
            mask[p] = reln_rng_below(rng, (uint64_t)left--) < (uint64_t)wanted;
            wanted -= mask[p] != 0;
        }
    return RELN_OK;
}

RelnStatus reln_data_input(const RelnData *d, int input, ptrdiff_t first, ptrdiff_t n, double *out)
{
    const RelnSpecInput *in = &d->m->spec.input[input];

    for (ptrdiff_t i = 0; in->n_value > 0 && i < n; i++)
        memcpy(out + i * in->n_value, in->value, (size_t)in->n_value * sizeof *out);
    return in->n_value > 0 ? RELN_OK : reln_data_array(d, d->found.input[input], first, n, out);
}

RelnStatus reln_data_read(RelnData *d, ptrdiff_t first, ptrdiff_t n)
{
    for (int i = 0; i < d->m->spec.n_inputs; i++)
        RELN_TRY(reln_data_input(d, i, first, n, d->raw.input[i]));
    RELN_TRY(reln_data_read_mask(d, first, n, d->raw.mask));
    for (int t = 0; t < d->m->spec.n_targets; t++)
        RELN_TRY(reln_data_array(d, d->found.target[t], first, n, d->raw.target[t]));
    for (ptrdiff_t k = 0; reln_data_hides(d) && k < n * d->work.places; k++)
        d->raw.weights[k] =
            1; /* until points are hidden, as in the pass that finds the constants */
    return reln_data_array(d, d->found.weights, first, n, d->raw.weights);
}

/* Reads a whole piece at a time. */
RelnStatus reln_data_walk(RelnData *d, ptrdiff_t first, ptrdiff_t end, Visit *visit, void *self)
{
    reln_data_settle(d);
    for (; first < end; first += d->piece) {
        const ptrdiff_t n = end - first < d->piece ? end - first : d->piece;

        RELN_TRY(reln_data_read(d, first, n));
        for (ptrdiff_t i = 0; i < n; i++)
            RELN_TRY(visit(d, first + i, i, self));
    }
    return RELN_OK;
}

/* ---- checking --------------------------------------------------------------------------------------------------------- */

/* Returns the largest number allowed: the square or the inverse of a larger one overflows in the dtype of the
 * model, so that its scale could not be divided out. */
static double most(const RelnData *d)
{
    return d->item == sizeof(float) ? 1e37 : 1e150;
}

static RelnStatus check_numbers(const RelnData *d, const char *name, ptrdiff_t row, ptrdiff_t count,
                                const double *x)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        if (!isfinite(x[i]))
            return reln_fail(d->ctx, RELN_ERR_FORMAT,
                             "%s: row %td has a number that is %s; finite ones were wanted", name,
                             row, isnan(x[i]) ? "not a number" : "infinite");
        if (fabs(x[i]) > most(d))
            return reln_fail(d->ctx, RELN_ERR_FORMAT,
                             "%s: row %td has %.3g; numbers up to %g were wanted, for dtype %s",
                             name, row, x[i], most(d), d->item == sizeof(float) ? "f32" : "f64");
    }
    return RELN_OK;
}

/* Checks the numbers at one point of an input. */
static RelnStatus check_point(const RelnData *d, int input, ptrdiff_t row, const double *x)
{
    const RelnSpecInput *in = &d->m->spec.input[input];
    const InputKind *kind = reln_input_kind(in->as);
    const RelnInputShape *shape = &d->m->shapes.input[input];

    RELN_TRY(check_numbers(d, in->name, row, (ptrdiff_t)shape->channels * shape->size, x));
    for (int c = 0; kind->check && c < shape->channels; c++)
        RELN_TRY(kind->check(d->ctx, d->m->n, in->name, row, x + (ptrdiff_t)c * shape->size));
    return RELN_OK;
}

static RelnStatus check_input(const RelnData *d, int input, ptrdiff_t row, const double *x,
                              const double *mask)
{
    const RelnInputShape *shape = &d->m->shapes.input[input];
    const ptrdiff_t step = (ptrdiff_t)shape->channels * shape->size;
    Items items = reln_lift_items(d->m, &d->work, input, mask);

    for (int p; reln_items_next(&items, &p);)
        RELN_TRY(check_point(d, input, row, x + p * step));
    if (strcmp(d->m->spec.input[input].name, d->m->spec.sequence.time) == 0 && step == 1 &&
        !d->options.windows)
        return reln_sequence_check_times(d->ctx, d->m->spec.input[input].name, row, shape->points,
                                         x);
    return RELN_OK;
}

static RelnStatus check_mask(const RelnData *d, ptrdiff_t row, const double *mask)
{
    const char *name = reln_model_mask(d->m);
    int count = 0;

    for (int p = 0; p < d->work.places; p++) {
        if (mask[p] != 0 && mask[p] != 1)
            return reln_fail(d->ctx, RELN_ERR_FORMAT,
                             "%s: row %td has %g; a mask of 0 and 1 was "
                             "wanted",
                             name, row, mask[p]);
        count += mask[p] != 0;
    }
    if (count == 0)
        return reln_fail(d->ctx, RELN_ERR_FORMAT,
                         "%s: row %td has no point; at least one was wanted", name, row);
    d->points[row] = count;
    return RELN_OK;
}

/* Check the numbers of a target at one place. */
static RelnStatus check_place(const RelnData *d, int target, ptrdiff_t row, const double *t)
{
    const RelnSpecTarget *spec = &d->m->spec.target[target];
    const InputKind *kind = reln_input_kind(reln_target_kind(spec->as)->as);
    const int size = reln_model_target_size(d->m, target);

    RELN_TRY(check_numbers(d, spec->name, row, d->layout.target[target].truth, t));
    for (int c = 0; kind->check && c < d->m->shapes.target_channels[target]; c++)
        RELN_TRY(kind->check(d->ctx, d->m->n, spec->name, row, t + (ptrdiff_t)c * size));
    if (spec->as != RELN_TARGET_CLASS || (t[0] == floor(t[0]) && t[0] >= 0 && t[0] < spec->classes))
        return RELN_OK;
    return reln_fail(d->ctx, RELN_ERR_FORMAT,
                     "%s: row %td is %g; a class, a whole number from 0 to %d, was wanted",
                     spec->name, row, t[0], spec->classes - 1);
}

const double *reln_data_mask_of(const RelnData *d, ptrdiff_t i)
{
    return d->m->ragged ? d->raw.mask + i * d->work.places : NULL;
}

static RelnStatus check_target(const RelnData *d, int target, ptrdiff_t row, ptrdiff_t i)
{
    const RelnTargetLayout *l = &d->layout.target[target];
    const double *t = d->raw.target[target] + i * reln_data_target_count(d, target);
    Items items = reln_data_walk_items(d, target, row, reln_data_mask_of(d, i));

    for (int p; reln_items_next(&items, &p);)
        RELN_TRY(check_place(d, target, row, t + p * l->truth));
    return RELN_OK;
}

Items reln_data_walk_weights(const RelnData *d, ptrdiff_t row, ptrdiff_t i)
{
    return d->found.weights_of == RELN_ITEMS_SAMPLES
               ? (Items){.end = 1}
               : reln_data_walk_items(d, 0, row, reln_data_mask_of(d, i));
}

/* Weights are finite and not negative where an item is. */
static RelnStatus check_weights(const RelnData *d, ptrdiff_t row, ptrdiff_t i)
{
    const double *w = d->raw.weights + i * reln_data_weight_count(d);
    Items items = reln_data_walk_weights(d, row, i);

    for (int p; d->found.weighted && reln_items_next(&items, &p);)
        if (!(w[p] >= 0 && w[p] <= most(d)))
            return reln_fail(d->ctx, RELN_ERR_FORMAT,
                             "%s: row %td is %g; a weight, a finite number from 0 on, was wanted",
                             d->m->spec.weights, row, w[p]);
    return RELN_OK;
}

RelnStatus reln_data_check(RelnData *d, ptrdiff_t row, ptrdiff_t i)
{
    reln_data_go_to_edges(d, row);
    for (int in = 0; in < d->m->spec.n_inputs; in++)
        RELN_TRY(check_input(d, in, row, d->raw.input[in] + i * reln_data_numbers(d, in),
                             reln_data_mask_of(d, i)));
    for (int t = 0; t < d->m->spec.n_targets; t++)
        if (d->found.target[t] >= 0)
            RELN_TRY(check_target(d, t, row, i));
    return check_weights(d, row, i);
}

/* Counts the points of rows first .. end-1. */
static RelnStatus count_some(RelnData *d, ptrdiff_t first, ptrdiff_t end)
{
    for (; first < end; first += d->piece) {
        const ptrdiff_t n = end - first < d->piece ? end - first : d->piece;

        RELN_TRY(reln_data_read_mask(d, first, n, d->raw.mask));
        for (ptrdiff_t i = 0; i < n; i++)
            RELN_TRY(check_mask(d, first + i, reln_data_mask_of(d, i)));
    }
    return RELN_OK;
}

/* Each rank counts a part of the rows; the counts are collected on all ranks. */
RelnStatus reln_data_count_points(RelnData *d)
{
    const ptrdiff_t count = d->found.count;
    const RelnComm *comm = d->options.comm;
    const int rank = reln_comm_rank(comm), size = reln_comm_size(comm);
    size_t *begin;

    if (!d->m->ragged)
        return RELN_OK;
    d->points = reln_arena_alloc(&d->arena, (size_t)count, sizeof *d->points);
    d->first = reln_arena_alloc(&d->arena, (size_t)count + 1, sizeof *d->first);
    begin = reln_arena_alloc(&d->arena, (size_t)size + 1, sizeof *begin);
    if (!d->points || !d->first || !begin)
        return RELN_ERR_NOMEM;
    for (int r = 0; r <= size; r++)
        begin[r] = (size_t)reln_comm_part(comm, count, r) * sizeof *d->points;
    RELN_TRY(reln_comm_agree(
        comm, d->ctx,
        count_some(d, reln_comm_part(comm, count, rank), reln_comm_part(comm, count, rank + 1))));
    RELN_TRY(reln_comm_gather(comm, d->ctx, d->points, begin));
    for (ptrdiff_t i = 0; i < count; i++)
        d->first[i + 1] = d->first[i] + d->points[i];
    return RELN_OK;
}

/* ---- lifting ---------------------------------------------------------------------------------------------------------- */

static RelnStatus allocate_lifted(RelnData *d)
{
    for (int s = 0; s < SLOT_COUNT; s++) {
        const Slot *slot = &d->m->slots[s];
        const ptrdiff_t count = (ptrdiff_t)slot->k * slot->c * reln_work_places(&d->work, slot->of);

        d->lifted[s] = reln_arena_alloc(&d->arena, (size_t)count + 1, sizeof(double));
        if (!d->lifted[s])
            return RELN_ERR_NOMEM;
    }
    return RELN_OK;
}

static void pointers(const RelnData *d, ptrdiff_t i, const double **out)
{
    for (int in = 0; in < d->m->spec.n_inputs; in++)
        out[in] = d->raw.input[in] + i * reln_data_numbers(d, in);
}

RelnStatus reln_data_lift(RelnData *d, ptrdiff_t row, ptrdiff_t i)
{
    const double *raw[RELN_SPEC_INPUTS] = {0};

    pointers(d, i, raw);
    reln_data_go_to_edges(d, row);
    return reln_model_lift(d->m, &d->work, row, raw, reln_data_mask_of(d, i), d->lifted);
}

RelnStatus reln_data_make_rows(RelnData *d, int places)
{
    RELN_TRY(reln_lift_work_init(d->m, places, d->found.edge_places, &d->arena, &d->work));
    d->layout = reln_model_layout_at(d->m, places, d->found.edge_places);
    RELN_TRY(allocate_raw(d));
    return allocate_lifted(d);
}
