/* scaled.h -- runs rows of a task at scale smoke, with some of its numbers changed and without a folder. */
#ifndef TESTS_TASKS_SCALED_H
#define TESTS_TASKS_SCALED_H

#include <math.h>
#include <string.h>

#include "support/support.h"
#include "tasks/settings.h"
#include "tasks/task.h"

typedef struct Scaled {
    Task task; /* a copy of the task whose scales are `numbers` */
    double numbers[256];
    TaskEnv env;
    void *data; /* of prepare() */
} Scaled;

/* Initialises it. It must not be moved afterwards, because the task points into it. */
static inline void scaled_init(Scaled *s, const char *name)
{
    *s = (Scaled){.env = {.scale = TASK_SMOKE}};
    assert_non_null(task_find(name));
    s->task = *task_find(name);
    assert_true(s->task.scale_fields.size <= sizeof s->numbers);
    memcpy(s->numbers, s->task.scales, s->task.scale_fields.size);
    s->task.scales = s->numbers;
    s->env.task = &s->task;
}

static inline void scaled_set(Scaled *s, const char *field, int value)
{
    const Section *fields = s->task.scale_fields.section;

    for (int i = 0; i < fields->n_keys; i++)
        if (strcmp(fields->keys[i].name, field) == 0) {
            assert_int_equal(fields->keys[i].kind, KEY_WHOLE);
            memcpy((char *)s->numbers + fields->keys[i].at, &value, sizeof value);
            return;
        }
    fail_msg("no field %s", field);
}

static inline void scaled_option(Scaled *s, const char *option, const char *value)
{
    for (int i = 0; i < s->task.n_options; i++)
        if (strcmp(s->task.options[i].name, option) == 0) {
            s->env.values[i] = value;
            return;
        }
    fail_msg("no option %s", option);
}

static inline void scaled_open(Scaled *s)
{
    assert_int_equal(reln_ctx_create(NULL, &s->env.ctx), RELN_OK);
    if (s->task.prepare(&s->env, &s->data) != RELN_OK)
        fail_msg("%s%s", s->env.message, reln_ctx_error(s->env.ctx));
}

/* Runs seed 1 of a row; the caller calls task_run_clear(). */
static inline void scaled_run(Scaled *s, const char *row, TaskRun *run)
{
    const TaskModel *model = task_model(&s->task, row);

    assert_non_null(model);
    if (task_run_alone(&s->env, s->data, model, 1, run) != RELN_OK)
        fail_msg("%s: %s%s", row, s->env.message, reln_ctx_error(s->env.ctx));
}

static inline void scaled_close(Scaled *s)
{
    task_release(&s->env);
    reln_ctx_destroy(s->env.ctx);
}

#endif
