/* check.c -- decides whether a linear or bilinear map is equivariant, by checking every generator. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rep/rep.h"

/* A Sum is a tensor that is being summed up: dense if it is small, otherwise an open hash table from position
 * to value. The slots in use are listed, so that clearing and reading cost no more than writing did. */
typedef struct Sum {
    double *value;
    uint64_t *key; /* position + 1; 0: free. NULL: the sum is dense, and the slot is the position */
    size_t *used;  /* list of slots in use; a slot may be listed twice */
    size_t n_used;
    size_t mask;  /* number of slots - 1, if hashed */
    double *term; /* (cells): the largest number added to each cell; NULL: not recorded */
} Sum;

/* Blocks divides the coordinates of a rep into blocks: coordinates that a generator connects are in one
 * block. */
typedef struct Blocks {
    int count;
    int *of; /* (dim): the block of a coordinate */
} Blocks;

/* Cells holds the blocks of all sides of a map and, for one generator, the largest term and residual of each
 * cell. */
typedef struct Cells {
    Blocks u, v, w;
    bool coarse; /* one cell for all blocks of u and v, because there would be too many */
    ptrdiff_t count;
    double *rest, *term; /* (count): largest absolute values */
} Cells;

typedef struct Map {
    const RelnRep *u, *v, *w; /* v NULL: linear */
    int count;
    const RelnEntry *entries;
    double norm;        /* norm of the entries; 1 for a map of zeros */
    const Cells *cells; /* set before the first addition */
} Map;

/* The ratio of the smallest to the largest entry of a map must be above this. Generators are within 1e100, so
 * the terms of the residual stay normal numbers. */
#define ENTRY_RANGE 1e-200

/* The matrices of one generator on the three sides; v NULL: linear. */
typedef struct Sides {
    const Action *u, *v, *w;
} Sides;

static size_t slot_of(Sum *s, uint64_t position)
{
    size_t slot = (size_t)((position * 0x9E3779B97F4A7C15ULL) >> 20) & s->mask;

    while (s->key[slot] != 0 && s->key[slot] != position + 1)
        slot = (slot + 1) & s->mask;
    s->key[slot] = position + 1;
    return slot;
}

static int line_length(const Sparse *s, int line)
{
    return s->start[line + 1] - s->start[line];
}

static Sides sides_of(const Map *m, int generator)
{
    return (Sides){&m->u->actions[generator], m->v ? &m->v->actions[generator] : NULL,
                   &m->w->actions[generator]};
}

static uint64_t position(const Map *m, int k, int i, int j)
{
    const uint64_t nv = m->v ? (uint64_t)m->v->dim : 1;

    return ((uint64_t)k * (uint64_t)m->u->dim + (uint64_t)i) * nv + (uint64_t)j;
}

static RelnEntry place(const Map *m, uint64_t at)
{
    const uint64_t nv = m->v ? (uint64_t)m->v->dim : 1, nu = (uint64_t)m->u->dim;

    return (RelnEntry){(int)(at / nv % nu), (int)(at % nv), (int)(at / nv / nu), 0};
}

/* A cell is a block of w with one of u and one of v; or, if there would be too many cells, with all of u and
 * v. */
static size_t cell_of(const Map *m, const RelnEntry *at)
{
    const Cells *c = m->cells;

    if (c->coarse)
        return (size_t)c->w.of[at->k];
    return ((size_t)c->w.of[at->k] * (size_t)c->u.count + (size_t)c->u.of[at->i]) *
               (size_t)c->v.count +
           (size_t)(m->v ? c->v.of[at->j] : 0);
}

static void raise_cell(const Map *m, double *cells, const RelnEntry *at, double size)
{
    double *x = cells + cell_of(m, at);

    *x = fmax(*x, size);
}

static void add(const Map *m, Sum *s, const RelnEntry *at, double value)
{
    const uint64_t where = position(m, at->k, at->i, at->j);
    const size_t slot = s->key ? slot_of(s, where) : (size_t)where;

    if (s->value[slot] == 0)
        s->used[s->n_used++] = slot;
    s->value[slot] += value;
    if (s->term)
        raise_cell(m, s->term, at, fabs(value));
}

/* Writes the largest number of each cell to `rest`, and empties the sum. */
static void take_cells(const Map *m, Sum *s, double *rest)
{
    for (size_t e = 0; e < s->n_used; e++) {
        const size_t slot = s->used[e];
        const RelnEntry at = place(m, s->key ? s->key[slot] - 1 : slot);
        raise_cell(m, rest, &at, fabs(s->value[slot]));
        s->value[slot] = 0;
    }
    for (size_t e = 0; s->key && e < s->n_used; e++)
        s->key[s->used[e]] = 0;
    s->n_used = 0;
}

static size_t volume_of(const Map *m)
{
    return (size_t)m->w->dim * (size_t)m->u->dim * (size_t)(m->v ? m->v->dim : 1);
}

/* rho_w T: entry (k,i,j) contributes to column k of rho_w. */
static void add_out(const Map *m, const Sparse *columns, const RelnEntry *t, double x, Sum *s)
{
    for (int e = columns->start[t->k]; e < columns->start[t->k + 1]; e++)
        add(m, s, &(RelnEntry){t->i, t->j, columns->index[e], 0}, columns->value[e] * x);
}

/* x T (rho_u x 1): entry (k,i,j) contributes to row i of rho_u. */
static void add_u(const Map *m, const Sparse *rows, const RelnEntry *t, double x, Sum *s)
{
    for (int e = rows->start[t->i]; e < rows->start[t->i + 1]; e++)
        add(m, s, &(RelnEntry){rows->index[e], t->j, t->k, 0}, rows->value[e] * x);
}

static void add_v(const Map *m, const Sparse *rows, const RelnEntry *t, double x, Sum *s)
{
    for (int e = rows->start[t->j]; e < rows->start[t->j + 1]; e++)
        add(m, s, &(RelnEntry){t->i, rows->index[e], t->k, 0}, rows->value[e] * x);
}

/* f (rho_w T - T (rho_u x 1 + 1 x rho_v)) for T of norm 1 */
static void lie_residual(const Map *m, const Sides *g, double f, Sum *s)
{
    for (int e = 0; e < m->count; e++) {
        const RelnEntry *t = &m->entries[e];
        const double x = f * (t->value / m->norm);
        add_out(m, &g->w->columns, t, x, s);
        add_u(m, &g->u->rows, t, -x, s);
        if (g->v)
            add_v(m, &g->v->rows, t, -x, s);
    }
}

/* s -= half (1 x rho_v); empties `half`. */
static void second_half(const Map *m, const Sparse *rows, Sum *half, Sum *s)
{
    for (size_t e = 0; e < half->n_used; e++) {
        const size_t slot = half->used[e];
        const RelnEntry t = place(m, half->key ? half->key[slot] - 1 : slot);
        if (half->value[slot] != 0)
            add_v(m, rows, &t, -half->value[slot], s);
        half->value[slot] = 0;
    }
    for (size_t e = 0; half->key && e < half->n_used; e++)
        half->key[half->used[e]] = 0;
    half->n_used = 0;
}

/* f (rho_w T - T (rho_u x rho_v)), computed one side after the other */
static void discrete_residual(const Map *m, const Sides *g, double f, Sum *half, Sum *s)
{
    for (int e = 0; e < m->count; e++) {
        const RelnEntry *t = &m->entries[e];
        const double x = f * (t->value / m->norm);
        add_out(m, &g->w->columns, t, x, s);
        add_u(m, &g->u->rows, t, g->v ? x : -x, g->v ? half : s);
    }
    if (g->v)
        second_half(m, &g->v->rows, half, s);
}

/* ---- size of the sums ------------------------------------------------------------------------------------- */

typedef struct Room {
    size_t half,
        whole; /* upper bounds on the number of additions to the half-way sum and to the residual */
} Room;

static void make_larger(size_t *x, size_t y)
{
    *x = y > *x ? y : *x;
}

/* Bounds the additions that one generator causes. */
static Room spread(const Map *m, const Sides *g, bool discrete)
{
    Room room = {0, 0};

    for (int e = 0; e < m->count; e++) {
        const RelnEntry *t = &m->entries[e];
        const size_t nu = (size_t)line_length(&g->u->rows, t->i);
        const size_t nv = g->v ? (size_t)line_length(&g->v->rows, t->j) : 0;
        room.half += nu;
        room.whole += (size_t)line_length(&g->w->columns, t->k) + nu + nv;
    }
    /* every number of the half-way sum is multiplied with a row of rho_v */
    if (discrete && g->v) {
        const size_t volume = volume_of(m);
        size_t longest = 0;
        for (int j = 0; j < m->v->dim; j++)
            make_larger(&longest, (size_t)line_length(&g->v->rows, j));
        room.whole += (room.half < volume ? room.half : volume) * longest;
    }
    return room;
}

enum { DENSE_ANYWAY = 32768 }; /* sums up to this size are dense, because clearing them is cheap */

static RelnStatus make_sum(RelnArena *scratch, const Map *m, size_t additions, Sum *s)
{
    const size_t volume = volume_of(m);
    const bool dense = volume <= DENSE_ANYWAY || volume / 4 <= additions;
    size_t slots = 16;

    while (!dense && slots < 2 * additions)
        slots *= 2;
    slots = dense ? volume : slots;
    s->n_used = 0;
    s->mask = slots - 1;
    s->value = reln_arena_alloc(scratch, slots, sizeof *s->value);
    s->key = dense ? NULL : reln_arena_alloc(scratch, slots, sizeof *s->key);
    s->used = reln_arena_alloc(scratch, additions, sizeof *s->used);
    return s->value && s->used && (dense || s->key) ? RELN_OK : RELN_ERR_NOMEM;
}

static RelnStatus make_sums(RelnArena *scratch, const Map *m, Sum *half, Sum *whole)
{
    const RelnGroup *group = m->u->group;
    Room most = {0, 0};

    for (int i = 0; i < group->n_lie + group->n_discrete; i++) {
        const Sides g = sides_of(m, i);
        const bool discrete = i >= group->n_lie;
        const Room room = spread(m, &g, discrete);
        make_larger(&most.half, discrete ? room.half : 0);
        make_larger(&most.whole, room.whole);
    }
    RELN_TRY(make_sum(scratch, m, most.whole, whole));
    return most.half > 0 ? make_sum(scratch, m, most.half, half) : RELN_OK;
}

/* ---- the verdict ------------------------------------------------------------------------------------------ */

/* max(unit, norms of the matrices involved). If every side acts as zero, rounding is measured against the
 * generator. */
static double side_norm(const Sides *g, bool discrete, double unit)
{
    const double nv = g->v ? g->v->norm : discrete ? 1 : 0;
    const double in = discrete ? g->u->norm * nv : fmax(g->u->norm, nv);

    return fmax(unit, fmax(g->w->norm, in));
}

enum { MOST_CELLS = 1 << 18 };

static RelnStatus find_blocks(RelnArena *scratch, const RelnRep *rep, Blocks *b)
{
    int *parent = reln_arena_alloc(scratch, (size_t)rep->dim, sizeof *parent);

    b->of = reln_arena_alloc(scratch, (size_t)rep->dim, sizeof *b->of);
    if (!parent || !b->of)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < rep->dim; i++)
        parent[i] = i;
    for (int g = 0; g < rep->group->n_lie + rep->group->n_discrete; g++) {
        const Sparse *rows = &rep->actions[g].rows;
        for (int i = 0; i < rep->dim; i++)
            for (int s = rows->start[i]; s < rows->start[i + 1]; s++)
                reln_set_join(parent, i, rows->index[s]);
    }
    for (int i = 0; i < rep->dim; i++) {
        const int r = reln_set_root(parent, i);
        b->of[i] = r == i ? b->count++ : b->of[r];
    }
    return RELN_OK;
}

static RelnStatus make_cells(RelnArena *scratch, const Map *m, Cells *c)
{
    double count;

    c->v.count = 1;
    RELN_TRY(find_blocks(scratch, m->w, &c->w));
    RELN_TRY(find_blocks(scratch, m->u, &c->u));
    if (m->v) {
        c->v.count = 0;
        RELN_TRY(find_blocks(scratch, m->v, &c->v));
    }
    count = (double)c->w.count * c->u.count * c->v.count;
    c->coarse = count > MOST_CELLS;
    c->count = c->coarse ? c->w.count : (ptrdiff_t)count;
    c->rest = reln_arena_alloc(scratch, (size_t)c->count, sizeof *c->rest);
    c->term = reln_arena_alloc(scratch, (size_t)c->count, sizeof *c->term);
    return c->rest && c->term ? RELN_OK : RELN_ERR_NOMEM;
}

/* A cell may be off by this share of the whole map, to tolerate rounding noise where zeros should be. */
#define ROUNDING_OF_MAP 1e-14

/* Finds the residual of the worst cell, with and without the allowance for rounding of the whole. Each cell
 * is measured against its own terms, so a large block cannot hide a bad one. `unit` bounds the terms of a map
 * of norm 1. */
static void judge_cells(const Cells *c, double unit, double *residual, double *own)
{
    const double floor =
        ROUNDING_OF_MAP / RELN_INTERTWINER_TOLERANCE * fmax(unit, reln_largest(c->count, c->term));

    *residual = *own = 0;
    for (ptrdiff_t i = 0; i < c->count; i++) {
        if (c->rest[i] == 0)
            continue;
        *residual = fmax(*residual, c->rest[i] / fmax(c->term[i], floor));
        *own = fmax(*own, c->rest[i] / c->term[i]);
    }
}

static RelnStatus worst_generator(RelnArena *scratch, Map *m, RelnVerdict *out, double *own)
{
    const RelnGroup *group = m->u->group;
    Sum half = {0}, whole = {0}; /* a map of zeros needs no memory */
    Cells cells = {0};

    RELN_TRY(make_sums(scratch, m, &half, &whole));
    RELN_TRY(make_cells(scratch, m, &cells));
    m->cells = &cells;
    whole.term = cells.term;
    for (int i = 0; i < group->n_lie + group->n_discrete; i++) {
        const bool discrete = i >= group->n_lie;
        const Sides g = sides_of(m, i);
        const double f = 1 / side_norm(&g, discrete, discrete ? 1 : group->size[i]);
        double residual, alone;
        memset(cells.rest, 0, (size_t)cells.count * sizeof *cells.rest);
        memset(cells.term, 0, (size_t)cells.count * sizeof *cells.term);
        if (discrete)
            discrete_residual(m, &g, f, &half, &whole);
        else
            lie_residual(m, &g, f, &whole);
        take_cells(m, &whole, cells.rest);
        judge_cells(&cells, discrete ? 0 : f * group->size[i], &residual, &alone);
        *own = fmax(*own, alone);
        if (out->generator >= 0 && residual <= out->residual)
            continue;
        out->residual = residual;
        out->discrete = discrete;
        out->generator = discrete ? i - group->n_lie : i;
    }
    m->cells = NULL;
    return RELN_OK;
}

static void write_verdict(const RelnGroup *group, RelnVerdict *v)
{
    v->equivariant = v->residual <= RELN_INTERTWINER_TOLERANCE;
    if (!v->equivariant)
        snprintf(v->text, sizeof v->text, "%sgenerator %d of %.100s fails by %.2g (tolerance %g)",
                 v->discrete ? "discrete " : "", v->generator, group->name, v->residual,
                 RELN_INTERTWINER_TOLERANCE);
}

/* Returns |T|; negative when an entry lies outside the extents, NaN or infinite when an entry is. */
static double entries_norm(const Map *m)
{
    const int nv = m->v ? m->v->dim : 1;
    double norm = 0;

    for (int e = 0; e < m->count; e++) {
        const RelnEntry *t = &m->entries[e];
        if (t->i < 0 || t->i >= m->u->dim || t->j < 0 || t->j >= nv || t->k < 0 ||
            t->k >= m->w->dim)
            return -1;
        norm = isnan(t->value) ? t->value : hypot(norm, t->value);
    }
    return norm;
}

/* Returns whether the entries differ so much in size that the residual could lose some by underflow. */
static bool too_wide(const Map *m)
{
    for (int e = 0; e < m->count; e++) {
        const double size = fabs(m->entries[e].value);
        if (size > 0 && size < ENTRY_RANGE * m->norm)
            return true;
    }
    return false;
}

RelnStatus reln_check_entries(const RelnRep *u, const RelnRep *v, const RelnRep *w, int count,
                              const RelnEntry *entries, RelnVerdict *verdict)
{
    double own;

    return reln_check_cells(u, v, w, count, entries, verdict, &own);
}

RelnStatus reln_check_cells(const RelnRep *u, const RelnRep *v, const RelnRep *w, int count,
                            const RelnEntry *entries, RelnVerdict *verdict, double *own)
{
    Map m = {u, v, w, count, entries, 1, NULL};
    RelnCtx *ctx = u->group->ctx;
    const double norm = entries_norm(&m);
    RelnStatus status = RELN_OK;
    RelnArena scratch;

    memset(verdict, 0, sizeof *verdict);
    verdict->generator = -1;
    *own = 0;
    if (w->group != u->group || (v && v->group != u->group))
        return reln_fail(ctx, RELN_ERR_ARG, "the reps of a map belong to different groups");
    if (norm < 0)
        return reln_fail(ctx, RELN_ERR_SHAPE, "a map %s x %s -> %s has an entry outside %dx%dx%d",
                         u->name, v ? v->name : "1", w->name, u->dim, v ? v->dim : 1, w->dim);
    if (!isfinite(norm))
        return reln_fail(ctx, RELN_ERR_NUMERIC, "a map to check holds a number that is not finite");
    m.norm = norm > 0 ? norm : 1;
    if (too_wide(&m))
        return reln_fail(ctx, RELN_ERR_NUMERIC,
                         "a map to check has norm %.2g and an entry below %g of it", norm,
                         ENTRY_RANGE);
    reln_arena_init(&scratch, ctx);
    status = worst_generator(&scratch, &m, verdict, own);
    reln_arena_clear(&scratch);
    write_verdict(u->group, verdict);
    return status;
}

RelnStatus reln_check_bilinear(const RelnRep *u, const RelnRep *v, const RelnRep *w,
                               const RelnTensor3 *t, RelnVerdict *verdict)
{
    if (!u || !v || !w || !t || !verdict)
        return RELN_ERR_ARG;
    if (t->count < 0 || (t->count > 0 && !t->entries))
        return reln_fail(u->group->ctx, RELN_ERR_ARG, "a tensor of %d entries%s", t->count,
                         t->entries ? "" : ", which are not given");
    if (t->i != u->dim || t->j != v->dim || t->k != w->dim)
        return reln_fail(u->group->ctx, RELN_ERR_SHAPE,
                         "a %dx%dx%d tensor does not fit %s x %s -> %s of dimensions %d, %d, %d",
                         t->i, t->j, t->k, u->name, v->name, w->name, u->dim, v->dim, w->dim);
    return reln_check_entries(u, v, w, t->count, t->entries, verdict);
}

RelnStatus reln_check_linear(const RelnRep *in, const RelnRep *out, const double *m,
                             RelnVerdict *verdict)
{
    RelnEntry *entries;
    RelnStatus status;
    int count = 0;

    if (!in || !out || !m || !verdict)
        return RELN_ERR_ARG;
    entries = reln_alloc(in->group->ctx, (size_t)in->dim * (size_t)out->dim, sizeof *entries);
    if (!entries)
        return RELN_ERR_NOMEM;
    for (int k = 0; k < out->dim; k++)
        for (int i = 0; i < in->dim; i++) {
            const double value = m[(ptrdiff_t)k * in->dim + i];
            if (value != 0)
                entries[count++] = (RelnEntry){i, 0, k, value};
        }
    status = reln_check_entries(in, NULL, out, count, entries, verdict);
    reln_free(in->group->ctx, entries);
    return status;
}
