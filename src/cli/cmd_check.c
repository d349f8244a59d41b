/* cmd_check.c -- `reln check`: measures whether a model is equivariant, or proves it. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "kit/conditions.h"

static const char help[] =
    "Moves random inputs (or those of --data) by random elements g of the model's symmetry and\n"
    "compares, layer by layer, f(g x) with g f(x), for growing condition number of g. The "
    "verdict is\n"
    "made in double precision, where rounding explains at most eps (64 L + 2 cond^3) after L "
    "layers,\n"
    "times the amplification of the network. The errors in the precision of training are shown "
    "beside\n"
    "it, with a note if predictions move by more than a thousandth of their size. Exit code 1 "
    "when the\n"
    "model is not equivariant. A baseline without a symmetry (mlp) promises nothing: its error is\n"
    "shown, without a verdict.\n"
    "\n"
    "With --exact nothing is measured: the graph is built again from the file and proved "
    "equivariant\n"
    "in exact arithmetic, for all inputs and all weights. Reps must be homomorphisms, constants "
    "and\n"
    "lifts exact intertwiners, each verified in integers with every generator, and every node "
    "must\n"
    "satisfy the rule of its op. --json lists every step. Exit code 0 when it is proved (except "
    "for\n"
    "constants, which it counts), 1 when it is not, or when generators are floats and no proof "
    "exists.\n"
    "\n"
    "  reln check run\n"
    "  reln check --exact run\n"
    "  reln check run --data test.npz --draws 500\n"
    "  reln check run --json\n";

static CliExit verdict(const RelnCheck *c)
{
    return c->promises && !c->kept ? CLI_BROKEN : CLI_DONE;
}

/* A Seen holds the condition numbers of the matrices in the data, for comparison with those of g. */
typedef struct Seen {
    int n;
    RelnCondition of[RELN_SPEC_INPUTS];
} Seen;

static void put_seen(const Seen *seen, RelnDoc *doc, RelnDocNode *root)
{
    RelnDocNode *list = seen->n > 0 ? reln_doc_set(doc, root, "data", reln_doc_list(doc)) : NULL;

    for (int i = 0; i < seen->n; i++) {
        RelnDocNode *map = reln_doc_set(doc, list, NULL, reln_doc_map(doc));

        reln_doc_set_text(doc, map, "input", seen->of[i].input);
        reln_doc_set_number(doc, map, "matrices", (double)seen->of[i].count);
        reln_doc_set_number(doc, map, "cond_median", seen->of[i].median);
        reln_doc_set_number(doc, map, "cond_worst", seen->of[i].worst);
    }
}

static void print_seen(const Seen *seen)
{
    for (int i = 0; i < seen->n; i++)
        printf("data: cond(%s) is %.3g in the median, %.3g at most (%td matrices)\n",
               seen->of[i].input, seen->of[i].median, seen->of[i].worst, seen->of[i].count);
}

static CliExit print_json(RelnCtx *ctx, const RelnModel *model, const Seen *seen,
                          const RelnCheck *c)
{
    RelnDoc *doc = NULL;
    RelnDocNode *root, *layers;
    CliExit code;

    if (reln_doc_create(ctx, &doc) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory");
    root = reln_doc_root_map(doc);
    reln_doc_set_text(doc, root, "symmetry", reln_model_symmetry(model));
    reln_doc_set_bool(doc, root, "promised", c->promises);
    if (c->promises)
        reln_doc_set_bool(doc, root, "kept", c->kept);
    reln_doc_set_number(doc, root, "draws", c->draws);
    put_seen(seen, doc, root);
    if (c->parts_at > 0)
        reln_doc_set_number(doc, root, "parts_at", c->parts_at);
    layers = reln_doc_set(doc, root, "layers", reln_doc_list(doc));
    for (int l = 0; l < c->n_layers; l++) {
        RelnDocNode *layer = reln_doc_set(doc, layers, NULL, reln_doc_map(doc)), *rows;

        reln_doc_set_text(doc, layer, "name", c->layers[l].name);
        reln_doc_set_text(doc, layer, "rep", c->layers[l].rep);
        rows = reln_doc_set(doc, layer, "errors", reln_doc_list(doc));
        for (int k = 0; k < c->n_conds; k++) {
            RelnDocNode *row = reln_doc_set(doc, rows, NULL, reln_doc_map(doc));
            reln_doc_set_number(doc, row, "cond", c->conds[k]);
            reln_doc_set_number(doc, row, "median", c->layers[l].at[k].median);
            reln_doc_set_number(doc, row, "worst", c->layers[l].at[k].worst);
            reln_doc_set_number(doc, row, "allowed", c->layers[l].at[k].allowed);
            reln_doc_set_number(doc, row, "own_median", c->layers[l].at[k].own_median);
            reln_doc_set_number(doc, row, "own_worst", c->layers[l].at[k].own_worst);
        }
    }
    code = cli_print_doc(doc, root);
    return code == CLI_DONE ? verdict(c) : code;
}

static void fill(const RelnCheck *c, RelnTable *table)
{
    char text[64];

    reln_table_column(table, "layer", RELN_COL_LEFT);
    reln_table_column(table, "transforms as", RELN_COL_LEFT);
    reln_table_column(table, "cond(g)", RELN_COL_RIGHT);
    reln_table_column(table, "median", RELN_COL_RIGHT);
    reln_table_column(table, "worst", RELN_COL_RIGHT);
    if (c->promises)
        reln_table_column(table, "allowed", RELN_COL_RIGHT);
    reln_table_column(table, "as trained: median", RELN_COL_RIGHT);
    reln_table_column(table, "worst", RELN_COL_RIGHT);
    for (int l = 0; l < c->n_layers; l++)
        for (int k = 0; k < c->n_conds; k++) {
            reln_table_row(table);
            reln_table_text(table, k == 0 ? c->layers[l].name : "");
            reln_table_text(table, k == 0 ? c->layers[l].rep : "");
            snprintf(text, sizeof text, "%g", c->conds[k]);
            reln_table_text(table, text);
            reln_table_number(table, c->layers[l].at[k].median, 2);
            reln_table_number(table, c->layers[l].at[k].worst, 2);
            if (c->promises)
                reln_table_number(table, c->layers[l].at[k].allowed, 2);
            reln_table_number(table, c->layers[l].at[k].own_median, 2);
            reln_table_number(table, c->layers[l].at[k].own_worst, 2);
        }
}

static CliExit print_text(RelnCtx *ctx, const RelnModel *model, const RelnCheck *c)
{
    RelnTable *table = NULL;
    char note[256];
    const CliExit code = reln_table_create(ctx, &table) == RELN_OK
                             ? (fill(c, table), cli_print_table(ctx, table))
                             : cli_fail(CLI_NOMEM, "out of memory");

    reln_table_destroy(table);
    if (code != CLI_DONE)
        return code;
    if (!c->promises)
        printf("\nthis model promises nothing under %s; its measured errors are above\n",
               reln_model_symmetry(model));
    else
        printf("\n%s: %s under %s (%d draws for each condition number)\n",
               c->kept ? "kept" : "BROKEN",
               c->kept ? "equivariant to rounding" : "errors beyond rounding",
               reln_model_symmetry(model), c->draws);
    if (c->parts_at > 0)
        printf("note: %s\n", reln_check_note(c, note, sizeof note));
    return verdict(c);
}

static CliExit check(RelnCtx *ctx, const CliArgs *args, RelnModel *model)
{
    const RelnCheckOptions options = {.data_path = args->data,
                                      .draws = (int)args->draws,
                                      .threads = cli_threads(args),
                                      .seed = args->seed};
    RelnCheck *c = malloc(sizeof *c);
    Seen seen = {0};
    RelnStatus status;
    CliExit code;

    if (!c)
        return cli_fail(CLI_NOMEM, "out of memory");
    status = reln_check(model, &options, c);
    if (status == RELN_OK && args->data)
        status = reln_data_conditions(model, args->data, seen.of, &seen.n);
    if (status != RELN_OK)
        code = cli_fail(cli_exit_of(status), "%s", reln_ctx_error(ctx));
    else if (args->json)
        code = print_json(ctx, model, &seen, c);
    else
        code = args->quiet ? verdict(c) : print_text(ctx, model, c);
    if (status == RELN_OK && !args->json && !args->quiet)
        print_seen(&seen);
    free(c);
    return code;
}

/* ---- the certificate ---------------------------------------------------------------------------------------- */

static CliExit proved(const RelnCertificate *c)
{
    return c->verdict == RELN_REFUTED || c->verdict == RELN_NOT_PROVABLE ? CLI_BROKEN : CLI_DONE;
}

static CliExit print_certificate_json(RelnCtx *ctx, const RelnModel *model,
                                      const RelnCertificate *c)
{
    static const char *const words[] = {"proved", "proved-but", "not-provable", "not-promised",
                                        "refuted"};
    RelnDoc *doc = NULL;
    RelnDocNode *root, *lines;
    CliExit code;

    if (reln_doc_create(ctx, &doc) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory");
    root = reln_doc_root_map(doc);
    reln_doc_set_text(doc, root, "symmetry", reln_model_symmetry(model));
    reln_doc_set_text(doc, root, "verdict", words[c->verdict]);
    reln_doc_set_text(doc, root, "reason", c->reason);
    reln_doc_set_number(doc, root, "inexact", c->n_inexact);
    reln_doc_set_number(doc, root, "residual", c->residual);
    lines = reln_doc_set(doc, root, "claims", reln_doc_list(doc));
    for (int i = 0; i < c->n_lines; i++) {
        const RelnCertificateLine *line = &c->lines[i];
        RelnDocNode *claim = reln_doc_set(doc, lines, NULL, reln_doc_map(doc));

        reln_doc_set_text(doc, claim, "kind", line->kind);
        reln_doc_set_text(doc, claim, "name", line->name);
        reln_doc_set_text(doc, claim, "rule", line->rule);
        reln_doc_set_text(doc, claim, "rep", line->rep);
        reln_doc_set_bool(doc, claim, "proved", line->proved);
        if (!line->proved) {
            reln_doc_set_number(doc, claim, "residual", line->residual);
            reln_doc_set_text(doc, claim, "why", line->text);
        }
    }
    code = cli_print_doc(doc, root);
    return code == CLI_DONE ? proved(c) : code;
}

/* Returns whether line i is the first of its kind and rule. */
static bool is_first(const RelnCertificate *c, int i)
{
    for (int j = 0; j < i; j++)
        if (strcmp(c->lines[j].kind, c->lines[i].kind) == 0 &&
            strcmp(c->lines[j].rule, c->lines[i].rule) == 0)
            return false;
    return true;
}

/* Adds one row for each kind and rule: how many there are, and how many of them are proved. */
static void fill_rules(const RelnCertificate *c, RelnTable *table)
{
    reln_table_column(table, "claim", RELN_COL_LEFT);
    reln_table_column(table, "rule", RELN_COL_LEFT);
    reln_table_column(table, "number", RELN_COL_RIGHT);
    reln_table_column(table, "proved", RELN_COL_RIGHT);
    for (int i = 0; i < c->n_lines; i++) {
        char text[32];
        int count = 0, good = 0;

        if (!is_first(c, i))
            continue;
        for (int j = i; j < c->n_lines; j++)
            if (strcmp(c->lines[j].kind, c->lines[i].kind) == 0 &&
                strcmp(c->lines[j].rule, c->lines[i].rule) == 0) {
                count++;
                good += c->lines[j].proved;
            }
        reln_table_row(table);
        reln_table_text(table, c->lines[i].kind);
        reln_table_text(table, c->lines[i].rule);
        snprintf(text, sizeof text, "%d", count);
        reln_table_text(table, text);
        snprintf(text, sizeof text, "%d", good);
        reln_table_text(table, text);
    }
}

static CliExit print_certificate(RelnCtx *ctx, const RelnModel *model, const RelnCertificate *c)
{
    RelnTable *table = NULL;
    char text[320];
    CliExit code = CLI_DONE;

    if (c->n_lines > 0) {
        code = reln_table_create(ctx, &table) == RELN_OK
                   ? (fill_rules(c, table), cli_print_table(ctx, table))
                   : cli_fail(CLI_NOMEM, "out of memory");
        reln_table_destroy(table);
        printf("\n");
    }
    if (code != CLI_DONE)
        return code;
    reln_certificate_text(c, sizeof text, text);
    if (c->verdict == RELN_PROVED || c->verdict == RELN_PROVED_BUT)
        printf("%s: equivariant under %s for all inputs and weights\n", text,
               reln_model_symmetry(model));
    else
        printf("%s\n", text);
    return proved(c);
}

static CliExit certify(RelnCtx *ctx, const CliArgs *args, RelnModel *model)
{
    RelnCertificate c;
    const RelnStatus status = reln_certify(model, &c);
    CliExit code;

    if (status != RELN_OK)
        code = cli_fail(cli_exit_of(status), "%s", reln_ctx_error(ctx));
    else if (args->json)
        code = print_certificate_json(ctx, model, &c);
    else
        code = args->quiet ? proved(&c) : print_certificate(ctx, model, &c);
    reln_certificate_clear(&c);
    return code;
}

static CliExit run(RelnCtx *ctx, const CliArgs *args)
{
    RelnModel *model = NULL;
    bool reference;
    RelnStatus status;
    CliExit code;

    if (args->n_operands != 1)
        return cli_fail(CLI_USAGE,
                        "check: wanted MODEL, a folder of `reln fit` or its model.safetensors");
    if (!cli_reference(args, &reference))
        return CLI_USAGE;
    status = reln_model_load(ctx, args->operands[0], RELN_DEFAULT, &model);
    reln_model_use_reference(model, reference);
    code = status == RELN_OK ? (args->exact ? certify : check)(ctx, args, model)
                             : cli_fail(cli_exit_of(status), "%s", reln_ctx_error(ctx));
    reln_model_destroy(model);
    return code;
}

const CliCommand cli_cmd_check = {
    .name = "check",
    .synopsis = "check MODEL [--data FILE] [--draws N]\ncheck --exact MODEL",
    .purpose = "the equivariance error of a model, layer by layer; exit 1 if it is not equivariant",
    .help = help,
    .options = CLI_DATA | CLI_DRAWS | CLI_EXACT | CLI_KERNELS,
    .max_operands = 1,
    .run = run,
};
