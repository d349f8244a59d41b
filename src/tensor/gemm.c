/* gemm.c -- see gemm.h. */
#include "tensor/gemm.h"

/* b is packed in pieces of at most this many rows and columns. The rows of a piece are a whole block of the kernels, so
 * that the pieces add up in the same order as a b that is packed at once. */
enum { PIECE_K = RELN_GEMM_BLOCK, PIECE_N = 256 };

static const RelnRealKernels *table(const RelnGemm *gemm, bool is_double)
{
    return is_double ? gemm->kern->f64 : gemm->kern->f32;
}

size_t reln_gemm_bytes(void)
{
    return PIECE_K * PIECE_N * sizeof(double);
}

RelnStatus reln_gemm_init(RelnGemm *gemm, RelnCtx *ctx, const RelnKernels *kern)
{
    *gemm = (RelnGemm){.kern = kern};
    gemm->work = reln_alloc_raw(ctx, reln_gemm_bytes(), 1);
    return gemm->work ? RELN_OK : RELN_ERR_NOMEM;
}

void reln_gemm_clear(RelnGemm *gemm, RelnCtx *ctx)
{
    reln_free(ctx, gemm->work);
    gemm->work = NULL;
}

static void count(RelnGemm *gemm, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k)
{
    gemm->calls++;
    gemm->flops += 2.0 * (double)m * (double)n * (double)k;
}

static const void *at(const void *base, ptrdiff_t index, size_t size)
{
    return (const char *)base + index * (ptrdiff_t)size;
}

void reln_gemm(RelnGemm *gemm, bool is_double, bool ta, bool tb, ptrdiff_t m, ptrdiff_t n,
               ptrdiff_t k, const void *a, ptrdiff_t lda, const void *b, ptrdiff_t ldb,
               bool accumulate, void *c, ptrdiff_t ldc)
{
    const RelnRealKernels *kern = table(gemm, is_double);
    ptrdiff_t l = 0;

    count(gemm, m, n, k);
    do {
        const ptrdiff_t kc = k - l < PIECE_K ? k - l : PIECE_K;

        for (ptrdiff_t j = 0; j < n; j += PIECE_N) {
            const ptrdiff_t nc = n - j < PIECE_N ? n - j : PIECE_N;

            kern->gemm_pack(tb, nc, kc, at(b, tb ? j * ldb + l : l * ldb + j, kern->size), ldb,
                            gemm->work);
            kern->gemm(ta, m, nc, kc, at(a, ta ? l * lda : l, kern->size), lda, gemm->work,
                       accumulate || l > 0, (char *)c + j * (ptrdiff_t)kern->size, ldc);
        }
        l += PIECE_K;
    } while (l < k);
}

size_t reln_gemm_packed_size(const RelnKernels *kern, bool is_double, ptrdiff_t n, ptrdiff_t k)
{
    const RelnRealKernels *t = is_double ? kern->f64 : kern->f32;

    return (size_t)t->gemm_packed(n, k) * t->size;
}

void reln_gemm_pack(const RelnGemm *gemm, bool is_double, bool tb, ptrdiff_t n, ptrdiff_t k,
                    const void *b, ptrdiff_t ldb, void *packed)
{
    table(gemm, is_double)->gemm_pack(tb, n, k, b, ldb, packed);
}

void reln_gemm_packed(RelnGemm *gemm, bool is_double, bool ta, ptrdiff_t m, ptrdiff_t n,
                      ptrdiff_t k, const void *a, ptrdiff_t lda, const void *packed,
                      bool accumulate, void *c, ptrdiff_t ldc)
{
    count(gemm, m, n, k);
    table(gemm, is_double)->gemm(ta, m, n, k, a, lda, packed, accumulate, c, ldc);
}
