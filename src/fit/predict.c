/* predict.c -- runs a trained model on a file of arrays: predictions, and how good they are. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "fit/fit.h"

enum { BATCH = RELN_READER_BATCH };

/* Prepare a reader whose archive is open. */
static RelnStatus begin(RelnReader *r, int threads, const RelnDataOptions *options)
{
    if (threads > 1)
        RELN_TRY(reln_pool_create(r->ctx, threads, &r->pool));
    RELN_TRY(reln_data_open(r->model, r->archive, options, &r->data));
    RELN_TRY(reln_data_compare(r->data));
    return reln_reader_plan(r);
}

RelnStatus reln_reader_open(RelnModel *model, const char *data_path, int threads,
                            const RelnDataOptions *options, RelnReader *r)
{
    *r = (RelnReader){.model = model, .ctx = reln_model_ctx(model)};
    RELN_TRY(reln_archive_open(r->ctx, data_path, &r->archive));
    return begin(r, threads, options);
}

RelnStatus reln_reader_plan(RelnReader *r)
{
    const size_t outputs = (size_t)reln_model_outputs(r->model);

    RELN_TRY(reln_model_build(r->model, &(RelnModelOptions){0}, &r->net));
    RELN_TRY(reln_plan_create(r->net.graph,
                              &(RelnPlanOptions){.pool = r->pool,
                                                 .comm = r->comm,
                                                 .lanes = reln_model_spec(r->model)->train.lanes,
                                                 .reference = reln_model_reference(r->model)},
                              &r->plan));
    RELN_TRY(reln_plan_reserve(r->plan, BATCH, 0));
    RELN_TRY(reln_data_reserve(r->data, BATCH));
    r->y = reln_alloc(r->ctx, BATCH * outputs, sizeof *r->y);
    r->target = reln_alloc(r->ctx, BATCH * outputs, sizeof *r->target);
    r->rows = reln_alloc(r->ctx, BATCH, sizeof *r->rows);
    return r->y && r->target && r->rows ? RELN_OK : RELN_ERR_NOMEM;
}

void reln_reader_close(RelnReader *r)
{
    reln_free(r->ctx, r->rows);
    reln_free(r->ctx, r->target);
    reln_free(r->ctx, r->y);
    reln_plan_destroy(r->plan);
    reln_model_graph_clear(&r->net);
    if (!r->borrowed) {
        reln_data_destroy(r->data);
        reln_archive_destroy(r->archive);
        reln_pool_destroy(r->pool);
    }
}

/* Predict the batch that begins at `first` into r->y, with its row numbers in r->rows. */
static RelnStatus run(RelnReader *r, ptrdiff_t first, ptrdiff_t n, const ptrdiff_t *rows,
                      ptrdiff_t *count)
{
    *count = n - first < BATCH ? n - first : BATCH;
    for (ptrdiff_t i = 0; i < *count; i++)
        r->rows[i] = rows ? rows[first + i] : first + i;
    RELN_TRY(
        reln_comm_agree(r->comm, r->ctx, reln_data_bind(r->data, r->plan, *count, r->rows, 0)));
    RELN_TRY(reln_plan_run(r->plan,
                           &(RelnRun){.n_samples = *count, .asked = r->asked, .self = r->self}));
    reln_model_predictions(r->model, reln_plan_output(r->plan, "y", NULL), *count, r->y);
    return RELN_OK;
}

RelnStatus reln_reader_tally(RelnReader *r, ptrdiff_t n, const ptrdiff_t *rows, RelnTally *tally)
{
    ptrdiff_t count;

    for (ptrdiff_t first = 0; first < n; first += BATCH) {
        RELN_TRY(run(r, first, n, rows, &count));
        RELN_TRY(reln_data_target(r->data, count, r->rows, r->target));
        reln_tally_add(tally, count, r->y, r->target);
    }
    return RELN_OK;
}

RelnStatus reln_reader_predict(RelnReader *r, ptrdiff_t n, const ptrdiff_t *rows, double *y)
{
    const ptrdiff_t outputs = reln_model_outputs(r->model);
    ptrdiff_t count;

    for (ptrdiff_t first = 0; first < n; first += BATCH) {
        RELN_TRY(run(r, first, n, rows, &count));
        memcpy(y + first * outputs, r->y, (size_t)(count * outputs) * sizeof *y);
    }
    return RELN_OK;
}

/* Fail if some outputs are not finite; the message has their number and the first of them. */
static RelnStatus refuse_lost(const RelnReader *r, ptrdiff_t lost, ptrdiff_t first, ptrdiff_t n)
{
    const bool narrow = reln_model_spec(r->model)->train.dtype != RELN_F64;

    return lost == 0
               ? RELN_OK
               : reln_fail(r->ctx, RELN_ERR_NUMERIC,
                           "%s: the model's output is not finite for %td of %td samples, sample "
                           "%td the first%s",
                           reln_archive_name(r->archive), lost, n, first,
                           narrow ? "; it was computed in f32, double precision may do" : "");
}

/* ---- predictions --------------------------------------------------------------------------------------------------- */

static void softmax(ptrdiff_t n, double *y)
{
    double top = y[0], sum = 0;

    for (ptrdiff_t i = 1; i < n; i++)
        top = fmax(top, y[i]);
    for (ptrdiff_t i = 0; i < n; i++)
        sum += y[i] = exp(y[i] - top);
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] /= sum;
}

RelnStatus reln_reader_classes(RelnReader *r, ptrdiff_t n, const ptrdiff_t *rows, double *p,
                               int *label)
{
    const ptrdiff_t classes = reln_model_outputs(r->model);
    ptrdiff_t count;

    for (ptrdiff_t first = 0; first < n; first += BATCH) {
        RELN_TRY(run(r, first, n, rows, &count));
        RELN_TRY(reln_data_target(r->data, count, r->rows, r->target));
        for (ptrdiff_t i = 0; i < count; i++) {
            softmax(classes, r->y + i * classes);
            label[first + i] = (int)r->target[i];
        }
        memcpy(p + first * classes, r->y, (size_t)(count * classes) * sizeof *p);
    }
    return RELN_OK;
}

/* The shape (N, channels, ...) of predictions, as in the target's array; a single channel is no axis. */
static RelnArray shape_of(const RelnReader *r)
{
    const RelnModel *model = r->model;
    const RelnSpecTarget *target = &reln_model_spec(model)->target;
    const int channels = reln_model_shapes(model)->target_channels, n = reln_model_n(model);
    RelnArray p = RELN_ARRAY(target->name, RELN_F64, NULL, reln_data_count(r->data));

    if (target->as == RELN_TARGET_CLASS)
        p.dims[p.rank++] = reln_model_outputs(model);
    else if (channels > 1)
        p.dims[p.rank++] = channels;
    if (target->as == RELN_TARGET_VECTOR || target->as == RELN_TARGET_MATRIX)
        p.dims[p.rank++] = n;
    if (target->as == RELN_TARGET_MATRIX)
        p.dims[p.rank++] = n;
    return p;
}

static RelnStatus predict(RelnReader *r, RelnArray *p)
{
    const bool class = reln_model_spec(r->model)->target.as == RELN_TARGET_CLASS;
    const ptrdiff_t n = reln_data_count(r->data), size = reln_model_outputs(r->model);
    ptrdiff_t lost = 0, first = 0, last = -1;

    *p = shape_of(r);
    p->owner = r->ctx;
    p->f64 = reln_alloc_raw(r->ctx, (size_t)n * (size_t)size, sizeof *p->f64);
    if (!p->f64)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_reader_predict(r, n, NULL, p->f64));
    for (ptrdiff_t i = 0; i < n * size; i++)
        if (!isfinite(p->f64[i])) {
            first = lost == 0 ? i / size : first;
            lost += last != i / size;
            last = i / size;
        }
    RELN_TRY(refuse_lost(r, lost, first, n));
    for (ptrdiff_t i = 0; class && i < n; i++)
        softmax(size, p->f64 + i * size);
    return RELN_OK;
}

static RelnStatus predict_and_close(RelnReader *r, RelnStatus status, RelnArray *out)
{
    *out = (RelnArray){0};
    if (status == RELN_OK)
        status = predict(r, out);
    reln_reader_close(r);
    if (status != RELN_OK)
        reln_array_clear(out);
    return status;
}

RelnStatus reln_predict(RelnModel *model, const char *data_path, int threads, RelnArray *out)
{
    RELN_NEED(model, RELN_ERR_ARG);
    RELN_NEED(data_path && out, reln_null(reln_model_ctx(model), __func__));

    const RelnDataOptions options = {.without_target = true};
    RelnReader r;
    const RelnStatus status = reln_reader_open(model, data_path, threads, &options, &r);

    return predict_and_close(&r, status, out);
}

RelnStatus reln_predict_arrays(RelnModel *model, int n, const RelnArray *arrays, int threads,
                               RelnArray *out)
{
    RELN_NEED(model, RELN_ERR_ARG);
    RELN_NEED((arrays || n <= 0) && out, reln_null(reln_model_ctx(model), __func__));

    const RelnDataOptions options = {.without_target = true};
    RelnReader r = {.model = model, .ctx = reln_model_ctx(model)};
    RelnStatus status = reln_archive_from_arrays(r.ctx, "arrays", n, arrays, &r.archive);

    if (status == RELN_OK)
        status = begin(&r, threads, &options);
    return predict_and_close(&r, status, out);
}

/* ---- judging ------------------------------------------------------------------------------------------------------- */

RelnStatus reln_evaluate(RelnModel *model, const char *data_path, int threads, RelnMetrics *out)
{
    RELN_NEED(model, RELN_ERR_ARG);
    RELN_NEED(data_path && out, reln_null(reln_model_ctx(model), __func__));

    RelnReader r;
    RelnTally tally;
    RelnStatus status = reln_reader_open(model, data_path, threads, NULL, &r);

    reln_tally_init(&tally, model);
    if (status == RELN_OK)
        status = reln_reader_tally(&r, reln_data_count(r.data), NULL, &tally);
    if (status == RELN_OK)
        status = refuse_lost(&r, tally.lost, tally.first_lost, tally.n_samples);
    reln_reader_close(&r);
    if (status == RELN_OK)
        *out = reln_tally_metrics(&tally);
    return status;
}

static RelnStatus score_classes(RelnReader *r, uint64_t seed, RelnScores *out)
{
    const ptrdiff_t n = reln_data_count(r->data), classes = reln_model_outputs(r->model);
    double *p = reln_alloc_raw(r->ctx, (size_t)(n * classes), sizeof *p);
    int *label = reln_alloc_raw(r->ctx, (size_t)n, sizeof *label);
    RelnStatus status = p && label ? RELN_OK : RELN_ERR_NOMEM;

    if (status == RELN_OK)
        status = reln_reader_classes(r, n, NULL, p, label);
    if (status == RELN_OK)
        status = reln_scores(r->ctx, n, (int)classes, p, label, seed, out);
    reln_free(r->ctx, label);
    reln_free(r->ctx, p);
    return status;
}

RelnStatus reln_evaluate_classes(RelnModel *model, const char *data_path, int threads,
                                 uint64_t seed, RelnScores *out)
{
    RELN_NEED(model, RELN_ERR_ARG);
    RELN_NEED(data_path && out, reln_null(reln_model_ctx(model), __func__));

    const RelnSpecTarget *target = &reln_model_spec(model)->target;
    RelnReader r;
    RelnStatus status;

    *out = (RelnScores){0};
    if (target->as != RELN_TARGET_CLASS)
        return reln_fail(reln_model_ctx(model), RELN_ERR_ARG,
                         "target %s is a %s; scores are of a class", target->name,
                         reln_target_text(target->as));
    status = reln_reader_open(model, data_path, threads, NULL, &r);
    if (status == RELN_OK)
        status = score_classes(&r, seed, out);
    reln_reader_close(&r);
    return status;
}
