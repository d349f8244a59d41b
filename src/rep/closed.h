/* closed.h -- a span of matrices in the making, over doubles, residues or whole numbers.
 *
 * One algorithm closes it (closed.c) and asks a field for its arithmetic: doubles decide by size (closed_real.c); residues
 * modulo a prime decide exactly, and whole numbers then verify the result (closed_exact.c).
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
    /* z, which is overwritten, joins the span; *grew where it was outside. */
    RelnStatus (*insert)(Space *s, Word *z, bool *grew);
} Field;

struct Space {
    const Field *field;
    RelnArena *arena;
    int n, count, capacity;
    Word *rows;  /* (capacity, n*n): a basis */
    int *pivots; /* (capacity): where a row begins; residues and whole numbers */
    Word *one;   /* (n, n) */
    Word *work;  /* (3, n, n) */
    bool failed; /* whole numbers: something is outside, or grew beyond 127 bits */
    Wide common; /* whole numbers: a multiple of all leading numbers */
};

/* What is closed: matrices (count, n, n), under generators (each with its inverse where discrete) and layers. */
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
/* Grows the span until it is closed. RELN_ERR_UNSUPPORTED when it has more dimensions than an algebra may. */
RelnStatus reln_space_close(Space *s, const Closing *of);

/* The basis (*dim, n, n) in the arena, canonical: reduced echelon form. */
RelnStatus reln_closed_real(RelnArena *arena, const RelnGroup *group, const RelnClosing *of,
                            int *dim, double **basis);
/* The same, each row scaled to whole numbers without a common factor. *exact false: the matrices or generators are no
 * fractions, or numbers grow too large. */
RelnStatus reln_closed_exact(RelnArena *arena, const RelnGroup *group, const RelnClosing *of,
                             int *dim, double **basis, bool *exact);

#endif
