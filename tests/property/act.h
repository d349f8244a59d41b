/* act.h -- a group element acting on the values of a node. */
#ifndef TESTS_PROPERTY_ACT_H
#define TESTS_PROPERTY_ACT_H

#include "graph/graph.h"

/* Every column of K coordinates times the matrix of g. */
void act(const RelnNode *x, const RelnElement *g, ptrdiff_t items, double *values);

#endif
