/* safetensors.c -- named arrays in one file.
 *
 *     header length (8 bytes, little-endian)
 *     {"__metadata__": {"key": "text", ...}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
 *     spaces, up to a multiple of 64 bytes from the beginning; the numbers, without gaps
 *
 * Files written by this library have two texts of their own in the metadata. "reln.sha256" is the SHA-256 of the whole file,
 * computed with 64 zeros in place of the digits. "reln.writer" is a second mark: if a changed bit destroys one of the two
 * marks, the other one remains, and the file is refused.
 */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/sort.h"
#include "io/doc.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "io/sha256.h"
#include "io/tensors.h"
#include "io/text.h"
#include "kit/files.h"
#include "reln/io.h"

struct RelnTensors {
    RelnCtx *ctx;
    RelnDoc *header;     /* holds the names and texts */
    unsigned char *data; /* the numbers as one block */
    RelnArena moved;     /* arrays that are not aligned in `data` */
    int n;
    RelnArray *arrays;
    const void **by_name; /* the arrays sorted by name */
    RelnMetaItem *items;
    RelnMeta meta;
    bool verified;
};

void reln_tensors_destroy(RelnTensors *t)
{
    if (!t)
        return;
    reln_doc_destroy(t->header);
    reln_free(t->ctx, t->data);
    reln_arena_clear(&t->moved);
    reln_free(t->ctx, t->arrays);
    reln_free(t->ctx, t->by_name);
    reln_free(t->ctx, t->items);
    reln_free(t->ctx, t);
}

/* ---- the checksum ----------------------------------------------------------------------------------------------- */

static bool is_ours(const RelnDocNode *root)
{
    const RelnDocNode *const meta = reln_doc_get(root, metadata_key);

    for (const RelnDocNode *item = meta ? meta->first : NULL; item; item = item->next)
        if (strncmp(item->key, own_prefix, strlen(own_prefix)) == 0)
            return true;
    return false;
}

/* An Input is a file, or bytes in memory. */
typedef struct Input {
    RelnCtx *ctx;
    const char *what;
    size_t n_bytes;
    const unsigned char *bytes; /* NULL: read from the file */
    const RelnSource *source;
} Input;

static RelnStatus fetch(const Input *in, size_t offset, size_t n_bytes, void *to)
{
    if (!in->bytes)
        return reln_source_read(in->source, offset, n_bytes, to);
    if (n_bytes > 0)
        memcpy(to, in->bytes + offset, n_bytes);
    return RELN_OK;
}

/* Hashes the numbers in pieces, from the file or from memory. */
static RelnStatus hash_data(RelnSha256 *s, const Input *in, size_t begin, size_t n_bytes)
{
    unsigned char piece[4096];

    if (in->bytes) {
        reln_sha256_feed(s, in->bytes + begin, n_bytes);
        return RELN_OK;
    }
    for (size_t at = 0, n; at < n_bytes; at += n) {
        n = n_bytes - at < sizeof piece ? n_bytes - at : sizeof piece;
        RELN_TRY(fetch(in, begin + at, n, piece));
        reln_sha256_feed(s, piece, n);
    }
    return RELN_OK;
}

/* Verifies the checksum of a file written by this library: its header, and the numbers from `begin` on in
 * `in`. */
static RelnStatus verify(const Input *in, const RelnDocNode *root, const char *header,
                         size_t n_header, size_t begin, bool *verified)
{
    const char *const digits = reln_safetensors_sum(header, n_header);
    char sum[RELN_SHA256_HEX + 1];
    RelnSha256 s;

    *verified = false;
    if (!is_ours(root))
        return RELN_OK;
    if (!digits)
        return reln_fail(in->ctx, RELN_ERR_FORMAT, "%s: a file of ours without its checksum",
                         in->what);
    reln_safetensors_hash(&s, header, n_header, digits);
    RELN_TRY(hash_data(&s, in, begin, in->n_bytes - begin));
    reln_sha256_end(&s, sum);
    if (memcmp(sum, digits, RELN_SHA256_HEX) != 0)
        return reln_fail(in->ctx, RELN_ERR_FORMAT,
                         "%s: damaged: its checksum is %.16s..., it says %s", in->what, sum,
                         reln_quote(digits, 16).text);
    *verified = true;
    return RELN_OK;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static RelnStatus read_lead(const Input *in, size_t *n_header)
{
    unsigned char lead[LEAD];
    uint64_t length = 0;

    if (in->n_bytes < LEAD)
        return reln_fail(in->ctx, RELN_ERR_FORMAT, "%s: %zu bytes, too short for .safetensors",
                         in->what, in->n_bytes);
    RELN_TRY(fetch(in, 0, LEAD, lead));
    for (int i = LEAD; i-- > 0;)
        length = length << 8 | lead[i];
    if (length > in->n_bytes - LEAD || length > MAX_HEADER)
        return reln_fail(
            in->ctx, RELN_ERR_FORMAT,
            "%s: no .safetensors, or broken: header of %llu bytes; %zu follow and %d are allowed",
            in->what, (unsigned long long)length, in->n_bytes - LEAD, (int)MAX_HEADER);
    *n_header = (size_t)length;
    return RELN_OK;
}

/* Sets the values of an array: in place, or copied to an aligned address. */
static RelnStatus place(RelnTensors *t, const Entry *e, RelnArray *out)
{
    unsigned char *values = t->data + e->begin;

    *out = e->array;
    if (e->begin % e->width != 0)
        values = reln_arena_copy(&t->moved, values, e->end - e->begin, 1);
    if (!values)
        return RELN_ERR_NOMEM;
    reln_file_order(values, e->end - e->begin, e->width);
    out->values = values;
    return RELN_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const RelnArray *const *)a)->name, (*(const RelnArray *const *)b)->name);
}

static RelnStatus place_all(RelnTensors *t, const Entry *entries)
{
    for (int i = 0; i < t->n; i++) {
        RELN_TRY(place(t, &entries[i], &t->arrays[i]));
        t->by_name[i] = &t->arrays[i];
    }
    reln_sort(t->by_name, (size_t)t->n, sizeof *t->by_name, by_name);
    return RELN_OK;
}

/* Reads the metadata, without the two texts of this library. */
static RelnStatus read_metadata(RelnTensors *t)
{
    const RelnDocNode *const meta = reln_doc_get(reln_doc_root(t->header), metadata_key);

    t->items = reln_alloc(t->ctx, meta ? (size_t)meta->count : 0, sizeof *t->items);
    if (!t->items)
        return RELN_ERR_NOMEM;
    for (const RelnDocNode *item = meta ? meta->first : NULL; item; item = item->next)
        if (strcmp(item->key, sum_key) != 0 && strcmp(item->key, writer_key) != 0)
            t->items[t->meta.n++] = (RelnMetaItem){item->key, item->text};
    t->meta.items = t->items;
    return RELN_OK;
}

/* The entries are needed only until the arrays have their values. */
static RelnStatus read_arrays(RelnTensors *t, const char *what, size_t n_data)
{
    const RelnDocNode *const root = reln_doc_root(t->header);
    Entry *entries = reln_alloc(t->ctx, (size_t)root->count, sizeof *entries);
    RelnStatus status = RELN_ERR_NOMEM;

    if (entries)
        t->by_name = reln_alloc(t->ctx, (size_t)root->count, sizeof *t->by_name);
    if (t->by_name)
        t->arrays = reln_alloc(t->ctx, (size_t)root->count, sizeof *t->arrays);
    if (t->arrays)
        status = reln_safetensors_entries(t->ctx, what, root, n_data, entries, t->by_name, &t->n);
    if (status == RELN_OK)
        status = place_all(t, entries);
    reln_free(t->ctx, entries);
    return status;
}

static RelnStatus read_rest(RelnTensors *t, const Input *in, char *header, size_t n_header)
{
    const size_t begin = LEAD + n_header, n_data = in->n_bytes - begin;

    RELN_TRY(fetch(in, LEAD, n_header, header));
    RELN_TRY(reln_safetensors_header(in->ctx, in->what, header, n_header, &t->header));
    t->data = reln_alloc_raw(in->ctx, n_data, 1);
    if (!t->data)
        return RELN_ERR_NOMEM;
    RELN_TRY(fetch(in, begin, n_data, t->data));
    RELN_TRY(verify(&(Input){in->ctx, in->what, n_data, t->data, NULL}, reln_doc_root(t->header),
                    header, n_header, 0, &t->verified));
    RELN_TRY(read_arrays(t, in->what, n_data));
    return read_metadata(t);
}

static RelnStatus read_tensors(const Input *in, RelnTensors *t)
{
    size_t n_header = 0;
    char *header;
    RelnStatus status;

    RELN_TRY(read_lead(in, &n_header));
    header = reln_alloc_raw(in->ctx, n_header, 1);
    if (!header)
        return RELN_ERR_NOMEM;
    status = read_rest(t, in, header, n_header);
    reln_free(in->ctx, header);
    return status;
}

/* ---- offsets only ------------------------------------------------------------------------------------------------ */

typedef struct Index {
    Input in;
    char *header;
    size_t n_header;
    RelnDoc *doc;
    Entry *entries;
    const void **sorted;
    int n;
} Index;

static RelnStatus read_index(Index *x)
{
    const Input *const in = &x->in;
    const size_t begin = LEAD + x->n_header;
    const RelnDocNode *root;
    bool verified = false;

    RELN_TRY(fetch(in, LEAD, x->n_header, x->header));
    RELN_TRY(reln_safetensors_header(in->ctx, in->what, x->header, x->n_header, &x->doc));
    root = reln_doc_root(x->doc);
    RELN_TRY(verify(in, root, x->header, x->n_header, begin, &verified));
    x->entries = reln_alloc(in->ctx, (size_t)root->count, sizeof *x->entries);
    x->sorted = x->entries ? reln_alloc(in->ctx, (size_t)root->count, sizeof *x->sorted) : NULL;
    if (!x->sorted)
        return RELN_ERR_NOMEM;
    return reln_safetensors_entries(in->ctx, in->what, root, in->n_bytes - begin, x->entries,
                                    x->sorted, &x->n);
}

RelnStatus reln_tensors_index(const RelnSource *source, RelnStatus (*count)(void *, int),
                              RelnStatus (*take)(void *, const RelnArray *, uint64_t), void *self)
{
    Index x = {.in = {source->ctx, source->name, source->n_bytes, NULL, source}};
    RelnStatus status;

    RELN_TRY(read_lead(&x.in, &x.n_header));
    x.header = reln_alloc_raw(source->ctx, x.n_header, 1);
    status = x.header ? read_index(&x) : RELN_ERR_NOMEM;
    if (status == RELN_OK)
        status = count(self, x.n);
    for (int i = 0; i < x.n && status == RELN_OK; i++)
        status = take(self, &x.entries[i].array, LEAD + x.n_header + x.entries[i].begin);
    reln_free(source->ctx, x.sorted);
    reln_free(source->ctx, x.entries);
    reln_doc_destroy(x.doc);
    reln_free(source->ctx, x.header);
    return status;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static RelnStatus create(const Input *in, RelnTensors **out)
{
    RelnTensors *t = reln_alloc(in->ctx, 1, sizeof *t);
    RelnStatus status;

    if (!t)
        return RELN_ERR_NOMEM;
    t->ctx = in->ctx;
    reln_arena_init(&t->moved, in->ctx);
    status = read_tensors(in, t);
    if (status == RELN_OK)
        *out = t;
    else
        reln_tensors_destroy(t);
    return status;
}

RelnStatus reln_tensors_parse(RelnCtx *ctx, const void *bytes, size_t n_bytes, const char *what,
                              RelnTensors **out)
{
    const Input in = {ctx, what, n_bytes, bytes ? bytes : "", NULL};

    RELN_NEED(ctx && (bytes || n_bytes == 0) && what && out, reln_null(ctx, __func__));
    *out = NULL;
    return create(&in, out);
}

RelnStatus reln_tensors_load(RelnCtx *ctx, const char *path, RelnTensors **out)
{
    RelnSource source;
    RelnStatus status;

    RELN_NEED(ctx && path && out, reln_null(ctx, __func__));
    *out = NULL;
    RELN_TRY(reln_source_open(ctx, path, &source));
    status = create(&(Input){ctx, source.name, source.n_bytes, NULL, &source}, out);
    reln_source_close(&source);
    return status;
}

/* Loads the previous file. Whether this succeeds or not, the message stays that of the first failure, which
 * is the useful one. */
static RelnStatus load_previous(RelnCtx *ctx, const char *path, RelnStatus first, RelnTensors **out)
{
    static const char suffix[] = ".previous";
    const size_t size = strlen(path) + sizeof suffix;
    char *name = reln_alloc(ctx, size, 1), *message = NULL;
    RelnStatus status = RELN_ERR_NOMEM;

    if (name)
        message = reln_alloc(ctx, strlen(reln_ctx_error(ctx)) + 1, 1);
    if (message) {
        memcpy(message, reln_ctx_error(ctx), strlen(reln_ctx_error(ctx)) + 1);
        snprintf(name, size, "%s%s", path, suffix);
        status = reln_tensors_load(ctx, name, out);
        if (status != RELN_ERR_NOMEM)
            reln_fail(ctx, first, "%s", message);
    }
    reln_free(ctx, message);
    reln_free(ctx, name);
    return status == RELN_OK || status == RELN_ERR_NOMEM ? status : first;
}

RelnStatus reln_tensors_load_or_previous(RelnCtx *ctx, const char *path, RelnTensors **out,
                                         bool *previous)
{
    RELN_NEED(ctx && path && out && previous, reln_null(ctx, __func__));

    RelnStatus status = reln_tensors_load(ctx, path, out);

    *previous = false;
    if (status == RELN_OK || status == RELN_ERR_NOMEM)
        return status;
    status = load_previous(ctx, path, status, out);
    *previous = status == RELN_OK;
    return status;
}

int reln_tensors_count(const RelnTensors *t)
{
    return t ? t->n : 0;
}

const RelnArray *reln_tensors_get(const RelnTensors *t, int index)
{
    return t && index >= 0 && index < t->n ? &t->arrays[index] : NULL;
}

const RelnArray *reln_tensors_find(const RelnTensors *t, const char *name)
{
    RELN_NEED(t && name, NULL);

    int low = 0, high = t->n;

    while (low < high) {
        const int middle = low + (high - low) / 2;
        const RelnArray *const at = t->by_name[middle];
        const int order = strcmp(name, at->name);

        if (order == 0)
            return at;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const RelnMeta *reln_tensors_metadata(const RelnTensors *t)
{
    return t ? &t->meta : NULL;
}

const char *reln_tensors_meta(const RelnTensors *t, const char *key)
{
    RELN_NEED(t && key, NULL);

    for (int i = 0; i < t->meta.n; i++)
        if (strcmp(t->items[i].key, key) == 0)
            return t->items[i].value;
    return NULL;
}

bool reln_tensors_verified(const RelnTensors *t)
{
    return t && t->verified;
}
