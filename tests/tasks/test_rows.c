/* Tests samples with rows: sets of different size in batches, in validation and in predictions. A network
 * that adds up the rows of each set finds the factor in the targets, so rows and samples belong together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "tasks/experiment.h"

enum { N = 40, MOST = 5, BATCH = 8, STEPS = 400 };

typedef struct Sets {
    int32_t counts[N];
    double rows[N * MOST], y[N];
    ExpSet set;
} Sets;

/* Sets of 0 to MOST rows; y = 3 (sum of rows) - 1 */
static void draw(Sets *s, uint64_t stream)
{
    RelnRng rng = reln_rng(11, stream);
    int n = 0;

    for (int i = 0; i < N; i++) {
        s->counts[i] = (int32_t)reln_rng_below(&rng, MOST + 1);
        s->y[i] = -1;
        for (int k = 0; k < s->counts[i]; k++) {
            s->rows[n] = reln_rng_normal(&rng);
            s->y[i] += 3 * s->rows[n++];
        }
    }
    s->set = (ExpSet){.n = N,
                      .n_columns = 3,
                      .column = {{EXP_NUMBERS("v", 1, s->rows), .rows = 1},
                                 {EXP_NUMBERS("y", 1, s->y), .target = true},
                                 {EXP_NUMBERS("not taken", 1, s->y)}},
                      .n_rows = 1,
                      .rows = {{"points", s->counts}}};
}

static RelnNode *network(const RelnNet *net, const void *model)
{
    RelnGraph *g = net->graph;
    const RelnDomain points = reln_rows(g, "points", 64);
    RelnNode *v = reln_input(g, "v", points, (RelnDims){.c = 1}, NULL, RELN_DEFAULT);

    (void)model;
    return reln_nn_dense(net, "out", reln_reduce(g, v, RELN_SAMPLES), 1);
}

static RelnStatus judge(TaskRun *run, Exp *e, const void *self)
{
    double out[N];
    const Sets *s = self;

    TRY(exp_predict(e, EXP_NETWORK, &s->set, out));
    run->metrics[0] = exp_mse(out, s->y, N, 1);
    return RELN_OK;
}

typedef struct Case {
    const ExpPart *part;
    const Sets *test;
} Case;

static RelnStatus fit(TaskRun *run, const void *data)
{
    const Case *c = data;
    const ExpJob job = {.symmetry = "so:3",
                        .features = "so:3",
                        .dtype = RELN_F64,
                        .network = network,
                        .n_parts = 1,
                        .parts = c->part};

    return exp_run(run, &job, judge, c->test);
}

static const TaskModel row = {.name = "sum", .label = "sum of rows"};
static const Task task = {.name = "rows", .run = fit};

static RelnStatus never(const void *self, RelnRng *rng, double *const *columns)
{
    (void)self, (void)rng, (void)columns;
    return RELN_OK;
}

static void sets_of_different_size_train_and_are_judged(void **state)
{
    TaskEnv env = {.task = &task};
    Sets train, test;
    ExpPart part = {.train = &train.set,
                    .batch = BATCH,
                    .validation = &test.set,
                    .steps = STEPS,
                    .evaluate_every = 100,
                    .schedule = task_schedule(0.1, true, STEPS, 50, 0.01)};
    const Case c = {&part, &test};
    TaskRun run;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &env.ctx), RELN_OK);
    draw(&train, 0);
    draw(&test, 1);
    /* the plan refuses columns that training does not use, so they are left out */
    train.set.n_columns = 2;
    assert_ok(env.ctx, task_run_alone(&env, &c, &row, 1, &run));
    assert_true(run.metrics[0] < 1e-3);
    task_run_clear(&run);
    part.move = never; /* augmentation does not support rows */
    assert_int_equal(task_run_alone(&env, &c, &row, 1, &run), RELN_ERR_ARG);
    task_run_clear(&run);
    task_release(&env);
    reln_ctx_destroy(env.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_of_different_size_train_and_are_judged),
    };

    return cmocka_run_group_tests_name("tasks/rows", tests, NULL, NULL);
}
