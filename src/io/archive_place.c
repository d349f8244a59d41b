/* archive_place.c -- brings arrays that are compressed, in Fortran order or in HDF5 to memory or to a
 * temporary file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/archive.h"
#include "io/h5.h"
#include "io/text.h"

enum { IN_MEMORY = 64 << 20 /* larger unpacked arrays go to an unnamed file */ };

/* A Spill receives unpacked bytes: at most `room` of them, in memory or, if there are many, in a file. */
typedef struct Spill {
    RelnCtx *ctx;
    const char *name;
    uint64_t n, room;
    unsigned char *memory;
    int fd;
} Spill;

/* Opens an unnamed temporary file in /var/tmp, which is meant for large files; /tmp may be memory. */
static int open_nameless(void)
{
    char large[] = "/var/tmp/reln-XXXXXX", small[] = "/tmp/reln-XXXXXX";
    char *name = large;
    int fd = mkstemp(large);

    if (fd < 0) {
        name = small;
        fd = mkstemp(small);
    }
    if (fd >= 0)
        unlink(name);
    return fd;
}

static RelnStatus spill_begin(const RelnArchive *v, uint64_t room, uint64_t in_memory, Spill *s)
{
    *s = (Spill){v->ctx, v->path, 0, room, NULL, -1};
    if (room <= in_memory) {
        s->memory = reln_alloc_raw(v->ctx, (size_t)room, 1);
        return s->memory ? RELN_OK : RELN_ERR_NOMEM;
    }
    s->fd = open_nameless();
    return s->fd >= 0 ? RELN_OK : reln_fail_errno(v->ctx, "/var/tmp", "make a file", errno);
}

static RelnStatus spill_put(void *self, const unsigned char *bytes, size_t n_bytes)
{
    Spill *const s = self;

    if (n_bytes > s->room - s->n)
        return reln_fail(s->ctx, RELN_ERR_FORMAT,
                         "%s: an array has more bytes than its shape needs", s->name);
    if (s->memory)
        memcpy(s->memory + s->n, bytes, n_bytes);
    for (size_t done = 0; !s->memory && done < n_bytes;) {
        const ssize_t got = write(s->fd, bytes + done, n_bytes - done);

        if (got < 0 && errno != EINTR)
            return reln_fail_errno(s->ctx, "/var/tmp", "write", errno);
        done += got > 0 ? (size_t)got : 0;
    }
    s->n += n_bytes;
    return RELN_OK;
}

/* Moves the unpacked bytes to the array; the numbers begin at `data`. */
static void adopt(Array *a, const Spill *s, size_t data)
{
    a->memory = s->memory;
    a->spilled = !s->memory;
    a->spill = (RelnSource){s->ctx, s->name, s->fd, (size_t)s->n};
    if (a->spilled)
        a->source = &a->spill;
    a->begin = data;
}

static void discard(const Spill *s)
{
    reln_free(s->ctx, s->memory);
    if (s->fd >= 0)
        close(s->fd);
}

static RelnStatus ignore(void *self, const unsigned char *bytes, size_t n_bytes)
{
    (void)self;
    (void)bytes;
    (void)n_bytes;
    return RELN_OK;
}

/* Checks that the array sent by the child has the type and shape that the child had listed. */
static RelnStatus check_sent(const RelnArchive *v, const Array *a, const Spill *s,
                             RelnNpyHeader *header)
{
    const RelnSource spilled = {v->ctx, v->path, s->fd, (size_t)s->n};
    const size_t n = s->n < RELN_NPY_MAX_LEAD ? (size_t)s->n : RELN_NPY_MAX_LEAD;
    const RelnNpyHeader *const listed = &a->header;

    if (s->memory)
        memcpy(v->buffer, s->memory, n);
    else
        RELN_TRY(reln_source_read(&spilled, 0, n, v->buffer));
    RELN_TRY(reln_npy_read_header(v->ctx, v->path, v->buffer, n, (size_t)s->n, true, header));
    if (header->kind != listed->kind || header->fortran ||
        header->array.rank != listed->array.rank ||
        memcmp(header->array.dims, listed->array.dims, sizeof listed->array.dims) != 0)
        return reln_fail(v->ctx, RELN_ERR_FORMAT, "%s: dataset '%s' changed while it was read",
                         v->path, reln_quote(a->dataset, strlen(a->dataset)).text);
    return RELN_OK;
}

/* Gives unpacked bytes to the array, or discards them if they do not match the listing. */
static RelnStatus take_over(const RelnArchive *v, Array *a, const Spill *s)
{
    RelnNpyHeader header;
    RelnStatus status;

    if (a->entry) {
        adopt(a, s, a->header.data);
        return RELN_OK;
    }
    status = check_sent(v, a, s, &header);
    if (status != RELN_OK) {
        discard(s);
        return status;
    }
    header.array.name = a->header.array.name;
    a->header = header;
    adopt(a, s, header.data);
    return RELN_OK;
}

/* Unpacks an entry of a .npz or a dataset of a .h5, to memory if it has at most in_memory bytes. */
static RelnStatus unpack(const RelnArchive *v, Array *a, uint64_t in_memory)
{
    const RelnZipEntry *const e = a->entry;
    const uint64_t room =
        e ? e->unpacked : (uint64_t)a->header.count * a->header.kind->width + RELN_NPY_OWN_HEADER;
    Spill s;
    RelnStatus status = spill_begin(v, room, in_memory, &s);

    if (status == RELN_OK && e)
        status = reln_zip_unpack(a->source, e, e->unpacked, spill_put, &s);
    else if (status == RELN_OK)
        status = reln_h5_run(v->ctx, v->h5, "cat", v->h5_path, a->dataset, spill_put, &s);
    if (status == RELN_OK)
        return take_over(v, a, &s);
    discard(&s);
    return status;
}

RelnStatus reln_archive_unpack(const RelnArchive *v, Array *a)
{
    return unpack(v, a, 0);
}

RelnStatus reln_archive_adopt(const RelnArchive *v, Array *a, int fd, uint64_t n_bytes)
{
    return take_over(v, a, &(Spill){v->ctx, v->path, n_bytes, n_bytes, NULL, fd});
}

RelnStatus reln_archive_bytes(const Array *a, uint64_t at, size_t n_bytes, unsigned char *to)
{
    if (!a->memory)
        return reln_source_read(a->source, (size_t)(a->begin + at), n_bytes, to);
    memcpy(to, a->memory + a->begin + at, n_bytes);
    return RELN_OK;
}

/* Copies from Fortran order, where the first index is the fastest, to C order, where the last is, element by
 * element. */
static void reorder(const RelnNpyHeader *h, const unsigned char *from, unsigned char *to)
{
    const size_t width = h->kind->width;
    ptrdiff_t index[RELN_ARRAY_MAX_RANK] = {0};

    for (ptrdiff_t i = 0; i < h->count; i++) {
        ptrdiff_t at = 0;

        for (int d = 0; d < h->array.rank; d++)
            at = at * h->array.dims[d] + index[d];
        memcpy(to + (size_t)at * width, from + (size_t)i * width, width);
        for (int d = 0; d < h->array.rank && ++index[d] == h->array.dims[d]; d++)
            index[d] = 0;
    }
}

/* Reorders an array in Fortran order, once, in memory. */
static RelnStatus turn(const RelnArchive *v, Array *a)
{
    const uint64_t n_bytes = (uint64_t)a->header.count * a->header.kind->width;
    unsigned char *from, *to;
    RelnStatus status = RELN_ERR_NOMEM;

    if (n_bytes > RELN_FILE_MAX_BYTES)
        return reln_fail(
            v->ctx, RELN_ERR_UNSUPPORTED,
            "%s: array '%s' of %llu bytes is in fortran order, which is read up to %llu", v->path,
            reln_quote(a->header.array.name, strlen(a->header.array.name)).text,
            (unsigned long long)n_bytes, (unsigned long long)RELN_FILE_MAX_BYTES);
    from = reln_alloc_raw(v->ctx, (size_t)n_bytes, 1);
    to = from ? reln_alloc_raw(v->ctx, (size_t)n_bytes, 1) : NULL;
    if (to)
        status = reln_archive_bytes(a, 0, (size_t)n_bytes, from);
    if (status == RELN_OK) {
        reorder(&a->header, from, to);
        reln_free(v->ctx, a->memory);
        a->memory = to;
        a->begin = 0;
        a->header.fortran = false;
    } else
        reln_free(v->ctx, to);
    reln_free(v->ctx, from);
    return status;
}

RelnStatus reln_archive_prepare(const RelnArchive *v, Array *a)
{
    if (a->ready)
        return RELN_OK;
    if (!a->memory && !a->spilled) {
        if (a->dataset || (a->entry && a->entry->deflated))
            RELN_TRY(unpack(v, a, IN_MEMORY));
        else if (
            a->entry) /* uncompressed entries are read from the file itself, after their CRC has been
                       * checked */
            RELN_TRY(reln_zip_unpack(a->source, a->entry, a->entry->unpacked, ignore, NULL));
    }
    if (a->header.fortran && a->header.array.rank > 1 && a->header.count > 0)
        RELN_TRY(turn(v, a));
    a->ready = true;
    return RELN_OK;
}
