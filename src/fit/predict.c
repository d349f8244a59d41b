/* predict.c -- runs a trained model on a file of arrays: predictions and their errors. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "fit/fit.h"
#include "kit/scores.h"

enum { BATCH = RELN_READER_BATCH };

/* Prepares a reader whose archive is open. */
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

/* Counts the points, or the edges, of all samples of a file that has them one after another. */
static RelnStatus count_items(RelnReader *r, RelnItems items)
{
    int size = 0;

    r->concatenated[items] = reln_data_concatenated(r->data, items);
    r->all[items] = 0;
    for (ptrdiff_t i = 0; r->concatenated[items] && i < reln_data_count(r->data); i++) {
        RELN_TRY(reln_data_size(r->data, items, i, &size));
        r->all[items] += size;
    }
    return RELN_OK;
}

RelnStatus reln_reader_plan(RelnReader *r)
{
    const bool losses = reln_data_has_target(r->data);
    const RelnSizes sizes = reln_data_sizes(r->data);

    r->layout = reln_data_layout(r->data);
    RELN_TRY(count_items(r, RELN_ITEMS_POINTS));
    RELN_TRY(count_items(r, RELN_ITEMS_EDGES));
    RELN_TRY(
        reln_model_build(r->model, &(RelnModelOptions){.losses = losses, .sizes = sizes}, &r->net));
    RELN_TRY(reln_plan_create(r->net.graph,
                              &(RelnPlanOptions){.pool = r->pool,
                                                 .comm = r->comm,
                                                 .lanes = reln_model_spec(r->model)->train.lanes,
                                                 .reference = reln_model_reference(r->model)},
                              &r->plan));
    RELN_TRY(reln_plan_reserve(r->plan, BATCH, 0));
    RELN_TRY(reln_data_reserve(r->data, BATCH));
    RELN_TRY(reln_data_read_ahead(r->data, BATCH));
    r->y = reln_alloc(r->ctx, BATCH * (size_t)r->layout.outputs, sizeof *r->y);
    r->target = reln_alloc(r->ctx, BATCH * (size_t)r->layout.truths, sizeof *r->target);
    r->losses = reln_alloc(r->ctx, BATCH * (size_t)r->layout.losses, sizeof *r->losses);
    r->weights = reln_alloc(r->ctx, BATCH * (size_t)r->layout.losses, sizeof *r->weights);
    r->items = reln_alloc(r->ctx, BATCH * (size_t)r->layout.losses, sizeof *r->items);
    r->rows = reln_alloc(r->ctx, 2 * BATCH, sizeof *r->rows);
    return r->y && r->target && r->losses && r->weights && r->items && r->rows ? RELN_OK
                                                                               : RELN_ERR_NOMEM;
}

void reln_reader_close(RelnReader *r)
{
    if (r->data)
        reln_data_settle(r->data);
    reln_free(r->ctx, r->rows);
    reln_free(r->ctx, r->items);
    reln_free(r->ctx, r->weights);
    reln_free(r->ctx, r->losses);
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

/* Writes the row numbers of the batch that begins at `first`; returns their number. */
static ptrdiff_t choose(ptrdiff_t first, ptrdiff_t n, const ptrdiff_t *rows, ptrdiff_t *out)
{
    const ptrdiff_t count = n - first < BATCH ? n - first : BATCH;

    for (ptrdiff_t i = 0; i < count; i++)
        out[i] = rows ? rows[first + i] : first + i;
    return count;
}

/* Binds the batch that begins at `first`, and announces the next one. */
static RelnStatus bind(RelnReader *r, ptrdiff_t first, ptrdiff_t n, const ptrdiff_t *rows,
                       ptrdiff_t *count)
{
    ptrdiff_t next;

    *count = choose(first, n, rows, r->rows);
    RELN_TRY(reln_data_bind(r->data, r->plan, *count, r->rows, 0));
    if (first + BATCH >= n)
        return RELN_OK;
    next = choose(first + BATCH, n, rows, r->rows + BATCH);
    return reln_data_ahead(r->data, r->plan, next, r->rows + BATCH, 0);
}

/* Predict the batch that begins at `first` into r->y, with its row numbers in r->rows. */
static RelnStatus run(RelnReader *r, ptrdiff_t first, ptrdiff_t n, const ptrdiff_t *rows,
                      ptrdiff_t *count)
{
    RELN_TRY(reln_comm_agree(r->comm, r->ctx, bind(r, first, n, rows, count)));
    RELN_TRY(reln_plan_run(r->plan,
                           &(RelnRun){.n_samples = *count, .asked = r->asked, .self = r->self}));
    RELN_TRY(reln_data_items(r->data, *count, r->rows, r->items));
    reln_model_predictions(r->model, r->plan, &r->layout, *count, r->items, r->y);
    return RELN_OK;
}

/* Copies the losses that the graph has computed, for all existing items. */
static void read_losses(RelnReader *r, ptrdiff_t n)
{
    const RelnSpec *spec = reln_model_spec(r->model);
    char port[RELN_TARGET_PORT];

    for (int t = 0; t < spec->n_targets; t++) {
        const RelnTargetLayout *at = &r->layout.target[t];
        const void *l;

        if (!reln_model_graph_loss(r->model, t))
            continue;
        l = reln_plan_output(r->plan, reln_target_port("loss", t, port), NULL);
        for (ptrdiff_t i = 0; i < n; i++)
            for (int p = 0; p < at->places; p++) {
                const ptrdiff_t k = i * r->layout.losses + at->loss_first + p, item = r->items[k];

                if (item >= 0)
                    r->losses[k] = spec->train.dtype == RELN_F32 ? (double)((const float *)l)[item]
                                                                 : ((const double *)l)[item];
            }
    }
}

/* Predicts a batch, and reads its targets and weights. */
static RelnStatus run_judged(RelnReader *r, ptrdiff_t first, ptrdiff_t n, const ptrdiff_t *rows,
                             ptrdiff_t *count)
{
    RELN_TRY(run(r, first, n, rows, count));
    RELN_TRY(reln_data_target(r->data, *count, r->rows, r->target));
    for (ptrdiff_t i = 0; i < *count; i++)
        RELN_TRY(reln_data_weights(r->data, r->rows[i], r->weights + i * r->layout.losses));
    return RELN_OK;
}

/* Refuses to judge a target of edges by samples that have none. */
RelnStatus reln_reader_check_edges(const RelnReader *r, ptrdiff_t n, const ptrdiff_t *rows)
{
    const RelnSpec *spec = reln_model_spec(r->model);
    ptrdiff_t edges = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        edges += reln_data_edges(r->data, rows ? rows[i] : i);
    for (int t = 0; edges == 0 && t < spec->n_targets; t++)
        if (spec->target[t].edges)
            return reln_fail(
                r->ctx, RELN_ERR_FORMAT,
                "target %s: none of %td samples has an edge to judge it by; wanted one",
                spec->target[t].name, n);
    return RELN_OK;
}

RelnStatus reln_reader_tally(RelnReader *r, ptrdiff_t n, const ptrdiff_t *rows, RelnTally *tally)
{
    ptrdiff_t count;

    for (ptrdiff_t first = 0; first < n; first += BATCH) {
        RELN_TRY(run_judged(r, first, n, rows, &count));
        read_losses(r, count);
        reln_tally_add(tally, count, r->y, r->target, r->losses, r->weights);
    }
    return RELN_OK;
}

RelnStatus reln_reader_predict(RelnReader *r, ptrdiff_t n, const ptrdiff_t *rows, double *y)
{
    const ptrdiff_t outputs = r->layout.outputs;
    ptrdiff_t count;

    for (ptrdiff_t first = 0; first < n; first += BATCH) {
        RELN_TRY(run(r, first, n, rows, &count));
        memcpy(y + first * outputs, r->y, (size_t)(count * outputs) * sizeof *y);
    }
    return RELN_OK;
}

/* Fails if some outputs are not finite; the message has their number and the first of them. */
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

void reln_chances(ptrdiff_t n, double *y)
{
    double top = y[0], sum = 0;

    for (ptrdiff_t i = 1; i < n; i++)
        top = fmax(top, y[i]);
    for (ptrdiff_t i = 0; i < n; i++)
        sum += y[i] = exp(y[i] - top);
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] /= sum;
}

/* Add the places of sample i of the batch that have a weight; their logits become probabilities. */
static void add_judged(const RelnReader *r, int target, ptrdiff_t i, ptrdiff_t sample,
                       RelnJudged *out)
{
    const RelnTargetLayout *l = &r->layout.target[target];

    for (int p = 0; p < l->places; p++) {
        double *chance = r->y + i * r->layout.outputs + l->first + p * l->value;

        reln_chances(l->value, chance);
        reln_judged_add(out, sample, chance, r->target[i * r->layout.truths + l->truth_first + p],
                        r->weights[i * r->layout.losses + l->loss_first + p]);
    }
}

RelnStatus reln_reader_classes(RelnReader *r, int target, ptrdiff_t n, const ptrdiff_t *rows,
                               RelnJudged *out)
{
    ptrdiff_t count;

    RELN_TRY(reln_judged_init(r->ctx, n, &r->layout.target[target], out));
    for (ptrdiff_t first = 0; first < n; first += BATCH) {
        RELN_TRY(run_judged(r, first, n, rows, &count));
        for (ptrdiff_t i = 0; i < count; i++)
            add_judged(r, target, i, first + i, out);
    }
    return RELN_OK;
}

/* Begins the shape of predictions with the axes of a target's items: (N), (N, P), (N, E), or (T) for points or edges of a file
 * that has them one after another. */
static RelnArray items_shape(const RelnReader *r, int t, const char *name)
{
    const RelnItems items = reln_target_items(&reln_model_spec(r->model)->target[t]);
    RelnArray p = RELN_ARRAY(name, RELN_F64, NULL, reln_data_count(r->data));

    if (r->concatenated[items])
        p.dims[0] = r->all[items];
    else if (items != RELN_ITEMS_SAMPLES)
        p.dims[p.rank++] = r->layout.target[t].places;
    return p;
}

/* Returns the shape (N, channels, ...) of predictions, as in the target's array; a single channel has no
 * axis. */
static RelnArray value_shape(const RelnReader *r, int t)
{
    const RelnModel *model = r->model;
    const RelnSpecTarget *target = &reln_model_spec(model)->target[t];
    const int channels = reln_model_shapes(model)->target_channels[t], n = reln_model_n(model);
    const bool matrix = target->as == RELN_TARGET_MATRIX || target->as == RELN_TARGET_COVARIANCE;
    RelnArray p = items_shape(r, t, target->name);

    if (target->as == RELN_TARGET_CLASS)
        p.dims[p.rank++] = target->classes;
    else if (channels > 1)
        p.dims[p.rank++] = channels;
    if (target->as == RELN_TARGET_VECTOR || matrix)
        p.dims[p.rank++] = n;
    if (matrix)
        p.dims[p.rank++] = n;
    if (target->loss == RELN_LOSS_QUANTILES)
        p.dims[p.rank++] = target->n_quantiles;
    return p;
}

/* Returns the shape (N, [channels]) of variances, or (N, [channels,] n, n) of covariances. */
static RelnArray spread_shape(const RelnReader *r, int t)
{
    const RelnSpecTarget *target = &reln_model_spec(r->model)->target[t];
    const int channels = reln_model_shapes(r->model)->target_channels[t];
    const bool matrix = target->variance == RELN_VARIANCE_COVARIANCE;
    RelnArray p = items_shape(r, t, reln_model_spread_name(r->model, t));

    if (channels > 1)
        p.dims[p.rank++] = channels;
    for (int axis = 0; matrix && axis < 2; axis++)
        p.dims[p.rank++] = reln_model_n(r->model);
    return p;
}

static RelnStatus check_finite(const RelnReader *r, ptrdiff_t n, ptrdiff_t size, const double *y)
{
    ptrdiff_t lost = 0, first = 0, last = -1;

    for (ptrdiff_t i = 0; i < n * size; i++)
        if (!isfinite(y[i])) {
            first = lost == 0 ? i / size : first;
            lost += last != i / size;
            last = i / size;
        }
    return refuse_lost(r, lost, first, n);
}

/* Copies `size` numbers from position `from` of every place of a target into a new array. */
static RelnStatus take(const RelnReader *r, int t, const double *y, ptrdiff_t from, ptrdiff_t size,
                       RelnArray *p)
{
    const RelnTargetLayout *l = &r->layout.target[t];
    const RelnItems items = reln_target_items(&reln_model_spec(r->model)->target[t]);
    const ptrdiff_t n = reln_data_count(r->data), step = l->value + l->spread;
    double *to;

    p->owner = r->ctx;
    p->f64 = reln_alloc_raw(r->ctx, (size_t)(n * l->places) * (size_t)size, sizeof *p->f64);
    to = p->f64;
    if (!to)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t i = 0; i < n; i++) {
        int places = l->places;

        if (r->concatenated[items])
            RELN_TRY(reln_data_size(r->data, items, i, &places));
        for (int k = 0; k < places; k++, to += size)
            memcpy(to, y + i * r->layout.outputs + l->first + k * step + from,
                   (size_t)size * sizeof *y);
    }
    return RELN_OK;
}

/* Converts logits to probabilities at places that hold an item; padding keeps 0. */
static RelnStatus make_chances(const RelnReader *r, int t, double *y)
{
    const RelnTargetLayout *l = &r->layout.target[t];

    for (ptrdiff_t i = 0; i < reln_data_count(r->data); i++) {
        RELN_TRY(reln_data_items(r->data, 1, &i, r->items));
        for (int k = 0; k < l->places; k++)
            if (r->items[l->loss_first + k] >= 0)
                reln_chances(l->value, y + i * r->layout.outputs + l->first + k * l->value);
    }
    return RELN_OK;
}

/* A Wanted is the destination of the arrays, and their number. */
typedef struct Wanted {
    int room, count;
    RelnArray *out;
} Wanted;

static RelnStatus take_target(const RelnReader *r, int t, double *y, Wanted *w)
{
    const RelnTargetLayout *l = &r->layout.target[t];
    const bool class = reln_model_spec(r->model)->target[t].as == RELN_TARGET_CLASS;
    RelnArray *value = w->count < w->room ? &w->out[w->count] : NULL;
    RelnArray *spread = w->count + 1 < w->room ? &w->out[w->count + 1] : NULL;

    w->count += 1 + (l->spread > 0);
    if (class)
        RELN_TRY(make_chances(r, t, y));
    if (value) {
        *value = value_shape(r, t);
        RELN_TRY(take(r, t, y, 0, l->value, value));
    }
    if (!spread || l->spread == 0)
        return RELN_OK;
    *spread = spread_shape(r, t);
    return take(r, t, y, l->value, l->spread, spread);
}

RelnStatus reln_reader_arrays(const RelnReader *r, double *y, int room, RelnArray *out, int *count)
{
    Wanted w = {.room = room, .out = out};
    RelnStatus status = check_finite(r, reln_data_count(r->data), r->layout.outputs, y);

    for (int t = 0; status == RELN_OK && t < reln_model_targets(r->model); t++)
        status = take_target(r, t, y, &w);
    *count = w.count;
    return status;
}

static RelnStatus predict(RelnReader *r, Wanted *w)
{
    const ptrdiff_t n = reln_data_count(r->data), size = r->layout.outputs;
    double *y = reln_alloc_raw(r->ctx, (size_t)n * (size_t)size, sizeof *y);
    RelnStatus status = y ? reln_reader_predict(r, n, NULL, y) : RELN_ERR_NOMEM;

    if (status == RELN_OK)
        status = reln_reader_arrays(r, y, w->room, w->out, &w->count);
    reln_free(r->ctx, y);
    return status;
}

static RelnStatus predict_and_close(RelnReader *r, RelnStatus status, Wanted *w)
{
    for (int i = 0; i < w->room; i++)
        w->out[i] = (RelnArray){0};
    if (status == RELN_OK)
        status = predict(r, w);
    reln_reader_close(r);
    for (int i = 0; i < w->room && status != RELN_OK; i++)
        reln_array_clear(&w->out[i]);
    return status;
}

RelnStatus reln_predict_targets(RelnModel *model, const char *data_path, int threads, int room,
                                RelnArray *out, int *count)
{
    RELN_NEED(model, RELN_ERR_ARG);
    RELN_NEED(data_path && (out || room <= 0) && count, reln_null(reln_model_ctx(model), __func__));

    const RelnDataOptions options = {.without_target = true};
    Wanted w = {.room = room, .out = out};
    RelnReader r;
    RelnStatus status = reln_reader_open(model, data_path, threads, &options, &r);

    status = predict_and_close(&r, status, &w);
    *count = w.count;
    return status;
}

RelnStatus reln_predict_targets_arrays(RelnModel *model, int n, const RelnArray *arrays,
                                       int threads, int room, RelnArray *out, int *count)
{
    RELN_NEED(model, RELN_ERR_ARG);
    RELN_NEED((arrays || n <= 0) && (out || room <= 0) && count,
              reln_null(reln_model_ctx(model), __func__));

    const RelnDataOptions options = {.without_target = true};
    RelnReader r = {.model = model, .ctx = reln_model_ctx(model)};
    RelnStatus status = reln_archive_from_arrays(r.ctx, "arrays", n, arrays, &r.archive);
    Wanted w = {.room = room, .out = out};

    if (status == RELN_OK)
        status = begin(&r, threads, &options);
    status = predict_and_close(&r, status, &w);
    *count = w.count;
    return status;
}

RelnStatus reln_predict(RelnModel *model, const char *data_path, int threads, RelnArray *out)
{
    RELN_NEED(model, RELN_ERR_ARG);
    RELN_NEED(data_path && out, reln_null(reln_model_ctx(model), __func__));

    int count;

    return reln_predict_targets(model, data_path, threads, 1, out, &count);
}

RelnStatus reln_predict_arrays(RelnModel *model, int n, const RelnArray *arrays, int threads,
                               RelnArray *out)
{
    RELN_NEED(model, RELN_ERR_ARG);
    RELN_NEED((arrays || n <= 0) && out, reln_null(reln_model_ctx(model), __func__));

    int count;

    return reln_predict_targets_arrays(model, n, arrays, threads, 1, out, &count);
}

/* ---- evaluation ----------------------------------------------------------------------------------------------------- */

static RelnStatus tally_file(RelnModel *model, const char *data_path, int threads, RelnTally *tally)
{
    RelnReader r;
    RelnStatus status = reln_reader_open(model, data_path, threads, NULL, &r);

    if (status == RELN_OK)
        status = reln_reader_check_edges(&r, reln_data_count(r.data), NULL);
    if (status == RELN_OK)
        reln_tally_init(tally, model, &r.layout);
    if (status == RELN_OK)
        status = reln_reader_tally(&r, reln_data_count(r.data), NULL, tally);
    if (status == RELN_OK)
        status = refuse_lost(&r, tally->lost, tally->first_lost, tally->n_samples);
    reln_reader_close(&r);
    return status;
}

RelnStatus reln_evaluate(RelnModel *model, const char *data_path, int threads, RelnMetrics *out)
{
    RELN_NEED(model, RELN_ERR_ARG);
    RELN_NEED(data_path && out, reln_null(reln_model_ctx(model), __func__));

    RelnTally tally;

    RELN_TRY(tally_file(model, data_path, threads, &tally));
    *out = reln_tally_metrics(&tally);
    return RELN_OK;
}

RelnStatus reln_evaluate_targets(RelnModel *model, const char *data_path, int threads,
                                 RelnMetrics *out)
{
    RELN_NEED(model, RELN_ERR_ARG);
    RELN_NEED(data_path && out, reln_null(reln_model_ctx(model), __func__));

    RelnTally tally;

    RELN_TRY(tally_file(model, data_path, threads, &tally));
    for (int t = 0; t < tally.n_targets; t++)
        out[t] = reln_target_metrics(&tally.target[t]);
    return RELN_OK;
}

static RelnStatus score_classes(RelnReader *r, int target, uint64_t seed, RelnScores *out)
{
    RelnJudged judged = {0};
    RelnStatus status = reln_reader_classes(r, target, reln_data_count(r->data), NULL, &judged);

    if (status == RELN_OK)
        status = reln_scores_of(&judged, seed, out);
    reln_judged_clear(&judged);
    return status;
}

RelnStatus reln_evaluate_classes_of(RelnModel *model, int target, const char *data_path,
                                    int threads, uint64_t seed, RelnScores *out)
{
    RelnReader r;
    RelnStatus status;

    *out = (RelnScores){0};
    status = reln_reader_open(model, data_path, threads, NULL, &r);
    if (status == RELN_OK)
        status = score_classes(&r, target, seed, out);
    reln_reader_close(&r);
    return status;
}

RelnStatus reln_evaluate_classes(RelnModel *model, const char *data_path, int threads,
                                 uint64_t seed, RelnScores *out)
{
    RELN_NEED(model, RELN_ERR_ARG);
    RELN_NEED(data_path && out, reln_null(reln_model_ctx(model), __func__));

    const RelnSpec *spec = reln_model_spec(model);

    *out = (RelnScores){0};
    for (int t = 0; t < spec->n_targets; t++)
        if (spec->target[t].as == RELN_TARGET_CLASS)
            return reln_evaluate_classes_of(model, t, data_path, threads, seed, out);
    return reln_fail(reln_model_ctx(model), RELN_ERR_ARG,
                     "target %s is a %s; scores are of a class", spec->target[0].name,
                     reln_target_text(spec->target[0].as));
}
