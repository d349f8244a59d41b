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
        break;
    }
    return read_mean(w, a, begin, size, out);
}

RelnStatus reln_windows_range(const RelnArchive *v, const Array *a, ptrdiff_t first, ptrdiff_t n,
                              double *out)
{
    const Windows *w = v->windows;
    const ptrdiff_t each = reln_array_row_size(&a->header.array);
    const ptrdiff_t size = reln_array_row_size(reln_archive_info(w->of, a->window.index));

    for (ptrdiff_t i = 0; i < n; i++)
        RELN_TRY(
            read_window(w, a, w->first[first + i] + w->shift[first + i], size, out + i * each));
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
