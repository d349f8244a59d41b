/* Tests flights of files: the columns of EuRoC and TUM, refusals with their lines, and flights that are
 * written and read again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/support.h"
#include "tasks/drone/files.h"

typedef struct Place {
    char folder[32];
    RelnCtx *ctx;
} Place;

static int open_place(void **state)
{
    static Place p;

    snprintf(p.folder, sizeof p.folder, "/tmp/reln-drone-XXXXXX");
    *state = &p;
    return mkdtemp(p.folder) && reln_ctx_create(NULL, &p.ctx) == RELN_OK ? 0 : -1;
}

static int close_place(void **state)
{
    Place *p = *state;

    reln_ctx_destroy(p->ctx);
    return rmdir(p->folder);
}

static const char *path_of(const Place *p, const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", p->folder, name);
    return path;
}

static void write_text(const Place *p, const char *name, const char *text)
{
    FILE *f = fopen(path_of(p, name), "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* Columns after time and position; the quaternion is 0.8, 0.6, 0, 0. */
typedef struct Kind {
    const char *head;
    double start, unit; /* of time */
    const char *rest;
} Kind;

/* Writes a straight flight at 3, -2, 1 m/s with each kind of columns. */
static void columns_are_told_by_time_and_names(void **state)
{
    static const double v[3] = {3, -2, 1};
    static const Kind kinds[] = {
        {"# a remark", 1305.5, 1, "0.6 0 0 0.8"},                            /* TUM */
        {"# a remark", 1305.5, 1, "0.6 0 0 0.8 1 2 3 4 5 6 7 8 9 10 11 12"}, /* and covariances */
        {"# t x y z qx qy qz qw", 5, 1, "0.6 0 0 0.8"},                      /* with names */
        {"t x y z qw qx qy qz vx vy vz", 5, 1, "0.8 0.6 0 0 3 -2 1"},        /* names decide */
        {"# ns", 1403715524907143168.0, 1e-9, "0.8 0.6 0 0 3 -2 1 0 0 0 0 0 0"}, /* EuRoC's state */
        {"# ns", 1403715524907143168.0, 1e-9, "0.8 0.6 0 0"},                    /* and its poses */
        {"# us", 77000000, 1e-6, "0.8 0.6 0 0"},
    };
    const Place *p = *state;

    for (size_t n = 0; n < sizeof kinds / sizeof kinds[0]; n++) {
        const Kind *kind = &kinds[n];
        FILE *f = fopen(path_of(p, "straight"), "w");
        DroneFlight flight;

        assert_non_null(f);
        fprintf(f, "%s\n", kind->head);
        for (int i = 0; i < 100; i++) {
            const double t = 0.02 * i;

            fprintf(f, "%.6f %g %g %g %s\n", kind->start + t / kind->unit, 3 * t, -2 * t, t,
                    kind->rest);
        }
        assert_int_equal(fclose(f), 0);
        assert_ok(p->ctx, drone_flight_load(p->ctx, path_of(p, "straight"), 0.005, 200, &flight));
        assert_in_range(flight.n, 396, 397);
        for (int i = 10; i < flight.n - 10; i++)
            for (int k = 0; k < 3; k++) {
                /* a double holds 1.4e18 ns to 256 ns: 1e-3 m/s of three steps of 5 ms at 3 m/s */
                assert_true(fabs(flight.v[3 * i + k] - v[k]) < 1e-3);
                assert_true(fabs(flight.p[3 * i + k] - v[k] * i * 0.005) < 1e-4);
            }
        assert_true(fabs(flight.q[0] - 0.8) < 1e-12 && fabs(flight.q[1] - 0.6) < 1e-12);
        assert_true(fabs(flight.start - kind->start * kind->unit) < 1e-6);
        drone_flight_clear(&flight);
        unlink(path_of(p, "straight"));
    }
}

/* The flight does not depend on the rate of the file: a circle of radius 5 m at 1 rad/s, with 20 to 1000 rows
 * a second, and with 0.3 s of rows missing. */
static void rates_and_short_gaps_do_not_matter(void **state)
{
    static const double rates[] = {20, 100, 500, 1000};
    const Place *p = *state;

    for (size_t n = 0; n < 2 * sizeof rates / sizeof rates[0]; n++) {
        const double rate = rates[n / 2];
        const bool gap = n % 2 == 1;
        FILE *f = fopen(path_of(p, "circle"), "w");
        DroneFlight flight;
        double worst = 0;

        assert_non_null(f);
        for (int i = 0; i < 3 * rate + 1; i++) {
            const double t = i / rate;

            if (!gap || t < 1.2 || t > 1.5)
                fprintf(f, "%.6f %.9f %.9f 1 0 0 %.9f %.9f\n", t, 5 * cos(t), 5 * sin(t),
                        sin(t / 2), cos(t / 2));
        }
        assert_int_equal(fclose(f), 0);
        assert_ok(p->ctx, drone_flight_load(p->ctx, path_of(p, "circle"), 0.005, 200, &flight));
        assert_int_equal(flight.n, 601);
        for (int i = 10; i < flight.n - 10; i++) {
            const double t = 0.005 * i;

            worst = fmax(worst, hypot(flight.v[3 * (ptrdiff_t)i] + 5 * sin(t),
                                      flight.v[3 * (ptrdiff_t)i + 1] - 5 * cos(t)));
        }
        /* a chord over h seconds differs from the tangent by a h / 2, a = 5 m/s^2 */
        assert_true(worst < 2.5 * (gap ? 0.3 + 2 / rate : 1 / rate) + 0.02);
        drone_flight_clear(&flight);
        unlink(path_of(p, "circle"));
    }
}

static void bad_files_are_one_line_with_the_row(void **state)
{
    static const struct {
        const char *text, *wanted;
    } bad[] = {
        {"0 1 2 3 0 0 0 1\n.1 1 2 3 0 0 0 1\n.05 1 2 3 0 0 0 1\n", "line 3: time does not go on"},
        {"0 1 2 3 0 0 0 1\n.1 1 nan 3 0 0 0 1\n", "line 2: a position with nan"},
        {"# x\n0 1 2 3 0 0 0 1\n1.1 1 2 3 0 0 0 1\n", "line 3: a gap in time, in seconds: 1.1"},
        {"0 1 2 3 0 0 0 0\n", "line 1: a quaternion of squared length 0"},
        {"0 1 2 3\n", "4 columns; wanted 8"},
        {"0 1 2 3 0 0 0 1\n.1 1 2 3 0 0 0\n", "line 2"},
        {"0 1 2 3 0 0 0 1\n.1 1 2 x 0 0 0 1\n", "line 2"},
        {"0 1 2 3 0 0 0 1\n.1 1 2 3 0 inf 0 1\n", "line 2: a quaternion with inf"},
        {"0 1 2 3 0 0 0 1\nnan 1 2 3 0 0 0 1\n", "line 2: a time of nan"},
        {"0 1 2 3 0 0 0 1\n.1 1 inf 3 0 0 0 1\n", "line 2: a position with inf"},
        {"t x y z qw qx qy qz vx vy vz\n0 1 2 3 1 0 0 0 1 2 inf\n.1 1 2 3 1 0 0 0 1 1 2\n",
         "line 2: a velocity with inf"},
        {"0 1 2 3 0 0 0 1\n.1 1 2 3 0 0 0 0\n", "line 2: a quaternion of squared length 0"},
        {"0 1 2 3 0 0 0 1\n0 1 2 3 0 0 0 1\n",
         "line 2: time does not go on: seconds since the row before 0"},
        {"0 1 2 3 0 0 0 1\n.1 1 2 3 0 0 0 1\n", "0.1 s long; wanted at least 0.995 s"},
    };
    const Place *p = *state;
    DroneFlight flight;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_text(p, "bad", bad[i].text);
        assert_int_not_equal(drone_flight_load(p->ctx, path_of(p, "bad"), 0.005, 200, &flight),
                             RELN_OK);
        if (!strstr(reln_ctx_error(p->ctx), bad[i].wanted))
            fail_msg("'%s', wanted '%s'", reln_ctx_error(p->ctx), bad[i].wanted);
    }
    unlink(path_of(p, "bad"));
}

enum { SAMPLES = 240 };

/* Writes a file of measurements with an error chosen by `spoil`: 0 none, 1 a negative variance, 2 an
 * asymmetric covariance, 3 a velocity that is NaN, 4 a step that is too long, 5 no covariances, 6 a position that is infinite,
 * 7 a step that is too short by more than a hundredth, 8 one that is longer by less: not an error. */
static void write_seen(const Place *p, int spoil)
{
    static double t[SAMPLES], x[3 * SAMPLES], v[3 * SAMPLES], c[9 * SAMPLES];
    const RelnArray arrays[] = {
        {.name = "t", .dtype = RELN_F64, .rank = 1, .dims = {SAMPLES}, .f64 = t},
        {.name = "p", .dtype = RELN_F64, .rank = 2, .dims = {SAMPLES, 3}, .f64 = x},
        {.name = "v1", .dtype = RELN_F64, .rank = 2, .dims = {SAMPLES, 3}, .f64 = v},
        {.name = "C1", .dtype = RELN_F64, .rank = 3, .dims = {SAMPLES, 3, 3}, .f64 = c},
    };

    for (int i = 0; i < SAMPLES; i++) {
        t[i] = 7 + 0.005 * i;
        for (int k = 0; k < 3; k++) {
            x[3 * i + k] = (k + 1) * 0.005 * i;
            v[3 * i + k] = k + 1.5;
        }
        for (int k = 0; k < 9; k++)
            c[9 * i + k] = k % 4 == 0 ? 1 + k : k == 1 || k == 3 ? 0.5 : 0;
    }
    /* rounding in a file: far below a millionth of the trace, and equally far above and below the diagonal */
    c[9 * 50 + 1] += 5e-6;
    c[9 * 50 + 3] -= 5e-6;
    if (spoil == 1)
        c[9 * 17 + 8] = -9;
    if (spoil == 2)
        c[9 * 18 + 1] = 0.6;
    if (spoil == 3)
        v[3 * 19 + 1] = (double)NAN;
    if (spoil == 6)
        x[3 * 21 + 2] = -(double)INFINITY;
    for (int i = 20; i < SAMPLES; i++)
        t[i] += spoil == 4 ? 0.001 : spoil == 7 ? -0.012 * 0.005 : spoil == 8 ? 0.008 * 0.005 : 0;
    assert_ok(p->ctx, reln_npz_save(p->ctx, path_of(p, "seen.npz"), spoil == 5 ? 3 : 4, arrays));
}

static void what_sensors_saw_is_read_and_checked(void **state)
{
    static const char *const wanted[] = {
        NULL,
        "row 17: C1 is not positive definite: its smallest variance is -9",
        "row 18: C1 is not symmetric: 0.6 and 0.5",
        "row 19: v1 has nan",
        "row 20: 0.006 s after the row before; wanted 0.005 s",
        "no array C1",
        "row 21: p has -inf",
        "row 20: 0.00494 s after the row before; wanted 0.005 s",
        NULL,
    };
    const Place *p = *state;

    for (int spoil = 0; spoil < 9; spoil++) {
        DroneFlight flight;
        DroneSeen seen;
        RelnStatus status;

        write_seen(p, spoil);
        status =
            drone_flight_load_seen(p->ctx, path_of(p, "seen.npz"), 0.005, 200, 1, &flight, &seen);
        if (!wanted[spoil]) {
            double c[9];

            assert_ok(p->ctx, status);
            assert_int_equal(flight.n, SAMPLES);
            assert_true(flight.start == 7 && flight.q[0] == 1);
            assert_true(fabs(flight.v[3 * 100 + 2] - 3) < 1e-9 && seen.v[3 * 100 + 2] == 3.5);
            for (int i = 50; i <= 100; i += 50) {
                drone_spectral(seen.axes + 9 * i, seen.var + 3 * i, c);
                for (int k = 0; k < 9; k++)
                    assert_true(fabs(c[k] - (k % 4 == 0         ? 1 + k
                                             : k == 1 || k == 3 ? 0.5
                                                                : 0)) < 1e-12);
            }
        } else {
            assert_int_not_equal(status, RELN_OK);
            if (!strstr(reln_ctx_error(p->ctx), wanted[spoil]))
                fail_msg("'%s', wanted '%s'", reln_ctx_error(p->ctx), wanted[spoil]);
        }
        drone_flight_clear(&flight);
        drone_seen_clear(&seen);
    }
    {
        DroneFlight flight;
        DroneSeen seen;

        write_seen(p, 0);
        assert_int_equal(
            drone_flight_load_seen(p->ctx, path_of(p, "seen.npz"), 0.005, 241, 1, &flight, &seen),
            RELN_ERR_NUMERIC);
        drone_flight_clear(&flight);
        drone_seen_clear(&seen);
    }
    {
        DroneFlight flight;
        DroneSeen seen[2];

        memset(&flight, 0xff,
               sizeof flight); /* also a file that is not there leaves nothing to free */
        memset(seen, 0xff, sizeof seen);
        assert_int_equal(
            drone_flight_load_seen(p->ctx, path_of(p, "absent.npz"), 0.005, 200, 2, &flight, seen),
            RELN_ERR_IO);
        assert_int_equal(flight.n, 0);
        drone_flight_clear(&flight);
        for (int i = 0; i < 2; i++)
            drone_seen_clear(&seen[i]);
    }
    unlink(path_of(p, "seen.npz"));
}

/* An estimate is written with the clock of the flight and with its errors. */
static void an_estimate_is_a_tum_file(void **state)
{
    const Place *p = *state;
    const double errors[9] = {0, 0, 0, 1, 2, 3, 0, 0, 0.5};
    DroneFlight f;
    char line[3][160];
    FILE *file;

    assert_true(drone_flight_init(&f, 5, 0.25));
    f.start = 100;
    for (int i = 0; i < 5; i++) {
        f.p[3 * i] = i;
        f.q[4 * i] = 1;
    }
    assert_ok(p->ctx, drone_estimate_save(p->ctx, path_of(p, "e.tum"), &f, 3, 2, errors));
    file = fopen(path_of(p, "e.tum"), "r");
    assert_non_null(file);
    for (int i = 0; i < 3; i++)
        assert_non_null(fgets(line[i], sizeof line[i], file));
    fclose(file);
    assert_string_equal(line[2], "100.500000 3.000000000 2.000000000 3.000000000 0.000000000 "
                                 "0.000000000 0.000000000 1.000000000\n");
    unlink(path_of(p, "e.tum"));
    drone_flight_clear(&f);
}

static void a_saved_flight_is_read_again(void **state)
{
    const Place *p = *state;
    DronePlan plan = drone_usual;
    DroneFlight flight, again;
    DroneSeen seen;
    RelnRng rng = reln_rng(1, 1);
    RelnArchive *archive;
    double c[9], want[9];
    int at;

    plan.seconds = 3;
    assert_true(drone_fly(&plan, 5, &flight) && drone_seen_init(&seen, flight.n));
    drone_see(&(DroneNoise){DRONE_NOISE_D, DRONE_FRAME_BODY}, &flight, 10, 0, &rng, &seen);
    assert_ok(p->ctx, drone_flight_save(p->ctx, p->folder, "f", &flight, 1, &seen));
    assert_ok(p->ctx, drone_flight_load(p->ctx, path_of(p, "f.tum"), flight.step, 200, &again));
    assert_int_equal(again.n, flight.n);
    for (int i = 20; i < flight.n - 20; i++)
        for (int k = 0; k < 3; k++) {
            assert_true(fabs(again.p[3 * i + k] - flight.p[3 * i + k]) < 0.02);
            assert_true(fabs(again.v[3 * i + k] - flight.v[3 * i + k]) < 0.5);
        }
    assert_ok(p->ctx, reln_archive_open(p->ctx, path_of(p, "f.npz"), &archive));
    at = reln_archive_find(archive, "C1");
    assert_true(at >= 0);
    assert_ok(p->ctx, reln_archive_range(archive, at, 17, 1, c));
    drone_spectral(seen.axes + 9 * 17, seen.var + 3 * 17, want);
    assert_memory_equal(c, want, sizeof c);
    reln_archive_destroy(archive);
    /* Columns of a text are arrays, too. */
    assert_int_equal(rename(strcpy((char[160]){0}, path_of(p, "f.tum")),
                            strcpy((char[160]){0}, path_of(p, "f.csv"))),
                     0);
    assert_ok(p->ctx, reln_archive_open(p->ctx, path_of(p, "f.csv"), &archive));
    assert_true(reln_archive_count(archive) >= 8); /* and vectors made of several columns */
    assert_ok(p->ctx, reln_archive_range(archive, reln_archive_find(archive, "tz"), 17, 1, c));
    assert_true(fabs(c[0] - flight.p[3 * 17 + 2]) < 1e-8);
    reln_archive_destroy(archive);
    unlink(path_of(p, "f.csv"));
    unlink(path_of(p, "f.npz"));
    drone_seen_clear(&seen);
    drone_flight_clear(&flight);
    drone_flight_clear(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_told_by_time_and_names),
        cmocka_unit_test(rates_and_short_gaps_do_not_matter),
        cmocka_unit_test(bad_files_are_one_line_with_the_row),
        cmocka_unit_test(what_sensors_saw_is_read_and_checked),
        cmocka_unit_test(an_estimate_is_a_tum_file),
        cmocka_unit_test(a_saved_flight_is_read_again),
    };
    return cmocka_run_group_tests(tests, open_place, close_place);
}
