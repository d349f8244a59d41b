/* span.c -- the span of the Lie generators as a space of matrices; the finite group that matrices generate. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rep/rep.h"
#include "tensor/linalg.h"

/* Generators count as dependent, and transposes as inside the span, below this relative residual. */
#define SPAN_TOLERANCE 1e-10
/* Group elements closer than this share of their size are equal. */
#define SAME_ELEMENT 1e-8
/* Limit on the numbers of a closure. */
#define CLOSURE_NUMBERS ((ptrdiff_t)1 << 26)

void reln_combine(int count, ptrdiff_t size, const double *coords, const double *matrices,
                  double *out)
{
    memset(out, 0, (size_t)size * sizeof *out);
    for (int i = 0; i < count; i++)
        if (coords[i] != 0)
            for (ptrdiff_t e = 0; e < size; e++)
                out[e] += coords[i] * matrices[i * size + e];
}

void reln_keep_message(const RelnCtx *ctx, Kept *kept)
{
    snprintf(kept->message, sizeof kept->message, "%s", reln_ctx_error(ctx));
}

void reln_put_back(RelnCtx *ctx, const Kept *kept)
{
    (void)reln_fail(ctx, RELN_OK, "%s", kept->message);
}

double reln_largest(ptrdiff_t count, const double *x)
{
    double largest = 0;

    for (ptrdiff_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(x[i]));
    return largest;
}

/* ---- the span --------------------------------------------------------------------------------------------- */

typedef struct Work {
    int n, n_lie, rank;
    double *orthonormal; /* (rank, n, n) */
    double *basis;       /* (rank, n_lie) */
    double *coords;      /* (n_lie, n*n) */
} Work;

/* With unit rows e_i = E_i / |E_i| and e = U S V^T: row a of V^T is sum_i U_ia / (s_a |E_i|) E_i. */
static RelnStatus orthonormalise(RelnArena *scratch, const RelnGroup *group, Work *w)
{
    const int n2 = w->n * w->n, r = w->n_lie < n2 ? w->n_lie : n2;
    double *rows = reln_arena_copy(scratch, group->lie, (size_t)(w->n_lie * n2), sizeof *rows);
    double *norms = reln_arena_alloc(scratch, (size_t)w->n_lie, sizeof *norms);
    double *u = reln_arena_alloc(scratch, (size_t)(w->n_lie * r), sizeof *u);
    double *s = reln_arena_alloc(scratch, (size_t)r, sizeof *s);

    w->orthonormal = reln_arena_alloc(scratch, (size_t)(r * n2), sizeof(double));
    if (!rows || !norms || !u || !s || !w->orthonormal)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < w->n_lie; i++) {
        const double norm = reln_mat_norm(n2, rows + i * n2);
        norms[i] = norm > 0 ? norm : 1;
        for (int e = 0; e < n2; e++)
            rows[i * n2 + e] /= norms[i];
    }
    RELN_TRY(reln_svd(scratch->ctx, w->n_lie, n2, rows, false, s, u, w->orthonormal));
    while (w->rank < r && s[w->rank] > SPAN_TOLERANCE * s[0])
        w->rank++;
    for (int a = 0; a < w->rank; a++)
        for (int i = 0; i < w->n_lie; i++)
            w->basis[a * w->n_lie + i] = u[i * r + a] / (s[a] * norms[i]);
    return RELN_OK;
}

/* Computes coordinates of a matrix M: sum_a <B_a, M> basis_a. */
static void fill_coords(const Work *w)
{
    const int n2 = w->n * w->n;

    for (int i = 0; i < w->n_lie; i++)
        for (int a = 0; a < w->rank; a++)
            for (int e = 0; e < n2; e++)
                w->coords[i * n2 + e] += w->basis[a * w->n_lie + i] * w->orthonormal[a * n2 + e];
}

static bool closed_under_transposition(const Work *w, double *transposed)
{
    const int n2 = w->n * w->n;

    for (int a = 0; a < w->rank; a++) {
        double inside = 0; /* squared length of the part in the span; the whole has length 1 */
        reln_mat_transpose(w->n, w->n, w->orthonormal + a * n2, transposed);
        for (int b = 0; b < w->rank; b++) {
            double dot = 0;
            for (int e = 0; e < n2; e++)
                dot += w->orthonormal[b * n2 + e] * transposed[e];
            inside += dot * dot;
        }
        if (fabs(1 - inside) > SPAN_TOLERANCE)
            return false;
    }
    return true;
}

/* half = (B_a + sign B_a^T) / 2 */
static void half(const Work *w, int a, double sign, double *out)
{
    const double *b = w->orthonormal + a * w->n * w->n;

    for (int i = 0; i < w->n; i++)
        for (int j = 0; j < w->n; j++)
            out[i * w->n + j] = (b[i * w->n + j] + sign * b[j * w->n + i]) / 2;
}

static void bracket(int n, const double *x, const double *y, double *out)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += x[i * n + k] * y[k * n + j] - y[i * n + k] * x[k * n + j];
            out[i * n + j] = sum;
        }
}

/* Adds to the symmetric s a random antisymmetric element of the span that commutes with it. */
static RelnStatus add_commuting(RelnArena *scratch, const Work *w, RelnRng *rng, const double *s,
                                double *out)
{
    const int n2 = w->n * w->n, rank = w->rank;
    double *halves = reln_arena_alloc(scratch, (size_t)(rank * n2), sizeof *halves);
    double *brackets = reln_arena_alloc(scratch, (size_t)(rank * n2), sizeof *brackets);
    double *gram = reln_arena_alloc(scratch, (size_t)(rank * rank), sizeof *gram);
    double *values = reln_arena_alloc(scratch, (size_t)rank, sizeof *values);
    double *vectors = reln_arena_alloc(scratch, (size_t)(rank * rank), sizeof *vectors);

    if (!halves || !brackets || !gram || !values || !vectors)
        return RELN_ERR_NOMEM;
    for (int a = 0; a < rank; a++) {
        half(w, a, -1, halves + a * n2);
        bracket(w->n, s, halves + a * n2, brackets + a * n2);
    }
    reln_mat_gemm(false, true, rank, rank, n2, 1, brackets, n2, brackets, n2, 0, gram, rank);
    RELN_TRY(reln_eigh(scratch->ctx, rank, gram, values, vectors));
    for (int t = 0; t < rank; t++) {
        const double z = reln_rng_normal(rng);
        for (int a = 0; a < rank && values[t] <= SPAN_TOLERANCE; a++)
            for (int e = 0; e < n2; e++)
                out[e] += z * vectors[a * rank + t] * halves[a * n2 + e];
    }
    return RELN_OK;
}

/* Computes a generic element. If the span is closed under transposition, some of its Cartan subalgebras are
 * too: a random symmetric element plus a random antisymmetric element that commutes with it lies in one and
 * is a normal matrix, with orthogonal eigenvectors. Otherwise any random element is used. */
static RelnStatus regular_element(RelnArena *scratch, const Work *w, double *regular)
{
    const int n2 = w->n * w->n;
    RelnRng rng = reln_rng(0x7265676c6172ULL, 0);
    double *s = reln_arena_alloc(scratch, (size_t)n2, sizeof *s);
    double *part = reln_arena_alloc(scratch, (size_t)n2, sizeof *part);
    double *sum = reln_arena_alloc(scratch, (size_t)n2, sizeof *sum);
    bool normal;

    if (!s || !part || !sum)
        return RELN_ERR_NOMEM;
    normal = closed_under_transposition(w, part);
    for (int a = 0; a < w->rank; a++) {
        const double z = reln_rng_normal(&rng);
        if (normal)
            half(w, a, 1, part);
        else
            memcpy(part, w->orthonormal + a * n2, (size_t)n2 * sizeof *part);
        for (int e = 0; e < n2; e++)
            s[e] += z * part[e];
    }
    memcpy(sum, s, (size_t)n2 * sizeof *s);
    if (normal)
        RELN_TRY(add_commuting(scratch, w, &rng, s, sum));
    const double norm = reln_mat_norm(n2, sum);
    for (int i = 0; i < w->n_lie; i++)
        for (int e = 0; e < n2 && norm > 0; e++)
            regular[i] += w->coords[i * n2 + e] * sum[e] / norm;
    return RELN_OK;
}

static RelnStatus make_span(RelnArena *scratch, RelnGroup *group, Span *span)
{
    const size_t n_lie = (size_t)group->n_lie, n2 = (size_t)(group->n * group->n);
    Work w = {group->n, group->n_lie, 0, NULL, NULL, NULL};
    double *regular = reln_arena_alloc(&group->arena, n_lie, sizeof *regular);

    w.basis = reln_arena_alloc(&group->arena, n_lie * n_lie, sizeof *w.basis);
    w.coords = reln_arena_alloc(&group->arena, n_lie * n2, sizeof *w.coords);
    if (!regular || !w.basis || !w.coords)
        return RELN_ERR_NOMEM;
    if (group->n_lie > 0) {
        RELN_TRY(orthonormalise(scratch, group, &w));
        fill_coords(&w);
        RELN_TRY(regular_element(scratch, &w, regular));
    }
    *span = (Span){w.rank, w.coords, w.basis, regular};
    return RELN_OK;
}

RelnStatus reln_group_span(RelnGroup *group, const Span **out)
{
    RelnStatus status = RELN_OK;

    if (!group->span) {
        Span *span = reln_arena_alloc(&group->arena, 1, sizeof *span);
        RelnArena scratch;
        reln_arena_init(&scratch, group->ctx);
        status = span ? make_span(&scratch, group, span) : RELN_ERR_NOMEM;
        reln_arena_clear(&scratch);
        if (status == RELN_OK)
            group->span = span;
    }
    *out = group->span;
    return status;
}

double reln_span_coords(const RelnGroup *group, const Span *span, const double *matrix,
                        double scale, double *coords)
{
    const int n2 = group->n * group->n;
    double distance = 0;

    for (int i = 0; i < group->n_lie; i++) {
        coords[i] = 0;
        for (int e = 0; e < n2; e++)
            coords[i] += span->coords[i * n2 + e] * matrix[e];
    }
    for (int e = 0; e < n2; e++) {
        double rest = matrix[e];
        for (int i = 0; i < group->n_lie; i++)
            rest -= coords[i] * group->lie[i * n2 + e];
        distance = hypot(distance, rest);
    }
    return scale > 0 ? distance / scale : distance;
}

/* ---- the closure ------------------------------------------------------------------------------------------ */

typedef struct Grower {
    RelnArena *arena;
    int dim, capacity, limit;
    Closure *c;
} Grower;

static RelnStatus grow(Grower *g)
{
    const size_t size = (size_t)g->dim * (size_t)g->dim, old = (size_t)g->c->count;
    const size_t wanted = old ? 4 * old : 16, most = (size_t)g->limit + 1; /* plus one for the candidate */
    const size_t capacity = wanted < most ? wanted : most;
    int *parent = reln_arena_alloc(g->arena, capacity, sizeof *parent);
    int *generator = reln_arena_alloc(g->arena, capacity, sizeof *generator);
    double *matrices = reln_arena_alloc(g->arena, capacity * size, sizeof *matrices);

    if (!parent || !generator || !matrices)
        return RELN_ERR_NOMEM;
    if (old > 0) {
        memcpy(parent, g->c->parent, old * sizeof *parent);
        memcpy(generator, g->c->generator, old * sizeof *generator);
        memcpy(matrices, g->c->matrices, old * size * sizeof *matrices);
    }
    *g->c = (Closure){g->c->count, g->c->complete, parent, generator, matrices};
    g->capacity = (int)capacity;
    return RELN_OK;
}

static bool same(ptrdiff_t size, const double *x, const double *y, double tolerance)
{
    for (ptrdiff_t e = 0; e < size; e++)
        if (!(fabs(x[e] - y[e]) <= tolerance))
            return false;
    return true;
}

/* Appends the candidate, which is stored behind the last element, unless it is already an element. */
static RelnStatus take(Grower *g, int parent, int generator)
{
    const ptrdiff_t size = (ptrdiff_t)g->dim * g->dim;
    const double *candidate = g->c->matrices + g->c->count * size;
    const double tolerance = SAME_ELEMENT * fmax(1, reln_largest(size, candidate));

    for (int e = 0; e < g->c->count; e++)
        if (same(size, g->c->matrices + e * size, candidate, tolerance))
            return RELN_OK;
    if (g->c->count >= g->limit) {
        g->c->complete = false;
        return RELN_OK;
    }
    g->c->parent[g->c->count] = parent;
    g->c->generator[g->c->count] = generator;
    g->c->count++;
    return g->c->count < g->capacity ? RELN_OK : grow(g);
}

/* out = generator * x, skipping the zeros of the generator */
static void multiply(int dim, const double *generator, const double *x, double *out)
{
    memset(out, 0, (size_t)dim * (size_t)dim * sizeof *out);
    for (ptrdiff_t i = 0; i < dim; i++)
        for (ptrdiff_t k = 0; k < dim; k++) {
            const double a = generator[i * dim + k];
            for (ptrdiff_t j = 0; j < dim && a != 0; j++)
                out[i * dim + j] += a * x[k * dim + j];
        }
}

RelnStatus reln_closure(RelnArena *arena, int dim, int n_generators, const double *generators,
                        int limit, Closure *out)
{
    const ptrdiff_t size = (ptrdiff_t)dim * dim, room = CLOSURE_NUMBERS / size;
    Grower g = {arena, dim, 0, limit < room ? limit : (int)room, out};

    *out = (Closure){0, true, NULL, NULL, NULL};
    RELN_TRY(grow(&g));
    reln_mat_identity(dim, out->matrices);
    RELN_TRY(take(&g, 0, -1));
    for (int e = 0; e < out->count && out->complete; e++)
        for (int a = 0; a < n_generators && out->complete; a++) {
            multiply(dim, generators + a * size, out->matrices + e * size,
                     out->matrices + out->count * size);
            RELN_TRY(take(&g, e, a));
        }
    return RELN_OK;
}
