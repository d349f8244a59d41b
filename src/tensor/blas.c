/* blas.c -- see blas.h. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */ /* NOLINT(bugprone-reserved-identifier) */
#include "tensor/blas.h"

#include <cblas.h>
#include <sys/mman.h>

/* The buffer of OpenBLAS for x86-64, BUFFER_SIZE in its sources, and room for its tables. */
enum { BUFFER = 128 << 20, TABLES = 1 << 20 };

bool reln_blas_ready(void)
{
    const size_t bytes = BUFFER + TABLES;
    void *block = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (block == MAP_FAILED || munmap(block, bytes) != 0)
        return false;
    if (openblas_get_num_threads() != 1)
        openblas_set_num_threads(1);
    return true;
}

RelnStatus reln_blas_want(RelnCtx *ctx)
{
    if (reln_blas_ready())
        return RELN_OK;
    return reln_fail(ctx, RELN_ERR_NOMEM, "out of memory: no %d MB for the buffer of OpenBLAS",
                     BUFFER >> 20);
}
