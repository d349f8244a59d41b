/* task.c -- the drone table: flights, networks and estimators, and their evaluation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/drone/classic.h"
#include "tasks/drone/files.h"
#include "tasks/drone/nets.h"
#include "tasks/drone/score.h"
#include "tasks/experiment.h"
#include "tasks/settings.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

enum { WINDOW, ATE, MEAN, PERCENT, RTE2, RTE20, ATE_R2, ATE_R3, TURNED, SYMMETRY, NEES, METRICS };

#define JERK 30.0
#define ROW_OF(rate_, ...)                                                                         \
    &(const DroneRow)                                                                              \
    {                                                                                              \
        .jerk = JERK, .rate = rate_, __VA_ARGS__                                                   \
    }
#define ROW(...) ROW_OF(2e-3, __VA_ARGS__)
#define CLASSIC(arch_) ROW(.arch = arch_)
/* Channels of the published networks: 64/3, 512/3 and 128/3. */
#define CHANNELS .width = 21, .last = 170, .prep = 42
#define CLIP 0.1 /* of the published training */
#define PUBLISHED CHANNELS, .clip = CLIP, .residual = true, .normal = true
#define VN(input_, ...) ROW(.arch = DRONE_VN, .input = input_, PUBLISHED, __VA_ARGS__)
#define RELN(input_, ...) ROW(.arch = DRONE_RELN, .input = input_, PUBLISHED, __VA_ARGS__)
#define RESNET(input_, ...)                                                                        \
    ROW(.arch = DRONE_RESNET, .input = input_, .width = 64, .second = 128, .third = 256,           \
        .last = 512, .prep = 128, .residual = true, .normal = true, __VA_ARGS__)
/* On chains; `last` are the heads. */
#define CHAIN(arch_, ...)                                                                          \
    ROW(.arch = arch_, .input = DRONE_IN_LOG, .layers = 4, .residual = true, .normal = true,       \
        __VA_ARGS__)
#define OURS(...)                                                                                  \
    ROW_OF(1e-2, .arch = DRONE_OURS, .input = DRONE_IN_RESOLVENTS, .width = 3, .prep = 16,         \
           .layers = 8, .residual = true, .normal = true, .fit = true, __VA_ARGS__)

/* The paper's numbers are in the column of its evaluation (R3). Its data are not published, so flights, noise
 * and evaluation differ from ours (README.md). */
static const TaskModel models[] = {
    {.name = "integration", .label = "integration", .settings = CLASSIC(DRONE_INTEGRATION)},
    {.name = "weighted", .label = "mean weighed by C^-1", .settings = CLASSIC(DRONE_WEIGHTED)},
    {.name = "kalman", .label = "Kalman filter (causal)", .settings = CLASSIC(DRONE_KALMAN)},
    {.name = "rts-mean", .label = "RTS smoother, mean C", .settings = CLASSIC(DRONE_RTS_MEAN)},
    {.name = "rts", .label = "RTS smoother", .settings = CLASSIC(DRONE_RTS)},
    {.name = "rts-window", .label = "RTS inside the window", .settings = CLASSIC(DRONE_RTS_WINDOW)},
    {.name = "fusion", .label = "fused sensors, integrated", .settings = CLASSIC(DRONE_FUSION)},
    {.name = "perfect",
     .label = "a perfect network",
     .settings = CLASSIC(DRONE_PERFECT),
     .reference = true},
    {.name = "resnet",
     .label = "ResNet (v, C)",
     .settings = RESNET(DRONE_IN_COVARIANCE, .small = true)},
    {.name = "resnet-aug",
     .label = "ResNet (v, C) + augmentation",
     .from = TASK_FULL,
     .settings = RESNET(DRONE_IN_COVARIANCE, .small = true, .augmented = true)},
    {.name = "resnet-5m",
     .label = "ResNet (v, C), 5.4 M",
     .from = TASK_FULL,
     .settings = RESNET(DRONE_IN_COVARIANCE, .small = false)},
    {.name = "vn", .label = "Vector Neurons (v)", .settings = VN(DRONE_IN_V, .bracket = false)},
    {.name = "vn-axes",
     .label = "Vector Neurons (v, axes of C)",
     .from = TASK_FULL,
     .settings = VN(DRONE_IN_AXES, .shrink = 64)},
    {.name = "vn-axes-coded",
     .label = "Vector Neurons (v, C) as coded",
     .from = TASK_FULL,
     .settings = VN(DRONE_IN_AXES_CODED, .shrink = 64)},
    {.name = "vn-krylov",
     .label = "Vector Neurons (v, Cv, C^2 v)",
     .from = TASK_FULL,
     .settings = VN(DRONE_IN_KRYLOV, .bracket = false)},
    {.name = "vn-krylov-bounded",
     .label = "Vector Neurons (v, Cv, C^2 v), norms by size",
     .from = TASK_FULL,
     .settings = VN(DRONE_IN_KRYLOV, .bracket = false, .bounded = true)},
    {.name = "reln-v",
     .label = "ReLN (v)",
     .from = TASK_FULL,
     .settings = RELN(DRONE_IN_V, .bracket = true)},
    {.name = "reln-c",
     .label = "ReLN (v, C)",
     .from = TASK_FULL,
     .settings = RELN(DRONE_IN_COVARIANCE, .bracket = true)},
    {.name = "reln", .label = "ReLN (v, log C)", .settings = RELN(DRONE_IN_LOG, .bracket = true)},
    {.name = "reln-bounded",
     .label = "ReLN (v, log C), bounded gates (ours)",
     .from = TASK_FULL,
     .settings = RELN(DRONE_IN_LOG, .bracket = true, .bounded = true)},
    {.name = "reln-products",
     .label = "ReLN (v, log C), bounded, products (ours)",
     .from = TASK_FULL,
     .settings = RELN(DRONE_IN_LOG, .bounded = true, .products = true)},
    {.name = "lie-neurons",
     .label = "Lie Neurons (v, log C): no centre",
     .from = TASK_FULL,
     .settings = RELN(DRONE_IN_LOG, .bracket = true, .form = RELN_FORM_NO_CENTER)},
    {.name = "reln-no-semisimple",
     .label = "ReLN, no semisimple part",
     .from = TASK_FULL,
     .settings = RELN(DRONE_IN_LOG, .bracket = true, .form = RELN_FORM_NO_SEMISIMPLE)},
    {.name = "reln-no-bracket",
     .label = "ReLN, no bracket",
     .from = TASK_FULL,
     .settings = RELN(DRONE_IN_LOG, .bracket = false)},
    {.name = "reln-untied",
     .label = "ReLN, untied parts",
     .from = TASK_FULL,
     .settings = RELN(DRONE_IN_LOG, .bracket = true, .untied = true)},
    {.name = "reln-causal",
     .label = "ReLN, causal convolutions",
     .from = TASK_FULL,
     .settings = RELN(DRONE_IN_LOG, .bracket = true, .causal = true)},
    {.name = "reln-direct",
     .label = "ReLN, not beside the integral",
     .from = TASK_FULL,
     .settings =
         ROW(.arch = DRONE_RELN, .input = DRONE_IN_LOG, CHANNELS, .clip = CLIP, .bracket = true)},
    {.name = "tfn",
     .label = "Tensor Field Network",
     .from = TASK_FULL,
     .settings = CHAIN(DRONE_TFN, .width = 17)},
    {.name = "tfn-wide",
     .label = "Tensor Field Network, neighbours up to 16",
     .from = TASK_FULL,
     .settings = CHAIN(DRONE_TFN, .width = 17, .reach = 16)},
    {.name = "se3t",
     .label = "SE(3)-Transformer",
     .from = TASK_FULL,
     .settings = CHAIN(DRONE_SE3T, .width = 16, .last = 4)},
    {.name = "se3t-wide",
     .label = "SE(3)-Transformer, neighbours up to 16",
     .from = TASK_FULL,
     .settings = CHAIN(DRONE_SE3T, .width = 16, .last = 4, .reach = 16)},
    {.name = "best",
     .label = "learned fit and smoother, resolvents of C (ours)",
     .settings = OURS(.covariance = true)},
    {.name = "best-gravity",
     .label = "ours, about gravity only",
     .from = TASK_FULL,
     .settings = OURS(.covariance = true, .gravity = true)},
};

static const char *const archs[] = {"integration", "weighted", "kalman",  "rts-mean", "rts",
                                    "rts-window",  "fusion",   "perfect", "resnet",   "vn",
                                    "reln",        "tfn",      "se3t",    "ours",     NULL};
static const char *const inputs[] = {"v",      "covariance", "log",        "resolvents",
                                     "krylov", "axes",       "axes-coded", NULL};

static const Key row_keys[] = {
    TASK_NUMBER(DroneRow, rate),
    TASK_NUMBER(DroneRow, jerk),
    TASK_NUMBER_BEFORE(DroneRow, clip, "0"),
    TASK_WORD(DroneRow, arch, archs),
    TASK_WORD(DroneRow, input, inputs),
    TASK_WORD(DroneRow, form, task_form_words),
    TASK_WHOLE(DroneRow, width),
    TASK_WHOLE(DroneRow, last),
    TASK_WHOLE(DroneRow, prep),
    TASK_WHOLE(DroneRow, layers),
    TASK_WHOLE(DroneRow, reach),
    TASK_FLAG(DroneRow, residual),
    TASK_FLAG(DroneRow, augmented),
    TASK_FLAG(DroneRow, bracket),
    TASK_FLAG(DroneRow, untied),
    TASK_FLAG(DroneRow, covariance),
    TASK_FLAG(DroneRow, causal),
    TASK_FLAG(DroneRow, gravity),
    TASK_FLAG(DroneRow, small),
    TASK_FIELD(DroneRow, bounded, .kind = KEY_FLAG, .before = "false"),
    TASK_FIELD(DroneRow, normal, .kind = KEY_FLAG, .before = "false"),
    TASK_FIELD(DroneRow, products, .kind = KEY_FLAG, .before = "false"),
    TASK_FIELD(DroneRow, second, .kind = KEY_WHOLE, .before = "0"),
    TASK_FIELD(DroneRow, third, .kind = KEY_WHOLE, .before = "0"),
    TASK_FIELD(DroneRow, shrink, .kind = KEY_WHOLE, .before = "0"),
    TASK_FIELD(DroneRow, fit, .kind = KEY_FLAG, .before = "false"),
};

/* ---- scales and options ------------------------------------------------------------------------------------------ */

typedef struct Scale {
    ExpScale exp;
    double seconds;                 /* longest part of a flight for training */
    double test_seconds;            /* longest part of a flight for testing; 0: the whole flight */
    int trained, validated, tested; /* numbers of flights */
    int stride;                     /* samples between windows that overlap, for R2 and R3 */
    int turns;                      /* number of flights evaluated in a turned frame, too */
    int likelihood;                 /* steps of training for the covariance */
} Scale;

#define SCALE(steps_, every_, batch_, ...)                                                         \
    {                                                                                              \
        .exp = EXP_SCALE(.batch = batch_, .data_seed = 4242, .steps = steps_,                      \
                         .evaluate_every = every_),                                                \
        __VA_ARGS__                                                                                \
    }
static const Scale scales[TASK_SCALES] = {
    SCALE(4, 2, 4, .seconds = 6, .test_seconds = 24, .trained = 2, .validated = 1, .tested = 1,
          .stride = 100, .turns = 1, .likelihood = 2),
    SCALE(600, 60, 32, .seconds = 60, .test_seconds = 120, .trained = 20, .validated = 4,
          .tested = 4, .stride = 100, .turns = 2, .likelihood = 150),
    SCALE(12000, 400, 64, .seconds = 120, .test_seconds = 0, .trained = 80, .validated = 8,
          .tested = 12, .stride = 100, .turns = 4, .likelihood = 2000),
};
static const Key scale_keys[] = {
    EXP_SCALE_KEYS(Scale),      TASK_NUMBER(Scale, seconds),  TASK_NUMBER(Scale, test_seconds),
    TASK_WHOLE(Scale, trained), TASK_WHOLE(Scale, validated), TASK_WHOLE(Scale, tested),
    TASK_WHOLE(Scale, stride),  TASK_WHOLE(Scale, turns),     TASK_WHOLE(Scale, likelihood),
};

static const char *const noises[] = {"a", "b", "c", "d", "e", "f", "g"};
static const char *const frames[] = {"body", "flight", "seen"};
static const char *const network_sizes[] = {"small", "published"};

static bool wanted(const TaskEnv *env, const TaskModel *model)
{
    const DroneRow *row = model->settings;

    return row->arch != DRONE_FUSION || task_choice(env, "noise") == DRONE_NOISE_G;
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* A Flown is a flight with the measurements of its sensors. */
typedef struct Flown {
    DroneFlight flight;
    DroneSeen seen[2];
    double mean_speed;
    char name[64];
} Flown;

typedef struct Data {
    const Scale *scale;
    DroneNoise noise;
    int sensors;
    bool small; /* networks are narrower than the published */
    int n[3];   /* number of flights for training, validation and test */
    Flown *flown[3];
} Data;
enum { TRAINED, VALIDATED, TESTED };

static void end_flown(void *data)
{
    Data *d = data;

    for (int s = 0; s < 3; s++)
        for (int i = 0; d->flown[s] && i < d->n[s]; i++) {
            drone_flight_clear(&d->flown[s][i].flight);
            drone_seen_clear(&d->flown[s][i].seen[0]);
            drone_seen_clear(&d->flown[s][i].seen[1]);
        }
}

/* Draws the measurements of all sensors for a whole flight. */
static RelnStatus see(TaskEnv *env, const Data *d, uint64_t stream, Flown *f)
{
    f->mean_speed = drone_mean_speed(&f->flight);
    for (int s = 0; s < d->sensors; s++) {
        RelnRng rng = reln_rng((uint64_t)d->scale->exp.data_seed + 1, 2 * stream + (uint64_t)s);

        if (!drone_seen_init(&f->seen[s], f->flight.n))
            return task_nomem(env);
        drone_see(&d->noise, &f->flight, f->mean_speed, 0, &rng, &f->seen[s]);
    }
    return RELN_OK;
}

static const char *const splits[3] = {"train", "validation", "test"};

static RelnStatus fly_all(TaskEnv *env, Data *d, int n_splits)
{
    const int counts[3] = {d->scale->trained, d->scale->validated, d->scale->tested};
    uint64_t number = 0;

    for (int s = 0; s < n_splits; s++) {
        DronePlan plan = drone_usual;

        d->flown[s] = task_room(&env->rooms, (size_t)counts[s], sizeof **d->flown);
        if (!d->flown[s])
            return task_nomem(env);
        plan.seconds = s == TESTED ? d->scale->test_seconds : d->scale->seconds;
        for (d->n[s] = 0; d->n[s] < counts[s]; d->n[s]++, number++) {
            Flown *f = &d->flown[s][d->n[s]];

            snprintf(f->name, sizeof f->name, "%s-%03d", splits[s], d->n[s]);
            if (!drone_fly(&plan, (uint64_t)d->scale->exp.data_seed * 1000 + number, &f->flight))
                return task_nomem(env);
            if (s != TRAINED)
                TRY(see(env, d, number, f));
            else
                f->mean_speed = drone_mean_speed(&f->flight);
        }
    }
    return RELN_OK;
}

/* The shortest flight that is evaluated: three windows, because errors over 2 s are computed. */
enum { LEAST = 3 * (DRONE_WINDOW - 1) + 1 };

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Loads a flight of a file, and its measurements: from the file, or drawn. */
static RelnStatus load_flight(TaskEnv *env, const Data *d, const char *path, Flown *f)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    /* Numbers the flights, because names of files may be equal: those of EuRoC are all data.csv. */
    snprintf(f->name, sizeof f->name, "%d-%.*s", d->n[TESTED] + 1, (int)strcspn(name, "."), name);
    if (!ends_with(path, ".npz")) {
        TRY(drone_flight_load(env->ctx, path, DRONE_STEP, LEAST, &f->flight));
        return see(env, d, 100000 + (uint64_t)d->n[TESTED], f);
    }
    TRY(drone_flight_load_seen(env->ctx, path, DRONE_STEP, LEAST, d->sensors, &f->flight, f->seen));
    f->mean_speed = drone_mean_speed(&f->flight);
    return RELN_OK;
}

/* Loads the test flights from files instead of simulating them; `names` are separated by commas. */
static RelnStatus load_flights(TaskEnv *env, Data *d, const char *names)
{
    int most = 1;

    for (const char *c = names; *c; c++)
        most += *c == ',';
    d->flown[TESTED] = task_room(&env->rooms, (size_t)most, sizeof **d->flown);
    if (!d->flown[TESTED])
        return task_nomem(env);
    for (d->n[TESTED] = 0; *names; d->n[TESTED]++) {
        const size_t n = strcspn(names, ",");
        Flown *f = &d->flown[TESTED][d->n[TESTED]];
        char path[1024];

        if (n == 0 || n >= sizeof path)
            return task_fail(env, RELN_ERR_ARG, "--flights: a name of %zu characters", n);
        memcpy(path, names, n);
        path[n] = '\0';
        names += n + (names[n] == ',');
        TRY(load_flight(env, d, path, f));
    }
    return RELN_OK;
}

/* Writes all flights. Training flights have no fixed measurements, so errors are drawn for the files. */
static RelnStatus save_flights(TaskEnv *env, const Data *d, const char *folder)
{
    uint64_t number = 0;

    TRY(reln_folder_make(env->ctx, folder));
    for (int s = 0; s < 3; s++)
        for (int i = 0; i < d->n[s]; i++, number++) {
            Flown *f = &d->flown[s][i];

            if (s == TRAINED)
                TRY(see(env, d, number, f));
            TRY(drone_flight_save(env->ctx, folder, f->name, &f->flight, d->sensors, f->seen));
        }
    return RELN_OK;
}

static RelnStatus prepare(TaskEnv *env, void **data)
{
    Data *d = *data = task_room(&env->rooms, 1, sizeof *d);

    if (!d)
        return task_nomem(env);
    d->scale = task_scale(env);
    d->noise = (DroneNoise){(DroneNoiseKind)task_choice(env, "noise"),
                            (DroneFrame)task_choice(env, "frame")};
    d->sensors = drone_sensors(&d->noise);
    d->small = task_choice(env, "size") == 0;
    TRY(task_own(env, d, end_flown));
    TRY(fly_all(env, d, task_option(env, "flights") ? 2 : 3));
    if (task_option(env, "flights"))
        TRY(load_flights(env, d, task_option(env, "flights")));
    return task_option(env, "save") ? save_flights(env, d, task_option(env, "save")) : RELN_OK;
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

typedef struct Fit {
    TaskRun *run;
    const Data *data;
    DroneRow row; /* with the channels of the chosen size */
    DroneModel model;
    int n_v, n_m, n_l, n_out;
    double *v, *m, *l, *y; /* a batch */
    DroneSeen drawn[2];    /* one window */
    int room;              /* windows that v, m, l, y have room for */
    double *guess;         /* (room, n_out) */
} Fit;

enum { AT_ONCE = 64 };

/* Sets the channels of small networks, which have at most a fifth of the published parameters. */
static void narrow(const Data *d, DroneRow *row)
{
    if (row->arch == DRONE_RESNET && row->small) {
        row->width = 20;
        row->second = 40;
        row->third = 80;
        row->last = 160;
        row->prep = 44;
    }
    if (d->small && (row->arch == DRONE_TFN || row->arch == DRONE_SE3T))
        row->width = 8;
    if (d->small && (row->arch == DRONE_VN || row->arch == DRONE_RELN)) {
        row->width = 12;
        row->last = 64;
        row->prep = 16;
    }
}

static RelnStatus open_fit(Fit *f)
{
    TaskEnv *env = f->run->env;
    const int batch = f->data->scale->exp.batch;
    TaskRoom **rooms = &f->run->rooms;

    narrow(f->data, &f->row);
    f->model = (DroneModel){.row = &f->row, .sensors = f->data->sensors};
    f->n_v = 3 * DRONE_WINDOW * f->data->sensors;
    f->n_m = drone_size_m(f->row.input, f->data->sensors);
    f->n_l = drone_size_l(f->row.input);
    f->n_out = f->row.covariance ? 12 : 3;
    f->room = batch > AT_ONCE ? batch : AT_ONCE;
    f->v = task_room(rooms, (size_t)f->room * (size_t)f->n_v, sizeof *f->v);
    f->m = task_room(rooms, (size_t)f->room * (size_t)f->n_m + 1, sizeof *f->m);
    f->l = task_room(rooms, (size_t)f->room * (size_t)f->n_l + 1, sizeof *f->l);
    f->y = task_room(rooms, (size_t)f->room * 3, sizeof *f->y);
    f->guess = task_room(rooms, (size_t)f->room * (size_t)f->n_out, sizeof *f->guess);
    if (!f->v || !f->m || !f->l || !f->y || !f->guess)
        return task_nomem(env);
    for (int s = 0; s < f->data->sensors; s++)
        if (!drone_seen_init(&f->drawn[s], DRONE_WINDOW))
            return task_nomem(env);
    return RELN_OK;
}

static void close_fit(Fit *f)
{
    drone_seen_clear(&f->drawn[0]);
    drone_seen_clear(&f->drawn[1]);
}

/* Factor of inputs that are not normalised. Batch norms remove the unit of their inputs after some batches;
 * before that, they need inputs of size 1. */
#define UNIT 0.1

static void multiply(double *x, int n, double factor)
{
    for (int i = 0; i < n; i++)
        x[i] *= factor;
}

/* Writes the inputs of window i of a batch, and to `base` the displacement to which the network's output is
 * added. */
static void put_window(Fit *f, const DroneSeen *seen, int first, double step, int i, double *base)
{
    double *v = f->v + (ptrdiff_t)i * f->n_v, *m = f->m + (ptrdiff_t)i * f->n_m;

    drone_inputs(f->row.input, f->row.normal, f->data->sensors, seen, first, v, m,
                 f->l + (ptrdiff_t)i * f->n_l);
    if (!f->row.normal && (f->row.arch == DRONE_VN || f->row.arch == DRONE_RELN)) {
        multiply(v, f->n_v, UNIT);
        multiply(m, f->n_m, UNIT);
    }
    if (f->row.residual)
        drone_integral(f->data->sensors, seen, first, step, base);
    else
        memset(base, 0, 3 * sizeof *base);
}

static ExpSet batch_of(const Fit *f, ptrdiff_t n)
{
    ExpSet set = {.n = n, .n_columns = 1, .column = {{EXP_NUMBERS("v", f->n_v, f->v)}}};

    if (f->n_m > 0)
        set.column[set.n_columns++] = (ExpColumn){EXP_NUMBERS("m", f->n_m, f->m)};
    if (f->n_l > 0)
        set.column[set.n_columns++] = (ExpColumn){EXP_NUMBERS("l", f->n_l, f->l)};
    return set;
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* Draws a window of a training flight, with new errors, and in a random frame if the row has augmentation. */
static void draw_window(Fit *f, RelnRng *rng, int i)
{
    const Data *d = f->data;
    const Flown *flown = &d->flown[TRAINED][reln_rng_below(rng, (uint64_t)d->n[TRAINED])];
    const DroneFlight *flight = &flown->flight;
    const int first = (int)reln_rng_below(rng, (uint64_t)(flight->n - DRONE_WINDOW + 1));
    const double *a = flight->p + 3 * (ptrdiff_t)first, *b = a + 3 * (DRONE_WINDOW - 1);
    double truth[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]}, base[3], r[9], turned[3];

    for (int s = 0; s < d->sensors; s++)
        drone_see(&d->noise, flight, flown->mean_speed, first, rng, &f->drawn[s]);
    if (f->row.augmented) {
        drone_random_rotation(rng, r);
        for (int s = 0; s < d->sensors; s++)
            drone_turn_seen(r, &f->drawn[s], &f->drawn[s]);
        drone_turn_vector(r, truth, turned);
        memcpy(truth, turned, sizeof truth);
    }
    put_window(f, f->drawn, 0, flight->step, i, base);
    for (int k = 0; k < 3; k++)
        f->y[3 * i + k] = truth[k] - base[k];
}

static RelnStatus load(Exp *e, Fit *f, int part, uint64_t step, ptrdiff_t *n_samples)
{
    const int batch = f->data->scale->exp.batch;
    RelnRng rng = reln_rng(f->run->seed * 8 + (uint64_t)part, 1000 + step);
    ExpSet set;

    for (int i = 0; i < batch; i++)
        draw_window(f, &rng, i);
    set = batch_of(f, batch);
    *n_samples = batch;
    TRY(exp_bind(exp_plan(e, part), &set));
    return reln_plan_bind_sized(exp_plan(e, part), "y", f->y, RELN_F64, (size_t)batch * 3);
}

static RelnStatus load_first(Exp *e, void *self, uint64_t step, ptrdiff_t *n_samples)
{
    return load(e, self, 0, step, n_samples);
}

static RelnStatus load_second(Exp *e, void *self, uint64_t step, ptrdiff_t *n_samples)
{
    return load(e, self, 1, step, n_samples);
}

static RelnNode *error_of(const RelnNet *net, RelnNode *out)
{
    RelnGraph *g = net->graph;
    RelnNode *d = out;

    if (out && reln_node_dims(out).k == 12)
        d = reln_slice_k(g, out, 0, reln_rep_vector(reln_graph_group(g)));
    return d ? reln_sub(g, d,
                        reln_input(g, "y", RELN_SAMPLES, reln_node_dims(d), reln_node_rep(d),
                                   RELN_DEFAULT))
             : NULL;
}

/* Returns the mean square of the coordinates of the error. */
static RelnNode *square_loss(const RelnNet *net, const void *model, RelnNode *out)
{
    RelnGraph *g = net->graph;
    RelnNode *e = error_of(net, out);

    (void)model;
    return reln_batch_mean(g, reln_scale(g, reln_pair(g, e, e), 1.0 / 3));
}

/* Minus the log-likelihood of N(0, S), S = exp(L): (e^T exp(-L) e + tr L) / 2. */
static RelnNode *likelihood_loss(const RelnNet *net, const void *model, RelnNode *out)
{
    static const double trace[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    RelnGraph *g = net->graph;
    RelnGroup *group = reln_graph_group(g);
    RelnNode *e = error_of(net, out), *L = reln_slice_k(g, out, 3, reln_rep_matrix(group));
    RelnNode *w = drone_apply(net, reln_symexp(g, reln_scale(g, L, -1)), e);
    RelnNode *both =
        reln_add(g, reln_pair(g, e, w), reln_linear_map(g, L, trace, reln_rep_trivial(group, 1)));

    (void)model;
    return reln_batch_mean(g, reln_scale(g, both, 0.5));
}

/* Predicts the displacements of n windows that begin `apart` samples from each other and, if `logs` is not
 * NULL, the logarithms (n, 9) of their covariances. */
static RelnStatus predict(Exp *e, Fit *f, const DroneSeen *seen, double step, int n, int apart,
                          double *d, double *logs)
{
    double base[AT_ONCE][3];

    for (int first = 0; first < n; first += AT_ONCE) {
        const int count = n - first < AT_ONCE ? n - first : AT_ONCE;
        ExpSet set;

        for (int i = 0; i < count; i++)
            put_window(f, seen, (first + i) * apart, step, i, base[i]);
        set = batch_of(f, count);
        TRY(exp_predict(e, EXP_NETWORK, &set, f->guess));
        for (int i = 0; i < count; i++) {
            const double *out = f->guess + (ptrdiff_t)i * f->n_out;

            for (int k = 0; k < 3; k++)
                d[3 * (first + i) + k] = base[i][k] + out[k];
            if (logs)
                memcpy(logs + 9 * (ptrdiff_t)(first + i), out + 3, 9 * sizeof *logs);
        }
    }
    return RELN_OK;
}

static int tiles(const DroneFlight *f)
{
    return (f->n - 1) / (DRONE_WINDOW - 1);
}

/* Computes the score: the mean square error of displacements on the validation flights. */
static RelnStatus evaluate(Exp *e, void *self, RelnEvaluation *out)
{
    Fit *f = self;
    const Data *d = f->data;
    double sum = 0;
    int count = 0;

    for (int i = 0; i < d->n[VALIDATED]; i++) {
        const Flown *flown = &d->flown[VALIDATED][i];
        const int n = tiles(&flown->flight);
        double *guess = malloc((size_t)(6 * n + 6) * sizeof *guess);
        DroneScores s;
        RelnStatus status;

        if (!guess)
            return task_nomem(f->run->env);
        status = predict(e, f, flown->seen, flown->flight.step, n, DRONE_WINDOW - 1, guess, NULL);
        drone_score_tiles(&flown->flight, DRONE_WINDOW, n, guess, guess + 3 * (ptrdiff_t)n, &s);
        free(guess);
        if (status != RELN_OK)
            return status;
        sum += s.window * s.window * n;
        count += n;
    }
    out->score = sum / count;
    return RELN_OK;
}

/* ---- judging ----------------------------------------------------------------------------------------------------- */

#define FROM_ABOVE "first test flight, seen from above"
#define FROM_SIDE "first test flight, seen from the side"
#define ERROR_AT "error against time, first test flight"

static const TaskFigure figures[] = {
    {.curve = FROM_ABOVE, .x = "x [m]", .y = "y [m]", .path = true, .truth = FROM_ABOVE ", true"},
    {.curve = FROM_SIDE, .x = "x [m]", .y = "z [m]", .path = true, .truth = FROM_SIDE ", true"},
    {.curve = ERROR_AT, .x = "seconds", .y = "m"},
};

/* A Judge is an estimator that is evaluated: a row with its network, or without. */
typedef struct Judge {
    Fit *f;
    Exp *e; /* NULL: without learning */
} Judge;

static RelnStatus classic(const Judge *j, const Flown *flown, const DroneSeen *seen,
                          const double *r, int n, int apart, double *d, double *c)
{
    const DroneRow *row = &j->f->row;
    const DroneFlight *flight = &flown->flight;
    const bool fused = row->arch != DRONE_INTEGRATION;
    TaskEnv *env = j->f->run->env;
    double *u = NULL;
    DroneTrack t;

    if (!drone_track_init(&t, flight->n, flight->step))
        return task_nomem(env);
    drone_track(j->f->data->sensors, seen, fused, row->arch == DRONE_RTS_MEAN, &t);
    if (row->arch == DRONE_KALMAN || row->arch == DRONE_RTS || row->arch == DRONE_RTS_MEAN) {
        u = malloc((size_t)flight->n * 3 * sizeof *u);
        if (!u || !drone_filter(&t, row->jerk, row->arch == DRONE_KALMAN, u)) {
            free(u);
            drone_track_clear(&t);
            return task_nomem(env);
        }
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        const int first = (int)i * apart;
        const double *a = flight->p + 3 * (ptrdiff_t)first, *b = a + 3 * (DRONE_WINDOW - 1);
        const double truth[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};

        if (row->arch == DRONE_PERFECT)
            drone_turn_vector(r, truth, d + 3 * i);
        else if (row->arch == DRONE_WEIGHTED)
            drone_weighted_displacement(&t, first, DRONE_WINDOW, d + 3 * i);
        else if (row->arch == DRONE_RTS_WINDOW)
            drone_window_filter(&t, first, DRONE_WINDOW, row->jerk, d + 3 * i, c + 9 * i);
        else
            drone_displacement(u ? u : t.v, first, DRONE_WINDOW, t.step, d + 3 * i);
    }
    free(u);
    drone_track_clear(&t);
    return RELN_OK;
}

/* Estimates the displacements d (n, 3) of windows that begin `apart` samples from each other. c (n, 9)
 * receives covariances, or from a network their logarithms. r is the frame, for the row that knows the truth. */
static RelnStatus estimate(const Judge *j, const Flown *flown, const DroneSeen *seen,
                           const double *r, int n, int apart, double *d, double *c)
{
    if (j->e)
        return predict(j->e, j->f, seen, flown->flight.step, n, apart, d,
                       j->f->row.covariance ? c : NULL);
    return classic(j, flown, seen, r, n, apart, d, c);
}

static double negative_exp(double x)
{
    return exp(-x);
}

/* Adds the mean of e^T S^-1 e over the windows, for an estimator with covariances S. */
static RelnStatus add_nees(const Judge *j, const Flown *flown, int n, const double *d,
                           const double *c, double *sum)
{
    double w[9], e[3], we[3];

    for (ptrdiff_t i = 0; i < n; i++) {
        const double *a = flown->flight.p + 3 * i * (DRONE_WINDOW - 1),
                     *b = a + 3 * (DRONE_WINDOW - 1);

        if (j->e)
            TRY(reln_matrix_sym(j->f->run->env->ctx, 3, c + 9 * i, negative_exp, w));
        else
            drone_inverse(c + 9 * i, w);
        for (int k = 0; k < 3; k++)
            e[k] = d[3 * i + k] - (b[k] - a[k]);
        drone_turn_vector(w, e, we);
        *sum += (e[0] * we[0] + e[1] * we[1] + e[2] * we[2]) / n;
    }
    return RELN_OK;
}

static RelnStatus draw_curves(TaskRun *run, const DroneFlight *f, int n, const double *errors)
{
    for (ptrdiff_t i = 0; i <= n; i++) {
        const double *e = errors + 3 * i, *p = f->p + 3 * i * (DRONE_WINDOW - 1);

        TRY(task_curve(run, FROM_ABOVE, p[0] + e[0], p[1] + e[1]));
        TRY(task_curve(run, FROM_ABOVE ", true", p[0], p[1]));
        TRY(task_curve(run, FROM_SIDE, p[0] + e[0], p[2] + e[2]));
        TRY(task_curve(run, FROM_SIDE ", true", p[0], p[2]));
        TRY(task_curve(run, ERROR_AT, (double)i * (DRONE_WINDOW - 1) * f->step,
                       sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2])));
    }
    return RELN_OK;
}

static const double no_turn[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

/* Returns the larger number; unlike fmax(), NaN if one of them is NaN. */
static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

/* Evaluates the flight in a turned frame: the error of displacements there, and their distance from the
 * turned displacements. */
static RelnStatus judge_turned(const Judge *j, const Flown *flown, int n, const double *before,
                               double *room, uint64_t number)
{
    const Data *data = j->f->data;
    TaskRun *run = j->f->run;
    const int turns = data->scale->turns < data->n[TESTED] ? data->scale->turns : data->n[TESTED];
    RelnRng rng = exp_rng(&data->scale->exp, 50 + number);
    DroneSeen seen[2] = {{0}, {0}};
    double r[9], *d = room, worst = 0, size = 0, sum = 0;
    RelnStatus status = RELN_OK;

    drone_random_rotation(&rng, r);
    for (int s = 0; s < data->sensors && status == RELN_OK; s++) {
        if (drone_seen_init(&seen[s], flown->flight.n))
            drone_turn_seen(r, &flown->seen[s], &seen[s]);
        else
            status = task_nomem(run->env);
    }
    if (status == RELN_OK)
        status = estimate(j, flown, seen, r, n, DRONE_WINDOW - 1, d, d + 3 * (ptrdiff_t)n);
    drone_seen_clear(&seen[0]);
    drone_seen_clear(&seen[1]);
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *a = flown->flight.p + 3 * i * (DRONE_WINDOW - 1),
                     *b = a + 3 * (DRONE_WINDOW - 1);
        const double true_d[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
        double truth[3], turned[3];

        drone_turn_vector(r, true_d, truth);
        drone_turn_vector(r, before + 3 * i, turned);
        for (int k = 0; k < 3; k++) {
            sum += pow(d[3 * i + k] - truth[k], 2) / n;
            worst = fmax(worst, fabs(d[3 * i + k] - turned[k]));
            size = fmax(size, fabs(turned[k]));
        }
    }
    run->metrics[TURNED] += sqrt(sum) / turns;
    run->metrics[SYMMETRY] =
        isnan(sum) ? (double)NAN : larger(run->metrics[SYMMETRY], worst / size);
    return status;
}

static RelnStatus judge_overlaps(const Judge *j, const Flown *flown, double *room)
{
    const Data *data = j->f->data;
    const int apart = data->scale->stride, n = (flown->flight.n - DRONE_WINDOW) / apart + 1;
    TaskRun *run = j->f->run;
    DroneCoded coded;

    TRY(estimate(j, flown, flown->seen, no_turn, n, apart, room, room + 3 * (ptrdiff_t)n));
    if (!drone_score_coded_flight(&flown->flight, DRONE_WINDOW, apart, n, room, &coded))
        return task_nomem(run->env);
    run->metrics[ATE_R2] +=
        drone_score_centres(&flown->flight, DRONE_WINDOW, apart, n, room) / data->n[TESTED];
    run->metrics[ATE_R3] += coded.rmse / data->n[TESTED];
    return RELN_OK;
}

/* Saves the joints of windows as estimates/ROW-SEED.FLIGHT.tum. */
static RelnStatus keep_estimate(TaskRun *run, const Flown *flown, int n, const double *errors)
{
    char ending[80], path[TASK_PATH];

    snprintf(ending, sizeof ending, "%s.tum", flown->name);
    TRY(task_file(run, "estimates", ending, path));
    return path[0] == '\0' ? RELN_OK
                           : drone_estimate_save(run->env->ctx, path, &flown->flight, n,
                                                 DRONE_WINDOW - 1, errors);
}

/* Returns the number of test flights that are long enough for errors over so many seconds. */
static int flights_over(const Data *data, double seconds)
{
    int n = 0;

    for (int i = 0; i < data->n[TESTED]; i++)
        n += seconds / ((DRONE_WINDOW - 1) * DRONE_STEP) <= tiles(&data->flown[TESTED][i].flight);
    return n;
}

/* Adds a flight's error to the mean over the flights that have one. */
static void add_relative(const Data *data, double seconds, double error, double *mean)
{
    const int n = flights_over(data, seconds);

    if (n == 0)
        *mean = (double)NAN;
    else if (!isnan(error))
        *mean += error / n;
}

static RelnStatus judge_flight(const Judge *j, int number, double *room)
{
    const Data *data = j->f->data;
    const Flown *flown = &data->flown[TESTED][number];
    const int n = tiles(&flown->flight);
    double *d = room, *errors = d + 3 * (ptrdiff_t)n, *c = errors + 3 * (ptrdiff_t)n + 3,
           *m = j->f->run->metrics;
    DroneScores s;

    TRY(estimate(j, flown, flown->seen, no_turn, n, DRONE_WINDOW - 1, d, c));
    drone_score_tiles(&flown->flight, DRONE_WINDOW, n, d, errors, &s);
    m[WINDOW] += s.window / data->n[TESTED];
    m[ATE] += s.ate / data->n[TESTED];
    m[MEAN] += s.mean / data->n[TESTED];
    m[PERCENT] += s.percent / data->n[TESTED];
    add_relative(data, 2, s.rte2, &m[RTE2]);
    add_relative(data, 20, s.rte20, &m[RTE20]);
    if (j->f->row.covariance || j->f->row.arch == DRONE_RTS_WINDOW) {
        double sum = 0;

        TRY(add_nees(j, flown, n, d, c, &sum));
        m[NEES] += sum / data->n[TESTED];
    }
    TRY(keep_estimate(j->f->run, flown, n + 1, errors));
    if (number == 0 && j->f->run->seed == 1)
        TRY(draw_curves(j->f->run, &flown->flight, n, errors));
    if (number < data->scale->turns)
        TRY(judge_turned(j, flown, n, d, c + 9 * (ptrdiff_t)n, (uint64_t)number));
    return judge_overlaps(j, flown, c + 9 * (ptrdiff_t)n);
}

static RelnStatus judge_all(const Judge *j)
{
    const Data *data = j->f->data;
    TaskRun *run = j->f->run;
    ptrdiff_t most = 0;
    double *room;

    for (int i = 0; i < data->n[TESTED]; i++)
        most = data->flown[TESTED][i].flight.n > most ? data->flown[TESTED][i].flight.n : most;
    /* 12 numbers for each tile and each overlapping window, and 3 for each joint */
    room = malloc((size_t)(15 * (most / (DRONE_WINDOW - 1) + 2) +
                           12 * (most / data->scale->stride + 2) +
                           12 * (most / (DRONE_WINDOW - 1) + 2)) *
                  sizeof *room);
    if (!room)
        return task_nomem(run->env);
    memset(run->metrics, 0, METRICS * sizeof *run->metrics);
    for (int i = 0; i < data->n[TESTED]; i++) {
        const RelnStatus status = task_asked(run) ? RELN_ERR_STOPPED : judge_flight(j, i, room);

        if (status != RELN_OK) {
            free(room);
            return status;
        }
    }
    free(room);
    if (!j->f->row.covariance && j->f->row.arch != DRONE_RTS_WINDOW)
        run->metrics[NEES] = (double)NAN;
    return RELN_OK;
}

static RelnStatus judge(TaskRun *run, Exp *e, const void *self)
{
    Fit copy = *(const Fit *)self;
    const char *weights = task_option(run->env, "weights");

    if (weights)
        TRY(reln_store_load(exp_store(e), weights));
    return judge_all(&(Judge){&copy, e});
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* Creates the group of rotations about the vertical. */
static RelnStatus about_gravity(RelnCtx *ctx, RelnGroup **group)
{
    static const double turn[9] = {0, -1, 0, 1, 0, 0, 0, 0, 0};

    return reln_group_from_matrices(ctx, "turns about gravity", 3, 1, turn, 0, NULL, group);
}

static RelnStatus begin(RelnStore *store, const void *model)
{
    drone_begin(store, model);
    return RELN_OK;
}

static RelnStatus learn(Fit *f, RelnGroup *group)
{
    const ExpScale *scale = &f->data->scale->exp;
    const bool plain = f->row.arch == DRONE_RESNET || f->row.input == DRONE_IN_AXES_CODED;
    ExpPart parts[2];

    parts[0] = exp_part(scale, f->row.rate, /*cosine=*/true);
    parts[0].load = load_first;
    parts[0].steps_per_epoch = 1;
    parts[0].loss_of = square_loss;
    parts[0].evaluate = evaluate;
    parts[0].self = f;
    parts[0].clip = f->row.clip;
    parts[1] = parts[0];
    parts[1].load = load_second;
    parts[1].loss_of = likelihood_loss;
    parts[1].steps = (uint64_t)f->data->scale->likelihood;
    parts[1].schedule =
        task_schedule(f->row.rate / 4, true, parts[1].steps, scale->warmup, scale->floor);
    parts[1].last = true;
    parts[1].curve = "validation error while covariances are learned";
    parts[1].loss_curve = "minus the logarithm of the likelihood";
    return exp_run(f->run,
                   &(ExpJob){.symmetry = plain ? "none:3" : "so:3",
                             .features = "gl:3",
                             .group = group,
                             .form = f->row.form,
                             .dtype = RELN_F32,
                             .network = drone_network,
                             .model = &f->model,
                             .start = begin,
                             .n_parts = task_option(f->run->env, "weights") ? 0
                                        : f->row.covariance                 ? 2
                                                                            : 1,
                             .parts = parts},
                   judge, f);
}

static RelnStatus run(TaskRun *run, const void *data)
{
    Fit f = {.run = run, .data = data, .row = *(const DroneRow *)run->model->settings};
    RelnGroup *group = NULL;
    RelnStatus status = open_fit(&f);

    if (status == RELN_OK && f.row.gravity)
        status = about_gravity(run->env->ctx, &group);
    if (status == RELN_OK)
        status = drone_learns(&f.row) ? learn(&f, group) : judge_all(&(Judge){&f, NULL});
    if (task_option(run->env, "weights")) /* the weights were trained elsewhere */
        run->params_used = run->params;
    if (drone_learns(&f.row))
        run->params += drone_unused(&f.row);
    reln_group_destroy(group);
    close_fit(&f);
    return status;
}

const Task task_drone = {
    .name = "drone",
    .purpose = "where a quadrotor flew, from noisy velocities and their covariances",
    .about = "Estimators compute the displacement of a quadrotor over windows of one second, from "
             "noisy velocities at 200 Hz and the covariance of each. Flights are simulated, or "
             "read from files.\n\nColumns: the root mean square error of a displacement; errors of "
             "the trajectory that windows with common ends make (R1): root mean square, mean, in "
             "percent of the path, and relative over 2 s and 20 s; the first of these with windows "
             "joined at their centres (R2) and as the published code joins them (R3); the error of "
             "a displacement in randomly turned frames; the distance of outputs there from the "
             "turned outputs; and the mean of e^T S^-1 e, which is 3 if the covariance S is right.",
    .n_metrics = METRICS,
    .metrics = {{.name = "window", .label = "window [m]"},
                {.name = "ate", .label = "ATE [m]"},
                {.name = "mean", .label = "mean [m]"},
                {.name = "ate_percent", .label = "ATE [% of path]"},
                {.name = "rte2", .label = "RTE 2 s"},
                {.name = "rte20", .label = "RTE 20 s"},
                {.name = "ate_r2", .label = "ATE, R2"},
                {.name = "ate_r3", .label = "ATE, R3"},
                {.name = "turned", .label = "window, turned"},
                {.name = "symmetry", .label = "sym. error"},
                {.name = "nees", .label = "NEES", .target = 3}},
    .n_models = sizeof models / sizeof models[0],
    .models = models,
    .n_options = 6,
    .options = {{.name = "noise",
                 .help = "of velocities: README.md of the task",
                 TASK_WORDS(noises),
                 .otherwise = DRONE_NOISE_D},
                {.name = "frame",
                 .help =
                     "axes of the noise: the body's, the flight's, or what is seen of the flight",
                 TASK_WORDS(frames)},
                {.name = "size",
                 .help = "channels of the published networks, or fewer",
                 TASK_WORDS(network_sizes)},
                {.name = "flights",
                 .help = "judge by flights of files: EuRoC .csv, TUM text, or .npz as --save "
                         "writes them; commas between"},
                {.name = "weights",
                 .help = "models/ROW-SEED.safetensors of a trained row: judge it, train nothing",
                 .file = true},
                {.name = "save",
                 .help = "a folder that gets all flights as .npz and TUM text",
                 .output = true}},
    .n_figures = sizeof figures / sizeof figures[0],
    .figures = figures,
    .n_bars = 3,
    .bars = {WINDOW, ATE, ATE_R3},
    .seeds = {1, 1, 1},
    .scale_fields = TASK_FIELDS(Scale, scale_keys),
    .row_fields = TASK_FIELDS(DroneRow, row_keys),
    .scales = scales,
    .wanted = wanted,
    .prepare = prepare,
    .run = run,
};
