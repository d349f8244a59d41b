/* Compares farthest and nearest points, groups, frames, and splats of points and meshes with their
 * definitions, also under rotations. */
#include <math.h>
#include <string.h>

#include "kit/clock.h"
#include "kit/points.h"
#include "support/support.h"

enum { N = 200 };

static double points[N * 3], room[RELN_SPLATS_ROOM(4096)];

static void draw(uint64_t seed)
{
    RelnRng rng = reln_rng(seed, 1);

    fill_normal(&rng, N * 3, points);
    reln_points_normalise(N, points, 3);
}

static double distance2(const double *a, const double *b)
{
    double sum = 0;

    for (int i = 0; i < 3; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

/* Returns the distance of point i from the nearest of the first j chosen points. */
static double from_chosen(const int32_t *chosen, int j, int i)
{
    double least = HUGE_VAL;

    for (int c = 0; c < j; c++)
        least = fmin(least, distance2(points + 3 * i, points + 3 * chosen[c]));
    return least;
}

static void each_farthest_point_is_the_farthest_from_those_before(void **state)
{
    int32_t chosen[20];

    (void)state;
    draw(1);
    reln_points_farthest(N, points, 3, 20, &(RelnGroupRule){0}, room, chosen);
    for (int i = 0; i < N; i++) /* the mean is 0 */
        assert_true(distance2(points + 3 * i, (double[3]){0}) <=
                    distance2(points + 3 * chosen[0], (double[3]){0}) * (1 + 1e-12));
    for (int j = 1; j < 20; j++)
        for (int i = 0; i < N; i++)
            assert_true(from_chosen(chosen, j, i) <= from_chosen(chosen, j, chosen[j]));
}

/* The cloud lies at 10 on one axis after the other, and the point that is far from its mean is not the farthest along it. */
static void the_first_point_is_far_from_the_mean_wherever_the_cloud_lies(void **state)
{
    static const double along[] = {10, 11, 10.2}, across[] = {0, 0, 3};

    (void)state;
    for (int axis = 0; axis < 3; axis++) {
        double far[9] = {0};
        int32_t chosen[1];

        for (int i = 0; i < 3; i++) {
            far[3 * i + axis] = along[i];
            far[3 * i + (axis + 1) % 3] = across[i];
        }
        reln_points_farthest(3, far, 3, 1, &(RelnGroupRule){0}, room, chosen);
        assert_int_equal(chosen[0], 2);
    }
}

/* Equal distances are decided by the index. */
static void nearest_points_come_in_order(void **state)
{
    const double line[] = {0, 0, 0, 1, 0, 0, -1, 0, 0, 2, 0, 0, 0, 1, 0};
    const int32_t want[] = {0, 1, 2, 4, 3};
    int32_t near[5], of[30];

    (void)state;
    reln_points_nearest(5, line, 3, line, 5, &(RelnGroupRule){0}, room, near);
    for (int i = 0; i < 5; i++)
        assert_int_equal(near[i], want[i]);
    draw(2);
    reln_points_nearest(N, points, 3, points + 3, 30, &(RelnGroupRule){0}, room, of);
    assert_int_equal(of[0], 1);
    for (int i = 1; i < 30; i++)
        assert_true(distance2(points + 3, points + 3 * of[i - 1]) <=
                    distance2(points + 3, points + 3 * of[i]));
    for (int i = 0, more = 0; i < N; i++) {
        more += distance2(points + 3, points + 3 * i) < distance2(points + 3, points + 3 * of[29]);
        assert_true(more <= 29);
    }
}

/* Of equally near points, the points with lower indices are taken. */
static void the_first_of_equally_near_points_are_taken(void **state)
{
    const double star[7 * 3] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0, 0, 0, -1, 0, 0, 0, -1};
    int32_t near[4];

    (void)state;
    reln_points_nearest(7, star, 3, star, 4, &(RelnGroupRule){0}, room, near);
    for (int i = 0; i < 4; i++)
        assert_int_equal(near[i], i);
}

/* Without rotation, the axes of a splat are the coordinate axes: log Sigma is diag(2 log s), and transforms
 * as R log Sigma R^T. A quaternion and its negative are one rotation; the one whose first number is not
 * negative is kept. */
static void a_splat_has_the_logarithm_of_its_variances(void **state)
{
    RelnRng rng = reln_rng(6, 1);

    (void)state;
    for (int t = 0; t < 50; t++) {
        double row[RELN_SPLAT] = {0.1, 0.2, 0.3}, at_rest[9], turned[9], R[9], want[9] = {0};

        row[RELN_SPLAT_ROTATION] = 1;
        for (int a = 0; a < 3; a++)
            row[RELN_SPLAT_SCALE + a] = 0.05 * (a + 1);
        reln_splat_log_covariance(row, 1e-3, at_rest);
        for (int e = 0; e < 9; e++)
            assert_small(at_rest[e] - (e % 4 == 0 ? 2 * log(0.05 * (e / 4 + 1)) : 0), 1e-14);
        for (int again = 0; again < 2; again++) { /* the second turn leads beyond half a turn */
            reln_splat_log_covariance(row, 1e-3, at_rest);
            reln_rotation_random(&rng, false, R);
            reln_splats_rotate(1, row, R);
            reln_splat_log_covariance(row, 1e-3, turned);
            memset(want, 0, sizeof want);
            for (int e = 0; e < 81; e++)
                want[e / 9] += R[3 * (e / 27) + e / 3 % 3] * at_rest[3 * (e / 3 % 3) + e % 3] *
                               R[3 * (e / 9 % 3) + e % 3];
            assert_near(turned, want, 9, 1e-12);
            assert_true(row[RELN_SPLAT_ROTATION] >= 0);
        }
    }
}

/* Neither a rotation nor the order of points changes the groups: they consist of the same points. */
static void groups_do_not_depend_on_frame_and_order(void **state)
{
    enum { G = 16, K = 12 };
    int32_t centres[2][G], members[2][G * K];
    double rows[N * RELN_SPLAT] = {0}, R[9];
    RelnRng rng = reln_rng(3, 3);

    (void)state;
    draw(3);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < N; i++) {
            double *row = rows + (turn ? N - 1 - i : i) * RELN_SPLAT;

            memcpy(row, points + 3 * i, 3 * sizeof *row);
            row[RELN_SPLAT_ROTATION] = 1;
        }
        reln_rotation_random(&rng, false, R);
        if (turn)
            reln_splats_rotate(N, rows, R);
        reln_points_group(N, rows, RELN_SPLAT, G, K, &(RelnGroupRule){0}, room, centres[turn],
                          members[turn]);
    }
    for (int g = 0; g < G; g++)
        assert_int_equal(centres[0][g], N - 1 - centres[1][g]);
    for (int m = 0; m < G * K; m++)
        assert_int_equal(members[0][m], N - 1 - members[1][m]);
}

static void eigenvalues_fall_and_axes_are_a_rotation(void **state)
{
    RelnRng rng = reln_rng(4, 4);

    (void)state;
    for (int t = 0; t < 100; t++) {
        double a[9], w[3], V[9], back[9] = {0}, det;

        for (int e = 0; e < 9; e++)
            if (e / 3 <= e % 3)
                a[e] = a[3 * (e % 3) + e / 3] =
                    t % 4 == 3 && e / 3 != e % 3 ? 0 : reln_rng_normal(&rng);
        reln_eigen3(a, w, V);
        assert_true(w[0] >= w[1] && w[1] >= w[2]);
        for (int e = 0; e < 27; e++)
            back[e / 3] += V[3 * (e / 9) + e % 3] * w[e % 3] * V[3 * (e / 3 % 3) + e % 3];
        assert_near(back, a, 9, 1e-13);
        det = V[0] * (V[4] * V[8] - V[5] * V[7]) - V[1] * (V[3] * V[8] - V[5] * V[6]) +
              V[2] * (V[3] * V[7] - V[4] * V[6]);
        assert_small(det - 1, 1e-13);
    }
}

/* Splats of rotated points are rotated splats: the same scales, opacities and colours, and R log Sigma R^T. */
static void splats_of_points_turn_with_them(void **state)
{
    static double rows[2][N * RELN_SPLAT], turned[N * 3];
    double R[9], a[9], b[9], want[9];
    RelnRng rng = reln_rng(5, 5), noise;

    (void)state;
    draw(5);
    reln_rotation_random(&rng, false, R);
    for (int i = 0; i < N; i++)
        for (int r = 0; r < 3; r++)
            turned[3 * i + r] = R[3 * r] * points[3 * i] + R[3 * r + 1] * points[3 * i + 1] +
                                R[3 * r + 2] * points[3 * i + 2];
    noise = reln_rng(6, 6);
    reln_points_to_splats(N, points, 3, 8, N, NULL, &noise, room, rows[0]);
    noise = reln_rng(6, 6);
    reln_points_to_splats(N, turned, 3, 8, N, NULL, &noise, room, rows[1]);
    for (int i = 0; i < N; i++) {
        const double *p = rows[0] + i * RELN_SPLAT, *q = rows[1] + i * RELN_SPLAT;

        assert_near(q + 3, p + 3, 4, 1e-10);
        assert_near(q + RELN_SPLAT_COLOUR, p + RELN_SPLAT_COLOUR, 3, 1e-10);
        assert_true(p[RELN_SPLAT_ROTATION] >= 0);
        reln_splat_log_covariance(p, 1e-3, a);
        reln_splat_log_covariance(q, 1e-3, b);
        memset(want, 0, sizeof want);
        for (int e = 0; e < 81; e++)
            want[e / 9] += R[3 * (e / 27) + e / 3 % 3] * a[e % 9] * R[3 * (e / 9 % 3) + e % 3];
        assert_near(b, want, 9, 1e-8);
    }
}

/* The longest axis r of a splat and its scale s are those of the covariance C of its eight nearest points: C r = s^2 r. */
static void splats_have_the_shape_of_their_neighbours(void **state)
{
    static double rows[N * RELN_SPLAT];
    RelnRng noise = reln_rng(6, 6);

    (void)state;
    draw(5);
    reln_points_to_splats(N, points, 3, 8, N, NULL, &noise, room, rows);
    for (int i = 0; i < N; i += 20) {
        const double *row = rows + i * RELN_SPLAT, *s = row + RELN_SPLAT_SCALE;
        const int longest = s[0] >= s[1] && s[0] >= s[2] ? 0 : s[1] >= s[2] ? 1 : 2;
        double m[3] = {0}, C[9] = {0}, R[9];
        int32_t near[8];

        reln_points_nearest(N, points, 3, points + 3 * i, 8, &(RelnGroupRule){0}, room, near);
        for (int e = 0; e < 24; e++)
            m[e % 3] += points[3 * near[e / 3] + e % 3] / 8;
        for (int e = 0; e < 72; e++)
            C[e % 9] += (points[3 * near[e / 9] + e % 9 / 3] - m[e % 9 / 3]) *
                        (points[3 * near[e / 9] + e % 3] - m[e % 3]) / 8;
        reln_splat_axes(row, R);
        for (int a = 0; a < 3; a++)
            assert_small(C[3 * a] * R[longest] + C[3 * a + 1] * R[3 + longest] +
                             C[3 * a + 2] * R[6 + longest] -
                             s[longest] * s[longest] * R[3 * a + longest],
                         1e-12);
    }
}

/* Splats at chosen points use the neighbourhoods among all points. Only the lower limit of scales, which is
 * not reached here, and the noise of colours depend on the choice. */
static void splats_of_chosen_points_are_those_of_all(void **state)
{
    static double rows[N * RELN_SPLAT], some[3 * RELN_SPLAT];
    const int32_t chosen[3] = {N - 1, 4, 7};
    RelnRng noise = reln_rng(6, 6);

    (void)state;
    draw(5);
    reln_points_to_splats(N, points, 3, 8, N, NULL, &noise, room, rows);
    reln_points_to_splats(N, points, 3, 8, 3, chosen, &noise, room, some);
    for (int i = 0; i < 3; i++)
        assert_near(some + i * RELN_SPLAT, rows + chosen[i] * RELN_SPLAT, RELN_SPLAT_COLOUR, 0);
}

/* Rotating a splat rotates its covariance: log Sigma becomes R log Sigma R^T. */
static void rotated_splats_have_rotated_covariances(void **state)
{
    double row[RELN_SPLAT] = {0.1, 0.2, 0.3, 0.5, 0.1, 0.02, 0.3, 0.5, -0.5, 0.5, 0.5}, R[9], a[9],
           b[9], want[9] = {0};
    RelnRng rng = reln_rng(7, 7);

    (void)state;
    reln_splat_log_covariance(row, 1e-3, a);
    reln_rotation_about(&rng, 2.5, R);
    assert_small(R[0] + R[4] + R[8] - (1 + 2 * cos(2.5)), 1e-14);
    reln_splats_rotate(1, row, R);
    assert_true(row[RELN_SPLAT_ROTATION] >= 0);
    reln_splat_log_covariance(row, 1e-3, b);
    for (int e = 0; e < 81; e++)
        want[e / 9] += R[3 * (e / 27) + e / 3 % 3] * a[e % 9] * R[3 * (e / 9 % 3) + e % 3];
    assert_near(b, want, 9, 1e-13);
}

/* Points in principal axes are the same for rotated points. */
static void principal_axes_undo_rotations(void **state)
{
    static double rows[2][N * RELN_SPLAT];
    double R[9];
    RelnRng rng = reln_rng(8, 8);

    (void)state;
    draw(8);
    for (int i = 0; i < N; i++)
        for (int turn = 0; turn < 2; turn++) {
            double *row = rows[turn] + i * RELN_SPLAT;

            memcpy(row, points + 3 * i, 3 * sizeof *row);
            row[0] *= 2;
            row[1] *= 0.5;
            row[RELN_SPLAT_ROTATION] = 1;
        }
    reln_rotation_random(&rng, false, R);
    reln_splats_rotate(N, rows[1], R);
    for (int turn = 0; turn < 2; turn++) {
        reln_points_principal(N, rows[turn], RELN_SPLAT, R);
        reln_splats_rotate(N, rows[turn], R);
    }
    for (int i = 0; i < N; i++)
        assert_near(rows[1] + i * RELN_SPLAT, rows[0] + i * RELN_SPLAT, 3, 1e-10);
}

/* Two triangles, one with three times the area of the other, and one without any. */
static void meshes_are_sampled_by_area(void **state)
{
    double vertices[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 5, 3, 0, 5, 0, 1, 5};
    int32_t triangles[] = {0, 1, 2, 0, 0, 1, 3, 4, 5};
    const RelnMesh mesh = {NULL, 6, 3, vertices, triangles};
    static double drawn[4000 * 3];
    RelnRng rng = reln_rng(9, 9);
    RelnCtx *ctx = NULL;
    double mean[2] = {0, 0};
    int above = 0;

    (void)state;
    assert_int_equal(reln_mesh_sample(&mesh, &rng, 4000, room, drawn), RELN_OK);
    for (int i = 0; i < 4000; i++) {
        const double *p = drawn + 3 * i, x = p[2] > 1 ? p[0] / 3 : p[0];

        above += p[2] > 1;
        assert_true(x >= 0 && p[1] >= 0 && x + p[1] <= 1 + 1e-12);
        mean[0] += x / 4000;
        mean[1] += p[1] / 4000;
    }
    /* evenly over a triangle, a coordinate has the mean 1/3 and the variance 1/18 */
    for (int a = 0; a < 2; a++)
        assert_small(mean[a] - 1.0 / 3, 5 * sqrt(1.0 / 18 / 4000));
    assert_small(above / 4000.0 - 0.75, 5 * sqrt(0.75 * 0.25 / 4000));
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    const RelnMesh flat = {ctx, 6, 1, vertices, triangles + 3};
    assert_int_equal(reln_mesh_sample(&flat, &rng, 1, room, drawn), RELN_ERR_NUMERIC);
    reln_ctx_clear(ctx);
    const RelnMesh empty = {ctx, 6, 0, vertices, triangles};
    assert_int_equal(reln_mesh_sample(&empty, &rng, 1, room, drawn), RELN_ERR_NUMERIC);
    assert_non_null(strstr(reln_ctx_error(ctx), "a mesh of 0 triangles has the area 0"));
    reln_ctx_clear(ctx);
    vertices[3] = 1e200; /* sides of 1e200 and 1e200: the square of the area is no finite number */
    vertices[7] = 1e200;
    const RelnMesh endless = {ctx, 6, 1, vertices, triangles};
    assert_int_equal(reln_mesh_sample(&endless, &rng, 1, room, drawn), RELN_ERR_NUMERIC);
    reln_ctx_destroy(ctx);
}

/* The published rule: from point 0 on, points near the origin are never chosen. */
static void the_published_rule_leaves_out_what_is_near_the_origin(void **state)
{
    const double few[] = {0.01, 0, 0, 0.5, 0, 0, 0.02, 0, 0, 0, -0.9, 0};
    int32_t chosen[4];

    (void)state;
    reln_points_farthest(4, few, 3, 4, &(RelnGroupRule){.published = true}, room, chosen);
    assert_int_equal(chosen[0], 0);
    assert_int_equal(chosen[1], 3);
    assert_int_equal(chosen[2], 1);
    assert_true(chosen[3] == 1 || chosen[3] == 3);
    reln_points_farthest(4, few, 3, 4, &(RelnGroupRule){0}, room, chosen);
    assert_int_equal(chosen[0], 3);
}

/* The published rule in the order of a block of 512 threads, each of which reads every 512th point: of two equally far points
 * the one of the lower thread wins, here 512 of thread 0 against 3. */
static void the_published_rule_has_the_order_of_threads(void **state)
{
    enum { MANY = 1500 };
    static double many[MANY * 3];
    int32_t chosen[2];

    (void)state;
    for (int i = 0; i < MANY; i++)
        many[3 * i] = i == 3 || i == 512 ? -0.9 : 0.5;
    reln_points_farthest(MANY, many, 3, 2, &(RelnGroupRule){.published = true}, room, chosen);
    assert_int_equal(chosen[0], 0);
    assert_int_equal(chosen[1], 512);
}

/* The published rule measures in single precision: 1 + 1e-8 is 1 there, and the first of two equally near points comes
 * first. */
static void the_published_rule_measures_in_single_precision(void **state)
{
    const double two[] = {1, 1e-4, 0, 1, 0, 0}, at[3] = {0, 0, 0};
    int32_t near[2];

    (void)state;
    reln_points_nearest(2, two, 3, at, 2, &(RelnGroupRule){.published = true}, room, near);
    assert_int_equal(near[0], 0);
    reln_points_nearest(2, two, 3, at, 2, &(RelnGroupRule){0}, room, near);
    assert_int_equal(near[0], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_farthest_point_is_the_farthest_from_those_before),
        cmocka_unit_test(the_first_point_is_far_from_the_mean_wherever_the_cloud_lies),
        cmocka_unit_test(nearest_points_come_in_order),
        cmocka_unit_test(the_first_of_equally_near_points_are_taken),
        cmocka_unit_test(a_splat_has_the_logarithm_of_its_variances),
        cmocka_unit_test(groups_do_not_depend_on_frame_and_order),
        cmocka_unit_test(eigenvalues_fall_and_axes_are_a_rotation),
        cmocka_unit_test(splats_of_points_turn_with_them),
        cmocka_unit_test(splats_have_the_shape_of_their_neighbours),
        cmocka_unit_test(splats_of_chosen_points_are_those_of_all),
        cmocka_unit_test(rotated_splats_have_rotated_covariances),
        cmocka_unit_test(principal_axes_undo_rotations),
        cmocka_unit_test(meshes_are_sampled_by_area),
        cmocka_unit_test(the_published_rule_leaves_out_what_is_near_the_origin),
        cmocka_unit_test(the_published_rule_has_the_order_of_threads),
        cmocka_unit_test(the_published_rule_measures_in_single_precision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
