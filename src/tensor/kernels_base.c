/* kernels_base.c -- the kernels as plain C for any machine, and the choice between the tables. */
#include "tensor/kern_all.inc"
#include "tensor/kernels_avx2.h"

static const RelnKernels base = {"reference", &table_f32, &table_f64};

const RelnKernels *reln_kernels(bool reference)
{
#ifdef RELN_HAVE_AVX2
    if (!reference && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &reln_kernels_avx2;
#endif
    (void)reference;
    return &base;
}
