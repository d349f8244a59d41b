/* These tests fit inputs whose value stands in the SPEC: a known direction, the same for all samples. It gives the bits that an
 * array of equal rows gives, it needs no array, and a change of frame acts on it as on every other input. */
#include <math.h>

#include "fit/fit.h"
#include "fit/room.h"

#define TRAIN " train: {epochs: 2, batch: 5, lr: 1e-2, validation: 0.25, dtype: f64}}"
#define SPEC(more, kind)                                                                           \
    "{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}, {name: b, as: "       \
    "vector" more "}], target: {name: y, as: vector}, model: {kind: " kind                         \
    ", width: 8, depth: 1}," TRAIN
#define VALUE ", value: [[0, 0, -9.81], [0.5, 0.25, 0]]"

enum { N = 12, NUMBERS = 6 };
static const double direction[NUMBERS] = {0, 0, -9.81, 0.5, 0.25, 0};

static void train(Room *r)
{
    RelnFit *fit = NULL;
    RelnTrainEnd end;

    assert_ok(r->world.ctx,
              reln_fit_open(r->world.ctx, r->spec, r->data,
                            &(RelnFitOptions){.folder = r->run, .no_check = true}, &fit));
    assert_ok(r->world.ctx, reln_fit_run(fit, &end));
    reln_fit_close(fit);
}

/* Writes the data with rows that are equal to the direction, or without the array. */
static void save(Room *r, bool with)
{
    RelnArray *b = world_find(&r->world, "b");
    RelnArray kept[WORLD_ARRAYS];
    int n = 0;

    for (int i = 0; i < N; i++)
        memcpy((double *)b->values + i * NUMBERS, direction, sizeof direction);
    for (int i = 0; i < r->world.n_arrays; i++)
        if (with || &r->world.arrays[i] != b)
            kept[n++] = r->world.arrays[i];
    assert_ok(r->world.ctx, reln_npz_save(r->world.ctx, r->data, n, kept));
}

static void a_value_is_an_array_of_equal_rows(void **state)
{
    static const char *const specs[][2] = {{SPEC("", "set"), SPEC(VALUE, "set")},
                                           {SPEC("", "graph"), SPEC(VALUE, "graph")},
                                           {SPEC("", "reln"), SPEC(VALUE, "reln")},
                                           {SPEC("", "messages"), SPEC(VALUE, "messages")},
                                           {SPEC("", "mlp"), SPEC(VALUE, "mlp")}};

    (void)state;
    for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++) {
        RelnArray y[2];
        Room r[2];

        for (int k = 0; k < 2; k++) {
            RelnModel *model;

            room_init(&r[k], specs[s][k], N);
            save(&r[k], k == 0);
            train(&r[k]);
            model = room_load(&r[k], RELN_DEFAULT);
            assert_ok(r[k].world.ctx, reln_predict(model, r[k].data, 1, &y[k]));
            reln_model_destroy(model);
        }
        assert_int_equal(array_count(&y[0]), array_count(&y[1]));
        assert_memory_equal(y[0].f64, y[1].f64, (size_t)array_count(&y[0]) * sizeof(double));
        for (int k = 0; k < 2; k++) {
            reln_array_clear(&y[k]);
            room_clear(&r[k]);
        }
    }
}

static void frames_act_on_values(void **state)
{
    static const char *const specs[] = {SPEC(VALUE, "set"), SPEC(VALUE, "transformer"),
                                        SPEC(VALUE, "messages"), SPEC(VALUE, "mlp")};

    (void)state;
    for (int s = 0; s < 4; s++) {
        RelnModel *model;
        RelnCheck check;
        Room r;

        room_init(&r, specs[s], N);
        save(&r, false);
        train(&r);
        model = room_load(&r, RELN_DEFAULT);
        for (int data = 0; data < 2; data++) {
            assert_ok(r.world.ctx,
                      reln_check(model,
                                 &(RelnCheckOptions){.data_path = data ? r.data : NULL, .draws = 8},
                                 &check));
            assert_true(check.kept == (s < 3)); /* a plain network must fail */
        }
        reln_model_destroy(model);
        room_clear(&r);
    }
}

/* The direction matters: another value gives other predictions. */
static void another_value_predicts_otherwise(void **state)
{
    static const char *const specs[] = {SPEC(VALUE, "set"),
                                        SPEC(", value: [[0, 0, 9.81], [0.5, 0.25, 0]]", "set")};
    RelnArray y[2];
    Room r[2];

    (void)state;
    for (int k = 0; k < 2; k++) {
        RelnModel *model;

        room_init(&r[k], specs[k], N);
        save(&r[k], false);
        train(&r[k]);
        model = room_load(&r[k], RELN_DEFAULT);
        assert_ok(r[k].world.ctx, reln_predict(model, r[k].data, 1, &y[k]));
        reln_model_destroy(model);
    }
    assert_memory_not_equal(y[0].f64, y[1].f64, (size_t)array_count(&y[0]) * sizeof(double));
    for (int k = 0; k < 2; k++) {
        reln_array_clear(&y[k]);
        room_clear(&r[k]);
    }
}

#define DOWN "[0, 0, -9.81]"
#define ASIDE "[0.5, 0.25, 0]"
#define OF_MESSAGES(inputs)                                                                        \
    "{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}, " inputs              \
    "], target: {name: y, as: scalar}, model: {kind: messages, width: 8, depth: 2, dropout: "      \
    "0}," TRAIN
#define ONE_INPUT(first, second)                                                                   \
    OF_MESSAGES("{name: b, as: vector, value: [" first ", " second "]}")
#define TWO_INPUTS(first, second)                                                                  \
    OF_MESSAGES("{name: b, as: vector, value: " first "}, {name: c, as: vector, value: " second "}")

/* Returns the largest difference of the predictions that two SPECs learn. */
static double differ(const char *const specs[2])
{
    double most = 0;
    RelnArray y[2];
    Room r[2];

    for (int k = 0; k < 2; k++) {
        RelnModel *model;

        room_init(&r[k], specs[k], N);
        train(&r[k]);
        model = room_load(&r[k], RELN_DEFAULT);
        assert_ok(r[k].world.ctx, reln_predict(model, r[k].data, 1, &y[k]));
        reln_model_destroy(model);
    }
    for (ptrdiff_t i = 0; i < array_count(&y[0]); i++)
        most = fmax(most, fabs(y[0].f64[i] - y[1].f64[i]));
    for (int k = 0; k < 2; k++) {
        reln_array_clear(&y[k]);
        room_clear(&r[k]);
    }
    return most;
}

/* Values of one input are of one kind: for messages, their order does not matter, but for rounding that six steps of Adam enlarge.
 * The values of two inputs may not be exchanged. */
static void messages_take_the_values_of_an_input_as_a_set(void **state)
{
    static const char *const one[2] = {ONE_INPUT(DOWN, ASIDE), ONE_INPUT(ASIDE, DOWN)};
    static const char *const two[2] = {TWO_INPUTS(DOWN, ASIDE), TWO_INPUTS(ASIDE, DOWN)};
    static const char *const other[2] = {ONE_INPUT(DOWN, ASIDE), ONE_INPUT(DOWN, DOWN)};

    (void)state;
    assert_true(differ(one) < 1e-9);
    assert_true(differ(two) > 1e-4);
    assert_true(differ(other) > 1e-4);
}

static void a_value_of_another_size_gets_one_line(void **state)
{
    RelnFit *fit = NULL;
    Room r;

    (void)state;
    room_init(&r, SPEC(", value: [0, 1]", "set"), N);
    save(&r, false);
    assert_int_equal(reln_fit_open(r.world.ctx, r.spec, r.data,
                                   &(RelnFitOptions){.folder = r.run, .no_check = true}, &fit),
                     RELN_ERR_SHAPE);
    assert_string_equal(reln_ctx_error(r.world.ctx),
                        "b: a value of 2 numbers; wanted 3, or a multiple (as: vector)");
    room_clear(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_an_array_of_equal_rows),
        cmocka_unit_test(frames_act_on_values),
        cmocka_unit_test(another_value_predicts_otherwise),
        cmocka_unit_test(messages_take_the_values_of_an_input_as_a_set),
        cmocka_unit_test(a_value_of_another_size_gets_one_line),
    };

    return cmocka_run_group_tests_name("fit/value", tests, NULL, NULL);
}
