/* data.h -- arrays checked against a SPEC, lifted into features, and bound to plans batch by batch.
 *
 *     RelnShapes shapes;
 *     reln_archive_open(ctx, "data.npz", &archive);                // or reln_archive_from_arrays()
 *     reln_data_shapes(ctx, &spec, archive, &shapes);              // "X: shape (100, 3, 2); wanted (N, 3, 3) ..."
 *     reln_model_create(ctx, &spec, &shapes, &model);
 *     reln_data_open(model, archive, NULL, &data);                 // checks every number once
 *     reln_data_normalise(data, n_train, rows);                    // constants of the model
 *     reln_data_bind(data, plan, 100, rows, epoch);                // a batch, into existing buffers
 *
 * Invalid data give one line that names the array, the row and the wanted kind: "C: row 17 is not positive definite
 * (smallest eigenvalue -0.3); a covariance was wanted". Data that fit the budget are lifted once and kept in the
 * model's dtype; larger data, and data with random frames, are read and lifted batch by batch.
 */
#ifndef KIT_DATA_H
#define KIT_DATA_H

#include "kit/comm.h"
#include "kit/model.h"
#include "reln/io.h"
#include "reln/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the extents of every input and the target; the numbers are not read. The target may be missing
 * (predictions): its channels are then 0. */
RelnStatus reln_data_shapes(RelnCtx *ctx, const RelnSpec *spec, RelnArchive *archive,
                            RelnShapes *shapes);

typedef struct RelnDataOptions {
    bool without_target; /* the target is not needed: predictions */
    size_t budget;       /* limit on the bytes of lifted data; 0: 1 GiB */
    double augment;      /* condition number of random frames; 0: none */
    bool
        windows; /* arrays are (N, P, ...), at any times, even if the SPEC cuts recordings or has offsets, which are then
                   * numbers of points */
    bool jitter; /* in each epoch windows begin later by the SPEC's jitter, and points are drawn */
    uint64_t seed; /* seed of the frames, and of the split */
    /* Compute the constants of the model (reln_data_normalise()) in the same pass, on the rows that
     * reln_data_split() with this seed leaves for training if this share is for validation. */
    bool normalise;
    double validation;
    RelnFold fold; /* or on all rows except this fold */
    bool blocks;   /* divide large files by whole blocks of rows, as reln_parting_make() does */
    const RelnComm *
        comm; /* ranks that open the same data: each rank checks a part of the rows; NULL: one process */
    bool known; /* the numbers have been checked before: they are not checked again */
} RelnDataOptions;

typedef struct RelnData RelnData;

/* Opens data. Model and archive must outlive them. options NULL: all defaults. Caller destroys *out. */
RelnStatus reln_data_open(RelnModel *model, RelnArchive *archive, const RelnDataOptions *options,
                          RelnData **out);
void reln_data_destroy(RelnData *data); /* NULL is fine */
ptrdiff_t reln_data_count(const RelnData *data);
bool reln_data_resident(const RelnData *data); /* whether all samples are lifted and kept */
bool reln_data_has_target(const RelnData *data);
/* Returns the places for points of a sample in its arrays; 0: there are no sets. If a mask or a count says
 * which places are points, a file may have other places than the one that the model was made for. */
int reln_data_places(const RelnData *data);
/* Returns whether the file has the points, or the edges, of all samples one after another, divided by offsets. */
bool reln_data_concatenated(const RelnData *data, RelnItems items);
/* Reads the number of points or edges of a sample in a file with offsets, also of those that the SPEC does not use. */
RelnStatus reln_data_size(RelnData *data, RelnItems items, ptrdiff_t row, int *size);
/* Returns the sizes of the largest sets of the data; 0: there are no sets. */
RelnSizes reln_data_sizes(const RelnData *data);
RelnWeights reln_data_weighted(const RelnData *data);
/* Returns how many numbers one sample of an input has. */
ptrdiff_t reln_data_numbers(const RelnData *data, int input);

/* Chooses rows for validation and training: the first round(share N) rows of the shuffle that belongs to the
 * seed, at least one of each if share > 0, and the others; both in ascending order. The array has N entries,
 * *n_validation validation rows first. */
RelnStatus reln_data_split(RelnCtx *ctx, ptrdiff_t count, double share, uint64_t seed,
                           ptrdiff_t *rows, ptrdiff_t *n_validation);

/* Divides data: one fold of the samples, or a share if `fold` names none. Windows of recordings are divided
 * by time, and those that reach into both parts are left out. The array has reln_data_count() entries:
 * *n_validation rows, then *n_train rows. */
RelnStatus reln_data_divide(RelnData *data, const RelnFold *fold, double share, uint64_t seed,
                            ptrdiff_t *rows, ptrdiff_t *n_validation, ptrdiff_t *n_train);
/* A RelnParting divides rows into validation and training. An item is `block` consecutive rows; the rows behind the last item
 * are for training. */
typedef struct RelnParting {
    ptrdiff_t n_validation, n_train; /* numbers of rows */
    ptrdiff_t block;                 /* 1: items are rows */
    ptrdiff_t *items, n_items;       /* items of validation, then items of training */
} RelnParting;

/* Divides data by rows, as reln_data_divide() does or, with `blocks` and a share of more than 2^20 samples, by blocks of
 * RELN_SHUFFLE_BLOCK rows. The caller clears it, also after a failure. */
RelnStatus reln_parting_make(RelnData *data, const RelnFold *fold, double share, uint64_t seed,
                             bool blocks, RelnParting *out);
void reln_parting_clear(RelnCtx *ctx, RelnParting *split);
/* Returns row number i; the rows of training begin at i = n_validation. */
ptrdiff_t reln_parting_row(const RelnParting *split, ptrdiff_t i);

/* Returns the number of folds of an array of fold numbers: one more than its largest number. Every fold must
 * have a sample. */
RelnStatus reln_data_folds(RelnCtx *ctx, RelnArchive *archive, const char *array, int *count);

/* Computes the sizes of inputs and target over these rows, and stores them in the model's constants. */
RelnStatus reln_data_normalise(RelnData *data, ptrdiff_t n, const ptrdiff_t *rows);

/* Compares the sizes of inputs with those of training, on samples from the whole file: see
 * reln_model_note(). */
RelnStatus reln_data_compare(RelnData *data);

/* Reserves memory for batches of n samples, so that binding resident data allocates nothing. */
RelnStatus reln_data_reserve(RelnData *data, ptrdiff_t n);

/* Fills the buffers with these samples and binds them to the inputs of a plan made from the model. Random
 * frames depend on `epoch`, seed and row. Buffers are valid until the next call. */
RelnStatus reln_data_bind(RelnData *data, RelnPlan *plan, ptrdiff_t n, const ptrdiff_t *rows,
                          uint64_t epoch);

/* Reads data that are not resident ahead, in batches of up to n samples: a thread reads the announced batch
 * while the caller computes. Until the batch is bound, other calls that read the same data wait for it or
 * abandon it. */
RelnStatus reln_data_read_ahead(RelnData *data, ptrdiff_t n);
/* Announces the batch that will be bound next, to the same plan. Errors are reported by reln_data_bind(). */
RelnStatus reln_data_ahead(RelnData *data, RelnPlan *plan, ptrdiff_t n, const ptrdiff_t *rows,
                           uint64_t epoch);
/* Announces the rows of later batches; it is called right after a batch was bound. The reading thread asks the system to cache them, in
 * the order of the file, while it reads the next `times` batches. The function sorts `rows`, and uses the array until the next call. */
void reln_data_expect(RelnData *data, ptrdiff_t n, ptrdiff_t *rows, ptrdiff_t times);
void reln_data_settle(RelnData *data); /* abandons the batch that is being read ahead */
/* Returns the seconds spent waiting for batches of data that are not resident. */
double reln_data_waited(const RelnData *data); /* NULL is fine */
/* Returns the bytes, in the form of files, of the samples in all batches of data that are not resident so
 * far; not while a batch is being read ahead. */
uint64_t reln_data_read_bytes(const RelnData *data); /* NULL is fine */

/* The same with raw numbers of your own instead of the file's: values[i] has the n samples of input i one after another,
 * mask (n, points) or NULL. No target is bound. Edges are those of these rows of the file; rows NULL: the first. */
RelnStatus reln_data_bind_raw(RelnData *data, RelnPlan *plan, ptrdiff_t n,
                              const double *const *values, const double *mask,
                              const ptrdiff_t *rows);

/* Read raw numbers of a row: an input; the mask, 1 or 0 for each place (all 1 without a mask); the target, in the units of
 * the file. */
RelnStatus reln_data_raw(RelnData *data, int input, ptrdiff_t row, double *values);
RelnStatus reln_data_mask(RelnData *data, ptrdiff_t row, double *values);
RelnStatus reln_data_target(RelnData *data, ptrdiff_t n, const ptrdiff_t *rows, double *values);
/* Finds the rows of a plan, bound to these samples, that belong to the places of targets: (n, layout.losses), -1 where a place
 * holds no point or edge. The rows of edges are sorted by the point to which they go. */
RelnStatus reln_data_items(RelnData *data, ptrdiff_t n, const ptrdiff_t *rows, ptrdiff_t *items);
/* Returns the number of edges of a sample. */
int reln_data_edges(const RelnData *data, ptrdiff_t row);
/* Reads the weight of each target at each of its places, (layout.losses): 1 if the SPEC names no weights, and 0 where there is
 * no point or edge. */
RelnStatus reln_data_weights(RelnData *data, ptrdiff_t row, double *values);
/* Returns the layout of targets for samples with as many places as these data have. */
RelnLayout reln_data_layout(const RelnData *data);

#ifdef __cplusplus
}
#endif

#endif
