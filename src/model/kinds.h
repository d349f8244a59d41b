/* kinds.h -- the kinds of inputs and targets: one table, from which words, shapes, messages, lifts, checks and the
 * action of the symmetry are taken. */
#ifndef MODEL_KINDS_H
#define MODEL_KINDS_H

#include "base/base.h"
#include "model/model.h"
#include "reln/random.h"

/* Extents of one thing that the symmetry decides: n, the size of its matrices, and dim, its number of Lie generators. */
enum { AXIS_N = -1, AXIS_DIM = -2, KIND_AXES = 2 };

/* Which features a kind needs: the smallest algebra that takes all inputs is chosen by this. */
typedef enum Feature { FEATURE_SCALAR, FEATURE_ELEMENT, FEATURE_VECTOR, FEATURE_MATRIX } Feature;

/* A change of frame: the first n x n block of g and of its inverse, which are size x size. */
typedef struct Frame {
    const double *g, *inverse;
    int n, size;
} Frame;

typedef struct InputKind {
    const char *word;
    const char *help;    /* what it is, and how g acts on it */
    int axes[KIND_AXES]; /* extents of one: AXIS_N, AXIS_DIM or a number; 0: there are no more */
    Feature feature;
    bool as_is; /* is a vector itself, which a vector as target can be made of */
    /* Does the symmetry act on this kind? NULL: every symmetry does. */
    RelnStatus (*fits)(const RelnModel *m, const char *name);
    /* The function applied to its numbers before the linear map, for an mlp too. NULL: none. */
    void (*before)(const RelnModel *m, const RelnSpecInput *in, Lift *lift);
    /* The linear map into the features. NULL: the numbers are invariants. */
    RelnStatus (*lift)(RelnModel *m, const RelnSpecInput *in, Lift *lift);
    /* Acts with g on one thing, in place. NULL: g leaves it unchanged. */
    RelnStatus (*act)(const RelnModel *m, const Frame *f, double *x);
    /* Checks one thing of finite numbers. NULL: every such thing is valid. */
    RelnStatus (*check)(RelnCtx *ctx, int n, const char *name, ptrdiff_t row, const double *x);
    /* Draws a random thing with numbers about 1. NULL: normal numbers as large as those of training. */
    void (*draw)(RelnRng *rng, int n, double *x);
    /* Projects numbers that are a little off to the nearest thing of the kind. NULL: nothing to do. */
    void (*mend)(int n, double *x);
} InputKind;

typedef struct TargetKind {
    const char *word;
    RelnAs as; /* the kind of one of its things */
} TargetKind;

const InputKind *reln_input_kind(RelnAs as);
const TargetKind *reln_target_kind(RelnTargetAs as);

/* The words in the order of the enums, ended by NULL. */
extern const char *const reln_input_words[], *const reln_target_words[];

/* Extents of one thing into `dims`; returns how many there are. */
int reln_kind_dims(RelnAs as, int n, int dim, int dims[KIND_AXES]);
int reln_kind_size(RelnAs as, int n, int dim);                    /* their product */
const char *reln_kind_extents(RelnAs as, char *out, size_t size); /* "(n, n)"; "" for a number */

/* kinds.c: act with g on `count` numbers, `size` of each thing, in place. */
RelnStatus reln_kind_act(const RelnModel *m, RelnAs as, const RelnElement *g, ptrdiff_t count,
                         ptrdiff_t size, double *values);
/* Does the symmetry act on every input of the model? */
RelnStatus reln_kinds_fit(const RelnModel *m);
/* Draw `count` numbers of an input at random, as large as those of training. */
void reln_input_draw(const RelnModel *m, int input, RelnRng *rng, ptrdiff_t count, double *x);
/* Mend `count` numbers of an input that were changed a little, so that every thing is one of its kind again. */
void reln_input_mend(const RelnModel *m, int input, ptrdiff_t count, double *x);

/* lifts.c: the lifts of the table. */
RelnStatus reln_plan_matrix(RelnModel *m, const RelnSpecInput *in, Lift *lift);
RelnStatus reln_plan_element(RelnModel *m, const RelnSpecInput *in, Lift *lift);
RelnStatus reln_plan_vector(RelnModel *m, const RelnSpecInput *in, Lift *lift);
RelnStatus reln_plan_covariance(RelnModel *m, const RelnSpecInput *in, Lift *lift);
void reln_before_covariance(const RelnModel *m, const RelnSpecInput *in, Lift *lift);
void reln_before_attitude(const RelnModel *m, const RelnSpecInput *in, Lift *lift);

#endif
