/* store_file.c -- saves a user's store of weights as one file, and loads it. */
#include <string.h>

#include "graph/graph.h"
#include "reln/fit.h"

static bool is_kept(const RelnEntryInfo *entry)
{
    return entry->kind != RELN_ENTRY_MOMENT;
}

RelnStatus reln_store_save(const RelnStore *store, const char *path)
{
    RELN_NEED(store && path, store ? reln_null(store->ctx, __func__) : RELN_ERR_ARG);

    const int count = reln_store_count(store);
    RelnArray *arrays = reln_alloc(store->ctx, (size_t)count, sizeof *arrays);
    RelnStatus status;
    int n = 0;

    if (!arrays)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < count; i++) {
        const RelnEntryInfo entry = reln_store_entry(store, i);

        if (is_kept(&entry))
            arrays[n++] = reln_entry_array(&entry);
    }
    status = reln_tensors_save(store->ctx, path, n, arrays, NULL);
    reln_free(store->ctx, arrays);
    return status;
}

/* Finds the array of an entry, which must have the same dtype and extents (P, Q, R, K, C). */
static RelnStatus find_array(const RelnStore *store, const RelnTensors *file,
                             const RelnEntryInfo *entry, const char *path, const RelnArray **out)
{
    const RelnArray wanted = reln_entry_array(entry);
    const RelnArray *x = reln_tensors_find(file, entry->name);
    bool fits = x && x->dtype == wanted.dtype && x->rank == wanted.rank;

    for (int i = 0; i < wanted.rank && fits; i++)
        fits = x->dims[i] == wanted.dims[i];
    *out = x;
    if (fits)
        return RELN_OK;
    return reln_fail(store->ctx, RELN_ERR_FORMAT,
                     x ? "%s: array %s is not of the shape and dtype that the network has"
                       : "%s: there is no array %s, which the network has",
                     path, entry->name);
}

static RelnStatus take(const RelnStore *store, const RelnTensors *file, const char *path, bool copy)
{
    for (int i = 0; i < reln_store_count(store); i++) {
        const RelnEntryInfo entry = reln_store_entry(store, i);
        const RelnArray *x = NULL;

        if (!is_kept(&entry))
            continue;
        RELN_TRY(find_array(store, file, &entry, path, &x));
        if (copy)
            memcpy(entry.values, x->values, entry.count * (entry.dtype == RELN_F64 ? 8 : 4));
    }
    return RELN_OK;
}

/* Checks all arrays first, then copies them: a file that does not fit changes nothing. */
RelnStatus reln_store_load(RelnStore *store, const char *path)
{
    RELN_NEED(store && path, store ? reln_null(store->ctx, __func__) : RELN_ERR_ARG);

    RelnTensors *file = NULL;
    RelnStatus status = reln_tensors_load(store->ctx, path, &file);

    if (status == RELN_OK)
        status = take(store, file, path, false);
    if (status == RELN_OK)
        status = take(store, file, path, true);
    reln_tensors_destroy(file);
    return status;
}
