/* record.c -- metrics.csv: the curves of a run, a line for each evaluation, written as they are made. */
#include <stdio.h>

#include "base/format.h"
#include "fit/fit.h"

enum { LINE = 512, PATH = 4096 };

static const char *path_of(const RelnFit *fit, char path[PATH])
{
    snprintf(path, PATH, "%s/metrics.csv", fit->folder);
    return path;
}

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

/* The heading, when wanted, and the rows from `first` on. */
static RelnStatus rows_text(RelnFit *fit, bool heading, int first, char **text, size_t *n_bytes)
{
    const RelnFitResult r = reln_fit_result(fit);
    const bool class = fit->spec.target.as == RELN_TARGET_CLASS;
    const size_t room = (size_t)(r.n_rows - first + 1) * LINE;

    *n_bytes = 0;
    *text = reln_alloc_raw(fit->ctx, room, 1);
    if (!*text)
        return RELN_ERR_NOMEM;
    if (heading)
        *n_bytes = (size_t)reln_format(*text, LINE,
                                       "step,epoch,loss,rate,gradient_norm,seconds,score,%s,best\n",
                                       class ? "accuracy" : "mse,mae");
    for (int i = first; i < r.n_rows; i++)
        *n_bytes += put_row(&r, &r.rows[i], class ? 1 : 2, *text + *n_bytes);
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
