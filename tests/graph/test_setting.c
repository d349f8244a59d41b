/* Tests settings: a setting is complete or refused, and clearing it releases everything in both cases. */
#include "support/support.h"

#include <string.h>

static void groups_are_embedded_where_features_are_larger(void **state)
{
    RelnSetting s;

    (void)state;
    assert_int_equal(reln_setting_init(&s, "lorentz", "gl:5", RELN_F32, 1), RELN_OK);
    assert_int_equal(reln_group_n(s.group), 5);
    assert_int_equal(reln_rep_dim(s.rep), 25);
    assert_non_null(s.graph);
    reln_setting_clear(&s);
    assert_int_equal(reln_setting_init(&s, "so:3", NULL, RELN_F64, 1), RELN_OK);
    assert_int_equal(reln_algebra_dim(s.algebra), 3);
    reln_setting_clear(&s);
}

/* Asserts that two algebras have the same basis. */
static void assert_same_basis(const RelnAlgebra *a, const RelnAlgebra *b)
{
    const int n = reln_algebra_n(b);

    assert_int_equal(reln_algebra_n(a), n);
    assert_int_equal(reln_algebra_dim(a), reln_algebra_dim(b));
    assert_memory_equal(reln_algebra_basis(a), reln_algebra_basis(b),
                        (size_t)(reln_algebra_dim(b) * n * n) * sizeof(double));
}

/* Each case is the name of a group and the name of its algebra. */
static void features_left_out_are_the_algebra_of_the_symmetry(void **state)
{
    static const char *const cases[][2] = {
        {"so:3", "so:3"},   {"gl:2", "gl:2"},          {"su:3", "su:3"},
        {"o:3", "so:3"},    {"o:2", "so:2"},           {"o:1,3", "so:1,3"},
        {"o:1", "gl:1"},    {"lorentz", "so:1,3"},     {"none:3", "gl:3"},
        {"none:1", "gl:1"}, {"gl:2+o:3", "gl:2+so:3"}, {"lorentz+o:2", "so:1,3+so:2"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        RelnAlgebra *want = NULL;
        RelnSetting s;

        assert_int_equal(reln_setting_init(&s, cases[i][0], NULL, RELN_F64, 1), RELN_OK);
        assert_ok(s.ctx, reln_algebra_create(s.ctx, cases[i][1], &want));
        assert_same_basis(s.algebra, want);
        assert_int_equal(reln_rep_dim(s.rep), reln_algebra_dim(want));
        assert_int_equal(reln_group_n_lie(s.group),
                         strncmp(cases[i][0], "none", 4) == 0 || strcmp(cases[i][0], "o:1") == 0
                             ? 0
                             : reln_algebra_dim(want));
        reln_algebra_destroy(want);
        reln_setting_clear(&s);
    }
}

/* Symmetries whose names are not names of algebras: with reflections, connected, and without generators. */
static void layers_are_built_in_such_settings(void **state)
{
    static const char *const names[] = {"o:3", "lorentz", "none:3"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        RelnSetting s;
        RelnNode *x;
        RelnNet net;

        assert_int_equal(reln_setting_init(&s, names[i], NULL, RELN_F32, 1), RELN_OK);
        net = (RelnNet){.graph = s.graph, .algebra = s.algebra, .train = true};
        x = reln_input(s.graph, "x", RELN_SAMPLES, (RelnDims){.k = reln_rep_dim(s.rep), .c = 4},
                       s.rep, RELN_DEFAULT);
        x = reln_nn_relu(&net, "a", reln_nn_bracket(&net, "a", x), NULL);
        assert_non_null(reln_nn_invariant(&net, x));
        assert_ok(s.ctx, reln_graph_status(s.graph));
        reln_setting_clear(&s);
    }
}

static void assert_refused(const char *symmetry, const char *features, RelnStatus status,
                           const char *words)
{
    RelnSetting s;

    assert_int_equal(reln_setting_init(&s, symmetry, features, RELN_F64, 1), status);
    assert_non_null(strstr(reln_ctx_error(s.ctx), words));
    reln_setting_clear(&s);
}

static void what_does_not_fit_is_refused_with_the_reason(void **state)
{
    (void)state;
    assert_refused("go:3", NULL, RELN_ERR_ARG, "go:3");
    assert_refused("so:3", "gl:x", RELN_ERR_ARG, "gl:x");
    /* GL(3) does not keep so(3) */
    assert_refused("gl:3", "so:3", RELN_ERR_REP, "so:3");
}

static RelnStatus in_context(RelnCtx *ctx)
{
    static const double embedded[9] = {0, 0, 1, 0, 0, 0, 1, 0, 0};
    const RelnClosing of = {.count = 1, .matrices = embedded};
    RelnSetting s;
    RelnStatus status = reln_setting_init_in(&s, ctx, "o:2", "gl:3", RELN_F64, 1);

    reln_setting_clear(&s);
    if (status == RELN_OK) {
        status = reln_setting_init_in(&s, ctx, "lorentz", NULL, RELN_F64, 1);
        reln_setting_clear(&s);
    }
    if (status == RELN_OK) {
        status = reln_setting_init_closed(&s, ctx, "so:2", 3, &of, RELN_F64, 1);
        reln_setting_clear(&s);
    }
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(in_context) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_embedded_where_features_are_larger),
        cmocka_unit_test(features_left_out_are_the_algebra_of_the_symmetry),
        cmocka_unit_test(layers_are_built_in_such_settings),
        cmocka_unit_test(what_does_not_fit_is_refused_with_the_reason),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
