/* tasks.c -- the list of tasks, and functions that search it. */
#include <string.h>

#include "tasks/task.h"

extern const Task task_sp4, task_platonic, task_pendulum, task_pendulum_cost;
extern const Task task_sl3_inv, task_sl3_equiv, task_bch, task_rigid, task_gln;
extern const Task task_jets, task_drone, task_splats;

static const Task *const tasks[] = {
    &task_sp4, &task_platonic, &task_pendulum, &task_pendulum_cost, &task_sl3_inv, &task_sl3_equiv,
    &task_bch, &task_rigid,    &task_gln,      &task_jets,          &task_drone,   &task_splats};

int task_count(void)
{
    return (int)(sizeof tasks / sizeof tasks[0]);
}

const Task *task_at(int index)
{
    return index >= 0 && index < task_count() ? tasks[index] : NULL;
}

const Task *task_find(const char *name)
{
    for (int i = 0; i < task_count(); i++)
        if (strcmp(tasks[i]->name, name) == 0)
            return tasks[i];
    return NULL;
}

const TaskModel *task_model(const Task *task, const char *name)
{
    for (int i = 0; i < task->n_models; i++)
        if (strcmp(task->models[i].name, name) == 0)
            return &task->models[i];
    return NULL;
}

const char *task_scale_text(TaskScale scale)
{
    static const char *const texts[TASK_SCALES] = {
        [TASK_SMOKE] = "smoke", [TASK_QUICK] = "quick", [TASK_FULL] = "full"};

    return texts[scale];
}
