/* lift.h -- checks that the lifts share; each message names the item. */
#ifndef LIFT_LIFT_H
#define LIFT_LIFT_H

#include "base/base.h"

enum {
    LIFT_MAX_SIZE = 1024
}; /* largest n of an n x n matrix: lifts are for small matrices, and n * n * count must not overflow */

/* Checks that 1 <= n <= LIFT_MAX_SIZE, count >= 0, and that all `size` numbers of each item are finite. */
RelnStatus reln_lift_check(RelnCtx *ctx, const char *what, ptrdiff_t n, ptrdiff_t count,
                           ptrdiff_t size, const double *items);

/* Checks (n,n) matrices in the same way, and that each is symmetric to 1e-5 of its norm, so that single
 * precision data pass. */
RelnStatus reln_lift_check_symmetric(RelnCtx *ctx, const char *what, ptrdiff_t n, ptrdiff_t count,
                                     const double *s);

/* Puts "what: item k: " before the message of a failed call, and returns its status. */
RelnStatus reln_lift_item(RelnCtx *ctx, const char *what, ptrdiff_t item, RelnStatus status);

#endif
