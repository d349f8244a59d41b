/* The numbers of the jets' table once more: from the scores that a run keeps, and those of rows without training from the
 * jets themselves. Formulas are written out here, pair by pair. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/folder.h"
#include "tasks/files.h"
#include "tasks/jets/judge.h"
#include "tasks/scaled.h"
#include "tasks/settings.h"

/* A few thousand roundings of sums of numbers up to 1. */
#define SUMS 1e-12

enum { MOST = 400, SEED = 20250917 };

/* Scores of a run: jet by jet, and how often each counts. */
typedef struct Listed {
    int n;
    double score[MOST], times[MOST];
    int label[MOST];
} Listed;

static void list(const TaskRun *run, Listed *out)
{
    const TaskCurve *c = task_curve_named(run, JETS_CURVE_SCORES);

    assert_non_null(c);
    assert_true(c->n <= MOST);
    out->n = (int)c->n;
    for (int i = 0; i < out->n; i++) {
        out->score[i] = c->y[i];
        out->label[i] = c->x[i] != floor(c->x[i]);
        out->times[i] = 1;
    }
}

static double accuracy_of(const Listed *s)
{
    double right = 0, all = 0;

    for (int i = 0; i < s->n; i++) {
        right += s->times[i] * ((s->score[i] > 0) == (s->label[i] == 1));
        all += s->times[i];
    }
    return right / all;
}

static double auc_of(const Listed *s)
{
    double right = 0, all = 0;

    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < s->n; j++)
            if (s->label[i] == 1 && s->label[j] == 0) {
                const double pairs = s->times[i] * s->times[j];

                right += pairs * (s->score[i] > s->score[j]   ? 1
                                  : s->score[i] < s->score[j] ? 0
                                                              : 0.5);
                all += pairs;
            }
    return right / all;
}

/* Efficiencies of both classes for scores from `least` on. */
static void passing(const Listed *s, double least, double efficiency[2], int *background)
{
    int passed[2] = {0, 0}, all[2] = {0, 0};

    for (int i = 0; i < s->n; i++) {
        passed[s->label[i]] += s->score[i] >= least;
        all[s->label[i]]++;
    }
    for (int k = 0; k < 2; k++)
        efficiency[k] = (double)passed[k] / all[k];
    *background = passed[0];
}

/* 1 / (background efficiency) at the threshold whose signal efficiency is the nearest; the higher threshold where two
 * are equally near; NAN for fewer than ten background jets. */
static double rejection_of(const Listed *s, double signal)
{
    double nearest = signal, above = HUGE_VAL, best = (double)NAN; /* nothing passes: 0 */

    for (int i = 0; i < s->n; i++) {
        double e[2], off;
        int count;

        passing(s, s->score[i], e, &count);
        off = fabs(e[1] - signal);
        if (off < nearest || (off == nearest && s->score[i] > above)) {
            nearest = off;
            above = s->score[i];
            best = count >= 10 ? 1 / e[0] : (double)NAN;
        }
    }
    return best;
}

static void assert_equal_or_nan(double got, double want)
{
    if (isnan(want))
        assert_true(isnan(got));
    else
        assert_small(got - want, SUMS * fmax(1, fabs(want)));
}

/* The deviation of numbers over as many draws with replacement. */
static void check_errors(const TaskRun *run, Listed *s, int draws)
{
    RelnRng rng = reln_rng(SEED, 0);
    double mean[2] = {0, 0}, square[2] = {0, 0}, value[2][64];

    assert_true(draws <= 64);
    for (int d = 0; d < draws; d++) {
        memset(s->times, 0, sizeof s->times);
        for (int i = 0; i < s->n; i++)
            s->times[reln_rng_below(&rng, (uint64_t)s->n)] += 1;
        value[0][d] = accuracy_of(s);
        value[1][d] = auc_of(s);
        for (int k = 0; k < 2; k++)
            mean[k] += value[k][d] / draws;
    }
    for (int k = 0; k < 2; k++) {
        for (int d = 0; d < draws; d++)
            square[k] += pow(value[k][d] - mean[k], 2) / (draws - 1);
        assert_small(run->metrics[k ? JETS_AUC_ERROR : JETS_ACCURACY_ERROR] - sqrt(square[k]),
                     1e-6);
    }
}

static void check_curve(const TaskRun *run, const Listed *s)
{
    const TaskCurve *roc = task_curve_named(run, JETS_CURVE_ROC);

    assert_non_null(roc);
    assert_true(roc->n > 5);
    for (ptrdiff_t p = 0; p < roc->n; p++) {
        double off = HUGE_VAL, e[2];
        int count;

        for (int i = 0; i < s->n; i++) {
            passing(s, s->score[i], e, &count);
            if (count > 0)
                off = fmin(off, fabs(e[1] - roc->x[p]) + fabs(1 / e[0] - roc->y[p]));
        }
        assert_true(off < SUMS * fmax(1, roc->y[p]));
    }
}

static void check_numbers(const TaskRun *run, int draws)
{
    static Listed s;
    const double at[] = {0.3, 0.5, 0.7, 0.8, 0.9};

    list(run, &s);
    assert_small(run->metrics[JETS_ACCURACY] - accuracy_of(&s), SUMS);
    assert_small(run->metrics[JETS_AUC] - auc_of(&s), SUMS);
    for (int i = 0; i < 5; i++)
        assert_equal_or_nan(run->metrics[JETS_AT_30 + i], rejection_of(&s, at[i]));
    check_curve(run, &s);
    check_errors(run, &s, draws);
}

/* ---- rows without training ------------------------------------------------------------------------------------------ */

/* The scores of jets in a view, before a threshold is taken from them. */
static void simple(Scaled *t, bool mass, const Jets *jets, const JetsView *view, double *out)
{
    JetsBatch batch;

    assert_ok(t->env.ctx, jets_batch_init(&t->env, &t->env.rooms, jets->n, 0, &batch));
    jets_batch_fill(&batch, jets, view);
    for (ptrdiff_t i = 0; i < jets->n; i++) {
        const double *p = batch.total + 4 * i;
        const double square = p[0] * p[0] - p[1] * p[1] - p[2] * p[2] - p[3] * p[3];

        out[i] = mass ? -fabs(sqrt(fmax(0, square)) - 173) : batch.counts[i] - 2;
    }
}

/* Returns the threshold that gives the most right answers if jets above it count as tops; the first one on ties. */
static double threshold_of(ptrdiff_t n, const double *score, const int32_t *label)
{
    double threshold = 0;
    int best = -1;

    for (ptrdiff_t i = 0; i < n; i++) {
        int right = 0;

        for (ptrdiff_t k = 0; k < n; k++)
            right += (score[k] > score[i]) == (label[k] == 1);
        if (right > best) {
            best = right;
            threshold = score[i];
        }
    }
    return threshold;
}

static void first_jets(Scaled *t, const Jets *from, int n, Jets *out)
{
    assert_ok(t->env.ctx, jets_init(&t->env, &t->env.rooms, n, (ptrdiff_t)n * JETS_MOST, 0, out));
    for (int i = 0; i < n; i++)
        assert_true(jets_add(out, from->counts[i], from->p + 4 * jets_first(from, i), NULL,
                             from->labels[i], from->weights[i]));
}

/* The area for the first jets in a view, by one of the curves. */
static void check_view(Scaled *t, const TaskRun *run, bool mass, const char *curve, double x,
                       const JetsView *view, const Jets *jets)
{
    const TaskCurve *c = task_curve_named(run, curve);
    Listed s = {.n = (int)jets->n};

    assert_non_null(c);
    simple(t, mass, jets, view, s.score);
    for (int i = 0; i < s.n; i++) {
        s.label[i] = jets->labels[i];
        s.times[i] = 1;
    }
    for (ptrdiff_t i = 0; i < c->n; i++)
        if (c->x[i] == x) {
            /* a few jets may change places by rounding: none did */
            assert_small(c->y[i] - auc_of(&s), SUMS);
            return;
        }
    fail_msg("%s has no point at %g", curve, x);
}

static void check_views(Scaled *t, const TaskRun *run, bool mass, const Jets *jets)
{
    const int soft[] = {0, 5, 10, 20, 40}, hardest[] = {5, 10, 20, 40, 80, 200};
    const double split[] = {0, 0.1, 0.3, 0.6, 1};

    for (int i = 0; i < 5; i++)
        check_view(t, run, mass, JETS_CURVE_SOFT, soft[i],
                   &(JetsView){.soft = soft[i], .soft_share = soft[i] / 1000.0, .seed = 5}, jets);
    for (int i = 0; i < 5; i++)
        check_view(t, run, mass, JETS_CURVE_SPLIT, split[i],
                   &(JetsView){.split = split[i], .seed = 6}, jets);
    for (int i = 0; i < 6; i++)
        check_view(t, run, mass, JETS_CURVE_HARDEST, hardest[i], &(JetsView){.hardest = hardest[i]},
                   jets);
}

static double change_of(Scaled *t, bool mass, const Jets *jets, const double *frame)
{
    double before[MOST], after[MOST], most = 0;

    simple(t, mass, jets, NULL, before);
    simple(t, mass, jets, &(JetsView){.frame = frame}, after);
    for (ptrdiff_t i = 0; i < jets->n; i++)
        most = fmax(most, fabs(before[i] - after[i]));
    return most;
}

/* Boosts along x by six velocities, then rotations and boosts in random directions: the largest change of a score. */
static void check_moved(Scaled *t, const TaskRun *run, bool mass, double threshold,
                        const Jets *jets, int frames)
{
    const double velocity[] = {0.1, 0.3, 0.5, 0.7, 0.9, 0.99};
    const TaskCurve *change = task_curve_named(run, JETS_CURVE_BOOST_CHANGE),
                    *accuracy = task_curve_named(run, JETS_CURVE_BOOST_ACCURACY),
                    *stay = task_curve_named(run, JETS_CURVE_BOOST_STAY);
    RelnRng rng = reln_rng(SEED, 77);
    double frame[16], most = 0, score[MOST];

    assert_true(change && accuracy && stay && change->n == 6 && accuracy->n == 6 && stay->n == 6);
    for (int v = 0; v < 6; v++) {
        int right = 0;
        double moved;

        jets_boost(0, velocity[v], frame);
        moved = change_of(t, mass, jets, frame);
        simple(t, mass, jets, &(JetsView){.frame = frame}, score);
        for (ptrdiff_t i = 0; i < jets->n; i++)
            right += (score[i] - threshold > 0) == (jets->labels[i] == 1);
        assert_true(change->x[v] == velocity[v] && accuracy->x[v] == velocity[v]);
        /* the threshold is subtracted there, which rounds numbers of its size */
        assert_small(change->y[v] - fmax(moved, 1e-16), 1e-13 * fmax(1, fabs(threshold)));
        assert_small(accuracy->y[v] - (double)right / (double)jets->n, SUMS);
        assert_small(stay->y[v] - accuracy->y[v], 0); /* these rows have no beams */
        most = fmax(most, moved);
    }
    for (int i = 0; i < frames; i++) {
        jets_random_frame(&rng, 0.99 * reln_rng_uniform(&rng), frame);
        most = fmax(most, change_of(t, mass, jets, frame));
    }
    assert_small(run->metrics[JETS_MOVED] - most, 1e-13 * fmax(1, fabs(threshold)));
}

static void rows_without_training_are_what_they_say(void **state)
{
    enum { TEST = 150, BOOSTED = 20, FRAMES = 12, DRAWS = 20 };
    Scaled t;

    (void)state;
    scaled_init(&t, "jets");
    scaled_set(&t, "test", TEST);
    scaled_set(&t, "boosted", BOOSTED);
    scaled_set(&t, "frames", FRAMES);
    scaled_open(&t);
    for (int mass = 0; mass < 2; mass++) {
        const JetsData *d = t.data;
        const Jets *train = &d->toy[JETS_TRAIN], *test = &d->toy[JETS_TEST];
        double known[MOST], asked[MOST], threshold;
        static Listed s;
        Jets some, few;
        TaskRun run;

        scaled_run(&t, mass ? "mass" : "count", &run);
        check_numbers(&run, DRAWS);
        simple(&t, mass, train, NULL, known);
        simple(&t, mass, test, NULL, asked);
        threshold = threshold_of(train->n, known, train->labels);
        list(&run, &s);
        assert_int_equal(s.n, TEST);
        for (int i = 0; i < TEST; i++) {
            assert_int_equal(s.label[i], test->labels[i]);
            assert_small(s.score[i] - (asked[i] - threshold), 1e-9);
        }
        first_jets(&t, test, 5 * BOOSTED, &some);
        check_views(&t, &run, mass, &some);
        first_jets(&t, test, BOOSTED, &few);
        check_moved(&t, &run, mass, threshold, &few, FRAMES);
        assert_true(isnan(run.metrics[JETS_CHOSEN]) || run.metrics[JETS_CHOSEN] == 0);
        task_run_clear(&run);
    }
    scaled_close(&t);
}

/* Makes every test jet a narrow bundle along x. Its mass is the difference of two squares that are 1e8 times larger, so each frame
 * rounds it to another number. */
static void narrow(Jets *jets)
{
    ptrdiff_t at = 0;

    for (ptrdiff_t i = 0; i < jets->n; at += jets->counts[i++])
        for (int k = 0; k < jets->counts[i]; k++) {
            double *p = jets->p + 4 * (at + k);
            const double angle = 1e-4 * (k % 2 ? 1 : -1) * (double)(1 + i % 5);

            p[1] = p[0] * cos(angle);
            p[2] = p[0] * sin(angle);
            p[3] = 0;
        }
}

/* The largest change of a mass in a frame. Squares are those of jets_dot(), so that they are rounded as in a run. */
static double rounding_of(Scaled *t, const Jets *jets, const double *frame)
{
    double mass[2][MOST], most = 0;
    JetsBatch batch;

    assert_ok(t->env.ctx, jets_batch_init(&t->env, &t->env.rooms, jets->n, 0, &batch));
    for (int moved = 0; moved < 2; moved++) {
        jets_batch_fill(&batch, jets, moved ? &(JetsView){.frame = frame} : NULL);
        for (ptrdiff_t i = 0; i < jets->n; i++)
            mass[moved][i] = sqrt(fmax(0, jets_dot(batch.total + 4 * i, batch.total + 4 * i)));
    }
    for (ptrdiff_t i = 0; i < jets->n; i++)
        most = fmax(most, fabs(mass[1][i] - mass[0][i]));
    return most;
}

/* The number of frames after which the largest change of a mass is that of the last frame. */
static int frames_until_record(Scaled *t, const Jets *jets, int most_frames, double *record)
{
    const double velocity[] = {0.1, 0.3, 0.5, 0.7, 0.9, 0.99};
    RelnRng rng = reln_rng(SEED, 77);
    double frame[16], most = 0;
    int last = 0;

    for (int v = 0; v < 6; v++) {
        jets_boost(0, velocity[v], frame);
        most = fmax(most, rounding_of(t, jets, frame));
    }
    for (int i = 1; i <= most_frames; i++) {
        double moved;

        jets_random_frame(&rng, 0.99 * reln_rng_uniform(&rng), frame);
        moved = rounding_of(t, jets, frame);
        if (moved > most + 1e-10) {
            last = i;
            most = moved;
        }
    }
    *record = most;
    return last;
}

/* The largest change is sought in all random frames, the last one too. */
static void the_last_frame_is_judged(void **state)
{
    enum { TEST = 150, BOOSTED = 20, FRAMES = 12 };
    double record = 0;
    int frames = FRAMES;

    (void)state;
    for (int pass = 0; pass < 2;
         pass++) { /* the second run has as many frames as the record needs */
        JetsData *d;
        TaskRun run;
        Scaled t;
        Jets few;

        scaled_init(&t, "jets");
        scaled_set(&t, "test", TEST);
        scaled_set(&t, "boosted", BOOSTED);
        scaled_set(&t, "frames", frames);
        scaled_open(&t);
        d = t.data;
        narrow(&d->toy[JETS_TEST]);
        scaled_run(&t, "mass", &run);
        first_jets(&t, &d->toy[JETS_TEST], BOOSTED, &few);
        frames = frames_until_record(&t, &few, frames, &record);
        assert_true(frames > 0);
        /* scores are near -173, so that taking a threshold from them rounds by 3e-14 */
        assert_small(run.metrics[JETS_MOVED] - record, 1e-12);
        task_run_clear(&run);
        scaled_close(&t);
    }
}

/* Every jet is judged once, with the threshold of the jets outside of its fold. */
static void folds_judge_every_jet_once(void **state)
{
    enum { FOLDS = 3, N = 88 };
    double value[N], want[N];
    int32_t label[N];
    static Listed s;
    TaskRun run;
    Scaled t;
    int at = 0;

    (void)state;
    scaled_init(&t, "jets");
    scaled_option(&t, "folds", "3");
    scaled_open(&t);
    for (int set = 0; set < JETS_SETS; set++) {
        const Jets *jets = &((const JetsData *)t.data)->toy[set];

        assert_true(at + jets->n <= N);
        simple(&t, false, jets, NULL, value + at);
        memcpy(label + at, jets->labels, (size_t)jets->n * sizeof *label);
        at += (int)jets->n;
    }
    assert_int_equal(at, N);
    for (int fold = 0; fold < FOLDS; fold++) {
        double outside[N], threshold;
        int32_t labels[N];
        int n = 0;

        for (ptrdiff_t i = 0, jet; i < N; i++) {
            reln_shuffle(SEED, 0, N, i, 1, &jet);
            if (i % FOLDS != fold) {
                outside[n] = value[jet];
                labels[n++] = label[jet];
            }
        }
        threshold = threshold_of(n, outside, labels);
        for (ptrdiff_t i = fold, jet; i < N; i += FOLDS) {
            reln_shuffle(SEED, 0, N, i, 1, &jet);
            want[jet] = value[jet] - threshold;
        }
    }
    scaled_run(&t, "count", &run);
    check_numbers(&run, 20);
    list(&run, &s);
    assert_int_equal(s.n, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(s.label[i], label[i]);
        assert_small(s.score[i] - want[i], SUMS);
    }
    task_run_clear(&run);
    scaled_close(&t);
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */

/* Writes a set of generated jets as a file of the benchmark's layout. */
static void write_set(RelnCtx *ctx, const Jets *jets, bool turned, const char *path)
{
    double *p = calloc((size_t)jets->n * JETS_MOST * 4, sizeof *p);
    int64_t count[MOST], label[MOST];
    const RelnArray arrays[] = {
        {.name = "Pmu", .dtype = RELN_F64, .rank = 3, .dims = {jets->n, JETS_MOST, 4}, .values = p},
        {"Nobj", RELN_I64, 1, {jets->n}, .values = count},
        {"is_signal", RELN_I64, 1, {jets->n}, .values = label}};
    ptrdiff_t at = 0;

    assert_true(p && jets->n <= MOST);
    for (ptrdiff_t i = 0; i < jets->n; at += jets->counts[i++]) {
        count[i] = jets->counts[i];
        label[i] = turned ? 1 - jets->labels[i] : jets->labels[i];
        memcpy(p + i * JETS_MOST * 4, jets->p + 4 * at, (size_t)jets->counts[i] * 4 * sizeof *p);
    }
    assert_ok(ctx, reln_npz_save(ctx, path, 3, arrays));
    free(p);
}

static const char *const files[JETS_SETS] = {"train.npz", "val.npz", "test.npz"};

/* Generated jets in three files; without the second where it is not wanted. */
static void write_sets(const Scaled *from, const Folder *f, bool validation, bool turned)
{
    const JetsData *d = from->data;

    for (int s = 0; s < JETS_SETS; s++)
        if (s != JETS_VALIDATION || validation)
            write_set(from->env.ctx, &d->toy[s], turned && s == JETS_VALIDATION,
                      path_in(f, files[s]));
}

static void remove_sets(const Folder *f)
{
    for (int s = 0; s < JETS_SETS; s++)
        unlink(path_in(f, files[s]));
}

/* Files are kept apart: the first jets of each, as many as the scale allows, and all where it sets no limit. */
static void files_are_cut_to_the_scale(void **state)
{
    enum { TRAIN = 60, VALIDATION = 20, TEST = 50, LIMIT = 24 };
    const Folder *f = *state;
    double known[MOST], asked[MOST];
    static Listed s;
    Scaled made;

    scaled_init(&made, "jets");
    scaled_set(&made, "train", TRAIN);
    scaled_set(&made, "validation", VALIDATION);
    scaled_set(&made, "test", TEST);
    scaled_open(&made);
    write_sets(&made, f, true, false);
    for (int limit = 0; limit <= LIMIT; limit += LIMIT) {
        const JetsData *d = made.data;
        const Jets *train = &d->toy[JETS_TRAIN], *test = &d->toy[JETS_TEST];
        const int n_train = limit ? LIMIT : TRAIN, n_test = limit ? LIMIT : TEST;
        double threshold;
        TaskRun run;
        Scaled t;

        scaled_init(&t, "jets");
        scaled_option(&t, "data", f->directory);
        scaled_set(&t, "most", limit);
        scaled_open(&t);
        scaled_run(&t, "count", &run);
        list(&run, &s);
        assert_int_equal(s.n, n_test);
        simple(&made, false, train, NULL, known);
        simple(&made, false, test, NULL, asked);
        threshold = threshold_of(n_train, known, train->labels);
        for (int i = 0; i < n_test; i++) {
            assert_int_equal(s.label[i], test->labels[i]);
            assert_small(s.score[i] - (asked[i] - threshold), 1e-9);
        }
        task_run_clear(&run);
        scaled_close(&t);
    }
    scaled_close(&made);
    remove_sets(f);
}

/* Writes a set in MeV, with weights of 1 for tops and 3 for the others. */
static void write_weighted(RelnCtx *ctx, const Jets *jets, const char *path)
{
    double *p = calloc((size_t)jets->n * JETS_MOST * 4, sizeof *p), weight[MOST];
    int64_t count[MOST], label[MOST];
    const RelnArray arrays[] = {
        {.name = "Pmu", .dtype = RELN_F64, .rank = 3, .dims = {jets->n, JETS_MOST, 4}, .values = p},
        {"Nobj", RELN_I64, 1, {jets->n}, .values = count},
        {"is_signal", RELN_I64, 1, {jets->n}, .values = label},
        {"w", RELN_F64, 1, {jets->n}, .values = weight}};
    ptrdiff_t at = 0;

    assert_true(p && jets->n <= MOST);
    for (ptrdiff_t i = 0; i < jets->n; at += jets->counts[i++]) {
        count[i] = jets->counts[i];
        label[i] = jets->labels[i];
        weight[i] = label[i] ? 1 : 3;
        for (int k = 0; k < 4 * jets->counts[i]; k++)
            p[i * JETS_MOST * 4 + k] = 1000 * jets->p[4 * at + k];
    }
    assert_ok(ctx, reln_npz_save(ctx, path, 4, arrays));
    free(p);
}

/* Opens the files of a folder, or one file, and runs a row without training. */
static void run_files(const char *path, const char *weights, const char *row, TaskRun *run,
                      Scaled *t)
{
    scaled_init(t, "jets");
    scaled_option(t, "data", path);
    if (weights)
        scaled_option(t, "weights", weights);
    scaled_set(t, "most", 0);
    scaled_open(t);
    scaled_run(t, row, run);
}

/* With a file of validation jets and none of test jets, those are judged. One file alone is judged in five folds, each jet by
 * the threshold of the others. */
static void missing_files_are_made_up_for(void **state)
{
    enum { TRAIN = 40, VALIDATION = 20 };
    const Folder *f = *state;
    const JetsData *d;
    static Listed s;
    Scaled made, t;
    TaskRun run;

    scaled_init(&made, "jets");
    scaled_set(&made, "train", TRAIN);
    scaled_set(&made, "validation", VALIDATION);
    scaled_open(&made);
    d = made.data;
    for (int k = 0; k < 2; k++)
        write_set(made.env.ctx, &d->toy[k], false, path_in(f, files[k]));
    run_files(f->directory, NULL, "count", &run, &t);
    list(&run, &s);
    assert_int_equal(s.n, VALIDATION);
    for (int i = 0; i < s.n; i++)
        assert_int_equal(s.label[i], d->toy[JETS_VALIDATION].labels[i]);
    assert_int_equal(((const JetsData *)t.data)->folds, 0);
    task_run_clear(&run);
    scaled_close(&t);

    run_files(path_in(f, files[0]), NULL, "count", &run, &t);
    list(&run, &s);
    assert_int_equal(s.n, TRAIN);
    for (int i = 0; i < s.n; i++)
        assert_int_equal(s.label[i], d->toy[JETS_TRAIN].labels[i]);
    assert_int_equal(((const JetsData *)t.data)->folds, 5);
    task_run_clear(&run);
    scaled_close(&t);
    scaled_close(&made);
    remove_sets(f);
}

/* Jets in MeV have the scores of the same jets in GeV, and the run says so; a jet counts as often as its weight. */
static void units_and_weights_of_files_count(void **state)
{
    enum { TRAIN = 40, TEST = 30, GEV = 0, MEV };
    const Folder *f = *state;
    static Listed s[2];
    Scaled made;

    scaled_init(&made, "jets");
    scaled_set(&made, "train", TRAIN);
    scaled_set(&made, "test", TEST);
    scaled_open(&made);
    for (int unit = GEV; unit <= MEV; unit++) {
        const JetsData *d = made.data;
        const TaskCurve *told;
        TaskRun run;
        Scaled t;

        for (int k = JETS_TRAIN; k <= JETS_TEST; k += JETS_TEST - JETS_TRAIN)
            if (unit == MEV)
                write_weighted(made.env.ctx, &d->toy[k], path_in(f, files[k]));
            else
                write_set(made.env.ctx, &d->toy[k], false, path_in(f, files[k]));
        run_files(f->directory, unit == MEV ? "w" : NULL, "mass", &run, &t);
        list(&run, &s[unit]);
        assert_int_equal(s[unit].n, TEST);
        for (int i = 0; i < TEST; i++)
            s[unit].times[i] = unit == MEV && !s[unit].label[i] ? 3 : 1;
        assert_small(run.metrics[JETS_ACCURACY] - accuracy_of(&s[unit]), SUMS);
        assert_small(run.metrics[JETS_AUC] - auc_of(&s[unit]), SUMS);
        told = task_curve_named(&run, JETS_CURVE_UNIT);
        assert_int_equal(told != NULL, unit == MEV);
        if (told)
            assert_true(told->n == 1 && told->y[0] == 1e-3);
        task_run_clear(&run);
        scaled_close(&t);
    }
    for (int i = 0; i < TEST; i++) /* masses of some hundred GeV, from sums of a hundred numbers */
        assert_small(s[MEV].score[i] - s[GEV].score[i], 1e-8);
    scaled_close(&made);
    remove_sets(f);
}

/* Validation jets with the wrong labels choose the weights of an early epoch. Without validation jets the last weights are
 * judged, which are the same ones for the same training jets. */
static void validation_chooses_the_epoch(void **state)
{
    enum { WITHOUT, TURNED, CASES };
    const Folder *f = *state;
    static Listed s[CASES];
    Scaled made;

    scaled_init(&made, "jets");
    scaled_set(&made, "train", 200);
    scaled_set(&made, "validation", 100);
    scaled_open(&made);
    for (int k = 0; k < CASES; k++) {
        TaskRun run;
        Scaled t;

        write_sets(&made, f, k == TURNED, true);
        scaled_init(&t, "jets");
        scaled_option(&t, "data", f->directory);
        scaled_set(&t, "most", 0);
        scaled_set(&t, "epochs", 6);
        scaled_open(&t);
        scaled_run(&t, "mlp", &run);
        list(&run, &s[k]);
        task_run_clear(&run);
        scaled_close(&t);
    }
    assert_int_equal(s[WITHOUT].n, s[TURNED].n);
    assert_true(auc_of(&s[WITHOUT]) > auc_of(&s[TURNED]));
    scaled_close(&made);
    remove_sets(f);
}

/* Trains the small network on jets, of a folder if there is one; *settings is freed by the caller. */
static void train_small(const char *option, const char *folder, bool weighted, Listed *out,
                        char **settings)
{
    TaskRun run;
    Scaled t;

    scaled_init(&t, "jets");
    scaled_option(&t, option, folder);
    scaled_option(&t, "match-mass", weighted && strcmp(option, "save") == 0 ? "yes" : "no");
    if (weighted && strcmp(option, "data") == 0)
        scaled_option(&t, "weights", "weight");
    scaled_set(&t, "train", 100);
    scaled_set(&t, "most", 0);
    scaled_open(&t);
    scaled_run(&t, "mlp", &run);
    list(&run, out);
    *settings = task_settings_text(&run);
    assert_non_null(*settings);
    task_run_clear(&run);
    scaled_close(&t);
}

/* Generated jets that were saved train the same network as the ones that were not, weights included; and saving changes no
 * setting, so that a run with it is not made again without it. */
static void saved_jets_are_the_generated_ones(void **state)
{
    const Folder *f = *state;
    static Listed drawn, read;
    char *settings, *others, folder[1024];

    snprintf(folder, sizeof folder, "%s/saved", f->directory);
    for (int weighted = 0; weighted < 2; weighted++) {
        train_small("save", folder, weighted, &drawn, &settings);
        train_small("data", folder, weighted, &read, &others);
        assert_int_equal(drawn.n, read.n);
        for (int i = 0; i < drawn.n; i++) {
            assert_int_equal(drawn.label[i], read.label[i]);
            assert_true(drawn.score[i] == read.score[i]);
        }
        assert_null(strstr(settings, "saved"));
        assert_non_null(strstr(settings, "\"save\": \"\""));
        free(settings);
        free(others);
    }
    for (int s = 0; s < JETS_SETS; s++)
        unlink(path_in(
            f, (const char *const[]){"saved/train.npz", "saved/val.npz", "saved/test.npz"}[s]));
    assert_int_equal(rmdir(folder), 0);
}

/* Jets of files are not saved again. */
static void jets_of_files_are_not_saved(void **state)
{
    const Folder *f = *state;
    Scaled t, made;

    scaled_init(&made, "jets");
    scaled_open(&made);
    write_sets(&made, f, true, false);
    scaled_init(&t, "jets");
    scaled_option(&t, "data", f->directory);
    scaled_option(&t, "save", f->directory);
    assert_int_equal(reln_ctx_create(NULL, &t.env.ctx), RELN_OK);
    assert_int_equal(t.task.prepare(&t.env, &t.data), RELN_ERR_ARG);
    assert_non_null(strstr(t.env.message, "--save is for generated jets, and --data has the jets"));
    scaled_close(&t);
    scaled_close(&made);
    remove_sets(f);
}

/* ---- trained rows ---------------------------------------------------------------------------------------------------- */

static double largest(const TaskRun *run, const char *name)
{
    const TaskCurve *c = task_curve_named(run, name);
    double most = 0;

    assert_non_null(c);
    for (ptrdiff_t i = 0; i < c->n; i++)
        most = fmax(most, c->y[i]);
    return most;
}

/* A network that keeps the symmetry is moved by rounding where the beams move with the jet, and by more where they stay. */
static void trained_rows_have_the_numbers_of_their_scores(void **state)
{
    TaskRun run;
    Scaled t;

    (void)state;
    scaled_init(&t, "jets");
    scaled_open(&t);
    scaled_run(&t, "lorentznet-free-84", &run);
    check_numbers(&run, 20);
    /* curves show a change of 0 as 1e-16 */
    assert_true(run.metrics[JETS_MOVED] >= largest(&run, JETS_CURVE_BOOST_CHANGE) - 1e-16);
    assert_true(run.metrics[JETS_MOVED] < largest(&run, JETS_CURVE_BOOST_STAY_CHANGE) / 4);
    assert_true(largest(&run, JETS_CURVE_BOOST_STAY_CHANGE) > 1e-9);
    task_run_clear(&run);
    scaled_close(&t);

    scaled_init(&t, "jets");
    scaled_option(&t, "folds", "3");
    scaled_open(&t);
    scaled_run(&t, "mlp", &run);
    check_numbers(&run, 20);
    /* the mean over folds of the best shares of right answers: none is below that of the larger class, about a half */
    assert_true(run.metrics[JETS_CHOSEN] > 0.3 && run.metrics[JETS_CHOSEN] <= 1);
    /* a fold has no validation jets, and its page does not speak of any */
    assert_null(task_curve_named(&run, "validation accuracy"));
    assert_non_null(task_curve_named(&run, "accuracy on the judged jets"));
    task_run_clear(&run);
    scaled_close(&t);
}

/* ---- pre-training ---------------------------------------------------------------------------------------------------- */

enum {
    DRAWN = 128,
    ROUNDS = 2
}; /* four times the 32 jets of scale smoke, and epochs of pre-training */
static int times_drawn[DRAWN], n_drawn;
static bool drawn_wrongly;

RelnStatus __real_jets_toy_fill(TaskEnv *env, const JetsToy *toy, uint64_t seed, uint64_t first,
                                ptrdiff_t n, Jets *out);
RelnStatus __wrap_jets_toy_fill(TaskEnv *env, const JetsToy *toy, uint64_t seed, uint64_t first,
                                ptrdiff_t n, Jets *out);

/* Counts how often each generated jet of pre-training is drawn. */
RelnStatus __wrap_jets_toy_fill(TaskEnv *env, const JetsToy *toy, uint64_t seed, uint64_t first,
                                ptrdiff_t n, Jets *out)
{
    if (first >= JETS_TOY_PRETRAINING) {
        const uint64_t jet = first - JETS_TOY_PRETRAINING;

        drawn_wrongly = drawn_wrongly || n != 1 || jet >= DRAWN || toy->match_mass;
        times_drawn[jet % DRAWN] += 1;
        n_drawn += (int)n;
        /* each epoch has every jet once */
        if (n_drawn % DRAWN == 0)
            for (int i = 0; i < DRAWN; i++)
                drawn_wrongly = drawn_wrongly || times_drawn[i] != n_drawn / DRAWN;
    }
    return __real_jets_toy_fill(env, toy, seed, first, n, out);
}

static void run_row(Scaled *t, const char *row, int epochs, TaskRun *run)
{
    memset(times_drawn, 0, sizeof times_drawn);
    n_drawn = 0;
    scaled_init(t, "jets");
    scaled_set(t, "epochs", epochs);
    scaled_set(t, "test", 8);
    scaled_open(t);
    scaled_run(t, row, run);
}

/* A pre-trained row sees each of its generated jets once in an epoch, none of which is a jet of the sets, and then trains for a third
 * of the epochs. The other rows draw no such jets, and do not end with the same scores. */
static void pretraining_draws_further_jets(void **state)
{
    static Listed with, without;
    TaskRun run;
    Scaled t;

    (void)state;
    run_row(&t, "lorentznet-drawn-84", ROUNDS, &run);
    assert_int_equal(n_drawn, ROUNDS * DRAWN);
    assert_false(drawn_wrongly);
    assert_int_equal(task_curve_named(&run, "training loss, generated jets")->n, ROUNDS);
    assert_int_equal(task_curve_named(&run, "validation accuracy")->n, 1);
    list(&run, &with);
    task_run_clear(&run);
    scaled_close(&t);

    run_row(&t, "lorentznet-ours-84", 1, &run);
    assert_int_equal(n_drawn, 0);
    assert_null(task_curve_named(&run, "training loss, generated jets"));
    list(&run, &without);
    task_run_clear(&run);
    scaled_close(&t);
    assert_int_equal(with.n, without.n);
    for (int i = 0; i < with.n; i++)
        assert_true(with.score[i] != without.score[i]);
}

/* ---- subjets --------------------------------------------------------------------------------------------------------- */

enum { TOPS = 3, MOST_SUBJETS = 16 };
static double shares[TOPS][(JETS_MOST + JETS_BEAMS) * MOST_SUBJETS]; /* of subjets, by row */
static int n_shown, n_subjets;

RelnStatus __real_exp_predict(Exp *e, int plan, const ExpSet *set, double *out);
RelnStatus __wrap_exp_predict(Exp *e, int plan, const ExpSet *set, double *out);

/* Stores the network's answer about the subjets of the first jets that are shown. */
RelnStatus __wrap_exp_predict(Exp *e, int plan, const ExpSet *set, double *out)
{
    TRY(__real_exp_predict(e, plan, set, out));
    if (plan == EXP_OTHER && n_shown < TOPS)
        memcpy(shares[n_shown++], out, (size_t)(set->rows[0].counts[0] * n_subjets) * sizeof *out);
    return RELN_OK;
}

/* Asserts that a particle is drawn with the subjet that has most of it. */
static void check_particle(const TaskRun *run, int jet, const double *p, const double *total, int c,
                           const double *share)
{
    const double x = jets_eta(p) - jets_eta(total), y = jets_turn(jets_phi(p), jets_phi(total));
    const TaskCurve *curve;
    char name[64];
    int best = 0;
    bool there = false;

    for (int s = 1; s < c; s++)
        best = share[s] > share[best] ? s : best;
    snprintf(name, sizeof name, "soft subjets of top jet %d%c%d", jet + 1, TASK_SERIES, best + 1);
    curve = task_curve_named(run, name);
    assert_non_null(curve);
    for (ptrdiff_t i = 0; i < curve->n; i++)
        there = there || (fabs(curve->x[i] - x) < 1e-9 && fabs(curve->y[i] - y) < 1e-9);
    assert_true(there);
}

/* The page shows the particles of the first three tops around their axes; jets of background are not shown. */
static void particles_of_tops_are_shown_in_their_subjets(void **state)
{
    const Jets *test;
    ptrdiff_t first = 0, points = 0, drawn = 0;
    TaskRun run;
    Scaled t;
    int c, tops = 0;

    (void)state;
    scaled_init(&t, "jets");
    scaled_open(&t);
    test = &((const JetsData *)t.data)->toy[JETS_TEST];
    c = ((const JetsModel *)task_model(&t.task, "subjets-84")->settings)->subjets;
    assert_true(c > 1 && c <= MOST_SUBJETS);
    n_shown = 0;
    n_subjets = c;
    scaled_run(&t, "subjets-84", &run);
    assert_int_equal(n_shown, TOPS);
    for (ptrdiff_t j = 0; j < test->n && tops < TOPS; first += test->counts[j++]) {
        double total[4];

        if (test->labels[j] != 1)
            continue;
        jets_sum(test->counts[j], test->p + 4 * first, total);
        for (int i = 0; i < test->counts[j]; i++)
            check_particle(&run, tops, test->p + 4 * (first + i), total, c,
                           shares[tops] + (JETS_BEAMS + i) * c);
        points += test->counts[j];
        tops++;
    }
    for (const TaskCurve *curve = run.curves; curve; curve = curve->next)
        drawn += strncmp(curve->name, "soft subjets", 12) == 0 ? curve->n : 0;
    assert_int_equal(drawn, points);
    task_run_clear(&run);
    scaled_close(&t);
}

/* ---- two rows -------------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Both rows are judged on the same draws; the interval leaves out a fortieth of them at either end. */
static void two_rows_are_compared_draw_by_draw(void **state)
{
    enum { N = 60, DRAWS = 201 };
    RelnRng numbers = reln_rng(5, 5), rng = reln_rng(9, 1);
    double got[3], differences[DRAWS];
    int32_t labels[N];
    static Listed a, b;
    Scaled t;

    (void)state;
    scaled_init(&t, "jets");
    scaled_open(&t);
    a.n = b.n = N;
    for (int i = 0; i < N; i++) {
        labels[i] = a.label[i] = b.label[i] = i % 3 == 0;
        a.score[i] = floor(8 * reln_rng_uniform(&numbers)) + 2 * labels[i];
        b.score[i] = floor(8 * reln_rng_uniform(&numbers)) + labels[i];
        a.times[i] = b.times[i] = 1;
    }
    const JetsScores first = {N, a.score, NULL, labels}, second = {N, b.score, NULL, labels};
    assert_ok(t.env.ctx, jets_compare(&t.env, 1, &first, &second, DRAWS, 9, got));
    assert_small(got[0] - (auc_of(&a) - auc_of(&b)), SUMS);
    for (int d = 0; d < DRAWS; d++) {
        memset(a.times, 0, sizeof a.times);
        for (int i = 0; i < N; i++)
            a.times[reln_rng_below(&rng, N)] += 1;
        memcpy(b.times, a.times, sizeof b.times);
        differences[d] = auc_of(&a) - auc_of(&b);
    }
    qsort(differences, DRAWS, sizeof *differences, ascending);
    assert_small(got[1] - differences[5], SUMS);   /* 0.025 of 200 */
    assert_small(got[2] - differences[195], SUMS); /* 0.975 of 200 */
    scaled_close(&t);
}

/* The published curve leaves out points between equal steps, but never the first one that has a jet, nor the last. */
static void points_between_equal_steps_are_left_out(void **state)
{
    const double score[] = {6, 5, 4, 3, 2, 1};
    const int32_t labels[] = {1, 1, 1, 0, 0, 0};
    const JetsScores s = {6, score, NULL, labels};
    const double want[][2] = {{0, 0}, {1.0 / 3, 0}, {1, 0}, {1, 1}};
    JetsPoint points[7];
    ptrdiff_t n = 0;
    Scaled t;

    (void)state;
    scaled_init(&t, "jets");
    scaled_open(&t);
    assert_ok(t.env.ctx, jets_roc(&t.env, &s, false, points, &n));
    assert_int_equal(n, 7);
    assert_ok(t.env.ctx, jets_roc(&t.env, &s, true, points, &n));
    assert_int_equal(n, 4);
    for (int i = 0; i < 4; i++) {
        assert_small(points[i].signal - want[i][0], SUMS);
        assert_small(points[i].background - want[i][1], SUMS);
    }
    scaled_close(&t);
}

/* Draws that have one class alone have no area, and are left out of its error. */
static void draws_of_one_class_are_left_out(void **state)
{
    enum { N = 4, DRAWS = 40 };
    const double score[N] = {0.5, 2, -1, 1};
    const int32_t labels[N] = {1, 1, 0, 0};
    const JetsScores s = {N, score, NULL, labels};
    RelnRng rng = reln_rng(3, 0);
    Listed l = {.n = N, .score = {0.5, 2, -1, 1}, .label = {1, 1, 0, 0}};
    double value[DRAWS], mean = 0, square = 0;
    JetsNumbers numbers;
    int n = 0;
    Scaled t;

    (void)state;
    scaled_init(&t, "jets");
    scaled_open(&t);
    assert_ok(t.env.ctx, jets_numbers(&t.env, &s, DRAWS, 3, &numbers));
    for (int d = 0; d < DRAWS; d++) {
        memset(l.times, 0, sizeof l.times);
        for (int i = 0; i < N; i++)
            l.times[reln_rng_below(&rng, N)] += 1;
        if ((l.times[0] + l.times[1]) * (l.times[2] + l.times[3]) > 0)
            value[n++] = auc_of(&l);
    }
    assert_true(n > 10 && n < DRAWS);
    for (int i = 0; i < n; i++)
        mean += value[i] / n;
    for (int i = 0; i < n; i++)
        square += pow(value[i] - mean, 2) / (n - 1);
    assert_small(numbers.auc_error - sqrt(square), 1e-9);
    scaled_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_without_training_are_what_they_say),
        cmocka_unit_test(the_last_frame_is_judged),
        cmocka_unit_test(folds_judge_every_jet_once),
        cmocka_unit_test_setup_teardown(files_are_cut_to_the_scale, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(missing_files_are_made_up_for, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(units_and_weights_of_files_count, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(validation_chooses_the_epoch, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(saved_jets_are_the_generated_ones, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(jets_of_files_are_not_saved, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test(trained_rows_have_the_numbers_of_their_scores),
        cmocka_unit_test(particles_of_tops_are_shown_in_their_subjets),
        cmocka_unit_test(pretraining_draws_further_jets),
        cmocka_unit_test(two_rows_are_compared_draw_by_draw),
        cmocka_unit_test(points_between_equal_steps_are_left_out),
        cmocka_unit_test(draws_of_one_class_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
