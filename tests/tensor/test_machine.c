/* test_machine.c -- tests the description of the machine, and the measurement of its peak rates. */
#include <math.h>
#include <string.h>

#include "support/support.h"

static RelnCtx *open_ctx(void)
{
    RelnCtx *ctx = NULL;

    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    return ctx;
}

static void the_machine_has_a_name_cores_and_a_blas(void **state)
{
    RelnMachine m;

    (void)state;
    memset(&m, 0xff, sizeof m);
    reln_machine_describe(&m);
    assert_true(strlen(m.cpu) > 0 && strlen(m.cpu) < sizeof m.cpu);
    assert_non_null(strstr(m.blas, "OpenBLAS"));
    assert_in_range(m.cores, 1, 1 << 16);
    for (int i = 0; i + 1 < 3; i++)
        if (m.cache[i + 1] > 0)
            assert_true(m.cache[i] <= m.cache[i + 1]);
}

/* sum_l ((i + l) mod 7) ((l + 2 j) mod 5), in whole numbers: the product is exact. */
static double element(int k, int i, int j)
{
    int sum = 0;

    for (int l = 0; l < k; l++)
        sum += (i + l) % 7 * ((l + 2 * j) % 5);
    return sum;
}

static void a_probe_times_the_product_it_names(void **state)
{
    enum { M = 35, N = 21, K = 130 };
    RelnCtx *ctx = open_ctx();

    (void)state;
    for (int dtype = RELN_F32; dtype <= RELN_F64; dtype++) {
        RelnGemmProbe *probe = NULL;
        double least = HUGE_VAL;

        assert_ok(ctx, reln_gemm_probe_create(ctx, (RelnDtype)dtype, M, N, K, &probe));
        assert_true(reln_gemm_probe_value(probe, 1, 1) !=
                    element(K, 1, 1)); /* not before it runs */
        for (int r = 0; r < 10; r++)
            least = fmin(least, reln_gemm_probe_run(probe));
        assert_true(least >= 0 && least < 1);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++)
                assert_true(reln_gemm_probe_value(probe, i, j) == element(K, i, j));
        reln_gemm_probe_destroy(probe);
    }
    reln_ctx_destroy(ctx);
}

static void a_probe_run_allocates_nothing(void **state)
{
    RelnCtx *ctx = open_ctx();
    RelnGemmProbe *probe = NULL;
    uint64_t before;

    (void)state;
    assert_ok(ctx, reln_gemm_probe_create(ctx, RELN_F32, 64, 64, 64, &probe));
    before = reln_ctx_allocations(ctx);
    reln_gemm_probe_run(probe);
    assert_int_equal(reln_ctx_allocations(ctx), before);
    reln_gemm_probe_destroy(probe);
    reln_ctx_destroy(ctx);
}

static void products_and_arrays_that_cannot_be_measured_are_refused(void **state)
{
    RelnCtx *ctx = open_ctx();
    RelnGemmProbe *probe = NULL;
    double rate = 1;

    (void)state;
    assert_int_equal(reln_gemm_probe_create(ctx, RELN_F32, 0, 8, 8, &probe), RELN_ERR_ARG);
    assert_int_equal(reln_gemm_probe_create(ctx, RELN_F32, 8, 8, 16385, &probe), RELN_ERR_ARG);
    assert_int_equal(reln_gemm_probe_create(ctx, RELN_I32, 8, 8, 8, &probe), RELN_ERR_ARG);
    assert_null(probe);
    assert_non_null(strstr(reln_ctx_error(ctx), "wanted extents of 1 to 16384"));
    assert_int_equal(reln_machine_bandwidth(ctx, 100, &rate), RELN_ERR_ARG);
    assert_true(rate == 0);
    reln_ctx_destroy(ctx);
}

static void memory_has_a_bandwidth(void **state)
{
    RelnCtx *ctx = open_ctx();
    double rate = 0;

    (void)state;
    assert_ok(ctx, reln_machine_bandwidth(ctx, 3 << 20, &rate));
    assert_true(rate > 0 && isfinite(rate));
    assert_int_equal(reln_ctx_live_blocks(ctx), 0);
    reln_ctx_destroy(ctx);
}

static RelnStatus measure_all(RelnCtx *ctx)
{
    RelnGemmProbe *probe = NULL;
    double rate;
    RelnStatus status = reln_gemm_probe_create(ctx, RELN_F64, 8, 8, 8, &probe);

    reln_gemm_probe_destroy(probe);
    return status == RELN_OK ? reln_machine_bandwidth(ctx, 1 << 16, &rate) : status;
}

static void measuring_survives_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(measure_all) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_machine_has_a_name_cores_and_a_blas),
        cmocka_unit_test(a_probe_times_the_product_it_names),
        cmocka_unit_test(a_probe_run_allocates_nothing),
        cmocka_unit_test(products_and_arrays_that_cannot_be_measured_are_refused),
        cmocka_unit_test(memory_has_a_bandwidth),
        cmocka_unit_test(measuring_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
