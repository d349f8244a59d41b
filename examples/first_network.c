/* first_network.c -- learn a function of a 3 x 3 matrix that no change of frame alters, and see that none does. */
#include <math.h>
#include <reln/reln.h>
#include <stdio.h>

enum { N = 256, K = 9, STEPS = 300 };
static double x[N][K], y[N], rate = 1e-2, frame[K], ad[K * K], moved[K], loss[2], out[2];

int main(void)
{
    RelnRng rng = reln_rng(/*seed=*/1, /*stream=*/0);
    RelnCtx *ctx = NULL;
    RelnAlgebra *gl3 = NULL;
    RelnGroup *group = NULL;
    RelnStore *store = NULL;
    RelnGraph *g = NULL;
    RelnPlan *plan = NULL;

    if (reln_ctx_create(NULL, &ctx) || reln_algebra_create(ctx, "gl:3", &gl3) ||
        reln_group_create(ctx, "gl:3", &group) || reln_store_create(ctx, 1, &store) ||
        reln_graph_create(group, store, RELN_F64, &g) ||
        reln_algebra_random_group(gl3, &rng, /*cond=*/10, frame, NULL, NULL) ||
        reln_algebra_adjoint(gl3, frame, ad))
        return 1;
    for (int i = 0; i < N * K; i++)
        x[i / K][i % K] = 0.5 * reln_rng_normal(&rng);
    for (int n = 0; n < N; n++) /* y = tr X + B(X,X)/6 */
        y[n] = x[n][0] + x[n][4] + x[n][8] + reln_algebra_form(gl3, x[n], x[n]) / 6;
    for (int i = 0; i < K * K; i++)
        moved[i / K] += ad[i] * x[0][i % K]; /* the first X in another frame */

    RelnNet net = {.graph = g, .algebra = gl3, .train = true};
    RelnNode *X = reln_input(g, "X", RELN_SAMPLES, (RelnDims){.k = K}, reln_rep_adjoint(group, gl3),
                             RELN_DEFAULT);
    RelnNode *Y = reln_input(g, "Y", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_DEFAULT);
    RelnNode *h = reln_nn_affine(&net, "one", (RelnFeatures){.x = X}, 16, 0).x;
    h = reln_nn_invariant(&net, reln_nn_rms(&net, "one", h, NULL));
    h = reln_nn_dense(&net, "out", h, 1);
    RelnNode *error = reln_batch_mean(g, reln_square(g, reln_sub(g, h, Y)));
    reln_adam_all(g, NULL, reln_input(g, "rate", RELN_STEP, (RelnDims){0}, NULL, 0), error);
    reln_output(g, "error", error);
    reln_output(g, "out", h);
    if (reln_plan_create(g, NULL, &plan) || reln_plan_bind(plan, "X", x, RELN_F64) ||
        reln_plan_bind(plan, "Y", y, RELN_F64) || reln_plan_bind(plan, "rate", &rate, RELN_F64))
        return 1; /* and reln_ctx_error(ctx) says why */
    for (uint64_t t = 0; t <= STEPS; t++) {
        rate = t < STEPS ? 1e-2 : 0; /* the last run only looks */
        if (reln_plan_run(plan, &(RelnRun){.n_samples = N, .step = t}))
            return 1;
        loss[t > 0] = *(const double *)reln_plan_output(plan, "error", NULL);
        if (t % 100 == 0)
            printf("step %3d  loss %.6f\n", (int)t, loss[t > 0]);
    }
    for (int i = 0; i < 2; i++) {
        if (reln_plan_bind(plan, "X", i ? moved : x[0], RELN_F64) ||
            reln_plan_run(plan, &(RelnRun){.n_samples = 1, .step = STEPS}))
            return 1;
        out[i] = *(const double *)reln_plan_output(plan, "out", NULL);
    }
    printf("f(X) = %.6f, off by %.1e in another frame\n", out[0], fabs(out[1] - out[0]));
    reln_plan_destroy(plan);
    reln_graph_destroy(g);
    reln_store_destroy(store);
    reln_group_destroy(group);
    reln_algebra_destroy(gl3);
    reln_ctx_destroy(ctx);
    return loss[1] < 0.05 * loss[0] && fabs(out[1] - out[0]) < 1e-12 ? 0 : 1;
}
