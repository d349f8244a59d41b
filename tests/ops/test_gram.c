/* Tests products within an item: known numbers, shared operands, and refusals. */
#include <string.h>

#include "graph/fixture.h"

static void assert_refused(Fixture *f, const RelnNode *node, RelnStatus status, const char *words)
{
    assert_null(node);
    assert_int_equal(reln_graph_status(f->graph), status);
    if (!strstr(reln_ctx_error(f->ctx), words) || strchr(reln_ctx_error(f->ctx), '\n')) {
        print_error("the message is: %s\nwanted in it: %s\n", reln_ctx_error(f->ctx), words);
        fail();
    }
    fixture_clear(f);
}

static RelnNode *numbers(Fixture *f, const char *name, RelnDomain domain, RelnDims dims)
{
    return reln_input(f->graph, name, domain, dims, NULL, RELN_DEFAULT);
}

static void run(Fixture *f, RelnNode *z, ptrdiff_t n, const double *x, const double *y,
                const double *want, ptrdiff_t count)
{
    RelnPlan *plan = NULL;

    reln_output(f->graph, "z", z);
    assert_ok(f->ctx, reln_plan_create(f->graph, NULL, &plan));
    assert_ok(f->ctx, reln_plan_bind(plan, "x", x, RELN_F64));
    assert_ok(f->ctx, reln_plan_bind(plan, "y", y, RELN_F64));
    assert_ok(f->ctx, reln_plan_run(plan, &(RelnRun){.n_samples = n}));
    assert_near(reln_plan_output(plan, "z", NULL), want, count, 0.0);
    reln_plan_destroy(plan);
    fixture_clear(f);
}

static void gram_pairs_every_row_with_every_row(void **state)
{
    /* two samples; x has two rows (1,2) (3,4), then (0,1) (1,0); y three rows */
    static const double x[] = {1, 2, 3, 4, 0, 1, 1, 0};
    static const double y[] = {1, 0, 0, 1, 1, 1, 5, 6, 7, 8, 9, 10};
    static const double want[] = {1, 2, 3, 3, 4, 7, 6, 8, 10, 5, 7, 9};
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    run(&f,
        reln_gram(f.graph, numbers(&f, "x", RELN_SAMPLES, (RelnDims){.r = 2, .c = 2}),
                  numbers(&f, "y", RELN_SAMPLES, (RelnDims){.r = 3, .c = 2})),
        2, x, y, want, 12);
}

static void weights_at_step_level_serve_every_sample(void **state)
{
    static const double a[] = {1, 1, 1, 0, 2, 0}, v[] = {1, 2, 3, 4, 5, 6};
    static const double want[] = {6, 4, 15, 10};
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    run(&f,
        reln_weigh(f.graph, numbers(&f, "x", RELN_STEP, (RelnDims){.r = 2, .c = 3}),
                   numbers(&f, "y", RELN_SAMPLES, (RelnDims){.r = 3, .c = 1})),
        2, a, v, want, 4);
}

static void channel_gram_sums_over_rows_and_coordinates(void **state)
{
    /* rows (1,2), (3,4) against (5), (6): (1 5 + 3 6, 2 5 + 4 6) */
    static const double x[] = {1, 2, 3, 4}, y[] = {5, 6}, want[] = {23, 34};
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    run(&f,
        reln_channel_gram(f.graph, numbers(&f, "x", RELN_SAMPLES, (RelnDims){.r = 2, .c = 2}),
                          numbers(&f, "y", RELN_SAMPLES, (RelnDims){.r = 2, .c = 1})),
        1, x, y, want, 2);
}

static void features_of_the_same_kind_have_no_invariant_gram_under_gl(void **state)
{
    Fixture f;
    RelnNode *x;

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    x = reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.r = 2, .k = 9, .c = 2}, f.adjoint,
                   RELN_DEFAULT);
    assert_refused(&f, reln_gram(f.graph, x, x), RELN_ERR_REP, "not dual to each other");
    /* rotations keep the sum of squares */
    fixture_init(&f, "gl:3", "so:3", RELN_F64);
    x = reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.r = 2, .k = 9, .c = 2}, f.adjoint,
                   RELN_DEFAULT);
    assert_non_null(reln_gram(f.graph, x, x));
    fixture_clear(&f);
}

static void weights_that_transform_are_refused(void **state)
{
    Fixture f;
    RelnNode *x;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    x = reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.r = 2, .k = 3, .c = 2}, f.adjoint,
                   RELN_DEFAULT);
    assert_refused(&f, reln_weigh(f.graph, x, x), RELN_ERR_REP, "weigh");
}

static void rows_that_do_not_fit_are_refused_with_their_shapes(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    assert_refused(&f,
                   reln_weigh(f.graph, numbers(&f, "x", RELN_SAMPLES, (RelnDims){.r = 2, .c = 4}),
                              numbers(&f, "y", RELN_SAMPLES, (RelnDims){.r = 3, .c = 1})),
                   RELN_ERR_SHAPE, "has 3 rows, the weights take 4");
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    assert_refused(&f,
                   reln_gram(f.graph, numbers(&f, "x", RELN_SAMPLES, (RelnDims){.q = 2, .c = 4}),
                             numbers(&f, "y", RELN_SAMPLES, (RelnDims){.q = 3, .c = 4})),
                   RELN_ERR_SHAPE, "do not broadcast");
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    assert_refused(&f,
                   reln_channel_gram(f.graph,
                                     numbers(&f, "x", RELN_SAMPLES, (RelnDims){.r = 2, .c = 4}),
                                     numbers(&f, "y", RELN_SAMPLES, (RelnDims){.r = 1, .c = 4})),
                   RELN_ERR_SHAPE, "wanted the same R and K");
}

/* z_k = x y_p(k) for a cycle p, and z_k = x y_k: only the second is a product of numbers. */
static void a_number_times_coordinates_in_another_order_is_no_product(void **state)
{
    static const double x[] = {2, 3}, y[] = {1, 10, 100, 4, 5, 6};
    static const double turned[] = {20, 200, 2, 15, 18, 12}, same[] = {2, 20, 200, 12, 15, 18};

    (void)state;
    for (int turns = 0; turns < 4; turns++) { /* the number is the first or the second factor */
        const bool in_order = turns % 2, second = turns / 2;
        RelnEntry entries[3];
        RelnTensor3 t = {1, 3, 3, 3, entries};
        RelnNode *u, *v;
        Fixture f;

        if (second)
            t = (RelnTensor3){3, 1, 3, 3, entries};
        for (int k = 0; k < 3; k++) {
            const int from = in_order ? k : (k + 1) % 3;

            entries[k] = (RelnEntry){second ? from : 0, second ? 0 : from, k, 1.0};
        }
        fixture_init(&f, "so:3", "so:3", RELN_F64);
        u = numbers(&f, "x", RELN_SAMPLES, (RelnDims){.k = 1});
        v = numbers(&f, "y", RELN_SAMPLES, (RelnDims){.k = 3});
        run(&f,
            reln_contract(f.graph, &t, second ? v : u, second ? u : v,
                          reln_rep_trivial(f.group, 3)),
            2, x, y, in_order ? same : turned, 6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gram_pairs_every_row_with_every_row),
        cmocka_unit_test(weights_at_step_level_serve_every_sample),
        cmocka_unit_test(channel_gram_sums_over_rows_and_coordinates),
        cmocka_unit_test(features_of_the_same_kind_have_no_invariant_gram_under_gl),
        cmocka_unit_test(weights_that_transform_are_refused),
        cmocka_unit_test(rows_that_do_not_fit_are_refused_with_their_shapes),
        cmocka_unit_test(a_number_times_coordinates_in_another_order_is_no_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
