/* Tests matrix products: correct values, the same bits for each row, and safe use by seven threads. */
#include "support/support.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "tensor/gemm.h"

/* N: panels side by side, and one that is not whole. */
enum { ROWS = 61, N = 77, K = 300, THREADS = 7, ROUNDS = 200 };

typedef struct Products {
    RelnCtx *ctx;
    RelnGemm gemm;
} Products;

static void make(Products *p, bool reference)
{
    assert_int_equal(reln_ctx_create(NULL, &p->ctx), RELN_OK);
    assert_ok(p->ctx, reln_gemm_init(&p->gemm, p->ctx, reln_kernels(reference)));
}

static void clear(Products *p)
{
    reln_gemm_clear(&p->gemm, p->ctx);
    assert_int_equal(reln_ctx_live_blocks(p->ctx), 0);
    reln_ctx_destroy(p->ctx);
}

/* Computes an element by the definition, in long double. */
static double element(bool ta, bool tb, ptrdiff_t i, ptrdiff_t j, ptrdiff_t m, ptrdiff_t n,
                      ptrdiff_t k, const double *a, const double *b)
{
    long double sum = 0;

    for (ptrdiff_t l = 0; l < k; l++)
        sum += (long double)(ta ? a[l * m + i] : a[i * k + l]) *
               (long double)(tb ? b[j * k + l] : b[l * n + j]);
    return (double)sum;
}

static void check_size(Products *p, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const double *a,
                       const double *b)
{
    static double c[ROWS * 300], want[ROWS * 300], packed[320 * K];

    for (int t = 0; t < 8; t++) {
        const bool ta = t & 1, tb = t & 2, add = t & 4;

        for (ptrdiff_t i = 0; i < m * n; i++) {
            c[i] = (double)(i % 5);
            want[i] = element(ta, tb, i / n, i % n, m, n, k, a, b) + (add ? (double)(i % 5) : 0.0);
        }
        reln_gemm(&p->gemm, true, ta, tb, m, n, k, a, ta ? m : k, b, tb ? k : n, add, c, n);
        /* sums of k products of size one */
        assert_near(c, want, m * n, (double)(k + 4) * 0x1p-53);
        reln_gemm_pack(&p->gemm, true, tb, n, k, b, tb ? k : n, packed);
        for (ptrdiff_t i = 0; i < m * n; i++)
            want[i] = (double)(i % 5);
        reln_gemm_packed(&p->gemm, true, ta, m, n, k, a, ta ? m : k, packed, add, want, n);
        assert_memory_equal(c, want, sizeof(double) * (size_t)(m * n));
    }
}

static void products_are_right_in_every_shape_and_transposition(void **state)
{
    static const ptrdiff_t shapes[][3] = {
        {1, 1, 1},   {1, 1, 0},      {6, 16, 8},     {7, 17, 3},  {5, 3, 300},  {ROWS, N, K},
        {13, 8, 1},  {12, 300, 257}, {61, 15, 256},  {1, N, K},   {2, N, K},    {3, N, K},
        {4, N, 9},   {8, N, 9},      {9, N, 9},      {25, 7, 40}, {25, 24, 40}, {13, 40, 40},
        {14, 20, 9}, {ROWS, 1, 40},  {ROWS, 2, 257}, {43, 3, 9},  {40, 4, 30}};
    static double a[ROWS * K], b[300 * K];
    RelnRng rng = reln_rng(2, 0);

    (void)state;
    fill_normal(&rng, ROWS * K, a);
    fill_normal(&rng, 300 * K, b);
    for (int reference = 0; reference < 2; reference++) {
        Products p;

        make(&p, reference);
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            check_size(&p, shapes[i][0], shapes[i][1], shapes[i][2], a, b);
        clear(&p);
    }
}

static void fill_floats(RelnRng *rng, ptrdiff_t count, float *x)
{
    for (ptrdiff_t i = 0; i < count; i++)
        x[i] = (float)reln_rng_normal(rng);
}

static void a_row_has_the_same_bits_in_any_company_and_place(void **state)
{
    static float a[ROWS * K + 3], b[N * K], all[ROWS * N], some[ROWS * N];
    RelnRng rng = reln_rng(3, 0);
    Products p;

    (void)state;
    make(&p, false);
    fill_floats(&rng, ROWS * K, a);
    fill_floats(&rng, N * K, b);
    reln_gemm(&p.gemm, false, false, false, ROWS, N, K, a, K, b, N, false, all, N);
    for (int first = 0; first < ROWS; first++)
        for (int m = 1; m <= ROWS - first; m += 5) {
            reln_gemm(&p.gemm, false, false, false, m, N, K, a + first * K, K, b, N, false, some,
                      N);
            assert_memory_equal(some, all + first * N, sizeof(float) * (size_t)(m * N));
        }
    /* nor does alignment matter */
    memmove(a + 3, a, sizeof(float) * ROWS * K);
    reln_gemm(&p.gemm, false, false, false, ROWS, N, K, a + 3, K, b, N, false, some, N);
    assert_memory_equal(some, all, sizeof all);
    clear(&p);
}

/* For panels of every width, and rows that do and do not fill tiles, a column has the same bits, whether it
 * is added or not, and memory after the last column is unchanged. */
static void a_column_has_the_same_bits_at_every_width(void **state)
{
    enum { WIDE = 67, DEEP = 259, TALL = 51, GUARD = 9 };
    static const ptrdiff_t heights[] = {1, 2, 3, 4, 5, 6, 8, 11, 12, 13, 33, 40, TALL};
    static float a[TALL * DEEP], b[DEEP * WIDE], all[TALL * WIDE], some[TALL * (WIDE + GUARD)];
    RelnRng rng = reln_rng(5, 0);

    (void)state;
    fill_floats(&rng, TALL * DEEP, a);
    fill_floats(&rng, DEEP * WIDE, b);
    for (int t = 0; t < 8; t++) {
        const bool add = t & 1, ta = t & 4;
        const ptrdiff_t lda = ta ? TALL : DEEP;
        Products p;

        make(&p, t & 2);
        for (ptrdiff_t i = 0; i < TALL * WIDE; i++)
            all[i] = 0.5F;
        reln_gemm(&p.gemm, false, ta, false, TALL, WIDE, DEEP, a, lda, b, WIDE, add, all, WIDE);
        for (ptrdiff_t n = 1; n < WIDE; n++)
            for (size_t h = 0; h < sizeof heights / sizeof *heights; h++) {
                const ptrdiff_t m = heights[h], ldc = n + GUARD;

                for (ptrdiff_t i = 0; i < m * ldc; i++)
                    some[i] = 0.5F;
                reln_gemm(&p.gemm, false, ta, false, m, n, DEEP, a, lda, b, WIDE, add, some, ldc);
                for (ptrdiff_t i = 0; i < m; i++) {
                    assert_memory_equal(some + i * ldc, all + i * WIDE, sizeof(float) * (size_t)n);
                    for (ptrdiff_t j = n; j < ldc; j++)
                        assert_true(some[i * ldc + j] == 0.5F);
                }
            }
        clear(&p);
    }
}

/* A Hammer is the work of one thread, with its data and the expected result. */
typedef struct Hammer {
    Products p;
    float a[ROWS * K], b[K * N], want[ROWS * N], got[ROWS * N];
    int wrong;
} Hammer;

static void *hammer(void *arg)
{
    Hammer *h = arg;

    for (int i = 0; i < ROUNDS; i++) {
        memset(h->got, 0, sizeof h->got);
        reln_gemm(&h->p.gemm, false, false, false, ROWS, N, K, h->a, K, h->b, N, false, h->got, N);
        h->wrong += memcmp(h->got, h->want, sizeof h->want) != 0;
    }
    return NULL;
}

static void seven_threads_get_their_own_products(void **state)
{
    static Hammer h[THREADS];
    pthread_t threads[THREADS];
    RelnRng rng = reln_rng(4, 0);

    (void)state;
    for (int t = 0; t < THREADS; t++) {
        make(&h[t].p, false);
        fill_floats(&rng, ROWS * K, h[t].a);
        fill_floats(&rng, K * N, h[t].b);
        reln_gemm(&h[t].p.gemm, false, false, false, ROWS, N, K, h[t].a, K, h[t].b, N, false,
                  h[t].want, N);
    }
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, hammer, &h[t]), 0);
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(h[t].wrong, 0);
        assert_int_equal(h[t].p.gemm.calls, ROUNDS + 1);
        clear(&h[t].p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right_in_every_shape_and_transposition),
        cmocka_unit_test(a_row_has_the_same_bits_in_any_company_and_place),
        cmocka_unit_test(a_column_has_the_same_bits_at_every_width),
        cmocka_unit_test(seven_threads_get_their_own_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
