/* task.c -- the table of splats: pre-training, classification, and the effect of rotations. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/settings.h"
#include "tasks/splats/data.h"
#include "tasks/splats/picture.h"

/* ---- rows ---------------------------------------------------------------------------------------------------------------- */

enum { ALIGNED, ROTATED, TURNED_Z, PAIR, FLIPS = PAIR + SPLATS_PAIRS, CHAMFER, METRICS };

typedef struct Row {
    SplatsKind kind;
    SplatsFeature feature;
    bool full, bracket; /* ReLN */
    bool augment,
        canonical; /* training objects are rotated; all objects are turned to principal axes */
    bool pretrain;
    bool handed; /* ReLN: the classifier sees products that change sign in a mirror */
    char pad[2];
} Row;

#define BASELINE(...)                                                                              \
    &(const Row)                                                                                   \
    {                                                                                              \
        .kind = SPLATS_BASELINE, __VA_ARGS__                                                       \
    }
#define RELN(...)                                                                                  \
    &(const Row)                                                                                   \
    {                                                                                              \
        .kind = SPLATS_RELN, __VA_ARGS__                                                           \
    }
#define NEAREST(...)                                                                               \
    &(const Row)                                                                                   \
    {                                                                                              \
        .kind = SPLATS_NEAREST, __VA_ARGS__                                                        \
    }

static const TaskModel models[] = {
    {.name = "majority",
     .label = "most frequent class",
     .settings = &(const Row){.kind = SPLATS_MAJORITY}},
    {.name = "nearest-spread",
     .label = "5-NN, sorted deviations",
     .settings = NEAREST(.feature = SPLATS_SPREAD)},
    {.name = "nearest-distance",
     .label = "5-NN, distances",
     .settings = NEAREST(.feature = SPLATS_DISTANCE)},
    {.name = "nearest-grid", .label = "5-NN, grid", .settings = NEAREST(.feature = SPLATS_GRID)},
    {.name = "nearest-grid-pca",
     .label = "5-NN, grid in principal axes",
     .settings = NEAREST(.feature = SPLATS_GRID, .canonical = true)},
    {.name = "baseline", .label = "Gaussian-MAE", .settings = BASELINE(.augment = false)},
    {.name = "baseline-pre",
     .label = "Gaussian-MAE, pre-trained",
     .paper = {{0.9339, 0}, {0.1828, 0}},
     .settings = BASELINE(.pretrain = true)},
    {.name = "baseline-so3",
     .label = "Gaussian-MAE + rotations",
     .settings = BASELINE(.augment = true)},
    {.name = "baseline-so3-pre",
     .label = "Gaussian-MAE + rotations, pre-trained",
     .settings = BASELINE(.augment = true, .pretrain = true)},
    {.name = "baseline-pca",
     .label = "Gaussian-MAE in principal axes",
     .settings = BASELINE(.canonical = true)},
    {.name = "baseline-pca-pre",
     .label = "Gaussian-MAE in principal axes, pre-trained",
     .settings = BASELINE(.canonical = true, .pretrain = true)},
    {.name = "reln-paper", .label = "ReLN, the paper's lift", .settings = RELN(.bracket = true)},
    {.name = "reln-paper-pre",
     .label = "ReLN, the paper's lift, pre-trained",
     .paper = {{0.9482, 0}, {0.9515, 0}},
     .settings = RELN(.bracket = true, .pretrain = true)},
    {.name = "reln-no-bracket",
     .label = "ReLN, full lift, no brackets",
     .settings = RELN(.full = true)},
    {.name = "reln-no-bracket-pre",
     .label = "ReLN, full lift, no brackets, pre-trained",
     .settings = RELN(.full = true, .pretrain = true)},
    {.name = "reln",
     .label = "ReLN, full lift",
     .settings = RELN(.full = true, .bracket = true, .handed = true)},
    {.name = "reln-pre",
     .label = "ReLN, full lift, pre-trained",
     .settings = RELN(.full = true, .bracket = true, .handed = true, .pretrain = true)},
};

static const char *const kind_words[] = {[SPLATS_BASELINE] = "baseline",
                                         [SPLATS_RELN] = "reln",
                                         [SPLATS_NEAREST] = "nearest",
                                         [SPLATS_MAJORITY] = "majority",
                                         NULL};
static const char *const feature_words[] = {
    [SPLATS_GRID] = "grid", [SPLATS_SPREAD] = "spread", [SPLATS_DISTANCE] = "distance", NULL};
static const Key row_keys[] = {
    TASK_WORD(Row, kind, kind_words),
    TASK_WORD(Row, feature, feature_words),
    TASK_FLAG(Row, full),
    TASK_FLAG(Row, bracket),
    TASK_FLAG(Row, augment),
    TASK_FLAG(Row, canonical),
    TASK_FLAG(Row, pretrain),
    TASK_FIELD(Row, handed, .kind = KEY_FLAG, .before = "false"),
    TASK_PAD(Row, pad),
};

/* ---- scales ---------------------------------------------------------------------------------------------------------------- */

typedef struct Scale {
    double rate, floor, decay, clip, skip, dropout;
    int data_seed, batch;
    int pretrain_epochs, epochs, evaluations;   /* evaluations of each training */
    int train_each, validation_each, test_each; /* procedural objects of a class */
    int made; /* splats of a procedural object, or of an object of a folder */
    int splats, groups, members, masked;
    int width, channels, scalars, depth, decoder, heads; /* width: of the baseline */
    int rotations;     /* number of rotations of each test object */
    int angle_objects; /* number of test objects for accuracy against the angle */
    RelnDtype dtype;
} Scale;

#define SCALE(...)                                                                                 \
    {                                                                                              \
        .rate = 1e-3, .floor = 1e-3, .decay = 0.05, .clip = 10, .skip = 0.1, .dropout = 0.3,       \
        .data_seed = 20250917, .dtype = RELN_F32, __VA_ARGS__                                      \
    }
static const Scale scales[TASK_SCALES] = {
    SCALE(.batch = 10, .pretrain_epochs = 1, .epochs = 1, .evaluations = 1, .train_each = 4,
          .validation_each = 2, .test_each = 3, .made = 96, .splats = 64, .groups = 8, .members = 6,
          .masked = 4, .width = 12, .channels = 4, .scalars = 8, .depth = 1, .decoder = 1,
          .heads = 2, .rotations = 1, .angle_objects = 10),
    SCALE(.batch = 20, .pretrain_epochs = 10, .epochs = 30, .evaluations = 15, .train_each = 80,
          .validation_each = 20, .test_each = 50, .made = 512, .splats = 256, .groups = 24,
          .members = 12, .masked = 14, .width = 48, .channels = 8, .scalars = 24, .depth = 2,
          .decoder = 1, .heads = 4, .rotations = 1, .angle_objects = 100),
    SCALE(.batch = 32, .pretrain_epochs = 15, .epochs = 40, .evaluations = 20, .train_each = 160,
          .validation_each = 20, .test_each = 50, .made = 1024, .splats = 512, .groups = 32,
          .members = 16, .masked = 19, .width = 96, .channels = 16, .scalars = 32, .depth = 4,
          .decoder = 2, .heads = 4, .rotations = 1, .angle_objects = 200),
};

static const Key scale_keys[] = {
    TASK_NUMBER(Scale, rate),
    TASK_NUMBER(Scale, floor),
    TASK_NUMBER(Scale, decay),
    TASK_NUMBER(Scale, clip),
    TASK_NUMBER(Scale, skip),
    TASK_NUMBER(Scale, dropout),
    TASK_WHOLE(Scale, data_seed),
    TASK_WHOLE(Scale, batch),
    TASK_WHOLE(Scale, pretrain_epochs),
    TASK_WHOLE(Scale, epochs),
    TASK_WHOLE(Scale, evaluations),
    TASK_WHOLE(Scale, train_each),
    TASK_WHOLE(Scale, validation_each),
    TASK_WHOLE(Scale, test_each),
    TASK_WHOLE(Scale, made),
    TASK_WHOLE(Scale, splats),
    TASK_WHOLE(Scale, groups),
    TASK_WHOLE(Scale, members),
    TASK_WHOLE(Scale, masked),
    TASK_WHOLE(Scale, width),
    TASK_WHOLE(Scale, channels),
    TASK_WHOLE(Scale, scalars),
    TASK_WHOLE(Scale, depth),
    TASK_WHOLE(Scale, decoder),
    TASK_WHOLE(Scale, heads),
    TASK_WHOLE(Scale, rotations),
    TASK_WHOLE(Scale, angle_objects),
    TASK_WORD(Scale, dtype, task_dtype_words),
};

static SplatsNet net_of(const Scale *s, const Row *row, int classes)
{
    const bool reln = row->kind == SPLATS_RELN;
    const int c = reln ? s->channels : s->width;

    return (SplatsNet){
        .kind = row->kind,
        .splats = s->splats,
        .groups = s->groups,
        .members = s->members,
        .masked = s->masked,
        .slots = s->members,
        .classes = classes,
        .width = c,
        .scalars = s->scalars,
        .depth = s->depth,
        .decoder = s->decoder,
        .heads = s->heads,
        .token = {reln ? c : c / 2, reln ? s->scalars : 2 * c / 3, reln ? 0 : 4 * c / 3},
        .embed = s->scalars,
        .head = 2 * s->width,
        .skip = s->skip,
        .dropout = s->dropout,
        .all = true,
        .full = row->full,
        .bracket = row->bracket,
        .handed = row->handed};
}

/* ---- data ------------------------------------------------------------------------------------------------------------------- */

typedef struct Data {
    bool procedural;
    SplatsObjects train, validation, test;
} Data;

static RelnStatus prepare_procedural(TaskEnv *env, Data *d)
{
    const Scale *s = task_scale(env);
    const uint64_t seed = (uint64_t)s->data_seed;

    d->procedural = true;
    TRY(splats_procedural(env, seed, 0, s->train_each, s->made, &d->train));
    TRY(splats_procedural(env, seed, 100000, s->validation_each, s->made, &d->validation));
    return splats_procedural(env, seed, 200000, s->test_each, s->made, &d->test);
}

static RelnStatus check_data(TaskEnv *env, const Data *d)
{
    const Scale *s = task_scale(env);

    if (d->train.n < s->batch || d->test.n < 1 || d->validation.n < 1)
        return task_fail(env, RELN_ERR_ARG,
                         "%td objects to train, %td to validate and %td to test; wanted at least "
                         "%d, 1 and 1",
                         d->train.n, d->validation.n, d->test.n, s->batch);
    if (d->train.splats < s->splats)
        return task_fail(env, RELN_ERR_ARG, "objects of %d points; wanted at least %d",
                         d->train.splats, s->splats);
    if (d->test.n_classes > d->train.n_classes)
        return task_fail(env, RELN_ERR_ARG, "%d classes to test, %d to train", d->test.n_classes,
                         d->train.n_classes);
    return RELN_OK;
}

/* Validation is every tenth object of the training data; test data are the given ones, or another tenth. */
static RelnStatus divide(TaskEnv *env, const SplatsObjects *all, Data *d)
{
    SplatsObjects rest = *all;

    if (d->test.n == 0) {
        TRY(splats_part(env, all, 9, 10, false, &d->test));
        TRY(splats_part(env, all, 9, 10, true, &rest));
    }
    TRY(splats_part(env, &rest, 4, 10, false, &d->validation));
    TRY(splats_part(env, &rest, 4, 10, true, &d->train));
    return check_data(env, d);
}

static RelnStatus prepare(TaskEnv *env, void **data)
{
    const char *file = task_option(env, "data"), *folder = task_option(env, "folder"),
               *test = task_option(env, "test");
    Data *d = *data = task_room(&env->rooms, 1, sizeof *d);
    SplatsObjects all = {0};

    if (!d)
        return task_nomem(env);
    if (file && folder)
        return task_fail(env, RELN_ERR_ARG, "--data and --folder; wanted one of them");
    if (!file && !folder)
        return prepare_procedural(env, d);
    if (file)
        TRY(splats_from_arrays(env, file, &all));
    else
        TRY(splats_from_folder(env, folder, ((const Scale *)task_scale(env))->made, &all,
                               &d->test));
    if (test)
        TRY(splats_from_arrays(env, test, &d->test));
    return divide(env, &all, d);
}

/* ---- one run ---------------------------------------------------------------------------------------------------------------- */

typedef struct Fit {
    TaskRun *run;
    const Data *data;
    const Row *row;
    SplatsNet net;
    SplatsBatch batch;
    ptrdiff_t *which;        /* objects of the batch */
    double *logits, *turned; /* for test objects, aligned and turned */
} Fit;

static SplatsView view_of(const Fit *f, const SplatsObjects *objects)
{
    return (SplatsView){.net = &f->net,
                        .objects = objects,
                        .canonical = f->row->canonical,
                        .regroup = true,
                        .seed = (uint64_t)((const Scale *)task_scale(f->run->env))->data_seed};
}

/* Objects are shuffled in every epoch; if an object has more splats than the network takes, each epoch
 * chooses others. */
static RelnStatus load(Exp *e, Fit *f, int part, bool pretraining, uint64_t step,
                       ptrdiff_t *n_samples)
{
    const SplatsObjects *train = &f->data->train;
    const uint64_t per_epoch = (uint64_t)(train->n / f->batch.n), epoch = step / per_epoch;
    const uint64_t stream = pretraining ? 1 : 2;
    SplatsView view = view_of(f, train);
    ExpSet set;

    view.random = true;
    view.turn = f->row->augment ? SPLATS_TURN_SO3 : SPLATS_ALIGNED;
    view.seed = f->run->seed;
    view.stream = 1000000 * stream + epoch;
    reln_shuffle(f->run->seed + 77 * stream, epoch, train->n,
                 (ptrdiff_t)(step % per_epoch) * f->batch.n, f->batch.n, f->which);
    splats_batch_fill(f->run->env->pool, &view, f->which, f->batch.n, &f->batch);
    *n_samples = f->batch.n;
    set = splats_batch_set(&f->net, &f->batch, f->batch.n, pretraining, !pretraining);
    return exp_bind(exp_plan(e, part), &set);
}

static RelnStatus load_pretraining(Exp *e, void *self, uint64_t step, ptrdiff_t *n_samples)
{
    return load(e, self, 0, true, step, n_samples);
}

static RelnStatus load_labels(Exp *e, void *self, uint64_t step, ptrdiff_t *n_samples)
{
    Fit *f = self;

    return load(e, f, f->row->pretrain ? 1 : 0, false, step, n_samples);
}

static RelnNode *mean_loss(const RelnNet *net, const void *model, RelnNode *out)
{
    (void)model;
    return reln_batch_mean(net->graph, out);
}

static RelnNode *class_loss(const RelnNet *net, const void *model, RelnNode *logits)
{
    RelnNode *label = reln_input_index(net->graph, "label", RELN_SAMPLES, (RelnDims){0}, RELN_STEP,
                                       ((const SplatsNet *)model)->classes);

    return reln_loss_mean(net->graph, &(RelnLoss){.kind = RELN_LOSS_CROSS_ENTROPY}, logits, label);
}

/* Chamfer distance and the whole loss of pre-training. */
static RelnNode *pretraining_losses(const RelnNet *net, const void *model)
{
    const SplatsNet *m = model;
    const SplatsGuess guess = m->kind == SPLATS_RELN ? splats_reln_guess(net, m, NULL)
                                                     : splats_baseline_guess(net, m, NULL);
    RelnNode *both[2] = {guess.losses[0], guess.total};

    return reln_concat(net->graph, 2, both, RELN_C);
}

/* The numbers of the plans that compute attention, losses and reconstructions; the plan of the classifier comes before them. */
enum { LOOKS = EXP_OTHER, LOSSES, REBUILT };

/* ---- judging ----------------------------------------------------------------------------------------------------------------- */

/* Computes the outputs for the first n objects of a view, `size` numbers each. */
static RelnStatus outputs(Exp *e, Fit *f, const SplatsView *view, ptrdiff_t n, int plan, int size,
                          double *out)
{
    for (ptrdiff_t first = 0; first < n; first += f->batch.n) {
        const int count = n - first < f->batch.n ? (int)(n - first) : f->batch.n;
        ExpSet set;

        TRY(exp_go_on(e));
        for (int i = 0; i < count; i++)
            f->which[i] = first + i;
        splats_batch_fill(f->run->env->pool, view, f->which, count, &f->batch);
        set = splats_batch_set(&f->net, &f->batch, count, plan >= LOSSES, false);
        TRY(exp_predict(e, plan, &set, out + first * size));
    }
    return RELN_OK;
}

static int best_of(int n, const double *logits)
{
    int best = 0;

    for (int c = 1; c < n; c++)
        best = logits[c] > logits[best] ? c : best;
    return best;
}

static double accuracy(const Fit *f, const SplatsObjects *o, ptrdiff_t n, const double *logits,
                       double *entropy)
{
    const int c = f->net.classes;
    int right = 0;

    *entropy = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *l = logits + i * c;
        const int best = best_of(c, l);
        double sum = 0;

        for (int k = 0; k < c; k++)
            sum += exp(l[k] - l[best]);
        *entropy += (log(sum) + l[best] - l[o->label[i]]) / (double)n;
        right += best == o->label[i];
    }
    return right / (double)n;
}

static RelnStatus evaluate(Exp *e, void *self, RelnEvaluation *out)
{
    Fit *f = self;
    const SplatsObjects *o = &f->data->validation;
    const SplatsView view = view_of(f, o);
    double entropy, share;

    TRY(outputs(e, f, &view, o->n, EXP_NETWORK, f->net.classes, f->turned));
    share = accuracy(f, o, o->n, f->turned, &entropy);
    out->score = 1 - share + 1e-4 * entropy / (1 + entropy);
    out->metrics[0] = share;
    return RELN_OK;
}

/* Computes the mean Chamfer distance and loss of hidden groups, on at most 100 validation objects. */
static RelnStatus judge_pretraining(Exp *e, Fit *f, double *chamfer, double *loss)
{
    const SplatsObjects *o = &f->data->validation;
    const ptrdiff_t n = o->n < 100 ? o->n : 100;
    const SplatsView view = view_of(f, o);

    TRY(outputs(e, f, &view, n, LOSSES, 2, f->turned));
    *chamfer = *loss = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        *chamfer += f->turned[2 * i] / (double)n;
        *loss += f->turned[2 * i + 1] / (double)n;
    }
    return RELN_OK;
}

static RelnStatus evaluate_pretraining(Exp *e, void *self, RelnEvaluation *out)
{
    double chamfer;

    TRY(judge_pretraining(e, self, &chamfer, &out->score));
    out->metrics[0] = 1000 * chamfer;
    return RELN_OK;
}

/* Returns the share of the objects of a pair of twins whose own logit is the larger of the two. */
static double pair_share(const Fit *f, const SplatsObjects *o, const double *logits, int pair)
{
    int right = 0, all = 0;

    for (ptrdiff_t i = 0; i < o->n; i++) {
        const double *l = logits + i * f->net.classes;

        if (o->label[i] / 2 != pair)
            continue;
        right += l[o->label[i]] > l[o->label[i] ^ 1];
        all++;
    }
    return all > 0 ? right / (double)all : (double)NAN;
}

/* Evaluates turned test objects, over several draws: the share of right answers; the logits of the last draw
 * are kept. */
static RelnStatus judge_turned(Exp *e, Fit *f, SplatsTurn turn, bool regroup, double *share)
{
    const Scale *s = task_scale(f->run->env);
    const SplatsObjects *o = &f->data->test;
    SplatsView view = view_of(f, o);
    double entropy;

    *share = 0;
    view.turn = turn;
    view.regroup = regroup;
    for (int r = 0; r < s->rotations; r++) {
        view.stream = 10 + (uint64_t)r;
        TRY(outputs(e, f, &view, o->n, EXP_NETWORK, f->net.classes, f->turned));
        *share += accuracy(f, o, o->n, f->turned, &entropy) / s->rotations;
    }
    return RELN_OK;
}

static RelnStatus judge_angles(Exp *e, Fit *f)
{
    static const double degrees[] = {0, 15, 30, 45, 60, 90, 120, 150, 180};
    const Scale *s = task_scale(f->run->env);
    const SplatsObjects *o = &f->data->test;
    const ptrdiff_t n = o->n < s->angle_objects ? o->n : s->angle_objects;
    SplatsView view = view_of(f, o);
    double entropy;

    view.turn = SPLATS_TURN_ANGLE;
    view.stream = 50;
    for (size_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++) {
        view.angle = degrees[i] * acos(-1.0) / 180;
        TRY(outputs(e, f, &view, n, EXP_NETWORK, f->net.classes, f->turned));
        TRY(task_curve(f->run, "accuracy against the angle of rotation", degrees[i],
                       accuracy(f, o, n, f->turned, &entropy)));
    }
    return RELN_OK;
}

static int count_flips(const Fit *f, const SplatsObjects *o)
{
    int flips = 0;

    for (ptrdiff_t i = 0; i < o->n; i++)
        flips += best_of(f->net.classes, f->logits + i * f->net.classes) !=
                 best_of(f->net.classes, f->turned + i * f->net.classes);
    return flips;
}

/* Predictions for rotated objects by their true class, a curve for each class, which the page shows as a row
 * of a table. */
#define CONFUSION "true class of rotated objects (rows), taken for (columns): "
static RelnStatus confuse(const Fit *f, const SplatsObjects *o)
{
    enum { MOST_CLASSES = 16 };
    const int n = f->net.classes;

    for (int32_t k = 0; k < n && n <= MOST_CLASSES; k++) {
        ptrdiff_t counts[MOST_CLASSES] = {0};
        char name[160], number[24];

        for (ptrdiff_t i = 0; i < o->n; i++)
            counts[best_of(n, f->turned + i * n)] += o->label[i] == k;
        snprintf(number, sizeof number, "class %d", (int)k);
        snprintf(name, sizeof name, CONFUSION "%s%c%.40s", f->run->model->label, TASK_SERIES,
                 f->data->train.classes ? f->data->train.classes[k] : number);
        for (int l = 0; l < n; l++)
            TRY(task_curve(f->run, name, l, (double)counts[l]));
    }
    return RELN_OK;
}

/* Draws the attention of two groups of the first test object: for the two main rows, with or without
 * pre-training. */
static RelnStatus draw_looks(Exp *e, Fit *f)
{
    const Row *row = f->row;
    const SplatsView view = view_of(f, &f->data->test);
    const int tokens = f->net.groups + (row->kind == SPLATS_BASELINE);
    double *looks = exp_room(e, (size_t)tokens * (size_t)tokens * sizeof *looks);

    if (!looks)
        return task_nomem(f->run->env);
    if (row->augment || row->canonical ||
        (row->kind == SPLATS_RELN && !(row->full && row->bracket)))
        return RELN_OK;
    TRY(outputs(e, f, &view, 1, LOOKS, 0, looks));
    return splats_draw_looks(f->run, f->net.groups, f->batch.c, tokens, looks);
}

/* Curves of the pictures: reconstructed and true splats of the first test object. */
static const struct {
    const char *model, *guess, *truth;
} pictures[] = {
#define PICTURE(name)                                                                              \
    {                                                                                              \
        name, "hidden splats, one deviation: " name, "true splats of " name                        \
    }
    PICTURE("baseline-pre"),   PICTURE("baseline-so3-pre"),    PICTURE("baseline-pca-pre"),
    PICTURE("reln-paper-pre"), PICTURE("reln-no-bracket-pre"), PICTURE("reln-pre"),
#undef PICTURE
};
enum { N_PICTURES = sizeof pictures / sizeof pictures[0] };

/* The pre-trained network before fine-tuning no longer exists: this uses the decoder on the fine-tuned
 * encoder. */
static RelnStatus draw(Exp *e, Fit *f)
{
    const SplatsObjects *o = &f->data->test;
    SplatsView view = view_of(f, o);
    SplatsPicture p = {.net = &f->net, .batch = &f->batch};
    double *rows = exp_room(e, (size_t)o->splats * RELN_SPLAT * sizeof *rows),
           *rebuilt = exp_room(e, (size_t)f->net.masked * (size_t)f->net.slots * SPLATS_REBUILT *
                                      sizeof *rebuilt);

    if (!rows || !rebuilt)
        return task_nomem(f->run->env);
    for (ptrdiff_t i = 0; i < (ptrdiff_t)o->splats * RELN_SPLAT; i++)
        rows[i] = (double)o->rows[i];
    splats_scale_range(o->splats, rows, p.mean, &p.most);
    TRY(outputs(e, f, &view, 1, REBUILT, 0, rebuilt));
    p.rebuilt = rebuilt;
    for (int i = 0; i < N_PICTURES; i++)
        if (strcmp(pictures[i].model, f->run->model->name) == 0)
            return splats_draw_picture(f->run, &p, pictures[i].guess, pictures[i].truth);
    return RELN_OK;
}

static RelnStatus judge(TaskRun *run, Exp *e, const void *self)
{
    Fit copy = *(const Fit *)self, *f = &copy;
    const SplatsObjects *o = &f->data->test;
    double entropy, loss, share;
    SplatsView view = view_of(f, o);

    TRY(outputs(e, f, &view, o->n, EXP_NETWORK, f->net.classes, f->logits));
    run->metrics[ALIGNED] = accuracy(f, o, o->n, f->logits, &entropy);
    TRY(judge_turned(e, f, SPLATS_TURN_Z, true, &run->metrics[TURNED_Z]));
    /* with the groups of the aligned objects, so that only rounding could change an answer */
    TRY(judge_turned(e, f, SPLATS_TURN_SO3, false, &share));
    run->metrics[FLIPS] = count_flips(f, o);
    TRY(judge_turned(e, f, SPLATS_TURN_SO3, true, &run->metrics[ROTATED]));
    for (int p = 0; p < SPLATS_PAIRS; p++)
        run->metrics[PAIR + p] = f->data->procedural ? pair_share(f, o, f->turned, p) : (double)NAN;
    TRY(confuse(f, o));
    TRY(judge_angles(e, f));
    if (f->row->pretrain)
        TRY(judge_pretraining(e, f, &run->metrics[CHAMFER], &loss));
    if (!task_draws(run->env))
        return RELN_OK;
    TRY(draw_looks(e, f));
    return f->row->pretrain ? draw(e, f) : RELN_OK;
}

/* ---- networks ------------------------------------------------------------------------------------------------------------------- */

static ExpPart part_of(const Fit *f, int epochs)
{
    const Scale *s = task_scale(f->run->env);
    const uint64_t per_epoch = (uint64_t)(f->data->train.n / s->batch),
                   steps = per_epoch * (uint64_t)epochs;
    const uint64_t every = steps / (uint64_t)s->evaluations;

    return (ExpPart){.batch = s->batch,
                     .steps = steps,
                     .steps_per_epoch = per_epoch,
                     .evaluate_every = every > 0 ? every : 1,
                     .schedule = task_schedule(s->rate, true, steps, 20, s->floor),
                     .decay = s->decay,
                     .clip = s->clip,
                     .fresh = true};
}

#define VALIDATION "accuracy on validation objects"
static RelnStatus train(Fit *f)
{
    const Scale *s = task_scale(f->run->env);
    ExpPart parts[2] = {part_of(f, s->pretrain_epochs), part_of(f, s->epochs)};
    const int first = f->row->pretrain ? 0 : 1;

    parts[0].network = splats_pretraining;
    parts[0].load = load_pretraining;
    parts[0].loss_of = mean_loss;
    parts[0].evaluate = evaluate_pretraining;
    parts[0].metric = "chamfer";
    parts[0].curve = "pre-training: 1000 x Chamfer distance of validation objects";
    parts[0].curve_metric = true;
    parts[0].loss_curve = "pre-training: loss";
    parts[0].last = true;
    parts[1].load = load_labels;
    parts[1].loss_of = class_loss;
    parts[1].evaluate = evaluate;
    parts[1].metric = "accuracy";
    parts[1].curve = VALIDATION;
    parts[1].curve_metric = true;
    parts[0].self = parts[1].self = f;
    return exp_run(f->run,
                   &(ExpJob){.symmetry = f->net.kind == SPLATS_RELN ? "so:3" : "none:3",
                             .features = "gl:3",
                             .dtype = s->dtype,
                             .network = splats_classifier,
                             .others = {splats_looks, f->row->pretrain ? pretraining_losses : NULL,
                                        f->row->pretrain ? splats_rebuilt : NULL},
                             .model = &f->net,
                             .n_parts = 2 - first,
                             .parts = parts + first},
                   judge, f);
}

/* ---- rows without training --------------------------------------------------------------------------------------------------- */

static RelnStatus nearest_share(Fit *f, const double *known, SplatsTurn turn, double *share)
{
    const SplatsObjects *train = &f->data->train, *o = &f->data->test;
    SplatsView view = view_of(f, o);
    double *features = malloc((size_t)o->n * SPLATS_FEATURE_SIZE * sizeof *features);
    RelnStatus status;
    int right = 0;

    view.turn = turn;
    view.stream = 10;
    status = features ? splats_features(f->run->env, &view, f->row->feature, features)
                      : task_nomem(f->run->env);
    for (ptrdiff_t i = 0; status == RELN_OK && i < o->n; i++)
        right += splats_nearest_class(train->n, known, train->label,
                                      features + i * SPLATS_FEATURE_SIZE) == o->label[i];
    *share = right / (double)o->n;
    free(features);
    return status;
}

static RelnStatus nearest(Fit *f)
{
    const SplatsObjects *train = &f->data->train;
    const SplatsView view = view_of(f, train);
    double *known = malloc((size_t)train->n * SPLATS_FEATURE_SIZE * sizeof *known);
    RelnStatus status = known ? splats_features(f->run->env, &view, f->row->feature, known)
                              : task_nomem(f->run->env);

    if (status == RELN_OK)
        status = nearest_share(f, known, SPLATS_ALIGNED, &f->run->metrics[ALIGNED]);
    if (status == RELN_OK)
        status = nearest_share(f, known, SPLATS_TURN_SO3, &f->run->metrics[ROTATED]);
    if (status == RELN_OK)
        status = nearest_share(f, known, SPLATS_TURN_Z, &f->run->metrics[TURNED_Z]);
    free(known);
    return status;
}

static RelnStatus majority(Fit *f)
{
    const SplatsObjects *train = &f->data->train, *test = &f->data->test;
    ptrdiff_t most = 0, right = 0;
    int32_t best = 0;

    for (int32_t c = 0; c < train->n_classes; c++) {
        ptrdiff_t count = 0;

        for (ptrdiff_t i = 0; i < train->n; i++)
            count += train->label[i] == c;
        best = count > most ? c : best;
        most = count > most ? count : most;
    }
    for (ptrdiff_t i = 0; i < test->n; i++)
        right += test->label[i] == best;
    for (int m = ALIGNED; m <= TURNED_Z; m++)
        f->run->metrics[m] = (double)right / (double)test->n;
    return RELN_OK;
}

/* ---- the table --------------------------------------------------------------------------------------------------------------------- */

static RelnStatus open_fit(Fit *f)
{
    const Scale *s = task_scale(f->run->env);
    TaskRoom **rooms = &f->run->rooms;
    const size_t most =
        (size_t)(f->data->test.n > f->data->validation.n ? f->data->test.n : f->data->validation.n);
    const size_t each = (size_t)(f->net.classes > 2 ? f->net.classes : 2);

    f->which = task_room(rooms, (size_t)s->batch, sizeof *f->which);
    f->logits = task_room(rooms, most, each * sizeof *f->logits);
    f->turned = task_room(rooms, most, each * sizeof *f->turned);
    if (!f->which || !f->logits || !f->turned)
        return task_nomem(f->run->env);
    return splats_batch_init(f->run->env, rooms, &f->net, s->batch, &f->batch);
}

static RelnStatus run(TaskRun *run, const void *data)
{
    Fit f = {.run = run, .data = data, .row = run->model->settings};

    f.net = net_of(task_scale(run->env), f.row, f.data->train.n_classes);
    for (int m = 0; m < METRICS; m++)
        run->metrics[m] = (double)NAN;
    if (f.row->kind == SPLATS_MAJORITY)
        return majority(&f);
    if (f.row->kind == SPLATS_NEAREST)
        return nearest(&f);
    TRY(open_fit(&f));
    return train(&f);
}

static const TaskFigure figures[] = {
    {.curve = VALIDATION, .x = "step", .y = "accuracy", .linear_y = true},
    {.curve = "accuracy against the angle of rotation",
     .x = "degrees",
     .y = "accuracy",
     .linear_y = true},
    {.curve = CONFUSION, .table = true},
    {.curve = SPLATS_LOOKS, .x = "x", .y = "z", .cloud = true},
#define PICTURE(name)                                                                              \
    {                                                                                              \
        .curve = "hidden splats, one deviation: " name, .x = "x", .y = "z", .cloud = true,         \
        .truth = "true splats of " name                                                            \
    }
    PICTURE("baseline-pre"),
    PICTURE("baseline-so3-pre"),
    PICTURE("baseline-pca-pre"),
    PICTURE("reln-paper-pre"),
    PICTURE("reln-no-bracket-pre"),
    PICTURE("reln-pre"),
#undef PICTURE
};

const Task task_splats = {
    .name = "splats",
    .purpose = "Gaussian splats: pre-training, classes, and what rotations change",
    .about =
        "Which object is it, from its Gaussian splats? Networks are trained on objects as they "
        "are, "
        "and tested on objects as they are (aligned), turned at random about any axis (rotated) "
        "and "
        "about the vertical (z): positions, covariances and quaternions turn. The pairs are near "
        "twins, on rotated objects, of which chance is 50 %: chair and desk, mug and bucket, right "
        "and left helix, linked and unlinked rings, discs and needles. Flips are answers that a "
        "rotation changes while the groups of splats stay. The last column is the Chamfer distance "
        "of hidden groups after pre-training and fine-tuning.",
    .n_metrics = METRICS,
    .metrics = {{.name = "aligned", .label = "aligned", .percent = true, .more = true},
                {.name = "rotated", .label = "rotated", .percent = true, .more = true},
                {.name = "z", .label = "z", .percent = true, .more = true},
                {.name = "furniture", .label = "chair / desk", .percent = true, .more = true},
                {.name = "vessels", .label = "mug / bucket", .percent = true, .more = true},
                {.name = "helices", .label = "helices", .percent = true, .more = true},
                {.name = "rings", .label = "rings", .percent = true, .more = true},
                {.name = "discs", .label = "discs / needles", .percent = true, .more = true},
                {.name = "flips", .label = "flips", .count = true},
                {.name = "chamfer", .label = "Chamfer"}},
    .main_metric = ROTATED,
    .n_models = sizeof models / sizeof models[0],
    .models = models,
    .n_options = 4,
    .options =
        {{.name = "data",
          .help =
              "a file of arrays with points (N, n, 3) and label (N) instead of procedural objects",
          .file = true},
         {.name = "test", .help = "another such file, for testing", .file = true},
         {.name = "folder",
          .help = "a folder of classes with .off, .ply or .splat files, as ModelNet comes"},
         TASK_DRAWINGS},
    .n_figures = sizeof figures / sizeof figures[0],
    .figures = figures,
    .seeds = {1, 1, 3},
    .scale_fields = TASK_FIELDS(Scale, scale_keys),
    .row_fields = TASK_FIELDS(Row, row_keys),
    .scales = scales,
    .prepare = prepare,
    .run = run,
};
