/* experiment.h -- an experiment: samples, a network, its training, how g acts on it, how it is judged.
 *
 *     const ExpPart part = {.train = &train, .validation = &validation, .batch = 100, .steps = 2000, .evaluate_every = 100,
 *                           .schedule = task_schedule(1e-3, true, 2000)};
 *     const ExpJob job = {.symmetry = "so:3", .features = "so:3", .dtype = RELN_F32, .network = network, .model = model,
 *                         .n_parts = 1, .parts = &part};
 *     return exp_run(run, &job, judge, self);           // planned, trained, the best weights taken and kept; judged:
 *     ...
 *     exp_predict(e, EXP_NETWORK, &set, out);           // as often as wanted, on whatever was moved
 *     exp_act(e, &action, &rng, n, 1, sums);            // by n elements g: errors, and f(g x) against g f(x)
 *
 * A network is a function that declares its inputs and returns its output; it is called for training and for judging.
 * An input gets its numbers from the column of its name: samples are a list of named arrays, not one x. Two parts in
 * one run train the same weights one after the other. A job without a network estimates: nothing is trained.
 */
#ifndef TASKS_EXPERIMENT_H
#define TASKS_EXPERIMENT_H

#include "tasks/task.h"

enum { EXP_COLUMNS = 8, EXP_ROWS = 2, EXP_PARTS = 4, EXP_OTHERS = 3 };

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* The array of one input: `size` numbers or indices for each sample; 0: one array of `all` numbers for all of them, of
 * the step. */
typedef struct ExpColumn {
    const char *name;
    RelnDtype dtype; /* RELN_F64 or RELN_I32 */
    int size;
    const void *values;
    size_t all;
    bool target; /* only training reads it */
    int rows;    /* r > 0: `size` for each row of the set's rows[r - 1] instead of each sample */
} ExpColumn;
#define EXP_NUMBERS(name_, size_, values_)                                                         \
    .name = (name_), .dtype = RELN_F64, .size = (size_), .values = (values_)
#define EXP_INDICES(name_, size_, values_)                                                         \
    .name = (name_), .dtype = RELN_I32, .size = (size_), .values = (values_)

/* Sets of different size: how many rows each sample has in a row domain of the network, reln_rows(). The columns of
 * these rows have those of the first sample first. */
typedef struct ExpRows {
    const char *name;      /* of the domain */
    const int32_t *counts; /* (n) */
} ExpRows;

typedef struct ExpSet {
    ptrdiff_t n;
    int n_columns;
    ExpColumn column[EXP_COLUMNS];
    int n_rows;
    ExpRows rows[EXP_ROWS];
} ExpSet;

/* Samples with one array of inputs and one of targets: (n, size_x) and (n, size_y). */
typedef struct ExpSamples {
    ptrdiff_t n;
    int size_x, size_y;
    double *x, *y;
} ExpSamples;

/* Allocate samples, filled with zeros, in the rooms of env. */
RelnStatus exp_samples_init(TaskEnv *env, ptrdiff_t n, int size_x, int size_y, ExpSamples *s);
/* Columns "x" and "y". */
ExpSet exp_set(const ExpSamples *s);
/* The column "x" alone. */
ExpSet exp_inputs(ptrdiff_t n, int size, const double *x);

/* Mean over all numbers of (a - b)^2. */
double exp_mse(const double *a, const double *b, ptrdiff_t n, int size);

/* ---- training ---------------------------------------------------------------------------------------------------- */

typedef struct Exp Exp;
typedef RelnNode *(*ExpNetwork)(const RelnNet *net, const void *model);

typedef struct ExpPart {
    /* In place of the job's network: pre-training has one of its own, whose layers share their weights by name. */
    ExpNetwork network;
    bool fresh;  /* moments of the optimiser start from 0, not from those of the part before */
    double clip; /* of the gradient's norm; 0: none */

    /* Batches: samples of `train`, shuffled in every epoch, each moved by `move` (augmentation; columns in their order,
     * not of samples with rows). Or load() binds them to exp_plan(), a function of the step alone; then `train` is for it to
     * know. */
    const ExpSet *train;
    int batch;
    RelnStatus (*move)(const void *self, RelnRng *rng, double *const *columns);
    RelnStatus (*load)(Exp *e, void *self, uint64_t step, ptrdiff_t *n_samples);
    uint64_t steps_per_epoch; /* of load(); 0: one epoch */

    /* The loss of the output against the column "y": `loss`, or its root. Or loss_of() declares its own targets. */
    RelnLossKind loss; /* RELN_LOSS_MSE or _MAE; the latter where lengths are kept */
    bool root;
    RelnNode *(*loss_of)(const RelnNet *net, const void *model, RelnNode *out);
    bool eps_inside; /* Adam's epsilon is inside its root */
    double decay;    /* AdamW: of all parameters */

    /* The score: mean square error on `validation`, or the result of evaluate(). Without both there is no score, and
     * the last weights stay. */
    const ExpSet *validation;
    RelnStatus (*evaluate)(Exp *e, void *self, RelnEvaluation *out);
    const char *metric; /* evaluate() has one, with this name */
    const char
        *curve; /* of the score, or of the metric if `curve_metric`; NULL: "validation error" */
    bool curve_metric;
    bool last; /* the last weights, not the best */

    uint64_t steps, evaluate_every;
    RelnSchedule schedule;
    void *self; /* of move(), load() and evaluate() */
} ExpPart;

/* The numbers of a scale that every training has; the first field, `exp`, of a task's own struct, with EXP_SCALE_KEYS()
 * in its table. */
typedef struct ExpScale {
    double floor; /* of the rate, at the end of a cosine */
    int batch, steps, evaluate_every, data_seed;
    int warmup; /* one of so many steps */
    char pad[4];
} ExpScale;
#define EXP_SCALE(...)                                                                             \
    {                                                                                              \
        .floor = TASK_FLOOR, .warmup = TASK_WARMUP, __VA_ARGS__                                    \
    }

/* A part with the scale's batch, steps and schedule; samples, loss and evaluation are for the task to fill in. */
ExpPart exp_part(const ExpScale *scale, double rate, bool cosine);
/* The random numbers of data and of judging: one stream for each purpose of a task. */
RelnRng exp_rng(const ExpScale *scale, uint64_t stream);

typedef struct ExpJob {
    const char *symmetry, *features; /* as in reln_setting_init() */
    RelnGroup *group; /* or this group in their place, without an algebra; the caller's */
    RelnForm form;
    RelnDtype dtype;
    uint64_t stream; /* added to the seed of weights */
    ExpNetwork network;
    ExpNetwork others[EXP_OTHERS]; /* more plans of the same weights, for judging */
    const void *model;             /* the argument of the functions above and of loss_of() */
    /* Starting values that depend on data or that RelnInit cannot draw; NULL: none. */
    RelnStatus (*start)(RelnStore *store, const void *model);
    int n_parts;
    const ExpPart *parts;
    /* Networks of one run, as of folds: the checkpoints of this one's parts are numbered from here. A run with several
     * keeps the weights of none. */
    int first_part;
    bool one_of_several;
    /* In place of a network: outputs of n samples, (n, size of out). */
    void (*estimate)(const void *model, ptrdiff_t n, const double *x, double *out);
} ExpJob;

/* Elements of the algebra as features: an input by the adjoint rep. */
RelnNode *exp_elements(const RelnNet *net, const char *name, RelnDims dims);

/* Fills params, params_used, seconds and curves of the run, and keeps the weights. Destroy *out, also when this
 * fails. */
RelnStatus exp_fit(TaskRun *run, const ExpJob *job, Exp **out);
void exp_destroy(Exp *e); /* NULL is fine */

/* Fit, judge and destroy an experiment. judge() fills the metrics of the run. */
typedef RelnStatus (*ExpJudge)(TaskRun *run, Exp *e, const void *self);
RelnStatus exp_run(TaskRun *run, const ExpJob *job, ExpJudge judge, const void *self);

/* ---- afterwards -------------------------------------------------------------------------------------------------- */

enum { EXP_NETWORK, EXP_OTHER }; /* plans for judging: the network, then the others */

/* Outputs for all samples of a set, as doubles. */
RelnStatus exp_predict(Exp *e, int plan, const ExpSet *set, double *out);
/* Outputs in memory of the experiment, `size` numbers for each sample. */
RelnStatus exp_outputs(Exp *e, int plan, const ExpSet *set, int size, double **out);
RelnStore *exp_store(const Exp *e);
RelnPlan *exp_plan(const Exp *e, int part);  /* of a training */
RelnPlan *exp_judge(const Exp *e, int plan); /* for judging */
/* The highest or lowest value of the metric of a part, as a table that chooses on test data has. */
double exp_best_metric(const Exp *e, int part, bool highest);
/* Call this within long evaluations, and return a status that is not RELN_OK: the run was asked to stop. */
RelnStatus exp_go_on(Exp *e);
/* Bind the columns of a set to the inputs of a plan that have their names, and the numbers of rows. Columns that the plan
 * does not take are left out; an input without a column makes the run fail. */
RelnStatus exp_bind(RelnPlan *plan, const ExpSet *set);
/* Memory that lives as long as the run; NULL when there is none left. */
void *exp_room(Exp *e, size_t n_bytes);

/* Adds to *sum the distance of n samples of `size` numbers from others, divided by `share`. */
typedef void (*ExpError)(const double *a, const double *b, ptrdiff_t n, int size, double share,
                         double *sum);
void exp_add_mse(const double *a, const double *b, ptrdiff_t n, int size, double share,
                 double *sum);

/* How g acts on samples, one at a time, and how outputs are compared. */
typedef struct ExpAction {
    const void *self;
    int plan;               /* EXP_NETWORK or an other */
    const ExpSamples *test; /* as they are */
    int size_x;             /* numbers of a moved sample as the network takes it; 0: test's */
    const double *before;   /* outputs for them */
    int blocks;    /* the i-th g acts on one of so many parts of them, in turn; 0: on all */
    size_t size_g; /* bytes */
    RelnStatus (*draw)(const void *self, RelnRng *rng, void *g);
    RelnStatus (*move)(const void *self, const void *g, const double *x, double *out);
    void (*turn)(const void *self, const void *g, const double *y,
                 double *out); /* NULL: as it is */
    ExpError error;            /* f(g x) against g y */
    ExpError broken;           /* f(g x) against g f(x) */
} ExpAction;

/* Adds both errors, divided by `share`, to sums for each of n elements. Stops when the run is asked to stop. */
RelnStatus exp_act(Exp *e, const ExpAction *a, RelnRng *rng, int n, double share, double sums[2]);
/* Computes a->before, the outputs for `seen`, the test samples as the network takes them; then exp_act(). */
RelnStatus exp_act_on(Exp *e, const ExpSet *seen, ExpAction *a, RelnRng *rng, int n, double share,
                      double sums[2]);

#endif
