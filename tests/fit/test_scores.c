/* Compares scores of classifiers with those of scikit-learn 1.9.1 (accuracy_score, precision_score,
 * recall_score, f1_score, roc_auc_score, average_precision_score, confusion_matrix, calibration_curve), on
 * samples that this file draws as they were drawn for scikit-learn. */
#include <math.h>

#include "fit/fit.h"
#include "support/support.h"

enum { MOST = 200, MOST_CLASSES = 4 };

typedef struct Samples {
    double p[MOST * MOST_CLASSES];
    int label[MOST];
} Samples;

static double next(uint64_t *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*state >> 40) / 16777216.0;
}

/* Coarse numbers, so that many probabilities are equal. */
static void draw_two(uint64_t seed, ptrdiff_t n, Samples *s)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double p[2], q;

        s->label[i] = (int)(next(&seed) * 2);
        for (int k = 0; k < 2; k++)
            p[k] = 0.05 + floor(next(&seed) * 64) / 64 + (k == s->label[i] ? 0.4 : 0);
        q = fmin(1.0, p[1] / 1.5);
        s->p[2 * i] = 1 - q;
        s->p[2 * i + 1] = q;
    }
}

static void draw_four(uint64_t seed, ptrdiff_t n, Samples *s)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double *p = s->p + 4 * i, sum = 0;

        s->label[i] = (int)(next(&seed) * 4);
        for (int k = 0; k < 4; k++)
            sum += p[k] = 0.05 + floor(next(&seed) * 64) / 64 + (k == s->label[i] ? 0.4 : 0);
        for (int k = 0; k < 4; k++)
            p[k] /= sum;
    }
}

/* Sums of up to 200 numbers of size 1 in another order: each rounds by eps/2 of at most 200. */
static void near(double seen, double wanted)
{
    if (!(fabs(seen - wanted) <= 200 * 2.3e-16))
        fail_msg("%.17g, wanted %.17g", seen, wanted);
}

typedef struct Wanted {
    ptrdiff_t n;
    double precision, recall, f1, auc, average_precision;
} Wanted;

static void compare(const RelnClassScores *c, const Wanted *w)
{
    assert_int_equal(c->n_samples, w->n);
    near(c->precision.value, w->precision);
    near(c->recall.value, w->recall);
    near(c->f1.value, w->f1);
    near(c->auc.value, w->auc);
    near(c->average_precision.value, w->average_precision);
}

static void two_classes_have_the_scores_of_scikit_learn(void **state)
{
    static const Wanted wanted[] = {{101, 0.71962616822429903, 0.76237623762376239,
                                     0.74038461538461542, 0.84458445844584462, 0.86126987659223087},
                                    {99, 0.74193548387096775, 0.69696969696969702, 0.71875,
                                     0.84458445844584462, 0.85804142986889875}};
    static const ptrdiff_t confusion[] = {77, 24, 30, 69};
    RelnCtx *ctx = *state;
    Samples s = {0};
    RelnScores r;

    draw_two(1, 200, &s);
    assert_ok(ctx, reln_scores(ctx, 200, 2, s.p, s.label, 1, &r));
    near(r.accuracy.value, 0.73);
    near(r.f1.value, 0.7295673076923077);
    near(r.auc.value, 0.84458445844584462);
    near(r.average_precision.value, 0.85804142986889875);
    for (int k = 0; k < 2; k++)
        compare(&r.classes[k], &wanted[k]);
    for (int i = 0; i < 4; i++)
        assert_int_equal(r.confusion[i], confusion[i]);
    reln_scores_clear(&r);
}

static void four_classes_have_the_scores_of_scikit_learn(void **state)
{
    static const Wanted wanted[] = {{30, 0.70833333333333337, 0.56666666666666665,
                                     0.62962962962962965, 0.88055555555555554, 0.73398462545219867},
                                    {41, 0.81578947368421051, 0.75609756097560976,
                                     0.78481012658227844, 0.91273215484448422, 0.81194478839044804},
                                    {41, 0.69999999999999996, 0.85365853658536583,
                                     0.76923076923076927, 0.92056388453792792, 0.82160000204223638},
                                    {38, 0.68421052631578949, 0.68421052631578949,
                                     0.68421052631578949, 0.86231203007518797,
                                     0.70952541945223913}};
    static const ptrdiff_t confusion[] = {17, 5, 4, 4, 3, 31, 3, 4, 1, 1, 35, 4, 3, 1, 8, 26};
    RelnCtx *ctx = *state;
    Samples s = {0};
    RelnScores r;

    draw_four(2, 150, &s);
    assert_ok(ctx, reln_scores(ctx, 150, 4, s.p, s.label, 1, &r));
    near(r.accuracy.value, 0.7266666666666667);
    near(r.f1.value, 0.7169702629396166);
    near(r.auc.value, 0.89404090625328891);
    near(r.average_precision.value, 0.76926370883428064);
    for (int k = 0; k < 4; k++)
        compare(&r.classes[k], &wanted[k]);
    for (int i = 0; i < 16; i++)
        assert_int_equal(r.confusion[i], confusion[i]);
    reln_scores_clear(&r);
}

/* strategy="quantile", n_bins=10 */
static void calibration_has_the_bins_of_scikit_learn(void **state)
{
    static const double frequency[] = {0.1, 0.1, 0.15, 0.15, 0.15, 0.3, 0.7, 0.55, 0.85, 0.95};
    static const double mean[] = {0.072768855094909671, 0.20044056475162506, 0.28367821574211122,
                                  0.3747567296028137,   0.45395717024803162, 0.55684799849987032,
                                  0.64671838283538818,  0.72707490324974056, 0.83556001484394071,
                                  0.93534121811389925};
    RelnCtx *ctx = *state;
    uint64_t seed = 3;
    Samples s = {0};
    RelnScores r;

    for (int i = 0; i < 200; i++) {
        s.p[2 * i + 1] = next(&seed);
        s.p[2 * i] = 1 - s.p[2 * i + 1];
    }
    for (int i = 0; i < 200; i++)
        s.label[i] = next(&seed) < pow(s.p[2 * i + 1], 1.5);
    assert_ok(ctx, reln_scores(ctx, 200, 2, s.p, s.label, 1, &r));
    for (int b = 0; b < RELN_SCORE_BINS; b++) {
        near(r.bins[b].weight, 20);
        near(r.bins[b].confidence, mean[b]);
        near(r.bins[b].frequency, frequency[b]);
    }
    near(r.calibration_error.value, 0.13063671112060543);
    reln_scores_clear(&r);
}

/* The error of a share a of n samples is sqrt(a (1 - a) / n). An estimate from 200 draws deviates from it by
 * 1/20 on average, so six of these deviations are not exceeded. The result depends on the seed alone. */
static void errors_are_those_of_the_bootstrap(void **state)
{
    RelnCtx *ctx = *state;
    const double share = sqrt(0.73 * 0.27 / 200);
    Samples s = {0};
    RelnScores a, b, c;

    draw_two(1, 200, &s);
    assert_ok(ctx, reln_scores(ctx, 200, 2, s.p, s.label, 7, &a));
    assert_ok(ctx, reln_scores(ctx, 200, 2, s.p, s.label, 7, &b));
    assert_ok(ctx, reln_scores(ctx, 200, 2, s.p, s.label, 8, &c));
    assert_int_equal(a.draws, 200);
    assert_int_equal((int)a.seed, 7);
    assert_true(fabs(a.accuracy.error - share) < 6 * share / 20);
    assert_true(a.auc.error > 0 && a.auc.error < 0.1);
    assert_true(a.auc.error == b.auc.error && a.auc.error != c.auc.error);
    reln_scores_clear(&a);
    reln_scores_clear(&b);
    reln_scores_clear(&c);
}

/* Repeats the bootstrap draw by draw: as many samples with replacement, and the sample deviation of their
 * accuracies. */
static void errors_are_deviations_over_draws(void **state)
{
    enum { MANY = 60, DRAWS = 200 };
    RelnCtx *ctx = *state;
    RelnRng rng = reln_rng(7, 0x626f6f74);
    double value[DRAWS], mean = 0, square = 0;
    Samples s = {0};
    RelnScores r;

    draw_two(1, MANY, &s);
    assert_ok(ctx, reln_scores(ctx, MANY, 2, s.p, s.label, 7, &r));
    assert_int_equal(r.draws, DRAWS);
    for (int d = 0; d < DRAWS; d++) {
        int right = 0;

        for (int i = 0; i < MANY; i++) {
            const int k = (int)reln_rng_below(&rng, MANY);

            right += (s.p[2 * k + 1] > s.p[2 * k]) == s.label[k];
        }
        value[d] = (double)right / MANY;
        mean += value[d] / DRAWS;
    }
    for (int d = 0; d < DRAWS; d++)
        square += pow(value[d] - mean, 2) / (DRAWS - 1);
    assert_true(fabs(r.accuracy.error - sqrt(square)) < 1e-12);
    reln_scores_clear(&r);
}

/* Each bin has a tenth of the weight; a sample belongs to the bin that contains its middle. */
static void bins_have_tenths_of_the_weight(void **state)
{
    enum { MANY = 23 };
    RelnCtx *ctx = *state;
    double p[2 * MANY], weight[MANY], all = 0, before = 0, error = 0;
    double sum[10] = {0}, confidence[10] = {0}, frequency[10] = {0};
    int label[MANY];
    RelnScores r;

    for (int i = 0; i < MANY; i++) { /* by rising probability of class 1 */
        p[2 * i + 1] = (i + 1.0) / (MANY + 2);
        p[2 * i] = 1 - p[2 * i + 1];
        label[i] = i * 7 % 5 < 2;
        weight[i] = 0.25 + i % 4;
        all += weight[i];
    }
    for (int i = 0; i < MANY; before += weight[i++]) {
        const int b = (int)(10 * (before + weight[i] / 2) / all);

        sum[b] += weight[i];
        confidence[b] += weight[i] * p[2 * i + 1];
        frequency[b] += weight[i] * label[i];
    }
    assert_ok(ctx, reln_scores_weighted(ctx, MANY, 2, p, label, weight, 1, &r));
    for (int b = 0; b < 10; b++) {
        error += fabs(frequency[b] - confidence[b]) / all;
        near(r.bins[b].weight, sum[b]);
        near(r.bins[b].confidence, confidence[b] / sum[b]);
        near(r.bins[b].frequency, frequency[b] / sum[b]);
    }
    near(r.calibration_error.value, error);
    reln_scores_clear(&r);
}

static void a_class_without_samples_has_no_area(void **state)
{
    static const double p[] = {0.5, 0.3, 0.2, 0.1, 0.8, 0.1, 0.6, 0.2, 0.2};
    static const int label[] = {0, 1, 0};
    RelnCtx *ctx = *state;
    RelnScores r;

    assert_ok(ctx, reln_scores(ctx, 3, 3, p, label, 1, &r));
    assert_true(isnan(r.classes[2].auc.value));
    near(r.auc.value, 1);
    near(r.accuracy.value, 1);
    reln_scores_clear(&r);
    assert_int_equal(reln_scores(ctx, 3, 3, p, (const int[]){0, 3, 0}, 1, &r), RELN_ERR_ARG);
    assert_string_equal(reln_ctx_error(ctx), "scores: sample 1 is of class 3; wanted 0 to 2");
}

/* Samples of both classes with one probability, and weights: the area is the share of the weight of pairs in the right order,
 * ties counted half, and the curve has it, too. */
static void ties_count_half_and_weights_count(void **state)
{
    enum { N = 24 };
    RelnCtx *ctx = *state;
    double weight[N], right = 0, all = 0, x[64], y[64], area = 0;
    uint64_t seed = 7;
    Samples s = {0};
    RelnScores r;
    int n;

    for (int i = 0; i < N; i++) {
        s.label[i] = next(&seed) < 0.4;
        s.p[2 * i + 1] = floor(next(&seed) * 4) / 4 + 0.1 * s.label[i] * (i % 2);
        s.p[2 * i] = 1 - s.p[2 * i + 1];
        weight[i] = 1 + floor(next(&seed) * 3);
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            if (s.label[i] == 1 && s.label[j] == 0) {
                const double a = s.p[2 * i + 1], b = s.p[2 * j + 1];

                right += weight[i] * weight[j] * (a > b ? 1 : a == b ? 0.5 : 0);
                all += weight[i] * weight[j];
            }
    assert_ok(ctx, reln_scores_weighted(ctx, N, 2, s.p, s.label, weight, 1, &r));
    near(r.classes[1].auc.value, right / all);
    reln_scores_clear(&r);
    assert_ok(
        ctx,
        reln_roc(
            &(RelnJudged){
                .ctx = ctx, .n = N, .classes = 2, .p = s.p, .label = s.label, .weight = weight},
            1, 64, x, y, &n));
    for (int i = 1; i < n; i++)
        area += (x[i - 1] - x[i]) * (y[i - 1] + y[i]) / 2;
    assert_true(fabs(area - right / all) < 2.5 / 64);
    assert_true(x[0] == 1 && y[0] == 1 && x[n - 1] == 0 && y[n - 1] == 0);
}

/* The area under the drawn curve is the reported area, up to the points that are left out. */
static void the_curve_has_the_area(void **state)
{
    RelnCtx *ctx = *state;
    double x[300], y[300], weight[200], area = 0;
    Samples s = {0};
    int n = 0;

    draw_two(1, 200, &s);
    for (int i = 0; i < 200; i++)
        weight[i] = 1;
    assert_ok(
        ctx,
        reln_roc(
            &(RelnJudged){
                .ctx = ctx, .n = 200, .classes = 2, .p = s.p, .label = s.label, .weight = weight},
            1, 300, x, y, &n));
    assert_true(n > 10 && x[0] == 1 && y[0] == 1 && x[n - 1] == 0 && y[n - 1] == 0);
    /* up to five samples have one probability, each a hundredth of its class */
    for (int i = 1; i + 1 < n; i++)
        assert_true(x[i - 1] - x[i] + y[i - 1] - y[i] < 0.06);
    for (int i = 1; i < n; i++)
        area += (x[i - 1] - x[i]) * (y[i - 1] + y[i]) / 2;
    assert_true(fabs(area - 0.84458445844584462) < 2.5 / 300);
}

/* Of 4000 different probabilities the curve keeps points that lie apart, up to its end. */
static void long_curves_keep_points_that_lie_apart(void **state)
{
    enum { N = 4000, ROOM = 100 };
    static double p[2 * N], weight[N];
    static int label[N];
    double x[ROOM], y[ROOM], area = 0;
    int n = 0;

    for (int i = 0; i < N; i++) { /* one in four, equally among all: the area is a half */
        p[2 * i + 1] = (i + 0.5) / N;
        p[2 * i] = 1 - p[2 * i + 1];
        label[i] = i % 4 == 2;
        weight[i] = 1;
    }
    assert_ok(
        *state,
        reln_roc(
            &(RelnJudged){
                .ctx = *state, .n = N, .classes = 2, .p = p, .label = label, .weight = weight},
            1, ROOM, x, y, &n));
    assert_true(n > ROOM / 2 && n <= ROOM);
    assert_true(x[0] == 1 && y[0] == 1 && x[n - 1] == 0 && y[n - 1] == 0);
    for (int i = 1; i + 1 < n; i++)
        assert_true(x[i - 1] - x[i] + y[i - 1] - y[i] > 2.5 / ROOM);
    for (int i = 1; i < n; i++)
        area += (x[i - 1] - x[i]) * (y[i - 1] + y[i]) / 2;
    assert_true(fabs(area - 0.5) < 2.5 / ROOM);
}

static int make(void **state)
{
    RelnCtx *ctx = NULL;

    if (reln_ctx_create(NULL, &ctx) != RELN_OK)
        return 1;
    *state = ctx;
    return 0;
}

static int end(void **state)
{
    reln_ctx_destroy(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_classes_have_the_scores_of_scikit_learn),
        cmocka_unit_test(four_classes_have_the_scores_of_scikit_learn),
        cmocka_unit_test(calibration_has_the_bins_of_scikit_learn),
        cmocka_unit_test(errors_are_those_of_the_bootstrap),
        cmocka_unit_test(errors_are_deviations_over_draws),
        cmocka_unit_test(bins_have_tenths_of_the_weight),
        cmocka_unit_test(a_class_without_samples_has_no_area),
        cmocka_unit_test(the_curve_has_the_area),
        cmocka_unit_test(long_curves_keep_points_that_lie_apart),
        cmocka_unit_test(ties_count_half_and_weights_count),
    };

    return cmocka_run_group_tests(tests, make, end);
}
