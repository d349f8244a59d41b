/* ops.h -- what the file of an op includes: execution, all builders, all descriptors. */
#ifndef OPS_OPS_H
#define OPS_OPS_H

#include "graph/loop.h"
#include "ops/descriptors.h" /* derived from src/ops */
#include "reln/ops.h"        /* derived from src/ops */

#endif
