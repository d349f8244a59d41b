/* Functions of small matrices and their derivatives: against the library's own functions, against formulas. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "support/support.h"
#include "tensor/jet.h"
#include "tensor/linalg.h"

enum { N = RELN_JET_SIZE, SQUARE = N * N, ROOM = 11 * (SQUARE << RELN_JET_ORDER) };
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
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_agree_with_the_library),
        cmocka_unit_test(six_derivatives_of_scalar_matrices_are_those_of_numbers),
        cmocka_unit_test(equal_and_nearly_equal_eigenvalues_need_no_care),
        cmocka_unit_test(matrices_without_eigenvectors_have_functions),
        cmocka_unit_test(symmetric_values_agree_with_the_library),
        cmocka_unit_test(what_has_no_value_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
