/* random.c -- Philox 4x32-10 (Salmon et al., 2011) and the streams made of it. */
#include "reln/random.h"

#include <math.h>

#include "base/base.h"

/* One round: two 32x32 -> 64 bit products, halves crossed, keys mixed in. */
static void round_once(uint32_t c[4], const uint32_t k[2])
{
    const uint64_t p0 = (uint64_t)0xD2511F53u * c[0];
    const uint64_t p1 = (uint64_t)0xCD9E8D57u * c[2];
    const uint32_t r0 = (uint32_t)(p1 >> 32) ^ c[1] ^ k[0];
    const uint32_t r2 = (uint32_t)(p0 >> 32) ^ c[3] ^ k[1];

    c[0] = r0;
    c[1] = (uint32_t)p1;
    c[2] = r2;
    c[3] = (uint32_t)p0;
}

void reln_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    if (!counter || !key || !out)
        return;
    uint32_t k[2] = {key[0], key[1]};

    for (int i = 0; i < 4; i++)
        out[i] = counter[i];
    for (int r = 0; r < 10; r++) {
        round_once(out, k);
        k[0] += 0x9E3779B9u; /* golden ratio */
        k[1] += 0xBB67AE85u; /* sqrt(3) - 1 */
    }
}

RelnRng reln_rng(uint64_t seed, uint64_t stream)
{
    return (RelnRng){seed, stream, 0};
}

uint64_t reln_rng_bits(RelnRng *rng)
{
    RELN_NEED(rng, 0);

    const uint64_t block = rng->next / 2;
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)rng->stream,
                                 (uint32_t)(rng->stream >> 32)};
    const uint32_t key[2] = {(uint32_t)rng->seed, (uint32_t)(rng->seed >> 32)};
    uint32_t w[4];

    reln_philox(counter, key, w);
    return rng->next++ % 2 ? (uint64_t)w[3] << 32 | w[2] : (uint64_t)w[1] << 32 | w[0];
}

static double to_uniform(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

double reln_rng_uniform(RelnRng *rng)
{
    RELN_NEED(rng, 0);

    return to_uniform(reln_rng_bits(rng));
}

/* ---- many at once --------------------------------------------------------------------------------------------- */

/* Blocks of counters that go through the rounds side by side: each waits for its own products, not for the others'. */
enum { SIDE = 8 };

static void rounds(uint32_t c[4][SIDE], uint32_t k0, uint32_t k1)
{
    for (int r = 0; r < 10; r++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
        for (int i = 0; i < SIDE; i++) {
            const uint64_t p0 = (uint64_t)0xD2511F53u * c[0][i];
            const uint64_t p1 = (uint64_t)0xCD9E8D57u * c[2][i];

            c[0][i] = (uint32_t)(p1 >> 32) ^ c[1][i] ^ k0;
            c[1][i] = (uint32_t)p1;
            c[2][i] = (uint32_t)(p0 >> 32) ^ c[3][i] ^ k1;
            c[3][i] = (uint32_t)p0;
        }
}

/* The 2 SIDE draws of the blocks that begin with this one. */
static void draw_blocks(const RelnRng *rng, uint64_t block, double *out)
{
    uint32_t c[4][SIDE];

    for (int i = 0; i < SIDE; i++) {
        c[0][i] = (uint32_t)(block + (uint64_t)i);
        c[1][i] = (uint32_t)((block + (uint64_t)i) >> 32);
        c[2][i] = (uint32_t)rng->stream;
        c[3][i] = (uint32_t)(rng->stream >> 32);
    }
    rounds(c, (uint32_t)rng->seed, (uint32_t)(rng->seed >> 32));
    for (int i = 0; i < SIDE; i++) {
        out[2 * i] = to_uniform((uint64_t)c[1][i] << 32 | c[0][i]);
        out[2 * i + 1] = to_uniform((uint64_t)c[3][i] << 32 | c[2][i]);
    }
}

void reln_rng_uniforms(RelnRng *rng, ptrdiff_t n, double *out)
{
    if (!rng || !out)
        return;
    ptrdiff_t i = 0;

    if (rng->next % 2 && n > 0)
        out[i++] = reln_rng_uniform(rng);
    for (; i + 2 * SIDE <= n; i += 2 * SIDE, rng->next += 2 * SIDE)
        draw_blocks(rng, rng->next / 2, out + i);
    for (; i < n; i++)
        out[i] = reln_rng_uniform(rng);
}

/* Box-Muller; 1 - u keeps the logarithm finite. One of the pair is thrown away, so that draws do not depend on
 * history. */
double reln_rng_normal(RelnRng *rng)
{
    RELN_NEED(rng, 0);

    const double radius = sqrt(-2.0 * log(1.0 - reln_rng_uniform(rng)));

    return radius * cos(6.283185307179586 * reln_rng_uniform(rng));
}

/* Rejection of the last, incomplete run of n values. */
uint64_t reln_rng_below(RelnRng *rng, uint64_t n)
{
    RELN_NEED(rng, 0);

    uint64_t bits;

    if (n == 0)
        return 0;
    do
        bits = reln_rng_bits(rng);
    while (bits - bits % n > UINT64_MAX - (n - 1));
    return bits % n;
}
