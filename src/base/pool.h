/* pool.h -- worker threads that run one function together. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/base.h"
#include "reln/pool.h"

/* Calls work(user, worker) once for each worker 0 .. n-1, the caller being worker 0, and returns when all are done.
 * n may be smaller than the pool. pool NULL: worker 0 alone. */
void reln_pool_run(RelnPool *pool, int n, void (*work)(void *user, int worker), void *user);

#endif
