/* Tests the sets that networks of tasks learn from: windows of motions, scaled targets, frames of augmentation. The linker redirects
 * exp_run() to a function of this file, which hands the sets to a test and trains nothing. */
#include <math.h>
#include <string.h>

#include "tasks/experiment.h"
#include "tasks/gln/gln.h"
#include "tasks/rigid/rigid.h"
#include "tasks/scaled.h"

typedef void (*Look)(const ExpPart *part);

static Look look;
static int looked;
static const ExpJob *at_job; /* the job of the part that is looked at */

RelnStatus __wrap_exp_run(TaskRun *run, const ExpJob *job, ExpJudge judge, const void *self);

RelnStatus __wrap_exp_run(TaskRun *run, const ExpJob *job, ExpJudge judge, const void *self)
{
    (void)run, (void)judge, (void)self;
    at_job = job;
    look(&job->parts[0]);
    looked++;
    return RELN_OK;
}

static void look_at(Scaled *t, const char *row, Look how)
{
    TaskRun run;

    look = how;
    looked = 0;
    scaled_open(t);
    scaled_run(t, row, &run);
    assert_int_equal(looked, 1);
    task_run_clear(&run);
    scaled_close(t);
}

static const double *numbers_of(const ExpSet *set, int column)
{
    return set->column[column].values;
}

/* ---- rigid --------------------------------------------------------------------------------------------------------- */

enum { BODY_SEED = 5566 };

/* A set has the windows of n motions that begin at every stride-th point, and nothing else. */
static void compare_windows(const ExpSet *set, uint64_t stream, int n, int stride)
{
    enum { EACH = RIGID_POINTS - RIGID_STEPS };
    const double *x = numbers_of(set, 0), *y = numbers_of(set, 1);
    RelnRng rng = reln_rng(BODY_SEED, stream);
    double w[3 * RIGID_POINTS], w0[3];

    assert_int_equal(set->n, n * (EACH / stride));
    for (int m = 0; m < n; m++) {
        for (int i = 0; i < 3; i++)
            w0[i] = reln_rng_uniform(&rng);
        rigid_motion(w0, RIGID_POINTS, w);
        for (int first = 0; first + stride <= EACH; first += stride, x += 3, y += 3 * RIGID_STEPS)
            for (int i = 0; i < 3; i++) {
                assert_true(x[i] == w[3 * first + i]);
                for (int s = 0; s < RIGID_STEPS; s++)
                    assert_true(y[i * RIGID_STEPS + s] == w[3 * (first + 1 + s) + i]);
            }
    }
}

static void look_at_windows(const ExpPart *part)
{
    compare_windows(part->train, 1, 10, 1);
    compare_windows(part->validation, 2, 3, 10);
}

static void windows_of_bodies_begin_where_they_should(void **state)
{
    Scaled t;

    (void)state;
    scaled_init(&t, "rigid");
    look_at(&t, "best", look_at_windows);
}

/* ---- gln ----------------------------------------------------------------------------------------------------------- */

static double mean_of(const ExpSet *set, bool squares)
{
    const double *y = numbers_of(set, 1);
    const ptrdiff_t n = set->n * set->column[1].size;
    double sum = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        sum += squares ? y[i] * y[i] : y[i];
    return sum / (double)n;
}

static void look_at_numbers(const ExpPart *part)
{
    assert_small(mean_of(part->train, false), 1e-12);
    assert_small(mean_of(part->train, true) - 1, 1e-12);
    assert_true(fabs(mean_of(part->validation, true) - 1) >
                1e-6); /* its constants are those of training */
}

/* Matrices have no mean that every frame keeps: they are multiples of their values. */
static void look_at_matrices(const ExpPart *part)
{
    const double *x = numbers_of(part->train, 0), *y = numbers_of(part->train, 1);
    const GlnTarget *square = &gln_targets[6];
    double pair[GLN_PAIR], value[GLN_K], factor = 0;
    RelnCtx *ctx = NULL;

    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    assert_string_equal(square->name, "square");
    assert_int_equal(part->train->column[1].size, 9);
    for (ptrdiff_t i = 0; i < part->train->n; i++, x += 18, y += 9) {
        assert_ok(ctx, gln_unlift(ctx, square, 3, x, pair));
        assert_ok(ctx, gln_value(ctx, square, 3, pair, value));
        factor = i == 0 ? y[0] / value[0] : factor;
        for (int k = 0; k < 9; k++)
            assert_small(y[k] - factor * value[k], 1e-12);
    }
    assert_small(mean_of(part->train, true) - 1, 1e-12);
    reln_ctx_destroy(ctx);
}

static void targets_of_matrices_have_mean_square_1(void **state)
{
    Scaled t;

    (void)state;
    scaled_init(&t, "gln");
    look_at(&t, "mlp-aug", look_at_numbers);
    scaled_init(&t, "gln");
    scaled_option(&t, "target", "square");
    look_at(&t, "mlp-aug", look_at_matrices);
}

/* The largest factor by which X -> g X g^-1 enlarges a matrix, which is the condition number of g: by power iteration. The frame
 * is that of the generator's next number. */
static double condition_of(const ExpPart *part, RelnRng rng)
{
    double ad[9][9], v[9] = {1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2}, w[9], size = 0;

    for (int k = 0; k < 9; k++) {
        double x[18] = {0}, y[1] = {0}, *columns[2] = {x, y};
        RelnRng same = rng;

        x[2 * k] = 1; /* channel 0 has a basis matrix, channel 1 nothing */
        assert_int_equal(part->move(part->self, &same, columns), RELN_OK);
        for (int i = 0; i < 9; i++)
            ad[i][k] = x[2 * i];
    }
    for (int step = 0; step < 500; step++) {
        double next[9] = {0};

        for (int i = 0; i < 9; i++) {
            w[i] = 0;
            for (int k = 0; k < 9; k++)
                w[i] += ad[i][k] * v[k];
        }
        for (int i = 0; i < 81; i++)
            next[i % 9] += ad[i / 9][i % 9] * w[i / 9];
        size = 0;
        for (int i = 0; i < 9; i++)
            size += next[i] * next[i];
        size = sqrt(size);
        for (int i = 0; i < 9; i++)
            v[i] = next[i] / size;
    }
    return sqrt(size);
}

/* Logarithms of condition numbers are uniform between 0 and log 100. */
static void look_at_frames(const ExpPart *part)
{
    enum { DRAWS = 60 };
    RelnRng rng = reln_rng(4, 4);
    double mean = 0, least = 1, most = 0;

    for (int i = 0; i < DRAWS; i++) {
        const double share = log(condition_of(part, rng)) / log(100);

        mean += share / DRAWS;
        least = fmin(least, share);
        most = fmax(most, share);
        (void)reln_rng_bits(&rng);
    }
    assert_small(mean - 0.5, 5 / sqrt(12.0 * DRAWS));
    assert_true(least > -1e-6 && least < 0.2 && most > 0.8 && most < 1 + 1e-6); /* 0.8^60 = 2e-6 */
}

static void frames_of_augmentation_have_all_condition_numbers(void **state)
{
    Scaled t;

    (void)state;
    scaled_init(&t, "gln");
    look_at(&t, "mlp-aug", look_at_frames);
}

/* ---- jets ---------------------------------------------------------------------------------------------------------- */

enum { FOLDS = 3, BATCH = 16, EPOCHS = 7 };

/* Folds have weights of their own and one part each. An epoch has whole batches only: 88 jets in three folds leave 58 or 59 to
 * train on, which are 3 batches of 16. */
static void look_at_fold(const ExpPart *part)
{
    static uint64_t first;

    first = looked == 0 ? at_job->stream : first;
    assert_int_equal(at_job->stream, first + 1000 * (uint64_t)looked);
    assert_int_equal(at_job->first_part, looked);
    assert_true(at_job->one_of_several);
    assert_int_equal(part->steps_per_epoch, 3);
    assert_int_equal(part->evaluate_every, 3);
    assert_int_equal(part->steps, 3 * EPOCHS);
    assert_true(part->last); /* nothing is left to choose an epoch by */
}

static void folds_of_jets_are_trained_one_by_one(void **state)
{
    TaskRun run;
    Scaled t;

    (void)state;
    scaled_init(&t, "jets");
    scaled_option(&t, "folds", "3");
    scaled_set(&t, "batch_ours", BATCH);
    scaled_set(&t, "epochs", EPOCHS);
    scaled_open(&t);
    look = look_at_fold;
    looked = 0;
    scaled_run(&t, "mlp", &run);
    assert_int_equal(looked, FOLDS);
    task_run_clear(&run);
    scaled_close(&t);
}

/* ---- drone --------------------------------------------------------------------------------------------------------- */

/* The one generator turns x to y and keeps z, along which gravity acts. */
static void look_at_turns(const ExpPart *part)
{
    const double *turn;

    (void)part;
    assert_non_null(at_job->group);
    assert_int_equal(reln_group_n_lie(at_job->group), 1);
    turn = reln_rep_lie(reln_rep_vector(at_job->group), 0);
    assert_true(turn[3] != 0);
    for (int i = 0; i < 9; i++)
        assert_true(turn[i] == (i == 1 ? -turn[3] : i == 3 ? turn[3] : 0));
}

static void rows_about_gravity_turn_about_the_vertical(void **state)
{
    Scaled t;

    (void)state;
    scaled_init(&t, "drone");
    look_at(&t, "best-gravity", look_at_turns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_bodies_begin_where_they_should),
        cmocka_unit_test(targets_of_matrices_have_mean_square_1),
        cmocka_unit_test(rows_about_gravity_turn_about_the_vertical),
        cmocka_unit_test(folds_of_jets_are_trained_one_by_one),
        cmocka_unit_test(frames_of_augmentation_have_all_condition_numbers),
    };

    return cmocka_run_group_tests_name("tasks/sets", tests, NULL, NULL);
}
