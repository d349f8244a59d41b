/* adjoint.c -- the adjoint rep of a group on an algebra that it normalises. */
#include <math.h>

#include "rep/exact.h"
#include "rep/make.h"
#include "tensor/linalg.h"

typedef struct Adjoint {
    const RelnAlgebra *algebra;
    double *image;  /* (n, n): image of a basis element under a generator */
    double *half;   /* (n, n) */
    double *column; /* (K) */
    double *norms;  /* (K): norms of the basis elements */
} Adjoint;

/* Writes column b from the image. Rounding is measured against |x| |E_b|, which for coordinate a is divided
 * by |E_a|. */
static double write_column(const Adjoint *a, int b, double x_norm, double *out)
{
    const int dim = reln_algebra_dim(a->algebra), n = reln_algebra_n(a->algebra);
    const double outside = reln_algebra_vee(a->algebra, a->image, a->column);
    const double scale = x_norm * a->norms[b];

    for (ptrdiff_t k = 0; k < dim; k++)
        out[k * dim + b] =
            fabs(a->column[k]) * a->norms[k] <= COORDINATE_NOISE * scale ? 0 : a->column[k];
    return scale > 0 ? outside * reln_mat_norm(square(n), a->image) / scale : 0;
}

/* Writes [e, E_b] for every b, and returns the largest part outside the algebra. */
static double bracket_columns(const Adjoint *a, const double *e, double *out)
{
    const int dim = reln_algebra_dim(a->algebra), n = reln_algebra_n(a->algebra);
    const double norm = 2 * reln_mat_norm(square(n), e);
    double worst = 0;

    for (int b = 0; b < dim; b++) {
        const double *eb = reln_algebra_basis(a->algebra) + b * square(n);
        reln_mat_mul(n, n, n, e, eb, a->image);
        reln_mat_mul(n, n, n, eb, e, a->half);
        for (ptrdiff_t i = 0; i < square(n); i++)
            a->image[i] -= a->half[i];
        worst = fmax(worst, write_column(a, b, norm, out));
    }
    return worst;
}

/* Writes g E_b g^-1 for every b. */
static double conjugate_columns(const Adjoint *a, const double *g, const double *inverse,
                                double *out)
{
    const int dim = reln_algebra_dim(a->algebra), n = reln_algebra_n(a->algebra);
    const double norm = reln_mat_norm(square(n), g) * reln_mat_norm(square(n), inverse);
    double worst = 0;

    for (int b = 0; b < dim; b++) {
        reln_mat_mul(n, n, n, g, reln_algebra_basis(a->algebra) + b * square(n), a->half);
        reln_mat_mul(n, n, n, a->half, inverse, a->image);
        worst = fmax(worst, write_column(a, b, norm, out));
    }
    return worst;
}

static RelnStatus leaves(const Candidate *c, const Adjoint *a, const char *kind, int generator,
                         double residual)
{
    return reln_fail(c->group->ctx, RELN_ERR_REP,
                     "%s %d of %s takes %s out of itself by %.2g (tolerance %g)", kind, generator,
                     c->group->name, reln_algebra_name(a->algebra), residual, SPAN_RESIDUAL);
}

static RelnStatus fill_adjoint(const void *given, Candidate *c)
{
    const RelnGroup *g = c->group;
    const ptrdiff_t n2 = square(g->n), size = square(c->dim);
    Adjoint a = {given, reln_arena_alloc(c->scratch, (size_t)n2, sizeof(double)),
                 reln_arena_alloc(c->scratch, (size_t)n2, sizeof(double)),
                 reln_arena_alloc(c->scratch, (size_t)c->dim, sizeof(double)),
                 reln_arena_alloc(c->scratch, (size_t)c->dim, sizeof(double))};

    if (!a.image || !a.half || !a.column || !a.norms)
        return RELN_ERR_NOMEM;
    c->made = g->dyadic && reln_all_dyadic(c->dim * n2, reln_algebra_basis(a.algebra));
    for (int b = 0; b < c->dim; b++)
        a.norms[b] = reln_mat_norm(n2, reln_algebra_basis(a.algebra) + b * n2);
    for (int i = 0; i < g->n_lie; i++) {
        const double rest = bracket_columns(&a, g->lie + i * n2, c->lie + i * size);
        if (!(rest <= SPAN_RESIDUAL))
            return leaves(c, &a, "generator", i, rest);
    }
    for (int i = 0; i < g->n_discrete; i++) {
        const double *x = g->discrete + i * n2, *y = g->inverse + i * n2;
        const double rest = fmax(conjugate_columns(&a, x, y, c->discrete + i * size),
                                 conjugate_columns(&a, y, x, c->inverse + i * size));
        if (!(rest <= SPAN_RESIDUAL))
            return leaves(c, &a, "discrete generator", i, rest);
    }
    return RELN_OK;
}

const RelnRep *reln_rep_adjoint(RelnGroup *group, const RelnAlgebra *algebra)
{
    if (!group || !algebra)
        return NULL;
    if (reln_algebra_n(algebra) != group->n) {
        reln_fail(group->ctx, RELN_ERR_REP, "%s acts on %dx%d matrices, %s has %dx%d ones",
                  group->name, group->n, group->n, reln_algebra_name(algebra),
                  reln_algebra_n(algebra), reln_algebra_n(algebra));
        return NULL;
    }
    return reln_rep_make(group, reln_algebra_dim(algebra), fill_adjoint, algebra, "adjoint(%s)",
                         reln_algebra_name(algebra));
}
