/* Tests the task of the Baker-Campbell-Hausdorff formula: rotations, the series, and networks that are
 * equivariant. */
#include <float.h>
#include <math.h>

#include "tasks/bch/bch.h"
#include "tasks/network.h"
#include "tasks/smoke.h"

/* The published logarithm goes by the angle's cosine, which loses digits towards a half turn: eps / (pi - angle)^2 of them.
 * The nearest of these is 3.1e-3 away from it. */
static void logarithms_of_products_are_those_of_the_published_code(void **state)
{
    RelnCtx *ctx = NULL;
    double got[BCH_K];

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    RelnArray a = golden(ctx, "so3_bch/v1"), b = golden(ctx, "so3_bch/v2"),
              want = golden(ctx, "so3_bch/v3");
    for (ptrdiff_t i = 0; i < a.dims[0]; i++) {
        bch_exact(a.f64 + 3 * i, b.f64 + 3 * i, got);
        assert_near(got, want.f64 + 3 * i, BCH_K, 10 * DBL_EPSILON / (3.1e-3 * 3.1e-3));
    }
    reln_array_clear(&a);
    reln_array_clear(&b);
    reln_array_clear(&want);
    reln_ctx_destroy(ctx);
}

static void multiply(const double *a, const double *b, double *out)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

static void exp_of_the_logarithm_is_the_product(void **state)
{
    double a[3], b[3], c[3], A[9], B[9], AB[9], C[9];
    RelnRng rng = reln_rng(1, 1);

    (void)state;
    for (int i = 0; i < 1000; i++) {
        bch_draw(&rng, a);
        bch_draw(&rng, b);
        bch_exact(a, b, c);
        bch_rotation(a, A);
        bch_rotation(b, B);
        bch_rotation(c, C);
        multiply(A, B, AB);
        assert_near(C, AB, 9, 100 * DBL_EPSILON);
        assert_true(a[0] >= 0 && a[1] >= 0 && a[2] >= 0);
        assert_true(sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]) <= acos(-1) + 1e-12);
    }
}

/* Cut off after n letters, the error is of order n + 1: halving both vectors divides it by 2^(n+1). */
static void series_have_their_orders(void **state)
{
    const double a[3] = {0.02, -0.01, 0.03}, b[3] = {-0.01, 0.03, 0.02};
    const double a2[3] = {0.01, -0.005, 0.015}, b2[3] = {-0.005, 0.015, 0.01};
    double exact[3], exact2[3], cut[3], cut2[3], error, error2;

    (void)state;
    bch_exact(a, b, exact);
    bch_exact(a2, b2, exact2);
    for (int order = 1; order <= 3; order++) {
        bch_series(order, a, b, cut);
        bch_series(order, a2, b2, cut2);
        error = error2 = 0;
        for (int i = 0; i < 3; i++) {
            error += fabs(cut[i] - exact[i]);
            error2 += fabs(cut2[i] - exact2[i]);
        }
        assert_small(fabs(log2(error / error2) - (order + 1)), 0.1);
    }
}

static void angles_are_those_between_rotations(void **state)
{
    const double v[3] = {0, 0, 0.7}, w[3] = {0, 0, 0.7 + 1e-7};
    const double want = 1e-7;
    double r[9], s[9], got;

    (void)state;
    bch_rotation(v, r);
    bch_rotation(w, s);
    got = bch_angle(r, s);
    assert_small(fabs(got - want), 10 * DBL_EPSILON);
}

/* The angle of numbers that are no rotation, but nearly a half turn, is a half turn. */
static void angles_end_at_a_half_turn(void **state)
{
    const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, more = 1 + 1e-12;
    const double half[9] = {1, 0, 0, 0, -more, 0, 0, 0, -more};

    (void)state;
    assert_small(bch_angle(one, half) - acos(-1), 4 * DBL_EPSILON);
}

/* Angles of drawn vectors are uniform up to a half turn. */
static void drawn_vectors_have_every_angle(void **state)
{
    enum { N = 4000 };
    const double pi = acos(-1);
    RelnRng rng = reln_rng(2, 1);
    double v[3], mean = 0, most = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        double angle;

        bch_draw(&rng, v);
        angle = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        mean += angle / N;
        most = fmax(most, angle);
    }
    assert_small(mean - pi / 2, 5 * pi / sqrt(12.0 * N));
    assert_true(most > 0.99 * pi && most < pi); /* 0.99^4000 = 3e-18 */
}

/* The trace of a uniform rotation has the mean 0, the mean square 1 and the mean fourth power 3: the numbers of invariants of one,
 * two and four vectors. */
static void frames_are_uniform(void **state)
{
    enum { N = 4000 };
    RelnRng rng = reln_rng(2, 2);
    double r[9], mean = 0, square = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        bch_frame(&rng, r);
        mean += (r[0] + r[4] + r[8]) / N;
        square += pow(r[0] + r[4] + r[8], 2) / N;
    }
    assert_small(mean, 5 * sqrt(1.0 / N));
    assert_small(square - 1, 5 * sqrt(2.0 / N));
}

/* Metrics: distance, angle, distance in turned frames, equivariance. Single precision, or double for the series. */
static void rounding_or_mlp(const TaskRun *run)
{
    if (smoke_is_mlp(run))
        assert_true(run->metrics[3] > 1e-2);
    else
        assert_small(run->metrics[3], 64 * 0x1p-23);
}

static void rows_turn_with_the_frame_but_for_the_mlps(void **state)
{
    (void)state;
    smoke("bch", NULL, rounding_or_mlp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithms_of_products_are_those_of_the_published_code),
        cmocka_unit_test(exp_of_the_logarithm_is_the_product),
        cmocka_unit_test(series_have_their_orders),
        cmocka_unit_test(angles_are_those_between_rotations),
        cmocka_unit_test(angles_end_at_a_half_turn),
        cmocka_unit_test(drawn_vectors_have_every_angle),
        cmocka_unit_test(frames_are_uniform),
        cmocka_unit_test(rows_turn_with_the_frame_but_for_the_mlps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
