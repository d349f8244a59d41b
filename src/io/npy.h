/* npy.h -- inside of .npy: what the header says, and numbers of any kind as doubles. */
#ifndef IO_NPY_H
#define IO_NPY_H

#include "base/base.h"
#include "reln/io.h"

/* Product of dims; false when it does not fit, zeros in other places notwithstanding. */
bool reln_dims_count(int rank, const ptrdiff_t *dims, ptrdiff_t *count);

#endif
