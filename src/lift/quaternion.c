/* quaternion.c -- attitudes as rotation matrices, for SO(3). */
#include <math.h>

#include "lift/lift.h"
#include "reln/lift.h"
#include "tensor/linalg.h"

/* R = 1 + 2 w hat(v) + 2 hat(v)^2 for q = (w, v) of length 1 */
static void rotation(double w, double a, double b, double c, double *x)
{
    x[0] = 1 - 2 * (b * b + c * c);
    x[1] = 2 * (a * b - w * c);
    x[2] = 2 * (a * c + w * b);
    x[3] = 2 * (a * b + w * c);
    x[4] = 1 - 2 * (a * a + c * c);
    x[5] = 2 * (b * c - w * a);
    x[6] = 2 * (a * c - w * b);
    x[7] = 2 * (b * c + w * a);
    x[8] = 1 - 2 * (a * a + b * b);
}

RelnStatus reln_lift_quaternion(RelnCtx *ctx, ptrdiff_t count, const double *q, double *x)
{
    RELN_NEED(ctx && ((q && x) || count <= 0), reln_null(ctx, __func__));
    RELN_TRY(reln_lift_check(ctx, "quaternion", 3, count, 4, q));
    for (ptrdiff_t k = 0; k < count; k++, q += 4, x += 9) {
        const double length = reln_mat_norm(4, q);

        if (!(length > 0))
            return reln_fail(ctx, RELN_ERR_NUMERIC, "quaternion: item %td is 0", k);
        rotation(q[0] / length, q[1] / length, q[2] / length, q[3] / length, x);
    }
    return RELN_OK;
}

/* Uses 4 q_i q_j for all j, for the i with the largest 4 q_i^2: it is at least 1, so nothing cancels. */
void reln_readout_quaternion(ptrdiff_t count, const double *x, double *q)
{
    RELN_NEED(x && q, );

    for (ptrdiff_t k = 0; k < count; k++, q += 4, x += 9) {
        const double products[4][4] = {
            {1 + x[0] + x[4] + x[8], x[7] - x[5], x[2] - x[6], x[3] - x[1]},
            {x[7] - x[5], 1 + x[0] - x[4] - x[8], x[1] + x[3], x[2] + x[6]},
            {x[2] - x[6], x[1] + x[3], 1 - x[0] + x[4] - x[8], x[5] + x[7]},
            {x[3] - x[1], x[2] + x[6], x[5] + x[7], 1 - x[0] - x[4] + x[8]}};
        int i = 0;
        double length;

        for (int j = 1; j < 4; j++)
            i = products[j][j] > products[i][i] ? j : i;
        length = reln_mat_norm(4, products[i]) * (products[i][0] < 0 ? -1 : 1);
        for (int j = 0; j < 4; j++)
            q[j] = products[i][j] / length;
    }
}
