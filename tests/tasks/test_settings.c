/* Tests the tables of settings: no field is missing, and changing a field invalidates a finished run and its
 * checkpoint. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/support.h"
#include "tasks/files.h"
#include "tasks/gln/gln.h"
#include "tasks/settings.h"

/* ---- every task ---------------------------------------------------------------------------------------------------- */

static void sizes_add_up(const TaskFields *fields, const char *task)
{
    if (fields->section && reln_keys_size(fields->section) != (ptrdiff_t)fields->size)
        fail_msg("%s: the fields of %s have %td bytes, the struct %zu", task, fields->section->name,
                 reln_keys_size(fields->section), fields->size);
}

static void no_field_is_missing_in_a_table(void **state)
{
    (void)state;
    for (int i = 0; i < task_count(); i++) {
        sizes_add_up(&task_at(i)->scale_fields, task_at(i)->name);
        sizes_add_up(&task_at(i)->row_fields, task_at(i)->name);
        assert_non_null(task_at(i)->scale_fields.section);
        assert_non_null(task_at(i)->row_fields.section);
    }
}

static bool has_name(const Section *s, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (s->keys[i].kind != KEY_PADDING && strcmp(s->keys[i].name, name) == 0)
            return true;
    return false;
}

static void names_of_settings_are_unique(void **state)
{
    (void)state;
    for (int t = 0; t < task_count(); t++) {
        const Section *scale = task_at(t)->scale_fields.section,
                      *row = task_at(t)->row_fields.section;

        for (int i = 0; i < row->n_keys; i++) {
            assert_false(has_name(row, i, row->keys[i].name));
            assert_false(has_name(scale, scale->n_keys, row->keys[i].name));
        }
        for (int i = 0; i < scale->n_keys; i++)
            assert_false(has_name(scale, i, scale->keys[i].name));
    }
}

/* ---- a run that is finished ------------------------------------------------------------------------------------------ */

/* A copy of a task with one row and one scale, whose settings can be changed. */
typedef struct Copy {
    TaskEnv env;
    Task task;
    TaskModel model;
    TaskRun run;
    TaskFiles files;
    TaskWatch watch;
    char folder[64];
    char *scales, *row;
} Copy;

static void copy_init(Copy *c, const Task *task, const TaskModel *model)
{
    memset(c, 0, sizeof *c);
    c->task = *task;
    c->model = *model;
    c->scales = malloc(task->scale_fields.size);
    c->row = malloc(task->row_fields.size);
    assert_true(c->scales && c->row);
    memcpy(c->scales, task->scales, task->scale_fields.size);
    memcpy(c->row, model->settings, task->row_fields.size);
    c->task.scales = c->scales;
    c->model.settings = c->row;
    c->env = (TaskEnv){.task = &c->task, .scale = TASK_SMOKE};
    assert_int_equal(reln_ctx_create(NULL, &c->env.ctx), RELN_OK);
    strcpy(c->folder, "/tmp/reln-settings-XXXXXX");
    assert_non_null(mkdtemp(c->folder));
    c->files = (TaskFiles){.folder = c->folder, .watch = &c->watch};
    c->run = (TaskRun){.env = &c->env, .model = &c->model, .seed = 1, .files = &c->files};
}

static void copy_clear(Copy *c)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", c->folder);
    assert_int_equal(system(command), 0);
    reln_ctx_destroy(c->env.ctx);
    free(c->scales);
    free(c->row);
}

/* Changes the value of a field; returns false for padding. */
static bool change(const Key *key, char *base)
{
    void *field = base + key->at;

    switch (key->kind) {
    case KEY_WHOLE:
        *(int *)field += 1;
        return true;
    case KEY_NUMBER:
    case KEY_NUMBERS:
        *(double *)field = *(double *)field * (1 + 0x1p-52) + 1e-300;
        return true;
    case KEY_FLAG:
        *(bool *)field = !*(bool *)field;
        return true;
    case KEY_WORD:
        *(int *)field = key->words[*(int *)field + 1] ? *(int *)field + 1 : 0;
        return true;
    case KEY_TEXT:
        memcpy(field, strcmp(field, "x") == 0 ? "y" : "x", 2);
        return true;
    default:
        return false;
    }
}

static bool is_taken(Copy *c)
{
    c->run.done = false;
    assert_ok(c->env.ctx, task_record_load(&c->run));
    task_run_clear(&c->run);
    c->run.curves = NULL;
    return c->run.done;
}

/* Returns whether a checkpoint with this text can be resumed; `old`: written by a program that did not record
 * its version. */
static bool is_gone_on_from(Copy *c, const char *settings, bool old)
{
    bool agree = false;

    assert_ok(c->env.ctx, task_settings_agree(&c->run, settings, old, &agree));
    return agree;
}

static void change_every_field(Copy *c, const TaskFields *fields, char *base, const char *settings)
{
    char *before = malloc(fields->size);

    assert_non_null(before);
    memcpy(before, base, fields->size);
    for (int i = 0; i < fields->section->n_keys; i++) {
        if (change(&fields->section->keys[i], base)) {
            const bool text = fields->section->keys[i].kind == KEY_TEXT; /* "" is not written */

            if (is_taken(c) || is_gone_on_from(c, settings, false) ||
                (!text && is_gone_on_from(c, settings, true)))
                fail_msg("%s, %s: %s was changed, and nothing was seen", c->task.name,
                         c->model.name, fields->section->keys[i].name);
            memcpy(base, before, fields->size);
        }
    }
    assert_true(is_taken(c) && is_gone_on_from(c, settings, false));
    free(before);
}

static void check_row(const Task *task, const TaskModel *model)
{
    char *settings, path[128];
    Copy c;

    copy_init(&c, task, model);
    snprintf(path, sizeof path, "%s/runs", c.folder);
    assert_ok(c.env.ctx, reln_folder_make(c.env.ctx, path));
    settings = task_settings_text(&c.run);
    assert_non_null(settings);
    assert_ok(c.env.ctx, task_record_save(&c.run));
    change_every_field(&c, &c.task.scale_fields, c.scales, settings);
    change_every_field(&c, &c.task.row_fields, c.row, settings);
    free(settings);
    copy_clear(&c);
}

static void a_change_of_any_field_of_any_row_is_another_run(void **state)
{
    (void)state;
    for (int t = 0; t < task_count(); t++)
        for (int m = 0; m < task_at(t)->n_models; m++)
            check_row(task_at(t), &task_at(t)->models[m]);
}

/* A setting that no longer exists decided the old result, so the record is not valid. */
static void a_setting_that_is_gone_is_another_run(void **state)
{
    Copy c;
    char *settings, more[8192];

    (void)state;
    copy_init(&c, task_find("sp4"), &task_find("sp4")->models[0]);
    settings = task_settings_text(&c.run);
    assert_non_null(settings);
    assert_true(is_gone_on_from(&c, settings, false));
    assert_int_equal(settings[0], '{');
    assert_true(snprintf(more, sizeof more, "{\"momentum\": 0.9, %s", settings + 1) <
                (int)sizeof more);
    assert_false(is_gone_on_from(&c, more, false));
    assert_false(is_gone_on_from(&c, more, true));
    free(settings);
    copy_clear(&c);
}

/* The record was written by a program that recorded its version and did not have this setting. */
static void a_record_from_before_a_setting_is_good_while_the_setting_is_as_before(void **state)
{
    typedef struct Row {
        double rate, spread;
    } Row;
    static const Row row = {1e-3, 0.5};
    const Key keys[] = {TASK_NUMBER(Row, rate), TASK_NUMBER_BEFORE(Row, spread, "0.5")};
    const Section known = {"Row", keys, 2}, unknown = {"Row", keys, 1};
    Task task = *task_find("bch");
    TaskModel model = task.models[0];
    char *then;
    Copy c;

    (void)state;
    task.row_fields = (TaskFields){&unknown, sizeof row};
    model.settings = &row;
    copy_init(&c, &task, &model);
    then = task_settings_text(&c.run);
    assert_non_null(then);
    assert_null(strstr(then, "spread"));
    c.task.row_fields.section = &known;
    assert_true(is_gone_on_from(&c, then, false) && is_gone_on_from(&c, then, true));
    ((Row *)(void *)c.row)->spread = 0.25;
    assert_false(is_gone_on_from(&c, then, false) || is_gone_on_from(&c, then, true));
    ((Row *)(void *)c.row)->spread = 0.5;
    ((Row *)(void *)c.row)->rate = 1e-2;
    assert_false(is_gone_on_from(&c, then, false));
    free(then);
    copy_clear(&c);
}

/* The value `before` of a key is a valid value of the key. */
static void values_of_before_are_json(void **state)
{
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (int t = 0; t < task_count(); t++)
        for (int part = 0; part < 2; part++) {
            const Section *s =
                part ? task_at(t)->row_fields.section : task_at(t)->scale_fields.section;

            for (int i = 0; i < s->n_keys; i++)
                if (s->keys[i].before) {
                    RelnDoc *doc = NULL;

                    assert_ok(ctx, reln_doc_parse_json(ctx, s->keys[i].before,
                                                       strlen(s->keys[i].before), "before", &doc));
                    reln_doc_destroy(doc);
                }
        }
    reln_ctx_destroy(ctx);
}

/* ---- records of the form before --------------------------------------------------------------------------------------- */

/* Writes a record as old programs did: with some settings and "version", without "program". */
static void write_old(const Copy *c, int width)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/runs/%s-1.json", c->folder, c->model.name);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "{\"settings\": {\"task\": \"gln\", \"scale\": \"smoke\", \"model\": \"reln\", "
            "\"seed\": 1, "
            "\"target\": \"trace-product\", \"group\": \"gl:3\", \"width\": %d}, "
            "\"version\": \"0.1.0\", \"params\": 7, \"metrics\": {\"cond_1\": 0.25}}",
            width);
    fclose(file);
}

static void settings_that_a_record_never_had_are_assumed_and_said_to_be(void **state)
{
    const Task *task = task_find("gln");
    const RelnDocNode *assumed;
    char path[128];
    RelnDoc *doc = NULL;
    Copy c;

    (void)state;
    copy_init(&c, task, task_model(task, "reln"));
    snprintf(path, sizeof path, "%s/runs", c.folder);
    assert_ok(c.env.ctx, reln_folder_make(c.env.ctx, path));
    write_old(&c, 25);
    assert_false(is_taken(&c)); /* a setting that it has is another */
    write_old(&c, 24);
    assert_true(is_taken(&c));
    assert_true(c.run.metrics[0] == 0.25 && c.run.params == 7);
    snprintf(path, sizeof path, "%s/runs/reln-1.json", c.folder);
    assert_ok(c.env.ctx, reln_doc_load(c.env.ctx, path, &doc));
    assumed = reln_doc_get(reln_doc_root(doc), "assumed");
    assert_non_null(assumed);
    assert_string_equal(assumed->first->text, "conds");
    assert_string_equal(reln_doc_text(reln_doc_root(doc), "program", ""), "0.1.0");
    assert_null(reln_doc_get(reln_doc_root(doc), "version"));
    assert_true(reln_doc_number(reln_doc_get(reln_doc_root(doc), "settings"), "head", 0) == 32);
    reln_doc_destroy(doc);
    assert_true(is_taken(&c)); /* as it is now */
    ((GlnModel *)(void *)c.row)->head++;
    assert_false(is_taken(&c)); /* and from now on, what was assumed counts */
    copy_clear(&c);
}

/* ---- what a record holds ----------------------------------------------------------------------------------------------- */

/* Every number comes back; one that is not finite, or that the record does not have, is no number rather than 0. */
static void numbers_of_a_record_come_back(void **state)
{
    const Task *task = task_find("gln");
    char path[128];
    TaskRun *run;
    Copy c;

    (void)state;
    copy_init(&c, task, task_model(task, "reln"));
    run = &c.run;
    snprintf(path, sizeof path, "%s/runs", c.folder);
    assert_ok(c.env.ctx, reln_folder_make(c.env.ctx, path));
    run->params = 11;
    run->params_used = 7;
    run->seconds = 2.5;
    run->diverged = true;
    for (int i = 0; i < task->n_metrics; i++)
        run->metrics[i] = i == 1 ? (double)NAN : 0.25 * (i + 1);
    assert_ok(c.env.ctx, task_curve(run, "loss", 1, 0.5));
    assert_ok(c.env.ctx, task_curve(run, "loss", 2, (double)INFINITY));
    assert_ok(c.env.ctx, task_record_save(run));
    assert_true(run->done);
    task_run_clear(run);
    c.run = (TaskRun){.env = &c.env, .model = &c.model, .seed = 1, .files = &c.files};
    assert_ok(c.env.ctx, task_record_load(run));
    assert_true(run->done && run->diverged);
    assert_true(run->params == 11 && run->params_used == 7 && run->seconds == 2.5);
    assert_string_equal(run->program, task_program());
    for (int i = 0; i < task->n_metrics; i++)
        assert_true(i == 1 ? isnan(run->metrics[i]) : run->metrics[i] == 0.25 * (i + 1));
    assert_non_null(task_curve_named(run, "loss"));
    assert_int_equal(task_curve_named(run, "loss")->n, 2);
    assert_true(task_curve_named(run, "loss")->x[1] == 2 &&
                task_curve_named(run, "loss")->y[0] == 0.5);
    assert_true(isnan(task_curve_named(run, "loss")->y[1]));
    task_run_clear(run);
    run->curves = NULL;
    write_old(&c, 24); /* has no seconds, and one metric only */
    run->seconds = 1;
    run->diverged = true;
    assert_true(is_taken(&c));
    assert_true(isnan(run->seconds) && !run->diverged && run->params_used == 0);
    assert_true(run->metrics[0] == 0.25 && isnan(run->metrics[1]));
    copy_clear(&c);
}

/* ---- options ----------------------------------------------------------------------------------------------------------- */

static void a_file_is_known_by_its_content(void **state)
{
    char path[128], *first, *second;
    Task task = *task_find("sp4");
    TaskRun run;
    TaskEnv env = {.task = &task, .scale = TASK_SMOKE};
    FILE *file;

    (void)state;
    task.n_options = 1;
    task.options[0] = (TaskOption){.name = "data", .help = "samples", .file = true};
    assert_int_equal(reln_ctx_create(NULL, &env.ctx), RELN_OK);
    snprintf(path, sizeof path, "/tmp/reln-settings-%d", (int)getpid());
    run = (TaskRun){.env = &env, .model = &task.models[0], .seed = 1};
    env.values[0] = path;
    for (int i = 0; i < 2; i++) {
        file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file, "%d", i);
        fclose(file);
        assert_ok(env.ctx, task_fingerprint(&env, 0));
        *(i == 0 ? &first : &second) = task_settings_text(&run);
    }
    assert_non_null(strstr(first, "5feceb66ffc86f38d952786c6d696c79")); /* SHA-256 of "0" */
    assert_string_not_equal(first, second);
    free(first);
    free(second);
    remove(path);
    reln_ctx_destroy(env.ctx);
}

static void words_of_options_are_unique(void **state)
{
    (void)state;
    for (int t = 0; t < task_count(); t++) {
        TaskEnv env = {.task = task_at(t)};

        for (int o = 0; o < task_at(t)->n_options; o++)
            for (int w = 0; w < task_at(t)->options[o].n_words; w++) {
                env.values[o] = task_word(&task_at(t)->options[o], w);
                assert_int_equal(task_choice(&env, task_at(t)->options[o].name), w);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_field_is_missing_in_a_table),
        cmocka_unit_test(names_of_settings_are_unique),
        cmocka_unit_test(a_change_of_any_field_of_any_row_is_another_run),
        cmocka_unit_test(a_setting_that_is_gone_is_another_run),
        cmocka_unit_test(a_record_from_before_a_setting_is_good_while_the_setting_is_as_before),
        cmocka_unit_test(values_of_before_are_json),
        cmocka_unit_test(settings_that_a_record_never_had_are_assumed_and_said_to_be),
        cmocka_unit_test(numbers_of_a_record_come_back),
        cmocka_unit_test(a_file_is_known_by_its_content),
        cmocka_unit_test(words_of_options_are_unique),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
