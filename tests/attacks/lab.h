/* lab.h -- graphs that are built to break their symmetry, and the outcome of each attempt.
 * An attack builds a graph for which f(g x) would differ from g f(x). The lab builds it twice, gives x to one
 * and g x to the other, runs both for three steps, so that states and parameters return, and compares the
 * outputs. */
#ifndef TESTS_ATTACKS_LAB_H
#define TESTS_ATTACKS_LAB_H

#include "graph/graph.h"
#include "support/support.h"

typedef enum Answer {
    REFUSED,     /* the graph is refused, with one line that gives the reason */
    EQUIVARIANT, /* the graph is built, perhaps with a projected constant, and f(g x) = g f(x) */
    EVALUATION, /* the graph is built; its exact function is equivariant, but rounding errors are not */
} Answer;

typedef struct Lab {
    RelnCtx *ctx;
    RelnGroup *group, *other; /* other: a second group, so:3 */
    RelnStore *store;
    RelnGraph *g;
    const RelnRep *v, *m;  /* vectors and matrices of the group */
    RelnNode *x, *y, *s;   /* (3, 2, 1, 1, n, 2) vectors twice, (3, 2, 1, 1, 1, 2) invariants */
    RelnNode *big;         /* (3, 2, 1, 1, 1 + n, 2): an invariant and a vector */
    RelnNode *mat;         /* (3, 1, 1, 1, n n, 2): matrices */
    RelnDomain rows;       /* three rows in each sample */
    RelnNode *row, *row_s; /* vectors and invariants of rows */
    RelnNode *index;       /* i32 of rows, into rows */
} Lab;

typedef struct Attack {
    const char *sentence;
    Answer answer;
    const char *group; /* a name, or NULL: `make` makes it */
    RelnNode *(*build)(Lab *l);
    RelnStatus (*make)(RelnCtx *ctx, RelnGroup **out);
    double
        amplified; /* factor by which the graph amplifies rounding, which is not an error; 0: 1 */
} Attack;

/* A number of K equal invariants, or coordinates of a constant, given in place. */
#define NUMBERS(...) ((const double[]){__VA_ARGS__})

RelnNode *lab_const(Lab *l, const RelnRep *rep, const double *values); /* one channel */
RelnNode *lab_state(Lab *l, int k, int c);
RelnNode *lab_param(Lab *l, int k, int c);

/* Returns |f(g x) - g f(x)| / max(|f|, least) for the worst of a few g; NaN if f is not finite; -1 if the
 * attack is refused, with the message. */
enum { LAB_MESSAGE = 600 };
double lab_error(const Attack *a, double least, char message[LAB_MESSAGE]);

/* Runs all attacks as tests named by their sentences. */
int run_attacks(const char *name, const Attack *attacks, size_t count);
#define RUN_ATTACKS(name, attacks) run_attacks(name, attacks, sizeof(attacks) / sizeof *(attacks))

#endif
