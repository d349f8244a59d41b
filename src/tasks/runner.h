/* runner.h -- makes all runs of a task, one after another or several at a time, in a folder; writes the table as
 * table.md and in report.html, results.json, metrics.csv.
 *
 *     TaskRequest request = {.task = task_find("sp4"), .scale = TASK_QUICK, .out = "out", .stream = stdout};
 *     TaskOutcome outcome;
 *     if (task_reproduce(ctx, &request, &outcome) != RELN_OK) puts(outcome.message);
 */
#ifndef TASKS_RUNNER_H
#define TASKS_RUNNER_H

#include <stdio.h>

#include "tasks/task.h"

/* Callbacks that watch a call. Any of the functions may be NULL. */
typedef struct TaskWatch {
    void *self;
    void (*begin)(void *self, const char *what, uint64_t first_step);
    void (*show)(void *self, uint64_t step, uint64_t n_steps, double loss);
    void (*show_all)(void *self, double share, const char *what); /* called instead, for several runs */
    void (*end)(void *self);
    bool (*asked)(void *self); /* whether to stop; once true, always true */
} TaskWatch;

typedef struct TaskRequest {
    const Task *task;
    TaskScale scale;
    int seeds;                        /* number of seeds; 0: the task's default for the scale */
    uint64_t first_seed;              /* 0 counts as 1 */
    const char *models;               /* names separated by commas; NULL: all of the scale */
    bool finished;                    /* only make the tables of finished runs */
    const char *out;                  /* folder, created if it is missing */
    const char *values[TASK_OPTIONS]; /* values of the task's options; NULL: not given */
    bool reference;                   /* use the reference kernels */
    int threads;                      /* 0 counts as 1 */
    /* Ranks: `comm` has all of them. They are divided into n_parts parts; this process belongs to `part`,
     * with the ranks of `part_comm`. Each part makes separate runs. NULL: this process alone. */
    const RelnComm *comm, *part_comm;
    int n_parts, part;
    int jobs; /* runs at a time, each in a separate process, sharing the threads; 0 counts as 1 */
    const char *command; /* the command line, for the record */
    FILE *stream;        /* destination of the table; NULL: none */
    bool json;           /* results.json on the stream instead of the table */
    bool colour;         /* the stream is a terminal */
    int width;           /* its width in columns; 0: no limit */
    TaskWatch watch;
} TaskRequest;

typedef struct TaskOutcome {
    bool stopped;    /* asked to stop; finished work is on disk, and the same call resumes */
    int runs, found; /* runs with results now, and how many of them had results before */
    char message[1024];
} TaskOutcome;

/* Makes all runs of a request. RELN_ERR_ARG for an invalid request: models, values of options. */
RelnStatus task_reproduce(RelnCtx *ctx, const TaskRequest *request, TaskOutcome *outcome);

#endif
