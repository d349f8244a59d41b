/* cmd_reproduce.c -- reln reproduce: a table of the paper, ours beside theirs. */
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/progress.h"
#include "tasks/runner.h"

static const char help[] =
    "Makes the data, trains every model of the table with several seeds, and prints the results "
    "beside the paper's.\n"
    "The folder gets results.json, metrics.csv, table.md, report.html and the trained models. "
    "A run that is finished is\n"
    "not made again: the same command goes on where it was stopped, and --finished makes the "
    "tables without going on.\n"
    "\n"
    "  reln reproduce                                  list the tasks and their models\n"
    "  reln reproduce sp4 --scale quick\n"
    "  reln reproduce pendulum --scale full --jobs 4   four runs at a time: small networks do not "
    "fill many threads\n"
    "  reln reproduce platonic --scale full --models reln,best --seeds 5 --out results/platonic\n";

/* ---- lists --------------------------------------------------------------------------------------------------------- */

static CliExit list_tasks(void)
{
    for (int i = 0; i < task_count(); i++) {
        const Task *task = task_at(i);
        printf("%-10s %s\n", task->name, task->purpose);
        for (int o = 0; o < task->n_options; o++)
            printf("             --%s %s  %s\n", task->options[o].name, task->options[o].values,
                   task->options[o].help);
        for (int m = 0; m < task->n_models; m++)
            printf("             %-14s %s\n", task->models[m].name, task->models[m].label);
    }
    return CLI_DONE;
}

static CliExit fail_task(const char *word)
{
    const char *names[16];
    int count = 0;

    for (; count < task_count() && count < 16; count++)
        names[count] = task_at(count)->name;
    return cli_fail(CLI_USAGE, "reproduce: there is no task '%.60s'; the nearest is %s", word,
                    names[reln_nearest(word, names, count)]);
}

/* ---- watching ------------------------------------------------------------------------------------------------------ */

typedef struct Watcher {
    bool quiet;
    char what[128];
    CliProgress progress;
} Watcher;

static void watch_begin(void *self, const char *what, uint64_t first_step)
{
    Watcher *w = self;

    snprintf(w->what, sizeof w->what, "%s", what);
    w->progress = cli_progress_begin(w->quiet, first_step);
}

static void watch_show(void *self, uint64_t step, uint64_t n_steps, double loss)
{
    Watcher *w = self;
    char middle[192];

    snprintf(middle, sizeof middle, "%s  loss %.3g", w->what, loss);
    cli_progress_show(&w->progress, step, n_steps, middle);
}

static void watch_show_all(void *self, double share, const char *what)
{
    Watcher *w = self;

    cli_progress_share(&w->progress, share, what);
}

static void watch_end(void *self)
{
    Watcher *w = self;

    cli_progress_end(&w->progress);
}

static bool watch_asked(void *self)
{
    (void)self;
    return cli_asked_to_stop() != 0;
}

/* ---- the request --------------------------------------------------------------------------------------------------- */

static bool scale_of(const char *word, TaskScale *scale)
{
    for (int s = 0; s < TASK_SCALES; s++)
        if (strcmp(word, task_scale_text((TaskScale)s)) == 0) {
            *scale = (TaskScale)s;
            return true;
        }
    return false;
}

/* The value that the command line has for an option of a task. */
static const char *value_of(const CliArgs *args, const char *name)
{
    return strcmp(name, "group") == 0    ? args->group
           : strcmp(name, "target") == 0 ? args->target
                                         : NULL;
}

static bool task_takes(const Task *task, const char *name)
{
    for (int i = 0; i < task->n_options; i++)
        if (strcmp(task->options[i].name, name) == 0)
            return true;
    return false;
}

static CliExit check(const Task *task, const CliArgs *args, TaskScale *scale)
{
    static const char *const names[] = {"group", "target"};

    if (!scale_of(args->scale ? args->scale : "quick", scale))
        return cli_fail(CLI_USAGE, "reproduce: --scale is '%.60s'; wanted smoke, quick or full",
                        args->scale);
    for (int i = 0; i < 2; i++)
        if (value_of(args, names[i]) && !task_takes(task, names[i]))
            return cli_fail(CLI_USAGE, "reproduce: %s takes no --%s", task->name, names[i]);
    return CLI_DONE;
}

/* How it was called, without what does not change results. */
static void command_text(const Task *task, const CliArgs *args, TaskScale scale, char *out,
                         size_t size)
{
    int n = snprintf(out, size, "reln reproduce %s --scale %s", task->name, task_scale_text(scale));

    if (args->models && n < (int)size)
        n += snprintf(out + n, size - (size_t)n, " --models %s", args->models);
    if (args->seeds && n < (int)size)
        n += snprintf(out + n, size - (size_t)n, " --seeds %llu", (unsigned long long)args->seeds);
    for (int i = 0; i < task->n_options && n < (int)size; i++)
        if (value_of(args, task->options[i].name))
            n += snprintf(out + n, size - (size_t)n, " --%s %s", task->options[i].name,
                          value_of(args, task->options[i].name));
}

static CliExit conclude(RelnStatus status, const TaskOutcome *outcome, const char *out, bool quiet)
{
    if (status != RELN_OK)
        return cli_fail(status == RELN_ERR_ARG ? CLI_USAGE : cli_exit_of(status), "reproduce: %s",
                        outcome->message);
    if (outcome->stopped) {
        cli_fail(CLI_DONE, "reproduce: stopped; the same command goes on from %s", out);
        return cli_exit_of_signal();
    }
    if (!quiet)
        fprintf(stderr, "reln: %d runs, %d of them made before; see %s/report.html\n",
                outcome->runs, outcome->found, out);
    return CLI_DONE;
}

static CliExit run_task(RelnCtx *ctx, const Task *task, const CliArgs *args)
{
    char folder[128], command[512];
    Watcher watcher = {.quiet = args->quiet};
    TaskRequest request = {
        .task = task,
        .seeds = (int)args->seeds,
        .first_seed = args->seed_given ? args->seed : 1,
        .models = args->models,
        .finished = args->finished,
        .threads = args->threads ? (int)args->threads : (int)sysconf(_SC_NPROCESSORS_ONLN),
        .jobs = (int)args->jobs,
        .stream = args->quiet && !args->json ? NULL : stdout,
        .json = args->json,
        .colour = isatty(STDOUT_FILENO),
        .width = cli_terminal_width(STDOUT_FILENO),
        .watch = {&watcher, watch_begin, watch_show, watch_show_all, watch_end, watch_asked}};
    TaskOutcome outcome;
    CliExit code = check(task, args, &request.scale);
    RelnStatus status;

    if (code != CLI_DONE)
        return code;
    snprintf(folder, sizeof folder, "reln-%s-%s", task->name, task_scale_text(request.scale));
    command_text(task, args, request.scale, command, sizeof command);
    request.out = args->out ? args->out : folder;
    request.command = command;
    for (int i = 0; i < task->n_options; i++)
        request.values[i] = value_of(args, task->options[i].name);
    cli_catch_signals();
    status = task_reproduce(ctx, &request, &outcome);
    return conclude(status, &outcome, request.out, args->quiet);
}

static CliExit run(RelnCtx *ctx, const CliArgs *args)
{
    const Task *task;

    if (args->n_operands == 0)
        return list_tasks();
    task = task_find(args->operands[0]);
    return task ? run_task(ctx, task, args) : fail_task(args->operands[0]);
}

const CliCommand cli_cmd_reproduce = {
    .name = "reproduce",
    .synopsis = "reproduce\nreproduce TASK [--scale smoke|quick|full] [--models LIST] [--seeds N] "
                "[--jobs N] [--finished] [--out DIR] [--json]",
    .purpose = "tables of the paper, ours beside theirs",
    .help = help,
    .options = CLI_OUT | CLI_TASK,
    .max_operands = 1,
    .run = run,
};
