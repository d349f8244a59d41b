/* model.h -- the parts of a model, and the functions that make and use them. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/base.h"
#include "kit/model.h"

/* A SlotId is an input of a graph. An item is (K, C); inputs of one kind are channels of one slot. */
typedef enum SlotId {
    SLOT_X_POINTS, /* features of points */
    SLOT_X,        /* features of samples */
    SLOT_S_POINTS, /* invariants of points */
    SLOT_S,
    SLOT_X_EDGES,  /* features of given edges */
    SLOT_S_EDGES,  /* invariants of given edges */
    SLOT_V,        /* unchanged vectors, for a vector target */
    SLOT_V_POINTS, /* unchanged vectors of the steps of a sequence */
    SLOT_FLAT,     /* every number of a sample, for an mlp */
    SLOT_REFERENCE, /* the reference Sbar, for covariances that are predicted under general frames; */
    SLOT_PRECISION, /* and its inverse */
    SLOT_COUNT
} SlotId;

typedef struct Slot {
    const char *name;
    RelnItems of;    /* items that have a value in the slot */
    int k, c;        /* c = 0: the slot is empty */
    ptrdiff_t count; /* largest number of numbers for each sample */
} Slot;

/* An Items walks over the items of an input or a target in one sample, in the order of the rows of a graph. */
typedef struct Items {
    const double *mask;   /* places that hold an item; NULL: all do */
    const int32_t *place; /* of edges: their places; NULL: items are in the order of places */
    int end, at;
} Items;

/* A LiftWork is scratch memory for lifting one sample. */
typedef struct LiftWork {
    int places;          /* places for points of a sample */
    int edge_places;     /* places for given edges of a sample */
    const int32_t *edge; /* the given edges of the sample that is lifted: their places, */
    int n_edges;         /* in the order of the rows of a graph */
    double *block;       /* prepared values of one point of an input */
    double *coordinates; /* coordinates of one matrix */
    double *covariances; /* all covariances of the sample */
    double *sbar;        /* their mean */
} LiftWork;

/* A Lift turns raw numbers into coordinates: first `prepare` on the `count` values of one point, then a
 * linear map. */
typedef RelnStatus Prepare(const RelnModel *m, const LiftWork *w, int count, const double *x,
                           double *out);

typedef struct Lift {
    Prepare *prepare; /* NULL: no preparation */
    const char *law;  /* identity by which `prepare` follows the symmetry; NULL: none needed */
    bool matrices;    /* the argument of the map is an n x n matrix */
    bool inside;      /* only some matrices are features: each one is checked */
    int size;         /* numbers of one argument of the map */
    int channels;     /* number of such arguments at one point */
    SlotId slot;
    int first;   /* its first channel in the slot */
    int vectors; /* its first channel in SLOT_V, or SLOT_V_POINTS of a sequence; -1: none */
    const double *matrix; /* (K, size); NULL: numbers are copied */
} Lift;

struct RelnModel {
    RelnCtx *ctx;
    RelnArena arena;
    RelnSpec spec;
    RelnShapes shapes;
    RelnConstants constants;
    int basis_dim, n;    /* n: size of the symmetry's matrices */
    double *basis;       /* (basis_dim, n, n), if the symmetry is given by a basis */
    RelnGroup *symmetry; /* acts on raw data */
    RelnGroup *
        group; /* group of graphs: diag(g, 1, ...) of the size of the features, or the symmetry itself if they
                * are not larger; none for an mlp */
    RelnAlgebra *own;      /* algebra of the symmetry; NULL when it has no Lie generators */
    RelnAlgebra *algebra;  /* algebra of features; NULL for an mlp and for vector neurons */
    const RelnRep *vector; /* rep of raw vectors, under `group` */
    const RelnRep *rep;    /* rep of features */
    int points;            /* places for points of a sample; 0: no sets */
    int most;              /* number of points of a sample that are used; 0: all */
    bool draws;            /* in training, they are drawn at random */
    bool ragged;           /* points are rows, with a separate number for each sample */
    bool relative;         /* lifts use a reference covariance */
    bool reference;        /* its plans use the reference kernels */
    char note[256];        /* see reln_model_note() */
    int64_t step;          /* training step at which its weights were the best; -1: unknown */
    Slot slots[SLOT_COUNT];
    Lift lift[RELN_SPEC_INPUTS];
    int n_steps;
    RelnStepKind steps[RELN_SPEC_WORDS];
    RelnStore *store;
    char spread_name[RELN_SPEC_TARGETS][RELN_SPEC_NAME + 16]; /* names of the arrays of variances */
};

static inline bool reln_model_is_mlp(const RelnModel *m)
{
    return m->spec.model.kind == RELN_MODEL_MLP || m->spec.model.kind == RELN_MODEL_RESNET ||
           m->spec.model.kind == RELN_MODEL_PLAIN_TRANSFORMER;
}

/* Returns whether the points of an mlp are rows, instead of places that each have weights. */
static inline bool reln_model_is_plain_rows(const RelnModel *m)
{
    return m->spec.model.kind == RELN_MODEL_PLAIN_TRANSFORMER;
}

static inline bool reln_model_is_structured(const RelnModel *m)
{
    return m->spec.model.kind >= RELN_MODEL_SET;
}

/* Returns whether the items of a slot are features, on which the symmetry acts by the rep of features. */
static inline bool reln_slot_is_features(int slot)
{
    return slot == SLOT_X || slot == SLOT_X_POINTS || slot == SLOT_X_EDGES;
}

/* Returns the dtype of a slot's numbers. Vectors of structured networks are f64, because products of
 * four-vectors lose digits in f32. */
static inline RelnDtype reln_slot_dtype(const RelnModel *m, int slot)
{
    const bool wide = reln_model_is_structured(m) && !m->algebra;

    return wide && reln_slot_is_features(slot) ? RELN_F64 : m->spec.train.dtype;
}

static inline int reln_model_k(const RelnModel *m)
{
    return reln_rep_dim(m->rep);
}

/* Returns the name of the array of points' masks or counts; "" when there is none. */
const char *reln_model_mask(const RelnModel *m);

/* model.c: computes the matrix size and dimension of a SPEC's symmetry. */
RelnStatus reln_model_probe(RelnCtx *ctx, const RelnSpec *spec, int *n, int *dim);
/* symmetry.c: makes symmetry, features and group. */
RelnStatus reln_model_make_symmetry(RelnModel *m);
RelnStatus reln_model_setup(RelnModel *m);
/* Finds a diagonal metric eta with g^T eta g = eta for the whole symmetry; false when there is none. metric
 * has room for n. */
bool reln_model_metric(const RelnModel *m, double *metric);
/* Returns whether vectors lifted by hat follow the symmetry. */
bool reln_model_hat_fits(const RelnModel *m);

/* slots.c: plans the lift of every input, checked with the generators; and the slots. */
RelnStatus reln_model_plan_lifts(RelnModel *m);

/* build.c: builds the network in any store and with any width, to count parameters. */
RelnStatus reln_model_build_in(RelnModel *m, RelnStore *store, int width,
                               const RelnModelOptions *options, RelnModelGraph *out);

/* targets.c: returns the numbers of one value of a target: 1, n or n n. */
int reln_model_target_size(const RelnModel *m, int target);
/* Returns whether targets need Sbar and its inverse as inputs of the graph. */
bool reln_model_needs_reference(const RelnModel *m);
/* Computes the form of a target that the network sees: its numbers, or the logarithms of covariances. w->sbar
 * is the reference of the sample. */
RelnStatus reln_model_lift_target(const RelnModel *m, const LiftWork *w, int target,
                                  const double *t, double *out);
/* A TargetSums holds sums over the training rows of one target, from which its constants follow. */
typedef struct TargetSums {
    double sum, square, numbers;
    double
        members[RELN_SPEC_WEIGHTS]; /* for classes with balanced weights: samples of each class */
} TargetSums;
/* Adds the numbers of a target at one place, multiplied by the weight of the place. */
RelnStatus reln_target_sums_add(const RelnModel *m, const LiftWork *w, int target, const double *t,
                                double weight, TargetSums *sums);
void reln_target_sums_finish(RelnModel *m, int target, const TargetSums *sums);

/* hide.c: returns whether a target is the way back of the input that keeps its place, in pre-training. */
bool reln_model_is_place(const RelnModel *m, int target);

/* certify.c: claims that every lift follows the symmetry. */
struct RelnClaims;
RelnStatus reln_model_claim_lifts(const RelnModel *m, struct RelnClaims *claims);

/* sample.c: lifts one sample. */
RelnStatus reln_lift_work_init(const RelnModel *m, int places, int edge_places, RelnArena *arena,
                               LiftWork *w);
/* raw[i] holds the numbers of input i; mask (places) marks the existing points, NULL: all. out[slot] has room
 * for slots[].count numbers; missing points are left out (zero in SLOT_FLAT). `row` is for messages. */
RelnStatus reln_model_lift(const RelnModel *m, const LiftWork *w, ptrdiff_t row,
                           const double *const *raw, const double *mask, double *const *out);

/* Returns the places for such items in a sample. */
static inline int reln_work_places(const LiftWork *w, RelnItems items)
{
    return items == RELN_ITEMS_EDGES ? w->edge_places : items == RELN_ITEMS_POINTS ? w->places : 1;
}

/* Returns the places for points or edges of an input; 1 for an input of samples. */
static inline int reln_lift_places(const RelnModel *m, const LiftWork *w, int input)
{
    return reln_work_places(w, reln_input_items(&m->spec.input[input]));
}

/* Begins with the first item of an input in a sample, whose points have this mask (NULL: all are there). */
Items reln_lift_items(const RelnModel *m, const LiftWork *w, int input, const double *mask);
/* Goes to the next item, and returns its place in the file; false: there is none. */
bool reln_items_next(Items *items, int *place);

/* Returns whether a file may have other places for points than the model; not if the network has weights for
 * each place. */
static inline bool reln_model_places_free(const RelnModel *m)
{
    return m->ragged && (!reln_model_is_mlp(m) || reln_model_is_plain_rows(m)) &&
           m->spec.model.kind != RELN_MODEL_SEQUENCE;
}

#endif
