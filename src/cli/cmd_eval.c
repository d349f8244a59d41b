/* cmd_eval.c -- `reln eval`: how good a trained model is on arrays with known targets. */
#include <math.h>

#include "cli/cli.h"

static const char help[] =
    "Compares predictions with the target in DATA. `loss` is the one it was trained with, in its\n"
    "units; mse, mae and r2 are those of single numbers in the units of the data; classes have an\n"
    "accuracy.\n"
    "\n"
    "  reln eval run test.npz\n"
    "  reln eval run test.npz --json          {\"samples\": 1000, \"loss\": ..., \"mse\": ..., "
    "...}\n";

/* Names and values, those that there are. */
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

static CliExit run(RelnCtx *ctx, const CliArgs *args)
{
    RelnModel *model = NULL;
    RelnMetrics m;
    RelnDtype dtype;
    bool reference;
    RelnStatus status;

    if (args->n_operands != 2)
        return cli_fail(CLI_USAGE, "eval: wanted MODEL and DATA");
    if (!cli_dtype(args, &dtype) || !cli_reference(args, &reference))
        return CLI_USAGE;
    status = reln_model_load(ctx, args->operands[0], dtype, &model);
    reln_model_use_reference(model, reference);
    if (status == RELN_OK)
        status = reln_evaluate(model, args->operands[1], cli_threads(args), &m);
    reln_model_destroy(model);
    if (status != RELN_OK)
        return cli_fail(status == RELN_ERR_NUMERIC ? CLI_NUMERIC : cli_exit_of(status), "%s",
                        reln_ctx_error(ctx));
    if (args->json)
        return print_json(ctx, &m);
    print_text(&m);
    return CLI_DONE;
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
