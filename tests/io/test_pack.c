/* Tests packing arrays of different length into rows: values, counts, empty arrays, every type, refusals,
 * failing allocations. */
#include <string.h>

#include "reln/io.h"
#include "support/support.h"

static void rows_come_one_behind_the_other(void **state)
{
    static double a[2][3] = {{1, 2, 3}, {4, 5, 6}}, b[1][3] = {{7, 8, 9}};
    static int64_t i[2] = {1LL << 40, -3};
    const RelnArray sets[] = {RELN_ARRAY("v", RELN_F64, a, 2, 3),
                              RELN_ARRAY("w", RELN_F64, NULL, 0, 3),
                              RELN_ARRAY(NULL, RELN_F64, b, 1, 3)};
    const RelnArray labels[] = {RELN_ARRAY(NULL, RELN_I64, i, 1),
                                RELN_ARRAY(NULL, RELN_I64, i + 1, 1)};
    const RelnArray none[] = {RELN_ARRAY("v", RELN_F32, NULL, 0, 3)};
    int32_t counts[3];
    RelnCtx *ctx = NULL;
    RelnArray rows;

    (void)state;
    assert_ok(NULL, reln_ctx_create(NULL, &ctx));
    assert_ok(ctx, reln_pack_rows(ctx, 3, sets, counts, &rows));
    assert_string_equal(rows.name, "v");
    assert_int_equal(rows.rank, 2);
    assert_int_equal(rows.dims[0], 3);
    assert_int_equal(rows.dims[1], 3);
    for (int k = 0; k < 9; k++)
        assert_true(rows.f64[k] == k + 1);
    assert_memory_equal(counts, ((int32_t[]){2, 0, 1}), sizeof counts);
    reln_array_clear(&rows);
    assert_ok(ctx, reln_pack_rows(ctx, 2, labels, counts, &rows));
    assert_memory_equal(rows.i64, i, sizeof i);
    reln_array_clear(&rows);
    assert_ok(ctx, reln_pack_rows(ctx, 1, none, counts, &rows));
    assert_int_equal(rows.dims[0], 0);
    assert_int_equal(counts[0], 0);
    reln_array_clear(&rows);
    reln_ctx_destroy(ctx);
}

static void arrays_that_do_not_fit_are_refused(void **state)
{
    static double x[12];
    static const struct {
        RelnArray arrays[2];
        int n;
        RelnStatus status;
        const char *message;
    } cases[] = {
        {{{0}}, 0, RELN_ERR_ARG, "pack: 0 arrays; wanted 1 or more"},
        {{RELN_ARRAY(NULL, RELN_F64, x, 2, 3), RELN_ARRAY(NULL, RELN_F64, x, 2, 2)},
         2,
         RELN_ERR_SHAPE,
         "pack: rows of array 1 have another type"},
        {{RELN_ARRAY(NULL, RELN_F64, x, 2, 3), RELN_ARRAY(NULL, RELN_F32, x, 2, 3)},
         2,
         RELN_ERR_SHAPE,
         "pack: rows of array 1 have another type"},
        {{RELN_ARRAY(NULL, RELN_F64, x, 2, 3), RELN_ARRAY(NULL, RELN_F64, x, 6)},
         2,
         RELN_ERR_SHAPE,
         "pack: rows of array 1 have another type"},
        {{RELN_ARRAY(NULL, RELN_F64, NULL, 2, 3)},
         1,
         RELN_ERR_ARG,
         "pack: array 0 is not an array"},
        {{RELN_ARRAY(NULL, RELN_F64, x, -1, 3)}, 1, RELN_ERR_ARG, "pack: array 0 is not an array"},
        {{RELN_ARRAY(NULL, RELN_DEFAULT, x, 2, 3)},
         1,
         RELN_ERR_ARG,
         "pack: array 0 is not an array"},
        {{{.dtype = RELN_F64, .values = x}}, 1, RELN_ERR_ARG, "pack: array 0 is not an array"},
    };
    RelnCtx *ctx = NULL;

    (void)state;
    assert_ok(NULL, reln_ctx_create(NULL, &ctx));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int32_t counts[2];
        RelnArray rows;

        assert_int_equal(reln_pack_rows(ctx, cases[c].n, cases[c].arrays, counts, &rows),
                         cases[c].status);
        assert_non_null(strstr(reln_ctx_error(ctx), cases[c].message));
        assert_null(rows.values);
    }
    reln_ctx_destroy(ctx);
}

static RelnStatus pack(RelnCtx *ctx)
{
    static double x[6];
    const RelnArray arrays[] = {RELN_ARRAY(NULL, RELN_F64, x, 1, 2),
                                RELN_ARRAY(NULL, RELN_F64, x, 2, 2)};
    int32_t counts[2];
    RelnArray rows;
    const RelnStatus status = reln_pack_rows(ctx, 2, arrays, counts, &rows);

    reln_array_clear(&rows);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(pack) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_one_behind_the_other),
        cmocka_unit_test(arrays_that_do_not_fit_are_refused),
        cmocka_unit_test(memory_may_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
