/* rep.c -- representations as data: the matrix of every generator, made from the group's own or from other reps. */
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "reln/matrix.h"
#include "rep/rep.h"
#include "tensor/linalg.h"

/* Reps whose matrices agree within this share of their size are one. */
#define SAME_REP 1e-12
/* An algebra counts as normalised by the group, a generator as inside a span, below this share. */
#define SPAN_RESIDUAL 1e-10
/* Rounding left in coordinates that are zero. */
#define COORDINATE_NOISE 1e-14
/* Numbers that the matrices of one rep may take: 1 GiB. */
#define REP_NUMBERS ((uint64_t)1 << 27)

enum { MAX_POWER = 16, PROJECTOR_LIMIT = 4096, WORD_LIMIT = 64, LOG_ATTEMPTS = 4 };

/* Matrices that may become a rep, in memory that is given back. */
typedef struct Candidate {
    RelnGroup *group;
    RelnArena *scratch;
    int dim;
    double *lie, *discrete, *inverse;
} Candidate;

static ptrdiff_t square(int dim)
{
    return (ptrdiff_t)dim * dim;
}

/* ---- interning -------------------------------------------------------------------------------------------- */

/* units: of each generator; NULL: 1 */
static bool agree(int count, ptrdiff_t size, const double *units, const double *x, const double *y)
{
    for (int g = 0; g < count; g++) {
        const double *xg = x + g * size, *yg = y + g * size;
        const double tolerance = SAME_REP * fmax(units ? units[g] : 1, reln_largest(size, xg));
        for (ptrdiff_t e = 0; e < size; e++)
            if (!(fabs(xg[e] - yg[e]) <= tolerance))
                return false;
    }
    return true;
}

static RelnRep *find(const Candidate *c)
{
    const ptrdiff_t size = square(c->dim);

    for (RelnRep *r = c->group->reps; r; r = r->next)
        if (r->dim == c->dim && agree(c->group->n_lie, size, c->group->size, c->lie, r->lie) &&
            agree(c->group->n_discrete, size, NULL, c->discrete, r->discrete) &&
            agree(c->group->n_discrete, size, NULL, c->inverse, r->inverse))
            return r;
    return NULL;
}

/* Lines are rows (step 1 inside a line) or columns (step dim). */
static RelnStatus make_sparse(RelnArena *arena, int dim, const double *m, bool columns, Sparse *out)
{
    const ptrdiff_t line = columns ? 1 : dim, step = columns ? dim : 1;
    int *start = reln_arena_alloc(arena, (size_t)dim + 1, sizeof *start), *index;
    double *value;
    int count = 0;

    for (ptrdiff_t e = 0; e < square(dim); e++)
        count += m[e] != 0;
    index = reln_arena_alloc(arena, (size_t)count, sizeof *index);
    value = reln_arena_alloc(arena, (size_t)count, sizeof *value);
    if (!start || !index || !value)
        return RELN_ERR_NOMEM;
    count = 0;
    for (int a = 0; a < dim; a++) {
        for (int b = 0; b < dim; b++)
            if (m[a * line + b * step] != 0) {
                index[count] = b;
                value[count++] = m[a * line + b * step];
            }
        start[a + 1] = count;
    }
    *out = (Sparse){start, index, value};
    return RELN_OK;
}

static double largest_line_sum(int dim, const Sparse *s)
{
    double largest = 0;

    for (int a = 0; a < dim; a++) {
        double sum = 0;
        for (int e = s->start[a]; e < s->start[a + 1]; e++)
            sum += fabs(s->value[e]);
        largest = fmax(largest, sum);
    }
    return largest;
}

static RelnStatus make_action(RelnArena *arena, int dim, const double *m, Action *out)
{
    RELN_TRY(make_sparse(arena, dim, m, false, &out->rows));
    RELN_TRY(make_sparse(arena, dim, m, true, &out->columns));
    out->norm = sqrt(largest_line_sum(dim, &out->rows) * largest_line_sum(dim, &out->columns));
    return RELN_OK;
}

static RelnStatus make_actions(RelnRep *rep)
{
    const RelnGroup *g = rep->group;
    const int n = g->n_lie + g->n_discrete;
    Action *actions = reln_arena_alloc(&rep->group->arena, (size_t)n, sizeof *actions);

    if (!actions)
        return RELN_ERR_NOMEM;
    for (int a = 0; a < n; a++)
        RELN_TRY(
            make_action(&rep->group->arena, rep->dim,
                        a < g->n_lie ? reln_rep_lie(rep, a) : reln_rep_discrete(rep, a - g->n_lie),
                        &actions[a]));
    rep->actions = actions;
    return RELN_OK;
}

static bool acts_as_nothing(const RelnRep *rep)
{
    const ptrdiff_t size = square(rep->dim);

    for (int i = 0; i < rep->group->n_lie; i++)
        if (reln_largest(size, rep->lie + i * size) > SAME_REP * rep->group->size[i])
            return false;
    for (ptrdiff_t e = 0; e < rep->group->n_discrete * size; e++)
        if (fabs(rep->discrete[e] - (e % size % (rep->dim + 1) == 0)) > SAME_REP)
            return false;
    return true;
}

/* Antisymmetric Lie generators; discrete ones whose inverse is the transpose. */
static bool acts_orthogonally(const RelnRep *rep)
{
    const RelnGroup *g = rep->group;
    const int dim = rep->dim;

    for (int a = 0; a < g->n_lie + g->n_discrete; a++) {
        const bool lie = a < g->n_lie;
        const double *x = lie ? reln_rep_lie(rep, a) : reln_rep_discrete(rep, a - g->n_lie);
        const double *y = lie ? x : rep->inverse + (a - g->n_lie) * square(dim);
        const double sign = lie ? -1 : 1;
        const double scale = fmax(lie ? g->size[a] : 1, reln_largest(square(dim), x));
        for (ptrdiff_t i = 0; i < dim; i++)
            for (ptrdiff_t j = 0; j < dim; j++)
                if (fabs(x[i * dim + j] - sign * y[j * dim + i]) > SAME_REP * scale)
                    return false;
    }
    return true;
}

static const RelnRep *adopt(const Candidate *c, const char *name)
{
    RelnGroup *g = c->group;
    const size_t size = (size_t)square(c->dim), n_lie = (size_t)g->n_lie;
    const size_t n_discrete = (size_t)g->n_discrete;
    RelnRep *rep = reln_arena_alloc(&g->arena, 1, sizeof *rep);

    if (!rep)
        return NULL;
    rep->group = g;
    rep->dim = c->dim;
    rep->name = reln_arena_copy(&g->arena, name, strlen(name) + 1, 1);
    rep->lie = reln_arena_copy(&g->arena, c->lie, n_lie * size, sizeof(double));
    rep->discrete = reln_arena_copy(&g->arena, c->discrete, n_discrete * size, sizeof(double));
    rep->inverse = reln_arena_copy(&g->arena, c->inverse, n_discrete * size, sizeof(double));
    if (!rep->name || !rep->lie || !rep->discrete || !rep->inverse || make_actions(rep) != RELN_OK)
        return NULL;
    rep->trivial = acts_as_nothing(rep);
    rep->orthogonal = acts_orthogonally(rep);
    rep->next = g->reps;
    g->reps = rep;
    return rep;
}

static bool finite(const Candidate *c)
{
    const ptrdiff_t size = square(c->dim);

    for (ptrdiff_t e = 0; e < c->group->n_lie * size; e++)
        if (!isfinite(c->lie[e]))
            return false;
    for (ptrdiff_t e = 0; e < c->group->n_discrete * size; e++)
        if (!isfinite(c->discrete[e]) || !isfinite(c->inverse[e]))
            return false;
    return true;
}

static const RelnRep *intern(const Candidate *c, const char *name)
{
    const RelnRep *rep;

    if (!finite(c)) {
        (void)reln_fail(c->group->ctx, RELN_ERR_NUMERIC, "rep %s holds a number that is not finite",
                        name);
        return NULL;
    }
    rep = find(c);
    return rep ? rep : adopt(c, name);
}

/* Fills the matrices of a candidate from what a maker was given. */
typedef RelnStatus (*Fill)(const void *given, Candidate *c);

static RelnStatus make_room(Candidate *c)
{
    const RelnGroup *g = c->group;
    const uint64_t size = (uint64_t)c->dim * (uint64_t)c->dim;
    const size_t n_lie = (size_t)g->n_lie, n_discrete = (size_t)g->n_discrete;

    if (c->dim < 1)
        return reln_fail(g->ctx, RELN_ERR_ARG, "a rep of %d coordinates, at least 1 wanted",
                         c->dim);
    if (size > REP_NUMBERS / (1 + n_lie + 2 * n_discrete))
        return reln_fail(g->ctx, RELN_ERR_UNSUPPORTED,
                         "a rep of %d coordinates takes more than 1 GiB for %d generators of %s",
                         c->dim, g->n_lie + g->n_discrete, g->name);
    c->lie = reln_arena_alloc(c->scratch, n_lie * size, sizeof(double));
    c->discrete = reln_arena_alloc(c->scratch, n_discrete * size, sizeof(double));
    c->inverse = reln_arena_alloc(c->scratch, n_discrete * size, sizeof(double));
    return c->lie && c->discrete && c->inverse ? RELN_OK : RELN_ERR_NOMEM;
}

static const RelnRep *make(RelnGroup *group, int dim, Fill fill, const void *given,
                           const char *format, ...) __attribute__((format(printf, 5, 6)));
static const RelnRep *make(RelnGroup *group, int dim, Fill fill, const void *given,
                           const char *format, ...)
{
    RelnArena scratch;
    Candidate c = {group, &scratch, dim, NULL, NULL, NULL};
    const RelnRep *rep = NULL;
    va_list args;
    int length;

    reln_arena_init(&scratch, group->ctx);
    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *name = reln_arena_alloc(&scratch, (size_t)length + 1, 1);
    va_start(args, format);
    if (name)
        vsnprintf(name, (size_t)length + 1, format, args);
    va_end(args);
    if (name && make_room(&c) == RELN_OK && fill(given, &c) == RELN_OK)
        rep = intern(&c, name);
    reln_arena_clear(&scratch);
    return rep;
}

/* ---- reps of the group itself ----------------------------------------------------------------------------- */

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
        return make(group, dim, fill_trivial, NULL, "invariant");
    return make(group, dim, fill_trivial, NULL, "invariant^%d", dim);
}

static RelnStatus fill_vector(const void *given, Candidate *c)
{
    const RelnGroup *g = c->group;
    const size_t size = (size_t)square(c->dim) * sizeof(double);

    (void)given;
    memcpy(c->lie, g->lie, (size_t)g->n_lie * size);
    memcpy(c->discrete, g->discrete, (size_t)g->n_discrete * size);
    memcpy(c->inverse, g->inverse, (size_t)g->n_discrete * size);
    return RELN_OK;
}

const RelnRep *reln_rep_vector(RelnGroup *group)
{
    return group ? make(group, group->n, fill_vector, NULL, "vector") : NULL;
}

/* out = a (x) b, a (n,n), b (m,m), transposing b if asked */
static void kron(int n, const double *a, int m, const double *b, bool transpose, double *out)
{
    const ptrdiff_t dim = (ptrdiff_t)n * m, row = transpose ? 1 : m, column = transpose ? m : 1;

    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < n; j++)
            for (ptrdiff_t k = 0; k < m; k++)
                for (ptrdiff_t l = 0; l < m; l++)
                    out[(i * m + k) * dim + j * m + l] = a[i * n + j] * b[k * row + l * column];
}

/* out += a (x) 1 + 1 (x) b */
static void kron_sum(int n, const double *a, int m, const double *b, double *out)
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
    for (int i = 0; i < g->n_lie; i++) {
        const double *e = g->lie + i * n2;
        for (ptrdiff_t a = 0; a < g->n; a++)
            for (ptrdiff_t b = 0; b < g->n; b++)
                minus[a * g->n + b] = -e[b * g->n + a];
        kron_sum(g->n, e, g->n, minus, c->lie + i * size);
    }
    for (int i = 0; i < g->n_discrete; i++) {
        const double *x = g->discrete + i * n2, *y = g->inverse + i * n2;
        kron(g->n, x, g->n, y, true, c->discrete + i * size);
        kron(g->n, y, g->n, x, true, c->inverse + i * size);
    }
    return RELN_OK;
}

const RelnRep *reln_rep_matrix(RelnGroup *group)
{
    return group ? make(group, group->n * group->n, fill_matrix, NULL, "matrix") : NULL;
}

/* ---- the adjoint rep on an algebra ------------------------------------------------------------------------ */

typedef struct Adjoint {
    const RelnAlgebra *algebra;
    double *image;  /* (n, n): what a generator makes of a basis element */
    double *half;   /* (n, n) */
    double *column; /* (K) */
    double *norms;  /* (K): of the basis elements */
} Adjoint;

/* Writes column b from the image. Rounding is measured against |x| |E_b|: coordinate a carries that over |E_a|. */
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

/* [e, E_b] for every b; returns the largest part outside the algebra. */
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

/* g E_b g^-1 for every b */
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
    return make(group, reln_algebra_dim(algebra), fill_adjoint, algebra, "adjoint(%s)",
                reln_algebra_name(algebra));
}

/* ---- characters ------------------------------------------------------------------------------------------- */

/* Gaussian elimination on a copy; only the sign is kept. */
static double determinant_sign(int n, double *m)
{
    double sign = 1;

    for (ptrdiff_t c = 0; c < n; c++) {
        ptrdiff_t pivot = c;
        for (ptrdiff_t r = c + 1; r < n; r++)
            pivot = fabs(m[r * n + c]) > fabs(m[pivot * n + c]) ? r : pivot;
        sign = (pivot != c) != (m[pivot * n + c] < 0) ? -sign : sign;
        for (ptrdiff_t j = 0; j < n; j++) {
            const double x = m[c * n + j];
            m[c * n + j] = m[pivot * n + j];
            m[pivot * n + j] = x;
        }
        for (ptrdiff_t r = c + 1; r < n; r++) {
            const double f = m[r * n + c] / m[c * n + c];
            for (ptrdiff_t j = c; j < n; j++)
                m[r * n + j] -= f * m[c * n + j];
        }
    }
    return sign;
}

static RelnStatus fill_sign(const void *given, Candidate *c)
{
    const RelnGroup *g = c->group;
    const size_t n2 = (size_t)square(g->n);
    double *copy = reln_arena_alloc(c->scratch, n2, sizeof *copy);

    (void)given;
    if (!copy)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < g->n_discrete; i++) {
        memcpy(copy, g->discrete + (size_t)i * n2, n2 * sizeof *copy);
        c->discrete[i] = c->inverse[i] = determinant_sign(g->n, copy);
    }
    return RELN_OK;
}

const RelnRep *reln_rep_sign(RelnGroup *group)
{
    return group ? make(group, 1, fill_sign, NULL, "sign") : NULL;
}

static bool given_for(const RelnGroup *group, const char *what, bool given)
{
    if (!given)
        (void)reln_fail(group->ctx, RELN_ERR_ARG, "%s: one for each generator of %s wanted", what,
                        group->name);
    return given;
}

static RelnStatus fill_character(const void *given, Candidate *c)
{
    const double *values = given;

    for (int i = 0; i < c->group->n_discrete; i++) {
        if (!isfinite(values[i]) || values[i] == 0)
            return reln_fail(c->group->ctx, RELN_ERR_ARG,
                             "character: value %d is %g, a finite non-zero number wanted", i,
                             values[i]);
        c->discrete[i] = values[i];
        c->inverse[i] = 1 / values[i];
    }
    return RELN_OK;
}

const RelnRep *reln_rep_character(RelnGroup *group, const double *values)
{
    if (!group || !given_for(group, "character", values || group->n_discrete == 0))
        return NULL;
    return make(group, 1, fill_character, values, "character");
}

/* ---- from matrices ---------------------------------------------------------------------------------------- */

typedef struct Matrices {
    const double *lie, *discrete;
} Matrices;

static void commutator(int n, const double *x, const double *y, double *tmp, double *out)
{
    reln_mat_mul(n, n, n, x, y, out);
    reln_mat_mul(n, n, n, y, x, tmp);
    for (ptrdiff_t e = 0; e < square(n); e++)
        out[e] -= tmp[e];
}

/* Room to compare rho of an element of the span with what it should be. */
typedef struct Compare {
    const Span *span;
    double *small[2]; /* (n, n) */
    double *large[3]; /* (K, K) */
    double *coords;   /* (n_lie) */
} Compare;

static RelnStatus compare_room(Candidate *c, Compare *out)
{
    const size_t n2 = (size_t)square(c->group->n), size = (size_t)square(c->dim);
    bool fine = true;

    RELN_TRY(reln_group_span(c->group, &out->span));
    for (int i = 0; i < 2; i++)
        fine = (out->small[i] = reln_arena_alloc(c->scratch, n2, sizeof(double))) && fine;
    for (int i = 0; i < 3; i++)
        fine = (out->large[i] = reln_arena_alloc(c->scratch, size, sizeof(double))) && fine;
    out->coords = reln_arena_alloc(c->scratch, (size_t)c->group->n_lie, sizeof(double));
    return fine && out->coords ? RELN_OK : RELN_ERR_NOMEM;
}

/* |large[0] - rho(small[0])| over `scale`; 0 where small[0] is outside the span and rho of it unknown. */
static double mismatch(const Candidate *c, const Compare *k, double small_scale, double scale)
{
    const ptrdiff_t size = square(c->dim);

    if (reln_span_coords(c->group, k->span, k->small[0], small_scale, k->coords) > SPAN_RESIDUAL)
        return 0;
    reln_combine(c->group->n_lie, size, k->coords, c->lie, k->large[1]);
    for (ptrdiff_t e = 0; e < size; e++)
        k->large[1][e] -= k->large[0][e];
    return reln_mat_norm(size, k->large[1]) / fmax(scale, 1e-300);
}

/* [rho(E_i), rho(E_j)] = rho([E_i, E_j]) */
static RelnStatus check_brackets(const Candidate *c, const Compare *k)
{
    const RelnGroup *g = c->group;
    const ptrdiff_t n2 = square(g->n), size = square(c->dim);

    for (int i = 0; i < g->n_lie; i++)
        for (int j = 0; j < i; j++) {
            const double *x = g->lie + i * n2, *y = g->lie + j * n2;
            const double *rx = c->lie + i * size, *ry = c->lie + j * size;
            commutator(g->n, x, y, k->small[1], k->small[0]);
            commutator(c->dim, rx, ry, k->large[1], k->large[0]);
            const double nx = reln_mat_norm(size, rx), ny = reln_mat_norm(size, ry);
            const double rest = mismatch(c, k, reln_mat_norm(n2, x) * reln_mat_norm(n2, y),
                                         nx * ny + nx * g->size[j] + ny * g->size[i]);
            if (!(rest <= SPAN_RESIDUAL))
                return reln_fail(g->ctx, RELN_ERR_REP,
                                 "not a rep of %s: the bracket of generators %d and %d is off by "
                                 "%.2g (tolerance %g)",
                                 g->name, j, i, rest, SPAN_RESIDUAL);
        }
    return RELN_OK;
}

/* rho(gamma) rho(E_i) rho(gamma)^-1 = rho(gamma E_i gamma^-1) */
static RelnStatus check_conjugation(const Candidate *c, const Compare *k, int gamma)
{
    const RelnGroup *g = c->group;
    const ptrdiff_t n2 = square(g->n), size = square(c->dim);
    const double *x = g->discrete + gamma * n2, *y = g->inverse + gamma * n2;
    const double *rx = c->discrete + gamma * size, *ry = c->inverse + gamma * size;

    for (int i = 0; i < g->n_lie; i++) {
        const double *e = g->lie + i * n2, *re = c->lie + i * size;
        reln_mat_mul(g->n, g->n, g->n, x, e, k->small[1]);
        reln_mat_mul(g->n, g->n, g->n, k->small[1], y, k->small[0]);
        reln_mat_mul(c->dim, c->dim, c->dim, rx, re, k->large[2]);
        reln_mat_mul(c->dim, c->dim, c->dim, k->large[2], ry, k->large[0]);
        const double rest = mismatch(
            c, k, reln_mat_norm(n2, x) * reln_mat_norm(n2, e) * reln_mat_norm(n2, y),
            reln_mat_norm(size, re) * fmax(1, reln_mat_norm(size, rx) * reln_mat_norm(size, ry)));
        if (!(rest <= SPAN_RESIDUAL))
            return reln_fail(g->ctx, RELN_ERR_REP,
                             "not a rep of %s: discrete generator %d conjugates generator %d "
                             "wrongly by %.2g (tolerance %g)",
                             g->name, gamma, i, rest, SPAN_RESIDUAL);
    }
    return RELN_OK;
}

static RelnStatus fill_matrices(const void *given, Candidate *c)
{
    const Matrices *m = given;
    const RelnGroup *g = c->group;
    const ptrdiff_t size = square(c->dim);
    Compare k;

    if (g->n_lie > 0)
        memcpy(c->lie, m->lie, (size_t)(g->n_lie * size) * sizeof(double));
    for (int i = 0; i < g->n_discrete; i++) {
        memcpy(c->discrete + i * size, m->discrete + i * size, (size_t)size * sizeof(double));
        RELN_TRY(reln_inverse(g->ctx, c->dim, m->discrete + i * size, c->inverse + i * size));
    }
    if (!finite(c))
        return reln_fail(g->ctx, RELN_ERR_NUMERIC, "a rep of %s holds a number that is not finite",
                         g->name);
    RELN_TRY(compare_room(c, &k));
    RELN_TRY(check_brackets(c, &k));
    for (int i = 0; i < g->n_discrete; i++)
        RELN_TRY(check_conjugation(c, &k, i));
    return RELN_OK;
}

const RelnRep *reln_rep_from_matrices(RelnGroup *group, int dim, const double *lie,
                                      const double *discrete)
{
    const Matrices given = {lie, discrete};

    if (!group || !given_for(group, "matrices", lie || group->n_lie == 0) ||
        !given_for(group, "matrices", discrete || group->n_discrete == 0))
        return NULL;
    return make(group, dim, fill_matrices, &given, "rep^%d", dim);
}

/* ---- reps from reps --------------------------------------------------------------------------------------- */

typedef enum MemoKind { SUM, PRODUCT, SYMMETRIC, ANTISYMMETRIC } MemoKind;

struct Memo {
    Memo *next;
    MemoKind kind;
    const RelnRep *a, *b;
    int power;
    const RelnRep *result;
};

static const RelnRep *recall(MemoKind kind, const RelnRep *a, const RelnRep *b, int power)
{
    for (const Memo *m = a->group->memos; m; m = m->next)
        if (m->kind == kind && m->a == a && m->b == b && m->power == power)
            return m->result;
    return NULL;
}

static const RelnRep *remember(MemoKind kind, const RelnRep *a, const RelnRep *b, int power,
                               const RelnRep *result)
{
    Memo *m = result ? reln_arena_alloc(&a->group->arena, 1, sizeof *m) : NULL;

    if (!m)
        return NULL;
    *m = (Memo){a->group->memos, kind, a, b, power, result};
    a->group->memos = m;
    return result;
}

static void minus_transposed(int dim, double sign, const double *x, double *out)
{
    for (ptrdiff_t i = 0; i < dim; i++)
        for (ptrdiff_t j = 0; j < dim; j++)
            out[i * dim + j] = sign * x[j * dim + i] + 0.0; /* + 0: no negative zeros */
}

static RelnStatus fill_dual(const void *given, Candidate *c)
{
    const RelnRep *r = given;
    const ptrdiff_t size = square(c->dim);

    for (int i = 0; i < c->group->n_lie; i++)
        minus_transposed(c->dim, -1, r->lie + i * size, c->lie + i * size);
    for (int i = 0; i < c->group->n_discrete; i++) {
        minus_transposed(c->dim, 1, r->inverse + i * size, c->discrete + i * size);
        minus_transposed(c->dim, 1, r->discrete + i * size, c->inverse + i * size);
    }
    return RELN_OK;
}

/* The group's list holds its reps without const: the dual of a rep is noted in it. */
static RelnRep *writable(const RelnRep *rep)
{
    RelnRep *r = rep->group->reps;

    while (r != rep)
        r = r->next;
    return r;
}

const RelnRep *reln_rep_dual(const RelnRep *rep)
{
    const RelnRep *dual;

    if (!rep || rep->dual)
        return rep ? rep->dual : NULL;
    dual = make(rep->group, rep->dim, fill_dual, rep, "dual(%s)", rep->name);
    if (!dual)
        return NULL;
    writable(rep)->dual = writable(dual);
    if (!dual->dual)
        writable(dual)->dual = writable(rep);
    return dual;
}

typedef struct Pair {
    const RelnRep *a, *b;
} Pair;

/* The two blocks of a direct sum. */
static void direct_sum(int n, const double *a, int m, const double *b, double *out)
{
    const ptrdiff_t dim = n + m;

    for (ptrdiff_t i = 0; i < n; i++)
        memcpy(out + i * dim, a + i * n, (size_t)n * sizeof *out);
    for (ptrdiff_t i = 0; i < m; i++)
        memcpy(out + (n + i) * dim + n, b + i * m, (size_t)m * sizeof *out);
}

static RelnStatus fill_sum(const void *given, Candidate *c)
{
    const RelnRep *a = ((const Pair *)given)->a, *b = ((const Pair *)given)->b;
    const ptrdiff_t na = square(a->dim), nb = square(b->dim), size = square(c->dim);

    for (int i = 0; i < c->group->n_lie; i++)
        direct_sum(a->dim, a->lie + i * na, b->dim, b->lie + i * nb, c->lie + i * size);
    for (int i = 0; i < c->group->n_discrete; i++) {
        direct_sum(a->dim, a->discrete + i * na, b->dim, b->discrete + i * nb,
                   c->discrete + i * size);
        direct_sum(a->dim, a->inverse + i * na, b->dim, b->inverse + i * nb, c->inverse + i * size);
    }
    return RELN_OK;
}

static RelnStatus fill_product(const void *given, Candidate *c)
{
    const RelnRep *a = ((const Pair *)given)->a, *b = ((const Pair *)given)->b;
    const ptrdiff_t na = square(a->dim), nb = square(b->dim), size = square(c->dim);

    for (int i = 0; i < c->group->n_lie; i++)
        kron_sum(a->dim, a->lie + i * na, b->dim, b->lie + i * nb, c->lie + i * size);
    for (int i = 0; i < c->group->n_discrete; i++) {
        kron(a->dim, a->discrete + i * na, b->dim, b->discrete + i * nb, false,
             c->discrete + i * size);
        kron(a->dim, a->inverse + i * na, b->dim, b->inverse + i * nb, false,
             c->inverse + i * size);
    }
    return RELN_OK;
}

static bool one_group(const RelnRep *a, const RelnRep *b, const char *what)
{
    if (a->group == b->group)
        return true;
    reln_fail(a->group->ctx, RELN_ERR_ARG, "%s of %s and %s, which belong to different groups",
              what, a->name, b->name);
    return false;
}

const RelnRep *reln_rep_sum(const RelnRep *a, const RelnRep *b)
{
    const Pair given = {a, b};
    const RelnRep *known;

    if (!a || !b || !one_group(a, b, "sum"))
        return NULL;
    known = recall(SUM, a, b, 0);
    if (known)
        return known;
    return remember(SUM, a, b, 0,
                    make(a->group, a->dim + b->dim, fill_sum, &given, "%s+%s", a->name, b->name));
}

/* Sums stand in parentheses inside products. */
static const char *open_sum(const RelnRep *r)
{
    return strchr(r->name, '+') ? "(" : "";
}

static const char *close_sum(const RelnRep *r)
{
    return strchr(r->name, '+') ? ")" : "";
}

const RelnRep *reln_rep_product(const RelnRep *a, const RelnRep *b)
{
    const Pair given = {a, b};
    const RelnRep *known;
    int dim = 0;

    if (!a || !b || !one_group(a, b, "product"))
        return NULL;
    known = recall(PRODUCT, a, b, 0);
    if (known)
        return known;
    if (__builtin_mul_overflow(a->dim, b->dim, &dim)) {
        reln_fail(a->group->ctx, RELN_ERR_UNSUPPORTED, "%d times %d coordinates in a product",
                  a->dim, b->dim);
        return NULL;
    }
    return remember(PRODUCT, a, b, 0,
                    make(a->group, dim, fill_product, &given, "%s%s%s*%s%s%s", open_sum(a), a->name,
                         close_sum(a), open_sum(b), b->name, close_sum(b)));
}

/* ---- symmetric and antisymmetric powers ------------------------------------------------------------------- */

/* Index tuples in order: i1 <= i2 <= ... or i1 < i2 < ... */
typedef struct Power {
    const RelnRep *rep;
    int power, count;
    bool symmetric;
    int *tuples; /* (count, power) */
} Power;

/* The next tuple after t, in place; false behind the last. */
static bool next_tuple(const Power *p, int *t)
{
    const int dim = p->rep->dim, step = p->symmetric ? 0 : 1;

    for (int s = p->power - 1; s >= 0; s--) {
        const int last = dim - 1 - step * (p->power - 1 - s);
        if (t[s] >= last)
            continue;
        t[s]++;
        for (int q = s + 1; q < p->power; q++)
            t[q] = t[q - 1] + step;
        return true;
    }
    return false;
}

static void list_tuples(const Power *p)
{
    int t[MAX_POWER], row = 0;

    assert(1 <= p->power && p->power <= MAX_POWER);
    for (int s = 0; s < p->power; s++)
        t[s] = p->symmetric ? 0 : s;
    do
        memcpy(p->tuples + (ptrdiff_t)row++ * p->power, t, (size_t)p->power * sizeof *t);
    while (next_tuple(p, t));
}

static int compare_tuples(int power, const int *x, const int *y)
{
    for (int s = 0; s < power; s++)
        if (x[s] != y[s])
            return x[s] < y[s] ? -1 : 1;
    return 0;
}

/* Sorts t and finds its row; *sign is that of the sorting, 0 where an antisymmetric tuple repeats an index. */
static int tuple_row(const Power *p, const int *tuple, double *sign)
{
    int t[MAX_POWER], low = 0, high = p->count - 1;

    *sign = 1;
    memcpy(t, tuple, (size_t)p->power * sizeof *t);
    for (int s = 1; s < p->power; s++)
        for (int q = s; q > 0 && t[q] <= t[q - 1]; q--) {
            const int x = t[q];
            if (x == t[q - 1]) {
                *sign = p->symmetric ? *sign : 0;
                break;
            }
            t[q] = t[q - 1];
            t[q - 1] = x;
            *sign = p->symmetric ? 1 : -*sign;
        }
    if (*sign == 0)
        return 0;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (compare_tuples(p->power, p->tuples + (ptrdiff_t)middle * p->power, t) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* d/dt of x_i1 x_i2 ... : one factor after another is replaced by its image. */
static void power_lie(const Power *p, const double *e, double *out)
{
    const int dim = p->rep->dim;
    int t[MAX_POWER];

    for (ptrdiff_t row = 0; row < p->count; row++)
        for (int s = 0; s < p->power; s++) {
            memcpy(t, p->tuples + row * p->power, (size_t)p->power * sizeof *t);
            const double *line = e + (ptrdiff_t)t[s] * dim;
            for (int j = 0; j < dim; j++) {
                double sign = 0;
                t[s] = j;
                if (line[j] == 0)
                    continue;
                const int column = tuple_row(p, t, &sign);
                out[row * p->count + column] += sign * line[j];
            }
        }
}

/* A product of linear forms: the value of each tuple, and the tuples it has. */
typedef struct Poly {
    double *value;
    bool *in;
    int *used;
    int count;
} Poly;

static RelnStatus poly_room(RelnArena *scratch, size_t tuples, Poly *p)
{
    p->value = reln_arena_alloc(scratch, tuples, sizeof *p->value);
    p->in = reln_arena_alloc(scratch, tuples, sizeof *p->in);
    p->used = reln_arena_alloc(scratch, tuples, sizeof *p->used);
    p->count = 0;
    return p->value && p->in && p->used ? RELN_OK : RELN_ERR_NOMEM;
}

static void poly_add(Poly *p, int tuple, double value)
{
    if (!p->in[tuple])
        p->used[p->count++] = tuple;
    p->in[tuple] = true;
    p->value[tuple] += value;
}

static void poly_clear(Poly *p)
{
    for (int e = 0; e < p->count; e++) {
        p->value[p->used[e]] = 0;
        p->in[p->used[e]] = false;
    }
    p->count = 0;
}

/* to = from * sum_j line_j x_j; `from` has tuples one shorter than p's, and is empty afterwards. */
static void poly_multiply(const Power *shorter, const Power *p, const double *line, Poly *from,
                          Poly *to)
{
    int t[MAX_POWER];

    for (int e = 0; e < from->count; e++) {
        const int *tuple = shorter->tuples + (ptrdiff_t)from->used[e] * shorter->power;
        memcpy(t, tuple, (size_t)shorter->power * sizeof *t);
        for (int j = 0; j < p->rep->dim; j++) {
            double sign = 0;
            if (line[j] == 0)
                continue;
            t[shorter->power] = j;
            const int column = tuple_row(p, t, &sign);
            if (sign != 0)
                poly_add(to, column, sign * line[j] * from->value[from->used[e]]);
        }
    }
    poly_clear(from);
}

/* Row i1 i2 ... is (g x)_i1 (g x)_i2 ..., multiplied out factor by factor. level[s] has the tuples of length s. */
static void power_group(const Power *level, const Power *p, Poly poly[2], const double *g,
                        double *out)
{
    for (ptrdiff_t row = 0; row < p->count; row++) {
        Poly *const last = &poly[p->power % 2];
        poly_add(&poly[0], 0, 1);
        for (int s = 0; s < p->power; s++)
            poly_multiply(&level[s], &level[s + 1],
                          g + (ptrdiff_t)p->tuples[row * p->power + s] * p->rep->dim, &poly[s % 2],
                          &poly[(s + 1) % 2]);
        for (int e = 0; e < last->count; e++)
            out[row * p->count + last->used[e]] = last->value[last->used[e]];
        poly_clear(last);
    }
}

/* n over k; -1 beyond what a rep may have */
static int choose(int n, int k)
{
    double result = 1;

    for (int i = 1; i <= k; i++)
        result = result * (n - k + i) / i;
    return result < 1e6 ? (int)lround(result) : -1;
}

static int count_tuples(const RelnRep *rep, int power, bool symmetric)
{
    return choose(symmetric ? rep->dim + power - 1 : rep->dim, power);
}

/* The tuples of every length up to the power, the empty one included; room for products of their forms. */
static RelnStatus power_levels(RelnArena *scratch, const Power *p, Power *level, Poly poly[2])
{
    int most = 1;

    for (int s = 0; s <= p->power; s++) {
        level[s] = (Power){p->rep, s, count_tuples(p->rep, s, p->symmetric), p->symmetric, NULL};
        assert(level[s].count > 0); /* C(20,10) at most, where the last fits into a rep */
        level[s].tuples =
            reln_arena_alloc(scratch, (size_t)level[s].count * (size_t)(s + 1), sizeof(int));
        if (!level[s].tuples)
            return RELN_ERR_NOMEM;
        if (s > 0)
            list_tuples(&level[s]);
        most = level[s].count > most ? level[s].count : most;
    }
    RELN_TRY(poly_room(scratch, (size_t)most, &poly[0]));
    return poly_room(scratch, (size_t)most, &poly[1]);
}

static RelnStatus fill_power(const void *given, Candidate *c)
{
    Power p = *(const Power *)given, level[MAX_POWER + 1] = {{0}};
    const ptrdiff_t small = square(p.rep->dim), size = square(c->dim);
    Poly poly[2];

    RELN_TRY(power_levels(c->scratch, &p, level, poly));
    p.tuples = level[p.power].tuples;
    assert(p.tuples); /* there is a level for every power */
    for (int i = 0; i < c->group->n_lie; i++)
        power_lie(&p, p.rep->lie + i * small, c->lie + i * size);
    for (int i = 0; i < c->group->n_discrete; i++) {
        power_group(level, &p, poly, p.rep->discrete + i * small, c->discrete + i * size);
        power_group(level, &p, poly, p.rep->inverse + i * small, c->inverse + i * size);
    }
    return RELN_OK;
}

static const RelnRep *make_power(const RelnRep *rep, int power, bool symmetric)
{
    const MemoKind kind = symmetric ? SYMMETRIC : ANTISYMMETRIC;
    const char *name = symmetric ? "sym" : "alt";
    Power p = {rep, power, 0, symmetric, NULL};
    const RelnRep *known = recall(kind, rep, NULL, power);

    if (known)
        return known;
    if (power < 1 || power > MAX_POWER || (!symmetric && power > rep->dim)) {
        reln_fail(rep->group->ctx, RELN_ERR_ARG, "%s power %d of %s, 1 to %d wanted",
                  symmetric ? "symmetric" : "antisymmetric", power, rep->name,
                  symmetric || rep->dim > MAX_POWER ? MAX_POWER : rep->dim);
        return NULL;
    }
    p.count = count_tuples(rep, power, symmetric);
    if (p.count < 0) {
        reln_fail(rep->group->ctx, RELN_ERR_UNSUPPORTED,
                  "power %d of %d coordinates has more than a million", power, rep->dim);
        return NULL;
    }
    return remember(kind, rep, NULL, power,
                    make(rep->group, p.count, fill_power, &p, "%s%d(%s)", name, power, rep->name));
}

const RelnRep *reln_rep_symmetric(const RelnRep *rep, int power)
{
    return rep ? make_power(rep, power, true) : NULL;
}

const RelnRep *reln_rep_antisymmetric(const RelnRep *rep, int power)
{
    return rep ? make_power(rep, power, false) : NULL;
}

/* ---- restriction ------------------------------------------------------------------------------------------ */

/* What the search for h = word * exp(A) * exp(X) works with. */
typedef struct Search {
    RelnCtx *ctx;
    const RelnRep *rep;
    const Span *span;
    Closure words;
    double *rho_words; /* (words, K, K) */
    double *a, *x;     /* (n_lie): coordinates of A and X */
    double *small[4];  /* (n, n) */
    double *large[3];  /* (K, K) */
} Search;

static RelnStatus search_room(Candidate *c, const RelnRep *rep, Search *s)
{
    const RelnGroup *g = rep->group;
    const size_t n2 = (size_t)square(g->n), size = (size_t)square(rep->dim);
    bool fine = true;

    *s = (Search){.ctx = c->group->ctx, .rep = rep};
    RELN_TRY(reln_group_span(rep->group, &s->span));
    RELN_TRY(reln_closure(c->scratch, g->n, g->n_discrete, g->discrete, WORD_LIMIT, &s->words));
    s->rho_words = reln_arena_alloc(c->scratch, (size_t)s->words.count * size, sizeof(double));
    s->a = reln_arena_alloc(c->scratch, (size_t)g->n_lie, sizeof(double));
    s->x = reln_arena_alloc(c->scratch, (size_t)g->n_lie, sizeof(double));
    for (int i = 0; i < 4; i++)
        fine = (s->small[i] = reln_arena_alloc(c->scratch, n2, sizeof(double))) && fine;
    for (int i = 0; i < 3; i++)
        fine = (s->large[i] = reln_arena_alloc(c->scratch, size, sizeof(double))) && fine;
    return fine && s->rho_words && s->a && s->x ? RELN_OK : RELN_ERR_NOMEM;
}

static void fill_rho_words(const Search *s)
{
    const ptrdiff_t size = square(s->rep->dim);

    reln_mat_identity(s->rep->dim, s->rho_words);
    for (int e = 1; e < s->words.count; e++)
        reln_mat_mul(s->rep->dim, s->rep->dim, s->rep->dim,
                     s->rep->discrete + s->words.generator[e] * size,
                     s->rho_words + s->words.parent[e] * size, s->rho_words + e * size);
}

/* x: coordinates of log(exp(-A) word^-1 h). The first attempt has A = 0; others step around elements, such as half
 * turns, that have no principal logarithm. *found tells whether it lies in the span. */
static RelnStatus try_word(const Search *s, int word, int attempt, const double *h, bool *found)
{
    const RelnGroup *g = s->rep->group;
    const int n = g->n;
    RelnRng rng = reln_rng(0x776f7264ULL, (uint64_t)attempt);
    RelnStatus status;
    Kept before;

    *found = false;
    for (int i = 0; i < g->n_lie; i++)
        s->a[i] = attempt ? -0.5 * reln_rng_normal(&rng) / g->size[i] : 0;
    reln_combine(g->n_lie, square(n), s->a, g->lie, s->small[0]);
    RELN_TRY(reln_matrix_exp(s->ctx, n, s->small[0], s->small[1]));
    RELN_TRY(reln_solve(s->ctx, n, n, s->words.matrices + word * square(n), h, s->small[2]));
    reln_mat_mul(n, n, n, s->small[1], s->small[2], s->small[3]);
    reln_keep_message(s->ctx, &before);
    status = reln_matrix_log(s->ctx, n, s->small[3], s->small[0]);
    if (status == RELN_ERR_NUMERIC) {
        reln_put_back(s->ctx, &before);
        return RELN_OK;
    }
    RELN_TRY(status);
    *found = reln_span_coords(g, s->span, s->small[0], 1 + reln_mat_norm(square(n), s->small[0]),
                              s->x) <= SPAN_RESIDUAL;
    return RELN_OK;
}

/* rho(h) = rho(word) exp(rho(A)) exp(rho(X)); a holds -A */
static RelnStatus act_word(const Search *s, int word, double *out)
{
    const RelnRep *r = s->rep;
    const int k = r->dim;

    for (int i = 0; i < r->group->n_lie; i++)
        s->a[i] = -s->a[i];
    reln_combine(r->group->n_lie, square(k), s->a, r->lie, s->large[0]);
    RELN_TRY(reln_matrix_exp(s->ctx, k, s->large[0], s->large[1]));
    reln_mat_mul(k, k, k, s->rho_words + word * square(k), s->large[1], s->large[2]);
    reln_combine(r->group->n_lie, square(k), s->x, r->lie, s->large[0]);
    RELN_TRY(reln_matrix_exp(s->ctx, k, s->large[0], s->large[1]));
    reln_mat_mul(k, k, k, s->large[2], s->large[1], out);
    return RELN_OK;
}

static RelnStatus restrict_discrete(const Search *s, const RelnGroup *sub, int i, double *out)
{
    const double *h = sub->discrete + i * square(sub->n);
    const int attempts = s->rep->group->n_lie > 0 ? LOG_ATTEMPTS : 1;

    for (int attempt = 0; attempt < attempts; attempt++)
        for (int word = 0; word < s->words.count; word++) {
            bool found = false;
            RELN_TRY(try_word(s, word, attempt, h, &found));
            if (found)
                return act_word(s, word, out);
        }
    return reln_fail(s->ctx, RELN_ERR_REP,
                     "discrete generator %d of %s was not found in %s: no product of its discrete "
                     "generators with an exponential gives it",
                     i, sub->name, s->rep->group->name);
}

static RelnStatus restrict_lie(const Search *s, const RelnGroup *sub, int i, double *out)
{
    const RelnGroup *g = s->rep->group;
    const double *e = sub->lie + i * square(sub->n);
    const double rest = reln_span_coords(g, s->span, e, reln_mat_norm(square(sub->n), e), s->x);

    if (!(rest <= SPAN_RESIDUAL))
        return reln_fail(s->ctx, RELN_ERR_REP,
                         "generator %d of %s lies outside %s by %.2g (tolerance %g)", i, sub->name,
                         g->name, rest, SPAN_RESIDUAL);
    reln_combine(g->n_lie, square(s->rep->dim), s->x, s->rep->lie, out);
    return RELN_OK;
}

/* Sums of products leave rounding where zeros belong. */
static void sweep(ptrdiff_t count, double *x)
{
    const double noise = COORDINATE_NOISE * reln_largest(count, x);

    for (ptrdiff_t e = 0; e < count; e++)
        x[e] = fabs(x[e]) <= noise ? 0 : x[e];
}

static RelnStatus fill_restricted(const void *given, Candidate *c)
{
    const RelnRep *rep = given;
    const ptrdiff_t size = square(c->dim);
    Search s;

    RELN_TRY(search_room(c, rep, &s));
    fill_rho_words(&s);
    for (int i = 0; i < c->group->n_lie; i++) {
        RELN_TRY(restrict_lie(&s, c->group, i, c->lie + i * size));
        sweep(size, c->lie + i * size);
    }
    for (int i = 0; i < c->group->n_discrete; i++) {
        RELN_TRY(restrict_discrete(&s, c->group, i, c->discrete + i * size));
        sweep(size, c->discrete + i * size);
        RELN_TRY(reln_inverse(s.ctx, c->dim, c->discrete + i * size, c->inverse + i * size));
    }
    return RELN_OK;
}

const RelnRep *reln_rep_restrict(const RelnRep *rep, RelnGroup *subgroup)
{
    if (!rep || !subgroup || rep->group == subgroup)
        return subgroup ? rep : NULL;
    if (rep->group->n != subgroup->n) {
        reln_fail(subgroup->ctx, RELN_ERR_REP, "%s has %dx%d matrices, %s has %dx%d ones",
                  subgroup->name, subgroup->n, subgroup->n, rep->group->name, rep->group->n,
                  rep->group->n);
        return NULL;
    }
    return make(subgroup, rep->dim, fill_restricted, rep, "%s", rep->name);
}

/* ---- asking a rep ----------------------------------------------------------------------------------------- */

RelnGroup *reln_rep_group(const RelnRep *rep)
{
    return rep->group;
}

int reln_rep_dim(const RelnRep *rep)
{
    return rep->dim;
}

const char *reln_rep_name(const RelnRep *rep)
{
    return rep->name;
}

const double *reln_rep_lie(const RelnRep *rep, int generator)
{
    return rep->lie + generator * square(rep->dim);
}

const double *reln_rep_discrete(const RelnRep *rep, int generator)
{
    return rep->discrete + generator * square(rep->dim);
}

bool reln_rep_is_trivial(const RelnRep *rep)
{
    return rep->trivial;
}

bool reln_rep_is_orthogonal(const RelnRep *rep)
{
    return rep->orthogonal;
}

static RelnStatus project(RelnArena *scratch, const RelnRep *rep, double *projector, int *order)
{
    const RelnGroup *g = rep->group;
    const ptrdiff_t size = square(rep->dim);
    Closure c;

    RELN_TRY(reln_closure(scratch, rep->dim, g->n_discrete, rep->discrete, PROJECTOR_LIMIT, &c));
    if (!c.complete)
        return reln_fail(g->ctx, RELN_ERR_UNSUPPORTED,
                         "the image of %s in %s has more than %d elements", g->name, rep->name,
                         c.count);
    memset(projector, 0, (size_t)size * sizeof *projector);
    for (ptrdiff_t e = 0; e < c.count * size; e++)
        projector[e % size] += c.matrices[e];
    for (ptrdiff_t e = 0; e < size; e++)
        projector[e] /= c.count;
    *order = c.count;
    return RELN_OK;
}

RelnStatus reln_rep_projector(const RelnRep *rep, double *projector, int *order)
{
    RelnArena scratch;
    RelnStatus status;

    if (!rep || !projector || !order)
        return RELN_ERR_ARG;
    if (rep->group->n_lie > 0)
        return reln_fail(rep->group->ctx, RELN_ERR_UNSUPPORTED,
                         "averaging over %s, which has %d Lie generators: finite groups only",
                         rep->group->name, rep->group->n_lie);
    reln_arena_init(&scratch, rep->group->ctx);
    status = project(&scratch, rep, projector, order);
    reln_arena_clear(&scratch);
    return status;
}
