/* archive.c -- one interface to named arrays: .npz, .npy, folders of .npy, .safetensors, .h5, tables of text, splats,
 * meshes, memory.
 *
 * An array is a header and the place of its numbers: a range of a file, or memory. Arrays that are compressed, in Fortran
 * order or in HDF5 are brought to such a place at their first use; after that, reading allocates nothing.
 */
#include "io/archive.h"

#include <fcntl.h>
#include <string.h>

#include "io/text.h"
#include "kit/files.h"

void reln_archive_destroy(RelnArchive *v)
{
    if (!v)
        return;
    for (int i = 0; i < v->n; i++) {
        if (!v->arrays[i].borrowed)
            reln_free(v->ctx, v->arrays[i].memory);
        if (v->arrays[i].spilled)
            reln_source_close(&v->arrays[i].spill);
    }
    for (int i = 0; i < v->n_parts; i++)
        reln_archive_destroy(v->parts[i]);
    for (int i = 0; i < v->n_sources; i++)
        reln_source_close(&v->sources[i]);
    reln_free(v->ctx, v->buffer);
    pthread_mutex_destroy(&v->lock);
    reln_arena_clear(&v->arena);
    reln_free(v->ctx, v);
}

RelnArchive *reln_archive_create(RelnCtx *ctx)
{
    RelnArchive *v = reln_alloc(ctx, 1, sizeof *v);

    if (!v)
        return NULL;
    v->ctx = ctx;
    (void)pthread_mutex_init(&v->lock, NULL); /* cannot fail with default attributes */
    reln_arena_init(&v->arena, ctx);
    return v;
}

static RelnStatus finish(RelnArchive *v, RelnStatus status, RelnArchive **out)
{
    *out = status == RELN_OK ? v : NULL;
    if (status != RELN_OK)
        reln_archive_destroy(v);
    return status;
}

RelnStatus reln_archive_open_with(RelnCtx *ctx, const char *path, const char *h5, RelnArchive **out)
{
    RELN_NEED(ctx && path && out, reln_null(ctx, __func__));

    RelnArchive *v = reln_archive_create(ctx);

    RelnStatus status = RELN_ERR_NOMEM;

    if (v && reln_archive_is_pattern(path) && !reln_file_exists(path))
        status = reln_archive_begin_parts(v, path, h5);
    else if (v)
        status = reln_archive_begin(v, path, h5);
    return finish(v, status, out);
}

RelnStatus reln_archive_open(RelnCtx *ctx, const char *path, RelnArchive **out)
{
    return reln_archive_open_with(ctx, path, NULL, out);
}

RelnStatus reln_archive_from_arrays(RelnCtx *ctx, const char *what, int n, const RelnArray *arrays,
                                    RelnArchive **out)
{
    RELN_NEED(ctx && what && (arrays || n <= 0) && out, reln_null(ctx, __func__));

    RelnArchive *v = reln_archive_create(ctx);

    return finish(v, v ? reln_archive_begin_memory(v, what, n, arrays) : RELN_ERR_NOMEM, out);
}

const char *reln_archive_name(const RelnArchive *v)
{
    return v ? v->path : "";
}

int reln_archive_count(const RelnArchive *v)
{
    return v ? v->n : 0;
}

const RelnArray *reln_archive_info(const RelnArchive *v, int index)
{
    return v && index >= 0 && index < v->n ? &v->arrays[index].header.array : NULL;
}

bool reln_archive_is_component(const RelnArchive *v, int index)
{
    return index >= 0 && index < v->n && v->arrays[index].component;
}

int reln_archive_find(const RelnArchive *v, const char *name)
{
    RELN_NEED(v && name, -1);

    int i = v->n - 1;

    while (i >= 0 && strcmp(v->arrays[i].header.array.name, name) != 0)
        i--;
    return i;
}

const char *reln_archive_unread(const RelnArchive *v, const char *name)
{
    RELN_NEED(v && name, NULL);

    for (int i = 0; i < v->n_unread; i++)
        if (strcmp(v->unread[i].name, name) == 0)
            return v->unread[i].why;
    return NULL;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static ptrdiff_t rows_of(const Array *a)
{
    return reln_array_rows(&a->header.array);
}

static ptrdiff_t row_size(const Array *a)
{
    return reln_array_row_size(&a->header.array);
}

static RelnStatus fail_row(const RelnArchive *v, const Array *a, const char *what, ptrdiff_t row)
{
    return reln_fail(v->ctx, RELN_ERR_ARG, "%s: %s %td of array '%s' with %td rows", v->path, what,
                     row, reln_quote(a->header.array.name, strlen(a->header.array.name)).text,
                     rows_of(a));
}

static RelnStatus convert_rows(const RelnArchive *v, const Array *a, ptrdiff_t first, ptrdiff_t n,
                               double *out)
{
    const size_t width = a->header.kind->width, all = (size_t)n * (size_t)row_size(a);
    const uint64_t begin = (uint64_t)first * (uint64_t)row_size(a);

    for (size_t done = 0, some; done < all; done += some) {
        some = all - done < BUFFER / width ? all - done : BUFFER / width;
        RELN_TRY(reln_archive_bytes(a, (begin + done) * width, some * width, v->buffer));
        reln_kind_convert(a->header.kind, a->header.big_endian, v->buffer, some, out + done);
    }
    return RELN_OK;
}

/* Reads existing rows, one thread at a time, because threads share the buffer. */
static RelnStatus read_rows(RelnArchive *v, Array *a, ptrdiff_t first, ptrdiff_t n, double *out)
{
    RelnStatus status;

    if (v->windows)
        return reln_windows_range(v, a, first, n, out);
    if (v->parts)
        return reln_archive_parts_range(v, a, first, n, out);
    pthread_mutex_lock(&v->lock);
    status = reln_archive_prepare(v, a);
    if (status == RELN_OK)
        status = convert_rows(v, a, first, n, out);
    pthread_mutex_unlock(&v->lock);
    return status;
}

static RelnStatus get_array(RelnArchive *v, int index, Array **out)
{
    if (index < 0 || index >= v->n)
        return reln_fail(v->ctx, RELN_ERR_ARG, "%s: array %d of %d", v->path, index, v->n);
    *out = &v->arrays[index];
    return RELN_OK;
}

/* Windows and archives of several files have the number type of the arrays below them. */
size_t reln_archive_row_bytes(const RelnArchive *v, int index)
{
    const ptrdiff_t size = row_size(&v->arrays[index]);
    const Array *a = &v->arrays[index];

    while (v->windows || v->parts) {
        index = v->windows ? a->window.index : a->in_part[0];
        v = v->windows ? v->windows->of : v->parts[0];
        a = &v->arrays[index];
    }
    return (size_t)size * a->header.kind->width;
}

RelnStatus reln_archive_range(RelnArchive *v, int index, ptrdiff_t first, ptrdiff_t n_rows,
                              double *out)
{
    RELN_NEED(v, RELN_ERR_ARG);

    Array *a = NULL;

    RELN_TRY(get_array(v, index, &a));
    RELN_NEED(out || n_rows <= 0 || row_size(a) == 0, reln_null(v->ctx, __func__));
    if (first < 0 || n_rows < 0 || first > rows_of(a) || n_rows > rows_of(a) - first)
        return fail_row(v, a, "rows up to", first + (n_rows > 0 ? n_rows - 1 : 0));
    return read_rows(v, a, first, n_rows, out);
}

void reln_archive_expect(RelnArchive *v, int index, ptrdiff_t first, ptrdiff_t n_rows)
{
    const Array *const a = &v->arrays[index];
    off_t begin, bytes;
    int fd;

    if (v->parts) {
        reln_archive_parts_expect(v, a, first, n_rows);
        return;
    }
    pthread_mutex_lock(&v->lock);
    fd = a->ready && !a->memory && !v->windows ? a->source->fd : -1;
    pthread_mutex_unlock(&v->lock);
    if (fd < 0)
        return;
    bytes = (off_t)reln_archive_row_bytes(v, index);
    begin = (off_t)a->begin + (off_t)first * bytes;
    (void)posix_fadvise(fd, begin, (off_t)n_rows * bytes, POSIX_FADV_WILLNEED); /* advice only */
}

/* Reads the given rows; consecutive rows are read together. */
RelnStatus reln_archive_rows(RelnArchive *v, int index, ptrdiff_t n_rows, const ptrdiff_t *rows,
                             double *out)
{
    RELN_NEED(v, RELN_ERR_ARG);

    Array *a = NULL;

    RELN_TRY(get_array(v, index, &a));
    RELN_NEED(n_rows <= 0 || (rows && (out || row_size(a) == 0)), reln_null(v->ctx, __func__));
    for (ptrdiff_t i = 0; i < n_rows; i++)
        if (rows[i] < 0 || rows[i] >= rows_of(a))
            return fail_row(v, a, "row", rows[i]);
    for (ptrdiff_t i = 0, run; i < n_rows; i += run) {
        for (run = 1; i + run < n_rows && rows[i + run] == rows[i] + run;)
            run++;
        RELN_TRY(read_rows(v, a, rows[i], run, out + i * row_size(a)));
    }
    return RELN_OK;
}
