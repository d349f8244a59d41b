/* bench_contract.c -- contract for the bracket of gl(3) against the time that moving its operands takes. */
#include "bench.h"

enum { ITEMS = 12, C = 256, K = 9 };

typedef struct Work {
    RelnCtx *ctx;
    RelnPlan *plan;
    float *x, *y, *z;
} Work;

static void run(void *user)
{
    Work *w = user;

    BENCH_TRY(w->ctx, reln_plan_run(w->plan, &(RelnRun){.n_samples = ITEMS}));
}

/* What any kernel must do: read two operands and write one, element by element. */
static void traffic(void *user)
{
    const Work *w = user;

    for (int i = 0; i < ITEMS * K * C; i++)
        w->z[i] = w->x[i] + w->y[i];
}

static double best_of(void (*work)(void *), void *user)
{
    double best = 1e9;

    for (int r = 0; r < 2000; r++) {
        const double start = seconds();

        work(user);
        best = seconds() - start < best ? seconds() - start : best;
    }
    return best;
}

/* A chain of brackets, each of the one before it; the difference of two lengths is free of loading. */
static double time_of(Work *w, RelnAlgebra *algebra, RelnGroup *group, int length)
{
    const RelnRep *rep = reln_rep_adjoint(group, algebra);
    RelnGraph *g = NULL;
    RelnNode *x, *y;
    double best;

    BENCH_TRY(w->ctx, reln_graph_create(group, NULL, RELN_F32, &g));
    x = reln_input(g, "x", RELN_SAMPLES, (RelnDims){.k = K, .c = C}, rep, RELN_DEFAULT);
    y = reln_input(g, "y", RELN_SAMPLES, (RelnDims){.k = K, .c = C}, rep, RELN_DEFAULT);
    for (int i = 0; i < length; i++)
        x = reln_bracket(g, algebra, x, y);
    reln_output(g, "z", reln_batch_sum(g, x));
    BENCH_TRY(w->ctx, reln_plan_create(g, &(RelnPlanOptions){.shard = ITEMS}, &w->plan));
    BENCH_TRY(w->ctx, reln_plan_bind(w->plan, "x", w->x, RELN_F32));
    BENCH_TRY(w->ctx, reln_plan_bind(w->plan, "y", w->y, RELN_F32));
    best = best_of(run, w);
    reln_plan_destroy(w->plan);
    reln_graph_destroy(g);
    return best;
}

int main(void)
{
    Work w = {0};
    RelnAlgebra *gl3 = NULL;
    RelnGroup *group = NULL;
    RelnRng rng = reln_rng(1, 0);
    double moving, bracket;

    if (reln_ctx_create(NULL, &w.ctx) != RELN_OK)
        return 1;
    BENCH_TRY(w.ctx, reln_algebra_create(w.ctx, "gl:3", &gl3));
    BENCH_TRY(w.ctx, reln_group_create(w.ctx, "gl:3", &group));
    w.x = calloc((size_t)3 * ITEMS * K * C, sizeof *w.x);
    w.y = w.x + ITEMS * K * C;
    w.z = w.y + ITEMS * K * C;
    for (int i = 0; i < 2 * ITEMS * K * C; i++)
        w.x[i] = (float)reln_rng_normal(&rng) * 0.1f;
    moving = best_of(traffic, &w);
    bracket = (time_of(&w, gl3, group, 9) - time_of(&w, gl3, group, 1)) / 8;
    printf("gl(3) bracket, %d items of %d channels, f32: %.1f us, %.1f GFLOP/s; moving the "
           "operands takes %.1f us: %.2f "
           "of the floor\n",
           ITEMS, C, 1e6 * bracket, 3.0 * 48 * ITEMS * C / bracket * 1e-9, 1e6 * moving,
           moving / bracket);
    free(w.x);
    reln_group_destroy(group);
    reln_algebra_destroy(gl3);
    reln_ctx_destroy(w.ctx);
    return 0;
}
