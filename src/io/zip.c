/* zip.c -- see zip.h. The directory at the end of the file is authoritative:
 *
 *     entries:   local header (30 bytes, name, extra), bytes         each at an offset that the directory names
 *     directory: one header (46 bytes, name, extra, comment) for each
 *     the end:   [64-bit end (56 bytes), its place (20 bytes)], end (22 bytes, comment)
 */
#include "io/zip.h"

#include <string.h>
#include <zlib.h>

#include "base/sort.h"
#include "io/text.h"

enum {
    LOCAL = 30,
    CENTRAL = 46,
    END = 22,
    END_64 = 56,
    PLACE_64 = 20,
    MAX_COMMENT = 65535,
    MAX_DIRECTORY = RELN_ZIP_MAX_ENTRIES * 1024, /* bytes; names are short */
    MAX_RATIO = 1000,
    RATIO_FREE = 1 << 20, /* bytes that may be unpacked at any ratio, for arrays of zeros */
    CHUNK = 65536
};

static uint64_t number(const unsigned char *p, int width)
{
    uint64_t value = 0;

    while (width-- > 0)
        value = value << 8 | p[width];
    return value;
}

static bool is_signature(const unsigned char *p, unsigned char third, unsigned char fourth)
{
    return p[0] == 'P' && p[1] == 'K' && p[2] == third && p[3] == fourth;
}

static RelnStatus bad(const RelnSource *source, const char *why)
{
    return reln_fail(source->ctx, RELN_ERR_FORMAT, "%s: damaged .npz: %s", source->name, why);
}

static RelnStatus refuse(const RelnSource *source, const char *why)
{
    return reln_fail(source->ctx, RELN_ERR_UNSUPPORTED, "%s: .npz with %s", source->name, why);
}

/* ---- the end ---------------------------------------------------------------------------------------------------- */

/* A Directory is the place of the directory in the file. */
typedef struct Directory {
    uint64_t n_entries, begin, n_bytes;
    uint64_t limit; /* it must end before this offset */
} Directory;

static RelnStatus read_end_64(const RelnSource *source, const unsigned char *place, Directory *d)
{
    const uint64_t at = number(place + 8, 8);
    unsigned char end[END_64];

    if (d->limit < END_64 || at > d->limit - END_64)
        return bad(source, "its 64-bit end is not inside");
    RELN_TRY(reln_source_read(source, (size_t)at, END_64, end));
    if (!is_signature(end, 6, 6))
        return bad(source, "no 64-bit end where it should be");
    d->n_entries = number(end + 32, 8);
    d->n_bytes = number(end + 40, 8);
    d->begin = number(end + 48, 8);
    d->limit = at;
    return number(end + 16, 4) == 0 && number(end + 20, 4) == 0 ? RELN_OK
                                                                : refuse(source, "several disks");
}

/* tail: the last n bytes of the file. */
static RelnStatus read_end(const RelnSource *source, const unsigned char *tail, size_t n,
                           Directory *d)
{
    size_t at = n < END ? 0 : n - END + 1;

    while (at > 0 && !(is_signature(tail + at - 1, 5, 6) &&
                       number(tail + at - 1 + 20, 2) == n - (at - 1) - END))
        at--;
    if (at == 0)
        return bad(source, "it has no end");
    at--;
    *d = (Directory){number(tail + at + 10, 2), number(tail + at + 16, 4),
                     number(tail + at + 12, 4), source->n_bytes - n + at};
    if (number(tail + at + 4, 2) != 0 || number(tail + at + 6, 2) != 0)
        return refuse(source, "several disks");
    if (at < PLACE_64 || !is_signature(tail + at - PLACE_64, 6, 7))
        return RELN_OK;
    d->limit -= PLACE_64;
    return read_end_64(source, tail + at - PLACE_64, d);
}

static RelnStatus find_directory(const RelnSource *source, Directory *d)
{
    const size_t longest = END + MAX_COMMENT + PLACE_64;
    const size_t n = source->n_bytes < longest ? source->n_bytes : longest;
    unsigned char *tail = reln_alloc_raw(source->ctx, n, 1);
    RelnStatus status;

    if (!tail)
        return RELN_ERR_NOMEM;
    status = reln_source_read(source, source->n_bytes - n, n, tail);
    if (status == RELN_OK)
        status = read_end(source, tail, n, d);
    reln_free(source->ctx, tail);
    RELN_TRY(status);
    if (d->n_entries > RELN_ZIP_MAX_ENTRIES || d->n_bytes > MAX_DIRECTORY)
        return reln_fail(source->ctx, RELN_ERR_UNSUPPORTED,
                         "%s: .npz with %llu entries; at most %d are read", source->name,
                         (unsigned long long)d->n_entries, (int)RELN_ZIP_MAX_ENTRIES);
    if (d->begin > d->limit || d->n_bytes > d->limit - d->begin)
        return bad(source, "its directory is not inside");
    return RELN_OK;
}

/* ---- the directory ---------------------------------------------------------------------------------------------- */

/* The 64-bit extra field holds, in this order, the numbers that the header replaces by all ones. */
static bool read_extra(const unsigned char *extra, size_t n, RelnZipEntry *e)
{
    uint64_t *const wide[] = {&e->unpacked, &e->packed, &e->local};
    size_t length;

    for (; n >= 4; extra += 4 + length, n -= 4 + length) {
        length = (size_t)number(extra + 2, 2);
        if (length > n - 4)
            return false;
        if (number(extra, 2) != 1)
            continue;
        for (size_t i = 0, at = 4; i < 3; i++)
            if (*wide[i] == UINT32_MAX) {
                if (at + 8 > 4 + length)
                    return false;
                *wide[i] = number(extra + at, 8);
                at += 8;
            }
    }
    return true;
}

static RelnStatus check_entry(const RelnSource *source, const unsigned char *p,
                              const RelnZipEntry *e)
{
    const uint64_t method = number(p + 10, 2);

    if (number(p + 8, 2) & 0x2041) /* encrypted in any way */
        return refuse(source, "encryption");
    if (method != 0 && method != 8)
        return reln_fail(source->ctx, RELN_ERR_UNSUPPORTED,
                         "%s: .npz with method %d of packing; 0 (stored) and 8 (deflated) are read",
                         source->name, (int)method);
    if (number(p + 34, 2) != 0)
        return refuse(source, "several disks");
    if (method == 0 && e->packed != e->unpacked)
        return bad(source, "a stored entry has two lengths");
    if (e->unpacked > RATIO_FREE && (e->unpacked - RATIO_FREE) / MAX_RATIO > e->packed)
        return reln_fail(source->ctx, RELN_ERR_UNSUPPORTED,
                         "%s: entry '%s' claims to unpack from %llu to %llu bytes; at most %d:1 is "
                         "believed",
                         source->name, reln_quote(e->name, strlen(e->name)).text,
                         (unsigned long long)e->packed, (unsigned long long)e->unpacked,
                         (int)MAX_RATIO);
    return RELN_OK;
}

/* Reads one header of the directory at p, n bytes before its end; *used is its length. */
static RelnStatus read_central(const RelnSource *source, RelnArena *arena, const unsigned char *p,
                               size_t n, RelnZipEntry *e, size_t *used)
{
    size_t n_name, n_extra;
    char *name;

    if (n < CENTRAL || !is_signature(p, 1, 2))
        return bad(source, "its directory ends early");
    n_name = (size_t)number(p + 28, 2);
    n_extra = (size_t)number(p + 30, 2);
    *used = CENTRAL + n_name + n_extra + (size_t)number(p + 32, 2);
    if (*used > n)
        return bad(source, "its directory ends early");
    name = reln_arena_alloc(arena, n_name + 1, 1);
    if (!name)
        return RELN_ERR_NOMEM;
    memcpy(name, p + CENTRAL, n_name);
    *e = (RelnZipEntry){name,
                        number(p + 10, 2) == 8,
                        (uint32_t)number(p + 16, 4),
                        number(p + 20, 4),
                        number(p + 24, 4),
                        number(p + 42, 4),
                        0};
    if (strlen(name) != n_name || !read_extra(p + CENTRAL + n_name, n_extra, e))
        return bad(source, "an entry's name or extra field is broken");
    return check_entry(source, p, e);
}

/* The local header repeats the length of the name, and only it has the length of its extra field. */
static RelnStatus find_data(const RelnSource *source, uint64_t limit, RelnZipEntry *e)
{
    unsigned char local[LOCAL];

    if (limit < LOCAL || e->local > limit - LOCAL)
        return bad(source, "an entry is not inside");
    RELN_TRY(reln_source_read(source, (size_t)e->local, LOCAL, local));
    if (!is_signature(local, 3, 4))
        return bad(source, "no entry where one should be");
    e->data = e->local + LOCAL + number(local + 26, 2) + number(local + 28, 2);
    if (e->data > limit || e->packed > limit - e->data)
        return bad(source, "an entry is not inside");
    return RELN_OK;
}

static int by_place(const void *a, const void *b)
{
    const RelnZipEntry *x = *(const RelnZipEntry *const *)a, *y = *(const RelnZipEntry *const *)b;

    return (x->local > y->local) - (x->local < y->local);
}

/* Refuses entries that overlap: shared bytes would let a small file unpack to a large one. */
static RelnStatus check_disjoint(const RelnSource *source, RelnZipEntry *entries, size_t n)
{
    const void **sorted = reln_alloc(source->ctx, n, sizeof *sorted);
    RelnStatus status = RELN_OK;

    if (!sorted)
        return RELN_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        sorted[i] = &entries[i];
    reln_sort(sorted, n, sizeof *sorted, by_place);
    for (size_t i = 1; i < n && status == RELN_OK; i++) {
        const RelnZipEntry *const before = sorted[i - 1], *const after = sorted[i];

        if (before->data + before->packed > after->local)
            status = bad(source, "two entries overlap");
    }
    reln_free(source->ctx, sorted);
    return status;
}

static RelnStatus read_directory(const RelnSource *source, RelnArena *arena, const Directory *d,
                                 const unsigned char *bytes, RelnZipEntry *entries)
{
    size_t at = 0;

    for (uint64_t i = 0; i < d->n_entries; i++) {
        size_t used = 0;

        RELN_TRY(
            read_central(source, arena, bytes + at, (size_t)d->n_bytes - at, &entries[i], &used));
        RELN_TRY(find_data(source, d->begin, &entries[i]));
        at += used;
    }
    return at == d->n_bytes ? check_disjoint(source, entries, (size_t)d->n_entries)
                            : bad(source, "its directory has more than its entries");
}

RelnStatus reln_zip_list(const RelnSource *source, RelnArena *arena, RelnZipEntry **out, int *n)
{
    Directory d = {0, 0, 0, 0};
    unsigned char *bytes;
    RelnStatus status;

    RELN_TRY(find_directory(source, &d));
    if (d.n_bytes / CENTRAL < d.n_entries)
        return bad(source, "its directory ends early");
    *n = (int)d.n_entries;
    *out = reln_arena_alloc(arena, (size_t)d.n_entries, sizeof **out);
    bytes = *out ? reln_alloc_raw(source->ctx, (size_t)d.n_bytes, 1) : NULL;
    if (!bytes)
        return RELN_ERR_NOMEM;
    status = reln_source_read(source, (size_t)d.begin, (size_t)d.n_bytes, bytes);
    if (status == RELN_OK)
        status = read_directory(source, arena, &d, bytes, *out);
    reln_free(source->ctx, bytes);
    return status;
}

/* ---- unpacking -------------------------------------------------------------------------------------------------- */

typedef struct Unpack {
    const RelnSource *source;
    const RelnZipEntry *entry;
    uint64_t wanted, done; /* unpacked bytes */
    uint64_t taken;        /* packed bytes */
    uLong crc;
    RelnSink *sink;
    void *self;
    unsigned char *in, *out;
    size_t in_room, out_room; /* CHUNK bytes each, or less if less is enough */
} Unpack;

static RelnStatus bad_entry(const Unpack *u, const char *why)
{
    return reln_fail(u->source->ctx, RELN_ERR_FORMAT, "%s: entry '%s' %s", u->source->name,
                     reln_quote(u->entry->name, strlen(u->entry->name)).text, why);
}

static RelnStatus pass_on(Unpack *u, const unsigned char *bytes, size_t n_bytes)
{
    const uint64_t left = u->wanted - u->done;

    if (n_bytes > left && u->wanted == u->entry->unpacked)
        return bad_entry(u, "unpacks to more than it says");
    if (n_bytes > left)
        n_bytes = (size_t)left;
    u->crc = crc32(u->crc, bytes, (uInt)n_bytes);
    u->done += n_bytes;
    return u->sink(u->self, bytes, n_bytes);
}

static RelnStatus fetch(Unpack *u, size_t *n)
{
    const uint64_t left = u->entry->packed - u->taken;

    *n = left < u->in_room ? (size_t)left : u->in_room;
    RELN_TRY(reln_source_read(u->source, (size_t)(u->entry->data + u->taken), *n, u->in));
    u->taken += *n;
    return RELN_OK;
}

static RelnStatus copy_stored(Unpack *u)
{
    size_t n = 0;

    while (u->done < u->wanted) {
        RELN_TRY(fetch(u, &n));
        RELN_TRY(pass_on(u, u->in, n));
    }
    return RELN_OK;
}

static RelnStatus inflate_some(Unpack *u, z_stream *z, bool *ended)
{
    int code;

    if (z->avail_in == 0) {
        size_t n = 0;

        RELN_TRY(fetch(u, &n));
        z->next_in = u->in;
        z->avail_in = (uInt)n;
    }
    z->next_out = u->out;
    z->avail_out = (uInt)u->out_room;
    code = inflate(z, Z_NO_FLUSH);
    if (code == Z_MEM_ERROR)
        return RELN_ERR_NOMEM;
    *ended = code == Z_STREAM_END;
    if (code != Z_OK && code != Z_STREAM_END)
        return bad_entry(u, "cannot be unpacked");
    return pass_on(u, u->out, u->out_room - z->avail_out);
}

static void *z_alloc(void *ctx, uInt count, uInt size)
{
    return reln_alloc(ctx, count, size);
}

static void z_release(void *ctx, void *block)
{
    reln_free(ctx, block);
}

/* Unpacks. If the whole entry is wanted, the stream must end with its last byte. */
static RelnStatus inflate_all(Unpack *u)
{
    z_stream z = {.zalloc = z_alloc, .zfree = z_release, .opaque = u->source->ctx};
    RelnStatus status = RELN_OK;
    bool ended = false;

    if (inflateInit2(&z, -15) != Z_OK)
        return RELN_ERR_NOMEM;
    while (status == RELN_OK && !ended && (u->done < u->wanted || u->wanted == u->entry->unpacked))
        status = inflate_some(u, &z, &ended);
    if (status == RELN_OK && u->wanted == u->entry->unpacked &&
        (z.avail_in > 0 || u->taken < u->entry->packed))
        status = bad_entry(u, "has bytes behind its end");
    inflateEnd(&z);
    return status;
}

static RelnStatus unpack(Unpack *u)
{
    RELN_TRY(u->entry->deflated ? inflate_all(u) : copy_stored(u));
    if (u->done < u->wanted)
        return bad_entry(u, "unpacks to less than it says");
    if (u->wanted == u->entry->unpacked && u->crc != u->entry->crc)
        return bad_entry(u, "is damaged: its CRC is another");
    return RELN_OK;
}

RelnStatus reln_zip_unpack(const RelnSource *source, const RelnZipEntry *entry, uint64_t n_bytes,
                           RelnSink *sink, void *self)
{
    Unpack u = {.source = source,
                .entry = entry,
                .wanted = n_bytes < entry->unpacked ? n_bytes : entry->unpacked,
                .crc = crc32(0, NULL, 0),
                .sink = sink,
                .self = self};
    RelnStatus status = RELN_ERR_NOMEM;

    u.in_room = entry->packed < CHUNK ? (size_t)entry->packed + 1 : CHUNK;
    u.out_room = u.wanted < CHUNK ? (size_t)u.wanted + 1 : CHUNK;
    u.in = reln_alloc_raw(source->ctx, u.in_room, 1);
    u.out = u.in ? reln_alloc_raw(source->ctx, u.out_room, 1) : NULL;
    if (u.out)
        status = unpack(&u);
    reln_free(source->ctx, u.out);
    reln_free(source->ctx, u.in);
    return status;
}
