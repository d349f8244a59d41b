/* scale.c -- how the training of a network scales with the number of processes: measured here, projected to other numbers.
 *
 * A step of S shards on R ranks takes
 *
 *     step + ceil(S / R) shard + P 3 log2(R) latency + 2 N (R - 1) / R / bandwidth
 *
 * seconds: the work that every rank does once; its shards; in each of P reductions the rounds of agreeing, adding and
 * gathering; N bytes of sums, which are sent and received once. The first two are measured on one thread of this machine, N and
 * P come from the plan, latency and bandwidth are those of a stated network. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "kit/clock.h"
#include "kit/comm.h"

enum { SHARDS = 24, TIMES = 5 };

static const BenchCase *find_case(const BenchCase *cases, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(cases[i].name, name) == 0)
            return &cases[i];
    return NULL;
}

/* Measures the median time of a step of so many samples, after one step that is not counted. */
static RelnStatus time_step(BenchRig *rig, int batch, double *seconds)
{
    double times[TIMES];

    rig->batch = batch;
    for (int i = -1; i < TIMES; i++) {
        const double start = bench_clock(1);
        const RelnStatus status = bench_rig_run(rig);

        if (status != RELN_OK)
            return status;
        if (i >= 0)
            times[i] = bench_clock(1) - start;
    }
    *seconds = bench_spread(times, TIMES).median;
    return RELN_OK;
}

static RelnStatus measure(BenchRig *rig, BenchScale *out)
{
    enum { MOST_IN_SHARD = 24, FEW = SHARDS / 4 };
    RelnCost cost;
    double few = 0, many = 0;
    RelnStatus status = bench_rig_plan(rig, BENCH_TRAIN, SHARDS * MOST_IN_SHARD, NULL);

    if (status != RELN_OK)
        return status;
    cost = reln_plan_cost(rig->plan);
    out->shard = cost.shard;
    out->sums = (double)cost.bytes_sums;
    out->reductions = cost.reductions;
    out->parameters = cost.parameters;
    status = time_step(rig, cost.shard * FEW, &few);
    if (status == RELN_OK)
        status = time_step(rig, cost.shard * SHARDS, &many);
    out->shard_seconds = (many - few) / (SHARDS - FEW);
    out->step_seconds = fmax(0, few - out->shard_seconds * FEW);
    return status;
}

/* Measures steps that the existing ranks share, in wall time: other ranks use the processor while one waits. */
static RelnStatus time_together(BenchRig *rig, RelnCtx *ctx, RelnCommMeter *meter, BenchScale *out)
{
    double own[3], start = 0;
    double *all = calloc(3 * (size_t)out->ranks, sizeof *all);
    size_t *begin = calloc((size_t)out->ranks + 1, sizeof *begin);
    RelnStatus status = all && begin ? RELN_OK : RELN_ERR_NOMEM;

    status = reln_comm_agree(&meter->comm, ctx, status);
    for (int i = -1; i < TIMES && status == RELN_OK; i++) {
        if (i == 0) {
            start = reln_wall_seconds();
            reln_comm_meter_init(meter, &meter->of);
        }
        status = bench_rig_run(rig);
    }
    if (status == RELN_OK) {
        out->together_seconds = (reln_wall_seconds() - start) / TIMES;
        own[0] = meter->seconds / TIMES / out->ranks;
        own[1] = (double)meter->bytes / TIMES;
        own[2] = (double)meter->messages / TIMES;
        memcpy(all + 3 * (ptrdiff_t)meter->comm.rank, own, sizeof own);
        for (int r = 0; r <= out->ranks; r++)
            begin[r] = (size_t)r * sizeof own;
        status = reln_comm_gather(&meter->comm, ctx, all, begin);
    }
    for (int r = 0; r < out->ranks && status == RELN_OK; r++) {
        out->exchange_seconds += all[3 * r];
        out->sent_bytes += all[3 * r + 1];
        out->sent_messages += all[3 * r + 2];
    }
    free(begin);
    free(all);
    return status;
}

/* Plans the network again, for all ranks. */
static RelnStatus measure_ranks(BenchRig *rig, RelnCtx *ctx, const RelnComm *comm, BenchScale *out)
{
    RelnCommMeter meter;
    RelnStatus status;

    reln_comm_meter_init(&meter, comm);
    out->shards = SHARDS;
    out->alone_seconds = out->step_seconds + SHARDS * out->shard_seconds;
    rig->comm = &meter.comm;
    status = bench_rig_plan(rig, BENCH_TRAIN, SHARDS * out->shard, NULL);
    status = reln_comm_agree(comm, ctx, status);
    if (status == RELN_OK)
        status = time_together(rig, ctx, &meter, out);
    return status;
}

RelnStatus bench_scale(RelnCtx *ctx, const char *name, const RelnComm *comm, BenchScale *out,
                       char *why, size_t size)
{
    int n = 0;
    BenchCase *cases = bench_cases(&n);
    const BenchCase *c = cases ? find_case(cases, n, name) : NULL;
    BenchRig rig = {0};
    RelnStatus status = cases ? RELN_ERR_ARG : RELN_ERR_NOMEM;

    *out = (BenchScale){.ranks = reln_comm_size(comm)};
    snprintf(why, size, cases ? "no network '%.40s'" : "out of memory", name);
    if (c) {
        status = bench_rig_open(&rig, c);
        if (status == RELN_OK)
            status = measure(&rig, out);
        if (comm)
            status = reln_comm_agree(comm, ctx, status);
        if (status == RELN_OK && comm)
            status = measure_ranks(&rig, ctx, comm, out);
        if (status != RELN_OK)
            snprintf(why, size, "%s", bench_rig_error(&rig));
        bench_rig_close(&rig);
    }
    free(cases);
    return status;
}

double bench_scale_seconds(const BenchScale *s, double shards, double ranks, double latency,
                           double bandwidth)
{
    const double rounds = ranks > 1 ? 3 * ceil(log2(ranks)) * s->reductions : 0;

    return s->step_seconds + ceil(shards / ranks) * s->shard_seconds + rounds * latency +
           2 * s->sums * (ranks - 1) / ranks / bandwidth;
}
