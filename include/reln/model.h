/* model.h -- a network with its symmetry, its lifts and its weights: what it is. fit.h trains, saves, loads and uses it. */
#ifndef RELN_MODEL_H
#define RELN_MODEL_H

#include "reln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RelnModel RelnModel;

RELN_API void reln_model_destroy(RelnModel *model); /* NULL is fine */

RELN_API const char *reln_model_symmetry(const RelnModel *model); /* its name */
RELN_API const char *reln_model_features(const RelnModel *model); /* "gl:3"; "vectors"; "none" */
RELN_API int reln_model_n(const RelnModel *model);         /* size of the symmetry's matrices */
RELN_API bool reln_model_promises(const RelnModel *model); /* false: an mlp */
/* Predictions, evaluations and checks of this model take the reference kernels: see RelnPlanOptions. */
RELN_API void reln_model_use_reference(RelnModel *model, bool reference);
RELN_API bool reln_model_reference(const RelnModel *model);
RELN_API size_t reln_model_parameters(const RelnModel *model);
/* The step of training after which its weights were the best; 0: the weights of the start; -1: not known. */
RELN_API int64_t reln_model_step(const RelnModel *model);

/* What the last prediction or evaluation noticed of its data: an input in other units than those of training (a factor of 100
 * and more); "" when nothing. */
RELN_API const char *reln_model_note(const RelnModel *model);

#ifdef __cplusplus
}
#endif

#endif
