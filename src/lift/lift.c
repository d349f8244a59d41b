/* lift.c -- see lift.h. */
#include "lift/lift.h"

#include <math.h>
#include <stdio.h>

#include "tensor/linalg.h"

RelnStatus reln_lift_check(RelnCtx *ctx, const char *what, ptrdiff_t n, ptrdiff_t count,
                           ptrdiff_t size, const double *items)
{
    if (n < 1 || n > LIFT_MAX_SIZE)
        return reln_fail(ctx, RELN_ERR_ARG, "%s: size %td is outside 1..%d", what, n,
                         LIFT_MAX_SIZE);
    if (count < 0 || count > PTRDIFF_MAX / size / (ptrdiff_t)sizeof *items)
        return reln_fail(ctx, RELN_ERR_ARG, "%s: cannot have %td items of %td numbers", what, count,
                         size);
    for (ptrdiff_t i = 0; i < count * size; i++)
        if (!isfinite(items[i]))
            return reln_fail(ctx, RELN_ERR_NUMERIC, "%s: item %td: element %td is %g, not finite",
                             what, i / size, i % size, items[i]);
    return RELN_OK;
}

static double asymmetry(ptrdiff_t n, const double *s)
{
    double worst = 0;

    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < i; j++)
            worst = fmax(worst, fabs(s[i * n + j] - s[j * n + i]));
    return worst;
}

RelnStatus reln_lift_check_symmetric(RelnCtx *ctx, const char *what, ptrdiff_t n, ptrdiff_t count,
                                     const double *s)
{
    RELN_TRY(reln_lift_check(ctx, what, n, count, n * n, s));
    for (ptrdiff_t k = 0; k < count; k++) {
        const double norm = reln_mat_norm(n * n, s + k * n * n);
        const double worst = asymmetry(n, s + k * n * n);
        if (!(worst <= 1e-5 * norm))
            return reln_fail(ctx, RELN_ERR_NUMERIC,
                             "%s: item %td is not symmetric: off by %.1e at norm %.1e", what, k,
                             worst, norm);
    }
    return RELN_OK;
}

RelnStatus reln_lift_item(RelnCtx *ctx, const char *what, ptrdiff_t item, RelnStatus status)
{
    char text[256];

    if (status == RELN_OK || status == RELN_ERR_NOMEM)
        return status;
    snprintf(text, sizeof text, "%s", reln_ctx_error(ctx));
    return reln_fail(ctx, status, "%s: item %td: %s", what, item, text);
}
