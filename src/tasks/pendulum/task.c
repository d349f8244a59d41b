/* task.c -- the double-pendulum table: the trained networks, their evaluation, and the numbers of papers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/experiment.h"
#include "tasks/pendulum/pendulum.h"
#include "tasks/settings.h"

/* ---- rows ------------------------------------------------------------------------------------------------------ */

enum { ERROR, ERROR_LOG, ERROR_MOVING, CHUNK, ENERGY, SPIN, SYMMETRY };

#define ROW(arch_, symmetry_, ...)                                                                 \
    &(const PendRowSettings)                                                                       \
    {                                                                                              \
        .arch = arch_, .symmetry = symmetry_, __VA_ARGS__                                          \
    }
#define PUBLISHED(rate_)                                                                           \
    .rate = (rate_), .published = true, .schedule = PEND_CONSTANT, .substeps = 1
#define PIECES(rate_) .rate = (rate_), .published = true, .schedule = PEND_PIECES, .substeps = 1
#define TUNED(rate_, substeps_) .rate = (rate_), .schedule = PEND_COSINE, .substeps = (substeps_)
#define WIDE .width = 128, .activation = RELN_ACT_SILU
#define EMLP .width = 128

/* Papers have numbers for the first metric only: those of EMLP and of the dense network are from Finzi and
 * others (2021), rounded. Rates of "tuned" rows (except for Scalars, whose rates were published) and of the
 * 28 pairings are the best that were tried, by validation loss; README.md has the losses. */
static const TaskModel models[] = {
    {.name = "mlp",
     .label = "MLP-HNN, published protocol",
     .params = 34817,
     .paper = {{0.028, 0.001}},
     .settings = ROW(PEND_ARCH_MLP, PEND_NONE, WIDE, PUBLISHED(3e-3))},
    {.name = "mlp-tuned",
     .label = "MLP-HNN, tuned",
     .params = 34817,
     .settings = ROW(PEND_ARCH_MLP, PEND_NONE, WIDE, TUNED(3e-2, 1))},
    {.name = "mlp-ode",
     .label = "MLP neural ODE, published protocol",
     .paper = {{0.048, 0.0002}},
     .from = TASK_FULL,
     .settings = ROW(PEND_ARCH_MLP_ODE, PEND_NONE, WIDE, PUBLISHED(3e-3))},
    {.name = "mlp-ode-tuned",
     .label = "MLP neural ODE, tuned",
     .from = TASK_FULL,
     .settings = ROW(PEND_ARCH_MLP_ODE, PEND_NONE, WIDE, TUNED(3e-2, 1))},
    {.name = "emlp-o2",
     .label = "EMLP-HNN O(2), published protocol",
     .params = 55569,
     .paper = {{0.012, 0.002}},
     .settings = ROW(PEND_ARCH_EMLP, PEND_O2, EMLP, PUBLISHED(3e-3))},
    {.name = "emlp-so2",
     .label = "EMLP-HNN SO(2), published protocol",
     .params = 55569,
     .paper = {{0.015, 0.003}},
     .from = TASK_FULL,
     .settings = ROW(PEND_ARCH_EMLP, PEND_SO2, EMLP, PUBLISHED(3e-3))},
    {.name = "emlp-d6",
     .label = "EMLP-HNN D6, published protocol",
     .params = 55569,
     .paper = {{0.013, 0.002}},
     .from = TASK_FULL,
     .settings = ROW(PEND_ARCH_EMLP, PEND_D6, EMLP, PUBLISHED(3e-3))},
    {.name = "emlp-o2-tuned",
     .label = "EMLP-HNN O(2), tuned",
     .params = 55569,
     .from = TASK_FULL,
     .settings = ROW(PEND_ARCH_EMLP, PEND_O2, EMLP, TUNED(3e-2, 1))},
    {.name = "emlp-ode-o2",
     .label = "EMLP neural ODE O(2), published protocol",
     .paper = {{0.019, 0.001}},
     .from = TASK_FULL,
     .settings = ROW(PEND_ARCH_EMLP_ODE, PEND_O2, EMLP, PUBLISHED(3e-3))},
    {.name = "emlp-ode-o2-tuned",
     .label = "EMLP neural ODE O(2), tuned",
     .from = TASK_FULL,
     .settings = ROW(PEND_ARCH_EMLP_ODE, PEND_O2, EMLP, TUNED(1e-2, 1))},
    {.name = "scalars",
     .label = "Scalars-HNN, published protocol",
     .params = 33501,
     .paper = {{0.0092, 0.0005}},
     .from = TASK_FULL,
     .settings = ROW(PEND_ARCH_INVARIANT, PEND_NONE, .features = PEND_FEATURES_SCALARS,
                     PEND_SCALARS(RELN_ACT_RELU), PIECES(5e-3))},
    {.name = "scalars-tuned",
     .label = "Scalars-HNN, tuned",
     .params = 33501,
     .paper = {{0.0015, 0.0001}},
     .settings = ROW(PEND_ARCH_INVARIANT, PEND_NONE, .features = PEND_FEATURES_SCALARS,
                     PEND_SCALARS(RELN_ACT_RELU), PIECES(3e-2))},
    {.name = "scalars-smooth",
     .label = "Scalars-HNN with SiLU",
     .params = 33501,
     .from = TASK_FULL,
     .settings = ROW(PEND_ARCH_INVARIANT, PEND_NONE, .features = PEND_FEATURES_SCALARS,
                     PEND_SCALARS(RELN_ACT_SILU), TUNED(3e-2, 1))},
    {.name = "reln-69889",
     .label = "ReLN-HNN, 28 pairings",
     .params = 69889,
     .paper = {{0.011, 0.002}},
     .settings = ROW(PEND_ARCH_INVARIANT, PEND_NONE, .features = PEND_FEATURES_PAIRINGS,
                     PEND_PAIRINGS, TUNED(1e-2, 1))},
    {.name = "reln-lengths",
     .label = "ReLN-HNN, pairings and lengths (ours)",
     .settings = ROW(PEND_ARCH_INVARIANT, PEND_NONE, .features = PEND_FEATURES_LENGTHS,
                     PEND_LENGTHS, TUNED(3e-2, 2))},
    {.name = "reln-o2",
     .label = "ReLN-HNN O(2), vectors (ours)",
     .paper = {{0.011, 0.002}},
     .settings = ROW(PEND_ARCH_EQUIVARIANT, PEND_O2, PEND_EQUIVARIANT, TUNED(3e-2, 1))},
    {.name = "reln-so2",
     .label = "ReLN-HNN SO(2), vectors (ours)",
     .paper = {{0.010, 0.004}},
     .settings = ROW(PEND_ARCH_EQUIVARIANT, PEND_SO2, PEND_EQUIVARIANT, TUNED(3e-2, 1))},
    {.name = "reln-d6",
     .label = "ReLN-HNN D6, vectors (ours)",
     .paper = {{0.011, 0.002}},
     .settings = ROW(PEND_ARCH_EQUIVARIANT, PEND_D6, PEND_EQUIVARIANT, TUNED(3e-2, 1))},
};

/* The words of --group: those of PendSymmetry with a group, and all of them. */
static const char *const groups[] = {
    [PEND_O2] = "o2", [PEND_SO2] = "so2", [PEND_D6] = "d6", [PEND_NONE] = "all"};

/* Returns whether the row is in the table: rows without a group, and rows of the requested group. */
static bool wanted(const TaskEnv *env, const TaskModel *model)
{
    const PendRowSettings *row = model->settings;
    const int group = task_choice(env, "group");

    return group == PEND_NONE || row->symmetry == PEND_NONE || group == (int)row->symmetry;
}

/* ---- scales and data ------------------------------------------------------------------------------------------- */

typedef struct Scale {
    double rollout_step;
    double interval; /* between states of the data */
    double floor;    /* share of the rate at the end of a cosine */
    double turn;     /* angle by which the symmetry is tested, if the group has all rotations */
    int rows;        /* rows of each split */
    int steps, evaluate_every;
    int most_substeps;     /* of training */
    int chunk, rollout;    /* states of a chunk to learn from, and of a motion to evaluate */
    int data_seed, warmup; /* warmup: it takes 1/warmup of the steps */
    RelnDtype dtype;
    char pad[4];
} Scale;

#define SCALE(...)                                                                                 \
    {                                                                                              \
        .interval = PEND_INTERVAL, .chunk = PEND_CHUNK, .rollout = PEND_ROLLOUT,                   \
        .data_seed = PEND_DATA_SEED, .floor = TASK_FLOOR, .warmup = TASK_WARMUP, .turn = 0.7,      \
        .dtype = RELN_F32, __VA_ARGS__                                                             \
    }
static const Scale scales[TASK_SCALES] = {
    SCALE(.rows = 8, .most_substeps = 1, .rollout_step = 0.2, .steps = 4, .evaluate_every = 2),
    SCALE(.rows = 500, .most_substeps = 1, .rollout_step = 0.1, .steps = 150, .evaluate_every = 25),
    SCALE(.rows = 500, .most_substeps = 2, .rollout_step = 0.05, .steps = 2000,
          .evaluate_every = 50),
};

static const Key scale_keys[] = {
    TASK_NUMBER(Scale, rollout_step),
    TASK_NUMBER(Scale, interval),
    TASK_WHOLE(Scale, rows),
    TASK_WHOLE(Scale, steps),
    TASK_WHOLE(Scale, evaluate_every),
    TASK_WHOLE(Scale, most_substeps),
    TASK_WHOLE(Scale, chunk),
    TASK_WHOLE(Scale, rollout),
    TASK_WHOLE(Scale, data_seed),
    TASK_NUMBER(Scale, floor),
    TASK_NUMBER(Scale, turn),
    TASK_WHOLE(Scale, warmup),
    TASK_WORD(Scale, dtype, task_dtype_words),
    TASK_PAD(Scale, pad),
};

static const struct {
    const char *name;
    double stiffness;
} targets[] = {{"code", 2.0}, {"paper", 1.0}};

typedef struct Data {
    PendSystem system;
    PendData sets;
} Data;

static void end_data(void *sets)
{
    pend_data_clear(sets);
}

static RelnStatus prepare(TaskEnv *env, void **data)
{
    const Scale *scale = task_scale(env);
    Data *d = *data = task_room(&env->rooms, 1, sizeof *d);
    bool good;

    if (!d)
        return task_nomem(env);
    d->system.stiffness = targets[task_choice(env, "target")].stiffness;
    if (!pend_can_move())
        return task_fail(env, RELN_ERR_UNSUPPORTED,
                         "true motions need SUNDIALS, which this build of reln does not have");
    good = pend_data_init(&d->sets, &d->system, scale->data_seed, scale->rows);
    TRY(task_own(env, &d->sets, end_data));
    return good ? RELN_OK : task_nomem(env);
}

/* ---- one run --------------------------------------------------------------------------------------------------- */

typedef struct Fit {
    TaskRun *run;
    const Data *data;
    const PendRowSettings *row;
    const Scale *scale;
    PendChoice choice;
    PendBuild *build;                     /* for the graph that is trained */
    int abreast, groups;                  /* chunks in the channels of a sample; samples */
    double *chunks[PEND_SPLITS], *shares; /* packed */
    double *starts, *z;                   /* (n, 12), (n, 150, 12): rollouts of the test set */
} Fit;

static RelnStatus pack(Fit *f)
{
    const int per = PEND_CHUNK * PEND_STATE, n = f->data->sets.n;

    f->abreast = f->choice.abreast;
    f->groups = pend_groups(n, f->abreast);
    f->shares = task_room(&f->run->rooms, (size_t)(f->groups * f->abreast), sizeof *f->shares);
    if (!f->shares)
        return task_nomem(f->run->env);
    pend_shares(n, f->abreast, f->shares);
    for (int s = 0; s < PEND_SPLITS; s++) {
        f->chunks[s] =
            task_room(&f->run->rooms, (size_t)(f->groups * f->abreast * per), sizeof **f->chunks);
        if (!f->chunks[s])
            return task_nomem(f->run->env);
        pend_pack(n, f->abreast, per, f->data->sets.chunks[s], f->chunks[s]);
    }
    return RELN_OK;
}

static bool open_model(const Fit *f, RelnGraph *g, PendModel *m)
{
    return pend_model_open(
        m, &(PendBuild){g, f->row->symmetry, &f->choice.settings, f->abreast, f->run->seed},
        f->choice.arch);
}

/* Returns the loss of the chunks "chunk", each weighted with its "share". */
static RelnNode *loss_of_chunks(const RelnNet *net, const void *model)
{
    const Fit *f = model;
    const int substeps =
        f->row->substeps < f->scale->most_substeps ? f->row->substeps : f->scale->most_substeps;
    RelnDims dims = pend_state_dims(f->abreast);
    RelnGraph *g = net->graph;
    RelnNode *chunk, *share, *loss = NULL;
    PendModel m;

    dims.p = PEND_CHUNK;
    chunk = reln_input(g, "chunk", RELN_SAMPLES, dims, pend_state_rep(g), RELN_DEFAULT);
    share = reln_input(g, "share", RELN_SAMPLES, (RelnDims){.c = f->abreast}, NULL, RELN_DEFAULT);
    if (open_model(f, g, &m))
        loss = pend_model_loss(&m, chunk, share, substeps);
    if (net->train)
        *f->build = m.build;
    return loss;
}

static RelnNode *itself(const RelnNet *net, const void *model, RelnNode *loss)
{
    (void)net, (void)model;
    return loss;
}

static RelnNode *velocity(const RelnNet *net, const void *model)
{
    const Fit *f = model;
    RelnNode *z = reln_input(net->graph, "z", RELN_SAMPLES, pend_state_dims(f->abreast),
                             pend_state_rep(net->graph), RELN_DEFAULT);
    PendModel m;

    return open_model(f, net->graph, &m) ? pend_model_direct(&m, z) : NULL;
}

static RelnStatus start(RelnStore *store, const void *model)
{
    const Fit *f = model;

    return f->choice.arch->start(f->build, store, f->data->sets.n * PEND_CHUNK,
                                 f->data->sets.chunks[PEND_TRAIN]);
}

static ExpSet set_of(const Fit *f, int split)
{
    return (ExpSet){
        .n = f->groups,
        .n_columns = 2,
        .column = {{EXP_NUMBERS("share", f->abreast, f->shares)},
                   {EXP_NUMBERS("chunk", PEND_CHUNK * PEND_STATE * f->abreast, f->chunks[split])}}};
}

/* Every step uses the whole training set. */
static RelnStatus load(Exp *e, void *self, uint64_t step, ptrdiff_t *n_samples)
{
    const Fit *f = self;
    const ExpSet set = set_of(f, PEND_TRAIN);

    (void)step;
    *n_samples = set.n;
    return exp_bind(exp_plan(e, 0), &set);
}

static RelnStatus chunk_loss(Exp *e, const Fit *f, int split, double *loss)
{
    const ExpSet set = set_of(f, split);

    return exp_predict(e, EXP_NETWORK, &set, loss);
}

static RelnStatus evaluate(Exp *e, void *self, RelnEvaluation *out)
{
    return chunk_loss(e, self, PEND_VALID, &out->score);
}

/* Returns the steps of a piece of the Scalars' schedule, which must not be empty. */
static uint64_t at_least_one(uint64_t steps)
{
    return steps > 0 ? steps : 1;
}

static RelnSchedule schedule_of(const Fit *f)
{
    const uint64_t n = (uint64_t)f->scale->steps, first = at_least_one(n / 10);
    RelnSchedule s = {.rate = f->row->rate, .n_pieces = 3};

    if (f->row->schedule != PEND_PIECES)
        return task_schedule(f->row->rate, f->row->schedule == PEND_COSINE, n, f->scale->warmup,
                             f->scale->floor);
    s.piece[0] = (RelnSchedulePiece){.kind = RELN_SCHEDULE_CONSTANT, .steps = first};
    s.piece[1] = (RelnSchedulePiece){
        .kind = RELN_SCHEDULE_CONSTANT, .steps = at_least_one(n / 2 - first), .scale = 0.4};
    s.piece[2] = (RelnSchedulePiece){.kind = RELN_SCHEDULE_CONSTANT, .scale = 0.1};
    return s;
}

/* ---- curves ---------------------------------------------------------------------------------------------------- */

#define ERROR_AT "error of a state"
#define HEIGHT "height of the lower mass, first test motion"
#define FROM_ABOVE "its path, seen from above"
#define DRIFT_ENERGY "its energy, less that at the start"
#define DRIFT_SPIN "its angular momentum, less that at the start"

static const TaskFigure figures[] = {
    {.curve = ERROR_AT, .x = "time", .y = "geometric mean over motions"},
    {.curve = HEIGHT, .x = "time", .truth = HEIGHT ", true"},
    {.curve = FROM_ABOVE, .x = "x", .y = "y", .truth = FROM_ABOVE ", true"},
    {.curve = DRIFT_ENERGY, .x = "time"},
    {.curve = DRIFT_SPIN, .x = "time"},
};

/* ---- evaluation ------------------------------------------------------------------------------------------------- */

/* Computes zdot of all `states` (n, 12), with room for them packed. */
static RelnStatus velocities(Exp *e, const Fit *f, const double *states, double *packed,
                             double *zdot)
{
    const int n = f->data->sets.n;
    const ExpSet set = {.n = f->groups,
                        .n_columns = 1,
                        .column = {{EXP_NUMBERS("z", PEND_STATE * f->abreast, packed)}}};

    pend_pack(n, f->abreast, PEND_STATE, states, packed);
    TRY(exp_predict(e, EXP_OTHER, &set, packed));
    pend_unpack(n, f->abreast, PEND_STATE, packed, zdot);
    return RELN_OK;
}

/* Rotates vectors about the vertical. */
static void turn(double angle, int count, const double *from, double *to)
{
    const double c = cos(angle), s = sin(angle);

    for (int i = 0; i < count; i += 3) {
        to[i] = c * from[i] - s * from[i + 1];
        to[i + 1] = s * from[i] + c * from[i + 1];
        to[i + 2] = from[i + 2];
    }
}

/* Computes the largest |zdot(R z) - R zdot(z)| relative to the largest |zdot|, for a rotation about the
 * vertical (60 degrees for D6): rounding of single precision if the network has the symmetry, and far more if
 * not. */
static RelnStatus judge_symmetry(Exp *e, Fit *f)
{
    const int n = f->data->sets.n * PEND_STATE, n_packed = f->groups * f->abreast * PEND_STATE;
    const double angle = f->row->symmetry == PEND_D6 ? acos(-1.0) / 3 : f->scale->turn;
    double worst = 0, size = 0, *before, *after, *packed;

    before = exp_room(e, (size_t)(2 * n + n_packed) * sizeof *before);
    if (!before)
        return task_nomem(f->run->env);
    after = before + n;
    packed = after + n;
    TRY(velocities(e, f, f->starts, packed, after));
    turn(angle, n, after, before);
    turn(angle, n, f->starts, after);
    TRY(velocities(e, f, after, packed, after));
    for (int i = 0; i < n; i++) {
        worst = fmax(worst, fabs(after[i] - before[i]));
        size = fmax(size, fabs(before[i]));
    }
    f->run->metrics[SYMMETRY] = worst / size;
    return RELN_OK;
}

static RelnStatus judge_rollouts(Exp *e, Fit *f)
{
    const int n = f->data->sets.n;
    RelnPlan *plan = exp_judge(e, EXP_OTHER);
    const PendRollout rollout = {plan, f->scale->dtype, n, f->abreast, f->scale->rollout_step};
    PendErrors errors;

    TRY(reln_plan_freeze(plan));
    TRY(pend_rollout(&rollout, f->starts, f->z));
    errors = pend_errors(&f->data->system, f->z, f->data->sets.truth, n);
    f->run->metrics[ERROR] = errors.table;
    f->run->metrics[ERROR_LOG] = errors.log;
    f->run->metrics[ERROR_MOVING] = errors.moving;
    f->run->metrics[ENERGY] = errors.energy;
    f->run->metrics[SPIN] = errors.spin;
    for (int t = 1; t < PEND_ROLLOUT; t++)
        TRY(task_curve(f->run, ERROR_AT, t * PEND_INTERVAL, errors.at[t]));
    return RELN_OK;
}

/* Draws the first test motion: position of the lower mass, energy and spin against time. */
static RelnStatus draw_motion(Fit *f)
{
    const double energy = pend_energy(&f->data->system, f->z), spin = pend_spin(f->z);

    for (int t = 0; t < PEND_ROLLOUT; t++) {
        const double *z = f->z + (ptrdiff_t)t * PEND_STATE, at = t * PEND_INTERVAL;
        const double *true_z = f->data->sets.truth + (ptrdiff_t)t * PEND_STATE;

        TRY(task_curve(f->run, HEIGHT, at, z[5]));
        TRY(task_curve(f->run, HEIGHT ", true", at, true_z[5]));
        TRY(task_curve(f->run, FROM_ABOVE, z[3], z[4]));
        TRY(task_curve(f->run, FROM_ABOVE ", true", true_z[3], true_z[4]));
        TRY(task_curve(f->run, DRIFT_ENERGY, at, pend_energy(&f->data->system, z) - energy));
        TRY(task_curve(f->run, DRIFT_SPIN, at, pend_spin(z) - spin));
    }
    return RELN_OK;
}

static RelnStatus judge(TaskRun *run, Exp *e, const void *self)
{
    Fit copy = *(const Fit *)self, *f = &copy;
    const size_t n = (size_t)f->data->sets.n;

    f->starts = exp_room(e, n * PEND_STATE * sizeof *f->starts);
    f->z = exp_room(e, n * PEND_ROLLOUT * PEND_STATE * sizeof *f->z);
    if (!f->starts || !f->z)
        return task_nomem(run->env);
    for (size_t i = 0; i < n; i++)
        memcpy(f->starts + i * PEND_STATE, f->data->sets.truth + i * PEND_ROLLOUT * PEND_STATE,
               PEND_STATE * sizeof *f->starts);
    TRY(chunk_loss(e, f, PEND_TEST, &run->metrics[CHUNK]));
    TRY(judge_rollouts(e, f));
    if (run->seed == 1) /* draw one motion for each row */
        TRY(draw_motion(f));
    return judge_symmetry(e, f);
}

static RelnStatus fit(Fit *f, RelnGroup *group)
{
    const ExpPart part = {.load = load,
                          .steps_per_epoch = 1,
                          .loss_of = itself,
                          .eps_inside = f->row->published,
                          .evaluate = evaluate,
                          .curve = "validation loss",
                          .last = f->row->published,
                          .steps = (uint64_t)f->scale->steps,
                          .evaluate_every = (uint64_t)f->scale->evaluate_every,
                          .schedule = schedule_of(f),
                          .self = f};

    TRY(pack(f));
    return exp_run(f->run,
                   &(ExpJob){.group = group,
                             .dtype = f->scale->dtype,
                             .network = loss_of_chunks,
                             .others = {velocity},
                             .model = f,
                             .start = f->choice.arch->start ? start : NULL,
                             .n_parts = 1,
                             .parts = &part},
                   judge, f);
}

static RelnStatus run(TaskRun *run, const void *data)
{
    PendBuild build;
    Fit f = {.run = run,
             .data = data,
             .row = run->model->settings,
             .scale = task_scale(run->env),
             .build = &build};
    RelnGroup *group = NULL;
    RelnStatus status = pend_row_group(run->env->ctx, f.row, &group);

    f.choice = pend_choose(f.row);
    if (status == RELN_OK)
        status = fit(&f, group);
    reln_group_destroy(group);
    return status;
}

const Task task_pendulum = {
    .name = "pendulum",
    .purpose = "learning the energy of a double spring pendulum",
    .about = "Networks learn the energy H(z) of a double pendulum from 500 pieces of motion of 0.8 "
             "time units. They are tested by predicting 500 other motions over 29.8 time "
             "units.\n\nThe error of a state is |zhat - z| / (|zhat| + |z|). The table has its "
             "geometric mean, with errors below 1e-5 raised to 1e-5 as papers print it, then with "
             "1e-7, and without the first time. Drifts are the largest change of the true energy, "
             "and of the angular momentum about the vertical, along a learned motion. The last "
             "column is the error of the velocity's symmetry under a rotation.",
    .n_metrics = 7,
    .metrics = {{.name = "error", .label = "rollout error"},
                {.name = "error_log", .label = "with 1e-7"},
                {.name = "error_moving", .label = "without t = 0"},
                {.name = "chunk_mse", .label = "test chunks"},
                {.name = "energy_drift", .label = "energy drift"},
                {.name = "spin_drift", .label = "Lz drift"},
                {.name = "symmetry", .label = "sym. error"}},
    .n_models = sizeof models / sizeof models[0],
    .models = models,
    .n_options = 2,
    .options = {{.name = "group",
                 .help = "rows of one symmetry, and those without",
                 TASK_WORDS(groups),
                 .otherwise = PEND_NONE},
                {.name = "target",
                 .help = "stiffness 2 of the second spring, or 1",
                 TASK_NAMES(targets, sizeof targets / sizeof targets[0])}},
    .scale_fields = TASK_FIELDS(Scale, scale_keys),
    .row_fields = {&pend_row_section, sizeof(PendRowSettings)},
    .scales = scales,
    .n_figures = sizeof figures / sizeof figures[0],
    .figures = figures,
    .seeds = {1, 1, 3},
    .wanted = wanted,
    .prepare = prepare,
    .run = run,
};
