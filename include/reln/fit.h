/* fit.h -- a model trained on arrays from a file, in a folder that survives anything; then used, judged and checked.
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
 *     reln_check(model, NULL, &check);                     // does it keep its promise?
 *
 * A folder holds spec.yaml, checkpoint.safetensors (and the one before it), metrics.csv, which grows by a line with every
 * evaluation, and from the first evaluation on model.safetensors, the best so far and at most 10 s old, results.json and
 * report.html. Every file appears whole or not at all, so others may read them at any time. A checkpoint is one file with all
 * that the rest of the run depends on: whenever and however a run ends, reln_fit_resume() goes on from the last one, and
 * the final weights are the same to the bit.
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
    const char *folder; /* made where it is missing */
    int threads;        /* 0 counts as 1; results do not depend on it */
    bool seed_given;    /* `seed` instead of the SPEC's */
    uint64_t seed;
    int n_set; /* keys put into the SPEC before it is read: "train.lr=1e-3"; not of a resumed run */
    const char *const *set;
    bool reference;            /* the reference kernels; a resumed run has those it began with */
    double checkpoint_seconds; /* between checkpoints; 0: those of the SPEC */
    void *self;
    /* After every step; false: stop, with a checkpoint. */
    bool (*observe)(void *self, const RelnTrainProgress *progress);
    /* True: stop, with a checkpoint. It is asked within steps and evaluations, too, by any thread. */
    bool (*asked)(void *self);
    /* What is done next, after the last step: "errors of the best model". NULL: not told. */
    void (*phase)(void *self, const char *what);
    /* A run or a model whose weights it begins with, those of the same name and extents; NULL: none. */
    const char *from;
    /* Ranks that train together (comm.h), all with the same options; rank 0 writes the folder, which all read when a run is
     * resumed. The result does not depend on their number. Copied; NULL: this process alone. */
    const RelnComm *comm;
    bool no_check; /* the check of equivariance that a finished run ends with is left out */
} RelnFitOptions;

/* What a run came to; what it knows so far while it is going on. */
typedef struct RelnFitResult {
    RelnTrainEnd end;
    uint64_t step, n_steps, steps_per_epoch;
    ptrdiff_t n_train, n_validation;
    size_t parameters;
    double seconds;
    int n_rows; /* of the record */
    const RelnTrainRow *rows;
    const RelnTrainRow *best; /* NULL before the first evaluation */
    size_t planned_bytes,
        peak_bytes; /* memory of the process: said before for training; the most there was */
    const char
        *note; /* something to tell the user: that an older checkpoint had to be taken; or "" */
    char warning[256]; /* of a finished run: reln_check_note(), with the data it is about; or "" */
} RelnFitResult;

typedef struct RelnFit RelnFit;

/* A new run. RELN_ERR_ARG when the folder holds one already. */
RELN_API RelnStatus reln_fit_open(RelnCtx *ctx, const char *spec_path, const char *data_path,
                                  const RelnFitOptions *options, RelnFit **out);
/* The run in options->folder, from its last good checkpoint. RELN_ERR_FORMAT when the data have changed meanwhile,
 * RELN_ERR_UNSUPPORTED when it began with kernels that this machine has not, or others than options ask for. */
RELN_API RelnStatus reln_fit_resume(RelnCtx *ctx, const RelnFitOptions *options, RelnFit **out);
RELN_API void reln_fit_close(RelnFit *fit); /* NULL is fine */

/* Train until it ends or is asked to stop. A run that ended otherwise than by being asked leaves the finished files, with
 * the model of the best evaluation; one that was asked, those of the record so far. RELN_TRAIN_DIVERGED without one (result.best is NULL): there is no model to leave. */
RELN_API RelnStatus reln_fit_run(RelnFit *fit, RelnTrainEnd *end);
RELN_API RelnFitResult reln_fit_result(const RelnFit *fit);
RELN_API RelnModel *reln_fit_model(const RelnFit *fit);

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

/* The state of a trainer as one safetensors file, for training of your own: what reln_fit_run() and every task write. The
 * file that was there stays as path.previous. `about` is for the caller: at most 14 items that say which run it is; NULL: none. */
RELN_API RelnStatus reln_checkpoint_save(RelnCtx *ctx, const char *path, RelnTrainer *trainer,
                                         const RelnMeta *about);
/* The file, or path.previous as reln_tensors_load_or_previous(). RELN_ERR_FORMAT when it is no checkpoint. Caller
 * destroys. */
RELN_API RelnStatus reln_checkpoint_load(RelnCtx *ctx, const char *path, RelnTensors **out,
                                         bool *previous);
/* An item of `about`; NULL: there is none. */
RELN_API const char *reln_checkpoint_about(const RelnTensors *file, const char *key);
/* reln_trainer_restore() from its arrays. */
RELN_API RelnStatus reln_checkpoint_restore(const RelnTensors *file, RelnTrainer *trainer);

/* ---- weights of a network of your own ---------------------------------------------------------------------------- */

/* The parameters and states of a store, as one safetensors file. Moments of optimisers are left out: a checkpoint has them. */
RELN_API RelnStatus reln_store_save(const RelnStore *store, const char *path);
/* The values of a file into the parameters and states that the store has now, so build the network before. Other arrays of
 * the file are ignored.
 * Fails   RELN_ERR_FORMAT when one is missing or of another shape or dtype; nothing has changed then */
RELN_API RelnStatus reln_store_load(RelnStore *store, const char *path);

/* ---- model files ------------------------------------------------------------------------------------------------ */

/* One safetensors file: weights and states, and in its metadata the whole description, the version of the format and a
 * checksum. */
RELN_API RelnStatus reln_model_save(const RelnModel *model, const char *path);
/* `path` is the file or the folder of a run, which may be going on: the best model so far, or before its first evaluation
 * the weights of the start (reln_model_step() is 0). dtype RELN_DEFAULT: as it was trained. Caller destroys. */
RELN_API RelnStatus reln_model_load(RelnCtx *ctx, const char *path, RelnDtype dtype,
                                    RelnModel **out);

/* ---- using it ---------------------------------------------------------------------------------------------------- */

/* Predictions for every sample of a file of arrays, (N, ...) with the target's name, as doubles in the units of the data;
 * of classes one probability each, of quantiles one number each. The target need not be there; of several, it is the first.
 * Clear them before the model is destroyed.
 * Fails   RELN_ERR_NUMERIC when one of them is not finite, with the sample; reln_evaluate() likewise */
RELN_API RelnStatus reln_predict(RelnModel *model, const char *data_path, int threads,
                                 RelnArray *out);
/* The same from arrays in memory, by the names of the SPEC (f32, f64, i32 or i64): no file, no folder. */
RELN_API RelnStatus reln_predict_arrays(RelnModel *model, int n, const RelnArray *arrays,
                                        int threads, RelnArray *out);

/* All arrays that a model predicts: for every target one with its name, and with uncertainty a second one, NAME_variance (N,
 * [channels]) or NAME_covariance (N, [channels,] n, n). Not more than `room` are written; *count says how many there are:
 * RELN_PREDICT_MOST is always enough. Clear each of them. */
enum { RELN_PREDICT_MOST = 16 };
RELN_API RelnStatus reln_predict_targets(RelnModel *model, const char *data_path, int threads,
                                         int room, RelnArray *out, int *count);
RELN_API RelnStatus reln_predict_targets_arrays(RelnModel *model, int n, const RelnArray *arrays,
                                                int threads, int room, RelnArray *out, int *count);

enum { RELN_METRIC_QUANTILES = 9 };

typedef struct RelnMetrics {
    ptrdiff_t n_samples;
    double loss; /* that of training, in its units */
    /* Of numbers, vectors, matrices: mean square and absolute error of an entry, in the units of the data, and the share of
     * the variance that is explained. NAN for classes. */
    double mse, mae, r2;
    double accuracy; /* of classes; NAN otherwise */
    /* Of normal densities, a variance for each thing of K numbers, NAN otherwise: minus the logarithm of the density, in
     * nats and the units of the data; e^T S^-1 e / K, whose mean is 1 where variances are right; the share of the truth in
     * the region that should hold nine tenths. */
    double nll, nees, coverage;
    /* Of normal densities and of quantiles, NAN otherwise: the mean over nine levels, or over the quantiles, of |share of the
     * truth seen - share promised|. */
    double calibration_error;
    /* Of covariances S against the truth T, NAN otherwise: the root mean square of |log(S^-1/2 T S^-1/2)|. */
    double distance;
    int n_quantiles; /* 0, or those of the target, each with the share of the truth below it */
    double quantile[RELN_METRIC_QUANTILES], below[RELN_METRIC_QUANTILES];
} RelnMetrics;

/* Of all targets together. Of several only the loss is a number, the weighed sum of theirs. */
RELN_API RelnStatus reln_evaluate(RelnModel *model, const char *data_path, int threads,
                                  RelnMetrics *out);
/* Of each target, in the order of the SPEC: reln_model_targets() places. */
RELN_API RelnStatus reln_evaluate_targets(RelnModel *model, const char *data_path, int threads,
                                          RelnMetrics *out);

/* ---- judging classifiers ----------------------------------------------------------------------------------------- */

enum { RELN_SCORE_BINS = 10 };

/* A score and its error: the deviation over bootstrap draws, whose unit is the sample. NAN where a class has no samples. */
typedef struct RelnScore {
    double value, error;
} RelnScore;

/* Of a class against all others: precision = hits / taken for it, recall = hits / samples of it, f1 their harmonic mean; auc
 * = the area under the curve of true against false positives, ties counted half; average_precision = sum over thresholds
 * of (R_k - R_k-1) P_k. 0/0 is 0. */
typedef struct RelnClassScores {
    ptrdiff_t n_samples;
    RelnScore precision, recall, f1, auc, average_precision;
} RelnClassScores;

/* Of the samples in a bin: how sure the model was, and how often that came true. */
typedef struct RelnCalibrationBin {
    double weight, confidence, frequency;
} RelnCalibrationBin;

typedef struct RelnScores {
    RelnCtx *ctx;
    ptrdiff_t n_samples;
    int n_classes;
    int draws; /* of the bootstrap: 200, fewer of very many samples */
    uint64_t seed;
    RelnScore accuracy;
    RelnScore f1;                     /* mean over classes */
    RelnScore auc, average_precision; /* of two classes: of class 1; of more: mean over classes */
    /* Samples in ten bins of equal count, by the probability of class 1 (two classes) or of the class that is taken; the
     * mean over samples of |frequency - confidence| of their bin. */
    RelnScore calibration_error;
    RelnCalibrationBin bins[RELN_SCORE_BINS];
    RelnClassScores *classes; /* (n_classes) */
    ptrdiff_t *
        confusion; /* (n_classes, n_classes): of the class of the row, taken for that of the column */
} RelnScores;

/* From probabilities (n, classes) and labels (n). Clear them. */
RELN_API RelnStatus reln_scores(RelnCtx *ctx, ptrdiff_t n, int classes, const double *probabilities,
                                const int *labels, uint64_t seed, RelnScores *out);
/* The same with weights (n), 0 or above, as scikit-learn's sample_weight; NULL: all are 1. Samples of weight 0 are left out. */
RELN_API RelnStatus reln_scores_weighted(RelnCtx *ctx, ptrdiff_t n, int classes,
                                         const double *probabilities, const int *labels,
                                         const double *weights, uint64_t seed, RelnScores *out);
/* Of a model whose target is a class, on a file of arrays; of several such targets, of the first. Clear them. */
RELN_API RelnStatus reln_evaluate_classes(RelnModel *model, const char *data_path, int threads,
                                          uint64_t seed, RelnScores *out);
RELN_API void reln_scores_clear(RelnScores *scores); /* NULL is fine */

/* ---- checking its promise ---------------------------------------------------------------------------------------- */

/* f(g x) against g f(x): the relative difference, for random g of the model's own symmetry and growing condition number,
 * for every layer. In double precision rounding explains eps (64 L + 2 cond^3) of it after L layers; more is a broken
 * promise. The same in the model's own precision is for knowing what to expect of it. */
enum { RELN_CHECK_CONDS = 4, RELN_CHECK_MAX_LAYERS = 128 };
#define RELN_CHECK_PARTS 1e-3

typedef struct RelnCheckLayer {
    char name[64];
    char rep[64]; /* how it transforms */
    struct {
        double median, worst; /* in double precision */
        double allowed;
        double own_median, own_worst; /* in the precision of the model */
    } at[RELN_CHECK_CONDS];
} RelnCheckLayer;

typedef struct RelnCheck {
    bool promises; /* false: a baseline without a symmetry; errors are shown, nothing is judged */
    bool kept;
    double conds[RELN_CHECK_CONDS]; /* compact groups: only the first */
    int n_conds, n_layers, draws;
    /* The smallest condition number at which the output in the model's own precision moves by more than RELN_CHECK_PARTS of
     * its size, in one draw of twenty or more, where in double it moves by less than a tenth of that; and by how much. 0:
     * there is none, and predictions are as equivariant as their users will notice. */
    double parts_at, parts_by;
    RelnCheckLayer layers[RELN_CHECK_MAX_LAYERS];
} RelnCheck;

typedef struct RelnCheckOptions {
    const char *data_path; /* NULL: random inputs */
    int draws;             /* group elements for each condition number; 0: 50 */
    int threads;
    uint64_t seed;
} RelnCheckOptions;

/* A line about parts_at, "" where there is none; `text` is returned. 256 bytes are enough. */
RELN_API const char *reln_check_note(const RelnCheck *check, char *text, size_t size);
/* options NULL: all defaults. */
RELN_API RelnStatus reln_check(RelnModel *model, const RelnCheckOptions *options, RelnCheck *out);

/* ---- proving it -------------------------------------------------------------------------------------------------- */

/* The graph of a model is built again and proved equivariant in exact arithmetic, for all inputs and all weights: reps are
 * homomorphisms, constants are the rounding of exact intertwiners, lifts follow the symmetry, and every node passes the
 * rule of its op. docs/soundness.md says what that means. */
typedef enum RelnProved {
    RELN_PROVED,
    RELN_PROVED_BUT, /* for constants near which no exact intertwiner is known: n_inexact, residual */
    RELN_NOT_PROVABLE, /* generators or reps are floats, and floats have no exact relations: reason */
    RELN_NOT_PROMISED, /* an mlp */
    RELN_REFUTED       /* a claim is false: reason */
} RelnProved;

/* One thing that the proof consists of. */
typedef struct RelnCertificateLine {
    const char *kind; /* "lift", "rep", "constant", "node" */
    char name[64];
    char rule[64];
    char rep[64]; /* how it transforms, or "" */
    bool proved;
    double residual; /* of a constant that is not exact */
    char text[192];  /* why it is not proved, or "" */
} RelnCertificateLine;

typedef struct RelnCertificate {
    RelnCtx *ctx;
    RelnProved verdict;
    char reason[256]; /* "" when proved */
    int n_inexact;
    double residual; /* the largest of inexact constants */
    int n_lines;
    RelnCertificateLine *lines;
} RelnCertificate;

/* Clear it. */
RELN_API RelnStatus reln_certify(RelnModel *model, RelnCertificate *out);
RELN_API void reln_certificate_clear(RelnCertificate *certificate);
/* "proved", "proved but for 2 constants, residual 3e-13", "not provable: ...". */
RELN_API void reln_certificate_text(const RelnCertificate *certificate, size_t size, char *text);

#ifdef __cplusplus
}
#endif

#endif
