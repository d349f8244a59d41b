/* Compares references and read-outs with numbers computed by hand. */
#include <string.h>

#include "support/support.h"

static RelnCtx *ctx;

static int set_up(void **state)
{
    (void)state;
    return reln_ctx_create(NULL, &ctx) == RELN_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(reln_ctx_live_blocks(ctx), 0);
    reln_ctx_destroy(ctx);
    return 0;
}

/* Matrices that are asymmetric by rounding are made symmetric, and the mean divides by the number of items.
 * All numbers are sums of powers of two, so the results are exact. */
static void the_mean_covariance_is_symmetric(void **state)
{
    const double tiny = 0x1p-20;
    const double s[8] = {1, tiny, 0, 2, 3, 0, 0, 4}, want[4] = {2, tiny / 4, tiny / 4, 3};
    double sbar[4];

    (void)state;
    assert_ok(ctx, reln_reference_mean(ctx, 2, 2, s, 0, NULL, sbar));
    assert_near(sbar, want, 4, 0);
}

static void the_scatter_is_a_mean(void **state)
{
    const double v[4] = {2, 0, 0, 4}, want[4] = {2, 0, 0, 8};
    double sbar[4];

    (void)state;
    assert_ok(ctx, reln_reference_scatter(ctx, 2, 2, v, 0, NULL, sbar));
    assert_near(sbar, want, 4, 0);
}

static void the_prior_counts_eps(void **state)
{
    const double s[4] = {1, 0, 0, 1}, prior[4] = {8, 2, 2, 4}, want[4] = {3, 0.5, 0.5, 2};
    const double v[2] = {1, 0}, scattered[4] = {3, 0.5, 0.5, 1};
    double sbar[4];

    (void)state;
    assert_ok(ctx, reln_reference_mean(ctx, 2, 1, s, 0.25, prior, sbar));
    assert_near(sbar, want, 4, 0);
    assert_ok(ctx, reln_reference_scatter(ctx, 2, 1, v, 0.25, prior, sbar));
    assert_near(sbar, scattered, 4, 0);
}

/* tr(X sbar X^T sbar^-1): the Frobenius square where sbar is 1; x_12^2 s_2 / s_1 where it is diagonal. */
static void the_norm_is_squared(void **state)
{
    const double one[4] = {1, 0, 0, 1}, skew[4] = {4, 0, 0, 16};
    const double x[8] = {3, 0, 0, 4, 0, 2, 0, 0};
    double y[2];

    (void)state;
    assert_ok(ctx, reln_readout_norm(ctx, 2, one, 2, x, y));
    assert_small(y[0] - 25, 64 * 2.3e-16 * 25);
    assert_small(y[1] - 4, 64 * 2.3e-16 * 4);
    assert_ok(ctx, reln_readout_norm(ctx, 2, skew, 2, x, y));
    assert_small(y[0] - 25, 64 * 2.3e-16 * 25);
    assert_small(y[1] - 16, 64 * 2.3e-16 * 16);
}

/* 1e-5 of the norm is rounding of floats and their sums; 1e-4 is not. */
static void matrices_that_are_not_symmetric_are_refused(void **state)
{
    const double s[4] = {1, 1e-4, 0, 1}, near[4] = {1, 1e-6, 0, 1};
    double sbar[4];

    (void)state;
    assert_ok(ctx, reln_reference_mean(ctx, 2, 1, near, 0, NULL, sbar));
    assert_int_equal(reln_reference_mean(ctx, 2, 1, s, 0, NULL, sbar), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(ctx), "not symmetric"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_covariance_is_symmetric),
        cmocka_unit_test(the_scatter_is_a_mean),
        cmocka_unit_test(the_prior_counts_eps),
        cmocka_unit_test(the_norm_is_squared),
        cmocka_unit_test(matrices_that_are_not_symmetric_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
