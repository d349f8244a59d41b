/* classes.c -- folders with one subfolder for each class, such as ModelNet. See kit/splats.h. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/sort.h"
#include "io/file.h"
#include "kit/splats.h"

enum { MOST_CLASSES = 10000, MOST_FILES = 10000000, PATH = 4096 };

/* A Names holds the names in a folder, sorted. */
typedef struct Names {
    RelnCtx *ctx;
    size_t n, room;
    char **items;
} Names;

static void names_clear(Names *names)
{
    for (size_t i = 0; i < names->n; i++)
        reln_free(names->ctx, names->items[i]);
    reln_free(names->ctx, names->items);
    *names = (Names){.ctx = names->ctx};
}

static char *copy_text(RelnCtx *ctx, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = reln_alloc_raw(ctx, size, 1);

    if (copy)
        memcpy(copy, text, size);
    return copy;
}

static RelnStatus names_add(Names *names, const char *name)
{
    if (names->n == names->room) {
        const size_t room = names->room ? 2 * names->room : 64;
        char **more = reln_alloc(names->ctx, room, sizeof *more);

        if (!more)
            return RELN_ERR_NOMEM;
        if (names->n > 0)
            memcpy(more, names->items, names->n * sizeof *more);
        reln_free(names->ctx, names->items);
        names->items = more;
        names->room = room;
    }
    names->items[names->n] = copy_text(names->ctx, name);
    return names->items[names->n++] ? RELN_OK : RELN_ERR_NOMEM;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static RelnStatus names_read(RelnCtx *ctx, const char *path, Names *out)
{
    DIR *const folder = opendir(path);
    RelnStatus status = RELN_OK;
    const struct dirent *entry;

    *out = (Names){.ctx = ctx};
    if (!folder)
        return reln_fail_errno(ctx, path, "read the folder", errno);
    while (status == RELN_OK && (entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            status = names_add(out, entry->d_name);
    closedir(folder);
    if (status == RELN_OK)
        reln_sort(out->items, out->n, sizeof *out->items, by_name);
    else
        names_clear(out);
    return status;
}

/* ---- the folder ------------------------------------------------------------------------------------------------------ */

typedef struct Walk {
    RelnClassFolder *out;
    size_t room;
} Walk;

static RelnStatus join(RelnCtx *ctx, const char *a, const char *b, char path[PATH])
{
    const int length = snprintf(path, PATH, "%s/%s", a, b);

    return length > 0 && length < PATH
               ? RELN_OK
               : reln_fail(ctx, RELN_ERR_ARG, "%s: a path of more than %d bytes", reln_path_tail(b),
                           PATH - 1);
}

static bool is_object(const char *name)
{
    return reln_path_ends_in(name, ".off") || reln_path_ends_in(name, ".ply") ||
           reln_path_ends_in(name, ".splat");
}

static RelnStatus add_file(Walk *w, const char *path, RelnClassSplit split)
{
    RelnClassFolder *f = w->out;

    if ((size_t)f->n_files == w->room) {
        const size_t room = w->room ? 2 * w->room : 256;
        RelnClassFile *more = reln_alloc(f->ctx, room, sizeof *more);

        if (!more)
            return RELN_ERR_NOMEM;
        if (f->n_files > 0)
            memcpy(more, f->files, (size_t)f->n_files * sizeof *more);
        reln_free(f->ctx, f->files);
        f->files = more;
        w->room = room;
    }
    if (f->n_files == MOST_FILES)
        return reln_fail(f->ctx, RELN_ERR_UNSUPPORTED, "%s: more than %d files",
                         reln_path_tail(path), MOST_FILES);
    f->files[f->n_files] =
        (RelnClassFile){.path = copy_text(f->ctx, path), .label = f->n_classes, .split = split};
    return f->files[f->n_files++].path ? RELN_OK : RELN_ERR_NOMEM;
}

static RelnStatus add_files(Walk *w, const char *folder, const Names *names, RelnClassSplit split)
{
    for (size_t i = 0; i < names->n; i++) {
        char path[PATH];

        if (!is_object(names->items[i]))
            continue;
        RELN_TRY(join(w->out->ctx, folder, names->items[i], path));
        RELN_TRY(add_file(w, path, split));
    }
    return RELN_OK;
}

static RelnStatus add_split(Walk *w, const char *folder, const char *name, RelnClassSplit split)
{
    char path[PATH];
    Names names;
    RelnStatus status;

    RELN_TRY(join(w->out->ctx, folder, name, path));
    if (!reln_folder_exists(path))
        return RELN_OK;
    RELN_TRY(names_read(w->out->ctx, path, &names));
    status = add_files(w, path, &names, split);
    names_clear(&names);
    return status;
}

/* Adds the class of a subfolder; a folder without objects is not a class. */
static RelnStatus add_class(Walk *w, const char *root, const char *name)
{
    RelnClassFolder *f = w->out;
    const ptrdiff_t before = f->n_files;
    char path[PATH];
    Names names;
    RelnStatus status;

    RELN_TRY(join(f->ctx, root, name, path));
    if (!reln_folder_exists(path))
        return RELN_OK;
    RELN_TRY(names_read(f->ctx, path, &names));
    status = add_files(w, path, &names, RELN_SPLIT_NONE);
    names_clear(&names);
    RELN_TRY(status);
    RELN_TRY(add_split(w, path, "train", RELN_SPLIT_TRAIN));
    RELN_TRY(add_split(w, path, "test", RELN_SPLIT_TEST));
    if (f->n_files == before)
        return RELN_OK;
    f->classes[f->n_classes] = copy_text(f->ctx, name);
    return f->classes[f->n_classes++] ? RELN_OK : RELN_ERR_NOMEM;
}

static RelnStatus walk(RelnCtx *ctx, const char *root, const Names *names, RelnClassFolder *out)
{
    Walk w = {.out = out};

    if (names->n > MOST_CLASSES)
        return reln_fail(ctx, RELN_ERR_UNSUPPORTED, "%s: more than %d classes",
                         reln_path_tail(root), MOST_CLASSES);
    out->classes = reln_alloc(ctx, names->n, sizeof *out->classes);
    if (!out->classes)
        return RELN_ERR_NOMEM;
    for (size_t i = 0; i < names->n; i++)
        RELN_TRY(add_class(&w, root, names->items[i]));
    if (out->n_files == 0)
        return reln_fail(ctx, RELN_ERR_FORMAT,
                         "%s: no .off, .ply or .splat in folders of classes; wanted "
                         "CLASS/FILE, or CLASS/train/FILE and CLASS/test/FILE",
                         reln_path_tail(root));
    return RELN_OK;
}

RelnStatus reln_class_folder(RelnCtx *ctx, const char *root, RelnClassFolder *out)
{
    Names names;
    RelnStatus status;

    *out = (RelnClassFolder){.ctx = ctx};
    RELN_TRY(names_read(ctx, root, &names));
    status = walk(ctx, root, &names, out);
    names_clear(&names);
    return status;
}

void reln_class_folder_clear(RelnClassFolder *f)
{
    for (int i = 0; i < f->n_classes; i++)
        reln_free(f->ctx, f->classes[i]);
    for (ptrdiff_t i = 0; i < f->n_files; i++)
        reln_free(f->ctx, (void *)(uintptr_t)f->files[i].path);
    reln_free(f->ctx, f->classes);
    reln_free(f->ctx, f->files);
    *f = (RelnClassFolder){.ctx = f->ctx};
}
