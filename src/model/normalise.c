/* normalise.c -- divides rows into validation and training, and computes the model's constants on the
 * training rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kit/comm.h"
#include "model/data.h"

#define UNITS                                                                                      \
    100.0 /* inputs that differ from training by this factor are probably in other units */
enum { LOOKED = 256 }; /* samples that are compared with the training data */

/* ---- splitting ---------------------------------------------------------------------------------------------------------- */

RelnStatus reln_data_split(RelnCtx *ctx, ptrdiff_t count, double share, uint64_t seed,
                           ptrdiff_t *rows, ptrdiff_t *n_validation)
{
    ptrdiff_t n = (ptrdiff_t)floor(share * (double)count + 0.5), at = 0, rest;
    bool *chosen;

    if (share > 0 && count < 2)
        return reln_fail(ctx, RELN_ERR_ARG, "%td samples; wanted at least 2, one for validation",
                         count);
    n = share <= 0 ? 0 : n < 1 ? 1 : n > count - 1 ? count - 1 : n;
    chosen = reln_alloc(ctx, (size_t)count, sizeof *chosen);
    if (!chosen)
        return RELN_ERR_NOMEM;
    reln_shuffle(seed, UINT64_MAX, count, 0, n, rows);
    for (ptrdiff_t i = 0; i < n; i++)
        chosen[rows[i]] = true;
    rest = n;
    for (ptrdiff_t i = 0; i < count; i++)
        rows[chosen[i] ? at++ : rest++] = i;
    reln_free(ctx, chosen);
    *n_validation = n;
    return RELN_OK;
}

/* ---- sums --------------------------------------------------------------------------------------------------------------- */

static void moments_add(Moments *m, double x)
{
    const double off = x - m->mean;

    m->count += 1;
    m->mean += off / m->count;
    m->square += off * (x - m->mean);
}

/* The moments of both together. Means are subtracted before they are squared, so that a column far from 0 loses no
 * digits. */
static void moments_join(Moments *m, const Moments *next)
{
    const double all = m->count + next->count, off = next->mean - m->mean;

    if (next->count == 0)
        return;
    m->square += next->square + off * off * m->count * next->count / all;
    m->mean += off * next->count / all;
    m->count = all;
}

/* Adds the squares of an input's channels in its slot; of scalars also the moments of each column. */
static void add_input(const RelnData *d, int input, Extent size, Sums *sums)
{
    const Lift *lift = &d->m->lift[input];
    const Slot *slot = &d->m->slots[lift->slot];
    const ptrdiff_t items = reln_extent_of(size, slot->of) * slot->k;
    int first;
    const int columns = reln_model_columns(d->m, input, &first);

    for (ptrdiff_t i = 0; i < items; i++)
        for (int c = 0; c < lift->channels; c++) {
            const double x = d->lifted[lift->slot][i * slot->c + lift->first + c];

            sums->square[input] += x * x;
            if (c < columns)
                moments_add(&sums->column[first + c], x);
        }
    sums->numbers[input] += (double)(items * lift->channels);
}

/* Add the numbers of a target at all places that are there. */
static RelnStatus add_target(const RelnData *d, int target, ptrdiff_t row, ptrdiff_t i, Sums *sums)
{
    const RelnTargetLayout *l = &d->layout.target[target];
    const double *t = d->raw.target[target] + i * reln_data_target_count(d, target);
    const double *w = d->raw.weights + i * reln_data_weight_count(d);
    Items items = reln_data_walk_items(d, target, row, reln_data_mask_of(d, i));

    for (int p; reln_items_next(&items, &p);)
        RELN_TRY(reln_target_sums_add(d->m, &d->work, target, t + p * l->truth,
                                      reln_data_weight(d, w, p), &sums->target[target]));
    return RELN_OK;
}

RelnStatus reln_sums_add(const RelnData *d, ptrdiff_t row, ptrdiff_t i, Sums *sums)
{
    for (int in = 0; in < d->m->spec.n_inputs; in++)
        add_input(d, in, reln_data_extent(d, row), sums);
    sums->points += reln_data_points(d, row);
    sums->samples += 1;
    for (int t = 0; t < d->m->spec.n_targets; t++)
        if (d->found.target[t] >= 0)
            RELN_TRY(add_target(d, t, row, i, sums));
    return RELN_OK;
}

/* Returns the root of a mean square; 1 if all numbers are 0. */
static double root(double square, double numbers)
{
    return square > 0 && numbers > 0 ? sqrt(square / numbers) : 1;
}

/* The centre and the width of a column. Where all values are equal up to rounding, the width is their size. */
static RelnColumn column_of(const Moments *m)
{
    const double size = fabs(m->mean), width = root(m->square, m->count);

    return (RelnColumn){m->mean, m->square > 0 && width > 1e-9 * size ? width
                                 : size > 0                           ? size
                                                                      : 1};
}

RelnStatus reln_sums_finish(const RelnData *d, const Sums *s)
{
    for (int t = 0; t < d->m->spec.n_targets; t++)
        if (d->found.weights < 0 && d->m->spec.target[t].edges && d->found.target[t] >= 0 &&
            !(s->target[t].numbers > 0))
            return reln_fail(d->ctx, RELN_ERR_FORMAT,
                             "target %s: no sample of training has an edge; wanted one",
                             d->m->spec.target[t].name);
    for (int t = 0; t < d->m->spec.n_targets; t++)
        if (d->found.weights >= 0 && !(s->target[t].numbers > 0))
            return reln_fail(d->ctx, RELN_ERR_FORMAT,
                             "%s: no sample of training has a weight above 0; wanted one",
                             d->m->spec.weights);
    for (int i = 0; i < d->m->spec.n_inputs; i++)
        d->m->constants.scale[i] = root(s->square[i], s->numbers[i]);
    for (int c = 0; c < RELN_SCALAR_COLUMNS; c++)
        d->m->constants.column[c] = column_of(&s->column[c]);
    if (s->points > 0)
        d->m->constants.points = s->points / s->samples;
    for (int t = 0; t < d->m->spec.n_targets; t++)
        reln_target_sums_finish(d->m, t, &s->target[t]);
    return RELN_OK;
}

void reln_sums_join(Sums *sums, const Sums *next)
{
    for (int i = 0; i < RELN_SPEC_INPUTS; i++) {
        sums->square[i] += next->square[i];
        sums->numbers[i] += next->numbers[i];
    }
    for (int c = 0; c < RELN_SCALAR_COLUMNS; c++)
        moments_join(&sums->column[c], &next->column[c]);
    for (int t = 0; t < RELN_SPEC_TARGETS; t++) {
        sums->target[t].sum += next->target[t].sum;
        sums->target[t].square += next->target[t].square;
        sums->target[t].numbers += next->target[t].numbers;
        for (int c = 0; c < RELN_SPEC_WEIGHTS; c++)
            sums->target[t].members[c] += next->target[t].members[c];
    }
    sums->points += next->points;
    sums->samples += next->samples;
}

/* ---- rows that count ---------------------------------------------------------------------------------------------------- */

bool reln_counts(const Counted *c, ptrdiff_t row)
{
    return row >= c->n_items * c->block || c->items[row / c->block];
}

static RelnStatus mark(const RelnData *d, ptrdiff_t n_items, ptrdiff_t block, ptrdiff_t n,
                       const ptrdiff_t *items, Counted *out)
{
    *out = (Counted){reln_alloc(d->ctx, (size_t)n_items, sizeof *out->items), n_items, block};
    for (ptrdiff_t i = 0; out->items && i < n; i++)
        out->items[items[i]] = true;
    return out->items ? RELN_OK : RELN_ERR_NOMEM;
}

RelnStatus reln_count_training(RelnData *d, Counted *out)
{
    RelnParting parting;
    RelnStatus status = reln_parting_make(d, &d->options.fold, d->options.validation,
                                          d->options.seed, d->options.blocks, &parting);
    const ptrdiff_t first = status == RELN_OK ? parting.n_validation / parting.block : 0;

    *out = (Counted){0};
    if (status == RELN_OK)
        status = mark(d, d->found.count / parting.block, parting.block, parting.n_items - first,
                      parting.items + first, out);
    reln_parting_clear(d->ctx, &parting);
    return status;
}

/* ---- the pass ----------------------------------------------------------------------------------------------------------- */

/* Ranges of a fixed length have separate sums, which are added in order: the bits do not depend on which rank
 * has read which range. */
enum { STRETCH = 1 << 16 };

static RelnStatus walk_stretches(RelnData *d, ptrdiff_t first, ptrdiff_t end, Visit *visit,
                                 Pass *pass, Sums *each)
{
    for (ptrdiff_t s = first; s < end; s++) {
        const ptrdiff_t begin = s * STRETCH, left = d->found.count - begin;

        pass->sums = each ? &each[s] : NULL;
        RELN_TRY(reln_data_walk(d, begin, begin + (left < STRETCH ? left : STRETCH), visit, pass));
    }
    return RELN_OK;
}

/* Collects the sums of all ranges on every rank. */
static RelnStatus share_sums(const RelnComm *comm, RelnCtx *ctx, RelnStatus status, ptrdiff_t n,
                             Sums *each, size_t *begin)
{
    RELN_TRY(reln_comm_agree(comm, ctx, status));
    for (int r = 0; r <= reln_comm_size(comm); r++)
        begin[r] = (size_t)reln_comm_part(comm, n, r) * sizeof *each;
    return reln_comm_gather(comm, ctx, each, begin);
}

RelnStatus reln_data_pass(RelnData *d, const Counted *counted, bool share, Visit *visit)
{
    const RelnComm *comm = share ? d->options.comm : NULL;
    const int rank = reln_comm_rank(comm);
    const ptrdiff_t n = (d->found.count + STRETCH - 1) / STRETCH;
    Pass pass = {.counted = counted};
    Sums *each = reln_alloc(d->ctx, counted ? (size_t)n : 0, sizeof *each);
    size_t *begin = reln_alloc(d->ctx, (size_t)reln_comm_size(comm) + 1, sizeof *begin);
    RelnStatus status = each && begin ? RELN_OK : RELN_ERR_NOMEM;

    if (status == RELN_OK)
        status = walk_stretches(d, reln_comm_part(comm, n, rank), reln_comm_part(comm, n, rank + 1),
                                visit, &pass, counted ? each : NULL);
    if (counted)
        status = share_sums(comm, d->ctx, status, n, each, begin);
    for (ptrdiff_t s = 1; counted && status == RELN_OK && s < n; s++)
        reln_sums_join(&each[0], &each[s]);
    if (counted && status == RELN_OK)
        status = reln_sums_finish(d, &each[0]);
    reln_free(d->ctx, begin);
    reln_free(d->ctx, each);
    return status;
}

static RelnStatus visit_add(RelnData *d, ptrdiff_t row, ptrdiff_t i, void *self)
{
    const Pass *pass = self;

    if (!reln_counts(pass->counted, row))
        return RELN_OK;
    RELN_TRY(reln_data_lift(d, row, i));
    return reln_sums_add(d, row, i, pass->sums);
}

/* ---- units --------------------------------------------------------------------------------------------------------------- */

/* Writes a note if an input is so large or small that it is probably in other units. */
static void compare(const RelnData *d, int input, double size)
{
    const double factor = size / d->m->constants.scale[input];

    if (d->m->note[0] || (factor < UNITS && factor > 1 / UNITS))
        return;
    snprintf(d->m->note, sizeof d->m->note,
             "%s: its numbers are about %.2g times those of training; are they in the same units?",
             d->m->spec.input[input].name, factor);
}

RelnStatus reln_data_compare(RelnData *d)
{
    const ptrdiff_t count = d->found.count, looked = count < LOOKED ? count : LOOKED;
    Sums sums = {0};

    d->m->note[0] = '\0';
    reln_data_settle(d);
    for (ptrdiff_t i = 0; i < looked; i++) {
        const ptrdiff_t row = i * count / looked;

        RELN_TRY(reln_data_read(d, row, 1));
        RELN_TRY(reln_data_lift(d, row, 0));
        for (int in = 0; in < d->m->spec.n_inputs; in++)
            add_input(d, in, reln_data_extent(d, row), &sums);
    }
    for (int in = 0; in < d->m->spec.n_inputs; in++)
        if (sums.square[in] > 0)
            compare(d, in, root(sums.square[in], sums.numbers[in]));
    return RELN_OK;
}

RelnStatus reln_data_normalise(RelnData *d, ptrdiff_t n, const ptrdiff_t *rows)
{
    Counted counted;
    RelnStatus status = mark(d, d->found.count, 1, n, rows, &counted);

    if (status == RELN_OK)
        status = reln_data_pass(d, &counted, false, visit_add);
    reln_free(d->ctx, counted.items);
    return status;
}
