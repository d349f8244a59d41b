/* machine.c -- see kit/machine.h. The name of the processor comes from cpuid, cache sizes from the C
 * library. */
#include "kit/machine.h"

#include <cblas.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/base.h"
#include "kit/clock.h"
#include "tensor/blas.h"

/* ---- the processor -------------------------------------------------------------------------------------------- */

#if defined(__x86_64__) || defined(__i386__)
/* Leaves 0x80000002 to 4 hold 48 letters, padded with blanks. */
static void cpu_name(char *text)
{
    unsigned words[12];

    if ((unsigned)__get_cpuid_max(0x80000000U, NULL) < 0x80000004U)
        return;
    for (unsigned i = 0; i < 3; i++)
        __get_cpuid(0x80000002U + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                    &words[4 * i + 3]);
    memcpy(text, words, sizeof words);
    text[sizeof words] = '\0';
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--)
        text[n - 1] = '\0';
}
#else
static void cpu_name(char *text)
{
    (void)text;
}
#endif

static size_t cache_size(int name)
{
    const long bytes = sysconf(name);

    return bytes > 0 ? (size_t)bytes : 0;
}

void reln_machine_describe(RelnMachine *out)
{
    if (!out)
        return;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);

    *out = (RelnMachine){.cpu = "unknown", .cores = cores > 0 ? (int)cores : 1};
    cpu_name(out->cpu);
    snprintf(out->blas, sizeof out->blas, "%s", openblas_get_config());
#ifdef _SC_LEVEL1_DCACHE_SIZE
    out->cache[0] = cache_size(_SC_LEVEL1_DCACHE_SIZE);
    out->cache[1] = cache_size(_SC_LEVEL2_CACHE_SIZE);
    out->cache[2] = cache_size(_SC_LEVEL3_CACHE_SIZE);
#endif
}

/* ---- matrix products ------------------------------------------------------------------------------------------ */

struct RelnGemmProbe {
    RelnCtx *ctx;
    bool is_double;
    int m, n, k;
    void *a, *b, *c;
};

static void store(const RelnGemmProbe *p, void *array, ptrdiff_t at, int value)
{
    if (p->is_double)
        ((double *)array)[at] = value;
    else
        ((float *)array)[at] = (float)value;
}

/* Fill the factors with small whole numbers, so that the product is exact in either type. */
static void fill(RelnGemmProbe *p)
{
    for (int i = 0; i < p->m; i++)
        for (int l = 0; l < p->k; l++)
            store(p, p->a, (ptrdiff_t)i * p->k + l, (i + l) % 7);
    for (int l = 0; l < p->k; l++)
        for (int j = 0; j < p->n; j++)
            store(p, p->b, (ptrdiff_t)l * p->n + j, (l + 2 * j) % 5);
}

static void *matrix(RelnGemmProbe *p, int rows, int columns)
{
    return reln_alloc(p->ctx, (size_t)rows * (size_t)columns,
                      p->is_double ? sizeof(double) : sizeof(float));
}

static bool fits(int extent)
{
    return extent >= 1 && extent <= 16384;
}

RelnStatus reln_gemm_probe_create(RelnCtx *ctx, RelnDtype dtype, int m, int n, int k,
                                  RelnGemmProbe **out)
{
    RELN_NEED(ctx && out, reln_null(ctx, __func__));

    RelnGemmProbe *p;

    *out = NULL;
    if (!fits(m) || !fits(n) || !fits(k) || (dtype != RELN_F32 && dtype != RELN_F64))
        return reln_fail(ctx, RELN_ERR_ARG,
                         "a product of %d x %d by %d x %d in type %d; wanted extents of 1 to 16384 "
                         "in float or double",
                         m, k, k, n, (int)dtype);
    RELN_TRY(reln_blas_want(ctx));
    p = reln_alloc(ctx, 1, sizeof *p);
    if (!p)
        return RELN_ERR_NOMEM;
    *p = (RelnGemmProbe){.ctx = ctx, .is_double = dtype == RELN_F64, .m = m, .n = n, .k = k};
    p->a = matrix(p, m, k);
    p->b = p->a ? matrix(p, k, n) : NULL;
    p->c = p->b ? matrix(p, m, n) : NULL;
    if (!p->c) {
        reln_gemm_probe_destroy(p);
        return RELN_ERR_NOMEM;
    }
    fill(p);
    *out = p;
    return RELN_OK;
}

void reln_gemm_probe_destroy(RelnGemmProbe *p)
{
    if (!p)
        return;
    reln_free(p->ctx, p->a);
    reln_free(p->ctx, p->b);
    reln_free(p->ctx, p->c);
    reln_free(p->ctx, p);
}

double reln_gemm_probe_run(RelnGemmProbe *p)
{
    RELN_NEED(p, 0);

    double start;

    if (openblas_get_num_threads() != 1)
        openblas_set_num_threads(1);
    start = reln_thread_seconds();
    if (p->is_double)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, p->m, p->n, p->k, 1.0, p->a, p->k,
                    p->b, p->n, 0.0, p->c, p->n);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, p->m, p->n, p->k, 1.0f, p->a, p->k,
                    p->b, p->n, 0.0f, p->c, p->n);
    return reln_thread_seconds() - start;
}

double reln_gemm_probe_value(const RelnGemmProbe *p, int i, int j)
{
    RELN_NEED(p, 0);

    const ptrdiff_t at = (ptrdiff_t)i * p->n + j;

    return p->is_double ? ((const double *)p->c)[at] : (double)((const float *)p->c)[at];
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static double triad(size_t n, double *restrict x, const double *restrict y,
                    const double *restrict z)
{
    const double start = reln_thread_seconds();

    for (size_t i = 0; i < n; i++)
        x[i] = y[i] + 3.0 * z[i];
    return reln_thread_seconds() - start;
}

RelnStatus reln_machine_bandwidth(RelnCtx *ctx, size_t n_bytes, double *out)
{
    RELN_NEED(out, reln_null(ctx, __func__));

    enum { REPEATS = 5, LEAST = 3072 };
    const size_t n = n_bytes / (3 * sizeof(double));
    double best = 0, *x;

    *out = 0;
    if (n_bytes < LEAST)
        return reln_fail(ctx, RELN_ERR_ARG, "bandwidth of %zu bytes; wanted %d or more", n_bytes,
                         LEAST);
    x = reln_alloc(ctx, 3 * n, sizeof *x); /* zeroed, so the pages exist */
    if (!x)
        return RELN_ERR_NOMEM;
    for (int r = 0; r < REPEATS || best <= 0;
         r++) { /* repeated, because the clock may be coarser than a small triad */
        const double seconds = triad(n, x, x + n, x + 2 * n);

        if (seconds > 0 && (best <= 0 || seconds < best))
            best = seconds;
    }
    reln_free(ctx, x);
    *out = 3.0 * (double)(n * sizeof *x) / best;
    return RELN_OK;
}
