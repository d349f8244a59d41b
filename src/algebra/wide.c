/* wide.c -- singular values and left vectors of a matrix with many more columns than rows.
 *
 * The eigenvalues of a a^T are the squares of the singular values, at the cost of one matrix product; but squares hide
 * every singular value below 1e-8 of the largest. So only those within a factor of ten of the largest are accepted. The
 * matrix is then restricted to the remaining vectors, where the largest is smaller, and the step is repeated. An error u
 * of the product turns a vector of singular value 0 towards one of value s by u s_1^2 / s^2, which costs
 * u s_1^2 / s <= 10 u s_1.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "algebra/analyse.h"
#include "tensor/linalg.h"

typedef struct Wide {
    ptrdiff_t k, m;
    const double *a;
    double *s, *ut;
    double *gram, *values, *vectors, *rows; /* (k, k), (k), (k, k), (k, k) */
} Wide;

/* Rotates rows done .. k-1 of ut so that they diagonalise b b^T, where b (d, m) is these rows times a.
 * *accepted is the number of singular values that are large enough to be accurate. */
static RelnStatus turn(RelnCtx *ctx, Wide *w, ptrdiff_t done, const double *b, ptrdiff_t *accepted)
{
    const ptrdiff_t k = w->k, d = k - done;
    double *const s = w->s + done;

    reln_mat_gemm(false, true, d, d, w->m, 1, b, w->m, b, w->m, 0, w->gram, d);
    RELN_TRY(reln_eigh(ctx, d, w->gram, w->values, w->vectors));
    memcpy(w->rows, w->ut + done * k, (size_t)(d * k) * sizeof *w->rows);
    reln_mat_gemm(true, false, d, k, d, 1, w->vectors, d, w->rows, k, 0, w->gram, k);
    for (ptrdiff_t i = 0; i < d; i++) { /* ascending to descending */
        memcpy(w->ut + (done + i) * k, w->gram + (d - 1 - i) * k, (size_t)k * sizeof *w->ut);
        s[i] = sqrt(fmax(0, w->values[d - 1 - i]));
    }
    for (*accepted = 0; *accepted < d && s[*accepted] >= 0.1 * s[0];)
        ++*accepted;
    if (s[0] <= (double)k * DBL_EPSILON * w->s[0])
        *accepted = d; /* the rest is rounding */
    return RELN_OK;
}

static RelnStatus deflate(RelnArena *tmp, Wide *w)
{
    const ptrdiff_t k = w->k;
    ptrdiff_t done = 0;

    reln_mat_identity(k, w->ut);
    RELN_TRY(turn(tmp->ctx, w, 0, w->a, &done));
    while (done < k) {
        double *b = reln_alloc(tmp->ctx, (size_t)((k - done) * w->m), sizeof *b);
        ptrdiff_t accepted = 0;
        RelnStatus status = RELN_ERR_NOMEM;
        if (b) {
            reln_mat_gemm(false, false, k - done, w->m, k, 1, w->ut + done * k, k, w->a, w->m, 0, b,
                          w->m);
            status = turn(tmp->ctx, w, done, b, &accepted);
        }
        reln_free(tmp->ctx, b);
        RELN_TRY(status);
        done += accepted;
    }
    return RELN_OK;
}

static RelnStatus wide(RelnArena *tmp, Wide *w)
{
    const size_t k = (size_t)w->k;

    w->gram = reln_arena_alloc(tmp, k * k, sizeof *w->gram);
    w->values = reln_arena_alloc(tmp, k, sizeof *w->values);
    w->vectors = reln_arena_alloc(tmp, k * k, sizeof *w->vectors);
    w->rows = reln_arena_alloc(tmp, k * k, sizeof *w->rows);
    if (!w->gram || !w->values || !w->vectors || !w->rows)
        return RELN_ERR_NOMEM;
    return deflate(tmp, w);
}

RelnStatus reln_wide_svd(RelnCtx *ctx, ptrdiff_t k, ptrdiff_t m, const double *a, double *s,
                         double *ut)
{
    Wide w = {.k = k, .m = m, .a = a, .s = s, .ut = ut};
    RelnArena tmp;
    RelnStatus status;

    reln_arena_init(&tmp, ctx);
    status = wide(&tmp, &w);
    reln_arena_clear(&tmp);
    return status;
}
