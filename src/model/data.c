/* data.c -- data of a model: checked once, lifted once or batch by batch, bound to plans. */
#include "model/data.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "graph/plan.h"
#include "model/model.h"
#include "tensor/linalg.h"

/* Raw numbers of some rows, as files have them. */
typedef struct Raw {
    double *input[RELN_SPEC_INPUTS];
    double *mask, *target;
} Raw;

/* Lifted numbers, in the dtype of the model; of sets only the points that are there. */
typedef struct Lifted {
    char *slot[SLOT_COUNT];
    char *target; /* (K, C) of an item; i32 for classes */
    int32_t *points;
} Lifted;

struct RelnData {
    RelnCtx *ctx;
    RelnModel *m;
    RelnArena arena;
    RelnDataSource source;
    RelnDataFound found;
    RelnDataOptions options;
    size_t item; /* bytes of a number */
    ptrdiff_t piece;
    Raw raw; /* `piece` rows */
    LiftWork work;
    double *lifted[SLOT_COUNT]; /* one sample */
    int32_t *points;            /* of every row; NULL without a mask */
    ptrdiff_t *first;           /* of every row: points before it */
    bool resident;
    Lifted all, batch;
    ptrdiff_t room; /* samples of the batch */
    double *metric; /* the identity, for errors without a length of their own */
    size_t metric_count;
};

/* ---- extents --------------------------------------------------------------------------------------------------------- */

static ptrdiff_t input_count(const RelnData *d, int i)
{
    return reln_input_count(&d->m->shapes.input[i]);
}

/* Numbers of a target as the file has it: a class is one. */
static ptrdiff_t target_count(const RelnData *d)
{
    return d->m->spec.target.as == RELN_TARGET_CLASS ? 1 : reln_model_outputs(d->m);
}

static ptrdiff_t row_count(const RelnData *d)
{
    ptrdiff_t count = target_count(d) + d->m->points;

    for (int i = 0; i < d->m->spec.n_inputs; i++)
        count += input_count(d, i);
    return count;
}

static bool in_rows(const RelnData *d, int id)
{
    return d->m->masked && d->m->slots[id].by_point;
}

/* Numbers of a slot for one sample, or one point where only those that are there are kept. */
static ptrdiff_t slot_count(const RelnData *d, int id)
{
    const Slot *s = &d->m->slots[id];

    return in_rows(d, id) ? (ptrdiff_t)s->k * s->c : s->count;
}

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

static RelnStatus allocate_raw(RelnData *d)
{
    const ptrdiff_t fit = ((ptrdiff_t)1 << 19) / row_count(d);

    d->piece = fit < 1 ? 1 : fit > 4096 ? 4096 : fit;
    for (int i = 0; i < d->m->spec.n_inputs; i++) {
        d->raw.input[i] =
            reln_arena_alloc(&d->arena, (size_t)(d->piece * input_count(d, i)), sizeof(double));
        if (!d->raw.input[i])
            return RELN_ERR_NOMEM;
    }
    d->raw.mask =
        reln_arena_alloc(&d->arena, (size_t)(d->piece * d->m->points) + 1, sizeof(double));
    d->raw.target =
        reln_arena_alloc(&d->arena, (size_t)(d->piece * target_count(d)), sizeof(double));
    return d->raw.mask && d->raw.target ? RELN_OK : RELN_ERR_NOMEM;
}

static RelnStatus read_array(const RelnData *d, int array, ptrdiff_t first, ptrdiff_t n,
                             double *out)
{
    return array < 0 ? RELN_OK : d->source.read(d->source.self, array, first, n, out);
}

/* Rows first .. first+n-1, at most a piece. */
static RelnStatus read_rows(RelnData *d, ptrdiff_t first, ptrdiff_t n)
{
    for (int i = 0; i < d->m->spec.n_inputs; i++)
        RELN_TRY(read_array(d, d->found.input[i], first, n, d->raw.input[i]));
    RELN_TRY(read_array(d, d->found.mask, first, n, d->raw.mask));
    return read_array(d, d->found.target, first, n, d->raw.target);
}

/* ---- checking --------------------------------------------------------------------------------------------------------- */

static RelnStatus check_finite(const RelnData *d, const char *name, ptrdiff_t row, ptrdiff_t count,
                               const double *x)
{
    for (ptrdiff_t i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return reln_fail(d->ctx, RELN_ERR_FORMAT,
                             "%s: row %td has a number that is %s; finite "
                             "ones were wanted",
                             name, row, isnan(x[i]) ? "not a number" : "infinite");
    return RELN_OK;
}

static double asymmetry(int n, const double *s)
{
    double off = 0;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            off += 2 * (s[i * n + j] - s[j * n + i]) * (s[i * n + j] - s[j * n + i]) / 4;
    return sqrt(off);
}

static RelnStatus check_covariance(const RelnData *d, const char *name, ptrdiff_t row,
                                   const double *s)
{
    const int n = d->m->n;
    double w[RELN_ALGEBRA_MAX_N];
    const double off = asymmetry(n, s), norm = reln_mat_norm((ptrdiff_t)n * n, s);

    if (off > 1e-5 * norm)
        return reln_fail(d->ctx, RELN_ERR_NUMERIC,
                         "%s: row %td is not symmetric (by %.2g of its size); a covariance was "
                         "wanted",
                         name, row, off / norm);
    RELN_TRY(reln_eigh(d->ctx, n, s, w, NULL));
    if (!(w[0] > 0))
        return reln_fail(d->ctx, RELN_ERR_NUMERIC,
                         "%s: row %td is not positive definite (smallest eigenvalue %.3g); a "
                         "covariance was wanted",
                         name, row, w[0]);
    return RELN_OK;
}

/* What is at one point of an input. */
static RelnStatus check_point(const RelnData *d, int input, ptrdiff_t row, const double *x)
{
    const RelnSpecInput *in = &d->m->spec.input[input];
    const RelnInputShape *shape = &d->m->shapes.input[input];

    RELN_TRY(check_finite(d, in->name, row, (ptrdiff_t)shape->channels * shape->size, x));
    for (int c = 0; in->as == RELN_AS_COVARIANCE && c < shape->channels; c++)
        RELN_TRY(check_covariance(d, in->name, row, x + (ptrdiff_t)c * shape->size));
    return RELN_OK;
}

static RelnStatus check_input(const RelnData *d, int input, ptrdiff_t row, const double *x,
                              const double *mask)
{
    const RelnInputShape *shape = &d->m->shapes.input[input];
    const ptrdiff_t step = (ptrdiff_t)shape->channels * shape->size;

    for (int p = 0; p < (shape->points ? shape->points : 1); p++)
        if (!shape->points || !mask || mask[p] != 0)
            RELN_TRY(check_point(d, input, row, x + p * step));
    return RELN_OK;
}

static RelnStatus check_mask(const RelnData *d, ptrdiff_t row, const double *mask)
{
    const char *name = reln_model_mask(d->m);
    int count = 0;

    for (int p = 0; p < d->m->points; p++) {
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

static RelnStatus check_target(const RelnData *d, ptrdiff_t row, const double *t)
{
    const RelnSpecTarget *spec = &d->m->spec.target;

    RELN_TRY(check_finite(d, spec->name, row, target_count(d), t));
    if (spec->as != RELN_TARGET_CLASS || (t[0] == floor(t[0]) && t[0] >= 0 && t[0] < spec->classes))
        return RELN_OK;
    return reln_fail(d->ctx, RELN_ERR_FORMAT,
                     "%s: row %td is %g; a class, a whole number from 0 to %d, was wanted",
                     spec->name, row, t[0], spec->classes - 1);
}

static const double *mask_of(const RelnData *d, ptrdiff_t i)
{
    return d->m->masked ? d->raw.mask + i * d->m->points : NULL;
}

static RelnStatus check_row(const RelnData *d, ptrdiff_t row, ptrdiff_t i)
{
    if (d->m->masked)
        RELN_TRY(check_mask(d, row, mask_of(d, i)));
    for (int in = 0; in < d->m->spec.n_inputs; in++)
        RELN_TRY(check_input(d, in, row, d->raw.input[in] + i * input_count(d, in), mask_of(d, i)));
    if (d->found.target >= 0)
        RELN_TRY(check_target(d, row, d->raw.target + i * target_count(d)));
    return RELN_OK;
}

/* Every row in turn, whole pieces at a time. */
typedef RelnStatus Visit(RelnData *d, ptrdiff_t row, ptrdiff_t i, void *self);

static RelnStatus walk(RelnData *d, Visit *visit, void *self)
{
    for (ptrdiff_t first = 0; first < d->found.count; first += d->piece) {
        const ptrdiff_t left = d->found.count - first, n = left < d->piece ? left : d->piece;

        RELN_TRY(read_rows(d, first, n));
        for (ptrdiff_t i = 0; i < n; i++)
            RELN_TRY(visit(d, first + i, i, self));
    }
    return RELN_OK;
}

static RelnStatus visit_check(RelnData *d, ptrdiff_t row, ptrdiff_t i, void *self)
{
    (void)self;
    return check_row(d, row, i);
}

/* ---- lifting ---------------------------------------------------------------------------------------------------------- */

static RelnStatus allocate_lifted(RelnData *d)
{
    RELN_TRY(reln_lift_work_init(d->m, &d->arena, &d->work));
    for (int s = 0; s < SLOT_COUNT; s++) {
        d->lifted[s] =
            reln_arena_alloc(&d->arena, (size_t)d->m->slots[s].count + 1, sizeof(double));
        if (!d->lifted[s])
            return RELN_ERR_NOMEM;
    }
    return RELN_OK;
}

/* Doubles as the dtype of the model. */
static void convert(const RelnData *d, ptrdiff_t count, const double *from, char *to)
{
    if (d->item == sizeof(double))
        memcpy(to, from, (size_t)count * sizeof *from);
    else
        for (ptrdiff_t i = 0; i < count; i++)
            ((float *)(void *)to)[i] = (float)from[i];
}

/* Where a sample's numbers begin, and how many there are: `sample` items or `rows` points before it. */
static ptrdiff_t slot_start(const RelnData *d, int id, ptrdiff_t sample, ptrdiff_t rows)
{
    return (in_rows(d, id) ? rows : sample) * slot_count(d, id);
}

static ptrdiff_t slot_length(const RelnData *d, int id, int points)
{
    return (in_rows(d, id) ? points : 1) * slot_count(d, id);
}

static void keep_slots(const RelnData *d, const Lifted *to, ptrdiff_t sample, ptrdiff_t rows,
                       int points)
{
    for (int s = 0; s < SLOT_COUNT; s++)
        if (d->m->slots[s].c)
            convert(d, slot_length(d, s, points), d->lifted[s],
                    to->slot[s] + (size_t)slot_start(d, s, sample, rows) * d->item);
}

/* (channels, size) of the file to (size, channels) of an item; an mlp keeps the order. */
static void keep_target(const RelnData *d, const double *t, char *to, ptrdiff_t sample)
{
    const ptrdiff_t count = target_count(d);
    const ptrdiff_t size = reln_model_is_mlp(d->m) ? 1 : reln_model_target_size(d->m);

    if (d->m->spec.target.as == RELN_TARGET_CLASS) {
        ((int32_t *)(void *)to)[sample] = (int32_t)t[0];
        return;
    }
    for (ptrdiff_t c = 0; c < count / size; c++)
        for (ptrdiff_t k = 0; k < size; k++)
            convert(d, 1, &t[c * size + k],
                    to + (size_t)(sample * count + k * (count / size) + c) * d->item);
}

static void pointers(const RelnData *d, ptrdiff_t i, const double **out)
{
    for (int in = 0; in < d->m->spec.n_inputs; in++)
        out[in] = d->raw.input[in] + i * input_count(d, in);
}

/* Row i of the piece, lifted into d->lifted. */
static RelnStatus lift_row(RelnData *d, ptrdiff_t row, ptrdiff_t i)
{
    const double *raw[RELN_SPEC_INPUTS] = {0};

    pointers(d, i, raw);
    return reln_model_lift(d->m, &d->work, row, raw, mask_of(d, i), d->lifted);
}

static RelnStatus visit_keep(RelnData *d, ptrdiff_t row, ptrdiff_t i, void *self)
{
    (void)self;
    RELN_TRY(lift_row(d, row, i));
    keep_slots(d, &d->all, row, d->m->masked ? d->first[row] : 0,
               d->m->masked ? d->points[row] : d->m->points);
    if (d->found.target >= 0)
        keep_target(d, d->raw.target + i * target_count(d), d->all.target, row);
    return RELN_OK;
}

/* ---- opening ---------------------------------------------------------------------------------------------------------- */

/* Bytes that samples take when lifted, with `rows` points in all. */
static double lifted_bytes(const RelnData *d, ptrdiff_t samples, ptrdiff_t rows)
{
    double numbers = (double)samples * (double)target_count(d);

    for (int s = 0; s < SLOT_COUNT; s++)
        numbers += (double)slot_start(d, s, samples, rows);
    return numbers * (double)d->item;
}

static RelnStatus allocate_samples(RelnData *d, ptrdiff_t samples, ptrdiff_t rows, Lifted *out)
{
    for (int s = 0; s < SLOT_COUNT; s++)
        if (d->m->slots[s].c) {
            out->slot[s] = reln_alloc(d->ctx, (size_t)slot_start(d, s, samples, rows), d->item);
            if (!out->slot[s])
                return RELN_ERR_NOMEM;
        }
    out->target = reln_alloc(d->ctx, (size_t)(samples * target_count(d)), d->item);
    out->points = reln_alloc(d->ctx, (size_t)samples, sizeof *out->points);
    return out->target && out->points ? RELN_OK : RELN_ERR_NOMEM;
}

static void free_samples(RelnData *d, Lifted *l)
{
    for (int s = 0; s < SLOT_COUNT; s++)
        reln_free(d->ctx, l->slot[s]);
    reln_free(d->ctx, l->target);
    reln_free(d->ctx, l->points);
    memset(l, 0, sizeof *l);
}

static RelnStatus allocate_points(RelnData *d)
{
    if (!d->m->masked)
        return RELN_OK;
    d->points = reln_arena_alloc(&d->arena, (size_t)d->found.count, sizeof *d->points);
    d->first = reln_arena_alloc(&d->arena, (size_t)d->found.count + 1, sizeof *d->first);
    return d->points && d->first ? RELN_OK : RELN_ERR_NOMEM;
}

static ptrdiff_t count_points(RelnData *d)
{
    for (ptrdiff_t row = 0; d->m->masked && row < d->found.count; row++)
        d->first[row + 1] = d->first[row] + d->points[row];
    return d->m->masked ? d->first[d->found.count] : 0;
}

static RelnStatus keep_all(RelnData *d)
{
    const size_t budget = d->options.budget ? d->options.budget : (size_t)1 << 30;
    const ptrdiff_t rows = count_points(d);

    if (d->options.augment > 0 || lifted_bytes(d, d->found.count, rows) > (double)budget)
        return RELN_OK;
    RELN_TRY(allocate_samples(d, d->found.count, rows, &d->all));
    RELN_TRY(walk(d, visit_keep, NULL));
    d->resident = true;
    return RELN_OK;
}

static RelnStatus check_like_model(const RelnData *d, const RelnShapes *shapes)
{
    const RelnSpec *spec = &d->m->spec;

    for (int i = 0; i < spec->n_inputs; i++)
        if (memcmp(&shapes->input[i], &d->m->shapes.input[i], sizeof shapes->input[i]) != 0)
            return reln_fail(
                d->ctx, RELN_ERR_SHAPE,
                "%s: %d points of %d channels; wanted %d and %d, as the model was made "
                "for",
                spec->input[i].name, shapes->input[i].points, shapes->input[i].channels,
                d->m->shapes.input[i].points, d->m->shapes.input[i].channels);
    if (d->found.target >= 0 && shapes->target_channels != d->m->shapes.target_channels)
        return reln_fail(d->ctx, RELN_ERR_SHAPE,
                         "%s: %d channels; wanted %d, as the model was made for", spec->target.name,
                         shapes->target_channels, d->m->shapes.target_channels);
    return RELN_OK;
}

/* Points of a file may be fewer than the model's without a mask only if they are as many. */
static RelnStatus find(RelnData *d)
{
    RelnShapes shapes;

    RELN_TRY(reln_data_find(d->ctx, &d->m->spec, &d->source, &d->found, &shapes));
    if (d->options.without_target)
        d->found.target = -1;
    else if (d->found.target < 0)
        return reln_fail(d->ctx, RELN_ERR_FORMAT, "%s: there is no array %s, the target",
                         d->source.what, d->m->spec.target.name);
    return check_like_model(d, &shapes);
}

static RelnStatus make_metric(RelnData *d)
{
    const size_t k = (size_t)reln_model_target_size(d->m);

    d->metric_count = k * k;
    d->metric = reln_arena_alloc(&d->arena, d->metric_count, sizeof *d->metric);
    for (size_t i = 0; d->metric && i < k; i++)
        d->metric[i * k + i] = 1;
    return d->metric ? RELN_OK : RELN_ERR_NOMEM;
}

static RelnStatus open_data(RelnData *d)
{
    RELN_TRY(find(d));
    RELN_TRY(allocate_raw(d));
    RELN_TRY(allocate_lifted(d));
    RELN_TRY(allocate_points(d));
    RELN_TRY(make_metric(d));
    RELN_TRY(walk(d, visit_check, NULL));
    return keep_all(d);
}

RelnStatus reln_data_open(RelnModel *model, const RelnDataSource *source,
                          const RelnDataOptions *options, RelnData **out)
{
    RELN_NEED(model, RELN_ERR_ARG);

    RelnData *d = reln_alloc(model->ctx, 1, sizeof *d);
    RelnStatus status;

    *out = NULL;
    if (!d)
        return RELN_ERR_NOMEM;
    d->ctx = model->ctx;
    d->m = model;
    d->source = *source;
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
    free_samples(d, &d->all);
    free_samples(d, &d->batch);
    reln_arena_clear(&d->arena);
    reln_free(d->ctx, d);
}

ptrdiff_t reln_data_count(const RelnData *d)
{
    RELN_NEED(d, 0);

    return d->found.count;
}

size_t reln_data_bytes(const RelnData *d)
{
    RELN_NEED(d, 0);

    const ptrdiff_t points = d->m->masked ? d->first[d->found.count] : 0;
    const double all = d->resident ? lifted_bytes(d, d->found.count, points) : 0;

    return (size_t)(all + lifted_bytes(d, d->room, d->room * d->m->points));
}

bool reln_data_resident(const RelnData *d)
{
    RELN_NEED(d, false);

    return d->resident;
}

bool reln_data_has_target(const RelnData *d)
{
    RELN_NEED(d, false);

    return d->found.target >= 0;
}

/* ---- splitting and normalising ------------------------------------------------------------------------------------------ */

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

/* Sums over the training rows, as they pass by. */
typedef struct Sums {
    const bool *counts; /* rows that do */
    double square[RELN_SPEC_INPUTS], numbers[RELN_SPEC_INPUTS];
    double target, target_square, target_numbers;
} Sums;

/* Of the channels of an input in its slot. */
static void add_input(const RelnData *d, int input, int points, Sums *sums)
{
    const Lift *lift = &d->m->lift[input];
    const Slot *slot = &d->m->slots[lift->slot];
    const ptrdiff_t items = (slot->by_point ? points : 1) * (ptrdiff_t)slot->k;

    for (ptrdiff_t i = 0; i < items; i++)
        for (int c = 0; c < lift->channels; c++) {
            const double x = d->lifted[lift->slot][i * slot->c + lift->first + c];

            sums->square[input] += x * x;
        }
    sums->numbers[input] += (double)(items * lift->channels);
}

static void add_target(const RelnData *d, const double *t, Sums *sums)
{
    for (ptrdiff_t i = 0; i < target_count(d); i++) {
        sums->target += t[i];
        sums->target_square += t[i] * t[i];
    }
    sums->target_numbers += (double)target_count(d);
}

static RelnStatus visit_add(RelnData *d, ptrdiff_t row, ptrdiff_t i, void *self)
{
    Sums *sums = self;

    if (!sums->counts[row])
        return RELN_OK;
    RELN_TRY(lift_row(d, row, i));
    for (int in = 0; in < d->m->spec.n_inputs; in++)
        add_input(d, in, d->m->masked ? d->points[row] : d->m->points, sums);
    if (d->found.target >= 0)
        add_target(d, d->raw.target + i * target_count(d), sums);
    return RELN_OK;
}

/* The root of a mean square; 1 for what is always 0. */
static double root(double square, double numbers)
{
    return square > 0 && numbers > 0 ? sqrt(square / numbers) : 1;
}

static void set_constants(RelnData *d, const Sums *s)
{
    RelnConstants c = d->m->constants;
    const bool scalar = d->m->spec.target.as == RELN_TARGET_SCALAR;

    for (int i = 0; i < d->m->spec.n_inputs; i++)
        c.scale[i] = root(s->square[i], s->numbers[i]);
    if (d->m->spec.target.normalise && d->m->spec.target.as != RELN_TARGET_CLASS &&
        s->target_numbers > 0) {
        c.mean = scalar ? s->target / s->target_numbers : 0;
        c.deviation =
            root(s->target_square - c.mean * c.mean * s->target_numbers, s->target_numbers);
    }
    reln_model_set_constants(d->m, &c);
}

RelnStatus reln_data_normalise(RelnData *d, ptrdiff_t n, const ptrdiff_t *rows)
{
    RELN_NEED(d, RELN_ERR_ARG);

    bool *counts = reln_alloc(d->ctx, (size_t)d->found.count, sizeof *counts);
    Sums sums = {.counts = counts};
    RelnStatus status;

    if (!counts)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t i = 0; i < n; i++)
        counts[rows[i]] = true;
    status = walk(d, visit_add, &sums);
    if (status == RELN_OK)
        set_constants(d, &sums);
    reln_free(d->ctx, counts);
    return status;
}

/* ---- batches ------------------------------------------------------------------------------------------------------------- */

RelnStatus reln_data_reserve(RelnData *d, ptrdiff_t n)
{
    RELN_NEED(d, RELN_ERR_ARG);

    if (n <= d->room)
        return RELN_OK;
    d->room = 0;
    free_samples(d, &d->batch);
    RELN_TRY(allocate_samples(d, n, n * d->m->points, &d->batch));
    d->room = n;
    return RELN_OK;
}

/* A sample that is kept, into place `at` of the batch. */
static void copy_sample(RelnData *d, ptrdiff_t row, ptrdiff_t at, ptrdiff_t rows)
{
    const ptrdiff_t from = d->m->masked ? d->first[row] : 0;
    const int points = d->m->masked ? d->points[row] : 0;
    const size_t bytes = (size_t)target_count(d) *
                         (d->m->spec.target.as == RELN_TARGET_CLASS ? sizeof(int32_t) : d->item);

    for (int s = 0; s < SLOT_COUNT; s++)
        if (d->m->slots[s].c)
            memcpy(d->batch.slot[s] + (size_t)slot_start(d, s, at, rows) * d->item,
                   d->all.slot[s] + (size_t)slot_start(d, s, row, from) * d->item,
                   (size_t)slot_length(d, s, points) * d->item);
    memcpy(d->batch.target + (size_t)at * bytes, d->all.target + (size_t)row * bytes, bytes);
}

/* A random frame for a sample: its own in every epoch. */
static RelnStatus augment(RelnData *d, ptrdiff_t row, uint64_t epoch)
{
    const uint64_t key[2] = {epoch, (uint64_t)row};
    RelnRng rng = reln_rng(d->options.seed, reln_hash(RELN_HASH_SEED, key, sizeof key));
    RelnElement *g = NULL;
    RelnStatus status = reln_model_element(d->m, &rng, d->options.augment, &g);

    for (int i = 0; status == RELN_OK && i < d->m->spec.n_inputs; i++)
        status = reln_model_act(d->m, i, g, d->raw.input[i]);
    if (status == RELN_OK && d->found.target >= 0 && d->m->spec.target.as != RELN_TARGET_CLASS)
        status = reln_model_act_target(d->m, g, d->raw.target);
    reln_element_destroy(g);
    return status;
}

/* A sample from the source, into place `at` of the batch. */
static RelnStatus load_sample(RelnData *d, ptrdiff_t row, ptrdiff_t at, ptrdiff_t rows,
                              uint64_t epoch)
{
    RELN_TRY(read_rows(d, row, 1));
    if (d->options.augment > 0)
        RELN_TRY(augment(d, row, epoch));
    RELN_TRY(lift_row(d, row, 0));
    keep_slots(d, &d->batch, at, rows, d->m->masked ? d->points[row] : d->m->points);
    if (d->found.target >= 0)
        keep_target(d, d->raw.target, d->batch.target, at);
    return RELN_OK;
}

static bool has_input(const RelnPlan *plan, const char *name)
{
    for (int i = 0; i < plan->graph->sources.count; i++)
        if (strcmp(plan->graph->sources.items[i].name, name) == 0)
            return true;
    return false;
}

static RelnStatus bind_target(const RelnData *d, RelnPlan *plan)
{
    const bool is_class = d->m->spec.target.as == RELN_TARGET_CLASS;

    if (has_input(plan, "metric"))
        RELN_TRY(reln_plan_bind_sized(plan, "metric", d->metric, RELN_F64, d->metric_count));
    if (!has_input(plan, "target"))
        return RELN_OK;
    return reln_plan_bind_sized(plan, "target", d->batch.target,
                                is_class ? RELN_I32 : d->m->spec.train.dtype,
                                (size_t)(d->room * target_count(d)));
}

static RelnStatus bind(const RelnData *d, RelnPlan *plan)
{
    for (int s = 0; s < SLOT_COUNT; s++)
        if (d->m->slots[s].c)
            RELN_TRY(reln_plan_bind_sized(
                plan, d->m->slots[s].name, d->batch.slot[s], d->m->spec.train.dtype,
                (size_t)slot_start(d, s, d->room, d->room * d->m->points)));
    if (d->m->masked)
        RELN_TRY(reln_plan_bind_rows_sized(plan, "points", d->batch.points, (size_t)d->room));
    return bind_target(d, plan);
}

static RelnStatus fill_sample(RelnData *d, ptrdiff_t row, ptrdiff_t at, ptrdiff_t rows,
                              uint64_t epoch)
{
    if (row < 0 || row >= d->found.count)
        return reln_fail(d->ctx, RELN_ERR_ARG, "row %td of %td; wanted one from 0", row,
                         d->found.count);
    if (!d->resident)
        return load_sample(d, row, at, rows, epoch);
    copy_sample(d, row, at, rows);
    return RELN_OK;
}

RelnStatus reln_data_bind(RelnData *d, RelnPlan *plan, ptrdiff_t n, const ptrdiff_t *rows,
                          uint64_t epoch)
{
    RELN_NEED(d, RELN_ERR_ARG);

    ptrdiff_t points = 0;

    RELN_TRY(reln_data_reserve(d, n));
    for (ptrdiff_t i = 0; i < n; i++) {
        RELN_TRY(fill_sample(d, rows[i], i, points, epoch));
        d->batch.points[i] = d->m->masked ? d->points[rows[i]] : d->m->points;
        points += d->batch.points[i];
    }
    return bind(d, plan);
}

static int count_mask(int n, const double *mask)
{
    int count = 0;

    for (int p = 0; p < n; p++)
        count += !mask || mask[p] != 0;
    return count;
}

RelnStatus reln_data_bind_raw(RelnData *d, RelnPlan *plan, ptrdiff_t n, const double *const *values,
                              const double *mask)
{
    RELN_NEED(d, RELN_ERR_ARG);

    ptrdiff_t points = 0;

    RELN_TRY(reln_data_reserve(d, n));
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *raw[RELN_SPEC_INPUTS] = {0};
        const double *own = mask && d->m->masked ? mask + i * d->m->points : NULL;

        for (int in = 0; in < d->m->spec.n_inputs; in++)
            raw[in] = values[in] + i * input_count(d, in);
        RELN_TRY(reln_model_lift(d->m, &d->work, i, raw, own, d->lifted));
        d->batch.points[i] = count_mask(d->m->points, own);
        keep_slots(d, &d->batch, i, points, d->batch.points[i]);
        points += d->batch.points[i];
    }
    return bind(d, plan);
}

/* ---- raw numbers ------------------------------------------------------------------------------------------------------------ */

RelnStatus reln_data_raw(RelnData *d, int input, ptrdiff_t row, double *values)
{
    RELN_NEED(d, RELN_ERR_ARG);

    return read_array(d, d->found.input[input], row, 1, values);
}

RelnStatus reln_data_mask(RelnData *d, ptrdiff_t row, double *values)
{
    RELN_NEED(d, RELN_ERR_ARG);

    for (int p = 0; p < d->m->points; p++)
        values[p] = 1;
    return read_array(d, d->found.mask, row, 1, values);
}

RelnStatus reln_data_target(RelnData *d, ptrdiff_t n, const ptrdiff_t *rows, double *values)
{
    RELN_NEED(d, RELN_ERR_ARG);

    if (d->found.target < 0)
        return reln_fail(d->ctx, RELN_ERR_ARG, "the data were opened without their target");
    for (ptrdiff_t i = 0; i < n; i++)
        RELN_TRY(read_array(d, d->found.target, rows[i], 1, values + i * target_count(d)));
    return RELN_OK;
}
