/* metrics.c -- numbers from scores of jets: accuracy, areas, efficiencies, and their errors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/jets/jets.h"

const double jets_working_points[JETS_WORKING_POINTS] = {0.3, 0.5, 0.7, 0.8, 0.9};

/* A Ranked lists jets by descending score. `factor` is how often a bootstrap drew each. */
typedef struct Ranked {
    ptrdiff_t n;
    ptrdiff_t *order;
    double *factor;
    const JetsScores *scores;
} Ranked;

static int by_falling_score(const void *a, const void *b)
{
    const double *x = *(const double *const *)a, *y = *(const double *const *)b;

    if (*x != *y)
        return *x > *y ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Sorts pointers to scores, since qsort() takes no context; equal scores by their positions. */
static RelnStatus rank(TaskEnv *env, const JetsScores *s, Ranked *out)
{
    const double **at = malloc(((size_t)s->n + 1) * sizeof *at);

    *out = (Ranked){.n = s->n, .scores = s};
    out->order = malloc(((size_t)s->n + 1) * sizeof *out->order);
    out->factor = malloc(((size_t)s->n + 1) * sizeof *out->factor);
    if (!at || !out->order || !out->factor) {
        free(at);
        return task_nomem(env);
    }
    for (ptrdiff_t i = 0; i < s->n; i++) {
        at[i] = s->score + i;
        out->factor[i] = 1;
    }
    qsort(at, (size_t)s->n, sizeof *at, by_falling_score);
    for (ptrdiff_t i = 0; i < s->n; i++)
        out->order[i] = at[i] - s->score;
    free(at);
    return RELN_OK;
}

static void unrank(Ranked *r)
{
    free(r->order);
    free(r->factor);
}

static double weight_of(const Ranked *r, ptrdiff_t i)
{
    return r->factor[i] * (r->scores->weights ? r->scores->weights[i] : 1);
}

/* Sums the weights of the jets with the score of the k-th in order, by class; *k becomes the first with
 * another score. */
static void take_ties(const Ranked *r, ptrdiff_t *k, double weight[2], double *count)
{
    const double score = r->scores->score[r->order[*k]];

    weight[0] = weight[1] = *count = 0;
    for (; *k < r->n && r->scores->score[r->order[*k]] == score; (*k)++) {
        const ptrdiff_t i = r->order[*k];

        weight[r->scores->labels[i]] += weight_of(r, i);
        *count += r->scores->labels[i] == 0 ? r->factor[i] : 0;
    }
}

/* Returns the share of pairs of a signal and a background jet in which the signal has the larger score; ties
 * count half. */
static double area(const Ranked *r)
{
    double above = 0, sum = 0, background = 0, weight[2], count;

    for (ptrdiff_t k = 0; k < r->n;) {
        take_ties(r, &k, weight, &count);
        sum += weight[0] * (above + 0.5 * weight[1]);
        above += weight[1];
        background += weight[0];
    }
    return sum / (above * background);
}

static double accuracy(const Ranked *r)
{
    double right = 0, all = 0;

    for (ptrdiff_t i = 0; i < r->n; i++) {
        const double w = weight_of(r, i), score = r->scores->score[i];

        right += (score > 0) == (r->scores->labels[i] == 1) ? w : 0;
        all += w;
    }
    return right / all;
}

/* ---- efficiencies --------------------------------------------------------------------------------------------------- */

static ptrdiff_t all_points(const Ranked *r, JetsPoint *points)
{
    double weight[2], sum[2] = {0, 0}, count, passed = 0;
    ptrdiff_t n = 0;

    points[n++] = (JetsPoint){0, 0, 0};
    for (ptrdiff_t k = 0; k < r->n;) {
        take_ties(r, &k, weight, &count);
        sum[0] += weight[0];
        sum[1] += weight[1];
        passed += count;
        points[n++] = (JetsPoint){sum[1], sum[0], passed};
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        points[i].signal /= sum[1];
        points[i].background /= sum[0];
    }
    return n;
}

/* Drops points whose steps before and after them are equal, as the published metric does in order to drop
 * points on straight lines. The first and the last stay. */
static ptrdiff_t drop_straight(const JetsScores *s, const Ranked *r, JetsPoint *points, ptrdiff_t n)
{
    double signal = 0, background = 0;
    ptrdiff_t kept = 0;
    JetsPoint before = {0, 0, 0};

    for (ptrdiff_t i = 0; i < r->n; i++) {
        signal += s->labels[i] == 1 ? weight_of(r, i) : 0;
        background += s->labels[i] == 0 ? weight_of(r, i) : 0;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        const JetsPoint now = points[i];
        bool straight = false;

        if (i > 1 &&
            i + 1 < n) { /* whole numbers of jets are compared, because shares have rounding
                                   * errors */
            const double a = round((now.signal - before.signal) * signal),
                         b = round((points[i + 1].signal - now.signal) * signal),
                         c = round((now.background - before.background) * background),
                         d = round((points[i + 1].background - now.background) * background);

            straight = a == b && c == d;
        }
        before = now;
        if (!straight)
            points[kept++] = now;
    }
    return kept;
}

static JetsPoint nearest(const JetsPoint *points, ptrdiff_t n, double signal)
{
    ptrdiff_t best = 0;

    for (ptrdiff_t i = 1; i < n; i++)
        if (fabs(points[i].signal - signal) < fabs(points[best].signal - signal))
            best = i;
    return points[best];
}

static RelnStatus with_rank(TaskEnv *env, const JetsScores *s, void (*f)(Ranked *, void *),
                            void *self)
{
    Ranked r;
    const RelnStatus status = rank(env, s, &r);

    if (status == RELN_OK)
        f(&r, self);
    unrank(&r);
    return status;
}

typedef struct Roc {
    bool dropped;
    JetsPoint *points;
    ptrdiff_t n;
} Roc;

static void make_roc(Ranked *r, void *self)
{
    Roc *roc = self;

    roc->n = all_points(r, roc->points);
    if (roc->dropped)
        roc->n = drop_straight(r->scores, r, roc->points, roc->n);
}

RelnStatus jets_roc(TaskEnv *env, const JetsScores *scores, bool dropped, JetsPoint *points,
                    ptrdiff_t *n_points)
{
    Roc roc = {dropped, points, 0};
    const RelnStatus status = with_rank(env, scores, make_roc, &roc);

    *n_points = roc.n;
    return status;
}

/* ---- bootstrap ------------------------------------------------------------------------------------------------------ */

/* Draws n jets with replacement: counts how often each is drawn. */
static void redraw(RelnRng *rng, ptrdiff_t n, double *factor)
{
    memset(factor, 0, (size_t)n * sizeof *factor);
    for (ptrdiff_t i = 0; i < n; i++)
        factor[reln_rng_below(rng, (uint64_t)n)] += 1;
}

static double deviation(int n, double sum, double squares)
{
    return n > 1 ? sqrt(fmax(0, (squares - sum * sum / n) / (n - 1))) : (double)NAN;
}

typedef struct Errors {
    int draws;
    uint64_t seed;
    JetsNumbers *out;
} Errors;

static void find_numbers(Ranked *r, void *self)
{
    Errors *e = self;
    RelnRng rng = reln_rng(e->seed, 0);
    double sum[2] = {0, 0}, squares[2] = {0, 0};
    int n = 0;

    e->out->accuracy = accuracy(r);
    e->out->auc = area(r);
    for (int d = 0; d < e->draws; d++) {
        redraw(&rng, r->n, r->factor);
        const double value[2] = {accuracy(r), area(r)};
        if (isnan(value[1])) /* only one class was drawn */
            continue;
        n++;
        for (int k = 0; k < 2; k++) {
            sum[k] += value[k];
            squares[k] += value[k] * value[k];
        }
    }
    e->out->accuracy_error = deviation(n, sum[0], squares[0]);
    e->out->auc_error = deviation(n, sum[1], squares[1]);
}

static RelnStatus find_points(TaskEnv *env, const JetsScores *s, JetsPoint *points,
                              JetsNumbers *out)
{
    ptrdiff_t n;

    TRY(jets_roc(env, s, false, points, &n));
    for (int i = 0; i < JETS_WORKING_POINTS; i++)
        out->at[i] = nearest(points, n, jets_working_points[i]);
    TRY(jets_roc(env, s, true, points, &n));
    for (int i = 0; i < JETS_WORKING_POINTS; i++)
        out->published[i] = nearest(points, n, jets_working_points[i]);
    return RELN_OK;
}

RelnStatus jets_numbers(TaskEnv *env, const JetsScores *s, int draws, uint64_t seed,
                        JetsNumbers *out)
{
    Errors errors = {draws, seed, out};
    JetsPoint *points = malloc(((size_t)s->n + 1) * sizeof *points);
    RelnStatus status = points ? with_rank(env, s, find_numbers, &errors) : task_nomem(env);

    if (status == RELN_OK)
        status = find_points(env, s, points, out);
    free(points);
    return status;
}

/* ---- pairs ---------------------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Returns the mean over n pairs of area(a) - area(b). */
static double mean_difference(int n, const Ranked *a, const Ranked *b)
{
    double sum = 0;

    for (int k = 0; k < n; k++)
        sum += area(&a[k]) - area(&b[k]);
    return sum / n;
}

static void compare(int n_pairs, Ranked *a, Ranked *b, int draws, uint64_t seed,
                    double *differences, double out[3])
{
    RelnRng rng = reln_rng(seed, 1);
    const size_t size = (size_t)a->n * sizeof *a->factor;
    int n = 0;

    out[0] = mean_difference(n_pairs, a, b);
    for (int d = 0; d < draws; d++) {
        redraw(&rng, a->n, a->factor);
        for (int k = 0; k < n_pairs; k++) {
            if (k > 0)
                memcpy(a[k].factor, a->factor, size);
            memcpy(b[k].factor, a->factor, size);
        }
        differences[n] = mean_difference(n_pairs, a, b);
        n += !isnan(differences[n]);
    }
    qsort(differences, (size_t)n, sizeof *differences, by_number);
    out[1] = n > 0 ? differences[(int)(0.025 * (n - 1))] : (double)NAN;
    out[2] = n > 0 ? differences[(int)ceil(0.975 * (n - 1))] : (double)NAN;
}

RelnStatus jets_compare(TaskEnv *env, int n, const JetsScores *a, const JetsScores *b, int draws,
                        uint64_t seed, double out[3])
{
    double *differences = malloc(((size_t)draws + 1) * sizeof *differences);
    Ranked *ranked = calloc(2 * (size_t)n, sizeof *ranked);
    RelnStatus status = differences && ranked ? RELN_OK : task_nomem(env);

    for (int k = 0; k < 2 * n && status == RELN_OK; k++)
        status = rank(env, k < n ? &a[k] : &b[k - n], &ranked[k]);
    if (status == RELN_OK)
        compare(n, ranked, ranked + n, draws, seed, differences, out);
    for (int k = 0; k < 2 * n && ranked; k++)
        unrank(&ranked[k]);
    free(ranked);
    free(differences);
    return status;
}
