/* Compares messages between rows with plain loops over pairs: values and statistics. For sets of any size,
 * tests that they commute with the group and that tiles change no bit; gradients against differences;
 * refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fixture.h"
#include "reln/nn.h"
#include "reln/ops.h"

enum { SAMPLES = 6, D = 3, C = 2, W = 5, ROWS = 128, MOST = 64 };

/* An empty set and a single row are among the sets. */
static const int32_t sizes[SAMPLES] = {3, 0, 9, 1, 2, 5};
enum { TOTAL = 20 };

typedef struct Net {
    Fixture f;
    RelnNet net;
    RelnPlan *plan;
    const RelnRep *rep;
    int k;
    RelnDomain rows;
    RelnNode *x, *h, *w;
    RelnFeatures y;
} Net;

static const char *matrices_of(const char *group)
{
    return strcmp(group, "gl:2") == 0                                     ? "gl:2"
           : strcmp(group, "lorentz") == 0 || strcmp(group, "o:1,3") == 0 ? "gl:4"
                                                                          : "gl:3";
}

/* Opens a net without an algebra on vectors of a group; for gl:2, a net with the algebra on its matrices. */
static void net_init(Net *n, const char *group, RelnDtype dtype, bool train)
{
    RelnGraph *g;

    memset(n, 0, sizeof *n);
    fixture_init(&n->f, matrices_of(group), group, dtype);
    g = n->f.graph;
    n->net = (RelnNet){.graph = g, .train = train};
    n->rep = reln_rep_vector(n->f.group);
    if (strcmp(group, "gl:2") == 0) {
        n->rep = n->f.adjoint;
        n->net.algebra = n->f.algebra;
    }
    n->k = reln_rep_dim(n->rep);
    n->rows = reln_rows(g, "points", ROWS);
    n->x = reln_input(g, "x", n->rows, (RelnDims){.k = n->k, .c = C}, n->rep, RELN_DEFAULT);
    n->h = reln_input(g, "h", n->rows, (RelnDims){.c = D}, NULL, RELN_DEFAULT);
    n->w = reln_input(g, "w", n->rows, (RelnDims){.c = 1}, NULL, RELN_DEFAULT);
}

static void net_clear(Net *n)
{
    reln_plan_destroy(n->plan);
    fixture_clear(&n->f);
}

static RelnMessages everything(const Net *n)
{
    return (RelnMessages){.weights = n->w,
                          .hidden = W,
                          .gate = true,
                          .norm = true,
                          .move = true,
                          .residual = true,
                          .limit = 0.5,
                          .step = 0.25,
                          .count = 3,
                          .activation = RELN_ACT_SILU};
}

static void layer(Net *n, const RelnMessages *options)
{
    n->y = reln_nn_messages(&n->net, "m", (RelnFeatures){n->x, n->h}, options);
    reln_output(n->f.graph, "x'", n->y.x);
    reln_output(n->f.graph, "h'", n->y.s);
}

typedef struct Data {
    double x[TOTAL * 4 * C], h[TOTAL * D], w[TOTAL];
} Data;

/* Weights are 0 to 1.5, and one row of three has 0. */
static void draw(Data *d)
{
    RelnRng rng = reln_rng(4, 0);

    fill_normal(&rng, TOTAL * 4 * C, d->x);
    fill_normal(&rng, TOTAL * D, d->h);
    for (int r = 0; r < TOTAL; r++)
        d->w[r] = r % 3 == 2 ? 0.0 : 0.5 + 0.25 * (r % 5);
}

static void plan(Net *n, RelnPlanOptions options)
{
    assert_ok(n->f.ctx, reln_plan_create(n->f.graph, &options, &n->plan));
    assert_ok(n->f.ctx, reln_plan_bind_rows(n->plan, "points", sizes));
}

static void run(Net *n, const Data *d)
{
    assert_ok(n->f.ctx, reln_plan_bind(n->plan, "x", d->x, RELN_F64));
    assert_ok(n->f.ctx, reln_plan_bind(n->plan, "h", d->h, RELN_F64));
    assert_ok(n->f.ctx, reln_plan_bind(n->plan, "w", d->w, RELN_F64));
    assert_ok(n->f.ctx, reln_plan_run(n->plan, &(RelnRun){.n_samples = SAMPLES}));
}

static double *values_of(const Net *n, const char *name, size_t count)
{
    RelnEntryInfo entry;

    if (!reln_store_find(n->f.store, name, &entry))
        fail_msg("no %s", name);
    assert_int_equal(entry.count, count);
    return entry.values;
}

/* ---- plain loops ---------------------------------------------------------------------------------------------------- */

static double silu(double t)
{
    return t / (1 + exp(-t));
}

static double psi(double t)
{
    return t < 0 ? -log1p(-t) : log1p(t);
}

/* diag(-1, 1, 1, 1) of four-vectors, and the dot product of three */
static double product(int k, const double *x, const double *y, int c)
{
    double sum = 0;

    for (int i = 0; i < k; i++)
        sum += (k == 4 && i == 0 ? -1 : 1) * x[i * C + c] * y[i * C + c];
    return sum;
}

/* y += x W */
static void add_mixed(int from, int to, const double *x, const double *w, double *y)
{
    for (int i = 0; i < from; i++)
        for (int j = 0; j < to; j++)
            y[j] += x[i] * w[i * to + j];
}

typedef struct Loops {
    const Net *n;
    const Data *d;
    bool before; /* a row receives messages only from rows before it */
    double u[TOTAL][MOST]
            [W]; /* first layer of pair (i, j), j counted from the first row of i's set */
    double mean[W], var[W], kept[W]; /* statistics over pairs; kept: variance without bias */
    double hidden[TOTAL][W];
    double meanh[W], varh[W], kepth[W]; /* over rows */
    double x[TOTAL * 4 * C], h[TOTAL * D];
} Loops;

static void first_layer(Loops *l, int i, int j, double *u)
{
    const int k = l->n->k;
    const double *xi = l->d->x + i * k * C, *xj = l->d->x + j * k * C;
    double s[2 * C], d[4 * C];

    for (int e = 0; e < k * C; e++)
        d[e] = xi[e] - xj[e];
    for (int c = 0; c < C; c++) {
        s[c] = psi(product(k, d, d, c));
        s[C + c] = psi(product(k, xi, xj, c));
    }
    memset(u, 0, W * sizeof *u);
    add_mixed(D, W, l->d->h + i * D, values_of(l->n, "m.Wi", D * W), u);
    add_mixed(D, W, l->d->h + j * D, values_of(l->n, "m.Wj", D * W), u);
    add_mixed(2 * C, W, s, values_of(l->n, "m.Wp", 2 * C * W), u);
}

/* Calls `visit` for the pairs of two different rows of a set, or those with j before i. */
static void each_pair(Loops *l, void (*visit)(Loops *l, int i, int j, int within))
{
    for (int s = 0, start = 0; s < SAMPLES; start += sizes[s++])
        for (int i = 0; i < sizes[s]; i++)
            for (int j = 0; j < sizes[s]; j++)
                if (l->before ? j < i : i != j)
                    visit(l, start + i, start + j, j);
}

static double weight_of(const Loops *l, int i, int j)
{
    return l->d->w[i] * l->d->w[j];
}

static void visit_mean(Loops *l, int i, int j, int within)
{
    first_layer(l, i, j, l->u[i][within]);
    for (int c = 0; c < W; c++) {
        l->mean[c] += weight_of(l, i, j) * l->u[i][within][c];
        l->kept[c] += weight_of(l, i, j);
    }
}

static void visit_var(Loops *l, int i, int j, int within)
{
    for (int c = 0; c < W; c++)
        l->var[c] += weight_of(l, i, j) * pow(l->u[i][within][c] - l->mean[c], 2);
}

static void statistics(Loops *l)
{
    each_pair(l, visit_mean);
    for (int c = 0; c < W; c++)
        l->mean[c] /= l->kept[c];
    each_pair(l, visit_var);
    for (int c = 0; c < W; c++) {
        const double weight = l->kept[c];

        l->kept[c] = l->var[c] / (weight - 1);
        l->var[c] /= weight;
    }
}

static void visit_message(Loops *l, int i, int j, int within)
{
    const Net *n = l->n;
    const double w = weight_of(l, i, j);
    const double *bm = values_of(n, "m.bm", W), *bx = values_of(n, "m.bx", W);
    double v[W], m[W], f[W], g[C] = {0}, degree = 0, gate = *values_of(n, "m.bg", 1);

    for (int c = 0; c < W; c++)
        v[c] = silu((l->u[i][within][c] - l->mean[c]) / sqrt(l->var[c] + 1e-5));
    memcpy(m, bm, sizeof m);
    add_mixed(W, W, v, values_of(n, "m.Wm", W * W), m);
    for (int c = 0; c < W; c++)
        m[c] = silu(m[c]);
    add_mixed(W, 1, m, values_of(n, "m.Wg", W), &gate);
    for (int c = 0; c < W; c++)
        m[c] /= 1 + exp(-gate);
    for (int c = 0; c < W; c++)
        v[c] = w * m[c] / 3; /* of `count` */
    add_mixed(W, W, v, values_of(n, "m.Ws", W * W), l->hidden[i]);
    memcpy(f, bx, sizeof f);
    add_mixed(W, W, m, values_of(n, "m.Wx", W * W), f);
    for (int c = 0; c < W; c++)
        f[c] = silu(f[c]);
    add_mixed(W, C, f, values_of(n, "m.Wf", W * C), g);
    for (int s = 0, start = 0; s < SAMPLES; start += sizes[s++])
        for (int r = start; i >= start && i < start + sizes[s] && r < start + sizes[s]; r++)
            degree += (l->before ? r < i : r != i) ? weight_of(l, i, r) : 0;
    for (int e = 0; e < n->k * C; e++)
        l->x[i * n->k * C + e] += 0.25 * w * 0.5 * tanh(g[e % C] / 0.5) / fmax(1, degree) *
                                  (l->d->x[i * n->k * C + e] - l->d->x[j * n->k * C + e]);
}

static void update(Loops *l)
{
    const Net *n = l->n;
    double total = 0;

    for (int r = 0; r < TOTAL; r++) {
        add_mixed(D, W, l->d->h + r * D, values_of(n, "m.Wh", D * W), l->hidden[r]);
        total += l->d->w[r];
        for (int c = 0; c < W; c++)
            l->meanh[c] += l->d->w[r] * l->hidden[r][c];
    }
    for (int c = 0; c < W; c++) {
        l->meanh[c] /= total;
        for (int r = 0; r < TOTAL; r++)
            l->varh[c] += l->d->w[r] * pow(l->hidden[r][c] - l->meanh[c], 2);
        l->kepth[c] = l->varh[c] / (total - 1);
        l->varh[c] /= total;
    }
    for (int r = 0; r < TOTAL; r++) {
        double v[W];

        for (int c = 0; c < W; c++)
            v[c] = silu((l->hidden[r][c] - l->meanh[c]) / sqrt(l->varh[c] + 1e-5));
        for (int c = 0; c < D; c++)
            l->h[r * D + c] = l->d->h[r * D + c] + values_of(n, "m.bo", D)[c];
        add_mixed(W, D, v, values_of(n, "m.Wo", W * D), l->h + r * D);
    }
}

static void set_states(const Net *n, const Loops *l)
{
    memcpy(values_of(n, "m.mean", W), l->mean, sizeof l->mean);
    memcpy(values_of(n, "m.var", W), l->var, sizeof l->var);
    memcpy(values_of(n, "m.meanh", W), l->meanh, sizeof l->meanh);
    memcpy(values_of(n, "m.varh", W), l->varh, sizeof l->varh);
}

/* Training remembers a tenth of the batch's statistics, the variance without bias. */
static void trained(const Net *n, const Loops *l)
{
    for (int c = 0; c < W; c++) {
        assert_small(values_of(n, "m.mean", W)[c] - 0.1 * l->mean[c], 1e-12);
        assert_small(values_of(n, "m.var", W)[c] - (0.9 + 0.1 * l->kept[c]), 1e-12);
        assert_small(values_of(n, "m.meanh", W)[c] - 0.1 * l->meanh[c], 1e-12);
        assert_small(values_of(n, "m.varh", W)[c] - (0.9 + 0.1 * l->kepth[c]), 1e-12);
    }
}

/* Evaluation does not change the running statistics. */
static void recalled(const Net *n, const Loops *l)
{
    assert_memory_equal(values_of(n, "m.mean", W), l->mean, sizeof l->mean);
    assert_memory_equal(values_of(n, "m.var", W), l->var, sizeof l->var);
    assert_memory_equal(values_of(n, "m.meanh", W), l->meanh, sizeof l->meanh);
    assert_memory_equal(values_of(n, "m.varh", W), l->varh, sizeof l->varh);
}

static void list_before(int32_t *counts, int32_t *other)
{
    for (int s = 0, r = 0; s < SAMPLES; s++)
        for (int i = 0; i < sizes[s]; i++) {
            counts[r++] = i;
            for (int j = 0; j < i; j++)
                *other++ = j;
        }
}

/* With the statistics of the batch as running statistics, evaluation gives the values of training. Sums have
 * at most 100 terms, in eight layers, of numbers about 1: 1e-12 is about a thousand roundings. */
static void compare_with_loops(const char *group, bool train, bool before)
{
    int32_t counts[TOTAL], other[TOTAL * MOST];
    Net n;
    Data d;
    Loops *l = calloc(1, sizeof *l);
    RelnMessages options;

    assert_non_null(l);
    net_init(&n, group, RELN_F64, train);
    options = everything(&n);
    if (before) {
        options.pairs = reln_members(n.f.graph, "before", n.rows, MOST, 1024);
        options.other =
            reln_input_index(n.f.graph, "other", options.pairs, (RelnDims){0}, n.rows, 0);
    }
    layer(&n, &options);
    plan(&n, (RelnPlanOptions){0});
    if (before) {
        list_before(counts, other);
        assert_ok(n.f.ctx, reln_plan_bind_rows(n.plan, "before", counts));
        assert_ok(n.f.ctx, reln_plan_bind(n.plan, "other", other, RELN_I32));
    }
    draw(&d);
    l->before = before;
    l->n = &n;
    l->d = &d;
    memcpy(l->x, d.x, sizeof l->x);
    statistics(l);
    each_pair(l, visit_message);
    update(l);
    if (!train)
        set_states(&n, l);
    run(&n, &d);
    assert_near(reln_plan_output(n.plan, "x'", NULL), l->x, (ptrdiff_t)TOTAL * n.k * C, 1e-12);
    assert_near(reln_plan_output(n.plan, "h'", NULL), l->h, TOTAL * D, 1e-12);
    if (train)
        trained(&n, l);
    else
        recalled(&n, l);
    free(l);
    net_clear(&n);
}

static void messages_are_what_loops_compute(void **state)
{
    (void)state;
    compare_with_loops("o:3", true, false);
    compare_with_loops("lorentz", true, false);
    compare_with_loops("o:3", false, false);
    compare_with_loops("lorentz", false, false);
    compare_with_loops("lorentz", true, true);
    compare_with_loops("lorentz", false, true);
}

/* ---- statistics ------------------------------------------------------------------------------------------------------- */

/* A batch of single rows has no pairs: values are finite, and the running statistics of pairs do not change. */
static void a_batch_without_pairs_is_not_remembered(void **state)
{
    static const int32_t single[SAMPLES] = {1, 0, 1, 1, 0, 1};
    Net n;
    Data d;
    RelnMessages options;
    const double *h;

    (void)state;
    net_init(&n, "o:3", RELN_F64, true);
    options = everything(&n);
    layer(&n, &options);
    plan(&n, (RelnPlanOptions){0});
    assert_ok(n.f.ctx, reln_plan_bind_rows(n.plan, "points", single));
    draw(&d);
    run(&n, &d);
    h = reln_plan_output(n.plan, "h'", NULL);
    for (int i = 0; i < 4 * D; i++)
        assert_true(isfinite(h[i]));
    assert_memory_equal(reln_plan_output(n.plan, "x'", NULL), d.x,
                        (size_t)(4 * n.k * C) * sizeof(double));
    for (int c = 0; c < W; c++) {
        assert_true(values_of(&n, "m.mean", W)[c] == 0.0);
        assert_true(values_of(&n, "m.var", W)[c] == 1.0);
    }
    net_clear(&n);
}

/* ---- tiles ---------------------------------------------------------------------------------------------------------- */

static void differentiate(Net *n)
{
    RelnGraph *g = n->f.graph;
    RelnNode *loss,
        *xs[5] = {n->x, n->h, reln_graph_param(g, 0), reln_graph_param(g, 1),
                  reln_graph_param(g, 2)},
        *out[5];
    char name[8];

    loss = reln_sum_all(g, reln_square(g, reln_nn_form(&n->net, n->y.x, n->y.x)));
    loss = reln_add(g, loss, reln_sum_all(g, reln_square(g, n->y.s)));
    loss = reln_batch_sum(g, loss);
    reln_output(g, "loss", loss);
    if (!reln_grad(g, loss, 5, xs, out))
        assert_ok(n->f.ctx, reln_graph_status(g));
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "d%d", i);
        reln_output(g, name, out[i]);
    }
}

/* Tiles do not change rows, their gradients, and the statistics of norms. Gradients of weights are matrix
 * products over the rows of a tile, whose sums do depend on tiles. */
static void tiles_do_not_change_a_bit(void **state)
{
    static const int tiles[] = {0, 1, 7, 100000};
    static const char *const outs[] = {"x'", "h'", "d0", "d1"};
    static const char *const kept[] = {"m.mean", "m.var", "m.meanh", "m.varh"};
    static const size_t counts[] = {TOTAL * 4 * C, TOTAL * D, TOTAL * 4 * C, TOTAL * D};
    Net nets[4];
    Data d;

    (void)state;
    draw(&d);
    for (int i = 0; i < 4; i++) {
        Net *n = &nets[i];
        RelnMessages options;

        net_init(n, "lorentz", RELN_F32, true);
        options = everything(n);
        layer(n, &options);
        differentiate(n);
        plan(n, (RelnPlanOptions){.tile = tiles[i]});
        run(n, &d);
        for (int o = 0; o < 4; o++) {
            assert_memory_equal(reln_plan_output(n->plan, outs[o], NULL),
                                reln_plan_output(nets[0].plan, outs[o], NULL),
                                counts[o] * sizeof(float));
            assert_memory_equal(values_of(n, kept[o], W), values_of(&nets[0], kept[o], W),
                                W * sizeof(float));
        }
    }
    for (int i = 0; i < 4; i++)
        net_clear(&nets[i]);
}

/* After the largest batch, steps with other sets allocate nothing, and the largest batch gives its bits again. */
static void ragged_batches_allocate_nothing(void **state)
{
    static const int32_t others[][SAMPLES] = {
        {0, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 1, 1}, {9, 0, 3, 2, 1, 5}, {0, 9, 0, 0, 9, 2}};
    RelnMessages options;
    uint64_t before, first;
    Data d;
    Net n;

    (void)state;
    draw(&d);
    net_init(&n, "lorentz", RELN_F32, false);
    options = everything(&n);
    layer(&n, &options);
    differentiate(&n);
    plan(&n, (RelnPlanOptions){0});
    run(&n, &d);
    first = reln_hash(RELN_HASH_SEED, reln_plan_output(n.plan, "d0", NULL),
                      sizeof(float) * TOTAL * 4 * C);
    before = reln_ctx_allocations(n.f.ctx);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_ok(n.f.ctx, reln_plan_bind_rows(n.plan, "points", others[i]));
        run(&n, &d);
    }
    assert_ok(n.f.ctx, reln_plan_bind_rows(n.plan, "points", sizes));
    run(&n, &d);
    assert_int_equal(reln_ctx_allocations(n.f.ctx), before);
    assert_true(first == reln_hash(RELN_HASH_SEED, reln_plan_output(n.plan, "d0", NULL),
                                   sizeof(float) * TOTAL * 4 * C));
    net_clear(&n);
}

/* ---- gradients -------------------------------------------------------------------------------------------------------- */

static double loss_at(Net *n, const Data *d)
{
    run(n, d);
    return *(const double *)reln_plan_output(n->plan, "loss", NULL);
}

/* Central differences of step e = 1e-5 are off by e^2 times a third derivative, and by u |loss| / e = 1e-11 |loss|. */
static void check_slope(Net *n, const Data *d, double *at, double want, double size)
{
    const double e = 1e-5, was = *at;
    double up, down;

    *at = was + e;
    up = loss_at(n, d);
    *at = was - e;
    down = loss_at(n, d);
    *at = was;
    assert_small(((up - down) / (2 * e) - want) / size, 1e-7);
}

static void gradients_are_slopes(void **state)
{
    Net n;
    Data d;
    RelnMessages options;
    double gx[TOTAL * 4 * C], gh[TOTAL * D], gi[D * W], gp[2 * C * W], loss;

    (void)state;
    draw(&d);
    net_init(&n, "lorentz", RELN_F64, true);
    options = everything(&n);
    layer(&n, &options);
    differentiate(&n);
    plan(&n, (RelnPlanOptions){0});
    loss = loss_at(&n, &d);
    memcpy(gx, reln_plan_output(n.plan, "d0", NULL), sizeof gx);
    memcpy(gh, reln_plan_output(n.plan, "d1", NULL), sizeof gh);
    memcpy(gi, reln_plan_output(n.plan, "d2", NULL), sizeof gi);
    memcpy(gp, reln_plan_output(n.plan, "d4", NULL), sizeof gp);
    for (int i = 0; i < TOTAL * 4 * C; i += 5)
        check_slope(&n, &d, &d.x[i], gx[i], loss);
    for (int i = 0; i < TOTAL * D; i += 3)
        check_slope(&n, &d, &d.h[i], gh[i], loss);
    for (int i = 0; i < D * W; i += 2)
        check_slope(&n, &d, &values_of(&n, "m.Wi", D * W)[i], gi[i], loss);
    for (int i = 0; i < 2 * C * W; i += 2)
        check_slope(&n, &d, &values_of(&n, "m.Wp", 2 * C * W)[i], gp[i], loss);
    net_clear(&n);
}

/* ---- given pairs ------------------------------------------------------------------------------------------------------ */

static void plain(Net *n, const Data *d, bool weighted)
{
    RelnMessages options;

    net_init(n, "o:3", RELN_F64, true);
    options = everything(n);
    options.weights = weighted ? n->w : NULL;
    layer(n, &options);
    differentiate(n);
    plan(n, (RelnPlanOptions){0});
    run(n, d);
}

/* Sums in another order, some thousand roundings. */
static void same(const Net *a, const Net *b)
{
    const double loss = *(const double *)reln_plan_output(a->plan, "loss", NULL);

    assert_near(reln_plan_output(b->plan, "x'", NULL), reln_plan_output(a->plan, "x'", NULL),
                (ptrdiff_t)TOTAL * a->k * C, 1e-12);
    assert_near(reln_plan_output(b->plan, "h'", NULL), reln_plan_output(a->plan, "h'", NULL),
                TOTAL * D, 1e-12);
    assert_near(reln_plan_output(b->plan, "d0", NULL), reln_plan_output(a->plan, "d0", NULL),
                (ptrdiff_t)TOTAL * a->k * C, 1e-12 * loss);
    assert_near(reln_plan_output(b->plan, "d2", NULL), reln_plan_output(a->plan, "d2", NULL), D * W,
                1e-12 * loss);
}

static void pairs_given_one_by_one_are_pairs(void **state)
{
    int32_t counts[TOTAL], other[TOTAL * MOST];
    Data d;
    int at = 0;

    (void)state;
    draw(&d);
    for (int s = 0, start = 0; s < SAMPLES; start += sizes[s++])
        for (int i = 0; i < sizes[s]; i++) {
            counts[start + i] = sizes[s] - 1;
            for (int j = 0; j < sizes[s]; j++)
                if (i != j)
                    other[at++] = j;
        }
    for (int weighted = 0; weighted < 2; weighted++) {
        RelnMessages options;
        Net a, b;

        plain(&a, &d, weighted);
        net_init(&b, "o:3", RELN_F64, true);
        options = everything(&b);
        options.weights = weighted ? b.w : NULL;
        options.pairs = reln_members(b.f.graph, "others", b.rows, MOST, 1024);
        options.other =
            reln_input_index(b.f.graph, "other", options.pairs, (RelnDims){0}, b.rows, 0);
        layer(&b, &options);
        differentiate(&b);
        plan(&b, (RelnPlanOptions){0});
        assert_ok(b.f.ctx, reln_plan_bind_rows(b.plan, "others", counts));
        assert_ok(b.f.ctx, reln_plan_bind(b.plan, "other", other, RELN_I32));
        run(&b, &d);
        same(&a, &b);
        net_clear(&a);
        net_clear(&b);
    }
}

/* There are as many nearest rows as the largest set has other rows, so in smaller sets some places have no
 * row. */
static void nobody_sends_nothing(void **state)
{
    Data d;

    (void)state;
    draw(&d);
    for (int weighted = 0; weighted < 2; weighted++) {
        RelnMessages options;
        Net a, b;

        plain(&a, &d, weighted);
        net_init(&b, "o:3", RELN_F64, true);
        options = everything(&b);
        options.weights = weighted ? b.w : NULL;
        options.pairs = reln_fixed(b.f.graph, "near", b.rows, 8);
        options.other = reln_nearest_rows(b.f.graph, b.x, b.x, options.pairs);
        layer(&b, &options);
        differentiate(&b);
        plan(&b, (RelnPlanOptions){0});
        run(&b, &d);
        same(&a, &b);
        net_clear(&a);
        net_clear(&b);
    }
}

/* ---- symmetry --------------------------------------------------------------------------------------------------------- */

/* Moves every row to out = g x, with one g for each sample; with `skewed`, the first row is not moved. */
static void move(const Net *n, const double *g, const double *x, bool skewed, double *out)
{
    for (int s = 0, r = 0; s < SAMPLES; s++)
        for (int i = 0; i < sizes[s]; i++, r++)
            for (int k = 0; k < n->k; k++)
                for (int c = 0; c < C; c++) {
                    double sum = 0;

                    for (int l = 0; l < n->k; l++)
                        sum += g[(s * n->k + k) * n->k + l] * x[(r * n->k + l) * C + c];
                    out[(r * n->k + k) * C + c] = skewed && r == 0 ? x[k * C + c] : sum;
                }
}

static double difference(const double *a, const double *b, int n)
{
    double most = 0, size = 0;

    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(a[i] - b[i]));
        size = fmax(size, fabs(b[i]));
    }
    return most / size;
}

/* f(g x) against g f(x), with elements g of condition `cond` in any component */
static void moved(const char *group, double cond, bool skewed, double *features, double *invariants)
{
    RelnRng rng = reln_rng(8, 0);
    double g[SAMPLES * 16], x[TOTAL * 4 * C], h[TOTAL * D], want[TOTAL * 4 * C];
    RelnMessages options;
    Data d, gd;
    Net n;

    draw(&d);
    gd = d;
    net_init(&n, group, RELN_F64, true);
    for (int i = 0; i < SAMPLES; i++) {
        RelnElement *element = NULL;

        assert_ok(n.f.ctx, reln_group_random(n.f.group, &rng, cond, &element));
        assert_ok(n.f.ctx, reln_rep_act(n.rep, element, g + i * n.k * n.k));
        reln_element_destroy(element);
    }
    options = everything(&n);
    layer(&n, &options);
    plan(&n, (RelnPlanOptions){0});
    run(&n, &d);
    memcpy(x, reln_plan_output(n.plan, "x'", NULL), (size_t)(TOTAL * n.k * C) * sizeof *x);
    memcpy(h, reln_plan_output(n.plan, "h'", NULL), sizeof h);
    assert_true(difference(x, d.x, TOTAL * n.k * C) > 1e-3); /* rows do move */
    move(&n, g, d.x, skewed, gd.x);
    move(&n, g, x, false, want);
    run(&n, &gd);
    *features = difference(reln_plan_output(n.plan, "x'", NULL), want, TOTAL * n.k * C);
    *invariants = difference(reln_plan_output(n.plan, "h'", NULL), h, TOTAL * D);
    net_clear(&n);
}

/* Forms of g x are sums of numbers cond^2 as large as those of x, rounded to u = 1e-16 of them; 1e4 for the layers. */
static void messages_commute_with_the_group(void **state)
{
    static const char *const groups[] = {"o:3", "lorentz", "o:1,3"};
    double features, invariants;

    (void)state;
    for (int i = 0; i < 3; i++)
        for (double cond = 1; cond <= 100; cond *= 10) {
            moved(groups[i], cond, false, &features, &invariants);
            assert_small(features, 1e-12 * cond * cond);
            assert_small(invariants, 1e-12 * cond * cond);
        }
    /* conjugation by g has the square of its condition */
    moved("gl:2", 5, false, &features, &invariants);
    assert_small(features, 1e-12 * 625);
    assert_small(invariants, 1e-12 * 625);
    /* if one row is not moved, the results differ */
    moved("o:3", 10, true, &features, &invariants);
    assert_true(features > 1e-3 && invariants > 1e-3);
    moved("lorentz", 10, true, &features, &invariants);
    assert_true(features > 1e-3 && invariants > 1e-3);
}

/* ---- from another set --------------------------------------------------------------------------------------------------- */

/* The first rows of each set receive, the others send: among them sets without receivers, without senders, and empty ones. */
static const int32_t receivers[SAMPLES] = {2, 0, 4, 1, 0, 3};
enum { RECEIVERS = 10, SENDERS = TOTAL - RECEIVERS };

/* A Parts holds the rows of a Data that receive, and those that send. */
typedef struct Parts {
    double x[RECEIVERS * 4 * C], h[RECEIVERS * D], w[RECEIVERS], y[SENDERS * 4 * C], s[SENDERS * D];
    int32_t to[SAMPLES], from[SAMPLES];
} Parts;

static void divide(int k, const Data *d, Parts *p)
{
    const size_t x = (size_t)(k * C) * sizeof(double), h = D * sizeof(double);
    int to = 0, from = 0;

    for (int s = 0, r = 0; s < SAMPLES; s++) {
        p->to[s] = receivers[s];
        p->from[s] = sizes[s] - receivers[s];
        for (int i = 0; i < sizes[s]; i++, r++)
            if (i < receivers[s]) {
                memcpy(p->x + to * k * C, d->x + r * k * C, x);
                memcpy(p->h + to * D, d->h + r * D, h);
                p->w[to++] = d->w[r];
            } else {
                memcpy(p->y + from * k * C, d->x + r * k * C, x);
                memcpy(p->s + from++ * D, d->h + r * D, h);
            }
    }
}

/* A Net of two domains: x and h receive, y and s send. */
typedef struct Two {
    Net n;
    RelnNode *y, *s;
} Two;

static void two_init(Two *t, const char *group, bool train)
{
    RelnMessages options;
    RelnDomain from;
    RelnGraph *g;

    net_init(&t->n, group, RELN_F64, train);
    g = t->n.f.graph;
    from = reln_rows(g, "senders", ROWS);
    t->y = reln_input(g, "y", from, (RelnDims){.k = t->n.k, .c = C}, t->n.rep, RELN_DEFAULT);
    t->s = reln_input(g, "s", from, (RelnDims){.c = D}, NULL, RELN_DEFAULT);
    options = everything(&t->n);
    options.from = (RelnFeatures){t->y, t->s};
    layer(&t->n, &options);
}

static void two_run(Two *t, const Parts *p)
{
    Net *n = &t->n;

    assert_ok(n->f.ctx, reln_plan_bind_rows(n->plan, "points", p->to));
    assert_ok(n->f.ctx, reln_plan_bind_rows(n->plan, "senders", p->from));
    assert_ok(n->f.ctx, reln_plan_bind(n->plan, "x", p->x, RELN_F64));
    assert_ok(n->f.ctx, reln_plan_bind(n->plan, "h", p->h, RELN_F64));
    assert_ok(n->f.ctx, reln_plan_bind(n->plan, "w", p->w, RELN_F64));
    assert_ok(n->f.ctx, reln_plan_bind(n->plan, "y", p->y, RELN_F64));
    assert_ok(n->f.ctx, reln_plan_bind(n->plan, "s", p->s, RELN_F64));
    assert_ok(n->f.ctx, reln_plan_run(n->plan, &(RelnRun){.n_samples = SAMPLES}));
}

/* One set in which only the pairs of a receiver and a sender exist; senders have the weight 1. */
static void union_init(Net *n, Data *d, const char *group, bool train)
{
    static int32_t counts[TOTAL], other[TOTAL * MOST]; /* the plan reads them in its runs */
    int at = 0;
    RelnMessages options;

    net_init(n, group, RELN_F64, train);
    options = everything(n);
    options.pairs = reln_members(n->f.graph, "others", n->rows, MOST, 1024);
    options.other = reln_input_index(n->f.graph, "other", options.pairs, (RelnDims){0}, n->rows, 0);
    layer(n, &options);
    plan(n, (RelnPlanOptions){0});
    for (int s = 0, r = 0; s < SAMPLES; s++)
        for (int i = 0; i < sizes[s]; i++, r++) {
            const bool receives = i < receivers[s];

            counts[r] = receives ? sizes[s] - receivers[s] : 0;
            d->w[r] = receives ? d->w[r] : 1;
            for (int j = receivers[s]; receives && j < sizes[s]; j++)
                other[at++] = j;
        }
    assert_ok(n->f.ctx, reln_plan_bind_rows(n->plan, "others", counts));
    assert_ok(n->f.ctx, reln_plan_bind(n->plan, "other", other, RELN_I32));
}

/* Compares the rows that receive; in training, rows of the union that send change the norm of rows, so only x' and the statistics
 * of pairs are the same. */
static void compare_with_union(const char *group, bool train)
{
    static const char *const states[] = {"m.mean", "m.var", "m.meanh", "m.varh"};
    const double *x, *h;
    Two t;
    Net n;
    Data d;
    Parts p;

    draw(&d);
    union_init(&n, &d, group, train);
    two_init(&t, group, train);
    divide(n.k, &d, &p);
    for (int i = 0; i < 4; i++)
        for (int c = 0; c < W; c++)
            values_of(&n, states[i], W)[c] = values_of(&t.n, states[i], W)[c] =
                0.5 + 0.1 * c + 0.2 * i;
    assert_ok(t.n.f.ctx, reln_plan_create(t.n.f.graph, NULL, &t.n.plan));
    run(&n, &d);
    two_run(&t, &p);
    x = reln_plan_output(n.plan, "x'", NULL);
    h = reln_plan_output(n.plan, "h'", NULL);
    for (int s = 0, r = 0, to = 0; s < SAMPLES; r += sizes[s++])
        for (int i = 0; i < receivers[s]; i++, to++) {
            const double *tx = reln_plan_output(t.n.plan, "x'", NULL);
            const double *th = reln_plan_output(t.n.plan, "h'", NULL);

            assert_near(tx + to * n.k * C, x + (r + i) * n.k * C, (ptrdiff_t)n.k * C, 1e-12);
            if (!train)
                assert_near(th + to * D, h + (r + i) * D, D, 1e-12);
        }
    for (int i = 0; i < (train ? 2 : 4); i++)
        assert_near(values_of(&t.n, states[i], W), values_of(&n, states[i], W), W, 1e-12);
    net_clear(&n);
    net_clear(&t.n);
}

static void another_set_sends_what_a_part_of_the_set_sends(void **state)
{
    (void)state;
    compare_with_union("o:3", true);
    compare_with_union("o:3", false);
    compare_with_union("lorentz", true);
    compare_with_union("lorentz", false);
    compare_with_union("gl:2", false);
}

static double two_loss(Two *t, const Parts *p)
{
    two_run(t, p);
    return *(const double *)reln_plan_output(t->n.plan, "loss", NULL);
}

/* As in check_slope(). */
static void two_slope(Two *t, const Parts *p, double *at, double want, double size)
{
    const double e = 1e-5, was = *at;
    double up, down;

    *at = was + e;
    up = two_loss(t, p);
    *at = was - e;
    down = two_loss(t, p);
    *at = was;
    assert_small(((up - down) / (2 * e) - want) / size, 1e-7);
}

/* Gradients reach both sets. */
static void gradients_of_two_sets_are_slopes(void **state)
{
    double gx[RECEIVERS * 4 * C], gy[SENDERS * 4 * C], gs[SENDERS * D], loss;
    RelnNode *out[3], *sum;
    RelnGraph *g;
    Data d;
    Parts p;
    Two t;

    (void)state;
    draw(&d);
    two_init(&t, "lorentz", true);
    divide(4, &d, &p);
    g = t.n.f.graph;
    sum = reln_sum_all(g, reln_square(g, reln_nn_form(&t.n.net, t.n.y.x, t.n.y.x)));
    sum = reln_batch_sum(g, reln_add(g, sum, reln_sum_all(g, reln_square(g, t.n.y.s))));
    reln_output(g, "loss", sum);
    if (!reln_grad(g, sum, 3, (RelnNode *[]){t.n.x, t.y, t.s}, out))
        assert_ok(t.n.f.ctx, reln_graph_status(g));
    reln_output(g, "dx", out[0]);
    reln_output(g, "dy", out[1]);
    reln_output(g, "ds", out[2]);
    assert_ok(t.n.f.ctx, reln_plan_create(g, NULL, &t.n.plan));
    loss = two_loss(&t, &p);
    memcpy(gx, reln_plan_output(t.n.plan, "dx", NULL), sizeof gx);
    memcpy(gy, reln_plan_output(t.n.plan, "dy", NULL), sizeof gy);
    memcpy(gs, reln_plan_output(t.n.plan, "ds", NULL), sizeof gs);
    for (int i = 0; i < RECEIVERS * 4 * C; i += 3)
        two_slope(&t, &p, &p.x[i], gx[i], loss);
    for (int i = 0; i < SENDERS * 4 * C; i += 3)
        two_slope(&t, &p, &p.y[i], gy[i], loss);
    for (int i = 0; i < SENDERS * D; i += 2)
        two_slope(&t, &p, &p.s[i], gs[i], loss);
    net_clear(&t.n);
}

/* x and y move together; with `skewed`, only x does. */
static double moved_together(double cond, bool skewed)
{
    RelnRng rng = reln_rng(8, 1);
    double g[SAMPLES * 16], h[RECEIVERS * D], most;
    Data d, gd;
    Parts p, gp;
    Two t;

    draw(&d);
    gd = d;
    two_init(&t, "lorentz", true);
    for (int i = 0; i < SAMPLES; i++) {
        RelnElement *element = NULL;

        assert_ok(t.n.f.ctx, reln_group_random(t.n.f.group, &rng, cond, &element));
        assert_ok(t.n.f.ctx, reln_rep_act(t.n.rep, element, g + i * 16));
        reln_element_destroy(element);
    }
    assert_ok(t.n.f.ctx, reln_plan_create(t.n.f.graph, NULL, &t.n.plan));
    divide(4, &d, &p);
    two_run(&t, &p);
    memcpy(h, reln_plan_output(t.n.plan, "h'", NULL), sizeof h);
    move(&t.n, g, d.x, false, gd.x);
    divide(4, &gd, &gp);
    if (skewed)
        memcpy(gp.y, p.y, sizeof gp.y);
    two_run(&t, &gp);
    most = difference(reln_plan_output(t.n.plan, "h'", NULL), h, RECEIVERS * D);
    net_clear(&t.n);
    return most;
}

/* Tolerances as for messages within a set. */
static void two_sets_commute_with_the_group(void **state)
{
    (void)state;
    for (double cond = 1; cond <= 100; cond *= 10)
        assert_small(moved_together(cond, false), 1e-12 * cond * cond);
    assert_true(moved_together(10, true) > 1e-3);
}

/* ---- a set of fixed size -------------------------------------------------------------------------------------------------- */

/* Two layers between the points and two further rows of every sample: to them, then from them. The rows are a fixed domain, or rows
 * with a bound number. */
typedef struct Pair {
    Net n;
    RelnFeatures two;
} Pair;

static void pair_init(Pair *p, bool fixed)
{
    static const int32_t counts[SAMPLES] = {2, 2, 2, 2, 2, 2}; /* the plan reads them in its runs */
    RelnMessages options = {.hidden = W, .norm = true, .gate = true, .residual = true};
    RelnDomain rows;
    RelnGraph *g;

    net_init(&p->n, "lorentz", RELN_F64, true);
    g = p->n.f.graph;
    rows = fixed ? reln_fixed(g, "two", RELN_SAMPLES, 2) : reln_rows(g, "two", ROWS);
    p->two.x = reln_input(g, "y", rows, (RelnDims){.k = 4, .c = C}, p->n.rep, RELN_DEFAULT);
    p->two.s = reln_input(g, "s", rows, (RelnDims){.c = D}, NULL, RELN_DEFAULT);
    options.from = (RelnFeatures){p->n.x, p->n.h};
    p->two.s = reln_nn_messages(&p->n.net, "to", p->two, &options).s;
    options.from = p->two;
    p->n.h = reln_nn_messages(&p->n.net, "m", (RelnFeatures){p->n.x, p->n.h}, &options).s;
    reln_output(g, "s'", p->two.s);
    reln_output(g, "h'", p->n.h);
    plan(&p->n, (RelnPlanOptions){0});
    if (!fixed)
        assert_ok(p->n.f.ctx, reln_plan_bind_rows(p->n.plan, "two", counts));
}

/* With `exchanged`, the two rows of every sample change places. */
static void pair_run(Pair *p, const Data *d, bool exchanged)
{
    double y[SAMPLES * 2 * 4 * C], s[SAMPLES * 2 * D];

    for (int i = 0; i < SAMPLES * 2; i++) {
        const int from = exchanged ? i ^ 1 : i;

        memcpy(y + (ptrdiff_t)i * 4 * C, d->x + (TOTAL - 1 - from) * 4 * C, sizeof(double) * 4 * C);
        memcpy(s + (ptrdiff_t)i * D, d->h + (TOTAL - 1 - from) * D, sizeof(double) * D);
    }
    assert_ok(p->n.f.ctx, reln_plan_bind(p->n.plan, "y", y, RELN_F64));
    assert_ok(p->n.f.ctx, reln_plan_bind(p->n.plan, "s", s, RELN_F64));
    run(&p->n, d);
}

static void a_fixed_set_is_one_with_as_many_rows(void **state)
{
    static const char *const states[] = {"to.mean", "to.var", "to.meanh", "to.varh",
                                         "m.mean",  "m.var",  "m.meanh",  "m.varh"};
    const double *s[3], *h[3];
    Pair p[3];
    Data d;

    (void)state;
    draw(&d);
    for (int i = 0; i < 3; i++) {
        pair_init(&p[i], i > 0);
        pair_run(&p[i], &d, i == 2);
        s[i] = reln_plan_output(p[i].n.plan, "s'", NULL);
        h[i] = reln_plan_output(p[i].n.plan, "h'", NULL);
    }
    for (int i = 0; i < 8; i++) {
        const double *want = values_of(&p[0].n, states[i], W);

        assert_memory_equal(values_of(&p[1].n, states[i], W), want, W * sizeof(double));
        assert_near(values_of(&p[2].n, states[i], W), want, W, 1e-12);
    }
    assert_memory_equal(s[1], s[0], sizeof(double) * SAMPLES * 2 * D);
    assert_memory_equal(h[1], h[0], sizeof(double) * TOTAL * D);
    assert_near(h[2], h[0], TOTAL * D, 1e-12);
    for (int i = 0; i < SAMPLES * 2; i++)
        assert_near(s[2] + (ptrdiff_t)i * D, s[0] + (ptrdiff_t)(i ^ 1) * D, D, 1e-12);
    for (int i = 0; i < 3; i++)
        net_clear(&p[i].n);
}

/* ---- what is refused -------------------------------------------------------------------------------------------------- */

static void refused(Net *n, RelnFeatures in, RelnMessages options, RelnStatus status,
                    const char *text)
{
    const RelnFeatures y = reln_nn_messages(&n->net, "m", in, &options);

    assert_null(y.x);
    assert_null(y.s);
    assert_int_equal(reln_graph_status(n->f.graph), status);
    if (!strstr(reln_ctx_error(n->f.ctx), text))
        fail_msg("\"%s\" does not say \"%s\"", reln_ctx_error(n->f.ctx), text);
    net_clear(n);
}

static void what_does_not_fit_is_refused(void **state)
{
    RelnMessages o = {.hidden = W};
    RelnNode *s;
    Net n;

    (void)state;
    net_init(&n, "o:3", RELN_F64, true);
    refused(&n, (RelnFeatures){n.x, NULL}, o, RELN_ERR_ARG, "wanted features and invariants");
    net_init(&n, "o:3", RELN_F64, true);
    refused(&n, (RelnFeatures){n.x, n.x}, o, RELN_ERR_REP, "wanted invariants");
    net_init(&n, "o:3", RELN_F64, true);
    s = reln_input(n.f.graph, "s", RELN_SAMPLES, (RelnDims){.c = D}, NULL, RELN_DEFAULT);
    refused(&n, (RelnFeatures){n.x, s}, o, RELN_ERR_UNSUPPORTED, "one domain of rows");
    net_init(&n, "gl:3", RELN_F64, true); /* vectors of gl(3) have no form */
    refused(&n, (RelnFeatures){n.x, n.h}, o, RELN_ERR_REP, "form");
    net_init(&n, "o:3", RELN_F64, true);
    o.weights = n.h;
    refused(&n, (RelnFeatures){n.x, n.h}, o, RELN_ERR_SHAPE, "wanted one for each row");
    o = (RelnMessages){.channels = D + 1, .residual = true};
    net_init(&n, "o:3", RELN_F64, true);
    refused(&n, (RelnFeatures){n.x, n.h}, o, RELN_ERR_SHAPE, "are not added to");
    o = (RelnMessages){.move = true, .limit = -1};
    net_init(&n, "o:3", RELN_F64, true);
    refused(&n, (RelnFeatures){n.x, n.h}, o, RELN_ERR_ARG, "a limit of -1");
    o = (RelnMessages){.hidden = -2};
    net_init(&n, "o:3", RELN_F64, true);
    refused(&n, (RelnFeatures){n.x, n.h}, o, RELN_ERR_SHAPE, "-2 channels");
}

/* Tests every option alone, and none: a part that is left out has no parameters. */
static void options_stand_alone(void **state)
{
    Data d;

    (void)state;
    draw(&d);
    for (int i = 0; i < 16; i++) {
        RelnEntryInfo entry;
        RelnMessages o = {.gate = i & 1, .norm = i & 2, .move = i & 4, .residual = i & 8};
        Net n;

        o.channels = o.residual ? 0 : 2;
        net_init(&n, "lorentz", RELN_F64, true);
        layer(&n, &o);
        plan(&n, (RelnPlanOptions){0});
        run(&n, &d);
        assert_int_equal(reln_node_dims(n.y.s).c, o.residual ? D : 2);
        assert_true((n.y.x == n.x) == !o.move);
        assert_true(reln_store_find(n.f.store, "m.Wg", &entry) == o.gate);
        assert_true(reln_store_find(n.f.store, "m.gamma", &entry) == o.norm);
        assert_true(reln_store_find(n.f.store, "m.b", &entry) == !o.norm);
        assert_true(reln_store_find(n.f.store, "m.Wf", &entry) == o.move);
        net_clear(&n);
    }
}

/* Two layers and their gradients take less than one number for each pair. */
static void memory_does_not_grow_with_pairs(void **state)
{
    enum { MANY = 4096 };
    RelnMessages o = {.hidden = 32, .gate = true, .norm = true, .move = true, .residual = true};
    RelnNode *xs[2], *out[2], *loss;
    RelnGraph *g;
    RelnDomain rows;
    RelnNet net;
    Fixture f;
    RelnPlan *plan = NULL;
    RelnFeatures y;
    RelnCost cost;

    (void)state;
    fixture_init(&f, "gl:4", "lorentz", RELN_F64);
    net = (RelnNet){.graph = g = f.graph, .train = true};
    rows = reln_rows(g, "points", MANY);
    xs[0] = reln_input(g, "x", rows, (RelnDims){.k = 4}, reln_rep_vector(f.group), RELN_DEFAULT);
    xs[1] = reln_input(g, "h", rows, (RelnDims){.c = D}, NULL, RELN_DEFAULT);
    y = reln_nn_messages(&net, "one", (RelnFeatures){xs[0], xs[1]}, &o);
    y = reln_nn_messages(&net, "two", y, &o);
    loss = reln_batch_sum(g, reln_sum_all(g, reln_square(g, y.s)));
    assert_true(reln_grad(g, loss, 2, xs, out));
    reln_output(g, "dx", out[0]);
    reln_output(g, "dh", out[1]);
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    assert_ok(f.ctx, reln_plan_reserve(plan, 1, MANY));
    cost = reln_plan_cost(plan);
    assert_true(cost.bytes_kept > 0);
    assert_true((double)cost.bytes_worker + (double)cost.bytes_kept <
                (double)MANY * MANY * sizeof(double));
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

static void senders_that_do_not_fit_are_refused(void **state)
{
    RelnMessages o = {.hidden = W};
    RelnDomain from;
    RelnNode *y, *s;
    Net n;

    (void)state;
    for (int wrong = 0; wrong < 5; wrong++) {
        net_init(&n, "o:3", RELN_F64, true);
        from = reln_rows(n.f.graph, "senders", ROWS);
        y = reln_input(n.f.graph, "y", from, (RelnDims){.k = 3, .c = wrong == 0 ? C + 1 : C}, n.rep,
                       RELN_DEFAULT);
        s = reln_input(n.f.graph, "s", from, (RelnDims){.c = D}, NULL, RELN_DEFAULT);
        o = (RelnMessages){.hidden = W, .from = {y, s}};
        if (wrong == 1)
            o.from.s = NULL;
        if (wrong == 2)
            o.from = (RelnFeatures){reln_scale(n.f.graph, n.x, 2), n.h};
        if (wrong == 3)
            o.from.s = y;
        if (wrong == 4)
            o.pairs = reln_pairs(n.f.graph, "some", n.rows, n.rows, false);
        refused(&n, (RelnFeatures){n.x, n.h}, o,
                wrong == 0   ? RELN_ERR_SHAPE
                : wrong == 3 ? RELN_ERR_REP
                             : RELN_ERR_ARG,
                wrong == 0   ? ""
                : wrong == 3 ? "wanted invariants"
                : wrong == 4 ? "all pairs"
                             : "another domain of rows");
    }
}

static RelnStatus build_all(RelnCtx *ctx)
{
    Fixture f;
    RelnPlan *plan = NULL;
    RelnStatus status = fixture_build(&f, ctx, "gl:3", "o:3", RELN_F32);
    const RelnRep *vector = status == RELN_OK ? reln_rep_vector(f.group) : NULL;

    if (status == RELN_OK && !vector)
        status = RELN_ERR_NOMEM; /* an input without a rep is invariants */
    if (status == RELN_OK) {
        const RelnNet net = {.graph = f.graph, .train = true};
        const RelnDomain rows = reln_rows(f.graph, "points", ROWS);
        RelnNode *x =
            reln_input(f.graph, "x", rows, (RelnDims){.k = 3, .c = C}, vector, RELN_DEFAULT);
        const RelnFeatures in = {x, reln_nn_invariant(&net, x)};
        const RelnMessages options = {.gate = true, .norm = true, .move = true, .limit = 1};
        const RelnFeatures y = reln_nn_messages(&net, "m", in, &options);

        reln_output(f.graph, "y", y.x);
        reln_output(f.graph, "s", y.s);
        status = reln_plan_create(f.graph, NULL, &plan);
    }
    reln_plan_destroy(plan);
    fixture_release(&f);
    return status;
}

static void a_failing_allocation_leaks_nothing(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(build_all) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_what_loops_compute),
        cmocka_unit_test(a_batch_without_pairs_is_not_remembered),
        cmocka_unit_test(tiles_do_not_change_a_bit),
        cmocka_unit_test(ragged_batches_allocate_nothing),
        cmocka_unit_test(gradients_are_slopes),
        cmocka_unit_test(pairs_given_one_by_one_are_pairs),
        cmocka_unit_test(nobody_sends_nothing),
        cmocka_unit_test(messages_commute_with_the_group),
        cmocka_unit_test(another_set_sends_what_a_part_of_the_set_sends),
        cmocka_unit_test(gradients_of_two_sets_are_slopes),
        cmocka_unit_test(two_sets_commute_with_the_group),
        cmocka_unit_test(a_fixed_set_is_one_with_as_many_rows),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(senders_that_do_not_fit_are_refused),
        cmocka_unit_test(options_stand_alone),
        cmocka_unit_test(memory_does_not_grow_with_pairs),
        cmocka_unit_test(a_failing_allocation_leaks_nothing),
    };

    return cmocka_run_group_tests_name("nn/messages", tests, NULL, NULL);
}
