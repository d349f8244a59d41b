/* platonic.h -- classification of Platonic solids from homographies between adjacent faces, seen by a camera:
 * sets of elements of sl(3). */
#ifndef TASKS_PLATONIC_H
#define TASKS_PLATONIC_H

#include "tasks/task.h"

/* Every ordered edge of a solid is an element: three homographies, eight coordinates each. */
enum {
    PLATONIC_CLASSES =
        3, /* octahedron, icosahedron, tetrahedron, as the published code numbers them */
    PLATONIC_K = 8,
    PLATONIC_CHANNELS = 3,
    PLATONIC_ELEMENTS = 24 + 60 + 12,
    PLATONIC_SET = 12, /* elements of a sample, drawn with replacement from one solid */
    PLATONIC_ROW = PLATONIC_K * PLATONIC_CHANNELS
};

/* ---- data ----------------------------------------------------------------------------------------------------- */

typedef struct PlatonicElements {
    int first[PLATONIC_CLASSES + 1]; /* elements of class c: first[c] .. first[c+1]-1 */
    double h[PLATONIC_ELEMENTS][PLATONIC_CHANNELS][9];   /* the homographies, det 1 */
    double log[PLATONIC_ELEMENTS][PLATONIC_CHANNELS][9]; /* their real logarithms */
    double x[PLATONIC_ELEMENTS][PLATONIC_K]
            [PLATONIC_CHANNELS]; /* `log` in coordinates of sl:3 */
    int n_halved; /* homographies without a real logarithm, for which log(H^2) / 2 is used */
} PlatonicElements;

RelnStatus platonic_elements(const RelnAlgebra *sl3, PlatonicElements *out);

/* Computes the homography (3 x 3, det 1) that maps four points of the plane to four others, no three of them
 * on a line; returns false when they are. */
bool platonic_homography(const double from[4][2], const double to[4][2], double h[9]);

/* Computes log H, or log(H^2) / 2 where H has a pair of negative eigenvalues and so no real logarithm;
 * *halved says which. The latter is the real part of the complex logarithm, and commutes with real
 * conjugation in the same way. */
RelnStatus platonic_log(RelnCtx *ctx, const double *h, double *log, bool *halved);

/* Draws n samples: labels (n), elements (n, PLATONIC_SET). */
void platonic_draw(const PlatonicElements *elements, RelnRng *rng, ptrdiff_t n, int32_t *labels,
                   int32_t *which);

/* Draws Ad (8 x 8) of a rotation of the camera: Haar, or by Euler angles z, y, x uniform in [0, 36) rad as in
 * the published code. */
RelnStatus platonic_rotation(const RelnAlgebra *sl3, RelnRng *rng, bool euler, double *ad);
/* Moves all elements to the rotated frame. */
void platonic_rotate(const double *ad, const PlatonicElements *elements,
                     double x[PLATONIC_ELEMENTS][PLATONIC_K][PLATONIC_CHANNELS]);

/* ---- networks --------------------------------------------------------------------------------------------------- */

typedef enum PlatonicKind { PLATONIC_LAYERS, PLATONIC_MLP, PLATONIC_BEST } PlatonicKind;

typedef struct PlatonicModel {
    double rate;
    PlatonicKind kind;
    int width;
    int stream; /* added to the seed, so that two rows with the same function start differently */
    int hidden; /* hidden dense layers, and the activation between them */
    RelnActivation activation;
    bool cosine;        /* warm-up and cosine down to 0, instead of a constant rate */
    bool augment;       /* PLATONIC_MLP: rotate each training batch */
    bool relu, bracket; /* PLATONIC_LAYERS: which of the two blocks exist */
} PlatonicModel;

/* Computes "logits" (C = 3) of a sample, from the input "x" (P = 12, K, 3). */
RelnNode *platonic_network(const RelnNet *net, const PlatonicModel *model);

/* The same function with the same parameters, from the inputs "elements" (P = 96, K, 3) at step level and
 * "which" (P = 12) for each sample. All layers before the pool act on elements one by one, and pooling keeps
 * one of them: so the layers run on 96 elements once a step, and a sample picks scores and invariants. NULL
 * for an MLP, which needs the whole sample. */
RelnNode *platonic_network_shared(const RelnNet *net, const PlatonicModel *model);

#endif
