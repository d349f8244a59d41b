/* test_example.c -- writes a page with all kinds of contents beside the test program, to be looked at. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/check.h"

enum { EPOCHS = 600, POINTS = 4000, CURVE = 24, ACTIONS = 60 };

static char beside[512] = "."; /* the folder of the program */

/* ---- made-up data: shapes that real runs have ---------------------------------------------------------------- */

static void put_table(RelnPage *page, RelnTable *t)
{
    static const struct {
        const char *model;
        int64_t params;
        double id, id_spread, moved, moved_spread, seconds;
    } rows[] = {{"ReLN", 263170, 4.3e-4, 2.1e-5, 4.3e-4, 2.1e-5, 412},
                {"ReLN, our best", 262914, 6.1e-6, 4e-7, 6.1e-6, 4e-7, 655},
                {"Lie Neurons", 263170, 4.1e-4, 5.2e-5, 4.1e-4, 5.2e-5, 409},
                {"MLP 256", 137217, 0.126, 0.002, 2.41, 0.31, 61},
                {"MLP 512, augmented", 536577, 0.351, 0.006, 1.12, 0.04, 233}};

    reln_table_title(t,
                     "Mean squared error on data as trained on and under random Sp(4) conjugation");
    reln_table_column(t, "model", RELN_COL_LEFT);
    reln_table_column(t, "parameters", RELN_COL_RIGHT);
    reln_table_column(t, "in distribution", RELN_COL_RIGHT | RELN_COL_LOWEST);
    reln_table_column(t, "conjugated", RELN_COL_RIGHT | RELN_COL_LOWEST);
    reln_table_column(t, "time, s", RELN_COL_RIGHT | RELN_COL_BAR);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (i == 0 || i == 3)
            reln_table_group(t, i == 0 ? "equivariant" : "baselines");
        reln_table_row(t);
        reln_table_text(t, rows[i].model);
        reln_table_count(t, rows[i].params);
        reln_table_mean(t, rows[i].id, rows[i].id_spread, 2);
        reln_table_mean(t, rows[i].moved, rows[i].moved_spread, 2);
        reln_table_number(t, rows[i].seconds, 3);
    }
    reln_table_note(
        t, "Mean ± standard deviation of three seeds. The numbers of this page are made up.");
    reln_page_table(page, t);
}

static void put_losses(RelnPage *page)
{
    static double x[EPOCHS], train[3][EPOCHS], low[EPOCHS], high[EPOCHS];
    static const char *const names[] = {"ReLN", "Lie Neurons", "MLP 256"};
    static const double ends[] = {4e-4, 9e-4, 0.12}, rates[] = {70, 90, 50};
    RelnPlot *plot = reln_page_plot(page, "Validation loss");
    RelnRng rng = reln_rng(1, 0);

    reln_plot_x(plot, "epoch", RELN_AXIS_LINEAR);
    reln_plot_y(plot, "mean squared error", RELN_AXIS_LOG);
    for (int m = 0; m < 3; m++) {
        for (int i = 0; i < EPOCHS; i++) {
            x[i] = i + 1;
            train[m][i] = (ends[m] + 0.9 * exp(-i / rates[m])) * exp(0.06 * reln_rng_normal(&rng));
            low[i] = train[m][i] * 0.75, high[i] = train[m][i] * 1.3;
        }
        reln_plot_band(plot, names[m], EPOCHS, x, train[m], low, high);
    }
    reln_plot_hline(plot, 5.14e-4, "published, 5.14e-4");
    reln_plot_note(plot, "Median of three seeds; bands are the 10th to 90th percentile.");
}

static void put_equivariance(RelnPage *page)
{
    static double cond[ACTIONS], error[2][ACTIONS], bound[2][ACTIONS];
    static const char *const names[] = {"f32", "f64"};
    static const double eps[] = {6e-8, 1.1e-16};
    RelnPlot *plot = reln_page_plot(page, "Equivariance error against the condition number of g");
    RelnRng rng = reln_rng(2, 0);

    reln_plot_x(plot, "condition number of g", RELN_AXIS_LOG);
    reln_plot_y(plot, "relative error", RELN_AXIS_LOG);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < ACTIONS; i++) {
            cond[i] = pow(10.0, 4.0 * i / (ACTIONS - 1));
            bound[k][i] = 40.0 * eps[k] * cond[i] * cond[i];
            error[k][i] = bound[k][i] / 30.0 * exp(0.8 * reln_rng_normal(&rng));
        }
        reln_plot_points(plot, names[k], ACTIONS, cond, error[k]);
    }
    for (int k = 0; k < 2; k++)
        reln_plot_series(plot, &(RelnSeries){.name = k ? NULL : "what rounding allows",
                                             .mark = RELN_MARK_LINE,
                                             .n = ACTIONS,
                                             .x = cond,
                                             .y = bound[k],
                                             .colour = 7});
}

static void put_parity(RelnPage *page)
{
    static double truth[POINTS], ours[POINTS];
    RelnPlot *plot = reln_page_plot(page, "Predicted against true");
    RelnRng rng = reln_rng(3, 0);

    for (int i = 0; i < POINTS; i++) {
        truth[i] = reln_rng_normal(&rng);
        ours[i] = truth[i] + 0.08 * reln_rng_normal(&rng);
    }
    reln_plot_parity(plot, NULL, POINTS, truth, ours);
}

static void put_histogram(RelnPage *page)
{
    static double values[2][POINTS];
    RelnPlot *plot = reln_page_plot(page, "Residuals");
    RelnRng rng = reln_rng(4, 0);

    reln_plot_x(plot, "predicted − true", RELN_AXIS_LINEAR);
    reln_plot_y(plot, "samples", RELN_AXIS_LINEAR);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < POINTS; i++)
            values[k][i] = (k ? 0.22 : 0.08) * reln_rng_normal(&rng) + (k ? 0.1 : 0.0);
        reln_plot_histogram(plot, k ? "MLP" : "ReLN", POINTS, values[k], 0);
    }
    reln_plot_vline(plot, 0.0, NULL);
}

static void put_trajectory(RelnPage *page)
{
    static double x[EPOCHS], y[EPOCHS];
    RelnPlot *plot = reln_page_plot(page, "Trajectory, seen from above");

    reln_plot_equal_aspect(plot);
    reln_plot_x(plot, "x, m", RELN_AXIS_LINEAR);
    reln_plot_y(plot, "y, m", RELN_AXIS_LINEAR);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < EPOCHS; i++) {
            const double t = 12.0 * i / EPOCHS, drift = k ? 0.012 * t * t : 0.0;

            x[i] = 4.0 * sin(t) + drift, y[i] = 2.0 * sin(2.0 * t) + 0.3 * drift;
        }
        reln_plot_line(plot, k ? "estimate" : "ground truth", EPOCHS, x, y);
    }
}

static void put_steps(RelnPage *page)
{
    static double x[CURVE], y[3][CURVE];
    static const char *const names[] = {"cosine", "warm restarts", "plateau"};
    RelnPlot *plot = reln_page_plot(page, "Learning rates");

    reln_plot_direct_labels(plot);
    reln_plot_x(plot, "epoch", RELN_AXIS_LINEAR);
    reln_plot_y(plot, "rate", RELN_AXIS_LINEAR);
    for (int i = 0; i < CURVE; i++) {
        x[i] = 25.0 * i;
        y[0][i] = 5e-4 * (1.0 + cos(3.14159265 * i / CURVE));
        y[1][i] = 5e-4 * (1.0 + cos(3.14159265 * (i % 8) / 8));
        y[2][i] = 1e-3 * pow(0.5, i / 6);
    }
    for (int k = 0; k < 3; k++)
        reln_plot_series(plot,
                         &(RelnSeries){.name = names[k],
                                       .mark = k == 2 ? RELN_MARK_STEP : RELN_MARK_LINE_POINTS,
                                       .n = CURVE,
                                       .x = x,
                                       .y = y[k]});
}

static void put_bars(RelnPage *page)
{
    static const char *const names[] = {"tetrahedron", "octahedron", "icosahedron"};
    static const double id[] = {99.2, 98.4, 97.9}, id_low[] = {98.9, 97.8, 97.1},
                        id_high[] = {99.5, 99.0, 98.7}, moved[] = {41.0, 33.5, 36.1};
    RelnPlot *plot = reln_page_plot(page, "Accuracy by solid");

    reln_plot_categories(plot, 3, names);
    reln_plot_y(plot, "accuracy, %", RELN_AXIS_LINEAR);
    reln_plot_series(plot, &(RelnSeries){.name = "ReLN, rotated camera",
                                         .mark = RELN_MARK_BARS,
                                         .n = 3,
                                         .y = id,
                                         .low = id_low,
                                         .high = id_high});
    reln_plot_series(
        plot,
        &(RelnSeries){.name = "MLP, rotated camera", .mark = RELN_MARK_BARS, .n = 3, .y = moved});
}

static void put_roofline(RelnPage *page)
{
    static const double x[] = {0.17, 0.9, 4.1, 12.0, 42.0, 43.0, 64.0},
                        y[] = {2.1, 9.0, 41, 62, 95, 88, 101};
    static const char *const names[] = {
        "relu",     "invariant", "bracket, width 32", "linear, width 64", "sp4, train",
        "platonic", "sgemm"};
    RelnPlot *plot = reln_page_plot(page, "Roofline");

    reln_plot_x(plot, "floating-point operations per byte", RELN_AXIS_LOG);
    reln_plot_y(plot, "Gflop/s", RELN_AXIS_LOG);
    reln_plot_roof(plot, 108.0, "one core, 108 Gflop/s", 14.2, "memory, 14.2 GB/s");
    reln_plot_roof(plot, 214.0, "two cores, 214 Gflop/s", 21.0, NULL);
    reln_plot_series(
        plot, &(RelnSeries){.mark = RELN_MARK_POINTS, .n = 7, .x = x, .y = y, .labels = names});
}

static const char spec[] =
    "symmetry: sp:4\ninputs:\n  - {name: X, as: element}\n"
    "  - {name: Y, as: element}\ntarget: {name: y, as: scalar}\n"
    "model: {width: 256, depth: 1, nonlinearity: [relu, bracket]}\n"
    "train: {epochs: 600, batch: 100, optimizer: adam, lr: 1e-4, dtype: f32}\n";

static void fill(RelnPage *page, RelnTable *table)
{
    reln_page_text(
        page,
        "Invariant regression on sp(4): how well the network fits, how well it keeps what it "
        "learned when the frame changes, and how fast it is. Everything on this page is in this "
        "file.");
    reln_page_fact(page, "command", "%s", "reln reproduce sp4 --scale full --seeds 3");
    reln_page_fact(page, "seed", "%d", 7);
    reln_page_fact(page, "time", "%s", "6 min 52 s on two cores");
    reln_page_section(page, "Results");
    put_table(page, table);
    put_losses(page);
    reln_page_section(page, "Equivariance");
    put_equivariance(page);
    reln_page_section(page, "Errors");
    reln_page_columns(page, 2);
    put_parity(page);
    put_histogram(page);
    put_trajectory(page);
    put_steps(page);
    reln_page_columns(page, 1);
    reln_page_section(page, "Speed");
    put_roofline(page);
    put_bars(page);
    reln_page_section(page, "Settings");
    reln_page_code(page, "SPEC", spec);
}

/* ---- tests --------------------------------------------------------------------------------------------------- */

static RelnStatus write_page(RelnCtx *ctx, char **copy)
{
    RelnPage *page = NULL;
    RelnTable *table = NULL;
    const char *text = NULL;
    size_t n = 0;
    RelnStatus status = reln_page_create(ctx, "sp(4) regression", &page);

    if (status == RELN_OK)
        status = reln_table_create(ctx, &table);
    if (status == RELN_OK) {
        fill(page, table);
        status = reln_page_html(page, &text, &n);
    }
    if (status == RELN_OK && copy) {
        *copy = malloc(n + 1);
        memcpy(*copy, text, n + 1);
    }
    reln_table_destroy(table);
    reln_page_destroy(page);
    return status;
}

static void page_with_everything_is_well_formed_and_complete(void **state)
{
    RelnCtx *ctx = NULL;
    Checker checker;
    char *html = NULL, path[600];
    FILE *file;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, write_page(ctx, &html));
    assert_int_equal(reln_ctx_live_blocks(ctx), 0);
    if (what_is_wrong(html, &checker))
        fail_msg("%s", checker.wrong);
    assert_non_null(strstr(html, "symmetry: sp:4"));
    assert_null(strstr(html, "http"));
    assert_null(strstr(html, "<script"));
    snprintf(path, sizeof path, "%s/report_example.html", beside);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(html, 1, strlen(html), file), strlen(html));
    assert_int_equal(fclose(file), 0);
    free(html);
    reln_ctx_destroy(ctx);
}

static void same_calls_give_the_same_bytes(void **state)
{
    RelnCtx *ctx = NULL;
    char *a = NULL, *b = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_ok(ctx, write_page(ctx, &a));
    assert_ok(ctx, write_page(ctx, &b));
    assert_string_equal(a, b);
    free(a);
    free(b);
    reln_ctx_destroy(ctx);
}

static RelnStatus body(RelnCtx *ctx)
{
    return write_page(ctx, NULL);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(body) > 20);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_with_everything_is_well_formed_and_complete),
        cmocka_unit_test(same_calls_give_the_same_bytes),
        cmocka_unit_test(every_allocation_may_fail),
    };
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;

    if (slash)
        snprintf(beside, sizeof beside, "%.*s", (int)(slash - argv[0]), argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
