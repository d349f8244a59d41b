/* modular.h -- sparse linear algebra over the field of 2^61 - 1 elements, for kernels that are rational. */
#ifndef REP_MODULAR_H
#define REP_MODULAR_H

#include "base/base.h"

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 WideUnsigned;

#define RELN_PRIME (((uint64_t)1 << 61) - 1)

static inline uint64_t reln_mod_reduce(uint64_t x)
{
    x = (x & RELN_PRIME) + (x >> 61);
    return x >= RELN_PRIME ? x - RELN_PRIME : x;
}

static inline uint64_t reln_mod_add(uint64_t a, uint64_t b)
{
    return reln_mod_reduce(a + b);
}

static inline uint64_t reln_mod_negate(uint64_t a)
{
    return a ? RELN_PRIME - a : 0;
}

/* a b = high 2^61 + low, and 2^61 is 1 */
static inline uint64_t reln_mod_mul(uint64_t a, uint64_t b)
{
    const WideUnsigned product = (WideUnsigned)a * b;

    return reln_mod_reduce((uint64_t)(product & RELN_PRIME) + (uint64_t)(product >> 61));
}

uint64_t reln_mod_inverse(uint64_t a); /* a != 0 */
uint64_t reln_mod_fraction(int64_t num, int64_t den);
/* Finds the fraction num / den = x of the field with |num|, den <= 2^29; false when there is none. It is
 * unique. */
bool reln_mod_reconstruct(uint64_t x, int64_t *num, int64_t *den);

/* A ModVector is a sparse vector: values at ascending positions. */
typedef struct ModVector {
    int count;
    int *at;
    uint64_t *value;
} ModVector;

/* A linear operator on vectors of a given length: adds f A e_at to a sum, by reln_mod_put(). */
typedef struct ModSum ModSum;
typedef void (*ModApply)(const void *self, int generator, int at, uint64_t f, ModSum *sum);
void reln_mod_put(ModSum *sum, int at, uint64_t value);

typedef struct ModProblem {
    int length;       /* length of the vectors */
    int n_generators; /* operators whose common kernel is wanted, in the order in which they are used */
    ModApply apply;
    const void *self;
    double budget; /* limit on the multiplications */
} ModProblem;

/* Computes the reduced echelon form of the common kernel, in the arena: leading ones at ascending positions,
 * alone in their columns. *done is false when the budget was not enough. */
RelnStatus reln_mod_kernel(RelnArena *arena, const ModProblem *problem, int *count,
                           ModVector **rows, bool *done);

#endif
