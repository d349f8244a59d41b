/* table.h -- the parts of a table, for the code that writes it. */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "kit/report.h"
#include "report/text.h"

enum { RELN_TABLE_COLUMNS = 64 };

typedef struct RelnCell {
    const char *text; /* NULL: empty */
    double value;     /* NaN: none */
    bool best;
} RelnCell;

typedef struct RelnRow {
    struct RelnRow *next;
    const char *group; /* a heading, and no cells; or NULL */
    RelnCell *cells;
    bool reference; /* its values are never the best */
} RelnRow;

typedef struct RelnNote {
    struct RelnNote *next;
    const char *text;
} RelnNote;

struct RelnTable {
    RelnFault fault;
    RelnArena arena;
    RelnMarkup text; /* text written last */
    const char *title;
    int width; /* limit of text; 0: none */
    int n_columns;
    int n_cells; /* number of cells of the last row */
    struct {
        const char *name;
        unsigned flags;
        double largest; /* magnitude of its values */
        double target;  /* the best value is nearest to it; NaN: the best is the lowest or highest */
    } columns[RELN_TABLE_COLUMNS];
    RelnRow *rows, *last;
    RelnNote *notes, *last_note;
};

/* The caller must have checked that the table has not failed. */
void reln_table_html(RelnTable *table, RelnMarkup *text);

#endif
