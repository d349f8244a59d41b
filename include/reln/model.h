/* model.h -- facts about a model: a network with its symmetry, its lifts and its weights. fit.h trains,
 * saves, loads and uses models. */
#ifndef RELN_MODEL_H
#define RELN_MODEL_H

#include "reln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RelnModel RelnModel;

RELN_API void reln_model_destroy(RelnModel *model); /* NULL is fine */

RELN_API const char *reln_model_symmetry(const RelnModel *model); /* name of the symmetry */
RELN_API const char *reln_model_features(const RelnModel *model); /* "gl:3"; "vectors"; "none" */
RELN_API int reln_model_n(const RelnModel *model);       /* size of the symmetry's matrices */
RELN_API int reln_model_targets(const RelnModel *model); /* number of targets */
/* Returns the name of a target in files, or NULL if there is no target of that number. */
RELN_API const char *reln_model_target_name(const RelnModel *model, int target);
RELN_API bool reln_model_promises(const RelnModel *model); /* whether the model is equivariant; false for an
                                                            * mlp */
/* Makes predictions, evaluations and checks of this model use the reference kernels (see RelnPlanOptions). */
RELN_API void reln_model_use_reference(RelnModel *model, bool reference);
RELN_API bool reln_model_reference(const RelnModel *model);
RELN_API size_t reln_model_parameters(const RelnModel *model);
/* Returns the training step after which the validation score was best; 0: the starting weights; -1:
 * unknown. */
RELN_API int64_t reln_model_step(const RelnModel *model);

/* Returns a warning about the data of the last prediction or evaluation, or "". It warns of an input whose
 * scale differs from the training data by a factor of 100 or more (probably other units). */
RELN_API const char *reln_model_note(const RelnModel *model);

#ifdef __cplusplus
}
#endif

#endif
