/* make.h -- how a rep is made: its matrices are filled into temporary memory, and the complete rep is
 * interned by the group. */
#ifndef REP_MAKE_H
#define REP_MAKE_H

#include "rep/rep.h"

/* An algebra counts as normalised by the group, and a generator as inside a span, below this relative
 * residual. */
#define SPAN_RESIDUAL 1e-10
/* Coordinates below this share count as rounding of zero. */
#define COORDINATE_NOISE 1e-14

/* A Candidate holds matrices, in temporary memory, that may become a rep. */
typedef struct Candidate {
    RelnGroup *group;
    RelnArena *scratch;
    int dim;
    double *lie, *discrete, *inverse;
    bool made; /* made from exact parts: its entries are fractions, and the doubles are their rounding */
} Candidate;

/* Fills the matrices of a candidate from the arguments of the function that makes the rep. */
typedef RelnStatus (*Fill)(const void *given, Candidate *c);

static inline ptrdiff_t square(int dim)
{
    return (ptrdiff_t)dim * dim;
}

/* Returns the rep with these matrices and this name (as for printf()), or an equal rep that the group already
 * has; NULL with the reason in the context. */
const RelnRep *reln_rep_make(RelnGroup *group, int dim, Fill fill, const void *given,
                             const char *format, ...) __attribute__((format(printf, 5, 6)));
bool reln_candidate_finite(const Candidate *c);

/* out = a (x) b, a (n,n), b (m,m), transposing b if asked */
void reln_kron(int n, const double *a, int m, const double *b, bool transpose, double *out);
/* out += a (x) 1 + 1 (x) b */
void reln_kron_sum(int n, const double *a, int m, const double *b, double *out);

/* A memo records reps made from reps, so that each is made once. */
typedef enum MemoKind { SUM, PRODUCT, SYMMETRIC, ANTISYMMETRIC } MemoKind;
/* Returns NULL when the rep has not been made yet. */
const RelnRep *reln_rep_recall(MemoKind kind, const RelnRep *a, const RelnRep *b, int power);
/* Records the result and returns it; a NULL result is not recorded. */
const RelnRep *reln_rep_remember(MemoKind kind, const RelnRep *a, const RelnRep *b, int power,
                                 const RelnRep *result);

#endif
