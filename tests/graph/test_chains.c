/* Tests chains: elementwise nodes computed in one pass have the same bits as nodes computed one by one,
 * whatever is broadcast or gathered. A plan that stops at the first number that is not finite checks every
 * value, so it has no chains. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_have_the_bits_of_single_passes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
