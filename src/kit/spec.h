/* spec.h -- the SPEC of a run: what to learn, from which arrays, and how; as a plain struct and as YAML.
 *
 *     RelnSpec spec;
 *     if (reln_spec_load_with(ctx, "spec.yaml", 0, NULL, &spec) != RELN_OK) puts(reln_ctx_error(ctx));
 *     // "spec.yaml:7: unknown key 'widht' in model; did you mean 'width'?"
 *
 *     symmetry: so:3                                  # the group that acts on the data
 *     inputs:
 *       - {name: v, as: vector}                       # arrays by their names in the data file
 *       - {name: C, as: covariance, log: true}
 *     target: {name: y, as: vector}
 *     model: {width: 32, depth: 2}
 *     train: {epochs: 100, lr: 1e-3}
 *
 * reln_spec_template() is a SPEC with every key, its default and a line of help. Keys, ranges, defaults and help are one
 * table (src/model/spec.c), from which reading, writing and the template are made.
 */
#ifndef KIT_SPEC_H
#define KIT_SPEC_H

#include "kit/doc.h"
#include "reln/nn.h"
#include "reln/train.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    RELN_SPEC_INPUTS = 16,
    RELN_SPEC_NAME = 64,
    RELN_SPEC_PATH = 256,
    RELN_SPEC_WEIGHTS = 64,
    RELN_SPEC_CLASS_NAME = 32,
    RELN_SPEC_TARGETS = 8,
    RELN_SPEC_VALUES = 64, /* numbers of an input that stands in the SPEC */
    RELN_SPEC_QUANTILES = 9,
    RELN_SPEC_WORDS = 8
};

/* The kind of an input, which says how a change of frame g acts on its numbers. */
typedef enum RelnAs {
    RELN_AS_MATRIX,  /* (n, n): X -> g X g^-1 */
    RELN_AS_ELEMENT, /* (dim): coordinates in the basis of the symmetry's algebra, X -> g X g^-1 */
    RELN_AS_VECTOR,  /* (n): v -> g v */
    RELN_AS_COVARIANCE, /* (n, n), symmetric positive definite: S -> g S g^T */
    RELN_AS_FOURVECTOR, /* (4): p -> g p, for lorentz */
    RELN_AS_SCALAR,     /* a number that g does not change */
    RELN_AS_QUATERNION /* (4), w x y z of length 1; q and -q are the same attitude R: R -> g R, for so:3 */
} RelnAs;

typedef enum RelnReference { RELN_REFERENCE_NONE, RELN_REFERENCE_MEAN } RelnReference;

typedef struct RelnSpecInput {
    char name[RELN_SPEC_NAME];
    RelnAs as;
    bool log;                  /* for a covariance: its logarithm is the feature */
    RelnReference reference;   /* for covariances under general frames: the pair lift */
    bool points;               /* a set of points for each sample: (N, P, ...) */
    bool edges;                /* a value for each given edge: (N, E, ...) */
    char mask[RELN_SPEC_NAME]; /* (N, P), 1 for a point, 0 for padding; "": all are points */
    char count
        [RELN_SPEC_NAME]; /* (N,), instead of a mask: the number of points, which are the first places */
    char offsets
        [RELN_SPEC_NAME]; /* (N + 1,), instead of both: the points of all samples are in (T, ...), and those of
                                   * sample i begin at offset i */
    int most;  /* largest number of points of a set that are used, the first ones; 0: all */
    bool draw; /* in training, so many at random, others in each epoch */
    bool
        sequence; /* points in the order of time; for recordings: (T, ...) instead of (N, P, ...) */
    int n_value;  /* numbers of `value`; 0: the input is an array of the data file */
    double value[RELN_SPEC_VALUES]; /* numbers that all samples have: a known direction, (M, ...) */
} RelnSpecInput;

/* How the target of a window is computed from a target (T, ...) of recordings. */
typedef enum RelnSequenceTarget {
    RELN_SEQUENCE_LAST,   /* the value at the last step */
    RELN_SEQUENCE_CHANGE, /* the value at the last step minus that at the first */
    RELN_SEQUENCE_MEAN,   /* the mean over the steps */
    RELN_SEQUENCE_EACH    /* the value at every step */
} RelnSequenceTarget;

/* Settings for points in the order of time, and for cutting windows from recordings. */
typedef struct RelnSpecSequence {
    int length;                /* steps of a window; 0: arrays are (N, P, ...), already cut */
    int stride;                /* steps between the beginnings of windows */
    int jitter;                /* in training, a window begins up to so many steps later */
    char time[RELN_SPEC_NAME]; /* (T,) or (N, P): times of the steps; "": `step` apart */
    char recording
        [RELN_SPEC_NAME]; /* (T,): no window crosses a change of this number; "": one recording */
    double step;
    double gap; /* longest step inside a recording; 0: ten times the median */
    RelnSequenceTarget target;
    char estimate
        [RELN_SPEC_NAME]; /* an input whose integral over the window is the estimate that the network
                                   * corrects */
    bool causal;          /* no step depends on a later one */
    int taps;             /* width of convolutions */
} RelnSpecSequence;

typedef enum RelnTargetAs {
    RELN_TARGET_SCALAR,
    RELN_TARGET_CLASS, /* whole numbers 0 .. classes-1 */
    RELN_TARGET_VECTOR,
    RELN_TARGET_MATRIX,
    RELN_TARGET_COVARIANCE
} RelnTargetAs;

/* The items that have a value of an input or a target, or a weight: one for each sample, point or given edge. */
typedef enum RelnItems { RELN_ITEMS_SAMPLES, RELN_ITEMS_POINTS, RELN_ITEMS_EDGES } RelnItems;

/* The uncertainty of a Gaussian: one variance for each channel, or for a vector an equivariant covariance. */
typedef enum RelnVariance { RELN_VARIANCE_SCALAR, RELN_VARIANCE_COVARIANCE } RelnVariance;

typedef struct RelnSpecTarget {
    char name[RELN_SPEC_NAME];
    RelnTargetAs as;
    bool points; /* of every point of a set: (N, P, ...) */
    bool edges;  /* of every given edge of a graph: (N, E, ...) */
    int classes;
    int n_names; /* number of names: 0, or one for each class */
    char class_name[RELN_SPEC_WEIGHTS][RELN_SPEC_CLASS_NAME];
    int n_weights; /* number of weights: 0, or one for each class */
    double weights[RELN_SPEC_WEIGHTS];
    bool balanced; /* weights are computed from the training data: N / (classes N_c) */
    bool
        normalise; /* divide by mean and deviation (scalars) or size (vectors, matrices) of the training
                    * data */
    double weight; /* factor of its loss in the sum over targets */
    bool own_loss; /* `loss` was given for this target; otherwise that of `train` is used */
    RelnLossKind loss;
    double delta;          /* for huber; 0: that of `train` */
    RelnVariance variance; /* for gaussian */
    int n_quantiles;       /* for the loss quantiles; 0 otherwise */
    double quantiles[RELN_SPEC_QUANTILES];
} RelnSpecTarget;

static inline RelnItems reln_target_items(const RelnSpecTarget *target)
{
    return target->edges    ? RELN_ITEMS_EDGES
           : target->points ? RELN_ITEMS_POINTS
                            : RELN_ITEMS_SAMPLES;
}

static inline RelnItems reln_input_items(const RelnSpecInput *input)
{
    return input->edges ? RELN_ITEMS_EDGES : input->points ? RELN_ITEMS_POINTS : RELN_ITEMS_SAMPLES;
}

typedef enum RelnModelKind {
    RELN_MODEL_RELN,
    RELN_MODEL_LIE_NEURONS,
    RELN_MODEL_VECTOR_NEURONS,
    RELN_MODEL_MLP,
    RELN_MODEL_SEQUENCE,          /* residual blocks of convolutions along time */
    RELN_MODEL_RESNET,            /* the same on plain numbers, not equivariant */
    RELN_MODEL_PLAIN_TRANSFORMER, /* attention among points as plain numbers, not equivariant */
    RELN_MODEL_SET,               /* from here on points are rows that exchange information */
    RELN_MODEL_GRAPH,
    RELN_MODEL_TRANSFORMER,
    RELN_MODEL_MESSAGES /* messages alone, without sums of the set */
} RelnModelKind;

/* A step of a block, after its linear map: a layer of nn.h, by its name. */
typedef enum RelnStepKind {
    RELN_STEP_RELU,
    RELN_STEP_LEAKY,
    RELN_STEP_RMS,
    RELN_STEP_PROJECT,
    RELN_STEP_BRACKET,
    RELN_STEP_PRODUCT,
    RELN_STEP_JORDAN,
    RELN_STEP_TRIPLE,
    RELN_STEP_GATE
} RelnStepKind;

typedef enum RelnPoolKind { RELN_POOL_MEAN, RELN_POOL_MAX, RELN_POOL_SOFTMAX } RelnPoolKind;

typedef struct RelnSpecModel {
    RelnModelKind kind;
    int width;      /* channels; 0: derived from `parameters` */
    int parameters; /* 0: `width` is given; otherwise the width with the nearest number of parameters is
                     * used */
    int depth;      /* number of blocks */
    int n_steps; /* 0: the default of the kind */
    RelnStepKind steps[RELN_SPEC_WORDS];
    RelnPoolKind pool;
    RelnForm form;
    double leak;
    double dropout;  /* share of channels that a block drops in training */
    int head_hidden; /* hidden layers on the invariants */
    int head_width;  /* 0: the width of the model */
    RelnActivation activation;
    int sums;    /* for a set: number of sums among which its points are divided */
    int heads;   /* of a transformer */
    int groups;  /* of points, which exchange information in their place; 0: none */
    int members; /* points of a group */
    int neighbours; /* for a graph: number of nearest points that send to each; 0: all points of the set */
    int n_beside;                          /* further networks, which are trained beside this one */
    RelnModelKind beside[RELN_SPEC_WORDS]; /* their kinds; predictions are the mean of all */
} RelnSpecModel;

typedef enum RelnSpecOptimiser { RELN_SPEC_ADAM, RELN_SPEC_ADAMW, RELN_SPEC_SGD } RelnSpecOptimiser;

typedef enum RelnSpecShuffle { RELN_SHUFFLE_ROWS, RELN_SHUFFLE_BLOCKS } RelnSpecShuffle;

/* RELN_SHUFFLE_BLOCKS permutes blocks of so many consecutive rows, and mixes the rows of so many blocks. */
enum { RELN_SHUFFLE_BLOCK = 1024, RELN_SHUFFLE_WINDOW = 32 };

/* A RelnFold names one of several parts of the samples; the other parts are for training. The parts have
 * equal size and follow the shuffle of the seed (`count` parts), or an array of fold numbers (its name).
 * count 0 and name "": no folds. */
typedef struct RelnFold {
    int count;
    char array[RELN_SPEC_NAME];
    int number; /* from 0 */
} RelnFold;

typedef struct RelnSpecPiece {
    RelnScheduleKind kind;
    double length; /* in epochs or steps, as the run is counted; 0: to the end */
    double floor, factor;
    double period; /* in the same unit as length */
    int patience;
    double scale;
} RelnSpecPiece;

typedef struct RelnSpecTrain {
    int epochs, steps; /* one of them is given; the other is 0 */
    int batch;
    int lanes; /* partial sums of a batch */
    RelnSpecShuffle shuffle;
    RelnSpecOptimiser optimizer;
    double lr;
    double betas[2];
    double epsilon;
    bool epsilon_inside;
    double decay, momentum;
    bool nesterov;
    int n_pieces;
    RelnSpecPiece schedule[RELN_SCHEDULE_MAX];
    double clip; /* 0: none */
    RelnLossKind loss;
    double delta;
    double smoothing;  /* of labels: the share of the truth that all classes have alike */
    double average;    /* share that averages of the weights keep in each step; 0: no averages */
    double validation; /* share of the samples */
    char validation_file[RELN_SPEC_PATH]; /* or a separate file */
    RelnFold fold;                        /* or one of several folds */
    int evaluate;                         /* epochs (or steps) between evaluations */
    int patience;                         /* number of evaluations; 0: never stops early */
    RelnDtype dtype;
    double augment;    /* condition number of the random frames; 0: none */
    double seed;       /* a whole number up to 2^53 */
    double checkpoint; /* seconds between checkpoints */
} RelnSpecTrain;

/* Edges of a graph that are given: (N, E, 2) places of points, from the first to the second. */
typedef struct RelnSpecEdges {
    char name[RELN_SPEC_NAME];  /* "": none are given */
    char mask[RELN_SPEC_NAME];  /* (N, E), 1 where there is an edge; "": all are there */
    char count[RELN_SPEC_NAME]; /* (N,), instead of a mask: how many are edges, the first ones */
    char offsets
        [RELN_SPEC_NAME]; /* (N + 1,), instead of both: the edges of all samples are in (T, 2) */
} RelnSpecEdges;

/* Pre-training without labels: points are hidden, and their inputs are the targets. */
typedef struct RelnSpecPretrain {
    double mask; /* share of the points of each sample that are hidden; 0: no pre-training */
    char place[RELN_SPEC_NAME]; /* the input that says which hidden point is meant */
    double
        noise; /* added to it, in units of its root mean square; 0: it is shown, and not predicted */
} RelnSpecPretrain;

typedef struct RelnSpec {
    char symmetry[RELN_SPEC_NAME]; /* a name of reln_group_create(); "" with a basis */
    char basis[RELN_SPEC_PATH];    /* a .npy file (dim, n, n) */
    char features
        [RELN_SPEC_NAME]; /* a name of reln_algebra_create(); "": the smallest that accepts all inputs */
    int n_inputs;
    RelnSpecInput input[RELN_SPEC_INPUTS];
    int n_targets; /* with `pretrain`, they are made from the inputs */
    RelnSpecTarget target[RELN_SPEC_TARGETS];
    RelnSpecPretrain pretrain;
    char weights
        [RELN_SPEC_NAME]; /* (N,), (N, P) or (N, E), in loss and metrics; "": all count alike */
    RelnSpecEdges edges;
    RelnSpecSequence sequence;
    RelnSpecModel model;
    RelnSpecTrain train;
} RelnSpec;

/* Sets every default; there are no inputs and no symmetry yet. */
void reln_spec_init(RelnSpec *spec);

/* Reads and checks a SPEC. `what` names the text in messages. RELN_ERR_FORMAT, with file and line. */
RelnStatus reln_spec_from_doc(RelnCtx *ctx, const RelnDocNode *root, const char *what,
                              RelnSpec *spec);
/* Reads a file, with keys set before it is checked: "train.lr=1e-3", "inputs.0.as=vector". RELN_ERR_ARG or
 * RELN_ERR_FORMAT names the wrong one. */
RelnStatus reln_spec_load_with(RelnCtx *ctx, const char *path, int n, const char *const *sets,
                               RelnSpec *spec);
/* Checks a part of a SPEC: its keys must be known, and their values in range. */
RelnStatus reln_spec_check_keys(RelnCtx *ctx, const RelnDocNode *root, const char *what);

/* Writes everything, including defaults: reading it back gives the same struct. NULL when memory is out. */
RelnDocNode *reln_spec_to_doc(const RelnSpec *spec, RelnDoc *doc);

/* Writes a commented SPEC, which is itself valid: returns its length, and writes as much as fits, like
 * snprintf(). */
size_t reln_spec_template(char *text, size_t size);

/* ---- settings of training ------------------------------------------------------------------------------------------- */

uint64_t reln_spec_steps(const RelnSpec *spec,
                         uint64_t steps_per_epoch); /* steps of the whole run */
/* Steps between evaluations. */
uint64_t reln_spec_evaluate_every(const RelnSpec *spec, uint64_t steps_per_epoch);
RelnOptimiser reln_spec_optimiser(const RelnSpec *spec);
RelnSchedule reln_spec_schedule(const RelnSpec *spec, uint64_t steps_per_epoch);
/* Returns the loss of a target. Weights and quantiles are borrowed from the spec. */
RelnLoss reln_spec_loss(const RelnSpec *spec, int target);
/* Returns how many numbers the network predicts for each number of the target: its quantiles, or 1. */
int reln_spec_quantiles(const RelnSpecTarget *target);

/* Returns the name of a class, or its number if it has none; `text` is returned. */
const char *reln_spec_class_name(const RelnSpecTarget *target, int class,
                                 char text[RELN_SPEC_CLASS_NAME]);

/* The words of the SPEC: "matrix", "class", "lie-neurons", "rms". */
const char *reln_as_text(RelnAs as);
const char *reln_target_text(RelnTargetAs as);
const char *reln_model_kind_text(RelnModelKind kind);
const char *reln_step_text(RelnStepKind step);
const char *reln_loss_text(RelnLossKind loss);

#ifdef __cplusplus
}
#endif

#endif
