/* Compares found neighbours and rows far apart with a plain search; tests ties, sets that are too small,
 * tiles, refusals. */
#include <math.h>

#include "ops/fixture.h"

enum { SAMPLES = 5, N = 20, M = 14, K = 3 };

static const int32_t n_points[SAMPLES] = {7, 0, 1, 3, 9}, n_others[SAMPLES] = {2, 4, 0, 7, 1};

/* Small whole numbers: distances are exact, and ties are common. */
static void fill(int n, uint64_t seed, double *x)
{
    RelnRng rng = reln_rng(seed, 0);

    for (int i = 0; i < 3 * n; i++)
        x[i] = (double)reln_rng_below(&rng, 4);
}

/* Returns the r-th nearest row of y[from .. to) to x[i], by (distance, index); -1 if there are fewer rows. */
static int wanted(const double *x, int i, const double *y, int from, int to, bool others, int r)
{
    int last = -1;
    double at = -1;

    for (; r >= 0; r--) {
        int best = -1;
        double least = 1e9;

        for (int j = from; j < to; j++) {
            double d = 0;

            for (int c = 0; c < 3; c++)
                d += (x[3 * i + c] - y[3 * j + c]) * (x[3 * i + c] - y[3 * j + c]);
            if ((others && j == i) || d < at || (d == at && j <= last) || d >= least)
                continue;
            best = j;
            least = d;
        }
        if (best < 0)
            return -1;
        last = best;
        at = least;
    }
    return last;
}

/* Checks the coordinates of each neighbour; they are 0 for a missing one. */
static void check(const double *got, const double *x, const double *y, const int32_t *n_y,
                  bool others)
{
    for (int s = 0, i = 0, from = 0; s < SAMPLES; from += n_y[s++])
        for (int p = 0; p < n_points[s]; p++, i++)
            for (int r = 0; r < K; r++) {
                const int j = wanted(x, i, y, from, from + n_y[s], others, r);

                for (int c = 0; c < 3; c++)
                    assert_true(got[(i * K + r) * 3 + c] == (j < 0 ? 0.0 : y[3 * j + c]));
            }
}

static void neighbours_are_those_of_a_plain_search(void **state)
{
    static const RelnPlanOptions options[] = {{0}, {.tile = 1}, {.tile = 7}, {.shard = 2}};
    double x[3 * N], y[3 * M];

    (void)state;
    fill(N, 1, x);
    fill(M, 2, y);
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        Fixture f;
        RelnDomain points, others, near;
        RelnNode *a, *b;
        RelnPlan *plan;

        fixture_init(&f, "so:3", "so:3", RELN_F64);
        points = reln_rows(f.graph, "points", N);
        others = reln_rows(f.graph, "others", M);
        near = reln_fixed(f.graph, "near", points, K);
        a = reln_input(f.graph, "x", points, (RelnDims){.k = 3}, f.adjoint, RELN_DEFAULT);
        b = reln_input(f.graph, "y", others, (RelnDims){.k = 3}, f.adjoint, RELN_DEFAULT);
        reln_output(f.graph, "own",
                    reln_gather(f.graph, a, reln_nearest_rows(f.graph, a, a, near)));
        reln_output(f.graph, "other",
                    reln_gather(f.graph, b, reln_nearest_rows(f.graph, a, b, near)));
        plan = plan_of(&f, options[o]);
        assert_ok(f.ctx, reln_plan_bind(plan, "x", x, RELN_F64));
        assert_ok(f.ctx, reln_plan_bind(plan, "y", y, RELN_F64));
        assert_ok(f.ctx, reln_plan_bind_rows(plan, "points", n_points));
        assert_ok(f.ctx, reln_plan_bind_rows(plan, "others", n_others));
        assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = SAMPLES}));
        check(reln_plan_output(plan, "own", NULL), x, x, n_points, true);
        check(reln_plan_output(plan, "other", NULL), x, y, n_others, false);
        reln_plan_destroy(plan);
        fixture_clear(&f);
    }
}

static double square_between(const double *x, const double *y)
{
    double d = 0;

    for (int c = 0; c < 3; c++)
        d += (x[c] - y[c]) * (x[c] - y[c]);
    return d;
}

/* Chooses rows of x[0 .. n) by the definition: it computes the distances to all chosen rows each time. */
static void choose_plainly(const double *x, int n, int32_t *chosen)
{
    static const double origin[3] = {0};

    for (int j = 0; j < K; j++) {
        double most = -1;

        chosen[j] = j < n ? 0 : chosen[j - n];
        for (int i = 0; j < n && i < n; i++) {
            double least = j == 0 ? square_between(x + 3 * i, origin) : HUGE_VAL;

            for (int l = 0; l < j; l++)
                least = fmin(least, square_between(x + 3 * i, x + 3 * chosen[l]));
            if (least > most) {
                most = least;
                chosen[j] = i;
            }
        }
    }
}

static void rows_far_apart_are_those_of_a_plain_search(void **state)
{
    static const RelnPlanOptions options[] = {{0}, {.tile = 1}, {.tile = 2}, {.shard = 2}};
    double x[3 * N];
    RelnRng rng = reln_rng(3, 0);

    (void)state;
    for (int i = 0; i < 3 * N; i++) /* eighths: squares are exact, and some ties */
        x[i] = (double)reln_rng_below(&rng, 64) / 8;
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        Fixture f;
        RelnDomain points, far;
        RelnNode *a;
        RelnPlan *plan;
        const double *got;

        fixture_init(&f, "so:3", "so:3", RELN_F64);
        points = reln_rows(f.graph, "points", N);
        far = reln_fixed(f.graph, "far", RELN_SAMPLES, K);
        a = reln_input(f.graph, "x", points, (RelnDims){.k = 3}, f.adjoint, RELN_DEFAULT);
        reln_output(f.graph, "far", reln_gather(f.graph, a, reln_farthest_rows(f.graph, a, far)));
        plan = plan_of(&f, options[o]);
        assert_ok(f.ctx, reln_plan_bind(plan, "x", x, RELN_F64));
        assert_ok(f.ctx, reln_plan_bind_rows(plan, "points", n_points));
        assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = SAMPLES}));
        got = reln_plan_output(plan, "far", NULL);
        for (int s = 0, from = 0; s < SAMPLES; from += n_points[s++]) {
            int32_t chosen[K];

            choose_plainly(x + (ptrdiff_t)3 * from, n_points[s], chosen);
            for (int j = 0; j < K; j++)
                for (int c = 0; c < 3; c++)
                    assert_true(got[(s * K + j) * 3 + c] ==
                                (n_points[s] > 0 ? x[3 * (from + chosen[j]) + c] : 0));
        }
        reln_plan_destroy(plan);
        fixture_clear(&f);
    }
}

static void what_has_no_distance_is_refused(void **state)
{
    Fixture f;
    RelnDomain points;
    RelnNode *x;

    (void)state;
    fixture_init(&f, "so:1,3", "so:1,3", RELN_F64);
    points = reln_rows(f.graph, "points", N);
    x = reln_input(f.graph, "x", points, (RelnDims){.k = 4}, reln_rep_vector(f.group),
                   RELN_DEFAULT);
    assert_null(reln_nearest_rows(f.graph, x, x, reln_fixed(f.graph, "near", points, K)));
    assert_refused(&f, RELN_ERR_REP, "does not keep the dot product");
    fixture_clear(&f);
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    points = reln_rows(f.graph, "points", N);
    x = reln_input(f.graph, "x", points, (RelnDims){.k = 3}, f.adjoint, RELN_DEFAULT);
    assert_null(reln_nearest_rows(f.graph, x, x, points));
    assert_refused(&f, RELN_ERR_ARG, "wanted a fixed number of items below");
    fixture_clear(&f);
    fixture_init(&f, "so:1,3", "so:1,3", RELN_F64);
    points = reln_rows(f.graph, "points", N);
    x = reln_input(f.graph, "x", points, (RelnDims){.k = 4}, reln_rep_vector(f.group),
                   RELN_DEFAULT);
    assert_null(reln_farthest_rows(f.graph, x, reln_fixed(f.graph, "far", RELN_SAMPLES, K)));
    assert_refused(&f, RELN_ERR_REP, "does not keep the dot product");
    fixture_clear(&f);
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    points = reln_rows(f.graph, "points", N);
    x = reln_input(f.graph, "x", points, (RelnDims){.k = 3}, f.adjoint, RELN_DEFAULT);
    assert_null(reln_farthest_rows(f.graph, x, reln_fixed(f.graph, "near", points, K)));
    assert_refused(&f, RELN_ERR_ARG, "wanted a fixed number of items below each sample");
    fixture_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_are_those_of_a_plain_search),
        cmocka_unit_test(rows_far_apart_are_those_of_a_plain_search),
        cmocka_unit_test(what_has_no_distance_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
