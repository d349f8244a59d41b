/* Tests errors of predictions against their formulas, on random predictions and targets without a network.
 * One sample has weight 0 and does not count. */
#include "fit/fit.h"
#include "kit/metrics.h"
#include "kit/report.h"
#include "model/world.h"

enum { N = 40 };
#define SMALL " model: {width: 2, depth: 1}, train: {dtype: f64}}"
#define SUMS 1e-12

typedef struct Drawn {
    World w;
    RelnTally tally;
    RelnLayout layout;
    double *y, *truth, *losses,
        *weights; /* one weight for each target's places, which are one here */
} Drawn;

static double weight_at(int i)
{
    return i == 7 ? 0 : 0.5 + i % 3;
}

static void draw(Drawn *d, const char *yaml)
{
    RelnRng rng = reln_rng(41, 2);

    if (world_init(&d->w, NULL, yaml, 4) != RELN_OK)
        fail_msg("%s", reln_ctx_error(d->w.ctx));
    assert_ok(d->w.ctx, world_model(&d->w));
    d->layout = reln_model_layout_at(d->w.model, 1, 0);
    reln_tally_init(&d->tally, d->w.model, &d->layout);
    d->y = malloc((size_t)(N * d->layout.outputs) * sizeof(double));
    d->truth = malloc((size_t)(N * d->layout.truths) * sizeof(double));
    d->losses = calloc((size_t)(N * d->layout.losses), sizeof(double));
    d->weights = malloc((size_t)(N * d->layout.losses) * sizeof(double));
    assert_true(d->y && d->truth && d->losses && d->weights);
    fill_normal(&rng, N * d->layout.outputs, d->y);
    fill_normal(&rng, N * d->layout.truths, d->truth);
    for (ptrdiff_t i = 0; i < N * d->layout.losses; i++) {
        d->weights[i] = weight_at((int)(i / d->layout.losses));
        d->losses[i] = 0.25 * (double)(i % 5);
    }
}

/* In two batches. */
static RelnMetrics add_up(Drawn *d)
{
    const RelnLayout *l = &d->layout;

    reln_tally_add(&d->tally, 15, d->y, d->truth, d->losses, d->weights);
    reln_tally_add(&d->tally, N - 15, d->y + 15 * l->outputs, d->truth + 15 * l->truths,
                   d->losses + 15 * l->losses, d->weights + 15 * l->losses);
    return reln_tally_metrics(&d->tally);
}

static void drop(Drawn *d)
{
    free(d->y);
    free(d->truth);
    free(d->losses);
    free(d->weights);
    world_clear(&d->w);
}

#define INPUT "{symmetry: so:3, inputs: [{name: v, as: vector}], "

/* ---- classes --------------------------------------------------------------------------------------------------------- */

/* The loss is the mean of w_t (log sum exp(y) - (1 - s) y_t - s mean(y)); the accuracy does not depend on
 * weights of classes. */
static void classes_have_entropies_and_right_answers(void **state)
{
    static const double of_class[] = {1, 2, 0.5};
    double loss = 0, weight = 0, right = 0, all = 0;
    RelnMetrics m;
    Drawn d;

    (void)state;
    draw(&d, INPUT "target: {name: y, as: class, classes: 3, weights: [1, 2, 0.5]},"
                   " model: {width: 2, depth: 1}, train: {dtype: f64, smoothing: 0.1}}");
    for (int i = 0; i < N; i++) {
        const double *y = d.y + 3 * i, own = weight_at(i);
        const double w = own * of_class[i % 3], sum = exp(y[0]) + exp(y[1]) + exp(y[2]);

        d.truth[i] = i % 3;
        loss += w * (log(sum) - 0.9 * y[i % 3] - 0.1 * (y[0] + y[1] + y[2]) / 3);
        weight += w;
        right += own * (y[i % 3] > y[(i + 1) % 3] && y[i % 3] > y[(i + 2) % 3]);
        all += own;
    }
    m = add_up(&d);
    assert_int_equal(m.n_samples, N - 1);
    assert_small(m.loss - loss / weight, SUMS);
    assert_small(m.accuracy - right / all, SUMS);
    assert_true(isnan(m.mse) && isnan(m.nll) && isnan(m.distance));
    drop(&d);
}

/* ---- numbers --------------------------------------------------------------------------------------------------------- */

static double huber(double r)
{
    return fabs(r) < 0.7 ? r * r / 2 : 0.7 * (fabs(r) - 0.35);
}

static void numbers_have_squares_and_distances(void **state)
{
    double loss = 0, square = 0, absolute = 0, mean = 0, variance = 0, all = 0;
    RelnMetrics m;
    Drawn d;

    (void)state;
    draw(&d, INPUT "target: {name: y, as: scalar}, model: {width: 2, depth: 1},"
                   " train: {dtype: f64, loss: huber, delta: 0.7}}");
    for (int i = 0; i < N * WORLD_CHANNELS; i++) {
        const double w = weight_at(i / WORLD_CHANNELS), r = d.y[i] - d.truth[i];

        loss += w * huber(r);
        square += w * r * r;
        absolute += w * fabs(r);
        mean += w * d.truth[i];
        all += w;
    }
    for (int i = 0; i < N * WORLD_CHANNELS; i++)
        variance += weight_at(i / WORLD_CHANNELS) * pow(d.truth[i] - mean / all, 2);
    m = add_up(&d);
    assert_small(m.loss - loss / all, SUMS);
    assert_small(m.mse - square / all, SUMS);
    assert_small(m.mae - absolute / all, SUMS);
    assert_small(m.r2 - (1 - square / variance), SUMS);
    assert_true(isnan(m.accuracy));
    drop(&d);
}

/* The quantile nearest to the median is the prediction; for each quantile, the share of true values up to it
 * is counted. */
static void quantiles_have_shares_below(void **state)
{
    static const double at[] = {0.2, 0.6, 0.9};
    double square = 0, all = 0, below[3] = {0}, off = 0;
    RelnMetrics m;
    Drawn d;

    (void)state;
    draw(&d,
         INPUT "target: {name: y, as: scalar, loss: quantiles, quantiles: [0.2, 0.6, 0.9]}," SMALL);
    for (int i = 0; i < N * WORLD_CHANNELS; i++) {
        const double w = weight_at(i / WORLD_CHANNELS);

        square += w * pow(d.y[3 * i + 1] - d.truth[i], 2);
        for (int q = 0; q < 3; q++)
            below[q] += w * (d.truth[i] <= d.y[3 * i + q]);
        all += w;
    }
    m = add_up(&d);
    assert_small(m.mse - square / all, SUMS);
    assert_int_equal(m.n_quantiles, 3);
    for (int q = 0; q < 3; q++) {
        assert_small(m.below[q] - below[q] / all, SUMS);
        assert_true(m.quantile[q] == at[q]);
        off += fabs(below[q] / all - at[q]) / 3;
    }
    assert_small(m.calibration_error - off, SUMS);
    drop(&d);
}

/* ---- densities ------------------------------------------------------------------------------------------------------- */

/* Shares of chi-square distributions that have closed forms. */
static double below(int k, double z)
{
    const double half = exp(-z / 2), pi = 3.14159265358979323846;

    return k == 1   ? erf(sqrt(z / 2))
           : k == 2 ? 1 - half
           : k == 3 ? erf(sqrt(z / 2)) - sqrt(2 * z / pi) * half
           : k == 4 ? 1 - half * (1 + z / 2)
                    : 1 - half * (1 + z / 2 + z * z / 8); /* 6 */
}

static void chi_square_has_its_closed_forms(void **state)
{
    (void)state;
    for (int k = 1; k <= 6; k += k == 4 ? 2 : 1)
        for (double z = 1e-3; z < 300; z *= 1.3)
            assert_small(reln_chi_square_below(k, z) - below(k, z), 1e-14);
    assert_true(reln_chi_square_below(3, 0) == 0);
}

/* e^T S^-1 e and log det S of a 3 x 3 matrix, by cofactors. */
static void mahalanobis(const double *s, const double *e, double *square, double *log_det)
{
    double c[9], det = 0;

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int a = (i + 1) % 3, b = (i + 2) % 3, f = (j + 1) % 3, g = (j + 2) % 3;

            c[3 * i + j] = s[3 * a + f] * s[3 * b + g] - s[3 * a + g] * s[3 * b + f];
        }
    for (int j = 0; j < 3; j++)
        det += s[j] * c[j];
    *square = 0;
    for (int i = 0; i < 9; i++)
        *square += e[i / 3] * c[i] / det * e[i % 3];
    *log_det = log(det);
}

/* Minus the log-likelihood, e^T S^-1 e / k, and the shares of truths within the tenths of the density. */
static void check_densities(bool matrix)
{
    const int each = 3 * WORLD_CHANNELS + (matrix ? 9 : 1) * WORLD_CHANNELS;
    double nll = 0, nees = 0, within[10] = {0}, all = 0, off = 0;
    RelnRng rng = reln_rng(8, 8);
    RelnMetrics m;
    Drawn d;

    draw(&d, matrix ? INPUT
                 "target: {name: y, as: vector, loss: gaussian, variance: covariance}," SMALL
                    : INPUT "target: {name: y, as: vector, loss: gaussian}," SMALL);
    assert_int_equal(d.layout.outputs, each);
    for (int i = 0; i < N * WORLD_CHANNELS; i++) {
        const int sample = i / WORLD_CHANNELS, c = i % WORLD_CHANNELS;
        double *y = d.y + sample * each + 3 * c, *s = d.y + sample * each + 3 * WORLD_CHANNELS;
        const double *t = d.truth + 3 * i, w = weight_at(sample);
        const double e[3] = {y[0] - t[0], y[1] - t[1], y[2] - t[2]};
        double square, log_det, level;

        if (matrix) {
            s += 9 * c;
            random_covariance(&rng, 3, s);
            mahalanobis(s, e, &square, &log_det);
        } else {
            s += c;
            *s = 0.3 + 3 * reln_rng_uniform(&rng);
            square = (e[0] * e[0] + e[1] * e[1] + e[2] * e[2]) / *s;
            log_det = 3 * log(*s);
        }
        level = below(3, square);
        nll += w * (square + log_det + 3 * log(2 * 3.14159265358979323846)) / 2;
        nees += w * square / 3;
        for (int b = 0; b < 10; b++)
            within[b] += w * (level <= (b + 1) / 10.0);
        all += w;
    }
    m = add_up(&d);
    assert_small(m.nll - nll / all, 1e-11);
    assert_small(m.nees - nees / all, 1e-11);
    assert_small(m.coverage - within[8] / all, SUMS); /* of nine tenths */
    for (int b = 0; b < 9; b++)
        off += fabs(within[b] / all - (b + 1) / 10.0) / 9;
    assert_small(m.calibration_error - off, SUMS);
    drop(&d);
}

static void densities_have_likelihoods_and_coverage(void **state)
{
    (void)state;
    check_densities(false);
    check_densities(true);
}

/* ---- covariances ----------------------------------------------------------------------------------------------------- */

/* The root of the mean of sums of squared logarithms of the eigenvalues of S^-1 T. */
static void covariances_have_distances(void **state)
{
    RelnRng rng = reln_rng(6, 6);
    double sum = 0, all = 0;
    RelnMetrics m;
    Drawn d;

    (void)state;
    draw(&d, "{symmetry: o:2, inputs: [{name: v, as: vector}], target: {name: y, as: "
             "covariance}," SMALL);
    for (int i = 0; i < N * WORLD_CHANNELS; i++) {
        double *s = d.y + 4 * i, *t = d.truth + 4 * i;
        double a, b, c, e, det, root;

        random_covariance(&rng, 2, s);
        random_covariance(&rng, 2, t);
        det = s[0] * s[3] - s[1] * s[2];
        a = (s[3] * t[0] - s[1] * t[2]) / det, b = (s[3] * t[1] - s[1] * t[3]) / det;
        c = (s[0] * t[2] - s[2] * t[0]) / det, e = (s[0] * t[3] - s[2] * t[1]) / det;
        root = sqrt((a - e) * (a - e) / 4 + b * c);
        sum += weight_at(i / WORLD_CHANNELS) *
               (pow(log((a + e) / 2 + root), 2) + pow(log((a + e) / 2 - root), 2));
        all += weight_at(i / WORLD_CHANNELS);
    }
    m = add_up(&d);
    assert_small(m.distance - sqrt(sum / all), 1e-10);
    drop(&d);
}

/* ---- together -------------------------------------------------------------------------------------------------------- */

/* Losses of several targets are added with the weights of the SPEC; samples that are not finite are counted,
 * and the first is named. */
static void losses_of_targets_are_added(void **state)
{
    double a = 0, b = 0, all = 0;
    RelnMetrics m;
    Drawn d;

    (void)state;
    draw(&d, INPUT
         "targets: [{name: y, as: scalar, weight: 3}, {name: z, as: vector, weight: 0.5}]," SMALL);
    for (int i = 0; i < N; i++) {
        const double *y = d.y + 8 * i, *t = d.truth + 8 * i, w = weight_at(i);

        for (int k = 0; k < 2; k++)
            a += w * pow(y[k] - t[k], 2) / 2;
        for (int k = 2; k < 8; k++)
            b += w * pow(y[k] - t[k], 2) / 6;
        all += w;
    }
    m = add_up(&d);
    assert_int_equal(d.layout.outputs, 8);
    if (!d.tally.target[0].graph_loss && !d.tally.target[1].graph_loss)
        assert_small(m.loss - (3 * a + 0.5 * b) / all, SUMS);
    assert_int_equal(d.tally.lost, 0);
    reln_tally_init(&d.tally, d.w.model, &d.layout);
    d.y[8 * 22 + 5] = (double)INFINITY;
    d.y[8 * 30] = (double)NAN;
    (void)add_up(&d);
    assert_int_equal(d.tally.lost, 2);
    assert_int_equal(d.tally.first_lost, 22);
    drop(&d);
}

/* ---- tables --------------------------------------------------------------------------------------------------------------- */

static void assert_table(RelnCtx *ctx, int n, const RelnMetricRows *rows, int n_targets,
                         const char *wanted)
{
    static const char *const names[] = {"y", "z"};
    RelnTable *table = NULL;
    const char *text;
    size_t size;

    assert_ok(ctx, reln_table_create(ctx, &table));
    reln_metrics_table(n, rows, n_targets, names, table);
    assert_ok(ctx, reln_table_write(table, RELN_TABLE_MARKDOWN, &text, &size));
    assert_string_equal(text, wanted);
    reln_table_destroy(table);
}

/* The loss has a column always, and another metric if a row that is shown has it. */
static void a_table_of_errors_has_the_columns_that_its_rows_need(void **state)
{
    RelnMetrics none = reln_no_metrics(5, (double)NAN), some = reln_no_metrics(6, 0.25),
                empty = reln_no_metrics(0, 1), each[2];
    const RelnMetricRows rows[] = {{"train", &none, NULL}, {"test", &some, NULL}},
                         hidden[] = {{"train", &none, NULL}, {"test", &empty, NULL}},
                         several[] = {{"test", &some, each}};
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    some.mae = 0.5;
    empty.mse = 2;
    each[0] = each[1] = reln_no_metrics(6, 0.125);
    each[1].accuracy = 0.75;
    assert_table(ctx, 1, rows, 0,
                 "| data  | samples | loss |\n"
                 "| ----- | ------: | ---: |\n"
                 "| train |       5 |      |\n");
    assert_table(ctx, 2, rows, 0,
                 "| data  | samples |   loss |    MAE |\n"
                 "| ----- | ------: | -----: | -----: |\n"
                 "| train |       5 |        |        |\n"
                 "| test  |       6 | 0.2500 | 0.5000 |\n");
    assert_table(ctx, 2, hidden, 0,
                 "| data  | samples | loss |\n"
                 "| ----- | ------: | ---: |\n"
                 "| train |       5 |      |\n");
    assert_table(ctx, 1, several, 2,
                 "| data | target | samples |   loss |    MAE | accuracy |\n"
                 "| ---- | ------ | ------: | -----: | -----: | -------: |\n"
                 "| test | all    |       6 | 0.2500 | 0.5000 |          |\n"
                 "| test | y      |       6 | 0.1250 |        |          |\n"
                 "| test | z      |       6 | 0.1250 |        |   0.7500 |\n");
    reln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_have_entropies_and_right_answers),
        cmocka_unit_test(numbers_have_squares_and_distances),
        cmocka_unit_test(quantiles_have_shares_below),
        cmocka_unit_test(chi_square_has_its_closed_forms),
        cmocka_unit_test(densities_have_likelihoods_and_coverage),
        cmocka_unit_test(covariances_have_distances),
        cmocka_unit_test(losses_of_targets_are_added),
        cmocka_unit_test(a_table_of_errors_has_the_columns_that_its_rows_need),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
