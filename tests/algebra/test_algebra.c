/* Tests algebras as objects: forms, brackets, elements, and arrays that other software computed. */
#include "algebra/helpers.h"

#include <stdio.h>

#include "support/golden.h"

/* 2n tr(XY) - tr X tr Y on the basis e_ij: 2n [j = k][i = l] - [i = j][k = l] */
static void the_form_of_gl_is_2n_trace_minus_traces(void **state)
{
    RelnCtx *ctx = new_ctx();

    (void)state;
    for (int n = 2; n <= 6; n++) {
        const int dim = n * n;
        const char name[] = {'g', 'l', ':', (char)('0' + n), '\0'};
        RelnAlgebra *a = make(ctx, name);
        double want[MAX_K * MAX_K];
        const double *gram = NULL;
        for (int p = 0; p < dim; p++)
            for (int q = 0; q < dim; q++)
                want[p * dim + q] =
                    2 * n * (p % n == q / n && p / n == q % n) - (p / n == p % n && q / n == q % n);
        assert_ok(ctx, reln_algebra_gram(a, RELN_FORM_COMPLETED, &gram));
        assert_near(gram, want, (ptrdiff_t)dim * dim, 1e-12);
        assert_int_equal(reln_algebra_info(a)->killing_rank, dim - 1);
        assert_int_equal(reln_algebra_info(a)->center_dim, 1);
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

/* Killing forms in closed form: a multiple of the trace form. sp(2m): (2m+2), so(n): (n-2), sl(n): 2n, su(n): 2n in
 * complex matrices, n in real ones of size 2n, whose trace is twice as large. All integers, all exact. */
static void killing_forms_are_exact_multiples_of_the_trace_form(void **state)
{
    static const struct {
        const char *name;
        double factor;
    } cases[] = {{"sl:2", 4}, {"sl:3", 6}, {"sl:4", 8}, {"so:3", 1},   {"so:4", 2}, {"so:5", 3},
                 {"sp:2", 4}, {"sp:4", 6}, {"sp:6", 8}, {"so:1,3", 2}, {"su:2", 2}, {"su:3", 3}};
    RelnCtx *ctx = new_ctx();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        RelnAlgebra *a = make(ctx, cases[i].name);
        const int kk = reln_algebra_dim(a) * reln_algebra_dim(a);
        const double *trace = NULL, *completed = NULL;
        assert_ok(ctx, reln_algebra_gram(a, RELN_FORM_TRACE, &trace));
        assert_ok(ctx, reln_algebra_gram(a, RELN_FORM_COMPLETED, &completed));
        for (int j = 0; j < kk; j++) {
            assert_true(reln_algebra_killing(a)[j] == cases[i].factor * trace[j]);
            assert_true(completed[j] == reln_algebra_killing(a)[j]);
        }
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

/* Every form must be Ad-invariant. u(2) has the definite form, gl(2) has none. */
static void the_five_forms_fit_together(void **state)
{
    RelnCtx *ctx = new_ctx();
    RelnAlgebra *u2 = make(ctx, "u:2"), *gl2 = make(ctx, "gl:2");
    const double *g[5], *none = NULL;
    double w[4];

    (void)state;
    for (int f = 0; f < 5; f++)
        assert_ok(ctx, reln_algebra_gram(u2, (RelnForm)f, &g[f]));
    for (int i = 0; i < 16; i++) {
        assert_small(g[RELN_FORM_COMPLETED][i] - g[RELN_FORM_NO_CENTER][i] -
                         g[RELN_FORM_NO_SEMISIMPLE][i],
                     1e-14);
        assert_small(g[RELN_FORM_DEFINITE][i] + g[RELN_FORM_NO_CENTER][i] -
                         g[RELN_FORM_NO_SEMISIMPLE][i],
                     1e-14);
    }
    assert_ok(ctx, reln_eigh(ctx, 4, g[RELN_FORM_DEFINITE], w, NULL));
    assert_true(w[0] > 1);
    assert_ok(ctx, reln_eigh(ctx, 4, g[RELN_FORM_NO_SEMISIMPLE], w, NULL));
    assert_small(w[0], 1e-13);
    assert_small(w[2], 1e-13);
    /* i I has x = (1,1,0,0) and 4 (1 + 1 + 1 + 1) = 16 */
    assert_small(w[3] - 8, 1e-13);
    assert_int_equal(reln_algebra_gram(gl2, RELN_FORM_DEFINITE, &none), RELN_ERR_UNSUPPORTED);
    assert_null(none);
    assert_non_null(strstr(reln_ctx_error(ctx), "gl:2 has no definite form"));
    assert_int_equal(reln_algebra_gram(gl2, (RelnForm)7, &none), RELN_ERR_ARG);
    reln_algebra_destroy(u2);
    reln_algebra_destroy(gl2);
    end_ctx(ctx);
}

static void vee_undoes_hat(void **state)
{
    RelnCtx *ctx = new_ctx();
    RelnRng rng = reln_rng(31, 0);

    (void)state;
    for (int i = 0; i < N_KNOWN; i++) {
        const int dim = known[i].dim, n = known[i].n;
        RelnAlgebra *a = make(ctx, known[i].name);
        double x[MAX_K], back[MAX_K], m[MAX_NN];
        fill_normal(&rng, dim, x);
        reln_algebra_hat(a, x, m);
        assert_small(reln_algebra_vee(a, m, back), 4 * dim * U);
        assert_near(back, x, dim, 4 * dim * U);
        if (dim < n * n) { /* then a random matrix is not in the algebra */
            fill_normal(&rng, (ptrdiff_t)n * n, m);
            assert_true(reln_algebra_vee(a, m, back) > 1e-2);
        }
        memset(m, 0, sizeof m);
        assert_true(reln_algebra_vee(a, m, back) == 0.0);
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

/* The bracket of coordinates is the commutator of matrices, and satisfies Jacobi's identity. */
static void brackets_are_commutators(void **state)
{
    RelnCtx *ctx = new_ctx();
    RelnRng rng = reln_rng(32, 0);

    (void)state;
    for (int i = 0; i < N_KNOWN; i++) {
        const int dim = known[i].dim, n = known[i].n, nn = n * n;
        RelnAlgebra *a = make(ctx, known[i].name);
        double v[3][MAX_K], m[2][MAX_NN], xy[MAX_NN], yx[MAX_NN], z[MAX_K], sum[MAX_K] = {0};
        for (int j = 0; j < 3; j++)
            fill_normal(&rng, dim, v[j]);
        reln_algebra_hat(a, v[0], m[0]);
        reln_algebra_hat(a, v[1], m[1]);
        reln_mat_mul(n, n, n, m[0], m[1], xy);
        reln_mat_mul(n, n, n, m[1], m[0], yx);
        for (int j = 0; j < nn; j++)
            xy[j] -= yx[j];
        reln_algebra_bracket(a, v[0], v[1], z);
        reln_algebra_hat(a, z, m[0]);
        assert_near(m[0], xy, nn, 16 * n * U);
        for (int j = 0; j < 3; j++) {
            double inner[MAX_K];
            reln_algebra_bracket(a, v[(j + 1) % 3], v[(j + 2) % 3], inner);
            reln_algebra_bracket(a, v[j], inner, z);
            for (int k = 0; k < dim; k++)
                sum[k] += z[k];
        }
        for (int k = 0; k < dim; k++)
            assert_small(sum[k], 64 * dim * U * pow(reln_mat_norm(dim, v[0]), 3) * n);
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

static void structure_is_sorted_and_antisymmetric(void **state)
{
    RelnCtx *ctx = new_ctx();

    (void)state;
    for (int i = 0; i < N_KNOWN; i++) {
        RelnAlgebra *a = make(ctx, known[i].name);
        const RelnTensor3 *const c = reln_algebra_structure(a);
        const int dim = known[i].dim;
        assert_int_equal(c->count, known[i].nnz);
        assert_int_equal(c->i, dim);
        for (int e = 0; e < c->count; e++) {
            const RelnEntry *const x = &c->entries[e];
            bool mirrored = false;
            if (e > 0)
                assert_true((x[-1].k * dim + x[-1].i) * dim + x[-1].j <
                            (x->k * dim + x->i) * dim + x->j);
            assert_small(24 * x->value - round(24 * x->value),
                         16 * U); /* halves, thirds ... in sl(n) */
            for (int f = 0; f < c->count; f++)
                mirrored |= c->entries[f].i == x->j && c->entries[f].j == x->i &&
                            c->entries[f].k == x->k && c->entries[f].value == -x->value;
            assert_true(mirrored);
        }
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

/* B~(g x g^-1, g y g^-1) = B~(x, y). Ad_g has norm cond(g) at most; rounding of g moves it by u cond^2, and the form by
 * as much again on each side. */
static void the_form_is_invariant_under_the_group(void **state)
{
    RelnCtx *ctx = new_ctx();
    RelnRng rng = reln_rng(33, 0);

    (void)state;
    for (int i = 0; i < 4 * N_KNOWN; i++) {
        const int dim = known[i / 4].dim, n = known[i / 4].n;
        RelnAlgebra *a = make(ctx, known[i / 4].name);
        double g[MAX_NN], ad[MAX_K * MAX_K], x[MAX_K], y[MAX_K], gx[MAX_K], gy[MAX_K], cond = 0;
        const double *gram = NULL;
        assert_ok(ctx, reln_algebra_gram(a, RELN_FORM_COMPLETED, &gram));
        assert_ok(ctx, reln_algebra_random_group(a, &rng, pow(10, i % 4), g, NULL, &cond));
        assert_ok(ctx, reln_algebra_adjoint(a, g, ad));
        fill_normal(&rng, dim, x);
        fill_normal(&rng, dim, y);
        reln_mat_mul(dim, dim, 1, ad, x, gx);
        reln_mat_mul(dim, dim, 1, ad, y, gy);
        assert_small(reln_algebra_form(a, gx, gy) - reln_algebra_form(a, x, y),
                     U * (64 * n + 2 * pow(cond, 3)) * reln_mat_norm((ptrdiff_t)dim * dim, gram) *
                         reln_mat_norm(dim, x) * reln_mat_norm(dim, y));
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

/* The check above can fail: a trace form on gl is invariant, the Frobenius product is not. */
static void a_form_that_is_not_invariant_is_seen(void **state)
{
    RelnCtx *ctx = new_ctx();
    RelnRng rng = reln_rng(34, 0);
    RelnAlgebra *a = make(ctx, "gl:3");
    double g[9], ad[81], x[9], gx[9], cond = 0;

    (void)state;
    assert_ok(ctx, reln_algebra_random_group(a, &rng, 10, g, NULL, &cond));
    assert_ok(ctx, reln_algebra_adjoint(a, g, ad));
    fill_normal(&rng, 9, x);
    reln_mat_mul(9, 9, 1, ad, x, gx);
    assert_true(fabs(reln_mat_norm(9, gx) - reln_mat_norm(9, x)) > 1e-3);
    reln_algebra_destroy(a);
    end_ctx(ctx);
}

static void centre_and_derived_ideal_split_the_algebra(void **state)
{
    RelnCtx *ctx = new_ctx();
    RelnRng rng = reln_rng(35, 0);

    (void)state;
    for (int i = 0; i < N_KNOWN; i++) {
        const int dim = known[i].dim, z = known[i].center;
        RelnAlgebra *a = make(ctx, known[i].name);
        const double *const p = reln_algebra_center_projector(a);
        double x[MAX_K], image[MAX_K], twice[MAX_K], zero[MAX_K] = {0};
        fill_normal(&rng, dim, x);
        for (ptrdiff_t r = 0; r < z; r++) { /* commutes with everything; is its own part */
            reln_algebra_bracket(a, reln_algebra_center(a) + r * dim, x, image);
            assert_near(image, zero, dim, 64 * dim * U);
            reln_mat_mul(dim, dim, 1, p, reln_algebra_center(a) + r * dim, image);
            assert_near(image, reln_algebra_center(a) + r * dim, dim, 64 * dim * U);
        }
        for (ptrdiff_t r = 0; r < dim - z; r++) {
            reln_mat_mul(dim, dim, 1, p, reln_algebra_derived(a) + r * dim, image);
            assert_near(image, zero, dim, 64 * dim * U);
        }
        reln_mat_mul(dim, dim, 1, p, x, image);
        reln_mat_mul(dim, dim, 1, p, image, twice);
        assert_near(twice, image, dim, 64 * dim * U);
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

/* The same algebra in another basis: forms, brackets and projectors are the same maps. */
static void results_carry_over_to_a_bad_basis(void **state)
{
    RelnCtx *ctx = new_ctx();

    (void)state;
    for (int i = 0; i < 3 * N_KNOWN; i++) {
        const int dim = known[i / 3].dim, n = known[i / 3].n;
        const double cond = pow(100, 1 + i % 3);
        RelnRng rng = reln_rng(36, (uint64_t)i);
        RelnAlgebra *a = make(ctx, known[i / 3].name), *b = NULL;
        double basis[MAX_K * MAX_NN], m[3][MAX_NN], x[2][MAX_K], y[2][MAX_K], z[2][MAX_K], scale;
        const double *gram = NULL;
        recombine(ctx, &rng, dim, n, cond, reln_algebra_basis(a), basis);
        assert_ok(ctx, reln_algebra_from_basis(ctx, dim, n, basis, NULL, &b));
        fill_normal(&rng, dim, x[0]);
        fill_normal(&rng, dim, y[0]);
        reln_algebra_hat(a, x[0], m[0]);
        reln_algebra_hat(a, y[0], m[1]);
        assert_small(reln_algebra_vee(b, m[0], x[1]), 64 * dim * U * cond);
        assert_small(reln_algebra_vee(b, m[1], y[1]), 64 * dim * U * cond);
        /* matrices and coordinates of b are up to sqrt(cond) in size: a form in it sums terms of size cond^2 */
        assert_ok(ctx, reln_algebra_gram(a, RELN_FORM_COMPLETED, &gram));
        scale = reln_mat_norm(dim, x[0]) * reln_mat_norm(dim, y[0]);
        assert_small(reln_algebra_form(a, x[0], y[0]) - reln_algebra_form(b, x[1], y[1]),
                     64 * dim * U * cond * cond * scale *
                         reln_mat_norm((ptrdiff_t)dim * dim, gram));
        reln_algebra_bracket(a, x[0], y[0], z[0]);
        reln_algebra_bracket(b, x[1], y[1], z[1]);
        reln_algebra_hat(a, z[0], m[0]);
        reln_algebra_hat(b, z[1], m[1]);
        /* a bracket, converted back to a matrix, sums terms of size cond^3, so it is tested at the first of
         * the three only */
        if (cond <= 100)
            assert_near(m[1], m[0], (ptrdiff_t)n * n, 64 * dim * U * pow(cond, 3) * scale);
        reln_algebra_destroy(a);
        reln_algebra_destroy(b);
    }
    end_ctx(ctx);
}

static void adjoint_is_a_homomorphism_and_exp_its_source(void **state)
{
    RelnCtx *ctx = new_ctx();
    RelnAlgebra *a = make(ctx, "sl:3");
    RelnRng rng = reln_rng(37, 0);
    double g[2][9], gh[9], ad[2][64], adgh[64], product[64], x[8], small[8], moved[8], bracket[8];

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_ok(ctx, reln_algebra_random_group(a, &rng, 3, g[i], NULL, NULL));
        assert_ok(ctx, reln_algebra_adjoint(a, g[i], ad[i]));
    }
    reln_mat_mul(3, 3, 3, g[0], g[1], gh);
    assert_ok(ctx, reln_algebra_adjoint(a, gh, adgh));
    reln_mat_mul(8, 8, 8, ad[0], ad[1], product);
    assert_near(adgh, product, 64, 64 * 8 * U * 81);
    /* Ad_exp(h) x = x + [h, x] + O(h^2) */
    fill_normal(&rng, 8, x);
    fill_normal(&rng, 8, small);
    for (int i = 0; i < 8; i++)
        small[i] *= 1e-6;
    assert_ok(ctx, reln_algebra_exp(a, small, gh));
    assert_ok(ctx, reln_algebra_adjoint(a, gh, adgh));
    reln_mat_mul(8, 8, 1, adgh, x, moved);
    reln_algebra_bracket(a, small, x, bracket);
    for (int i = 0; i < 8; i++)
        assert_small(moved[i] - x[i] - bracket[i], 1e-9);
    reln_algebra_destroy(a);
    end_ctx(ctx);
}

static void a_matrix_that_does_not_normalise_is_refused(void **state)
{
    const double stretch[9] = {2, 0, 0, 0, 1, 0, 0, 0, 1}, mirror[9] = {-1, 0, 0, 0, 1, 0, 0, 0, 1};
    const double singular[9] = {0};
    RelnCtx *ctx = new_ctx();
    RelnAlgebra *so3 = make(ctx, "so:3");
    double ad[9];

    (void)state;
    assert_int_equal(reln_algebra_adjoint(so3, stretch, ad), RELN_ERR_REP);
    assert_non_null(strstr(reln_ctx_error(ctx), "g does not normalise so:3: g E_2 g^-1 leaves it"));
    assert_int_equal(reln_algebra_adjoint(so3, singular, ad), RELN_ERR_NUMERIC);
    assert_ok(ctx, reln_algebra_adjoint(so3, mirror, ad)); /* a reflection does: an axial vector */
    assert_small(ad[0] - 1, U);
    assert_small(ad[4] + 1, U);
    reln_algebra_destroy(so3);
    end_ctx(ctx);
}

/* ---- arrays that other software computed ------------------------------------------------------------------ */

static const struct {
    const char *folder, *name;
} golden[] = {{"gl3", "gl:3"}, {"sl3", "sl:3"}, {"sp4", "sp:4"}, {"so3", "so:3"}};
enum { N_GOLDEN = sizeof golden / sizeof *golden };

static double *load(const char *folder, const char *array, ptrdiff_t *dims)
{
    char name[64];
    double *values = NULL;
    int rank = 0;

    snprintf(name, sizeof name, "%s/%s", folder, array);
    return golden_load(name, 5, dims, &rank, &values) ? values : NULL;
}

static void compare(const char *folder, const char *array, const double *got, ptrdiff_t count)
{
    ptrdiff_t dims[5];
    double *want = load(folder, array, dims);

    assert_non_null(want);
    assert_near(got, want, count, 1e-12);
    free(want);
}

static void bases_forms_and_structure_match_the_reference(void **state)
{
    RelnCtx *ctx = new_ctx();

    (void)state;
    for (int i = 0; i < N_GOLDEN; i++) {
        RelnAlgebra *a = make(ctx, golden[i].name);
        const int dim = reln_algebra_dim(a), n = reln_algebra_n(a);
        const RelnTensor3 *const c = reln_algebra_structure(a);
        double dense[1000] = {0};
        const double *gram = NULL;
        for (int e = 0; e < c->count; e++)
            dense[(c->entries[e].i * dim + c->entries[e].j) * dim + c->entries[e].k] =
                c->entries[e].value;
        assert_ok(ctx, reln_algebra_gram(a, RELN_FORM_COMPLETED, &gram));
        compare(golden[i].folder, "basis_E", reln_algebra_basis(a), (ptrdiff_t)dim * n * n);
        compare(golden[i].folder, "form_gram_G", gram, (ptrdiff_t)dim * dim);
        compare(golden[i].folder, "bracket_struct_c", dense, (ptrdiff_t)dim * dim * dim);
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

/* x (B, C, K, N) -> Ad_g x, and hat(x) (B, C, N, n, n) */
static void group_elements_act_as_in_the_reference(void **state)
{
    RelnCtx *ctx = new_ctx();

    (void)state;
    for (int i = 0; i < N_GOLDEN; i++) {
        RelnAlgebra *a = make(ctx, golden[i].name);
        const ptrdiff_t dim = reln_algebra_dim(a), nn = reln_algebra_n(a) * reln_algebra_n(a);
        ptrdiff_t d[5];
        double *h = load(golden[i].folder, "group_h", d), *x = load(golden[i].folder, "x", d);
        double *moved = NULL, *hats = NULL, g[16], ad[100];
        assert_non_null(h);
        assert_non_null(x);
        assert_int_equal(d[2], dim);
        moved = calloc((size_t)(d[0] * d[1] * d[2] * d[3]), sizeof *moved);
        hats = calloc((size_t)(d[0] * d[1] * d[3] * nn), sizeof *hats);
        assert_true(moved && hats);
        assert_ok(ctx, reln_algebra_exp(a, h, g));
        compare(golden[i].folder, "group_g", g, nn);
        assert_ok(ctx, reln_algebra_adjoint(a, g, ad));
        for (ptrdiff_t b = 0; b < d[0] * d[1]; b++)
            for (ptrdiff_t p = 0; p < d[3]; p++) {
                double v[10];
                reln_mat_mul(dim, dim, d[3], ad, x + b * dim * d[3], moved + b * dim * d[3]);
                for (ptrdiff_t k = 0; k < dim; k++)
                    v[k] = x[(b * dim + k) * d[3] + p];
                reln_algebra_hat(a, v, hats + (b * d[3] + p) * nn);
            }
        compare(golden[i].folder, "x_conj", moved, d[0] * d[1] * d[2] * d[3]);
        compare(golden[i].folder, "x_hat", hats, d[0] * d[1] * d[3] * nn);
        free(hats);
        free(moved);
        free(x);
        free(h);
        reln_algebra_destroy(a);
    }
    end_ctx(ctx);
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

static RelnStatus use_everything(RelnCtx *ctx)
{
    RelnRng rng = reln_rng(1, 1);
    RelnAlgebra *a = NULL;
    double g[9], ad[25];
    RelnStatus status = reln_algebra_create(ctx, "gl:2+gl:1", &a);

    if (status == RELN_OK)
        status = reln_algebra_random_group(a, &rng, 10, g, NULL, NULL);
    if (status == RELN_OK)
        status = reln_algebra_adjoint(a, g, ad);
    reln_algebra_destroy(a);
    return status;
}

/* A skewed frame, a centre that is not diagonalisable, discrete matrices. */
static RelnStatus use_the_rest(RelnCtx *ctx)
{
    const double basis[8] = {1, 0, 0, 1, 1, 1, 0, 1}, gamma[4] = {1, 0, 0, -1};
    const RelnBasisOptions options = {.n_discrete = 1, .discrete = gamma};
    const double open[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    RelnRng rng = reln_rng(1, 1);
    RelnAlgebraInfo info;
    RelnAlgebra *a = NULL;
    double g[4], inverse[4];
    RelnStatus status = reln_algebra_from_basis(ctx, 2, 2, basis, &options, &a);

    if (status == RELN_OK)
        status = reln_algebra_random_group(a, &rng, 2, g, inverse, NULL);
    reln_algebra_destroy(a);
    return status == RELN_OK ? reln_algebra_inspect(ctx, 3, 2, open, NULL, &info) : status;
}

static void running_out_of_memory_leaks_nothing(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(use_everything) > 20);
    assert_true(fail_every_allocation(use_the_rest) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_form_of_gl_is_2n_trace_minus_traces),
        cmocka_unit_test(killing_forms_are_exact_multiples_of_the_trace_form),
        cmocka_unit_test(the_five_forms_fit_together),
        cmocka_unit_test(vee_undoes_hat),
        cmocka_unit_test(brackets_are_commutators),
        cmocka_unit_test(structure_is_sorted_and_antisymmetric),
        cmocka_unit_test(the_form_is_invariant_under_the_group),
        cmocka_unit_test(a_form_that_is_not_invariant_is_seen),
        cmocka_unit_test(centre_and_derived_ideal_split_the_algebra),
        cmocka_unit_test(results_carry_over_to_a_bad_basis),
        cmocka_unit_test(adjoint_is_a_homomorphism_and_exp_its_source),
        cmocka_unit_test(a_matrix_that_does_not_normalise_is_refused),
        cmocka_unit_test(bases_forms_and_structure_match_the_reference),
        cmocka_unit_test(group_elements_act_as_in_the_reference),
        cmocka_unit_test(running_out_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
