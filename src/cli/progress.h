/* progress.h -- shows the progress of long work on a terminal: share, speed, time left; and handles requests
 * to stop. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"

/* How long work is shown on stderr. */
typedef enum CliShow {
    CLI_SHOW_NONE,
    CLI_SHOW_BAR,  /* one line, rewritten at most ten times a second */
    CLI_SHOW_PLAIN /* a line for each evaluation, or every half minute; for files and pipes */
} CliShow;

typedef struct CliProgress {
    bool shown;         /* shown as a line that is rewritten */
    bool plain;         /* shown as lines */
    double began, last; /* seconds */
    double pace; /* seconds between lines of cli_progress_show(), if lines are shown; 0: none */
    uint64_t first; /* steps done before it began: a resumed run */
    int width;      /* width of the line that is on the screen */
} CliProgress;

/* Reads --progress: auto is a bar on a terminal and lines elsewhere, --quiet is none. Returns false, after a
 * message, when the word is unknown. */
bool cli_progress_how(const CliArgs *args, CliShow *out);
/* Begins to show progress, on a terminal and unless `quiet`. */
CliProgress cli_progress_begin(bool quiet, uint64_t first);
CliProgress cli_progress_begin_as(CliShow how, uint64_t first);
/* `what` is the middle of the line: "loss 0.0123". */
void cli_progress_show(CliProgress *progress, uint64_t step, uint64_t n_steps, const char *what);
/* Shows the progress of work that is not counted in steps: the share of it that is done. */
void cli_progress_share(CliProgress *progress, double share, const char *what);
/* Prints a permanent line, if progress is shown as lines. */
void cli_progress_line(CliProgress *progress, const char *line);
/* Names the current phase of work that is not counted: a line that is rewritten, or a permanent one. */
void cli_progress_phase(CliProgress *progress, const char *what);
/* Erases the line. */
void cli_progress_end(CliProgress *progress);

/* Returns the columns of a terminal; 0 when the file is not a terminal, or the width is unknown. */
int cli_terminal_width(int file);
/* "1h02m", "3m20s", "4.1 s" */
void cli_duration(double seconds, char *text, size_t size);

/* Catches SIGINT, SIGTERM and SIGUSR1: they no longer end the program at once, and cli_asked_to_stop() returns the
 * signal, 0 if there was none. The same signal a second later or more ends the program. */
void cli_catch_signals(void);
int cli_asked_to_stop(void);
/* Returns the exit code for the caught signal: CLI_INTERRUPTED or CLI_TERMINATED; CLI_DONE when there was
 * none. */
CliExit cli_exit_of_signal(void);

#endif
