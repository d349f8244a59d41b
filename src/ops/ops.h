/* ops.h -- the header that every op's file includes: execution, all builders, all descriptors. */
#ifndef OPS_OPS_H
#define OPS_OPS_H

#include "graph/loop.h"
#include "ops/descriptors.h" /* derived from src/ops */
#include "reln/ops.h"        /* derived from src/ops */

/* x A(u) + B(u), n terms of either polynomial in ascending powers, u = f(x): RELN_MAP_SIGMOID or RELN_MAP_TANH. */
RelnNode *reln_squash(RelnGraph *g, RelnMap f, RelnNode *x, int n, const double *a,
                      const double *b);

#endif
