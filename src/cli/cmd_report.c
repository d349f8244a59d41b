/* cmd_report.c -- `reln report`: compares runs. */
#include <math.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/runs.h"

static const char help[] =
    "Compares runs: a table, best first, with the settings in which they differ, and a page with\n"
    "their curves. The runs may still be running.\n"
    "\n"
    "  reln report a b c\n"
    "  reln report a b c --out comparison.html\n";

static CliExit print_json(RelnCtx *ctx, int n, const CliRun *runs)
{
    RelnDoc *doc = NULL;
    RelnDocNode *list, *map;
    int row;

    if (reln_doc_create(ctx, &doc) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory");
    list = reln_doc_set(doc, reln_doc_root_map(doc), "runs", reln_doc_list(doc));
    for (int i = 0; i < n; i++) {
        const double score = cli_run_best(&runs[i], HUGE_VAL, &row);

        map = reln_doc_set(doc, list, NULL, reln_doc_map(doc));
        reln_doc_set_text(doc, map, "folder", runs[i].folder);
        reln_doc_set_number(doc, map, "score", score);
        reln_doc_set_number(doc, map, "epoch", row >= 0 ? runs[i].epoch[row] : (double)NAN);
        reln_doc_set_text(doc, map, "end", cli_run_end(&runs[i]));
    }
    return cli_print_doc(doc, reln_doc_root_map(doc));
}

static CliExit print_table(RelnCtx *ctx, int n, const CliRun *runs)
{
    RelnTable *table = NULL;
    CliExit code;

    if (reln_table_create(ctx, &table) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory");
    code = cli_runs_table(ctx, n, runs, table);
    if (code == CLI_DONE)
        code = cli_print_table(ctx, table);
    reln_table_destroy(table);
    return code;
}

static CliExit run(RelnCtx *ctx, const CliArgs *args)
{
    const char *path = args->out ? args->out : "comparison.html";
    CliRun runs[CLI_MAX_OPERANDS];
    CliExit code = CLI_DONE;
    int n = 0;

    if (args->n_operands < 1)
        return cli_fail(CLI_USAGE, "report: wanted folders of runs");
    for (; n < args->n_operands && code == CLI_DONE; n++)
        code = cli_run_read(ctx, args->operands[n], &runs[n]);
    for (int i = 0; i < n && code == CLI_DONE; i++)
        if (!runs[i].results && runs[i].n_rows == 0)
            code = cli_fail(CLI_INPUT, "%s: no run in this folder", runs[i].folder);
    if (code == CLI_DONE)
        code = cli_runs_page(ctx, "Runs side by side", n, runs, path);
    if (code == CLI_DONE)
        code = args->json ? print_json(ctx, n, runs) : print_table(ctx, n, runs);
    if (code == CLI_DONE && !args->json)
        printf("report %s\n", path);
    for (int i = 0; i < n; i++)
        cli_run_clear(&runs[i]);
    return code;
}

const CliCommand cli_cmd_report = {
    .name = "report",
    .synopsis = "report RUN... [--out FILE.html]",
    .purpose = "compare runs",
    .help = help,
    .options = CLI_OUT,
    .max_operands = CLI_MAX_OPERANDS,
    .run = run,
};
