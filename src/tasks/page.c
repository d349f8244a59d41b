/* page.c -- writes report.html: the request, the table, and the curves of all runs. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tasks/files.h"

/* Returns whether an earlier run has a curve of this name: then the page already has its plot. */
static bool seen_before(const TaskCall *call, int at, const char *name)
{
    for (int r = 0; r < at; r++)
        if (call->runs[r].done && task_curve_named(&call->runs[r], name))
            return true;
    return false;
}

/* Returns whether all values of a curve are positive and span more than a factor of WIDE, as losses do: then a logarithmic axis
 * shows more than a linear one. */
static bool spans_decades(const TaskCall *call, const char *name)
{
    enum { WIDE = 20 };
    double low = HUGE_VAL, high = 0;

    for (int r = 0; r < call->n_models * call->n_seeds; r++) {
        const TaskCurve *c = task_curve_named(&call->runs[r], name);
        for (ptrdiff_t i = 0; c && i < c->n; i++) {
            low = fmin(low, c->y[i]);
            high = fmax(high, c->y[i]);
        }
    }
    return low > 0 && high > WIDE * low;
}

/* Returns whether this curve is the true curve of another curve's figure, and is drawn there. */
static bool is_truth(const Task *task, const char *name)
{
    for (int i = 0; i < task->n_figures; i++)
        if (task->figures[i].truth && strcmp(task->figures[i].truth, name) == 0)
            return true;
    return false;
}

/* Returns the figure that the task defines for a curve; by default a line against the step. */
static TaskFigure figure_of(const Task *task, const char *name)
{
    for (int i = 0; i < task->n_figures; i++)
        if (strcmp(task->figures[i].curve, name) == 0)
            return task->figures[i];
    return (TaskFigure){.curve = name, .x = "step"};
}

static void axes(const TaskCall *call, RelnPlot *p, const TaskFigure *figure)
{
    const bool log_y = !figure->points && !figure->cloud && !figure->path && !figure->linear_y &&
                       spans_decades(call, figure->curve);

    reln_plot_x(p, figure->x, figure->log_x ? RELN_AXIS_LOG : RELN_AXIS_LINEAR);
    reln_plot_y(p, figure->y, log_y ? RELN_AXIS_LOG : RELN_AXIS_LINEAR);
    if (figure->points)
        reln_plot_diagonal(p, NULL);
    if (figure->cloud || figure->path)
        reln_plot_equal_aspect(p);
}

/* Draws the true curve below the curves of models, from the first run that has it. */
static void plot_truth(const TaskCall *call, RelnPlot *p, const TaskFigure *figure)
{
    const char *name = figure->truth;

    for (int r = 0; r < call->n_models * call->n_seeds; r++) {
        const TaskCurve *c = call->runs[r].done ? task_curve_named(&call->runs[r], name) : NULL;
        if (c) {
            reln_plot_series(
                p, &(RelnSeries){.name = "true",
                                 .mark = figure->cloud ? RELN_MARK_POINTS : RELN_MARK_LINE,
                                 .n = c->n,
                                 .x = c->x,
                                 .y = c->y,
                                 .colour = figure->cloud ? 1 : call->n_models + 1});
            return;
        }
    }
}

/* Returns whether there are so many rows that curves of all seeds would cover each other. Then each row gets
 * one curve, in plots as wide as the page. */
static bool crowded(const TaskCall *call)
{
    enum { MOST = 8 };
    int rows = 0;

    for (int m = 0; m < call->n_models; m++)
        rows += task_any_run(call, m) != NULL;
    return rows > MOST;
}

/* Draws a curve. Unless it is a path in a plane, a line ends where its x falls back, as from the last step of pre-training to
 * the first step of training, and continues as another line. */
static void draw_curve(RelnPlot *p, const TaskFigure *figure, const TaskCurve *c, const char *label,
                       int colour)
{
    const bool line = !figure->points && !figure->cloud, steps = line && !figure->path;

    for (ptrdiff_t first = 0, n; first < c->n; first += n) {
        for (n = 1; first + n < c->n && !(steps && c->x[first + n] < c->x[first + n - 1]);)
            n++;
        reln_plot_series(p, &(RelnSeries){.name = label,
                                          .mark = line ? RELN_MARK_LINE : RELN_MARK_POINTS,
                                          .n = n,
                                          .x = c->x + first,
                                          .y = c->y + first,
                                          .colour = colour});
        label = NULL;
    }
}

/* Plots the curves of one name, in one colour for each model; the first of its seeds is named. */
static void plot(const TaskCall *call, RelnPage *page, const char *name)
{
    const TaskFigure figure = figure_of(call->env.task, name);
    RelnPlot *p = reln_page_plot(page, name);
    int drawn = 1; /* the truth of a cloud has the first colour, since points have no dashes */

    axes(call, p, &figure);
    if (figure.truth)
        plot_truth(call, p, &figure);
    for (int m = 0; m < call->n_models; m++) {
        const char *label = call->models[m]->label;
        for (int s = 0; s < call->n_seeds && (label || !crowded(call)); s++) {
            const TaskRun *run = &call->runs[m * call->n_seeds + s];
            const TaskCurve *c = run->done ? task_curve_named(run, name) : NULL;
            if (!c)
                continue;
            drawn += label != NULL;
            draw_curve(p, &figure, c, label, figure.cloud && figure.truth ? drawn : m + 1);
            label = NULL;
        }
    }
}

/* Returns the length of the name of the plot that a curve shares with others of its run; 0: it has a separate
 * plot. */
static size_t shared_plot(const char *name)
{
    const char *bar = strchr(name, TASK_SERIES);

    return bar ? (size_t)(bar - name) : 0;
}

static bool same_plot(const TaskCurve *a, const TaskCurve *b)
{
    const size_t n = shared_plot(a->name);

    return n > 0 && strncmp(a->name, b->name, n + 1) == 0;
}

/* Returns whether the page already has the plot of such a curve, from this run or one before it. */
static bool series_seen(const TaskCall *call, int at, const TaskCurve *curve)
{
    for (int r = 0; r <= at; r++)
        for (const TaskCurve *c = call->runs[r].done ? call->runs[r].curves : NULL; c && c != curve;
             c = c->next)
            if (same_plot(curve, c))
                return true;
    return false;
}

/* Returns the figure that the task defines for such a curve, by the beginning of its name. */
static TaskFigure shared_figure(const Task *task, const TaskCurve *curve)
{
    for (int i = 0; i < task->n_figures; i++)
        if (strncmp(task->figures[i].curve, curve->name, strlen(task->figures[i].curve)) == 0)
            return task->figures[i];
    return (TaskFigure){0};
}

static void plot_series(const Task *task, RelnPage *page, const TaskCurve *first)
{
    const int n = (int)shared_plot(first->name);
    const TaskFigure figure = shared_figure(task, first);
    char title[128];
    RelnPlot *p;
    int colour = 0;

    snprintf(title, sizeof title, "%.*s", n, first->name);
    p = reln_page_plot(page, title);
    reln_plot_x(p, figure.x, RELN_AXIS_LINEAR);
    reln_plot_y(p, figure.y, RELN_AXIS_LINEAR);
    if (figure.cloud)
        reln_plot_equal_aspect(p);
    for (const TaskCurve *c = first; c; c = c->next)
        if (same_plot(first, c))
            reln_plot_series(p, &(RelnSeries){.name = c->name + n + 1,
                                              .mark = RELN_MARK_POINTS,
                                              .n = c->n,
                                              .x = c->x,
                                              .y = c->y,
                                              .colour = ++colour});
}

/* Writes a table of the curves of one name: a row for each of them, a column for each of their numbers. */
static void tabulate_series(RelnPage *page, RelnTable *table, const TaskCurve *first)
{
    const int n = (int)shared_plot(first->name);
    char title[128];

    snprintf(title, sizeof title, "%.*s", n, first->name);
    reln_table_title(table, title);
    reln_table_column(table, "", RELN_COL_LEFT);
    for (const TaskCurve *c = first; c; c = c->next)
        if (same_plot(first, c))
            reln_table_column(table, c->name + n + 1, RELN_COL_RIGHT);
    for (const TaskCurve *c = first; c; c = c->next)
        if (same_plot(first, c)) {
            reln_table_row(table);
            reln_table_text(table, c->name + n + 1);
            for (ptrdiff_t i = 0; i < c->n; i++)
                reln_table_count(table, (int64_t)c->y[i]);
        }
    reln_page_table(page, table);
}

/* Writes all tables of curves, behind the plots. */
static RelnStatus tables(const TaskCall *call, RelnPage *page)
{
    RelnStatus status = RELN_OK;
    bool any = false;

    for (int r = 0; r < call->n_models * call->n_seeds; r++)
        for (const TaskCurve *c = call->runs[r].done ? call->runs[r].curves : NULL; c; c = c->next)
            if (status == RELN_OK && shared_plot(c->name) > 0 &&
                shared_figure(call->env.task, c).table && !series_seen(call, r, c)) {
                RelnTable *table = NULL;

                if (!any)
                    reln_page_section(page, "Tables");
                any = true;
                status = reln_table_create(call->env.ctx, &table);
                if (status == RELN_OK)
                    tabulate_series(page, table, c);
                reln_table_destroy(table);
            }
    return status;
}

/* Plots a curve together with all curves of its name, unless they have been drawn. */
static void plot_curve(const TaskCall *call, RelnPage *page, int run, const TaskCurve *c)
{
    const Task *task = call->env.task;

    if (shared_plot(c->name) > 0) {
        if (!series_seen(call, run, c) && !shared_figure(task, c).table)
            plot_series(task, page, c);
    } else if (!seen_before(call, run, c->name) && !is_truth(task, c->name) &&
               !figure_of(task, c->name).hidden) {
        plot(call, page, c->name);
    }
}

static void facts(const TaskCall *call, RelnPage *page)
{
    const Task *task = call->env.task;

    reln_page_fact(page, "scale", "%s", task_scale_text(call->env.scale));
    reln_page_fact(page, "seeds", "%d", call->n_seeds);
    for (int i = 0; i < task->n_options; i++)
        if (task_option(&call->env, task->options[i].name))
            reln_page_fact(page, task->options[i].name, "%s",
                           task_option(&call->env, task->options[i].name));
    reln_page_fact(page, "program", "%s", task_program());
    if (call->request->command)
        reln_page_code(page, "command", call->request->command);
}

/* Returns whether a is better than b, by the task's main metric. A number is better than none. */
static bool better(const Task *task, double a, double b)
{
    const TaskMetric *m = &task->metrics[task->main_metric];

    if (m->target != 0)
        return !isnan(a) && (isnan(b) || fabs(a - m->target) < fabs(b - m->target));
    return !isnan(a) && (isnan(b) || (m->more ? a > b : a < b));
}

/* Writes a number of the main metric as in the table. */
static char *shown(const Task *task, char text[RELN_NUMBER_TEXT], double mean, double spread)
{
    const double unit = task->metrics[task->main_metric].percent ? 100 : 1;

    return spread > 0 ? reln_report_mean(text, unit * mean, unit * spread, 2)
                      : reln_report_number(text, unit * mean,
                                           task->metrics[task->main_metric].percent ? 4 : 3);
}

/* Writes sentences about the outcome: the best row by the main metric, and the paper's best row. */
static void outcome(const TaskCall *call, char *text, size_t size)
{
    const Task *task = call->env.task;
    const int metric = task->main_metric;
    const char *unit = task->metrics[metric].percent ? " %" : "";
    int best = -1, theirs = -1, rows = 0;
    TaskMean m = {0, (double)NAN, (double)NAN};
    char ours[RELN_NUMBER_TEXT], paper[RELN_NUMBER_TEXT];
    int n;

    text[0] = '\0';
    for (int i = 0; i < call->n_models; i++) {
        const TaskMean mean = task_mean_metric(call, i, metric);
        const double p = call->models[i]->paper[metric].mean;
        rows += mean.n > 0;
        if (!call->models[i]->reference && better(task, mean.mean, m.mean)) {
            m = mean;
            best = i;
        }
        if (mean.n > 0 && p != 0 &&
            (theirs < 0 || better(task, p, call->models[theirs]->paper[metric].mean)))
            theirs = i;
    }
    if (best < 0)
        return;
    n = snprintf(text, size, " Of %d %s, %s has the %s %s: %s%s (%d %s).", rows,
                 rows == 1 ? "model" : "models", call->models[best]->label,
                 task->metrics[metric].more ? "highest" : "lowest", task->metrics[metric].label,
                 shown(task, ours, m.mean, m.spread), unit, m.n, m.n == 1 ? "seed" : "seeds");
    if (theirs < 0 || n < 0 || (size_t)n >= size)
        return;
    m = task_mean_metric(call, theirs, metric);
    snprintf(text + n, size - (size_t)n,
             " The best row of the paper among them is %s: %s%s there, %s%s here.",
             call->models[theirs]->label,
             shown(task, paper, call->models[theirs]->paper[metric].mean,
                   call->models[theirs]->paper[metric].spread),
             unit, shown(task, ours, m.mean, m.spread), unit);
}

/* Writes the first paragraph, the task and the outcome, and then the paragraph about the columns. */
static void introduction(const TaskCall *call, RelnPage *page)
{
    const char *about = call->env.task->about, *columns = strstr(about, "\n\n");
    char text[512];

    outcome(call, text, sizeof text);
    reln_page_text(page, "%.*s%s%s", columns ? (int)(columns - about) : (int)strlen(about), about,
                   text, columns ? columns : "");
}

/* Draws the metrics of the task side by side: a group of bars for each row that has results. */
static void plot_bars(const TaskCall *call, RelnPage *page)
{
    enum { MOST = 48 };
    const Task *task = call->env.task;
    const char *names[MOST];
    double mean[MOST];
    ptrdiff_t n = 0;
    RelnPlot *p;

    if (task->n_bars == 0)
        return;
    p = reln_page_plot(page, "row by row");
    for (int b = 0; b < task->n_bars; b++) {
        n = 0;
        for (int m = 0; m < call->n_models && n < MOST; m++)
            if (task_any_run(call, m)) {
                names[n] = call->models[m]->name;
                mean[n++] = task_mean_metric(call, m, task->bars[b]).mean;
            }
        reln_plot_series(p, &(RelnSeries){.name = task->metrics[task->bars[b]].label,
                                          .mark = RELN_MARK_BARS,
                                          .n = n,
                                          .y = mean});
    }
    reln_plot_categories(p, n, names);
}

static RelnStatus fill(const TaskCall *call, RelnPage *page, RelnTable *table)
{
    introduction(call, page);
    facts(call, page);
    reln_page_section(page, "Results");
    reln_page_table(page, table);
    plot_bars(call, page);
    reln_page_section(page, "Curves");
    reln_page_columns(page, crowded(call) ? 1 : 2);
    if (crowded(call))
        reln_page_text(page, "Of each row, the first of its seeds.");
    for (int r = 0; r < call->n_models * call->n_seeds; r++)
        for (const TaskCurve *c = call->runs[r].done ? call->runs[r].curves : NULL; c; c = c->next)
            plot_curve(call, page, r, c);
    return tables(call, page);
}

static RelnStatus page_write(const TaskCall *call, RelnPage *page)
{
    char path[TASK_PATH];
    const char *text = NULL;
    size_t n_bytes = 0;

    snprintf(path, sizeof path, "%s/report.html", call->request->out);
    TRY(reln_page_html(page, &text, &n_bytes));
    return reln_file_write(call->env.ctx, path, text, n_bytes);
}

RelnStatus task_page_save(const TaskCall *call)
{
    RelnTable *table = NULL;
    RelnPage *page = NULL;
    RelnStatus status = task_table(call, &table);
    char title[256];

    snprintf(title, sizeof title, "%s", call->env.task->purpose);
    if (isalpha((unsigned char)title[1])) /* a word, not a symbol such as "x" */
        title[0] = (char)toupper((unsigned char)title[0]);
    if (status == RELN_OK)
        status = reln_page_create(call->env.ctx, title, &page);
    if (status == RELN_OK)
        status = fill(call, page, table);
    if (status == RELN_OK)
        status = page_write(call, page);
    reln_page_destroy(page);
    reln_table_destroy(table);
    return status;
}
