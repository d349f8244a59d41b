/* folds.c -- `reln fit --folds`: trains one run for each fold, and evaluates all of them together on the
 * samples that each has not seen. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/runs.h"
#include "kit/folds.h"
#include "kit/metrics.h"
#include "kit/scores.h"

enum { MOST = 100, PATH = 512 };

typedef struct Work {
    RelnCtx *ctx;
    const CliArgs *args;
    const char *folder;
    int n;
    char folders[MOST][PATH];
    RelnFolds result;
} Work;

/* ---- training ------------------------------------------------------------------------------------------------------------ */

/* Reads a number of folds, or the folds of an array. */
static CliExit count_folds(Work *w)
{
    const char *text = w->args->folds;
    char *end = NULL;
    const long n = strtol(text, &end, 10);

    if (end != text && *end == '\0') {
        w->n = n >= 2 && n <= MOST ? (int)n : 0;
    } else if (reln_folds_count(w->ctx, w->args->operands[1], text, &w->n) != RELN_OK) {
        return cli_fail(cli_exit_of(reln_ctx_status(w->ctx)), "%s", reln_ctx_error(w->ctx));
    }
    return w->n >= 2 && w->n <= MOST
               ? CLI_DONE
               : cli_fail(CLI_USAGE,
                          "fit: --folds is %s; wanted 2 to %d folds, or an array of them", text,
                          MOST);
}

static CliExit ended(Work *w, int fold, bool *out)
{
    CliRun run;
    const CliExit code = cli_run_read(w->ctx, w->folders[fold], &run);

    if (code != CLI_DONE)
        return code;
    *out = cli_run_reached(&run, HUGE_VAL);
    cli_run_clear(&run);
    return CLI_DONE;
}

static bool begun(const Work *w, int fold)
{
    char path[PATH + 32];

    snprintf(path, sizeof path, "%s/checkpoint.safetensors", w->folders[fold]);
    return reln_file_exists(path);
}

/* Trains on all folds but one. An existing run is resumed; a finished one is kept. */
static CliExit train(Work *w, int fold)
{
    const char *text = w->args->folds;
    CliArgs args = *w->args;
    char set[160];
    bool there = false;
    CliExit code;

    snprintf(set, sizeof set, "train.validation={folds: %s, fold: %d}", text, fold);
    code = ended(w, fold, &there);
    if (code != CLI_DONE || there)
        return code;
    if (!args.quiet)
        fprintf(stderr, "reln: fold %d of %d, in %s\n", fold + 1, w->n, w->folders[fold]);
    args.quiet = true; /* the summary is printed for all folds together */
    args.json = false;
    return cli_fit_in(w->ctx, &args, w->folders[fold], begun(w, fold), set);
}

/* ---- results ------------------------------------------------------------------------------------------------------------- */

/* Adds a row for each metric: all samples with the bootstrap's error, and mean and standard deviation over
 * folds. */
static void fill_table(const RelnFolds *f, int target, RelnTable *table)
{
    double pooled[RELN_METRICS], error[RELN_METRICS], fold[RELN_METRICS];
    char title[160], note[160];

    snprintf(title, sizeof title, "%s: %d folds, %td samples",
             reln_model_target_name(f->model, target), f->n_folds, f->n_samples);
    reln_table_title(table, title);
    reln_table_column(table, "", RELN_COL_LEFT);
    reln_table_column(table, "all samples", RELN_COL_RIGHT);
    reln_table_column(table, "over folds", RELN_COL_RIGHT);
    reln_metrics_all(&f->pooled[target], pooled);
    reln_metrics_all(&f->error[target], error);
    for (int i = 0; i < RELN_METRICS; i++) {
        double sum = 0, square = 0;

        if (isnan(pooled[i]))
            continue;
        for (int k = 0; k < f->n_folds; k++) {
            reln_metrics_all(&f->fold[k * f->n_targets + target], fold);
            sum += fold[i] / f->n_folds;
            square += fold[i] * fold[i] / f->n_folds;
        }
        reln_table_row(table);
        reln_table_text(table, reln_metrics_title(i));
        reln_table_mean(table, pooled[i], error[i], 2);
        reln_table_mean(table, sum,
                        sqrt(fmax(0, square - sum * sum) * f->n_folds / (f->n_folds - 1)), 2);
    }
    snprintf(
        note, sizeof note,
        "All samples: each predicted by the run that has not seen it; ± over %d bootstrap draws "
        "of samples, seed %llu.",
        f->draws, (unsigned long long)f->seed);
    reln_table_note(table, note);
    reln_table_note(table, "Over folds: mean and deviation of the folds' own values.");
}

typedef CliExit Use(const Work *w, RelnTable *table, void *self);

/* Makes a table for each target, and one of the scores of classes, and uses it. */
static CliExit each_table(const Work *w, Use *use, void *self)
{
    CliExit code = CLI_DONE;

    for (int i = 0; i < 2 * w->result.n_targets && code == CLI_DONE; i++) {
        const int target = i / 2;
        RelnTable *table = NULL;

        if (i % 2 == 1 && w->result.scores[target].n_samples == 0)
            continue;
        if (reln_table_create(w->ctx, &table) != RELN_OK)
            return cli_fail(CLI_NOMEM, "out of memory");
        if (i % 2 == 0)
            fill_table(&w->result, target, table);
        else
            reln_scores_summary(&w->result.scores[target], table);
        code = use(w, table, self);
        reln_table_destroy(table);
    }
    return code;
}

static CliExit print_one(const Work *w, RelnTable *table, void *self)
{
    bool *first = self;

    if (!*first)
        putchar('\n');
    *first = false;
    return cli_print_table(w->ctx, table);
}

static CliExit put_one(const Work *w, RelnTable *table, void *self)
{
    (void)w;
    reln_page_table(self, table);
    return CLI_DONE;
}

static RelnDocNode *make_doc(const Work *w, RelnDoc *doc)
{
    const RelnFolds *f = &w->result;
    RelnDocNode *root = reln_doc_root_map(doc), *map, *each, *list;

    reln_doc_set_text(doc, root, "folder", w->folder);
    reln_doc_set_number(doc, root, "folds", f->n_folds);
    reln_doc_set_number(doc, root, "samples", (double)f->n_samples);
    map = reln_doc_set(doc, root, "targets", reln_doc_map(doc));
    for (int t = 0; t < f->n_targets; t++) {
        each = reln_doc_set(doc, map, reln_model_target_name(f->model, t), reln_doc_map(doc));
        reln_metrics_doc(&f->pooled[t], doc, reln_doc_set(doc, each, "pooled", reln_doc_map(doc)));
        reln_metrics_doc(&f->error[t], doc, reln_doc_set(doc, each, "error", reln_doc_map(doc)));
        list = reln_doc_set(doc, each, "folds", reln_doc_list(doc));
        for (int k = 0; k < f->n_folds; k++)
            reln_metrics_doc(&f->fold[k * f->n_targets + t], doc,
                             reln_doc_set(doc, list, NULL, reln_doc_map(doc)));
        if (f->scores[t].n_samples > 0)
            reln_scores_doc(&f->scores[t], &reln_model_spec(f->model)->target[t], doc,
                            reln_doc_set(doc, each, "scores", reln_doc_map(doc)));
    }
    list = reln_doc_set(doc, root, "bootstrap", reln_doc_map(doc));
    reln_doc_set_number(doc, list, "draws", f->draws);
    reln_doc_set_number(doc, list, "seed", (double)f->seed);
    return root;
}

static RelnStatus write_page(const Work *w, const char *path)
{
    RelnPage *page = NULL;
    const char *text = NULL;
    size_t n_bytes = 0;
    RelnStatus status = reln_page_create(w->ctx, "Cross-validation", &page);

    if (status != RELN_OK)
        return status;
    reln_page_text(page,
                   "%d runs, each trained on all samples but one fold and judged on that fold; "
                   "predictions of all samples are in predictions.npz.",
                   w->n);
    if (each_table(w, put_one, page) != CLI_DONE)
        status = RELN_ERR_NOMEM;
    if (status == RELN_OK)
        status = reln_page_html(page, &text, &n_bytes);
    if (status == RELN_OK)
        status = reln_file_write(w->ctx, path, text, n_bytes);
    reln_page_destroy(page);
    return status;
}

static RelnStatus write_files(const Work *w)
{
    char path[PATH + 32];
    RelnDoc *doc = NULL;
    RelnStatus status;

    snprintf(path, sizeof path, "%s/predictions.npz", w->folder);
    status = reln_npz_save(w->ctx, path, w->result.n_arrays, w->result.arrays);
    snprintf(path, sizeof path, "%s/report.html", w->folder);
    if (status == RELN_OK)
        status = write_page(w, path);
    snprintf(path, sizeof path, "%s/results.json", w->folder);
    if (status == RELN_OK)
        status = reln_doc_create(w->ctx, &doc);
    if (status == RELN_OK)
        status = reln_doc_save(doc, make_doc(w, doc), path);
    reln_doc_destroy(doc);
    return status;
}

static CliExit show(const Work *w)
{
    RelnDoc *doc = NULL;
    bool first = true;
    CliExit code;

    if (w->args->json)
        return reln_doc_create(w->ctx, &doc) == RELN_OK ? cli_print_doc(doc, make_doc(w, doc))
                                                        : cli_fail(CLI_NOMEM, "out of memory");
    if (w->args->quiet)
        return CLI_DONE;
    code = each_table(w, print_one, &first);
    if (code == CLI_DONE)
        printf("report %s/report.html\n", w->folder);
    return code;
}

static CliExit judge(Work *w)
{
    const char *folders[MOST];
    RelnStatus status;

    for (int i = 0; i < w->n; i++)
        folders[i] = w->folders[i];
    status = reln_folds_pool(w->ctx, w->n, folders, w->args->operands[1], cli_threads(w->args),
                             w->args->seed_given ? w->args->seed : 1, &w->result);
    if (status == RELN_OK)
        status = write_files(w);
    return status == RELN_OK ? show(w)
                             : cli_fail(cli_exit_of(status), "%s", reln_ctx_error(w->ctx));
}

CliExit cli_fit_folds(RelnCtx *ctx, const CliArgs *args)
{
    Work *w = calloc(1, sizeof *w);
    CliExit code;

    if (!w)
        return cli_fail(CLI_NOMEM, "out of memory");
    w->ctx = ctx;
    w->args = args;
    w->folder = args->out ? args->out : "folds";
    code = count_folds(w);
    for (int i = 0; i < w->n && i < MOST; i++)
        if (snprintf(w->folders[i], PATH, "%s/fold%d", w->folder, i) >= PATH)
            code = cli_fail(CLI_USAGE, "fit: the name of the folder is too long");
    if (code == CLI_DONE && reln_folder_make(ctx, w->folder) != RELN_OK)
        code = cli_fail(CLI_IO, "%s", reln_ctx_error(ctx));
    for (int i = 0; i < w->n && code == CLI_DONE; i++)
        code = train(w, i);
    if (code == CLI_DONE)
        code = judge(w);
    reln_folds_clear(&w->result);
    free(w);
    return code;
}
