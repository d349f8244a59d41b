/* csv.h -- tables of numbers in text files: columns between commas or blanks, with or without a line of names. */
#ifndef IO_CSV_H
#define IO_CSV_H

#include "base/base.h"

/* Lines that begin with # and empty ones are left out. Names are from the first line that is no row, or from the last line with
 * # before the first row, where there are as many as columns; what follows a blank in a name ("p_x [m]") is a unit and left
 * out. Otherwise columns are called column0, column1, ... */
typedef struct RelnCsv {
    RelnCtx *ctx;
    RelnArena arena;
    int n_columns;
    ptrdiff_t n_rows;
    const char **names; /* (n_columns) */
    double *values;     /* (n_columns, n_rows): column by column */
    ptrdiff_t *lines;   /* (n_rows): of the file, from 1 */
} RelnCsv;

enum { RELN_CSV_MOST_COLUMNS = 4096 };

/* "nan" and "inf" are numbers, as in .npy files; anything else that is none is refused with its line and column. Clear it, also
 * when this fails. `what` names the bytes in messages. */
RelnStatus reln_csv_parse(RelnCtx *ctx, const char *bytes, size_t n_bytes, const char *what,
                          RelnCsv *out);
RelnStatus reln_csv_load(RelnCtx *ctx, const char *path, RelnCsv *out);
void reln_csv_clear(RelnCsv *table);
/* The column of a name; NULL: none. */
const double *reln_csv_column(const RelnCsv *table, const char *name);

#endif
