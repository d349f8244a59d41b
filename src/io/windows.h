/* windows.h -- windows of recordings as rows of an archive; they are read on demand and not stored. */
#ifndef IO_WINDOWS_H
#define IO_WINDOWS_H

#include "reln/io.h"

/* The rule by which a row of the archive is made from the steps of its window. */
typedef enum RelnWindowRule {
    RELN_WINDOW_STEPS,   /* all steps: (length, ...) */
    RELN_WINDOW_ELAPSED, /* all steps, minus the value of the first: times since the window began */
    RELN_WINDOW_LAST,    /* the value at the last step */
    RELN_WINDOW_CHANGE,  /* the value at the last step minus the value at the first */
    RELN_WINDOW_MEAN,
    RELN_WINDOW_SET,  /* for sets: all steps of the set, then zeros: (length, ...) */
    RELN_WINDOW_SIZE, /* for sets: the number of steps of the set */
    RELN_WINDOW_ROW   /* for arrays with one row for each set: that row, unchanged */
} RelnWindowRule;

typedef struct RelnWindowArray {
    int index; /* index in the archive of the recordings */
    RelnWindowRule rule;
} RelnWindowArray;

/* Creates an archive with the listed arrays (T, ...) of `of`; each row is a window of `length` steps, and row
 * i begins at step first[i]. All windows must lie inside the arrays. `first` is copied; `of` must outlive the
 * archive. Caller destroys *out. */
RelnStatus reln_archive_windows(RelnCtx *ctx, RelnArchive *of, int n, const RelnWindowArray *list,
                                ptrdiff_t length, ptrdiff_t n_rows, const ptrdiff_t *first,
                                RelnArchive **out);
/* A RelnSetArray is an array of sets of different size: row i consists of the steps from
 * offsets[i] on, before offsets[i + 1]. */
typedef struct RelnSetArray {
    RelnWindowArray array;
    const ptrdiff_t *offsets; /* (n_rows + 1), copied; NULL for RELN_WINDOW_ROW */
    ptrdiff_t length;         /* number of places for steps: the size of the largest set */
} RelnSetArray;
/* Creates an archive of n_rows rows with the listed arrays, whose rules are RELN_WINDOW_SET, _SIZE and _ROW.
 * `of` must outlive the archive. Caller destroys *out. */
RelnStatus reln_archive_sets(RelnCtx *ctx, RelnArchive *of, int n, const RelnSetArray *list,
                             ptrdiff_t n_rows, RelnArchive **out);
/* Makes a row begin `steps` steps later. */
void reln_archive_window_shift(RelnArchive *windows, ptrdiff_t row, ptrdiff_t steps);

#endif
