/* report.h -- numbers, tables, plots and pages.
 *
 *     RelnPage *page = NULL;
 *     if (reln_page_create(ctx, "sp(4) regression", &page) != RELN_OK) return 1;
 *     RelnPlot *plot = reln_page_plot(page, "Training loss");
 *     reln_plot_y(plot, "mean squared error", RELN_AXIS_LOG);
 *     reln_plot_line(plot, "ReLN", n_epochs, epochs, losses);
 *     status = reln_page_html(page, &text, &n_bytes); // one self-contained file, to be written by the caller
 *     reln_page_destroy(page);
 *
 * Nothing here opens a file. All text is UTF-8 and is escaped as needed; invalid bytes and control characters become
 * U+FFFD. Arguments are copied. The same calls give the same bytes, in any locale.
 *
 * Pages, plots and tables remember their first failure: calls after it do nothing, and the call that asks for the result
 * (reln_page_html, reln_table_write) returns it. A NULL plot is ignored, so one check at the end is enough.
 */
#ifndef KIT_REPORT_H
#define KIT_REPORT_H

#include "reln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RELN_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define RELN_PRINTF(at, first)
#endif

/* ---- numbers ------------------------------------------------------------------------------------------------ */

/* Size of the buffer for any of the texts below. Each function writes into buf and returns it. */
#define RELN_NUMBER_TEXT 64

/* Writes a number with at least so many significant digits (1 to 17), in short form: 98.3, 0.0123, 5.14e-4,
 * 1.2e9; nan, inf, -inf. */
char *reln_report_number(char buf[RELN_NUMBER_TEXT], double value, int digits);
/* Writes "5.14e-4 ± 0.23e-4", "98.31 ± 0.12": the spread with so many significant digits, the mean with as
 * many decimals. A spread that is not finite is left out (one seed has none). */
char *reln_report_mean(char buf[RELN_NUMBER_TEXT], double mean, double spread, int digits);
/* "263,170" */
char *reln_report_count(char buf[RELN_NUMBER_TEXT], int64_t count);
/* "12.3 µs", "48.1 s", "1 h 23 min" */
char *reln_report_duration(char buf[RELN_NUMBER_TEXT], double seconds);

/* Returns the columns that a text takes on a terminal: combining marks take none, East Asian wide characters
 * two. */
ptrdiff_t reln_report_width(const char *text);

/* ---- tables --------------------------------------------------------------------------------------------------
 *
 *     reln_table_create(ctx, &table);
 *     reln_table_column(table, "model", RELN_COL_LEFT);
 *     reln_table_column(table, "MSE", RELN_COL_RIGHT | RELN_COL_LOWEST);
 *     reln_table_row(table);
 *     reln_table_text(table, "ReLN");
 *     reln_table_mean(table, 5.14e-4, 2.3e-5, 2);
 *     status = reln_table_write(table, RELN_TABLE_MARKDOWN, &text, &n_bytes);
 */
typedef struct RelnTable RelnTable;

typedef enum RelnColumnFlags {
    RELN_COL_LEFT = 0,
    RELN_COL_RIGHT = 1,
    RELN_COL_CENTRE = 2,
    RELN_COL_LOWEST =
        4, /* the lowest value of the column is marked; equal texts count as equal */
    RELN_COL_HIGHEST = 8, /* the highest value of the column is marked */
    RELN_COL_BAR =
        16, /* on pages: a bar behind each value, from 0 to the column's largest magnitude */
    RELN_COL_BESIDE = 32 /* belongs to the column before it, and stays next to it */
} RelnColumnFlags;

typedef enum RelnTableFormat {
    RELN_TABLE_PLAIN,    /* aligned text; a * follows the best values */
    RELN_TABLE_TERMINAL, /* aligned text; the best values are bold, notes dim */
    RELN_TABLE_MARKDOWN  /* GitHub's; the best values are bold */
} RelnTableFormat;

RelnStatus reln_table_create(RelnCtx *ctx, RelnTable **out); /* caller destroys */
void reln_table_destroy(RelnTable *table);                   /* NULL is fine */

void reln_table_title(RelnTable *table, const char *title);
/* Adds a column, before the first row: RELN_ERR_ARG otherwise. flags: RelnColumnFlags, or-ed. */
void reln_table_column(RelnTable *table, const char *name, unsigned flags);
/* Makes the values nearest to `target` the best ones of the last column, whatever its flags say. */
void reln_table_nearest(RelnTable *table, double target);
void reln_table_note(RelnTable *table, const char *note); /* a line below; any number */

/* Limits plain and terminal text to so many columns of the screen, if possible. Columns that do not fit go
 * below, as tables of the same rows that repeat the first column. 0, the default: no limit. */
void reln_table_width(RelnTable *table, int columns);

/* Begins a row; then its cells follow from the left: RELN_ERR_ARG for too many cells. Missing cells stay
 * empty. */
void reln_table_row(RelnTable *table);
void reln_table_text(RelnTable *table, const char *text);
void reln_table_number(RelnTable *table, double value, int digits);
void reln_table_mean(RelnTable *table, double mean, double spread, int digits);
void reln_table_count(RelnTable *table, int64_t count);
/* Adds a cell with a given text and the value that bars and best values use. */
void reln_table_value(RelnTable *table, double value, const char *text);
/* Makes the last row a reference, which is never the best. */
void reln_table_reference(RelnTable *table);
/* A heading over the rows that follow. A best value is the best of the whole column. */
void reln_table_group(RelnTable *table, const char *name);

/* *text is terminated by a NUL, which n_bytes does not count; borrowed until the next call with this
 * table. */
RelnStatus reln_table_write(RelnTable *table, RelnTableFormat format, const char **text,
                            size_t *n_bytes);

/* ---- pages --------------------------------------------------------------------------------------------------- */

typedef struct RelnPage RelnPage;
typedef struct RelnPlot RelnPlot;

RelnStatus reln_page_create(RelnCtx *ctx, const char *title, RelnPage **out); /* caller destroys */
void reln_page_destroy(RelnPage *page);                                       /* NULL is fine */

/* Makes browsers reload the page every so many seconds, for a page of a running job. 0, the default:
 * never. */
void reln_page_refresh(RelnPage *page, int seconds);

/* Blocks, in the order in which they appear. */
void reln_page_section(RelnPage *page, const char *title); /* listed in the contents */
void reln_page_text(RelnPage *page, const char *format, ...)
    RELN_PRINTF(2, 3); /* a paragraph; an empty line begins another */
void reln_page_fact(RelnPage *page, const char *key, const char *format, ...)
    RELN_PRINTF(3, 4); /* adjacent items form one list */
void reln_page_code(RelnPage *page, const char *title, const char *code); /* title or NULL */
void reln_page_table(RelnPage *page, RelnTable *table);                   /* in its current state */

/* Sets the number of columns of the grid in which consecutive plots stand (1 to 4; default 1). Narrow screens
 * have one. */
void reln_page_columns(RelnPage *page, int columns);
/* Adds a plot, borrowed from the page; NULL after a failure. It is drawn when the page is written, so it may
 * be filled until then. */
RelnPlot *reln_page_plot(RelnPage *page, const char *title);

/* Writes the whole file, terminated by a NUL, which n_bytes does not count; borrowed until the next call with
 * this page. */
RelnStatus reln_page_html(RelnPage *page, const char **text, size_t *n_bytes);

/* ---- plots --------------------------------------------------------------------------------------------------
 *
 * Values that cannot be drawn (not finite or beyond 1e300; below 1e-300 on a logarithmic axis) are left out: lines
 * break there, and the caption says how many there were. Long series are thinned: lines keep the extremes of each
 * column of pixels, clouds of points keep one point for each small cell. Names go into a legend above the data.
 */
typedef enum RelnScale { RELN_AXIS_LINEAR, RELN_AXIS_LOG } RelnScale;

/* Axes: label (may be NULL) and scale. */
void reln_plot_x(RelnPlot *plot, const char *label, RelnScale scale);
void reln_plot_y(RelnPlot *plot, const char *label, RelnScale scale);
/* Sets fixed ends instead of those of the data: low < high, and low > 0 on a logarithmic axis, or
 * RELN_ERR_ARG. */
void reln_plot_x_range(RelnPlot *plot, double low, double high);
void reln_plot_y_range(RelnPlot *plot, double low, double high);
/* Names the positions x = 0, 1, 2 ... at the axis, for bars. */
void reln_plot_categories(RelnPlot *plot, ptrdiff_t n, const char *const *names);
void reln_plot_equal_aspect(RelnPlot *plot);  /* for trajectories: one unit is equally long on both axes */
void reln_plot_direct_labels(RelnPlot *plot); /* names at the ends of lines, not in a legend */
void reln_plot_note(RelnPlot *plot, const char *note); /* text below the plot */

typedef enum RelnMark {
    RELN_MARK_LINE,
    RELN_MARK_LINE_POINTS,
    RELN_MARK_STEP,
    RELN_MARK_POINTS,
    RELN_MARK_BARS
} RelnMark;

typedef struct RelnSeries {
    const char *name; /* NULL: not in the legend */
    RelnMark mark;    /* RELN_MARK_STEP: y[i] is valid from x[i] to x[i+1] */
    ptrdiff_t n;
    const double *x; /* NULL: 0, 1, 2 ... */
    const double *y;
    const double *low,
        *high; /* both or neither: a band for lines, error bars for points and bars */
    const char *const
        *labels; /* NULL, or n names of points, shown beside them if there is room */
    int colour;  /* 1, 2, ...: the same number gives the same colour in every plot; 0: the next one */
} RelnSeries;

void reln_plot_series(RelnPlot *plot, const RelnSeries *series);
void reln_plot_line(RelnPlot *plot, const char *name, ptrdiff_t n, const double *x,
                    const double *y);
void reln_plot_points(RelnPlot *plot, const char *name, ptrdiff_t n, const double *x,
                      const double *y);
/* Adds a line with its band, such as median and p10..p90. */
void reln_plot_band(RelnPlot *plot, const char *name, ptrdiff_t n, const double *x, const double *y,
                    const double *low, const double *high);
/* Adds a histogram with bins of equal width (of equal ratio on a logarithmic x axis, so set the axis first).
 * n_bins = 0: 2 n^(1/3), between 5 and 60. */
void reln_plot_histogram(RelnPlot *plot, const char *name, ptrdiff_t n, const double *values,
                         ptrdiff_t n_bins);
/* Plots predicted against true values, with the diagonal and equal axes. */
void reln_plot_parity(RelnPlot *plot, const char *name, ptrdiff_t n, const double *truth,
                      const double *predicted);

/* Add reference lines: dashed, with a label (or NULL). The diagonal is y = x. */
void reln_plot_hline(RelnPlot *plot, double y, const char *label);
void reln_plot_vline(RelnPlot *plot, double x, const char *label);
void reln_plot_diagonal(RelnPlot *plot, const char *label);
/* Draws y = min(peak, bandwidth x); both axes become logarithmic. x is in operations per byte, y and peak in
 * the same unit of speed, bandwidth in that unit's bytes: Gflop/s with GB/s. The labels of the two limits may
 * be NULL. */
void reln_plot_roof(RelnPlot *plot, double peak, const char *peak_label, double bandwidth,
                    const char *bandwidth_label);

#ifdef __cplusplus
}
#endif

#endif
