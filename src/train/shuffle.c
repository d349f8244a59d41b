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

/* Replaces each of the numbers, below n, by its image under the permutation that the generator draws. */
static void permute(RelnRng rng, ptrdiff_t n, ptrdiff_t count, ptrdiff_t *x)
{
    const uint64_t size = (uint64_t)n;
    const int rounds = rounds_for(size);

    for (int r = 0; r < rounds; r++) {
        const uint64_t k = reln_rng_below(&rng, size), key = reln_rng_bits(&rng);

        for (ptrdiff_t i = 0; i < count; i++)
            x[i] = (ptrdiff_t)swap_or_not(size, k, key, (uint64_t)x[i]);
    }
}

void reln_shuffle(uint64_t seed, uint64_t epoch, ptrdiff_t n, ptrdiff_t first, ptrdiff_t count,
                  ptrdiff_t *rows)
{
    if (!rows || n < 1 || first < 0)
        return;
    for (ptrdiff_t i = 0; i < count; i++)
        rows[i] = (first % n + i % n) % n;
    permute(reln_rng(seed, reln_hash(RELN_HASH_SEED, "shuffle", 7) + epoch), n, count, rows);
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

typedef struct Blocks {
    uint64_t seed, epoch;
    ptrdiff_t n, block, window; /* all in rows */
    ptrdiff_t turn;             /* first row; rows are counted from it, around the end */
} Blocks;

/* Shuffles the positions of one window; it has `count` positions from `first` on. */
static void mix_window(const Blocks *b, ptrdiff_t first, ptrdiff_t count, ptrdiff_t *x)
{
    const ptrdiff_t index = first / b->window, begin = index * b->window;
    const ptrdiff_t size = b->n - begin < b->window ? b->n - begin : b->window;
    const uint64_t key[2] = {b->epoch, (uint64_t)index};

    for (ptrdiff_t i = 0; i < count; i++)
        x[i] = first - begin + i;
    permute(reln_rng(b->seed, reln_hash(RELN_HASH_SEED, key, sizeof key) ^ 0x77696e64), size, count,
            x);
    for (ptrdiff_t i = 0; i < count; i++)
        x[i] += begin;
}

/* Converts positions, at most PIECE, to rows: whole blocks are permuted, and the rest at the end of n stays
 * there. */
enum { PIECE = 256 };
static void place_blocks(const Blocks *b, ptrdiff_t count, ptrdiff_t *x)
{
    const ptrdiff_t n_blocks = b->n / b->block;
    ptrdiff_t block[PIECE], from[PIECE], n = 0;

    for (ptrdiff_t i = 0; i < count; i++)
        if (x[i] / b->block < n_blocks) {
            block[n] = x[i] / b->block;
            from[n++] = i;
        }
    if (n > 0)
        permute(reln_rng(b->seed, reln_hash(RELN_HASH_SEED, "blocks", 6) + b->epoch), n_blocks, n,
                block);
    for (ptrdiff_t i = 0; i < n; i++)
        x[from[i]] = block[i] * b->block + x[from[i]] % b->block;
    for (ptrdiff_t i = 0; i < count; i++)
        x[i] = x[i] < b->n - b->turn ? x[i] + b->turn : x[i] - (b->n - b->turn);
}

void reln_shuffle_blocks(uint64_t seed, uint64_t epoch, ptrdiff_t n, ptrdiff_t block,
                         ptrdiff_t window, ptrdiff_t first, ptrdiff_t count, ptrdiff_t *rows)
{
    Blocks b = {.seed = seed, .epoch = epoch, .n = n, .block = block};
    RelnRng rng = reln_rng(seed, reln_hash(RELN_HASH_SEED, "turn", 4) + epoch);

    if (!rows || n < 1 || first < 0 || block < 1 || window < 1)
        return;
    b.window = window > n / block ? n : window * block;
    b.turn = (ptrdiff_t)reln_rng_below(&rng, (uint64_t)n);
    for (ptrdiff_t done = 0, some; done < count; done += some) {
        const ptrdiff_t at = (first % n + done % n) % n;
        const ptrdiff_t left = b.window - at % b.window;

        some = left < n - at ? left : n - at;
        some = some < count - done ? some : count - done;
        some = some < PIECE ? some : PIECE;
        mix_window(&b, at, some, rows + done);
        place_blocks(&b, some, rows + done);
    }
}
