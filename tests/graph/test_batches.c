/* Tests batches: empty, single, growing and shrinking ones, sets of rows, and more threads than work. */
#include <math.h>
#include <string.h>

#include "graph/fixture.h"

enum { MOST = 40, POINTS = 7, EDGES = 12, C = 3 };

/* A Net is a graph network on sets: points gather from their sample, edges gather from two points, and sums
 * lead back to points and samples. */
typedef struct Net {
    Fixture f;
    RelnPlan *plan;
    double x[MOST * 3 * C], p[MOST * POINTS * 3 * C], v[MOST * POINTS * 3 * C];
    int32_t points[MOST], edges[MOST], ends[2][MOST * EDGES];
} Net;

static RelnFn *pair_fn(const Fixture *f)
{
    RelnGraph *body = reln_fn_begin(f->graph, "pair");
    const RelnDims dims = {.k = 3, .c = C};
    RelnNode *a, *b, *w, *out;

    if (!body)
        return NULL;
    a = reln_argument(body, RELN_SAMPLES, dims, f->adjoint, RELN_DEFAULT);
    b = reln_argument(body, RELN_SAMPLES, dims, f->adjoint, RELN_DEFAULT);
    w = reln_argument(body, RELN_STEP, (RelnDims){.r = C, .c = C}, NULL, RELN_DEFAULT);
    out = reln_bracket(body, f->algebra, reln_mix(body, a, w), b);
    out = reln_add(
        body, out,
        reln_mul(body, a, reln_tanh(body, reln_form(body, f->algebra, RELN_FORM_COMPLETED, a, b))));
    return reln_fn_end(body, 1, &out);
}

/* Computes messages along edges, by a function, from x of samples and p of points; a norm uses all edges of
 * the batch. */
static RelnNode *messages(Net *n, RelnNode *x, RelnNode *p, RelnNode *w)
{
    RelnGraph *g = n->f.graph;
    const RelnNet net = {.graph = g, .algebra = n->f.algebra, .train = true};
    const RelnDomain points = reln_rows(g, "points", 2 * POINTS),
                     edges = reln_rows(g, "edges", 3 * EDGES);
    RelnNode *of = reln_row_sample(g, points), *m = NULL;
    RelnNode *from = reln_input_index(g, "from", edges, (RelnDims){0}, points, 0);
    RelnNode *to = reln_input_index(g, "to", edges, (RelnDims){0}, points, 0);

    p = reln_add(g, p, reln_gather(g, x, of));
    if (!reln_call(g, pair_fn(&n->f), 3,
                   (RelnNode *[]){reln_gather(g, p, from), reln_gather(g, p, to), w}, &m))
        return NULL;
    m = reln_nn_batch_norm(&net, "norm", m, RELN_NORM_INVARIANT);
    p = reln_add(g, p, reln_segment_mean(g, m, to, points));
    reln_output(g, "p", p);
    return reln_segment_sum(g, p, of, RELN_SAMPLES);
}

static RelnStatus net_build(Net *n, RelnCtx *ctx, const RelnPlanOptions *options)
{
    RelnStatus status = fixture_build(&n->f, ctx, "so:3", "so:3", RELN_F64);
    const RelnDims dims = {.k = 3, .c = C};
    RelnGraph *g = n->f.graph;
    RelnNode *x, *p, *w, *y, *loss, *grads[3] = {NULL}, *hv[3] = {NULL};
    RelnDomain points;

    if (status != RELN_OK)
        return status;
    points = reln_rows(g, "points", 2 * POINTS);
    x = reln_input(g, "x", RELN_SAMPLES, dims, n->f.adjoint, RELN_DEFAULT);
    p = reln_input(g, "rows", points, dims, n->f.adjoint, RELN_DEFAULT);
    w = reln_param(g, "w", (RelnDims){.r = C, .c = C}, (RelnInit){RELN_INIT_NORMAL, 0.5});
    y = messages(n, x, p, w);
    reln_output(g, "y", y);
    loss = reln_form(g, n->f.algebra, RELN_FORM_COMPLETED, y, y);
    loss = reln_batch_sum(g, reln_sum_all(g, reln_sin(g, reln_scale(g, loss, 0.1))));
    reln_output(g, "loss", loss);
    reln_grad(g, loss, 3, (RelnNode *[]){x, p, w}, grads);
    reln_output(g, "gx", grads[0]);
    reln_output(g, "gp", grads[1]);
    reln_output(g, "gw", grads[2]);
    loss = reln_batch_sum(g, reln_sum_all(g, reln_pair(g, grads[1],
                                                       reln_input(g, "v", points, dims,
                                                                  n->f.adjoint, RELN_DEFAULT))));
    reln_output(g, "s", loss);
    reln_grad(g, loss, 3, (RelnNode *[]){x, p, w}, hv);
    reln_output(g, "hx", hv[0]);
    reln_output(g, "hp", hv[1]);
    reln_output(g, "hw", hv[2]);
    return reln_plan_create(g, options, &n->plan);
}

/* Draws sets of 0 to POINTS points with edges between them; a set without points has no edges. */
static void net_fill(Net *n)
{
    RelnRng rng = reln_rng(3, 1);
    int e = 0;

    fill_normal(&rng, MOST * 3 * C, n->x);
    fill_normal(&rng, MOST * POINTS * 3 * C, n->p);
    fill_normal(&rng, MOST * POINTS * 3 * C, n->v);
    for (int i = 0; i < MOST; i++) {
        n->points[i] = (3 * i + 2) % (POINTS + 1);
        n->edges[i] = n->points[i] ? (5 * i) % (EDGES + 1) : 0;
        for (int k = 0; k < n->edges[i]; k++, e++)
            for (int s = 0; s < 2; s++)
                n->ends[s][e] = (int32_t)reln_rng_below(&rng, (uint64_t)n->points[i]);
    }
}

static RelnStatus net_bind(Net *n)
{
    RELN_TRY(reln_plan_bind(n->plan, "x", n->x, RELN_F64));
    RELN_TRY(reln_plan_bind(n->plan, "rows", n->p, RELN_F64));
    RELN_TRY(reln_plan_bind(n->plan, "v", n->v, RELN_F64));
    RELN_TRY(reln_plan_bind(n->plan, "from", n->ends[0], RELN_I32));
    RELN_TRY(reln_plan_bind(n->plan, "to", n->ends[1], RELN_I32));
    RELN_TRY(reln_plan_bind_rows(n->plan, "points", n->points));
    return reln_plan_bind_rows(n->plan, "edges", n->edges);
}

static void net_init(Net *n, const RelnPlanOptions *options)
{
    RelnCtx *ctx = NULL;

    memset(n, 0, sizeof *n);
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, net_build(n, ctx, options));
    net_fill(n);
    assert_ok(ctx, net_bind(n));
}

static void net_clear(Net *n)
{
    reln_plan_destroy(n->plan);
    fixture_clear(&n->f);
}

static void net_run(Net *n, int n_samples)
{
    assert_ok(n->f.ctx, reln_plan_run(n->plan, &(RelnRun){.n_samples = n_samples}));
}

static uint64_t hash(const Net *n)
{
    static const char *const names[] = {"p", "y", "loss", "gx", "gp", "gw", "s", "hx", "hp", "hw"};
    uint64_t h = RELN_HASH_SEED;

    for (int i = 0; i < 10; i++) {
        ptrdiff_t items = 0;
        const void *values = reln_plan_output(n->plan, names[i], &items);
        const size_t each = strchr("ls", names[i][0]) ? 1 : strchr(names[i], 'w') ? C * C : 3 * C;

        h = reln_hash(h, values, (size_t)items * each * sizeof(double));
    }
    return h;
}

/* ---- sets, calls and statistics to second order -------------------------------------------------------------------- */

static double difference(Net *n, int n_samples, const char *name, double *x)
{
    static const double step[4] = {1, -1, 2, -2};
    const double at = *x, h = 1e-3;
    double f[4];

    for (int i = 0; i < 4; i++) {
        *x = at + step[i] * h;
        net_run(n, n_samples);
        f[i] = *(const double *)reln_plan_output(n->plan, name, NULL);
    }
    *x = at;
    return (8 * (f[0] - f[1]) - (f[2] - f[3])) / (12 * h);
}

/* Compares gradient `name` of output `of` with differences in every seventh number of x. The tolerances 1e-7
 * and 1e-6 are those of single ops. */
static void check_gradient(Net *n, const char *of, const char *name, double *x, int count,
                           double tol)
{
    enum { SAMPLES = 6 };
    double got[MOST * 3 * C], scale = 1;

    net_run(n, SAMPLES);
    memcpy(got, reln_plan_output(n->plan, name, NULL), (size_t)count * sizeof *got);
    for (int i = 0; i < count; i++)
        scale = fmax(scale, fabs(got[i]));
    for (int i = 0; i < count; i += 7)
        assert_small(difference(n, SAMPLES, of, &x[i]) - got[i], tol * scale);
}

static void second_order_through_edges_and_points_matches_differences(void **state)
{
    RelnEntryInfo w;
    int rows = 0;
    Net n;

    (void)state;
    net_init(&n, NULL);
    for (int i = 0; i < 6; i++)
        rows += n.points[i];
    assert_true(reln_store_find(n.f.store, "w", &w));
    check_gradient(&n, "loss", "gx", n.x, 6 * 3 * C, 1e-7);
    check_gradient(&n, "loss", "gp", n.p, rows * 3 * C, 1e-7);
    check_gradient(&n, "loss", "gw", w.values, C * C, 1e-7);
    check_gradient(&n, "s", "hx", n.x, 6 * 3 * C, 1e-6);
    check_gradient(&n, "s", "hp", n.p, rows * 3 * C, 1e-6);
    check_gradient(&n, "s", "hw", w.values, C * C, 1e-6);
    net_clear(&n);
}

/* ---- sizes --------------------------------------------------------------------------------------------------------- */

/* A plan that has run larger and smaller batches gives the same bits as a new plan. */
static void a_plan_serves_batches_of_every_size(void **state)
{
    static const int sizes[] = {0, 1, 5, MOST, 2, 0, 17, 1, MOST};
    Net n, fresh;

    (void)state;
    net_init(&n, &(RelnPlanOptions){.shard = 4});
    for (int i = 0; i < 9; i++) {
        ptrdiff_t items = -1, rows = 0, seen = -1;

        net_run(&n, sizes[i]);
        net_init(&fresh, &(RelnPlanOptions){.shard = 4});
        net_run(&fresh, sizes[i]);
        assert_true(hash(&n) == hash(&fresh));
        for (int s = 0; s < sizes[i]; s++)
            rows += n.points[s];
        (void)reln_plan_output(n.plan, "y", &items);
        (void)reln_plan_output(n.plan, "p", &seen);
        assert_int_equal(items, sizes[i]);
        assert_int_equal(seen, rows);
        net_clear(&fresh);
    }
    net_clear(&n);
}

static void an_empty_batch_sums_to_nothing(void **state)
{
    Net n;
    const double *gw;

    (void)state;
    net_init(&n, NULL);
    net_run(&n, 0);
    assert_true(*(const double *)reln_plan_output(n.plan, "loss", NULL) == 0);
    gw = reln_plan_output(n.plan, "gw", NULL);
    for (int i = 0; i < C * C; i++)
        assert_true(gw[i] == 0);
    net_clear(&n);
}

/* More threads than lanes, lanes than shards, shards than samples. */
static void threads_without_work_change_nothing(void **state)
{
    static const int threads[] = {1, 2, 3, 7, 16}, sizes[] = {1, 3, MOST};

    (void)state;
    for (int s = 0; s < 3; s++) {
        uint64_t want = 0;

        for (int t = 0; t < 5; t++) {
            RelnCtx *ctx = NULL;
            RelnPool *pool = NULL;
            Net n;

            assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
            assert_ok(ctx, reln_pool_create(ctx, threads[t], &pool));
            net_init(&n, &(RelnPlanOptions){.pool = pool, .shard = 2});
            net_run(&n, sizes[s]);
            want = t == 0 ? hash(&n) : want;
            assert_true(hash(&n) == want);
            net_clear(&n);
            reln_pool_destroy(pool);
            reln_ctx_destroy(ctx);
        }
    }
}

/* ---- what an output is --------------------------------------------------------------------------------------------- */

/* Outputs may be views of an input, of a kept value or of step values, and constants. */
static void outputs_may_be_views(void **state)
{
    Fixture f;
    RelnPlan *plan = NULL;
    RelnNode *x, *y, *sum;
    double values[5 * 6], want = 0;
    const double *in, *out, *total, *half;

    (void)state;
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    x = reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.p = 2, .c = 3}, NULL, RELN_DEFAULT);
    y = reln_square(f.graph, x);
    sum = reln_batch_sum(f.graph, reln_sub(f.graph, y, reln_batch_mean(f.graph, y)));
    reln_output(f.graph, "in", reln_reshape(f.graph, x, (RelnDims){.c = 6}));
    reln_output(f.graph, "out", reln_reshape(f.graph, y, (RelnDims){.c = 6}));
    reln_output(f.graph, "same", y);
    reln_output(f.graph, "total",
                reln_reshape(f.graph, reln_batch_sum(f.graph, y), (RelnDims){.c = 6}));
    reln_output(f.graph, "zero", reln_reshape(f.graph, sum, (RelnDims){.r = 6}));
    reln_output(f.graph, "half", reln_scalar(f.graph, 0.5));
    assert_ok(f.ctx, reln_plan_create(f.graph, &(RelnPlanOptions){.shard = 2}, &plan));
    for (int i = 0; i < 30; i++)
        values[i] = i - 7;
    assert_ok(f.ctx, reln_plan_bind(plan, "x", values, RELN_F64));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 5}));
    in = reln_plan_output(plan, "in", NULL);
    out = reln_plan_output(plan, "out", NULL);
    total = reln_plan_output(plan, "total", NULL);
    half = reln_plan_output(plan, "half", NULL);
    for (int i = 0; i < 30; i++) {
        assert_true(in[i] == values[i] && out[i] == values[i] * values[i]);
        want += i % 6 == 4 ? out[i] : 0;
    }
    assert_ptr_equal(out, reln_plan_output(plan, "same", NULL));
    assert_true(total[4] == want && *half == 0.5);
    total = reln_plan_output(plan, "zero", NULL);
    for (int i = 0; i < 6; i++)
        assert_small(total[i], 1e-12);
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

static RelnStatus whole_life(RelnCtx *ctx)
{
    static Net n;
    RelnStatus status;

    memset(&n, 0, sizeof n);
    status = net_build(&n, ctx, NULL);
    net_fill(&n);
    if (status == RELN_OK)
        status = net_bind(&n);
    for (int i = 0; i < 3 && status == RELN_OK; i++)
        status = reln_plan_run(n.plan, &(RelnRun){.n_samples = 4 * i});
    reln_plan_destroy(n.plan);
    fixture_release(&n.f);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(whole_life) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_order_through_edges_and_points_matches_differences),
        cmocka_unit_test(a_plan_serves_batches_of_every_size),
        cmocka_unit_test(an_empty_batch_sums_to_nothing),
        cmocka_unit_test(threads_without_work_change_nothing),
        cmocka_unit_test(outputs_may_be_views),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
