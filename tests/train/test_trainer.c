/* Tests the training loop: runs that are stopped anywhere end with the same bits, and failures are handled. */
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

#include "train/rig.h"

/* ---- copies of states -------------------------------------------------------------------------------------------- */

enum { ARRAYS = 64 };
typedef struct Saved {
    int n;
    RelnArray arrays[ARRAYS];
} Saved;

static size_t bytes_of(const RelnArray *a)
{
    size_t bytes = a->dtype == RELN_F32 ? 4 : 8;

    for (int i = 0; i < a->rank; i++)
        bytes *= (size_t)a->dims[i];
    return bytes;
}

/* Copies the state as a file would: in another order, and with an unknown array. */
static Saved save(RelnTrainer *trainer, RelnCtx *ctx)
{
    static double other = 1.0;
    const RelnArray *arrays;
    Saved s;
    int n;

    assert_ok(ctx, reln_trainer_state(trainer, &n, &arrays));
    assert_true(n + 1 < ARRAYS);
    s.n = n + 1;
    s.arrays[n] = (RelnArray){.name = "spec", .dtype = RELN_F64};
    s.arrays[n].values = malloc(sizeof other);
    assert_non_null(s.arrays[n].values);
    memcpy(s.arrays[n].values, &other, sizeof other);
    for (int i = 0; i < n; i++) {
        RelnArray *to = &s.arrays[n - 1 - i];
        char *name = malloc(strlen(arrays[i].name) + 1);

        *to = arrays[i];
        to->values = malloc(bytes_of(to));
        assert_non_null(to->values);
        assert_non_null(name);
        memcpy(to->values, arrays[i].values, bytes_of(to));
        to->name = strcpy(name, arrays[i].name);
    }
    return s;
}

static void drop(Saved *s)
{
    for (int i = 0; i < s->n; i++) {
        free(s->arrays[i].values);
        if (i < s->n - 1)
            free((void *)(uintptr_t)s->arrays[i].name);
    }
}

static RelnArray *find(Saved *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->arrays[i].name, name) == 0)
            return &s->arrays[i];
    fail_msg("there is no %s", name);
    return NULL;
}

/* Sets seconds to 0, the only part that may differ: column 4 of the record, and the last of the sums. */
static void hide_seconds(Saved *s)
{
    double *sums = find(s, "trainer/sums")->values;

    sums[5] = 0.0;
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->arrays[i].name, "trainer/rows") == 0)
            for (ptrdiff_t k = 0; k < s->arrays[i].dims[0]; k++)
                ((double *)s->arrays[i].values)[k * s->arrays[i].dims[1] + 4] = 0.0;
}

static bool same_bits(Saved *a, Saved *b)
{
    if (a->n != b->n)
        return false;
    hide_seconds(a);
    hide_seconds(b);
    for (int i = 0; i < a->n; i++) {
        const RelnArray *other = find(b, a->arrays[i].name);

        if (bytes_of(&a->arrays[i]) != bytes_of(other) ||
            memcmp(a->arrays[i].values, other->values, bytes_of(other)) != 0)
            return false;
    }
    return true;
}

/* Returns the job of the rig, with the given `average`. */
static RelnTrainJob job_of(Rig *r, double average)
{
    RelnTrainJob job = rig_job(r);

    job.average = average;
    return job;
}

static Saved whole_run(int threads, double average)
{
    RelnTrainJob job;
    Saved end;
    Rig r;

    rig_init(&r, threads);
    job = job_of(&r, average);
    rig_trainer(&r, &job);
    assert_int_equal(rig_run(&r, UINT64_MAX), RELN_TRAIN_DONE);
    end = save(r.trainer, r.f.ctx);
    rig_clear(&r);
    return end;
}

/* ---- the same bits ----------------------------------------------------------------------------------------------- */

/* The compared run has every kind of state: batch statistics, moments, cuts of the rate, and a best
 * evaluation that is not the last. */
static void the_run_that_is_compared_is_a_rich_one(void **state)
{
    const RelnTrainRow *rows;
    RelnEntryInfo entry;
    RelnTrainJob job;
    int n, best = -1;
    Rig r;

    (void)state;
    rig_init(&r, 1);
    job = rig_job(&r);
    rig_trainer(&r, &job);
    assert_int_equal(rig_run(&r, UINT64_MAX), RELN_TRAIN_DONE);
    n = reln_trainer_rows(r.trainer, &rows);
    assert_int_equal(n, RIG_STEPS / RIG_EVERY + 1); /* 40 is no multiple of 3 */
    assert_int_equal(rows[n - 1].step, RIG_STEPS);
    for (int i = 0; i < n; i++) {
        best = rows[i].best ? i : best;
        assert_int_equal(rows[i].evaluation.n_metrics, 1);
        assert_true(rows[i].evaluation.metrics[0] == 2 * rows[i].evaluation.score);
    }
    assert_true(best > 0 && best < n - 1);
    assert_true(rows[n - 1].rate < 0.05 && rows[n - 1].rate > 0);
    assert_true(rows[best].evaluation.score < rows[0].evaluation.score / 2);
    assert_true(reln_store_find(r.f.store, "one.square", &entry));
    assert_true(reln_store_find(r.f.store, "out.W.v", &entry));
    assert_int_equal(r.n_observed, RIG_STEPS);
    rig_clear(&r);
}

static Saved stopped_after(uint64_t k, double average)
{
    RelnTrainJob job;
    Saved s;
    Rig r;

    rig_init(&r, 2);
    job = job_of(&r, average);
    rig_trainer(&r, &job);
    assert_int_equal(rig_run(&r, k), k < RIG_STEPS ? RELN_TRAIN_GOING : RELN_TRAIN_DONE);
    assert_int_equal(reln_trainer_step(r.trainer), k);
    s = save(r.trainer, r.f.ctx);
    rig_clear(&r);
    return s;
}

/* Restores into a store with other weights, so that an array that is not restored is noticed. */
static Saved resumed(const Saved *from, int threads, double average)
{
    RelnTrainJob job;
    Saved end;
    Rig r;

    rig_init(&r, threads);
    job = job_of(&r, average);
    rig_trainer(&r, &job);
    for (int i = 0; i < reln_store_count(r.f.store); i++) {
        const RelnEntryInfo entry = reln_store_entry(r.f.store, i);

        for (size_t k = 0; k < entry.count; k++)
            ((double *)entry.values)[k] = 0.125;
    }
    assert_ok(r.f.ctx, reln_trainer_restore(r.trainer, from->n, from->arrays));
    assert_int_equal(rig_run(&r, UINT64_MAX), RELN_TRAIN_DONE);
    end = save(r.trainer, r.f.ctx);
    rig_clear(&r);
    return end;
}

static void a_run_stopped_after_any_step_ends_with_the_same_bits(void **state)
{
    Saved whole = whole_run(1, 0);

    (void)state;
    for (uint64_t k = 0; k <= RIG_STEPS; k++) {
        Saved part = stopped_after(k, 0), end = resumed(&part, 1 + (int)(k % 3), 0);

        if (!same_bits(&whole, &end))
            fail_msg("stopped after step %d it ends differently", (int)k);
        drop(&part);
        drop(&end);
    }
    drop(&whole);
}

/* Every part of the state matters: if one number is changed, the end of the run differs. */
static void a_state_that_is_not_whole_is_seen_at_the_end(void **state)
{
    static const char *const names[] = {"one.W", "out.W.m", "out.b.v", "one.square", "best/one.W"};
    Saved whole = whole_run(1, 0), part = stopped_after(26, 0);

    (void)state;
    for (int i = 0; i < 5; i++) {
        double *value = find(&part, names[i])->values, old = *value;
        Saved end;

        *value = old + 0.5;
        end = resumed(&part, 1, 0);
        *value = old;
        if (same_bits(&whole, &end))
            fail_msg("%s makes no difference", names[i]);
        drop(&end);
    }
    drop(&part);
    drop(&whole);
}

/* Stopped at an evaluation and between two, with other numbers of threads. */
static void averages_are_part_of_the_state(void **state)
{
    static const uint64_t steps[] = {0, 1, 26, 27, RIG_STEPS};
    Saved whole = whole_run(1, 0.9), part;

    (void)state;
    for (int i = 0; i < 5; i++) {
        Saved end;

        part = stopped_after(steps[i], 0.9);
        end = resumed(&part, 1 + i % 3, 0.9);
        assert_true(same_bits(&whole, &end));
        drop(&part);
        drop(&end);
    }
    part = stopped_after(26, 0.9);
    *(double *)find(&part, "average/one.W")->values += 0.5;
    Saved other = resumed(&part, 1, 0.9);
    assert_false(same_bits(&whole, &other));
    drop(&other);
    drop(&part);
    drop(&whole);
}

/* Averages follow a' = d a + (1 - d) w, d = min(average, n / (n + 10)), which the test computes from the
 * weights after every step. The best weights are the averages at the step of the best row. */
static void averages_follow_their_formula_and_are_what_is_judged(void **state)
{
    double mine[16], best[16] = {0};
    Saved end;
    const RelnTrainRow *rows;
    RelnEntryInfo entry;
    RelnTrainJob job;
    int n_best = 0;
    Rig r;

    (void)state;
    rig_init(&r, 1);
    job = job_of(&r, 0.7);
    job.schedule.n_pieces = 1; /* no plateau: the rate does not depend on evaluations */
    job.schedule.piece[0].steps = 0;
    rig_trainer(&r, &job);
    assert_true(reln_store_find(r.f.store, "one.W", &entry) && entry.count == 16);
    memcpy(mine, entry.values, sizeof mine);
    for (int step = 1; step <= RIG_STEPS; step++) {
        const double d = fmin(0.7, step / (step + 10.0));
        int n;

        (void)rig_run(&r, 1);
        for (int i = 0; i < 16; i++)
            mine[i] = d * mine[i] + (1 - d) * ((double *)entry.values)[i];
        n = reln_trainer_rows(r.trainer, &rows);
        if (n > 0 && rows[n - 1].step == (uint64_t)step && rows[n - 1].best) {
            memcpy(best, mine, sizeof best);
            n_best++;
        }
    }
    assert_true(n_best > 1);
    end = save(r.trainer, r.f.ctx);
    for (int i = 0; i < 16; i++) {
        assert_true(fabs(((double *)find(&end, "average/one.W")->values)[i] - mine[i]) <= 1e-13);
        assert_true(fabs(((double *)find(&end, "best/one.W")->values)[i] - best[i]) <= 1e-13);
        assert_true(fabs(((double *)find(&end, "one.W")->values)[i] - mine[i]) > 1e-6);
    }
    drop(&end);
    rig_clear(&r);
}

static void threads_change_no_bit(void **state)
{
    static const int threads[] = {2, 3, 7};
    Saved one = whole_run(1, 0);

    (void)state;
    for (int i = 0; i < 3; i++) {
        Saved more = whole_run(threads[i], 0);

        assert_true(same_bits(&one, &more));
        drop(&more);
    }
    drop(&one);
}

static void asked_to_stop_it_stops_and_goes_on(void **state)
{
    Saved whole = whole_run(1, 0), end;
    RelnTrainJob job;
    Rig r;

    (void)state;
    rig_init(&r, 1);
    r.stop_at = 12;
    job = rig_job(&r);
    rig_trainer(&r, &job);
    assert_int_equal(rig_run(&r, UINT64_MAX), RELN_TRAIN_ASKED);
    assert_int_equal(reln_trainer_step(r.trainer), 12);
    assert_int_equal(rig_run(&r, UINT64_MAX), RELN_TRAIN_DONE);
    assert_int_equal(rig_run(&r, UINT64_MAX), RELN_TRAIN_DONE); /* and once more: nothing happens */
    end = save(r.trainer, r.f.ctx);
    assert_true(same_bits(&whole, &end));
    drop(&end);
    drop(&whole);
    rig_clear(&r);
}

/* A Wish is a request to stop at the k-th call of asked(), and counts the saved states. */
typedef struct Wish {
    atomic_int looks; /* left */
    int n_saved;
    uint64_t saved_at; /* the step */
} Wish;

static bool wished(void *self)
{
    Wish *w = self;

    return atomic_fetch_sub(&w->looks, 1) <= 0;
}

static RelnStatus keep(void *self, RelnTrainer *trainer)
{
    Wish *w = self;

    w->n_saved++;
    w->saved_at = reln_trainer_step(trainer);
    return RELN_OK;
}

/* A batch has 10 shards of 2 samples, so asked() is called about 11 times in each phase of a step: most
 * requests come within a step. */
static void asked_within_a_step_it_stops_as_if_the_step_had_not_begun(void **state)
{
    Saved whole = whole_run(1, 0);

    (void)state;
    for (int looks = 1; looks < 200; looks += 7) {
        Wish wish = {.looks = looks};
        Saved before, after, end;
        RelnTrainJob job;
        uint64_t step;
        Rig r;

        rig_init(&r, looks % 2 + 1);
        job = rig_job(&r);
        job.watch = (RelnTrainWatch){.self = &wish, .asked = wished, .save = keep};
        rig_trainer(&r, &job);
        assert_int_equal(rig_run(&r, UINT64_MAX), RELN_TRAIN_ASKED);
        assert_int_equal(wish.n_saved, 1);
        step = wish.saved_at;
        before = save(r.trainer, r.f.ctx);
        assert_int_equal(rig_run(&r, 1), RELN_TRAIN_ASKED); /* it is still asked */
        assert_int_equal(reln_trainer_step(r.trainer), step);
        after = save(r.trainer, r.f.ctx);
        assert_true(same_bits(&before, &after));
        wish.looks = INT_MAX;
        assert_int_equal(rig_run(&r, UINT64_MAX), RELN_TRAIN_DONE);
        assert_int_equal(wish.saved_at, RIG_STEPS);
        end = save(r.trainer, r.f.ctx);
        assert_true(same_bits(&whole, &end));
        drop(&before);
        drop(&after);
        drop(&end);
        rig_clear(&r);
    }
    drop(&whole);
}

static RelnStatus stopped_evaluation(void *self, uint64_t step, RelnEvaluation *out)
{
    Rig *r = self;

    if (r->stop_at && step == r->stop_at) {
        r->stop_at = 0;
        return RELN_ERR_STOPPED;
    }
    return rig_evaluate(self, step, out);
}

static void an_evaluation_that_was_stopped_is_made_up_for(void **state)
{
    static const uint64_t steps[] = {9, RIG_STEPS};
    Saved whole = whole_run(1, 0), end;

    (void)state;
    for (int i = 0; i < 2; i++) {
        Wish wish = {0};
        RelnTrainJob job;
        Rig r;

        rig_init(&r, 1);
        r.stop_at = steps[i];
        job = rig_job(&r);
        job.evaluate = stopped_evaluation;
        job.watch = (RelnTrainWatch){.self = &wish, .save = keep};
        rig_trainer(&r, &job);
        assert_int_equal(rig_run(&r, UINT64_MAX), RELN_TRAIN_ASKED);
        assert_true(wish.n_saved == 1 && wish.saved_at == steps[i]);
        assert_int_equal(rig_run(&r, UINT64_MAX), RELN_TRAIN_DONE);
        end = save(r.trainer, r.f.ctx);
        assert_true(same_bits(&whole, &end));
        drop(&end);
        rig_clear(&r);
    }
    drop(&whole);
}

/* Every step takes longer than the second period, and none as long as the third. */
static void it_is_saved_every_so_often_and_at_the_end(void **state)
{
    static const double seconds[] = {0, 1e-9, 3600};
    static const int wanted[] = {1, RIG_STEPS, 1};

    (void)state;
    for (int i = 0; i < 3; i++) {
        Wish wish = {0};
        RelnTrainJob job;
        Rig r;

        rig_init(&r, 1);
        job = rig_job(&r);
        job.watch = (RelnTrainWatch){.self = &wish, .save = keep, .save_seconds = seconds[i]};
        rig_trainer(&r, &job);
        assert_int_equal(rig_run(&r, 1), RELN_TRAIN_GOING); /* a piece is no end */
        assert_int_equal(wish.n_saved, wanted[i] > 1);
        assert_int_equal(rig_run(&r, UINT64_MAX), RELN_TRAIN_DONE);
        assert_int_equal(wish.n_saved, wanted[i]);
        rig_clear(&r);
    }
}

/* Evaluations and the last step are always shown. */
static void progress_is_shown_as_seldom_as_was_wanted(void **state)
{
    RelnTrainJob job;
    Rig r;

    (void)state;
    rig_init(&r, 1);
    job = rig_job(&r);
    job.watch.observe_seconds = 3600;
    rig_trainer(&r, &job);
    assert_int_equal(rig_run(&r, UINT64_MAX), RELN_TRAIN_DONE);
    assert_in_range(r.n_observed, RIG_STEPS / RIG_EVERY + 1, RIG_STEPS / RIG_EVERY + 2);
    rig_clear(&r);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void steps_evaluations_and_states_allocate_nothing(void **state)
{
    const RelnArray *arrays;
    RelnTrainJob job;
    RelnEntryInfo w;
    uint64_t before;
    Rig r;
    int n;

    (void)state;
    rig_init(&r, 2);
    job = rig_job(&r);
    rig_trainer(&r, &job);
    (void)rig_run(&r, RIG_EVERY); /* plans make room when they first run */
    before = reln_ctx_allocations(r.f.ctx);
    while (rig_run(&r, 1) == RELN_TRAIN_GOING)
        assert_ok(r.f.ctx, reln_trainer_state(r.trainer, &n, &arrays));
    assert_int_equal(reln_ctx_allocations(r.f.ctx), before);
    assert_true(reln_store_find(r.f.store, "one.W", &w)); /* borrowed, not copied */
    for (int i = 0; i < n; i++)
        if (strcmp(arrays[i].name, "one.W") == 0)
            assert_ptr_equal(arrays[i].values, w.values);
    rig_clear(&r);
}

/* ---- the best weights -------------------------------------------------------------------------------------------- */

static double distance(const Rig *r, const double *want)
{
    const size_t count = rig_values(r->f.store, NULL);
    double *now = malloc(count * sizeof *now), most = 0;

    assert_non_null(now);
    rig_values(r->f.store, now);
    for (size_t i = 0; i < count; i++)
        most = now[i] == want[i] ? most : fmax(most, isfinite(now[i]) ? fabs(now[i] - want[i]) : 1);
    free(now);
    return most;
}

static void the_best_weights_can_be_taken(void **state)
{
    RelnEntryInfo moment;
    RelnTrainJob job;
    double kept;
    Rig r;

    (void)state;
    rig_init(&r, 1);
    job = rig_job(&r);
    rig_trainer(&r, &job);
    rig_values(r.f.store, r.best);
    assert_ok(r.f.ctx, reln_trainer_take_best(r.trainer)); /* before the first step: the weights of the start */
    assert_true(distance(&r, r.best) == 0);
    (void)rig_run(&r, UINT64_MAX);
    assert_true(distance(&r, r.best) > 0);
    assert_true(reln_store_find(r.f.store, "out.b.m", &moment));
    kept = *(double *)moment.values;
    assert_ok(r.f.ctx, reln_trainer_take_best(r.trainer));
    assert_true(distance(&r, r.best) == 0);
    assert_true(*(double *)moment.values == kept);
    rig_clear(&r);
}

/* The batch of `step` has a NaN: afterwards the weights are those of the best evaluation, or of the start. */
static void diverge_at(uint64_t step, bool evaluated)
{
    RelnEntryInfo moment;
    RelnTrainJob job;
    Saved saved;
    Rig r;

    rig_init(&r, 1);
    r.poisoned = step;
    rig_values(r.f.store, r.best);
    job = rig_job(&r);
    rig_trainer(&r, &job);
    assert_int_equal(rig_run(&r, UINT64_MAX), RELN_TRAIN_DIVERGED);
    assert_int_equal(reln_trainer_step(r.trainer), step + 1);
    assert_int_equal(r.n_best > 0, evaluated);
    assert_true(distance(&r, r.best) == 0);
    assert_true(reln_store_find(r.f.store, "out.b.m", &moment));
    assert_true(*(double *)moment.values == 0.0);
    assert_int_equal(rig_run(&r, 1), RELN_TRAIN_DIVERGED);
    saved = save(r.trainer, r.f.ctx); /* and a restored run knows */
    assert_ok(r.f.ctx, reln_trainer_restore(r.trainer, saved.n, saved.arrays));
    assert_int_equal(rig_run(&r, 1), RELN_TRAIN_DIVERGED);
    drop(&saved);
    rig_clear(&r);
}

/* An Exponential is a network with the exponential of a matrix, which has no value for the batch of step
 * `huge`, or for the evaluation after it. */
typedef struct Exponential {
    Fixture f;
    RelnPlan *plan;
    RelnTrainer *trainer;
    double x[4], y;
    uint64_t huge;
    bool judging; /* the evaluation has the huge matrix, not the batch */
} Exponential;

static RelnStatus exponential_load(void *self, uint64_t step, ptrdiff_t *n_samples)
{
    Exponential *e = self;

    for (int k = 0; k < 4; k++)
        e->x[k] = (step == e->huge && !e->judging ? 1e5 : 0.1) * (k + 1);
    e->y = 1;
    *n_samples = 1;
    return RELN_OK;
}

static RelnStatus exponential_evaluate(void *self, uint64_t step, RelnEvaluation *out)
{
    const Exponential *e = self;

    out->score = -(double)step;
    out->n_metrics = 0;
    return e->judging && step > e->huge ? reln_fail(e->f.ctx, RELN_ERR_NUMERIC, "no value")
                                        : RELN_OK;
}

static RelnStatus exponential_run(uint64_t huge, bool judging, RelnTrainEnd *end, uint64_t *steps,
                                  char *message, size_t size)
{
    const RelnOptimiser adam = {.kind = RELN_OPTIMISER_ADAM, .adam = RELN_ADAM_DEFAULTS};
    Exponential e = {.huge = huge, .judging = judging};
    RelnStatus status;
    RelnNode *h, *y;

    fixture_init(&e.f, "gl:2", "gl:2", RELN_F64);
    const RelnNet net = {.graph = e.f.graph, .algebra = e.f.algebra, .train = true};
    h = reln_input(e.f.graph, "x", RELN_SAMPLES, (RelnDims){.k = 4}, e.f.adjoint, RELN_F64);
    y = reln_input(e.f.graph, "y", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_F64);
    h = reln_nn_invariant(&net, reln_matexp(e.f.graph, reln_nn_hat(&net, h)));
    h = reln_nn_dense(&net, "out", h, 1);
    assert_true(reln_train_step(
        e.f.graph, &adam, reln_loss_mean(e.f.graph, &(RelnLoss){.kind = RELN_LOSS_MSE}, h, y)));
    assert_ok(e.f.ctx, reln_plan_create(e.f.graph, NULL, &e.plan));
    assert_ok(e.f.ctx, reln_plan_bind(e.plan, "x", e.x, RELN_F64));
    assert_ok(e.f.ctx, reln_plan_bind(e.plan, "y", &e.y, RELN_F64));
    assert_ok(e.f.ctx, reln_trainer_create(e.f.ctx,
                                           &(RelnTrainJob){.plan = e.plan,
                                                           .store = e.f.store,
                                                           .n_steps = 6,
                                                           .evaluate_every = 1,
                                                           .schedule = {.rate = 1e-3},
                                                           .self = &e,
                                                           .load = exponential_load,
                                                           .evaluate = exponential_evaluate},
                                           &e.trainer));
    status = reln_trainer_run(e.trainer, UINT64_MAX, end);
    *steps = reln_trainer_step(e.trainer);
    snprintf(message, size, "%s", reln_ctx_error(e.f.ctx));
    reln_trainer_destroy(e.trainer);
    reln_plan_destroy(e.plan);
    fixture_clear(&e.f);
    return status;
}

static void an_op_that_loses_its_value_ends_the_training_as_diverged(void **state)
{
    RelnTrainEnd end;
    uint64_t steps;
    char message[256];

    (void)state;
    for (int judging = 0; judging < 2; judging++) {
        assert_int_equal(exponential_run(3, judging, &end, &steps, message, sizeof message),
                         RELN_OK);
        assert_int_equal(end, RELN_TRAIN_DIVERGED);
        assert_int_equal(steps, 4);
        assert_string_equal(message, "");
    }
}

static void an_op_without_a_value_from_the_start_is_an_error_of_the_data(void **state)
{
    RelnTrainEnd end;
    uint64_t steps;
    char message[256];

    (void)state;
    assert_int_equal(exponential_run(0, false, &end, &steps, message, sizeof message),
                     RELN_ERR_NUMERIC);
    assert_non_null(strstr(message, "sample 0"));
    assert_int_equal(exponential_run(0, true, &end, &steps, message, sizeof message),
                     RELN_ERR_NUMERIC);
    assert_string_equal(message, "no value");
}

static void a_nan_brings_the_best_weights_back(void **state)
{
    (void)state;
    diverge_at(1, false);
    diverge_at(2, false); /* in the step of an evaluation */
    diverge_at(17, true);
    diverge_at(RIG_STEPS - 1, true);
}

/* ---- patience ---------------------------------------------------------------------------------------------------- */

static RelnTrainEnd with_scores(const double *scores, int patience, uint64_t *steps, Rig *r)
{
    RelnTrainJob job;
    RelnTrainEnd end;

    rig_init(r, 1);
    r->scores = scores;
    job = rig_job(r);
    job.n_steps = 24;
    job.patience = patience;
    job.schedule.piece[1].patience = 2;
    rig_trainer(r, &job);
    end = rig_run(r, UINT64_MAX);
    *steps = reln_trainer_step(r->trainer);
    return end;
}

static void patience_counts_evaluations_without_a_better_score(void **state)
{
    static const double late[] = {5, 6,           7,   4,
                                  4, (double)NAN, 4.5, 3}; /* equal is not better, NaN never is */
    const RelnTrainRow *rows;
    uint64_t steps;
    Rig r;

    (void)state;
    assert_int_equal(with_scores(late, 3, &steps, &r), RELN_TRAIN_PATIENCE);
    assert_int_equal(steps, 7 * RIG_EVERY);
    assert_int_equal(rig_run(&r, 5), RELN_TRAIN_PATIENCE);
    rig_clear(&r);
    assert_int_equal(with_scores(late, 4, &steps, &r), RELN_TRAIN_DONE);
    assert_int_equal(reln_trainer_rows(r.trainer, &rows), 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(rows[i].best, i == 0 || i == 3 || i == 7);
    rig_clear(&r);
}

/* The plateau has patience 2 and begins at step 5: the first evaluations that count are those after steps 6,
 * 9, ... */
static void a_plateau_cuts_the_rate(void **state)
{
    static const double scores[] = {5, 6, 7, 4, 5, 5, 5, 5};
    static const double rates[] = {0.046, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025, 0.025};
    const RelnTrainRow *rows;
    uint64_t steps;
    Rig r;

    (void)state;
    assert_int_equal(with_scores(scores, 0, &steps, &r), RELN_TRAIN_DONE);
    assert_int_equal(reln_trainer_rows(r.trainer, &rows), 8);
    for (int i = 0; i < 8; i++)
        assert_small(fabs(rows[i].rate / rates[i] - 1), 1e-14);
    rig_clear(&r);
}

/* One worse, one better, one worse: patience 2 is worn out only by the next. */
static void a_better_score_gives_a_plateau_its_patience_back(void **state)
{
    static const double scores[] = {5, 6, 4, 5, 5, 5, 5, 5};
    static const double rates[] = {0.046, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.025};
    const RelnTrainRow *rows;
    uint64_t steps;
    Rig r;

    (void)state;
    assert_int_equal(with_scores(scores, 0, &steps, &r), RELN_TRAIN_DONE);
    assert_int_equal(reln_trainer_rows(r.trainer, &rows), 8);
    for (int i = 0; i < 8; i++)
        assert_small(fabs(rows[i].rate / rates[i] - 1), 1e-14);
    rig_clear(&r);
}

/* The warm-up lasts 6 steps, and the evaluation after the sixth belongs to it: the plateau, with patience 1,
 * does not count it. */
static void an_evaluation_belongs_to_the_piece_of_the_step_before_it(void **state)
{
    static const double scores[] = {5, 6, 4, 3};
    const RelnTrainRow *rows;
    RelnTrainJob job;
    Rig r;

    (void)state;
    rig_init(&r, 1);
    r.scores = scores;
    job = rig_job(&r);
    job.n_steps = 12;
    job.schedule.piece[0].steps = 6;
    rig_trainer(&r, &job);
    assert_int_equal(rig_run(&r, UINT64_MAX), RELN_TRAIN_DONE);
    assert_int_equal(reln_trainer_rows(r.trainer, &rows), 4);
    for (int i = 2; i < 4; i++)
        assert_small(fabs(rows[i].rate / 0.1 - 1), 1e-14);
    rig_clear(&r);
}

static void without_evaluation_the_training_loss_is_the_score(void **state)
{
    const RelnTrainRow *rows;
    RelnTrainJob job;
    Rig r;

    (void)state;
    rig_init(&r, 1);
    job = rig_job(&r);
    job.evaluate = NULL;
    job.evaluate_every = 0;
    job.schedule.n_pieces = 0;
    rig_trainer(&r, &job);
    assert_int_equal(rig_run(&r, UINT64_MAX), RELN_TRAIN_DONE);
    assert_int_equal(reln_trainer_rows(r.trainer, &rows), 1);
    assert_true(rows[0].step == RIG_STEPS && rows[0].evaluation.score == rows[0].loss);
    assert_true(rows[0].seconds > 0 && rows[0].gradient_norm > 0 && rows[0].best);
    rig_clear(&r);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static RelnStatus no_batch(void *self, uint64_t step, ptrdiff_t *n_samples)
{
    Rig *r = self;

    if (step == 7 && r->stop_at == 0) {
        r->stop_at = UINT64_MAX; /* once */
        return RELN_ERR_IO;
    }
    return rig_load(self, step, n_samples);
}

static RelnStatus no_score(void *self, uint64_t step, RelnEvaluation *out)
{
    Rig *r = self;

    if (step == 9 && r->poisoned == 0) {
        r->poisoned = UINT64_MAX;
        return RELN_ERR_IO;
    }
    return rig_evaluate(self, step, out);
}

static void after_a_failure_it_goes_on_where_it_was(void **state)
{
    Saved whole = whole_run(1, 0), end;
    RelnTrainEnd why;
    RelnTrainJob job;
    Rig r;

    (void)state;
    rig_init(&r, 1);
    job = rig_job(&r);
    job.load = no_batch;
    job.evaluate = no_score;
    rig_trainer(&r, &job);
    assert_int_equal(reln_trainer_run(r.trainer, UINT64_MAX, &why), RELN_ERR_IO);
    assert_int_equal(reln_trainer_step(r.trainer), 7);
    assert_int_equal(reln_trainer_run(r.trainer, UINT64_MAX, NULL), RELN_ERR_IO);
    assert_int_equal(reln_trainer_step(r.trainer), 9);
    assert_int_equal(rig_run(&r, UINT64_MAX), RELN_TRAIN_DONE);
    end = save(r.trainer, r.f.ctx);
    assert_true(same_bits(&whole, &end));
    drop(&end);
    drop(&whole);
    rig_clear(&r);
}

/* Asserts that a state with one error is refused with a message, and that nothing has changed. */
static void refuse(Rig *r, const Saved *from, RelnStatus status, const char *message)
{
    Saved before = save(r->trainer, r->f.ctx), after;

    assert_int_equal(reln_trainer_restore(r->trainer, from->n, from->arrays), status);
    assert_non_null(strstr(reln_ctx_error(r->f.ctx), message));
    after = save(r->trainer, r->f.ctx);
    assert_true(same_bits(&before, &after));
    drop(&before);
    drop(&after);
}

static void a_state_that_does_not_fit_changes_nothing(void **state)
{
    Saved part = stopped_after(20, 0);
    RelnArray *w = find(&part, "best/out.W"), *rows = find(&part, "trainer/rows");
    int64_t *counters = find(&part, "trainer/counters")->values;
    double *row = rows->values;
    RelnTrainJob job;
    Rig r;

    (void)state;
    rig_init(&r, 1);
    job = rig_job(&r);
    rig_trainer(&r, &job);
    (void)rig_run(&r, 4);
    part.n = 1;
    refuse(&r, &part, RELN_ERR_FORMAT, "there is no array");
    part.n = 0;
    while (strcmp(part.arrays[part.n].name, "spec") != 0)
        part.n++;
    part.n++;
    w->dtype = RELN_F32;
    refuse(&r, &part, RELN_ERR_SHAPE, "best/out.W has another dtype");
    w->dtype = RELN_F64;
    w->dims[2]++;
    refuse(&r, &part, RELN_ERR_SHAPE, "best/out.W has another dtype or other extents");
    w->dims[2]--;
    counters[0]++;
    refuse(&r, &part, RELN_ERR_ARG, "a run of seed 78, this one has 77");
    counters[0]--;
    counters[1] = 41;
    refuse(&r, &part, RELN_ERR_ARG, "41 steps are done, this run has 40");
    counters[1] = -1;
    refuse(&r, &part, RELN_ERR_FORMAT, "counter 1 is -1");
    counters[1] = 20;
    rows->dims[1]--;
    refuse(&r, &part, RELN_ERR_SHAPE, "is not a record of");
    rows->dims[1]++;
    row[7] = 1e300;
    refuse(&r, &part, RELN_ERR_FORMAT, "has 1e+300 metrics of 8");
    row[7] = (double)NAN;
    refuse(&r, &part, RELN_ERR_FORMAT, "row 0 of the record");
    row[7] = 1;
    assert_ok(r.f.ctx, reln_trainer_restore(r.trainer, part.n, part.arrays));
    assert_int_equal(reln_trainer_step(r.trainer), 20);
    drop(&part);
    rig_clear(&r);
}

static void a_bad_job_is_refused(void **state)
{
    RelnTrainJob job;
    Rig r;

    (void)state;
    rig_init(&r, 1);
    job = rig_job(&r);
    job.n_steps = 0;
    assert_int_equal(reln_trainer_create(r.f.ctx, &job, &r.trainer), RELN_ERR_ARG);
    assert_string_equal(reln_ctx_error(r.f.ctx), "train: 0 steps, wanted 1 to 2^53");
    job = rig_job(&r);
    job.plan = r.eval;
    assert_int_equal(reln_trainer_create(r.f.ctx, &job, &r.trainer), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(r.f.ctx), "reln_train_step()"));
    job = rig_job(&r);
    job.evaluate_every = 0;
    assert_int_equal(reln_trainer_create(r.f.ctx, &job, &r.trainer), RELN_ERR_ARG);
    assert_non_null(strstr(reln_ctx_error(r.f.ctx), "a plateau cannot be seen"));
    job = job_of(&r, 1);
    assert_int_equal(reln_trainer_create(r.f.ctx, &job, &r.trainer), RELN_ERR_ARG);
    assert_string_equal(reln_ctx_error(r.f.ctx), "train: average is 1; wanted 0 to below 1");
    job = rig_job(&r);
    job.load = NULL;
    assert_int_equal(reln_trainer_create(r.f.ctx, &job, &r.trainer), RELN_ERR_ARG);
    assert_null(r.trainer);
    rig_clear(&r);
}

/* ---- no memory --------------------------------------------------------------------------------------------------- */

static RelnStatus zeros(void *self, uint64_t step, ptrdiff_t *n_samples)
{
    (void)self;
    (void)step;
    *n_samples = 1;
    return RELN_OK;
}

static RelnStatus train_a_line(RelnCtx *ctx, RelnPlan *plan, RelnStore *store)
{
    const RelnTrainJob job = {.plan = plan,
                              .store = store,
                              .n_steps = 3,
                              .evaluate_every = 1,
                              .schedule = {.rate = 0.1},
                              .load = zeros};
    RelnTrainer *t = NULL;
    const RelnArray *arrays;
    RelnStatus status;
    int n;

    status = reln_trainer_create(ctx, &job, &t);
    if (status == RELN_OK)
        status = reln_trainer_run(t, 2, NULL);
    if (status == RELN_OK)
        status = reln_trainer_state(t, &n, &arrays);
    if (status == RELN_OK) {
        status = reln_trainer_restore(t, n, arrays);
        assert_int_equal(reln_trainer_step(t), 2);
        assert_int_equal(reln_trainer_rows(t, NULL), 2);
    }
    reln_trainer_destroy(t);
    return status;
}

/* y = w x: no algebra, so that the allocations counted are ours. */
static RelnStatus make_a_line(RelnCtx *ctx)
{
    static const double x = 1.0;
    RelnOptimiser adam = {.adam = RELN_ADAM_DEFAULTS, .clip = 1};
    RelnGroup *group = NULL;
    RelnStore *store = NULL;
    RelnGraph *g = NULL;
    RelnPlan *plan = NULL;
    RelnStatus status = reln_group_create(ctx, "none:1", &group);

    if (status == RELN_OK)
        status = reln_store_create(ctx, 1, &store);
    if (status == RELN_OK)
        status = reln_graph_create(group, store, RELN_F64, &g);
    if (status == RELN_OK) {
        RelnNode *in = reln_input(g, "x", RELN_SAMPLES, (RelnDims){0}, NULL, RELN_F64);
        RelnNode *y =
            reln_mul(g, in, reln_param(g, "w", (RelnDims){0}, (RelnInit){RELN_INIT_CONSTANT, 2.0}));

        (void)reln_train_step(g, &adam, reln_loss_mean(g, &(RelnLoss){0}, y, in));
        status = reln_plan_create(g, NULL, &plan);
    }
    if (status == RELN_OK)
        status = reln_plan_bind(plan, "x", &x, RELN_F64);
    if (status == RELN_OK)
        status = train_a_line(ctx, plan, store);
    reln_plan_destroy(plan);
    reln_graph_destroy(g);
    reln_store_destroy(store);
    reln_group_destroy(group);
    return status;
}

static void no_allocation_is_taken_for_granted(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(make_a_line) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_run_that_is_compared_is_a_rich_one),
        cmocka_unit_test(a_run_stopped_after_any_step_ends_with_the_same_bits),
        cmocka_unit_test(a_state_that_is_not_whole_is_seen_at_the_end),
        cmocka_unit_test(averages_are_part_of_the_state),
        cmocka_unit_test(averages_follow_their_formula_and_are_what_is_judged),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(asked_to_stop_it_stops_and_goes_on),
        cmocka_unit_test(asked_within_a_step_it_stops_as_if_the_step_had_not_begun),
        cmocka_unit_test(an_evaluation_that_was_stopped_is_made_up_for),
        cmocka_unit_test(it_is_saved_every_so_often_and_at_the_end),
        cmocka_unit_test(progress_is_shown_as_seldom_as_was_wanted),
        cmocka_unit_test(steps_evaluations_and_states_allocate_nothing),
        cmocka_unit_test(the_best_weights_can_be_taken),
        cmocka_unit_test(a_nan_brings_the_best_weights_back),
        cmocka_unit_test(an_op_that_loses_its_value_ends_the_training_as_diverged),
        cmocka_unit_test(an_op_without_a_value_from_the_start_is_an_error_of_the_data),
        cmocka_unit_test(patience_counts_evaluations_without_a_better_score),
        cmocka_unit_test(a_plateau_cuts_the_rate),
        cmocka_unit_test(a_better_score_gives_a_plateau_its_patience_back),
        cmocka_unit_test(an_evaluation_belongs_to_the_piece_of_the_step_before_it),
        cmocka_unit_test(without_evaluation_the_training_loss_is_the_score),
        cmocka_unit_test(after_a_failure_it_goes_on_where_it_was),
        cmocka_unit_test(a_state_that_does_not_fit_changes_nothing),
        cmocka_unit_test(a_bad_job_is_refused),
        cmocka_unit_test(no_allocation_is_taken_for_granted),
    };

    return cmocka_run_group_tests_name("train/trainer", tests, NULL, NULL);
}
