/* Compares the published numbers in the tasks and on the pages of results with paper.tsv: none is missing and
 * none is added. A digit that is typed wrong on any side is detected. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "tasks/task.h"

/* ---- the table ----------------------------------------------------------------------------------------------------- */

enum { LINES = 256, WORD = 32, CELLS = 6, TEXT = 1024, COLUMNS = 32 };

/* A Line is a number as printed, with the value of its unit; NAN: there is none. */
typedef struct Line {
    char task[WORD], row[WORD], metric[WORD];
    double unit, mean, spread;
} Line;

typedef struct Paper {
    int n;
    Line line[LINES];
} Paper;

static double number(const char *text)
{
    char *end;
    const double value = strtod(text, &end);

    assert_true(end != text && *end == '\0');
    return value;
}

/* Returns the text before the next `end`, or the rest; *text is then the text after it, or NULL. */
static char *cut(char **text, char end)
{
    char *word = *text, *at = word ? strchr(word, end) : NULL;

    if (at)
        *at = '\0';
    *text = at ? at + 1 : NULL;
    return word;
}

static Line read_line(char *text)
{
    char *cell[CELLS];
    Line line = {.unit = 1, .spread = (double)NAN};

    for (int i = 0; i < CELLS; i++) {
        cell[i] = cut(&text, '\t');
        assert_non_null(cell[i]);
    }
    assert_null(text);
    snprintf(line.task, WORD, "%s", cell[0]);
    snprintf(line.row, WORD, "%s", cell[1]);
    snprintf(line.metric, WORD, "%s", cell[2]);
    if (strcmp(cell[3], "%") == 0)
        line.unit = 0.01;
    else if (strcmp(cell[3], "ms") == 0)
        line.unit = 1000; /* microseconds */
    else
        assert_string_equal(cell[3], "1");
    line.mean = number(cell[4]);
    if (strcmp(cell[5], "-") != 0)
        line.spread = number(cell[5]);
    return line;
}

static FILE *source(const char *name)
{
    char path[2 * TEXT];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", RELN_SOURCE_DIR, name);
    file = fopen(path, "r");
    assert_non_null(file);
    return file;
}

static int load(void **state)
{
    static Paper paper;
    char text[TEXT];
    FILE *file = source("tests/tasks/paper.tsv");

    paper.n = 0;
    while (fgets(text, sizeof text, file)) {
        text[strcspn(text, "\n")] = '\0';
        if (text[0] == '#')
            continue;
        assert_true(paper.n < LINES);
        paper.line[paper.n++] = read_line(text);
    }
    fclose(file);
    *state = &paper;
    return 0;
}

static bool is(const Line *l, const char *task, const char *row, const char *metric)
{
    return strcmp(l->task, task) == 0 && strcmp(l->row, row) == 0 && strcmp(l->metric, metric) == 0;
}

static const Line *find(const Paper *p, const char *task, const char *row, const char *metric)
{
    const Line *found = NULL;

    for (int i = 0; i < p->n; i++)
        if (is(&p->line[i], task, row, metric)) {
            assert_null(found); /* once */
            found = &p->line[i];
        }
    return found;
}

/* Both are the doubles nearest to one decimal number, times a unit, which rounds once more. */
static void assert_same(double got, double want)
{
    assert_small(got - want, 4 * 0x1p-52 * fabs(want));
}

/* ---- its own sums -------------------------------------------------------------------------------------------------- */

static void add_up(const Paper *p, const Line *sum)
{
    const bool params = strcmp(sum->metric, "params") == 0;
    double means = 0, spreads = 0;
    int n = 0;

    for (int i = 0; i < p->n; i++) {
        const Line *l = &p->line[i];
        if (strcmp(l->task, sum->task) != 0 || strcmp(l->row, "sum") == 0 ||
            params != (strcmp(l->metric, "params") == 0))
            continue;
        means += l->mean;
        spreads += isnan(l->spread) ? 0 : l->spread;
        n++;
    }
    assert_small(means - sum->mean, n * 0x1p-52 * sum->mean);
    assert_small(spreads - (isnan(sum->spread) ? 0 : sum->spread), n * 0x1p-52 * spreads);
}

static void numbers_add_up_to_the_sums_of_the_printed_tables(void **state)
{
    const Paper *p = *state;
    int n = 0;

    for (int i = 0; i < p->n; i++)
        if (strcmp(p->line[i].row, "sum") == 0) {
            add_up(p, &p->line[i]);
            n++;
        } else {
            assert_non_null(find(p, p->line[i].task, "sum",
                                 strcmp(p->line[i].metric, "params") == 0 ? "params" : "-"));
        }
    assert_int_equal(n, 2 * 7); /* seven tasks have published numbers */
}

/* ---- what the tasks hold ------------------------------------------------------------------------------------------- */

static int metric_of(const Task *task, const char *name)
{
    for (int i = 0; i < task->n_metrics; i++)
        if (strcmp(task->metrics[i].name, name) == 0)
            return i;
    return -1;
}

static void every_printed_number_is_held_by_its_task(void **state)
{
    const Paper *p = *state;

    for (int i = 0; i < p->n; i++) {
        const Line *l = &p->line[i];
        const Task *task = task_find(l->task);
        const TaskModel *model;
        int metric;

        assert_non_null(task);
        if (strcmp(l->row, "sum") == 0)
            continue;
        model = task_model(task, l->row);
        assert_non_null(model);
        if (strcmp(l->metric, "params") == 0) {
            assert_int_equal(model->params, (size_t)l->mean);
            continue;
        }
        metric = metric_of(task, l->metric);
        assert_true(metric >= 0);
        assert_same(model->paper[metric].mean, l->mean * l->unit);
        assert_same(model->paper[metric].spread, isnan(l->spread) ? 0 : l->spread * l->unit);
    }
}

static void no_task_holds_a_number_that_is_not_printed(void **state)
{
    const Paper *p = *state;
    int n = 0;

    for (int t = 0; t < task_count(); t++) {
        const Task *task = task_at(t);
        for (int m = 0; m < task->n_models; m++)
            for (int i = 0; i < TASK_METRICS; i++) {
                const TaskNumber *held = &task->models[m].paper[i];
                const char *metric = i < task->n_metrics ? task->metrics[i].name : "none";
                if (held->mean == 0 && held->spread == 0)
                    continue;
                if (!find(p, task->name, task->models[m].name, metric))
                    fail_msg("%s %s %s is not in paper.tsv", task->name, task->models[m].name,
                             metric);
                n++;
            }
    }
    assert_int_equal(n, 16 + 18 + 16 + 12 + 6 + 4 + 15);
}

/* ---- what the pages show ------------------------------------------------------------------------------------------- */

/* Cells of a line of a table, without blanks around them and without stars. */
static int cells(char *text, char *cell[COLUMNS])
{
    int n = 0;

    if (*text != '|')
        return 0;
    text++;
    for (char *word; (word = cut(&text, '|')) && text && n < COLUMNS;) {
        word += strspn(word, " *");
        for (size_t k = strlen(word); k > 0 && strchr(" *", word[k - 1]); k--)
            word[k - 1] = '\0';
        cell[n++] = word;
    }
    return n;
}

/* Returns the value of one unit in the last digit of a number as text: 1e-6 for "5.83e-4". */
static double last_digit(const char *text, size_t length)
{
    const char *exponent = memchr(text, 'e', length), *point = memchr(text, '.', length);
    const size_t digits = exponent ? (size_t)(exponent - text) : length;

    return pow(10, (exponent ? atof(exponent + 1) : 0) -
                       (point ? (double)(digits - (size_t)(point + 1 - text)) : 0));
}

/* Commas between thousands go. */
static void assert_shown(char *text, double want)
{
    char plain[TEXT];
    size_t n = 0;

    for (; *text && *text != ' '; text++)
        if (*text != ',')
            plain[n++] = *text;
    plain[n] = '\0';
    assert_small(number(plain) - want, 0.5 * last_digit(plain, n) + 1e-12 * fabs(want));
}

static void assert_cell(char *cell, const Line *l, bool percent)
{
    const double unit = percent ? 100 * l->unit : l->unit;
    char *spread = strstr(cell, "± ");

    assert_shown(cell, l->mean * unit);
    assert_int_equal(spread != NULL, !isnan(l->spread));
    if (spread)
        assert_shown(spread + strlen("± "), l->spread * unit);
}

static const TaskModel *model_of(const Task *task, const char *label)
{
    for (int i = 0; i < task->n_models; i++)
        if (strcmp(task->models[i].label, label) == 0)
            return &task->models[i];
    return NULL;
}

/* Which metric a column of the paper stands behind; -1 where it is no such column. */
static int column_of(const Task *task, char *const head[], int column)
{
    if (column == 0 || strcmp(head[column], "paper") != 0)
        return -1;
    for (int i = 0; i < task->n_metrics; i++) {
        const char *label = task->metrics[i].label;
        if (strncmp(head[column - 1], label, strlen(label)) == 0 &&
            (head[column - 1][strlen(label)] == '\0' || head[column - 1][strlen(label)] == ' '))
            return i;
    }
    fail_msg("the column '%s' is no metric of %s", head[column - 1], task->name);
    return -1;
}

/* Compares the published numbers on a page; a cell must be empty if the paper prints no number. Returns how
 * many there are. */
static int compare_page(const Paper *p, const char *name)
{
    const Task *task = task_find(name);
    char first[TEXT], text[TEXT], path[TEXT], *head[COLUMNS], *cell[COLUMNS];
    int n_head = 0, n = 0;
    FILE *file;

    snprintf(path, sizeof path, "docs/results/%s/table.md", name);
    file = source(path);
    while (n_head == 0 && fgets(first, sizeof first, file))
        n_head = cells(first, head);
    while (fgets(text, sizeof text, file) && cells(text, cell) == n_head) {
        const TaskModel *model = model_of(task, cell[0]);
        for (int c = 0; model && c < n_head; c++) {
            const int metric = column_of(task, head, c);
            const Line *l =
                metric < 0 ? NULL : find(p, name, model->name, task->metrics[metric].name);
            if (metric >= 0)
                assert_int_equal(l != NULL, cell[c][0] != '\0');
            if (l) {
                assert_cell(cell[c], l, task->metrics[metric].percent);
                n++;
            }
        }
        if (!model)
            assert_int_equal(cell[0][0], '-'); /* the rule below the head */
    }
    fclose(file);
    return n;
}

static void pages_of_results_show_the_printed_numbers(void **state)
{
    assert_int_equal(compare_page(*state, "platonic"), 16);
    assert_int_equal(compare_page(*state, "sp4"), 18);
    assert_int_equal(compare_page(*state, "pendulum"), 12);
    assert_int_equal(compare_page(*state, "pendulum-cost"), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_add_up_to_the_sums_of_the_printed_tables),
        cmocka_unit_test(every_printed_number_is_held_by_its_task),
        cmocka_unit_test(no_task_holds_a_number_that_is_not_printed),
        cmocka_unit_test(pages_of_results_show_the_printed_numbers),
    };

    return cmocka_run_group_tests(tests, load, NULL);
}
