/* gemm.c -- see gemm.h. */
#include "tensor/gemm.h"

#include <cblas.h>
#include <string.h>

#include "reln/random.h"

#define real float
#define PLAIN plain_f32
#include "tensor/gemm_plain.inc"
#undef real
#undef PLAIN
#define real double
#define PLAIN plain_f64
#include "tensor/gemm_plain.inc"
#undef real
#undef PLAIN

static void product(const RelnGemm *gemm, bool is_double, bool ta, bool tb, ptrdiff_t m,
                    ptrdiff_t n, ptrdiff_t k, const void *a, ptrdiff_t lda, const void *b,
                    ptrdiff_t ldb, bool accumulate, void *c, ptrdiff_t ldc)
{
    const enum CBLAS_TRANSPOSE opa = ta ? CblasTrans : CblasNoTrans,
                               opb = tb ? CblasTrans : CblasNoTrans;

    if (gemm->reference && is_double)
        plain_f64(ta, tb, m, n, k, a, lda, b, ldb, accumulate, c, ldc);
    else if (gemm->reference)
        plain_f32(ta, tb, m, n, k, a, lda, b, ldb, accumulate, c, ldc);
    else if (is_double)
        cblas_dgemm(CblasRowMajor, opa, opb, (int)m, (int)n, (int)k, 1.0, a, (int)lda, b, (int)ldb,
                    accumulate ? 1.0 : 0.0, c, (int)ldc);
    else
        cblas_sgemm(CblasRowMajor, opa, opb, (int)m, (int)n, (int)k, 1.0f, a, (int)lda, b, (int)ldb,
                    accumulate ? 1.0f : 0.0f, c, (int)ldc);
}

void reln_gemm(RelnGemm *gemm, bool is_double, bool ta, bool tb, ptrdiff_t m, ptrdiff_t n,
               ptrdiff_t k, const void *a, ptrdiff_t lda, const void *b, ptrdiff_t ldb,
               bool accumulate, void *c, ptrdiff_t ldc, bool rows)
{
    const ptrdiff_t q = rows ? gemm->quantum[is_double] : 1;
    const ptrdiff_t padded = (m + q - 1) / q * q;

    if (m == 0 || n == 0)
        return;
    gemm->calls++;
    gemm->flops += 2.0 * (double)m * (double)n * (double)k;
    product(gemm, is_double, ta, tb, padded, n, k, a, lda, b, ldb, accumulate, c, ldc);
}

/* ---- the self-test -------------------------------------------------------------------------------------------- */

/* Sizes that reach the different edge kernels of a BLAS in both directions. */
enum { TEST_ROWS = 96, TEST_MAX = 67 };
static const int test_k[] = {1, 5, 16, 67}, test_n[] = {1, 3, 8, 33, 64};

static bool same_rows(RelnGemm *gemm, bool is_double, bool tb, int q, int n, int k, const void *a,
                      const void *b, void *full, void *part)
{
    const size_t size = is_double ? 8 : 4;

    product(gemm, is_double, false, tb, TEST_ROWS, n, k, a, k, b, tb ? k : n, false, full, n);
    for (int m = q; m <= TEST_ROWS / 2; m += q) {
        product(gemm, is_double, false, tb, m, n, k, a, k, b, tb ? k : n, false, part, n);
        if (memcmp(full, part, size * (size_t)(m * n)) != 0)
            return false;
    }
    return true;
}

static bool quantum_holds(RelnGemm *gemm, bool is_double, int q, const void *a, const void *b,
                          void *full, void *part)
{
    for (size_t i = 0; i < sizeof test_n / sizeof *test_n; i++)
        for (size_t j = 0; j < sizeof test_k / sizeof *test_k; j++)
            for (int tb = 0; tb < 2; tb++)
                if (!same_rows(gemm, is_double, tb, q, test_n[i], test_k[j], a, b, full, part))
                    return false;
    return true;
}

static bool find_quantum(RelnGemm *gemm, bool is_double, const double *random, float *a, float *b,
                         void *full, void *part)
{
    static const int candidates[] = {1, 2, 4, 6, 8, 12, 16, 24, 48};
    const void *pa = random, *pb = random + TEST_ROWS * TEST_MAX;

    if (!is_double) {
        for (int i = 0; i < TEST_ROWS * TEST_MAX; i++)
            a[i] = (float)random[i];
        for (int i = 0; i < TEST_MAX * TEST_MAX; i++)
            b[i] = (float)random[TEST_ROWS * TEST_MAX + i];
        pa = a;
        pb = b;
    }
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++)
        if (quantum_holds(gemm, is_double, candidates[i], pa, pb, full, part)) {
            gemm->quantum[is_double] = candidates[i];
            return true;
        }
    return false;
}

static RelnStatus self_test(RelnCtx *ctx, RelnArena *arena, RelnGemm *gemm)
{
    enum { COUNT = (TEST_ROWS + TEST_MAX) * TEST_MAX };
    double *random = reln_arena_alloc(arena, COUNT, sizeof *random);
    float *a = reln_arena_alloc(arena, TEST_ROWS * TEST_MAX, sizeof *a);
    float *b = reln_arena_alloc(arena, TEST_MAX * TEST_MAX, sizeof *b);
    double *full = reln_arena_alloc(arena, TEST_ROWS * TEST_MAX, sizeof *full);
    double *part = reln_arena_alloc(arena, TEST_ROWS * TEST_MAX, sizeof *part);
    RelnRng rng = reln_rng(1, 0);

    if (!random || !a || !b || !full || !part)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < COUNT; i++)
        random[i] = reln_rng_uniform(&rng) - 0.5;
    if (!find_quantum(gemm, false, random, a, b, full, part) ||
        !find_quantum(gemm, true, random, a, b, full, part))
        return reln_fail(
            ctx, RELN_ERR_UNSUPPORTED,
            "this BLAS gives rows of a product different bits for every number of rows up to %d: "
            "wanted OpenBLAS, or the reference kernels",
            TEST_ROWS);
    return RELN_OK;
}

RelnStatus reln_gemm_init(RelnCtx *ctx, bool reference, RelnGemm *out)
{
    RelnArena arena;
    RelnStatus status;

    *out = (RelnGemm){.reference = reference, .concurrent = true, .quantum = {1, 1}};
    if (reference)
        return RELN_OK;
    /* 0: the serial build, which is not safe to call from two threads at once */
    out->concurrent = openblas_get_parallel() != 0;
    openblas_set_num_threads(1);
    reln_arena_init(&arena, ctx);
    status = self_test(ctx, &arena, out);
    reln_arena_clear(&arena);
    return status;
}

const char *reln_gemm_name(const RelnGemm *gemm)
{
    return gemm->reference ? "reference" : openblas_get_config();
}
