/* Compares elementwise functions with long double: accuracy, extreme arguments, and independence of a
 * number's place; compares sums of lanes and contractions with plain loops. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "support/support.h"
#include "tensor/kernels.h"

static long double sigmoid_exact(long double x)
{
    return x >= 0 ? 1 / (1 + expl(-x)) : expl(x) / (1 + expl(x));
}

static long double softplus_exact(long double x)
{
    return fmaxl(x, 0) + log1pl(expl(-fabsl(x)));
}

static const struct {
    RelnMap f;
    const char *name;
    long double (*exact)(long double);
    double lo, hi; /* where a dense sweep looks, beside numbers of every exponent */
} functions[] = {
    {RELN_MAP_EXP, "exp", expl, -750, 712},
    {RELN_MAP_LOG, "log", logl, 0.4, 2.5},
    {RELN_MAP_SIN, "sin", sinl, -40, 40},
    {RELN_MAP_COS, "cos", cosl, -40, 40},
    {RELN_MAP_TANH, "tanh", tanhl, -2, 2},
    {RELN_MAP_SIGMOID, "sigmoid", sigmoid_exact, -30, 30},
    {RELN_MAP_SOFTPLUS, "softplus", softplus_exact, -30, 30},
    {RELN_MAP_ERF, "erf", erfl, -7, 7},
};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions, COUNT = 60000 };

static double values[COUNT], results[COUNT];
static float values32[COUNT], results32[COUNT];

/* The distance of neighbours of the type around x. */
static long double spacing(long double x, bool is_double)
{
    int exponent = 0;

    frexpl(x, &exponent);
    if (is_double)
        return ldexpl(1, exponent < DBL_MIN_EXP ? DBL_MIN_EXP - DBL_MANT_DIG
                                                : exponent - DBL_MANT_DIG);
    return ldexpl(1, exponent < FLT_MIN_EXP ? FLT_MIN_EXP - FLT_MANT_DIG : exponent - FLT_MANT_DIG);
}

static double error_in_ulps(double got, long double want, bool is_double)
{
    const double rounded = is_double ? (double)want : (double)(float)want;

    if (isnan(rounded) || isinf(rounded) || isnan(got) || isinf(got))
        return (isnan(rounded) && isnan(got)) || got == rounded ? 0 : (double)INFINITY;
    return (double)(fabsl((long double)got - want) / spacing(want, is_double));
}

/* Runs function f of a table on values[], rounded to its type. */
static void run(const RelnKernels *table, bool is_double, RelnMap f, ptrdiff_t n)
{
    if (is_double) {
        table->f64->map[f](n, values, 1, results);
        return;
    }
    for (ptrdiff_t i = 0; i < n; i++)
        values32[i] = (float)values[i];
    table->f32->map[f](n, values32, 1, results32);
    for (ptrdiff_t i = 0; i < n; i++) {
        values[i] = (double)values32[i];
        results[i] = (double)results32[i];
    }
}

static double worst_error(const RelnKernels *table, bool is_double, int k, double *where)
{
    double worst = 0;

    run(table, is_double, functions[k].f, COUNT);
    for (ptrdiff_t i = 0; i < COUNT; i++) {
        const double e =
            error_in_ulps(results[i], functions[k].exact((long double)values[i]), is_double);
        if (e > worst) {
            worst = e;
            *where = values[i];
        }
    }
    return worst;
}

/* Fills three equal parts: a dense sweep, numbers of both signs and every exponent, and neighbours of
 * multiples of pi/4. */
static void fill_values(int k, bool is_double)
{
    RelnRng rng = reln_rng(1, (uint64_t)k);
    const double range = is_double ? 1000 : 140;

    for (ptrdiff_t i = 0; i < COUNT; i++) {
        const double u = reln_rng_uniform(&rng), sign = reln_rng_uniform(&rng) < 0.5 ? -1 : 1;

        if (i % 3 == 0)
            values[i] = functions[k].lo + (functions[k].hi - functions[k].lo) * u;
        else if (i % 3 == 1)
            values[i] = sign * exp2((2 * u - 1) * range);
        else
            values[i] =
                floor(1e6 * u * u * u) * 0.785398163397448309616 * (1 + 1e-16 * (double)(i % 7));
    }
}

static void complain(int k, const RelnKernels *table, bool is_double, double worst, double where)
{
    print_error("%s, %s, %s: %.3f ulp at %a\n", functions[k].name, table->name,
                is_double ? "f64" : "f32", worst, where);
    fail();
}

static void functions_are_within_two_units_in_the_last_place(void **state)
{
    (void)state;
    for (int k = 0; k < N_FUNCTIONS; k++)
        for (int variant = 0; variant < 4; variant++) {
            const RelnKernels *table = reln_kernels(variant & 1);
            const bool is_double = variant & 2;
            double worst, where = 0;

            fill_values(k, is_double);
            worst = worst_error(table, is_double, k, &where);
            if (!(worst <= 2))
                complain(k, table, is_double, worst, where);
        }
}

/* The measure detects an error of three units in the last place. */
static void the_measure_sees_three_units(void **state)
{
    const double next = nextafter(nextafter(nextafter(1.5, 2), 2), 2);

    (void)state;
    assert_small(error_in_ulps(next, 1.5L, true) - 3, 0);
    assert_small(error_in_ulps(1.5, 1.5L, true), 0);
    assert_true(error_in_ulps((double)nextafterf(1.5F, 2), 1.5L, false) == 1);
    assert_true(error_in_ulps(1, (long double)NAN, true) > 2);
}

static void plain_and_vector_kernels_differ_by_two_units_at_most(void **state)
{
    static double other[COUNT];

    (void)state;
    for (int k = 0; k < N_FUNCTIONS; k++)
        for (int is_double = 0; is_double < 2; is_double++) {
            fill_values(k, is_double);
            run(reln_kernels(true), is_double, functions[k].f, COUNT);
            memcpy(other, results, sizeof other);
            run(reln_kernels(false), is_double, functions[k].f, COUNT);
            for (ptrdiff_t i = 0; i < COUNT; i++) {
                const double e = error_in_ulps(results[i], (long double)other[i], is_double);
                if (!(e <= 2))
                    complain(k, reln_kernels(false), is_double, e, values[i]);
            }
        }
}

/* ---- edges ------------------------------------------------------------------------------------------------------- */

static const double edges[] = {0.0,
                               -0.0,
                               (double)INFINITY,
                               -(double)INFINITY,
                               (double)NAN,
                               1,
                               -1,
                               DBL_MIN,
                               -DBL_MIN,
                               0x1p-1074,
                               -0x1p-1074,
                               DBL_MAX,
                               -DBL_MAX,
                               (double)FLT_MIN,
                               0x1p-149,
                               (double)FLT_MAX,
                               709.78,
                               709.79,
                               -745.1,
                               -745.2,
                               88.72,
                               88.73,
                               -103.9,
                               -104.1,
                               1e6,
                               1000001,
                               -1e6,
                               0x1p100,
                               0.625,
                               -0.625,
                               0x1p-30,
                               20,
                               -40};
enum { N_EDGES = sizeof edges / sizeof *edges };

static bool same_sign(double x, double y)
{
    return signbit(x) == signbit(y);
}

/* Values, infinities, NaN and the signs of zeros are those of the exact function after rounding. */
static void edges_are_as_the_functions_have_them(void **state)
{
    (void)state;
    for (int k = 0; k < N_FUNCTIONS; k++)
        for (int variant = 0; variant < 4; variant++) {
            const bool is_double = variant & 2;

            memcpy(values, edges, sizeof edges);
            run(reln_kernels(variant & 1), is_double, functions[k].f, N_EDGES);
            for (int i = 0; i < N_EDGES; i++) {
                const long double want = functions[k].exact((long double)values[i]);
                const double e = error_in_ulps(results[i], want, is_double);

                if (!(e <= 2) || (results[i] == 0 && !same_sign(results[i], (double)want)))
                    complain(k, reln_kernels(variant & 1), is_double, e, values[i]);
            }
        }
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

/* For any length, start and step, and in place, a number gives the same bits as alone. */
static void check_places(const RelnRealKernels *table, RelnMap f, const void *x, ptrdiff_t count)
{
    enum { LONGEST = 100 };
    char alone[8 * LONGEST], got[8 * LONGEST];
    const size_t size = table->size;

    for (ptrdiff_t i = 0; i < count; i++)
        table->map[f](1, (const char *)x + (size_t)i * size, 1, alone + (size_t)i * size);
    for (ptrdiff_t start = 0; start < 3; start++)
        for (ptrdiff_t n = 1; start + n <= count; n++) {
            table->map[f](n, (const char *)x + (size_t)start * size, 1, got);
            assert_memory_equal(got, alone + (size_t)start * size, (size_t)n * size);
        }
    table->map[f](count / 2, x, 2, got);
    for (ptrdiff_t i = 0; i < count / 2; i++)
        assert_memory_equal(got + (size_t)i * size, alone + 2 * (size_t)i * size, size);
    table->map[f](count, x, 0, got);
    for (ptrdiff_t i = 0; i < count; i++)
        assert_memory_equal(got + (size_t)i * size, alone, size);
    memcpy(got, x, (size_t)count * size);
    table->map[f](count, got, 1, got);
    assert_memory_equal(got, alone, (size_t)count * size);
}

static void the_bits_of_a_number_do_not_depend_on_its_place(void **state)
{
    (void)state;
    for (int k = 0; k < N_FUNCTIONS; k++) {
        fill_values(k, false);
        for (int i = 0; i < 100; i++)
            values32[i] = (float)values[i];
        for (int reference = 0; reference < 2; reference++) {
            check_places(reln_kernels(reference)->f64, functions[k].f, values, 100);
            check_places(reln_kernels(reference)->f32, functions[k].f, values32, 100);
        }
    }
}

/* Computes ((0+1)+(2+3))+((4+5)+(6+7)) of the first `count` numbers, by halves: pairs stay the same if some
 * numbers are missing. */
static double tree(const double *x, int count, int span)
{
    if (span == 1 || count <= span / 2)
        return span == 1 ? x[0] : tree(x, count, span / 2);
    return tree(x, span / 2, span / 2) + tree(x + span / 2, count - span / 2, span / 2);
}

static void check_tree(const RelnRealKernels *k, const double *x, const double *column, int n,
                       int count)
{
    enum { MOST = 37 };
    const void *rows[RELN_TREE];
    double got[MOST + 1];

    for (int i = 0; i < RELN_TREE; i++)
        rows[i] = x + (ptrdiff_t)i * MOST;
    got[n] = 7.0;
    k->tree(n, count, rows, got);
    for (int i = 0; i < n; i++)
        assert_true(got[i] == tree(column + i * RELN_TREE, count, RELN_TREE));
    assert_true(got[n] == 7.0);
}

static void lanes_are_added_pairs_first(void **state)
{
    enum { MOST = 37 };
    double x[RELN_TREE * MOST], column[MOST * RELN_TREE];
    RelnRng rng = reln_rng(5, 0);

    (void)state;
    fill_normal(&rng, RELN_TREE * MOST, x);
    for (int i = 0; i < RELN_TREE * MOST; i++)
        column[i % MOST * RELN_TREE + i / MOST] = x[i];
    for (int reference = 0; reference < 2; reference++)
        for (int n = 0; n <= MOST; n++)
            for (int count = 1; count <= RELN_TREE; count++)
                check_tree(reln_kernels(reference)->f64, x, column, n, count);
}

/* ---- contractions ---------------------------------------------------------------------------------------------------- */

enum { CI = 3, CJ = 2, CK = 4, ROWS = 37, CHANNELS = 35 };

/* Compares with z = sum T x y, computed row by row, channel by channel and entry by entry. A stride of 0
 * repeats the only channel. */
static void check_contraction(const RelnRealKernels *k, const RelnTensor3 *t, ptrdiff_t rows,
                              ptrdiff_t c, ptrdiff_t sx, ptrdiff_t sy, const double *x,
                              const double *y)
{
    static double z[ROWS * CK * CHANNELS + 1];
    const ptrdiff_t ldx = sx ? c : 1, ldy = sy ? c : 1;

    z[rows * CK * c] = 7;
    k->contract_rows(t, rows, c, x, CI * ldx, ldx, sx, y, CJ * ldy, ldy, sy, z);
    for (ptrdiff_t r = 0; r < rows; r++)
        for (int o = 0; o < CK; o++)
            for (ptrdiff_t i = 0; i < c; i++) {
                double sum = 0, size = 0;

                for (int e = 0; e < t->count; e++)
                    if (t->entries[e].k == o) {
                        const double term = t->entries[e].value *
                                            x[(r * CI + t->entries[e].i) * ldx + i * sx] *
                                            y[(r * CJ + t->entries[e].j) * ldy + i * sy];
                        sum += term;
                        size += fabs(term);
                    }
                /* two roundings for each entry on either side */
                assert_true(fabs(z[(r * CK + o) * c + i] - sum) <=
                            4 * t->count * DBL_EPSILON * size);
            }
    assert_true(z[rows * CK * c] == 7);
}

/* Tests every number of rows and channels, since transposed blocks, bands of rows and full vectors have
 * different code. */
static void contractions_of_any_extents_are_sums_over_entries(void **state)
{
    const RelnEntry entries[] = {{0, 0, 0, 1}, {2, 1, 0, -0.5}, {1, 0, 1, 2}, {0, 1, 3, 1},
                                 {1, 1, 3, 3}, {2, 0, 3, -1}}; /* none for the third coordinate */
    const RelnTensor3 t = {CI, CJ, CK, 6, entries};
    double x[ROWS * CI * CHANNELS], y[ROWS * CJ * CHANNELS];
    RelnRng rng = reln_rng(6, 0);

    (void)state;
    fill_normal(&rng, ROWS * CI * CHANNELS, x);
    fill_normal(&rng, ROWS * CJ * CHANNELS, y);
    for (int reference = 0; reference < 2; reference++)
        for (ptrdiff_t rows = 1; rows <= ROWS; rows += 3)
            for (ptrdiff_t c = 1; c <= CHANNELS; c++)
                for (int s = 0; s < 4; s++)
                    check_contraction(reln_kernels(reference)->f64, &t, rows, c, s & 1, s >> 1, x,
                                      y);
}

/* One array is both factors: row by row, or each row with the first. */
static void an_array_may_be_both_factors(void **state)
{
    const RelnEntry entries[] = {{0, 2, 0, 1}, {1, 1, 0, -0.5}, {2, 0, 1, 3}};
    const RelnTensor3 t = {CI, CI, 2, 3, entries};
    double x[ROWS * CI * CHANNELS], z[ROWS * 2 * CHANNELS];
    RelnRng rng = reln_rng(8, 0);

    (void)state;
    fill_normal(&rng, ROWS * CI * CHANNELS, x);
    for (int reference = 0; reference < 2; reference++)
        for (ptrdiff_t c = 1; c <= CHANNELS; c++)
            for (int repeats = 0; repeats < 2; repeats++) {
                const ptrdiff_t row = CI * c;

                reln_kernels(reference)->f64->contract_rows(&t, ROWS, c, x, row, c, 1, x,
                                                            repeats ? 0 : row, c, 1, z);
                for (ptrdiff_t r = 0; r < ROWS; r++)
                    for (ptrdiff_t i = 0; i < c; i++) {
                        const double *a = x + r * row + i, *b = repeats ? x + i : a;
                        const double ac = a[0] * b[2 * c], bb = 0.5 * a[c] * b[c];

                        assert_true(fabs(z[2 * r * c + i] - (ac - bb)) <=
                                    4 * DBL_EPSILON * (fabs(ac) + fabs(bb)));
                        assert_true(fabs(z[(2 * r + 1) * c + i] - 3 * a[2 * c] * b[0]) <=
                                    4 * DBL_EPSILON * fabs(3 * a[2 * c] * b[0]));
                    }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_within_two_units_in_the_last_place),
        cmocka_unit_test(the_measure_sees_three_units),
        cmocka_unit_test(plain_and_vector_kernels_differ_by_two_units_at_most),
        cmocka_unit_test(edges_are_as_the_functions_have_them),
        cmocka_unit_test(the_bits_of_a_number_do_not_depend_on_its_place),
        cmocka_unit_test(lanes_are_added_pairs_first),
        cmocka_unit_test(contractions_of_any_extents_are_sums_over_entries),
        cmocka_unit_test(an_array_may_be_both_factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
