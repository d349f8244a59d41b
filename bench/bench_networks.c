/* bench_networks.c -- whole networks, forward and training step, as a share of the machine's own sgemm.
 *
 *     bench_networks [name [threads [repeats [pass [shard]]]]]    a name that begins with this; all of them without one
 *
 * Share: nominal operations of the dense network / time / (threads x sgemm's rate on one thread). One thread is timed on
 * the processor, more on the wall; the median of runs, each beside its own sgemm. */
#include <string.h>

#include "bench.h"

typedef enum Shape { SP4, PLATONIC, PLAIN, MLP, FIELD, ROLLOUT } Shape;

typedef struct Case {
    const char *name;
    Shape shape;
    const char *algebra;
    int k, points, in, width, batch, depth;
    double forward, train; /* nominal operations; 0: those of the plan */
} Case;

static const Case cases[] = {
    {"sp4", SP4, "sp:4", 10, 1, 2, 256, 100, 0, 0.52e9, 1.57e9},
    {"sp4-1000", SP4, "sp:4", 10, 1, 2, 256, 1000, 0, 5.2e9, 15.7e9},
    {"platonic", PLATONIC, "sl:3", 8, 12, 3, 256, 100, 0, 6.3e9, 16.4e9},
    {"gl3-256", PLAIN, "gl:3", 9, 1, 256, 256, 100, 0, 0, 0},
    {"gl3-64", PLAIN, "gl:3", 9, 1, 64, 64, 100, 0, 0, 0},
    {"gl3-32", PLAIN, "gl:3", 9, 1, 32, 32, 100, 0, 0, 0},
    {"gl3-16", PLAIN, "gl:3", 9, 1, 16, 16, 100, 0, 0, 0},
    {"mlp-256", MLP, "so:3", 1, 1, 20, 256, 100, 2, 0, 0},
    {"one-sp4", SP4, "sp:4", 10, 1, 2, 256, 1, 0, 0.0052e9, 0.0157e9},
    {"one-field", FIELD, "so:3", 1, 1, 12, 128, 1, 3, 0, 0},
    {"one-deep", FIELD, "so:3", 1, 1, 28, 128, 1, 5, 0, 0},
    {"field-500", FIELD, "so:3", 1, 1, 12, 128, 500, 3, 0, 0},
    {"rollout", ROLLOUT, "so:3", 1, 1, 12, 128, 500, 3, 0, 0},
};
enum { CASES = sizeof cases / sizeof *cases, M = 1008 };

typedef struct Net {
    RelnSetting in;
    RelnPool *pool;
    RelnPlan *plan;
    const Case *of;
    float *x, *y, rate;
    int shard;
} Net;

/* J grad H of an MLP H, as a function of the state and of the weights and biases that are given. */
static RelnFn *field(RelnGraph *g, const Case *c, int n, RelnNode *const *weights)
{
    RelnGraph *b = reln_fn_begin(g, "field");
    RelnNode *w[16], *z, *h, *grad = NULL;
    double j[32 * 32] = {0};

    z = h = reln_argument(b, RELN_SAMPLES, (RelnDims){.c = c->in}, NULL, RELN_DEFAULT);
    for (int i = 0; i < n; i++)
        w[i] = reln_argument(b, RELN_STEP, reln_node_dims(weights[i]), NULL, RELN_DEFAULT);
    for (int i = 0; i < n; i += 2) {
        h = reln_add(b, reln_mix(b, h, w[i]), w[i + 1]);
        h = i + 2 < n ? reln_mul(b, h, reln_sigmoid(b, h)) : h;
    }
    reln_grad(b, h, 1, &z, &grad);
    for (int i = 0; i < c->in / 2; i++) {
        j[(i + c->in / 2) * c->in + i] = 1.0;
        j[i * c->in + i + c->in / 2] = -1.0;
    }
    grad = reln_mix(b, grad, reln_const(b, (RelnDims){.r = c->in, .c = c->in}, NULL, j));
    return reln_fn_end(b, 1, &grad);
}

/* 32 evaluations of the field, in eight steps of RK4. */
static RelnNode *rollout(RelnGraph *g, const Case *c, RelnNode *z)
{
    static const double ahead[4] = {0.0, 0.5, 0.5, 1.0},
                        share[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    const double step = 0.1;
    RelnNode *in[17];
    char name[16];
    RelnFn *fn;
    int n = 0;

    for (int i = 0; i <= c->depth; i++) {
        const int from = i ? c->width : c->in, to = i < c->depth ? c->width : 1;

        snprintf(name, sizeof name, "w%d", i);
        in[1 + n++] =
            reln_param(g, name, (RelnDims){.r = from, .c = to}, (RelnInit){RELN_INIT_UNIFORM, 0.1});
        snprintf(name, sizeof name, "b%d", i);
        in[1 + n++] = reln_param(g, name, (RelnDims){.c = to}, (RelnInit){RELN_INIT_UNIFORM, 0.1});
    }
    fn = field(g, c, n, in + 1);
    for (int i = 0; i < 8; i++) {
        RelnNode *k = NULL, *sum = z;

        for (int j = 0; j < 4; j++) {
            in[0] = j ? reln_add(g, z, reln_scale(g, k, step * ahead[j])) : z;
            if (!reln_call(g, fn, n + 1, in, &k))
                return NULL;
            sum = reln_add(g, sum, reln_scale(g, k, step * share[j]));
        }
        z = sum;
    }
    return z;
}

static RelnNode *body(const RelnNet *net, const Case *c, RelnNode *x)
{
    RelnNode *h;

    if (c->shape == ROLLOUT)
        return rollout(net->graph, c, x);
    if (c->shape == MLP || c->shape == FIELD)
        return reln_nn_mlp(net, "mlp", x, &(RelnMlp){c->depth, c->width, 1, RELN_ACT_SILU});
    h = reln_nn_relu(net, "one", reln_nn_linear(net, "one", x, c->width), NULL);
    h = reln_nn_bracket(net, "two", reln_nn_linear(net, "two", h, c->width));
    if (c->shape == PLATONIC)
        h = reln_nn_pool_max(net, "pool", h, RELN_P, false);
    h = reln_nn_invariant(net, h);
    return c->shape == PLATONIC ? reln_nn_linear(net, "out", h, 3)
                                : reln_nn_dense(net, "out", h, 1);
}

/* Mean squares, or for three classes the cross entropy of the first. */
static RelnNode *loss_of(RelnGraph *g, const Case *c, RelnNode *y, RelnNode *target)
{
    if (c->shape == PLATONIC)
        return reln_batch_mean(g, reln_sub(g, reln_logsumexp(g, y, RELN_C),
                                           reln_sum(g, reln_mul(g, y, target), RELN_C)));
    return reln_batch_mean(g, reln_sum(g, reln_square(g, reln_sub(g, y, target)), RELN_C));
}

static void build(Net *s, bool train)
{
    const Case *c = s->of;
    RelnGraph *g = s->in.graph;
    const RelnNet net = {.graph = g, .algebra = s->in.algebra, .train = true};
    const bool invariant = c->shape >= MLP;
    RelnNode *x =
        reln_input(g, "x", RELN_SAMPLES, (RelnDims){.p = c->points, .k = c->k, .c = c->in},
                   invariant ? NULL : s->in.rep, RELN_DEFAULT);
    RelnNode *y = body(&net, c, x), *grad = NULL;

    if (c->shape == FIELD) {
        reln_grad(g, y, 1, &x, &grad);
        reln_output(g, "h", y);
        y = grad;
    }
    reln_output(g, "y", y);
    if (train) {
        RelnNode *target = reln_input(g, "target", RELN_SAMPLES,
                                      (RelnDims){.c = c->shape == PLATONIC ? 3
                                                      : c->shape >= FIELD  ? c->in
                                                                           : 1},
                                      NULL, RELN_DEFAULT);
        RelnNode *rate = reln_input(g, "rate", RELN_STEP, (RelnDims){0}, NULL, RELN_DEFAULT);

        reln_adam_all(g, NULL, rate, loss_of(g, c, y, target));
    }
    BENCH_TRY(s->in.ctx, reln_plan_create(g, &(RelnPlanOptions){.pool = s->pool, .shard = s->shard},
                                          &s->plan));
    BENCH_TRY(s->in.ctx, reln_plan_bind(s->plan, "x", s->x, RELN_F32));
    if (!train)
        BENCH_TRY(s->in.ctx, reln_plan_freeze(s->plan));
    if (train) {
        BENCH_TRY(s->in.ctx, reln_plan_bind(s->plan, "target", s->y, RELN_F32));
        BENCH_TRY(s->in.ctx, reln_plan_bind(s->plan, "rate", &s->rate, RELN_F32));
    }
}

static double clock_of(bool wall)
{
    struct timespec now;

    clock_gettime(wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[n / 2];
}

static double run_once(Net *s, bool wall, int times, uint64_t *step)
{
    const double start = clock_of(wall);

    for (int i = 0; i < times; i++)
        BENCH_TRY(s->in.ctx,
                  reln_plan_run(s->plan, &(RelnRun){.n_samples = s->of->batch, .step = (*step)++}));
    return (clock_of(wall) - start) / times;
}

static double sgemm_rate(float *a, bool wall)
{
    const double start = clock_of(wall);

    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, M, 256, 256, 1.0f, a, 256, a + M * 256,
                256, 0.0f, a + M * 256 + 65536, 256);
    return 2.0 * M * 256 * 256 / (clock_of(wall) - start);
}

static void measure(Net *s, bool train, int threads, int repeats)
{
    enum { MOST = 400 };
    static double times[MOST], rates[MOST], ratios[MOST];
    float *a = calloc(2 * M * 256 + 65536, sizeof *a);
    const bool wall = threads > 1;
    uint64_t step = 0;
    int inner = 1;
    double start = clock_of(true), made, once, best, flops;
    RelnCost cost;

    BENCH_TRY(s->in.ctx, reln_setting_init(&s->in, s->of->algebra, NULL, RELN_F32, 1));
    if (threads > 1)
        BENCH_TRY(s->in.ctx, reln_pool_create(s->in.ctx, threads, &s->pool));
    start = clock_of(false);
    build(s, train);
    made = clock_of(false) - start;
    cost = reln_plan_cost(s->plan);
    flops = train ? s->of->train : s->of->forward;
    flops = flops > 0.0 ? flops : cost.flops_sample * s->of->batch;
    for (int i = 0; i < M * 256 + 65536; i++)
        a[i] = (float)(i % 17) - 8.0f;
    run_once(s, wall, 2, &step);
    once = run_once(s, wall, 2, &step);
    while (inner * once < 1e-3)
        inner *= 2;
    for (int r = 0; r < repeats; r++) {
        times[r] = run_once(s, wall, inner, &step);
        rates[r] = sgemm_rate(a, false);
        ratios[r] = flops / times[r] / rates[r] / threads;
    }
    once = median(times, repeats);
    best = times[0];
    printf("%-10s %-7s %d thr: %9.1f us (best %9.1f), %6.1f GF/s, sgemm %5.1f, share %.3f; made in "
           "%.1f ms, %d instr, shard %d, worker %zu kB, shared %zu kB\n",
           s->of->name, train ? "train" : "forward", threads, 1e6 * once, 1e6 * best,
           flops / once * 1e-9, 1e-9 * median(rates, repeats), median(ratios, repeats), 1e3 * made,
           cost.instructions, cost.shard, cost.bytes_worker / 1024, cost.bytes_shared / 1024);
    fflush(stdout);
    reln_plan_destroy(s->plan);
    reln_pool_destroy(s->pool);
    s->pool = NULL;
    reln_setting_clear(&s->in);
    free(a);
}

int main(int argc, char **argv)
{
    Net s = {.rate = 1e-6f};
    RelnRng rng = reln_rng(1, 0);
    const size_t most = 1000 * 20 + 100 * 12 * 24 + 100 * 9 * 256;
    const int threads = argc > 2 ? atoi(argv[2]) : 0, repeats = argc > 3 ? atoi(argv[3]) : 21;
    const char *pass = argc > 4 ? argv[4] : "";

    s.shard = argc > 5 ? atoi(argv[5]) : 0;
    openblas_set_num_threads(1);
    s.x = calloc(most, sizeof *s.x);
    s.y = calloc(100000, sizeof *s.y);
    for (size_t i = 0; i < most; i++)
        s.x[i] = 0.1f * (float)reln_rng_normal(&rng);
    for (int i = 0; i < CASES; i++)
        for (int t = 1; t <= 2; t++)
            for (int train = 0; train < 2; train++) {
                if ((threads && t != threads) || (t > 1 && cases[i].batch == 1) ||
                    (argc > 1 && strncmp(cases[i].name, argv[1], strlen(argv[1])) != 0) ||
                    (*pass && (pass[0] == 't') != (train == 1)))
                    continue;
                s.of = &cases[i];
                measure(&s, train == 1, t, repeats);
            }
    free(s.x);
    free(s.y);
    return 0;
}
