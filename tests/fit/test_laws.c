/* Tests laws of whole runs: neither the units of the data nor the order of its samples decides what a network learns, and a sample with
 * weight 2 counts as two samples. */
#include <math.h>

#include "fit/room.h"

enum { N = 12, MOST = 2 * N };

#define TRAIN " train: {epochs: 4, batch: 24, lr: 1e-2, validation: 0, dtype: f64}%s}"

typedef struct Law {
    const char *spec; /* without train */
    /* Its inputs have no statistics but their length: the scales of inputs do not use weights. */
    bool weighted;
} Law;

static const Law laws[] = {
    {"{symmetry: so:3, inputs: [{name: v, as: vector}, {name: X, as: matrix}, {name: s, as: "
     "scalar}],"
     " target: {name: y, as: vector}, model: {width: 4, depth: 1},",
     false},
    {"{symmetry: so:3, inputs: [{name: v, as: vector}, {name: X, as: matrix}], target: {name: y, "
     "as: vector},"
     " model: {width: 4, depth: 1},",
     true},
    {"{symmetry: gl:2, inputs: [{name: X, as: matrix}], target: {name: y, as: scalar, loss: "
     "gaussian},"
     " model: {width: 4, depth: 1, head: {hidden: 1}},",
     true},
    {"{symmetry: so:3, inputs: [{name: v, as: vector}],"
     " target: {name: y, as: vector, loss: huber}, model: {kind: mlp, width: 4, depth: 1},",
     true},
    {"{symmetry: o:3, inputs: [{name: v, as: vector}], target: {name: y, as: class, classes: 3},"
     " model: {width: 4, depth: 1},",
     true},
    {"{symmetry: lorentz, inputs: [{name: p, as: fourvector, points: true, mask: m}],"
     " target: {name: y, as: scalar}, model: {kind: set, width: 8, depth: 1, sums: 2, dropout: 0},",
     false},
};

/* Numbers of a run: its loss and its errors on the training data. */
typedef struct Learned {
    double loss, mse;
} Learned;

static Learned learned(const Room *r)
{
    return (Learned){room_result(r, "train", "loss"), room_result(r, "train", "mse")};
}

/* Writes n samples, sample i of the file being sample order[i]; with `weights` also the weight of each. */
static void write_samples(Room *r, const int *order, int n, const double *weights)
{
    RelnArray arrays[WORLD_ARRAYS + 1];
    int count = r->world.n_arrays;

    for (int a = 0; a < count; a++) {
        const RelnArray *from = &r->world.arrays[a];
        const size_t size = (size_t)(reln_array_count(from) / N);

        arrays[a] = *from;
        arrays[a].dims[0] = n;
        arrays[a].f64 = malloc((size_t)n * size * sizeof(double));
        assert_non_null(arrays[a].f64);
        for (int i = 0; i < n; i++)
            memcpy(arrays[a].f64 + (size_t)i * size, from->f64 + (size_t)order[i] * size,
                   size * sizeof(double));
    }
    if (weights)
        arrays[count++] = (RelnArray){.name = "w",
                                      .dtype = RELN_F64,
                                      .rank = 1,
                                      .dims = {n},
                                      .f64 = (double *)(uintptr_t)weights};
    assert_ok(r->world.ctx, reln_npz_save(r->world.ctx, r->data, count, arrays));
    for (int a = 0; a < r->world.n_arrays; a++)
        free(arrays[a].f64);
}

static void begin(Room *r, const Law *law, const char *weights)
{
    char yaml[1024], plain[1024];

    snprintf(plain, sizeof plain, "%s" TRAIN, law->spec, "");
    snprintf(yaml, sizeof yaml, "%s" TRAIN, law->spec, weights);
    room_init(r, plain, N);
    room_write(r->spec, yaml);
}

/* Gives the inputs of every sample the length 1. */
static void level(Room *r)
{
    for (int i = 0; i < r->world.spec.n_inputs; i++) {
        RelnArray *x = world_find(&r->world, r->world.spec.input[i].name);
        const ptrdiff_t size = reln_array_count(x) / N;

        for (ptrdiff_t n = 0; n < N; n++) {
            double square = 0;

            for (ptrdiff_t k = 0; k < size; k++)
                square += x->f64[n * size + k] * x->f64[n * size + k];
            for (ptrdiff_t k = 0; k < size; k++)
                x->f64[n * size + k] /= sqrt(square);
        }
    }
}

/* Asserts that two runs have learned the same, but for the rounding of sums in another order, which a few steps amplify. */
static void assert_same(Learned a, Learned b, const char *what, const Law *law)
{
    if (!(fabs(a.loss / b.loss - 1) < 1e-10) ||
        !(fabs(a.mse / b.mse - 1) < 1e-10 || (isnan(a.mse) && isnan(b.mse))))
        fail_msg("%s: losses %.17g and %.17g, errors %.17g and %.17g: %s", what, a.loss, b.loss,
                 a.mse, b.mse, law->spec);
}

/* A weight of 2 is a sample that is there twice, in training, in the normalisation of targets and in errors. */
static void weights_count_samples(void **state)
{
    int once[N], twice[MOST], n = 0;
    double weights[N];

    (void)state;
    for (int i = 0; i < N; i++) {
        once[i] = i;
        weights[i] = 1 + i % 2;
        for (int k = 0; k <= i % 2; k++)
            twice[n++] = i;
    }
    for (size_t l = 0; l < sizeof laws / sizeof laws[0]; l++) {
        Learned a, b;
        Room r;

        if (!laws[l].weighted)
            continue;
        begin(&r, &laws[l], ", weights: w");
        level(&r);
        write_samples(&r, once, N, weights);
        room_train(&r, 1);
        a = learned(&r);
        room_clear(&r);
        begin(&r, &laws[l], "");
        level(&r);
        write_samples(&r, twice, n, NULL);
        room_train(&r, 1);
        b = learned(&r);
        room_clear(&r);
        assert_same(a, b, "weights", &laws[l]);
    }
}

/* Multiplies inputs by 2^10 and targets by 2^-5: powers of two change no digit. */
static void units_do_not_matter(void **state)
{
    (void)state;
    for (size_t l = 0; l < sizeof laws / sizeof laws[0]; l++) {
        Learned a, b;
        int order[N];
        Room r;

        for (int i = 0; i < N; i++)
            order[i] = i;
        begin(&r, &laws[l], "");
        room_train(&r, 1);
        a = learned(&r);
        room_clear(&r);
        begin(&r, &laws[l], "");
        for (int i = 0; i < r.world.spec.n_inputs; i++) {
            RelnArray *x = world_find(&r.world, r.world.spec.input[i].name);

            for (ptrdiff_t k = 0; k < reln_array_count(x); k++)
                x->f64[k] *= 1024;
        }
        if (r.world.spec.target[0].as != RELN_TARGET_CLASS) {
            RelnArray *y = world_find(&r.world, "y");

            for (ptrdiff_t k = 0; k < reln_array_count(y); k++)
                y->f64[k] /= 32;
        }
        write_samples(&r, order, N, NULL);
        room_train(&r, 1);
        b = learned(&r);
        room_clear(&r);
        b.mse *= 1024;
        assert_same(a, b, "units", &laws[l]);
    }
}

/* With one batch for all samples, their order is nothing. */
static void order_does_not_matter(void **state)
{
    (void)state;
    for (size_t l = 0; l < sizeof laws / sizeof laws[0]; l++) {
        Learned a, b;
        int order[N];
        Room r;

        for (int i = 0; i < N; i++)
            order[i] = (5 * i + 3) % N;
        begin(&r, &laws[l], "");
        room_train(&r, 1);
        a = learned(&r);
        room_clear(&r);
        begin(&r, &laws[l], "");
        write_samples(&r, order, N, NULL);
        room_train(&r, 1);
        b = learned(&r);
        room_clear(&r);
        assert_same(a, b, "order", &laws[l]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_count_samples),
        cmocka_unit_test(units_do_not_matter),
        cmocka_unit_test(order_does_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
