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

/* Mixes rows first .. end-1 of an array into the four hashes, in pieces of whole rows. */
static RelnStatus mix_rows(RelnArchive *archive, int index, RelnCtx *ctx, ptrdiff_t first,
                           ptrdiff_t end, uint64_t lanes[4])
{
    enum { PIECE = 1 << 16 };
    const ptrdiff_t size = reln_array_row_size(reln_archive_info(archive, index));
    const ptrdiff_t width = size > 0 ? size : 1;
    const ptrdiff_t most = width < PIECE ? PIECE / width : 1;
    double *piece = reln_alloc_raw(ctx, (size_t)(most * width), sizeof *piece);
    RelnStatus status = piece ? RELN_OK : RELN_ERR_NOMEM;

    for (ptrdiff_t i = first; i < end && status == RELN_OK; i += most) {
        const ptrdiff_t n = end - i < most ? end - i : most;

        status = reln_archive_range(archive, index, i, n, piece);
        if (status == RELN_OK)
            mix(lanes, piece, n * size);
    }
    reln_free(ctx, piece);
    return status;
}

/* Hashes every number of an array, one after the other, as version 2 of the fingerprint does. */
static RelnStatus hash_all(RelnArchive *archive, int index, RelnCtx *ctx, uint64_t *hash)
{
    const ptrdiff_t rows = reln_array_rows(reln_archive_info(archive, index));
    uint64_t lanes[4] = {*hash, ~*hash, *hash + 1, *hash + 2};
    const RelnStatus status = mix_rows(archive, index, ctx, 0, rows, lanes);

    *hash = reln_hash(*hash, lanes, sizeof lanes);
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

/* ---- in blocks ---------------------------------------------------------------------------------------------------------- */

enum { BLOCK = 1 << 20 }; /* numbers of a block, or one row if a row has more */

static ptrdiff_t rows_of_block(const RelnArray *info)
{
    const ptrdiff_t size = reln_array_row_size(info);

    return size > 0 && size < BLOCK ? BLOCK / size : 1;
}

static ptrdiff_t blocks_of(const RelnArray *info)
{
    const ptrdiff_t rows = reln_array_rows(info), each = rows_of_block(info);

    return rows / each + (rows % each > 0);
}

static RelnStatus hash_block(RelnArchive *archive, int index, RelnCtx *ctx, ptrdiff_t block,
                             uint64_t *hash)
{
    const RelnArray *info = reln_archive_info(archive, index);
    const ptrdiff_t rows = reln_array_rows(info), each = rows_of_block(info), first = block * each;
    const ptrdiff_t end = rows - first < each ? rows : first + each;
    uint64_t lanes[4] = {1, 2, 3, 4};
    const RelnStatus status = mix_rows(archive, index, ctx, first, end, lanes);

    *hash = reln_hash(RELN_HASH_SEED, lanes, sizeof lanes);
    return status;
}

/* Hashes the blocks first .. end-1, numbered through all arrays. */
static RelnStatus hash_blocks(RelnArchive *archive, RelnCtx *ctx, ptrdiff_t first, ptrdiff_t end,
                              uint64_t *hashes)
{
    ptrdiff_t at = 0;

    for (int i = 0; i < reln_archive_count(archive); i++) {
        const ptrdiff_t n = blocks_of(reln_archive_info(archive, i));

        for (ptrdiff_t b = first > at ? first - at : 0; b < n && at + b < end; b++)
            RELN_TRY(hash_block(archive, i, ctx, b, &hashes[at + b]));
        at += n;
    }
    return RELN_OK;
}

/* Each rank hashes a part of the blocks; the hash of all hashes does not depend on how many ranks there are. */
static RelnStatus hash_in_blocks(RelnArchive *archive, const RelnComm *comm, RelnCtx *ctx,
                                 uint64_t *out)
{
    const int rank = reln_comm_rank(comm), size = reln_comm_size(comm);
    size_t *begin = reln_alloc(ctx, (size_t)size + 1, sizeof *begin);
    uint64_t *hashes = NULL;
    ptrdiff_t n = 0;
    RelnStatus status = begin ? RELN_OK : RELN_ERR_NOMEM;

    for (int i = 0; i < reln_archive_count(archive); i++)
        n += blocks_of(reln_archive_info(archive, i));
    hashes = reln_alloc(ctx, (size_t)n, sizeof *hashes);
    if (!hashes)
        status = RELN_ERR_NOMEM;
    if (status == RELN_OK)
        status = hash_blocks(archive, ctx, reln_comm_part(comm, n, rank),
                             reln_comm_part(comm, n, rank + 1), hashes);
    status = reln_comm_agree(comm, ctx, status);
    for (int r = 0; r <= size && status == RELN_OK; r++)
        begin[r] = (size_t)reln_comm_part(comm, n, r) * sizeof *hashes;
    if (status == RELN_OK)
        status = reln_comm_gather(comm, ctx, hashes, begin);
    if (status == RELN_OK)
        *out = reln_hash(*out, hashes, (size_t)n * sizeof *hashes);
    reln_free(ctx, hashes);
    reln_free(ctx, begin);
    return status;
}

uint64_t reln_archive_layout(const RelnArchive *archive)
{
    uint64_t hash = RELN_HASH_SEED;

    for (int i = 0; i < reln_archive_count(archive); i++) {
        const RelnArray *info = reln_archive_info(archive, i);

        hash = reln_hash(hash, info->name, strlen(info->name));
        hash = reln_hash(hash, info->dims, (size_t)info->rank * sizeof *info->dims);
    }
    return hash;
}

RelnStatus reln_archive_fingerprint(RelnArchive *archive, const RelnComm *comm, RelnCtx *ctx,
                                    int version, uint64_t *out)
{
    if (version == RELN_FINGERPRINT) {
        *out = reln_archive_layout(archive);
        return hash_in_blocks(archive, comm, ctx, out);
    }
    *out = RELN_HASH_SEED;
    for (int i = 0; i < reln_archive_count(archive); i++) {
        const RelnArray *info = reln_archive_info(archive, i);

        *out = reln_hash(*out, info->name, strlen(info->name));
        *out = reln_hash(*out, info->dims, (size_t)info->rank * sizeof *info->dims);
        RELN_TRY((version == 1 ? hash_some : hash_all)(archive, i, ctx, out));
    }
    return RELN_OK;
}
