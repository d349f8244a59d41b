/* check.h -- properties that every case of every op must have. */
#ifndef TESTS_PROPERTY_CHECK_H
#define TESTS_PROPERTY_CHECK_H

#include "graph/op.h"

/* Number of violations; each is printed when it is found. */
extern int complaints;

typedef void Check(const RelnOp *op, int index, const char *algebra);
Check check_gradient;  /* first and second derivatives against differences: 1e-7, 1e-6 */
Check check_symmetry;  /* <Hv, w> = <v, Hw>: 1e-12 */
Check check_precision; /* f32 against f64, reference kernels against fast ones */
Check check_shape;     /* every element of the declared shape is written, and nothing beside it */
Check check_island;    /* f64 nodes in an f32 graph */
Check check_call;      /* inside of a function */
Check check_threads;   /* the same bits on 1, 2, 3, 7 threads */
Check check_tiles; /* the same bits of samples in tiles of 1, 2, 7, 1000 rows, in functions too */
Check check_batch; /* the same bits in another batch, place and shard */
Check check_equivariance; /* the output transforms as its rep says */

#endif
