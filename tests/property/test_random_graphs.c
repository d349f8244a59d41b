/* Tests random graphs that are valid by construction (test_wild_graphs.c has others): the values of a plan
 * equal those of an interpreter, for any division of the batch and any number of threads; derivatives equal
 * differences; graphs are equivariant.
 *     RELN_SEED=17 property_test_random_graphs          one graph
 *     RELN_SEED=1000 RELN_SEEDS=5000 property_test_...  many */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "property/act.h"
#include "property/world.h"
#include "reln/plan.h"

enum { N_POOLS = 4 };
static const int threads[N_POOLS] = {1, 2, 3, 7};

static RelnCtx *pool_ctx;
static RelnPool *pools[N_POOLS];
static uint64_t seed;
static int complaints;

static void complain(const char *what, const char *name, double error, double allowed)
{
    if (complaints++ < 20)
        print_message("RELN_SEED=%llu: %s, %s: off by %.2e, allowed %.2e\n",
                      (unsigned long long)seed, what, name, error, allowed);
}

/* ---- what a value depends on ---------------------------------------------------------------------------------- */

enum {
    REDUCED = 1, /* a sum over the batch, whose order depends on the shards */
    SUMMED = 2,  /* additions at step level, whose order the plan chooses */
    COUNTED = 4, /* depends on the size of the batch */
    PLACED = 8   /* depends on the place in the batch: random numbers */
};

static bool draws(const RelnNode *x)
{
    const RelnGraph *body =
        x->op == &reln_op_call ? ((const RelnCallAttr *)x->attr)->fn->body : NULL;

    for (int id = 0; body && id < body->nodes.count; id++)
        if (draws(body->nodes.items[id]))
            return true;
    return (x->op->flags & RELN_OP_PLACE) != 0;
}

static unsigned nature(const RelnNode *x)
{
    const bool result = x->op == &reln_op_result;
    unsigned n = 0;

    if (x->domain == RELN_STEP && x->n_in && x->in[0]->domain != RELN_STEP)
        n |= REDUCED;
    if (x->domain == RELN_STEP && (x->op->flags & RELN_OP_SUM || result))
        n |= SUMMED;
    if (x->op == &reln_op_batch_count)
        n |= COUNTED;
    return draws(x) ? n | PLACED : n;
}

static unsigned *natures(const RelnGraph *g)
{
    unsigned *n = calloc((size_t)g->nodes.count, sizeof *n);

    assert_non_null(n);
    for (int id = 0; id < g->nodes.count; id++) {
        const RelnNode *x = g->nodes.items[id];

        n[id] = nature(x);
        for (int i = 0; i < x->n_in; i++)
            n[id] |= n[x->in[i]->id];
    }
    return n;
}

/* ---- plans ---------------------------------------------------------------------------------------------------- */

static RelnPlan *plan_of(World *w, int shard, int pool, bool reference)
{
    const RelnPlanOptions options = {.pool = pools[pool], .shard = shard, .reference = reference};
    RelnPlan *plan = NULL;

    assert_ok(w->ctx, reln_plan_create(w->graph, &options, &plan));
    return plan;
}

static ptrdiff_t items_before(const World *w, const RelnNode *x, ptrdiff_t sample)
{
    if (x->domain == RELN_STEP)
        return 0;
    return x->domain == RELN_SAMPLES ? sample : w->meaning.tree.first[x->domain - 2][sample];
}

/* Run the samples first, first + 1, ... as a batch. */
static void run(World *w, RelnPlan *plan, ptrdiff_t first, ptrdiff_t count)
{
    const RelnRun how = {.n_samples = count, .seed = w->batch.seed, .step = w->batch.step};

    for (int i = 0; i < w->n_sources; i++) {
        const WorldSource *s = &w->sources[i];
        const ptrdiff_t skip = items_before(w, s->node, first) * reln_shape_count(&s->node->shape);

        if (s->indices)
            assert_ok(w->ctx, reln_plan_bind(plan, s->name, s->indices + skip, RELN_I32));
        else if (s->node->op == &reln_op_input)
            assert_ok(w->ctx, reln_plan_bind(plan, s->name, s->values + skip, RELN_F64));
    }
    assert_ok(w->ctx, reln_plan_bind_rows(plan, "points", w->points_of + first));
    assert_ok(w->ctx, reln_plan_bind_rows(plan, "edges", w->edges_of + first));
    assert_ok(w->ctx,
              reln_plan_bind_rows(plan, "members",
                                  w->members_of + w->meaning.tree.first[w->points - 2][first]));
    assert_ok(w->ctx, reln_plan_run(plan, &how));
}

static const double *output(const RelnPlan *plan, const char *name)
{
    const double *values = reln_plan_output(plan, name, NULL);

    assert_non_null(values);
    return values;
}

static ptrdiff_t count_of(const World *w, const RelnNode *x)
{
    return interpret_items(&w->meaning, x->domain) * reln_shape_count(&x->shape);
}

/* ---- comparing ------------------------------------------------------------------------------------------------ */

/* Returns the allowed difference between two orders of the same sums: 16 epsilons for each node, which rounds
 * its inputs and adds at most a few hundred terms, whose errors have both signs. */
static double rounding(const World *w)
{
    return 0x1p-52 * (w->coarse ? 0x1p29 : 1.0) * 16.0 * (double)w->graph->nodes.count;
}

static double distance(const double *x, const double *y, ptrdiff_t n)
{
    double scale = 1, most = 0;

    for (ptrdiff_t i = 0; i < n; i++) {
        scale = fmax(scale, fmax(fabs(x[i]), fabs(y[i])));
        most = isfinite(x[i]) && isfinite(y[i]) ? fmax(most, fabs(x[i] - y[i])) : HUGE_VAL;
    }
    return most / scale;
}

static void compare(const World *w, const char *what, const char *name, const double *x,
                    const double *y, ptrdiff_t n, bool bits)
{
    const double allowed = bits ? 0.0 : rounding(w);
    const double error = n ? distance(x, y, n) : 0.0;

    if (bits ? n && memcmp(x, y, (size_t)n * sizeof *x) != 0 : !(error <= allowed))
        complain(what, name, error, allowed);
}

static void check_meaning(const World *w, const RelnPlan *plan, const unsigned *kind)
{
    for (int i = 0; i < w->graph->outputs.count; i++) {
        const RelnNamedNode *out = &w->graph->outputs.items[i];

        compare(w, "the plan against the meaning", out->name, output(plan, out->name),
                w->meaning.values[out->node->id], count_of(w, out->node),
                !(kind[out->node->id] & (REDUCED | SUMMED)));
    }
}

static void check_threads(World *w, const RelnPlan *plan, int shard)
{
    for (int t = 1; t < N_POOLS; t++) {
        RelnPlan *other = plan_of(w, shard, t, false);

        run(w, other, 0, w->n_samples);
        for (int i = 0; i < w->graph->outputs.count; i++) {
            const RelnNamedNode *out = &w->graph->outputs.items[i];

            compare(w, "several threads", out->name, output(plan, out->name),
                    output(other, out->name), count_of(w, out->node), true);
        }
        reln_plan_destroy(other);
    }
}

static void check_shards(World *w, const RelnPlan *plan, int shard, const unsigned *kind)
{
    RelnPlan *other = plan_of(w, shard, 1, false);

    run(w, other, 0, w->n_samples);
    for (int i = 0; i < w->graph->outputs.count; i++) {
        const RelnNamedNode *out = &w->graph->outputs.items[i];

        compare(w, "shards of another size", out->name, output(plan, out->name),
                output(other, out->name), count_of(w, out->node), !(kind[out->node->id] & REDUCED));
    }
    reln_plan_destroy(other);
}

static void check_reference(World *w, const RelnPlan *plan, int shard)
{
    RelnPlan *other = plan_of(w, shard, 0, true);

    run(w, other, 0, w->n_samples);
    for (int i = 0; i < w->graph->outputs.count; i++) {
        const RelnNamedNode *out = &w->graph->outputs.items[i];

        compare(w, "the reference kernels", out->name, output(plan, out->name),
                output(other, out->name), count_of(w, out->node), false);
    }
    reln_plan_destroy(other);
}

/* Checks a frozen plan, whose first run, on another batch, computes the frozen values. */
static void check_frozen(World *w, const RelnPlan *plan, int shard)
{
    RelnPlan *other = plan_of(w, shard, 1, false);

    assert_ok(w->ctx, reln_plan_freeze(other));
    run(w, other, 0, w->n_samples / 2);
    run(w, other, 0, w->n_samples);
    for (int i = 0; i < w->graph->outputs.count; i++) {
        const RelnNamedNode *out = &w->graph->outputs.items[i];

        compare(w, "a frozen plan", out->name, output(plan, out->name), output(other, out->name),
                count_of(w, out->node), true);
    }
    reln_plan_destroy(other);
}

/* Runs a part of the batch, which may be empty, as a separate batch: values that depend on one sample alone
 * have the same bits. */
static void check_part(World *w, const RelnPlan *plan, RelnPlan *other, const unsigned *kind,
                       ptrdiff_t first, ptrdiff_t count)
{
    run(w, other, first, count);
    for (int i = 0; i < w->graph->outputs.count && count > 0; i++) {
        const RelnNamedNode *out = &w->graph->outputs.items[i];
        const ptrdiff_t each = reln_shape_count(&out->node->shape);
        const ptrdiff_t skip = items_before(w, out->node, first) * each;
        const ptrdiff_t end = items_before(w, out->node, first + count) * each;

        if (!kind[out->node->id])
            compare(w, "a part of the batch", out->name, output(plan, out->name) + skip,
                    output(other, out->name), out->node->domain == RELN_STEP ? each : end - skip,
                    true);
    }
}

/* ---- derivatives ---------------------------------------------------------------------------------------------- */

typedef struct Direction {
    double *by[WORLD_X], *at[WORLD_X];
} Direction;

static double *copy_of(const double *x, ptrdiff_t n)
{
    double *copy = malloc(((size_t)n + 1) * sizeof *copy);

    assert_non_null(copy);
    if (n)
        memcpy(copy, x, (size_t)n * sizeof *copy);
    return copy;
}

static Direction direction(World *w, RelnRng *rng)
{
    Direction d = {{NULL}, {NULL}};

    for (int i = 0; i < w->n_x; i++) {
        const WorldSource *s = &w->sources[w->x[i]];

        d.at[i] = copy_of(s->values, s->count);
        d.by[i] = copy_of(s->values, s->count);
        fill_normal(rng, s->count, d.by[i]);
    }
    return d;
}

static void direction_clear(const World *w, Direction *d)
{
    for (int i = 0; i < w->n_x; i++) {
        free(d->at[i]);
        free(d->by[i]);
    }
}

static void move(World *w, const Direction *d, double t)
{
    for (int i = 0; i < w->n_x; i++) {
        const WorldSource *s = &w->sources[w->x[i]];

        for (ptrdiff_t j = 0; j < s->count; j++)
            s->values[j] = d->at[i][j] + t * d->by[i][j];
    }
}

static double value_at(World *w, RelnPlan *plan, const Direction *d, const char *name, double t)
{
    move(w, d, t);
    run(w, plan, 0, w->n_samples);
    return *output(plan, name);
}

/* <gradient, direction>, and the sum of its terms' sizes. */
static double along(const World *w, const RelnPlan *plan, char letter, double *const *by,
                    double *size)
{
    double sum = 0;

    for (int i = 0; i < w->n_x; i++) {
        const double *g;
        char name[16];

        snprintf(name, sizeof name, "%c%d", letter, i);
        g = w->sources[w->x[i]].count ? output(plan, name) : NULL;
        for (ptrdiff_t j = 0; j < w->sources[w->x[i]].count; j++) {
            sum += g[j] * by[i][j];
            *size += fabs(g[j] * by[i][j]);
        }
    }
    return sum;
}

/* Compares with four-point differences along one direction for all sources together. Their error is h^4 f^(5)
 * / 30 plus eps f / h, so the best of a few steps counts. */
static void check_difference(World *w, RelnPlan *plan, const Direction *d, const char *of,
                             char letter, double allowed)
{
    double size = 0, best = HUGE_VAL, exact, value;

    value = value_at(w, plan, d, of, 0);
    exact = along(w, plan, letter, d->by, &size);
    size = fmax(size, fmax(0.01 * fabs(value), 1e-4));
    for (double h = 3e-3; h > 1e-5; h *= 0.25) {
        const double near = value_at(w, plan, d, of, h) - value_at(w, plan, d, of, -h);
        const double far = value_at(w, plan, d, of, 2 * h) - value_at(w, plan, d, of, -2 * h);

        best = fmin(best, fabs((8 * near - far) / (12 * h) - exact) / size);
        if (best <= allowed)
            break;
    }
    move(w, d, 0);
    if (!(best <= allowed))
        complain("the derivative along a line", of, best, allowed);
}

/* Returns the largest number in the graph. */
static double largest(const World *w)
{
    double most = 0;

    for (int id = 0; id < w->meaning.n; id++) {
        const RelnNode *x = w->graph->nodes.items[id];
        const double *values = w->meaning.values[id];

        for (ptrdiff_t i = 0; x->dtype == RELN_F64 && x->op != &reln_op_call && i < count_of(w, x);
             i++)
            most = fmax(most, fabs(values[i]));
    }
    return most;
}

/* Checks <H v, u> = <v, H u>, up to rounding of the largest numbers in the graph. */
static void check_symmetry(World *w, RelnPlan *plan, const Direction *d)
{
    double size = 0, allowed, left, right, *v[WORLD_X];

    for (int i = 0; i < w->n_x; i++)
        v[i] = copy_of(w->sources[w->v[i]].values, w->sources[w->v[i]].count);
    run(w, plan, 0, w->n_samples);
    left = along(w, plan, 'h', d->by, &size);
    for (int i = 0; i < w->n_x; i++)
        memcpy(w->sources[w->v[i]].values, d->by[i],
               (size_t)w->sources[w->v[i]].count * sizeof(double));
    run(w, plan, 0, w->n_samples);
    right = along(w, plan, 'h', v, &size);
    for (int i = 0; i < w->n_x; i++) {
        memcpy(w->sources[w->v[i]].values, v[i],
               (size_t)w->sources[w->v[i]].count * sizeof(double));
        free(v[i]);
    }
    allowed = 1e-10 * size + rounding(w) * largest(w);
    if (!(fabs(left - right) <= allowed))
        complain("the symmetry of the Hessian", "S", fabs(left - right), allowed);
}

static void check_derivatives(World *w, RelnPlan *plan)
{
    RelnRng rng = reln_rng(seed, 23);
    Direction d = direction(w, &rng);

    if (!w->coarse)
        check_difference(w, plan, &d, "L", 'g', 1e-7);
    if (!w->coarse && w->order > 1) {
        check_difference(w, plan, &d, "S", 'h', 1e-6);
        check_symmetry(w, plan, &d);
    }
    direction_clear(w, &d);
}

/* ---- equivariance --------------------------------------------------------------------------------------------- */

static void check_equivariance(World *w, RelnPlan *plan)
{
    RelnRng rng = reln_rng(seed, 29);
    RelnElement *g = NULL;
    double *want[512], allowed;
    const int n = w->graph->outputs.count;

    assert_true(n <= 512);
    assert_ok(w->ctx, reln_group_random(w->group, &rng, 4.0, &g));
    allowed = rounding(w) * pow(reln_element_cond(g), 3);
    run(w, plan, 0, w->n_samples);
    for (int i = 0; i < n; i++) {
        const RelnNamedNode *out = &w->graph->outputs.items[i];
        const ptrdiff_t count = count_of(w, out->node);

        want[i] = copy_of(count ? output(plan, out->name) : NULL, count);
        act(out->node, g, interpret_items(&w->meaning, out->node->domain), want[i]);
    }
    for (int i = 0; i < w->n_sources; i++)
        if (w->sources[i].values)
            act(w->sources[i].node, g, w->sources[i].items, w->sources[i].values);
    run(w, plan, 0, w->n_samples);
    for (int i = 0; i < n; i++) {
        const RelnNamedNode *out = &w->graph->outputs.items[i];
        const ptrdiff_t count = count_of(w, out->node);
        const double error = count ? distance(want[i], output(plan, out->name), count) : 0.0;

        if (!(error <= allowed))
            complain("equivariance", out->name, error, allowed);
        free(want[i]);
    }
    reln_element_destroy(g);
}

/* ---- all of it ------------------------------------------------------------------------------------------------ */

static void check_plans(World *w, const RelnPlan *plan, int shard, int other, const unsigned *kind)
{
    const ptrdiff_t first = (ptrdiff_t)(seed % (uint64_t)w->n_samples);
    RelnPlan *parts = plan_of(w, other, 0, false);

    check_meaning(w, plan, kind);
    check_threads(w, plan, shard);
    check_shards(w, plan, other, kind);
    check_reference(w, plan, other);
    check_frozen(w, plan, shard);
    check_part(w, plan, parts, kind, 0, 0);
    check_part(w, plan, parts, kind, first, (w->n_samples - first + 1) / 2);
    check_part(w, plan, parts, kind, 0, w->n_samples);
    reln_plan_destroy(parts);
}

static void check_seed(void)
{
    static const int shards[] = {1, 2, 3, 5, 7, 0};
    static World w;
    const int shard = shards[seed % 6], other = shards[(seed / 6 + seed + 1) % 6];
    RelnPlan *plan;
    unsigned *kind;

    world_make(&w, seed);
    kind = natures(w.graph);
    plan = plan_of(&w, shard, 0, false);
    run(&w, plan, 0, w.n_samples);
    check_plans(&w, plan, shard, other, kind);
    check_derivatives(&w, plan);
    check_equivariance(&w, plan);
    reln_plan_destroy(plan);
    free(kind);
    world_clear(&w);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void plans_compute_what_graphs_mean(void **state)
{
    const uint64_t first = setting("RELN_SEED", 1);
    const uint64_t n = setting("RELN_SEEDS", getenv("RELN_SEED") ? 1 : 400);

    (void)state;
    for (seed = first; seed < first + n; seed++)
        check_seed();
    assert_int_equal(complaints, 0);
}

static void wrong_values_and_derivatives_are_seen(void **state)
{
    static World w;
    RelnRng rng = reln_rng(1, 1);
    RelnPlan *plan;
    Direction d;
    unsigned *kind;

    (void)state;
    print_message("complaints follow that must be made:\n");
    seed = 4;
    world_make(&w, seed);
    assert_int_equal(w.order, 2);
    kind = natures(w.graph);
    plan = plan_of(&w, 3, 0, false);
    d = direction(&w, &rng);
    move(&w, &d, 1e-9);
    run(&w, plan, 0, w.n_samples);
    check_meaning(&w, plan, kind);
    assert_true(complaints > 0);
    complaints = 0;
    check_difference(&w, plan, &d, "S", 'g',
                     1e-6); /* compared with the gradient of another output */
    assert_true(complaints > 0);
    complaints = 0;
    direction_clear(&w, &d);
    reln_plan_destroy(plan);
    free(kind);
    world_clear(&w);
}

static int make_pools(void **state)
{
    (void)state;
    if (reln_ctx_create(NULL, &pool_ctx) != RELN_OK)
        return -1;
    for (int i = 0; i < N_POOLS; i++)
        if (reln_pool_create(pool_ctx, threads[i], &pools[i]) != RELN_OK)
            return -1;
    return 0;
}

static int clear_pools(void **state)
{
    (void)state;
    for (int i = 0; i < N_POOLS; i++)
        reln_pool_destroy(pools[i]);
    reln_ctx_destroy(pool_ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_values_and_derivatives_are_seen),
        cmocka_unit_test(plans_compute_what_graphs_mean),
    };
    return cmocka_run_group_tests(tests, make_pools, clear_pools);
}
