/* progress.c -- see progress.h. */
#include "cli/progress.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "kit/clock.h"

static volatile sig_atomic_t asked;

void cli_duration(double seconds, char *text, size_t size)
{
    const long whole = isfinite(seconds) && seconds < 1e9 ? lround(seconds) : 0;

    if (!isfinite(seconds) || seconds >= 1e9)
        snprintf(text, size, "?");
    else if (seconds < 60)
        snprintf(text, size, "%.*f s", seconds < 10 ? 1 : 0, seconds);
    else if (whole < 3600)
        snprintf(text, size, "%ldm%02lds", whole / 60, whole % 60);
    else
        snprintf(text, size, "%ldh%02ldm", whole / 3600, whole % 3600 / 60);
}

bool cli_progress_how(const CliArgs *args, CliShow *out)
{
    const char *word = args->quiet ? "none" : args->progress ? args->progress : "auto";

    if (strcmp(word, "auto") == 0)
        word = isatty(STDERR_FILENO) ? "bar" : "plain";
    *out = strcmp(word, "bar") == 0     ? CLI_SHOW_BAR
           : strcmp(word, "plain") == 0 ? CLI_SHOW_PLAIN
                                        : CLI_SHOW_NONE;
    if (*out != CLI_SHOW_NONE || strcmp(word, "none") == 0)
        return true;
    cli_fail(CLI_USAGE, "--progress is '%.60s'; wanted auto, bar, plain or none", word);
    return false;
}

CliProgress cli_progress_begin_as(CliShow how, uint64_t first)
{
    const double now = reln_wall_seconds();

    return (CliProgress){.shown = how == CLI_SHOW_BAR,
                         .plain = how == CLI_SHOW_PLAIN,
                         .began = now,
                         .last = how == CLI_SHOW_BAR ? now - 1 : now,
                         .first = first};
}

CliProgress cli_progress_begin(bool quiet, uint64_t first)
{
    return cli_progress_begin_as(!quiet && isatty(STDERR_FILENO) ? CLI_SHOW_BAR : CLI_SHOW_NONE,
                                 first);
}

int cli_terminal_width(int file)
{
    struct winsize size;

    return ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* Returns the width of the terminal: a wider line would wrap, and could not be erased. */
static int line_width(void)
{
    const int width = cli_terminal_width(STDERR_FILENO);

    return width > 1 ? width - 1 : 79;
}

static void show_line(CliProgress *progress, const char *line)
{
    const int most = line_width(), length = (int)strlen(line);
    const int width = length < most ? length : most;

    /* blanks erase the rest of a longer last line */
    fprintf(stderr, "\r%.*s%*s", width, line, progress->width > width ? progress->width - width : 0,
            "");
    (void)fflush(stderr);
    progress->width = width;
}

/* Returns whether it is time for another line, and records the time. */
static bool due(CliProgress *progress, double now, bool last)
{
    const double pace = progress->shown ? 0.1 : progress->pace;

    if (!(progress->shown || (progress->plain && pace > 0)) ||
        (now - progress->last < pace && !last))
        return false;
    progress->last = now;
    return true;
}

static void put_line(CliProgress *progress, const char *line)
{
    if (progress->shown)
        show_line(progress, line);
    else
        cli_progress_line(progress, line);
}

void cli_progress_show(CliProgress *progress, uint64_t step, uint64_t n_steps, const char *what)
{
    const double now = reln_wall_seconds(), spent = now - progress->began;
    const double rate = spent > 0 ? (double)(step - progress->first) / spent : 0;
    char left[32], line[256];

    if (!due(progress, now, progress->shown && step == n_steps))
        return;
    cli_duration(rate > 0 ? (double)(n_steps - step) / rate : HUGE_VAL, left, sizeof left);
    snprintf(line, sizeof line, "%3.0f %%  %s left  step %llu of %llu  %s  %.3g steps/s",
             floor(100.0 * (double)step / (double)n_steps), left, (unsigned long long)step,
             (unsigned long long)n_steps, what, rate);
    put_line(progress, line);
}

void cli_progress_share(CliProgress *progress, double share, const char *what)
{
    const double now = reln_wall_seconds(), spent = now - progress->began;
    char left[32], line[320];

    if (!due(progress, now, false))
        return;
    cli_duration(share > 0 ? spent * (1 - share) / share : HUGE_VAL, left, sizeof left);
    snprintf(line, sizeof line, "%3.0f %%  %s left  %s", 100 * share, left, what);
    put_line(progress, line);
}

void cli_progress_line(CliProgress *progress, const char *line)
{
    if (!progress->plain)
        return;
    fprintf(stderr, "%s\n", line);
    (void)fflush(stderr);
}

void cli_progress_phase(CliProgress *progress, const char *what)
{
    put_line(progress, what);
}

void cli_progress_end(CliProgress *progress)
{
    if (progress->width > 0)
        fprintf(stderr, "\r%*s\r", progress->width, "");
    progress->width = 0;
}

/* Schedulers send SIGUSR1 some time before the job ends. */
static const int caught[] = {SIGINT, SIGTERM, SIGUSR1};
enum { N_CAUGHT = sizeof caught / sizeof caught[0] };
static struct timespec caught_at[N_CAUGHT]; /* only the handler uses it; 0: not yet */

/* Notes the request. timeout(1), shells and schedulers may send one request twice, to the process and to its group: within a
 * second these are one. A later signal of the same kind comes from someone who does not want to wait. */
static void note(int number)
{
    struct timespec now;
    int i = 0;

    while (i < N_CAUGHT - 1 && caught[i] != number)
        i++;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (caught_at[i].tv_sec == 0 && caught_at[i].tv_nsec == 0)
        caught_at[i] = now;
    asked = number;
    if (now.tv_sec - caught_at[i].tv_sec > 1 ||
        (now.tv_sec - caught_at[i].tv_sec == 1 && now.tv_nsec >= caught_at[i].tv_nsec)) {
        (void)signal(number, SIG_DFL);
        (void)raise(number);
    }
}

void cli_catch_signals(void)
{
    struct sigaction action = {.sa_handler = note};

    sigemptyset(&action.sa_mask);
    for (int i = 0; i < N_CAUGHT; i++)
        (void)sigaddset(&action.sa_mask, caught[i]);
    for (int i = 0; i < N_CAUGHT; i++)
        (void)sigaction(caught[i], &action, NULL);
}

int cli_asked_to_stop(void)
{
    return asked;
}

CliExit cli_exit_of_signal(void)
{
    return asked == SIGINT    ? CLI_INTERRUPTED
           : asked == SIGTERM ? CLI_TERMINATED
           : asked == SIGUSR1 ? CLI_PREEMPTED
                              : CLI_DONE;
}
