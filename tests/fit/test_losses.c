/* Tests that the loss which training minimises is the loss of the predictions. The first is computed in the graph, from features and
 * normalised targets; the second from the predictions that a user reads, in units of the data. Weights do not change: the
 * rate is too small. */
#include <math.h>

#include "fit/room.h"

enum { N = 12 };

#define HEAD ", head: {hidden: 1}, width: 5, depth: 1}"
#define VECTOR "{symmetry: so:3, inputs: [{name: v, as: vector}, {name: X, as: matrix}],"
#define POINTS "{symmetry: o:3, inputs: [{name: v, as: vector, points: true, mask: m}],"
#define EVERY                                                                                      \
    " targets: [{name: a, as: scalar, loss: quantiles}, {name: b, as: matrix, loss: gaussian},"    \
    " {name: c, as: class, classes: 3}, {name: d, as: vector, loss: huber}, {name: e, as: "        \
    "covariance}, {name: f, as: vector, loss: gaussian, weight: 0.3}],"

static const char *const specs[] = {
    VECTOR EVERY " model: {kind: reln" HEAD,
    VECTOR EVERY " model: {kind: mlp" HEAD,
    VECTOR EVERY " model: {kind: lie-neurons" HEAD,
    VECTOR " target: {name: y, as: matrix, loss: mae}, model: {kind: mlp" HEAD,
    VECTOR
    " target: {name: y, as: vector, loss: gaussian, variance: covariance}, model: {kind: reln" HEAD,
    VECTOR " target: {name: y, as: scalar, loss: gaussian}, model: {kind: mlp" HEAD,
    VECTOR " target: {name: y, as: covariance}, model: {kind: mlp" HEAD,
    VECTOR " target: {name: y, as: class, classes: 4}, model: {kind: reln" HEAD,
    VECTOR " target: {name: y, as: vector, loss: mae}, model: {kind: reln" HEAD,
    "{symmetry: so:3, inputs: [{name: v, as: vector}], target: {name: y, as: vector, loss: huber},"
    " model: {kind: vector-neurons" HEAD,
    VECTOR " target: {name: y, as: matrix, loss: huber}, model: {kind: reln" HEAD,
    VECTOR " target: {name: y, as: scalar}, model: {nonlinearity: [leaky, bracket], leak: 0.2" HEAD,
    "{symmetry: gl:3, inputs: [{name: C, as: covariance, log: true, reference: mean}, {name: v, "
    "as: vector}],"
    " targets: [{name: y, as: covariance}, {name: z, as: vector, loss: gaussian, variance: "
    "covariance}],"
    " model: {kind: reln" HEAD,
    POINTS " targets: [{name: y, as: vector, points: true}, {name: c, as: class, classes: 3, "
           "points: true},"
           " {name: z, as: scalar}], model: {kind: reln" HEAD,
};

static double loss_of_graph(Room *r)
{
    RelnFit *fit = NULL;
    RelnTrainEnd end;
    double loss;

    assert_ok(r->world.ctx, reln_fit_open(r->world.ctx, r->spec, r->data,
                                          &(RelnFitOptions){.folder = r->run}, &fit));
    assert_ok(r->world.ctx, reln_fit_run(fit, &end));
    assert_int_equal(reln_fit_result(fit).n_rows, 1);
    loss = reln_fit_result(fit).rows[0].loss;
    reln_fit_close(fit);
    return loss;
}

/* The covariances that an mlp predicts are positive definite, and as far from the true ones as their logarithms are: in one dimension,
 * the distance is the root of the mean square of log(s / t), and the loss is that mean in units of the logarithms' deviation. */
static void an_mlp_predicts_covariances(void **state)
{
    double mean = 0, square = 0, distance;
    Room r;

    (void)state;
    room_init(&r,
              "{symmetry: gl:1, inputs: [{name: s, as: scalar}], target: {name: y, as: covariance},"
              " model: {kind: mlp, width: 4, depth: 1}, train: {epochs: 30, batch: 6, lr: 0.1,"
              " validation: 0, dtype: f64}}",
              N);
    const double *y = world_find(&r.world, "y")->f64;
    for (int i = 0; i < N * WORLD_CHANNELS; i++)
        mean += log(y[i]) / (N * WORLD_CHANNELS);
    for (int i = 0; i < N * WORLD_CHANNELS; i++)
        square += (log(y[i]) - mean) * (log(y[i]) - mean) / (N * WORLD_CHANNELS);
    room_train(&r, 1);
    distance = room_result(&r, "train", "distance");
    assert_true(fabs(distance * distance / square / room_result(&r, "train", "loss") - 1) < 1e-12);
    assert_true(room_result(&r, "train", "loss") < 0.9); /* it has learned something */
    room_clear(&r);
}

static void the_loss_is_that_of_the_predictions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        char yaml[2048];
        double graph, predictions;
        Room r;

        snprintf(yaml, sizeof yaml,
                 "%s, train: {epochs: 1, batch: %d, lr: 1e-30, validation: 0, dtype: f64}}",
                 specs[i], N);
        room_init(&r, yaml, N);
        graph = loss_of_graph(&r);
        predictions = room_result(&r, "train", "loss");
        /* f64; logarithms and exponentials of 3 x 3 matrices, and means over a few dozen numbers */
        if (!(fabs(graph / predictions - 1) < 1e-10))
            fail_msg("the loss is %.17g, of predictions %.17g: %s", graph, predictions, specs[i]);
        room_clear(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_is_that_of_the_predictions),
        cmocka_unit_test(an_mlp_predicts_covariances),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
