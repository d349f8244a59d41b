/* conditions.h -- how well conditioned the matrices of a data file are, input by input. */
#ifndef KIT_CONDITIONS_H
#define KIT_CONDITIONS_H

#include "kit/spec.h"
#include "reln/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Condition numbers of an input of matrices or covariances: the ratio of the largest to the smallest singular value. */
typedef struct RelnCondition {
    const char *input; /* the model's */
    ptrdiff_t count;   /* matrices that were looked at */
    double median, worst;
} RelnCondition;

/* Of every such input of a model, over at most a thousand samples of the file, evenly; out has RELN_SPEC_INPUTS places. */
RelnStatus reln_data_conditions(RelnModel *model, const char *data_path, RelnCondition *out,
                                int *count);

#ifdef __cplusplus
}
#endif

#endif
