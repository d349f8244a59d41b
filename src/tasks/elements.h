/* elements.h -- elements of an algebra as samples: drawing them, and moving them by the adjoint action. */
#ifndef TASKS_ELEMENTS_H
#define TASKS_ELEMENTS_H

#include "tasks/task.h"

/* Draws numbers from U(-spread, spread). */
void element_draw(RelnRng *rng, double spread, int count, double *x);
/* Draws Ad_g (K, K) of g = exp(h), with the coordinates of h from U(-spread, spread). */
RelnStatus element_action(const RelnAlgebra *algebra, RelnRng *rng, double spread, double *ad);
/* y = Ad x for n items of K coordinates and c channels, (n, K, c); y may be x. K is at most ELEMENT_K. */
enum { ELEMENT_N = 8, ELEMENT_K = ELEMENT_N * ELEMENT_N };
void element_act(int K, const double *ad, ptrdiff_t n, int c, const double *x, double *y);
/* tr(AB) of n x n matrices. */
double element_trace(int n, const double *a, const double *b);

#endif
