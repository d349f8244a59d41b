/* family.h -- named families of algebras, and the names: "gl:3", "so:1,3", "gl:2+so:3".
 *
 * A family is one descriptor in one file; everything else about it is computed from its basis. Groups use the same
 * names and the same parser, and add further families.
 */
#ifndef ALGEBRA_FAMILY_H
#define ALGEBRA_FAMILY_H

#include "base/base.h"

/* A RelnTerm is one part of a name: letters, and up to two sizes after a colon. */
typedef struct RelnTerm {
    char family[16];
    int n_sizes; /* 0, 1 or 2 */
    int size[2];
} RelnTerm;

/* The largest number of terms of a name: each block has at least one row. */
enum { RELN_MAX_TERMS = 64 };

/* Splits a name at its `+`. It checks the grammar only, not which families exist. RELN_ERR_ARG with the text
 * found and the text wanted. A number is read as at most 9999, so later products of sizes cannot overflow. */
RelnStatus reln_name_parse(RelnCtx *ctx, const char *name, RelnTerm *terms, int max, int *count);

/* Writes a term as text: "gl:3", "so:1,3" or "lorentz", for messages. */
void reln_term_text(const RelnTerm *term, char *text, size_t n_bytes);

typedef struct RelnFamily {
    const char *name;   /* the letters: "so" */
    const char *forms;  /* notation: "so:n, so:p,q" */
    const char *wanted; /* admissible sizes in words: "n >= 2, or p + q >= 2" */
    const char *about;  /* one line */
    /* Returns whether the sizes give an algebra of dimension 1 or more. The functions below are called only
     * then. */
    bool (*admits)(const RelnTerm *term);
    int (*n)(const RelnTerm *term);                            /* size of the matrices */
    int (*dim)(const RelnTerm *term);                          /* number of basis matrices */
    void (*basis)(const RelnTerm *term, double *basis);        /* (dim, n, n), zeroed before */
    double (*residual)(const RelnTerm *term, const double *x); /* 0 iff the matrix x is in the algebra */
    int n_discrete; /* largest number of discrete generators for any size */
    /* Writes (count, n, n): one element of each component other than the identity's; returns the count. NULL:
     * connected */
    int (*discrete)(const RelnTerm *term, double *out);
} RelnFamily;

/* Returns the family with these letters; NULL when there is none. */
const RelnFamily *reln_family_find(const char *letters);
/* Returns the i-th family, NULL past the last. */
const RelnFamily *reln_family_at(int i);
/* "gl:n, sl:n, so:n, so:p,q, sp:2m, u:n, su:n" */
void reln_family_list(char *text, size_t n_bytes);

/* Finds the family of a term and checks its sizes against the family and the limits of algebras. RELN_ERR_ARG
 * with the list of families, or with the sizes that the family admits. `name` is the whole name, for the
 * message. */
RelnStatus reln_family_of(RelnCtx *ctx, const char *name, const RelnTerm *term,
                          const RelnFamily **out);

/* Copies matrix x (n,n) to the block at (at, at) of the matrix `sum` (n_sum, n_sum). */
void reln_block_put(int n, const double *x, int at, int n_sum, double *sum);

/* A RelnNamedBasis is the basis (dim, n, n) of a named algebra, its blocks joined, in the arena. */
typedef struct RelnNamedBasis {
    int n, dim;
    double *basis;
} RelnNamedBasis;
RelnStatus reln_family_basis(RelnArena *arena, const char *name, RelnNamedBasis *out);

extern const RelnFamily reln_family_gl, reln_family_sl, reln_family_so, reln_family_sp,
    reln_family_u, reln_family_su;

#endif
