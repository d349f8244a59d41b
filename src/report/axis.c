/* axis.c -- finds the ends of axes from data, places ticks at round numbers, and converts values to
 * pixels. */
#include "report/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool reln_ruler_shows(const RelnRuler *ruler, double value)
{
    return fabs(value) <= 1e300 && (ruler->axis->scale == RELN_AXIS_LINEAR || value >= 1e-300);
}

double reln_ruler_unit(const RelnRuler *ruler, double value)
{
    return ruler->axis->scale == RELN_AXIS_LOG ? log10(value) : value;
}

double reln_ruler_pixel(const RelnRuler *ruler, double value)
{
    /* Halve the numbers first, so that the difference of two numbers near 1e300 stays finite. */
    const double u = 0.5 * reln_ruler_unit(ruler, value) - 0.5 * ruler->from;
    const double t = u / (0.5 * ruler->to - 0.5 * ruler->from);

    return ruler->first + t * (ruler->last - ruler->first);
}

/* ---- ends ---------------------------------------------------------------------------------------------------- */

static void grow(RelnRuler *ruler, double value)
{
    double u;

    if (ruler->axis->fixed || !reln_ruler_shows(ruler, value))
        return;
    u = reln_ruler_unit(ruler, value);
    ruler->from = fmin(ruler->from, u);
    ruler->to = fmax(ruler->to, u);
}

static bool is_inside(const RelnPlotAxis *axis, double value)
{
    return !axis->fixed || (value >= axis->low && value <= axis->high);
}

/* The ends of y come from the points within the ends of x. */
static void grow_points(RelnRuler *x, RelnRuler *y, const RelnCurve *c)
{
    for (ptrdiff_t i = 0; i < c->n; i++) {
        if (!reln_ruler_shows(x, c->x[i]) || !reln_ruler_shows(y, c->y[i]) ||
            !is_inside(x->axis, c->x[i]))
            continue;
        grow(x, c->x[i]);
        grow(y, c->y[i]);
        if (c->low) {
            grow(y, c->low[i]);
            grow(y, c->high[i]);
        }
    }
}

/* Bars start at zero, if the axis has one, and have a width. */
static void grow_bars(RelnRuler *x, RelnRuler *y, const RelnCurve *c)
{
    grow_points(x, y, c);
    grow(y, 0.0);
    if (c->mark == RELN_MARK_HISTOGRAM)
        grow(x, c->x[c->n]);
    for (ptrdiff_t i = 0; i < c->n && c->mark == RELN_MARK_BARS; i++) {
        grow(x, c->x[i] - 0.5);
        grow(x, c->x[i] + 0.5);
    }
}

/* Shows both sides of a roof line: a factor of four on either side of its ridge. */
static void grow_ref(RelnRuler *x, RelnRuler *y, const RelnRef *r)
{
    if (r->kind == RELN_REF_HLINE || r->kind == RELN_REF_ROOF)
        grow(y, r->at);
    if (r->kind == RELN_REF_VLINE)
        grow(x, r->at);
    if (r->kind == RELN_REF_ROOF) {
        grow(x, r->at / r->slope / 4.0);
        grow(x, r->at / r->slope * 4.0);
    }
}

/* Without data, or when all values are equal, uses an interval around the value. */
static void widen(RelnRuler *r)
{
    const bool log = r->axis->scale == RELN_AXIS_LOG;
    double size, half;

    if (r->from > r->to)
        r->from = 0.0, r->to = 1.0;
    size = fmax(fabs(r->from), fabs(r->to));
    if (r->to - r->from > 1e-290 && r->to - r->from > 1e-12 * size)
        return;
    half = log ? 0.5 : size > 1e-280 ? 0.1 * size : 1.0;
    r->from -= half, r->to += half;
}

/* Adds a margin around the data, except at an end of zero on which bars stand. */
static void pad(RelnRuler *r, double share, bool on_zero)
{
    const double air = share * (r->to - r->from);

    if (!on_zero || r->from != 0.0)
        r->from -= air;
    if (!on_zero || r->to != 0.0)
        r->to += air;
}

static void fix(RelnRuler *r)
{
    r->from = reln_ruler_unit(r, r->axis->low);
    r->to = reln_ruler_unit(r, r->axis->high);
}

static bool has_bars(const RelnPlot *plot)
{
    for (const RelnCurve *c = plot->curves; c; c = c->next)
        if (c->mark >= RELN_MARK_BARS)
            return true;
    return false;
}

/* With a diagonal, both axes have the same ends. */
static void share_ends(const RelnPlot *plot, RelnRuler *x, RelnRuler *y)
{
    const bool free = !x->axis->fixed && !y->axis->fixed && x->axis->scale == y->axis->scale;

    if (!free || !plot->equal || !plot->refs || plot->refs->kind != RELN_REF_DIAGONAL)
        return;
    x->from = y->from = fmin(x->from, y->from);
    x->to = y->to = fmax(x->to, y->to);
}

void reln_rulers_fit(const RelnPlot *plot, RelnRuler *x, RelnRuler *y)
{
    *x = (RelnRuler){.axis = &plot->x, .from = (double)INFINITY, .to = -(double)INFINITY};
    *y = (RelnRuler){.axis = &plot->y, .from = (double)INFINITY, .to = -(double)INFINITY};
    for (const RelnCurve *c = plot->curves; c; c = c->next) {
        if (c->mark >= RELN_MARK_BARS)
            grow_bars(x, y, c);
        else
            grow_points(x, y, c);
    }
    for (const RelnRef *r = plot->refs; r; r = r->next)
        grow_ref(x, y, r);
    share_ends(plot, x, y);
    if (plot->x.n_names > 0 && x->axis->scale == RELN_AXIS_LINEAR) {
        grow(x, -0.5);
        grow(x, (double)plot->x.n_names - 0.5);
    }
    widen(x);
    widen(y);
    pad(x, plot->x.n_names > 0 ? 0.0 : 0.025, false);
    pad(y, 0.05, has_bars(plot));
    if (x->axis->fixed)
        fix(x);
    if (y->axis->fixed)
        fix(y);
}

/* ---- ticks --------------------------------------------------------------------------------------------------- */

static RelnTick *add_tick(RelnRuler *r, double value, bool major)
{
    if (r->n_ticks == RELN_TICKS)
        return NULL;
    r->ticks[r->n_ticks] = (RelnTick){.value = value, .major = major};
    return &r->ticks[r->n_ticks++];
}

/* Returns the nearest of 1, 2, 5 times a power of ten. */
static double round_step(double raw)
{
    const double power = pow(10.0, floor(log10(raw))), lead = raw / power;

    return power * (lead < 1.5 ? 1.0 : lead < 3.2 ? 2.0 : lead < 7.5 ? 5.0 : 10.0);
}

/* Returns a common power of ten if the numbers would be long. */
static int common_exponent(double low, double high)
{
    const int e = (int)floor(log10(fmax(fabs(low), fabs(high))));

    return e >= 5 || e <= -3 ? 3 * (int)floor(e / 3.0) : 0;
}

/* Writes a number with a true minus sign instead of a hyphen. */
static void put_text(RelnTick *tick, double value, int decimals)
{
    char buf[24];

    reln_format_fixed(buf, sizeof buf, fabs(value), decimals);
    snprintf(tick->text, sizeof tick->text, "%s%s", value < 0.0 ? "−" : "", buf);
}

/* Places ticks from low to high by a round step, at i step, so that rounding errors do not accumulate. */
static void divide_linear(RelnRuler *r, double low, double high, double wanted)
{
    const double step = round_step((high - low) / wanted), slack = 1e-9;
    const double first = ceil(low / step - slack), last = floor(high / step + slack);
    const int exponent = common_exponent(low, high);
    const double scale = pow(10.0, exponent);
    const int decimals = exponent - (int)floor(log10(step * 1.0000001));

    r->exponent = exponent;
    for (int i = 0; first + i <= last; i++) {
        const double value = (first + i) * step;
        RelnTick *tick = add_tick(r, value, true);

        if (!tick)
            return;
        put_text(tick, value / scale, decimals < 0 ? 0 : decimals > 15 ? 15 : decimals);
    }
}

/* Writes powers of ten: in digits if they are short, otherwise as 10 with an exponent. */
static void put_power(RelnTick *tick, int exponent, bool digits)
{
    tick->power = !digits;
    tick->exponent = exponent;
    if (digits)
        put_text(tick, pow(10.0, exponent), exponent < 0 ? -exponent : 0);
    else
        snprintf(tick->text, sizeof tick->text, "%s%d", exponent < 0 ? "−" : "",
                 exponent < 0 ? -exponent : exponent);
}

static void divide_decades(RelnRuler *r, int first, int last, double wanted)
{
    const int stride = (int)((last - first) / wanted) + 1;
    const bool digits = first >= -2 && last <= 3;

    for (int e = first - 1; e <= last; e++) {
        const bool major = (e % stride + stride) % stride == 0;
        RelnTick *tick = NULL;

        if (e >= first && (major || last - first <= 60))
            tick = add_tick(r, pow(10.0, e), major);
        if (tick && major)
            put_power(tick, e, digits);
        for (int k = 2; k < 10 && stride == 1; k++)
            if (log10(k) + e >= r->from && log10(k) + e <= r->to)
                add_tick(r, k * pow(10.0, e), false);
    }
}

/* If the axis shows fewer than two powers of ten, places ticks at round numbers, as on a linear axis, at
 * their logarithmic positions. */
static void divide_short(RelnRuler *r, double wanted)
{
    const double low = pow(10.0, r->from), high = pow(10.0, r->to);
    int kept = 0;

    divide_linear(r, low, high, wanted);
    for (int i = 0; i < r->n_ticks; i++)
        if (r->ticks[i].value > 0.0)
            r->ticks[kept++] = r->ticks[i];
    r->n_ticks = kept;
}

static void divide_log(RelnRuler *r, double wanted)
{
    const int first = (int)ceil(r->from - 1e-9), last = (int)floor(r->to + 1e-9);

    if (last - first >= 1)
        divide_decades(r, first, last, wanted);
    else
        divide_short(r, wanted);
}

static void divide_names(RelnRuler *r)
{
    for (ptrdiff_t i = 0; i < r->axis->n_names && i < RELN_TICKS; i++)
        add_tick(r, (double)i, true);
}

void reln_ruler_divide(RelnRuler *ruler, double wanted)
{
    ruler->n_ticks = 0;
    ruler->exponent = 0;
    if (ruler->axis->n_names > 0)
        divide_names(ruler);
    else if (ruler->axis->scale == RELN_AXIS_LOG)
        divide_log(ruler, wanted);
    else
        divide_linear(ruler, ruler->from, ruler->to, wanted);
}
