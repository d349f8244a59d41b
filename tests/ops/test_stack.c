/* Tests rows of a fixed number as places on an axis, and back: known numbers however the batch is divided, and refusals. */
#include "ops/fixture.h"

enum { SAMPLES = 5, ROWS = 6, Q = 2, C = 3, ALL = SAMPLES * ROWS * Q * C };

typedef struct Stacks {
    Fixture f;
    RelnPlan *plan;
    double x[ALL], w[ROWS * C];
} Stacks;

/* y: twice x plus weights of the row, computed row by row; halves: three places for each of two rows, the largest place of each;
 * gx: the gradient of the sum of y^2 / 4 by x; gw: by the weights, which all samples share. */
static void build(Stacks *s)
{
    RelnGraph *g = s->f.graph;
    const RelnDomain rows = reln_fixed(g, "rows", RELN_SAMPLES, ROWS),
                     twos = reln_fixed(g, "twos", RELN_SAMPLES, 2);
    RelnNode *x =
        reln_input(g, "x", RELN_SAMPLES, (RelnDims){.p = ROWS, .q = Q, .c = C}, NULL, RELN_DEFAULT);
    RelnNode *w = reln_param(g, "w", (RelnDims){.p = ROWS, .c = C}, (RelnInit){0});
    RelnNode *y = reln_stack(
        g, reln_add(g, reln_scale(g, reln_unstack(g, x, rows), 2.0), reln_unstack(g, w, rows)),
        RELN_SAMPLES);
    RelnNode *half = reln_unstack(g, x, twos), *grads[2];

    reln_output(g, "y", y);
    reln_output(
        g, "halves",
        reln_stack(g, reln_pick(g, half, reln_argmax(g, half, RELN_P), RELN_P), RELN_SAMPLES));
    assert_true(reln_grad(g, reln_scale(g, reln_sum_all(g, reln_square(g, y)), 0.25), 2,
                          (RelnNode *[]){x, w}, grads));
    reln_output(g, "gx", grads[0]);
    reln_output(g, "gw", grads[1]);
}

/* Whole numbers, so that sums are exact in any order. */
static void stacks_make(Stacks *s, RelnPlanOptions options)
{
    RelnEntryInfo w;

    fixture_init(&s->f, "so:3", "so:3", RELN_F64);
    for (int i = 0; i < ALL; i++)
        s->x[i] = (i * 7) % 23 - 11;
    build(s);
    assert_ok(s->f.ctx, reln_graph_status(s->f.graph));
    assert_true(reln_store_find(s->f.store, "w", &w));
    for (int i = 0; i < ROWS * C; i++)
        s->w[i] = ((double *)w.values)[i] = i % 5 - 2;
    s->plan = plan_of(&s->f, options);
    assert_ok(s->f.ctx, reln_plan_bind(s->plan, "x", s->x, RELN_F64));
    assert_ok(s->f.ctx, reln_plan_run(s->plan, &(RelnRun){.n_samples = SAMPLES}));
}

static const double *output(const Stacks *s, const char *name)
{
    ptrdiff_t n = 0;
    const double *values = reln_plan_output(s->plan, name, &n);

    assert_non_null(values);
    return values;
}

static void check_values(const Stacks *s)
{
    const double *y = output(s, "y"), *halves = output(s, "halves"), *gx = output(s, "gx"),
                 *gw = output(s, "gw");
    double sums[ROWS * C] = {0};

    for (int i = 0; i < ALL; i++) {
        const int row = i / (Q * C) % ROWS, c = i % C;
        const double want = 2 * s->x[i] + s->w[row * C + c];

        assert_true(y[i] == want);
        assert_true(gx[i] == want);
        sums[row * C + c] += want / 2;
    }
    for (int i = 0; i < ROWS * C; i++)
        assert_true(gw[i] == sums[i]);
    for (int i = 0; i < SAMPLES * 2 * Q * C; i++) {
        const double *from = s->x + (i / (Q * C)) * (ROWS / 2 * Q * C) + i % (Q * C);
        double most = from[0];

        for (int p = 1; p < ROWS / 2; p++)
            most = from[p * Q * C] > most ? from[p * Q * C] : most;
        assert_true(halves[i] == most);
    }
}

static void rows_are_the_places_however_the_batch_is_divided(void **state)
{
    (void)state;
    for (int tile = 0; tile <= ROWS + 1; tile++)
        for (int shard = 0; shard <= 3; shard++) {
            Stacks s;

            stacks_make(&s, (RelnPlanOptions){.tile = tile, .shard = shard});
            check_values(&s);
            reln_plan_destroy(s.plan);
            fixture_clear(&s.f);
        }
}

/* ---- refusals ----------------------------------------------------------------------------------------------------- */

static void refused(int mistake, RelnStatus status, const char *words)
{
    const RelnDims four = {.p = 4, .c = C};
    RelnDomain rows, points;
    RelnNode *x, *of_points;
    Fixture f;

    fixture_init(&f, "so:3", "so:3", RELN_F64);
    rows = reln_fixed(f.graph, "threes", RELN_SAMPLES, 3);
    points = reln_rows(f.graph, "points", 9);
    x = reln_input(f.graph, "x", RELN_SAMPLES, four, NULL, RELN_DEFAULT);
    of_points = reln_input(f.graph, "of points", points, four, NULL, RELN_DEFAULT);
    switch (mistake) {
    case 0:
        assert_null(reln_unstack(f.graph, x, rows));
        break;
    case 1:
        assert_null(reln_unstack(f.graph, x, points));
        break;
    case 2:
        assert_null(reln_stack(f.graph, of_points, RELN_SAMPLES));
        break;
    case 3:
        assert_null(reln_stack(f.graph, x, RELN_STEP));
        break;
    case 4:
        assert_null(reln_unstack(f.graph, of_points, rows));
        break;
    case 5:
        assert_null(reln_unstack(f.graph, x, 77));
        break;
    default:
        assert_null(reln_stack(
            f.graph, reln_unstack(f.graph, x, reln_fixed(f.graph, "fours", RELN_SAMPLES, 4)),
            points));
    }
    assert_refused(&f, status, words);
    fixture_clear(&f);
}

static void mistakes_are_refused_when_built(void **state)
{
    (void)state;
    refused(0, RELN_ERR_SHAPE, "wanted an axis P of 3 places, or a multiple");
    refused(1, RELN_ERR_ARG, "points has no fixed number of rows for each item of samples");
    refused(2, RELN_ERR_ARG, "points has no fixed number of rows for each item of samples");
    refused(3, RELN_ERR_ARG, "samples has no fixed number of rows for each item of the step");
    refused(4, RELN_ERR_ARG, "threes has no fixed number of rows for each item of points");
    refused(5, RELN_ERR_ARG, "an unknown domain has no fixed number of rows");
    refused(6, RELN_ERR_ARG, "fours has no fixed number of rows for each item of points");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_places_however_the_batch_is_divided),
        cmocka_unit_test(mistakes_are_refused_when_built),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
