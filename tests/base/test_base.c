/* Tests the context, arenas and random numbers. */
#include "support/support.h"

#include <string.h>

#include "base/base.h"

static void philox_matches_the_published_test_vectors(void **state)
{
    const uint32_t zero[4] = {0}, ones[4] = {~0u, ~0u, ~0u, ~0u};
    uint32_t out[4];

    (void)state;
    reln_philox(zero, zero, out);
    assert_int_equal(out[0], 0x6627e8d5u);
    assert_int_equal(out[3], 0x9b00dbd8u);
    reln_philox(ones, ones, out);
    assert_int_equal(out[0], 0x408f276du);
    assert_int_equal(out[3], 0x6d5451fdu);
}

static void random_numbers_have_the_right_moments(void **state)
{
    enum { COUNT = 200000 };
    RelnRng rng = reln_rng(7, 3);
    double mean = 0, square = 0, uniform = 0;

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        const double x = reln_rng_normal(&rng), u = reln_rng_uniform(&rng);
        mean += x / COUNT;
        square += x * x / COUNT;
        uniform += u / COUNT;
        assert_true(u >= 0 && u < 1);
        assert_true(reln_rng_below(&rng, 5) < 5);
    }
    /* five standard deviations of each mean */
    assert_small(mean, 5 * 0.00224);
    assert_small(square - 1, 5 * 0.00316);
    assert_small(uniform - 0.5, 5 * 0.00065);
}

static void arena_blocks_are_zeroed_aligned_and_separate(void **state)
{
    RelnCtx *ctx = NULL;
    RelnArena arena;
    char *previous = NULL;

    (void)state;
    assert_int_equal(reln_ctx_create(NULL, &ctx), RELN_OK);
    reln_arena_init(&arena, ctx);
    for (size_t n = 1; n < 40000; n = n * 3 + 1) {
        char *p = reln_arena_alloc(&arena, n, 1);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % RELN_ALIGN, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 1, n);
        assert_true(!previous || previous[0] == 1);
        previous = p;
    }
    assert_null(reln_arena_alloc(&arena, SIZE_MAX / 2, 16));
    assert_null(reln_arena_alloc(&arena, SIZE_MAX / 2 + 2, 2)); /* 2 bytes, modulo 2^64 */
    assert_null(reln_alloc(ctx, SIZE_MAX / 2 + 2, 2));
    assert_non_null(strstr(reln_ctx_error(ctx), "out of memory"));
    reln_arena_clear(&arena);
    assert_int_equal(reln_ctx_live_blocks(ctx), 0);
    reln_ctx_destroy(ctx);
}

static void many_draws_are_the_draws_one_by_one(void **state)
{
    enum { MOST = 100 };
    double many[MOST];

    (void)state;
    for (uint64_t first = 0; first < 3; first++)
        for (ptrdiff_t n = 0; n <= MOST; n++) {
            RelnRng a = reln_rng(7, UINT64_C(1) << 40 | 3), b;

            a.next = (UINT64_C(1) << 33) - 20 + first; /* the counter's first word overflows */
            b = a;
            reln_rng_uniforms(&a, n, many);
            for (ptrdiff_t i = 0; i < n; i++)
                assert_true(many[i] == reln_rng_uniform(&b));
            assert_true(a.next == b.next);
        }
}

/* One replaced letter is nearer than two inserted ones. */
static void the_nearest_word_has_the_fewest_edits(void **state)
{
    static const char *const words[] = {"cosine", "size", "sinus", "line", "sine-"};

    (void)state;
    assert_int_equal(reln_nearest("sine", words, 2), 1);
    assert_int_equal(reln_nearest("cosin", words, 5), 0);
    assert_int_equal(reln_nearest("sins", words, 3), 2);
    assert_int_equal(reln_nearest("sine--", words, 5), 4);
    assert_int_equal(reln_nearest("lien", words + 3, 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_matches_the_published_test_vectors),
        cmocka_unit_test(random_numbers_have_the_right_moments),
        cmocka_unit_test(many_draws_are_the_draws_one_by_one),
        cmocka_unit_test(arena_blocks_are_zeroed_aligned_and_separate),
        cmocka_unit_test(the_nearest_word_has_the_fewest_edits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
