/* bench_layers.c -- Linear(256), ReLU, Linear(256), Bracket on gl(3), batch 100, one thread: forward, and forward and
 * backward, as a share of the machine's own sgemm. */
#include "bench.h"

enum { BATCH = 100, K = 9, C = 256, MIXES = 5 };

typedef struct Net {
    RelnSetting in;
    RelnPlan *plan;
    float *x;
} Net;

static RelnNode *layers(const RelnNet *net, RelnNode *x)
{
    RelnNode *h = reln_nn_relu(net, "one", reln_nn_linear(net, "one", x, C), NULL);

    return reln_nn_bracket(net, "two", reln_nn_linear(net, "two", h, C));
}

/* The gradient of a sum of invariants: all weights, and x as for a layer below. */
static void add_gradients(Net *s, RelnNode *loss, RelnNode *x)
{
    RelnNode *of[MIXES + 1] = {x}, *grads[MIXES + 1];
    char name[8];

    for (int i = 0; i < MIXES; i++) {
        const RelnEntryInfo entry = reln_store_entry(s->in.store, i);

        of[1 + i] =
            reln_param(s->in.graph, entry.name, entry.dims, (RelnInit){RELN_INIT_CONSTANT, 0});
    }
    reln_grad(s->in.graph, loss, MIXES + 1, of, grads);
    for (int i = 0; i <= MIXES; i++) {
        snprintf(name, sizeof name, "g%d", i);
        reln_output(s->in.graph, name, grads[i]);
    }
}

static void build(Net *s, bool backward)
{
    RelnNet net = {.train = true};
    RelnNode *x, *y;

    net.graph = s->in.graph;
    net.algebra = s->in.algebra;
    x = reln_input(s->in.graph, "x", RELN_SAMPLES, (RelnDims){.k = K, .c = C}, s->in.rep,
                   RELN_DEFAULT);
    y = layers(&net, x);
    if (backward) {
        y = reln_batch_mean(s->in.graph, reln_sum(s->in.graph, reln_nn_invariant(&net, y), RELN_C));
        add_gradients(s, y, x);
    }
    reln_output(s->in.graph, "y", y);
    BENCH_TRY(s->in.ctx, reln_plan_create(s->in.graph, NULL, &s->plan));
    BENCH_TRY(s->in.ctx, reln_plan_bind(s->plan, "x", s->x, RELN_F32));
}

static void run(void *user)
{
    Net *s = user;

    BENCH_TRY(s->in.ctx, reln_plan_run(s->plan, &(RelnRun){.n_samples = BATCH}));
}

static void report(Net *s, bool backward)
{
    const double flops = (backward ? 3.0 : 1.0) * MIXES * 2.0 * BATCH * K * C * C;
    double start, made, rate, best;

    BENCH_TRY(s->in.ctx, reln_setting_init(&s->in, "gl:3", "gl:3", RELN_F32, 1));
    start = seconds();
    build(s, backward);
    made = seconds() - start;
    run(s);
    best = against_sgemm(run, s, 60, &rate);
    printf("%-21s %6.2f ms, %5.1f GFLOP/s in matrix products = %.2f of sgemm (%.1f); build+plan "
           "%.2f ms\n",
           backward ? "forward and backward:" : "forward:", 1e3 * best, flops / best * 1e-9,
           flops / best / rate, rate * 1e-9, 1e3 * made);
    reln_plan_destroy(s->plan);
    reln_setting_clear(&s->in);
}

int main(void)
{
    Net s = {0};
    RelnRng rng = reln_rng(1, 0);

    s.x = calloc((size_t)BATCH * K * C, sizeof *s.x);
    for (int i = 0; i < BATCH * K * C; i++)
        s.x[i] = 0.1f * (float)reln_rng_normal(&rng);
    printf("Linear(256) - ReLU - Linear(256) - Bracket on gl(3), batch 100, one thread\n");
    report(&s, false);
    report(&s, true);
    free(s.x);
    return 0;
}
