/* Tests numbers that are too large, not finite, or changed: they are reported where they are met, and never
 * become results. */
#include <sys/stat.h>

#include "fit/room.h"
#include "kit/conditions.h"

#define TRAIN(rate) " train: {epochs: 2, batch: 4, validation: 0.25, lr: " rate "}}"

static void put(const Room *r)
{
    assert_ok(r->world.ctx,
              reln_npz_save(r->world.ctx, r->data, r->world.n_arrays, r->world.arrays));
}

static void scale_array(const Room *r, const char *name, double factor)
{
    for (int k = 0; k < r->world.n_arrays; k++)
        if (strcmp(r->world.arrays[k].name, name) == 0)
            for (ptrdiff_t i = 0; i < array_count(&r->world.arrays[k]); i++)
                ((double *)r->world.arrays[k].values)[i] *= factor;
    put(r);
}

static bool exists(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0;
}

static RelnStatus open_run(const Room *r, RelnFit **fit)
{
    return reln_fit_open(r->world.ctx, r->spec, r->data, &(RelnFitOptions){.folder = r->run}, fit);
}

/* ---- condition numbers -------------------------------------------------------------------------------------------------- */

/* Of 4,000 samples a thousand are looked at, over the whole file: diag(100, 1) in the last quarter is found. */
static void conditions_are_those_of_the_whole_file(void **state)
{
    enum { N = 4000 };
    RelnCondition found[RELN_SPEC_INPUTS];
    double *x;
    int count;
    Room r;

    (void)state;
    room_init(&r, PAIRS TRAIN("1e-3"), N);
    x = world_find(&r.world, "X")->values;
    for (ptrdiff_t i = 0; i < (ptrdiff_t)N * WORLD_CHANNELS; i++) {
        const double m[4] = {i < 3 * N / 4 * WORLD_CHANNELS ? 1 : 100, 0, 0, 1};

        memcpy(x + 4 * i, m, sizeof m);
    }
    put(&r);
    assert_ok(r.world.ctx, world_model(&r.world));
    assert_ok(r.world.ctx, reln_data_conditions(r.world.model, r.data, found, &count));
    assert_int_equal(count, 1);
    assert_int_equal(found[0].count, 1000 * WORLD_CHANNELS);
    assert_true(fabs(found[0].median - 1) < 1e-12 && fabs(found[0].worst - 100) < 1e-10);
    room_clear(&r);
}

/* ---- too large ------------------------------------------------------------------------------------------------------ */

static void numbers_whose_squares_overflow_are_refused_before_training(void **state)
{
    static const char *const names[] = {"X", "y"};
    static const double factors[] = {1e160, 1e300};

    (void)state;
    for (int k = 0; k < 4; k++) {
        RelnFit *fit = NULL;
        Room r;

        room_init(&r, PAIRS TRAIN("1e-3"), 16);
        scale_array(&r, names[k / 2], factors[k % 2]);
        assert_int_equal(open_run(&r, &fit), RELN_ERR_FORMAT);
        assert_null(strstr(reln_ctx_error(r.world.ctx), "infinite"));
        assert_non_null(strstr(reln_ctx_error(r.world.ctx), "were wanted, for dtype"));
        assert_true(strncmp(reln_ctx_error(r.world.ctx), names[k / 2], 1) == 0);
        assert_false(exists(r.model));
        room_clear(&r);
    }
}

static void a_model_that_could_not_be_loaded_is_not_written(void **state)
{
    RelnModel *model;
    RelnConstants constants;
    Room r;

    (void)state;
    room_init(&r, PAIRS TRAIN("1e-3"), 16);
    room_train(&r, 1);
    model = room_load(&r, RELN_DEFAULT);
    constants = *reln_model_constants(model);
    constants.scale[0] = HUGE_VAL;
    reln_model_set_constants(model, &constants);
    assert_int_equal(unlink(r.model), 0);
    assert_int_equal(reln_model_save(model, r.model), RELN_ERR_NUMERIC);
    assert_false(exists(r.model));
    reln_model_destroy(model);
    room_clear(&r);
}

/* ---- not finite ----------------------------------------------------------------------------------------------------- */

/* Six cubes of numbers that grow by a thousand in each step are beyond f32 before the first evaluation. */
static void a_run_that_diverges_at_once_leaves_no_model(void **state)
{
    RelnFit *fit = NULL;
    RelnTrainEnd end;
    Room r;

    (void)state;
    room_init(&r,
              "{symmetry: gl:2, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar},"
              " model: {width: 3, depth: 6}," TRAIN("1000"),
              16);
    assert_ok(r.world.ctx, open_run(&r, &fit));
    assert_ok(r.world.ctx, reln_fit_run(fit, &end));
    assert_int_equal(end, RELN_TRAIN_DIVERGED);
    assert_null(reln_fit_result(fit).best);
    assert_false(exists(r.model));
    reln_fit_close(fit);
    room_clear(&r);
}

static void outputs_that_are_not_finite_are_no_results(void **state)
{
    RelnModel *model;
    RelnArray p;
    RelnMetrics m;
    Room r;

    (void)state;
    room_init(&r, PAIRS TRAIN("1e-3"), 16);
    room_train(&r, 1);
    model = room_load(&r, RELN_DEFAULT);
    assert_ok(r.world.ctx, reln_predict(model, r.data, 1, &p));
    reln_array_clear(&p);
    ((double *)r.world.arrays[0].values)[5 * WORLD_CHANNELS * 4] =
        1e36; /* sample 5: its square is beyond f32 */
    put(&r);
    assert_int_equal(reln_predict(model, r.data, 1, &p), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(r.world.ctx), "1 of 16 samples, sample 5 the first"));
    assert_int_equal(reln_evaluate(model, r.data, 1, &m), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(r.world.ctx), "1 of 16 samples, sample 5 the first"));
    reln_model_destroy(model);
    room_clear(&r);
}

/* ---- changed -------------------------------------------------------------------------------------------------------- */

static bool at_once(void *self, const RelnTrainProgress *progress)
{
    (void)self;
    (void)progress;
    return false;
}

/* A change of any of the 2^21 numbers is noticed, not only of those in every third row. */
static void one_changed_number_of_many_is_seen(void **state)
{
    enum { N = 12, P = 30000, NUMBERS = N * P * 3 };
    static double v[2 * NUMBERS], y[2 * N];
    const RelnArray arrays[] = {RELN_ARRAY("v", RELN_F64, v, 2 * N, P, 3),
                                RELN_ARRAY("y", RELN_F64, y, 2 * N)};
    RelnRng rng = reln_rng(3, 0);
    RelnFitOptions options = {.observe = at_once};
    RelnTrainEnd end;
    Room r;

    (void)state;
    room_init(&r, VECTORS TRAIN("1e-3"), 4);
    room_write(r.spec,
               "{symmetry: so:3, inputs: [{name: v, as: vector, points: true}], target: {name: y, "
               "as: scalar}, model: {width: 2, depth: 1}, train: {steps: 4, batch: 1}}");
    fill_normal(&rng, 2 * NUMBERS, v);
    fill_normal(&rng, 2 * N, y);
    options.folder = r.run;
    for (int row = 0; row < 2 * N; row += 5) {
        const ptrdiff_t at = (ptrdiff_t)row * P * 3 + 7;
        const double before = v[at];
        RelnFit *fit = NULL;

        assert_ok(r.world.ctx, reln_npz_save(r.world.ctx, r.data, 2, arrays));
        assert_ok(r.world.ctx, reln_fit_open(r.world.ctx, r.spec, r.data, &options, &fit));
        assert_ok(r.world.ctx, reln_fit_run(fit, &end));
        assert_int_equal(end, RELN_TRAIN_ASKED);
        reln_fit_close(fit);
        assert_ok(r.world.ctx,
                  reln_fit_resume(r.world.ctx, &options, &fit)); /* the original values again */
        reln_fit_close(fit);
        v[at] = before + 1e-12;
        assert_ok(r.world.ctx, reln_npz_save(r.world.ctx, r.data, 2, arrays));
        assert_int_equal(reln_fit_resume(r.world.ctx, &options, &fit), RELN_ERR_FORMAT);
        assert_non_null(strstr(reln_ctx_error(r.world.ctx), "the arrays are not those"));
        v[at] = before;
        room_sweep(r.run);
    }
    room_clear(&r);
}

/* ---- files that a model came from ----------------------------------------------------------------------------------- */

/* The basis of so(2) is a file, which is then replaced by another algebra and then removed. */
static void a_basis_from_a_file_travels_in_the_model(void **state)
{
    static double turn[] = {0, -1, 1, 0}, stretch[] = {1, 0, 0, -1};
    RelnCheck *check = malloc(sizeof *check);
    const RelnArray turns = RELN_ARRAY(NULL, RELN_F64, turn, 1, 2, 2),
                    stretches = RELN_ARRAY(NULL, RELN_F64, stretch, 1, 2, 2);
    RelnArray before, after;
    RelnModel *model;
    char basis[128], spec[512];
    Room r;

    (void)state;
    assert_non_null(check);
    room_init(&r, PAIRS TRAIN("1e-3"), 16);
    snprintf(basis, sizeof basis, "%s/basis.npy", r.folder);
    snprintf(spec, sizeof spec,
             "{symmetry: {basis: '%s'}, inputs: [{name: X, as: matrix}], target: {name: y, as: "
             "scalar}, model: {width: 3, depth: 1}, train: {epochs: 1, batch: 4, dtype: f32}}",
             basis);
    room_write(r.spec, spec);
    assert_ok(r.world.ctx, reln_npy_save(r.world.ctx, basis, &turns));
    room_train(&r, 1);
    model = room_load(&r, RELN_F64);
    assert_ok(r.world.ctx, reln_predict(model, r.data, 1, &before));
    reln_model_destroy(model);
    for (int gone = 0; gone < 2; gone++) {
        assert_int_equal(unlink(basis), 0);
        if (!gone)
            assert_ok(r.world.ctx, reln_npy_save(r.world.ctx, basis, &stretches));
        model = room_load(&r, RELN_DEFAULT);
        assert_ok(r.world.ctx, reln_check(model, &(RelnCheckOptions){.draws = 5}, check));
        assert_true(check->promises && check->kept);
        assert_int_equal(check->n_conds, 1); /* rotations: no other condition number than 1 */
        reln_model_destroy(model);
        model = room_load(&r, RELN_F64);
        assert_ok(r.world.ctx, reln_predict(model, r.data, 1, &after));
        assert_memory_equal(before.f64, after.f64, 16 * sizeof *after.f64);
        reln_array_clear(&after);
        reln_model_destroy(model);
    }
    reln_array_clear(&before);
    free(check);
    room_clear(&r);
}

/* ---- features that say nothing -------------------------------------------------------------------------------------- */

static void one_covariance_is_not_taken_relative_to_itself(void **state)
{
    static const char *const specs[] = {
        "{symmetry: gl:2, inputs: [{name: C, as: covariance, reference: mean}], target: {name: y, "
        "as: scalar}, model: {width: 2, depth: 1}, train: {epochs: 1, batch: 4}}",
        "{symmetry: gl:2, inputs: [{name: C, as: covariance, reference: mean}, {name: D, as: "
        "covariance, reference: mean}], target: {name: y, as: scalar}, model: {width: 2, depth: 1},"
        " train: {epochs: 1, batch: 4}}"};
    static double c[16 * 4], y[16];
    const RelnArray arrays[] = {RELN_ARRAY("C", RELN_F64, c, 16, 2, 2),
                                RELN_ARRAY("D", RELN_F64, c, 16, 2, 2),
                                RELN_ARRAY("y", RELN_F64, y, 16)};
    RelnRng rng = reln_rng(3, 0);

    (void)state;
    fill_normal(&rng, 16, y);
    for (int i = 0; i < 16; i++)
        random_covariance(&rng, 2, c + 4 * (ptrdiff_t)i);
    for (int k = 0; k < 2; k++) {
        RelnFit *fit = NULL;
        Room r;

        room_init(&r, PAIRS TRAIN("1e-3"), 4);
        room_write(r.spec, specs[k]);
        assert_ok(r.world.ctx, reln_npz_save(r.world.ctx, r.data, 3, arrays));
        assert_int_equal(open_run(&r, &fit), k == 0 ? RELN_ERR_UNSUPPORTED : RELN_OK);
        if (k == 0)
            assert_non_null(strstr(reln_ctx_error(r.world.ctx), "is its own mean"));
        reln_fit_close(fit);
        room_clear(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_are_those_of_the_whole_file),
        cmocka_unit_test(numbers_whose_squares_overflow_are_refused_before_training),
        cmocka_unit_test(a_model_that_could_not_be_loaded_is_not_written),
        cmocka_unit_test(a_run_that_diverges_at_once_leaves_no_model),
        cmocka_unit_test(outputs_that_are_not_finite_are_no_results),
        cmocka_unit_test(one_changed_number_of_many_is_seen),
        cmocka_unit_test(a_basis_from_a_file_travels_in_the_model),
        cmocka_unit_test(one_covariance_is_not_taken_relative_to_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
