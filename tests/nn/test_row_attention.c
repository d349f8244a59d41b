/* Tests attention among rows: it equals attention among points of an axis if all sets have equal size. For
 * sets of any size, it commutes with a different group element for each sample, and tiles change no bit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fixture.h"

enum { SAMPLES = 6, P = 5, C = 4, HEADS = 2, ROWS = 128 };

static const int32_t equal[SAMPLES] = {P, P, P, P, P, P};
/* An empty set and a single row are among the sets. */
static const int32_t ragged[SAMPLES] = {3, 0, 20, 1, 7, 33},
                     looked_at[SAMPLES] = {2, 5, 30, 0, 1, 9};

typedef struct Net {
    Fixture f;
    RelnNet net;
    RelnPlan *plan;
    int k;
} Net;

static void net_init(Net *n, const char *algebra, RelnDtype dtype)
{
    memset(n, 0, sizeof *n);
    fixture_init(&n->f, algebra, algebra, dtype);
    n->net = (RelnNet){.graph = n->f.graph, .algebra = n->f.algebra, .train = true};
    n->k = reln_algebra_dim(n->f.algebra);
}

static void net_clear(Net *n)
{
    reln_plan_destroy(n->plan);
    fixture_clear(&n->f);
}

static RelnNode *rows_input(Net *n, const char *name, RelnDomain domain, int points)
{
    return reln_input(n->f.graph, name, domain, (RelnDims){.p = points, .k = n->k, .c = C},
                      n->f.adjoint, RELN_DEFAULT);
}

static double *normals(ptrdiff_t count, uint64_t seed)
{
    RelnRng rng = reln_rng(seed, 0);
    double *x = malloc((size_t)count * sizeof *x);

    assert_non_null(x);
    fill_normal(&rng, count, x);
    return x;
}

static ptrdiff_t total(const int32_t *n)
{
    ptrdiff_t rows = 0;

    for (int i = 0; i < SAMPLES; i++)
        rows += n[i];
    return rows;
}

/* ---- rows and points ---------------------------------------------------------------------------------------------- */

/* |y|^2 summed, its gradients with respect to x and a weight, and the gradient of the former's square. */
static void differentiate(Net *n, RelnFeatures y, RelnNode *x)
{
    RelnGraph *g = n->f.graph;
    RelnNode *loss =
        reln_batch_sum(g, reln_sum_all(g, reln_square(g, reln_nn_form(&n->net, y.x, y.x))));
    RelnNode *xs[2] = {x, reln_graph_param(g, 0)}, *first[2], *second[2], *square;

    loss = reln_add(g, loss, reln_batch_sum(g, reln_sum_all(g, reln_square(g, y.s))));
    reln_output(g, "y", y.x);
    reln_output(g, "s", y.s);
    assert_true(reln_grad(g, loss, 2, xs, first));
    reln_output(g, "dx", first[0]);
    reln_output(g, "dw", first[1]);
    square = reln_sum_all(g, reln_square(g, first[1]));
    assert_true(reln_grad(g, square, 2, xs, second));
    reln_output(g, "ddx", second[0]);
    reln_output(g, "ddw", second[1]);
}

static void build(Net *n, bool rows)
{
    RelnDomain domain = rows ? reln_rows(n->f.graph, "points", ROWS) : RELN_SAMPLES;
    RelnNode *x = rows_input(n, "x", domain, rows ? 1 : P);
    RelnFeatures in = {x, reln_nn_invariant(&n->net, x)};

    differentiate(n, reln_nn_attention(&n->net, "a", in, HEADS), x);
    assert_ok(n->f.ctx, reln_plan_create(n->f.graph, NULL, &n->plan));
    if (rows)
        assert_ok(n->f.ctx, reln_plan_bind_rows(n->plan, "points", equal));
}

static double size_of(const double *x, ptrdiff_t n)
{
    double most = 1;

    for (ptrdiff_t i = 0; i < n; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

/* Both are sums of at most P K C = 45 products of sums of C products of ..., six layers deep in the second derivative: 1e-12
 * of the largest number is some thousand roundings. */
static void rows_look_as_points_do(void **state)
{
    static const char *const outs[] = {"y", "s", "dx", "ddx", "dw", "ddw"};
    Net a, b;
    double *x;

    (void)state;
    net_init(&a, "gl:3", RELN_F64);
    net_init(&b, "gl:3", RELN_F64);
    x = normals(SAMPLES * P * a.k * C, 3);
    build(&a, false);
    build(&b, true);
    for (Net *n = &a; n; n = n == &a ? &b : NULL) {
        assert_ok(n->f.ctx, reln_plan_bind(n->plan, "x", x, RELN_F64));
        assert_ok(n->f.ctx, reln_plan_run(n->plan, &(RelnRun){.n_samples = SAMPLES}));
    }
    for (size_t i = 0; i < sizeof outs / sizeof *outs; i++) {
        const double *p = reln_plan_output(a.plan, outs[i], NULL);
        const ptrdiff_t n = i == 1 ? SAMPLES * P * C : i < 4 ? SAMPLES * P * a.k * C : C * C;

        assert_near(reln_plan_output(b.plan, outs[i], NULL), p, n, 1e-12 * size_of(p, n));
    }
    free(x);
    net_clear(&a);
    net_clear(&b);
}

/* ---- sets of any size --------------------------------------------------------------------------------------------- */

/* Builds attention among the rows of a set, followed by attention to the rows of another set. */
static void build_ragged(Net *n, RelnPlanOptions options, bool gradient)
{
    RelnGraph *g = n->f.graph;
    const RelnDomain rows = reln_rows(g, "points", ROWS), others = reln_rows(g, "others", ROWS);
    RelnNode *x = rows_input(n, "x", rows, 1), *y = rows_input(n, "y", others, 1);
    RelnFeatures in = {x, reln_nn_invariant(&n->net, x)}, z;

    in = reln_nn_attention(&n->net, "a", in, HEADS);
    z = reln_nn_cross_attention(&n->net, "b", in, (RelnFeatures){y, reln_nn_invariant(&n->net, y)},
                                1);
    reln_output(g, "z", z.x);
    reln_output(g, "s", z.s);
    if (gradient) {
        RelnNode *xs[2] = {x, y}, *out[2];
        RelnNode *loss = reln_batch_sum(g, reln_sum_all(g, reln_nn_invariant(&n->net, z.x)));

        assert_true(reln_grad(g, loss, 2, xs, out));
        reln_output(g, "dx", out[0]);
        reln_output(g, "dy", out[1]);
    }
    assert_ok(n->f.ctx, reln_plan_create(g, &options, &n->plan));
    assert_ok(n->f.ctx, reln_plan_bind_rows(n->plan, "points", ragged));
    assert_ok(n->f.ctx, reln_plan_bind_rows(n->plan, "others", looked_at));
}

static void run(Net *n, const double *x, const double *y)
{
    assert_ok(n->f.ctx, reln_plan_bind(n->plan, "x", x, RELN_F64));
    assert_ok(n->f.ctx, reln_plan_bind(n->plan, "y", y, RELN_F64));
    assert_ok(n->f.ctx, reln_plan_run(n->plan, &(RelnRun){.n_samples = SAMPLES}));
}

static void tiles_do_not_change_a_bit(void **state)
{
    static const RelnPlanOptions others[] = {
        {.tile = 1}, {.tile = 7}, {.tile = 100000}, {.shard = 1}};
    static const char *const outs[] = {"z", "dx", "dy", "s"};
    Net a;
    double *x, *y;

    (void)state;
    net_init(&a, "so:3", RELN_F32);
    x = normals(total(ragged) * a.k * C, 1);
    y = normals(total(looked_at) * a.k * C, 2);
    build_ragged(&a, (RelnPlanOptions){0}, true);
    run(&a, x, y);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        Net b;

        net_init(&b, "so:3", RELN_F32);
        build_ragged(&b, others[i], true);
        run(&b, x, y);
        for (size_t o = 0; o < sizeof outs / sizeof *outs; o++) {
            ptrdiff_t n = 0;
            const void *want = reln_plan_output(a.plan, outs[o], &n);

            assert_memory_equal(reln_plan_output(b.plan, outs[o], NULL), want,
                                (size_t)(n * C) * (o < 3 ? (size_t)a.k : 1) * sizeof(float));
        }
        net_clear(&b);
    }
    free(x);
    free(y);
    net_clear(&a);
}

/* Moves every row to out = g x, with one g for each sample; with `skewed`, the rows of sample 2 have another
 * g. */
static void move(const Net *n, const int32_t *rows, const double *g, const double *x, bool skewed,
                 double *out)
{
    for (ptrdiff_t s = 0, r = 0; s < SAMPLES; s++)
        for (int i = 0; i < rows[s]; i++, r++) {
            const double *m = g + (skewed && s == 2 ? 0 : s) * n->k * n->k;

            for (int k = 0; k < n->k; k++)
                for (int c = 0; c < C; c++) {
                    double sum = 0;

                    for (int l = 0; l < n->k; l++)
                        sum += m[k * n->k + l] * x[(r * n->k + l) * C + c];
                    out[(r * n->k + k) * C + c] = sum;
                }
        }
}

static double difference(const double *a, const double *b, ptrdiff_t n)
{
    double most = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most / size_of(b, n);
}

/* Compares f(g x, g y) with g f(x, y); with `skewed`, the second set of a sample is moved by another g. */
static void moved(const char *algebra, bool skewed, double *features, double *invariants)
{
    Net n;
    RelnRng rng = reln_rng(8, 0);
    double *x, *y, *gx, *gy, *g, *z, *s, *want;
    ptrdiff_t count, others;

    net_init(&n, algebra, RELN_F64);
    count = total(ragged) * n.k * C;
    others = total(looked_at) * n.k * C;
    x = normals(count, 1);
    y = normals(others, 2);
    gx = normals(count, 0);
    gy = normals(others, 0);
    g = normals(SAMPLES * n.k * n.k, 0);
    z = normals(count, 0);
    want = normals(count, 0);
    s = normals(total(ragged) * C, 0);
    for (int i = 0; i < SAMPLES; i++) {
        RelnElement *element = NULL;

        assert_ok(n.f.ctx, reln_group_random(n.f.group, &rng, 10.0, &element));
        assert_ok(n.f.ctx, reln_rep_act(n.f.adjoint, element, g + i * n.k * n.k));
        reln_element_destroy(element);
    }
    build_ragged(&n, (RelnPlanOptions){0}, false);
    run(&n, x, y);
    memcpy(z, reln_plan_output(n.plan, "z", NULL), (size_t)count * sizeof *z);
    memcpy(s, reln_plan_output(n.plan, "s", NULL), (size_t)(total(ragged) * C) * sizeof *s);
    move(&n, ragged, g, x, false, gx);
    move(&n, looked_at, g, y, skewed, gy);
    move(&n, ragged, g, z, false, want);
    run(&n, gx, gy);
    *features = difference(reln_plan_output(n.plan, "z", NULL), want, count);
    *invariants = difference(reln_plan_output(n.plan, "s", NULL), s, total(ragged) * C);
    free(x);
    free(y);
    free(gx);
    free(gy);
    free(g);
    free(z);
    free(s);
    free(want);
    net_clear(&n);
}

/* Elements g of condition 10: Ad g has 100, scores are quadratic in Ad g x, and two layers follow each other; sums have up
 * to K C + 33 terms. 1e-9 is far below what one wrong coordinate does. */
static void attention_commutes_with_the_group(void **state)
{
    static const char *const algebras[] = {"gl:2", "so:3", "so:1,3", "sp:4"};
    double features, invariants;

    (void)state;
    for (int a = 0; a < 4; a++) {
        moved(algebras[a], false, &features, &invariants);
        assert_small(features, 1e-9);
        assert_small(invariants, 1e-9);
    }
    /* if the two sets of a sample are moved by different elements, the results differ */
    moved("so:3", true, &features, &invariants);
    assert_true(features > 1e-3);
    assert_true(invariants > 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_look_as_points_do),
        cmocka_unit_test(tiles_do_not_change_a_bit),
        cmocka_unit_test(attention_commutes_with_the_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
