/* Tests chains: elementwise nodes computed in one pass have the same bits as nodes computed one by one,
 * whatever is broadcast or gathered. A plan that stops at the first number that is not finite checks every
 * value, so it has no chains. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fixture.h"

enum { SAMPLES = 5, POINTS = 9, EDGES = 14, MOST_C = 100, K = 3 };

typedef struct Net {
    Fixture f;
    int c;
    float x[SAMPLES * POINTS * K * MOST_C], s[SAMPLES * K * MOST_C],
        e[SAMPLES * EDGES * K * MOST_C];
    int32_t points[SAMPLES], edges[SAMPLES], near[SAMPLES * EDGES];
} Net;

static RelnNode *input(Net *n, const char *name, RelnDomain domain)
{
    return reln_input(n->f.graph, name, domain, (RelnDims){.k = K, .c = n->c}, NULL, RELN_DEFAULT);
}

static RelnNode *param(Net *n, const char *name, int k, int c)
{
    return reln_param(n->f.graph, name, (RelnDims){.k = k, .c = c},
                      (RelnInit){RELN_INIT_NORMAL, 1.0});
}

/* Builds sums of gathered, spread and repeated values, products with weights along every axis, and their
 * gradients. */
static void build(Net *n)
{
    RelnGraph *g = n->f.graph;
    const RelnDomain points = reln_rows(g, "points", POINTS), edges = reln_rows(g, "edges", EDGES);
    RelnNode *x = input(n, "x", points), *s = input(n, "s", RELN_SAMPLES),
             *e = input(n, "e", edges);
    RelnNode *near = reln_input_index(g, "near", edges, (RelnDims){0}, points, 0);
    RelnNode *all = param(n, "all", K, n->c), *row = param(n, "row", 1, n->c),
             *column = param(n, "column", K, 1), *one = param(n, "one", 1, 1);
    RelnNode *y, *z, *loss, *grads[6];
    static const char *const names[] = {"gx", "gs", "ge", "gall", "grow", "gone"};

    y = reln_add(g, reln_mul(g, e, all), reln_gather(g, x, near));
    y = reln_relu(g, reln_add(g, reln_spread(g, s, edges), reln_sub(g, y, row)));
    reln_output(g, "y", y);
    z = reln_mul(g, reln_square(g, reln_sub(g, column, reln_scale(g, e, 0.75))), one);
    z = reln_div(g, reln_shift(g, z, -0.5, 0.25), reln_shift(g, reln_square(g, y), 1.0, 1.5));
    z = reln_mul(g, reln_step(g, e), reln_mul(g, z, row));
    reln_output(g, "z", z);
    loss = reln_batch_sum(g, reln_sum_all(g, reln_square(g, reln_add(g, y, z))));
    if (!reln_grad(g, loss, 6, (RelnNode *[]){x, s, e, all, row, one}, grads))
        return;
    for (int i = 0; i < 6; i++)
        reln_output(g, names[i], grads[i]);
}

static void fill(Net *n)
{
    RelnRng rng = reln_rng(3, 1);
    int at = 0;

    for (size_t i = 0; i < sizeof n->x / sizeof *n->x; i++)
        n->x[i] = (float)reln_rng_normal(&rng);
    for (size_t i = 0; i < sizeof n->s / sizeof *n->s; i++)
        n->s[i] = (float)reln_rng_normal(&rng);
    for (size_t i = 0; i < sizeof n->e / sizeof *n->e; i++)
        n->e[i] = (float)reln_rng_normal(&rng);
    for (int i = 0; i < SAMPLES; i++) {
        n->points[i] = 1 + (4 * i) % POINTS;
        n->edges[i] = (5 * i) % (EDGES + 1);
        for (int k = 0; k < n->edges[i]; k++)
            n->near[at++] = (int32_t)reln_rng_below(&rng, (uint64_t)n->points[i]);
    }
}

static uint64_t bits(Net *n, const RelnPlanOptions *options, size_t size, int *instructions)
{
    static const char *const names[] = {"y", "z", "gx", "gs", "ge", "gall", "grow", "gone"};
    uint64_t h = RELN_HASH_SEED;
    RelnPlan *plan = NULL;

    assert_ok(n->f.ctx, reln_plan_create(n->f.graph, options, &plan));
    assert_ok(n->f.ctx, reln_plan_bind(plan, "x", n->x, RELN_F32));
    assert_ok(n->f.ctx, reln_plan_bind(plan, "s", n->s, RELN_F32));
    assert_ok(n->f.ctx, reln_plan_bind(plan, "e", n->e, RELN_F32));
    assert_ok(n->f.ctx, reln_plan_bind(plan, "near", n->near, RELN_I32));
    assert_ok(n->f.ctx, reln_plan_bind_rows(plan, "points", n->points));
    assert_ok(n->f.ctx, reln_plan_bind_rows(plan, "edges", n->edges));
    assert_ok(n->f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = SAMPLES}));
    for (int i = 0; i < 8; i++) {
        ptrdiff_t items = 0;
        const void *values = reln_plan_output(plan, names[i], &items);
        const int each = i < 6 ? K * n->c : i < 7 ? n->c : 1;

        h = reln_hash(h, values, (size_t)items * (size_t)each * size);
    }
    *instructions = reln_plan_cost(plan).instructions;
    reln_plan_destroy(plan);
    return h;
}

static void compare(RelnDtype dtype, int channels, bool reference)
{
    Net *n = calloc(1, sizeof *n);
    int chained = 0, single = 0;
    const size_t size = dtype == RELN_F64 ? sizeof(double) : sizeof(float);
    uint64_t a, b;

    assert_non_null(n);
    fixture_init(&n->f, "so:3", "so:3", dtype);
    n->c = channels;
    fill(n);
    build(n);
    a = bits(n, &(RelnPlanOptions){.reference = reference}, size, &chained);
    b = bits(n, &(RelnPlanOptions){.reference = reference, .finite = true}, size, &single);
    assert_true(a == b);
    assert_true(chained < single);
    fixture_clear(&n->f);
    free(n);
}

static void chains_have_the_bits_of_single_passes(void **state)
{
    static const int channels[] = {1, 2, 5, 8, 11, 12, 16, 24, 32, 48, 50, 64, MOST_C};

    (void)state;
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        for (int which = 0; which < 4; which++)
            compare(which & 1 ? RELN_F64 : RELN_F32, channels[i], which >= 2);
}

/* ---- axes, and sums of products -------------------------------------------------------------------------------- */

enum { STEPS = 7, WIDEST = 40 };

/* Sums of products, one for each number of links, longer than a chain may be; factors are repeated along every axis, and
 * weights differ from step to step but not from sample to sample. Outputs are the sums and their gradients. */
static int build_sums(RelnGraph *g, int c, RelnNode **out)
{
    const RelnInit normal = {RELN_INIT_NORMAL, 1.0};
    RelnNode *x = reln_input(g, "x", RELN_SAMPLES, (RelnDims){.p = STEPS, .k = K, .c = c}, NULL,
                             RELN_DEFAULT);
    RelnNode *factors[] = {
        reln_input(g, "a", RELN_SAMPLES, (RelnDims){.p = STEPS, .c = c}, NULL, RELN_DEFAULT),
        reln_input(g, "b", RELN_SAMPLES, (RelnDims){.k = K}, NULL, RELN_DEFAULT),
        reln_param(g, "w", (RelnDims){.p = STEPS, .k = K, .c = c}, normal),
        reln_param(g, "v", (RelnDims){.p = STEPS}, normal),
        reln_param(g, "u", (RelnDims){.c = c}, normal),
    };
    RelnNode *y = x, *loss = NULL;
    int n = 0;

    for (int length = 1; length < 10; length++) {
        y = reln_mul(g, x, reln_shift(g, factors[length % 5], 1.0, 0.125 * length));
        for (int i = 0; i < length; i++) {
            RelnNode *p = reln_mul(g, factors[i % 5], reln_scale(g, x, 1.0 + length + 10 * i));

            y = i % 3 == 0 ? reln_add(g, y, p) : i % 3 == 1 ? reln_sub(g, y, p) : reln_sub(g, p, y);
        }
        out[n++] = y;
        y = reln_batch_sum(g, reln_sum_all(g, reln_square(g, y)));
        loss = loss ? reln_add(g, loss, y) : y;
    }
    if (!reln_grad(g, loss, 5, factors, out + n))
        return 0;
    return n + 5;
}

static uint64_t bits_of_sums(const Fixture *f, const float *values, int n_out,
                             const RelnPlanOptions *options, int *instructions)
{
    uint64_t h = RELN_HASH_SEED;
    RelnPlan *plan = NULL;

    assert_ok(f->ctx, reln_plan_create(f->graph, options, &plan));
    assert_ok(f->ctx, reln_plan_bind(plan, "x", values, RELN_F32));
    assert_ok(f->ctx, reln_plan_bind(plan, "a", values + 1, RELN_F32));
    assert_ok(f->ctx, reln_plan_bind(plan, "b", values + 2, RELN_F32));
    assert_ok(f->ctx, reln_plan_run(plan, &(RelnRun){.n_samples = SAMPLES}));
    for (int i = 0; i < n_out; i++) {
        char name[16];
        ptrdiff_t items = 0;
        const RelnPort port = reln_plan_output_port(plan, i);
        const int each = port.dims.p * port.dims.q * port.dims.r * port.dims.k * port.dims.c;
        const void *y;

        snprintf(name, sizeof name, "y%d", i);
        y = reln_plan_output(plan, name, &items);
        assert_non_null(y);
        assert_true(items * each > 0);
        h = reln_hash(h, y, (size_t)(items * each) * (port.dtype == RELN_F64 ? 8 : 4));
    }
    *instructions = reln_plan_cost(plan).instructions;
    reln_plan_destroy(plan);
    return h;
}

static void compare_sums(RelnDtype dtype, int c, bool reference)
{
    static float values[SAMPLES * STEPS * K * WIDEST + 2];
    RelnRng rng = reln_rng(5, 1);
    RelnNode *out[16] = {NULL};
    Fixture f;
    int n, chained = 0, single = 0;
    uint64_t a, b;

    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        values[i] = (float)reln_rng_normal(&rng);
    fixture_init(&f, "so:3", "so:3", dtype);
    n = build_sums(f.graph, c, out);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        char name[16];

        snprintf(name, sizeof name, "y%d", i);
        reln_output(f.graph, name, out[i]);
    }
    a = bits_of_sums(&f, values, n, &(RelnPlanOptions){.reference = reference}, &chained);
    b = bits_of_sums(&f, values, n, &(RelnPlanOptions){.reference = reference, .finite = true},
                     &single);
    assert_true(a == b);
    assert_true(chained < single);
    fixture_clear(&f);
}

static void sums_of_products_have_the_bits_of_single_passes(void **state)
{
    static const int channels[] = {1, 3, 8, 13, 16, 32, WIDEST};

    (void)state;
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        for (int which = 0; which < 4; which++)
            compare_sums(which & 1 ? RELN_F64 : RELN_F32, channels[i], which >= 2);
}

/* x w + a x - b x: five nodes, of which one has an instruction, although the factors are repeated along other axes. */
static void a_sum_of_products_is_one_pass(void **state)
{
    static float values[SAMPLES * STEPS * K * WIDEST + 2];
    int chained = 0, single = 0;
    RelnNode *x, *a, *b, *w;
    RelnGraph *g;
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F32);
    g = f.graph;
    x = reln_input(g, "x", RELN_SAMPLES, (RelnDims){.p = STEPS, .k = K, .c = 8}, NULL,
                   RELN_DEFAULT);
    a = reln_input(g, "a", RELN_SAMPLES, (RelnDims){.p = STEPS, .c = 8}, NULL, RELN_DEFAULT);
    b = reln_input(g, "b", RELN_SAMPLES, (RelnDims){.k = K}, NULL, RELN_DEFAULT);
    w = reln_param(g, "w", (RelnDims){.p = STEPS}, (RelnInit){RELN_INIT_NORMAL, 1.0});
    reln_output(g, "y0",
                reln_sub(g, reln_add(g, reln_mul(g, x, w), reln_mul(g, a, x)), reln_mul(g, b, x)));
    bits_of_sums(&f, values, 1, &(RelnPlanOptions){0}, &chained);
    bits_of_sums(&f, values, 1, &(RelnPlanOptions){.finite = true}, &single);
    assert_int_equal(single - chained, 4);
    fixture_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_have_the_bits_of_single_passes),
        cmocka_unit_test(sums_of_products_have_the_bits_of_single_passes),
        cmocka_unit_test(a_sum_of_products_is_one_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
