/* cmd_sweep.c -- `reln sweep`: trains a SPEC with many settings, each run in its own folder and process. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/runs.h"

static const char help[] =
    "Trains a SPEC with every combination of the values of --over, or with N random draws of them\n"
    "(--random N). Values are a list, 1e-3,3e-3, or a range, 16..64: in a grid 16, 32, 64, in "
    "random\n"
    "draws any number between, uniform in its logarithm. --halving trains all runs for a part of "
    "their\n"
    "epochs and continues with the better half, repeatedly: all runs of a rung end before the "
    "next\n"
    "rung begins, so the result does not depend on --jobs; ties go to the lower number. The "
    "score is\n"
    "the best validation score. If it was stopped, the same command resumes it.\n"
    "\n"
    "  reln sweep spec.yaml train.npz --over train.lr=1e-3,3e-3 --over model.width=16..64\n"
    "  reln sweep spec.yaml train.npz --over train.lr=1e-4..1e-2 --random 20 --halving --jobs 2\n";

enum { MOST_RUNS = 1000, MOST_OVER = 16, MOST_VALUES = 64, VALUE = 64, SETTING = 160, PATH = 512 };

typedef struct Over {
    char key[64];
    int n; /* values of a list; 0: a range */
    char value[MOST_VALUES][VALUE];
    double low, high;
    bool whole;
} Over;

typedef struct Sweep {
    const CliArgs *args;
    const char *folder;
    int n_over;
    Over over[MOST_OVER];
    int n_runs;
    double length; /* epochs or steps of a whole run, in the unit of the SPEC */
    CliShow how;
} Sweep;

/* ---- the keys that vary ------------------------------------------------------------------------------------------ */

static bool is_whole(double x)
{
    return x == floor(x);
}

/* "a..b" */
static bool read_range(const char *text, Over *o)
{
    const char *dots = strstr(text, "..");
    char first[VALUE], *end = NULL;

    if (!dots || dots - text >= VALUE)
        return false;
    snprintf(first, sizeof first, "%.*s", (int)(dots - text),
             text); /* "4." would be a number, too */
    o->low = strtod(first, &end);
    if (end == first || *end != '\0')
        return false;
    o->high = strtod(dots + 2, &end);
    o->whole = is_whole(o->low) && is_whole(o->high);
    return end != dots + 2 && *end == '\0' && o->low > 0 && o->high >= o->low;
}

static bool add_value(Over *o, const char *text, size_t length)
{
    if (o->n == MOST_VALUES || length == 0 || length >= VALUE)
        return false;
    snprintf(o->value[o->n++], VALUE, "%.*s", (int)length, text);
    return true;
}

/* Reads values separated by commas; commas inside brackets belong to a value. */
static bool read_list(const char *text, Over *o)
{
    const char *from = text;
    int depth = 0;

    for (const char *at = text;; at++) {
        depth += *at == '[' || *at == '{';
        depth -= *at == ']' || *at == '}';
        if (*at != '\0' && (*at != ',' || depth > 0))
            continue;
        if (!add_value(o, from, (size_t)(at - from)))
            return false;
        if (*at == '\0')
            return true;
        from = at + 1;
    }
}

/* Converts a range to the values a, 2a, 4a ... up to b, for a grid. */
static bool spread(Over *o)
{
    char text[VALUE];

    for (double x = o->low; x <= o->high * (1 + 1e-12); x *= 2) {
        snprintf(text, sizeof text, "%.10g", x);
        if (!add_value(o, text, strlen(text)))
            return false;
    }
    return true;
}

static CliExit read_over(const char *text, bool random, Over *o)
{
    const char *sign = strchr(text, '=');
    bool read = sign && sign > text && sign - text < (ptrdiff_t)sizeof o->key;

    if (read) {
        snprintf(o->key, sizeof o->key, "%.*s", (int)(sign - text), text);
        read = read_range(sign + 1, o) ? random || spread(o) : read_list(sign + 1, o);
    }
    return read ? CLI_DONE
                : cli_fail(
                      CLI_USAGE,
                      "sweep: --over %.200s; wanted KEY=A,B,C or KEY=LOW..HIGH with 0 < LOW, at "
                      "most %d values",
                      text, MOST_VALUES);
}

/* Writes the setting of a key in a run, counted from 0: in a grid the last key changes fastest; random draws
 * are a function of seed, run and key. */
static void setting(const Sweep *s, int run, int over, char text[SETTING])
{
    const Over *o = &s->over[over];
    RelnRng rng = reln_rng(s->args->seed_given ? s->args->seed : 1,
                           (uint64_t)run * MOST_OVER + (uint64_t)over);
    int index = run;

    for (int k = s->n_over - 1; k > over; k--)
        index /= s->over[k].n > 0 ? s->over[k].n : 1;
    if (s->args->random == 0) {
        snprintf(text, SETTING, "%s=%s", o->key, o->value[index % o->n]);
    } else if (o->n > 0) {
        snprintf(text, SETTING, "%s=%s", o->key, o->value[reln_rng_below(&rng, (uint64_t)o->n)]);
    } else {
        const double x = o->low * pow(o->high / o->low, reln_rng_uniform(&rng));

        snprintf(text, SETTING, "%s=%.*g", o->key, o->whole ? 15 : 4, o->whole ? round(x) : x);
    }
}

static CliExit plan(RelnCtx *ctx, Sweep *s)
{
    const CliArgs *args = s->args;
    double runs = 1;
    RelnSpec spec;

    if (args->overs.n < 1 || args->overs.n > MOST_OVER)
        return cli_fail(CLI_USAGE, "sweep: %d times --over; wanted 1 to %d", args->overs.n,
                        MOST_OVER);
    for (; s->n_over < args->overs.n; s->n_over++) {
        const CliExit code =
            read_over(args->overs.items[s->n_over], args->random > 0, &s->over[s->n_over]);

        if (code != CLI_DONE)
            return code;
        runs *= s->over[s->n_over].n;
    }
    runs = args->random > 0 ? (double)args->random : runs;
    if (runs > MOST_RUNS)
        return cli_fail(CLI_USAGE, "sweep: %g runs; wanted at most %d", runs, MOST_RUNS);
    s->n_runs = (int)runs;
    if (reln_spec_load_with(ctx, args->operands[0], args->sets.n, args->sets.items, &spec) !=
        RELN_OK)
        return cli_fail(CLI_INPUT, "%s", reln_ctx_error(ctx));
    s->length = spec.train.steps > 0 ? spec.train.steps : spec.train.epochs;
    for (int i = 0; i < s->n_over && args->halving; i++)
        if (strcmp(s->over[i].key, "train.epochs") == 0 ||
            strcmp(s->over[i].key, "train.steps") == 0)
            return cli_fail(CLI_USAGE,
                            "sweep: with --halving all runs have the length of the SPEC");
    return spec.train.steps > 0 && args->halving
               ? cli_fail(CLI_USAGE, "sweep: --halving counts epochs; wanted train: {epochs: ...}")
               : CLI_DONE;
}

/* Checks the settings of every run before the first run begins. */
static CliExit check(RelnCtx *ctx, const Sweep *s)
{
    const char *sets[CLI_MAX_SETS + MOST_OVER];
    char text[MOST_OVER][SETTING];
    RelnSpec spec;

    for (int run = 0; run < s->n_runs; run++) {
        for (int i = 0; i < s->args->sets.n; i++)
            sets[i] = s->args->sets.items[i];
        for (int k = 0; k < s->n_over; k++) {
            setting(s, run, k, text[k]);
            sets[s->args->sets.n + k] = text[k];
        }
        if (reln_spec_load_with(ctx, s->args->operands[0], s->args->sets.n + s->n_over, sets,
                                &spec) != RELN_OK)
            return cli_fail(CLI_INPUT, "%s", reln_ctx_error(ctx));
    }
    return CLI_DONE;
}

/* ---- the folder ------------------------------------------------------------------------------------------------------------ */

static void folder_of(const Sweep *s, int run, char path[PATH])
{
    snprintf(path, PATH, "%s/run-%03d", s->folder, run + 1);
}

/* Writes the description of the sweep to its folder; a folder that holds another sweep is refused. */
static CliExit enter(RelnCtx *ctx, const Sweep *s)
{
    const CliArgs *args = s->args;
    char path[PATH], then[8192] = "", now[8192];
    size_t used, length = 0;
    RelnStatus status = reln_folder_make(ctx, s->folder);
    FILE *file;

    used = (size_t)snprintf(now, sizeof now, "%s\n%s\nrandom %llu halving %d seed %llu\n",
                            args->operands[0], args->operands[1], (unsigned long long)args->random,
                            args->halving, (unsigned long long)(args->seed_given ? args->seed : 1));
    for (int i = 0; i < args->overs.n && used < sizeof now; i++)
        used += (size_t)snprintf(now + used, sizeof now - used, "over %s\n", args->overs.items[i]);
    for (int i = 0; i < args->sets.n && used < sizeof now; i++)
        used += (size_t)snprintf(now + used, sizeof now - used, "set %s\n", args->sets.items[i]);
    snprintf(path, sizeof path, "%s/sweep.txt", s->folder);
    file = status == RELN_OK ? fopen(path, "r") : NULL;
    if (file) {
        length = fread(then, 1, sizeof then - 1, file);
        (void)fclose(file);
        then[length] = '\0';
    }
    if (length > 0 && strcmp(then, now) != 0)
        return cli_fail(CLI_INPUT, "%s holds another sweep already; take another folder",
                        s->folder);
    if (status == RELN_OK && length == 0)
        status = reln_file_write(ctx, path, now, strlen(now));
    return status == RELN_OK ? CLI_DONE : cli_fail(cli_exit_of(status), "%s", reln_ctx_error(ctx));
}

/* ---- runs ------------------------------------------------------------------------------------------------------------------ */

/* In the child: executes `reln fit`. The child ends with its parent; otherwise the next sweep would find its
 * folder locked. */
static void become(const Sweep *s, int run, double until, int threads)
{
    char folder[PATH], sets[MOST_OVER][SETTING], budget[32], number[16], checkpoint[PATH + 32];
    const char *argv[32 + 2 * (MOST_OVER + CLI_MAX_SETS)] = {"reln", "fit"};
    int n = 2;

    folder_of(s, run, folder);
    snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint.safetensors", folder);
    if (reln_file_exists(checkpoint)) {
        argv[n++] = "--resume";
        argv[n++] = folder;
    } else {
        argv[n++] = s->args->operands[0];
        argv[n++] = s->args->operands[1];
        argv[n++] = "--out";
        argv[n++] = folder;
        for (int i = 0; i < s->args->sets.n; i++) {
            argv[n++] = "--set";
            argv[n++] = s->args->sets.items[i];
        }
        for (int k = 0; k < s->n_over; k++) {
            setting(s, run, k, sets[k]);
            argv[n++] = "--set";
            argv[n++] = sets[k];
        }
    }
    snprintf(number, sizeof number, "%d", threads);
    argv[n++] = "--threads";
    argv[n++] = number;
    argv[n++] = "--quiet";
    argv[n++] = "--no-check";
    if (until < s->length) {
        snprintf(budget, sizeof budget, "%.0f", until);
        argv[n++] = "--until";
        argv[n++] = budget;
    }
    argv[n] = NULL;
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)execv("/proc/self/exe", (char *const *)(void *)argv);
    _exit(CLI_IO);
}

typedef struct Child {
    pid_t pid; /* 0: none */
    int run;
} Child;

static CliExit reached(RelnCtx *ctx, const Sweep *s, int run, double until, bool *out)
{
    char folder[PATH];
    CliRun r;
    const CliExit code = (folder_of(s, run, folder), cli_run_read(ctx, folder, &r));

    *out = code == CLI_DONE && cli_run_reached(&r, until);
    cli_run_clear(&r);
    return code;
}

/* Waits for one child; a run that diverged has ended, too. */
static CliExit collect(Child *children, int jobs)
{
    int state = 0;
    pid_t pid;

    while ((pid = waitpid(-1, &state, 0)) < 0 && errno == EINTR && !cli_asked_to_stop())
        continue;
    for (int i = 0; i < jobs; i++)
        if (pid > 0 && children[i].pid == pid) {
            children[i].pid = 0;
            if (!WIFEXITED(state) || (WEXITSTATUS(state) != 0 && WEXITSTATUS(state) != CLI_NUMERIC))
                return cli_asked_to_stop()
                           ? CLI_DONE
                           : cli_fail(CLI_INPUT, "sweep: run %d failed", children[i].run + 1);
        }
    return CLI_DONE;
}

static void end_all(Child *children, int jobs)
{
    for (int i = 0; i < jobs; i++)
        if (children[i].pid > 0)
            (void)kill(children[i].pid, SIGTERM);
    for (int i = 0; i < jobs; i++)
        while (children[i].pid > 0 && waitpid(children[i].pid, NULL, 0) < 0 && errno == EINTR)
            continue;
}

/* Trains all runs of the list up to an epoch, `jobs` at a time. */
static CliExit train(RelnCtx *ctx, const Sweep *s, int n, const int *list, double until)
{
    const int cores = cli_threads(s->args);
    const int jobs = s->args->jobs > 0 ? (int)s->args->jobs : cores;
    Child *children = calloc((size_t)jobs, sizeof *children);
    CliProgress progress = cli_progress_begin_as(s->how, 0);
    CliExit code = children ? CLI_DONE : cli_fail(CLI_NOMEM, "out of memory");
    int next = 0, busy = 0;
    char text[96];

    while (code == CLI_DONE && !cli_asked_to_stop() && (next < n || busy > 0)) {
        bool there = next >= n;

        if (next < n)
            code = reached(ctx, s, list[next], until, &there);
        if (code != CLI_DONE)
            break;
        if (next < n && there) {
            next++;
            continue;
        }
        for (int i = 0; next < n && i < jobs; i++)
            if (children[i].pid == 0) {
                snprintf(text, sizeof text, "run %d of %d, to epoch %g", list[next] + 1, s->n_runs,
                         until);
                cli_progress_phase(&progress, text);
                (void)fflush(stdout);
                children[i] = (Child){fork(), list[next]};
                if (children[i].pid == 0)
                    become(s, list[next], until, cores / jobs > 0 ? cores / jobs : 1);
                if (children[i].pid < 0)
                    code = cli_fail(CLI_NOMEM, "sweep: cannot start a run");
                busy++;
                next++;
                break;
            }
        busy = 0;
        for (int i = 0; i < jobs; i++)
            busy += children[i].pid > 0;
        if (code == CLI_DONE && (busy == jobs || next >= n) && busy > 0)
            code = collect(children, jobs);
        busy = 0;
        for (int i = 0; i < jobs && children; i++)
            busy += children[i].pid > 0;
    }
    if (children)
        end_all(children, jobs);
    free(children);
    cli_progress_end(&progress);
    return code;
}

/* ---- rungs ------------------------------------------------------------------------------------------------------------------ */

static CliExit score_of(RelnCtx *ctx, const Sweep *s, int run, double until, double *out)
{
    char folder[PATH];
    CliRun r;
    int row;
    const CliExit code = (folder_of(s, run, folder), cli_run_read(ctx, folder, &r));

    *out = code == CLI_DONE ? cli_run_best(&r, until, &row) : HUGE_VAL;
    cli_run_clear(&r);
    return code;
}

/* Keeps the better half of the runs, in the order of their numbers. */
static CliExit halve(RelnCtx *ctx, const Sweep *s, double until, int *n, int *list)
{
    double scores[MOST_RUNS];
    const int keep = (*n + 1) / 2;
    int kept = 0;

    for (int i = 0; i < *n; i++) {
        const CliExit code = score_of(ctx, s, list[i], until, &scores[i]);

        if (code != CLI_DONE)
            return code;
    }
    for (int i = 0; i < *n; i++) {
        int better = 0;

        for (int j = 0; j < *n; j++)
            better += scores[j] < scores[i] || (scores[j] == scores[i] && j < i);
        if (better < keep)
            list[kept++] = list[i];
    }
    *n = kept;
    return CLI_DONE;
}

static CliExit climb(RelnCtx *ctx, const Sweep *s)
{
    int list[MOST_RUNS], n = s->n_runs, rungs = 0;
    CliExit code = CLI_DONE;

    for (int i = 0; i < n; i++)
        list[i] = i;
    while (s->args->halving && n >> (rungs + 1) > 0 && s->length / pow(2, rungs + 1) >= 1)
        rungs++;
    for (int r = rungs; r >= 0 && code == CLI_DONE && !cli_asked_to_stop(); r--) {
        const double until = ceil(s->length / pow(2, r));

        code = train(ctx, s, n, list, until);
        if (r > 0 && code == CLI_DONE && !cli_asked_to_stop())
            code = halve(ctx, s, until, &n, list);
    }
    return code;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static CliExit print(RelnCtx *ctx, const Sweep *s, const CliRun *runs, int best, const char *page)
{
    RelnTable *table = NULL;
    RelnDoc *doc = NULL;
    CliExit code;
    int row;

    if (s->args->json) {
        if (reln_doc_create(ctx, &doc) != RELN_OK)
            return cli_fail(CLI_NOMEM, "out of memory");
        reln_doc_set_number(doc, reln_doc_root_map(doc), "runs", s->n_runs);
        reln_doc_set_text(doc, reln_doc_root_map(doc), "best", runs[best].folder);
        reln_doc_set_number(doc, reln_doc_root_map(doc), "score",
                            cli_run_best(&runs[best], HUGE_VAL, &row));
        return cli_print_doc(doc, reln_doc_root_map(doc));
    }
    if (reln_table_create(ctx, &table) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory");
    code = cli_runs_table(ctx, s->n_runs, runs, table);
    if (code == CLI_DONE && !s->args->quiet)
        code = cli_print_table(ctx, table);
    if (!s->args->quiet)
        printf("best %s\nreport %s\n", runs[best].folder, page);
    reln_table_destroy(table);
    return code;
}

static CliExit finish(RelnCtx *ctx, const Sweep *s)
{
    CliRun *runs = calloc((size_t)s->n_runs, sizeof *runs);
    char path[PATH];
    CliExit code = runs ? CLI_DONE : cli_fail(CLI_NOMEM, "out of memory");
    int best = 0, row;

    for (int i = 0; i < s->n_runs && code == CLI_DONE; i++) {
        folder_of(s, i, path);
        code = cli_run_read(ctx, path, &runs[i]);
        if (cli_run_best(&runs[i], HUGE_VAL, &row) < cli_run_best(&runs[best], HUGE_VAL, &row))
            best = i;
    }
    snprintf(path, sizeof path, "%s/report.html", s->folder);
    if (code == CLI_DONE)
        code = cli_runs_page(ctx, "A sweep", s->n_runs, runs, path);
    if (code == CLI_DONE)
        code = print(ctx, s, runs, best, path);
    for (int i = 0; i < s->n_runs && runs; i++)
        cli_run_clear(&runs[i]);
    free(runs);
    return code;
}

static CliExit run(RelnCtx *ctx, const CliArgs *args)
{
    Sweep *s = calloc(1, sizeof *s);
    CliExit code;

    if (!s)
        return cli_fail(CLI_NOMEM, "out of memory");
    s->args = args;
    s->folder = args->out ? args->out : "sweep";
    code = args->n_operands == 2 ? CLI_DONE : cli_fail(CLI_USAGE, "sweep: wanted SPEC and DATA");
    if (code == CLI_DONE && !cli_progress_how(args, &s->how))
        code = CLI_USAGE;
    if (code == CLI_DONE)
        code = plan(ctx, s);
    if (code == CLI_DONE)
        code = check(ctx, s);
    if (code == CLI_DONE)
        code = enter(ctx, s);
    cli_catch_signals();
    if (code == CLI_DONE)
        code = climb(ctx, s);
    if (code == CLI_DONE && cli_asked_to_stop()) {
        fprintf(stderr, "reln: stopped; the same command goes on\n");
        code = cli_exit_of_signal();
    } else if (code == CLI_DONE) {
        code = finish(ctx, s);
    }
    free(s);
    return code;
}

const CliCommand cli_cmd_sweep = {
    .name = "sweep",
    .synopsis =
        "sweep SPEC DATA --over KEY=VALUES... [--random N] [--halving] [--jobs N] [--out DIR]",
    .purpose = "train a SPEC with many settings, and compare",
    .help = help,
    .options = CLI_OUT | CLI_SET | CLI_SWEEP | CLI_JOBS | CLI_PROGRESS,
    .max_operands = 2,
    .run = run,
};
