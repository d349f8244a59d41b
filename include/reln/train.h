/* train.h -- training: losses, optimisers, schedules, and the loop that can be stopped anywhere and taken up again.
 *
 *     RelnNode *loss = reln_loss_mean(g, &(RelnLoss){.kind = RELN_LOSS_MSE}, y, target);
 *     reln_train_step(g, &(RelnOptimiser){.kind = RELN_OPTIMISER_ADAM, .adam = RELN_ADAM_DEFAULTS}, loss);
 *     reln_plan_create(g, NULL, &plan);
 *     RelnTrainJob job = {.plan = plan, .store = store, .seed = 1, .n_steps = 6000, .steps_per_epoch = 100,
 *                         .evaluate_every = 100, .schedule = ..., .load = load, .evaluate = evaluate, .self = data};
 *     reln_trainer_create(ctx, &job, &trainer);
 *     reln_trainer_run(trainer, UINT64_MAX, &end);      // or step by step: reln_trainer_run(trainer, 10, &end), ...
 *
 * A run is a pure function of (weights, seed, data): batches, schedules and random nodes are computed from the number of
 * the step, so a run that was stopped after any step, saved (reln_trainer_state()) and restored elsewhere ends with the
 * same bits, on any number of threads. A step allocates nothing.
 */
#ifndef RELN_TRAIN_H
#define RELN_TRAIN_H

#include "reln/optimiser.h"
#include "reln/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- losses ---------------------------------------------------------------------------------------------------- */

typedef enum RelnLossKind {
    RELN_LOSS_MSE, /* mean over the item's numbers of (y - t)^2 */
    RELN_LOSS_MAE, /* of |y - t|; of a rep that is not trivial, the length of a channel's vector */
    RELN_LOSS_HUBER, /* of r^2/2 where |r| <= delta, delta (|r| - delta/2) beyond; |r| as above */
    RELN_LOSS_CROSS_ENTROPY, /* -w_t log softmax(y)_t; the target is i32, y (..., 1, classes) */
    RELN_LOSS_GAUSSIAN, /* minus the logarithm of a normal density: reln_loss_gaussian() has the variance, too */
    RELN_LOSS_QUANTILES /* max(q r, (q - 1) r) of r = t - y, for each quantile q; y has them as channels */
} RelnLossKind;

typedef struct RelnLoss {
    RelnLossKind kind;
    double delta;  /* of Huber; 0 counts as 1 */
    int n_weights; /* cross entropy: 0, or the number of classes */
    const double *
        weights; /* by class; the mean is then weighted, sum w l / sum w, as reln_loss_mean() does */
    double smoothing; /* cross entropy: a share s of the truth is that of all classes alike */
    int n_quantiles; /* quantiles: how many; of a target of C channels y has n_quantiles C, those of the */
    const double *quantiles; /* first quantile first */
} RelnLoss;

/* One number for each item of y. Anything but cross entropy takes y and target of one shape, and of one rep that keeps
 * the dot product, or of no promise (none:n); otherwise the error of a feature has no invariant size and RELN_ERR_REP
 * says so. It is made of ops: second derivatives exist. */
RELN_API RelnNode *reln_loss(RelnGraph *g, const RelnLoss *loss, RelnNode *y, RelnNode *target);
/* The mean over the batch (of rows: over all of them), weighted by class where the loss is. */
RELN_API RelnNode *reln_loss_mean(RelnGraph *g, const RelnLoss *loss, RelnNode *y,
                                  RelnNode *target);

/* Minus the logarithm of a normal density with mean y whose variance is predicted, too; for each number of an item, less
 * its constant: one number for each item, as reln_loss(). y and target are (K, C), of one shape and rep.
 *
 * reln_loss_gaussian(): (|t - y|^2 / v + K log v) / 2 with one variance v = exp(log_variance) for each channel, (1, C)
 * invariant. The rep keeps lengths, as for reln_loss().
 *
 * reln_loss_gaussian_matrix(): (e^T P e + log_determinant) / 2 with e = t - y, the inverse P (K K, C) of the covariance, which
 * goes to g^-T P g^-1, and the logarithm of the covariance's determinant (1, C), where only its invariant part matters. With
 * P = exp(-Y), log_determinant = tr Y the covariance exp(Y) is positive definite for every symmetric Y. */
RELN_API RelnNode *reln_loss_gaussian(RelnGraph *g, RelnNode *y, RelnNode *log_variance,
                                      RelnNode *target);
RELN_API RelnNode *reln_loss_gaussian_matrix(RelnGraph *g, RelnNode *y, RelnNode *precision,
                                             RelnNode *log_determinant, RelnNode *target);

/* ---- optimisers ------------------------------------------------------------------------------------------------ */

typedef enum RelnOptimiserKind { RELN_OPTIMISER_ADAM, RELN_OPTIMISER_SGD } RelnOptimiserKind;

typedef struct RelnOptimiser {
    RelnOptimiserKind kind;
    RelnAdam adam; /* with decay: AdamW */
    RelnSgd sgd;
    double
        clip; /* gradients are scaled down to this norm, taken over all parameters; 0: as they are */
} RelnOptimiser;

/* Make every run of the plan a step of training: declares the input "rate" (bound by the trainer), updates every
 * parameter that the loss depends on, and delivers the outputs "loss" and "gradient_norm" (before clipping), f64 whatever
 * the graph is. The loss is one number at step level. False when something fails; the message is the graph's. */
RELN_API bool reln_train_step(RelnGraph *g, const RelnOptimiser *optimiser, RelnNode *loss);

/* ---- schedules ------------------------------------------------------------------------------------------------- */

typedef enum RelnScheduleKind {
    RELN_SCHEDULE_CONSTANT,
    RELN_SCHEDULE_WARMUP, /* from `floor` times the rate up to it, linearly */
    RELN_SCHEDULE_COSINE, /* down to `floor` times the rate over the piece */
    RELN_SCHEDULE_RESTARTS, /* cosine again and again: periods of `period` steps, each `factor` times the last */
    RELN_SCHEDULE_EXPONENTIAL, /* times `factor` every `period` steps, smoothly, not below floor */
    RELN_SCHEDULE_STEPS, /* times `factor` at every multiple of `period`, at once, not below floor */
    RELN_SCHEDULE_PLATEAU /* times `factor` after `patience` evaluations without a better score, not below floor */
} RelnScheduleKind;

typedef struct RelnSchedulePiece {
    RelnScheduleKind kind;
    uint64_t steps; /* how long it lasts; 0: to the end */
    double floor, factor, period;
    int patience;
    double scale;  /* of the rate within this piece; 0 counts as 1 */
    uint64_t hold; /* the rate stays for so many steps, as for an epoch; 0 counts as 1 */
} RelnSchedulePiece;

enum { RELN_SCHEDULE_MAX = 8 };
typedef struct RelnSchedule {
    double rate;
    int n_pieces; /* 0: constant */
    RelnSchedulePiece piece[RELN_SCHEDULE_MAX];
} RelnSchedule;

/* Steps and periods are counted from the beginning of a piece. The pieces must last for n_steps, and one of them at
 * most may be a plateau. RELN_ERR_ARG otherwise, with the piece and the number. */
RELN_API RelnStatus reln_schedule_check(RelnCtx *ctx, const RelnSchedule *schedule,
                                        uint64_t n_steps);
/* The rate of a step, from 0; `cuts` is how often a plateau has been met so far. */
RELN_API double reln_schedule_rate(const RelnSchedule *schedule, uint64_t step, uint64_t n_steps,
                                   int cuts);

/* ---- batches --------------------------------------------------------------------------------------------------- */

/* Entries first .. first+count-1 of the permutation of 0..n-1 that belongs to (seed, epoch). Any part of it costs only
 * itself, and nothing is remembered. Past the end it begins again; n < 1 and first < 0 write nothing. */
RELN_API void reln_shuffle(uint64_t seed, uint64_t epoch, ptrdiff_t n, ptrdiff_t first,
                           ptrdiff_t count, ptrdiff_t *rows);

/* ---- the loop -------------------------------------------------------------------------------------------------- */

enum { RELN_TRAIN_METRICS = 8 };

/* What an evaluation on validation data says; smaller scores are better. */
typedef struct RelnEvaluation {
    double score;
    int n_metrics;
    double metrics[RELN_TRAIN_METRICS]; /* further numbers, for the record; named by the job */
} RelnEvaluation;

/* A row of the record: one for every evaluation. */
typedef struct RelnTrainRow {
    uint64_t step; /* steps done */
    double loss;   /* of training, mean over the steps since the last row */
    double rate, gradient_norm;
    double seconds; /* spent training so far, over all parts of the run */
    RelnEvaluation evaluation;
    bool best;
} RelnTrainRow;

typedef enum RelnTrainEnd {
    RELN_TRAIN_GOING, /* there are steps left */
    RELN_TRAIN_DONE,
    RELN_TRAIN_PATIENCE, /* no better score for too long */
    RELN_TRAIN_ASKED,    /* the watch said so */
    RELN_TRAIN_DIVERGED /* loss or gradient are not finite, or an op that had values before has none (RELN_ERR_NUMERIC):
                          * weights and states are those of the best evaluation (of the start when there was none),
                          * moments 0 */
} RelnTrainEnd;

typedef struct RelnTrainProgress {
    uint64_t step, n_steps;
    double loss, rate;       /* of the last step */
    double seconds;          /* so far */
    const RelnTrainRow *row; /* the last row; NULL before the first */
    bool evaluated;          /* that row is new */
} RelnTrainProgress;

typedef struct RelnTrainer RelnTrainer;

/* Who watches a run and keeps it; all zero: nobody. Where the plan has ranks, rank 0 observes and saves, and all may be
 * asked to stop: then all stop. */
typedef struct RelnTrainWatch {
    void *self;
    /* Progress, after a step: at most every observe_seconds (0: every step), and after every evaluation and the last
     * step. False stops. NULL: not shown. */
    bool (*observe)(void *self, const RelnTrainProgress *progress);
    double observe_seconds;
    /* True stops, between two steps or between two shards of one: that step is then as if it had not begun. The threads of
     * the plan's pool ask, so it only looks. NULL: never. */
    bool (*asked)(void *self);
    /* Keep reln_trainer_state() somewhere: between two steps, when save_seconds have passed (0: never), and when a run
     * ends or is stopped. NULL: not kept. */
    RelnStatus (*save)(void *self, RelnTrainer *trainer);
    double save_seconds;
} RelnTrainWatch;

typedef struct RelnTrainJob {
    RelnPlan *plan;   /* of a graph finished with reln_train_step() */
    RelnStore *store; /* its weights and state */
    uint64_t seed;
    uint64_t n_steps, steps_per_epoch; /* the latter is for messages and records; 0: n_steps */
    uint64_t evaluate_every;           /* steps; 0: only at the end */
    int patience; /* evaluations without a better score; 0: never stops early */
    RelnSchedule schedule;
    /* Weights and states are averaged over steps, a' = d a + (1 - d) w with d the smaller of this and n / (n + 10) after n steps.
     * Evaluations and the best weights are then those of the averages, which are no part of the training. 0: none */
    double average;
    int n_metrics;
    const char *metric_names[RELN_TRAIN_METRICS];
    void *self;
    /* Bind the batch of a step, which must depend on the number of the step alone. */
    RelnStatus (*load)(void *self, uint64_t step, ptrdiff_t *n_samples);
    /* NULL: no evaluation; the score is then the training loss. RELN_ERR_STOPPED, of load() too, stops as the watch does. */
    RelnStatus (*evaluate)(void *self, uint64_t step, RelnEvaluation *out);
    RelnTrainWatch watch;
} RelnTrainJob;

/* The job is copied; plan and store must outlive it. Its state has the entries that the store has now, so build every
 * graph that adds to it before. The plan's input "rate" is bound to the trainer that ran last. Caller destroys. */
RELN_API RelnStatus reln_trainer_create(RelnCtx *ctx, const RelnTrainJob *job, RelnTrainer **out);
RELN_API void reln_trainer_destroy(RelnTrainer *trainer); /* NULL is fine */

/* Up to n_steps more steps. RELN_TRAIN_GOING and _ASKED: call it again to go on, as after a failure of load(), which
 * leaves the step undone, or of evaluate(), which is then asked again. `end` may be NULL. After a failure nothing is
 * saved. */
RELN_API RelnStatus reln_trainer_run(RelnTrainer *trainer, uint64_t n_steps, RelnTrainEnd *end);
RELN_API uint64_t reln_trainer_step(const RelnTrainer *trainer); /* steps done */
RELN_API int reln_trainer_rows(const RelnTrainer *trainer, const RelnTrainRow **rows);
/* Put the weights and states of the best evaluation into the store (moments stay); those of the start when there was
 * none. */
RELN_API RelnStatus reln_trainer_take_best(RelnTrainer *trainer);

/* Everything that the rest of the run depends on: entries of the store (P, Q, R, K, C), the best weights ("best/NAME"),
 * averages ("average/NAME"), the record and counters ("trainer/..."). Nothing is copied or allocated: arrays are borrowed until the next call, and
 * seen as they are between steps (observe() and save() may call it). Restore copies from arrays of the same names, in any order,
 * ignores others, and checks everything first: when it fails nothing has changed. The job must have the same seed; more
 * steps, another schedule or patience are taken as they are. */
RELN_API RelnStatus reln_trainer_state(RelnTrainer *trainer, int *n, const RelnArray **arrays);
RELN_API RelnStatus reln_trainer_restore(RelnTrainer *trainer, int n, const RelnArray *arrays);

#ifdef __cplusplus
}
#endif

#endif
