/* Tests values of the kinds of inputs: which are valid, how they are drawn, and how they are brought back to their kind. */
#include "model/kinds.h"

#include <math.h>
#include <string.h>

#include "support/support.h"

enum { N = 3, SIZE = N * N, DRAWS = 4000 };

static RelnCtx *open_ctx(void)
{
    RelnCtx *ctx = NULL;

    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    return ctx;
}

/* S = L L^T + I / 10 with n^2 numbers of variance 1 / n in L: diagonals are 1.1 in the mean, with variance 2 / n, and the others
 * 0 with variance 1 / n. Means of so many draws are within five standard errors. */
static void drawn_covariances_are_valid_and_of_size_one(void **state)
{
    const InputKind *kind = reln_input_kind(RELN_AS_COVARIANCE);
    RelnRng rng = reln_rng(5, 1);
    double s[SIZE], diagonal = 0, other = 0;
    RelnCtx *ctx = open_ctx();

    (void)state;
    for (int d = 0; d < DRAWS; d++) {
        kind->draw(&rng, N, s);
        assert_ok(ctx, kind->check(ctx, N, "s", d, s));
        diagonal += (s[0] + s[4] + s[8]) / (3 * DRAWS);
        other += (s[1] + s[2] + s[5]) / (3 * DRAWS);
    }
    assert_small(diagonal - 1.1, 5 * sqrt(2.0 / N / (3 * DRAWS)));
    assert_small(other, 5 * sqrt(1.0 / N / (3 * DRAWS)));
    reln_ctx_destroy(ctx);
}

/* Each number of a random direction in four dimensions has the mean 0 and the square 1/4; the variance of the square is
 * 3/24 - 1/16. */
static void drawn_quaternions_are_valid_and_of_all_directions(void **state)
{
    const InputKind *kind = reln_input_kind(RELN_AS_QUATERNION);
    RelnRng rng = reln_rng(5, 2);
    double q[4], mean[4] = {0}, square[4] = {0};
    RelnCtx *ctx = open_ctx();

    (void)state;
    for (int d = 0; d < DRAWS; d++) {
        kind->draw(&rng, N, q);
        assert_ok(ctx, kind->check(ctx, N, "q", d, q));
        for (int i = 0; i < 4; i++) {
            mean[i] += q[i] / DRAWS;
            square[i] += q[i] * q[i] / DRAWS;
        }
    }
    for (int i = 0; i < 4; i++) {
        assert_small(mean[i], 5 * sqrt(1.0 / 4 / DRAWS));
        assert_small(square[i] - 0.25, 5 * sqrt((3.0 / 24 - 1.0 / 16) / DRAWS));
    }
    reln_ctx_destroy(ctx);
}

/* A covariance becomes symmetric by its upper triangle; a quaternion gets the length 1, and one without a direction is the
 * identity. Values of the kind stay. */
static void values_are_brought_back_to_their_kind(void **state)
{
    const double symmetric[SIZE] = {1, 2, 3, 2, 5, 6, 3, 6, 9}, one[4] = {1, 0, 0, 0};
    const double third[4] = {2.0 / 3, -1.0 / 3, 0, 2.0 / 3};
    double s[SIZE] = {1, 2, 3, 40, 5, 6, 70, 80, 9}, q[4] = {4, -2, 0, 4}, zero[4] = {0};

    (void)state;
    for (int again = 0; again < 2; again++) {
        reln_input_kind(RELN_AS_COVARIANCE)->mend(N, s);
        assert_near(s, symmetric, SIZE, 0);
        reln_input_kind(RELN_AS_QUATERNION)->mend(N, q);
        assert_near(q, third, 4, 4 * 2.3e-16);
        reln_input_kind(RELN_AS_QUATERNION)->mend(N, zero);
        assert_near(zero, one, 4, 0);
    }
}

/* The bounds are a hundred times the rounding of single precision: 1e-5 of a length, and of the norm of a matrix for its
 * antisymmetric part, which is |d| / sqrt(2) when one entry is larger by d than its mirror image. */
static void values_may_have_the_rounding_of_single_precision(void **state)
{
    const InputKind *covariance = reln_input_kind(RELN_AS_COVARIANCE),
                    *quaternion = reln_input_kind(RELN_AS_QUATERNION);
    RelnCtx *ctx = open_ctx();

    (void)state;
    for (int k = 0; k < 4; k++) {
        const double off = (k % 2 ? -1 : 1) * (k < 2 ? 0.9e-5 : 1.1e-5);
        const double q[4] = {0, 0, 1 + off, 0};
        double s[SIZE] = {1, 0.25, 0, 0.25, 1, 0, 0, 0, 1};

        s[1] += sqrt(2) * off * sqrt(3 + 2 * 0.0625);
        assert_int_equal(quaternion->check(ctx, N, "q", 7, q), k < 2 ? RELN_OK : RELN_ERR_FORMAT);
        assert_string_equal(reln_ctx_error(ctx),
                            k == 2   ? "q: row 7 has length 1.00001; a unit quaternion (w, x, y, "
                                       "z) was wanted"
                            : k == 3 ? "q: row 7 has length 0.999989; a unit quaternion (w, x, y, "
                                       "z) was wanted"
                                     : "");
        reln_ctx_clear(ctx);
        assert_int_equal(covariance->check(ctx, N, "s", 7, s), k < 2 ? RELN_OK : RELN_ERR_FORMAT);
        reln_ctx_clear(ctx);
    }
    reln_ctx_destroy(ctx);
}

static void covariances_are_positive(void **state)
{
    const InputKind *kind = reln_input_kind(RELN_AS_COVARIANCE);
    const double flat[SIZE] = {1, 0, 0, 0, 2, 0, 0, 0, 0},
                 good[SIZE] = {1, 0, 0, 0, 2, 0, 0, 0, 1e-9};
    RelnCtx *ctx = open_ctx();

    (void)state;
    assert_ok(ctx, kind->check(ctx, N, "s", 2, good));
    assert_int_equal(kind->check(ctx, N, "s", 2, flat), RELN_ERR_FORMAT);
    assert_string_equal(reln_ctx_error(ctx),
                        "s: row 2 is not positive definite (smallest eigenvalue "
                        "0); a covariance was wanted");
    reln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawn_covariances_are_valid_and_of_size_one),
        cmocka_unit_test(drawn_quaternions_are_valid_and_of_all_directions),
        cmocka_unit_test(values_are_brought_back_to_their_kind),
        cmocka_unit_test(values_may_have_the_rounding_of_single_precision),
        cmocka_unit_test(covariances_are_positive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
