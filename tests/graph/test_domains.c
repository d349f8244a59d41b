/* Tests the tree of domains: refused domains, bound counts, sets of any size, and memory that does not grow
 * with the number of pairs. */
#include <stdlib.h>
#include <string.h>

#include "graph/fixture.h"
#include "reln/ops.h"
#include "reln/plan.h"

static void refused(Fixture *f, const char *text)
{
    assert_int_not_equal(reln_graph_status(f->graph), RELN_OK);
    if (!strstr(reln_ctx_error(f->ctx), text))
        fail_msg("the message is: %s; wanted in it: %s", reln_ctx_error(f->ctx), text);
    fixture_clear(f);
}

static void what_is_no_domain_is_refused(void **state)
{
    RelnDomain a, b;
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    a = reln_rows(f.graph, "a", 4);
    b = reln_rows(f.graph, "b", 4);
    assert_int_equal(reln_rows(f.graph, "a", 4), a);
    assert_int_equal(reln_pairs(f.graph, "ab", a, b, false), RELN_STEP);
    refused(&f, "rows ab: rows of a and of b are never the same; wanted self");

    fixture_init(&f, "so:3", "so:3", RELN_F64);
    (void)reln_rows(f.graph, "a", 4);
    assert_int_equal(reln_rows(f.graph, "a", 5), RELN_STEP);
    refused(&f, "rows a: there are others of that name");

    fixture_init(&f, "so:3", "so:3", RELN_F64);
    a = reln_rows(f.graph, "a", 4);
    assert_int_equal(reln_members(f.graph, "m", a, 9, 8), RELN_STEP);
    refused(&f, "rows m: at most 9 below one item, but capacity is 8");

    fixture_init(&f, "so:3", "so:3", RELN_F64);
    assert_int_equal(reln_pairs(f.graph, "p", RELN_SAMPLES, RELN_SAMPLES, true), RELN_STEP);
    refused(&f, "rows p: domain 1 is not a row domain of this graph");

    fixture_init(&f, "so:3", "so:3", RELN_F64);
    a = reln_rows(f.graph, "a", 4);
    b = reln_rows(f.graph, "b", 4);
    assert_null(reln_row_parent(f.graph, a, b));
    refused(&f, "row_parent: a are not below b");

    fixture_init(&f, "so:3", "so:3", RELN_F64);
    a = reln_rows(f.graph, "a", 4);
    assert_null(reln_pair_second(f.graph, a));
    refused(&f, "pair_second: a are no pairs");
}

/* A Sums computes, for each point i, the sum over the pairs (i, j) of tanh(x_i x_j), and the sum over the
 * given members of i of x_i. */
typedef struct Sums {
    Fixture f;
    RelnDomain points, pairs, members;
    RelnPlan *plan;
} Sums;

static void sums_init(Sums *s, int capacity, int tile)
{
    RelnNode *x, *y, *out;
    RelnGraph *body;

    fixture_init(&s->f, "so:3", "so:3", RELN_F64);
    s->points = reln_rows(s->f.graph, "points", capacity);
    s->pairs = reln_pairs(s->f.graph, "pairs", s->points, s->points, false);
    s->members = reln_members(s->f.graph, "members", s->points, 3, 3 * capacity);
    x = reln_input(s->f.graph, "x", s->points, (RelnDims){.c = 32}, NULL, RELN_DEFAULT);
    body = reln_fn_begin(s->f.graph, "pairs");
    y = reln_tanh(body, reln_mul(body, reln_spread(body, x, s->pairs),
                                 reln_spread_second(body, x, s->pairs)));
    out = reln_reduce(body, y, s->points);
    assert_true(reln_call(s->f.graph, reln_fn_end(body, 1, &out), 0, NULL, &out));
    reln_output(s->f.graph, "pairs", out);
    reln_output(s->f.graph, "members",
                reln_reduce(s->f.graph, reln_spread(s->f.graph, x, s->members), s->points));
    reln_output(s->f.graph, "degree", reln_reduce_count(s->f.graph, s->members, s->points));
    assert_ok(s->f.ctx, reln_plan_create(s->f.graph, &(RelnPlanOptions){.tile = tile}, &s->plan));
}

static void sums_clear(Sums *s)
{
    reln_plan_destroy(s->plan);
    fixture_clear(&s->f);
}

/* Memory for all pairs of 20,000 points would be 10^11 bytes, but a plan reserves only tiles and rows. Such a
 * plan also accepts samples with no, one or two points, and rows without members. */
static void memory_does_not_grow_with_pairs(void **state)
{
    enum { MANY = 20000 };
    static const int32_t counts[4] = {0, 1, 2, 3}, degrees[6] = {0, 2, 3, 0, 0, 1};
    double x[6 * 32];
    const double *out;
    uint64_t before;
    Sums s;

    (void)state;
    for (int i = 0; i < 6 * 32; i++)
        x[i] = i / 32 + 1;
    sums_init(&s, MANY, 0);
    assert_true((double)reln_plan_cost(s.plan).bytes_worker < 20.0 * MANY * 32 * sizeof(double));
    assert_ok(s.f.ctx, reln_plan_bind_rows_sized(s.plan, "points", counts, 4));
    assert_ok(s.f.ctx, reln_plan_bind_rows_sized(s.plan, "members", degrees, 6));
    assert_ok(s.f.ctx, reln_plan_bind_sized(s.plan, "x", x, RELN_F64, 6 * 32));
    assert_ok(s.f.ctx, reln_plan_reserve(s.plan, 4, 6));
    before = reln_ctx_allocations(s.f.ctx);
    assert_ok(s.f.ctx, reln_plan_run(s.plan, &(RelnRun){.n_samples = 4}));
    assert_true(reln_ctx_allocations(s.f.ctx) == before);
    out = reln_plan_output(s.plan, "pairs", NULL);
    assert_true(out[0] == 0.0);      /* a set of one has no pairs */
    assert_true(out[32] == out[64]); /* tanh(2 * 3) both */
    assert_true(out[32] > 0.99 && out[32] < 1.0);
    out = reln_plan_output(s.plan, "members", NULL);
    for (int i = 0; i < 6; i++)
        assert_true(out[(ptrdiff_t)i * 32] == degrees[i] * (i + 1.0));
    out = reln_plan_output(s.plan, "degree", NULL);
    for (int i = 0; i < 6; i++)
        assert_true(out[i] == degrees[i]);
    assert_int_equal(reln_plan_bind_rows(s.plan, "pairs", counts), RELN_ERR_ARG);
    assert_non_null(
        strstr(reln_ctx_error(s.f.ctx), "the number of rows pairs follows from others"));
    sums_clear(&s);
}

/* A sample has 20,000 rows, whose members are found row by row; the bits of each row equal those computed in
 * small tiles. */
static void a_large_set_runs(void **state)
{
    enum { MANY = 20000 };
    const int32_t count = MANY;
    int32_t *degrees = malloc(MANY * sizeof *degrees);
    double *x = malloc((size_t)MANY * 8 * sizeof *x),
           *want = malloc((size_t)MANY * 8 * sizeof *want);
    Fixture f;

    (void)state;
    assert_non_null(degrees);
    assert_non_null(x);
    assert_non_null(want);
    for (int i = 0; i < MANY; i++)
        degrees[i] = i % 4;
    for (int i = 0; i < MANY * 8; i++)
        x[i] = 0.001 * (i % 997);
    for (int tile = 0; tile <= 7; tile += 7) {
        RelnPlan *plan = NULL;
        RelnDomain points, members;
        RelnNode *in, *y;

        fixture_init(&f, "so:3", "so:3", RELN_F64);
        points = reln_rows(f.graph, "points", MANY);
        members = reln_members(f.graph, "members", points, 3, 3 * MANY);
        in = reln_input(f.graph, "x", points, (RelnDims){.c = 8}, NULL, RELN_DEFAULT);
        y = reln_softmax_within(f.graph, reln_spread(f.graph, in, members), points);
        reln_output(f.graph, "y", reln_reduce(f.graph, reln_square(f.graph, y), points));
        assert_ok(f.ctx, reln_plan_create(f.graph, &(RelnPlanOptions){.tile = tile}, &plan));
        assert_ok(f.ctx, reln_plan_bind_rows_sized(plan, "points", &count, 1));
        assert_ok(f.ctx, reln_plan_bind_rows_sized(plan, "members", degrees, MANY));
        assert_ok(f.ctx, reln_plan_bind_sized(plan, "x", x, RELN_F64, (size_t)MANY * 8));
        assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 1}));
        if (tile == 0)
            memcpy(want, reln_plan_output(plan, "y", NULL), (size_t)MANY * 8 * sizeof *want);
        else
            assert_memory_equal(want, reln_plan_output(plan, "y", NULL),
                                (size_t)MANY * 8 * sizeof *want);
        reln_plan_destroy(plan);
        fixture_clear(&f);
    }
    assert_true(want[0] == 0.0 && want[8] == 1.0); /* no member: 0; one: its share is all */
    free(degrees);
    free(x);
    free(want);
}

/* Numbers of rows below rows are checked in the same way as numbers of rows of samples. */
static void bad_counts_are_refused(void **state)
{
    static const int32_t one = 2, many[2] = {1, 4}, less[2] = {1, -1};
    double x[64] = {0};
    Sums s;

    (void)state;
    sums_init(&s, 8, 0);
    assert_ok(s.f.ctx, reln_plan_bind_rows_sized(s.plan, "points", &one, 1));
    assert_ok(s.f.ctx, reln_plan_bind_sized(s.plan, "x", x, RELN_F64, 64));
    assert_int_equal(reln_plan_run(s.plan, &(RelnRun){.n_samples = 1}), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(s.f.ctx), "rows members are not bound"));
    assert_ok(s.f.ctx, reln_plan_bind_rows_sized(s.plan, "members", many, 2));
    assert_int_equal(reln_plan_run(s.plan, &(RelnRun){.n_samples = 1}), RELN_ERR_ARG);
    assert_non_null(
        strstr(reln_ctx_error(s.f.ctx), "row 1 of points has 4 rows of members, wanted 0 to 3"));
    assert_ok(s.f.ctx, reln_plan_bind_rows_sized(s.plan, "members", less, 2));
    assert_int_equal(reln_plan_run(s.plan, &(RelnRun){.n_samples = 1}), RELN_ERR_ARG);
    assert_ok(s.f.ctx, reln_plan_bind_rows_sized(s.plan, "members", many, 1));
    assert_int_equal(reln_plan_run(s.plan, &(RelnRun){.n_samples = 1}), RELN_ERR_ARG);
    assert_non_null(
        strstr(reln_ctx_error(s.f.ctx), "rows members are bound for 1 points, wanted 2"));
    sums_clear(&s);
}

/* Rows below rows of one sample are at most the capacity, and an index is below the number of items that it points into. */
static void limits_are_exact(void **state)
{
    static const int32_t points = 2, most[2] = {2, 2}, more[2] = {3, 2};
    int32_t row[2] = {0, 1}, place[2] = {3, 0};
    double x[2] = {5, 7};
    RelnDomain rows, members;
    RelnNode *value;
    RelnPlan *plan = NULL;
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    rows = reln_rows(f.graph, "points", 8);
    members = reln_members(f.graph, "members", rows, 3, 4);
    value = reln_input(f.graph, "x", rows, (RelnDims){0}, NULL, RELN_DEFAULT);
    reln_output(f.graph, "sum", reln_reduce(f.graph, reln_spread(f.graph, value, members), rows));
    reln_output(f.graph, "other",
                reln_gather(f.graph, value,
                            reln_input_index(f.graph, "row", rows, (RelnDims){0}, rows, 0)));
    reln_output(f.graph, "placed",
                reln_place(f.graph, value,
                           reln_input_index(f.graph, "place", rows, (RelnDims){0}, RELN_STEP, 4),
                           RELN_C, 4));
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    assert_ok(f.ctx, reln_plan_bind_rows_sized(plan, "points", &points, 1));
    assert_ok(f.ctx, reln_plan_bind_sized(plan, "x", x, RELN_F64, 2));
    assert_ok(f.ctx, reln_plan_bind_sized(plan, "row", row, RELN_I32, 2));
    assert_ok(f.ctx, reln_plan_bind_sized(plan, "place", place, RELN_I32, 2));
    assert_ok(f.ctx, reln_plan_bind_rows_sized(plan, "members", more, 2));
    assert_int_equal(reln_plan_run(plan, &(RelnRun){.n_samples = 1}), RELN_ERR_ARG);
    assert_string_equal(reln_ctx_error(f.ctx),
                        "run: sample 0 has 5 rows of members, wanted 0 to 4");
    assert_ok(f.ctx, reln_plan_bind_rows_sized(plan, "members", most, 2));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 1}));
    row[1] = 2;
    assert_int_equal(reln_plan_run(plan, &(RelnRun){.n_samples = 1}), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(f.ctx), "index 2 of sample 0, wanted 0 to 1"));
    row[1] = 1;
    place[0] = 4;
    assert_int_equal(reln_plan_run(plan, &(RelnRun){.n_samples = 1}), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(f.ctx), "index 4 of sample 0, wanted 0 to 3"));
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_domain_is_refused),
        cmocka_unit_test(memory_does_not_grow_with_pairs),
        cmocka_unit_test(a_large_set_runs),
        cmocka_unit_test(bad_counts_are_refused),
        cmocka_unit_test(limits_are_exact),
    };

    return cmocka_run_group_tests_name("graph/domains", tests, NULL, NULL);
}
