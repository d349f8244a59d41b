/* task.c -- the Platonic table: the trained networks, their evaluation, and the numbers of the paper. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/experiment.h"
#include "tasks/platonic/platonic.h"
#include "tasks/settings.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

enum { ID, RC, ID_PUBLISHED };

#define LAYERS(...)                                                                                \
    &(const PlatonicModel)                                                                         \
    {                                                                                              \
        .kind = PLATONIC_LAYERS, .width = 256, .rate = 3e-6, .activation = RELN_ACT_NONE,          \
        __VA_ARGS__                                                                                \
    }
#define MLP(...)                                                                                   \
    &(const PlatonicModel)                                                                         \
    {                                                                                              \
        .kind = PLATONIC_MLP, .rate = 1e-4, .hidden = 3, .activation = RELN_ACT_RELU, __VA_ARGS__  \
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
     .settings = &(const PlatonicModel){.kind = PLATONIC_BEST,
                                        .activation = RELN_ACT_NONE,
                                        .width = 64,
                                        .rate = 3e-3,
                                        .cosine = true}},
};

static const char *const kinds[] = {
    [PLATONIC_LAYERS] = "layers", [PLATONIC_MLP] = "mlp", [PLATONIC_BEST] = "best", NULL};

static const Key model_keys[] = {
    TASK_NUMBER(PlatonicModel, rate), TASK_WORD(PlatonicModel, kind, kinds),
    TASK_WHOLE(PlatonicModel, width), TASK_WHOLE(PlatonicModel, stream),
    TASK_FLAG(PlatonicModel, cosine), TASK_FLAG(PlatonicModel, augment),
    TASK_FLAG(PlatonicModel, relu),   TASK_FLAG(PlatonicModel, bracket),
    TASK_DENSE_KEYS(PlatonicModel),
};

/* ---- scales ------------------------------------------------------------------------------------------------------ */

typedef struct Scale {
    ExpScale exp;
    RelnDtype dtype;
    int rotations;
    int samples; /* drawn once: for validation, to choose weights; for test, to evaluate them */
    char pad[4];
} Scale;

#define SCALE(steps_, every_, rotations_)                                                          \
    {                                                                                              \
        .exp = EXP_SCALE(.batch = 100, .data_seed = 20231004, .steps = steps_,                     \
                         .evaluate_every = every_),                                                \
        .dtype = RELN_F32, .rotations = rotations_, .samples = 1000                                \
    }
static const Scale scales[TASK_SCALES] = {SCALE(8, 4, 2), SCALE(500, 50, 20), SCALE(5000, 50, 500)};

static const Key scale_keys[] = {
    EXP_SCALE_KEYS(Scale),        TASK_WORD(Scale, dtype, task_dtype_words),
    TASK_WHOLE(Scale, rotations), TASK_WHOLE(Scale, samples),
    TASK_PAD(Scale, pad),
};

/* ---- data -------------------------------------------------------------------------------------------------------- */

typedef double Elements[PLATONIC_ELEMENTS][PLATONIC_K][PLATONIC_CHANNELS];

typedef struct Sample {
    ptrdiff_t n;
    int32_t *labels, *which; /* (n), (n, PLATONIC_SET) */
} Sample;

typedef struct Data {
    RelnAlgebra *sl3;
    PlatonicElements elements;
    Sample validation, test;
} Data;

static bool sample_init(TaskRoom **rooms, int n, Sample *sample)
{
    sample->n = n;
    sample->labels = task_room(rooms, (size_t)n, sizeof *sample->labels);
    sample->which = task_room(rooms, (size_t)n, PLATONIC_SET * sizeof *sample->which);
    return sample->labels && sample->which;
}

static RelnStatus draw_sample(TaskEnv *env, const Data *d, uint64_t stream, Sample *sample)
{
    const Scale *scale = task_scale(env);
    RelnRng rng = exp_rng(&scale->exp, stream);

    if (!sample_init(&env->rooms, scale->samples, sample))
        return task_nomem(env);
    platonic_draw(&d->elements, &rng, sample->n, sample->labels, sample->which);
    return RELN_OK;
}

static RelnStatus prepare(TaskEnv *env, void **data)
{
    Data *d = *data = task_room(&env->rooms, 1, sizeof *d);

    if (!d)
        return task_nomem(env);
    TRY(task_algebra(env, "sl:3", &d->sl3));
    TRY(platonic_elements(d->sl3, &d->elements));
    TRY(draw_sample(env, d, 2, &d->validation));
    return draw_sample(env, d, 3, &d->test);
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

typedef struct Fit {
    TaskRun *run;
    const Data *data;
    const PlatonicModel *model;
    bool shared; /* layers run once on all elements, and samples choose; not for an MLP */
    Elements turned;
    Sample batch;
    double *x, *logits; /* (n, PLATONIC_SET, PLATONIC_ROW) of an MLP; (n, PLATONIC_CLASSES) */
} Fit;

static RelnNode *network(const RelnNet *net, const void *model)
{
    const PlatonicModel *m = model;

    return m->kind == PLATONIC_MLP ? platonic_network(net, m) : platonic_network_shared(net, m);
}

static RelnNode *loss(const RelnNet *net, const void *model, RelnNode *logits)
{
    RelnNode *label = reln_input_index(net->graph, "label", RELN_SAMPLES, (RelnDims){0}, RELN_STEP,
                                       PLATONIC_CLASSES);

    (void)model;
    return reln_loss_mean(net->graph, &(RelnLoss){.kind = RELN_LOSS_CROSS_ENTROPY}, logits, label);
}

static void lay_out(const Elements elements, const Sample *sample, double *x)
{
    for (ptrdiff_t i = 0; i < sample->n * PLATONIC_SET; i++)
        memcpy(x + i * PLATONIC_ROW, elements[sample->which[i]], sizeof elements[0]);
}

/* Returns the inputs of the network for a sample. */
static ExpSet set_of(Fit *f, const Elements elements, const Sample *sample)
{
    if (f->shared)
        return (ExpSet){.n = sample->n,
                        .n_columns = 2,
                        .column = {{EXP_NUMBERS("elements", 0, elements),
                                    .all = sizeof(Elements) / sizeof(double)},
                                   {EXP_INDICES("which", PLATONIC_SET, sample->which)}}};
    lay_out(elements, sample, f->x);
    return (ExpSet){.n = sample->n,
                    .n_columns = 1,
                    .column = {{EXP_NUMBERS("x", PLATONIC_SET * PLATONIC_ROW, f->x)}}};
}

/* Samples of a step are drawn from (seed, step); augmentation uses one rotation for all of them, as
 * published. */
static RelnStatus load(Exp *e, void *self, uint64_t step, ptrdiff_t *n_samples)
{
    Fit *f = self;
    RelnRng rng = reln_rng(f->run->seed + (uint64_t)f->model->stream, step);
    double ad[PLATONIC_K * PLATONIC_K];
    ExpSet set;

    platonic_draw(&f->data->elements, &rng, f->batch.n, f->batch.labels, f->batch.which);
    *n_samples = f->batch.n;
    memcpy(f->turned, f->data->elements.x, sizeof f->turned);
    if (f->model->augment) {
        TRY(platonic_rotation(f->data->sl3, &rng, true, ad));
        platonic_rotate(ad, &f->data->elements, f->turned);
    }
    set = set_of(f, (const double(*)[PLATONIC_K][PLATONIC_CHANNELS])f->turned, &f->batch);
    TRY(reln_plan_bind_sized(exp_plan(e, 0), "label", f->batch.labels, RELN_I32,
                             (size_t)f->batch.n));
    return exp_bind(exp_plan(e, 0), &set);
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

/* Returns the share of samples whose largest logit is that of their label, and the mean cross entropy. */
static double accuracy(const double *logits, const Sample *sample, double *entropy)
{
    const double n = (double)sample->n;
    int right = 0;

    *entropy = 0;
    for (ptrdiff_t i = 0; i < sample->n; i++) {
        const double *l = logits + i * PLATONIC_CLASSES;
        double sum = 0;
        int best = 0;

        for (int c = 1; c < PLATONIC_CLASSES; c++)
            best = l[c] > l[best] ? c : best;
        for (int c = 0; c < PLATONIC_CLASSES; c++)
            sum += exp(l[c] - l[best]);
        *entropy += (log(sum) + l[best] - l[sample->labels[i]]) / n;
        right += best == sample->labels[i];
    }
    return right / n;
}

static RelnStatus judge_on(Exp *e, Fit *f, const Elements elements, const Sample *sample,
                           double *entropy, double *share)
{
    const ExpSet set = set_of(f, elements, sample);

    TRY(exp_predict(e, EXP_NETWORK, &set, f->logits));
    *share = accuracy(f->logits, sample, entropy);
    return RELN_OK;
}

/* The score is the share of errors on the validation samples, and for equal shares the entropy. The metric is
 * the accuracy on the test samples, by which the published code chooses. */
static RelnStatus evaluate(Exp *e, void *self, RelnEvaluation *out)
{
    Fit *f = self;
    double entropy, share;

    TRY(judge_on(e, f, f->data->elements.x, &f->data->validation, &entropy, &share));
    out->score = 1 - share + 1e-4 * entropy / (1 + entropy);
    return judge_on(e, f, f->data->elements.x, &f->data->test, &entropy, &out->metrics[0]);
}

static RelnStatus judge(TaskRun *run, Exp *e, const void *self)
{
    Fit copy = *(const Fit *)self, *f = &copy;
    const Scale *scale = task_scale(run->env);
    const Sample *test = &f->data->test;
    const double n = (double)test->n;
    RelnRng rng = exp_rng(&scale->exp, /*stream=*/4);
    double ad[PLATONIC_K * PLATONIC_K], entropy, share, sum = 0;

    TRY(judge_on(e, f, f->data->elements.x, test, &entropy, &run->metrics[ID]));
    for (int r = 0; r < scale->rotations; r++) {
        TRY(exp_go_on(e));
        TRY(platonic_rotation(f->data->sl3, &rng, false, ad));
        platonic_rotate(ad, &f->data->elements, f->turned);
        TRY(judge_on(e, f, (const double(*)[PLATONIC_K][PLATONIC_CHANNELS])f->turned, test,
                     &entropy, &share));
        sum += share * n; /* whole numbers of correct answers add up exactly */
    }
    run->metrics[RC] = sum / n / scale->rotations;
    run->metrics[ID_PUBLISHED] = exp_best_metric(e, 0, true);
    return RELN_OK;
}

static RelnStatus fit(Fit *f)
{
    const Scale *scale = task_scale(f->run->env);
    const PlatonicModel *m = f->model;
    ExpPart part = exp_part(&scale->exp, m->rate, m->cosine);

    part.load = load;
    part.loss_of = loss;
    part.evaluate = evaluate;
    part.metric = "test accuracy";
    part.curve = "accuracy on the test samples";
    part.curve_metric = true;
    part.self = f;
    return exp_run(f->run,
                   &(ExpJob){.symmetry = m->kind == PLATONIC_MLP ? "none:3" : "sl:3",
                             .features = "sl:3",
                             .dtype = scale->dtype,
                             .stream = (uint64_t)m->stream,
                             .network = network,
                             .model = m,
                             .n_parts = 1,
                             .parts = &part},
                   judge, f);
}

/* Allocates memory for a batch and for the evaluation. */
static bool open_fit(Fit *f)
{
    const Scale *scale = task_scale(f->run->env);
    TaskRoom **const rooms = &f->run->rooms;
    const size_t most =
        (size_t)(scale->samples > scale->exp.batch ? scale->samples : scale->exp.batch);

    f->logits = task_room(rooms, most, PLATONIC_CLASSES * sizeof *f->logits);
    f->x = task_room(rooms, f->shared ? 1 : most, PLATONIC_SET * PLATONIC_ROW * sizeof *f->x);
    return sample_init(rooms, scale->exp.batch, &f->batch) && f->logits && f->x;
}

static RelnStatus run(TaskRun *run, const void *data)
{
    Fit f = {.run = run, .data = data, .model = run->model->settings};

    f.shared = f.model->kind != PLATONIC_MLP;
    return open_fit(&f) ? fit(&f) : task_nomem(run->env);
}

const Task task_platonic = {
    .name = "platonic",
    .purpose = "which Platonic solid, from homographies between its faces",
    .about = "Networks tell octahedra, icosahedra and tetrahedra apart by homographies between "
             "their faces, as elements of sl(3): twelve edges of a solid, each with three "
             "homographies. They are trained with one camera.\n\nColumns: the accuracy with that "
             "camera (ID) and with rotated cameras (RC), and the best test accuracy of any "
             "checkpoint, by which the published code chooses. On sl(3) ReLN and Lie Neurons are "
             "one network: the two rows differ in their seeds.",
    .n_metrics = 3,
    .main_metric = 1,
    .metrics =
        {{.name = "id", .label = "ID", .percent = true, .more = true},
         {.name = "rc", .label = "RC", .percent = true, .more = true},
         {.name = "id_published", .label = "ID, chosen on test", .percent = true, .more = true}},
    .n_models = sizeof models / sizeof models[0],
    .models = models,
    .seeds = {1, 1, 5},
    .scale_fields = TASK_FIELDS(Scale, scale_keys),
    .row_fields = TASK_FIELDS(PlatonicModel, model_keys),
    .scales = scales,
    .prepare = prepare,
    .run = run,
};
