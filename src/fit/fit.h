/* fit.h -- declarations that the files of this module share. */
#ifndef FIT_FIT_H
#define FIT_FIT_H

#include "base/base.h"
#include "kit/comm.h"
#include "kit/data.h"
#include "kit/files.h"
#include "kit/report.h"
#include "reln/fit.h"
#include "reln/io.h"

/* Computes a hash of the arrays' names, shapes and numbers; ranks share the work. Version 1 reads only some rows of large
 * arrays, and version 2 cannot be shared: both are kept for runs that began with them. */
enum { RELN_FINGERPRINT = 3 };
RelnStatus reln_archive_fingerprint(RelnArchive *archive, const RelnComm *comm, RelnCtx *ctx,
                                    int version, uint64_t *out);
uint64_t reln_archive_layout(const RelnArchive *archive); /* hash of names and shapes alone */

/* ---- errors of predictions ----------------------------------------------------------------------------------------- */

/* A RelnTargetTally holds the sums for one target. */
typedef struct RelnTargetTally {
    RelnCtx *ctx;
    const RelnSpecTarget *target;
    RelnLoss loss_of;
    RelnTargetLayout layout;
    int n;                  /* size of the symmetry's matrices */
    bool graph_loss;        /* the loss of a sample is given, not computed here */
    ptrdiff_t n_samples;    /* with a weight above 0 */
    double right, counted;  /* weights of classes that were right, and of all */
    double mean, deviation; /* of the training data */
    double
        mean_of_truth; /* subtracted from the true values, so that no digits of their variance are lost */
    double loss, weight; /* sums */
    double square, absolute, numbers;
    double sum, sum_square; /* sums over the true values minus mean_of_truth */
    double nll, nees,
        within[RELN_SCORE_BINS];       /* for normal densities; `within`: number of values in each
                                                * tenth */
    double below[RELN_SPEC_QUANTILES]; /* for quantiles: how often the true value is below */
    double distance;                   /* for covariances: sum of squared distances */
    double things;                     /* number of densities or covariances */
} RelnTargetTally;

void reln_target_tally_init(RelnTargetTally *tally, const RelnModel *model,
                            const RelnLayout *layout, int target);
/* Adds one sample or point with its weight; weight 0: it is left out. y is a prediction of reln_model_predictions(), `truth` the
 * target as in files, `loss` its loss if the graph computes it. */
void reln_target_tally_add(RelnTargetTally *tally, const double *y, const double *truth,
                           double loss, double weight);
/* Adds all places of one sample: y (outputs), truth (truths), losses and weights (losses). */
void reln_target_tally_places(RelnTargetTally *tally, const double *y, const double *truth,
                              const double *losses, const double *weights);
RelnMetrics reln_target_metrics(const RelnTargetTally *tally);

typedef struct RelnTally {
    int n_targets;
    RelnLayout layout;
    ptrdiff_t n_samples;
    ptrdiff_t lost, first_lost; /* samples whose outputs are not finite, and the first of them */
    RelnTargetTally target[RELN_SPEC_TARGETS];
} RelnTally;

void reln_tally_init(RelnTally *tally, const RelnModel *model, const RelnLayout *layout);
/* Adds n predictions y (n, outputs), in the units of the data, or logits; truth (n, truths), in the units of the data, or labels;
 * losses (n, losses), if the graph computes them; weights (n, losses). */
void reln_tally_add(RelnTally *tally, ptrdiff_t n, const double *y, const double *truth,
                    const double *losses, const double *weights);
/* Returns the loss of all targets together and, if there is only one target, all its metrics. */
RelnMetrics reln_tally_metrics(const RelnTally *tally);
RelnMetrics reln_no_metrics(ptrdiff_t n_samples, double loss); /* all other metrics are NAN */

/* Returns the share of a chi-square distribution with k degrees of freedom below z. */
double reln_chi_square_below(double k, double z);

/* Converts n logits to probabilities, in place. */
void reln_chances(ptrdiff_t n, double *y);

/* A RelnJudged lists samples, or points of sets, with true class and predicted probabilities. Scores are computed from it. */
typedef struct RelnJudged {
    RelnCtx *ctx;
    ptrdiff_t n;
    int classes;
    double *p; /* (n, classes) */
    int *label;
    double *weight;  /* above 0 */
    ptrdiff_t *unit; /* index of the sample among samples with a weight; bootstraps draw samples */
    ptrdiff_t units; /* number of samples with a weight */
    ptrdiff_t last;  /* index of the last added sample among all samples */
} RelnJudged;
/* Allocates room for n samples with all places of a target. */
RelnStatus reln_judged_init(RelnCtx *ctx, ptrdiff_t n, const RelnTargetLayout *target,
                            RelnJudged *out);
/* Adds a sample or point, unless its weight is 0. The caller adds samples in ascending order. */
void reln_judged_add(RelnJudged *judged, ptrdiff_t sample, const double *p, double label,
                     double weight);
void reln_judged_clear(RelnJudged *judged); /* all zero is fine */
/* Computes reln_scores() of the list. */
RelnStatus reln_scores_of(const RelnJudged *judged, uint64_t seed, RelnScores *out);
/* Computes the ROC curve of a class, true (y) against false positives (x), from (1, 1) to (0, 0): at most `room` points. */
RelnStatus reln_roc(const RelnJudged *judged, int class, int room, double *x, double *y,
                    int *n_points);

/* ---- a model on data, batch by batch ------------------------------------------------------------------------------- */

/* Number of samples in a batch, a multiple of the usual size of shards. */
enum { RELN_READER_BATCH = 240 };

typedef struct RelnReader {
    RelnCtx *ctx;
    RelnModel *model;
    RelnPool *pool;
    RelnArchive *archive;
    RelnData *data;
    bool borrowed; /* pool and data belong to the caller */
    RelnModelGraph net;
    const RelnComm *comm; /* ranks that use it together; NULL: none */
    RelnPlan *plan;
    bool (*asked)(void *self); /* whether to stop, with RELN_ERR_STOPPED; NULL: never */
    void *self;
    RelnLayout layout;
    bool concatenated
        [3]; /* by RelnItems: the file has those of all samples one after another, divided by offsets */
    ptrdiff_t all[3]; /* then their number in all samples */
    double *y, *target;
    double *losses;   /* of a batch, (samples, layout.losses), where the graph computes them */
    double *weights;  /* weights of these losses, (samples, layout.losses) */
    ptrdiff_t *items; /* (samples, layout.losses): reln_data_items() */
    ptrdiff_t *rows;
} RelnReader;

/* Opens a reader; the caller closes it, also after a failure. */
RelnStatus reln_reader_open(RelnModel *model, const char *data_path, int threads,
                            const RelnDataOptions *options, RelnReader *reader);
/* Finishes opening a reader, after model, pool and data have been set. */
RelnStatus reln_reader_plan(RelnReader *reader);
void reln_reader_close(RelnReader *reader);
/* Fails if a target is of edges and these samples have none; rows NULL: the first n. */
RelnStatus reln_reader_check_edges(const RelnReader *reader, ptrdiff_t n, const ptrdiff_t *rows);
/* rows NULL: the first n rows. */
RelnStatus reln_reader_tally(RelnReader *reader, ptrdiff_t n, const ptrdiff_t *rows,
                             RelnTally *tally);
/* Probabilities and labels of a target of classes. Clear them even when this fails. */
RelnStatus reln_reader_classes(RelnReader *reader, int target, ptrdiff_t n, const ptrdiff_t *rows,
                               RelnJudged *out);
/* Predictions into y (n, outputs), as reln_tally_add() takes them. */
RelnStatus reln_reader_predict(RelnReader *reader, ptrdiff_t n, const ptrdiff_t *rows, double *y);

/* Predictions (samples, outputs) as arrays, one or two for each target: at most `room`. Names are the model's. Logits in y become
 * probabilities. */
RelnStatus reln_reader_arrays(const RelnReader *reader, double *y, int room, RelnArray *out,
                              int *count);

/* Runs reln_check() on the given rows of an archive; archive NULL: as the options say. */
RelnStatus reln_check_rows(RelnModel *model, const RelnCheckOptions *options, RelnArchive *archive,
                           ptrdiff_t n, const ptrdiff_t *rows, RelnCheck *out);

/* ---- files of a run ------------------------------------------------------------------------------------------------ */

/* The version of model files and checkpoints that is written; older versions are read. */
#define RELN_FORMAT "1"

/* Checks that the scales of inputs and targets are numbers up to `most`; they overflow if squares of the
 * training data do. RELN_ERR_NUMERIC with the name of the array. */
RelnStatus reln_check_constants(const RelnModel *model, double most);
/* Checks that a file has this format and the kind "model" or "checkpoint". */
RelnStatus reln_format_check(RelnCtx *ctx, const RelnTensors *file, const char *path,
                             const char *kind);
/* Saves a model with the best weights that a trainer knows, found after `step` steps; the model's weights do
 * not change. best NULL: saves the model's own weights. */
RelnStatus reln_model_save_best(const RelnModel *model, RelnTrainer *best, int64_t step,
                                const char *path);
/* Creates a model with the weights of another, in another precision. Caller destroys *out. */
RelnStatus reln_model_convert(RelnModel *model, RelnDtype dtype, RelnModel **out);
/* Creates a model without its weights from the description in a file's metadata; kind is "model" or
 * "checkpoint". Caller destroys *out. */
RelnStatus reln_model_from_meta(RelnCtx *ctx, const RelnTensors *file, const char *path,
                                const char *kind, RelnDtype dtype, RelnModel **out);
/* Returns the description as one line of JSON, in the doc's memory. */
const char *reln_model_text(const RelnModel *model, RelnDoc *doc);

/* A RelnLive is the state of a run's files during the run: which evaluations they show, and when they were
 * written. */
typedef struct RelnLive {
    int n_rows;          /* rows of the record that are in metrics.csv */
    uint64_t step;       /* step of the best evaluation that is in model.safetensors; 0: none */
    double saved, shown; /* times at which the model and the page were last written; 0: never */
    double save_cost, show_cost; /* seconds that each write took */
    int shown_rows;              /* rows of the record that are on the page */
    bool pending;                /* the model or the page is older than the record */
    RelnStatus status;           /* status of the last write */
} RelnLive;

struct RelnFit {
    RelnCtx *ctx;
    RelnArena arena; /* folder, paths, rows, buffers */
    RelnFitOptions options;
    RelnCommMeter meter;                               /* of the communicator in the options */
    const RelnComm *comm;                              /* NULL: one process */
    char *folder, *data_path, *validation_path, *note; /* validation_path NULL: no separate file */
    RelnSpec spec;
    RelnFolderLock *lock;
    RelnPool *pool;
    RelnArchive *archive, *validation_archive; /* validation_archive NULL: no separate file */
    uint64_t fingerprint,
        own_data; /* hash of the data, computed by all ranks; of some rows, by this rank */
    RelnModel *model;
    RelnData *data, *plain; /* training data; and the same without random frames, for evaluation */
    RelnData *other;        /* data of a separate validation file */
    RelnParting parting;    /* division of the training data */
    ptrdiff_t *rows;        /* rows of validation */
    ptrdiff_t n_validation, n_train;
    ptrdiff_t *batch;  /* rows of a batch */
    ptrdiff_t *coming; /* rows of a window of blocks; NULL: rows are shuffled one by one */
    uint64_t
        expected; /* windows whose rows have been announced; windows are counted over all epochs */
    RelnModelGraph net;
    RelnPlan *plan;
    RelnReader reader; /* for validation */
    bool has_reader;
    RelnTrainer *trainer;
    int n_metrics; /* number of metrics of an evaluation, without its score */
    const char *metric_names[RELN_TRAIN_METRICS];
    uint64_t n_steps, steps_per_epoch;
    size_t planned_bytes, peak_bytes;
    char warning[256]; /* about precision; "" when there is none */
    RelnTrainEnd end;
    RelnLive live;
    double began; /* time at which the run began or was resumed */
    double waited_before,
        exchanged_before; /* seconds waited and in exchanges before the run was begun */
    RelnFitRank *ranks;   /* statistics of all processes, when it has ended */
    size_t *rank_begin;
    bool has_ranks;
};

/* record.c: name the metrics of an evaluation, copy them from those of all targets, and back. */
RelnStatus reln_fit_name_metrics(RelnFit *fit);
void reln_fit_put_metrics(const RelnFit *fit, const RelnTally *tally, RelnEvaluation *out);
RelnMetrics reln_fit_get_metrics(const RelnFit *fit, const RelnEvaluation *evaluation, int target);

bool reln_fit_holds_run(const char *folder); /* whether it has a checkpoint */

/* record.c: write metrics.csv, with a line for each evaluation: all evaluations so far, or only the new
 * ones. */
RelnStatus reln_fit_record_begin(RelnFit *fit);
RelnStatus reln_fit_record_grow(RelnFit *fit);

/* live.c: write the files of a run that begins or is resumed; and, after a step, the files whose time has
 * come, or all that are older than the run. */
RelnStatus reln_fit_live_begin(RelnFit *fit);
RelnStatus reln_fit_live(RelnFit *fit, bool now);

char *reln_fit_path(RelnFit *fit,
                    const char *name); /* a path in the folder; NULL when memory is out */
/* Writes model.safetensors, results.json and report.html of a run that has ended. */
RelnStatus reln_fit_write_outputs(RelnFit *fit);
/* Writes results.json and report.html of a run that is not finished. */
RelnStatus reln_fit_write_so_far(RelnFit *fit);
size_t reln_peak_bytes(void); /* peak memory of this process so far */

/* Draws the network on the page of a run. */
RelnStatus reln_fit_draw(const RelnFit *fit, RelnPage *page);

/* from.c: sets the starting weights from options.from, and the scales of inputs with which they were
 * trained. */
RelnStatus reln_fit_take_from(RelnFit *fit);

#endif
