/* file.c -- see file.h. */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reln/io.h"

/* The end of a path, short enough that a message has room for the reason. */
static const char *tail(const char *path)
{
    enum { ROOM = 240 };
    const size_t length = strlen(path);

    return length > ROOM ? path + length - ROOM : path;
}

/* Other people's threads may call strerror() too; strerror_r() has room of its own. */
static RelnStatus fail_errno(RelnCtx *ctx, const char *path, const char *doing, int error)
{
    char text[128];

    if (strerror_r(error, text, sizeof text) != 0)
        snprintf(text, sizeof text, "error %d", error);
    return reln_fail(ctx, RELN_ERR_IO, "%s: cannot %s: %s", tail(path), doing, text);
}

static RelnStatus check_source(RelnSource *source)
{
    struct stat info;

    if (fstat(source->fd, &info) != 0)
        return fail_errno(source->ctx, source->name, "read", errno);
    if (S_ISDIR(info.st_mode))
        return fail_errno(source->ctx, source->name, "read", EISDIR);
    if (!S_ISREG(info.st_mode))
        return reln_fail(source->ctx, RELN_ERR_IO, "%s: not a regular file", source->name);
    if ((uint64_t)info.st_size > RELN_FILE_MAX_BYTES)
        return reln_fail(source->ctx, RELN_ERR_UNSUPPORTED, "%s: %llu bytes, at most %llu are read",
                         source->name, (unsigned long long)info.st_size,
                         (unsigned long long)RELN_FILE_MAX_BYTES);
    source->n_bytes = (size_t)info.st_size;
    return RELN_OK;
}

RelnStatus reln_source_open(RelnCtx *ctx, const char *path, RelnSource *out)
{
    RelnStatus status;

    /* O_NONBLOCK: a pipe without a writer is refused below and does not hang here */
    *out =
        (RelnSource){ctx, tail(path), open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), 0};
    if (out->fd < 0)
        return fail_errno(ctx, path, "open", errno);
    status = check_source(out);
    if (status != RELN_OK)
        reln_source_close(out);
    return status;
}

RelnStatus reln_source_read(const RelnSource *source, size_t offset, size_t n_bytes, void *bytes)
{
    char *p = bytes;

    for (size_t done = 0; done < n_bytes;) {
        const ssize_t got = pread(source->fd, p + done, n_bytes - done, (off_t)(offset + done));
        if (got < 0 && errno != EINTR)
            return fail_errno(source->ctx, source->name, "read", errno);
        if (got == 0)
            return reln_fail(source->ctx, RELN_ERR_IO, "%s: became shorter while it was read",
                             source->name);
        done += got > 0 ? (size_t)got : 0;
    }
    return RELN_OK;
}

void reln_source_close(RelnSource *source)
{
    if (source->fd >= 0)
        close(source->fd);
    source->fd = -1;
}

/* "path.tmp-PID-0", ... : the first name that nobody has. Two threads saving the same path get two names. */
static RelnStatus create_temporary(RelnReplace *file, mode_t mode)
{
    const size_t size = strlen(file->path) + 48;

    file->temporary = reln_alloc(file->ctx, size, 1);
    if (!file->temporary)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < 1000; i++) {
        snprintf(file->temporary, size, "%s.tmp-%ld-%d", file->path, (long)getpid(), i);
        file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (file->fd >= 0 || errno != EEXIST)
            break;
    }
    return file->fd >= 0 ? RELN_OK : fail_errno(file->ctx, file->path, "write", errno);
}

/* A device or a directory must not be replaced by a file: renaming over /dev/null would. */
static RelnStatus check_target(RelnCtx *ctx, const char *path, bool *exists, mode_t *mode)
{
    struct stat info;

    *exists = stat(path, &info) == 0;
    if (!*exists && errno != ENOENT)
        return fail_errno(ctx, path, "write", errno);
    if (*exists && !S_ISREG(info.st_mode))
        return reln_fail(ctx, RELN_ERR_IO, "%s: exists and is not a regular file", tail(path));
    *mode = *exists ? info.st_mode & 07777 : 0666;
    return RELN_OK;
}

RelnStatus reln_replace_begin(RelnCtx *ctx, const char *path, RelnReplace *out)
{
    bool exists = false;
    mode_t mode = 0;
    RelnStatus status = check_target(ctx, path, &exists, &mode);

    *out = (RelnReplace){ctx, path, NULL, -1};
    if (status == RELN_OK)
        status = create_temporary(out, mode);
    /* the umask applies to new files only */
    if (status == RELN_OK && exists && fchmod(out->fd, mode) != 0)
        status = fail_errno(ctx, path, "write", errno);
    if (status != RELN_OK)
        reln_replace_abort(out);
    return status;
}

RelnStatus reln_replace_write(const RelnReplace *file, const void *bytes, size_t n_bytes)
{
    const char *p = bytes;

    for (size_t done = 0; done < n_bytes;) {
        const ssize_t got = write(file->fd, p + done, n_bytes - done);
        if (got < 0 && errno != EINTR)
            return fail_errno(file->ctx, file->path, "write", errno);
        done += got > 0 ? (size_t)got : 0;
    }
    return RELN_OK;
}

void reln_replace_abort(RelnReplace *file)
{
    if (file->fd >= 0) {
        close(file->fd);
        unlink(file->temporary);
    }
    reln_free(file->ctx, file->temporary);
    file->temporary = NULL;
    file->fd = -1;
}

/* The new name is on disk only when the directory is. Some file systems cannot sync directories (EINVAL): there
 * the rename has happened and there is nothing more to ask for. */
static int sync_directory(char *path)
{
    char *const slash = strrchr(path, '/');
    int fd, error = 0;

    if (slash)
        slash[slash == path] = '\0'; /* "/name" lies in "/" */
    fd = open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    if (fsync(fd) != 0 && errno != EINVAL)
        error = errno;
    close(fd);
    return error;
}

RelnStatus reln_replace_commit(RelnReplace *file)
{
    int error = 0;

    if (fsync(file->fd) != 0 || rename(file->temporary, file->path) != 0) {
        error = errno;
        reln_replace_abort(file);
        return fail_errno(file->ctx, file->path, "write", error);
    }
    if (close(file->fd) != 0)
        error = errno;
    file->fd = -1;
    if (error == 0)
        error = sync_directory(file->temporary);
    reln_replace_abort(file);
    return error == 0 ? RELN_OK : fail_errno(file->ctx, file->path, "write", error);
}
