/* scores.h -- scores of a classifier: tables, plots, and a tree for scripts. */
#ifndef KIT_SCORES_H
#define KIT_SCORES_H

#include "kit/doc.h"
#include "kit/report.h"
#include "kit/spec.h"
#include "reln/fit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes reln_evaluate_classes() for a target that is a class. */
RelnStatus reln_evaluate_classes_of(RelnModel *model, int target, const char *data_path,
                                    int threads, uint64_t seed, RelnScores *out);

/* Fill tables, which must be empty: all classes together, a row for each score; a row for each class; true
 * class by row, predicted class by column. Names are borrowed from the target. */
void reln_scores_summary(const RelnScores *s, RelnTable *table);
void reln_scores_classes(const RelnScores *s, const RelnSpecTarget *target, RelnTable *table);
void reln_scores_confusion(const RelnScores *s, const RelnSpecTarget *target, RelnTable *table);
/* Writes into a map: accuracy and the other scores, each with its error as NAME_error; classes, confusion,
 * calibration, bootstrap. */
void reln_scores_doc(const RelnScores *s, const RelnSpecTarget *target, RelnDoc *doc,
                     RelnDocNode *map);
/* Plots how often predictions were right against their confidence. */
void reln_scores_reliability(const RelnScores *s, RelnPlot *plot);

#ifdef __cplusplus
}
#endif

#endif
