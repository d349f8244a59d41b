/* symmetry.h -- the groups of the benchmark, acting about the vertical axis on vectors of space. */
#ifndef TASKS_PENDULUM_SYMMETRY_H
#define TASKS_PENDULUM_SYMMETRY_H

#include "reln/rep.h"

typedef enum PendSymmetry {
    PEND_O2,  /* rotations and mirrors */
    PEND_SO2, /* rotations */
    PEND_D6,  /* rotations by 60 degrees, and mirrors */
    PEND_NONE,
    PEND_SYMMETRIES
} PendSymmetry;

const char *pend_symmetry_text(PendSymmetry s); /* "o2", "so2", "d6", "none" */
bool pend_symmetry_find(const char *text, PendSymmetry *out);

/* As 3 x 3 matrices. Caller destroys. */
RelnStatus pend_symmetry_group(RelnCtx *ctx, PendSymmetry s, RelnGroup **out);

#endif
