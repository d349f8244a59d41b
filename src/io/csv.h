/* csv.h -- tables of numbers in text files: columns separated by commas or blanks, with or without a line of
 * names. */
#ifndef IO_CSV_H
#define IO_CSV_H

#include "base/base.h"

/* A RelnCsv is a table. Empty lines and lines that begin with # are skipped. The names come from the first
 * line that is not a row of numbers, or from the last line with # before the first row, if it has as many
 * words as there are columns. Text after a blank in a name ("p_x [m]") is a unit and is dropped. Otherwise
 * columns are called column0, column1, ... */
typedef struct RelnCsv {
    RelnCtx *ctx;
    RelnArena arena;
    int n_columns;
    ptrdiff_t n_rows;
    const char **names; /* (n_columns) */
    double *values;     /* (n_columns, n_rows): column by column */
    ptrdiff_t *lines;   /* (n_rows): line in the file, from 1 */
} RelnCsv;

enum { RELN_CSV_MOST_COLUMNS = 4096 };

/* Parses a table. "nan" and "inf" are numbers, as in .npy files; any other text is refused with its line and
 * column. The caller clears the table, also after a failure. `what` names the bytes in messages. */
RelnStatus reln_csv_parse(RelnCtx *ctx, const char *bytes, size_t n_bytes, const char *what,
                          RelnCsv *out);
RelnStatus reln_csv_load(RelnCtx *ctx, const char *path, RelnCsv *out);
void reln_csv_clear(RelnCsv *table);
/* Returns the column with a name; NULL: none. */
const double *reln_csv_column(const RelnCsv *table, const char *name);

/* Returns how many columns from `first` on are the components of one vector, and the length of its name: v_x, v_y, v_z (or v.x ...)
 * are v; E or t or w may come before x. 0: none. */
int reln_csv_vector(const RelnCsv *table, int first, int *length);

#endif
