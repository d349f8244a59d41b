/* Compares the quadrotor with the simulator MuJoCo, if it is installed: the same forces give the same motion. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/support.h"
#include "tasks/drone/flight.h"

#ifdef RELN_HAVE_MUJOCO

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <mujoco/mujoco.h>
#pragma GCC diagnostic pop

static const char scene[] = "<mujoco><option timestep='0.00125' integrator='RK4' gravity='0 0 "
                            "-9.8' density='0' viscosity='0'/>"
                            "<worldbody><body name='drone' pos='0 0 0'><freejoint/>"
                            "<inertial pos='0 0 0' mass='0.027' diaginertia='1.4e-5 1.4e-5 "
                            "2.17e-5'/></body></worldbody></mujoco>";

static mjModel *open_scene(void)
{
    char path[] = "/tmp/reln-drone-XXXXXX", error[200] = "";
    const int fd = mkstemp(path);
    mjModel *m;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, scene, sizeof scene - 1), sizeof scene - 1);
    close(fd);
    m = mj_loadXML(path, NULL, error, sizeof error);
    unlink(path);
    if (!m)
        fail_msg("%s", error);
    return m;
}

/* The force and torque of our rotors and drag for its state, in the world's frame. */
static void apply(const mjModel *m, mjData *d, const double *thrusts)
{
    double s[QUAD_STATE] = {0}, ds[QUAD_STATE], r[9], force, torque[3];
    mjtNum *at = d->xfrc_applied + 6; /* of the first body after the world */

    (void)m;
    memcpy(s + QUAD_V, d->qvel, 3 * sizeof *s);
    memcpy(s + QUAD_Q, d->qpos + 3, 4 * sizeof *s);
    memcpy(s + QUAD_F, thrusts, QUAD_ROTORS * sizeof *s);
    quad_field(thrusts, s, ds);
    quad_attitude(s, r);
    quad_forces(thrusts, &force, torque);
    for (int i = 0; i < 3; i++) {
        at[i] = QUAD_MASS * (ds[QUAD_V + i] + (i == 2 ? QUAD_GRAVITY : 0));
        at[3 + i] = r[3 * i] * torque[0] + r[3 * i + 1] * torque[1] + r[3 * i + 2] * torque[2];
    }
}

/* Half a second of a turn. Forces are held over MuJoCo's step of 1.25 ms where ours are not: an error of the first order, so
 * half the step must halve it. */
static double difference(double step)
{
    mjModel *m = open_scene();
    mjData *d = mj_makeData(m);
    double s[QUAD_STATE] = {0}, command[QUAD_ROTORS], worst = 0;
    const int n = (int)lrint(0.5 / step);

    m->opt.timestep = step;
    s[QUAD_Q] = 1;
    s[QUAD_V] = 6;
    for (int i = 0; i < QUAD_ROTORS; i++)
        command[i] = s[QUAD_F + i] =
            QUAD_MASS * QUAD_GRAVITY / QUAD_ROTORS * (1 + (i % 2 ? 0.02 : -0.01) * (i + 1));
    d->qvel[0] = 6;
    for (int i = 0; i < n; i++) {
        apply(m, d, s + QUAD_F);
        mj_step(m, d);
        quad_step(command, step, s);
    }
    for (int i = 0; i < 3; i++)
        worst = fmax(worst, fabs(s[i] - d->qpos[i]));
    assert_true(fabs(s[QUAD_W]) + fabs(s[QUAD_W + 1]) > 0.5); /* it did turn */
    mj_deleteData(d);
    mj_deleteModel(m);
    return worst;
}

static void mujoco_moves_it_the_same_way(void **state)
{
    const double coarse = difference(0.00125), fine = difference(0.000625);

    (void)state;
    print_message("against MuJoCo after half a second: %.2g m, %.2g m with half the step\n", coarse,
                  fine);
    assert_true(coarse < 1e-2);
    assert_true(fine < 0.6 * coarse);
}

#else

static void mujoco_moves_it_the_same_way(void **state)
{
    (void)state;
    print_message("no MuJoCo: the body is not compared with it\n");
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mujoco_moves_it_the_same_way)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
