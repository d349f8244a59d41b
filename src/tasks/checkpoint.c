/* checkpoint.c -- saves unfinished runs, and trained weights, as files of named arrays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit/comm.h"
#include "tasks/files.h"

enum { PARTS = 64 }; /* limit that includes networks which a run trains one after another */

static RelnStatus checkpoint_path(const TaskRun *run, int part, char path[TASK_PATH])
{
    char ending[32];

    snprintf(ending, sizeof ending, "part%d.safetensors", part);
    return task_path(run, "runs", ending, path);
}

RelnStatus task_checkpoint_save(const TaskRun *run, int part, RelnTrainer *trainer)
{
    const RelnMetaItem items[] = {{"reln.settings", run->files->settings},
                                  {"reln.program", task_program()},
                                  {"reln.kernels", reln_kernels_text(run->env->reference)}};
    char path[TASK_PATH];

    TRY(checkpoint_path(run, part, path));
    return reln_checkpoint_save(run->env->ctx, path, trainer, &(RelnMeta){3, items});
}

/* Writes "PATH.previous", the file that exists when a run was killed between two renamings. */
static void previous_path(const char *path, char out[TASK_PATH + 16])
{
    snprintf(out, TASK_PATH + 16, "%s.previous", path);
}

static bool exists(const char *path)
{
    char previous[TASK_PATH + 16];

    previous_path(path, previous);
    return reln_file_exists(path) || reln_file_exists(previous);
}

/* A checkpoint that does not name its kernels was written before there was a choice. */
static bool same_kernels(const TaskRun *run, const RelnTensors *file)
{
    const char *then = reln_checkpoint_about(file, "reln.kernels");

    return !then || strcmp(then, reln_kernels_text(run->env->reference)) == 0;
}

/* Loads a checkpoint into the trainer. A checkpoint of other settings or kernels is ignored, and will be
 * overwritten. */
RelnStatus task_checkpoint_load(const TaskRun *run, int part, RelnTrainer *trainer)
{
    RelnTensors *file = NULL;
    char path[TASK_PATH];
    const char *settings;
    bool previous;
    RelnStatus status = RELN_OK;
    bool agree = false;

    TRY(checkpoint_path(run, part, path));
    if (!exists(path))
        return RELN_OK;
    TRY(reln_checkpoint_load(run->env->ctx, path, &file, &previous));
    settings = reln_checkpoint_about(file, "reln.settings");
    if (settings)
        status =
            task_settings_agree(run, settings, !reln_tensors_meta(file, "reln.program"), &agree);
    if (status == RELN_OK && agree && same_kernels(run, file))
        status = reln_checkpoint_restore(file, trainer);
    reln_tensors_destroy(file);
    return status;
}

void task_checkpoint_remove(const TaskRun *run)
{
    char path[TASK_PATH], previous[TASK_PATH + 16];

    for (int part = 0; part < PARTS; part++)
        if (checkpoint_path(run, part, path) == RELN_OK) {
            previous_path(path, previous);
            unlink(path);
            unlink(previous);
        }
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

RelnStatus task_keep(TaskRun *run, const RelnStore *store)
{
    const int count = reln_store_count(store);
    RelnArray *arrays;
    char path[TASK_PATH];
    RelnStatus status;
    int n = 0;

    if (!run->files || reln_comm_rank(run->env->comm) > 0)
        return RELN_OK;
    TRY(task_path(run, "models", "safetensors", path));
    if (!(arrays = calloc((size_t)count + 1, sizeof *arrays)))
        return task_nomem(run->env);
    for (int i = 0; i < count; i++) {
        const RelnEntryInfo entry = reln_store_entry(store, i);
        if (entry.kind != RELN_ENTRY_MOMENT)
            arrays[n++] = reln_entry_array(&entry);
    }
    const RelnMetaItem items[] = {{"settings", run->files->settings}, {"program", task_program()}};
    status = reln_tensors_save(run->env->ctx, path, n, arrays, &(RelnMeta){2, items});
    free(arrays);
    return status;
}
