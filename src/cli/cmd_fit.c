/* cmd_fit.c -- `reln fit`: trains a model on the user's arrays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/launch.h"
#include "cli/progress.h"

static const char help[] =
    "Trains an equivariant network on your arrays. SPEC says which arrays are inputs, how they\n"
    "transform and what to learn; DATA is a .npz, a folder of .npy, a .safetensors, an .h5, a .csv "
    "or\n"
    "any other file that reln data shows. Without a SPEC, begin with a draft: reln data FILE "
    "--spec.\n"
    "The folder then holds model.safetensors, results.json, metrics.csv and report.html, and a\n"
    "checkpoint: after Ctrl-C, a crash or a power cut `--resume` continues the run and ends with "
    "the\n"
    "same weights, to the bit.\n"
    "\n"
    "  reln data data.npz --spec > spec.yaml  a SPEC for these arrays, to start from\n"
    "  reln fit --print-spec > spec.yaml      a SPEC with every key explained\n"
    "  reln fit spec.yaml data.npz            into the folder run\n"
    "  reln fit spec.yaml data.npz --out a    into the folder a\n"
    "  reln fit spec.yaml 'part-*.h5'         the rows of several files, by their names\n"
    "  mpirun -n 4 reln fit spec.yaml data.npz    four processes, the same weights\n"
    "  reln fit --resume a                    continue the run\n"
    "  reln fit spec.yaml data.npz --set train.lr=1e-3 --set model.width=32\n"
    "  reln eval a test.npz                   its errors on other data\n"
    "  reln fit spec.yaml data.npz --folds 5  cross-validation; the same command resumes it\n"
    "\n"
    "A SPEC, for pairs of matrices whose frame may change by any g in GL(3):\n"
    "\n"
    "  symmetry: gl:3\n"
    "  inputs:\n"
    "    - {name: X, as: matrix}              array X in DATA, shape (N, 3, 3)\n"
    "    - {name: Y, as: matrix}\n"
    "  target: {name: y, as: scalar}          array y, shape (N,)\n"
    "  model: {width: 64, depth: 2}\n"
    "  train: {epochs: 60, batch: 100, lr: 1e-3, schedule: cosine}\n";

typedef struct Watch {
    CliProgress progress;
    const RelnFit *fit;
    bool validated; /* there are validation samples, so scores are not those of training */
    bool class;
    uint64_t steps_per_epoch;
    uint64_t until; /* epoch after which to pause; 0: none */
} Watch;

/* Prints an evaluation as a line of a log. */
static void show_row(Watch *watch, const RelnTrainProgress *p)
{
    const RelnTrainRow *row = p->row;
    const RelnFitResult r = reln_fit_result(watch->fit);
    char text[192], time[64], accuracy[32] = "";

    cli_duration(row->seconds, time, 32);
    if (r.streamed)
        snprintf(time + strlen(time), 32, "  waited %.1f %%", 100 * r.waited);
    if (watch->class && row->evaluation.n_metrics > 0)
        snprintf(accuracy, sizeof accuracy, " accuracy %.4f", row->evaluation.metrics[0]);
    if (watch->validated)
        snprintf(text, sizeof text, "epoch %-6.5g loss %-10.4g validation %-10.4g%s  %s%s",
                 (double)row->step / (double)watch->steps_per_epoch, row->loss,
                 row->evaluation.score, accuracy, time, row->best ? "  best" : "");
    else
        snprintf(text, sizeof text, "epoch %-6.5g loss %-10.4g  %s",
                 (double)row->step / (double)watch->steps_per_epoch, row->loss, time);
    cli_progress_line(&watch->progress, text);
}

static bool observe(void *self, const RelnTrainProgress *p)
{
    Watch *watch = self;
    char text[96];

    if (p->row && watch->validated)
        snprintf(text, sizeof text, "loss %.4g  validation %.4g", p->loss,
                 p->row->evaluation.score);
    else
        snprintf(text, sizeof text, "loss %.4g", p->loss);
    cli_progress_show(&watch->progress, p->step, p->n_steps, text);
    if (p->evaluated)
        show_row(watch, p);
    return watch->until == 0 || p->step < watch->until * watch->steps_per_epoch;
}

static void phase(void *self, const char *what)
{
    Watch *watch = self;
    char text[96];

    snprintf(text, sizeof text, "trained; now %s", what);
    cli_progress_phase(&watch->progress, text);
}

static bool asked(void *self)
{
    (void)self;
    return cli_asked_to_stop() != 0;
}

static CliExit print_spec(RelnCtx *ctx)
{
    const size_t length = reln_spec_template(NULL, 0);
    char *text = malloc(length + 1);

    (void)ctx;
    if (!text)
        return cli_fail(CLI_NOMEM, "out of memory");
    reln_spec_template(text, length + 1);
    fputs(text, stdout);
    free(text);
    return CLI_DONE;
}

static const char *end_text(RelnTrainEnd end)
{
    static const char *const texts[] = {"going", "done", "patience", "asked", "diverged"};

    return texts[end];
}

static CliExit print_json(RelnCtx *ctx, const char *folder, const RelnFitResult *r)
{
    RelnDoc *doc = NULL;
    RelnDocNode *root;

    if (reln_doc_create(ctx, &doc) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory");
    root = reln_doc_root_map(doc);
    reln_doc_set_text(doc, root, "folder", folder);
    reln_doc_set_text(doc, root, "end", end_text(r->end));
    reln_doc_set_number(doc, root, "step", (double)r->step);
    reln_doc_set_number(doc, root, "steps", (double)r->n_steps);
    reln_doc_set_number(doc, root, "parameters", (double)r->parameters);
    reln_doc_set_number(doc, root, "seconds", r->seconds);
    reln_doc_set_number(doc, root, "validation_loss",
                        r->best ? r->best->evaluation.score : (double)NAN);
    reln_doc_set_number(doc, root, "best_step", r->best ? (double)r->best->step : (double)NAN);
    reln_doc_set_number(doc, root, "waited", r->waited);
    reln_doc_set_number(doc, root, "planned_bytes", (double)r->planned_bytes);
    reln_doc_set_number(doc, root, "peak_bytes", (double)r->peak_bytes);
    return cli_print_doc(doc, root);
}

static void print_rank(int rank, const RelnFitRank *r)
{
    printf("rank %d: %llu shards, %.3f MB read, waited %.1f %%; %.3f MB sent in %llu messages, "
           "exchanging %.1f %%; memory %.1f MB\n",
           rank, (unsigned long long)r->shards, 1e-6 * (double)r->bytes_read, 100 * r->waited,
           1e-6 * (double)r->bytes_sent, (unsigned long long)r->messages, 100 * r->exchanged,
           1e-6 * (double)r->peak_bytes);
}

static void print_text(const char *folder, const RelnFitResult *r)
{
    char duration[32];

    cli_duration(r->seconds, duration, sizeof duration);
    printf("%llu of %llu steps in %s, %zu parameters, %td samples (+ %td for validation)\n",
           (unsigned long long)r->step, (unsigned long long)r->n_steps, duration, r->parameters,
           r->n_train, r->n_validation);
    if (r->best)
        printf("%s loss %.6g at epoch %.4g%s\n", r->n_validation > 0 ? "validation" : "training",
               r->best->evaluation.score, (double)r->best->step / (double)r->steps_per_epoch,
               r->end == RELN_TRAIN_PATIENCE ? "; stopped early, it got no better" : "");
    if (r->streamed)
        printf("waited %.1f %% of the time for data, which are read batch by batch\n",
               100 * r->waited);
    for (int i = 0; i < r->n_ranks && r->n_ranks > 1; i++)
        print_rank(i, &r->ranks[i]);
    printf("memory %.1f MB (planned %.1f MB)\n", 1e-6 * (double)r->peak_bytes,
           1e-6 * (double)r->planned_bytes);
    printf("report %s/report.html\n", folder);
}

/* Prints one line about a diverged run and its files. */
static CliExit diverged(const char *folder, const RelnFitResult *r)
{
    if (!r->best)
        return cli_fail(CLI_NUMERIC,
                        "diverged: loss or gradient were not finite at step %llu, before an "
                        "evaluation gave a number; there is no model in %s",
                        (unsigned long long)r->step, folder);
    return cli_fail(CLI_NUMERIC,
                    "diverged: loss or gradient were not finite at step %llu; the model in %s is "
                    "that of the best evaluation, at step %llu",
                    (unsigned long long)r->step, folder, (unsigned long long)r->best->step);
}

static CliExit train(RelnCtx *ctx, RelnFit *fit, const CliArgs *args, CliShow how,
                     const char *folder, Watch *watch)
{
    RelnTrainEnd end;
    RelnFitResult r = reln_fit_result(fit);
    CliExit code = CLI_DONE;
    RelnStatus status;

    if (r.note[0] != '\0')
        fprintf(stderr, "reln: note: %s\n", r.note);
    watch->progress = cli_progress_begin_as(how, r.step);
    watch->fit = fit;
    watch->validated = r.n_validation > 0;
    watch->class = reln_model_targets(reln_fit_model(fit)) == 1 &&
                   reln_model_spec(reln_fit_model(fit))->target[0].as == RELN_TARGET_CLASS;
    watch->steps_per_epoch = r.steps_per_epoch;
    watch->until = args->until;
    status = reln_fit_run(fit, &end);
    cli_progress_end(&watch->progress);
    if (status != RELN_OK)
        return cli_fail(cli_exit_of(status), "%s", reln_ctx_error(ctx));
    r = reln_fit_result(fit);
    if (r.warning[0] != '\0' && !args->quiet)
        fprintf(stderr, "reln: note: %s\n", r.warning);
    if (end == RELN_TRAIN_ASKED && !cli_asked_to_stop()) { /* the pause of --until */
        if (!args->quiet)
            printf("paused at step %llu of %llu; go on with: reln fit --resume %s\n",
                   (unsigned long long)r.step, (unsigned long long)r.n_steps, folder);
        return CLI_DONE;
    }
    if (end == RELN_TRAIN_ASKED) {
        fprintf(stderr, "reln: stopped at step %llu of %llu; go on with: reln fit --resume %s\n",
                (unsigned long long)r.step, (unsigned long long)r.n_steps, folder);
        if (r.best && !args->quiet)
            fprintf(stderr, "reln: the best model so far, of step %llu, is in %s\n",
                    (unsigned long long)r.best->step, folder);
        return cli_exit_of_signal();
    }
    if (end == RELN_TRAIN_DIVERGED && !r.best)
        return diverged(folder, &r);
    if (args->json)
        code = print_json(ctx, folder, &r);
    else if (!args->quiet)
        print_text(folder, &r);
    return end == RELN_TRAIN_DIVERGED ? diverged(folder, &r) : code;
}

CliExit cli_fit_in(RelnCtx *ctx, const CliArgs *args, const char *folder, bool resume,
                   const char *set)
{
    Watch watch = {0};
    const char *sets[CLI_MAX_SETS + 1];
    RelnFitOptions options = {.folder = folder,
                              .threads = cli_threads(args),
                              .seed_given = args->seed_given,
                              .seed = args->seed,
                              .n_set = args->sets.n + (set != NULL),
                              .set = sets,
                              .from = args->from,
                              .self = &watch,
                              .observe = observe,
                              .asked = asked,
                              .phase = phase,
                              .comm = cli_comm(),
                              .no_check = args->no_check};
    RelnFit *fit = NULL;
    CliShow how;
    RelnStatus status;
    CliExit code;

    for (int i = 0; i < args->sets.n; i++)
        sets[i] = args->sets.items[i];
    sets[args->sets.n] = set;
    if (!cli_reference(args, &options.reference) || !cli_progress_how(args, &how))
        return CLI_USAGE;
    cli_catch_signals();
    status = resume ? reln_fit_resume(ctx, &options, &fit)
                    : reln_fit_open(ctx, args->operands[0], args->operands[1], &options, &fit);
    if (status != RELN_OK)
        return cli_fail(cli_exit_of(status), "%s", reln_ctx_error(ctx));
    code = train(ctx, fit, args, how, folder, &watch);
    reln_fit_close(fit);
    return code;
}

static CliExit run(RelnCtx *ctx, const CliArgs *args)
{
    const char *folder = args->resume ? args->resume : args->out ? args->out : "run";

    if (args->print_spec)
        return print_spec(ctx);
    if (args->folds && args->resume)
        return cli_fail(CLI_USAGE,
                        "fit: with --folds the same command goes on; leave out --resume");
    if (args->resume ? args->n_operands != 0 : args->n_operands != 2)
        return cli_fail(CLI_USAGE, "fit: wanted SPEC and DATA, or --resume DIR alone");
    if (args->resume &&
        (args->seed_given || args->from || args->out || args->kernels || args->sets.n > 0))
        return cli_fail(
            CLI_USAGE,
            "fit: --resume takes SPEC, seed, folder and kernels from the run; leave them out");
    return args->folds ? cli_fit_folds(ctx, args)
                       : cli_fit_in(ctx, args, folder, args->resume != NULL, NULL);
}

const CliCommand cli_cmd_fit = {
    .name = "fit",
    .synopsis = "fit SPEC DATA [--out DIR] [--folds N|ARRAY]\nfit --resume DIR\nfit --print-spec",
    .purpose = "train a network on your own arrays",
    .help = help,
    .options = CLI_OUT | CLI_RESUME | CLI_PRINT_SPEC | CLI_KERNELS | CLI_PROGRESS | CLI_SET |
               CLI_NO_CHECK | CLI_UNTIL | CLI_FOLDS | CLI_FROM,
    .max_operands = 2,
    .ranks = true,
    .run = run,
};
