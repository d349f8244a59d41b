/* train.h -- training: losses, optimisers, schedules, and the training loop, which can be stopped and resumed.
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
 * the step. A run that was stopped after any step, saved (reln_trainer_state()) and restored elsewhere therefore ends with
 * the same bits, on any number of threads. A step allocates nothing.
 */
#ifndef RELN_TRAIN_H
#define RELN_TRAIN_H

#include "reln/optimiser.h"
#include "reln/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- losses ---------------------------------------------------------------------------------------------------- */

/* With r = y - target:
 *
 * RELN_LOSS_MSE            the mean of r^2 over the numbers of an item
 * RELN_LOSS_MAE            the mean of |r|: of numbers, or for a rep that is not trivial of the lengths of the channels' vectors
 * RELN_LOSS_HUBER          the mean of |r|^2 / 2 up to |r| = delta, and of delta (|r| - delta / 2) beyond; |r| as for MAE
 * RELN_LOSS_CROSS_ENTROPY  -w_t log softmax(y)_t for the class t; the target is i32, y (..., 1, classes)
 * RELN_LOSS_GAUSSIAN       minus the logarithm of a normal density; reln_loss_gaussian() takes the variance
 * RELN_LOSS_QUANTILES      max(-q r, (1 - q) r) for each quantile q; for a target of C channels, y has n_quantiles C channels: the
 *                          C channels of the first quantile come first */
typedef enum RelnLossKind {
    RELN_LOSS_MSE,
    RELN_LOSS_MAE,
    RELN_LOSS_HUBER,
    RELN_LOSS_CROSS_ENTROPY,
    RELN_LOSS_GAUSSIAN,
    RELN_LOSS_QUANTILES
} RelnLossKind;

typedef struct RelnLoss {
    RelnLossKind kind;
    double delta;            /* of Huber; 0 counts as 1 */
    int n_weights;           /* of cross entropy: 0, or the number of classes */
    const double *weights;   /* (n_weights): weight of each class */
    double smoothing;        /* of cross entropy: share of a label that all classes get equally */
    int n_quantiles;         /* of quantiles */
    const double *quantiles; /* (n_quantiles): ascending shares */
} RelnLoss;

/* Returns one number for each item of y. Except for cross entropy, y and target must have the same shape and
 * rep, and the rep must keep the dot product or belong to a group without a promise (none:n). Otherwise the
 * error has no invariant size, and the loss fails with RELN_ERR_REP. The loss is made of ops, so second
 * derivatives exist. */
RELN_API RelnNode *reln_loss(RelnGraph *g, const RelnLoss *loss, RelnNode *y, RelnNode *target);
/* Returns the mean of the loss over the batch (over all rows, if y is of a row domain), weighted by class if
 * the loss has weights. */
RELN_API RelnNode *reln_loss_mean(RelnGraph *g, const RelnLoss *loss, RelnNode *y,
                                  RelnNode *target);
/* Returns sum w l / sum w over the batch, for losses l and weights w (1, 1) >= 0 of the items, multiplied by the weights of classes;
 * 0 if all weights are 0. weights NULL: reln_loss_mean(). */
RELN_API RelnNode *reln_loss_mean_weighted(RelnGraph *g, const RelnLoss *loss, RelnNode *y,
                                           RelnNode *target, RelnNode *weights);
/* Returns sum w x / sum w over the batch, for invariant numbers x and weights w of the items; NULL: all weights are 1. */
RELN_API RelnNode *reln_weighted_mean(RelnGraph *g, RelnNode *x, RelnNode *weights);

/* Minus the logarithm of a normal density with mean y and a predicted variance, without its constant term.
 * Like reln_loss(), they return one number for each item. y and target are (K, C), of one shape and rep.
 *
 * reln_loss_gaussian(): (|t - y|^2 / v + K log v) / 2 with one variance v = exp(log_variance) for each
 * channel; log_variance is (1, C), invariant. The rep must keep lengths, as for reln_loss().
 *
 * reln_loss_gaussian_matrix(): (e^T P e + log_determinant) / 2 with e = t - y. P (K K, C) is the inverse of
 * the covariance and transforms as g^-T P g^-1. log_determinant (1, C) is the logarithm of the covariance's
 * determinant; only its invariant part matters. With P = exp(-Y) and log_determinant = tr Y, the covariance
 * exp(Y) is positive definite for every symmetric Y. */
RELN_API RelnNode *reln_loss_gaussian(RelnGraph *g, RelnNode *y, RelnNode *log_variance,
                                      RelnNode *target);
RELN_API RelnNode *reln_loss_gaussian_matrix(RelnGraph *g, RelnNode *y, RelnNode *precision,
                                             RelnNode *log_determinant, RelnNode *target);

/* ---- optimisers ------------------------------------------------------------------------------------------------ */

typedef enum RelnOptimiserKind { RELN_OPTIMISER_ADAM, RELN_OPTIMISER_SGD } RelnOptimiserKind;

typedef struct RelnOptimiser {
    RelnOptimiserKind kind;
    RelnAdam adam; /* AdamW if its decay is not 0 */
    RelnSgd sgd;
    double
        clip; /* gradients are scaled down so that their norm over all parameters is at most this; 0: never */
} RelnOptimiser;

/* Makes every run of the plan a training step. Declares the input "rate" (bound by the trainer), updates
 * every parameter that the loss depends on, and delivers the outputs "loss" and "gradient_norm" (before
 * clipping) as f64. The loss must be one number at step level. Returns false on failure; the message is in
 * the graph. */
RELN_API bool reln_train_step(RelnGraph *g, const RelnOptimiser *optimiser, RelnNode *loss);

/* ---- schedules ------------------------------------------------------------------------------------------------- */

typedef enum RelnScheduleKind {
    RELN_SCHEDULE_CONSTANT,
    RELN_SCHEDULE_WARMUP, /* rises linearly from `floor` times the rate to the rate */
    RELN_SCHEDULE_COSINE, /* falls to `floor` times the rate over the piece */
    RELN_SCHEDULE_RESTARTS, /* repeated cosine: the first lasts `period` steps, each next one `factor` times
                             * longer */
    RELN_SCHEDULE_EXPONENTIAL, /* is multiplied by `factor` every `period` steps, smoothly, but not below
                                * floor */
    RELN_SCHEDULE_STEPS, /* is multiplied by `factor` at every multiple of `period`, but not below floor */
    RELN_SCHEDULE_PLATEAU /* is multiplied by `factor` after `patience` evaluations without a better score,
                           * but not below floor */
} RelnScheduleKind;

typedef struct RelnSchedulePiece {
    RelnScheduleKind kind;
    uint64_t steps; /* length of the piece; 0: to the end */
    double floor, factor, period;
    int patience;
    double scale; /* factor of the rate within this piece; 0 counts as 1 */
    uint64_t
        hold; /* the rate changes only every so many steps, such as once an epoch; 0 counts as 1 */
} RelnSchedulePiece;

enum { RELN_SCHEDULE_MAX = 8 };
typedef struct RelnSchedule {
    double rate;
    int n_pieces; /* 0: constant */
    RelnSchedulePiece piece[RELN_SCHEDULE_MAX];
} RelnSchedule;

/* Checks a schedule. Steps and periods are counted from the beginning of a piece. The pieces must cover
 * n_steps, and at most one of them may be a plateau; RELN_ERR_ARG otherwise, with the piece and the
 * number. */
RELN_API RelnStatus reln_schedule_check(RelnCtx *ctx, const RelnSchedule *schedule,
                                        uint64_t n_steps);
/* Returns the rate of a step, counted from 0. `cuts` is the number of times that a plateau was reached so
 * far. */
RELN_API double reln_schedule_rate(const RelnSchedule *schedule, uint64_t step, uint64_t n_steps,
                                   int cuts);

/* ---- batches --------------------------------------------------------------------------------------------------- */

/* Writes entries first .. first+count-1 of the permutation of 0..n-1 that belongs to (seed, epoch). The cost
 * is proportional to count, and there is no state. Indices past the end start again from 0. Writes nothing if
 * n < 1 or first < 0. */
RELN_API void reln_shuffle(uint64_t seed, uint64_t epoch, ptrdiff_t n, ptrdiff_t first,
                           ptrdiff_t count, ptrdiff_t *rows);

/* Shuffles rows of large files, which are read faster in sequence: consecutive rows form blocks of `block`,
 * the blocks are permuted, and the rows of each `window` blocks in the new order are shuffled. The first
 * block begins at another row in every epoch. Writes nothing if block < 1 or window < 1. */
RELN_API void reln_shuffle_blocks(uint64_t seed, uint64_t epoch, ptrdiff_t n, ptrdiff_t block,
                                  ptrdiff_t window, ptrdiff_t first, ptrdiff_t count,
                                  ptrdiff_t *rows);

/* ---- the loop -------------------------------------------------------------------------------------------------- */

enum { RELN_TRAIN_METRICS = 8 };

/* A RelnEvaluation is the result on validation data; a smaller score is better. */
typedef struct RelnEvaluation {
    double score;
    int n_metrics;
    double
        metrics[RELN_TRAIN_METRICS]; /* further numbers for the record; the job has their names */
} RelnEvaluation;

/* A RelnTrainRow is a row of the training record, one for every evaluation. */
typedef struct RelnTrainRow {
    uint64_t step; /* steps done */
    double loss;   /* training loss, mean over the steps since the last row */
    double rate, gradient_norm;
    double seconds; /* spent training so far, over all parts of the run */
    RelnEvaluation evaluation;
    bool best;
} RelnTrainRow;

typedef enum RelnTrainEnd {
    RELN_TRAIN_GOING, /* there are steps left */
    RELN_TRAIN_DONE,
    RELN_TRAIN_PATIENCE, /* no better score for `patience` evaluations */
    RELN_TRAIN_ASKED,    /* observe() or asked() of the watch stopped it */
    RELN_TRAIN_DIVERGED /* loss or gradient is not finite, or an op failed with RELN_ERR_NUMERIC after earlier
                         * steps succeeded. Weights and states are reset to the best evaluation (to the start
                         * when there was none), moments to 0 */
} RelnTrainEnd;

typedef struct RelnTrainProgress {
    uint64_t step, n_steps;
    double loss, rate;       /* of the last step */
    double seconds;          /* since the start of the run */
    const RelnTrainRow *row; /* the last row; NULL before the first */
    bool evaluated;          /* whether that row is new */
} RelnTrainProgress;

typedef struct RelnTrainer RelnTrainer;

/* A RelnTrainWatch observes and saves a run; all zero: no watch. If the plan has ranks, rank 0 calls
 * observe() and save(), and every rank calls asked(): if one answers true, all stop. */
typedef struct RelnTrainWatch {
    void *self;
    /* Reports progress after a step: at most every observe_seconds (0: every step), and after every
     * evaluation and the last step. Returning false stops the run. NULL: no reports. */
    bool (*observe)(void *self, const RelnTrainProgress *progress);
    double observe_seconds;
    /* Returning true stops the run between two steps, or between two shards of one; that step is then undone.
     * Threads of the plan's pool call it, so it must be thread-safe. NULL: never stop. */
    bool (*asked)(void *self);
    /* Saves reln_trainer_state(). Called between two steps when save_seconds have passed (0: never), and when
     * a run ends or is stopped. NULL: not saved. */
    RelnStatus (*save)(void *self, RelnTrainer *trainer);
    double save_seconds;
} RelnTrainWatch;

typedef struct RelnTrainJob {
    RelnPlan *plan;   /* plan of a graph finished with reln_train_step() */
    RelnStore *store; /* store of that graph */
    uint64_t seed;
    uint64_t n_steps, steps_per_epoch; /* steps_per_epoch is for messages and records; 0: n_steps */
    uint64_t evaluate_every;           /* number of steps between evaluations; 0: only at the end */
    int patience; /* evaluations without a better score before the run stops; 0: it never stops early */
    RelnSchedule schedule;
    /* Share that the averages of weights and states keep in a step: a' = d a + (1 - d) w, where d is the smaller of `average`
     * and n / (n + 10) after n steps. Evaluations see the averages, and the best weights are averages; training does not
     * depend on them. 0: there are no averages */
    double average;
    int n_metrics;
    const char *metric_names[RELN_TRAIN_METRICS];
    void *self;
    /* Binds the batch of a step. The batch must depend on the number of the step alone. */
    RelnStatus (*load)(void *self, uint64_t step, ptrdiff_t *n_samples);
    /* Evaluates on validation data. NULL: no evaluation; the score is then the training loss. If load() or
     * evaluate() returns RELN_ERR_STOPPED, the run stops as if the watch had asked for it. */
    RelnStatus (*evaluate)(void *self, uint64_t step, RelnEvaluation *out);
    RelnTrainWatch watch;
} RelnTrainJob;

/* Creates a trainer. The job is copied; plan and store must outlive the trainer. Its state consists of the
 * entries that the store has now, so build every graph that adds entries before. The plan's input "rate" is
 * bound to the trainer that ran last. Caller destroys *out. */
RELN_API RelnStatus reln_trainer_create(RelnCtx *ctx, const RelnTrainJob *job, RelnTrainer **out);
RELN_API void reln_trainer_destroy(RelnTrainer *trainer); /* NULL is fine */

/* Runs up to n_steps more steps; `end` may be NULL. After RELN_TRAIN_GOING or _ASKED, call it again to go on.
 * The same holds after a failure of load(), which leaves the step undone, and of evaluate(), which is called
 * again. After a failure nothing is saved. */
RELN_API RelnStatus reln_trainer_run(RelnTrainer *trainer, uint64_t n_steps, RelnTrainEnd *end);
RELN_API uint64_t reln_trainer_step(const RelnTrainer *trainer); /* steps done */
RELN_API int reln_trainer_rows(const RelnTrainer *trainer, const RelnTrainRow **rows);
/* Puts the weights and states of the best evaluation (of the start when there was none) into the store.
 * Moments stay unchanged. */
RELN_API RelnStatus reln_trainer_take_best(RelnTrainer *trainer);

/* Returns all arrays that the rest of the run depends on: entries of the store (P, Q, R, K, C), the best
 * weights ("best/NAME"), the averages ("average/NAME"), the record and counters ("trainer/..."). Nothing is copied or allocated: the arrays
 * are borrowed until the next call, and show the values of the last finished step (observe() and save() may
 * call it).
 *
 * reln_trainer_restore() copies from arrays of the same names, in any order, and ignores others. It checks
 * everything first: when it fails, nothing has changed. The job must have the same seed; it may have more
 * steps, another schedule or another patience. */
RELN_API RelnStatus reln_trainer_state(RelnTrainer *trainer, int *n, const RelnArray **arrays);
RELN_API RelnStatus reln_trainer_restore(RelnTrainer *trainer, int n, const RelnArray *arrays);

#ifdef __cplusplus
}
#endif

#endif
