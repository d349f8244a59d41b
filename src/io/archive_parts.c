/* archive_parts.c -- several files as one archive: the rows of each array in the order of the files'
 * names. */
#include <glob.h>
#include <string.h>

#include "io/archive.h"
#include "io/text.h"

/* Limit on the number of files, all of which stay open. */
enum { MOST_PARTS = 4096 };

bool reln_archive_is_pattern(const char *path)
{
    return strpbrk(path, "*?[") != NULL;
}

/* Sorts by bytes, so that the order does not depend on the locale. */
static void sort_names(char **names, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && strcmp(names[k], names[k - 1]) < 0; k--) {
            char *name = names[k];

            names[k] = names[k - 1];
            names[k - 1] = name;
        }
}

static RelnStatus open_parts(RelnArchive *v, size_t n, char *const *names, const char *h5)
{
    v->parts = reln_arena_alloc(&v->arena, n, sizeof(RelnArchive *));
    if (!v->parts)
        return RELN_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        RELN_TRY(reln_archive_open_with(v->ctx, names[i], h5, &v->parts[i]));
        v->n_parts++;
    }
    return RELN_OK;
}

static RelnStatus fail_part(const RelnArchive *v, int part, const char *name, const char *what)
{
    return reln_fail(v->ctx, RELN_ERR_FORMAT, "%s: array '%s' %s in %s", v->parts[part]->path,
                     reln_quote(name, strlen(name)).text, what, v->parts[0]->path);
}

static bool same_rows(const RelnArray *a, const RelnArray *b)
{
    bool same = a->rank == b->rank && a->rank > 0;

    for (int i = 1; i < a->rank && same; i++)
        same = a->dims[i] == b->dims[i];
    return same;
}

/* Joins an array: its rows in each file, and where they begin. */
static RelnStatus join(RelnArchive *v, int index)
{
    RelnArray *whole = &v->arrays[index].header.array;
    const char *name;

    *whole = v->parts[0]->arrays[index].header.array;
    name = whole->name;
    v->arrays[index].in_part = reln_arena_alloc(&v->arena, (size_t)v->n_parts, sizeof(int));
    v->arrays[index].first = reln_arena_alloc(&v->arena, (size_t)v->n_parts + 1, sizeof(ptrdiff_t));
    if (!v->arrays[index].in_part || !v->arrays[index].first)
        return RELN_ERR_NOMEM;
    for (int p = 0; p < v->n_parts; p++) {
        const int at = reln_archive_find(v->parts[p], name);
        ptrdiff_t *first = v->arrays[index].first;

        if (at < 0)
            return fail_part(v, p, name, "is missing, and is");
        if (!same_rows(whole, &v->parts[p]->arrays[at].header.array))
            return fail_part(v, p, name, "has rows of another shape than");
        v->arrays[index].in_part[p] = at;
        if (__builtin_add_overflow(first[p], v->parts[p]->arrays[at].header.array.dims[0],
                                   &first[p + 1]))
            return fail_part(v, p, name, "has too many rows together with those");
    }
    whole->dims[0] = v->arrays[index].first[v->n_parts];
    if (reln_array_count(whole) < 0)
        return fail_part(v, v->n_parts - 1, name, "has too many numbers together with those");
    return RELN_OK;
}

static RelnStatus begin(RelnArchive *v, size_t n, char *const *names, const char *h5)
{
    RELN_TRY(open_parts(v, n, names, h5));
    v->arrays = reln_arena_alloc(&v->arena, (size_t)v->parts[0]->n + 1, sizeof *v->arrays);
    if (!v->arrays)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < v->parts[0]->n; i++) {
        RELN_TRY(join(v, i));
        v->n++;
    }
    return RELN_OK;
}

RelnStatus reln_archive_begin_parts(RelnArchive *v, const char *pattern, const char *h5)
{
    glob_t found = {0};
    RelnStatus status;
    int code;

    v->path = reln_arena_printf(&v->arena, "%s", reln_path_tail(pattern));
    if (!v->path)
        return RELN_ERR_NOMEM;
    code = glob(pattern, GLOB_NOSORT, NULL, &found);
    if (code == GLOB_NOSPACE)
        return reln_fail(v->ctx, RELN_ERR_NOMEM, "%s: out of memory", v->path);
    if (code != 0)
        return reln_fail(v->ctx, RELN_ERR_IO, "%s: no file has a name like this", v->path);
    if (found.gl_pathc > MOST_PARTS) {
        status = reln_fail(v->ctx, RELN_ERR_ARG, "%s: %zu files, wanted at most %d", v->path,
                           found.gl_pathc, MOST_PARTS);
    } else {
        sort_names(found.gl_pathv, found.gl_pathc);
        status = begin(v, found.gl_pathc, found.gl_pathv, h5);
    }
    globfree(&found);
    return status;
}

/* Returns the file that a row is in: the last non-empty one that begins at or before it. */
static int part_of(const RelnArchive *v, const Array *a, ptrdiff_t row)
{
    int low = 0, high = v->n_parts;

    while (high - low > 1) {
        const int middle = low + (high - low) / 2;

        if (a->first[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Returns how many of n rows from `row` on are in the file of the first one. */
static ptrdiff_t rows_in_part(const RelnArchive *v, const Array *a, ptrdiff_t row, ptrdiff_t n,
                              int *part)
{
    *part = part_of(v, a, row);
    return a->first[*part + 1] - row < n ? a->first[*part + 1] - row : n;
}

RelnStatus reln_archive_parts_range(const RelnArchive *v, const Array *a, ptrdiff_t first,
                                    ptrdiff_t n, double *out)
{
    const ptrdiff_t size = reln_array_row_size(&a->header.array);
    int p;

    for (ptrdiff_t done = 0, some; done < n; done += some) {
        some = rows_in_part(v, a, first + done, n - done, &p);
        RELN_TRY(reln_archive_range(v->parts[p], a->in_part[p], first + done - a->first[p], some,
                                    out + done * size));
    }
    return RELN_OK;
}

void reln_archive_parts_expect(const RelnArchive *v, const Array *a, ptrdiff_t first, ptrdiff_t n)
{
    int p;

    for (ptrdiff_t done = 0, some; done < n; done += some) {
        some = rows_in_part(v, a, first + done, n - done, &p);
        reln_archive_expect(v->parts[p], a->in_part[p], first + done - a->first[p], some);
    }
}
