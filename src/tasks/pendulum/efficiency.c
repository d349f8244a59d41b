/* efficiency.c -- the table of costs: operations, time of H and of its gradient, time of a training step, memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/pendulum/abreast.h"
#include "tasks/pendulum/cost.h"
#include "tasks/pendulum/data.h"
#include "tasks/pendulum/equivariant.h"
#include "tasks/pendulum/invariant.h"
#include "tasks/pendulum/mlp.h"
#include "tasks/task.h"

/* ---- rows ------------------------------------------------------------------------------------------------------ */

enum {
    OPERATIONS,
    OPERATIONS_H,
    OPERATIONS_DH,
    OPERATIONS_STEP,
    H_ONE,
    DH_ONE,
    H_BATCH,
    DH_BATCH,
    STEP,
    MEMORY,
    METRICS
};

typedef struct Row {
    const PendArchitecture *arch;
    const void *settings;
    PendSymmetry symmetry;
    bool thawed; /* what depends on weights alone is computed in every call */
    double (*operations)(const struct Row *row);
} Row;

static const PendMlp wide = {128};

static double of_mlp(const Row *row)
{
    (void)row;
    return pend_flops_dense(4, (const int[]){12, 128, 128, 128, 1});
}

static double of_emlp(const Row *row)
{
    static const int d6[] = {1, 1, 2, 4, 10, 26, 72};
    const PendTensors hidden = pend_tensors_uniform(((const PendEmlp *)row->settings)->width);

    return pend_flops_emlp(&hidden, d6, row->thawed);
}

/* Of the dense network; the paper's 142,190 has 1,134 more for its invariants, however they were counted. */
static double of_pairings(const Row *row)
{
    (void)row;
    return pend_flops_dense(6, (const int[]){28, 128, 128, 128, 128, 128, 1});
}

#define ROW(...)                                                                                   \
    &(const Row)                                                                                   \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static const TaskModel models[] = {
    {.name = "mlp",
     .label = "MLP-HNN",
     .params = 34817,
     .paper = {[OPERATIONS] = {70400, 0}, [H_ONE] = {159, 0}},
     .settings = ROW(&pend_mlp, &wide, PEND_NONE, false, of_mlp)},
    {.name = "emlp-per-call",
     .label = "EMLP-HNN D6, projected in every call",
     .params = 55569,
     .paper = {[OPERATIONS] = {1589909, 0}, [H_ONE] = {61635, 0}},
     .settings = ROW(&pend_emlp, &pend_emlp_published, PEND_D6, true, of_emlp)},
    {.name = "emlp",
     .label = "EMLP-HNN D6, projected once",
     .params = 55569,
     .settings = ROW(&pend_emlp, &pend_emlp_published, PEND_D6, false, of_emlp)},
    {.name = "reln-69889",
     .label = "ReLN-HNN, 28 pairings",
     .params = 69889,
     .paper = {[OPERATIONS] = {142190, 0}, [H_ONE] = {2216, 0}},
     .settings = ROW(&pend_invariant, &pend_pairings, PEND_NONE, false, of_pairings)},
    {.name = "reln-lengths",
     .label = "ReLN-HNN, pairings and lengths",
     .settings = ROW(&pend_invariant, &pend_lengths, PEND_NONE, false, NULL)},
    {.name = "reln-o2",
     .label = "ReLN-HNN O(2), vectors",
     .settings = ROW(&pend_equivariant, &pend_equivariant_defaults, PEND_O2, false, NULL)},
};

/* ---- one row --------------------------------------------------------------------------------------------------- */

enum { BATCH = PEND_SPLIT, PER = PEND_CHUNK * PEND_STATE };
enum { ONE_H, ONE_DH, MANY_H, MANY_DH, TRAINING, PLANS };

typedef struct Bench {
    TaskRun *run;
    const Row *row;
    RelnGroup *group;
    RelnStore *store;
    int abreast, groups; /* of BATCH states */
    RelnGraph *graph[PLANS];
    RelnPlan *plan[PLANS];
    double rate,
        *states; /* (BATCH, 5, 12), in any order: what they are does not change what they cost */
} Bench;

static RelnStatus open_plan(Bench *b, int which)
{
    const int abreast = which < MANY_H ? 1 : b->abreast;
    const PendBuild build = {NULL, b->row->symmetry, b->row->settings, abreast, b->run->seed};
    RelnDims dims = pend_state_dims(abreast);
    RelnGraph *g;
    RelnNode *z;
    PendModel m = {.build = build};

    TRY(reln_graph_create(b->group, b->store, RELN_F32, &b->graph[which]));
    g = b->graph[which];
    m.build.graph = g;
    dims.p = which == TRAINING ? PEND_CHUNK : 1;
    z = reln_input(g, "z", RELN_SAMPLES, dims, pend_state_rep(g), RELN_DEFAULT);
    if (pend_model_open(&m, &m.build, b->row->arch)) {
        if (which == ONE_H || which == MANY_H)
            reln_output(g, "out", pend_model_energy(&m, z));
        else if (which != TRAINING)
            reln_output(g, "out", pend_model_direct(&m, z));
        else
            reln_train_step(
                g, &(RelnOptimiser){.kind = RELN_OPTIMISER_ADAM, .adam = RELN_ADAM_DEFAULTS},
                pend_model_loss(&m, z, NULL, 2));
    }
    TRY(reln_plan_create(g, &(RelnPlanOptions){.pool = b->run->env->pool}, &b->plan[which]));
    if (which == ONE_H && b->row->arch->start)
        TRY(b->row->arch->start(&m.build, b->store, BATCH * PEND_CHUNK, b->states));
    if (which == TRAINING)
        TRY(reln_plan_bind(b->plan[which], "rate", &b->rate, RELN_F64));
    return reln_plan_bind(b->plan[which], "z", b->states, RELN_F64);
}

/* The shortest of `rounds` means over `times` runs, in seconds: what the machine can do when nothing disturbs it. */
static RelnStatus measure(const Bench *b, int which, int n, int rounds, int times, double *seconds)
{
    *seconds = HUGE_VAL;
    for (int r = 0; r < rounds; r++) {
        const double start = task_clock();

        for (int t = 0; t < times; t++)
            TRY(reln_plan_run(b->plan[which], &(RelnRun){.n_samples = n}));
        *seconds = fmin(*seconds, (task_clock() - start) / times);
    }
    return RELN_OK;
}

static RelnStatus measure_all(Bench *b)
{
    const bool smoke = b->run->env->scale == TASK_SMOKE;
    const int rounds = smoke ? 1 : 20, one = smoke ? 1 : 500, many = smoke ? 1 : 5;
    double *m = b->run->metrics;

    TRY(measure(b, ONE_H, 1, rounds, one, &m[H_ONE]));
    TRY(measure(b, ONE_DH, 1, rounds, one, &m[DH_ONE]));
    TRY(measure(b, MANY_H, b->groups, rounds, many, &m[H_BATCH]));
    TRY(measure(b, MANY_DH, b->groups, rounds, many, &m[DH_BATCH]));
    TRY(measure(b, TRAINING, smoke ? 1 : b->groups, smoke ? 1 : 3, 1, &m[STEP]));
    m[H_ONE] *= 1e6;
    m[DH_ONE] *= 1e6;
    m[H_BATCH] *= 1e6 / BATCH;
    m[DH_BATCH] *= 1e6 / BATCH;
    return RELN_OK;
}

/* Operations of a run over `n` samples; what a frozen plan finds once does not count. */
static double operations(const Bench *b, int which, int n)
{
    const RelnCost cost = reln_plan_cost(b->plan[which]);

    return n * cost.flops_sample + (which == TRAINING || b->row->thawed ? cost.flops_step : 0);
}

static void count(Bench *b)
{
    const RelnCost cost = reln_plan_cost(b->plan[TRAINING]);
    double *m = b->run->metrics;

    m[OPERATIONS] = b->row->operations ? b->row->operations(b->row) : (double)NAN;
    m[OPERATIONS_H] = operations(b, ONE_H, 1);
    m[OPERATIONS_DH] = operations(b, ONE_DH, 1);
    m[OPERATIONS_STEP] = operations(b, TRAINING, b->groups) / 1e9;
    m[MEMORY] = (double)(cost.bytes_worker + cost.bytes_shared + cost.bytes_kept) / (1024 * 1024);
}

static RelnStatus bench(Bench *b, const Row *row)
{
    RelnCtx *ctx = b->run->env->ctx;
    const PendSymmetry symmetry = row->symmetry == PEND_NONE ? PEND_O2 : row->symmetry;

    TRY(pend_symmetry_group(ctx, row->arch->typed ? symmetry : PEND_NONE, &b->group));
    TRY(reln_store_create(ctx, b->run->seed, &b->store));
    for (int i = 0; i < PLANS; i++)
        TRY(open_plan(b, i));
    for (int i = 0; i < TRAINING && !row->thawed; i++)
        TRY(reln_plan_freeze(b->plan[i]));
    TRY(measure_all(b));
    b->run->params = b->run->params_used = reln_store_parameters(b->store);
    count(b);
    return RELN_OK;
}

static RelnStatus run(TaskRun *r, const void *data)
{
    Bench b = {.run = r, .row = r->model->settings, .rate = 1e-3};
    RelnStatus status;

    b.abreast = b.row->arch->abreast > 0 ? b.row->arch->abreast : 1;
    b.groups = pend_groups(BATCH, b.abreast);
    b.states = malloc((size_t)(b.groups * b.abreast) * PER * sizeof *b.states);
    if (!b.states)
        return task_nomem(r->env);
    pend_pack(BATCH, b.abreast, PER, data, b.states);
    status = bench(&b, b.row);
    for (int i = 0; i < PLANS; i++) {
        reln_plan_destroy(b.plan[i]);
        reln_graph_destroy(b.graph[i]);
    }
    reln_store_destroy(b.store);
    reln_group_destroy(b.group);
    free(b.states);
    return status;
}

/* States like those of the data set: what they are does not change what they cost. */
static RelnStatus prepare(TaskEnv *env, void **data)
{
    const int count = BATCH * PER;
    RelnRng rng = reln_rng(1, 0);
    double *z = malloc((size_t)count * sizeof *z);

    *data = z;
    if (!z)
        return task_nomem(env);
    for (int i = 0; i < count; i++) {
        const int k = i % PEND_STATE;

        z[i] = 0.4 * reln_rng_normal(&rng) - (k == 2 ? 1.5 : 0) - (k == 5 ? 3.0 : 0);
    }
    return RELN_OK;
}

static void release(void *data)
{
    free(data);
}

static void describe(const TaskEnv *env, const TaskModel *model, RelnDoc *doc, RelnDocNode *map)
{
    const Row *row = model->settings;

    (void)env;
    reln_doc_set_number(doc, map, "batch", BATCH);
    reln_doc_set_text(doc, map, "symmetry", pend_symmetry_text(row->symmetry));
    reln_doc_set_bool(doc, map, "per_call", row->thawed);
}

const Task task_pendulum_cost = {
    .name = "pendulum-cost",
    .purpose = "what the energies of the pendulum's table cost",
    .about = "Operations of one H(z) counted as the paper does, and by the plan that runs, "
             "those of the gradient and of a training step beside them; microseconds of H and of "
             "its gradient, "
             "for one state and for each of 500 together; seconds of a training step (500 chunks, "
             "32 evaluations each, differentiated "
             "by the weights); memory of that step in MiB.\n\n"
             "The paper's 1,589,909 operations of EMLP include the projection of its weights, "
             "which is the same in every call: without it "
             "they are 379,649. Its latencies are those of an interpreter at work, and stand here "
             "because they are in its table.",
    .n_metrics = METRICS,
    .metrics = {{.name = "operations", .label = "operations of H", .count = true},
                {.name = "operations_plan", .label = "by the plan", .count = true},
                {.name = "operations_dh", .label = "grad H by the plan", .count = true},
                {.name = "operations_step", .label = "a training step, 10⁹"},
                {.name = "h_us", .label = "H, us"},
                {.name = "dh_us", .label = "grad H, us"},
                {.name = "h_us_500", .label = "H of 500, us each"},
                {.name = "dh_us_500", .label = "grad H of 500, us each"},
                {.name = "step_s", .label = "training step, s"},
                {.name = "memory_mib", .label = "MiB"}},
    .n_models = sizeof models / sizeof models[0],
    .models = models,
    .seeds = {1, 1, 1},
    .prepare = prepare,
    .release = release,
    .describe = describe,
    .run = run,
};
