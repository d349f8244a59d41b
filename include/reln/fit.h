/* fit.h -- trains a model on arrays of a file, in a folder from which an interrupted run can go on; then predicts,
 * evaluates and checks it.
 *
 *     RelnFit *fit = NULL;
 *     RelnTrainEnd end;
 *     if (reln_fit_open(ctx, "spec.yaml", "data.npz", &(RelnFitOptions){.folder = "run"}, &fit) == RELN_OK &&
 *         reln_fit_run(fit, &end) == RELN_OK)
 *         ...                                              // run/model.safetensors, results.json, report.html
 *     reln_fit_close(fit);
 *
 *     RelnModel *model = NULL;
 *     reln_model_load(ctx, "run", RELN_DEFAULT, &model);   // the folder, or its model.safetensors
 *     reln_check(model, NULL, &check);                     // is the model equivariant?
 *
 * The folder of a run holds spec.yaml, checkpoint.safetensors (and the one before it) and metrics.csv, which grows by a line
 * with every evaluation. From the first evaluation on, it also holds model.safetensors (the best model so far, at most 10 s
 * old), results.json and report.html. Every file is replaced whole, so other programs may read them at any time. A checkpoint
 * is one file with everything that the rest of the run depends on: after any interruption, reln_fit_resume() goes on from the
 * last checkpoint, and the final weights are the same to the bit.
 */
#ifndef RELN_FIT_H
#define RELN_FIT_H

#include "reln/io.h"
#include "reln/model.h"
#include "reln/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- training -------------------------------------------------------------------------------------------------- */

typedef struct RelnFitOptions {
    const char *folder; /* folder of the run; created if it is missing */
    int threads;        /* number of threads, 0 counts as 1; the results do not depend on it */
    bool seed_given;    /* use `seed` instead of the SPEC's seed */
    uint64_t seed;
    int n_set; /* keys put into the SPEC before it is read: "train.lr=1e-3"; a resumed run ignores them */
    const char *const *set;
    bool reference; /* use the reference kernels; a resumed run uses the kernels it began with */
    double checkpoint_seconds; /* time between checkpoints; 0: as in the SPEC */
    void *self;
    /* Called after every step. Returning false stops the run, with a checkpoint. */
    bool (*observe)(void *self, const RelnTrainProgress *progress);
    /* Returning true stops the run, with a checkpoint. Any thread may call it, also within steps and
     * evaluations. */
    bool (*asked)(void *self);
    /* Called before each phase of work after the last step, such as "errors of the best model". NULL: not
     * called. */
    void (*phase)(void *self, const char *what);
    /* A run or a model that gives starting weights, for all arrays of the same name and extents; NULL:
     * none. */
    const char *from;
    /* Ranks that train together (comm.h), all with the same options. Rank 0 writes the folder; all ranks read
     * it when a run is resumed. The result does not depend on the number of ranks. Copied; NULL: this process
     * alone. */
    const RelnComm *comm;
    bool no_check; /* omit the equivariance check at the end of a run */
} RelnFitOptions;

/* A RelnFitRank says what one process did in the steps and evaluations of a run, since the run began or was
 * resumed. */
typedef struct RelnFitRank {
    uint64_t shards; /* shards run by this process, counted in every phase of a step */
    uint64_t
        bytes_read; /* bytes read of data that are not in memory: this process's samples only */
    double waited;  /* share of the time in which the process waited for data */
    uint64_t bytes_sent, messages; /* to other processes */
    double
        exchanged; /* share of the time in exchanges, in which it waits for other processes, too */
    size_t peak_bytes; /* largest resident memory of the process so far */
} RelnFitRank;

/* A RelnFitResult is the result of a run, or its state so far. */
typedef struct RelnFitResult {
    RelnTrainEnd end;
    uint64_t step, n_steps, steps_per_epoch;
    ptrdiff_t n_train, n_validation;
    size_t parameters;
    double seconds;
    int n_rows; /* length of the record, `rows` */
    const RelnTrainRow *rows;
    const RelnTrainRow *best; /* NULL before the first evaluation */
    size_t planned_bytes,
        peak_bytes; /* memory of the process: the estimate for training; the peak */
    const char
        *note; /* a notice for the user, such as that an older checkpoint had to be used; or "" */
    char warning
        [256]; /* of a finished run: the text of reln_check_note(), and the data it refers to; or
                        * "" */
    bool streamed; /* data are read batch by batch: they do not fit in memory, or change by epoch */
    double
        waited; /* share of the time since the run began or was resumed in which this process waited for data */
    int n_ranks; /* number of processes of a run that has ended; 0 before */
    const RelnFitRank *ranks;
} RelnFitResult;

typedef struct RelnFit RelnFit;

/* Opens a new run. RELN_ERR_ARG when the folder already holds a run. */
RELN_API RelnStatus reln_fit_open(RelnCtx *ctx, const char *spec_path, const char *data_path,
                                  const RelnFitOptions *options, RelnFit **out);
/* Opens the run in options->folder at its last good checkpoint. RELN_ERR_FORMAT when the data have changed
 * since, RELN_ERR_UNSUPPORTED when it began with kernels that this machine does not have, or others than
 * options ask for. */
RELN_API RelnStatus reln_fit_resume(RelnCtx *ctx, const RelnFitOptions *options, RelnFit **out);
RELN_API void reln_fit_close(RelnFit *fit); /* NULL is fine */

/* Trains until the run ends or is asked to stop. A run that ended leaves the finished files, with the model
 * of the best evaluation. A run that was asked to stop leaves the files of the record so far. If it ends with
 * RELN_TRAIN_DIVERGED before the first evaluation (result.best is NULL), there is no model file. */
RELN_API RelnStatus reln_fit_run(RelnFit *fit, RelnTrainEnd *end);
RELN_API RelnFitResult reln_fit_result(const RelnFit *fit);
RELN_API RelnModel *reln_fit_model(const RelnFit *fit);

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

/* Saves the state of a trainer as one safetensors file, as reln_fit_run() and every task do. The replaced
 * file is kept as path.previous. `about` holds at most 14 items by which the caller recognises the run; NULL:
 * none. */
RELN_API RelnStatus reln_checkpoint_save(RelnCtx *ctx, const char *path, RelnTrainer *trainer,
                                         const RelnMeta *about);
/* Loads a checkpoint, or path.previous as reln_tensors_load_or_previous() does. RELN_ERR_FORMAT when the file
 * is not a checkpoint. Caller destroys *out. */
RELN_API RelnStatus reln_checkpoint_load(RelnCtx *ctx, const char *path, RelnTensors **out,
                                         bool *previous);
/* Returns an item of `about`; NULL: there is none. */
RELN_API const char *reln_checkpoint_about(const RelnTensors *file, const char *key);
/* Calls reln_trainer_restore() with the arrays of the checkpoint. */
RELN_API RelnStatus reln_checkpoint_restore(const RelnTensors *file, RelnTrainer *trainer);

/* ---- weights of a network built in C ----------------------------------------------------------------------------- */

/* Saves the parameters and states of a store as one safetensors file, without the moments of optimisers (a
 * checkpoint has them). */
RELN_API RelnStatus reln_store_save(const RelnStore *store, const char *path);
/* Copies the values of a file into the parameters and states that the store has now, so build the network first. Other
 * arrays of the file are ignored.
 * Fails   RELN_ERR_FORMAT when an array is missing or has another shape or dtype; the store is then unchanged */
RELN_API RelnStatus reln_store_load(RelnStore *store, const char *path);

/* ---- model files ------------------------------------------------------------------------------------------------ */

/* Saves a model as one safetensors file: weights and states, and in its metadata the SPEC, the version of the
 * format and a checksum. */
RELN_API RelnStatus reln_model_save(const RelnModel *model, const char *path);
/* Loads a model. `path` is a model file or the folder of a run, which may still be running: then the best
 * model so far, or before its first evaluation the starting weights (reln_model_step() is 0). dtype
 * RELN_DEFAULT: as in training. Caller destroys *out. */
RELN_API RelnStatus reln_model_load(RelnCtx *ctx, const char *path, RelnDtype dtype,
                                    RelnModel **out);

/* ---- using it ---------------------------------------------------------------------------------------------------- */

/* Predicts every sample of a file of arrays. The result is (N, ...) with the target's name, as doubles in the units of the
 * data: for classes one probability each, for quantiles one number each. If the model has several targets, it is the first.
 * The file need not contain the target. Clear the result before the model is destroyed.
 * Fails   RELN_ERR_NUMERIC when a prediction is not finite, with the sample; so does reln_evaluate() */
RELN_API RelnStatus reln_predict(RelnModel *model, const char *data_path, int threads,
                                 RelnArray *out);
/* Predicts from arrays in memory, by the names of the SPEC (f32, f64, i32 or i64), without any file. */
RELN_API RelnStatus reln_predict_arrays(RelnModel *model, int n, const RelnArray *arrays,
                                        int threads, RelnArray *out);

/* Predict all targets: one array for each target, with its name, and for a target with uncertainty a second
 * one, NAME_variance (N, [channels]) or NAME_covariance (N, [channels,] n, n). At most `room` arrays are
 * written; *count is the number that the model has, at most RELN_PREDICT_MOST. Clear each of them. */
enum { RELN_PREDICT_MOST = 16 };
RELN_API RelnStatus reln_predict_targets(RelnModel *model, const char *data_path, int threads,
                                         int room, RelnArray *out, int *count);
RELN_API RelnStatus reln_predict_targets_arrays(RelnModel *model, int n, const RelnArray *arrays,
                                                int threads, int room, RelnArray *out, int *count);

enum { RELN_METRIC_QUANTILES = 9 };

typedef struct RelnMetrics {
    ptrdiff_t n_samples;
    double loss; /* the training loss, in its units */
    /* For targets of numbers, vectors and matrices: mean square and mean absolute error of an entry, in the
     * units of the data, and the share of the variance that is explained. NAN for classes. */
    double mse, mae, r2;
    double accuracy; /* for classes; NAN otherwise */
    /* For normal densities with a covariance S of K numbers; NAN otherwise. nll: minus the logarithm of the
     * density, in nats and the units of the data. nees: the mean of e^T S^-1 e / K, which is 1 if the
     * variances are right. coverage: the share of true values in the region that should hold nine tenths of
     * them. */
    double nll, nees, coverage;
    /* For normal densities and quantiles, NAN otherwise: the mean over nine levels, or over the quantiles, of
     * |observed share of true values - promised share|. */
    double calibration_error;
    /* For covariances S against the true T, NAN otherwise: the root mean square of |log(S^-1/2 T S^-1/2)|. */
    double distance;
    int n_quantiles; /* 0, or the number of quantiles of the target; `below` is the share of true values below
                      * each quantile */
    double quantile[RELN_METRIC_QUANTILES], below[RELN_METRIC_QUANTILES];
} RelnMetrics;

/* Evaluates all targets together. If there are several, only the loss is a number: their weighted sum. */
RELN_API RelnStatus reln_evaluate(RelnModel *model, const char *data_path, int threads,
                                  RelnMetrics *out);
/* Evaluates each target, in the order of the SPEC: `out` has room for reln_model_targets() entries. */
RELN_API RelnStatus reln_evaluate_targets(RelnModel *model, const char *data_path, int threads,
                                          RelnMetrics *out);

/* ---- judging classifiers ----------------------------------------------------------------------------------------- */

enum { RELN_SCORE_BINS = 10 };

/* A score and its error: the standard deviation over bootstrap draws of samples. NAN where a class has no
 * samples. */
typedef struct RelnScore {
    double value, error;
} RelnScore;

/* Scores of a class against all others: precision = hits / predicted as it, recall = hits / samples of it, f1
 * their harmonic mean; auc = area under the curve of true against false positives, ties counted half;
 * average_precision = sum over thresholds of (R_k - R_k-1) P_k. 0/0 is 0. */
typedef struct RelnClassScores {
    ptrdiff_t n_samples;
    RelnScore precision, recall, f1, auc, average_precision;
} RelnClassScores;

/* For the samples in a bin: their weight, the mean predicted probability, and how often the prediction was
 * right. */
typedef struct RelnCalibrationBin {
    double weight, confidence, frequency;
} RelnCalibrationBin;

typedef struct RelnScores {
    RelnCtx *ctx;
    ptrdiff_t n_samples;
    int n_classes;
    int draws; /* bootstrap draws: 200, fewer for very many samples */
    uint64_t seed;
    RelnScore accuracy;
    RelnScore f1;                     /* mean over classes */
    RelnScore auc, average_precision; /* two classes: of class 1; more: mean over classes */
    /* The samples are sorted into ten bins of equal count, by the probability of class 1 (two classes) or of
     * the predicted class. calibration_error is the mean over samples of |frequency - confidence| of their
     * bin. */
    RelnScore calibration_error;
    RelnCalibrationBin bins[RELN_SCORE_BINS];
    RelnClassScores *classes; /* (n_classes) */
    ptrdiff_t *
        confusion; /* (n_classes, n_classes): number of samples of the row's class that were predicted as the
                    * column's */
} RelnScores;

/* Computes scores from probabilities (n, classes) and labels (n). Clear them. */
RELN_API RelnStatus reln_scores(RelnCtx *ctx, ptrdiff_t n, int classes, const double *probabilities,
                                const int *labels, uint64_t seed, RelnScores *out);
/* Computes scores with weights (n) of 0 or more, as scikit-learn's sample_weight; NULL: all are 1. Samples of
 * weight 0 are left out. */
RELN_API RelnStatus reln_scores_weighted(RelnCtx *ctx, ptrdiff_t n, int classes,
                                         const double *probabilities, const int *labels,
                                         const double *weights, uint64_t seed, RelnScores *out);
/* Computes scores of a model whose target is a class, on a file of arrays; if it has several such targets, of
 * the first. Clear them. */
RELN_API RelnStatus reln_evaluate_classes(RelnModel *model, const char *data_path, int threads,
                                          uint64_t seed, RelnScores *out);
RELN_API void reln_scores_clear(RelnScores *scores); /* NULL is fine */

/* ---- checking equivariance --------------------------------------------------------------------------------------- */

/* reln_check() compares f(g x) with g f(x): the relative difference, after every layer, for random g of the
 * model's symmetry with growing condition number. In double precision, rounding explains eps (64 L + 2
 * cond^3) of the difference after L layers; a larger difference means that the model is not equivariant. The
 * differences in the precision of the model are reported too, so that users know what to expect from it. */
enum { RELN_CHECK_CONDS = 4, RELN_CHECK_MAX_LAYERS = 128 };
#define RELN_CHECK_PARTS 1e-3

typedef struct RelnCheckLayer {
    char name[64];
    char rep[64]; /* rep of its output */
    struct {
        double median, worst; /* differences in double precision */
        double allowed;
        double own_median, own_worst; /* in the precision of the model */
    } at[RELN_CHECK_CONDS];
} RelnCheckLayer;

typedef struct RelnCheck {
    bool promises; /* false: a baseline without a symmetry; errors are shown, not judged */
    bool kept;
    /* Condition numbers: 1, 10, 100, 1000, as far as the group has them. Compact groups: only 1; in a skewed frame theirs
     * are bounded, and the last one is near the largest. */
    double conds[RELN_CHECK_CONDS];
    int n_conds, n_layers, draws;
    /* parts_at is the smallest condition number at which the output in the model's precision moves by more
     * than RELN_CHECK_PARTS of its size in at least one draw of twenty, while in double it moves by less than
     * a tenth of that; parts_by is by how much it moves. 0: there is none, and users will not notice a
     * difference. */
    double parts_at, parts_by;
    RelnCheckLayer layers[RELN_CHECK_MAX_LAYERS];
} RelnCheck;

typedef struct RelnCheckOptions {
    const char *data_path; /* NULL: random inputs */
    int draws;             /* group elements for each condition number; 0: 50 */
    int threads;
    uint64_t seed;
} RelnCheckOptions;

/* Writes a line about parts_at into `text`, or "" where it is 0, and returns `text`. 256 bytes are enough. */
RELN_API const char *reln_check_note(const RelnCheck *check, char *text, size_t size);
/* `options` NULL: all defaults. */
RELN_API RelnStatus reln_check(RelnModel *model, const RelnCheckOptions *options, RelnCheck *out);

/* ---- proving equivariance ---------------------------------------------------------------------------------------- */

/* reln_certify() builds the graph of a model again and proves in exact arithmetic that it is equivariant, for
 * all inputs and all weights: reps are homomorphisms, constants are roundings of exact intertwiners, lifts
 * follow the symmetry, and every node satisfies the rule of its op. docs/soundness.md explains the proof. */
typedef enum RelnProved {
    RELN_PROVED,
    RELN_PROVED_BUT, /* proved except for constants without a known exact intertwiner: n_inexact, residual */
    RELN_NOT_PROVABLE, /* generators or reps are floats without exact relations: see reason */
    RELN_NOT_PROMISED, /* the model is an mlp */
    RELN_REFUTED       /* a claim is false: see reason */
} RelnProved;

/* A RelnCertificateLine is one step of the proof. */
typedef struct RelnCertificateLine {
    const char *kind; /* "lift", "rep", "constant", "node" */
    char name[64];
    char rule[64];
    char rep[64]; /* rep of the lift, constant or node, or "" */
    bool proved;
    double residual; /* residual of an inexact constant */
    char text[192];  /* why it is not proved, or "" */
} RelnCertificateLine;

typedef struct RelnCertificate {
    RelnCtx *ctx;
    RelnProved verdict;
    char reason[256]; /* "" when proved */
    int n_inexact;
    double residual; /* the largest residual of inexact constants */
    int n_lines;
    RelnCertificateLine *lines;
} RelnCertificate;

/* The caller clears *out. */
RELN_API RelnStatus reln_certify(RelnModel *model, RelnCertificate *out);
RELN_API void reln_certificate_clear(RelnCertificate *certificate);
/* Writes the verdict: "proved", "proved but for 2 constants, residual 3e-13", "not provable: ...". */
RELN_API void reln_certificate_text(const RelnCertificate *certificate, size_t size, char *text);

#ifdef __cplusplus
}
#endif

#endif
