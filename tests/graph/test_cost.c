/* Tests the reported cost of a plan: operations equal those counted by hand, memory equals the allocated
 * memory. */
#include "graph/fixture.h"

/* ---- operations ----------------------------------------------------------------------------------------------------- */

static RelnNode *invariants(Fixture *f, int channels)
{
    return reln_input(f->graph, "s", RELN_SAMPLES, (RelnDims){.c = channels}, NULL, RELN_DEFAULT);
}

static RelnCost cost_of(Fixture *f, const RelnPlanOptions *options)
{
    RelnPlan *plan = NULL;
    RelnCost cost;

    assert_ok(f->ctx, reln_plan_create(f->graph, options, &plan));
    cost = reln_plan_cost(plan);
    reln_plan_destroy(plan);
    return cost;
}

/* 5-7-3: 2 * (5*7 + 7*3) for the products, 7 + 3 biases, 7 relus; 35 + 7 + 21 + 3 parameters. */
static void a_small_network_costs_what_it_does_by_hand(void **state)
{
    const RelnMlp mlp = {.hidden = 1, .width = 7, .channels = 3, .activation = RELN_ACT_RELU};
    Fixture f;
    RelnCost cost;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    reln_output(f.graph, "y",
                reln_nn_mlp(&(RelnNet){.graph = f.graph}, "mlp", invariants(&f, 5), &mlp));
    (void)reln_param(f.graph, "unused", (RelnDims){.c = 100}, (RelnInit){0});
    cost = cost_of(&f, &(RelnPlanOptions){.shard = 10});
    assert_true(cost.flops_sample == 2 * (5 * 7 + 7 * 3) + 10 + 7);
    assert_true(cost.flops_step == 0);
    assert_int_equal(cost.parameters, 66);
    assert_int_equal(cost.shard, 10);
    /* products read x and write y, weights once for ten samples; biases and relus read and write */
    assert_true(cost.bytes_sample > 8 * (5 + 7 + 7 + 3) && cost.bytes_sample < 8 * (100 + 66));
    fixture_clear(&f);
}

/* A Hamiltonian by an MLP 12-128-128-128-1: 34,432 multiply-adds forward, as many again for its gradient in the state;
 * elementwise work is a few operations for each of 385 units. */
static void a_hamiltonian_costs_two_passes(void **state)
{
    enum { UNITS = 3 * 128 + 1, MACS = 12 * 128 + 2 * 128 * 128 + 128 };
    const RelnMlp mlp = {.hidden = 3, .width = 128, .channels = 1, .activation = RELN_ACT_TANH};
    RelnNode *z, *h, *grad = NULL;
    RelnCost cost;
    Fixture f;

    (void)state;
    assert_int_equal(MACS, 34432);
    fixture_init(&f, "so:3", "so:3", RELN_F32);
    z = invariants(&f, 12);
    h = reln_nn_mlp(&(RelnNet){.graph = f.graph}, "h", z, &mlp);
    reln_output(f.graph, "h", h);
    cost = cost_of(&f, NULL);
    assert_true(cost.flops_sample == 2 * MACS + UNITS + 3 * 128);
    assert_int_equal(cost.parameters, 34817);
    reln_grad(f.graph, h, 1, &z, &grad);
    reln_output(f.graph, "field", grad);
    cost = cost_of(&f, NULL);
    assert_true(cost.flops_sample >= 4 * MACS + 2 * UNITS &&
                cost.flops_sample <= 4 * MACS + 10 * UNITS);
    fixture_clear(&f);
}

/* A value of 128 kB for all rows of a sample leaves one sample for a shard, whichever domain the rows are of. Rows that
 * are counted in every batch are limited by their capacity instead. */
static int shard_of_rows(int points, int members, bool counted)
{
    RelnDomain d;
    RelnCost cost;
    Fixture f;

    fixture_init(&f, "so:3", "so:3", RELN_F32);
    d = counted ? reln_rows(f.graph, "points", points)
                : reln_fixed(f.graph, "points", RELN_SAMPLES, points);
    if (members > 1)
        d = reln_fixed(f.graph, "members", d, members);
    reln_output(
        f.graph, "y",
        reln_input(f.graph, "x", d, (RelnDims){.c = 16}, NULL, RELN_DEFAULT)); /* 64 bytes */
    cost = cost_of(&f, NULL);
    fixture_clear(&f);
    return cost.shard;
}

static void rows_of_a_sample_count_for_the_size_of_a_shard(void **state)
{
    (void)state;
    assert_int_equal(shard_of_rows(10, 1, false), 24);
    assert_int_equal(shard_of_rows(300, 1, false), 6);
    assert_int_equal(shard_of_rows(2048, 1, false), 1);
    assert_int_equal(shard_of_rows(64, 16, false), 2);
    assert_int_equal(shard_of_rows(1 << 20, 1 << 20, false), 1);
    assert_int_equal(shard_of_rows(64, 16, true), 24);
}

/* gl(3), 4 channels to 6 at 3 points: 2 * 9 * 4 * 6 for the mixing, 3 for every structure constant and channel. */
static void features_cost_coordinates_and_points(void **state)
{
    const RelnTensor3 *c;
    RelnNode *x;
    Fixture f;

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F32);
    c = reln_algebra_structure(f.algebra);
    x = reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.p = 3, .k = 9, .c = 4}, f.adjoint,
                   RELN_DEFAULT);
    x = reln_mix(
        f.graph, x,
        reln_param(f.graph, "w", (RelnDims){.r = 4, .c = 6}, (RelnInit){RELN_INIT_UNIFORM, 0.5}));
    reln_output(f.graph, "y", reln_bracket(f.graph, f.algebra, x, x));
    assert_true(cost_of(&f, NULL).flops_sample == 3.0 * (2 * 9 * 4 * 6 + 3 * c->count * 6));
    fixture_clear(&f);
}

static RelnFn *square_fn(RelnGraph *g)
{
    RelnGraph *body = reln_fn_begin(g, "square");
    RelnNode *x = reln_argument(body, RELN_SAMPLES, (RelnDims){.c = 6}, NULL, RELN_DEFAULT);
    RelnNode *w = reln_argument(body, RELN_STEP, (RelnDims){.r = 6, .c = 6}, NULL, RELN_DEFAULT);
    RelnNode *out = reln_mix(body, x, reln_mix(body, w, w));

    return reln_fn_end(body, 1, &out);
}

/* Returns the cost of the rows of the plan, which has one row domain. */
static RelnRowCost row_cost_of(Fixture *f, int shard, double *flops_sample)
{
    RelnPlan *plan = NULL;
    RelnRowCost row;

    assert_ok(f->ctx, reln_plan_create(f->graph, &(RelnPlanOptions){.shard = shard}, &plan));
    assert_int_equal(reln_plan_cost(plan).n_rows, 1);
    row = reln_plan_cost(plan).rows[0];
    *flops_sample = reln_plan_cost(plan).flops_sample;
    reln_plan_destroy(plan);
    return row;
}

/* Rows of 6 numbers are squared and summed over their sample: 6 + 6 operations for each row, however many
 * rows and samples a shard holds; squaring the sum is work of the sample. Then a function with 6 channels is
 * called on rows, 2 * 6 * 6 operations each, and its product of weights is computed once for 40 rows, 2 * 6 *
 * 6 * 6. */
static void rows_are_counted_by_row(void **state)
{
    RelnNode *x, *w, *y = NULL, *of;
    RelnDomain rows;
    RelnRowCost row;
    double sample;
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    rows = reln_rows(f.graph, "rows", 40);
    of = reln_row_sample(f.graph, rows);
    x = reln_input(f.graph, "x", rows, (RelnDims){.c = 6}, NULL, RELN_DEFAULT);
    w = reln_param(f.graph, "w", (RelnDims){.r = 6, .c = 6}, (RelnInit){RELN_INIT_UNIFORM, 0.5});
    x = reln_square(f.graph, x);
    reln_output(f.graph, "sum",
                reln_square(f.graph, reln_segment_sum(f.graph, x, of, RELN_SAMPLES)));
    for (int shard = 1; shard <= 100; shard *= 10) {
        row = row_cost_of(&f, shard, &sample);
        assert_string_equal(row.name, "rows");
        assert_true(row.flops == 6 + 6 && sample == 6);
        assert_true(row.bytes ==
                    8 * 3 * 6 + 4); /* x, its square twice, and the index of the sample */
    }
    assert_true(reln_call(f.graph, square_fn(f.graph), 2, (RelnNode *[]){x, w}, &y));
    reln_output(f.graph, "y", y);
    row = row_cost_of(&f, 10, &sample);
    assert_near(&row.flops, &(double){6 + 6 + 2 * 36 + 2 * 216 / 40.0}, 1, 1e-12);
    assert_true(sample == 6);
    fixture_clear(&f);
}

/* Rows of two domains are squared inside a function, 3 and 5 numbers each: every domain has the cost of its own rows. */
static void rows_inside_a_function_are_counted_by_row(void **state)
{
    static const int c[2] = {3, 5};
    RelnNode *in[2], *out[2];
    RelnDomain rows[2];
    RelnPlan *plan = NULL;
    RelnGraph *body;
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    for (int i = 0; i < 2; i++) {
        rows[i] = reln_rows(f.graph, i ? "edges" : "points", 40);
        in[i] = reln_input(f.graph, i ? "e" : "p", rows[i], (RelnDims){.c = c[i]}, NULL, RELN_DEFAULT);
    }
    body = reln_fn_begin(f.graph, "squares");
    for (int i = 0; i < 2; i++)
        out[i] = reln_square(
            body, reln_argument(body, rows[i], (RelnDims){.c = c[i]}, NULL, RELN_DEFAULT));
    assert_true(reln_call(f.graph, reln_fn_end(body, 2, out), 2, in, out));
    reln_output(f.graph, "p2", out[0]);
    reln_output(f.graph, "e2", out[1]);
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    assert_int_equal(reln_plan_cost(plan).n_rows, 2);
    for (int i = 0; i < 2; i++)
        assert_true(reln_plan_cost(plan).rows[i].flops == c[i]);
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

/* ---- memory --------------------------------------------------------------------------------------------------------- */

/* Plans four brackets of 64 channels with all gradients. The bound adds the memory of the programs, at most 1 kB for each instruction in
 * chunks of 16 kB, of which the last may be empty, and a list of at most one shard for each sample. */
static void memory_is_as_planned(void **state)
{
    enum { SAMPLES = 200, WIDTH = 64, THREADS = 3, CHUNK = 16 * 1024 };
    static float x[SAMPLES * 9 * WIDTH];
    CountingHeap heap = {0, 0};
    const RelnAllocator allocator = counting_allocator(&heap);
    RelnCtx *ctx = NULL;
    RelnPool *pool = NULL;
    RelnPlan *plan = NULL;
    RelnNode *y;
    RelnCost cost;
    Fixture f;
    size_t before, planned;

    (void)state;
    assert_int_equal(reln_ctx_create(&allocator, &ctx), RELN_OK);
    assert_ok(ctx, fixture_build(&f, ctx, "gl:3", "gl:3", RELN_F32));
    assert_ok(ctx, reln_pool_create(ctx, THREADS, &pool));
    y = reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.k = 9, .c = WIDTH}, f.adjoint,
                   RELN_DEFAULT);
    for (int i = 0; i < 4; i++)
        y = reln_nn_bracket(&(RelnNet){.graph = f.graph, .algebra = f.algebra},
                            (const char *[]){"a", "b", "c", "d"}[i], y);
    reln_output(f.graph, "y", y);
    y = reln_batch_mean(
        f.graph,
        reln_sum(f.graph, reln_form(f.graph, f.algebra, RELN_FORM_COMPLETED, y, y), RELN_C));
    reln_adam_all(f.graph, NULL, reln_scalar(f.graph, 0.0), y);
    assert_ok(ctx, reln_graph_status(f.graph));
    before = heap.live;
    assert_ok(ctx, reln_plan_create(f.graph, &(RelnPlanOptions){.pool = pool}, &plan));
    assert_ok(ctx, reln_plan_bind(plan, "x", x, RELN_F32));
    assert_ok(ctx, reln_plan_run(plan, &(RelnRun){.n_samples = SAMPLES}));
    cost = reln_plan_cost(plan);
    planned = THREADS * cost.bytes_worker + cost.bytes_shared + cost.bytes_kept;
    assert_true(cost.bytes_kept >= sizeof x); /* y of every sample */
    assert_true(heap.live - before >= planned);
    assert_true(heap.peak - before <=
                planned + (size_t)cost.instructions * 1024 + CHUNK + SAMPLES * 64);
    reln_plan_destroy(plan);
    assert_int_equal(heap.live, before);
    reln_pool_destroy(pool);
    fixture_clear(&f);
    assert_int_equal(heap.live, 0);
}

/* Batch norms divide a step into phases. Of each layer only the product is kept: the elementwise nodes after
 * it are computed again. Gradients need more memory for one layer at a time, which all layers share. */
static void check_kept(bool of_rows)
{
    enum { LAYERS = 8, WIDTH = 16, SAMPLES = 50, EACH = 3, SHARED = 3 };
    static const char *const names[LAYERS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static float x[SAMPLES * EACH * WIDTH];
    const double one = (double)sizeof x / (of_rows ? 1 : EACH); /* bytes of a value */
    int32_t counts[SAMPLES];
    RelnDomain domain = RELN_SAMPLES;
    RelnNet net;
    RelnNode *y;
    RelnPlan *plan = NULL;
    Fixture f;

    fixture_init(&f, "so:3", "so:3", RELN_F32);
    net = (RelnNet){.graph = f.graph, .train = true};
    if (of_rows)
        domain = reln_rows(f.graph, "rows", EACH);
    y = reln_input(f.graph, "s", domain, (RelnDims){.c = WIDTH}, NULL, RELN_DEFAULT);
    for (int i = 0; i < LAYERS; i++) {
        y = reln_nn_linear(&net, names[i], y, WIDTH);
        y = reln_relu(f.graph, reln_nn_batch_norm_invariants(&net, names[i], y, NULL));
    }
    y = reln_sum_all(f.graph, reln_square(f.graph, y));
    if (of_rows)
        y = reln_reduce(f.graph, y, RELN_SAMPLES);
    reln_adam_all(f.graph, NULL, reln_scalar(f.graph, 1e-3), reln_batch_mean(f.graph, y));
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    for (int i = 0; i < SAMPLES; i++)
        counts[i] = EACH;
    if (of_rows)
        assert_ok(f.ctx, reln_plan_bind_rows(plan, "rows", counts));
    assert_ok(f.ctx, reln_plan_bind(plan, "s", x, RELN_F32));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = SAMPLES}));
    assert_true((double)reln_plan_cost(plan).bytes_kept <= (LAYERS + SHARED) * one);
    assert_true((double)reln_plan_cost(plan).bytes_kept >= (LAYERS - 1) * one);
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

static void deep_networks_keep_one_value_for_each_layer(void **state)
{
    (void)state;
    check_kept(false);
}

static void deep_networks_of_rows_keep_one_value_for_each_layer(void **state)
{
    (void)state;
    check_kept(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_network_costs_what_it_does_by_hand),
        cmocka_unit_test(a_hamiltonian_costs_two_passes),
        cmocka_unit_test(rows_of_a_sample_count_for_the_size_of_a_shard),
        cmocka_unit_test(features_cost_coordinates_and_points),
        cmocka_unit_test(rows_are_counted_by_row),
        cmocka_unit_test(rows_inside_a_function_are_counted_by_row),
        cmocka_unit_test(memory_is_as_planned),
        cmocka_unit_test(deep_networks_keep_one_value_for_each_layer),
        cmocka_unit_test(deep_networks_of_rows_keep_one_value_for_each_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
