/* path.c -- tests for files and folders at a path, and absolute paths. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "kit/files.h"
#include "reln/io.h"

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
