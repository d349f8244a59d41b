/* equivariant.h -- ReLN-HNN with vector features all the way: mixed, gated and bracketed, read out as invariants.
 *
 * A vector v is the element hat(v) of so(3), where the bracket is the cross product and the form a multiple of the dot
 * product. A mirror R turns hat(v) into -R hat(v) R^-1: vectors of the state are odd, their brackets even, and
 *     [odd, odd] is even,   [odd, even] is odd,   [even, even] is even.
 * With two streams of features, one of each kind, the network has all of O(2), proved by the types of its graph. For
 * SO(2) there is no such distinction and even features flow into odd ones: that is what breaks mirrors. For D6 numbers
 * of degree six are added, Re (x + iy)^6, the first that know a rotation by 60 degrees from others.
 */
#ifndef TASKS_PENDULUM_EQUIVARIANT_H
#define TASKS_PENDULUM_EQUIVARIANT_H

#include "tasks/pendulum/model.h"

typedef struct PendEquivariant {
    int channels, layers; /* of vectors */
    int hidden, width;    /* of the dense network on the invariants; swish */
    double share;         /* of what is not linear, as in PendInvariant */
} PendEquivariant;

extern const PendArchitecture pend_equivariant;
extern const PendEquivariant pend_equivariant_defaults;

#endif
