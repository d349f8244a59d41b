/* folder.c -- folders of runs: creating them, locking them for one process, removing files that a crash left
 * behind. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"
#include "io/text.h"
#include "kit/files.h"
#include "reln/io.h"

/* ---- making ----------------------------------------------------------------------------------------------------- */

static int make_one(const char *path)
{
    struct stat info;

    if (mkdir(path, 0777) == 0)
        return 0;
    if (errno == EEXIST && stat(path, &info) == 0)
        return S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
    return errno;
}

/* Creates a folder and all its parents; `path` is cut at each slash in turn and restored. */
static int make_all(char *path)
{
    int error = 0;

    for (char *p = path; *p && error == 0; p++)
        if (*p == '/' && p > path) {
            *p = '\0';
            error = make_one(path);
            *p = '/';
        }
    return error != 0 ? error : make_one(path);
}

RelnStatus reln_folder_make(RelnCtx *ctx, const char *path)
{
    const size_t size = strlen(path) + 1;
    char *copy = reln_alloc(ctx, size, 1);
    int error;

    if (!copy)
        return RELN_ERR_NOMEM;
    memcpy(copy, path, size);
    error = make_all(copy);
    reln_free(ctx, copy);
    return error == 0 ? RELN_OK : reln_fail_errno(ctx, path, "make the folder", error);
}

/* ---- contents -------------------------------------------------------------------------------------------------- */

RelnStatus reln_folder_find(RelnCtx *ctx, const char *path, const char *word, size_t size,
                            char *out)
{
    DIR *const folder = opendir(path);
    const struct dirent *entry;
    char best[NAME_MAX + 1] = "";

    if (!folder)
        return reln_fail_errno(ctx, path, "read the folder", errno);
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.' && strstr(entry->d_name, word) &&
            (!best[0] || strcmp(entry->d_name, best) < 0))
            snprintf(best, sizeof best, "%s", entry->d_name);
    closedir(folder);
    out[0] = '\0';
    if (best[0] && (size_t)snprintf(out, size, "%s/%s", path, best) >= size)
        return reln_fail(ctx, RELN_ERR_ARG, "%s: the path is too long", reln_path_tail(path));
    return RELN_OK;
}

/* ---- locking ----------------------------------------------------------------------------------------------------- */

struct RelnFolderLock {
    RelnCtx *ctx;
    int fd;
};

static const char lock_name[] = ".reln-lock";

enum { OWNER = 96 }; /* text of a lock file: number and machine of the process */

/* Returns the name of this machine, up to the first blank. */
static void machine_name(char name[OWNER / 2])
{
    memset(name, 0, OWNER / 2);
    if (gethostname(name, OWNER / 2 - 1) != 0)
        name[0] = '\0';
    name[strcspn(name, " \t\r\n")] = '\0';
}

/* Fails with the process on another machine that has the lock. File systems of clusters may keep the lock after that machine
 * is lost. */
static RelnStatus fail_locked_elsewhere(RelnCtx *ctx, const char *path, const char *owner,
                                        const char *machine)
{
    return reln_fail(ctx, RELN_ERR_IO,
                     "%s: process %s on %s is working in this folder; if that machine is gone, "
                     "remove %s from the folder",
                     reln_path_tail(path), owner, machine, lock_name);
}

/* Fails with the number of the process that has the lock, if the lock file names it. */
static RelnStatus fail_locked(RelnCtx *ctx, const char *path, int fd)
{
    char owner[OWNER] = {0}, here[OWNER / 2], *machine;
    const ssize_t got = pread(fd, owner, sizeof owner - 1, 0);
    const size_t digits = got > 0 ? strspn(owner, "0123456789") : 0;

    machine = owner + digits + (owner[digits] == ' ');
    machine[strcspn(machine, "\n")] = '\0';
    machine_name(here);
    owner[digits] = '\0';
    if (digits > 0 && machine > owner + digits && strcmp(machine, here) != 0)
        return fail_locked_elsewhere(ctx, path, owner, reln_quote(machine, strlen(machine)).text);
    return reln_fail(ctx, RELN_ERR_IO, "%s: another process%s%s%s is working in this folder",
                     reln_path_tail(path), owner[0] ? ", number " : "", owner, owner[0] ? "," : "");
}

static RelnStatus take_lock(RelnCtx *ctx, const char *path, int fd)
{
    char owner[OWNER], machine[OWNER / 2];
    int length;

    machine_name(machine);
    length = snprintf(owner, sizeof owner, "%ld %s\n", (long)getpid(), machine);

    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? fail_locked(ctx, path, fd)
                                    : reln_fail_errno(ctx, path, "lock the folder", errno);
    /* the text in the file is for the message above; the lock itself is that of flock() */
    if (ftruncate(fd, 0) == 0)
        (void)!pwrite(fd, owner, (size_t)length, 0);
    return RELN_OK;
}

static RelnStatus open_lock(RelnCtx *ctx, const char *path, RelnFolderLock *lock)
{
    const size_t size = strlen(path) + sizeof lock_name + 1;
    char *name = reln_alloc(ctx, size, 1);

    if (!name)
        return RELN_ERR_NOMEM;
    snprintf(name, size, "%s/%s", path, lock_name);
    lock->fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    reln_free(ctx, name);
    return lock->fd >= 0 ? take_lock(ctx, path, lock->fd)
                         : reln_fail_errno(ctx, path, "lock the folder", errno);
}

RelnStatus reln_folder_lock(RelnCtx *ctx, const char *path, RelnFolderLock **out)
{
    RelnFolderLock *lock = reln_alloc(ctx, 1, sizeof *lock);
    RelnStatus status;

    *out = NULL;
    if (!lock)
        return RELN_ERR_NOMEM;
    *lock = (RelnFolderLock){ctx, -1};
    status = open_lock(ctx, path, lock);
    if (status == RELN_OK)
        *out = lock;
    else
        reln_folder_unlock(lock);
    return status;
}

RelnStatus reln_folder_held(const RelnFolderLock *lock, const char *path)
{
    char name[4096];
    struct stat ours, there;

    snprintf(name, sizeof name, "%s/.reln-lock", path);
    if (fstat(lock->fd, &ours) == 0 && stat(name, &there) == 0 && ours.st_dev == there.st_dev &&
        ours.st_ino == there.st_ino)
        return RELN_OK;
    return reln_fail(lock->ctx, RELN_ERR_IO,
                     "%s: the folder was moved away or replaced while a run was working in it",
                     path);
}

/* Unlocks the folder. The lock file stays: removing it could remove a lock that another process has just
 * acquired. */
void reln_folder_unlock(RelnFolderLock *lock)
{
    if (!lock)
        return;
    if (lock->fd >= 0)
        close(lock->fd);
    reln_free(lock->ctx, lock);
}

/* ---- sweeping --------------------------------------------------------------------------------------------------- */

/* Returns the process number in "anything.tmp-PID-NUMBER"; 0 for other names. */
static long temporary_owner(const char *name)
{
    const char *mark = NULL;
    char *end = NULL;
    long pid;

    for (const char *p = name; (p = strstr(p, ".tmp-")); p++)
        mark = p;
    if (!mark || mark == name || strspn(mark + 5, "0123456789") == 0)
        return 0;
    pid = strtol(mark + 5, &end, 10);
    if (*end != '-' || end[1] == '\0' || end[1 + strspn(end + 1, "0123456789")] != '\0')
        return 0;
    return pid > 0 && pid < INT_MAX ? pid : 0;
}

/* Returns whether a temporary file is abandoned: no process has its number, and nobody holds its lock, as a
 * process on another machine would. */
static bool is_stale(int folder, const char *name)
{
    const long pid = temporary_owner(name);
    struct stat info;
    bool stale;
    int fd;

    if (pid == 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
        return false;
    fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    stale = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return stale;
}

RelnStatus reln_folder_sweep(RelnCtx *ctx, const char *path, int *n_removed)
{
    DIR *const folder = opendir(path);
    const struct dirent *entry;

    *n_removed = 0;
    if (!folder)
        return reln_fail_errno(ctx, path, "read the folder", errno);
    while ((entry = readdir(folder)))
        if (is_stale(dirfd(folder), entry->d_name))
            *n_removed += unlinkat(dirfd(folder), entry->d_name, 0) == 0;
    closedir(folder);
    return RELN_OK;
}
