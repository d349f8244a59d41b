/* conditions.h -- condition numbers of the matrices of a data file, for each input. */
#ifndef KIT_CONDITIONS_H
#define KIT_CONDITIONS_H

#include "kit/spec.h"
#include "reln/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A RelnCondition holds the condition numbers of an input of matrices or covariances: the ratio of the
 * largest to the smallest singular value. */
typedef struct RelnCondition {
    const char *input; /* borrowed from the model */
    ptrdiff_t count;   /* number of matrices that were read */
    double median, worst;
} RelnCondition;

/* Computes them for every such input of a model, over at most a thousand evenly spaced samples of the file;
 * out has room for RELN_SPEC_INPUTS entries. */
RelnStatus reln_data_conditions(RelnModel *model, const char *data_path, RelnCondition *out,
                                int *count);

#ifdef __cplusplus
}
#endif

#endif
