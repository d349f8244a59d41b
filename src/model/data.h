/* data.h -- declarations that the files of data share: arrays found for a SPEC, rows of them raw and lifted. */
#ifndef MODEL_DATA_H
#define MODEL_DATA_H

#include <stdatomic.h>

#include "base/aside.h"
#include "base/base.h"
#include "kit/data.h"
#include "model/model.h"
#include "model/sequence.h"

/* Numbers of the arrays in their archive; -1: not there. */
typedef struct RelnDataFound {
    int input[RELN_SPEC_INPUTS];
    int mask, sizes, target[RELN_SPEC_TARGETS]; /* sizes: the number of points of each sample */
    ptrdiff_t count;                            /* samples */
} RelnDataFound;

/* shapes.c: for a symmetry of n x n matrices with dim Lie generators. Fails when an input is missing or does not fit; a
 * missing target is for the caller. */
RelnStatus reln_data_find(RelnCtx *ctx, const RelnSpec *spec, int n, int dim,
                          const RelnArchive *archive, RelnDataFound *found, RelnShapes *shapes);

/* The same of an archive whose recordings are to be cut into windows. */
RelnStatus reln_data_look(RelnCtx *ctx, const RelnSpec *spec, int n, int dim, RelnArchive *archive,
                          RelnDataFound *found, RelnShapes *shapes);

/* missing.c: RELN_ERR_FORMAT, with the arrays that are there; role is "" or ", the target". */
RelnStatus reln_data_missing(RelnCtx *ctx, const RelnArchive *archive, const char *name,
                             const char *role);

/* Raw numbers of some rows, as files have them. */
typedef struct Raw {
    double *input[RELN_SPEC_INPUTS];
    double *mask, *target[RELN_SPEC_TARGETS];
} Raw;

/* Lifted numbers, in the dtype of the model; of sets only the points that are there. */
typedef struct Lifted {
    char *slot[SLOT_COUNT];
    char *target[RELN_SPEC_TARGETS]; /* (K, C) of an item; i32 for classes */
    int32_t *points;
} Lifted;

/* Some rows of an epoch; this rank reads [first, end) of them. */
typedef struct Batch {
    ptrdiff_t n, first, end;
    uint64_t epoch;
} Batch;

/* The batch that the thread is reading, or has read. */
typedef struct Ahead {
    RelnAside *thread; /* NULL: nothing is read ahead */
    Lifted batch;
    ptrdiff_t room;  /* samples */
    ptrdiff_t *rows; /* of the batch */
    Batch wanted;
    const RelnPlan *plan; /* that it is for; NULL: there is none */
    atomic_bool given_up; /* nobody wants it any more */
    RelnStatus status;
    char message[512];
} Ahead;

struct RelnData {
    RelnCtx *ctx;
    RelnModel *m;
    RelnArena arena;
    RelnArchive *archive;
    RelnSequence *sequence; /* windows of recordings, whose archive is the one above; NULL: none */
    RelnDataFound found;
    RelnDataOptions options;
    size_t item; /* bytes of a number */
    ptrdiff_t piece;
    Raw raw; /* `piece` rows */
    LiftWork work;
    double *lifted[SLOT_COUNT]; /* one sample */
    int32_t *points;            /* of every row; NULL without a mask */
    ptrdiff_t *first;           /* of every row: points before it; NULL without a mask */
    bool resident;
    Lifted all, batch;
    ptrdiff_t room; /* samples of the batch */
    Ahead ahead;
    double waited;                     /* seconds that batches were waited for */
    size_t row_bytes;                  /* of one sample in the file */
    uint64_t read_bytes;               /* of the samples that batches were filled with */
    double *metric[RELN_SPEC_TARGETS]; /* the identity, for errors that have no invariant length */
    double *seen;                      /* one sample of a target as the network sees it */
};

/* data.c: do windows begin somewhere else in every epoch? Are other points of a set used? */
bool reln_data_shakes(const RelnData *d);
bool reln_data_draws(const RelnData *d);

/* ---- rows.c --------------------------------------------------------------------------------------------------------- */

/* Numbers of a target as the file has it: a class is one number. */
ptrdiff_t reln_data_target_count(const RelnData *d, int target);
/* The number of points of a sample that are not masked out. */
int reln_data_points(const RelnData *d, ptrdiff_t row);

/* Allocate memory for rows with so many places for points, and for one lifted sample. */
RelnStatus reln_data_make_rows(RelnData *d, int places);
/* Read rows of one array; an array that is not in the archive is skipped. */
RelnStatus reln_data_array(const RelnData *d, int array, ptrdiff_t first, ptrdiff_t n, double *out);
/* Read the masks of rows, (n, points): from the mask, from the counts, or ones. */
RelnStatus reln_data_read_mask(const RelnData *d, ptrdiff_t first, ptrdiff_t n, double *mask);
/* Set the mask of a row of d->raw, the first one, to points drawn from all of its sample. */
RelnStatus reln_data_draw_points(RelnData *d, ptrdiff_t row, RelnRng *rng);
/* Read rows first .. first+n-1, at most a piece, into d->raw. */
RelnStatus reln_data_read(RelnData *d, ptrdiff_t first, ptrdiff_t n);
/* Call visit() for every row, with its number and its place in d->raw. */
typedef RelnStatus Visit(RelnData *d, ptrdiff_t row, ptrdiff_t i, void *self);
RelnStatus reln_data_walk(RelnData *d, Visit *visit, void *self);
/* Check that every mask consists of 0 and 1 and has a point; counts into d->points and d->first. */
RelnStatus reln_data_count_points(RelnData *d);
/* Check that row i of d->raw is as the SPEC wants it. */
RelnStatus reln_data_check(const RelnData *d, ptrdiff_t row, ptrdiff_t i);
/* Lift row i of d->raw into d->lifted. */
RelnStatus reln_data_lift(RelnData *d, ptrdiff_t row, ptrdiff_t i);

/* ---- kept.c --------------------------------------------------------------------------------------------------------- */

/* Numbers that a slot takes for so many samples, all of whose points are there. */
ptrdiff_t reln_slot_room(const RelnData *d, int slot, ptrdiff_t samples);
/* Bytes of lifted samples with `rows` points in all, where points are a row domain. */
double reln_lifted_bytes(const RelnData *d, ptrdiff_t samples, ptrdiff_t rows);
RelnStatus reln_lifted_allocate(const RelnData *d, ptrdiff_t samples, ptrdiff_t rows, Lifted *out);
void reln_lifted_free(const RelnData *d, Lifted *l);
/* Copy d->lifted to sample number `sample`, with `rows` points before it. */
void reln_lifted_put(const RelnData *d, const Lifted *to, ptrdiff_t sample, ptrdiff_t rows,
                     int points);
/* Copy the targets of row i of d->raw to sample number `sample`; the row has been lifted. */
RelnStatus reln_lifted_put_targets(const RelnData *d, const Lifted *to, ptrdiff_t sample,
                                   ptrdiff_t i);
/* Copy a kept sample to another place. */
void reln_lifted_copy(const RelnData *d, ptrdiff_t row, const Lifted *to, ptrdiff_t sample,
                      ptrdiff_t rows);

/* ---- batches.c, ahead.c --------------------------------------------------------------------------------------------- */

RelnStatus reln_data_check_row(const RelnData *d, ptrdiff_t row);
/* Read the rows of this rank's samples; `to` has the points of all. given_up, unless it is NULL, ends it: RELN_ERR_STOPPED. */
RelnStatus reln_data_fill(RelnData *d, const Lifted *to, const Batch *batch, const ptrdiff_t *rows,
                          const atomic_bool *given_up);
/* Put the batch that was read ahead into d->batch, if it is this one, with the status of its reading; false: it is another
 * one, or none. */
bool reln_ahead_take(RelnData *d, const RelnPlan *plan, ptrdiff_t n, const ptrdiff_t *rows,
                     uint64_t epoch, RelnStatus *status);
void reln_ahead_clear(RelnData *d);

/* ---- normalise.c ----------------------------------------------------------------------------------------------------- */

/* Sums over the training rows, added up while the rows are read. */
typedef struct Sums {
    bool *counts; /* rows that do */
    double square[RELN_SPEC_INPUTS], numbers[RELN_SPEC_INPUTS];
    TargetSums target[RELN_SPEC_TARGETS];
    double points, samples;
} Sums;

/* Mark the rows that `options` leave for training. */
RelnStatus reln_sums_begin(RelnData *d, Sums *sums);
/* Add row i of d->raw, which is lifted in d->lifted. */
RelnStatus reln_sums_add(const RelnData *d, ptrdiff_t row, ptrdiff_t i, Sums *sums);
/* Compute the constants of the model from the sums. */
void reln_sums_finish(const RelnData *d, const Sums *sums);

#endif
