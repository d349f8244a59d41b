/* metrics.h -- errors of predictions for readers and scripts: one list of names, from which tables and trees
 * are made. */
#ifndef KIT_METRICS_H
#define KIT_METRICS_H

#include "kit/doc.h"
#include "kit/report.h"
#include "reln/fit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The metrics that are numbers, by name: loss, mse, mae, r2, accuracy, nll, nees, ... At most
 * RELN_METRICS. */
enum { RELN_METRICS = 10 };
int reln_metrics_list(const RelnMetrics *m, const char *names[RELN_METRICS],
                      double values[RELN_METRICS]);
/* Copy all metrics in that order, NAN if missing; and back. */
void reln_metrics_all(const RelnMetrics *m, double values[RELN_METRICS]);
void reln_metrics_set(RelnMetrics *m, const double values[RELN_METRICS]);
const char *reln_metrics_title(int index); /* for tables: "R²" */
/* Writes the metrics into a map, with the quantiles and the shares below them. */
void reln_metrics_doc(const RelnMetrics *m, RelnDoc *doc, RelnDocNode *map);

/* A RelnMetricRows holds the metrics on one set of data: of all targets together, and of each target; each
 * NULL: there is only one. all->n_samples 0: not shown. */
typedef struct RelnMetricRows {
    const char *data;
    const RelnMetrics *all, *each;
} RelnMetricRows;
/* Fills a table: a row for each set of data and target, a column for each metric that one of them has. */
void reln_metrics_table(int n, const RelnMetricRows *rows, int n_targets, const char *const *names,
                        RelnTable *table);

#ifdef __cplusplus
}
#endif

#endif
