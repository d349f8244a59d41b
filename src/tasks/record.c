/* record.c -- a finished run as a file: what it was asked for, and what came out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- settings ---------------------------------------------------------------------------------------------------- */

RelnDocNode *task_settings(const TaskRun *run, RelnDoc *doc)
{
    const Task *task = run->env->task;
    RelnDocNode *map = reln_doc_map(doc);

    reln_doc_set_text(doc, map, "task", task->name);
    reln_doc_set_text(doc, map, "scale", task_scale_text(run->env->scale));
    reln_doc_set_text(doc, map, "model", run->model->name);
    reln_doc_set_number(doc, map, "seed", (double)run->seed);
    for (int i = 0; i < task->n_options; i++)
        reln_doc_set_text(doc, map, task->options[i].name,
                          task_option(run->env, task->options[i].name));
    task->describe(run->env, run->model, doc, map);
    return map;
}

char *task_settings_text(const TaskRun *run)
{
    RelnDoc *doc = NULL;
    const char *text = NULL;
    char *copy = NULL;

    if (reln_doc_create(run->env->ctx, &doc) == RELN_OK)
        text = reln_doc_write(doc, task_settings(run, doc), RELN_DOC_ONE_LINE);
    if (text)
        copy = strdup(text);
    reln_doc_destroy(doc);
    return copy;
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
    root = reln_doc_root_map(doc);
    reln_doc_set(doc, root, "settings", task_settings(run, doc));
    reln_doc_set_text(doc, root, "version", reln_version());
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

RelnStatus task_record_load(TaskRun *run)
{
    char path[TASK_PATH];
    RelnDoc *doc = NULL;
    const RelnDocNode *settings;
    const char *text;
    RelnStatus status = RELN_OK;

    TRY(task_path(run, "runs", "json", path));
    if (!reln_file_exists(path))
        return RELN_OK;
    TRY(reln_doc_load(run->env->ctx, path, &doc));
    settings = reln_doc_get(reln_doc_root(doc), "settings");
    text = settings ? reln_doc_write(doc, settings, RELN_DOC_ONE_LINE) : NULL;
    if (text && strcmp(text, run->files->settings) == 0)
        status = take(run, reln_doc_root(doc));
    reln_doc_destroy(doc);
    return status;
}
