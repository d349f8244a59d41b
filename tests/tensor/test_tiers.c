/* The kernels of AVX-512 give the bits of those of AVX2: every kernel, at every count of columns up to two long vectors and more,
 * where they change between whole vectors, parts of vectors and single numbers. */
#include <string.h>

#include "support/support.h"
#include "tensor/kernels.h"

enum { ROOM = 1 << 16, MOST_COLUMNS = 70, MOST_ROWS = 19 };

/* Arguments of either type, and the result of each table. Rests of results show writes beyond the end. */
static double numbers[3][ROOM], results[2][ROOM], packed[2][ROOM];
static int32_t places[2][ROOM], index_of[ROOM];

typedef struct Case {
    const RelnRealKernels *k;
    const void *x, *y, *m; /* m is positive */
    void *z, *packed;
    int32_t *places;
    ptrdiff_t rows, columns;
} Case;

typedef void (*Run)(const Case *c);

static void fill(const RelnRealKernels *k, RelnRng *rng, int which, bool positive)
{
    static double values[ROOM];

    fill_normal(rng, ROOM, values);
    for (int i = 0; i < ROOM && positive; i++)
        values[i] = values[i] * values[i] + 1e-3;
    k->from_f64(ROOM, values, numbers[which]);
}

static bool equal(Run run, bool is_double, ptrdiff_t rows, ptrdiff_t columns)
{
    memset(places, 0, sizeof places);
    for (int i = 0; i < 2; i++) {
        const RelnKernels *table = reln_kernels_tier(1 + i);
        const Case c = {.k = is_double ? table->f64 : table->f32,
                        .x = numbers[0],
                        .y = numbers[1],
                        .m = numbers[2],
                        .z = results[i],
                        .packed = packed[i],
                        .places = places[i],
                        .rows = rows,
                        .columns = columns};

        memcpy(results[i], numbers[1], sizeof results[i]);
        run(&c);
    }
    return memcmp(results[0], results[1], sizeof results[0]) == 0 &&
           memcmp(places[0], places[1], sizeof places[0]) == 0;
}

static void check(const char *name, Run run)
{
    RelnRng rng = reln_rng(1, 0);

    if (!reln_kernels_tier(2))
        skip();
    for (int is_double = 0; is_double < 2; is_double++) {
        const RelnKernels *table = reln_kernels_tier(1);

        for (int i = 0; i < 3; i++)
            fill(is_double ? table->f64 : table->f32, &rng, i, i == 2);
        for (ptrdiff_t rows = 1; rows <= MOST_ROWS; rows++)
            for (ptrdiff_t columns = 1; columns <= MOST_COLUMNS; columns++)
                if (!equal(run, is_double, rows, columns))
                    fail_msg("%s, %s: other bits for %d x %d", name, is_double ? "f64" : "f32",
                             (int)rows, (int)columns);
    }
}

/* ---- elementwise functions ------------------------------------------------------------------------------------------- */

static void *row(const Case *c, ptrdiff_t i)
{
    return (char *)c->z + i * c->rows * c->columns * (ptrdiff_t)c->k->size;
}

static void maps(const Case *c)
{
    for (int f = 0; f < RELN_MAP_COUNT; f++)
        c->k->map[f](c->rows * c->columns, f == RELN_MAP_LOG || f == RELN_MAP_SQRT ? c->m : c->x, 1,
                     row(c, f));
}

static void maps2(const Case *c)
{
    for (int f = 0; f < RELN_MAP2_COUNT; f++) {
        c->k->map2[f](c->rows * c->columns, c->x, 1, c->y, f % 2, row(c, 2 * f));
        c->k->map2_rows[f](c->rows, c->columns, c->x, c->columns, 1, c->y, 1, 0, row(c, 2 * f + 1));
    }
}

static void maps3(const Case *c)
{
    static const double a[3] = {0.3, -1.1, 0.7}, b[3] = {0.1, 2.0, -0.4};
    const ptrdiff_t n = c->rows * c->columns;

    c->k->select(n, c->x, 1, c->y, 1, c->m, 1, row(c, 0));
    c->k->axpb(n, 1.7, c->x, 0.3, row(c, 1));
    c->k->squash(n, 3, a, b, c->x, c->y, row(c, 2));
    c->k->squash(n, 3, NULL, b, c->x, c->y, row(c, 3));
}

/* All kinds of links, with operands that repeat along rows or columns, and gathered ones. */
static void links(const Case *c)
{
    const ptrdiff_t n = c->columns;
    const RelnLink list[] = {
        {.kind = RELN_LINK_LOAD, .at = c->x, .item = n, .column = 1},
        {.kind = RELN_LINK_MUL, .at = c->y, .item = 0, .column = 1},
        {.kind = RELN_LINK_ADD, .at = c->y, .item = 1, .column = 0},
        {.kind = RELN_LINK_SCALE, .a = 1.3, .b = -0.2},
        {.kind = RELN_LINK_SUB, .at = c->x, .index = index_of, .item = n, .column = 1},
        {.kind = RELN_LINK_FROM, .at = c->y, .item = n, .column = 1},
        {.kind = RELN_LINK_GATE, .at = c->x, .item = n, .column = 1},
        {.kind = RELN_LINK_DIV, .at = c->m, .item = n, .column = 1},
        {.kind = RELN_LINK_RELU},
        {.kind = RELN_LINK_SQUARE},
    };

    c->k->links(c->rows, 1, n, sizeof list / sizeof *list, list, c->z);
}

/* Items of several rows, up to long ones, with operands that repeat along rows, items or columns, and gathered ones. */
static void links_of_items(const Case *c)
{
    enum { ROWS = 3 };
    const ptrdiff_t n = 3 * c->columns;
    const RelnLink list[] = {
        {.kind = RELN_LINK_LOAD, .at = c->x, .item = n, .row = 0, .column = 1},
        {.kind = RELN_LINK_MUL, .at = c->y, .item = ROWS * n, .row = n, .column = 1},
        {.kind = RELN_LINK_ADD, .at = c->y, .item = ROWS, .row = 1, .column = 0},
        {.kind = RELN_LINK_SUB, .at = c->m, .item = 0, .row = n, .column = 1},
        {.kind = RELN_LINK_ADD,
         .at = c->x,
         .index = index_of,
         .item = ROWS * n,
         .row = n,
         .column = 1},
    };

    c->k->links(c->rows, ROWS, n, sizeof list / sizeof *list, list, c->z);
}

static double number(const Case *c, const void *x, ptrdiff_t i)
{
    return c->k->size == sizeof(double) ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* The same by a formula: every step is rounded to the type. */
static double link_of_items(const Case *c, ptrdiff_t i, ptrdiff_t r, ptrdiff_t col)
{
    const bool wide = c->k->size == sizeof(double);
    const ptrdiff_t n = 3 * c->columns, at = (i * 3 + r) * n + col;
    double z = number(c, c->x, i * n + col) * number(c, c->y, at);

    z = wide ? z : (double)(float)z;
    z += number(c, c->y, i * 3 + r);
    z = wide ? z : (double)(float)z;
    z -= number(c, c->m, r * n + col);
    z = wide ? z : (double)(float)z;
    if (index_of[i] >= 0)
        z += number(c, c->x, (index_of[i] * 3 + r) * n + col);
    return wide ? z : (double)(float)z;
}

static bool links_fit(const RelnRealKernels *k, ptrdiff_t rows, ptrdiff_t columns)
{
    const Case c = {.k = k,
                    .x = numbers[0],
                    .y = numbers[1],
                    .m = numbers[2],
                    .z = results[0],
                    .rows = rows,
                    .columns = columns};
    bool same = true;

    links_of_items(&c);
    for (ptrdiff_t i = 0; i < rows; i++)
        for (ptrdiff_t r = 0; r < 3; r++)
            for (ptrdiff_t col = 0; col < 3 * columns; col++)
                same = same && number(&c, c.z, (i * 3 + r) * 3 * columns + col) ==
                                   link_of_items(&c, i, r, col);
    return same;
}

static void links_of_items_are_as_their_formula(void **state)
{
    RelnRng rng = reln_rng(1, 0);

    (void)state;
    for (int tier = 0; tier < 3 && reln_kernels_tier(tier); tier++)
        for (int is_double = 0; is_double < 2; is_double++) {
            const RelnKernels *table = reln_kernels_tier(tier);
            const RelnRealKernels *k = is_double ? table->f64 : table->f32;

            for (int i = 0; i < 3; i++)
                fill(k, &rng, i, i == 2);
            for (ptrdiff_t rows = 1; rows <= MOST_ROWS; rows += 3)
                for (ptrdiff_t columns = 1; columns <= MOST_COLUMNS; columns++)
                    assert_true(links_fit(k, rows, columns));
        }
}

/* ---- sums and rows ------------------------------------------------------------------------------------------------------ */

static void sums(const Case *c)
{
    const void *x[RELN_TREE];
    const double total = c->k->sum(c->rows * c->columns, c->x);

    for (int i = 0; i < RELN_TREE; i++)
        x[i] = (const char *)c->x + i * c->columns * (ptrdiff_t)c->k->size;
    memcpy(c->z, &total, sizeof total);
    c->k->sum_each(c->rows, c->columns, c->x, row(c, 2), 1);
    c->k->sum_rows(c->rows, c->columns, c->x, row(c, 3));
    c->k->tree(c->columns, RELN_TREE, x, row(c, 4));
    c->k->sum_within(c->rows, c->columns, c->x, row(c, 5));
}

/* The sum of a row does not depend on the rows beside it. */
static void sums_of_rows_are_sums(void **state)
{
    enum { ROWS = 11, MOST = 64 };
    RelnRng rng = reln_rng(1, 0);

    (void)state;
    for (int tier = 0; tier < 3 && reln_kernels_tier(tier); tier++)
        for (int is_double = 0; is_double < 2; is_double++) {
            const RelnKernels *table = reln_kernels_tier(tier);
            const RelnRealKernels *k = is_double ? table->f64 : table->f32;

            fill(k, &rng, 0, false);
            for (ptrdiff_t n = 1; n <= MOST; n++) {
                double wide[ROWS] = {0}, *all = wide;
                float *narrow = (float *)wide;

                k->sum_each(ROWS, n, numbers[0], wide, 1);
                for (int r = 0; r < ROWS; r++) {
                    const void *x = (const char *)numbers[0] + (size_t)(r * n) * k->size;

                    assert_true((is_double ? all[r] : (double)narrow[r]) == k->sum(n, x));
                }
            }
        }
}

static void rows(const Case *c)
{
    const ptrdiff_t n = c->columns;

    c->k->copy_rows(c->rows, n, c->x, n + 1, row(c, 0), n);
    c->k->add_to_rows(c->rows, n, c->x, n + 1, row(c, 1), n);
    c->k->gather_rows(c->rows, index_of, n, c->x, row(c, 2));
    c->k->scatter_add_rows(c->rows, index_of, n, c->x, row(c, 3));
    c->k->is_max_within(c->rows, n, c->x, row(c, 5));
}

static void along_an_axis(const Case *c)
{
    c->k->softmax(c->rows, c->columns, c->x, row(c, 0));
    c->k->softmax_within(c->rows, c->columns, c->x, row(c, 1));
    c->k->softmax_within(c->rows * c->columns, 1, c->x, row(c, 2));
    c->k->logsumexp(c->rows, c->columns, c->x, row(c, 3));
    c->k->arg(c->rows, c->columns, false, c->x, c->places);
}

static void optimisers(const Case *c)
{
    const RelnAdamStep adam = {0.9, 0.999, 0.999, 1e-2, 1.5, 0, 1e-8};
    const RelnSgdStep sgd = {1e-2, 1e-3, 0.9, true};
    const ptrdiff_t n = c->rows * c->columns;

    memcpy(row(c, 2), c->m, (size_t)n * c->k->size);
    c->k->adam(n, &adam, c->x, row(c, 0), row(c, 1), row(c, 2));
    c->k->sgd(n, &sgd, c->x, row(c, 3), row(c, 4));
}

/* ---- products ------------------------------------------------------------------------------------------------------------ */

/* As many terms as columns, a straight and a turned, b straight and turned, and added to what is there. */
static void products(const Case *c)
{
    const ptrdiff_t m = c->rows, n = c->columns, k = c->columns;

    c->k->gemm_pack(false, n, k, c->y, n, c->packed);
    c->k->gemm(false, m, n, k, c->x, k, c->packed, false, row(c, 0), n);
    c->k->gemm(true, m, n, k, c->x, m, c->packed, true, row(c, 1), n);
    c->k->gemm_pack(true, n, k, c->y, k, c->packed);
    c->k->gemm(false, m, n, k, c->x, k, c->packed, true, row(c, 2), n);
}

static void chains(const Case *c)
{
    const ptrdiff_t n = c->columns, half = (n + 1) / 2;
    const RelnSplit straight = {n, 0, 1}, down = {n, 0, n}, halves = {half, 2 * n, 1};
    const RelnChainPiece piece = {0, n, 0, n, c->packed};
    RelnChain q = {.m = c->rows,
                   .l_to = n,
                   .j_to = n,
                   .a = c->x,
                   .row = n,
                   .inner = straight,
                   .c = c->z,
                   .ldc = 4 * n,
                   .columns = halves,
                   .add = true};

    c->k->chain_pack(&piece, c->y, &down, &straight);
    c->k->chain(&q, &piece);
    c->k->chain_pack(&piece, c->y, &straight, &down);
    q.columns = straight;
    c->k->chain(&q, &piece);
}

static void contractions(const Case *c)
{
    const RelnEntry entries[] = {{0, 0, 0, 1},   {2, 1, 0, -0.5}, {1, 0, 1, 2},
                                 {0, 1, 3, 1.3}, {1, 1, 3, 3},    {2, 0, 3, -0.7}};
    const RelnTensor3 t = {3, 2, 4, 6, entries};
    const ptrdiff_t n = c->columns;

    c->k->contract_rows(&t, c->rows, n, c->x, 3 * n, n, 1, c->y, 2 * n, n, 1, row(c, 0));
    c->k->contract_rows(&t, c->rows, n, c->x, 3, 1, 0, c->y, 2 * n, n, 1, row(c, 4));
    c->k->contract_rows(&t, c->rows, n, c->x, 3 * n, n, 1, c->y, 2, 1, 0, row(c, 8));
    c->k->linear_rows(&t, c->rows, n, c->x, row(c, 12));
}

/* ---- the tests ----------------------------------------------------------------------------------------------------------- */

#define TEST(name, run)                                                                            \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        check(#run, run);                                                                          \
    }
TEST(functions_of_one_number_have_the_same_bits, maps)
TEST(functions_of_two_numbers_have_the_same_bits, maps2)
TEST(choices_and_polynomials_have_the_same_bits, maps3)
TEST(links_have_the_same_bits, links)
TEST(links_of_items_have_the_same_bits, links_of_items)
TEST(sums_have_the_same_bits, sums)
TEST(rows_have_the_same_bits, rows)
TEST(functions_along_an_axis_have_the_same_bits, along_an_axis)
TEST(optimisers_have_the_same_bits, optimisers)
TEST(products_have_the_same_bits, products)
TEST(products_that_continue_have_the_same_bits, chains)
TEST(contractions_have_the_same_bits, contractions)

/* A kernel that multiplies and adds with two roundings where AVX2 has one. */
static void without_fusing(const Case *c)
{
    const RelnKernels *table =
        c->k == reln_kernels_tier(2)->f32 || c->k == reln_kernels_tier(2)->f64
            ? reln_kernels_tier(0)
            : reln_kernels_tier(1);
    Case other = *c;

    other.k = c->k->size == sizeof(double) ? table->f64 : table->f32;
    products(&other);
}

static void the_comparison_sees_another_rounding(void **state)
{
    RelnRng rng = reln_rng(1, 0);

    (void)state;
    if (!reln_kernels_tier(2))
        skip();
    for (int i = 0; i < 3; i++)
        fill(reln_kernels_tier(1)->f32, &rng, i, i == 2);
    assert_false(equal(without_fusing, false, 7, 33));
}

/* Plans get the last table that this processor has, or the plain one. */
static void the_fastest_kernels_are_chosen(void **state)
{
    const RelnKernels *fastest = reln_kernels_tier(0);

    (void)state;
    assert_non_null(fastest);
    assert_ptr_equal(reln_kernels(/*reference=*/true), fastest);
    for (int tier = 1; reln_kernels_tier(tier); tier++)
        fastest = reln_kernels_tier(tier);
    assert_ptr_equal(reln_kernels(false), fastest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_kernels_are_chosen),
        cmocka_unit_test(functions_of_one_number_have_the_same_bits),
        cmocka_unit_test(functions_of_two_numbers_have_the_same_bits),
        cmocka_unit_test(choices_and_polynomials_have_the_same_bits),
        cmocka_unit_test(links_have_the_same_bits),
        cmocka_unit_test(links_of_items_have_the_same_bits),
        cmocka_unit_test(links_of_items_are_as_their_formula),
        cmocka_unit_test(sums_have_the_same_bits),
        cmocka_unit_test(sums_of_rows_are_sums),
        cmocka_unit_test(rows_have_the_same_bits),
        cmocka_unit_test(functions_along_an_axis_have_the_same_bits),
        cmocka_unit_test(optimisers_have_the_same_bits),
        cmocka_unit_test(products_have_the_same_bits),
        cmocka_unit_test(products_that_continue_have_the_same_bits),
        cmocka_unit_test(contractions_have_the_same_bits),
        cmocka_unit_test(the_comparison_sees_another_rounding),
    };

    for (int i = 0; i < ROOM; i++)
        index_of[i] = i % 5 == 3 ? -1 : i * 7 % 11;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
