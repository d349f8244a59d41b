/* pack.c -- packs arrays of different length into the rows of a batch. */
#include <limits.h>
#include <string.h>

#include "base/base.h"
#include "reln/io.h"

static size_t item_size(RelnDtype dtype)
{
    return dtype == RELN_F32 || dtype == RELN_I32 ? 4 : dtype == RELN_DEFAULT ? 0 : 8;
}

/* Checks that an array has rows like those of the first one. */
static RelnStatus check(RelnCtx *ctx, const RelnArray *arrays, ptrdiff_t i, ptrdiff_t *total)
{
    const RelnArray *a = &arrays[i], *first = &arrays[0];
    const ptrdiff_t count = reln_array_count(a);
    const ptrdiff_t rows = a->rank > 0 && count >= 0 ? a->dims[0] : -1;

    if (item_size(a->dtype) == 0 || rows < 0 || rows > INT32_MAX || (count > 0 && !a->values))
        return reln_fail(ctx, RELN_ERR_ARG,
                         "pack: array %td is not an array of rows in memory; wanted f32, f64, i32 "
                         "or i64 with 1 axis or more",
                         i);
    if (a->dtype != first->dtype || a->rank != first->rank ||
        memcmp(a->dims + 1, first->dims + 1, (size_t)(a->rank - 1) * sizeof *a->dims) != 0)
        return reln_fail(ctx, RELN_ERR_SHAPE,
                         "pack: rows of array %td have another type or other extents than those of "
                         "array 0; wanted equal ones",
                         i);
    if (__builtin_add_overflow(*total, rows, total))
        return reln_fail(ctx, RELN_ERR_SHAPE, "pack: too many rows");
    return RELN_OK;
}

RelnStatus reln_pack_rows(RelnCtx *ctx, ptrdiff_t n, const RelnArray *arrays, int32_t *counts,
                          RelnArray *out)
{
    ptrdiff_t total = 0;
    size_t bytes;
    char *to;

    RELN_NEED(ctx && out && (n == 0 || (arrays && counts)), RELN_ERR_ARG);
    *out = (RelnArray){0};
    reln_ctx_clear(ctx);
    if (n < 1)
        return reln_fail(ctx, RELN_ERR_ARG, "pack: %td arrays; wanted 1 or more", n);
    for (ptrdiff_t i = 0; i < n; i++)
        RELN_TRY(check(ctx, arrays, i, &total));
    *out = arrays[0];
    out->dims[0] = total;
    out->stored = NULL;
    out->owner = ctx;
    out->values = NULL;
    bytes = (size_t)reln_array_row_size(out) * item_size(out->dtype);
    to = reln_array_count(out) < 0 ? NULL : reln_alloc(ctx, (size_t)total + 1, bytes ? bytes : 1);
    if (!to) {
        *out = (RelnArray){0};
        return reln_ctx_status(ctx) == RELN_OK
                   ? reln_fail(ctx, RELN_ERR_SHAPE, "pack: %td rows are too many", total)
                   : RELN_ERR_NOMEM;
    }
    out->values = to;
    for (ptrdiff_t i = 0; i < n; i++) {
        const size_t size = (size_t)arrays[i].dims[0] * bytes;

        counts[i] = (int32_t)arrays[i].dims[0];
        if (size > 0)
            memcpy(to, arrays[i].values, size);
        to += size;
    }
    return RELN_OK;
}
