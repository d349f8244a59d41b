/* rep.h -- structures that groups, reps, the checker and the solver share. */
#ifndef REP_REP_H
#define REP_REP_H

#include "base/base.h"
#include "reln/rep.h"

/* A Sparse holds the non-zero entries of a square matrix, line by line. */
typedef struct Sparse {
    const int *start; /* (dim + 1) */
    const int *index; /* position in the line */
    const double *value;
} Sparse;

/* An Action is one generator in a rep, in the form that the checker reads. `norm` bounds the spectral norm:
 * sqrt(|.|_1 |.|_inf). */
typedef struct Action {
    Sparse rows, columns;
    double norm;
} Action;

typedef struct ExactAction ExactAction; /* the action in integers: rep/exact.h */

struct RelnRep {
    RelnGroup *group;
    RelnRep *next; /* next rep in the group's list */
    RelnRep *dual; /* NULL until asked for */
    const char *name;
    const char
        *shown; /* the name in messages; it has two parts if the rep was asked for in two ways */
    int dim;
    const double *lie;      /* (n_lie, K, K) */
    const double *discrete; /* (n_discrete, K, K) */
    const double *inverse;  /* (n_discrete, K, K): inverses of the discrete matrices, so that duals are
                             * exact */
    const Action *actions;  /* Lie generators, then discrete ones */
    const ExactAction *exact; /* one for each action; NULL: not all entries are known as fractions */
    bool trivial, orthogonal;
};

/* A Span is the span of the Lie generators as a space of matrices, made when first needed. */
typedef struct Span {
    int rank;
    const double *coords; /* (n_lie, n*n): maps a matrix to its shortest coordinates in the generators */
    const double *basis;  /* (rank, n_lie): an orthonormal basis of the span, in coordinates */
    /* (n_lie): a generic element; it is a normal matrix if the span is closed under transposition */
    const double *regular;
} Span;

typedef struct Memo Memo;           /* record of reps made from reps */
typedef struct MapsNode MapsNode;   /* solved maps */
typedef struct FormsNode FormsNode; /* invariant forms of reps, and their default form */

struct RelnGroup {
    RelnCtx *ctx;
    RelnArena arena;
    const char *name;
    int n, n_lie, n_discrete;
    const double *lie;      /* (n_lie, n, n) */
    const double *discrete; /* (n_discrete, n, n) */
    const double *inverse;  /* inverses of the discrete matrices */
    const double *size;     /* (n_lie): norm of each Lie generator, 1 for a zero one: the unit of its
                             * actions */
    bool dyadic;            /* every entry is a dyadic number with small terms: see rep/exact.h */
    RelnRep *reps;
    Memo *memos;
    MapsNode *maps;
    FormsNode *forms;
    const Span *span;
};

RelnStatus reln_group_span(RelnGroup *group, const Span **out);
/* Computes the coordinates of a matrix (n, n) in the Lie generators; returns its distance from the span
 * relative to `scale`. */
double reln_span_coords(const RelnGroup *group, const Span *span, const double *matrix,
                        double scale, double *coords);

/* A Closure is the finite group that matrices generate, breadth first: element 0 is the identity, element e
 * is generator[e] * parent[e]. `complete` is false when there are more than `limit` elements. */
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
/* A Kept saves the message of the context before an attempt that may fail, and restores it when another
 * method succeeds. */
typedef struct Kept {
    char message[512];
} Kept;
void reln_keep_message(const RelnCtx *ctx, Kept *kept);
void reln_put_back(RelnCtx *ctx, const Kept *kept);

/* Blocks of connected coordinates are disjoint sets: parent[i] leads to the root, the smallest coordinate of
 * its set. */
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

/* Returns the largest absolute value. */
double reln_largest(ptrdiff_t count, const double *x);

/* The effect of a generator on each coordinate (its row and column, minus 1 if discrete) must be clear. Below
 * 1e-14 of `unit` it is rounding and is set to zero. From there to 1e-10 it is ambiguous: a tolerance would
 * ignore it although powers of it are not negligible. Then the function fails with RELN_ERR_NUMERIC. */
RelnStatus reln_settle_action(RelnCtx *ctx, const char *kind, int generator, int dim, double unit,
                              bool discrete, double *m);

/* Checks entries in any order; v NULL: a linear map, all j are 0. */
RelnStatus reln_check_entries(const RelnRep *u, const RelnRep *v, const RelnRep *w, int count,
                              const RelnEntry *entries, RelnVerdict *verdict);
/* Checks like reln_check_entries(). *own is the residual of the worst cell (a block of each rep) in units of
 * that cell's own terms, without allowance for rounding. */
RelnStatus reln_check_cells(const RelnRep *u, const RelnRep *v, const RelnRep *w, int count,
                            const RelnEntry *entries, RelnVerdict *verdict, double *own);

#endif
