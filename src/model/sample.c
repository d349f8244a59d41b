/* sample.c -- lifts the raw numbers of one sample into features. */
#include <string.h>

#include "model/model.h"
#include "reln/lift.h"
#include "tensor/linalg.h"

/* ---- room --------------------------------------------------------------------------------------------------------- */

/* Returns the largest number of numbers that `prepare` makes of one point of an input. */
static size_t most_prepared(const RelnModel *m)
{
    size_t most = 1;

    for (int i = 0; i < m->spec.n_inputs; i++) {
        const Lift *lift = &m->lift[i];
        const size_t count = (size_t)lift->channels * (size_t)lift->size;

        most = lift->prepare && count > most ? count : most;
    }
    return most;
}

/* Returns the numbers of an input at one point. */
static ptrdiff_t at_point(const RelnModel *m, int input)
{
    return (ptrdiff_t)m->shapes.input[input].channels * m->shapes.input[input].size;
}

static ptrdiff_t count_covariances(const RelnModel *m, const LiftWork *w)
{
    ptrdiff_t count = 0;

    for (int i = 0; i < m->spec.n_inputs; i++)
        if (m->spec.input[i].as == RELN_AS_COVARIANCE)
            count += reln_lift_places(m, w, i) * at_point(m, i);
    return count;
}

RelnStatus reln_lift_work_init(const RelnModel *m, int places, int edge_places, RelnArena *arena,
                               LiftWork *w)
{
    const size_t n2 = (size_t)m->n * (size_t)m->n;

    w->places = places;
    w->edge_places = edge_places;
    w->block = reln_arena_alloc(arena, most_prepared(m), sizeof *w->block);
    w->coordinates = reln_arena_alloc(arena, m->algebra ? (size_t)reln_algebra_dim(m->algebra) : 1,
                                      sizeof *w->coordinates);
    w->covariances =
        reln_arena_alloc(arena, (size_t)count_covariances(m, w) + 1, sizeof *w->covariances);
    w->sbar = reln_arena_alloc(arena, n2, sizeof *w->sbar);
    return w->block && w->coordinates && w->covariances && w->sbar ? RELN_OK : RELN_ERR_NOMEM;
}

/* ---- items -------------------------------------------------------------------------------------------------------- */

Items reln_lift_items(const RelnModel *m, const LiftWork *w, int input, const double *mask)
{
    switch (reln_input_items(&m->spec.input[input])) {
    case RELN_ITEMS_EDGES:
        return (Items){.place = w->edge, .end = w->n_edges};
    case RELN_ITEMS_POINTS:
        return (Items){.mask = mask, .end = w->places};
    case RELN_ITEMS_SAMPLES:
        break;
    }
    return (Items){.end = 1};
}

bool reln_items_next(Items *items, int *place)
{
    while (items->mask && items->at < items->end && items->mask[items->at] == 0)
        items->at++;
    if (items->at == items->end)
        return false;
    *place = items->place ? items->place[items->at] : items->at;
    items->at++;
    return true;
}

/* ---- lifting ------------------------------------------------------------------------------------------------------ */

/* Computes the mean of all covariances of the sample. */
static RelnStatus reference(const RelnModel *m, const LiftWork *w, ptrdiff_t row,
                            const double *const *raw, const double *mask)
{
    const ptrdiff_t n2 = (ptrdiff_t)m->n * m->n;
    ptrdiff_t used = 0;

    for (int i = 0; i < m->spec.n_inputs; i++) {
        Items items = reln_lift_items(m, w, i, mask);

        for (int p; m->spec.input[i].as == RELN_AS_COVARIANCE && reln_items_next(&items, &p);) {
            memcpy(w->covariances + used, raw[i] + p * at_point(m, i),
                   (size_t)at_point(m, i) * sizeof *w->covariances);
            used += at_point(m, i);
        }
    }
    if (used == 0) /* covariances of edges, and the sample has no edge */
        return reln_fail(m->ctx, RELN_ERR_FORMAT,
                         "row %td has no covariance to compare with (reference: mean); wanted one",
                         row);
    return reln_reference_mean(m->ctx, m->n, used / n2, w->covariances, 0, NULL, w->sbar);
}

/* y = matrix x, into channel c of an item (K, C). */
static void put(const RelnModel *m, const Lift *lift, const double *x, double *item, int c)
{
    const int width = m->slots[lift->slot].c, k = m->slots[lift->slot].k;

    for (int i = 0; i < k; i++) {
        double sum = 0;

        for (int j = 0; j < lift->size; j++)
            sum += lift->matrix[(ptrdiff_t)i * lift->size + j] * x[j];
        item[(ptrdiff_t)i * width + c] = sum;
    }
}

/* Prepares the values of one point for the linear map; returns x itself if the lift has no prepare
 * function. */
static RelnStatus prepare(const RelnModel *m, const LiftWork *w, int input, const double *x,
                          const double **out)
{
    const Lift *lift = &m->lift[input];

    *out = lift->prepare ? w->block : x;
    return lift->prepare ? lift->prepare(m, w, m->shapes.input[input].channels, x, w->block)
                         : RELN_OK;
}

/* Fails for a matrix that is not in the features. */
static RelnStatus look_inside(const RelnModel *m, const LiftWork *w, int input, ptrdiff_t row,
                              const double *x)
{
    double distance;

    if (reln_algebra_n(m->algebra) != m->n)
        return reln_fail(m->ctx, RELN_ERR_SHAPE, "%s: features %s do not hold %d x %d matrices",
                         m->spec.input[input].name, reln_algebra_name(m->algebra), m->n, m->n);
    distance = reln_algebra_vee(m->algebra, x, w->coordinates);
    if (distance <= 1e-5)
        return RELN_OK;
    return reln_fail(m->ctx, RELN_ERR_SHAPE,
                     "%s: row %td is not in %s (distance %.2g of its size); an element of the "
                     "features was wanted",
                     m->spec.input[input].name, row, reln_algebra_name(m->algebra), distance);
}

static RelnStatus put_point(const RelnModel *m, const LiftWork *w, int input, ptrdiff_t row,
                            const double *raw, double *item)
{
    const Lift *lift = &m->lift[input];
    const double *x;

    RELN_TRY(prepare(m, w, input, raw, &x));
    for (int c = 0; c < lift->channels; c++)
        if (!lift->matrix) {
            item[lift->first + c] = x[c];
        } else {
            if (lift->inside)
                RELN_TRY(look_inside(m, w, input, row, x + (ptrdiff_t)c * lift->size));
            put(m, lift, x + (ptrdiff_t)c * lift->size, item, lift->first + c);
        }
    return RELN_OK;
}

/* Copies unchanged vectors, (n, C), of each step of a sequence. */
static void put_vectors(const RelnModel *m, const LiftWork *w, int input, const double *raw,
                        double *const *out)
{
    const SlotId slot = m->spec.input[input].sequence ? SLOT_V_POINTS : SLOT_V;
    const int width = m->slots[slot].c, first = m->lift[input].vectors;
    double *item = out[slot];

    for (int p = 0; p < reln_lift_places(m, w, input);
         p++, item += m->n * width, raw += at_point(m, input))
        for (int c = 0; c < m->shapes.input[input].channels; c++)
            for (int i = 0; i < m->n; i++)
                item[i * width + first + c] = raw[c * m->n + i];
}

/* Copies every number to its place for an mlp, with zeros for missing points. */
static RelnStatus put_flat(const RelnModel *m, const LiftWork *w, int input, const double *raw,
                           const double *mask, double *item)
{
    const Lift *lift = &m->lift[input];
    const ptrdiff_t count = lift->channels / reln_lift_places(m, w, input);
    double *out = item + lift->first;

    for (int p = 0; p < reln_lift_places(m, w, input); p++, out += count) {
        const double *x;

        if (!m->spec.input[input].points || !mask || mask[p] != 0) {
            RELN_TRY(prepare(m, w, input, raw + p * at_point(m, input), &x));
            memcpy(out, x, (size_t)count * sizeof *out);
        } else {
            memset(out, 0, (size_t)count * sizeof *out);
        }
    }
    return RELN_OK;
}

static RelnStatus lift_input(const RelnModel *m, const LiftWork *w, int input, ptrdiff_t row,
                             const double *raw, const double *mask, double *const *out)
{
    const Lift *lift = &m->lift[input];
    const Slot *slot = &m->slots[lift->slot];
    Items items = reln_lift_items(m, w, input, mask);
    double *item = out[lift->slot];

    if (lift->slot == SLOT_FLAT)
        return put_flat(m, w, input, raw, mask, item);
    for (int p; reln_items_next(&items, &p); item += (ptrdiff_t)slot->k * slot->c)
        RELN_TRY(put_point(m, w, input, row, raw + p * at_point(m, input), item));
    if (lift->vectors >= 0)
        put_vectors(m, w, input, raw, out);
    return RELN_OK;
}

RelnStatus reln_model_lift(const RelnModel *m, const LiftWork *w, ptrdiff_t row,
                           const double *const *raw, const double *mask, double *const *out)
{
    if (m->relative)
        RELN_TRY(reference(m, w, row, raw, mask));
    for (int i = 0; i < m->spec.n_inputs; i++)
        RELN_TRY(lift_input(m, w, i, row, raw[i], mask, out));
    if (m->slots[SLOT_REFERENCE].c == 0)
        return RELN_OK;
    memcpy(out[SLOT_REFERENCE], w->sbar, (size_t)(m->n * m->n) * sizeof *w->sbar);
    return reln_inverse(m->ctx, m->n, w->sbar, out[SLOT_PRECISION]);
}
