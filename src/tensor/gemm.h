/* gemm.h -- the one door to BLAS for the kernels of a plan: real matrix products in float and double.
 *
 * OpenBLAS gives a row of a product the same bits whatever the other rows are only when the number of rows is a
 * multiple of a quantum that depends on its kernels (12 on many). So products whose rows are items are padded to the
 * quantum here, and the quantum is found by a self-test instead of believed.
 */
#ifndef TENSOR_GEMM_H
#define TENSOR_GEMM_H

#include "base/base.h"

/* Rows that a buffer must have room for beyond those in use, in reading and in writing. */
enum { RELN_ROW_SLACK = 48 };

typedef struct RelnGemm {
    bool reference;  /* plain loops of our own instead of BLAS */
    bool concurrent; /* BLAS may be called from several threads */
    int quantum[2];  /* rows: [0] float, [1] double */
    uint64_t calls;  /* counters of one worker */
    double flops;
} RelnGemm;

/* Looks at the BLAS that is linked, tells it to use one thread for each call, and finds the quanta. */
RelnStatus reln_gemm_init(RelnCtx *ctx, bool reference, RelnGemm *out);

/* c (m,n) = op(a) op(b) + beta c, row-major, op: transposed when ta, tb. is_double chooses the type. Rows of the
 * result depend on those of op(a) alone when `rows` is set; then a (not transposed) must be readable and c writable
 * for RELN_ROW_SLACK rows beyond m. */
void reln_gemm(RelnGemm *gemm, bool is_double, bool ta, bool tb, ptrdiff_t m, ptrdiff_t n,
               ptrdiff_t k, const void *a, ptrdiff_t lda, const void *b, ptrdiff_t ldb,
               bool accumulate, void *c, ptrdiff_t ldc, bool rows);

/* Name of the kernel set in use, recorded with results: "openblas 0.3.21 Zen" or "reference". */
const char *reln_gemm_name(const RelnGemm *gemm);

#endif
