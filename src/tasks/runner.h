/* runner.h -- all runs of a task, one after another, into a folder; the table, results.json, metrics.csv, report.html.
 *
 *     TaskRequest request = {.task = task_find("sp4"), .scale = TASK_QUICK, .out = "out", .threads = 2};
 *     TaskOutcome outcome;
 *     if (task_reproduce(ctx, &request, &outcome) != RELN_OK) puts(outcome.message);
 */
#ifndef TASKS_RUNNER_H
#define TASKS_RUNNER_H

#include <stdio.h>

#include "tasks/task.h"

typedef struct TaskRequest {
    const Task *task;
    TaskScale scale;
    int seeds;                        /* 0: the task's default for the scale */
    const char *models;               /* names with commas between; NULL: all of the scale */
    const char *out;                  /* folder */
    const char *values[TASK_OPTIONS]; /* of the task's options; NULL: not given */
    int threads;
    bool quiet;          /* no progress, no table */
    bool json;           /* results.json on `stream` instead of the table */
    bool terminal;       /* progress may be shown on stderr */
    const char *command; /* for the record: how it was called */
    FILE *stream;        /* where the table goes */
} TaskRequest;

typedef struct TaskOutcome {
    int signal; /* what stopped it: 0, SIGINT or SIGTERM; everything done so far is on disk */
    char message[1024];
} TaskOutcome;

RelnStatus task_reproduce(RelnCtx *ctx, const TaskRequest *request, TaskOutcome *outcome);

#endif
