/* hessian_vector.c -- gradients are graphs, so they have gradients: computes H v of a network, and compares
 * it with differences. */
#include <math.h>
#include <reln/reln.h>
#include <stdio.h>
#include <string.h>

enum { K = 3, C = 4, N = K * C }; /* four elements of so(3) */

int main(void)
{
    RelnRng rng = reln_rng(/*seed=*/1, /*stream=*/0);
    double x[N], v[N], at[N], slope[2][N], hv[N], worst = 0, h = 1e-5;
    RelnSetting s;
    RelnPlan *plan = NULL;
    RelnNode *df, *Hv;

    if (reln_setting_init(&s, "so:3", NULL, RELN_F64, /*seed=*/1))
        return 1;
    RelnNet net = {.graph = s.graph, .algebra = s.algebra};
    RelnNode *X = reln_input(s.graph, "x", RELN_SAMPLES, (RelnDims){.k = K, .c = C}, s.rep, 0);
    RelnNode *V = reln_input(s.graph, "v", RELN_SAMPLES, (RelnDims){.k = K, .c = C}, s.rep, 0);
    RelnNode *y = reln_nn_bracket(&net, "two", reln_nn_gate(&net, "one", X, NULL, 8));
    RelnNode *f = reln_sum_all(s.graph, reln_tanh(s.graph, reln_nn_invariant(&net, y)));
    reln_grad(s.graph, f, 1, &X, &df); /* df/dx, then d<df/dx, v>/dx */
    reln_grad(s.graph, reln_sum_all(s.graph, reln_pair(s.graph, df, V)), 1, &X, &Hv);
    reln_output(s.graph, "df", df);
    reln_output(s.graph, "Hv", Hv);
    for (int i = 0; i < N; i++) {
        x[i] = reln_rng_normal(&rng) / 2;
        v[i] = reln_rng_normal(&rng);
    }
    if (reln_plan_create(s.graph, NULL, &plan) ||
        reln_plan_bind_sized(plan, "x", at, RELN_F64, N) ||
        reln_plan_bind_sized(plan, "v", v, RELN_F64, N))
        return 1; /* reln_ctx_error(s.ctx) has the reason */
    for (int step = -1; step <= 1; step++) {
        for (int i = 0; i < N; i++)
            at[i] = x[i] + step * h * v[i];
        if (reln_plan_run(plan, &(RelnRun){.n_samples = 1}))
            return 1;
        memcpy(step ? slope[step > 0] : hv, reln_plan_output(plan, step ? "df" : "Hv", NULL),
               sizeof hv);
    }
    for (int i = 0; i < N; i++)
        worst = fmax(worst, fabs((slope[1][i] - slope[0][i]) / (2 * h) - hv[i]));
    printf("H v = (%.6f, %.6f, ...), off by %.1e from differences\n", hv[0], hv[1], worst);
    reln_plan_destroy(plan);
    reln_setting_clear(&s);
    return worst < 1e-7 ? 0 : 1; /* h^2 of truncation, 1e-16/h of rounding */
}
