/* networks.c -- the networks of the paper's algebraic tasks, two sweeps, and MLPs for comparison. */
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"

static int dim_of(const BenchNet *b)
{
    return reln_rep_dim(b->rep);
}

static RelnNode *first_input(BenchNet *b, RelnDims dims, const RelnRep *rep)
{
    return b->x = bench_input(b, "x", dims, rep);
}

/* ---- ReLN --------------------------------------------------------------------------------------------------------- */

/* Linear, ReLU, Linear, Bracket: the part that both tasks share. */
static RelnNode *body(BenchNet *b)
{
    const int width = b->c->width;
    RelnNode *x =
        first_input(b, (RelnDims){.p = b->c->points, .k = dim_of(b), .c = b->c->channels}, b->rep);

    x = bench_relu(b, "one", bench_linear(b, "one", x, width));
    return bench_bracket(b, "two", bench_linear(b, "two", x, width));
}

/* sp(4) regression, and the sweeps: an invariant number. */
static RelnNode *regression(BenchNet *b)
{
    return bench_dense(b, "out", reln_nn_invariant(&b->net, body(b)), 1);
}

/* Platonic solids: a set of points, three classes, no bias. */
static RelnNode *platonic(BenchNet *b)
{
    RelnNode *x = bench_pool(b, "pool", body(b));

    return bench_linear(b, "out", reln_nn_invariant(&b->net, x), 3);
}

/* ---- MLPs ---------------------------------------------------------------------------------------------------------- */

enum { HIDDEN = 3 };

static RelnNode *hidden_layers(BenchNet *b, RelnNode *x, RelnActivation f)
{
    static const char *const names[HIDDEN] = {"0", "1", "2"};

    for (int i = 0; i < HIDDEN; i++) {
        x = bench_dense(b, names[i], x, b->c->width);
        x = reln_nn_activate(b->net.graph, f, x);
    }
    return bench_dense(b, "out", x, 1);
}

static RelnNode *mlp(BenchNet *b)
{
    return hidden_layers(b, first_input(b, (RelnDims){.c = b->c->channels}, NULL), RELN_ACT_RELU);
}

/* H(z) of 12 numbers; the gradient pass is dH/dz, and training fits it to data. With F the operations of H:
 * the value takes F, the field 2 F. Going back through both takes 4 F more, because each product has two
 * factors to differentiate by. */
static RelnNode *hnn(BenchNet *b)
{
    const BenchPass pass = b->pass;
    RelnNode *z = first_input(b, (RelnDims){.c = b->c->channels}, NULL), *h, *field = NULL;

    b->pass = BENCH_FORWARD;
    h = hidden_layers(b, z, RELN_ACT_SILU);
    b->pass = pass;
    if (pass == BENCH_FORWARD)
        return h;
    b->flops *= pass == BENCH_GRADIENT ? 2 : 6;
    b->is_gradient = true;
    reln_grad(b->net.graph, h, 1, &z, &field);
    return field;
}

/* ---- a rollout ------------------------------------------------------------------------------------------------------ */

enum { RK4_STEPS = 8, LAYERS = HIDDEN + 1 };

/* Weights and biases of H, at step level. */
static void field_weights(BenchNet *b, RelnNode *w[2 * LAYERS])
{
    char name[16];

    for (int i = 0; i < LAYERS; i++) {
        const int from = i ? b->c->width : b->c->channels, to = i < HIDDEN ? b->c->width : 1;
        const RelnInit init = {RELN_INIT_UNIFORM, 0.1};

        snprintf(name, sizeof name, "w%d", i);
        w[2 * i] = reln_param(b->net.graph, name, (RelnDims){.r = from, .c = to}, init);
        snprintf(name, sizeof name, "b%d", i);
        w[2 * i + 1] = reln_param(b->net.graph, name, (RelnDims){.c = to}, init);
        b->flops += 2.0 * from * to; /* operations of H */
    }
}

/* x' = dH/dp, p' = -dH/dx: exchanges the two halves of the gradient, and changes the sign of one. */
static RelnNode *symplectic(RelnGraph *g, RelnNode *grad, int size)
{
    const int half = size / 2;
    RelnNode *x = reln_slice(g, grad, RELN_C, 0, half),
             *p = reln_slice(g, grad, RELN_C, half, half);

    return reln_concat(g, 2, (RelnNode *[]){p, reln_scale(g, x, -1.0)}, RELN_C);
}

/* The field as a function of the state and the weights, planned once and called 32 times. */
static RelnFn *field_function(BenchNet *b, RelnNode *const w[2 * LAYERS])
{
    RelnGraph *g = reln_fn_begin(b->net.graph, "field");
    RelnNode *z = reln_argument(g, RELN_SAMPLES, (RelnDims){.c = b->c->channels}, NULL,
                                RELN_DEFAULT),
             *h = z, *grad = NULL, *a[2 * LAYERS];

    for (int i = 0; i < 2 * LAYERS; i++)
        a[i] = w[i] ? reln_argument(g, RELN_STEP, reln_node_dims(w[i]), NULL, RELN_DEFAULT) : NULL;
    for (int i = 0; i < LAYERS; i++) {
        h = reln_add(g, reln_mix(g, h, a[2 * i]), a[2 * i + 1]);
        h = i < HIDDEN ? reln_mul(g, h, reln_sigmoid(g, h)) : h;
    }
    reln_grad(g, h, 1, &z, &grad);
    grad = symplectic(g, grad, b->c->channels);
    return reln_fn_end(g, 1, &grad);
}

/* z + h (k1 + 2 k2 + 2 k3 + k4) / 6 */
static RelnNode *rk4_step(RelnGraph *g, RelnFn *field, RelnNode *in[1 + 2 * LAYERS], double h)
{
    static const double ahead[4] = {0.0, 0.5, 0.5, 1.0},
                        part[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    RelnNode *z = in[0], *sum = z, *k = NULL;

    for (int i = 0; i < 4; i++) {
        in[0] = i ? reln_add(g, z, reln_scale(g, k, h * ahead[i])) : z;
        if (!reln_call(g, field, 1 + 2 * LAYERS, in, &k))
            return NULL;
        sum = reln_add(g, sum, reln_scale(g, k, h * part[i]));
    }
    return sum;
}

/* 32 evaluations of a field: 2 F each, and 4 F more to go back through it. (Calls recompute values that are
 * not kept; that work is not nominal.) */
static RelnNode *rollout(BenchNet *b)
{
    RelnNode *in[1 + 2 * LAYERS];
    RelnFn *field;

    in[0] = first_input(b, (RelnDims){.c = b->c->channels}, NULL);
    field_weights(b, in + 1);
    field = field_function(b, in + 1);
    b->flops *= RK4_STEPS * 4 * (b->pass == BENCH_FORWARD ? 2 : 6);
    for (int i = 0; i < RK4_STEPS && field; i++)
        in[0] = rk4_step(b->net.graph, field, in, 0.1);
    return in[0];
}

/* ---- the sweep over n ------------------------------------------------------------------------------------------- */

enum { BUDGET = 2304, SWEEP_FROM = 2, SWEEP_TO = 8 };

int bench_sweep_channels(int n)
{
    return BUDGET / (n * n);
}

/* With M channels of K = n^2 coordinates: five products of M x M on K rows; one bracket of 2 n^3 - 2 n structure
 * constants and two forms of 2 n^2 - n entries, three operations each for every channel. */
void bench_sweep_flops(int n, double *products, double *total)
{
    const double M = bench_sweep_channels(n), K = (double)n * n;
    const double bracket = 2.0 * n * n * n - 2.0 * n, form = 2.0 * n * n - n;

    *products = 5 * 2 * K * M * M;
    *total = *products + 3 * M * (bracket + 2 * form);
}

static const BenchRow *sweep_row(const BenchResult *result, int n)
{
    char name[16];

    snprintf(name, sizeof name, "gln/%d", n);
    for (int i = 0; i < result->n_rows; i++) {
        const BenchRow *row = &result->rows[i];

        if (row->threads == 1 && row->pass == BENCH_FORWARD && strcmp(row->name, name) == 0)
            return row;
    }
    return NULL;
}

int bench_scaling(const BenchResult *result, BenchScaling *out, int room)
{
    const BenchRow *base = sweep_row(result, SWEEP_FROM);
    double products0, total0, products, total;
    int count = 0;

    bench_sweep_flops(SWEEP_FROM, &products0, &total0);
    for (int n = SWEEP_FROM; base && n <= SWEEP_TO && count < room; n++) {
        const BenchRow *row = sweep_row(result, n);

        if (!row)
            continue;
        bench_sweep_flops(n, &products, &total);
        out[count++] = (BenchScaling){n, bench_sweep_channels(n), products / products0,
                                      total / total0, row->seconds.median / base->seconds.median};
    }
    return count;
}

/* ---- the list --------------------------------------------------------------------------------------------------- */

static const BenchCase fixed[] = {
    {.name = "sp4",
     .algebra = "sp:4",
     .points = 1,
     .channels = 2,
     .width = 256,
     .batches = {1, 10, 100, 1000},
     .build = regression,
     .loss = bench_loss_squares},
    {.name = "platonic",
     .algebra = "sl:3",
     .points = 12,
     .channels = 3,
     .width = 256,
     .batches = {1, 10, 100},
     .build = platonic,
     .loss = bench_loss_classes},
    {.name = "mlp",
     .algebra = "so:3",
     .channels = 20,
     .width = 256,
     .batches = {1, 10, 100, 1000},
     .build = mlp,
     .loss = bench_loss_squares},
    {.name = "hnn",
     .algebra = "so:3",
     .channels = 12,
     .width = 128,
     .batches = {1, 500},
     .build = hnn,
     .loss = bench_loss_squares},
    {.name = "rollout",
     .algebra = "so:3",
     .channels = 12,
     .width = 128,
     .batches = {10, 500},
     .build = rollout,
     .loss = bench_loss_squares},
};
enum { N_FIXED = sizeof fixed / sizeof fixed[0] };

static BenchCase sweep(const char *family, int number, const char *algebra, int channels, int width)
{
    BenchCase c = {.algebra = algebra,
                   .points = 1,
                   .channels = channels,
                   .width = width,
                   .batches = {100},
                   .build = regression,
                   .loss = bench_loss_squares};

    snprintf(c.name, sizeof c.name, "%s/%d", family, number);
    return c;
}

int bench_network_cases(BenchCase *out, int room)
{
    static const char *const gl[] = {"gl:2", "gl:3", "gl:4", "gl:5", "gl:6", "gl:7", "gl:8"};
    int count = 0;

    for (int i = 0; i < N_FIXED && count < room; i++)
        out[count++] = fixed[i];
    for (int width = 16; width <= 512 && count < room; width *= 2)
        out[count++] = sweep("gl3", width, "gl:3", 2, width);
    for (int n = SWEEP_FROM; n <= SWEEP_TO && count < room; n++)
        out[count++] =
            sweep("gln", n, gl[n - SWEEP_FROM], bench_sweep_channels(n), bench_sweep_channels(n));
    return count;
}
