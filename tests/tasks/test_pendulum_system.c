/* Compares the pendulum's motion with another integrator; tests conserved quantities, and the published data
 * set made from its seed. */
#include <math.h>
#include <string.h>

#include "tasks/pendulum.h"
#include "tasks/pendulum/pendulum.h"

enum { MOTIONS = 5, TIMES = 151, SIZE = TIMES * PEND_STATE };

/* The reference is right to 2e-11 and CVODE asked for 1e-13 in every step; 1e-9 is what the motions may differ by. */
#define AGREE 1e-9

static double worst_difference(const char *name, const PendSystem *system)
{
    RelnCtx *ctx = NULL;
    double z[SIZE], worst = 0;
    RelnArray z0, want;

    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    z0 = pendulum_golden(ctx, "z0", MOTIONS * PEND_STATE);
    want = pendulum_golden(ctx, name, MOTIONS * SIZE);
    for (int i = 0; i < MOTIONS; i++) {
        assert_true(pend_motion(system, z0.f64 + i * PEND_STATE, PEND_INTERVAL, TIMES, z));
        for (int j = 0; j < SIZE; j++)
            worst = fmax(worst, fabs(z[j] - want.f64[i * SIZE + j]));
    }
    reln_array_clear(&z0);
    reln_array_clear(&want);
    reln_ctx_destroy(ctx);
    return worst;
}

static void motions_agree_with_another_integrator(void **state)
{
    (void)state;
    skip_without_motions();
    assert_small(worst_difference("z_code", &PEND_AS_PUBLISHED), AGREE);
    assert_small(worst_difference("z_paper", &PEND_AS_PRINTED), AGREE);
}

static void the_two_springs_are_told_apart(void **state)
{
    (void)state;
    skip_without_motions();
    assert_true(worst_difference("z_code", &PEND_AS_PRINTED) > 0.1);
}

static void energy_and_spin_are_conserved(void **state)
{
    static double z[SIZE];
    RelnRng rng = reln_rng(1, 0);
    double z0[PEND_STATE] = {0.1, 0.2, -1.4, 0.3, -0.1, -3.1};

    (void)state;
    skip_without_motions();
    for (int i = 6; i < PEND_STATE; i++)
        z0[i] = 0.4 * reln_rng_normal(&rng);
    assert_true(pend_motion(&PEND_AS_PUBLISHED, z0, PEND_INTERVAL, TIMES, z));
    for (int t = 0; t < TIMES; t++) {
        const double *now = z + t * PEND_STATE;

        assert_small(pend_energy(&PEND_AS_PUBLISHED, now) - pend_energy(&PEND_AS_PUBLISHED, z0),
                     AGREE);
        assert_small(pend_spin(now) - pend_spin(z0), AGREE);
    }
}

/* Central differences: h^2 of truncation, epsilon / h of rounding, |H| below 10. */
static void the_field_is_the_derivative_of_the_energy(void **state)
{
    const double h = 1e-5, bound = 100 * (h * h + 1e-15 / h);
    double z[PEND_STATE] = {0.3, -0.2, -1.5, 0.1, 0.4, -2.9, 0.2, 0.1, -0.3, 0.5, 0.2, 0.1};
    double zdot[PEND_STATE];

    (void)state;
    pend_field(&PEND_AS_PUBLISHED, z, zdot);
    for (int i = 0; i < PEND_STATE; i++) {
        const double at = z[i], want = i < 6 ? -zdot[i + 6] : zdot[i - 6];
        double up, down;

        z[i] = at + h;
        up = pend_energy(&PEND_AS_PUBLISHED, z);
        z[i] = at - h;
        down = pend_energy(&PEND_AS_PUBLISHED, z);
        z[i] = at;
        assert_small((up - down) / (2 * h) - want, bound);
    }
}

static void the_published_splits_follow_from_their_seed(void **state)
{
    static PendData data;
    RelnCtx *ctx = NULL;
    RelnArray index, chunks;

    (void)state;
    skip_without_motions();
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    index = pendulum_golden(ctx, "index", 2 * PEND_SPLITS * PEND_SPLIT);
    chunks = pendulum_golden(ctx, "mlp/target", 4 * PEND_CHUNK * PEND_STATE);
    assert_true(pend_data_init(&data, &PEND_AS_PUBLISHED, PEND_DATA_SEED, 4));
    for (int i = 0; i < PEND_SPLITS * PEND_SPLIT; i++) {
        const PendRow row = data.rows[i / PEND_SPLIT][i % PEND_SPLIT];

        assert_int_equal(row.system, (int)index.f64[2 * i]);
        assert_int_equal(row.chunk, (int)index.f64[2 * i + 1]);
    }
    /* The reference used steps of 0.005: 5e-9 in energy over 30 time units, grown by at most 280 on the way. */
    assert_near(data.chunks[PEND_TRAIN], chunks.f64, reln_array_count(&chunks), 280 * 5e-9);
    assert_near(data.truth, data.chunks[PEND_TEST], PEND_CHUNK * PEND_STATE, 1e-9);
    pend_data_clear(&data);
    reln_array_clear(&index);
    reln_array_clear(&chunks);
    reln_ctx_destroy(ctx);
}

static void the_task_says_what_it_lacks(void **state)
{
    TaskEnv env = {.task = task_find("pendulum"), .scale = TASK_SMOKE};
    RelnStatus status;
    void *data = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &env.ctx), RELN_OK);
    status = env.task->prepare(&env, &data);
    assert_int_equal(status, pend_can_move() ? RELN_OK : RELN_ERR_UNSUPPORTED);
    assert_true(pend_can_move() || strstr(env.message, "need SUNDIALS"));
    task_release(&env);
    reln_ctx_destroy(env.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(motions_agree_with_another_integrator),
        cmocka_unit_test(the_two_springs_are_told_apart),
        cmocka_unit_test(energy_and_spin_are_conserved),
        cmocka_unit_test(the_field_is_the_derivative_of_the_energy),
        cmocka_unit_test(the_published_splits_follow_from_their_seed),
        cmocka_unit_test(the_task_says_what_it_lacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
