/* runner.h -- all runs of a task, one after another or several at a time, into a folder; the table as table.md and
 * in report.html, results.json, metrics.csv.
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
    void (*show_all)(void *self, double share, const char *what); /* in its place: several runs */
    void (*end)(void *self);
    bool (*asked)(void *self); /* to stop; once true, true for ever */
} TaskWatch;

typedef struct TaskRequest {
    const Task *task;
    TaskScale scale;
    int seeds;                        /* how many; 0: the task's default for the scale */
    uint64_t first_seed;              /* 0 counts as 1 */
    const char *models;               /* names with commas between; NULL: all of the scale */
    bool finished;                    /* the tables of runs that are finished; none is made */
    const char *out;                  /* folder, made when it is not there */
    const char *values[TASK_OPTIONS]; /* of the task's options; NULL: not given */
    bool reference;                   /* kernels */
    int threads;                      /* 0 counts as 1 */
    /* Ranks: `comm` has all of them. They are in n_parts parts, of which this process belongs to `part` with the ranks of
     * `part_comm`; each part makes runs of its own. NULL: this process alone. */
    const RelnComm *comm, *part_comm;
    int n_parts, part;
    int jobs; /* runs at a time, 0 counts as 1; they share the threads. Each is a process of its own */
    const char *command; /* how it was called, for the record */
    FILE *stream;        /* where the table goes; NULL: nowhere */
    bool json;           /* results.json on the stream instead of the table */
    bool colour;         /* the stream is a terminal */
    int width;           /* of it, in columns; 0: no limit */
    TaskWatch watch;
} TaskRequest;

typedef struct TaskOutcome {
    bool stopped;    /* asked to end; finished work is on disk, and the same call goes on */
    int runs, found; /* runs with results now, and how many of them had results before */
    char message[1024];
} TaskOutcome;

/* Make all runs of a request. RELN_ERR_ARG for an invalid request: models, values of options. */
RelnStatus task_reproduce(RelnCtx *ctx, const TaskRequest *request, TaskOutcome *outcome);

#endif
