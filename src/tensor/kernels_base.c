/* kernels_base.c -- the kernels as plain C for any machine, and the choice between the tables. */
#include "tensor/kern_all.inc"
#include "tensor/kernels_avx2.h"

static const RelnKernels base = {"reference", &table_f32, &table_f64};

#ifdef RELN_HAVE_AVX2
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}
#endif

const RelnKernels *reln_kernels_tier(int tier)
{
    const RelnKernels *const tables[] = {
        &base,
#ifdef RELN_HAVE_AVX2
        has_avx2() ? &reln_kernels_avx2 : NULL,
        has_avx512() ? &reln_kernels_avx512 : NULL,
#endif
    };

    return tier >= 0 && tier < (int)(sizeof tables / sizeof tables[0]) ? tables[tier] : NULL;
}

const RelnKernels *reln_kernels(bool reference)
{
    int tier = 0;

    while (!reference && reln_kernels_tier(tier + 1))
        tier++;
    return reln_kernels_tier(tier);
}
