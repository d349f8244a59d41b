/* Tests the evaluation of a cross-validation: every number once more, from predictions of the runs. */
#include "fit/room.h"

#include "kit/folds.h"

enum { N = 16, FOLDS = 3, CHANNELS = WORLD_CHANNELS, SEED = 9 };

#define SPEC                                                                                       \
    "{symmetry: gl:2, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar, weight: "     \
    "3},%s"                                                                                        \
    " model: {width: 3, depth: 1, head: {hidden: 1}},"                                             \
    " train: {epochs: 2, batch: 4, validation: {folds: fold, fold: %d}}}"

typedef struct Cross {
    Room room;
    char folder[FOLDS][112];
    bool weighted; /* samples have weights */
    double fold[N], weight[N];
    double y[N][CHANNELS]; /* predictions by the run that has not seen the sample */
    double deviation[N];   /* of the targets of that run */
    const double *truth;   /* (N, CHANNELS) */
} Cross;

/* Folds of 3, 5 and 8 samples; weights are all 1, or from 0.5 to 2. */
static void give_folds(Cross *c)
{
    World *w = &c->room.world;
    double *fold = world_array(w, "fold", 1, (ptrdiff_t[]){N});

    for (int i = 0; i < N; i++)
        c->fold[i] = fold[i] = i % 5 == 1 ? 0 : i % 3 == 0 ? 1 : 2;
    if (c->weighted) {
        double *weight = world_array(w, "w", 1, (ptrdiff_t[]){N});

        for (int i = 0; i < N; i++)
            weight[i] = 0.5 * (1 + i % 4);
    }
    for (int i = 0; i < N; i++)
        c->weight[i] = c->weighted ? 0.5 * (1 + i % 4) : 1;
    assert_ok(w->ctx, reln_npz_save(w->ctx, c->room.data, w->n_arrays, w->arrays));
}

static void train_fold(Cross *c, int k)
{
    char spec[512];
    RelnFit *fit = NULL;
    RelnTrainEnd end;
    RelnCtx *ctx = c->room.world.ctx;

    snprintf(spec, sizeof spec, SPEC, c->weighted ? " weights: w," : "", k);
    room_write(c->room.spec, spec);
    snprintf(c->folder[k], sizeof c->folder[k], "%s/fold%d", c->room.folder, k);
    assert_ok(ctx,
              reln_fit_open(ctx, c->room.spec, c->room.data,
                            &(RelnFitOptions){.folder = c->folder[k], .no_check = true}, &fit));
    assert_ok(ctx, reln_fit_run(fit, &end));
    reln_fit_close(fit);
}

static void predict_fold(Cross *c, int k)
{
    RelnCtx *ctx = c->room.world.ctx;
    RelnModel *model = NULL;
    RelnArray y = {0};

    assert_ok(ctx, reln_model_load(ctx, c->folder[k], RELN_DEFAULT, &model));
    assert_ok(ctx, reln_predict(model, c->room.data, 1, &y));
    assert_int_equal(array_count(&y), N * CHANNELS);
    for (int i = 0; i < N; i++)
        if (c->fold[i] == k) {
            memcpy(c->y[i], (double *)y.values + i * CHANNELS, sizeof c->y[i]);
            c->deviation[i] = reln_model_constants(model)->target[0].deviation;
        }
    reln_array_clear(&y);
    reln_model_destroy(model);
}

static void cross_init(Cross *c, bool weighted)
{
    char spec[512];

    c->weighted = weighted;
    snprintf(spec, sizeof spec, SPEC, "", 0);
    room_init(&c->room, spec, N);
    give_folds(c);
    c->truth = world_find(&c->room.world, "y")->values;
    for (int k = 0; k < FOLDS; k++) {
        train_fold(c, k);
        predict_fold(c, k);
    }
}

static void cross_clear(Cross *c)
{
    for (int k = 0; k < FOLDS; k++)
        room_sweep(c->folder[k]);
    room_clear(&c->room);
}

/* Weighted means of the squares and sizes of the errors of n samples. */
static void errors_of(const Cross *c, int n, const int *samples, double *mse, double *mae)
{
    double weight = 0;

    *mse = *mae = 0;
    for (int i = 0; i < n; i++) {
        weight += c->weight[samples[i]];
        for (int k = 0; k < CHANNELS; k++) {
            const double r = c->y[samples[i]][k] - c->truth[samples[i] * CHANNELS + k];

            *mse += c->weight[samples[i]] * r * r / CHANNELS;
            *mae += c->weight[samples[i]] * fabs(r) / CHANNELS;
        }
    }
    *mse /= weight;
    *mae /= weight;
}

static void compare_folds(const Cross *c, const RelnFolds *f)
{
    double mse, mae;

    for (int k = 0; k < FOLDS; k++) {
        int samples[N], n = 0;

        for (int i = 0; i < N; i++)
            if (c->fold[i] == k)
                samples[n++] = i;
        errors_of(c, n, samples, &mse, &mae);
        assert_int_equal(f->fold[k].n_samples, n);
        assert_small(f->fold[k].mse / mse - 1, 1e-12);
        assert_small(f->fold[k].mae / mae - 1, 1e-12);
    }
}

/* The loss of a sample is in units of the run that has not seen it. */
static void compare_pool(const Cross *c, const RelnFolds *f)
{
    double mse, mae, loss = 0, weight = 0;
    int all[N];

    for (int i = 0; i < N; i++) {
        all[i] = i;
        weight += c->weight[i];
        for (int k = 0; k < CHANNELS; k++)
            loss += c->weight[i] *
                    pow((c->y[i][k] - c->truth[i * CHANNELS + k]) / c->deviation[i], 2) / CHANNELS;
    }
    errors_of(c, N, all, &mse, &mae);
    assert_int_equal(f->n_samples, N);
    assert_memory_equal(f->arrays[0].values, c->y, sizeof c->y);
    assert_small(f->pooled[0].mse / mse - 1, 1e-12);
    assert_small(f->pooled[0].mae / mae - 1, 1e-12);
    assert_small(f->pooled[0].loss * weight / loss - 1, 1e-12);
}

/* Deviations over draws of as many samples with replacement. */
static void compare_bootstrap(const Cross *c, const RelnFolds *f)
{
    double sum[2] = {0, 0}, square[2] = {0, 0}, now[2];

    assert_int_equal(f->draws, 200);
    for (int d = 1; d <= f->draws; d++) {
        RelnRng rng = reln_rng(SEED, (uint64_t)d);
        int drawn[N];

        for (int i = 0; i < N; i++)
            drawn[i] = (int)reln_rng_below(&rng, N);
        errors_of(c, N, drawn, &now[0], &now[1]);
        for (int m = 0; m < 2; m++) {
            sum[m] += now[m] / f->draws;
            square[m] += now[m] * now[m] / f->draws;
        }
    }
    assert_small(f->error[0].mse / sqrt(square[0] - sum[0] * sum[0]) - 1, 1e-9);
    assert_small(f->error[0].mae / sqrt(square[1] - sum[1] * sum[1]) - 1, 1e-9);
    assert_true(isnan(f->error[0].loss));
}

static void judge_samples(bool weighted)
{
    static RelnFolds folds;
    static Cross c;
    const char *const folders[] = {c.folder[0], c.folder[1], c.folder[2]};
    RelnCtx *ctx;

    cross_init(&c, weighted);
    ctx = c.room.world.ctx;
    assert_ok(ctx, reln_folds_pool(ctx, FOLDS, folders, c.room.data, 1, SEED, &folds));
    assert_int_equal(folds.n_folds, FOLDS);
    compare_folds(&c, &folds);
    compare_pool(&c, &folds);
    compare_bootstrap(&c, &folds);
    reln_folds_clear(&folds);
    cross_clear(&c);
}

static void samples_are_judged_by_the_run_that_has_not_seen_them(void **state)
{
    (void)state;
    judge_samples(false);
}

static void samples_of_folds_count_by_their_weights(void **state)
{
    (void)state;
    judge_samples(true);
}

/* A fold that is given twice, and one that is missing. */
static void every_sample_is_in_one_fold(void **state)
{
    static RelnFolds folds;
    static Cross c;
    const char *const twice[] = {c.folder[0], c.folder[1], c.folder[0]}, *const two[] = {
                                                                             c.folder[0],
                                                                             c.folder[2]};
    RelnCtx *ctx;

    (void)state;
    cross_init(&c, false);
    ctx = c.room.world.ctx;
    assert_int_equal(reln_folds_pool(ctx, 3, twice, c.room.data, 1, SEED, &folds), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(ctx), "sample 1 is in two folds"));
    reln_folds_clear(&folds);
    reln_ctx_clear(ctx);
    assert_int_equal(reln_folds_pool(ctx, 2, two, c.room.data, 1, SEED, &folds), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(ctx), "sample 0 is in no fold"));
    reln_folds_clear(&folds);
    cross_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_judged_by_the_run_that_has_not_seen_them),
        cmocka_unit_test(samples_of_folds_count_by_their_weights),
        cmocka_unit_test(every_sample_is_in_one_fold),
    };

    return cmocka_run_group_tests_name("fit/folds", tests, NULL, NULL);
}
