/* cmd_predict.c -- `reln predict`: predictions of a trained model for arrays. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char help[] =
    "Runs a trained model on every sample of DATA and writes an array with each target's name: a\n"
    "number, vector or matrix for each sample, in the units of the data; for classes the\n"
    "probabilities, and the most probable one as NAME_class; with uncertainty the variance as\n"
    "NAME_variance or NAME_covariance. Targets need not be in DATA.\n"
    "\n"
    "  reln predict run new.npz               writes predictions.npz\n"
    "  reln predict run new.npz --out y.npy   one array as .npy\n"
    "  reln predict run/model.safetensors new.npz --json\n";

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Writes the most probable class for all probabilities along the last axis; -1 where no point is. */
static void best_classes(const RelnArray *p, int64_t *labels)
{
    const ptrdiff_t size = p->dims[p->rank - 1];

    for (ptrdiff_t i = 0; i < reln_array_count(p) / size; i++) {
        const double *y = p->f64 + i * size;

        labels[i] = 0;
        for (ptrdiff_t j = 1; j < size; j++)
            if (y[j] > y[labels[i]])
                labels[i] = j;
        if (!(y[labels[i]] > 0))
            labels[i] = -1;
    }
}

/* A Written holds all arrays that are written: predictions, and labels of classes. */
typedef struct Written {
    int n, n_predicted;
    RelnArray arrays[2 * RELN_PREDICT_MOST];
    char names[RELN_PREDICT_MOST][RELN_SPEC_NAME + 16];
} Written;

/* Adds the most probable class for every target of classes; returns false when memory is out. */
static bool add_labels(const RelnModel *model, Written *w)
{
    const RelnSpec *spec = reln_model_spec(model);

    w->n = w->n_predicted;
    for (int t = 0; t < spec->n_targets; t++)
        for (int i = 0; i < w->n_predicted; i++) {
            const RelnArray *p = &w->arrays[i];
            int64_t *labels;

            if (spec->target[t].as != RELN_TARGET_CLASS ||
                strcmp(p->name, spec->target[t].name) != 0)
                continue;
            labels = malloc(((size_t)reln_array_count(p) + 1) * sizeof *labels);
            if (!labels)
                return false;
            best_classes(p, labels);
            snprintf(w->names[t], sizeof w->names[t], "%s_class", p->name);
            w->arrays[w->n] = (RelnArray)RELN_ARRAY(w->names[t], RELN_I64, labels, p->dims[0]);
            w->arrays[w->n].rank = p->rank - 1;
            for (int k = 1; k < p->rank - 1; k++)
                w->arrays[w->n].dims[k] = p->dims[k];
            w->n++;
        }
    return true;
}

static void clear(Written *w)
{
    for (int i = 0; i < w->n_predicted; i++)
        reln_array_clear(&w->arrays[i]);
    for (int i = w->n_predicted; i < w->n; i++)
        free(w->arrays[i].values);
}

static void put_shape(RelnDoc *doc, RelnDocNode *map, const char *key, const RelnArray *p)
{
    RelnDocNode *shape = reln_doc_set(doc, map, key, reln_doc_list(doc));

    for (int a = 0; a < p->rank; a++)
        reln_doc_set_number(doc, shape, NULL, (double)p->dims[a]);
}

static CliExit print_json(RelnCtx *ctx, const char *path, const Written *w)
{
    RelnDoc *doc = NULL;
    RelnDocNode *root, *map;

    if (reln_doc_create(ctx, &doc) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory");
    root = reln_doc_root_map(doc);
    reln_doc_set_text(doc, root, "file", path);
    reln_doc_set_number(doc, root, "samples", (double)w->arrays[0].dims[0]);
    put_shape(doc, root, "shape", &w->arrays[0]);
    map = reln_doc_set(doc, root, "arrays", reln_doc_map(doc));
    for (int i = 0; i < w->n; i++)
        put_shape(doc, map, w->arrays[i].name, &w->arrays[i]);
    return cli_print_doc(doc, root);
}

static CliExit write_out(RelnCtx *ctx, const CliArgs *args, const RelnModel *model, Written *w)
{
    const char *path = args->out ? args->out : "predictions.npz";
    const bool npy = ends_with(path, ".npy");
    RelnStatus status;

    if (npy && w->n_predicted > 1)
        return cli_fail(CLI_USAGE,
                        "%s: the model predicts %d arrays, and a .npy holds one; wanted "
                        "a .npz",
                        path, w->n_predicted);
    if (!npy && !add_labels(model, w))
        return cli_fail(CLI_NOMEM, "out of memory");
    status =
        npy ? reln_npy_save(ctx, path, &w->arrays[0]) : reln_npz_save(ctx, path, w->n, w->arrays);
    if (status != RELN_OK)
        return cli_fail(cli_exit_of(status), "%s", reln_ctx_error(ctx));
    if (npy)
        w->n = 1;
    if (args->json)
        return print_json(ctx, path, w);
    if (!args->quiet)
        printf("%td predictions in %s\n", w->arrays[0].dims[0], path);
    return CLI_DONE;
}

static CliExit run(RelnCtx *ctx, const CliArgs *args)
{
    RelnModel *model = NULL;
    Written w = {0};
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
        status = reln_predict_targets(model, args->operands[1], cli_threads(args),
                                      RELN_PREDICT_MOST, w.arrays, &w.n_predicted);
    w.n = w.n_predicted;
    cli_note_units(model);
    code = status == RELN_OK
               ? write_out(ctx, args, model, &w)
               : cli_fail(status == RELN_ERR_NUMERIC ? CLI_NUMERIC : cli_exit_of(status), "%s",
                          reln_ctx_error(ctx));
    clear(&w);
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
