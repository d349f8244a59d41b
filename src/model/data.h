/* data.h -- declarations that the files about data share: arrays found for a SPEC, their rows as stored and
 * lifted. */
#ifndef MODEL_DATA_H
#define MODEL_DATA_H

#include <stdatomic.h>

#include "base/aside.h"
#include "base/base.h"
#include "kit/data.h"
#include "model/model.h"
#include "model/sequence.h"

/* A RelnDataFound holds the indices of the arrays in their archive; -1: missing. */
typedef struct RelnDataFound {
    int input[RELN_SPEC_INPUTS];
    int mask, sizes, target[RELN_SPEC_TARGETS]; /* sizes: the number of points of each sample */
    int weights;
    bool
        weighted; /* items have weights: those of the array, or of hidden points 1 and of others 0 */
    RelnItems weights_of; /* samples: (N,); points: (N, P); edges: (N, E) */
    int edges, edge_mask, edge_sizes, edge_places;
    ptrdiff_t count; /* samples */
} RelnDataFound;

/* shapes.c: finds the arrays of a SPEC, for a symmetry of n x n matrices with dim Lie generators. Fails when
 * an input is missing or does not fit; a missing target is left to the caller. */
RelnStatus reln_data_find(RelnCtx *ctx, const RelnSpec *spec, int n, int dim,
                          const RelnArchive *archive, RelnDataFound *found, RelnShapes *shapes);

/* Finds the arrays in an archive whose recordings have not been cut into windows yet. */
RelnStatus reln_data_look(RelnCtx *ctx, const RelnSpec *spec, int n, int dim, RelnArchive *archive,
                          RelnDataFound *found, RelnShapes *shapes);

/* offsets.c: an archive whose rows are samples, where offsets divide arrays (T, ...) into sets; *out is NULL where the SPEC has
 * none. The archive must outlive it. Caller destroys. */
RelnStatus reln_offsets_open(RelnCtx *ctx, const RelnSpec *spec, RelnArchive *archive,
                             RelnArchive **out);

/* missing.c: RELN_ERR_FORMAT, with the arrays that are there; role is "" or ", the target". */
RelnStatus reln_data_missing(RelnCtx *ctx, const RelnArchive *archive, const char *name,
                             const char *role);

/* A Raw holds numbers of some rows as stored in files. */
typedef struct Raw {
    double *input[RELN_SPEC_INPUTS];
    double *mask, *weights, *target[RELN_SPEC_TARGETS];
} Raw;

/* A Lifted holds lifted numbers in the dtype of the model; for sets, only the existing points. */
typedef struct Lifted {
    char *slot[SLOT_COUNT];
    char *target[RELN_SPEC_TARGETS]; /* (K, C) of an item; i32 for classes */
    char *weights;                   /* NULL: all are 1 */
    int32_t *points;
    int32_t *degrees, *from; /* edges to each point, and the points that they are from */
} Lifted;

/* An Extent counts samples, their points and their edges: the size of a buffer, or the items before a sample. */
typedef struct Extent {
    ptrdiff_t samples, points, edges;
} Extent;

static inline ptrdiff_t reln_extent_of(Extent extent, RelnItems items)
{
    return items == RELN_ITEMS_EDGES    ? extent.edges
           : items == RELN_ITEMS_POINTS ? extent.points
                                        : extent.samples;
}

/* A Batch holds some rows of an epoch; this rank reads [first, end) of them. */
typedef struct Batch {
    ptrdiff_t n, first, end;
    uint64_t epoch;
} Batch;

/* An Ahead is the batch that the thread is reading, or has read. */
typedef struct Ahead {
    RelnAside *thread; /* NULL: nothing is read ahead */
    Lifted batch;
    ptrdiff_t room;  /* number of samples that fit */
    ptrdiff_t *rows; /* rows of the batch */
    Batch wanted;
    const RelnPlan *plan; /* plan of the batch; NULL: none */
    atomic_bool given_up; /* the batch is no longer wanted */
    RelnStatus status;
    char message[512];
    const ptrdiff_t *coming;         /* rows of later batches, ascending */
    ptrdiff_t n_coming, told, share; /* the system has been told of the first `told` of them */
} Ahead;

struct RelnData {
    RelnCtx *ctx;
    RelnModel *m;
    RelnArena arena;
    RelnArchive *archive;
    RelnArchive *sets;      /* made by offsets; `archive` then points to it; NULL: none */
    RelnSequence *sequence; /* windows of recordings; `archive` then points to theirs */
    RelnDataFound found;
    RelnDataOptions options;
    RelnLayout layout;
    size_t item; /* bytes of a number */
    ptrdiff_t piece;
    Raw raw; /* room for `piece` rows */
    LiftWork work;
    double *lifted[SLOT_COUNT]; /* one sample */
    int32_t *points;            /* number of points of every row; NULL without a mask */
    ptrdiff_t *first;           /* number of points before every row; NULL without a mask */
    int32_t *degrees;           /* number of edges to every point; NULL: no edges are given */
    int32_t *from;         /* first point of every edge; edges are sorted by their second point */
    int32_t *edge_place;   /* place in the file of every edge, in the same order */
    ptrdiff_t *first_edge; /* number of edges before every row; NULL: no edges are given */
    int largest_edges, largest_degree;
    bool resident;
    Lifted all, batch;
    ptrdiff_t room; /* number of samples that fit the batch */
    Ahead ahead;
    double waited;                     /* seconds spent waiting for batches */
    size_t row_bytes;                  /* bytes of one sample in the file */
    uint64_t read_bytes;               /* bytes of the samples in all batches */
    double *metric[RELN_SPEC_TARGETS]; /* the identity, for errors that have no invariant length */
    double *asked
        [2]; /* mask and weights of one sample, for reln_data_weights(); the thread that reads ahead has separate buffers */
    double *seen; /* one sample of a target as the network sees it */
};

/* data.c: returns whether windows begin at another step, or other points of a set are used, in every epoch. */
bool reln_data_shakes(const RelnData *d);
bool reln_data_draws(const RelnData *d);

/* ---- rows.c --------------------------------------------------------------------------------------------------------- */

/* Returns how many numbers a sample has in the file for a target, at all places; a class is one number. */
ptrdiff_t reln_data_target_count(const RelnData *d, int target);
/* Begins with the first item of a target in sample `row`, whose points have this mask. */
Items reln_data_walk_items(const RelnData *d, int target, ptrdiff_t row, const double *mask);
/* The same for the items that have a weight, of sample `row`, row i of d->raw. */
Items reln_data_walk_weights(const RelnData *d, ptrdiff_t row, ptrdiff_t i);
/* Return the items before sample `row` of all data; those of a sample; and the room for n samples of any size. */
Extent reln_data_before(const RelnData *d, ptrdiff_t row);
Extent reln_data_extent(const RelnData *d, ptrdiff_t row);
Extent reln_data_room(const RelnData *d, ptrdiff_t n);
/* Returns how many weights a sample has: one, or one for each place. */
ptrdiff_t reln_data_weight_count(const RelnData *d);
/* The mask of row i of d->raw; NULL: all points are there. */
const double *reln_data_mask_of(const RelnData *d, ptrdiff_t i);
/* The weight of a place of a sample that has these weights; if places have weights, all targets have the same places. */
double reln_data_weight(const RelnData *d, const double *weights, int place);
/* The number of points of a sample that are not masked out. */
int reln_data_points(const RelnData *d, ptrdiff_t row);

/* Allocates memory for rows with so many places for points, and for one lifted sample. */
RelnStatus reln_data_make_rows(RelnData *d, int places);
/* Reads rows of one array; an array that is not in the archive is skipped. */
RelnStatus reln_data_array(const RelnData *d, int array, ptrdiff_t first, ptrdiff_t n, double *out);
/* Reads rows of an input: of its array, or the value that the SPEC has for all samples. */
RelnStatus reln_data_input(const RelnData *d, int input, ptrdiff_t first, ptrdiff_t n, double *out);
/* Reads the masks of rows, (n, points): from the mask, from the counts, or ones. */
RelnStatus reln_data_read_mask(const RelnData *d, ptrdiff_t first, ptrdiff_t n, double *mask);
/* Sets the mask of the first row of d->raw to points drawn from all points of sample `row`. */
RelnStatus reln_data_draw_points(RelnData *d, ptrdiff_t row, RelnRng *rng);
/* Reads rows first .. first+n-1, at most a piece, into d->raw. */
RelnStatus reln_data_read(RelnData *d, ptrdiff_t first, ptrdiff_t n);
/* Calls visit() for rows first .. end-1, with their number and their position in d->raw. */
typedef RelnStatus Visit(RelnData *d, ptrdiff_t row, ptrdiff_t i, void *self);
RelnStatus reln_data_walk(RelnData *d, ptrdiff_t first, ptrdiff_t end, Visit *visit, void *self);
/* Checks that every mask consists of 0 and 1 and has a point; fills d->points and d->first. */
RelnStatus reln_data_count_points(RelnData *d);
/* Checks that row i of d->raw satisfies the SPEC. */
RelnStatus reln_data_check(RelnData *d, ptrdiff_t row, ptrdiff_t i);
/* Lifts row i of d->raw into d->lifted. */
RelnStatus reln_data_lift(RelnData *d, ptrdiff_t row, ptrdiff_t i);

/* ---- edges.c --------------------------------------------------------------------------------------------------------- */

/* Read and check all edges, into d->degrees, d->from and d->first_edge; points have been counted. */
RelnStatus reln_data_read_edges(RelnData *d);
/* Makes the edges of a row those of the sample that is checked or lifted. */
void reln_data_go_to_edges(RelnData *d, ptrdiff_t row);
/* Copies the edges of the given rows into a batch. */
void reln_data_put_edges(const RelnData *d, ptrdiff_t n, const ptrdiff_t *rows, const Lifted *to);

/* ---- hide.c ---------------------------------------------------------------------------------------------------------- */

/* Returns whether points are hidden, for pre-training. */
bool reln_data_hides(const RelnData *d);
/* Draws the hidden points of a sample: 1 for them, 0 for others. */
void reln_data_draw_hidden(const RelnData *d, ptrdiff_t row, uint64_t epoch, const double *mask,
                           double *hidden);
/* Hides points of the first row of d->raw: draws its weights, and adds noise to the input that keeps its place. After the row
 * was lifted, reln_data_blank() removes the features of the other inputs. */
void reln_data_hide(RelnData *d, ptrdiff_t row, uint64_t epoch);
void reln_data_blank(RelnData *d);
/* Writes what epoch 0 adds to the place of a sample, negated, into its targets (layout.truths); `hidden` has room for all places. */
void reln_data_way_back(const RelnData *d, ptrdiff_t row, const double *mask, double *hidden,
                        double *values);

/* ---- kept.c --------------------------------------------------------------------------------------------------------- */

/* Returns how many numbers a slot has for `samples` samples with all places filled. */
ptrdiff_t reln_slot_room(const RelnData *d, int slot, ptrdiff_t samples);
/* Return how many numbers a target, or the weights, take. */
ptrdiff_t reln_target_room(const RelnData *d, int target, Extent extent);
ptrdiff_t reln_weight_room(const RelnData *d, Extent extent);
/* Bytes of lifted samples, where points are a row domain. */
double reln_lifted_bytes(const RelnData *d, Extent extent);
RelnStatus reln_lifted_allocate(const RelnData *d, Extent extent, Lifted *out);
void reln_lifted_free(const RelnData *d, Lifted *l);
/* Copies d->lifted, a sample of this size, to the sample with so many items before it. */
void reln_lifted_put(const RelnData *d, const Lifted *to, Extent before, Extent size);
/* Copies targets and weights of sample `row`, row i of d->raw, to the sample with so many items before it; it has been lifted. */
RelnStatus reln_lifted_put_targets(const RelnData *d, const Lifted *to, Extent before,
                                   ptrdiff_t row, ptrdiff_t i);
/* Copies row `row` of the kept data to the sample of `to` with so many items before it. */
void reln_lifted_copy(const RelnData *d, ptrdiff_t row, const Lifted *to, Extent before);

/* Binds the sizes of the sets of a batch, and its edges, to a plan. */
RelnStatus reln_data_bind_sets(const RelnData *d, RelnPlan *plan, const Lifted *batch);

/* ---- batches.c, ahead.c --------------------------------------------------------------------------------------------- */

RelnStatus reln_data_check_row(const RelnData *d, ptrdiff_t row);
/* Reads the rows of this rank's samples; `to` has the points of all. If given_up is not NULL and becomes
 * true, it ends with RELN_ERR_STOPPED. */
RelnStatus reln_data_fill(RelnData *d, const Lifted *to, const Batch *batch, const ptrdiff_t *rows,
                          const atomic_bool *given_up);
/* Moves the batch that was read ahead into d->batch, if it is this one, with the status of its reading;
 * returns false if it is another one, or none. */
bool reln_ahead_take(RelnData *d, const RelnPlan *plan, ptrdiff_t n, const ptrdiff_t *rows,
                     uint64_t epoch, RelnStatus *status);
void reln_ahead_clear(RelnData *d);

/* ---- normalise.c ----------------------------------------------------------------------------------------------------- */

/* A Counted marks the training rows, one flag for each `block` rows; rows behind the last flag are training rows. */
typedef struct Counted {
    bool *items;
    ptrdiff_t n_items, block;
} Counted;

/* A Moments holds the number, the mean and the summed squares about the mean of the values of a column. */
typedef struct Moments {
    double count, mean, square;
} Moments;

/* A Sums holds sums over the training rows of one stretch of the data, added up while the rows are read. */
typedef struct Sums {
    double square[RELN_SPEC_INPUTS], numbers[RELN_SPEC_INPUTS];
    TargetSums target[RELN_SPEC_TARGETS];
    Moments column[RELN_SCALAR_COLUMNS];
    double points, samples;
} Sums;

/* Marks the rows that `options` leave for training; the caller frees out->items. */
RelnStatus reln_count_training(RelnData *d, Counted *out);
bool reln_counts(const Counted *counted, ptrdiff_t row);
/* Adds row i of d->raw, which is lifted in d->lifted. */
RelnStatus reln_sums_add(const RelnData *d, ptrdiff_t row, ptrdiff_t i, Sums *sums);
/* Adds the sums of the next stretch. */
void reln_sums_join(Sums *sums, const Sums *next);

/* A Pass is the last argument of visit() in a pass over the data. */
typedef struct Pass {
    const Counted *counted; /* NULL: no sums */
    Sums *sums;             /* sums of the current range of rows */
} Pass;
/* Visits all rows, or the rows of this rank if ranks share them, and computes the constants of the model from the sums over the
 * marked rows; counted NULL: the constants are not changed. */
RelnStatus reln_data_pass(RelnData *d, const Counted *counted, bool share, Visit *visit);
/* Computes the constants of the model from the sums. */
RelnStatus reln_sums_finish(const RelnData *d, const Sums *sums);

#endif
