/* experiment.c -- see experiment.h: plans of an experiment, its training, its predictions, and the action of
 * g. */
#include "tasks/experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kit/comm.h"

enum { PLANS = 1 + EXP_OTHERS };

/* A Part is one training of an experiment. */
typedef struct Part {
    Exp *e;
    const ExpPart *job;
    RelnGraph *graph; /* for the first part, the graph of the setting */
    RelnPlan *plan;
    RelnTrainer *trainer;
    void *column[EXP_COLUMNS];  /* the batch of a step */
    int32_t *counts[EXP_ROWS];  /* numbers of rows, for each sample of the batch */
    ptrdiff_t *first[EXP_ROWS]; /* the first row of each sample of the training set */
    ptrdiff_t filled[EXP_ROWS]; /* number of rows in the batch */
    double *guess;              /* outputs for the validation set */
} Part;

struct Exp {
    TaskRun *run;
    ExpJob job;
    RelnSetting s;    /* its graph is that of the first part */
    RelnGroup *group; /* the group of the setting, or of the job */
    RelnStore *store;
    Part part[EXP_PARTS];
    RelnGraph *graph[PLANS];
    RelnPlan *plan[PLANS];
    int size[PLANS]; /* numbers of an item of the output */
};

void *exp_room(Exp *e, size_t n_bytes)
{
    return task_room(&e->run->rooms, n_bytes, 1);
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

RelnStatus exp_samples_init(TaskEnv *env, ptrdiff_t n, int size_x, int size_y, ExpSamples *s)
{
    *s = (ExpSamples){.n = n,
                      .size_x = size_x,
                      .size_y = size_y,
                      .x = task_room(&env->rooms, (size_t)n, (size_t)size_x * sizeof(double)),
                      .y = task_room(&env->rooms, (size_t)n, (size_t)size_y * sizeof(double))};
    return s->x && s->y ? RELN_OK : task_nomem(env);
}

ExpSet exp_set(const ExpSamples *s)
{
    return (ExpSet){.n = s->n,
                    .n_columns = 2,
                    .column = {{EXP_NUMBERS("x", s->size_x, s->x)},
                               {EXP_NUMBERS("y", s->size_y, s->y), .target = true}}};
}

ExpSet exp_inputs(ptrdiff_t n, int size, const double *x)
{
    return (ExpSet){.n = n, .n_columns = 1, .column = {{EXP_NUMBERS("x", size, x)}}};
}

double exp_mse(const double *a, const double *b, ptrdiff_t n, int size)
{
    const ptrdiff_t count = n * size;
    double sum = 0;

    for (ptrdiff_t i = 0; i < count; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum / (double)count;
}

void exp_add_mse(const double *a, const double *b, ptrdiff_t n, int size, double share, double *sum)
{
    *sum += exp_mse(a, b, n, size) / share;
}

ExpPart exp_part(const ExpScale *scale, double rate, bool cosine)
{
    const uint64_t steps = (uint64_t)scale->steps;

    return (ExpPart){.batch = scale->batch,
                     .steps = steps,
                     .evaluate_every = (uint64_t)scale->evaluate_every,
                     .schedule = task_schedule(rate, cosine, steps, scale->warmup, scale->floor)};
}

RelnRng exp_rng(const ExpScale *scale, uint64_t stream)
{
    return reln_rng((uint64_t)scale->data_seed, stream);
}

static size_t bytes_of(const ExpColumn *c)
{
    return (size_t)c->size * (c->dtype == RELN_F64 ? sizeof(double) : sizeof(int32_t));
}

static const ExpColumn *column_named(const ExpSet *set, const char *name)
{
    for (int i = 0; i < set->n_columns; i++)
        if (strcmp(set->column[i].name, name) == 0)
            return &set->column[i];
    return NULL;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static RelnNet net_of(const Exp *e, RelnGraph *g, bool train)
{
    return (RelnNet){.graph = g, .algebra = e->s.algebra, .form = e->job.form, .train = train};
}

RelnNode *exp_elements(const RelnNet *net, const char *name, RelnDims dims)
{
    const RelnRep *rep = reln_rep_adjoint(reln_graph_group(net->graph), net->algebra);

    return reln_input(net->graph, name, RELN_SAMPLES, dims, rep, RELN_DEFAULT);
}

static int size_of(const RelnNode *node)
{
    const RelnDims d = reln_node_dims(node);

    return (int)(d.p * d.q * d.r * d.k * d.c);
}

/* Returns the error's coordinates in the frame of the data, <f_k, e>, with covectors "frame", an input bound
 * to the identity. In another frame, with the covectors of that frame, these are the same numbers. So the
 * training graph as a whole is checked against the full symmetry, even if that keeps no length. */
static RelnNode *measured(RelnGraph *g, RelnNode *e)
{
    const int k = reln_node_dims(e).k;
    RelnNode *frame = reln_input(g, "frame", RELN_STEP, (RelnDims){.k = k, .c = k},
                                 reln_rep_dual(reln_node_rep(e)), RELN_DEFAULT);

    return reln_channel_gram(g, e, frame);
}

static RelnNode *loss_against_y(RelnGraph *g, const ExpPart *part, RelnNode *out)
{
    const RelnLoss kind = {.kind = part->loss};
    RelnNode *y, *mean;

    if (!out)
        return NULL;
    y = reln_input(g, "y", RELN_SAMPLES, reln_node_dims(out), reln_node_rep(out), RELN_DEFAULT);
    if (reln_rep_is_orthogonal(reln_node_rep(out)))
        mean = reln_loss_mean(g, &kind, out, y);
    else
        mean = reln_batch_mean(
            g, reln_scale(g, reln_sum_all(g, reln_square(g, measured(g, reln_sub(g, out, y)))),
                          1.0 / size_of(out)));
    return part->root ? reln_sqrt(g, mean) : mean;
}

static bool needs_frame(const ExpPart *part, const RelnNode *out)
{
    return !part->loss_of && !reln_rep_is_orthogonal(reln_node_rep(out));
}

/* Binds "frame" to the identity: the covectors of the coordinates of the samples. */
static RelnStatus bind_frame(Part *p, int k)
{
    double *frame = exp_room(p->e, (size_t)k * (size_t)k * sizeof *frame);

    if (!frame)
        return task_nomem(p->e->run->env);
    for (int i = 0; i < k; i++)
        frame[i * k + i] = 1;
    return reln_plan_bind_sized(p->plan, "frame", frame, RELN_F64, (size_t)k * (size_t)k);
}

/* Binds the values of n samples or rows, or the values that all samples share. */
static RelnStatus bind(RelnPlan *plan, const ExpColumn *c, const void *values, ptrdiff_t n)
{
    return reln_plan_bind_sized(plan, c->name, values, c->dtype,
                                c->size > 0 ? (size_t)n * (size_t)c->size : c->all);
}

/* Numbers the rows of a set: the first row of each sample, and after them the total. Returns the largest
 * number of a sample. */
static ptrdiff_t number_rows(const int32_t *counts, ptrdiff_t n, ptrdiff_t *first)
{
    ptrdiff_t most = 0;

    first[0] = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        first[i + 1] = first[i] + counts[i];
        most = counts[i] > most ? counts[i] : most;
    }
    return most;
}

/* Allocates the rows of a batch: as many as the largest samples of the set would have. */
static RelnStatus open_rows(Part *p, ptrdiff_t most[EXP_ROWS])
{
    const ExpSet *set = p->job->train;

    for (int r = 0; r < set->n_rows; r++) {
        p->first[r] = exp_room(p->e, ((size_t)set->n + 1) * sizeof *p->first[r]);
        p->counts[r] = exp_room(p->e, (size_t)p->job->batch * sizeof *p->counts[r]);
        if (!p->first[r] || !p->counts[r])
            return task_nomem(p->e->run->env);
        most[r] = number_rows(set->rows[r].counts, set->n, p->first[r]);
        TRY(reln_plan_bind_rows_sized(p->plan, set->rows[r].name, p->counts[r],
                                      (size_t)p->job->batch));
    }
    return RELN_OK;
}

/* Binds a batch: a copy of its samples; columns that all samples share are bound in place. Columns of rows
 * are bound with each batch, when the number of rows is known. */
static RelnStatus bind_batch(Part *p)
{
    ptrdiff_t most[EXP_ROWS] = {0};

    TRY(open_rows(p, most));
    for (int i = 0; i < p->job->train->n_columns; i++) {
        const ExpColumn *c = &p->job->train->column[i];
        const ptrdiff_t items = p->job->batch * (c->rows > 0 ? most[c->rows - 1] : 1);

        if (c->size > 0 && !(p->column[i] = exp_room(p->e, (size_t)items * bytes_of(c))))
            return task_nomem(p->e->run->env);
        if (c->rows == 0)
            TRY(bind(p->plan, c, c->size > 0 ? p->column[i] : c->values, p->job->batch));
    }
    return RELN_OK;
}

static RelnStatus bind_filled(Part *p)
{
    for (int i = 0; i < p->job->train->n_columns; i++) {
        const ExpColumn *c = &p->job->train->column[i];

        if (c->rows > 0)
            TRY(bind(p->plan, c, p->column[i], p->filled[c->rows - 1]));
    }
    return RELN_OK;
}

static RelnStatus build_part(Part *p)
{
    Exp *e = p->e;
    RelnOptimiser optimiser = {.kind = RELN_OPTIMISER_ADAM, .adam = RELN_ADAM_DEFAULTS};
    const RelnNet net = net_of(e, p->graph, true);
    RelnNode *out = (p->job->network ? p->job->network : e->job.network)(&net, e->job.model);
    RelnNode *loss = p->job->loss_of ? p->job->loss_of(&net, e->job.model, out)
                                     : loss_against_y(p->graph, p->job, out);

    optimiser.adam.eps_inside = p->job->eps_inside;
    optimiser.adam.decay = p->job->decay;
    optimiser.clip = p->job->clip;
    reln_train_step(p->graph, &optimiser, loss);
    TRY(reln_plan_create(p->graph, &(RelnPlanOptions){TASK_PLAN(e->run->env)}, &p->plan));
    if (needs_frame(p->job, out))
        TRY(bind_frame(p, reln_node_dims(out).k));
    return p->job->load ? RELN_OK : bind_batch(p);
}

static RelnStatus build_judge(Exp *e, int which, ExpNetwork network)
{
    RelnNode *out;
    RelnNet net;

    TRY(reln_graph_create(e->group, e->store, e->job.dtype, &e->graph[which]));
    net = net_of(e, e->graph[which], false);
    out = network(&net, e->job.model);
    reln_output(e->graph[which], "out", out);
    TRY(reln_plan_create(e->graph[which], &(RelnPlanOptions){TASK_PLAN(e->run->env)},
                         &e->plan[which]));
    e->size[which] = size_of(out);
    return RELN_OK;
}

static RelnStatus open_setting(Exp *e)
{
    const uint64_t seed = e->run->seed + e->job.stream;
    RelnCtx *ctx = e->run->env->ctx;

    if (e->job.group) {
        e->group = e->job.group;
        TRY(reln_store_create(ctx, seed, &e->s.store));
        TRY(reln_graph_create(e->group, e->s.store, e->job.dtype, &e->s.graph));
    } else {
        TRY(reln_setting_init_in(&e->s, ctx, e->job.symmetry, e->job.features, e->job.dtype, seed));
        e->group = e->s.group;
    }
    e->store = e->s.store;
    return RELN_OK;
}

/* Builds the graphs for training first, so that the store lists the weights in the order of their layers. */
static RelnStatus build(Exp *e)
{
    TRY(open_setting(e));
    for (int i = 0; i < e->job.n_parts; i++) {
        Part *p = &e->part[i];

        *p = (Part){.e = e, .job = &e->job.parts[i], .graph = e->s.graph};
        if (i > 0)
            TRY(reln_graph_create(e->group, e->store, e->job.dtype, &p->graph));
        TRY(build_part(p));
    }
    if (e->job.start)
        TRY(e->job.start(e->store, e->job.model));
    TRY(build_judge(e, EXP_NETWORK, e->job.network));
    for (int i = 0; i < EXP_OTHERS && e->job.others[i]; i++)
        TRY(build_judge(e, EXP_OTHER + i, e->job.others[i]));
    e->run->params = reln_store_parameters(e->store);
    e->run->params_used = task_trained(e->store);
    return RELN_OK;
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

static uint64_t steps_per_epoch(const ExpPart *part)
{
    return part->load ? part->steps_per_epoch : (uint64_t)(part->train->n / part->batch);
}

/* Number of rows that are shuffled at a time. */
enum { AT_ONCE = 128 };

static RelnStatus move_sample(Part *p, RelnRng *rng, int sample)
{
    const ExpSet *set = p->job->train;
    double *columns[EXP_COLUMNS];

    if (!p->job->move)
        return RELN_OK;
    for (int c = 0; c < set->n_columns; c++)
        columns[c] = (double *)p->column[c] + (ptrdiff_t)sample * set->column[c].size;
    return p->job->move(p->job->self, rng, columns);
}

/* Copies a sample of the training set to its place in the batch, with its rows after those of the samples
 * before it. */
static void copy_sample(Part *p, int sample, ptrdiff_t row)
{
    const ExpSet *set = p->job->train;

    for (int i = 0; i < set->n_columns; i++) {
        const ExpColumn *c = &set->column[i];
        const size_t bytes = bytes_of(c);
        const int r = c->rows - 1;

        if (r >= 0)
            memcpy((char *)p->column[i] + (size_t)p->filled[r] * bytes,
                   (const char *)c->values + (size_t)p->first[r][row] * bytes,
                   (size_t)set->rows[r].counts[row] * bytes);
        else
            memcpy((char *)p->column[i] + (size_t)sample * bytes,
                   (const char *)c->values + (size_t)row * bytes, bytes);
    }
    for (int r = 0; r < set->n_rows; r++) {
        p->counts[r][sample] = set->rows[r].counts[row];
        p->filled[r] += set->rows[r].counts[row];
    }
}

static RelnStatus load(void *self, uint64_t step, ptrdiff_t *n_samples)
{
    Part *p = self;
    const ExpPart *job = p->job;
    const uint64_t seed = p->e->run->seed, per_epoch = steps_per_epoch(job);
    RelnRng rng = reln_rng(seed, 1000 + step);
    ptrdiff_t rows[AT_ONCE];

    if (job->load)
        return job->load(p->e, job->self, step, n_samples);
    *n_samples = job->batch;
    memset(p->filled, 0, sizeof p->filled);
    for (int first = 0; first < job->batch; first += AT_ONCE) {
        const int n = job->batch - first < AT_ONCE ? job->batch - first : AT_ONCE;

        reln_shuffle(seed, step / per_epoch, job->train->n,
                     (ptrdiff_t)(step % per_epoch) * job->batch + first, n, rows);
        for (int i = 0; i < n; i++) {
            copy_sample(p, first + i, rows[i]);
            TRY(move_sample(p, &rng, first + i));
        }
    }
    return bind_filled(p);
}

static RelnStatus evaluate(void *self, uint64_t step, RelnEvaluation *out)
{
    Part *p = self;
    const ExpSet *set = p->job->validation;

    (void)step;
    out->n_metrics = p->job->metric ? 1 : 0;
    if (p->job->evaluate)
        return p->job->evaluate(p->e, p->job->self, out);
    TRY(exp_predict(p->e, EXP_NETWORK, set, p->guess));
    out->score =
        exp_mse(p->guess, column_named(set, "y")->values, set->n, column_named(set, "y")->size);
    return RELN_OK;
}

static RelnStatus curves(const Part *p)
{
    const char *name = p->job->curve ? p->job->curve : "validation error";

    const char *loss = p->job->loss_curve ? p->job->loss_curve : "training loss";

    return task_curve_rows(p->e->run, p->trainer, loss, name, p->job->curve_metric);
}

static void forget_moments(const RelnStore *store)
{
    for (int i = 0; i < reln_store_count(store); i++) {
        const RelnEntryInfo entry = reln_store_entry(store, i);

        if (entry.kind == RELN_ENTRY_MOMENT)
            memset(entry.values, 0, entry.count * (entry.dtype == RELN_F64 ? 8 : 4));
    }
}

/* Trains one part. All training of tasks happens here. */
static RelnStatus train(Part *p, int index)
{
    const ExpPart *job = p->job;
    const bool judged = job->validation || job->evaluate;
    const RelnTrainJob training = {.plan = p->plan,
                                   .store = p->e->store,
                                   .seed = p->e->run->seed,
                                   .n_steps = job->steps,
                                   .steps_per_epoch = steps_per_epoch(job),
                                   .evaluate_every = job->evaluate_every,
                                   .schedule = job->schedule,
                                   .n_metrics = job->metric ? 1 : 0,
                                   .metric_names = {job->metric},
                                   .self = p,
                                   .load = load,
                                   .evaluate = judged ? evaluate : NULL};

    if (job->validation &&
        !(p->guess = exp_room(p->e, (size_t)job->validation->n * (size_t)p->e->size[EXP_NETWORK] *
                                        sizeof *p->guess)))
        return task_nomem(p->e->run->env);
    if (job->fresh)
        forget_moments(p->e->store);
    TRY(task_train(p->e->run, p->e->job.first_part + index, &training, &p->trainer));
    if (judged && !job->last)
        TRY(reln_trainer_take_best(p->trainer));
    return curves(p);
}

static RelnStatus check(TaskRun *run, const ExpPart *part)
{
    if (!part->load && (part->batch < 1 || part->train->n < part->batch))
        return task_fail(run->env, RELN_ERR_ARG, "a batch of %d from %td samples", part->batch,
                         part->train->n);
    if (!part->load && part->move && part->train->n_rows > 0)
        return task_fail(run->env, RELN_ERR_ARG, "samples with rows are moved by load() alone");
    return RELN_OK;
}

RelnStatus exp_fit(TaskRun *run, const ExpJob *job, Exp **out)
{
    Exp *e = *out = calloc(1, sizeof *e);

    if (!e)
        return task_nomem(run->env);
    e->run = run;
    e->job = *job;
    if (!job->network)
        return RELN_OK;
    for (int i = 0; i < job->n_parts; i++)
        TRY(check(run, &job->parts[i]));
    TRY(build(e));
    for (int i = 0; i < job->n_parts; i++)
        TRY(train(&e->part[i], i));
    return job->one_of_several ? RELN_OK : task_keep(run, e->store);
}

void exp_destroy(Exp *e)
{
    if (!e)
        return;
    for (int i = 0; i < EXP_PARTS; i++) {
        reln_trainer_destroy(e->part[i].trainer);
        reln_plan_destroy(e->part[i].plan);
        if (i > 0)
            reln_graph_destroy(e->part[i].graph);
    }
    for (int i = 0; i < PLANS; i++) {
        reln_plan_destroy(e->plan[i]);
        reln_graph_destroy(e->graph[i]);
    }
    if (e->job.group) {
        reln_graph_destroy(e->s.graph);
        reln_store_destroy(e->s.store);
    } else {
        reln_setting_clear(&e->s);
    }
    free(e);
}

RelnStatus exp_run(TaskRun *run, const ExpJob *job, ExpJudge judge, const void *self)
{
    Exp *e = NULL;
    RelnStatus status = exp_fit(run, job, &e);

    if (status == RELN_OK)
        status = judge(run, e, self);
    exp_destroy(e);
    return status;
}

/* ---- predictions --------------------------------------------------------------------------------------------------- */

RelnStore *exp_store(const Exp *e)
{
    return e->store;
}

RelnPlan *exp_plan(const Exp *e, int part)
{
    return e->part[part].plan;
}

RelnPlan *exp_judge(const Exp *e, int plan)
{
    return e->plan[plan];
}

double exp_best_metric(const Exp *e, int part, bool highest)
{
    return task_best_metric(e->part[part].trainer, highest);
}

static ptrdiff_t count_rows(const ExpSet *set, int rows)
{
    ptrdiff_t n = 0;

    for (ptrdiff_t i = 0; i < set->n; i++)
        n += set->rows[rows].counts[i];
    return n;
}

/* Returns whether the plan has an input, or rows, of this name. */
static bool takes(const RelnPlan *plan, const char *name, bool rows)
{
    for (int i = 0; i < reln_plan_input_count(plan); i++) {
        const RelnPort port = reln_plan_input_port(plan, i);

        if (strcmp(rows ? port.rows : port.name, name) == 0)
            return true;
    }
    return false;
}

RelnStatus exp_bind(RelnPlan *plan, const ExpSet *set)
{
    for (int r = 0; r < set->n_rows; r++)
        if (takes(plan, set->rows[r].name, true))
            TRY(reln_plan_bind_rows_sized(plan, set->rows[r].name, set->rows[r].counts,
                                          (size_t)set->n));
    for (int i = 0; i < set->n_columns; i++) {
        const ExpColumn *c = &set->column[i];

        if (takes(plan, c->name, false))
            TRY(bind(plan, c, c->values, c->rows > 0 ? count_rows(set, c->rows - 1) : set->n));
    }
    return RELN_OK;
}

RelnStatus exp_predict(Exp *e, int plan, const ExpSet *set, double *out)
{
    ptrdiff_t n_items = 0, count;
    const void *values;

    if (!e->job.network) {
        e->job.estimate(e->job.model, set->n, set->column[0].values, out);
        return RELN_OK;
    }
    TRY(exp_bind(e->plan[plan], set));
    TRY(reln_plan_run(e->plan[plan], &(RelnRun){.n_samples = set->n}));
    values = reln_plan_output(e->plan[plan], "out", &n_items);
    count = n_items * e->size[plan];
    for (ptrdiff_t i = 0; i < count; i++)
        out[i] = e->job.dtype == RELN_F64 ? ((const double *)values)[i]
                                          : (double)((const float *)values)[i];
    return RELN_OK;
}

RelnStatus exp_outputs(Exp *e, int plan, const ExpSet *set, int size, double **out)
{
    *out = exp_room(e, (size_t)set->n * (size_t)size * sizeof **out);
    return *out ? exp_predict(e, plan, set, *out) : task_nomem(e->run->env);
}

/* ---- the action of g ----------------------------------------------------------------------------------------------- */

/* A Moved holds the samples that g acts on. */
typedef struct Moved {
    const ExpAction *a;
    ptrdiff_t first, n; /* range of the test set */
    int size_x, size_y;
    double *x, *after, *want;
    void *g;
} Moved;

static bool open_moved(Moved *m)
{
    const size_t n = (size_t)m->n;

    m->x = malloc(n * (size_t)m->size_x * sizeof *m->x);
    m->after = malloc(n * (size_t)m->size_y * sizeof *m->after);
    m->want = malloc(n * (size_t)m->size_y * sizeof *m->want);
    m->g = malloc(m->a->size_g);
    return m->x && m->after && m->want && m->g;
}

static void close_moved(Moved *m)
{
    free(m->x);
    free(m->after);
    free(m->want);
    free(m->g);
}

/* Computes m->want = g y for the moved samples. */
static void turn_outputs(Moved *m, const double *y)
{
    const ptrdiff_t size = m->size_y;

    y += m->first * size;
    if (!m->a->turn)
        memcpy(m->want, y, (size_t)(m->n * size) * sizeof *y);
    for (ptrdiff_t i = 0; i < m->n && m->a->turn; i++)
        m->a->turn(m->a->self, m->g, y + i * size, m->want + i * size);
}

static RelnStatus act_once(Exp *e, Moved *m, double share, double sums[2])
{
    const ExpAction *a = m->a;
    const double *x = a->test->x + m->first * a->test->size_x;
    const ExpSet set = exp_inputs(m->n, m->size_x, m->x);

    for (ptrdiff_t i = 0; i < m->n; i++)
        TRY(a->move(a->self, m->g, x + i * a->test->size_x, m->x + i * m->size_x));
    TRY(exp_predict(e, a->plan, &set, m->after));
    turn_outputs(m, a->test->y);
    a->error(m->after, m->want, m->n, m->size_y, share, &sums[0]);
    turn_outputs(m, a->before);
    a->broken(m->after, m->want, m->n, m->size_y, share, &sums[1]);
    return RELN_OK;
}

static RelnStatus act_all(Exp *e, Moved *m, RelnRng *rng, int n, double share, double sums[2])
{
    for (int i = 0; i < n; i++) {
        TRY(exp_go_on(e));
        TRY(m->a->draw(m->a->self, rng, m->g));
        m->first = m->a->blocks > 0 ? i % m->a->blocks * m->n : 0;
        TRY(act_once(e, m, share, sums));
    }
    return RELN_OK;
}

RelnStatus exp_go_on(Exp *e)
{
    const bool asked = task_asked(e->run);
    const RelnStatus status =
        reln_comm_agree(e->run->env->comm, e->run->env->ctx, asked ? RELN_ERR_STOPPED : RELN_OK);

    return status == RELN_ERR_STOPPED ? task_fail(e->run->env, status, "asked to stop") : status;
}

RelnStatus exp_act(Exp *e, const ExpAction *a, RelnRng *rng, int n, double share, double sums[2])
{
    const ExpSamples *test = a->test;
    Moved m = {.a = a,
               .n = a->blocks > 0 ? test->n / a->blocks : test->n,
               .size_x = a->size_x > 0 ? a->size_x : test->size_x,
               .size_y = test->size_y};
    const RelnStatus status =
        open_moved(&m) ? act_all(e, &m, rng, n, share, sums) : task_nomem(e->run->env);

    close_moved(&m);
    return status;
}

RelnStatus exp_act_on(Exp *e, const ExpSet *seen, ExpAction *a, RelnRng *rng, int n, double share,
                      double sums[2])
{
    double *before = NULL;

    TRY(exp_outputs(e, a->plan, seen, a->test->size_y, &before));
    a->before = before;
    return exp_act(e, a, rng, n, share, sums);
}
