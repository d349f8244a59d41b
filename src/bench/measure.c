/* measure.c -- runs every case alternately with the machine's own matrix product, and keeps medians. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "kit/clock.h"

/* ---- time and spread ------------------------------------------------------------------------------------------------ */

double bench_clock(int threads)
{
    return threads == 1 ? reln_thread_seconds() : reln_wall_seconds();
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Interpolates between the two nearest of the sorted values. */
static double quantile(const double *sorted, int n, double q)
{
    const double at = q * (n - 1);
    const int i = (int)at;

    return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

BenchSpread bench_spread(double *values, int n)
{
    if (n < 1)
        return (BenchSpread){0};
    qsort(values, (size_t)n, sizeof *values, compare);
    return (BenchSpread){n, quantile(values, n, 0.5), quantile(values, n, 0.1),
                         quantile(values, n, 0.9)};
}

/* ---- the run --------------------------------------------------------------------------------------------------------- */

enum { MAX_REPEATS = 400 };

typedef struct Run {
    RelnCtx *ctx;
    const BenchOptions *options;
    BenchResult *out;
    RelnGemmProbe *probe; /* 1008 x 256 x 256 in float */
    RelnPool *pool;       /* all threads; NULL for one thread */
    int done, all;        /* number of rows */
    bool ended;           /* observe() ended the run */
    char *why;
    size_t size;
} Run;

static double probe_flops(int m, int n, int k)
{
    return 2.0 * m * n * k;
}
enum { GEMM_M = 1008, GEMM_N = 256 };

static RelnStatus fail(Run *run, const BenchRig *rig, RelnStatus status)
{
    snprintf(run->why, run->size, "%s: %s", rig->c->name, bench_rig_error(rig));
    return status;
}

/* Returns the longest time of a row; and the smallest number of repetitions. */
static double budget_of(const Run *run, BenchKind kind)
{
    if (run->options->quick)
        return 0.01;
    return kind == BENCH_NETWORK ? 0.25 : 0.08;
}

static int least_of(const Run *run)
{
    return run->options->quick ? 2 : 7;
}

/* Runs many times in a row, so that the resolution and cost of the clock do not matter. */
static RelnStatus time_runs(BenchRig *rig, int threads, int inner, double *seconds)
{
    const double start = bench_clock(threads);

    for (int i = 0; i < inner; i++) {
        const RelnStatus status = bench_rig_run(rig);

        if (status != RELN_OK)
            return status;
    }
    *seconds = (bench_clock(threads) - start) / inner;
    return RELN_OK;
}

static RelnStatus choose_inner(const Run *run, BenchRig *rig, int threads, int *inner)
{
    const double target = run->options->quick ? 2e-4 : 2e-3;
    double seconds = 0;
    RelnStatus status = time_runs(rig, threads, 1, &seconds); /* warms up, and reserves memory */

    if (status == RELN_OK && seconds < 10 * target)
        status = time_runs(rig, threads, 1, &seconds);
    *inner = seconds < target ? (int)fmin(ceil(target / fmax(seconds, 1e-7)), 2000) : 1;
    return status;
}

/* Measures the seconds of the case and of sgemm alternately. */
static RelnStatus repeat(Run *run, BenchRig *rig, BenchRow *row)
{
    static const double too_long = 20;
    const double start = bench_clock(2), budget = budget_of(run, row->kind);
    double work[MAX_REPEATS], gemm[MAX_REPEATS];
    int inner = 1, n = 0;
    RelnStatus status = choose_inner(run, rig, row->threads, &inner);
    const uint64_t before = reln_ctx_allocations(rig->setting.ctx);

    while (status == RELN_OK && n < MAX_REPEATS &&
           (bench_clock(2) - start < (n < least_of(run) ? too_long : budget))) {
        status = time_runs(rig, row->threads, inner, &work[n]);
        gemm[n] = reln_gemm_probe_run(run->probe);
        n++;
    }
    row->allocations =
        (double)(reln_ctx_allocations(rig->setting.ctx) - before) / fmax(1, (double)n * inner);
    row->seconds = bench_spread(work, n);
    row->sgemm = probe_flops(GEMM_M, GEMM_N, GEMM_N) / bench_spread(gemm, n).median;
    return status;
}

static BenchRow *new_row(Run *run)
{
    BenchResult *out = run->out;

    if (out->n_rows == out->room) {
        const int room = out->room ? 2 * out->room : 64;
        BenchRow *rows = realloc(out->rows, (size_t)room * sizeof *rows);

        if (!rows)
            return NULL;
        out->rows = rows;
        out->room = room;
    }
    out->rows[out->n_rows] = (BenchRow){0};
    return &out->rows[out->n_rows];
}

static RelnStatus measure_row(Run *run, BenchRig *rig, BenchPass pass, int threads, int batch)
{
    BenchRow *row = new_row(run);
    RelnStatus status;
    double flops;

    if (!row)
        return RELN_ERR_NOMEM;
    row->kind = rig->c->kind;
    memcpy(row->name, rig->c->name, sizeof row->name);
    row->pass = pass;
    row->threads = threads;
    row->batch = rig->batch = batch;
    row->build = rig->build;
    status = repeat(run, rig, row);
    if (status != RELN_OK)
        return fail(run, rig, status);
    flops = rig->flops * batch;
    row->gflops = 1e-9 * flops / row->seconds.median;
    row->share = flops / row->seconds.median / (threads * row->sgemm);
    row->intensity = batch < rig->shard ? (double)NAN : rig->flops / rig->bytes;
    run->out->n_rows++;
    return RELN_OK;
}

/* ---- cases ---------------------------------------------------------------------------------------------------------- */

/* The quick run omits batches that take long, and measures several threads for networks only. */
static bool takes_long(const BenchCase *c, int batch)
{
    return batch * (c->points > 1 ? c->points : 1) > 120;
}

static int batches(const Run *run, const BenchCase *c)
{
    int n = 1;

    while (n < BENCH_MAX_BATCHES && c->batches[n] &&
           !(run->options->quick && takes_long(c, c->batches[n])))
        n++;
    return n;
}

static int passes(const BenchCase *c)
{
    return c->kind == BENCH_KERNEL ? BENCH_TRAIN : BENCH_PASSES;
}

static bool on_all_threads(const Run *run, const BenchCase *c)
{
    return run->pool && !(run->options->quick && c->kind != BENCH_NETWORK);
}

static int rows_of(const Run *run, const BenchCase *c)
{
    return batches(run, c) * passes(c) * (on_all_threads(run, c) ? 2 : 1);
}

static RelnStatus measure_plan(Run *run, BenchRig *rig, BenchPass pass, int threads)
{
    const int n = batches(run, rig->c);
    RelnStatus status =
        bench_rig_plan(rig, pass, rig->c->batches[n - 1], threads > 1 ? run->pool : NULL);

    if (status != RELN_OK)
        return fail(run, rig, status);
    for (int i = 0; i < n && status == RELN_OK && !run->ended; i++) {
        if (run->options->observe &&
            !run->options->observe(run->options->self, run->done++, run->all, rig->c->name)) {
            run->ended = true;
            break;
        }
        status = measure_row(run, rig, pass, threads, rig->c->batches[i]);
    }
    return status;
}

static RelnStatus measure_case(Run *run, const BenchCase *c)
{
    BenchRig rig;
    RelnStatus status = bench_rig_open(&rig, c);

    rig.reference = run->options->reference;
    if (status != RELN_OK)
        fail(run, &rig, status);
    for (int pass = 0; pass < passes(c) && status == RELN_OK && !run->ended; pass++) {
        status = measure_plan(run, &rig, (BenchPass)pass, 1);
        if (status == RELN_OK && on_all_threads(run, c) && !run->ended)
            status = measure_plan(run, &rig, (BenchPass)pass, run->out->threads);
    }
    bench_rig_close(&rig);
    return status;
}

static RelnStatus measure_cases(Run *run)
{
    RelnStatus status = RELN_OK;
    int n = 0;
    BenchCase *cases = bench_cases(&n);

    if (!cases)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < n; i++)
        if (bench_wanted(cases[i].name, run->options->only))
            run->all += rows_of(run, &cases[i]);
    if (run->all == 0) {
        snprintf(run->why, run->size, "no measurement has '%.60s' in its name",
                 run->options->only ? run->options->only : "");
        status = RELN_ERR_ARG;
    }
    for (int i = 0; i < n && status == RELN_OK && !run->ended; i++)
        if (bench_wanted(cases[i].name, run->options->only))
            status = measure_case(run, &cases[i]);
    free(cases);
    return status;
}

/* ---- the machine ---------------------------------------------------------------------------------------------------- */

static const struct {
    RelnDtype dtype;
    int m, n, k;
} shapes[] = {
    {RELN_F32, GEMM_M, GEMM_N, GEMM_N}, /* used for shares */
    {RELN_F32, GEMM_M, 512, 512},       {RELN_F32, GEMM_M, 128, 128},
    {RELN_F32, GEMM_M, 64, 64},         {RELN_F32, GEMM_M, 32, 32},
    {RELN_F32, GEMM_M, 16, 16},         {RELN_F32, 100, 256, 256},
    {RELN_F32, 10, 256, 256},           {RELN_F32, 1, 256, 256},
    {RELN_F64, GEMM_M, GEMM_N, GEMM_N}, {RELN_F64, GEMM_M, 64, 64},
};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

static RelnStatus measure_gemm(Run *run, int index, BenchGemm *out)
{
    const int m = shapes[index].m, n = shapes[index].n, k = shapes[index].k;
    const double end = bench_clock(2) + (run->options->quick ? 0.01 : 0.1);
    double rates[MAX_REPEATS];
    RelnGemmProbe *probe = NULL;
    int count = 0;
    const RelnStatus status =
        reln_gemm_probe_create(run->ctx, shapes[index].dtype, m, n, k, &probe);

    if (status != RELN_OK)
        return status;
    reln_gemm_probe_run(probe);
    while (count < MAX_REPEATS && (count < 5 || bench_clock(2) < end)) {
        double seconds = 0;
        int inner = 0;

        for (; inner < 4 || seconds < 1e-4; inner++)
            seconds += reln_gemm_probe_run(probe);
        rates[count++] = inner * probe_flops(m, n, k) / seconds;
    }
    reln_gemm_probe_destroy(probe);
    *out = (BenchGemm){shapes[index].dtype, m, n, k, bench_spread(rates, count)};
    return RELN_OK;
}

static RelnStatus measure_machine(Run *run)
{
    BenchResult *out = run->out;
    const size_t last = out->machine.cache[2] ? out->machine.cache[2] : (size_t)32 << 20;
    const size_t most = (size_t)192 << 20, wanted = 6 * last;
    RelnStatus status =
        reln_machine_bandwidth(run->ctx, wanted < most ? wanted : most, &out->bandwidth);

    for (int i = 0; i < N_SHAPES && status == RELN_OK; i++)
        status = measure_gemm(run, i, &out->gemms[out->n_gemms++]);
    if (status != RELN_OK)
        snprintf(run->why, run->size, "%s", reln_ctx_error(run->ctx));
    return status;
}

/* ---- around a network ----------------------------------------------------------------------------------------------- */

static RelnStatus measure_setups(Run *run)
{
    static const char *const names[] = {"so:3", "gl:3", "sl:3", "sp:4", "gl:5", "gl:8"};

    for (int i = 0; i < (run->options->quick ? 4 : 6); i++) {
        BenchSetup *out = &run->out->setups[run->out->n_setups++];
        double seconds[3];

        for (int r = 0; r < 3; r++) {
            const double start = bench_clock(1);
            RelnSetting s;
            const RelnStatus status = reln_setting_init(&s, names[i], NULL, RELN_F32, 1);

            seconds[r] = bench_clock(1) - start;
            reln_setting_clear(&s);
            if (status != RELN_OK)
                return status;
        }
        snprintf(out->name, sizeof out->name, "%s", names[i]);
        out->seconds = bench_spread(seconds, 3).median;
    }
    return RELN_OK;
}

/* If a process cannot be started, for example without /proc, its row is missing; this is not a failure. */
static void measure_processes(Run *run)
{
    static const char *const names[] = {"sp4/forward/1", "sp4/train/100", "platonic/forward/1",
                                        "platonic/train/100"};

    for (int i = 0; i < (run->options->quick ? 2 : 4); i++)
        if (bench_wanted(names[i], run->options->only) &&
            bench_process(names[i], &run->out->processes[run->out->n_processes]))
            run->out->n_processes++;
}

static RelnStatus open_run(Run *run)
{
    RelnStatus status =
        reln_gemm_probe_create(run->ctx, RELN_F32, GEMM_M, GEMM_N, GEMM_N, &run->probe);

    if (status == RELN_OK && run->out->threads > 1)
        status = reln_pool_create(run->ctx, run->out->threads, &run->pool);
    return status;
}

RelnStatus bench_run(RelnCtx *ctx, const BenchOptions *options, BenchResult *out, char *why,
                     size_t size)
{
    Run run = {.ctx = ctx, .options = options, .out = out, .why = why, .size = size};
    RelnStatus status;

    *out = (BenchResult){0};
    why[0] = '\0';
    reln_machine_describe(&out->machine);
    out->kernels = reln_kernels_text(options->reference);
    out->threads = options->threads ? options->threads : out->machine.cores;
    measure_processes(&run); /* first, while this process is small */
    status = open_run(&run);
    if (status == RELN_OK)
        status = measure_machine(&run);
    if (status == RELN_OK)
        status = measure_cases(&run);
    if (status == RELN_OK && !options->only && !run.ended)
        status = measure_setups(&run);
    if (status != RELN_OK && !why[0])
        snprintf(why, size, "%s", reln_status_text(status));
    reln_pool_destroy(run.pool);
    reln_gemm_probe_destroy(run.probe);
    return status;
}

void bench_clear(BenchResult *result)
{
    free(result->rows);
    *result = (BenchResult){0};
}
