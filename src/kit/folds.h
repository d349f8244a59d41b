/* folds.h -- cross-validation: runs that each leave out one fold, evaluated together on the folds that they
 * have not seen. */
#ifndef KIT_FOLDS_H
#define KIT_FOLDS_H

#include "kit/spec.h"
#include "reln/fit.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RelnFolds {
    RelnCtx *ctx;
    RelnModel *model; /* model of the last fold: names and SPEC */
    int n_folds, n_targets;
    ptrdiff_t n_samples; /* number of samples in all folds */
    RelnMetrics *fold;   /* (n_folds, n_targets), each on the fold that the run has not seen */
    /* On all samples, each predicted by the run that has not seen it. The loss is the mean of the losses of
     * the folds. */
    RelnMetrics pooled[RELN_SPEC_TARGETS];
    RelnMetrics error
        [RELN_SPEC_TARGETS]; /* standard deviations over bootstrap draws of samples; the loss has none */
    RelnScores scores[RELN_SPEC_TARGETS]; /* of classes; n_samples 0: none */
    int draws;
    uint64_t seed;
    int n_arrays;
    RelnArray arrays[RELN_PREDICT_MOST]; /* the predictions */
} RelnFolds;

/* Pools n finished runs, whose SPECs differ in their fold alone. The caller clears the result, also after a
 * failure. */
RelnStatus reln_folds_pool(RelnCtx *ctx, int n, const char *const *folders, const char *data_path,
                           int threads, uint64_t seed, RelnFolds *out);
void reln_folds_clear(RelnFolds *folds);

/* Returns the number of folds of an array of a data file. */
RelnStatus reln_folds_count(RelnCtx *ctx, const char *data_path, const char *array, int *count);

#ifdef __cplusplus
}
#endif

#endif
