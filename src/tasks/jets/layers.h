/* layers.h -- the parts of the networks for jets: invariants of pairs, norms, messages, four-vectors and bivectors.
 *
 * Four-momenta are kept in double precision, whatever the precision of the network: the product of two particles of a jet is a
 * millionth of the product of their energies. Messages are functions of these products, in the precision of the graph.
 */
#ifndef TASKS_JETS_LAYERS_H
#define TASKS_JETS_LAYERS_H

#include "tasks/jets/jets.h"

/* A JetsNet is a network while it is built. */
typedef struct JetsNet {
    const RelnNet *net;
    RelnGraph *g;
    const JetsModel *model;
    RelnDomain rows, pairs;
    const RelnRep *vector, *bivector;
    RelnNode *scalars;        /* of rows */
    RelnNode *mask;           /* for rows, 0 for padding; NULL: no padding */
    RelnNode *degree, *share; /* for rows, f64: number of other rows; its weight times this number */
} JetsNet;

/* Return a weight matrix "NAME.PART" from U(-1/sqrt(fan_in), 1/sqrt(fan_in)), and a row of them. */
RelnNode *jets_weight(const JetsNet *n, const char *name, const char *part, int in, int out,
                      int fan_in);
RelnNode *jets_bias(const JetsNet *n, const char *name, const char *part, int out, int fan_in);
/* x W + b, parameters "NAME.W" and "NAME.b" */
RelnNode *jets_affine(const JetsNet *n, const char *name, RelnNode *x, int out);

RelnNode *jets_wide(RelnGraph *g, RelnNode *x);   /* in double precision */
RelnNode *jets_narrow(RelnGraph *g, RelnNode *x); /* in the precision of the graph */
RelnNode *jets_psi_node(RelnGraph *g, RelnNode *t);
RelnNode *jets_ones(const JetsNet *n, RelnDomain rows); /* 1 for each row, in double precision */

/* E E' - p.p' for each channel; tr(F F') of bivectors. */
RelnNode *jets_vector_form(const JetsNet *n, RelnNode *x, RelnNode *y);
RelnNode *jets_bivector_form(const JetsNet *n, RelnNode *f, RelnNode *h);
/* The elements of the dual whose pairing is the form with x, or with F. */
RelnNode *jets_lower(const JetsNet *n, RelnNode *x);
RelnNode *jets_lower_bivector(const JetsNet *n, RelnNode *f);
/* The brackets of so(3,2), by grades: x ^ y, F x, [F, H]. */
RelnNode *jets_wedge(const JetsNet *n, RelnNode *x, RelnNode *y);
RelnNode *jets_act(const JetsNet *n, RelnNode *f, RelnNode *x);
RelnNode *jets_commute(const JetsNet *n, RelnNode *f, RelnNode *h);

/* Batch norm of invariants of any domain, without weights: parameters "NAME.gamma", "NAME.beta". */
RelnNode *jets_norm(const JetsNet *n, const char *name, RelnNode *u);

/* A JetsMessages holds the messages of a block: their sums at rows, and factors of moves, `factors` for each
 * pair; NULL if there are none. */
typedef struct JetsMessages {
    RelnNode *sum, *factors;
} JetsMessages;

/* A JetsPairs holds numbers of a pair. */
typedef struct JetsPairs {
    RelnNode *s;              /* (1, k) of pairs */
    RelnNode *first, *second; /* (1, k') of rows: functions of one end; NULL: none */
    bool symmetric;           /* s_ij = s_ji */
} JetsPairs;
JetsMessages jets_messages(const JetsNet *n, const char *name, RelnNode *h, const JetsPairs *pairs,
                           int factors);
/* h + phi([h, sum, more]), with a norm */
RelnNode *jets_update(const JetsNet *n, const char *name, RelnNode *h, RelnNode *sum,
                      RelnNode *more);
/* Means over the other rows: sum_j f_ij x_j, and sum_j f_ij, divided by their number. */
RelnNode *jets_mean_of_others(const JetsNet *n, RelnNode *factor, RelnNode *x);
RelnNode *jets_mean_factor(const JetsNet *n, RelnNode *factor);
/* The mean of (x_i - x_j) f_ij with every component clamped, as published. A padded pair has the factor 0. A
 * graph of the Lorentz group refuses it. */
RelnNode *jets_mean_clamped(const JetsNet *n, RelnNode *factor, RelnNode *x);

#endif
