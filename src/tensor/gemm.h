/* gemm.h -- the one door to matrix products for the kernels of a plan, in float and double.
 *
 * The products are our own (kern_gemm.inc), not a BLAS's: a row of a BLAS product has other bits in another place or
 * company (OpenBLAS's float kernels treat rows 0-5 and 6-11 of a block differently), so that a sample's result would
 * depend on its batch, and the serial build of OpenBLAS gives wrong products when two threads call it. Ours are as
 * fast, and a row depends on nothing but itself.
 */
#ifndef TENSOR_GEMM_H
#define TENSOR_GEMM_H

#include "base/base.h"
#include "tensor/kernels.h"

/* The memory and counters that one worker needs for matrix products. */
typedef struct RelnGemm {
    const RelnKernels *kern;
    void *work;     /* for packing, of fixed size */
    uint64_t calls; /* counters */
    double flops;
} RelnGemm;

size_t reln_gemm_bytes(void); /* of its memory */
RelnStatus reln_gemm_init(RelnGemm *gemm, RelnCtx *ctx, const RelnKernels *kern);
void reln_gemm_clear(RelnGemm *gemm, RelnCtx *ctx);

/* c (m,n) = op(a) op(b), added to c when `accumulate`; row-major, op: transposed when ta, tb. c overlaps neither. */
void reln_gemm(RelnGemm *gemm, bool is_double, bool ta, bool tb, ptrdiff_t m, ptrdiff_t n,
               ptrdiff_t k, const void *a, ptrdiff_t lda, const void *b, ptrdiff_t ldb,
               bool accumulate, void *c, ptrdiff_t ldc);

/* The product in two steps, for an operand b that is used often: the bytes of b packed, packing, and the product. */
size_t reln_gemm_packed_size(const RelnKernels *kern, bool is_double, ptrdiff_t n, ptrdiff_t k);
void reln_gemm_pack(const RelnGemm *gemm, bool is_double, bool tb, ptrdiff_t n, ptrdiff_t k,
                    const void *b, ptrdiff_t ldb, void *packed);
void reln_gemm_packed(RelnGemm *gemm, bool is_double, bool ta, ptrdiff_t m, ptrdiff_t n,
                      ptrdiff_t k, const void *a, ptrdiff_t lda, const void *packed,
                      bool accumulate, void *c, ptrdiff_t ldc);

#endif
