/* cmd_info.c -- `reln info`: the contents of a model file, and the cost of the model. */
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/progress.h"

static const char help[] =
    "Prints parameters, symmetry, inputs and their lifts, layers with their reps, and the cost "
    "of one\n"
    "prediction: FLOPs, bytes, memory. The cost is that of the plan that runs, for sets of full "
    "size.\n"
    "\n"
    "  reln info run\n"
    "  reln info run --graph                            the network, layer by layer\n"
    "  reln info run --graph --nodes                    and node by node\n"
    "  reln info run --dot | dot -Tsvg > network.svg    drawn by Graphviz\n"
    "  reln info run/model.safetensors --json\n";

typedef struct Info {
    RelnModel *model;
    RelnModelGraph net;
    RelnPlan *plan;
    RelnCost cost;
} Info;

static RelnStatus open_info(RelnCtx *ctx, const char *path, Info *info)
{
    RelnStatus status = reln_model_load(ctx, path, RELN_DEFAULT, &info->model);

    if (status == RELN_OK)
        status = reln_model_build(info->model, &(RelnModelOptions){.taps = true}, &info->net);
    if (status == RELN_OK)
        status = reln_plan_create(info->net.graph, NULL, &info->plan);
    if (status == RELN_OK)
        info->cost = reln_model_cost(info->model, info->plan);
    return status;
}

static void close_info(Info *info)
{
    reln_plan_destroy(info->plan);
    reln_model_graph_clear(&info->net);
    reln_model_destroy(info->model);
}

/* Returns the extents of a layer's output for one sample, with a full set if it has points. */
static RelnDims layer_dims(const Info *info, const RelnNode *node)
{
    RelnDims d = reln_node_dims(node);

    if (reln_node_domain(node) != RELN_SAMPLES)
        d.p = reln_model_items(info->model, node);
    return d;
}

static void shape_text(RelnDims d, char *text, size_t size)
{
    snprintf(text, size, "(%d, %d, %d, %d, %d)", d.p, d.q, d.r, d.k, d.c);
}

static CliExit print_json(RelnCtx *ctx, const Info *info)
{
    const RelnSpec *spec = reln_model_spec(info->model);
    RelnDoc *doc = NULL;
    RelnDocNode *root, *layers;

    if (reln_doc_create(ctx, &doc) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory");
    root = reln_doc_root_map(doc);
    reln_doc_set_text(doc, root, "kind", reln_model_kind_text(spec->model.kind));
    reln_doc_set_text(doc, root, "symmetry", reln_model_symmetry(info->model));
    reln_doc_set_text(doc, root, "features", reln_model_features(info->model));
    reln_doc_set_bool(doc, root, "promises", reln_model_promises(info->model));
    reln_doc_set_number(doc, root, "parameters", (double)reln_model_parameters(info->model));
    reln_doc_set_text(doc, root, "kernels", reln_kernels_text(false));
    reln_doc_set_number(doc, root, "points", reln_model_points(info->model));
    reln_doc_set_number(doc, root, "flops_step", info->cost.flops_step);
    reln_doc_set_number(doc, root, "flops_sample", info->cost.flops_sample);
    reln_doc_set_number(doc, root, "bytes_sample", info->cost.bytes_sample);
    reln_doc_set_number(doc, root, "bytes_worker", (double)info->cost.bytes_worker);
    reln_doc_set_number(doc, root, "bytes_shared", (double)info->cost.bytes_shared);
    layers = reln_doc_set(doc, root, "layers", reln_doc_list(doc));
    for (int t = 0; t < info->net.n_taps; t++) {
        const RelnNode *node = info->net.taps[t].node;
        const RelnDims d = layer_dims(info, node);
        RelnDocNode *layer = reln_doc_set(doc, layers, NULL, reln_doc_map(doc));

        reln_doc_set_text(doc, layer, "name", info->net.taps[t].name);
        reln_doc_set_text(doc, layer, "rep", reln_rep_name(reln_node_rep(node)));
        reln_doc_set_number(doc, layer, "points", d.p);
        reln_doc_set_number(doc, layer, "coordinates", d.k);
        reln_doc_set_number(doc, layer, "channels", d.c);
    }
    reln_doc_set(doc, root, "spec", reln_spec_to_doc(spec, doc));
    return cli_print_doc(doc, root);
}

/* Returns a text about the statistics that predictions use: those of training, so the prediction of a sample
 * does not depend on others. */
static const char *test_time(const RelnModel *model, char *text, size_t size)
{
    const RelnStore *store = reln_model_store(model);
    const bool dropout = reln_model_spec(model)->model.dropout > 0;
    int states = 0;

    for (int i = 0; i < reln_store_count(store); i++)
        states += reln_store_entry(store, i).kind == RELN_ENTRY_STATE;
    if (states == 0)
        snprintf(text, size, "no statistics: each sample by itself%s",
                 dropout ? ", no dropout" : "");
    else
        snprintf(text, size, "%d running statistics of training, as they are%s", states,
                 dropout ? "; no dropout" : "");
    return text;
}

static void print_head(const Info *info)
{
    const RelnSpec *spec = reln_model_spec(info->model);
    char text[96];

    printf("%s", reln_model_kind_text(spec->model.kind));
    for (int i = 0; i < spec->model.n_beside; i++)
        printf("%s%s", i ? ", " : " beside ", reln_model_kind_text(spec->model.beside[i]));
    printf(", width %d, depth %d, %s\n", spec->model.width, spec->model.depth,
           spec->train.dtype == RELN_F64 ? "f64" : "f32");
    printf("symmetry    %s%s\n", reln_model_symmetry(info->model),
           reln_model_promises(info->model) ? "" : " (of the data; this model promises nothing)");
    printf("features    %s\n", reln_model_features(info->model));
    for (int i = 0; i < spec->n_inputs; i++) {
        printf("%-11s %s, %s", i ? "" : "inputs", spec->input[i].name,
               reln_as_text(spec->input[i].as));
        if (spec->input[i].points)
            printf(", a set of %s%d points", spec->input[i].mask[0] != '\0' ? "up to " : "",
                   reln_model_points(info->model));
        printf("%s\n", spec->input[i].edges ? ", for each edge" : "");
    }
    for (int t = 0; t < spec->n_targets; t++)
        printf("target      %s, %s%s%s\n", spec->target[t].name,
               reln_target_text(spec->target[t].as),
               spec->target[t].loss == RELN_LOSS_MSE ? "" : ", ",
               spec->target[t].loss == RELN_LOSS_MSE ? "" : reln_loss_text(spec->target[t].loss));
    printf("test time   %s\n", test_time(info->model, text, sizeof text));
    printf("parameters  %zu\n", reln_model_parameters(info->model));
    printf("cost        %.4g FLOP and %.4g bytes for each %s, %.4g FLOP once\n",
           info->cost.flops_sample, info->cost.bytes_sample,
           reln_model_points(info->model) > 0 ? "full set" : "sample", info->cost.flops_step);
    printf("kernels     %s, on this machine\n", reln_kernels_text(false));
    printf("memory      %.1f kB for each thread, %.1f kB shared\n\n",
           1e-3 * (double)info->cost.bytes_worker, 1e-3 * (double)info->cost.bytes_shared);
}

static CliExit print_text(RelnCtx *ctx, const Info *info)
{
    RelnTable *table = NULL;
    char text[64];
    CliExit code;

    print_head(info);
    if (reln_table_create(ctx, &table) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory");
    reln_table_column(table, "layer", RELN_COL_LEFT);
    reln_table_column(table, "transforms as", RELN_COL_LEFT);
    reln_table_column(table, "(P, Q, R, K, C)", RELN_COL_RIGHT);
    for (int t = 0; t < info->net.n_taps; t++) {
        reln_table_row(table);
        reln_table_text(table, info->net.taps[t].name);
        reln_table_text(table, reln_rep_name(reln_node_rep(info->net.taps[t].node)));
        shape_text(layer_dims(info, info->net.taps[t].node), text, sizeof text);
        reln_table_text(table, text);
    }
    code = cli_print_table(ctx, table);
    reln_table_destroy(table);
    return code;
}

/* A Folder prints lines, and folds a line that is wider than the terminal. */
typedef struct Folder {
    int width; /* of the terminal; 0: any */
    size_t used;
    char line[2048];
} Folder;

/* Returns where a line of more than `width` characters is to be folded: behind the last cell of the table that fits, or else
 * behind the last word. */
static size_t fold_at(const char *line, size_t width)
{
    for (size_t i = width; i > width / 2; i--)
        if (line[i] == ' ' && line[i - 1] == ' ')
            return i;
    for (size_t i = width; i > width / 2; i--)
        if (line[i] == ' ')
            return i;
    return width;
}

static void print_folded(const Folder *f)
{
    const size_t width = f->width > 40 ? (size_t)f->width : sizeof f->line;
    const char *rest = f->line;
    size_t indent = 0;

    while (indent + strlen(rest) > width) {
        const size_t n = fold_at(rest, width - indent);
        size_t shown = n;

        while (shown > 0 && rest[shown - 1] == ' ')
            shown--;
        printf("%*s%.*s\n", (int)indent, "", (int)shown, rest);
        rest += n + strspn(rest + n, " ");
        indent = 6;
    }
    printf("%*s%s\n", (int)indent, "", rest);
}

static void put(void *self, const char *text)
{
    Folder *f = self;

    for (; *text; text++)
        if (*text == '\n') {
            f->line[f->used] = '\0';
            print_folded(f);
            f->used = 0;
        } else if (f->used + 1 < sizeof f->line) {
            f->line[f->used++] = *text;
        }
}

static CliExit print_graph(RelnCtx *ctx, const Info *info, const CliArgs *args)
{
    Folder folder = {.width = args->dot ? 0 : cli_terminal_width(STDOUT_FILENO)};
    const RelnStatus status = reln_graph_print(
        info->net.graph,
        &(RelnPrint){.put = put, .self = &folder, .dot = args->dot, .layers = !args->nodes});

    return status == RELN_OK ? CLI_DONE : cli_fail(cli_exit_of(status), "%s", reln_ctx_error(ctx));
}

static CliExit run(RelnCtx *ctx, const CliArgs *args)
{
    Info info = {0};
    RelnStatus status;
    CliExit code;

    if (args->n_operands != 1)
        return cli_fail(CLI_USAGE,
                        "info: wanted MODEL, a folder of `reln fit` or its model.safetensors");
    status = open_info(ctx, args->operands[0], &info);
    if (status != RELN_OK)
        code = cli_fail(cli_exit_of(status), "%s", reln_ctx_error(ctx));
    else if (args->graph || args->dot || args->nodes)
        code = print_graph(ctx, &info, args);
    else
        code = args->json ? print_json(ctx, &info) : print_text(ctx, &info);
    close_info(&info);
    return code;
}

const CliCommand cli_cmd_info = {
    .name = "info",
    .synopsis = "info MODEL\ninfo MODEL --graph [--nodes]\ninfo MODEL --dot [--nodes]",
    .purpose = "parameters, cost, symmetry and layers of a model",
    .help = help,
    .options = CLI_GRAPH,
    .max_operands = 1,
    .run = run,
};
