/* family.h -- named families of algebras, and the names: "gl:3", "so:1,3", "gl:2+so:3".
 *
 * A family is one descriptor in one file; everything else about it is computed from its basis. Groups use the same
 * names and the same parser, and add families of their own.
 */
#ifndef ALGEBRA_FAMILY_H
#define ALGEBRA_FAMILY_H

#include "base/base.h"

/* One part of a name: letters, and up to two sizes after a colon. */
typedef struct RelnTerm {
    char family[16];
    int n_sizes; /* 0, 1 or 2 */
    int size[2];
} RelnTerm;

/* A name has at most this many terms: each block has at least one row. */
enum { RELN_MAX_TERMS = 64 };

/* Splits a name at its `+`; knows the grammar only, not which families there are. RELN_ERR_ARG with what was seen and
 * what is wanted; a number is read as at most 9999, so later products of sizes cannot overflow. */
RelnStatus reln_name_parse(RelnCtx *ctx, const char *name, RelnTerm *terms, int max, int *count);

/* "gl:3", "so:1,3" or "lorentz" again, for messages. */
void reln_term_text(const RelnTerm *term, char *text, size_t n_bytes);

typedef struct RelnFamily {
    const char *name;   /* the letters: "so" */
    const char *forms;  /* how it is written: "so:n, so:p,q" */
    const char *wanted; /* admissible sizes in words: "n >= 2, or p + q >= 2" */
    const char *about;  /* one line */
    /* Do the sizes give an algebra of dimension 1 or more? The functions below are called only then. */
    bool (*admits)(const RelnTerm *term);
    int (*n)(const RelnTerm *term);                            /* size of the matrices */
    int (*dim)(const RelnTerm *term);                          /* number of basis matrices */
    void (*basis)(const RelnTerm *term, double *basis);        /* (dim, n, n), zeroed before */
    double (*residual)(const RelnTerm *term, const double *x); /* 0 iff the matrix x is in it */
    int n_discrete; /* most discrete generators that any size has */
    /* (count, n, n): one element of each component missing from the identity's; returns the count. NULL: connected */
    int (*discrete)(const RelnTerm *term, double *out);
} RelnFamily;

/* The family with these letters; NULL when there is none. */
const RelnFamily *reln_family_find(const char *letters);
/* The i-th family, NULL behind the last. */
const RelnFamily *reln_family_at(int i);
/* "gl:n, sl:n, so:n, so:p,q, sp:2m, u:n, su:n" */
void reln_family_list(char *text, size_t n_bytes);

/* The family of a term with its sizes checked against it and against the limits of algebras. RELN_ERR_ARG with the
 * list of families, or with the sizes that it wants. `name` is the whole name, for the message. */
RelnStatus reln_family_of(RelnCtx *ctx, const char *name, const RelnTerm *term,
                          const RelnFamily **out);

/* Matrix x (n,n), row-major: entry (i,j) of block (at, at) in a matrix of a sum. */
void reln_block_put(int n, const double *x, int at, int n_sum, double *sum);

/* A named algebra, its blocks joined: basis (dim, n, n) in the arena. */
typedef struct RelnNamedBasis {
    int n, dim;
    double *basis;
} RelnNamedBasis;
RelnStatus reln_family_basis(RelnArena *arena, const char *name, RelnNamedBasis *out);

extern const RelnFamily reln_family_gl, reln_family_sl, reln_family_so, reln_family_sp,
    reln_family_u, reln_family_su;

#endif
