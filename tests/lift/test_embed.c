/* Tests lifts of vectors with a metric: exact for O(n) and O(p,q), and measurably not for other groups. */
#include "lift/fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/golden.h"
#include "tensor/linalg.h"

enum { COUNT = 7, MAX_N = 5, MAX_SQUARE = (MAX_N + 1) * (MAX_N + 1) };

static double lift_error(Fixture *f, const double *metric, const Frame *g)
{
    const int n = g->n, square = (n + 1) * (n + 1);
    const Frame extended = frame_extended(g);
    double v[COUNT * MAX_N], moved[COUNT * MAX_N], x[COUNT * MAX_SQUARE], got[COUNT * MAX_SQUARE],
        want[COUNT * MAX_SQUARE];

    fill_normal(&f->rng, COUNT * n, v);
    frame_vectors(g, COUNT, v, moved);
    assert_ok(f->ctx, reln_lift_embed(f->ctx, n, metric, COUNT, moved, got));
    assert_ok(f->ctx, reln_lift_embed(f->ctx, n, metric, COUNT, v, x));
    frame_conjugate(&extended, COUNT, x, want);
    return frame_error(COUNT * square, got, want);
}

static void embedding_commutes_with_rotations_and_reflections(void **state)
{
    Fixture *f = *state;

    for (int n = 1; n <= MAX_N; n++)
        for (int sign = -1; sign <= 1; sign += 2) {
            const Frame g = frame_orthogonal(f->ctx, &f->rng, n, sign);
            assert_small(lift_error(f, NULL, &g), frame_gate(1));
        }
}

static void
embedding_commutes_with_boosts_and_all_four_components_of_the_lorentz_group(void **state)
{
    const double signs[4][4] = {{1, 1, 1, 1}, {-1, 1, 1, 1}, {1, -1, -1, -1}, {-1, -1, -1, -1}};
    const double *metrics[2] = {reln_metric_mostly_plus, reln_metric_mostly_minus};
    Fixture *f = *state;

    for (int i = 0; i < 16; i++) {
        const double *metric = metrics[i / 4 % 2];
        const Frame g = frame_metric(f->ctx, &f->rng, 4, metric, signs[i % 4]);
        assert_true(g.cond > 1.05); /* a boost is in it */
        assert_small(lift_error(f, metric, &g), frame_gate(g.cond));
        assert_true(lift_error(f, NULL, &g) > 1e-3); /* with the wrong metric the error is large */
    }
}

static void embedding_fails_under_general_frames(void **state)
{
    Fixture *f = *state;
    const Frame g = frame_general(f->ctx, &f->rng, 4, 4, 1);

    assert_true(lift_error(f, NULL, &g) > 0.1);
    assert_true(lift_error(f, reln_metric_mostly_plus, &g) > 0.1);
}

/* Reads vectors from any matrix of size n + 1, not only from embedded vectors. */
static void both_read_outs_give_vectors(void **state)
{
    const double *metric = reln_metric_mostly_plus;
    Fixture *f = *state;
    const Frame g = frame_metric(f->ctx, &f->rng, 4, metric, NULL), big = frame_extended(&g);
    double x[COUNT * 25], moved[COUNT * 25], v[COUNT * 4], got[COUNT * 4], want[COUNT * 4];

    fill_normal(&f->rng, COUNT * 25, x);
    frame_conjugate(&big, COUNT, x, moved);
    reln_readout_embed_column(4, COUNT, x, v);
    frame_vectors(&g, COUNT, v, want);
    reln_readout_embed_column(4, COUNT, moved, got);
    assert_small(frame_error(COUNT * 4, got, want), frame_gate(g.cond));
    reln_readout_embed_row(4, metric, COUNT, x, v);
    frame_vectors(&g, COUNT, v, want);
    reln_readout_embed_row(4, metric, COUNT, moved, got);
    assert_small(frame_error(COUNT * 4, got, want), frame_gate(g.cond));
    reln_readout_embed_row(4, NULL, COUNT, x, v);
    frame_vectors(&g, COUNT, v, want);
    reln_readout_embed_row(4, NULL, COUNT, moved, got);
    assert_true(frame_error(COUNT * 4, got, want) > 1e-3);
}

static void read_outs_undo_the_lift(void **state)
{
    const double metric[3] = {2, -1, 0.25};
    Fixture *f = *state;
    double v[COUNT * 3], x[COUNT * 16], back[COUNT * 3];

    fill_normal(&f->rng, COUNT * 3, v);
    assert_ok(f->ctx, reln_lift_embed(f->ctx, 3, metric, COUNT, v, x));
    reln_readout_embed_column(3, COUNT, x, back);
    assert_near(back, v, COUNT * 3, 0);
    reln_readout_embed_row(3, metric, COUNT, x, back);
    assert_near(back, v, COUNT * 3, 1e-15);
}

/* The Killing form of gl(5), 10 tr(XY) - 2 tr X tr Y, is 20 times the Minkowski product; the completed form is the same
 * on matrices without trace. Coordinates in gl(5) are the entries, row by row. */
static void four_momenta_agree_with_the_stored_matrices_and_products(void **state)
{
    const char *names[6] = {"p", "q", "Xp", "form_pq", "minkowski_pq", "psi_form_pq"};
    Fixture *f = *state;
    RelnAlgebra *gl5 = NULL;
    double *a[6], x[8 * 25], y[8 * 25], product[25];
    ptrdiff_t dims[3];
    int rank = 0;

    for (int i = 0; i < 6; i++) {
        char path[64];
        snprintf(path, sizeof path, "lorentz/%s", names[i]);
        assert_true(golden_load(path, 3, dims, &rank, &a[i]));
    }
    assert_ok(f->ctx, reln_algebra_create(f->ctx, "gl:5", &gl5));
    assert_ok(f->ctx, reln_lift_embed(f->ctx, 4, reln_metric_mostly_minus, 8, a[0], x));
    assert_ok(f->ctx, reln_lift_embed(f->ctx, 4, reln_metric_mostly_minus, 8, a[1], y));
    assert_near(x, a[2], 8 * 25, 1e-15);
    for (int k = 0; k < 8; k++) {
        const double tx = reln_mat_trace(5, x + 25 * k), ty = reln_mat_trace(5, y + 25 * k);
        double form = 0;
        reln_mat_mul(5, 5, 5, x + 25 * k, y + 25 * k, product);
        form = 10 * reln_mat_trace(5, product) - 2 * tx * ty;
        assert_near(&form, a[3] + k, 1, 1e-12);
        form = reln_algebra_form(gl5, x + 25 * k, y + 25 * k);
        assert_near(&form, a[3] + k, 1, 1e-12);
        product[0] = copysign(log1p(fabs(form)), form);
        assert_near(product, a[5] + k, 1, 1e-12);
        form /= 20;
        assert_near(&form, a[4] + k, 1, 1e-12);
    }
    for (int i = 0; i < 6; i++)
        free(a[i]);
    reln_algebra_destroy(gl5);
}

static void bad_data_and_metrics_are_refused(void **state)
{
    const double v[4] = {1, 2, 3, (double)INFINITY}, metric[2] = {1, 0};
    Fixture *f = *state;
    double x[18];

    assert_int_equal(reln_lift_embed(f->ctx, 2, NULL, 2, v, x), RELN_ERR_NUMERIC);
    assert_string_equal(reln_ctx_error(f->ctx), "embedding: item 1: element 1 is inf, not finite");
    assert_int_equal(reln_lift_embed(f->ctx, 2, metric, 1, v, x), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(f->ctx), "entry 1 of the metric is 0"));
    assert_int_equal(reln_lift_embed(f->ctx, 0, NULL, 1, v, x), RELN_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embedding_commutes_with_rotations_and_reflections),
        cmocka_unit_test(
            embedding_commutes_with_boosts_and_all_four_components_of_the_lorentz_group),
        cmocka_unit_test(embedding_fails_under_general_frames),
        cmocka_unit_test(both_read_outs_give_vectors),
        cmocka_unit_test(read_outs_undo_the_lift),
        cmocka_unit_test(four_momenta_agree_with_the_stored_matrices_and_products),
        cmocka_unit_test(bad_data_and_metrics_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
