/* Tests losses with uncertainty: formulas, derivatives against differences, and refusals. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "graph/fixture.h"

enum { B = 2, K = 3, C = 2, ITEM = K * C };

typedef struct Trial {
    Fixture f;
    RelnPlan *plan;
    double y[B * ITEM], t[B * ITEM], s[B * C], p[B * K * K * C];
} Trial;

/* Outputs: the loss of each sample, and its gradients by the mean and by the variance. */
static void make(Trial *trial, bool matrix)
{
    const RelnDims dims = {.k = K, .c = C}, square = {.k = K * K, .c = C};
    RelnRng rng = reln_rng(5, 0);
    RelnNode *xs[2], *grads[2], *l, *t, *p;
    const RelnRep *vector;
    RelnGraph *g;

    fixture_init(&trial->f, "so:3", "so:3", RELN_F64);
    g = trial->f.graph;
    vector = reln_rep_vector(trial->f.group);
    fill_normal(&rng, B * ITEM, trial->y);
    fill_normal(&rng, B * ITEM, trial->t);
    fill_normal(&rng, B * C, trial->s);
    fill_normal(&rng, B * K * K * C, trial->p);
    xs[0] = reln_input(g, "y", RELN_SAMPLES, dims, vector, RELN_F64);
    xs[1] = reln_input(g, "s", RELN_SAMPLES, (RelnDims){.c = C}, NULL, RELN_F64);
    t = reln_input(g, "t", RELN_SAMPLES, dims, vector, RELN_F64);
    p = matrix ? reln_input(g, "p", RELN_SAMPLES, square, reln_rep_matrix(trial->f.group), RELN_F64)
               : NULL;
    l = matrix ? reln_loss_gaussian_matrix(g, xs[0], p, xs[1], t)
               : reln_loss_gaussian(g, xs[0], xs[1], t);
    assert_true(reln_grad(g, l, 2, xs, grads));
    reln_output(g, "loss", l);
    reln_output(g, "mean", grads[0]);
    reln_output(g, "spread", grads[1]);
    assert_ok(trial->f.ctx, reln_plan_create(g, NULL, &trial->plan));
    assert_ok(trial->f.ctx, reln_plan_bind(trial->plan, "y", trial->y, RELN_F64));
    assert_ok(trial->f.ctx, reln_plan_bind(trial->plan, "s", trial->s, RELN_F64));
    assert_ok(trial->f.ctx, reln_plan_bind(trial->plan, "t", trial->t, RELN_F64));
    if (matrix)
        assert_ok(trial->f.ctx, reln_plan_bind(trial->plan, "p", trial->p, RELN_F64));
}

static const double *run(Trial *trial, const char *output)
{
    assert_ok(trial->f.ctx, reln_plan_run(trial->plan, &(RelnRun){.n_samples = B}));
    return reln_plan_output(trial->plan, output, NULL);
}

static double by_hand(const Trial *trial, bool matrix, int b)
{
    double sum = 0;

    for (int c = 0; c < C; c++) {
        const double s = trial->s[b * C + c];

        sum += matrix ? s : K * s;
        for (int i = 0; i < K; i++)
            for (int j = 0; j < K; j++) {
                const double ei = trial->t[(b * K + i) * C + c] - trial->y[(b * K + i) * C + c];
                const double ej = trial->t[(b * K + j) * C + c] - trial->y[(b * K + j) * C + c];

                sum += matrix   ? ei * trial->p[(b * K * K + i * K + j) * C + c] * ej
                       : i == j ? ei * ei / exp(s)
                                : 0;
            }
    }
    return sum / 2 / ITEM;
}

static void densities_are_those_by_hand(void **state)
{
    (void)state;
    for (int matrix = 0; matrix < 2; matrix++) {
        Trial trial;
        double want[B];

        make(&trial, matrix);
        for (int b = 0; b < B; b++)
            want[b] = by_hand(&trial, matrix, b);
        assert_near(run(&trial, "loss"), want, B, 64 * DBL_EPSILON * 20);
        reln_plan_destroy(trial.plan);
        fixture_clear(&trial.f);
    }
}

/* Differences of step h have an error of h^2 and eps / h: 1e-5 gives about 1e-10. */
static void derivatives_are_differences(void **state)
{
    const double h = 1e-5;

    (void)state;
    for (int matrix = 0; matrix < 2; matrix++) {
        Trial trial;
        double mean, spread, up, down;

        make(&trial, matrix);
        mean = run(&trial, "mean")[4];
        spread = run(&trial, "spread")[1];
        trial.y[4] += h;
        up = run(&trial, "loss")[0];
        trial.y[4] -= 2 * h;
        down = run(&trial, "loss")[0];
        trial.y[4] += h;
        assert_small(mean - (up - down) / (2 * h), 1e-8);
        trial.s[1] += h;
        up = run(&trial, "loss")[0];
        trial.s[1] -= 2 * h;
        down = run(&trial, "loss")[0];
        assert_small(spread - (up - down) / (2 * h), 1e-8);
        reln_plan_destroy(trial.plan);
        fixture_clear(&trial.f);
    }
}

/* Quantiles 0.25 and 0.6 of two numbers: y has the first quantile of both, then the second. */
static void quantiles_are_those_by_hand(void **state)
{
    static const double levels[] = {0.25, 0.6};
    const RelnLoss loss = {.kind = RELN_LOSS_QUANTILES, .n_quantiles = 2, .quantiles = levels};
    const double y[] = {0.5, 0, 1, 3}, t[] = {2, -1}, want = (0.375 + 0.75 + 0.6 + 1.6) / 4;
    RelnPlan *plan = NULL;
    Fixture f;

    (void)state;
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    reln_output(
        f.graph, "loss",
        reln_loss(f.graph, &loss,
                  reln_input(f.graph, "y", RELN_SAMPLES, (RelnDims){.c = 4}, NULL, RELN_F64),
                  reln_input(f.graph, "t", RELN_SAMPLES, (RelnDims){.c = 2}, NULL, RELN_F64)));
    assert_ok(f.ctx, reln_plan_create(f.graph, NULL, &plan));
    assert_ok(f.ctx, reln_plan_bind(plan, "y", y, RELN_F64));
    assert_ok(f.ctx, reln_plan_bind(plan, "t", t, RELN_F64));
    assert_ok(f.ctx, reln_plan_run(plan, &(RelnRun){.n_samples = 1}));
    /* r = 1.5, -1 at 0.25: 0.375 and 0.75; r = 1, -4 at 0.6: 0.6 and 1.6; mean of four */
    assert_near(reln_plan_output(plan, "loss", NULL), &want, 1, 4 * DBL_EPSILON);
    reln_plan_destroy(plan);
    fixture_clear(&f);
}

static void refuse(RelnNode *l, Fixture *f, const char *wanted)
{
    assert_null(l);
    assert_true(reln_graph_status(f->graph) != RELN_OK);
    if (!strstr(reln_ctx_error(f->ctx), wanted))
        fail_msg("%s", reln_ctx_error(f->ctx));
    fixture_clear(f);
}

static RelnNode *place(Fixture *f, const char *name, RelnDims dims, bool vector)
{
    return reln_input(f->graph, name, RELN_SAMPLES, dims, vector ? reln_rep_vector(f->group) : NULL,
                      RELN_F64);
}

static void densities_that_break_the_symmetry_are_refused(void **state)
{
    const RelnDims vector = {.k = 3, .c = 2}, one = {.c = 2};
    Fixture f;

    (void)state;
    fixture_init(&f, "gl:3", "gl:3", RELN_F64);
    refuse(reln_loss_gaussian(f.graph, place(&f, "y", vector, true), place(&f, "s", one, false),
                              place(&f, "t", vector, true)),
           &f, "has no size that gl:3 keeps");
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    refuse(reln_loss_gaussian(f.graph, place(&f, "y", vector, true), place(&f, "s", vector, true),
                              place(&f, "t", vector, true)),
           &f, "wanted K = 1");
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    refuse(reln_loss(f.graph,
                     &(RelnLoss){.kind = RELN_LOSS_QUANTILES,
                                 .n_quantiles = 1,
                                 .quantiles = (const double[]){0.5}},
                     place(&f, "y", vector, true), place(&f, "t", vector, true)),
           &f, "which has no order");
    fixture_init(&f, "so:3", "so:3", RELN_F64);
    refuse(reln_loss(f.graph, &(RelnLoss){.kind = RELN_LOSS_GAUSSIAN}, place(&f, "y", one, false),
                     place(&f, "t", one, false)),
           &f, "wanted reln_loss_gaussian()");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(densities_are_those_by_hand),
        cmocka_unit_test(derivatives_are_differences),
        cmocka_unit_test(quantiles_are_those_by_hand),
        cmocka_unit_test(densities_that_break_the_symmetry_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
