/* runs.h -- folders of runs, read as they are: their curves, their settings, and all of them side by side. */
#ifndef CLI_RUNS_H
#define CLI_RUNS_H

#include "cli/cli.h"

typedef struct CliRun {
    char folder[512];
    RelnDoc *results; /* results.json; NULL: not there yet */
    int n_rows;       /* of metrics.csv */
    double *epoch, *loss, *score;
} CliRun;

/* Read the folder of a run; a folder without files is a run that has not begun. CLI_DONE, or the exit code after a
 * message. */
CliExit cli_run_read(RelnCtx *ctx, const char *folder, CliRun *out);
void cli_run_clear(CliRun *run);

/* The lowest score up to an epoch (HUGE_VAL: none), and its row (-1: none). */
double cli_run_best(const CliRun *run, double until, int *row);
/* Has the run ended by itself, or reached this epoch? */
bool cli_run_reached(const CliRun *run, double until);
const char *cli_run_end(const CliRun *run); /* "done", "running", ...; "" before there is one */

/* A table of runs, best first: a row for each run, with the settings in which runs differ. */
CliExit cli_runs_table(RelnCtx *ctx, int n, const CliRun *runs, RelnTable *table);
CliExit cli_runs_page(RelnCtx *ctx, const char *title, int n, const CliRun *runs, const char *path);

#endif
