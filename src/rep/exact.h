/* exact.h -- generators as fractions, maps verified in integers, and spaces of maps solved exactly.
 *
 * Which doubles are fractions? A double is always the dyadic number that it stores. A generator that a user gives counts as
 * exact when its entries are dyadic with small terms: 1, -2, 0.5; the double nearest to 1/3 is not 1/3. A rep that the
 * library makes from exact ones (adjoint, dual, sum, product, powers) has entries that are fractions by construction, and
 * doubles that differ from them by a few units in the last place at most. There a double stands for the fraction with a
 * denominator of at most RELN_FRACTION_DENOMINATOR within RELN_FRACTION_ROUNDING. The certificate verifies afterwards, in
 * integers, that the fractions are a representation.
 */
#ifndef REP_EXACT_H
#define REP_EXACT_H

#include "rep/modular.h"
#include "rep/rep.h"

enum { RELN_FRACTION_DENOMINATOR = 4096 };
#define RELN_FRACTION_ROUNDING 1e-13
/* A constant counts as the rounding of a fraction if it is within this share of it: 16 units in the last
 * place, the error of the sums of products from which forms and structure constants are computed. */
#define RELN_RATIO_ROUNDING (16 * 2.220446049250313e-16)

/* An ExactAction is one generator in a rep: numerators of the entries of Action.rows and Action.columns, over
 * one denominator. */
struct ExactAction {
    int64_t den;
    const int64_t *rows, *columns;
};

/* Read x as num / den: as the dyadic number that the double is, with small terms; or as a fraction up to
 * rounding. */
bool reln_read_dyadic(double x, int64_t *num, int64_t *den);
bool reln_read_fraction(double x, int64_t *num, int64_t *den);
bool reln_read_ratio(double x, int64_t *num,
                     int64_t *den); /* up to a relative rounding of x */
/* Reads all numbers over one denominator; false when one is not a fraction, or terms grow too large. */
typedef bool (*ReadNumber)(double x, int64_t *num, int64_t *den);
bool reln_read_numbers(ReadNumber read, ptrdiff_t count, const double *x, int64_t *num,
                       int64_t *den);
bool reln_all_dyadic(ptrdiff_t count, const double *x);

/* Sets *out to the exact form of a rep's actions, in the group's arena; NULL when it has none. `made`: the
 * library made the rep from exact parts. */
RelnStatus reln_exact_actions(const RelnRep *rep, bool made, const ExactAction **out);

/* Verifies in integers that the map with entry e at (i, j, k) = num[e], over any denominator, commutes
 * with every generator; v NULL: linear. *holds is also false if a rep is not exact or a number exceeds 127
 * bits. */
RelnStatus reln_exact_verify(const RelnRep *u, const RelnRep *v, const RelnRep *w, int count,
                             const RelnEntry *entries, const int64_t *num, bool *holds);

/* A RelnProof is the outcome of an attempt to prove a claim. */
typedef struct RelnProof {
    bool holds;
    bool rational; /* false: the numbers are not fractions, so there is no proof */
    int relations; /* number of relations verified in integers */
    char text[192];
} RelnProof;

/* Verifies that the matrices of a rep are a homomorphism: brackets of Lie generators, their conjugation by
 * discrete ones, and inverses. */
RelnStatus reln_exact_homomorphism(const RelnRep *rep, RelnProof *out);

/* Returns whether every generator of an exact rep acts trivially, exactly. */
bool reln_exact_trivial(const RelnRep *rep);

/* An ExactLeg is one of three blocks whose invariant tensors are wanted. */
typedef struct ExactLeg {
    const RelnRep *rep;
    int size;
    const int *coords; /* (size): coordinates of the rep, ascending; the generators map their span to
                        * itself */
} ExactLeg;

/* An ExactRows is the reduced echelon form of the invariant tensors: row t is num[t] / den[t]. */
typedef struct ExactRows {
    int count;
    int32_t *num; /* (count, size0 * size1 * size2) */
    int32_t *den; /* (count) */
    ptrdiff_t *pivots;
} ExactRows;

/* *solved is false if the terms of a fraction, or the work, grow too large. */
RelnStatus reln_exact_invariants(RelnArena *arena, const ExactLeg legs[3], ExactRows *out,
                                 bool *solved);

/* Returns the greatest common divisor of two non-negative numbers; gcd(a, 0) is a. */
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
