/* Compares every task with what the tree remembers of it: its texts and settings, what its rows train on and how, and the
 * numbers that they get at scale smoke. A published table is a set of choices (seeds, rates, splits, noise): a formula for
 * each of them would be a second program, so the choices themselves are kept, and none of them changes unseen.
 *
 * Rows run on the reference kernels, whose bits are the same on every machine (docs/bits.md). Other parts call the C library,
 * and may differ by roundings: numbers have four digits, of which the last may differ by one, and numbers below 1e-5, such
 * as errors of equivariance, are called small. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/remembered.h"
#include "support/support.h"
#include "tasks/experiment.h"
#include "tasks/files.h"
#include "tasks/pendulum.h"

static FILE *out; /* what is compared */

static void put(double value)
{
    if (!isfinite(value))
        fprintf(out, " %g", fabs(value));
    else if (fabs(value) < 1e-5)
        fprintf(out, " small");
    else
        fprintf(out, " %.3e", value);
}

/* ---- texts and settings -------------------------------------------------------------------------------------- */

static const char *text(const char *s)
{
    return s ? s : "-";
}

static void put_metrics(const Task *task)
{
    for (int i = 0; i < task->n_metrics; i++) {
        const TaskMetric *m = &task->metrics[i];

        fprintf(out, "metric %s | %s |%s%s%s%s target %.12g%s\n", m->name, m->label,
                m->percent ? " percent" : "", m->count ? " count" : "", m->more ? " more" : "",
                m->error ? " error" : "", m->target, i == task->main_metric ? " main" : "");
    }
}

static void put_options(const Task *task)
{
    for (int i = 0; i < task->n_options; i++) {
        const TaskOption *o = &task->options[i];

        fprintf(out, "option %s | %s |%s", o->name, o->help, o->file ? " file" : "");
        for (int w = 0; w < o->n_words; w++)
            fprintf(out, " %s%s", task_word(o, w), w == o->otherwise ? "*" : "");
        fprintf(out, "\n");
    }
}

static void put_figures(const Task *task)
{
    for (int i = 0; i < task->n_figures; i++) {
        const TaskFigure *f = &task->figures[i];

        fprintf(out, "figure %s | %s | %s |%s%s%s%s%s%s%s truth %s\n", f->curve, text(f->x),
                text(f->y), f->log_x ? " log_x" : "", f->points ? " points" : "",
                f->linear_y ? " linear_y" : "", f->cloud ? " cloud" : "", f->path ? " path" : "",
                f->table ? " table" : "", f->hidden ? " hidden" : "", text(f->truth));
    }
    fprintf(out, "bars");
    for (int i = 0; i < task->n_bars; i++)
        fprintf(out, " %d", task->bars[i]);
    fprintf(out, "\nseeds %d %d %d\n", task->seeds[0], task->seeds[1], task->seeds[2]);
}

/* The settings of one row at one scale: all scales of the first row, and each row at the full scale. */
static void put_settings(const Task *task, const TaskModel *model, TaskScale scale)
{
    TaskEnv env = {.task = task, .scale = scale};
    const TaskRun run = {.env = &env, .model = model, .seed = 1};
    char *settings;

    assert_int_equal(reln_ctx_create(NULL, &env.ctx), RELN_OK);
    settings = task_settings_text(&run);
    assert_non_null(settings);
    fprintf(out, "%s\n", settings);
    free(settings);
    reln_ctx_destroy(env.ctx);
}

static void put_row(const Task *task, const TaskModel *model)
{
    fprintf(out, "row %s | %s | %zu from %s, peer %.12g%s\n", model->name, model->label,
            model->params, task_scale_text(model->from), model->peer_seconds,
            model->reference ? ", reference" : "");
    put_settings(task, model, TASK_FULL);
}

static void texts_and_settings_are_as_remembered(void **state)
{
    char *all = NULL;
    size_t n = 0;

    (void)state;
    out = open_memstream(&all, &n);
    assert_non_null(out);
    for (int t = 0; t < task_count(); t++) {
        const Task *task = task_at(t);

        fprintf(out, "%s=== %s\n%s\n%s\n", t > 0 ? "\n" : "", task->name, task->purpose,
                task->about);
        put_metrics(task);
        put_options(task);
        put_figures(task);
        put_settings(task, &task->models[0], TASK_SMOKE);
        put_settings(task, &task->models[0], TASK_QUICK);
        for (int m = 0; m < task->n_models; m++)
            put_row(task, &task->models[m]);
    }
    fclose(out);
    assert_remembered("tasks.txt", all);
    free(all);
}

/* ---- what is trained ----------------------------------------------------------------------------------------- */

/* Writes the mean size of numbers, and a mean with weights that differ from number to number, so that an exchange of two is
 * seen. */
static void put_digest(const ExpColumn *c, ptrdiff_t count)
{
    double sum = 0, size = 0;

    for (ptrdiff_t i = 0; i < count; i++) {
        const double value = c->dtype == RELN_I32 ? (double)((const int32_t *)c->values)[i]
                                                  : ((const double *)c->values)[i];

        sum += value * (1 + (double)(i % 101) / 101);
        size += fabs(value);
    }
    put(size / (double)count);
    put(size > 0 ? sum / size : 0);
}

static void put_set(const char *name, const ExpSet *set)
{
    if (!set)
        return;
    fprintf(out, "  %s of %td\n", name, set->n);
    for (int i = 0; i < set->n_columns; i++) {
        const ExpColumn *c = &set->column[i];

        fprintf(out, "    %s %d %d%s", c->name, c->size, c->rows, c->target ? " target" : "");
        if (c->values && c->rows == 0)
            put_digest(c, c->size > 0 ? set->n * c->size : (ptrdiff_t)c->all);
        fprintf(out, "\n");
    }
}

static void put_schedule(const RelnSchedule *s)
{
    fprintf(out, "  rate %.12g", s->rate);
    for (int i = 0; i < s->n_pieces; i++) {
        const RelnSchedulePiece *p = &s->piece[i];

        fprintf(out, " | %d for %llu, %.12g %.12g %.12g %d %.12g %llu", (int)p->kind,
                (unsigned long long)p->steps, p->floor, p->factor, p->period, p->patience, p->scale,
                (unsigned long long)p->hold);
    }
    fprintf(out, "\n");
}

static void put_part(const ExpPart *p)
{
    fprintf(out,
            "  part of %llu steps, batch %d, epoch %llu, evaluated every %llu, loss %d%s%s%s%s, "
            "decay %.12g, clip "
            "%.12g, metric %s, curves %s%s, %s%s\n",
            (unsigned long long)p->steps, p->batch, (unsigned long long)p->steps_per_epoch,
            (unsigned long long)p->evaluate_every, (int)p->loss, p->root ? " root" : "",
            p->eps_inside ? " eps inside" : "", p->fresh ? " fresh" : "", p->last ? " last" : "",
            p->decay, p->clip, text(p->metric), text(p->curve), p->curve_metric ? " of metric" : "",
            text(p->loss_curve), p->move ? ", moved" : "");
    put_schedule(&p->schedule);
    put_set("train", p->train);
    put_set("validation", p->validation);
}

/* Rows that take seconds on the reference kernels are not trained here; nor are those of larger scales, but for the tasks in
 * which they are other networks. */
static bool is_slow(const TaskRun *run)
{
    const char *task = run->env->task->name, *row = run->model->name;

    if (strcmp(task, "pendulum") == 0)
        return strncmp(row, "emlp", 4) == 0;
    if (strcmp(task, "drone") == 0)
        return strcmp(row, "resnet-5m") == 0;
    return run->model->from != TASK_SMOKE || (strcmp(task, "jets") == 0 && strchr(row, '-'));
}

RelnStatus __wrap_exp_run(TaskRun *run, const ExpJob *job, ExpJudge judge, const void *self);
RelnStatus __real_exp_run(TaskRun *run, const ExpJob *job, ExpJudge judge, const void *self);

RelnStatus __wrap_exp_run(TaskRun *run, const ExpJob *job, ExpJudge judge, const void *self)
{
    fprintf(out, "  %s, %s, form %d, dtype %d, stream %llu, part %d%s\n", text(job->symmetry),
            text(job->features), (int)job->form, (int)job->dtype, (unsigned long long)job->stream,
            job->first_part, job->one_of_several ? " of several" : "");
    for (int i = 0; i < job->n_parts; i++)
        put_part(&job->parts[i]);
    return is_slow(run) ? RELN_OK : __real_exp_run(run, job, judge, self);
}

/* ---- what rows get ------------------------------------------------------------------------------------------- */

static void put_curve(const TaskCurve *c)
{
    double sum = 0;
    ptrdiff_t n = 0;

    for (ptrdiff_t i = 0; i < c->n; i++)
        if (isfinite(c->y[i]))
            sum += c->y[i], n++;
    fprintf(out, "  curve %s of %td, %td finite:", c->name, c->n, n);
    if (c->n > 0) {
        put(c->x[0]), put(c->x[c->n - 1]);
        put(c->y[0]), put(c->y[c->n - 1]);
        put(n > 0 ? sum / (double)n : 0);
    }
    fprintf(out, "\n");
}

static void put_run(TaskEnv *env, const void *data, const TaskModel *model)
{
    TaskRun run;

    fprintf(out, "%s\n", model->name);
    if (task_run_alone(env, data, model, /*seed=*/1, &run) != RELN_OK)
        fail_msg("%s: %s%s", model->name, env->message, reln_ctx_error(env->ctx));
    fprintf(out, "  %zu of %zu parameters\n ", run.params_used, run.params);
    for (int i = 0; i < env->task->n_metrics; i++)
        if (strcmp(env->task->metrics[i].name, "ms_per_jet") != 0) /* a time */
            put(run.metrics[i]);
    fprintf(out, "\n");
    for (const TaskCurve *c = run.curves; c; c = c->next)
        put_curve(c);
    task_run_clear(&run);
}

/* All rows, those of larger scales among them; with an option's value the first one that the option keeps. */
static void put_task(const Task *task, int option, const char *value)
{
    TaskEnv env = {.task = task, .scale = TASK_SMOKE, .reference = true};
    void *data = NULL;

    assert_int_equal(reln_ctx_create(NULL, &env.ctx), RELN_OK);
    if (value) {
        env.values[option] = value;
        fprintf(out, "--- %s %s\n", task->options[option].name, value);
    }
    assert_ok(env.ctx, task->prepare(&env, &data));
    for (int m = 0; m < task->n_models; m++) {
        const TaskModel *model = &task->models[m];

        if (!task->wanted || task->wanted(&env, model)) {
            put_run(&env, data, model);
            if (value)
                break;
        }
    }
    task_release(&env);
    reln_ctx_destroy(env.ctx);
}

static void check_task(const char *name)
{
    const Task *task = task_find(name);
    char *all = NULL, file[64];
    size_t n = 0;

    assert_non_null(task);
    out = open_memstream(&all, &n);
    assert_non_null(out);
    put_task(task, 0, NULL);
    for (int i = 0; i < task->n_options; i++)
        for (int w = 0; w < task->options[i].n_words; w++)
            if (w != task->options[i].otherwise)
                put_task(task, i, task_word(&task->options[i], w));
    fclose(out);
    snprintf(file, sizeof file, "task-%s.txt", name);
    assert_remembered(file, all);
    free(all);
}

#define CHECK(function, name)                                                                      \
    static void function(void **state)                                                             \
    {                                                                                              \
        (void)state;                                                                               \
        check_task(name);                                                                          \
    }
CHECK(sp4, "sp4")
CHECK(platonic, "platonic")
CHECK(sl3_inv, "sl3-inv")
CHECK(sl3_equiv, "sl3-equiv")
CHECK(bch, "bch")
CHECK(rigid, "rigid")
CHECK(gln, "gln")
CHECK(jets, "jets")
CHECK(drone, "drone")
CHECK(splats, "splats")

static void pendulum(void **state)
{
    (void)state;
    skip_without_motions();
    check_task("pendulum");
}

/* With an argument: the test of this name alone. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_and_settings_are_as_remembered),
        cmocka_unit_test(sp4),
        cmocka_unit_test(platonic),
        cmocka_unit_test(pendulum),
        cmocka_unit_test(sl3_inv),
        cmocka_unit_test(sl3_equiv),
        cmocka_unit_test(bch),
        cmocka_unit_test(rigid),
        cmocka_unit_test(gln),
        cmocka_unit_test(jets),
        cmocka_unit_test(drone),
        cmocka_unit_test(splats),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
