/* Tests groups, reps made from them, and elements that act in reps. */
#include "rep/fixture.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "tensor/linalg.h"

/* Rounding of a product of three exponentials in a rep of dimension dim, relative to entries that reach cond^power. */
static double tolerance(int dim, double cond, int power)
{
    return DBL_EPSILON * (64 * dim + 2 * pow(cond, power));
}

/* ---- groups ----------------------------------------------------------------------------------------------- */

static void names_give_generators_of_both_kinds(void **state)
{
    const struct {
        const char *name;
        int n, n_lie, n_discrete;
    } wanted[] = {{"gl:3", 3, 9, 1},      {"sl:3", 3, 8, 0},    {"so:3", 3, 3, 0},
                  {"so:1,3", 4, 6, 1},    {"o:3", 3, 3, 1},     {"o:1,3", 4, 6, 2},
                  {"o:1", 1, 0, 1},       {"lorentz", 4, 6, 0}, {"sp:4", 4, 10, 0},
                  {"u:2", 4, 4, 0},       {"none:5", 5, 0, 0},  {"o:2+none:1", 3, 1, 1},
                  {"gl:2+o:1,2", 5, 7, 3}};
    Fixture *f = *state;

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        RelnGroup *g = NULL;
        assert_ok(f->ctx, reln_group_create(f->ctx, wanted[i].name, &g));
        assert_string_equal(reln_group_name(g), wanted[i].name);
        assert_int_equal(reln_group_n(g), wanted[i].n);
        assert_int_equal(reln_group_n_lie(g), wanted[i].n_lie);
        assert_int_equal(reln_group_n_discrete(g), wanted[i].n_discrete);
        reln_group_destroy(g);
    }
}

static void lorentz_keeps_the_metric_and_its_reflections_reverse_time_and_space(void **state)
{
    const double eta[16] = {-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    const double time[16] = {-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    const double space[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1};
    const double zero[16] = {0};
    Fixture *f = *state;

    for (int g = 0; g < 6; g++) {
        const double *e = reln_group_lie(f->o13) + 16 * g;
        double sum[16];
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                sum[4 * i + j] = e[4 * j + i] * eta[5 * j] + eta[5 * i] * e[4 * i + j];
        assert_near(sum, zero, 16, 0);
    }
    assert_near(reln_group_discrete(f->o13), time, 16, 0);
    assert_near(reln_group_discrete(f->o13) + 16, space, 16, 0);
}

static void bad_groups_are_refused_with_the_reason(void **state)
{
    const char *names[] = {"", "go:3", "o:0", "none:0", "none", "lorentz:4", "gl:65", "gl:9+gl:15"};
    const double singular[4] = {1, 2, 2, 4}, nan_matrix[1] = {(double)NAN};
    Fixture *f = *state;
    RelnGroup *g = NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        reln_ctx_clear(f->ctx);
        assert_int_equal(reln_group_create(f->ctx, names[i], &g), RELN_ERR_ARG);
        assert_null(g);
        assert_true(reln_ctx_error(f->ctx)[0] != '\0');
    }
    assert_int_equal(reln_group_from_matrices(f->ctx, "bad", 2, 0, NULL, 1, singular, &g),
                     RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "not invertible"));
    assert_int_equal(reln_group_from_matrices(f->ctx, "bad", 1, 1, nan_matrix, 0, NULL, &g),
                     RELN_ERR_NUMERIC);
    assert_int_equal(reln_group_from_matrices(f->ctx, "bad", 0, 0, NULL, 0, NULL, &g),
                     RELN_ERR_ARG);
    assert_int_equal(reln_group_embed(f->so3, 2, &g), RELN_ERR_ARG);
}

static void embedding_leaves_the_new_axes_alone(void **state)
{
    Fixture *f = *state;
    RelnGroup *g = NULL;

    assert_ok(f->ctx, reln_group_embed(f->o13, 5, &g));
    assert_int_equal(reln_group_n(g), 5);
    assert_string_equal(reln_group_name(g), "o:1,3 in gl:5");
    for (int e = 0; e < 6; e++)
        for (int i = 0; i < 5; i++) {
            assert_true(reln_group_lie(g)[25 * e + 20 + i] == 0);
            assert_true(reln_group_lie(g)[25 * e + 5 * i + 4] == 0);
        }
    assert_true(reln_group_discrete(g)[0] == -1 && reln_group_discrete(g)[24] == 1);
    reln_group_destroy(g);
}

/* ---- reps ------------------------------------------------------------------------------------------------- */

static void equal_reps_are_one_object(void **state)
{
    Fixture *f = *state;
    const RelnRep *v = reln_rep_vector(f->gl3), *m = reln_rep_matrix(f->gl3);

    assert_ptr_equal(reln_rep_vector(f->gl3), v);
    assert_ptr_equal(reln_rep_adjoint(f->gl3, f->algebra_gl3), m);
    assert_ptr_equal(reln_rep_product(v, reln_rep_dual(v)), m);
    assert_ptr_equal(reln_rep_dual(reln_rep_dual(v)), v);
    assert_ptr_equal(reln_rep_dual(reln_rep_dual(m)), m);
    assert_ptr_not_equal(reln_rep_dual(v), v);
    assert_ptr_equal(reln_rep_symmetric(v, 1), v);
    assert_ptr_equal(reln_rep_sum(reln_rep_trivial(f->gl3, 2), reln_rep_trivial(f->gl3, 1)),
                     reln_rep_trivial(f->gl3, 3));
    /* so(3): vectors are their own duals, and hat makes them the adjoint rep */
    assert_ptr_equal(reln_rep_dual(reln_rep_vector(f->so3)), reln_rep_vector(f->so3));
    assert_ptr_equal(reln_rep_adjoint(f->so3, f->algebra_so3), reln_rep_vector(f->so3));
}

static void orthogonal_groups_tell_vectors_from_pseudovectors(void **state)
{
    Fixture *f = *state;
    const RelnRep *v = reln_rep_vector(f->o3), *sign = reln_rep_sign(f->o3);
    const RelnRep *adjoint = reln_rep_adjoint(f->o3, f->algebra_so3);
    const double minus = -1, plus = 1;

    assert_ptr_not_equal(adjoint, v);
    assert_ptr_equal(reln_rep_product(sign, v), adjoint);
    assert_ptr_equal(reln_rep_antisymmetric(v, 3), sign);
    assert_ptr_equal(reln_rep_character(f->o3, &minus), sign);
    assert_ptr_equal(reln_rep_character(f->o3, &plus), reln_rep_trivial(f->o3, 1));
    assert_ptr_equal(reln_rep_product(sign, sign), reln_rep_trivial(f->o3, 1));
}

static void names_tell_how_a_rep_was_made(void **state)
{
    Fixture *f = *state;
    RelnGroup *g = NULL;

    assert_ok(f->ctx, reln_group_create(f->ctx, "gl:3", &g));
    const RelnRep *v = reln_rep_vector(g), *i = reln_rep_trivial(g, 1);
    assert_string_equal(reln_rep_name(i), "invariant");
    assert_string_equal(reln_rep_name(reln_rep_adjoint(g, f->algebra_gl3)), "adjoint(gl:3)");
    assert_string_equal(reln_rep_name(reln_rep_matrix(g)),
                        "adjoint(gl:3)"); /* the first name stays */
    assert_string_equal(reln_rep_name(reln_rep_dual(v)), "dual(vector)");
    assert_string_equal(reln_rep_name(reln_rep_sum(v, i)), "vector+invariant");
    assert_string_equal(reln_rep_name(reln_rep_product(reln_rep_sum(v, i), v)),
                        "(vector+invariant)*vector");
    assert_string_equal(reln_rep_name(reln_rep_symmetric(v, 2)), "sym2(vector)");
    assert_string_equal(reln_rep_name(reln_rep_antisymmetric(v, 2)), "alt2(vector)");
    reln_group_destroy(g);
}

static void trivial_and_orthogonal_reps_know_it(void **state)
{
    Fixture *f = *state;

    assert_true(reln_rep_is_trivial(reln_rep_trivial(f->gl3, 4)));
    assert_false(reln_rep_is_trivial(reln_rep_sign(f->gl3)));
    assert_false(reln_rep_is_trivial(reln_rep_vector(f->so3)));
    assert_true(reln_rep_is_orthogonal(reln_rep_sign(f->gl3)));
    assert_true(reln_rep_is_orthogonal(reln_rep_matrix(f->o3)));
    assert_false(reln_rep_is_orthogonal(reln_rep_vector(f->gl3)));
    assert_false(reln_rep_is_orthogonal(reln_rep_vector(f->o13)));
}

static void an_algebra_that_is_not_normalised_is_refused(void **state)
{
    Fixture *f = *state;
    RelnAlgebra *gl2 = NULL;

    assert_null(reln_rep_adjoint(f->gl3, f->algebra_so3));
    assert_non_null(strstr(reln_ctx_error(f->ctx), "of gl:3 takes so:3 out of itself"));
    assert_ok(f->ctx, reln_algebra_create(f->ctx, "gl:2", &gl2));
    assert_null(reln_rep_adjoint(f->gl3, gl2));
    reln_algebra_destroy(gl2);
}

static void matrices_that_are_no_rep_are_refused(void **state)
{
    Fixture *f = *state;
    const RelnRep *v = reln_rep_vector(f->o3);
    double lie[27], discrete[9];

    memcpy(lie, reln_rep_lie(v, 0), sizeof lie);
    memcpy(discrete, reln_rep_discrete(v, 0), sizeof discrete);
    assert_ptr_equal(reln_rep_from_matrices(f->o3, 3, lie, discrete), v);
    lie[1] += 1e-3;
    assert_null(reln_rep_from_matrices(f->o3, 3, lie, discrete));
    assert_non_null(strstr(reln_ctx_error(f->ctx), "not a rep of o:3: the bracket"));
    lie[1] -= 1e-3;
    discrete[4] = -1; /* diag(-1,-1,1): conjugates generators 0 and 1 with the wrong sign */
    assert_null(reln_rep_from_matrices(f->o3, 3, lie, discrete));
    assert_non_null(strstr(reln_ctx_error(f->ctx), "conjugates"));
}

static void mistakes_pass_through_as_null(void **state)
{
    Fixture *f = *state;
    const RelnRep *v = reln_rep_vector(f->gl3), *w = reln_rep_vector(f->so3);

    assert_null(reln_rep_vector(NULL));
    assert_null(reln_rep_dual(NULL));
    assert_null(reln_rep_sum(v, NULL));
    assert_null(reln_rep_product(NULL, v));
    assert_null(reln_rep_product(v, w));
    assert_null(reln_rep_sum(v, w));
    assert_null(reln_rep_trivial(f->gl3, 0));
    assert_null(reln_rep_antisymmetric(v, 4));
    assert_null(reln_rep_symmetric(v, 0));
    assert_null(
        reln_rep_symmetric(reln_rep_matrix(f->gl3), 16)); /* C(24,16) = 735471 coordinates */
    assert_null(reln_rep_restrict(v, NULL));
}

/* ---- restriction ------------------------------------------------------------------------------------------ */

static void restriction_of_the_adjoint_rep_is_the_adjoint_rep_of_the_smaller_group(void **state)
{
    Fixture *f = *state;
    const RelnRep *big = reln_rep_adjoint(f->gl3, f->algebra_gl3);

    assert_ptr_equal(reln_rep_restrict(big, f->so3), reln_rep_adjoint(f->so3, f->algebra_gl3));
    assert_ptr_equal(reln_rep_restrict(big, f->o3), reln_rep_adjoint(f->o3, f->algebra_gl3));
    assert_ptr_equal(reln_rep_restrict(reln_rep_sign(f->gl3), f->o3), reln_rep_sign(f->o3));
    assert_ptr_equal(reln_rep_restrict(big, f->gl3), big);
}

static void restriction_finds_half_turns_and_products_of_reflections(void **state)
{
    /* a half turn has no principal logarithm; minus the identity is a reflection times one */
    const double half_turn[9] = {-1, 0, 0, 0, -1, 0, 0, 0, 1};
    const double inversion[9] = {-1, 0, 0, 0, -1, 0, 0, 0, -1};
    const double both[32] = {-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1};
    Fixture *f = *state;
    RelnGroup *g = NULL;

    assert_ok(f->ctx, reln_group_from_matrices(f->ctx, "c2", 3, 0, NULL, 1, half_turn, &g));
    assert_ptr_equal(reln_rep_restrict(reln_rep_matrix(f->so3), g), reln_rep_matrix(g));
    reln_group_destroy(g);
    assert_ok(f->ctx, reln_group_from_matrices(f->ctx, "ci", 3, 0, NULL, 1, inversion, &g));
    assert_ptr_equal(reln_rep_restrict(reln_rep_matrix(f->o3), g), reln_rep_trivial(g, 9));
    assert_ptr_equal(reln_rep_restrict(reln_rep_sign(f->o3), g), reln_rep_sign(g));
    assert_null(reln_rep_restrict(reln_rep_vector(f->so3), g));
    assert_non_null(strstr(reln_ctx_error(f->ctx), "was not found in so:3"));
    reln_group_destroy(g);
    assert_ok(f->ctx, reln_group_from_matrices(f->ctx, "pt", 4, 0, NULL, 1, both, &g));
    assert_ptr_equal(reln_rep_restrict(reln_rep_vector(f->o13), g), reln_rep_vector(g));
    reln_group_destroy(g);
}

static void restriction_to_a_group_that_is_not_inside_is_refused(void **state)
{
    Fixture *f = *state;

    assert_null(reln_rep_restrict(reln_rep_vector(f->so3), f->gl3));
    assert_non_null(strstr(reln_ctx_error(f->ctx), "of gl:3 lies outside so:3"));
    assert_null(reln_rep_restrict(reln_rep_vector(f->so3), f->o13));
}

/* ---- elements --------------------------------------------------------------------------------------------- */

/* out = g X g^-1 for matrices given as n*n coordinates: kron(g, g^-T) */
static void conjugation(int n, const double *g, const double *inverse, double *out)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                for (int l = 0; l < n; l++)
                    out[(i * n + j) * n * n + k * n + l] = g[i * n + k] * inverse[l * n + j];
}

static void elements_act_by_conjugation_on_matrices(void **state)
{
    Fixture *f = *state;
    RelnGroup *groups[] = {f->gl3, f->so3, f->o3, f->o13};
    RelnRng rng = reln_rng(11, 0);

    for (int t = 0; t < 40; t++) {
        RelnGroup *g = groups[t % 4];
        const int n = reln_group_n(g);
        const double cond = t < 20 ? 1 : 30;
        double got[256], want[256];
        RelnElement *e = NULL;
        assert_ok(f->ctx, reln_group_random(g, &rng, cond, &e));
        conjugation(n, reln_element_matrix(e), reln_element_inverse(e), want);
        assert_ok(f->ctx, reln_rep_act(reln_rep_matrix(g), e, got));
        assert_near(got, want, n * n * n * n, tolerance(n * n, reln_element_cond(e), 2));
        assert_ok(f->ctx, reln_rep_act(reln_rep_vector(g), e, got));
        assert_near(got, reln_element_matrix(e), n * n, tolerance(n, reln_element_cond(e), 1));
        reln_element_destroy(e);
    }
}

static void random_elements_reach_every_component(void **state)
{
    Fixture *f = *state;
    RelnRng rng = reln_rng(12, 0);
    int seen[2][2] = {{0}};

    for (int t = 0; t < 40; t++) {
        RelnElement *e = NULL;
        double sign;
        assert_ok(f->ctx, reln_group_random(f->o13, &rng, 5, &e));
        assert_ok(f->ctx, reln_rep_act(reln_rep_sign(f->o13), e, &sign));
        assert_true(fabs(sign) == 1);
        seen[reln_element_matrix(e)[0] < 0][sign < 0]++;
        reln_element_destroy(e);
    }
    /* each of four components misses 40 draws with probability 1e-5 */
    assert_true(seen[0][0] && seen[0][1] && seen[1][0] && seen[1][1]);
}

static void duals_pair_invariantly_and_powers_act_on_monomials(void **state)
{
    Fixture *f = *state;
    const RelnRep *v = reln_rep_vector(f->gl3);
    RelnRng rng = reln_rng(13, 0);

    for (int t = 0; t < 20; t++) {
        const double cond = 10;
        double x[3], y[3], gx[3], gy[3], dual[9], sym[36], alt[9], mono[6], got[6], want[6];
        RelnElement *e = NULL;
        fill_normal(&rng, 3, x);
        fill_normal(&rng, 3, y);
        assert_ok(f->ctx, reln_group_random(f->gl3, &rng, cond, &e));
        const double *g = reln_element_matrix(e);
        assert_ok(f->ctx, reln_rep_act(reln_rep_dual(v), e, dual));
        assert_ok(f->ctx, reln_rep_act(reln_rep_symmetric(v, 2), e, sym));
        assert_ok(f->ctx, reln_rep_act(reln_rep_antisymmetric(v, 2), e, alt));
        reln_mat_mul(3, 3, 1, g, x, gx);
        reln_mat_mul(3, 3, 1, dual, y, gy);
        const double before = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
        const double after = gx[0] * gy[0] + gx[1] * gy[1] + gx[2] * gy[2];
        assert_small(after - before, 30 * tolerance(3, cond, 2));
        for (int i = 0, k = 0; i < 3; i++)
            for (int j = i; j < 3; j++, k++) {
                mono[k] = x[i] * x[j];
                want[k] = gx[i] * gx[j];
            }
        reln_mat_mul(6, 6, 1, sym, mono, got);
        assert_near(got, want, 6, 10 * tolerance(6, cond, 2));
        reln_mat_mul(3, 3, 1, g, y, gy);
        for (int i = 0, k = 0; i < 3; i++)
            for (int j = i + 1; j < 3; j++, k++) {
                mono[k] = x[i] * y[j] - x[j] * y[i];
                want[k] = gx[i] * gy[j] - gx[j] * gy[i];
            }
        reln_mat_mul(3, 3, 1, alt, mono, got);
        assert_near(got, want, 3, 10 * tolerance(3, cond, 2));
        reln_element_destroy(e);
    }
}

/* A product acts by the Kronecker product, a sum by the two blocks. */
static void products_and_sums_act_by_kronecker_products_and_blocks(void **state)
{
    Fixture *f = *state;
    const RelnRep *v = reln_rep_vector(f->gl3), *s = reln_rep_symmetric(v, 3);
    const RelnRep *p = reln_rep_product(v, s), *sum = reln_rep_sum(s, v);
    RelnRng rng = reln_rng(14, 0);
    RelnElement *e = NULL;
    double rho_v[9], rho_s[100], rho_p[900], rho_sum[169];

    assert_ok(f->ctx, reln_group_random(f->gl3, &rng, 4, &e));
    assert_ok(f->ctx, reln_rep_act(v, e, rho_v));
    assert_ok(f->ctx, reln_rep_act(s, e, rho_s));
    assert_ok(f->ctx, reln_rep_act(p, e, rho_p));
    assert_ok(f->ctx, reln_rep_act(sum, e, rho_sum));
    for (int i = 0; i < 900; i++) {
        const int row = i / 30, column = i % 30;
        const double want = rho_v[row / 10 * 3 + column / 10] * rho_s[row % 10 * 10 + column % 10];
        assert_small(rho_p[i] - want, 64 * tolerance(30, 4, 4));
    }
    for (int i = 0; i < 10; i++)
        assert_near(rho_sum + 13 * i, rho_s + 10 * i, 10, tolerance(13, 4, 3));
    for (int i = 0; i < 3; i++)
        assert_near(rho_sum + 13 * (10 + i) + 10, rho_v + 3 * i, 3, tolerance(13, 4, 3));
    assert_int_equal(reln_rep_act(reln_rep_vector(f->so3), e, rho_v), RELN_ERR_ARG);
    reln_element_destroy(e);
}

static void a_group_without_generators_has_the_identity_only(void **state)
{
    const double one[4] = {1, 0, 0, 1};
    Fixture *f = *state;
    RelnRng rng = reln_rng(15, 0);
    RelnGroup *g = NULL;
    RelnElement *e = NULL;

    assert_ok(f->ctx, reln_group_create(f->ctx, "none:2", &g));
    assert_ok(f->ctx, reln_group_random(g, &rng, 1, &e));
    assert_near(reln_element_matrix(e), one, 4, 0);
    assert_true(reln_element_cond(e) == 1);
    assert_true(reln_rep_is_trivial(reln_rep_vector(g)));
    reln_element_destroy(e);
    reln_group_destroy(g);
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

static RelnStatus use_reps(RelnCtx *ctx, RelnGroup *g, RelnGroup *sub)
{
    const RelnRep *v = reln_rep_vector(g), *m = reln_rep_matrix(g);
    const RelnRep *all[] = {
        reln_rep_sum(v, m),       reln_rep_product(v, v),       reln_rep_dual(v),
        reln_rep_symmetric(v, 2), reln_rep_antisymmetric(v, 2), reln_rep_sign(g),
        reln_rep_trivial(g, 2),   reln_rep_restrict(m, sub)};
    RelnRng rng = reln_rng(1, 1);
    RelnElement *e = NULL;
    double rho[16];
    RelnStatus status;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!all[i]) {
            assert_non_null(strstr(reln_ctx_error(ctx), "out of memory"));
            return RELN_ERR_NOMEM;
        }
    if (!reln_rep_from_matrices(g, 2, reln_rep_lie(v, 0), reln_rep_discrete(v, 0)))
        return RELN_ERR_NOMEM;
    status = reln_group_random(g, &rng, 2, &e);
    if (status == RELN_OK)
        status = reln_rep_act(v, e, rho);
    reln_element_destroy(e);
    return status;
}

static RelnStatus use_everything(RelnCtx *ctx)
{
    const double half_turn[4] = {-1, 0, 0, -1};
    RelnGroup *g = NULL, *sub = NULL;
    RelnStatus status = reln_group_create(ctx, "o:2", &g);

    if (status == RELN_OK)
        status = reln_group_from_matrices(ctx, "c2", 2, 0, NULL, 1, half_turn, &sub);
    if (status == RELN_OK)
        status = use_reps(ctx, g, sub);
    reln_group_destroy(sub);
    reln_group_destroy(g);
    return status;
}

static void every_failing_allocation_is_reported_and_nothing_leaks(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(use_everything) > 20);
}

/* 1 - 2 u u^T with u = (1, ..., 1) / sqrt(n), as the only generator: no entry is zero. */
static RelnGroup *mirror(const Fixture *f, int n)
{
    double h[144];
    RelnGroup *g = NULL;

    for (int i = 0; i < n * n; i++)
        h[i] = (i % (n + 1) == 0) - 2.0 / n;
    assert_ok(f->ctx, reln_group_from_matrices(f->ctx, "mirror", n, 0, NULL, 1, h, &g));
    return g;
}

/* Multiplied out, there would be 12^12 and 3^12 terms in each row. */
static void high_powers_of_dense_generators_are_products_of_linear_forms(void **state)
{
    const double x[3] = {0.5, -1.25, 0.75}, hx[3] = {0.5, -1.25, 0.75}; /* u x = 0 */
    const double y[3] = {1, 1, 0.5}, hy[3] = {-2.0 / 3, -2.0 / 3, -7.0 / 6};
    Fixture *f = *state;
    RelnGroup *g12 = mirror(f, 12), *g3 = mirror(f, 3);
    const RelnRep *alt = reln_rep_antisymmetric(reln_rep_vector(g12), 12);
    const RelnRep *sym = reln_rep_symmetric(reln_rep_vector(g3), 12);
    double mono[2][91], want[2][91], got[91];
    int at = 0;

    assert_int_equal(reln_rep_dim(alt), 1);
    assert_small(reln_rep_discrete(alt, 0)[0] + 1, 1e-13);
    assert_int_equal(reln_rep_dim(sym), 91);
    for (int a = 12; a >= 0; a--)
        for (int b = 12 - a; b >= 0; b--, at++) {
            mono[0][at] = pow(x[0], a) * pow(x[1], b) * pow(x[2], 12 - a - b);
            want[0][at] = pow(hx[0], a) * pow(hx[1], b) * pow(hx[2], 12 - a - b);
            mono[1][at] = pow(y[0], a) * pow(y[1], b) * pow(y[2], 12 - a - b);
            want[1][at] = pow(hy[0], a) * pow(hy[1], b) * pow(hy[2], 12 - a - b);
        }
    /* coefficients sum to (1/3 + 2/3 + 2/3)^12 = 460 at most, over powers of x up to 1.25^12 = 15 */
    for (int i = 0; i < 2; i++) {
        reln_mat_mul(91, 91, 1, reln_rep_discrete(sym, 0), mono[i], got);
        assert_near(got, want[i], 91, 460 * 15 * 100 * DBL_EPSILON);
    }
    reln_group_destroy(g12);
    reln_group_destroy(g3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_give_generators_of_both_kinds),
        cmocka_unit_test(lorentz_keeps_the_metric_and_its_reflections_reverse_time_and_space),
        cmocka_unit_test(bad_groups_are_refused_with_the_reason),
        cmocka_unit_test(embedding_leaves_the_new_axes_alone),
        cmocka_unit_test(equal_reps_are_one_object),
        cmocka_unit_test(orthogonal_groups_tell_vectors_from_pseudovectors),
        cmocka_unit_test(names_tell_how_a_rep_was_made),
        cmocka_unit_test(trivial_and_orthogonal_reps_know_it),
        cmocka_unit_test(an_algebra_that_is_not_normalised_is_refused),
        cmocka_unit_test(matrices_that_are_no_rep_are_refused),
        cmocka_unit_test(mistakes_pass_through_as_null),
        cmocka_unit_test(restriction_of_the_adjoint_rep_is_the_adjoint_rep_of_the_smaller_group),
        cmocka_unit_test(restriction_finds_half_turns_and_products_of_reflections),
        cmocka_unit_test(restriction_to_a_group_that_is_not_inside_is_refused),
        cmocka_unit_test(elements_act_by_conjugation_on_matrices),
        cmocka_unit_test(random_elements_reach_every_component),
        cmocka_unit_test(duals_pair_invariantly_and_powers_act_on_monomials),
        cmocka_unit_test(high_powers_of_dense_generators_are_products_of_linear_forms),
        cmocka_unit_test(products_and_sums_act_by_kronecker_products_and_blocks),
        cmocka_unit_test(a_group_without_generators_has_the_identity_only),
        cmocka_unit_test(every_failing_allocation_is_reported_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
