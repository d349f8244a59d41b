/* Tests the quadrotor: its equations, its controller, its paths and the statistics of its flights. */
#include <math.h>
#include <string.h>

#include "support/support.h"
#include "tasks/drone/flight.h"

/* A state in fast flight, tilted and turning. */
static void some_state(double *s)
{
    static const double start[QUAD_STATE] = {1,   2,   3,    8,   -5,   2,    0.9,  0.2, -0.3,
                                             0.1, 1.5, -2.5, 0.7, 0.07, 0.08, 0.06, 0.09};
    double length = 0;

    memcpy(s, start, sizeof start);
    for (int i = 0; i < 4; i++)
        length += s[QUAD_Q + i] * s[QUAD_Q + i];
    for (int i = 0; i < 4; i++)
        s[QUAD_Q + i] /= sqrt(length);
}

static double dot3(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The energy m v^2/2 + w.Jw/2 + m g z changes by the work of thrust, torques and drag, computed here from
 * forces. */
static void energy_changes_by_the_work_of_rotors_and_drag(void **state)
{
    double s[QUAD_STATE], ds[QUAD_STATE], r[9], force, torque[3], command[QUAD_ROTORS] = {0},
                                                                  change, work, body[3];
    double speeds = 0;

    (void)state;
    some_state(s);
    quad_field(command, s, ds);
    quad_attitude(s, r);
    quad_forces(s + QUAD_F, &force, torque);
    change = QUAD_MASS * (dot3(s + QUAD_V, ds + QUAD_V) + QUAD_GRAVITY * s[QUAD_V + 2]);
    for (int i = 0; i < 3; i++)
        change += quad_inertia[i] * s[QUAD_W + i] * ds[QUAD_W + i];
    for (int i = 0; i < QUAD_ROTORS; i++)
        speeds += sqrt(s[QUAD_F + i] / 3.16e-10) * acos(-1.0) / 30;
    work = dot3(torque, s + QUAD_W);
    for (int i = 0; i < 3; i++) {
        body[i] = r[i] * s[QUAD_V] + r[3 + i] * s[QUAD_V + 1] + r[6 + i] * s[QUAD_V + 2];
        work -= quad_drag[i] * speeds * body[i] * body[i];
    }
    work += force * body[2];
    assert_true(fabs(change - work) < 1e-14);
}

/* Without thrust and drag a body that turns keeps its energy and angular momentum; the order of the steps is the fourth. */
static void free_turning_keeps_energy_and_the_length_of_the_quaternion(void **state)
{
    const double command[QUAD_ROTORS] = {0};
    double drift[2];

    (void)state;
    for (int fine = 0; fine < 2; fine++) {
        const int n = fine ? 1600 : 800;
        double s[QUAD_STATE], before = 0, after = 0, length = 0;

        some_state(s);
        memset(s + QUAD_F, 0, QUAD_ROTORS * sizeof *s);
        for (int i = 0; i < 3; i++) {
            s[QUAD_W + i] *= 8;
            before += quad_inertia[i] * s[QUAD_W + i] * s[QUAD_W + i];
        }
        for (int i = 0; i < n; i++)
            quad_step(command, 1.0 / n, s);
        for (int i = 0; i < 3; i++)
            after += quad_inertia[i] * s[QUAD_W + i] * s[QUAD_W + i];
        for (int i = 0; i < 4; i++)
            length += s[QUAD_Q + i] * s[QUAD_Q + i];
        assert_true(fabs(length - 1) < 1e-15);
        drift[fine] = fabs(after / before - 1);
    }
    assert_true(drift[0] < 1e-9);
    assert_true(drift[1] < drift[0] / 8);
}

static void thrusts_make_the_wanted_force_and_torques(void **state)
{
    const double torque[3] = {4e-4, -7e-4, 2e-4};
    double f[QUAD_ROTORS], force, made[3];

    (void)state;
    quad_thrusts(0.3, torque, f);
    quad_forces(f, &force, made);
    assert_true(fabs(force - 0.3) < 1e-15);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(made[i] - torque[i]) < 1e-17);
    quad_thrusts(100, torque, f); /* the force is reduced, and the torques are kept */
    quad_forces(f, &force, made);
    assert_true(force < 4 * QUAD_MOST_THRUST);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(made[i] - torque[i]) < 1e-16);
}

static void a_second_of_steps_agrees_with_sundials(void **state)
{
    enum { N = 400 };
    double commands[N * QUAD_ROTORS], ours[QUAD_STATE], theirs[QUAD_STATE], worst = 0;
    QuadGoal goal = {{0}, {8, -5, 2}, {1, 2, 1}};

    (void)state;
    some_state(ours);
    memcpy(theirs, ours, sizeof ours);
    for (int i = 0; i < N; i++) {
        quad_control(&goal, ours, commands + 4 * i);
        for (int k = 0; k < 2; k++)
            quad_step(commands + 4 * i, 1.0 / (2 * N), ours);
    }
    if (!quad_move(N, commands, 1.0 / N, theirs)) {
        print_message("no SUNDIALS: steps are not compared with it\n");
        skip();
    }
    for (int i = 0; i < 3; i++)
        worst = fmax(worst, fabs(ours[QUAD_P + i] - theirs[QUAD_P + i]));
    assert_true(worst < 1e-6);
    assert_true(worst > 0);
}

static void the_same_seed_flies_the_same_bits(void **state)
{
    const DronePlan plan = {.speed = 16,
                            .agility = 0.6,
                            .box = {170, 170, 60},
                            .rate = 200,
                            .seconds = 3,
                            .waypoints = {20, 40}};
    DroneFlight a, b, c;

    (void)state;
    assert_true(drone_fly(&plan, 7, &a) && drone_fly(&plan, 7, &b) && drone_fly(&plan, 8, &c));
    assert_int_equal(a.n, 601);
    assert_memory_equal(a.p, b.p, (size_t)a.n * 3 * sizeof *a.p);
    assert_memory_equal(a.v, b.v, (size_t)a.n * 3 * sizeof *a.v);
    assert_memory_equal(a.q, b.q, (size_t)a.n * 4 * sizeof *a.q);
    assert_memory_not_equal(a.p, c.p, (size_t)a.n * 3 * sizeof *a.p);
    drone_flight_clear(&a);
    drone_flight_clear(&b);
    drone_flight_clear(&c);
}

/* Planned speeds begin and end at rest, change by at most 4 m/s^2 along the path, and descend with at most
 * 0.7 g. Sharp corners, even after smoothing, exceed this at a few of a hundred set-points. */
static void plans_are_flyable(void **state)
{
    int all = 0, over[3] = {0}, near[3] = {0};

    (void)state;
    for (uint64_t k = 0; k < 4; k++) {
        DronePath path;
        double slowest[2] = {HUGE_VAL, HUGE_VAL};

        assert_true(drone_path_init(&drone_usual, 40 + k, &path));
        const int goals = path.n / (DRONE_GOAL_RATE / DRONE_SET_RATE);
        for (int i = 1; i < goals - 2; i++) {
            const QuadGoal g = drone_path_goal(&path, i);
            const double speed = sqrt(dot3(g.v, g.v));
            const double size[3] = {dot3(g.a, g.v) / speed / 4, -dot3(g.a, g.v) / speed / 4,
                                    -g.a[2] / (0.7 * QUAD_GRAVITY)};

            if (i < 10 || i > goals - 12)
                slowest[i >= 10] = fmin(slowest[i >= 10], speed);
            for (int c = 0; c < 3; c++) {
                over[c] += size[c] > 1.2;
                near[c] += size[c] > 0.8;
            }
            all++;
        }
        assert_true(slowest[0] < 2 && slowest[1] < 2);
        drone_path_clear(&path);
    }
    for (int c = 0; c < 3; c++) { /* measured: 0.4 % and 0.9 % over, 25 % and 15 % near */
        assert_true(over[c] < (c < 2 ? 0.01 : 0.02) * all);
        assert_true(near[c] > 0.05 * all);
    }
}

/* A spiral about a straight line between two waypoints has a constant radius, but for 40 m at either end, where it grows as
 * 3 t^2 - 2 t^3. Three means over 75 ms change it by less than a hundredth; a straight ramp would be off by nine. */
static void spirals_begin_and_end_smoothly(void **state)
{
    DronePlan straight = drone_usual;
    int spirals = 0;

    (void)state;
    straight.box[1] = straight.box[2] = 0;
    straight.waypoints[0] = straight.waypoints[1] = 2;
    for (uint64_t seed = 1; seed < 60; seed++) {
        DronePath path;
        double least = HUGE_VAL, most = 0, worst = 0;

        assert_true(drone_path_init(&straight, seed, &path));
        const int goals = path.n / (DRONE_GOAL_RATE / DRONE_SET_RATE);
        const double begin = drone_path_goal(&path, 0).p[0],
                     length = fabs(drone_path_goal(&path, goals - 1).p[0] - begin);
        for (int pass = 0; pass < 2; pass++)
            for (int i = 0; i < goals; i++) {
                const QuadGoal g = drone_path_goal(&path, i);
                const double s = fabs(g.p[0] - begin), t = fmin(fmin(s, length - s) / 40, 1);
                const double radius = hypot(g.p[1], g.p[2]);

                if (pass == 0 && t == 1) {
                    least = fmin(least, radius);
                    most = fmax(most, radius);
                } else if (pass == 1)
                    worst = fmax(worst, fabs(radius / most - t * t * (3 - 2 * t)));
            }
        if (length > 90 && least > 0.97 * most) { /* a spiral, and not a wiggle in a plane */
            assert_true(worst < 0.03);
            spirals++;
        }
        drone_path_clear(&path);
    }
    assert_true(spirals > 2);
}

/* From half a metre per second on, the speed grows by 4 m/s^2: x = t / 2 + 2 t^2. Three means over 30 points, of which 15 are
 * earlier and 14 later, delay it by 1.5 points and add 2 m/s^2 times three variances of 899/12. Within the first metre the swing
 * is below a centimetre. */
static void paths_begin_with_a_constant_acceleration(void **state)
{
    const double step = 1.0 / DRONE_GOAL_RATE, late = 1.5 * step,
                 spread = 3 * 899.0 / 12 * step * step;
    DronePlan straight = drone_usual;

    (void)state;
    straight.box[1] = straight.box[2] = 0;
    straight.waypoints[0] = straight.waypoints[1] = 2;
    for (uint64_t seed = 1; seed < 5; seed++) {
        DronePath path;
        double begin = 0;

        assert_true(drone_path_init(&straight, seed, &path));
        for (int i = 60; i < 180; i++) {
            const double t = i * step - late, want = 0.5 * t + 2 * t * t + 2 * spread;

            if (i == 60)
                begin = want;
            assert_small(fabs(path.p[3 * i] - path.p[3 * 60]) - (want - begin), 2e-3);
        }
        drone_path_clear(&path);
    }
}

/* The bounds are wide around the measured values: 218 s, 2.8 km, 12.7 m/s, 0.44 m, 10 %. */
static void flights_are_fast_long_and_near_their_paths(void **state)
{
    enum { N = 6 };
    double seconds = 0, length = 0, tracking = 0, saturated = 0, peak = 0;

    (void)state;
    for (uint64_t k = 0; k < N; k++) {
        DroneFlight f;

        assert_true(drone_fly(&drone_usual, 100 + k, &f));
        seconds += f.n * f.step / N;
        length += f.length / N;
        tracking = fmax(tracking, f.tracking);
        saturated += f.saturated / N;
        for (int i = 0; i < f.n; i++)
            peak = fmax(peak, sqrt(dot3(f.v + 3 * i, f.v + 3 * i)));
        /* positions are the integral of velocities */
        for (int i = 1; i < f.n; i++)
            for (int j = 0; j < 3; j++)
                assert_true(fabs(f.p[3 * i + j] - f.p[3 * i - 3 + j] -
                                 0.5 * f.step * (f.v[3 * i + j] + f.v[3 * i - 3 + j])) < 1e-4);
        drone_flight_clear(&f);
    }
    assert_true(seconds > 120 && seconds < 320);
    assert_true(length / seconds > 10 && length / seconds < 15);
    assert_true(peak > 14 && peak < 20);
    assert_true(tracking < 3);
    assert_true(saturated > 0.01 && saturated < 0.4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_changes_by_the_work_of_rotors_and_drag),
        cmocka_unit_test(free_turning_keeps_energy_and_the_length_of_the_quaternion),
        cmocka_unit_test(thrusts_make_the_wanted_force_and_torques),
        cmocka_unit_test(a_second_of_steps_agrees_with_sundials),
        cmocka_unit_test(the_same_seed_flies_the_same_bits),
        cmocka_unit_test(spirals_begin_and_end_smoothly),
        cmocka_unit_test(paths_begin_with_a_constant_acceleration),
        cmocka_unit_test(plans_are_flyable),
        cmocka_unit_test(flights_are_fast_long_and_near_their_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
