/* Tests the names of algebras and the families that they stand for. */
#include "algebra/helpers.h"

#include "algebra/family.h"

static void names_are_split_into_families_and_sizes(void **state)
{
    RelnCtx *ctx = new_ctx();
    RelnTerm terms[3];
    char text[48];
    int count = 0;

    (void)state;
    assert_ok(ctx, reln_name_parse(ctx, "gl:2+so:1,3+lorentz", terms, 3, &count));
    assert_int_equal(count, 3);
    assert_string_equal(terms[0].family, "gl");
    assert_int_equal(terms[0].n_sizes, 1);
    assert_int_equal(terms[0].size[0], 2);
    assert_int_equal(terms[1].n_sizes, 2);
    assert_int_equal(terms[1].size[1], 3);
    assert_int_equal(terms[2].n_sizes, 0);
    reln_term_text(&terms[1], text, sizeof text);
    assert_string_equal(text, "so:1,3");
    reln_term_text(&terms[2], text, sizeof text);
    assert_string_equal(text, "lorentz");
    end_ctx(ctx);
}

static void malformed_names_are_refused_with_the_place(void **state)
{
    static const char *const bad[] = {
        "",          "+",      "gl:",    "gl:3+",  ":3",
        "gl:3,",     "3",      "gl:-3",  "gl: 3",  " gl:3",
        "gl:3 ",     "GL:3",   "gl:3x",  "so:1,,", "so:1,2,3",
        "gl:3++",    "gl:0x3", "gl:3.0", "gl::3",  "gl;3",
        "gl:3+so:+", "gl:1e1", "\xff",   "%s%n",   "abcdefghijklmnopqrstuvwxyz:3"};
    RelnCtx *ctx = new_ctx();
    RelnTerm terms[4];
    int count = 0;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        reln_ctx_clear(ctx);
        assert_int_equal(reln_name_parse(ctx, bad[i], terms, 4, &count), RELN_ERR_ARG);
        assert_non_null(strstr(reln_ctx_error(ctx), "wanted a name like gl:3"));
    }
    assert_int_equal(reln_name_parse(ctx, "u:1+u:1+u:1+u:1+u:1", terms, 4, &count), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(ctx), "too many terms at character 17"));
    assert_int_equal(reln_name_parse(ctx, NULL, terms, 4, &count), RELN_ERR_ARG);
    end_ctx(ctx);
}

static void names_without_an_algebra_say_what_is_possible(void **state)
{
    static const char *const bad[][2] = {
        {"xx:3",
         "no family is called xx, wanted one of gl:n, sl:n, so:n, so:p,q, sp:2m, u:n, su:n"},
        {"so:1", "n >= 2"},
        {"so:0,1", "p + q >= 2"},
        {"sl:1", "n >= 2"},
        {"su:1", "n >= 2"},
        {"sp:3", "even size"},
        {"gl:0", "n >= 1"},
        {"gl", "gl:n"},
        {"gl:2,3", "gl:n"},
        {"gl:17", "size 17 and dimension 289, at most 64 and 256"},
        {"gl:99999999999999999999999", "at most 64 and 256"},
        {"so:99999999999999999999999,99999999999999", "at most 64 and 256"},
        {"gl:12+gl:12", "size 24 and dimension 288"},
        {"o:3", "no family is called o"},
    };
    RelnCtx *ctx = new_ctx();

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        RelnAlgebra *a = NULL;
        assert_int_equal(reln_algebra_create(ctx, bad[i][0], &a), RELN_ERR_ARG);
        assert_null(a);
        assert_non_null(strstr(reln_ctx_error(ctx), bad[i][1]));
    }
    end_ctx(ctx);
}

/* Every family: its basis lies in it, and a matrix drawn at random does not (gl excepted). */
static void bases_satisfy_the_equation_of_their_family(void **state)
{
    static const RelnTerm terms[] = {{"gl", 1, {3, 0}}, {"sl", 1, {2, 0}}, {"sl", 1, {5, 0}},
                                     {"so", 1, {4, 0}}, {"so", 2, {2, 3}}, {"so", 2, {3, 0}},
                                     {"sp", 1, {2, 0}}, {"sp", 1, {6, 0}}, {"u", 1, {1, 0}},
                                     {"u", 1, {3, 0}},  {"su", 1, {3, 0}}};
    RelnRng rng = reln_rng(1, 0);

    (void)state;
    for (size_t t = 0; t < sizeof terms / sizeof *terms; t++) {
        const RelnFamily *const family = reln_family_find(terms[t].family);
        const int n = family->n(&terms[t]), dim = family->dim(&terms[t]);
        double basis[MAX_K * MAX_NN] = {0}, x[MAX_NN];
        family->basis(&terms[t], basis);
        for (ptrdiff_t k = 0; k < dim; k++) {
            assert_true(family->residual(&terms[t], basis + k * n * n) == 0.0);
            assert_true(reln_mat_norm((ptrdiff_t)n * n, basis + k * n * n) >= 1);
        }
        fill_normal(&rng, (ptrdiff_t)n * n, x);
        assert_true(strcmp(terms[t].family, "gl") == 0 || family->residual(&terms[t], x) > 1e-3);
    }
}

static void so3_is_the_hat_map(void **state)
{
    const double v[3] = {1, 2, 3}, w[3] = {-2, 5, 7};
    const double cross[3] = {2 * 7 - 3 * 5, 3 * -2 - 1 * 7, 1 * 5 - 2 * -2};
    RelnCtx *ctx = new_ctx();
    RelnAlgebra *a = make(ctx, "so:3");
    double m[9], got[3];

    (void)state;
    reln_algebra_hat(a, v, m);
    reln_mat_mul(3, 3, 1, m, w, got);
    assert_near(got, cross, 3, 0);
    reln_algebra_bracket(a, v, w, got); /* [hat v, hat w] = hat(v x w) */
    assert_near(got, cross, 3, 0);
    reln_algebra_destroy(a);
    end_ctx(ctx);
}

/* diag(-1,1,1) for GL(3); one axis of each sign reversed for SO(1,3); none where the group is connected. */
static void discrete_generators_reach_the_other_components(void **state)
{
    const RelnTerm gl = {"gl", 1, {3, 0}}, so13 = {"so", 2, {1, 3}}, so3 = {"so", 1, {3, 0}};
    const double want_gl[9] = {-1, 0, 0, 0, 1, 0, 0, 0, 1};
    const double want_so[16] = {-1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    double g[16] = {0}, s[16] = {0};

    (void)state;
    assert_int_equal(reln_family_gl.discrete(&gl, g), 1);
    assert_near(g, want_gl, 9, 0);
    assert_int_equal(reln_family_so.discrete(&so13, s), 1);
    assert_near(s, want_so, 16, 0);
    assert_int_equal(reln_family_so.discrete(&so3, s), 0);
    assert_null(reln_family_sl.discrete);
}

static void sums_are_block_diagonal(void **state)
{
    RelnCtx *ctx = new_ctx();
    RelnAlgebra *a = make(ctx, "gl:2+so:3");
    const double *const basis = reln_algebra_basis(a);

    (void)state;
    assert_int_equal(reln_algebra_n(a), 5);
    assert_int_equal(reln_algebra_dim(a), 7);
    assert_string_equal(reln_algebra_name(a), "gl:2+so:3");
    for (ptrdiff_t k = 0; k < 7; k++)
        for (ptrdiff_t i = 0; i < 5; i++)
            for (ptrdiff_t j = 0; j < 5; j++)
                if ((i < 2) != (k < 4) || (j < 2) != (k < 4))
                    assert_true(basis[(k * 5 + i) * 5 + j] == 0.0);
    assert_true(basis[0] == 1.0 && basis[4 * 25 + 4 * 5 + 3] == 1.0);
    reln_algebra_destroy(a);
    end_ctx(ctx);
}

static void families_can_be_listed(void **state)
{
    int count = 0;

    (void)state;
    while (reln_family_at(count))
        count++;
    assert_int_equal(count, 6);
    assert_null(reln_family_at(-1));
    assert_ptr_equal(reln_family_find("sp"), &reln_family_sp);
    assert_null(reln_family_find("spin"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_split_into_families_and_sizes),
        cmocka_unit_test(malformed_names_are_refused_with_the_place),
        cmocka_unit_test(names_without_an_algebra_say_what_is_possible),
        cmocka_unit_test(bases_satisfy_the_equation_of_their_family),
        cmocka_unit_test(so3_is_the_hat_map),
        cmocka_unit_test(discrete_generators_reach_the_other_components),
        cmocka_unit_test(sums_are_block_diagonal),
        cmocka_unit_test(families_can_be_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
