/* build.h -- declarations that the files which build a model's graph share. */
#ifndef MODEL_BUILD_H
#define MODEL_BUILD_H

#include "model/model.h"

typedef struct Build {
    RelnModel *m;
    RelnGraph *g;
    RelnNet net;
    int tower; /* index of the network that is being built; 0: the first, or the only one */
    RelnModelKind kind; /* of this network */
    int width;
    bool taps;
    RelnSizes sizes;
    RelnDomain rows;             /* of points, where they are a row domain */
    RelnDomain edges;            /* given edges, where there are any */
    RelnNode *from;              /* of each given edge: the point that it is from */
    RelnNode *slots[SLOT_COUNT]; /* slots that are inputs of the graph already; NULL: not yet */
    RelnModelGraph *out;
    int target;        /* index of the target that is being built */
    bool tapped[3];    /* the invariants of samples, points and edges are outputs already */
    RelnNode *weights; /* of the loss; NULL: none, or not asked for yet */
    RelnNode *metric; /* of the errors of the target that is being built; NULL: not asked for yet */
} Build;

/* Networks that are trained side by side: the first, and those beside it. */
enum { TOWERS = 1 + RELN_SPEC_WORDS };

/* A Seen holds the features from which targets are computed: of the sample and, for targets of points and edges, of every point
 * and every edge. */
typedef struct Seen {
    RelnFeatures of[3]; /* by RelnItems */
} Seen;

/* ---- build.c --------------------------------------------------------------------------------------------------------- */

typedef struct Name {
    char text[32];
} Name;

Name reln_build_name(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns the number of networks that are trained side by side. */
int reln_build_towers(const Build *b);
/* Makes tower `i` the network that is being built: its kind, and a prefix of the names of its layers. */
void reln_build_enter(Build *b, int i);
/* Makes the value of a layer an output of the graph, if layers are wanted; returns the node. */
RelnNode *reln_build_tap(Build *b, Name name, RelnNode *node);
/* Allocates scratch memory; a failure fails the graph. */
void *reln_build_scratch(Build *b, size_t count, size_t size);
/* Fails the graph with the context's error if `holds` is false. */
bool reln_build_passed(Build *b, bool holds);
/* Returns the rep of n x n matrices X -> g X g^-1. */
const RelnRep *reln_build_matrix_rep(Build *b);
/* Returns a slot as an input of the graph, in units of its scale; NULL if the slot is empty. */
RelnNode *reln_build_input(Build *b, SlotId id);
/* Returns the invariants so far, together with B(x, x). */
RelnNode *reln_build_invariants(Build *b, RelnFeatures f);
/* Returns the size of B(x, y) for x and y with coordinates of size 1. */
double reln_build_form_size(Build *b);
/* Joins the channels of x and y; either may be NULL. */
RelnNode *reln_build_join(Build *b, RelnNode *x, RelnNode *y);
/* Builds a block of the network `reln`, without dropout. */
RelnFeatures reln_build_complete_block(Build *b, const char *block, RelnFeatures f);
/* Returns the input features and invariants of points; those of samples are repeated for each point. */
RelnFeatures reln_build_features(Build *b);
/* Repeats the value of a sample for each of its points. Returns x if there are no points, and NULL for NULL. */
RelnNode *reln_build_spread(Build *b, RelnNode *x);
/* Returns whether the SPEC has a target of such items. */
bool reln_build_wants(const Build *b, RelnItems items);
/* Builds the steps of a block that follow its linear map. */
RelnNode *reln_build_steps(Build *b, const char *block, RelnNode *x);
/* Applies dropout in training; returns x otherwise. */
RelnNode *reln_build_dropped(const Build *b, RelnNode *x);

/* ---- readout.c ------------------------------------------------------------------------------------------------------- */

/* Builds all targets from the features `seen` of each network, or for an mlp from the numbers `flat`: value and variance become
 * outputs, and the losses that the options ask for are added. */
void reln_build_targets(Build *b, const Seen *seen, RelnNode *flat,
                        const RelnModelOptions *options);

/* Builds the value of the only target of a network along time. */
void reln_build_sequence_target(Build *b, const RelnModelOptions *options);
/* Returns the value of a target from the features of a sample, in units of its standard deviation. */
RelnNode *reln_build_value(Build *b, RelnFeatures f);

/* ---- structured.c ---------------------------------------------------------------------------------------------------- */

/* Returns the scales at which structured networks see invariants, in units of the training data. */
RelnScales reln_build_scales(Build *b);
/* Builds a network whose points exchange information: a set, a graph or a transformer. The features have no x
 * if all targets are invariant. */
Seen reln_build_structured(Build *b);

/* ---- timeline.c ------------------------------------------------------------------------------------------------------ */

/* Builds a network along time, equivariant or plain. Returns the prediction in units of its standard
 * deviation. */
RelnNode *reln_build_sequence(Build *b);
/* Adds the integral of an input over time to a prediction, which then is a correction. */
RelnNode *reln_build_with_estimate(Build *b, RelnNode *y);

#endif
