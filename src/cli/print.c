/* print.c -- prints results on standard output: trees as JSON, tables as text. A failed write is detected
 * when the program ends. */
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/launch.h"
#include "cli/progress.h"

CliExit cli_print_doc(RelnDoc *doc, const RelnDocNode *node)
{
    const char *text = reln_doc_write(doc, node, RELN_DOC_ONE_LINE);

    if (text)
        puts(text);
    reln_doc_destroy(doc);
    return text ? CLI_DONE : cli_fail(CLI_NOMEM, "out of memory for the JSON result");
}

CliExit cli_print_table(RelnCtx *ctx, RelnTable *table)
{
    const RelnTableFormat format = isatty(STDOUT_FILENO) ? RELN_TABLE_TERMINAL : RELN_TABLE_PLAIN;
    const char *text = NULL;
    size_t n_bytes = 0;
    RelnStatus status;

    reln_table_width(table, cli_terminal_width(STDOUT_FILENO));
    status = reln_table_write(table, format, &text, &n_bytes);
    if (status != RELN_OK)
        return cli_fail(cli_exit_of(status), "%s", reln_ctx_error(ctx));
    (void)fwrite(text, 1, n_bytes, stdout);
    return CLI_DONE;
}

bool cli_dtype(const CliArgs *args, RelnDtype *out)
{
    const char *word = args->dtype ? args->dtype : "";

    *out = strcmp(word, "f32") == 0 ? RELN_F32 : strcmp(word, "f64") == 0 ? RELN_F64 : RELN_DEFAULT;
    if (*out == RELN_DEFAULT && args->dtype)
        cli_fail(CLI_USAGE, "--dtype is '%.60s'; wanted f32 or f64", args->dtype);
    return *out != RELN_DEFAULT || !args->dtype;
}

bool cli_reference(const CliArgs *args, bool *out)
{
    const char *word = args->kernels ? args->kernels : "fastest";

    *out = strcmp(word, "reference") == 0;
    if (!*out && strcmp(word, "fastest") != 0)
        cli_fail(CLI_USAGE, "--kernels is '%.60s'; wanted fastest or reference", word);
    return *out || strcmp(word, "fastest") == 0;
}

void cli_note_untrained(const RelnModel *model)
{
    if (model && reln_model_step(model) == 0)
        fputs(
            "reln: note: the run has not been evaluated yet; these are the weights of the start\n",
            stderr);
}

void cli_note_units(const RelnModel *model)
{
    if (model && reln_model_note(model)[0] != '\0')
        fprintf(stderr, "reln: note: %s\n", reln_model_note(model));
}

int cli_threads(const CliArgs *args)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (args->threads > 0)
        return (int)args->threads;
    if (cli_comm()) /* a launcher starts as many processes as there are cores for */
        return 1;
    return cores < 1 ? 1 : cores > 64 ? 64 : (int)cores;
}
