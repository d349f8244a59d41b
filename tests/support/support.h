/* support.h -- helpers of all tests: comparing numbers, a failing allocator, random data. */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

/* cmocka wants these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include "kit/kit.h"

/* Fails the test, with place and numbers, unless |got - want| <= tol * max(1, largest |want|), element by element. */
#define assert_near(got, want, count, tol) assert_near_(got, want, count, tol, __FILE__, __LINE__)
void assert_near_(const double *got, const double *want, ptrdiff_t count, double tol,
                  const char *file, int line);
#define assert_small(value, bound) assert_small_(value, bound, #value, __FILE__, __LINE__)
void assert_small_(double value, double bound, const char *text, const char *file, int line);
#define assert_ok(ctx, call) assert_ok_(ctx, call, #call, __FILE__, __LINE__)
void assert_ok_(const RelnCtx *ctx, RelnStatus status, const char *text, const char *file,
                int line);

void fill_normal(RelnRng *rng, ptrdiff_t count, double *x);

/* A context whose k-th allocation fails (k = 0: none does). Its destroy checks that nothing leaked. */
typedef struct FaultyHeap {
    uint64_t count;   /* allocations asked for so far */
    uint64_t fail_at; /* 1-based; 0: never */
    int64_t live;     /* blocks handed out and not released */
} FaultyHeap;
RelnAllocator faulty_allocator(FaultyHeap *heap);

/* A CountingHeap counts the allocated bytes, and their largest number so far. */
typedef struct CountingHeap {
    size_t live, peak;
} CountingHeap;
RelnAllocator counting_allocator(CountingHeap *heap);

/* Runs body(ctx) with the 1st, 2nd, ... allocation failing until it returns RELN_OK. Each failing run must return
 * RELN_ERR_NOMEM and leave nothing allocated. Returns the number of failing runs. */
uint64_t fail_every_allocation(RelnStatus (*body)(RelnCtx *ctx));

#endif
