/* Tests random group elements: they lie in the group and have the wanted condition number, inverse and
 * coordinates. */
#include "algebra/helpers.h"

#include "algebra/sampler.h"
#include "reln/matrix.h"

/* exp(X1) exp(X2) exp(X3) from coordinates */
static void rebuild(RelnCtx *ctx, int n, int n_lie, const double *lie, const double *coords,
                    double *g)
{
    const int nn = n * n;
    double x[MAX_NN], t[MAX_NN];

    reln_mat_identity(n, g);
    for (int f = 0; f < 3; f++) {
        reln_mat_mul(1, n_lie, nn, coords + f * n_lie, lie, x);
        assert_ok(ctx, reln_matrix_exp(ctx, n, x, x));
        memcpy(t, g, sizeof t);
        reln_mat_mul(n, n, n, t, x, g);
    }
}

static double determinant(int n, const double *x)
{
    double a[MAX_NN], det = 1;

    memcpy(a, x, (size_t)(n * n) * sizeof *a);
    for (int k = 0; k < n; k++) {
        int p = k;
        for (int i = k + 1; i < n; i++)
            p = fabs(a[i * n + k]) > fabs(a[p * n + k]) ? i : p;
        for (int j = 0; j < n && p != k; j++) {
            const double t = a[k * n + j];
            a[k * n + j] = a[p * n + j];
            a[p * n + j] = t;
        }
        det *= p != k ? -a[k * n + k] : a[k * n + k];
        for (int i = k + 1; i < n; i++)
            for (int j = n - 1; j >= k; j--)
                a[i * n + j] -= a[i * n + k] / a[k * n + k] * a[k * n + j];
    }
    return det;
}

/* Every algebra, cond 1 .. 1e6: measured condition, inverse, determinant, and g normalises the algebra. */
static void elements_have_the_condition_number_wanted(void **state)
{
    RelnCtx *ctx = new_ctx();
    RelnRng rng = reln_rng(41, 0);

    (void)state;
    for (int i = 0; i < 7 * N_KNOWN; i++) {
        const Known *const k = &known[i / 7];
        const double cond = pow(10, i % 7);
        const bool compact = strncmp(k->name, "u:", 2) == 0 || strncmp(k->name, "su:", 3) == 0 ||
                             (strncmp(k->name, "so:", 3) == 0 && !strpbrk(k->name, ",+")) ||
                             k->n == 1;
        RelnAlgebra *a = make(ctx, k->name);
        double g[MAX_NN], inverse[MAX_NN], product[MAX_NN], identity[MAX_NN], ad[MAX_K * MAX_K];
        double reached = 0, measured = 0;
        assert_ok(ctx, reln_algebra_random_group(a, &rng, cond, g, inverse, &reached));
        assert_ok(ctx, reln_cond(ctx, k->n, g, &measured));
        assert_true(reached == (compact ? 1 : cond));
        assert_small(measured / reached - 1, 1e-13 + 64 * k->n * U * reached);
        reln_mat_mul(k->n, k->n, k->n, g, inverse, product);
        reln_mat_identity(k->n, identity);
        assert_near(product, identity, (ptrdiff_t)k->n * k->n, 1e-13 + 64 * k->n * U * reached);
        assert_true(determinant(k->n, g) > 0);
        if (cond <=
            1e3) /* at larger condition numbers the rounding of g is as large as the differences tested */
            assert_ok(ctx, reln_algebra_adjoint(a, g, ad));
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

/* g^T eta g = eta, g^T J g = J */
static void elements_keep_the_metric_of_their_group(void **state)
{
    static const struct {
        const char *name;
        double metric[16];
    } cases[] = {{"so:4", {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}},
                 {"so:1,3", {-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}},
                 {"so:2,2", {-1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}},
                 {"sp:4", {0, 0, 1, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, -1, 0, 0}}};
    RelnCtx *ctx = new_ctx();
    RelnRng rng = reln_rng(42, 0);

    (void)state;
    for (int i = 0; i < 16; i++) {
        const double cond = pow(10, i % 4);
        RelnAlgebra *a = make(ctx, cases[i / 4].name);
        double g[16], t[16], kept[16];
        assert_ok(ctx, reln_algebra_random_group(a, &rng, cond, g, NULL, NULL));
        reln_mat_mul(4, 4, 4, cases[i / 4].metric, g, t);
        reln_mat_gemm(true, false, 4, 4, 4, 1, g, 4, t, 4, 0, kept, 4);
        assert_near(kept, cases[i / 4].metric, 16, 1e-13 + 64 * U * cond);
        if (i / 4 == 1)
            assert_true(g[0] >= 1 - 1e-13); /* orthochronous */
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

static void coordinates_make_the_same_element_again(void **state)
{
    RelnCtx *ctx = new_ctx();

    (void)state;
    for (int i = 0; i < N_KNOWN; i++) {
        const int n = known[i].n, dim = known[i].dim;
        RelnRng rng = reln_rng(43, (uint64_t)i);
        RelnAlgebra *a = make(ctx, known[i].name);
        double basis[(MAX_K + 1) * MAX_NN], coords[3 * (MAX_K + 1)], g[MAX_NN], again[MAX_NN];
        double size = 0, reached = 0;
        recombine(ctx, &rng, dim, n, 10, reln_algebra_basis(a), basis);
        /* one generator twice: dependent generators are fine */
        memcpy(basis + dim * n * n, basis, (size_t)(n * n) * sizeof *basis);
        assert_ok(ctx,
                  reln_sample_factors(ctx, n, dim + 1, basis, &rng, 10, coords, g, NULL, &reached));
        rebuild(ctx, n, dim + 1, basis, coords, again);
        for (int k = 0; k < 3 * (dim + 1); k++)
            size = fmax(size, fabs(coords[k]));
        /* exp of X moves by |dX|, known to u times the coordinates, over a chain of three */
        assert_near(again, g, (ptrdiff_t)n * n, 64 * dim * U * fmax(1, size) * 10 * reached);
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

/* Different draws differ, equal draws are equal, and the angles of rotations cover the circle. */
static void draws_are_spread_and_repeatable(void **state)
{
    RelnCtx *ctx = new_ctx();
    RelnAlgebra *a = make(ctx, "so:3");
    RelnRng rng = reln_rng(44, 0), copy = rng;
    double g[9], again[9], trace = 0;

    (void)state;
    assert_ok(ctx, reln_algebra_random_group(a, &rng, 1, g, NULL, NULL));
    assert_ok(ctx, reln_algebra_random_group(a, &copy, 1, again, NULL, NULL));
    assert_memory_equal(g, again, sizeof g);
    for (int i = 0; i < 2000; i++) {
        assert_ok(ctx, reln_algebra_random_group(a, &rng, 1, g, NULL, NULL));
        trace += reln_mat_trace(3, g) / 2000;
    }
    /* a random axis and an angle spread over the circle have mean matrix I/3; two factors of that I/9, trace 1/3. A
     * trace has standard deviation 1: five sigma of the mean. */
    assert_small(trace - 1.0 / 3, 5 / sqrt(2000));
    reln_algebra_destroy(a);
    end_ctx(ctx);
}

/* Spans that are not closed under transposition: noncompact groups still reach the condition number, by
 * bisection. */
static void skewed_frames_meet_the_condition_number_too(void **state)
{
    static const char *const names[] = {"sl:2", "so:1,2", "sl:2+gl:1", "so:1,3", "sp:4"};
    RelnCtx *ctx = new_ctx();

    (void)state;
    for (int i = 0; i < 15; i++) {
        RelnRng rng = reln_rng(45, (uint64_t)i);
        RelnAlgebra *plain = make(ctx, names[i / 3]), *a = NULL;
        const int n = reln_algebra_n(plain), dim = reln_algebra_dim(plain);
        const double cond = pow(10, 1 + i % 3);
        double g[MAX_NN], inverse[MAX_NN], basis[MAX_K * MAX_NN], ad[MAX_K * MAX_K];
        double reached = 0, measured = 0;
        random_frame(ctx, &rng, n, 3, g, inverse);
        conjugate(dim, n, g, inverse, reln_algebra_basis(plain), basis);
        if (strcmp(names[i / 3], "sl:2") == 0) /* closed under transposition in every frame */
            memcpy(basis, reln_algebra_basis(plain), (size_t)(dim * n * n) * sizeof *basis);
        assert_ok(ctx, reln_algebra_from_basis(ctx, dim, n, basis, NULL, &a));
        assert_ok(ctx, reln_algebra_random_group(a, &rng, cond, g, inverse, &reached));
        assert_small(reached / cond - 1, 1e-9);
        assert_ok(ctx, reln_cond(ctx, n, g, &measured));
        assert_small(measured / cond - 1, 1e-9);
        assert_ok(ctx, reln_algebra_adjoint(a, g, ad));
        reln_algebra_destroy(plain);
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

/* In a frame of condition number 3 no element of SO(3) exceeds 9, and `reached` says how far it came. */
static void a_compact_group_in_a_skewed_frame_reaches_what_it_can(void **state)
{
    RelnCtx *ctx = new_ctx();
    RelnRng rng = reln_rng(46, 0);
    RelnAlgebra *so3 = make(ctx, "so:3"), *a = NULL;
    double g[9], inverse[9], basis[27], reached = 0, measured = 0;

    (void)state;
    random_frame(ctx, &rng, 3, 3, g, inverse);
    conjugate(3, 3, g, inverse, reln_algebra_basis(so3), basis);
    assert_ok(ctx, reln_algebra_from_basis(ctx, 3, 3, basis, NULL, &a));
    assert_ok(ctx, reln_algebra_random_group(a, &rng, 1e3, g, inverse, &reached));
    assert_ok(ctx, reln_cond(ctx, 3, g, &measured));
    assert_small(measured / reached - 1, 1e-12);
    assert_true(reached > 2 && reached < 9 * (1 + 1e-12));
    /* few turns are enough: the coordinates are angles, and digits are lost with each turn */
    for (int i = 0; i < 30; i++) {
        double coords[9], angle = 0;

        assert_ok(ctx,
                  reln_sample_factors(ctx, 3, 3, basis, &rng, 1e3, coords, g, inverse, &reached));
        for (int k = 0; k < 9; k++)
            angle = fmax(angle, fabs(coords[k]));
        assert_true(reached > 2 && angle > 0.1 && angle < 100);
    }
    reln_algebra_destroy(so3);
    reln_algebra_destroy(a);
    end_ctx(ctx);
}

static void no_generators_give_the_identity(void **state)
{
    const double identity[4] = {1, 0, 0, 1}, zero[4] = {0};
    RelnCtx *ctx = new_ctx();
    RelnRng rng = reln_rng(47, 0);
    double g[4], inverse[4], coords[3] = {7, 7, 7}, reached = 0;

    (void)state;
    assert_ok(ctx, reln_sample_factors(ctx, 2, 0, NULL, &rng, 10, NULL, g, inverse, &reached));
    assert_near(g, identity, 4, 0);
    assert_true(reached == 1.0);
    assert_ok(ctx, reln_sample_factors(ctx, 2, 1, zero, &rng, 10, coords, g, inverse, &reached));
    assert_near(inverse, identity, 4, 0);
    assert_near(coords, zero, 3, 0);
    end_ctx(ctx);
}

static void impossible_condition_numbers_are_refused(void **state)
{
    const double bad[] = {0, 0.99, -1, (double)NAN, (double)INFINITY};
    RelnCtx *ctx = new_ctx();
    RelnAlgebra *a = make(ctx, "gl:2");
    RelnRng rng = reln_rng(48, 0);
    double g[4];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(reln_algebra_random_group(a, &rng, bad[i], g, NULL, NULL), RELN_ERR_ARG);
    reln_algebra_destroy(a);
    end_ctx(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_have_the_condition_number_wanted),
        cmocka_unit_test(elements_keep_the_metric_of_their_group),
        cmocka_unit_test(coordinates_make_the_same_element_again),
        cmocka_unit_test(draws_are_spread_and_repeatable),
        cmocka_unit_test(skewed_frames_meet_the_condition_number_too),
        cmocka_unit_test(a_compact_group_in_a_skewed_frame_reaches_what_it_can),
        cmocka_unit_test(no_generators_give_the_identity),
        cmocka_unit_test(impossible_condition_numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
