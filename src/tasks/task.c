/* task.c -- functions that tasks call: failing, options, training, curves. */
#include "tasks/task.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/files.h"

RelnStatus task_fail(TaskEnv *env, RelnStatus status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(env->message, sizeof env->message, format, args);
    va_end(args);
    return status;
}

RelnStatus task_nomem(TaskEnv *env)
{
    return task_fail(env, RELN_ERR_NOMEM, "out of memory");
}

/* ---- rooms ------------------------------------------------------------------------------------------------------- */

struct TaskRoom {
    TaskRoom *next;
    void (*end)(void *object); /* NULL: the room is only memory */
    void *object;
    max_align_t bytes[];
};

static TaskRoom *add_room(TaskRoom **rooms, size_t n_bytes)
{
    TaskRoom *room = calloc(1, sizeof *room + n_bytes);

    if (!room)
        return NULL;
    room->next = *rooms;
    *rooms = room;
    return room;
}

/* Ends all objects, the latest first, and then frees the memory: an object may lie in rooms that were made after it. */
static void end_rooms(TaskRoom **rooms)
{
    for (TaskRoom *room = *rooms; room; room = room->next)
        if (room->end)
            room->end(room->object);
    while (*rooms) {
        TaskRoom *room = *rooms;

        *rooms = room->next;
        free(room);
    }
}

void *task_room(TaskRoom **rooms, size_t count, size_t size)
{
    TaskRoom *room = size > 0 && count > SIZE_MAX / 2 / size ? NULL : add_room(rooms, count * size);

    return room ? room->bytes : NULL;
}

RelnStatus task_own(TaskEnv *env, void *object, void (*end)(void *object))
{
    TaskRoom *room = add_room(&env->rooms, 0);

    if (room) {
        room->end = end;
        room->object = object;
        return RELN_OK;
    }
    end(object);
    return task_nomem(env);
}

static void end_algebra(void *object)
{
    reln_algebra_destroy(object);
}

RelnStatus task_algebra(TaskEnv *env, const char *name, RelnAlgebra **out)
{
    TRY(reln_algebra_create(env->ctx, name, out));
    return task_own(env, *out, end_algebra);
}

void task_release(TaskEnv *env)
{
    end_rooms(&env->rooms);
}

RelnStatus task_run_on(TaskRun *run, const void *data)
{
    const RelnStatus status = run->env->task->run(run, data);

    end_rooms(&run->rooms);
    return status;
}

bool task_asked(TaskRun *run)
{
    const TaskWatch *w = run->files ? run->files->watch : NULL;

    if (w && w->asked && w->asked(w->self))
        run->stopped = true;
    return run->stopped;
}

/* ---- curves ------------------------------------------------------------------------------------------------------ */

static TaskCurve *find_curve(TaskRun *run, const char *name)
{
    TaskCurve **at = &run->curves;

    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    if (!*at) {
        TaskCurve *new = calloc(1, sizeof *new);
        char *copy = strdup(name);
        if (!new || !copy) {
            free(new);
            free(copy);
            return NULL;
        }
        new->name = copy;
        *at = new;
    }
    return *at;
}

static bool make_room(TaskCurve *curve)
{
    const ptrdiff_t room = curve->n < curve->room ? curve->room : 2 * curve->room + 64;
    double *x, *y;

    if (room == curve->room)
        return true;
    if ((x = realloc(curve->x, (size_t)room * sizeof *x)))
        curve->x = x;
    if ((y = realloc(curve->y, (size_t)room * sizeof *y)))
        curve->y = y;
    if (x && y)
        curve->room = room;
    return x && y;
}

const TaskCurve *task_curve_named(const TaskRun *run, const char *name)
{
    const TaskCurve *c = run->curves;

    while (c && strcmp(c->name, name) != 0)
        c = c->next;
    return c;
}

RelnStatus task_curve(TaskRun *run, const char *name, double x, double y)
{
    TaskCurve *curve = find_curve(run, name);

    if (!curve || !make_room(curve))
        return task_nomem(run->env);
    curve->x[curve->n] = x;
    curve->y[curve->n++] = y;
    return RELN_OK;
}

RelnStatus task_curve_rows(TaskRun *run, const RelnTrainer *trainer, const char *loss,
                           const char *name, bool metric)
{
    enum { POINTS = 500 }; /* enough for a plot */
    const RelnTrainRow *rows = NULL;
    const int n = reln_trainer_rows(trainer, &rows), every = n / POINTS + 1;

    for (int i = every - 1; i < n; i += every) {
        TRY(task_curve(run, loss, (double)rows[i].step, rows[i].loss));
        TRY(task_curve(run, name, (double)rows[i].step,
                       metric ? rows[i].evaluation.metrics[0] : rows[i].evaluation.score));
    }
    return RELN_OK;
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

RelnSchedule task_schedule(double rate, bool cosine, uint64_t n_steps, int warmup, double floor)
{
    const uint64_t warm = n_steps / (uint64_t)warmup;
    RelnSchedule schedule = {.rate = rate};

    if (!cosine)
        return schedule;
    if (warm > 0)
        schedule.piece[schedule.n_pieces++] =
            (RelnSchedulePiece){.kind = RELN_SCHEDULE_WARMUP, .steps = warm, .floor = floor};
    schedule.piece[schedule.n_pieces++] =
        (RelnSchedulePiece){.kind = RELN_SCHEDULE_COSINE, .floor = floor};
    return schedule;
}

double task_best_metric(const RelnTrainer *trainer, bool highest)
{
    const RelnTrainRow *rows = NULL;
    const int n = reln_trainer_rows(trainer, &rows);
    double best = highest ? -HUGE_VAL : HUGE_VAL;

    for (int i = 0; i < n; i++) {
        const double metric = rows[i].evaluation.metrics[0];
        best = highest ? fmax(best, metric) : fmin(best, metric);
    }
    return best;
}

size_t task_trained(const RelnStore *store)
{
    size_t count = 0;

    for (int i = 0; i < reln_store_count(store); i++) {
        const RelnEntryInfo entry = reln_store_entry(store, i);

        count += entry.trained ? entry.count : 0;
    }
    return count;
}

/* A Part is a training of a run, as its trainer sees it. */
typedef struct Part {
    TaskRun *run;
    int index;
} Part;

static bool show(void *self, const RelnTrainProgress *progress)
{
    const TaskWatch *w = ((const Part *)self)->run->files->watch;

    if (w->show)
        w->show(w->self, progress->step, progress->n_steps, progress->loss);
    return true;
}

/* Returns whether the run has been asked to stop. Called from several threads, so it must not change
 * run->stopped. */
static bool asked(void *self)
{
    const TaskWatch *w = ((const Part *)self)->run->files->watch;

    return w->asked && w->asked(w->self);
}

static RelnStatus save(void *self, RelnTrainer *trainer)
{
    const Part *part = self;

    return task_checkpoint_save(part->run, part->index, trainer);
}

/* Saves a checkpoint every half minute, and whenever training ends, because a long evaluation may follow. */
static RelnTrainWatch watch(Part *part)
{
    return (RelnTrainWatch){.self = part,
                            .observe = show,
                            .observe_seconds = 0.1,
                            .asked = asked,
                            .save = save,
                            .save_seconds = 30};
}

static void begin(const TaskRun *run, const RelnTrainer *trainer)
{
    const TaskWatch *w = run->files ? run->files->watch : NULL;
    char what[128];

    if (!w || !w->begin)
        return;
    snprintf(what, sizeof what, "%s, seed %llu", run->model->name, (unsigned long long)run->seed);
    w->begin(w->self, what, reln_trainer_step(trainer));
}

static void end(const TaskRun *run)
{
    if (run->files && run->files->watch->end)
        run->files->watch->end(run->files->watch->self);
}

static RelnStatus loop(TaskRun *run, RelnTrainer *trainer)
{
    RelnTrainEnd why;

    TRY(reln_trainer_run(trainer, UINT64_MAX, &why));
    run->diverged = run->diverged || why == RELN_TRAIN_DIVERGED;
    run->stopped = run->stopped || why == RELN_TRAIN_ASKED;
    return run->stopped ? task_fail(run->env, RELN_ERR_STOPPED, "asked to stop") : RELN_OK;
}

RelnStatus task_train(TaskRun *run, int part, const RelnTrainJob *job, RelnTrainer **out)
{
    Part self = {run, part};
    RelnTrainJob watched = *job;
    const RelnTrainRow *rows = NULL;
    RelnStatus status;
    int n;

    *out = NULL;
    if (run->files)
        watched.watch = watch(&self);
    TRY(reln_trainer_create(run->env->ctx, &watched, out));
    if (run->files)
        TRY(task_checkpoint_load(run, part, *out));
    begin(run, *out);
    status = loop(run, *out);
    end(run);
    n = reln_trainer_rows(*out, &rows);
    run->seconds += n > 0 ? rows[n - 1].seconds : 0;
    return status;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

void task_run_clear(TaskRun *run)
{
    while (run->curves) {
        TaskCurve *next = run->curves->next;
        free(run->curves->x);
        free(run->curves->y);
        free((void *)(uintptr_t)run->curves->name); /* allocated here; constant for other files */
        free(run->curves);
        run->curves = next;
    }
}

RelnStatus task_run_alone(TaskEnv *env, const void *data, const TaskModel *model, uint64_t seed,
                          TaskRun *out)
{
    *out = (TaskRun){.env = env, .model = model, .seed = seed};
    for (int i = 0; i < TASK_METRICS; i++)
        out->metrics[i] = (double)NAN;
    return task_run_on(out, data);
}
