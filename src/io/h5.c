/* h5.c -- see h5.h. HDF5 is a large format with a history of crashes on bad files. It is read by another
 * process, which limits its own resources before it opens a file. No shell is involved, and the environment
 * of the process is fixed. */
#include "io/h5.h"
#include "kit/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/text.h"

/* ---- finding the program ----------------------------------------------------------------------------------------- */

RelnStatus reln_h5_find(RelnArena *arena, const char *path, const char *given, const char **out)
{
    char found[PATH_MAX];

    *out = given;
    if (!given && reln_program_find("reln-h5", sizeof found, found)) {
        *out = reln_arena_printf(arena, "%s", found);
        return *out ? RELN_OK : RELN_ERR_NOMEM;
    }
    if (given && access(given, X_OK) == 0)
        return RELN_OK;
    return reln_fail(arena->ctx, RELN_ERR_UNSUPPORTED,
                     "%s: HDF5 is read by the program reln-h5, which is not %s; it is built where "
                     "libhdf5 is installed (Debian: libhdf5-dev)",
                     reln_path_tail(path),
                     given ? "where it was said to be"
                           : "beside this program or in ../libexec/reln");
}

/* ---- running the program ----------------------------------------------------------------------------------------- */

typedef struct Child {
    pid_t pid;
    int output, errors; /* this side of its pipes */
} Child;

static void close_pair(const int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

static int open_pair(int pair[2])
{
    if (pipe(pair) != 0) {
        pair[0] = pair[1] = -1;
        return errno;
    }
    fcntl(pair[0], F_SETFD, FD_CLOEXEC);
    fcntl(pair[1], F_SETFD, FD_CLOEXEC);
    return 0;
}

/* Starts the child, by posix_spawn(): a copy of a process that has begun MPI, as fork() makes one, is not safe. Its environment disables plug-ins of HDF5, which are foreign code, and file locks, which
 * need write access. */
static int spawn(const char *program, char *const *arguments, int output, int errors, pid_t *pid)
{
    char no_plugins[] = "HDF5_PLUGIN_PRELOAD=::", no_locks[] = "HDF5_USE_FILE_LOCKING=FALSE";
    char *const environment[] = {no_plugins, no_locks, NULL};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);

    if (error != 0)
        return error;
    error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&actions, output, 1);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&actions, errors, 2);
    if (error == 0)
        error = posix_spawn(pid, program, &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static int start(const char *program, char *const *arguments, Child *child)
{
    int output[2] = {-1, -1}, errors[2] = {-1, -1};
    int error = open_pair(output);

    if (error == 0)
        error = open_pair(errors);
    if (error == 0)
        error = spawn(program, arguments, output[1], errors[1], &child->pid);
    if (error != 0) {
        close_pair(output);
        close_pair(errors);
        return error;
    }
    close(output[1]);
    close(errors[1]);
    child->output = output[0];
    child->errors = errors[0];
    return 0;
}

static RelnStatus pass_output(RelnCtx *ctx, const char *path, int fd, RelnSink *sink, void *self)
{
    unsigned char bytes[16384];

    for (;;) {
        const ssize_t got = read(fd, bytes, sizeof bytes);

        if (got == 0)
            return RELN_OK;
        if (got < 0 && errno != EINTR)
            return reln_fail_errno(ctx, path, "read", errno);
        if (got > 0)
            RELN_TRY(sink(self, bytes, (size_t)got));
    }
}

/* Reads one line for a message from the child's stderr. The child writes little there, so that pipe cannot
 * fill up while the other one is read. */
static void read_line(int fd, char *line, size_t size)
{
    size_t n = 0;
    ssize_t got;

    while (n + 1 < size && ((got = read(fd, line + n, size - 1 - n)) > 0 || errno == EINTR))
        n += got > 0 ? (size_t)got : 0;
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    for (char *p = line; *p; p++)
        if (*p < ' ' || *p > '~')
            *p = '?';
}

static RelnStatus judge(RelnCtx *ctx, const char *path, int code, const char *line)
{
    if (WIFSIGNALED(code))
        return reln_fail(ctx, RELN_ERR_FORMAT,
                         "%s: the reader of HDF5 was ended by signal %d, as on a damaged file",
                         reln_path_tail(path), WTERMSIG(code));
    if (WIFEXITED(code) && WEXITSTATUS(code) == 0)
        return RELN_OK;
    return reln_fail(ctx, RELN_ERR_FORMAT, "%s: %s", reln_path_tail(path),
                     line[0] ? line : "the reader of HDF5 failed without a reason");
}

/* Waits for the child; kills it, by its pid, if it sends more than it announced. */
static RelnStatus finish(RelnCtx *ctx, const char *path, const Child *child, RelnStatus status)
{
    char line[256];
    int code = 0;
    pid_t got;

    close(child->output);
    if (status != RELN_OK)
        kill(child->pid, SIGKILL);
    errno = 0;
    read_line(child->errors, line, sizeof line);
    close(child->errors);
    do
        got = waitpid(child->pid, &code, 0);
    while (got < 0 && errno == EINTR);
    return status != RELN_OK ? status : judge(ctx, path, got < 0 ? 0 : code, line);
}

RelnStatus reln_h5_run(RelnCtx *ctx, const char *program, const char *command, const char *path,
                       const char *dataset, RelnSink *sink, void *self)
{
    const char *const words[] = {program, command, path, dataset, NULL};
    char *arguments[5];
    Child child = {0, -1, -1};
    int error;

    memcpy(arguments, words, sizeof words); /* posix_spawn() does not write to them */
    error = start(program, arguments, &child);
    if (error != 0)
        return reln_fail_errno(ctx, program, "start", error);
    return finish(ctx, path, &child, pass_output(ctx, path, child.output, sink, self));
}
