/* rep.h -- what groups, reps, the checker and the solver share. */
#ifndef REP_REP_H
#define REP_REP_H

#include "base/base.h"
#include "reln/rep.h"

/* The non-zero entries of a square matrix, line by line. */
typedef struct Sparse {
    const int *start; /* (dim + 1) */
    const int *index; /* position in the line */
    const double *value;
} Sparse;

/* One generator in a rep, as the checker reads it. `norm` bounds the spectral norm: sqrt(|.|_1 |.|_inf). */
typedef struct Action {
    Sparse rows, columns;
    double norm;
} Action;

typedef struct ExactAction ExactAction; /* the same in integers: rep/exact.h */

struct RelnRep {
    RelnGroup *group;
    RelnRep *next; /* in the group's list */
    RelnRep *dual; /* NULL until asked for */
    const char *name;
    const char
        *shown; /* the name for people: with a second one where the rep was asked for in two ways */
    int dim;
    const double *lie;      /* (n_lie, K, K) */
    const double *discrete; /* (n_discrete, K, K) */
    const double *inverse;  /* (n_discrete, K, K): of the discrete ones, so that duals are exact */
    const Action *actions;  /* Lie generators, then discrete ones */
    const ExactAction *exact; /* for each action; NULL: not all entries are known as fractions */
    bool trivial, orthogonal;
};

/* The span of the Lie generators as a space of matrices, made when first needed. */
typedef struct Span {
    int rank;
    const double *coords; /* (n_lie, n*n): matrix to the shortest coordinates in the generators */
    const double *basis;  /* (rank, n_lie): an orthonormal basis of the span, in coordinates */
    /* (n_lie): a generic element; a normal matrix where the span is closed under transposition */
    const double *regular;
} Span;

typedef struct Memo Memo;           /* reps made from reps */
typedef struct MapsNode MapsNode;   /* solved maps */
typedef struct FormsNode FormsNode; /* the invariant forms of reps, and the one that layers use */

struct RelnGroup {
    RelnCtx *ctx;
    RelnArena arena;
    const char *name;
    int n, n_lie, n_discrete;
    const double *lie;      /* (n_lie, n, n) */
    const double *discrete; /* (n_discrete, n, n) */
    const double *inverse;  /* of the discrete ones */
    const double *size;     /* (n_lie): norm of each, 1 for zero: the unit of its actions */
    bool dyadic;            /* every entry is a dyadic number with small terms: see rep/exact.h */
    RelnRep *reps;
    Memo *memos;
    MapsNode *maps;
    FormsNode *forms;
    const Span *span;
};

RelnStatus reln_group_span(RelnGroup *group, const Span **out);
/* Coordinates of a matrix (n, n) in the Lie generators; returns the distance relative to `scale`. */
double reln_span_coords(const RelnGroup *group, const Span *span, const double *matrix,
                        double scale, double *coords);

/* The finite group that matrices generate, breadth first: element 0 is the identity, element e is
 * generator[e] * parent[e]. complete is false when there are more than `limit`. */
typedef struct Closure {
    int count;
    bool complete;
    int *parent, *generator;
    double *matrices; /* (count, dim, dim) */
} Closure;
RelnStatus reln_closure(RelnArena *arena, int dim, int n_generators, const double *generators,
                        int limit, Closure *out);

/* out = sum_i coords[i] * matrices[i], each of `size` numbers. */
void reln_combine(int count, ptrdiff_t size, const double *coords, const double *matrices,
                  double *out);
/* A failure that another way makes good leaves no trace: keep the message before trying, put it back after. */
typedef struct Kept {
    char message[512];
} Kept;
void reln_keep_message(const RelnCtx *ctx, Kept *kept);
void reln_put_back(RelnCtx *ctx, const Kept *kept);

/* Blocks of connected coordinates as disjoint sets: parent[i] leads to the root, the smallest of its set. */
static inline int reln_set_root(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}
static inline void reln_set_join(int *parent, int i, int j)
{
    const int a = reln_set_root(parent, i), b = reln_set_root(parent, j);

    parent[a > b ? a : b] = a > b ? b : a;
}

/* Largest absolute value. */
double reln_largest(ptrdiff_t count, const double *x);

/* What a generator does to each coordinate, its row and column (minus 1 where discrete), must be seen: below 1e-14 of `unit`
 * it is rounding and becomes nothing; from there to 1e-10 it could be either, and a tolerance would call it nothing
 * although powers of it are not. RELN_ERR_NUMERIC then. */
RelnStatus reln_settle_action(RelnCtx *ctx, const char *kind, int generator, int dim, double unit,
                              bool discrete, double *m);

/* The checker on entries in any order; v NULL: a linear map, all j are 0. */
RelnStatus reln_check_entries(const RelnRep *u, const RelnRep *v, const RelnRep *w, int count,
                              const RelnEntry *entries, RelnVerdict *verdict);
/* The same; *own is the worst cell's residual (a block of each rep) in units of that cell's own terms, without allowance for rounding. */
RelnStatus reln_check_cells(const RelnRep *u, const RelnRep *v, const RelnRep *w, int count,
                            const RelnEntry *entries, RelnVerdict *verdict, double *own);

#endif
