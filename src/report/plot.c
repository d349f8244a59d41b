/* plot.c -- fills a plot: axes, series, reference lines. */
#include "report/plot.h"

#include <math.h>
#include <string.h>

static bool is_open(const RelnPlot *plot)
{
    return plot && plot->fault->status == RELN_OK;
}

static const char *copy(RelnPlot *plot, const char *text)
{
    if (!text)
        return NULL;
    return reln_fault_check(plot->fault, reln_arena_copy(plot->arena, text, strlen(text) + 1, 1));
}

static const char **copy_all(RelnPlot *plot, ptrdiff_t n, const char *const *texts)
{
    const char **all =
        reln_fault_check(plot->fault, reln_arena_alloc(plot->arena, (size_t)n, sizeof *all));

    for (ptrdiff_t i = 0; all && i < n; i++)
        all[i] = copy(plot, texts[i]);
    return all;
}

static double *numbers(RelnPlot *plot, ptrdiff_t n)
{
    return reln_fault_check(plot->fault, reln_arena_alloc(plot->arena, (size_t)n, sizeof(double)));
}

/* If values is NULL, uses 0, 1, 2 ... */
static const double *copy_numbers(RelnPlot *plot, ptrdiff_t n, const double *values)
{
    double *all = numbers(plot, n);

    for (ptrdiff_t i = 0; all && i < n; i++)
        all[i] = values ? values[i] : (double)i;
    return all;
}

/* ---- axes ---------------------------------------------------------------------------------------------------- */

static void set_scale(RelnPlot *plot, RelnPlotAxis *axis, RelnScale scale)
{
    axis->scale = scale;
    if (axis->fixed && scale == RELN_AXIS_LOG && axis->low <= 0.0)
        reln_fault(plot->fault, RELN_ERR_ARG,
                   "range %g to %g of a logarithmic axis: wanted positive ends", axis->low,
                   axis->high);
}

static void set_axis(RelnPlot *plot, RelnPlotAxis *axis, const char *label, RelnScale scale)
{
    axis->label = copy(plot, label);
    set_scale(plot, axis, scale);
}

void reln_plot_x(RelnPlot *plot, const char *label, RelnScale scale)
{
    if (is_open(plot))
        set_axis(plot, &plot->x, label, scale);
}

void reln_plot_y(RelnPlot *plot, const char *label, RelnScale scale)
{
    if (is_open(plot))
        set_axis(plot, &plot->y, label, scale);
}

static void set_range(RelnPlot *plot, RelnPlotAxis *axis, double low, double high)
{
    if (!(high - low > 1e-290) || low < -1e300 || high > 1e300 ||
        (axis->scale == RELN_AXIS_LOG && low < 1e-300)) {
        reln_fault(plot->fault, RELN_ERR_ARG, "range %g to %g of a %s axis: wanted low < high%s",
                   low, high, axis->scale == RELN_AXIS_LOG ? "logarithmic" : "linear",
                   axis->scale == RELN_AXIS_LOG ? ", both positive" : "");
        return;
    }
    axis->fixed = true;
    axis->low = low;
    axis->high = high;
}

void reln_plot_x_range(RelnPlot *plot, double low, double high)
{
    if (is_open(plot))
        set_range(plot, &plot->x, low, high);
}

void reln_plot_y_range(RelnPlot *plot, double low, double high)
{
    if (is_open(plot))
        set_range(plot, &plot->y, low, high);
}

void reln_plot_categories(RelnPlot *plot, ptrdiff_t n, const char *const *names)
{
    if (!is_open(plot))
        return;
    if (n < 1) {
        reln_fault(plot->fault, RELN_ERR_ARG, "%td categories: wanted one or more", n);
        return;
    }
    plot->x.names = copy_all(plot, n, names);
    plot->x.n_names = plot->x.names ? n : 0;
}

void reln_plot_equal_aspect(RelnPlot *plot)
{
    if (is_open(plot))
        plot->equal = true;
}

void reln_plot_direct_labels(RelnPlot *plot)
{
    if (is_open(plot))
        plot->direct = true;
}

void reln_plot_note(RelnPlot *plot, const char *note)
{
    if (is_open(plot))
        plot->note = copy(plot, note);
}

/* ---- series -------------------------------------------------------------------------------------------------- */

static RelnCurve *add_curve(RelnPlot *plot, const char *name, int mark, ptrdiff_t n, int colour)
{
    RelnCurve *c = reln_fault_check(plot->fault, reln_arena_alloc(plot->arena, 1, sizeof *c));

    if (!c)
        return NULL;
    c->name = copy(plot, name);
    c->mark = mark;
    c->n = n;
    c->colour = colour > 0 ? colour - 1 : plot->n_curves;
    c->group = mark == RELN_MARK_BARS ? plot->n_bars++ : 0;
    plot->n_curves++;
    *(plot->last ? &plot->last->next : &plot->curves) = c;
    plot->last = c;
    return c;
}

static bool is_sound(RelnPlot *plot, const RelnSeries *s)
{
    if (s->n >= 0 && (s->y || s->n == 0) && !s->low == !s->high && (int)s->mark >= RELN_MARK_LINE &&
        s->mark <= RELN_MARK_BARS && s->colour >= 0)
        return true;
    reln_fault(
        plot->fault, RELN_ERR_ARG,
        "series \"%.60s\" of %td points, mark %d, colour %d: wanted values of y, both low and "
        "high or neither, a known mark, a colour from 0 on",
        s->name ? s->name : "", s->n, (int)s->mark, s->colour);
    return false;
}

void reln_plot_series(RelnPlot *plot, const RelnSeries *series)
{
    RelnCurve *c;

    if (!is_open(plot) || !is_sound(plot, series))
        return;
    c = add_curve(plot, series->name, (int)series->mark, series->n, series->colour);
    if (!c)
        return;
    c->x = copy_numbers(plot, c->n, series->x);
    c->y = copy_numbers(plot, c->n, series->y);
    if (series->low) {
        c->low = copy_numbers(plot, c->n, series->low);
        c->high = copy_numbers(plot, c->n, series->high);
    }
    if (series->labels)
        c->labels = copy_all(plot, c->n, series->labels);
}

void reln_plot_line(RelnPlot *plot, const char *name, ptrdiff_t n, const double *x, const double *y)
{
    reln_plot_series(plot,
                     &(RelnSeries){.name = name, .mark = RELN_MARK_LINE, .n = n, .x = x, .y = y});
}

void reln_plot_points(RelnPlot *plot, const char *name, ptrdiff_t n, const double *x,
                      const double *y)
{
    reln_plot_series(plot,
                     &(RelnSeries){.name = name, .mark = RELN_MARK_POINTS, .n = n, .x = x, .y = y});
}

void reln_plot_band(RelnPlot *plot, const char *name, ptrdiff_t n, const double *x, const double *y,
                    const double *low, const double *high)
{
    reln_plot_series(plot, &(RelnSeries){.name = name,
                                         .mark = RELN_MARK_LINE,
                                         .n = n,
                                         .x = x,
                                         .y = y,
                                         .low = low,
                                         .high = high});
}

void reln_plot_parity(RelnPlot *plot, const char *name, ptrdiff_t n, const double *truth,
                      const double *predicted)
{
    if (!is_open(plot))
        return;
    if (!plot->x.label)
        reln_plot_x(plot, "true", plot->x.scale);
    if (!plot->y.label)
        reln_plot_y(plot, "predicted", plot->y.scale);
    if (!plot->equal)
        reln_plot_diagonal(plot, NULL);
    reln_plot_equal_aspect(plot);
    reln_plot_points(plot, name, n, truth, predicted);
}

/* ---- histograms ---------------------------------------------------------------------------------------------- */

/* Converts a value to units of the axis; returns false when the axis cannot show it. */
static bool unit_of(const RelnPlot *plot, double value, double *unit)
{
    const bool log = plot->x.scale == RELN_AXIS_LOG;

    if (!(fabs(value) <= 1e300) || (log && value < 1e-300))
        return false;
    *unit = log ? log10(value) : value;
    return true;
}

/* Finds the ends of the values; equal ends are moved apart, so that a bin has a width. */
static void span(const RelnPlot *plot, ptrdiff_t n, const double *values, double *from, double *to)
{
    double u;

    *from = (double)INFINITY, *to = -(double)INFINITY;
    for (ptrdiff_t i = 0; i < n; i++)
        if (unit_of(plot, values[i], &u))
            *from = fmin(*from, u), *to = fmax(*to, u);
    if (*from > *to)
        *from = 0.0, *to = 1.0;
    if (*to - *from <= 1e-12 * fmax(fabs(*from), fabs(*to))) {
        const double half = *from == 0.0 ? 0.5 : 0.05 * fabs(*from);

        *from -= half, *to += half;
    }
}

static void count(const RelnPlot *plot, ptrdiff_t n, const double *values, double from, double to,
                  ptrdiff_t n_bins, double *counts)
{
    double u;

    for (ptrdiff_t i = 0; i < n; i++) {
        if (unit_of(plot, values[i], &u)) {
            /* halved, because the difference of two numbers near 1e300 could overflow */
            const double t = (0.5 * u - 0.5 * from) / (0.5 * to - 0.5 * from);
            const ptrdiff_t bin = (ptrdiff_t)(t * (double)n_bins);

            counts[bin < n_bins ? bin : n_bins - 1] += 1.0;
        }
    }
}

static ptrdiff_t rice(ptrdiff_t n)
{
    return (ptrdiff_t)fmin(60.0, fmax(5.0, ceil(2.0 * cbrt((double)n))));
}

void reln_plot_histogram(RelnPlot *plot, const char *name, ptrdiff_t n, const double *values,
                         ptrdiff_t n_bins)
{
    const ptrdiff_t bins = n_bins > 0 ? n_bins : rice(n);
    double from, to;
    double *edges, *counts;
    RelnCurve *c;

    if (!is_open(plot))
        return;
    if (n < 0 || bins > 100000) {
        reln_fault(plot->fault, RELN_ERR_ARG,
                   "histogram of %td values in %td bins: wanted at most 100000 bins", n, bins);
        return;
    }
    c = add_curve(plot, name, RELN_MARK_HISTOGRAM, bins, 0);
    edges = c ? numbers(plot, bins + 1) : NULL;
    counts = edges ? numbers(plot, bins) : NULL;
    if (!counts)
        return;
    span(plot, n, values, &from, &to);
    for (ptrdiff_t i = 0; i <= bins; i++) {
        const double t = (double)i / (double)bins, u = from * (1.0 - t) + to * t;

        edges[i] = plot->x.scale == RELN_AXIS_LOG ? pow(10.0, u) : u;
    }
    count(plot, n, values, from, to, bins, counts);
    c->x = edges;
    c->y = counts;
}

/* ---- reference lines ----------------------------------------------------------------------------------------- */

static RelnRef *add_ref(RelnPlot *plot, RelnRefKind kind, double at, const char *label)
{
    RelnRef *r = NULL;

    if (is_open(plot))
        r = reln_fault_check(plot->fault, reln_arena_alloc(plot->arena, 1, sizeof *r));
    if (!r)
        return NULL;
    r->kind = kind;
    r->at = at;
    r->label = copy(plot, label);
    *(plot->last_ref ? &plot->last_ref->next : &plot->refs) = r;
    plot->last_ref = r;
    return r;
}

void reln_plot_hline(RelnPlot *plot, double y, const char *label)
{
    add_ref(plot, RELN_REF_HLINE, y, label);
}

void reln_plot_vline(RelnPlot *plot, double x, const char *label)
{
    add_ref(plot, RELN_REF_VLINE, x, label);
}

void reln_plot_diagonal(RelnPlot *plot, const char *label)
{
    add_ref(plot, RELN_REF_DIAGONAL, 0.0, label);
}

void reln_plot_roof(RelnPlot *plot, double peak, const char *peak_label, double bandwidth,
                    const char *bandwidth_label)
{
    RelnRef *r;

    if (!is_open(plot))
        return;
    if (!(peak > 0.0 && bandwidth > 0.0 && peak <= 1e300 && bandwidth <= 1e300)) {
        reln_fault(plot->fault, RELN_ERR_ARG,
                   "roof of peak %g and bandwidth %g: wanted positive numbers", peak, bandwidth);
        return;
    }
    r = add_ref(plot, RELN_REF_ROOF, peak, peak_label);
    if (!r)
        return;
    r->slope = bandwidth;
    r->slope_label = copy(plot, bandwidth_label);
    set_scale(plot, &plot->x, RELN_AXIS_LOG);
    set_scale(plot, &plot->y, RELN_AXIS_LOG);
}
