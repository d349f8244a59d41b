/* kinds.h -- the kinds of inputs and targets: one table, from which words, shapes, messages, lifts, checks
 * and the action of the symmetry are taken. */
#ifndef MODEL_KINDS_H
#define MODEL_KINDS_H

#include "base/base.h"
#include "model/model.h"
#include "reln/random.h"

/* Extents that depend on the symmetry: n, the size of its matrices, and dim, its number of Lie generators. */
enum { AXIS_N = -1, AXIS_DIM = -2, KIND_AXES = 2 };

/* The features that a kind needs. The smallest algebra that accepts all inputs is chosen by this. */
typedef enum Feature { FEATURE_SCALAR, FEATURE_ELEMENT, FEATURE_VECTOR, FEATURE_MATRIX } Feature;

/* A change of frame: the first n x n block of g and of its inverse, which are size x size. */
typedef struct Frame {
    const double *g, *inverse;
    int n, size;
} Frame;

typedef struct InputKind {
    const char *word;
    const char *help;    /* description, and how g acts on it */
    int axes[KIND_AXES]; /* extents of one value: AXIS_N, AXIS_DIM or a number; 0: no more axes */
    Feature feature;
    bool as_is; /* is itself a vector, from which a target vector can be made */
    /* Checks that the symmetry acts on this kind. NULL: every symmetry does. */
    RelnStatus (*fits)(const RelnModel *m, const char *name);
    /* The function applied to its numbers before the linear map, also for an mlp. NULL: none. */
    void (*before)(const RelnModel *m, const RelnSpecInput *in, Lift *lift);
    /* The linear map into the features. NULL: the numbers are invariants. */
    RelnStatus (*lift)(RelnModel *m, const RelnSpecInput *in, Lift *lift);
    /* Acts with g on one value, in place. NULL: g leaves it unchanged. */
    RelnStatus (*act)(const RelnModel *m, const Frame *f, double *x);
    /* Checks one value of finite numbers. NULL: every value is valid. */
    RelnStatus (*check)(RelnCtx *ctx, int n, const char *name, ptrdiff_t row, const double *x);
    /* Draws a random value with numbers of size 1. NULL: normal numbers of the size of the training data. */
    void (*draw)(RelnRng *rng, int n, double *x);
    /* Projects numbers with small errors to the nearest value of the kind. NULL: nothing to do. */
    void (*mend)(int n, double *x);
} InputKind;

typedef struct TargetKind {
    const char *word;
    RelnAs as; /* the kind of one of its values */
} TargetKind;

const InputKind *reln_input_kind(RelnAs as);
const TargetKind *reln_target_kind(RelnTargetAs as);

/* The words in the order of the enums, terminated by NULL. */
extern const char *const reln_input_words[], *const reln_target_words[];

/* Writes the extents of one value to `dims`; returns their number. */
int reln_kind_dims(RelnAs as, int n, int dim, int dims[KIND_AXES]);
int reln_kind_size(RelnAs as, int n, int dim);                    /* their product */
const char *reln_kind_extents(RelnAs as, char *out, size_t size); /* "(n, n)"; "" for a number */

/* kinds.c: acts with g on `count` numbers, `size` for each value, in place. */
RelnStatus reln_kind_act(const RelnModel *m, RelnAs as, const RelnElement *g, ptrdiff_t count,
                         ptrdiff_t size, double *values);
/* Checks that the symmetry acts on every input of the model. */
RelnStatus reln_kinds_fit(const RelnModel *m);
/* Draws `count` random numbers of an input, of the size of the training data. */
void reln_input_draw(const RelnModel *m, int input, RelnRng *rng, ptrdiff_t count, double *x);
/* Projects `count` numbers of an input, which were changed a little, to the nearest values of its kind. */
void reln_input_mend(const RelnModel *m, int input, ptrdiff_t count, double *x);

/* lifts.c: the lifts of the table. */
RelnStatus reln_plan_matrix(RelnModel *m, const RelnSpecInput *in, Lift *lift);
RelnStatus reln_plan_element(RelnModel *m, const RelnSpecInput *in, Lift *lift);
RelnStatus reln_plan_vector(RelnModel *m, const RelnSpecInput *in, Lift *lift);
RelnStatus reln_plan_covariance(RelnModel *m, const RelnSpecInput *in, Lift *lift);
void reln_before_covariance(const RelnModel *m, const RelnSpecInput *in, Lift *lift);
void reln_before_attitude(const RelnModel *m, const RelnSpecInput *in, Lift *lift);

#endif
