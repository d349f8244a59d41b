/* scores_show.c -- see kit/scores.h. */
#include "kit/scores.h"

#include <math.h>
#include <stdio.h>

#include "fit/fit.h"

/* ---- tables -------------------------------------------------------------------------------------------------------------- */

static void summary_row(RelnTable *table, const char *name, RelnScore score)
{
    reln_table_row(table);
    reln_table_text(table, name);
    reln_table_mean(table, score.value, score.error, 2);
}

void reln_scores_summary(const RelnScores *s, RelnTable *table)
{
    const bool two = s->n_classes == 2;
    char note[128];

    reln_table_column(table, "score", RELN_COL_LEFT);
    reln_table_column(table, "value", RELN_COL_RIGHT);
    summary_row(table, "accuracy", s->accuracy);
    summary_row(table, two ? "AUC (class 1)" : "AUC (mean, one against the rest)", s->auc);
    summary_row(table, two ? "average precision (class 1)" : "average precision (mean)",
                s->average_precision);
    summary_row(table, "F1 (mean)", s->f1);
    summary_row(table, "calibration error", s->calibration_error);
    snprintf(note, sizeof note, "± is the deviation over %d bootstrap draws of samples, seed %llu.",
             s->draws, (unsigned long long)s->seed);
    reln_table_note(table, note);
}

static void class_cell(RelnTable *table, RelnScore score)
{
    if (isnan(score.value))
        reln_table_text(table, "");
    else
        reln_table_number(table, score.value, 4);
}

void reln_scores_classes(const RelnScores *s, const RelnSpecTarget *target, RelnTable *table)
{
    static const char *const names[] = {"precision", "recall", "F1", "AUC", "avg. prec."};
    char name[RELN_SPEC_CLASS_NAME];

    reln_table_column(table, "class", RELN_COL_LEFT);
    reln_table_column(table, "samples", RELN_COL_RIGHT);
    for (int i = 0; i < 5; i++)
        reln_table_column(table, names[i], RELN_COL_RIGHT);
    for (int k = 0; k < s->n_classes; k++) {
        const RelnClassScores *c = &s->classes[k];

        reln_table_row(table);
        reln_table_text(table, reln_spec_class_name(target, k, name));
        reln_table_count(table, c->n_samples);
        class_cell(table, c->precision);
        class_cell(table, c->recall);
        class_cell(table, c->f1);
        class_cell(table, c->auc);
        class_cell(table, c->average_precision);
    }
}

void reln_scores_confusion(const RelnScores *s, const RelnSpecTarget *target, RelnTable *table)
{
    char name[RELN_SPEC_CLASS_NAME];

    reln_table_title(table, "True class (rows), taken for (columns)");
    reln_table_column(table, "", RELN_COL_LEFT);
    for (int k = 0; k < s->n_classes; k++)
        reln_table_column(table, reln_spec_class_name(target, k, name), RELN_COL_RIGHT);
    for (int k = 0; k < s->n_classes; k++) {
        reln_table_row(table);
        reln_table_text(table, reln_spec_class_name(target, k, name));
        for (int l = 0; l < s->n_classes; l++)
            reln_table_count(table, s->confusion[k * s->n_classes + l]);
    }
}

/* ---- for scripts ---------------------------------------------------------------------------------------------------------- */

static void set_score(RelnDoc *doc, RelnDocNode *map, const char *name, RelnScore score)
{
    char error[48];

    snprintf(error, sizeof error, "%s_error", name);
    reln_doc_set_number(doc, map, name, score.value);
    reln_doc_set_number(doc, map, error, score.error);
}

static void set_class(RelnDoc *doc, RelnDocNode *list, const char *name, const RelnClassScores *c)
{
    RelnDocNode *map = reln_doc_set(doc, list, NULL, reln_doc_map(doc));

    reln_doc_set_text(doc, map, "name", name);
    reln_doc_set_number(doc, map, "samples", (double)c->n_samples);
    set_score(doc, map, "precision", c->precision);
    set_score(doc, map, "recall", c->recall);
    set_score(doc, map, "f1", c->f1);
    set_score(doc, map, "auc", c->auc);
    set_score(doc, map, "average_precision", c->average_precision);
}

static void set_confusion(RelnDoc *doc, RelnDocNode *map, const RelnScores *s)
{
    RelnDocNode *rows = reln_doc_set(doc, map, "confusion", reln_doc_list(doc));

    for (int k = 0; k < s->n_classes; k++) {
        RelnDocNode *row = reln_doc_set(doc, rows, NULL, reln_doc_list(doc));

        for (int l = 0; l < s->n_classes; l++)
            reln_doc_set_number(doc, row, NULL, (double)s->confusion[k * s->n_classes + l]);
    }
}

static void set_bins(RelnDoc *doc, RelnDocNode *map, const RelnScores *s)
{
    RelnDocNode *list = reln_doc_set(doc, map, "calibration", reln_doc_list(doc));

    for (int b = 0; b < RELN_SCORE_BINS; b++) {
        RelnDocNode *bin = reln_doc_set(doc, list, NULL, reln_doc_map(doc));

        reln_doc_set_number(doc, bin, "samples", s->bins[b].weight);
        reln_doc_set_number(doc, bin, "confidence", s->bins[b].confidence);
        reln_doc_set_number(doc, bin, "frequency", s->bins[b].frequency);
    }
}

void reln_scores_doc(const RelnScores *s, const RelnSpecTarget *target, RelnDoc *doc,
                     RelnDocNode *map)
{
    char name[RELN_SPEC_CLASS_NAME];
    RelnDocNode *list, *bootstrap;

    set_score(doc, map, "accuracy", s->accuracy);
    set_score(doc, map, "f1", s->f1);
    set_score(doc, map, "auc", s->auc);
    set_score(doc, map, "average_precision", s->average_precision);
    set_score(doc, map, "calibration_error", s->calibration_error);
    list = reln_doc_set(doc, map, "classes", reln_doc_list(doc));
    for (int k = 0; k < s->n_classes; k++)
        set_class(doc, list, reln_spec_class_name(target, k, name), &s->classes[k]);
    set_confusion(doc, map, s);
    set_bins(doc, map, s);
    bootstrap = reln_doc_set(doc, map, "bootstrap", reln_doc_map(doc));
    reln_doc_set_number(doc, bootstrap, "draws", s->draws);
    reln_doc_set_number(doc, bootstrap, "seed", (double)s->seed);
}

/* ---- plots ---------------------------------------------------------------------------------------------------------------- */

void reln_scores_reliability(const RelnScores *s, RelnPlot *plot)
{
    double x[RELN_SCORE_BINS], y[RELN_SCORE_BINS], low[RELN_SCORE_BINS], high[RELN_SCORE_BINS];
    int n = 0;

    for (int b = 0; b < RELN_SCORE_BINS; b++) {
        const RelnCalibrationBin *bin = &s->bins[b];
        const double error =
            bin->weight > 0 ? sqrt(bin->frequency * (1 - bin->frequency) / bin->weight) : 0;

        if (bin->weight == 0)
            continue;
        x[n] = bin->confidence;
        y[n] = bin->frequency;
        low[n] = y[n] - error;
        high[n] = y[n] + error;
        n++;
    }
    reln_plot_x(plot,
                s->n_classes == 2 ? "probability of class 1" : "probability of the class taken",
                RELN_AXIS_LINEAR);
    reln_plot_y(plot, "share that came true", RELN_AXIS_LINEAR);
    reln_plot_x_range(plot, 0, 1);
    reln_plot_y_range(plot, 0, 1);
    reln_plot_diagonal(plot, NULL);
    reln_plot_series(
        plot,
        &(RelnSeries){.mark = RELN_MARK_POINTS, .n = n, .x = x, .y = y, .low = low, .high = high});
    reln_plot_note(plot, "Ten bins with equally many samples.");
}
