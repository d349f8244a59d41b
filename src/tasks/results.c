/* results.c -- the results of all runs together: means and spreads, the table, results.json, metrics.csv, table.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/format.h"
#include "tasks/files.h"

static const TaskRun *run_of(const TaskCall *call, int model, int seed)
{
    return &call->runs[model * call->n_seeds + seed];
}

const TaskRun *task_any_run(const TaskCall *call, int model)
{
    for (int s = 0; s < call->n_seeds; s++)
        if (run_of(call, model, s)->done)
            return run_of(call, model, s);
    return NULL;
}

/* ---- means ------------------------------------------------------------------------------------------------------- */

/* metric -1: seconds */
static double value_of(const TaskRun *run, int metric)
{
    return metric < 0 ? run->seconds : run->metrics[metric];
}

static TaskMean mean_of(const TaskCall *call, int model, int metric)
{
    TaskMean m = {0, 0, (double)NAN};
    double squares = 0, first = 0;
    bool equal =
        true; /* of rows that do not depend on a seed: their mean has no rounding error and no spread */

    for (int s = 0; s < call->n_seeds; s++)
        if (run_of(call, model, s)->done) {
            const double value = value_of(run_of(call, model, s), metric);

            first = m.n == 0 ? value : first;
            equal = equal && value == first;
            m.mean += value;
            m.n++;
        }
    m.mean = m.n == 0 ? (double)NAN : equal ? first : m.mean / m.n;
    for (int s = 0; s < call->n_seeds; s++)
        if (run_of(call, model, s)->done) {
            const double d = value_of(run_of(call, model, s), metric) - m.mean;
            squares += d * d;
        }
    if (m.n > 1)
        m.spread = sqrt(squares / (m.n - 1));
    return m;
}

TaskMean task_mean_metric(const TaskCall *call, int model, int metric)
{
    return mean_of(call, model, metric);
}

TaskMean task_mean_seconds(const TaskCall *call, int model)
{
    return mean_of(call, model, -1);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static bool in_paper(const TaskCall *call, int metric)
{
    for (int m = 0; m < call->n_models; m++)
        if (call->models[m]->paper[metric].mean != 0)
            return true;
    return false;
}

/* Returns whether the time of the published code is shown. It was measured with the full protocol, so it is
 * shown for this scale only. */
static bool peer_shown(const TaskCall *call)
{
    bool known = false;

    for (int m = 0; m < call->n_models; m++)
        known = known || call->models[m]->peer_seconds > 0;
    return known && call->env.scale == TASK_FULL;
}

static void columns(RelnTable *table, const TaskCall *call)
{
    const Task *task = call->env.task;
    char head[96];

    reln_table_column(table, "model", RELN_COL_LEFT);
    reln_table_column(table, "parameters", RELN_COL_RIGHT);
    for (int i = 0; i < task->n_metrics; i++) {
        const TaskMetric *m = &task->metrics[i];
        snprintf(head, sizeof head, "%s%s", m->label, m->percent ? " [%]" : "");
        const unsigned best = m->error ? 0 : m->more ? RELN_COL_HIGHEST : RELN_COL_LOWEST;
        reln_table_column(table, head, RELN_COL_RIGHT | best);
        if (m->target != 0)
            reln_table_nearest(table, m->target);
        if (in_paper(call, i))
            reln_table_column(table, "paper", RELN_COL_RIGHT | RELN_COL_BESIDE);
    }
    reln_table_column(table, "seconds", RELN_COL_RIGHT);
    if (peer_shown(call))
        reln_table_column(table, "published code", RELN_COL_RIGHT);
    reln_table_column(table, "runs", RELN_COL_RIGHT);
}

static void put_mean(RelnTable *table, const TaskMetric *metric, double mean, double spread)
{
    const double unit = metric->percent ? 100 : 1;

    if (isnan(mean))
        reln_table_text(table, "");
    else if (metric->count && mean == floor(mean))
        reln_table_count(table, (int64_t)mean);
    else if (spread > 0)
        reln_table_mean(table, unit * mean, unit * spread, 2);
    else
        reln_table_number(table, unit * mean, metric->percent ? 4 : 3);
}

static void put_row(RelnTable *table, const TaskCall *call, int model)
{
    const Task *task = call->env.task;
    const TaskModel *m = call->models[model];
    const TaskRun *any = task_any_run(call, model);
    const TaskMean seconds = task_mean_seconds(call, model);

    reln_table_row(table);
    if (m->reference)
        reln_table_reference(table);
    reln_table_text(table, m->label);
    reln_table_count(table, (int64_t)any->params);
    for (int i = 0; i < task->n_metrics; i++) {
        const TaskMean ours = task_mean_metric(call, model, i);
        const TaskNumber paper = m->paper[i];
        put_mean(table, &task->metrics[i], ours.mean, ours.spread);
        if (in_paper(call, i))
            put_mean(table, &task->metrics[i], paper.mean != 0 ? paper.mean : (double)NAN,
                     paper.spread);
    }
    reln_table_number(table, seconds.mean, 2);
    if (peer_shown(call) && m->peer_seconds > 0)
        reln_table_number(table, m->peer_seconds, 2);
    else if (peer_shown(call))
        reln_table_text(table, "");
    reln_table_count(table, seconds.n);
}

/* Adds a note if a metric is not finite in some runs, since its mean is then left empty. A metric that no run
 * has needs no note. */
static void put_not_finite(RelnTable *table, const TaskCall *call, int model, int metric)
{
    int runs = 0, missing = 0;
    char note[192];

    for (int s = 0; s < call->n_seeds; s++) {
        const TaskRun *run = run_of(call, model, s);

        runs += run->done;
        missing += run->done && isnan(run->metrics[metric]);
    }
    if (missing == 0 || missing == runs)
        return;
    snprintf(note, sizeof note, "%s: in %d of %d runs, %s is not finite",
             call->models[model]->label, missing, runs, call->env.task->metrics[metric].label);
    reln_table_note(table, note);
}

/* Returns whether a run has no metric at all, so that its row, or its part of it, is empty. */
static bool failed(const Task *task, const TaskRun *run)
{
    for (int i = 0; i < task->n_metrics; i++)
        if (!isnan(run->metrics[i]))
            return false;
    return run->done;
}

/* Add a note where the network has fewer weights than are counted, or a run went wrong. */
static void put_notes(RelnTable *table, const TaskCall *call, int model)
{
    const TaskRun *any = task_any_run(call, model);
    int diverged = 0, empty = 0;
    char note[192];

    for (int s = 0; s < call->n_seeds; s++) {
        diverged += run_of(call, model, s)->done && run_of(call, model, s)->diverged;
        empty += failed(call->env.task, run_of(call, model, s));
    }
    if (any->params_used < any->params) {
        snprintf(note, sizeof note, "%s: of %zu parameters, %zu are used and trained",
                 call->models[model]->label, any->params, any->params_used);
        reln_table_note(table, note);
    }
    if (empty > 0) {
        snprintf(note, sizeof note, "%s: %d of the runs failed: no metric is finite",
                 call->models[model]->label, empty);
        reln_table_note(table, note);
    }
    if (diverged > 0) {
        snprintf(note, sizeof note, "%s: %d of the runs diverged and kept their best weights",
                 call->models[model]->label, diverged);
        reln_table_note(table, note);
    }
    for (int i = 0; i < call->env.task->n_metrics; i++)
        put_not_finite(table, call, model, i);
}

static void put_remark(void *self, const char *line)
{
    reln_table_note(self, line);
}

static RelnStatus put_remarks(RelnTable *table, const TaskCall *call)
{
    TaskEnv env = call->env;

    if (!env.task->remarks)
        return RELN_OK;
    return env.task->remarks(&env, call->runs, call->n_models, call->n_seeds, put_remark, table);
}

RelnStatus task_table(const TaskCall *call, RelnTable **out)
{
    const Task *task = call->env.task;
    char title[256];

    TRY(reln_table_create(call->env.ctx, out));
    snprintf(title, sizeof title, "%s, scale %s", task->name, task_scale_text(call->env.scale));
    reln_table_title(*out, title);
    columns(*out, call);
    for (int m = 0; m < call->n_models; m++)
        if (task_any_run(call, m))
            put_row(*out, call, m);
    for (int m = 0; m < call->n_models; m++)
        if (task_any_run(call, m))
            put_notes(*out, call, m);
    return put_remarks(*out, call);
}

/* ---- results.json ------------------------------------------------------------------------------------------------ */

static void put_values(RelnDoc *doc, RelnDocNode *map, const TaskCall *call, int model, int metric)
{
    const TaskMean m = mean_of(call, model, metric);
    RelnDocNode *values;

    reln_doc_set_number(doc, map, "mean", m.mean);
    reln_doc_set_number(doc, map, "spread", m.spread);
    values = reln_doc_set(doc, map, "values", reln_doc_list(doc));
    for (int s = 0; s < call->n_seeds; s++)
        if (run_of(call, model, s)->done)
            reln_doc_set_number(doc, values, NULL, value_of(run_of(call, model, s), metric));
}

static void put_paper(RelnDoc *doc, RelnDocNode *row, const Task *task, const TaskModel *model)
{
    RelnDocNode *paper = reln_doc_set(doc, row, "paper", reln_doc_map(doc));

    if (model->params > 0)
        reln_doc_set_number(doc, paper, "params", (double)model->params);
    if (model->peer_seconds > 0)
        reln_doc_set_number(doc, paper, "seconds", model->peer_seconds);
    for (int i = 0; i < task->n_metrics; i++)
        if (model->paper[i].mean != 0) {
            RelnDocNode *one = reln_doc_set(doc, paper, task->metrics[i].name, reln_doc_map(doc));
            reln_doc_set_number(doc, one, "mean", model->paper[i].mean);
            if (model->paper[i].spread != 0)
                reln_doc_set_number(doc, one, "spread", model->paper[i].spread);
        }
}

static RelnDocNode *row_of(RelnDoc *doc, const TaskCall *call, int model)
{
    const Task *task = call->env.task;
    const TaskRun *any = task_any_run(call, model);
    RelnDocNode *row = reln_doc_map(doc), *metrics, *seeds, *programs;

    reln_doc_set_text(doc, row, "model", call->models[model]->name);
    reln_doc_set_text(doc, row, "label", call->models[model]->label);
    reln_doc_set_number(doc, row, "params", (double)any->params);
    reln_doc_set_number(doc, row, "params_used", (double)any->params_used);
    reln_doc_set(doc, row, "settings", task_settings(any, doc));
    seeds = reln_doc_set(doc, row, "seeds", reln_doc_list(doc));
    for (int s = 0; s < call->n_seeds; s++)
        if (run_of(call, model, s)->done)
            reln_doc_set_number(doc, seeds, NULL, (double)run_of(call, model, s)->seed);
    programs = reln_doc_set(doc, row, "programs", reln_doc_list(doc));
    for (int s = 0; s < call->n_seeds; s++)
        if (run_of(call, model, s)->done)
            reln_doc_set_text(doc, programs, NULL, run_of(call, model, s)->program);
    metrics = reln_doc_set(doc, row, "metrics", reln_doc_map(doc));
    for (int i = 0; i < task->n_metrics; i++)
        put_values(doc, reln_doc_set(doc, metrics, task->metrics[i].name, reln_doc_map(doc)), call,
                   model, i);
    put_values(doc, reln_doc_set(doc, row, "seconds", reln_doc_map(doc)), call, model, -1);
    put_paper(doc, row, task, call->models[model]);
    return row;
}

static const char *shown_option(const TaskCall *call, int i)
{
    const char *value = task_option(&call->env, call->env.task->options[i].name);

    return value ? value : "";
}

static RelnStatus results_doc(const TaskCall *call, RelnDoc **out)
{
    const Task *task = call->env.task;
    RelnDocNode *root, *settings, *rows;
    RelnDoc *doc;

    TRY(reln_doc_create(call->env.ctx, out));
    doc = *out;
    root = reln_doc_root_map(doc);
    reln_doc_set_text(doc, root, "task", task->name);
    reln_doc_set_text(doc, root, "scale", task_scale_text(call->env.scale));
    reln_doc_set_text(doc, root, "program", task_program());
    if (call->request->command)
        reln_doc_set_text(doc, root, "command", call->request->command);
    settings = reln_doc_set(doc, root, "settings", reln_doc_map(doc));
    reln_doc_set_number(doc, settings, "seeds", call->n_seeds);
    for (int i = 0; i < task->n_options; i++)
        reln_doc_set_text(doc, settings, task->options[i].name, shown_option(call, i));
    rows = reln_doc_set(doc, root, "rows", reln_doc_list(doc));
    for (int m = 0; m < call->n_models; m++)
        if (task_any_run(call, m))
            reln_doc_set(doc, rows, NULL, row_of(doc, call, m));
    return RELN_OK;
}

/* ---- metrics.csv ------------------------------------------------------------------------------------------------- */

static void csv(const TaskCall *call, FILE *out)
{
    const Task *task = call->env.task;
    const locale_t before = reln_c_locale_enter();

    fputs("model,seed,params,params_used,seconds", out);
    for (int i = 0; i < task->n_metrics; i++)
        fprintf(out, ",%s", task->metrics[i].name);
    fputc('\n', out);
    for (int r = 0; r < call->n_models * call->n_seeds; r++) {
        const TaskRun *run = &call->runs[r];
        if (!run->done)
            continue;
        fprintf(out, "%s,%llu,%zu,%zu,%.3f", run->model->name, (unsigned long long)run->seed,
                run->params, run->params_used, run->seconds);
        for (int i = 0; i < task->n_metrics; i++)
            fprintf(out, ",%.9g", run->metrics[i]);
        fputc('\n', out);
    }
    reln_c_locale_leave(before);
}

static RelnStatus csv_save(const TaskCall *call, const char *path)
{
    RelnStatus status = RELN_ERR_NOMEM;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out) {
        csv(call, out);
        if (fclose(out) == 0)
            status = reln_file_write(call->env.ctx, path, text, size);
    }
    free(text);
    return status;
}

/* Saves table.md, with the title in its first line. */
static RelnStatus table_save(const TaskCall *call, const char *path)
{
    RelnTable *table = NULL;
    RelnStatus status = task_table(call, &table);
    const char *text = NULL;
    size_t n_bytes = 0;

    if (status == RELN_OK)
        status = reln_table_write(table, RELN_TABLE_MARKDOWN, &text, &n_bytes);
    if (status == RELN_OK)
        status = reln_file_write(call->env.ctx, path, text, n_bytes);
    reln_table_destroy(table);
    return status;
}

RelnStatus task_results_save(const TaskCall *call)
{
    char path[TASK_PATH];
    RelnDoc *doc = NULL;
    RelnStatus status = results_doc(call, &doc);

    snprintf(path, sizeof path, "%s/results.json", call->request->out);
    if (status == RELN_OK)
        status = reln_doc_save(doc, reln_doc_root(doc), path);
    reln_doc_destroy(doc);
    if (status != RELN_OK)
        return status;
    snprintf(path, sizeof path, "%s/metrics.csv", call->request->out);
    TRY(csv_save(call, path));
    snprintf(path, sizeof path, "%s/table.md", call->request->out);
    return table_save(call, path);
}

static RelnStatus print_json(const TaskCall *call)
{
    RelnDoc *doc = NULL;
    RelnStatus status = results_doc(call, &doc);
    const char *text = NULL;

    if (status == RELN_OK)
        text = reln_doc_write(doc, reln_doc_root(doc), RELN_DOC_ONE_LINE);
    if (text)
        fprintf(call->request->stream, "%s\n", text);
    reln_doc_destroy(doc);
    return status == RELN_OK && !text ? RELN_ERR_NOMEM : status;
}

static RelnStatus print_table(const TaskCall *call)
{
    RelnTable *table = NULL;
    RelnStatus status = task_table(call, &table);
    const char *text = NULL;
    size_t n_bytes = 0;

    if (status == RELN_OK)
        reln_table_width(table, call->request->width);
    if (status == RELN_OK)
        status = reln_table_write(
            table, call->request->colour ? RELN_TABLE_TERMINAL : RELN_TABLE_PLAIN, &text, &n_bytes);
    if (status == RELN_OK)
        (void)fwrite(text, 1, n_bytes, call->request->stream);
    reln_table_destroy(table);
    return status;
}

RelnStatus task_results_print(const TaskCall *call)
{
    if (!call->request->stream)
        return RELN_OK;
    return call->request->json ? print_json(call) : print_table(call);
}
