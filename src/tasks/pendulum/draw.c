/* draw.c -- Mersenne Twister (Matsumoto and Nishimura, 1998), polar normals, masked integers, shuffles. */
#include <math.h>

#include "tasks/pendulum/pendulum.h"

void pend_draw_init(PendDraw *d, uint32_t seed)
{
    for (int i = 0; i < PEND_DRAW_WORDS; i++) {
        d->words[i] = seed;
        seed = 1812433253u * (seed ^ (seed >> 30)) + (uint32_t)i + 1;
    }
    d->next = PEND_DRAW_WORDS;
    d->has_spare = false;
}

static void refill(PendDraw *d)
{
    uint32_t *w = d->words;

    for (int i = 0; i < PEND_DRAW_WORDS; i++) {
        const uint32_t y = (w[i] & 0x80000000u) | (w[(i + 1) % PEND_DRAW_WORDS] & 0x7fffffffu);

        w[i] = w[(i + 397) % PEND_DRAW_WORDS] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0u);
    }
    d->next = 0;
}

static uint32_t bits(PendDraw *d)
{
    uint32_t y;

    if (d->next == PEND_DRAW_WORDS)
        refill(d);
    y = d->words[d->next++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

/* In [-1, 1), from 53 bits. */
static double centred(PendDraw *d)
{
    const double high = bits(d) >> 5, low = bits(d) >> 6;

    return 2.0 * ((high * 67108864.0 + low) / 9007199254740992.0) - 1.0;
}

/* Marsaglia's polar method; the second of a pair is handed out first. */
double pend_draw_normal(PendDraw *d)
{
    double a, b, r, f;

    if (d->has_spare) {
        d->has_spare = false;
        return d->spare;
    }
    do {
        a = centred(d);
        b = centred(d);
        r = a * a + b * b;
    } while (r >= 1.0 || r == 0.0);
    f = sqrt(-2.0 * log(r) / r);
    d->spare = f * a;
    d->has_spare = true;
    return f * b;
}

uint32_t pend_draw_upto(PendDraw *d, uint32_t largest)
{
    uint32_t mask = largest, value;

    for (int shift = 1; shift <= 16; shift *= 2)
        mask |= mask >> shift;
    if (largest == 0)
        return 0;
    do
        value = bits(d) & mask;
    while (value > largest);
    return value;
}

void pend_draw_permutation(PendDraw *d, int n, int *order)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        const int j = (int)pend_draw_upto(d, (uint32_t)i), other = order[j];

        order[j] = order[i];
        order[i] = other;
    }
}
