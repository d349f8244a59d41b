/* cmd_data.c -- `reln data`: the arrays of a file, and a SPEC for them. */
#include <math.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "kit/survey.h"

static const char help[] =
    "Lists the arrays of a file: shapes, types, ranges, numbers that are not finite, and\n"
    "their probable kinds. Files are .npz, .npy, a folder of .npy, .safetensors, .h5, tables\n"
    "of text (.csv, .txt, .tsv; columns p_x p_y p_z are also the vector p), Gaussian splats\n"
    "(.ply, .splat) and meshes (.off).\n"
    "\n"
    "--spec writes a SPEC that can be trained without changes. The target is an array whose\n"
    "name says so, or else an array of classes, or else the last number. If rows have times\n"
    "that ascend, the SPEC cuts windows of the recording. The symmetry is the first that fits\n"
    "the inputs, with the others as comments, or the one given by --symmetry.\n"
    "\n"
    "  reln data train.npz\n"
    "  reln data train.npz --spec > spec.yaml\n"
    "  reln data train.npz --spec --symmetry so:3 > spec.yaml\n"
    "  reln fit spec.yaml train.npz\n";

static const char *shape_text(const RelnSurveyArray *a, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "(");

    for (int i = 0; i < a->rank && i < 8 && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%td", i ? ", " : "", a->dims[i]);
    if (used < size)
        snprintf(text + used, size - used, a->rank == 1 ? ",)" : ")");
    return text;
}

static CliExit print_table(RelnCtx *ctx, const RelnSurvey *s)
{
    RelnTable *table = NULL;
    bool part = false;
    char text[96];
    CliExit code;

    if (reln_table_create(ctx, &table) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory");
    reln_table_column(table, "array", RELN_COL_LEFT);
    reln_table_column(table, "shape", RELN_COL_LEFT);
    reln_table_column(table, "type", RELN_COL_LEFT);
    reln_table_column(table, "least", RELN_COL_RIGHT);
    reln_table_column(table, "most", RELN_COL_RIGHT);
    reln_table_column(table, "mean", RELN_COL_RIGHT);
    reln_table_column(table, "NaN", RELN_COL_RIGHT);
    reln_table_column(table, "may be", RELN_COL_LEFT);
    for (int i = 0; i < s->n_arrays; i++) {
        const RelnSurveyArray *a = &s->arrays[i];

        if (a->role == RELN_ROLE_COMPONENT)
            continue;
        part = part || a->seen < a->n_rows * a->row_size;
        reln_table_row(table);
        reln_table_text(table, a->name);
        reln_table_text(table, shape_text(a, text, sizeof text));
        reln_table_text(table, a->dtype);
        reln_table_number(table, a->seen > a->lost ? a->low : (double)NAN, 3);
        reln_table_number(table, a->seen > a->lost ? a->high : (double)NAN, 3);
        reln_table_number(table, a->mean, 3);
        reln_table_count(table, a->lost);
        reln_table_text(table, reln_survey_text(a, text, sizeof text));
    }
    if (part)
        reln_table_note(table, "Of large arrays, rows far apart were looked at.");
    code = cli_print_table(ctx, table);
    reln_table_destroy(table);
    return code;
}

static CliExit print_json(RelnCtx *ctx, const RelnSurvey *s)
{
    RelnDoc *doc = NULL;
    RelnDocNode *list, *map, *shape;
    char text[96];

    if (reln_doc_create(ctx, &doc) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory");
    reln_doc_set_text(doc, reln_doc_root_map(doc), "file", s->path);
    reln_doc_set_number(doc, reln_doc_root_map(doc), "samples", (double)s->n_samples);
    list = reln_doc_set(doc, reln_doc_root_map(doc), "arrays", reln_doc_list(doc));
    for (int i = 0; i < s->n_arrays; i++) {
        const RelnSurveyArray *a = &s->arrays[i];

        map = reln_doc_set(doc, list, NULL, reln_doc_map(doc));
        reln_doc_set_text(doc, map, "name", a->name);
        shape = reln_doc_set(doc, map, "shape", reln_doc_list(doc));
        for (int k = 0; k < a->rank && k < 8; k++)
            reln_doc_set_number(doc, shape, NULL, (double)a->dims[k]);
        reln_doc_set_text(doc, map, "type", a->dtype);
        reln_doc_set_number(doc, map, "least", a->low);
        reln_doc_set_number(doc, map, "most", a->high);
        reln_doc_set_number(doc, map, "mean", a->mean);
        reln_doc_set_number(doc, map, "not_finite", (double)a->lost);
        if (a->classes > 0)
            reln_doc_set_number(doc, map, "classes", a->classes);
        reln_doc_set_text(doc, map, "may_be", reln_survey_text(a, text, sizeof text));
    }
    return cli_print_doc(doc, reln_doc_root_map(doc));
}

static CliExit print_spec(RelnCtx *ctx, const RelnSurvey *s, const char *symmetry)
{
    size_t length = 0;
    RelnStatus status = reln_survey_draft(s, symmetry, NULL, 0, &length);
    char *text;

    if (status != RELN_OK)
        return cli_fail(cli_exit_of(status), "%s", reln_ctx_error(ctx));
    text = malloc(length + 1);
    if (!text)
        return cli_fail(CLI_NOMEM, "out of memory");
    (void)reln_survey_draft(s, symmetry, text, length + 1, &length);
    fputs(text, stdout);
    free(text);
    return CLI_DONE;
}

static CliExit run(RelnCtx *ctx, const CliArgs *args)
{
    RelnArchive *archive = NULL;
    RelnSurvey survey = {0};
    RelnStatus status;
    CliExit code;

    if (args->n_operands != 1)
        return cli_fail(CLI_USAGE, "data: wanted a FILE of arrays");
    if (args->symmetry && !args->spec)
        return cli_fail(CLI_USAGE, "data: --symmetry is for --spec");
    status = reln_archive_open(ctx, args->operands[0], &archive);
    if (status == RELN_OK)
        status = reln_survey(ctx, archive, &survey);
    if (status != RELN_OK)
        code = cli_fail(cli_exit_of(status), "%s", reln_ctx_error(ctx));
    else if (args->spec)
        code = print_spec(ctx, &survey, args->symmetry);
    else
        code = args->json ? print_json(ctx, &survey) : print_table(ctx, &survey);
    reln_survey_clear(&survey);
    reln_archive_destroy(archive);
    return code;
}

const CliCommand cli_cmd_data = {
    .name = "data",
    .synopsis = "data FILE\ndata FILE --spec [--symmetry GROUP]",
    .purpose = "the arrays of a file, and a SPEC for them",
    .help = help,
    .options = CLI_SPEC,
    .max_operands = 1,
    .run = run,
};
