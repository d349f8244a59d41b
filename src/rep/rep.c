/* rep.c -- representations as data: the matrix of every generator. Creating one from its matrices, and
 * reading its parts.
 *
 * The matrices come from defining.c (the group's own), adjoint.c, given.c (characters and matrices of the
 * caller), combine.c (duals, sums, products), powers.c and restrict.c. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rep/exact.h"
#include "rep/make.h"

/* Reps whose matrices agree within this share of their size are the same rep. */
#define SAME_REP 1e-12
/* Entries of a rep are at most this, so that squares and products with maps stay finite. */
#define REP_LARGEST 1e150
/* Limit on the numbers of the matrices of one rep: 1 GiB. */
#define REP_NUMBERS ((uint64_t)1 << 27)

enum { PROJECTOR_LIMIT = 4096 };

/* ---- interning ------------------------------------------------------------------------------------------------ */

/* Returns the size against which entry e of a matrix is measured: the largest of its row or of its column,
 * whichever is smaller. So a block of large numbers does not affect another block. */
static double entry_scale(int dim, const double *x, ptrdiff_t e)
{
    double row = 0, column = 0;

    for (ptrdiff_t i = 0; i < dim; i++) {
        row = fmax(row, fabs(x[e / dim * dim + i]));
        column = fmax(column, fabs(x[i * dim + e % dim]));
    }
    return fmin(row, column);
}

static bool same_entry(int dim, double unit, const double *x, ptrdiff_t e, double y)
{
    const double off = fabs(x[e] - y);

    return off <= SAME_REP * unit || off <= SAME_REP * entry_scale(dim, x, e);
}

/* `units` scales each generator; NULL: 1 */
static bool agree(int count, int dim, const double *units, const double *x, const double *y)
{
    const ptrdiff_t size = square(dim);

    for (int g = 0; g < count; g++)
        for (ptrdiff_t e = 0; e < size; e++)
            if (!same_entry(dim, units ? units[g] : 1, x + g * size, e, y[g * size + e]))
                return false;
    return true;
}

static RelnRep *find(const Candidate *c)
{
    for (RelnRep *r = c->group->reps; r; r = r->next)
        if (r->dim == c->dim && agree(c->group->n_lie, c->dim, c->group->size, c->lie, r->lie) &&
            agree(c->group->n_discrete, c->dim, NULL, c->discrete, r->discrete) &&
            agree(c->group->n_discrete, c->dim, NULL, c->inverse, r->inverse))
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
        const double unit = lie ? g->size[a] : 1;
        for (ptrdiff_t i = 0; i < dim; i++)
            for (ptrdiff_t j = 0; j < dim; j++)
                if (!same_entry(dim, unit, x, i * dim + j, sign * y[j * dim + i]))
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
    rep->name = rep->shown = reln_arena_copy(&g->arena, name, strlen(name) + 1, 1);
    rep->lie = reln_arena_copy(&g->arena, c->lie, n_lie * size, sizeof(double));
    rep->discrete = reln_arena_copy(&g->arena, c->discrete, n_discrete * size, sizeof(double));
    rep->inverse = reln_arena_copy(&g->arena, c->inverse, n_discrete * size, sizeof(double));
    if (!rep->name || !rep->lie || !rep->discrete || !rep->inverse ||
        make_actions(rep) != RELN_OK || reln_exact_actions(rep, c->made, &rep->exact) != RELN_OK)
        return NULL;
    rep->trivial = acts_as_nothing(rep);
    rep->orthogonal = acts_orthogonally(rep);
    rep->next = g->reps;
    g->reps = rep;
    return rep;
}

bool reln_candidate_finite(const Candidate *c)
{
    const ptrdiff_t size = square(c->dim);

    for (ptrdiff_t e = 0; e < c->group->n_lie * size; e++)
        if (!(fabs(c->lie[e]) <= REP_LARGEST))
            return false;
    for (ptrdiff_t e = 0; e < c->group->n_discrete * size; e++)
        if (!(fabs(c->discrete[e]) <= REP_LARGEST && fabs(c->inverse[e]) <= REP_LARGEST))
            return false;
    return true;
}

/* Equal reps are one object, however they were made: the vectors of so:3 are its adjoint rep. If a rep is
 * both the adjoint rep and the vectors, messages show both names; other coincidences keep the first name. */
static bool learn_name(RelnRep *rep, const char *name)
{
    static const char *const kinds[] = {"adjoint(", "vector"};
    const char *both = rep->shown;

    for (int i = 0; i < 2; i++)
        if (rep->shown == rep->name && strncmp(rep->name, kinds[i], strlen(kinds[i])) == 0 &&
            strncmp(name, kinds[1 - i], strlen(kinds[1 - i])) == 0)
            both = reln_arena_printf(&rep->group->arena, "%s = %s", rep->name, name);
    if (both)
        rep->shown = both;
    return both != NULL;
}

static const RelnRep *intern(const Candidate *c, const char *name)
{
    RelnRep *rep;

    if (!reln_candidate_finite(c)) {
        (void)reln_fail(c->group->ctx, RELN_ERR_NUMERIC,
                        "rep %s holds a number that is not finite, or above %g", name, REP_LARGEST);
        return NULL;
    }
    rep = find(c);
    if (rep && !rep->exact && c->made && reln_exact_actions(rep, true, &rep->exact) != RELN_OK)
        return NULL;
    if (rep && !learn_name(rep, name))
        return NULL;
    return rep ? rep : adopt(c, name);
}

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

const RelnRep *reln_rep_make(RelnGroup *group, int dim, Fill fill, const void *given,
                             const char *format, ...)
{
    RelnArena scratch;
    Candidate c = {group, &scratch, dim, NULL, NULL, NULL, false};
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

/* ---- reading its parts ---------------------------------------------------------------------------------------- */

RelnGroup *reln_rep_group(const RelnRep *rep)
{
    RELN_NEED(rep, NULL);

    return rep->group;
}

int reln_rep_dim(const RelnRep *rep)
{
    RELN_NEED(rep, 0);

    return rep->dim;
}

const char *reln_rep_name(const RelnRep *rep)
{
    RELN_NEED(rep, "");

    return rep->shown;
}

const double *reln_rep_lie(const RelnRep *rep, int generator)
{
    RELN_NEED(rep, NULL);

    return rep->lie + generator * square(rep->dim);
}

const double *reln_rep_discrete(const RelnRep *rep, int generator)
{
    RELN_NEED(rep, NULL);

    return rep->discrete + generator * square(rep->dim);
}

bool reln_rep_is_trivial(const RelnRep *rep)
{
    RELN_NEED(rep, false);

    return rep->trivial;
}

bool reln_rep_is_orthogonal(const RelnRep *rep)
{
    RELN_NEED(rep, false);

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
