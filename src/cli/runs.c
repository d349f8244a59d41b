/* runs.c -- see runs.h. */
#include "cli/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ------------------------------------------------------------------------------------------------------------- */

enum { LINE = 1024, SCORE_COLUMN = 6, MOST_KEYS = 12, KEY = 96, VALUE = 48 };

/* Reads number `column` of a line of numbers separated by commas; returns false if the line has fewer. */
static bool column_of(const char *line, int column, double *out)
{
    char *end = NULL;

    for (; column > 0; column--) {
        line = strchr(line, ',');
        if (!line)
            return false;
        line++;
    }
    *out = strtod(line, &end);
    return end != line;
}

static bool grow(CliRun *run, int *room)
{
    double **lists[] = {&run->epoch, &run->loss, &run->score};

    if (run->n_rows < *room)
        return true;
    *room = *room > 0 ? 2 * *room : 64;
    for (int i = 0; i < 3; i++) {
        double *more = realloc(*lists[i], (size_t)*room * sizeof *more);

        if (!more)
            return false;
        *lists[i] = more;
    }
    return true;
}

/* Reads the curves of a run. A last line without its end is still being written, and is ignored. */
static CliExit read_curves(CliRun *run)
{
    char path[640], line[LINE];
    CliExit code = CLI_DONE;
    int room = 0;
    FILE *file;

    snprintf(path, sizeof path, "%s/metrics.csv", run->folder);
    file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        double epoch, loss, score;

        if (!strchr(line, '\n') || !column_of(line, 1, &epoch) || !column_of(line, 2, &loss) ||
            !column_of(line, SCORE_COLUMN, &score) || line[0] == 's')
            continue;
        if (!grow(run, &room)) {
            code = cli_fail(CLI_NOMEM, "out of memory");
            break;
        }
        run->epoch[run->n_rows] = epoch;
        run->loss[run->n_rows] = loss;
        run->score[run->n_rows++] = score;
    }
    if (file)
        (void)fclose(file);
    return code;
}

CliExit cli_run_read(RelnCtx *ctx, const char *folder, CliRun *out)
{
    char path[640];

    *out = (CliRun){0};
    snprintf(out->folder, sizeof out->folder, "%s", folder);
    snprintf(path, sizeof path, "%s/results.json", folder);
    if (reln_file_exists(path) && reln_doc_load(ctx, path, &out->results) != RELN_OK)
        return cli_fail(CLI_INPUT, "%s", reln_ctx_error(ctx));
    return read_curves(out);
}

void cli_run_clear(CliRun *run)
{
    reln_doc_destroy(run->results);
    free(run->epoch);
    free(run->loss);
    free(run->score);
    *run = (CliRun){0};
}

double cli_run_best(const CliRun *run, double until, int *row)
{
    double best = HUGE_VAL;

    *row = -1;
    for (int i = 0; i < run->n_rows && run->epoch[i] <= until; i++)
        if (run->score[i] < best) {
            best = run->score[i];
            *row = i;
        }
    return best;
}

const char *cli_run_end(const CliRun *run)
{
    const RelnDocNode *end = run->results ? reln_doc_get(reln_doc_root(run->results), "end") : NULL;

    return end && end->text ? end->text : "";
}

bool cli_run_reached(const CliRun *run, double until)
{
    const char *end = cli_run_end(run);

    if (strncmp(end, "done", 4) == 0 || strncmp(end, "diverged", 8) == 0 ||
        strncmp(end, "stopped early", 13) == 0)
        return true;
    return run->n_rows > 0 && run->epoch[run->n_rows - 1] >= until;
}

/* ---- settings that differ -------------------------------------------------------------------------------------------------- */

typedef struct Keys {
    int n;
    char key[MOST_KEYS][KEY];
} Keys;

static const RelnDocNode *spec_of(const CliRun *run)
{
    return run->results ? reln_doc_get(reln_doc_root(run->results), "spec") : NULL;
}

/* Returns the value of a key such as "train.lr" as text; "" if there is none. */
static const char *value_of(const CliRun *run, const char *key, char text[VALUE])
{
    const RelnDocNode *node = spec_of(run);
    char part[KEY];

    for (const char *at = key; *at && node; at += *at == '.') {
        const size_t length = strcspn(at, ".");

        snprintf(part, sizeof part, "%.*s", (int)length, at);
        node = reln_doc_get(node, part);
        at += length;
    }
    text[0] = '\0';
    if (node && node->text)
        snprintf(text, VALUE, "%s", node->text);
    else if (node)
        for (const RelnDocNode *i = node->first; i; i = i->next) {
            const RelnDocNode *name = i->text ? i : reln_doc_get(i, "name"); /* inputs, targets */

            snprintf(text + strlen(text), VALUE - strlen(text), "%s%s", i == node->first ? "" : " ",
                     name && name->text ? name->text : "...");
        }
    return text;
}

static bool known(const Keys *keys, const char *key)
{
    for (int i = 0; i < keys->n; i++)
        if (strcmp(keys->key[i], key) == 0)
            return true;
    return false;
}

static bool differs(const char *key, int n, const CliRun *runs)
{
    char a[VALUE], b[VALUE];

    for (int i = 1; i < n; i++)
        if (strcmp(value_of(&runs[0], key, a), value_of(&runs[i], key, b)) != 0)
            return true;
    return false;
}

static void collect(const RelnDocNode *map, const char *prefix, int n, const CliRun *runs,
                    Keys *keys)
{
    char key[KEY];

    for (const RelnDocNode *i = map ? map->first : NULL; i; i = i->next) {
        if (!i->key || snprintf(key, KEY, "%s%s%s", prefix, *prefix ? "." : "", i->key) >= KEY)
            continue;
        if (i->kind == RELN_DOC_MAP)
            collect(i, key, n, runs, keys);
        else if (keys->n < MOST_KEYS && !known(keys, key) && differs(key, n, runs))
            memcpy(keys->key[keys->n++], key, KEY);
    }
}

static Keys keys_of(int n, const CliRun *runs)
{
    Keys keys = {0};

    for (int i = 0; i < n; i++)
        collect(spec_of(&runs[i]), "", n, runs, &keys);
    return keys;
}

/* ---- comparison --------------------------------------------------------------------------------------------------------- */

/* Sorts runs by score, and equal scores by number. */
static void sort(int n, const CliRun *runs, int *order)
{
    int row;

    for (int i = 0; i < n; i++) {
        const double score = cli_run_best(&runs[i], HUGE_VAL, &row);
        int at = i;

        for (; at > 0 && cli_run_best(&runs[order[at - 1]], HUGE_VAL, &row) > score; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static const char *tail_of(const char *folder)
{
    const char *slash = strrchr(folder, '/');

    return slash && slash[1] ? slash + 1 : folder;
}

/* Writes "20", or "19.5" between two epochs. */
static void put_epoch(RelnTable *table, double epoch)
{
    char text[32];

    snprintf(text, sizeof text, "%.4g", epoch);
    reln_table_text(table, text);
}

static void put_row(const CliRun *run, const Keys *keys, RelnTable *table)
{
    char text[VALUE];
    int row;
    const double score = cli_run_best(run, HUGE_VAL, &row);

    reln_table_row(table);
    reln_table_text(table, tail_of(run->folder));
    for (int k = 0; k < keys->n; k++)
        reln_table_text(table, value_of(run, keys->key[k], text));
    if (row >= 0) {
        reln_table_number(table, score, 4);
        put_epoch(table, run->epoch[row]);
        put_epoch(table, run->epoch[run->n_rows - 1]);
    } else {
        for (int i = 0; i < 3; i++)
            reln_table_text(table, "");
    }
    snprintf(text, sizeof text, "%.*s", (int)strcspn(cli_run_end(run), ":;"), cli_run_end(run));
    reln_table_text(table, text);
}

CliExit cli_runs_table(RelnCtx *ctx, int n, const CliRun *runs, RelnTable *table)
{
    const Keys keys = keys_of(n, runs);
    int *order = malloc(((size_t)n + 1) * sizeof *order);

    (void)ctx;
    if (!order)
        return cli_fail(CLI_NOMEM, "out of memory");
    reln_table_column(table, "run", RELN_COL_LEFT);
    for (int k = 0; k < keys.n; k++)
        reln_table_column(table, keys.key[k], RELN_COL_RIGHT);
    reln_table_column(table, "score", RELN_COL_RIGHT | RELN_COL_LOWEST);
    reln_table_column(table, "at epoch", RELN_COL_RIGHT);
    reln_table_column(table, "of", RELN_COL_RIGHT);
    reln_table_column(table, "end", RELN_COL_LEFT);
    sort(n, runs, order);
    for (int i = 0; i < n; i++)
        put_row(&runs[order[i]], &keys, table);
    free(order);
    return CLI_DONE;
}

/* Returns the scale of the axis of scores: logarithmic, unless one of them is not positive, as likelihoods
 * may be. */
static RelnScale score_axis(int n, const CliRun *runs)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < runs[i].n_rows; k++)
            if (runs[i].score[k] <= 0)
                return RELN_AXIS_LINEAR;
    return RELN_AXIS_LOG;
}

/* Plots the score against a setting that is a number in every run. */
static void key_plot(RelnPage *page, const char *key, int n, const CliRun *runs, double *x)
{
    double *y = x + n, low = HUGE_VAL, high = -HUGE_VAL;
    char text[VALUE], title[KEY + 40], *end = NULL;
    RelnPlot *plot;
    int row, count = 0;

    for (int i = 0; i < n; i++) {
        const double score = cli_run_best(&runs[i], HUGE_VAL, &row);

        x[count] = strtod(value_of(&runs[i], key, text), &end);
        if (end == text || *end)
            return;
        if (row < 0)
            continue;
        low = fmin(low, x[count]);
        high = fmax(high, x[count]);
        y[count++] = score;
    }
    if (count < 2 || !(high > low))
        return;
    snprintf(title, sizeof title, "Best validation score against %s", key);
    plot = reln_page_plot(page, title);
    reln_plot_x(plot, key, low > 0 && high / low > 4 ? RELN_AXIS_LOG : RELN_AXIS_LINEAR);
    reln_plot_y(plot, "best validation score", score_axis(n, runs));
    reln_plot_points(plot, NULL, count, x, y);
}

/* Draws the curves of all runs, the best first. With many runs the reader chooses the curves; the first ones have names. */
static void curves(RelnPage *page, int n, const CliRun *runs, const int *order)
{
    enum { MOST_NAMED = 32 };
    RelnPlot *plot = reln_page_plot(page, "Validation score");

    reln_plot_x(plot, "epoch", RELN_AXIS_LINEAR);
    reln_plot_y(plot, "score", score_axis(n, runs));
    for (int i = 0; i < n && i < MOST_NAMED; i++) {
        const CliRun *run = &runs[order[i]];

        reln_plot_line(plot, tail_of(run->folder), run->n_rows, run->epoch, run->score);
    }
    if (n > MOST_NAMED)
        reln_plot_note(plot, "The best runs of the table.");
}

/* Writes the first paragraph: the number of runs, and the best one with the settings in which runs differ. */
static void summary(RelnPage *page, int n, const CliRun *best, const Keys *keys)
{
    char text[VALUE], settings[1024] = "";
    int row;
    const double score = cli_run_best(best, HUGE_VAL, &row);

    for (int k = 0; k < keys->n; k++)
        snprintf(settings + strlen(settings), sizeof settings - strlen(settings), "%s%s %s",
                 k > 0 ? ", " : " with ", keys->key[k], value_of(best, keys->key[k], text));
    if (row >= 0)
        reln_page_text(page,
                       "%d runs were compared by their best validation score, where lower is "
                       "better. The best is %s%s: "
                       "%.4g at epoch %.4g.",
                       n, tail_of(best->folder), settings, score, best->epoch[row]);
}

static RelnStatus write_page(RelnCtx *ctx, const char *path, RelnPage *page)
{
    const char *text = NULL;
    size_t n_bytes = 0;

    const RelnStatus status = reln_page_html(page, &text, &n_bytes);

    return status == RELN_OK ? reln_file_write(ctx, path, text, n_bytes) : status;
}

CliExit cli_runs_page(RelnCtx *ctx, const char *title, int n, const CliRun *runs, const char *path)
{
    const Keys keys = keys_of(n, runs);
    double *room = malloc(((size_t)n + 1) * 2 * sizeof *room);
    int *order = malloc(((size_t)n + 1) * sizeof *order);
    RelnPage *page = NULL;
    RelnTable *table = NULL;
    RelnStatus status = reln_page_create(ctx, title, &page);
    CliExit code;

    if (status == RELN_OK)
        status = reln_table_create(ctx, &table);
    if (status != RELN_OK || !room || !order) {
        code = cli_fail(CLI_NOMEM, "out of memory");
    } else {
        sort(n, runs, order);
        if (n > 0)
            summary(page, n, &runs[order[0]], &keys);
        reln_page_section(page, "Runs");
        code = cli_runs_table(ctx, n, runs, table);
        reln_page_table(page, table);
        reln_page_columns(page, 2);
        curves(page, n, runs, order);
        for (int k = 0; k < keys.n; k++)
            key_plot(page, keys.key[k], n, runs, room);
        status = write_page(ctx, path, page);
        if (status != RELN_OK)
            code = cli_fail(cli_exit_of(status), "%s", reln_ctx_error(ctx));
    }
    reln_table_destroy(table);
    reln_page_destroy(page);
    free(room);
    free(order);
    return code;
}
