/* embed.c -- vectors with a metric as matrices one larger, for O(n) and O(p,q). */
#include <math.h>
#include <string.h>

#include "lift/lift.h"
#include "reln/lift.h"

const double reln_metric_mostly_plus[4] = {-1, 1, 1, 1};
const double reln_metric_mostly_minus[4] = {1, -1, -1, -1};

static RelnStatus check_metric(RelnCtx *ctx, ptrdiff_t n, const double *metric)
{
    for (ptrdiff_t i = 0; metric && i < n; i++)
        if (metric[i] == 0 || !isfinite(metric[i]))
            return reln_fail(ctx, RELN_ERR_ARG,
                             "embedding: entry %td of the metric is %g, not a finite number "
                             "other than 0",
                             i, metric[i]);
    return RELN_OK;
}

/* diag(g,1) X diag(g,1)^-1 has the column g v and the row (eta v)ᵀ g^-1 = (eta g v)ᵀ, since gᵀ eta g = eta. */
RelnStatus reln_lift_embed(RelnCtx *ctx, ptrdiff_t n, const double *metric, ptrdiff_t count,
                           const double *v, double *x)
{
    RELN_NEED(ctx && ((v && x) || count <= 0), reln_null(ctx, __func__));

    const ptrdiff_t m = n + 1;

    RELN_TRY(reln_lift_check(ctx, "embedding", n, count, n, v));
    RELN_TRY(check_metric(ctx, n, metric));
    for (ptrdiff_t k = 0; k < count; k++, v += n, x += m * m) {
        memset(x, 0, (size_t)(m * m) * sizeof *x);
        for (ptrdiff_t i = 0; i < n; i++) {
            x[i * m + n] = v[i];
            x[n * m + i] = metric ? metric[i] * v[i] : v[i];
        }
    }
    return RELN_OK;
}

void reln_readout_embed_column(ptrdiff_t n, ptrdiff_t count, const double *x, double *v)
{
    if (!x || !v)
        return;
    const ptrdiff_t m = n + 1;

    for (ptrdiff_t k = 0; k < count; k++)
        for (ptrdiff_t i = 0; i < n; i++)
            v[k * n + i] = x[k * m * m + i * m + n];
}

/* A row r -> r g^-1, and eta^-1 g^-ᵀ = g eta^-1: so eta^-1 rᵀ is a vector. */
void reln_readout_embed_row(ptrdiff_t n, const double *metric, ptrdiff_t count, const double *x,
                            double *v)
{
    if (!x || !v)
        return;
    const ptrdiff_t m = n + 1;

    for (ptrdiff_t k = 0; k < count; k++)
        for (ptrdiff_t i = 0; i < n; i++)
            v[k * n + i] = x[k * m * m + n * m + i] / (metric ? metric[i] : 1);
}
