/* ragged_sets.c -- sets of points of different size: learns the spread of a cloud, saves the weights, and
 * loads them into a new network.
 *
 * All of it is in docs/tutorial.md and in the recipe for sets of docs/recipes.md, except: reln_adam_all() and reln_scalar() are
 * in the README, reln_nn_project() in docs/pytorch.md, reln_rng_below() in reln/random.h. */
#include <math.h>
#include <reln/reln.h>
#include <stdio.h>

enum { SETS = 256, MOST = 20, CHANNELS = 8, STEPS = 400 };

static double points[SETS * MOST][3], spread[SETS];
static int32_t sizes[SETS];
static int n_points;

/* Makes sets of 1 to MOST points, one after another. spread = mean |x|^2 - |mean x|^2. */
static void make_sets(void)
{
    RelnRng rng = reln_rng(/*seed=*/1, /*stream=*/0);

    for (int i = 0; i < SETS; i++) {
        double mean[3] = {0}, square = 0;

        sizes[i] = 1 + (int32_t)reln_rng_below(&rng, MOST);
        for (int p = 0; p < sizes[i]; p++, n_points++)
            for (int k = 0; k < 3; k++) {
                points[n_points][k] = reln_rng_normal(&rng);
                mean[k] += points[n_points][k] / sizes[i];
                square += points[n_points][k] * points[n_points][k] / sizes[i];
            }
        spread[i] = square - mean[0] * mean[0] - mean[1] * mean[1] - mean[2] * mean[2];
    }
}

/* Points become features; features and their lengths are pooled over the rows of each set, and a dense layer
 * computes the output. */
static RelnNode *network(RelnGraph *g, const RelnSetting *s, bool train)
{
    RelnNet net = {.graph = g,
                   .train = train}; /* no algebra: vectors, and the dot product as form */
    const RelnDomain rows = reln_rows(g, "points", MOST);
    RelnNode *x = reln_input(g, "x", rows, (RelnDims){.k = 3}, reln_rep_vector(s->group), 0);
    RelnNode *h = reln_nn_project(&net, "one", reln_nn_linear(&net, "one", x, CHANNELS), NULL);
    RelnNode *lengths = reln_nn_pool_mean(&net, reln_nn_invariant(&net, h), RELN_POOL_ROWS);
    RelnNode *means = reln_nn_invariant(&net, reln_nn_pool_mean(&net, h, RELN_POOL_ROWS));
    RelnNode *both = reln_concat(g, 2, (RelnNode *[]){lengths, means}, RELN_C);

    return reln_nn_dense(&net, "out", both, 1);
}

static RelnStatus bind(RelnPlan *plan)
{
    const RelnStatus status = reln_plan_bind_rows_sized(plan, "points", sizes, SETS);

    return status != RELN_OK
               ? status
               : reln_plan_bind_sized(plan, "x", points, RELN_F64, (size_t)n_points * 3);
}

static RelnStatus train(RelnSetting *s, double *loss)
{
    RelnGraph *g = s->graph;
    RelnPlan *plan = NULL;
    RelnNode *y = network(g, s, true);
    RelnNode *t = reln_input(g, "spread", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_DEFAULT);
    RelnNode *error = reln_loss_mean(g, &(RelnLoss){.kind = RELN_LOSS_MSE}, y, t);
    RelnStatus status;

    reln_adam_all(g, NULL, reln_scalar(g, 4e-2), error);
    reln_output(g, "loss", error);
    status = reln_plan_create(g, NULL, &plan);
    if (status == RELN_OK)
        status = bind(plan);
    if (status == RELN_OK)
        status = reln_plan_bind_sized(plan, "spread", spread, RELN_F64, SETS);
    for (uint64_t step = 0; step < STEPS && status == RELN_OK; step++)
        status = reln_plan_run(plan, &(RelnRun){.n_samples = SETS, .step = step});
    if (status == RELN_OK)
        *loss = *(const double *)reln_plan_output(plan, "loss", NULL);
    reln_plan_destroy(plan);
    return status;
}

/* Builds the network again with the weights of the file, and computes the first prediction. */
static RelnStatus reload(const char *path, double *first)
{
    RelnSetting s;
    RelnPlan *plan = NULL;
    RelnStatus status = reln_setting_init(&s, "so:3", NULL, RELN_F64, /*seed=*/99);

    if (status == RELN_OK) {
        reln_output(s.graph, "y", network(s.graph, &s, false));
        status = reln_store_load(s.store, path);
    }
    if (status == RELN_OK)
        status = reln_plan_create(s.graph, NULL, &plan);
    if (status == RELN_OK)
        status = bind(plan);
    if (status == RELN_OK)
        status = reln_plan_run(plan, &(RelnRun){.n_samples = SETS});
    if (status == RELN_OK)
        *first = *(const double *)reln_plan_output(plan, "y", NULL);
    if (status != RELN_OK)
        fprintf(stderr, "%s\n", reln_ctx_error(s.ctx));
    reln_plan_destroy(plan);
    reln_setting_clear(&s);
    return status;
}

int main(void)
{
    static const char path[] = "ragged_sets.safetensors";
    RelnSetting s;
    double loss = (double)NAN, first = (double)NAN;
    RelnStatus status = reln_setting_init(&s, "so:3", NULL, RELN_F64, /*seed=*/1);

    make_sets();
    if (status == RELN_OK)
        status = train(&s, &loss);
    if (status == RELN_OK)
        status = reln_store_save(s.store, path);
    if (status != RELN_OK)
        fprintf(stderr, "%s\n", reln_ctx_error(s.ctx));
    if (status == RELN_OK)
        status = reload(path, &first);
    printf("%d sets of 1 to %d points: mean square error %.1e\n", SETS, MOST, loss);
    printf("loaded again: the spread of the first is %.3f, %.3f was wanted\n", first, spread[0]);
    reln_setting_clear(&s);
    (void)remove(path);
    return status == RELN_OK && loss < 1e-3 && fabs(first - spread[0]) < 0.1 ? 0 : 1;
}
