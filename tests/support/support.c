/* support.c -- see support.h. */
#include "support/support.h"

#include <math.h>
#include <stdlib.h>

void assert_near_(const double *got, const double *want, ptrdiff_t count, double tol,
                  const char *file, int line)
{
    double scale = 1.0;

    for (ptrdiff_t i = 0; i < count; i++)
        scale = fmax(scale, fabs(want[i]));
    for (ptrdiff_t i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= tol * scale)) {
            print_error("%s:%d: element %td is %.17g, wanted %.17g (off by %.2e, allowed %.2e)\n",
                        file, line, i, got[i], want[i], fabs(got[i] - want[i]), tol * scale);
            _fail(file, line);
        }
}

void assert_small_(double value, double bound, const char *text, const char *file, int line)
{
    if (fabs(value) <= bound)
        return;
    print_error("%s:%d: %s is %.3e, allowed %.3e\n", file, line, text, value, bound);
    _fail(file, line);
}

void assert_ok_(const RelnCtx *ctx, RelnStatus status, const char *text, const char *file, int line)
{
    if (status == RELN_OK)
        return;
    print_error("%s:%d: %s: %s: %s\n", file, line, text, reln_status_text(status),
                reln_ctx_error(ctx));
    _fail(file, line);
}

void fill_normal(RelnRng *rng, ptrdiff_t count, double *x)
{
    for (ptrdiff_t i = 0; i < count; i++)
        x[i] = reln_rng_normal(rng);
}

static void *faulty_alloc(void *user, size_t n_bytes)
{
    FaultyHeap *heap = user;
    void *block = ++heap->count == heap->fail_at ? NULL : aligned_alloc(RELN_ALIGN, n_bytes);

    heap->live += block != NULL;
    return block;
}

static void faulty_release(void *user, void *block)
{
    FaultyHeap *heap = user;

    heap->live--;
    free(block);
}

RelnAllocator faulty_allocator(FaultyHeap *heap)
{
    return (RelnAllocator){faulty_alloc, faulty_release, heap};
}

/* The size of a block stands before it. Threads of a pool allocate nothing. */
static void *counting_alloc(void *user, size_t n_bytes)
{
    CountingHeap *heap = user;
    char *block = aligned_alloc(RELN_ALIGN, (n_bytes / RELN_ALIGN + 2) * RELN_ALIGN);

    if (!block)
        return NULL;
    *(size_t *)(void *)block = n_bytes;
    heap->live += n_bytes;
    heap->peak = heap->live > heap->peak ? heap->live : heap->peak;
    return block + RELN_ALIGN;
}

static void counting_release(void *user, void *block)
{
    char *begin = (char *)block - RELN_ALIGN;

    ((CountingHeap *)user)->live -= *(size_t *)(void *)begin;
    free(begin);
}

RelnAllocator counting_allocator(CountingHeap *heap)
{
    return (RelnAllocator){counting_alloc, counting_release, heap};
}

uint64_t fail_every_allocation(RelnStatus (*body)(RelnCtx *ctx))
{
    for (uint64_t k = 1;; k++) {
        FaultyHeap heap = {0, k, 0};
        const RelnAllocator allocator = faulty_allocator(&heap);
        RelnCtx *ctx = NULL;
        RelnStatus status = reln_ctx_create(&allocator, &ctx);

        if (status == RELN_OK)
            status = body(ctx);
        reln_ctx_destroy(ctx);
        assert_int_equal(heap.live, 0);
        if (status == RELN_OK && heap.count < k)
            return k - 1;
        assert_int_equal(status, RELN_ERR_NOMEM);
    }
}
