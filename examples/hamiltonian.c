/* hamiltonian.c -- learns an energy H(q, p) from steps of motion alone. The loss contains dH/dq and dH/dp,
 * and training differentiates it again. H is invariant under rotations, so the learned motion conserves
 * angular momentum, whatever it has learned. */
#include <math.h>
#include <reln/reln.h>
#include <stdio.h>
#include <string.h>

enum { N = 100, Z = 6, STEPS = 1000, LATER = 100 }; /* a state: (x, y, z) of q and p side by side */
static const double h = 0.1;
static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
static double now[N][3][2], next[N][3][2], pace;

/* The true energy: |p|^2/2 + |q|^2/2 + |q|^4/4. */
static double energy(double z[3][2])
{
    double q2 = 0, p2 = 0;

    for (int k = 0; k < 3; k++)
        q2 += z[k][0] * z[k][0], p2 += z[k][1] * z[k][1];
    return p2 / 2 + q2 / 2 + q2 * q2 / 4;
}

/* Moves by a thousand Verlet steps: accurate enough to learn from. */
static void move(double z[3][2])
{
    const double dt = h / 1000;

    for (int t = 0; t < 1000; t++) {
        double q2 = 0;

        for (int k = 0; k < 3; k++) {
            z[k][0] += dt / 2 * z[k][1];
            q2 += z[k][0] * z[k][0];
        }
        for (int k = 0; k < 3; k++) {
            z[k][1] -= dt * (1 + q2) * z[k][0];
            z[k][0] += dt / 2 * z[k][1];
        }
    }
}

static double spin(double z[3][2]) /* the third component of q x p */
{
    return z[0][0] * z[1][1] - z[1][0] * z[0][1];
}

/* (dH/dp, -dH/dq) of a network: lengths and products of mixed vectors, then dense layers. */
static RelnNode *velocity(const RelnNet *net, const RelnRep *vector, RelnNode *z)
{
    RelnGraph *g = net->graph;
    RelnNode *s = reln_nn_invariant(net, reln_nn_linear(net, "mix", z, 12)), *H, *dH, *half[2];

    s = reln_nn_activate(g, RELN_ACT_SILU, reln_nn_dense(net, "hidden", s, 32));
    H = reln_nn_dense(net, "energy", s, 1);
    if (!reln_grad(g, H, 1, &z, &dH))
        return NULL;
    dH = reln_linear_map(g, dH, one, vector); /* converts a covector to a vector, which rotations allow */
    half[0] = reln_slice(g, dH, RELN_C, 1, 1);
    half[1] = reln_scale(g, reln_slice(g, dH, RELN_C, 0, 1), -1);
    return reln_concat(g, 2, half, RELN_C);
}

static RelnNode *ahead(RelnGraph *g, RelnNode *z, double dt, RelnNode *k)
{
    return reln_add(g, z, reln_scale(g, k, dt));
}

/* Builds a step of the Runge-Kutta method. */
static RelnNode *step(const RelnNet *net, const RelnRep *v, RelnNode *z)
{
    RelnGraph *g = net->graph;
    RelnNode *a = velocity(net, v, z), *b = velocity(net, v, ahead(g, z, h / 2, a));
    RelnNode *c = velocity(net, v, ahead(g, z, h / 2, b)), *d = velocity(net, v, ahead(g, z, h, c));

    return ahead(g, ahead(g, z, h / 6, reln_add(g, a, d)), h / 3, reln_add(g, b, c));
}

int main(void)
{
    const RelnDims state = {.k = 3, .c = 2};
    RelnRng rng = reln_rng(/*seed=*/1, /*stream=*/0);
    RelnSetting s;
    RelnGraph *later = NULL; /* a second graph with the same weights, for predicting */
    RelnPlan *training = NULL, *moving = NULL;
    double loss = 0, drift[2] = {0, 0}, z[3][2];

    for (int i = 0; i < N * Z; i++)
        now[i / Z][i % Z / 2][i % 2] = next[i / Z][i % Z / 2][i % 2] = 0.7 * reln_rng_normal(&rng);
    for (int i = 0; i < N; i++)
        move(next[i]);
    if (reln_setting_init(&s, "so:3", NULL, RELN_F64, /*seed=*/1) ||
        reln_graph_create(s.group, s.store, RELN_F64, &later))
        return 1;
    const RelnRep *dual = reln_rep_dual(s.rep); /* covectors */
    RelnNet net = {.graph = s.graph, .algebra = s.algebra, .train = true};
    RelnNode *from = reln_input(s.graph, "now", RELN_SAMPLES, state, s.rep, RELN_DEFAULT);
    RelnNode *to = reln_input(s.graph, "next", RELN_SAMPLES, state, s.rep, RELN_DEFAULT);
    RelnNode *rate = reln_input(s.graph, "rate", RELN_STEP, (RelnDims){0}, NULL, RELN_DEFAULT);
    RelnNode *off = reln_sub(s.graph, step(&net, s.rep, from), to);
    off = reln_sum_all(s.graph, reln_pair(s.graph, off, reln_linear_map(s.graph, off, one, dual)));
    RelnNode *mean = reln_batch_mean(s.graph, off);
    reln_adam_all(s.graph, NULL, rate, mean);
    reln_output(s.graph, "loss", mean);
    net.graph = later;
    from = reln_input(later, "now", RELN_SAMPLES, state, s.rep, RELN_DEFAULT);
    reln_output(later, "next", step(&net, s.rep, from));
    if (reln_plan_create(s.graph, NULL, &training) || reln_plan_create(later, NULL, &moving) ||
        reln_plan_bind_sized(training, "now", now, RELN_F64, N * Z) ||
        reln_plan_bind_sized(training, "next", next, RELN_F64, N * Z) ||
        reln_plan_bind_sized(training, "rate", &pace, RELN_F64, 1) ||
        reln_plan_bind_sized(moving, "now", z, RELN_F64, Z))
        return fprintf(stderr, "%s\n", reln_ctx_error(s.ctx)), 1;
    for (uint64_t t = 0; t <= STEPS; t++) {
        pace = 1e-2 * (1 + cos(acos(-1) * (double)t / STEPS)) / 2;
        if (reln_plan_run(training, &(RelnRun){.n_samples = N, .step = t}))
            return 1;
        loss = *(const double *)reln_plan_output(training, "loss", NULL);
        if (t % 250 == 0)
            printf("step %4d  loss %.2e\n", (int)t, loss);
    }
    memcpy(z, now[0], sizeof z);
    for (int t = 0; t < LATER; t++) {
        if (reln_plan_run(moving, &(RelnRun){.n_samples = 1}))
            return 1;
        memcpy(z, reln_plan_output(moving, "next", NULL), sizeof z);
        drift[0] = fmax(drift[0], fabs(energy(z) - energy(now[0])));
        drift[1] = fmax(drift[1], fabs(spin(z) - spin(now[0])));
    }
    printf("%d steps later: energy off by %.1e, angular momentum by %.1e\n", LATER, drift[0],
           drift[1]);
    reln_plan_destroy(moving);
    reln_plan_destroy(training);
    reln_graph_destroy(later);
    reln_setting_clear(&s);
    return loss < 1e-3 && drift[1] < LATER * pow(h, 5) ? 0 : 1; /* the error of the Runge-Kutta method */
}
