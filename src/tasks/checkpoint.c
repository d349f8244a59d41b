/* checkpoint.c -- runs that are not finished, and trained weights, as files of named arrays. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tasks/files.h"

enum { PARTS = 4 };

static RelnStatus checkpoint_path(const TaskRun *run, int part, char path[TASK_PATH])
{
    char ending[32];

    snprintf(ending, sizeof ending, "part%d.safetensors", part);
    return task_path(run, "runs", ending, path);
}

RelnStatus task_checkpoint_save(const TaskRun *run, int part, RelnTrainer *trainer)
{
    const RelnMetaItem items[] = {{"settings", run->files->settings}, {"program", task_program()}};
    const RelnNamed *arrays = NULL;
    char path[TASK_PATH];
    int n = 0;

    TRY(checkpoint_path(run, part, path));
    TRY(reln_trainer_state(trainer, &n, &arrays));
    return reln_tensors_save(run->env->ctx, path, n, arrays, &(RelnMeta){2, items});
}

static RelnStatus restore(const TaskRun *run, const RelnTensors *tensors, RelnTrainer *trainer)
{
    const int n = reln_tensors_count(tensors);
    RelnNamed *arrays = calloc((size_t)n + 1, sizeof *arrays);
    RelnStatus status;

    if (!arrays)
        return task_nomem(run->env);
    for (int i = 0; i < n; i++)
        arrays[i] = *reln_tensors_get(tensors, i);
    status = reln_trainer_restore(trainer, n, arrays);
    free(arrays);
    return status;
}

/* One of other settings is of no use here, and will be written over. */
RelnStatus task_checkpoint_load(const TaskRun *run, int part, RelnTrainer *trainer)
{
    RelnTensors *tensors = NULL;
    char path[TASK_PATH];
    const char *settings;
    RelnStatus status = RELN_OK;
    bool agree = false;

    TRY(checkpoint_path(run, part, path));
    if (!reln_file_exists(path))
        return RELN_OK;
    TRY(reln_tensors_load(run->env->ctx, path, &tensors));
    settings = reln_tensors_meta(tensors, "settings");
    if (settings)
        status = task_settings_agree(run, settings, !reln_tensors_meta(tensors, "program"), &agree);
    if (status == RELN_OK && agree)
        status = restore(run, tensors, trainer);
    reln_tensors_destroy(tensors);
    return status;
}

void task_checkpoint_remove(const TaskRun *run)
{
    char path[TASK_PATH];

    for (int part = 0; part < PARTS; part++)
        if (checkpoint_path(run, part, path) == RELN_OK)
            unlink(path);
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* (P, Q, R, K, C) */
static RelnNamed named(const RelnEntryInfo *entry)
{
    const RelnDims d = entry->dims;

    return (RelnNamed){.name = entry->name,
                       .dtype = entry->dtype,
                       .rank = 5,
                       .dims = {d.p, d.q, d.r, d.k, d.c},
                       .values = entry->values};
}

RelnStatus task_keep(TaskRun *run, const RelnStore *store)
{
    const int count = reln_store_count(store);
    RelnNamed *arrays;
    char path[TASK_PATH];
    RelnStatus status;
    int n = 0;

    if (!run->files)
        return RELN_OK;
    TRY(task_path(run, "models", "safetensors", path));
    if (!(arrays = calloc((size_t)count + 1, sizeof *arrays)))
        return task_nomem(run->env);
    for (int i = 0; i < count; i++) {
        const RelnEntryInfo entry = reln_store_entry(store, i);
        if (!reln_train_is_moment(store, &entry))
            arrays[n++] = named(&entry);
    }
    const RelnMetaItem items[] = {{"settings", run->files->settings}, {"program", task_program()}};
    status = reln_tensors_save(run->env->ctx, path, n, arrays, &(RelnMeta){2, items});
    free(arrays);
    return status;
}
