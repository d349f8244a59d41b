/* feed.c -- a file of arrays as a source of rows. */
#include <string.h>

#include "fit/fit.h"

static int find(void *self, const char *name, RelnDataArray *out)
{
    const RelnArchive *archive = self;
    const int index = reln_archive_find(archive, name);
    const RelnArchiveInfo *info = index < 0 ? NULL : reln_archive_info(archive, index);

    if (!info)
        return -1;
    out->rank = info->rank;
    memcpy(out->dims, info->dims, sizeof out->dims);
    return index;
}

static RelnStatus read_rows(void *self, int array, ptrdiff_t first, ptrdiff_t count, double *out)
{
    return reln_archive_range(self, array, first, count, out);
}

RelnStatus reln_feed_open(RelnCtx *ctx, const char *path, RelnFeed *out)
{
    *out = (RelnFeed){0};
    RELN_TRY(reln_archive_open(ctx, path, &out->archive));
    out->source = (RelnDataSource){path, out->archive, find, read_rows};
    return RELN_OK;
}

void reln_feed_close(RelnFeed *feed)
{
    reln_archive_destroy(feed->archive);
    *feed = (RelnFeed){0};
}

/* ---- fingerprint ----------------------------------------------------------------------------------------------------- */

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

RelnStatus reln_feed_fingerprint(const RelnFeed *feed, RelnCtx *ctx, uint64_t *out)
{
    *out = RELN_HASH_SEED;
    for (int i = 0; i < reln_archive_count(feed->archive); i++) {
        const RelnArchiveInfo *info = reln_archive_info(feed->archive, i);

        *out = reln_hash(*out, info->name, strlen(info->name));
        *out = reln_hash(*out, info->dims, (size_t)info->rank * sizeof *info->dims);
        RELN_TRY(hash_rows(feed->archive, i, ctx, out));
    }
    return RELN_OK;
}
