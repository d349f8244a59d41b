/* Tests training as one plan: step-level work, precision, groups, states, and bits that do not depend on the
 * threads. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/fixture.h"

enum { N = 50, SAMPLES = 24, P = 3, C = 4, STEPS = 12, ENTRIES = 64 };

static double number(const RelnPlan *plan, const char *name)
{
    const double *value = reln_plan_output(plan, name, NULL);

    assert_non_null(value);
    return *value;
}

/* ---- a network with everything that training needs ----------------------------------------------------------------- */

typedef struct Run {
    Fixture f;
    RelnPlan *plan;
    double x[SAMPLES * P * 9 * 2], y[SAMPLES], rate;
} Run;

/* Linear, gate, bracket, norm over the batch, dropout, pooling; the loss in f64 whatever the network is in. */
static RelnNode *network(RelnGraph *g, const RelnAlgebra *gl3, bool train, RelnNode *x)
{
    const RelnNet net = {.graph = g, .algebra = gl3, .train = train};
    RelnNode *h = reln_nn_relu(&net, "one", reln_nn_linear(&net, "one", x, C), NULL);

    h = reln_nn_batch_norm(&net, "norm", reln_nn_bracket(&net, "two", h), RELN_NORM_INVARIANT);
    if (train)
        h = reln_dropout(g, h, 0.25, 0);
    h = reln_nn_pool_softmax(&net, "pool", h, RELN_P);
    return reln_nn_dense(&net, "out", reln_nn_invariant(&net, h), 1);
}

static RelnNode *squares(RelnGraph *g, RelnNode *x)
{
    return reln_sum_all(g, reln_square(g, x));
}

/* Scales all gradients so that their joint norm is at most `most`, then applies Adam in two groups, one of
 * them without decay. */
static void clip_and_step(RelnGraph *g, RelnNode *loss, RelnNode *rate, double most)
{
    const RelnAdam plain = RELN_ADAM_DEFAULTS, decayed = {0.9, 0.999, 1e-8, 0.1, false};
    RelnNode *params[ENTRIES], *grads[ENTRIES] = {NULL}, *norm = NULL, *factor;
    int n = 0;

    for (; reln_graph_param(g, n); n++)
        params[n] = reln_graph_param(g, n);
    if (!reln_grad(g, loss, n, params, grads))
        return;
    for (int i = 0; i < n; i++)
        norm = i ? reln_add(g, norm, squares(g, grads[i])) : squares(g, grads[i]);
    norm = reln_sqrt(g, norm);
    reln_output(g, "norm", reln_cast(g, norm, RELN_F64));
    factor = reln_minimum(g, reln_scalar(g, 1.0), reln_scale(g, reln_reciprocal(g, norm), most));
    for (int i = 0; i < n; i++) {
        const char *name = reln_node_name(params[i]);

        reln_adam(g, strchr(name, 'W') ? &decayed : &plain, rate, params[i],
                  reln_mul(g, grads[i], factor));
    }
}

static RelnStatus run_build(Run *r, RelnCtx *ctx, RelnDtype dtype, RelnPool *pool)
{
    RelnStatus status = fixture_build(&r->f, ctx, "gl:3", "gl:3", dtype);
    RelnGraph *g = r->f.graph;
    RelnRng rng = reln_rng(6, 0);
    RelnNode *x, *y, *rate, *loss;

    if (status != RELN_OK)
        return status;
    x = reln_input(g, "x", RELN_SAMPLES, (RelnDims){.p = P, .k = 9, .c = 2}, r->f.adjoint,
                   RELN_DEFAULT);
    y = reln_input(g, "y", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_F64);
    rate = reln_input(g, "rate", RELN_STEP, (RelnDims){0}, NULL, RELN_F64);
    loss = reln_sub(g, reln_cast(g, network(g, r->f.algebra, true, x), RELN_F64), y);
    loss = reln_batch_mean(g, reln_square(g, loss));
    reln_output(g, "loss", loss);
    clip_and_step(g, loss, rate, 0.5);
    RELN_TRY(reln_plan_create(g, &(RelnPlanOptions){.pool = pool, .shard = 2}, &r->plan));
    fill_normal(&rng, SAMPLES * P * 9 * 2, r->x);
    fill_normal(&rng, SAMPLES, r->y);
    RELN_TRY(reln_plan_bind(r->plan, "x", r->x, RELN_F64));
    RELN_TRY(reln_plan_bind(r->plan, "y", r->y, RELN_F64));
    return reln_plan_bind(r->plan, "rate", &r->rate, RELN_F64);
}

static void run_init(Run *r, RelnDtype dtype, RelnPool *pool)
{
    RelnCtx *ctx = NULL;

    memset(r, 0, sizeof *r);
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, run_build(r, ctx, dtype, pool));
}

static void run_clear(Run *r)
{
    reln_plan_destroy(r->plan);
    fixture_clear(&r->f);
}

/* Runs batches of 24, 23, 22 ... samples, as at the end of an epoch. */
static void steps(Run *r, int from, int to)
{
    for (int t = from; t < to; t++) {
        r->rate = 0.01 * (1.0 - (double)t / (2 * STEPS));
        assert_ok(r->f.ctx, reln_plan_run(r->plan, &(RelnRun){.n_samples = SAMPLES - t % 5,
                                                              .seed = 8,
                                                              .step = (uint64_t)t}));
    }
}

static uint64_t hash_store(const RelnStore *store)
{
    uint64_t h = RELN_HASH_SEED;

    for (int i = 0; i < reln_store_count(store); i++) {
        const RelnEntryInfo e = reln_store_entry(store, i);

        h = reln_hash(h, e.values, e.count * (e.dtype == RELN_F64 ? 8 : 4));
    }
    return h;
}

static void copy_store(const RelnStore *from, RelnStore *to)
{
    assert_int_equal(reln_store_count(from), reln_store_count(to));
    for (int i = 0; i < reln_store_count(from); i++) {
        const RelnEntryInfo a = reln_store_entry(from, i), b = reln_store_entry(to, i);

        assert_string_equal(a.name, b.name);
        memcpy(b.values, a.values, a.count * (a.dtype == RELN_F64 ? 8 : 4));
    }
}

static void training_gives_the_same_bits_on_any_threads_and_resumed(void **state)
{
    static const int threads[] = {1, 2, 3, 7};
    uint64_t want = 0;

    (void)state;
    for (int t = 0; t < 4; t++) {
        RelnCtx *ctx = NULL;
        RelnPool *pool = NULL;
        double first;
        Run r, resumed;

        assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
        assert_ok(ctx, reln_pool_create(ctx, threads[t], &pool));
        run_init(&r, RELN_F32, pool);
        run_init(&resumed, RELN_F32, NULL);
        steps(&r, 0, 1);
        first = number(r.plan, "loss");
        steps(&r, 1, STEPS / 2 + 1);
        copy_store(r.f.store, resumed.f.store);
        steps(&r, STEPS / 2 + 1, STEPS);
        steps(&resumed, STEPS / 2 + 1, STEPS);
        want = t ? want : hash_store(r.f.store);
        assert_true(number(r.plan, "loss") < first);
        assert_true(hash_store(r.f.store) == want);
        assert_true(hash_store(resumed.f.store) == want);
        run_clear(&r);
        run_clear(&resumed);
        reln_pool_destroy(pool);
        reln_ctx_destroy(ctx);
    }
}

/* Compares the first step with one computed by hand: m = g / 10 with the clipped g, and p loses rate g / (|g|
 * + eps) and rate decay p. */
static void follow(const Run *r, const char *name, const double *before, double decay)
{
    char moment[32];
    RelnEntryInfo p, m;

    snprintf(moment, sizeof moment, "%s.m", name);
    assert_true(reln_store_find(r->f.store, name, &p) && reln_store_find(r->f.store, moment, &m));
    for (size_t i = 0; i < p.count; i++) {
        const double g = ((double *)m.values)[i] / 0.1;
        const double want = before[i] - r->rate * (g / (fabs(g) + 1e-8) + decay * before[i]);

        assert_small(((double *)p.values)[i] - want, 1e-14);
    }
}

static void groups_step_with_clipped_gradients(void **state)
{
    double bias[1], weights[C], sum = 0;
    RelnEntryInfo e;
    Run r;

    (void)state;
    run_init(&r, RELN_F64, NULL);
    assert_true(reln_store_find(r.f.store, "out.b", &e) && e.count == 1);
    memcpy(bias, e.values, sizeof bias);
    assert_true(reln_store_find(r.f.store, "out.W", &e) && e.count == C);
    memcpy(weights, e.values, sizeof weights);
    steps(&r, 0, 1);
    assert_true(number(r.plan, "norm") > 0.5);
    for (int i = 0; i < reln_store_count(r.f.store); i++) {
        const RelnEntryInfo m = reln_store_entry(r.f.store, i);
        const size_t length = strlen(m.name);

        for (size_t j = 0; j < m.count && strcmp(m.name + length - 2, ".m") == 0; j++)
            sum += ((double *)m.values)[j] * ((double *)m.values)[j];
    }
    assert_small(sqrt(sum) - 0.1 * 0.5, 1e-15);
    follow(&r, "out.b", bias, 0.0);
    follow(&r, "out.W", weights, 0.1);
    run_clear(&r);
}

static RelnStatus whole_life(RelnCtx *ctx)
{
    Run r;
    RelnStatus status;

    memset(&r, 0, sizeof r);
    status = run_build(&r, ctx, RELN_F32, NULL);
    if (status == RELN_OK)
        status = reln_plan_run(r.plan, &(RelnRun){.n_samples = 3});
    reln_plan_destroy(r.plan);
    fixture_release(&r.f);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(whole_life) > 50);
}

/* ---- one store, two graphs ------------------------------------------------------------------------------------------ */

static void evaluation_sees_what_training_left(void **state)
{
    RelnGraph *g = NULL;
    RelnPlan *plan = NULL;
    RelnEntryInfo square;
    double before[SAMPLES], after[SAMPLES], norm[C];
    int entries;
    Run r;

    (void)state;
    run_init(&r, RELN_F64, NULL);
    entries = reln_store_count(r.f.store);
    assert_ok(r.f.ctx, reln_graph_create(r.f.group, r.f.store, RELN_F64, &g));
    reln_output(g, "out",
                network(g, r.f.algebra, false,
                        reln_input(g, "x", RELN_SAMPLES, (RelnDims){.p = P, .k = 9, .c = 2},
                                   r.f.adjoint, RELN_DEFAULT)));
    assert_ok(r.f.ctx, reln_plan_create(g, NULL, &plan));
    assert_int_equal(reln_store_count(r.f.store), entries);
    assert_true(reln_store_find(r.f.store, "norm.square", &square));
    assert_ok(r.f.ctx, reln_plan_bind(plan, "x", r.x, RELN_F64));
    assert_ok(r.f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = SAMPLES}));
    memcpy(before, reln_plan_output(plan, "out", NULL), sizeof before);
    steps(&r, 0, 3);
    memcpy(norm, square.values, sizeof norm);
    assert_ok(r.f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = SAMPLES}));
    memcpy(after, reln_plan_output(plan, "out", NULL), sizeof after);
    assert_memory_not_equal(before, after, sizeof before);
    assert_memory_equal(norm, square.values, sizeof norm); /* and evaluation changes no state */
    /* one sample alone has the same output as in the batch, because the running statistics are used */
    assert_ok(r.f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 1}));
    assert_memory_equal(reln_plan_output(plan, "out", NULL), after, sizeof *after);
    reln_plan_destroy(plan);
    reln_graph_destroy(g);
    run_clear(&r);
}

/* An output of a parameter or state shows the value that the run computed with; the store holds the value for
 * the next run. */
static void outputs_of_the_store_are_those_of_the_run(void **state)
{
    Fixture f;
    RelnPlan *plan = NULL;
    RelnNode *a, *b, *p;
    RelnEntryInfo ea, eb, ep;

    (void)state;
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    a = reln_state(f.graph, "a", (RelnDims){0}, (RelnInit){RELN_INIT_CONSTANT, 1.0});
    b = reln_state(f.graph, "b", (RelnDims){0}, (RelnInit){RELN_INIT_CONSTANT, 2.0});
    p = reln_param(f.graph, "p", (RelnDims){0}, (RelnInit){RELN_INIT_CONSTANT, 8.0});
    reln_assign(f.graph, a, b); /* the two states are exchanged */
    reln_assign(f.graph, b, a);
    reln_sgd(f.graph, NULL, reln_scalar(f.graph, 0.5), p, reln_scale(f.graph, p, 0.5));
    reln_output(f.graph, "a", a);
    reln_output(f.graph, "p", reln_reshape(f.graph, p, (RelnDims){.c = 1}));
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 1}));
    assert_true(number(plan, "a") == 1.0 && number(plan, "p") == 8.0);
    assert_true(reln_store_find(f.store, "a", &ea) && reln_store_find(f.store, "b", &eb) &&
                reln_store_find(f.store, "p", &ep));
    assert_true(*(double *)ea.values == 2.0 && *(double *)eb.values == 1.0);
    assert_true(*(double *)ep.values == 6.0);
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 1}));
    assert_true(number(plan, "a") == 2.0 && number(plan, "p") == 6.0);
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

/* ---- products of weights, penalties ---------------------------------------------------------------------------------- */

/* loss = mean |x U V|^2 + 0.3 |U V|^2, with U V made once a step; gradient and Hessian against differences. */
static void products_of_weights_and_penalties_have_derivatives(void **state)
{
    Fixture f;
    RelnPlan *plan = NULL;
    RelnNode *x, *u, *v, *uv, *loss, *grads[2] = {NULL}, *s, *h[2] = {NULL};
    double data[N * 3], got[2][6];
    RelnRng rng = reln_rng(2, 2);

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    x = reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.c = 3}, NULL, RELN_DEFAULT);
    u = reln_param(f.graph, "u", (RelnDims){.r = 3, .c = 2}, (RelnInit){RELN_INIT_NORMAL, 0.7});
    v = reln_param(f.graph, "v", (RelnDims){.r = 2, .c = 3}, (RelnInit){RELN_INIT_NORMAL, 0.7});
    uv = reln_mix(f.graph, u, v);
    loss = reln_batch_mean(f.graph, squares(f.graph, reln_mix(f.graph, x, uv)));
    loss = reln_add(f.graph, loss, reln_scale(f.graph, squares(f.graph, uv), 0.3));
    reln_output(f.graph, "loss", loss);
    reln_grad(f.graph, loss, 2, (RelnNode *[]){u, v}, grads);
    s = squares(f.graph, grads[0]);
    reln_output(f.graph, "s", s);
    reln_grad(f.graph, s, 2, (RelnNode *[]){u, v}, h);
    reln_output(f.graph, "gu", grads[0]);
    reln_output(f.graph, "hv", h[1]);
    assert_ok(f.ctx, reln_plan_create(f.graph, &(RelnPlanOptions){.shard = 7}, &plan));
    fill_normal(&rng, N * 3, data);
    assert_ok(f.ctx, reln_plan_bind(plan, "x", data, RELN_F64));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = N}));
    memcpy(got[0], reln_plan_output(plan, "gu", NULL), sizeof got[0]);
    memcpy(got[1], reln_plan_output(plan, "hv", NULL), sizeof got[1]);
    for (int i = 0; i < 12; i++) {
        static const double step[4] = {1, -1, 2, -2};
        RelnEntryInfo e;
        double l[4], at, *value;

        assert_true(reln_store_find(f.store, i < 6 ? "u" : "v", &e));
        value = &((double *)e.values)[i % 6];
        at = *value;
        for (int j = 0; j < 4; j++) {
            *value = at + step[j] * 1e-3;
            assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = N}));
            l[j] = number(plan, i < 6 ? "loss" : "s");
        }
        *value = at;
        assert_small((8 * (l[0] - l[1]) - (l[2] - l[3])) / 12e-3 - got[i / 6][i % 6],
                     (i < 6 ? 1e-7 : 1e-6) * fmax(1, fabs(got[i / 6][i % 6])));
    }
    /* the product costs 2 * 3 * 2 * 3 at step level, not for every sample */
    assert_true(reln_plan_cost(plan).flops_step >= 36);
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

/* ---- two precisions in one graph -------------------------------------------------------------------------------------- */

/* q = |x|^2 - |y|^2 for numbers near 10^4 that differ by 1: seven digits cannot hold it, sixteen can. The graph is f32,
 * the difference f64; gradients pass the casts, and so do second derivatives and batch statistics. */
static RelnNode *interval(RelnGraph *g, RelnDtype dtype, RelnNode *x, RelnNode *y)
{
    RelnNode *a = reln_cast(g, x, dtype), *b = reln_cast(g, y, dtype);

    a = reln_sub(g, reln_sum(g, reln_square(g, a), RELN_C), reln_sum(g, reln_square(g, b), RELN_C));
    a = reln_sub(g, a, reln_scale(g, reln_batch_mean(g, a), 0.5));
    return reln_cast(g, reln_scale(g, a, 1e-4), RELN_F32);
}

/* With D_i = dq_i/dx_k = 2e-4 x_k (delta_ik - 1/16), c = mean cos q and X_i the sum of a sample's x:
 *     g_k = 2e-4 x_k (cos q_k - c/2),   h_k = g_k / x_k + 2e-4 sum_i (sum X / 16 - X_i) sin q_i D_i
 * to what f32 keeps of numbers near 10. */
static void check_derivatives(const float *x, const double *q, const float *g, const float *h)
{
    double cosines = 0, all = 0;

    for (int i = 0; i < 8; i++) {
        cosines += cos(q[i]) / 8;
        all += (double)x[2 * i] + (double)x[2 * i + 1];
    }
    for (int k = 0; k < 16; k++) {
        const double slope = 2e-4 * (cos(q[k / 2]) - 0.5 * cosines);
        double second = slope;

        for (int i = 0; i < 8; i++) {
            const double own = (double)x[2 * i] + (double)x[2 * i + 1];
            const double d = 2e-4 * (double)x[k] * ((i == k / 2) - 1.0 / 16.0);

            second += 2e-4 * (all / 16 - own) * sin(q[i]) * d;
        }
        assert_small((double)g[k] - slope * (double)x[k], 1e-5);
        assert_small((double)h[k] - second, 1e-5);
    }
}

static double worst_interval(RelnDtype inner)
{
    Fixture f;
    RelnPlan *plan = NULL;
    RelnNode *x, *y, *q, *loss, *gx = NULL, *h = NULL;
    float data[2][8 * 2], dir[8 * 2];
    double want[8], mean = 0, worst = 0;
    const float *out;

    fixture_init(&f, "so:3", "so:3", RELN_F32);
    x = reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.c = 2}, NULL, RELN_DEFAULT);
    y = reln_input(f.graph, "y", RELN_SAMPLES, (RelnDims){.c = 2}, NULL, RELN_DEFAULT);
    q = interval(f.graph, inner, x, y);
    reln_output(f.graph, "q", q);
    loss = reln_batch_sum(f.graph, reln_sin(f.graph, q));
    reln_grad(f.graph, loss, 1, &x, &gx);
    reln_output(f.graph, "gx", gx);
    loss = reln_batch_sum(
        f.graph,
        reln_sum_all(f.graph, reln_mul(f.graph, gx,
                                       reln_input(f.graph, "dir", RELN_SAMPLES, (RelnDims){.c = 2},
                                                  NULL, RELN_DEFAULT))));
    reln_grad(f.graph, loss, 1, &x, &h);
    reln_output(f.graph, "h", h);
    assert_ok(f.ctx, reln_plan_create(f.graph, &(RelnPlanOptions){.shard = 3}, &plan));
    assert_int_equal(reln_node_dtype(gx), RELN_F32);
    assert_int_equal(reln_node_dtype(h), RELN_F32);
    for (int i = 0; i < 16; i++) {
        data[0][i] = 10000.0F + (float)(i % 5);
        data[1][i] = 10000.0F + (float)((3 * i + 1) % 4);
        dir[i] = 1.0F;
    }
    assert_ok(f.ctx, reln_plan_bind(plan, "x", data[0], RELN_F32));
    assert_ok(f.ctx, reln_plan_bind(plan, "y", data[1], RELN_F32));
    assert_ok(f.ctx, reln_plan_bind(plan, "dir", dir, RELN_F32));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 8}));
    for (int i = 0; i < 8; i++) {
        want[i] = 0;
        for (int c = 0; c < 2; c++)
            want[i] += (double)data[0][2 * i + c] * (double)data[0][2 * i + c] -
                       (double)data[1][2 * i + c] * (double)data[1][2 * i + c];
        mean += want[i] / 8;
    }
    out = reln_plan_output(plan, "q", NULL);
    for (int i = 0; i < 8; i++) {
        want[i] = 1e-4 * (want[i] - 0.5 * mean);
        worst = fmax(worst, fabs((double)out[i] - want[i]));
    }
    if (inner == RELN_F64)
        check_derivatives(data[0], want, reln_plan_output(plan, "gx", NULL),
                          reln_plan_output(plan, "h", NULL));
    reln_plan_destroy(plan);
    fixture_clear(&f);
    return worst;
}

static void f64_inside_an_f32_graph_keeps_its_digits(void **state)
{
    (void)state;
    assert_small(worst_interval(RELN_F64), 4 * 0x1p-24 * 20); /* |q| < 20, rounded once */
    assert_true(worst_interval(RELN_F32) > 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_gives_the_same_bits_on_any_threads_and_resumed),
        cmocka_unit_test(groups_step_with_clipped_gradients),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(evaluation_sees_what_training_left),
        cmocka_unit_test(outputs_of_the_store_are_those_of_the_run),
        cmocka_unit_test(products_of_weights_and_penalties_have_derivatives),
        cmocka_unit_test(f64_inside_an_f32_graph_keeps_its_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
