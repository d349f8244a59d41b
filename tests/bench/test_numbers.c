/* Tests the numbers of `reln bench` that are no times: quantiles, nominal operations of every case, projections to many ranks,
 * and the page of made-up measurements. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "support/remembered.h"
#include "support/support.h"

/* Of 21 values 0 .. 20, those at a tenth, a half and nine tenths. */
static void quantiles_are_those_of_the_sorted_values(void **state)
{
    double values[21];
    BenchSpread s;

    (void)state;
    for (int i = 0; i < 21; i++)
        values[i] = i * 8 % 21;
    s = bench_spread(values, 21);
    assert_true(s.n == 21 && s.median == 10 && s.p10 == 2 && s.p90 == 18);
    s = bench_spread(values, 1);
    assert_true(s.n == 1 && s.median == 0 && s.p10 == 0 && s.p90 == 0);
    assert_int_equal(bench_spread(values, 0).n, 0);
}

/* A step of r ranks takes the time of the busiest rank's shards, of three messages in each of the log2 r rounds of every exchange,
 * and of 2 (r - 1) / r of the sums on their way through the network. */
static void projected_steps_add_up(void **state)
{
    const BenchScale s = {
        .step_seconds = 0.5, .shard_seconds = 2, .sums = 1e6, .reductions = 3, .shard = 8};

    (void)state;
    assert_small(bench_scale_seconds(&s, 10, 1, 1e-3, 1e6) - (0.5 + 20), 1e-12);
    assert_small(bench_scale_seconds(&s, 10, 4, 1e-3, 1e6) - (0.5 + 3 * 2 + 18e-3 + 1.5), 1e-12);
    assert_small(bench_scale_seconds(&s, 10, 5, 1e-3, 1e6) - (0.5 + 2 * 2 + 27e-3 + 1.6), 1e-12);
}

static void words_choose_cases(void **state)
{
    (void)state;
    assert_true(bench_wanted("gl3/64", NULL));
    assert_true(bench_wanted("gl3/64", "gl3"));
    assert_true(bench_wanted("gl3/64", "sp4,3/6"));
    assert_false(bench_wanted("gl3/64", "sp4,gln"));
}

/* Names, sizes and batches of all cases, and the operations of a sample in each pass. */
static void cases_and_operations_are_as_remembered(void **state)
{
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    int n = 0;
    BenchCase *cases = bench_cases(&n);

    (void)state;
    assert_true(out && cases);
    for (int i = 0; i < n; i++) {
        const BenchCase *c = &cases[i];
        BenchRig rig;

        fprintf(out, "%s | %d %s %s | %d %d %d | %d %d %d %d |", c->name, (int)c->kind,
                c->algebra ? c->algebra : "-", c->features ? c->features : "-", c->points,
                c->channels, c->width, c->batches[0], c->batches[1], c->batches[2], c->batches[3]);
        assert_int_equal(bench_rig_open(&rig, c), RELN_OK);
        for (int pass = 0; pass < (c->kind == BENCH_KERNEL ? BENCH_TRAIN : BENCH_PASSES); pass++) {
            if (bench_rig_plan(&rig, (BenchPass)pass, 1, NULL) != RELN_OK)
                fail_msg("%s: %s", c->name, bench_rig_error(&rig));
            fprintf(out, " %.0f", rig.flops);
        }
        fprintf(out, "\n");
        bench_rig_close(&rig);
    }
    fclose(out);
    free(cases);
    assert_remembered("bench-cases.txt", all);
    free(all);
}

/* The networks that are measured compute what they say: means of the sizes of their outputs, for two samples and the weights of
 * the seed. A network with a wrong sign takes the same time. */
static void outputs_of_cases_are_as_remembered(void **state)
{
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    int n = 0;
    BenchCase *cases = bench_cases(&n);

    (void)state;
    assert_true(out && cases);
    for (int i = 0; i < n; i++) {
        BenchRig rig;
        RelnPort port;
        RelnDims d;
        const float *y;
        double sum = 0;
        ptrdiff_t count;

        assert_int_equal(bench_rig_open(&rig, &cases[i]), RELN_OK);
        rig.reference = true;
        if (bench_rig_plan(&rig, BENCH_FORWARD, 2, NULL) != RELN_OK ||
            bench_rig_run(&rig) != RELN_OK)
            fail_msg("%s: %s", cases[i].name, bench_rig_error(&rig));
        port = reln_plan_output_port(rig.plan, 0);
        assert_int_equal(port.dtype, RELN_F32);
        y = reln_plan_output(rig.plan, port.name, &count);
        d = port.dims;
        count *= (ptrdiff_t)d.p * d.q * d.r * d.k * d.c;
        for (ptrdiff_t k = 0; k < count; k++)
            sum += fabs((double)y[k]);
        fprintf(out, "%s %.3g\n", cases[i].name, sum / (double)count);
        bench_rig_close(&rig);
    }
    fclose(out);
    free(cases);
    assert_remembered("bench-values.txt", all);
    free(all);
}

/* ---- the page ------------------------------------------------------------------------------------------------ */

static void make_rows(BenchResult *r)
{
    static const char *const names[] = {
        "sp4", "gl3/16", "gl3/64", "gln/2", "gln/3", "gln/5", "kernel/mix/gl:3/256"};

    for (int i = 0; i < 7; i++)
        for (int pass = 0; pass < 2; pass++) {
            BenchRow *row = &r->rows[r->n_rows++];

            *row = (BenchRow){
                .kind = i == 6   ? BENCH_KERNEL
                        : i == 0 ? BENCH_NETWORK
                                 : BENCH_LAYER,
                .pass = (BenchPass)pass,
                .batch = 100,
                .threads = i == 0 && pass == 1 ? 2 : 1,
                .seconds = {30, 1e-4 * (i + 1) * (pass + 1), 0.9e-4 * (i + 1), 3e-4 * (i + 1)},
                .gflops = 10.0 * (i + 1),
                .share = 0.1 * (i + 1),
                .sgemm = 1e11,
                .intensity = i == 1 ? (double)NAN : 0.5 * (i + 1) * (pass + 1),
                .build = 1e-3 * (i + 1),
                .allocations = i};
            snprintf(row->name, sizeof row->name, "%s", names[i]);
        }
}

static void costs_of_the_sweep_are_relative_to_the_first(void **state)
{
    BenchRow rows[32];
    BenchResult r = {.rows = rows};
    BenchScaling s[8];

    (void)state;
    make_rows(&r);
    assert_int_equal(bench_scaling(&r, s, 8), 3);
    for (int i = 0; i < 3; i++) {
        const double n = i == 2 ? 5 : i + 2, M = bench_sweep_channels((int)n),
                     M2 = bench_sweep_channels(2);
        const double more = 3 * M * (2 * n * n * n - 2 * n + 2 * (2 * n * n - n)),
                     more2 = 3 * M2 * (2 * 8 - 2 * 2 + 2 * (2 * 4 - 2));

        assert_true(s[i].n == (int)n && s[i].channels == (int)M);
        assert_small(s[i].linear - n * n * M * M / (4 * M2 * M2), 1e-12);
        assert_small(s[i].total - (10 * n * n * M * M + more) / (10 * 4 * M2 * M2 + more2), 1e-12);
        assert_small(s[i].measured - (i + 4) / 4.0, 1e-12); /* forward, one thread */
    }
    assert_int_equal(bench_scaling(&r, s, 2), 2);
}

static void the_page_is_as_remembered(void **state)
{
    static char text[1 << 18];
    char path[] = "/tmp/reln-bench-XXXXXX", why[128];
    BenchRow rows[32];
    BenchResult r = {.rows = rows,
                     .kernels = "avx2",
                     .threads = 2,
                     .bandwidth = 2e10,
                     .n_gemms = 2,
                     .gemms = {{RELN_F32, 1008, 256, 256, {9, 1e11, 9e10, 1.1e11}},
                               {RELN_F64, 1008, 64, 64, {9, 4e10, 3e10, 5e10}}},
                     .n_processes = 1,
                     .processes = {{"sp4/forward/1", 0.02, 0.01, 3e7}},
                     .n_setups = 1,
                     .setups = {{"so:3", 1e-3}}};
    RelnCtx *ctx = NULL;
    char *end;
    FILE *file;

    (void)state;
    snprintf(r.machine.cpu, sizeof r.machine.cpu, "a processor");
    snprintf(r.machine.blas, sizeof r.machine.blas, "a BLAS");
    r.machine.cores = 4;
    for (int i = 0; i < 3; i++)
        r.machine.cache[i] = (size_t)32 << (10 + 5 * i);
    make_rows(&r);
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_true(close(mkstemp(path)) == 0);
    if (bench_report(ctx, &r, path, why, sizeof why) != RELN_OK)
        fail_msg("%s", why);
    file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    unlink(path);
    reln_ctx_destroy(ctx);
    end = strstr(text, "<footer>"); /* it names the version */
    assert_true(end && strstr(text, "</style>"));
    *end = '\0';
    assert_remembered("bench.html", strstr(text, "</style>"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_those_of_the_sorted_values),
        cmocka_unit_test(projected_steps_add_up),
        cmocka_unit_test(words_choose_cases),
        cmocka_unit_test(cases_and_operations_are_as_remembered),
        cmocka_unit_test(outputs_of_cases_are_as_remembered),
        cmocka_unit_test(costs_of_the_sweep_are_relative_to_the_first),
        cmocka_unit_test(the_page_is_as_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
