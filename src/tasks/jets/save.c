/* save.c -- jets as a file of arrays, in the layout of the benchmark's converted files. */
#include <stdlib.h>

#include "reln/io.h"
#include "tasks/jets/jets.h"

/* Fills (n, JETS_MOST, 4): the particles of each jet, then zeros. */
static void fill_momenta(const Jets *jets, float *out)
{
    const double *p = jets->p;

    for (ptrdiff_t i = 0; i < jets->n; i++, out += 4 * (ptrdiff_t)JETS_MOST) {
        const int n = 4 * jets->counts[i];

        for (int k = 0; k < n; k++)
            out[k] = (float)p[k];
        p += n;
    }
}

static bool are_weighted(const Jets *jets)
{
    for (ptrdiff_t i = 0; i < jets->n; i++)
        if (jets->weights[i] != 1)
            return true;
    return false;
}

RelnStatus jets_save(TaskEnv *env, const char *path, const Jets *jets)
{
    float *momenta = calloc((size_t)jets->n * JETS_MOST, 4 * sizeof *momenta);
    const RelnArray arrays[] = {
        {.name = "Pmu",
         .dtype = RELN_F32,
         .rank = 3,
         .dims = {jets->n, JETS_MOST, 4},
         .f32 = momenta},
        {.name = "Nobj", .dtype = RELN_I32, .rank = 1, .dims = {jets->n}, .i32 = jets->counts},
        {.name = "is_signal", .dtype = RELN_I32, .rank = 1, .dims = {jets->n}, .i32 = jets->labels},
        {.name = "weight", .dtype = RELN_F64, .rank = 1, .dims = {jets->n}, .f64 = jets->weights}};
    RelnStatus status;

    if (!momenta)
        return task_nomem(env);
    fill_momenta(jets, momenta);
    status = reln_npz_save(env->ctx, path, are_weighted(jets) ? 4 : 3, arrays);
    free(momenta);
    return status;
}
