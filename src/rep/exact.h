/* exact.h -- generators as fractions, maps verified in integers, and spaces of maps solved exactly.
 *
 * Which doubles are fractions? A double is always the dyadic number it stores, so a generator that a user gives counts as
 * exact when its entries are dyadic with small terms: 1, -2, 0.5; the double nearest to 1/3 is not 1/3. A rep that the
 * library makes from exact ones (adjoint, dual, sum, product, powers) has entries that are fractions by construction and
 * doubles that are their rounding, a few units in the last place off at most; there the fraction with a denominator of at
 * most RELN_FRACTION_DENOMINATOR within RELN_FRACTION_ROUNDING is meant. The certificate verifies afterwards, in integers,
 * that the fractions are a representation.
 */
#ifndef REP_EXACT_H
#define REP_EXACT_H

#include "rep/modular.h"
#include "rep/rep.h"

enum { RELN_FRACTION_DENOMINATOR = 4096 };
#define RELN_FRACTION_ROUNDING 1e-13
/* A constant is the rounding of a fraction within this share of itself: 16 units in the last place, what the sums of products
 * leave that forms and structure constants are made by. */
#define RELN_RATIO_ROUNDING (16 * 2.220446049250313e-16)

/* One generator in a rep: numerators of the entries of Action.rows and Action.columns, over one denominator. */
struct ExactAction {
    int64_t den;
    const int64_t *rows, *columns;
};

/* x = num / den: as the dyadic number that the double is, with small terms; or as a fraction up to rounding. */
bool reln_read_dyadic(double x, int64_t *num, int64_t *den);
bool reln_read_fraction(double x, int64_t *num, int64_t *den);
bool reln_read_ratio(double x, int64_t *num,
                     int64_t *den); /* up to rounding of x itself, not of 1 */
/* All of them over one denominator; false when one is no fraction, or terms grow too large. */
typedef bool (*ReadNumber)(double x, int64_t *num, int64_t *den);
bool reln_read_numbers(ReadNumber read, ptrdiff_t count, const double *x, int64_t *num,
                       int64_t *den);
bool reln_all_dyadic(ptrdiff_t count, const double *x);

/* The exact form of a rep's actions, in the group's arena; *out NULL when it has none. `made`: by the library, from exact
 * parts. */
RelnStatus reln_exact_actions(const RelnRep *rep, bool made, const ExactAction **out);

/* Does the map with entry e at (i, j, k) = num[e] over any denominator commute with every generator? In integers, without
 * rounding; v NULL: linear. *holds is also false where a rep is not exact or a number grows beyond 127 bits. */
RelnStatus reln_exact_verify(const RelnRep *u, const RelnRep *v, const RelnRep *w, int count,
                             const RelnEntry *entries, const int64_t *num, bool *holds);

/* What became of an attempt to prove something. */
typedef struct RelnProof {
    bool holds;
    bool rational; /* false: there are no fractions to prove it with */
    int relations; /* verified, each in integers */
    char text[192];
} RelnProof;

/* Are the matrices of a rep a homomorphism: brackets of Lie generators, their conjugation by discrete ones, inverses? */
RelnStatus reln_exact_homomorphism(const RelnRep *rep, RelnProof *out);

/* Does every generator of an exact rep act as nothing, exactly? */
bool reln_exact_trivial(const RelnRep *rep);

/* Blocks of three legs whose invariant tensors are wanted. */
typedef struct ExactLeg {
    const RelnRep *rep;
    int size;
    const int *coords; /* (size): of the rep, rising; no generator leads out of them */
} ExactLeg;

/* Reduced echelon form of the invariant tensors: row t is num[t] / den[t]. */
typedef struct ExactRows {
    int count;
    int32_t *num; /* (count, size0 * size1 * size2) */
    int32_t *den; /* (count) */
    ptrdiff_t *pivots;
} ExactRows;

/* *solved false: the terms of a fraction, or the work, grow too large. */
RelnStatus reln_exact_invariants(RelnArena *arena, const ExactLeg legs[3], ExactRows *out,
                                 bool *solved);

/* The greatest common divisor of two numbers that are not negative; that of a and 0 is a. */
static inline int64_t reln_gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t r = a % b;

        a = b;
        b = r;
    }
    return a;
}

#endif
