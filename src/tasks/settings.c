/* settings.c -- the settings that decide a run's result: writes them from the tables of their fields, and
 * compares them with those in a file. */
#include "tasks/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/sha256.h"
#include "tasks/files.h"

const char *const task_form_words[] = {[RELN_FORM_COMPLETED] = "completed",
                                       [RELN_FORM_NO_CENTER] = "no-center",
                                       [RELN_FORM_NO_SEMISIMPLE] = "no-semisimple",
                                       [RELN_FORM_DEFINITE] = "definite",
                                       [RELN_FORM_TRACE] = "trace",
                                       NULL};
const char *const task_dtype_words[] = {
    [RELN_DEFAULT] = "default", [RELN_F32] = "f32", [RELN_F64] = "f64", NULL};
const char *const task_activation_words[] = {
    [RELN_ACT_RELU] = "relu",         [RELN_ACT_SILU] = "silu", [RELN_ACT_TANH] = "tanh",
    [RELN_ACT_SOFTPLUS] = "softplus", [RELN_ACT_NONE] = "none", NULL};

/* ---- options ----------------------------------------------------------------------------------------------------- */

const char *task_word(const TaskOption *option, int i)
{
    if (i < 0 || i >= option->n_words)
        return NULL;
    return *(const char *const *)(const void *)((const char *)option->words +
                                                (size_t)i * option->stride);
}

static int option_index(const TaskEnv *env, const char *name)
{
    for (int i = 0; i < env->task->n_options; i++)
        if (strcmp(env->task->options[i].name, name) == 0)
            return i;
    return -1;
}

const char *task_option(const TaskEnv *env, const char *name)
{
    const int i = option_index(env, name);

    if (i < 0 || env->values[i])
        return i < 0 ? NULL : env->values[i];
    return task_word(&env->task->options[i], env->task->options[i].otherwise);
}

int task_choice(const TaskEnv *env, const char *name)
{
    const char *value = task_option(env, name);
    const int i = option_index(env, name);

    for (int w = 0; value && w < env->task->options[i].n_words; w++)
        if (strcmp(value, task_word(&env->task->options[i], w)) == 0)
            return w;
    return -1;
}

const char *const task_drawings_words[2] = {"yes", "no"};

bool task_draws(const TaskEnv *env)
{
    return task_choice(env, "drawings") == 0;
}

RelnStatus task_fingerprint(TaskEnv *env, int i)
{
    if (reln_folder_exists(env->values[i]))
        return reln_sha256_folder(env->ctx, env->values[i], env->fingerprints[i]);
    return reln_sha256_file(env->ctx, env->values[i], env->fingerprints[i]);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

const void *task_scale(const TaskEnv *env)
{
    return (const char *)env->task->scales + (size_t)env->scale * env->task->scale_fields.size;
}

/* Writes an option. A file is identified by its fingerprint, not by its path. */
static void put_option(const TaskEnv *env, int i, RelnDoc *doc, RelnDocNode *map)
{
    const TaskOption *option = &env->task->options[i];
    const char *value =
        option->file ? env->fingerprints[i] : task_option(env, env->task->options[i].name);

    reln_doc_set_text(doc, map, option->name,
                      value && !option->output && !option->shown ? value : "");
}

RelnDocNode *task_settings(const TaskRun *run, RelnDoc *doc)
{
    const TaskEnv *env = run->env;
    const Task *task = env->task;
    RelnDocNode *map = reln_doc_map(doc);

    reln_doc_set_text(doc, map, "task", task->name);
    reln_doc_set_text(doc, map, "scale", task_scale_text(env->scale));
    reln_doc_set_text(doc, map, "model", run->model->name);
    reln_doc_set_number(doc, map, "seed", (double)run->seed);
    if (env->reference) /* left out otherwise, so that records from before there was a choice stay valid */
        reln_doc_set_text(doc, map, "kernels", reln_kernels_text(true));
    for (int i = 0; i < task->n_options; i++)
        put_option(env, i, doc, map);
    if (task->scale_fields.section)
        reln_keys_write(doc, map, task->scale_fields.section, task_scale(env));
    if (task->row_fields.section)
        reln_keys_write(doc, map, task->row_fields.section, run->model->settings);
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

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* Returns whether two values are equal. Numbers are compared as numbers: they are written with enough
 * digits. */
static bool same_value(const RelnDocNode *a, const RelnDocNode *b)
{
    const RelnDocNode *x = a->first, *y = b->first;

    if (a->kind != b->kind || a->count != b->count || a->truth != b->truth)
        return false;
    if (a->kind == RELN_DOC_NUMBER)
        return a->number == b->number;
    if (a->kind == RELN_DOC_TEXT)
        return strcmp(a->text, b->text) == 0;
    for (; x && y; x = x->next, y = y->next)
        if (!same_value(x, y))
            return false;
    return true;
}

static const char *before_in(const struct Section *section, const char *name)
{
    for (int i = 0; section && i < section->n_keys; i++)
        if (section->keys[i].kind != KEY_PADDING && strcmp(section->keys[i].name, name) == 0)
            return section->keys[i].before;
    return NULL;
}

/* Returns the JSON of the value that was fixed in the code before this was a setting; NULL: none. */
static const char *before_of(const Task *task, const char *name)
{
    const char *before = before_in(task->scale_fields.section, name);

    /* An option that takes any text or a file and that a record lacks was not given then; others may be empty anyway. */
    for (int i = 0; i < task->n_options; i++)
        if ((task->options[i].n_words == 0 || task->options[i].shown) &&
            strcmp(task->options[i].name, name) == 0)
            return "\"\"";
    return before ? before : before_in(task->row_fields.section, name);
}

/* Returns whether a setting that a record lacks has the value that the program had in its code at that
 * time. */
static bool is_as_before(const TaskRun *run, const RelnDocNode *wanted)
{
    const char *before = before_of(run->env->task, wanted->key);
    RelnDoc *doc = NULL;
    bool same = false;

    if (before &&
        reln_doc_parse_json(run->env->ctx, before, strlen(before), "before", &doc) == RELN_OK)
        same = same_value(wanted, reln_doc_root(doc));
    reln_doc_destroy(doc);
    return same;
}

/* Returns whether a setting that the record lacks makes no difference. */
static bool stands(const TaskRun *run, RelnDoc *doc, const RelnDocNode *wanted,
                   RelnDocNode *assumed)
{
    if (before_of(run->env->task, wanted->key))
        return is_as_before(run, wanted);
    if (assumed)
        reln_doc_set_text(doc, assumed, NULL, wanted->key);
    return assumed != NULL;
}

static bool match(const TaskRun *run, RelnDoc *doc, const RelnDocNode *wanted,
                  const RelnDocNode *recorded, RelnDocNode *assumed)
{
    int known = 0;

    if (!recorded || recorded->kind != RELN_DOC_MAP)
        return false;
    for (const RelnDocNode *w = wanted->first; w; w = w->next) {
        const RelnDocNode *r = reln_doc_get(recorded, w->key);

        if (r ? !same_value(w, r) : !stands(run, doc, w, assumed))
            return false;
        known += r != NULL;
    }
    return known == recorded->count; /* a removed setting belongs to another experiment */
}

RelnStatus task_settings_match(const TaskRun *run, RelnDoc *doc, const RelnDocNode *wanted,
                               const RelnDocNode *recorded, RelnDocNode *assumed, bool *out)
{
    *out = wanted && match(run, doc, wanted, recorded, assumed);
    return wanted && reln_doc_write(doc, wanted, RELN_DOC_ONE_LINE) ? RELN_OK
                                                                    : task_nomem(run->env);
}

RelnStatus task_settings_agree(const TaskRun *run, const char *text, bool old, bool *agree)
{
    RelnDoc *doc = NULL, *mine = NULL;
    RelnStatus status = reln_doc_parse_json(run->env->ctx, text, strlen(text), "settings", &doc);

    if (status == RELN_OK)
        status = reln_doc_create(run->env->ctx, &mine);
    if (status == RELN_OK) {
        RelnDocNode *wanted = task_settings(run, mine), *assumed = reln_doc_list(mine);

        status =
            task_settings_match(run, mine, wanted, reln_doc_root(doc), old ? assumed : NULL, agree);
    }
    reln_doc_destroy(mine);
    reln_doc_destroy(doc);
    return status;
}
