/* kernels_avx2.h -- the tables compiled with AVX2 and FMA, and with AVX-512, if the compiler supports them. */
#ifndef TENSOR_KERNELS_AVX2_H
#define TENSOR_KERNELS_AVX2_H

#include "tensor/kernels.h"

#ifdef RELN_HAVE_AVX2
extern const RelnKernels reln_kernels_avx2, reln_kernels_avx512;
#endif

#endif
