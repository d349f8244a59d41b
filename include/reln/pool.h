/* pool.h -- worker threads, which several plans can share. */
#ifndef RELN_POOL_H
#define RELN_POOL_H

#include "reln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RelnPool RelnPool;

/* Creates a pool. n_threads counts the calling thread too. A pool runs one plan at a time. Caller destroys
 * *out. */
RELN_API RelnStatus reln_pool_create(RelnCtx *ctx, int n_threads, RelnPool **out);
RELN_API void reln_pool_destroy(RelnPool *pool); /* NULL is fine */
RELN_API int reln_pool_threads(const RelnPool *pool);

#ifdef __cplusplus
}
#endif

#endif
