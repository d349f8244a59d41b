/* path.c -- tests for files and folders at a path, absolute paths, and paths of programs. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "kit/files.h"
#include "reln/io.h"

#ifndef RELN_LIBEXEC_DIR
#define RELN_LIBEXEC_DIR "/usr/local/libexec/reln"
#endif

bool reln_file_exists(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

bool reln_folder_exists(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

RelnStatus reln_path_absolute(RelnCtx *ctx, const char *path, size_t size, char *out)
{
    size_t used = 0;

    out[0] = '\0';
    if (path[0] != '/') {
        if (!getcwd(out, size))
            return reln_fail(ctx, RELN_ERR_IO, "%.200s: the current folder cannot be told", path);
        used = strlen(out);
        if (used + 1 < size)
            out[used++] = '/';
    }
    if (strlen(path) >= size - used)
        return reln_fail(ctx, RELN_ERR_ARG, "%.200s ...: a path of %zu bytes; wanted at most %zu",
                         path, strlen(path), size - used - 1);
    memcpy(out + used, path, strlen(path) + 1);
    return RELN_OK;
}

bool reln_program_find(const char *name, size_t size, char *path)
{
    static const char *const places[] = {"", "../libexec/reln/"};
    char folder[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
    char *slash;

    folder[n > 0 ? n : 0] = '\0';
    slash = strrchr(folder, '/');
    if (slash)
        slash[1] = '\0';
    for (int i = 0; i < 2 && slash; i++)
        if (snprintf(path, size, "%s%s%s", folder, places[i], name) < (int)size &&
            access(path, X_OK) == 0)
            return true;
    return snprintf(path, size, "%s/%s", RELN_LIBEXEC_DIR, name) < (int)size &&
           access(path, X_OK) == 0;
}
