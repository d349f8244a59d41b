/* task.c -- the table of jets: rows, data, training, and the numbers of the paper. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/jets/judge.h"
#include "tasks/settings.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define SMALL .width = 48, .blocks = 5 /* 84,199 parameters with two invariants of a pair */
#define LARGE .width = 72, .blocks = 6 /* 224,072 */
#define MODEL(...)                                                                                 \
    &(const JetsModel)                                                                             \
    {                                                                                              \
        .dropout = 0.2, __VA_ARGS__                                                                \
    }
#define MESSAGES(scale_, ...)                                                                      \
    MODEL(.kind = JETS_MESSAGES, .step = 0.005, .scale = scale_, __VA_ARGS__)
#define GRADED(width_, blocks_, ...)                                                               \
    MODEL(.kind = JETS_GRADED, .step = 0.1, .limit = 10, .recipe = JETS_OURS, .scale = 20,         \
          .width = width_, .blocks = blocks_, .channels = 4, .subjets = 8, .bank = true,           \
          __VA_ARGS__)

#define PRETRAINED .drawn = 4, .drawn_epochs = 3, .shorter = 3

static const TaskModel models[] = {
    {.name = "mass", .label = "jet mass", .settings = MODEL(.kind = JETS_MASS)},
    {.name = "count", .label = "number of particles", .settings = MODEL(.kind = JETS_COUNT)},
    {.name = "mlp",
     .label = "MLP on ten invariants",
     .settings = MODEL(.kind = JETS_MLP, .width = 64, .recipe = JETS_OURS)},
    {.name = "set",
     .label = "set network, no messages",
     .settings = MODEL(.kind = JETS_SET, .scale = 1, .width = 128, .recipe = JETS_OURS)},
    {.name = "lie-b-84",
     .label = "Lie Neurons, particle by particle, 84 k",
     .from = TASK_FULL,
     .settings = MODEL(.kind = JETS_LIE, .width = 160, .channels = 32, .blocks = 4)},
    {.name = "lorentznet-84",
     .label = "LorentzNet 84 k, clamped as published",
     .params = 84199,
     .paper = {{0.942, 0}, {0, 0}, {0.987, 0}, {0, 0}, {1821, 94}},
     .peer_seconds = 1295,
     .settings = MESSAGES(1, SMALL, .clamp = 100)},
    {.name = "lorentznet-free-84",
     .label = "LorentzNet 84 k, invariant limit",
     .settings = MESSAGES(1, SMALL, .limit = 10)},
    {.name = "lie-a-84",
     .label = "Lie Neurons, Killing form of so(3,2), 84 k",
     .from = TASK_FULL,
     .settings = MESSAGES(6, SMALL, .limit = 10)},
    {.name = "reln-84",
     .label = "ReLN 84 k, as the paper writes it",
     .params = 84439,
     .paper = {{0.942, 0}, {0, 0}, {0.987, 0}, {0, 0}, {1979, 87}},
     .settings = MESSAGES(20, SMALL, .limit = 10, .pair = JETS_OWN)},
    {.name = "graded-84",
     .label = "graded ReLN (ours)",
     .settings = GRADED(45, 5, .bivectors = true)},
    {.name = "graded-vectors-84",
     .label = "graded ReLN without bivectors (ours)",
     .from = TASK_FULL,
     .settings = GRADED(46, 5, .bivectors = false)},
    {.name = "subjets-84",
     .label = "LorentzNet + scales + soft subjets (ours)",
     .settings = MESSAGES(1, .width = 47, .blocks = 5, .limit = 10, .recipe = JETS_OURS,
                          .subjets = 8, .bank = true)},
    {.name = "parts-84",
     .label = "parts of jets, three towers (ours)",
     .settings =
         MODEL(.kind = JETS_PARTS, .width = 48, .blocks = 1, .towers = 3, .recipe = JETS_OURS)},
    {.name = "joined-84",
     .label = "LorentzNet beside parts of jets (ours)",
     .settings = MODEL(.kind = JETS_PARTS, .width = 42, .blocks = 1, .towers = 2, .messages = 5,
                       .scale = 1, .step = 0.005, .limit = 10, .recipe = JETS_OURS)},
    {.name = "lorentznet-ours-84",
     .label = "LorentzNet 84 k, our recipe",
     .from = TASK_FULL,
     .settings = MESSAGES(1, SMALL, .limit = 10, .recipe = JETS_OURS)},
    {.name = "joined-drawn-84",
     .label = "LorentzNet beside parts of jets, pre-trained on generated jets (ours)",
     .from = TASK_FULL,
     .settings = MODEL(.kind = JETS_PARTS, .width = 42, .blocks = 1, .towers = 2, .messages = 5,
                       .scale = 1, .step = 0.005, .limit = 10, .recipe = JETS_OURS, PRETRAINED)},
    {.name = "lorentznet-drawn-84",
     .label = "LorentzNet 84 k, our recipe, pre-trained on generated jets",
     .from = TASK_FULL,
     .settings = MESSAGES(1, SMALL, .limit = 10, .recipe = JETS_OURS, PRETRAINED)},
    {.name = "lorentznet-224",
     .label = "LorentzNet 224 k, clamped as published",
     .from = TASK_FULL,
     .params = 224072,
     .paper = {{0.942, 0}, {0, 0}, {0.987, 0}, {0, 0}, {2195, 173}},
     .settings = MESSAGES(1, LARGE, .clamp = 100)},
    {.name = "lorentznet-free-224",
     .label = "LorentzNet 224 k, invariant limit",
     .from = TASK_FULL,
     .settings = MESSAGES(1, LARGE, .limit = 10)},
    {.name = "lie-a-224",
     .label = "Lie Neurons, Killing form of so(3,2), 224 k",
     .from = TASK_FULL,
     .paper = {{0.941, 0}, {0, 0}, {0.985, 0}, {0, 0}, {1655, 73}},
     .settings = MESSAGES(6, LARGE, .limit = 10)},
    {.name = "lie-b-224",
     .label = "Lie Neurons, particle by particle, 224 k",
     .from = TASK_FULL,
     .settings = MODEL(.kind = JETS_LIE, .width = 224, .channels = 64, .blocks = 4)},
    {.name = "reln-224",
     .label = "ReLN 224 k, as the paper writes it",
     .from = TASK_FULL,
     .params = 224504,
     .paper = {{0.942, 0}, {0, 0}, {0.987, 0}, {0, 0}, {2201, 101}},
     .settings = MESSAGES(20, LARGE, .limit = 10, .pair = JETS_OWN)},
    {.name = "graded-224",
     .label = "graded ReLN, large (ours)",
     .from = TASK_FULL,
     .settings = GRADED(69, 6, .bivectors = true)},
#define SCALES(name_, s_, pair_)                                                                   \
    {                                                                                              \
        .name = name_, .label = "LorentzNet 84 k, " name_, .from = TASK_FULL,                      \
        .settings = MESSAGES(s_, SMALL, .limit = 10, .pair = pair_)                                \
    }
    SCALES("difference-6", 6, JETS_DIFFERENCE),
    SCALES("difference-20", 20, JETS_DIFFERENCE),
    SCALES("difference-100", 100, JETS_DIFFERENCE),
    SCALES("difference-400", 400, JETS_DIFFERENCE),
    SCALES("own-1", 1, JETS_OWN),
    SCALES("own-6", 6, JETS_OWN),
    SCALES("own-100", 100, JETS_OWN),
    SCALES("own-400", 400, JETS_OWN),
};

static const char *const kinds[] = {
    [JETS_MASS] = "mass",     [JETS_COUNT] = "count", [JETS_MLP] = "mlp",
    [JETS_SET] = "set",       [JETS_LIE] = "lie",     [JETS_MESSAGES] = "messages",
    [JETS_GRADED] = "graded", [JETS_PARTS] = "parts", NULL};
static const char *const pair_words[] = {
    [JETS_DIFFERENCE] = "difference", [JETS_OWN] = "own", NULL};
static const char *const recipes[] = {[JETS_PUBLISHED] = "published", [JETS_OURS] = "ours", NULL};

static const Key model_keys[] = {
    TASK_NUMBER(JetsModel, scale),
    TASK_NUMBER(JetsModel, step),
    TASK_NUMBER(JetsModel, limit),
    TASK_NUMBER(JetsModel, clamp),
    TASK_NUMBER(JetsModel, dropout),
    TASK_WORD(JetsModel, kind, kinds),
    TASK_WORD(JetsModel, pair, pair_words),
    TASK_WORD(JetsModel, recipe, recipes),
    TASK_WHOLE(JetsModel, width),
    TASK_WHOLE(JetsModel, blocks),
    TASK_WHOLE(JetsModel, channels),
    TASK_WHOLE(JetsModel, subjets),
    TASK_WHOLE(JetsModel, padded),
    TASK_WHOLE(JetsModel, extra),
    TASK_FIELD(JetsModel, towers, .kind = KEY_WHOLE, .before = "0"),
    TASK_FIELD(JetsModel, messages, .kind = KEY_WHOLE, .before = "0"),
    TASK_WHOLE(JetsModel, stream),
    TASK_FIELD(JetsModel, drawn, .kind = KEY_WHOLE, .before = "0"),
    TASK_FIELD(JetsModel, drawn_epochs, .kind = KEY_WHOLE, .before = "0"),
    TASK_FIELD(JetsModel, shorter, .kind = KEY_WHOLE, .before = "0"),
    TASK_FLAG(JetsModel, bank),
    TASK_FLAG(JetsModel, bivectors),
    TASK_FLAG(JetsModel, shown),
    TASK_PAD(JetsModel, pad),
};

/* ---- scales ------------------------------------------------------------------------------------------------------ */

#define SCALE(epochs_, train_, validation_, test_, most_, ...)                                     \
    {                                                                                              \
        .rate = 1e-3, .decay = 0.01, .floor = 0.01, .dtype = RELN_F32, .epochs = epochs_,          \
        .batch = 128, .batch_ours = 32, .train = train_, .validation = validation_, .test = test_, \
        .most = most_, .data_seed = 20250917, __VA_ARGS__                                          \
    }
static const JetsScale scales[TASK_SCALES] = {
    SCALE(1, 32, 16, 40, 40, .draws = 20, .boosted = 6, .frames = 2),
    SCALE(10, 1000, 300, 2000, 1000, .draws = 200, .boosted = 40, .frames = 4),
    SCALE(35, 4000, 1000, 4000, 0, .draws = 1000, .boosted = 100, .frames = 8),
};

static const Key scale_keys[] = {
    TASK_NUMBER(JetsScale, rate),      TASK_NUMBER(JetsScale, decay),
    TASK_NUMBER(JetsScale, floor),     TASK_WORD(JetsScale, dtype, task_dtype_words),
    TASK_WHOLE(JetsScale, epochs),     TASK_WHOLE(JetsScale, batch),
    TASK_WHOLE(JetsScale, batch_ours), TASK_WHOLE(JetsScale, train),
    TASK_WHOLE(JetsScale, validation), TASK_WHOLE(JetsScale, test),
    TASK_WHOLE(JetsScale, most),       TASK_WHOLE(JetsScale, data_seed),
    TASK_WHOLE(JetsScale, draws),      TASK_WHOLE(JetsScale, boosted),
    TASK_WHOLE(JetsScale, frames),
};

/* ---- data -------------------------------------------------------------------------------------------------------- */

static RelnStatus read_folds(TaskEnv *env, int *folds)
{
    const char *text = task_option(env, "folds");
    char *end = NULL;
    const long n = text ? strtol(text, &end, 10) : 0;

    if (text && (end == text || *end != '\0' || n < 2 || n > JETS_FOLDS))
        return task_fail(env, RELN_ERR_ARG, "--folds is %.40s; wanted 2 to %d", text,
                         (int)JETS_FOLDS);
    *folds = (int)n;
    return RELN_OK;
}

static JetsToy toy_of(const TaskEnv *env)
{
    return (JetsToy){.match_n = task_choice(env, "match-n") == 1,
                     .match_mass = task_choice(env, "match-mass") == 1};
}

static RelnStatus draw_toy(TaskEnv *env, JetsData *d)
{
    const JetsScale *scale = task_scale(env);
    const JetsToy toy = toy_of(env);
    const int counts[JETS_SETS] = {scale->train, scale->validation, scale->test};
    uint64_t first = 0;

    for (int s = 0; s < JETS_SETS; s++) {
        TRY(jets_init(env, &env->rooms, counts[s], (ptrdiff_t)counts[s] * JETS_MOST, 0,
                      &d->toy[s]));
        TRY(jets_toy_fill(env, &toy, (uint64_t)scale->data_seed, first, counts[s], &d->toy[s]));
        TRY(jets_source_memory(env, &d->toy[s], &d->sets[s]));
        first += (uint64_t)counts[s];
    }
    return RELN_OK;
}

/* Writes the generated jets of each set. Jets of files are there already. */
static RelnStatus save_toy(TaskEnv *env, const JetsData *d, const char *folder)
{
    static const char *const names[JETS_SETS] = {"train", "val", "test"};
    char path[JETS_PATH];

    if (task_option(env, "data"))
        return task_fail(env, RELN_ERR_ARG,
                         "--save is for generated jets, and --data has the jets of %.120s",
                         task_option(env, "data"));
    TRY(reln_folder_make(env->ctx, folder));
    for (int s = 0; s < JETS_SETS; s++) {
        if (snprintf(path, sizeof path, "%s/%s.npz", folder, names[s]) >= (int)sizeof path)
            return task_fail(env, RELN_ERR_ARG, "--save: the path of the folder is too long");
        TRY(jets_save(env, path, &d->toy[s]));
    }
    return RELN_OK;
}

static RelnStatus open_files(TaskEnv *env, JetsData *d)
{
    const JetsFiles files = {.extra = task_option(env, "inputs"),
                             .weights = task_option(env, "weights")};
    char paths[JETS_SETS][JETS_PATH];

    TRY(jets_find_files(env, task_option(env, "data"), paths[JETS_TRAIN], paths[JETS_VALIDATION],
                        paths[JETS_TEST]));
    if (!paths[JETS_TRAIN][0])
        return task_fail(env, RELN_ERR_ARG, "%.120s: no file with 'train' in its name",
                         task_option(env, "data"));
    for (int s = 0; s < JETS_SETS; s++)
        if (paths[s][0])
            TRY(jets_source_open(env, paths[s], &files, &d->sets[s]));
    /* Without test jets, validation jets are the test jets, and nothing is chosen by them. */
    if (!d->sets[JETS_TEST]) {
        d->sets[JETS_TEST] = d->sets[JETS_VALIDATION];
        d->sets[JETS_VALIDATION] = NULL;
    }
    return RELN_OK;
}

/* Joins all jets as one source, for folds. */
static RelnStatus join(TaskEnv *env, JetsData *d)
{
    JetsSource **parts = task_room(&env->rooms, JETS_SETS, sizeof *parts);
    int n = 0;

    if (!parts)
        return task_nomem(env);
    for (int s = 0; s < JETS_SETS; s++)
        if (d->sets[s])
            parts[n++] = d->sets[s];
    return jets_source_join(env, n, parts, &d->all);
}

static RelnStatus prepare(TaskEnv *env, void **data)
{
    JetsData *d = *data = task_room(&env->rooms, 1, sizeof *d);

    if (!d)
        return task_nomem(env);
    TRY(read_folds(env, &d->folds));
    TRY(task_option(env, "data") ? open_files(env, d) : draw_toy(env, d));
    if (task_option(env, "save"))
        TRY(save_toy(env, d, task_option(env, "save")));
    TRY(join(env, d));
    if (d->folds == 0 && !d->sets[JETS_TEST])
        d->folds = 5; /* one file: every jet is tested by a network that was not trained on it */
    return RELN_OK;
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

RelnSchedule jets_schedule(const JetsScale *scale, int epochs, JetsRecipe recipe,
                           uint64_t per_epoch)
{
    const int warm = epochs / 8, ends = epochs >= 35 ? 3 : 0;
    RelnSchedule s = {.rate = scale->rate};

    if (recipe == JETS_OURS || epochs < 8)
        return task_schedule(scale->rate, true, (uint64_t)epochs * per_epoch, 20, scale->floor);
    /* A rate for each epoch: rises in fifths, cosines of 4, 8, 16 ... epochs, halved in each of the last
     * three. */
    const int between = epochs - warm - ends;
    int begun = 0, period = 4;

    while (begun + period < between) {
        begun += period;
        period *= 2;
    }
    const double last = 0.5 * (1 + cos(JETS_PI * (between - 1 - begun) / period));
    s.piece[s.n_pieces++] = (RelnSchedulePiece){.kind = RELN_SCHEDULE_WARMUP,
                                                .steps = (uint64_t)warm * per_epoch,
                                                .floor = 1.0 / (warm + 1),
                                                .hold = per_epoch};
    s.piece[s.n_pieces++] = (RelnSchedulePiece){.kind = RELN_SCHEDULE_RESTARTS,
                                                .steps = (uint64_t)between * per_epoch,
                                                .period = 4.0 * (double)per_epoch,
                                                .factor = 2,
                                                .hold = per_epoch};
    if (ends > 0)
        s.piece[s.n_pieces++] = (RelnSchedulePiece){.kind = RELN_SCHEDULE_STEPS,
                                                    .factor = 0.5,
                                                    .period = (double)per_epoch,
                                                    .scale = 0.5 * last};
    return s;
}

/* Loads the samples of a step: a part of the epoch's shuffle; the last partial batch is left out. */
static RelnStatus load(Exp *e, void *self, uint64_t step, ptrdiff_t *n_samples)
{
    JetsFit *f = self;
    ptrdiff_t which[JETS_BATCH];

    reln_shuffle(f->run->seed + (uint64_t)f->fold, step / f->per_epoch, f->n_train,
                 (ptrdiff_t)(step % f->per_epoch) * f->batch_size, f->batch_size, which);
    for (int i = 0; i < f->batch_size; i++)
        which[i] = f->train[which[i]];
    TRY(jets_source_read(f->run->env, f->source, f->batch_size, which, &f->jets));
    jets_batch_fill(&f->batch, &f->jets, NULL);
    *n_samples = f->batch_size;
    return exp_bind(exp_plan(e, f->part), &f->batch.set);
}

/* Returns the number of generated jets of pre-training. */
static ptrdiff_t n_drawn(const JetsFit *f)
{
    const JetsScale *scale = task_scale(f->run->env);

    return (ptrdiff_t)f->model->drawn * scale->train;
}

/* Loads the samples of a step of pre-training: each generated jet is drawn when a batch needs it. Equal masses are a matter of
 * weights of a whole set, so these jets have none. */
static RelnStatus load_drawn(Exp *e, void *self, uint64_t step, ptrdiff_t *n_samples)
{
    JetsFit *f = self;
    const JetsScale *scale = task_scale(f->run->env);
    const JetsToy toy = {.match_n = toy_of(f->run->env).match_n};
    ptrdiff_t which[JETS_BATCH];

    reln_shuffle(f->run->seed + (uint64_t)f->fold, step / f->drawn_per_epoch, n_drawn(f),
                 (ptrdiff_t)(step % f->drawn_per_epoch) * f->batch_size, f->batch_size, which);
    f->jets.n = f->jets.n_particles = 0;
    for (int i = 0; i < f->batch_size; i++)
        TRY(jets_toy_fill(f->run->env, &toy, (uint64_t)scale->data_seed,
                          JETS_TOY_PRETRAINING + (uint64_t)which[i], 1, &f->jets));
    jets_batch_fill(&f->batch, &f->jets, NULL);
    *n_samples = f->batch_size;
    return exp_bind(exp_plan(e, 0), &f->batch.set);
}

/* The score is the share of errors, and for equal shares the entropy. Without validation jets the curve uses
 * the test jets, and nothing is chosen by them. */
static RelnStatus evaluate(Exp *e, void *self, RelnEvaluation *out)
{
    JetsFit *f = self;
    const ptrdiff_t n = f->n_validation > 0 ? f->n_validation : f->n_test;
    const ptrdiff_t *which = f->n_validation > 0 ? f->validation : f->test;
    double entropy = 0;
    ptrdiff_t right = 0;

    TRY(jets_predict(e, f, n, which, NULL, f->scores));
    for (ptrdiff_t i = 0; i < n; i++) {
        const double signed_score = f->labels[i] == 1 ? f->scores[i] : -f->scores[i];

        right += signed_score > 0;
        entropy += log1p(exp(-fabs(signed_score))) + fmax(0, -signed_score);
    }
    entropy /= (double)n;
    out->metrics[0] = (double)right / (double)n;
    out->score = 1 - out->metrics[0] + 1e-4 * entropy / (1 + entropy);
    return RELN_OK;
}

/* Returns the part that trains on the generated jets; the last weights begin the training on the source. */
static ExpPart pretraining(JetsFit *f)
{
    const JetsScale *scale = task_scale(f->run->env);
    const int epochs =
        f->model->drawn_epochs < scale->epochs ? f->model->drawn_epochs : scale->epochs;
    const uint64_t steps = f->drawn_per_epoch * (uint64_t)epochs;

    return (ExpPart){.load = load_drawn,
                     .loss_of = jets_loss,
                     .self = f,
                     .steps_per_epoch = f->drawn_per_epoch,
                     .steps = steps,
                     .evaluate_every = f->drawn_per_epoch,
                     .schedule = task_schedule(scale->rate, true, steps, 20, scale->floor),
                     .decay = scale->decay,
                     .loss_curve = "training loss, generated jets",
                     .last = true};
}

static ExpPart training(JetsFit *f)
{
    const JetsScale *scale = task_scale(f->run->env);
    const int shorter = f->model->shorter > 1 ? scale->epochs / f->model->shorter : scale->epochs;
    const int epochs = shorter > 0 ? shorter : 1;

    return (ExpPart){.load = load,
                     .loss_of = jets_loss,
                     .evaluate = evaluate,
                     .self = f,
                     .fresh = f->part > 0,
                     .steps_per_epoch = f->per_epoch,
                     .steps = f->per_epoch * (uint64_t)epochs,
                     .evaluate_every = f->per_epoch,
                     .schedule = jets_schedule(scale, epochs, f->model->recipe, f->per_epoch),
                     .decay = scale->decay,
                     .metric = "accuracy",
                     .curve = f->n_validation > 0 ? "validation accuracy"
                                                  : "accuracy on the judged jets",
                     .curve_metric = true,
                     .last = f->n_validation == 0};
}

static RelnStatus fit_one(JetsFit *f, ExpJudge judge)
{
    const JetsScale *scale = task_scale(f->run->env);
    const bool ours = f->model->recipe == JETS_OURS;
    ptrdiff_t least = f->n_train;
    ExpPart parts[2];
    ExpJob job = {.symmetry = jets_symmetry(f->model),
                  .features = "gl:4",
                  .dtype = scale->dtype,
                  .stream = (uint64_t)(f->model->stream + 1000 * f->fold),
                  .network = jets_network,
                  .model = f->model,
                  .parts = parts,
                  .one_of_several = f->data->folds > 0};

    f->part = f->model->drawn > 0 ? 1 : 0;
    if (f->part > 0 && n_drawn(f) < least)
        least = n_drawn(f);
    f->batch_size = ours ? scale->batch_ours : scale->batch;
    f->batch_size = least < f->batch_size ? (int)least : f->batch_size;
    f->per_epoch = (uint64_t)(f->n_train / f->batch_size);
    f->drawn_per_epoch = (uint64_t)(n_drawn(f) / f->batch_size);
    parts[0] = pretraining(f);
    parts[f->part] = training(f);
    job.n_parts = f->part + 1;
    job.first_part = f->fold * job.n_parts;
    if (f->model->subjets > 0)
        job.others[0] = jets_memberships;
    if (f->model->kind == JETS_MASS || f->model->kind == JETS_COUNT)
        job.network = NULL;
    return exp_run(f->run, &job, judge, f);
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

static ptrdiff_t capped(const TaskEnv *env, ptrdiff_t n)
{
    const JetsScale *scale = task_scale(env);

    return task_option(env, "data") && scale->most > 0 && n > scale->most ? scale->most : n;
}

static RelnStatus open_fit(JetsFit *f)
{
    TaskEnv *env = f->run->env;
    TaskRoom **rooms = &f->run->rooms;
    const size_t n = (size_t)jets_source_count(f->data->all);
    const int extra = jets_source_extra(f->data->all);

    f->own = *(const JetsModel *)f->run->model->settings;
    f->own.extra = extra;
    f->model = &f->own;
    f->source = f->data->all;
    f->train = task_room(rooms, n, sizeof *f->train);
    f->validation = task_room(rooms, n, sizeof *f->validation);
    f->test = task_room(rooms, n, sizeof *f->test);
    f->scores = task_room(rooms, n, sizeof *f->scores);
    f->labels = task_room(rooms, n, sizeof *f->labels);
    f->weights = task_room(rooms, n, sizeof *f->weights);
    f->pooled = task_room(rooms, n, sizeof *f->pooled);
    f->out = task_room(rooms, JETS_BATCH * (JETS_MOST + JETS_BEAMS), JETS_OUT * sizeof *f->out);
    if (!f->train || !f->validation || !f->test || !f->scores || !f->labels || !f->weights ||
        !f->pooled || !f->out)
        return task_nomem(env);
    TRY(jets_init(env, rooms, JETS_BATCH, JETS_BATCH * JETS_MOST, extra, &f->jets));
    TRY(jets_batch_init(env, rooms, JETS_BATCH, extra, &f->batch));
    f->batch.whole = f->model->kind == JETS_MLP;
    f->batch.bare = f->model->kind == JETS_PARTS;
    return RELN_OK;
}

/* Lists the jets of the sets, in the order of the joined source. */
static void take_sets(JetsFit *f)
{
    ptrdiff_t *lists[JETS_SETS] = {f->train, f->validation, f->test};
    ptrdiff_t *counts[JETS_SETS] = {&f->n_train, &f->n_validation, &f->n_test}, first = 0;

    for (int s = 0; s < JETS_SETS; s++) {
        const ptrdiff_t n = f->data->sets[s] ? jets_source_count(f->data->sets[s]) : 0;

        *counts[s] = capped(f->run->env, n);
        for (ptrdiff_t i = 0; i < *counts[s]; i++)
            lists[s][i] = first + i;
        first += n;
    }
}

/* Fold `fold`: every jet whose position in the shuffle of the data's seed has this remainder is tested, the
 * others train. */
static void take_fold(JetsFit *f)
{
    const JetsScale *scale = task_scale(f->run->env);
    const ptrdiff_t n = capped(f->run->env, jets_source_count(f->source));

    f->n_train = f->n_validation = f->n_test = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t jet;

        reln_shuffle((uint64_t)scale->data_seed, 0, n, i, 1, &jet);
        if (i % f->data->folds == f->fold)
            f->test[f->n_test++] = jet;
        else
            f->train[f->n_train++] = jet;
    }
}

static RelnStatus run(TaskRun *run, const void *data)
{
    JetsFit f = {.run = run, .data = data};

    TRY(open_fit(&f));
    if (f.data->folds == 0) {
        take_sets(&f);
        return fit_one(&f, jets_judge);
    }
    for (f.fold = 0; f.fold < f.data->folds; f.fold++) {
        take_fold(&f);
        TRY(fit_one(&f, f.fold == 0 ? jets_judge_fold_first : jets_judge_fold));
    }
    return jets_judge_pooled(&f);
}

static const char *const no_yes[] = {"no", "yes"};

static const TaskFigure figures[] = {
    {.curve = JETS_CURVE_SCORES, .x = "jet", .hidden = true},
    {.curve = JETS_CURVE_UNIT, .x = "", .hidden = true},
    {.curve = JETS_CURVE_ROC, .x = "signal efficiency", .y = "background rejection"},
    {.curve = JETS_CURVE_BOOST_ACCURACY, .x = "velocity of the boost", .y = "accuracy"},
    {.curve = JETS_CURVE_BOOST_STAY, .x = "velocity of the boost", .y = "accuracy"},
    {.curve = JETS_CURVE_BOOST_CHANGE, .x = "velocity of the boost", .y = "change of the logit"},
    {.curve = JETS_CURVE_BOOST_STAY_CHANGE,
     .x = "velocity of the boost",
     .y = "change of the logit"},
    {.curve = JETS_CURVE_SOFT, .x = "particles added", .y = "AUC"},
    {.curve = JETS_CURVE_SPLIT, .x = "share of particles split", .y = "AUC"},
    {.curve = JETS_CURVE_HARDEST, .x = "hardest particles kept", .y = "AUC"},
};

const Task task_jets = {
    .name = "jets",
    .purpose = "top quarks or not, from the particles of a jet",
    .about =
        "Is a jet of particles that of a top quark? Networks that send messages between all pairs "
        "of particles, and simpler ones, are trained on jets and judged on others: share of right "
        "answers, area under the curve of efficiencies (AUC), and the number of background jets "
        "for each one that passes, at several signal efficiencies; a place is empty where fewer "
        "than ten background jets pass, which is too few to tell. Without --data the jets are "
        "those of a simple generator, and the numbers are not those of the benchmark. 'Moved' is "
        "the largest change of a logit under boosts up to 0.99 and rotations of jet and beams, in "
        "single precision with products in double.",
    .n_metrics = JETS_METRICS,
    .metrics = {[JETS_ACCURACY] = {.name = "accuracy", .label = "accuracy", .more = true},
                [JETS_ACCURACY_ERROR] = {.name = "accuracy_error", .label = "±", .error = true},
                [JETS_AUC] = {.name = "auc", .label = "AUC", .more = true},
                [JETS_AUC_ERROR] = {.name = "auc_error", .label = "±", .error = true},
                [JETS_AT_30] = {.name = "rejection_30", .label = "1/ε at 0.3", .more = true},
                [JETS_AT_50] = {.name = "rejection_50", .label = "at 0.5", .more = true},
                [JETS_AT_70] = {.name = "rejection_70", .label = "at 0.7", .more = true},
                [JETS_AT_80] = {.name = "rejection_80", .label = "at 0.8", .more = true},
                [JETS_AT_90] = {.name = "rejection_90", .label = "at 0.9", .more = true},
                [JETS_PUBLISHED_50] = {.name = "rejection_published_50",
                                       .label = "at 0.5, as published",
                                       .more = true},
                [JETS_CHOSEN] = {.name = "accuracy_best",
                                 .label = "best accuracy on judged jets",
                                 .more = true},
                [JETS_MOVED] = {.name = "moved", .label = "moved"},
                [JETS_MS] = {.name = "ms_per_jet", .label = "ms a jet"}},
    .n_models = sizeof models / sizeof models[0],
    .models = models,
    .n_options = 8,
    .options = {{.name = "data",
                 .help = "jets of a file, or of a folder with train, val and test files",
                 .file = true},
                {.name = "folds", .help = "train as often, each time on all jets but one part"},
                {.name = "inputs", .help = "further arrays of particles, with commas between"},
                {.name = "weights", .help = "the array of event weights"},
                {.name = "match-n",
                 .help = "generated jets of both classes have equal numbers of particles",
                 TASK_WORDS(no_yes)},
                {.name = "match-mass",
                 .help = "generated jets are weighed to equal masses",
                 TASK_WORDS(no_yes)},
                {.name = "save",
                 .help = "a folder that gets the generated jets: train, val and test .npz",
                 .output = true},
                TASK_DRAWINGS},
    .n_figures = sizeof figures / sizeof figures[0],
    .figures = figures,
    .seeds = {1, 1, 1},
    .scale_fields = TASK_FIELDS(JetsScale, scale_keys),
    .row_fields = TASK_FIELDS(JetsModel, model_keys),
    .scales = scales,
    .prepare = prepare,
    .run = run,
    .remarks = jets_remarks,
};
