/* safetensors_header.c -- the header of a .safetensors file: its entries, and its part of the checksum. */
#include <string.h>

#include "base/base.h"
#include "base/sort.h"
#include "io/doc.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "io/sha256.h"
#include "io/text.h"

static RelnStatus bad_entry(RelnCtx *ctx, const Entry *e, const char *problem)
{
    return reln_fail(ctx, RELN_ERR_FORMAT, "%s: array '%s' %s", e->what,
                     reln_quote(e->array.name, strlen(e->array.name)).text, problem);
}

/* Reads a whole number without sign, point or exponent. */
static bool read_count(const RelnDocNode *node, size_t *out)
{
    *out = 0;
    if (node->kind != RELN_DOC_NUMBER)
        return false;
    for (const char *p = node->text; *p; p++)
        if (*p < '0' || *p > '9' || __builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, (size_t)(*p - '0'), out))
            return false;
    return *out <= PTRDIFF_MAX;
}

static RelnStatus read_dtype(RelnCtx *ctx, const RelnDocNode *node, Entry *e)
{
    if (!node || node->kind != RELN_DOC_TEXT)
        return bad_entry(ctx, e, "has no dtype");
    for (int i = 0; i < N_KINDS; i++)
        if (strcmp(node->text, kinds[i].name) == 0) {
            e->array.dtype = kinds[i].dtype;
            e->width = kinds[i].width;
            return RELN_OK;
        }
    return reln_fail(ctx, RELN_ERR_UNSUPPORTED,
                     "%s: array '%s' has dtype '%s'; wanted F32, F64, I32 or I64", e->what,
                     reln_quote(e->array.name, strlen(e->array.name)).text,
                     reln_quote(node->text, strlen(node->text)).text);
}

static RelnStatus read_shape(RelnCtx *ctx, const RelnDocNode *node, Entry *e)
{
    size_t extent = 0;

    if (!node || node->kind != RELN_DOC_LIST)
        return bad_entry(ctx, e, "has no shape");
    if (node->count > RELN_ARRAY_MAX_RANK)
        return bad_entry(ctx, e, "has more than 8 axes");
    for (const RelnDocNode *item = node->first; item; item = item->next) {
        if (!read_count(item, &extent))
            return bad_entry(ctx, e, "has a shape of other things than whole numbers");
        e->array.dims[e->array.rank++] = (ptrdiff_t)extent;
    }
    return RELN_OK;
}

/* Checks that the range is as long as the shape requires, to the byte. */
static RelnStatus read_range(RelnCtx *ctx, const RelnDocNode *node, Entry *e)
{
    const ptrdiff_t count = reln_array_count(&e->array);
    size_t n_bytes = 0;

    if (!node || node->kind != RELN_DOC_LIST || node->count != 2 ||
        !read_count(node->first, &e->begin) || !read_count(node->last, &e->end) ||
        e->end < e->begin)
        return bad_entry(ctx, e, "has no range of bytes");
    if (count < 0 || __builtin_mul_overflow((size_t)count, e->width, &n_bytes))
        return bad_entry(ctx, e, "has a shape that is too large");
    if (n_bytes != e->end - e->begin)
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: array '%s' needs %zu bytes and has %zu",
                         e->what, reln_quote(e->array.name, strlen(e->array.name)).text, n_bytes,
                         e->end - e->begin);
    return RELN_OK;
}

static RelnStatus read_entry(RelnCtx *ctx, const char *what, const RelnDocNode *node, Entry *e)
{
    const size_t length = strlen(node->key);

    *e = (Entry){.array = {.name = node->key}, .what = what};
    if (length == 0 || length > MAX_NAME)
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: an array's name has %zu bytes; wanted 1 to %d",
                         what, length, MAX_NAME);
    if (node->kind != RELN_DOC_MAP || node->count != 3)
        return bad_entry(ctx, e, "has other things than dtype, shape and data_offsets");
    RELN_TRY(read_dtype(ctx, reln_doc_get(node, "dtype"), e));
    RELN_TRY(read_shape(ctx, reln_doc_get(node, "shape"), e));
    return read_range(ctx, reln_doc_get(node, "data_offsets"), e);
}

/* Compares entries of one array by range, then by address, so that equal ranges stay in the order of the
 * header. */
static int by_range(const void *a, const void *b)
{
    const Entry *x = *(const Entry *const *)a, *y = *(const Entry *const *)b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return (x > y) - (x < y);
}

/* Checks that the ranges follow each other without gaps, from the first byte to the last. */
static RelnStatus check_cover(RelnCtx *ctx, const char *what, const void **entries, size_t n,
                              size_t n_data)
{
    size_t at = 0;

    reln_sort(entries, n, sizeof *entries, by_range);
    for (size_t i = 0; i < n; i++) {
        const Entry *const e = entries[i];

        if (e->begin != at)
            return reln_fail(ctx, RELN_ERR_FORMAT,
                             "%s: array '%s' begins at byte %zu of the numbers; wanted %zu", what,
                             reln_quote(e->array.name, strlen(e->array.name)).text, e->begin, at);
        at = e->end;
    }
    if (at != n_data)
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: arrays of %zu bytes, but %zu follow the header",
                         what, at, n_data);
    return RELN_OK;
}

RelnStatus reln_safetensors_entries(RelnCtx *ctx, const char *what, const RelnDocNode *root,
                                    size_t n_data, Entry *entries, const void **sorted, int *n)
{
    *n = 0;
    for (const RelnDocNode *node = root->first; node; node = node->next)
        if (strcmp(node->key, metadata_key) != 0) {
            RELN_TRY(read_entry(ctx, what, node, &entries[*n]));
            sorted[*n] = &entries[*n];
            ++*n;
        }
    return check_cover(ctx, what, sorted, (size_t)*n, n_data);
}

static RelnStatus check_root(RelnCtx *ctx, const char *what, const RelnDocNode *root)
{
    const RelnDocNode *const meta = reln_doc_get(root, metadata_key);

    if (root->kind != RELN_DOC_MAP || root->count > MAX_TENSORS + 1)
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: header with more than %d arrays", what,
                         MAX_TENSORS);
    if (meta && meta->kind != RELN_DOC_MAP)
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: metadata is %s; wanted a map", what,
                         reln_doc_kind_text(meta->kind));
    for (const RelnDocNode *item = meta ? meta->first : NULL; item; item = item->next)
        if (item->kind != RELN_DOC_TEXT)
            return reln_fail(ctx, RELN_ERR_FORMAT, "%s: metadata '%s' is %s; wanted a text", what,
                             reln_quote(item->key, strlen(item->key)).text,
                             reln_doc_kind_text(item->kind));
    return RELN_OK;
}

RelnStatus reln_safetensors_header(RelnCtx *ctx, const char *what, const char *text, size_t n_bytes,
                                   RelnDoc **out)
{
    *out = NULL;
    if (n_bytes == 0 || text[0] != '{')
        return reln_fail(ctx, RELN_ERR_FORMAT, "%s: not a .safetensors file (no '{' at byte %d)",
                         what, (int)LEAD);
    RELN_TRY(reln_doc_parse_json(ctx, text, n_bytes, what, out));
    return check_root(ctx, what, reln_doc_root(*out));
}

/* ---- the checksum ----------------------------------------------------------------------------------------------- */

const char *reln_safetensors_sum(const char *header, size_t n_bytes)
{
    static const char lead[] = "{\"__metadata__\":{\"reln.sha256\":\"";
    const size_t n = sizeof lead - 1;

    if (n_bytes < n + RELN_SHA256_HEX || memcmp(header, lead, n) != 0)
        return NULL;
    return header + n;
}

void reln_safetensors_lead(size_t n_bytes, unsigned char lead[LEAD])
{
    for (int i = 0; i < LEAD; i++)
        lead[i] = (unsigned char)(n_bytes >> 8 * i & 0xff);
}

void reln_safetensors_hash(RelnSha256 *s, const char *header, size_t n_bytes, const char *digits)
{
    const size_t before = (size_t)(digits - header);
    unsigned char lead[LEAD];

    reln_safetensors_lead(n_bytes, lead);
    reln_sha256_begin(s);
    reln_sha256_feed(s, lead, LEAD);
    reln_sha256_feed(s, header, before);
    reln_sha256_feed(s, zeros, RELN_SHA256_HEX);
    reln_sha256_feed(s, digits + RELN_SHA256_HEX, n_bytes - before - RELN_SHA256_HEX);
}
