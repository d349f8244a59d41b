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

/* What there is in a folder; a folder without files of a run is a run that has not begun. CLI_DONE, or it was said. */
CliExit cli_run_read(RelnCtx *ctx, const char *folder, CliRun *out);
void cli_run_clear(CliRun *run);

/* The lowest score up to an epoch (HUGE_VAL: none), and its row (-1: none). */
double cli_run_best(const CliRun *run, double until, int *row);
/* Has it ended by itself, or come to this epoch? */
bool cli_run_reached(const CliRun *run, double until);
const char *cli_run_end(const CliRun *run); /* "done", "running", ...; "" before there is one */

/* Side by side, best first: a row for each, with the settings in which they differ. */
CliExit cli_runs_table(RelnCtx *ctx, int n, const CliRun *runs, RelnTable *table);
CliExit cli_runs_page(RelnCtx *ctx, const char *title, int n, const CliRun *runs, const char *path);

#endif
