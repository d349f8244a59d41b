/* settle.h -- checks and corrects constants before they enter a graph. */
#ifndef REP_SETTLE_H
#define REP_SETTLE_H

#include "rep/rep.h"

/* A RelnSettled is a constant in the form in which a graph stores it. */
typedef struct RelnSettled {
    int count;
    const RelnEntry *entries; /* the given entries, or those of the projection, in the arena */
    double residual; /* residual of the worst cell, in units of its own terms; 0 if exact */
    /* The exact intertwiner of which the entries are the rounding: entry e is numerators[e] / denominator *
     * 2^exponent, verified in integers. NULL: none is known. */
    const int64_t *numerators;
    int64_t denominator;
    int exponent;
} RelnSettled;

/* Settles a linear (v NULL) or bilinear constant. The constant is kept if its residual is rounding, or if the
 * space of equivariant maps is too large to be solved quickly; otherwise it is replaced by its projection on
 * that space. If neither is possible, the verdict says why. A constant of a rep is a linear map from one
 * invariant.
 *
 * If the reps are fractions, the stored numbers are the rounding of an exact intertwiner: of the fractions
 * near the given numbers, of the given numbers themselves, or of a combination of the solved maps. */
RelnStatus reln_settle(RelnArena *arena, const RelnRep *u, const RelnRep *v, const RelnRep *w,
                       int count, const RelnEntry *entries, RelnSettled *out, RelnVerdict *verdict);

/* Verifies the stored exact form: it must be an intertwiner, in integers, and the entries must be its
 * rounding to within `units` units in the last place. False if no exact form is stored. */
RelnStatus reln_settled_holds(const RelnRep *u, const RelnRep *v, const RelnRep *w,
                              const RelnSettled *settled, const RelnEntry *entries, int units,
                              bool *holds);

#endif
