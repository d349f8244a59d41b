/* pendulum.h -- what the tests of the pendulum share: reference arrays, a graph of one symmetry. */
#ifndef TESTS_TASKS_PENDULUM_H
#define TESTS_TASKS_PENDULUM_H

#include "support/support.h"
#include "tasks/pendulum/model.h"

/* tests/golden/pendulum/NAME.npy, which must have `count` numbers. Clear it. */
RelnArray pendulum_golden(RelnCtx *ctx, const char *name, ptrdiff_t count);

/* A group, a store and a graph in double precision. */
typedef struct Lab {
    RelnCtx *ctx;
    RelnGroup *group;
    RelnStore *store;
    RelnGraph *graph;
} Lab;
void lab_init(Lab *lab, PendSymmetry symmetry);
void lab_clear(Lab *lab);

#endif
