/* exact_rep.c -- verifies in integers that a rep is a homomorphism, relation by relation.
 *
 * The coefficients of [E_i, E_j] = sum_k c_k E_k are read from floating point as fractions and verified with the generators,
 * which are dyadic; then [rho(E_i), rho(E_j)] = sum_k c_k rho(E_k) is verified with the same fractions. The conjugations
 * gamma E_i gamma^-1 are verified in the same way, as rho(gamma) rho(E_i) = (sum_k c_k rho(E_k)) rho(gamma).
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rep/exact.h"

/* A Side holds the matrix of every generator over its denominator, in the group or in a rep. */
typedef struct Side {
    int dim;
    const Action *actions;
    const ExactAction *exact;
} Side;

typedef struct Prover {
    RelnArena *scratch;
    const RelnGroup *group;
    const Span *span;
    Side small, large; /* the group's matrices, and those of the rep */
    double *matrix;    /* (n, n): the matrix whose coordinates are sought */
    double *half;
    double *coords;  /* (n_lie) */
    int64_t *c, den; /* (n_lie): its coordinates as fractions c / den */
    Wide *sum[2];    /* sums on the small and on the large side: (dim, dim) */
    bool overflow;
    RelnProof *proof;
} Prover;

static bool fail(Prover *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(Prover *p, const char *format, ...)
{
    va_list args;

    p->proof->holds = false;
    va_start(args, format);
    vsnprintf(p->proof->text, sizeof p->proof->text, format, args);
    va_end(args);
    return false;
}

/* sum += f a b; the matrices are rows of numerators */
static void add_product(Prover *p, const Side *s, int a, int b, Wide f, Wide *sum)
{
    const Sparse *x = &s->actions[a].rows, *y = &s->actions[b].rows;
    const int64_t *nx = s->exact[a].rows, *ny = s->exact[b].rows;

    for (int i = 0; i < s->dim; i++)
        for (int e = x->start[i]; e < x->start[i + 1]; e++)
            for (int d = y->start[x->index[e]]; d < y->start[x->index[e] + 1]; d++) {
                Wide term, *at = &sum[(ptrdiff_t)i * s->dim + y->index[d]];
                if (__builtin_mul_overflow((Wide)nx[e] * ny[d], f, &term) ||
                    __builtin_add_overflow(*at, term, at))
                    p->overflow = true;
            }
}

/* sum += f a */
static void add_matrix(Prover *p, const Side *s, int a, Wide f, Wide *sum)
{
    const Sparse *x = &s->actions[a].rows;
    const int64_t *nx = s->exact[a].rows;

    for (int i = 0; i < s->dim; i++)
        for (int e = x->start[i]; e < x->start[i + 1]; e++) {
            Wide term, *at = &sum[(ptrdiff_t)i * s->dim + x->index[e]];
            if (__builtin_mul_overflow(f, (Wide)nx[e], &term) ||
                __builtin_add_overflow(*at, term, at))
                p->overflow = true;
        }
}

/* Returns whether the sum is zero, and sets it to zero. */
static bool take_zero(Prover *p, const Side *s, Wide *sum)
{
    bool zero = !p->overflow;

    for (ptrdiff_t e = 0; e < (ptrdiff_t)s->dim * s->dim; e++) {
        zero = zero && sum[e] == 0;
        sum[e] = 0;
    }
    return zero;
}

/* Returns a common denominator of all Lie generators of a side; 0 when it grows too large. */
static Wide lie_denominator(const Side *s, int n_lie)
{
    Wide common = 1;

    for (int i = 0; i < n_lie; i++)
        if (common % s->exact[i].den != 0) {
            common *= s->exact[i].den; /* not the least common denominator, which is not needed */
            if (common > (Wide)1 << 40)
                return 0;
        }
    return common;
}

/* [a, b] den = sum_k c_k k, times all denominators */
static bool bracket_holds(Prover *p, const Side *s, int i, int j, Wide *sum)
{
    const Wide d = lie_denominator(s, p->group->n_lie), di = s->exact[i].den, dj = s->exact[j].den;

    if (d == 0)
        return false;
    add_product(p, s, i, j, p->den * d, sum);
    add_product(p, s, j, i, -p->den * d, sum);
    for (int k = 0; k < p->group->n_lie; k++)
        if (p->c[k] != 0)
            add_matrix(p, s, k, -(Wide)p->c[k] * di * dj * (d / s->exact[k].den), sum);
    return take_zero(p, s, sum);
}

/* gamma i den = (sum_k c_k k) gamma */
static bool conjugation_holds(Prover *p, const Side *s, int gamma, int i, Wide *sum)
{
    const Wide d = lie_denominator(s, p->group->n_lie), di = s->exact[i].den;

    if (d == 0)
        return false;
    add_product(p, s, gamma, i, p->den * d, sum);
    for (int k = 0; k < p->group->n_lie; k++)
        if (p->c[k] != 0)
            add_product(p, s, k, gamma, -(Wide)p->c[k] * di * (d / s->exact[k].den), sum);
    return take_zero(p, s, sum);
}

/* Reads the coordinates of p->matrix as fractions; false when it lies outside the span or they are not
 * fractions. */
static bool read_coords(Prover *p)
{
    const RelnGroup *g = p->group;

    return reln_span_coords(g, p->span, p->matrix, reln_largest((ptrdiff_t)g->n * g->n, p->matrix),
                            p->coords) <= 1e-10 &&
           reln_read_numbers(reln_read_fraction, g->n_lie, p->coords, p->c, &p->den);
}

static void multiply(int n, const double *x, const double *y, double f, double *out)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                out[i * n + j] += f * x[i * n + k] * y[k * n + j];
}

static bool prove_brackets(Prover *p)
{
    const RelnGroup *g = p->group;
    const ptrdiff_t n2 = (ptrdiff_t)g->n * g->n;

    for (int i = 0; i < g->n_lie; i++)
        for (int j = 0; j < i; j++) {
            memset(p->matrix, 0, (size_t)n2 * sizeof *p->matrix);
            multiply(g->n, g->lie + i * n2, g->lie + j * n2, 1, p->matrix);
            multiply(g->n, g->lie + j * n2, g->lie + i * n2, -1, p->matrix);
            if (!read_coords(p) || !bracket_holds(p, &p->small, i, j, p->sum[0]))
                return fail(p,
                            "the bracket of generators %d and %d is not a rational combination of "
                            "the generators",
                            j, i);
            if (!bracket_holds(p, &p->large, i, j, p->sum[1]))
                return fail(p, "the bracket of generators %d and %d is not kept", j, i);
            p->proof->relations++;
        }
    return true;
}

static bool prove_conjugations(Prover *p)
{
    const RelnGroup *g = p->group;
    const ptrdiff_t n2 = (ptrdiff_t)g->n * g->n;

    for (int a = 0; a < g->n_discrete; a++)
        for (int i = 0; i < g->n_lie; i++) {
            memset(p->matrix, 0, (size_t)n2 * sizeof *p->matrix);
            memset(p->half, 0, (size_t)n2 * sizeof *p->half);
            multiply(g->n, g->discrete + a * n2, g->lie + i * n2, 1, p->half);
            multiply(g->n, p->half, g->inverse + a * n2, 1, p->matrix);
            if (!read_coords(p) || !conjugation_holds(p, &p->small, g->n_lie + a, i, p->sum[0]))
                return fail(p,
                            "discrete generator %d takes generator %d to no rational "
                            "combination of the generators",
                            a, i);
            if (!conjugation_holds(p, &p->large, g->n_lie + a, i, p->sum[1]))
                return fail(p, "discrete generator %d acts on generator %d otherwise", a, i);
            p->proof->relations++;
        }
    return true;
}

/* Verifies that every discrete generator has an inverse: the transpose of its matrix in the dual rep. */
static bool prove_inverses(Prover *p, const RelnRep *rep)
{
    const RelnRep *dual = reln_rep_dual(rep);
    const RelnGroup *g = p->group;

    if (!dual || !dual->exact)
        return g->n_discrete == 0 ||
               fail(p, "the inverse of discrete generator %d of %d is not a fraction", 0,
                    g->n_discrete);
    for (int a = g->n_lie; a < g->n_lie + g->n_discrete; a++) {
        const Sparse *x = &rep->actions[a].rows, *y = &dual->actions[a].columns;
        const int64_t *nx = rep->exact[a].rows, *ny = dual->exact[a].columns;
        /* rows of the transpose are columns of the dual */
        for (int i = 0; i < rep->dim; i++)
            for (int e = x->start[i]; e < x->start[i + 1]; e++)
                for (int d = y->start[x->index[e]]; d < y->start[x->index[e] + 1]; d++)
                    p->sum[1][(ptrdiff_t)i * rep->dim + y->index[d]] += (Wide)nx[e] * ny[d];
        for (int i = 0; i < rep->dim; i++)
            p->sum[1][(ptrdiff_t)i * (rep->dim + 1)] -=
                (Wide)rep->exact[a].den * dual->exact[a].den;
        if (!take_zero(p, &p->large, p->sum[1]))
            return fail(p, "the inverse of discrete generator %d of %d is wrong", a - g->n_lie,
                        g->n_discrete);
        p->proof->relations++;
    }
    return true;
}

static RelnStatus prove(RelnArena *scratch, const RelnRep *rep, RelnProof *out)
{
    RelnGroup *g = rep->group;
    const RelnRep *vector = reln_rep_vector(g);
    const size_t n2 = (size_t)g->n * (size_t)g->n, size = (size_t)rep->dim * (size_t)rep->dim;
    Prover p = {.scratch = scratch, .group = g, .proof = out};

    if (!vector)
        return RELN_ERR_NOMEM;
    if (!rep->exact || !vector->exact) {
        fail(&p, "%s",
             vector->exact ? "the rep has entries that are not fractions"
                           : "the generators are floats, not fractions");
        return RELN_OK;
    }
    RELN_TRY(reln_group_span(g, &p.span));
    p.small = (Side){g->n, vector->actions, vector->exact};
    p.large = (Side){rep->dim, rep->actions, rep->exact};
    p.matrix = reln_arena_alloc(scratch, n2, sizeof *p.matrix);
    p.half = reln_arena_alloc(scratch, n2, sizeof *p.half);
    p.coords = reln_arena_alloc(scratch, (size_t)g->n_lie, sizeof *p.coords);
    p.c = reln_arena_alloc(scratch, (size_t)g->n_lie, sizeof *p.c);
    p.sum[0] = reln_arena_alloc(scratch, n2, sizeof(Wide));
    p.sum[1] = reln_arena_alloc(scratch, size, sizeof(Wide));
    if (!p.matrix || !p.half || !p.coords || !p.c || !p.sum[0] || !p.sum[1])
        return RELN_ERR_NOMEM;
    (void)(prove_brackets(&p) && prove_conjugations(&p) && prove_inverses(&p, rep));
    return RELN_OK;
}

RelnStatus reln_exact_homomorphism(const RelnRep *rep, RelnProof *out)
{
    RelnArena scratch;
    RelnStatus status;

    *out = (RelnProof){.holds = true, .rational = rep->exact != NULL};
    reln_arena_init(&scratch, rep->group->ctx);
    status = prove(&scratch, rep, out);
    reln_arena_clear(&scratch);
    return status;
}

bool reln_exact_trivial(const RelnRep *rep)
{
    const RelnGroup *g = rep->group;

    for (int a = 0; a < g->n_lie + g->n_discrete; a++) {
        const Sparse *rows = &rep->actions[a].rows;
        const int count = rows->start[rep->dim];

        if (count != (a < g->n_lie ? 0 : rep->dim))
            return false;
        for (int e = 0; e < count; e++)
            if (rows->index[e] != e || rep->exact[a].rows[e] != rep->exact[a].den)
                return false;
    }
    return true;
}
