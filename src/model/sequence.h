/* sequence.h -- recordings: windows of steps in time as samples. */
#ifndef MODEL_SEQUENCE_H
#define MODEL_SEQUENCE_H

#include "io/keys.h"
#include "kit/spec.h"
#include "reln/io.h"

/* Check the keys of sequences against each other, and complete the inputs: steps are points, and times are one input
 * more. */
RelnStatus reln_sequence_complete(const Reader *r, const RelnDocNode *root, RelnSpec *spec);

/* Windows that are cut from recordings. */
typedef struct RelnSequence {
    RelnCtx *ctx;
    RelnArchive *windows; /* rows are windows */
    ptrdiff_t count;
    int length, jitter;
    ptrdiff_t *first; /* step at which each window begins */
    ptrdiff_t *slack; /* steps of its recording behind each window */
} RelnSequence;

/* Check every step of the recordings of an archive and cut them into windows; *out is NULL where the SPEC has no length of
 * windows. For a symmetry of n x n matrices with dim Lie generators. The archive must outlive it. Caller closes. */
RelnStatus reln_sequence_open(RelnCtx *ctx, const RelnSpec *spec, int n, int dim,
                              RelnArchive *archive, RelnSequence **out);
void reln_sequence_close(RelnSequence *sequence); /* NULL is fine */

/* Check that the times of a sample that was cut already rise. */
RelnStatus reln_sequence_check_times(RelnCtx *ctx, const char *name, ptrdiff_t row, int points,
                                     const double *times);

/* Let a window begin later by a number of steps that seed, epoch and row decide. */
void reln_sequence_shake(RelnSequence *sequence, ptrdiff_t row, uint64_t seed, uint64_t epoch);

/* Of each recording the last windows, a share of them, are for validation, and those for training that end before: rows has
 * *n_validation of the former, then *n_train of the latter. */
RelnStatus reln_sequence_split(const RelnSequence *sequence, double share, ptrdiff_t *rows,
                               ptrdiff_t *n_validation, ptrdiff_t *n_train);

#endif
