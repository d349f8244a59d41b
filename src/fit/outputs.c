/* outputs.c -- writes results.json and report.html: of a finished run with the model of its best evaluation,
 * of a run that is not finished from its record alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "fit/fit.h"
#include "kit/metrics.h"
#include "kit/report.h"
#include "kit/scores.h"

/* A Scored holds the scores of a target of classes; n_samples is 0 for other targets. */
typedef struct Scored {
    RelnScores scores;
    RelnJudged judged;
} Scored;

/* An Outcome holds the values that both files show, collected once. */
typedef struct Outcome {
    RelnFit *fit;
    RelnArena arena;
    bool so_far; /* the run has not finished: only its record is known */
    RelnFitResult result;
    RelnMetrics train, validation; /* with the best weights; n_samples 0: none */
    RelnMetrics train_of[RELN_SPEC_TARGETS], validation_of[RELN_SPEC_TARGETS]; /* for each target */
    RelnCheck check, seen; /* on random inputs; on the data named by seen_text() */
    RelnCost cost;
    const char *spec; /* as YAML */
    RelnDoc *doc;
    ptrdiff_t n_shown;                   /* samples whose predictions are plotted */
    double *truth, *predicted, *weights; /* of all targets, as `layout` says */
    RelnLayout layout;
    Scored scored[RELN_SPEC_TARGETS];
    int shown; /* the target whose plots are on the page */
} Outcome;

static const char *end_text(RelnTrainEnd end)
{
    switch (end) {
    case RELN_TRAIN_PATIENCE:
        return "stopped early: no better validation score for too long";
    case RELN_TRAIN_DIVERGED:
        return "diverged: the loss was not finite; the model is that of the best evaluation before";
    case RELN_TRAIN_DONE:
        return "done";
    case RELN_TRAIN_ASKED:
        return "stopped; it can be resumed";
    default:
        return "running";
    }
}

/* ---- collecting the values ---------------------------------------------------------------------------------------------- */

static void take_metrics(const RelnTally *sums, RelnMetrics *out, RelnMetrics *each)
{
    *out = reln_tally_metrics(sums);
    for (int t = 0; t < sums->n_targets; t++)
        each[t] = reln_target_metrics(&sums->target[t]);
}

/* Tallies the validation rows. */
static RelnStatus tally(Outcome *o, RelnReader *reader)
{
    RelnTally sums;

    reln_tally_init(&sums, reader->model, &reader->layout);
    RELN_TRY(reln_reader_tally(reader, o->fit->n_validation, o->fit->rows, &sums));
    take_metrics(&sums, &o->validation, o->validation_of);
    return RELN_OK;
}

/* Returns the number of training rows whose errors are reported: all or, of a run that shuffles blocks because its file is
 * large, at most LARGE rows from all over the file. */
static ptrdiff_t count_judged(const RelnFit *fit)
{
    enum { LARGE = 1 << 16 };

    return fit->spec.train.shuffle == RELN_SHUFFLE_BLOCKS && fit->n_train > LARGE ? LARGE
                                                                                  : fit->n_train;
}

/* Computes judged rows first .. first+n-1. */
static void judged_rows(const RelnFit *fit, ptrdiff_t first, ptrdiff_t n, ptrdiff_t *rows)
{
    const ptrdiff_t step = fit->n_train / count_judged(fit);

    for (ptrdiff_t i = 0; i < n; i++)
        rows[i] = reln_parting_row(&fit->parting, fit->parting.n_validation + (first + i) * step);
}

/* Tallies training rows; each piece is a whole number of batches of the reader. */
static RelnStatus tally_training(Outcome *o, RelnReader *reader)
{
    enum { SOME = 16 * RELN_READER_BATCH };
    const ptrdiff_t n = count_judged(o->fit);
    ptrdiff_t *rows = reln_arena_alloc(&o->arena, SOME, sizeof *rows);
    RelnTally sums;

    if (!rows)
        return RELN_ERR_NOMEM;
    reln_tally_init(&sums, reader->model, &reader->layout);
    for (ptrdiff_t first = 0; first < n; first += SOME) {
        const ptrdiff_t some = n - first < SOME ? n - first : SOME;

        judged_rows(o->fit, first, some, rows);
        RELN_TRY(reln_reader_tally(reader, some, rows, &sums));
    }
    take_metrics(&sums, &o->train, o->train_of);
    return RELN_OK;
}

/* Returns the rows for plots, scores and checks: the validation rows or, if there are none, the judged training rows. */
static RelnStatus seen_rows(Outcome *o, ptrdiff_t *n, const ptrdiff_t **rows)
{
    RelnFit *fit = o->fit;
    ptrdiff_t *train;

    *n = fit->n_validation;
    *rows = fit->rows;
    if (fit->n_validation > 0)
        return RELN_OK;
    *n = count_judged(fit);
    *rows = train = reln_arena_alloc(&o->arena, (size_t)*n, sizeof *train);
    if (!train)
        return RELN_ERR_NOMEM;
    judged_rows(fit, 0, *n, train);
    return RELN_OK;
}

/* Computes probabilities and labels of all samples, and their scores. */
static RelnStatus gather_classes(Outcome *o, int target, RelnReader *reader, ptrdiff_t n,
                                 const ptrdiff_t *rows)
{
    Scored *s = &o->scored[target];

    RELN_TRY(reln_reader_classes(reader, target, n, rows, &s->judged));
    return reln_scores_of(&s->judged, (uint64_t)o->fit->spec.train.seed, &s->scores);
}

/* Collects predictions and true values for plots: a few thousand samples are enough. */
static RelnStatus gather_pairs(Outcome *o, RelnReader *reader, ptrdiff_t n, const ptrdiff_t *rows)
{
    enum { SHOWN = 2000 };
    const RelnLayout *l = &reader->layout;
    const ptrdiff_t shown = n < SHOWN ? n : SHOWN;
    RelnStatus status = RELN_OK;

    for (int t = 0; t < o->fit->spec.n_targets; t++)
        if (o->fit->spec.target[t].as == RELN_TARGET_CLASS)
            RELN_TRY(gather_classes(o, t, reader, n, rows));
    o->layout = *l;
    o->truth = reln_arena_alloc(&o->arena, (size_t)(shown * l->truths), sizeof *o->truth);
    o->predicted = reln_arena_alloc(&o->arena, (size_t)(shown * l->outputs), sizeof *o->predicted);
    o->weights = reln_arena_alloc(&o->arena, (size_t)(shown * l->losses), sizeof *o->weights);
    if (!o->truth || !o->predicted || !o->weights)
        return RELN_ERR_NOMEM;
    o->n_shown = shown;
    for (ptrdiff_t i = 0; i < shown && status == RELN_OK; i++)
        status = reln_data_weights(reader->data, rows[i], o->weights + i * l->losses);
    RELN_TRY(status);
    RELN_TRY(reln_reader_predict(reader, shown, rows, o->predicted));
    return reln_data_target(reader->data, shown, rows, o->truth);
}

/* Computes the metrics. Training data are read without random frames, even if training used them. */
static RelnStatus gather_metrics(Outcome *o)
{
    RelnFit *fit = o->fit;
    RelnReader reader = {.ctx = fit->ctx,
                         .model = fit->model,
                         .pool = fit->pool,
                         .data = fit->plain ? fit->plain : fit->data,
                         .asked = fit->options.asked,
                         .self = fit->options.self,
                         .borrowed = true};
    const ptrdiff_t *rows = NULL;
    ptrdiff_t n = 0;
    RelnReader other =
        reader; /* a reader without ranks, because the other ranks do not take part in this */
    RelnStatus status = reln_reader_plan(&reader);

    if (status == RELN_OK)
        status = tally_training(o, &reader);
    if (status == RELN_OK)
        status = seen_rows(o, &n, &rows);
    if (status == RELN_OK && fit->n_validation == 0)
        status = gather_pairs(o, &reader, n, rows);
    reln_reader_close(&reader);
    if (status != RELN_OK || fit->n_validation == 0)
        return status;
    other.data = fit->reader.data;
    status = reln_reader_plan(&other);
    if (status == RELN_OK)
        status = tally(o, &other);
    if (status == RELN_OK)
        status = gather_pairs(o, &other, n, rows);
    reln_reader_close(&other);
    return status;
}

/* Returns the name of the data that plots and checks use: validation data, or training data if there are no
 * others. */
static const char *seen_text(const RelnFit *fit)
{
    return fit->n_validation > 0 ? "validation data" : "training data";
}

/* Checks equivariance on real samples, in the precision that predictions use. */
static RelnStatus check_data(Outcome *o, const RelnCheckOptions *options)
{
    RelnFit *fit = o->fit;
    const bool own = fit->validation_archive != NULL;
    const ptrdiff_t *rows = NULL;
    ptrdiff_t n = 0;
    char note[sizeof fit->warning - 32];

    RELN_TRY(seen_rows(o, &n, &rows));
    RELN_TRY(reln_check_rows(fit->model, options, own ? fit->validation_archive : fit->archive, n,
                             rows, &o->seen));
    if (reln_check_note(&o->seen, note, sizeof note)[0] != '\0')
        snprintf(fit->warning, sizeof fit->warning, "on %s, %s", seen_text(fit), note);
    return RELN_OK;
}

static void note_peak(Outcome *o)
{
    o->fit->peak_bytes = o->result.peak_bytes = reln_peak_bytes();
}

/* Reports the next phase to the caller; RELN_ERR_STOPPED when the caller asks to stop. */
static RelnStatus phase(const RelnFit *fit, const char *what)
{
    const RelnFitOptions *o = &fit->options;

    if (o->asked && o->asked(o->self))
        return RELN_ERR_STOPPED;
    if (o->phase)
        o->phase(o->self, what);
    return RELN_OK;
}

static RelnStatus gather_settings(Outcome *o)
{
    RelnFit *fit = o->fit;

    o->result = reln_fit_result(fit);
    o->cost = reln_model_cost(fit->model, fit->plan);
    RELN_TRY(reln_doc_create(fit->ctx, &o->doc));
    o->spec = reln_doc_write(o->doc, reln_spec_to_doc(&fit->spec, o->doc), RELN_DOC_YAML);
    return o->spec ? RELN_OK
                   : reln_fail(fit->ctx, RELN_ERR_NOMEM, "no memory left for the results");
}

static RelnStatus gather(Outcome *o)
{
    RelnFit *fit = o->fit;
    const RelnCheckOptions options = {.threads = fit->options.threads,
                                      .seed = (uint64_t)fit->spec.train.seed};

    RELN_TRY(gather_settings(o));
    RELN_TRY(phase(fit, "errors of the best model"));
    RELN_TRY(gather_metrics(o));
    if (!fit->options.no_check) {
        RELN_TRY(phase(fit, "equivariance on random inputs"));
        RELN_TRY(reln_check(fit->model, &options, &o->check));
        RELN_TRY(phase(fit, "equivariance on the data"));
        RELN_TRY(check_data(o, &options));
    }
    note_peak(o);
    return RELN_OK;
}

/* Copies the metrics of the best evaluation from the run's record. */
static RelnStatus gather_so_far(Outcome *o)
{
    const RelnFit *fit = o->fit;
    const RelnTrainRow *best;

    RELN_TRY(gather_settings(o));
    best = o->result.best;
    if (!best || fit->n_validation == 0)
        return RELN_OK;
    o->validation = reln_no_metrics(fit->n_validation, best->evaluation.score);
    for (int t = 0; t < fit->spec.n_targets; t++)
        o->validation_of[t] = reln_fit_get_metrics(fit, &best->evaluation, t);
    if (fit->spec.n_targets == 1) {
        o->validation = o->validation_of[0];
        o->validation.loss = best->evaluation.score;
    }
    return RELN_OK;
}

/* ---- results.json ------------------------------------------------------------------------------------------------------ */

/* Writes metrics as a map; those of several targets are maps within it, by their names. */
static void set_metrics(const Outcome *o, RelnDocNode *parent, const char *key,
                        const RelnMetrics *m, const RelnMetrics *each)
{
    const RelnSpec *spec = &o->fit->spec;
    RelnDocNode *map = reln_doc_set(o->doc, parent, key, reln_doc_map(o->doc)), *list;

    reln_doc_set_number(o->doc, map, "samples", (double)m->n_samples);
    reln_metrics_doc(m, o->doc, map);
    if (spec->n_targets == 1)
        return;
    list = reln_doc_set(o->doc, map, "targets", reln_doc_map(o->doc));
    for (int t = 0; t < spec->n_targets; t++)
        reln_metrics_doc(&each[t], o->doc,
                         reln_doc_set(o->doc, list, spec->target[t].name, reln_doc_map(o->doc)));
}

static void set_scores(const Outcome *o, RelnDocNode *root)
{
    const RelnSpec *spec = &o->fit->spec;
    RelnDocNode *map = NULL;

    for (int t = 0; t < spec->n_targets; t++) {
        if (o->scored[t].scores.n_samples == 0)
            continue;
        map = map ? map : reln_doc_set(o->doc, root, "scores", reln_doc_map(o->doc));
        reln_scores_doc(&o->scored[t].scores, &spec->target[t], o->doc,
                        spec->n_targets == 1 ? map
                                             : reln_doc_set(o->doc, map, spec->target[t].name,
                                                            reln_doc_map(o->doc)));
    }
}

static void set_check(RelnDoc *doc, RelnDocNode *parent, const char *key, const RelnCheck *check)
{
    RelnDocNode *map = reln_doc_set(doc, parent, key, reln_doc_map(doc));
    RelnDocNode *list;

    reln_doc_set_bool(doc, map, "promised", check->promises);
    if (check->promises)
        reln_doc_set_bool(doc, map, "kept", check->kept);
    reln_doc_set_number(doc, map, "draws", check->draws);
    if (check->parts_at > 0)
        reln_doc_set_number(doc, map, "parts_at", check->parts_at);
    list = reln_doc_set(doc, map, "output", reln_doc_list(doc));
    for (int k = 0; k < check->n_conds && check->n_layers > 0; k++) {
        const RelnCheckLayer *last = &check->layers[check->n_layers - 1];
        RelnDocNode *row = reln_doc_set(doc, list, NULL, reln_doc_map(doc));

        reln_doc_set_number(doc, row, "cond", check->conds[k]);
        reln_doc_set_number(doc, row, "median", last->at[k].median);
        reln_doc_set_number(doc, row, "worst", last->at[k].worst);
        reln_doc_set_number(doc, row, "allowed", last->at[k].allowed);
        reln_doc_set_number(doc, row, "own_median", last->at[k].own_median);
        reln_doc_set_number(doc, row, "own_worst", last->at[k].own_worst);
    }
}

/* Writes the share of time spent waiting for data, and the statistics of each process. */
static void set_ranks(const RelnFitResult *r, RelnDoc *doc, RelnDocNode *root)
{
    RelnDocNode *list;

    reln_doc_set_number(doc, root, "waited", r->waited);
    if (r->n_ranks == 0)
        return;
    list = reln_doc_set(doc, root, "ranks", reln_doc_list(doc));
    for (int i = 0; i < r->n_ranks; i++) {
        RelnDocNode *map = reln_doc_set(doc, list, NULL, reln_doc_map(doc));

        reln_doc_set_number(doc, map, "shards", (double)r->ranks[i].shards);
        reln_doc_set_number(doc, map, "bytes_read", (double)r->ranks[i].bytes_read);
        reln_doc_set_number(doc, map, "waited", r->ranks[i].waited);
        reln_doc_set_number(doc, map, "bytes_sent", (double)r->ranks[i].bytes_sent);
        reln_doc_set_number(doc, map, "messages", (double)r->ranks[i].messages);
        reln_doc_set_number(doc, map, "exchanged", r->ranks[i].exchanged);
        reln_doc_set_number(doc, map, "peak_bytes", (double)r->ranks[i].peak_bytes);
    }
}

static void set_run(const Outcome *o, RelnDoc *doc, RelnDocNode *root)
{
    const RelnFit *fit = o->fit;
    const RelnFitResult *r = &o->result;
    RelnDocNode *memory;

    reln_doc_set_text(doc, root, "program", "reln");
    reln_doc_set_text(doc, root, "version", reln_version());
    reln_doc_set_text(doc, root, "end", end_text(fit->end));
    reln_doc_set_number(doc, root, "seed", fit->spec.train.seed);
    reln_doc_set_text(doc, root, "data", fit->data_path);
    reln_doc_set_number(doc, root, "parameters", (double)r->parameters);
    reln_doc_set_number(doc, root, "steps", (double)r->step);
    reln_doc_set_number(doc, root, "epochs", (double)r->step / (double)r->steps_per_epoch);
    reln_doc_set_number(doc, root, "seconds", r->seconds);
    reln_doc_set_number(doc, root, "threads", fit->options.threads > 1 ? fit->options.threads : 1);
    reln_doc_set_text(doc, root, "kernels", reln_kernels_text(reln_model_reference(fit->model)));
    set_ranks(r, doc, root);
    memory = reln_doc_set(doc, root, "memory", reln_doc_map(doc));
    reln_doc_set_number(doc, memory, "planned_bytes", (double)r->planned_bytes);
    reln_doc_set_number(doc, memory, "peak_bytes", (double)r->peak_bytes);
}

static RelnStatus write_results(Outcome *o)
{
    RelnDoc *doc = o->doc;
    RelnDocNode *root = reln_doc_map(doc);
    const char *path = reln_arena_printf(&o->arena, "%s/results.json", o->fit->folder);

    set_run(o, doc, root);
    if (o->result.best)
        reln_doc_set_number(doc, root, "best_step", (double)o->result.best->step);
    if (o->train.n_samples > 0)
        set_metrics(o, root, "train", &o->train, o->train_of);
    if (o->validation.n_samples > 0)
        set_metrics(o, root, "validation", &o->validation, o->validation_of);
    set_scores(o, root);
    if (o->check.n_layers > 0) {
        set_check(doc, root, "equivariance", &o->check);
        set_check(doc, root, "equivariance_on_data", &o->seen);
    }
    reln_doc_set(doc, root, "spec", reln_spec_to_doc(&o->fit->spec, doc));
    return path ? reln_doc_save(doc, root, path) : RELN_ERR_NOMEM;
}

/* ---- report.html ------------------------------------------------------------------------------------------------------- */

static void facts(const Outcome *o, RelnPage *page)
{
    const RelnFit *fit = o->fit;
    const RelnFitResult *r = &o->result;
    char text[RELN_NUMBER_TEXT];

    reln_page_fact(page, "model", "%s, width %d, depth %d, %s parameters",
                   reln_model_kind_text(fit->spec.model.kind), fit->spec.model.width,
                   fit->spec.model.depth, reln_report_count(text, (int64_t)r->parameters));
    if (reln_model_promises(fit->model))
        reln_page_fact(page, "symmetry", "%s, features in %s", reln_model_symmetry(fit->model),
                       reln_model_features(fit->model));
    else
        reln_page_fact(page, "symmetry", "%s, of which this model promises nothing",
                       reln_model_symmetry(fit->model));
    reln_page_fact(page, "data", "%s: %td samples for training, %td for validation", fit->data_path,
                   fit->n_train, fit->n_validation);
    reln_page_fact(page, "seed", "%.0f", fit->spec.train.seed);
    reln_page_fact(page, "kernels", "%s", reln_kernels_text(reln_model_reference(fit->model)));
    reln_page_fact(page, "training", "%llu of %llu steps in %s, %s", (unsigned long long)r->step,
                   (unsigned long long)r->n_steps, reln_report_duration(text, r->seconds),
                   end_text(fit->end));
    if (r->streamed)
        reln_page_fact(page, "waiting",
                       "%.1f %% of the time for data, which are read batch by batch",
                       100 * r->waited);
    if (fit->warning[0] != '\0')
        reln_page_fact(page, "precision", "%s", fit->warning);
    if (!o->so_far)
        reln_page_fact(page, "memory", "%.1f MB at most, %.1f MB planned for training",
                       1e-6 * (double)r->peak_bytes, 1e-6 * (double)r->planned_bytes);
    if (reln_model_points(fit->model) > 0)
        reln_page_fact(page, "cost", "%.4g FLOP for each sample of a training step, with %d points",
                       o->cost.flops_sample, reln_model_points(fit->model));
    else
        reln_page_fact(page, "cost", "%.4g FLOP for each sample of a training step",
                       o->cost.flops_sample);
}

static void metrics_table(const Outcome *o, RelnPage *page, RelnTable *table)
{
    const RelnSpec *spec = &o->fit->spec;
    const char *names[RELN_SPEC_TARGETS];
    const bool several = spec->n_targets > 1;
    const RelnMetricRows rows[] = {
        {"training", &o->train, several ? o->train_of : NULL},
        {"validation", &o->validation, several ? o->validation_of : NULL}};

    for (int t = 0; t < spec->n_targets; t++)
        names[t] = spec->target[t].name;
    reln_table_title(table, "Errors of the best model");
    reln_metrics_table(2, rows, several ? spec->n_targets : 0, names, table);
    reln_table_note(
        table, "The loss is in the units of training, the other errors are in units of the data.");
    reln_page_table(page, table);
}

static RelnStatus curves(Outcome *o, RelnPage *page)
{
    const RelnFitResult *r = &o->result;
    const size_t n = (size_t)r->n_rows + 1;
    double *x = reln_arena_alloc(&o->arena, 4 * n, sizeof *x), *loss, *score, *rate;
    RelnPlot *plot;
    bool positive = true; /* likelihoods may be negative; then the axis is linear */

    if (!x)
        return RELN_ERR_NOMEM;
    loss = x + n;
    score = loss + n;
    rate = score + n;
    for (int i = 0; i < r->n_rows; i++) {
        x[i] = (double)r->rows[i].step / (double)r->steps_per_epoch;
        loss[i] = r->rows[i].loss;
        score[i] = r->rows[i].evaluation.score;
        rate[i] = r->rows[i].rate;
        positive = positive && !(loss[i] <= 0) && !(score[i] <= 0);
    }
    reln_page_columns(page, 2);
    plot = reln_page_plot(page, "Loss");
    reln_plot_x(plot, "epoch", RELN_AXIS_LINEAR);
    reln_plot_y(plot, "loss", positive ? RELN_AXIS_LOG : RELN_AXIS_LINEAR);
    reln_plot_line(plot, "training", r->n_rows, x, loss);
    if (o->fit->n_validation > 0)
        reln_plot_line(plot, "validation", r->n_rows, x, score);
    if (r->best)
        reln_plot_vline(plot, (double)r->best->step / (double)r->steps_per_epoch, "best");
    plot = reln_page_plot(page, "Learning rate");
    reln_plot_x(plot, "epoch", RELN_AXIS_LINEAR);
    reln_plot_y(plot, "rate", RELN_AXIS_LINEAR);
    reln_plot_line(plot, NULL, r->n_rows, x, rate);
    return RELN_OK;
}

static void check_plot(const Outcome *o, RelnPage *page)
{
    const RelnCheck *check = &o->check;
    const RelnCheckLayer *last = &check->layers[check->n_layers - 1];
    double y[5][RELN_CHECK_CONDS];
    RelnPlot *plot = reln_page_plot(page, "Equivariance of the output");

    for (int k = 0; k < check->n_conds; k++) {
        y[0][k] = last->at[k].median;
        y[1][k] = last->at[k].worst;
        y[2][k] = last->at[k].allowed;
        y[3][k] = last->at[k].own_median;
        y[4][k] = last->at[k].own_worst;
    }
    reln_plot_x(plot, "condition number of g", RELN_AXIS_LOG);
    reln_plot_y(plot, "|f(g x) − g f(x)| / |f(g x)|", RELN_AXIS_LOG);
    reln_plot_series(plot, &(RelnSeries){.name = "double precision, median and worst",
                                         .mark = RELN_MARK_LINE_POINTS,
                                         .n = check->n_conds,
                                         .x = check->conds,
                                         .y = y[0],
                                         .low = y[0],
                                         .high = y[1]});
    if (o->fit->spec.train.dtype != RELN_F64)
        reln_plot_series(plot, &(RelnSeries){.name = "single precision, as trained",
                                             .mark = RELN_MARK_LINE_POINTS,
                                             .n = check->n_conds,
                                             .x = check->conds,
                                             .y = y[3],
                                             .low = y[3],
                                             .high = y[4]});
    if (check->promises)
        reln_plot_line(plot, "what rounding allows in double", check->n_conds, check->conds, y[2]);
    reln_plot_note(
        plot, check->promises
                  ? "Random inputs and elements of the model's own symmetry; bands reach to the "
                    "worst draw."
                  : "This model promises nothing; its error is shown for comparison.");
}

/* Returns "heading" for a single target, "heading: NAME" if there are several. */
static const char *heading(const Outcome *o, const char *text, char out[160])
{
    const RelnSpec *spec = &o->fit->spec;

    snprintf(out, 160, spec->n_targets == 1 ? "%s" : "%s: %s", text, spec->target[o->shown].name);
    return out;
}

/* Plots the numbers of a target against the true values; for quantiles, the one nearest to the median. */
static RelnStatus parity_plot(Outcome *o, RelnPage *page)
{
    const RelnSpecTarget *target = &o->fit->spec.target[o->shown];
    const RelnLayout *all = &o->layout;
    const RelnTargetLayout *l = &all->target[o->shown];
    const ptrdiff_t most = o->n_shown * l->places * l->truth, step = l->value + l->spread;
    const int q = reln_spec_quantiles(target);
    double *x = reln_arena_alloc(&o->arena, 2 * (size_t)most, sizeof *x), *y = x + most;
    ptrdiff_t n = 0;
    RelnPlot *plot;
    char text[160];
    int middle = 0;

    if (!x)
        return RELN_ERR_NOMEM;
    for (int i = 1; i < q; i++)
        if (fabs(target->quantiles[i] - 0.5) < fabs(target->quantiles[middle] - 0.5))
            middle = i;
    for (ptrdiff_t i = 0; i < o->n_shown; i++)
        for (int p = 0; p < l->places; p++)
            for (ptrdiff_t k = 0;
                 o->weights[i * all->losses + l->loss_first + p] > 0 && k < l->truth; k++, n++) {
                x[n] = o->truth[i * all->truths + l->truth_first + p * l->truth + k];
                y[n] = o->predicted[i * all->outputs + l->first + p * step + k * q + middle];
            }
    plot = reln_page_plot(page, heading(o, "Predicted against true", text));
    reln_plot_x(plot, "true", RELN_AXIS_LINEAR);
    reln_plot_y(plot, "predicted", RELN_AXIS_LINEAR);
    reln_plot_parity(plot, NULL, n, x, y);
    snprintf(text, sizeof text, "Every number of the target, on %s.", seen_text(o->fit));
    reln_plot_note(plot, text);
    return RELN_OK;
}

static const RelnSpecTarget *shown_target(const Outcome *o)
{
    return &o->fit->spec.target[o->shown];
}

static const RelnScores *shown_scores(const Outcome *o)
{
    return &o->scored[o->shown].scores;
}

static void scores_table(const Outcome *o, RelnPage *page, RelnTable *table)
{
    char title[64], text[160];

    snprintf(title, sizeof title, "Scores on %s", seen_text(o->fit));
    reln_table_title(table, heading(o, title, text));
    reln_scores_summary(shown_scores(o), table);
    reln_page_table(page, table);
}

static void classes_table(const Outcome *o, RelnPage *page, RelnTable *table)
{
    reln_scores_classes(shown_scores(o), shown_target(o), table);
    reln_page_table(page, table);
}

static void confusion(const Outcome *o, RelnPage *page, RelnTable *table)
{
    reln_scores_confusion(shown_scores(o), shown_target(o), table);
    reln_page_table(page, table);
}

/* With two classes plots the curve of class 1; with more, one curve for each class. */
static RelnStatus roc_plot(Outcome *o, RelnPage *page)
{
    enum { ROOM = 400, MOST = 10 };
    const Scored *s = &o->scored[o->shown];
    const int classes = s->scores.n_classes;
    double *x = reln_arena_alloc(&o->arena, 2 * ROOM, sizeof *x);
    char name[RELN_SPEC_CLASS_NAME], text[160];
    RelnPlot *plot = reln_page_plot(page, heading(o, "True against false positives (ROC)", text));
    int n;

    if (!x)
        return RELN_ERR_NOMEM;
    reln_plot_x(plot, "false positive rate", RELN_AXIS_LINEAR);
    reln_plot_y(plot, "true positive rate", RELN_AXIS_LINEAR);
    reln_plot_diagonal(plot, NULL);
    for (int k = classes == 2 ? 1 : 0; k < classes && k < MOST; k++) {
        RELN_TRY(reln_roc(&s->judged, k, ROOM, x, x + ROOM, &n));
        reln_plot_line(plot, reln_spec_class_name(shown_target(o), k, name), n, x, x + ROOM);
    }
    return RELN_OK;
}

/* Adds the plots of the target that is shown: classes or numbers. */
static RelnStatus target_plots(Outcome *o, RelnPage *page)
{
    char text[160];

    if (shown_scores(o)->n_samples > 0) {
        RELN_TRY(roc_plot(o, page));
        reln_scores_reliability(shown_scores(o),
                                reln_page_plot(page, heading(o, "Calibration", text)));
    } else if (shown_target(o)->as != RELN_TARGET_CLASS && !o->so_far) {
        RELN_TRY(parity_plot(o, page));
    }
    return RELN_OK;
}

static void layers_by_cond(const RelnCheck *check, const char *on, RelnTable *table)
{
    char name[128];

    snprintf(name, sizeof name,
             "Equivariance error by layer on %s, median of the draws (double precision)", on);
    reln_table_title(table, name);
    for (int k = 0; k < check->n_conds; k++) {
        reln_format(name, sizeof name, "cond %g", check->conds[k]);
        reln_table_column(table, name, RELN_COL_RIGHT);
    }
    for (int l = 0; l < check->n_layers; l++) {
        reln_table_row(table);
        reln_table_text(table, check->layers[l].name);
        reln_table_text(table, check->layers[l].rep);
        for (int k = 0; k < check->n_conds; k++)
            reln_table_number(table, check->layers[l].at[k].median, 2);
    }
}

/* Elements of a compact group have one condition number, so the table has room for a column for each
 * statistic. */
static void layers_of_compact(const RelnCheck *check, const char *on, RelnTable *table)
{
    char title[128];

    snprintf(title, sizeof title,
             "Equivariance error by layer on %s (double precision; as trained)", on);
    reln_table_title(table, title);
    reln_table_column(table, "median", RELN_COL_RIGHT);
    reln_table_column(table, "worst", RELN_COL_RIGHT);
    if (check->promises)
        reln_table_column(table, "allowed", RELN_COL_RIGHT);
    reln_table_column(table, "as trained: median", RELN_COL_RIGHT);
    reln_table_column(table, "worst", RELN_COL_RIGHT);
    for (int l = 0; l < check->n_layers; l++) {
        reln_table_row(table);
        reln_table_text(table, check->layers[l].name);
        reln_table_text(table, check->layers[l].rep);
        reln_table_number(table, check->layers[l].at[0].median, 2);
        reln_table_number(table, check->layers[l].at[0].worst, 2);
        if (check->promises)
            reln_table_number(table, check->layers[l].at[0].allowed, 2);
        reln_table_number(table, check->layers[l].at[0].own_median, 2);
        reln_table_number(table, check->layers[l].at[0].own_worst, 2);
    }
}

static void layers_table(const RelnCheck *check, const char *on, RelnPage *page, RelnTable *table)
{
    reln_table_column(table, "layer", RELN_COL_LEFT);
    reln_table_column(table, "transforms as", RELN_COL_LEFT);
    if (check->n_conds > 1)
        layers_by_cond(check, on, table);
    else
        layers_of_compact(check, on, table);
    if (!check->promises)
        reln_table_note(table, "This model promises nothing; its error is shown for comparison.");
    else
        reln_table_note(table, check->kept ? "The promise is kept." : "THE PROMISE IS BROKEN.");
    reln_page_table(page, table);
}

static void layers_on_random(const Outcome *o, RelnPage *page, RelnTable *table)
{
    layers_table(&o->check, "random inputs", page, table);
}

static void layers_on_data(const Outcome *o, RelnPage *page, RelnTable *table)
{
    layers_table(&o->seen, seen_text(o->fit), page, table);
}

/* Makes a table, fills it and puts it on the page. */
static RelnStatus with_table(const Outcome *o, RelnPage *page,
                             void (*fill)(const Outcome *o, RelnPage *page, RelnTable *table))
{
    RelnTable *table = NULL;

    RELN_TRY(reln_table_create(o->fit->ctx, &table));
    fill(o, page, table);
    reln_table_destroy(table);
    return RELN_OK;
}

static RelnStatus class_tables(Outcome *o, RelnPage *page)
{
    RELN_TRY(with_table(o, page, scores_table));
    RELN_TRY(with_table(o, page, classes_table));
    return shown_scores(o)->n_classes <= 16 ? with_table(o, page, confusion) : RELN_OK;
}

/* Writes the first paragraph: what was trained on what, and the error on data that were not used for training. */
static void summary(const Outcome *o, RelnPage *page)
{
    const RelnSpec *spec = &o->fit->spec;
    const bool judged = o->validation.n_samples > 0;
    const RelnMetrics *m = judged ? &o->validation : &o->train;
    char result[160] = "", outcome[224] = "";

    if (isfinite(m->accuracy))
        snprintf(result, sizeof result, "%.4g %% are classified correctly", 100 * m->accuracy);
    else if (isfinite(m->mse))
        snprintf(result, sizeof result,
                 "the mean square error is %.4g, and %.4g %% of the variance is explained", m->mse,
                 100 * m->r2);
    else
        snprintf(result, sizeof result, "the loss is %.4g", m->loss);
    if (m->n_samples > 0)
        snprintf(outcome, sizeof outcome, " On %s data, %s%s.", judged ? "validation" : "training",
                 result, o->fit->end == RELN_TRAIN_GOING ? ", so far" : "");
    reln_page_text(page, "A network of kind %s was trained on %td samples to predict %s%s.%s",
                   reln_model_kind_text(spec->model.kind), o->fit->n_train, spec->target[0].name,
                   spec->n_targets > 1 ? " and other targets" : "", outcome);
    reln_page_text(page, "%s",
                   reln_model_promises(o->fit->model)
                       ? "For all weights, its predictions follow every change of frame of the "
                         "symmetry."
                       : "It is not equivariant.");
}

static RelnStatus fill_page(Outcome *o, RelnPage *page)
{
    const int n_targets = o->fit->spec.n_targets;

    if (o->fit->end == RELN_TRAIN_GOING)
        reln_page_refresh(page, 5);
    summary(o, page);
    facts(o, page);
    reln_page_section(page, "Result");
    if (o->train.n_samples + o->validation.n_samples > 0)
        RELN_TRY(with_table(o, page, metrics_table));
    for (o->shown = 0; o->shown < n_targets; o->shown++)
        if (shown_scores(o)->n_samples > 0)
            RELN_TRY(class_tables(o, page));
    RELN_TRY(curves(o, page));
    for (o->shown = 0; o->shown < n_targets; o->shown++)
        RELN_TRY(target_plots(o, page));
    if (o->check.n_layers > 0) {
        if (o->check.n_conds > 1)
            check_plot(o, page);
        reln_page_section(page, "Equivariance");
        RELN_TRY(with_table(o, page, layers_on_random));
        RELN_TRY(with_table(o, page, layers_on_data));
    }
    reln_page_section(page, "Network");
    RELN_TRY(reln_fit_draw(o->fit, page));
    reln_page_section(page, "Settings");
    reln_page_code(page, "SPEC, complete", o->spec);
    return RELN_OK;
}

static RelnStatus write_report(Outcome *o)
{
    RelnCtx *ctx = o->fit->ctx;
    const char *path = reln_arena_printf(&o->arena, "%s/report.html", o->fit->folder);
    const char *text = NULL;
    char title[160];
    RelnPage *page = NULL;
    size_t n_bytes = 0;
    RelnStatus status;

    snprintf(title, sizeof title, "%s on %s → %s%s", reln_model_kind_text(o->fit->spec.model.kind),
             reln_model_symmetry(o->fit->model), o->fit->spec.target[0].name,
             o->fit->spec.n_targets > 1 ? " and others" : "");
    status = path ? reln_page_create(ctx, title, &page) : RELN_ERR_NOMEM;
    if (status == RELN_OK)
        status = fill_page(o, page);
    if (status == RELN_OK)
        status = reln_page_html(page, &text, &n_bytes);
    if (status == RELN_OK)
        status = reln_file_write(ctx, path, text, n_bytes);
    reln_page_destroy(page);
    return status;
}

/* ---- both files ---------------------------------------------------------------------------------------------------------- */

static RelnStatus write_all(Outcome *o)
{
    const char *model = reln_arena_printf(&o->arena, "%s/model.safetensors", o->fit->folder);

    if (!model)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_model_save(o->fit->model, model));
    RELN_TRY(gather(o));
    RELN_TRY(phase(o->fit, "the page"));
    RELN_TRY(write_report(o));
    note_peak(o); /* the peak includes training, evaluation, checks and the page */
    return write_results(o);
}

/* Collects an outcome, uses it and frees its memory. */
static RelnStatus with_outcome(RelnFit *fit, bool so_far, RelnStatus (*use)(Outcome *o))
{
    Outcome *o = reln_alloc(fit->ctx, 1, sizeof *o);
    RelnStatus status;

    if (!o)
        return RELN_ERR_NOMEM;
    o->fit = fit;
    o->so_far = so_far;
    reln_arena_init(&o->arena, fit->ctx);
    status = use(o);
    reln_doc_destroy(o->doc);
    for (int t = 0; t < RELN_SPEC_TARGETS; t++) {
        reln_scores_clear(&o->scored[t].scores);
        reln_judged_clear(&o->scored[t].judged);
    }
    reln_arena_clear(&o->arena);
    reln_free(fit->ctx, o);
    return status;
}

RelnStatus reln_fit_write_outputs(RelnFit *fit)
{
    const RelnTrainRow *best = reln_fit_result(fit).best;

    RELN_TRY(reln_trainer_take_best(fit->trainer));
    reln_model_set_step(fit->model, best ? (int64_t)best->step : 0);
    return with_outcome(fit, false, write_all);
}

static RelnStatus write_so_far(Outcome *o)
{
    RELN_TRY(gather_so_far(o));
    RELN_TRY(write_report(o));
    return write_results(o);
}

RelnStatus reln_fit_write_so_far(RelnFit *fit)
{
    return with_outcome(fit, true, write_so_far);
}
