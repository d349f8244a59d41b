/* regress.c -- plans of a regression, its training, and its predictions. */
#include "tasks/regress/regress.h"

#include <stdlib.h>
#include <string.h>

struct Regress {
    TaskRun *run;
    RegressJob job;
    RelnSetting s;
    RelnGraph *judge_graph;
    RelnPlan *plan, *judge;
    RelnTrainer *trainer;
    double *guess; /* outputs for the validation set */
    double frame[REGRESS_NUMBERS * REGRESS_NUMBERS];
    double x[REGRESS_BATCH * REGRESS_NUMBERS], y[REGRESS_BATCH * REGRESS_NUMBERS];
};

/* ---- sets ---------------------------------------------------------------------------------------------------------- */

RelnStatus regress_set_init(TaskEnv *env, ptrdiff_t n, int size_x, int size_y, RegressSet *set)
{
    *set = (RegressSet){.n = n,
                        .size_x = size_x,
                        .size_y = size_y,
                        .x = calloc((size_t)n, (size_t)size_x * sizeof(double)),
                        .y = calloc((size_t)n, (size_t)size_y * sizeof(double))};
    return set->x && set->y ? RELN_OK : task_nomem(env);
}

void regress_set_clear(RegressSet *set)
{
    free(set->x);
    free(set->y);
    *set = (RegressSet){0};
}

double regress_mse(const double *a, const double *b, ptrdiff_t count)
{
    double sum = 0;

    for (ptrdiff_t i = 0; i < count; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum / (double)count;
}

/* ---- graphs -------------------------------------------------------------------------------------------------------- */

static RelnNode *network(const Regress *r, RelnGraph *g, bool train)
{
    const RelnNet net = {.graph = g, .algebra = r->s.algebra, .form = r->job.form, .train = train};
    RelnNode *x = reln_input(g, "x", RELN_SAMPLES, r->job.x, r->s.rep, RELN_DEFAULT);

    return r->job.network(&net, r->job.model, x);
}

/* The error's coordinates in the frame of the data: <f_k, e>, invariants. */
static RelnNode *measured(RelnGraph *g, RelnNode *e)
{
    const int k = reln_node_dims(e).k;
    RelnNode *frame = reln_input(g, "frame", RELN_STEP, (RelnDims){.k = k, .c = k},
                                 reln_rep_dual(reln_node_rep(e)), RELN_DEFAULT);

    return reln_channel_gram(g, e, frame);
}

static RelnNode *loss(const Regress *r, RelnNode *out)
{
    RelnGraph *g = r->s.graph;
    const RelnLoss kind = {.kind = r->job.loss};
    RelnNode *y, *mean;

    if (!out)
        return NULL;
    y = reln_input(g, "y", RELN_SAMPLES, reln_node_dims(out), reln_node_rep(out), RELN_DEFAULT);
    if (reln_rep_is_orthogonal(reln_node_rep(out)))
        mean = reln_loss_mean(g, &kind, out, y);
    else
        mean = reln_batch_mean(
            g, reln_scale(g, reln_sum_all(g, reln_square(g, measured(g, reln_sub(g, out, y)))),
                          1.0 / r->job.train->size_y));
    return r->job.root ? reln_sqrt(g, mean) : mean;
}

/* The covectors are those of the coordinates that the samples have. */
static RelnStatus bind_frame(Regress *r, int k)
{
    for (int i = 0; i < k; i++)
        r->frame[i * k + i] = 1;
    return reln_plan_bind(r->plan, "frame", r->frame, RELN_F64);
}

static RelnStatus build_training(Regress *r)
{
    RelnNode *out = network(r, r->s.graph, true);

    reln_train_step(r->s.graph,
                    &(RelnOptimiser){.kind = RELN_OPTIMISER_ADAM, .adam = RELN_ADAM_DEFAULTS},
                    loss(r, out));
    TRY(reln_plan_create(r->s.graph, &(RelnPlanOptions){.pool = r->run->env->pool}, &r->plan));
    if (!reln_rep_is_orthogonal(reln_node_rep(out)))
        TRY(bind_frame(r, reln_node_dims(out).k));
    TRY(reln_plan_bind(r->plan, "x", r->x, RELN_F64));
    return reln_plan_bind(r->plan, "y", r->y, RELN_F64);
}

static RelnStatus build(Regress *r)
{
    TRY(reln_setting_init_in(&r->s, r->run->env->ctx, r->job.symmetry, r->job.features,
                             r->job.dtype, r->run->seed));
    TRY(build_training(r));
    TRY(reln_graph_create(r->s.group, r->s.store, r->job.dtype, &r->judge_graph));
    reln_output(r->judge_graph, "out", network(r, r->judge_graph, false));
    TRY(reln_plan_create(r->judge_graph, &(RelnPlanOptions){.pool = r->run->env->pool}, &r->judge));
    r->run->params = reln_store_parameters(r->s.store);
    r->run->params_used = task_trained(r->s.store);
    return RELN_OK;
}

/* ---- training ------------------------------------------------------------------------------------------------------ */

static RelnStatus load(void *self, uint64_t step, ptrdiff_t *n_samples)
{
    Regress *r = self;
    const RegressSet *set = r->job.train;
    const uint64_t per_epoch = (uint64_t)(set->n / r->job.batch);
    RelnRng rng = reln_rng(r->run->seed, 1000 + step);
    ptrdiff_t rows[REGRESS_BATCH];

    reln_shuffle(r->run->seed, step / per_epoch, set->n,
                 (ptrdiff_t)(step % per_epoch) * r->job.batch, r->job.batch, rows);
    for (int i = 0; i < r->job.batch; i++) {
        double *x = r->x + i * set->size_x, *y = r->y + i * set->size_y;
        memcpy(x, set->x + rows[i] * set->size_x, (size_t)set->size_x * sizeof *x);
        memcpy(y, set->y + rows[i] * set->size_y, (size_t)set->size_y * sizeof *y);
        if (r->job.move)
            TRY(r->job.move(r->job.self, &rng, x, y));
    }
    *n_samples = r->job.batch;
    return RELN_OK;
}

static RelnStatus evaluate(void *self, uint64_t step, RelnEvaluation *out)
{
    Regress *r = self;
    const RegressSet *set = r->job.validation;

    (void)step;
    TRY(regress_predict(r, set->x, set->n, r->guess));
    out->score = regress_mse(r->guess, set->y, set->n * set->size_y);
    return RELN_OK;
}

static RelnStatus train(Regress *r)
{
    const RelnTrainJob job = {.plan = r->plan,
                              .store = r->s.store,
                              .seed = r->run->seed,
                              .n_steps = r->job.steps,
                              .steps_per_epoch = (uint64_t)(r->job.train->n / r->job.batch),
                              .evaluate_every = r->job.evaluate_every,
                              .schedule = r->job.schedule,
                              .self = r,
                              .load = load,
                              .evaluate = evaluate};

    TRY(task_train(r->run, 0, &job, &r->trainer));
    TRY(reln_trainer_take_best(r->trainer));
    TRY(task_curve_rows(r->run, r->trainer, "validation error"));
    return task_keep(r->run, r->s.store);
}

static bool fits(const RegressJob *job)
{
    return job->batch <= REGRESS_BATCH && job->train->n >= job->batch &&
           job->train->size_x <= REGRESS_NUMBERS && job->train->size_y <= REGRESS_NUMBERS;
}

RelnStatus regress_fit(TaskRun *run, const RegressJob *job, Regress **out)
{
    Regress *r = *out = calloc(1, sizeof *r);

    if (!r)
        return task_nomem(run->env);
    r->run = run;
    r->job = *job;
    if (!fits(job))
        return task_fail(
            run->env, RELN_ERR_ARG,
            "a batch of %d samples of %d and %d numbers from %td, wanted at most %d of %d",
            job->batch, job->train->size_x, job->train->size_y, job->train->n, REGRESS_BATCH,
            REGRESS_NUMBERS);
    r->guess = malloc((size_t)(job->validation->n * job->validation->size_y) * sizeof *r->guess);
    if (!r->guess)
        return task_nomem(run->env);
    TRY(build(r));
    return train(r);
}

void regress_destroy(Regress *r)
{
    if (!r)
        return;
    reln_trainer_destroy(r->trainer);
    reln_plan_destroy(r->judge);
    reln_plan_destroy(r->plan);
    reln_graph_destroy(r->judge_graph);
    reln_setting_clear(&r->s);
    free(r->guess);
    free(r);
}

/* ---- afterwards ---------------------------------------------------------------------------------------------------- */

RelnStatus regress_predict(Regress *r, const double *x, ptrdiff_t n, double *out)
{
    const ptrdiff_t count = n * r->job.train->size_y;
    const void *values;

    TRY(reln_plan_bind(r->judge, "x", x, RELN_F64));
    TRY(reln_plan_run(r->judge, &(RelnRun){.n_samples = n}));
    values = reln_plan_output(r->judge, "out", NULL);
    for (ptrdiff_t i = 0; i < count; i++)
        out[i] = r->job.dtype == RELN_F64 ? ((const double *)values)[i]
                                          : (double)((const float *)values)[i];
    return RELN_OK;
}

RelnStore *regress_store(const Regress *r)
{
    return r->s.store;
}

void regress_describe(const RegressScale *scale, RelnDoc *doc, RelnDocNode *map)
{
    reln_doc_set_number(doc, map, "train", (double)scale->train);
    reln_doc_set_number(doc, map, "validation", (double)scale->validation);
    reln_doc_set_number(doc, map, "test", (double)scale->test);
    reln_doc_set_number(doc, map, "steps", (double)scale->steps);
    reln_doc_set_number(doc, map, "evaluate_every", (double)scale->evaluate_every);
}
