/* splats.h -- Gaussian splats: objects, batches of groups, and two masked autoencoders on them.
 *
 * An object is a set of splats (kit/points.h). A batch takes `splats` of each object, chooses `groups` centres by farthest-point
 * sampling and the `members` nearest splats of each centre. A network makes one token from each group; pre-training hides some
 * tokens and reconstructs their splats, a classifier reads all of them.
 */
#ifndef TASKS_SPLATS_SPLATS_H
#define TASKS_SPLATS_SPLATS_H

#include "kit/splats.h"
#include "tasks/experiment.h"

/* ---- networks ------------------------------------------------------------------------------------------------------ */

typedef enum SplatsKind {
    SPLATS_BASELINE, /* Gaussian-MAE: splats as fourteen numbers */
    SPLATS_RELN,     /* splats as matrices in gl(3) */
    SPLATS_NEAREST,  /* five nearest neighbours in a feature of the whole object */
    SPLATS_MAJORITY  /* the most frequent class */
} SplatsKind;

/* Deliberate errors for tests, which break equivariance. */
typedef enum SplatsWrong {
    SPLATS_RIGHT,
    SPLATS_FREE_MASK,   /* a mask token of nine free numbers */
    SPLATS_CLASS_TOKEN, /* a class token of nine free numbers */
    SPLATS_ENTRY_NORM   /* layer norm over the entries of matrices */
} SplatsWrong;

typedef struct SplatsNet {
    SplatsKind kind;
    int splats; /* of an object */
    int groups, members,
        masked; /* members: candidates, from which a soft tokeniser makes `slots` */
    int classes;
    int slots;          /* splats that a masked token reconstructs: its nearest ones */
    int width, scalars; /* of a token; channels of matrices, and number of invariants */
    int depth, decoder; /* blocks */
    int heads;
    int token
        [3]; /* the baseline's tokeniser: 14 -> token[0] -> token[1]; 2 token[1] -> token[2] -> width */
    int embed, head; /* hidden width of positions and of the classifier */
    double skip, dropout;
    bool soft; /* baseline: tokeniser of weighted slots */
    bool all;  /* baseline: all attributes are normalised, not only positions */
    bool full; /* ReLN: the lift with mu mu^T, [mu, log Sigma] and sorted scales; not the paper's */
    bool bracket; /* ReLN: brackets, which distinguish left from right */
    bool
        handed; /* ReLN: the classifier sees products of places and shapes that change sign in a mirror */
    bool killing; /* ReLN: norms, gates and pools use B~ alone, which GL(3) keeps */
    SplatsWrong wrong;
} SplatsNet;

/* Number of scalar inputs of a member. */
enum { SPLATS_SCALARS = 10, SPLATS_SCALARS_PAPER = 7 };

/* Computes logits of the classes, (1, classes). */
RelnNode *splats_classifier(const RelnNet *net, const void *model);
/* Computes the pre-training loss of each sample. */
RelnNode *splats_pretraining(const RelnNet *net, const void *model);

/* A SplatsGuess is a reconstruction: the output of the masked tokens, and its losses; each loss is one number
 * for a sample. */
typedef struct SplatsGuess {
    RelnNode *
        xyz; /* relative to the centre: (masked, slots, 1, 1, 3), or of ReLN (masked, slots, 1, 3, 1) */
    RelnNode *opacity, *colour; /* (masked, slots, 1, 1, 1 and 3) */
    RelnNode *scale, *rotation; /* baseline: (masked, slots, 1, 1, 3 and 4) */
    RelnNode *log;              /* ReLN: (masked, slots, 1, 9, 1), the lifted log Sigma */
    RelnNode
        *losses[5]; /* positions, opacity, scale, rotation, colour; ReLN: log Sigma for scale */
    RelnNode *total;
} SplatsGuess;

/* The parts of both networks, for tests. */
typedef struct SplatsParts {
    RelnFeatures tokens;
    RelnFeatures visible, rebuilt; /* after the encoder's and the decoder's norm */
    RelnNode *features;            /* that the classifier's head reads */
    RelnNode *looks;               /* weights of the last block's attention, (heads on P, R, C) */
    RelnNode *inputs[4];           /* of the classifier: x, c; or of ReLN d, log, s, c */
} SplatsParts;
SplatsGuess splats_baseline_guess(const RelnNet *net, const SplatsNet *m, SplatsParts *parts);
RelnNode *splats_baseline_logits(const RelnNet *net, const SplatsNet *m, SplatsParts *parts);
SplatsGuess splats_reln_guess(const RelnNet *net, const SplatsNet *m, SplatsParts *parts);
RelnNode *splats_reln_logits(const RelnNet *net, const SplatsNet *m, SplatsParts *parts);

/* Layers. */
RelnNode *splats_tokens(const RelnNet *net, const SplatsNet *m, RelnNode *x);
RelnNode *splats_position(const RelnNet *net, const char *name, const SplatsNet *m, RelnNode *c);
/* If `looks` is not NULL, it receives the weights of attention. */
RelnNode *splats_block(const RelnNet *net, const SplatsNet *m, RelnNode *x, double skip,
                       bool decoder, RelnNode **looks);
RelnFeatures splats_reln_block(const RelnNet *net, const SplatsNet *m, RelnFeatures f, double skip,
                               RelnNode **looks);
/* mean over groups of [mean_i min_j |a_i - b_j|^2 + mean_j min_i |a_i - b_j|^2] for (P, Q, 1, K, C) */
RelnNode *splats_chamfer(const RelnNet *net, RelnNode *a, RelnNode *b);
/* The result of attention without the projection: heads of features, invariants or both, for tokens on P. */
typedef struct SplatsLook {
    RelnNode *q, *k, *v; /* k lowered, where q is a feature */
} SplatsLook;
RelnFeatures splats_attend(const RelnNet *net, SplatsLook x, SplatsLook s, int heads, double scale,
                           RelnNode **looks);
RelnNode *splats_head(const RelnNet *net, const SplatsNet *m, RelnNode *s);
/* Declare the inputs "visible" and "hidden", indices of groups; and read x at one of them. */
RelnNode *splats_index(const RelnNet *net, const SplatsNet *m, bool hidden);

/* ---- objects -------------------------------------------------------------------------------------------------------- */

typedef struct SplatsObjects {
    ptrdiff_t n;
    int splats; /* of each */
    int n_classes;
    float *rows;                /* (n, splats, RELN_SPLAT) */
    int32_t *label;             /* (n) */
    const char *const *classes; /* names */
} SplatsObjects;

enum { SPLATS_CLASSES = 10, SPLATS_PAIRS = 5 };
extern const char *const splats_class_names[SPLATS_CLASSES];
/* Draws the object of a procedural class with a number, independently of all other draws. `room` has
 * SPLATS_DRAW_ROOM(n) numbers. */
#define SPLATS_DRAW_ROOM(n) (RELN_SPLATS_ROOM(n) + 3 * (size_t)(n))
void splats_draw(int label, uint64_t seed, uint64_t number, int n, double *room, double *rows);

/* ---- batches --------------------------------------------------------------------------------------------------------- */

typedef enum SplatsTurn {
    SPLATS_ALIGNED,
    SPLATS_TURN_Z,
    SPLATS_TURN_SO3,
    SPLATS_TURN_ANGLE /* by `angle` about a random axis */
} SplatsTurn;

/* A SplatsView says how objects become inputs. */
typedef struct SplatsView {
    const SplatsNet *net;
    const SplatsObjects *objects;
    SplatsTurn turn;
    double angle;
    bool canonical; /* turned to principal axes, after the turn */
    bool
        random; /* random splats instead of farthest points, if an object has more than the network takes */
    bool regroup; /* groups are found after the turn instead of before it */
    uint64_t
        seed; /* seed of turns, choices and masks: drawn by (seed, stream, number of the object) */
    uint64_t stream;
} SplatsView;

/* A SplatsBatch holds the inputs of a batch. */
typedef struct SplatsBatch {
    int n;
    double *x;           /* baseline: (n, groups, members, 14) */
    double *d, *log, *s; /* ReLN: (.., 3), (.., 9), (.., SPLATS_SCALARS) */
    double *c;           /* (n, groups, 3) */
    int32_t *visible, *hidden, *label;
    double *room;
    size_t room_each;
} SplatsBatch;
RelnStatus splats_batch_init(TaskEnv *env, TaskRoom **rooms, const SplatsNet *net, int n,
                             SplatsBatch *out);
/* Fills the batch with n objects; each worker of the pool makes a part of them. */
void splats_batch_fill(RelnPool *pool, const SplatsView *view, const ptrdiff_t *which, int n,
                       SplatsBatch *batch);
ExpSet splats_batch_set(const SplatsNet *net, const SplatsBatch *batch, int n, bool masked,
                        bool label);
/* Constants of the lift (positions divided, log variances centred and divided, least scale). */
#define SPLATS_NEAR 0.25
#define SPLATS_LOG 2.0
#define SPLATS_LEAST 1e-3
#define SPLATS_CENTRE (-6.0) /* 2 log s_ref */

/* Normalises the attributes of one object as the published code does, in place: positions are already centred
 * in the unit ball. `all`: opacity, scale and colour, too. */
void splats_normalise(ptrdiff_t n, double *rows, bool all);
/* Computes the mean of scales and the largest distance from it, by which they are normalised. */
void splats_scale_range(ptrdiff_t n, const double *rows, double mean[3], double *most);

/* Returns the attention weight of each token of the classifier for each other in its last block, mean over
 * heads: (R, C). The baseline's class token is the first. */
RelnNode *splats_looks(const RelnNet *net, const void *model);
/* Reconstructed splats of the hidden groups: (masked, slots, 1, 1, 12), positions relative to the centre and nine numbers
 * of the covariance: the lifted log Sigma of ReLN; scale, rotation and two zeros of the baseline. */
enum { SPLATS_REBUILT = 12 };
RelnNode *splats_rebuilt(const RelnNet *net, const void *model);

#endif
