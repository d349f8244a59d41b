/* mlp.h -- the network without symmetry: 12-128-128-128-1 for an energy (34,817 parameters), ...-12 for a velocity. */
#ifndef TASKS_PENDULUM_MLP_H
#define TASKS_PENDULUM_MLP_H

#include "tasks/pendulum/model.h"

typedef struct PendMlp {
    int width; /* of three hidden layers, with swish */
} PendMlp;

extern const PendArchitecture pend_mlp, pend_mlp_ode;

#endif
