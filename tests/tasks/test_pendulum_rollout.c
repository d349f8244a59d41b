/* Tests rollouts, their errors, and the published counts of operations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/pendulum.h"
#include "tasks/pendulum/pendulum.h"

/* ---- operations ------------------------------------------------------------------------------------------------ */

static void operations_are_counted_as_published(void **state)
{
    static const int o2[] = {1, 1, 2, 4, 10, 26, 71}, so2[] = {1, 1, 3, 7, 19, 51, 141};
    static const int d6[] = {1, 1, 2, 4, 10, 26, 72}, dense[] = {12, 128, 128, 128, 1};
    const PendTensors hidden = pend_tensors_uniform(128);

    (void)state;
    assert_true(pend_flops_dense(4, dense) == 70400);
    assert_true(pend_flops_emlp(&hidden, d6, true) == 1589909);
    assert_true(pend_flops_emlp(&hidden, o2, true) == 1584077);
    assert_true(pend_flops_emlp(&hidden, so2, true) == 2631893);
    assert_true(pend_flops_emlp(&hidden, d6, false) == 379649);
}

/* ---- errors ---------------------------------------------------------------------------------------------------- */

enum { N = 3, LONG = PEND_ROLLOUT * PEND_STATE };

/* A prediction that is z (1 + d) from the second state on has e = d / (2 + d) at each of 149 of 150 times. */
static void errors_are_geometric_means_with_a_clamp(void **state)
{
    static double truth[N * LONG], z[N * LONG];
    const double d = 0.02, e = d / (2 + d);
    PendErrors errors;

    (void)state;
    for (int i = 0; i < N * LONG; i++) {
        truth[i] = 1 + i % 7;
        z[i] = truth[i] * (i % LONG < PEND_STATE ? 1 : 1 + d);
    }
    errors = pend_errors(&PEND_AS_PUBLISHED, z, truth, N);
    assert_small(errors.moving / e - 1, 1e-12);
    assert_small(errors.table / (pow(e, 149.0 / 150) * pow(1e-5, 1.0 / 150)) - 1, 1e-12);
    assert_small(errors.log / (pow(e, 149.0 / 150) * pow(1e-7, 1.0 / 150)) - 1, 1e-12);
    assert_small(errors.at[0] / 1e-7 - 1, 1e-12);
    assert_small(errors.at[149] / e - 1, 1e-12);
}

static void a_motion_that_is_lost_counts_as_wrong(void **state)
{
    static double truth[LONG], z[LONG];
    PendErrors errors;

    (void)state;
    for (int i = 0; i < LONG; i++) {
        truth[i] = 1;
        z[i] = i < PEND_STATE ? 1 : (double)NAN;
    }
    errors = pend_errors(&PEND_AS_PUBLISHED, z, truth, 1);
    assert_small(errors.moving - 1, 1e-12);
    assert_true(isnan(errors.energy) && isnan(errors.spin));
}

/* ---- the true energy as a network ------------------------------------------------------------------------------ */

/* A linear function of |x1|, |x1-x2|, their squares, |p|^2 and heights is the true energy: with these weights, and
 * invariants as they are, the network must move as the pendulum does, up to what the method's steps leave. */
static void set_truth(RelnStore *store)
{
    /* pairs (a, b) of x1, x2, p1, p2, x2 - x1, e, p1 + p2 in order: 0 (0,0), 5 (0,5), 11 (1,5), 13 (2,2), 18 (3,3),
     * 22 (4,4); lengths from 28 */
    enum { COUNT = 33 };
    double w[COUNT] = {
        [0] = 0.5, [13] = 0.5, [18] = 0.5, [22] = 1, [5] = 1, [11] = 1, [28] = -1, [32] = -2};
    double one[COUNT * COUNT] = {0};

    assert_int_equal(pend_features_count(&pend_lengths), COUNT);
    for (int i = 0; i < COUNT; i++)
        one[i * COUNT + i] = 1 / PEND_LINEAR_GAIN;
    assert_true(pend_store_fill(store, "linear.W", COUNT, w));
    assert_true(pend_store_fill(store, "features.mix", COUNT * COUNT, one));
}

static double rollout_error(double h)
{
    static PendData data;
    static double z[4 * LONG], starts[4 * PEND_STATE];
    Lab lab;
    PendModel m;
    RelnPlan *plan = NULL;
    RelnNode *in;
    PendErrors errors;

    lab_init(&lab, PEND_O2);
    assert_true(pend_data_init(&data, &PEND_AS_PUBLISHED, PEND_DATA_SEED, 4));
    assert_true(pend_model_open(
        &m, &(PendBuild){.graph = lab.graph, .symmetry = PEND_O2, .settings = &pend_lengths},
        &pend_invariant));
    set_truth(lab.store);
    in = reln_input(lab.graph, "z", RELN_SAMPLES, pend_state_dims(1), pend_state_rep(lab.graph),
                    RELN_DEFAULT);
    reln_output(lab.graph, "out", pend_model_velocity(&m, in));
    assert_ok(lab.ctx, reln_plan_create(lab.graph, NULL, &plan));
    for (int i = 0; i < 4; i++)
        memcpy(starts + i * PEND_STATE, data.truth + i * LONG, PEND_STATE * sizeof *starts);
    assert_ok(lab.ctx, pend_rollout(&(PendRollout){plan, RELN_F64, 4, 1, h}, starts, z));
    errors = pend_errors(&PEND_AS_PUBLISHED, z, data.truth, 4);
    reln_plan_destroy(plan);
    pend_data_clear(&data);
    lab_clear(&lab);
    return errors.moving;
}

/* An error of fourth order: a sixteenth for half the step, within a factor of two; 1.4e-5 is the method's own floor
 * with steps of 0.1 on this task. */
static void the_true_energy_moves_as_the_pendulum(void **state)
{
    double coarse, fine;

    (void)state;
    skip_without_motions();
    coarse = rollout_error(0.1);
    fine = rollout_error(0.05);
    assert_true(coarse < 1e-4);
    assert_true(coarse / fine > 8 && coarse / fine < 32);
}

/* Steps are as many as make none of them longer than was asked for, and equal. */
static void an_interval_is_divided_into_equal_steps(void **state)
{
    (void)state;
    skip_without_motions();
    assert_true(rollout_error(PEND_INTERVAL / 2.5) == rollout_error(PEND_INTERVAL / 3));
    assert_true(rollout_error(PEND_INTERVAL / 2) != rollout_error(PEND_INTERVAL / 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_are_counted_as_published),
        cmocka_unit_test(errors_are_geometric_means_with_a_clamp),
        cmocka_unit_test(a_motion_that_is_lost_counts_as_wrong),
        cmocka_unit_test(the_true_energy_moves_as_the_pendulum),
        cmocka_unit_test(an_interval_is_divided_into_equal_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
