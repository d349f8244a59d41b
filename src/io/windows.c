/* windows.c -- windows of recordings: an archive whose rows are ranges of the steps of another archive. */
#include "io/windows.h"

#include <string.h>

#include "io/archive.h"

/* ---- reading -------------------------------------------------------------------------------------------------------- */

static RelnStatus read_steps(const Windows *w, const Array *a, ptrdiff_t begin, ptrdiff_t n,
                             double *out)
{
    return reln_archive_range(w->of, a->window.index, begin, n, out);
}

static void subtract(double *x, const double *y, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] -= y[i];
}

/* Reads the times of all steps minus that of the first. */
static RelnStatus read_elapsed(const Windows *w, const Array *a, ptrdiff_t begin, ptrdiff_t size,
                               double *out)
{
    RELN_TRY(read_steps(w, a, begin, w->length, out));
    memcpy(w->step, out, (size_t)size * sizeof *out);
    for (ptrdiff_t t = 0; t < w->length; t++)
        subtract(out + t * size, w->step, size);
    return RELN_OK;
}

static RelnStatus read_change(const Windows *w, const Array *a, ptrdiff_t begin, ptrdiff_t size,
                              double *out)
{
    RELN_TRY(read_steps(w, a, begin, 1, w->step));
    RELN_TRY(read_steps(w, a, begin + w->length - 1, 1, out));
    subtract(out, w->step, size);
    return RELN_OK;
}

static RelnStatus read_mean(const Windows *w, const Array *a, ptrdiff_t begin, ptrdiff_t size,
                            double *out)
{
    memset(out, 0, (size_t)size * sizeof *out);
    for (ptrdiff_t t = 0; t < w->length; t++) {
        RELN_TRY(read_steps(w, a, begin + t, 1, w->step));
        for (ptrdiff_t i = 0; i < size; i++)
            out[i] += w->step[i] / (double)w->length;
    }
    return RELN_OK;
}

/* `size` is the number of numbers of one step. */
static RelnStatus read_window(const Windows *w, const Array *a, ptrdiff_t begin, ptrdiff_t size,
                              double *out)
{
    switch (a->window.rule) {
    case RELN_WINDOW_STEPS:
        return read_steps(w, a, begin, w->length, out);
    case RELN_WINDOW_ELAPSED:
        return read_elapsed(w, a, begin, size, out);
    case RELN_WINDOW_LAST:
        return read_steps(w, a, begin + w->length - 1, 1, out);
    case RELN_WINDOW_CHANGE:
        return read_change(w, a, begin, size, out);
    case RELN_WINDOW_MEAN:
    case RELN_WINDOW_SET:
    case RELN_WINDOW_SIZE:
    case RELN_WINDOW_ROW:
        break;
    }
    return read_mean(w, a, begin, size, out);
}

/* Reads one row of an array of sets: `each` numbers in all, `size` of them for each step. */
static RelnStatus read_set(const Windows *w, const Array *a, ptrdiff_t row, ptrdiff_t each,
                           ptrdiff_t size, double *out)
{
    const ptrdiff_t begin = a->offsets ? a->offsets[row] : row;
    const ptrdiff_t n = a->offsets ? a->offsets[row + 1] - begin : 1;

    if (a->window.rule == RELN_WINDOW_SIZE) {
        out[0] = (double)n;
        return RELN_OK;
    }
    if (a->window.rule == RELN_WINDOW_SET)
        memset(out + n * size, 0, (size_t)(each - n * size) * sizeof *out);
    return n > 0 ? read_steps(w, a, begin, n, out) : RELN_OK;
}

RelnStatus reln_windows_range(const RelnArchive *v, const Array *a, ptrdiff_t first, ptrdiff_t n,
                              double *out)
{
    const Windows *w = v->windows;
    const ptrdiff_t each = reln_array_row_size(&a->header.array);
    const ptrdiff_t size = reln_array_row_size(reln_archive_info(w->of, a->window.index));

    for (ptrdiff_t i = 0; i < n; i++)
        RELN_TRY(w->first ? read_window(w, a, w->first[first + i] + w->shift[first + i], size,
                                        out + i * each)
                          : read_set(w, a, first + i, each, size, out + i * each));
    return RELN_OK;
}

void reln_archive_window_shift(RelnArchive *v, ptrdiff_t row, ptrdiff_t steps)
{
    v->windows->shift[row] = steps;
}

/* ---- making --------------------------------------------------------------------------------------------------------- */

/* (T, ...) becomes (rows, length, ...), or (rows, ...) where a row has one value. */
static RelnStatus list_array(RelnArchive *v, const RelnWindowArray *from, ptrdiff_t n_rows,
                             Array *a)
{
    const RelnArray *of = reln_archive_info(v->windows->of, from->index);
    const bool whole = from->rule == RELN_WINDOW_STEPS || from->rule == RELN_WINDOW_ELAPSED;
    const int more = whole ? 1 : 0;
    RelnArray *to = &a->header.array;

    if (!of || of->rank < 1 || of->rank + more > RELN_ARRAY_MAX_RANK)
        return reln_fail(v->ctx, RELN_ERR_SHAPE, "%s: array '%s' has no steps to cut into windows",
                         v->path, of && of->name ? of->name : "");
    *to = *of;
    to->rank = of->rank + more;
    for (int i = of->rank - 1; i > 0; i--)
        to->dims[i + more] = of->dims[i];
    to->dims[0] = n_rows;
    if (whole)
        to->dims[1] = v->windows->length;
    a->window = *from;
    return RELN_OK;
}

static RelnStatus fill(RelnArchive *v, RelnArchive *of, int n, const RelnWindowArray *list,
                       ptrdiff_t length, ptrdiff_t n_rows, const ptrdiff_t *first)
{
    ptrdiff_t widest = 1;
    Windows *w = reln_arena_alloc(&v->arena, 1, sizeof *w);

    v->windows = w;
    v->path = of->path;
    v->arrays = reln_arena_alloc(&v->arena, (size_t)n + 1, sizeof *v->arrays);
    if (!w || !v->arrays)
        return RELN_ERR_NOMEM;
    w->of = of;
    w->length = length;
    for (int i = 0; i < n; i++, v->n++) {
        RELN_TRY(list_array(v, &list[i], n_rows, &v->arrays[i]));
        if (reln_array_row_size(reln_archive_info(of, list[i].index)) > widest)
            widest = reln_array_row_size(reln_archive_info(of, list[i].index));
    }
    w->first = reln_arena_copy(&v->arena, first, (size_t)n_rows, sizeof *first);
    w->shift = reln_arena_alloc(&v->arena, (size_t)n_rows + 1, sizeof *w->shift);
    w->step = reln_arena_alloc(&v->arena, (size_t)widest, sizeof *w->step);
    return w->first && w->shift && w->step ? RELN_OK : RELN_ERR_NOMEM;
}

RelnStatus reln_archive_windows(RelnCtx *ctx, RelnArchive *of, int n, const RelnWindowArray *list,
                                ptrdiff_t length, ptrdiff_t n_rows, const ptrdiff_t *first,
                                RelnArchive **out)
{
    RelnArchive *v = reln_archive_create(ctx);
    RelnStatus status;

    *out = NULL;
    if (!v)
        return RELN_ERR_NOMEM;
    status = fill(v, of, n, list, length, n_rows, first);
    if (status == RELN_OK)
        *out = v;
    else
        reln_archive_destroy(v);
    return status;
}

/* ---- sets ------------------------------------------------------------------------------------------------------------ */

/* Sets the shape of an array in the view: (T, ...) becomes (rows, length, ...), or (rows,) for sizes; an
 * array of rows keeps its shape. */
static RelnStatus list_set(RelnArchive *v, const RelnSetArray *from, ptrdiff_t n_rows, Array *a)
{
    const RelnArray *of = reln_archive_info(v->windows->of, from->array.index);
    const int more = from->array.rule == RELN_WINDOW_SET ? 1 : 0;
    RelnArray *to = &a->header.array;

    if (!of || of->rank < 1 || of->rank + more > RELN_ARRAY_MAX_RANK)
        return reln_fail(v->ctx, RELN_ERR_SHAPE, "%s: array '%s' has no rows to make sets of",
                         v->path, of && of->name ? of->name : "");
    *to = *of;
    to->rank = from->array.rule == RELN_WINDOW_SIZE ? 1 : of->rank + more;
    for (int i = of->rank - 1; more && i > 0; i--)
        to->dims[i + more] = of->dims[i];
    to->dims[0] = n_rows;
    if (more)
        to->dims[1] = from->length;
    a->window = from->array;
    if (!from->offsets)
        return RELN_OK;
    a->offsets =
        reln_arena_copy(&v->arena, from->offsets, (size_t)n_rows + 1, sizeof *from->offsets);
    return a->offsets ? RELN_OK : RELN_ERR_NOMEM;
}

static RelnStatus fill_sets(RelnArchive *v, RelnArchive *of, int n, const RelnSetArray *list,
                            ptrdiff_t n_rows)
{
    v->windows = reln_arena_alloc(&v->arena, 1, sizeof *v->windows);
    v->path = of->path;
    v->arrays = reln_arena_alloc(&v->arena, (size_t)n + 1, sizeof *v->arrays);
    if (!v->windows || !v->arrays)
        return RELN_ERR_NOMEM;
    v->windows->of = of;
    for (int i = 0; i < n; i++, v->n++)
        RELN_TRY(list_set(v, &list[i], n_rows, &v->arrays[i]));
    return RELN_OK;
}

RelnStatus reln_archive_sets(RelnCtx *ctx, RelnArchive *of, int n, const RelnSetArray *list,
                             ptrdiff_t n_rows, RelnArchive **out)
{
    RelnArchive *v = reln_alloc(ctx, 1, sizeof *v);
    RelnStatus status;

    *out = NULL;
    if (!v)
        return RELN_ERR_NOMEM;
    v->ctx = ctx;
    reln_arena_init(&v->arena, ctx);
    status = fill_sets(v, of, n, list, n_rows);
    if (status == RELN_OK)
        *out = v;
    else
        reln_archive_destroy(v);
    return status;
}
