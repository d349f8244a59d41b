/* files.h -- data that the parts of the runner share: the files of a run, and all runs of one call. */
#ifndef TASKS_FILES_H
#define TASKS_FILES_H

#include "tasks/runner.h"

struct TaskFiles {
    const char *folder;
    const TaskWatch *watch;
    const char *settings; /* settings of this run, as text; a checkpoint must have the same */
};

/* A TaskCall holds all runs of one call: model m, seed number s is runs[m * n_seeds + s]. */
typedef struct TaskCall {
    const TaskRequest *request;
    TaskEnv env;
    int n_models, n_seeds;
    const TaskModel **models;
    TaskRun *runs;
    int jobs;             /* number of runs at a time */
    bool writes;          /* whether this process writes the tables: rank 0 of all */
    RelnFolderLock *lock; /* lock of the folder */
} TaskCall;

/* Writes "FOLDER/KIND/MODEL-SEED.ENDING". RELN_ERR_ARG when it is too long. */
RelnStatus task_path(const TaskRun *run, const char *kind, const char *ending,
                     char path[TASK_PATH]);

/* ---- runner.c: one run ------------------------------------------------------------------------------------------- */

/* Returns the i-th run in the order in which runs are made; NULL past the last. */
TaskRun *task_run_at(const TaskCall *call, int i);
RelnStatus task_run_find(TaskCall *call,
                         TaskRun *run); /* run->done says whether there is a record */
RelnStatus task_run_make(TaskCall *call, TaskRun *run, const void *data);
RelnStatus task_pool_open(TaskCall *call);  /* threads for runs of this process */
RelnStatus task_save(const TaskCall *call); /* the tables and the page of the runs so far */

/* ---- jobs.c: several runs at a time ------------------------------------------------------------------------------ */

/* Makes the n_missing runs without a record, several at a time. This process must have no other threads. */
RelnStatus task_make_together(TaskCall *call, int n_missing, const void *data, bool *stopped);

/* ---- settings.c -------------------------------------------------------------------------------------------------- */

/* Computes the fingerprint of the file that option i names. */
RelnStatus task_fingerprint(TaskEnv *env, int i);
/* Return the settings that decide the run's result, as a map; and as text, malloced. NULL when memory is
 * out. */
RelnDocNode *task_settings(const TaskRun *run, RelnDoc *doc);
char *task_settings_text(const TaskRun *run);

/* Compares the settings of a file with the wanted ones. A setting that the file lacks was added later: it
 * makes no difference while it has the value that its key names as `before`. If the key names none, it is a
 * difference, unless there is a list `assumed`, which gets the setting's name: for files of programs that did
 * not write all of their settings. */
RelnStatus task_settings_match(const TaskRun *run, RelnDoc *doc, const RelnDocNode *wanted,
                               const RelnDocNode *recorded, RelnDocNode *assumed, bool *out);
/* Compares settings as text; `old`: written by a program that did not write all of its settings. */
RelnStatus task_settings_agree(const TaskRun *run, const char *text, bool old, bool *agree);

/* ---- record.c: a finished run as a file ------------------------------------------------------------------------- */

RelnStatus task_record_save(TaskRun *run);
/* Sets run->done if there is a record with these settings. */
RelnStatus task_record_load(TaskRun *run);

/* ---- checkpoint.c ----------------------------------------------------------------------------------------------- */

RelnStatus task_checkpoint_save(const TaskRun *run, int part, RelnTrainer *trainer);
RelnStatus task_checkpoint_load(const TaskRun *run, int part, RelnTrainer *trainer);
void task_checkpoint_remove(const TaskRun *run);

/* ---- results.c, page.c ------------------------------------------------------------------------------------------- */

/* A TaskMean is the mean of a metric over the seeds that have results. */
typedef struct TaskMean {
    int n;
    double mean, spread; /* spread: sample standard deviation, NAN for less than two */
} TaskMean;
TaskMean task_mean_metric(const TaskCall *call, int model, int metric);
TaskMean task_mean_seconds(const TaskCall *call, int model);
/* Returns the first run of the model that has results; NULL when none has. */
const TaskRun *task_any_run(const TaskCall *call, int model);

RelnStatus task_results_save(const TaskCall *call); /* results.json, metrics.csv, table.md */
RelnStatus task_results_print(const TaskCall *call);
RelnStatus task_table(const TaskCall *call, RelnTable **out); /* caller destroys */
RelnStatus task_page_save(const TaskCall *call);

#endif
