/* fingerprint.c -- a number that tells whether data are those that a run began with. */
#include <string.h>

#include "fit/fit.h"

enum {
    LOOKED_AT = 1 << 20
}; /* numbers of an array that are looked at; of larger ones, rows far apart */

static RelnStatus hash_rows(RelnArchive *archive, int index, RelnCtx *ctx, uint64_t *hash)
{
    const RelnArchiveInfo *info = reln_archive_info(archive, index);
    const ptrdiff_t size = info->n_rows * info->row_size;
    const ptrdiff_t stride = size > LOOKED_AT ? size / LOOKED_AT + 1 : 1;
    double *row = reln_alloc_raw(ctx, (size_t)info->row_size, sizeof *row);
    RelnStatus status = row ? RELN_OK : RELN_ERR_NOMEM;

    for (ptrdiff_t i = 0; i < info->n_rows && status == RELN_OK; i += stride) {
        status = reln_archive_range(archive, index, i, 1, row);
        if (status == RELN_OK)
            *hash = reln_hash(*hash, row, (size_t)info->row_size * sizeof *row);
    }
    reln_free(ctx, row);
    return status;
}

RelnStatus reln_archive_fingerprint(RelnArchive *archive, RelnCtx *ctx, uint64_t *out)
{
    *out = RELN_HASH_SEED;
    for (int i = 0; i < reln_archive_count(archive); i++) {
        const RelnArchiveInfo *info = reln_archive_info(archive, i);

        *out = reln_hash(*out, info->name, strlen(info->name));
        *out = reln_hash(*out, info->dims, (size_t)info->rank * sizeof *info->dims);
        RELN_TRY(hash_rows(archive, i, ctx, out));
    }
    return RELN_OK;
}
