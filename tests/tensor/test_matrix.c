/* Compares matrix functions with extended precision, with closed forms and with each other. */
#include "support/support.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "support/golden.h"
#include "tensor/linalg.h"

enum { MAX = 8, SQUARE = MAX * MAX };

typedef struct Fixture {
    RelnCtx *ctx;
    RelnRng rng;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);

    *state = f;
    f->rng = reln_rng(5, 0);
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

/* -- the oracle: exp by its series in extended precision, scaled to norm below 1/16 ----------- */

static void long_mul(int n, const long double *a, const long double *b, long double *c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            long double sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

static void long_exp(int n, const double *x, double *out)
{
    long double a[SQUARE], term[SQUARE], sum[SQUARE], next[SQUARE];
    int s = 0;

    frexp(16 * reln_mat_norm(n * n, x), &s);
    s = s < 0 ? 0 : s;
    for (int i = 0; i < n * n; i++) {
        a[i] = ldexpl((long double)x[i], -s);
        term[i] = sum[i] = i % (n + 1) == 0;
    }
    for (int k = 1; k < 20; k++) {
        long_mul(n, term, a, next);
        for (int i = 0; i < n * n; i++)
            sum[i] += term[i] = next[i] / k;
    }
    while (s-- > 0) {
        long_mul(n, sum, sum, next);
        memcpy(sum, next, sizeof sum);
    }
    for (int i = 0; i < n * n; i++)
        out[i] = (double)sum[i];
}

/* -- helpers ---------------------------------------------------------------------------------- */

static double distance(int n, const double *a, const double *b)
{
    double d[SQUARE];

    for (int i = 0; i < n * n; i++)
        d[i] = a[i] - b[i];
    return reln_mat_norm(n * n, d) / fmax(reln_mat_norm(n * n, b), DBL_MIN);
}

static void random_of_norm(Fixture *f, int n, double norm, double *x)
{
    double scale = 0;

    fill_normal(&f->rng, n * n, x);
    scale = norm / reln_mat_norm(n * n, x);
    for (int i = 0; i < n * n; i++)
        x[i] *= scale;
}

/* A random rotation: exp of a skew matrix by the oracle, orthogonal to rounding. */
static void random_orthogonal(Fixture *f, int n, double *q)
{
    double a[SQUARE], b[SQUARE];

    random_of_norm(f, n, 3, a);
    for (int i = 0; i < n * n; i++)
        b[i] = a[i] - a[i % n * n + i / n];
    long_exp(n, b, q);
}

/* out = q x qᵀ */
static void turn(int n, const double *q, const double *x, double *out)
{
    double qt[SQUARE], tmp[SQUARE];

    reln_mat_transpose(n, n, q, qt);
    reln_mat_mul(n, n, n, q, x, tmp);
    reln_mat_mul(n, n, n, tmp, qt, out);
}

/* Diagonal lambda + k gap, ones above it; gap 0 is a Jordan block. */
static void jordan(int n, double lambda, double gap, double *x)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[i * n + j] = i == j ? lambda + i * gap : (double)(j == i + 1);
}

/* exp squares s times, each doubling the relative error, and 2^s is about the norm; log and sqrt are backward stable.
 * A product of n terms errs by up to n eps, some ten of them follow each other. */
static double tol(int n, double norm)
{
    return 32 * n * fmax(1, norm) * DBL_EPSILON;
}

static void check_exp(Fixture *f, int n, const double *x)
{
    double got[SQUARE], want[SQUARE];

    long_exp(n, x, want);
    assert_ok(f->ctx, reln_matrix_exp(f->ctx, n, x, got));
    assert_small(distance(n, got, want), tol(n, reln_mat_norm(n * n, x)));
}

/* exp(log X) = X in extended precision, and the real part is the principal value. */
static void check_log(Fixture *f, int n, const double *x)
{
    double got[SQUARE], real[SQUARE], back[SQUARE];

    assert_ok(f->ctx, reln_matrix_log(f->ctx, n, x, got));
    long_exp(n, got, back);
    assert_small(distance(n, back, x), tol(n, reln_mat_norm(n * n, got)));
    assert_ok(f->ctx, reln_matrix_log_real(f->ctx, n, x, real));
    assert_small(distance(n, real, got), 0);
}

static void check_sqrt(Fixture *f, int n, const double *x)
{
    double got[SQUARE], back[SQUARE];

    assert_ok(f->ctx, reln_matrix_sqrt(f->ctx, n, x, got));
    reln_mat_mul(n, n, n, got, got, back);
    assert_small(distance(n, back, x), tol(n, 1));
}

/* -- against extended precision ---------------------------------------------------------------- */

static void exp_agrees_with_its_series_at_every_degree(void **state)
{
    const double norms[] = {0, 1e-12, 1e-3, 0.014, 0.2, 0.9, 2, 5, 30};
    double x[SQUARE];

    for (int n = 1; n <= MAX; n++)
        for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) {
            random_of_norm(*state, n, norms[i], x);
            check_exp(*state, n, x);
        }
}

/* exp(t J) is the turn by t. Every size of t within each approximant's reach, so that none is used beyond its own. A dozen
 * operations of two terms, and 2^s squarings that double the error of t eps: 32 eps max(1, t). */
static void exp_of_turns_is_right_at_every_size(void **state)
{
    Fixture *f = *state;

    for (double t = 1e-3; t < 40; t *= 1.07) {
        const double x[4] = {0, -t, t, 0}, want[4] = {cos(t), -sin(t), sin(t), cos(t)};
        double got[4];

        assert_ok(f->ctx, reln_matrix_exp(f->ctx, 2, x, got));
        assert_near(got, want, 4, 32 * DBL_EPSILON * fmax(1, t));
    }
}

static void log_and_sqrt_invert_exp_and_square(void **state)
{
    const double norms[] = {0, 1e-12, 1e-3, 0.2, 1, 2, 3};
    Fixture *f = *state;

    for (int n = 1; n <= MAX; n++)
        for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) {
            double x[SQUARE], e[SQUARE], got[SQUARE], cond = 0;
            random_of_norm(f, n, norms[i], x);
            long_exp(n, x, e);
            check_log(f, n, e);
            check_sqrt(f, n, e);
            assert_ok(f->ctx, reln_cond(f->ctx, n, e, &cond));
            assert_ok(f->ctx, reln_matrix_log(f->ctx, n, e, got));
            assert_near(got, x, n * n, tol(n, 1) * cond); /* ‖x‖ < pi: x is the principal value */
        }
}

static void equal_and_nearly_equal_eigenvalues_lose_nothing(void **state)
{
    const double gaps[] = {0, 1e-15, 1e-12, 1e-8, 1e-4}, lambda[] = {2, 0.5, 1};

    for (int n = 2; n <= MAX; n++)
        for (int i = 0; i < 15; i++) {
            double x[SQUARE], q[SQUARE], y[SQUARE];
            jordan(n, lambda[i / 5], gaps[i % 5], x);
            check_exp(*state, n, x);
            check_log(*state, n, x);
            check_sqrt(*state, n, x);
            if (lambda[i / 5] < 1)
                continue; /* norm of log and root is 2^n: left to the triangular form */
            random_orthogonal(*state, n, q);
            turn(n, q, x, y);
            check_exp(*state, n, y);
            check_log(*state, n, y);
        }
}

/* Scaling by powers of two is exact, so that f(D X D^-1) = D f(X) D^-1 can be asked for element by element. */
static void bad_scaling_costs_no_digits(void **state)
{
    enum { N = 4 };
    Fixture *f = *state;
    double x[SQUARE], y[SQUARE], fx[SQUARE], fy[SQUARE];

    for (int which = 0; which < 3; which++) {
        RelnStatus (*const function[])(RelnCtx *, int, const double *, double *) = {
            reln_matrix_exp, reln_matrix_log, reln_matrix_sqrt};
        random_of_norm(f, N, 2, fx);
        long_exp(N, fx, x);
        for (int i = 0; i < N * N; i++)
            y[i] = ldexp(x[i], 17 * (i / N - i % N));
        assert_ok(f->ctx, function[which](f->ctx, N, x, fx));
        assert_ok(f->ctx, function[which](f->ctx, N, y, fy));
        for (int i = 0; i < N * N; i++)
            fy[i] = ldexp(fy[i], 17 * (i % N - i / N));
        assert_near(fy, fx, N * N, tol(N, 10));
    }
}

/* -- closed forms ------------------------------------------------------------------------------ */

static void rotations_have_their_angle_as_logarithm(void **state)
{
    const double angles[] = {0, 1e-9, 0.3, 1.5, 3, 3.14159, -2};
    Fixture *f = *state;

    for (size_t i = 0; i < sizeof angles / sizeof *angles; i++) {
        const double t = angles[i], c = cos(t), s = sin(t);
        const double rotation[4] = {c, -s, s, c}, skew[4] = {0, -t, t, 0};
        double got[4];
        assert_ok(f->ctx, reln_matrix_exp(f->ctx, 2, skew, got));
        assert_near(got, rotation, 4, tol(2, t));
        assert_ok(f->ctx, reln_matrix_log(f->ctx, 2, rotation, got));
        assert_near(got, skew, 4, tol(2, 1));
    }
}

/* exp(N) = sum N^k / k!, and log of a Jordan block has -(-1/lambda)^k / k on its k-th diagonal. */
static void nilpotent_matrices_and_jordan_blocks_follow_their_finite_series(void **state)
{
    Fixture *f = *state;

    for (int n = 2; n <= MAX; n++) {
        double x[SQUARE], got[SQUARE];
        jordan(n, 0, 0, x);
        assert_ok(f->ctx, reln_matrix_exp(f->ctx, n, x, got));
        for (int i = 0; i < n * n; i++)
            assert_small(got[i] - (i % n < i / n ? 0 : 1 / tgamma(1 + i % n - i / n)), tol(n, 1));
        jordan(n, 3, 0, x);
        assert_ok(f->ctx, reln_matrix_log(f->ctx, n, x, got));
        for (int i = 0; i < n * n; i++) {
            const int k = i % n - i / n;
            const double want = k < 0 ? 0 : k == 0 ? log(3.0) : -pow(-1.0 / 3, k) / k;
            assert_small(got[i] - want, tol(n, 1));
        }
    }
}

static void diagonal_matrices_are_taken_element_by_element(void **state)
{
    const double d[] = {1e-200, 1e-20, 0.5, 1, 1 + DBL_EPSILON, 3, 1e20, 1e200};
    Fixture *f = *state;
    double x[SQUARE] = {0}, got[SQUARE];

    for (int i = 0; i < MAX; i++)
        x[i * MAX + i] = d[i];
    assert_ok(f->ctx, reln_matrix_log(f->ctx, MAX, x, got));
    for (int i = 0; i < SQUARE; i++)
        assert_small(got[i] - (i % 9 == 0 ? log(d[i / 9]) : 0), 4 * DBL_EPSILON * fabs(got[i]));
    assert_ok(f->ctx, reln_matrix_sqrt(f->ctx, MAX, x, got));
    for (int i = 0; i < SQUARE; i++)
        assert_small(got[i] - (i % 9 == 0 ? sqrt(d[i / 9]) : 0), 4 * DBL_EPSILON * fabs(got[i]));
}

/* Polynomials of one matrix commute: exp(A + B) = exp A exp B, and log of the product is A + B. */
static void commuting_matrices_add_in_the_exponent(void **state)
{
    enum { N = 5 };
    Fixture *f = *state;
    double a[SQUARE], b[SQUARE], sum[SQUARE], ea[SQUARE], eb[SQUARE], product[SQUARE], got[SQUARE];

    random_of_norm(f, N, 1, a);
    reln_mat_mul(N, N, N, a, a, b);
    for (int i = 0; i < N * N; i++)
        sum[i] = a[i] + b[i];
    assert_ok(f->ctx, reln_matrix_exp(f->ctx, N, a, ea));
    assert_ok(f->ctx, reln_matrix_exp(f->ctx, N, b, eb));
    reln_mat_mul(N, N, N, ea, eb, product);
    assert_ok(f->ctx, reln_matrix_exp(f->ctx, N, sum, got));
    assert_near(got, product, N * N, tol(N, 2));
    assert_ok(f->ctx, reln_matrix_log(f->ctx, N, product, got));
    assert_near(got, sum, N * N, tol(N, exp(4))); /* cond of the product <= exp(2 * 2) */
}

/* -- the real part where the logarithm is complex ---------------------------------------------- */

/* Upper triangular with eigenvalues -2, -2 - gap: Re log X = log(-X), however close they are. */
static void real_part_is_taken_on_one_side_of_the_cut(void **state)
{
    const double gaps[] = {0, 1e-15, 1e-12, 1e-8, 1e-4, 1};
    Fixture *f = *state;

    for (int i = 0; i < 6; i++) {
        double x[SQUARE], minus[SQUARE], got[SQUARE], want[SQUARE];
        jordan(3, -2, -gaps[i], x);
        for (int k = 0; k < 9; k++)
            minus[k] = -x[k];
        assert_ok(f->ctx, reln_matrix_log_real(f->ctx, 3, x, got));
        assert_ok(f->ctx, reln_matrix_log(f->ctx, 3, minus, want));
        assert_near(got, want, 9, tol(3, 1));
        assert_int_equal(reln_matrix_log(f->ctx, 3, x, got), RELN_ERR_NUMERIC);
        assert_non_null(strstr(reln_ctx_error(f->ctx), "is real and negative"));
    }
}

/* Re log(g X g^-1) = g (Re log X) g^-1 for eigenvalues of both signs and a complex pair. */
static void real_part_commutes_with_conjugation(void **state)
{
    enum { N = 5 };
    const double x[N * N] = {-2, 1, 0, 0, 0, 0, -3, 0, 0, 0, 0, 0, 2,
                             0,  0, 0, 0, 0, 0, -1, 0, 0, 0, 1, 0};
    Fixture *f = *state;
    double a[SQUARE], g[SQUARE], inverse[SQUARE], tmp[SQUARE], y[SQUARE], lx[SQUARE], ly[SQUARE];
    double cond = 0;

    random_of_norm(f, N, 1, a);
    long_exp(N, a, g);
    assert_ok(f->ctx, reln_cond(f->ctx, N, g, &cond));
    assert_ok(f->ctx, reln_inverse(f->ctx, N, g, inverse));
    reln_mat_mul(N, N, N, g, x, tmp);
    reln_mat_mul(N, N, N, tmp, inverse, y);
    assert_ok(f->ctx, reln_matrix_log_real(f->ctx, N, x, lx));
    assert_ok(f->ctx, reln_matrix_log_real(f->ctx, N, y, ly));
    reln_mat_mul(N, N, N, g, lx, tmp);
    reln_mat_mul(N, N, N, tmp, inverse, y);
    assert_near(ly, y, N * N, (64 + 2 * cond * cond * cond) * DBL_EPSILON);
    assert_true(distance(N, ly, lx) > 1e-3);
}

/* 156 of these 288 homographies have two negative eigenvalues; there Re log H = log(H^2) / 2. */
static void homographies_have_the_stored_logarithms(void **state)
{
    const char *solids[] = {"tetra", "octa", "icosa"};
    Fixture *f = *state;
    int n_complex = 0;

    for (int k = 0; k < 3; k++) {
        char name[2][64];
        double *h = NULL, *want = NULL, got[9], square[9], half[9];
        ptrdiff_t dims[4];
        int rank = 0;
        snprintf(name[0], sizeof name[0], "platonic/%s_H", solids[k]);
        snprintf(name[1], sizeof name[1], "platonic/%s_logH_re", solids[k]);
        assert_true(golden_load(name[0], 4, dims, &rank, &h));
        assert_true(golden_load(name[1], 4, dims, &rank, &want));
        for (ptrdiff_t i = 0; i < dims[0] * dims[1]; i++) {
            assert_ok(f->ctx, reln_matrix_log_real(f->ctx, 3, h + 9 * i, got));
            assert_small(distance(3, got, want + 9 * i), 2e-12);
            if (reln_matrix_log(f->ctx, 3, h + 9 * i, half) == RELN_OK)
                continue;
            n_complex++;
            reln_mat_mul(3, 3, 3, h + 9 * i, h + 9 * i, square);
            assert_ok(f->ctx, reln_matrix_log(f->ctx, 3, square, half));
            for (int j = 0; j < 9; j++)
                half[j] /= 2;
            assert_small(distance(3, half, got), 2e-12);
        }
        free(h);
        free(want);
    }
    assert_int_equal(n_complex, 156);
}

/* -- symmetric matrices ------------------------------------------------------------------------ */

static double reciprocal(double x)
{
    return 1 / x;
}

static void symmetric_functions_agree_with_the_general_ones(void **state)
{
    Fixture *f = *state;

    for (int n = 1; n <= MAX; n++) {
        double x[SQUARE], s[SQUARE], e[SQUARE], got[SQUARE];
        random_of_norm(f, n, 1, x);
        for (int i = 0; i < n * n; i++)
            s[i] = x[i] + x[i % n * n + i / n];
        long_exp(n, s, e);
        assert_ok(f->ctx, reln_matrix_sym(f->ctx, n, s, exp, got));
        assert_small(distance(n, got, e), tol(n, 2));
        for (int i = 0; i < n * n; i++)
            assert_true(got[i] == got[i % n * n + i / n]);
        assert_ok(f->ctx, reln_matrix_log_spd(f->ctx, n, e, got));
        assert_near(got, s, n * n, tol(n, exp(4)));
        memcpy(got, e, sizeof got);
        assert_ok(f->ctx, reln_matrix_log_spd(f->ctx, n, got, got)); /* in place */
        assert_near(got, s, n * n, tol(n, exp(4)));
    }
}

/* -- what is refused --------------------------------------------------------------------------- */

static void what_has_no_value_is_refused_with_the_reason(void **state)
{
    const double singular[4] = {1, 2, 2, 4}, negative[4] = {-1, 0, 0, 2},
                 nilpotent[4] = {0, 1, 0, 0};
    const double large[4] = {1000, 0, 0, 0}, nan[4] = {1, (double)NAN, 0, 1},
                 indefinite[4] = {1, 2, 2, 1};
    const double zero[4] = {0};
    Fixture *f = *state;
    double out[4] = {7, 7, 7, 7};

    assert_int_equal(reln_matrix_log(f->ctx, 2, singular, out), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "singular"));
    assert_int_equal(reln_matrix_log_real(f->ctx, 2, zero, out), RELN_ERR_NUMERIC);
    assert_int_equal(reln_matrix_sqrt(f->ctx, 2, negative, out), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "eigenvalue -1 is real and negative"));
    assert_int_equal(reln_matrix_sqrt(f->ctx, 2, nilpotent, out), RELN_ERR_NUMERIC);
    assert_int_equal(reln_matrix_exp(f->ctx, 2, large, out), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "overflows"));
    assert_int_equal(reln_matrix_exp(f->ctx, 2, nan, out), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "element (0,1) is nan"));
    assert_int_equal(reln_matrix_log(f->ctx, 2, nan, out), RELN_ERR_NUMERIC);
    assert_int_equal(reln_matrix_log_spd(f->ctx, 2, nan, out), RELN_ERR_NUMERIC);
    assert_int_equal(reln_matrix_log_spd(f->ctx, 2, indefinite, out), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "smallest eigenvalue is -1"));
    assert_int_equal(reln_matrix_log_spd(f->ctx, 2, singular, out), RELN_ERR_NUMERIC);
    assert_int_equal(reln_matrix_sym(f->ctx, 2, zero, reciprocal, out), RELN_ERR_NUMERIC);
    assert_int_equal(reln_matrix_sym(f->ctx, 2, zero, NULL, out), RELN_ERR_ARG);
    assert_int_equal(reln_matrix_exp(f->ctx, -1, zero, out), RELN_ERR_ARG);
    for (int i = 0; i < 4; i++)
        assert_true(out[i] == 7.0);
    assert_ok(f->ctx, reln_matrix_log_spd(f->ctx, 2, (double[4]){1e-40, 0, 0, 1}, out));
    assert_small(out[0] / log(1e-40) - 1, DBL_EPSILON);
    assert_ok(f->ctx, reln_matrix_sqrt(f->ctx, 2, zero, out));
    assert_near(out, zero, 4, 0);
    assert_ok(f->ctx, reln_matrix_exp(f->ctx, 0, zero, out));
}

static RelnStatus every_function(RelnCtx *ctx)
{
    double x[9] = {2, 1, 0, 0, 2, 1, 1, 0, 3};

    RELN_TRY(reln_matrix_log(ctx, 3, x, x));
    RELN_TRY(reln_matrix_exp(ctx, 3, x, x));
    RELN_TRY(reln_matrix_log_real(ctx, 3, x, x));
    RELN_TRY(reln_matrix_exp(ctx, 3, x, x));
    RELN_TRY(reln_matrix_sqrt(ctx, 3, x, x));
    RELN_TRY(reln_matrix_sym(ctx, 3, x, exp, x));
    return reln_matrix_log_spd(ctx, 3, x, x);
}

static void running_out_of_memory_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(every_function) > 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_agrees_with_its_series_at_every_degree),
        cmocka_unit_test(exp_of_turns_is_right_at_every_size),
        cmocka_unit_test(log_and_sqrt_invert_exp_and_square),
        cmocka_unit_test(equal_and_nearly_equal_eigenvalues_lose_nothing),
        cmocka_unit_test(bad_scaling_costs_no_digits),
        cmocka_unit_test(rotations_have_their_angle_as_logarithm),
        cmocka_unit_test(nilpotent_matrices_and_jordan_blocks_follow_their_finite_series),
        cmocka_unit_test(diagonal_matrices_are_taken_element_by_element),
        cmocka_unit_test(commuting_matrices_add_in_the_exponent),
        cmocka_unit_test(real_part_is_taken_on_one_side_of_the_cut),
        cmocka_unit_test(real_part_commutes_with_conjugation),
        cmocka_unit_test(homographies_have_the_stored_logarithms),
        cmocka_unit_test(symmetric_functions_agree_with_the_general_ones),
        cmocka_unit_test(what_has_no_value_is_refused_with_the_reason),
        cmocka_unit_test(running_out_of_memory_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
