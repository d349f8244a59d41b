/* hat.c -- vectors in space as skew matrices, for SO(3). */
#include "lift/lift.h"
#include "reln/lift.h"

RelnStatus reln_lift_hat(RelnCtx *ctx, ptrdiff_t count, const double *v, double *x)
{
    RELN_NEED(ctx && ((v && x) || count <= 0), reln_null(ctx, __func__));

    RELN_TRY(reln_lift_check(ctx, "hat", 3, count, 3, v));
    for (ptrdiff_t k = 0; k < count; k++, v += 3, x += 9) {
        x[0] = x[4] = x[8] = 0;
        x[7] = v[0];
        x[2] = v[1];
        x[3] = v[2];
        x[5] = -v[0];
        x[6] = -v[1];
        x[1] = -v[2];
    }
    return RELN_OK;
}

void reln_readout_hat(ptrdiff_t count, const double *x, double *v)
{
    if (!x || !v)
        return;
    for (ptrdiff_t k = 0; k < count; k++, v += 3, x += 9) {
        v[0] = 0.5 * (x[7] - x[5]);
        v[1] = 0.5 * (x[2] - x[6]);
        v[2] = 0.5 * (x[3] - x[1]);
    }
}
