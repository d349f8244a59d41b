/* gemm.h -- matrix products for the kernels of a plan, in float and double. Plans compute all their products here.
 *
 * The products are written here (kern_gemm.inc) and do not call BLAS. In a BLAS product, the bits of a row depend on its
 * position and on the number of rows (OpenBLAS's float kernels treat rows 0-5 and 6-11 of a block differently), so the
 * result of a sample would depend on its batch. Also, the serial build of OpenBLAS gives wrong products when two threads
 * call it. The products here are as fast, and a row of the result depends on that row of `a` and on b alone.
 */
#ifndef TENSOR_GEMM_H
#define TENSOR_GEMM_H

#include "base/base.h"
#include "tensor/kernels.h"

/* The memory and counters that one worker needs for matrix products. */
typedef struct RelnGemm {
    const RelnKernels *kern;
    void *work;     /* memory for packing, of fixed size */
    uint64_t calls; /* counters */
    double flops;
} RelnGemm;

size_t reln_gemm_bytes(void); /* size of its memory */
RelnStatus reln_gemm_init(RelnGemm *gemm, RelnCtx *ctx, const RelnKernels *kern);
void reln_gemm_clear(RelnGemm *gemm, RelnCtx *ctx);

/* c (m,n) = op(a) op(b), added to c if `accumulate`. Matrices are row-major; ta, tb: op is the transpose. c
 * must not overlap a or b. */
void reln_gemm(RelnGemm *gemm, bool is_double, bool ta, bool tb, ptrdiff_t m, ptrdiff_t n,
               ptrdiff_t k, const void *a, ptrdiff_t lda, const void *b, ptrdiff_t ldb,
               bool accumulate, void *c, ptrdiff_t ldc);

/* The product in two steps, for an operand b that is used many times: the size of packed b, packing, and the
 * product. */
size_t reln_gemm_packed_size(const RelnKernels *kern, bool is_double, ptrdiff_t n, ptrdiff_t k);
void reln_gemm_pack(const RelnGemm *gemm, bool is_double, bool tb, ptrdiff_t n, ptrdiff_t k,
                    const void *b, ptrdiff_t ldb, void *packed);
void reln_gemm_packed(RelnGemm *gemm, bool is_double, bool ta, ptrdiff_t m, ptrdiff_t n,
                      ptrdiff_t k, const void *a, ptrdiff_t lda, const void *packed,
                      bool accumulate, void *c, ptrdiff_t ldc);

#endif
