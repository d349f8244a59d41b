/* Tests frozen plans: they have the same bits as plans that are not frozen, whatever happens to the store
 * afterwards. */
#include <pthread.h>
#include <string.h>

#include "graph/fixture.h"

/* There are enough channels for a product of weights to pay off: with two, a and b would be joined to one
 * matrix, and b would never be packed. */
enum { N = 7, C = 40, WIDE = 40 };

typedef struct Net {
    Fixture f;
    RelnPool *pool;
    RelnPlan *plan;
    double x[N * 3 * C], size;
} Net;

static RelnNode *weights(RelnGraph *g, const char *name, int from, int to)
{
    return reln_param(g, name, (RelnDims){.r = from, .c = to}, (RelnInit){RELN_INIT_NORMAL, 0.3});
}

/* Builds a product of weights, which can be frozen; weights times an input of the step, which cannot; a
 * running mean; random numbers at both levels; and the gradient with respect to x. */
static void build(Net *s)
{
    RelnGraph *g = s->f.graph;
    RelnNode *x =
        reln_input(g, "x", RELN_SAMPLES, (RelnDims){.k = 3, .c = C}, s->f.adjoint, RELN_DEFAULT);
    RelnNode *size = reln_input(g, "size", RELN_STEP, (RelnDims){0}, NULL, RELN_DEFAULT);
    RelnNode *mean =
        reln_state(g, "mean", (RelnDims){.c = WIDE}, (RelnInit){RELN_INIT_CONSTANT, 0.5});
    RelnNode *h =
        reln_mix(g, reln_mix(g, x, weights(g, "a", C, WIDE)), weights(g, "b", WIDE, WIDE));
    RelnNode *t, *grad = NULL;

    h = reln_mix(g, h, reln_mul(g, size, weights(g, "c", WIDE, WIDE)));
    t = reln_sub(g, reln_form(g, s->f.algebra, RELN_FORM_COMPLETED, h, h), mean);
    t = reln_sum(g, reln_mul(g, reln_tanh(g, t), reln_exp(g, reln_scale(g, mean, -1.0))), RELN_C);
    t = reln_mul(g, t, reln_random_normal(g, RELN_STEP, (RelnDims){0}, 5));
    reln_grad(g, t, 1, &x, &grad);
    reln_output(g, "t", t);
    reln_output(g, "grad", grad);
    reln_output(g, "total", reln_batch_sum(g, t));
    reln_output(g, "mean", mean);
}

static void make(Net *s, int threads)
{
    RelnRng rng = reln_rng(4, 0);

    memset(s, 0, sizeof *s);
    fixture_init(&s->f, "so:3", "so:3", RELN_F64);
    fill_normal(&rng, N * 3 * C, s->x);
    s->size = 0.7;
    build(s);
    assert_ok(s->f.ctx, reln_pool_create(s->f.ctx, threads, &s->pool));
    assert_ok(s->f.ctx, reln_plan_create(
                            s->f.graph, &(RelnPlanOptions){.pool = s->pool, .shard = 2}, &s->plan));
    assert_ok(s->f.ctx, reln_plan_bind(s->plan, "x", s->x, RELN_F64));
    assert_ok(s->f.ctx, reln_plan_bind(s->plan, "size", &s->size, RELN_F64));
}

static void clear(Net *s)
{
    reln_plan_destroy(s->plan);
    reln_pool_destroy(s->pool);
    fixture_clear(&s->f);
}

static void run(Net *s, uint64_t step)
{
    assert_ok(s->f.ctx,
              reln_plan_run(s->plan, &(RelnRun){.n_samples = N, .seed = 3, .step = step}));
}

static bool same(const Net *a, const Net *b)
{
    static const struct {
        const char *name;
        size_t count;
    } outputs[] = {{"t", N}, {"grad", N * 3 * C}, {"total", 1}, {"mean", WIDE}};
    bool equal = true;

    for (int i = 0; i < 4; i++)
        equal = equal && memcmp(reln_plan_output(a->plan, outputs[i].name, NULL),
                                reln_plan_output(b->plan, outputs[i].name, NULL),
                                outputs[i].count * sizeof(double)) == 0;
    return equal;
}

/* Changes every array of the store. */
static void disturb(Net *s)
{
    for (int i = 0; i < reln_store_count(s->f.store); i++) {
        const RelnEntryInfo entry = reln_store_entry(s->f.store, i);

        for (size_t j = 0; j < entry.count; j++)
            ((double *)entry.values)[j] += 0.01;
    }
}

static void frozen_plans_give_the_same_bits(void **state)
{
    Net live, frozen;

    (void)state;
    make(&live, 1);
    make(&frozen, 3);
    assert_ok(frozen.f.ctx, reln_plan_freeze(frozen.plan));
    for (uint64_t step = 0; step < 4; step++) {
        /* freezing does not affect data, inputs of the step and random numbers */
        live.x[step] = frozen.x[step] = 0.3;
        live.size = frozen.size = 0.5 + 0.1 * (double)step;
        run(&live, step);
        run(&frozen, step);
        assert_true(same(&live, &frozen));
    }
    clear(&live);
    clear(&frozen);
}

static void the_store_is_seen_when_frozen_again(void **state)
{
    Net live, frozen;

    (void)state;
    make(&live, 1);
    make(&frozen, 1);
    assert_ok(frozen.f.ctx, reln_plan_freeze(frozen.plan));
    run(&live, 0);
    disturb(&frozen);
    for (
        int i = 0; i < 2;
        i++) { /* a change matters neither in the first run, which computes frozen values, nor in the second */
        run(&frozen, 0);
        assert_true(same(&live, &frozen));
    }
    disturb(&live);
    run(&live, 0);
    assert_false(same(&live, &frozen));
    assert_ok(frozen.f.ctx, reln_plan_freeze(frozen.plan));
    run(&frozen, 0);
    assert_true(same(&live, &frozen));
    clear(&live);
    clear(&frozen);
}

static void plans_that_change_the_store_are_refused(void **state)
{
    RelnPlan *plan = NULL;
    RelnNode *w;
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    w = reln_param(f.graph, "w", (RelnDims){.c = 3}, (RelnInit){RELN_INIT_NORMAL, 1.0});
    reln_adam_all(f.graph, NULL, reln_scalar(f.graph, 0.1),
                  reln_sum(f.graph, reln_square(f.graph, w), RELN_C));
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    assert_int_equal(reln_plan_freeze(plan), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(f.ctx), "1 optimisers and 0 assignments"));
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

static RelnStatus freeze_somewhere(RelnCtx *ctx)
{
    RelnPlan *plan = NULL;
    Fixture f;
    RelnStatus status = fixture_build(&f, ctx, "so:3", "so:3", RELN_F64);

    if (status == RELN_OK) {
        reln_output(f.graph, "w", reln_scale(f.graph, weights(f.graph, "w", 3, 3), 2.0));
        status = reln_plan_create(f.graph, NULL, &plan);
    }
    if (status == RELN_OK)
        status = reln_plan_freeze(plan);
    if (status == RELN_OK)
        status = reln_plan_run(plan, &(RelnRun){0});
    reln_plan_destroy(plan);
    fixture_release(&f);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(freeze_somewhere) > 10);
}

/* ---- in several threads ---------------------------------------------------------------------------------------------- */

enum { THREADS = 7, RUNS = 20 };

/* A Job holds the plan of one thread, its batch, and its results. */
typedef struct Job {
    RelnPlan *plan;
    double x[N * 3 * C], t[N], size;
    RelnStatus status;
} Job;

static void run_job(Job *job)
{
    job->status = reln_plan_run(job->plan, &(RelnRun){.n_samples = N, .seed = 2});
    if (job->status == RELN_OK)
        memcpy(job->t, reln_plan_output(job->plan, "t", NULL), sizeof job->t);
}

static void *run_often(void *self)
{
    Job *job = self;

    for (int i = 0; i < RUNS && job->status == RELN_OK; i++)
        run_job(job);
    return NULL;
}

/* Plans of one graph and one store, each with its own batch, give the same bits at the same time as one after
 * another. With -fsanitize=thread, this tests that the shared data are only read. */
static void frozen_plans_run_at_the_same_time(void **state)
{
    static Job jobs[THREADS];
    static double alone[THREADS][N];
    pthread_t threads[THREADS];
    RelnRng rng = reln_rng(9, 0);
    Net net;

    (void)state;
    make(&net, 1);
    memset(jobs, 0, sizeof jobs);
    for (int i = 0; i < THREADS; i++) {
        fill_normal(&rng, N * 3 * C, jobs[i].x);
        jobs[i].size = 0.7;
        assert_ok(net.f.ctx, reln_plan_create(net.f.graph, NULL, &jobs[i].plan));
        assert_ok(net.f.ctx, reln_plan_freeze(jobs[i].plan));
        assert_ok(net.f.ctx, reln_plan_bind(jobs[i].plan, "x", jobs[i].x, RELN_F64));
        assert_ok(net.f.ctx, reln_plan_bind(jobs[i].plan, "size", &jobs[i].size, RELN_F64));
        run_job(&jobs[i]);
        assert_ok(net.f.ctx, jobs[i].status);
        memcpy(alone[i], jobs[i].t, sizeof alone[i]);
        assert_ok(
            net.f.ctx,
            reln_plan_freeze(
                jobs[i]
                    .plan)); /* frozen again, so that the first run in a thread packs the weights */
    }
    assert_memory_not_equal(alone[0], alone[1], sizeof alone[0]);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, &jobs[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_ok(net.f.ctx, jobs[i].status);
        assert_memory_equal(jobs[i].t, alone[i], sizeof alone[i]);
        reln_plan_destroy(jobs[i].plan);
    }
    clear(&net);
}

enum { LARGE = 256, PLANS = 4 };

/* Builds y = x W with W (LARGE, LARGE), which is much larger than anything else in the plan. */
static RelnStatus build_large(Fixture *f, RelnCtx *ctx)
{
    RelnNode *x;

    if (fixture_build(f, ctx, "so:3", "so:3", RELN_F64) != RELN_OK)
        return RELN_ERR_NOMEM;
    x = reln_input(f->graph, "x", RELN_SAMPLES, (RelnDims){.c = LARGE}, NULL, RELN_DEFAULT);
    reln_output(f->graph, "y", reln_mix(f->graph, x, weights(f->graph, "W", LARGE, LARGE)));
    return RELN_OK;
}

/* Every frozen plan takes the memory that its cost states, and running takes none: plans in several threads do not compete for
 * memory. The store's weights exist once. */
static void frozen_plans_take_the_memory_of_their_cost(void **state)
{
    enum { PROGRAM = 64 << 10 }; /* instructions and lists of a plan of three nodes */
    static double x[N * LARGE];
    CountingHeap heap = {0};
    const RelnAllocator allocator = counting_allocator(&heap);
    RelnPlan *plans[PLANS] = {0};
    RelnCtx *ctx = NULL;
    Fixture f;

    (void)state;
    assert_int_equal(reln_ctx_create(&allocator, &ctx), RELN_OK);
    assert_ok(ctx, build_large(&f, ctx));
    for (int i = 0; i < PLANS; i++) {
        const size_t before = heap.live;
        RelnCost cost;

        assert_ok(ctx, reln_plan_create(f.graph, NULL, &plans[i]));
        assert_ok(ctx, reln_plan_freeze(plans[i]));
        assert_ok(ctx, reln_plan_bind(plans[i], "x", x, RELN_F64));
        assert_ok(ctx, reln_plan_run(plans[i], &(RelnRun){.n_samples = N}));
        cost = reln_plan_cost(plans[i]);
        if (i > 0) /* the first plan makes the weights of the store */
            assert_in_range(heap.live - before, cost.bytes_shared,
                            cost.bytes_shared + cost.bytes_worker + cost.bytes_kept + PROGRAM);
    }
    for (int i = 0; i < PLANS; i++) {
        const size_t before = heap.live;

        heap.peak = heap.live;
        assert_ok(ctx, reln_plan_run(plans[i], &(RelnRun){.n_samples = N}));
        assert_int_equal(heap.peak, before);
    }
    for (int i = 0; i < PLANS; i++)
        reln_plan_destroy(plans[i]);
    fixture_clear(&f);
}

/* ---- indices of 64 bits ------------------------------------------------------------------------------------------------ */

/* Indices may be i64. An index that fits i32 only after losing its upper half is refused. */
static void indices_may_have_64_bits(void **state)
{
    static const int32_t narrow[] = {2, 0, 1};
    int64_t wide[] = {2, 0, 1};
    double first[3];
    RelnPlan *plan = NULL;
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    reln_output(f.graph, "y",
                reln_pick(f.graph,
                          reln_const(f.graph, (RelnDims){.c = 3}, NULL, (double[]){5, 6, 7}),
                          reln_input_index(f.graph, "i", RELN_SAMPLES, (RelnDims){0}, RELN_STEP, 3),
                          RELN_C));
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    assert_ok(f.ctx, reln_plan_bind_sized(plan, "i", narrow, RELN_I32, 3));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 3}));
    memcpy(first, reln_plan_output(plan, "y", NULL), sizeof first);
    assert_true(first[0] == 7 && first[1] == 5 && first[2] == 6);
    assert_ok(f.ctx, reln_plan_bind_sized(plan, "i", wide, RELN_I64, 3));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 3}));
    assert_memory_equal(reln_plan_output(plan, "y", NULL), first, sizeof first);
    wide[1] = ((int64_t)1 << 32) + 1;
    assert_int_equal(reln_plan_run(plan, &(RelnRun){.n_samples = 3}), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(f.ctx), "index 4294967297 of sample 1"));
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frozen_plans_give_the_same_bits),
        cmocka_unit_test(the_store_is_seen_when_frozen_again),
        cmocka_unit_test(plans_that_change_the_store_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(frozen_plans_run_at_the_same_time),
        cmocka_unit_test(frozen_plans_take_the_memory_of_their_cost),
        cmocka_unit_test(indices_may_have_64_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
