/* svg.c -- draws a plot as SVG: layout, grid and ticks, legend, reference lines, caption. */
#include "report/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 18, DIRECT = 32 }; /* height of a line of text; largest number of names at ends of lines */

double reln_label_width(const char *text)
{
    return 7.2 * (double)reln_report_width(text);
}

static void put_text(RelnCanvas *canvas, const char *kind, double px, double py, const char *text)
{
    reln_markup_addf(canvas->text, "<text class=\"%s\" x=\"", kind);
    reln_markup_fixed(canvas->text, px);
    reln_markup_add(canvas->text, "\" y=\"");
    reln_markup_fixed(canvas->text, py);
    reln_markup_add(canvas->text, "\">");
    reln_markup_escape(canvas->text, RELN_ESCAPE_HTML, text);
    reln_markup_add(canvas->text, "</text>\n");
}

static void put_move(RelnMarkup *text, double px, double py)
{
    reln_markup_add(text, "M");
    reln_markup_fixed(text, px);
    reln_markup_add(text, " ");
    reln_markup_fixed(text, py);
}

static void put_segment(RelnMarkup *text, const char *kind, double px, double py, double qx,
                        double qy)
{
    reln_markup_addf(text, "<path class=\"%s\" d=\"", kind);
    put_move(text, px, py);
    reln_markup_add(text, "L");
    reln_markup_fixed(text, qx);
    reln_markup_add(text, " ");
    reln_markup_fixed(text, qy);
    reln_markup_add(text, "\"/>\n");
}

/* ---- layout -------------------------------------------------------------------------------------------------- */

static double tick_width(const RelnTick *tick)
{
    return tick->power ? reln_label_width("10") + 0.95 * reln_label_width(tick->text)
                       : reln_label_width(tick->text);
}

static double widest_tick(const RelnRuler *ruler)
{
    double width = 0.0;

    for (int i = 0; i < ruler->n_ticks; i++)
        width = fmax(width, tick_width(&ruler->ticks[i]));
    return width;
}

static double widest_name(const RelnPlotAxis *axis)
{
    double width = 0.0;

    for (ptrdiff_t i = 0; i < axis->n_names; i++)
        width = fmax(width, reln_label_width(axis->names[i]));
    return width;
}

static bool is_line(const RelnCurve *c)
{
    return c->mark == RELN_MARK_LINE || c->mark == RELN_MARK_LINE_POINTS ||
           c->mark == RELN_MARK_STEP;
}

static bool is_direct(const RelnCanvas *canvas, const RelnCurve *c)
{
    return canvas->plot->direct && c->name && is_line(c) && !reln_plot_has_picks(canvas->plot);
}

static double direct_width(const RelnCanvas *canvas)
{
    double width = 0.0;

    for (const RelnCurve *c = canvas->plot->curves; c; c = c->next)
        if (is_direct(canvas, c))
            width = fmax(width, 1.12 * reln_label_width(c->name) + 8.0);
    return fmin(width, 0.35 * canvas->width);
}

/* Returns whether names of categories are slanted, because they would overlap. */
static bool is_slanted(const RelnCanvas *canvas)
{
    const RelnPlotAxis *axis = &canvas->plot->x;
    const double room =
        (canvas->right - canvas->left) / (double)(axis->n_names ? axis->n_names : 1);

    return axis->n_names > 0 && widest_name(axis) + 6.0 > room;
}

static double room_below(const RelnCanvas *canvas)
{
    const double names =
        is_slanted(canvas) ? 0.6 * fmin(widest_name(&canvas->plot->x), 140.0) : 0.0;
    const bool label = canvas->plot->x.label || canvas->x.exponent != 0;

    return 24.0 + names + (label ? LINE + 2.0 : 0.0);
}

typedef struct Place {
    double x, y;
} Place;

/* Returns the position of the next entry of the legend; begins a new line when the current one is full. */
static Place next_entry(const RelnCanvas *canvas, Place *pen, const char *name)
{
    const double width = 30.0 + reln_label_width(name) + 16.0;
    Place at;

    if (pen->x > 0.0 && pen->x + width > canvas->width)
        *pen = (Place){0.0, pen->y + LINE};
    at = *pen;
    pen->x += width;
    return at;
}

static bool is_in_legend(const RelnCanvas *canvas, const RelnCurve *c)
{
    const bool picked = reln_plot_has_picks(canvas->plot) && c->mark < RELN_MARK_BARS;

    return c->name && !is_direct(canvas, c) && !picked;
}

static double legend_height(const RelnCanvas *canvas)
{
    Place pen = {0.0, 0.0};
    bool any = false;

    for (const RelnCurve *c = canvas->plot->curves; c; c = c->next) {
        if (is_in_legend(canvas, c)) {
            next_entry(canvas, &pen, c->name);
            any = true;
        }
    }
    return any ? pen.y + LINE + 4.0 : 0.0;
}

static void set_pixels(RelnCanvas *canvas)
{
    canvas->x.first = canvas->left, canvas->x.last = canvas->right;
    canvas->y.first = canvas->bottom, canvas->y.last = canvas->top;
}

static void stretch(RelnRuler *ruler, double length)
{
    const double more = 0.5 * (length - (ruler->to - ruler->from));

    if (more > 0.0)
        ruler->from -= more, ruler->to += more;
}

/* Makes one unit equally long on both axes: the axis with more pixels shows more. */
static void equalise(RelnCanvas *canvas)
{
    const double w = canvas->right - canvas->left, h = canvas->bottom - canvas->top;
    const double unit =
        fmax((canvas->x.to - canvas->x.from) / w, (canvas->y.to - canvas->y.from) / h);

    stretch(&canvas->x, unit * w);
    stretch(&canvas->y, unit * h);
}

static bool is_equal(const RelnPlot *plot)
{
    return plot->equal && plot->x.scale == plot->y.scale && plot->x.n_names == 0;
}

static double data_height(const RelnCanvas *canvas)
{
    const double w = canvas->right - canvas->left;
    const double share = (canvas->y.to - canvas->y.from) / (canvas->x.to - canvas->x.from);

    if (is_equal(canvas->plot))
        return w * fmin(1.0, fmax(0.4, share));
    return canvas->plot->columns == 1 ? 0.44 * w : 0.7 * w;
}

static void divide(RelnCanvas *canvas, double width, double height)
{
    const bool equal = is_equal(canvas->plot); /* equal scales also have equal tick steps */

    reln_ruler_divide(&canvas->x, fmax(2.0, width / (equal ? 50.0 : 90.0)));
    reln_ruler_divide(&canvas->y, fmax(2.0, height / (equal ? 50.0 : 45.0)));
}

static void lay_out(RelnCanvas *canvas)
{
    static const double widths[] = {824.0, 398.0, 256.0, 200.0};
    const RelnPlot *plot = canvas->plot;
    const double full = widths[plot->columns - 1];

    canvas->width = plot->equal && plot->columns == 1 ? 520.0 : full;
    reln_rulers_fit(plot, &canvas->x, &canvas->y);
    divide(canvas, canvas->width, 0.5 * canvas->width);
    canvas->left = 10.0 + widest_tick(&canvas->y);
    canvas->right = canvas->width - fmax(14.0, direct_width(canvas));
    canvas->top = 10.0 + legend_height(canvas) +
                  (plot->y.label || canvas->y.exponent != 0 ? LINE + 2.0 : 0.0);
    canvas->bottom = canvas->top + data_height(canvas);
    canvas->height = canvas->bottom + room_below(canvas);
    if (is_equal(plot))
        equalise(canvas);
    divide(canvas, canvas->right - canvas->left, canvas->bottom - canvas->top);
    if (canvas->left < 10.0 + widest_tick(&canvas->y)) { /* finer ticks have longer numbers */
        canvas->left = 10.0 + widest_tick(&canvas->y);
        divide(canvas, canvas->right - canvas->left, canvas->bottom - canvas->top);
    }
    set_pixels(canvas);
}

/* ---- axes ---------------------------------------------------------------------------------------------------- */

/* Draws grid lines of one axis, in one path; minor ticks are short marks at the axis. */
static void draw_grid(RelnCanvas *canvas, const RelnRuler *ruler, bool vertical, bool major)
{
    reln_markup_addf(canvas->text, "<path class=\"%s\" d=\"", major ? "g" : "t");
    for (int i = 0; i < ruler->n_ticks; i++) {
        const RelnTick *tick = &ruler->ticks[i];
        const double p = reln_ruler_pixel(ruler, tick->value);

        if (tick->major != major || (major && vertical && canvas->plot->x.n_names > 0))
            continue;
        put_move(canvas->text, vertical ? p : canvas->left, vertical ? canvas->bottom : p);
        reln_markup_add(canvas->text, vertical ? "V" : "H");
        reln_markup_fixed(canvas->text, vertical ? (major ? canvas->top : canvas->bottom + 4.0)
                                                 : (major ? canvas->right : canvas->left - 4.0));
    }
    reln_markup_add(canvas->text, "\"/>\n");
}

static void put_tick(RelnCanvas *canvas, const RelnTick *tick, const char *kind, double px,
                     double py)
{
    if (!tick->power) {
        put_text(canvas, kind, px, py, tick->text);
        return;
    }
    reln_markup_addf(canvas->text, "<text class=\"%s\" x=\"", kind);
    reln_markup_fixed(canvas->text, px);
    reln_markup_add(canvas->text, "\" y=\"");
    reln_markup_fixed(canvas->text, py);
    reln_markup_addf(canvas->text, "\">10<tspan class=\"p\" dy=\"-5\">%s</tspan></text>\n",
                     tick->text);
}

static void draw_ticks(RelnCanvas *canvas, const RelnRuler *ruler, bool vertical)
{
    for (int i = 0; i < ruler->n_ticks; i++) {
        const RelnTick *tick = &ruler->ticks[i];
        const double p = reln_ruler_pixel(ruler, tick->value);

        if (!tick->major)
            continue;
        if (vertical)
            put_tick(canvas, tick, "c", p, canvas->bottom + 18.0);
        else
            put_tick(canvas, tick, "e", canvas->left - 8.0, p + 4.0);
    }
}

static void draw_names(RelnCanvas *canvas)
{
    const RelnPlotAxis *axis = &canvas->plot->x;
    const bool slanted = is_slanted(canvas);

    for (ptrdiff_t i = 0; i < axis->n_names; i++) {
        const double p = reln_ruler_pixel(&canvas->x, (double)i);

        if (!slanted) {
            put_text(canvas, "c", p, canvas->bottom + 18.0, axis->names[i]);
            continue;
        }
        reln_markup_add(canvas->text, "<g transform=\"translate(");
        reln_markup_fixed(canvas->text, p + 4.0);
        reln_markup_add(canvas->text, " ");
        reln_markup_fixed(canvas->text, canvas->bottom + 14.0);
        reln_markup_add(canvas->text, ") rotate(-35)\">");
        put_text(canvas, "e", 0.0, 0.0, axis->names[i]);
        reln_markup_add(canvas->text, "</g>\n");
    }
}

/* Writes "label  (×10^3)": the common factor of the ticks belongs to the label. */
static void put_axis_label(RelnCanvas *canvas, const RelnRuler *ruler, const char *kind, double px,
                           double py)
{
    const char *label = ruler->axis->label;
    const int e = ruler->exponent;

    if (!label && e == 0)
        return;
    reln_markup_addf(canvas->text, "<text class=\"a %s\" x=\"", kind);
    reln_markup_fixed(canvas->text, px);
    reln_markup_add(canvas->text, "\" y=\"");
    reln_markup_fixed(canvas->text, py);
    reln_markup_add(canvas->text, "\">");
    reln_markup_escape(canvas->text, RELN_ESCAPE_HTML, label ? label : "");
    if (e != 0)
        reln_markup_addf(canvas->text, "%s×10<tspan class=\"p\" dy=\"-5\">%s%d</tspan>",
                         label ? ", " : "", e < 0 ? "−" : "", e < 0 ? -e : e);
    reln_markup_add(canvas->text, "</text>\n");
}

static void draw_axes(RelnCanvas *canvas)
{
    draw_grid(canvas, &canvas->x, true, true);
    draw_grid(canvas, &canvas->y, false, true);
    draw_grid(canvas, &canvas->x, true, false);
    draw_grid(canvas, &canvas->y, false, false);
    put_segment(canvas->text, "x", canvas->left, canvas->bottom, canvas->right, canvas->bottom);
    if (canvas->plot->x.n_names > 0)
        draw_names(canvas);
    else
        draw_ticks(canvas, &canvas->x, true);
    draw_ticks(canvas, &canvas->y, false);
    put_axis_label(canvas, &canvas->y, "s", 0.0, canvas->top - 10.0);
    put_axis_label(canvas, &canvas->x, "c", 0.5 * (canvas->left + canvas->right),
                   canvas->height - 7.0);
}

/* ---- reference lines ----------------------------------------------------------------------------------------- */

static double at_unit(const RelnRuler *ruler, double unit)
{
    const double t = (0.5 * unit - 0.5 * ruler->from) / (0.5 * ruler->to - 0.5 * ruler->from);

    return ruler->first + t * (ruler->last - ruler->first);
}

/* Puts a label above a horizontal line from begin on (or below it, at the top), at the end with fewer
 * points. */
static void put_flat_label(RelnCanvas *canvas, const char *label, double begin, double py)
{
    const double w = reln_label_width(label), y = py < canvas->top + 12.0 ? py + 14.0 : py - 5.0;
    const RelnBox right = {canvas->right - 4.0 - w, y - 11.0, canvas->right - 4.0, y + 3.0};
    const RelnBox left = {begin + 4.0, y - 11.0, begin + 4.0 + w, y + 3.0};
    const bool at_left = reln_curve_points_in(canvas, left) < reln_curve_points_in(canvas, right);

    put_text(canvas, at_left ? "q s" : "q e", at_left ? left.left : right.right, y, label);
    reln_canvas_reserve(canvas, at_left ? left : right);
}

static void draw_hline(RelnCanvas *canvas, const RelnRef *r)
{
    const double p = reln_ruler_pixel(&canvas->y, r->at);

    put_segment(canvas->text, "f", canvas->left, p, canvas->right, p);
    if (r->label)
        put_flat_label(canvas, r->label, canvas->left, p);
}

/* Puts its label at the top, on the side that has room. */
static void draw_vline(RelnCanvas *canvas, const RelnRef *r)
{
    const double p = reln_ruler_pixel(&canvas->x, r->at);
    const bool left = r->label && p + 6.0 + reln_label_width(r->label) > canvas->right;

    put_segment(canvas->text, "f", p, canvas->top, p, canvas->bottom);
    if (r->label)
        put_text(canvas, left ? "q e" : "q s", left ? p - 5.0 : p + 5.0, canvas->top + 12.0,
                 r->label);
}

static void draw_diagonal(RelnCanvas *canvas, const RelnRef *r)
{
    const RelnRuler *x = &canvas->x, *y = &canvas->y;
    const double a = fmax(x->from, y->from), b = fmin(x->to, y->to);

    if (x->axis->scale != y->axis->scale || a >= b)
        return;
    put_segment(canvas->text, "f", at_unit(x, a), at_unit(y, a), at_unit(x, b), at_unit(y, b));
    if (r->label)
        put_text(canvas, "q e", at_unit(x, b) - 14.0, at_unit(y, b) + 14.0, r->label);
}

/* Puts a label along the slope, a third of the way up. */
static void draw_slope_label(RelnCanvas *canvas, const RelnRef *r, double begin, double ridge)
{
    const RelnRuler *x = &canvas->x, *y = &canvas->y;
    const double u = begin + 0.4 * (ridge - begin), slope = log10(r->slope);
    const double dx = at_unit(x, ridge) - at_unit(x, begin);
    const double dy = at_unit(y, slope + ridge) - at_unit(y, slope + begin);

    reln_markup_add(canvas->text, "<g transform=\"translate(");
    reln_markup_fixed(canvas->text, at_unit(x, u));
    reln_markup_add(canvas->text, " ");
    reln_markup_fixed(canvas->text, at_unit(y, slope + u));
    reln_markup_add(canvas->text, ") rotate(");
    reln_markup_fixed(canvas->text, atan2(dy, dx) * 57.29577951308232);
    reln_markup_add(canvas->text, ")\">");
    put_text(canvas, "q c", 0.0, -6.0, r->slope_label);
    reln_markup_add(canvas->text, "</g>\n");
}

/* log y = min(log peak, log bandwidth + log x): two straight lines. */
static void draw_roof(RelnCanvas *canvas, const RelnRef *r)
{
    const RelnRuler *x = &canvas->x, *y = &canvas->y;
    const double peak = log10(r->at), slope = log10(r->slope), ridge = peak - slope;
    const double begin = fmax(x->from, y->from - slope);

    if (x->axis->scale != RELN_AXIS_LOG || y->axis->scale != RELN_AXIS_LOG)
        return;
    if (begin < ridge) {
        put_segment(canvas->text, "o", at_unit(x, begin), at_unit(y, slope + begin),
                    at_unit(x, ridge), at_unit(y, peak));
        if (r->slope_label)
            draw_slope_label(canvas, r, begin, ridge);
    }
    put_segment(canvas->text, "o", at_unit(x, ridge), at_unit(y, peak), canvas->right,
                at_unit(y, peak));
    if (r->label)
        put_flat_label(canvas, r->label, at_unit(x, ridge), at_unit(y, peak));
}

static void draw_refs(RelnCanvas *canvas)
{
    for (const RelnRef *r = canvas->plot->refs; r; r = r->next) {
        if (r->kind == RELN_REF_HLINE && reln_ruler_shows(&canvas->y, r->at))
            draw_hline(canvas, r);
        else if (r->kind == RELN_REF_VLINE && reln_ruler_shows(&canvas->x, r->at))
            draw_vline(canvas, r);
        else if (r->kind == RELN_REF_DIAGONAL)
            draw_diagonal(canvas, r);
        else if (r->kind == RELN_REF_ROOF)
            draw_roof(canvas, r);
    }
}

/* ---- names --------------------------------------------------------------------------------------------------- */

/* Draws a sample of the curve for the legend, 22 by 10 pixels. */
static void draw_swatch(RelnCanvas *canvas, const RelnCurve *c, double px, double py)
{
    const int colour = c->colour % RELN_PLOT_COLOURS;

    if (c->mark >= RELN_MARK_BARS) {
        reln_markup_addf(canvas->text, "<rect class=\"r k%d\" x=\"", colour);
        reln_markup_fixed(canvas->text, px + 5.0);
        reln_markup_add(canvas->text, "\" y=\"");
        reln_markup_fixed(canvas->text, py - 5.0);
        reln_markup_add(canvas->text, "\" width=\"12\" height=\"10\"/>\n");
        return;
    }
    if (c->mark != RELN_MARK_POINTS) {
        reln_markup_addf(canvas->text, "<path class=\"l k%d%s\" d=\"", colour, reln_curve_dash(c));
        put_move(canvas->text, px, py);
        reln_markup_add(canvas->text, "h22\"/>\n");
    }
    if (c->mark == RELN_MARK_POINTS || c->mark == RELN_MARK_LINE_POINTS ||
        canvas->plot->n_curves > 1)
        reln_curve_marker(canvas, c, px + 11.0, py);
}

static void draw_legend(RelnCanvas *canvas)
{
    Place pen = {0.0, 0.0};

    for (const RelnCurve *c = canvas->plot->curves; c; c = c->next) {
        if (!is_in_legend(canvas, c))
            continue;
        const Place at = next_entry(canvas, &pen, c->name);

        draw_swatch(canvas, c, at.x, at.y + 10.0);
        put_text(canvas, "s", at.x + 28.0, at.y + 14.0, c->name);
    }
}

typedef struct Ending {
    const RelnCurve *curve;
    double y;
} Ending;

/* Finds the last point that is drawn. */
static bool find_ending(const RelnCanvas *canvas, const RelnCurve *c, Ending *out)
{
    for (ptrdiff_t i = c->n - 1; i >= 0; i--) {
        if (reln_ruler_shows(&canvas->x, c->x[i]) && reln_ruler_shows(&canvas->y, c->y[i])) {
            const double py = reln_ruler_pixel(&canvas->y, c->y[i]);

            *out = (Ending){c, fmin(fmax(py, canvas->top), canvas->bottom)};
            return true;
        }
    }
    return false;
}

static int by_y(const void *a, const void *b)
{
    const Ending *p = a, *q = b;

    return p->y < q->y ? -1 : p->y > q->y ? 1 : p->curve->colour - q->curve->colour;
}

/* Arranges names in the order of the ends: moved down where they would touch, then up from the bottom. */
static void spread(Ending *all, int n, double bottom)
{
    const double step = 14.0;

    for (int i = 1; i < n; i++)
        all[i].y = fmax(all[i].y, all[i - 1].y + step);
    for (int i = n - 1; i >= 0; i--)
        all[i].y = fmin(all[i].y, i == n - 1 ? bottom : all[i + 1].y - step);
}

static void draw_direct(RelnCanvas *canvas)
{
    Ending all[DIRECT];
    int n = 0;

    for (const RelnCurve *c = canvas->plot->curves; c && n < DIRECT; c = c->next)
        if (is_direct(canvas, c) && find_ending(canvas, c, &all[n]))
            n++;
    if (n > 0)
        qsort(all, (size_t)n, sizeof *all, by_y);
    spread(all, n, canvas->bottom);
    for (int i = 0; i < n; i++) {
        reln_markup_addf(canvas->text, "<g class=\"k%d\">",
                         all[i].curve->colour % RELN_PLOT_COLOURS);
        put_text(canvas, "i", canvas->right + 6.0, all[i].y + 4.0, all[i].curve->name);
        reln_markup_add(canvas->text, "</g>\n");
    }
}

/* ---- texts -------------------------------------------------------------------------------------------------------- */

static void describe_axis(RelnMarkup *text, const char *which, const RelnPlotAxis *axis)
{
    reln_markup_addf(text, "%s: ", which);
    reln_markup_escape(text, RELN_ESCAPE_HTML, axis->label ? axis->label : "no label");
    reln_markup_add(text, axis->scale == RELN_AXIS_LOG ? ", logarithmic. " : ". ");
}

static void describe_curve(RelnMarkup *text, const RelnCurve *c)
{
    double low = (double)INFINITY, high = -(double)INFINITY;
    char buf[RELN_NUMBER_TEXT];

    for (ptrdiff_t i = 0; i < c->n; i++)
        if (isfinite(c->y[i]))
            low = fmin(low, c->y[i]), high = fmax(high, c->y[i]);
    reln_markup_escape(text, RELN_ESCAPE_HTML, c->name ? c->name : "series");
    reln_markup_addf(text, ": %s %s", reln_report_count(buf, c->n),
                     c->mark >= RELN_MARK_BARS ? "bars" : "points");
    if (low <= high) {
        reln_markup_addf(text, " from %s", reln_report_number(buf, low, 3));
        reln_markup_addf(text, " to %s", reln_report_number(buf, high, 3));
    }
    reln_markup_add(text, ". ");
}

static void put_description(const RelnCanvas *canvas)
{
    RelnMarkup *const text = canvas->text;

    reln_markup_addf(text, "<title id=\"p%dt\">", canvas->number);
    reln_markup_escape(text, RELN_ESCAPE_HTML, canvas->plot->title);
    reln_markup_addf(text, "</title>\n<desc id=\"p%dd\">", canvas->number);
    describe_axis(text, "x", &canvas->plot->x);
    describe_axis(text, "y", &canvas->plot->y);
    for (const RelnCurve *c = canvas->plot->curves; c; c = c->next)
        describe_curve(text, c);
    reln_markup_add(text, "</desc>\n");
}

static void put_caption(const RelnCanvas *canvas)
{
    RelnMarkup *const text = canvas->text;
    char buf[RELN_NUMBER_TEXT];

    reln_markup_add(text, "<figcaption><b>");
    reln_markup_escape(text, RELN_ESCAPE_HTML, canvas->plot->title);
    reln_markup_add(text, ".</b>");
    if (canvas->plot->note) {
        reln_markup_add(text, " ");
        reln_markup_escape(text, RELN_ESCAPE_HTML, canvas->plot->note);
    }
    if (canvas->n_hidden > 0)
        reln_markup_addf(
            text, " <i>Not drawn: %s %s.</i>", reln_report_count(buf, canvas->n_hidden),
            canvas->plot->x.scale == RELN_AXIS_LOG || canvas->plot->y.scale == RELN_AXIS_LOG
                ? "not finite or not positive"
                : "not finite");
    if (canvas->n_thinned > 0)
        reln_markup_addf(text, " <i>Thinned: %s points lie on those shown.</i>",
                         reln_report_count(buf, canvas->n_thinned));
    reln_markup_add(text, "</figcaption></figure>\n");
}

/* ---- the whole ----------------------------------------------------------------------------------------------- */

static void open_svg(const RelnCanvas *canvas)
{
    RelnMarkup *const text = canvas->text;
    const int wide = (int)ceil(canvas->width), high = (int)ceil(canvas->height);

    reln_markup_add(text, "<figure>");
    reln_picks_boxes(canvas);
    reln_markup_addf(text,
                     "<div class=\"scroll\"><svg viewBox=\"0 0 %d %d\" role=\"img\" "
                     "aria-labelledby=\"p%dt p%dd\" style=\"max-width:%dpx;min-width:%dpx\">\n",
                     wide, high, canvas->number, canvas->number, wide,
                     wide > 560 ? 560 : wide * 3 / 4);
}

/* The clip is a little larger than the axes, so that marks at the edge are not cut. */
static void open_clip(const RelnCanvas *canvas)
{
    RelnMarkup *const text = canvas->text;

    reln_markup_addf(text, "<clipPath id=\"p%dc\"><rect x=\"", canvas->number);
    reln_markup_fixed(text, canvas->left - 4.0);
    reln_markup_add(text, "\" y=\"");
    reln_markup_fixed(text, canvas->top - 4.0);
    reln_markup_add(text, "\" width=\"");
    reln_markup_fixed(text, canvas->right - canvas->left + 8.0);
    reln_markup_add(text, "\" height=\"");
    reln_markup_fixed(text, canvas->bottom - canvas->top + 4.0);
    reln_markup_addf(text, "\"/></clipPath>\n<g clip-path=\"url(#p%dc)\">\n", canvas->number);
}

static void draw_pickable(RelnCanvas *canvas, const RelnCurve *c)
{
    const int pick = reln_plot_has_picks(canvas->plot) ? reln_plot_pick(canvas->plot, c) : -1;

    if (pick >= 0)
        reln_markup_addf(canvas->text, "<g class=\"q%d\">\n", pick);
    reln_curve_draw(canvas, c);
    if (pick >= 0)
        reln_markup_add(canvas->text, "</g>\n");
}

void reln_plot_svg(const RelnPlot *plot, int number, RelnMarkup *text)
{
    RelnCanvas canvas = {.plot = plot, .text = text, .number = number};

    lay_out(&canvas);
    open_svg(&canvas);
    put_description(&canvas);
    draw_axes(&canvas);
    draw_legend(&canvas);
    open_clip(&canvas);
    for (const RelnCurve *c = plot->curves; c; c = c->next)
        draw_pickable(&canvas, c);
    draw_refs(&canvas);
    reln_markup_add(text, "</g>\n");
    reln_curve_labels(&canvas);
    draw_direct(&canvas);
    reln_markup_add(text, "</svg></div>\n");
    reln_picks_labels(&canvas);
    put_caption(&canvas);
}
