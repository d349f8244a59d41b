/* Tests objects that are read from files of splats: centred in the unit ball, with scales in the same unit, farthest splats
 * first, and classes by the names of folders. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/folder.h"
#include "tasks/splats/data.h"

enum { N = 6 };

/* The splats lie around (7, 2, -1). Each has another opacity, by which a test knows it. */
static const double places[N][3] = {{9, 2, -1},   {5, 2, -1},   {7, 3.5, -1},
                                    {7, 0.5, -1}, {7, 2, -0.5}, {7, 2, -1.5}};

static double opacity_of(int i)
{
    return -2 + 0.5 * i;
}

static double scale_of(int i, int a)
{
    return -3 + 0.1 * i + 0.2 * a; /* its exponential is the deviation */
}

static void write_ply(const char *path, double stretch)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fprintf(f, "ply\nformat ascii 1.0\nelement vertex %d\n", N);
    for (const char *c = "x\0y\0z\0opacity\0scale_0\0scale_1\0scale_2\0rot_0\0rot_1\0rot_2\0rot_"
                         "3\0f_dc_0\0f_dc_1\0f_dc_2\0";
         *c; c += strlen(c) + 1)
        fprintf(f, "property float %s\n", c);
    fprintf(f, "end_header\n");
    for (int i = 0; i < N; i++)
        fprintf(f, "%g %g %g %g %g %g %g 1 0 0 0 0.1 0.2 0.3\n", stretch * places[i][0],
                places[i][1], places[i][2], opacity_of(i), scale_of(i, 0), scale_of(i, 1),
                scale_of(i, 2));
    assert_int_equal(fclose(f), 0);
}

static TaskEnv open_env(void)
{
    TaskEnv env = {.task = task_find("splats"), .scale = TASK_SMOKE};

    assert_int_equal(reln_ctx_create(NULL, &env.ctx), RELN_OK);
    return env;
}

static void close_env(TaskEnv *env)
{
    task_release(env);
    reln_ctx_destroy(env->ctx);
}

/* Returns the number of the splat that a row of an object is. */
static int which(const float *row)
{
    for (int i = 0; i < N; i++)
        if (fabs((double)row[RELN_SPLAT_OPACITY] - 1 / (1 + exp(-opacity_of(i)))) < 1e-6)
            return i;
    fail_msg("an opacity of %g is of no splat", (double)row[RELN_SPLAT_OPACITY]);
    return -1;
}

/* The mean is (7, 2, -1), and the farthest splat is 2 from it. */
static void splats_of_a_file_fill_the_unit_ball(void **state)
{
    static const double middle[3] = {7, 2, -1};
    const char *path = path_in(*state, "six.ply");
    TaskEnv env = open_env();
    SplatsObjects all, some;
    bool seen[N] = {0};

    write_ply(path, 1);
    assert_ok(env.ctx, splats_from_file(&env, path, N, &all));
    assert_true(all.n == 1 && all.splats == N);
    for (int r = 0; r < N; r++) {
        const float *row = all.rows + r * RELN_SPLAT;
        const int i = which(row);

        assert_false(seen[i]);
        seen[i] = true;
        for (int a = 0; a < 3; a++) {
            assert_small((double)row[a] - (places[i][a] - middle[a]) / 2, 1e-6);
            assert_small((double)row[RELN_SPLAT_SCALE + a] - exp(scale_of(i, a)) / 2, 1e-6);
        }
    }
    /* the two of the longest axis, then those of the second */
    assert_ok(env.ctx, splats_from_file(&env, path, 4, &some));
    for (int r = 0; r < 4; r++)
        assert_true(which(some.rows + r * RELN_SPLAT) < 4 &&
                    which(some.rows + r * RELN_SPLAT) / 2 == r / 2);
    assert_int_not_equal(splats_from_file(&env, path, N + 1, &some), RELN_OK);
    assert_non_null(strstr(env.message, "6 splats; wanted at least 7"));
    close_env(&env);
    unlink(path);
}

static void write_in(const char *root, const char *class, const char *split, const char *name,
                     double stretch)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", root, class);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/%s", root, class, split);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/%s/%s", root, class, split, name);
    write_ply(path, stretch);
}

static double first_size(const SplatsObjects *o, ptrdiff_t i)
{
    const float *row = o->rows + i * o->splats * RELN_SPLAT;

    return (double)row[RELN_SPLAT_SCALE];
}

/* Objects are in the order of classes and names; a scale shows how long the object is. */
static void folders_are_classes_and_parts(void **state)
{
    char root[128], command[160];
    TaskEnv env = open_env();
    SplatsObjects train, test;
    const SplatsObjects *both[] = {&train, &test};

    snprintf(root, sizeof root, "%s", path_in(*state, "objects"));
    mkdir(root, 0700);
    write_in(root, "beta", "train", "b.ply", 4);
    write_in(root, "alpha", "train", "a.ply", 1);
    write_in(root, "alpha", "train", "c.ply", 2);
    write_in(root, "alpha", "test", "d.ply", 1);
    write_in(root, "beta", "test", "e.ply", 8);
    assert_ok(env.ctx, splats_from_folder(&env, root, 3, &train, &test));
    assert_true(train.n == 3 && test.n == 2 && train.n_classes == 2 && train.splats == 3);
    assert_string_equal(train.classes[0], "alpha");
    assert_string_equal(train.classes[1], "beta");
    assert_true(train.label[0] == 0 && train.label[1] == 0 && train.label[2] == 1);
    assert_true(test.label[0] == 0 && test.label[1] == 1);
    for (int k = 0; k < 2; k++) /* the longer, the smaller its splats */
        for (ptrdiff_t i = 1; i < both[k]->n; i++)
            assert_true(first_size(both[k], i) < 0.7 * first_size(both[k], i - 1));
    snprintf(command, sizeof command, "rm -r '%s'", root);
    assert_int_equal(system(command), 0);
    close_env(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(splats_of_a_file_fill_the_unit_ball, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(folders_are_classes_and_parts, folder_set_up,
                                        folder_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
