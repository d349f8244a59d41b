/* Tests the tasks on sl(3): targets and actions against their definitions, and a network that equals the
 * target. */
#include <float.h>
#include <math.h>

#include "tasks/elements.h"
#include "tasks/network.h"
#include "tasks/sl3/sl3.h"
#include "tasks/smoke.h"

enum { SAMPLES = 10, CHANNELS = 4 };

static void setting(RelnSetting *s)
{
    *s = (RelnSetting){0};
    assert_ok(s->ctx, reln_setting_init(s, "sl:3", "sl:3", RELN_F64, 1));
}

static void draw(RelnRng *rng, double *x)
{
    for (int k = 0; k < SL3_K; k++)
        x[k] = reln_rng_uniform(rng) - 0.5;
}

/* |Ad| is about cond(g), and an action costs 2 cond^3 roundings. */
static double acting(const double *ad)
{
    double square = 0;

    for (int i = 0; i < SL3_K * SL3_K; i++)
        square += ad[i] * ad[i];
    return 2 * pow(square, 1.5) * DBL_EPSILON;
}

static void targets_follow_conjugations(void **state)
{
    double x[SL3_K], y[SL3_K], z[SL3_K], gx[SL3_K], gy[SL3_K], gz[SL3_K], ad[SL3_K * SL3_K];
    RelnRng rng = reln_rng(1, 1);
    RelnSetting s;

    (void)state;
    setting(&s);
    for (int i = 0; i < SAMPLES; i++) {
        draw(&rng, x);
        draw(&rng, y);
        assert_ok(s.ctx, element_action(s.algebra, &rng, 0.5, ad));
        element_act(SL3_K, ad, 1, 1, x, gx);
        element_act(SL3_K, ad, 1, 1, y, gy);
        const double before = sl3_invariant(s.algebra, x, y),
                     after = sl3_invariant(s.algebra, gx, gy);
        assert_near(&after, &before, 1, acting(ad));
        sl3_equivariant(s.algebra, x, y, z);
        element_act(SL3_K, ad, 1, 1, z, z);
        sl3_equivariant(s.algebra, gx, gy, gz);
        assert_near(gz, z, SL3_K, acting(ad));
        assert_true(fabs(gx[0] - x[0]) > 1e-6);
    }
    reln_setting_clear(&s);
}

/* X = diag(1/2, -1/2, 0), Y = diag(1/2, 1/2, -1): tr XX = 1/2, tr YY = 3/2, det X = 0, and they commute. */
static void targets_have_the_values_of_their_formulas(void **state)
{
    const double X[9] = {0.5, 0, 0, 0, -0.5, 0, 0, 0, 0}, Y[9] = {0.5, 0, 0, 0, 0.5, 0, 0, 0, -1};
    const double want = sin(0.5) + cos(1.5) - 27.0 / 16 + exp(0.5), zero[SL3_K] = {0};
    double x[SL3_K], y[SL3_K], z[SL3_K], got;
    RelnSetting s;

    (void)state;
    setting(&s);
    reln_algebra_vee(s.algebra, X, x);
    reln_algebra_vee(s.algebra, Y, y);
    got = sl3_invariant(s.algebra, x, y);
    assert_near(&got, &want, 1, 100 * DBL_EPSILON);
    sl3_equivariant(s.algebra, x, y, z);
    assert_near(z, zero, SL3_K, 100 * DBL_EPSILON);
    reln_setting_clear(&s);
}

/* ---- two brackets are the target ----------------------------------------------------------------------------------- */

static void clear(const RelnStore *store, const char *name)
{
    RelnEntryInfo entry;

    assert_true(reln_store_find(store, name, &entry));
    memset(entry.values, 0, entry.count * sizeof(double));
}

static void set(const RelnStore *store, const char *name, int in, int out, double value)
{
    RelnEntryInfo entry;

    assert_true(reln_store_find(store, name, &entry));
    ((double *)entry.values)[in * entry.dims.c + out] = value;
}

/* Channels X, Y, 0, 0; a bracket layer, x + [x Wb, x Wa], makes the third [X,Y]; another the fourth [[X,Y],Y]. */
static void set_weights(const RelnStore *store)
{
    static const char *const all[] = {"0.W", "0.Wa", "0.Wb", "1.W", "1.Wa", "1.Wb", "out.W"};

    for (int i = 0; i < 7; i++)
        clear(store, all[i]);
    set(store, "0.W", 0, 0, 1);
    set(store, "0.W", 1, 1, 1);
    set(store, "0.Wb", 0, 2, 1);
    set(store, "0.Wa", 1, 2, 1);
    for (int c = 0; c < CHANNELS; c++)
        set(store, "1.W", c, c, 1);
    set(store, "1.Wb", 2, 3, 1);
    set(store, "1.Wa", 1, 3, 1);
    set(store, "out.W", 3, 0, 1);
    set(store, "out.W", 2, 0, -1);
}

static double distance_to_target(void (*weights)(const RelnStore *store))
{
    const Sl3Model model = {.kind = SL3_EQUIVARIANT, .width = CHANNELS, .blocks = "bb"};
    double pairs[SAMPLES * 2 * SL3_K], x[SL3_K], y[SL3_K], z[SL3_K], worst = 0;
    RelnRng rng = reln_rng(1, 2);
    Network n;

    network_init(&n, "sl:3", "sl:3");
    n.plan = network_plan(n.s.graph, sl3_network(&n.net, &model), NULL);
    if (weights)
        weights(n.s.store);
    fill_normal(&rng, SAMPLES * 2 * SL3_K, pairs);
    assert_ok(n.s.ctx, reln_plan_bind(n.plan, "x", pairs, RELN_F64));
    assert_ok(n.s.ctx, reln_plan_run(n.plan, &(RelnRun){.n_samples = SAMPLES}));
    const double *out = reln_plan_output(n.plan, "out", NULL);
    for (int i = 0; i < SAMPLES; i++) {
        for (int k = 0; k < SL3_K; k++) {
            x[k] = pairs[(i * SL3_K + k) * 2];
            y[k] = pairs[(i * SL3_K + k) * 2 + 1];
        }
        sl3_equivariant(n.s.algebra, x, y, z);
        for (int k = 0; k < SL3_K; k++)
            worst = fmax(worst, fabs(out[i * SL3_K + k] - z[k]));
    }
    network_clear(&n);
    return worst;
}

static void two_brackets_of_four_channels_are_the_equivariant_target(void **state)
{
    (void)state;
    assert_small(distance_to_target(set_weights), 1e4 * DBL_EPSILON);
    assert_true(distance_to_target(NULL) > 0.1); /* must fail: other weights are another function */
}

/* ---- the tables ---------------------------------------------------------------------------------------------------- */

/* Metrics: id, sl3, equivariance. Outputs are a few units, of sums of 256 products in single precision. */
static void rounding_or_mlp(const TaskRun *run)
{
    if (smoke_is_mlp(run))
        assert_true(run->metrics[2] > 1e-2);
    else
        assert_small(run->metrics[2], 256 * 0x1p-23);
}

static void rows_are_equivariant_but_for_the_mlps(void **state)
{
    (void)state;
    smoke("sl3-inv", NULL, rounding_or_mlp);
    smoke("sl3-equiv", NULL, rounding_or_mlp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_follow_conjugations),
        cmocka_unit_test(targets_have_the_values_of_their_formulas),
        cmocka_unit_test(two_brackets_of_four_channels_are_the_equivariant_target),
        cmocka_unit_test(rows_are_equivariant_but_for_the_mlps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
