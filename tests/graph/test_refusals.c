/* Tests that a graph refuses an invalid node although a similar one was accepted just before, and keeps
 * similar nodes apart. */
#include <math.h>
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

/* ---- what a refusal says ---------------------------------------------------------------------------------------------- */

static RelnNode *numbers(Fixture *f, const char *name, RelnDims dims)
{
    return reln_input(f->graph, name, RELN_SAMPLES, dims, NULL, RELN_DEFAULT);
}

static RelnNode *places(Fixture *f, RelnDims dims)
{
    return reln_input_index(f->graph, "i", RELN_SAMPLES, dims, RELN_STEP, 2);
}

static RelnNode *covector(Fixture *f, int channels)
{
    return reln_input(f->graph, "u", RELN_SAMPLES, (RelnDims){.k = 3, .c = channels},
                      reln_rep_dual(reln_rep_vector(f->group)), RELN_DEFAULT);
}

static RelnNode *add_wide(Fixture *f)
{
    return reln_add(f->graph, vector(f, "x", 2), vector(f, "y", 3));
}

static RelnNode *add_long(Fixture *f)
{
    return reln_add(f->graph, numbers(f, "x", (RelnDims){.p = 2}),
                    numbers(f, "y", (RelnDims){.p = 3}));
}

static RelnNode *add_dual(Fixture *f)
{
    return reln_add(f->graph, vector(f, "x", 1), covector(f, 1));
}

static RelnNode *add_single(Fixture *f)
{
    return reln_add(f->graph, numbers(f, "x", (RelnDims){0}),
                    reln_input(f->graph, "y", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_F32));
}

static RelnNode *scale_indices(Fixture *f)
{
    return reln_scale(f->graph, places(f, (RelnDims){0}), 2);
}

static RelnNode *scale_by_nan(Fixture *f)
{
    return reln_scale(f->graph, vector(f, "x", 1), (double)NAN);
}

static RelnNode *scale_by_much(Fixture *f)
{
    return reln_scale(f->graph, reln_cast(f->graph, vector(f, "x", 1), RELN_F32), 1e39);
}

static RelnNode *argmax_on_no_axis(Fixture *f)
{
    return reln_argmax(f->graph, numbers(f, "x", (RelnDims){0}), (RelnAxis)5);
}

static RelnNode *concat_reps(Fixture *f)
{
    RelnNode *xs[] = {vector(f, "x", 1), covector(f, 1)};

    return reln_concat(f->graph, 2, xs, RELN_C);
}

static RelnNode *concat_indices(Fixture *f)
{
    RelnNode *xs[] = {numbers(f, "x", (RelnDims){0}), places(f, (RelnDims){0})};

    return reln_concat(f->graph, 2, xs, RELN_C);
}

static RelnNode *concat_long(Fixture *f)
{
    RelnNode *xs[] = {numbers(f, "x", (RelnDims){.p = 2}), numbers(f, "y", (RelnDims){.p = 3})};

    return reln_concat(f->graph, 2, xs, RELN_C);
}

static RelnNode *concat_nothing(Fixture *f)
{
    RelnNode *xs[] = {vector(f, "x", 1)};

    return reln_concat(f->graph, 0, xs, RELN_C);
}

static RelnNode *contract_to_more(Fixture *f)
{
    const RelnEntry entry = {0, 0, 0, 1};
    const RelnTensor3 tensor = {3, 3, 2, 1, &entry};

    return reln_contract(f->graph, &tensor, vector(f, "x", 1), vector(f, "y", 1),
                         reln_rep_vector(f->group));
}

static RelnNode *expand_long(Fixture *f)
{
    return reln_expand(f->graph, numbers(f, "x", (RelnDims){.q = 2}),
                       numbers(f, "y", (RelnDims){.q = 3}));
}

static RelnNode *outer_long(Fixture *f)
{
    return reln_outer(f->graph, numbers(f, "x", (RelnDims){.p = 2, .c = 4}),
                      numbers(f, "y", (RelnDims){.p = 3, .c = 5}));
}

static RelnNode *outer_of_vectors(Fixture *f)
{
    return reln_outer(f->graph, vector(f, "x", 2), vector(f, "y", 3));
}

static RelnNode *pick_by_numbers(Fixture *f)
{
    return reln_pick(f->graph, vector(f, "x", 2), numbers(f, "y", (RelnDims){0}), RELN_C);
}

static RelnNode *pick_coordinates(Fixture *f)
{
    return reln_pick(f->graph, vector(f, "x", 2), places(f, (RelnDims){0}), RELN_K);
}

static RelnNode *pick_each_coordinate(Fixture *f)
{
    return reln_pick(f->graph, vector(f, "x", 2), places(f, (RelnDims){.k = 3}), RELN_C);
}

static RelnNode *pick_items(Fixture *f)
{
    const RelnDomain rows = reln_rows(f->graph, "rows", 4);
    RelnNode *i = reln_input_index(f->graph, "i", RELN_SAMPLES, (RelnDims){0}, rows, 0);

    return reln_pick(f->graph, vector(f, "x", 2), i, RELN_C);
}

static RelnNode *cast_to_indices(Fixture *f)
{
    return reln_cast(f->graph, vector(f, "x", 1), RELN_I32);
}

static RelnNode *reshape_to_less(Fixture *f)
{
    return reln_reshape(f->graph, numbers(f, "x", (RelnDims){.c = 6}), (RelnDims){.p = 2, .c = 2});
}

static RelnNode *permute_twice(Fixture *f)
{
    static const RelnAxis axes[RELN_AXES] = {RELN_P, RELN_P, RELN_R, RELN_K, RELN_C};

    return reln_permute(f->graph, vector(f, "x", 1), axes);
}

static RelnNode *input_of_fewer(Fixture *f)
{
    return reln_input(f->graph, "x", RELN_SAMPLES, (RelnDims){.k = 2}, reln_rep_vector(f->group),
                      RELN_DEFAULT);
}

static RelnNode *input_of_indices(Fixture *f)
{
    return reln_input(f->graph, "x", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_I32);
}

static RelnNode *input_of_no_domain(Fixture *f)
{
    return reln_input(f->graph, "x", (RelnDomain)7, (RelnDims){0}, NULL, RELN_DEFAULT);
}

static RelnNode *const_of_fewer(Fixture *f)
{
    static const double x[2] = {0, 0};

    return reln_const(f->graph, (RelnDims){.k = 2}, reln_rep_vector(f->group), x);
}

static RelnNode *const_of_no_extent(Fixture *f)
{
    static const double x[1] = {0};

    return reln_const(f->graph, (RelnDims){.c = -1}, NULL, x);
}

static void refusals_name_what_was_seen_and_wanted(void **state)
{
    static const struct {
        RelnNode *(*build)(Fixture *);
        RelnStatus status;
        const char *says;
    } cases[] = {
        {add_wide, RELN_ERR_SHAPE, "add: (B, 3, 2) and (B, 3, 3) do not broadcast on axis C"},
        {add_long, RELN_ERR_SHAPE,
         "add: (B, 2, 1, 1, 1, 1) and (B, 3, 1, 1, 1, 1) do not broadcast on axis P"},
        {add_dual, RELN_ERR_REP,
         "add: vector and dual(vector) transform differently, so their sum is not equivariant"},
        {add_single, RELN_ERR_ARG, "add: inputs of f32 and f64; cast one first"},
        {scale_indices, RELN_ERR_ARG, "scale: input 0 holds indices, wanted numbers"},
        {scale_by_nan, RELN_ERR_NUMERIC, "scale: a constant of nan, wanted finite numbers"},
        {scale_by_much, RELN_ERR_NUMERIC,
         "scale: a constant of 1e+39, wanted finite numbers of f32"},
        {argmax_on_no_axis, RELN_ERR_ARG, "argmax: axis 5, wanted RELN_P to RELN_C (0 to 4)"},
        {concat_reps, RELN_ERR_REP,
         "concat: vector and dual(vector) on axis C; wanted one rep, or axis K"},
        {concat_indices, RELN_ERR_ARG, "concat: indices and numbers together"},
        {concat_long, RELN_ERR_SHAPE,
         "concat: (B, 2, 1, 1, 1, 1) and (B, 3, 1, 1, 1, 1) differ on axis P, joined on axis C"},
        {concat_nothing, RELN_ERR_ARG, "concat: of 0 values, wanted 1 to 64"},
        {contract_to_more, RELN_ERR_SHAPE,
         "contract: the tensor gives 2 coordinates, rep vector has 3"},
        {expand_long, RELN_ERR_SHAPE,
         "expand: (B, 2, 1, 1, 1) has extent 2 on axis 1, wanted 3 or 1"},
        {outer_long, RELN_ERR_SHAPE,
         "outer: (B, 2, 1, 1, 1, 4) and (B, 3, 1, 1, 1, 5) differ in more than channels"},
        {outer_of_vectors, RELN_ERR_REP, "outer: vector and vector are not dual to each other"},
        {pick_by_numbers, RELN_ERR_ARG, "pick: wanted numbers first, then i32 indices"},
        {pick_coordinates, RELN_ERR_ARG, "pick: coordinates are not picked by index"},
        {pick_each_coordinate, RELN_ERR_SHAPE,
         "pick: indices (B, 3, 1), wanted K = 1: coordinates of a feature stay together"},
        {pick_items, RELN_ERR_ARG,
         "pick: the indices number items of rows, wanted places on axis C (items are taken with "
         "reln_gather())"},
        {cast_to_indices, RELN_ERR_ARG, "cast: to f32 or f64 only"},
        {reshape_to_less, RELN_ERR_SHAPE,
         "reshape: (B, 1, 6) has 6 elements, not those of (2, 1, 1, 1, 2)"},
        {permute_twice, RELN_ERR_ARG, "permute: axes 0 0 2 3 4, wanted each of 0 to 4 once"},
        {input_of_fewer, RELN_ERR_SHAPE, "input: 2 coordinates, but rep vector has 3"},
        {input_of_indices, RELN_ERR_ARG, "input x: use reln_input_index() for indices"},
        {input_of_no_domain, RELN_ERR_ARG, "input: domain 7 is not one of this graph"},
        {const_of_fewer, RELN_ERR_SHAPE, "const: 2 coordinates, but rep vector has 3"},
        {const_of_no_extent, RELN_ERR_SHAPE, "const: an extent of -1, wanted at least 1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Fixture f;

        fixture_init(&f, "gl:3", "gl:3", RELN_F64);
        assert_null(cases[i].build(&f));
        assert_int_equal(reln_graph_status(f.graph), cases[i].status);
        assert_string_equal(reln_ctx_error(f.ctx), cases[i].says);
        fixture_clear(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cotangent_is_in_the_dual_rep),
        cmocka_unit_test(extents_that_differ_do_not_broadcast),
        cmocka_unit_test(a_constant_is_checked_for_each_rep),
        cmocka_unit_test(a_parameter_keeps_its_shape_in_every_graph),
        cmocka_unit_test(nodes_of_different_domains_are_not_merged),
        cmocka_unit_test(refusals_name_what_was_seen_and_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
