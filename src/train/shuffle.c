/* shuffle.c -- permutations that are computed, not stored: the swap-or-not shuffle (Hoang, Morris, Rogaway, 2012).
 *
 * A round pairs every x of 0..n-1 with k - x mod n, for a random k, and exchanges the two with probability 1/2. Both
 * elements use the coin of the larger one, so a round is a bijection of any n, and needs no table. */
#include "base/base.h"
#include "reln/random.h"
#include "reln/train.h"

/* A coin for every x, 0 or 1: the top bit of a word that the key and x have been mixed into (Stafford's variant 13). */
static uint64_t coin(uint64_t key, uint64_t x)
{
    x ^= key;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return (x ^ (x >> 31)) >> 63;
}

/* Written without branches: a branch on a coin would be mispredicted half of the time. */
static uint64_t swap_or_not(uint64_t n, uint64_t k, uint64_t key, uint64_t x)
{
    const uint64_t other = k - x + (k < x ? n : 0);
    const uint64_t larger = x > other ? x : other;

    return x ^ ((x ^ other) & (0 - coin(key, larger)));
}

/* Number of rounds. After about 2 log2(n) rounds a single element is spread evenly; twice that and a few more make pairs of
 * elements independent as well. */
static int rounds_for(uint64_t n)
{
    int rounds = 24;

    for (; n > 1; n = (n + 1) / 2)
        rounds += 4;
    return rounds;
}

void reln_shuffle(uint64_t seed, uint64_t epoch, ptrdiff_t n, ptrdiff_t first, ptrdiff_t count,
                  ptrdiff_t *rows)
{
    if (!rows)
        return;
    RelnRng rng = reln_rng(seed, reln_hash(RELN_HASH_SEED, "shuffle", 7) + epoch);
    const uint64_t size = n > 0 ? (uint64_t)n : 0;
    const int rounds = rounds_for(size);

    if (n < 1 || first < 0)
        return;
    for (ptrdiff_t i = 0; i < count; i++)
        rows[i] = (first % n + i % n) % n;
    for (int r = 0; r < rounds; r++) {
        const uint64_t k = reln_rng_below(&rng, size), key = reln_rng_bits(&rng);

        for (ptrdiff_t i = 0; i < count; i++)
            rows[i] = (ptrdiff_t)swap_or_not(size, k, key, (uint64_t)rows[i]);
    }
}
