/* bench_chain.c -- Linear(256), contract, Linear(256) on gl(3), batch 100, one thread: forward and backward as a share
 * of the machine's own sgemm, and what building and planning costs. */
#include "bench.h"

enum { BATCH = 100, C = 256 };

typedef struct Chain {
    RelnSetting in;
    RelnPlan *plan;
    float *x;
} Chain;

static RelnNode *weights(RelnGraph *g, const char *name)
{
    return reln_param(g, name, (RelnDims){.r = C, .c = C},
                      (RelnInit){RELN_INIT_UNIFORM, 1.0 / 16.0});
}

static void build(Chain *s, int shard)
{
    RelnNode *x, *y, *w[2], *grads[3], *loss, *all[3];

    x = reln_input(s->in.graph, "x", RELN_SAMPLES, (RelnDims){.k = 9, .c = C}, s->in.rep,
                   RELN_DEFAULT);
    w[0] = weights(s->in.graph, "w0");
    w[1] = weights(s->in.graph, "w1");
    y = reln_mix(s->in.graph, x, w[0]);
    y = reln_mix(s->in.graph, reln_bracket(s->in.graph, s->in.algebra, y, x), w[1]);
    loss = reln_batch_mean(
        s->in.graph,
        reln_sum(s->in.graph, reln_form(s->in.graph, s->in.algebra, RELN_FORM_COMPLETED, y, y),
                 RELN_C));
    all[0] = w[0];
    all[1] = w[1];
    all[2] = x;
    reln_grad(s->in.graph, loss, 3, all, grads);
    reln_output(s->in.graph, "loss", loss);
    reln_output(s->in.graph, "g0", grads[0]);
    reln_output(s->in.graph, "g1", grads[1]);
    reln_output(s->in.graph, "gx", grads[2]);
    BENCH_TRY(s->in.ctx,
              reln_plan_create(s->in.graph, &(RelnPlanOptions){.shard = shard}, &s->plan));
    BENCH_TRY(s->in.ctx, reln_plan_bind(s->plan, "x", s->x, RELN_F32));
}

static void run(void *user)
{
    Chain *s = user;

    BENCH_TRY(s->in.ctx, reln_plan_run(s->plan, &(RelnRun){.n_samples = BATCH}));
}

static void report(Chain *s, int shard)
{
    double start, made, rate, best;
    RelnCost cost;
    uint64_t allocations;

    BENCH_TRY(s->in.ctx, reln_setting_init(&s->in, "gl:3", "gl:3", RELN_F32, 1));
    start = seconds();
    build(s, shard);
    made = seconds() - start;
    run(s);
    allocations = reln_ctx_allocations(s->in.ctx);
    best = against_sgemm(run, s, 60, &rate);
    cost = reln_plan_cost(s->plan);
    printf("shard %3d: %7.2f ms, %5.1f GFLOP/s in matrix products = %.2f of sgemm (%.1f); "
           "build+plan %.2f ms, slab %zu "
           "kB, allocations in runs %llu\n",
           cost.shard, 1e3 * best, 6 * 2.0 * BATCH * 9 * C * C / best * 1e-9,
           6 * 2.0 * BATCH * 9 * C * C / best / rate, rate * 1e-9, 1e3 * made,
           cost.bytes_worker / 1024,
           (unsigned long long)(reln_ctx_allocations(s->in.ctx) - allocations));
    reln_plan_destroy(s->plan);
    reln_setting_clear(&s->in);
}

int main(void)
{
    static const int shards[] = {0, 4, 8, 12, 24, 36, 52, 100};
    Chain s = {0};
    RelnRng rng = reln_rng(1, 0);

    s.x = calloc((size_t)BATCH * 9 * C, sizeof *s.x);
    for (int i = 0; i < BATCH * 9 * C; i++)
        s.x[i] = (float)reln_rng_normal(&rng);
    printf("Linear(256) - contract - Linear(256) on gl(3), batch 100, forward and backward, one "
           "thread\n");
    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++)
        report(&s, shards[i]);
    free(s.x);
    return 0;
}
