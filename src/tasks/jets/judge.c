/* judge.c -- see judge.h: scores of test jets, and the effects of boosts, soft particles and cuts on them. */
#include "tasks/jets/judge.h"
#include "tasks/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/clock.h"

/* ---- scores ------------------------------------------------------------------------------------------------------- */

static bool is_trained(const JetsFit *f)
{
    return f->model->kind != JETS_MASS && f->model->kind != JETS_COUNT;
}

/* Returns the score of rows without training: how near the mass is to a top quark's, or the number of
 * particles. */
static double simple_score(const JetsFit *f, ptrdiff_t i, const double *total)
{
    if (f->model->kind == JETS_COUNT)
        return f->batch.counts[i] - JETS_BEAMS;
    return -fabs(sqrt(fmax(0, jets_dot(total, total))) - 173);
}

static RelnStatus predict_batch(Exp *e, JetsFit *f, const JetsView *view, double *scores)
{
    const ptrdiff_t n = f->jets.n;

    jets_batch_fill(&f->batch, &f->jets, view);
    if (!is_trained(f)) {
        for (ptrdiff_t i = 0; i < n; i++)
            scores[i] = simple_score(f, i, f->batch.total + 4 * i) - f->threshold;
        return RELN_OK;
    }
    TRY(exp_predict(e, EXP_NETWORK, &f->batch.set, f->out));
    for (ptrdiff_t i = 0; i < n; i++)
        scores[i] = f->out[2 * i + 1] - f->out[2 * i];
    return RELN_OK;
}

RelnStatus jets_predict(Exp *e, JetsFit *f, ptrdiff_t n, const ptrdiff_t *which,
                        const JetsView *view, double *scores)
{
    for (ptrdiff_t at = 0; at < n; at += JETS_BATCH) {
        const ptrdiff_t some = n - at < JETS_BATCH ? n - at : JETS_BATCH;

        TRY(exp_go_on(e));
        TRY(jets_source_read(f->run->env, f->source, some, which + at, &f->jets));
        TRY(predict_batch(e, f, view, scores + at));
        memcpy(f->labels + at, f->jets.labels, (size_t)some * sizeof *f->labels);
        memcpy(f->weights + at, f->jets.weights, (size_t)some * sizeof *f->weights);
    }
    return RELN_OK;
}

static JetsScores scores_of(const JetsFit *f, const double *scores, ptrdiff_t n)
{
    return (JetsScores){n, scores, f->weights, f->labels};
}

/* Finds the threshold of the best accuracy on the training jets, for rows without training. */
static RelnStatus find_threshold(Exp *e, JetsFit *f)
{
    double best = -1, background = 0, above[2] = {0, 0};

    if (is_trained(f))
        return RELN_OK;
    f->threshold = 0;
    TRY(jets_predict(e, f, f->n_train, f->train, NULL, f->scores));
    for (ptrdiff_t i = 0; i < f->n_train; i++)
        background += f->labels[i] == 0;
    for (ptrdiff_t i = 0; i < f->n_train;
         i++) { /* number of right answers with score i as the threshold */
        double right = 0;

        above[0] = above[1] = 0;
        for (ptrdiff_t k = 0; k < f->n_train; k++)
            above[f->labels[k]] += f->scores[k] > f->scores[i];
        right = above[1] + background - above[0];
        if (right > best) {
            best = right;
            f->threshold = f->scores[i];
        }
    }
    return RELN_OK;
}

/* ---- numbers ------------------------------------------------------------------------------------------------------- */

static double rejection(const JetsPoint *point)
{
    return point->count >= JETS_RESOLVED ? 1 / point->background : (double)NAN;
}

static RelnStatus put_roc(JetsFit *f, const JetsScores *s)
{
    enum { POINTS = 400 };
    JetsPoint *points = malloc(((size_t)s->n + 1) * sizeof *points);
    ptrdiff_t n = 0;
    RelnStatus status =
        points ? jets_roc(f->run->env, s, false, points, &n) : task_nomem(f->run->env);

    for (ptrdiff_t i = 0; i < n && status == RELN_OK; i += n / POINTS + 1)
        if (points[i].count >= 1)
            status = task_curve(f->run, JETS_CURVE_ROC, points[i].signal, 1 / points[i].background);
    free(points);
    return status;
}

/* Writes metrics of scores, and the scores themselves for comparisons of rows: x is the jet, plus 0.5 if its
 * label is 1; y is the score. */
static RelnStatus put_numbers(JetsFit *f, const JetsScores *s, const ptrdiff_t *which)
{
    const JetsScale *scale = task_scale(f->run->env);
    double *m = f->run->metrics;
    JetsNumbers numbers;

    TRY(jets_numbers(f->run->env, s, scale->draws, (uint64_t)scale->data_seed, &numbers));
    m[JETS_ACCURACY] = numbers.accuracy;
    m[JETS_ACCURACY_ERROR] = numbers.accuracy_error;
    m[JETS_AUC] = numbers.auc;
    m[JETS_AUC_ERROR] = numbers.auc_error;
    for (int i = 0; i < JETS_WORKING_POINTS; i++)
        m[JETS_AT_30 + i] = rejection(&numbers.at[i]);
    m[JETS_PUBLISHED_50] = rejection(&numbers.published[1]);
    if (jets_source_in_mev(f->source))
        TRY(task_curve(f->run, JETS_CURVE_UNIT, 0, 1e-3));
    for (ptrdiff_t i = 0; i < s->n; i++)
        TRY(task_curve(f->run, JETS_CURVE_SCORES,
                       (double)(which ? which[i] : i) + 0.5 * s->labels[i], s->score[i]));
    return put_roc(f, s);
}

/* ---- boosts -------------------------------------------------------------------------------------------------------- */

static const double velocities[] = {0.1, 0.3, 0.5, 0.7, 0.9, 0.99};
enum { VELOCITIES = sizeof velocities / sizeof velocities[0] };

/* Returns the share of right answers among n predictions. */
static double right_answers(const JetsFit *f, const double *scores, ptrdiff_t n)
{
    ptrdiff_t right = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        right += (scores[i] > 0) == (f->labels[i] == 1);
    return (double)right / (double)n;
}

static double largest_change(const double *a, const double *b, ptrdiff_t n)
{
    double most = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* Evaluates jets boosted along x as published, and jets rotated and boosted at random for the largest
 * change. */
static RelnStatus judge_boosts(Exp *e, JetsFit *f)
{
    const JetsScale *scale = task_scale(f->run->env);
    const ptrdiff_t n = f->n_test < scale->boosted ? f->n_test : scale->boosted;
    double *before = exp_room(e, (size_t)n * sizeof *before), *after = f->scores, frame[16];
    RelnRng rng = reln_rng((uint64_t)scale->data_seed, 77);
    double most = 0;

    if (!before)
        return task_nomem(f->run->env);
    TRY(jets_predict(e, f, n, f->test, NULL, before));
    for (int v = 0; v < VELOCITIES; v++) {
        for (int stay = 0; stay < 2; stay++) {
            const JetsView view = {.frame = frame, .beams_stay = stay == 1};
            double change;

            jets_boost(0, velocities[v], frame);
            TRY(jets_predict(e, f, n, f->test, &view, after));
            change = largest_change(before, after, n);
            most = stay ? most : fmax(most, change);
            TRY(task_curve(f->run, stay ? JETS_CURVE_BOOST_STAY : JETS_CURVE_BOOST_ACCURACY,
                           velocities[v], right_answers(f, after, n)));
            TRY(task_curve(f->run, stay ? JETS_CURVE_BOOST_STAY_CHANGE : JETS_CURVE_BOOST_CHANGE,
                           velocities[v], fmax(change, 1e-16)));
        }
    }
    for (int i = 0; i < scale->frames; i++) {
        const JetsView view = {.frame = frame};

        jets_random_frame(&rng, 0.99 * reln_rng_uniform(&rng), frame);
        TRY(jets_predict(e, f, n, f->test, &view, after));
        most = fmax(most, largest_change(before, after, n));
    }
    f->run->metrics[JETS_MOVED] = most;
    return RELN_OK;
}

/* ---- changed jets --------------------------------------------------------------------------------------------------- */

static RelnStatus auc_in_view(Exp *e, JetsFit *f, ptrdiff_t n, const JetsView *view, double *auc)
{
    JetsNumbers numbers;

    TRY(jets_predict(e, f, n, f->test, view, f->scores));
    const JetsScores s = scores_of(f, f->scores, n);
    TRY(jets_numbers(f->run->env, &s, 0, 0, &numbers));
    *auc = numbers.auc;
    return RELN_OK;
}

static RelnStatus judge_changes(Exp *e, JetsFit *f)
{
    static const int soft[] = {0, 5, 10, 20, 40}, hardest[] = {5, 10, 20, 40, 80, JETS_MOST};
    static const double split[] = {0, 0.1, 0.3, 0.6, 1};
    const JetsScale *scale = task_scale(f->run->env);
    const ptrdiff_t most = 5 * (ptrdiff_t)scale->boosted, n = f->n_test < most ? f->n_test : most;
    double auc;

    for (size_t i = 0; i < sizeof soft / sizeof soft[0]; i++) {
        const JetsView view = {.soft = soft[i], .soft_share = 0.001 * soft[i], .seed = 5};

        TRY(auc_in_view(e, f, n, &view, &auc));
        TRY(task_curve(f->run, JETS_CURVE_SOFT, soft[i], auc));
    }
    for (size_t i = 0; i < sizeof split / sizeof split[0]; i++) {
        const JetsView view = {.split = split[i], .seed = 6};

        TRY(auc_in_view(e, f, n, &view, &auc));
        TRY(task_curve(f->run, JETS_CURVE_SPLIT, split[i], auc));
    }
    for (size_t i = 0; i < sizeof hardest / sizeof hardest[0]; i++) {
        const JetsView view = {.hardest = hardest[i]};

        TRY(auc_in_view(e, f, n, &view, &auc));
        TRY(task_curve(f->run, JETS_CURVE_HARDEST, hardest[i], auc));
    }
    return RELN_OK;
}

/* ---- subjets -------------------------------------------------------------------------------------------------------- */

/* Shows the particles of a few top jets around the axis, each with the soft subjet that has most of it. */
static RelnStatus show_subjets(Exp *e, JetsFit *f)
{
    enum { SHOWN = 3 };
    const int c = f->model->subjets;
    int shown = 0;

    for (ptrdiff_t i = 0; i < f->n_test && shown < SHOWN && c > 0; i++) {
        TRY(jets_source_read(f->run->env, f->source, 1, f->test + i, &f->jets));
        if (f->jets.labels[0] != 1)
            continue;
        jets_batch_fill(&f->batch, &f->jets, NULL);
        TRY(exp_predict(e, EXP_OTHER, &f->batch.set, f->out));
        for (int k = 0; k < f->jets.counts[0]; k++) {
            const double *p = f->jets.p + 4 * k, *a = f->out + (k + JETS_BEAMS) * c,
                         *total = f->batch.total;
            int best = 0;
            char name[64];

            for (int s = 1; s < c; s++)
                best = a[s] > a[best] ? s : best;
            snprintf(name, sizeof name, "soft subjets of top jet %d%c%d", shown + 1, TASK_SERIES,
                     best + 1);
            TRY(task_curve(f->run, name, jets_eta(p) - jets_eta(total),
                           jets_turn(jets_phi(p), jets_phi(total))));
        }
        shown++;
    }
    return RELN_OK;
}

/* ---- runs ----------------------------------------------------------------------------------------------------------- */

static RelnStatus predict_timed(Exp *e, JetsFit *f, double *scores)
{
    const double begin = reln_thread_seconds();

    TRY(find_threshold(e, f));
    TRY(jets_predict(e, f, f->n_test, f->test, NULL, scores));
    f->seconds += reln_thread_seconds() - begin;
    return RELN_OK;
}

static RelnStatus judge_more(Exp *e, JetsFit *f)
{
    TRY(judge_boosts(e, f));
    TRY(judge_changes(e, f));
    return task_draws(f->run->env) ? show_subjets(e, f) : RELN_OK;
}

RelnStatus jets_judge(TaskRun *run, Exp *e, const void *self)
{
    JetsFit copy = *(const JetsFit *)self, *f = &copy;
    JetsScores s;

    TRY(predict_timed(e, f, f->pooled));
    s = scores_of(f, f->pooled, f->n_test);
    TRY(put_numbers(f, &s, f->test));
    run->metrics[JETS_MS] = 1e3 * f->seconds / (double)f->n_test;
    if (is_trained(f) && f->n_validation == 0)
        run->metrics[JETS_CHOSEN] = exp_best_metric(e, f->part, true);
    return judge_more(e, f);
}

/* The results of a fold go into the struct of the run, which all folds share. */
RelnStatus jets_judge_fold(TaskRun *run, Exp *e, const void *self)
{
    JetsFit *f = (JetsFit *)(uintptr_t)self;

    (void)run;
    TRY(predict_timed(e, f, f->scores));
    for (ptrdiff_t i = 0; i < f->n_test; i++)
        f->pooled[f->test[i]] = f->scores[i];
    if (is_trained(f))
        f->best += exp_best_metric(e, f->part, true) / f->data->folds;
    return RELN_OK;
}

RelnStatus jets_judge_fold_first(TaskRun *run, Exp *e, const void *self)
{
    TRY(jets_judge_fold(run, e, self));
    return judge_more(e, (JetsFit *)(uintptr_t)self);
}

/* Evaluates the scores of all folds as those of one classifier, for all jets in the order of the source. */
RelnStatus jets_judge_pooled(JetsFit *f)
{
    const ptrdiff_t n = f->n_train + f->n_test; /* every jet was tested in one of the folds */
    JetsScores s;

    for (ptrdiff_t i = 0; i < n; i++) {
        TRY(jets_source_read(f->run->env, f->source, 1, &i, &f->jets));
        f->labels[i] = f->jets.labels[0];
        f->weights[i] = f->jets.weights[0];
    }
    s = scores_of(f, f->pooled, n);
    TRY(put_numbers(f, &s, NULL));
    f->run->metrics[JETS_MS] = 1e3 * f->seconds / (double)n;
    f->run->metrics[JETS_CHOSEN] = is_trained(f) ? f->best : (double)NAN;
    return RELN_OK;
}

/* ---- remarks -------------------------------------------------------------------------------------------------------- */

/* Returns whether two runs have scores for the same jets. */
static bool same_jets(const TaskCurve *a, const TaskCurve *b)
{
    if (!a || !b || a->n != b->n)
        return false;
    for (ptrdiff_t i = 0; i < a->n; i++)
        if (a->x[i] != b->x[i])
            return false;
    return true;
}

static JetsScores scores_of_curve(const TaskRun *run, const int32_t *labels)
{
    const TaskCurve *c = task_curve_named(run, JETS_CURVE_SCORES);

    return (JetsScores){c->n, c->y, NULL, labels};
}

/* Compares n runs of a row with those of another, which have the same seeds and jets. */
static RelnStatus compare(TaskEnv *env, int n, const TaskRun *const *a, const TaskRun *const *b,
                          double out[3])
{
    const TaskCurve *x = task_curve_named(a[0], JETS_CURVE_SCORES);
    const JetsScale *scale = task_scale(env);
    int32_t *labels = malloc((size_t)x->n * sizeof *labels);
    JetsScores *scores = malloc(2 * (size_t)n * sizeof *scores);
    RelnStatus status = labels && scores ? RELN_OK : task_nomem(env);

    for (ptrdiff_t i = 0; i < x->n && status == RELN_OK; i++)
        labels[i] = x->x[i] != floor(x->x[i]);
    for (int k = 0; k < n && status == RELN_OK; k++) {
        scores[k] = scores_of_curve(a[k], labels);
        scores[n + k] = scores_of_curve(b[k], labels);
    }
    if (status == RELN_OK)
        status =
            jets_compare(env, n, scores, scores + n, scale->draws, (uint64_t)scale->data_seed, out);
    free(scores);
    free(labels);
    return status;
}

/* Returns the finished run of a seed whose row is the first of these names; NULL: there is none. */
static const TaskRun *first_of(const TaskRun *runs, int n_models, int n_seeds, int seed,
                               const char *const *names)
{
    for (; *names; names++)
        for (int m = 0; m < n_models; m++) {
            const TaskRun *run = &runs[m * n_seeds + seed];

            if (run->done && strcmp(run->model->name, *names) == 0)
                return run;
        }
    return NULL;
}

/* Returns the run of a seed with which a row is compared. A pre-trained row is compared with the pre-trained LorentzNet if that was
 * run; any row with LorentzNet trained as our rows are, or else without its clamp, or else as published. */
static const TaskRun *reference(const TaskRun *runs, int n_models, int n_seeds, int seed,
                                const TaskModel *row)
{
    static const char *const names[] = {"lorentznet-drawn-84", "lorentznet-ours-84",
                                        "lorentznet-free-84", "lorentznet-84", NULL};
    const JetsModel *model = row->settings;

    return first_of(runs, n_models, n_seeds, seed, model->drawn > 0 ? names : names + 1);
}

static bool in_mev(const TaskRun *runs, int n)
{
    for (int i = 0; i < n; i++)
        if (runs[i].done && task_curve_named(&runs[i], JETS_CURVE_UNIT))
            return true;
    return false;
}

/* Collects the runs of a row that can be compared with the reference, and the reference's. Returns their number. */
static int comparable(const TaskRun *runs, int n_models, int n_seeds, int model, const TaskRun **a,
                      const TaskRun **b)
{
    int n = 0;

    for (int s = 0; s < n_seeds; s++) {
        const TaskRun *run = &runs[model * n_seeds + s],
                      *other = run->done ? reference(runs, n_models, n_seeds, s, run->model) : NULL;

        if (!other || run == other ||
            !same_jets(task_curve_named(run, JETS_CURVE_SCORES),
                       task_curve_named(other, JETS_CURVE_SCORES)) ||
            (n > 0 && (other->model != b[0]->model ||
                       !same_jets(task_curve_named(run, JETS_CURVE_SCORES),
                                  task_curve_named(a[0], JETS_CURVE_SCORES)))))
            continue;
        a[n] = run;
        b[n++] = other;
    }
    return n;
}

static RelnStatus remark_row(TaskEnv *env, int n, const TaskRun *const *a, const TaskRun *const *b,
                             void (*remark)(void *self, const char *line), void *self)
{
    double d[3];
    char line[256], of[48];

    if (n == 0)
        return RELN_OK;
    TRY(compare(env, n, a, b, d));
    if (n == 1)
        snprintf(of, sizeof of, "seed %llu", (unsigned long long)a[0]->seed);
    else
        snprintf(of, sizeof of, "mean of %d seeds", n);
    snprintf(line, sizeof line,
             "%s, %s: AUC %+.4f against %s, 95 %% of a paired bootstrap from %+.4f to %+.4f",
             a[0]->model->label, of, d[0], b[0]->model->label, d[1], d[2]);
    remark(self, line);
    return RELN_OK;
}

RelnStatus jets_remarks(TaskEnv *env, const TaskRun *runs, int n_models, int n_seeds,
                        void (*remark)(void *self, const char *line), void *self)
{
    const TaskRun **pairs = malloc(2 * (size_t)n_seeds * sizeof *pairs);
    RelnStatus status = pairs ? RELN_OK : task_nomem(env);

    if (in_mev(runs, n_models * n_seeds))
        remark(self, "momenta of the data are in MeV; they were divided by 1000");
    for (int m = 0; m < n_models && status == RELN_OK; m++) {
        const int n = comparable(runs, n_models, n_seeds, m, pairs, pairs + n_seeds);

        status = remark_row(env, n, pairs, pairs + n_seeds, remark, self);
    }
    free(pairs);
    return status;
}
