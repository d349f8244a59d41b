/* Compares layers and networks with arrays that the published code computed: values, gradients, training
 * steps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fixture.h"
#include "support/golden.h"

enum { B = 3, N = 6, C_IN = 4, C_OUT = 5, MAX_WEIGHTS = 3, ROOM = 64 };

#define VALUE 1e-12 /* both sides are doubles, summed in another order */
#define GRADIENT 1e-10

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

typedef struct Array {
    double *values;
    ptrdiff_t dims[4], count;
    int rank;
} Array;

static bool load(const char *folder, const char *prefix, const char *part, Array *a)
{
    char name[128];

    snprintf(name, sizeof name, "%s/%s%s", folder, prefix, part);
    *a = (Array){.count = 1};
    if (!golden_load(name, 4, a->dims, &a->rank, &a->values))
        return false;
    for (int i = 0; i < a->rank; i++)
        a->count *= a->dims[i];
    return true;
}

static void drop(Array *a)
{
    free(a->values);
    a->values = NULL;
}

/* theirs [B, C, K, N] to ours (B, P = N, K, C) */
static void turn(Array *a, ptrdiff_t k)
{
    const ptrdiff_t b = a->dims[0], c = a->dims[1], n = a->count / (b * c * k);
    double *out = malloc((size_t)a->count * sizeof *out);

    assert_non_null(out);
    for (ptrdiff_t i = 0; i < a->count; i++)
        out[((i / (n * k * c) * n + i % n) * k + i / n % k) * c + i / (n * k) % c] = a->values[i];
    free(a->values);
    a->values = out;
}

/* theirs W[out, in] to ours (in, out) */
static void transpose(Array *a)
{
    const ptrdiff_t out = a->dims[0], in = a->rank == 2 ? a->dims[1] : 1;
    double *t = malloc((size_t)a->count * sizeof *t);

    assert_non_null(t);
    for (ptrdiff_t i = 0; i < a->count; i++)
        t[i % in * out + i / in] = a->values[i];
    free(a->values);
    a->values = t;
}

static void set_parameter(const Fixture *f, const char *name, const Array *a)
{
    RelnEntryInfo entry;

    assert_true(reln_store_find(f->store, name, &entry));
    assert_int_equal(entry.count, a->count);
    memcpy(entry.values, a->values, entry.count * sizeof(double));
}

/* ---- single layers ----------------------------------------------------------------------------------------------- */

typedef struct Layer {
    const char *prefix;
    RelnNode *(*build)(const RelnNet *net, RelnNode *x);
    const char *weights[MAX_WEIGHTS];
} Layer;

static RelnNode *linear(const RelnNet *net, RelnNode *x)
{
    return reln_nn_linear(net, "l", x, C_OUT);
}

static RelnNode *relu(const RelnNet *net, RelnNode *x)
{
    return reln_nn_relu(net, "l", linear(net, x), NULL);
}

static RelnNode *leaky(const RelnNet *net, RelnNode *x)
{
    return reln_nn_relu(net, "l", linear(net, x), &(RelnRelu){.leak = 0.2});
}

static RelnNode *shared(const RelnNet *net, RelnNode *x)
{
    return reln_nn_relu(net, "l", linear(net, x), &(RelnRelu){.shared = true});
}

static RelnNode *bracket(const RelnNet *net, RelnNode *x)
{
    return reln_nn_bracket(net, "l", linear(net, x));
}

static RelnNode *pool(const RelnNet *net, RelnNode *x)
{
    return reln_nn_pool_max(net, "l", x, RELN_P, false);
}

static RelnNode *pool_absolute(const RelnNet *net, RelnNode *x)
{
    return reln_nn_pool_max(net, "l", x, RELN_P, true);
}

static RelnNode *learned(const RelnNet *net, RelnNode *x)
{
    return reln_nn_invariant_learned(net, "l", x, 2);
}

static RelnNode *norm(const RelnNet *net, RelnNode *x)
{
    return reln_nn_batch_norm(net, "l", x, RELN_NORM_PUBLISHED);
}

static const Layer layers[] = {
    {"linear", linear, {"W"}},
    {"relu", relu, {"W", "U"}},
    {"relu_leaky02", leaky, {"W", "U"}},
    {"relu_shared", shared, {"W", "U"}},
    {"bracket", bracket, {"W", "Wa", "Wb"}},
    {"pool", pool, {"Wq"}},
    {"poolabs", pool_absolute, {"Wq"}},
    {"inv_self", reln_nn_invariant, {NULL}},
    {"inv_learned", learned, {"W", "U"}},
    {"inv_det", reln_nn_invariant_det, {NULL}},
    {"bn", norm, {NULL}},
};
enum { N_LAYERS = sizeof layers / sizeof *layers };

typedef struct Trial {
    const char *folder, *name;
    const Layer *layer;
    Fixture f;
    RelnPlan *plan;
    Array x, y, r, weights[MAX_WEIGHTS];
    int k, n_weights;
} Trial;

/* The leaky and shared gates have the weights W of the plain one. */
static void load_weights(Trial *t)
{
    char prefix[ROOM];

    for (t->n_weights = 0; t->n_weights < MAX_WEIGHTS && t->layer->weights[t->n_weights];
         t->n_weights++) {
        Array *w = &t->weights[t->n_weights];

        snprintf(prefix, sizeof prefix, "%s_", t->layer->prefix);
        if (!load(t->folder, prefix, t->layer->weights[t->n_weights], w))
            assert_true(load(t->folder, "relu_", t->layer->weights[t->n_weights], w));
        transpose(w);
    }
}

static void set_weights(const Trial *t)
{
    char name[ROOM];

    for (int i = 0; i < t->n_weights; i++) {
        snprintf(name, sizeof name, "l.%s", t->layer->weights[i]);
        set_parameter(&t->f, name, &t->weights[i]);
    }
}

/* L = <r, y>, and its gradients as outputs g0 (of x), g1, ... */
static void add_gradients(Trial *t, RelnNode *x, RelnNode *y)
{
    RelnGraph *g = t->f.graph;
    RelnNode *r = reln_input(g, "r", RELN_SAMPLES, reln_node_dims(y),
                             reln_rep_dual(reln_node_rep(y)), RELN_DEFAULT);
    RelnNode *loss = reln_batch_sum(g, reln_sum_all(g, reln_pair(g, y, r)));
    RelnNode *of[1 + MAX_WEIGHTS] = {x}, *grads[1 + MAX_WEIGHTS];
    char name[ROOM];

    for (int i = 0; i < t->n_weights; i++) {
        RelnEntryInfo entry;

        snprintf(name, sizeof name, "l.%s", t->layer->weights[i]);
        assert_true(reln_store_find(t->f.store, name, &entry));
        of[1 + i] = reln_param(g, name, entry.dims, (RelnInit){RELN_INIT_CONSTANT, 0});
    }
    assert_true(reln_grad(g, loss, 1 + t->n_weights, of, grads));
    for (int i = 0; i <= t->n_weights; i++) {
        snprintf(name, sizeof name, "g%d", i);
        reln_output(g, name, grads[i]);
    }
}

static void make(Trial *t, bool train, bool gradients)
{
    RelnNet net = {.graph = t->f.graph, .algebra = t->f.algebra, .train = train};
    RelnNode *x = reln_input(t->f.graph, "x", RELN_SAMPLES,
                             (RelnDims){.p = N, .k = t->k, .c = C_IN}, t->f.adjoint, RELN_F64);
    RelnNode *y = t->layer->build(&net, x);

    assert_ok(t->f.ctx, reln_graph_status(t->f.graph));
    reln_output(t->f.graph, "y", y);
    if (gradients)
        add_gradients(t, x, y);
    assert_ok(t->f.ctx, reln_plan_create(t->f.graph, NULL, &t->plan));
    assert_ok(t->f.ctx, reln_plan_bind(t->plan, "x", t->x.values, RELN_F64));
    if (gradients)
        assert_ok(t->f.ctx, reln_plan_bind(t->plan, "r", t->r.values, RELN_F64));
}

static void check(const Trial *t, const char *output, const double *want, ptrdiff_t count,
                  double tol)
{
    const double *got = reln_plan_output(t->plan, output, NULL);

    assert_non_null(got);
    assert_near(got, want, count, tol);
}

static void check_gradients(const Trial *t)
{
    char prefix[ROOM], name[ROOM];

    snprintf(prefix, sizeof prefix, "%s_grad_", t->layer->prefix);
    for (int i = 0; i <= t->n_weights; i++) {
        Array want;

        if (!load(t->folder, prefix, i ? t->layer->weights[i - 1] : "x", &want))
            continue;
        if (i)
            transpose(&want);
        else
            turn(&want, t->k);
        snprintf(name, sizeof name, "g%d", i);
        check(t, name, want.values, want.count, GRADIENT);
        drop(&want);
    }
}

/* Compares the running statistics after training, and the values of inference with them. */
static void check_running(Trial *t)
{
    static const char *const kept[] = {"mean", "var"};
    char name[ROOM];
    Array want;

    for (int i = 0; i < 2; i++) {
        RelnEntryInfo entry;

        snprintf(name, sizeof name, "l.%s", kept[i]);
        assert_true(reln_store_find(t->f.store, name, &entry) && entry.kind == RELN_ENTRY_STATE);
        assert_true(load(t->folder, "bn_running_", kept[i], &want));
        assert_near(entry.values, want.values, want.count, VALUE);
        drop(&want);
    }
    reln_plan_destroy(t->plan);
    reln_graph_destroy(t->f.graph);
    assert_ok(t->f.ctx, reln_graph_create(t->f.group, t->f.store, RELN_F64, &t->f.graph));
    make(t, false, false);
    assert_ok(t->f.ctx, reln_plan_run(t->plan, &(RelnRun){.n_samples = B}));
    assert_true(load(t->folder, "bn_", "eval_y", &want));
    turn(&want, t->k);
    check(t, "y", want.values, want.count, VALUE);
    drop(&want);
}

static bool compare_layer(const char *folder, const char *algebra, const Layer *layer)
{
    Trial t = {.folder = folder, .name = algebra, .layer = layer};
    char prefix[ROOM];
    bool gradients;

    snprintf(prefix, sizeof prefix, "%s_", layer->prefix);
    if (!load(folder, prefix, "y", &t.y))
        return false;
    assert_true(load(folder, "", "x", &t.x));
    gradients = load(folder, prefix, "r", &t.r);
    t.k = (int)t.x.dims[2];
    load_weights(&t);
    fixture_init(&t.f, algebra, algebra, RELN_F64);
    turn(&t.x, t.k);
    turn(&t.y, t.y.rank == 4 && t.y.dims[3] == 1 ? 1 : t.k);
    if (gradients)
        turn(&t.r, t.y.rank == 4 && t.y.dims[3] == 1 ? 1 : t.k);
    make(&t, true, gradients);
    set_weights(&t);
    assert_ok(t.f.ctx, reln_plan_run(t.plan, &(RelnRun){.n_samples = B}));
    check(&t, "y", t.y.values, t.y.count, VALUE);
    if (gradients)
        check_gradients(&t);
    if (strcmp(layer->prefix, "bn") == 0)
        check_running(&t);
    reln_plan_destroy(t.plan);
    fixture_clear(&t.f);
    drop(&t.x);
    drop(&t.y);
    if (gradients)
        drop(&t.r);
    for (int i = 0; i < t.n_weights; i++)
        drop(&t.weights[i]);
    return true;
}

/* A folder need not have every layer; every layer that it has is compared. */
static void layers_agree_with_the_published_code(void **state)
{
    static const struct {
        const char *folder, *algebra;
        int layers;
    } folders[] = {{"gl3", "gl:3", 9}, {"so3", "so:3", 8}, {"sl3", "sl:3", 11}, {"sp4", "sp:4", 9}};

    (void)state;
    for (int f = 0; f < 4; f++) {
        int compared = 0;

        for (int l = 0; l < N_LAYERS; l++)
            compared += compare_layer(folders[f].folder, folders[f].algebra, &layers[l]);
        assert_int_equal(compared, folders[f].layers);
    }
}

/* The test would detect a bracket with exchanged factors. */
static RelnNode *wrong_bracket(const RelnNet *net, RelnNode *x)
{
    RelnNode *z = linear(net, x), *y = bracket(net, x);

    return reln_sub(net->graph, reln_scale(net->graph, z, 2.0), y);
}

static void a_bracket_in_the_other_order_differs(void **state)
{
    static const Layer wrong = {"bracket", wrong_bracket, {"W", "Wa", "Wb"}};
    Trial t = {.folder = "gl3", .layer = &wrong};
    double most = 0;

    (void)state;
    assert_true(load("gl3", "bracket_", "y", &t.y) && load("gl3", "", "x", &t.x));
    t.k = 9;
    load_weights(&t);
    fixture_init(&t.f, "gl:3", "gl:3", RELN_F64);
    turn(&t.x, 9);
    turn(&t.y, 9);
    make(&t, true, false);
    set_weights(&t);
    assert_ok(t.f.ctx, reln_plan_run(t.plan, &(RelnRun){.n_samples = B}));
    for (ptrdiff_t i = 0; i < t.y.count; i++) {
        const double off = ((const double *)reln_plan_output(t.plan, "y", NULL))[i] - t.y.values[i];
        most = off > most ? off : most;
    }
    assert_true(most > 0.1);
    reln_plan_destroy(t.plan);
    fixture_clear(&t.f);
    drop(&t.x);
    drop(&t.y);
    for (int i = 0; i < t.n_weights; i++)
        drop(&t.weights[i]);
}

/* ---- networks ---------------------------------------------------------------------------------------------------- */

typedef struct Named {
    const char *theirs, *ours;
} Named;

enum { WIDTH = 16 };

static RelnNode *blocks(const RelnNet *net, RelnNode *x)
{
    RelnNode *h = reln_nn_relu(net, "one", reln_nn_linear(net, "one", x, WIDTH), NULL);

    return reln_nn_bracket(net, "two", reln_nn_linear(net, "two", h, WIDTH));
}

static void set_named(const Fixture *f, const char *folder, const char *prefix, const Named *n)
{
    Array a;

    assert_true(load(folder, prefix, n->theirs, &a));
    transpose(&a);
    set_parameter(f, n->ours, &a);
    drop(&a);
}

static void compare_stored(const Fixture *f, const char *prefix, const Named *n)
{
    RelnEntryInfo entry;
    Array want;

    assert_true(load("sp4_net", prefix, n->theirs, &want));
    transpose(&want);
    assert_true(reln_store_find(f->store, n->ours, &entry));
    assert_near(entry.values, want.values, want.count, GRADIENT);
    drop(&want);
}

static void compare_output(RelnPlan *plan, const char *output, const char *folder,
                           const char *prefix, const char *array, double tol)
{
    const double *got = reln_plan_output(plan, output, NULL);
    Array want;

    assert_true(load(folder, prefix, array, &want));
    transpose(&want);
    assert_non_null(got);
    assert_near(got, want.values, want.count, tol);
    drop(&want);
}

static RelnNode *output_gradients(const Fixture *f, RelnNode *loss, int n, const Named *names)
{
    RelnNode *of[10], *grads[10];

    for (int i = 0; i < n; i++) {
        RelnEntryInfo entry;

        assert_true(reln_store_find(f->store, names[i].ours, &entry));
        of[i] = reln_param(f->graph, names[i].ours, entry.dims, (RelnInit){RELN_INIT_CONSTANT, 0});
    }
    assert_true(reln_grad(f->graph, loss, n, of, grads));
    for (int i = 0; i < n; i++)
        reln_output(f->graph, names[i].theirs, grads[i]);
    return loss;
}

static void ten_steps_of_the_sp4_network_agree(void **state)
{
    static const Named names[] = {{"W1", "one.W"},  {"U1", "one.U"},  {"W2", "two.W"},
                                  {"Wa", "two.Wa"}, {"Wb", "two.Wb"}, {"wf", "out.W"},
                                  {"bf", "out.b"}};
    Fixture f;
    RelnPlan *plan = NULL;
    Array x, y, losses;
    RelnNode *out, *loss;
    RelnNet net;

    (void)state;
    assert_true(load("sp4_net", "", "x", &x) && load("sp4_net", "", "y_code", &y) &&
                load("sp4_net", "", "adam_losses", &losses));
    turn(&x, 10);
    fixture_init(&f, "sp:4", "sp:4", RELN_F64);
    net = (RelnNet){.graph = f.graph, .algebra = f.algebra, .train = true};
    out = reln_nn_dense(&net, "out",
                        reln_nn_invariant(&net, blocks(&net, reln_input(f.graph, "x", RELN_SAMPLES,
                                                                        (RelnDims){.k = 10, .c = 2},
                                                                        f.adjoint, RELN_F64))),
                        1);
    loss = reln_batch_mean(
        f.graph, reln_square(f.graph, reln_sub(f.graph, out,
                                               reln_input(f.graph, "y", RELN_SAMPLES, (RelnDims){0},
                                                          NULL, RELN_F64))));
    assert_ok(f.ctx, reln_graph_status(f.graph));
    output_gradients(&f, loss, 7, names);
    reln_output(f.graph, "out", out);
    reln_output(f.graph, "loss", loss);
    reln_adam_all(f.graph, NULL, reln_scalar(f.graph, 1e-3), loss);
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    for (int i = 0; i < 7; i++)
        set_named(&f, "sp4_net", "init_", &names[i]);
    assert_ok(f.ctx, reln_plan_bind(plan, "x", x.values, RELN_F64));
    assert_ok(f.ctx, reln_plan_bind(plan, "y", y.values, RELN_F64));
    for (uint64_t step = 0; step < 10; step++) {
        assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 32, .step = step}));
        assert_near(reln_plan_output(plan, "loss", NULL), losses.values + step, 1, GRADIENT);
        for (int i = 0; i < 7 && step == 0; i++)
            compare_output(plan, names[i].theirs, "sp4_net", "grad0_", names[i].theirs, GRADIENT);
        if (step == 0)
            compare_output(plan, "out", "sp4_net", "", "out0", VALUE);
    }
    for (int i = 0; i < 7; i++)
        compare_stored(&f, "after10_", &names[i]);
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 32, .step = 10}));
    compare_output(plan, "out", "sp4_net", "", "out10", GRADIENT);
    reln_plan_destroy(plan);
    fixture_clear(&f);
    drop(&x);
    drop(&y);
    drop(&losses);
}

static void the_platonic_classifier_agrees(void **state)
{
    static const Named names[] = {{"W1", "one.W"},  {"U1", "one.U"},  {"W2", "two.W"},
                                  {"Wa", "two.Wa"}, {"Wb", "two.Wb"}, {"Wq", "pool.Wq"},
                                  {"wf", "out.W"}};
    int32_t labels[6];
    Fixture f;
    RelnPlan *plan = NULL;
    Array x, label;
    RelnNode *logits, *loss, *h;
    RelnNet net;

    (void)state;
    assert_true(load("platonic", "net_", "x", &x));
    assert_true(load("platonic", "net_", "label", &label));
    assert_int_equal(label.count, 6);
    turn(&x, 8);
    for (int i = 0; i < 6; i++)
        labels[i] = (int32_t)label.values[i];
    fixture_init(&f, "sl:3", "sl:3", RELN_F64);
    net = (RelnNet){.graph = f.graph, .algebra = f.algebra, .train = true};
    h = blocks(&net, reln_input(f.graph, "x", RELN_SAMPLES, (RelnDims){.p = 12, .k = 8, .c = 3},
                                f.adjoint, RELN_F64));
    h = reln_nn_pool_max(&net, "pool", h, RELN_P, false);
    logits = reln_nn_linear(&net, "out", reln_nn_invariant(&net, h), 3);
    loss =
        reln_batch_mean(f.graph, reln_cross_entropy(f.graph, logits,
                                                    reln_input_index(f.graph, "label", RELN_SAMPLES,
                                                                     (RelnDims){0}, RELN_STEP, 3)));
    assert_ok(f.ctx, reln_graph_status(f.graph));
    output_gradients(&f, loss, 7, names);
    reln_output(f.graph, "logits", logits);
    reln_output(f.graph, "loss", loss);
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    for (int i = 0; i < 7; i++)
        set_named(&f, "platonic", "net_init_", &names[i]);
    assert_ok(f.ctx, reln_plan_bind(plan, "x", x.values, RELN_F64));
    assert_ok(f.ctx, reln_plan_bind(plan, "label", labels, RELN_I32));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 6}));
    for (int i = 0; i < 7; i++)
        compare_output(plan, names[i].theirs, "platonic", "net_grad_", names[i].theirs, GRADIENT);
    compare_output(plan, "loss", "platonic", "net_", "loss", VALUE);
    {
        const double *got = reln_plan_output(plan, "logits", NULL);
        Array want;

        assert_true(load("platonic", "net_", "logits", &want));
        assert_near(got, want.values, want.count, VALUE);
        drop(&want);
    }
    reln_plan_destroy(plan);
    fixture_clear(&f);
    drop(&x);
    drop(&label);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_agree_with_the_published_code),
        cmocka_unit_test(a_bracket_in_the_other_order_differs),
        cmocka_unit_test(ten_steps_of_the_sp4_network_agree),
        cmocka_unit_test(the_platonic_classifier_agrees),
    };

    return cmocka_run_group_tests_name("nn/golden", tests, NULL, NULL);
}
