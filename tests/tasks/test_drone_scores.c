/* Tests noise, estimators without learning, and scores: values known by hand, and the artefact of the
 * published evaluation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "tasks/drone/classic.h"
#include "tasks/drone/nets.h"
#include "tasks/drone/score.h"

typedef struct Fixture {
    DroneFlight flight;
    double mean_speed;
} Fixture;

static int open_flight(void **state)
{
    static Fixture f;
    DronePlan plan = drone_usual;

    plan.seconds = 100;
    f = (Fixture){0};
    if (!drone_fly(&plan, 31, &f.flight))
        return -1;
    f.mean_speed = drone_mean_speed(&f.flight);
    *state = &f;
    return 0;
}

static int close_flight(void **state)
{
    drone_flight_clear(&((Fixture *)*state)->flight);
    return 0;
}

static DroneSeen look(const Fixture *f, DroneNoiseKind kind, DroneFrame frame, uint64_t seed)
{
    RelnRng rng = reln_rng(seed, 0);
    DroneSeen seen;

    assert_true(drone_seen_init(&seen, f->flight.n));
    drone_see(&(DroneNoise){kind, frame}, &f->flight, f->mean_speed, 0, &rng, &seen);
    return seen;
}

/* Errors along the reported axes, divided by the reported sizes, have variance 1 and no preferred direction. */
static void reported_covariances_are_those_of_the_errors(void **state)
{
    const Fixture *f = *state;

    for (int kind = 0; kind < DRONE_NOISES; kind++)
        for (int frame = 0; frame < DRONE_FRAME_SEEN; frame++) {
            DroneSeen s = look(f, (DroneNoiseKind)kind, (DroneFrame)frame, 5);
            double sum[3] = {0}, mixed = 0;

            for (ptrdiff_t i = 0; i < s.n; i++) {
                double e[3];

                for (int j = 0; j < 3; j++) {
                    e[j] = 0;
                    for (int k = 0; k < 3; k++)
                        e[j] +=
                            s.axes[9 * i + 3 * k + j] * (s.v[3 * i + k] - f->flight.v[3 * i + k]);
                    e[j] /= sqrt(s.var[3 * i + j]);
                    sum[j] += e[j] * e[j] / s.n;
                }
                mixed += e[0] * e[1] / s.n;
            }
            for (int j = 0; j < 3; j++) /* bad errors of E and F last, so they are fewer */
                assert_true(fabs(sum[j] - 1) <
                            (kind == DRONE_NOISE_E || kind == DRONE_NOISE_F ? 0.25 : 0.05));
            assert_true(fabs(mixed) < 0.2);
            drone_seen_clear(&s);
        }
}

/* Errors of kind A are 0.2 m/s and up to 0.8 m/s more, half of it at the mean speed. Axes of the other kinds
 * are good (0.2 m/s) or bad (2 or 4 m/s). Bad errors of E and F are correlated over half a second, so the
 * variance of their sums is larger by 2 (0.5 s) / step. */
static void errors_have_their_sizes(void **state)
{
    const Fixture *f = *state;
    const double bad[DRONE_NOISES] = {[DRONE_NOISE_C] = 2,
                                      [DRONE_NOISE_D] = 4,
                                      [DRONE_NOISE_E] = 2,
                                      [DRONE_NOISE_F] = 4,
                                      [DRONE_NOISE_G] = 4};

    for (int kind = 0; kind < DRONE_NOISES; kind++) {
        DroneSeen s = look(f, (DroneNoiseKind)kind, DRONE_FRAME_BODY, 15);
        const bool slow = kind == DRONE_NOISE_E || kind == DRONE_NOISE_F;

        for (ptrdiff_t i = 0; i < s.n; i++)
            for (int j = 0; j < 3; j++) {
                const double *v = f->flight.v + 3 * i, var = s.var[3 * i + j];
                const double speed = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
                const double size = 0.2 + 0.8 / (1 + exp(-0.8 * (speed - f->mean_speed)));
                const bool is_bad = bad[kind] > 0 && var > 1;

                if (bad[kind] > 0)
                    assert_small(var - (is_bad ? bad[kind] * bad[kind] : 0.04), 1e-12);
                else if (kind == DRONE_NOISE_A || (j == 0 && kind == DRONE_NOISE_B))
                    assert_small(var - size * size, 1e-12);
                else
                    assert_small(var - 0.04, 1e-12);
                assert_small(s.slow[3 * i + j] / var -
                                 (slow && is_bad ? 2 * 0.5 / f->flight.step : 1),
                             1e-9);
            }
        drone_seen_clear(&s);
    }
}

/* In a window of one sample a fifth of the axes is bad: 0.4 s of 2 s. Slow errors keep their size while they
 * last: after 0.4 s they have the correlation of half a second, and the same size as at their beginning. */
static void bad_axes_are_a_fifth_and_last(void **state)
{
    enum { WINDOWS = 4000, LATE = 80 };
    const Fixture *f = *state;
    RelnRng rng = reln_rng(77, 0);
    double first = 0, late = 0, both = 0;
    int count = 0, lasting = 0;
    DroneSeen s;

    assert_true(drone_seen_init(&s, LATE + 1));
    for (int w = 0; w < WINDOWS; w++) {
        drone_see(&(DroneNoise){DRONE_NOISE_F, DRONE_FRAME_FLIGHT}, &f->flight, f->mean_speed, 100,
                  &rng, &s);
        for (int j = 0; j < 3; j++) {
            double e[2] = {0, 0};
            bool lasts = true;

            count += s.var[j] > 1;
            for (int i = 0; i <= LATE; i++)
                lasts = lasts && s.var[3 * i + j] > 1;
            for (int end = 0; end < 2 && lasts; end++) {
                const ptrdiff_t i = end * LATE;

                for (int k = 0; k < 3; k++)
                    e[end] += s.axes[9 * i + 3 * k + j] *
                              (s.v[3 * i + k] - f->flight.v[3 * (100 + i) + k]) / 4;
            }
            first += e[0] * e[0];
            late += e[1] * e[1];
            both += e[0] * e[1];
            lasting += lasts;
        }
    }
    /* 12,000 axes: a share of 0.2 has a deviation of 0.0037; squares of some 850 errors that last have one of 0.05 */
    assert_true(fabs(count / (3.0 * WINDOWS) - 0.2) < 5 * 0.0037);
    assert_true(lasting > 500);
    assert_true(fabs(first / lasting - 1) < 0.25 && fabs(late / lasting - 1) < 0.25);
    assert_true(fabs(both / lasting - exp(-LATE * f->flight.step / 0.5)) < 0.2);
    drone_seen_clear(&s);
}

/* White noise of size sigma at rate r: the integral over T is off by sigma sqrt(3 T / r). */
static void integration_is_as_wrong_as_white_noise_makes_it(void **state)
{
    const Fixture *f = *state;
    DroneSeen s = look(f, DRONE_NOISE_A, DRONE_FRAME_BODY, 6);
    double sum = 0, var = 0;
    int n = 0;

    for (int i = 0; i + DRONE_WINDOW <= s.n; i += DRONE_WINDOW - 1, n++) {
        double d[3];

        drone_integral(1, &s, i, f->flight.step, d);
        for (int k = 0; k < 3; k++)
            sum += pow(
                d[k] - (f->flight.p[3 * (i + DRONE_WINDOW - 1) + k] - f->flight.p[3 * i + k]), 2);
    }
    for (ptrdiff_t i = 0; i < s.n; i++)
        var += s.var[3 * i] / s.n;
    assert_true(fabs(sqrt(sum / n) / sqrt(var * 3 * 0.995 / 200) - 1) < 0.15);
    drone_seen_clear(&s);
}

static double window_error(const Fixture *f, const double *d, int i)
{
    double sum = 0;

    for (int k = 0; k < 3; k++)
        sum +=
            pow(d[k] - (f->flight.p[3 * (i + DRONE_WINDOW - 1) + k] - f->flight.p[3 * i + k]), 2);
    return sum;
}

/* The filter inside a window is the best linear estimate for its model: it equals the smoother of that window
 * alone, and its covariance is correct. */
static void the_filter_of_a_window_agrees_with_its_smoother(void **state)
{
    const Fixture *f = *state;
    DroneSeen s = look(f, DRONE_NOISE_D, DRONE_FRAME_BODY, 7);
    double u[3 * DRONE_WINDOW], naive = 0, window = 0, smooth = 0, nees = 0,
                                *all = malloc((size_t)s.n * 3 * sizeof *all);
    DroneTrack t, part;
    int n = 0;

    assert_non_null(all);
    assert_true(drone_track_init(&t, s.n, f->flight.step) &&
                drone_track_init(&part, DRONE_WINDOW, f->flight.step));
    drone_track(1, &s, true, false, &t);
    assert_true(drone_filter(&t, 30, false, all));
    for (int i = 0; i + DRONE_WINDOW <= s.n; i += DRONE_WINDOW - 1, n++) {
        double d[3], again[3], c[9], w[9], e[3], we[3];

        drone_window_filter(&t, i, DRONE_WINDOW, 30, d, c);
        if (n < 20) {
            memcpy(part.v, t.v + 3 * (ptrdiff_t)i, 3 * DRONE_WINDOW * sizeof *part.v);
            memcpy(part.r, t.r + 9 * (ptrdiff_t)i, 9 * DRONE_WINDOW * sizeof *part.r);
            assert_true(drone_filter(&part, 30, false, u));
            drone_displacement(u, 0, DRONE_WINDOW, t.step, again);
            for (int k = 0; k < 3; k++) /* trapezoids against the integral of the model */
                assert_true(fabs(d[k] - again[k]) < 2e-3);
        }
        window += window_error(f, d, i);
        drone_inverse(c, w);
        for (int k = 0; k < 3; k++)
            e[k] = d[k] - (f->flight.p[3 * (i + DRONE_WINDOW - 1) + k] - f->flight.p[3 * i + k]);
        drone_turn_vector(w, e, we);
        nees += e[0] * we[0] + e[1] * we[1] + e[2] * we[2];
        drone_displacement(all, i, DRONE_WINDOW, t.step, d);
        smooth += window_error(f, d, i);
        drone_displacement(t.v, i, DRONE_WINDOW, t.step, d);
        naive += window_error(f, d, i);
    }
    assert_true(smooth < window && window < 0.7 * naive);
    assert_true(nees / n > 2 && nees / n < 4.5);
    drone_track_clear(&t);
    drone_track_clear(&part);
    drone_seen_clear(&s);
    free(all);
}

/* Two sensors: fused, their covariance is (C1^-1 + C2^-1)^-1, below either one's, and so is the error. */
static void fused_sensors_are_better_than_their_mean(void **state)
{
    const Fixture *f = *state;
    DroneSeen s[2] = {look(f, DRONE_NOISE_G, DRONE_FRAME_BODY, 8),
                      look(f, DRONE_NOISE_G, DRONE_FRAME_BODY, 9)};
    double error[2] = {0};

    for (int fused = 0; fused < 2; fused++) {
        DroneTrack t;

        assert_true(drone_track_init(&t, s[0].n, f->flight.step));
        drone_track(2, s, fused, false, &t);
        for (ptrdiff_t i = 0; i < 3 * (ptrdiff_t)t.n; i++)
            error[fused] += pow(t.v[i] - f->flight.v[i], 2) / t.n;
        drone_track_clear(&t);
    }
    assert_true(error[1] < 0.5 * error[0]);
    drone_seen_clear(&s[0]);
    drone_seen_clear(&s[1]);
}

/* The mean of two sensors has a quarter of the sum of their covariances; a flat track has the mean variance everywhere. */
static void tracks_report_their_covariances(void **state)
{
    const Fixture *f = *state;
    DroneSeen s[2] = {look(f, DRONE_NOISE_G, DRONE_FRAME_BODY, 8),
                      look(f, DRONE_NOISE_G, DRONE_FRAME_BODY, 9)};
    double mean = 0;
    DroneTrack t, flat;

    assert_true(drone_track_init(&t, s[0].n, f->flight.step) &&
                drone_track_init(&flat, s[0].n, f->flight.step));
    drone_track(2, s, false, false, &t);
    drone_track(2, s, false, true, &flat);
    for (ptrdiff_t i = 0; i < t.n; i++) {
        double c[2][9];

        for (int k = 0; k < 2; k++)
            drone_spectral(s[k].axes + 9 * i, s[k].slow + 3 * i, c[k]);
        for (int k = 0; k < 9; k++) {
            assert_small(t.r[9 * i + k] - (c[0][k] + c[1][k]) / 4, 1e-12);
            mean += k % 4 == 0 ? t.r[9 * i + k] / (3.0 * t.n) : 0;
        }
    }
    for (ptrdiff_t i = 0; i < t.n; i++)
        for (int k = 0; k < 9; k++)
            assert_small(flat.r[9 * i + k] - (k % 4 == 0 ? mean : 0), 1e-10);
    drone_track_clear(&t);
    drone_track_clear(&flat);
    drone_seen_clear(&s[0]);
    drone_seen_clear(&s[1]);
}

/* Without information from measurements, the uncertainty of a displacement over one step comes from the speed
 * and the acceleration at its beginning, and from white jerk: step^2 100^2 + step^4 / 4 30^2 + jerk step^5 /
 * 20. */
static void a_step_is_as_uncertain_as_jerk_makes_it(void **state)
{
    const double step = 0.5, jerk = 3e6;
    const double want = step * step * 1e4 + pow(step, 4) / 4 * 900 + jerk * pow(step, 5) / 20;
    double d[3], c[9];
    DroneTrack t;

    (void)state;
    assert_true(drone_track_init(&t, 2, step));
    for (int i = 0; i < 18; i++)
        t.r[i] = i % 9 % 4 == 0 ? 1e16 : 0;
    drone_window_filter(&t, 0, 2, jerk, d, c);
    for (int k = 0; k < 9; k++)
        assert_small(c[k] - (k % 4 == 0 ? want : 0), 1e-9 * want); /* 1e16 against 1e6 */
    drone_track_clear(&t);
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

/* A perfect network has no error where windows share ends; joined as published, it is half a window late, at
 * 12 m/s. */
static void a_perfect_network_is_exact_in_r1_and_ten_metres_off_in_r3(void **state)
{
    enum { APART = 10 };
    const Fixture *f = *state;
    const int n = (f->flight.n - 1) / (DRONE_WINDOW - 1),
              m = (f->flight.n - DRONE_WINDOW) / APART + 1;
    double *d = malloc((size_t)(6 * n + 3 + 3 * m) * sizeof *d), *errors = d + 3 * n,
           *many = errors + 3 * n + 3;
    DroneScores s;
    DroneCoded c;

    assert_non_null(d);
    for (ptrdiff_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            d[3 * i + k] = f->flight.p[3 * (i + 1) * (DRONE_WINDOW - 1) + k] -
                           f->flight.p[3 * i * (DRONE_WINDOW - 1) + k];
    for (ptrdiff_t i = 0; i < m; i++)
        for (int k = 0; k < 3; k++)
            many[3 * i + k] = f->flight.p[3 * (APART * i + DRONE_WINDOW - 1) + k] -
                              f->flight.p[3 * APART * i + k];
    drone_score_tiles(&f->flight, DRONE_WINDOW, n, d, errors, &s);
    assert_true(s.ate < 1e-12 && s.window < 1e-12 && s.rte2 < 1e-12 && s.rte20 < 1e-12);
    assert_true(drone_score_coded_flight(&f->flight, DRONE_WINDOW, APART, m, many, &c));
    print_message("a perfect network: R3 ATE %.2f m, mean %.2f m, RTE %.2f m\n", c.rmse, c.ate,
                  c.rpe);
    assert_true(c.rmse > 8 && c.rmse < 16);
    assert_true(drone_score_centres(&f->flight, DRONE_WINDOW, APART, m, many) < 1.5);
    free(d);
}

/* A drift of v m/s: ate and relative errors by hand. */
static void a_drift_has_the_scores_of_a_straight_line(void **state)
{
    const Fixture *f = *state;
    const int n = (f->flight.n - 1) / (DRONE_WINDOW - 1);
    const double time = (DRONE_WINDOW - 1) * f->flight.step, v = 0.3;
    double *d = malloc((size_t)(6 * n + 3) * sizeof *d), squares = 0, sum = 0;
    DroneScores s;

    assert_non_null(d);
    for (ptrdiff_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++)
            d[3 * i + k] = f->flight.p[3 * (i + 1) * (DRONE_WINDOW - 1) + k] -
                           f->flight.p[3 * i * (DRONE_WINDOW - 1) + k];
        d[3 * i] += v * time;
    }
    for (int i = 0; i <= n; i++) {
        squares += pow(v * time * i, 2) / (n + 1);
        sum += v * time * i / (n + 1);
    }
    drone_score_tiles(&f->flight, DRONE_WINDOW, n, d, d + 3 * n, &s);
    assert_true(fabs(s.window - v * time) < 1e-12);
    assert_true(fabs(s.ate - sqrt(squares)) < 1e-10 && fabs(s.mean - sum) < 1e-10);
    assert_true(fabs(s.rte2 - 2 * v) < 1e-10 && fabs(s.rte20 - 20 * v) < 1e-10);
    free(d);
}

/* ---- scores once more -------------------------------------------------------------------------------------------- */

/* Returns the error of the trajectory at a time: joints are `tile` seconds apart, and errors are linear
 * between them. */
static double error_at(double (*joint)[3], double tile, double time, int k)
{
    const int i = (int)(time / tile);
    const double share = time / tile - i;

    return joint[i][k] + (share == 0 ? 0 : share * (joint[i + 1][k] - joint[i][k]));
}

static double relative_error(double (*joint)[3], int n, double tile, double seconds)
{
    double sum = 0;
    int count = 0;

    for (int half = 0; half * 0.5 + seconds <= n * tile; half++, count++)
        for (int k = 0; k < 3; k++)
            sum += pow(error_at(joint, tile, half * 0.5 + seconds, k) -
                           error_at(joint, tile, half * 0.5, k),
                       2);
    return sqrt(sum / count);
}

/* Compares every score of random displacements with its definition. */
static void scores_follow_their_definitions(void **state)
{
    enum { N = 40, APART = 30, MANY = 200 };
    const DroneFlight *f = &((const Fixture *)*state)->flight;
    const double tile = (DRONE_WINDOW - 1) * f->step, apart = APART * f->step;
    static double d[MANY][3], joint[N + 1][3], errors[N + 1][3];
    RelnRng rng = reln_rng(12, 4);
    double window = 0, square = 0, mean = 0, length = 0, at[3], off = 0;
    DroneScores s;

    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < 3; k++)
            d[i][k] = 2 * reln_rng_normal(&rng);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) {
            const double *a = f->p + 3 * (ptrdiff_t)i * (DRONE_WINDOW - 1) + k;
            const double e = d[i][k] - (a[3 * (DRONE_WINDOW - 1)] - a[0]);

            joint[i + 1][k] = joint[i][k] + e;
            window += e * e / N;
        }
    for (int i = 0; i <= N; i++) {
        const double e = pow(joint[i][0], 2) + pow(joint[i][1], 2) + pow(joint[i][2], 2);

        square += e / (N + 1);
        mean += sqrt(e) / (N + 1);
    }
    for (int i = 0; i < N * (DRONE_WINDOW - 1); i++) {
        const double *a = f->p + 3 * (ptrdiff_t)i;

        length += sqrt(pow(a[3] - a[0], 2) + pow(a[4] - a[1], 2) + pow(a[5] - a[2], 2));
    }
    drone_score_tiles(f, DRONE_WINDOW, N, &d[0][0], &errors[0][0], &s);
    assert_near(&errors[0][0], &joint[0][0], 3 * N + 3, 1e-12);
    assert_small(s.window - sqrt(window), 1e-12);
    assert_small(s.ate - sqrt(square), 1e-12);
    assert_small(s.mean - mean, 1e-12);
    assert_small(s.percent - 100 * sqrt(square) / length, 1e-10);
    assert_small(s.rte2 - relative_error(joint, N, tile, 2), 1e-10);
    assert_small(s.rte20 - relative_error(joint, N, tile, 20), 1e-10);

    /* the centre of 200 samples lies between the hundredth and the next */
    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < 3; k++) {
            const double *a = f->p + 3 * (ptrdiff_t)(i * APART + 99) + k;
            const double truth = (a[0] + a[3]) / 2;

            at[k] = i == 0 ? truth : at[k] + apart * (d[i - 1][k] + d[i][k]) / (2 * tile);
            off += pow(at[k] - truth, 2) / MANY;
        }
    assert_small(drone_score_centres(f, DRONE_WINDOW, APART, MANY, &d[0][0]) - sqrt(off), 1e-9);
}

/* Distances of 2, 4, 6 and 9 metres, in another order. */
static void distances_have_the_usual_statistics(void **state)
{
    double est[12] = {0, 0, 6, 2, 0, 0, 0, 9, 0, 0, -4, 0}, truth[12] = {0};
    DroneDistances d;

    (void)state;
    assert_true(drone_distances(4, est, truth, false, &d));
    assert_small(d.mean - 21 / 4.0, 1e-14);
    assert_small(d.median - 5, 1e-14);
    assert_small(d.rmse - sqrt(137 / 4.0), 1e-14);
    assert_small(d.std - sqrt(137 / 4.0 - 21 / 4.0 * (21 / 4.0)), 1e-14);
    assert_true(d.min == 2 && d.max == 9 && d.sse == 137);
    assert_true(drone_distances(3, est, truth, false, &d));
    assert_small(d.median - 6, 1e-14);
}

static bool load(RelnCtx *ctx, const char *name, RelnArray *a)
{
    char path[512];

    snprintf(path, sizeof path, "%s/../shared/golden/drone/metrics/%s.npy", RELN_SOURCE_DIR, name);
    return reln_npy_load(ctx, path, a) == RELN_OK;
}

static double number(RelnCtx *ctx, const char *name)
{
    RelnArray a;
    double value;

    assert_true(load(ctx, name, &a));
    value = a.f64[0];
    reln_array_clear(&a);
    return value;
}

static void the_published_evaluation_gives_its_numbers(void **state)
{
    RelnArray times, p, d;
    RelnCtx *ctx;
    DroneCoded c;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    if (!load(ctx, "ts", &times)) {
        print_message(
            "no reference arrays beside the source: the published evaluation is not compared\n");
        reln_ctx_destroy(ctx);
        skip();
    }
    assert_true(load(ctx, "pos_gt", &p) && load(ctx, "pred", &d));
    c = drone_score_coded((int)times.dims[0], times.f64, p.f64, d.f64, 1.0);
    assert_int_equal(c.rows, (int)number(ctx, "rows_used"));
    assert_true(fabs(c.ate - number(ctx, "ate")) < 1e-10);
    assert_true(fabs(c.rmse - number(ctx, "rmse")) < 1e-10);
    assert_true(fabs(c.length - number(ctx, "traj_length_m")) < 1e-9);
    assert_true(fabs(c.percent - number(ctx, "ate_pct")) < 1e-10);
    assert_true(fabs(c.drift - number(ctx, "drift_pos")) < 1e-10);
    assert_true(fabs(c.rpe - number(ctx, "rpe")) < 1e-10);
    assert_true(fabs(c.rpe_z - number(ctx, "rpe_z")) < 1e-10);
    reln_array_clear(&times);
    reln_array_clear(&p);
    reln_array_clear(&d);
    reln_ctx_destroy(ctx);
}

static void alignment_takes_out_a_turn_and_a_shift(void **state)
{
    const Fixture *f = *state;
    RelnRng rng = reln_rng(3, 3);
    double r[9], *est = malloc(300 * sizeof *est);
    DroneDistances d;

    assert_non_null(est);
    drone_random_rotation(&rng, r);
    for (int i = 0; i < 100; i++) {
        drone_turn_vector(r, f->flight.p + 300 * i / 3 * 3, est + 3 * i);
        est[3 * i] += 5;
    }
    {
        double truth[300];

        for (int i = 0; i < 100; i++)
            memcpy(truth + 3 * i, f->flight.p + 300 * i / 3 * 3, 3 * sizeof *truth);
        assert_true(drone_distances(100, est, truth, true, &d));
        assert_true(d.max < 1e-9);
        for (int i = 0; i < 100; i++)
            est[3 * i] = truth[3 * i] + (i % 2 ? 3 : 1), est[3 * i + 1] = truth[3 * i + 1],
                    est[3 * i + 2] = truth[3 * i + 2];
        assert_true(drone_distances(100, est, truth, false, &d));
    }
    assert_true(fabs(d.mean - 2) < 1e-12 && fabs(d.median - 2) < 1e-12 && fabs(d.std - 1) < 1e-12);
    assert_true(fabs(d.rmse - sqrt(5)) < 1e-12 && fabs(d.sse - 500) < 1e-9 &&
                fabs(d.max - 3) < 1e-12);
    free(est);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reported_covariances_are_those_of_the_errors),
        cmocka_unit_test(errors_have_their_sizes),
        cmocka_unit_test(bad_axes_are_a_fifth_and_last),
        cmocka_unit_test(integration_is_as_wrong_as_white_noise_makes_it),
        cmocka_unit_test(the_filter_of_a_window_agrees_with_its_smoother),
        cmocka_unit_test(fused_sensors_are_better_than_their_mean),
        cmocka_unit_test(tracks_report_their_covariances),
        cmocka_unit_test(a_step_is_as_uncertain_as_jerk_makes_it),
        cmocka_unit_test(a_perfect_network_is_exact_in_r1_and_ten_metres_off_in_r3),
        cmocka_unit_test(a_drift_has_the_scores_of_a_straight_line),
        cmocka_unit_test(scores_follow_their_definitions),
        cmocka_unit_test(distances_have_the_usual_statistics),
        cmocka_unit_test(the_published_evaluation_gives_its_numbers),
        cmocka_unit_test(alignment_takes_out_a_turn_and_a_shift),
    };
    return cmocka_run_group_tests(tests, open_flight, close_flight);
}
