/* fit.c -- a short run with the reference kernels, into the folder that is named. Its model must be the same
 * file whichever compiler made the program. */
#include <stdio.h>
#include <stdlib.h>

#include "reln/fit.h"

enum { N = 60 };

/* Writes vectors and a function of them, without calling a mathematical function of the C library. */
static void fill(double *v, double *y)
{
    uint64_t seed = 1;

    for (int i = 0; i < 3 * N; i++) {
        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
        v[i] = (double)(int64_t)((seed >> 33) - (1u << 30)) * (1.0 / (1u << 29));
    }
    for (int i = 0; i < N; i++)
        y[i] = v[3 * i] * v[3 * i] + v[3 * i + 1] * v[3 * i + 1] + v[3 * i + 2] * v[3 * i + 2];
}

static RelnStatus train(RelnCtx *ctx, const char *spec, const char *folder, const char *data)
{
    static double v[3 * N], y[N];
    const RelnArray arrays[] = {RELN_ARRAY("v", RELN_F64, v, N, 3),
                                RELN_ARRAY("y", RELN_F64, y, N)};
    RelnFit *fit = NULL;
    RelnTrainEnd end;
    RelnStatus status;

    fill(v, y);
    status = reln_npz_save(ctx, data, 2, arrays);
    if (status == RELN_OK)
        status = reln_fit_open(ctx, spec, data,
                               &(RelnFitOptions){.folder = folder, .reference = true}, &fit);
    if (status == RELN_OK)
        status = reln_fit_run(fit, &end);
    reln_fit_close(fit);
    return status;
}

int main(int argc, char **argv)
{
    RelnCtx *ctx = NULL;
    RelnStatus status;

    if (argc != 4 || reln_ctx_create(NULL, &ctx) != RELN_OK)
        return 2;
    status = train(ctx, argv[1], argv[2], argv[3]);
    if (status != RELN_OK)
        fprintf(stderr, "%s\n", reln_ctx_error(ctx));
    reln_ctx_destroy(ctx);
    return status == RELN_OK ? 0 : 1;
}
