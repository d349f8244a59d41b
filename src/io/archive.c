/* archive.c -- one view of files of named arrays: .npz, .npy, folders of .npy, .safetensors, .h5.
 *
 * An array is a header and a place of its numbers: a stretch of a file, or memory. Those that are packed, in Fortran's
 * order or in HDF5 are brought to such a place when they are first asked for; after that reading allocates nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "io/doc.h"
#include "io/file.h"
#include "io/h5.h"
#include "io/npy.h"
#include "io/sort.h"
#include "io/tensors.h"
#include "io/text.h"
#include "io/zip.h"
#include "reln/io.h"

enum {
    BUFFER = 80 << 10,    /* bytes read at a time; the longest header fits */
    IN_MEMORY = 64 << 20, /* larger unpacked arrays go to a file without a name */
    MAX_FOLDER = 256,     /* files of a folder: each stays open */
    LIST_MAX = 8 << 20    /* bytes of a listing of HDF5 */
};

_Static_assert((int)BUFFER >= (int)RELN_NPY_MAX_LEAD, "a header is read at once");

typedef struct Array {
    RelnArchiveInfo info;
    RelnNpyHeader header; /* its `data` counts from the beginning of the entry */
    RelnSource *source;
    uint64_t begin;        /* of the numbers in the source */
    unsigned char *memory; /* or here */
    RelnSource spill;      /* or in a file of our own without a name, when `spilled` */
    bool spilled;
    const RelnZipEntry *entry; /* of a .npz */
    const char *dataset;       /* of a .h5 */
    bool ready;
} Array;

struct RelnArchive {
    RelnCtx *ctx;
    RelnArena arena;
    const char *path;
    const char *h5, *h5_path; /* the program, and its file */
    RelnSource *sources;
    int n_sources, n;
    Array *arrays;
    unsigned char *buffer;
};

/* ---- what an array is -------------------------------------------------------------------------------------------- */

/* The leading axis counts rows; a single number is a row. */
static void set_info(Array *a, const char *name)
{
    const RelnNpyHeader *const h = &a->header;
    ptrdiff_t row_size = 1;

    if (h->rank > 0) /* it fits: the whole shape does */
        reln_dims_count(h->rank - 1, h->dims + 1, &row_size);
    a->info = (RelnArchiveInfo){.name = name,
                                .dtype = h->kind->code,
                                .whole_numbers = h->kind->code[0] != 'f',
                                .precision = h->kind->precision,
                                .rank = h->rank,
                                .n_rows = h->rank > 0 ? h->dims[0] : 1,
                                .row_size = row_size};
    memcpy(a->info.dims, h->dims, sizeof a->info.dims);
}

/* "x.npy" -> "x". */
static const char *array_name(RelnArchive *v, const char *file)
{
    const size_t n = strlen(file);

    return reln_arena_printf(&v->arena, "%.*s",
                             (int)(n - (reln_path_ends_in(file, ".npy") ? 4 : 0)), file);
}

static RelnStatus fail_row(const RelnArchive *v, const Array *a, const char *what, ptrdiff_t row)
{
    return reln_fail(v->ctx, RELN_ERR_ARG, "%s: %s %td of array '%s' with %td rows", v->path, what,
                     row, reln_quote(a->info.name, strlen(a->info.name)).text, a->info.n_rows);
}

void reln_archive_destroy(RelnArchive *v)
{
    if (!v)
        return;
    for (int i = 0; i < v->n; i++) {
        reln_free(v->ctx, v->arrays[i].memory);
        if (v->arrays[i].spilled)
            reln_source_close(&v->arrays[i].spill);
    }
    for (int i = 0; i < v->n_sources; i++)
        reln_source_close(&v->sources[i]);
    reln_free(v->ctx, v->buffer);
    reln_arena_clear(&v->arena);
    reln_free(v->ctx, v);
}

/* ---- opening: .npy and folders ---------------------------------------------------------------------------------- */

/* The header of an array that is a file of its own. */
static RelnStatus open_npy(RelnArchive *v, RelnSource *source, const char *name, Array *a)
{
    const size_t n = source->n_bytes < RELN_NPY_MAX_LEAD ? source->n_bytes : RELN_NPY_MAX_LEAD;

    RELN_TRY(reln_source_read(source, 0, n, v->buffer));
    RELN_TRY(reln_npy_read_header(v->ctx, source->name, v->buffer, n, source->n_bytes, true,
                                  &a->header));
    a->source = source;
    a->begin = a->header.data;
    a->ready = !a->header.fortran || a->header.rank < 2;
    name = array_name(v, name);
    if (!name)
        return RELN_ERR_NOMEM;
    set_info(a, name);
    return RELN_OK;
}

static RelnStatus make_arrays(RelnArchive *v, size_t n)
{
    v->arrays = reln_arena_alloc(&v->arena, n, sizeof *v->arrays);
    return v->arrays ? RELN_OK : RELN_ERR_NOMEM;
}

static RelnStatus open_one_npy(RelnArchive *v)
{
    RELN_TRY(make_arrays(v, 1));
    v->n = 1;
    return open_npy(v, &v->sources[0], reln_path_name(v->path), &v->arrays[0]);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Names of the .npy files, sorted: the order in which a folder lists them is nobody's. */
static RelnStatus list_folder(RelnArchive *v, DIR *folder, const void **names, size_t *n)
{
    const struct dirent *entry;

    while ((entry = readdir(folder)))
        if (reln_path_ends_in(entry->d_name, ".npy") && entry->d_name[0] != '.') {
            if (*n == MAX_FOLDER)
                return reln_fail(v->ctx, RELN_ERR_UNSUPPORTED, "%s: more than %d .npy files",
                                 v->path, (int)MAX_FOLDER);
            names[*n] = reln_arena_printf(&v->arena, "%s", entry->d_name);
            if (!names[(*n)++])
                return RELN_ERR_NOMEM;
        }
    if (*n == 0)
        return reln_fail(v->ctx, RELN_ERR_FORMAT, "%s: a folder without .npy files", v->path);
    reln_sort(names, *n, by_text);
    return RELN_OK;
}

static RelnStatus open_listed(RelnArchive *v, const char *path, const void *const *names, size_t n)
{
    v->sources = reln_arena_alloc(&v->arena, n, sizeof *v->sources);
    if (!v->sources)
        return RELN_ERR_NOMEM;
    RELN_TRY(make_arrays(v, n));
    for (; (size_t)v->n < n; v->n++) {
        const char *const name = names[v->n];
        const char *const full = reln_arena_printf(&v->arena, "%s/%s", path, name);

        if (!full)
            return RELN_ERR_NOMEM;
        RELN_TRY(reln_source_open_large(v->ctx, full, &v->sources[v->n_sources]));
        v->n_sources++;
        RELN_TRY(open_npy(v, &v->sources[v->n], name, &v->arrays[v->n]));
    }
    return RELN_OK;
}

static RelnStatus open_folder(RelnArchive *v, const char *path)
{
    const void *names[MAX_FOLDER];
    DIR *const folder = opendir(path);
    RelnStatus status;
    size_t n = 0;

    if (!folder)
        return reln_fail_errno(v->ctx, path, "read the folder", errno);
    status = list_folder(v, folder, names, &n);
    closedir(folder);
    return status == RELN_OK ? open_listed(v, path, names, n) : status;
}

/* ---- opening: .npz ---------------------------------------------------------------------------------------------- */

/* The beginning of an entry, as far as a header can reach. */
typedef struct Start {
    unsigned char *bytes;
    size_t n;
} Start;

static RelnStatus keep_start(void *self, const unsigned char *bytes, size_t n_bytes)
{
    Start *const s = self;

    memcpy(s->bytes + s->n, bytes, n_bytes);
    s->n += n_bytes;
    return RELN_OK;
}

static RelnStatus open_entry(RelnArchive *v, const RelnZipEntry *entry, Array *a)
{
    const char *const name = array_name(v, entry->name);
    Start start = {v->buffer, 0};
    char what[320];

    if (!name)
        return RELN_ERR_NOMEM;
    if (!reln_utf8_valid(name, strlen(name)) || entry->unpacked > SIZE_MAX / 2)
        return reln_fail(v->ctx, RELN_ERR_FORMAT, "%s: an entry's name is not UTF-8", v->path);
    RELN_TRY(reln_zip_unpack(&v->sources[0], entry, RELN_NPY_MAX_LEAD, keep_start, &start));
    snprintf(what, sizeof what, "%s: entry '%s'", v->path, reln_quote(name, strlen(name)).text);
    RELN_TRY(reln_npy_read_header(v->ctx, what, start.bytes, start.n, (size_t)entry->unpacked, true,
                                  &a->header));
    a->source = &v->sources[0];
    a->entry = entry;
    a->begin = entry->data + a->header.data;
    set_info(a, name);
    return RELN_OK;
}

static int by_array_name(const void *a, const void *b)
{
    return strcmp(((const Array *)a)->info.name, ((const Array *)b)->info.name);
}

static RelnStatus check_names(const RelnArchive *v)
{
    const void **sorted = reln_alloc(v->ctx, (size_t)v->n, sizeof *sorted);
    RelnStatus status = RELN_OK;

    if (!sorted)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < v->n; i++)
        sorted[i] = &v->arrays[i];
    reln_sort(sorted, (size_t)v->n, by_array_name);
    for (int i = 1; i < v->n && status == RELN_OK; i++)
        if (by_array_name(sorted[i - 1], sorted[i]) == 0) {
            const char *const name = ((const Array *)sorted[i])->info.name;

            status = reln_fail(v->ctx, RELN_ERR_FORMAT, "%s: the array '%s' is there twice",
                               v->path, reln_quote(name, strlen(name)).text);
        }
    reln_free(v->ctx, sorted);
    return status;
}

/* Entries that are no .npy are somebody else's, folders and notes. */
static RelnStatus open_npz(RelnArchive *v)
{
    RelnZipEntry *entries = NULL;
    int n = 0;

    RELN_TRY(reln_zip_list(&v->sources[0], &v->arena, &entries, &n));
    RELN_TRY(make_arrays(v, (size_t)n));
    for (int i = 0; i < n; i++)
        if (reln_path_ends_in(entries[i].name, ".npy"))
            RELN_TRY(open_entry(v, &entries[i], &v->arrays[v->n++]));
    return check_names(v);
}

/* ---- opening: .safetensors ---------------------------------------------------------------------------------------- */

static RelnStatus take_tensor(void *self, const RelnNamed *tensor, uint64_t begin)
{
    RelnArchive *const v = self;
    Array *const a = &v->arrays[v->n++];
    const char *const name = reln_arena_printf(&v->arena, "%s", tensor->name);

    if (!name)
        return RELN_ERR_NOMEM;
    a->header.kind = reln_kind_of(tensor->dtype);
    a->header.rank = tensor->rank;
    memcpy(a->header.dims, tensor->dims, sizeof a->header.dims);
    reln_dims_count(tensor->rank, tensor->dims, &a->header.count);
    a->source = &v->sources[0];
    a->begin = begin;
    a->ready = true;
    set_info(a, name);
    return RELN_OK;
}

static RelnStatus count_tensors(void *self, int n)
{
    return make_arrays(self, (size_t)n);
}

/* ---- opening: .h5 ------------------------------------------------------------------------------------------------ */

static RelnStatus keep_text(void *self, const unsigned char *bytes, size_t n_bytes)
{
    RelnText *const text = self;

    if (text->n + n_bytes > LIST_MAX)
        return reln_fail(text->ctx, RELN_ERR_UNSUPPORTED, "the list of its datasets is too long");
    reln_text_put(text, bytes, n_bytes);
    return text->failed ? RELN_ERR_NOMEM : RELN_OK;
}

/* The child lists [name, kind, [extents]] for each dataset. */
static RelnStatus take_dataset(RelnArchive *v, const RelnDocNode *item, Array *a)
{
    const RelnDocNode *const name = item->first, *const kind = name ? name->next : NULL,
                             *const shape = kind ? kind->next : NULL;
    RelnNpyHeader *const h = &a->header;

    if (item->kind != RELN_DOC_LIST || item->count != 3 || !name || name->kind != RELN_DOC_TEXT ||
        !kind || kind->kind != RELN_DOC_TEXT || !shape || shape->kind != RELN_DOC_LIST ||
        shape->count > RELN_ARRAY_MAX_RANK || !(h->kind = reln_kind_named(kind->text)))
        return reln_fail(v->ctx, RELN_ERR_FORMAT, "%s: the reader of HDF5 listed nonsense",
                         v->path);
    for (const RelnDocNode *d = shape->first; d; d = d->next) {
        if (d->kind != RELN_DOC_NUMBER || d->number < 0 || d->number > 0x1p53)
            return reln_fail(v->ctx, RELN_ERR_FORMAT, "%s: the reader of HDF5 listed nonsense",
                             v->path);
        h->dims[h->rank++] = (ptrdiff_t)d->number;
    }
    if (!reln_dims_count(h->rank, h->dims, &h->count) || h->count > PTRDIFF_MAX / 8)
        return reln_fail(v->ctx, RELN_ERR_FORMAT, "%s: a dataset is too large", v->path);
    a->dataset = reln_arena_printf(&v->arena, "%s", name->text);
    if (!a->dataset)
        return RELN_ERR_NOMEM;
    set_info(a, a->dataset[0] == '/' ? a->dataset + 1 : a->dataset);
    return RELN_OK;
}

static RelnStatus take_datasets(RelnArchive *v, const RelnDocNode *root)
{
    if (root->kind != RELN_DOC_LIST || root->count > RELN_ZIP_MAX_ENTRIES)
        return reln_fail(v->ctx, RELN_ERR_UNSUPPORTED, "%s: more than %d datasets", v->path,
                         (int)RELN_ZIP_MAX_ENTRIES);
    RELN_TRY(make_arrays(v, (size_t)root->count));
    for (const RelnDocNode *item = root->first; item; item = item->next)
        RELN_TRY(take_dataset(v, item, &v->arrays[v->n++]));
    return check_names(v);
}

static RelnStatus open_h5(RelnArchive *v, const char *path, const char *given)
{
    RelnText list;
    RelnDoc *doc = NULL;
    RelnStatus status;

    RELN_TRY(reln_h5_find(&v->arena, path, given, &v->h5));
    v->h5 = reln_arena_printf(&v->arena, "%s", v->h5);
    v->h5_path = v->h5 ? reln_arena_printf(&v->arena, "%s", path) : NULL;
    if (!v->h5_path)
        return RELN_ERR_NOMEM;
    reln_text_init(&list, v->ctx);
    status = reln_h5_run(v->ctx, v->h5, "list", path, NULL, keep_text, &list);
    if (status == RELN_OK)
        status = reln_doc_parse_json(v->ctx, list.bytes ? list.bytes : "", list.n, "reln-h5", &doc);
    if (status == RELN_OK)
        status = take_datasets(v, reln_doc_root(doc));
    reln_doc_destroy(doc);
    reln_text_clear(&list);
    return status;
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

/* By the first bytes: endings are for people. */
static RelnStatus open_by_content(RelnArchive *v, const char *path, const char *h5)
{
    const RelnSource *const source = &v->sources[0];
    unsigned char b[9] = {0};

    RELN_TRY(
        reln_source_read(source, 0, source->n_bytes < sizeof b ? source->n_bytes : sizeof b, b));
    if (memcmp(b, "\x93NUMPY", 6) == 0)
        return open_one_npy(v);
    if (memcmp(b, "PK\3\4", 4) == 0 || memcmp(b, "PK\5\6", 4) == 0)
        return open_npz(v);
    if (memcmp(b, "\x89HDF\r\n\x1a\n", 8) == 0)
        return open_h5(v, path, h5);
    if (b[8] == '{')
        return reln_tensors_index(source, count_tensors, take_tensor, v);
    return reln_fail(
        v->ctx, RELN_ERR_FORMAT,
        "%s: not a file of arrays (it begins with '%s'); wanted .npz, .npy, .safetensors,"
        " .h5 or a folder of .npy",
        source->name, reln_quote((const char *)b, 8).text);
}

static RelnStatus open_archive(RelnArchive *v, const char *path, const char *h5)
{
    struct stat info;

    v->path = reln_arena_printf(&v->arena, "%s", reln_path_tail(path));
    v->buffer = v->path ? reln_alloc_raw(v->ctx, BUFFER, 1) : NULL;
    if (!v->buffer)
        return RELN_ERR_NOMEM;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return open_folder(v, path);
    v->sources = reln_arena_alloc(&v->arena, 1, sizeof *v->sources);
    if (!v->sources)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_source_open_large(v->ctx, path, &v->sources[0]));
    v->n_sources = 1;
    v->sources[0].name = v->path;
    return open_by_content(v, path, h5);
}

RelnStatus reln_archive_open_with(RelnCtx *ctx, const char *path, const char *h5, RelnArchive **out)
{
    RelnArchive *v = reln_alloc(ctx, 1, sizeof *v);
    RelnStatus status;

    *out = NULL;
    if (!v)
        return RELN_ERR_NOMEM;
    v->ctx = ctx;
    reln_arena_init(&v->arena, ctx);
    status = open_archive(v, path, h5);
    if (status == RELN_OK)
        *out = v;
    else
        reln_archive_destroy(v);
    return status;
}

RelnStatus reln_archive_open(RelnCtx *ctx, const char *path, RelnArchive **out)
{
    return reln_archive_open_with(ctx, path, NULL, out);
}

int reln_archive_count(const RelnArchive *v)
{
    return v->n;
}

const RelnArchiveInfo *reln_archive_info(const RelnArchive *v, int index)
{
    return index >= 0 && index < v->n ? &v->arrays[index].info : NULL;
}

int reln_archive_find(const RelnArchive *v, const char *name)
{
    int i = v->n - 1;

    while (i >= 0 && strcmp(v->arrays[i].info.name, name) != 0)
        i--;
    return i;
}

/* ---- bringing an array to a place ----------------------------------------------------------------------------------- */

/* Where unpacked bytes go: at most `room` of them, to memory or, when there are many, to a file. */
typedef struct Spill {
    RelnCtx *ctx;
    const char *name;
    uint64_t n, room;
    unsigned char *memory;
    int fd;
} Spill;

/* /var/tmp is meant for large files, where /tmp may be memory. */
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

static RelnStatus spill_begin(const RelnArchive *v, uint64_t room, Spill *s)
{
    *s = (Spill){v->ctx, v->path, 0, room, NULL, -1};
    if (room <= IN_MEMORY) {
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

/* The array takes over what was unpacked; the numbers begin at `data`. */
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

/* Stored entries stay where they are, once their CRC has been seen to be right. */
static RelnStatus prepare_entry(const RelnArchive *v, Array *a)
{
    const RelnZipEntry *const e = a->entry;
    Spill s;
    RelnStatus status;

    if (!e->deflated)
        return reln_zip_unpack(a->source, e, e->unpacked, ignore, NULL);
    status = spill_begin(v, e->unpacked, &s);
    if (status == RELN_OK)
        status = reln_zip_unpack(a->source, e, e->unpacked, spill_put, &s);
    if (status == RELN_OK)
        adopt(a, &s, a->header.data);
    else
        discard(&s);
    return status;
}

/* What was sent must be what was listed. */
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
    if (header->kind != listed->kind || header->fortran || header->rank != listed->rank ||
        memcmp(header->dims, listed->dims, sizeof header->dims) != 0)
        return reln_fail(v->ctx, RELN_ERR_FORMAT, "%s: dataset '%s' changed while it was read",
                         v->path, reln_quote(a->dataset, strlen(a->dataset)).text);
    return RELN_OK;
}

static RelnStatus prepare_dataset(const RelnArchive *v, Array *a)
{
    const uint64_t room = (uint64_t)a->header.count * a->header.kind->width + RELN_NPY_OWN_HEADER;
    RelnNpyHeader header;
    Spill s;
    RelnStatus status = spill_begin(v, room, &s);

    if (status == RELN_OK)
        status = reln_h5_run(v->ctx, v->h5, "cat", v->h5_path, a->dataset, spill_put, &s);
    if (status == RELN_OK)
        status = check_sent(v, a, &s, &header);
    if (status != RELN_OK) {
        discard(&s);
        return status;
    }
    a->header = header;
    adopt(a, &s, header.data);
    return RELN_OK;
}

static RelnStatus read_bytes(const Array *a, uint64_t at, size_t n_bytes, unsigned char *to)
{
    if (!a->memory)
        return reln_source_read(a->source, (size_t)(a->begin + at), n_bytes, to);
    memcpy(to, a->memory + a->begin + at, n_bytes);
    return RELN_OK;
}

/* Fortran's first index is the fastest; ours is the last. Element by element, widths apart. */
static void reorder(const RelnNpyHeader *h, const unsigned char *from, unsigned char *to)
{
    const size_t width = h->kind->width;
    ptrdiff_t index[RELN_ARRAY_MAX_RANK] = {0};

    for (ptrdiff_t i = 0; i < h->count; i++) {
        ptrdiff_t at = 0;

        for (int d = 0; d < h->rank; d++)
            at = at * h->dims[d] + index[d];
        memcpy(to + (size_t)at * width, from + (size_t)i * width, width);
        for (int d = 0; d < h->rank && ++index[d] == h->dims[d]; d++)
            index[d] = 0;
    }
}

/* Its rows lie scattered, so it is turned once, in memory. */
static RelnStatus turn(const RelnArchive *v, Array *a)
{
    const uint64_t n_bytes = (uint64_t)a->header.count * a->header.kind->width;
    unsigned char *from, *to;
    RelnStatus status = RELN_ERR_NOMEM;

    if (n_bytes > RELN_FILE_MAX_BYTES)
        return reln_fail(
            v->ctx, RELN_ERR_UNSUPPORTED,
            "%s: array '%s' of %llu bytes is in fortran order, which is read up to %llu", v->path,
            reln_quote(a->info.name, strlen(a->info.name)).text, (unsigned long long)n_bytes,
            (unsigned long long)RELN_FILE_MAX_BYTES);
    from = reln_alloc_raw(v->ctx, (size_t)n_bytes, 1);
    to = from ? reln_alloc_raw(v->ctx, (size_t)n_bytes, 1) : NULL;
    if (to)
        status = read_bytes(a, 0, (size_t)n_bytes, from);
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

static RelnStatus prepare(const RelnArchive *v, Array *a)
{
    if (a->ready)
        return RELN_OK;
    if (!a->memory && !a->spilled) {
        if (a->entry)
            RELN_TRY(prepare_entry(v, a));
        if (a->dataset)
            RELN_TRY(prepare_dataset(v, a));
    }
    if (a->header.fortran && a->header.rank > 1 && a->header.count > 0)
        RELN_TRY(turn(v, a));
    a->ready = true;
    return RELN_OK;
}

/* ---- rows --------------------------------------------------------------------------------------------------------- */

static RelnStatus convert_rows(const RelnArchive *v, const Array *a, ptrdiff_t first, ptrdiff_t n,
                               double *out)
{
    const size_t width = a->header.kind->width, all = (size_t)n * (size_t)a->info.row_size;
    const uint64_t begin = (uint64_t)first * (uint64_t)a->info.row_size;

    for (size_t done = 0, some; done < all; done += some) {
        some = all - done < BUFFER / width ? all - done : BUFFER / width;
        RELN_TRY(read_bytes(a, (begin + done) * width, some * width, v->buffer));
        reln_kind_convert(a->header.kind, a->header.big_endian, v->buffer, some, out + done);
    }
    return RELN_OK;
}

static RelnStatus get_array(RelnArchive *v, int index, Array **out)
{
    if (index < 0 || index >= v->n)
        return reln_fail(v->ctx, RELN_ERR_ARG, "%s: array %d of %d", v->path, index, v->n);
    *out = &v->arrays[index];
    return RELN_OK;
}

RelnStatus reln_archive_range(RelnArchive *v, int index, ptrdiff_t first, ptrdiff_t n_rows,
                              double *out)
{
    Array *a = NULL;

    RELN_TRY(get_array(v, index, &a));
    if (first < 0 || n_rows < 0 || first > a->info.n_rows || n_rows > a->info.n_rows - first)
        return fail_row(v, a, "rows up to", first + (n_rows > 0 ? n_rows - 1 : 0));
    RELN_TRY(prepare(v, a));
    return convert_rows(v, a, first, n_rows, out);
}

/* Rows that follow each other are read together. */
RelnStatus reln_archive_rows(RelnArchive *v, int index, ptrdiff_t n_rows, const ptrdiff_t *rows,
                             double *out)
{
    Array *a = NULL;

    RELN_TRY(get_array(v, index, &a));
    for (ptrdiff_t i = 0; i < n_rows; i++)
        if (rows[i] < 0 || rows[i] >= a->info.n_rows)
            return fail_row(v, a, "row", rows[i]);
    RELN_TRY(prepare(v, a));
    for (ptrdiff_t i = 0, run; i < n_rows; i += run) {
        for (run = 1; i + run < n_rows && rows[i + run] == rows[i] + run;)
            run++;
        RELN_TRY(convert_rows(v, a, rows[i], run, out + i * a->info.row_size));
    }
    return RELN_OK;
}
