/* picks.c -- plots of many curves: a check box for each, a few of them checked at first. It works without a
 * script: the style sheet hides the parts of a curve whose box is not checked, on the screen and on paper. */
#include "report/plot.h"

/* More curves than CLEAR cover each other; TICKED of them are shown at first. */
enum { CLEAR = 8, TICKED = 5 };

static bool is_pickable(const RelnCurve *c)
{
    return c->name && c->mark < RELN_MARK_BARS;
}

static int count(const RelnPlot *plot)
{
    int n = 0;

    for (const RelnCurve *c = plot->curves; c; c = c->next)
        n += is_pickable(c);
    return n;
}

bool reln_plot_has_picks(const RelnPlot *plot)
{
    return count(plot) > CLEAR;
}

int reln_plot_pick(const RelnPlot *plot, const RelnCurve *curve)
{
    int n = -1;

    for (const RelnCurve *c = plot->curves; c; c = c->next) {
        n += is_pickable(c);
        if (c == curve)
            return n < 0 ? -1 : n % RELN_PLOT_PICKS;
    }
    return -1;
}

/* Chooses the first, the last, and others between them at equal distances. */
static bool is_ticked(int index, int n)
{
    for (int k = 0; k < TICKED; k++)
        if (index == (k * (n - 1) + (TICKED - 1) / 2) / (TICKED - 1))
            return true;
    return false;
}

void reln_picks_boxes(const RelnCanvas *canvas)
{
    const int n = reln_plot_has_picks(canvas->plot) ? count(canvas->plot) : 0;

    for (int i = 0; i < n && i < RELN_PLOT_PICKS; i++)
        reln_markup_addf(canvas->text,
                         "<input type=\"checkbox\" class=\"pick q%d\" id=\"p%dq%d\"%s/>\n", i,
                         canvas->number, i, is_ticked(i, n) ? " checked=\"checked\"" : "");
}

void reln_picks_labels(const RelnCanvas *canvas)
{
    RelnMarkup *const text = canvas->text;
    int n = 0;

    if (!reln_plot_has_picks(canvas->plot))
        return;
    reln_markup_add(text, "<div class=\"picks\">Curves to show: ");
    for (const RelnCurve *c = canvas->plot->curves; c; c = c->next) {
        if (!is_pickable(c))
            continue;
        reln_markup_addf(text, "<label for=\"p%dq%d\" class=\"q%d k%d%s\">", canvas->number,
                         n % RELN_PLOT_PICKS, n % RELN_PLOT_PICKS, c->colour % RELN_PLOT_COLOURS,
                         reln_curve_dash(c));
        reln_markup_escape(text, RELN_ESCAPE_HTML, c->name);
        reln_markup_add(text, "</label>\n");
        n++;
    }
    reln_markup_add(text, "</div>\n");
}
