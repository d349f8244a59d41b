/* Tests schedules: end values, continuity, the published formulas, sequences of pieces, and refusals. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "support/support.h"

static double rate(const RelnSchedulePiece *piece, uint64_t step, uint64_t n_steps, int cuts)
{
    RelnSchedule s = {.rate = 0.1, .n_pieces = 1};

    s.piece[0] = *piece;
    return reln_schedule_rate(&s, step, n_steps, cuts);
}

/* A product and a few functions of rounded numbers: some units in the last place. */
#define assert_rate(got, want) assert_small(fabs((got) - (want)), 32 * DBL_EPSILON * fabs(want))

static void no_pieces_are_a_constant(void **state)
{
    const RelnSchedule s = {.rate = 0.25};

    (void)state;
    assert_true(reln_schedule_rate(&s, 0, 10, 0) == 0.25);
    assert_true(reln_schedule_rate(&s, UINT64_MAX, 10, 3) == 0.25);
}

static void warm_up_rises_evenly_to_the_rate(void **state)
{
    const RelnSchedulePiece p = {.kind = RELN_SCHEDULE_WARMUP, .steps = 10, .floor = 0.1};

    (void)state;
    for (uint64_t t = 0; t <= 10; t++)
        assert_rate(rate(&p, t, 100, 0), 0.1 * (0.1 + 0.9 * (double)t / 10));
    assert_true(rate(&p, 10, 100, 0) == 0.1);
    assert_true(rate(&p, 50, 100, 0) == 0.1);
}

/* CosineAnnealingLR: eta_min + (eta - eta_min) (1 + cos(pi t / T_max)) / 2 with eta 0.1, eta_min 0.01, T_max 8 */
static void cosine_is_the_published_formula(void **state)
{
    static const double want[] = {
        0.1,   0.09657457896300789, 0.08681980515339464,  0.07222075445642905,
        0.055, 0.03777924554357097, 0.023180194846605367, 0.013425421036992097,
        0.01};
    const RelnSchedulePiece p = {.kind = RELN_SCHEDULE_COSINE, .floor = 0.1};

    (void)state;
    for (uint64_t t = 0; t <= 8; t++)
        assert_rate(rate(&p, t, 8, 0), want[t]);
    assert_rate(rate(&p, 100, 8, 0), 0.01);
}

/* CosineAnnealingWarmRestarts, T_0 = 4, T_mult = 2, eta_min = 0: periods 4, 8, 16 */
static void restarts_are_the_published_formula(void **state)
{
    const RelnSchedulePiece p = {.kind = RELN_SCHEDULE_RESTARTS, .period = 4, .factor = 2};
    const RelnSchedulePiece even = {.kind = RELN_SCHEDULE_RESTARTS, .period = 5};

    (void)state;
    for (uint64_t t = 0; t < 28; t++) {
        const double begin = t < 4 ? 0 : t < 12 ? 4 : 12, length = t < 4 ? 4 : t < 12 ? 8 : 16;

        assert_rate(rate(&p, t, 100, 0),
                    0.05 * (1 + cos(acos(-1.0) * ((double)t - begin) / length)));
    }
    assert_true(rate(&p, 4, 100, 0) == 0.1 && rate(&p, 12, 100, 0) == 0.1 &&
                rate(&p, 28, 100, 0) == 0.1);
    assert_true(rate(&p, 3, 100, 0) < 0.02 && rate(&p, 11, 100, 0) < 0.005);
    for (uint64_t t = 0; t < 20; t++)
        assert_true(rate(&even, t, 100, 0) == rate(&even, t + 5, 100, 0));
}

static void decays_multiply(void **state)
{
    RelnSchedulePiece p = {.kind = RELN_SCHEDULE_EXPONENTIAL, .period = 10, .factor = 0.5};

    (void)state;
    for (uint64_t t = 0; t < 60; t += 5)
        assert_rate(rate(&p, t, 100, 0), 0.1 * pow(0.5, (double)t / 10));
    p.kind = RELN_SCHEDULE_STEPS;
    assert_true(rate(&p, 9, 100, 0) == 0.1);
    assert_rate(rate(&p, 10, 100, 0), 0.05);
    assert_rate(rate(&p, 29, 100, 0), 0.025);
    p.floor = 0.125;
    assert_rate(rate(&p, 95, 100, 0), 0.0125);
    p.kind = RELN_SCHEDULE_EXPONENTIAL;
    assert_rate(rate(&p, 95, 100, 0), 0.0125);
    p.kind = RELN_SCHEDULE_PLATEAU;
    p.patience = 2;
    assert_true(rate(&p, 50, 100, 0) == 0.1);
    assert_rate(rate(&p, 0, 100, 2), 0.025);
    assert_rate(rate(&p, 0, 100, 9), 0.0125);
}

/* Returns the largest difference of neighbouring steps. It is at most the steepest slope: pi/2 / T for a
 * cosine and 1/T for a line, relative to the rate; |log f| / period for a decay. STEPS shows that the bound
 * can be exceeded. */
static double largest_jump(const RelnSchedule *s, uint64_t n_steps)
{
    double most = 0;

    for (uint64_t t = 1; t < n_steps; t++)
        most = fmax(most, fabs(reln_schedule_rate(s, t, n_steps, 0) -
                               reln_schedule_rate(s, t - 1, n_steps, 0)));
    return most;
}

static void warm_up_cosine_and_a_tail_join_without_a_jump(void **state)
{
    const double slope = acos(0.0) / 100 * 0.1 * (1 + 1e-12);
    RelnSchedule s = {
        .rate = 0.1,
        .n_pieces = 3,
        .piece = {
            {.kind = RELN_SCHEDULE_WARMUP, .steps = 100},
            {.kind = RELN_SCHEDULE_COSINE, .steps = 200, .floor = 0.25},
            {.kind = RELN_SCHEDULE_EXPONENTIAL, .factor = 0.5, .period = 100, .scale = 0.25}}};

    (void)state;
    assert_small(largest_jump(&s, 600), slope);
    assert_rate(reln_schedule_rate(&s, 100, 600, 0), 0.1);
    assert_rate(reln_schedule_rate(&s, 300, 600, 0), 0.025);
    assert_rate(reln_schedule_rate(&s, 400, 600, 0), 0.0125);
    s.piece[2].kind = RELN_SCHEDULE_STEPS;
    assert_true(largest_jump(&s, 600) > slope);
}

/* Pieces have their stated lengths, and a last piece without a length lasts to the end. */
static void the_last_piece_lasts_to_the_end(void **state)
{
    const RelnSchedule s = {.rate = 1.0,
                            .n_pieces = 2,
                            .piece = {{.steps = 3, .scale = 2}, {.kind = RELN_SCHEDULE_COSINE}}};

    (void)state;
    assert_true(reln_schedule_rate(&s, 2, 13, 0) == 2.0);
    assert_true(reln_schedule_rate(&s, 3, 13, 0) == 1.0);
    assert_rate(reln_schedule_rate(&s, 8, 13, 0), 0.5);
    assert_rate(reln_schedule_rate(&s, 8, 23, 0), 0.5 * (1 + cos(acos(-1.0) * 5 / 20)));
    assert_true(reln_schedule_rate(&s, 13, 13, 0) == 0.0);
    /* a run of two steps ends before the last piece begins, which has no length then */
    assert_true(reln_schedule_rate(&s, 1, 2, 0) == 2.0);
    assert_true(reln_schedule_rate(&s, 4, 2, 0) == 0.0);
}

/* A rate that changes once an epoch is the rate of the first step of the epoch. */
static void a_rate_can_be_held_for_an_epoch(void **state)
{
    (void)state;
    for (uint64_t hold = 2; hold <= 5; hold++) {
        const RelnSchedule held = {
            .rate = 1.0,
            .n_pieces = 2,
            .piece = {{.steps = 3}, {.kind = RELN_SCHEDULE_COSINE, .hold = hold}}};
        RelnSchedule free = held;

        free.piece[1].hold = 0;
        for (uint64_t t = 3; t < 23; t++)
            assert_true(reln_schedule_rate(&held, t, 23, 0) ==
                        reln_schedule_rate(&free, 3 + (t - 3) / hold * hold, 23, 0));
        assert_true(reln_schedule_rate(&held, 2 + hold, 23, 0) !=
                    reln_schedule_rate(&free, 2 + hold, 23, 0));
    }
}

static void a_bad_schedule_is_refused_with_its_number(void **state)
{
    static const struct {
        RelnSchedule schedule;
        const char *message;
    } bad[] = {
        {{.rate = 0}, "schedule: rate 0, wanted a number above 0"},
        {{.rate = (double)NAN}, "schedule: rate nan, wanted a number above 0"},
        {{.rate = 1, .n_pieces = 9}, "schedule: 9 pieces, wanted 0 to 8"},
        {{1, 1, {{.kind = (RelnScheduleKind)7}}}, "schedule: piece 0 is of unknown kind 7"},
        {{1, 1, {{.kind = RELN_SCHEDULE_COSINE, .floor = 1.5}}},
         "schedule: cosine: floor 1.5, wanted 0 to 1"},
        {{1, 1, {{.scale = -1}}}, "schedule: constant: scale -1, wanted 0 to 1e12"},
        {{1, 1, {{.kind = RELN_SCHEDULE_RESTARTS, .period = 0.5}}},
         "schedule: restarts: period 0.5, wanted at least 1 step"},
        {{1, 1, {{.kind = RELN_SCHEDULE_RESTARTS, .period = 5, .factor = 0.5}}},
         "schedule: restarts: factor 0.5, wanted 1 to 1e6"},
        {{1, 1, {{.kind = RELN_SCHEDULE_EXPONENTIAL, .period = 5}}},
         "schedule: exponential: factor 0, wanted 1e-6 to 1e6"},
        {{1, 1, {{.kind = RELN_SCHEDULE_PLATEAU, .factor = 1, .patience = 1}}},
         "schedule: plateau: factor 1, wanted between 0 and 1"},
        {{1, 1, {{.kind = RELN_SCHEDULE_PLATEAU, .factor = 0.5}}},
         "schedule: plateau: patience 0, wanted at least 1"},
        {{1, 2, {{.kind = RELN_SCHEDULE_COSINE}, {.steps = 5}}},
         "schedule: piece 0 of 2 lasts to the end, only the last one can"},
        {{1, 2, {{.steps = 5}, {.steps = 6}}}, "schedule: it ends after 11 of 100 steps"},
        {{1,
          2,
          {{.kind = RELN_SCHEDULE_PLATEAU, .factor = 0.5, .patience = 1, .steps = 10},
           {.kind = RELN_SCHEDULE_PLATEAU, .factor = 0.5, .patience = 1}}},
         "schedule: 2 pieces wait for a plateau, wanted at most 1"},
    };
    const RelnSchedule long_one = {1, 2, {{.steps = 50}, {.steps = UINT64_MAX}}};
    RelnCtx *ctx = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(reln_schedule_check(ctx, &bad[i].schedule, 100), RELN_ERR_ARG);
        assert_string_equal(reln_ctx_error(ctx), bad[i].message);
    }
    assert_ok(ctx, reln_schedule_check(ctx, &long_one, 100));
    assert_true(reln_schedule_rate(&long_one, UINT64_MAX, 100, 0) == 1.0);
    reln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_pieces_are_a_constant),
        cmocka_unit_test(warm_up_rises_evenly_to_the_rate),
        cmocka_unit_test(cosine_is_the_published_formula),
        cmocka_unit_test(restarts_are_the_published_formula),
        cmocka_unit_test(decays_multiply),
        cmocka_unit_test(warm_up_cosine_and_a_tail_join_without_a_jump),
        cmocka_unit_test(the_last_piece_lasts_to_the_end),
        cmocka_unit_test(a_rate_can_be_held_for_an_epoch),
        cmocka_unit_test(a_bad_schedule_is_refused_with_its_number),
    };

    return cmocka_run_group_tests_name("train/schedule", tests, NULL, NULL);
}
