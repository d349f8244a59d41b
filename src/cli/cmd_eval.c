/* cmd_eval.c -- `reln eval`: the errors of a trained model on arrays with known targets. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "kit/metrics.h"

static const char help[] =
    "Compares predictions with the targets in DATA. `loss` is the training loss, in its units; "
    "mse,\n"
    "mae and r2 are those of single numbers in the units of the data. For classes it prints "
    "accuracy,\n"
    "areas under curves, calibration and scores of each class, with bootstrap errors (--seed "
    "chooses\n"
    "the draws), and a confusion matrix. With a variance: nll, minus the logarithm of the "
    "density;\n"
    "nees, the squared error in units of the variance, 1 if the variance is right; coverage, the "
    "share\n"
    "of true values in regions that should hold nine tenths of them. MODEL may be the folder of a\n"
    "running run: the best model so far is used.\n"
    "\n"
    "  reln eval run test.npz\n"
    "  reln eval run test.npz --dtype f64     computed in double precision\n"
    "  reln eval run test.npz --json          {\"samples\": 1000, \"loss\": ..., \"mse\": ..., "
    "...}\n";

/* A Found holds the results for all targets. */
typedef struct Found {
    const RelnSpec *spec;
    RelnMetrics all, each[RELN_SPEC_TARGETS];
    RelnScores scores[RELN_SPEC_TARGETS]; /* for targets of classes; n_samples 0: another target */
} Found;

static void print_text(const RelnMetrics *m)
{
    const char *names[RELN_METRICS];
    double values[RELN_METRICS];
    const int n = reln_metrics_list(m, names, values);

    for (int i = 0; i < n; i++)
        printf("%-10s %.6g\n",
               strcmp(names[i], "calibration_error") == 0 ? "calibration" : names[i], values[i]);
    for (int i = 0; i < m->n_quantiles; i++)
        printf("below q%-3.4g %.6g\n", m->quantile[i], m->below[i]);
}

/* Prints one table after another, each made by its function. */
static CliExit show(RelnCtx *ctx, const RelnScores *s, const RelnSpecTarget *target, int which)
{
    RelnTable *table = NULL;
    CliExit code;

    if (reln_table_create(ctx, &table) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory");
    if (which == 0)
        reln_scores_summary(s, table);
    else if (which == 1)
        reln_scores_classes(s, target, table);
    else
        reln_scores_confusion(s, target, table);
    code = cli_print_table(ctx, table);
    reln_table_destroy(table);
    return code;
}

enum { MOST_SHOWN = 20 }; /* number of classes; with more, only --json has the matrix */

static CliExit print_scores(RelnCtx *ctx, const RelnSpecTarget *target, const RelnScores *s)
{
    CliExit code = CLI_DONE;

    for (int which = 0; which < 3 && code == CLI_DONE; which++) {
        if (which == 2 && s->n_classes > MOST_SHOWN)
            break;
        putchar('\n');
        code = show(ctx, s, target, which);
    }
    return code;
}

static void put_target(const Found *f, int t, RelnDoc *doc, RelnDocNode *map)
{
    if (f->scores[t].n_samples > 0) {
        reln_doc_set_number(doc, map, "loss", f->each[t].loss);
        reln_scores_doc(&f->scores[t], &f->spec->target[t], doc, map);
    } else {
        reln_metrics_doc(&f->each[t], doc, map);
    }
}

static CliExit print_json(RelnCtx *ctx, const Found *f)
{
    RelnDoc *doc = NULL;
    RelnDocNode *root, *map;

    if (reln_doc_create(ctx, &doc) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory");
    root = reln_doc_root_map(doc);
    reln_doc_set_number(doc, root, "samples", (double)f->all.n_samples);
    if (f->spec->n_targets == 1) {
        put_target(f, 0, doc, root);
        reln_doc_set_number(doc, root, "loss", f->all.loss);
        return cli_print_doc(doc, root);
    }
    reln_doc_set_number(doc, root, "loss", f->all.loss);
    map = reln_doc_set(doc, root, "targets", reln_doc_map(doc));
    for (int t = 0; t < f->spec->n_targets; t++)
        put_target(f, t, doc, reln_doc_set(doc, map, f->spec->target[t].name, reln_doc_map(doc)));
    return cli_print_doc(doc, root);
}

static CliExit print_people(RelnCtx *ctx, const Found *f)
{
    const bool several = f->spec->n_targets > 1;
    CliExit code = CLI_DONE;

    printf("%-10s %td\n", "samples", f->all.n_samples);
    if (several || f->scores[0].n_samples > 0)
        printf("%-10s %.6g\n", "loss", f->all.loss);
    for (int t = 0; t < f->spec->n_targets && code == CLI_DONE; t++) {
        if (several)
            printf("\n%s, %s\n", f->spec->target[t].name, reln_target_text(f->spec->target[t].as));
        if (f->scores[t].n_samples > 0)
            code = print_scores(ctx, &f->spec->target[t], &f->scores[t]);
        else
            print_text(several ? &f->each[t] : &f->all);
    }
    return code;
}

static RelnStatus find(RelnModel *model, const CliArgs *args, Found *f)
{
    const char *data = args->operands[1];
    RelnStatus status = reln_evaluate_targets(model, data, cli_threads(args), f->each);

    f->spec = reln_model_spec(model);
    f->all = f->each[0];
    f->all.loss = 0;
    for (int t = 0; t < f->spec->n_targets && status == RELN_OK; t++) {
        f->all.loss += f->spec->target[t].weight * f->each[t].loss;
        if (f->spec->target[t].as == RELN_TARGET_CLASS)
            status = reln_evaluate_classes_of(model, t, data, cli_threads(args),
                                              args->seed_given ? args->seed : 1, &f->scores[t]);
    }
    return status;
}

static CliExit run(RelnCtx *ctx, const CliArgs *args)
{
    RelnModel *model = NULL;
    Found *f;
    RelnDtype dtype;
    bool reference;
    RelnStatus status;
    CliExit code;

    if (args->n_operands != 2)
        return cli_fail(CLI_USAGE, "eval: wanted MODEL and DATA");
    if (!cli_dtype(args, &dtype) || !cli_reference(args, &reference))
        return CLI_USAGE;
    f = calloc(1, sizeof *f);
    if (!f)
        return cli_fail(CLI_NOMEM, "out of memory");
    status = reln_model_load(ctx, args->operands[0], dtype, &model);
    reln_model_use_reference(model, reference);
    if (status == RELN_OK)
        status = find(model, args, f);
    cli_note_untrained(model);
    cli_note_units(model);
    if (status != RELN_OK)
        code = cli_fail(status == RELN_ERR_NUMERIC ? CLI_NUMERIC : cli_exit_of(status), "%s",
                        reln_ctx_error(ctx));
    else
        code = args->json ? print_json(ctx, f) : print_people(ctx, f);
    for (int t = 0; t < RELN_SPEC_TARGETS; t++)
        reln_scores_clear(&f->scores[t]);
    free(f);
    reln_model_destroy(model);
    return code;
}

const CliCommand cli_cmd_eval = {
    .name = "eval",
    .synopsis = "eval MODEL DATA [--dtype f32|f64]",
    .purpose = "errors of a trained model on data with known targets",
    .help = help,
    .options = CLI_DTYPE | CLI_KERNELS,
    .max_operands = 2,
    .run = run,
};
