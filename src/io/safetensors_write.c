/* safetensors_write.c -- named arrays into a .safetensors file, replaced whole. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "io/doc.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "io/sha256.h"
#include "io/text.h"
#include "kit/files.h"
#include "reln/io.h"

enum { CHUNK = 65536 /* bytes at a time, a multiple of every width */ };

/* A save: what, where, and the header as text. */
typedef struct Output {
    RelnCtx *ctx;
    const char *path;
    int n;
    const RelnNamed *arrays;
    const RelnMeta *meta;
    RelnText header;
    size_t n_data;
    unsigned char *buffer;
} Output;

static int kind_of(RelnDtype dtype)
{
    int i = 0;

    while (i < N_KINDS && kinds[i].dtype != dtype)
        i++;
    return i;
}

static size_t width_of(const RelnNamed *a)
{
    return kinds[kind_of(a->dtype)].width;
}

/* Of an array that was checked. */
static size_t bytes_of(const RelnNamed *a)
{
    ptrdiff_t count = 0;

    reln_dims_count(a->rank, a->dims, &count);
    return (size_t)count * width_of(a);
}

static RelnStatus check_array(const Output *o, int i)
{
    const RelnNamed *a = &o->arrays[i];
    ptrdiff_t count = 0;

    if (!a->name || !reln_utf8_valid(a->name, strlen(a->name)) ||
        strcmp(a->name, metadata_key) == 0)
        return reln_fail(o->ctx, RELN_ERR_ARG, "%s: array %d has no name that can be written",
                         o->path, i);
    if (kind_of(a->dtype) == N_KINDS || a->rank < 0 || a->rank > RELN_NAMED_MAX_RANK)
        return reln_fail(o->ctx, RELN_ERR_ARG, "%s: array '%s' has dtype %s and rank %d", o->path,
                         a->name, reln_dtype_text(a->dtype), a->rank);
    for (int d = 0; d < a->rank; d++)
        if (a->dims[d] < 0)
            return reln_fail(o->ctx, RELN_ERR_ARG, "%s: axis %d of array '%s' has extent %td",
                             o->path, d, a->name, a->dims[d]);
    if (!reln_dims_count(a->rank, a->dims, &count) || count > PTRDIFF_MAX / 8 ||
        (count > 0 && !a->values))
        return reln_fail(o->ctx, RELN_ERR_ARG, "%s: array '%s' is too large or has no values",
                         o->path, a->name);
    return RELN_OK;
}

static RelnStatus check_meta(const Output *o, const RelnMetaItem *item)
{
    if (!item->key || !item->value || !reln_utf8_valid(item->key, strlen(item->key)) ||
        !reln_utf8_valid(item->value, strlen(item->value)))
        return reln_fail(o->ctx, RELN_ERR_ARG, "%s: metadata '%s' is not valid text", o->path,
                         item->key ? reln_quote(item->key, strlen(item->key)).text : "");
    if (strcmp(item->key, sum_key) == 0 || strcmp(item->key, writer_key) == 0)
        return reln_fail(o->ctx, RELN_ERR_ARG, "%s: metadata '%s' is written by itself", o->path,
                         item->key);
    return RELN_OK;
}

static RelnStatus check_saved(Output *o)
{
    if (o->n < 0 || o->n > MAX_TENSORS)
        return reln_fail(o->ctx, RELN_ERR_ARG, "%s: %d arrays; wanted at most %d", o->path, o->n,
                         (int)MAX_TENSORS);
    for (int i = 0; i < o->n; i++) {
        RELN_TRY(check_array(o, i));
        if (__builtin_add_overflow(o->n_data, bytes_of(&o->arrays[i]), &o->n_data))
            return reln_fail(o->ctx, RELN_ERR_ARG, "%s: the arrays are too large", o->path);
    }
    for (int i = 0; i < o->meta->n; i++)
        RELN_TRY(check_meta(o, &o->meta->items[i]));
    return RELN_OK;
}

static void put_pair(RelnText *text, const char *key, const char *value)
{
    reln_text_put_quoted(text, key);
    reln_text_puts(text, ":");
    reln_text_put_quoted(text, value);
}

static void put_metadata(Output *o)
{
    RelnText *const text = &o->header;

    reln_text_puts(text, "{\"__metadata__\":{");
    put_pair(text, sum_key, zeros);
    reln_text_puts(text, ",");
    put_pair(text, writer_key, reln_version());
    for (int i = 0; i < o->meta->n; i++) {
        reln_text_puts(text, ",");
        put_pair(text, o->meta->items[i].key, o->meta->items[i].value);
    }
    reln_text_puts(text, "}");
}

static void put_entry(RelnText *text, const RelnNamed *a, size_t begin)
{
    char number[80];

    reln_text_puts(text, ",");
    reln_text_put_quoted(text, a->name);
    reln_text_puts(text, ":{\"dtype\":");
    reln_text_put_quoted(text, kinds[kind_of(a->dtype)].name);
    reln_text_puts(text, ",\"shape\":[");
    for (int d = 0; d < a->rank; d++) {
        snprintf(number, sizeof number, d > 0 ? ",%td" : "%td", a->dims[d]);
        reln_text_puts(text, number);
    }
    snprintf(number, sizeof number, "],\"data_offsets\":[%zu,%zu]}", begin, begin + bytes_of(a));
    reln_text_puts(text, number);
}

/* There are no gaps, so the wide numbers go first: then every number lies at a multiple of its width. */
static void put_entries(Output *o)
{
    size_t wide = 0, narrow = 0;

    for (int i = 0; i < o->n; i++)
        narrow += width_of(&o->arrays[i]) == 8 ? bytes_of(&o->arrays[i]) : 0;
    for (int i = 0; i < o->n; i++) {
        size_t *const at = width_of(&o->arrays[i]) == 8 ? &wide : &narrow;

        put_entry(&o->header, &o->arrays[i], *at);
        *at += bytes_of(&o->arrays[i]);
    }
    reln_text_puts(&o->header, "}");
    while (!o->header.failed && (LEAD + o->header.n) % RELN_ALIGN != 0)
        reln_text_puts(&o->header, " ");
}

static RelnStatus check_entries(const Output *o, const RelnDocNode *root)
{
    Entry *entries = reln_alloc(o->ctx, (size_t)o->n, sizeof *entries);
    const void **sorted = entries ? reln_alloc(o->ctx, (size_t)o->n, sizeof *sorted) : NULL;
    RelnStatus status = RELN_ERR_NOMEM;
    int n = 0;

    if (sorted)
        status = reln_safetensors_entries(o->ctx, o->path, root, o->n_data, entries, sorted, &n);
    reln_free(o->ctx, sorted);
    reln_free(o->ctx, entries);
    return status;
}

/* What the reader would refuse is not written: names twice, too long ... */
static RelnStatus check_header(const Output *o)
{
    RelnDoc *doc = NULL;
    RelnStatus status =
        reln_safetensors_header(o->ctx, o->path, o->header.bytes, o->header.n, &doc);

    if (status == RELN_OK)
        status = check_entries(o, reln_doc_root(doc));
    reln_doc_destroy(doc);
    return status == RELN_ERR_FORMAT ? RELN_ERR_ARG : status;
}

static RelnStatus make_header(Output *o)
{
    put_metadata(o);
    put_entries(o);
    if (o->header.failed)
        return RELN_ERR_NOMEM;
    if (o->header.n > MAX_HEADER)
        return reln_fail(o->ctx, RELN_ERR_ARG, "%s: header of %zu bytes; %d are allowed", o->path,
                         o->header.n, (int)MAX_HEADER);
    return check_header(o);
}

/* Gives the numbers of an array to a file or to a checksum, piece by piece in the order of the file's bytes. */
static RelnStatus pass_array(const Output *o, const RelnNamed *a, RelnSha256 *sum,
                             const RelnReplace *file)
{
    const unsigned char *values = a->values;
    const size_t n_bytes = bytes_of(a);

    for (size_t at = 0, n; at < n_bytes; at += n) {
        n = n_bytes - at < CHUNK ? n_bytes - at : CHUNK;
        memcpy(o->buffer, values + at, n);
        reln_file_order(o->buffer, n, width_of(a));
        if (sum)
            reln_sha256_feed(sum, o->buffer, n);
        else
            RELN_TRY(reln_replace_write(file, o->buffer, n));
    }
    return RELN_OK;
}

static RelnStatus pass_data(const Output *o, RelnSha256 *sum, const RelnReplace *file)
{
    for (size_t width = 8; width >= 4; width /= 2)
        for (int i = 0; i < o->n; i++)
            if (width_of(&o->arrays[i]) == width)
                RELN_TRY(pass_array(o, &o->arrays[i], sum, file));
    return RELN_OK;
}

static RelnStatus set_sum(Output *o)
{
    const char *const digits = reln_safetensors_sum(o->header.bytes, o->header.n);
    char sum[RELN_SHA256_HEX + 1];
    RelnSha256 s;

    reln_safetensors_hash(&s, o->header.bytes, o->header.n, digits);
    RELN_TRY(pass_data(o, &s, NULL));
    reln_sha256_end(&s, sum);
    memcpy(o->header.bytes + (digits - o->header.bytes), sum, RELN_SHA256_HEX);
    return RELN_OK;
}

static RelnStatus write_all(const Output *o, const RelnReplace *file)
{
    unsigned char lead[LEAD];

    reln_safetensors_lead(o->header.n, lead);
    RELN_TRY(reln_replace_write(file, lead, LEAD));
    RELN_TRY(reln_replace_write(file, o->header.bytes, o->header.n));
    return pass_data(o, NULL, file);
}

static RelnStatus replace_file(const Output *o, bool keep)
{
    RelnReplace file;
    RelnStatus status;

    RELN_TRY(reln_replace_begin(o->ctx, o->path, &file));
    file.keep = keep;
    status = write_all(o, &file);
    if (status == RELN_OK)
        return reln_replace_commit(&file);
    reln_replace_abort(&file);
    return status;
}

static RelnStatus save(Output *o, bool keep)
{
    RELN_TRY(check_saved(o));
    RELN_TRY(make_header(o));
    o->buffer = reln_alloc_raw(o->ctx, CHUNK, 1);
    if (!o->buffer)
        return RELN_ERR_NOMEM;
    RELN_TRY(set_sum(o));
    return replace_file(o, keep);
}

static RelnStatus save_tensors(RelnCtx *ctx, const char *path, int n, const RelnNamed *arrays,
                               const RelnMeta *meta, bool keep)
{
    static const RelnMeta none = {0, NULL};
    Output o = {.ctx = ctx, .path = path, .n = n, .arrays = arrays, .meta = meta ? meta : &none};
    RelnStatus status;

    RELN_NEED(ctx && path && (arrays || n <= 0) && (o.meta->items || o.meta->n <= 0),
              reln_null(ctx, "reln_tensors_save"));
    reln_text_init(&o.header, ctx);
    status = save(&o, keep);
    reln_free(ctx, o.buffer);
    reln_text_clear(&o.header);
    return status;
}

RelnStatus reln_tensors_save(RelnCtx *ctx, const char *path, int n, const RelnNamed *arrays,
                             const RelnMeta *meta)
{
    return save_tensors(ctx, path, n, arrays, meta, false);
}

RelnStatus reln_tensors_save_keeping(RelnCtx *ctx, const char *path, int n, const RelnNamed *arrays,
                                     const RelnMeta *meta)
{
    return save_tensors(ctx, path, n, arrays, meta, true);
}
