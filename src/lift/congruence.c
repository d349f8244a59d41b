/* congruence.c -- covariances and vectors relative to an equivariant reference, for GL(n).
 *
 * With sbar = L Lᵀ, all computations are made in the whitened frame, Y = L^-1 X L. This is an O(n) problem: symmetric
 * matrices stay symmetric, and the condition of sbar enters only through the two triangular factors.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lift/lift.h"
#include "reln/lift.h"
#include "reln/matrix.h"
#include "tensor/linalg.h"

typedef struct Reference {
    RelnArena tmp;
    ptrdiff_t n;
    double *l, *lt;             /* L, Lᵀ */
    double *inverse, *inverset; /* L^-1, L^-ᵀ */
    double *y, *work;           /* (n,n) each */
} Reference;

/* Inverts L column by column: L w = e_j. */
static void invert_lower(ptrdiff_t n, const double *l, double *inverse)
{
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = j; i < n; i++) {
            double sum = i == j;
            for (ptrdiff_t k = j; k < i; k++)
                sum -= l[i * n + k] * inverse[k * n + j];
            inverse[i * n + j] = sum / l[i * n + i];
        }
}

static RelnStatus reference_fill(RelnCtx *ctx, ptrdiff_t n, const double *sbar, Reference *r)
{
    double *block = reln_arena_alloc(&r->tmp, 6 * (size_t)(n * n), sizeof *block);
    char text[256];
    RelnStatus status = RELN_OK;

    if (!block)
        return RELN_ERR_NOMEM;
    r->l = block;
    r->lt = block + n * n;
    r->inverse = block + 2 * n * n;
    r->inverset = block + 3 * n * n;
    r->y = block + 4 * n * n;
    r->work = block + 5 * n * n;
    status = reln_cholesky(ctx, n, sbar, r->l);
    if (status == RELN_ERR_NUMERIC) {
        snprintf(text, sizeof text, "%s", reln_ctx_error(ctx));
        return reln_fail(ctx, status, "reference covariance: %s", text);
    }
    RELN_TRY(status);
    invert_lower(n, r->l, r->inverse);
    reln_mat_transpose(n, n, r->l, r->lt);
    reln_mat_transpose(n, n, r->inverse, r->inverset);
    return RELN_OK;
}

/* Prepares a reference. Caller clears r->tmp, also on failure. */
static RelnStatus reference_init(RelnCtx *ctx, ptrdiff_t n, const double *sbar, Reference *r)
{
    *r = (Reference){.n = n};
    reln_arena_init(&r->tmp, ctx);
    RELN_TRY(reln_lift_check_symmetric(ctx, "reference covariance", n, 1, sbar));
    return reference_fill(ctx, n, sbar, r);
}

/* c = a b d, through r->work. */
static void triple(Reference *r, const double *a, const double *b, const double *d, double *c)
{
    reln_mat_mul(r->n, r->n, r->n, a, b, r->work);
    reln_mat_mul(r->n, r->n, r->n, r->work, d, c);
}

/* y = sbar^-1 v */
static void solve_vector(Reference *r, const double *v, double *y)
{
    reln_mat_mul(r->n, r->n, 1, r->inverse, v, r->work);
    reln_mat_mul(r->n, r->n, 1, r->inverset, r->work, y);
}

/* -- references ------------------------------------------------------------------------------ */

/* Adds the prior to the mean, and checks that the sum is positive definite. */
static RelnStatus complete(RelnCtx *ctx, ptrdiff_t n, double eps, const double *prior, double *sbar)
{
    Reference r;
    RelnStatus status = RELN_OK;

    if (eps != 0 && !prior)
        return reln_fail(ctx, RELN_ERR_ARG, "a prior is needed to regularise by %g", eps);
    for (ptrdiff_t i = 0; prior && i < n * n; i++)
        sbar[i] += eps * prior[i];
    status = reference_init(ctx, n, sbar, &r);
    reln_arena_clear(&r.tmp);
    return status;
}

static RelnStatus check_some(RelnCtx *ctx, const char *what, ptrdiff_t count, const double *prior)
{
    if (count > 0 || prior)
        return RELN_OK;
    return reln_fail(ctx, RELN_ERR_ARG, "%s: 0 items and no prior, wanted at least one", what);
}

RelnStatus reln_reference_mean(RelnCtx *ctx, ptrdiff_t n, ptrdiff_t count, const double *s,
                               double eps, const double *prior, double *sbar)
{
    RELN_NEED(ctx && (s || count <= 0) && sbar, reln_null(ctx, __func__));

    RELN_TRY(reln_lift_check_symmetric(ctx, "mean covariance", n, count, s));
    RELN_TRY(check_some(ctx, "mean covariance", count, prior));
    memset(sbar, 0, (size_t)(n * n) * sizeof *sbar);
    for (ptrdiff_t k = 0; k < count; k++)
        for (ptrdiff_t i = 0; i < n * n; i++)
            sbar[i] += 0.5 * (s[k * n * n + i] + s[k * n * n + i % n * n + i / n]) / (double)count;
    return complete(ctx, n, eps, prior, sbar);
}

RelnStatus reln_reference_scatter(RelnCtx *ctx, ptrdiff_t n, ptrdiff_t count, const double *v,
                                  double eps, const double *prior, double *sbar)
{
    RELN_NEED(ctx && (v || count <= 0) && sbar, reln_null(ctx, __func__));

    RELN_TRY(reln_lift_check(ctx, "scatter of vectors", n, count, n, v));
    RELN_TRY(check_some(ctx, "scatter of vectors", count, prior));
    memset(sbar, 0, (size_t)(n * n) * sizeof *sbar);
    for (ptrdiff_t k = 0; k < count; k++)
        for (ptrdiff_t i = 0; i < n * n; i++)
            sbar[i] += v[k * n + i / n] * v[k * n + i % n] / (double)count;
    return complete(ctx, n, eps, prior, sbar);
}

void reln_regularise(ptrdiff_t n, const double *sbar, ptrdiff_t count, double eps, double *s)
{
    if (!sbar || !s)
        return;
    for (ptrdiff_t k = 0; k < count; k++)
        for (ptrdiff_t i = 0; i < n * n; i++)
            s[k * n * n + i] += eps * sbar[i];
}

/* -- lifts ----------------------------------------------------------------------------------- */

/* s sbar^-1 = L (L^-1 s L^-ᵀ) L^-1. */
static RelnStatus lift_items(Reference *r, bool logarithm, ptrdiff_t count, const double *s,
                             double *x)
{
    const ptrdiff_t n = r->n;

    for (ptrdiff_t k = 0; k < count; k++) {
        triple(r, r->inverse, s + k * n * n, r->inverset, r->y);
        if (logarithm)
            RELN_TRY(reln_lift_item(r->tmp.ctx, "congruence logarithm", k,
                                    reln_matrix_log_spd(r->tmp.ctx, (int)n, r->y, r->y)));
        triple(r, r->l, r->y, r->inverse, x + k * n * n);
    }
    return RELN_OK;
}

static RelnStatus lift(RelnCtx *ctx, ptrdiff_t n, const double *sbar, bool logarithm,
                       ptrdiff_t count, const double *s, double *x)
{
    Reference r;
    RelnStatus status = RELN_OK;

    RELN_TRY(reln_lift_check_symmetric(ctx, "congruence", n, count, s));
    status = reference_init(ctx, n, sbar, &r);
    if (status == RELN_OK)
        status = lift_items(&r, logarithm, count, s, x);
    reln_arena_clear(&r.tmp);
    return status;
}

RelnStatus reln_lift_congruence(RelnCtx *ctx, ptrdiff_t n, const double *sbar, ptrdiff_t count,
                                const double *s, double *x)
{
    RELN_NEED(ctx && sbar && ((s && x) || count <= 0), reln_null(ctx, __func__));

    return lift(ctx, n, sbar, false, count, s, x);
}

RelnStatus reln_lift_congruence_log(RelnCtx *ctx, ptrdiff_t n, const double *sbar, ptrdiff_t count,
                                    const double *s, double *x)
{
    RELN_NEED(ctx && sbar && ((s && x) || count <= 0), reln_null(ctx, __func__));

    return lift(ctx, n, sbar, true, count, s, x);
}

RelnStatus reln_lift_congruence_pair(RelnCtx *ctx, ptrdiff_t n, const double *sbar, ptrdiff_t count,
                                     const double *v, const double *w, double *x)
{
    RELN_NEED(ctx && sbar && ((v && w && x) || count <= 0), reln_null(ctx, __func__));

    Reference r;
    RelnStatus status = RELN_OK;

    RELN_TRY(reln_lift_check(ctx, "congruence pair", n, count, n, v));
    RELN_TRY(reln_lift_check(ctx, "congruence pair", n, count, n, w));
    status = reference_init(ctx, n, sbar, &r);
    for (ptrdiff_t k = 0; status == RELN_OK && k < count; k++) {
        solve_vector(&r, w + k * n, r.y);
        reln_mat_mul(n, 1, n, v + k * n, r.y, x + k * n * n);
    }
    reln_arena_clear(&r.tmp);
    return status;
}

/* -- read-outs ------------------------------------------------------------------------------- */

void reln_readout_vector(ptrdiff_t n, ptrdiff_t count, const double *x, const double *v, double *y)
{
    if (!x || !v || !y)
        return;
    for (ptrdiff_t k = 0; k < count; k++)
        reln_mat_mul(n, n, 1, x + k * n * n, v + k * n, y + k * n);
}

RelnStatus reln_readout_covector(RelnCtx *ctx, ptrdiff_t n, const double *sbar, ptrdiff_t count,
                                 const double *x, const double *v, double *y)
{
    RELN_NEED(ctx && sbar && ((x && v && y) || count <= 0), reln_null(ctx, __func__));

    Reference r;
    RelnStatus status = RELN_OK;

    RELN_TRY(reln_lift_check(ctx, "covector", n, count, n * n, x));
    RELN_TRY(reln_lift_check(ctx, "covector", n, count, n, v));
    status = reference_init(ctx, n, sbar, &r);
    for (ptrdiff_t k = 0; status == RELN_OK && k < count; k++) {
        reln_mat_mul(n, n, 1, x + k * n * n, v + k * n, r.y);
        solve_vector(&r, r.y, y + k * n);
    }
    reln_arena_clear(&r.tmp);
    return status;
}

/* Computes sum_k x_ik sbar_kj, and its transpose. */
void reln_readout_symmetric(ptrdiff_t n, const double *sbar, ptrdiff_t count, const double *x,
                            double *s)
{
    if (!sbar || !x || !s)
        return;
    for (ptrdiff_t k = 0; k < count; k++, x += n * n, s += n * n) {
        reln_mat_mul(n, n, n, x, sbar, s);
        for (ptrdiff_t i = 0; i < n; i++)
            for (ptrdiff_t j = 0; j <= i; j++)
                s[i * n + j] = s[j * n + i] = 0.5 * (s[i * n + j] + s[j * n + i]);
    }
}

/* sbar Xᵀ sbar^-1 = L Yᵀ L^-1, so the result is L exp((Y + Yᵀ) / 2) Lᵀ; mirrored to be exactly symmetric. */
static RelnStatus positive_items(Reference *r, ptrdiff_t count, const double *x, double *s)
{
    const ptrdiff_t n = r->n;

    for (ptrdiff_t k = 0; k < count; k++, x += n * n, s += n * n) {
        triple(r, r->inverse, x, r->l, r->y);
        RELN_TRY(reln_lift_item(r->tmp.ctx, "positive read-out", k,
                                reln_matrix_sym(r->tmp.ctx, (int)n, r->y, exp, r->y)));
        triple(r, r->l, r->y, r->lt, s);
        for (ptrdiff_t i = 0; i < n; i++)
            for (ptrdiff_t j = 0; j < i; j++)
                s[j * n + i] = s[i * n + j];
    }
    return RELN_OK;
}

RelnStatus reln_readout_positive(RelnCtx *ctx, ptrdiff_t n, const double *sbar, ptrdiff_t count,
                                 const double *x, double *s)
{
    RELN_NEED(ctx && sbar && ((x && s) || count <= 0), reln_null(ctx, __func__));

    Reference r;
    RelnStatus status = RELN_OK;

    RELN_TRY(reln_lift_check(ctx, "positive read-out", n, count, n * n, x));
    status = reference_init(ctx, n, sbar, &r);
    if (status == RELN_OK)
        status = positive_items(&r, count, x, s);
    reln_arena_clear(&r.tmp);
    return status;
}

/* tr(X sbar Xᵀ sbar^-1) = tr(Y Yᵀ) */
RelnStatus reln_readout_norm(RelnCtx *ctx, ptrdiff_t n, const double *sbar, ptrdiff_t count,
                             const double *x, double *y)
{
    RELN_NEED(ctx && sbar && ((x && y) || count <= 0), reln_null(ctx, __func__));

    Reference r;
    RelnStatus status = RELN_OK;

    RELN_TRY(reln_lift_check(ctx, "norm read-out", n, count, n * n, x));
    status = reference_init(ctx, n, sbar, &r);
    for (ptrdiff_t k = 0; status == RELN_OK && k < count; k++) {
        triple(&r, r.inverse, x + k * n * n, r.l, r.y);
        y[k] = pow(reln_mat_norm(n * n, r.y), 2);
    }
    reln_arena_clear(&r.tmp);
    return status;
}
