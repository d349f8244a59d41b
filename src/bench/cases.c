/* cases.c -- the list of all cases, and finding them by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

BenchCase *bench_cases(int *n)
{
    enum { ROOM = 128 };
    BenchCase *out = calloc(ROOM, sizeof *out);

    *n = 0;
    if (!out)
        return NULL;
    *n += bench_network_cases(out, ROOM);
    *n += bench_structured_cases(out + *n, ROOM - *n);
    *n += bench_splats_cases(out + *n, ROOM - *n);
    *n += bench_drone_cases(out + *n, ROOM - *n);
    *n += bench_layer_cases(out + *n, ROOM - *n);
    *n += bench_kernel_cases(out + *n, ROOM - *n);
    return out;
}

/* Returns whether the word of this length occurs in the name. */
static bool occurs(const char *name, const char *word, size_t length)
{
    if (length == 0)
        return false;
    for (; *name; name++)
        if (strncmp(name, word, length) == 0)
            return true;
    return false;
}

bool bench_wanted(const char *name, const char *only)
{
    if (!only)
        return true;
    for (;;) {
        const size_t length = strcspn(only, ",");

        if (occurs(name, only, length))
            return true;
        if (only[length] == '\0')
            return false;
        only += length + 1;
    }
}

/* ---- one run ---------------------------------------------------------------------------------------------------------- */

/* Splits "NAME/PASS/BATCH" from the end, because names may contain slashes. */
static bool split(const char *text, const BenchCase *cases, int n, const BenchCase **c,
                  BenchPass *pass, int *batch)
{
    for (int i = 0; i < n; i++)
        for (int p = 0; p < BENCH_PASSES; p++) {
            char wanted[64];
            const int length =
                snprintf(wanted, sizeof wanted, "%s/%s/", cases[i].name, bench_pass_names[p]);
            char *end = NULL;
            long value;

            if (strncmp(text, wanted, (size_t)length) != 0)
                continue;
            value = strtol(text + length, &end, 10);
            if (text[length] < '1' || text[length] > '9' || *end || value > 100000)
                return false;
            *c = &cases[i];
            *pass = (BenchPass)p;
            *batch = (int)value;
            return cases[i].kind != BENCH_KERNEL || p != BENCH_TRAIN;
        }
    return false;
}

static RelnStatus run_once(const BenchCase *c, BenchPass pass, int batch, RelnPool *pool,
                           const char *path, BenchProcess *out, char *why, size_t size)
{
    BenchRig rig;
    RelnStatus status = bench_rig_open(&rig, c);

    if (status == RELN_OK)
        status = bench_rig_plan(&rig, pass, batch, pool);
    for (int i = 0; i < (pass == BENCH_FORWARD ? 1 : 3) && status == RELN_OK; i++)
        status = bench_rig_run(&rig);
    if (status == RELN_OK && path)
        status = bench_rig_save(&rig, path);
    if (status != RELN_OK)
        snprintf(why, size, "%s: %s", c->name, bench_rig_error(&rig));
    out->build = rig.build;
    out->peak_bytes = bench_peak_bytes();
    bench_rig_close(&rig);
    return status;
}

RelnStatus bench_once(RelnCtx *ctx, const char *name, int threads, const char *path,
                      BenchProcess *out, char *why, size_t size)
{
    const BenchCase *c = NULL;
    BenchPass pass = BENCH_FORWARD;
    RelnPool *pool = NULL;
    RelnStatus status = RELN_OK;
    int n = 0, batch = 0;
    BenchCase *cases = bench_cases(&n);

    *out = (BenchProcess){0};
    why[0] = '\0';
    if (cases && !split(name, cases, n, &c, &pass, &batch)) {
        snprintf(why, size, "'%.60s' is nothing to run; wanted NAME/PASS/BATCH: sp4/train/100",
                 name);
        status = RELN_ERR_ARG;
    } else if (!cases || (threads > 1 && reln_pool_create(ctx, threads, &pool) != RELN_OK)) {
        snprintf(why, size, "out of memory");
        status = RELN_ERR_NOMEM;
    } else {
        status = run_once(c, pass, batch, pool, path, out, why, size);
    }
    reln_pool_destroy(pool);
    free(cases);
    return status;
}
