/* Tests that decompositions reproduce their matrix, and refuse matrices that have none. */
#include "support/support.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/golden.h"
#include "tensor/linalg.h"

enum { MAX = 40 };

typedef struct Fixture {
    RelnCtx *ctx;
    RelnRng rng;
    double a[MAX * MAX], b[MAX * MAX], c[MAX * MAX], d[MAX * MAX], w[MAX];
    double complex za[MAX * MAX], zb[MAX * MAX], zc[MAX * MAX], zd[MAX * MAX], zw[MAX];
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);

    *state = f;
    f->rng = reln_rng(11, 0);
    return f && reln_ctx_create(NULL, &f->ctx) == RELN_OK ? 0 : 1;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    const bool clean = reln_ctx_live_blocks(f->ctx) == 0;

    reln_ctx_destroy(f->ctx);
    free(f);
    return clean ? 0 : 1;
}

/* Backward stability: a decomposition reproduces its matrix up to a small multiple of n eps. */
static double tol(ptrdiff_t n)
{
    return 64 * (double)(n + 1) * DBL_EPSILON;
}

static void random_symmetric(Fixture *f, ptrdiff_t n, double *a)
{
    fill_normal(&f->rng, n * n, a);
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < i; j++)
            a[i * n + j] = a[j * n + i];
}

static void random_complex(Fixture *f, ptrdiff_t n, double complex *a)
{
    for (ptrdiff_t i = 0; i < n * n; i++)
        a[i] = reln_rng_normal(&f->rng) + reln_rng_normal(&f->rng) * (double complex)I;
}

/* c = a b or, with adjoint, a bᴴ. */
static void complex_mul(ptrdiff_t n, bool adjoint, const double complex *a, const double complex *b,
                        double complex *c)
{
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < n; j++) {
            c[i * n + j] = 0;
            for (ptrdiff_t k = 0; k < n; k++)
                c[i * n + j] += a[i * n + k] * (adjoint ? conj(b[j * n + k]) : b[k * n + j]);
        }
}

static void products_agree_with_blas_in_all_four_transpositions(void **state)
{
    enum { M = 5, K = 7, N = 3 };
    Fixture *f = *state;
    double at[M * K], bt[K * N];

    fill_normal(&f->rng, M * K, f->a);
    fill_normal(&f->rng, K * N, f->b);
    reln_mat_transpose(M, K, f->a, at);
    reln_mat_transpose(K, N, f->b, bt);
    reln_mat_mul(M, K, N, f->a, f->b, f->c);
    for (int flags = 0; flags < 4; flags++) {
        const bool ta = flags & 1, tb = flags & 2;
        for (int i = 0; i < M * N; i++)
            f->d[i] = 1;
        reln_mat_gemm(ta, tb, M, N, K, 2, ta ? at : f->a, ta ? M : K, tb ? bt : f->b, tb ? K : N,
                      -1, f->d, N);
        for (int i = 0; i < M * N; i++)
            assert_small(f->d[i] - (2 * f->c[i] - 1), tol(K) * 10);
    }
}

static void the_trace_counts_every_diagonal_element_once(void **state)
{
    const double a[9] = {1, 100, 100, 100, 20, 100, 100, 100, 300};

    (void)state;
    assert_true(reln_mat_trace(3, a) == 321);
    assert_true(reln_mat_trace(1, a) == 1);
    assert_true(reln_mat_trace(0, a) == 0);
}

static void norm_neither_overflows_nor_underflows(void **state)
{
    const double big[2] = {3e300, 4e300}, small[2] = {3e-310, 4e-310}, plain[2] = {3, 4};
    const double bad[2] = {(double)NAN, 0}, infinite[2] = {-(double)INFINITY, 1};

    (void)state;
    assert_small(reln_mat_norm(2, big) / 5e300 - 1, 4 * DBL_EPSILON);
    assert_small(reln_mat_norm(2, small) / 5e-310 - 1, 1e-13); /* subnormal: fewer bits */
    assert_true(reln_mat_norm(2, plain) == 5.0);
    assert_true(reln_mat_norm(0, plain) == 0.0);
    assert_true(isnan(reln_mat_norm(2, bad)));
    assert_true(isinf(reln_mat_norm(2, infinite)));
}

/* a = u diag(s) vt, orthonormal factors, ordered values; any shape, with and without full_v. */
static void check_svd(Fixture *f, ptrdiff_t m, ptrdiff_t n, bool full_v)
{
    const ptrdiff_t r = m < n ? m : n, rows = full_v ? n : r;
    double u[MAX * MAX], vt[MAX * MAX];

    fill_normal(&f->rng, m * n, f->a);
    assert_ok(f->ctx, reln_svd(f->ctx, m, n, f->a, full_v, f->w, u, vt));
    for (ptrdiff_t i = 0; i < m; i++)
        for (ptrdiff_t j = 0; j < r; j++)
            f->b[i * r + j] = u[i * r + j] * f->w[j];
    reln_mat_mul(m, r, n, f->b, vt, f->c);
    assert_near(f->c, f->a, m * n, tol(m + n));
    reln_mat_transpose(rows, n, vt, f->b);
    reln_mat_mul(rows, n, rows, vt, f->b, f->c);
    reln_mat_identity(rows, f->d);
    assert_near(f->c, f->d, rows * rows, tol(n));
    for (ptrdiff_t i = 0; i < r; i++)
        assert_true(f->w[i] >= 0 && (i == 0 || f->w[i] <= f->w[i - 1]));
    /* the null space is the rows after the r-th */
    reln_mat_mul(m, n, rows, f->a, f->b, f->c);
    for (ptrdiff_t i = 0; i < m; i++)
        for (ptrdiff_t j = r; j < rows; j++)
            assert_small(f->c[i * rows + j], tol(m + n) * f->w[0]);
}

static void singular_values_rebuild_tall_square_and_wide_matrices(void **state)
{
    const ptrdiff_t sizes[][2] = {{1, 1}, {7, 3}, {3, 7}, {6, 6}, {40, 5}, {5, 40}, {1, 9}, {9, 1}};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_svd(*state, sizes[i][0], sizes[i][1], false);
        check_svd(*state, sizes[i][0], sizes[i][1], true);
    }
}

static void singular_values_alone_are_the_same_values(void **state)
{
    Fixture *f = *state;
    double s[5], vt[25];

    fill_normal(&f->rng, 7 * 5, f->a);
    assert_ok(f->ctx, reln_svd(f->ctx, 7, 5, f->a, false, s, NULL, NULL));
    assert_ok(f->ctx, reln_svd(f->ctx, 7, 5, f->a, true, f->w, NULL, vt));
    assert_near(f->w, s, 5, tol(12));
    assert_ok(f->ctx, reln_svd(f->ctx, 0, 3, f->a, true, s, NULL, vt));
    assert_true(vt[0] == 1.0 && vt[4] == 1.0 && vt[1] == 0.0);
}

static void tall_singular_value_problem_is_fast(void **state)
{
    enum { M = 15625, N = 101 };
    Fixture *f = *state;
    double *a = calloc((size_t)M * N, sizeof *a), *vt = calloc((size_t)N * N, sizeof *vt), s[N];
    const clock_t start = clock();

    assert_true(a && vt);
    fill_normal(&f->rng, (ptrdiff_t)M * N, a);
    for (int i = 0; i < M; i++)
        a[i * N + 100] = a[i * N]; /* one exact null direction: e_0 - e_100 */
    assert_ok(f->ctx, reln_svd(f->ctx, M, N, a, true, s, NULL, vt));
    assert_small(s[N - 1] / s[0], tol(N));
    assert_true(s[N - 2] / s[0] > 0.5);
    assert_small(vt[100 * N] + vt[100 * N + 100], 1e-12);
    assert_small(fabs(vt[100 * N]) - sqrt(0.5), 1e-12);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 20);
    free(a);
    free(vt);
}

static void symmetric_eigenvectors_rebuild_the_matrix(void **state)
{
    Fixture *f = *state;

    for (ptrdiff_t n = 0; n <= 30; n += n < 5 ? 1 : 25) {
        random_symmetric(f, n, f->a);
        assert_ok(f->ctx, reln_eigh(f->ctx, n, f->a, f->w, f->b));
        reln_mat_transpose(n, n, f->b, f->c);
        for (ptrdiff_t i = 0; i < n * n; i++)
            f->b[i] *= f->w[i % n];
        reln_mat_mul(n, n, n, f->b, f->c, f->d);
        assert_near(f->d, f->a, n * n, tol(n));
        for (ptrdiff_t i = 1; i < n; i++)
            assert_true(f->w[i] >= f->w[i - 1]);
    }
}

static void hermitian_eigenvectors_rebuild_the_matrix(void **state)
{
    Fixture *f = *state;

    for (ptrdiff_t n = 1; n <= 30; n += n < 4 ? 1 : 26) {
        random_complex(f, n, f->zb);
        complex_mul(n, true, f->zb, f->zb, f->za);
        assert_ok(f->ctx, reln_eigh_complex(f->ctx, n, f->za, f->w, f->zb));
        for (ptrdiff_t i = 0; i < n * n; i++)
            f->zc[i] = f->zb[i] * f->w[i % n];
        complex_mul(n, true, f->zc, f->zb, f->zd);
        for (ptrdiff_t i = 0; i < n * n; i++)
            assert_small(cabs(f->zd[i] - f->za[i]), tol(n) * f->w[n - 1]);
    }
}

static void general_eigenvectors_satisfy_their_equation(void **state)
{
    Fixture *f = *state;

    for (ptrdiff_t n = 1; n <= 8; n++) {
        bool complex_pair = false;
        fill_normal(&f->rng, n * n, f->a);
        assert_ok(f->ctx, reln_eig(f->ctx, n, f->a, f->zw, f->za));
        for (ptrdiff_t j = 0; j < n; j++) {
            double length = 0;
            for (ptrdiff_t i = 0; i < n; i++) {
                double complex residual = -f->zw[j] * f->za[i * n + j];
                for (ptrdiff_t k = 0; k < n; k++)
                    residual += f->a[i * n + k] * f->za[k * n + j];
                assert_small(cabs(residual), tol(n) * reln_mat_norm(n * n, f->a));
                length += creal(f->za[i * n + j] * conj(f->za[i * n + j]));
            }
            assert_small(length - 1, tol(n));
            complex_pair |= cimag(f->zw[j]) != 0;
        }
        assert_true(complex_pair || n < 5);
    }
}

static void real_schur_form_has_standard_blocks_and_rebuilds_the_matrix(void **state)
{
    Fixture *f = *state;

    for (ptrdiff_t n = 1; n <= 8; n++) {
        fill_normal(&f->rng, n * n, f->a);
        assert_ok(f->ctx, reln_schur_real(f->ctx, n, f->a, f->b, f->c));
        for (ptrdiff_t i = 0; i + 1 < n; i++) {
            const double below = f->b[(i + 1) * n + i];
            assert_true(below == 0 || (below * f->b[i * n + i + 1] < 0 &&
                                       f->b[i * n + i] == f->b[(i + 1) * n + i + 1]));
            for (ptrdiff_t j = 0; j < i; j++)
                assert_true(f->b[(i + 1) * n + j] == 0.0);
        }
        reln_mat_mul(n, n, n, f->c, f->b, f->d);
        reln_mat_transpose(n, n, f->c, f->b);
        reln_mat_mul(n, n, n, f->d, f->b, f->c);
        assert_near(f->c, f->a, n * n, tol(n));
    }
}

static void solutions_and_inverses_satisfy_their_equations(void **state)
{
    Fixture *f = *state;

    for (ptrdiff_t n = 1; n <= 20; n++) {
        double cond = 0;
        fill_normal(&f->rng, n * n, f->a);
        fill_normal(&f->rng, n * 3, f->b);
        assert_ok(f->ctx, reln_cond(f->ctx, n, f->a, &cond));
        memcpy(f->c, f->b, sizeof f->b);
        assert_ok(f->ctx, reln_solve(f->ctx, n, 3, f->a, f->c, f->c)); /* x may be b */
        reln_mat_mul(n, n, 3, f->a, f->c, f->d);
        assert_near(f->d, f->b, n * 3, tol(n) * cond);
        assert_ok(f->ctx, reln_inverse(f->ctx, n, f->a, f->b));
        reln_mat_mul(n, n, n, f->a, f->b, f->c);
        reln_mat_identity(n, f->d);
        assert_near(f->c, f->d, n * n, tol(n) * cond);
    }
}

static void complex_inverse_satisfies_its_equation(void **state)
{
    Fixture *f = *state;

    random_complex(f, 6, f->za);
    assert_ok(f->ctx, reln_inverse_complex(f->ctx, 6, f->za, f->zb));
    complex_mul(6, false, f->za, f->zb, f->zc);
    for (int i = 0; i < 36; i++)
        assert_small(cabs(f->zc[i] - (i % 7 == 0)), 1e-11);
}

static void bad_scaling_is_not_taken_for_singularity(void **state)
{
    Fixture *f = *state;
    const double a[9] = {1e-200, 2e-200, 0, 3e100, 4e100, 0, 0, 0, 1e-30};

    assert_ok(f->ctx, reln_inverse(f->ctx, 3, a, f->b));
    assert_small(f->b[0] / -2e200 - 1, 1e-14);
    assert_small(f->b[4] / -5e-101 - 1, 1e-14);
    assert_small(f->b[8] / 1e30 - 1, 1e-14);
}

static void singular_matrices_are_refused(void **state)
{
    Fixture *f = *state;
    const double a[4] = {1, 2, 2, 4}, zero[4] = {0}, near[4] = {1, 1, 1, 1 + DBL_EPSILON};
    double cond = 0;

    assert_int_equal(reln_inverse(f->ctx, 2, a, f->b), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "2x2 matrix is singular"));
    assert_int_equal(reln_inverse(f->ctx, 2, zero, f->b), RELN_ERR_NUMERIC);
    assert_int_equal(reln_inverse(f->ctx, 2, near, f->b), RELN_ERR_NUMERIC);
    assert_ok(f->ctx, reln_cond(f->ctx, 2, zero, &cond));
    assert_true(isinf(cond));
}

static void cholesky_factor_is_lower_and_rebuilds_the_matrix(void **state)
{
    Fixture *f = *state;

    fill_normal(&f->rng, 36, f->b);
    reln_mat_transpose(6, 6, f->b, f->c);
    reln_mat_mul(6, 6, 6, f->b, f->c, f->a);
    assert_ok(f->ctx, reln_cholesky(f->ctx, 6, f->a, f->b));
    for (int i = 0; i < 36; i++)
        assert_true(i / 6 >= i % 6 || f->b[i] == 0.0);
    reln_mat_transpose(6, 6, f->b, f->c);
    reln_mat_mul(6, 6, 6, f->b, f->c, f->d);
    assert_near(f->d, f->a, 36, tol(6));
    f->a[7] = -1;
    assert_int_equal(reln_cholesky(f->ctx, 6, f->a, f->b), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "leading minor 2"));
}

/* Rank two of three, in many scalings: refused. Badly scaled but definite: not. */
static void semidefinite_matrices_are_refused_in_any_scaling(void **state)
{
    Fixture *f = *state;

    for (int i = 0; i < 50; i++) {
        fill_normal(&f->rng, 6, f->a);
        for (int k = 0; k < 6; k++)
            f->a[k] = ldexp(f->a[k], 20 * (k / 2) * (i % 3 - 1));
        reln_mat_transpose(3, 2, f->a, f->b);
        reln_mat_mul(3, 2, 3, f->a, f->b, f->c);
        assert_int_equal(reln_cholesky(f->ctx, 3, f->c, f->d), RELN_ERR_NUMERIC);
        for (int k = 0; k < 9; k += 4)
            f->c[k] *= 2;
        assert_ok(f->ctx, reln_cholesky(f->ctx, 3, f->c, f->d));
    }
}

static void not_a_number_is_refused_everywhere(void **state)
{
    Fixture *f = *state;
    const double bad[2] = {(double)NAN, (double)INFINITY};

    for (int i = 0; i < 2; i++) {
        reln_mat_identity(3, f->a);
        f->a[5] = bad[i];
        for (int j = 0; j < 9; j++)
            f->za[j] = f->a[j];
        assert_int_equal(reln_svd(f->ctx, 3, 3, f->a, false, f->w, NULL, NULL), RELN_ERR_NUMERIC);
        assert_non_null(strstr(reln_ctx_error(f->ctx), "element (1,2)"));
        assert_int_equal(reln_eigh(f->ctx, 3, f->a, f->w, f->b), RELN_ERR_NUMERIC);
        assert_int_equal(reln_eigh_complex(f->ctx, 3, f->za, f->w, f->zb), RELN_ERR_NUMERIC);
        assert_non_null(strstr(reln_ctx_error(f->ctx), "element (1,2)"));
        assert_int_equal(reln_eig(f->ctx, 3, f->a, f->zw, f->zb), RELN_ERR_NUMERIC);
        assert_int_equal(reln_schur_real(f->ctx, 3, f->a, f->b, f->c), RELN_ERR_NUMERIC);
        assert_int_equal(reln_inverse(f->ctx, 3, f->a, f->b), RELN_ERR_NUMERIC);
        assert_int_equal(reln_inverse_complex(f->ctx, 3, f->za, f->zb), RELN_ERR_NUMERIC);
        assert_int_equal(reln_cholesky(f->ctx, 3, f->a, f->b), RELN_ERR_NUMERIC);
        assert_int_equal(reln_cond(f->ctx, 3, f->a, f->w), RELN_ERR_NUMERIC);
    }
    assert_int_equal(reln_svd(f->ctx, -1, 3, f->a, false, f->w, NULL, NULL), RELN_ERR_ARG);
}

static RelnStatus every_decomposition(RelnCtx *ctx)
{
    const double a[9] = {4, 1, 0, 1, 3, 1, 0, 1, 2};
    double b[9], s[3], vt[9];
    double complex za[9], zb[9], zc[9];

    for (int i = 0; i < 9; i++)
        za[i] = a[i];
    RELN_TRY(reln_svd(ctx, 3, 3, a, false, s, NULL, vt));
    RELN_TRY(reln_eigh(ctx, 3, a, s, b));
    RELN_TRY(reln_eigh_complex(ctx, 3, za, s, zb));
    RELN_TRY(reln_eig(ctx, 3, a, zb, zc));
    RELN_TRY(reln_schur_real(ctx, 3, a, b, vt));
    RELN_TRY(reln_inverse(ctx, 3, a, b));
    RELN_TRY(reln_inverse_complex(ctx, 3, za, zb));
    RELN_TRY(reln_cond(ctx, 3, a, s));
    return reln_cholesky(ctx, 3, a, b);
}

static void running_out_of_memory_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(every_decomposition) > 8);
}

static void reference_arrays_are_there_and_absent_ones_are_told(void **state)
{
    ptrdiff_t dims[2];
    double *values = NULL;
    int rank = 0;

    (void)state;
    assert_false(golden_load("no/such_array", 2, dims, &rank, &values));
    assert_true(golden_load("lorentz/p", 2, dims, &rank, &values));
    assert_int_equal(rank, 2);
    assert_int_equal(dims[1], 4);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_agree_with_blas_in_all_four_transpositions),
        cmocka_unit_test(the_trace_counts_every_diagonal_element_once),
        cmocka_unit_test(norm_neither_overflows_nor_underflows),
        cmocka_unit_test(singular_values_rebuild_tall_square_and_wide_matrices),
        cmocka_unit_test(singular_values_alone_are_the_same_values),
        cmocka_unit_test(tall_singular_value_problem_is_fast),
        cmocka_unit_test(symmetric_eigenvectors_rebuild_the_matrix),
        cmocka_unit_test(hermitian_eigenvectors_rebuild_the_matrix),
        cmocka_unit_test(general_eigenvectors_satisfy_their_equation),
        cmocka_unit_test(real_schur_form_has_standard_blocks_and_rebuilds_the_matrix),
        cmocka_unit_test(solutions_and_inverses_satisfy_their_equations),
        cmocka_unit_test(complex_inverse_satisfies_its_equation),
        cmocka_unit_test(bad_scaling_is_not_taken_for_singularity),
        cmocka_unit_test(singular_matrices_are_refused),
        cmocka_unit_test(cholesky_factor_is_lower_and_rebuilds_the_matrix),
        cmocka_unit_test(semidefinite_matrices_are_refused_in_any_scaling),
        cmocka_unit_test(not_a_number_is_refused_everywhere),
        cmocka_unit_test(running_out_of_memory_is_reported_and_leaks_nothing),
        cmocka_unit_test(reference_arrays_are_there_and_absent_ones_are_told),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
