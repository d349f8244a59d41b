/* Tests reln_check(): it passes every kind of model, and detects a broken symmetry.
 * No model can be built that breaks its symmetry, so the group is falsified instead: the linker redirects
 * reln_model_act(), by which the check moves inputs, to a function of this file. */
#include <float.h>

#include "fit/room.h"

#define TRAIN " train: {epochs: 1, batch: 4, validation: 0.25}}"

static double falsity;               /* share by which every moved number is enlarged */
static int forgotten = -1;           /* index of the input that is not moved */
static int false_draws, draws_moved; /* number of falsified draws among DRAWS; 0: all */
static bool poison;                  /* falsified numbers are NaN */

enum { DRAWS = 40 };

static bool moving; /* inputs are being moved: only outputs of layers are falsified */
static int layers,
    carried; /* 0, or the number of layers, of which the last is moved falsely; calls so far */

RelnStatus __real_reln_rep_act(const RelnRep *rep, const RelnElement *g, double *rho);
RelnStatus __wrap_reln_rep_act(const RelnRep *rep, const RelnElement *g, double *rho);

RelnStatus __wrap_reln_rep_act(const RelnRep *rep, const RelnElement *g, double *rho)
{
    const RelnStatus status = __real_reln_rep_act(rep, g, rho);

    if (layers > 0 && !moving && carried++ / DRAWS % layers == layers - 1)
        rho[0] *= 1.001;
    return status;
}

RelnStatus __real_reln_model_act(const RelnModel *model, int input, const RelnElement *g,
                                 ptrdiff_t count, double *values);
RelnStatus __wrap_reln_model_act(const RelnModel *model, int input, const RelnElement *g,
                                 ptrdiff_t count, double *values);

static RelnStatus act(const RelnModel *model, int input, const RelnElement *g, ptrdiff_t count,
                      double *values)
{
    RelnStatus status;

    moving = true;
    status = __real_reln_model_act(model, input, g, count, values);
    moving = false;
    return status;
}

RelnStatus __wrap_reln_model_act(const RelnModel *model, int input, const RelnElement *g,
                                 ptrdiff_t count, double *values)
{
    if (input == forgotten)
        return RELN_OK;
    if (false_draws > 0 && draws_moved++ % DRAWS >= false_draws)
        return act(model, input, g, count, values);
    if (poison)
        values[0] = (double)NAN;
    for (ptrdiff_t i = 0; i < count; i += 2)
        values[i] *= 1 + falsity;
    return act(model, input, g, count, values);
}

static void check_room(Room *r, const char *data, RelnCheck *out)
{
    RelnModel *model = room_load(r, RELN_DEFAULT);
    const RelnCheckOptions options = {.data_path = data, .draws = 12, .seed = 3};

    assert_ok(r->world.ctx, reln_check(model, &options, out));
    reln_model_destroy(model);
}

static const char *const specs[] = {
    PAIRS TRAIN,
    VECTORS TRAIN,
    CLASSES TRAIN,
    "{symmetry: gl:2, inputs: [{name: C, as: covariance, log: true, reference: mean},"
    " {name: D, as: covariance, log: true, reference: mean}], target: {name: y, as: scalar},"
    " model: {width: 3, depth: 1}," TRAIN,
    "{symmetry: lorentz, inputs: [{name: p, as: fourvector}], target: {name: y, as: scalar},"
    " model: {width: 3, depth: 1}," TRAIN,
    "{symmetry: so:3, inputs: [{name: v, as: vector}], target: {name: y, as: vector},"
    " model: {kind: vector-neurons, width: 3, depth: 1}," TRAIN,
    "{symmetry: sl:2, inputs: [{name: e, as: element}], target: {name: y, as: scalar},"
    " model: {kind: lie-neurons, width: 3, depth: 1}," TRAIN,
    "{symmetry: gl:2, inputs: [{name: X, as: matrix}], target: {name: y, as: matrix},"
    " model: {width: 3, depth: 1}," TRAIN,
};
enum { N_SPECS = sizeof specs / sizeof specs[0] };

static void every_model_keeps_its_promise(void **state)
{
    RelnCheck *check = malloc(sizeof *check);

    (void)state;
    for (int k = 0; k < N_SPECS; k++) {
        Room r;

        room_init(&r, specs[k], 16);
        room_train(&r, 1);
        check_room(&r, NULL, check);
        assert_true(check->promises && check->kept);
        assert_true(check->n_layers >= 2 && check->draws == 12);
        assert_string_equal(check->layers[check->n_layers - 1].name, "y");
        check_room(&r, r.data, check);
        assert_true(check->promises && check->kept);
        room_clear(&r);
    }
    free(check);
}

/* Writes a SPEC whose symmetry is so(3) in the frame diag(frame): the basis has D hat(e_a) D^-1, in floats. */
static void write_rotations(Room *r, const double *frame, const char *rest)
{
    double values[27] = {0};
    const RelnArray basis = RELN_ARRAY(NULL, RELN_F64, values, 3, 3, 3);
    char path[128], spec[512];

    for (int a = 0; a < 3; a++) {
        const int i = (a + 1) % 3, j = (a + 2) % 3;

        values[9 * a + 3 * j + i] = frame[j] / frame[i];
        values[9 * a + 3 * i + j] = -frame[i] / frame[j];
    }
    snprintf(path, sizeof path, "%s/basis.npy", r->folder);
    assert_ok(r->world.ctx, reln_npy_save(r->world.ctx, path, &basis));
    snprintf(spec, sizeof spec, "{symmetry: {basis: '%s'}, %s", path, rest);
    room_write(r->spec, spec);
}

/* A compact group in a skewed frame has no elements of condition number 10. It is checked with the ones that it has, which
 * differ from the identity, and which need no thousands of turns, whose rounding would look like a broken promise. */
static void a_compact_group_in_a_skewed_frame_keeps_its_promise(void **state)
{
    static const char rest[] =
        "inputs: [{name: X, as: matrix}, {name: Y, as: matrix}], target: {name: y, as: scalar}, "
        "model: {width: 3, depth: 1}," TRAIN;
    static const double frames[][3] = {{1, 1.1, 0.7}, {1, 1.02, 1}, {1, 3, 0.4}};
    static const double skew[] = {1.1 / 0.7, 1.02, 3 / 0.4};
    RelnCheck *check = malloc(sizeof *check);
    char yaml[256];
    double last;

    (void)state;
    assert_non_null(check);
    snprintf(yaml, sizeof yaml, "{symmetry: so:3, %s", rest);
    for (int k = 0; k < 3; k++) {
        Room r;

        room_init(&r, yaml, 16);
        write_rotations(&r, frames[k], rest);
        room_train(&r, 1);
        check_room(&r, NULL, check);
        assert_true(check->promises && check->kept);
        last = check->conds[check->n_conds - 1]; /* below the square of the frame's */
        assert_int_equal(check->n_conds, k < 2 ? 2 : 3);
        assert_true(last > 1 + 0.5 * (skew[k] * skew[k] - 1) && last < skew[k] * skew[k]);
        assert_true(check->conds[0] == 1 && (k < 2 || check->conds[1] == 10));
        for (int l = 0; l < check->n_layers; l++) {
            assert_true(check->layers[l].at[1].worst > 0);
            assert_true(check->layers[l].at[1].worst < check->layers[l].at[1].allowed);
        }
        room_clear(&r);
    }
    free(check);
}

static void a_group_that_is_false_by_a_billionth_is_seen(void **state)
{
    RelnCheck *check = malloc(sizeof *check);

    (void)state;
    for (int k = 0; k < N_SPECS; k++) {
        Room r;

        room_init(&r, specs[k], 16);
        room_train(&r, 1);
        falsity = 1e-9;
        check_room(&r, NULL, check);
        falsity = 0;
        assert_true(check->promises);
        assert_false(check->kept);
        room_clear(&r);
    }
    free(check);
}

static void an_input_that_does_not_move_is_seen(void **state)
{
    RelnCheck *check = malloc(sizeof *check);
    Room r;

    (void)state;
    room_init(&r, VECTORS TRAIN, 16);
    room_train(&r, 1);
    for (forgotten = 0; forgotten < 2; forgotten++) {
        check_room(&r, NULL, check);
        assert_false(check->kept);
    }
    forgotten = -1;
    room_clear(&r);
    free(check);
}

static void check_with_false_draws(Room *r, int n, RelnCheck *out)
{
    RelnModel *model = room_load(r, RELN_DEFAULT);
    const RelnCheckOptions options = {.draws = DRAWS, .seed = 3};

    false_draws = n;
    draws_moved = 0;
    assert_ok(r->world.ctx, reln_check(model, &options, out));
    assert_int_equal(draws_moved % DRAWS, 0);
    false_draws = 0;
    reln_model_destroy(model);
}

/* Of 40 draws, the 38th by size decides. Two draws may be off, as where a pool chooses another point; a third
 * may not. */
static void all_but_one_draw_in_twenty_are_judged(void **state)
{
    RelnCheck *check = malloc(sizeof *check);
    Room r;

    (void)state;
    assert_non_null(check);
    room_init(&r, PAIRS TRAIN, 16);
    room_train(&r, 1);
    falsity = 1e-3;
    check_with_false_draws(&r, 2, check);
    assert_true(check->kept);
    check_with_false_draws(&r, 3, check);
    assert_false(check->kept);
    falsity = 0;
    room_clear(&r);
    free(check);
}

/* Every layer before the output is equivariant, and the output is not. */
static void the_output_alone_can_break_the_promise(void **state)
{
    RelnCheck *check = malloc(sizeof *check);

    (void)state;
    assert_non_null(check);
    for (int k = 0; k < N_SPECS; k++) {
        Room r;
        int n;

        room_init(&r, specs[k], 16);
        room_train(&r, 1);
        check_with_false_draws(&r, 0, check);
        assert_true(check->kept);
        layers = n = check->n_layers;
        carried = 0;
        check_with_false_draws(&r, 0, check);
        layers = 0;
        assert_int_equal(carried, 2 * n * check->n_conds * DRAWS); /* two precisions */
        assert_false(check->kept);
        for (int l = 0; l < n - 1; l++)
            for (int c = 0; c < check->n_conds; c++)
                assert_true(check->layers[l].at[c].median < 1e-4);
        assert_true(check->layers[n - 1].at[0].median > 1e-5);
        room_clear(&r);
    }
    free(check);
}

static void one_draw_that_is_no_number_breaks_the_promise(void **state)
{
    RelnCheck *check = malloc(sizeof *check);
    Room r;

    (void)state;
    assert_non_null(check);
    room_init(&r, PAIRS TRAIN, 16);
    room_train(&r, 1);
    poison = true;
    check_with_false_draws(&r, 1, check);
    poison = false;
    assert_false(check->kept);
    assert_true(isinf(check->layers[check->n_layers - 1].at[0].worst));
    room_clear(&r);
    free(check);
}

/* Cubes of features: rounding of f32 grows with the third power of the condition number, and is seen long before f64's. */
static void where_single_precision_parts_from_double_is_told(void **state)
{
    RelnCheck *check = malloc(sizeof *check);
    char note[256];
    Room r;

    (void)state;
    assert_non_null(check);
    room_init(&r, PAIRS TRAIN, 16);
    room_train(&r, 1);
    check_room(&r, r.data, check);
    assert_true(check->kept && check->parts_at > 1 && check->parts_by > RELN_CHECK_PARTS);
    assert_non_null(strstr(reln_check_note(check, note, sizeof note), "--dtype f64"));
    room_clear(&r);
    room_init(&r, PAIRS " train: {epochs: 1, batch: 4, validation: 0.25, dtype: f64}}", 16);
    room_train(&r, 1);
    check_room(&r, r.data, check);
    assert_true(check->kept && check->parts_at == 0.0);
    assert_string_equal(reln_check_note(check, note, sizeof note), "");
    room_clear(&r);
    free(check);
}

/* Predictions for all samples of the room. */
static void network_outputs(Room *r, RelnModel *model, int n, double *out)
{
    RelnArray y = {0};

    assert_ok(r->world.ctx, reln_predict_arrays(model, r->world.n_arrays, r->world.arrays, 1, &y));
    assert_int_equal(array_count(&y), n);
    memcpy(out, y.values, (size_t)n * sizeof *out);
    reln_array_clear(&y);
}

/* The largest change of an output of two numbers, relative to its size, or to the usual size if that is larger. */
static double largest_share(int n, const double *before, const double *after)
{
    double usual = 0, most = 0;

    for (int i = 0; i < 2 * n; i++)
        usual += after[i] * after[i] / n;
    for (int i = 0; i < n; i++) {
        const double *a = before + 2 * i, *b = after + 2 * i;

        most = fmax(most, hypot(b[0] - a[0], b[1] - a[1]) / fmax(hypot(b[0], b[1]), sqrt(usual)));
    }
    return most;
}

/* A layer may be off by the rounding of its input times the factor by which it amplifies a small change. For the output, the factor
 * is measured once more, from predictions for inputs that are changed in the same way. */
static void a_layer_is_allowed_what_it_amplifies(void **state)
{
    enum { N = 16 };
    const double change = 1e-7;
    RelnCheck *check = malloc(sizeof *check);
    RelnRng rng = reln_rng(7, 0);
    double before[2 * N], after[2 * N], gain[RELN_MODEL_TAPS] = {0}, measured;
    RelnModel *model;
    RelnArray *x;
    Room r;

    (void)state;
    assert_non_null(check);
    room_init(&r, PAIRS " train: {epochs: 1, batch: 4, validation: 0.25, dtype: f64}}", N);
    room_train(&r, 1);
    model = room_load(&r, RELN_DEFAULT);
    assert_ok(r.world.ctx,
              reln_check(model, &(RelnCheckOptions){.data_path = r.data, .draws = N}, check));
    network_outputs(&r, model, 2 * N, before);
    x = world_find(&r.world, "X");
    for (ptrdiff_t k = 0; k < array_count(x); k++)
        ((double *)x->values)[k] *= 1 + change * reln_rng_normal(&rng);
    network_outputs(&r, model, 2 * N, after);
    measured = largest_share(N, before, after) / change;
    for (int l = 0; l < check->n_layers; l++)
        for (int c = 0; c < check->n_conds; c++) {
            const double cond = check->conds[c];

            gain[l] = check->layers[l].at[c].allowed /
                      (DBL_EPSILON * (64.0 * (l + 1) + 2 * cond * cond * cond));
            assert_true(gain[l] >= 1 - 4 * DBL_EPSILON); /* the quotient is rounded three times */
        }
    /* predictions are rounded by about 1e-16, and divided by the change */
    assert_small(gain[check->n_layers - 1] / measured - 1, 1e-7);
    assert_true(fabs(gain[0] / measured - 1) > 0.1); /* so the layers can be told apart */
    reln_model_destroy(model);
    room_clear(&r);
    free(check);
}

/* An mlp is measured but not judged. */
static void a_model_without_a_promise_is_measured_only(void **state)
{
    static const char *const plain[] = {
        "{symmetry: so:3, inputs: [{name: v, as: vector}], target: {name: y, as: vector},"
        " model: {kind: mlp, width: 6, depth: 1}," TRAIN,
        "{symmetry: gl:2, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar},"
        " model: {kind: mlp, width: 6, depth: 1}," TRAIN};
    RelnCheck *check = malloc(sizeof *check);

    (void)state;
    for (int k = 0; k < 2; k++) {
        Room r;

        room_init(&r, plain[k], 16);
        room_train(&r, 1);
        check_room(&r, NULL, check);
        assert_false(check->promises);
        assert_int_equal(check->n_layers, 1);
        assert_true(check->layers[0].at[0].median > 1e-6);
        room_clear(&r);
    }
    free(check);
}

/* Weights that are NaN fail the check, and the exit code of the program says so. */
static void a_broken_promise_is_exit_code_1(void **state)
{
    Room r;
    RelnModel *model;
    RelnEntryInfo entry;
    char command[512];
    int code;

    (void)state;
    room_init(&r, PAIRS TRAIN, 16);
    room_train(&r, 1);
    snprintf(command, sizeof command, "'%s' check '%s' > '%s/out'", RELN_PROGRAM, r.run, r.folder);
    code = system(command);
    assert_int_equal(code, 0);
    model = room_load(&r, RELN_DEFAULT);
    entry = reln_store_entry(reln_model_store(model), 0);
    ((float *)entry.values)[0] = (float)NAN;
    assert_ok(r.world.ctx, reln_model_save(model, r.model));
    reln_model_destroy(model);
    code = system(command);
    assert_int_equal(code / 256, 1);
    room_clear(&r);
}

static Room *checked_room;

static RelnStatus load_and_check(RelnCtx *ctx)
{
    static RelnCheck check;
    RelnModel *model = NULL;
    RelnStatus status = reln_model_load(ctx, checked_room->run, RELN_DEFAULT, &model);

    if (status == RELN_OK)
        status = reln_check(model, &(RelnCheckOptions){.draws = 2}, &check);
    reln_model_destroy(model);
    return status;
}

static void a_check_survives_every_failing_allocation(void **state)
{
    Room r;

    (void)state;
    room_init(&r,
              "{symmetry: so:2, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar},"
              " model: {width: 2, depth: 1, head: {hidden: 1}}," TRAIN,
              8);
    room_train(&r, 1);
    checked_room = &r;
    assert_true(fail_every_allocation(load_and_check) > 100);
    room_clear(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_keeps_its_promise),
        cmocka_unit_test(a_compact_group_in_a_skewed_frame_keeps_its_promise),
        cmocka_unit_test(a_group_that_is_false_by_a_billionth_is_seen),
        cmocka_unit_test(an_input_that_does_not_move_is_seen),
        cmocka_unit_test(all_but_one_draw_in_twenty_are_judged),
        cmocka_unit_test(the_output_alone_can_break_the_promise),
        cmocka_unit_test(one_draw_that_is_no_number_breaks_the_promise),
        cmocka_unit_test(where_single_precision_parts_from_double_is_told),
        cmocka_unit_test(a_layer_is_allowed_what_it_amplifies),
        cmocka_unit_test(a_model_without_a_promise_is_measured_only),
        cmocka_unit_test(a_broken_promise_is_exit_code_1),
        cmocka_unit_test(a_check_survives_every_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
