/* Tests rows of the drone table at scale smoke: finite metrics, covariances where they are predicted, and
 * known results of classical rows. */
#include <math.h>
#include <string.h>

#include "support/support.h"
#include "tasks/task.h"

enum { WINDOW, ATE, MEAN, PERCENT, RTE2, RTE20, ATE_R2, ATE_R3, TURNED, SYMMETRY, NEES, METRICS };

/* Returns whether a row is tested: the rows of the scale, and some rows of larger scales that are as fast. */
static bool in_time(const TaskModel *model)
{
    static const char *const more[] = {"reln-direct", "reln-products", "vn-krylov-bounded"};

    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        if (strcmp(model->name, more[i]) == 0)
            return true;
    return model->from == TASK_SMOKE;
}

/* Runs rows for a few steps. The norms of ReLN have hardly any statistics then, but its cubic gates must stay
 * finite. */
static void run_rows(const char *noise)
{
    TaskEnv env = {.task = task_find("drone"), .scale = TASK_SMOKE};
    double window[2] = {0};
    void *data = NULL;

    assert_int_equal(env.task->n_metrics, METRICS);
    for (int i = 0; i < env.task->n_options; i++)
        env.values[i] = strcmp(env.task->options[i].name, "noise") == 0 ? noise : NULL;
    assert_int_equal(reln_ctx_create(NULL, &env.ctx), RELN_OK);
    assert_ok(env.ctx, env.task->prepare(&env, &data));
    for (int m = 0; m < env.task->n_models; m++) {
        const TaskModel *model = &env.task->models[m];
        TaskRun run;

        if (!in_time(model) || !env.task->wanted(&env, model))
            continue;
        assert_ok(env.ctx, task_run_alone(&env, data, model, 1, &run));
        for (int i = 0; i < NEES; i++)
            assert_true(isfinite(run.metrics[i]));
        if (strcmp(model->name, "integration") == 0)
            window[0] = run.metrics[WINDOW];
        if (strcmp(model->name, "rts-window") == 0)
            window[1] = run.metrics[WINDOW];
        if (strcmp(model->name, "best") == 0 || strcmp(model->name, "rts-window") == 0)
            assert_true(isfinite(run.metrics[NEES]));
        else
            assert_true(isnan(run.metrics[NEES]));
        if (strcmp(model->name, "perfect") == 0) {
            assert_true(run.metrics[ATE] < 1e-9 && run.metrics[ATE_R3] > 3);
        } else if (strcmp(model->name, "resnet") != 0) {
            assert_true(run.metrics[SYMMETRY] < 1e-4);
            /* the scale has one flight, which is also evaluated in a turned frame */
            assert_true(fabs(run.metrics[TURNED] / run.metrics[WINDOW] - 1) < 1e-3);
        }
        task_run_clear(&run);
    }
    assert_true(window[1] < window[0]);
    task_release(&env);
    reln_ctx_destroy(env.ctx);
}

static void rows_have_finite_scores(void **state)
{
    (void)state;
    run_rows("d");
}

static void two_sensors_have_rows_of_their_own(void **state)
{
    (void)state;
    run_rows("g");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_finite_scores),
        cmocka_unit_test(two_sensors_have_rows_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
