/* fingerprint.c -- a hash that detects whether the data have changed since a run began. */
#include <string.h>

#include "fit/fit.h"

enum {
    LOOKED_AT = 1 << 20
}; /* numbers of an array that are read; for larger arrays, evenly spaced rows */

/* Mixes values into four independent hashes in turn, so that a processor works on all four at once. */
static void mix(uint64_t lanes[4], const double *values, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        uint64_t bits, *lane = &lanes[i & 3];

        memcpy(&bits, &values[i], sizeof bits);
        bits = (*lane ^ bits) * 0x9e3779b97f4a7c15ULL;
        *lane = bits ^ (bits >> 29);
    }
}

/* Hashes every number of an array, in pieces of whole rows. */
static RelnStatus hash_all(RelnArchive *archive, int index, RelnCtx *ctx, uint64_t *hash)
{
    enum { PIECE = 1 << 16 };
    const RelnArray *info = reln_archive_info(archive, index);
    const ptrdiff_t rows = reln_array_rows(info), row_size = reln_array_row_size(info);
    const ptrdiff_t width = row_size > 0 ? row_size : 1;
    const ptrdiff_t most = width < PIECE ? PIECE / width : 1;
    double *piece = reln_alloc_raw(ctx, (size_t)(most * width), sizeof *piece);
    uint64_t lanes[4] = {*hash, ~*hash, *hash + 1, *hash + 2};
    RelnStatus status = piece ? RELN_OK : RELN_ERR_NOMEM;

    for (ptrdiff_t i = 0; i < rows && status == RELN_OK; i += most) {
        const ptrdiff_t n = rows - i < most ? rows - i : most;

        status = reln_archive_range(archive, index, i, n, piece);
        if (status == RELN_OK)
            mix(lanes, piece, n * row_size);
    }
    *hash = reln_hash(*hash, lanes, sizeof lanes);
    reln_free(ctx, piece);
    return status;
}

/* Hashes some rows of an array, as version 1 of the fingerprint does. */
static RelnStatus hash_some(RelnArchive *archive, int index, RelnCtx *ctx, uint64_t *hash)
{
    const RelnArray *info = reln_archive_info(archive, index);
    const ptrdiff_t rows = reln_array_rows(info), row_size = reln_array_row_size(info);
    const ptrdiff_t size = rows * row_size;
    const ptrdiff_t stride = size > LOOKED_AT ? size / LOOKED_AT + 1 : 1;
    double *row = reln_alloc_raw(ctx, (size_t)row_size, sizeof *row);
    RelnStatus status = row ? RELN_OK : RELN_ERR_NOMEM;

    for (ptrdiff_t i = 0; i < rows && status == RELN_OK; i += stride) {
        status = reln_archive_range(archive, index, i, 1, row);
        if (status == RELN_OK)
            *hash = reln_hash(*hash, row, (size_t)row_size * sizeof *row);
    }
    reln_free(ctx, row);
    return status;
}

RelnStatus reln_archive_fingerprint(RelnArchive *archive, RelnCtx *ctx, int version, uint64_t *out)
{
    *out = RELN_HASH_SEED;
    for (int i = 0; i < reln_archive_count(archive); i++) {
        const RelnArray *info = reln_archive_info(archive, i);

        *out = reln_hash(*out, info->name, strlen(info->name));
        *out = reln_hash(*out, info->dims, (size_t)info->rank * sizeof *info->dims);
        RELN_TRY((version == 1 ? hash_some : hash_all)(archive, i, ctx, out));
    }
    return RELN_OK;
}
