/* build.h -- declarations that the files which build a model's graph share. */
#ifndef MODEL_BUILD_H
#define MODEL_BUILD_H

#include "model/model.h"

typedef struct Build {
    RelnModel *m;
    RelnGraph *g;
    RelnNet net;
    int width;
    bool taps;
    RelnDomain rows; /* of points, where they are a row domain */
    RelnModelGraph *out;
    RelnNode *input[SLOT_COUNT]; /* those that have been asked for */
} Build;

/* ---- build.c --------------------------------------------------------------------------------------------------------- */

typedef struct Name {
    char text[32];
} Name;

Name reln_build_name(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Make a layer's value an output of the graph, where layers are wanted; returns the node. */
RelnNode *reln_build_tap(Build *b, Name name, RelnNode *node);
/* Allocate scratch memory; a failure fails the graph. */
void *reln_build_scratch(Build *b, size_t count, size_t size);
/* Fail the graph with the context's error where something outside of it has failed. */
bool reln_build_passed(Build *b, bool holds);
/* The rep of n x n matrices X -> g X g^-1. */
const RelnRep *reln_build_matrix_rep(Build *b);
/* A slot as an input of the graph, in units of its scale; NULL when it is empty. */
RelnNode *reln_build_input(Build *b, SlotId id);
/* The invariants so far, together with B(x, x). */
RelnNode *reln_build_invariants(Build *b, RelnFeatures f);
/* What comes in: features and invariants of points, those of samples repeated for each. */
RelnFeatures reln_build_features(Build *b);
/* Our own block, without dropout. */
RelnFeatures reln_build_complete_block(Build *b, const char *block, RelnFeatures f);
/* The steps of a block behind its linear map. */
RelnNode *reln_build_steps(Build *b, const char *block, RelnNode *x);
/* The size of B(x, y) for x and y with coordinates of size 1. */
double reln_build_form_size(Build *b);
/* The channels of both beside each other; either may be NULL. */
RelnNode *reln_build_join(Build *b, RelnNode *x, RelnNode *y);
/* Dropout, only in training. */
RelnNode *reln_build_dropped(const Build *b, RelnNode *x);

/* ---- readout.c ------------------------------------------------------------------------------------------------------- */

/* The prediction in units of its deviation, from the features of a sample. */
RelnNode *reln_build_readout(Build *b, RelnFeatures f);
/* The mean loss of a batch, with the target as an input. */
RelnNode *reln_build_loss(Build *b, RelnNode *y);

/* ---- timeline.c ------------------------------------------------------------------------------------------------------ */

/* Networks along time, equivariant or plain. The prediction, in units of its deviation. */
RelnNode *reln_build_sequence(Build *b);
/* A prediction that corrects the integral of an input over time. */
RelnNode *reln_build_with_estimate(Build *b, RelnNode *y);

/* ---- structured.c ---------------------------------------------------------------------------------------------------- */

/* The scales at which structured networks see invariants, in units of the training data. */
RelnScales reln_build_scales(Build *b);
/* Networks whose points know each other: sets, graphs, transformers. The prediction, in units of its deviation. */
RelnNode *reln_build_structured(Build *b);

#endif
