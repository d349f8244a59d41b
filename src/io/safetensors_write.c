/* safetensors_write.c -- writes named arrays to a .safetensors file, which is replaced whole. */
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

/* An Output is a save: the arrays, the path, and the header as text. */
typedef struct Output {
    RelnCtx *ctx;
    const char *path;
    int n;
    const RelnArray *arrays;
    const RelnMeta *meta;
    RelnText header;
    size_t n_data;
} Output;

static int kind_of(RelnDtype dtype)
{
    int i = 0;

    while (i < N_KINDS && kinds[i].dtype != dtype)
        i++;
    return i;
}

static size_t width_of(const RelnArray *a)
{
    return reln_kind_of(a->dtype)->width;
}

/* Returns the bytes of a checked array. */
static size_t bytes_of(const RelnArray *a)
{
    return (size_t)reln_array_count(a) * width_of(a);
}

static RelnStatus check_name(const Output *o, int i)
{
    const char *const name = o->arrays[i].name;

    return name && reln_utf8_valid(name, strlen(name)) && strcmp(name, metadata_key) != 0
               ? RELN_OK
               : reln_fail(o->ctx, RELN_ERR_ARG, "%s: array %d has no name that can be written",
                           o->path, i);
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
        size_t n_bytes = 0;

        RELN_TRY(check_name(o, i));
        RELN_TRY(reln_array_check(o->ctx, o->path, &o->arrays[i], &n_bytes));
        if (__builtin_add_overflow(o->n_data, n_bytes, &o->n_data))
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

static void put_entry(RelnText *text, const RelnArray *a, size_t begin)
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

/* Writes the entries of the header, wide numbers first. Arrays follow each other without gaps, so this order
 * puts every number at a multiple of its width. */
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

/* Refuses to write a header that the reader would refuse: duplicate names, names too long ... */
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

static RelnStatus to_sum(void *sum, const unsigned char *bytes, size_t n_bytes)
{
    reln_sha256_feed(sum, bytes, n_bytes);
    return RELN_OK;
}

/* Passes the numbers of all arrays, in the order of the file. */
static RelnStatus pass_data(const Output *o,
                            RelnStatus (*take)(void *, const unsigned char *, size_t), void *self)
{
    for (size_t width = 8; width >= 4; width /= 2)
        for (int i = 0; i < o->n; i++)
            if (width_of(&o->arrays[i]) == width)
                RELN_TRY(reln_array_pass(&o->arrays[i], take, self));
    return RELN_OK;
}

static RelnStatus set_sum(Output *o)
{
    const char *const digits = reln_safetensors_sum(o->header.bytes, o->header.n);
    char sum[RELN_SHA256_HEX + 1];
    RelnSha256 s;

    reln_safetensors_hash(&s, o->header.bytes, o->header.n, digits);
    RELN_TRY(pass_data(o, to_sum, &s));
    reln_sha256_end(&s, sum);
    memcpy(o->header.bytes + (digits - o->header.bytes), sum, RELN_SHA256_HEX);
    return RELN_OK;
}

static RelnStatus write_all(const Output *o, RelnReplace *file)
{
    unsigned char lead[LEAD];

    reln_safetensors_lead(o->header.n, lead);
    RELN_TRY(reln_replace_write(file, lead, LEAD));
    RELN_TRY(reln_replace_write(file, o->header.bytes, o->header.n));
    return pass_data(o, reln_array_to_file, file);
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
    RELN_TRY(set_sum(o));
    return replace_file(o, keep);
}

static RelnStatus save_tensors(RelnCtx *ctx, const char *path, int n, const RelnArray *arrays,
                               const RelnMeta *meta, bool keep)
{
    static const RelnMeta none = {0, NULL};
    Output o = {.ctx = ctx, .path = path, .n = n, .arrays = arrays, .meta = meta ? meta : &none};
    RelnStatus status;

    RELN_NEED(ctx && path && (arrays || n <= 0) && (o.meta->items || o.meta->n <= 0),
              reln_null(ctx, "reln_tensors_save"));
    reln_text_init(&o.header, ctx);
    status = save(&o, keep);
    reln_text_clear(&o.header);
    return status;
}

RelnStatus reln_tensors_save(RelnCtx *ctx, const char *path, int n, const RelnArray *arrays,
                             const RelnMeta *meta)
{
    return save_tensors(ctx, path, n, arrays, meta, false);
}

RelnStatus reln_tensors_save_keeping(RelnCtx *ctx, const char *path, int n, const RelnArray *arrays,
                                     const RelnMeta *meta)
{
    return save_tensors(ctx, path, n, arrays, meta, true);
}
