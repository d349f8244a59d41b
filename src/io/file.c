/* file.c -- see file.h. */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit/files.h"
#include "reln/io.h"

const char *reln_path_tail(const char *path)
{
    enum { ROOM = 240 };
    const size_t length = strlen(path);

    return length > ROOM ? path + length - ROOM : path;
}

const char *reln_path_name(const char *path)
{
    const char *const slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool reln_path_ends_in(const char *path, const char *ending)
{
    const size_t n = strlen(path), m = strlen(ending);

    return n >= m && strcmp(path + n - m, ending) == 0;
}

/* strerror_r() writes to a local buffer; strerror() has one buffer for all threads. */
RelnStatus reln_fail_errno(RelnCtx *ctx, const char *path, const char *doing, int error)
{
    char text[128];

    if (strerror_r(error, text, sizeof text) != 0)
        snprintf(text, sizeof text, "error %d", error);
    return reln_fail(ctx, RELN_ERR_IO, "%s: cannot %s: %s", reln_path_tail(path), doing, text);
}

static RelnStatus check_source(RelnSource *source, uint64_t limit)
{
    struct stat info;

    if (fstat(source->fd, &info) != 0)
        return reln_fail_errno(source->ctx, source->name, "read", errno);
    if (S_ISDIR(info.st_mode))
        return reln_fail_errno(source->ctx, source->name, "read", EISDIR);
    if (!S_ISREG(info.st_mode))
        return reln_fail(source->ctx, RELN_ERR_IO, "%s: not a regular file", source->name);
    if ((uint64_t)info.st_size > limit)
        return reln_fail(source->ctx, RELN_ERR_UNSUPPORTED, "%s: %llu bytes, at most %llu are read",
                         source->name, (unsigned long long)info.st_size, (unsigned long long)limit);
    source->n_bytes = (size_t)info.st_size;
    return RELN_OK;
}

static RelnStatus open_source(RelnCtx *ctx, const char *path, uint64_t limit, RelnSource *out)
{
    RelnStatus status;

    /* O_NONBLOCK: opening a pipe without a writer does not hang; the pipe is refused below */
    *out = (RelnSource){ctx, reln_path_tail(path),
                        open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), 0};
    if (out->fd < 0)
        return reln_fail_errno(ctx, path, "open", errno);
    status = check_source(out, limit);
    if (status != RELN_OK)
        reln_source_close(out);
    return status;
}

RelnStatus reln_source_open(RelnCtx *ctx, const char *path, RelnSource *out)
{
    return open_source(ctx, path, RELN_FILE_MAX_BYTES, out);
}

RelnStatus reln_source_open_large(RelnCtx *ctx, const char *path, RelnSource *out)
{
    return open_source(ctx, path, SIZE_MAX / 2, out);
}

RelnStatus reln_source_read(const RelnSource *source, size_t offset, size_t n_bytes, void *bytes)
{
    char *p = bytes;

    for (size_t done = 0; done < n_bytes;) {
        const ssize_t got = pread(source->fd, p + done, n_bytes - done, (off_t)(offset + done));
        if (got < 0 && errno != EINTR)
            return reln_fail_errno(source->ctx, source->name, "read", errno);
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

enum { SUFFIX = 48 }; /* the longest suffix that is appended to a path */

/* Creates "path.tmp-PID-NUMBER" with the first free number, so that two threads that save to the same path
 * get two names. The lock on the file is released when the process ends, which tells reln_folder_sweep() that
 * the file is abandoned. */
static RelnStatus create_temporary(RelnReplace *file, mode_t mode)
{
    const size_t size = strlen(file->path) + SUFFIX;

    file->temporary = reln_alloc(file->ctx, size, 1);
    if (!file->temporary)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < 1000; i++) {
        snprintf(file->temporary, size, "%s.tmp-%ld-%d", file->path, (long)getpid(), i);
        file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (file->fd >= 0 || errno != EEXIST)
            break;
    }
    if (file->fd < 0)
        return reln_fail_errno(file->ctx, file->path, "write", errno);
    (void)flock(file->fd,
                LOCK_EX | LOCK_NB); /* some file systems have no locks: then the age of the file decides */
    return RELN_OK;
}

/* Refuses to replace a device or a directory by a file: renaming over /dev/null would do so. */
static RelnStatus check_target(RelnCtx *ctx, const char *path, bool *exists, mode_t *mode)
{
    struct stat info;

    *exists = stat(path, &info) == 0;
    if (!*exists && errno != ENOENT)
        return reln_fail_errno(ctx, path, "write", errno);
    if (*exists && !S_ISREG(info.st_mode))
        return reln_fail(ctx, RELN_ERR_IO, "%s: exists and is not a regular file",
                         reln_path_tail(path));
    *mode = *exists ? info.st_mode & 07777 : 0666;
    return RELN_OK;
}

RelnStatus reln_replace_begin(RelnCtx *ctx, const char *path, RelnReplace *out)
{
    bool exists = false;
    mode_t mode = 0;
    RelnStatus status = check_target(ctx, path, &exists, &mode);

    *out = (RelnReplace){ctx, path, NULL, -1, false};
    if (status == RELN_OK)
        status = create_temporary(out, mode);
    /* the umask applies to new files only */
    if (status == RELN_OK && exists && fchmod(out->fd, mode) != 0)
        status = reln_fail_errno(ctx, path, "write", errno);
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
            return reln_fail_errno(file->ctx, file->path, "write", errno);
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

/* Syncs the directory: only then is the new name on disk. Some file systems cannot sync directories (EINVAL);
 * that error is ignored. */
static int sync_directory(char *path)
{
    char *const slash = strrchr(path, '/');
    int fd, error = 0;

    if (slash)
        slash[slash == path] = '\0'; /* the directory of "/name" is "/" */
    fd = open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    if (fsync(fd) != 0 && errno != EINVAL)
        error = errno;
    close(fd);
    return error;
}

/* Gives the file that is about to be replaced a second name. On file systems without hard links the file is
 * renamed: then, for a moment, only the previous file exists. */
static int set_aside(const char *path, const char *spare, const char *previous)
{
    if (link(path, spare) == 0 || errno == ENOENT)
        return 0;
    return rename(path, previous) == 0 || errno == ENOENT ? 0 : errno;
}

/* The order of the steps keeps a complete file under one of the two names at every moment. rename() does
 * nothing if both names already refer to one file, so the spare name is removed in any case. */
static int rename_keeping(const RelnReplace *file, char *spare, char *previous, size_t size)
{
    int error;

    snprintf(spare, size, "%s.tmp-%ld-1000", file->path, (long)getpid());
    snprintf(previous, size, "%s.previous", file->path);
    unlink(spare); /* may be left by an earlier process with the same number: process numbers are reused */
    error = set_aside(file->path, spare, previous);
    if (error == 0 && rename(file->temporary, file->path) != 0)
        error = errno;
    if (error == 0 && rename(spare, previous) != 0 && errno != ENOENT)
        error = errno;
    unlink(spare);
    return error;
}

enum { NO_MEMORY = -1 }; /* not a code of the system: the context already has the message */

static int rename_temporary(const RelnReplace *file)
{
    const size_t size = strlen(file->path) + SUFFIX;
    char *names;
    int error;

    if (!file->keep)
        return rename(file->temporary, file->path) == 0 ? 0 : errno;
    names = reln_alloc(file->ctx, size, 2);
    if (!names)
        return NO_MEMORY;
    error = rename_keeping(file, names, names + size, size);
    reln_free(file->ctx, names);
    return error;
}

RelnStatus reln_replace_commit(RelnReplace *file)
{
    int error = fsync(file->fd) != 0 ? errno : rename_temporary(file);

    if (error != 0) {
        reln_replace_abort(file);
        return error == NO_MEMORY ? RELN_ERR_NOMEM
                                  : reln_fail_errno(file->ctx, file->path, "write", error);
    }
    if (close(file->fd) != 0)
        error = errno;
    file->fd = -1;
    if (error == 0)
        error = sync_directory(file->temporary);
    reln_replace_abort(file);
    return error == 0 ? RELN_OK : reln_fail_errno(file->ctx, file->path, "write", error);
}

/* ---- public functions -------------------------------------------------------------------------------------------- */

RelnStatus reln_file_write(RelnCtx *ctx, const char *path, const void *bytes, size_t n_bytes)
{
    RelnReplace file;
    RelnStatus status;

    RELN_TRY(reln_replace_begin(ctx, path, &file));
    status = reln_replace_write(&file, bytes, n_bytes);
    if (status == RELN_OK)
        return reln_replace_commit(&file);
    reln_replace_abort(&file);
    return status;
}

/* Appends all bytes or none: if the disk is full, the part that was written is cut off again. */
static int append(int fd, const char *bytes, size_t n_bytes)
{
    struct stat info;
    int error = 0;

    if (fstat(fd, &info) != 0)
        return errno;
    for (size_t done = 0; error == 0 && done < n_bytes;) {
        const ssize_t got = write(fd, bytes + done, n_bytes - done);

        if (got < 0 && errno != EINTR)
            error = errno;
        done += got > 0 ? (size_t)got : 0;
    }
    if (error != 0)
        (void)!ftruncate(fd, info.st_size);
    return error;
}

RelnStatus reln_file_append(RelnCtx *ctx, const char *path, const void *bytes, size_t n_bytes)
{
    const int fd =
        open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    int error;

    if (fd < 0)
        return reln_fail_errno(ctx, path, "write", errno);
    error = append(fd, bytes, n_bytes);
    if (close(fd) != 0 && error == 0)
        error = errno;
    return error == 0 ? RELN_OK : reln_fail_errno(ctx, path, "write", error);
}
