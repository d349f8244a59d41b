/* experiment.h -- an experiment: samples, a network, its training, the action of g, and its evaluation.
 *
 *     const ExpPart part = {.train = &train, .validation = &validation, .batch = 100, .steps = 2000, .evaluate_every
 *     = 100,
 *                           .schedule = task_schedule(1e-3, true, 2000)};
 *     const ExpJob job = {.symmetry = "so:3", .features = "so:3", .dtype = RELN_F32, .network = network, .model = model,
 *                         .n_parts = 1, .parts = &part};
 *     return exp_run(run, &job, judge, self);           // plans, trains, takes and saves the best weights, calls judge()
 *     ...
 *     exp_predict(e, EXP_NETWORK, &set, out);           // any number of times, on any samples
 *     exp_act(e, &action, &rng, n, 1, sums);            // by n elements g: errors, and f(g x) against g f(x)
 *
 * A network is a function that declares its inputs and returns its output; it is called for training and for evaluation.
 * An input gets its numbers from the column of its name: samples are a list of named arrays. Two parts in one run
 * train the same weights one after the other. A job without a network estimates: nothing is trained.
 */
#ifndef TASKS_EXPERIMENT_H
#define TASKS_EXPERIMENT_H

#include "tasks/task.h"

enum { EXP_COLUMNS = 8, EXP_ROWS = 2, EXP_PARTS = 4, EXP_OTHERS = 3 };

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* An ExpColumn is the array of one input: `size` numbers or indices for each sample; size 0: one array of
 * `all` numbers for all samples, at step level. */
typedef struct ExpColumn {
    const char *name;
    RelnDtype dtype; /* RELN_F64 or RELN_I32 */
    int size;
    const void *values;
    size_t all;
    bool target; /* only training reads it */
    int rows; /* r > 0: `size` numbers for each row of the set's rows[r - 1] instead of each sample */
} ExpColumn;
#define EXP_NUMBERS(name_, size_, values_)                                                         \
    .name = (name_), .dtype = RELN_F64, .size = (size_), .values = (values_)
#define EXP_INDICES(name_, size_, values_)                                                         \
    .name = (name_), .dtype = RELN_I32, .size = (size_), .values = (values_)

/* An ExpRows describes sets of different size: the number of rows of each sample in a row domain of the
 * network, reln_rows(). In a column of these rows, the rows of the first sample come first. */
typedef struct ExpRows {
    const char *name;      /* name of the domain */
    const int32_t *counts; /* (n) */
} ExpRows;

typedef struct ExpSet {
    ptrdiff_t n;
    int n_columns;
    ExpColumn column[EXP_COLUMNS];
    int n_rows;
    ExpRows rows[EXP_ROWS];
} ExpSet;

/* An ExpSamples holds one array of inputs and one of targets: (n, size_x) and (n, size_y). */
typedef struct ExpSamples {
    ptrdiff_t n;
    int size_x, size_y;
    double *x, *y;
} ExpSamples;

/* Allocates samples, filled with zeros, in the rooms of env. */
RelnStatus exp_samples_init(TaskEnv *env, ptrdiff_t n, int size_x, int size_y, ExpSamples *s);
/* Returns a set with the columns "x" and "y". */
ExpSet exp_set(const ExpSamples *s);
/* Returns a set with the column "x" alone. */
ExpSet exp_inputs(ptrdiff_t n, int size, const double *x);

/* Returns the mean over all numbers of (a - b)^2. */
double exp_mse(const double *a, const double *b, ptrdiff_t n, int size);

/* ---- training ---------------------------------------------------------------------------------------------------- */

typedef struct Exp Exp;
typedef RelnNode *(*ExpNetwork)(const RelnNet *net, const void *model);

typedef struct ExpPart {
    /* Replaces the job's network: a pre-training network, whose layers share their weights by name. */
    ExpNetwork network;
    bool fresh;  /* moments of the optimiser start from 0, not from those of the part before */
    double clip; /* limit of the gradient's norm; 0: none */

    /* Batches are samples of `train`, shuffled in every epoch, each moved by `move` (augmentation; columns in
     * their order, not for samples with rows). Or load() binds them to exp_plan(), as a function of the step
     * alone; then only load() uses `train`. */
    const ExpSet *train;
    int batch;
    RelnStatus (*move)(const void *self, RelnRng *rng, double *const *columns);
    RelnStatus (*load)(Exp *e, void *self, uint64_t step, ptrdiff_t *n_samples);
    uint64_t steps_per_epoch; /* for load(); 0: one epoch */

    /* The loss of the output against the column "y": `loss`, or its root. Or loss_of() declares its own
     * targets. */
    RelnLossKind loss; /* RELN_LOSS_MSE or _MAE; _MAE needs a rep whose lengths are invariant */
    bool root;
    RelnNode *(*loss_of)(const RelnNet *net, const void *model, RelnNode *out);
    bool eps_inside; /* Adam's epsilon is inside its root */
    double decay;    /* AdamW: decay of all parameters */

    /* The score is the mean square error on `validation`, or the result of evaluate(). Without both there is
     * no score, and the last weights are kept. */
    const ExpSet *validation;
    RelnStatus (*evaluate)(Exp *e, void *self, RelnEvaluation *out);
    const char *metric; /* name of the metric of evaluate() */
    const char *
        curve; /* curve of the score, or of the metric if `curve_metric`; NULL: "validation error" */
    bool curve_metric;
    const char *loss_curve; /* curve of the loss; NULL: "training loss" */
    bool last;              /* take the last weights, not the best */

    uint64_t steps, evaluate_every;
    RelnSchedule schedule;
    void *self; /* argument of move(), load() and evaluate() */
} ExpPart;

/* An ExpScale holds the numbers of a scale that every training has. It is the first field, `exp`, of a task's
 * own struct, with EXP_SCALE_KEYS() in its table. */
typedef struct ExpScale {
    double floor; /* share of the rate at the end of a cosine */
    int batch, steps, evaluate_every, data_seed;
    int warmup; /* the warm-up takes 1/warmup of the steps */
    char pad[4];
} ExpScale;
#define EXP_SCALE(...)                                                                             \
    {                                                                                              \
        .floor = TASK_FLOOR, .warmup = TASK_WARMUP, __VA_ARGS__                                    \
    }

/* Returns a part with the scale's batch, steps and schedule; the task fills in samples, loss and
 * evaluation. */
ExpPart exp_part(const ExpScale *scale, double rate, bool cosine);
/* Returns the random numbers of data and of evaluation: one stream for each purpose of a task. */
RelnRng exp_rng(const ExpScale *scale, uint64_t stream);

typedef struct ExpJob {
    const char *symmetry, *features; /* as in reln_setting_init() */
    RelnGroup *group; /* or a group in their place, without an algebra; owned by the caller */
    RelnForm form;
    RelnDtype dtype;
    uint64_t stream; /* added to the seed of weights */
    ExpNetwork network;
    ExpNetwork others[EXP_OTHERS]; /* further plans with the same weights, for evaluation */
    const void *model;             /* argument of the functions above and of loss_of() */
    /* Sets starting values that depend on data or that RelnInit cannot draw; NULL: none. */
    RelnStatus (*start)(RelnStore *store, const void *model);
    int n_parts;
    const ExpPart *parts;
    /* For several networks of one run, such as folds: the checkpoints of this one's parts are numbered from
     * here. A run with several networks saves no weights. */
    int first_part;
    bool one_of_several;
    /* Replaces a network: computes the outputs of n samples, (n, size of out). */
    void (*estimate)(const void *model, ptrdiff_t n, const double *x, double *out);
} ExpJob;

/* Declares an input of elements of the algebra, in the adjoint rep. */
RelnNode *exp_elements(const RelnNet *net, const char *name, RelnDims dims);

/* Fills params, params_used, seconds and curves of the run, and saves the weights. The caller destroys *out,
 * also after a failure. */
RelnStatus exp_fit(TaskRun *run, const ExpJob *job, Exp **out);
void exp_destroy(Exp *e); /* NULL is fine */

/* Fits, evaluates and destroys an experiment. judge() fills the metrics of the run. */
typedef RelnStatus (*ExpJudge)(TaskRun *run, Exp *e, const void *self);
RelnStatus exp_run(TaskRun *run, const ExpJob *job, ExpJudge judge, const void *self);

/* ---- predictions --------------------------------------------------------------------------------------------------- */

enum { EXP_NETWORK, EXP_OTHER }; /* plans for evaluation: the network, then the others */

/* Computes the outputs for all samples of a set, as doubles. */
RelnStatus exp_predict(Exp *e, int plan, const ExpSet *set, double *out);
/* Computes outputs in memory of the experiment, `size` numbers for each sample. */
RelnStatus exp_outputs(Exp *e, int plan, const ExpSet *set, int size, double **out);
RelnStore *exp_store(const Exp *e);
RelnPlan *exp_plan(const Exp *e, int part);  /* plan of a training */
RelnPlan *exp_judge(const Exp *e, int plan); /* plan for evaluation */
/* Returns the highest or lowest value of the metric of a part, as published tables that choose on test data
 * do. */
double exp_best_metric(const Exp *e, int part, bool highest);
/* Long evaluations call this, and return its status if it is not RELN_OK: the run was asked to stop. */
RelnStatus exp_go_on(Exp *e);
/* Binds the columns of a set to the inputs of a plan that have their names, and the numbers of rows. Columns
 * that the plan does not have are skipped; an input without a column makes the run fail. */
RelnStatus exp_bind(RelnPlan *plan, const ExpSet *set);
/* Returns memory that lives as long as the run; NULL when memory is out. */
void *exp_room(Exp *e, size_t n_bytes);

/* Adds to *sum the distance of n samples of `size` numbers from others, divided by `share`. */
typedef void (*ExpError)(const double *a, const double *b, ptrdiff_t n, int size, double share,
                         double *sum);
void exp_add_mse(const double *a, const double *b, ptrdiff_t n, int size, double share,
                 double *sum);

/* An ExpAction says how g acts on samples, one at a time, and how outputs are compared. */
typedef struct ExpAction {
    const void *self;
    int plan;               /* EXP_NETWORK or an other */
    const ExpSamples *test; /* unmoved samples */
    int size_x;             /* numbers of a moved sample in the network's form; 0: as in test */
    const double *before;   /* outputs for the unmoved samples */
    int blocks;    /* the i-th g acts on one of so many parts of the samples, in turn; 0: on all */
    size_t size_g; /* bytes */
    RelnStatus (*draw)(const void *self, RelnRng *rng, void *g);
    RelnStatus (*move)(const void *self, const void *g, const double *x, double *out);
    void (*turn)(const void *self, const void *g, const double *y,
                 double *out); /* NULL: unchanged */
    ExpError error;            /* f(g x) against g y */
    ExpError broken;           /* f(g x) against g f(x) */
} ExpAction;

/* Adds both errors, divided by `share`, to sums for each of n elements. Ends when the run is asked to
 * stop. */
RelnStatus exp_act(Exp *e, const ExpAction *a, RelnRng *rng, int n, double share, double sums[2]);
/* Computes a->before, the outputs for `seen`, the test samples in the network's form; then calls
 * exp_act(). */
RelnStatus exp_act_on(Exp *e, const ExpSet *seen, ExpAction *a, RelnRng *rng, int n, double share,
                      double sums[2]);

#endif
