/* cmd_eval.c -- `reln eval`: how good a trained model is on arrays with known targets. */
#include <math.h>

#include "cli/cli.h"

static const char help[] =
    "Compares predictions with the target in DATA. `loss` is the one it was trained with, in its\n"
    "units; mse, mae and r2 are those of single numbers in the units of the data. Classes have\n"
    "accuracy, areas under curves, calibration and scores for each class, with bootstrap errors\n"
    "(--seed chooses the draws), and a confusion matrix. MODEL may be the folder of a run that is\n"
    "going on: the best model so far is judged.\n"
    "\n"
    "  reln eval run test.npz\n"
    "  reln eval run test.npz --json          {\"samples\": 1000, \"loss\": ..., \"mse\": ..., "
    "...}\n";

/* List the names and values of the metrics that exist. */
static int list(const RelnMetrics *m, const char *names[5], double values[5])
{
    const char *const all[] = {"loss", "mse", "mae", "r2", "accuracy"};
    const double numbers[] = {m->loss, m->mse, m->mae, m->r2, m->accuracy};
    int n = 0;

    for (int i = 0; i < 5; i++)
        if (i == 0 || !isnan(numbers[i])) {
            names[n] = all[i];
            values[n++] = numbers[i];
        }
    return n;
}

static CliExit print_json(RelnCtx *ctx, const RelnMetrics *m)
{
    const char *names[5];
    double values[5];
    const int n = list(m, names, values);
    RelnDoc *doc = NULL;

    if (reln_doc_create(ctx, &doc) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory");
    reln_doc_set_number(doc, reln_doc_root_map(doc), "samples", (double)m->n_samples);
    for (int i = 0; i < n; i++)
        reln_doc_set_number(doc, reln_doc_root_map(doc), names[i], values[i]);
    return cli_print_doc(doc, reln_doc_root_map(doc));
}

static void print_text(const RelnMetrics *m)
{
    const char *names[5];
    double values[5];
    const int n = list(m, names, values);

    printf("%-10s %td\n", "samples", m->n_samples);
    for (int i = 0; i < n; i++)
        printf("%-10s %.6g\n", names[i], values[i]);
}

/* Print one table after another, each made by its function. */
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

enum { MOST_SHOWN = 20 }; /* classes; of more, scripts get the matrix */

static CliExit print_classes(RelnCtx *ctx, const CliArgs *args, const RelnSpecTarget *target,
                             const RelnMetrics *m, const RelnScores *s)
{
    RelnDoc *doc = NULL;
    CliExit code = CLI_DONE;

    if (args->json) {
        if (reln_doc_create(ctx, &doc) != RELN_OK)
            return cli_fail(CLI_NOMEM, "out of memory");
        reln_doc_set_number(doc, reln_doc_root_map(doc), "samples", (double)m->n_samples);
        reln_doc_set_number(doc, reln_doc_root_map(doc), "loss", m->loss);
        reln_scores_doc(s, target, doc, reln_doc_root_map(doc));
        return cli_print_doc(doc, reln_doc_root_map(doc));
    }
    printf("%-10s %td\n%-10s %.6g\n", "samples", m->n_samples, "loss", m->loss);
    for (int which = 0; which < 3 && code == CLI_DONE; which++) {
        if (which == 2 && s->n_classes > MOST_SHOWN)
            break;
        putchar('\n');
        code = show(ctx, s, target, which);
    }
    return code;
}

static CliExit print_numbers(RelnCtx *ctx, const CliArgs *args, const RelnMetrics *m)
{
    if (args->json)
        return print_json(ctx, m);
    print_text(m);
    return CLI_DONE;
}

static CliExit run(RelnCtx *ctx, const CliArgs *args)
{
    RelnModel *model = NULL;
    RelnMetrics m;
    RelnScores scores = {0};
    RelnDtype dtype;
    bool reference;
    bool classes;
    RelnStatus status;
    CliExit code;

    if (args->n_operands != 2)
        return cli_fail(CLI_USAGE, "eval: wanted MODEL and DATA");
    if (!cli_dtype(args, &dtype) || !cli_reference(args, &reference))
        return CLI_USAGE;
    status = reln_model_load(ctx, args->operands[0], dtype, &model);
    reln_model_use_reference(model, reference);
    if (status == RELN_OK)
        status = reln_evaluate(model, args->operands[1], cli_threads(args), &m);
    classes = model && reln_model_spec(model)->target.as == RELN_TARGET_CLASS;
    if (status == RELN_OK && classes)
        status = reln_evaluate_classes(model, args->operands[1], cli_threads(args),
                                       args->seed_given ? args->seed : 1, &scores);
    cli_note_untrained(model);
    cli_note_units(model);
    if (status != RELN_OK)
        code = cli_fail(status == RELN_ERR_NUMERIC ? CLI_NUMERIC : cli_exit_of(status), "%s",
                        reln_ctx_error(ctx));
    else if (classes)
        code = print_classes(ctx, args, &reln_model_spec(model)->target, &m, &scores);
    else
        code = print_numbers(ctx, args, &m);
    reln_scores_clear(&scores);
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
