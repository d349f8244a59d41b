/* Tests functions: their results, functions that call functions, the domains in which they are called, and
 * refusals. */
#include <string.h>

#include "graph/fixture.h"

enum { N = 9, D = 3 };

/* ---- two graphs that must agree ----------------------------------------------------------------------------------- */

/* A Build builds a network with calls, or with the same formulas written out: numbers of every sample from x
 * (B,1,D), y (B,1,D) and w (D,1,D). */
typedef RelnNode *Build(RelnGraph *g, bool calls, RelnNode *x, RelnNode *y, RelnNode *w);

typedef struct Twin {
    Fixture f;
    RelnPlan *plan;
    double x[N * D], y[N * D], v[D * D];
} Twin;

/* Builds the loss, its gradients, and a Hessian-vector product with respect to w; x is an input of both
 * parts. */
static RelnStatus twin_build(Twin *t, RelnCtx *ctx, Build *build, bool calls,
                             const RelnPlanOptions *options)
{
    RelnStatus status = fixture_build(&t->f, ctx, "so:3", "so:3", RELN_F64);
    RelnGraph *g = t->f.graph;
    RelnNode *in[3], *grads[3] = {NULL}, *hv[3] = {NULL}, *loss;
    RelnRng rng = reln_rng(4, 2);

    if (status != RELN_OK)
        return status;
    in[0] = reln_input(g, "x", RELN_SAMPLES, (RelnDims){.c = D}, NULL, RELN_DEFAULT);
    in[1] = reln_input(g, "y", RELN_SAMPLES, (RelnDims){.c = D}, NULL, RELN_DEFAULT);
    in[2] = reln_param(g, "w", (RelnDims){.r = D, .c = D}, (RelnInit){RELN_INIT_NORMAL, 0.5});
    loss = reln_batch_sum(g, reln_sum_all(g, build(g, calls, in[0], in[1], in[2])));
    reln_output(g, "loss", loss);
    reln_grad(g, loss, 3, in, grads);
    reln_output(g, "gx", grads[0]);
    reln_output(g, "gy", grads[1]);
    reln_output(g, "gw", grads[2]);
    loss = reln_sum_all(
        g, reln_mul(g, grads[2],
                    reln_input(g, "v", RELN_STEP, (RelnDims){.r = D, .c = D}, NULL, RELN_DEFAULT)));
    reln_grad(g, loss, 3, in, hv);
    reln_output(g, "hx", hv[0]);
    reln_output(g, "hy", hv[1]);
    reln_output(g, "hw", hv[2]);
    RELN_TRY(reln_plan_create(g, options, &t->plan));
    fill_normal(&rng, N * D, t->x);
    fill_normal(&rng, N * D, t->y);
    fill_normal(&rng, D * D, t->v);
    RELN_TRY(reln_plan_bind(t->plan, "x", t->x, RELN_F64));
    RELN_TRY(reln_plan_bind(t->plan, "y", t->y, RELN_F64));
    RELN_TRY(reln_plan_bind(t->plan, "v", t->v, RELN_F64));
    return reln_plan_run(t->plan, &(RelnRun){.n_samples = N});
}

static void twin_init(Twin *t, Build *build, bool calls)
{
    RelnCtx *ctx = NULL;

    memset(t, 0, sizeof *t);
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, twin_build(t, ctx, build, calls, &(RelnPlanOptions){.shard = 4}));
}

/* Sums of a few dozen terms of size one in another order: 1e-13 is some hundred roundings. */
static void assert_alike(Build *build)
{
    static const char *const names[] = {"loss", "gx", "gy", "gw", "hx", "hy", "hw"};
    static const int counts[] = {1, N * D, N * D, D * D, N * D, N * D, D * D};
    Twin a, b;

    twin_init(&a, build, true);
    twin_init(&b, build, false);
    for (int i = 0; i < 7; i++)
        assert_near(reln_plan_output(a.plan, names[i], NULL),
                    reln_plan_output(b.plan, names[i], NULL), counts[i], 1e-13);
    reln_plan_destroy(a.plan);
    reln_plan_destroy(b.plan);
    fixture_clear(&a.f);
    fixture_clear(&b.f);
}

static RelnNode *samples(RelnGraph *body)
{
    return reln_argument(body, RELN_SAMPLES, (RelnDims){.c = D}, NULL, RELN_DEFAULT);
}

static RelnNode *weights(RelnGraph *body)
{
    return reln_argument(body, RELN_STEP, (RelnDims){.r = D, .c = D}, NULL, RELN_DEFAULT);
}

/* ---- functions within functions ----------------------------------------------------------------------------------- */

static RelnNode *wave(RelnGraph *g, RelnNode *x, RelnNode *w)
{
    return reln_sin(g, reln_mix(g, x, w));
}

static RelnFn *wave_fn(RelnGraph *g)
{
    RelnGraph *body = reln_fn_begin(g, "wave");
    RelnNode *x = body ? samples(body) : NULL, *w = body ? weights(body) : NULL, *out;

    out = body ? wave(body, x, w) : NULL;
    return reln_fn_end(body, 1, &out);
}

/* Builds wave(wave(x W) y W W^T): the weights are used directly and in a product that is made inside. */
static RelnNode *inner(RelnGraph *g, RelnFn *fn, RelnNode *x, RelnNode *y, RelnNode *w)
{
    RelnNode *a = NULL, *b = NULL, *ww = reln_mix_t(g, w, w);

    if (!fn)
        return wave(g, reln_mul(g, wave(g, x, w), y), ww);
    if (!reln_call(g, fn, 2, (RelnNode *[]){x, w}, &a))
        return NULL;
    return reln_call(g, fn, 2, (RelnNode *[]){reln_mul(g, a, y), ww}, &b) ? b : NULL;
}

static RelnNode *nested(RelnGraph *g, bool calls, RelnNode *x, RelnNode *y, RelnNode *w)
{
    RelnGraph *body = calls ? reln_fn_begin(g, "outer") : NULL;
    RelnNode *p, *q, *m, *out = NULL, *twice = NULL;
    RelnFn *fn;

    if (!calls)
        return inner(g, NULL, inner(g, NULL, x, y, w), x, w);
    if (!body)
        return NULL;
    p = samples(body);
    q = samples(body);
    m = weights(body);
    out = inner(body, wave_fn(body), p, q, m);
    fn = reln_fn_end(body, 1, &out);
    return reln_call(g, fn, 3, (RelnNode *[]){x, y, w}, &out) &&
                   reln_call(g, fn, 3, (RelnNode *[]){out, x, w}, &twice)
               ? twice
               : NULL;
}

static void functions_call_functions(void **state)
{
    (void)state;
    assert_alike(nested);
}

/* ---- random numbers ------------------------------------------------------------------------------------------------ */

/* Returns x + m sin(x W) y, with a factor m of 0 or 2 that is drawn for each sample. */
static RelnNode *branch(RelnGraph *g, RelnNode *x, RelnNode *y, RelnNode *w, uint64_t key)
{
    RelnNode *m = reln_random_bernoulli(g, 0.5, RELN_SAMPLES, (RelnDims){0}, key);

    m = reln_scale(g, reln_cast(g, m, RELN_F64), 2.0);
    return reln_add(g, x, reln_mul(g, reln_mul(g, wave(g, x, w), y), m));
}

/* Builds two branches with other random numbers, each of which is a function of captured nodes. */
static RelnNode *dropped(RelnGraph *g, bool calls, RelnNode *x, RelnNode *y, RelnNode *w)
{
    for (uint64_t key = 1; key <= 2; key++) {
        RelnGraph *body = calls ? reln_fn_begin(g, "branch") : g;
        RelnNode *out = branch(body, x, y, w, key);

        if (calls && !reln_call(g, reln_fn_end(body, 1, &out), 0, NULL, &out))
            return NULL;
        x = out;
    }
    return x;
}

static void the_gradient_of_a_function_draws_the_numbers_of_the_function(void **state)
{
    (void)state;
    assert_alike(dropped);
}

/* ---- what a function may return ------------------------------------------------------------------------------------ */

enum { RESULTS = 7 };

/* Returns an argument unchanged, one value twice, views of both, a value that nothing reads, and a repeated
 * step value. */
static void odd_results(RelnGraph *g, RelnNode *x, RelnNode *y, RelnNode *w, RelnNode **out)
{
    const RelnDims turned = {.p = D};

    out[0] = x;
    out[1] = wave(g, reln_mul(g, x, y), w);
    out[2] = out[1];
    out[3] = reln_reshape(g, out[1], turned);
    out[4] = reln_reshape(g, y, turned);
    out[5] = reln_exp(g, x);
    out[6] = reln_expand(g, reln_sum(g, w, RELN_R), x);
}

static RelnNode *odd(RelnGraph *g, bool calls, RelnNode *x, RelnNode *y, RelnNode *w)
{
    RelnGraph *body = calls ? reln_fn_begin(g, "odd") : NULL;
    RelnNode *out[RESULTS] = {NULL}, *p, *q, *m, *flat;

    if (calls) {
        RelnFn *fn;

        if (!body)
            return NULL;
        p = samples(body);
        q = samples(body);
        m = weights(body);
        odd_results(body, p, q, m, out);
        fn = reln_fn_end(body, RESULTS, out);
        if (!reln_call(g, fn, 3, (RelnNode *[]){x, y, w}, out))
            return NULL;
    } else {
        odd_results(g, x, y, w, out);
    }
    flat = reln_reshape(g, reln_mul(g, out[3], out[4]), (RelnDims){.c = D});
    return reln_add(g, reln_mul(g, reln_mul(g, out[0], out[1]), reln_mul(g, out[2], out[6])),
                    reln_sin(g, flat));
}

static void results_may_be_arguments_repeats_views_and_unread(void **state)
{
    (void)state;
    assert_alike(odd);
}

/* ---- where a function may be called -------------------------------------------------------------------------------- */

/* Calls a function at step level, where it has one item: it computes weights from a row of weights. */
static RelnNode *at_step(RelnGraph *g, bool calls, RelnNode *x, RelnNode *y, RelnNode *w)
{
    RelnNode *row = reln_slice(g, w, RELN_R, 1, 1), *made = NULL;

    if (!calls)
        made = wave(g, row, w);
    else if (!reln_call(g, wave_fn(g), 2, (RelnNode *[]){row, w}, &made))
        return NULL;
    return reln_mul(g, reln_mul(g, x, made), y);
}

static void a_call_at_step_level_has_one_item(void **state)
{
    (void)state;
    assert_alike(at_step);
}

/* Computes batch statistics between two calls: the first result is kept across phases and read through a
 * view. */
static RelnNode *across(RelnGraph *g, bool calls, RelnNode *x, RelnNode *y, RelnNode *w)
{
    RelnFn *fn = calls ? wave_fn(g) : NULL;
    RelnNode *a = NULL, *b = NULL;

    if (!calls)
        a = wave(g, x, w);
    else if (!reln_call(g, fn, 2, (RelnNode *[]){x, w}, &a))
        return NULL;
    a = reln_reshape(g, reln_reshape(g, a, (RelnDims){.q = D}), (RelnDims){.c = D});
    a = reln_sub(g, reln_mul(g, a, y), reln_batch_mean(g, a));
    if (!calls)
        return wave(g, a, w);
    return reln_call(g, fn, 2, (RelnNode *[]){a, w}, &b) ? b : NULL;
}

static void results_are_kept_across_phases(void **state)
{
    (void)state;
    assert_alike(across);
}

/* ---- refusals ------------------------------------------------------------------------------------------------------ */

static void assert_refused(Fixture *f, RelnStatus status, const char *words)
{
    assert_int_equal(reln_graph_status(f->graph), status);
    if (!strstr(reln_ctx_error(f->ctx), words))
        fail_msg("the message is: %s; wanted in it: %s", reln_ctx_error(f->ctx), words);
    fixture_clear(f);
}

static void what_is_no_function_is_refused(void **state)
{
    Fixture f, other;
    RelnGraph *body;
    RelnNode *x, *out = NULL;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    body = reln_fn_begin(f.graph, "sum");
    out = reln_expand(body, reln_batch_sum(body, samples(body)), samples(body));
    assert_null(reln_fn_end(body, 1, &out));
    assert_refused(&f, RELN_ERR_UNSUPPORTED, "in function sum: expand reads a sum over the batch");

    fixture_init(&f, "so:3", "so:3", RELN_F64);
    body = reln_fn_begin(f.graph, "root");
    (void)samples(body);
    out = reln_sqrt(body, reln_batch_sum(body, samples(body)));
    assert_null(reln_fn_end(body, 1, &out));
    assert_refused(&f, RELN_ERR_UNSUPPORTED, "in function root: map reads a sum over the batch");

    /* the layer is named, once, however deep the functions are */
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    reln_scope_begin(f.graph, "deep");
    body = reln_fn_begin(reln_fn_begin(f.graph, "outer"), "inner");
    assert_null(reln_slice(body, samples(body), RELN_C, D, 1));
    assert_int_equal(reln_graph_status(f.graph), RELN_ERR_SHAPE);
    assert_non_null(strstr(reln_ctx_error(f.ctx), "in function outer: in function inner: slice"));
    assert_string_equal(strstr(reln_ctx_error(f.ctx), "; in layer"), "; in layer deep");
    fixture_clear(&f);

    /* results and functions of another graph */
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    for (int i = 0; i < 100; i++)
        x = reln_scalar(f.graph, i);
    body = reln_fn_begin(f.graph, "stray");
    (void)samples(body);
    assert_null(reln_fn_end(body, 1, &x));
    assert_refused(&f, RELN_ERR_ARG, "in function stray: result 0 belongs to another graph");

    fixture_init(&f, "so:3", "so:3", RELN_F64);
    fixture_init(&other, "so:3", "so:3", RELN_F64);
    x = reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.c = D}, NULL, RELN_DEFAULT);
    assert_false(reln_call(f.graph, wave_fn(other.graph), 1, &x, &out));
    fixture_clear(&other);
    assert_refused(&f, RELN_ERR_ARG, "call of wave: the function belongs to another graph");

    fixture_init(&f, "so:3", "so:3", RELN_F64);
    x = reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.c = D}, NULL, RELN_DEFAULT);
    assert_false(reln_call(f.graph, wave_fn(f.graph), 1, &x, &out));
    assert_refused(&f, RELN_ERR_ARG, "call of wave: 1 arguments, wanted 2");
}

static RelnStatus whole_life(RelnCtx *ctx)
{
    Twin t;
    RelnStatus status;

    memset(&t, 0, sizeof t);
    status = twin_build(&t, ctx, nested, true, NULL);
    reln_plan_destroy(t.plan);
    fixture_release(&t.f);
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
        cmocka_unit_test(functions_call_functions),
        cmocka_unit_test(the_gradient_of_a_function_draws_the_numbers_of_the_function),
        cmocka_unit_test(results_may_be_arguments_repeats_views_and_unread),
        cmocka_unit_test(a_call_at_step_level_has_one_item),
        cmocka_unit_test(results_are_kept_across_phases),
        cmocka_unit_test(what_is_no_function_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
