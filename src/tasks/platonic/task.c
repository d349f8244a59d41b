/* task.c -- the Platonic table: what is trained, how it is judged, and what the paper reports. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/platonic/platonic.h"

enum { BATCH = 100, JUDGED = 1000 };

/* ---- rows ---------------------------------------------------------------------------------------------------------- */

enum { ID, RC, ID_PUBLISHED };

#define LAYERS(...)                                                                                \
    &(const PlatonicModel)                                                                         \
    {                                                                                              \
        .kind = PLATONIC_LAYERS, .width = 256, .rate = 3e-6, __VA_ARGS__                           \
    }
#define MLP(...)                                                                                   \
    &(const PlatonicModel)                                                                         \
    {                                                                                              \
        .kind = PLATONIC_MLP, .rate = 1e-4, __VA_ARGS__                                            \
    }

static const TaskModel models[] = {
    {.name = "mlp-256",
     .label = "MLP 256",
     .params = 206339,
     .paper = {{0.9576, 0.0065}, {0.3654, 0.0099}},
     .peer_seconds = 16,
     .settings = MLP(.width = 256)},
    {.name = "mlp-256-aug",
     .label = "MLP 256 + augmentation",
     .params = 206339,
     .paper = {{0.8147, 0.0077}, {0.8120, 0.0234}},
     .settings = MLP(.width = 256, .augment = true)},
    {.name = "mlp-386",
     .label = "MLP 386",
     .params = 411479,
     .paper = {{0.9682, 0.0053}, {0.3655, 0.0034}},
     .settings = MLP(.width = 386)},
    {.name = "mlp-386-aug",
     .label = "MLP 386 + augmentation",
     .params = 411479,
     .paper = {{0.8522, 0.0146}, {0.8343, 0.0051}},
     .settings = MLP(.width = 386, .augment = true)},
    {.name = "lie-neurons",
     .label = "Lie Neurons",
     .params = 331272,
     .paper = {{0.9962, 0.0025}, {0.9961, 0.0014}},
     .peer_seconds = 3160,
     .settings = LAYERS(.relu = true, .bracket = true, .stream = 1000)},
    {.name = "reln",
     .label = "ReLN",
     .params = 331272,
     .paper = {{0.9978, 0.0004}, {0.9978, 0.0004}},
     .peer_seconds = 3160,
     .settings = LAYERS(.relu = true, .bracket = true)},
    {.name = "reln-relu",
     .label = "ReLN, ReLU only",
     .paper = {{0.9956, 0.0023}, {0.9951, 0.0028}},
     .settings = LAYERS(.relu = true)},
    {.name = "reln-bracket",
     .label = "ReLN, bracket only",
     .paper = {{0.9914, 0.0021}, {0.9878, 0.0049}},
     .settings = LAYERS(.bracket = true)},
    {.name = "best",
     .label = "bounded sizes (ours)",
     .settings =
         &(const PlatonicModel){.kind = PLATONIC_BEST, .width = 64, .rate = 3e-3, .cosine = true}},
};

/* ---- scales -------------------------------------------------------------------------------------------------------- */

typedef struct Scale {
    uint64_t steps, evaluate_every;
    int rotations;
} Scale;

static const Scale scales[TASK_SCALES] = {{8, 4, 2}, {500, 50, 20}, {5000, 50, 500}};

/* Samples that are drawn once: validation's for choosing weights, test's for judging them. */
typedef struct Sample {
    int32_t labels[JUDGED], which[JUDGED * PLATONIC_SET];
} Sample;

typedef struct Data {
    RelnAlgebra *sl3;
    PlatonicElements elements;
    Sample validation, test;
} Data;

static RelnStatus prepare(TaskEnv *env, void **data)
{
    RelnRng validation = reln_rng(/*seed=*/20231004, 2), test = reln_rng(20231004, 3);
    Data *d = calloc(1, sizeof *d);

    if (!d)
        return task_nomem(env);
    *data = d;
    TRY(reln_algebra_create(env->ctx, "sl:3", &d->sl3));
    TRY(platonic_elements(d->sl3, &d->elements));
    platonic_draw(&d->elements, &validation, JUDGED, d->validation.labels, d->validation.which);
    platonic_draw(&d->elements, &test, JUDGED, d->test.labels, d->test.which);
    return RELN_OK;
}

static void release(void *data)
{
    Data *d = data;

    if (d)
        reln_algebra_destroy(d->sl3);
    free(d);
}

static void describe(const TaskEnv *env, const TaskModel *model, RelnDoc *doc, RelnDocNode *map)
{
    const Scale *scale = &scales[env->scale];
    const PlatonicModel *m = model->settings;

    reln_doc_set_number(doc, map, "batch", BATCH);
    reln_doc_set_number(doc, map, "steps", (double)scale->steps);
    reln_doc_set_number(doc, map, "evaluate_every", (double)scale->evaluate_every);
    reln_doc_set_number(doc, map, "rotations", scale->rotations);
    reln_doc_set_number(doc, map, "samples", JUDGED);
    reln_doc_set_number(doc, map, "width", m->width);
    reln_doc_set_number(doc, map, "rate", m->rate);
    reln_doc_set_bool(doc, map, "cosine", m->cosine);
    reln_doc_set_bool(doc, map, "augment", m->augment);
}

/* ---- one run ------------------------------------------------------------------------------------------------------- */

typedef double Elements[PLATONIC_ELEMENTS][PLATONIC_K][PLATONIC_CHANNELS];

typedef struct Fit {
    TaskRun *run;
    const Data *data;
    const PlatonicModel *model;
    bool shared; /* elements once and samples choose; an MLP wants them laid out */
    RelnSetting s;
    RelnGraph *judge_graph;
    RelnPlan *plan, *judge;
    RelnTrainer *trainer;
    Elements turned;
    int32_t labels[BATCH], which[BATCH * PLATONIC_SET];
    double x[BATCH * PLATONIC_SET * PLATONIC_ROW];
    double *judged; /* (JUDGED, PLATONIC_SET, PLATONIC_ROW), for an MLP */
} Fit;

static RelnNode *network(const Fit *f, RelnGraph *g, bool train)
{
    const RelnNet net = {.graph = g, .algebra = f->s.algebra, .train = train};

    return f->shared ? platonic_network_shared(&net, f->model) : platonic_network(&net, f->model);
}

static RelnStatus build_training(Fit *f)
{
    RelnGraph *g = f->s.graph;
    RelnNode *logits = network(f, g, true);
    RelnNode *label =
        reln_input_index(g, "label", RELN_SAMPLES, (RelnDims){0}, RELN_STEP, PLATONIC_CLASSES);
    RelnNode *loss = reln_loss_mean(g, &(RelnLoss){.kind = RELN_LOSS_CROSS_ENTROPY}, logits, label);

    reln_train_step(g, &(RelnOptimiser){.kind = RELN_OPTIMISER_ADAM, .adam = RELN_ADAM_DEFAULTS},
                    loss);
    TRY(reln_plan_create(g, &(RelnPlanOptions){.pool = f->run->env->pool}, &f->plan));
    TRY(reln_plan_bind(f->plan, "label", f->labels, RELN_I32));
    if (!f->shared)
        return reln_plan_bind(f->plan, "x", f->x, RELN_F64);
    TRY(reln_plan_bind(f->plan, "elements", f->data->elements.x, RELN_F64));
    return reln_plan_bind(f->plan, "which", f->which, RELN_I32);
}

static RelnStatus build(Fit *f)
{
    const char *symmetry = f->model->kind == PLATONIC_MLP ? "none:3" : "sl:3";

    TRY(reln_setting_init_in(&f->s, f->run->env->ctx, symmetry, "sl:3", RELN_F32,
                             f->run->seed + f->model->stream));
    TRY(build_training(f));
    TRY(reln_graph_create(f->s.group, f->s.store, RELN_F32, &f->judge_graph));
    reln_output(f->judge_graph, "out", network(f, f->judge_graph, false));
    TRY(reln_plan_create(f->judge_graph, &(RelnPlanOptions){.pool = f->run->env->pool}, &f->judge));
    f->run->params = reln_store_parameters(f->s.store);
    f->run->params_used = task_trained(f->s.store);
    f->judged = f->shared ? NULL : malloc(sizeof(double) * JUDGED * PLATONIC_SET * PLATONIC_ROW);
    return f->shared || f->judged ? RELN_OK : task_nomem(f->run->env);
}

static void lay_out(const Elements elements, ptrdiff_t n, const int32_t *which, double *x)
{
    for (ptrdiff_t i = 0; i < n * PLATONIC_SET; i++)
        memcpy(x + i * PLATONIC_ROW, elements[which[i]], sizeof elements[0]);
}

/* Samples of a step are drawn from (seed, step); with augmentation, one rotation for all of them, as published. */
static RelnStatus load(void *self, uint64_t step, ptrdiff_t *n_samples)
{
    Fit *f = self;
    RelnRng rng = reln_rng(f->run->seed + f->model->stream, step);
    double ad[PLATONIC_K * PLATONIC_K];

    platonic_draw(&f->data->elements, &rng, BATCH, f->labels, f->which);
    *n_samples = BATCH;
    if (f->shared)
        return RELN_OK;
    memcpy(f->turned, f->data->elements.x, sizeof f->turned);
    if (f->model->augment) {
        TRY(platonic_rotation(f->data->sl3, &rng, true, ad));
        platonic_rotate(ad, &f->data->elements, f->turned);
    }
    lay_out((const double(*)[PLATONIC_K][PLATONIC_CHANNELS])f->turned, BATCH, f->which, f->x);
    return RELN_OK;
}

/* ---- judging ------------------------------------------------------------------------------------------------------- */

static RelnStatus predict(Fit *f, const Elements elements, const Sample *sample, const float **out)
{
    if (f->shared) {
        TRY(reln_plan_bind(f->judge, "elements", elements, RELN_F64));
        TRY(reln_plan_bind(f->judge, "which", sample->which, RELN_I32));
    } else {
        lay_out(elements, JUDGED, sample->which, f->judged);
        TRY(reln_plan_bind(f->judge, "x", f->judged, RELN_F64));
    }
    TRY(reln_plan_run(f->judge, &(RelnRun){.n_samples = JUDGED}));
    *out = reln_plan_output(f->judge, "out", NULL);
    return RELN_OK;
}

/* Share of samples whose largest logit is their label's, and the mean cross entropy. */
static double accuracy(const float *logits, const Sample *sample, double *entropy)
{
    int right = 0;

    *entropy = 0;
    for (int i = 0; i < JUDGED; i++) {
        const float *l = logits + i * PLATONIC_CLASSES;
        int best = 0;
        double sum = 0;
        for (int c = 1; c < PLATONIC_CLASSES; c++)
            best = l[c] > l[best] ? c : best;
        for (int c = 0; c < PLATONIC_CLASSES; c++)
            sum += exp((double)l[c] - (double)l[best]);
        *entropy += (log(sum) + (double)l[best] - (double)l[sample->labels[i]]) / JUDGED;
        right += best == sample->labels[i];
    }
    return (double)right / JUDGED;
}

static RelnStatus judge_on(Fit *f, const Elements elements, const Sample *sample, double *entropy,
                           double *share)
{
    const float *logits = NULL;

    TRY(predict(f, elements, sample, &logits));
    *share = accuracy(logits, sample, entropy);
    return RELN_OK;
}

/* The score is validation's share of errors, and among equals its entropy; beside it the accuracy on the test samples, by
 * which the published code chooses. */
static RelnStatus evaluate(void *self, uint64_t step, RelnEvaluation *out)
{
    Fit *f = self;
    double entropy, share;

    (void)step;
    TRY(judge_on(f, f->data->elements.x, &f->data->validation, &entropy, &share));
    out->score = 1 - share + 1e-4 * entropy / (1 + entropy);
    TRY(judge_on(f, f->data->elements.x, &f->data->test, &entropy, &share));
    out->n_metrics = 1;
    out->metrics[0] = share;
    return RELN_OK;
}

static RelnStatus train(Fit *f)
{
    const Scale *scale = &scales[f->run->env->scale];
    const RelnTrainJob job = {.plan = f->plan,
                              .store = f->s.store,
                              .seed = f->run->seed,
                              .n_steps = scale->steps,
                              .evaluate_every = scale->evaluate_every,
                              .schedule =
                                  task_schedule(f->model->rate, f->model->cosine, scale->steps),
                              .n_metrics = 1,
                              .metric_names = {"test accuracy"},
                              .self = f,
                              .load = load,
                              .evaluate = evaluate};

    TRY(task_train(f->run, 0, &job, &f->trainer));
    return reln_trainer_take_best(f->trainer);
}

static RelnStatus judge(Fit *f)
{
    const int rotations = scales[f->run->env->scale].rotations;
    RelnRng rng = reln_rng(/*seed=*/20231004, /*stream=*/4);
    double ad[PLATONIC_K * PLATONIC_K], entropy, share, sum = 0;

    TRY(judge_on(f, f->data->elements.x, &f->data->test, &entropy, &f->run->metrics[ID]));
    for (int r = 0; r < rotations; r++) {
        if (task_asked(f->run))
            return task_fail(f->run->env, RELN_ERR_STOPPED, "asked to stop");
        TRY(platonic_rotation(f->data->sl3, &rng, false, ad));
        platonic_rotate(ad, &f->data->elements, f->turned);
        TRY(judge_on(f, (const double(*)[PLATONIC_K][PLATONIC_CHANNELS])f->turned, &f->data->test,
                     &entropy, &share));
        sum += share * JUDGED; /* whole numbers of right answers add up exactly */
    }
    f->run->metrics[RC] = sum / JUDGED / rotations;
    f->run->metrics[ID_PUBLISHED] = task_best_metric(f->trainer, true);
    return RELN_OK;
}

static RelnStatus fit(Fit *f)
{
    const RelnTrainRow *rows = NULL;
    int n;

    TRY(build(f));
    TRY(train(f));
    TRY(judge(f));
    n = reln_trainer_rows(f->trainer, &rows);
    for (int i = 0; i < n; i++) {
        TRY(task_curve(f->run, "training loss", (double)rows[i].step, rows[i].loss));
        TRY(task_curve(f->run, "accuracy on the test samples", (double)rows[i].step,
                       rows[i].evaluation.metrics[0]));
    }
    return task_keep(f->run, f->s.store);
}

static RelnStatus run(TaskRun *run, const void *data)
{
    Fit *f = calloc(1, sizeof *f);
    RelnStatus status;

    if (!f)
        return task_nomem(run->env);
    f->run = run;
    f->data = data;
    f->model = run->model->settings;
    f->shared = f->model->kind != PLATONIC_MLP;
    status = fit(f);
    reln_trainer_destroy(f->trainer);
    reln_plan_destroy(f->judge);
    reln_plan_destroy(f->plan);
    reln_graph_destroy(f->judge_graph);
    reln_setting_clear(&f->s);
    free(f->judged);
    free(f);
    return status;
}

const Task task_platonic = {
    .name = "platonic",
    .purpose = "which Platonic solid, from homographies between its faces",
    .about =
        "A camera sees an octahedron, icosahedron or tetrahedron. Every ordered edge gives three "
        "homographies between the "
        "faces beside it, as elements of sl(3); a sample is twelve edges of one solid. When the "
        "camera turns, every "
        "homography is conjugated by its rotation. Accuracy is over 1,000 samples as drawn (ID) "
        "and in 500 rotated "
        "cameras (RC, rotations uniform). Weights are those of the best validation samples; the "
        "last column has the "
        "best test accuracy of any checkpoint instead, which is how the published code chooses.\n\n"
        "On sl(3) the forms of ReLN and Lie Neurons are one, and so are the networks: the two rows "
        "differ by their seeds. "
        "156 of the 288 homographies have no real logarithm; they enter as log(H^2)/2. There are "
        "only 96 different "
        "elements, and the test samples are made of the same ones. The paper's 5000 epochs are "
        "5000 steps.",
    .n_metrics = 3,
    .metrics =
        {{.name = "id", .label = "ID", .percent = true, .more = true},
         {.name = "rc", .label = "RC", .percent = true, .more = true},
         {.name = "id_published", .label = "ID, chosen on test", .percent = true, .more = true}},
    .n_models = sizeof models / sizeof models[0],
    .models = models,
    .seeds = {1, 1, 5},
    .prepare = prepare,
    .release = release,
    .describe = describe,
    .run = run,
};
