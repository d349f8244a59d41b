/* Tests attitudes as rotation matrices: SO(3) acts from the left, and both quaternions of an attitude give
 * the same matrix. */
#include "lift/fixture.h"

#include <float.h>
#include <math.h>

enum { COUNT = 50 };

/* 24 roundings between a quaternion and its matrix or back, on numbers up to 1 */
#define GATE (24 * DBL_EPSILON)

static void random_units(Fixture *f, double *q)
{
    fill_normal(&f->rng, 4 * COUNT, q);
    for (int k = 0; k < COUNT; k++, q += 4) {
        const double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);

        for (int i = 0; i < 4; i++)
            q[i] /= length;
    }
}

static void both_quaternions_are_one_rotation(void **state)
{
    Fixture *f = *state;
    double q[4 * COUNT], minus[4 * COUNT], x[9 * COUNT], y[9 * COUNT];

    random_units(f, q);
    for (int i = 0; i < 4 * COUNT; i++)
        minus[i] = -q[i];
    assert_ok(f->ctx, reln_lift_quaternion(f->ctx, COUNT, q, x));
    assert_ok(f->ctx, reln_lift_quaternion(f->ctx, COUNT, minus, y));
    assert_near(y, x, 9 * COUNT, 0);
    for (int k = 0; k < COUNT; k++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                const double *r = x + 9 * k;
                const double dot = r[i] * r[j] + r[3 + i] * r[3 + j] + r[6 + i] * r[6 + j];

                assert_small(fabs(dot - (i == j)), GATE);
            }
}

/* w = 0 is a half turn, where the trace tells nothing. */
static void the_readout_gives_the_quaternion_back(void **state)
{
    Fixture *f = *state;
    double q[4 * COUNT], x[9 * COUNT], back[4 * COUNT];

    random_units(f, q);
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 4; i++)
            q[4 * k + i] = i == k;
    assert_ok(f->ctx, reln_lift_quaternion(f->ctx, COUNT, q, x));
    reln_readout_quaternion(COUNT, x, back);
    for (int k = 0; k < COUNT; k++)
        for (int i = 0; i < 4; i++) {
            const double sign = q[4 * k] < 0 ? -1 : 1;

            assert_small(fabs(back[4 * k + i] - sign * q[4 * k + i]), GATE);
        }
}

static void a_quarter_turn_about_z_takes_x_to_y(void **state)
{
    Fixture *f = *state;
    const double q[4] = {sqrt(0.5), 0, 0, sqrt(0.5)}, want[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1};
    double x[9];

    assert_ok(f->ctx, reln_lift_quaternion(f->ctx, 1, q, x));
    assert_near(x, want, 9, GATE);
}

static void zero_is_no_attitude(void **state)
{
    Fixture *f = *state;
    const double q[8] = {1, 0, 0, 0, 0, 0, 0, 0};
    double x[18];

    assert_int_equal(reln_lift_quaternion(f->ctx, 2, q, x), RELN_ERR_NUMERIC);
    assert_string_equal(reln_ctx_error(f->ctx), "quaternion: item 1 is 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_quaternions_are_one_rotation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_readout_gives_the_quaternion_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_quarter_turn_about_z_takes_x_to_y, set_up, tear_down),
        cmocka_unit_test_setup_teardown(zero_is_no_attitude, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
