/* Tests every row of the tables at scale smoke: numbers of parameters as the paper counts them, and
 * invariance where it is promised. */
#include <math.h>
#include <string.h>

#include "support/support.h"
#include "tasks/pendulum.h"
#include "tasks/task.h"

typedef struct Table {
    TaskEnv env;
    void *data;
} Table;

static void table_init(Table *t, const char *task)
{
    memset(t, 0, sizeof *t);
    t->env.task = task_find(task);
    t->env.scale = TASK_SMOKE;
    assert_non_null(t->env.task);
    assert_int_equal(reln_ctx_create(NULL, &t->env.ctx), RELN_OK);
    assert_ok(t->env.ctx, t->env.task->prepare(&t->env, &t->data));
}

static void table_clear(Table *t)
{
    task_release(&t->env);
    reln_ctx_destroy(t->env.ctx);
}

/* One run of a row; every metric is a number, the loss has a curve. */
static TaskRun row(Table *t, const TaskModel *model)
{
    TaskRun run;

    assert_ok(t->env.ctx, task_run_alone(&t->env, t->data, model, /*seed=*/1, &run));
    for (int i = 0; i < t->env.task->n_metrics; i++)
        assert_true(isfinite(run.metrics[i]));
    assert_true(run.curves && run.curves->n > 0);
    assert_true(run.params_used > 0 && run.params_used <= run.params);
    if (model->params > 0)
        assert_int_equal(run.params, model->params);
    return run;
}

static bool is_mlp(const TaskModel *model)
{
    return strncmp(model->name, "mlp", 3) == 0;
}

/* Metrics: id, sp4, invariance. Outputs are a few units, of sums of 256 products in single precision. */
static void rows_of_sp4_are_invariant_but_for_the_mlps(void **state)
{
    Table t;

    (void)state;
    table_init(&t, "sp4");
    for (int m = 0; m < t.env.task->n_models; m++) {
        TaskRun run = row(&t, &t.env.task->models[m]);
        if (is_mlp(run.model))
            assert_true(run.metrics[2] > 1e-2);
        else
            assert_small(run.metrics[2], 256 * 0x1p-23);
        task_run_clear(&run);
    }
    table_clear(&t);
}

/* Metrics: id, rc. A sample may change sides when its margin is below rounding: here one in a thousand at most. */
static void rows_of_platonic_do_not_see_rotations_but_for_the_mlps(void **state)
{
    Table t;

    (void)state;
    table_init(&t, "platonic");
    for (int m = 0; m < t.env.task->n_models; m++) {
        TaskRun run = row(&t, &t.env.task->models[m]);
        const double change = fabs(run.metrics[0] - run.metrics[1]);
        if (!is_mlp(run.model))
            assert_small(change, 1e-3 + 1e-9);
        else if (strcmp(run.model->name, "mlp-256") == 0)
            assert_true(change > 1e-2);
        task_run_clear(&run);
    }
    table_clear(&t);
}

/* Metrics: the last is the error of the velocity under a turn, in single precision: a few hundred roundings; a
 * dense network's is of the size of the velocity. Untrained motions may be lost, so that their drifts are no
 * numbers. */
static void rows_of_pendulum_turn_with_the_state_but_for_the_mlps(void **state)
{
    Table t;

    (void)state;
    skip_without_motions();
    table_init(&t, "pendulum");
    for (int m = 0; m < t.env.task->n_models; m++) {
        const TaskModel *model = &t.env.task->models[m];
        TaskRun run;

        assert_ok(t.env.ctx, task_run_alone(&t.env, t.data, model, /*seed=*/1, &run));
        if (model->params > 0)
            assert_int_equal(run.params, model->params);
        assert_true(run.metrics[0] > 0 && run.metrics[0] < 1);
        if (is_mlp(model))
            assert_true(run.metrics[6] > 1e-2);
        else
            assert_small(run.metrics[6], 512 * 0x1p-23);
        task_run_clear(&run);
    }
    table_clear(&t);
}

static void rows_of_the_pendulum_s_costs_are_counted_as_published(void **state)
{
    Table t;

    (void)state;
    table_init(&t, "pendulum-cost");
    for (int m = 0; m < t.env.task->n_models; m++) {
        const TaskModel *model = &t.env.task->models[m];
        TaskRun run;

        assert_ok(t.env.ctx, task_run_alone(&t.env, t.data, model, /*seed=*/1, &run));
        if (model->params > 0)
            assert_int_equal(run.params, model->params);
        if (strcmp(model->name, "mlp") == 0 || strcmp(model->name, "emlp-per-call") == 0)
            assert_true(run.metrics[0] == model->paper[0].mean);
        if (strcmp(model->name, "mlp") == 0) {
            /* 32 fields of two H, differentiated by six more; biases are the rest */
            const double h = run.metrics[1], step = 1e9 * run.metrics[3] / 500;

            assert_small(run.metrics[2] / (2 * h) - 1, 0.01);
            assert_small(step / (32 * 8 * h) - 1, 0.01);
        }
        task_run_clear(&run);
    }
    table_clear(&t);
}

static void names_of_rows_are_unique_and_fit_names_of_files(void **state)
{
    (void)state;
    for (int i = 0; i < task_count(); i++)
        for (int m = 0; m < task_at(i)->n_models; m++) {
            const TaskModel *model = &task_at(i)->models[m];
            assert_int_equal(strspn(model->name, "abcdefghijklmnopqrstuvwxyz0123456789-"),
                             strlen(model->name));
            assert_ptr_equal(task_model(task_at(i), model->name), model);
        }
    assert_null(task_find("nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_sp4_are_invariant_but_for_the_mlps),
        cmocka_unit_test(rows_of_platonic_do_not_see_rotations_but_for_the_mlps),
        cmocka_unit_test(rows_of_pendulum_turn_with_the_state_but_for_the_mlps),
        cmocka_unit_test(rows_of_the_pendulum_s_costs_are_counted_as_published),
        cmocka_unit_test(names_of_rows_are_unique_and_fit_names_of_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
