/* fuzz.h -- what the fuzz targets share: a heap that counts, a clock, and what must hold whatever the bytes were.
 *
 * A target is one file, fuzz_NAME.c, with a folder corpus/NAME and a dictionary NAME.dict; CMake finds it by its name:
 *
 *     int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
 *     {
 *         FuzzHeap heap;
 *         RelnCtx *ctx = fuzz_begin(&heap, 64 * size + 65536);      // bytes that the input justifies
 *         RelnStatus status = ...;
 *         if (status != RELN_OK) fuzz_refused(ctx, status);
 *         fuzz_end(ctx);
 *         return 0;
 *     }
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "kit/doc.h"
#include "reln/base.h"
#include "reln/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(int holds)
{
    if (!holds)
        abort();
}

/* The memory in use may grow with the number of input bytes, never with the numbers that the input claims. */
typedef struct FuzzHeap {
    size_t live, limit;
} FuzzHeap;

/* The size is kept in front of the block. */
static inline void *fuzz_alloc(void *user, size_t n_bytes)
{
    FuzzHeap *const heap = user;
    char *block = aligned_alloc(RELN_ALIGN, n_bytes + RELN_ALIGN);

    heap->live += n_bytes;
    require(block && heap->live <= heap->limit);
    memcpy(block, &n_bytes, sizeof n_bytes);
    return block + RELN_ALIGN;
}

static inline void fuzz_release(void *user, void *block)
{
    FuzzHeap *const heap = user;
    char *const start = (char *)block - RELN_ALIGN;
    size_t n_bytes;

    memcpy(&n_bytes, start, sizeof n_bytes);
    heap->live -= n_bytes;
    free(start);
}

/* ---- a limit of one second of processor time for an input; time that the machine spends elsewhere does not
 * count ---- */

static void fuzz_too_long(int which)
{
    (void)which;
    abort();
}

/* 0 seconds stop the clock. */
static inline void fuzz_clock(time_t seconds)
{
    static bool ready;
    const struct itimerval time = {.it_value = {.tv_sec = seconds}};

    if (!ready)
        require(signal(SIGPROF, fuzz_too_long) != SIG_ERR);
    ready = true;
    require(setitimer(ITIMER_PROF, &time, NULL) == 0);
}

/* ---- an input ---------------------------------------------------------------------------------------------------- */

static inline RelnCtx *fuzz_begin(FuzzHeap *heap, size_t limit)
{
    const RelnAllocator allocator = {fuzz_alloc, fuzz_release, heap};
    RelnCtx *ctx = NULL;

    fuzz_clock(1);
    *heap = (FuzzHeap){0, limit};
    require(reln_ctx_create(&allocator, &ctx) == RELN_OK);
    return ctx;
}

/* Checks that the refusal has a message of one line. */
static inline void fuzz_refused(const RelnCtx *ctx, RelnStatus status)
{
    require(status == RELN_ERR_FORMAT || status == RELN_ERR_UNSUPPORTED);
    require(reln_ctx_error(ctx)[0] != '\0' && !strchr(reln_ctx_error(ctx), '\n'));
}

static inline void fuzz_end(RelnCtx *ctx)
{
    require(reln_ctx_live_blocks(ctx) == 0);
    reln_ctx_destroy(ctx);
    fuzz_clock(0);
}

#endif
