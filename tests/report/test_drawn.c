/* test_drawn.c -- compares pages and tables with remembered ones. A layout has no formula, because the
 * place of each mark, tick and name was chosen; the plots here show every such choice once. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/check.h"
#include "support/alike.h"
#include "support/remembered.h"

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

static RelnPage *new_page(const char *title)
{
    RelnPage *page = NULL;

    assert_ok(ctx, reln_page_create(ctx, title, &page));
    return page;
}

/* Compares the page without its style sheet and its version, then destroys it. */
static void check_page(RelnPage *page, const char *name)
{
    const char *html = NULL, *style, *rest, *footer;
    char *text;
    size_t n = 0;
    Checker checker;

    assert_ok(ctx, reln_page_html(page, &html, &n));
    if (what_is_wrong(html, &checker))
        fail_msg("%s", checker.wrong);
    style = strstr(html, "<style>");
    rest = strstr(html, "</style>");
    footer = strstr(html, "<footer>");
    assert_true(style && rest && footer);
    text = malloc(n + 1);
    assert_non_null(text);
    snprintf(text, n + 1, "%.*s%.*s", (int)(style - html), html, (int)(footer - rest), rest);
    assert_remembered(name, text);
    free(text);
    reln_page_destroy(page);
}

/* ---- the comparison itself ----------------------------------------------------------------------------------- */

static void comparing_sees_all_but_the_last_digit(void **state)
{
    long at = 0;

    (void)state;
    assert_true(texts_alike("x 1.25 y", "x 1.25 y", &at));
    assert_true(texts_alike("x 1.25 y", "x 1.26 y", &at));
    assert_true(texts_alike("x 1.3 y", "x 1.29 y", &at));
    assert_true(texts_alike("2e-7", "2e-7", &at));
    assert_true(texts_alike("2.5e-7", "2.6e-7", &at));
    assert_false(texts_alike("x 1.25 y", "x 1.27 y", &at));
    assert_int_equal(at, 2);
    assert_false(texts_alike("2.5e-7", "2.5e-6", &at));
    assert_false(texts_alike("12", "13", &at)); /* a count */
    assert_false(texts_alike("-1.5", "1.5", &at));
    assert_false(texts_alike("a", "ab", &at));
    assert_false(texts_alike("ab", "a", &at));
    assert_false(texts_alike("a1", "ab", &at));
}

/* ---- lines --------------------------------------------------------------------------------------------------- */

enum { FEW = 9 };

static const double few_x[FEW] = {1, 2, 3, 5, 8, 13, 21, 34, 55};
static const double few_y[FEW] = {0.9, 0.5, 0.31, 0.17, 0.1, 0.055, 0.03, 0.016, 0.0091};

static void put_bands(RelnPage *page)
{
    static const double up[FEW] = {1, 4, 2, (double)NAN, 8, (double)NAN, 6, 7, 12};
    double low[FEW], high[FEW];
    RelnPlot *plot = reln_page_plot(page, "Bands");

    for (int i = 0; i < FEW; i++)
        low[i] = i == 3 ? 0.0 : 0.7 * few_y[i], high[i] = 1.4 * few_y[i];
    reln_plot_x(plot, "epoch", RELN_AXIS_LINEAR);
    reln_plot_y(plot, "loss", RELN_AXIS_LOG);
    reln_plot_band(plot, "a", FEW, few_x, few_y, low, high);
    reln_plot_line(plot, "b", FEW, NULL, up);
    reln_plot_hline(plot, 0.02, "published");
    reln_plot_hline(plot, 15.0, "at the top");
    reln_plot_vline(plot, 20.0, "here");
    reln_plot_vline(plot, 54.0, "near the right edge");
    reln_plot_note(plot, "A note.");
}

static void put_kinds(RelnPage *page)
{
    static const RelnMark marks[] = {RELN_MARK_LINE, RELN_MARK_LINE_POINTS, RELN_MARK_STEP,
                                     RELN_MARK_POINTS};
    static const char *const names[] = {"line", "line with points", "steps", "points"};
    RelnPlot *plot = reln_page_plot(page, "Kinds");
    double y[FEW];

    reln_plot_y(plot, "size", RELN_AXIS_LINEAR);
    for (int k = 0; k < 8; k++) {
        for (int i = 0; i < FEW; i++)
            y[i] = 1e6 * (few_y[i] + 0.25 * k) - 5e5;
        reln_plot_series(plot, &(RelnSeries){.name = k < 4 ? names[k] : NULL,
                                             .mark = marks[k % 4],
                                             .n = FEW,
                                             .x = few_x,
                                             .y = y,
                                             .colour = k == 7 ? 16 : 0});
    }
}

static void put_direct(RelnPage *page)
{
    static const char *const names[] = {"high", "low", "lower", "lowest of all"};
    RelnPlot *plot = reln_page_plot(page, "Names at ends");
    double y[FEW];

    reln_plot_direct_labels(plot);
    reln_plot_x_range(plot, 0, 60);
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < FEW; i++)
            y[i] = (k == 0 ? 3 : 0.02 - 0.01 * k) * few_x[i];
        reln_plot_line(plot, names[k], FEW, few_x, y);
    }
    reln_plot_points(plot, "points have none", FEW, few_x, few_y);
}

static void lines_are_drawn_as_remembered(void **state)
{
    RelnPage *page = new_page("Lines");

    (void)state;
    reln_page_plot(page, "Nothing");
    put_bands(page);
    reln_page_columns(page, 2);
    put_kinds(page);
    put_direct(page);
    check_page(page, "lines.html");
}

/* ---- long series --------------------------------------------------------------------------------------------- */

enum { LONG = 60000, TAIL = 100, MEDIUM = 1600 };

/* Most points share a column of pixels; the last hundred have a column each, and are joined by twenties. */
static void put_long(RelnPage *page)
{
    double *x = malloc(LONG * sizeof *x), *y = malloc(LONG * sizeof *y),
           *high = malloc(LONG * sizeof *high);
    RelnPlot *plot = reln_page_plot(page, "Long");

    assert_true(x && y && high);
    for (int i = 0; i < LONG; i++) {
        x[i] = i < LONG - TAIL ? (i * 4 / LONG) * 0.25 : 1.0 + 0.01 * (i - (LONG - TAIL));
        y[i] = (i * 7919 % 1009) * 1e-3 + (i == 31000 ? 2 : 0);
        high[i] = y[i] + (i * 31 % 17) * 0.1;
    }
    reln_plot_band(plot, "band", LONG, x, y, y, high);
    reln_plot_line(plot, NULL, MEDIUM, x, y);
    free(x);
    free(y);
    free(high);
}

/* More than 400 points are a cloud: one for each cell, here of half a pixel. */
static void put_cloud(RelnPage *page)
{
    double x[450], y[450];
    RelnPlot *plot = reln_page_plot(page, "Cloud");

    for (int i = 0; i < 450; i++)
        x[i] = i % 15 + (i >= 225 ? 1e-7 : 0), y[i] = i / 15 % 15;
    y[7] = (double)INFINITY;
    reln_plot_points(plot, NULL, 450, x, y);
}

static void long_series_are_drawn_as_remembered(void **state)
{
    RelnPage *page = new_page("Long series");

    (void)state;
    reln_page_refresh(page, 7);
    put_long(page);
    put_cloud(page);
    check_page(page, "long.html");
}

static long count_of(const char *text, const char *part)
{
    long n = 0;

    for (const char *s = text; (s = strstr(s, part)); s++)
        n++;
    return n;
}

/* The grid of 200 by 200 points has more than 6000; cells grow by 1.5 until few enough are left, and the
 * caption counts the others. */
static void large_clouds_are_thinned_and_counted(void **state)
{
    enum { SIDE = 200 };
    double *x = malloc(SIDE * SIDE * sizeof *x), *y = malloc(SIDE * SIDE * sizeof *y);
    RelnPage *page = new_page("Thinned");
    const char *html = NULL;
    char want[96], count[RELN_NUMBER_TEXT];
    size_t n = 0;
    long kept;

    (void)state;
    assert_true(x && y);
    for (int i = 0; i < SIDE * SIDE; i++)
        x[i] = i % SIDE, y[i] = i / SIDE;
    reln_plot_points(reln_page_plot(page, "grid"), NULL, SIDE * SIDE, x, y);
    assert_ok(ctx, reln_page_html(page, &html, &n));
    kept = count_of(html, "h0");
    assert_true(kept <= 6000 && (double)kept > 6000 / 2.25 * 0.8);
    snprintf(want, sizeof want, "Thinned: %s points lie on those shown.",
             reln_report_count(count, SIDE * SIDE - kept));
    assert_non_null(strstr(html, want));
    reln_page_destroy(page);
    free(x);
    free(y);
}

/* ---- points, bars, histograms -------------------------------------------------------------------------------- */

static void put_named(RelnPage *page)
{
    static const double x[] = {1, 1.02, 1.04, 9.9, 9.95, 5}, y[] = {2, 2.02, 2.04, 7, 7.1, 4},
                        low[] = {1, 1, 2, 6, 6, 3}, high[] = {3, 3, 4, 8, 9, 4.5};
    static const char *const names[] = {"one", "two", "three", "far right", NULL, "middle"};
    RelnPlot *plot = reln_page_plot(page, "Named");

    reln_plot_series(plot, &(RelnSeries){.name = "rows",
                                         .mark = RELN_MARK_POINTS,
                                         .n = 6,
                                         .x = x,
                                         .y = y,
                                         .low = low,
                                         .high = high,
                                         .labels = names});
    reln_plot_series(
        plot, &(RelnSeries){.mark = RELN_MARK_POINTS, .n = 6, .x = y, .y = x, .labels = names});
}

static void put_bars(RelnPage *page)
{
    static const char *const names[] = {"a", "b", "c"};
    static const char *const wide[] = {"a name that is long", "another long name",
                                       "and a third one", "a fourth", "the fifth of them"};
    static const double up[] = {3, -1, 2, 5, 4}, low[] = {2.5, -2, 1, 4, 3},
                        high[] = {4, -0.5, 2.5, 6, 5};
    RelnPlot *plot = reln_page_plot(page, "Bars");

    reln_plot_categories(plot, 3, names);
    reln_plot_y(plot, "%", RELN_AXIS_LINEAR);
    reln_plot_series(
        plot,
        &(RelnSeries){
            .name = "first", .mark = RELN_MARK_BARS, .n = 3, .y = up, .low = low, .high = high});
    reln_plot_series(plot,
                     &(RelnSeries){.name = "second", .mark = RELN_MARK_BARS, .n = 3, .y = low});
    reln_page_columns(page, 3);
    plot = reln_page_plot(page, "Slanted");
    reln_plot_categories(plot, 5, wide);
    reln_plot_x(plot, "solid", RELN_AXIS_LINEAR);
    reln_plot_series(plot, &(RelnSeries){.mark = RELN_MARK_BARS, .n = 5, .y = up});
    plot = reln_page_plot(page, "On a logarithmic axis");
    reln_plot_y(plot, NULL, RELN_AXIS_LOG);
    reln_plot_series(plot, &(RelnSeries){.mark = RELN_MARK_BARS, .n = 5, .y = up});
}

static void put_histograms(RelnPage *page)
{
    static const double values[] = {0.1, 0.2,  0.2, 0.35, 0.5, 0.5, 0.7, 1.1, (double)NAN,
                                    0.9, 0.45, 10., 3.,   2.2, 0.3, 0.8, 0.6, 1.0};
    static const double same[] = {4, 4, 4}, nearly[] = {1e6, 1e6 + 1e-7};
    RelnPlot *plot = reln_page_plot(page, "Histograms");

    reln_plot_histogram(plot, "automatic", 18, values, 0);
    reln_plot_histogram(plot, "three", 18, values, 3);
    plot = reln_page_plot(page, "Of ratios");
    reln_plot_x(plot, "ratio", RELN_AXIS_LOG);
    reln_plot_histogram(plot, NULL, 18, values, 4);
    plot = reln_page_plot(page, "Of equal values");
    reln_plot_histogram(plot, NULL, 3, same, 2);
    plot = reln_page_plot(page, "Of values that differ by rounding");
    reln_plot_histogram(plot, NULL, 2, nearly, 2);
}

static void points_and_bars_are_drawn_as_remembered(void **state)
{
    RelnPage *page = new_page("Points and bars");

    (void)state;
    put_named(page);
    put_bars(page);
    put_histograms(page);
    check_page(page, "bars.html");
}

/* ---- axes ---------------------------------------------------------------------------------------------------- */

static void put_ends(RelnPage *page, const char *title, RelnScale scale, double low, double high)
{
    const double y[] = {low, high};
    RelnPlot *plot = reln_page_plot(page, title);

    reln_plot_y(plot, NULL, scale);
    reln_plot_line(plot, NULL, 2, NULL, y);
}

static void put_equal(RelnPage *page)
{
    static const double x[] = {0, 1, 2, 4, 5, 8}, y[] = {1, 3, 2, 5, 4, 9},
                        flat[] = {0, 0.1, 0, -0.1, 0, 0.2};
    RelnPlot *plot = reln_page_plot(page, "Parity");

    reln_plot_parity(plot, "test", 6, x, y);
    plot = reln_page_plot(page, "Flat path");
    reln_plot_equal_aspect(plot);
    reln_plot_line(plot, "path", 6, x, flat);
    reln_plot_line(plot, "back", 6, flat, flat);
    plot = reln_page_plot(page, "High path");
    reln_plot_equal_aspect(plot);
    reln_plot_line(plot, NULL, 6, flat, y);
    reln_page_columns(page, 1);
    plot = reln_page_plot(page, "Diagonal");
    reln_plot_equal_aspect(plot);
    reln_plot_line(plot, NULL, 6, x, y);
    reln_plot_diagonal(plot, "y = x");
    reln_plot_y_range(plot, 0.5, 6);
}

static void put_roofs(RelnPage *page)
{
    static const double x[] = {0.2, 2, 60}, y[] = {2, 20, 90};
    RelnPlot *plot = reln_page_plot(page, "Roofs");

    reln_plot_roof(plot, 100, "peak", 10, "memory");
    reln_plot_roof(plot, 200, NULL, 16, NULL);
    reln_plot_points(plot, "kernels", 3, x, y);
}

static void axes_are_drawn_as_remembered(void **state)
{
    RelnPage *page = new_page("Axes");

    (void)state;
    reln_page_columns(page, 4);
    put_ends(page, "Short numbers", RELN_AXIS_LINEAR, -3, 7);
    put_ends(page, "Fractions", RELN_AXIS_LINEAR, 0.0012, 0.0031);
    put_ends(page, "Large", RELN_AXIS_LINEAR, 1e5, 3.3e5);
    put_ends(page, "Huge", RELN_AXIS_LINEAR, -2e9, 7e8);
    put_ends(page, "One value", RELN_AXIS_LINEAR, 5, 5);
    put_ends(page, "Zero", RELN_AXIS_LINEAR, 0, 0);
    put_ends(page, "Decades", RELN_AXIS_LOG, 0.02, 700);
    put_ends(page, "Many decades", RELN_AXIS_LOG, 1e-9, 4e6);
    put_ends(page, "Very many", RELN_AXIS_LOG, 1e-70, 1);
    put_ends(page, "Part of one", RELN_AXIS_LOG, 2.1, 5.2);
    put_ends(page, "One ratio", RELN_AXIS_LOG, 40, 40);
    put_equal(page);
    put_roofs(page);
    check_page(page, "axes.html");
}

/* ---- many curves --------------------------------------------------------------------------------------------- */

/* Curves without a name belong to the named one before them; bars keep their legend. */
static void choices_are_drawn_as_remembered(void **state)
{
    static const double y[] = {1, 2};
    RelnPage *page = new_page("Choices");
    RelnPlot *plot = reln_page_plot(page, "Many");
    char name[32];

    (void)state;
    reln_plot_line(plot, NULL, 2, NULL, y);
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "curve %d", i);
        reln_plot_line(plot, name, 2, NULL, y);
        if (i == 3)
            reln_plot_points(plot, NULL, 2, NULL, y);
    }
    reln_plot_series(plot, &(RelnSeries){.name = "bars", .mark = RELN_MARK_BARS, .n = 2, .y = y});
    check_page(page, "choices.html");
}

/* ---- tables -------------------------------------------------------------------------------------------------- */

static RelnTable *wide_table(int n_columns)
{
    RelnTable *t = NULL;
    char name[32];

    assert_ok(ctx, reln_table_create(ctx, &t));
    reln_table_title(t, "A <title>");
    reln_table_column(t, "model.name", RELN_COL_LEFT);
    for (int c = 1; c < n_columns; c++) {
        snprintf(name, sizeof name, "train.lr_%d", c);
        reln_table_column(t, name,
                          (c % 2 ? RELN_COL_RIGHT : RELN_COL_CENTRE) |
                              (c % 3 == 0   ? RELN_COL_HIGHEST
                               : c % 3 == 1 ? RELN_COL_LOWEST
                                            : RELN_COL_BAR));
    }
    for (int r = 0; r < 4; r++) {
        if (r == 2)
            reln_table_group(t, "others | *");
        reln_table_row(t);
        reln_table_text(t, r == 1 ? "a | b" : r == 3 ? "reference" : "row");
        if (r == 3)
            reln_table_reference(t);
        for (int c = 1; c < n_columns - (r == 2); c++) {
            if (c == 2)
                reln_table_count(t, 1000 * r - 1500);
            else if (c % 2)
                reln_table_mean(t, r == 3 ? 0.001 : 0.1 * ((r * 5 + c) % 7) + 0.01, 0.02, 1);
            else
                reln_table_number(t, r == 0 && c == 4 ? (double)NAN : 10.0 * ((r * 3 + c) % 5), 3);
        }
    }
    reln_table_note(t,
                    "First note, which says more than fits into a narrow terminal of few columns.");
    reln_table_note(t, "Second note.");
    return t;
}

static const int columns[] = {5, 7, 8};

static void tables_are_written_as_remembered(void **state)
{
    char *all = calloc(1, 60000);

    (void)state;
    assert_non_null(all);
    for (int k = 0; k < 9; k++) {
        RelnTable *t = wide_table(columns[k / 3]);
        const char *text = NULL;
        size_t n = 0;

        reln_table_width(t, k % 3 == RELN_TABLE_TERMINAL ? 50 : 0);
        assert_ok(ctx, reln_table_write(t, (RelnTableFormat)(k % 3), &text, &n));
        assert_true(strlen(all) + n + 2 < 60000);
        strcat(strcat(all, text), "\n");
        reln_table_destroy(t);
    }
    assert_remembered("tables.txt", all);
    free(all);
}

static void pages_of_tables_are_written_as_remembered(void **state)
{
    RelnPage *page = new_page("Tables");

    (void)state;
    for (int k = 0; k < 3; k++) {
        RelnTable *t = wide_table(columns[k]);

        reln_page_section(page, k == 0 ? "Few columns" : "More columns");
        reln_page_fact(page, "columns", "%d", columns[k]);
        reln_page_fact(page, "rows", "%d", 4);
        reln_page_table(page, t);
        reln_table_destroy(t);
    }
    reln_page_code(page, "code", "a < b\n");
    reln_page_code(page, NULL, "\nb\n");
    check_page(page, "tables.html");
}

static void the_style_sheet_is_as_remembered(void **state)
{
    RelnPage *page = new_page("Style");
    const char *html = NULL;
    char *style;
    size_t n = 0;

    (void)state;
    assert_ok(ctx, reln_page_html(page, &html, &n));
    style = strdup(strstr(html, "<style>"));
    assert_non_null(style);
    *strstr(style, "</style>") = '\0';
    assert_remembered("style.css", style);
    free(style);
    reln_page_destroy(page);
}

/* ---- places that depend on the points --------------------------------------------------------------------------- */

/* Returns where the label of a horizontal line is, 's'tart or 'e'nd, with points just above the line under each of these places. */
static char side_of_label(int n_left, int n_right)
{
    double x[12] = {0, 100}, y[12] = {-10, 10};
    RelnPage *page = new_page("A label");
    RelnPlot *plot = reln_page_plot(page, "Points");
    const char *html = NULL, *label;
    size_t n = 0;
    char side = '?';
    int count = 2;

    for (int i = 0; i < n_left; i++, count++)
        x[count] = 4 + 2 * i, y[count] = 0.8;
    for (int i = 0; i < n_right; i++, count++)
        x[count] = 96 - 2 * i, y[count] = 0.8;
    reln_plot_series(
        plot,
        &(RelnSeries){.name = "points", .mark = RELN_MARK_POINTS, .n = count, .x = x, .y = y});
    reln_plot_hline(plot, 0, "the label of a line");
    assert_ok(ctx, reln_page_html(page, &html, &n));
    label = strstr(html, ">the label of a line<");
    assert_non_null(label);
    while (strncmp(label, "class=\"q ", 9) != 0)
        label--;
    side = label[9];
    reln_page_destroy(page);
    return side;
}

static void a_label_is_at_the_end_with_fewer_points(void **state)
{
    (void)state;
    for (int left = 0; left < 4; left++)
        for (int right = 0; right < 4; right++)
            assert_int_equal(side_of_label(left, right), left < right ? 's' : 'e');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparing_sees_all_but_the_last_digit),
        cmocka_unit_test(a_label_is_at_the_end_with_fewer_points),
        cmocka_unit_test(lines_are_drawn_as_remembered),
        cmocka_unit_test(long_series_are_drawn_as_remembered),
        cmocka_unit_test(large_clouds_are_thinned_and_counted),
        cmocka_unit_test(points_and_bars_are_drawn_as_remembered),
        cmocka_unit_test(axes_are_drawn_as_remembered),
        cmocka_unit_test(choices_are_drawn_as_remembered),
        cmocka_unit_test(tables_are_written_as_remembered),
        cmocka_unit_test(pages_of_tables_are_written_as_remembered),
        cmocka_unit_test(the_style_sheet_is_as_remembered),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
