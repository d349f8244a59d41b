/* ranks.c -- trains over MPI with the adapter that is installed as source; rank 0 prints the bits of the last
 * loss. */
#include <reln/reln.h>
#include <reln_mpi.h>
#include <stdio.h>

enum { N = 100, K = 9, STEPS = 20 };

static RelnStatus train(RelnSetting *s, const RelnComm *comm, double *last)
{
    static double x[N][K], y[N];
    RelnRng rng = reln_rng(/*seed=*/1, /*stream=*/0);
    const RelnNet net = {.graph = s->graph, .algebra = s->algebra, .train = true};
    RelnNode *X = reln_input(s->graph, "X", RELN_SAMPLES, (RelnDims){.k = K}, s->rep, RELN_DEFAULT);
    RelnNode *Y = reln_input(s->graph, "Y", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_DEFAULT);
    RelnNode *h = reln_nn_affine(&net, "one", (RelnFeatures){.x = X}, 16, 0).x, *loss;
    RelnPlan *plan = NULL;
    RelnStatus status;

    for (int i = 0; i < N * K; i++)
        x[i / K][i % K] = reln_rng_normal(&rng);
    for (int n = 0; n < N; n++)
        y[n] = x[n][0] + x[n][4] + x[n][8];
    h = reln_nn_dense(&net, "out", reln_nn_invariant(&net, reln_nn_rms(&net, "one", h, NULL)), 1);
    loss = reln_batch_mean(s->graph, reln_square(s->graph, reln_sub(s->graph, h, Y)));
    reln_adam_all(s->graph, NULL, reln_scalar(s->graph, 1e-2), loss);
    reln_output(s->graph, "loss", loss);
    status = reln_plan_create(s->graph, &(RelnPlanOptions){.comm = comm}, &plan);
    if (status == RELN_OK)
        status = reln_plan_bind_sized(plan, "X", x, RELN_F64, (size_t)N * K);
    if (status == RELN_OK)
        status = reln_plan_bind_sized(plan, "Y", y, RELN_F64, N);
    for (uint64_t t = 0; t < STEPS && status == RELN_OK; t++)
        status = reln_plan_run(plan, &(RelnRun){.n_samples = N, .step = t});
    if (status == RELN_OK)
        *last = *(const double *)reln_plan_output(plan, "loss", NULL);
    reln_plan_destroy(plan);
    return status;
}

int main(int argc, char **argv)
{
    const RelnComm *comm = NULL;
    RelnSetting s;
    RelnStatus status;
    double last = 0;

    if (reln_mpi_open(&argc, &argv, &comm) != 0)
        return 1;
    status = reln_setting_init(&s, "gl:3", "gl:3", RELN_F64, /*seed=*/1);
    if (status == RELN_OK)
        status = train(&s, comm, &last);
    if (status == RELN_OK && comm->rank == 0)
        printf("%a\n", last);
    reln_setting_clear(&s);
    reln_mpi_close();
    return status == RELN_OK ? 0 : 1;
}
