/* test_report.c -- tests numbers, tables and plots in extreme cases: hostile text, empty series, values that
 * cannot be drawn. */
#include "support/support.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/check.h"
#include "report/plot.h"

static RelnCtx *ctx;

static int setup(void **state)
{
    (void)state;
    return reln_ctx_create(NULL, &ctx) == RELN_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(reln_ctx_live_blocks(ctx), 0);
    reln_ctx_destroy(ctx);
    return 0;
}

static void assert_within(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in what was written:\n%.2000s", part, text);
}

static int occurrences(const char *text, const char *part)
{
    int n = 0;

    while ((text = strstr(text, part))) {
        n++;
        text++;
    }
    return n;
}

/* ---- numbers ------------------------------------------------------------------------------------------------- */

static void numbers_are_short_and_keep_their_digits(void **state)
{
    static const struct {
        double value;
        int digits;
        const char *text;
    } cases[] = {{0.0, 3, "0"},
                 {-0.0, 3, "0"},
                 {5.14e-4, 3, "5.14e-4"},
                 {-5.14e-4, 3, "-5.14e-4"},
                 {0.0123, 3, "0.0123"},
                 {98.34, 3, "98.3"},
                 {9.996, 3, "10.0"},
                 {1234.4, 3, "1234"},
                 {99999.6, 6, "99999.6"},
                 {99999.6, 5, "1.0000e5"},
                 {1.2e9, 2, "1.2e9"},
                 {1e-300, 2, "1.0e-300"},
                 {0.5, 1, "0.5"},
                 {0.1, 17, "0.10000000000000001"},
                 {7.0, -4, "7"},
                 {(double)NAN, 3, "nan"},
                 {(double)INFINITY, 3, "inf"},
                 {-(double)INFINITY, 3, "-inf"},
                 {5e-324, 3, "4.94e-324"}};
    char buf[RELN_NUMBER_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(reln_report_number(buf, cases[i].value, cases[i].digits),
                            cases[i].text);
}

static void mean_and_spread_have_the_same_decimals(void **state)
{
    static const struct {
        double mean, spread;
        int digits;
        const char *text;
    } cases[] = {{5.14e-4, 2.3e-5, 2, "5.14e-4 ± 0.23e-4"},
                 {5.14e-4, 2.3e-5, 1, "5.1e-4 ± 0.2e-4"},
                 {98.314, 0.12, 2, "98.31 ± 0.12"},
                 {1e-5, 2e-3, 1, "0.000 ± 0.002"},
                 {3e8, 1e6, 1, "3.00e8 ± 0.01e8"},
                 {1.5, 0.0, 2, "1.50 ± 0"},
                 {1.5, (double)NAN, 2, "1.50"},
                 {(double)NAN, 1.0, 2, "nan"},
                 {-2.0, 1e-300, 2, "-2.000000000000 ± 0.000000000000"},
                 {1e300, 1e-300, 2, "1.000000000000e300 ± 0.000000000000e300"}};
    char buf[RELN_NUMBER_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(reln_report_mean(buf, cases[i].mean, cases[i].spread, cases[i].digits),
                            cases[i].text);
}

static void counts_and_durations_read_well(void **state)
{
    char buf[RELN_NUMBER_TEXT];

    (void)state;
    assert_string_equal(reln_report_count(buf, 0), "0");
    assert_string_equal(reln_report_count(buf, 999), "999");
    assert_string_equal(reln_report_count(buf, 263170), "263,170");
    assert_string_equal(reln_report_count(buf, -1234567), "-1,234,567");
    assert_string_equal(reln_report_count(buf, INT64_MIN), "-9,223,372,036,854,775,808");
    assert_string_equal(reln_report_duration(buf, 1.23e-5), "12.3 µs");
    assert_string_equal(reln_report_duration(buf, 0.0), "0 s");
    assert_string_equal(reln_report_duration(buf, 0.9999), "1.00 s");
    assert_string_equal(reln_report_duration(buf, 48.13), "48.1 s");
    assert_string_equal(reln_report_duration(buf, 119.9), "2 min 0 s");
    assert_string_equal(reln_report_duration(buf, 3599.4), "59 min 59 s");
    assert_string_equal(reln_report_duration(buf, 3599.6), "1 h 0 min");
    assert_string_equal(reln_report_duration(buf, 4980.0), "1 h 23 min");
    assert_string_equal(reln_report_duration(buf, 500000.0), "5 d 19 h");
    assert_string_equal(reln_report_duration(buf, (double)NAN), "nan s");
}

static void widths_are_those_of_a_terminal(void **state)
{
    (void)state;
    assert_int_equal(reln_report_width(""), 0);
    assert_int_equal(reln_report_width("± µ ×"), 5);
    assert_int_equal(reln_report_width("e\xCC\x81"), 1); /* e and a combining accent */
    assert_int_equal(reln_report_width("\xE6\x97\xA5\xE6\x9C\xAC"), 4); /* two wide characters */
    assert_int_equal(reln_report_width("\xFF\xC3"), 2); /* no UTF-8: one for each byte */
}

/* ---- tables -------------------------------------------------------------------------------------------------- */

static RelnTable *small_table(void)
{
    RelnTable *t = NULL;

    assert_ok(ctx, reln_table_create(ctx, &t));
    reln_table_column(t, "model", RELN_COL_LEFT);
    reln_table_column(t, "error ±", RELN_COL_RIGHT | RELN_COL_LOWEST);
    reln_table_column(t, "%", RELN_COL_CENTRE | RELN_COL_HIGHEST | RELN_COL_BAR);
    reln_table_row(t);
    reln_table_text(t, "a|b*");
    reln_table_number(t, 0.25, 2);
    reln_table_number(t, 50.0, 2);
    reln_table_row(t);
    reln_table_text(t, "ReLN");
    reln_table_mean(t, 0.125, 0.01, 1);
    return t;
}

static const char *written(RelnTable *t, RelnTableFormat format)
{
    const char *text = NULL;
    size_t n = 0;

    assert_ok(ctx, reln_table_write(t, format, &text, &n));
    assert_int_equal(n, strlen(text));
    return text;
}

static void tables_align_and_mark_the_best(void **state)
{
    RelnTable *t = small_table();

    (void)state;
    reln_table_note(t, "a note");
    /* the star has a separate column, so digits are aligned */
    assert_string_equal(written(t, RELN_TABLE_PLAIN), "model      error ±    %\n"
                                                      "────────────────────────\n"
                                                      "a|b*          0.25   50*\n"
                                                      "ReLN   0.12 ± 0.01*\n"
                                                      "a note\n");
    assert_string_equal(written(t, RELN_TABLE_MARKDOWN), "| model  |         error ± |   %    |\n"
                                                         "| ------ | --------------: | :----: |\n"
                                                         "| a\\|b\\* |            0.25 | **50** |\n"
                                                         "| ReLN   | **0.12 ± 0.01** |        |\n"
                                                         "\na note\n");
    assert_within(written(t, RELN_TABLE_TERMINAL), "\033[1m0.12 ± 0.01\033[0m\n");
    reln_table_destroy(t);
}

/* The reference row has the lowest error and a NEES between the others: neither is marked, and 2.9 is nearer
 * to 3 than 3.4 and 1. */
static void references_are_never_the_best(void **state)
{
    static const struct {
        const char *name;
        double error, nees;
    } rows[] = {{"perfect", 0, 3}, {"a", 0.5, 3.4}, {"b", 0.25, 1}, {"c", 0.75, 2.9}};
    RelnTable *t = NULL;

    (void)state;
    assert_ok(ctx, reln_table_create(ctx, &t));
    reln_table_column(t, "model", RELN_COL_LEFT);
    reln_table_column(t, "error", RELN_COL_RIGHT | RELN_COL_LOWEST);
    reln_table_column(t, "NEES", RELN_COL_RIGHT);
    reln_table_nearest(t, 3);
    for (int i = 0; i < 4; i++) {
        reln_table_row(t);
        if (i == 0)
            reln_table_reference(t);
        reln_table_text(t, rows[i].name);
        reln_table_number(t, rows[i].error, 2);
        reln_table_number(t, rows[i].nees, 2);
    }
    assert_string_equal(written(t, RELN_TABLE_PLAIN), "model    error   NEES\n"
                                                      "──────────────────────\n"
                                                      "perfect      0    3.0\n"
                                                      "a         0.50    3.4\n"
                                                      "b         0.25*   1.0\n"
                                                      "c         0.75    2.9*\n");
    reln_table_destroy(t);
}

/* The columns that do not fit follow below, after the first column again; a column that is too wide stands
 * alone. */
static void tables_fit_the_screen(void **state)
{
    static const char *const narrow = "model      error ±\n"
                                      "───────────────────\n"
                                      "a|b*          0.25\n"
                                      "ReLN   0.12 ± 0.01*\n"
                                      "\n"
                                      "model   %\n"
                                      "──────────\n"
                                      "a|b*   50*\n"
                                      "ReLN\n"
                                      "a note\n";
    RelnTable *t = small_table();

    (void)state;
    reln_table_note(t, "a note");
    reln_table_width(t, 24);
    assert_int_equal(strcspn(written(t, RELN_TABLE_PLAIN), "\n"),
                     strlen("model      error ±    %"));
    reln_table_width(t, 23);
    assert_string_equal(written(t, RELN_TABLE_PLAIN), narrow);
    reln_table_width(t, 1);
    assert_string_equal(written(t, RELN_TABLE_PLAIN), narrow);
    assert_within(written(t, RELN_TABLE_MARKDOWN), "| model  |         error ± |   %    |\n");
    reln_table_destroy(t);
}

static void notes_fit_the_screen(void **state)
{
    RelnTable *t = small_table();

    (void)state;
    reln_table_note(t, "a note that is longer than the table");
    assert_within(written(t, RELN_TABLE_PLAIN), "\na note that is longer than the table\n");
    reln_table_width(t, 25);
    assert_within(written(t, RELN_TABLE_PLAIN), "\na note that is longer\nthan the table\n");
    reln_table_width(t, 26); /* "than" just fits */
    assert_within(written(t, RELN_TABLE_PLAIN), "\na note that is longer than\nthe table\n");
    assert_within(written(t, RELN_TABLE_MARKDOWN), "\na note that is longer than the table\n");
    reln_table_destroy(t);
}

static void a_column_stays_beside_its_own(void **state)
{
    RelnTable *t = NULL;

    (void)state;
    assert_ok(ctx, reln_table_create(ctx, &t));
    reln_table_column(t, "a", RELN_COL_LEFT);
    reln_table_column(t, "bbbb", RELN_COL_RIGHT);
    reln_table_column(t, "cccc", RELN_COL_RIGHT);
    reln_table_column(t, "dddd", RELN_COL_RIGHT | RELN_COL_BESIDE);
    reln_table_width(t, 14); /* room for two, but d is c's */
    assert_string_equal(written(t, RELN_TABLE_PLAIN),
                        "a  bbbb\n───────\n\na  cccc  dddd\n─────────────\n");
    reln_table_width(t, 8); /* room for one */
    assert_within(written(t, RELN_TABLE_PLAIN), "\na  dddd\n");
    reln_table_destroy(t);
}

static void equal_texts_are_equally_good(void **state)
{
    RelnTable *t = NULL;

    (void)state;
    assert_ok(ctx, reln_table_create(ctx, &t));
    reln_table_column(t, "x", RELN_COL_LOWEST);
    for (int i = 0; i < 3; i++) {
        reln_table_row(t);
        reln_table_number(t, i < 2 ? 1.001 + 0.001 * i : 2.0, 2);
    }
    assert_int_equal(occurrences(written(t, RELN_TABLE_MARKDOWN), "**1.0**"), 2);
    reln_table_destroy(t);
}

static void terminals_get_no_control_characters_from_cells(void **state)
{
    RelnTable *t = NULL;

    (void)state;
    assert_ok(ctx, reln_table_create(ctx, &t));
    reln_table_column(t, "x", RELN_COL_LEFT);
    reln_table_row(t);
    reln_table_text(t, "\033[31mred\nline\xC2\x9B");
    assert_null(strchr(written(t, RELN_TABLE_PLAIN), '\033'));
    assert_within(written(t, RELN_TABLE_PLAIN), "\xEF\xBF\xBD[31mred line\xEF\xBF\xBD\n");
    reln_table_destroy(t);
}

/* The first and the last of each kind of control characters are replaced, their neighbours are not. */
static void all_control_characters_are_replaced(void **state)
{
    static const char *const control[] = {"\x01",     "\x1F",         "\x7F",        "\xC2\x80",
                                          "\xC2\x9F", "\xEF\xBF\xBE", "\xEF\xBF\xBF"};
    static const char *const others[] = {" ", "~", "\xC2\xA0", "\xEF\xBF\xBC"};

    (void)state;
    for (size_t i = 0; i < sizeof control / sizeof control[0] + sizeof others / sizeof others[0];
         i++) {
        const bool replaced = i < sizeof control / sizeof control[0];
        const char *one = replaced ? control[i] : others[i - sizeof control / sizeof control[0]];
        char cell[16], wanted[16];
        RelnTable *t = NULL;

        snprintf(cell, sizeof cell, "a%sb", one);
        snprintf(wanted, sizeof wanted, "a%sb\n", replaced ? "\xEF\xBF\xBD" : one);
        assert_ok(ctx, reln_table_create(ctx, &t));
        reln_table_column(t, "x", RELN_COL_LEFT);
        reln_table_row(t);
        reln_table_text(t, cell);
        assert_within(written(t, RELN_TABLE_PLAIN), wanted);
        reln_table_destroy(t);
    }
}

static void refuse_table(RelnTable *t, const char *said)
{
    const char *text = NULL;
    size_t n = 1;

    reln_table_row(t); /* nothing after the failure changes it */
    assert_int_equal(reln_table_write(t, RELN_TABLE_PLAIN, &text, &n), RELN_ERR_ARG);
    assert_string_equal(text, "");
    assert_int_equal(n, 0);
    assert_within(reln_ctx_error(ctx), said);
    reln_table_destroy(t);
}

static void wrong_use_of_tables_is_reported_once_and_stays(void **state)
{
    RelnTable *t = small_table();

    (void)state;
    reln_table_number(t, 1.0, 2);
    reln_table_number(t, 2.0, 2);
    refuse_table(t, "cell \"2.0\": the row has 3 of 3 cells already");
    t = small_table();
    reln_table_column(t, "late", RELN_COL_LEFT);
    refuse_table(t, "column \"late\": 3 columns and rows; columns come before rows");
    assert_ok(ctx, reln_table_create(ctx, &t));
    reln_table_text(t, "lost");
    refuse_table(t, "cell \"lost\": the row has 0 of 0 cells");
}

/* ---- pages --------------------------------------------------------------------------------------------------- */

static RelnPage *new_page(void)
{
    RelnPage *page = NULL;

    assert_ok(ctx, reln_page_create(ctx, "title", &page));
    return page;
}

/* Returns the page, after checking that it is well formed and has no number that is nan or inf. */
static const char *html_of(RelnPage *page, size_t *n_bytes)
{
    const char *html = NULL;
    size_t n = 0;
    Checker checker;

    assert_ok(ctx, reln_page_html(page, &html, &n));
    assert_int_equal(strlen(html), n);
    if (what_is_wrong(html, &checker))
        fail_msg("%s", checker.wrong);
    for (const char *s = strstr(html, "<svg"); s && (s = strstr(s, " d=\"")); s++) {
        const size_t length = strcspn(s + 4, "\"");

        if (strspn(s + 4, "MLHVhvmlaz0123456789. -") < length)
            fail_msg("not a path: %.200s", s);
    }
    if (n_bytes)
        *n_bytes = n;
    return html;
}

static void checker_sees_what_is_broken(void **state)
{
    static const char *const broken[] = {"<p>",   "<p></b>",         "</p>",
                                         "a & b", "<p class=x></p>", "<a b=\"<",
                                         "<p",    "<p>\x01</p>",     "< p>"};
    Checker checker;

    (void)state;
    assert_null(what_is_wrong("<!DOCTYPE html>\n<p a=\"&lt;\">x &amp; y<br/></p>", &checker));
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        assert_non_null(what_is_wrong(broken[i], &checker));
}

static void hostile_text_stays_text(void **state)
{
    static const char evil[] =
        "</title></script><script>alert('\"1\"')</script>&amp;\x01\xFF%s%n]]>-->";
    static const double y[] = {1.0, 2.0};
    const char *const names[] = {evil, evil};
    RelnPage *page = NULL;
    RelnTable *t = NULL;
    RelnPlot *plot;

    (void)state;
    assert_ok(ctx, reln_page_create(ctx, evil, &page));
    assert_ok(ctx, reln_table_create(ctx, &t));
    reln_table_title(t, evil);
    reln_table_column(t, evil, RELN_COL_LEFT);
    reln_table_group(t, evil);
    reln_table_row(t);
    reln_table_text(t, evil);
    reln_table_note(t, evil);
    reln_page_section(page, evil);
    reln_page_section(page, evil);
    reln_page_text(page, "%s", evil);
    reln_page_fact(page, evil, "%s", evil);
    reln_page_code(page, evil, evil);
    reln_page_table(page, t);
    plot = reln_page_plot(page, evil);
    reln_plot_x(plot, evil, RELN_AXIS_LINEAR);
    reln_plot_y(plot, evil, RELN_AXIS_LINEAR);
    reln_plot_categories(plot, 2, names);
    reln_plot_note(plot, evil);
    reln_plot_hline(plot, 1.0, evil);
    reln_plot_vline(plot, 1.0, evil);
    reln_plot_diagonal(plot, evil);
    reln_plot_series(
        plot,
        &(RelnSeries){.name = evil, .mark = RELN_MARK_POINTS, .n = 2, .y = y, .labels = names});
    reln_plot_series(plot, &(RelnSeries){.name = evil, .mark = RELN_MARK_BARS, .n = 2, .y = y});
    plot = reln_page_plot(page, evil);
    reln_plot_direct_labels(plot);
    reln_plot_line(plot, evil, 2, y, y);
    reln_plot_roof(plot, 2.0, evil, 3.0, evil);
    assert_null(strstr(html_of(page, NULL), "<script"));
    assert_within(html_of(page, NULL), "&lt;script&gt;alert(&#39;&quot;1&quot;&#39;)");
    assert_within(html_of(page, NULL), "&amp;amp;\xEF\xBF\xBD\xEF\xBF\xBD%s%n");
    reln_table_destroy(t);
    reln_page_destroy(page);
}

static void empty_lines_separate_paragraphs_and_sections_are_listed(void **state)
{
    RelnPage *page = new_page();

    (void)state;
    reln_page_text(page, "one\n\n%s <", "two");
    reln_page_section(page, "A");
    assert_null(strstr(html_of(page, NULL), "<nav"));
    reln_page_section(page, "B & C");
    assert_within(html_of(page, NULL), "<p>one</p>\n<p>two &lt;</p>");
    assert_within(html_of(page, NULL), "<li><a href=\"#s2\">B &amp; C</a></li>");
    reln_page_destroy(page);
}

static void wrong_use_of_pages_is_reported(void **state)
{
    RelnPage *page = new_page();
    const char *html = NULL;
    size_t n = 1;
    RelnPlot *plot;

    (void)state;
    plot = reln_page_plot(page, "p");
    reln_plot_y(plot, NULL, RELN_AXIS_LOG);
    reln_plot_y_range(plot, -1.0, 1.0);
    reln_plot_x_range(plot, 2.0, 1.0);
    assert_null(reln_page_plot(page, "after a failure"));
    reln_plot_line(NULL, "a NULL plot is ignored", 0, NULL, NULL);
    assert_int_equal(reln_page_html(page, &html, &n), RELN_ERR_ARG);
    assert_string_equal(html, "");
    assert_within(reln_ctx_error(ctx), "range -1 to 1 of a logarithmic axis");
    reln_page_destroy(page);
    page = new_page();
    reln_plot_x_range(reln_page_plot(page, "p"), 0.0, (double)NAN);
    assert_int_equal(reln_page_html(page, &html, &n), RELN_ERR_ARG);
    reln_page_destroy(page);
}

/* ---- plots --------------------------------------------------------------------------------------------------- */

enum { N_HARD = 12, MANY = 1000000 };
static const double hard[N_HARD] = {0.0,    -1.0,  (double)NAN, 1e308,  -(double)INFINITY, 1e-320,
                                    1e-300, 1e300, -1e300,      5e-324, (double)INFINITY,  1.0};

/* Draws every mark with these values, on every kind of axes. */
static void draw_all(RelnPage *page, ptrdiff_t n, const double *x, const double *y)
{
    for (int k = 0; k < 4 * 7; k++) {
        RelnPlot *plot = reln_page_plot(page, "p");

        reln_plot_x(plot, "x", k & 1 ? RELN_AXIS_LOG : RELN_AXIS_LINEAR);
        reln_plot_y(plot, "y", k & 2 ? RELN_AXIS_LOG : RELN_AXIS_LINEAR);
        if (k / 4 < 5)
            reln_plot_series(plot, &(RelnSeries){.name = "s",
                                                 .mark = (RelnMark)(k / 4),
                                                 .n = n,
                                                 .x = x,
                                                 .y = y,
                                                 .low = y,
                                                 .high = x ? x : y});
        else if (k / 4 == 5)
            reln_plot_parity(plot, "s", n, x ? x : y, y);
        else
            reln_plot_histogram(plot, "s", n, y, 0);
        reln_plot_hline(plot, hard[k % N_HARD], "h");
        reln_plot_vline(plot, hard[k % N_HARD], "v");
    }
}

static void empty_series_and_single_points_are_drawn(void **state)
{
    static const double same[] = {3.0, 3.0, 3.0}, zero[] = {0.0, 0.0};
    RelnPage *page = new_page();

    (void)state;
    reln_page_plot(page, "nothing");
    draw_all(page, 0, NULL, NULL);
    draw_all(page, 1, NULL, same);
    draw_all(page, 1, same, same);
    draw_all(page, 3, same, same);
    draw_all(page, 2, zero, zero);
    html_of(page, NULL);
    reln_page_destroy(page);
}

enum {
    RANGE_REVERSED,
    RANGE_OF_LOGARITHM,
    RANGE_THEN_LOGARITHM,
    RANGE_TOO_FAR,
    NO_CATEGORY,
    SERIES_BELOW_0,
    SERIES_WITHOUT_Y,
    SERIES_WITH_LOW_ONLY,
    SERIES_OF_NO_MARK,
    SERIES_OF_NO_COLOUR,
    HISTOGRAM_BELOW_0,
    HISTOGRAM_OF_BINS,
    ROOF_BELOW_0,
    GRID_OF_0,
    GRID_OF_5,
    MISUSES
};

static void misuse(RelnPage *page, int how)
{
    static const double y[2] = {1, 2};
    RelnSeries s = {.name = "s", .n = 2, .y = y};
    RelnPlot *plot = reln_page_plot(page, "p");

    s.n = how == SERIES_BELOW_0 ? -1 : 2;
    s.y = how == SERIES_WITHOUT_Y ? NULL : y;
    s.low = how == SERIES_WITH_LOW_ONLY ? y : NULL;
    s.mark = how == SERIES_OF_NO_MARK ? (RelnMark)(RELN_MARK_BARS + 1) : RELN_MARK_LINE;
    s.colour = how == SERIES_OF_NO_COLOUR ? -1 : 0;
    if (how == RANGE_REVERSED)
        reln_plot_x_range(plot, 2, 1);
    if (how == RANGE_TOO_FAR)
        reln_plot_y_range(plot, 0, 1e301);
    if (how == RANGE_OF_LOGARITHM) {
        reln_plot_y(plot, NULL, RELN_AXIS_LOG);
        reln_plot_y_range(plot, 0, 1);
    }
    if (how == RANGE_THEN_LOGARITHM) {
        reln_plot_x_range(plot, 0, 1);
        reln_plot_x(plot, NULL, RELN_AXIS_LOG);
    }
    if (how == NO_CATEGORY)
        reln_plot_categories(plot, 0, NULL);
    if (how >= SERIES_BELOW_0 && how <= SERIES_OF_NO_COLOUR)
        reln_plot_series(plot, &s);
    if (how == HISTOGRAM_BELOW_0)
        reln_plot_histogram(plot, "h", -1, y, 7);
    if (how == HISTOGRAM_OF_BINS)
        reln_plot_histogram(plot, "h", 2, y, 100001);
    if (how == ROOF_BELOW_0)
        reln_plot_roof(plot, 1, "", -2, "");
    if (how == GRID_OF_0 || how == GRID_OF_5)
        reln_page_columns(page, how == GRID_OF_0 ? 0 : 5);
}

static void wrong_use_of_plots_is_reported_by_a_line(void **state)
{
#define SERIES(points, mark, colour)                                                               \
    "series \"s\" of " points " points, mark " mark ", colour " colour                             \
    ": wanted values of y, both low and high or neither, a known mark, a colour from 0 on"
    static const char *const says[MISUSES] = {
        [RANGE_REVERSED] = "range 2 to 1 of a linear axis: wanted low < high",
        [RANGE_OF_LOGARITHM] =
            "range 0 to 1 of a logarithmic axis: wanted low < high, both positive",
        [RANGE_THEN_LOGARITHM] = "range 0 to 1 of a logarithmic axis: wanted positive ends",
        [RANGE_TOO_FAR] = "range 0 to 1e+301 of a linear axis: wanted low < high",
        [NO_CATEGORY] = "0 categories: wanted one or more",
        [SERIES_BELOW_0] = SERIES("-1", "0", "0"),
        [SERIES_WITHOUT_Y] = SERIES("2", "0", "0"),
        [SERIES_WITH_LOW_ONLY] = SERIES("2", "0", "0"),
        [SERIES_OF_NO_MARK] = SERIES("2", "5", "0"),
        [SERIES_OF_NO_COLOUR] = SERIES("2", "0", "-1"),
        [HISTOGRAM_BELOW_0] = "histogram of -1 values in 7 bins: wanted at most 100000 bins",
        [HISTOGRAM_OF_BINS] = "histogram of 2 values in 100001 bins: wanted at most 100000 bins",
        [ROOF_BELOW_0] = "roof of peak 1 and bandwidth -2: wanted positive numbers",
        [GRID_OF_0] = "a grid of 0 columns: wanted 1 to 4",
        [GRID_OF_5] = "a grid of 5 columns: wanted 1 to 4",
    };
#undef SERIES

    (void)state;
    for (int how = 0; how < MISUSES; how++) {
        RelnPage *page = new_page();
        const char *html = NULL;
        size_t n = 1;

        reln_ctx_clear(ctx);
        misuse(page, how);
        assert_int_equal(reln_page_html(page, &html, &n), RELN_ERR_ARG);
        assert_string_equal(html, "");
        assert_string_equal(reln_ctx_error(ctx), says[how]);
        reln_page_destroy(page);
    }
}

/* The rule of Rice: twice the cube root of the number of values, at least 5 and at most 60. */
static void a_histogram_chooses_its_bins_by_the_number_of_values(void **state)
{
    static const ptrdiff_t n[] = {1, 15, 16, 120, 130, 24000, 26000, 100000},
                           bins[] = {5, 5, 6, 10, 11, 58, 60, 60};
    static double values[100000];
    RelnPage *page = new_page();

    (void)state;
    for (size_t i = 0; i < sizeof n / sizeof n[0]; i++) {
        RelnPlot *plot = reln_page_plot(page, "p");

        reln_plot_histogram(plot, "h", n[i], values, 0);
        assert_int_equal(plot->curves->n, bins[i]);
        reln_plot_histogram(plot, "given", n[i], values, 7);
        assert_int_equal(plot->curves->next->n, 7);
    }
    reln_page_destroy(page);
}

static void values_that_cannot_be_drawn_are_left_out_and_counted(void **state)
{
    static const double y[] = {1.0, (double)NAN, 10.0, 0.0, 100.0, 1000.0};
    RelnPage *page = new_page();
    RelnPlot *plot;

    (void)state;
    plot = reln_page_plot(page, "log");
    reln_plot_y(plot, NULL, RELN_AXIS_LOG);
    reln_plot_line(plot, NULL, 6, NULL, y);
    assert_within(html_of(page, NULL), "Not drawn: 2 not finite or not positive.");
    /* 1 and 10 have no neighbours: dots; 100 to 1000 is a line */
    assert_int_equal(occurrences(strstr(html_of(page, NULL), "class=\"l k0\""), "h0"), 2);
    draw_all(page, N_HARD, NULL, hard);
    draw_all(page, N_HARD, hard, hard);
    html_of(page, NULL);
    reln_page_destroy(page);
}

/* A bar behind a number is as long as its size, in hundredths of the largest, whatever its sign. */
static void bars_are_as_long_as_numbers_are_large(void **state)
{
    RelnPage *page = new_page();
    RelnTable *t = NULL;

    (void)state;
    assert_ok(ctx, reln_table_create(ctx, &t));
    reln_table_column(t, "change", RELN_COL_RIGHT | RELN_COL_BAR);
    reln_table_row(t);
    reln_table_number(t, -25.0, 2);
    reln_table_row(t);
    reln_table_number(t, 50.0, 2);
    reln_page_table(page, t);
    assert_within(html_of(page, NULL), "--f:50");
    assert_within(html_of(page, NULL), "--f:100");
    reln_table_destroy(t);
    reln_page_destroy(page);
}

static void ticks_are_round_numbers(void **state)
{
    static const double y[] = {0.0, 10.0}, small[] = {1e-7, 0.1}, big[] = {0.0, 2.4e6},
                        tiny[] = {0.0, 2.4e-6};
    RelnPage *page = new_page();
    RelnPlot *plot;

    (void)state;
    reln_plot_line(reln_page_plot(page, "linear"), NULL, 2, NULL, y);
    assert_within(html_of(page, NULL), ">2</text>");
    assert_within(html_of(page, NULL), ">10</text>");
    assert_null(strstr(html_of(page, NULL), "×10"));
    plot = reln_page_plot(page, "log");
    reln_plot_y(plot, NULL, RELN_AXIS_LOG);
    reln_plot_line(plot, NULL, 2, NULL, small);
    assert_within(html_of(page, NULL), ">10<tspan class=\"p\" dy=\"-5\">−7</tspan></text>");
    plot = reln_page_plot(page, "tiny");
    reln_plot_y(plot, "metres", RELN_AXIS_LINEAR);
    reln_plot_line(plot, NULL, 2, NULL, tiny);
    assert_within(html_of(page, NULL), ">metres, ×10<tspan class=\"p\" dy=\"-5\">−6</tspan>");
    plot = reln_page_plot(page, "big");
    reln_plot_y(plot, "bytes", RELN_AXIS_LINEAR);
    reln_plot_line(plot, NULL, 2, NULL, big);
    assert_within(html_of(page, NULL), ">bytes, ×10<tspan class=\"p\" dy=\"-5\">6</tspan>");
    reln_page_destroy(page);
}

/* Steps between ticks are 1, 2 or 5 times a power of ten, the nearest to the wanted one. */
static void steps_are_one_two_or_five(void **state)
{
    static const struct {
        double to, step;
    } cases[] = {{6, 1}, {9, 2}, {11, 2}, {15, 2}, {20, 5}, {35, 5}, {40, 10}, {0.11, 0.02}};
    const RelnPlotAxis axis = {.scale = RELN_AXIS_LINEAR};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        RelnRuler r = {.axis = &axis, .from = 0, .to = cases[k].to};
        double last = (double)NAN;
        int steps = 0;

        reln_ruler_divide(&r, 5);
        for (int i = 0; i < r.n_ticks; i++)
            if (r.ticks[i].major) {
                steps += !isnan(last);
                if (!isnan(last))
                    assert_small(r.ticks[i].value - last - cases[k].step, 1e-12);
                last = r.ticks[i].value;
            }
        assert_true(steps >= 3);
    }
}

/* Numbers left of the axis end at x and take 7.2 pixels for each character: none begins outside of the
 * picture. */
static void ticks_have_room_for_their_digits(void **state)
{
    static const double y[] = {0.0195, 0.0555}, x[] = {2.0, 4.0};
    RelnPage *page = new_page();
    RelnPlot *plot;
    const char *at;
    int seen = 0;

    (void)state;
    reln_page_columns(page, 2);
    plot = reln_page_plot(page, "narrow");
    reln_plot_y(plot, NULL, RELN_AXIS_LOG);
    reln_plot_line(plot, NULL, 2, x, y);
    for (at = html_of(page, NULL); (at = strstr(at, "<text class=\"e\" x=\"")); seen++) {
        const double end = atof(at + strlen("<text class=\"e\" x=\""));
        const char *text = strchr(at, '>') + 1;

        at = strchr(text, '<');
        assert_true(end >= 7.2 * (double)(at - text));
    }
    assert_true(seen >= 4);
    reln_page_destroy(page);
}

static double *noise(uint64_t seed)
{
    double *x = malloc(MANY * sizeof *x);
    RelnRng rng = reln_rng(seed, 0);

    assert_non_null(x);
    fill_normal(&rng, MANY, x);
    return x;
}

/* Returns the size of a page with one plot of a million points. */
static size_t size_of_many(RelnMark mark, const double *x, const double *y, bool band)
{
    RelnPage *page = new_page();
    size_t n = 0;

    reln_plot_series(reln_page_plot(page, "many"), &(RelnSeries){.mark = mark,
                                                                 .n = MANY,
                                                                 .x = x,
                                                                 .y = y,
                                                                 .low = band ? y : NULL,
                                                                 .high = band ? y : NULL});
    html_of(page, &n);
    reln_page_destroy(page);
    return n;
}

static void million_points_stay_below_300_kB(void **state)
{
    double *x = noise(1), *y = noise(2);

    (void)state;
    assert_true(size_of_many(RELN_MARK_LINE, NULL, y, true) < 300000);
    assert_true(size_of_many(RELN_MARK_STEP, x, y, false) < 300000);
    assert_true(size_of_many(RELN_MARK_POINTS, x, y, false) < 300000);
    free(x);
    free(y);
}

/* Returns the difference of the highest and the lowest pixel of a path "Mx y x y ...". */
static double height_of(const char *path)
{
    double low = 1e9, high = -1e9;
    char *end;

    for (const char *s = strchr(path, 'M') + 1; *s != '"'; s = end + (*end == ' ')) {
        const double py = (strtod(s, &end), strtod(end, &end));

        low = fmin(low, py);
        high = fmax(high, py);
    }
    return high - low;
}

/* One point in a million is far above the others and must be visible; the data are more than 300 pixels high. */
static void thinning_keeps_extremes(void **state)
{
    double *y = calloc(MANY, sizeof *y);
    RelnPage *page = new_page();
    const char *path;

    (void)state;
    assert_non_null(y);
    y[654321] = 1.0;
    reln_plot_line(reln_page_plot(page, "spike"), NULL, MANY, NULL, y);
    path = strstr(html_of(page, NULL), "<path class=\"l k0\"");
    assert_non_null(path);
    assert_true(height_of(path) > 300.0);
    reln_page_destroy(page);
    free(y);
}

/* Where the machine has a locale with a decimal comma. */
static void another_locale_changes_nothing(void **state)
{
    static const double y[] = {0.25, 0.5, 0.75};
    char buf[RELN_NUMBER_TEXT];
    RelnPage *page = new_page();
    char *before;

    (void)state;
    reln_plot_line(reln_page_plot(page, "p"), NULL, 3, y, y);
    before = strdup(html_of(page, NULL));
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
        assert_string_equal(localeconv()->decimal_point, ",");
        assert_string_equal(reln_report_number(buf, 1.5, 2), "1.5");
        assert_string_equal(reln_report_number(buf, 1.5e-7, 2), "1.5e-7");
        assert_string_equal(html_of(page, NULL), before);
        setlocale(LC_NUMERIC, "C");
    }
    free(before);
    reln_page_destroy(page);
}

/* Up to eight curves have a legend. Of more curves, five are checked, including the first and the last, and
 * the style sheet hides the others until they are checked. */
static void many_curves_can_be_chosen(void **state)
{
    const double y[3] = {1, 2, 3};

    (void)state;
    for (int n = 8; n <= 40; n += 9) {
        RelnPage *page = NULL;
        RelnPlot *plot;
        const char *html = NULL;
        size_t n_bytes = 0;
        char name[32];
        int boxes = 0, ticked = 0;

        assert_ok(ctx, reln_page_create(ctx, "many", &page));
        plot = reln_page_plot(page, "curves");
        for (int i = 0; i < n; i++) {
            snprintf(name, sizeof name, "row %d", i);
            reln_plot_line(plot, name, 3, NULL, y);
        }
        assert_ok(ctx, reln_page_html(page, &html, &n_bytes));
        for (const char *at = html; (at = strstr(at, "<input ")) != NULL; at++)
            boxes++;
        for (const char *at = html; (at = strstr(at, "checked=\"checked\"")) != NULL; at++)
            ticked++;
        assert_int_equal(boxes, n <= 8 ? 0 : n < 32 ? n : 32);
        assert_int_equal(ticked, n <= 8 ? 0 : n < 32 ? 5 : 4);
        if (n > 8)
            assert_non_null(strstr(html, "id=\"p1q0\" checked"));
        reln_page_destroy(page);
    }
}

/* A roof line shows its top, and both of its sides: from a quarter to four times of x at its ridge, which is 8 / 2. */
static void axes_show_both_sides_of_a_roof(void **state)
{
    const double x[] = {3, 5}, y[] = {1, 2};
    RelnCurve line = {.n = 2, .x = x, .y = y};
    RelnRef roof = {.kind = RELN_REF_ROOF, .at = 8, .slope = 2};
    const RelnPlot plot = {.curves = &line, .refs = &roof};
    RelnRuler across, up;

    (void)state;
    reln_rulers_fit(&plot, &across, &up);
    assert_true(fabs(across.from - (1 - 15.0 / 40)) < 1e-12 &&
                fabs(across.to - (16 + 15.0 / 40)) < 1e-12);
    assert_true(fabs(up.from - (1 - 7.0 / 20)) < 1e-12 && fabs(up.to - (8 + 7.0 / 20)) < 1e-12);
}

/* Points outside of a fixed axis do not affect the ends of the other axis; bars begin at zero in either
 * direction. */
static void ends_of_axes_follow_what_is_shown(void **state)
{
    const double x[] = {0.25, 0.5, 5}, y[] = {1, 2, 100}, at[] = {0, 1}, down[] = {-3, -1};
    RelnCurve line = {.n = 3, .x = x, .y = y},
              bars = {.n = 2, .x = at, .y = down, .mark = RELN_MARK_BARS};
    RelnRef diagonal = {.kind = RELN_REF_DIAGONAL};
    RelnPlot plot = {.curves = &line};
    RelnRuler across, up;

    (void)state;
    plot.x.fixed = true;
    plot.x.high = 1;
    reln_rulers_fit(&plot, &across, &up);
    assert_true(across.from == 0 && across.to == 1);
    assert_true(fabs(up.from - 0.95) < 1e-12 &&
                fabs(up.to - 2.05) < 1e-12); /* a twentieth of air */
    plot = (RelnPlot){.curves = &bars};
    reln_rulers_fit(&plot, &across, &up);
    assert_true(fabs(up.from + 3.15) < 1e-12 && up.to == 0);
    /* beside a diagonal both axes reach as far as the farther: 0.25 to 100, a fortieth and a twentieth of air */
    plot = (RelnPlot){.curves = &line, .refs = &diagonal, .equal = true};
    reln_rulers_fit(&plot, &across, &up);
    assert_true(fabs(across.from - (0.25 - 99.75 / 40)) < 1e-12 &&
                fabs(across.to - (100 + 99.75 / 40)) < 1e-12);
    assert_true(fabs(up.from - (0.25 - 99.75 / 20)) < 1e-12 &&
                fabs(up.to - (100 + 99.75 / 20)) < 1e-12);
    line.x = y;
    line.y = x;
    reln_rulers_fit(&plot, &across, &up);
    assert_true(fabs(up.to - (100 + 99.75 / 20)) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_curves_can_be_chosen),
        cmocka_unit_test(numbers_are_short_and_keep_their_digits),
        cmocka_unit_test(mean_and_spread_have_the_same_decimals),
        cmocka_unit_test(counts_and_durations_read_well),
        cmocka_unit_test(ends_of_axes_follow_what_is_shown),
        cmocka_unit_test(axes_show_both_sides_of_a_roof),
        cmocka_unit_test(widths_are_those_of_a_terminal),
        cmocka_unit_test(tables_align_and_mark_the_best),
        cmocka_unit_test(bars_are_as_long_as_numbers_are_large),
        cmocka_unit_test(references_are_never_the_best),
        cmocka_unit_test(tables_fit_the_screen),
        cmocka_unit_test(notes_fit_the_screen),
        cmocka_unit_test(a_column_stays_beside_its_own),
        cmocka_unit_test(equal_texts_are_equally_good),
        cmocka_unit_test(terminals_get_no_control_characters_from_cells),
        cmocka_unit_test(all_control_characters_are_replaced),
        cmocka_unit_test(wrong_use_of_tables_is_reported_once_and_stays),
        cmocka_unit_test(checker_sees_what_is_broken),
        cmocka_unit_test(hostile_text_stays_text),
        cmocka_unit_test(empty_lines_separate_paragraphs_and_sections_are_listed),
        cmocka_unit_test(wrong_use_of_pages_is_reported),
        cmocka_unit_test(empty_series_and_single_points_are_drawn),
        cmocka_unit_test(values_that_cannot_be_drawn_are_left_out_and_counted),
        cmocka_unit_test(ticks_are_round_numbers),
        cmocka_unit_test(wrong_use_of_plots_is_reported_by_a_line),
        cmocka_unit_test(a_histogram_chooses_its_bins_by_the_number_of_values),
        cmocka_unit_test(steps_are_one_two_or_five),
        cmocka_unit_test(ticks_have_room_for_their_digits),
        cmocka_unit_test(million_points_stay_below_300_kB),
        cmocka_unit_test(thinning_keeps_extremes),
        cmocka_unit_test(another_locale_changes_nothing),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
