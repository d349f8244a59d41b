/* Tests that augmentation moves a whole sample: the target of the moved inputs is the moved target. The
 * linker redirects exp_run() to a function of this file, which moves samples of the training set and trains
 * nothing. */
#include <math.h>
#include <string.h>

#include "support/support.h"
#include "tasks/bch/bch.h"
#include "tasks/experiment.h"
#include "tasks/gln/gln.h"
#include "tasks/sl3/sl3.h"

enum { SAMPLES = 50, ROOM = 64 };

/* A Check asserts that x and y are the inputs and the target of one sample. */
typedef void (*Check)(RelnCtx *ctx, const double *x, const double *y, const double *y_before);

static Check check;
static int n_moved, n_seen;

RelnStatus __wrap_exp_run(TaskRun *run, const ExpJob *job, ExpJudge judge, const void *self);

RelnStatus __wrap_exp_run(TaskRun *run, const ExpJob *job, ExpJudge judge, const void *self)
{
    const ExpPart *part = &job->parts[0];
    RelnRng rng = reln_rng(3, 3);

    (void)judge, (void)self;
    assert_non_null(part->move);
    assert_true(part->train->n >= SAMPLES && part->train->n_columns == 2);
    for (int i = 0; i < SAMPLES; i++) {
        double x[ROOM], y[ROOM], *columns[2] = {x, y};
        const double *from[2];

        for (int c = 0; c < 2; c++) {
            const ExpColumn *column = &part->train->column[c];
            assert_true(column->size <= ROOM);
            from[c] = (const double *)column->values + (ptrdiff_t)i * column->size;
            memcpy(columns[c], from[c], (size_t)column->size * sizeof(double));
        }
        assert_ok(run->env->ctx, part->move(part->self, &rng, columns));
        n_seen++;
        n_moved += x[0] != from[0][0];
        check(run->env->ctx, x, y, from[1]);
    }
    return RELN_OK;
}

/* `share` is the probability with which a sample is moved. */
static void move_row(const char *task, const char *row, double share, Check how)
{
    TaskEnv env = {.task = task_find(task), .scale = TASK_SMOKE};
    void *data = NULL;
    TaskRun run;

    check = how;
    n_moved = n_seen = 0;
    assert_int_equal(reln_ctx_create(NULL, &env.ctx), RELN_OK);
    assert_ok(env.ctx, env.task->prepare(&env, &data));
    assert_ok(env.ctx, task_run_alone(&env, data, task_model(env.task, row), 1, &run));
    task_run_clear(&run);
    task_release(&env);
    reln_ctx_destroy(env.ctx);
    assert_int_equal(n_seen, SAMPLES);
    assert_small(n_moved - share * SAMPLES, 5 * sqrt(share * (1 - share) * SAMPLES));
}

/* Elements g are exp of coordinates up to 1/2: Ad_g and its inverse are below 50, and targets of degree six at most. */
static const double acting = 6 * 50 * 50 * 64 * 0x1p-52;

static void split(const double *x, int k, double *a, double *b)
{
    for (int i = 0; i < k; i++)
        a[i] = x[2 * i], b[i] = x[2 * i + 1];
}

static void check_invariant(RelnCtx *ctx, const double *x, const double *y, const double *before)
{
    double a[SL3_K], b[SL3_K], want;
    RelnAlgebra *sl3 = NULL;

    assert_ok(ctx, reln_algebra_create(ctx, "sl:3", &sl3));
    split(x, SL3_K, a, b);
    want = sl3_invariant(sl3, a, b);
    assert_near(y, &want, 1, acting);
    assert_true(y[0] == before[0]);
    reln_algebra_destroy(sl3);
}

static void check_equivariant(RelnCtx *ctx, const double *x, const double *y, const double *before)
{
    double a[SL3_K], b[SL3_K], want[SL3_K];
    RelnAlgebra *sl3 = NULL;

    (void)before;
    assert_ok(ctx, reln_algebra_create(ctx, "sl:3", &sl3));
    split(x, SL3_K, a, b);
    sl3_equivariant(sl3, a, b, want);
    assert_near(y, want, SL3_K, acting);
    reln_algebra_destroy(sl3);
}

/* y = exp(a) exp(b) */
static void check_product(RelnCtx *ctx, const double *x, const double *y, const double *before)
{
    double a[3], b[3], ea[9], eb[9], want[9] = {0};

    (void)ctx, (void)before;
    split(x, 3, a, b);
    bch_rotation(a, ea);
    bch_rotation(b, eb);
    for (int i = 0; i < 27; i++)
        want[i / 3] += ea[i / 9 * 3 + i % 3] * eb[i % 3 * 3 + i / 3 % 3];
    assert_near(y, want, 9, 64 * 0x1p-52);
}

/* Frames have condition numbers up to 100; an action costs 2 cond^3 roundings, and the target is of degree four at most. */
static const double moving = 4 * 2.0 * 100 * 100 * 100 * 16 * 0x1p-52;

/* Targets are y = (value - mean) factor; the first samples determine the two constants. */
static void check_gln(RelnCtx *ctx, const double *x, const double *y, const double *before)
{
    double pair[GLN_PAIR];
    static double value[SAMPLES], learned[SAMPLES];
    const int i = n_seen - 1;

    assert_ok(ctx, gln_unlift(ctx, &gln_targets[1], 3, x, pair));
    assert_ok(ctx, gln_value(ctx, &gln_targets[1], 3, pair, &value[i]));
    learned[i] = y[0];
    assert_true(y[0] == before[0]); /* it is invariant */
    if (i > 1) {
        const double slope = (learned[1] - learned[0]) / (value[1] - value[0]);
        assert_small(learned[i] - learned[0] - slope * (value[i] - value[0]), moving);
    }
}

static void samples_of_sl3_move_with_their_targets(void **state)
{
    (void)state;
    move_row("sl3-inv", "mlp-256-aug", 0.5, check_invariant);
    move_row("sl3-equiv", "mlp-256-aug", 0.5, check_equivariant);
}

static void samples_of_bch_move_with_their_targets(void **state)
{
    (void)state;
    move_row("bch", "mlp-aug", 1, check_product);
}

static void samples_of_gln_move_with_their_targets(void **state)
{
    (void)state;
    move_row("gln", "mlp-aug", 1, check_gln);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_of_sl3_move_with_their_targets),
        cmocka_unit_test(samples_of_bch_move_with_their_targets),
        cmocka_unit_test(samples_of_gln_move_with_their_targets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
