/* defining.c -- reps made of the group's matrices: trivial, vectors, conjugation of matrices. */
#include <string.h>

#include "rep/make.h"
#include "tensor/linalg.h"

static RelnStatus fill_trivial(const void *given, Candidate *c)
{
    (void)given;
    for (int g = 0; g < c->group->n_discrete; g++) {
        reln_mat_identity(c->dim, c->discrete + g * square(c->dim));
        reln_mat_identity(c->dim, c->inverse + g * square(c->dim));
    }
    return RELN_OK;
}

const RelnRep *reln_rep_trivial(RelnGroup *group, int dim)
{
    if (!group)
        return NULL;
    if (dim == 1)
        return reln_rep_make(group, dim, fill_trivial, NULL, "invariant");
    return reln_rep_make(group, dim, fill_trivial, NULL, "invariant^%d", dim);
}

static RelnStatus fill_vector(const void *given, Candidate *c)
{
    const RelnGroup *g = c->group;
    const size_t size = (size_t)square(c->dim) * sizeof(double);

    (void)given;
    c->made = g->dyadic;
    memcpy(c->lie, g->lie, (size_t)g->n_lie * size);
    memcpy(c->discrete, g->discrete, (size_t)g->n_discrete * size);
    memcpy(c->inverse, g->inverse, (size_t)g->n_discrete * size);
    return RELN_OK;
}

const RelnRep *reln_rep_vector(RelnGroup *group)
{
    return group ? reln_rep_make(group, group->n, fill_vector, NULL, "vector") : NULL;
}

void reln_kron(int n, const double *a, int m, const double *b, bool transpose, double *out)
{
    const ptrdiff_t dim = (ptrdiff_t)n * m, row = transpose ? 1 : m, column = transpose ? m : 1;

    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < n; j++)
            for (ptrdiff_t k = 0; k < m; k++)
                for (ptrdiff_t l = 0; l < m; l++)
                    out[(i * m + k) * dim + j * m + l] = a[i * n + j] * b[k * row + l * column];
}

void reln_kron_sum(int n, const double *a, int m, const double *b, double *out)
{
    const ptrdiff_t dim = (ptrdiff_t)n * m;

    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t k = 0; k < m; k++) {
            double *row = out + (i * m + k) * dim;
            for (ptrdiff_t j = 0; j < n; j++)
                row[j * m + k] += a[i * n + j];
            for (ptrdiff_t l = 0; l < m; l++)
                row[i * m + l] += b[k * m + l];
        }
}

/* Row-major, E X - X E is E (x) 1 - 1 (x) E^T and g X g^-1 is g (x) g^-T. */
static RelnStatus fill_matrix(const void *given, Candidate *c)
{
    const RelnGroup *g = c->group;
    const ptrdiff_t n2 = square(g->n), size = square(c->dim);
    double *minus = reln_arena_alloc(c->scratch, (size_t)n2, sizeof *minus);

    (void)given;
    if (!minus)
        return RELN_ERR_NOMEM;
    c->made = g->dyadic;
    for (int i = 0; i < g->n_lie; i++) {
        const double *e = g->lie + i * n2;
        for (ptrdiff_t a = 0; a < g->n; a++)
            for (ptrdiff_t b = 0; b < g->n; b++)
                minus[a * g->n + b] = -e[b * g->n + a];
        reln_kron_sum(g->n, e, g->n, minus, c->lie + i * size);
    }
    for (int i = 0; i < g->n_discrete; i++) {
        const double *x = g->discrete + i * n2, *y = g->inverse + i * n2;
        reln_kron(g->n, x, g->n, y, true, c->discrete + i * size);
        reln_kron(g->n, y, g->n, x, true, c->inverse + i * size);
    }
    return RELN_OK;
}

const RelnRep *reln_rep_matrix(RelnGroup *group)
{
    return group ? reln_rep_make(group, group->n * group->n, fill_matrix, NULL, "matrix") : NULL;
}
