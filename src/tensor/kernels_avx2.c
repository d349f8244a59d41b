/* kernels_avx2.c -- the kernels compiled with AVX2 and FMA (flags in CMakeLists.txt). */
#include "tensor/kernels_avx2.h"

#ifdef RELN_HAVE_AVX2
#define FUSED /* multiply-adds */
#include "tensor/kern_all.inc"

const RelnKernels reln_kernels_avx2 = {"avx2", &table_f32, &table_f64};
#else
typedef int reln_kernels_avx2_unused;
#endif
