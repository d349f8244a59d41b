/* Tests functions of matrices in graphs: values, gradients at equal eigenvalues, graphs that are refused, and
 * runs that fail. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "graph/fixture.h"
#include "tensor/linalg.h"

enum { C = 2, SAMPLES = 5 };

/* Coordinates in gl(n) are the elements of the matrix: the two reps are one. */
static RelnNode *matrices(Fixture *f, const char *name, int n)
{
    return reln_input(f->graph, name, RELN_SAMPLES, (RelnDims){.k = n * n, .c = C}, f->adjoint,
                      RELN_DEFAULT);
}

static void assert_message(Fixture *f, const char *words)
{
    if (!strstr(reln_ctx_error(f->ctx), words) || strchr(reln_ctx_error(f->ctx), '\n')) {
        print_error("the message is: %s\nwanted in it: %s\n", reln_ctx_error(f->ctx), words);
        fail();
    }
}

static void assert_refused(Fixture *f, const RelnNode *node, RelnStatus status, const char *words)
{
    assert_null(node);
    assert_int_equal(reln_graph_status(f->graph), status);
    assert_message(f, words);
    fixture_clear(f);
}

/* Matrix c of sample s among numbers (SAMPLES, n n, C). */
static void take(const double *x, int n, int s, int c, double *out)
{
    for (int i = 0; i < n * n; i++)
        out[i] = x[(s * n * n + i) * C + c];
}

static void put(double *x, int n, int s, int c, const double *value)
{
    for (int i = 0; i < n * n; i++)
        x[(s * n * n + i) * C + c] = value[i];
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

typedef RelnNode *Builder(RelnGraph *g, RelnNode *x);
typedef RelnStatus Library(RelnCtx *ctx, int n, const double *x, double *out);

static RelnStatus library_inverse(RelnCtx *ctx, int n, const double *x, double *out)
{
    return reln_inverse(ctx, n, x, out);
}

static RelnStatus library_symexp(RelnCtx *ctx, int n, const double *x, double *out)
{
    return reln_matrix_sym(ctx, n, x, exp, out);
}

static RelnStatus library_symsqrt(RelnCtx *ctx, int n, const double *x, double *out)
{
    return reln_matrix_sym(ctx, n, x, sqrt, out);
}

static const struct {
    Builder *build;
    Library *library;
} functions[] = {{reln_matexp, reln_matrix_exp},   {reln_matlog, reln_matrix_log},
                 {reln_matsqrt, reln_matrix_sqrt}, {reln_matinv, library_inverse},
                 {reln_symexp, library_symexp},    {reln_symlog, reln_matrix_log_spd},
                 {reln_symsqrt, library_symsqrt}};

/* Near 1, condition about 3; rounding as in the tests of the kernels, 1024 n eps. */
static void every_function_agrees_with_the_library(void **state)
{
    enum { N = 3 };
    RelnRng rng = reln_rng(1, 0);

    (void)state;
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        Fixture f;
        RelnPlan *plan = NULL;
        double x[SAMPLES * N * N * C], a[N * N], got[N * N], want[N * N];

        fixture_init(&f, "gl:3", "so:3", RELN_F64);
        reln_output(f.graph, "z", functions[k].build(f.graph, matrices(&f, "x", N)));
        assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
        fill_normal(&rng, SAMPLES * N * N * C, x);
        for (int i = 0; i < SAMPLES * N * N * C; i++)
            x[i] = x[i] / 8 + (i / C % (N * N) % (N + 1) == 0);
        assert_ok(f.ctx, reln_plan_bind(plan, "x", x, RELN_F64));
        assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = SAMPLES}));
        for (int s = 0; s < SAMPLES; s++)
            for (int c = 0; c < C; c++) {
                take(x, N, s, c, a);
                take(reln_plan_output(plan, "z", NULL), N, s, c, got);
                assert_ok(f.ctx, functions[k].library(f.ctx, N, a, want));
                assert_near(got, want, N * N, 1024 * N * DBL_EPSILON);
            }
        reln_plan_destroy(plan);
        fixture_clear(&f);
    }
}

static void matmul_is_the_product_of_matrices(void **state)
{
    Fixture f;
    RelnPlan *plan = NULL;
    const double a[4] = {1, 2, 3, 4}, b[4] = {0, 1, -1, 2}, want[4] = {-2, 5, -4, 11};
    double x[4 * C], y[4 * C], got[4];

    (void)state;
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    reln_output(f.graph, "z", reln_matmul(f.graph, 2, matrices(&f, "x", 2), matrices(&f, "y", 2)));
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    for (int c = 0; c < C; c++) {
        put(x, 2, 0, c, a);
        put(y, 2, 0, c, b);
    }
    assert_ok(f.ctx, reln_plan_bind(plan, "x", x, RELN_F64));
    assert_ok(f.ctx, reln_plan_bind(plan, "y", y, RELN_F64));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 1}));
    for (int c = 0; c < C; c++) {
        take(reln_plan_output(plan, "z", NULL), 2, 0, c, got);
        assert_near(got, want, 4, 0);
    }
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

/* ---- gradients at equal eigenvalues ---------------------------------------------------------------------------- */

static double divided(const char *f, double a, double b)
{
    if (strcmp(f, "log") == 0)
        return a == b ? 1 / a : log1p((b - a) / a) / (b - a);
    if (strcmp(f, "sqrt") == 0)
        return 1 / (sqrt(a) + sqrt(b));
    return a == b ? exp(a) : exp(a) * expm1(b - a) / (b - a);
}

/* Q (D o (Q^T sym(G) Q)) Q^T, D_ij = f[a_i, a_j] (Daleckii and Krein). */
static void gradient_by_formula(const char *f, const double *a, const double *q, const double *g,
                                double *out)
{
    double qt[9], sym[9], t[9], u[9];

    reln_mat_transpose(3, 3, q, qt);
    for (int i = 0; i < 9; i++)
        sym[i] = 0.5 * (g[i] + g[i % 3 * 3 + i / 3]);
    reln_mat_mul(3, 3, 3, qt, sym, t);
    reln_mat_mul(3, 3, 3, t, q, u);
    for (int i = 0; i < 9; i++)
        u[i] *= divided(f, a[i / 3], a[i % 3]);
    reln_mat_mul(3, 3, 3, q, u, t);
    reln_mat_mul(3, 3, 3, t, qt, out);
}

static void check_gradient(const char *name, Builder *build, double gap)
{
    Fixture f;
    RelnPlan *plan = NULL;
    RelnNode *x, *z, *r, *grad = NULL;
    /* a rotation by 3-4-5 and 5-12-13 angles, orthogonal to rounding */
    const double q[9] = {0.6,           -0.8,          0,
                         0.8 * 5 / 13,  0.6 * 5 / 13,  -12.0 / 13,
                         0.8 * 12 / 13, 0.6 * 12 / 13, 5.0 / 13};
    const double a[3] = {0.8, 0.8 + gap, 0.8 + 2 * gap};
    double values[9 * C], cot[9 * C], qa[9], qt[9], s[9], g[9], got[9], want[9];
    RelnRng rng = reln_rng(7, 0);

    fixture_init(&f, "gl:3", "so:3", RELN_F64);
    x = matrices(&f, "x", 3);
    z = build(f.graph, x);
    r = reln_input(f.graph, "r", RELN_SAMPLES, (RelnDims){.k = 9, .c = C},
                   reln_rep_dual(reln_rep_matrix(f.group)), RELN_DEFAULT);
    assert_true(reln_vjp(f.graph, 1, &z, &r, 1, &x, &grad));
    reln_output(f.graph, "g", grad);
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    for (int i = 0; i < 9; i++)
        qa[i] = q[i] * a[i % 3];
    reln_mat_transpose(3, 3, q, qt);
    reln_mat_mul(3, 3, 3, qa, qt, s);
    fill_normal(&rng, 9, g);
    for (int c = 0; c < C; c++) {
        put(values, 3, 0, c, s);
        put(cot, 3, 0, c, g);
    }
    assert_ok(f.ctx, reln_plan_bind(plan, "x", values, RELN_F64));
    assert_ok(f.ctx, reln_plan_bind(plan, "r", cot, RELN_F64));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 1}));
    take(reln_plan_output(plan, "g", NULL), 3, 0, 1, got);
    gradient_by_formula(name, a, q, g, want);
    /* s is known to 8 eps, and the derivative of the gradient is at most 2 / 0.8^2 */
    assert_near(got, want, 9, 1024 * 3 * DBL_EPSILON);
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

static void gradients_are_right_at_equal_and_nearly_equal_eigenvalues(void **state)
{
    static const double gaps[] = {0, 1e-12, 1e-8, 1e-3, 0.5};

    (void)state;
    for (int i = 0; i < 5; i++) {
        check_gradient("log", reln_symlog, gaps[i]);
        check_gradient("exp", reln_symexp, gaps[i]);
        check_gradient("sqrt", reln_symsqrt, gaps[i]);
    }
}

/* ---- what does not build ---------------------------------------------------------------------------------------- */

static void arguments_that_are_no_matrices_are_refused(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    assert_refused(&f,
                   reln_matexp(f.graph, reln_input(f.graph, "v", RELN_SAMPLES, (RelnDims){.k = 3},
                                                   reln_rep_vector(f.group), RELN_DEFAULT)),
                   RELN_ERR_REP, "matexp: its argument transforms as vector");
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    assert_refused(&f,
                   reln_matinv(f.graph, reln_input(f.graph, "s", RELN_SAMPLES, (RelnDims){.k = 9},
                                                   NULL, RELN_DEFAULT)),
                   RELN_ERR_REP, "matinv");
    /* the dual of a matrix is none */
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    assert_refused(
        &f,
        reln_matlog(f.graph, reln_input(f.graph, "d", RELN_SAMPLES, (RelnDims){.k = 9},
                                        reln_rep_dual(reln_rep_matrix(f.group)), RELN_DEFAULT)),
        RELN_ERR_REP, "matlog");
}

static void symmetric_functions_want_rotations(void **state)
{
    static const char *const groups[] = {"gl:3", "sl:3", "so:1,2"};
    Fixture f;

    (void)state;
    for (int i = 0; i < 3; i++) {
        fixture_init(&f, "gl:3", groups[i], RELN_F64);
        assert_refused(&f, reln_symlog(f.graph, matrices(&f, "x", 3)), RELN_ERR_REP,
                       "not orthogonal");
    }
    fixture_init(&f, "gl:3", "o:3", RELN_F64);
    assert_non_null(reln_symlog(f.graph, matrices(&f, "x", 3)));
    fixture_clear(&f);
}

static void coordinates_that_do_not_multiply_are_refused_by_matmul(void **state)
{
    Fixture f;
    RelnNode *x;

    (void)state;
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    x = reln_input(f.graph, "v", RELN_SAMPLES, (RelnDims){.k = 4},
                   reln_rep_product(reln_rep_vector(f.group), reln_rep_vector(f.group)),
                   RELN_DEFAULT);
    assert_refused(&f, reln_matmul(f.graph, 2, x, x), RELN_ERR_REP, "not equivariant");
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    x = matrices(&f, "x", 2);
    assert_refused(&f, reln_matmul(f.graph, 0, x, x), RELN_ERR_ARG, "matmul: n is 0");
}

/* The derivative of <y, r>, r a new input, in x. */
static RelnNode *next_derivative(Fixture *f, int order, RelnNode *x, RelnNode *y)
{
    const char name[2] = {(char)('a' + order), 0};
    RelnNode *grad = NULL;
    RelnNode *r = reln_input(f->graph, name, RELN_SAMPLES, reln_node_dims(y),
                             reln_rep_dual(reln_node_rep(y)), RELN_DEFAULT);

    reln_grad(f->graph, reln_sum_all(f->graph, reln_pair(f->graph, y, r)), 1, &x, &grad);
    return grad;
}

static void the_seventh_derivative_is_one_too_many(void **state)
{
    Fixture f;
    RelnNode *x, *y;

    (void)state;
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    x = matrices(&f, "x", 2);
    y = reln_matexp(f.graph, x);
    for (int order = 0; order < 6; order++) {
        y = next_derivative(&f, order, x, y);
        assert_ok(f.ctx, reln_graph_status(f.graph));
        assert_non_null(y);
    }
    assert_refused(&f, next_derivative(&f, 6, x, y), RELN_ERR_UNSUPPORTED,
                   "matexp: its derivative of order 7 is wanted, there are 6");
}

/* ---- what does not run ------------------------------------------------------------------------------------------ */

/* All matrices are 1 but the one of sample 3, channel 1. */
static void assert_fails(Builder *build, bool grad, const double *bad, const char *words)
{
    const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    Fixture f;
    RelnPlan *plan = NULL;
    RelnNode *x, *z;
    double values[SAMPLES * 9 * C], zeros[SAMPLES * 9 * C] = {0};

    fixture_init(&f, "gl:3", "so:3", RELN_F64);
    x = matrices(&f, "x", 3);
    z = build(f.graph, x);
    reln_output(f.graph, "z", grad ? next_derivative(&f, 0, x, z) : z);
    assert_ok(f.ctx, reln_plan_create(f.graph, &(RelnPlanOptions){.shard = 2}, &plan));
    for (int s = 0; s < SAMPLES; s++)
        for (int c = 0; c < C; c++)
            put(values, 3, s, c, s == 3 && c == 1 ? bad : one);
    assert_ok(f.ctx, reln_plan_bind(plan, "x", values, RELN_F64));
    if (grad)
        assert_ok(f.ctx, reln_plan_bind(plan, "a", zeros, RELN_F64));
    assert_int_equal(reln_plan_run(plan, &(RelnRun){.n_samples = SAMPLES}), RELN_ERR_NUMERIC);
    assert_message(&f, "channel 1 of sample 3");
    assert_message(&f, words);
    /* and the same plan runs again */
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 3}));
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

static void matrices_without_a_value_are_named(void **state)
{
    const double nan[9] = {1, 0, 0, 0, (double)NAN, 0, 0, 0, 1},
                 large[9] = {1e3, 0, 0, 0, 1, 0, 0, 0, 1};
    const double negative[9] = {1, 0, 0, 0, -2, 0, 0, 0, 1}, zero[9] = {0};

    (void)state;
    assert_fails(reln_matexp, false, nan, "matexp has no value");
    assert_fails(reln_matexp, false, nan, "not finite");
    assert_fails(reln_matexp, false, large, "overflows");
    assert_fails(reln_matlog, false, negative, "negative axis");
    assert_fails(reln_matsqrt, false, negative, "negative axis");
    assert_fails(reln_matinv, false, zero, "it is 0");
    assert_fails(reln_symlog, false, negative, "an eigenvalue is not positive (-2)");
    assert_fails(reln_symsqrt, false, negative, "an eigenvalue is negative (-2)");
    assert_fails(reln_matlog, true, negative, "negative axis");
    assert_fails(reln_symlog, true, negative, "negative axis");
    assert_fails(reln_symsqrt, true, zero, "it is 0");
}

/* Matrices whose diagonals have zeros: elimination has to exchange rows at the first, the second, and both. */
static void inverses_exchange_rows(void **state)
{
    static const double x[][9] = {
        {0, 2, 0, 3, 0, 0, 0, 0, 5}, {1, 2, 3, 2, 4, 1, 5, 1, 1}, {0, 0, 2, 4, 0, 0, 0, 8, 0}};
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

    (void)state;
    for (size_t t = 0; t < sizeof x / sizeof x[0]; t++) {
        double values[SAMPLES * 9 * C], got[9], product[9];
        Fixture f;
        RelnPlan *plan = NULL;

        fixture_init(&f, "gl:3", "so:3", RELN_F64);
        reln_output(f.graph, "z", reln_matinv(f.graph, matrices(&f, "x", 3)));
        assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
        for (int s = 0; s < SAMPLES; s++)
            for (int c = 0; c < C; c++)
                put(values, 3, s, c, x[t]);
        assert_ok(f.ctx, reln_plan_bind(plan, "x", values, RELN_F64));
        assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = SAMPLES}));
        take(reln_plan_output(plan, "z", NULL), 3, SAMPLES - 1, C - 1, got);
        reln_mat_gemm(false, false, 3, 3, 3, 1, x[t], 3, got, 3, 0, product, 3);
        assert_near(product, one, 9, 256 * DBL_EPSILON);
        reln_plan_destroy(plan);
        fixture_clear(&f);
    }
}

/* g J g^-1, where J has the eigenvalue -1 three times and one eigenvector. Rounding moves the eigenvalues by eps^(1/3) in any
 * direction, two of them to one side of the negative axis and one to the other: there is no real logarithm and no real root. */
static void eigenvalues_that_rounding_moves_across_the_axis_are_refused(void **state)
{
    static const double jordan[9] = {-1, 1, 0, 0, -1, 1, 0, 0, -1};
    RelnRng rng = reln_rng(7, 0);
    RelnCtx *ctx = NULL;

    (void)state;
    assert_ok(NULL, reln_ctx_create(NULL, &ctx));
    for (int t = 0; t < 12; t++) {
        double g[9], inverse[9], x[9], bad[9];

        fill_normal(&rng, 9, g);
        for (int i = 0; i < 3; i++)
            g[4 * i] += 3;
        assert_ok(ctx, reln_inverse(ctx, 3, g, inverse));
        reln_mat_gemm(false, false, 3, 3, 3, 1, g, 3, jordan, 3, 0, x, 3);
        reln_mat_gemm(false, false, 3, 3, 3, 1, x, 3, inverse, 3, 0, bad, 3);
        assert_fails(reln_matlog, false, bad, "negative axis");
        assert_fails(reln_matsqrt, false, bad, "negative axis");
    }
    reln_ctx_destroy(ctx);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static RelnStatus whole_life(RelnCtx *ctx)
{
    Fixture f;
    RelnPlan *plan = NULL;
    RelnStatus status = fixture_build(&f, ctx, "gl:2", "so:2", RELN_F64);
    RelnNode *x, *y;

    if (status == RELN_OK) {
        x = matrices(&f, "x", 2);
        y = reln_matmul(f.graph, 2, reln_symlog(f.graph, x), reln_matexp(f.graph, x));
        y = y ? next_derivative(&f, 0, x, y) : NULL;
        if (y)
            reln_output(f.graph, "y", y);
        status = reln_plan_create(f.graph, NULL, &plan);
    }
    reln_plan_destroy(plan);
    fixture_release(&f);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(whole_life) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_agrees_with_the_library),
        cmocka_unit_test(matmul_is_the_product_of_matrices),
        cmocka_unit_test(gradients_are_right_at_equal_and_nearly_equal_eigenvalues),
        cmocka_unit_test(arguments_that_are_no_matrices_are_refused),
        cmocka_unit_test(symmetric_functions_want_rotations),
        cmocka_unit_test(coordinates_that_do_not_multiply_are_refused_by_matmul),
        cmocka_unit_test(the_seventh_derivative_is_one_too_many),
        cmocka_unit_test(matrices_without_a_value_are_named),
        cmocka_unit_test(inverses_exchange_rows),
        cmocka_unit_test(eigenvalues_that_rounding_moves_across_the_axis_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
