/* cmd_reproduce.c -- `reln reproduce`: computes a table of the paper, beside the published numbers. */
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/launch.h"
#include "cli/progress.h"
#include "tasks/runner.h"

static const char help[] =
    "Makes the data, trains every model of the table with several seeds, and prints the results "
    "beside the published\n"
    "ones. The folder gets results.json, metrics.csv, table.md, report.html and the trained "
    "models. A finished run is not\n"
    "repeated: the same command resumes where it was stopped, and --finished only makes the "
    "tables of finished runs.\n"
    "\n"
    "  reln reproduce                                  list the tasks and their models\n"
    "  reln reproduce sp4 --scale quick\n"
    "  reln reproduce pendulum --scale full --jobs 4   four runs at a time: small networks do "
    "not fill many threads\n"
    "  reln reproduce platonic --scale full --models reln,best --seeds 5 --out results/platonic\n";

/* ---- lists --------------------------------------------------------------------------------------------------------- */

/* Writes "--name a|b|c", or the kind of value that an option takes. */
static void option_text(const TaskOption *o, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "--%s %s", o->name,
                                   o->n_words > 0 ? ""
                                   : o->file      ? "FILE"
                                                  : "TEXT");

    for (int i = 0; i < o->n_words && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? "|" : "", task_word(o, i));
}

/* Prints the options and models of a task, a line for each. */
static void list_task(const Task *task)
{
    char head[256], line[1024];
    int width = 0;

    for (int m = 0; m < task->n_models; m++)
        if ((int)strlen(task->models[m].name) > width)
            width = (int)strlen(task->models[m].name);
    for (int i = 0; i < task->n_options; i++) {
        const TaskOption *o = &task->options[i];

        option_text(o, head, sizeof head);
        if ((int)strlen(head) > width) {
            snprintf(line, sizeof line, "  %s", head);
            cli_fill(stdout, line);
        }
        snprintf(line, sizeof line, "  %-*s  %s%s%s%s", width,
                 (int)strlen(head) > width ? "" : head, o->help,
                 o->n_words > 0 ? " (default: " : "",
                 o->n_words > 0 ? task_word(o, o->otherwise) : "", o->n_words > 0 ? ")" : "");
        cli_fill(stdout, line);
    }
    for (int m = 0; m < task->n_models; m++) {
        snprintf(line, sizeof line, "  %-*s  %s", width, task->models[m].name,
                 task->models[m].label);
        cli_fill(stdout, line);
    }
}

static CliExit list_tasks(void)
{
    for (int i = 0; i < task_count(); i++) {
        printf("%-10s %s\n", task_at(i)->name, task_at(i)->purpose);
        list_task(task_at(i));
    }
    return CLI_DONE;
}

/* Prints the help of one task: its options. */
static void more_help(const CliArgs *args)
{
    const Task *task = args->n_operands > 0 ? task_find(args->operands[0]) : NULL;

    if (!task)
        return;
    printf("\n%s: %s\n\n", task->name, task->purpose);
    cli_fill(stdout, task->about);
    printf("\noptions and models of %s:\n", task->name);
    list_task(task);
}

static CliExit fail_task(const char *word)
{
    const char *names[16];
    int count = 0;

    for (; count < task_count() && count < 16; count++)
        names[count] = task_at(count)->name;
    return cli_fail_unknown("reproduce: there is no task", word, names, count);
}

/* ---- progress ----------------------------------------------------------------------------------------------------- */

typedef struct Watcher {
    CliShow how;
    char what[128];
    CliProgress progress;
} Watcher;

static void watch_begin(void *self, const char *what, uint64_t first_step)
{
    Watcher *w = self;

    snprintf(w->what, sizeof w->what, "%s", what);
    w->progress = cli_progress_begin_as(w->how, first_step);
    w->progress.pace = 30;
    if (*what)
        cli_progress_line(&w->progress, what);
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

/* Returns whether the word is "--name" or "--name=...". */
static bool names(const char *word, const char *name)
{
    const size_t length = strlen(name);

    return strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, length) == 0 &&
           (word[2 + length] == '\0' || word[2 + length] == '=');
}

static const TaskOption *option_of(const Task *task, const char *word)
{
    for (int i = 0; i < task->n_options; i++)
        if (names(word, task->options[i].name))
            return &task->options[i];
    return NULL;
}

static CliExit fail_option(const Task *task, const char *word)
{
    char room[TASK_OPTIONS][32];
    const char *known[TASK_OPTIONS];

    for (int i = 0; i < task->n_options; i++) {
        snprintf(room[i], sizeof room[i], "--%s", task->options[i].name);
        known[i] = room[i];
    }
    cli_args_unknown(&cli_cmd_reproduce, word, task->n_options, known);
    return CLI_USAGE;
}

/* Checks the scale, and the values of the task's own options. */
static CliExit check(const Task *task, const CliArgs *args, TaskRequest *request)
{
    if (!scale_of(args->scale ? args->scale : "quick", &request->scale))
        return cli_fail(CLI_USAGE, "reproduce: --scale is '%.60s'; wanted smoke, quick or full",
                        args->scale);
    for (int i = 0; i < args->n_own; i++) {
        const TaskOption *option = option_of(task, args->own[i].word);

        if (!option)
            return fail_option(task, args->own[i].word);
        if (!args->own[i].value)
            return cli_fail(CLI_USAGE, "reproduce: --%s wants a value", option->name);
        request->values[option - task->options] = args->own[i].value;
    }
    return CLI_DONE;
}

/* Writes the command line as text, without options that do not change results. */
static void command_text(const CliArgs *args, const TaskRequest *request, char *out, size_t size)
{
    const Task *task = request->task;
    int n = snprintf(out, size, "reln reproduce %s --scale %s", task->name,
                     task_scale_text(request->scale));

    if (args->models && n < (int)size)
        n += snprintf(out + n, size - (size_t)n, " --models %s", args->models);
    if (args->seeds && n < (int)size)
        n += snprintf(out + n, size - (size_t)n, " --seeds %llu", (unsigned long long)args->seeds);
    if (request->reference && n < (int)size)
        n += snprintf(out + n, size - (size_t)n, " --kernels reference");
    for (int i = 0; i < task->n_options && n < (int)size; i++)
        if (request->values[i])
            n += snprintf(out + n, size - (size_t)n, " --%s %s", task->options[i].name,
                          request->values[i]);
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
    Watcher watcher = {0};
    TaskRequest request = {
        .task = task,
        .seeds = (int)args->seeds,
        .first_seed = args->seed_given ? args->seed : 1,
        .models = args->models,
        .finished = args->finished,
        .threads =
            args->threads || cli_comm() ? cli_threads(args) : (int)sysconf(_SC_NPROCESSORS_ONLN),
        .comm = cli_comm(),
        .jobs = (int)args->jobs,
        .stream = args->quiet && !args->json ? NULL : stdout,
        .json = args->json,
        .colour = isatty(STDOUT_FILENO),
        .width = cli_terminal_width(STDOUT_FILENO),
        .watch = {&watcher, watch_begin, watch_show, watch_show_all, watch_end, watch_asked}};
    TaskOutcome outcome;
    CliExit code = check(task, args, &request);
    RelnStatus status;

    if (code != CLI_DONE)
        return code;
    if (!cli_reference(args, &request.reference) || !cli_progress_how(args, &watcher.how))
        return CLI_USAGE;
    snprintf(folder, sizeof folder, "reln-%s-%s", task->name, task_scale_text(request.scale));
    command_text(args, &request, command, sizeof command);
    request.out = args->out ? args->out : folder;
    request.command = command;
    if (cli_comm()) { /* several runs at a time: each by a part of the ranks */
        request.n_parts = request.jobs < cli_comm()->size ? request.jobs : cli_comm()->size;
        request.n_parts = request.n_parts > 1 ? request.n_parts : 1;
        code = cli_split(request.n_parts, &request.part, &request.part_comm);
        if (code != CLI_DONE)
            return code;
    }
    cli_catch_signals();
    status = task_reproduce(ctx, &request, &outcome);
    return conclude(status, &outcome, request.out, args->quiet);
}

static CliExit run(RelnCtx *ctx, const CliArgs *args)
{
    const Task *task;

    if (args->n_operands == 0 && args->n_own > 0)
        return cli_fail(CLI_USAGE, "reproduce: '%.60s' without a task", args->own[0].word);
    if (args->n_operands == 0)
        return list_tasks();
    task = task_find(args->operands[0]);
    return task ? run_task(ctx, task, args) : fail_task(args->operands[0]);
}

const CliCommand cli_cmd_reproduce = {
    .name = "reproduce",
    .synopsis = "reproduce\nreproduce TASK [--scale smoke|quick|full] [--models LIST] [--seeds N] "
                "[--jobs N] [--finished] [--out DIR] [--json]\nreproduce TASK --help",
    .purpose = "tables of the paper, beside the published numbers",
    .help = help,
    .options = CLI_OUT | CLI_TASK | CLI_JOBS | CLI_KERNELS | CLI_PROGRESS | CLI_OWN,
    .max_operands = 1,
    .ranks = true,
    .run = run,
    .more_help = more_help,
};
