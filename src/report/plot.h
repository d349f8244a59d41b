/* plot.h -- the contents of a plot, its axes while it is drawn, and drawing it as SVG. */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H

#include "kit/report.h"
#include "report/text.h"

/* Internal marks after the public ones. RELN_MARK_HISTOGRAM: x holds n + 1 edges of n bins. */
enum { RELN_MARK_HISTOGRAM = RELN_MARK_BARS + 1 };

/* Number of colours in the style sheet. Further curves repeat the colours with dashed, then dotted, then
 * solid lines. */
enum { RELN_PLOT_COLOURS = 7 };

typedef struct RelnCurve {
    struct RelnCurve *next;
    const char *name;
    int mark;
    ptrdiff_t n;
    const double *x, *y, *low, *high;
    const char **labels;
    int colour; /* from 0 */
    int group;  /* for bars: their position among the series of bars */
} RelnCurve;

/* Returns " dash", " dot" or "": the class of a line, by how often the colours have been used up. */
const char *reln_curve_dash(const RelnCurve *c);

typedef enum RelnRefKind {
    RELN_REF_HLINE,
    RELN_REF_VLINE,
    RELN_REF_DIAGONAL,
    RELN_REF_ROOF
} RelnRefKind;

typedef struct RelnRef {
    struct RelnRef *next;
    RelnRefKind kind;
    double at, slope; /* for a roof: peak and bandwidth */
    const char *label, *slope_label;
} RelnRef;

typedef struct RelnPlotAxis {
    const char *label;
    RelnScale scale;
    bool fixed;
    double low, high; /* fixed ends */
    const char **names;
    ptrdiff_t n_names;
} RelnPlotAxis;

struct RelnPlot {
    RelnFault *fault; /* belongs to the page, like the arena */
    RelnArena *arena;
    const char *title, *note;
    RelnPlotAxis x, y;
    bool equal, direct;
    RelnCurve *curves, *last;
    RelnRef *refs, *last_ref;
    int n_curves, n_bars;
    int columns; /* columns of the grid in which it stands */
};

/* ---- axes while drawing (axis.c) ----------------------------------------------------------------------------- */

typedef struct RelnTick {
    double value;
    bool major; /* labelled with its value */
    bool power; /* the text is 10 with the exponent */
    int exponent;
    char text[32];
} RelnTick;

enum { RELN_TICKS = 160 };

/* A RelnRuler converts values to pixels. from and to are in units of the axis: log10 of the ends on a
 * logarithmic one. */
typedef struct RelnRuler {
    const RelnPlotAxis *axis;
    double from, to;
    double first, last; /* pixels of from and to */
    int n_ticks;
    int exponent; /* texts of ticks are multiples of 10^exponent */
    RelnTick ticks[RELN_TICKS];
} RelnRuler;

bool reln_ruler_shows(const RelnRuler *ruler,
                      double value); /* false: the axis cannot show it */
double reln_ruler_unit(const RelnRuler *ruler, double value);
double reln_ruler_pixel(const RelnRuler *ruler, double value);

/* Finds the ends of both axes, from fixed ends, curves and references. */
void reln_rulers_fit(const RelnPlot *plot, RelnRuler *x, RelnRuler *y);
/* Places ticks, at most about so many with texts. Needs from and to only. */
void reln_ruler_divide(RelnRuler *ruler, double wanted);

/* ---- drawing (svg.c, curve.c) -------------------------------------------------------------------------------- */

typedef struct RelnBox {
    double left, top, right, bottom;
} RelnBox;

enum { RELN_BOXES = 256 };

typedef struct RelnCanvas {
    const RelnPlot *plot;
    RelnMarkup *text;
    int number; /* number of the plot in its page, from which ids are made */
    double width, height, left, right, top, bottom; /* the whole drawing, and the rectangle of the data */
    RelnRuler x, y;
    ptrdiff_t n_hidden;  /* points that cannot be drawn */
    ptrdiff_t n_thinned; /* points left out because drawn points cover them */
    int n_boxes;         /* places that names of points must leave free */
    RelnBox boxes[RELN_BOXES];
} RelnCanvas;

/* Writes the figure with its caption. */
void reln_plot_svg(const RelnPlot *plot, int number, RelnMarkup *text);

void reln_curve_draw(RelnCanvas *canvas, const RelnCurve *curve);
void reln_canvas_reserve(RelnCanvas *canvas, RelnBox box);
ptrdiff_t reln_curve_points_in(const RelnCanvas *canvas, RelnBox box); /* points of all curves */
void reln_curve_labels(RelnCanvas *canvas); /* names of points, after all curves */
/* Draws the marker of a curve at a place; its shape depends on its colour. */
void reln_curve_marker(RelnCanvas *canvas, const RelnCurve *curve, double px, double py);

/* ---- many curves (picks.c) ----------------------------------------------------------------------------------- */

/* Largest number of curves that can be shown and hidden separately; further curves share the boxes of the
 * first. */
enum { RELN_PLOT_PICKS = 32 };
/* Returns whether the plot has so many named curves that boxes replace the legend. */
bool reln_plot_has_picks(const RelnPlot *plot);
/* Returns the number of a curve's box: curves without a name belong to the named one before them. -1:
 * none. */
int reln_plot_pick(const RelnPlot *plot, const RelnCurve *curve);
void reln_picks_boxes(const RelnCanvas *canvas);  /* before the drawing, which they control */
void reln_picks_labels(const RelnCanvas *canvas); /* below the drawing, in place of the legend */

double reln_label_width(const char *text); /* estimated width in pixels */

#endif
