/* cost.h -- what an evaluation of H costs, counted as the literature does. */
#ifndef TASKS_PENDULUM_COST_H
#define TASKS_PENDULUM_COST_H

#include "tasks/pendulum/emlp.h"

/* Operations of one H(z): products of matrices and vectors count twice, a swish four times, additions of biases not
 * at all. 12-128-128-128-1: 70,400. */
double pend_flops_dense(int n, const int *widths);

/* EMLP, with the projection Q (Q^T w) of all weights in every call, as published, or without: 1,589,909 for D6 and
 * 379,649. dims[k] is the dimension of the tensors of rank k that the group keeps. */
double pend_flops_emlp(const PendTensors *hidden, const int dims[2 * PEND_RANKS - 1],
                       bool projected);

#endif
