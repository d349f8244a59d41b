/* Compares functions of small matrices and their derivatives with the library's own functions and with
 * formulas. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "support/support.h"
#include "tensor/jet.h"
#include "tensor/linalg.h"

enum { N = RELN_JET_SIZE, SQUARE = N * N, ROOM = 20 * (SQUARE << RELN_JET_ORDER) };
static double scratch[ROOM];

typedef RelnStatus Library(RelnCtx *ctx, int n, const double *x, double *out);

static RelnStatus library_inverse(RelnCtx *ctx, int n, const double *x, double *out)
{
    return reln_inverse(ctx, n, x, out);
}

static Library *const library[RELN_MATFUN_COUNT] = {reln_matrix_exp, reln_matrix_log,
                                                    reln_matrix_sqrt, library_inverse};

/* size (1 + x / (4 sqrt n)), x normal: |x| is about 2 sqrt n, so that the condition is about 3. */
static void draw(RelnRng *rng, int n, double size, double *a)
{
    fill_normal(rng, (ptrdiff_t)n * n, a);
    for (int i = 0; i < n * n; i++)
        a[i] = size * (a[i] / (4 * sqrt(n)) + (i % (n + 1) == 0));
}

/* A dozen products and inverses of condition 3 with n terms each, seven times over: 1024 n eps. */
static void values_agree_with_the_library(void **state)
{
    RelnCtx *ctx = NULL;
    RelnRng rng = reln_rng(1, 0);
    double x[SQUARE], a[SQUARE], got[SQUARE], want[SQUARE];

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (int f = 0; f < RELN_MATFUN_COUNT; f++)
        for (int n = 1; n <= N; n++)
            for (int size = -2; size < 3; size++) {
                draw(&rng, n, pow(f == RELN_MATFUN_EXP ? 2 : 1000, size), a);
                memcpy(x, a, sizeof x);
                assert_null(reln_jet_apply((RelnMatFun)f, n, 0, x, got, scratch));
                assert_ok(ctx, library[f](ctx, n, a, want));
                for (int i = 0; i < n * n; i++)
                    got[i] -= want[i];
                assert_small(reln_mat_norm(n * n, got) / reln_mat_norm(n * n, want),
                             1024 * n * DBL_EPSILON);
            }
    reln_ctx_destroy(ctx);
}

/* f^(m)(a), in closed form. */
static double scalar_derivative(RelnMatFun f, int m, double a)
{
    double factor = 1;

    switch (f) {
    case RELN_MATFUN_EXP:
        return exp(a);
    case RELN_MATFUN_LOG:
        for (int i = 1; i < m; i++)
            factor *= -i;
        return m == 0 ? log(a) : factor * pow(a, -m);
    case RELN_MATFUN_SQRT:
        for (int i = 0; i < m; i++)
            factor *= 0.5 - i;
        return factor * pow(a, 0.5 - m);
    default:
        for (int i = 1; i <= m; i++)
            factor *= -i;
        return factor * pow(a, -1 - m);
    }
}

/* L(a 1; b_1 1 .. b_m 1) = f^(m)(a) b_1 .. b_m 1. */
static void six_derivatives_of_scalar_matrices_are_those_of_numbers(void **state)
{
    static double x[SQUARE << RELN_JET_ORDER];
    double out[SQUARE];

    (void)state;
    for (int f = 0; f < RELN_MATFUN_COUNT; f++)
        for (int m = 0; m <= RELN_JET_ORDER; m++)
            for (int n = 1; n <= N; n += 3)
                for (double a = 0.05; a < 30; a *= 2.7) {
                    double want = scalar_derivative((RelnMatFun)f, m, a);

                    memset(x, 0, sizeof x);
                    for (int i = 0; i <= m; i++)
                        for (int d = 0; d < n; d++)
                            x[(i ? (n * n) << (i - 1) : 0) + d * (n + 1)] = i ? 0.3 * i : a;
                    for (int i = 1; i <= m; i++)
                        want *= 0.3 * i;
                    assert_null(reln_jet_apply((RelnMatFun)f, n, m, x, out, scratch));
                    /* the m-th derivative of a product of 2^s factors has (2^s)^m terms of rounding; a root loses
                     * 4 eps and a log of seven roots 2^7 of them */
                    for (int d = 0; d < n; d++)
                        assert_small(out[d * (n + 1)] / want - 1, 4096 * (m + 1) * DBL_EPSILON);
                }
}

/* A = diag(1, 1 + gap, 3): L(A; E)_ij = E_ij f[a_i, a_j], with divided differences that have no cancellation. */
static double divided_log(double a, double b)
{
    return a == b ? 1 / a : log1p((b - a) / a) / (b - a);
}

static void equal_and_nearly_equal_eigenvalues_need_no_care(void **state)
{
    static const double gaps[] = {0, 1e-12, 1e-8, 1e-4, 1};
    RelnRng rng = reln_rng(2, 0);

    (void)state;
    for (int g = 0; g < 5; g++) {
        const double a[3] = {1, 1 + gaps[g], 3};
        double x[18] = {0}, e[9], out[9], want[9];

        fill_normal(&rng, 9, e);
        for (int i = 0; i < 9; i++) {
            x[i] = i % 4 == 0 ? a[i / 4] : 0;
            x[9 + i] = e[i];
            want[i] = e[i] * divided_log(a[i / 3], a[i % 3]);
        }
        assert_null(reln_jet_apply(RELN_MATFUN_LOG, 3, 1, x, out, scratch));
        assert_near(out, want, 9, 256 * DBL_EPSILON);
    }
}

/* A Jordan block: not diagonalisable, f([[a, 1], [0, a]]) = [[f, f'], [0, f]]. */
static void matrices_without_eigenvectors_have_functions(void **state)
{
    (void)state;
    for (int f = 0; f < RELN_MATFUN_COUNT; f++) {
        const RelnMatFun fun = (RelnMatFun)f;
        double x[4] = {0.7, 1, 0, 0.7}, out[4];
        const double want[4] = {scalar_derivative(fun, 0, 0.7), scalar_derivative(fun, 1, 0.7), 0,
                                scalar_derivative(fun, 0, 0.7)};

        assert_null(reln_jet_apply(fun, 2, 0, x, out, scratch));
        assert_near(out, want, 4, 256 * DBL_EPSILON);
    }
}

/* A rotation by t = pi - d behaves like the complex number e^(it). A direction is p + q, where p commutes
 * with the rotation (and is a complex number, too) and q anticommutes. Then L(A; E) = f'(e^(it)) p +
 * f[e^(it), e^(-it)] q, with divided differences t / sin t for log and 1 / (2 cos t/2) for sqrt. Numbers x +
 * iy are matrices [[x, -y], [y, x]]. */
typedef struct Turn {
    double t, size; /* size A */
    double value[2], slope[2], across;
} Turn;

static Turn turn_by(RelnMatFun f, double distance, double size)
{
    const double t = acos(-1) - distance;
    /* sin t and cos t/2 from the distance: no cancellation */
    const double across =
        f == RELN_MATFUN_LOG ? t / sin(distance) / size : 0.5 / (sin(distance / 2) * sqrt(size));
    Turn out = {.t = t, .size = size, .across = across};

    if (f == RELN_MATFUN_LOG) {
        out.value[0] = log(size);
        out.value[1] = t;
        out.slope[0] = -cos(distance) / size;
        out.slope[1] = -sin(distance) / size;
    } else {
        out.value[0] = sqrt(size) * sin(distance / 2);
        out.value[1] = sqrt(size) * cos(distance / 2);
        out.slope[0] = 0.5 * sin(distance / 2) / sqrt(size);
        out.slope[1] = -0.5 * cos(distance / 2) / sqrt(size);
    }
    return out;
}

/* Writes the matrix of a complex number in the plane of the first and the last of three coordinates, rotated
 * by q, with `between` in the middle. */
static void in_space(const double plane[4], double between, const double *q, double *out)
{
    double m[9] = {plane[0], 0, plane[1], 0, between, 0, plane[2], 0, plane[3]}, t[9], qt[9];

    reln_mat_transpose(3, 3, q, qt);
    reln_mat_mul(3, 3, 3, q, m, t);
    reln_mat_mul(3, 3, 3, t, qt, out);
}

/* The condition number of the function at A is across |A| / |f(A)|, and A is known up to rounding; this
 * bounds the error of the value. The derivative has a bound larger by 1 / d, since it divides by the distance
 * of the eigenvalues once more. */
static void turns_near_the_negative_axis_cost_what_the_condition_says(void **state)
{
    static const double q[9] = {0.6,           -0.8,          0,
                                0.8 * 5 / 13,  0.6 * 5 / 13,  -12.0 / 13,
                                0.8 * 12 / 13, 0.6 * 12 / 13, 5.0 / 13};
    static const RelnMatFun functions[2] = {RELN_MATFUN_LOG, RELN_MATFUN_SQRT};
    static const double sizes[3] = {1, 1e-3, 40};

    (void)state;
    for (int f = 0; f < 2; f++)
        for (int s = 0; s < 3; s++)
            for (double d = 1; d > 5e-8; d /= 3) {
                const double size = sizes[s], c = -cos(d) * size, n = sin(d) * size;
                const Turn w = turn_by(functions[f], d, size);
                const double plane[4] = {c, -n, n, c};
                const double value[4] = {w.value[0], -w.value[1], w.value[1], w.value[0]};
                /* p = 0.3 - 0.7 i, q = [[0.4, 0.2], [0.2, -0.4]] */
                const double e[4] = {0.7, 0.9, -0.5, -0.1};
                const double x = w.slope[0] * 0.3 + w.slope[1] * 0.7,
                             y = w.slope[1] * 0.3 - w.slope[0] * 0.7;
                const double slope[4] = {x + 0.4 * w.across, -y + 0.2 * w.across,
                                         y + 0.2 * w.across, x - 0.4 * w.across};
                double jet[18], out[9], want[9], scale = 0;
                const double condition = w.across * size;

                in_space(plane, size, q, jet);
                in_space(value, functions[f] == RELN_MATFUN_LOG ? log(size) : sqrt(size), q, want);
                assert_null(reln_jet_apply(functions[f], 3, 0, jet, out, scratch));
                for (int i = 0; i < 9; i++)
                    out[i] -= want[i];
                /* ten operations with three terms each make A and undo its frame: 32 eps |A| */
                assert_small(reln_mat_norm(9, out), 32 * DBL_EPSILON * (condition + 9));

                in_space(plane, size, q, jet);
                in_space(e, 0, q, jet + 9);
                in_space(slope, 0, q, want);
                assert_null(reln_jet_apply(functions[f], 3, 1, jet, out, scratch));
                for (int i = 0; i < 9; i++) {
                    out[i] -= want[i];
                    scale = fmax(scale, fabs(want[i]));
                }
                assert_small(reln_mat_norm(9, out) / scale, 64 * DBL_EPSILON * (1 / d + 9));
            }
}

/* There is no value on the negative axis, nor closer to it than rounding. */
static void half_turns_in_any_frame_are_refused(void **state)
{
    static const RelnMatFun functions[2] = {RELN_MATFUN_LOG, RELN_MATFUN_SQRT};
    RelnRng rng = reln_rng(9, 0);
    RelnCtx *ctx = NULL;

    (void)state;
    for (int f = 0; f < 2; f++) { /* eigenvalues -1 + 1e-14 i and -1 - 1e-14 i */
        double near[4] = {-1, -1e-14, 1e-14, -1}, out[4];

        assert_non_null(reln_jet_apply(functions[f], 2, 0, near, out, scratch));
    }
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (int n = 2; n <= N; n++)
        for (int draws = 0; draws < 8; draws++) {
            double g[SQUARE], inverse[SQUARE], m[SQUARE], a[SQUARE], x[SQUARE], out[SQUARE];

            draw(&rng, n, 1, g);
            assert_ok(ctx, reln_inverse(ctx, n, g, inverse));
            for (int i = 0; i < n * n; i++) /* eigenvalues -2 (once, twice ..), and 1 */
                m[i] = g[i] * (i % n <= draws % n ? -2 : 1);
            reln_mat_mul(n, n, n, m, inverse, a);
            for (int f = 0; f < 2; f++) {
                memcpy(x, a, sizeof x);
                assert_non_null(reln_jet_apply(functions[f], n, 0, x, out, scratch));
            }
        }
    reln_ctx_destroy(ctx);
}

static void symmetric_values_agree_with_the_library(void **state)
{
    static double (*const scalar[3])(double) = {exp, log, sqrt};
    RelnCtx *ctx = NULL;
    RelnRng rng = reln_rng(3, 0);
    double b[SQUARE], bt[SQUARE], a[SQUARE], x[SQUARE], got[SQUARE], want[SQUARE], bad;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (int f = 0; f < 3; f++)
        for (int n = 1; n <= N; n++) {
            draw(&rng, n, 1.5, b);
            reln_mat_transpose(n, n, b, bt);
            reln_mat_mul(n, n, n, b, bt, a);
            memcpy(x, a, sizeof x);
            assert_null(reln_sym_apply((RelnMatFun)f, n, x, got, scratch, &bad));
            assert_ok(ctx, reln_matrix_sym(ctx, n, a, scalar[f], want));
            assert_near(got, want, (ptrdiff_t)n * n, 1024 * n * DBL_EPSILON);
        }
    reln_ctx_destroy(ctx);
}

static void what_has_no_value_says_why(void **state)
{
    double negative[4] = {-1, 0, 0, 2}, half_turn[4] = {-1, 0, 0, -1}, zero[4] = {0},
           singular[4] = {1, 2, 2, 4}, large[4] = {800, 0, 0, 1}, out[4], bad = 0;

    (void)state;
    assert_non_null(reln_jet_apply(RELN_MATFUN_LOG, 2, 0, negative, out, scratch));
    assert_non_null(reln_jet_apply(RELN_MATFUN_SQRT, 2, 0, half_turn, out, scratch));
    assert_non_null(reln_jet_apply(RELN_MATFUN_LOG, 2, 0, zero, out, scratch));
    assert_non_null(reln_jet_apply(RELN_MATFUN_INVERSE, 2, 0, zero, out, scratch));
    assert_non_null(reln_jet_apply(RELN_MATFUN_INVERSE, 2, 0, singular, out, scratch));
    assert_non_null(reln_jet_apply(RELN_MATFUN_EXP, 2, 0, large, out, scratch));
    memcpy(negative, (double[4]){-1, 0, 0, 2}, sizeof negative);
    assert_non_null(reln_sym_apply(RELN_MATFUN_LOG, 2, negative, out, scratch, &bad));
    assert_small(bad + 1, 0);
    /* below 2 eps of the largest an eigenvalue is rounding: no logarithm, and a root of 0 */
    memcpy(negative, (double[4]){1, 0, 0, 1e-17}, sizeof negative);
    assert_non_null(reln_sym_apply(RELN_MATFUN_LOG, 2, negative, out, scratch, &bad));
    memcpy(negative, (double[4]){1, 0, 0, -1e-17}, sizeof negative);
    assert_null(reln_sym_apply(RELN_MATFUN_SQRT, 2, negative, out, scratch, &bad));
    assert_small(out[3], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_agree_with_the_library),
        cmocka_unit_test(six_derivatives_of_scalar_matrices_are_those_of_numbers),
        cmocka_unit_test(equal_and_nearly_equal_eigenvalues_need_no_care),
        cmocka_unit_test(matrices_without_eigenvectors_have_functions),
        cmocka_unit_test(turns_near_the_negative_axis_cost_what_the_condition_says),
        cmocka_unit_test(half_turns_in_any_frame_are_refused),
        cmocka_unit_test(symmetric_values_agree_with_the_library),
        cmocka_unit_test(what_has_no_value_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
