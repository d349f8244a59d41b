/* data.h -- arrays against a SPEC: checked when opened, lifted into features, handed to plans batch by batch.
 *
 *     RelnShapes shapes;
 *     reln_archive_open(ctx, "data.npz", &archive);                // or reln_archive_from_arrays()
 *     reln_data_shapes(ctx, &spec, archive, &shapes);              // "X: shape (100, 3, 2); wanted (N, 3, 3) ..."
 *     reln_model_create(ctx, &spec, &shapes, &model);
 *     reln_data_open(model, archive, NULL, &data);                 // every number is looked at once
 *     reln_data_normalise(data, n_train, rows);                    // constants of the model
 *     reln_data_bind(data, plan, 100, rows, epoch);                // a batch, into buffers that are there already
 *
 * What does not fit is one line that names array, row and what was wanted: "C: row 17 is not positive definite (smallest
 * eigenvalue -0.3); a covariance was wanted". Data that fit the budget are lifted once and kept in the model's dtype;
 * larger ones are read and lifted batch by batch, and so are data with random frames.
 */
#ifndef KIT_DATA_H
#define KIT_DATA_H

#include "kit/model.h"
#include "reln/io.h"
#include "reln/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Extents of every input and the target; the numbers are not looked at. The target may be missing (predictions): its
 * channels are then 0. */
RelnStatus reln_data_shapes(RelnCtx *ctx, const RelnSpec *spec, RelnArchive *archive,
                            RelnShapes *shapes);

typedef struct RelnDataOptions {
    bool without_target; /* it is not looked for: predictions */
    size_t budget;       /* bytes that lifted data may take; 0: 1 GiB */
    double augment;      /* condition number of random frames; 0: none */
    bool
        windows; /* arrays are windows (N, P, ...) even where the SPEC cuts recordings, of any times */
    bool jitter; /* in each epoch windows begin later by the SPEC's jitter, and points are drawn */
    uint64_t seed; /* of the frames, and of the split */
    /* Find the constants of the model (reln_data_normalise()) in the same pass, on the rows that reln_data_split() with
     * this seed leaves for training when it takes this share for validation. */
    bool normalise;
    double validation;
    RelnFold fold; /* or all but this fold */
} RelnDataOptions;

typedef struct RelnData RelnData;

/* Model and archive must outlive it. options NULL: all defaults. Caller destroys. */
RelnStatus reln_data_open(RelnModel *model, RelnArchive *archive, const RelnDataOptions *options,
                          RelnData **out);
void reln_data_destroy(RelnData *data); /* NULL is fine */
ptrdiff_t reln_data_count(const RelnData *data);
/* Memory that the lifted samples take, those of a batch included. */
size_t reln_data_bytes(const RelnData *data);
bool reln_data_resident(const RelnData *data); /* lifted once and kept */
bool reln_data_has_target(const RelnData *data);
/* Places for points of a sample, as its arrays have them; 0: there are no sets. Where a mask or a count says which places are
 * points, a file may have other places than the one that the model was made for. */
int reln_data_places(const RelnData *data);
/* The most points of a set that are there; 0: there are no sets. */
int reln_data_largest(const RelnData *data);
/* Numbers of one sample of an input. */
ptrdiff_t reln_data_numbers(const RelnData *data, int input);

/* The rows of validation and of training: the first round(share N) of the shuffle that belongs to the seed, at least one
 * of each when share > 0, and the others; both in rising order. Arrays of N, *n_validation of which are validation, first. */
RelnStatus reln_data_split(RelnCtx *ctx, ptrdiff_t count, double share, uint64_t seed,
                           ptrdiff_t *rows, ptrdiff_t *n_validation);

/* The same for data: one fold of the samples, or a share where `fold` names none. Windows of recordings are divided by time, and
 * those that reach into both parts are left out. Arrays of reln_data_count(), *n_validation and then *n_train of which are
 * rows. */
RelnStatus reln_data_divide(RelnData *data, const RelnFold *fold, double share, uint64_t seed,
                            ptrdiff_t *rows, ptrdiff_t *n_validation, ptrdiff_t *n_train);
/* How many folds an array of fold numbers has: one more than its largest number. Every fold must have a sample. */
RelnStatus reln_data_folds(RelnCtx *ctx, RelnArchive *archive, const char *array, int *count);

/* Sizes of inputs and target over these rows, into the model's constants. */
RelnStatus reln_data_normalise(RelnData *data, ptrdiff_t n, const ptrdiff_t *rows);

/* Compare the sizes of inputs with those of training, on some samples from all over the file: see reln_model_note(). */
RelnStatus reln_data_compare(RelnData *data);

/* Room for batches of n samples, so that binding allocates nothing (with data that are resident). */
RelnStatus reln_data_reserve(RelnData *data, ptrdiff_t n);

/* Fill the buffers with these samples and bind them to the inputs of a plan made from the model. With random frames,
 * `epoch` chooses them, together with seed and row. Buffers are good until the next call. */
RelnStatus reln_data_bind(RelnData *data, RelnPlan *plan, ptrdiff_t n, const ptrdiff_t *rows,
                          uint64_t epoch);

/* Read data that are not resident ahead, batches of up to n samples: a thread reads the batch that is announced while the
 * caller computes. Until it is bound, other calls that read the same data wait, or end it. */
RelnStatus reln_data_read_ahead(RelnData *data, ptrdiff_t n);
/* Announce the batch that will be bound next, to the same plan. Its errors are those of reln_data_bind(). */
RelnStatus reln_data_ahead(RelnData *data, RelnPlan *plan, ptrdiff_t n, const ptrdiff_t *rows,
                           uint64_t epoch);
void reln_data_settle(RelnData *data); /* give up what is being read ahead */
/* Seconds so far in which batches of data that are not resident were waited for. */
double reln_data_waited(const RelnData *data); /* NULL is fine */
/* Bytes of the samples that batches of data that are not resident have been filled with so far, as files have them; not while
 * a batch is being read ahead. */
uint64_t reln_data_read_bytes(const RelnData *data); /* NULL is fine */

/* The same with raw numbers of your own instead of the file's: values[i] has the n samples of input i one after another,
 * mask (n, points) or NULL. No target is bound. */
RelnStatus reln_data_bind_raw(RelnData *data, RelnPlan *plan, ptrdiff_t n,
                              const double *const *values, const double *mask);

/* Raw numbers: of an input, of the mask (1 or 0 for each point; all ones without one), of the target in its own units. */
RelnStatus reln_data_raw(RelnData *data, int input, ptrdiff_t row, double *values);
RelnStatus reln_data_mask(RelnData *data, ptrdiff_t row, double *values);
RelnStatus reln_data_target(RelnData *data, ptrdiff_t n, const ptrdiff_t *rows, double *values);

#ifdef __cplusplus
}
#endif

#endif
