/* Tests shuffles: they are bijections for every n, uniform over positions, different by epoch and seed, and
 * the same in parts as in one call. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

static void assert_bijection(ptrdiff_t n, uint64_t seed, uint64_t epoch, ptrdiff_t *rows,
                             char *seen)
{
    memset(seen, 0, (size_t)n);
    reln_shuffle(seed, epoch, n, 0, n, rows);
    for (ptrdiff_t i = 0; i < n; i++) {
        assert_true(rows[i] >= 0 && rows[i] < n);
        assert_false(seen[rows[i]]);
        seen[rows[i]] = 1;
    }
}

static void every_n_is_permuted(void **state)
{
    static const ptrdiff_t large[] = {4096, 65537, 100000};
    ptrdiff_t *rows = malloc(100000 * sizeof *rows);
    char *seen = malloc(100000);

    (void)state;
    assert_non_null(rows);
    assert_non_null(seen);
    for (ptrdiff_t n = 1; n <= 2000; n++)
        assert_bijection(n, 3, (uint64_t)n % 5, rows, seen);
    for (int i = 0; i < 3; i++)
        assert_bijection(large[i], 7, 1, rows, seen);
    free(rows);
    free(seen);
}

/* No table, so sizes that no memory holds work, too. */
static void a_part_of_a_huge_one_costs_only_itself(void **state)
{
    const ptrdiff_t n = PTRDIFF_MAX;
    ptrdiff_t rows[1000];

    (void)state;
    reln_shuffle(1, 0, n, n - 1000, 1000, rows);
    for (int i = 0; i < 1000; i++) {
        assert_true(rows[i] >= 0 && rows[i] < n);
        for (int j = 0; j < i; j++)
            assert_true(rows[i] != rows[j]);
    }
}

static void parts_are_those_of_the_whole(void **state)
{
    ptrdiff_t whole[100], part[100];

    (void)state;
    reln_shuffle(5, 2, 100, 0, 100, whole);
    for (int first = 0; first < 100; first += 7) {
        const int count = first + 7 <= 100 ? 7 : 100 - first;

        reln_shuffle(5, 2, 100, first, count, part);
        assert_memory_equal(part, whole + first, (size_t)count * sizeof *part);
    }
    reln_shuffle(5, 2, 100, 95, 10, part); /* past the end it begins again */
    assert_memory_equal(part + 5, whole, 5 * sizeof *part);
}

static int moved(const ptrdiff_t *a, const ptrdiff_t *b, int n)
{
    int count = 0;

    for (int i = 0; i < n; i++)
        count += a[i] != b[i];
    return count;
}

/* Two random permutations of 1000 agree in one place on average, in 20 and more with probability 1e-18. */
static void seeds_and_epochs_differ(void **state)
{
    ptrdiff_t one[1000], two[1000], natural[1000];

    (void)state;
    for (int i = 0; i < 1000; i++)
        natural[i] = i;
    reln_shuffle(1, 0, 1000, 0, 1000, one);
    reln_shuffle(1, 1, 1000, 0, 1000, two);
    assert_true(moved(one, two, 1000) > 980);
    assert_true(moved(one, natural, 1000) > 980);
    reln_shuffle(2, 0, 1000, 0, 1000, two);
    assert_true(moved(one, two, 1000) > 980);
}

/* sum (seen - expected)^2 / expected, over the cells where something is expected, against its mean, the degrees of
 * freedom, and 6 of its standard deviations: a false alarm in a million. */
static void assert_even(const int *seen, int cells, int stride, double degrees, double expected)
{
    const double spread = 6 * sqrt(2 * degrees);
    double chi = 0;

    for (int i = 0; i < cells; i++)
        if (i % stride != 0)
            chi += (seen[i] - expected) * (seen[i] - expected) / expected;
        else
            assert_int_equal(seen[i], 0);
    assert_small(fabs(chi - degrees), spread);
}

/* Every entry is at every place equally often, and so are the ordered pairs at the first two places. */
static void places_are_even(void **state)
{
    static const int sizes[] = {3, 5, 16, 37};
    static int seen[1 + 37 * 37], pairs[37 * 37];

    (void)state;
    for (int s = 0; s < 4; s++) {
        const int n = sizes[s], runs = 200 * n;

        memset(seen, 0, sizeof seen);
        memset(pairs, 0, sizeof pairs);
        for (int e = 0; e < runs; e++) {
            ptrdiff_t rows[37];

            reln_shuffle(11, (uint64_t)e, n, 0, n, rows);
            for (int i = 0; i < n; i++)
                seen[1 + i * n + rows[i]]++;
            pairs[rows[0] * n + rows[1]]++;
        }
        assert_even(seen, 1 + n * n, 1 + n * n, (n - 1) * (n - 1), (double)runs / n);
        assert_even(pairs, n * n, n + 1, n * (n - 1) - 1, (double)runs / (n * (n - 1)));
    }
}

/* All six permutations of three, each with probability 1/6. */
static void small_sets_see_every_permutation(void **state)
{
    int seen[27] = {0}, six[7] = {0}, n = 0;

    (void)state;
    for (uint64_t e = 0; e < 6000; e++) {
        ptrdiff_t rows[3];

        reln_shuffle(4, e, 3, 0, 3, rows);
        seen[rows[0] * 9 + rows[1] * 3 + rows[2]]++;
    }
    for (int i = 0; i < 27; i++)
        if (seen[i]) {
            assert_true(n < 6);
            six[1 + n++] = seen[i];
        }
    assert_int_equal(n, 6);
    assert_even(six, 7, 7, 5, 1000.0);
}

static void nothing_is_written_for_nothing(void **state)
{
    ptrdiff_t rows[2] = {-7, -7};

    (void)state;
    reln_shuffle(1, 1, 0, 0, 2, rows);
    reln_shuffle(1, 1, 5, 0, 0, rows);
    reln_shuffle(1, 1, 5, -1, 2, rows);
    assert_true(rows[0] == -7 && rows[1] == -7);
}

enum { N_BLOCKS_MOST = 3000 };

static void blocks_are_a_permutation_of_any_n(void **state)
{
    static const ptrdiff_t counts[] = {1, 2, 7, 63, 64, 65, 1000, N_BLOCKS_MOST};
    ptrdiff_t rows[N_BLOCKS_MOST], part[50];
    char seen[N_BLOCKS_MOST];

    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (int block = 1; block <= 64; block += 9) {
            const ptrdiff_t n = counts[c];

            memset(seen, 0, sizeof seen);
            reln_shuffle_blocks(3, c, n, block, 4, 0, n, rows);
            for (ptrdiff_t i = 0; i < n; i++) {
                assert_true(rows[i] >= 0 && rows[i] < n);
                assert_false(seen[rows[i]]);
                seen[rows[i]] = 1;
            }
            for (ptrdiff_t first = 0; first + 50 <= n;
                 first += 37) { /* parts are those of the whole */
                reln_shuffle_blocks(3, c, n, block, 4, first, 50, part);
                assert_memory_equal(part, rows + first, sizeof part);
            }
        }
}

/* A window has rows of four blocks of ten: at most five blocks of neighbours, since one of them may lie around the end. */
static void a_window_has_rows_of_few_blocks(void **state)
{
    enum { BLOCK = 10, WINDOW = 4, N = 1000, SIZE = BLOCK * WINDOW };
    ptrdiff_t rows[N], other[N];
    int runs = 0, in_order = 0, same = 0;

    (void)state;
    reln_shuffle_blocks(5, 1, N, BLOCK, WINDOW, 0, N, rows);
    for (int w = 0; w < N / SIZE; w++) {
        char seen[N + 1] = {0};

        for (int i = 0; i < SIZE; i++)
            seen[rows[w * SIZE + i]] = 1;
        for (int i = 0, here = 0; i <= N; i++) {
            here += seen[i] && (i == 0 || !seen[i - 1]);
            runs = here > runs ? here : runs;
        }
        for (int i = 1; i < SIZE; i++)
            in_order += rows[w * SIZE + i] == rows[w * SIZE + i - 1] + 1;
    }
    assert_in_range(runs, WINDOW - 1, WINDOW + 1);
    /* of 975 pairs in a row, 1 of 40 is of neighbours by chance: 23, and 60 is more than seven deviations off */
    assert_true(in_order < 60);
    reln_shuffle_blocks(5, 2, N, BLOCK, WINDOW, 0, N, other);
    for (int i = 0; i < N; i++)
        same += rows[i] == other[i];
    assert_true(same < 20); /* one on average */
}

/* Rows that do not fill a block are the last ones of an epoch, and other rows in other epochs: in 200 epochs, every row is among
 * them. That one of 13 rows never is has the probability 13 (10/13)^200 = 2e-22. */
static void the_rest_after_the_blocks_turns(void **state)
{
    enum { ROWS = 13, BLOCK = 5, REST = 3, EPOCHS = 200 };
    int last[ROWS] = {0};

    (void)state;
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        ptrdiff_t rows[REST];

        reln_shuffle_blocks(5, epoch, ROWS, BLOCK, 1, ROWS - REST, REST, rows);
        for (int i = 0; i < REST; i++)
            last[rows[i]]++;
    }
    for (int i = 0; i < ROWS; i++)
        assert_true(last[i] > 0);
}

/* Sizes below one and places below zero write nothing. */
static void sizes_without_rows_write_nothing(void **state)
{
    static const struct {
        ptrdiff_t n, block, window, first;
        bool writes;
    } given[] = {
        {1, 1, 1, 0, true},   {0, 1, 1, 0, false},  {-1, 1, 1, 0, false},
        {5, 0, 1, 0, false},  {5, -1, 1, 0, false}, {5, 1, 0, 0, false},
        {5, 1, -1, 0, false}, {5, 1, 1, -1, false}, {5, 2, 1, 7, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        const bool plain = given[i].n > 0 && given[i].first >= 0;
        ptrdiff_t rows[2] = {-7, -7};

        reln_shuffle_blocks(3, 1, given[i].n, given[i].block, given[i].window, given[i].first, 2,
                            rows);
        for (int k = 0; k < 2; k++)
            assert_true(given[i].writes ? rows[k] >= 0 && rows[k] < given[i].n : rows[k] == -7);
        rows[0] = rows[1] = -7;
        reln_shuffle(3, 1, given[i].n, given[i].first, 2, rows);
        for (int k = 0; k < 2; k++)
            assert_true(plain ? rows[k] >= 0 && rows[k] < given[i].n : rows[k] == -7);
    }
    reln_shuffle(3, 1, 5, 0, 2, NULL);
    reln_shuffle_blocks(3, 1, 5, 1, 1, 0, 2, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_n_is_permuted),
        cmocka_unit_test(a_part_of_a_huge_one_costs_only_itself),
        cmocka_unit_test(parts_are_those_of_the_whole),
        cmocka_unit_test(seeds_and_epochs_differ),
        cmocka_unit_test(places_are_even),
        cmocka_unit_test(small_sets_see_every_permutation),
        cmocka_unit_test(nothing_is_written_for_nothing),
        cmocka_unit_test(blocks_are_a_permutation_of_any_n),
        cmocka_unit_test(a_window_has_rows_of_few_blocks),
        cmocka_unit_test(sizes_without_rows_write_nothing),
        cmocka_unit_test(the_rest_after_the_blocks_turns),
    };

    return cmocka_run_group_tests_name("train/shuffle", tests, NULL, NULL);
}
