/* cmd_bench.c -- `reln bench`: the speed of networks on this machine, compared with the machine's peak. */
#include <string.h>

#include "bench/bench.h"
#include "cli/cli.h"
#include "cli/launch.h"
#include "cli/progress.h"

static const char help[] =
    "Measures matrix products of the machine's BLAS and its memory, then networks, layers and\n"
    "kernels: forward, gradient, and a step of training, on one thread and on all. Every number "
    "is a\n"
    "median, with the 10th and 90th percentile; one thread is measured in processor\n"
    "time, several in wall-clock time.\n"
    "\n"
    "  share           operations of the dense network, divided by time and by the\n"
    "                  rate of sgemm (1008 x 256 x 256) on as many threads, which\n"
    "                  is measured alternately with it\n"
    "  sp4, platonic   the paper's networks, width 256\n"
    "  gl3/C           gl(3) with C channels\n"
    "  gln/n           gl(n), channels x n^2 constant\n"
    "  mlp             20-256-256-256-1\n"
    "  hnn             H(z) of 12 numbers; gradient: the field dH/dz; train: fits it\n"
    "  rollout         eight RK4 steps of this field, 32 evaluations\n"
    "  mp50, lorentznet, set64-C, transformer64, resnet1d, splats-mae, splats-reln,\n"
    "  drone-reln, drone-resnet\n"
    "                  sets, pairs and sequences (bench/peers/README.md)\n"
    "  layer/NAME      layers\n"
    "  kernel/NAME     plans of one op, data in and out\n"
    "\n"
    "`once` runs one case in this process, three times for training, and prints its peak memory "
    "in\n"
    "bytes and the seconds to build it: `reln bench` starts it to measure a cold start. With "
    "--out it\n"
    "saves inputs, weights and gradients, for comparison with other software.\n"
    "\n"
    "`scale` measures the cost of a training step and projects it to up to 1000 processes.\n"
    "\n"
    "examples:\n"
    "  reln bench                            all of it, about two minutes\n"
    "  reln bench --only sp4,gl3/ --json     these, as one JSON object: machine, rows, ...\n"
    "  reln bench --report bench.html        with a roofline plot\n"
    "  reln bench once sp4/train/100\n";

/* ---- JSON --------------------------------------------------------------------------------------------------------- */

static const char *kind_name(BenchKind kind)
{
    static const char *const names[] = {
        [BENCH_NETWORK] = "network", [BENCH_LAYER] = "layer", [BENCH_KERNEL] = "kernel"};

    return names[kind];
}

static RelnDocNode *new_list(RelnDoc *doc, RelnDocNode *map, const char *key)
{
    return reln_doc_set(doc, map, key, reln_doc_list(doc));
}

static RelnDocNode *new_map(RelnDoc *doc, RelnDocNode *list)
{
    return reln_doc_set(doc, list, NULL, reln_doc_map(doc));
}

static void add_row(RelnDoc *doc, RelnDocNode *rows, const BenchRow *r)
{
    RelnDocNode *const map = new_map(doc, rows);

    reln_doc_set_text(doc, map, "kind", kind_name(r->kind));
    reln_doc_set_text(doc, map, "name", r->name);
    reln_doc_set_text(doc, map, "pass", bench_pass_names[r->pass]);
    reln_doc_set_number(doc, map, "batch", r->batch);
    reln_doc_set_number(doc, map, "threads", r->threads);
    reln_doc_set_number(doc, map, "seconds", r->seconds.median);
    reln_doc_set_number(doc, map, "p10", r->seconds.p10);
    reln_doc_set_number(doc, map, "p90", r->seconds.p90);
    reln_doc_set_number(doc, map, "gflops", r->gflops);
    reln_doc_set_number(doc, map, "share", r->share);
    reln_doc_set_number(doc, map, "sgemm_gflops", 1e-9 * r->sgemm);
    reln_doc_set_number(doc, map, "flops_per_byte", r->intensity);
    reln_doc_set_number(doc, map, "build_seconds", r->build);
    reln_doc_set_number(doc, map, "allocations", r->allocations);
    reln_doc_set_number(doc, map, "repetitions", r->seconds.n);
}

static void add_rows(RelnDoc *doc, RelnDocNode *root, const BenchResult *r)
{
    RelnDocNode *const rows = new_list(doc, root, "rows");

    for (int i = 0; i < r->n_rows; i++)
        add_row(doc, rows, &r->rows[i]);
}

static void add_gemm(RelnDoc *doc, RelnDocNode *gemms, const BenchGemm *g)
{
    RelnDocNode *const map = new_map(doc, gemms);

    reln_doc_set_text(doc, map, "dtype", g->dtype == RELN_F64 ? "f64" : "f32");
    reln_doc_set_number(doc, map, "m", g->m);
    reln_doc_set_number(doc, map, "n", g->n);
    reln_doc_set_number(doc, map, "k", g->k);
    reln_doc_set_number(doc, map, "gflops", 1e-9 * g->rate.median);
    reln_doc_set_number(doc, map, "p10", 1e-9 * g->rate.p10);
    reln_doc_set_number(doc, map, "p90", 1e-9 * g->rate.p90);
}

static void add_machine(RelnDoc *doc, RelnDocNode *root, const BenchResult *r)
{
    RelnDocNode *const map = reln_doc_set(doc, root, "machine", reln_doc_map(doc)), *list;

    reln_doc_set_text(doc, map, "cpu", r->machine.cpu);
    reln_doc_set_text(doc, map, "blas", r->machine.blas);
    reln_doc_set_text(doc, map, "kernels", r->kernels);
    reln_doc_set_number(doc, map, "cores", r->machine.cores);
    reln_doc_set_number(doc, map, "threads", r->threads);
    list = new_list(doc, map, "cache_bytes");
    for (int i = 0; i < 3; i++)
        reln_doc_set_number(doc, list, NULL, (double)r->machine.cache[i]);
    reln_doc_set_number(doc, map, "bandwidth", r->bandwidth);
    list = new_list(doc, map, "gemm");
    for (int i = 0; i < r->n_gemms; i++)
        add_gemm(doc, list, &r->gemms[i]);
}

enum { SWEEP = 16 };

static void add_scaling(RelnDoc *doc, RelnDocNode *root, const BenchResult *r)
{
    RelnDocNode *const list = new_list(doc, root, "scaling");
    BenchScaling s[SWEEP];
    const int n = bench_scaling(r, s, SWEEP);

    for (int i = 0; i < n; i++) {
        RelnDocNode *const map = new_map(doc, list);

        reln_doc_set_number(doc, map, "n", s[i].n);
        reln_doc_set_number(doc, map, "channels", s[i].channels);
        reln_doc_set_number(doc, map, "theory_linear", s[i].linear);
        reln_doc_set_number(doc, map, "theory_total", s[i].total);
        reln_doc_set_number(doc, map, "measured", s[i].measured);
    }
}

static void add_processes(RelnDoc *doc, RelnDocNode *root, const BenchResult *r)
{
    RelnDocNode *const list = new_list(doc, root, "processes");

    for (int i = 0; i < r->n_processes; i++) {
        RelnDocNode *const map = new_map(doc, list);

        reln_doc_set_text(doc, map, "name", r->processes[i].name);
        reln_doc_set_number(doc, map, "seconds", r->processes[i].seconds);
        reln_doc_set_number(doc, map, "build_seconds", r->processes[i].build);
        reln_doc_set_number(doc, map, "peak_bytes", r->processes[i].peak_bytes);
    }
}

static void add_setups(RelnDoc *doc, RelnDocNode *root, const BenchResult *r)
{
    RelnDocNode *const list = new_list(doc, root, "setups");

    for (int i = 0; i < r->n_setups; i++) {
        RelnDocNode *const map = new_map(doc, list);

        reln_doc_set_text(doc, map, "name", r->setups[i].name);
        reln_doc_set_number(doc, map, "seconds", r->setups[i].seconds);
    }
}

static CliExit print_json(RelnCtx *ctx, const BenchResult *r)
{
    RelnDoc *doc = NULL;
    RelnDocNode *root;

    if (reln_doc_create(ctx, &doc) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory for the JSON result");
    root = reln_doc_root_map(doc);
    reln_doc_set_text(doc, root, "version", reln_version());
    add_machine(doc, root, r);
    add_rows(doc, root, r);
    add_scaling(doc, root, r);
    add_processes(doc, root, r);
    add_setups(doc, root, r);
    return cli_print_doc(doc, root);
}

/* ---- text --------------------------------------------------------------------------------------------------------- */

/* Writes a time with its unit, in three digits. */
static const char *duration(double seconds, char text[16])
{
    if (seconds < 1e-3)
        snprintf(text, 16, "%.3g us", 1e6 * seconds);
    else if (seconds < 1)
        snprintf(text, 16, "%.3g ms", 1e3 * seconds);
    else
        snprintf(text, 16, "%.3g s", seconds);
    return text;
}

/* OpenBLAS runs on a processor that it does not know, a newer one, as on one of twenty years ago, without AVX. */
static bool is_old_blas(const BenchResult *r)
{
    static const char *const cores[] = {"Prescott", "Core2", "Nehalem", "Generic"};

    for (size_t i = 0; i < sizeof cores / sizeof *cores; i++)
        if (strcmp(r->kernels, "avx2") == 0 && strstr(r->machine.blas, cores[i]))
            return true;
    return false;
}

static void print_machine(const BenchResult *r)
{
    printf("processor  %s, %d cores, caches %zu kB, %zu kB, %zu MB\n", r->machine.cpu,
           r->machine.cores, r->machine.cache[0] >> 10, r->machine.cache[1] >> 10,
           r->machine.cache[2] >> 20);
    printf("BLAS       %s\n", r->machine.blas);
    if (is_old_blas(r))
        printf("           it does not know this processor and runs without AVX: shares are too "
               "large;\n"
               "           OPENBLAS_CORETYPE=Haswell or SkylakeX in the environment corrects it\n");
    printf("memory     %.1f GB/s, one thread\n", 1e-9 * r->bandwidth);
    for (int i = 0; i < r->n_gemms; i++) {
        const BenchGemm *g = &r->gemms[i];

        printf("%s %5d x %3d x %3d  %6.1f GFLOP/s [%.1f, %.1f]\n",
               g->dtype == RELN_F64 ? "dgemm" : "sgemm", g->m, g->n, g->k, 1e-9 * g->rate.median,
               1e-9 * g->rate.p10, 1e-9 * g->rate.p90);
    }
}

static void print_row(const BenchRow *r)
{
    char median[16], p10[16], p90[16], build[16];

    printf("%-27s %-8s %5d %3d  %9s [%9s, %9s] %7.1f %6.2f  %9s %5.3g\n", r->name,
           bench_pass_names[r->pass], r->batch, r->threads, duration(r->seconds.median, median),
           duration(r->seconds.p10, p10), duration(r->seconds.p90, p90), r->gflops, r->share,
           duration(r->build, build), r->allocations);
}

static void print_rows(const BenchResult *r)
{
    printf("\n%-27s %-8s %5s %3s  %9s [%9s, %9s] %7s %6s  %9s %5s\n", "name", "pass", "batch",
           "thr", "median", "p10", "p90", "GFLOP/s", "share", "build", "alloc");
    for (int i = 0; i < r->n_rows; i++)
        print_row(&r->rows[i]);
}

static void print_scaling(const BenchResult *r)
{
    BenchScaling s[SWEEP];
    const int n = bench_scaling(r, s, SWEEP);

    if (n == 0)
        return;
    puts("\ngl(n), n^2 x channels constant: cost relative to n = 2 (forward, one thread)\n"
         "  n  channels  theory 4/n^2  with bracket and forms  measured");
    for (int i = 0; i < n; i++)
        printf("  %d  %8d  %12.3f  %22.3f  %8.3f\n", s[i].n, s[i].channels, s[i].linear, s[i].total,
               s[i].measured);
}

static void print_around(const BenchResult *r)
{
    char text[16], build[16];

    if (r->n_processes > 0)
        puts("\na new process: start to first result (training: to the third step); of that graph, "
             "weights\nand plan; peak memory");
    for (int i = 0; i < r->n_processes; i++)
        printf("  %-20s %9s  %9s  %6.1f MB\n", r->processes[i].name,
               duration(r->processes[i].seconds, text), duration(r->processes[i].build, build),
               1e-6 * r->processes[i].peak_bytes);
    if (r->n_setups > 0)
        puts("\nmaking an algebra, its group and rep");
    for (int i = 0; i < r->n_setups; i++)
        printf("  %-20s %9s\n", r->setups[i].name, duration(r->setups[i].seconds, text));
}

/* ---- the command -------------------------------------------------------------------------------------------------- */

static bool observe(void *self, int done, int all, const char *name)
{
    cli_progress_show(self, (uint64_t)done, (uint64_t)all, name);
    return !cli_asked_to_stop();
}

static CliExit show(RelnCtx *ctx, const BenchResult *result, const CliArgs *args)
{
    if (args->quiet && !args->json)
        return CLI_DONE;
    if (args->json)
        return print_json(ctx, result);
    print_machine(result);
    print_rows(result);
    print_scaling(result);
    print_around(result);
    return CLI_DONE;
}

static CliExit measure(RelnCtx *ctx, const CliArgs *args)
{
    CliProgress progress = cli_progress_begin(args->quiet, 0);
    BenchOptions options = {.quick = args->quick,
                            .threads = (int)args->threads,
                            .only = args->only,
                            .observe = observe,
                            .self = &progress};
    BenchResult result;
    char why[512];
    RelnStatus status;
    CliExit code;

    if (!cli_reference(args, &options.reference))
        return CLI_USAGE;
    cli_catch_signals();
    status = bench_run(ctx, &options, &result, why, sizeof why);
    cli_progress_end(&progress);
    if (status != RELN_OK)
        code = cli_fail(status == RELN_ERR_ARG ? CLI_USAGE : cli_exit_of(status), "bench: %s", why);
    else
        code = show(ctx, &result, args);
    if (code == CLI_DONE && args->report) {
        status = bench_report(ctx, &result, args->report, why, sizeof why);
        code = status == RELN_OK ? CLI_DONE : cli_fail(cli_exit_of(status), "bench: %s", why);
    }
    bench_clear(&result);
    return code == CLI_DONE ? cli_exit_of_signal() : code;
}

static CliExit once(RelnCtx *ctx, const CliArgs *args)
{
    char why[512];
    BenchProcess process;
    const RelnStatus status = bench_once(ctx, args->operands[1], (int)args->threads, args->out,
                                         &process, why, sizeof why);

    if (status != RELN_OK)
        return cli_fail(status == RELN_ERR_ARG ? CLI_USAGE : cli_exit_of(status), "bench: %s", why);
    printf("%.0f %.6f\n", process.peak_bytes, process.build);
    (void)fflush(stdout); /* the process that started this one stops its clock now */
    return CLI_DONE;
}

static const double latency = 2e-6, bandwidth = 12.5e9; /* of the network of the projection */

static CliExit scale(RelnCtx *ctx, const CliArgs *args)
{
    static const int ranks[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000};
    enum { STRONG = 1024, WEAK = 8 };
    BenchScale s;
    RelnTable *table = NULL;
    CliExit code;
    char why[256];
    const RelnStatus status = bench_scale(ctx, args->operands[1], cli_comm(), &s, why, sizeof why);

    if (status != RELN_OK)
        return cli_fail(status == RELN_ERR_ARG ? CLI_USAGE : cli_exit_of(status), "bench: %s", why);
    if (!cli_speaks())
        return CLI_DONE;
    printf(
        "%s: %zu parameters; measured here, one thread: %.3g s for a shard of %d samples, %.3g s "
        "for a step beside them\n%.0f bytes of sums in each step, exchanged in %d parts\n",
        args->operands[1], s.parameters, s.shard_seconds, s.shard, s.step_seconds, s.sums,
        s.reductions);
    if (s.ranks > 1)
        printf("measured here, %d ranks of one thread: a step of %d shards takes %.3g s, %.3g s of "
               "them in exchanges (one rank: %.3g s of processor time)\nin a step, all ranks send "
               "%.0f bytes in %.0f "
               "messages: %.2f times the sums\n",
               s.ranks, s.shards, s.together_seconds, s.exchange_seconds, s.alone_seconds,
               s.sent_bytes, s.sent_messages, s.sent_bytes / s.sums);
    printf("projected to a network of %.3g s latency and %.3g bytes/s; strong: %d shards, weak: %d "
           "for each "
           "rank\n",
           latency, bandwidth, STRONG, WEAK);
    if (reln_table_create(ctx, &table) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory");
    reln_table_column(table, "ranks", RELN_COL_RIGHT);
    reln_table_column(table, "strong, s", RELN_COL_RIGHT);
    reln_table_column(table, "efficiency", RELN_COL_RIGHT);
    reln_table_column(table, "weak, s", RELN_COL_RIGHT);
    reln_table_column(table, "efficiency", RELN_COL_RIGHT);
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        const double r = ranks[i], strong = bench_scale_seconds(&s, STRONG, r, latency, bandwidth);
        const double weak = bench_scale_seconds(&s, WEAK * r, r, latency, bandwidth);

        reln_table_row(table);
        reln_table_count(table, ranks[i]);
        reln_table_number(table, strong, 3);
        reln_table_number(table,
                          bench_scale_seconds(&s, STRONG, 1, latency, bandwidth) / strong / r, 2);
        reln_table_number(table, weak, 3);
        reln_table_number(table, bench_scale_seconds(&s, WEAK, 1, latency, bandwidth) / weak, 2);
    }
    code = cli_print_table(ctx, table);
    reln_table_destroy(table);
    return code;
}

static CliExit run(RelnCtx *ctx, const CliArgs *args)
{
    if (args->n_operands == 0 && !cli_comm())
        return measure(ctx, args);
    if (args->n_operands == 2 && strcmp(args->operands[0], "once") == 0 && !cli_comm())
        return once(ctx, args);
    if (args->n_operands == 2 && strcmp(args->operands[0], "scale") == 0)
        return scale(ctx, args);
    if (cli_comm())
        return cli_fail(CLI_USAGE, "bench: of several processes, wanted scale NAME");
    return cli_fail(CLI_USAGE,
                    "bench: '%.60s' is not understood; wanted nothing, once "
                    "NAME/PASS/BATCH, or scale NAME",
                    args->n_operands > 0 ? args->operands[0] : "");
}

const CliCommand cli_cmd_bench = {
    .name = "bench",
    .synopsis = "bench [--quick] [--only TEXT,...] [--report FILE] [--json]\n"
                "bench once NAME/PASS/BATCH [--out FILE.npz]\n"
                "bench scale NAME",
    .purpose = "speed of networks, layers and kernels, against the machine's own limits",
    .help = help,
    .options = CLI_BENCH | CLI_REPORT | CLI_KERNELS | CLI_OUT,
    .max_operands = 2,
    .ranks = true,
    .run = run,
};
