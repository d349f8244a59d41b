/* smoke.h -- runs every row of a task at scale smoke, without a folder: metrics must be finite, and the
 * numbers of parameters the published ones. */
#ifndef TESTS_TASKS_SMOKE_H
#define TESTS_TASKS_SMOKE_H

#include <math.h>
#include <string.h>

#include "support/support.h"
#include "tasks/task.h"

/* A further check of a row. */
typedef void (*SmokeCheck)(const TaskRun *run);

static inline void smoke_row(TaskEnv *env, const void *data, const TaskModel *model,
                             SmokeCheck check)
{
    TaskRun run;

    assert_ok(env->ctx, task_run_alone(env, data, model, /*seed=*/1, &run));
    for (int i = 0; i < env->task->n_metrics; i++)
        assert_true(isfinite(run.metrics[i]));
    assert_true(run.params_used <= run.params);
    if (model->params > 0)
        assert_int_equal(run.params, model->params);
    check(&run);
    task_run_clear(&run);
}

/* Rows that need more than the scale smoke are left out. values: of the task's options, NULL for all of their defaults. */
static inline void smoke(const char *task, const char *const *values, SmokeCheck check)
{
    TaskEnv env = {.task = task_find(task), .scale = TASK_SMOKE};
    void *data = NULL;

    assert_non_null(env.task);
    for (int i = 0; values && i < env.task->n_options; i++)
        env.values[i] = values[i];
    assert_int_equal(reln_ctx_create(NULL, &env.ctx), RELN_OK);
    assert_ok(env.ctx, env.task->prepare(&env, &data));
    for (int m = 0; m < env.task->n_models; m++) {
        const TaskModel *model = &env.task->models[m];
        if (model->from == TASK_SMOKE && (!env.task->wanted || env.task->wanted(&env, model)))
            smoke_row(&env, data, model, check);
    }
    task_release(&env);
    reln_ctx_destroy(env.ctx);
}

static inline bool smoke_is_mlp(const TaskRun *run)
{
    return strncmp(run->model->name, "mlp", 3) == 0;
}

#endif
