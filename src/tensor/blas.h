/* blas.h -- whether OpenBLAS can be called. */
#ifndef TENSOR_BLAS_H
#define TENSOR_BLAS_H

#include "base/base.h"

/* OpenBLAS takes a buffer of 128 MB from the system at its first call, and another for each further thread that is
 * inside it at the same time; where mmap() fails it tries again for ever. So every caller asks first whether a buffer
 * can be allocated, which costs two system calls. The function also sets one thread for each call, because bits must
 * not depend on the number of threads.
 *
 * The answer is not remembered. A buffer that OpenBLAS has already would serve one thread at a time, but nothing tells
 * whether another thread is inside at this moment, and a wrong guess is a hang. So the program is refused where less
 * than a second buffer is left: `reln fit` needs about 280 MB of addresses, of which it uses 200. */
bool reln_blas_ready(void);
RelnStatus reln_blas_want(RelnCtx *ctx); /* the same as a status: RELN_ERR_NOMEM */

#endif
