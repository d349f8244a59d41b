/* four_vectors.c -- a network on four-momenta as vectors, and one on the smallest matrices that contain them;
 * both are boosted. */
#include <math.h>
#include <reln/reln.h>
#include <stdio.h>

enum { POINTS = 8, K = 4, C = 8 };
static double p[2][POINTS][K]; /* momenta, and the same momenta boosted */

/* Draws massless particles: B(p, p) = 0 for each, but not B(p, q) for pairs. */
static int draw(RelnGroup *lorentz)
{
    RelnRng rng = reln_rng(/*seed=*/2, /*stream=*/0);
    RelnElement *boost = NULL;

    if (reln_group_random(lorentz, &rng, /*cond=*/100, &boost))
        return 1;
    for (int i = 0; i < POINTS; i++) {
        for (int k = 1; k < K; k++)
            p[0][i][k] = reln_rng_normal(&rng);
        p[0][i][0] =
            sqrt(p[0][i][1] * p[0][i][1] + p[0][i][2] * p[0][i][2] + p[0][i][3] * p[0][i][3]);
        for (int k = 0; k < K * K; k++)
            p[1][i][k / K] += reln_element_matrix(boost)[k] * p[0][i][k % K];
    }
    reln_element_destroy(boost);
    return 0;
}

int main(void)
{
    double unit[4][4] = {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}}, lifted[4][5][5], y[2];
    RelnPlan *plan = NULL;
    RelnSetting s, closed;

    if (reln_setting_init(&s, "lorentz", NULL, RELN_F64, /*seed=*/1) || draw(s.group))
        return 1;

    /* No algebra: the solver finds the form of the vector rep, the Minkowski metric. */
    RelnNet net = {.graph = s.graph};
    RelnNode *x = reln_input(s.graph, "p", RELN_SAMPLES, (RelnDims){.p = POINTS, .k = K},
                             reln_rep_vector(s.group), RELN_DEFAULT);
    RelnNode *h = reln_nn_linear(&net, "in", x, C);
    h = reln_nn_attention(&net, "look", (RelnFeatures){.x = h}, 2).x;
    h = reln_nn_layer_norm(&net, "norm", reln_nn_rms(&net, "gate", h, NULL));
    h = reln_nn_invariant_learned(&net, "pairs", reln_nn_pool_mean(&net, h, RELN_P), 4);
    reln_output(s.graph, "y", reln_nn_dense(&net, "out", h, 1));
    if (reln_plan_create(s.graph, NULL, &plan) || reln_plan_bind(plan, "p", p, RELN_F64) ||
        reln_plan_run(plan, &(RelnRun){.n_samples = 2}))
        return 1; /* reln_ctx_error(s.ctx) has the reason */
    y[0] = ((const double *)reln_plan_output(plan, "y", NULL))[0];
    y[1] = ((const double *)reln_plan_output(plan, "y", NULL))[1];
    printf("f(p) = %.12f, boosted off by %.1e\n", y[0], fabs(y[1] - y[0]));
    reln_plan_destroy(plan);

    /* For brackets, momenta are matrices of size 5, and span 10 of their 25 dimensions: so(3,2). */
    const RelnClosing of = {.count = 4, .matrices = &lifted[0][0][0]};
    if (reln_lift_embed(s.ctx, 4, reln_metric_mostly_plus, 4, &unit[0][0], &lifted[0][0][0]) ||
        reln_setting_init_closed(&closed, s.ctx, "lorentz", 5, &of, RELN_F64, /*seed=*/1))
        return 1;
    printf("lifted momenta close in %d of 25 dimensions\n", reln_algebra_dim(closed.algebra));
    const int dim = reln_algebra_dim(closed.algebra);
    reln_setting_clear(&closed);
    reln_setting_clear(&s);
    return fabs(y[1] - y[0]) < 1e-9 * fabs(y[0]) && dim == 10 ? 0 : 1;
}
