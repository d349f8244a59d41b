/* metrics_show.c -- see kit/metrics.h. */
#include "kit/metrics.h"

#include <math.h>
#include <stddef.h>

typedef struct Column {
    const char *name, *title;
    size_t at;
    int digits;
} Column;

#define COLUMN(field, text, digits)                                                                \
    {                                                                                              \
#field, text, offsetof(RelnMetrics, field), digits                                         \
    }

static const Column columns[RELN_METRICS] = {
    COLUMN(loss, "loss", 4),
    COLUMN(mse, "MSE", 4),
    COLUMN(mae, "MAE", 4),
    COLUMN(r2, "R²", 4),
    COLUMN(accuracy, "accuracy", 4),
    COLUMN(nll, "NLL", 4),
    COLUMN(nees, "NEES", 4),
    COLUMN(coverage, "in 90 %", 4),
    COLUMN(calibration_error, "calibration", 3),
    COLUMN(distance, "distance", 4),
};

static double value_of(const RelnMetrics *m, const Column *c)
{
    return *(const double *)(const void *)((const char *)m + c->at);
}

void reln_metrics_all(const RelnMetrics *m, double values[RELN_METRICS])
{
    for (int i = 0; i < RELN_METRICS; i++)
        values[i] = value_of(m, &columns[i]);
}

void reln_metrics_set(RelnMetrics *m, const double values[RELN_METRICS])
{
    for (int i = 0; i < RELN_METRICS; i++)
        *(double *)(void *)((char *)m + columns[i].at) = values[i];
}

const char *reln_metrics_title(int index)
{
    return columns[index].title;
}

int reln_metrics_list(const RelnMetrics *m, const char *names[RELN_METRICS],
                      double values[RELN_METRICS])
{
    int n = 0;

    for (int i = 0; i < RELN_METRICS; i++)
        if (i == 0 || !isnan(value_of(m, &columns[i]))) {
            names[n] = columns[i].name;
            values[n++] = value_of(m, &columns[i]);
        }
    return n;
}

void reln_metrics_doc(const RelnMetrics *m, RelnDoc *doc, RelnDocNode *map)
{
    const char *names[RELN_METRICS];
    double values[RELN_METRICS];
    const int n = reln_metrics_list(m, names, values);
    RelnDocNode *list;

    for (int i = 0; i < n; i++)
        reln_doc_set_number(doc, map, names[i], values[i]);
    if (m->n_quantiles == 0)
        return;
    list = reln_doc_set(doc, map, "quantiles", reln_doc_list(doc));
    for (int i = 0; i < m->n_quantiles; i++) {
        RelnDocNode *item = reln_doc_set(doc, list, NULL, reln_doc_map(doc));

        reln_doc_set_number(doc, item, "quantile", m->quantile[i]);
        reln_doc_set_number(doc, item, "below", m->below[i]);
    }
}

static bool has(const Column *c, int n, const RelnMetricRows *rows, int n_targets)
{
    for (int i = 0; i < n; i++) {
        if (rows[i].all->n_samples > 0 && !isnan(value_of(rows[i].all, c)))
            return true;
        for (int t = 0; rows[i].each && rows[i].all->n_samples > 0 && t < n_targets; t++)
            if (!isnan(value_of(&rows[i].each[t], c)))
                return true;
    }
    return false;
}

static void put_row(RelnTable *table, const char *data, const char *target, const RelnMetrics *m,
                    const bool *shown)
{
    reln_table_row(table);
    reln_table_text(table, data);
    if (target)
        reln_table_text(table, target);
    reln_table_count(table, m->n_samples);
    for (int i = 0; i < RELN_METRICS; i++)
        if (shown[i] && isnan(value_of(m, &columns[i])))
            reln_table_text(table, "");
        else if (shown[i])
            reln_table_number(table, value_of(m, &columns[i]), columns[i].digits);
}

void reln_metrics_table(int n, const RelnMetricRows *rows, int n_targets, const char *const *names,
                        RelnTable *table)
{
    bool shown[RELN_METRICS];

    reln_table_column(table, "data", RELN_COL_LEFT);
    if (n_targets > 0)
        reln_table_column(table, "target", RELN_COL_LEFT);
    reln_table_column(table, "samples", RELN_COL_RIGHT);
    for (int i = 0; i < RELN_METRICS; i++) {
        shown[i] = i == 0 || has(&columns[i], n, rows, n_targets);
        if (shown[i])
            reln_table_column(table, columns[i].title, RELN_COL_RIGHT);
    }
    for (int i = 0; i < n; i++) {
        if (rows[i].all->n_samples == 0)
            continue;
        put_row(table, rows[i].data, n_targets > 0 ? "all" : NULL, rows[i].all, shown);
        for (int t = 0; rows[i].each && t < n_targets; t++)
            put_row(table, rows[i].data, names[t], &rows[i].each[t], shown);
    }
}
