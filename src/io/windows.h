/* windows.h -- windows of recordings as rows of an archive; they are read on demand and not stored. */
#ifndef IO_WINDOWS_H
#define IO_WINDOWS_H

#include "reln/io.h"

/* Which steps of its window a row has. */
typedef enum RelnWindowRule {
    RELN_WINDOW_STEPS,   /* all steps: (length, ...) */
    RELN_WINDOW_ELAPSED, /* all steps, minus the value of the first: times since the window began */
    RELN_WINDOW_LAST,    /* the last */
    RELN_WINDOW_CHANGE,  /* the last minus the first */
    RELN_WINDOW_MEAN
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
/* Moves the beginning of a row by so many steps. */
void reln_archive_window_shift(RelnArchive *windows, ptrdiff_t row, ptrdiff_t steps);

#endif
