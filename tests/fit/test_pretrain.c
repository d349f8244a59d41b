/* These tests hide points of sets and train networks to predict their inputs, without labels. What is hidden follows from the seed,
 * the epoch and the row; its numbers change no bit of a prediction; a labelled run begins with the weights. */
#include "fit/fit.h"
#include "fit/room.h"
#include "kit/data.h"

enum { N = 12, P = WORLD_POINTS };

#define TRAIN " train: {epochs: 2, batch: 5, lr: 1e-2, validation: 0.25, dtype: f64"
#define SPLATS                                                                                     \
    "{symmetry: so:3, inputs: [{name: v, as: vector, points: true, mask: m}, {name: C, as: "       \
    "covariance, points: true}, {name: s, as: scalar, points: true}, {name: a, as: scalar}], "

static const char *const specs[] = {
    SPLATS "pretrain: {mask: 0.5, noise: 0.5}, model: {kind: set, width: 8, depth: 1, sums: "
           "2}," TRAIN "}}",
    SPLATS "pretrain: {mask: 0.5}, model: {kind: graph, width: 8, depth: 1, sums: 2}," TRAIN "}}",
    SPLATS "pretrain: {mask: 0.6, place: C}, model: {kind: transformer, width: 8, depth: 1, sums: "
           "2, heads: 2}," TRAIN "}}",
    SPLATS "pretrain: {mask: 0.5, noise: 0.5}, model: {kind: set, groups: 2, members: 2, width: 8, "
           "depth: 1, sums: 2}," TRAIN "}}",
    "{symmetry: lorentz, inputs: [{name: v, as: fourvector, points: true, mask: m}], pretrain: "
    "{mask: 0.5, noise: 0.3}, model: {kind: set, width: 8, depth: 1, sums: 2}," TRAIN "}}",
    "{symmetry: gl:2, inputs: [{name: X, as: matrix, points: true, mask: m}, {name: s, as: scalar, "
    "points: true}], pretrain: {mask: 0.5, place: X}, model: {kind: reln, width: 8, depth: "
    "1}," TRAIN "}}",
    "{symmetry: o:3, inputs: [{name: v, as: vector, points: true, most: 3, draw: true}], pretrain: "
    "{mask: 0.5, noise: 0.5}, model: {kind: vector-neurons, width: 8, depth: 1}," TRAIN
    ", augment: {cond: 1}}}",
};
enum { SPECS = sizeof specs / sizeof specs[0] };

static double *values_of(Room *r, const char *name)
{
    return world_find(&r->world, name)->values;
}

static void save(Room *r)
{
    assert_ok(r->world.ctx,
              reln_npz_save(r->world.ctx, r->data, r->world.n_arrays, r->world.arrays));
}

/* Trains; stops after `steps` steps, if they are not 0. */
static bool not_yet(void *self, const RelnTrainProgress *progress)
{
    return progress->step < *(const uint64_t *)self;
}

static void train(Room *r, int threads, const char *from, uint64_t steps)
{
    RelnFit *fit = NULL;
    RelnTrainEnd end;

    assert_ok(r->world.ctx, reln_fit_open(r->world.ctx, r->spec, r->data,
                                          &(RelnFitOptions){.folder = r->run,
                                                            .threads = threads,
                                                            .from = from,
                                                            .no_check = true,
                                                            .self = &steps,
                                                            .observe = steps ? not_yet : NULL},
                                          &fit));
    assert_ok(r->world.ctx, reln_fit_run(fit, &end));
    assert_int_equal(end, steps ? RELN_TRAIN_ASKED : RELN_TRAIN_DONE);
    reln_fit_close(fit);
}

/* Predictions of the first target; the caller frees them. */
static double *predicted(Room *r, ptrdiff_t *count)
{
    RelnModel *model = room_load(r, RELN_DEFAULT);
    RelnArray out[RELN_PREDICT_MOST];
    double *y;
    int n;

    assert_ok(r->world.ctx, reln_predict_targets(model, r->data, 1, RELN_PREDICT_MOST, out, &n));
    *count = array_count(&out[0]);
    y = calloc((size_t)*count, sizeof *y);
    memcpy(y, out[0].f64, (size_t)*count * sizeof *y);
    for (int i = 0; i < n; i++)
        reln_array_clear(&out[i]);
    reln_model_destroy(model);
    return y;
}

/* The hidden points that evaluations see: 1 for them. */
static void hidden_points(Room *r, double *hidden)
{
    RelnModel *model = room_load(r, RELN_DEFAULT);
    RelnArchive *archive = NULL;
    RelnData *data = NULL;
    RelnLayout layout;
    double *weights;

    assert_ok(r->world.ctx, reln_archive_open(r->world.ctx, r->data, &archive));
    assert_ok(r->world.ctx, reln_data_open(model, archive, NULL, &data));
    layout = reln_data_layout(data);
    weights = calloc((size_t)layout.losses, sizeof *weights);
    for (int i = 0; i < N; i++) {
        assert_ok(r->world.ctx, reln_data_weights(data, i, weights));
        memcpy(hidden + i * P, weights, P * sizeof *hidden); /* those of the first target */
        for (ptrdiff_t k = P; k < layout.losses; k++)
            assert_true(weights[k] == weights[k - P]); /* and of all targets */
    }
    free(weights);
    reln_data_destroy(data);
    reln_archive_destroy(archive);
    reln_model_destroy(model);
}

static void a_share_of_the_points_is_hidden_by_the_seed(void **state)
{
    double hidden[3][N * P];
    int differ = 0;

    (void)state;
    for (int k = 0; k < 3; k++) {
        Room r;

        room_init(&r,
                  k < 2 ? specs[0]
                        : SPLATS "pretrain: {mask: 0.5, noise: 0.5}, model: {kind: set, width: 8, "
                                 "depth: 1, sums: 2}," TRAIN ", seed: 9}}",
                  N);
        train(&r, 1, NULL, 0);
        hidden_points(&r, hidden[k]);
        for (int i = 0; i < N; i++) {
            int points = 0, some = 0;

            for (int p = 0; p < P; p++) {
                points += values_of(&r, "m")[i * P + p] != 0;
                some += hidden[k][i * P + p] != 0;
                assert_true(hidden[k][i * P + p] == 0 || values_of(&r, "m")[i * P + p] != 0);
            }
            assert_int_equal(some, points == 1 ? 1 : (points + 1) / 2); /* half, rounded up */
        }
        room_clear(&r);
    }
    assert_memory_equal(hidden[0], hidden[1], sizeof hidden[0]);
    for (int i = 0; i < N * P; i++)
        differ += hidden[0][i] != hidden[2][i];
    assert_true(differ > 0);
}

/* A tenth of four points is none of them, and one is hidden all the same. */
static void at_least_one_point_is_hidden(void **state)
{
    double hidden[N * P];
    Room r;

    (void)state;
    room_init(&r,
              SPLATS "pretrain: {mask: 0.1, noise: 0.5}, model: {kind: set, width: 8, depth: 1, "
                     "sums: 2}," TRAIN "}}",
              N);
    train(&r, 1, NULL, 0);
    hidden_points(&r, hidden);
    for (int i = 0; i < N; i++) {
        int some = 0;

        for (int p = 0; p < P; p++)
            some += hidden[i * P + p] != 0;
        assert_int_equal(some, 1);
    }
    room_clear(&r);
}

/* Predictions after the numbers of an array were doubled at points that are hidden, or at points that are not. */
static double *changed(Room *r, const char *name, const double *hidden, bool at_hidden)
{
    const RelnArray *x = world_find(&r->world, name);
    const ptrdiff_t each = array_count(x) / (N * P);
    double *v = x->values, *y;
    ptrdiff_t count;

    for (int back = 0; back < 2; back++) {
        for (ptrdiff_t i = 0; i < N * P * each; i++)
            if ((hidden[i / each] != 0) == at_hidden)
                v[i] *= back ? 0.5 : 2;
        save(r);
        if (!back)
            y = predicted(r, &count);
    }
    return y;
}

/* Covariances and scalars of hidden points are not seen, the input that keeps its place is; those of other points are. */
static void numbers_of_hidden_points_change_no_bit(void **state)
{
    (void)state;
    for (int s = 0; s < 4; s++) {
        static const char *const names[] = {"C", "s", "v"};
        double hidden[N * P], *y;
        ptrdiff_t count;
        Room r;

        room_init(&r, specs[s], N);
        train(&r, 1, NULL, 0);
        hidden_points(&r, hidden);
        y = predicted(&r, &count);
        for (int a = 0; a < 3; a++)
            for (int at_hidden = 0; at_hidden < 2; at_hidden++) {
                const bool seen = !at_hidden || strcmp(names[a], s == 2 ? "C" : "v") == 0;
                double *other = changed(&r, names[a], hidden, at_hidden);

                assert_int_equal(memcmp(y, other, (size_t)count * sizeof *y) != 0, seen);
                free(other);
            }
        free(y);
        room_clear(&r);
    }
}

/* The same bits on three threads, and after a stop. */
static void runs_are_functions_of_their_seed(void **state)
{
    (void)state;
    for (int s = 0; s < SPECS; s++) {
        double *y[3];
        ptrdiff_t count;

        for (int k = 0; k < 3; k++) {
            Room r;

            room_init(&r, specs[s], N);
            train(&r, k == 1 ? 3 : 1, NULL, k == 2 ? 2 : 0);
            if (k == 2) {
                RelnFit *fit = NULL;
                RelnTrainEnd end;

                assert_ok(r.world.ctx,
                          reln_fit_resume(r.world.ctx,
                                          &(RelnFitOptions){.folder = r.run, .no_check = true},
                                          &fit));
                assert_ok(r.world.ctx, reln_fit_run(fit, &end));
                reln_fit_close(fit);
            }
            y[k] = predicted(&r, &count);
            room_clear(&r);
        }
        for (int k = 1; k < 3; k++)
            assert_memory_equal(y[0], y[k], (size_t)count * sizeof *y[0]);
        for (int k = 0; k < 3; k++)
            free(y[k]);
    }
}

static void hidden_points_are_predicted_by_type(void **state)
{
    (void)state;
    for (int s = 0; s < SPECS; s++) {
        RelnModel *model;
        RelnCheck check;
        Room r;

        room_init(&r, specs[s], N);
        train(&r, 1, NULL, 0);
        model = room_load(&r, RELN_DEFAULT);
        for (int data = 0; data < 2; data++) {
            assert_ok(r.world.ctx,
                      reln_check(model,
                                 &(RelnCheckOptions){.data_path = data ? r.data : NULL, .draws = 8},
                                 &check));
            assert_true(check.promises && check.kept);
        }
        reln_model_destroy(model);
        room_clear(&r);
    }
}

/* The best guess of the way back from x + e, both normal, is a multiple of -(x + e): r2 = b^2 / (1 + b^2) for noise of size b. */
static void noise_is_taken_away(void **state)
{
    RelnModel *model;
    RelnMetrics m;
    Room r;

    (void)state;
    room_init(
        &r,
        "{symmetry: o:3, inputs: [{name: v, as: vector, points: true}], pretrain: {mask: 0.5, "
        "noise: 1}, model: {kind: set, width: 8, depth: 1, sums: 2}, train: {epochs: 20, "
        "batch: 20, lr: 1e-2, validation: 0.2, schedule: cosine}}",
        200);
    train(&r, 1, NULL, 0);
    model = room_load(&r, RELN_DEFAULT);
    assert_ok(r.world.ctx, reln_evaluate(model, r.data, 1, &m));
    assert_int_equal(m.n_samples, 200 * P / 2);
    assert_true(m.r2 > 0.4 && m.r2 < 0.6); /* 1200 vectors: one half, and a deviation of 0.02 */
    reln_model_destroy(model);
    room_clear(&r);
}

static void a_labelled_run_begins_with_the_weights(void **state)
{
    static const char labelled[] = SPLATS
        "target: {name: c, as: class, classes: 3}, model: {kind: set, groups: 2, members: 2, "
        "width: 8, depth: 1, sums: 2}," TRAIN "}}";
    double *y[2];
    ptrdiff_t count;
    Room pre, r;

    (void)state;
    room_init(&pre, specs[3], N);
    train(&pre, 1, NULL, 0);
    for (int k = 0; k < 2; k++) {
        room_init(&r, labelled, N);
        train(&r, 1, k ? pre.run : NULL, 0);
        y[k] = predicted(&r, &count);
        room_clear(&r);
    }
    assert_true(memcmp(y[0], y[1], (size_t)count * sizeof *y[0]) != 0);
    free(y[0]);
    free(y[1]);
    room_clear(&pre);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_of_the_points_is_hidden_by_the_seed),
        cmocka_unit_test(at_least_one_point_is_hidden),
        cmocka_unit_test(numbers_of_hidden_points_change_no_bit),
        cmocka_unit_test(runs_are_functions_of_their_seed),
        cmocka_unit_test(hidden_points_are_predicted_by_type),
        cmocka_unit_test(noise_is_taken_away),
        cmocka_unit_test(a_labelled_run_begins_with_the_weights),
    };

    return cmocka_run_group_tests_name("fit/pretrain", tests, NULL, NULL);
}
