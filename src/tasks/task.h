/* task.h -- a task: data, models and metrics of one table, and how its runs are made.
 *
 *     static RelnStatus judge(TaskRun *r, Exp *e, const void *self) // experiment.h
 *     {
 *         r->metrics[0] = ...;                                // in the order of the task's metrics
 *     }
 *     static RelnStatus run(TaskRun *r, const void *data)     // one model, one seed
 *     {
 *         return exp_run(r, &job, judge, self);               // trains, saves and evaluates its network
 *     }
 *     const Task task_sp4 = {.name = "sp4", ..., .run = run};   // and its line in the list of tasks.c
 *
 * A task is one folder, src/tasks/NAME: data.c, model.c, task.c, README.md. The runner knows nothing about a
 * particular task. A run is (model, seed). A finished run is a file, runs/MODEL-SEED.json, and is not repeated while
 * its settings are the same. An unfinished run has a checkpoint beside it and resumes from there.
 *
 * Failures: functions return a status; the message is in the context, or set by task_fail().
 */
#ifndef TASKS_TASK_H
#define TASKS_TASK_H

#include "kit/kit.h"

/* Returns the status of a failed call; continues otherwise. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const RelnStatus try_status_ = (call);                                                     \
        if (try_status_ != RELN_OK)                                                                \
            return try_status_;                                                                    \
    } while (0)

/* smoke: seconds, for tests; quick: a table in minutes; full: the published protocol and more. */
typedef enum TaskScale { TASK_SMOKE, TASK_QUICK, TASK_FULL, TASK_SCALES } TaskScale;

enum {
    TASK_METRICS = 14,
    TASK_BARS = 4,
    TASK_PATH = 1024,
    TASK_OPTIONS = 8,
    TASK_MESSAGE = 256,
    TASK_PROGRAM = 64,
    TASK_FINGERPRINT = 65
};

typedef struct Task Task;

typedef struct TaskMetric {
    const char *name;  /* in results.json and metrics.csv: "id_mse" */
    const char *label; /* head of its column: "ID" */
    bool percent;      /* a share from 0 to 1, shown in percent */
    bool count;        /* a whole number, shown with all its digits */
    bool more;         /* larger is better */
    bool error;        /* the uncertainty of the metric before it: no value is the best */
    double target;     /* if not 0: values nearer to it are better */
} TaskMetric;

/* A number of the paper's table; all zero if it has none. */
typedef struct TaskNumber {
    double mean, spread;
} TaskNumber;

/* A row of the table. */
typedef struct TaskModel {
    const char *name;               /* in --models and in names of files: "mlp-256-aug" */
    const char *label;              /* "MLP 256 + augmentation" */
    size_t params;                  /* as the paper counts; 0: not in the paper */
    TaskNumber paper[TASK_METRICS]; /* in the order of the task's metrics */
    TaskScale from;                 /* the smallest scale that runs it unless --models names it */
    double peer_seconds;  /* one full run of the published code, on two cores; 0: not known */
    const void *settings; /* the row's settings: the struct of row_fields */
    bool
        reference; /* the row knows the quantity that other rows estimate, and is never marked as best */
} TaskModel;

/* An option of a task: --NAME VALUE. One list of words is used to check, show and look up its values. */
typedef struct TaskOption {
    const char *name; /* without dashes */
    const char *help;
    int n_words;
    const char *const *words; /* the first word of the list; NULL: any text */
    size_t stride;            /* bytes from a word to the next: they may be fields of a table */
    int otherwise;            /* index of the default word */
    bool
        file; /* the value names a file or folder, whose fingerprint is part of the settings; not given:
               * none */
    bool
        output; /* the value names a folder that is written; results do not depend on it, so that it
                  * is empty in the settings */
    bool shown; /* the value decides what a record has beside its numbers, such as drawings: also empty in the
                 * settings */
} TaskOption;
/* The words of an array of texts, or of the field `name` of an array of structs. */
#define TASK_WORDS(array)                                                                          \
    .n_words = (int)(sizeof(array) / sizeof(array)[0]), .words = (array), .stride = sizeof(array)[0]
#define TASK_NAMES(array, count)                                                                   \
    .n_words = (count), .words = &(array)[0].name, .stride = sizeof(array)[0]

/* A struct of settings by the table of its fields (settings.h): the settings of a row, or of a scale. */
struct Section;
typedef struct TaskFields {
    const struct Section *section;
    size_t size; /* of the struct */
} TaskFields;

/* How a curve of task_curve() is drawn if it is not a line against the training step. The figure of curves "A|1", "A|2" ...
 * has the beginning of A for its name. */
typedef struct TaskFigure {
    const char *curve;  /* its name */
    const char *x, *y;  /* labels of the axes; y may be NULL */
    bool log_x, points; /* points: a cloud with the diagonal, predicted against true */
    bool linear_y;      /* else logarithmic, when all values are positive */
    bool cloud;         /* points in a plane, one unit equally long on both axes */
    bool path;          /* lines in a plane, with equal scales too */
    bool table;         /* curves "A|1", "A|2" ...: a table, whose rows and columns they name */
    const char *truth;  /* NULL, or the name of the true curve, which is drawn with it */
    bool hidden;        /* saved with the run but not drawn */
} TaskFigure;

/* A TaskRoom owns memory and objects that are freed together, the last one first: the data of a call, or of
 * one run. */
typedef struct TaskRoom TaskRoom;

/* A TaskEnv holds the data that all runs of one call share. */
typedef struct TaskEnv {
    RelnCtx *ctx;
    const Task *task;
    TaskScale scale;
    RelnPool *pool;       /* for plans */
    bool reference;       /* plans use the reference kernels */
    const RelnComm *comm; /* ranks that make a run together; NULL: this process */
    const char
        *values[TASK_OPTIONS]; /* values of the task's options, in their order; NULL: not given */
    char fingerprints[TASK_OPTIONS][TASK_FINGERPRINT]; /* SHA-256 of files that options name */
    char message[TASK_MESSAGE]; /* set by task_fail(); "" while nothing failed */
    TaskRoom *rooms;            /* own the data; task_release() frees them */
} TaskEnv;

/* Options of every plan of a task. */
#define TASK_PLAN(env) .pool = (env)->pool, .reference = (env)->reference, .comm = (env)->comm

typedef struct TaskCurve {
    const char *name;
    ptrdiff_t n, room;
    double *x, *y;
    struct TaskCurve *next;
} TaskCurve;
typedef struct TaskFiles TaskFiles;

/* A TaskRun is one run. The runner fills the upper part, run() the lower. */
typedef struct TaskRun {
    TaskEnv *env;
    const TaskModel *model;
    uint64_t seed;    /* 1, 2, ...: weights, batches, draws */
    TaskFiles *files; /* owned by the runner: files of the run, progress; NULL: no files (tests) */
    bool stopped;     /* asked to stop before it was finished; there is a checkpoint */
    bool done;        /* its results exist, made now or found in a file */

    size_t params;                /* parameters of the network, counted as in the paper */
    size_t params_used;           /* parameters that the result depends on and training changes */
    double metrics[TASK_METRICS]; /* NAN where there is none */
    double seconds;               /* training, over all parts of the run; task_train() adds to it */
    bool diverged; /* training met numbers that are not finite, and kept its best weights */
    char program[TASK_PROGRAM]; /* program that made it: task_program() at that time */
    TaskCurve *curves;          /* of task_curve() */
    TaskRoom *rooms;            /* freed when run() has returned */
} TaskRun;

struct Task {
    const char *name;
    const char *purpose; /* one line */
    const char
        *about; /* the task in a paragraph, then its columns in another; README.md has more */
    int n_metrics;
    TaskMetric metrics[TASK_METRICS];
    int main_metric; /* metric by which the report names the best model */
    int n_models;
    const TaskModel *models;
    int n_options;
    TaskOption options[TASK_OPTIONS];
    int n_figures; /* for curves that are not against the step */
    const TaskFigure *figures;
    int n_bars, bars[TASK_BARS]; /* metrics that the report draws side by side, row by row */
    int seeds[TASK_SCALES];      /* number of seeds, when --seeds is not given */

    /* All numbers that decide a run (steps, batch, rate, width, seeds of data, ...). A finished run is valid,
     * and a checkpoint can be resumed, while they are the same. */
    TaskFields scale_fields, row_fields; /* row_fields: of the models' settings; no section: none */
    const void *scales;                  /* TASK_SCALES structs, one after another */

    /* Returns whether the options keep the row in the table, when --models does not name it. NULL: all
     * rows. */
    bool (*wanted)(const TaskEnv *env, const TaskModel *model);
    /* Prepares the data that all runs of a call share, in the rooms of env: constant from then on. */
    RelnStatus (*prepare)(TaskEnv *env, void **data);
    RelnStatus (*run)(TaskRun *run, const void *data);
    /* Writes lines below the table about several runs together, such as differences of two rows: model m,
     * seed number s is runs[m * n_seeds + s], of which those with `done` have results. NULL: none. */
    RelnStatus (*remarks)(TaskEnv *env, const TaskRun *runs, int n_models, int n_seeds,
                          void (*remark)(void *self, const char *line), void *self);
};

/* Returns the curve of a name that a run has; NULL: none. */
const TaskCurve *task_curve_named(const TaskRun *run, const char *name);

/* ---- for the functions of a task -------------------------------------------------------------------------------- */

/* Sets a message of one line, which says what was found and what was wanted. Returns the status. */
RelnStatus task_fail(TaskEnv *env, RelnStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
RelnStatus task_nomem(TaskEnv *env);

/* Returns zeroed memory that lives until the rooms are freed; NULL when memory is out. */
void *task_room(TaskRoom **rooms, size_t count, size_t size);
/* Calls end(object) before the rooms are freed, the latest object first; at once when memory is out. */
RelnStatus task_own(TaskEnv *env, void *object, void (*end)(void *object));
RelnStatus task_algebra(TaskEnv *env, const char *name, RelnAlgebra **out); /* until they end */

/* Return the value of a task's option, and the index of its word. NULL and -1 when it has none. */
const char *task_option(const TaskEnv *env, const char *name);
int task_choice(const TaskEnv *env, const char *name);
const char *task_word(const TaskOption *option, int i);

/* Returns the settings of the requested scale. */
const void *task_scale(const TaskEnv *env);

/* Trains: creates a trainer, restores it from the run's checkpoint, runs it to its end, and saves it every
 * half minute. The caller destroys *out, also after a failure. When the run was asked to stop, run->stopped
 * is set and the status is RELN_ERR_STOPPED: return it. job->watch belongs to this function, and *out is not
 * run again after it. A second training in one run has another `part`. */
RelnStatus task_train(TaskRun *run, int part, const RelnTrainJob *job, RelnTrainer **out);

/* Gives the path of one more file of the run, "FOLDER/KIND/MODEL-SEED.ENDING", and makes its folder. "": this
 * run writes no files. */
RelnStatus task_file(TaskRun *run, const char *kind, const char *ending, char path[TASK_PATH]);

/* Returns a constant rate, or a warm-up over 1/`warmup` of the steps and a cosine down to `floor` of the
 * rate. */
RelnSchedule task_schedule(double rate, bool cosine, uint64_t n_steps, int warmup, double floor);
enum { TASK_WARMUP = 50 };
#define TASK_FLOOR 0.01

/* Returns the highest or lowest value of the first metric over all evaluations, as published tables that
 * choose on test data do. */
double task_best_metric(const RelnTrainer *trainer, bool highest);

/* Returns the number of elements of the parameters that an optimiser trains in this store. */
size_t task_trained(const RelnStore *store);

/* Curves "A|1", "A|2" ... of a run are clouds of points in one plot, or a table, with the name A; those of
 * the first run that has them are shown. */
#define TASK_SERIES '|'

/* Adds a point to a curve of the report: "validation mse" against the step. Curves of one name from all runs
 * share a plot. */
RelnStatus task_curve(TaskRun *run, const char *name, double x, double y);
/* Adds the trainer's record as two curves: `loss`, and `name` of the score or the first metric. */
RelnStatus task_curve_rows(TaskRun *run, const RelnTrainer *trainer, const char *loss,
                           const char *name, bool metric);

/* Saves the trained parameters and states: models/MODEL-SEED.safetensors, without moments of optimisers. */
RelnStatus task_keep(TaskRun *run, const RelnStore *store);

/* Long evaluations call this: true sets run->stopped, and run() should return RELN_ERR_STOPPED. */
bool task_asked(TaskRun *run);

/* ---- for the runner --------------------------------------------------------------------------------------------- */

int task_count(void);
const Task *task_at(int index);
const Task *task_find(const char *name); /* NULL when there is none */
const TaskModel *task_model(const Task *task, const char *name);
const char *task_scale_text(TaskScale scale); /* "smoke", ... */
const char *task_program(void); /* "0.1.0 (a3e923f)": version, and the commit it was built from */

/* Frees the data of prepare(), even of a prepare() that failed. */
void task_release(TaskEnv *env);
/* Calls task->run(), and frees the run's rooms. */
RelnStatus task_run_on(TaskRun *run, const void *data);
/* Makes a run without a folder, for tests: nothing is read or written. The caller clears it. */
RelnStatus task_run_alone(TaskEnv *env, const void *data, const TaskModel *model, uint64_t seed,
                          TaskRun *out);
void task_run_clear(TaskRun *run);

#endif
