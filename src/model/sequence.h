/* sequence.h -- recordings: windows of steps in time as samples. */
#ifndef MODEL_SEQUENCE_H
#define MODEL_SEQUENCE_H

#include "io/keys.h"
#include "kit/spec.h"
#include "reln/io.h"

/* Checks the keys of sequences against each other, and completes the inputs: steps are points, and times are
 * one more input. */
RelnStatus reln_sequence_complete(const Reader *r, const RelnDocNode *root, RelnSpec *spec);

/* A RelnSequence holds windows that are cut from recordings. */
typedef struct RelnSequence {
    RelnCtx *ctx;
    RelnArchive *windows; /* rows are windows */
    ptrdiff_t count;
    int length, jitter;
    ptrdiff_t *first; /* step at which each window begins */
    ptrdiff_t *slack; /* steps of its recording after each window */
} RelnSequence;

/* Checks every step of the recordings of an archive and cuts them into windows; *out is NULL if the SPEC has
 * no length of windows. The symmetry has n x n matrices and dim Lie generators. The archive must outlive it.
 * Caller closes *out. */
RelnStatus reln_sequence_open(RelnCtx *ctx, const RelnSpec *spec, int n, int dim,
                              RelnArchive *archive, RelnSequence **out);
void reln_sequence_close(RelnSequence *sequence); /* NULL is fine */

/* Checks that the times of a sample that was cut in advance ascend. */
RelnStatus reln_sequence_check_times(RelnCtx *ctx, const char *name, ptrdiff_t row, int points,
                                     const double *times);

/* Moves the beginning of a window by a number of steps that depends on seed, epoch and row. */
void reln_sequence_shake(RelnSequence *sequence, ptrdiff_t row, uint64_t seed, uint64_t epoch);

/* Divides windows by time: the last share of the windows of each recording is for validation, and the windows
 * that end before them for training. rows has *n_validation of the former, then *n_train of the latter. */
RelnStatus reln_sequence_split(const RelnSequence *sequence, double share, ptrdiff_t *rows,
                               ptrdiff_t *n_validation, ptrdiff_t *n_train);

#endif
