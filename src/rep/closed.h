/* closed.h -- a span of matrices that is being closed, over doubles, residues or whole numbers.
 *
 * One algorithm (closed.c) closes the span and uses a table of functions for its arithmetic: doubles decide by size
 * (closed_real.c); residues modulo a prime decide exactly, and whole numbers then verify the result (closed_exact.c).
 */
#ifndef REP_CLOSED_H
#define REP_CLOSED_H

#include "rep/modular.h"
#include "rep/rep.h"

typedef union Word {
    double real;
    uint64_t residue;
    Wide whole;
} Word;

typedef struct Space Space;

typedef struct Field {
    void (*product)(Space *s, const Word *a, const Word *b, Word *c); /* c = a b, matrices */
    void (*add)(Space *s, Word *a, bool minus, const Word *b);        /* a += b, or a -= b */
    bool (*has_trace)(const Space *s, const Word *a);
    /* Adds z, which is overwritten, to the span; sets *grew if z was outside. */
    RelnStatus (*insert)(Space *s, Word *z, bool *grew);
} Field;

struct Space {
    const Field *field;
    RelnArena *arena;
    int n, count, capacity;
    Word *rows;  /* (capacity, n*n): a basis */
    int *pivots; /* (capacity): position of the first non-zero entry of a row; residues and whole numbers
                  * only */
    Word *one;   /* (n, n) */
    Word *work;  /* (3, n, n) */
    bool failed; /* whole numbers: a matrix is outside the span, or a number exceeded 127 bits */
    Wide common; /* whole numbers: a multiple of all leading numbers */
};

/* A Closing lists the matrices (count, n, n) to close, the generators (discrete ones with their inverses) and
 * the layers. */
typedef struct Closing {
    int count, n_lie, n_discrete;
    const Word *matrices, *lie, *discrete, *inverse;
    unsigned layers;
} Closing;

RelnStatus reln_space_init(RelnArena *arena, const Field *field, int n, Space *out);
static inline Word *reln_space_row(const Space *s, int i)
{
    return s->rows + (ptrdiff_t)i * s->n * s->n;
}
/* Extends the span until it is closed. RELN_ERR_UNSUPPORTED when it has more dimensions than an algebra may
 * have. */
RelnStatus reln_space_close(Space *s, const Closing *of);

/* Computes the basis (*dim, n, n) in doubles, in the arena, in reduced echelon form. */
RelnStatus reln_closed_real(RelnArena *arena, const RelnGroup *group, const RelnClosing *of,
                            int *dim, double **basis);
/* Computes the basis exactly, each row scaled to whole numbers without a common factor. *exact is false if
 * the matrices or generators are not fractions, or if numbers grow too large. */
RelnStatus reln_closed_exact(RelnArena *arena, const RelnGroup *group, const RelnClosing *of,
                             int *dim, double **basis, bool *exact);

#endif
