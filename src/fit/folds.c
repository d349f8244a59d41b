/* folds.c -- see kit/folds.h. */
#include "kit/folds.h"

#include <math.h>
#include <string.h>

#include "fit/fit.h"
#include "kit/metrics.h"
#include "reln/random.h"

/* A Pool holds predictions and true values of all samples, filled fold by fold. */
typedef struct Pool {
    RelnFolds *out;
    RelnLayout layout;
    double *y, *truth, *weights; /* (samples, outputs), (samples, truths), (samples, losses) */
    bool *filled;
    ptrdiff_t *rows; /* of one fold */
    double loss[RELN_SPEC_TARGETS], weight[RELN_SPEC_TARGETS];
} Pool;

static RelnStatus make_room(Pool *p, const RelnReader *r)
{
    RelnFolds *f = p->out;
    const size_t n = (size_t)reln_data_count(r->data);

    if (p->rows && f->n_samples == (ptrdiff_t)n)
        return RELN_OK;
    if (p->rows)
        return reln_fail(f->ctx, RELN_ERR_ARG, "the folds are of different data");
    f->n_samples = (ptrdiff_t)n;
    f->n_targets = reln_model_targets(r->model);
    f->fold = reln_alloc(f->ctx, (size_t)(f->n_folds * f->n_targets), sizeof *f->fold);
    p->layout = r->layout;
    p->y = reln_alloc(f->ctx, n * (size_t)r->layout.outputs, sizeof *p->y);
    p->truth = reln_alloc(f->ctx, n * (size_t)r->layout.truths, sizeof *p->truth);
    p->weights = reln_alloc(f->ctx, n * (size_t)r->layout.losses, sizeof *p->weights);
    p->filled = reln_alloc(f->ctx, n, sizeof *p->filled);
    p->rows = reln_alloc(f->ctx, n, sizeof *p->rows);
    return f->fold && p->y && p->truth && p->weights && p->filled && p->rows ? RELN_OK
                                                                             : RELN_ERR_NOMEM;
}

/* Copies the predictions of a fold to their places; every sample belongs to one fold. */
static RelnStatus place(Pool *p, RelnReader *r, ptrdiff_t n)
{
    const ptrdiff_t outputs = r->layout.outputs, truths = r->layout.truths;
    double *y = reln_alloc_raw(r->ctx, (size_t)(n * outputs), sizeof *y);
    double *truth = reln_alloc_raw(r->ctx, (size_t)(n * truths), sizeof *truth);
    RelnStatus status = y && truth ? reln_reader_predict(r, n, p->rows, y) : RELN_ERR_NOMEM;

    if (status == RELN_OK)
        status = reln_data_target(r->data, n, p->rows, truth);
    for (ptrdiff_t i = 0; i < n && status == RELN_OK; i++) {
        const ptrdiff_t row = p->rows[i];

        if (p->filled[row])
            status = reln_fail(r->ctx, RELN_ERR_ARG, "sample %td is in two folds", row);
        p->filled[row] = true;
        memcpy(p->y + row * outputs, y + i * outputs, (size_t)outputs * sizeof *y);
        memcpy(p->truth + row * truths, truth + i * truths, (size_t)truths * sizeof *truth);
        if (status == RELN_OK)
            status = reln_data_weights(r->data, row, p->weights + row * r->layout.losses);
    }
    reln_free(r->ctx, truth);
    reln_free(r->ctx, y);
    return status;
}

static RelnStatus add_fold(Pool *p, RelnReader *r, int fold)
{
    const RelnSpecTrain *train = &reln_model_spec(r->model)->train;
    RelnFolds *f = p->out;
    RelnTally tally;
    ptrdiff_t n = 0, left = 0;

    RELN_TRY(make_room(p, r));
    RELN_TRY(reln_data_divide(r->data, &train->fold, train->validation, (uint64_t)train->seed,
                              p->rows, &n, &left));
    reln_tally_init(&tally, r->model, &r->layout);
    RELN_TRY(reln_reader_tally(r, n, p->rows, &tally));
    for (int t = 0; t < f->n_targets; t++) {
        f->fold[fold * f->n_targets + t] = reln_target_metrics(&tally.target[t]);
        p->loss[t] += tally.target[t].loss;
        p->weight[t] += tally.target[t].weight;
    }
    return place(p, r, n);
}

/* ---- all folds together --------------------------------------------------------------------------------------------------- */

static void tally_samples(const Pool *p, int target, RelnRng *rng, RelnTargetTally *t)
{
    const RelnFolds *f = p->out;

    reln_target_tally_init(t, f->model, &p->layout, target);
    for (ptrdiff_t i = 0; i < f->n_samples; i++) {
        const ptrdiff_t row = rng ? (ptrdiff_t)reln_rng_below(rng, (uint64_t)f->n_samples) : i;

        reln_target_tally_places(t, p->y + row * p->layout.outputs,
                                 p->truth + row * p->layout.truths, NULL,
                                 p->weights + row * p->layout.losses);
    }
}

/* Computes standard deviations of all metrics over bootstrap draws of samples. */
static void bootstrap(const Pool *p, int target)
{
    RelnFolds *f = p->out;
    double sum[RELN_METRICS] = {0}, square[RELN_METRICS] = {0}, values[RELN_METRICS];
    RelnMetrics *error = &f->error[target];

    for (int d = 0; d < f->draws; d++) {
        RelnRng rng = reln_rng(f->seed, (uint64_t)d + 1);
        RelnTargetTally t;
        RelnMetrics m;

        tally_samples(p, target, &rng, &t);
        m = reln_target_metrics(&t);
        reln_metrics_all(&m, values);
        for (int i = 0; i < RELN_METRICS; i++) {
            sum[i] += values[i];
            square[i] += values[i] * values[i];
        }
    }
    for (int i = 0; i < RELN_METRICS; i++) {
        const double mean = sum[i] / f->draws;

        values[i] = i == 0 ? (double)NAN : sqrt(fmax(0, square[i] / f->draws - mean * mean));
        if (isnan(sum[i]))
            values[i] = (double)NAN;
    }
    *error = reln_no_metrics(f->n_samples, (double)NAN);
    reln_metrics_set(error, values);
}

/* Collect the samples, or points, that have a weight; their logits are probabilities already. */
static void collect(const Pool *p, int target, RelnJudged *out)
{
    const RelnTargetLayout *l = &p->layout.target[target];

    for (ptrdiff_t i = 0; i < p->out->n_samples; i++)
        for (int k = 0; k < l->places; k++)
            reln_judged_add(out, i, p->y + i * p->layout.outputs + l->first + k * l->value,
                            p->truth[i * p->layout.truths + l->truth_first + k],
                            p->weights[i * p->layout.losses + l->loss_first + k]);
}

/* Scores of classes, with their own bootstrap. */
static RelnStatus score(const Pool *p, int target)
{
    RelnFolds *f = p->out;
    RelnJudged judged = {0};
    RelnStatus status = reln_judged_init(f->ctx, f->n_samples, &p->layout.target[target], &judged);

    if (status == RELN_OK) {
        collect(p, target, &judged);
        status = reln_scores_of(&judged, f->seed, &f->scores[target]);
    }
    reln_judged_clear(&judged);
    return status;
}

static RelnStatus finish(Pool *p, const RelnReader *last)
{
    RelnFolds *f = p->out;

    for (ptrdiff_t i = 0; i < f->n_samples; i++)
        if (!p->filled[i])
            return reln_fail(f->ctx, RELN_ERR_ARG, "sample %td is in no fold", i);
    /* about 2e7 samples in all draws, between 20 and 200 draws */
    f->draws = (int)fmax(20, fmin(200, 2e7 / (double)f->n_samples));
    for (int t = 0; t < f->n_targets; t++) {
        RelnTargetTally sums;

        tally_samples(p, t, NULL, &sums);
        f->pooled[t] = reln_target_metrics(&sums);
        f->pooled[t].loss = p->loss[t] / p->weight[t];
        bootstrap(p, t);
    }
    RELN_TRY(reln_reader_arrays(last, p->y, RELN_PREDICT_MOST, f->arrays, &f->n_arrays));
    for (int t = 0; t < f->n_targets; t++)
        if (reln_model_spec(f->model)->target[t].as == RELN_TARGET_CLASS)
            RELN_TRY(score(p, t));
    return RELN_OK;
}

static RelnStatus read_fold(Pool *p, const char *folder, const char *data_path, int threads,
                            int fold)
{
    RelnFolds *f = p->out;
    const bool last = fold == f->n_folds - 1;
    RelnReader r = {0};
    RelnStatus status;

    reln_model_destroy(f->model);
    f->model = NULL;
    RELN_TRY(reln_model_load(f->ctx, folder, RELN_DEFAULT, &f->model));
    status = reln_reader_open(f->model, data_path, threads, NULL, &r);
    if (status == RELN_OK)
        status = add_fold(p, &r, fold);
    if (status == RELN_OK && last)
        status = finish(p, &r);
    reln_reader_close(&r);
    return status;
}

RelnStatus reln_folds_pool(RelnCtx *ctx, int n, const char *const *folders, const char *data_path,
                           int threads, uint64_t seed, RelnFolds *out)
{
    Pool p = {.out = out};
    RelnStatus status = RELN_OK;

    *out = (RelnFolds){.ctx = ctx, .n_folds = n, .seed = seed};
    for (int i = 0; i < n && status == RELN_OK; i++)
        status = read_fold(&p, folders[i], data_path, threads, i);
    reln_free(ctx, p.rows);
    reln_free(ctx, p.filled);
    reln_free(ctx, p.weights);
    reln_free(ctx, p.truth);
    reln_free(ctx, p.y);
    return status;
}

void reln_folds_clear(RelnFolds *f)
{
    for (int i = 0; i < f->n_arrays && i < RELN_PREDICT_MOST; i++)
        reln_array_clear(&f->arrays[i]);
    for (int t = 0; t < RELN_SPEC_TARGETS; t++)
        reln_scores_clear(&f->scores[t]);
    if (f->ctx)
        reln_free(f->ctx, f->fold);
    reln_model_destroy(f->model);
    *f = (RelnFolds){0};
}

RelnStatus reln_folds_count(RelnCtx *ctx, const char *data_path, const char *array, int *count)
{
    RelnArchive *archive = NULL;
    RelnStatus status = reln_archive_open(ctx, data_path, &archive);

    if (status == RELN_OK)
        status = reln_data_folds(ctx, archive, array, count);
    reln_archive_destroy(archive);
    return status;
}
