/* A setting is complete or refused, and clears what it made either way. */
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
    RelnSetting s;
    const RelnStatus status = reln_setting_init_in(&s, ctx, "o:2", "gl:3", RELN_F64, 1);

    reln_setting_clear(&s);
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
        cmocka_unit_test(what_does_not_fit_is_refused_with_the_reason),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
