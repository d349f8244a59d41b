/* frames.h -- changes of frame to test equivariance with. */
#ifndef TESTS_FRAMES_H
#define TESTS_FRAMES_H

#include "support/support.h"

enum { FRAME_MAX = 8 }; /* largest size */

typedef struct Frame {
    int n;
    double g[FRAME_MAX * FRAME_MAX], inverse[FRAME_MAX * FRAME_MAX];
    double cond;
} Frame;

/* Orthogonal, determinant +1 or -1. */
Frame frame_orthogonal(RelnCtx *ctx, RelnRng *rng, int n, int sign);
/* gᵀ eta g = eta, in the component of the identity; then multiplied by the diagonal of signs (NULL: none). */
Frame frame_metric(RelnCtx *ctx, RelnRng *rng, int n, const double *eta, const double *signs);
/* Singular values from 1/sqrt(cond) to sqrt(cond), and the sign of the determinant. */
Frame frame_general(RelnCtx *ctx, RelnRng *rng, int n, double cond, int sign);
/* diag(g, 1) */
Frame frame_extended(const Frame *frame);

/* For count items each: y = g x g^-1;  y = g x gᵀ;  y = g v;  y = g^-ᵀ v. */
void frame_conjugate(const Frame *frame, ptrdiff_t count, const double *x, double *y);
void frame_congruence(const Frame *frame, ptrdiff_t count, const double *x, double *y);
void frame_vectors(const Frame *frame, ptrdiff_t count, const double *v, double *y);
void frame_covectors(const Frame *frame, ptrdiff_t count, const double *v, double *y);

/* ‖got - want‖ / ‖want‖ over all items together. */
double frame_error(ptrdiff_t count, const double *got, const double *want);
/* eps (64 + 2 cond³): the bound on the rounding error of an equivariant map in double precision. */
double frame_gate(double cond);

/* Symmetric positive definite matrices with eigenvalues in [1/2, 2]. */
void fill_positive(RelnCtx *ctx, RelnRng *rng, int n, ptrdiff_t count, double *s);

#endif
