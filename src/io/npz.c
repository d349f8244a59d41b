/* npz.c -- writes .npz: a .zip of uncompressed .npy entries, which every reader accepts. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/base.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/text.h"
#include "kit/files.h"
#include "reln/io.h"

enum {
    LOCAL = 30,
    CENTRAL = 46,
    END = 22,
    VERSION = 20,               /* version of the format: no 64-bit numbers */
    UTF8_NAMES = 2048,          /* flag */
    NEW_YEAR_1980 = 1 << 5 | 1, /* a fixed date, so that the same arrays give the same bytes */
    MAX_ENTRIES = 4096,
    MAX_NAME = 512
};

/* An Entry is an entry being written. */
typedef struct Entry {
    const RelnArray *array;
    unsigned char header[RELN_NPY_OWN_HEADER];
    size_t n_header, n_data, n_name;
    uLong crc;
    uint64_t offset;
} Entry;

typedef struct Output {
    RelnCtx *ctx;
    const char *path;
    RelnReplace file;
    Entry *entries;
    int n;
    uint64_t at; /* number of bytes written */
} Output;

/* ---- entries ---------------------------------------------------------------------------------------------------- */

static RelnStatus check_name(const Output *o, const RelnArray *a, int i)
{
    const size_t length = a->name ? strlen(a->name) : 0;

    return length > 0 && length <= MAX_NAME && !strchr(a->name, '/') &&
                   reln_utf8_valid(a->name, length)
               ? RELN_OK
               : reln_fail(o->ctx, RELN_ERR_ARG, "%s: array %d has no name that can be written",
                           o->path, i);
}

static RelnStatus add_to_crc(void *self, const unsigned char *bytes, size_t n_bytes)
{
    uLong *const crc = self;

    *crc = crc32(*crc, bytes, (uInt)n_bytes);
    return RELN_OK;
}

static bool is_name_of_another(const Output *o, int i)
{
    for (int k = 0; k < i; k++)
        if (strcmp(o->entries[k].array->name, o->entries[i].array->name) == 0)
            return true;
    return false;
}

static RelnStatus make_entry(Output *o, const RelnArray *a, int i)
{
    Entry *const e = &o->entries[i];

    RELN_TRY(check_name(o, a, i));
    RELN_TRY(reln_array_check(o->ctx, o->path, a, &e->n_data));
    e->array = a;
    e->n_name = strlen(a->name) + strlen(".npy");
    e->n_header = reln_npy_make_header(a, e->header);
    e->offset = o->at;
    e->crc = crc32(crc32(0, NULL, 0), e->header, (uInt)e->n_header);
    o->at += LOCAL + CENTRAL + 2 * e->n_name + e->n_header + e->n_data;
    if (is_name_of_another(o, i) || e->n_data > UINT32_MAX || o->at > UINT32_MAX)
        return reln_fail(o->ctx, RELN_ERR_ARG,
                         "%s: array '%s' is there twice, or the arrays have more than 4 GiB",
                         o->path, a->name);
    return reln_array_pass(a, add_to_crc, &e->crc);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static unsigned char *put(unsigned char *p, uint64_t value, int width)
{
    for (int i = 0; i < width; i++)
        *p++ = (unsigned char)(value >> 8 * i & 0xff);
    return p;
}

/* Writes the 26 bytes that both headers of an entry have in common: from the version to the lengths. */
static unsigned char *put_common(unsigned char *p, const Entry *e)
{
    p = put(p, VERSION, 2);
    p = put(p, UTF8_NAMES, 2);
    p = put(p, 0, 4); /* no compression; midnight */
    p = put(p, NEW_YEAR_1980, 2);
    p = put(p, e->crc, 4);
    p = put(p, e->n_header + e->n_data, 4);
    p = put(p, e->n_header + e->n_data, 4);
    p = put(p, e->n_name, 2);
    return put(p, 0, 2);
}

static RelnStatus write_name(Output *o, const Entry *e)
{
    RELN_TRY(reln_replace_write(&o->file, e->array->name, e->n_name - 4));
    return reln_replace_write(&o->file, ".npy", 4);
}

static RelnStatus write_entry(Output *o, Entry *e)
{
    unsigned char local[LOCAL];

    e->offset = o->at;
    put_common(put(local, 0x04034b50, 4), e);
    RELN_TRY(reln_replace_write(&o->file, local, LOCAL));
    RELN_TRY(write_name(o, e));
    RELN_TRY(reln_replace_write(&o->file, e->header, e->n_header));
    o->at += LOCAL + e->n_name + e->n_header + e->n_data;
    return reln_array_pass(e->array, reln_array_to_file, &o->file);
}

static RelnStatus write_central(Output *o, const Entry *e)
{
    unsigned char central[CENTRAL], *p = put(central, 0x02014b50, 4);

    p = put_common(put(p, VERSION, 2), e);
    p = put(p, 0, 6); /* no comment, disk 0, not text */
    p = put(p, 0, 4);
    put(p, e->offset, 4);
    RELN_TRY(reln_replace_write(&o->file, central, CENTRAL));
    o->at += CENTRAL + e->n_name;
    return write_name(o, e);
}

static RelnStatus write_all(Output *o)
{
    unsigned char end[END], *p = put(end, 0x06054b50, 4);
    uint64_t begin;

    o->at = 0;
    for (int i = 0; i < o->n; i++)
        RELN_TRY(write_entry(o, &o->entries[i]));
    begin = o->at;
    for (int i = 0; i < o->n; i++)
        RELN_TRY(write_central(o, &o->entries[i]));
    p = put(p, 0, 4);
    p = put(p, (uint64_t)o->n, 2);
    p = put(p, (uint64_t)o->n, 2);
    p = put(p, o->at - begin, 4);
    p = put(p, begin, 4);
    put(p, 0, 2);
    return reln_replace_write(&o->file, end, END);
}

static RelnStatus save(Output *o, const RelnArray *arrays)
{
    RelnStatus status;

    for (int i = 0; i < o->n; i++)
        RELN_TRY(make_entry(o, &arrays[i], i));
    RELN_TRY(reln_replace_begin(o->ctx, o->path, &o->file));
    status = write_all(o);
    if (status == RELN_OK)
        return reln_replace_commit(&o->file);
    reln_replace_abort(&o->file);
    return status;
}

RelnStatus reln_npz_save(RelnCtx *ctx, const char *path, int n, const RelnArray *arrays)
{
    Output o = {.ctx = ctx, .path = path, .n = n};
    RelnStatus status = RELN_ERR_NOMEM;

    RELN_NEED(ctx && path && (arrays || n <= 0), reln_null(ctx, __func__));
    if (n < 0 || n > MAX_ENTRIES)
        return reln_fail(ctx, RELN_ERR_ARG, "%s: %d arrays; wanted at most %d", path, n,
                         (int)MAX_ENTRIES);
    o.entries = reln_alloc(ctx, (size_t)n, sizeof *o.entries);
    if (o.entries)
        status = save(&o, arrays);
    reln_free(ctx, o.entries);
    return status;
}
