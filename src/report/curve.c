/* curve.c -- draws series as SVG: lines, bands, points, bars, histograms, and names of points. */
#include "report/plot.h"

#include <math.h>
#include <string.h>

enum {
    WHOLE = 1500,   /* a line of at most this many points is drawn whole */
    BUCKETS = 3000, /* a longer line is drawn as at most about this many groups of points */
    HOVER = 400,    /* at most this many points have a text to hover over */
    DOTS = 6000,    /* largest number of points in a cloud */
    MARKERS = 6,    /* markers on a long line, to distinguish lines without their colours */
};

static bool is_shown(const RelnCanvas *canvas, const RelnCurve *c, ptrdiff_t i)
{
    return reln_ruler_shows(&canvas->x, c->x[i]) && reln_ruler_shows(&canvas->y, c->y[i]);
}

static double x_of(const RelnCanvas *canvas, const RelnCurve *c, ptrdiff_t i)
{
    return reln_ruler_pixel(&canvas->x, c->x[i]);
}

static double y_of(const RelnCanvas *canvas, const RelnCurve *c, ptrdiff_t i)
{
    return reln_ruler_pixel(&canvas->y, c->y[i]);
}

/* Draws a value below the end of a logarithmic axis at that end. */
static double y_or_end(const RelnCanvas *canvas, double value)
{
    return reln_ruler_shows(&canvas->y, value) ? reln_ruler_pixel(&canvas->y, value)
                                               : canvas->bottom + 4.0;
}

static void put_pair(RelnMarkup *text, const char *command, double px, double py)
{
    reln_markup_add(text, command);
    reln_markup_fixed(text, px);
    reln_markup_add(text, " ");
    reln_markup_fixed(text, py);
}

const char *reln_curve_dash(const RelnCurve *c)
{
    static const char *const classes[] = {"", " dash", " dot"};

    return classes[c->colour / RELN_PLOT_COLOURS % 3];
}

/* Writes class="kind k3", and dashed or dotted if all colours have been used */
static void put_class(RelnMarkup *text, const char *kind, const RelnCurve *c)
{
    reln_markup_addf(text, " class=\"%s k%d%s\"", kind, c->colour % RELN_PLOT_COLOURS,
                     reln_curve_dash(c));
}

/* ---- markers ------------------------------------------------------------------------------------------------- */

/* Shapes around (0, 0), one for each colour; the last two are strokes. */
static const char *const shapes[RELN_PLOT_COLOURS] = {
    "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z", /* circle */
    "m-3.2-3.2h6.4v6.4h-6.4z",                      /* square */
    "m0-4.2l4 7h-8z",                               /* triangle */
    "m0-4.6l4.2 4.6-4.2 4.6-4.2-4.6z",              /* diamond */
    "m0 4.2l4-7h-8z",                               /* triangle upside down */
    "m-4 0h8m-4-4v8",                               /* plus */
    "m-3.2-3.2l6.4 6.4m0-6.4l-6.4 6.4",             /* cross */
};

void reln_curve_marker(RelnCanvas *canvas, const RelnCurve *curve, double px, double py)
{
    const int shape = curve->colour % RELN_PLOT_COLOURS;

    reln_markup_add(canvas->text, "<path");
    put_class(canvas->text, shape < RELN_PLOT_COLOURS - 2 ? "m" : "n", curve);
    put_pair(canvas->text, " d=\"M", px, py);
    reln_markup_addf(canvas->text, "%s\"/>\n", shapes[shape]);
}

static void put_number(RelnMarkup *text, const char *before, double value)
{
    char buf[RELN_NUMBER_TEXT];

    reln_markup_add(text, before);
    reln_markup_add(text, reln_report_number(buf, value, 4));
}

static void put_tip_x(RelnMarkup *text, const RelnPlotAxis *axis, double value)
{
    const bool named = value >= 0.0 && value < (double)axis->n_names;

    if (named)
        reln_markup_escape(text, RELN_ESCAPE_HTML, axis->names[(ptrdiff_t)value]);
    else
        put_number(text, "", value);
}

/* Writes the text shown when the pointer rests on a point: "ReLN, sp4: 12, 5.14e-4 (4.9e-4 to 5.4e-4)". */
static void put_tip(RelnCanvas *canvas, const RelnCurve *c, ptrdiff_t i)
{
    RelnMarkup *const text = canvas->text;

    reln_markup_add(text, "<title>");
    if (c->name)
        reln_markup_escape(text, RELN_ESCAPE_HTML, c->name);
    if (c->labels && c->labels[i]) {
        reln_markup_add(text, c->name ? ", " : "");
        reln_markup_escape(text, RELN_ESCAPE_HTML, c->labels[i]);
    }
    reln_markup_add(text, c->name || c->labels ? ": " : "");
    put_tip_x(text, &canvas->plot->x, c->x[i]);
    put_number(text, ", ", c->y[i]);
    if (c->low) {
        put_number(text, " (", c->low[i]);
        put_number(text, " to ", c->high[i]);
        reln_markup_add(text, ")");
    }
    reln_markup_add(text, "</title>");
}

static void put_point(RelnCanvas *canvas, const RelnCurve *c, ptrdiff_t i)
{
    reln_markup_add(canvas->text, "<g>");
    put_tip(canvas, c, i);
    reln_curve_marker(canvas, c, x_of(canvas, c, i), y_of(canvas, c, i));
    reln_markup_add(canvas->text, "</g>");
}

/* ---- lines --------------------------------------------------------------------------------------------------- */

/* Returns the end of the group of points that begins with i: one column of pixels, and at least n / BUCKETS
 * points. */
static ptrdiff_t bucket_end(const RelnCanvas *canvas, const RelnCurve *c, ptrdiff_t i)
{
    const ptrdiff_t least = c->n / BUCKETS;
    const double column = floor(x_of(canvas, c, i));
    ptrdiff_t j = i + 1;

    if (c->n <= WHOLE)
        return j;
    while (j < c->n && is_shown(canvas, c, j) &&
           (j - i < least || floor(x_of(canvas, c, j)) == column))
        j++;
    return j;
}

typedef struct Pen {
    RelnCanvas *canvas;
    const RelnCurve *curve;
    ptrdiff_t n_down; /* points since the pen was put down */
} Pen;

static void pen_to(Pen *pen, ptrdiff_t i)
{
    RelnMarkup *const text = pen->canvas->text;
    const double px = x_of(pen->canvas, pen->curve, i), py = y_of(pen->canvas, pen->curve, i);

    if (pen->n_down++ > 0 && pen->curve->mark == RELN_MARK_STEP) {
        reln_markup_add(text, "H");
        reln_markup_fixed(text, px);
        reln_markup_add(text, "V");
        reln_markup_fixed(text, py);
    } else {
        put_pair(text, pen->n_down == 1 ? "M" : " ", px, py);
    }
}

/* Draws a point without neighbours as a dot: a line of length 0 with round ends. */
static void pen_up(Pen *pen)
{
    if (pen->n_down == 1)
        reln_markup_add(pen->canvas->text, "h0");
    pen->n_down = 0;
}

/* Draws the first, the lowest, the highest and the last point of a group in their order: its column of pixels
 * then looks the same as with all points. */
static void draw_bucket(Pen *pen, ptrdiff_t begin, ptrdiff_t end)
{
    const double *y = pen->curve->y;
    ptrdiff_t low = begin, high = begin;

    for (ptrdiff_t i = begin; i < end; i++) {
        low = y[i] < y[low] ? i : low;
        high = y[i] > y[high] ? i : high;
    }
    for (ptrdiff_t i = begin; i < end; i++)
        if (i == begin || i == low || i == high || i == end - 1)
            pen_to(pen, i);
}

static void draw_line(RelnCanvas *canvas, const RelnCurve *c)
{
    Pen pen = {canvas, c, 0};
    ptrdiff_t end;

    reln_markup_add(canvas->text, "<path");
    put_class(canvas->text, "l", c);
    reln_markup_add(canvas->text, " d=\"");
    for (ptrdiff_t i = 0; i < c->n; i = end) {
        end = i + 1;
        if (is_shown(canvas, c, i)) {
            end = bucket_end(canvas, c, i);
            draw_bucket(&pen, i, end);
        } else {
            pen_up(&pen);
        }
    }
    pen_up(&pen);
    reln_markup_add(canvas->text, "\"/>\n");
}

/* Draws a few markers on a line, at different places for different lines. A trajectory has one at its
 * beginning. */
static void draw_sparse_markers(RelnCanvas *canvas, const RelnCurve *c)
{
    const double step = (canvas->right - canvas->left) / MARKERS;
    double next = canvas->left + step * (0.35 + 0.13 * (c->colour % RELN_PLOT_COLOURS));

    for (ptrdiff_t i = 0; i < c->n; i++) {
        const double px = is_shown(canvas, c, i) ? x_of(canvas, c, i) : -(double)INFINITY;

        if (canvas->plot->equal ? isfinite(px) : px >= next && px <= canvas->right + 1.0) {
            put_point(canvas, c, i);
            if (canvas->plot->equal)
                return;
            next = fmax(next + step, px + 0.5 * step);
        }
    }
}

static void draw_all_markers(RelnCanvas *canvas, const RelnCurve *c)
{
    for (ptrdiff_t i = 0; i < c->n; i++)
        if (is_shown(canvas, c, i))
            put_point(canvas, c, i);
}

/* ---- bands and error bars ------------------------------------------------------------------------------------ */

static bool has_spread(const RelnCanvas *canvas, const RelnCurve *c, ptrdiff_t i)
{
    return c->low && is_shown(canvas, c, i) && fabs(c->low[i]) <= 1e300 &&
           reln_ruler_shows(&canvas->y, c->high[i]);
}

/* Draws one side of a band from begin to end: the largest of high, or the smallest of low, of each group. */
static void band_side(RelnCanvas *canvas, const RelnCurve *c, ptrdiff_t begin, ptrdiff_t end,
                      bool upper)
{
    const ptrdiff_t least = c->n / BUCKETS;
    const ptrdiff_t step = upper ? 1 : -1, stop = upper ? end : begin - 1;
    ptrdiff_t j;

    for (ptrdiff_t i = upper ? begin : end - 1; i != stop; i = j) {
        const double px = x_of(canvas, c, i);
        double extreme = upper ? c->high[i] : c->low[i];

        for (j = i + step; j != stop && c->n > WHOLE &&
                           ((j - i) * step < least || floor(x_of(canvas, c, j)) == floor(px));
             j += step)
            extreme = upper ? fmax(extreme, c->high[j]) : fmin(extreme, c->low[j]);
        put_pair(canvas->text, upper && i == begin ? "M" : " ", px, y_or_end(canvas, extreme));
    }
}

static void draw_band(RelnCanvas *canvas, const RelnCurve *c)
{
    reln_markup_add(canvas->text, "<path");
    put_class(canvas->text, "b", c);
    reln_markup_add(canvas->text, " d=\"");
    for (ptrdiff_t i = 0; i < c->n; i++) {
        ptrdiff_t end = i;

        while (end < c->n && has_spread(canvas, c, end))
            end++;
        if (end == i)
            continue;
        band_side(canvas, c, i, end, true);
        band_side(canvas, c, i, end, false);
        reln_markup_add(canvas->text, "z");
        i = end;
    }
    reln_markup_add(canvas->text, "\"/>\n");
}

static void put_whisker(RelnCanvas *canvas, double px, double low, double high)
{
    const double p = y_or_end(canvas, low), q = y_or_end(canvas, high);

    put_pair(canvas->text, "M", px - 3.0, p);
    put_pair(canvas->text, "h6M", px, p);
    put_pair(canvas->text, "L", px, q);
    put_pair(canvas->text, "M", px - 3.0, q);
    reln_markup_add(canvas->text, "h6");
}

/* `offset` is the distance from the middle of a group of bars. */
static void draw_whiskers(RelnCanvas *canvas, const RelnCurve *c, double offset, const char *kind)
{
    reln_markup_add(canvas->text, "<path");
    put_class(canvas->text, kind, c);
    reln_markup_add(canvas->text, " d=\"");
    for (ptrdiff_t i = 0; i < c->n; i++)
        if (has_spread(canvas, c, i))
            put_whisker(canvas, x_of(canvas, c, i) + offset, c->low[i], c->high[i]);
    reln_markup_add(canvas->text, "\"/>\n");
}

/* ---- clouds of points ---------------------------------------------------------------------------------------- */

/* Cells is a grid of square cells over the canvas; a cell holds one point. */
typedef struct Cells {
    unsigned char *taken;
    ptrdiff_t columns, rows;
    double size;
} Cells;

static bool take_cell(Cells *cells, double px, double py)
{
    const ptrdiff_t i = (ptrdiff_t)(px / cells->size), j = (ptrdiff_t)(py / cells->size);

    if (px < 0.0 || py < 0.0 || i >= cells->columns || j >= cells->rows ||
        cells->taken[j * cells->columns + i])
        return false;
    cells->taken[j * cells->columns + i] = 1;
    return true;
}

/* Visits the points that are the first in their cells, draws them if asked, and returns their number. */
static ptrdiff_t walk_cells(RelnCanvas *canvas, const RelnCurve *c, Cells *cells, bool draw)
{
    ptrdiff_t n_kept = 0;

    memset(cells->taken, 0, (size_t)(cells->columns * cells->rows));
    for (ptrdiff_t i = 0; i < c->n; i++) {
        if (!is_shown(canvas, c, i) || !take_cell(cells, x_of(canvas, c, i), y_of(canvas, c, i)))
            continue;
        n_kept++;
        if (draw) {
            put_pair(canvas->text, "M", x_of(canvas, c, i), y_of(canvas, c, i));
            reln_markup_add(canvas->text, "h0");
        }
    }
    return n_kept;
}

static void set_cells(const RelnCanvas *canvas, Cells *cells, double size)
{
    cells->size = size;
    cells->columns = (ptrdiff_t)(canvas->width / size) + 1;
    cells->rows = (ptrdiff_t)(canvas->height / size) + 1;
}

/* Uses the smallest cells, from half a pixel on, that leave few enough points. */
static void draw_cloud(RelnCanvas *canvas, const RelnCurve *c)
{
    RelnFault *const fault = canvas->text->fault;
    Cells cells = {0};
    ptrdiff_t n_kept;

    set_cells(canvas, &cells, 0.5);
    cells.taken =
        reln_fault_check(fault, reln_alloc(fault->ctx, (size_t)(cells.columns * cells.rows), 1));
    if (!cells.taken)
        return;
    while ((n_kept = walk_cells(canvas, c, &cells, false)) > DOTS)
        set_cells(canvas, &cells, 1.5 * cells.size);
    reln_markup_add(canvas->text, "<path");
    put_class(canvas->text, "d", c);
    reln_markup_add(canvas->text, " d=\"");
    walk_cells(canvas, c, &cells, true);
    reln_markup_add(canvas->text, "\"/>\n");
    if (cells.size > 0.5) /* otherwise the points left out lie exactly on drawn points */
        canvas->n_thinned += c->n - n_kept;
    reln_free(fault->ctx, cells.taken);
}

/* ---- bars ---------------------------------------------------------------------------------------------------- */

static double base_of(const RelnCanvas *canvas)
{
    return y_or_end(canvas, 0.0);
}

static void put_rectangle(RelnCanvas *canvas, const RelnCurve *c, ptrdiff_t i, double left,
                          double width)
{
    const double top = y_of(canvas, c, i), base = base_of(canvas);

    reln_markup_add(canvas->text, "<rect");
    put_class(canvas->text, "r", c);
    reln_markup_add(canvas->text, " x=\"");
    reln_markup_fixed(canvas->text, left);
    reln_markup_add(canvas->text, "\" y=\"");
    reln_markup_fixed(canvas->text, fmin(top, base));
    reln_markup_add(canvas->text, "\" width=\"");
    reln_markup_fixed(canvas->text, width);
    reln_markup_add(canvas->text, "\" height=\"");
    reln_markup_fixed(canvas->text, fabs(base - top));
    reln_markup_add(canvas->text, "\">");
    put_tip(canvas, c, i);
    reln_markup_add(canvas->text, "</rect>\n");
}

/* Draws bars; those of several series at the same x stand side by side, in at most 0.8 of a unit. */
static void draw_bars(RelnCanvas *canvas, const RelnCurve *c)
{
    const int n = canvas->plot->n_bars;
    const double unit = reln_ruler_pixel(&canvas->x, 2.0) - reln_ruler_pixel(&canvas->x, 1.0);
    const double width = fmin(0.8 * unit / n, 60.0), offset = ((double)c->group - 0.5 * n) * width;

    for (ptrdiff_t i = 0; i < c->n; i++) {
        if (is_shown(canvas, c, i))
            put_rectangle(canvas, c, i, x_of(canvas, c, i) + offset + 0.04 * width, 0.92 * width);
    }
    if (c->low)
        draw_whiskers(canvas, c, offset + 0.5 * width, "w ink");
}

/* Draws one outline: adjacent bins touch. */
static void draw_histogram(RelnCanvas *canvas, const RelnCurve *c)
{
    reln_markup_add(canvas->text, "<path");
    put_class(canvas->text, "h", c);
    put_pair(canvas->text, " d=\"M", x_of(canvas, c, 0), base_of(canvas));
    for (ptrdiff_t i = 0; i < c->n; i++) {
        reln_markup_add(canvas->text, "V");
        reln_markup_fixed(canvas->text, y_or_end(canvas, c->y[i]));
        reln_markup_add(canvas->text, "H");
        reln_markup_fixed(canvas->text, x_of(canvas, c, i + 1));
    }
    reln_markup_add(canvas->text, "V");
    reln_markup_fixed(canvas->text, base_of(canvas));
    reln_markup_add(canvas->text, "z\"/>\n");
}

/* ---- all kinds -------------------------------------------------------------------------------------------------- */

static void draw_points(RelnCanvas *canvas, const RelnCurve *c)
{
    if (c->low && c->n <= HOVER)
        draw_whiskers(canvas, c, 0.0, "w");
    else if (c->low)
        draw_band(canvas, c);
    if (c->n <= HOVER)
        draw_all_markers(canvas, c);
    else
        draw_cloud(canvas, c);
}

static void draw_curve(RelnCanvas *canvas, const RelnCurve *c)
{
    if (c->low)
        draw_band(canvas, c);
    draw_line(canvas, c);
    if (c->mark == RELN_MARK_LINE_POINTS && c->n <= HOVER)
        draw_all_markers(canvas, c);
    else if (canvas->plot->n_curves > 1)
        draw_sparse_markers(canvas, c);
}

static void count_hidden(RelnCanvas *canvas, const RelnCurve *c)
{
    for (ptrdiff_t i = 0; i < c->n; i++)
        if (!is_shown(canvas, c, i) && !(c->mark == RELN_MARK_HISTOGRAM && c->y[i] == 0.0))
            canvas->n_hidden++;
}

void reln_curve_draw(RelnCanvas *canvas, const RelnCurve *c)
{
    count_hidden(canvas, c);
    if (c->mark == RELN_MARK_HISTOGRAM)
        draw_histogram(canvas, c);
    else if (c->mark == RELN_MARK_BARS)
        draw_bars(canvas, c);
    else if (c->mark == RELN_MARK_POINTS)
        draw_points(canvas, c);
    else
        draw_curve(canvas, c);
}

/* ---- names of points ----------------------------------------------------------------------------------------- */

static bool overlap(const RelnBox *a, const RelnBox *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

static bool is_free(const RelnCanvas *canvas, RelnBox b)
{
    if (b.left < canvas->left || b.right > canvas->right + 8.0 || b.top < canvas->top ||
        b.bottom > canvas->bottom)
        return false;
    for (int i = 0; i < canvas->n_boxes; i++)
        if (overlap(&b, &canvas->boxes[i]))
            return false;
    return true;
}

void reln_canvas_reserve(RelnCanvas *canvas, RelnBox box)
{
    if (canvas->n_boxes < RELN_BOXES)
        canvas->boxes[canvas->n_boxes++] = box;
}

ptrdiff_t reln_curve_points_in(const RelnCanvas *canvas, RelnBox box)
{
    ptrdiff_t n = 0;

    for (const RelnCurve *c = canvas->plot->curves; c; c = c->next) {
        for (ptrdiff_t i = 0; i < c->n; i++) {
            const double px = is_shown(canvas, c, i) ? x_of(canvas, c, i) : -1.0;

            if (px >= box.left && px <= box.right) {
                const double py = y_of(canvas, c, i);

                n += py >= box.top - 4.0 && py <= box.bottom + 4.0;
            }
        }
    }
    return n;
}

/* Puts the name right of the point, left, above or below: the first free place. If there is none, the name
 * shows only when the pointer rests on the point. */
static void put_label(RelnCanvas *canvas, double px, double py, const char *label)
{
    const double w = reln_label_width(label);
    const RelnBox tries[] = {{px + 6.0, py - 7.0, px + 6.0 + w, py + 6.0},
                             {px - 6.0 - w, py - 7.0, px - 6.0, py + 6.0},
                             {px - 0.5 * w, py - 19.0, px + 0.5 * w, py - 6.0},
                             {px - 0.5 * w, py + 6.0, px + 0.5 * w, py + 19.0}};

    for (int i = 0; i < 4; i++) {
        static const char *const anchors[] = {"", " class=\"e\"", " class=\"c\"", " class=\"c\""};
        const RelnBox b = tries[i];

        if (!is_free(canvas, b))
            continue;
        reln_canvas_reserve(canvas, b);
        reln_markup_addf(canvas->text, "<text%s x=\"", anchors[i]);
        reln_markup_fixed(canvas->text, i == 0 ? b.left : i == 1 ? b.right : px);
        reln_markup_add(canvas->text, "\" y=\"");
        reln_markup_fixed(canvas->text, b.bottom - 2.5);
        reln_markup_add(canvas->text, "\">");
        reln_markup_escape(canvas->text, RELN_ESCAPE_HTML, label);
        reln_markup_add(canvas->text, "</text>\n");
        return;
    }
}

static void walk_labelled(RelnCanvas *canvas, bool draw)
{
    for (const RelnCurve *c = canvas->plot->curves; c; c = c->next) {
        for (ptrdiff_t i = 0; c->labels && i < c->n && i < RELN_BOXES; i++) {
            if (!c->labels[i] || !is_shown(canvas, c, i))
                continue;
            const double px = x_of(canvas, c, i), py = y_of(canvas, c, i);

            if (draw)
                put_label(canvas, px, py, c->labels[i]);
            else
                reln_canvas_reserve(canvas, (RelnBox){px - 4.0, py - 4.0, px + 4.0, py + 4.0});
        }
    }
}

void reln_curve_labels(RelnCanvas *canvas)
{
    walk_labelled(canvas, false); /* marks the places of points, so that names do not cover them */
    walk_labelled(canvas, true);
}
