/* optimiser.h -- settings of the optimisers. The optimisers themselves are ops: reln_adam(), reln_sgd() in ops.h.
 *
 *     RelnAdam adam = RELN_ADAM_DEFAULTS;
 *     adam.decay = 1e-2;
 *     reln_adam_all(g, &adam, rate, loss);     // every run of a plan is then a training step
 */
#ifndef RELN_OPTIMISER_H
#define RELN_OPTIMISER_H

#include "reln/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RelnAdam {
    double beta1, beta2; /* decay rates of the running means of g and g^2, in [0, 1) */
    double eps;          /* must be above 0 */
    double decay;        /* decoupled decay (AdamW): rate * decay * p is subtracted from p */
    bool eps_inside; /* divide by sqrt(v + eps), without bias correction of v, instead of sqrt(v / (1 -
                      * beta2^t)) + eps */
} RelnAdam;
#define RELN_ADAM_DEFAULTS                                                                         \
    {                                                                                              \
        0.9, 0.999, 1e-8, 0.0, false                                                               \
    }

typedef struct RelnSgd {
    double momentum; /* in [0, 1) */
    bool nesterov;
    double decay; /* decay * p is added to the gradient */
} RelnSgd;

/* A RelnAdamGroup gives options and a rate to all parameters whose names begin with `prefix`. */
typedef struct RelnAdamGroup {
    const char *prefix; /* "" matches every name */
    RelnAdam options;
    RelnNode *rate;
} RelnAdamGroup;

#ifdef __cplusplus
}
#endif

#endif
