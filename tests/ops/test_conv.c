/* Compares convolutions and pools over windows with their formulas: many windows, both precisions, both
 * tables of kernels. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fixture.h"
#include "support/golden.h"

enum { BATCH = 3, ROOM = 60000 };

/* ---- cases ------------------------------------------------------------------------------------------------------------ */

/* A Case describes a convolution: x is (outer, extent, rest, c) for a sample and y (outer, count, rest, d),
 * with the axis in the second place. */
typedef struct Case {
    RelnDims x;
    RelnAxis axis;
    RelnWindow window;
    int outer, extent, rest, c, d, count;
} Case;

static int windows_of(int extent, const RelnWindow *w)
{
    int count = 0;

    /* a window fits if its last point is not beyond the padding */
    while (count * w->stride + (w->width - 1) * w->dilation < extent + w->before + w->after)
        count++;
    return count;
}

static RelnDims with(const Case *k, int extent, int channels)
{
    RelnDims d = k->x;

    *(k->axis == RELN_P ? &d.p : k->axis == RELN_Q ? &d.q : &d.r) = extent;
    d.c = channels;
    return d;
}

/* Draws a case with at least one window; K is 3, for vectors of so(3). Deep cases, with many channels and
 * rows and a stride of 1, are computed tap by tap. */
static Case draw(RelnRng *rng, bool deep)
{
    Case k;

    do {
        const int most = deep ? 40 : 9;
        const int dims[] = {1 + (int)reln_rng_below(rng, (uint64_t)most),
                            1 + (int)reln_rng_below(rng, deep ? 2 : 9),
                            1 + (int)reln_rng_below(rng, deep ? 3 : 9)};

        k.axis = (RelnAxis)reln_rng_below(rng, 3);
        k.x =
            (RelnDims){dims[0], dims[1], dims[2], 3, (deep ? 15 : 1) + (int)reln_rng_below(rng, 5)};
        k.window = (RelnWindow){1 + (int)reln_rng_below(rng, 5),
                                1 + (int)reln_rng_below(rng, deep ? 2 : 4),
                                1 + (int)reln_rng_below(rng, 3), (int)reln_rng_below(rng, 7),
                                (int)reln_rng_below(rng, 7)};
        k.extent = dims[k.axis];
        k.outer = k.axis == RELN_P ? 1 : k.axis == RELN_Q ? dims[0] : dims[0] * dims[1];
        k.rest = dims[0] * dims[1] * dims[2] * 3 / k.outer / k.extent;
        k.c = k.x.c;
        k.d = 1 + (int)reln_rng_below(rng, 20);
        k.count = windows_of(k.extent, &k.window);
    } while (k.count == 0);
    return k;
}

/* The point of x that is the i-th of window t; -1 outside. */
static int point_of(const Case *k, int t, int i)
{
    const int at = k->window.stride * t + k->window.dilation * i - k->window.before;

    return at < 0 || at >= k->extent ? -1 : at;
}

typedef struct Sums {
    const double *x, *w,
        *y; /* two of the three are given; the third is summed in `out`, absolute values in `size` */
    double *out, *size;
} Sums;

static void add_term(const Sums *s, int ix, int iw, int iy)
{
    const double term = s->x && s->w   ? s->x[ix] * s->w[iw]
                        : s->y && s->w ? s->y[iy] * s->w[iw]
                                       : s->x[ix] * s->y[iy];
    const int at = !s->y ? iy : !s->x ? ix : iw;

    s->out[at] += term;
    s->size[at] += fabs(term);
}

static void add_row(const Case *k, const Sums *s, int from, int to, int i)
{
    for (int c = 0; c < k->c; c++)
        for (int d = 0; d < k->d; d++)
            add_term(s, from * k->c + c, (i * k->c + c) * k->d + d, to * k->d + d);
}

static void formula(const Case *k, const Sums *s)
{
    for (int o = 0; o < BATCH * k->outer; o++)
        for (int t = 0; t < k->count; t++)
            for (int i = 0; i < k->window.width; i++)
                for (int r = 0; r < k->rest && point_of(k, t, i) >= 0; r++)
                    add_row(k, s, (o * k->extent + point_of(k, t, i)) * k->rest + r,
                            (o * k->count + t) * k->rest + r, i);
}

/* ---- running ---------------------------------------------------------------------------------------------------------- */

typedef struct Trial {
    Fixture f;
    RelnPlan *plan;
    RelnDtype dtype;
    bool reference;
} Trial;

static RelnNode *input(Trial *t, const char *name, RelnDomain domain, RelnDims dims)
{
    const RelnRep *rep = dims.k == 3 ? t->f.adjoint : NULL;

    return reln_input(t->f.graph, name, domain, dims, rep, RELN_DEFAULT);
}

static void trial_plan(Trial *t)
{
    assert_ok(t->f.ctx, reln_plan_create(t->f.graph, &(RelnPlanOptions){.reference = t->reference},
                                         &t->plan));
}

static void trial_run(Trial *t, int n)
{
    assert_ok(t->f.ctx, reln_plan_run(t->plan, &(RelnRun){.n_samples = n}));
}

static void trial_clear(Trial *t)
{
    reln_plan_destroy(t->plan);
    fixture_clear(&t->f);
}

/* A sum of n terms in any order is wrong by at most n eps times the sum of absolute values; rounding two
 * factors to float adds two eps. */
static void assert_sums(const Trial *t, const char *name, const Sums *s, int count, int terms)
{
    const double eps = t->dtype == RELN_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    const void *got = reln_plan_output(t->plan, name, NULL);

    assert_non_null(got);
    for (int i = 0; i < count; i++) {
        const double value =
            t->dtype == RELN_F64 ? ((const double *)got)[i] : (double)((const float *)got)[i];

        assert_small(fabs(value - s->out[i]), (terms + 3) * eps * s->size[i]);
    }
}

enum { WEIGHTS = 5 * 20 * 20 };
typedef struct Numbers {
    double x[ROOM], y[ROOM], w[WEIGHTS], sum[ROOM], size[ROOM];
} Numbers;

static Sums sums(Numbers *n, bool x, bool w, bool y)
{
    memset(n->sum, 0, sizeof n->sum);
    memset(n->size, 0, sizeof n->size);
    return (Sums){x ? n->x : NULL, w ? n->w : NULL, y ? n->y : NULL, n->sum, n->size};
}

/* Checks the three ops of a case, in one graph. */
static void check_case(const Case *k, Numbers *n, RelnDtype dtype, bool reference)
{
    const int rows = k->window.width * k->c, points = BATCH * k->outer * k->rest;
    Trial t = {.dtype = dtype, .reference = reference};
    RelnNode *x, *w, *y;
    Sums s;

    fixture_init(&t.f, "so:3", "so:3", dtype);
    x = input(&t, "x", RELN_SAMPLES, k->x);
    w = input(&t, "w", RELN_STEP, (RelnDims){.r = rows, .c = k->d});
    y = input(&t, "y", RELN_SAMPLES, with(k, k->count, k->d));
    reln_output(t.f.graph, "conv", reln_conv(t.f.graph, x, w, k->axis, k->window));
    reln_output(t.f.graph, "conv_t", reln_conv_t(t.f.graph, y, w, k->axis, k->window, k->extent));
    reln_output(t.f.graph, "outer", reln_conv_outer(t.f.graph, x, y, k->axis, k->window));
    trial_plan(&t);
    assert_ok(t.f.ctx, reln_plan_bind(t.plan, "x", n->x, RELN_F64));
    assert_ok(t.f.ctx, reln_plan_bind(t.plan, "w", n->w, RELN_F64));
    assert_ok(t.f.ctx, reln_plan_bind(t.plan, "y", n->y, RELN_F64));
    trial_run(&t, BATCH);
    formula(k, (s = sums(n, true, true, false), &s));
    assert_sums(&t, "conv", &s, points * k->count * k->d, rows);
    formula(k, (s = sums(n, false, true, true), &s));
    assert_sums(&t, "conv_t", &s, points * k->extent * k->c, k->window.width * k->d);
    formula(k, (s = sums(n, true, false, true), &s));
    assert_sums(&t, "outer", &s, rows * k->d, points * k->count);
    trial_clear(&t);
}

static void convolutions_and_their_adjoints_have_the_values_of_the_formula(void **state)
{
    Numbers *n = malloc(sizeof *n);
    RelnRng rng = reln_rng(11, 0);

    (void)state;
    assert_non_null(n);
    fill_normal(&rng, ROOM, n->x);
    fill_normal(&rng, ROOM, n->y);
    fill_normal(&rng, WEIGHTS, n->w);
    for (int i = 0; i < 90;) {
        const Case k = draw(&rng, i % 3 == 1);

        if (BATCH * k.outer * k.rest * (k.count * k.d + k.extent * k.c) > ROOM)
            continue;
        check_case(&k, n, i % 2 ? RELN_F32 : RELN_F64, i % 5 == 0);
        i++;
    }
    free(n);
}

/* ---- windows ---------------------------------------------------------------------------------------------------------- */

static void usual_windows_have_the_lengths_they_promise(void **state)
{
    (void)state;
    for (int width = 1; width < 6; width++)
        for (int stride = 1; stride < 4; stride++)
            for (int dilation = 1; dilation < 4; dilation++)
                for (int extent = 1; extent < 12; extent++) {
                    const RelnWindow same = reln_window_same(width, stride, dilation),
                                     causal = reln_window_causal(width, stride, dilation),
                                     valid = reln_window_valid(width, stride, dilation);
                    const int span = dilation * (width - 1);

                    assert_int_equal(windows_of(extent, &same), (extent + stride - 1) / stride);
                    assert_int_equal(windows_of(extent, &causal), (extent + stride - 1) / stride);
                    assert_int_equal(windows_of(extent, &valid),
                                     extent > span ? (extent - span - 1) / stride + 1 : 0);
                    assert_true(same.after - same.before == span % 2);
                    assert_true(causal.before == span && causal.after == 0);
                }
}

/* y[t] of a causal convolution does not depend on points after t: not a bit of it changes. */
static void causal_convolutions_do_not_see_the_future(void **state)
{
    enum { STEPS = 40, C = 2, D = 3, SEEN = 17, ITEM = STEPS * 3 * C };
    double x[2 * ITEM];
    const double *y;
    RelnRng rng = reln_rng(3, 0);
    Trial t = {.dtype = RELN_F64};
    RelnNet net;

    (void)state;
    fill_normal(&rng, ITEM, x);
    memcpy(x + ITEM, x, ITEM * sizeof *x);
    fill_normal(&rng, ITEM - SEEN * 3 * C, x + ITEM + SEEN * 3 * C);
    fixture_init(&t.f, "so:3", "so:3", RELN_F64);
    net = (RelnNet){.graph = t.f.graph};
    reln_output(
        t.f.graph, "y",
        reln_nn_conv(
            &net, "c", input(&t, "x", RELN_SAMPLES, (RelnDims){STEPS, 1, 1, 3, C}),
            &(RelnConv){.channels = D, .width = 4, .dilation = 3, .padding = RELN_PAD_CAUSAL}));
    trial_plan(&t);
    assert_ok(t.f.ctx, reln_plan_bind(t.plan, "x", x, RELN_F64));
    trial_run(&t, 2);
    y = reln_plan_output(t.plan, "y", NULL);
    assert_memory_equal(y, y + STEPS * 3 * D, SEEN * 3 * D * sizeof *y);
    assert_memory_not_equal(y + SEEN * 3 * D, y + (STEPS + SEEN) * 3 * D, 3 * D * sizeof *y);
    trial_clear(&t);
}

/* Compares a convolution and its adjoint on all samples together with the samples one by one. */
static void check_places(int steps, int stride, int c)
{
    enum { SAMPLES = 19, D = 18, WIDTH = 5, MOST = 40 * 3 * 18 };
    const RelnWindow window = {WIDTH, stride, 1, 2, 2};
    const int windows = windows_of(steps, &window), nx = steps * 3 * c, ny = windows * 3 * D;
    static float x[SAMPLES * MOST], y[SAMPLES * MOST], w[WIDTH * 18 * D], conv[SAMPLES * MOST],
        conv_t[SAMPLES * MOST];
    RelnRng rng = reln_rng(5, 0);
    Trial t = {.dtype = RELN_F32};
    RelnNode *in, *out, *weights;

    for (int i = 0; i < SAMPLES * MOST; i++) {
        x[i] = (float)reln_rng_normal(&rng);
        y[i] = (float)reln_rng_normal(&rng);
    }
    for (int i = 0; i < WIDTH * c * D; i++)
        w[i] = (float)reln_rng_normal(&rng);
    fixture_init(&t.f, "so:3", "so:3", RELN_F32);
    in = input(&t, "x", RELN_SAMPLES, (RelnDims){steps, 1, 1, 3, c});
    out = input(&t, "y", RELN_SAMPLES, (RelnDims){windows, 1, 1, 3, D});
    weights = input(&t, "w", RELN_STEP, (RelnDims){.r = WIDTH * c, .c = D});
    reln_output(t.f.graph, "conv", reln_conv(t.f.graph, in, weights, RELN_P, window));
    reln_output(t.f.graph, "conv_t", reln_conv_t(t.f.graph, out, weights, RELN_P, window, steps));
    assert_ok(t.f.ctx, reln_plan_create(t.f.graph, &(RelnPlanOptions){.shard = SAMPLES}, &t.plan));
    assert_ok(t.f.ctx, reln_plan_bind(t.plan, "w", w, RELN_F32));
    for (int i = -1; i < SAMPLES; i++) {
        const int at = i < 0 ? 0 : i;

        assert_ok(t.f.ctx, reln_plan_bind(t.plan, "x", x + at * nx, RELN_F32));
        assert_ok(t.f.ctx, reln_plan_bind(t.plan, "y", y + at * ny, RELN_F32));
        trial_run(&t, i < 0 ? SAMPLES : 1);
        if (i < 0) {
            memcpy(conv, reln_plan_output(t.plan, "conv", NULL),
                   (size_t)(SAMPLES * ny) * sizeof *y);
            memcpy(conv_t, reln_plan_output(t.plan, "conv_t", NULL),
                   (size_t)(SAMPLES * nx) * sizeof *x);
            continue;
        }
        assert_memory_equal(reln_plan_output(t.plan, "conv", NULL), conv + at * ny,
                            (size_t)ny * sizeof *y);
        assert_memory_equal(reln_plan_output(t.plan, "conv_t", NULL), conv_t + at * nx,
                            (size_t)nx * sizeof *x);
    }
    trial_clear(&t);
}

/* Blocks of rows may span several samples; nevertheless a sample has the same bits alone and at any place of
 * a batch. */
static void the_place_in_the_batch_changes_no_bit(void **state)
{
    (void)state;
    check_places(7, 1, 5);
    check_places(7, 2, 5);
    check_places(40, 2, 18);
    check_places(40, 1, 18); /* tap by tap */
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

enum { LONG = 5000, WIDE = 16 };

/* A convolution and both of its gradients. */
static size_t worker_bytes(int taps)
{
    Trial t = {.dtype = RELN_F32};
    RelnNode *x, *y, *in[2], *grads[2], *gy;
    size_t bytes;

    fixture_init(&t.f, "so:3", "so:3", RELN_F32);
    x = in[0] = input(&t, "x", RELN_SAMPLES, (RelnDims){LONG, 1, 1, 3, WIDE});
    in[1] = reln_param(t.f.graph, "w", (RelnDims){.r = taps * WIDE, .c = WIDE},
                       (RelnInit){RELN_INIT_UNIFORM, 1.0});
    y = reln_conv(t.f.graph, x, in[1], RELN_P, reln_window_same(taps, 1, 1));
    gy = reln_input(t.f.graph, "r", RELN_SAMPLES, (RelnDims){LONG, 1, 1, 3, WIDE},
                    reln_rep_dual(t.f.adjoint), RELN_DEFAULT);
    assert_true(reln_vjp(t.f.graph, 1, &y, &gy, 2, in, grads));
    reln_output(t.f.graph, "y", y);
    reln_output(t.f.graph, "gx", grads[0]);
    reln_output(t.f.graph, "gw", grads[1]);
    assert_ok(t.f.ctx, reln_plan_create(t.f.graph, &(RelnPlanOptions){.shard = 1}, &t.plan));
    bytes = reln_plan_cost(t.plan).bytes_worker;
    trial_clear(&t);
    return bytes;
}

/* Windows stored as channels would multiply the memory of features by the number of taps. Here only a block
 * of 96 rows grows, each up to two cache lines longer than necessary, and the weights, which are packed
 * twice. */
static void windows_are_never_in_memory(void **state)
{
    enum { FEW = 3, MANY = 9, MORE = (MANY - FEW) * WIDE };
    const size_t block = 96 * (MORE + 32) * sizeof(float), weights = MORE * WIDE * sizeof(float);

    (void)state;
    assert_true(worker_bytes(MANY) <= worker_bytes(FEW) + block + 2 * weights);
    assert_true(block < LONG * 3 * WIDE * sizeof(float) / 8);
}

/* ---- pools ------------------------------------------------------------------------------------------------------------ */

/* Computes the mean and the maximum of the points of window t that are inside, for row r. Returns false if
 * there are none. */
static bool pooled(const Case *k, const double *x, int o, int t, int r, double *mean, double *most)
{
    double sum = 0;
    int n = 0;

    *most = -HUGE_VAL;
    for (int i = 0; i < k->window.width; i++) {
        const int at = point_of(k, t, i);

        if (at < 0)
            continue;
        sum += x[(o * k->extent + at) * k->rest + r];
        *most = fmax(*most, x[(o * k->extent + at) * k->rest + r]);
        n++;
    }
    *mean = sum / n;
    return n > 0;
}

static void check_pools(Case k, const double *x)
{
    Trial t = {.dtype = RELN_F64};
    RelnNode *in;
    double mean, most;

    k.x.k = k.x.c = 1;
    k.rest /= 3;
    for (int w = 0; w < k.count; w++)
        if (!pooled(&k, x, 0, w, 0, &mean, &most))
            return;
    fixture_init(&t.f, "so:3", "so:3", RELN_F64);
    in = input(&t, "x", RELN_SAMPLES, k.x);
    reln_output(t.f.graph, "mean", reln_window_mean(t.f.graph, in, k.axis, k.window));
    reln_output(t.f.graph, "max", reln_window_max(t.f.graph, in, k.axis, k.window));
    trial_plan(&t);
    assert_ok(t.f.ctx, reln_plan_bind(t.plan, "x", x, RELN_F64));
    trial_run(&t, BATCH);
    for (int i = 0; i < BATCH * k.outer * k.count * k.rest; i++) {
        const double *means = reln_plan_output(t.plan, "mean", NULL),
                     *largest = reln_plan_output(t.plan, "max", NULL);

        assert_true(
            pooled(&k, x, i / k.rest / k.count, i / k.rest % k.count, i % k.rest, &mean, &most));
        /* rounding of a sum of at most five numbers up to 5, and of one division or product */
        assert_small(fabs(means[i] - mean), 5 * 5 * 2 * DBL_EPSILON);
        assert_true(largest[i] == most);
    }
    trial_clear(&t);
}

static void pools_have_the_values_of_the_formula(void **state)
{
    static double x[BATCH * 9 * 9 * 9];
    RelnRng rng = reln_rng(12, 0);

    (void)state;
    fill_normal(&rng, sizeof x / sizeof *x, x);
    for (int i = 0; i < 100; i++)
        check_pools(draw(&rng, false), x);
}

/* ---- refusals --------------------------------------------------------------------------------------------------------- */

typedef RelnNode *(*Build)(RelnGraph *g, RelnNode *x, RelnNode *w);

static RelnNode *too_wide(RelnGraph *g, RelnNode *x, RelnNode *w)
{
    return reln_conv(g, x, w, RELN_P, reln_window_valid(6, 1, 1));
}

static RelnNode *negative_stride(RelnGraph *g, RelnNode *x, RelnNode *w)
{
    return reln_conv(g, x, w, RELN_P, (RelnWindow){3, -1, 1, 0, 0});
}

static RelnNode *negative_padding(RelnGraph *g, RelnNode *x, RelnNode *w)
{
    return reln_conv(g, x, w, RELN_P, (RelnWindow){3, 1, 1, 0, -1});
}

static RelnNode *no_width(RelnGraph *g, RelnNode *x, RelnNode *w)
{
    return reln_conv(g, x, w, RELN_P, reln_window_same(0, 1, 1));
}

static RelnNode *huge_span(RelnGraph *g, RelnNode *x, RelnNode *w)
{
    return reln_conv(g, x, w, RELN_P, reln_window_causal(65537, 1, 65537));
}

static RelnNode *along_coordinates(RelnGraph *g, RelnNode *x, RelnNode *w)
{
    return reln_conv(g, x, w, RELN_K, reln_window_valid(3, 1, 1));
}

static RelnNode *other_channels(RelnGraph *g, RelnNode *x, RelnNode *w)
{
    return reln_conv(g, x, w, RELN_P, reln_window_valid(2, 1, 1));
}

static RelnNode *other_windows(RelnGraph *g, RelnNode *x, RelnNode *w)
{
    return reln_conv_t(g, x, reln_mix(g, w, w), RELN_P, reln_window_valid(3, 1, 1), 9);
}

static RelnNode *window_of_padding(RelnGraph *g, RelnNode *x, RelnNode *w)
{
    (void)w;
    return reln_window_mean(g, x, RELN_P, (RelnWindow){2, 1, 1, 2, 0});
}

static RelnNode *not_dual(RelnGraph *g, RelnNode *x, RelnNode *w)
{
    (void)w;
    return reln_conv_outer(g, x,
                           reln_nn_conv(&(RelnNet){.graph = g}, "c", reln_sum(g, x, RELN_K),
                                        &(RelnConv){.channels = 1, .width = 3}),
                           RELN_P, reln_window_valid(3, 1, 1));
}

static void what_does_not_fit_is_refused_with_a_line(void **state)
{
    static const struct {
        Build build;
        RelnStatus status;
        const char *text;
    } list[] = {
        {too_wide, RELN_ERR_SHAPE, "has no window of width 6, stride 1, dilation 1"},
        {negative_stride, RELN_ERR_SHAPE, "stride -1"},
        {negative_padding, RELN_ERR_SHAPE, "padding 0 and -1"},
        {no_width, RELN_ERR_SHAPE, "width 0"},
        {huge_span, RELN_ERR_SHAPE, "padding -1 and 0"},
        {along_coordinates, RELN_ERR_ARG, "along axis K, wanted P, Q or R"},
        {other_channels, RELN_ERR_SHAPE, "for windows of width 2"},
        {other_windows, RELN_ERR_SHAPE, "wanted 7: width 3"},
        {window_of_padding, RELN_ERR_SHAPE, "window 0 of"},
        {not_dual, RELN_ERR_REP, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        Trial t = {.dtype = RELN_F64};

        fixture_init(&t.f, "so:3", "so:3", RELN_F64);
        assert_null(list[i].build(t.f.graph,
                                  input(&t, "x", RELN_SAMPLES, (RelnDims){5, 1, 1, 3, 3}),
                                  input(&t, "w", RELN_STEP, (RelnDims){.r = 9, .c = 9})));
        assert_int_equal(reln_graph_status(t.f.graph), list[i].status);
        assert_non_null(strstr(reln_ctx_error(t.f.ctx), list[i].text));
        fixture_clear(&t.f);
    }
}

/* ---- published arrays ------------------------------------------------------------------------------------------------- */

/* Theirs are [B, C, K, T], ours (B, T, K, C). */
static double *load(const char *name, int k, int c)
{
    ptrdiff_t dims[4], count = 1, steps;
    double *values, *out;
    int rank;

    assert_true(golden_load(name, 4, dims, &rank, &values));
    for (int i = 0; i < rank; i++)
        count *= dims[i];
    steps = dims[rank - 1];
    out = malloc((size_t)count * sizeof *out);
    assert_non_null(out);
    for (ptrdiff_t i = 0; i < count; i++) {
        const ptrdiff_t t = i % steps, at_k = i / steps % k, at_c = i / steps / k % c,
                        b = i / steps / k / c;

        out[((b * steps + t) * k + at_k) * c + at_c] = values[i];
    }
    free(values);
    return out;
}

/* x, weights [out, in, taps] and y of the first convolution of a published network: 7 taps, stride 2, padding 3. */
static void check_published(const char *x_name, const char *w_name, const double *want, int k,
                            int in, int out)
{
    enum { STEPS = 200, TAPS = 7 };
    double *x = load(x_name, k, in), *w, ours[TAPS * 12 * 6];
    ptrdiff_t dims[4];
    int rank;
    Trial t = {.dtype = RELN_F64};

    assert_true(golden_load(w_name, 4, dims, &rank, &w));
    for (int i = 0; i < TAPS * in * out; i++)
        ours[(i % TAPS * in + i / TAPS % in) * out + i / TAPS / in] = w[i];
    fixture_init(&t.f, "so:3", "so:3", RELN_F64);
    reln_output(t.f.graph, "y",
                reln_conv(t.f.graph, input(&t, "x", RELN_SAMPLES, (RelnDims){STEPS, 1, 1, k, in}),
                          reln_const(t.f.graph, (RelnDims){.r = TAPS * in, .c = out}, NULL, ours),
                          RELN_P, (RelnWindow){TAPS, 2, 1, 3, 3}));
    trial_plan(&t);
    assert_ok(t.f.ctx, reln_plan_bind(t.plan, "x", x, RELN_F64));
    trial_run(&t, 2);
    assert_near(reln_plan_output(t.plan, "y", NULL), want, (ptrdiff_t)2 * 100 * k * out, 1e-13);
    trial_clear(&t);
    free(x);
    free(w);
}

static void first_convolutions_of_published_networks_come_out_the_same(void **state)
{
    ptrdiff_t dims[4];
    double *want = load("drone/resnet_conv", 1, 6), *turned, *vn;
    int rank;

    (void)state;
    check_published("drone/resnet_x", "drone/resnet_W", want, 1, 12, 6);
    free(want);
    /* theirs [B K, C, T] here */
    assert_true(golden_load("drone/vn_conv", 4, dims, &rank, &vn));
    turned = malloc(2 * 3 * 4 * 100 * sizeof *turned);
    assert_non_null(turned);
    for (int i = 0; i < 2 * 3 * 4 * 100; i++)
        turned[((i / 1200 * 100 + i % 100) * 3 + i / 400 % 3) * 4 + i / 100 % 4] = vn[i];
    check_published("drone/vn_x", "drone/vn_W", turned, 3, 1, 4);
    free(turned);
    free(vn);
}

/* ReLU, then the largest of 3 with stride 2 and padding 1. */
static void the_published_max_pool_comes_out_the_same(void **state)
{
    double *x = load("drone/resnet_norm", 1, 6), *want = load("drone/resnet_pool", 1, 6);
    Trial t = {.dtype = RELN_F64};
    RelnNode *y;

    (void)state;
    fixture_init(&t.f, "so:3", "so:3", RELN_F64);
    y = reln_relu(t.f.graph, input(&t, "x", RELN_SAMPLES, (RelnDims){100, 1, 1, 1, 6}));
    reln_output(t.f.graph, "y", reln_window_max(t.f.graph, y, RELN_P, (RelnWindow){3, 2, 1, 1, 1}));
    trial_plan(&t);
    assert_ok(t.f.ctx, reln_plan_bind(t.plan, "x", x, RELN_F64));
    trial_run(&t, 2);
    assert_memory_equal(reln_plan_output(t.plan, "y", NULL), want, 2 * 50 * 6 * sizeof *want);
    trial_clear(&t);
    free(x);
    free(want);
}

/* Means of pairs; on an odd number of points the last is alone. r is the cotangent. */
static void check_pairs(const double *all, int points, const char *y_name, const char *r_name,
                        const char *grad_name)
{
    enum { B = 4, C = 5, ALL = 12 };
    double x[B * ALL * 3 * C], *y = load(y_name, 3, C), *r = load(r_name, 3, C),
                               *grad = load(grad_name, 3, C);
    const int windows = (points + 1) / 2;
    Trial t = {.dtype = RELN_F64};
    RelnNode *in, *out, *gy, *gx = NULL;

    for (int b = 0; b < B; b++)
        memcpy(x + b * points * 3 * C, all + b * ALL * 3 * C, (size_t)points * 3 * C * sizeof *x);
    fixture_init(&t.f, "so:3", "so:3", RELN_F64);
    in = input(&t, "x", RELN_SAMPLES, (RelnDims){points, 1, 1, 3, C});
    gy = reln_input(t.f.graph, "r", RELN_SAMPLES, (RelnDims){windows, 1, 1, 3, C},
                    reln_rep_dual(t.f.adjoint), RELN_DEFAULT);
    out = reln_window_mean(t.f.graph, in, RELN_P, reln_window_same(2, 2, 1));
    assert_true(reln_vjp(t.f.graph, 1, &out, &gy, 1, &in, &gx));
    reln_output(t.f.graph, "y", out);
    reln_output(t.f.graph, "grad", gx);
    trial_plan(&t);
    assert_ok(t.f.ctx, reln_plan_bind(t.plan, "x", x, RELN_F64));
    assert_ok(t.f.ctx, reln_plan_bind(t.plan, "r", r, RELN_F64));
    trial_run(&t, B);
    /* halves are exact, sums of two are rounded alike */
    assert_near(reln_plan_output(t.plan, "y", NULL), y, (ptrdiff_t)B * windows * 3 * C,
                DBL_EPSILON);
    assert_near(reln_plan_output(t.plan, "grad", NULL), grad, (ptrdiff_t)B * points * 3 * C,
                DBL_EPSILON);
    trial_clear(&t);
    free(y);
    free(r);
    free(grad);
}

static void the_published_pair_pool_comes_out_the_same(void **state)
{
    double *x = load("drone/xv", 3, 5);

    (void)state;
    check_pairs(x, 12, "drone/pairpool_even_y", "drone/pairpool_even_r",
                "drone/pairpool_even_grad_x");
    check_pairs(x, 11, "drone/pairpool_odd_y", "drone/pairpool_odd_r", "drone/pairpool_odd_grad_x");
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_and_their_adjoints_have_the_values_of_the_formula),
        cmocka_unit_test(usual_windows_have_the_lengths_they_promise),
        cmocka_unit_test(causal_convolutions_do_not_see_the_future),
        cmocka_unit_test(the_place_in_the_batch_changes_no_bit),
        cmocka_unit_test(windows_are_never_in_memory),
        cmocka_unit_test(pools_have_the_values_of_the_formula),
        cmocka_unit_test(what_does_not_fit_is_refused_with_a_line),
        cmocka_unit_test(first_convolutions_of_published_networks_come_out_the_same),
        cmocka_unit_test(the_published_max_pool_comes_out_the_same),
        cmocka_unit_test(the_published_pair_pool_comes_out_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
