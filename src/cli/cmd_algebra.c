/* cmd_algebra.c -- `reln algebra`: the analysis of an algebra, or why a basis is refused. */
#include <math.h>
#include <string.h>

#include "cli/cli.h"

static const char help[] =
    "Analyses the basis of a matrix Lie algebra: dimension, centre, derived ideal, Killing form, "
    "and\n"
    "the completed form B~ (the Killing form on [g,g], and on the centre a form that does not "
    "depend\n"
    "on the frame). A basis that does not span a reductive Lie algebra is refused with the "
    "reason.\n"
    "\n"
    "NAME is a family, or a direct sum of them:\n"
    "  gl:n  sl:n       all, or traceless, n x n matrices\n"
    "  so:n  so:p,q     antisymmetric; those of the metric with p times -1 and q times +1\n"
    "  sp:2m            symplectic\n"
    "  u:n   su:n       antihermitian, or traceless ones, as real matrices of size 2n\n"
    "  gl:2+so:3        block-diagonal sum, of any number of terms\n"
    "\n"
    "FILE.npy is an array (K, n, n) of f4, f8, i4 or i8: K matrices that span the algebra. The "
    "basis\n"
    "may be badly conditioned.\n"
    "\n"
    "examples:\n"
    "  reln algebra gl:3              dimension 9, centre 1, signature (6, 3, 0)\n"
    "  reln algebra so:1,3            the Lorentz algebra: semisimple, signature (3, 3, 0)\n"
    "  reln algebra gl:2+so:3 --json  the same as one JSON object, with the matrix of the form\n"
    "  reln algebra --basis mine.npy  your own; exit code 3 and one line when it is refused\n";

/* A Report holds the facts that are printed: all of them for an algebra, without the form for a refused
 * basis. */
typedef struct Report {
    const char *name;
    const RelnAlgebraInfo *info;
    const double *form; /* (K, K) or NULL */
} Report;

/* ---- JSON --------------------------------------------------------------------------------------------------- */

/* Sets a number; a negative one means unknown, and becomes null. */
static void set_known(RelnDoc *doc, RelnDocNode *map, const char *key, double value)
{
    reln_doc_set_number(doc, map, key, value >= 0 ? value : (double)NAN);
}

static void set_answer(RelnDoc *doc, RelnDocNode *map, const char *key, RelnAnswer answer)
{
    if (answer == RELN_UNDECIDED)
        reln_doc_set_null(doc, map, key);
    else
        reln_doc_set_bool(doc, map, key, answer == RELN_YES);
}

static void set_signature(RelnDoc *doc, RelnDocNode *map, const char *key, const int s[3])
{
    RelnDocNode *list;

    if (s[0] < 0 || s[1] < 0 || s[2] < 0) {
        reln_doc_set_null(doc, map, key);
        return;
    }
    list = reln_doc_set(doc, map, key, reln_doc_list(doc));
    for (int i = 0; i < 3; i++)
        reln_doc_set_number(doc, list, NULL, s[i]);
}

static void set_form(RelnDoc *doc, RelnDocNode *map, const char *key, int k, const double *form)
{
    RelnDocNode *rows;

    if (!form) {
        reln_doc_set_null(doc, map, key);
        return;
    }
    rows = reln_doc_set(doc, map, key, reln_doc_list(doc));
    for (int i = 0; i < k; i++) {
        RelnDocNode *const row = reln_doc_set(doc, rows, NULL, reln_doc_list(doc));

        for (int j = 0; j < k; j++)
            reln_doc_set_number(doc, row, NULL, form[i * k + j]);
    }
}

static void fill_report(RelnDoc *doc, RelnDocNode *map, const Report *r)
{
    const RelnAlgebraInfo *i = r->info;

    reln_doc_set_text(doc, map, "name", r->name);
    reln_doc_set_number(doc, map, "n", i->n);
    reln_doc_set_number(doc, map, "dim", i->dim);
    set_known(doc, map, "center_dim", i->center_dim);
    set_known(doc, map, "derived_dim", i->derived_dim);
    set_answer(doc, map, "independent", i->independent);
    set_answer(doc, map, "closed", i->closed);
    set_answer(doc, map, "reductive", i->reductive);
    set_answer(doc, map, "semisimple", i->semisimple);
    set_answer(doc, map, "center_semisimple", i->center_semisimple);
    reln_doc_set_text(doc, map, "reason", i->reason);
    set_known(doc, map, "killing_rank", i->killing_rank);
    set_known(doc, map, "killing_gap", i->killing_gap);
    set_signature(doc, map, "form_signature", i->form_signature);
    set_form(doc, map, "form", i->dim, r->form);
    set_known(doc, map, "structure_nnz", i->structure_nnz);
    set_known(doc, map, "condition", i->condition);
    set_known(doc, map, "closure_residual", i->closure_residual);
}

static CliExit print_json(RelnCtx *ctx, const Report *r)
{
    RelnDoc *doc = NULL;

    if (reln_doc_create(ctx, &doc) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory for the JSON result");
    fill_report(doc, reln_doc_root_map(doc), r);
    return cli_print_doc(doc, reln_doc_root(doc));
}

/* Prints the reason alone, if nothing else is known. */
static CliExit print_json_why(RelnCtx *ctx, const char *name, const char *why)
{
    RelnDoc *doc = NULL;
    RelnDocNode *map;

    if (reln_doc_create(ctx, &doc) != RELN_OK)
        return cli_fail(CLI_NOMEM, "out of memory for the JSON result");
    map = reln_doc_root_map(doc);
    reln_doc_set_text(doc, map, "name", name);
    reln_doc_set_text(doc, map, "error", why);
    reln_doc_set_null(doc, map, "reductive");
    reln_doc_set_text(doc, map, "reason", why);
    return cli_print_doc(doc, map);
}

/* ---- text --------------------------------------------------------------------------------------------------- */

/* Prints the label of a line. Facts that are unknown for a refused basis have no line. */
static void line(const char *label)
{
    printf("%-21s", label);
}

static void line_count(const char *label, int value, const char *unit)
{
    if (value < 0)
        return;
    line(label);
    printf("%d%s\n", value, unit);
}

static void line_answer(const char *label, RelnAnswer answer)
{
    static const char *const words[] = {
        [RELN_NO] = "no", [RELN_YES] = "yes", [RELN_UNDECIDED] = "undecided"};

    line(label);
    puts(words[answer]);
}

static void line_measure(const char *label, double value)
{
    if (!(value >= 0))
        return;
    line(label);
    printf("%.3g\n", value);
}

static void line_signature(const int s[3])
{
    if (s[0] < 0)
        return;
    line("form signature");
    printf("(%d, %d, %d): positive, negative, zero\n", s[0], s[1], s[2]);
}

static double largest(int count, const double *x)
{
    double most = 0;

    for (int i = 0; i < count; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

/* Writes an entry of the table; a rounding error in place of a zero is shown as 0. */
static int cell(double value, double scale, char text[24])
{
    if (fabs(value) <= 1e-13 * scale)
        return snprintf(text, 24, ".");
    return snprintf(text, 24, "%.4g", value);
}

static void print_table(int k, const double *form)
{
    const double scale = largest(k * k, form);
    char text[24];
    int width = 1;

    for (int i = 0; i < k * k; i++) {
        const int n = cell(form[i], scale, text);
        width = n > width ? n : width;
    }
    for (int i = 0; i < k * k; i++) {
        cell(form[i], scale, text);
        printf("%s%*s%s", i % k == 0 ? "  " : " ", width, text, i % k == k - 1 ? "\n" : "");
    }
}

static void print_form(int k, const double *form)
{
    enum { WIDEST_TABLE = 10 };
    const double scale = largest(k * k, form);
    int nonzero = 0;

    if (k <= WIDEST_TABLE) {
        puts("form B~, in the order of the basis:");
        print_table(k, form);
        return;
    }
    for (int i = 0; i < k * k; i++)
        nonzero += fabs(form[i]) > 1e-13 * scale;
    printf("form B~: %d x %d, %d entries not zero, the largest %.4g; --json has them all\n", k, k,
           nonzero, scale);
}

static void print_report(const Report *r)
{
    const RelnAlgebraInfo *i = r->info;

    line("algebra");
    cli_print_clean(stdout, r->name);
    printf("\n%-21s%d x %d\n", "matrices", i->n, i->n);
    line_count("dimension", i->dim, "");
    line_count("centre", i->center_dim,
               i->center_dim > 0 && i->center_semisimple == RELN_NO ? ", not diagonalisable" : "");
    line_count("derived ideal", i->derived_dim, "");
    line_count("Killing form rank", i->killing_rank, "");
    line_answer("reductive", i->reductive);
    line_answer("semisimple", i->semisimple);
    line_signature(i->form_signature);
    line_count("structure constants", i->structure_nnz, " not zero");
    line_measure("basis condition", i->condition);
    line_measure("closure residual", i->closure_residual);
    if (i->reductive == RELN_YES && i->reason[0]) {
        line("warning");
        puts(i->reason);
    }
    if (r->form)
        print_form(i->dim, r->form);
}

/* ---- the command -------------------------------------------------------------------------------------------- */

static CliExit report(RelnCtx *ctx, const Report *r, bool json)
{
    CliExit printed = CLI_DONE;

    if (json)
        printed = print_json(ctx, r);
    else
        print_report(r);
    if (printed != CLI_DONE || r->info->reductive == RELN_YES)
        return printed;
    return cli_fail(CLI_INPUT, "%s: %s", r->name,
                    r->info->reason[0] ? r->info->reason : "not known to be reductive");
}

static CliExit give_up(RelnCtx *ctx, CliExit code, const char *name, const char *why, bool json)
{
    if (json && print_json_why(ctx, name, why) != CLI_DONE)
        return CLI_NOMEM;
    return cli_fail(code, "%s", why);
}

static CliExit give_up_status(RelnCtx *ctx, RelnStatus status, const char *name, bool json)
{
    const char *const said = reln_ctx_error(ctx);

    return give_up(ctx, cli_exit_of(status), name, said[0] ? said : reln_status_text(status), json);
}

static CliExit report_algebra(RelnCtx *ctx, const RelnAlgebra *algebra, const char *name, bool json)
{
    Report r = {name, reln_algebra_info(algebra), NULL};
    const RelnStatus status = reln_algebra_gram(algebra, RELN_FORM_COMPLETED, &r.form);

    return status == RELN_OK ? report(ctx, &r, json) : give_up_status(ctx, status, name, json);
}

static CliExit run_name(RelnCtx *ctx, const char *name, bool json)
{
    RelnAlgebra *algebra = NULL;
    const RelnStatus status = reln_algebra_create(ctx, name, &algebra);
    CliExit code;

    if (status != RELN_OK)
        return give_up_status(ctx, status, name, json);
    code = report_algebra(ctx, algebra, reln_algebra_name(algebra), json);
    reln_algebra_destroy(algebra);
    return code;
}

static bool all_finite(const RelnArray *a, ptrdiff_t *where)
{
    for (*where = 0; *where < reln_array_count(a); ++*where)
        if (!isfinite(a->f64[*where]))
            return false;
    return true;
}

/* Checks that the array is (K, n, n), with sizes that an algebra can have. Writes the fault into `why`. */
static bool check_basis(const RelnArray *a, char *why, size_t size)
{
    const ptrdiff_t k = a->dims[0], n = a->dims[1];
    ptrdiff_t at;

    if (a->rank != 3)
        snprintf(why, size, "the array has %d axes; wanted 3, (K, n, n)", a->rank);
    else if (reln_array_count(a) == 0)
        snprintf(why, size, "the array (%td, %td, %td) is empty", k, n, a->dims[2]);
    else if (n != a->dims[2])
        snprintf(why, size, "the matrices are %td x %td; wanted square ones", n, a->dims[2]);
    else if (n > RELN_ALGEBRA_MAX_N || k > RELN_ALGEBRA_MAX_DIM)
        snprintf(why, size, "%td matrices %td x %td; at most %d of size %d are taken", k, n, n,
                 RELN_ALGEBRA_MAX_DIM, RELN_ALGEBRA_MAX_N);
    else if (k > n * n)
        snprintf(why, size, "%td matrices %td x %td cannot be independent; at most %td can", k, n,
                 n, n * n);
    else if (!all_finite(a, &at))
        snprintf(why, size, "element (%td, %td, %td) is %g; wanted finite numbers", at / (n * n),
                 at / n % n, at % n, a->f64[at]);
    else
        return true;
    return false;
}

static CliExit run_array(RelnCtx *ctx, const RelnArray *a, const char *path, bool json)
{
    const RelnBasisOptions options = {.name = path, .precision = reln_array_precision(a)};
    const int k = (int)a->dims[0], n = (int)a->dims[1];
    RelnAlgebra *algebra = NULL;
    RelnAlgebraInfo info;
    RelnStatus status = reln_algebra_from_basis(ctx, k, n, a->f64, &options, &algebra);
    char why[512];
    CliExit code;

    if (status == RELN_OK) {
        code = report_algebra(ctx, algebra, path, json);
        reln_algebra_destroy(algebra);
        return code;
    }
    /* the dimensions of a refused basis are still shown */
    if (status == RELN_ERR_ALGEBRA)
        status = reln_algebra_inspect(ctx, k, n, a->f64, &options, &info);
    if (status != RELN_OK) {
        snprintf(why, sizeof why, "%s: %s", path, reln_ctx_error(ctx));
        return give_up(ctx, cli_exit_of(status), path, why, json);
    }
    return report(ctx, &(Report){path, &info, NULL}, json);
}

static CliExit run_file(RelnCtx *ctx, const char *path, bool json)
{
    RelnArray array = {0};
    const RelnStatus status = reln_npy_load(ctx, path, &array);
    char wrong[160] = "", why[512];
    CliExit code;

    if (status != RELN_OK)
        return give_up_status(ctx, status, path, json);
    if (check_basis(&array, wrong, sizeof wrong)) {
        code = run_array(ctx, &array, path, json);
    } else {
        snprintf(why, sizeof why, "%s: %s", path, wrong);
        code = give_up(ctx, CLI_INPUT, path, why, json);
    }
    reln_array_clear(&array);
    return code;
}

static CliExit run(RelnCtx *ctx, const CliArgs *args)
{
    if (args->basis && args->n_operands > 0)
        return cli_fail(CLI_USAGE, "algebra: a name and --basis exclude each other");
    if (args->basis)
        return run_file(ctx, args->basis, args->json);
    if (args->n_operands == 0)
        return cli_fail(CLI_USAGE, "algebra: wanted a name, such as gl:3, or --basis FILE.npy");
    return run_name(ctx, args->operands[0], args->json);
}

const CliCommand cli_cmd_algebra = {
    .name = "algebra",
    .synopsis = "algebra NAME [--json]\nalgebra --basis FILE.npy [--json]",
    .purpose = "dimension, centre and form of a matrix algebra, or why it is not reductive",
    .help = help,
    .options = CLI_BASIS,
    .max_operands = 1,
    .run = run,
};
