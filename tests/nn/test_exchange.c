/* Compares layers that exchange information through sums (invariants at several scales, rows far apart,
 * parts, rounds of exchange) with plain loops; tests boosts, gradients against differences, f64 features in
 * an f32 graph, and refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fixture.h"
#include "reln/nn.h"
#include "reln/ops.h"

enum { SAMPLES = 4, ROWS = 32, TOTAL = 11, K = 4, M = 3, W = 3 };

/* A single row and an empty set are among the sets. */
static const int32_t sizes[SAMPLES] = {5, 1, 0, 5};
static const RelnScales scales = {2.0, 2, {1, 100}};

#define assert_close(got, want, tol) assert_true(fabs((double)(got) - (want)) <= (tol))

typedef struct Net {
    Fixture f;
    RelnNet net;
    RelnPlan *plan;
    RelnDomain rows;
    RelnNode *x, *far;
    RelnSet y;
} Net;

static void net_init(Net *n, RelnDtype dtype, bool norm)
{
    RelnGraph *g;
    RelnExchange options = {.sums = M,
                            .width = W,
                            .scales = scales,
                            .norm = norm,
                            .count = 3,
                            .activation = RELN_ACT_SILU};

    memset(n, 0, sizeof *n);
    fixture_init(&n->f, "gl:4", "lorentz", dtype);
    g = n->f.graph;
    n->net = (RelnNet){.graph = g, .train = norm};
    n->rows = reln_rows(g, "points", ROWS);
    n->x = reln_input(g, "x", n->rows, (RelnDims){.k = K}, reln_rep_vector(n->f.group), RELN_F64);
    n->far = reln_nn_far_rows(&n->net, n->x, M);
    options.keep = reln_reduce(g, n->x, RELN_SAMPLES);
    n->y = (RelnSet){n->x, NULL, n->far, NULL};
    n->y.s = reln_nn_lengths(&n->net, n->x, &scales);
    n->y = reln_nn_exchange(&n->net, "one", &n->y, &options);
    n->y = reln_nn_exchange(&n->net, "two", &n->y, &options);
    reln_output(g, "far", n->far);
    reln_output(g, "sums", n->y.sums);
    reln_output(g, "s", n->y.s);
    reln_output(g, "z", n->y.z);
}

static void plan(Net *n)
{
    assert_ok(n->f.ctx, reln_plan_create(n->f.graph, NULL, &n->plan));
    assert_ok(n->f.ctx, reln_plan_bind_rows(n->plan, "points", sizes));
}

static void run(Net *n, const double *x)
{
    assert_ok(n->f.ctx, reln_plan_bind(n->plan, "x", x, RELN_F64));
    assert_ok(n->f.ctx, reln_plan_run(n->plan, &(RelnRun){.n_samples = SAMPLES}));
}

static void net_clear(Net *n)
{
    reln_plan_destroy(n->plan);
    fixture_clear(&n->f);
}

static void draw(double *x)
{
    RelnRng rng = reln_rng(5, 0);

    fill_normal(&rng, TOTAL * K, x);
}

/* ---- plain loops ---------------------------------------------------------------------------------------------------- */

static double product(const double *x, const double *y)
{
    return -x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3];
}

static double apart(const double *x, const double *y)
{
    double d[K];

    for (int k = 0; k < K; k++)
        d[k] = x[k] - y[k];
    return fabs(product(d, d));
}

static double seen(double t, int scale)
{
    const double at = scales.at[scale] * t / scales.unit;

    return copysign(log1p(fabs(at)), at) / log1p(scales.at[scale]);
}

/* Computes the rows that reln_nn_far_rows() must select in one set. */
static void far_of(int n, const double *x, const double **out)
{
    double mean[K] = {0}, best = -1;

    for (int i = 0; i < n * K; i++)
        mean[i % K] += x[i] / n;
    for (int i = 0; i < n; i++) {
        const double t = fabs(product(x + i * K, x + i * K)) + fabs(product(x + i * K, mean));

        if (t > best) {
            best = t;
            out[0] = x + i * K;
        }
    }
    for (int m = 1; m < M; m++) {
        best = -1;
        for (int i = 0; i < n; i++) {
            double least = HUGE_VAL;

            for (int l = 0; l < m; l++)
                least = fmin(least, apart(x + i * K, out[l]));
            if (least > best) {
                best = least;
                out[m] = x + i * K;
            }
        }
    }
}

static void far_rows_are_what_loops_find(void **state)
{
    double x[TOTAL * K];
    const double *got;
    int first = 0;
    Net n;

    (void)state;
    draw(x);
    net_init(&n, RELN_F64, false);
    plan(&n);
    run(&n, x);
    got = reln_plan_output(n.plan, "far", NULL);
    for (int s = 0; s < SAMPLES; first += sizes[s++]) {
        const double *want[M];

        if (sizes[s])
            far_of(sizes[s], x + first * K, want);
        for (int k = 0; k < K; k++)
            for (int m = 0; m < M; m++)
                assert_true(got[(s * K + k) * M + m] == (sizes[s] ? want[m][k] : 0.0));
    }
    net_clear(&n);
}

/* ---- parts ---------------------------------------------------------------------------------------------------------- */

enum { ROUNDS = 3 };

/* Computes the distance of a row from a part by the formula of reln_nn_parts(); `total` is NULL if the form
 * is definite. */
static double from_part(const double *x, const double *y, const double *total)
{
    double square = 0;

    for (int k = 0; k < K; k++)
        square += (x[k] - y[k]) * (x[k] - y[k]);
    return total ? fabs(product(x, y)) / fabs(product(y, total)) : square;
}

/* Parts of a set of n rows, from the rows y that lie far apart. */
static void parts_of(int n, const double *x, bool definite, double y[M][K])
{
    double total[K] = {0}, parts[M][K], weight[M];

    for (int i = 0; i < n * K; i++)
        total[i % K] += x[i];
    for (int round = 0; round < ROUNDS; round++) {
        memset(parts, 0, sizeof parts);
        memset(weight, 0, sizeof weight);
        for (int i = 0; i < n; i++) {
            double t[M], all = 0, sum = 0;

            for (int m = 0; m < M; m++)
                all += t[m] = from_part(x + i * K, y[m], definite ? NULL : total);
            for (int m = 0; m < M; m++)
                sum += t[m] = pow((all > 0 ? t[m] / all : 0) + 1e-6, -1.5);
            for (int m = 0; m < M; m++) {
                weight[m] += t[m] / sum;
                for (int k = 0; k < K; k++)
                    parts[m][k] += t[m] / sum * x[i * K + k];
            }
        }
        for (int m = 0; m < M; m++)
            for (int k = 0; k < K; k++)
                y[m][k] = parts[m][k] / (definite && round + 1 < ROUNDS && n > 0 ? weight[m] : 1);
    }
}

/* Under boosts, and under rotations of four dimensions. Sets of one row and of none are among the samples. */
static void parts_are_what_loops_find(void **state)
{
    static const char *const groups[] = {"lorentz", "so:4"};

    (void)state;
    for (int definite = 0; definite < 2; definite++) {
        double x[TOTAL * K];
        const double *got, *far;
        int first = 0;
        Net n;

        draw(x);
        memset(&n, 0, sizeof n);
        fixture_init(&n.f, "gl:4", groups[definite], RELN_F64);
        n.net = (RelnNet){.graph = n.f.graph};
        n.rows = reln_rows(n.f.graph, "points", ROWS);
        n.x = reln_input(n.f.graph, "x", n.rows, (RelnDims){.k = K}, reln_rep_vector(n.f.group),
                         RELN_F64);
        reln_output(n.f.graph, "far", reln_nn_far_rows(&n.net, n.x, M));
        reln_output(n.f.graph, "parts", reln_nn_parts(&n.net, n.x, M, ROUNDS));
        plan(&n);
        run(&n, x);
        far = reln_plan_output(n.plan, "far", NULL);
        got = reln_plan_output(n.plan, "parts", NULL);
        for (int s = 0; s < SAMPLES; first += sizes[s++]) {
            double y[M][K];

            for (int m = 0; m < M; m++)
                for (int k = 0; k < K; k++)
                    y[m][k] = far[(s * K + k) * M + m];
            parts_of(sizes[s], x + first * K, definite, y);
            for (int m = 0; m < M; m++)
                for (int k = 0; k < K; k++)
                    assert_close(got[(s * K + k) * M + m], y[m][k], 1e-11);
        }
        net_clear(&n);
    }
}

static void invariants_are_seen_at_all_scales(void **state)
{
    double x[TOTAL * K];
    RelnNode *both, *related, *lengths;
    const double *r, *l;
    Net n;

    (void)state;
    draw(x);
    memset(&n, 0, sizeof n);
    fixture_init(&n.f, "gl:4", "lorentz", RELN_F64);
    n.net = (RelnNet){.graph = n.f.graph};
    n.rows = reln_rows(n.f.graph, "points", ROWS);
    n.x = reln_input(n.f.graph, "x", n.rows, (RelnDims){.k = K}, reln_rep_vector(n.f.group),
                     RELN_F64);
    both = reln_concat(n.f.graph, 2, (RelnNode *[]){n.x, reln_scale(n.f.graph, n.x, -3)}, RELN_C);
    related = reln_nn_relate(&n.net, n.x, both, &scales);
    lengths = reln_nn_lengths(&n.net, both, &scales);
    reln_output(n.f.graph, "r", related);
    reln_output(n.f.graph, "l", lengths);
    plan(&n);
    run(&n, x);
    r = reln_plan_output(n.plan, "r", NULL);
    l = reln_plan_output(n.plan, "l", NULL);
    for (int i = 0; i < TOTAL; i++) {
        const double q = product(x + i * K, x + i * K);

        for (int a = 0; a < 2; a++) { /* a handful of roundings of numbers of about 1 */
            assert_close(r[i * 4 + a * 2], seen(q, a), 1e-14);
            assert_close(r[i * 4 + a * 2 + 1], seen(-3 * q, a), 1e-14);
            assert_close(l[i * 4 + a * 2], seen(q, a), 1e-14);
            assert_close(l[i * 4 + a * 2 + 1], seen(9 * q, a), 1e-14);
        }
    }
    net_clear(&n);
}

/* The sums add up to the whole feature, and the kept feature is the whole. */
static void sums_add_up(void **state)
{
    double x[TOTAL * K];
    const double *sums;
    int first = 0;
    Net n;

    (void)state;
    draw(x);
    net_init(&n, RELN_F64, false);
    plan(&n);
    run(&n, x);
    sums = reln_plan_output(n.plan, "sums", NULL);
    for (int s = 0; s < SAMPLES; first += sizes[s++])
        for (int k = 0; k < K; k++) {
            const double *row = sums + (s * K + k) * (M + 1);
            double whole = 0;

            for (int i = first; i < first + sizes[s]; i++)
                whole += x[i * K + k];
            assert_close(row[0] + row[1] + row[2], whole / 3, 1e-14);
            assert_close(row[M], whole, 1e-14);
        }
    net_clear(&n);
}

/* ---- rounds ----------------------------------------------------------------------------------------------------------- */

/* A Loops holds the state of the plain loops: invariants of rows and samples, and `m` sums. */
typedef struct Loops {
    const Net *n;
    const double *x;
    int d, m, has_z; /* channels of s, of sums; 1: z is there */
    double s[TOTAL][W], sums[SAMPLES][M + 1][K], z[SAMPLES][W];
} Loops;

/* out += v W, of a weight (from, to); numbers as they are drawn are uniform up to 1 / sqrt(fan_in). */
static void add_mixed(const Loops *l, const char *round, const char *part, int from, int to,
                      int fan_in, const double *v, double *out)
{
    char name[32];
    RelnEntryInfo entry;

    snprintf(name, sizeof name, "%s.%s", round, part);
    assert_true(reln_store_find(l->n->f.store, name, &entry));
    assert_int_equal(entry.count, from * to);
    for (int i = 0; i < from; i++)
        for (int j = 0; j < to; j++) {
            const double w = ((const double *)entry.values)[i * to + j];

            assert_true(fabs(w) <= 1 / sqrt(fan_in));
            out[j] += (v ? v[i] : 1) * w;
        }
}

static double silu(double t)
{
    return t / (1 + exp(-t));
}

static void update_row(Loops *l, const char *round, int row, int sample)
{
    const int fan_in = l->d + 2 * l->m + (l->has_z ? W : 0);
    double r[2 * (M + 1)], u[W] = {0}, v[W] = {0};

    for (int m = 0; m < l->m; m++)
        for (int a = 0; a < 2; a++)
            r[a * l->m + m] = seen(product(l->x + row * K, l->sums[sample][m]), a);
    add_mixed(l, round, "Wr", 2 * l->m, W, fan_in, r, u);
    add_mixed(l, round, "Ws", l->d, W, fan_in, l->s[row], u);
    if (l->has_z)
        add_mixed(l, round, "Wz", W, W, fan_in, l->z[sample], u);
    add_mixed(l, round, "b", 1, W, fan_in, NULL, u);
    for (int c = 0; c < W; c++)
        u[c] = silu(u[c]);
    add_mixed(l, round, "Wo", W, W, W, u, v);
    add_mixed(l, round, "bo", 1, W, W, NULL, v);
    for (int c = 0; c < W; c++) /* only as many channels are added */
        l->s[row][c] = v[c] + (l->d == W ? l->s[row][c] : 0);
}

static void divide_row(const Loops *l, const char *round, int row, double sums[M + 1][K])
{
    double a[M] = {0}, all = 0;

    add_mixed(l, round, "Wa", W, M, W, l->s[row], a);
    add_mixed(l, round, "ba", 1, M, W, NULL, a);
    for (int m = 0; m < M; m++)
        all += a[m] = exp(a[m]);
    for (int m = 0; m < M; m++)
        for (int k = 0; k < K; k++)
            sums[m][k] += a[m] / all * l->x[row * K + k] / 3; /* of `count` */
}

static void update_sample(Loops *l, const char *round, int sample, int first)
{
    enum { PAIRS = (M + 1) * (M + 1) };
    const int fan_in = 2 * PAIRS + 2 * W + (l->has_z ? W : 0);
    double q[2 * PAIRS], mean[W] = {0}, most[W], u[W] = {0};

    for (int i = 0; i < PAIRS; i++)
        for (int a = 0; a < 2; a++)
            q[a * PAIRS + i] =
                seen(product(l->sums[sample][i / (M + 1)], l->sums[sample][i % (M + 1)]), a);
    for (int c = 0; c < W; c++) {
        most[c] = -HUGE_VAL;
        for (int i = first; i < first + sizes[sample]; i++) {
            mean[c] += l->s[i][c] / sizes[sample];
            most[c] = fmax(most[c], l->s[i][c]);
        }
    }
    add_mixed(l, round, "Zq", 2 * PAIRS, W, fan_in, q, u);
    add_mixed(l, round, "Zs", W, W, fan_in, mean, u);
    add_mixed(l, round, "Zm", W, W, fan_in, most, u);
    if (l->has_z)
        add_mixed(l, round, "Zz", W, W, fan_in, l->z[sample], u);
    add_mixed(l, round, "zb", 1, W, fan_in, NULL, u);
    for (int c = 0; c < W; c++)
        l->z[sample][c] = silu(u[c]) + (l->has_z ? l->z[sample][c] : 0);
}

static void go_round(Loops *l, const char *round)
{
    int first = 0;

    for (int s = 0; s < SAMPLES; first += sizes[s++]) {
        double sums[M + 1][K] = {{0}};

        for (int i = first; i < first + sizes[s]; i++) {
            update_row(l, round, i, s);
            divide_row(l, round, i, sums);
            for (int k = 0; k < K; k++) /* kept: the whole */
                sums[M][k] += l->x[i * K + k];
        }
        memcpy(l->sums[s], sums, sizeof sums);
        if (sizes[s])
            update_sample(l, round, s, first);
    }
    l->d = W;
    l->m = M + 1;
    l->has_z = 1;
}

/* Computes two rounds: in the first, samples have no invariants and rows have fewer; the second adds to both. */
static void rounds_are_what_loops_find(void **state)
{
    double x[TOTAL * K];
    const double *far, *s, *z, *sums;
    static Loops l;
    int first = 0;
    Net n;

    (void)state;
    draw(x);
    net_init(&n, RELN_F64, false);
    plan(&n);
    run(&n, x);
    far = reln_plan_output(n.plan, "far", NULL);
    l = (Loops){.n = &n, .x = x, .d = 2, .m = M};
    for (int i = 0; i < TOTAL; i++)
        for (int a = 0; a < 2; a++)
            l.s[i][a] = seen(product(x + i * K, x + i * K), a);
    for (int i = 0; i < SAMPLES; i++)
        for (int m = 0; m < M; m++)
            for (int k = 0; k < K; k++)
                l.sums[i][m][k] = far[(i * K + k) * M + m];
    go_round(&l, "one");
    go_round(&l, "two");
    s = reln_plan_output(n.plan, "s", NULL);
    z = reln_plan_output(n.plan, "z", NULL);
    sums = reln_plan_output(n.plan, "sums", NULL);
    for (int i = 0; i < SAMPLES; first += sizes[i++]) {
        for (int r = first; r < first + sizes[i]; r++)
            for (int c = 0; c < W; c++) /* some hundred roundings of numbers of about 1 */
                assert_close(s[r * W + c], l.s[r][c], 1e-12);
        for (int c = 0; c < W && sizes[i]; c++)
            assert_close(z[i * W + c], l.z[i][c], 1e-12);
        for (int k = 0; k < K; k++)
            for (int m = 0; m <= M; m++)
                assert_close(sums[(i * K + k) * (M + 1) + m], l.sums[i][m][k], 1e-12);
    }
    net_clear(&n);
}

/* ---- the group -------------------------------------------------------------------------------------------------------- */

static double difference(const double *a, const double *b, ptrdiff_t count)
{
    double most = 0, size = 1e-300;

    for (ptrdiff_t i = 0; i < count; i++) {
        most = fmax(most, fabs(a[i] - b[i]));
        size = fmax(size, fabs(b[i]));
    }
    return most / size;
}

/* Compares f(g x) with g f(x), with one boost for all rows; with `skewed`, the first row is not moved. */
static void moved(double cond, bool skewed, double *features, double *invariants)
{
    RelnRng rng = reln_rng(8, 0);
    double x[TOTAL * K], gx[TOTAL * K], g[K * K], sums[SAMPLES * K * (M + 1)],
        want[SAMPLES * K * (M + 1)] = {0}, z[SAMPLES * W];
    RelnElement *element = NULL;
    Net n;

    draw(x);
    net_init(&n, RELN_F64, true);
    plan(&n);
    assert_ok(n.f.ctx, reln_group_random(n.f.group, &rng, cond, &element));
    assert_ok(n.f.ctx, reln_rep_act(reln_rep_vector(n.f.group), element, g));
    reln_element_destroy(element);
    run(&n, x);
    memcpy(sums, reln_plan_output(n.plan, "sums", NULL), sizeof sums);
    memcpy(z, reln_plan_output(n.plan, "z", NULL), sizeof z);
    for (int i = 0; i < TOTAL; i++)
        for (int k = 0; k < K; k++) {
            gx[i * K + k] = 0;
            for (int l = 0; l < K; l++)
                gx[i * K + k] += g[k * K + l] * x[i * K + l];
        }
    if (skewed)
        memcpy(gx, x, K * sizeof *gx);
    for (int s = 0; s < SAMPLES; s++)
        for (int k = 0; k < K; k++)
            for (int l = 0; l < K; l++)
                for (int m = 0; m <= M; m++)
                    want[(s * K + k) * (M + 1) + m] +=
                        g[k * K + l] * sums[(s * K + l) * (M + 1) + m];
    run(&n, gx);
    *features = difference(reln_plan_output(n.plan, "sums", NULL), want, SAMPLES * K * (M + 1));
    *invariants = difference(reln_plan_output(n.plan, "z", NULL), z, SAMPLES * W);
    net_clear(&n);
}

/* Forms of g x are sums of numbers cond^2 as large as those of x, rounded to u = 1e-16 of them; 1e4 for the layers. */
static void rounds_commute_with_boosts(void **state)
{
    double features, invariants;

    (void)state;
    for (double cond = 1; cond <= 100; cond *= 10) {
        moved(cond, false, &features, &invariants);
        assert_small(features, 1e-12 * cond * cond);
        assert_small(invariants, 1e-12 * cond * cond);
    }
    moved(10, true, &features, &invariants);
    assert_true(features > 1e-3 && invariants > 1e-3);
}

/* ---- derivatives ------------------------------------------------------------------------------------------------------ */

static double loss_of(Net *n, const double *x)
{
    run(n, x);
    return *(const double *)reln_plan_output(n->plan, "loss", NULL);
}

static void gradients_are_differences(void **state)
{
    const double h = 1e-6; /* central: h^2 off, and u / h of rounding */
    double x[TOTAL * K], grad[TOTAL * K];
    RelnNode *loss, *gx;
    Net n;

    (void)state;
    draw(x);
    net_init(&n, RELN_F64, true);
    loss = reln_batch_sum(n.f.graph, reln_sum_all(n.f.graph, reln_square(n.f.graph, n.y.z)));
    assert_true(reln_grad(n.f.graph, loss, 1, &n.x, &gx));
    reln_output(n.f.graph, "loss", loss);
    reln_output(n.f.graph, "gx", gx);
    plan(&n);
    loss_of(&n, x);
    memcpy(grad, reln_plan_output(n.plan, "gx", NULL), sizeof grad);
    for (int i = 0; i < TOTAL * K; i++) {
        const double at = x[i];
        double up, down;

        x[i] = at + h;
        up = loss_of(&n, x);
        x[i] = at - h;
        down = loss_of(&n, x);
        x[i] = at;
        assert_close(grad[i], (up - down) / (2 * h), 1e-6 * (1 + fabs(grad[i])));
    }
    net_clear(&n);
}

/* The square of an almost light-like vector is 2, the difference of two numbers near 10^6: in f32 it would be
 * off by 0.06. */
static void products_are_f64_in_a_network_of_f32(void **state)
{
    static const double p[2 * K] = {1000, 999.999, 0, 0, 3000, 0, 2999.999, 0};
    double x[TOTAL * K] = {0};
    const float *z;
    RelnNode *q;
    Net n;

    (void)state;
    memcpy(x, p, sizeof p);
    net_init(&n, RELN_F32, false);
    q = reln_nn_relate(&n.net, n.x, n.x, &(RelnScales){1, 1, {1}});
    reln_output(n.f.graph, "q", q);
    assert_int_equal(reln_node_dtype(n.y.z), RELN_F32);
    assert_int_equal(reln_node_dtype(n.y.sums), RELN_F64);
    plan(&n);
    run(&n, x);
    z = reln_plan_output(n.plan, "q", NULL);
    for (int i = 0; i < 2; i++) {
        const double t = product(p + i * K, p + i * K);

        assert_close(z[i], copysign(log1p(fabs(t)), t) / log(2), 1e-5 * (1 + log1p(fabs(t))));
    }
    net_clear(&n);
}

/* ---- what is refused -------------------------------------------------------------------------------------------------- */

static void what_does_not_fit_is_refused(void **state)
{
    const RelnScales none = {1, 0, {0}}, wrong = {1, 1, {-1}};
    RelnSet in;
    Net n;

    (void)state;
    net_init(&n, RELN_F64, false);
    assert_null(reln_nn_relate(&n.net, n.x, n.x, &none));
    assert_int_equal(reln_graph_status(n.f.graph), RELN_ERR_ARG);
    net_clear(&n);
    net_init(&n, RELN_F64, false);
    assert_null(reln_nn_lengths(&n.net, n.x, &wrong));
    assert_int_equal(reln_graph_status(n.f.graph), RELN_ERR_ARG);
    net_clear(&n);
    net_init(&n, RELN_F64, false);
    assert_null(reln_nn_far_rows(&n.net, n.y.sums, 2)); /* of samples */
    assert_int_equal(reln_graph_status(n.f.graph), RELN_ERR_ARG);
    net_clear(&n);
    net_init(&n, RELN_F64, false);
    assert_null(reln_nn_parts(&n.net, n.x, 2, 0));
    assert_int_equal(reln_graph_status(n.f.graph), RELN_ERR_ARG);
    net_clear(&n);
    net_init(&n, RELN_F64, false);
    in = (RelnSet){n.x, NULL, n.x, NULL};
    assert_null(
        reln_nn_exchange(&n.net, "e", &in, &(RelnExchange){.sums = 1, .width = 1, .scales = scales})
            .s);
    assert_int_equal(reln_graph_status(n.f.graph), RELN_ERR_ARG);
    net_clear(&n);
    net_init(&n, RELN_F64, false);
    in = (RelnSet){n.x, NULL, n.far, NULL};
    assert_null(
        reln_nn_exchange(&n.net, "e", &in, &(RelnExchange){.sums = 0, .width = 1, .scales = scales})
            .s);
    assert_int_equal(reln_graph_status(n.f.graph), RELN_ERR_ARG);
    net_clear(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(far_rows_are_what_loops_find),
        cmocka_unit_test(parts_are_what_loops_find),
        cmocka_unit_test(invariants_are_seen_at_all_scales),
        cmocka_unit_test(sums_add_up),
        cmocka_unit_test(rounds_are_what_loops_find),
        cmocka_unit_test(rounds_commute_with_boosts),
        cmocka_unit_test(gradients_are_differences),
        cmocka_unit_test(products_are_f64_in_a_network_of_f32),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };

    return cmocka_run_group_tests_name("nn/exchange", tests, NULL, NULL);
}
