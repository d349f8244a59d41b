/* Flights from files: EuRoC's and TUM's columns, what is refused with which line, and flights written and read again. */
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

/* A straight flight at 3, -2, 1 m/s in the columns of either kind. */
static void columns_are_told_by_their_number(void **state)
{
    static const double v[3] = {3, -2, 1};
    const Place *p = *state;

    for (int euroc = 0; euroc < 2; euroc++) {
        FILE *f = fopen(path_of(p, "straight"), "w");
        DroneFlight flight;

        assert_non_null(f);
        fputs(euroc ? "#timestamp, p_RS_R_x [m], p_RS_R_y [m]\n" : "# a remark\n", f);
        for (int i = 0; i < 100; i++) {
            const double t = 0.02 * i;

            if (euroc)
                fprintf(f, "%lld,%g,%g,%g,1,0,0,0,3,-2,1,0,0,0,0,0,0\n",
                        1403715524907143168LL + 20000000LL * i, 3 * t, -2 * t, t);
            else
                fprintf(f, "%.3f %g %g %g 0 0 0 1\n", 1305.5 + t, 3 * t, -2 * t, t);
        }
        assert_int_equal(fclose(f), 0);
        assert_ok(p->ctx, drone_flight_load(p->ctx, path_of(p, "straight"), 0.005, 200, &flight));
        assert_in_range(flight.n, 396, 397);
        for (int i = 10; i < flight.n - 10; i++)
            for (int k = 0; k < 3; k++) {
                assert_true(fabs(flight.v[3 * i + k] - v[k]) < 1e-4);
                assert_true(fabs(flight.p[3 * i + k] - v[k] * i * 0.005) < 1e-4);
            }
        assert_true(flight.q[0] == 1);
        drone_flight_clear(&flight);
        unlink(path_of(p, "straight"));
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
    assert_int_equal(reln_archive_count(archive), 8);
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
        cmocka_unit_test(columns_are_told_by_their_number),
        cmocka_unit_test(bad_files_are_one_line_with_the_row),
        cmocka_unit_test(a_saved_flight_is_read_again),
    };
    return cmocka_run_group_tests(tests, open_place, close_place);
}
