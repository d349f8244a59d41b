/* Tests `reln predict` on targets of classes: beside the probabilities are the most probable classes. */
#include "fit/room.h"

enum { N = 12, P = WORLD_POINTS, CLASSES_OF_POINTS = 3, CLASSES_OF_SETS = 2 };

/* Reads an array of predictions, (N, ...). */
static void read_array(RelnArchive *archive, const char *name, ptrdiff_t count, double *values)
{
    const int index = reln_archive_find(archive, name);

    assert_true(index >= 0);
    assert_int_equal(reln_array_count(reln_archive_info(archive, index)), count);
    assert_int_equal(reln_archive_range(archive, index, 0, N, values), RELN_OK);
}

static int largest(int n, const double *p)
{
    int best = 0;

    for (int i = 1; i < n; i++)
        best = p[i] > p[best] ? i : best;
    return best;
}

/* Places without a point have no class, which is written as -1. */
static void classes_are_the_most_probable_ones_of_points(void **state)
{
    double p[N * P * CLASSES_OF_POINTS], s[N * CLASSES_OF_SETS], classes[N * P], of_sets[N];
    const double *mask;
    RelnArchive *archive = NULL;
    char command[512], path[128];
    int missing = 0;
    Room r;

    (void)state;
    room_init(&r,
              "{symmetry: o:3, inputs: [{name: v, as: vector, points: true, mask: m}], targets: "
              "[{name: c, as: class, classes: 3, points: true}, {name: s, as: class, classes: 2}], "
              "model: {kind: set, width: 8, depth: 1, sums: 2}, train: {epochs: 1, batch: 4, "
              "validation: 0.25}}",
              N);
    room_train(&r, 1);
    snprintf(path, sizeof path, "%s/y.npz", r.folder);
    snprintf(command, sizeof command, "'%s' predict '%s' '%s' --out '%s' --quiet", RELN_PROGRAM,
             r.run, r.data, path);
    assert_int_equal(system(command), 0);
    assert_ok(r.world.ctx, reln_archive_open(r.world.ctx, path, &archive));
    read_array(archive, "c", N * P * CLASSES_OF_POINTS, p);
    read_array(archive, "s", N * CLASSES_OF_SETS, s);
    read_array(archive, "c_class", N * P, classes);
    read_array(archive, "s_class", N, of_sets);
    mask = world_find(&r.world, "m")->values;
    for (int i = 0; i < N * P; i++) {
        missing += mask[i] == 0;
        assert_true(classes[i] ==
                    (mask[i] == 0 ? -1 : largest(CLASSES_OF_POINTS, p + CLASSES_OF_POINTS * i)));
    }
    for (int i = 0; i < N; i++)
        assert_true(of_sets[i] == largest(CLASSES_OF_SETS, s + CLASSES_OF_SETS * i));
    assert_true(missing > 0 && missing < N * P);
    reln_archive_destroy(archive);
    room_clear(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_the_most_probable_ones_of_points),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
