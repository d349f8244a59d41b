/* Tests covariances and vectors relative to a reference, for all of GL(n). */
#include "lift/fixture.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "tensor/linalg.h"

enum { COUNT = 6, N = 3, SQUARE = N * N };

/* A Data is one set of data that transform together, with the reference computed from them. */
typedef struct Data {
    double s[COUNT * SQUARE], v[COUNT * N], w[COUNT * N], sbar[SQUARE];
} Data;

static Data random_data(Fixture *f)
{
    Data d;

    fill_positive(f->ctx, &f->rng, N, COUNT, d.s);
    fill_normal(&f->rng, COUNT * N, d.v);
    fill_normal(&f->rng, COUNT * N, d.w);
    assert_ok(f->ctx, reln_reference_mean(f->ctx, N, COUNT, d.s, 0, NULL, d.sbar));
    return d;
}

/* Moves the data to another frame, and computes the reference again. */
static Data in_frame(Fixture *f, const Frame *g, const Data *d)
{
    Data out;

    frame_congruence(g, COUNT, d->s, out.s);
    frame_vectors(g, COUNT, d->v, out.v);
    frame_vectors(g, COUNT, d->w, out.w);
    assert_ok(f->ctx, reln_reference_mean(f->ctx, N, COUNT, out.s, 0, NULL, out.sbar));
    return out;
}

enum { RAW, LOG, PAIR, N_LIFTS };

static void lift(Fixture *f, int which, const Data *d, double *x)
{
    if (which == RAW)
        assert_ok(f->ctx, reln_lift_congruence(f->ctx, N, d->sbar, COUNT, d->s, x));
    else if (which == LOG)
        assert_ok(f->ctx, reln_lift_congruence_log(f->ctx, N, d->sbar, COUNT, d->s, x));
    else
        assert_ok(f->ctx, reln_lift_congruence_pair(f->ctx, N, d->sbar, COUNT, d->v, d->w, x));
}

static double lift_error(Fixture *f, int which, const Frame *g)
{
    const Data d = random_data(f), moved = in_frame(f, g, &d);
    double x[COUNT * SQUARE], got[COUNT * SQUARE], want[COUNT * SQUARE];

    lift(f, which, &d, x);
    lift(f, which, &moved, got);
    frame_conjugate(g, COUNT, x, want);
    return frame_error(COUNT * SQUARE, got, want);
}

static void lifts_commute_with_all_frames_reflections_included(void **state)
{
    const double conds[] = {1, 10, 100, 1000};
    Fixture *f = *state;

    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 12; k++) {
            const Frame g = frame_general(f->ctx, &f->rng, N, conds[i], k % 2 ? 1 : -1);
            assert_small(lift_error(f, k % N_LIFTS, &g), frame_gate(g.cond));
        }
}

/* The promise for GL(n) depends on the reference: with a fixed one it holds for O(n) only. */
static void fixed_reference_loses_general_frames(void **state)
{
    Fixture *f = *state;
    const Frame g = frame_general(f->ctx, &f->rng, N, 4, 1);
    Data d = random_data(f), moved = in_frame(f, &g, &d);

    for (int which = 0; which < N_LIFTS; which++) {
        double x[COUNT * SQUARE], got[COUNT * SQUARE], want[COUNT * SQUARE];
        reln_mat_identity(N, d.sbar);
        reln_mat_identity(N, moved.sbar);
        lift(f, which, &d, x);
        lift(f, which, &moved, got);
        frame_conjugate(&g, COUNT, x, want);
        assert_true(frame_error(COUNT * SQUARE, got, want) > 0.1);
    }
}

static void lifts_are_what_their_formulas_say(void **state)
{
    Fixture *f = *state;
    const Data d = random_data(f);
    double inverse[SQUARE], x[COUNT * SQUARE], want[SQUARE], outer[SQUARE];

    assert_ok(f->ctx, reln_inverse(f->ctx, N, d.sbar, inverse));
    lift(f, RAW, &d, x);
    reln_mat_mul(N, N, N, d.s, inverse, want);
    assert_near(x, want, SQUARE, 1e-14);
    lift(f, LOG, &d, x);
    assert_ok(f->ctx, reln_matrix_log(f->ctx, N, want, want)); /* the general logarithm */
    assert_near(x, want, SQUARE, 1e-14);
    lift(f, PAIR, &d, x);
    reln_mat_mul(N, 1, N, d.v, d.w, outer);
    reln_mat_mul(N, N, N, outer, inverse, want);
    assert_near(x, want, SQUARE, 1e-13);
}

static void references_change_like_covariances(void **state)
{
    Fixture *f = *state;

    for (int sign = -1; sign <= 1; sign += 2) {
        const Frame g = frame_general(f->ctx, &f->rng, N, 10, sign);
        const Data d = random_data(f), moved = in_frame(f, &g, &d);
        double sbar[SQUARE], want[SQUARE], got[SQUARE];
        frame_congruence(&g, 1, d.sbar, want);
        assert_small(frame_error(SQUARE, moved.sbar, want), frame_gate(g.cond));
        /* two vectors do not span the space, but the prior makes the reference definite */
        assert_int_equal(reln_reference_scatter(f->ctx, N, 2, d.v, 0, NULL, sbar),
                         RELN_ERR_NUMERIC);
        assert_ok(f->ctx, reln_reference_scatter(f->ctx, N, 2, d.v, 0.1, d.sbar, sbar));
        assert_ok(f->ctx, reln_reference_scatter(f->ctx, N, 2, moved.v, 0.1, moved.sbar, got));
        frame_congruence(&g, 1, sbar, want);
        assert_small(frame_error(SQUARE, got, want), frame_gate(g.cond));
        /* with the identity as prior the equivariance is lost */
        reln_mat_identity(N, sbar);
        assert_ok(f->ctx, reln_reference_scatter(f->ctx, N, 2, moved.v, 0.1, sbar, got));
        assert_true(frame_error(SQUARE, got, want) > 1e-2);
    }
}

static void regularised_semidefinite_covariances_have_an_equivariant_logarithm(void **state)
{
    Fixture *f = *state;
    const Frame g = frame_general(f->ctx, &f->rng, N, 10, -1);
    Data d = random_data(f), moved;
    double x[SQUARE], got[SQUARE], want[SQUARE];

    reln_mat_mul(N, 1, N, d.v, d.v, d.s); /* rank one */
    moved = in_frame(f, &g, &d);
    assert_ok(f->ctx, reln_reference_mean(f->ctx, N, COUNT, d.s, 0, NULL, d.sbar));
    reln_regularise(N, d.sbar, 1, 1e-3, d.s);
    reln_regularise(N, moved.sbar, 1, 1e-3, moved.s);
    assert_ok(f->ctx, reln_lift_congruence_log(f->ctx, N, d.sbar, 1, d.s, x));
    assert_ok(f->ctx, reln_lift_congruence_log(f->ctx, N, moved.sbar, 1, moved.s, got));
    frame_conjugate(&g, 1, x, want);
    assert_small(frame_error(SQUARE, got, want), 1e-12); /* s itself has condition number 1e3 */
}

/* For each read-out and any X: y(A X A^-1, A . data) = A . y(X, data). */
static void read_outs_commute_with_all_frames(void **state)
{
    const double conds[] = {1, 10, 100, 1000};
    Fixture *f = *state;

    for (int i = 0; i < 8; i++) {
        const Frame g = frame_general(f->ctx, &f->rng, N, conds[i / 2], i % 2 ? 1 : -1);
        const Data d = random_data(f), moved = in_frame(f, &g, &d);
        const double gate = frame_gate(g.cond);
        double x[COUNT * SQUARE], gx[COUNT * SQUARE], y[COUNT * SQUARE], got[COUNT * SQUARE],
            want[COUNT * SQUARE];
        fill_normal(&f->rng, COUNT * SQUARE, x);
        frame_conjugate(&g, COUNT, x, gx);

        reln_readout_vector(N, COUNT, x, d.v, y);
        reln_readout_vector(N, COUNT, gx, moved.v, got);
        frame_vectors(&g, COUNT, y, want);
        assert_small(frame_error(COUNT * N, got, want), gate);

        assert_ok(f->ctx, reln_readout_covector(f->ctx, N, d.sbar, COUNT, x, d.v, y));
        assert_ok(f->ctx, reln_readout_covector(f->ctx, N, moved.sbar, COUNT, gx, moved.v, got));
        frame_covectors(&g, COUNT, y, want);
        assert_small(frame_error(COUNT * N, got, want), gate);
        frame_vectors(&g, COUNT, y, want);
        assert_true(g.cond < 2 || frame_error(COUNT * N, got, want) > 0.1); /* not a vector */

        reln_readout_symmetric(N, d.sbar, COUNT, x, y);
        reln_readout_symmetric(N, moved.sbar, COUNT, gx, got);
        frame_congruence(&g, COUNT, y, want);
        assert_small(frame_error(COUNT * SQUARE, got, want), gate);

        assert_ok(f->ctx, reln_readout_positive(f->ctx, N, d.sbar, COUNT, x, y));
        assert_ok(f->ctx, reln_readout_positive(f->ctx, N, moved.sbar, COUNT, gx, got));
        frame_congruence(&g, COUNT, y, want);
        assert_small(frame_error(COUNT * SQUARE, got, want), gate);

        assert_ok(f->ctx, reln_readout_norm(f->ctx, N, d.sbar, COUNT, x, y));
        assert_ok(f->ctx, reln_readout_norm(f->ctx, N, moved.sbar, COUNT, gx, got));
        assert_small(frame_error(COUNT, got, y), gate);
    }
}

static void read_outs_undo_their_lifts(void **state)
{
    Fixture *f = *state;
    const Data d = random_data(f);
    double x[COUNT * SQUARE], back[COUNT * SQUARE], norm[COUNT];

    lift(f, RAW, &d, x);
    reln_readout_symmetric(N, d.sbar, COUNT, x, back);
    assert_near(back, d.s, COUNT * SQUARE, 1e-14);
    lift(f, LOG, &d, x);
    assert_ok(f->ctx, reln_readout_positive(f->ctx, N, d.sbar, COUNT, x, back));
    assert_near(back, d.s, COUNT * SQUARE, 1e-14);
    assert_ok(f->ctx, reln_readout_norm(f->ctx, N, d.sbar, COUNT, x, norm));
    for (int k = 0; k < COUNT; k++)
        assert_true(norm[k] > 0);
}

/* exp((X + sbar Xᵀ sbar^-1) / 2) sbar by the general exponential, and positive definite for any X. */
static void positive_read_out_is_what_its_formula_says(void **state)
{
    Fixture *f = *state;
    const Data d = random_data(f);
    double x[SQUARE], xt[SQUARE], inverse[SQUARE], tmp[SQUARE], sum[SQUARE], want[SQUARE],
        got[SQUARE];

    fill_normal(&f->rng, SQUARE, x);
    assert_ok(f->ctx, reln_inverse(f->ctx, N, d.sbar, inverse));
    reln_mat_transpose(N, N, x, xt);
    reln_mat_mul(N, N, N, d.sbar, xt, tmp);
    reln_mat_mul(N, N, N, tmp, inverse, sum);
    for (int i = 0; i < SQUARE; i++)
        sum[i] = (sum[i] + x[i]) / 2;
    assert_ok(f->ctx, reln_matrix_exp(f->ctx, N, sum, tmp));
    reln_mat_mul(N, N, N, tmp, d.sbar, want);
    assert_ok(f->ctx, reln_readout_positive(f->ctx, N, d.sbar, 1, x, got));
    assert_near(got, want, SQUARE, 1e-13);
    assert_ok(f->ctx, reln_cholesky(f->ctx, N, got, tmp));
}

static void data_outside_the_domain_is_refused_with_its_item(void **state)
{
    const double good[4] = {2, 0, 0, 1}, indefinite[4] = {1, 2, 2, 1}, skew[4] = {0, 1, -1, 0};
    Fixture *f = *state;
    double s[8] = {1, 0, 0, 1, 1, 2, 2, 1}, x[8];

    assert_int_equal(reln_lift_congruence_log(f->ctx, 2, good, 2, s, x), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(f->ctx),
                           "congruence logarithm: item 1: a 2x2 matrix is not positive definite"));
    assert_int_equal(reln_lift_congruence(f->ctx, 2, indefinite, 2, s, x), RELN_ERR_NUMERIC);
    assert_string_equal(
        reln_ctx_error(f->ctx),
        "reference covariance: a 2x2 matrix is not positive definite (leading minor "
        "2)");
    assert_int_equal(reln_lift_congruence(f->ctx, 2, good, 1, skew, x), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "congruence: item 0 is not symmetric"));
    assert_int_equal(reln_reference_mean(f->ctx, 2, 2, s, 1, NULL, x), RELN_ERR_ARG);
    assert_int_equal(reln_reference_mean(f->ctx, 2, 0, s, 0, NULL, x), RELN_ERR_ARG);
    assert_string_equal(reln_ctx_error(f->ctx),
                        "mean covariance: 0 items and no prior, wanted at least one");
    assert_int_equal(reln_reference_scatter(f->ctx, 2, 0, s, 0, NULL, x), RELN_ERR_ARG);
    assert_ok(f->ctx, reln_reference_mean(f->ctx, 2, 0, s, 1, good, x));
    s[7] = (double)NAN;
    assert_int_equal(reln_lift_congruence(f->ctx, 2, good, 2, s, x), RELN_ERR_NUMERIC);
    assert_string_equal(reln_ctx_error(f->ctx), "congruence: item 1: element 3 is nan, not finite");
    assert_int_equal(reln_lift_congruence_pair(f->ctx, 2, good, 2, good, s + 4, x),
                     RELN_ERR_NUMERIC);
    assert_string_equal(reln_ctx_error(f->ctx),
                        "congruence pair: item 1: element 1 is nan, not finite");
    assert_int_equal(reln_readout_positive(f->ctx, 2, good, 2, s, x), RELN_ERR_NUMERIC);
    assert_int_equal(reln_readout_norm(f->ctx, 2, good, 2, s, x), RELN_ERR_NUMERIC);
    assert_int_equal(reln_readout_covector(f->ctx, 2, good, 2, s, good, x), RELN_ERR_NUMERIC);
    s[7] = 1e4;
    s[5] = s[6] = 0;
    assert_int_equal(reln_readout_positive(f->ctx, 2, good, 2, s, x), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "positive read-out: item 1: "));
}

static RelnStatus everything(RelnCtx *ctx)
{
    const double s[8] = {1, 0, 0, 1, 2, 1, 1, 2};
    double sbar[4], x[8], y[8];

    RELN_TRY(reln_reference_mean(ctx, 2, 2, s, 0, NULL, sbar));
    RELN_TRY(reln_reference_scatter(ctx, 2, 4, s, 0.5, s, sbar));
    RELN_TRY(reln_lift_congruence(ctx, 2, sbar, 2, s, x));
    RELN_TRY(reln_lift_congruence_pair(ctx, 2, sbar, 2, s, s, x));
    RELN_TRY(reln_lift_congruence_log(ctx, 2, sbar, 2, s, x));
    RELN_TRY(reln_readout_covector(ctx, 2, sbar, 2, x, s, y));
    RELN_TRY(reln_readout_positive(ctx, 2, sbar, 2, x, y));
    return reln_readout_norm(ctx, 2, sbar, 2, x, y);
}

static void running_out_of_memory_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(everything) > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lifts_commute_with_all_frames_reflections_included),
        cmocka_unit_test(fixed_reference_loses_general_frames),
        cmocka_unit_test(lifts_are_what_their_formulas_say),
        cmocka_unit_test(references_change_like_covariances),
        cmocka_unit_test(regularised_semidefinite_covariances_have_an_equivariant_logarithm),
        cmocka_unit_test(read_outs_commute_with_all_frames),
        cmocka_unit_test(read_outs_undo_their_lifts),
        cmocka_unit_test(positive_read_out_is_what_its_formula_says),
        cmocka_unit_test(data_outside_the_domain_is_refused_with_its_item),
        cmocka_unit_test(running_out_of_memory_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
