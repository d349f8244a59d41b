/* Tests model files: a loaded model is the same model, predictions do not depend on the way they are asked
 * for, and errors equal those computed by hand. */
#include <float.h>

#include "fit/fit.h"
#include "fit/room.h"

#define TRAIN32 " train: {epochs: 2, batch: 4, validation: 0.25, dtype: f32}}"
#define TRAIN64 " train: {epochs: 2, batch: 4, validation: 0.25, dtype: f64}}"

static RelnArray predict(Room *r, RelnModel *model, const char *data, int threads)
{
    RelnArray p;

    assert_ok(r->world.ctx, reln_predict(model, data, threads, &p));
    return p;
}

static void assert_same_values(const RelnArray *a, const RelnArray *b)
{
    assert_int_equal(a->rank, b->rank);
    assert_memory_equal(a->dims, b->dims, sizeof a->dims);
    assert_memory_equal(a->f64, b->f64, (size_t)reln_array_count(a) * sizeof *a->f64);
}

/* ---- the same model ------------------------------------------------------------------------------------------------- */

static void a_model_saved_again_is_the_same_file(void **state)
{
    static const char *const specs[] = {PAIRS TRAIN32, VECTORS TRAIN64, CLASSES TRAIN32};

    (void)state;
    for (int k = 0; k < 3; k++) {
        Room r;
        RelnModel *model;
        char *before, *after;
        size_t n_before, n_after;

        room_init(&r, specs[k], 12);
        room_train(&r, 1);
        before = read_file(r.model, &n_before);
        model = room_load(&r, RELN_DEFAULT);
        assert_ok(r.world.ctx, reln_model_save(model, r.model));
        after = read_file(r.model, &n_after);
        assert_int_equal(n_before, n_after);
        assert_memory_equal(before, after, n_before);
        free(before);
        free(after);
        reln_model_destroy(model);
        room_clear(&r);
    }
}

/* Arrays of a file and the same arrays in memory. */
static void memory_predicts_as_a_file_does(void **state)
{
    static const char *const specs[] = {PAIRS TRAIN32, VECTORS TRAIN64, CLASSES TRAIN32};

    (void)state;
    for (int k = 0; k < 3; k++) {
        Room r;
        RelnModel *model;
        RelnArray file, memory;

        room_init(&r, specs[k], 12);
        room_train(&r, 1);
        model = room_load(&r, RELN_DEFAULT);
        assert_true(reln_model_step(model) > 0);
        file = predict(&r, model, r.data, 1);
        assert_ok(r.world.ctx,
                  reln_predict_arrays(model, r.world.n_arrays, r.world.arrays, 2, &memory));
        assert_same_values(&file, &memory);
        reln_array_clear(&file);
        reln_array_clear(&memory);
        assert_int_equal(reln_predict_arrays(model, 0, NULL, 1, &memory), RELN_ERR_FORMAT);
        reln_model_destroy(model);
        room_clear(&r);
    }
}

/* Refuses files that are not models, files of other programs, and files of an unknown format. */
static void only_a_checkpoint_is_read_as_one(void **state)
{
    static const RelnMetaItem other[] = {{"reln.format", "999"}, {"reln.kind", "checkpoint"}};
    double x[2] = {1, 2};
    const RelnArray array = RELN_ARRAY("x", RELN_F64, x, 2);
    RelnTensors *file = NULL;
    bool previous;
    char path[512];
    Room r;

    (void)state;
    room_init(&r, PAIRS TRAIN32, 12);
    room_train(&r, 1);
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", r.run);
    assert_ok(r.world.ctx, reln_checkpoint_load(r.world.ctx, path, &file, &previous));
    assert_false(previous);
    reln_tensors_destroy(file);
    assert_int_equal(reln_checkpoint_load(r.world.ctx, r.model, &file, &previous), RELN_ERR_FORMAT);
    assert_null(file);
    snprintf(path, sizeof path, "%s/other.safetensors", r.folder);
    assert_ok(r.world.ctx, reln_tensors_save(r.world.ctx, path, 1, &array, &(RelnMeta){0, NULL}));
    assert_int_equal(reln_checkpoint_load(r.world.ctx, path, &file, &previous), RELN_ERR_FORMAT);
    assert_ok(r.world.ctx, reln_tensors_save(r.world.ctx, path, 1, &array, &(RelnMeta){2, other}));
    assert_int_equal(reln_checkpoint_load(r.world.ctx, path, &file, &previous),
                     RELN_ERR_UNSUPPORTED);
    room_clear(&r);
}

/* From f32 to f64 no weight changes, and the prediction by rounding of the f32 network only. */
static void a_model_in_double_precision_predicts_the_same_to_single(void **state)
{
    Room r;
    RelnModel *narrow, *wide, *converted = NULL;
    RelnArray a, b, c;

    (void)state;
    room_init(&r, VECTORS TRAIN32, 12);
    room_train(&r, 1);
    narrow = room_load(&r, RELN_DEFAULT);
    wide = room_load(&r, RELN_F64);
    assert_ok(r.world.ctx, reln_model_convert(narrow, RELN_F64, &converted));
    a = predict(&r, narrow, r.data, 1);
    b = predict(&r, wide, r.data, 1);
    c = predict(&r, converted, r.data, 1);
    assert_same_values(&b, &c);
    /* a dozen sums of up to 36 terms each */
    assert_near(a.f64, b.f64, reln_array_count(&a), 12 * 36 * (double)FLT_EPSILON);
    assert_memory_not_equal(a.f64, b.f64, (size_t)reln_array_count(&a) * sizeof *a.f64);
    reln_array_clear(&a);
    reln_array_clear(&b);
    reln_array_clear(&c);
    reln_model_destroy(narrow);
    reln_model_destroy(wide);
    reln_model_destroy(converted);
    room_clear(&r);
}

/* A description that was edited, with a valid checksum, is refused, or describes a model that the weights do
 * not fit. */
static void retell(Room *r, const char *old, const char *new, const char *message)
{
    RelnMetaItem items[3] = {{"reln.format", "1"}, {"reln.kind", "model"}, {"reln.model", NULL}};
    RelnTensors *file = NULL;
    RelnModel *model = NULL;
    char path[128], text[8192];
    const char *told, *at;

    assert_ok(r->world.ctx, reln_tensors_load(r->world.ctx, r->model, &file));
    told = reln_tensors_meta(file, "reln.model");
    at = strstr(told, old);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - told), told, new, at + strlen(old));
    items[2].value = text;
    snprintf(path, sizeof path, "%s/edited.safetensors", r->folder);
    assert_ok(r->world.ctx, reln_tensors_save(r->world.ctx, path, reln_tensors_count(file),
                                              reln_tensors_get(file, 0), &(RelnMeta){3, items}));
    assert_int_not_equal(reln_model_load(r->world.ctx, path, RELN_DEFAULT, &model), RELN_OK);
    assert_null(model);
    if (!strstr(reln_ctx_error(r->world.ctx), message))
        fail_msg("'%s', wanted '%s'", reln_ctx_error(r->world.ctx), message);
    reln_tensors_destroy(file);
}

static void an_edited_description_is_refused(void **state)
{
    Room r;

    (void)state;
    room_init(&r, PAIRS TRAIN32, 12);
    room_train(&r, 1);
    retell(&r, "\"width\": 3", "\"width\": 4", "another shape or type than in the model");
    retell(&r, "\"depth\": 1", "\"depth\": 2", "which the model has");
    retell(&r, "\"kind\": \"reln\"", "\"kind\": \"lie-neurons\"", "");
    retell(&r, "\"symmetry\": \"gl:2\"", "\"symmetry\": \"gl:3\"", "");
    retell(&r, "\"as\": \"matrix\"", "\"as\": \"vector\"", "");
    retell(&r, "{", "[", "");
    room_clear(&r);
}

/* ---- predictions ---------------------------------------------------------------------------------------------------- */

/* Writes the samples of the room from one on as a separate file. */
static void save_rest(Room *r, ptrdiff_t from, const char *path)
{
    RelnArray arrays[WORLD_ARRAYS];

    for (int i = 0; i < r->world.n_arrays; i++) {
        arrays[i] = r->world.arrays[i];
        arrays[i].dims[0] -= from;
        arrays[i].values = (double *)arrays[i].values +
                           from * (array_count(&r->world.arrays[i]) / r->world.arrays[i].dims[0]);
    }
    assert_ok(r->world.ctx, reln_npz_save(r->world.ctx, path, r->world.n_arrays, arrays));
}

/* Predicts more samples than a batch has; then the last ones alone, which are at another place of another
 * batch. */
static void predictions_do_not_depend_on_threads_or_neighbours(void **state)
{
    static const char *const specs[] = {PAIRS TRAIN32, VECTORS TRAIN64, CLASSES TRAIN32};
    enum { SAMPLES = 500, FROM = 377 };

    (void)state;
    for (int k = 0; k < 3; k++) {
        Room r;
        RelnModel *model;
        RelnArray one, three, rest;
        char path[128];

        room_init(&r, specs[k], SAMPLES);
        room_train(&r, 1);
        model = room_load(&r, RELN_DEFAULT);
        snprintf(path, sizeof path, "%s/rest.npz", r.folder);
        save_rest(&r, FROM, path);
        one = predict(&r, model, r.data, 1);
        three = predict(&r, model, r.data, 3);
        rest = predict(&r, model, path, 1);
        assert_same_values(&one, &three);
        assert_int_equal(rest.dims[0], SAMPLES - FROM);
        assert_memory_equal(rest.f64, one.f64 + FROM * reln_array_row_size(&one),
                            (size_t)reln_array_count(&rest) * sizeof *rest.f64);
        reln_array_clear(&one);
        reln_array_clear(&three);
        reln_array_clear(&rest);
        reln_model_destroy(model);
        room_clear(&r);
    }
}

/* A prediction of two vectors for each sample rotates with the data, so its axes are in the order of the
 * target's array. */
static void predictions_of_several_vectors_turn_with_the_data(void **state)
{
    Room r;
    RelnModel *model;
    RelnElement *g = NULL;
    RelnRng rng = reln_rng(3, 3);
    RelnArray still, turned;
    RelnLayout layout;

    (void)state;
    room_init(&r, VECTORS TRAIN64, 12);
    room_train(&r, 1);
    model = room_load(&r, RELN_DEFAULT);
    assert_ok(r.world.ctx, reln_model_element(model, &rng, 1, &g));
    still = predict(&r, model, r.data, 1);
    assert_int_equal(still.rank, 3);
    assert_int_equal(still.dims[0], 12);
    assert_int_equal(still.dims[1], 2);
    assert_int_equal(still.dims[2], 3);
    for (int i = 0; i < r.world.spec.n_inputs; i++) {
        const RelnArray *a = world_find(&r.world, r.world.spec.input[i].name);
        const ptrdiff_t size = array_count(a) / a->dims[0];
        for (int s = 0; s < 12; s++)
            assert_ok(r.world.ctx,
                      reln_model_act(model, i, g, size, (double *)a->values + s * size));
    }
    save_rest(&r, 0, r.data);
    turned = predict(&r, model, r.data, 1);
    layout = reln_model_layout_at(model, 0, 0);
    for (int s = 0; s < 12; s++)
        assert_ok(r.world.ctx, reln_model_act_target(model, &layout, g, still.f64 + s * 2 * 3));
    /* the bound of the check after five layers */
    assert_near(turned.f64, still.f64, 12 * 2 * 3, DBL_EPSILON * (64 * 5 + 2) * 10);
    reln_array_clear(&still);
    reln_array_clear(&turned);
    reln_element_destroy(g);
    reln_model_destroy(model);
    room_clear(&r);
}

static void classes_come_as_probabilities(void **state)
{
    Room r;
    RelnModel *model;
    RelnArray p;

    (void)state;
    room_init(&r, CLASSES TRAIN32, 12);
    room_train(&r, 1);
    model = room_load(&r, RELN_DEFAULT);
    p = predict(&r, model, r.data, 1);
    assert_int_equal(p.rank, 2);
    assert_int_equal(p.dims[0], 12);
    assert_int_equal(p.dims[1], 3);
    for (int s = 0; s < 12; s++) {
        const double *y = p.f64 + 3 * s;
        assert_true(y[0] > 0 && y[1] > 0 && y[2] > 0);
        assert_small(fabs(y[0] + y[1] + y[2] - 1), 4 * DBL_EPSILON);
    }
    reln_array_clear(&p);
    reln_model_destroy(model);
    room_clear(&r);
}

/* ---- errors, by hand ------------------------------------------------------------------------------------------------- */

static RelnMetrics tally(RelnSpec *spec, ptrdiff_t outputs, double mean, double deviation,
                         ptrdiff_t n, const double *y, const double *target)
{
    const ptrdiff_t truth = spec->target[0].as == RELN_TARGET_CLASS ? 1 : outputs;
    RelnTargetTally t = {.target = &spec->target[0],
                         .loss_of = reln_spec_loss(spec, 0),
                         .layout = {.size = 1, .value = outputs, .truth = truth},
                         .mean = mean,
                         .deviation = deviation};

    for (ptrdiff_t i = 0; i < n; i++)
        reln_target_tally_add(&t, y + i * outputs, target + i * truth, 0, 1);
    return reln_target_metrics(&t);
}

static void errors_of_numbers_are_those_by_hand(void **state)
{
    /* residuals 1, -2, 0, 3: squares 1 4 0 9; targets have mean 4 and variance 5 */
    const double target[] = {1, 3, 5, 7}, y[] = {2, 1, 5, 10};
    RelnSpec spec;
    RelnMetrics m;

    (void)state;
    reln_spec_init(&spec);
    spec.target[0].as = RELN_TARGET_SCALAR;
    m = tally(&spec, 1, 0, 2, 4, y, target);
    assert_int_equal(m.n_samples, 4);
    assert_near(&m.mse, &(double){3.5}, 1, 0);
    assert_near(&m.mae, &(double){1.5}, 1, 0);
    assert_near(&m.loss, &(double){3.5 / 4}, 1, 0); /* of residuals halved */
    assert_near(&m.r2, &(double){1 - 3.5 / 5}, 1, 4 * DBL_EPSILON);
    assert_true(isnan(m.accuracy));
    spec.target[0].loss = RELN_LOSS_MAE;
    assert_near(&(double){tally(&spec, 1, 0, 2, 4, y, target).loss}, &(double){0.75}, 1, 0);
    spec.target[0].loss = RELN_LOSS_HUBER; /* 1/8 + 1/2 + 0 + (1.5 - 1/2) */
    spec.train.delta = 1;
    assert_near(&(double){tally(&spec, 1, 0, 2, 4, y, target).loss}, &(double){1.625 / 4}, 1, 0);
    /* two numbers a sample: the same four entries */
    spec.target[0].loss = RELN_LOSS_MSE;
    m = tally(&spec, 2, 0, 1, 2, y, target);
    assert_near(&m.mse, &(double){3.5}, 1, 0);
    assert_near(&m.loss, &(double){3.5}, 1, 0);
}

/* r2 of targets far from zero: about their mean, no digit is lost. */
static void targets_far_from_zero_keep_their_variance(void **state)
{
    const double far = 1e9, target[] = {far + 1, far + 3, far + 5, far + 7};
    const double y[] = {far + 2, far + 1, far + 5, far + 10};
    RelnSpec spec;
    RelnMetrics m;

    (void)state;
    reln_spec_init(&spec);
    spec.target[0].as = RELN_TARGET_SCALAR;
    m = tally(&spec, 1, far + 4, 2, 4, y, target);
    assert_near(&m.r2, &(double){1 - 3.5 / 5}, 1, 4 * DBL_EPSILON);
}

static void errors_of_classes_are_those_by_hand(void **state)
{
    /* softmax 1/2 1/2, 3/4 1/4, 1/4 3/4; right, right, wrong (a draw goes to the first) */
    const double y[] = {0, 0, log(3), 0, 0, log(3)}, label[] = {0, 0, 0};
    RelnSpec spec;
    RelnMetrics m;

    (void)state;
    reln_spec_init(&spec);
    spec.target[0].as = RELN_TARGET_CLASS;
    spec.target[0].classes = 2;
    m = tally(&spec, 2, 0, 1, 3, y, label);
    assert_near(&m.accuracy, &(double){2.0 / 3}, 1, DBL_EPSILON);
    assert_near(&m.loss, &(double){(log(2) + log(4.0 / 3) + log(4)) / 3}, 1, 8 * DBL_EPSILON);
    assert_true(isnan(m.mse));
    spec.target[0].n_weights = 2;
    spec.target[0].weights[0] = 5; /* all are of this class: the mean is as before */
    spec.target[0].weights[1] = 1;
    m = tally(&spec, 2, 0, 1, 3, y, label);
    assert_near(&m.loss, &(double){(log(2) + log(4.0 / 3) + log(4)) / 3}, 1, 8 * DBL_EPSILON);
}

/* One variance 4 for three numbers, errors (2, 0, 0) and (0, 4, 4): e^2/v = 1 and 8, of three numbers each. */
static void errors_of_densities_are_those_by_hand(void **state)
{
    const double y[] = {2, 0, 0, 4, 0, 4, 4, 4}, truth[] = {0, 0, 0, 0, 0, 0};
    RelnSpec spec;
    RelnMetrics m;
    RelnTargetTally t = {.target = &spec.target[0], .n = 3, .deviation = 1, .graph_loss = true};

    (void)state;
    reln_spec_init(&spec);
    spec.target[0].as = RELN_TARGET_VECTOR;
    spec.target[0].loss = RELN_LOSS_GAUSSIAN;
    t.layout = (RelnTargetLayout){.size = 3, .channels = 1, .value = 3, .spread = 1, .truth = 3};
    reln_target_tally_add(&t, y, truth, 1, 1);
    reln_target_tally_add(&t, y + 4, truth, 2, 1);
    m = reln_target_metrics(&t);
    assert_near(&m.loss, &(double){1.5}, 1, 0);
    assert_near(&m.nees, &(double){(1.0 / 3 + 8.0 / 3) / 2}, 1, 4 * DBL_EPSILON);
    assert_near(&m.nll, &(double){(4.5 + 3 * log(4) + 3 * log(6.283185307179586)) / 2}, 1,
                8 * DBL_EPSILON);
    /* chi-square of three degrees of freedom: 0.1987 below 1, 0.9540 below 8 */
    assert_near(&m.coverage, &(double){0.5}, 1, 0);
    assert_near(&(double){reln_chi_square_below(3, 1)}, &(double){0.198748043098799}, 1, 1e-13);
    assert_near(&(double){reln_chi_square_below(3, 8)}, &(double){0.953988294310769}, 1, 1e-13);
    assert_near(&(double){reln_chi_square_below(2, 4)}, &(double){1 - exp(-2)}, 1, 1e-14);
    /* the same as a covariance: diag(4, 4, 4) */
    spec.target[0].variance = RELN_VARIANCE_COVARIANCE;
    t = (RelnTargetTally){.target = &spec.target[0], .n = 3, .deviation = 1, .layout = t.layout};
    t.layout.spread = 9;
    reln_target_tally_add(&t, (double[]){0, 4, 4, 4, 0, 0, 0, 4, 0, 0, 0, 4}, truth, 0, 1);
    m = reln_target_metrics(&t);
    assert_near(&m.nees, &(double){8.0 / 3}, 1, 4 * DBL_EPSILON);
    assert_near(&m.nll, &(double){(8 + 3 * log(4) + 3 * log(6.283185307179586)) / 2}, 1,
                8 * DBL_EPSILON);
}

/* ---- no memory ------------------------------------------------------------------------------------------------------- */

static Room *faulty;

static RelnStatus load_and_use(RelnCtx *ctx)
{
    RelnModel *model = NULL;
    RelnArray p = {0};
    RelnMetrics m;
    char path[128];
    RelnStatus status = reln_model_load(ctx, faulty->run, RELN_DEFAULT, &model);

    snprintf(path, sizeof path, "%s/copy.safetensors", faulty->folder);
    if (status == RELN_OK)
        status = reln_predict(model, faulty->data, 1, &p);
    if (status == RELN_OK)
        status = reln_evaluate(model, faulty->data, 1, &m);
    if (status == RELN_OK)
        status = reln_model_save(model, path);
    reln_array_clear(&p);
    reln_model_destroy(model);
    return status;
}

static void using_a_model_survives_every_failing_allocation(void **state)
{
    Room r;

    (void)state;
    room_init(&r,
              "{symmetry: so:2, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar},"
              " model: {width: 2, depth: 1, head: {hidden: 1}}," TRAIN32,
              8);
    room_train(&r, 1);
    faulty = &r;
    assert_true(fail_every_allocation(load_and_use) > 100);
    assert_int_equal(room_count(r.folder),
                     4); /* only spec, data, run and copy exist: no partial file */
    room_clear(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_saved_again_is_the_same_file),
        cmocka_unit_test(memory_predicts_as_a_file_does),
        cmocka_unit_test(only_a_checkpoint_is_read_as_one),
        cmocka_unit_test(a_model_in_double_precision_predicts_the_same_to_single),
        cmocka_unit_test(an_edited_description_is_refused),
        cmocka_unit_test(predictions_do_not_depend_on_threads_or_neighbours),
        cmocka_unit_test(predictions_of_several_vectors_turn_with_the_data),
        cmocka_unit_test(classes_come_as_probabilities),
        cmocka_unit_test(errors_of_numbers_are_those_by_hand),
        cmocka_unit_test(targets_far_from_zero_keep_their_variance),
        cmocka_unit_test(errors_of_densities_are_those_by_hand),
        cmocka_unit_test(errors_of_classes_are_those_by_hand),
        cmocka_unit_test(using_a_model_survives_every_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
