/* scores.c -- scores of a classifier: accuracy, areas under curves, confusion, calibration, with bootstrap errors.
 *
 * Every score is a function of the weights w_i that samples have: their own for the score itself, times the number of times
 * that a sample (with all of its points) was drawn for a bootstrap draw. Orders by probability are made once, so a draw costs one pass over the samples. */
#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "fit/fit.h"
#include "reln/random.h"

enum { DRAWS = 200, LEAST_DRAWS = 20 };
#define PASSES 2e9 /* limit on samples times classes times draws */

typedef struct Entry {
    double p;
    ptrdiff_t sample;
} Entry;

typedef struct Judge {
    RelnArena arena;
    ptrdiff_t n;
    int classes;
    const double *p;    /* (n, classes) */
    const int *label;   /* (n) */
    int *taken;         /* (n): the most probable class */
    ptrdiff_t **order;  /* (classes): samples by rising probability of the class */
    ptrdiff_t *trusted; /* samples by rising confidence */
    const double *base; /* (n): weights of samples */
    const ptrdiff_t
        *unit;       /* (n): index of the unit of each sample; a bootstrap draws whole units */
    ptrdiff_t units; /* number of units */
    double *times;   /* (units): how often each was drawn */
    double *weight;  /* (n) */
    double *counts;  /* (classes, classes) */
} Judge;

/* The scores of one set of weights; the scores of each class follow the common ones. */
enum { ACCURACY, F1, AUC, PRECISION_AREA, CALIBRATION, N_COMMON };
enum { C_PRECISION, C_RECALL, C_F1, C_AUC, C_AREA, N_OF_CLASS };

/* ---- orders ------------------------------------------------------------------------------------------------------------ */

static int by_p(const void *a, const void *b)
{
    const Entry *x = a, *y = b;

    if (x->p != y->p)
        return x->p < y->p ? -1 : 1;
    return (x->sample > y->sample) - (x->sample < y->sample);
}

/* Returns the confidence: with two classes the probability of class 1; with more, that of the most probable
 * class. */
static double confidence(const Judge *j, ptrdiff_t i)
{
    return j->p[i * j->classes + (j->classes == 2 ? 1 : j->taken[i])];
}

static bool came_true(const Judge *j, ptrdiff_t i)
{
    return j->label[i] == (j->classes == 2 ? 1 : j->taken[i]);
}

/* Sorts the samples by the probability of a class; class -1: by confidence. */
static RelnStatus make_order(Judge *j, int class, Entry *entries, ptrdiff_t **out)
{
    ptrdiff_t *order = reln_arena_alloc(&j->arena, (size_t)j->n, sizeof *order);

    if (!order)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t i = 0; i < j->n; i++)
        entries[i] = (Entry){class < 0 ? confidence(j, i) : j->p[i * j->classes + class], i};
    reln_sort(entries, (size_t)j->n, sizeof *entries, by_p);
    for (ptrdiff_t i = 0; i < j->n; i++)
        order[i] = entries[i].sample;
    *out = order;
    return RELN_OK;
}

static RelnStatus prepare(Judge *j)
{
    const size_t n = (size_t)j->n, c = (size_t)j->classes;
    Entry *entries = reln_arena_alloc(&j->arena, n, sizeof *entries);

    j->taken = reln_arena_alloc(&j->arena, n, sizeof *j->taken);
    j->order = reln_arena_alloc(&j->arena, c, sizeof *j->order);
    j->weight = reln_arena_alloc(&j->arena, n, sizeof *j->weight);
    j->times = reln_arena_alloc(&j->arena, (size_t)j->units, sizeof *j->times);
    j->counts = reln_arena_alloc(&j->arena, c * c, sizeof *j->counts);
    if (!entries || !j->taken || !j->order || !j->weight || !j->times || !j->counts)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t i = 0; i < j->n; i++)
        for (int k = 1; k < j->classes; k++)
            if (j->p[i * j->classes + k] > j->p[i * j->classes + j->taken[i]])
                j->taken[i] = k;
    for (int k = 0; k < j->classes; k++)
        RELN_TRY(make_order(j, k, entries, &j->order[k]));
    return make_order(j, -1, entries, &j->trusted);
}

/* ---- areas under curves ------------------------------------------------------------------------------------------------- */

/* Sums the weights of the class and of the others among samples of one probability, positions `from` to *to -
 * 1 of the order. */
static void tie(const Judge *j, int class, ptrdiff_t from, ptrdiff_t *to, double *inside,
                double *outside)
{
    const ptrdiff_t *order = j->order[class];
    const double p = j->p[order[from] * j->classes + class];

    *inside = *outside = 0;
    for (*to = from; *to < j->n && j->p[order[*to] * j->classes + class] == p; ++*to)
        *(j->label[order[*to]] == class ? inside : outside) += j->weight[order[*to]];
}

/* Returns the share of pairs (one sample of the class, one of the others) in the right order, ties counted
 * half. */
static double area(const Judge *j, int class)
{
    double below = 0, pairs = 0, all_inside = 0, inside, outside;

    for (ptrdiff_t i = 0, to; i < j->n; i = to) {
        tie(j, class, i, &to, &inside, &outside);
        pairs += inside * (below + outside / 2);
        below += outside;
        all_inside += inside;
    }
    return all_inside > 0 && below > 0 ? pairs / (all_inside * below) : (double)NAN;
}

/* sum over thresholds of (R_k - R_k-1) P_k, without interpolation. The loop starts at the lowest threshold,
 * where all samples are above it. */
static double precision_area(const Judge *j, int class)
{
    double total = 0, above_in = 0, above_out = 0, sum = 0, inside, outside;

    for (ptrdiff_t i = 0; i < j->n; i++)
        *(j->label[i] == class ? &above_in : &above_out) += j->weight[i];
    total = above_in;
    for (ptrdiff_t i = 0, to; i < j->n; i = to) {
        tie(j, class, i, &to, &inside, &outside);
        if (inside > 0)
            sum += inside * above_in / (above_in + above_out);
        above_in -= inside;
        above_out -= outside;
    }
    return total > 0 ? sum / total : (double)NAN;
}

/* ---- all scores ----------------------------------------------------------------------------------------------------------- */

/* Sorts samples into ten bins of equal weight by confidence, and compares in each bin the frequency of
 * correct predictions with the mean confidence. */
static double calibration(const Judge *j, RelnCalibrationBin *bins)
{
    double total = 0, before = 0, error = 0;

    memset(bins, 0, RELN_SCORE_BINS * sizeof *bins);
    for (ptrdiff_t i = 0; i < j->n; i++)
        total += j->weight[i];
    for (ptrdiff_t i = 0; i < j->n; i++) {
        const ptrdiff_t s = j->trusted[i];
        const double w = j->weight[s];
        const int b = (int)(RELN_SCORE_BINS * (before + w / 2) / total);
        RelnCalibrationBin *bin = &bins[b < RELN_SCORE_BINS ? b : RELN_SCORE_BINS - 1];

        before += w;
        bin->weight += w;
        bin->confidence += w * confidence(j, s);
        bin->frequency += w * came_true(j, s);
    }
    for (int b = 0; b < RELN_SCORE_BINS; b++) {
        if (bins[b].weight == 0)
            continue;
        error += fabs(bins[b].frequency - bins[b].confidence) / total;
        bins[b].confidence /= bins[b].weight;
        bins[b].frequency /= bins[b].weight;
    }
    return error;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static void count(const Judge *j)
{
    memset(j->counts, 0, (size_t)j->classes * (size_t)j->classes * sizeof *j->counts);
    for (ptrdiff_t i = 0; i < j->n; i++)
        j->counts[j->label[i] * j->classes + j->taken[i]] += j->weight[i];
}

/* Returns the mean over classes; a class without a sample has no area and is skipped. */
static double mean_of(const double *of_class, int classes, int which)
{
    double sum = 0;
    int n = 0;

    for (int k = 0; k < classes; k++)
        if (!isnan(of_class[k * N_OF_CLASS + which])) {
            sum += of_class[k * N_OF_CLASS + which];
            n++;
        }
    return n > 0 ? sum / n : (double)NAN;
}

/* With two classes, areas are those of class 1. */
static void judge(const Judge *j, RelnCalibrationBin *bins, double *out)
{
    const int c = j->classes;
    double *of_class = out + N_COMMON, right = 0, total = 0;

    count(j);
    for (int k = 0; k < c; k++) {
        double row = 0, column = 0, *s = of_class + k * N_OF_CLASS;
        const double hit = j->counts[k * c + k];

        for (int l = 0; l < c; l++) {
            row += j->counts[k * c + l];
            column += j->counts[l * c + k];
        }
        right += hit;
        total += row;
        s[C_PRECISION] = ratio(hit, column);
        s[C_RECALL] = ratio(hit, row);
        s[C_F1] = ratio(2 * hit, row + column);
        s[C_AUC] = area(j, k);
        s[C_AREA] = precision_area(j, k);
    }
    out[ACCURACY] = right / total;
    out[F1] = mean_of(of_class, c, C_F1);
    out[AUC] = c == 2 ? of_class[N_OF_CLASS + C_AUC] : mean_of(of_class, c, C_AUC);
    out[PRECISION_AREA] = c == 2 ? of_class[N_OF_CLASS + C_AREA] : mean_of(of_class, c, C_AREA);
    out[CALIBRATION] = calibration(j, bins);
}

/* ---- errors --------------------------------------------------------------------------------------------------------------- */

static int draws_for(const Judge *j)
{
    const double most = PASSES / ((double)j->n * (double)j->classes);

    return most < LEAST_DRAWS ? LEAST_DRAWS : most > DRAWS ? DRAWS : (int)most;
}

static void draw(const Judge *j, RelnRng *rng)
{
    memset(j->times, 0, (size_t)j->units * sizeof *j->times);
    for (ptrdiff_t i = 0; i < j->units; i++)
        j->times[reln_rng_below(rng, (uint64_t)j->units)] += 1;
    for (ptrdiff_t i = 0; i < j->n; i++)
        j->weight[i] = j->times[j->unit[i]] * j->base[i];
}

/* Computes the standard deviation of every score over draws of as many samples, with replacement. */
static RelnStatus bootstrap(Judge *j, uint64_t seed, int draws, int n_scores, double *error)
{
    double *all = reln_arena_alloc(&j->arena, 3 * (size_t)n_scores, sizeof *all);
    double *sum = all + n_scores, *square = sum + n_scores;
    RelnCalibrationBin bins[RELN_SCORE_BINS];
    RelnRng rng = reln_rng(seed, 0x626f6f74); /* "boot" */

    if (!all)
        return RELN_ERR_NOMEM;
    for (int d = 1; d <= draws; d++) {
        draw(j, &rng);
        judge(j, bins, all);
        for (int s = 0; s < n_scores; s++) { /* running mean and sum of squares about it */
            const double off = all[s] - sum[s];

            sum[s] += off / d;
            square[s] += off * (all[s] - sum[s]);
        }
    }
    for (int s = 0; s < n_scores; s++)
        error[s] = sqrt(square[s] / (draws - 1));
    return RELN_OK;
}

/* ---- filling the result -------------------------------------------------------------------------------------------------------- */

static RelnScore score(const double *value, const double *error, int at)
{
    return (RelnScore){value[at], error[at]};
}

static void deliver(const Judge *j, const double *v, const double *e, RelnScores *out)
{
    out->accuracy = score(v, e, ACCURACY);
    out->f1 = score(v, e, F1);
    out->auc = score(v, e, AUC);
    out->average_precision = score(v, e, PRECISION_AREA);
    out->calibration_error = score(v, e, CALIBRATION);
    for (int k = 0; k < j->classes; k++) {
        const int at = N_COMMON + k * N_OF_CLASS;
        RelnClassScores *c = &out->classes[k];

        c->precision = score(v, e, at + C_PRECISION);
        c->recall = score(v, e, at + C_RECALL);
        c->f1 = score(v, e, at + C_F1);
        c->auc = score(v, e, at + C_AUC);
        c->average_precision = score(v, e, at + C_AREA);
    }
}

static RelnStatus compute(Judge *j, uint64_t seed, RelnScores *out)
{
    const int n_scores = N_COMMON + j->classes * N_OF_CLASS;
    double *value = reln_arena_alloc(&j->arena, 2 * (size_t)n_scores, sizeof *value);
    double *error = value + n_scores;

    if (!value)
        return RELN_ERR_NOMEM;
    RELN_TRY(prepare(j));
    for (ptrdiff_t i = 0; i < j->n; i++)
        j->weight[i] = 1;
    count(j); /* the table of confusion has samples, whatever they weigh */
    for (int k = 0; k < j->classes; k++)
        for (int l = 0; l < j->classes; l++) {
            out->confusion[k * j->classes + l] = (ptrdiff_t)j->counts[k * j->classes + l];
            out->classes[k].n_samples += (ptrdiff_t)j->counts[k * j->classes + l];
        }
    for (ptrdiff_t i = 0; i < j->n; i++)
        j->weight[i] = j->base[i];
    judge(j, out->bins, value);
    out->seed = seed;
    out->draws = draws_for(j);
    RELN_TRY(bootstrap(j, seed, out->draws, n_scores, error));
    deliver(j, value, error, out);
    return RELN_OK;
}

static RelnStatus check(RelnCtx *ctx, ptrdiff_t n, int classes, const double *p, const int *labels)
{
    if (n < 1 || classes < 2)
        return reln_fail(ctx, RELN_ERR_ARG, "scores: %td samples of %d classes; wanted 1 of 2", n,
                         classes);
    for (ptrdiff_t i = 0; i < n; i++) {
        if (labels[i] < 0 || labels[i] >= classes)
            return reln_fail(ctx, RELN_ERR_ARG, "scores: sample %td is of class %d; wanted 0 to %d",
                             i, labels[i], classes - 1);
        for (int k = 0; k < classes; k++)
            if (!isfinite(p[i * classes + k]))
                return reln_fail(ctx, RELN_ERR_NUMERIC,
                                 "scores: a probability of sample %td is not finite", i);
    }
    return RELN_OK;
}

RelnStatus reln_scores_of(const RelnJudged *of, uint64_t seed, RelnScores *out)
{
    RelnCtx *ctx = of->ctx;
    const int classes = of->classes;
    Judge j = {.n = of->n,
               .classes = classes,
               .p = of->p,
               .label = of->label,
               .base = of->weight,
               .unit = of->unit,
               .units = of->units};
    RelnStatus status;

    *out = (RelnScores){.ctx = ctx, .n_samples = of->n, .n_classes = classes};
    RELN_TRY(check(ctx, of->n, classes, of->p, of->label));
    out->classes = reln_alloc(ctx, (size_t)classes, sizeof *out->classes);
    out->confusion = reln_alloc(ctx, (size_t)classes * (size_t)classes, sizeof *out->confusion);
    reln_arena_init(&j.arena, ctx);
    status = out->classes && out->confusion ? compute(&j, seed, out) : RELN_ERR_NOMEM;
    reln_arena_clear(&j.arena);
    if (status != RELN_OK)
        reln_scores_clear(out);
    return status;
}

RelnStatus reln_scores_weighted(RelnCtx *ctx, ptrdiff_t n, int classes, const double *probabilities,
                                const int *labels, const double *weights, uint64_t seed,
                                RelnScores *out)
{
    RELN_NEED(ctx && probabilities && labels && out, reln_null(ctx, __func__));

    RelnJudged of = {.ctx = ctx, .classes = classes};
    const RelnTargetLayout one = {.places = 1, .value = classes};
    RelnStatus status;

    *out = (RelnScores){.ctx = ctx};
    if (n < 1 || classes < 2)
        return check(ctx, n, classes, probabilities, labels);
    status = reln_judged_init(ctx, n, &one, &of);
    for (ptrdiff_t i = 0; status == RELN_OK && i < n; i++) {
        const double w = weights ? weights[i] : 1;

        if (!(w >= 0 && isfinite(w)))
            status = reln_fail(ctx, RELN_ERR_ARG,
                               "scores: sample %td has a weight of %g; wanted a finite number from "
                               "0 on",
                               i, w);
        else
            reln_judged_add(&of, i, probabilities + i * classes, labels[i], w);
    }
    if (status == RELN_OK)
        status = reln_scores_of(&of, seed, out);
    reln_judged_clear(&of);
    return status;
}

RelnStatus reln_scores(RelnCtx *ctx, ptrdiff_t n, int classes, const double *probabilities,
                       const int *labels, uint64_t seed, RelnScores *out)
{
    return reln_scores_weighted(ctx, n, classes, probabilities, labels, NULL, seed, out);
}

RelnStatus reln_judged_init(RelnCtx *ctx, ptrdiff_t n, const RelnTargetLayout *target,
                            RelnJudged *out)
{
    const size_t most = (size_t)(n * target->places);

    *out = (RelnJudged){.ctx = ctx, .classes = (int)target->value, .last = -1};
    out->p = reln_alloc_raw(ctx, most * (size_t)target->value, sizeof *out->p);
    out->label = reln_alloc_raw(ctx, most, sizeof *out->label);
    out->weight = reln_alloc_raw(ctx, most, sizeof *out->weight);
    out->unit = reln_alloc_raw(ctx, most, sizeof *out->unit);
    return out->p && out->label && out->weight && out->unit ? RELN_OK : RELN_ERR_NOMEM;
}

void reln_judged_add(RelnJudged *j, ptrdiff_t sample, const double *p, double label, double weight)
{
    if (!(weight > 0))
        return;
    j->units += sample != j->last;
    j->last = sample;
    memcpy(j->p + j->n * j->classes, p, (size_t)j->classes * sizeof *p);
    j->label[j->n] = (int)label; /* of a place without weight, it may be NaN */
    j->weight[j->n] = weight;
    j->unit[j->n++] = j->units - 1;
}

void reln_judged_clear(RelnJudged *j)
{
    if (!j->ctx)
        return;
    reln_free(j->ctx, j->unit);
    reln_free(j->ctx, j->weight);
    reln_free(j->ctx, j->label);
    reln_free(j->ctx, j->p);
    *j = (RelnJudged){0};
}

void reln_scores_clear(RelnScores *scores)
{
    if (!scores)
        return;
    if (scores->ctx) {
        reln_free(scores->ctx, scores->classes);
        reln_free(scores->ctx, scores->confusion);
    }
    *scores = (RelnScores){0};
}

/* ---- the curve ------------------------------------------------------------------------------------------------------------- */

static int trace(const Judge *j, int class, int room, double *x, double *y)
{
    double all[2] = {0, 0}, above[2], inside, outside;
    int n = 0;

    for (ptrdiff_t i = 0; i < j->n; i++)
        all[j->label[i] == class] += j->weight[i];
    above[0] = all[0];
    above[1] = all[1];
    if (all[0] == 0 || all[1] == 0)
        return 0;
    for (ptrdiff_t i = 0, to = 0; n < room - 1 && i < j->n; i = to) {
        const double fpr = above[0] / all[0], tpr = above[1] / all[1];

        /* points that are too close to the last one to be seen are skipped */
        if (n == 0 || x[n - 1] - fpr + (y[n - 1] - tpr) > 2.5 / room) {
            x[n] = fpr;
            y[n++] = tpr;
        }
        tie(j, class, i, &to, &inside, &outside);
        above[1] -= inside;
        above[0] -= outside;
    }
    x[n] = y[n] = 0;
    return n + 1;
}

RelnStatus reln_roc(const RelnJudged *of, int class, int room, double *x, double *y, int *n_points)
{
    Judge j = {.n = of->n, .classes = of->classes, .p = of->p, .label = of->label, .units = 1};
    RelnStatus status;

    *n_points = 0;
    reln_arena_init(&j.arena, of->ctx);
    status = prepare(&j);
    for (ptrdiff_t i = 0; status == RELN_OK && i < j.n; i++)
        j.weight[i] = of->weight[i];
    if (status == RELN_OK)
        *n_points = trace(&j, class, room, x, y);
    reln_arena_clear(&j.arena);
    return status;
}
