/* Tests lifts of covariances by logarithm: exact for O(n), and measurably not for other groups. */
#include "lift/fixture.h"

#include <math.h>
#include <string.h>

#include "base/base.h"

enum { COUNT = 6, N = 4, SQUARE = N * N };

static double lift_error(Fixture *f, const Frame *g)
{
    double s[COUNT * SQUARE], moved[COUNT * SQUARE], x[COUNT * SQUARE], got[COUNT * SQUARE],
        want[COUNT * SQUARE];

    fill_positive(f->ctx, &f->rng, N, COUNT, s);
    frame_congruence(g, COUNT, s, moved);
    assert_ok(f->ctx, reln_lift_covariance_log(f->ctx, N, COUNT, moved, got));
    assert_ok(f->ctx, reln_lift_covariance_log(f->ctx, N, COUNT, s, x));
    frame_conjugate(g, COUNT, x, want);
    return frame_error(COUNT * SQUARE, got, want);
}

static void logarithm_commutes_with_rotations_and_reflections(void **state)
{
    Fixture *f = *state;

    for (int i = 0; i < 20; i++) {
        const Frame g = frame_orthogonal(f->ctx, &f->rng, N, i % 2 ? 1 : -1);
        assert_small(lift_error(f, &g), frame_gate(1));
    }
}

static void logarithm_fails_under_general_frames(void **state)
{
    Fixture *f = *state;
    const Frame g = frame_general(f->ctx, &f->rng, N, 4, 1);

    assert_true(lift_error(f, &g) > 0.1);
}

/* Covariances passed unchanged transform by conjugation for orthogonal R, and not for other matrices. */
static void raw_covariances_conjugate_under_orthogonal_frames_only(void **state)
{
    Fixture *f = *state;
    const Frame q = frame_orthogonal(f->ctx, &f->rng, N, -1);
    const Frame g = frame_general(f->ctx, &f->rng, N, 4, 1);
    double s[SQUARE], got[SQUARE], want[SQUARE];

    fill_positive(f->ctx, &f->rng, N, 1, s);
    frame_congruence(&q, 1, s, got);
    frame_conjugate(&q, 1, s, want);
    assert_small(frame_error(SQUARE, got, want), frame_gate(1));
    frame_congruence(&g, 1, s, got);
    frame_conjugate(&g, 1, s, want);
    assert_true(frame_error(SQUARE, got, want) > 0.1);
}

static void exponential_undoes_the_logarithm_and_commutes_too(void **state)
{
    Fixture *f = *state;
    const Frame g = frame_orthogonal(f->ctx, &f->rng, N, -1);
    double s[COUNT * SQUARE], x[COUNT * SQUARE], moved[COUNT * SQUARE], got[COUNT * SQUARE],
        want[COUNT * SQUARE];

    fill_positive(f->ctx, &f->rng, N, COUNT, s);
    assert_ok(f->ctx, reln_lift_covariance_log(f->ctx, N, COUNT, s, x));
    assert_ok(f->ctx, reln_readout_covariance_exp(f->ctx, N, COUNT, x, got));
    assert_small(frame_error(COUNT * SQUARE, got, s), frame_gate(1));
    fill_normal(&f->rng, COUNT * SQUARE, x); /* any matrix */
    frame_conjugate(&g, COUNT, x, moved);
    assert_ok(f->ctx, reln_readout_covariance_exp(f->ctx, N, COUNT, moved, got));
    assert_ok(f->ctx, reln_readout_covariance_exp(f->ctx, N, COUNT, x, s));
    frame_conjugate(&g, COUNT, s, want);
    assert_small(frame_error(COUNT * SQUARE, got, want), 1e-12);
}

static void data_outside_the_domain_is_refused_with_its_item(void **state)
{
    Fixture *f = *state;
    double s[8] = {1, 0, 0, 1, 1, 2, 2, 1}, x[8];

    assert_int_equal(reln_lift_covariance_log(f->ctx, 2, 2, s, x), RELN_ERR_NUMERIC);
    assert_string_equal(reln_ctx_error(f->ctx),
                        "covariance logarithm: item 1: a 2x2 matrix is not positive definite: its "
                        "smallest eigenvalue is -1");
    s[5] = 0;
    assert_int_equal(reln_lift_covariance_log(f->ctx, 2, 2, s, x), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "item 1 is not symmetric: off by 2.0e+00"));
    s[5] = (double)NAN;
    assert_int_equal(reln_lift_covariance_log(f->ctx, 2, 2, s, x), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "item 1: element 1 is nan"));
    s[5] = 1e4;
    assert_int_equal(reln_readout_covariance_exp(f->ctx, 2, 2, s, x), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "covariance exponential: item 1: "));
}

static RelnStatus there_and_back(RelnCtx *ctx)
{
    const double s[8] = {1, 0, 0, 1, 2, 1, 1, 2};
    double x[8], back[8];

    RELN_TRY(reln_lift_covariance_log(ctx, 2, 2, s, x));
    return reln_readout_covariance_exp(ctx, 2, 2, x, back);
}

static void running_out_of_memory_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(there_and_back) > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithm_commutes_with_rotations_and_reflections),
        cmocka_unit_test(logarithm_fails_under_general_frames),
        cmocka_unit_test(raw_covariances_conjugate_under_orthogonal_frames_only),
        cmocka_unit_test(exponential_undoes_the_logarithm_and_commutes_too),
        cmocka_unit_test(data_outside_the_domain_is_refused_with_its_item),
        cmocka_unit_test(running_out_of_memory_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
