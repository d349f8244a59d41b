/* model.h -- the parts of a model, and how they are made and used. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/base.h"
#include "kit/model.h"

/* Inputs of a graph. An item is (K, C); inputs of one kind are channels of one slot. */
typedef enum SlotId {
    SLOT_X_POINTS, /* features of points */
    SLOT_X,        /* of samples */
    SLOT_S_POINTS, /* invariants of points */
    SLOT_S,
    SLOT_V,         /* vectors as they are, for a vector target */
    SLOT_V_POINTS,  /* vectors of the steps of a sequence as they are */
    SLOT_FLAT,      /* every number of a sample, for an mlp */
    SLOT_REFERENCE, /* Sbar, for covariances that are predicted under general frames; */
    SLOT_PRECISION, /* and its inverse */
    SLOT_COUNT
} SlotId;

typedef struct Slot {
    const char *name;
    bool by_point;
    int k, c;        /* c = 0: not there */
    ptrdiff_t count; /* numbers for each sample, at most */
} Slot;

/* Scratch memory for lifting one sample. */
typedef struct LiftWork {
    int places;          /* for points of a sample */
    double *block;       /* things of one point of an input, prepared */
    double *coordinates; /* of one matrix */
    double *covariances; /* all of the sample */
    double *sbar;        /* their mean */
} LiftWork;

/* The way raw numbers become coordinates: a function of the `count` things of one point, then a linear map. */
typedef RelnStatus Prepare(const RelnModel *m, const LiftWork *w, int count, const double *x,
                           double *out);

typedef struct Lift {
    Prepare *prepare; /* NULL: nothing is done before the map */
    const char *law; /* the identity by which `prepare` follows the symmetry; NULL: it needs none */
    bool matrices;   /* the map takes n x n matrices */
    bool inside;     /* only some matrices are features: each is looked at */
    int size;        /* numbers of one thing that the map takes */
    int channels;    /* such things, at one point */
    SlotId slot;
    int first;   /* its first channel there */
    int vectors; /* its first channel in SLOT_V, or SLOT_V_POINTS of a sequence; -1: not there */
    const double *matrix; /* (K, size); NULL: numbers as they are */
} Lift;

struct RelnModel {
    RelnCtx *ctx;
    RelnArena arena;
    RelnSpec spec;
    RelnShapes shapes;
    RelnConstants constants;
    int basis_dim, n;    /* n: size of the symmetry's matrices */
    double *basis;       /* (basis_dim, n, n), of a symmetry given by one */
    RelnGroup *symmetry; /* acts on raw data */
    RelnGroup *
        group; /* of graphs: diag(g, 1, ...) as large as features are, the symmetry itself where those are no
                             larger; none for an mlp */
    RelnAlgebra *own;      /* the symmetry's algebra; NULL when it has no Lie generators */
    RelnAlgebra *algebra;  /* of features; NULL for an mlp and for vector neurons */
    const RelnRep *vector; /* raw vectors, under `group` */
    const RelnRep *rep;    /* features */
    int points;            /* places for points of a sample; 0: no sets */
    int most;              /* of them that are used; 0: all */
    bool draws;            /* while it learns, at random */
    bool ragged;           /* points are rows, as many as each sample has */
    bool relative;         /* lifts have a reference */
    bool reference;        /* plans of it take the reference kernels */
    char note[256];        /* see reln_model_note() */
    int64_t step;          /* of training, when its weights were the best; -1: not known */
    Slot slots[SLOT_COUNT];
    Lift lift[RELN_SPEC_INPUTS];
    int n_steps;
    RelnStepKind steps[RELN_SPEC_WORDS];
    RelnStore *store;
    char spread_name[RELN_SPEC_TARGETS][RELN_SPEC_NAME + 16]; /* of arrays of variances */
};

static inline bool reln_model_is_mlp(const RelnModel *m)
{
    return m->spec.model.kind == RELN_MODEL_MLP || m->spec.model.kind == RELN_MODEL_RESNET;
}

static inline bool reln_model_is_structured(const RelnModel *m)
{
    return m->spec.model.kind >= RELN_MODEL_SET;
}

/* The dtype of a slot's numbers. Vectors of structured networks are f64: products of four-vectors lose their digits in
 * f32. */
static inline RelnDtype reln_slot_dtype(const RelnModel *m, int slot)
{
    const bool wide = reln_model_is_structured(m) && !m->algebra;

    return wide && (slot == SLOT_X || slot == SLOT_X_POINTS) ? RELN_F64 : m->spec.train.dtype;
}

static inline int reln_model_k(const RelnModel *m)
{
    return reln_rep_dim(m->rep);
}

/* The name of the array of points' masks or counts, "" when there is none. */
const char *reln_model_mask(const RelnModel *m);

/* model.c: size and dimension of a SPEC's symmetry. */
RelnStatus reln_model_probe(RelnCtx *ctx, const RelnSpec *spec, int *n, int *dim);
/* symmetry.c: symmetry, features, group. */
RelnStatus reln_model_make_symmetry(RelnModel *m);
RelnStatus reln_model_setup(RelnModel *m);
/* Diagonal metric eta with g^T eta g = eta for the whole symmetry; false when there is none. metric has n places. */
bool reln_model_metric(const RelnModel *m, double *metric);
/* Do vectors lifted by hat follow the symmetry? */
bool reln_model_hat_fits(const RelnModel *m);

/* slots.c: the lift of every input, checked with the generators; the slots. */
RelnStatus reln_model_plan_lifts(RelnModel *m);

/* build.c: build the network in any store and with any width, to count parameters. */
RelnStatus reln_model_build_in(RelnModel *m, RelnStore *store, int width,
                               const RelnModelOptions *options, RelnModelGraph *out);

/* targets.c: numbers of one thing of a target: 1, n or n n. */
int reln_model_target_size(const RelnModel *m, int target);
/* Do targets need Sbar and its inverse as inputs of the graph? */
bool reln_model_needs_reference(const RelnModel *m);
/* What the network sees of a target: its numbers, or the logarithms of covariances. w->sbar is that of the sample. */
RelnStatus reln_model_lift_target(const RelnModel *m, const LiftWork *w, int target,
                                  const double *t, double *out);
/* Sums over the training rows of one target, and the constants that follow from them. */
typedef struct TargetSums {
    double sum, square, numbers;
    double members[RELN_SPEC_WEIGHTS]; /* of classes with balanced weights: samples of each */
} TargetSums;
RelnStatus reln_target_sums_add(const RelnModel *m, const LiftWork *w, int target, const double *t,
                                TargetSums *sums);
void reln_target_sums_finish(RelnModel *m, int target, const TargetSums *sums);

/* certify.c: claim that every lift follows the symmetry. */
struct RelnClaims;
RelnStatus reln_model_claim_lifts(const RelnModel *m, struct RelnClaims *claims);

/* sample.c: lift one sample. */
RelnStatus reln_lift_work_init(const RelnModel *m, int places, RelnArena *arena, LiftWork *w);
/* raw[i]: the numbers of input i; mask: (places), NULL when all are there. out[slot]: room for slots[].count numbers,
 * of which points that are not there are left out (zero in SLOT_FLAT). `row` is for messages. */
RelnStatus reln_model_lift(const RelnModel *m, const LiftWork *w, ptrdiff_t row,
                           const double *const *raw, const double *mask, double *const *out);

/* Places for points of an input, 1 for an input without. */
static inline int reln_lift_places(const RelnModel *m, const LiftWork *w, int input)
{
    return m->shapes.input[input].points > 0 ? w->places : 1;
}

/* May a file have other places for points than the model? Not where the network has a place for each. */
static inline bool reln_model_places_free(const RelnModel *m)
{
    return m->ragged && !reln_model_is_mlp(m) && m->spec.model.kind != RELN_MODEL_SEQUENCE;
}

#endif
