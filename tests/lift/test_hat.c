/* Tests lifts of vectors to skew matrices: exact for SO(3), and measurably not for other groups. */
#include "lift/fixture.h"

#include <math.h>
#include <string.h>

enum { COUNT = 7 };

/* Error of hat(g v) against sign g hat(v) g^-1. */
static double hat_error(Fixture *f, const Frame *g, double sign)
{
    double v[COUNT * 3], x[COUNT * 9], moved[COUNT * 3], got[COUNT * 9], want[COUNT * 9];

    fill_normal(&f->rng, COUNT * 3, v);
    frame_vectors(g, COUNT, v, moved);
    assert_ok(f->ctx, reln_lift_hat(f->ctx, COUNT, moved, got));
    assert_ok(f->ctx, reln_lift_hat(f->ctx, COUNT, v, x));
    frame_conjugate(g, COUNT, x, want);
    for (int i = 0; i < COUNT * 9; i++)
        want[i] *= sign;
    return frame_error(COUNT * 9, got, want);
}

static void hat_is_the_cross_product(void **state)
{
    Fixture *f = *state;
    const double v[3] = {1, 2, 3}, w[3] = {-4, 5, 0.5}, cross[3] = {-14, -12.5, 13};
    double x[9], y[3], back[3];

    assert_ok(f->ctx, reln_lift_hat(f->ctx, 1, v, x));
    reln_readout_vector(3, 1, x, w, y);
    assert_near(y, cross, 3, 0);
    reln_readout_hat(1, x, back);
    assert_near(back, v, 3, 0);
}

static void hat_commutes_with_rotations(void **state)
{
    Fixture *f = *state;

    for (int i = 0; i < 20; i++) {
        const Frame g = frame_orthogonal(f->ctx, &f->rng, 3, 1);
        assert_small(hat_error(f, &g, 1), frame_gate(1));
    }
}

static void hat_changes_sign_under_reflections(void **state)
{
    Fixture *f = *state;

    for (int i = 0; i < 20; i++) {
        const Frame g = frame_orthogonal(f->ctx, &f->rng, 3, -1);
        assert_small(hat_error(f, &g, -1), frame_gate(1));
        assert_true(hat_error(f, &g, 1) > 1);
    }
}

static void hat_fails_under_general_frames(void **state)
{
    Fixture *f = *state;
    const Frame g = frame_general(f->ctx, &f->rng, 3, 4, 1);

    assert_true(hat_error(f, &g, 1) > 0.1);
}

/* Reads vectors from any matrix, not only from skew ones. */
static void skew_read_out_commutes_with_rotations(void **state)
{
    Fixture *f = *state;
    double x[COUNT * 9], v[COUNT * 3], moved[COUNT * 9], got[COUNT * 3], want[COUNT * 3];

    for (int sign = -1; sign <= 1; sign += 2) {
        const Frame g = frame_orthogonal(f->ctx, &f->rng, 3, sign);
        fill_normal(&f->rng, COUNT * 9, x);
        frame_conjugate(&g, COUNT, x, moved);
        reln_readout_hat(COUNT, moved, got);
        reln_readout_hat(COUNT, x, v);
        frame_vectors(&g, COUNT, v, want);
        for (int i = 0; i < COUNT * 3; i++)
            want[i] *= sign;
        assert_small(frame_error(COUNT * 3, got, want), frame_gate(1));
    }
}

static void not_a_number_is_refused_with_its_item(void **state)
{
    Fixture *f = *state;
    const double v[6] = {1, 2, 3, 4, (double)NAN, 6};
    double x[18];

    assert_int_equal(reln_lift_hat(f->ctx, 2, v, x), RELN_ERR_NUMERIC);
    assert_string_equal(reln_ctx_error(f->ctx), "hat: item 1: element 1 is nan, not finite");
    assert_int_equal(reln_lift_hat(f->ctx, -2, v, x), RELN_ERR_ARG);
    assert_ok(f->ctx, reln_lift_hat(f->ctx, 0, v, x));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hat_is_the_cross_product),
        cmocka_unit_test(hat_commutes_with_rotations),
        cmocka_unit_test(hat_changes_sign_under_reflections),
        cmocka_unit_test(hat_fails_under_general_frames),
        cmocka_unit_test(skew_read_out_commutes_with_rotations),
        cmocka_unit_test(not_a_number_is_refused_with_its_item),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
