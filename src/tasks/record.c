/* record.c -- saves a finished run as a file: its settings and its results. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/comm.h"
#include "tasks/files.h"

RelnStatus task_path(const TaskRun *run, const char *kind, const char *ending, char path[TASK_PATH])
{
    const int n = snprintf(path, TASK_PATH, "%s/%s/%s-%llu.%s", run->files->folder, kind,
                           run->model->name, (unsigned long long)run->seed, ending);

    if (n >= TASK_PATH)
        return task_fail(run->env, RELN_ERR_ARG, "the name of the folder has more than %d bytes",
                         TASK_PATH - 64);
    return RELN_OK;
}

RelnStatus task_file(TaskRun *run, const char *kind, const char *ending, char path[TASK_PATH])
{
    path[0] = '\0';
    if (!run->files || reln_comm_rank(run->env->comm) > 0)
        return RELN_OK;
    if (snprintf(path, TASK_PATH, "%s/%s", run->files->folder, kind) < TASK_PATH)
        TRY(reln_folder_make(run->env->ctx, path));
    return task_path(run, kind, ending, path);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void put_numbers(RelnDoc *doc, RelnDocNode *map, const char *key, ptrdiff_t n,
                        const double *x)
{
    RelnDocNode *list = reln_doc_set(doc, map, key, reln_doc_list(doc));

    for (ptrdiff_t i = 0; i < n; i++)
        reln_doc_set_number(doc, list, NULL, x[i]);
}

static void put_curves(RelnDoc *doc, RelnDocNode *map, const TaskCurve *curve)
{
    RelnDocNode *curves = reln_doc_set(doc, map, "curves", reln_doc_map(doc));

    for (; curve; curve = curve->next) {
        RelnDocNode *one = reln_doc_set(doc, curves, curve->name, reln_doc_map(doc));
        put_numbers(doc, one, "x", curve->n, curve->x);
        put_numbers(doc, one, "y", curve->n, curve->y);
    }
}

RelnStatus task_record_save(TaskRun *run)
{
    const Task *task = run->env->task;
    char path[TASK_PATH];
    RelnDoc *doc = NULL;
    RelnDocNode *root, *metrics;
    RelnStatus status;

    TRY(task_path(run, "runs", "json", path));
    TRY(reln_doc_create(run->env->ctx, &doc));
    snprintf(run->program, sizeof run->program, "%s", task_program());
    root = reln_doc_root_map(doc);
    reln_doc_set(doc, root, "settings", task_settings(run, doc));
    reln_doc_set_text(doc, root, "program", run->program);
    reln_doc_set_text(doc, root, "kernels", reln_kernels_text(run->env->reference));
    reln_doc_set_number(doc, root, "params", (double)run->params);
    reln_doc_set_number(doc, root, "params_used", (double)run->params_used);
    reln_doc_set_number(doc, root, "seconds", run->seconds);
    reln_doc_set_bool(doc, root, "diverged", run->diverged);
    metrics = reln_doc_set(doc, root, "metrics", reln_doc_map(doc));
    for (int i = 0; i < task->n_metrics; i++)
        reln_doc_set_number(doc, metrics, task->metrics[i].name, run->metrics[i]);
    put_curves(doc, root, run->curves);
    status = reln_doc_save(doc, root, path);
    reln_doc_destroy(doc);
    run->done = status == RELN_OK;
    return status;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static RelnStatus take_curve(TaskRun *run, const RelnDocNode *curve)
{
    const RelnDocNode *x = reln_doc_get(curve, "x"), *y = reln_doc_get(curve, "y");

    x = x ? x->first : NULL;
    y = y ? y->first : NULL;
    for (; x && y; x = x->next, y = y->next)
        TRY(task_curve(run, curve->key, x->kind == RELN_DOC_NUMBER ? x->number : (double)NAN,
                       y->kind == RELN_DOC_NUMBER ? y->number : (double)NAN));
    return RELN_OK;
}

static RelnStatus take(TaskRun *run, const RelnDocNode *root)
{
    const Task *task = run->env->task;
    const RelnDocNode *metrics = reln_doc_get(root, "metrics"),
                      *curves = reln_doc_get(root, "curves"),
                      *diverged = reln_doc_get(root, "diverged");

    run->params = (size_t)fmax(0, reln_doc_number(root, "params", 0));
    run->params_used = (size_t)fmax(0, reln_doc_number(root, "params_used", 0));
    run->seconds = reln_doc_number(root, "seconds", (double)NAN);
    snprintf(run->program, sizeof run->program, "%s", reln_doc_text(root, "program", ""));
    run->diverged = diverged && diverged->truth;
    for (int i = 0; i < task->n_metrics; i++) {
        const RelnDocNode *value = reln_doc_get(metrics, task->metrics[i].name);
        run->metrics[i] = value && value->kind == RELN_DOC_NUMBER ? value->number : (double)NAN;
    }
    for (const RelnDocNode *c = curves ? curves->first : NULL; c; c = c->next)
        TRY(take_curve(run, c));
    run->done = true;
    return RELN_OK;
}

/* Converts a record of the previous format, which named no program and not all settings: settings that it
 * lacks are listed as assumed, and every other item is copied. */
static RelnStatus renew(RelnDoc *doc, RelnDocNode *settings, RelnDocNode *assumed, const char *path)
{
    const RelnDocNode *old = reln_doc_root(doc);
    RelnDocNode *root = reln_doc_map(doc);

    reln_doc_set(doc, root, "settings", settings);
    reln_doc_set(doc, root, "assumed", assumed);
    reln_doc_set_text(doc, root, "program", reln_doc_text(old, "version", "unknown"));
    for (const RelnDocNode *item = old->first; item; item = item->next)
        if (strcmp(item->key, "settings") != 0 && strcmp(item->key, "version") != 0)
            reln_doc_set(doc, root, item->key, reln_doc_copy(doc, item));
    return reln_doc_save(doc, root, path);
}

static RelnStatus load(TaskRun *run, RelnDoc *doc, const char *path)
{
    const RelnDocNode *root = reln_doc_root(doc);
    const bool old = reln_doc_get(root, "program") == NULL;
    RelnDocNode *wanted = task_settings(run, doc), *assumed = reln_doc_list(doc);

    bool valid = false;

    TRY(task_settings_match(run, doc, wanted, reln_doc_get(root, "settings"), old ? assumed : NULL,
                            &valid));
    if (!valid)
        return RELN_OK;
    TRY(take(run, root));
    return old ? renew(doc, wanted, assumed, path) : RELN_OK;
}

RelnStatus task_record_load(TaskRun *run)
{
    char path[TASK_PATH];
    RelnDoc *doc = NULL;
    RelnStatus status;

    TRY(task_path(run, "runs", "json", path));
    if (!reln_file_exists(path))
        return RELN_OK;
    TRY(reln_doc_load(run->env->ctx, path, &doc));
    status = load(run, doc, path);
    reln_doc_destroy(doc);
    return status;
}
