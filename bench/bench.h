/* bench.h -- what the benchmarks share: the clock, and the machine's own rate of matrix products. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "reln/reln.h"

/* Time on the processor: the benchmarks use one thread, and what others do on the machine should count little. */
static inline double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* One sgemm of m x 256 by 256 x 256 on one thread; seconds. */
static inline double sgemm_once(int m, const float *a, const float *b, float *c)
{
    const double start = seconds();

    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, 256, 256, 1.0f, a, 256, b, 256, 0.0f,
                c, 256);
    return seconds() - start;
}

/* The best of interleaved measurements of `work` and of sgemm: what else the machine does hits both alike. Returns the
 * seconds of work; *rate is sgemm's, in operations a second. */
static inline double against_sgemm(void (*work)(void *user), void *user, int repeats, double *rate)
{
    enum { M = 900 };
    float *a = calloc((size_t)M * 256 * 2 + 256 * 256, sizeof *a), *b = a + M * 256,
          *c = b + 256 * 256;
    double best = 1e9, gemm = 1e9;

    openblas_set_num_threads(1);
    for (int i = 0; i < M * 256 + 256 * 256; i++)
        a[i] = (float)(i % 17) - 8.0f;
    for (int r = 0; r < repeats; r++) {
        double start = seconds(), once;

        work(user);
        best = seconds() - start < best ? seconds() - start : best;
        for (int i = 0; i < 4; i++) {
            once = sgemm_once(M, a, b, c);
            gemm = once < gemm ? once : gemm;
        }
    }
    free(a);
    *rate = 2.0 * M * 256 * 256 / gemm;
    return best;
}

#define BENCH_TRY(ctx, call)                                                                       \
    do {                                                                                           \
        if ((call) != RELN_OK) {                                                                   \
            fprintf(stderr, "%s\n", reln_ctx_error(ctx));                                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#endif
