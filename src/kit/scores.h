/* scores.h -- scores of a classifier for people: tables, plots, and a tree for scripts. */
#ifndef KIT_SCORES_H
#define KIT_SCORES_H

#include "kit/doc.h"
#include "kit/report.h"
#include "kit/spec.h"
#include "reln/fit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* reln_evaluate_classes() of a target that is a class. */
RelnStatus reln_evaluate_classes_of(RelnModel *model, int target, const char *data_path,
                                    int threads, uint64_t seed, RelnScores *out);

/* Tables, empty before: all classes together, a row for each score; a row for each class; true class by row, taken class
 * by column. Names are the target's. */
void reln_scores_summary(const RelnScores *s, RelnTable *table);
void reln_scores_classes(const RelnScores *s, const RelnSpecTarget *target, RelnTable *table);
void reln_scores_confusion(const RelnScores *s, const RelnSpecTarget *target, RelnTable *table);
/* Into a map: accuracy and the other scores, each with its error as NAME_error; classes, confusion, calibration, bootstrap. */
void reln_scores_doc(const RelnScores *s, const RelnSpecTarget *target, RelnDoc *doc,
                     RelnDocNode *map);
/* How often it came true against how sure the model was. */
void reln_scores_reliability(const RelnScores *s, RelnPlot *plot);

#ifdef __cplusplus
}
#endif

#endif
