/* safetensors.c -- named arrays in one file.
 *
 *     header length (8 bytes, little-endian)
 *     {"__metadata__": {"key": "text", ...}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
 *     spaces, up to a multiple of 64 bytes from the beginning; the numbers, without gaps
 *
 * Ours have two texts of their own in the metadata. "reln.sha256" is SHA-256 of the whole file, taken with 64 zeros in
 * its own place. "reln.writer" is a second mark of ours: a file that has lost one of the two by a changed bit is
 * known by the other, and refused.
 */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "io/doc.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/sha256.h"
#include "io/sort.h"
#include "io/tensors.h"
#include "io/text.h"
#include "reln/io.h"

enum {
    LEAD = 8,
    MAX_HEADER = RELN_DOC_MAX_JSON,
    MAX_TENSORS = 65536,
    MAX_NAME = 512,
    CHUNK = 65536 /* bytes at a time, a multiple of every width */
};

static const char metadata_key[] = "__metadata__", sum_key[] = "reln.sha256",
                  writer_key[] = "reln.writer", own_prefix[] = "reln.",
                  zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";

static const struct {
    const char *name;
    RelnDtype dtype;
    size_t width;
} kinds[] = {
    {"F32", RELN_F32, 4}, {"F64", RELN_F64, 8}, {"I32", RELN_I32, 4}, {"I64", RELN_I64, 8}};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

struct RelnTensors {
    RelnCtx *ctx;
    RelnDoc *header;     /* names and texts are in it */
    unsigned char *data; /* the numbers as one block */
    RelnArena moved;     /* arrays that are not aligned in it */
    int n;
    RelnNamed *arrays;
    const void **by_name; /* the arrays in the order of their names */
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

/* ---- the header ------------------------------------------------------------------------------------------------- */

/* An array as the header has it. */
typedef struct Entry {
    RelnNamed array;
    const char *what; /* the file */
    size_t width, begin, end;
} Entry;

static RelnStatus bad_entry(RelnCtx *ctx, const Entry *e, const char *problem)
{
    return reln_fail(ctx, RELN_ERR_FORMAT, "%s: array '%s' %s", e->what,
                     reln_quote(e->array.name, strlen(e->array.name)).text, problem);
}

/* A whole number without sign, point or exponent. */
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
    if (node->count > RELN_NAMED_MAX_RANK)
        return bad_entry(ctx, e, "has more than 8 axes");
    for (const RelnDocNode *item = node->first; item; item = item->next) {
        if (!read_count(item, &extent))
            return bad_entry(ctx, e, "has a shape of other things than whole numbers");
        e->array.dims[e->array.rank++] = (ptrdiff_t)extent;
    }
    return RELN_OK;
}

/* The range must be as long as the shape says, to the byte. */
static RelnStatus read_range(RelnCtx *ctx, const RelnDocNode *node, Entry *e)
{
    ptrdiff_t count = 0;
    size_t n_bytes = 0;

    if (!node || node->kind != RELN_DOC_LIST || node->count != 2 ||
        !read_count(node->first, &e->begin) || !read_count(node->last, &e->end) ||
        e->end < e->begin)
        return bad_entry(ctx, e, "has no range of bytes");
    if (!reln_dims_count(e->array.rank, e->array.dims, &count) ||
        __builtin_mul_overflow((size_t)count, e->width, &n_bytes))
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

/* Of one array, so that equal ranges stay in the order of the header. */
static int by_range(const void *a, const void *b)
{
    const Entry *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return (x > y) - (x < y);
}

/* One behind the other, from the first byte to the last. */
static RelnStatus check_cover(RelnCtx *ctx, const char *what, const void **entries, size_t n,
                              size_t n_data)
{
    size_t at = 0;

    reln_sort(entries, n, by_range);
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

/* Entries of the header in its order, checked against n_data bytes of numbers. `sorted` is room for as many pointers. */
static RelnStatus read_entries(RelnCtx *ctx, const char *what, const RelnDocNode *root,
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

static RelnStatus parse_header(RelnCtx *ctx, const char *what, const char *text, size_t n_bytes,
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

/* Where the 64 digits are in a header of ours; NULL when they are not. */
static const char *find_sum(const char *header, size_t n_bytes)
{
    static const char lead[] = "{\"__metadata__\":{\"reln.sha256\":\"";
    const size_t n = sizeof lead - 1;

    if (n_bytes < n + RELN_SHA256_HEX || memcmp(header, lead, n) != 0)
        return NULL;
    return header + n;
}

static void put_length(size_t n_bytes, unsigned char lead[LEAD])
{
    for (int i = 0; i < LEAD; i++)
        lead[i] = (unsigned char)(n_bytes >> 8 * i & 0xff);
}

/* The length and the header, as if the digits were zeros. */
static void hash_header(RelnSha256 *s, const char *header, size_t n_bytes, const char *digits)
{
    const size_t before = (size_t)(digits - header);
    unsigned char lead[LEAD];

    put_length(n_bytes, lead);
    reln_sha256_begin(s);
    reln_sha256_feed(s, lead, LEAD);
    reln_sha256_feed(s, header, before);
    reln_sha256_feed(s, zeros, RELN_SHA256_HEX);
    reln_sha256_feed(s, digits + RELN_SHA256_HEX, n_bytes - before - RELN_SHA256_HEX);
}

static bool is_ours(const RelnDocNode *root)
{
    const RelnDocNode *const meta = reln_doc_get(root, metadata_key);

    for (const RelnDocNode *item = meta ? meta->first : NULL; item; item = item->next)
        if (strncmp(item->key, own_prefix, strlen(own_prefix)) == 0)
            return true;
    return false;
}

/* Bytes in a file or in memory. */
typedef struct Input {
    RelnCtx *ctx;
    const char *what;
    size_t n_bytes;
    const unsigned char *bytes; /* NULL: in the file */
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

/* Numbers in pieces, wherever they are. */
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

/* A header of ours, and the numbers from `begin` on in `in`. */
static RelnStatus verify(const Input *in, const RelnDocNode *root, const char *header,
                         size_t n_header, size_t begin, bool *verified)
{
    const char *const digits = find_sum(header, n_header);
    char sum[RELN_SHA256_HEX + 1];
    RelnSha256 s;

    *verified = false;
    if (!is_ours(root))
        return RELN_OK;
    if (!digits)
        return reln_fail(in->ctx, RELN_ERR_FORMAT, "%s: a file of ours without its checksum",
                         in->what);
    hash_header(&s, header, n_header, digits);
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

/* Where the file had them, or moved to where their type can be. */
static RelnStatus place(RelnTensors *t, const Entry *e, RelnNamed *out)
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
    return strcmp(((const RelnNamed *)a)->name, ((const RelnNamed *)b)->name);
}

static RelnStatus place_all(RelnTensors *t, const Entry *entries)
{
    for (int i = 0; i < t->n; i++) {
        RELN_TRY(place(t, &entries[i], &t->arrays[i]));
        t->by_name[i] = &t->arrays[i];
    }
    reln_sort(t->by_name, (size_t)t->n, by_name);
    return RELN_OK;
}

/* The metadata but for our two. */
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

/* The entries are needed only until the arrays have their places. */
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
        status = read_entries(t->ctx, what, root, n_data, entries, t->by_name, &t->n);
    if (status == RELN_OK)
        status = place_all(t, entries);
    reln_free(t->ctx, entries);
    return status;
}

static RelnStatus read_rest(RelnTensors *t, const Input *in, char *header, size_t n_header)
{
    const size_t begin = LEAD + n_header, n_data = in->n_bytes - begin;

    RELN_TRY(fetch(in, LEAD, n_header, header));
    RELN_TRY(parse_header(in->ctx, in->what, header, n_header, &t->header));
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

/* ---- places only ------------------------------------------------------------------------------------------------- */

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
    RELN_TRY(parse_header(in->ctx, in->what, x->header, x->n_header, &x->doc));
    root = reln_doc_root(x->doc);
    RELN_TRY(verify(in, root, x->header, x->n_header, begin, &verified));
    x->entries = reln_alloc(in->ctx, (size_t)root->count, sizeof *x->entries);
    x->sorted = x->entries ? reln_alloc(in->ctx, (size_t)root->count, sizeof *x->sorted) : NULL;
    if (!x->sorted)
        return RELN_ERR_NOMEM;
    return read_entries(in->ctx, in->what, root, in->n_bytes - begin, x->entries, x->sorted, &x->n);
}

RelnStatus reln_tensors_index(const RelnSource *source, RelnStatus (*count)(void *, int),
                              RelnStatus (*take)(void *, const RelnNamed *, uint64_t), void *self)
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

/* ---- loading ------------------------------------------------------------------------------------------------------ */

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

    *out = NULL;
    return create(&in, out);
}

RelnStatus reln_tensors_load(RelnCtx *ctx, const char *path, RelnTensors **out)
{
    RelnSource source;
    RelnStatus status;

    *out = NULL;
    RELN_TRY(reln_source_open(ctx, path, &source));
    status = create(&(Input){ctx, source.name, source.n_bytes, NULL, &source}, out);
    reln_source_close(&source);
    return status;
}

/* The message of the first failure is the one that helps, in either case. */
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
    return t->n;
}

const RelnNamed *reln_tensors_get(const RelnTensors *t, int index)
{
    return index >= 0 && index < t->n ? &t->arrays[index] : NULL;
}

const RelnNamed *reln_tensors_find(const RelnTensors *t, const char *name)
{
    int low = 0, high = t->n;

    while (low < high) {
        const int middle = low + (high - low) / 2;
        const RelnNamed *const at = t->by_name[middle];
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
    return &t->meta;
}

const char *reln_tensors_meta(const RelnTensors *t, const char *key)
{
    for (int i = 0; i < t->meta.n; i++)
        if (strcmp(t->items[i].key, key) == 0)
            return t->items[i].value;
    return NULL;
}

bool reln_tensors_verified(const RelnTensors *t)
{
    return t->verified;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

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
        status = read_entries(o->ctx, o->path, root, o->n_data, entries, sorted, &n);
    reln_free(o->ctx, sorted);
    reln_free(o->ctx, entries);
    return status;
}

/* What the reader would refuse is not written: names twice, too long ... */
static RelnStatus check_header(const Output *o)
{
    RelnDoc *doc = NULL;
    RelnStatus status = parse_header(o->ctx, o->path, o->header.bytes, o->header.n, &doc);

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
    const char *const digits = find_sum(o->header.bytes, o->header.n);
    char sum[RELN_SHA256_HEX + 1];
    RelnSha256 s;

    hash_header(&s, o->header.bytes, o->header.n, digits);
    RELN_TRY(pass_data(o, &s, NULL));
    reln_sha256_end(&s, sum);
    memcpy(o->header.bytes + (digits - o->header.bytes), sum, RELN_SHA256_HEX);
    return RELN_OK;
}

static RelnStatus write_all(const Output *o, const RelnReplace *file)
{
    unsigned char lead[LEAD];

    put_length(o->header.n, lead);
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
