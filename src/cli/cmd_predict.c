/* cmd_predict.c -- `reln predict`: predictions of a trained model for arrays. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char help[] =
    "Runs a trained model on every sample of DATA and writes an array with the target's name: a\n"
    "number, vector or matrix for each sample, in the units of the data; for classes the\n"
    "probabilities, and the most probable one as <name>_class. The target need not be in DATA.\n"
    "\n"
    "  reln predict run new.npz               writes predictions.npz\n"
    "  reln predict run new.npz --out y.npy   one array as .npy\n"
    "  reln predict run/model.safetensors new.npz --json\n";

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static void best_classes(const RelnArray *p, int64_t *labels)
{
    const ptrdiff_t size = reln_array_row_size(p);

    for (ptrdiff_t i = 0; i < p->dims[0]; i++) {
        const double *y = p->f64 + i * size;

        labels[i] = 0;
        for (ptrdiff_t j = 1; j < size; j++)
            if (y[j] > y[labels[i]])
                labels[i] = j;
    }
}

static RelnStatus write_npz(RelnCtx *ctx, const char *path, const RelnModel *model,
                            const RelnArray *p, int64_t *labels)
{
    const bool class = reln_model_spec(model)->target.as == RELN_TARGET_CLASS;
    char name[RELN_SPEC_NAME + 16];
    const RelnArray arrays[2] = {*p, RELN_ARRAY(name, RELN_I64, labels, p->dims[0])};

    snprintf(name, sizeof name, "%s_class", p->name);
    if (class)
        best_classes(p, labels);
    return reln_npz_save(ctx, path, class ? 2 : 1, arrays);
}

static CliExit print_json(RelnCtx *ctx, const char *path, const RelnArray *p)
{
    RelnDoc *doc = NULL;
    RelnDocNode *root, *shape;

    if (reln_doc_create(ctx, &doc) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory");
    root = reln_doc_root_map(doc);
    reln_doc_set_text(doc, root, "file", path);
    reln_doc_set_number(doc, root, "samples", (double)p->dims[0]);
    shape = reln_doc_set(doc, root, "shape", reln_doc_list(doc));
    for (int a = 0; a < p->rank; a++)
        reln_doc_set_number(doc, shape, NULL, (double)p->dims[a]);
    return cli_print_doc(doc, root);
}

static CliExit write_out(RelnCtx *ctx, const CliArgs *args, const RelnModel *model,
                         const RelnArray *p)
{
    const char *path = args->out ? args->out : "predictions.npz";
    int64_t *labels = malloc(((size_t)p->dims[0] + 1) * sizeof *labels);
    RelnStatus status = labels ? RELN_OK : RELN_ERR_NOMEM;

    if (labels)
        status = ends_with(path, ".npy") ? reln_npy_save(ctx, path, p)
                                         : write_npz(ctx, path, model, p, labels);
    free(labels);
    if (status != RELN_OK)
        return cli_fail(cli_exit_of(status), "%s", labels ? reln_ctx_error(ctx) : "out of memory");
    if (args->json)
        return print_json(ctx, path, p);
    if (!args->quiet)
        printf("%td predictions in %s\n", p->dims[0], path);
    return CLI_DONE;
}

static CliExit run(RelnCtx *ctx, const CliArgs *args)
{
    RelnModel *model = NULL;
    RelnArray p = {0};
    RelnDtype dtype;
    bool reference;
    RelnStatus status;
    CliExit code;

    if (args->n_operands != 2)
        return cli_fail(CLI_USAGE, "predict: wanted MODEL and DATA");
    if (!cli_dtype(args, &dtype) || !cli_reference(args, &reference))
        return CLI_USAGE;
    status = reln_model_load(ctx, args->operands[0], dtype, &model);
    reln_model_use_reference(model, reference);
    cli_note_untrained(model);
    if (status == RELN_OK)
        status = reln_predict(model, args->operands[1], cli_threads(args), &p);
    cli_note_units(model);
    code = status == RELN_OK
               ? write_out(ctx, args, model, &p)
               : cli_fail(status == RELN_ERR_NUMERIC ? CLI_NUMERIC : cli_exit_of(status), "%s",
                          reln_ctx_error(ctx));
    reln_array_clear(&p);
    reln_model_destroy(model);
    return code;
}

const CliCommand cli_cmd_predict = {
    .name = "predict",
    .synopsis = "predict MODEL DATA [--out FILE.npz|FILE.npy] [--dtype f32|f64]",
    .purpose = "predictions of a trained model",
    .help = help,
    .options = CLI_OUT | CLI_DTYPE | CLI_KERNELS,
    .max_operands = 2,
    .run = run,
};
