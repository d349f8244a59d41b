/* check.c -- is a linear or bilinear map equivariant? Every generator is asked. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rep/rep.h"

/* A tensor that is being summed up: dense where that is small, else an open hash table from position to value. The
 * slots in use are listed, so that clearing and reading cost what was written. */
typedef struct Sum {
    double *value;
    uint64_t *key; /* position + 1; 0: free. NULL: dense, the slot is the position */
    size_t *used;  /* slots; one may be listed twice */
    size_t n_used;
    size_t mask; /* slots - 1, hashed */
} Sum;

typedef struct Map {
    const RelnRep *u, *v, *w; /* v NULL: linear */
    int count;
    const RelnEntry *entries;
    double norm; /* of the entries; 1 for a map of zeros */
} Map;

/* One generator on the three sides; v NULL: linear. */
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

static void add(Sum *s, uint64_t position, double value)
{
    const size_t slot = s->key ? slot_of(s, position) : (size_t)position;

    if (s->value[slot] == 0)
        s->used[s->n_used++] = slot;
    s->value[slot] += value;
}

/* Squared norm; the sum is empty afterwards. */
static double take_square(Sum *s)
{
    double square = 0;

    for (size_t e = 0; e < s->n_used; e++) {
        const size_t slot = s->used[e];
        square += s->value[slot] * s->value[slot];
        s->value[slot] = 0;
        if (s->key)
            s->key[slot] = 0;
    }
    s->n_used = 0;
    return square;
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

static size_t volume_of(const Map *m)
{
    return (size_t)m->w->dim * (size_t)m->u->dim * (size_t)(m->v ? m->v->dim : 1);
}

/* rho_w T: entry (k,i,j) spreads over column k of rho_w. */
static void add_out(const Map *m, const Sparse *columns, const RelnEntry *t, double x, Sum *s)
{
    for (int e = columns->start[t->k]; e < columns->start[t->k + 1]; e++)
        add(s, position(m, columns->index[e], t->i, t->j), columns->value[e] * x);
}

/* x T (rho_u x 1): entry (k,i,j) spreads over row i of rho_u. */
static void add_u(const Map *m, const Sparse *rows, const RelnEntry *t, double x, Sum *s)
{
    for (int e = rows->start[t->i]; e < rows->start[t->i + 1]; e++)
        add(s, position(m, t->k, rows->index[e], t->j), rows->value[e] * x);
}

static void add_v(const Map *m, const Sparse *rows, const RelnEntry *t, double x, Sum *s)
{
    for (int e = rows->start[t->j]; e < rows->start[t->j + 1]; e++)
        add(s, position(m, t->k, t->i, rows->index[e]), rows->value[e] * x);
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

/* s -= half (1 x rho_v); half is empty afterwards. */
static void second_half(const Map *m, const Sparse *rows, Sum *half, Sum *s)
{
    const uint64_t nv = (uint64_t)m->v->dim, nu = (uint64_t)m->u->dim;

    for (size_t e = 0; e < half->n_used; e++) {
        const size_t slot = half->used[e];
        const uint64_t at = half->key ? half->key[slot] - 1 : slot;
        const RelnEntry t = {(int)(at / nv % nu), (int)(at % nv), (int)(at / nv / nu), 0};
        if (half->value[slot] != 0)
            add_v(m, rows, &t, -half->value[slot], s);
        half->value[slot] = 0;
    }
    for (size_t e = 0; half->key && e < half->n_used; e++)
        half->key[half->used[e]] = 0;
    half->n_used = 0;
}

/* f (rho_w T - T (rho_u x rho_v)), one side after the other */
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

/* ---- room ------------------------------------------------------------------------------------------------- */

typedef struct Room {
    size_t half, whole; /* additions at most, to a half-way sum and to the residual */
} Room;

static void make_larger(size_t *x, size_t y)
{
    *x = y > *x ? y : *x;
}

/* Additions that one generator causes. */
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
    /* every number of the half-way sum meets a row of rho_v */
    if (discrete && g->v) {
        const size_t volume = volume_of(m);
        size_t longest = 0;
        for (int j = 0; j < m->v->dim; j++)
            make_larger(&longest, (size_t)line_length(&g->v->rows, j));
        room.whole += (room.half < volume ? room.half : volume) * longest;
    }
    return room;
}

enum { DENSE_ANYWAY = 32768 }; /* numbers that are cheap to clear */

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

/* max(unit, norms of the matrices involved): where nothing acts, rounding is measured against the generator itself */
static double side_norm(const Sides *g, bool discrete, double unit)
{
    const double nv = g->v ? g->v->norm : discrete ? 1 : 0;
    const double in = discrete ? g->u->norm * nv : fmax(g->u->norm, nv);

    return fmax(unit, fmax(g->w->norm, in));
}

static RelnStatus worst_generator(RelnArena *scratch, const Map *m, RelnVerdict *out)
{
    const RelnGroup *group = m->u->group;
    Sum half = {0}, whole = {0}; /* a map of zeros takes no room */

    RELN_TRY(make_sums(scratch, m, &half, &whole));
    for (int i = 0; i < group->n_lie + group->n_discrete; i++) {
        const bool discrete = i >= group->n_lie;
        const Sides g = sides_of(m, i);
        const double f = 1 / side_norm(&g, discrete, discrete ? 1 : group->size[i]);
        if (discrete)
            discrete_residual(m, &g, f, &half, &whole);
        else
            lie_residual(m, &g, f, &whole);
        const double residual = sqrt(take_square(&whole));
        if (out->generator >= 0 && residual <= out->residual)
            continue;
        out->residual = residual;
        out->discrete = discrete;
        out->generator = discrete ? i - group->n_lie : i;
    }
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

/* |T|; negative when an entry lies outside, NaN or infinite when one is. */
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

RelnStatus reln_check_entries(const RelnRep *u, const RelnRep *v, const RelnRep *w, int count,
                              const RelnEntry *entries, RelnVerdict *verdict)
{
    Map m = {u, v, w, count, entries, 1};
    RelnCtx *ctx = u->group->ctx;
    const double norm = entries_norm(&m);
    RelnStatus status = RELN_OK;
    RelnArena scratch;

    memset(verdict, 0, sizeof *verdict);
    verdict->generator = -1;
    if (w->group != u->group || (v && v->group != u->group))
        return reln_fail(ctx, RELN_ERR_ARG, "the reps of a map belong to different groups");
    if (norm < 0)
        return reln_fail(ctx, RELN_ERR_SHAPE, "a map %s x %s -> %s has an entry outside %dx%dx%d",
                         u->name, v ? v->name : "1", w->name, u->dim, v ? v->dim : 1, w->dim);
    if (!isfinite(norm))
        return reln_fail(ctx, RELN_ERR_NUMERIC, "a map to check holds a number that is not finite");
    reln_arena_init(&scratch, ctx);
    m.norm = norm > 0 ? norm : 1;
    status = worst_generator(&scratch, &m, verdict);
    reln_arena_clear(&scratch);
    write_verdict(u->group, verdict);
    return status;
}

RelnStatus reln_check_bilinear(const RelnRep *u, const RelnRep *v, const RelnRep *w,
                               const RelnTensor3 *t, RelnVerdict *verdict)
{
    if (!u || !v || !w || !t || !verdict)
        return RELN_ERR_ARG;
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
