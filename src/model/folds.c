/* folds.c -- divides samples into folds, by the seed or by an array of fold numbers. */
#include <math.h>
#include <string.h>

#include "model/data.h"
#include "model/sequence.h"

enum { MOST_FOLDS = 4096 };

/* ---- arrays of fold numbers -------------------------------------------------------------------------------------------- */

static RelnStatus check_number(RelnCtx *ctx, const char *name, ptrdiff_t row, double x)
{
    if (x >= 0 && x < MOST_FOLDS && x == floor(x))
        return RELN_OK;
    return reln_fail(ctx, RELN_ERR_FORMAT,
                     "%s: row %td is %g; a fold, a whole number from 0 to %d, was wanted", name,
                     row, x, MOST_FOLDS - 1);
}

/* Reads an array of fold numbers, one for each row; the caller frees it. */
static RelnStatus read_folds(RelnCtx *ctx, RelnArchive *archive, const char *name, ptrdiff_t *count,
                             double **out)
{
    const int index = reln_archive_find(archive, name);
    const RelnArray *a = reln_archive_info(archive, index);
    RelnStatus status;

    *out = NULL;
    if (!a)
        return reln_data_missing(ctx, archive, name, ", the fold numbers");
    if (a->rank != 1 || a->dims[0] < 1)
        return reln_fail(ctx, RELN_ERR_SHAPE, "%s: %d axes; wanted (N,), a fold for each row", name,
                         a->rank);
    *count = a->dims[0];
    *out = reln_alloc_raw(ctx, (size_t)*count, sizeof **out);
    if (!*out)
        return RELN_ERR_NOMEM;
    status = reln_archive_range(archive, index, 0, *count, *out);
    for (ptrdiff_t i = 0; i < *count && status == RELN_OK; i++)
        status = check_number(ctx, name, i, (*out)[i]);
    return status;
}

RelnStatus reln_data_folds(RelnCtx *ctx, RelnArchive *archive, const char *array, int *count)
{
    bool seen[MOST_FOLDS] = {0};
    double *folds = NULL;
    ptrdiff_t n = 0;
    RelnStatus status = read_folds(ctx, archive, array, &n, &folds);

    *count = 0;
    for (ptrdiff_t i = 0; i < n && status == RELN_OK; i++) {
        seen[(int)folds[i]] = true;
        *count = folds[i] >= *count ? (int)folds[i] + 1 : *count;
    }
    reln_free(ctx, folds);
    for (int f = 0; f < *count && status == RELN_OK; f++)
        if (!seen[f])
            status = reln_fail(ctx, RELN_ERR_FORMAT,
                               "%s: no row is in fold %d of %d; wanted rows in every fold", array,
                               f, *count);
    if (status == RELN_OK && *count < 2)
        status = reln_fail(ctx, RELN_ERR_FORMAT, "%s: all rows are in one fold; wanted two or more",
                           array);
    return status;
}

/* ---- dividing ----------------------------------------------------------------------------------------------------------- */

/* Writes both parts in ascending order, validation first. */
static void arrange(ptrdiff_t count, const bool *chosen, ptrdiff_t *rows, ptrdiff_t *n)
{
    ptrdiff_t at = 0;

    for (int part = 1; part >= 0; part--) {
        for (ptrdiff_t i = 0; i < count; i++)
            if (chosen[i] == (part == 1))
                rows[at++] = i;
        *n = part == 1 ? at : *n;
    }
}

static RelnStatus choose_by_array(RelnData *d, const RelnFold *fold, bool *chosen)
{
    double *folds = NULL;
    ptrdiff_t n = 0;
    RelnStatus status = read_folds(d->ctx, d->archive, fold->array, &n, &folds);

    if (status == RELN_OK && n != d->found.count)
        status = reln_fail(d->ctx, RELN_ERR_SHAPE, "%s: %td rows; wanted %td, one for each sample",
                           fold->array, n, d->found.count);
    for (ptrdiff_t i = 0; i < n && status == RELN_OK; i++)
        chosen[i] = folds[i] == fold->number;
    reln_free(d->ctx, folds);
    return status;
}

/* Fold k is the k-th of equal parts of the seed's shuffle. */
static void choose_by_seed(ptrdiff_t count, const RelnFold *fold, uint64_t seed, ptrdiff_t *rows,
                           bool *chosen)
{
    const ptrdiff_t first = count * fold->number / fold->count;
    const ptrdiff_t n = count * (fold->number + 1) / fold->count - first;

    reln_shuffle(seed, UINT64_MAX, count, first, n, rows);
    for (ptrdiff_t i = 0; i < n; i++)
        chosen[rows[i]] = true;
}

static RelnStatus divide_share(const RelnData *d, double share, uint64_t seed, ptrdiff_t *rows,
                               ptrdiff_t *n, ptrdiff_t *n_train)
{
    if (d->sequence)
        return reln_sequence_split(d->sequence, share, rows, n, n_train);
    RELN_TRY(reln_data_split(d->ctx, d->found.count, share, seed, rows, n));
    *n_train = d->found.count - *n;
    return RELN_OK;
}

RelnStatus reln_data_divide(RelnData *d, const RelnFold *fold, double share, uint64_t seed,
                            ptrdiff_t *rows, ptrdiff_t *n, ptrdiff_t *n_train)
{
    const ptrdiff_t count = d->found.count;
    RelnStatus status = RELN_OK;
    bool *chosen;

    if (fold->count == 0 && !fold->array[0])
        return divide_share(d, share, seed, rows, n, n_train);
    if (d->sequence)
        return reln_fail(d->ctx, RELN_ERR_UNSUPPORTED,
                         "windows of recordings reach into each other's folds; wanted a share for "
                         "validation, or a file");
    chosen = reln_alloc(d->ctx, (size_t)count, sizeof *chosen);
    if (!chosen)
        return RELN_ERR_NOMEM;
    if (fold->array[0])
        status = choose_by_array(d, fold, chosen);
    else
        choose_by_seed(count, fold, seed, rows, chosen);
    if (status == RELN_OK)
        arrange(count, chosen, rows, n);
    *n_train = count - *n;
    reln_free(d->ctx, chosen);
    if (status == RELN_OK && (*n == 0 || *n == count))
        status = reln_fail(d->ctx, RELN_ERR_ARG,
                           "fold %d has %td of %td samples; wanted some, and others to train on",
                           fold->number, *n, count);
    return status;
}

/* ---- by number ---------------------------------------------------------------------------------------------------------- */

enum {
    BY_BLOCKS = 1 << 20
}; /* from this number of samples on, blocks are divided instead of samples */

static RelnStatus split_blocks(const RelnData *d, double share, uint64_t seed, RelnParting *s)
{
    ptrdiff_t n = 0;

    s->block = RELN_SHUFFLE_BLOCK;
    s->n_items = d->found.count / s->block;
    s->items = reln_alloc_raw(d->ctx, (size_t)s->n_items, sizeof *s->items);
    if (!s->items)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_data_split(d->ctx, s->n_items, share, seed, s->items, &n));
    s->n_validation = n * s->block;
    s->n_train = d->found.count - s->n_validation;
    return RELN_OK;
}

RelnStatus reln_parting_make(RelnData *d, const RelnFold *fold, double share, uint64_t seed,
                             bool blocks, RelnParting *out)
{
    *out = (RelnParting){.block = 1, .n_items = d->found.count};
    if (blocks && d->found.count > BY_BLOCKS && !d->sequence && fold->count == 0 && !fold->array[0])
        return split_blocks(d, share, seed, out);
    out->items = reln_alloc_raw(d->ctx, (size_t)out->n_items, sizeof *out->items);
    if (!out->items)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_data_divide(d, fold, share, seed, out->items, &out->n_validation, &out->n_train));
    out->n_items = out->n_validation + out->n_train;
    return RELN_OK;
}

void reln_parting_clear(RelnCtx *ctx, RelnParting *split)
{
    reln_free(ctx, split->items);
    *split = (RelnParting){0};
}

ptrdiff_t reln_parting_row(const RelnParting *s, ptrdiff_t i)
{
    return i < s->n_items * s->block ? s->items[i / s->block] * s->block + i % s->block : i;
}
