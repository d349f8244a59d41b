/* metrics.c -- errors of predictions, summed over batches in double precision. */
#include <math.h>
#include <string.h>

#include "fit/fit.h"
#include "tensor/linalg.h"

void reln_target_tally_init(RelnTargetTally *t, const RelnModel *model, const RelnLayout *layout,
                            int target)
{
    const RelnSpec *spec = reln_model_spec(model);
    const RelnTargetConstants *c = &reln_model_constants(model)->target[target];

    *t = (RelnTargetTally){.ctx = reln_model_ctx(model),
                           .target = &spec->target[target],
                           .loss_of = reln_spec_loss(spec, target),
                           .layout = layout->target[target],
                           .n = reln_model_n(model),
                           .graph_loss = reln_model_graph_loss(model, target),
                           .mean = c->mean,
                           .deviation = c->deviation};
}

void reln_tally_init(RelnTally *tally, const RelnModel *model, const RelnLayout *layout)
{
    *tally = (RelnTally){.n_targets = reln_model_spec(model)->n_targets, .layout = *layout};
    for (int t = 0; t < tally->n_targets; t++)
        reln_target_tally_init(&tally->target[t], model, layout, t);
}

/* ---- classes ---------------------------------------------------------------------------------------------------------- */

/* w_t (log sum exp(y) - (1 - s) y_t - s mean(y)) with smoothing s, and whether the largest is the right one. */
static void add_class(RelnTargetTally *t, const double *y, int label, double own)
{
    const ptrdiff_t classes = t->layout.value;
    const double weight = own * (t->loss_of.n_weights ? t->loss_of.weights[label] : 1);
    double top = y[0], sum = 0, mean = 0;
    int best = 0;

    for (int i = 1; i < classes; i++)
        if (y[i] > top) {
            top = y[i];
            best = i;
        }
    for (int i = 0; i < classes; i++) {
        sum += exp(y[i] - top);
        mean += y[i] / (double)classes;
    }
    t->loss += weight * (log(sum) + top - y[label]);
    if (t->loss_of.smoothing > 0)
        t->loss += weight * t->loss_of.smoothing * (y[label] - mean);
    t->weight += weight;
    t->right += best == label ? own : 0;
    t->counted += own;
}

/* ---- numbers ---------------------------------------------------------------------------------------------------------- */

static double penalty(const RelnLoss *loss, double r)
{
    const double delta = loss->delta > 0 ? loss->delta : 1;

    switch (loss->kind) {
    case RELN_LOSS_MAE:
        return fabs(r);
    case RELN_LOSS_HUBER:
        return fabs(r) <= delta ? r * r / 2 : delta * (fabs(r) - delta / 2);
    default:
        return r * r;
    }
}

static void add_error(RelnTargetTally *t, double y, double truth, double weight)
{
    const double r = y - truth;

    t->square += weight * r * r;
    t->absolute += weight * fabs(r);
    t->sum += weight * (truth - t->mean_of_truth);
    t->sum_square += weight * (truth - t->mean_of_truth) * (truth - t->mean_of_truth);
    t->numbers += weight;
}

static void add_numbers(RelnTargetTally *t, const double *y, const double *truth, double weight)
{
    double loss = 0;

    for (ptrdiff_t i = 0; i < t->layout.value; i++) {
        loss += penalty(&t->loss_of, (y[i] - truth[i]) / t->deviation);
        add_error(t, y[i], truth[i], weight);
    }
    if (!t->graph_loss)
        t->loss += weight * loss / (double)t->layout.value;
    t->weight += weight;
}

/* Adds the errors of quantiles: the quantile nearest to the median is the prediction of a number, and for
 * each quantile the share of true values below it is counted. */
static void add_quantiles(RelnTargetTally *t, const double *y, const double *truth, double weight)
{
    const int q = reln_spec_quantiles(t->target);
    int middle = 0;

    for (int i = 1; i < q; i++)
        if (fabs(t->target->quantiles[i] - 0.5) < fabs(t->target->quantiles[middle] - 0.5))
            middle = i;
    for (ptrdiff_t c = 0; c < t->layout.truth; c++) {
        add_error(t, y[c * q + middle], truth[c], weight);
        for (int i = 0; i < q; i++)
            t->below[i] += truth[c] <= y[c * q + i] ? weight : 0;
    }
    t->weight += weight;
}

/* ---- normal densities ---------------------------------------------------------------------------------------------------- */

/* Returns the share of a chi-square distribution with k degrees of freedom below z: the incomplete gamma
 * function P(k/2, z/2), by its series if z is small, and by a continued fraction (Lentz) of 1 - P if z is
 * large. */
double reln_chi_square_below(double k, double z)
{
    const double a = k / 2, x = z / 2;
    const double factor = x > 0 ? exp(a * log(x) - x - lgamma(a)) : 0;
    double sum, term, b, c, d, h;

    if (!(x > 0))
        return 0;
    if (x < a + 1) {
        sum = term = 1 / a;
        for (int i = 1; i < 10000 && term > sum * 1e-17; i++)
            sum += term *= x / (a + i);
        return factor * sum;
    }
    b = x + 1 - a;
    c = 1e300;
    d = h = 1 / b;
    for (int i = 1; i < 10000; i++) {
        const double step = -i * (i - a);

        b += 2;
        d = 1 / (step * d + b);
        c = b + step / c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return 1 - factor * h;
}

/* Computes e^T S^-1 e and log det S from the Cholesky factor of S; false when S is not positive definite. */
static bool whiten(const RelnTargetTally *t, const double *e, const double *s, double *square,
                   double *log_det)
{
    const int n = t->n;
    double l[RELN_ALGEBRA_MAX_N * RELN_ALGEBRA_MAX_N], w[RELN_ALGEBRA_MAX_N];

    *square = *log_det = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = (s[i * n + j] + s[j * n + i]) / 2;

            for (int k = 0; k < j; k++)
                sum -= l[i * n + k] * l[j * n + k];
            if (i == j && !(sum > 0))
                return false;
            l[i * n + j] = i == j ? sqrt(sum) : sum / l[j * n + j];
        }
        w[i] = e[i];
        for (int k = 0; k < i; k++)
            w[i] -= l[i * n + k] * w[k];
        w[i] /= l[i * n + i];
        *square += w[i] * w[i];
        *log_det += 2 * log(l[i * n + i]);
    }
    return true;
}

/* Adds one value of k numbers with error e and variance (one number, or a covariance). */
static void add_density(RelnTargetTally *t, int k, const double *e, bool matrix,
                        const double *variance, double weight)
{
    const double two_pi = 6.283185307179586;
    double square = 0, log_det = k * log(variance[0]), level;

    for (int i = 0; i < k; i++)
        square += e[i] * e[i] / variance[0];
    if (matrix && !whiten(t, e, variance, &square, &log_det))
        square = log_det = (double)NAN;
    level = reln_chi_square_below(k, square);
    t->nll += weight * (square + log_det + k * log(two_pi)) / 2;
    t->nees += weight * square / k;
    for (int i = 0; i < RELN_SCORE_BINS; i++)
        t->within[i] += level <= (i + 1) / (double)RELN_SCORE_BINS ? weight : 0;
    t->things += weight;
}

static void add_densities(RelnTargetTally *t, const double *y, const double *truth, double weight)
{
    const int k = t->layout.size;
    const bool matrix = t->target->variance == RELN_VARIANCE_COVARIANCE;
    double e[RELN_ALGEBRA_MAX_N * RELN_ALGEBRA_MAX_N];

    for (ptrdiff_t c = 0; c < t->layout.channels; c++) {
        const double *variance = y + t->layout.value + c * (matrix ? (ptrdiff_t)t->n * t->n : 1);

        for (int i = 0; i < k; i++)
            e[i] = y[c * k + i] - truth[c * k + i];
        add_density(t, k, e, matrix, variance, weight);
    }
}

/* ---- covariances ---------------------------------------------------------------------------------------------------------- */

/* |log(S^-1/2 T S^-1/2)|^2: the sum of squares of the logarithms of the eigenvalues of S^-1 T, which do not
 * depend on the frame. */
static double distance_squared(const RelnTargetTally *t, const double *s, const double *truth)
{
    double inverse[RELN_ALGEBRA_MAX_N * RELN_ALGEBRA_MAX_N];
    double l[RELN_ALGEBRA_MAX_N * RELN_ALGEBRA_MAX_N], w[RELN_ALGEBRA_MAX_N], sum = 0;
    double half[RELN_ALGEBRA_MAX_N * RELN_ALGEBRA_MAX_N];
    double both[RELN_ALGEBRA_MAX_N * RELN_ALGEBRA_MAX_N];
    const int n = t->n;

    /* with S = L L^T, the eigenvalues of S^-1 T are those of L^-1 T L^-T */
    if (reln_cholesky(t->ctx, n, s, l) != RELN_OK ||
        reln_inverse(t->ctx, n, l, inverse) != RELN_OK) {
        reln_ctx_clear(t->ctx);
        return (double)NAN;
    }
    reln_mat_mul(n, n, n, inverse, truth, half);
    reln_mat_gemm(false, true, n, n, n, 1, half, n, inverse, n, 0, both, n);
    if (reln_eigh(t->ctx, n, both, w, NULL) != RELN_OK) {
        reln_ctx_clear(t->ctx);
        return (double)NAN;
    }
    for (int i = 0; i < n; i++)
        sum += log(w[i]) * log(w[i]);
    return sum;
}

static void add_distances(RelnTargetTally *t, const double *y, const double *truth, double weight)
{
    for (ptrdiff_t c = 0; c < t->layout.channels; c++) {
        t->distance +=
            weight * distance_squared(t, y + c * t->layout.size, truth + c * t->layout.size);
        t->things += weight;
    }
}

/* ---- all targets ------------------------------------------------------------------------------------------------------------- */

void reln_target_tally_add(RelnTargetTally *t, const double *y, const double *truth, double loss,
                           double weight)
{
    if (!(weight > 0))
        return;
    t->mean_of_truth = t->target->as == RELN_TARGET_COVARIANCE ? 0 : t->mean;
    t->n_samples++;
    if (t->graph_loss)
        t->loss += weight * loss;
    if (t->target->as == RELN_TARGET_CLASS)
        add_class(t, y, (int)truth[0], weight);
    else if (t->target->loss == RELN_LOSS_QUANTILES)
        add_quantiles(t, y, truth, weight);
    else
        add_numbers(t, y, truth, weight);
    if (t->target->loss == RELN_LOSS_GAUSSIAN)
        add_densities(t, y, truth, weight);
    if (t->target->as == RELN_TARGET_COVARIANCE)
        add_distances(t, y, truth, weight);
}

void reln_target_tally_places(RelnTargetTally *t, const double *y, const double *truth,
                              const double *losses, const double *weights)
{
    const RelnTargetLayout *l = &t->layout;

    for (int p = 0; p < l->places; p++)
        reln_target_tally_add(t, y + l->first + p * (l->value + l->spread),
                              truth + l->truth_first + p * l->truth,
                              losses ? losses[l->loss_first + p] : 0, weights[l->loss_first + p]);
}

static bool all_finite(ptrdiff_t n, const double *y)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (!isfinite(y[i]))
            return false;
    return true;
}

void reln_tally_add(RelnTally *tally, ptrdiff_t n, const double *y, const double *truth,
                    const double *losses, const double *weights)
{
    const RelnLayout *l = &tally->layout;

    for (ptrdiff_t i = 0; i < n; i++) {
        if (!all_finite(l->outputs, y + i * l->outputs) && tally->lost++ == 0)
            tally->first_lost = tally->n_samples + i;
        for (int k = 0; k < tally->n_targets; k++)
            reln_target_tally_places(&tally->target[k], y + i * l->outputs, truth + i * l->truths,
                                     losses ? losses + i * l->losses : NULL,
                                     weights + i * l->losses);
    }
    tally->n_samples += n;
}

static void numbers_of(const RelnTargetTally *t, RelnMetrics *m)
{
    const double mean = t->sum / t->numbers, variance = t->sum_square / t->numbers - mean * mean;

    m->mse = t->square / t->numbers;
    m->mae = t->absolute / t->numbers;
    if (variance > 0)
        m->r2 = 1 - m->mse / variance;
}

static void density_of(const RelnTargetTally *t, RelnMetrics *m)
{
    double off = 0;

    m->nll = t->nll / t->things;
    m->nees = t->nees / t->things;
    m->coverage = t->within[8] / t->things;
    for (int i = 0; i < RELN_SCORE_BINS - 1; i++)
        off += fabs(t->within[i] / t->things - (i + 1) / (double)RELN_SCORE_BINS);
    m->calibration_error = off / (RELN_SCORE_BINS - 1);
}

static void quantiles_of(const RelnTargetTally *t, RelnMetrics *m)
{
    double off = 0;

    m->n_quantiles = t->target->n_quantiles;
    for (int i = 0; i < m->n_quantiles; i++) {
        m->quantile[i] = t->target->quantiles[i];
        m->below[i] = t->below[i] / t->numbers;
        off += fabs(m->below[i] - m->quantile[i]);
    }
    m->calibration_error = off / m->n_quantiles;
}

RelnMetrics reln_no_metrics(ptrdiff_t n_samples, double loss)
{
    const double none = (double)NAN;

    return (RelnMetrics){.n_samples = n_samples,
                         .loss = loss,
                         .mse = none,
                         .mae = none,
                         .r2 = none,
                         .accuracy = none,
                         .nll = none,
                         .nees = none,
                         .coverage = none,
                         .calibration_error = none,
                         .distance = none};
}

RelnMetrics reln_target_metrics(const RelnTargetTally *t)
{
    RelnMetrics m = reln_no_metrics(t->n_samples, t->loss / t->weight);

    if (t->target->as == RELN_TARGET_CLASS) {
        m.accuracy = t->right / t->counted;
        return m;
    }
    numbers_of(t, &m);
    if (t->target->loss == RELN_LOSS_GAUSSIAN)
        density_of(t, &m);
    if (t->target->loss == RELN_LOSS_QUANTILES)
        quantiles_of(t, &m);
    if (t->target->as == RELN_TARGET_COVARIANCE)
        m.distance = sqrt(t->distance / t->things);
    return m;
}

RelnMetrics reln_tally_metrics(const RelnTally *tally)
{
    RelnMetrics m;

    if (tally->n_targets == 1) {
        m = reln_target_metrics(&tally->target[0]);
        m.loss *= tally->target[0].target->weight;
        return m;
    }
    m = reln_no_metrics(tally->n_samples, 0);
    for (int t = 0; t < tally->n_targets; t++)
        m.loss += tally->target[t].target->weight * reln_target_metrics(&tally->target[t]).loss;
    return m;
}
