/* first_network.c -- learns a function of a 3 x 3 matrix that does not depend on the frame, and checks that
 * it does not. */
#include <math.h>
#include <reln/reln.h>
#include <stdio.h>

enum { N = 256, K = 9, STEPS = 300 };
static double x[N + 1][K], y[N + 1], frame[K], ad[K * K], last, off;

int main(void)
{
    RelnRng rng = reln_rng(/*seed=*/1, /*stream=*/0);
    RelnPlan *plan = NULL;
    RelnSetting s;

    if (reln_setting_init(&s, "gl:3", "gl:3", RELN_F64, /*seed=*/1) ||
        reln_algebra_random_group(s.algebra, &rng, /*cond=*/10, frame, NULL, NULL) ||
        reln_algebra_adjoint(s.algebra, frame, ad))
        return 1;
    for (int i = 0; i < N * K; i++)
        x[i / K][i % K] = 0.5 * reln_rng_normal(&rng);
    for (int i = 0; i < K * K; i++)
        x[N][i / K] += ad[i] * x[0][i % K]; /* the last X is the first one in another frame */
    for (int n = 0; n <= N; n++)            /* y = tr X + B(X,X)/6 */
        y[n] = x[n][0] + x[n][4] + x[n][8] + reln_algebra_form(s.algebra, x[n], x[n]) / 6;
    RelnNet net = {.graph = s.graph, .algebra = s.algebra, .train = true};
    RelnNode *X = reln_input(s.graph, "X", RELN_SAMPLES, (RelnDims){.k = K}, s.rep, RELN_DEFAULT);
    RelnNode *Y = reln_input(s.graph, "Y", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_DEFAULT);
    RelnNode *h = reln_nn_affine(&net, "one", (RelnFeatures){.x = X}, 16, 0).x;
    h = reln_nn_dense(&net, "out", reln_nn_invariant(&net, reln_nn_rms(&net, "one", h, NULL)), 1);
    RelnNode *loss = reln_batch_mean(s.graph, reln_square(s.graph, reln_sub(s.graph, h, Y)));
    reln_adam_all(s.graph, NULL, reln_scalar(s.graph, 1e-2), loss);
    reln_output(s.graph, "loss", loss);
    reln_output(s.graph, "out", h);
    if (reln_plan_create(s.graph, NULL, &plan) ||
        reln_plan_bind_sized(plan, "X", x, RELN_F64, (N + 1) * K) ||
        reln_plan_bind_sized(plan, "Y", y, RELN_F64, N + 1))
        return 1; /* reln_ctx_error(s.ctx) has the reason */
    for (uint64_t t = 0; t < STEPS; t++) {
        if (reln_plan_run(plan, &(RelnRun){.n_samples = N + 1, .step = t}))
            return 1;
        const double *out = reln_plan_output(plan, "out", NULL);
        last = *(const double *)reln_plan_output(plan, "loss", NULL);
        off = fabs(out[N] - out[0]);
        if (t % 100 == 0 || t == STEPS - 1)
            printf("step %3d  loss %.6f  f(X) off by %.1e in another frame\n", (int)t, last, off);
    }
    reln_plan_destroy(plan);
    reln_setting_clear(&s);
    return last < 1e-3 && off < 1e-12 ? 0 : 1;
}
