/* settle.h -- constants on their way into a graph. */
#ifndef REP_SETTLE_H
#define REP_SETTLE_H

#include "rep/rep.h"

/* What is stored of a constant. */
typedef struct RelnSettled {
    int count;
    const RelnEntry *entries; /* those given, or the projection's in the arena */
    double residual; /* of the worst cell, in units of its own terms; 0 where it is exact */
    /* The exact intertwiner that the entries are the rounding of: entry e is numerators[e] / denominator * 2^exponent.
     * NULL: none is known. Verified in integers. */
    const int64_t *numerators;
    int64_t denominator;
    int exponent;
} RelnSettled;

/* Settles a linear (v NULL) or bilinear constant. It is kept where its residual is rounding, and where the space of
 * equivariant maps is too large to be solved quickly; replaced by its projection on that space elsewhere; and the
 * verdict says why when it is neither. A constant of a rep is a linear map from one invariant.
 *
 * Where the reps are fractions, what is stored is the rounding of an exact intertwiner: of the numbers as they are, where
 * those are one; of the fractions that they are the rounding of, where those are; else of a combination of the solved
 * maps. */
RelnStatus reln_settle(RelnArena *arena, const RelnRep *u, const RelnRep *v, const RelnRep *w,
                       int count, const RelnEntry *entries, RelnSettled *out, RelnVerdict *verdict);

/* Does the carried exact form hold: is it an intertwiner, in integers, and are the entries its rounding, to within `units`
 * units in the last place? False too where there is none. */
RelnStatus reln_settled_holds(const RelnRep *u, const RelnRep *v, const RelnRep *w,
                              const RelnSettled *settled, const RelnEntry *entries, int units,
                              bool *holds);

#endif
