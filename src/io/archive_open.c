/* archive_open.c -- lists the arrays of .npy, folders of .npy, .npz, .safetensors, .h5 and text tables, each
 * with its header. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/sort.h"
#include "io/archive.h"
#include "io/csv.h"
#include "io/doc.h"
#include "io/h5.h"
#include "io/tensors.h"
#include "io/text.h"
#include "kit/files.h"

enum {
    MAX_FOLDER = 256,  /* files of a folder; each stays open */
    LIST_MAX = 8 << 20 /* bytes of a list of HDF5 datasets */
};

/* "x.npy" -> "x". */
static const char *array_name(RelnArchive *v, const char *file)
{
    const size_t n = strlen(file);

    return reln_arena_printf(&v->arena, "%.*s",
                             (int)(n - (reln_path_ends_in(file, ".npy") ? 4 : 0)), file);
}

/* ---- opening: .npy and folders ---------------------------------------------------------------------------------- */

/* Reads the header of an array in a separate file. */
static RelnStatus open_npy(RelnArchive *v, RelnSource *source, const char *name, Array *a)
{
    const size_t n = source->n_bytes < RELN_NPY_MAX_LEAD ? source->n_bytes : RELN_NPY_MAX_LEAD;

    RELN_TRY(reln_source_read(source, 0, n, v->buffer));
    RELN_TRY(reln_npy_read_header(v->ctx, source->name, v->buffer, n, source->n_bytes, true,
                                  &a->header));
    a->source = source;
    a->begin = a->header.data;
    a->ready = !a->header.fortran || a->header.array.rank < 2;
    a->header.array.name = array_name(v, name);
    return a->header.array.name ? RELN_OK : RELN_ERR_NOMEM;
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
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lists the names of the .npy files, sorted, since the system lists a folder in no particular order. */
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
    reln_sort(names, *n, sizeof *names, by_text);
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

/* A Start holds the first bytes of an entry, as many as the longest header has. */
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
    a->header.array.name = name;
    return RELN_OK;
}

static int by_array_name(const void *a, const void *b)
{
    return strcmp((*(const Array *const *)a)->header.array.name,
                  (*(const Array *const *)b)->header.array.name);
}

static RelnStatus check_names(const RelnArchive *v)
{
    const void **sorted = reln_alloc(v->ctx, (size_t)v->n, sizeof *sorted);
    RelnStatus status = RELN_OK;

    if (!sorted)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < v->n; i++)
        sorted[i] = &v->arrays[i];
    reln_sort(sorted, (size_t)v->n, sizeof *sorted, by_array_name);
    for (int i = 1; i < v->n && status == RELN_OK; i++)
        if (by_array_name(&sorted[i - 1], &sorted[i]) == 0) {
            const char *const name = ((const Array *)sorted[i])->header.array.name;

            status = reln_fail(v->ctx, RELN_ERR_FORMAT, "%s: the array '%s' is there twice",
                               v->path, reln_quote(name, strlen(name)).text);
        }
    reln_free(v->ctx, sorted);
    return status;
}

/* Opens the .npy entries of a .npz; other entries (folders, notes) are ignored. */
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

/* ---- opening: .safetensors --------------------------------------------------------------------------------------- */

/* Sets the shape of an array of a known number type. */
static void set_shape(Array *a, const char *name, int rank, const ptrdiff_t *dims)
{
    a->header.array =
        (RelnArray){.name = name, .dtype = RELN_F64, .rank = rank, .stored = a->header.kind->code};
    memcpy(a->header.array.dims, dims, (size_t)rank * sizeof *dims);
}

/* Adds an array whose numbers need no preparation. */
static RelnStatus take_named(RelnArchive *v, const RelnArray *array, Array **out)
{
    Array *const a = &v->arrays[v->n++];
    const char *const name = reln_arena_printf(&v->arena, "%s", array->name);

    if (!name)
        return RELN_ERR_NOMEM;
    *out = a;
    a->header.kind = reln_kind_of(array->dtype);
    if (!a->header.kind || array->rank < 0 || array->rank > RELN_ARRAY_MAX_RANK)
        return reln_fail(v->ctx, RELN_ERR_ARG, "%s: array '%s' has %d axes of dtype %d", v->path,
                         reln_quote(name, strlen(name)).text, array->rank, (int)array->dtype);
    a->header.count = reln_array_count(array);
    if (a->header.count < 0)
        return reln_fail(v->ctx, RELN_ERR_ARG,
                         "%s: array '%s' has more numbers than can be counted", v->path,
                         reln_quote(name, strlen(name)).text);
    a->ready = true;
    set_shape(a, name, array->rank, array->dims);
    return RELN_OK;
}

static RelnStatus take_tensor(void *self, const RelnArray *tensor, uint64_t begin)
{
    RelnArchive *const v = self;
    Array *a = NULL;

    RELN_TRY(take_named(v, tensor, &a));
    a->source = &v->sources[0];
    a->begin = begin;
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

static RelnStatus nonsense(const RelnArchive *v)
{
    return reln_fail(v->ctx, RELN_ERR_FORMAT, "%s: the reader of HDF5 listed nonsense", v->path);
}

static const char *without_slash(const char *name)
{
    return name[0] == '/' ? name + 1 : name;
}

static RelnStatus take_shape(const RelnArchive *v, const RelnDocNode *shape, const char *name,
                             Array *a)
{
    RelnNpyHeader *const h = &a->header;
    ptrdiff_t dims[RELN_ARRAY_MAX_RANK];
    int rank = 0;

    if (!h->kind || shape->kind != RELN_DOC_LIST || shape->count > RELN_ARRAY_MAX_RANK)
        return nonsense(v);
    for (const RelnDocNode *d = shape->first; d; d = d->next) {
        if (d->kind != RELN_DOC_NUMBER || d->number < 0 || d->number > 0x1p53)
            return nonsense(v);
        dims[rank++] = (ptrdiff_t)d->number;
    }
    set_shape(a, name, rank, dims);
    h->count = reln_array_count(&h->array);
    if (h->count < 0 || h->count > PTRDIFF_MAX / 8)
        return reln_fail(v->ctx, RELN_ERR_FORMAT, "%s: a dataset is too large", v->path);
    return RELN_OK;
}

/* The child lists [name, kind, [extents]] for each dataset, [name, "", why] for one that cannot be read. */
static RelnStatus take_dataset(RelnArchive *v, const RelnDocNode *item)
{
    const RelnDocNode *const name = item->first, *const kind = name ? name->next : NULL,
                             *const shape = kind ? kind->next : NULL;
    const char *copy;
    Array *a;

    if (item->kind != RELN_DOC_LIST || item->count != 3 || !name || name->kind != RELN_DOC_TEXT ||
        !kind || kind->kind != RELN_DOC_TEXT || !shape)
        return nonsense(v);
    copy = reln_arena_printf(&v->arena, "%s", name->text);
    if (!copy)
        return RELN_ERR_NOMEM;
    if (shape->kind == RELN_DOC_TEXT) {
        const char *const why = reln_arena_printf(&v->arena, "%s", shape->text);

        v->unread[v->n_unread++] = (Unread){without_slash(copy), why};
        return why ? RELN_OK : RELN_ERR_NOMEM;
    }
    a = &v->arrays[v->n++];
    a->header.kind = reln_kind_named(kind->text);
    a->dataset = copy;
    return take_shape(v, shape, without_slash(copy), a);
}

static RelnStatus take_datasets(RelnArchive *v, const RelnDocNode *root)
{
    if (root->kind != RELN_DOC_LIST || root->count > RELN_ZIP_MAX_ENTRIES)
        return reln_fail(v->ctx, RELN_ERR_UNSUPPORTED, "%s: more than %d datasets", v->path,
                         (int)RELN_ZIP_MAX_ENTRIES);
    RELN_TRY(make_arrays(v, (size_t)root->count));
    v->unread = reln_arena_alloc(&v->arena, (size_t)root->count, sizeof *v->unread);
    if (!v->unread)
        return RELN_ERR_NOMEM;
    for (const RelnDocNode *item = root->first; item; item = item->next)
        RELN_TRY(take_dataset(v, item));
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
        status = reln_doc_parse_json(v->ctx, list.bytes ? list.bytes : "", list.n, v->path, &doc);
    if (status == RELN_OK)
        status = take_datasets(v, reln_doc_root(doc));
    reln_doc_destroy(doc);
    reln_text_clear(&list);
    return status;
}

/* ---- opening: tables of text ------------------------------------------------------------------------------------- */

static bool big_endian(void)
{
    const uint16_t one = 1;

    return *(const unsigned char *)&one == 0;
}

/* Adds n columns of a table, from the first on, as an array in memory: (rows,), or (rows, n). */
static RelnStatus take_table(RelnArchive *v, const RelnCsv *table, const char *name, int first,
                             int n)
{
    const RelnArray array = {.name = name,
                             .dtype = RELN_F64,
                             .rank = n > 1 ? 2 : 1,
                             .dims = {table->n_rows, n > 1 ? n : 0}};
    Array *a = NULL;
    double *to;

    RELN_TRY(take_named(v, &array, &a));
    a->header.big_endian = big_endian();
    to = reln_alloc_raw(v->ctx, (size_t)table->n_rows * (size_t)n, sizeof *to);
    a->memory = (void *)to;
    if (!to)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t i = 0; i < table->n_rows; i++)
        for (int c = 0; c < n; c++)
            to[i * n + c] = table->values[(first + c) * table->n_rows + i];
    return RELN_OK;
}

/* Adds the vector that begins at a column, unless there is an array of that name already. */
static RelnStatus take_vector(RelnArchive *v, const RelnCsv *table, int column, int n, int length)
{
    const char *name = reln_arena_printf(&v->arena, "%.*s", length, table->names[column]);

    if (!name)
        return RELN_ERR_NOMEM;
    return reln_archive_find(v, name) < 0 ? take_table(v, table, name, column, n) : RELN_OK;
}

/* Adds the columns of a table as arrays; behind them the vectors that columns are components of. */
static RelnStatus take_columns(RelnArchive *v, const RelnCsv *table)
{
    int n, length = 0;

    RELN_TRY(make_arrays(v, (size_t)(table->n_columns + table->n_columns / 3)));
    for (int c = 0; c < table->n_columns; c++)
        RELN_TRY(take_table(v, table, table->names[c], c, 1));
    for (int c = 0; c<table->n_columns; c += n> 0 ? n : 1) {
        n = reln_csv_vector(table, c, &length);
        if (n > 0)
            RELN_TRY(take_vector(v, table, c, n, length));
    }
    return RELN_OK;
}

static RelnStatus open_csv(RelnArchive *v, const char *path)
{
    RelnCsv table;
    RelnStatus status = reln_csv_load(v->ctx, path, &table);

    if (status == RELN_OK)
        status = take_columns(v, &table);
    reln_csv_clear(&table);
    return status;
}

/* ---- recognising the format -------------------------------------------------------------------------------------- */

/* Recognises the format by the first bytes, not by the file's extension; a file without known first bytes is
 * read as text. */
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
    if (reln_path_ends_in(path, ".csv"))
        return open_csv(v, path);
    return reln_fail(
        v->ctx, RELN_ERR_FORMAT,
        "%s: not a file of arrays (it begins with '%s'); wanted .npz, .npy, .safetensors,"
        " .h5, .csv or a folder of .npy",
        source->name, reln_quote((const char *)b, 8).text);
}

RelnStatus reln_archive_begin(RelnArchive *v, const char *path, const char *h5)
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

/* ---- memory ------------------------------------------------------------------------------------------------------ */

RelnStatus reln_archive_begin_memory(RelnArchive *v, const char *what, int n,
                                     const RelnArray *arrays)
{
    v->path = reln_arena_printf(&v->arena, "%s", what);
    v->buffer = v->path ? reln_alloc_raw(v->ctx, BUFFER, 1) : NULL;
    if (!v->buffer)
        return RELN_ERR_NOMEM;
    RELN_TRY(make_arrays(v, (size_t)n));
    for (int i = 0; i < n; i++) {
        Array *a = NULL;

        RELN_TRY(take_named(v, &arrays[i], &a));
        a->memory = arrays[i].values;
        a->borrowed = true;
        a->header.big_endian = big_endian(); /* this machine's byte order */
    }
    return check_names(v);
}
