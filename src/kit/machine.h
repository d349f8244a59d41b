/* machine.h -- what this machine is and how fast it can be: the measures that speed is compared with.
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
 * Rates are of one thread and in time of the processor, so that what others do on the machine counts little.
 */
#ifndef KIT_MACHINE_H
#define KIT_MACHINE_H

#include "reln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RelnMachine {
    char cpu[64];    /* as the processor says; "unknown" where it does not */
    char blas[128];  /* name, version and kernels of the BLAS in use */
    int cores;       /* that are online */
    size_t cache[3]; /* bytes of the first (data), second and third level; 0: not known */
} RelnMachine;
void reln_machine_describe(RelnMachine *out);

/* A product c (m,n) = a (m,k) b (k,n) of BLAS, row-major, with memory of its own. Caller destroys.
 * RELN_ERR_ARG unless the extents are 1 .. 16384 and dtype is RELN_F32 or RELN_F64. */
typedef struct RelnGemmProbe RelnGemmProbe;
RelnStatus reln_gemm_probe_create(RelnCtx *ctx, RelnDtype dtype, int m, int n, int k,
                                  RelnGemmProbe **out);
void reln_gemm_probe_destroy(RelnGemmProbe *probe); /* NULL is fine */
/* Seconds of one product. Allocates nothing of ours, so it may stand between runs that are measured. */
double reln_gemm_probe_run(RelnGemmProbe *probe);
/* An element of the last product. a[i,l] = (i + l) mod 7, b[l,j] = (l + 2 j) mod 5. */
double reln_gemm_probe_value(const RelnGemmProbe *probe, int i, int j);

/* Bytes a second of x = y + a z on three arrays of n_bytes together, best of a few: memory's where they are larger
 * than the last cache. RELN_ERR_ARG below 3 kB. */
RelnStatus reln_machine_bandwidth(RelnCtx *ctx, size_t n_bytes, double *out);

#ifdef __cplusplus
}
#endif

#endif
