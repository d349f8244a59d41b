/* algebra.c -- the algebra as an object: creating it from a name or a basis, reading its parts, computing
 * with elements. */
#include "reln/algebra.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "algebra/analyse.h"
#include "algebra/family.h"
#include "algebra/sampler.h"
#include "reln/matrix.h"
#include "tensor/linalg.h"

struct RelnAlgebra {
    RelnArena arena; /* holds everything else */
    const char *name;
    int n, dim;
    const double *basis;
    RelnAnalysis facts;
};

/* ---- creating --------------------------------------------------------------------------------------------- */

static RelnStatus build(RelnAlgebra *a, int dim, int n, const double *basis,
                        const RelnBasisOptions *options)
{
    const char *const name = options && options->name ? options->name : "basis";

    a->n = n;
    a->dim = dim;
    a->name = reln_arena_printf(&a->arena, "%s", name);
    if (!a->name)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_analyse(&a->arena, dim, n, basis, options, &a->facts));
    if (a->facts.info.reductive != RELN_YES)
        return reln_fail(a->arena.ctx, RELN_ERR_ALGEBRA, "%.120s: %s", name, a->facts.info.reason);
    a->basis =
        reln_arena_copy(&a->arena, basis, (size_t)dim * (size_t)n * (size_t)n, sizeof *a->basis);
    return a->basis ? RELN_OK : RELN_ERR_NOMEM;
}

RelnStatus reln_algebra_from_basis(RelnCtx *ctx, int dim, int n, const double *basis,
                                   const RelnBasisOptions *options, RelnAlgebra **out)
{
    RELN_NEED(ctx && out, reln_null(ctx, __func__));

    RelnAlgebra *a = reln_alloc(ctx, 1, sizeof *a);
    RelnStatus status;

    *out = NULL;
    if (!a)
        return RELN_ERR_NOMEM;
    reln_arena_init(&a->arena, ctx);
    status = build(a, dim, n, basis, options);
    if (status == RELN_OK)
        *out = a;
    else
        reln_algebra_destroy(a);
    return status;
}

RelnStatus reln_algebra_create(RelnCtx *ctx, const char *name, RelnAlgebra **out)
{
    RELN_NEED(ctx && name && out, reln_null(ctx, __func__));

    const RelnBasisOptions options = {.name = name};
    RelnNamedBasis named = {0, 0, NULL};
    RelnArena tmp;
    RelnStatus status;

    *out = NULL;
    reln_arena_init(&tmp, ctx);
    status = reln_family_basis(&tmp, name, &named);
    if (status == RELN_OK)
        status = reln_algebra_from_basis(ctx, named.dim, named.n, named.basis, &options, out);
    reln_arena_clear(&tmp);
    return status;
}

void reln_algebra_destroy(RelnAlgebra *algebra)
{
    if (!algebra)
        return;
    reln_arena_clear(&algebra->arena);
    reln_free(algebra->arena.ctx, algebra);
}

RelnStatus reln_algebra_inspect(RelnCtx *ctx, int dim, int n, const double *basis,
                                const RelnBasisOptions *options, RelnAlgebraInfo *info)
{
    RELN_NEED(ctx && info, reln_null(ctx, __func__));

    RelnAnalysis facts;
    RelnArena tmp;
    RelnStatus status;

    reln_arena_init(&tmp, ctx);
    status = reln_analyse(&tmp, dim, n, basis, options, &facts);
    reln_arena_clear(&tmp);
    *info = facts.info;
    return status;
}

/* ---- reading its parts ------------------------------------------------------------------------------------ */

const RelnAlgebraInfo *reln_algebra_info(const RelnAlgebra *algebra)
{
    return algebra ? &algebra->facts.info : NULL;
}

RelnCtx *reln_algebra_ctx(const RelnAlgebra *algebra)
{
    RELN_NEED(algebra, NULL);

    return algebra->arena.ctx;
}

const char *reln_algebra_name(const RelnAlgebra *algebra)
{
    RELN_NEED(algebra, "");

    return algebra->name;
}

int reln_algebra_n(const RelnAlgebra *algebra)
{
    RELN_NEED(algebra, 0);

    return algebra->n;
}

int reln_algebra_dim(const RelnAlgebra *algebra)
{
    RELN_NEED(algebra, 0);

    return algebra->dim;
}

const double *reln_algebra_basis(const RelnAlgebra *algebra)
{
    RELN_NEED(algebra, NULL);

    return algebra->basis;
}

const double *reln_algebra_killing(const RelnAlgebra *algebra)
{
    RELN_NEED(algebra, NULL);

    return algebra->facts.killing;
}

const double *reln_algebra_center(const RelnAlgebra *algebra)
{
    RELN_NEED(algebra, NULL);

    return algebra->facts.center;
}

const double *reln_algebra_derived(const RelnAlgebra *algebra)
{
    RELN_NEED(algebra, NULL);

    return algebra->facts.derived;
}

const double *reln_algebra_center_projector(const RelnAlgebra *algebra)
{
    RELN_NEED(algebra, NULL);

    return algebra->facts.projector;
}

const RelnTensor3 *reln_algebra_structure(const RelnAlgebra *algebra)
{
    return algebra ? &algebra->facts.structure : NULL;
}

RelnStatus reln_algebra_gram(const RelnAlgebra *algebra, RelnForm form, const double **out)
{
    RELN_NEED(algebra && out, reln_null(reln_algebra_ctx(algebra), __func__));

    const RelnAnalysis *const f = &algebra->facts;
    const double *const grams[] = {
        [RELN_FORM_COMPLETED] = f->completed,
        [RELN_FORM_NO_CENTER] = f->killing,
        [RELN_FORM_NO_SEMISIMPLE] = f->center_form,
        [RELN_FORM_DEFINITE] = f->definite,
        [RELN_FORM_TRACE] = f->trace,
    };

    *out = NULL;
    if ((unsigned)form >= sizeof grams / sizeof *grams)
        return reln_fail(algebra->arena.ctx, RELN_ERR_ARG, "form %d, wanted one from 0 to %d",
                         (int)form, (int)RELN_FORM_TRACE);
    *out = grams[form];
    if (!*out)
        return reln_fail(algebra->arena.ctx, RELN_ERR_UNSUPPORTED,
                         "%.120s has no definite form: its Killing form is not negative on the "
                         "derived ideal (signature of the form %d,%d)",
                         algebra->name, f->info.form_signature[0], f->info.form_signature[1]);
    return RELN_OK;
}

/* Writes the coordinates of E_i in the larger algebra to row i of x (K, L). */
static RelnStatus coordinates_within(const RelnAlgebra *a, const RelnAlgebra *larger, double *x)
{
    const ptrdiff_t nn = (ptrdiff_t)a->n * a->n;
    const double allowed = fmax(1e-10, a->facts.tau + larger->facts.tau);

    for (ptrdiff_t i = 0; i < a->dim; i++) {
        const double outside = reln_algebra_vee(larger, a->basis + i * nn, x + i * larger->dim);

        if (!(outside <= allowed))
            return reln_fail(a->arena.ctx, RELN_ERR_ALGEBRA,
                             "element %td of %.80s lies outside of %.80s by %.2g of itself", i,
                             a->name, larger->name, outside);
    }
    return RELN_OK;
}

/* G' = X G X^T */
RelnStatus reln_algebra_gram_within(const RelnAlgebra *algebra, const RelnAlgebra *larger,
                                    RelnForm form, double *gram)
{
    RELN_NEED(algebra && larger && gram, reln_null(reln_algebra_ctx(algebra), __func__));

    const ptrdiff_t k = algebra->dim, l = larger->dim;
    const double *of = NULL;
    double *x, *xt, *gx;
    RelnStatus status;
    RelnArena tmp;

    if (algebra->n != larger->n)
        return reln_fail(algebra->arena.ctx, RELN_ERR_SHAPE,
                         "%.80s has matrices of size %d, %.80s of size %d", algebra->name,
                         algebra->n, larger->name, larger->n);
    RELN_TRY(reln_algebra_gram(larger, form, &of));
    reln_arena_init(&tmp, algebra->arena.ctx);
    x = reln_arena_alloc(&tmp, (size_t)(k * l), sizeof *x);
    xt = reln_arena_alloc(&tmp, (size_t)(k * l), sizeof *xt);
    gx = reln_arena_alloc(&tmp, (size_t)(k * l), sizeof *gx);
    status = x && xt && gx ? coordinates_within(algebra, larger, x) : RELN_ERR_NOMEM;
    if (status == RELN_OK) {
        reln_mat_transpose(k, l, x, xt);
        reln_mat_mul(l, l, k, of, xt, gx);
        reln_mat_mul(k, l, k, x, gx, gram);
    }
    reln_arena_clear(&tmp);
    return status;
}

double reln_algebra_form(const RelnAlgebra *algebra, const double *x, const double *y)
{
    RELN_NEED(algebra && x && y, 0);

    const ptrdiff_t k = algebra->dim;
    double sum = 0;

    for (ptrdiff_t i = 0; i < k; i++)
        for (ptrdiff_t j = 0; j < k; j++)
            sum += algebra->facts.completed[i * k + j] * x[i] * y[j];
    return sum;
}

/* ---- elements --------------------------------------------------------------------------------------------- */

void reln_algebra_hat(const RelnAlgebra *algebra, const double *x, double *matrix)
{
    if (!algebra || !x || !matrix)
        return;
    const ptrdiff_t nn = (ptrdiff_t)algebra->n * algebra->n;

    reln_mat_mul(1, algebra->dim, nn, x, algebra->basis, matrix);
}

/* |X - sum_a <Q_a, X> Q_a| / |X| */
static double distance(const RelnAlgebra *a, const double *matrix)
{
    const ptrdiff_t nn = (ptrdiff_t)a->n * a->n;
    const double norm = reln_mat_norm(nn, matrix);
    double rest[RELN_ALGEBRA_MAX_N * RELN_ALGEBRA_MAX_N];

    if (norm == 0.0)
        return 0;
    memcpy(rest, matrix, (size_t)nn * sizeof *rest);
    for (ptrdiff_t k = 0; k < a->dim; k++) {
        const double *const q = a->facts.ortho + k * nn;
        double dot = 0;
        for (ptrdiff_t i = 0; i < nn; i++)
            dot += q[i] * matrix[i];
        for (ptrdiff_t i = 0; i < nn; i++)
            rest[i] -= dot * q[i];
    }
    return reln_mat_norm(nn, rest) / norm;
}

double reln_algebra_vee(const RelnAlgebra *algebra, const double *matrix, double *x)
{
    RELN_NEED(algebra && matrix && x, 0);

    const ptrdiff_t nn = (ptrdiff_t)algebra->n * algebra->n;

    reln_mat_mul(algebra->dim, nn, 1, algebra->facts.dual, matrix, x);
    return distance(algebra, matrix);
}

void reln_algebra_bracket(const RelnAlgebra *algebra, const double *x, const double *y, double *z)
{
    if (!algebra || !x || !y || !z)
        return;
    const RelnTensor3 *const c = &algebra->facts.structure;

    memset(z, 0, (size_t)algebra->dim * sizeof *z);
    for (int e = 0; e < c->count; e++)
        z[c->entries[e].k] += c->entries[e].value * x[c->entries[e].i] * y[c->entries[e].j];
}

RelnStatus reln_algebra_exp(const RelnAlgebra *algebra, const double *x, double *g)
{
    RELN_NEED(algebra && x && g, reln_null(reln_algebra_ctx(algebra), __func__));

    reln_algebra_hat(algebra, x, g);
    return reln_matrix_exp(algebra->arena.ctx, algebra->n, g, g);
}

/* Returns the tolerance of the adjoint action: rounding in g moves g E g^-1 by u cond(g)^2 |E|; the algebra
 * itself is known up to tau. */
static RelnStatus adjoint_tolerance(const RelnAlgebra *a, const double *g, double *tolerance)
{
    double cond = 0;

    RELN_TRY(reln_cond(a->arena.ctx, a->n, g, &cond));
    *tolerance = fmax(1e-10, (a->facts.tau + 64 * a->n * DBL_EPSILON) * cond * cond);
    return RELN_OK;
}

/* Writes the coordinates of g E_k g^-1 to column k of ad. tmp has room for three matrices. */
static RelnStatus adjoint_columns(const RelnAlgebra *a, const double *g, double tolerance,
                                  double *tmp, double *x, double *ad)
{
    const ptrdiff_t n = a->n, nn = n * n;
    double *const inverse = tmp, *const left = tmp + nn, *const moved = tmp + 2 * nn;

    RELN_TRY(reln_inverse(a->arena.ctx, n, g, inverse));
    for (ptrdiff_t k = 0; k < a->dim; k++) {
        const double norm = reln_mat_norm(nn, a->basis + k * nn);
        double outside;
        reln_mat_mul(n, n, n, g, a->basis + k * nn, left);
        reln_mat_mul(n, n, n, left, inverse, moved);
        outside = reln_algebra_vee(a, moved, x) * reln_mat_norm(nn, moved) / norm;
        if (!(outside <= tolerance))
            return reln_fail(a->arena.ctx, RELN_ERR_REP,
                             "g does not normalise %.120s: g E_%td g^-1 leaves it by %.2g of E_%td "
                             "(allowed %.2g)",
                             a->name, k + 1, outside, k + 1, tolerance);
        for (ptrdiff_t i = 0; i < a->dim; i++)
            ad[i * a->dim + k] = x[i];
    }
    return RELN_OK;
}

RelnStatus reln_algebra_adjoint(const RelnAlgebra *algebra, const double *g, double *ad)
{
    RELN_NEED(algebra && g && ad, reln_null(reln_algebra_ctx(algebra), __func__));

    const size_t nn = (size_t)algebra->n * (size_t)algebra->n;
    double tolerance = 0, *tmp = NULL;
    RelnStatus status;

    RELN_TRY(adjoint_tolerance(algebra, g, &tolerance));
    tmp = reln_alloc(algebra->arena.ctx, 3 * nn + (size_t)algebra->dim, sizeof *tmp);
    if (!tmp)
        return RELN_ERR_NOMEM;
    status = adjoint_columns(algebra, g, tolerance, tmp, tmp + 3 * nn, ad);
    reln_free(algebra->arena.ctx, tmp);
    return status;
}

RelnStatus reln_algebra_random_group(const RelnAlgebra *algebra, RelnRng *rng, double cond,
                                     double *g, double *inverse, double *reached)
{
    RELN_NEED(algebra && rng && g, reln_null(reln_algebra_ctx(algebra), __func__));

    return reln_sample_factors(algebra->arena.ctx, algebra->n, algebra->dim, algebra->facts.ortho,
                               rng, cond, NULL, g, inverse, reached);
}
