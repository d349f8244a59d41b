/* certify.c -- proves that lifts follow the symmetry. Lifts run outside of graphs, so their matrices are
 * checked here. */
#include <stdio.h>
#include <string.h>

#include "graph/certify.h"
#include "model/model.h"
#include "rep/rep.h"

/* Lists the non-zero entries of a dense matrix (rows, columns), as a map from columns to rows; returns their
 * number. */
static int list(int rows, int columns, const double *m, RelnEntry *entries)
{
    int count = 0;

    for (int k = 0; k < rows; k++)
        for (int i = 0; i < columns; i++)
            if (m[(ptrdiff_t)k * columns + i] != 0)
                entries[count++] = (RelnEntry){i, 0, k, m[(ptrdiff_t)k * columns + i]};
    return count;
}

static RelnStatus claim_matrix(const RelnModel *m, RelnClaims *claims, const char *name,
                               const char *rule, const RelnRep *from, const RelnRep *to,
                               const double *matrix)
{
    const int rows = to ? reln_rep_dim(to) : 0, columns = from ? reln_rep_dim(from) : 0;
    RelnEntry *entries =
        reln_arena_alloc(claims->arena, (size_t)rows * (size_t)columns, sizeof *entries);

    if (!from || !to)
        return reln_ctx_status(m->ctx);
    if (!entries)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_claim_rep(claims, from));
    RELN_TRY(reln_claim_rep(claims, to));
    return reln_claim_map(claims, "lift", name, rule, from, NULL, to,
                          list(rows, columns, matrix, entries), entries);
}

/* Returns the rep of coordinates in the symmetry's algebra, under the group of graphs: each generator acts by
 * the same matrix as in the symmetry. */
static const RelnRep *element_rep(const RelnModel *m)
{
    const RelnRep *own;

    if (reln_algebra_n(m->own) == reln_group_n(m->group))
        return reln_rep_adjoint(m->group, m->own);
    own = reln_rep_adjoint(m->symmetry, m->own);
    return own ? reln_rep_from_matrices(m->group, reln_rep_dim(own), own->lie, own->discrete)
               : NULL;
}

/* If features hold only some matrices, each accepted X is hat(x): hat is an intertwiner, and the lift is its
 * inverse. */
static RelnStatus claim_hat(const RelnModel *m, RelnClaims *claims, const char *name,
                            const Lift *lift)
{
    const int k = reln_model_k(m), n2 = m->n * m->n;
    const double *basis = reln_algebra_basis(m->algebra);
    double *hat = reln_arena_alloc(claims->arena, (size_t)(k * n2), sizeof *hat);
    double *both = reln_arena_alloc(claims->arena, (size_t)(k * k), sizeof *both);

    if (!hat || !both)
        return RELN_ERR_NOMEM;
    for (int e = 0; e < k * n2; e++)
        hat[e % n2 * k + e / n2] = basis[e];
    for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++)
            for (int e = 0; e < n2; e++)
                both[i * k + j] += lift->matrix[i * n2 + e] * basis[j * n2 + e];
    for (int e = 0; e < k * k; e++) /* allow for the rounding of a sum of n^2 products */
        both[e] = both[e] < 1e-12 && both[e] > -1e-12 ? 0 : both[e];
    RELN_TRY(claim_matrix(m, claims, name, "hat of the features", m->rep, reln_rep_matrix(m->group),
                          hat));
    return claim_matrix(m, claims, name, "the lift undoes hat", m->rep, m->rep, both);
}

/* g S g^T equals g S g^-1 if the vector rep is its own dual. */
static RelnStatus claim_orthogonal(const RelnModel *m, RelnClaims *claims, const char *name)
{
    const size_t n = (size_t)m->n;
    double *one = reln_arena_alloc(claims->arena, n * n, sizeof *one);

    if (!one)
        return RELN_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        one[i * (n + 1)] = 1;
    return claim_matrix(m, claims, name, "congruence is conjugation", m->vector,
                        reln_rep_dual(m->vector), one);
}

static RelnStatus claim_before(const RelnModel *m, RelnClaims *claims, const RelnSpecInput *in,
                               const Lift *lift)
{
    if (lift->law)
        return reln_claim(claims, "lift", in->name, lift->law, NULL) ? RELN_OK : RELN_ERR_NOMEM;
    return in->as == RELN_AS_COVARIANCE ? claim_orthogonal(m, claims, in->name) : RELN_OK;
}

static RelnStatus claim_lift(const RelnModel *m, RelnClaims *claims, const RelnSpecInput *in,
                             const Lift *lift)
{
    if (!lift->matrix) {
        RelnClaim *c = reln_claim(claims, "lift", in->name, "scalars as they are", NULL);
        return c ? RELN_OK : RELN_ERR_NOMEM;
    }
    RELN_TRY(claim_before(m, claims, in, lift));
    if (in->as == RELN_AS_ELEMENT)
        return claim_matrix(m, claims, in->name, "coordinates of elements", element_rep(m), m->rep,
                            lift->matrix);
    if (!lift->matrices)
        return claim_matrix(m, claims, in->name, "linear lift of vectors", m->vector, m->rep,
                            lift->matrix);
    if (lift->inside)
        return claim_hat(m, claims, in->name, lift);
    return claim_matrix(m, claims, in->name, "linear lift of matrices",
                        reln_rep_product(m->vector, reln_rep_dual(m->vector)), m->rep,
                        lift->matrix);
}

RelnStatus reln_model_claim_lifts(const RelnModel *m, RelnClaims *claims)
{
    for (int i = 0; i < m->spec.n_inputs; i++)
        RELN_TRY(claim_lift(m, claims, &m->spec.input[i], &m->lift[i]));
    return RELN_OK;
}
