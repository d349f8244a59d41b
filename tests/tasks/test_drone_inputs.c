/* Tests the inputs that networks get from windows of measurements, against their definitions. */
#include <math.h>
#include <string.h>

#include "support/support.h"
#include "tasks/drone/nets.h"

enum { SHIFT = 7, SAMPLES = SHIFT + DRONE_WINDOW };

static double dot3(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Measurements with random axes; variances are three different ones in a random order, or some of them are equal. */
static void see(RelnRng *rng, int kind, DroneSeen *seen)
{
    assert_true(drone_seen_init(seen, SAMPLES));
    for (int i = 0; i < SAMPLES; i++) {
        double *var = seen->var + 3 * i;

        drone_random_rotation(rng, seen->axes + 9 * i);
        for (int j = 0; j < 3; j++) {
            seen->v[3 * i + j] = 5 * reln_rng_normal(rng);
            var[j] = 0.1 + reln_rng_uniform(rng);
        }
        if (kind == 1)
            var[(i + 1) % 3] = var[i % 3];
        if (kind == 2)
            var[0] = var[1] = var[2];
    }
}

static void window_of(DroneInput input, bool normal, int sensors, const DroneSeen *seen, double *v,
                      double *m, double *l)
{
    drone_inputs(input, normal, sensors, seen, SHIFT, v, m, l);
}

/* C e = s e for the columns of m at one time, with ascending s, and unit length. */
static void check_axes(const DroneSeen *seen, int i, const double *m)
{
    double c[9], image[3], e[3][3], before = 0;

    drone_spectral(seen->axes + 9 * (SHIFT + i), seen->var + 3 * (SHIFT + i), c);
    for (int j = 0; j < 3; j++) {
        double size;

        for (int k = 0; k < 3; k++)
            e[j][k] = m[9 * i + 3 * k + j];
        drone_turn_vector(c, e[j], image);
        size = dot3(image, e[j]);
        assert_small(dot3(e[j], e[j]) - 1, 1e-12);
        for (int k = 0; k < 3; k++)
            assert_small(image[k] - size * e[j][k], 1e-12);
        assert_true(size >= before - 1e-12);
        before = size;
    }
    for (int k = 0; k < 3; k++) /* e0 x e1 = e2, whatever comes first of equal variances */
        assert_small(e[0][(k + 1) % 3] * e[1][(k + 2) % 3] - e[0][(k + 2) % 3] * e[1][(k + 1) % 3] -
                         e[2][k],
                     1e-9);
}

/* The axes are those of C, right-handed, and follow a rotation of the measurements. */
static void axes_are_eigenvectors_with_signs_by_the_velocity(void **state)
{
    static double v[3 * DRONE_WINDOW], m[9 * DRONE_WINDOW], turned[9 * DRONE_WINDOW];
    RelnRng rng = reln_rng(4, 4);
    double r[9], l[3], l_turned[3];

    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        DroneSeen seen, other;

        see(&rng, kind, &seen);
        assert_true(drone_seen_init(&other, SAMPLES));
        drone_random_rotation(&rng, r);
        drone_turn_seen(r, &seen, &other);
        window_of(DRONE_IN_AXES, false, 1, &seen, v, m, l);
        window_of(DRONE_IN_AXES, false, 1, &other, v, turned, l_turned);
        for (int i = 0; i < DRONE_WINDOW; i++) {
            const double *at = seen.v + 3 * (SHIFT + i);

            check_axes(&seen, i, m);
            for (int j = 0; j < 3; j++) {
                const double e[3] = {m[9 * i + j], m[9 * i + 3 + j], m[9 * i + 6 + j]};
                double want[3];

                drone_turn_vector(r, e, want);
                for (int k = 0; k < 3; k++)
                    assert_small(turned[9 * i + 3 * k + j] - want[k], 1e-9);
                if (kind == 0 && j < 2)
                    assert_true(dot3(at, e) >= 0);
            }
        }
        assert_near(l_turned, l, 3, 1e-12);
        drone_seen_clear(&seen);
        drone_seen_clear(&other);
    }
}

/* "l" is the mean over the window of the variances in ascending order. */
static void variances_are_sorted_and_averaged(void **state)
{
    static double v[3 * DRONE_WINDOW], m[9 * DRONE_WINDOW];
    RelnRng rng = reln_rng(5, 5);
    double l[3], want[3] = {0};
    DroneSeen seen;

    (void)state;
    see(&rng, 0, &seen);
    for (int input = DRONE_IN_AXES; input <= DRONE_IN_AXES_CODED; input++) {
        memset(want, 0, sizeof want);
        for (int i = SHIFT; i < SAMPLES; i++) {
            const double *x = seen.var + 3 * i;
            const double low = fmin(x[0], fmin(x[1], x[2])), high = fmax(x[0], fmax(x[1], x[2]));

            want[0] += low / DRONE_WINDOW;
            want[1] += (x[0] + x[1] + x[2] - low - high) / DRONE_WINDOW;
            want[2] += high / DRONE_WINDOW;
        }
        window_of((DroneInput)input, false, 1, &seen, v, m, l);
        assert_near(l, want, 3, 1e-12);
    }
    drone_seen_clear(&seen);
}

/* f(C) of one time, for a function of its variances. */
static void function_of(const DroneSeen *seen, int i, double (*f)(double), double *out)
{
    double values[3];

    for (int j = 0; j < 3; j++)
        values[j] = f(seen->var[3 * (SHIFT + i) + j]);
    drone_spectral(seen->axes + 9 * (SHIFT + i), values, out);
}

static double itself(double x)
{
    return x;
}
static double sixteenth(double x)
{
    return x / 16;
}
/* 0 for the least deviation, 0.2 m/s, and 1 for the usual one, 4 m/s. */
static double normal_log(double x)
{
    return log(x / 0.04) / log(16 / 0.04);
}
static double resolvent_low(double x)
{
    return 0.1 / (0.1 + x);
}
static double resolvent_middle(double x)
{
    return 0.6 / (0.6 + x);
}
static double resolvent_high(double x)
{
    return 4 / (4 + x);
}

static void matrices_are_functions_of_the_covariance(void **state)
{
    static const struct {
        DroneInput input;
        bool normal;
        int n;
        double (*f[3])(double);
    } cases[] = {
        {DRONE_IN_COVARIANCE, false, 1, {itself}},
        {DRONE_IN_COVARIANCE, true, 1, {sixteenth}},
        {DRONE_IN_LOG, false, 1, {log}},
        {DRONE_IN_LOG, true, 1, {normal_log}},
        {DRONE_IN_RESOLVENTS, false, 3, {resolvent_low, resolvent_middle, resolvent_high}}};
    static double v[6 * DRONE_WINDOW], m[9 * 6 * DRONE_WINDOW];
    RelnRng rng = reln_rng(6, 6);
    DroneSeen seen[2];
    double l[3], want[9];

    (void)state;
    for (int s = 0; s < 2; s++)
        see(&rng, 0, &seen[s]);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        window_of(cases[c].input, cases[c].normal, 2, seen, v, m, l);
        for (int i = 0; i < DRONE_WINDOW; i += 13)
            for (int s = 0; s < 2; s++)
                for (int n = 0; n < cases[c].n; n++) {
                    function_of(&seen[s], i, cases[c].f[n], want);
                    for (int k = 0; k < 9; k++)
                        assert_small(m[((9 * i + k) * 2 + s) * cases[c].n + n] - want[k], 1e-12);
                }
    }
    drone_seen_clear(&seen[0]);
    drone_seen_clear(&seen[1]);
}

/* C v / 4 and C^2 v / 16 of the velocities that the network gets; with normal inputs a sixteenth of C. */
static void krylov_vectors_are_products_with_the_velocity(void **state)
{
    static double v[6 * DRONE_WINDOW], m[12 * DRONE_WINDOW];
    RelnRng rng = reln_rng(7, 7);
    DroneSeen seen[2];
    double l[3];

    (void)state;
    for (int s = 0; s < 2; s++)
        see(&rng, 0, &seen[s]);
    for (int normal = 0; normal < 2; normal++) {
        const double unit = normal ? 1.0 / 16 : 0.25;

        window_of(DRONE_IN_KRYLOV, normal == 1, 2, seen, v, m, l);
        for (int i = 0; i < DRONE_WINDOW; i += 11)
            for (int s = 0; s < 2; s++) {
                double c[9], own[3], once[3], twice[3];

                function_of(&seen[s], i, itself, c);
                for (int k = 0; k < 3; k++)
                    own[k] = v[(3 * i + k) * 2 + s];
                drone_turn_vector(c, own, once);
                drone_turn_vector(c, once, twice);
                for (int k = 0; k < 3; k++) {
                    assert_small(m[(3 * i + k) * 4 + 2 * s] - unit * once[k], 1e-11);
                    assert_small(m[(3 * i + k) * 4 + 2 * s + 1] - unit * unit * twice[k], 1e-11);
                }
            }
    }
    drone_seen_clear(&seen[0]);
    drone_seen_clear(&seen[1]);
}

/* Normal velocities are those of both sensors minus one common mean, in units of 4 m/s. */
static void normal_velocities_lose_the_mean_of_all_sensors(void **state)
{
    static double v[6 * DRONE_WINDOW], m[1];
    RelnRng rng = reln_rng(8, 8);
    DroneSeen seen[2];
    double mean[3] = {0}, l[3];

    (void)state;
    for (int s = 0; s < 2; s++)
        see(&rng, 0, &seen[s]);
    for (int s = 0; s < 2; s++)
        for (int i = SHIFT; i < SAMPLES; i++)
            for (int k = 0; k < 3; k++)
                mean[k] += seen[s].v[3 * i + k] / (2 * DRONE_WINDOW);
    for (int normal = 0; normal < 2; normal++) {
        window_of(DRONE_IN_V, normal == 1, 2, seen, v, m, l);
        for (int s = 0; s < 2; s++)
            for (int i = 0; i < DRONE_WINDOW; i++)
                for (int k = 0; k < 3; k++) {
                    const double raw = seen[s].v[3 * (SHIFT + i) + k];

                    assert_small(v[(3 * i + k) * 2 + s] - (normal ? (raw - mean[k]) / 4 : raw),
                                 1e-12);
                }
    }
    drone_seen_clear(&seen[0]);
    drone_seen_clear(&seen[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_are_eigenvectors_with_signs_by_the_velocity),
        cmocka_unit_test(variances_are_sorted_and_averaged),
        cmocka_unit_test(matrices_are_functions_of_the_covariance),
        cmocka_unit_test(krylov_vectors_are_products_with_the_velocity),
        cmocka_unit_test(normal_velocities_lose_the_mean_of_all_sensors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
