/* hessian_vector.c -- gradients are graphs, so they have gradients: H v of a network, against differences. */
#include <math.h>
#include <reln/reln.h>
#include <stdio.h>
#include <string.h>

enum { K = 3, C = 4, N = K * C }; /* four elements of so(3) */

int main(void)
{
    RelnRng rng = reln_rng(/*seed=*/1, /*stream=*/0);
    double x[N], v[N], at[N], slope[2][N], hv[N], worst = 0, h = 1e-5;
    RelnCtx *ctx = NULL;
    RelnAlgebra *so3 = NULL;
    RelnGroup *group = NULL;
    RelnStore *store = NULL;
    RelnGraph *g = NULL;
    RelnPlan *plan = NULL;
    RelnNode *df, *Hv;

    if (reln_ctx_create(NULL, &ctx) || reln_algebra_create(ctx, "so:3", &so3) ||
        reln_group_create(ctx, "so:3", &group) || reln_store_create(ctx, 1, &store) ||
        reln_graph_create(group, store, RELN_F64, &g))
        return 1;
    RelnNet net = {.graph = g, .algebra = so3};
    const RelnRep *adjoint = reln_rep_adjoint(group, so3);
    RelnNode *X = reln_input(g, "x", RELN_SAMPLES, (RelnDims){.k = K, .c = C}, adjoint, 0);
    RelnNode *V = reln_input(g, "v", RELN_SAMPLES, (RelnDims){.k = K, .c = C}, adjoint, 0);
    RelnNode *y = reln_nn_bracket(&net, "two", reln_nn_gate(&net, "one", X, NULL, 8));
    RelnNode *f = reln_sum_all(g, reln_tanh(g, reln_nn_invariant(&net, y)));
    reln_grad(g, f, 1, &X, &df);                                    /* df/dx */
    reln_grad(g, reln_sum_all(g, reln_pair(g, df, V)), 1, &X, &Hv); /* d<df/dx, v>/dx */
    reln_output(g, "df", df);
    reln_output(g, "Hv", Hv);
    for (int i = 0; i < N; i++) {
        x[i] = reln_rng_normal(&rng) / 2;
        v[i] = reln_rng_normal(&rng);
    }
    if (reln_plan_create(g, NULL, &plan) || reln_plan_bind(plan, "x", at, RELN_F64) ||
        reln_plan_bind(plan, "v", v, RELN_F64))
        return 1; /* and reln_ctx_error(ctx) says why */
    for (int s = -1; s <= 1; s++) {
        for (int i = 0; i < N; i++)
            at[i] = x[i] + s * h * v[i];
        if (reln_plan_run(plan, &(RelnRun){.n_samples = 1}))
            return 1;
        memcpy(s ? slope[s > 0] : hv, reln_plan_output(plan, s ? "df" : "Hv", NULL), sizeof hv);
    }
    for (int i = 0; i < N; i++)
        worst = fmax(worst, fabs((slope[1][i] - slope[0][i]) / (2 * h) - hv[i]));
    printf("H v = (%.6f, %.6f, ...), off by %.1e from differences\n", hv[0], hv[1], worst);
    reln_plan_destroy(plan);
    reln_graph_destroy(g);
    reln_store_destroy(store);
    reln_group_destroy(group);
    reln_algebra_destroy(so3);
    reln_ctx_destroy(ctx);
    return worst < 1e-7 ? 0 : 1; /* h^2 of truncation, 1e-16/h of rounding */
}
