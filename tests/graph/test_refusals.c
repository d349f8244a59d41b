/* Tests that a graph refuses an invalid node although a similar one was accepted just before, and keeps
 * similar nodes apart. */
#include <string.h>

#include "graph/fixture.h"

static RelnNode *vector(Fixture *f, const char *name, int channels)
{
    return reln_input(f->graph, name, RELN_SAMPLES, (RelnDims){.k = 3, .c = channels},
                      reln_rep_vector(f->group), RELN_DEFAULT);
}

static void assert_refused(Fixture *f, RelnStatus status)
{
    assert_int_equal(reln_graph_status(f->graph), status);
    assert_true(strlen(reln_ctx_error(f->ctx)) > 0);
    fixture_clear(f);
}

/* Under gl:3, a vector and a covector have the same shape, but a vector is not a cotangent of a vector. */
static void a_cotangent_is_in_the_dual_rep(void **state)
{
    Fixture f;
    RelnNode *x, *y, *r, *grad = NULL;

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    x = vector(&f, "x", 2);
    y = reln_scale(f.graph, x, 2);
    r = reln_input(f.graph, "r", RELN_SAMPLES, (RelnDims){.k = 3, .c = 2},
                   reln_rep_dual(reln_rep_vector(f.group)), RELN_DEFAULT);
    assert_true(reln_vjp(f.graph, 1, &y, &r, 1, &x, &grad));
    r = vector(&f, "wrong", 2);
    assert_false(reln_vjp(f.graph, 1, &y, &r, 1, &x, &grad));
    assert_refused(&f, RELN_ERR_REP);
}

static void extents_that_differ_do_not_broadcast(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    assert_non_null(reln_add(f.graph, vector(&f, "x", 2), vector(&f, "one", 1)));
    assert_null(reln_add(f.graph, vector(&f, "y", 2), vector(&f, "z", 3)));
    assert_refused(&f, RELN_ERR_SHAPE);
}

/* The identity maps vectors of o:3 to vectors, but is not equivariant from vectors to pseudovectors. */
static void a_constant_is_checked_for_each_rep(void **state)
{
    const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    Fixture f;
    RelnNode *x;

    (void)state;
    fixture_init(&f, "so:3", "o:3", RELN_F64);
    x = vector(&f, "x", 1);
    assert_non_null(reln_linear_map(f.graph, x, one, reln_rep_vector(f.group)));
    assert_null(reln_linear_map(
        f.graph, x, one, reln_rep_product(reln_rep_vector(f.group), reln_rep_sign(f.group))));
    assert_refused(&f, RELN_ERR_REP);
}

static void a_parameter_keeps_its_shape_in_every_graph(void **state)
{
    const RelnInit init = {RELN_INIT_NORMAL, 1};
    Fixture f;
    RelnGraph *other = NULL;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    assert_non_null(reln_param(f.graph, "w", (RelnDims){.r = 2, .c = 3}, init));
    assert_ok(f.ctx, reln_graph_create(f.group, f.store, RELN_F64, &other));
    assert_null(reln_param(other, "w", (RelnDims){.r = 3, .c = 2}, init));
    assert_int_equal(reln_graph_status(other), RELN_ERR_SHAPE);
    reln_graph_destroy(other);
    fixture_clear(&f);
}

/* Two nodes are equal except for their domains: one has a single number, the other a number for each sample. */
static void nodes_of_different_domains_are_not_merged(void **state)
{
    Fixture f;
    RelnNode *step, *samples;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    step = reln_random_normal(f.graph, RELN_STEP, (RelnDims){0}, 5);
    samples = reln_random_normal(f.graph, RELN_SAMPLES, (RelnDims){0}, 5);
    assert_ok(f.ctx, reln_graph_status(f.graph));
    assert_ptr_not_equal(step, samples);
    assert_ptr_equal(step, reln_random_normal(f.graph, RELN_STEP, (RelnDims){0}, 5));
    fixture_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cotangent_is_in_the_dual_rep),
        cmocka_unit_test(extents_that_differ_do_not_broadcast),
        cmocka_unit_test(a_constant_is_checked_for_each_rep),
        cmocka_unit_test(a_parameter_keeps_its_shape_in_every_graph),
        cmocka_unit_test(nodes_of_different_domains_are_not_merged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
