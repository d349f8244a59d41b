/* lift.h -- raw data into matrix features and back. */
#ifndef RELN_LIFT_H
#define RELN_LIFT_H

#include "reln/base.h"

#endif
