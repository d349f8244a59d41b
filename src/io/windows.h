/* windows.h -- windows of recordings as rows of an archive: read when they are asked for, stored nowhere. */
#ifndef IO_WINDOWS_H
#define IO_WINDOWS_H

#include "reln/io.h"

/* What a row has of the steps of its window. */
typedef enum RelnWindowRule {
    RELN_WINDOW_STEPS,   /* all of them: (length, ...) */
    RELN_WINDOW_ELAPSED, /* all of them, less the first: times since the window began */
    RELN_WINDOW_LAST,    /* the last */
    RELN_WINDOW_CHANGE,  /* the last less the first */
    RELN_WINDOW_MEAN
} RelnWindowRule;

typedef struct RelnWindowArray {
    int index; /* in the archive of the recordings */
    RelnWindowRule rule;
} RelnWindowArray;

/* An archive with the listed arrays (T, ...) of `of`, each row of which is a window of `length` steps: row i begins at step
 * first[i]. Rows are inside of the arrays. `first` is copied; `of` must outlive it. Caller destroys. */
RelnStatus reln_archive_windows(RelnCtx *ctx, RelnArchive *of, int n, const RelnWindowArray *list,
                                ptrdiff_t length, ptrdiff_t n_rows, const ptrdiff_t *first,
                                RelnArchive **out);
/* Let a row begin so many steps later. */
void reln_archive_window_shift(RelnArchive *windows, ptrdiff_t row, ptrdiff_t steps);

#endif
