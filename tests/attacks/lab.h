/* lab.h -- graphs built to break their symmetry, and what became of them.
 *
 * An attack builds a graph for which f(g x) would differ from g f(x). The lab builds it twice, feeds x to one and g x to
 * the other, lets both run three steps, so that state and parameters come back, and compares the outputs.
 */
#ifndef TESTS_ATTACKS_LAB_H
#define TESTS_ATTACKS_LAB_H

#include "graph/graph.h"
#include "support/support.h"

typedef enum Answer {
    REFUSED,     /* it does not build, and one line says why */
    EQUIVARIANT, /* it builds, perhaps with the constant projected, and f(g x) = g f(x) */
    EVALUATION, /* it builds, the real function is equivariant, and floating point does not follow it */
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
    double amplified; /* by how much it amplifies rounding, which is no fault of the graph; 0: 1 */
} Attack;

/* A number of K equal invariants, or coordinates of a constant, given in place. */
#define NUMBERS(...) ((const double[]){__VA_ARGS__})

RelnNode *lab_const(Lab *l, const RelnRep *rep, const double *values); /* one channel */
RelnNode *lab_state(Lab *l, int k, int c);
RelnNode *lab_param(Lab *l, int k, int c);

/* |f(g x) - g f(x)| over the size of f, at least `least`, for the worst of a few g; NaN where f is not finite; -1 when
 * the attack is refused, with the message. */
enum { LAB_MESSAGE = 600 };
double lab_error(const Attack *a, double least, char message[LAB_MESSAGE]);

/* Runs all attacks as tests named by their sentences. */
int run_attacks(const char *name, const Attack *attacks, size_t count);
#define RUN_ATTACKS(name, attacks) run_attacks(name, attacks, sizeof(attacks) / sizeof *(attacks))

#endif
