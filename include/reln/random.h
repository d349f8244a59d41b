/* random.h -- counter-based random numbers: each number is a pure function of a key and a counter.
 *
 * The generator is Philox 4x32 with ten rounds. The counter is its only state, so any thread can repeat any draw,
 * in any order.
 */
#ifndef RELN_RANDOM_H
#define RELN_RANDOM_H

#include "reln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes four 32-bit words from a 128-bit counter and a 64-bit key. */
RELN_API void reln_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* A RelnRng is a stream of random numbers. (seed, stream) identify the stream; `next` is the position in it.
 * It is plain data: copy it to fork the stream. */
typedef struct RelnRng {
    uint64_t seed;
    uint64_t stream;
    uint64_t next;
} RelnRng;

RELN_API RelnRng reln_rng(uint64_t seed, uint64_t stream);
RELN_API uint64_t reln_rng_bits(RelnRng *rng);                           /* 64 random bits */
RELN_API double reln_rng_uniform(RelnRng *rng);                          /* in [0, 1), 53 bits */
RELN_API void reln_rng_uniforms(RelnRng *rng, ptrdiff_t n, double *out); /* the next n draws of
                                                                          * reln_rng_uniform(), faster */
RELN_API double reln_rng_normal(RelnRng *rng);                           /* mean 0, variance 1 */
RELN_API uint64_t reln_rng_below(RelnRng *rng, uint64_t n); /* 0 .. n-1, unbiased; 0 when n is 0 */

#ifdef __cplusplus
}
#endif

#endif
