/* Compares the optimisers with their formulas, on a problem with a known solution, and across a stop and a
 * restart. */
#include <math.h>
#include <stdlib.h>

#include "ops/fixture.h"

/* MANY: more than a plan gives to one worker at a time, and not a multiple of a vector's width. */
enum { N = 13, MANY = 16384 + N, STEPS = 10 };

/* One parameter in plain C, in double. */
typedef struct Plain {
    double p[MANY], m[MANY], v[MANY];
} Plain;

static void plain_adam(Plain *s, const RelnAdam *o, double rate, int t, const double *g)
{
    for (int i = 0; i < MANY; i++) {
        const double c1 = 1.0 - pow(o->beta1, t), c2 = 1.0 - pow(o->beta2, t);
        double step;

        s->m[i] = o->beta1 * s->m[i] + (1.0 - o->beta1) * g[i];
        s->v[i] = o->beta2 * s->v[i] + (1.0 - o->beta2) * g[i] * g[i];
        step = o->eps_inside ? sqrt(c2) / c1 * s->m[i] / sqrt(s->v[i] + o->eps)
                             : s->m[i] / c1 / (sqrt(s->v[i] / c2) + o->eps);
        s->p[i] -= rate * (step + o->decay * s->p[i]);
    }
}

static void plain_sgd(Plain *s, const RelnSgd *o, double rate, const double *g)
{
    for (int i = 0; i < MANY; i++) {
        const double d = g[i] + o->decay * s->p[i];

        s->m[i] = o->momentum * s->m[i] + d;
        s->p[i] -= rate * (o->nesterov ? d + o->momentum * s->m[i] : s->m[i]);
    }
}

static void read_entry(const Fixture *w, const char *name, int count, double *out)
{
    RelnEntryInfo info;

    assert_true(reln_store_find(w->store, name, &info));
    assert_int_equal(info.count, count);
    for (int i = 0; i < count; i++)
        out[i] = info.dtype == RELN_F64 ? ((const double *)info.values)[i]
                                        : (double)((const float *)info.values)[i];
}

/* Gives the same gradients to both. Each of ten steps rounds about sixteen times, and moves a parameter by no
 * more than its own size. */
static void follow(RelnDtype dtype, bool reference, const RelnAdam *adam, const RelnSgd *sgd)
{
    static double g[MANY], got[MANY];
    static Plain want;
    const RelnInit init = {RELN_INIT_NORMAL, 1.0};
    const double tol = 16 * STEPS * (dtype == RELN_F64 ? 0x1p-53 : 0x1p-24);
    Fixture w;
    RelnRng rng = reln_rng(3, 0);
    RelnNode *rate, *p, *grad;
    RelnPool *pool = NULL;
    RelnPlan *plan;
    double r;

    want = (Plain){{0}, {0}, {0}};
    fixture_init(&w, "so:3", "so:3", dtype);
    assert_ok(w.ctx, reln_pool_create(w.ctx, reference ? 1 : 2, &pool));
    rate = reln_input(w.graph, "rate", RELN_STEP, (RelnDims){0}, NULL, RELN_DEFAULT);
    p = reln_param(w.graph, "p", (RelnDims){.c = MANY}, init);
    grad = reln_input(w.graph, "grad", RELN_STEP, (RelnDims){.c = MANY}, NULL, RELN_DEFAULT);
    if (adam)
        reln_adam(w.graph, adam, rate, p, grad);
    else
        reln_sgd(w.graph, sgd, rate, p, grad);
    plan = plan_of(&w, (RelnPlanOptions){.pool = pool, .reference = reference});
    assert_ok(w.ctx, reln_plan_bind(plan, "rate", &r, RELN_F64));
    assert_ok(w.ctx, reln_plan_bind(plan, "grad", g, RELN_F64));
    read_entry(&w, "p", MANY, want.p);
    for (int t = 0; t < STEPS; t++) {
        fill_normal(&rng, MANY, g);
        r = 0.1 / (1 + t);
        assert_ok(w.ctx, reln_plan_run(plan, &(RelnRun){.step = (uint64_t)t}));
        if (adam)
            plain_adam(&want, adam, r, t + 1, g);
        else
            plain_sgd(&want, sgd, r, g);
        read_entry(&w, "p", MANY, got);
        assert_near(got, want.p, MANY, tol);
    }
    reln_plan_destroy(plan);
    reln_pool_destroy(pool);
    fixture_clear(&w);
}

static void follow_all(const RelnAdam *adam, const RelnSgd *sgd)
{
    follow(RELN_F64, false, adam, sgd);
    follow(RELN_F64, true, adam, sgd);
    follow(RELN_F32, false, adam, sgd);
}

static void adam_follows_the_textbook(void **state)
{
    const RelnAdam o = RELN_ADAM_DEFAULTS, slow = {0.5, 0.9, 1e-3, 0.0, false};
    const RelnAdam memoryless = {0.0, 0.0, 1e-2, 0.0, false};

    (void)state;
    follow_all(&o, NULL);
    follow_all(&slow, NULL);
    follow_all(&memoryless, NULL);
}

static void adam_takes_epsilon_inside_the_root(void **state)
{
    const RelnAdam o = {0.9, 0.999, 1e-8, 0.0, true}, large = {0.9, 0.99, 1e-1, 0.0, true};

    (void)state;
    follow_all(&o, NULL);
    follow_all(&large, NULL);
}

static void decay_is_decoupled(void **state)
{
    const RelnAdam o = {0.9, 0.999, 1e-8, 0.3, false}, inside = {0.9, 0.999, 1e-4, 0.3, true};

    (void)state;
    follow_all(&o, NULL);
    follow_all(&inside, NULL);
}

static void descent_has_momentum_nesterov_and_decay(void **state)
{
    const RelnSgd plain = {0.0, false, 0.0}, heavy = {0.9, false, 0.0}, ahead = {0.9, true, 0.0};
    const RelnSgd decaying = {0.0, false, 0.2}, all = {0.8, true, 0.1};

    (void)state;
    follow_all(NULL, &plain);
    follow_all(NULL, &heavy);
    follow_all(NULL, &ahead);
    follow_all(NULL, &decaying);
    follow_all(NULL, &all);
}

/* ---- a problem ---------------------------------------------------------------------------------------------------- */

enum { BATCH = 40 };

/* A Problem is a linear regression, loss = mean over samples of (x w - y)^2, with a second parameter that the
 * loss does not depend on. */
typedef struct Problem {
    Fixture w;
    RelnPlan *plan;
    double x[BATCH * N], y[BATCH], rate;
} Problem;

typedef void Optimise(RelnGraph *g, RelnNode *rate, RelnNode *loss);

static RelnNode *build_loss(RelnGraph *g)
{
    const RelnInit init = {RELN_INIT_NORMAL, 0.5};
    RelnNode *x = reln_input(g, "x", RELN_SAMPLES, (RelnDims){.c = N}, NULL, RELN_DEFAULT);
    RelnNode *y = reln_input(g, "y", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_DEFAULT);
    RelnNode *w = reln_param(g, "head.w", (RelnDims){.r = N, .c = 1}, init);

    (void)reln_param(g, "spare.w", (RelnDims){.c = 3}, init);
    return reln_batch_mean(g, reln_square(g, reln_sub(g, reln_mix(g, x, w), y)));
}

static void problem_make(Problem *s, RelnDtype dtype, RelnPool *pool, Optimise *optimise)
{
    RelnRng rng = reln_rng(9, 0);
    RelnNode *rate, *loss;

    fixture_init(&s->w, "so:3", "so:3", dtype);
    rate = reln_input(s->w.graph, "rate", RELN_STEP, (RelnDims){0}, NULL, RELN_DEFAULT);
    loss = build_loss(s->w.graph);
    reln_output(s->w.graph, "loss", loss);
    optimise(s->w.graph, rate, loss);
    s->plan = plan_of(&s->w, (RelnPlanOptions){.pool = pool, .shard = 3});
    fill_normal(&rng, BATCH * N, s->x);
    for (int b = 0; b < BATCH; b++) {
        s->y[b] = 0;
        for (int i = 0; i < N; i++)
            s->y[b] += s->x[b * N + i] * (i - 6) / 6.0;
    }
    assert_ok(s->w.ctx, reln_plan_bind(s->plan, "x", s->x, RELN_F64));
    assert_ok(s->w.ctx, reln_plan_bind(s->plan, "y", s->y, RELN_F64));
    assert_ok(s->w.ctx, reln_plan_bind(s->plan, "rate", &s->rate, RELN_F64));
}

static void problem_clear(Problem *s)
{
    reln_plan_destroy(s->plan);
    fixture_clear(&s->w);
}

static void train(Problem *s, int from, int to, double rate, double factor)
{
    for (int t = from; t < to; t++) {
        s->rate = rate * pow(factor, t);
        assert_ok(s->w.ctx,
                  reln_plan_run(s->plan, &(RelnRun){.n_samples = BATCH, .step = (uint64_t)t}));
    }
}

static void adam_everything(RelnGraph *g, RelnNode *rate, RelnNode *loss)
{
    reln_adam_all(g, NULL, rate, loss);
}

static void heavy_descent(RelnGraph *g, RelnNode *rate, RelnNode *loss)
{
    const RelnSgd o = {.momentum = 0.9};

    reln_sgd_all(g, &o, rate, loss);
}

/* The minimum is 0, at w_i = (i - 6) / 6. */
static void converges(Optimise *optimise, double rate, double factor, double bound)
{
    Problem s;
    double got[N], want[N];

    problem_make(&s, RELN_F64, NULL, optimise);
    train(&s, 0, 600, rate, factor);
    read_entry(&s.w, "head.w", N, got);
    for (int i = 0; i < N; i++)
        want[i] = (i - 6) / 6.0;
    assert_near(got, want, N, bound);
    assert_small(*(const double *)reln_plan_output(s.plan, "loss", NULL), bound);
    problem_clear(&s);
}

/* The Hessian 2 X^T X / 40 of normal X has eigenvalues h of about 2 (1 +- sqrt(13/40))^2, from 0.4 to 5; momentum 0.9
 * contracts by sqrt(0.9) where (1 - sqrt(0.9))^2 < rate h < (1 + sqrt(0.9))^2, so here: 0.9^300 = 2e-14. An Adam step is
 * about the rate long, which falls to 0.2 * 0.98^600 = 1e-6. */
static void a_quadratic_converges(void **state)
{
    (void)state;
    converges(heavy_descent, 0.05, 1.0, 1e-9);
    converges(adam_everything, 0.2, 0.98, 1e-4);
}

/* The store and the number of the step are all that a resumed training needs. */
static void a_resumed_run_gives_the_same_bits(void **state)
{
    Problem whole, first, second;
    RelnCtx *ctx = NULL;
    RelnPool *pool = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_pool_create(ctx, 3, &pool));
    problem_make(&whole, RELN_F32, NULL, adam_everything);
    problem_make(&first, RELN_F32, NULL, adam_everything);
    problem_make(&second, RELN_F32, pool, adam_everything);
    train(&whole, 0, 10, 0.1, 0.9);
    train(&first, 0, 4, 0.1, 0.9);
    for (int i = 0; i < reln_store_count(first.w.store); i++) {
        const RelnEntryInfo from = reln_store_entry(first.w.store, i);
        const RelnEntryInfo to = reln_store_entry(second.w.store, i);

        assert_string_equal(from.name, to.name);
        memcpy(to.values, from.values, from.count * sizeof(float));
    }
    train(&second, 4, 10, 0.1, 0.9);
    assert_int_equal(reln_store_count(whole.w.store), 6); /* two parameters, two moments of each */
    for (int i = 0; i < reln_store_count(whole.w.store); i++) {
        const RelnEntryInfo a = reln_store_entry(whole.w.store, i);
        const RelnEntryInfo b = reln_store_entry(second.w.store, i);

        assert_memory_equal(a.values, b.values, a.count * sizeof(float));
    }
    /* with another number of the step the bits differ */
    train(&second, 4, 5, 0.1, 0.9);
    train(&whole, 10, 11, 0.1, 0.9);
    assert_memory_not_equal(reln_store_entry(whole.w.store, 0).values,
                            reln_store_entry(second.w.store, 0).values, N * sizeof(float));
    problem_clear(&whole);
    problem_clear(&first);
    problem_clear(&second);
    reln_pool_destroy(pool);
    reln_ctx_destroy(ctx);
}

static void only_heads(RelnGraph *g, RelnNode *rate, RelnNode *loss)
{
    const RelnAdam o = RELN_ADAM_DEFAULTS;
    const RelnAdamGroup groups[] = {{"head.", o, rate}, {"body.", o, rate}};

    reln_adam_groups(g, 2, groups, loss);
}

static void parameters_outside_of_every_group_stay(void **state)
{
    Problem s;
    RelnEntryInfo head, spare;
    double before, other;

    (void)state;
    problem_make(&s, RELN_F64, NULL, only_heads);
    assert_true(reln_store_find(s.w.store, "head.w", &head));
    assert_true(reln_store_find(s.w.store, "spare.w", &spare));
    assert_false(reln_store_find(s.w.store, "spare.w.m", &spare));
    before = *(const double *)head.values;
    assert_true(reln_store_find(s.w.store, "spare.w", &spare));
    other = *(const double *)spare.values;
    train(&s, 0, 1, 0.1, 1.0);
    assert_true(*(const double *)head.values != before);
    assert_true(*(const double *)spare.values == other);
    problem_clear(&s);
}

/* The store distinguishes parameters, states and moments, whatever their names are. */
static void entries_say_of_what_kind_they_are(void **state)
{
    const RelnInit zero = {RELN_INIT_CONSTANT, 0.0};
    RelnEntryInfo entry;
    Problem s;
    Fixture w;

    (void)state;
    problem_make(&s, RELN_F64, NULL, only_heads);
    assert_true(reln_store_find(s.w.store, "head.w", &entry));
    assert_true(entry.kind == RELN_ENTRY_PARAM && entry.trained);
    assert_true(reln_store_find(s.w.store, "head.w.v", &entry));
    assert_true(entry.kind == RELN_ENTRY_MOMENT && !entry.trained);
    assert_true(reln_store_find(s.w.store, "spare.w", &entry));
    assert_true(entry.kind == RELN_ENTRY_PARAM && !entry.trained);
    problem_clear(&s);
    fixture_init(&w, "so:3", "so:3", RELN_F32);
    reln_param(w.graph, "p", (RelnDims){.c = 4}, zero);
    reln_state(w.graph, "p.m", (RelnDims){.c = 4}, zero);
    assert_true(reln_store_find(w.store, "p.m", &entry) && entry.kind == RELN_ENTRY_STATE);
    fixture_clear(&w);
}

/* ---- refusals ----------------------------------------------------------------------------------------------------- */

typedef void Mistake(RelnGraph *g, RelnNode *rate, RelnNode *p, RelnNode *grad, RelnNode *x);

static void refused(Mistake *mistake, RelnStatus status, const char *words)
{
    const RelnInit init = {RELN_INIT_NORMAL, 1.0};
    Fixture w;
    RelnNode *p, *grad, *x;

    fixture_init(&w, "so:3", "so:3", RELN_F32);
    p = reln_param(w.graph, "p", (RelnDims){.c = 4}, init);
    grad = reln_input(w.graph, "grad", RELN_STEP, (RelnDims){.c = 4}, NULL, RELN_DEFAULT);
    x = reln_input(w.graph, "x", RELN_SAMPLES, (RelnDims){.c = 4}, NULL, RELN_DEFAULT);
    mistake(w.graph, reln_scalar(w.graph, 0.1), p, grad, x);
    assert_refused(&w, status, words);
    fixture_clear(&w);
}

#define MISTAKE(name, ...)                                                                         \
    static void name(RelnGraph *g, RelnNode *rate, RelnNode *p, RelnNode *grad, RelnNode *x)       \
    {                                                                                              \
        (void)x;                                                                                   \
        (void)grad;                                                                                \
        (void)rate, (void)p;                                                                       \
        __VA_ARGS__;                                                                               \
    }

MISTAKE(no_epsilon, reln_adam(g, &(RelnAdam){.beta1 = 0.9}, rate, p, grad))
MISTAKE(beta_of_one, reln_adam(g, &(RelnAdam){1.0, 0.9, 1e-8, 0.0, false}, rate, p, grad))
MISTAKE(momentum_of_one, reln_sgd(g, &(RelnSgd){.momentum = 1.0}, rate, p, grad))
MISTAKE(nesterov_without_momentum, reln_sgd(g, &(RelnSgd){.nesterov = true}, rate, p, grad))
MISTAKE(twice, reln_adam(g, NULL, rate, p, grad); reln_sgd(g, NULL, rate, p, grad))
MISTAKE(no_parameter, reln_adam(g, NULL, rate, grad, grad))
MISTAKE(per_sample_gradient, reln_adam(g, NULL, rate, p, x))
MISTAKE(gradient_of_another_shape, reln_sgd(g, NULL, rate, p, rate))
MISTAKE(several_rates, reln_adam(g, NULL, grad, p, grad))
MISTAKE(parameter_as_gradient, reln_sgd(g, NULL, rate, p, p))
MISTAKE(no_rate, reln_adam(g, NULL, NULL, p, grad))

static void mistakes_are_refused_when_built(void **state)
{
    (void)state;
    refused(no_epsilon, RELN_ERR_ARG, "eps above 0");
    refused(beta_of_one, RELN_ERR_ARG, "beta1 1");
    refused(momentum_of_one, RELN_ERR_ARG, "momentum 1");
    refused(nesterov_without_momentum, RELN_ERR_ARG, "above 0 for nesterov");
    refused(twice, RELN_ERR_ARG, "parameter p has an optimiser already");
    refused(no_parameter, RELN_ERR_ARG, "not a parameter");
    refused(per_sample_gradient, RELN_ERR_SHAPE, "parameter p is (1, 4), its gradient (B, 1, 4)");
    refused(gradient_of_another_shape, RELN_ERR_SHAPE, "its gradient (1, 1)");
    refused(several_rates, RELN_ERR_SHAPE, "the rate is (1, 4), wanted one number");
    refused(parameter_as_gradient, RELN_ERR_ARG, "is a parameter itself");
    refused(no_rate, RELN_ERR_ARG, "rate, parameter or gradient is missing");
}

/* ---- memory ------------------------------------------------------------------------------------------------------- */

static RelnStatus build_and_run(RelnGraph *g)
{
    static double x[2 * N], y[2];
    RelnPlan *plan = NULL;
    RelnStatus status;

    reln_adam_all(g, NULL, reln_scalar(g, 0.1), build_loss(g));
    status = reln_plan_create(g, NULL, &plan);
    if (status == RELN_OK) {
        reln_plan_bind(plan, "x", x, RELN_F64);
        reln_plan_bind(plan, "y", y, RELN_F64);
        status = reln_plan_run(plan, &(RelnRun){.n_samples = 2});
    }
    reln_plan_destroy(plan);
    return status;
}

static RelnStatus whole_training(RelnCtx *ctx)
{
    Fixture f;
    RelnStatus status = fixture_build(&f, ctx, "so:3", "so:3", RELN_F64);

    if (status == RELN_OK)
        status = build_and_run(f.graph);
    fixture_release(&f);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(whole_training) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adam_follows_the_textbook),
        cmocka_unit_test(adam_takes_epsilon_inside_the_root),
        cmocka_unit_test(decay_is_decoupled),
        cmocka_unit_test(descent_has_momentum_nesterov_and_decay),
        cmocka_unit_test(a_quadratic_converges),
        cmocka_unit_test(a_resumed_run_gives_the_same_bits),
        cmocka_unit_test(parameters_outside_of_every_group_stay),
        cmocka_unit_test(entries_say_of_what_kind_they_are),
        cmocka_unit_test(mistakes_are_refused_when_built),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
