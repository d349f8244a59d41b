/* covariance.c -- covariances as symmetric matrices by logarithm and back, for O(n). */
#include <math.h>

#include "lift/lift.h"
#include "reln/lift.h"
#include "reln/matrix.h"

RelnStatus reln_lift_covariance_log(RelnCtx *ctx, ptrdiff_t n, ptrdiff_t count, const double *s,
                                    double *x)
{
    RELN_NEED(ctx && ((s && x) || count <= 0), reln_null(ctx, __func__));

    const char *what = "covariance logarithm";

    RELN_TRY(reln_lift_check_symmetric(ctx, what, n, count, s));
    for (ptrdiff_t k = 0; k < count; k++, s += n * n, x += n * n)
        RELN_TRY(reln_lift_item(ctx, what, k, reln_matrix_log_spd(ctx, (int)n, s, x)));
    return RELN_OK;
}

RelnStatus reln_readout_covariance_exp(RelnCtx *ctx, ptrdiff_t n, ptrdiff_t count, const double *x,
                                       double *s)
{
    RELN_NEED(ctx && ((x && s) || count <= 0), reln_null(ctx, __func__));

    const char *what = "covariance exponential";

    RELN_TRY(reln_lift_check(ctx, what, n, count, n * n, x));
    for (ptrdiff_t k = 0; k < count; k++, s += n * n, x += n * n)
        RELN_TRY(reln_lift_item(ctx, what, k, reln_matrix_sym(ctx, (int)n, x, exp, s)));
    return RELN_OK;
}
