/* polish.c -- improves the accuracy of invariant tensors by steps of conjugate gradients towards the
 * kernel. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "rep/invariants.h"
#include "tensor/linalg.h"

/* Solutions are polished in at most this many steps, if one step takes no more multiplications than the limit
 * below. */
enum { POLISH_STEPS = 60 };
#define POLISH_BUDGET 5e7

/* G = sum_a A_a^T A_a of the Lie generators, applied through the legs. */
typedef struct Operator {
    const Problem *p;
    double *turned[3]; /* (rank, dim, dim): transposed matrices of the legs */
    double *image;     /* a tensor */
} Operator;

static RelnStatus make_operator(RelnArena *arena, const Problem *p, Operator *g)
{
    *g = (Operator){.p = p};
    g->image = reln_arena_alloc(arena, (size_t)reln_volume(p), sizeof *g->image);
    for (int l = 0; l < 3; l++) {
        const ptrdiff_t dim = p->leg[l].dim, size = dim * dim;
        g->turned[l] = reln_arena_alloc(arena, (size_t)(p->rank * size), sizeof(double));
        if (!g->turned[l] || !g->image)
            return RELN_ERR_NOMEM;
        for (int a = 0; a < p->rank; a++)
            reln_mat_transpose(dim, dim, p->leg[l].lie + a * size, g->turned[l] + a * size);
    }
    return RELN_OK;
}

/* y = G x */
static void apply(const Operator *g, const double *x, double *y)
{
    const size_t bytes = (size_t)reln_volume(g->p) * sizeof *y;

    memset(y, 0, bytes);
    for (int a = 0; a < g->p->rank; a++) {
        memset(g->image, 0, bytes);
        for (int l = 0; l < 3; l++)
            reln_add_mode(g->p, l,
                          g->p->leg[l].lie + (ptrdiff_t)a * g->p->leg[l].dim * g->p->leg[l].dim, x,
                          g->image);
        for (int l = 0; l < 3; l++)
            reln_add_mode(g->p, l,
                          g->turned[l] + (ptrdiff_t)a * g->p->leg[l].dim * g->p->leg[l].dim,
                          g->image, y);
    }
}

static double dot(ptrdiff_t d, const double *x, const double *y)
{
    double sum = 0;

    for (ptrdiff_t e = 0; e < d; e++)
        sum += x[e] * y[e];
    return sum;
}

/* Removes the part of a unit tensor x outside the kernel of G: solves G z = G x by conjugate gradients,
 * result x - z. The iteration ends at the rounding error of G x, where the rest of the residual may lie in
 * the kernel. */
static void polish_row(const Operator *g, double *work, double *x)
{
    const ptrdiff_t d = reln_volume(g->p);
    double *r = work, *q = work + d, *gq = work + 2 * d, square, largest = 0;

    apply(g, x, r);
    memcpy(q, r, (size_t)d * sizeof *q);
    square = dot(d, r, r);
    for (int step = 0; step < POLISH_STEPS && square > 0; step++) {
        double curve, next;

        apply(g, q, gq);
        curve = dot(d, q, gq);
        largest = fmax(largest, curve / dot(d, q, q));
        if (!(curve > 0) || sqrt(square) <= DBL_EPSILON * largest)
            return;
        for (ptrdiff_t e = 0; e < d; e++) {
            x[e] -= square / curve * q[e];
            r[e] -= square / curve * gq[e];
        }
        next = dot(d, r, r);
        for (ptrdiff_t e = 0; e < d; e++)
            q[e] = r[e] + next / square * q[e];
        square = next;
    }
}

/* The eigenbases, and the square in G, lose four digits; polishing with the original generators restores
 * them. */
RelnStatus reln_polish(RelnArena *arena, const Problem *p, ptrdiff_t count, double *rows)
{
    const ptrdiff_t d = reln_volume(p);
    const double dims = (double)p->leg[0].dim + p->leg[1].dim + p->leg[2].dim;
    double *work = reln_arena_alloc(arena, (size_t)(3 * d), sizeof *work);
    Operator g;

    if (2.0 * p->rank * (double)(d * count) * dims > POLISH_BUDGET)
        return RELN_OK;
    RELN_TRY(make_operator(arena, p, &g));
    if (!work)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t t = 0; t < count; t++)
        polish_row(&g, work, rows + t * d);
    return RELN_OK;
}
