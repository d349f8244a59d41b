/* runner.c -- see runner.h: lists the runs of a call, makes the missing ones, and saves all results. */
#include "tasks/runner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "kit/comm.h"
#include "tasks/files.h"

/* ---- the request ------------------------------------------------------------------------------------------------- */

static RelnStatus fail_value(TaskCall *call, const TaskOption *o, const char *value)
{
    char words[160];
    size_t used = 0;

    for (int i = 0; i < o->n_words && used < sizeof words; i++)
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", i > 0 ? "|" : "",
                                 task_word(o, i));
    return task_fail(&call->env, RELN_ERR_ARG, "--%s is '%.40s'; wanted one of %s", o->name, value,
                     words);
}

static RelnStatus check_values(TaskCall *call)
{
    const Task *task = call->env.task;

    for (int i = 0; i < task->n_options; i++) {
        const TaskOption *o = &task->options[i];
        const char *value = call->request->values[i];

        call->env.values[i] = value;
        if (value && o->n_words > 0 && task_choice(&call->env, o->name) < 0)
            return fail_value(call, o, value);
        if (value && o->file)
            TRY(task_fingerprint(&call->env, i));
    }
    return RELN_OK;
}

static RelnStatus add_model(TaskCall *call, const char *name, size_t length)
{
    const Task *task = call->env.task;
    char word[64];

    snprintf(word, sizeof word, "%.*s", (int)length, name);
    const TaskModel *model = task_model(task, word);
    if (!model || length >= sizeof word)
        return task_fail(&call->env, RELN_ERR_ARG,
                         "%s has no model '%s'; reln reproduce %s --help lists them", task->name,
                         word, task->name);
    for (int i = 0; i < call->n_models; i++)
        if (call->models[i] == model)
            return RELN_OK;
    call->models[call->n_models++] = model;
    return RELN_OK;
}

static RelnStatus choose_models(TaskCall *call)
{
    const Task *task = call->env.task;
    const char *list = call->request->models;

    call->models = calloc((size_t)task->n_models, sizeof *call->models);
    if (!call->models)
        return task_nomem(&call->env);
    for (int i = 0; !list && i < task->n_models; i++)
        if (task->models[i].from <= call->env.scale &&
            (!task->wanted || task->wanted(&call->env, &task->models[i])))
            call->models[call->n_models++] = &task->models[i];
    while (list) {
        const size_t length = strcspn(list, ",");
        TRY(add_model(call, list, length));
        list = list[length] == ',' ? list + length + 1 : NULL;
    }
    if (call->n_models == 0)
        return task_fail(&call->env, RELN_ERR_ARG, "%s has no models for scale %s", task->name,
                         task_scale_text(call->env.scale));
    return RELN_OK;
}

static RelnStatus make_runs(TaskCall *call)
{
    const TaskRequest *r = call->request;
    const uint64_t first = r->first_seed > 0 ? r->first_seed : 1;

    call->n_seeds = r->seeds > 0 ? r->seeds : call->env.task->seeds[r->scale];
    call->runs = calloc((size_t)(call->n_models * call->n_seeds), sizeof *call->runs);
    if (!call->runs)
        return task_nomem(&call->env);
    for (int i = 0; i < call->n_models * call->n_seeds; i++) {
        TaskRun *run = &call->runs[i];
        *run = (TaskRun){.env = &call->env,
                         .model = call->models[i / call->n_seeds],
                         .seed = first + (uint64_t)(i % call->n_seeds)};
        for (int m = 0; m < TASK_METRICS; m++)
            run->metrics[m] = (double)NAN;
    }
    return RELN_OK;
}

static RelnStatus make_folders(TaskCall *call)
{
    static const char *const parts[] = {"", "/runs", "/models"};
    char path[TASK_PATH];

    for (int i = 0; i < 3; i++) {
        if (snprintf(path, sizeof path, "%s%s", call->request->out, parts[i]) >= TASK_PATH - 128)
            return task_fail(&call->env, RELN_ERR_ARG, "the name of the folder is too long");
        TRY(reln_folder_make(call->env.ctx, path));
    }
    return RELN_OK;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* Calls f with the file names of a run. */
static RelnStatus with_files(TaskCall *call, TaskRun *run, RelnStatus (*f)(TaskRun *, const void *),
                             const void *data)
{
    TaskFiles files = {.folder = call->request->out, .watch = &call->request->watch};
    char *text = task_settings_text(run);
    RelnStatus status;

    if (!text)
        return task_nomem(&call->env);
    files.settings = text;
    run->files = &files;
    status = f(run, data);
    run->files = NULL;
    free(text);
    return status;
}

static RelnStatus look_up(TaskRun *run, const void *data)
{
    (void)data;
    return task_record_load(run);
}

static RelnStatus make(TaskRun *run, const void *data)
{
    TRY(task_run_on(run, data));
    if (reln_comm_rank(run->env->comm) > 0) {
        run->done = true;
        return RELN_OK;
    }
    TRY(task_record_save(run));
    task_checkpoint_remove(run);
    return RELN_OK;
}

/* All models of the first seed come first, so that a complete table exists early. */
TaskRun *task_run_at(const TaskCall *call, int i)
{
    const int m = i % call->n_models, s = i / call->n_models;

    return s < call->n_seeds ? &call->runs[m * call->n_seeds + s] : NULL;
}

RelnStatus task_run_find(TaskCall *call, TaskRun *run)
{
    return with_files(call, run, look_up, NULL);
}

/* Makes a run. Its status decides whether it was stopped: a run that failed, or that ended in spite of a
 * request to stop, was not. */
RelnStatus task_run_make(TaskCall *call, TaskRun *run, const void *data)
{
    const RelnStatus status = with_files(call, run, make, data);

    run->stopped = status == RELN_ERR_STOPPED;
    return status;
}

RelnStatus task_pool_open(TaskCall *call)
{
    const int threads = call->request->threads / call->jobs;

    return reln_pool_create(call->env.ctx, threads > 0 ? threads : 1, &call->env.pool);
}

RelnStatus task_save(const TaskCall *call)
{
    if (!call->writes)
        return RELN_OK;
    TRY(task_results_save(call));
    return task_page_save(call);
}

static RelnStatus find_all(TaskCall *call)
{
    for (int i = 0; task_run_at(call, i); i++)
        TRY(task_run_find(call, task_run_at(call, i)));
    return RELN_OK;
}

static int count_done(const TaskCall *call)
{
    int n = 0;

    for (int i = 0; task_run_at(call, i); i++)
        n += task_run_at(call, i)->done;
    return n;
}

/* Makes the missing runs, and saves the table after each. */
static RelnStatus make_missing(TaskCall *call, const void *data, bool *stopped)
{
    const int n_parts = call->request->comm ? call->request->n_parts : 1;
    TaskRun *run;
    int missing = 0;

    TRY(task_pool_open(call));
    for (int i = 0; (run = task_run_at(call, i)); i++) {
        const bool ours = !run->done && missing++ % n_parts == call->request->part;
        const RelnStatus status = ours ? task_run_make(call, run, data) : RELN_OK;

        *stopped = run->stopped;
        if (run->stopped)
            return RELN_OK;
        TRY(status);
        TRY(task_save(call));
    }
    return RELN_OK;
}

/* Checks that all ranks have found the same runs; otherwise they would wait for each other in different
 * ones. */
static RelnStatus compare(TaskCall *call)
{
    static const char *const names[] = {"programs", "finished runs in the folder"};
    uint64_t numbers[2] = {reln_hash(RELN_HASH_SEED, task_program(), strlen(task_program())),
                           RELN_HASH_SEED};

    for (int i = 0; task_run_at(call, i); i++)
        numbers[1] = reln_hash(numbers[1], &task_run_at(call, i)->done, sizeof(bool));
    TRY(reln_comm_agree(call->request->comm, call->env.ctx, RELN_OK));
    return reln_comm_same(call->request->comm, call->env.ctx, 2, numbers, names);
}

/* Returns whether the data are to be written to a folder, which needs them also if all runs are finished. */
static bool is_saving(const TaskCall *call)
{
    const Task *task = call->env.task;

    for (int i = 0; i < task->n_options; i++)
        if (task->options[i].output && call->env.values[i])
            return true;
    return false;
}

static RelnStatus run_all(TaskCall *call, TaskOutcome *outcome)
{
    const Task *task = call->env.task;
    int n_missing;
    void *data = NULL;
    RelnStatus status;

    TRY(find_all(call));
    TRY(compare(call));
    outcome->found = count_done(call);
    n_missing = call->n_models * call->n_seeds - outcome->found;
    if (call->request->finished && outcome->found == 0)
        return task_fail(&call->env, RELN_ERR_ARG, "no run of %s with these settings is finished",
                         task->name);
    if (call->request->finished || (n_missing == 0 && !is_saving(call)))
        return RELN_OK;
    call->jobs = call->request->jobs < n_missing ? call->request->jobs : n_missing;
    call->jobs = call->jobs > 0 && !call->request->comm ? call->jobs : 1; /* ranks do not fork */
    status = task->prepare(&call->env, &data);
    if (status == RELN_OK && call->jobs > 1)
        status = task_make_together(call, n_missing, data, &outcome->stopped);
    else if (status == RELN_OK)
        status = make_missing(call, data, &outcome->stopped);
    task_release(&call->env);
    return status;
}

static RelnStatus finish(TaskCall *call, const TaskOutcome *outcome)
{
    TRY(task_save(call));
    return outcome->stopped ? RELN_OK : task_results_print(call);
}

static RelnStatus reproduce(TaskCall *call, TaskOutcome *outcome)
{
    TRY(check_values(call));
    TRY(choose_models(call));
    TRY(make_runs(call));
    if (call->writes) {
        TRY(make_folders(call));
        TRY(reln_folder_lock(call->env.ctx, call->request->out, &call->lock));
    }
    return run_all(call, outcome);
}

/* Returns the status on which all ranks agree, with the message of the rank that failed. */
static RelnStatus agree(TaskCall *call, const RelnComm *comm, RelnStatus status)
{
    TaskEnv *env = &call->env;

    if (status != RELN_OK && status != RELN_ERR_STOPPED && !reln_ctx_shared(env->ctx) &&
        env->message[0])
        (void)reln_fail(env->ctx, status, "%s", env->message);
    env->message[0] = '\0';
    return reln_comm_agree(comm, env->ctx, status);
}

/* Ranks of a part end together, then all parts; then the tables are made from all results. */
static RelnStatus end_together(TaskCall *call, RelnStatus status, TaskOutcome *outcome)
{
    const TaskRequest *r = call->request;

    status = agree(call, r->part_comm, status);
    if (status != RELN_OK) /* the other parts do not know of the failure */
        (void)reln_fail(call->env.ctx, status, "%.*s", TASK_MESSAGE - 1,
                        reln_ctx_error(call->env.ctx));
    if (r->n_parts > 1)
        status =
            agree(call, r->comm, status == RELN_OK && outcome->stopped ? RELN_ERR_STOPPED : status);
    outcome->stopped = outcome->stopped || status == RELN_ERR_STOPPED;
    status = status == RELN_ERR_STOPPED ? RELN_OK : status;
    if (status == RELN_OK && call->writes && r->n_parts > 1)
        status = find_all(call);
    return status;
}

static RelnStatus reproduce_together(TaskCall *call, TaskOutcome *outcome)
{
    const bool alone = !call->request->comm;
    RelnStatus status = reproduce(call, outcome);

    if (!alone)
        status = end_together(call, status, outcome);
    TRY(status);
    outcome->runs = count_done(call);
    status = call->writes ? finish(call, outcome) : RELN_OK;
    return alone ? status : agree(call, call->request->comm, status);
}

static void call_clear(TaskCall *call)
{
    for (int i = 0; call->runs && i < call->n_models * call->n_seeds; i++)
        task_run_clear(&call->runs[i]);
    free(call->runs);
    free(call->models);
    reln_pool_destroy(call->env.pool);
    reln_folder_unlock(call->lock);
}

RelnStatus task_reproduce(RelnCtx *ctx, const TaskRequest *request, TaskOutcome *outcome)
{
    TaskCall call = {.request = request,
                     .env = {.ctx = ctx,
                             .task = request->task,
                             .scale = request->scale,
                             .comm = request->part_comm,
                             .reference = request->reference},
                     .writes = reln_comm_rank(request->comm) == 0};
    RelnStatus status;

    *outcome = (TaskOutcome){0};
    status = reproduce_together(&call, outcome);
    if (status != RELN_OK)
        snprintf(outcome->message, sizeof outcome->message, "%s",
                 call.env.message[0] ? call.env.message : reln_ctx_error(ctx));
    call_clear(&call);
    return status;
}
