/* efficiency.c -- the table of costs: operations, time of H and of its gradient, time of a training step,
 * memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kit/clock.h"
#include "tasks/pendulum/pendulum.h"
#include "tasks/settings.h"

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

/* Returns the operations of one H as papers count them; NAN where no paper does. For the pairings it counts
 * the dense network; the paper's 142,190 has 1,134 more for its invariants, counted in an unknown way. */
static double published_operations(const PendRowSettings *row)
{
    static const int d6[] = {1, 1, 2, 4, 10, 26, 72};
    const int w = row->width;
    const PendTensors hidden = pend_tensors_uniform(w);

    if (row->arch == PEND_ARCH_MLP)
        return pend_flops_dense(4, (const int[]){12, w, w, w, 1});
    if (row->arch == PEND_ARCH_EMLP)
        return pend_flops_emlp(&hidden, d6, row->per_call);
    if (row->arch == PEND_ARCH_INVARIANT && row->features == PEND_FEATURES_PAIRINGS)
        return pend_flops_dense(6, (const int[]){28, w, w, w, w, w, 1});
    return (double)NAN;
}

#define ROW(arch_, symmetry_, ...)                                                                 \
    &(const PendRowSettings)                                                                       \
    {                                                                                              \
        .arch = arch_, .symmetry = symmetry_, .substeps = 2, __VA_ARGS__                           \
    }

static const TaskModel models[] = {
    {.name = "mlp",
     .label = "MLP-HNN",
     .params = 34817,
     .paper = {[OPERATIONS] = {70400, 0}, [H_ONE] = {159, 0}},
     .settings = ROW(PEND_ARCH_MLP, PEND_NONE, .width = 128, .activation = RELN_ACT_SILU)},
    {.name = "emlp-per-call",
     .label = "EMLP-HNN D6, projected in every call",
     .params = 55569,
     .paper = {[OPERATIONS] = {1589909, 0}, [H_ONE] = {61635, 0}},
     .settings = ROW(PEND_ARCH_EMLP, PEND_D6, .width = 128, .per_call = true)},
    {.name = "emlp",
     .label = "EMLP-HNN D6, projected once",
     .params = 55569,
     .settings = ROW(PEND_ARCH_EMLP, PEND_D6, .width = 128)},
    {.name = "reln-69889",
     .label = "ReLN-HNN, 28 pairings",
     .params = 69889,
     .paper = {[OPERATIONS] = {142190, 0}, [H_ONE] = {2216, 0}},
     .settings =
         ROW(PEND_ARCH_INVARIANT, PEND_NONE, .features = PEND_FEATURES_PAIRINGS, PEND_PAIRINGS)},
    {.name = "reln-lengths",
     .label = "ReLN-HNN, pairings and lengths",
     .settings =
         ROW(PEND_ARCH_INVARIANT, PEND_NONE, .features = PEND_FEATURES_LENGTHS, PEND_LENGTHS)},
    {.name = "reln-o2",
     .label = "ReLN-HNN O(2), vectors",
     .settings = ROW(PEND_ARCH_EQUIVARIANT, PEND_O2, PEND_EQUIVARIANT)},
};

/* ---- scales ---------------------------------------------------------------------------------------------------- */

typedef struct Scale {
    double spread; /* standard deviation of the numbers of a state about their means */
    double first,
        second; /* means of the heights of the two masses below the pivot; other means are 0 */
    int batch;
    int rounds, one,
        many; /* the shortest of so many means, each over so many runs of one state and of a batch */
    int step_rounds; /* the same for training steps, each timed separately */
    int step_groups; /* largest number of samples of a training step; 0: all */
    int data_seed;
    RelnDtype dtype;
} Scale;

#define SCALE(...)                                                                                 \
    {                                                                                              \
        0.4, 1.5, 3.0, PEND_SPLIT, __VA_ARGS__, .data_seed = 1, .dtype = RELN_F32                  \
    }
static const Scale scales[TASK_SCALES] = {SCALE(1, 1, 1, 1, 1), SCALE(20, 500, 5, 3, 0),
                                          SCALE(20, 500, 5, 3, 0)};

static const Key scale_keys[] = {
    TASK_NUMBER_BEFORE(Scale, spread, "0.4"),
    TASK_NUMBER_BEFORE(Scale, first, "1.5"),
    TASK_NUMBER_BEFORE(Scale, second, "3"),
    TASK_WHOLE(Scale, batch),
    TASK_WHOLE(Scale, rounds),
    TASK_WHOLE(Scale, one),
    TASK_WHOLE(Scale, many),
    TASK_WHOLE(Scale, step_rounds),
    TASK_WHOLE(Scale, step_groups),
    TASK_WHOLE(Scale, data_seed),
    TASK_WORD(Scale, dtype, task_dtype_words),
};

/* ---- one row --------------------------------------------------------------------------------------------------- */

enum { PER = PEND_CHUNK * PEND_STATE };
enum { ONE_H, ONE_DH, MANY_H, MANY_DH, TRAINING, PLANS };

typedef struct Bench {
    TaskRun *run;
    const PendRowSettings *row;
    const Scale *scale;
    PendChoice choice;
    RelnGroup *group;
    RelnStore *store;
    int abreast, groups; /* of a batch of states */
    RelnGraph *graph[PLANS];
    RelnPlan *plan[PLANS];
    size_t n_states;      /* numbers of them */
    double rate, *states; /* (batch, 5, 12), in any order: the cost does not depend on the values */
} Bench;

static RelnStatus open_plan(Bench *b, int which)
{
    const int abreast = which < MANY_H ? 1 : b->abreast;
    const PendBuild build = {NULL, b->row->symmetry, &b->choice.settings, abreast, b->run->seed};
    RelnDims dims = pend_state_dims(abreast);
    RelnGraph *g;
    RelnNode *z;
    PendModel m = {.build = build};

    TRY(reln_graph_create(b->group, b->store, b->scale->dtype, &b->graph[which]));
    g = b->graph[which];
    m.build.graph = g;
    dims.p = which == TRAINING ? PEND_CHUNK : 1;
    z = reln_input(g, "z", RELN_SAMPLES, dims, pend_state_rep(g), RELN_DEFAULT);
    if (pend_model_open(&m, &m.build, b->choice.arch)) {
        if (which == ONE_H || which == MANY_H)
            reln_output(g, "out", pend_model_energy(&m, z));
        else if (which != TRAINING)
            reln_output(g, "out", pend_model_direct(&m, z));
        else
            reln_train_step(
                g, &(RelnOptimiser){.kind = RELN_OPTIMISER_ADAM, .adam = RELN_ADAM_DEFAULTS},
                pend_model_loss(&m, z, NULL, b->row->substeps));
    }
    /* every rank measures separately, because times differ between ranks */
    TRY(reln_plan_create(
        g, &(RelnPlanOptions){.pool = b->run->env->pool, .reference = b->run->env->reference},
        &b->plan[which]));
    if (which == ONE_H && b->choice.arch->start)
        TRY(b->choice.arch->start(&m.build, b->store, b->scale->batch * PEND_CHUNK, b->states));
    if (which == TRAINING)
        TRY(reln_plan_bind_sized(b->plan[which], "rate", &b->rate, RELN_F64, 1));
    return reln_plan_bind_sized(b->plan[which], "z", b->states, RELN_F64, b->n_states);
}

/* Returns the shortest of `rounds` means over `times` runs, in seconds: the speed of the machine without
 * disturbance. */
static RelnStatus measure(const Bench *b, int which, int n, int rounds, int times, double *seconds)
{
    *seconds = HUGE_VAL;
    for (int r = 0; r < rounds; r++) {
        const double start = reln_wall_seconds();

        for (int t = 0; t < times; t++)
            TRY(reln_plan_run(b->plan[which], &(RelnRun){.n_samples = n}));
        *seconds = fmin(*seconds, (reln_wall_seconds() - start) / times);
    }
    return RELN_OK;
}

static RelnStatus measure_all(Bench *b)
{
    const Scale *scale = b->scale;
    const int groups = scale->step_groups > 0 ? scale->step_groups : b->groups;
    double *m = b->run->metrics;

    TRY(measure(b, ONE_H, 1, scale->rounds, scale->one, &m[H_ONE]));
    TRY(measure(b, ONE_DH, 1, scale->rounds, scale->one, &m[DH_ONE]));
    TRY(measure(b, MANY_H, b->groups, scale->rounds, scale->many, &m[H_BATCH]));
    TRY(measure(b, MANY_DH, b->groups, scale->rounds, scale->many, &m[DH_BATCH]));
    TRY(measure(b, TRAINING, groups, scale->step_rounds, 1, &m[STEP]));
    m[H_ONE] *= 1e6;
    m[DH_ONE] *= 1e6;
    m[H_BATCH] *= 1e6 / scale->batch;
    m[DH_BATCH] *= 1e6 / scale->batch;
    return RELN_OK;
}

/* Returns the operations of a run over `n` samples, without the values that a frozen plan computes once. */
static double operations(const Bench *b, int which, int n)
{
    const RelnCost cost = reln_plan_cost(b->plan[which]);

    return n * cost.flops_sample + (which == TRAINING || b->row->per_call ? cost.flops_step : 0);
}

static void count(Bench *b)
{
    const RelnCost cost = reln_plan_cost(b->plan[TRAINING]);
    double *m = b->run->metrics;

    m[OPERATIONS] = published_operations(b->row);
    m[OPERATIONS_H] = operations(b, ONE_H, 1);
    m[OPERATIONS_DH] = operations(b, ONE_DH, 1);
    m[OPERATIONS_STEP] = operations(b, TRAINING, b->groups) / 1e9;
    m[MEMORY] = (double)(cost.bytes_worker + cost.bytes_shared + cost.bytes_kept) / (1024 * 1024);
}

static RelnStatus bench(Bench *b, const PendRowSettings *row)
{
    RelnCtx *ctx = b->run->env->ctx;

    TRY(pend_row_group(ctx, row, &b->group));
    TRY(reln_store_create(ctx, b->run->seed, &b->store));
    for (int i = 0; i < PLANS; i++)
        TRY(open_plan(b, i));
    for (int i = 0; i < TRAINING && !row->per_call; i++)
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

    b.scale = task_scale(r->env);
    b.choice = pend_choose(b.row);
    b.abreast = b.choice.abreast;
    b.groups = pend_groups(b.scale->batch, b.abreast);
    b.n_states = (size_t)(b.groups * b.abreast) * PER;
    b.states = task_room(&r->rooms, b.n_states, sizeof *b.states);
    if (!b.states)
        return task_nomem(r->env);
    pend_pack(b.scale->batch, b.abreast, PER, data, b.states);
    status = bench(&b, b.row);
    for (int i = 0; i < PLANS; i++) {
        reln_plan_destroy(b.plan[i]);
        reln_graph_destroy(b.graph[i]);
    }
    reln_store_destroy(b.store);
    reln_group_destroy(b.group);
    return status;
}

/* Draws states like those of the data set; the cost does not depend on their values. */
static RelnStatus prepare(TaskEnv *env, void **data)
{
    const Scale *scale = task_scale(env);
    const int count = scale->batch * PER;
    RelnRng rng = reln_rng((uint64_t)scale->data_seed, 0);
    double *z = *data = task_room(&env->rooms, (size_t)count, sizeof *z);

    if (!z)
        return task_nomem(env);
    for (int i = 0; i < count; i++) {
        const int k = i % PEND_STATE;

        z[i] = scale->spread * reln_rng_normal(&rng) - (k == 2 ? scale->first : 0) -
               (k == 5 ? scale->second : 0);
    }
    return RELN_OK;
}

const Task task_pendulum_cost = {
    .name = "pendulum-cost",
    .purpose = "the cost of the energies in the pendulum's table",
    .about =
        "This table measures the cost of the energies in the pendulum's table: operations, time "
        "and memory.\n\nColumns: operations of one H(z) as the paper counts them, and by the plan "
        "that runs; operations of its gradient and of a training step; microseconds of H and of "
        "its gradient, for one state and for each of 500 together; seconds and MiB of a training "
        "step of 500 chunks. The paper's latencies were measured with an interpreter.",
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
    .scale_fields = TASK_FIELDS(Scale, scale_keys),
    .row_fields = {&pend_row_section, sizeof(PendRowSettings)},
    .scales = scales,
    .prepare = prepare,
    .run = run,
};
