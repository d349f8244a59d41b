/* record.c -- metrics.csv: the curves of a run, one line for each evaluation, written during the run. */
#include <math.h>
#include <stdio.h>

#include "base/format.h"
#include "fit/fit.h"

enum { LINE = 1024, PATH = 4096 };

static const char *path_of(const RelnFit *fit, char path[PATH])
{
    snprintf(path, PATH, "%s/metrics.csv", fit->folder);
    return path;
}

/* ---- metrics ---------------------------------------------------------------------------------------------------------- */

/* A single target has mse and mae, or accuracy; several targets have one number each. */
RelnStatus reln_fit_name_metrics(RelnFit *fit)
{
    const bool single = fit->spec.n_targets == 1;

    fit->n_metrics = 0;
    for (int t = 0; t < fit->spec.n_targets; t++) {
        const bool class = fit->spec.target[t].as == RELN_TARGET_CLASS;
        const char *word = class ? "accuracy" : "mse";

        fit->metric_names[fit->n_metrics++] =
            single ? word : reln_arena_printf(&fit->arena, "%s.%s", fit->spec.target[t].name, word);
        if (single && !class)
            fit->metric_names[fit->n_metrics++] = "mae";
    }
    for (int i = 0; i < fit->n_metrics; i++)
        if (!fit->metric_names[i])
            return RELN_ERR_NOMEM;
    return RELN_OK;
}

void reln_fit_put_metrics(const RelnFit *fit, const RelnTally *tally, RelnEvaluation *out)
{
    *out = (RelnEvaluation){.score = reln_tally_metrics(tally).loss, .n_metrics = fit->n_metrics};
    for (int t = 0; t < tally->n_targets; t++) {
        const RelnMetrics m = reln_target_metrics(&tally->target[t]);

        out->metrics[t] = fit->spec.target[t].as == RELN_TARGET_CLASS ? m.accuracy : m.mse;
        if (fit->n_metrics > tally->n_targets)
            out->metrics[1] = m.mae;
    }
}

RelnMetrics reln_fit_get_metrics(const RelnFit *fit, const RelnEvaluation *e, int target)
{
    RelnMetrics m = reln_no_metrics(fit->n_validation, (double)NAN);

    if (target >= e->n_metrics)
        return m;
    if (fit->spec.target[target].as == RELN_TARGET_CLASS)
        m.accuracy = e->metrics[target];
    else
        m.mse = e->metrics[target];
    if (e->n_metrics > fit->spec.n_targets)
        m.mae = e->metrics[1];
    return m;
}

/* ---- the file ---------------------------------------------------------------------------------------------------------- */

static size_t put_row(const RelnFitResult *r, const RelnTrainRow *row, int n_metrics, char *text)
{
    const RelnEvaluation *e = &row->evaluation;
    size_t used = (size_t)reln_format(text, LINE, "%llu,%.6g,%.9g,%.9g,%.9g,%.3f,%.9g",
                                      (unsigned long long)row->step,
                                      (double)row->step / (double)r->steps_per_epoch, row->loss,
                                      row->rate, row->gradient_norm, row->seconds, e->score);

    for (int m = 0; m < n_metrics; m++)
        used += m < e->n_metrics
                    ? (size_t)reln_format(text + used, LINE - used, ",%.9g", e->metrics[m])
                    : (size_t)reln_format(text + used, LINE - used, ",");
    return used + (size_t)reln_format(text + used, LINE - used, ",%d\n", row->best);
}

static size_t put_heading(const RelnFit *fit, char *text)
{
    size_t used =
        (size_t)reln_format(text, LINE, "step,epoch,loss,rate,gradient_norm,seconds,score");

    for (int m = 0; m < fit->n_metrics; m++)
        used += (size_t)reln_format(text + used, LINE - used, ",%s", fit->metric_names[m]);
    return used + (size_t)reln_format(text + used, LINE - used, ",best\n");
}

/* Writes the heading, if wanted, and the rows from `first` on. */
static RelnStatus rows_text(RelnFit *fit, bool heading, int first, char **text, size_t *n_bytes)
{
    const RelnFitResult r = reln_fit_result(fit);
    const size_t room = (size_t)(r.n_rows - first + 1) * LINE;

    *n_bytes = 0;
    *text = reln_alloc_raw(fit->ctx, room, 1);
    if (!*text)
        return RELN_ERR_NOMEM;
    if (heading)
        *n_bytes = put_heading(fit, *text);
    for (int i = first; i < r.n_rows; i++)
        *n_bytes += put_row(&r, &r.rows[i], fit->n_metrics, *text + *n_bytes);
    return RELN_OK;
}

RelnStatus reln_fit_record_begin(RelnFit *fit)
{
    char path[PATH], *text = NULL;
    size_t n_bytes;
    RelnStatus status = rows_text(fit, true, 0, &text, &n_bytes);

    if (status == RELN_OK)
        status = reln_file_write(fit->ctx, path_of(fit, path), text, n_bytes);
    reln_free(fit->ctx, text);
    fit->live.n_rows = reln_fit_result(fit).n_rows;
    return status;
}

RelnStatus reln_fit_record_grow(RelnFit *fit)
{
    char path[PATH], *text = NULL;
    size_t n_bytes;
    RelnStatus status;

    if (fit->live.n_rows == reln_fit_result(fit).n_rows)
        return RELN_OK;
    status = rows_text(fit, false, fit->live.n_rows, &text, &n_bytes);
    if (status == RELN_OK)
        status = reln_file_append(fit->ctx, path_of(fit, path), text, n_bytes);
    reln_free(fit->ctx, text);
    fit->live.n_rows = reln_fit_result(fit).n_rows;
    return status;
}
