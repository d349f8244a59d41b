/* report.c -- writes the measurements as a page: the limits of the machine, and how near each network
 * comes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

static void machine(RelnPage *page, const BenchResult *r)
{
    const RelnMachine *m = &r->machine;

    reln_page_section(page, "The machine");
    reln_page_fact(page, "processor", "%s, %d cores", m->cpu, m->cores);
    reln_page_fact(page, "caches", "%zu kB, %zu kB, %zu MB", m->cache[0] >> 10, m->cache[1] >> 10,
                   m->cache[2] >> 20);
    reln_page_fact(page, "BLAS", "%s", m->blas);
    reln_page_fact(page, "memory", "%.1f GB/s, one thread", 1e-9 * r->bandwidth);
    for (int i = 0; i < r->n_gemms; i++) {
        const BenchGemm *g = &r->gemms[i];
        char key[48];

        snprintf(key, sizeof key, "%s %d x %d x %d", g->dtype == RELN_F64 ? "dgemm" : "sgemm", g->m,
                 g->n, g->k);
        reln_page_fact(page, key, "%.1f GFLOP/s, one thread", 1e-9 * g->rate.median);
    }
}

/* ---- roofline ------------------------------------------------------------------------------------------------------ */

/* Adds the rows of one kind and pass on one thread, as points. */
static void points(RelnPlot *plot, const BenchResult *r, BenchKind kind, const char *name,
                   double *xy)
{
    double *x = xy, *y = xy + r->n_rows;
    int n = 0;

    for (int i = 0; i < r->n_rows; i++) {
        const BenchRow *row = &r->rows[i];

        if (row->kind != kind || row->threads != 1 || !isfinite(row->intensity))
            continue;
        x[n] = row->intensity;
        y[n++] = row->gflops;
    }
    if (n > 0)
        reln_plot_points(plot, name, n, x, y);
}

static void roofline(RelnPage *page, const BenchResult *r, double *xy)
{
    RelnPlot *plot = reln_page_plot(page, "Roofline, one thread");

    reln_plot_x(plot, "nominal operations for each byte that kernels read or write", RELN_AXIS_LOG);
    reln_plot_y(plot, "GFLOP/s", RELN_AXIS_LOG);
    points(plot, r, BENCH_NETWORK, "networks", xy);
    points(plot, r, BENCH_LAYER, "layers", xy);
    points(plot, r, BENCH_KERNEL, "kernels", xy);
    reln_plot_roof(plot, 1e-9 * r->gemms[0].rate.median, "sgemm", 1e-9 * r->bandwidth, "memory");
    reln_plot_note(
        plot,
        "Traffic is counted at the kernels, whether a cache or memory serves it: points above the "
        "slope live in a cache. Points above the flat part do less work than the dense formulas.");
}

/* ---- sweeps -------------------------------------------------------------------------------------------------------- */

/* Plots the share against the width, a line for each pass. */
static void widths(RelnPage *page, const BenchResult *r, double *xy)
{
    RelnPlot *plot = reln_page_plot(page, "gl(3), batch 100, one thread");

    reln_plot_x(plot, "width", RELN_AXIS_LOG);
    reln_plot_y(plot, "share of sgemm", RELN_AXIS_LINEAR);
    for (int pass = 0; pass < BENCH_PASSES; pass++) {
        int n = 0;

        for (int i = 0; i < r->n_rows; i++) {
            const BenchRow *row = &r->rows[i];

            if (strncmp(row->name, "gl3/", 4) != 0 || row->threads != 1 || (int)row->pass != pass)
                continue;
            xy[n] = strtod(row->name + 4, NULL);
            xy[r->n_rows + n++] = row->share;
        }
        if (n > 0)
            reln_plot_line(plot, bench_pass_names[pass], n, xy, xy + r->n_rows);
    }
}

static void scaling(RelnPage *page, const BenchResult *r)
{
    enum { ROOM = 16 };
    BenchScaling s[ROOM];
    const int count = bench_scaling(r, s, ROOM);
    double n[ROOM], linear[ROOM], total[ROOM], measured[ROOM];
    RelnPlot *plot;

    if (count == 0)
        return;
    for (int i = 0; i < count; i++) {
        n[i] = s[i].n;
        linear[i] = s[i].linear;
        total[i] = s[i].total;
        measured[i] = s[i].measured;
    }
    plot = reln_page_plot(page, "gl(n) at a fixed budget of features");
    reln_plot_x(plot, "n", RELN_AXIS_LINEAR);
    reln_plot_y(plot, "cost relative to n = 2", RELN_AXIS_LOG);
    reln_plot_line(plot, "theory: 4 / n^2", count, n, linear);
    reln_plot_line(plot, "theory with brackets and forms", count, n, total);
    reln_plot_line(plot, "measured", count, n, measured);
}

/* ---- tables -------------------------------------------------------------------------------------------------------- */

static void duration_cell(RelnTable *table, double seconds)
{
    char text[RELN_NUMBER_TEXT];

    reln_table_value(table, seconds, reln_report_duration(text, seconds));
}

static void columns(RelnTable *table)
{
    static const char *const names[] = {"pass",         "batch",      "threads", "median",
                                        "p10",          "p90",        "GFLOP/s", "share",
                                        "build + plan", "allocations"};

    reln_table_column(table, "name", RELN_COL_LEFT);
    for (int i = 0; i < 10; i++)
        reln_table_column(table, names[i],
                          i == 0   ? RELN_COL_LEFT
                          : i == 7 ? RELN_COL_RIGHT | RELN_COL_BAR
                                   : RELN_COL_RIGHT);
}

static void add_row(RelnTable *table, const BenchRow *row)
{
    reln_table_row(table);
    reln_table_text(table, row->name);
    reln_table_text(table, bench_pass_names[row->pass]);
    reln_table_count(table, row->batch);
    reln_table_count(table, row->threads);
    duration_cell(table, row->seconds.median);
    duration_cell(table, row->seconds.p10);
    duration_cell(table, row->seconds.p90);
    reln_table_number(table, row->gflops, 3);
    reln_table_number(table, row->share, 2);
    duration_cell(table, row->build);
    reln_table_number(table, row->allocations, 2);
}

static RelnStatus rows(RelnCtx *ctx, RelnPage *page, const BenchResult *r, BenchKind kind,
                       const char *title)
{
    RelnTable *table = NULL;
    const RelnStatus status = reln_table_create(ctx, &table);
    int n = 0;

    if (status != RELN_OK)
        return status;
    columns(table);
    for (int i = 0; i < r->n_rows; i++)
        if (r->rows[i].kind == kind) {
            add_row(table, &r->rows[i]);
            n++;
        }
    if (n > 0) {
        reln_page_section(page, title);
        reln_page_table(page, table);
    }
    reln_table_destroy(table);
    return RELN_OK;
}

static void around(RelnPage *page, const BenchResult *r)
{
    char a[RELN_NUMBER_TEXT], b[RELN_NUMBER_TEXT];

    if (r->n_processes + r->n_setups == 0)
        return;
    reln_page_section(page, "Around a network");
    for (int i = 0; i < r->n_processes; i++)
        reln_page_fact(
            page, r->processes[i].name,
            "a new process: %s to its result, %s of that graph, weights and plan; %.1f MB",
            reln_report_duration(a, r->processes[i].seconds),
            reln_report_duration(b, r->processes[i].build), 1e-6 * r->processes[i].peak_bytes);
    for (int i = 0; i < r->n_setups; i++)
        reln_page_fact(page, r->setups[i].name, "algebra, group and rep in %s",
                       reln_report_duration(a, r->setups[i].seconds));
}

/* ---- the page ------------------------------------------------------------------------------------------------------ */

static RelnStatus fill(RelnCtx *ctx, RelnPage *page, const BenchResult *r)
{
    static const char *const titles[] = {"Networks", "Layers", "Kernels"};
    double *xy = calloc(2 * (size_t)r->n_rows + 1, sizeof *xy);
    RelnStatus status = RELN_OK;

    if (!xy)
        return RELN_ERR_NOMEM;
    reln_page_text(
        page,
        "A share is the nominal operations of the dense network, divided by time and by the rate "
        "of as "
        "many threads of the machine's sgemm at 1008 x 256 x 256, measured in turns with it. One "
        "thread "
        "is timed on the processor, several by the clock on the wall; all numbers are medians.");
    machine(page, r);
    reln_page_section(page, "How near to the limits");
    roofline(page, r, xy);
    reln_page_columns(page, 2);
    widths(page, r, xy);
    scaling(page, r);
    reln_page_columns(page, 1);
    for (int kind = 0; kind < 3 && status == RELN_OK; kind++)
        status = rows(ctx, page, r, (BenchKind)kind, titles[kind]);
    around(page, r);
    free(xy);
    return status;
}

static RelnStatus save(const char *path, const char *text, size_t n_bytes, char *why, size_t size)
{
    FILE *file = fopen(path, "w");
    const bool written = file && fwrite(text, 1, n_bytes, file) == n_bytes;

    if ((file && fclose(file) != 0) || !written) {
        snprintf(why, size, "%s: cannot be written", path);
        return RELN_ERR_IO;
    }
    return RELN_OK;
}

RelnStatus bench_report(RelnCtx *ctx, const BenchResult *result, const char *path, char *why,
                        size_t size)
{
    RelnPage *page = NULL;
    const char *text = NULL;
    size_t n_bytes = 0;
    RelnStatus status = reln_page_create(ctx, "Speed of reln", &page);

    why[0] = '\0';
    if (status == RELN_OK)
        status = fill(ctx, page, result);
    if (status == RELN_OK)
        status = reln_page_html(page, &text, &n_bytes);
    if (status == RELN_OK)
        status = save(path, text, n_bytes, why, size);
    else
        snprintf(why, size, "%s", reln_ctx_error(ctx));
    reln_page_destroy(page);
    return status;
}
