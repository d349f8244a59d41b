/* Computes the numbers of the drone's table again, for two test flights and two sensors. Estimators without
 * learning are called directly. Networks are replaced by a function of their inputs (the linker redirects
 * exp_predict() to this file) without any symmetry, so errors in turned frames are large and known. Training
 * is checked by its targets and losses. */
#include "tasks/drone/classic.h"
#include "tasks/drone/nets.h"
#include "tasks/drone/score.h"
#include "tasks/experiment.h"
#include "tasks/scaled.h"

enum { WINDOW, ATE, MEAN, PERCENT, RTE2, RTE20, ATE_R2, ATE_R3, TURNED, SYMMETRY, NEES };
enum { TRAINED = 2, VALIDATED = 2, TESTED = 2, SENSORS = 2, STRIDE = 100, SEED = 4242 };
enum { TILE = DRONE_WINDOW - 1, MOST = 64 };

/* Sums of a hundred numbers, in another order. */
#define SUMS 1e-10

/* ---- what a network is replaced by ----------------------------------------------------------------------------------- */

/* Replaces a network: writes a displacement, followed by the logarithms of three variances on the diagonal of
 * a matrix. */
static void network(const double *v, int n_out, double *out)
{
    memset(out, 0, (size_t)n_out * sizeof *out);
    for (int k = 0; k < 3; k++)
        out[k] = 0.01 * v[k] + 0.002 * v[300] * (k + 1);
    for (int k = 0; k < 3 && n_out == 12; k++)
        out[3 + 4 * k] = -3 + k + 0.01 * v[6 * k];
}

RelnStatus __real_exp_predict(Exp *e, int plan, const ExpSet *set, double *out);
RelnStatus __wrap_exp_predict(Exp *e, int plan, const ExpSet *set, double *out);

static int n_out; /* of the row */

RelnStatus __wrap_exp_predict(Exp *e, int plan, const ExpSet *set, double *out)
{
    const RelnStatus status = __real_exp_predict(e, plan, set, out);
    const ExpColumn *v = &set->column[0];

    assert_string_equal(v->name, "v");
    assert_int_equal(plan, EXP_NETWORK);
    for (ptrdiff_t i = 0; i < set->n; i++)
        network((const double *)v->values + i * v->size, n_out, out + i * n_out);
    return status;
}

/* The targets of training: errors of integration are below two metres, displacements over a second up to
 * sixteen. */
static double target_square;
static int n_targets;

RelnStatus __real_reln_plan_bind_sized(RelnPlan *plan, const char *input, const void *values,
                                       RelnDtype dtype, size_t count);
RelnStatus __wrap_reln_plan_bind_sized(RelnPlan *plan, const char *input, const void *values,
                                       RelnDtype dtype, size_t count);

RelnStatus __wrap_reln_plan_bind_sized(RelnPlan *plan, const char *input, const void *values,
                                       RelnDtype dtype, size_t count)
{
    for (size_t i = 0; i < count && strcmp(input, "y") == 0; i++)
        target_square += pow(((const double *)values)[i], 2);
    n_targets += strcmp(input, "y") == 0 ? (int)count / 3 : 0;
    return __real_reln_plan_bind_sized(plan, input, values, dtype, count);
}

/* ---- losses ---------------------------------------------------------------------------------------------------------- */

RelnStatus __real_exp_run(TaskRun *run, const ExpJob *job,
                          RelnStatus (*judge)(TaskRun *run, Exp *e, const void *self),
                          const void *self);
RelnStatus __wrap_exp_run(TaskRun *run, const ExpJob *job,
                          RelnStatus (*judge)(TaskRun *run, Exp *e, const void *self),
                          const void *self);

/* The mean over two samples of |e|^2 / 3, or of (e^T exp(-L) e + tr L) / 2. */
static void check_loss(const ExpPart *part, const void *model, bool likelihood)
{
    const double out[2][12] = {{1, 2, 3, 0.5, 0, 0, 0, -0.25, 0, 0, 0, 1},
                               {-1, 0, 2, -1, 0, 0, 0, 0.5, 0, 0, 0, 0.75}},
                 y[2][3] = {{0.5, 1, 1}, {0, 0.25, -1}};
    const RelnRep *rep;
    RelnSetting s;
    RelnPlan *plan = NULL;
    double want = 0;

    assert_int_equal(reln_setting_init(&s, "so:3", "gl:3", RELN_F64, 1), RELN_OK);
    const RelnNet net = {.graph = s.graph, .algebra = s.algebra};
    rep = reln_rep_sum(reln_rep_vector(s.group), reln_rep_matrix(s.group));
    reln_output(s.graph, "loss",
                part->loss_of(
                    &net, model,
                    reln_input(s.graph, "out", RELN_SAMPLES, (RelnDims){.k = 12}, rep, RELN_F64)));
    assert_ok(s.ctx, reln_plan_create(s.graph, NULL, &plan));
    assert_ok(s.ctx, __real_reln_plan_bind_sized(plan, "out", out, RELN_F64, 24));
    assert_ok(s.ctx, __real_reln_plan_bind_sized(plan, "y", y, RELN_F64, 6));
    assert_ok(s.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 2}));
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) {
            const double e = out[i][k] - y[i][k], l = out[i][3 + 4 * k];

            want += likelihood ? (e * e * exp(-l) + l) / 4 : e * e / 6;
        }
    assert_near(reln_plan_output(plan, "loss", NULL), &want, 1, 1e-13);
    reln_plan_destroy(plan);
    reln_setting_clear(&s);
}

RelnStatus __wrap_exp_run(TaskRun *run, const ExpJob *job,
                          RelnStatus (*judge)(TaskRun *run, Exp *e, const void *self),
                          const void *self)
{
    for (int i = 0; i < job->n_parts && n_out == 12; i++)
        check_loss(&job->parts[i], job->model, i == 1);
    return __real_exp_run(run, job, judge, self);
}

/* ---- flights --------------------------------------------------------------------------------------------------------- */

typedef struct Flown {
    DroneFlight flight;
    DroneSeen seen[SENSORS];
} Flown;

static void fly(int number, double seconds, Flown *f)
{
    const DroneNoise noise = {DRONE_NOISE_G, DRONE_FRAME_BODY};
    DronePlan plan = drone_usual;

    plan.seconds = seconds;
    assert_true(drone_fly(&plan, SEED * 1000 + (uint64_t)number, &f->flight));
    for (int s = 0; s < SENSORS; s++) {
        RelnRng rng = reln_rng(SEED + 1, 2 * (uint64_t)number + (uint64_t)s);

        assert_true(drone_seen_init(&f->seen[s], f->flight.n));
        drone_see(&noise, &f->flight, drone_mean_speed(&f->flight), 0, &rng, &f->seen[s]);
    }
}

static void land(Flown *f)
{
    for (int s = 0; s < SENSORS; s++)
        drone_seen_clear(&f->seen[s]);
    drone_flight_clear(&f->flight);
}

static void truth_at(const DroneFlight *f, int first, double *d)
{
    for (int k = 0; k < 3; k++)
        d[k] = f->p[3 * (first + TILE) + k] - f->p[3 * first + k];
}

/* ---- rows ------------------------------------------------------------------------------------------------------------- */

typedef struct Estimate {
    int n;
    double d[MOST][3], c[MOST][9]; /* of windows `apart` samples from each other */
} Estimate;

static void learned(const DroneRow *row, const Flown *f, const DroneSeen *seen, int first,
                    double *d, double *c)
{
    static double v[3 * DRONE_WINDOW * SENSORS], m[60 * DRONE_WINDOW * SENSORS], l[16];
    double base[3], out[12];

    drone_inputs(row->input, row->normal, SENSORS, seen, first, v, m, l);
    drone_integral(SENSORS, seen, first, f->flight.step, base);
    network(v, n_out, out);
    for (int k = 0; k < 3; k++)
        d[k] = base[k] + out[k];
    for (int k = 0; k < 3 && n_out == 12; k++) {
        memset(c + 3 * k, 0, 3 * sizeof *c);
        c[4 * k] = exp(out[3 + 4 * k]);
    }
}

static void estimate(const DroneRow *row, const Flown *f, const DroneSeen *seen, const double *turn,
                     int apart, Estimate *out)
{
    const int fused = row->arch != DRONE_INTEGRATION;
    DroneTrack t;
    double truth[3];

    assert_true(drone_track_init(&t, f->flight.n, f->flight.step));
    drone_track(SENSORS, seen, fused, false, &t);
    for (out->n = 0; out->n * apart + TILE < f->flight.n; out->n++) {
        const int first = out->n * apart;
        double *d = out->d[out->n], *c = out->c[out->n];

        assert_true(out->n < MOST);
        if (drone_learns(row))
            learned(row, f, seen, first, d, c);
        else if (row->arch == DRONE_WEIGHTED)
            drone_weighted_displacement(&t, first, DRONE_WINDOW, d);
        else if (row->arch == DRONE_RTS_WINDOW)
            drone_window_filter(&t, first, DRONE_WINDOW, row->jerk, d, c);
        else if (row->arch == DRONE_PERFECT) {
            truth_at(&f->flight, first, truth);
            drone_turn_vector(turn, truth, d);
        } else {
            drone_displacement(t.v, first, DRONE_WINDOW, t.step, d);
        }
    }
    drone_track_clear(&t);
}

static double mean_nees(const Flown *f, const Estimate *e)
{
    double sum = 0;

    for (int i = 0; i < e->n; i++) {
        double off[3], w[9], we[3];

        truth_at(&f->flight, i * TILE, off);
        drone_inverse(e->c[i], w);
        for (int k = 0; k < 3; k++)
            off[k] = e->d[i][k] - off[k];
        drone_turn_vector(w, off, we);
        sum += (off[0] * we[0] + off[1] * we[1] + off[2] * we[2]) / e->n;
    }
    return sum;
}

/* Computes the metrics in the frame of the first rotation: the error, and the distance from the turned
 * displacements. */
static void check_turned(const double *metrics, const DroneRow *row, const Flown *f,
                         const Estimate *before)
{
    RelnRng rng = reln_rng(SEED, 50);
    DroneSeen seen[SENSORS];
    double r[9], square = 0, most = 0, size = 0;
    static Estimate after;

    drone_random_rotation(&rng, r);
    for (int s = 0; s < SENSORS; s++) {
        assert_true(drone_seen_init(&seen[s], f->flight.n));
        drone_turn_seen(r, &f->seen[s], &seen[s]);
    }
    estimate(row, f, seen, r, TILE, &after);
    for (int i = 0; i < after.n; i++) {
        double truth[3], turned[3], moved[3];

        truth_at(&f->flight, i * TILE, truth);
        drone_turn_vector(r, truth, turned);
        drone_turn_vector(r, before->d[i], moved);
        for (int k = 0; k < 3; k++) {
            square += pow(after.d[i][k] - turned[k], 2) / after.n;
            most = fmax(most, fabs(after.d[i][k] - moved[k]));
            size = fmax(size, fabs(moved[k]));
        }
    }
    assert_small(metrics[TURNED] - sqrt(square), SUMS);
    assert_small(metrics[SYMMETRY] - most / size, SUMS);
    if (drone_learns(row))
        assert_true(metrics[SYMMETRY] > 1e-3);
    for (int s = 0; s < SENSORS; s++)
        drone_seen_clear(&seen[s]);
}

static void check_row(Scaled *t, const char *name, const Flown *flown)
{
    static const double no_turn[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const DroneRow *row = task_model(&t->task, name)->settings;
    const bool covariance = row->covariance || row->arch == DRONE_RTS_WINDOW;
    double want[NEES + 1] = {0}, errors[3 * MOST + 3];
    static Estimate e, first;
    TaskRun run;

    n_out = row->covariance ? 12 : 3;
    target_square = 0;
    n_targets = 0;
    scaled_run(t, name, &run);
    for (int i = 0; i < TESTED; i++) {
        const DroneFlight *f = &flown[i].flight;
        DroneScores s;
        DroneCoded coded;

        estimate(row, &flown[i], flown[i].seen, no_turn, TILE, &e);
        if (i == 0)
            first = e;
        drone_score_tiles(f, DRONE_WINDOW, e.n, &e.d[0][0], errors, &s);
        want[WINDOW] += s.window / TESTED;
        want[ATE] += s.ate / TESTED;
        want[MEAN] += s.mean / TESTED;
        want[PERCENT] += s.percent / TESTED;
        want[RTE2] += s.rte2 / TESTED;
        want[RTE20] += s.rte20 / TESTED;
        want[NEES] += covariance ? mean_nees(&flown[i], &e) / TESTED : (double)NAN;
        estimate(row, &flown[i], flown[i].seen, no_turn, STRIDE, &e);
        want[ATE_R2] += drone_score_centres(f, DRONE_WINDOW, STRIDE, e.n, &e.d[0][0]) / TESTED;
        assert_true(drone_score_coded_flight(f, DRONE_WINDOW, STRIDE, e.n, &e.d[0][0], &coded));
        want[ATE_R3] += coded.rmse / TESTED;
    }
    for (int m = WINDOW; m <= ATE_R3; m++)
        if (!(fabs(run.metrics[m] - want[m]) <= SUMS * fmax(1, want[m])))
            fail_msg("%s: metric %d is %.15g, wanted %.15g", name, m, run.metrics[m], want[m]);
    if (covariance)
        assert_small(run.metrics[NEES] - want[NEES], 1e-8 * want[NEES]); /* two inverses */
    else
        assert_true(isnan(run.metrics[NEES]));
    check_turned(run.metrics, row, &flown[0], &first);
    if (drone_learns(row)) {
        assert_true(n_targets > 8);
        assert_true(sqrt(target_square / n_targets) < 2);
    }
    task_run_clear(&run);
}

/* The validation error is the mean over the windows of both flights. */
static void check_validation(Scaled *t, const char *name, const Flown *flown)
{
    const DroneRow *row = task_model(&t->task, name)->settings;
    double sum = 0;
    int n = 0;
    const TaskCurve *c;
    static Estimate e;
    TaskRun run;

    n_out = 3;
    scaled_run(t, name, &run);
    for (int i = 0; i < VALIDATED; i++) {
        estimate(row, &flown[i], flown[i].seen, NULL, TILE, &e);
        for (int w = 0; w < e.n; w++, n++) {
            double truth[3];

            truth_at(&flown[i].flight, w * TILE, truth);
            for (int k = 0; k < 3; k++)
                sum += pow(e.d[w][k] - truth[k], 2);
        }
    }
    c = task_curve_named(&run, "validation error");
    assert_true(c && c->n > 0 && n > VALIDATED);
    for (ptrdiff_t i = 0; i < c->n; i++)
        assert_small(c->y[i] - sum / n, SUMS);
    task_run_clear(&run);
}

static void metrics_are_means_over_flights_and_windows(void **state)
{
    Flown tested[TESTED], validated[VALIDATED];
    Scaled t;

    (void)state;
    for (int i = 0; i < VALIDATED; i++)
        fly(TRAINED + i, 6, &validated[i]);
    for (int i = 0; i < TESTED; i++)
        fly(TRAINED + VALIDATED + i, 24, &tested[i]);
    scaled_init(&t, "drone");
    scaled_set(&t, "validated", VALIDATED);
    scaled_set(&t, "tested", TESTED);
    scaled_option(&t, "noise", "g");
    scaled_open(&t);
    check_row(&t, "integration", tested);
    check_row(&t, "fusion", tested);
    check_row(&t, "weighted", tested);
    check_row(&t, "rts-window", tested);
    check_row(&t, "perfect", tested);
    check_row(&t, "resnet-aug", tested);
    check_row(&t, "best", tested);
    check_validation(&t, "resnet", validated);
    /* with two sensors there is a row for fused sensors */
    assert_true(t.task.wanted(&t.env, task_model(&t.task, "fusion")));
    scaled_option(&t, "noise", "d");
    assert_false(t.task.wanted(&t.env, task_model(&t.task, "fusion")));
    assert_true(t.task.wanted(&t.env, task_model(&t.task, "integration")));
    scaled_option(&t, "noise", "g");
    scaled_close(&t);
    for (int i = 0; i < TESTED; i++)
        land(&tested[i]);
    for (int i = 0; i < VALIDATED; i++)
        land(&validated[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_are_means_over_flights_and_windows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
