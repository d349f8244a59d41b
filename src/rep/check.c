/* check.c -- is a linear or bilinear map equivariant? Every generator is asked. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rep/rep.h"
#include "tensor/linalg.h"

/* The residual tensor of one generator by its non-zero entries: an open hash table from position to value. */
typedef struct Residual {
    uint64_t *key; /* position + 1; 0: free */
    double *value;
    size_t capacity, mask; /* of its slots, mask + 1 are in use */
} Residual;

typedef struct Map {
    const RelnRep *u, *v, *w; /* v NULL: linear */
    int count;
    const RelnEntry *entries;
} Map;

static void add(Residual *r, uint64_t position, double value)
{
    size_t slot = (size_t)((position * 0x9E3779B97F4A7C15ULL) >> 20) & r->mask;

    while (r->key[slot] != 0 && r->key[slot] != position + 1)
        slot = (slot + 1) & r->mask;
    r->key[slot] = position + 1;
    r->value[slot] += value;
}

static int line_length(const Sparse *s, int line)
{
    return s->start[line + 1] - s->start[line];
}

/* How many numbers the entries spread to under one generator. */
static size_t spread(const Map *m, int generator, bool discrete)
{
    const Action *u = &m->u->actions[generator], *w = &m->w->actions[generator];
    const Action *v = m->v ? &m->v->actions[generator] : NULL;
    size_t total = 0;

    for (int e = 0; e < m->count; e++) {
        const RelnEntry *t = &m->entries[e];
        const int nu = line_length(&u->rows, t->i), nv = v ? line_length(&v->rows, t->j) : 0;
        const int in = !discrete ? nu + nv : v ? nu * nv : nu;
        total += (size_t)(line_length(&w->columns, t->k) + in);
    }
    return total;
}

static uint64_t position(const Map *m, int k, int i, int j)
{
    const uint64_t nv = m->v ? (uint64_t)m->v->dim : 1;

    return ((uint64_t)k * (uint64_t)m->u->dim + (uint64_t)i) * nv + (uint64_t)j;
}

/* rho_w T: entry (k,i,j) spreads over column k of rho_w. */
static void add_out(const Map *m, const Sparse *columns, const RelnEntry *t, Residual *r)
{
    for (int s = columns->start[t->k]; s < columns->start[t->k + 1]; s++)
        add(r, position(m, columns->index[s], t->i, t->j), columns->value[s] * t->value);
}

/* - T (rho_u x 1 + 1 x rho_v): entry (k,i,j) spreads over row i of rho_u and row j of rho_v. */
static void add_in_lie(const Map *m, const Action *u, const Action *v, const RelnEntry *t,
                       Residual *r)
{
    for (int s = u->rows.start[t->i]; s < u->rows.start[t->i + 1]; s++)
        add(r, position(m, t->k, u->rows.index[s], t->j), -u->rows.value[s] * t->value);
    for (int s = v ? v->rows.start[t->j] : 0; v && s < v->rows.start[t->j + 1]; s++)
        add(r, position(m, t->k, t->i, v->rows.index[s]), -v->rows.value[s] * t->value);
}

/* - T (rho_u x rho_v) */
static void add_in_discrete(const Map *m, const Action *u, const Action *v, const RelnEntry *t,
                            Residual *r)
{
    for (int s = u->rows.start[t->i]; s < u->rows.start[t->i + 1]; s++) {
        const double x = -u->rows.value[s] * t->value;
        const int i = u->rows.index[s];
        if (!v)
            add(r, position(m, t->k, i, 0), x);
        for (int q = v ? v->rows.start[t->j] : 0; v && q < v->rows.start[t->j + 1]; q++)
            add(r, position(m, t->k, i, v->rows.index[q]), x * v->rows.value[q]);
    }
}

/* Residual of one generator over max(1, norms of the matrices involved). */
static double generator_residual(const Map *m, int generator, bool discrete, Residual *r)
{
    const Action *u = &m->u->actions[generator], *w = &m->w->actions[generator];
    const Action *v = m->v ? &m->v->actions[generator] : NULL;
    const double nv = v ? v->norm : discrete ? 1 : 0;
    const double in = discrete ? u->norm * nv : fmax(u->norm, nv);

    memset(r->key, 0, (r->mask + 1) * sizeof *r->key);
    memset(r->value, 0, (r->mask + 1) * sizeof *r->value);
    for (int e = 0; e < m->count; e++) {
        add_out(m, &w->columns, &m->entries[e], r);
        if (discrete)
            add_in_discrete(m, u, v, &m->entries[e], r);
        else
            add_in_lie(m, u, v, &m->entries[e], r);
    }
    return reln_mat_norm((ptrdiff_t)r->mask + 1, r->value) / fmax(1, fmax(w->norm, in));
}

/* Tables are at least half empty. */
static size_t table_size(size_t n_numbers)
{
    size_t size = 16;

    while (size < 2 * n_numbers)
        size *= 2;
    return size;
}

static RelnStatus make_table(RelnArena *scratch, const Map *m, int n_lie, int n, Residual *r)
{
    r->capacity = 0;
    for (int g = 0; g < n; g++) {
        const size_t size = table_size(spread(m, g, g >= n_lie));
        r->capacity = size > r->capacity ? size : r->capacity;
    }
    r->key = reln_arena_alloc(scratch, r->capacity, sizeof *r->key);
    r->value = reln_arena_alloc(scratch, r->capacity, sizeof *r->value);
    return r->key && r->value ? RELN_OK : RELN_ERR_NOMEM;
}

static RelnStatus worst_generator(RelnArena *scratch, const Map *m, double scale, RelnVerdict *out)
{
    const RelnGroup *group = m->u->group;
    const int n = group->n_lie + group->n_discrete;
    Residual r;

    RELN_TRY(make_table(scratch, m, group->n_lie, n, &r));
    for (int g = 0; g < n; g++) {
        const bool discrete = g >= group->n_lie;
        r.mask = table_size(spread(m, g, discrete)) - 1;
        const double residual = generator_residual(m, g, discrete, &r) / scale;
        if (out->generator >= 0 && residual <= out->residual)
            continue;
        out->residual = residual;
        out->discrete = discrete;
        out->generator = discrete ? g - group->n_lie : g;
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
    const Map m = {u, v, w, count, entries};
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
    status = worst_generator(&scratch, &m, norm > 0 ? norm : 1, verdict);
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
