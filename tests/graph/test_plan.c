/* Tests plans: phases, functions, memory, failures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fixture.h"

enum { N = 23, K = 4, C = 5 };

static void random_data(double *x, int count, uint64_t seed)
{
    RelnRng rng = reln_rng(seed, 9);

    fill_normal(&rng, count, x);
}

static double output(const RelnPlan *plan, const char *name)
{
    const double *value = reln_plan_output(plan, name, NULL);

    assert_non_null(value);
    return *value;
}

/* ---- a field as a function ---------------------------------------------------------------------------------------- */

/* H(x) = sum_c tanh(B~(y_c, y_c)) with y = x W, per sample. */
static RelnNode *energy(RelnGraph *g, const Fixture *f, RelnNode *x, RelnNode *w)
{
    RelnNode *y = reln_mix(g, x, w);

    return reln_sum(
        g, reln_tanh(g, reln_scale(g, reln_form(g, f->algebra, RELN_FORM_COMPLETED, y, y), 0.1)),
        RELN_C);
}

/* Builds a field: the gradient of H, which is in the coadjoint rep. The form of so(3) is -2 I, so this rep
 * equals the adjoint rep, and the field can be added to x. */
static RelnNode *field(RelnGraph *g, const Fixture *f, RelnNode *x, RelnNode *w)
{
    RelnNode *grad = NULL;

    return reln_grad(g, energy(g, f, x, w), 1, &x, &grad) ? grad : NULL;
}

static RelnFn *field_fn(const Fixture *f)
{
    RelnGraph *body = reln_fn_begin(f->graph, "field");
    RelnNode *x, *w, *out;

    if (!body)
        return NULL;
    x = reln_argument(body, RELN_SAMPLES, (RelnDims){.k = 3, .c = 2}, f->adjoint, RELN_DEFAULT);
    w = reln_argument(body, RELN_STEP, (RelnDims){.r = 2, .c = C}, NULL, RELN_DEFAULT);
    out = field(body, f, x, w);
    return reln_fn_end(body, 1, &out);
}

/* Builds Heun steps x' = x + h field(x), by calls or written out; the loss is the mean of invariants like
 * |x|^2. */
static RelnNode *roll_out(const Fixture *f, bool calls, RelnNode *x, RelnNode *w, int steps)
{
    RelnFn *fn = calls ? field_fn(f) : NULL;
    RelnNode *loss;

    for (int i = 0; i < steps; i++) {
        RelnNode *v = NULL;

        if (calls && !reln_call(f->graph, fn, 2, (RelnNode *[]){x, w}, &v))
            return NULL;
        if (!calls)
            v = field(f->graph, f, x, w);
        x = reln_add(f->graph, x, reln_scale(f->graph, v, 0.3));
    }
    loss = reln_form(f->graph, f->algebra, RELN_FORM_COMPLETED, x, x);
    return reln_batch_mean(f->graph, reln_sum(f->graph, loss, RELN_C));
}

typedef struct Rollout {
    Fixture f;
    RelnPlan *plan;
    double data[N * 3 * 2], dir[2 * C];
} Rollout;

static RelnStatus rollout_build(Rollout *r, RelnCtx *ctx, bool calls, int steps,
                                const RelnPlanOptions *options)
{
    RelnNode *x, *w, *grads[2] = {NULL, NULL}, *hv = NULL, *s;
    RelnStatus status = fixture_build(&r->f, ctx, "so:3", "so:3", RELN_F64);
    RelnGraph *g = r->f.graph;

    if (status != RELN_OK)
        return status;
    x = reln_input(g, "x", RELN_SAMPLES, (RelnDims){.k = 3, .c = 2}, r->f.adjoint, RELN_DEFAULT);
    w = reln_param(g, "w", (RelnDims){.r = 2, .c = C}, (RelnInit){RELN_INIT_NORMAL, 0.4});
    s = roll_out(&r->f, calls, x, w, steps);
    reln_output(g, "loss", s);
    reln_grad(g, s, 2, (RelnNode *[]){w, x}, grads);
    reln_output(g, "gw", grads[0]);
    reln_output(g, "gx", grads[1]);
    /* the Hessian of the loss with respect to w along a direction, which needs third derivatives of H */
    s = reln_sum_all(g, reln_mul(g, grads[0],
                                 reln_input(g, "dir", RELN_STEP, (RelnDims){.r = 2, .c = C}, NULL,
                                            RELN_DEFAULT)));
    reln_grad(g, s, 1, &w, &hv);
    reln_output(g, "s", reln_sum_all(g, s));
    reln_output(g, "hv", hv);
    RELN_TRY(reln_plan_create(g, options, &r->plan));
    random_data(r->data, N * 3 * 2, 1);
    random_data(r->dir, 2 * C, 2);
    RELN_TRY(reln_plan_bind(r->plan, "x", r->data, RELN_F64));
    return reln_plan_bind(r->plan, "dir", r->dir, RELN_F64);
}

static void rollout_init(Rollout *r, bool calls, int steps, const RelnPlanOptions *options)
{
    RelnCtx *ctx = NULL;

    memset(r, 0, sizeof *r);
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, rollout_build(r, ctx, calls, steps, options));
    assert_ok(ctx, reln_plan_run(r->plan, &(RelnRun){.n_samples = N}));
}

static void rollout_clear(Rollout *r)
{
    reln_plan_destroy(r->plan);
    fixture_clear(&r->f);
}

static void calls_give_what_the_written_out_graph_gives(void **state)
{
    Rollout a, b;

    (void)state;
    rollout_init(&a, true, 4, &(RelnPlanOptions){.shard = 6});
    rollout_init(&b, false, 4, &(RelnPlanOptions){.shard = 6});
    for (int i = 0; i < 4; i++) {
        static const char *const names[4] = {"loss", "gw", "gx", "hv"};
        static const int counts[4] = {1, 2 * C, N * 3 * 2, 2 * C};

        assert_near(reln_plan_output(a.plan, names[i], NULL),
                    reln_plan_output(b.plan, names[i], NULL), counts[i], 1e-13);
    }
    /* and much less memory: activations are recomputed */
    assert_true(reln_plan_cost(a.plan).bytes_worker < reln_plan_cost(b.plan).bytes_worker);
    rollout_clear(&a);
    rollout_clear(&b);
}

static void second_order_through_calls_matches_differences(void **state)
{
    Rollout r;
    RelnEntryInfo w;
    const double *hv;
    double copy[2 * C];

    (void)state;
    rollout_init(&r, true, 3, NULL);
    assert_true(reln_store_find(r.f.store, "w", &w));
    hv = reln_plan_output(r.plan, "hv", NULL);
    memcpy(copy, hv, sizeof copy);
    for (int i = 0; i < 2 * C; i++) {
        static const double step[4] = {1, -1, 2, -2};
        double s[4], *value = &((double *)w.values)[i];
        const double at = *value, h = 1e-3;

        for (int j = 0; j < 4; j++) {
            *value = at + step[j] * h;
            assert_ok(r.f.ctx, reln_plan_run(r.plan, &(RelnRun){.n_samples = N}));
            s[j] = output(r.plan, "s");
        }
        *value = at;
        assert_small((8 * (s[0] - s[1]) - (s[2] - s[3])) / (12 * h) - copy[i],
                     1e-6 * fmax(1, fabs(copy[i])));
    }
    rollout_clear(&r);
}

/* A gradient field has no curl: <Hv, u> = <v, Hu>. This is tested through calls, batch sums and broadcast
 * weights. */
static void the_curl_of_a_gradient_is_zero_through_calls(void **state)
{
    Rollout r;
    double v[2 * C], u[2 * C], left = 0, right = 0, size = 0;
    const double *hv;

    (void)state;
    rollout_init(&r, true, 4, NULL);
    memcpy(v, r.dir, sizeof v);
    random_data(u, 2 * C, 7);
    hv = reln_plan_output(r.plan, "hv", NULL);
    for (int i = 0; i < 2 * C; i++)
        left += hv[i] * u[i];
    memcpy(r.dir, u, sizeof u);
    assert_ok(r.f.ctx, reln_plan_run(r.plan, &(RelnRun){.n_samples = N}));
    hv = reln_plan_output(r.plan, "hv", NULL);
    for (int i = 0; i < 2 * C; i++) {
        right += hv[i] * v[i];
        size += fabs(hv[i] * v[i]);
    }
    assert_true(size > 0);
    assert_small(left - right, 1e-12 * size);
    rollout_clear(&r);
}

static void threads_and_shards_leave_calls_alone(void **state)
{
    static const int threads[] = {1, 2, 3, 7};
    double want[2 * C] = {0};

    (void)state;
    for (int t = 0; t < 4; t++) {
        RelnCtx *ctx = NULL;
        RelnPool *pool = NULL;
        Rollout r;

        assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
        assert_ok(ctx, reln_pool_create(ctx, threads[t], &pool));
        rollout_init(&r, true, 4, &(RelnPlanOptions){.shard = 2, .pool = pool});
        if (t == 0)
            memcpy(want, reln_plan_output(r.plan, "hv", NULL), sizeof want);
        assert_memory_equal(want, reln_plan_output(r.plan, "hv", NULL), sizeof want);
        rollout_clear(&r);
        reln_pool_destroy(pool);
        reln_ctx_destroy(ctx);
    }
}

/* ---- phases ------------------------------------------------------------------------------------------------------- */

/* Batch statistics in two passes: mean, then centred variance, then the normalised value and a loss of it. */
static RelnNode *standardise(RelnGraph *g, RelnNode *q)
{
    RelnNode *centred = reln_sub(g, q, reln_batch_mean(g, q));
    RelnNode *variance = reln_batch_mean(g, reln_square(g, centred));

    return reln_div(g, centred, reln_sqrt(g, reln_shift(g, variance, 1.0, 0.1)));
}

static void batch_statistics_take_phases_and_have_exact_gradients(void **state)
{
    Fixture f;
    RelnPlan *plan = NULL;
    double q[N * C], grad[N * C], mean[C] = {0}, var[C] = {0};
    RelnNode *x, *y, *gx = NULL;
    const double *out;

    (void)state;
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    x = reln_input(f.graph, "q", RELN_SAMPLES, (RelnDims){.c = C}, NULL, RELN_DEFAULT);
    y = standardise(f.graph, x);
    reln_output(f.graph, "y", y);
    y = reln_batch_sum(f.graph, reln_sum(f.graph, reln_sin(f.graph, y), RELN_C));
    reln_output(f.graph, "loss", y);
    reln_grad(f.graph, y, 1, &x, &gx);
    reln_output(f.graph, "g", gx);
    assert_ok(f.ctx, reln_plan_create(f.graph, &(RelnPlanOptions){.shard = 4}, &plan));
    assert_true(reln_plan_cost(plan).phases >= 4);
    random_data(q, N * C, 4);
    assert_ok(f.ctx, reln_plan_bind(plan, "q", q, RELN_F64));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = N}));
    for (int i = 0; i < N * C; i++)
        mean[i % C] += q[i] / N;
    for (int i = 0; i < N * C; i++)
        var[i % C] += (q[i] - mean[i % C]) * (q[i] - mean[i % C]) / N;
    out = reln_plan_output(plan, "y", NULL);
    for (int i = 0; i < N * C; i++)
        assert_small(out[i] - (q[i] - mean[i % C]) / sqrt(var[i % C] + 0.1), 1e-13);
    memcpy(grad, reln_plan_output(plan, "g", NULL), sizeof grad);
    for (int i = 0; i < N * C; i += 3) {
        const double h = 1e-3, at = q[i];
        double s[4];

        for (int j = 0; j < 4; j++) {
            static const double step[4] = {1, -1, 2, -2};
            q[i] = at + step[j] * h;
            assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = N}));
            s[j] = output(plan, "loss");
        }
        q[i] = at;
        assert_small((8 * (s[0] - s[1]) - (s[2] - s[3])) / (12 * h) - grad[i], 1e-7);
    }
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

static void state_is_assigned_at_the_end_of_a_step(void **state)
{
    Fixture f;
    RelnPlan *plan = NULL;
    RelnNode *mean, *running;
    RelnEntryInfo entry;
    double q[N];

    (void)state;
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    mean = reln_batch_mean(
        f.graph, reln_input(f.graph, "q", RELN_SAMPLES, (RelnDims){.c = 1}, NULL, RELN_DEFAULT));
    running =
        reln_state(f.graph, "running", (RelnDims){.c = 1}, (RelnInit){RELN_INIT_CONSTANT, 2.0});
    reln_output(f.graph, "seen", reln_scale(f.graph, running, 1.5));
    reln_assign(
        f.graph, running,
        reln_add(f.graph, reln_scale(f.graph, running, 0.5), reln_scale(f.graph, mean, 0.5)));
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    for (int i = 0; i < N; i++)
        q[i] = i;
    assert_ok(f.ctx, reln_plan_bind(plan, "q", q, RELN_F64));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = N}));
    assert_small(output(plan, "seen") - 3.0, 0);
    assert_true(reln_store_find(f.store, "running", &entry));
    assert_small(((double *)entry.values)[0] - (1.0 + 0.5 * (N - 1) / 2.0), 1e-14);
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = N}));
    assert_small(output(plan, "seen") - 1.5 * (1.0 + 0.5 * (N - 1) / 2.0), 1e-13);
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

static double entry_value(const Fixture *f, const char *name)
{
    RelnEntryInfo entry;

    assert_true(reln_store_find(f->store, name, &entry));
    return *(const double *)entry.values;
}

static void states_are_given_the_values_of_the_run(void **state)
{
    Fixture f;
    RelnPlan *plan = NULL;
    RelnNode *a, *b, *before, *w;

    (void)state;
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    a = reln_state(f.graph, "a", (RelnDims){.c = 1}, (RelnInit){RELN_INIT_CONSTANT, 1.0});
    b = reln_state(f.graph, "b", (RelnDims){.c = 1}, (RelnInit){RELN_INIT_CONSTANT, 2.0});
    before = reln_state(f.graph, "before", (RelnDims){.c = 1}, (RelnInit){RELN_INIT_CONSTANT, 0.0});
    w = reln_param(f.graph, "w", (RelnDims){.c = 1}, (RelnInit){RELN_INIT_CONSTANT, 5.0});
    reln_assign(f.graph, a, b);
    reln_assign(f.graph, b, a);
    reln_assign(f.graph, before, w);
    reln_sgd_all(f.graph, NULL, reln_scalar(f.graph, 0.25), reln_square(f.graph, w));
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 0}));
    assert_true(entry_value(&f, "a") == 2.0 && entry_value(&f, "b") == 1.0);
    assert_true(entry_value(&f, "before") == 5.0 && entry_value(&f, "w") == 2.5);
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 0}));
    assert_true(entry_value(&f, "a") == 1.0 && entry_value(&f, "b") == 2.0);
    assert_true(entry_value(&f, "before") == 2.5);
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

/* ---- memory ------------------------------------------------------------------------------------------------------- */

static void a_run_allocates_nothing(void **state)
{
    Rollout r;
    uint64_t before;

    (void)state;
    rollout_init(&r, true, 3, NULL);
    before = reln_ctx_allocations(r.f.ctx);
    for (int i = 0; i < 5; i++)
        assert_ok(r.f.ctx, reln_plan_run(r.plan, &(RelnRun){.n_samples = N - i}));
    assert_int_equal(reln_ctx_allocations(r.f.ctx), before);
    rollout_clear(&r);
}

static RelnStatus whole_life(RelnCtx *ctx)
{
    Rollout r = {.plan = NULL};
    RelnStatus status = rollout_build(&r, ctx, true, 2, &(RelnPlanOptions){.shard = 3});

    if (status == RELN_OK)
        status = reln_plan_run(r.plan, &(RelnRun){.n_samples = N});
    reln_plan_destroy(r.plan);
    fixture_release(&r.f);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(whole_life) > 50);
}

static void bad_batches_are_refused_in_one_line(void **state)
{
    Fixture f;
    RelnPlan *plan = NULL;
    double q[2] = {0};

    (void)state;
    fixture_init(&f, "gl:2", "gl:2", RELN_F64);
    reln_output(f.graph, "y",
                reln_input(f.graph, "q", RELN_SAMPLES, (RelnDims){.c = 1}, NULL, RELN_DEFAULT));
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    assert_int_equal(reln_plan_run(plan, &(RelnRun){.n_samples = 2}), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(f.ctx), "input q is not bound"));
    assert_int_equal(reln_plan_bind(plan, "nothing", q, RELN_F64), RELN_ERR_ARG);
    assert_int_equal(reln_plan_bind(plan, "q", q, RELN_I32), RELN_ERR_ARG);
    assert_ok(f.ctx, reln_plan_bind(plan, "q", q, RELN_F64));
    assert_int_equal(reln_plan_run(plan, &(RelnRun){.n_samples = -1}), RELN_ERR_ARG);
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 0}));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 2}));
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_give_what_the_written_out_graph_gives),
        cmocka_unit_test(second_order_through_calls_matches_differences),
        cmocka_unit_test(the_curl_of_a_gradient_is_zero_through_calls),
        cmocka_unit_test(threads_and_shards_leave_calls_alone),
        cmocka_unit_test(batch_statistics_take_phases_and_have_exact_gradients),
        cmocka_unit_test(state_is_assigned_at_the_end_of_a_step),
        cmocka_unit_test(states_are_given_the_values_of_the_run),
        cmocka_unit_test(a_run_allocates_nothing),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(bad_batches_are_refused_in_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
