/* kernels_avx512.c -- the kernels compiled with AVX-512 (flags in CMakeLists.txt): longer vectors, the arithmetic and the bits of
 * kernels_avx2.c. */
#include "tensor/kernels_avx2.h"

#ifdef RELN_HAVE_AVX2
#define FUSED /* multiply-adds */
#define WIDE
#define for_f32 f32 /* the members of a RelnKernels, for kern_narrow.inc */
#define for_f64 f64
#include "tensor/kern_all.inc"

const RelnKernels reln_kernels_avx512 = {"avx2", &table_f32, &table_f64};
#else
typedef int reln_kernels_avx512_unused;
#endif
