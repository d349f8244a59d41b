/* rig.h -- a small network with batch norm and dropout, its data, and a job that trains it. */
#ifndef TESTS_TRAIN_RIG_H
#define TESTS_TRAIN_RIG_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fixture.h"

enum { RIG_SAMPLES = 48, RIG_BATCH = 20, RIG_ITEM = 6, RIG_STEPS = 40, RIG_EVERY = 3 };

typedef struct Rig {
    Fixture f;
    RelnGraph *eval_graph;
    RelnPool *pool;
    RelnPlan *plan, *eval;
    RelnTrainer *trainer;
    double x[RIG_SAMPLES * RIG_ITEM], y[RIG_SAMPLES];
    double batch_x[RIG_BATCH * RIG_ITEM], batch_y[RIG_BATCH];
    uint64_t poisoned;    /* the step whose batch has a NaN; 0: none */
    uint64_t stop_at;     /* step at which observe() asks to stop; 0: never */
    const double *scores; /* given scores of the evaluations; NULL: computed */
    int n_observed, n_best;
    double *best; /* weights at the last best evaluation */
} Rig;

/* Copies the weights and states of a store, without moments, one after another; returns how many numbers
 * there are. */
static inline size_t rig_values(const RelnStore *store, double *out)
{
    size_t count = 0;

    for (int i = 0; i < reln_store_count(store); i++) {
        const RelnEntryInfo entry = reln_store_entry(store, i);

        if (entry.kind == RELN_ENTRY_MOMENT)
            continue;
        if (out)
            memcpy(out + count, entry.values, entry.count * sizeof(double));
        count += entry.count;
    }
    return count;
}

static inline RelnNode *rig_network(const Rig *r, RelnGraph *g, bool train)
{
    const RelnNet net = {.graph = g, .algebra = r->f.algebra, .train = train};
    RelnNode *h =
        reln_input(g, "x", RELN_SAMPLES, (RelnDims){.k = 3, .c = 2}, r->f.adjoint, RELN_F64);

    h = reln_nn_linear(&net, "one", h, 8);
    h = reln_nn_batch_norm(&net, "one", h, RELN_NORM_INVARIANT);
    h = reln_nn_bracket(&net, "two", reln_nn_relu(&net, "one", h, NULL));
    h = reln_nn_invariant(&net, h);
    if (train)
        h = reln_dropout(g, h, 0.2, 0);
    return reln_nn_dense(&net, "out", h, 1);
}

static inline RelnNode *rig_loss(const Rig *r, RelnGraph *g, bool train)
{
    RelnNode *y = rig_network(r, g, train);
    RelnNode *t = reln_input(g, "y", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_F64);

    return reln_loss_mean(g, &(RelnLoss){.kind = RELN_LOSS_HUBER, .delta = 0.5}, y, t);
}

static inline void rig_data(Rig *r)
{
    RelnRng rng = reln_rng(5, 0);

    fill_normal(&rng, RIG_SAMPLES * RIG_ITEM, r->x);
    for (int i = 0; i < RIG_SAMPLES; i++) {
        const double *x = r->x + i * RIG_ITEM;

        r->y[i] = x[0] * x[1] + x[2] * x[3] + x[4] * x[5];
    }
}

/* Binds the batch of a step: an epoch has two batches, and the rest of the permutation is left out. */
static inline RelnStatus rig_load(void *self, uint64_t step, ptrdiff_t *n_samples)
{
    Rig *r = self;
    ptrdiff_t rows[RIG_BATCH];

    reln_shuffle(9, step / 2, RIG_SAMPLES, (ptrdiff_t)(step % 2) * RIG_BATCH, RIG_BATCH, rows);
    for (int i = 0; i < RIG_BATCH; i++) {
        memcpy(r->batch_x + i * RIG_ITEM, r->x + rows[i] * RIG_ITEM, RIG_ITEM * sizeof(double));
        r->batch_y[i] = r->y[rows[i]];
    }
    if (r->poisoned && step == r->poisoned)
        r->batch_y[3] = (double)NAN;
    *n_samples = RIG_BATCH;
    return RELN_OK;
}

static inline RelnStatus rig_evaluate(void *self, uint64_t step, RelnEvaluation *out)
{
    Rig *r = self;
    const RelnStatus status = reln_plan_run(r->eval, &(RelnRun){.n_samples = RIG_SAMPLES});

    if (status != RELN_OK)
        return status;
    out->score = r->scores ? r->scores[step / RIG_EVERY - 1]
                           : *(const double *)reln_plan_output(r->eval, "loss", NULL);
    out->n_metrics = 1;
    out->metrics[0] = 2 * out->score;
    return RELN_OK;
}

static inline bool rig_observe(void *self, const RelnTrainProgress *p)
{
    Rig *r = self;

    r->n_observed++;
    if (p->evaluated && p->row->best) {
        r->n_best++;
        rig_values(r->f.store, r->best);
    }
    return r->stop_at == 0 || p->step != r->stop_at;
}

static inline RelnTrainJob rig_job(Rig *r)
{
    return (RelnTrainJob){
        .plan = r->plan,
        .store = r->f.store,
        .seed = 77,
        .n_steps = RIG_STEPS,
        .evaluate_every = RIG_EVERY,
        .schedule = {.rate = 0.1,
                     .n_pieces = 2,
                     .piece = {{.kind = RELN_SCHEDULE_WARMUP, .steps = 5, .floor = 0.1},
                               {.kind = RELN_SCHEDULE_PLATEAU, .factor = 0.5, .patience = 1}}},
        .n_metrics = 1,
        .metric_names = {"twice"},
        .self = r,
        .load = rig_load,
        .evaluate = rig_evaluate,
        .watch = {.self = r, .observe = rig_observe},
    };
}

static inline void rig_init(Rig *r, int threads)
{
    const RelnOptimiser adamw = {.adam = {0.9, 0.99, 1e-8, 0.01, false}, .clip = 1.0};

    memset(r, 0, sizeof *r);
    fixture_init(&r->f, "so:3", "so:3", RELN_F64);
    rig_data(r);
    if (threads > 1)
        assert_ok(r->f.ctx, reln_pool_create(r->f.ctx, threads, &r->pool));
    assert_true(reln_train_step(r->f.graph, &adamw, rig_loss(r, r->f.graph, true)));
    assert_ok(r->f.ctx, reln_graph_create(r->f.group, r->f.store, RELN_F64, &r->eval_graph));
    reln_output(r->eval_graph, "loss", rig_loss(r, r->eval_graph, false));
    assert_ok(r->f.ctx, reln_plan_create(
                            r->f.graph, &(RelnPlanOptions){.pool = r->pool, .shard = 2}, &r->plan));
    assert_ok(r->f.ctx,
              reln_plan_create(r->eval_graph, &(RelnPlanOptions){.pool = r->pool}, &r->eval));
    assert_ok(r->f.ctx, reln_plan_bind(r->plan, "x", r->batch_x, RELN_F64));
    assert_ok(r->f.ctx, reln_plan_bind(r->plan, "y", r->batch_y, RELN_F64));
    assert_ok(r->f.ctx, reln_plan_bind(r->eval, "x", r->x, RELN_F64));
    assert_ok(r->f.ctx, reln_plan_bind(r->eval, "y", r->y, RELN_F64));
    r->best = malloc(rig_values(r->f.store, NULL) * sizeof *r->best);
    assert_non_null(r->best);
}

static inline void rig_trainer(Rig *r, const RelnTrainJob *job)
{
    assert_ok(r->f.ctx, reln_trainer_create(r->f.ctx, job, &r->trainer));
}

static inline RelnTrainEnd rig_run(Rig *r, uint64_t steps)
{
    RelnTrainEnd end;

    assert_ok(r->f.ctx, reln_trainer_run(r->trainer, steps, &end));
    return end;
}

static inline void rig_clear(Rig *r)
{
    free(r->best);
    reln_trainer_destroy(r->trainer);
    reln_plan_destroy(r->eval);
    reln_plan_destroy(r->plan);
    reln_pool_destroy(r->pool);
    reln_graph_destroy(r->eval_graph);
    fixture_clear(&r->f);
}

#endif
