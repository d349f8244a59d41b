/* Tests that every layer commutes with the group, up to condition number 1000 and with a different element
 * for each sample: on elements of an algebra with its form, and on vectors with their form. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fixture.h"

enum { DRAWS = 1000, P = 4, C = 4, MAX_K = 16, MAX_OUT = 64 };

/* The allowed errors |f(g x) - g f(x)| / |g f(x)| of one sample at condition numbers 1, 10, 100, 1000. */
static const double conds[] = {1, 10, 100, 1000}, allowed[] = {1e-13, 1e-12, 1e-9, 1e-6};

typedef struct Closed {
    const char *name;
    bool product, triple, compact, one_component;
} Closed;

static const Closed algebras[] = {
    {"gl:2", true, true, false, false},    {"gl:3", true, true, false, false},
    {"gl:4", true, true, false, false},    {"sl:3", false, false, false, true},
    {"so:3", false, true, true, true},     {"so:4", false, true, true, true},
    {"so:1,3", false, true, false, false}, {"sp:4", false, true, false, true},
    {"su:3", false, false, true, true},
};
enum { N_ALGEBRAS = sizeof algebras / sizeof *algebras };

/* Vectors, in nets without an algebra: rotations, reflections, boosts, reflections of space and time. */
static const Closed vectors[] = {
    {"so:3", false, false, true, true},    {"o:3", false, false, true, false},
    {"o:5", false, false, true, false},    {"lorentz", false, false, false, true},
    {"o:1,3", false, false, false, false}, {"o:2,3", false, false, false, false},
};
enum { N_VECTORS = sizeof vectors / sizeof *vectors };

/* An Out is an output of the graph, with its values for the unmoved x. */
typedef struct Out {
    const char *name;
    RelnNode *node;
    double *plain;
    ptrdiff_t each; /* numbers of a sample */
} Out;

typedef struct World {
    Fixture f;
    RelnPlan *plan;
    Out out[MAX_OUT];
    int n_out, k;
    double *x, *moved, *act; /* (DRAWS, P, K, C), the same, (DRAWS, K, K) */
    const RelnRep *rep;      /* rep by which x is moved */
    int reflected;           /* draws outside the component of the identity */
} World;

static void add(World *w, const char *name, RelnNode *node)
{
    Out *o = &w->out[w->n_out++];

    assert_true(w->n_out <= MAX_OUT);
    assert_ok(w->f.ctx, reln_graph_status(w->f.graph));
    reln_output(w->f.graph, name, node);
    *o = (Out){.name = name, .node = node};
}

static RelnNode *input(World *w, const RelnRep *rep)
{
    return reln_input(w->f.graph, "x", RELN_SAMPLES, (RelnDims){.p = P, .k = w->k, .c = C}, rep,
                      RELN_F64);
}

/* ---- the layers ---------------------------------------------------------------------------------------------------- */

static void add_gates(World *w, const RelnNet *net, RelnNode *x)
{
    add(w, "relu", reln_nn_relu(net, "relu", x, NULL));
    add(w, "relu shared", reln_nn_relu(net, "shared", x, &(RelnRelu){true, 0.2}));
    add(w, "rms", reln_nn_rms(net, "rms", x, NULL));
    add(w, "rms softplus", reln_nn_rms(net, "rms", x, &(RelnRms){false, 1e-6, RELN_ACT_SOFTPLUS}));
    add(w, "rms tanh", reln_nn_rms(net, "shared", x, &(RelnRms){true, 1e-6, RELN_ACT_TANH}));
    add(w, "project", reln_nn_project(net, "project", x, NULL));
    add(w, "gate", reln_nn_gate(net, "gate", x, NULL, 8));
}

static void add_sets(World *w, const RelnNet *net, RelnNode *x)
{
    /* scores must be of order one, because a softmax turns relative errors of scores into absolute ones */
    RelnNode *small = reln_scale(net->graph, x, 0.25);
    RelnFeatures seen;

    add(w, "pool max", reln_nn_pool_max(net, "pool", x, RELN_P, false));
    add(w, "pool max absolute", reln_nn_pool_max(net, "pool", x, RELN_P, true));
    add(w, "pool softmax", reln_nn_pool_softmax(net, "pool", small, RELN_P));
    add(w, "pool mean", reln_nn_pool_mean(net, x, RELN_P));
    seen = reln_nn_attention(net, "attention", (RelnFeatures){small, reln_nn_invariant(net, small)},
                             2);
    add(w, "attention", seen.x);
    add(w, "attention invariants", seen.s);
}

static void add_maps(World *w, const RelnNet *net, RelnNode *x)
{
    RelnNode *s = reln_nn_invariant(net, x);
    RelnFeatures y;

    add(w, "linear", reln_nn_linear(net, "linear", x, 5));
    add(w, "conv", reln_nn_conv(net, "conv", x, &(RelnConv){.channels = 5, .width = 3, .pad = 1}));
    y = reln_nn_affine(net, "affine", (RelnFeatures){x, s}, 5, 3);
    add(w, "affine", y.x);
    add(w, "affine invariants", y.s);
    add(w, "invariant", s);
    add(w, "invariant learned", reln_nn_invariant_learned(net, "learned", x, 3));
    if (net->algebra &&
        (reln_algebra_n(net->algebra) % 2 == 0 || reln_algebra_dim(net->algebra) > 3))
        add(w, "det", reln_nn_invariant_det(net, x)); /* 0 on so(3) */
}

static void add_products(World *w, const RelnNet *net, RelnNode *x, const Closed *closed)
{
    if (net->algebra)
        add(w, "bracket", reln_nn_bracket(net, "bracket", x));
    if (closed->product) {
        add(w, "product", reln_nn_product(net, "product", x));
        add(w, "jordan", reln_nn_jordan(net, "jordan", x));
    }
    if (closed->triple)
        add(w, "triple", reln_nn_triple(net, "triple", x));
}

/* Adds blocks, on features of order one for the same reason. */
static void add_blocks(World *w, const RelnNet *net, RelnNode *x)
{
    static const RelnBlockGate gates[] = {RELN_BLOCK_GATED, RELN_BLOCK_RELU, RELN_BLOCK_RMS,
                                          RELN_BLOCK_PROJECT};
    static const RelnBlockNorm norms[] = {RELN_BLOCK_RMS_NORM, RELN_BLOCK_PLAIN,
                                          RELN_BLOCK_BATCH_NORM, RELN_BLOCK_BATCH_NORM};
    static const char *const names[] = {"block gated", "block relu", "block rms", "block project"};
    RelnNode *small = reln_scale(net->graph, x, 0.25);
    const RelnFeatures in = {small, reln_nn_invariant(net, small)};
    RelnFeatures y;

    for (int i = 0; i < 4; i++) {
        y = reln_nn_conv_block(net, names[i], in,
                               &(RelnConvBlock){.channels = 3,
                                                .invariants = 5,
                                                .stride = i < 2 ? 2 : 1,
                                                .causal = i % 2 == 0,
                                                .norm = norms[i],
                                                .gate = gates[i],
                                                .activation = RELN_ACT_SILU});
        add(w, names[i], y.x);
        if (i == 0)
            add(w, "block invariants", y.s);
    }
    y = reln_nn_pool_windows(net, "windows", in,
                             &(RelnWindowPool){.window = reln_window_same(2, 2, 1)});
    add(w, "pool windows", y.x);
    y = reln_nn_transformer(net, "transformer", in,
                            &(RelnTransformer){.heads = 2, .activation = RELN_ACT_SILU});
    add(w, "transformer", y.x);
    add(w, "transformer invariants", y.s);
}

/* Adds sums, heads, and branches that are left out at random; both runs draw the same random numbers. */
static void add_parts(World *w, const RelnNet *net, RelnNode *x)
{
    RelnNode *s = reln_nn_invariant(net, reln_scale(net->graph, x, 0.25));
    RelnNode *weights = reln_sigmoid(net->graph, s), *split;
    RelnFeatures y;

    add(w, "pool sum", reln_nn_pool_sum(net, x, weights, RELN_P));
    add(w, "pool weighted", reln_nn_pool_weighted(net, x, weights, RELN_P));
    add(w, "rms norm", reln_nn_rms_norm(net, "rms norm", x));
    add(w, "invariant batch norm", reln_nn_batch_norm_invariants(net, "ibn", s, NULL));
    add(w, "invariant layer norm", reln_nn_layer_norm_invariants(net, "iln", s));
    split = reln_nn_split_heads(net, x, 2, RELN_Q);
    add(w, "split heads", split);
    add(w, "merge heads", reln_nn_merge_heads(net, reln_nn_linear(net, "heads", split, 2), RELN_Q));
    y = reln_nn_residual(net, (RelnFeatures){x, s}, (RelnFeatures){x, s}, 0.5);
    y = reln_nn_dropout(net, y, 0.25);
    add(w, "residual", reln_add(net->graph, y.x, x));
}

static void build(World *w, const Closed *closed)
{
    const RelnNet net = {.graph = w->f.graph,
                         .algebra = w->rep == w->f.adjoint ? w->f.algebra : NULL,
                         .train = true};
    RelnNode *x = input(w, w->rep);

    add_maps(w, &net, x);
    add_gates(w, &net, x);
    add_products(w, &net, x, closed);
    add_sets(w, &net, x);
    add_blocks(w, &net, x);
    add_parts(w, &net, x);
    add(w, "norm", reln_nn_batch_norm(&net, "norm", x, RELN_NORM_INVARIANT));
    add(w, "layer norm", reln_nn_layer_norm(&net, "layer", x));
    add(w, "norm published", reln_nn_batch_norm(&net, "old", x, RELN_NORM_PUBLISHED));
    add(w, "scores",
        reln_nn_form(&net, x,
                     reln_mix(net.graph, x,
                              reln_param(net.graph, "pool.Wq", (RelnDims){.r = C, .c = C},
                                         (RelnInit){RELN_INIT_CONSTANT, 0}))));
}

/* ---- drawing and moving -------------------------------------------------------------------------------------------- */

static void *room(ptrdiff_t count, size_t size)
{
    void *block = calloc((size_t)count + 1, size);

    assert_non_null(block);
    return block;
}

static void world_fill(World *w, const RelnRep *rep)
{
    w->rep = rep;
    w->k = reln_rep_dim(w->rep);
    w->x = room((ptrdiff_t)DRAWS * P * w->k * C, sizeof(double));
    w->moved = room((ptrdiff_t)DRAWS * P * w->k * C, sizeof(double));
    w->act = room((ptrdiff_t)DRAWS * w->k * w->k, sizeof(double));
}

static void world_init(World *w, const char *algebra)
{
    memset(w, 0, sizeof *w);
    fixture_init(&w->f, algebra, algebra, RELN_F64);
    world_fill(w, w->f.adjoint);
}

/* Uses all matrices as the algebra, so that the adjoint rep differs from the rep of vectors. */
static void world_init_vectors(World *w, const char *group)
{
    char all[16];
    RelnGroup *g = NULL;
    RelnCtx *ctx = NULL;

    memset(w, 0, sizeof *w);
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, reln_group_create(ctx, group, &g));
    snprintf(all, sizeof all, "gl:%d", reln_group_n(g));
    reln_group_destroy(g);
    reln_ctx_destroy(ctx);
    fixture_init(&w->f, all, group, RELN_F64);
    world_fill(w, reln_rep_vector(w->f.group));
}

static void world_clear(World *w)
{
    for (int o = 0; o < w->n_out; o++)
        free(w->out[o].plain);
    free(w->x);
    free(w->moved);
    free(w->act);
    reln_plan_destroy(w->plan);
    fixture_clear(&w->f);
}

/* y = rho x for the features of one sample */
static void move(const World *w, int draw, ptrdiff_t points, int channels, const double *x,
                 double *y)
{
    const double *rho = w->act + (ptrdiff_t)draw * w->k * w->k;

    memset(y, 0, (size_t)(points * w->k * channels) * sizeof *y);
    for (ptrdiff_t p = 0; p < points; p++)
        for (int i = 0; i < w->k; i++)
            for (int j = 0; j < w->k; j++)
                for (int c = 0; c < channels; c++)
                    y[(p * w->k + i) * channels + c] +=
                        rho[i * w->k + j] * x[(p * w->k + j) * channels + c];
}

/* Returns whether g is outside of the identity component: its determinant is negative or, for SO(1,3), it
 * reverses time. */
static bool is_outside(const World *w, const RelnElement *g)
{
    double sign = 0;

    assert_ok(w->f.ctx, reln_rep_act(reln_rep_sign(w->f.group), g, &sign));
    return sign < 0 ||
           (strcmp(reln_group_name(w->f.group), "so:1,3") == 0 && reln_element_matrix(g)[0] < 0);
}

static void draw(World *w, RelnRng *rng, double cond)
{
    const ptrdiff_t each = (ptrdiff_t)P * w->k * C;

    fill_normal(rng, DRAWS * each, w->x);
    for (int d = 0; d < DRAWS; d++) {
        RelnElement *g = NULL;

        assert_ok(w->f.ctx, reln_group_random(w->f.group, rng, cond, &g));
        assert_ok(w->f.ctx, reln_rep_act(w->rep, g, w->act + (ptrdiff_t)d * w->k * w->k));
        w->reflected += is_outside(w, g);
        reln_element_destroy(g);
        move(w, d, P, C, w->x + d * each, w->moved + d * each);
    }
}

static void run(World *w, const double *x)
{
    assert_ok(w->f.ctx, reln_plan_bind(w->plan, "x", x, RELN_F64));
    assert_ok(w->f.ctx, reln_plan_run(w->plan, &(RelnRun){.n_samples = DRAWS}));
}

static void keep_plain(World *w)
{
    for (int o = 0; o < w->n_out; o++) {
        const RelnDims d = reln_node_dims(w->out[o].node);
        Out *out = &w->out[o];

        out->each = (ptrdiff_t)d.p * d.q * d.r * d.k * d.c;
        if (!out->plain)
            out->plain = room(DRAWS * out->each, sizeof(double));
        memcpy(out->plain, reln_plan_output(w->plan, out->name, NULL),
               (size_t)(DRAWS * out->each) * sizeof(double));
    }
}

/* ---- comparing ------------------------------------------------------------------------------------------------------- */

static double error_of(const World *w, const Out *o, int d, bool moves)
{
    const RelnDims dims = reln_node_dims(o->node);
    const double *got =
        (const double *)reln_plan_output(w->plan, o->name, NULL) + (ptrdiff_t)d * o->each;
    double want[P * MAX_K * 16], off = 0, size = 0;

    assert_true(o->each <= (ptrdiff_t)(sizeof want / sizeof *want));
    if (moves)
        move(w, d, (ptrdiff_t)dims.p * dims.q * dims.r, dims.c, o->plain + (ptrdiff_t)d * o->each,
             want);
    else
        memcpy(want, o->plain + (ptrdiff_t)d * o->each, (size_t)o->each * sizeof *want);
    for (ptrdiff_t i = 0; i < o->each; i++) {
        off += (got[i] - want[i]) * (got[i] - want[i]);
        size += want[i] * want[i];
    }
    return sqrt(off / size);
}

static const Out *find(const World *w, const char *name)
{
    for (int o = 0; o < w->n_out; o++)
        if (strcmp(w->out[o].name, name) == 0)
            return &w->out[o];
    fail_msg("no output %s", name);
    return NULL;
}

/* Returns whether a channel's choice of a point is uncertain: two scores differ by less than `gap`,
 * relatively. */
static bool undecided(const Out *scores, int d, bool absolute, double gap)
{
    const double *t = scores->plain + (ptrdiff_t)d * scores->each;
    double largest = 0;

    for (int i = 0; i < P * C; i++)
        largest = fmax(largest, fabs(t[i]));
    for (int c = 0; c < C; c++) {
        double first = -HUGE_VAL, second = -HUGE_VAL;

        for (int p = 0; p < P; p++) {
            const double s = absolute ? fabs(t[p * C + c]) : t[p * C + c];

            second = fmax(second, fmin(s, first));
            first = fmax(first, s);
        }
        if (first - second <= gap * largest)
            return true;
    }
    return false;
}

/* The published norm divides by q: its error is that of q relative to the smallest one. */
static double by_the_least(const World *w)
{
    const Out *q = find(w, "invariant");
    double mean = 0, least = HUGE_VAL;

    for (ptrdiff_t i = 0; i < DRAWS * q->each; i++) {
        mean += fabs(q->plain[i]) / (double)(DRAWS * q->each);
        least = fmin(least, fabs(q->plain[i]));
    }
    return mean / least;
}

/* A layer norm of invariants subtracts their mean over the channels and divides by their spread: the error of the largest one,
 * relative to the smallest spread of all points. */
static double by_the_spread(const World *w)
{
    const Out *q = find(w, "invariant");
    const int n = reln_node_dims(q->node).c;
    double worst = 1;

    for (ptrdiff_t at = 0; at < DRAWS * q->each; at += n) {
        double mean = 0, largest = 0, squares = 0;

        for (int c = 0; c < n; c++) {
            mean += q->plain[at + c] / n;
            largest = fmax(largest, fabs(q->plain[at + c]));
        }
        for (int c = 0; c < n; c++)
            squares += (q->plain[at + c] - mean) * (q->plain[at + c] - mean) / n;
        worst = fmax(worst, largest / sqrt(squares));
    }
    return worst;
}

/* Returns the factor by which a layer amplifies the error of an invariant by its definition. The slope of r =
 * t q / (q^2 + delta^2 m) at q = 0 is t / (delta^2 m), delta = 0.1; a block has two such gates. */
static double amplification(const World *w, const Out *o)
{
    return strcmp(o->name, "norm published") == 0 ? by_the_least(w)
           : strncmp(o->name, "transformer", 11) == 0 ||
                   strcmp(o->name, "invariant layer norm") == 0
               ? by_the_spread(w)
           : strcmp(o->name, "project") == 0       ? 100.0
           : strcmp(o->name, "block project") == 0 ? 1e4
                                                   : 1.0;
}

static double worst_of(const World *w, const Out *o, double gap, int *skipped)
{
    const bool moves = !reln_rep_is_trivial(reln_node_rep(o->node));
    const bool picks = strncmp(o->name, "pool max", 8) == 0;
    double worst = 0;

    *skipped = 0;
    for (int d = 0; d < DRAWS; d++) {
        if (picks && undecided(find(w, "scores"), d, strlen(o->name) > 8, gap)) {
            ++*skipped;
            continue;
        }
        worst = fmax(worst, error_of(w, o, d, moves));
    }
    return worst;
}

static void compare(const World *w, const char *algebra, int level)
{
    for (int i = 0; i < w->n_out; i++) {
        const Out *o = &w->out[i];
        const double bound = allowed[level] * amplification(w, o);
        int skipped;
        const double worst = worst_of(w, o, allowed[level], &skipped);

        if (!(worst <= bound))
            fail_msg("%s on %s is off by %.2e at condition %g, allowed %.2e", o->name, algebra,
                     worst, conds[level], bound);
        assert_true(skipped < DRAWS / 20);
    }
}

/* Clears the world. */
static void check(World *w, const Closed *of, uint64_t stream)
{
    RelnRng rng = reln_rng(7, stream);

    build(w, of);
    assert_ok(w->f.ctx, reln_plan_create(w->f.graph, NULL, &w->plan));
    for (int level = 0; level < (of->compact ? 1 : 4); level++) {
        draw(w, &rng, conds[level]);
        run(w, w->x);
        keep_plain(w);
        run(w, w->moved);
        compare(w, of->name, level);
    }
    assert_true(of->one_component ? w->reflected == 0 : w->reflected > DRAWS / 10);
    world_clear(w);
}

static void every_layer_commutes_with_the_group(void **state)
{
    (void)state;
    for (int a = 0; a < N_ALGEBRAS; a++) {
        World w;

        world_init(&w, algebras[a].name);
        check(&w, &algebras[a], (uint64_t)a);
    }
}

static void every_layer_of_vectors_commutes_with_the_group(void **state)
{
    (void)state;
    for (int v = 0; v < N_VECTORS; v++) {
        World w;

        world_init_vectors(&w, vectors[v].name);
        check(&w, &vectors[v], (uint64_t)(100 + v));
    }
}

/* ---- what must fail -------------------------------------------------------------------------------------------------- */

/* The builder accepts a function of coordinates that are declared as K invariants; if they are moved as an
 * element, the check detects it. */
static void a_layer_that_is_not_equivariant_is_caught(void **state)
{
    RelnRng rng = reln_rng(8, 0);
    World w;

    (void)state;
    world_init(&w, "gl:3");
    add(&w, "wrong", reln_tanh(w.f.graph, input(&w, reln_rep_trivial(w.f.group, w.k))));
    assert_ok(w.f.ctx, reln_plan_create(w.f.graph, NULL, &w.plan));
    draw(&w, &rng, 1.0);
    run(&w, w.x);
    keep_plain(&w);
    run(&w, w.moved);
    for (int d = 0; d < DRAWS; d++)
        assert_true(error_of(&w, &w.out[0], d, true) > 1e-3);
    world_clear(&w);
}

typedef RelnNode *Product(const RelnNet *net, const char *name, RelnNode *x);

static void expect_refusal(const char *algebra, Product *product, const char *layer)
{
    RelnNet net;
    World w;

    world_init(&w, algebra);
    net = (RelnNet){.graph = w.f.graph, .algebra = w.f.algebra};
    assert_null(product(&net, "product", input(&w, w.rep)));
    assert_int_equal(reln_graph_status(w.f.graph), RELN_ERR_ALGEBRA);
    assert_non_null(strstr(reln_ctx_error(w.f.ctx), layer));
    assert_non_null(strstr(reln_ctx_error(w.f.ctx), algebra));
    assert_non_null(strstr(reln_ctx_error(w.f.ctx), "as feature algebra"));
    world_clear(&w);
}

static void products_that_leave_the_algebra_are_refused(void **state)
{
    (void)state;
    for (int a = 0; a < N_ALGEBRAS; a++) {
        if (!algebras[a].product) {
            expect_refusal(algebras[a].name, reln_nn_product, "product");
            expect_refusal(algebras[a].name, reln_nn_jordan, "jordan");
        }
        if (!algebras[a].triple)
            expect_refusal(algebras[a].name, reln_nn_triple, "triple");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layer_commutes_with_the_group),
        cmocka_unit_test(every_layer_of_vectors_commutes_with_the_group),
        cmocka_unit_test(a_layer_that_is_not_equivariant_is_caught),
        cmocka_unit_test(products_that_leave_the_algebra_are_refused),
    };

    return cmocka_run_group_tests_name("nn/equivariance", tests, NULL, NULL);
}
