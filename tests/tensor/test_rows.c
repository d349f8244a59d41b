/* This file compares rows of contractions and linear maps that one call computes together with rows computed one by one: the bits must
 * be the same. Several rows of products and brackets of 3 x 3 matrices, of maps with an operand of one coordinate, and of linear maps
 * are computed by loops that single rows do not use. */
#include <string.h>

#include "support/support.h"
#include "tensor/kernels.h"

enum { K = 9, ROWS = 19, CHANNELS = 37, MOST_ENTRIES = 64 };

/* A Map is a bilinear map, or a linear one if `linear` is set. */
typedef struct Map {
    RelnTensor3 t;
    RelnEntry entries[MOST_ENTRIES];
    bool linear;
} Map;

static void add_entry(Map *m, int i, int j, int k, double value)
{
    assert_true(m->t.count < MOST_ENTRIES);
    m->entries[m->t.count++] = (RelnEntry){i, j, k, value};
    m->t.entries = m->entries;
}

/* Returns the place of element (row, column) of a matrix or of its transpose. */
static int at(int row, int column, int turned)
{
    return turned ? 3 * column + row : 3 * row + column;
}

/* Fills a map with the entries of z = A B, or of A B - B A if `bracket` is set, where A is x or its transpose and B is y or its
 * transpose. An entry is the value of z for two matrix units. */
static void three(Map *m, int turn_x, int turn_y, int bracket)
{
    *m = (Map){.t = {K, K, K, 0, m->entries}};
    for (int k = 0; k < K; k++)
        for (int i = 0; i < K; i++)
            for (int j = 0; j < K; j++) {
                double value = 0;

                for (int l = 0; l < 3; l++) {
                    value += i == at(k / 3, l, turn_x) && j == at(l, k % 3, turn_y);
                    value -= bracket && j == at(k / 3, l, turn_y) && i == at(l, k % 3, turn_x);
                }
                if (value != 0)
                    add_entry(m, i, j, k, value);
            }
}

/* Runs the map on rows first .. first + n - 1 and writes them to z, which has all rows. */
static void run(const RelnRealKernels *k, const Map *m, ptrdiff_t first, ptrdiff_t n, ptrdiff_t c,
                const char *x, const char *y, char *z)
{
    const RelnTensor3 *t = &m->t;
    const size_t row = (size_t)c * k->size;

    x += (size_t)(first * t->i) * row;
    y += (size_t)(first * t->j) * row;
    z += (size_t)(first * t->k) * row;
    if (m->linear)
        k->linear_rows(t, n, c, x, z);
    else
        k->contract_rows(t, n, c, x, t->i * c, c, 1, y, t->j * c, c, 1, z);
}

static void check_type(const RelnRealKernels *k, const Map *m, const void *x, const void *y)
{
    static double together[ROWS * K * CHANNELS + 1], alone[ROWS * K * CHANNELS + 1];

    for (ptrdiff_t c = 1; c <= CHANNELS; c++)
        for (ptrdiff_t rows = 1; rows <= ROWS; rows++) {
            const size_t bytes = (size_t)(rows * m->t.k * c) * k->size;

            memset(together, 0x55, sizeof together);
            memset(alone, 0x55, sizeof alone);
            run(k, m, 0, rows, c, x, y, (char *)together);
            for (ptrdiff_t r = 0; r < rows; r++)
                run(k, m, r, 1, c, x, y, (char *)alone);
            assert_memory_equal(together, alone, bytes + k->size);
        }
}

static void check(const Map *m)
{
    static double x[ROWS * K * CHANNELS], y[ROWS * K * CHANNELS];
    static float x32[ROWS * K * CHANNELS], y32[ROWS * K * CHANNELS];
    RelnRng rng = reln_rng(31, 0);

    fill_normal(&rng, ROWS * K * CHANNELS, x);
    fill_normal(&rng, ROWS * K * CHANNELS, y);
    for (int i = 0; i < ROWS * K * CHANNELS; i++) {
        x32[i] = (float)x[i];
        y32[i] = (float)y[i];
    }
    for (int tier = 0; reln_kernels_tier(tier); tier++) {
        check_type(reln_kernels_tier(tier)->f32, m, x32, y32);
        check_type(reln_kernels_tier(tier)->f64, m, x, y);
    }
}

static void products_and_brackets_of_matrices_have_the_bits_of_single_rows(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        Map m;

        three(&m, i & 1, i >> 1 & 1, i >> 2);
        assert_int_equal(m.t.count, i >> 2 ? 48 : 27);
        check(&m);
    }
}

/* A wrong sign, a factor, or another coordinate: such a map must not be taken for a product. */
static void maps_that_are_nearly_products_are_computed_by_their_entries(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++)
        for (int wrong = 0; wrong < 3; wrong++) {
            const int which[] = {0, 13, -1};
            Map m;
            RelnEntry *e;

            three(&m, i & 1, i == 2 || i == 5, i >= 3);
            e = &m.entries[which[wrong] < 0 ? m.t.count - 1 : which[wrong]];
            if (wrong == 0)
                e->value = -e->value;
            else if (wrong == 1)
                e->value *= 1.5;
            else
                e->j = e->j == 8 ? 7 : 8;
            check(&m);
        }
}

static void maps_with_a_factor_of_one_coordinate_have_the_bits_of_single_rows(void **state)
{
    const double values[] = {1, -1, -0.3, 2.7, 1.0 / 6};

    (void)state;
    for (int first = 0; first < 2; first++) {
        Map m = {.t = {first ? 1 : K, first ? K : 1, K, 0, NULL}};

        for (int k = 0; k < K - 1; k++) /* the last coordinate has no entry */
            for (int i = k % 3; i < K; i += 4)
                add_entry(&m, first ? 0 : i, first ? i : 0, k, values[(i + k) % 5]);
        check(&m);
    }
}

static void linear_maps_have_the_bits_of_single_rows(void **state)
{
    const double values[] = {1, -1, -0.3, 2.7, 1.0 / 6};

    (void)state;
    for (int out = 1; out <= K; out += 4) {
        Map m = {.t = {K, 1, out, 0, NULL}, .linear = true};

        for (int k = out > 1; k < out; k++) /* the first of several coordinates has no entry */
            for (int i = k % 3; i < K; i += 4)
                add_entry(&m, i, 0, k, values[(i + k) % 5]);
        check(&m);
    }
}

/* Another order of the terms of a sum changes some bit: so the comparison above can fail. */
static void the_comparison_sees_another_order(void **state)
{
    static double x[K * CHANNELS], y[K * CHANNELS], z[2][K * CHANNELS];
    RelnRng rng = reln_rng(32, 0);
    Map m, other;

    (void)state;
    fill_normal(&rng, K * CHANNELS, x);
    fill_normal(&rng, K * CHANNELS, y);
    three(&m, 0, 0, 1);
    other = m;
    other.t.entries = other.entries;
    other.entries[0] = m.entries[1]; /* the first two terms of a sum of four, in the other order */
    other.entries[1] = m.entries[0];
    assert_int_equal(m.entries[0].k, m.entries[1].k);
    run(reln_kernels(false)->f64, &m, 0, 1, CHANNELS, (char *)x, (char *)y, (char *)z[0]);
    run(reln_kernels(false)->f64, &other, 0, 1, CHANNELS, (char *)x, (char *)y, (char *)z[1]);
    assert_memory_not_equal(z[0], z[1], sizeof z[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_and_brackets_of_matrices_have_the_bits_of_single_rows),
        cmocka_unit_test(maps_that_are_nearly_products_are_computed_by_their_entries),
        cmocka_unit_test(maps_with_a_factor_of_one_coordinate_have_the_bits_of_single_rows),
        cmocka_unit_test(linear_maps_have_the_bits_of_single_rows),
        cmocka_unit_test(the_comparison_sees_another_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
