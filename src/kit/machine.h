/* machine.h -- a description of this machine, and its peak rates, with which measured speed is compared.
 *
 *     RelnMachine m;
 *     reln_machine_describe(&m);
 *     printf("%s, %d cores, %s\n", m.cpu, m.cores, m.blas);
 *
 *     RelnGemmProbe *probe = NULL;                                    // BLAS, one thread
 *     reln_gemm_probe_create(ctx, RELN_F32, 1008, 256, 256, &probe);
 *     double rate = 2.0 * 1008 * 256 * 256 / reln_gemm_probe_run(probe);
 *     reln_gemm_probe_destroy(probe);
 *
 * Rates are of one thread and in processor time, so that other work on the machine matters little.
 */
#ifndef KIT_MACHINE_H
#define KIT_MACHINE_H

#include "reln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RelnMachine {
    char cpu[64];    /* the processor's own name; "unknown" if it has none */
    char blas[128];  /* name, version and kernels of the BLAS in use */
    int cores;       /* number of cores that are online */
    size_t cache[3]; /* bytes of the first (data), second and third level; 0: unknown */
} RelnMachine;
void reln_machine_describe(RelnMachine *out);

/* A RelnGemmProbe is a product c (m,n) = a (m,k) b (k,n) of BLAS, row-major, with its own memory. Caller
 * destroys. RELN_ERR_ARG unless the extents are 1 .. 16384 and dtype is RELN_F32 or RELN_F64. */
typedef struct RelnGemmProbe RelnGemmProbe;
RelnStatus reln_gemm_probe_create(RelnCtx *ctx, RelnDtype dtype, int m, int n, int k,
                                  RelnGemmProbe **out);
void reln_gemm_probe_destroy(RelnGemmProbe *probe); /* NULL is fine */
/* Returns the seconds of one product. It allocates nothing through the context, so it may be called between
 * measured runs. */
double reln_gemm_probe_run(RelnGemmProbe *probe);
/* Returns an element of the last product, with a[i,l] = (i + l) mod 7 and b[l,j] = (l + 2 j) mod 5. */
double reln_gemm_probe_value(const RelnGemmProbe *probe, int i, int j);

/* Measures the bytes per second of x = y + a z on three arrays of n_bytes together, best of a few runs: the
 * memory bandwidth if the arrays are larger than the last cache. RELN_ERR_ARG below 3 kB. */
RelnStatus reln_machine_bandwidth(RelnCtx *ctx, size_t n_bytes, double *out);

#ifdef __cplusplus
}
#endif

#endif
