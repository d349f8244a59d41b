/* test_sizes.c -- tests extents whose products overflow, and batches larger than the bound memory. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reln/reln.h"

typedef struct Fixture {
    RelnSetting s;
    RelnPlan *plan;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);

    *state = f;
    return f && reln_setting_init(&f->s, "so:3", NULL, RELN_F64, 1) == RELN_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    Fixture *f = *state;

    reln_plan_destroy(f->plan);
    reln_setting_clear(&f->s);
    free(f);
    return 0;
}

static void assert_failed(Fixture *f, RelnStatus status, const char *words)
{
    assert_int_equal(reln_plan_create(f->s.graph, NULL, &f->plan), status);
    assert_non_null(strstr(reln_ctx_error(f->s.ctx), words));
}

static const RelnDims huge = {65536, 65536, 65536, 1, 65536};

static void an_input_whose_item_overflows_is_refused(void **state)
{
    Fixture *f = *state;

    assert_null(reln_input(f->s.graph, "x", RELN_SAMPLES, huge, NULL, RELN_DEFAULT));
    assert_failed(f, RELN_ERR_SHAPE, "input: an item of (65536, 65536, 65536, 1, 65536)");
}

static void an_index_input_whose_item_overflows_is_refused(void **state)
{
    Fixture *f = *state;

    assert_null(reln_input_index(f->s.graph, "i", RELN_SAMPLES, huge, RELN_STEP, 3));
    assert_failed(f, RELN_ERR_SHAPE, "index input: an item");
}

static void a_parameter_whose_item_overflows_is_refused(void **state)
{
    Fixture *f = *state;

    assert_null(reln_param(f->s.graph, "w", huge, (RelnInit){0}));
    assert_int_equal(reln_store_count(f->s.store), 0);
    assert_failed(f, RELN_ERR_SHAPE, "param: an item");
}

static void a_constant_whose_item_overflows_is_refused_before_it_is_read(void **state)
{
    Fixture *f = *state;
    const double one = 1;

    assert_null(reln_const(f->s.graph, huge, NULL, &one));
    assert_failed(f, RELN_ERR_SHAPE, "const: an item");
}

static void a_negative_extent_is_refused(void **state)
{
    Fixture *f = *state;
    const double one = 1;

    assert_null(reln_const(f->s.graph, (RelnDims){.p = -1}, NULL, &one));
    assert_failed(f, RELN_ERR_SHAPE, "an extent of -1");
}

static void what_broadcasting_makes_too_large_is_refused(void **state)
{
    Fixture *f = *state;
    RelnNode *x =
        reln_input(f->s.graph, "x", RELN_SAMPLES, (RelnDims){.p = 65536}, NULL, RELN_DEFAULT);
    RelnNode *y =
        reln_input(f->s.graph, "y", RELN_SAMPLES, (RelnDims){.c = 65536}, NULL, RELN_DEFAULT);

    assert_non_null(x);
    assert_non_null(y);
    assert_null(reln_add(f->s.graph, x, y));
    assert_failed(f, RELN_ERR_SHAPE, "add: an item of (65536, 1, 1, 1, 65536)");
}

static void a_reshape_to_extents_that_overflow_is_refused(void **state)
{
    Fixture *f = *state;
    RelnNode *x = reln_input(f->s.graph, "x", RELN_SAMPLES, (RelnDims){.p = 6}, NULL, RELN_DEFAULT);

    assert_null(reln_reshape(f->s.graph, x, huge));
    assert_failed(f, RELN_ERR_SHAPE, "reshape");
}

/* An item may have 2^30 elements, but with 2^30 samples in a shard their bytes exceed the address space. */
static void a_shard_of_more_bytes_than_there_are_is_out_of_memory(void **state)
{
    Fixture *f = *state;
    RelnNode *x =
        reln_input(f->s.graph, "x", RELN_SAMPLES, (RelnDims){.p = 1 << 30}, NULL, RELN_DEFAULT);

    reln_output(f->s.graph, "y", reln_tanh(f->s.graph, x));
    assert_int_equal(reln_plan_create(f->s.graph, &(RelnPlanOptions){.shard = 1 << 30}, &f->plan),
                     RELN_ERR_NOMEM);
    assert_non_null(strstr(reln_ctx_error(f->s.ctx), "a shard of 1073741824 samples"));
}

static void rows_of_more_bytes_than_there_are_are_out_of_memory(void **state)
{
    Fixture *f = *state;
    const RelnDomain rows = reln_rows(f->s.graph, "rows", INT_MAX);
    RelnNode *x = reln_input(f->s.graph, "x", rows, (RelnDims){.p = 1 << 30}, NULL, RELN_DEFAULT);

    reln_output(f->s.graph, "y", reln_tanh(f->s.graph, x));
    assert_failed(f, RELN_ERR_NOMEM, "out of memory");
}

/* y = tanh x for samples of two numbers, and the sum over rows. */
static void plan_pairs(Fixture *f)
{
    RelnGraph *g = f->s.graph;
    const RelnDomain rows = reln_rows(g, "rows", 4);

    reln_output(
        g, "y",
        reln_tanh(g, reln_input(g, "x", RELN_SAMPLES, (RelnDims){.c = 2}, NULL, RELN_DEFAULT)));
    reln_output(g, "z",
                reln_tanh(g, reln_input(g, "r", rows, (RelnDims){.c = 3}, NULL, RELN_DEFAULT)));
    assert_int_equal(reln_plan_create(g, NULL, &f->plan), RELN_OK);
}

static void a_batch_larger_than_what_is_bound_is_refused(void **state)
{
    Fixture *f = *state;
    const double x[10] = {0}, r[18] = {0};
    const int32_t counts[5] = {1, 2, 0, 3, 1};

    plan_pairs(f);
    assert_int_equal(reln_plan_bind_sized(f->plan, "x", x, RELN_F64, 10), RELN_OK);
    assert_int_equal(reln_plan_bind_sized(f->plan, "r", r, RELN_F64, 18), RELN_OK);
    assert_int_equal(reln_plan_bind_rows_sized(f->plan, "rows", counts, 5), RELN_OK);
    assert_int_equal(reln_plan_run(f->plan, &(RelnRun){.n_samples = 4}), RELN_OK);
    assert_int_equal(reln_plan_run(f->plan, &(RelnRun){.n_samples = 6}), RELN_ERR_ARG);
    assert_string_equal(reln_ctx_error(f->s.ctx),
                        "run: rows rows are bound for 5 samples, wanted 6");
    assert_int_equal(reln_plan_run(f->plan, &(RelnRun){.n_samples = 5}), RELN_ERR_ARG);
    assert_string_equal(reln_ctx_error(f->s.ctx),
                        "run: input r is bound to 18 elements, wanted 7 items of 3");
    assert_int_equal(reln_plan_bind_sized(f->plan, "x", x, RELN_F64, 7), RELN_OK);
    assert_int_equal(reln_plan_run(f->plan, &(RelnRun){.n_samples = 3}), RELN_OK);
    assert_int_equal(reln_plan_run(f->plan, &(RelnRun){.n_samples = 4}), RELN_ERR_ARG);
    assert_string_equal(reln_ctx_error(f->s.ctx),
                        "run: input x is bound to 7 elements, wanted 4 items of 2");
}

static void a_batch_of_none_needs_no_memory(void **state)
{
    Fixture *f = *state;

    plan_pairs(f);
    assert_int_equal(reln_plan_bind_sized(f->plan, "x", NULL, RELN_F64, 0), RELN_OK);
    assert_int_equal(reln_plan_bind_sized(f->plan, "r", NULL, RELN_F64, 0), RELN_OK);
    assert_int_equal(reln_plan_bind_rows_sized(f->plan, "rows", NULL, 0), RELN_OK);
    assert_int_equal(reln_plan_run(f->plan, &(RelnRun){0}), RELN_OK);
    assert_int_equal(reln_plan_run(f->plan, &(RelnRun){.n_samples = 1}), RELN_ERR_ARG);
}

static void numbers_are_not_bound_as_64_bit_integers(void **state)
{
    Fixture *f = *state;
    const int64_t x[2] = {0};

    plan_pairs(f);
    assert_int_equal(reln_plan_bind_sized(f->plan, "x", x, RELN_I64, 2), RELN_ERR_ARG);
    assert_int_equal(reln_plan_bind(f->plan, "x", NULL, RELN_F64), RELN_ERR_ARG);
}

static void room_for_more_samples_than_there_are_bytes_is_refused(void **state)
{
    Fixture *f = *state;

    plan_pairs(f);
    assert_int_equal(reln_plan_reserve(f->plan, PTRDIFF_MAX, 0), RELN_ERR_NOMEM);
    assert_int_equal(reln_plan_reserve(f->plan, 0, PTRDIFF_MAX / 2), RELN_ERR_NOMEM);
    assert_int_equal(reln_plan_reserve(f->plan, -1, 0), RELN_ERR_ARG);
    assert_int_equal(reln_plan_reserve(f->plan, 10, 10), RELN_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_input_whose_item_overflows_is_refused),
        TEST(an_index_input_whose_item_overflows_is_refused),
        TEST(a_parameter_whose_item_overflows_is_refused),
        TEST(a_constant_whose_item_overflows_is_refused_before_it_is_read),
        TEST(a_negative_extent_is_refused),
        TEST(what_broadcasting_makes_too_large_is_refused),
        TEST(a_reshape_to_extents_that_overflow_is_refused),
        TEST(a_shard_of_more_bytes_than_there_are_is_out_of_memory),
        TEST(rows_of_more_bytes_than_there_are_are_out_of_memory),
        TEST(a_batch_larger_than_what_is_bound_is_refused),
        TEST(a_batch_of_none_needs_no_memory),
        TEST(numbers_are_not_bound_as_64_bit_integers),
        TEST(room_for_more_samples_than_there_are_bytes_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
