/* reln.h -- everything. */
#ifndef RELN_RELN_H
#define RELN_RELN_H

#include "reln/algebra.h"
#include "reln/base.h"
#include "reln/data.h"
#include "reln/doc.h"
#include "reln/fit.h"
#include "reln/graph.h"
#include "reln/io.h"
#include "reln/lift.h"
#include "reln/machine.h"
#include "reln/matrix.h"
#include "reln/model.h"
#include "reln/nn.h"
#include "reln/ops.h"
#include "reln/optimiser.h"
#include "reln/plan.h"
#include "reln/pool.h"
#include "reln/random.h"
#include "reln/rep.h"
#include "reln/report.h"
#include "reln/setting.h"
#include "reln/spec.h"
#include "reln/train.h"

#endif
