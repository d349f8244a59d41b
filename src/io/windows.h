/* windows.h -- windows of recordings as rows of an archive; they are read on demand and not stored. */
#ifndef IO_WINDOWS_H
#define IO_WINDOWS_H

#include "reln/io.h"

/* Which steps of its window a row has. */
typedef enum RelnWindowRule {
    RELN_WINDOW_STEPS,   /* all steps: (length, ...) */
    RELN_WINDOW_ELAPSED, /* all steps, minus the value of the first: times since the window began */
    RELN_WINDOW_LAST,    /* the last */
    RELN_WINDOW_CHANGE,  /* the last less the first */
    RELN_WINDOW_MEAN,
    RELN_WINDOW_SET,  /* as many as the row has, and zeros behind them: (length, ...) */
    RELN_WINDOW_SIZE, /* how many the row has */
    RELN_WINDOW_ROW /* the row of that number of an array that has one for each, whatever its steps */
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
/* An array of sets of different size: row i has the steps from offsets[i] to before offsets[i + 1]. */
typedef struct RelnSetArray {
    RelnWindowArray array;
    const ptrdiff_t *offsets; /* (n_rows + 1), copied; NULL for RELN_WINDOW_ROW */
    ptrdiff_t length;         /* places for them: the largest size */
} RelnSetArray;
/* An archive with the listed arrays, whose rules are RELN_WINDOW_SET, _SIZE and _ROW, and n_rows rows. `of` must outlive it.
 * Caller destroys. */
RelnStatus reln_archive_sets(RelnCtx *ctx, RelnArchive *of, int n, const RelnSetArray *list,
                             ptrdiff_t n_rows, RelnArchive **out);
/* Let a row begin so many steps later. */
void reln_archive_window_shift(RelnArchive *windows, ptrdiff_t row, ptrdiff_t steps);

#endif
