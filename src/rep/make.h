/* make.h -- how a rep is made: matrices in memory that is given back, interned by the group when they are complete. */
#ifndef REP_MAKE_H
#define REP_MAKE_H

#include "rep/rep.h"

/* An algebra counts as normalised by the group, a generator as inside a span, below this share. */
#define SPAN_RESIDUAL 1e-10
/* Rounding left in coordinates that are zero. */
#define COORDINATE_NOISE 1e-14

/* Matrices that may become a rep, in memory that is given back. */
typedef struct Candidate {
    RelnGroup *group;
    RelnArena *scratch;
    int dim;
    double *lie, *discrete, *inverse;
    bool made; /* from exact parts, so that its entries are fractions and doubles their rounding */
} Candidate;

/* Fills the matrices of a candidate from what a maker was given. */
typedef RelnStatus (*Fill)(const void *given, Candidate *c);

static inline ptrdiff_t square(int dim)
{
    return (ptrdiff_t)dim * dim;
}

/* The rep of these matrices and this name (printf's), the group's own where it has an equal one; NULL with the reason
 * in the context. */
const RelnRep *reln_rep_make(RelnGroup *group, int dim, Fill fill, const void *given,
                             const char *format, ...) __attribute__((format(printf, 5, 6)));
bool reln_candidate_finite(const Candidate *c);

/* out = a (x) b, a (n,n), b (m,m), transposing b if asked */
void reln_kron(int n, const double *a, int m, const double *b, bool transpose, double *out);
/* out += a (x) 1 + 1 (x) b */
void reln_kron_sum(int n, const double *a, int m, const double *b, double *out);

/* Reps made from reps, so that the same one is made once. */
typedef enum MemoKind { SUM, PRODUCT, SYMMETRIC, ANTISYMMETRIC } MemoKind;
/* NULL when it has not been made yet. */
const RelnRep *reln_rep_recall(MemoKind kind, const RelnRep *a, const RelnRep *b, int power);
/* Returns the result, which may be NULL: then nothing is noted. */
const RelnRep *reln_rep_remember(MemoKind kind, const RelnRep *a, const RelnRep *b, int power,
                                 const RelnRep *result);

#endif
