/* solve.c -- every equivariant linear or bilinear map between reps, as a canonical basis.
 *
 * Maps u x v -> w are the invariant tensors of w (x) u* (x) v*. Coordinates that the generators connect form a block. Each
 * triple of blocks is a separate problem; equal problems are solved once. The parts share no coordinates, so the reduced
 * echelon form of the whole is the union of those of its parts.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rep/exact.h"
#include "rep/invariants.h"
#include "rep/rep.h"
#include "tensor/linalg.h"

/* Limit on the numbers of a basis of maps: 1 GiB. */
#define MAPS_NUMBERS ((ptrdiff_t)1 << 27)
/* In rows of norm 1, a column is zero below the first bound, and a pivot above the second. */
#define NO_PIVOT 1e-9
#define PIVOT 1e-7
/* Rounding error of entries: smaller entries are set to zero, and entries this near to a fraction are set to
 * it. */
#define ROUNDING 1e-12

enum { LARGEST_DENOMINATOR = 64, ELEMENTS_LIMIT = 4096 };

struct MapsNode {
    RelnMaps maps;
    MapsNode *next;
    const RelnRep *u, *v, *w;    /* v NULL: linear */
    const RelnTensor3 **tensors; /* (count), each made when first asked for */
};

/* ---- canonical form --------------------------------------------------------------------------------------- */

/* Applies a Householder reflection to rows t.. of x (count, d) that moves their column c into row t. */
static void reflect(ptrdiff_t count, ptrdiff_t d, double *x, ptrdiff_t t, ptrdiff_t c, double norm,
                    double *h, double *dots)
{
    double square = 0;

    for (ptrdiff_t r = t; r < count; r++)
        h[r] = x[r * d + c];
    h[t] += h[t] < 0 ? -norm : norm;
    for (ptrdiff_t r = t; r < count; r++)
        square += h[r] * h[r];
    memset(dots + c, 0, (size_t)(d - c) * sizeof *dots);
    for (ptrdiff_t r = t; r < count; r++)
        for (ptrdiff_t e = c; e < d; e++)
            dots[e] += h[r] * x[r * d + e];
    for (ptrdiff_t r = t; r < count; r++)
        for (ptrdiff_t e = c; e < d; e++)
            x[r * d + e] -= 2 / square * h[r] * dots[e];
}

/* Rows stay orthonormal, so the norm of a column over the remaining rows decides whether it is a pivot. */
static RelnStatus find_pivots(RelnArena *arena, ptrdiff_t count, ptrdiff_t d, double *x,
                              ptrdiff_t *pivots)
{
    double *h = reln_arena_alloc(arena, (size_t)count, sizeof *h);
    double *dots = reln_arena_alloc(arena, (size_t)d, sizeof *dots);
    ptrdiff_t t = 0;

    if (!h || !dots)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t c = 0; c < d && t < count; c++) {
        double norm = 0;
        for (ptrdiff_t r = t; r < count; r++)
            norm = hypot(norm, x[r * d + c]);
        if (norm > NO_PIVOT && norm < PIVOT)
            return reln_fail(arena->ctx, RELN_ERR_NUMERIC,
                             "entry %td of the equivariant maps has size %.2g, neither zero (below "
                             "%g) nor not (above %g)",
                             c, norm, NO_PIVOT, PIVOT);
        if (norm <= NO_PIVOT)
            continue;
        reflect(count, d, x, t, c, norm, h, dots);
        pivots[t++] = c;
    }
    if (t < count)
        return reln_fail(arena->ctx, RELN_ERR_NUMERIC, "%td of %td equivariant maps are dependent",
                         count - t, count);
    return RELN_OK;
}

/* Makes leading ones, and zeros above them; row t is upper triangular in the pivots. */
static void back_substitute(ptrdiff_t count, ptrdiff_t d, double *x, const ptrdiff_t *pivots)
{
    for (ptrdiff_t t = count - 1; t >= 0; t--) {
        const double lead = x[t * d + pivots[t]];
        for (ptrdiff_t e = 0; e < d; e++)
            x[t * d + e] = e < pivots[t] ? 0 : x[t * d + e] / lead;
        for (ptrdiff_t s = t + 1; s < count; s++) {
            const double f = x[t * d + pivots[s]];
            for (ptrdiff_t e = pivots[s]; e < d && f != 0; e++)
                x[t * d + e] -= f * x[s * d + e];
        }
    }
}

/* Returns the fraction with a small denominator that equals x up to rounding, or x. */
static double tidy(double x)
{
    const double tolerance = ROUNDING * fmax(1, fabs(x));

    if (fabs(x) <= tolerance)
        return 0;
    for (int q = 1; q <= LARGEST_DENOMINATOR; q++) {
        const double fraction = round(x * q) / q;
        if (fabs(x - fraction) <= tolerance)
            return fraction;
    }
    return x;
}

RelnStatus reln_echelon_rows(RelnArena *arena, ptrdiff_t count, ptrdiff_t d, double *x,
                             ptrdiff_t *pivots)
{
    RELN_TRY(find_pivots(arena, count, d, x, pivots));
    back_substitute(count, d, x, pivots);
    for (ptrdiff_t e = 0; e < count * d; e++)
        x[e] = tidy(x[e]);
    for (ptrdiff_t t = 0; t < count; t++)
        for (ptrdiff_t s = 0; s < count; s++)
            x[t * d + pivots[s]] = s == t;
    return RELN_OK;
}

/* ---- blocks ----------------------------------------------------------------------------------------------- */

/* Blocks is a leg divided into blocks; blocks with the same matrices have the same type. */
typedef struct Blocks {
    const RelnRep *rep;
    int count;
    int *size;    /* (count) */
    int **coords; /* (count): ascending */
    int *type;    /* (count): index of the first block with the same matrices */
    Leg *leg;     /* (count): set where type[b] == b */
    double **own; /* (count): its part of every generator's matrix, for comparing */
} Blocks;

static RelnStatus find_blocks(RelnArena *arena, const RelnRep *rep, Blocks *b)
{
    const int n_generators = rep->group->n_lie + rep->group->n_discrete, dim = rep->dim;
    int *parent = reln_arena_alloc(arena, (size_t)dim, sizeof *parent);
    int *number = reln_arena_alloc(arena, (size_t)dim, sizeof *number);

    b->rep = rep;
    b->size = reln_arena_alloc(arena, (size_t)dim, sizeof *b->size);
    b->coords = reln_arena_alloc(arena, (size_t)dim, sizeof *b->coords);
    if (!parent || !number || !b->size || !b->coords)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < dim; i++)
        parent[i] = i;
    for (int g = 0; g < n_generators; g++) {
        const Sparse *rows = &rep->actions[g].rows;
        for (int i = 0; i < dim; i++)
            for (int s = rows->start[i]; s < rows->start[i + 1]; s++)
                reln_set_join(parent, i, rows->index[s]);
    }
    for (int i = 0; i < dim; i++) {
        const int r = reln_set_root(parent, i);
        if (r == i)
            number[i] = b->count++;
        b->size[number[r]]++;
    }
    for (int i = 0; i < b->count; i++) {
        b->coords[i] = reln_arena_alloc(arena, (size_t)b->size[i], sizeof **b->coords);
        if (!b->coords[i])
            return RELN_ERR_NOMEM;
        b->size[i] = 0;
    }
    for (int i = 0; i < dim; i++) {
        const int block = number[reln_set_root(parent, i)];
        b->coords[block][b->size[block]++] = i;
    }
    return RELN_OK;
}

/* Copies the block's part of a matrix. */
static void extract(const Blocks *b, int block, const double *m, double *out)
{
    const int size = b->size[block], *c = b->coords[block];

    for (ptrdiff_t i = 0; i < size; i++)
        for (ptrdiff_t j = 0; j < size; j++)
            out[i * size + j] = m[(ptrdiff_t)c[i] * b->rep->dim + c[j]];
}

static RelnStatus extract_all(RelnArena *arena, Blocks *b, int block)
{
    const RelnGroup *g = b->rep->group;
    const ptrdiff_t size = (ptrdiff_t)b->size[block] * b->size[block];
    double *out = reln_arena_alloc(arena, (size_t)((g->n_lie + g->n_discrete) * size), sizeof *out);

    b->own[block] = out;
    if (!out)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < g->n_lie; i++)
        extract(b, block, reln_rep_lie(b->rep, i), out + i * size);
    for (int i = 0; i < g->n_discrete; i++)
        extract(b, block, reln_rep_discrete(b->rep, i), out + (g->n_lie + i) * size);
    return RELN_OK;
}

static int find_type(const Blocks *b, int block)
{
    const RelnGroup *g = b->rep->group;
    const size_t numbers =
        (size_t)(g->n_lie + g->n_discrete) * (size_t)b->size[block] * (size_t)b->size[block];

    for (int t = 0; t < block; t++)
        if (b->type[t] == t && b->size[t] == b->size[block] &&
            memcmp(b->own[t], b->own[block], numbers * sizeof(double)) == 0)
            return t;
    return block;
}

/* Makes a leg of the block: the action of an orthonormal basis of the Lie span and of its regular element. */
static RelnStatus make_leg(RelnArena *arena, const Blocks *b, const Span *span, int block)
{
    const RelnGroup *g = b->rep->group;
    const ptrdiff_t size = (ptrdiff_t)b->size[block] * b->size[block];
    double *lie = reln_arena_alloc(arena, (size_t)(span->rank * size), sizeof *lie);
    double *regular = reln_arena_alloc(arena, (size_t)size, sizeof *regular);

    if (!lie || !regular)
        return RELN_ERR_NOMEM;
    for (int a = 0; a < span->rank; a++)
        reln_combine(g->n_lie, size, span->basis + (ptrdiff_t)a * g->n_lie, b->own[block],
                     lie + a * size);
    reln_combine(g->n_lie, size, span->regular, b->own[block], regular);
    b->leg[block] = (Leg){b->size[block], lie, regular, b->own[block] + g->n_lie * size};
    return RELN_OK;
}

static RelnStatus cut_leg(RelnArena *arena, const RelnRep *rep, const Span *span, Blocks *b)
{
    *b = (Blocks){.rep = rep};
    RELN_TRY(find_blocks(arena, rep, b));
    b->type = reln_arena_alloc(arena, (size_t)b->count, sizeof *b->type);
    b->leg = reln_arena_alloc(arena, (size_t)b->count, sizeof *b->leg);
    b->own = reln_arena_alloc(arena, (size_t)b->count, sizeof *b->own);
    if (!b->type || !b->leg || !b->own)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < b->count; i++) {
        RELN_TRY(extract_all(arena, b, i));
        b->type[i] = find_type(b, i);
        if (b->type[i] == i)
            RELN_TRY(make_leg(arena, b, span, i));
    }
    return RELN_OK;
}

/* ---- solving ---------------------------------------------------------------------------------------------- */

/* A Solution holds the maps of one triple of block types. */
typedef struct Solution {
    struct Solution *next;
    int type[3];
    int count;
    double *rows;      /* (count, size0 * size1 * size2), echelon form */
    ptrdiff_t *pivots; /* (count) */
    int32_t *num,
        *den; /* `rows` as fractions, num (count, ...) over den (count); NULL: unknown */
} Solution;

/* A Found is one map of the whole: row `row` of the solution of a triple. */
typedef struct Found {
    ptrdiff_t pivot; /* position in the whole tensor */
    int block[3];
    const Solution *solution;
    int row;
} Found;

typedef struct Solver {
    RelnArena *arena; /* scratch, released when the solver is done */
    RelnGroup *group;
    const RelnRep *rep[3];
    Blocks leg[3];
    const Closure *elements;
    int rank;
    bool exact; /* every solution so far is known as fractions */
    Solution *solutions;
    Found *found;
    int n_found, capacity;
} Solver;

/* Solves in floating point, and copies the result out of the scratch memory of one triple. */
static RelnStatus solve_floats(Solver *s, const Problem *p, RelnArena *scratch, Solution *out)
{
    const ptrdiff_t d = (ptrdiff_t)p->leg[0].dim * p->leg[1].dim * p->leg[2].dim;
    double *rows = NULL;

    RELN_TRY(reln_invariants(scratch, p, &out->count, &rows));
    out->pivots = reln_arena_alloc(s->arena, (size_t)out->count, sizeof *out->pivots);
    if (!out->pivots)
        return RELN_ERR_NOMEM;
    if (out->count > 0)
        RELN_TRY(reln_echelon_rows(scratch, out->count, d, rows, out->pivots));
    out->rows = reln_arena_copy(s->arena, rows, (size_t)(out->count * d), sizeof *rows);
    return out->rows ? RELN_OK : RELN_ERR_NOMEM;
}

/* Solves in fractions. Each double is the correct rounding of its fraction, since both terms are doubles. */
static RelnStatus solve_exactly(Solver *s, const int type[3], Solution *out, bool *solved)
{
    ExactLeg legs[3];
    ExactRows rows;
    ptrdiff_t d = 1;

    for (int l = 0; l < 3; l++) {
        const Blocks *b = &s->leg[l];
        legs[l] = (ExactLeg){b->rep, b->size[type[l]], b->coords[type[l]]};
        d *= legs[l].size;
    }
    RELN_TRY(reln_exact_invariants(s->arena, legs, &rows, solved));
    if (!*solved)
        return RELN_OK;
    out->rows = reln_arena_alloc(s->arena, (size_t)(rows.count * d), sizeof *out->rows);
    if (!out->rows)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t e = 0; e < rows.count * d; e++)
        if (rows.num[e] != 0)
            out->rows[e] = (double)rows.num[e] / (double)rows.den[e / d];
    out->count = rows.count;
    out->pivots = rows.pivots;
    out->num = rows.num;
    out->den = rows.den;
    return RELN_OK;
}

/* For a finite group the average is computed in any case: its trace detects matrices that are not a
 * representation. */
static RelnStatus solve_either(Solver *s, const Problem *p, RelnArena *scratch, Solution *out)
{
    double *rows = NULL;
    bool solved = false;
    int count = -1;

    if (s->exact && p->elements)
        RELN_TRY(reln_invariants(scratch, p, &count, &rows));
    if (s->exact)
        RELN_TRY(solve_exactly(s, out->type, out, &solved));
    if (solved && count >= 0 && count != out->count)
        return reln_fail(s->group->ctx, RELN_ERR_NUMERIC,
                         "the average over %s leaves %d maps, its generators %d: not a "
                         "representation",
                         s->group->name, count, out->count);
    s->exact = s->exact && solved;
    return solved ? RELN_OK : solve_floats(s, p, scratch, out);
}

static RelnStatus solve_triple(Solver *s, const int type[3], Solution **out)
{
    Problem p = {.rank = s->rank, .n_discrete = s->group->n_discrete, .elements = s->elements};
    RelnArena scratch;
    RelnStatus status;

    *out = reln_arena_alloc(s->arena, 1, sizeof **out);
    if (!*out)
        return RELN_ERR_NOMEM;
    for (int l = 0; l < 3; l++) {
        p.leg[l] = s->leg[l].leg[type[l]];
        (*out)->type[l] = type[l];
    }
    reln_arena_init(&scratch, s->group->ctx);
    status = solve_either(s, &p, &scratch, *out);
    reln_arena_clear(&scratch);
    if (status == RELN_OK) {
        (*out)->next = s->solutions;
        s->solutions = *out;
    }
    return status;
}

static RelnStatus solution_of(Solver *s, const int type[3], Solution **out)
{
    for (Solution *x = s->solutions; x; x = x->next)
        if (memcmp(x->type, type, sizeof x->type) == 0) {
            *out = x;
            return RELN_OK;
        }
    return solve_triple(s, type, out);
}

/* Converts a position in a triple's tensor to the position in the whole. */
static ptrdiff_t whole_position(const Solver *s, const int block[3], ptrdiff_t local)
{
    const Blocks *b = s->leg;
    const ptrdiff_t n2 = b[2].size[block[2]], n1 = b[1].size[block[1]];
    const ptrdiff_t k = b[0].coords[block[0]][local / (n1 * n2)];
    const ptrdiff_t i = b[1].coords[block[1]][local / n2 % n1];
    const ptrdiff_t j = b[2].coords[block[2]][local % n2];

    return (k * s->rep[1]->dim + i) * s->rep[2]->dim + j;
}

static RelnStatus find_room(Solver *s, int more)
{
    const int wanted = s->n_found + more;
    Found *found;

    if (wanted <= s->capacity)
        return RELN_OK;
    s->capacity = 2 * wanted;
    found = reln_arena_alloc(s->arena, (size_t)s->capacity, sizeof *found);
    if (!found)
        return RELN_ERR_NOMEM;
    if (s->n_found > 0)
        memcpy(found, s->found, (size_t)s->n_found * sizeof *found);
    s->found = found;
    return RELN_OK;
}

static RelnStatus visit(Solver *s, int i, int j, int k)
{
    const int block[3] = {i, j, k};
    const int type[3] = {s->leg[0].type[i], s->leg[1].type[j], s->leg[2].type[k]};
    const ptrdiff_t d = (ptrdiff_t)s->rep[0]->dim * s->rep[1]->dim * s->rep[2]->dim;
    Solution *x = NULL;

    RELN_TRY(solution_of(s, type, &x));
    if (s->n_found + x->count > MAPS_NUMBERS / d)
        return reln_fail(s->group->ctx, RELN_ERR_UNSUPPORTED,
                         "more than %d equivariant maps of %td entries each: more than 1 GiB",
                         s->n_found, d);
    RELN_TRY(find_room(s, x->count));
    for (int r = 0; r < x->count; r++)
        s->found[s->n_found++] = (Found){whole_position(s, block, x->pivots[r]), {i, j, k}, x, r};
    return RELN_OK;
}

static int by_pivot(const void *x, const void *y)
{
    const ptrdiff_t a = ((const Found *)x)->pivot, b = ((const Found *)y)->pivot;

    return (a > b) - (a < b);
}

static RelnStatus find_elements(Solver *s)
{
    const RelnGroup *g = s->group;
    Closure *c = reln_arena_alloc(s->arena, 1, sizeof *c);

    if (!c)
        return RELN_ERR_NOMEM;
    if (g->n_lie > 0)
        return RELN_OK;
    RELN_TRY(reln_closure(s->arena, g->n, g->n_discrete, g->discrete, ELEMENTS_LIMIT, c));
    s->elements = c->complete ? c : NULL;
    return RELN_OK;
}

static RelnStatus solve_blocks(Solver *s)
{
    const Span *span = NULL;

    RELN_TRY(reln_group_span(s->group, &span));
    s->rank = span->rank;
    RELN_TRY(find_elements(s));
    for (int l = 0; l < 3; l++)
        RELN_TRY(cut_leg(s->arena, s->rep[l], span, &s->leg[l]));
    for (int i = 0; i < s->leg[0].count; i++)
        for (int j = 0; j < s->leg[1].count; j++)
            for (int k = 0; k < s->leg[2].count; k++)
                RELN_TRY(visit(s, i, j, k));
    if (s->n_found > 0)
        qsort(s->found, (size_t)s->n_found, sizeof *s->found, by_pivot);
    return RELN_OK;
}

/* ---- the result ------------------------------------------------------------------------------------------- */

static void write_map(const Solver *s, const Found *f, double *out, int32_t *num)
{
    ptrdiff_t d = 1;

    for (int l = 0; l < 3; l++)
        d *= s->leg[l].size[f->block[l]];
    for (ptrdiff_t e = 0; e < d; e++) {
        const double x = f->solution->rows[f->row * d + e];
        const ptrdiff_t at = x != 0 ? whole_position(s, f->block, e) : 0;
        if (x != 0)
            out[at] = x;
        if (x != 0 && num)
            num[at] = f->solution->num[f->row * d + e];
    }
}

/* Lists the non-zero entries of a map, sorted by (k, i, j); if entries is NULL, only counts them. */
static int list_entries(const RelnMaps *maps, const double *map, RelnEntry *entries)
{
    const int ni = maps->dims[1], nj = maps->dims[2];
    const ptrdiff_t d = (ptrdiff_t)maps->dims[0] * ni * nj;
    int count = 0;

    for (ptrdiff_t e = 0; e < d; e++)
        if (map[e] != 0) {
            if (entries)
                entries[count] = (RelnEntry){(int)(e / nj % ni), (int)(e % nj),
                                             (int)(e / ((ptrdiff_t)ni * nj)), map[e]};
            count++;
        }
    return count;
}

static RelnStatus verify_floats(const MapsNode *node, int t, int count, const RelnEntry *entries)
{
    RelnVerdict verdict;

    RELN_TRY(reln_check_entries(node->u, node->v, node->w, count, entries, &verdict));
    if (verdict.equivariant)
        return RELN_OK;
    return reln_fail(node->u->group->ctx, RELN_ERR_NUMERIC,
                     "map %d of %d found for %s x %s -> %s is inexact: %s", t, node->maps.count,
                     node->u->name, node->v ? node->v->name : "1", node->w->name, verdict.text);
}

/* Lists the numerators of the same entries. */
static void list_numerators(const RelnMaps *m, ptrdiff_t first, int64_t *num)
{
    const ptrdiff_t d = (ptrdiff_t)m->dims[0] * m->dims[1] * m->dims[2];

    for (ptrdiff_t e = 0; e < d; e++)
        if (m->values[first + e] != 0)
            *num++ = m->numerators[first + e];
}

/* Verifies every map in integers, because the solution modulo a prime proves nothing. *exact is false if one
 * fails. */
static RelnStatus verify(RelnArena *scratch, const MapsNode *node, bool *exact)
{
    const RelnMaps *m = &node->maps;
    const ptrdiff_t d = (ptrdiff_t)m->dims[0] * m->dims[1] * m->dims[2];
    RelnEntry *entries = reln_arena_alloc(scratch, (size_t)d, sizeof *entries);
    int64_t *num = reln_arena_alloc(scratch, *exact ? (size_t)d : 0, sizeof *num);

    if (!entries || !num)
        return RELN_ERR_NOMEM;
    for (int t = 0; t < m->count; t++) {
        const int count = list_entries(m, m->values + t * d, entries);
        if (*exact) {
            list_numerators(m, t * d, num);
            RELN_TRY(reln_exact_verify(node->u, node->v, node->w, count, entries, num, exact));
        }
        if (!*exact)
            RELN_TRY(verify_floats(node, t, count, entries));
    }
    return RELN_OK;
}

static RelnStatus collect(const Solver *s, MapsNode *node, ptrdiff_t d)
{
    double *values = reln_arena_alloc(s->arena, (size_t)(s->n_found * d), sizeof *values);
    const size_t exact = s->exact ? (size_t)s->n_found : 0;
    int32_t *num = reln_arena_alloc(s->arena, exact * (size_t)d, sizeof *num);
    int32_t *den = reln_arena_alloc(s->arena, exact, sizeof *den);

    if (!values || !num || !den)
        return RELN_ERR_NOMEM;
    for (int t = 0; t < s->n_found; t++) {
        write_map(s, &s->found[t], values + t * d, s->exact ? num + t * d : NULL);
        if (s->exact)
            den[t] = s->found[t].solution->den[s->found[t].row];
    }
    node->maps = (RelnMaps){.count = s->n_found,
                            .dims = {s->rep[0]->dim, s->rep[1]->dim, s->rep[2]->dim},
                            .values = values,
                            .numerators = s->exact ? num : NULL,
                            .denominators = s->exact ? den : NULL};
    return RELN_OK;
}

/* The numbers stay in separate blocks until they are verified, then they move to the group. */
static RelnStatus finish(Solver *s, MapsNode *node)
{
    const ptrdiff_t d = (ptrdiff_t)s->rep[0]->dim * s->rep[1]->dim * s->rep[2]->dim;
    const size_t count = (size_t)s->n_found;
    RelnArena *arena = &s->group->arena;
    RelnMaps *m = &node->maps;
    bool exact = s->exact;

    RELN_TRY(collect(s, node, d));
    RELN_TRY(verify(s->arena, node, &exact));
    m->values = reln_arena_copy(arena, m->values, count * (size_t)d, sizeof *m->values);
    m->numerators =
        exact ? reln_arena_copy(arena, m->numerators, count * (size_t)d, sizeof *m->numerators)
              : NULL;
    m->denominators =
        exact ? reln_arena_copy(arena, m->denominators, count, sizeof *m->denominators) : NULL;
    node->tensors = reln_arena_alloc(arena, count, sizeof *node->tensors);
    return m->values && node->tensors && (!exact || (m->numerators && m->denominators))
               ? RELN_OK
               : RELN_ERR_NOMEM;
}

static RelnStatus solve(RelnArena *arena, const RelnRep *u, const RelnRep *v, const RelnRep *w,
                        const RelnMaps **out)
{
    RelnGroup *g = u->group;
    Solver s = {.arena = arena, .group = g};
    MapsNode made = {.u = u, .v = v, .w = w}, *node;

    s.rep[0] = w;
    s.rep[1] = reln_rep_dual(u);
    s.rep[2] = v ? reln_rep_dual(v) : reln_rep_trivial(g, 1);
    if (!s.rep[1] || !s.rep[2])
        return RELN_ERR_NOMEM; /* an allocation is the only thing that can fail here */
    s.exact = u->exact && w->exact && (!v || v->exact) && s.rep[1]->exact && s.rep[2]->exact;
    RELN_TRY(solve_blocks(&s));
    RELN_TRY(finish(&s, &made));
    node = reln_arena_copy(&g->arena, &made, 1, sizeof made);
    if (!node)
        return RELN_ERR_NOMEM;
    node->next = g->maps;
    g->maps = node;
    *out = &node->maps;
    return RELN_OK;
}

static RelnStatus maps_of(const RelnRep *u, const RelnRep *v, const RelnRep *w,
                          const RelnMaps **out)
{
    RelnArena arena;
    RelnStatus status;

    *out = NULL;
    if (w->group != u->group || (v && v->group != u->group))
        return reln_fail(u->group->ctx, RELN_ERR_ARG,
                         "maps between reps that belong to different groups");
    for (const MapsNode *m = u->group->maps; m; m = m->next)
        if (m->u == u && m->v == v && m->w == w) {
            *out = &m->maps;
            return RELN_OK;
        }
    reln_arena_init(&arena, u->group->ctx);
    status = solve(&arena, u, v, w, out);
    reln_arena_clear(&arena);
    return status;
}

RelnStatus reln_maps_linear(const RelnRep *in, const RelnRep *out, const RelnMaps **maps)
{
    return in && out && maps ? maps_of(in, NULL, out, maps) : RELN_ERR_ARG;
}

RelnStatus reln_maps_bilinear(const RelnRep *u, const RelnRep *v, const RelnRep *w,
                              const RelnMaps **maps)
{
    return u && v && w && maps ? maps_of(u, v, w, maps) : RELN_ERR_ARG;
}

static const RelnTensor3 *make_tensor(RelnArena *arena, const RelnMaps *m, const double *map)
{
    const int count = list_entries(m, map, NULL);
    RelnEntry *entries = reln_arena_alloc(arena, (size_t)count, sizeof *entries);
    RelnTensor3 *t = reln_arena_alloc(arena, 1, sizeof *t);

    if (!entries || !t)
        return NULL;
    list_entries(m, map, entries);
    *t = (RelnTensor3){m->dims[1], m->dims[2], m->dims[0], count, entries};
    return t;
}

const RelnTensor3 *reln_maps_tensor(const RelnRep *owner, const RelnMaps *maps, int index)
{
    MapsNode *node = owner ? owner->group->maps : NULL;

    while (node && &node->maps != maps)
        node = node->next;
    if (!node || index < 0 || index >= node->maps.count) {
        if (owner)
            reln_fail(owner->group->ctx, RELN_ERR_ARG, "map %d of %d was asked for", index,
                      node ? node->maps.count : 0);
        return NULL;
    }
    if (!node->tensors[index])
        node->tensors[index] =
            make_tensor(&owner->group->arena, &node->maps,
                        node->maps.values + (ptrdiff_t)index * node->maps.dims[0] *
                                                node->maps.dims[1] * node->maps.dims[2]);
    return node->tensors[index];
}
