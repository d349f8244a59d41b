/* Tests the task of the free rigid body: the true motion, a bracket that equals the field, and turned frames. */
#include <float.h>
#include <math.h>

#include "tasks/network.h"
#include "tasks/rigid/rigid.h"
#include "tasks/smoke.h"

static const double w0[3] = {0.9, 0.4, 0.7};

/* Runge-Kutta with h = 25/999/32 makes errors of the order (|w| h)^4 a unit of time: 1e-12 over 25 s. */
static void energy_and_momentum_stay_as_they_are(void **state)
{
    double w[RIGID_POINTS * 3], worst = 0;

    (void)state;
    rigid_motion(w0, RIGID_POINTS, w);
    for (int i = 0; i < RIGID_POINTS; i++) {
        worst = fmax(worst, fabs(rigid_energy(w + 3 * i) - rigid_energy(w0)));
        worst = fmax(worst, fabs(rigid_momentum(w + 3 * i) - rigid_momentum(w0)));
    }
    assert_small(worst, 1e-11);
    assert_true(fabs(w[3 * 999] - w0[0]) > 1e-3); /* it does move */
}

/* I wdot + w x (I w) = 0 */
static void the_field_is_eulers(void **state)
{
    const double *I = rigid_inertia, zero[3] = {0};
    double wdot[3], m[3], residual[3];

    (void)state;
    rigid_field(w0, wdot);
    for (int i = 0; i < 3; i++)
        m[i] = I[3 * i] * w0[0] + I[3 * i + 1] * w0[1] + I[3 * i + 2] * w0[2];
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        residual[i] = I[3 * i] * wdot[0] + I[3 * i + 1] * wdot[1] + I[3 * i + 2] * wdot[2] +
                      w0[j] * m[k] - w0[k] * m[j];
    }
    assert_near(residual, zero, 3, 100 * DBL_EPSILON);
}

/* ---- networks ------------------------------------------------------------------------------------------------------ */

static void open_network(Network *n, const RigidModel *model)
{
    network_init(n, "none:3", "so:3");
    n->plan = network_plan(n->s.graph, rigid_network(&n->net, model), NULL);
}

/* (3, RIGID_STEPS) */
static const double *run(Network *n, const double *w)
{
    assert_ok(n->s.ctx, reln_plan_bind(n->plan, "x", w, RELN_F64));
    assert_ok(n->s.ctx, reln_plan_run(n->plan, &(RelnRun){.n_samples = 1}));
    return reln_plan_output(n->plan, "out", NULL);
}

static double determinant(const double *m)
{
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
           m[2] * (m[3] * m[7] - m[4] * m[6]);
}

/* A = N I, B = N, N = I / sqrt(det I). Channels of the parameter are rows of the matrix; these are symmetric. */
static void set_inertia(const RelnStore *store)
{
    const double *I = rigid_inertia, root = sqrt(determinant(I));
    RelnEntryInfo a, b;

    assert_true(reln_store_find(store, "A", &a) && reln_store_find(store, "B", &b));
    for (int i = 0; i < 9; i++) {
        ((double *)b.values)[i] = I[i] / root;
        ((double *)a.values)[i] = 0;
        for (int k = 0; k < 3; k++)
            ((double *)a.values)[i] += I[i / 3 * 3 + k] * I[k * 3 + i % 3] / root;
    }
}

/* One step of 25/999 makes an error of about (|w| h)^5 / 100 < 1e-9. */
static void one_bracket_with_two_matrices_is_the_body(void **state)
{
    const RigidModel model = {.kind = RIGID_PAIR};
    double w[(RIGID_STEPS + 1) * 3], worst = 0, before = 0;
    Network n;

    (void)state;
    open_network(&n, &model);
    rigid_motion(w0, RIGID_STEPS + 1, w);
    const double *out = run(&n, w0);
    for (int s = 0; s < RIGID_STEPS; s++)
        before = fmax(before, fabs(out[s] - w[3 * (s + 1)]));
    set_inertia(n.s.store);
    out = run(&n, w0);
    for (int s = 0; s < RIGID_STEPS; s++)
        for (int i = 0; i < 3; i++)
            worst = fmax(worst, fabs(out[i * RIGID_STEPS + s] - w[3 * (s + 1) + i]));
    assert_small(worst, 1e-8);
    assert_true(before > 1e-3); /* must fail: other matrices are another body */
    network_clear(&n);
}

/* All channels are multiples of w, so the bracket of any two is 0 and w keeps its direction. */
static void without_mixing_a_velocity_keeps_its_direction(void **state)
{
    const RigidModel model = {.kind = RIGID_BRACKET, .channels = 20};
    double turned = 0;
    Network n;

    (void)state;
    open_network(&n, &model);
    const double *out = run(&n, w0);
    for (int i = 1; i < 3; i++)
        turned = fmax(turned, fabs(out[i * RIGID_STEPS + 8] * w0[0] - out[8] * w0[i]));
    assert_small(turned, 1000 * DBL_EPSILON);
    network_clear(&n);
}

/* Checks f(r w; r m) = r f(w; m), and that it fails if m is not turned. */
static void check_turning(const RigidModel *model, bool learned)
{
    const double r[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1}, turned[3] = {-w0[1], w0[0], w0[2]};
    double before[3 * RIGID_STEPS], want[3 * RIGID_STEPS], off = 0;
    RelnEntryInfo m;
    Network n;

    open_network(&n, model);
    for (int i = 0; i < reln_store_count(n.s.store); i++) { /* so that the bracket is not small */
        const RelnEntryInfo e = reln_store_entry(n.s.store, i);
        for (size_t k = 0; strcmp(e.name, "m") == 0 && k < e.count; k++)
            ((double *)e.values)[k] *= 10;
    }
    memcpy(before, run(&n, w0), sizeof before);
    for (int s = 0; s < RIGID_STEPS; s++) {
        want[s] = -before[RIGID_STEPS + s];
        want[RIGID_STEPS + s] = before[s];
        want[2 * RIGID_STEPS + s] = before[2 * RIGID_STEPS + s];
    }
    const double *out = run(&n, turned);
    for (int i = 0; i < 3 * RIGID_STEPS; i++)
        off = fmax(off, fabs(out[i] - want[i]));
    assert_true(!learned || off > 1e-6);
    rigid_turn(model, n.s.store, r);
    assert_near(run(&n, turned), want, 3 * RIGID_STEPS, 1e4 * DBL_EPSILON);
    assert_true(learned ==
                (reln_store_find(n.s.store, "m", &m) || reln_store_find(n.s.store, "A", &m)));
    network_clear(&n);
}

static void networks_turn_with_the_frame_when_their_vectors_do(void **state)
{
    (void)state;
    check_turning(&(const RigidModel){.kind = RIGID_MIXED, .channels = 20}, true);
    check_turning(&(const RigidModel){.kind = RIGID_PAIR}, true);
    check_turning(&(const RigidModel){.kind = RIGID_BRACKET, .channels = 20}, false);
}

/* ---- the table ----------------------------------------------------------------------------------------------------- */

/* Metrics: 5, 10, 15, 20, 25 s; 25 s in turned frames. A rounding may grow e-fold in a few seconds, by 1e5 in 25 s, and
 * there are 4000 evaluations of the field: 1e-16 becomes less than 1e-7. */
static void turned_frames_change_nothing(const TaskRun *run)
{
    const double change = fabs(run->metrics[5] / run->metrics[4] - 1);
    const TaskCurve *errors = task_curve_named(run, "error against time");

    assert_true(errors && errors->n == 111); /* the first points of 111 windows of 9 points */
    for (ptrdiff_t i = 0; i < errors->n; i++)
        assert_small(errors->x[i] - 25.0 * (double)(1 + 9 * i) / 999, 1e-13);

    if (smoke_is_mlp(run))
        assert_true(change > 1e-3);
    else
        assert_small(change, 1e-6);
}

static void rows_do_not_see_the_frame_but_for_the_mlp(void **state)
{
    (void)state;
    smoke("rigid", NULL, turned_frames_change_nothing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_and_momentum_stay_as_they_are),
        cmocka_unit_test(the_field_is_eulers),
        cmocka_unit_test(one_bracket_with_two_matrices_is_the_body),
        cmocka_unit_test(without_mixing_a_velocity_keeps_its_direction),
        cmocka_unit_test(networks_turn_with_the_frame_when_their_vectors_do),
        cmocka_unit_test(rows_do_not_see_the_frame_but_for_the_mlp),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
