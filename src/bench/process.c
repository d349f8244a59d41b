/* process.c -- starts this program anew: measures the time to its first result, and its memory. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"

extern char **environ;

/* Reads VmHWM of /proc/self/status, in kB. (The value of wait4() for a child may be its parent's.) */
double bench_peak_bytes(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double kilobytes = 0;

    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kilobytes = strtod(line + 6, NULL);
    if (file)
        (void)fclose(file);
    return 1024 * kilobytes;
}

/* Starts the child with the pipe as standard output. */
static bool start(const char *name, const int pipe_ends[2], pid_t *child)
{
    char program[] = "reln", command[] = "bench", once[] = "once", copy[64];
    char *argv[] = {program, command, once, copy, NULL};
    posix_spawn_file_actions_t actions;
    bool done;

    snprintf(copy, sizeof copy, "%s", name);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    done = posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO) == 0 &&
           posix_spawn_file_actions_addclose(&actions, pipe_ends[0]) == 0 &&
           posix_spawn(child, "/proc/self/exe", &actions, NULL, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return done;
}

/* Reads the line that it prints when it has its result. The clock stops when it arrives. */
static bool read_line(int from, char *line, size_t size)
{
    size_t n = 0;

    while (n + 1 < size) {
        const ssize_t got = read(from, line + n, 1);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || line[n] == '\n')
            break;
        n++;
    }
    line[n] = '\0';
    return n > 0;
}

static bool finish(pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool bench_process(const char *name, BenchProcess *out)
{
    const double began = bench_clock(2);
    char line[64] = "", *rest = NULL;
    int ends[2];
    pid_t child = 0;
    bool started;

    *out = (BenchProcess){0};
    if (pipe(ends) != 0)
        return false;
    started = start(name, ends, &child);
    close(ends[1]);
    if (started && read_line(ends[0], line, sizeof line)) {
        snprintf(out->name, sizeof out->name, "%s", name);
        out->seconds = bench_clock(2) - began;
        out->peak_bytes = strtod(line, &rest);
        out->build = strtod(rest, NULL);
    }
    close(ends[0]);
    return started && finish(child) && out->seconds > 0;
}
