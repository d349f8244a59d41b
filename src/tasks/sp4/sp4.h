/* sp4.h -- invariant regression on sp(4): the data, and the networks in two equivalent forms. */
#ifndef TASKS_SP4_H
#define TASKS_SP4_H

#include "tasks/task.h"

enum { SP4_N = 4, SP4_K = 10 };

/* ---- data ----------------------------------------------------------------------------------------------------- */

/* The invariants of a pair that the paper's layers can compute: B(X,X), B(X,Y), B(Y,Y), B([X,Y],[X,Y]), with
 * the Killing form 6 tr. */
enum { SP4_WORDS = 4 };

typedef struct Sp4Set {
    ptrdiff_t n;
    double *x;     /* (n, K, 2): coordinates of X and Y, channels last */
    double *y;     /* (n) */
    double *words; /* (n, SP4_WORDS) */
} Sp4Set;

typedef enum Sp4Target {
    SP4_TARGET_CODE, /* sin tr(XX) + cos tr(YY) - tr(YY)^3 / 2 + det(XY) + exp tr(XX) */
    SP4_TARGET_PAPER /* the same with sin tr(XY) */
} Sp4Target;

/* Draws coordinates from U(-spread, spread). With `conjugates`, the second half of the set are the pairs of
 * the first half, each conjugated by a separate g = exp(h), h from the same distribution, as in the published
 * code. The caller clears the set, also after a failure. */
RelnStatus sp4_set_init(Sp4Set *set, const RelnAlgebra *sp4, RelnRng *rng, double spread,
                        ptrdiff_t n, Sp4Target target, bool conjugates);
void sp4_set_clear(Sp4Set *set);

double sp4_target(const RelnAlgebra *sp4, const double *x, const double *y, Sp4Target target);

/* ---- networks --------------------------------------------------------------------------------------------------- */

typedef enum Sp4Kind { SP4_LAYERS, SP4_MLP, SP4_INVARIANTS, SP4_BEST } Sp4Kind;

typedef struct Sp4Model {
    double
        form; /* the form is this factor times tr(XY): 6 for Lie Neurons, 8 for ReLN's 2n tr(XY) - tr X tr
               * Y */
    double rate;
    Sp4Kind kind;
    int width;
    int channels; /* SP4_BEST: channels of elements; width is that of the function of their invariants */
    int hidden;   /* hidden dense layers, and the activation between them */
    RelnActivation activation;
    bool cosine;        /* warm-up and cosine down to 0, instead of a constant rate */
    bool augment;       /* SP4_MLP: half of the training set are conjugates of the other half */
    bool relu, bracket; /* SP4_LAYERS: which of the two blocks exist */
} Sp4Model;

/* Computes "out", one number for each sample, from the input "x" (K, 2): layers of nn.h on elements of
 * sp(4). */
RelnNode *sp4_network(const RelnNet *net, const Sp4Model *model);

/* The same function with the same parameters, from the input "words" alone: NULL unless the model is SP4_LAYERS.
 *
 * Before the bracket every feature is a combination of X and Y with invariant coefficients, and one bracket adds [X,Y]:
 *     z_c = W_Xc X + W_Yc Y,   d = z U: V = W U,   t_c = sum_ij W_ic V_jc B(X_i,X_j)
 *     [z Wb, z Wa]_c = (b_X a_Y - b_Y a_X)_c [X,Y],   B(X,[X,Y]) = B(Y,[X,Y]) = 0
 * so channel mixes act on two rows for each pair instead of ten, and V is computed once a step. */
RelnNode *sp4_network_words(const RelnNet *net, const Sp4Model *model);

#endif
