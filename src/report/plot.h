/* plot.h -- what a plot holds, its axes while it is drawn, and drawing it as SVG. */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H

#include "kit/report.h"
#include "report/text.h"

/* Marks of our own after the public ones. RELN_MARK_HISTOGRAM: x holds n + 1 edges of n bins. */
enum { RELN_MARK_HISTOGRAM = RELN_MARK_BARS + 1 };

/* Number of colours in the style sheet. Further curves use the colours again with dashed, then dotted, then solid lines. */
enum { RELN_PLOT_COLOURS = 7 };

typedef struct RelnCurve {
    struct RelnCurve *next;
    const char *name;
    int mark;
    ptrdiff_t n;
    const double *x, *y, *low, *high;
    const char **labels;
    int colour; /* from 0 */
    int group;  /* of bars: their position among the series of bars */
} RelnCurve;

/* " dash", " dot" or "": the class of a line by how often the colours have been used up. */
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
    double at, slope; /* a roof: peak and bandwidth */
    const char *label, *slope_label;
} RelnRef;

typedef struct RelnPlotAxis {
    const char *label;
    RelnScale scale;
    bool fixed;
    double low, high; /* where fixed */
    const char **names;
    ptrdiff_t n_names;
} RelnPlotAxis;

struct RelnPlot {
    RelnFault *fault; /* the page's; so is the arena */
    RelnArena *arena;
    const char *title, *note;
    RelnPlotAxis x, y;
    bool equal, direct;
    RelnCurve *curves, *last;
    RelnRef *refs, *last_ref;
    int n_curves, n_bars;
    int columns; /* of the grid that it stands in */
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

/* From values to pixels. from and to are in units of the axis: log10 of the ends on a logarithmic one. */
typedef struct RelnRuler {
    const RelnPlotAxis *axis;
    double from, to;
    double first, last; /* pixels of from and to */
    int n_ticks;
    int exponent; /* texts of ticks are multiples of 10^exponent */
    RelnTick ticks[RELN_TICKS];
} RelnRuler;

bool reln_ruler_shows(const RelnRuler *ruler,
                      double value); /* false: cannot be drawn on this axis */
double reln_ruler_unit(const RelnRuler *ruler, double value);
double reln_ruler_pixel(const RelnRuler *ruler, double value);

/* The ends of both axes, from fixed ends, curves and references. */
void reln_rulers_fit(const RelnPlot *plot, RelnRuler *x, RelnRuler *y);
/* Ticks: at most about so many with texts. Needs from and to only. */
void reln_ruler_divide(RelnRuler *ruler, double wanted);

/* ---- drawing (svg.c, curve.c) -------------------------------------------------------------------------------- */

typedef struct RelnBox {
    double left, top, right, bottom;
} RelnBox;

enum { RELN_BOXES = 256 };

typedef struct RelnCanvas {
    const RelnPlot *plot;
    RelnMarkup *text;
    int number; /* of the plot in its page: ids are made from it */
    double width, height, left, right, top, bottom; /* the whole, and the rectangle of the data */
    RelnRuler x, y;
    ptrdiff_t n_hidden;  /* points that cannot be drawn */
    ptrdiff_t n_thinned; /* points left out because drawn points cover them */
    int n_boxes;         /* places that names of points must leave free */
    RelnBox boxes[RELN_BOXES];
} RelnCanvas;

/* The figure with its caption. */
void reln_plot_svg(const RelnPlot *plot, int number, RelnMarkup *text);

void reln_curve_draw(RelnCanvas *canvas, const RelnCurve *curve);
void reln_canvas_reserve(RelnCanvas *canvas, RelnBox box);
ptrdiff_t reln_curve_points_in(const RelnCanvas *canvas, RelnBox box); /* of all curves */
void reln_curve_labels(RelnCanvas *canvas); /* names of points, after all curves */
/* The mark of a curve at a place: its shape goes by its colour. */
void reln_curve_marker(RelnCanvas *canvas, const RelnCurve *curve, double px, double py);

/* ---- many curves (picks.c) ----------------------------------------------------------------------------------- */

/* Curves that can be shown and hidden each by itself; further ones share the boxes of the first. */
enum { RELN_PLOT_PICKS = 32 };
/* Has the plot so many named curves that boxes take the place of the legend? */
bool reln_plot_has_picks(const RelnPlot *plot);
/* The number of a curve's box: curves without a name go with the named one before them. -1: none. */
int reln_plot_pick(const RelnPlot *plot, const RelnCurve *curve);
void reln_picks_boxes(const RelnCanvas *canvas);  /* before the drawing, which they rule */
void reln_picks_labels(const RelnCanvas *canvas); /* below it, in place of the legend */

double reln_label_width(const char *text); /* estimated width in pixels */

#endif
