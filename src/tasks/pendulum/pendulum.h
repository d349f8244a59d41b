/* pendulum.h -- the double spring pendulum: its motion, the data set, networks for its energy, and their evaluation.
 *
 * From data to a result: draw, system, data (the true motion), symmetry, abreast, model (how a network becomes a
 * motion), the architectures mlp, invariant, equivariant and emlp, rollout (errors of motions), cost (operations),
 * row (settings).
 */
#ifndef TASKS_PENDULUM_H
#define TASKS_PENDULUM_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/task.h"

/* ---- draw.c ------------------------------------------------------------------------------------------------------ */

/* The random numbers of the published data set: Mersenne Twister, used like NumPy's first generator. Only for reproducing
 * that data set; everything else here uses reln/random.h.
 *
 *     PendDraw d;
 *     pend_draw_init(&d, 2021);
 *     double x = pend_draw_normal(&d);
 */

enum { PEND_DRAW_WORDS = 624 };

typedef struct PendDraw {
    uint32_t words[PEND_DRAW_WORDS];
    int next;
    bool has_spare; /* normals come in pairs */
    double spare;
} PendDraw;

void pend_draw_init(PendDraw *d, uint32_t seed);
double pend_draw_normal(PendDraw *d);
uint32_t pend_draw_upto(PendDraw *d, uint32_t largest);     /* 0 .. largest */
void pend_draw_permutation(PendDraw *d, int n, int *order); /* of 0 .. n-1 */

/* ---- system.c ---------------------------------------------------------------------------------------------------- */

/* The double spring pendulum in three dimensions, and its motion to rounding.
 *
 *     double z[151 * 12];
 *     pend_motion(&PEND_AS_PUBLISHED, z0, 0.2, 151, z);      // z(0), z(0.2), ..., z(30)
 *
 * A state is z = (x1, x2, p1, p2), twelve numbers. All constants are 1, the pivot is at 0, gravity pulls to -z:
 *     H = |p1|^2/2 + |p2|^2/2 + (|x1| - 1)^2/2 + stiffness/2 (|x1 - x2| - 1)^2 + x1_z + x2_z
 * Papers print a stiffness of 1; the code behind every published number leaves out the 1/2, which makes it 2.
 */

enum { PEND_STATE = 12 };

typedef struct PendSystem {
    double stiffness; /* of the second spring */
} PendSystem;
#define PEND_AS_PUBLISHED ((PendSystem){2.0})
#define PEND_AS_PRINTED ((PendSystem){1.0})

double pend_energy(const PendSystem *s, const double *z);
/* zdot = (dH/dp, -dH/dx) */
void pend_field(const PendSystem *s, const double *z, double *zdot);
/* Angular momentum about the vertical: sum of x p_y - y p_x. */
double pend_spin(const double *z);

/* Computes n states at 0, dt, 2 dt, ..., beginning with z0, by CVODE (Adams, relative tolerance 1e-13).
 * Returns false when the integrator failed or memory was out. */
bool pend_motion(const PendSystem *s, const double *z0, double dt, int n, double *z);
/* Returns whether this build has the integrator. Without it there is no pend_motion(), and no data. */
bool pend_can_move(void);

/* ---- data.c ------------------------------------------------------------------------------------------------------ */

/* The published data set, made again from its seed.
 *
 *     PendData data;
 *     if (pend_data_init(&data, &PEND_AS_PUBLISHED, PEND_DATA_SEED, 500)) ... data.chunks[PEND_TRAIN] ...
 *     pend_data_clear(&data);
 *
 * 5000 systems start at x1 = (0,0,-1.5) + 0.2 N, x2 = (0,0,-3) + 0.2 N, p = 0.4 N and move for 30 time units, seen
 * every 0.2; of the 30 disjoint chunks of five states of each, one is kept, drawn at random. 500 of them train, 500
 * validate, 500 test, 3500 are not used. A test starts where its chunk does, and is compared for 150 states.
 */

enum { PEND_TRAIN, PEND_VALID, PEND_TEST, PEND_SPLITS };
enum { PEND_CHUNK = 5, PEND_CHUNKS = 30, PEND_ROLLOUT = PEND_CHUNK * PEND_CHUNKS };
enum { PEND_SYSTEMS = 5000, PEND_SPLIT = 500, PEND_DATA_SEED = 2021 };
#define PEND_INTERVAL 0.2

/* A PendRow is the origin of a row of a split. */
typedef struct PendRow {
    int system, chunk;
} PendRow;

typedef struct PendData {
    int n; /* rows of every split */
    PendRow rows[PEND_SPLITS][PEND_SPLIT];
    double *chunks[PEND_SPLITS]; /* (n, 5, 12) */
    double *truth; /* (n, 150, 12): the states after the first state of each test chunk */
} PendData;

/* Makes the first n rows of each split, 1 to PEND_SPLIT, of the systems drawn from the seed. Returns false
 * when memory was out; the caller clears the data in either case. */
bool pend_data_init(PendData *data, const PendSystem *system, int seed, int n);
void pend_data_clear(PendData *data);

/* ---- symmetry.c -------------------------------------------------------------------------------------------------- */

/* The groups of the benchmark, acting about the vertical axis on vectors of space. */

typedef enum PendSymmetry {
    PEND_O2,  /* rotations and mirrors */
    PEND_SO2, /* rotations */
    PEND_D6,  /* rotations by 60 degrees, and mirrors */
    PEND_NONE,
    PEND_SYMMETRIES
} PendSymmetry;

/* "o2", "so2", "d6", "none", and a terminating NULL. */
extern const char *const pend_symmetry_words[PEND_SYMMETRIES + 1];

/* Creates the group as 3 x 3 matrices. Caller destroys *out. */
RelnStatus pend_symmetry_group(RelnCtx *ctx, PendSymmetry s, RelnGroup **out);

/* ---- abreast.c --------------------------------------------------------------------------------------------------- */

/* Packs several states into the channels of a node, for networks with few channels.
 *
 *     const int groups = pend_groups(500, 32);                 // 16, the last one not full
 *     pend_pack(500, 32, PEND_STATE, z, packed);               // (500, 12) -> (16, 12, 32)
 *     pend_shares(500, 32, share);                             // (16, 32): weights that turn a mean over groups into one over states
 *
 * Unused places in the last group repeat the last state, with a share of 0. With one state per node nothing changes.
 */

int pend_groups(int n, int abreast);
void pend_pack(int n, int abreast, int per, const double *from, double *to);
void pend_unpack(int n, int abreast, int per, const double *from, double *to);
void pend_shares(int n, int abreast, double *share);

/* ---- model.c ----------------------------------------------------------------------------------------------------- */

/* Networks that learn how a state moves: by an energy H(z), or by the velocity itself.
 *
 *     PendModel m;
 *     pend_model_open(&m, &(PendBuild){.graph = g, .symmetry = PEND_O2}, &pend_mlp);
 *     RelnNode *H = pend_model_energy(&m, z);              // one number for each sample
 *     RelnNode *zdot = pend_model_velocity(&m, z);         // (dH/dp, -dH/dx)
 *     RelnNode *loss = pend_model_loss(&m, chunk, NULL, 2); // of a rollout by Runge and Kutta
 *
 * A state is a node (R = 4, K = 3, C = 1): the vectors x1, x2, p1, p2; or several of them, one in each channel, for an
 * architecture that has no use for channels (abreast.h). An architecture is written once, for any graph:
 * it lists its weights at step level, and computes with what it is given for them, so that the velocity is a function
 * which is planned once, and recomputed, not stored, when it is differentiated.
 */

enum { PEND_WEIGHTS = 56, PEND_VECTORS = 4 };

/* Step-level nodes, read in the order in which they were added. */
typedef struct PendWeights {
    int n, next;
    RelnNode *node[PEND_WEIGHTS];
} PendWeights;

typedef struct PendBuild {
    RelnGraph *graph;
    PendSymmetry symmetry;
    const void *settings; /* the architecture's own */
    int abreast;          /* number of states in the channels of a node; 0 means 1 */
    uint64_t seed;        /* seed of the random numbers that an architecture draws */
} PendBuild;

typedef struct PendArchitecture {
    bool
        typed; /* the group of its graph is the symmetry; otherwise none:3, and types prove nothing */
    bool velocity; /* the value is zdot, four vectors: a neural ODE */
    int abreast;   /* best number of states per node; 0: only one is possible */
    /* Declares parameters, and values computed from them once a step. */
    void (*weights)(const PendBuild *b, PendWeights *w);
    /* Builds the value in b->graph, which may be another graph than the one that lists the weights. */
    RelnNode *(*value)(const PendBuild *b, RelnNode *z, PendWeights *w);
    /* Sets starting values that RelnInit cannot draw, or that depend on the n states to learn from; NULL:
     * none. */
    RelnStatus (*start)(const PendBuild *b, RelnStore *store, int n, const double *states);
} PendArchitecture;

typedef struct PendModel {
    PendBuild build;
    const PendArchitecture *arch;
    PendWeights weights;
    RelnFn *velocity;
} PendModel;

/* Returns false on failure; the message is in the graph. */
bool pend_model_open(PendModel *m, const PendBuild *b, const PendArchitecture *arch);

RelnDims pend_state_dims(int abreast);
const RelnRep *pend_state_rep(RelnGraph *g); /* the group's vectors */

RelnNode *pend_model_energy(PendModel *m, RelnNode *z);   /* NULL for a neural ODE */
RelnNode *pend_model_velocity(PendModel *m, RelnNode *z); /* shape of z, by a call of the function */
/* Computes the same without the call, for a frozen plan that only runs forward. */
RelnNode *pend_model_direct(PendModel *m, RelnNode *z);
/* Takes n steps of length h of the fourth-order Runge-Kutta method. */
RelnNode *pend_model_steps(PendModel *m, RelnNode *z, double h, int n);

/* Returns the mean over the batch and the 5 x 12 numbers of the squared error of a rollout from the first
 * state of `chunk` (P = 5, R = 4, K = 3), with `substeps` steps in each interval. The first state, whose
 * error is 0, is counted. If several chunks are packed, each is weighted with its `share` (C = abreast);
 * NULL: with 1. */
RelnNode *pend_model_loss(PendModel *m, RelnNode *chunk, RelnNode *share, int substeps);

/* ---- for authors of an architecture ----------------------------------------------------------------------------- */

void pend_weights_add(PendWeights *w, RelnNode *node);
RelnNode *pend_weights_take(PendWeights *w);

/* Returns x with the rep of vectors. The dual of an orthogonal rep equals the rep, but rounding can make it
 * another object; the identity map between the two turns a covector back into a vector. */
RelnNode *pend_as_vector(RelnGraph *g, RelnNode *x);

/* A stack of dense layers on invariants, an activation between them: widths[0] numbers to widths[n]. Weights
 * "<name>.<i>.W" from normals of deviation sqrt(2 / (in + out)), "<name>.<i>.b" from 0. */
typedef struct PendDense {
    const char *name;
    int n;
    const int *widths;
    RelnActivation activation;
    bool quiet; /* the last layer, and so the result, starts from 0 */
} PendDense;
void pend_dense_weights(const PendBuild *b, const PendDense *d, PendWeights *w);
RelnNode *pend_dense_value(RelnGraph *g, const PendDense *d, RelnNode *s, PendWeights *w);

/* (K = 3, C = 5): the vectors of a state as channels, and the vertical e. */
enum { PEND_BASE = PEND_VECTORS + 1 };
RelnNode *pend_base_vectors(RelnGraph *g, RelnNode *z);

/* Writes numbers into an entry of a store, in its dtype. Returns false when there is none of that name and
 * size. */
bool pend_store_fill(RelnStore *store, const char *name, size_t count, const double *values);

/* A parameter "<name>.<part>". */
RelnNode *pend_parameter(const PendBuild *b, const char *name, const char *part, RelnDims dims,
                         RelnInit init);

/* ---- mlp.c ------------------------------------------------------------------------------------------------------- */

/* The network without symmetry: 12-128-128-128-1 for an energy (34,817 parameters), ...-12 for a velocity. */

typedef struct PendMlp {
    int width; /* of three hidden layers, with swish */
} PendMlp;

extern const PendArchitecture pend_mlp, pend_mlp_ode;

/* ---- invariant.c ------------------------------------------------------------------------------------------------- */

/* Energies that depend on a state through invariants only: products of vectors, lengths, a dense network.
 *
 * The vectors are combinations of x1, x2, p1, p2 and the vertical e. (hat of a vector is its lift into so(3), where
 * the form is -12 times the dot product, so these products are the pairings B~ of lifted channels.) All rotations
 * and mirrors about e keep every pair: such a network has the symmetry O(2), and so SO(2) and D6.
 */

typedef struct PendPair {
    int a, b; /* indices in the list of vectors */
} PendPair;

typedef struct PendInvariant {
    int n_vectors;
    const double (*vectors)[PEND_BASE]; /* each by its coefficients of x1, x2, p1, p2, e */
    int n_pairs;                        /* 0: all a <= b */
    const PendPair *pairs;
    int n_lengths;      /* number of entries of `lengths` that are used */
    const int *lengths; /* vectors whose length is a further number */
    int hidden, width;
    RelnActivation activation;
    /* H = linear part + share times the dense network, which then starts from 0; the inputs of both are the
     * invariants minus their mean, mixed so that their gradients are uncorrelated over the states to learn
     * from. 0: only the dense network, on the unchanged invariants */
    double share;
} PendInvariant;

extern const PendArchitecture pend_invariant;

/* Factor of the linear part f W. Adam moves every weight by similar steps, so this makes the linear part
 * learn faster than the rest. */
#define PEND_LINEAR_GAIN 4.0

/* The invariants: their number, and their node (K = 1, C = count). */
int pend_features_count(const PendInvariant *s);
RelnNode *pend_features(RelnGraph *g, const PendInvariant *s, RelnNode *z);

/* States "features.mean" (count) and "features.mix" (count, count) for the list of weights, and (f - mean)
 * mix. */
void pend_features_weights(const PendBuild *b, const PendInvariant *s, PendWeights *w);
RelnNode *pend_features_mixed(RelnGraph *g, RelnNode *f, PendWeights *w);
/* Computes them from states: with G the mean over states of grad f_i . grad f_j and f' = f mix, grad f'_i .
 * grad f'_j has the mean 1 for i = j and 0 otherwise. An invariant that depends on those before it is mixed
 * with 0. */
RelnStatus pend_features_start(RelnStore *store, const PendInvariant *s, RelnCtx *ctx, int n,
                               const double *states);

/* The sizes of the networks below. */
#define PEND_PAIRINGS .hidden = 5, .width = 128, .activation = RELN_ACT_SILU
#define PEND_LENGTHS .hidden = 3, .width = 64, .activation = RELN_ACT_SILU, .share = 0.1
#define PEND_SCALARS(f) .hidden = 4, .width = 100, .activation = (f)

/* Seven channels x1, x2, p1, p2, x2 - x1, e, p1 + p2, their 28 pairings, five layers of 128: 69,889 parameters. */
extern const PendInvariant pend_pairings;
/* The same channels, with additional lengths and a linear part. */
extern const PendInvariant pend_lengths;
/* "Scalars" (Villar and others, 2021): 30 numbers, four layers of 100 with relu; the smooth one has swish. */
extern const PendInvariant pend_scalars;

/* ---- equivariant.c ----------------------------------------------------------------------------------------------- */

/* ReLN-HNN with vector features in all layers: mixed, gated and bracketed, with invariants at the end.
 *
 * A vector v is the element hat(v) of so(3), where the bracket is the cross product and the form a multiple of the dot
 * product. A mirror R turns hat(v) into -R hat(v) R^-1: vectors of the state are odd, their brackets even, and
 *     [odd, odd] is even,   [odd, even] is odd,   [even, even] is even.
 * With two streams of features, one of each kind, the network has the full symmetry O(2), proved by the types of its
 * graph. For SO(2) there is no such distinction, and even features are added to odd ones, which breaks mirrors. For
 * D6, numbers of degree six are added, Re (x + iy)^6, the lowest that distinguish a rotation by 60 degrees from others.
 */

typedef struct PendEquivariant {
    int channels, layers; /* of vectors */
    int hidden, width;    /* of the dense network on the invariants; swish */
    double share;         /* factor of the part that is not linear, as in PendInvariant */
} PendEquivariant;

extern const PendArchitecture pend_equivariant;
extern const PendEquivariant pend_equivariant_defaults;
#define PEND_EQUIVARIANT .channels = 16, .layers = 2, .hidden = 2, .width = 64, .share = 0.1

/* ---- emlp.c ------------------------------------------------------------------------------------------------------ */

/* EMLP (Finzi, Welling and Wilson, 2021): dense layers whose matrices are projected on the equivariant ones.
 *
 * Features are tensors of rank 0 to 3 over space, several of each: for 128 numbers 38 scalars, 12 vectors, 3 and 1 of
 * ranks 2 and 3, whatever the group. A block is
 *     lin = W x + b,   pre = lin + B(lin) lin / 10,   out = gated pre
 * where W and b are P w and P b, with P the orthogonal projector on the invariant tensors of the group; the free w is
 * trained, and projected once a step. Energy: three blocks and a last linear layer, 55,569 parameters.
 */

enum { PEND_RANKS = 4, PEND_EMLP_BLOCKS = 3 };

/* The number of tensors of each rank. */
typedef struct PendTensors {
    int n[PEND_RANKS];
} PendTensors;

typedef struct PendEmlp {
    int width; /* numbers of a hidden feature */
} PendEmlp;

extern const PendArchitecture pend_emlp, pend_emlp_ode;
extern const PendEmlp pend_emlp_published; /* 128 */

/* Returns EMLP's choice for so many numbers: equal shares for all ranks that fit, then again for the rest. */
PendTensors pend_tensors_uniform(int width);
int pend_tensors_size(const PendTensors *t);
PendTensors
pend_tensors_gated(const PendTensors *t); /* one more scalar for every tensor that is not a scalar */
int pend_tensors_chosen(const PendTensors *t,
                        int rank); /* number used by the bilinear layer: at most the number of coordinates */

/* Computes P (3^k, 3^k), the projector on the invariant tensors of rank k, with the library's solver. `count`
 * is their dimension. Caller frees *out. */
RelnStatus pend_projector(RelnCtx *ctx, PendSymmetry symmetry, int rank, double **out, int *count);

/* ---- rollout.c --------------------------------------------------------------------------------------------------- */

/* A learned motion over the whole time, and its distance from the true one.
 *
 *     PendRollout r = {.plan = plan, .n = 500, .abreast = 1, .h = 0.05};  // its input is "z", its output "out"
 *     pend_rollout(&r, starts, z);                            // (n, 150, 12)
 *     PendErrors e = pend_errors(&PEND_AS_PUBLISHED, z, data.truth, 500);
 *
 * The error of one state is e = |zhat - z| / (|zhat| + |z|), between 0 and 1. Numbers of the literature are geometric
 * means of max(e, c) over all motions and all 150 times, including the first, where e is 0: so they depend on c.
 */

typedef struct PendRollout {
    RelnPlan *plan;
    RelnDtype dtype; /* of its output */
    int n, abreast;  /* motions, which advance together; number of them in the channels of z */
    double h;        /* largest step of the Runge-Kutta method */
} PendRollout;

/* Computes all motions. States are summed in double precision, whatever the network computes in. z: (n, 150,
 * 12). */
RelnStatus pend_rollout(const PendRollout *r, const double *starts, double *z);

typedef struct PendErrors {
    double table;  /* c = 1e-5: the numbers of published tables */
    double log;    /* c = 1e-7: the numbers of training logs */
    double moving; /* without the first state, c = 1e-7 */
    double
        energy; /* largest |H(zhat(t)) - H(zhat(0))|, mean over the motions; H is the true energy */
    double spin;             /* the same for the angular momentum about the vertical */
    double at[PEND_ROLLOUT]; /* geometric mean over the motions, by time; c = 1e-7 */
} PendErrors;

/* Computes the errors. A motion that is not finite counts as e = 1 from there on. */
PendErrors pend_errors(const PendSystem *system, const double *z, const double *truth, int n);

/* ---- cost.c ------------------------------------------------------------------------------------------------------ */

/* The cost of an evaluation of H, counted as the literature does. */

/* Returns the operations of one H(z): products of matrices and vectors count twice, a swish four times,
 * additions of biases not at all. 12-128-128-128-1: 70,400. */
double pend_flops_dense(int n, const int *widths);

/* Returns the operations of EMLP, with the projection Q (Q^T w) of all weights in every call, as published,
 * or without: 1,589,909 for D6 and 379,649. dims[k] is the dimension of the invariant tensors of rank k. */
double pend_flops_emlp(const PendTensors *hidden, const int dims[2 * PEND_RANKS - 1],
                       bool projected);

/* ---- row.c ------------------------------------------------------------------------------------------------------- */

typedef enum PendArch {
    PEND_ARCH_MLP,
    PEND_ARCH_MLP_ODE,
    PEND_ARCH_EMLP,
    PEND_ARCH_EMLP_ODE,
    PEND_ARCH_INVARIANT,
    PEND_ARCH_EQUIVARIANT
} PendArch;

/* The invariants that an energy uses. */
typedef enum PendFeatures {
    PEND_FEATURES_NONE,
    PEND_FEATURES_PAIRINGS,
    PEND_FEATURES_LENGTHS,
    PEND_FEATURES_SCALARS
} PendFeatures;

typedef enum PendSchedule {
    PEND_COSINE,
    PEND_CONSTANT,
    PEND_PIECES /* schedule of Scalars: 0.4 of the rate after a tenth of the steps, 0.1 of it after half */
} PendSchedule;

/* Settings of a row of either table. The second half of the numbers is used for training only. */
typedef struct PendRowSettings {
    double share; /* as in PendInvariant and PendEquivariant */
    double rate;
    PendArch arch;
    PendFeatures features;
    PendSymmetry symmetry; /* PEND_NONE: the row is shown for every group */
    int hidden, width, channels, layers;
    RelnActivation activation;
    PendSchedule schedule;
    int substeps; /* Runge-Kutta steps per interval of 0.2 in training; error 2e-4 with one, 1e-5 with two */
    bool published; /* eps = 1e-8 inside Adam's root, and the last weights; otherwise the best weights */
    bool per_call;  /* for costs: values that depend on weights alone are computed in every call */
    char pad[6];
} PendRowSettings;

extern const struct Section pend_row_section;

/* A PendChoice is the architecture of a row, with its settings. */
typedef struct PendChoice {
    const PendArchitecture *arch;
    union {
        PendMlp mlp;
        PendEmlp emlp;
        PendInvariant invariant;
        PendEquivariant equivariant;
    } settings;
    int abreast; /* states in the channels of a node */
} PendChoice;
PendChoice pend_choose(const PendRowSettings *row);

/* Creates the group of the row's graphs. Caller destroys *out. */
RelnStatus pend_row_group(RelnCtx *ctx, const PendRowSettings *row, RelnGroup **out);

#endif
