/* runs.h -- reads folders of runs: their curves, their settings, and a comparison of several runs. */
#ifndef CLI_RUNS_H
#define CLI_RUNS_H

#include "cli/cli.h"

typedef struct CliRun {
    char folder[512];
    RelnDoc *results; /* results.json; NULL: not written yet */
    int n_rows;       /* rows of metrics.csv */
    double *epoch, *loss, *score;
} CliRun;

/* Reads the folder of a run; a folder without files is a run that has not begun. Returns CLI_DONE, or the
 * exit code after a message. */
CliExit cli_run_read(RelnCtx *ctx, const char *folder, CliRun *out);
void cli_run_clear(CliRun *run);

/* Returns the lowest score up to an epoch (HUGE_VAL: none), and its row (-1: none). */
double cli_run_best(const CliRun *run, double until, int *row);
/* Returns whether the run has ended by itself, or reached this epoch. */
bool cli_run_reached(const CliRun *run, double until);
const char *cli_run_end(const CliRun *run); /* "done", "running", ...; "" if unknown */

/* Makes a table of runs, best first: a row for each run, with the settings in which runs differ. */
CliExit cli_runs_table(RelnCtx *ctx, int n, const CliRun *runs, RelnTable *table);
CliExit cli_runs_page(RelnCtx *ctx, const char *title, int n, const CliRun *runs, const char *path);

#endif
