/* exact.c -- reads doubles as fractions, and verifies maps in integers. */
#include "rep/exact.h"

#include <math.h>
#include <string.h>

/* Bound on the terms of fractions that are read: numerators, and denominators of a whole matrix. */
#define LARGEST_TERM ((int64_t)1 << 40)
#define LARGEST_COMMON ((int64_t)1 << 24)

enum { DYADIC_BITS = 20 };

/* ---- reading ---------------------------------------------------------------------------------------------- */

bool reln_read_dyadic(double x, int64_t *num, int64_t *den)
{
    double y = x;

    if (!(fabs(x) <= (double)(LARGEST_TERM >> DYADIC_BITS)))
        return false;
    for (int bits = 0; bits <= DYADIC_BITS; bits++, y *= 2)
        if (y == nearbyint(y)) {
            *num = (int64_t)y;
            *den = (int64_t)1 << bits;
            return true;
        }
    return false;
}

/* Uses continued fractions: returns the first convergent that is near enough. */
static bool read_near(double x, double tolerance, int64_t *num, int64_t *den)
{
    int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
    double rest = x;

    if (!(fabs(x) <= (double)(LARGEST_TERM >> DYADIC_BITS)))
        return false;
    for (;;) {
        const double whole = floor(rest);
        const int64_t a = (int64_t)whole, p = a * p1 + p0, q = a * q1 + q0;

        if (q > RELN_FRACTION_DENOMINATOR)
            return false;
        p0 = p1;
        q0 = q1;
        p1 = p;
        q1 = q;
        if (fabs(x - (double)p / (double)q) <= tolerance)
            break;
        if (rest - whole < 1e-9) /* the next term would exceed every allowed denominator */
            return false;
        rest = 1 / (rest - whole);
    }
    *num = p1;
    *den = q1;
    return true;
}

bool reln_read_fraction(double x, int64_t *num, int64_t *den)
{
    return read_near(x, RELN_FRACTION_ROUNDING * fmax(1, fabs(x)), num, den);
}

bool reln_read_ratio(double x, int64_t *num, int64_t *den)
{
    return read_near(x, RELN_RATIO_ROUNDING * fabs(x), num, den);
}

bool reln_read_numbers(ReadNumber read, ptrdiff_t count, const double *x, int64_t *num,
                       int64_t *den)
{
    int64_t common = 1;

    for (ptrdiff_t e = 0; e < count; e++) {
        int64_t q = 1;
        if (!read(x[e], &num[e], &q))
            return false;
        common *= q / reln_gcd(common, q);
        if (common > LARGEST_COMMON)
            return false;
    }
    for (ptrdiff_t e = 0; e < count; e++) {
        int64_t q = 1;
        if (!read(x[e], &num[e], &q) || __builtin_mul_overflow(num[e], common / q, &num[e]) ||
            num[e] > LARGEST_TERM || num[e] < -LARGEST_TERM)
            return false;
    }
    *den = common;
    return true;
}

bool reln_all_dyadic(ptrdiff_t count, const double *x)
{
    int64_t num, den;

    for (ptrdiff_t e = 0; e < count; e++)
        if (!reln_read_dyadic(x[e], &num, &den))
            return false;
    return true;
}

/* *good is false if an entry is not a fraction. */
static RelnStatus exact_action(RelnArena *arena, int dim, const Action *a, bool made,
                               ExactAction *out, bool *good)
{
    const int count = a->rows.start[dim];
    const ReadNumber read = made ? reln_read_fraction : reln_read_dyadic;
    int64_t *rows = reln_arena_alloc(arena, (size_t)count, sizeof *rows);
    int64_t *columns = reln_arena_alloc(arena, (size_t)count, sizeof *columns);
    int64_t den = 1;

    if (!rows || !columns)
        return RELN_ERR_NOMEM;
    *good = reln_read_numbers(read, count, a->rows.value, rows, &den) &&
            reln_read_numbers(read, count, a->columns.value, columns, &den);
    *out = (ExactAction){den, rows, columns};
    return RELN_OK;
}

RelnStatus reln_exact_actions(const RelnRep *rep, bool made, const ExactAction **out)
{
    RelnGroup *g = rep->group;
    const int n = g->n_lie + g->n_discrete;
    ExactAction *actions = reln_arena_alloc(&g->arena, (size_t)n, sizeof *actions);
    bool good = true;

    *out = NULL;
    if (!actions)
        return RELN_ERR_NOMEM;
    for (int a = 0; a < n && good; a++)
        RELN_TRY(exact_action(&g->arena, rep->dim, &rep->actions[a], made, &actions[a], &good));
    *out = good ? actions : NULL;
    return RELN_OK;
}

/* ---- sums of integers ------------------------------------------------------------------------------------- */

/* An IntSum is an open hash table from position to value that grows. */
typedef struct IntSum {
    RelnArena *arena;
    uint64_t *key; /* position + 1; 0: free */
    Wide *value;
    size_t slots, used;
    bool overflow;
} IntSum;

static RelnStatus make_table(IntSum *s, size_t slots)
{
    s->key = reln_arena_alloc(s->arena, slots, sizeof *s->key);
    s->value = reln_arena_alloc(s->arena, slots, sizeof *s->value);
    s->slots = slots;
    s->used = 0;
    return s->key && s->value ? RELN_OK : RELN_ERR_NOMEM;
}

static size_t slot_of(const IntSum *s, uint64_t position)
{
    size_t slot = (size_t)((position * 0x9E3779B97F4A7C15ULL) >> 20) & (s->slots - 1);

    while (s->key[slot] != 0 && s->key[slot] != position + 1)
        slot = (slot + 1) & (s->slots - 1);
    return slot;
}

static RelnStatus grow(IntSum *s)
{
    const IntSum old = *s;

    RELN_TRY(make_table(s, 4 * old.slots));
    for (size_t e = 0; e < old.slots; e++)
        if (old.key[e] != 0) {
            const size_t slot = slot_of(s, old.key[e] - 1);
            s->key[slot] = old.key[e];
            s->value[slot] = old.value[e];
            s->used++;
        }
    return RELN_OK;
}

static RelnStatus add(IntSum *s, uint64_t position, Wide x, int64_t y)
{
    Wide product;
    size_t slot;

    if (2 * s->used >= s->slots)
        RELN_TRY(grow(s));
    slot = slot_of(s, position);
    s->used += s->key[slot] == 0;
    s->key[slot] = position + 1;
    if (__builtin_mul_overflow(x, y, &product) ||
        __builtin_add_overflow(s->value[slot], product, &s->value[slot]))
        s->overflow = true;
    return RELN_OK;
}

/* Returns whether every value is zero, and empties the sum. */
static bool take_zero(IntSum *s)
{
    bool zero = !s->overflow;

    for (size_t e = 0; e < s->slots; e++) {
        zero = zero && s->value[e] == 0;
        s->key[e] = 0;
        s->value[e] = 0;
    }
    s->used = 0;
    return zero;
}

/* ---- verifying -------------------------------------------------------------------------------------------- */

typedef struct Verifier {
    const RelnRep *u, *v, *w;
    int count;
    const RelnEntry *entries;
    const int64_t *num;
    IntSum half, sum;
} Verifier;

static uint64_t position(const Verifier *c, int k, int i, int j)
{
    const uint64_t nv = c->v ? (uint64_t)c->v->dim : 1;

    return ((uint64_t)k * (uint64_t)c->u->dim + (uint64_t)i) * nv + (uint64_t)j;
}

/* f rho_w T: entry (k,i,j) contributes to column k of rho_w. */
static RelnStatus add_out(Verifier *c, int generator, const RelnEntry *t, Wide x)
{
    const Sparse *columns = &c->w->actions[generator].columns;
    const int64_t *num = c->w->exact[generator].columns;

    for (int e = columns->start[t->k]; e < columns->start[t->k + 1]; e++)
        RELN_TRY(add(&c->sum, position(c, columns->index[e], t->i, t->j), x, num[e]));
    return RELN_OK;
}

/* x T (rho_u x 1): entry (k,i,j) contributes to row i of rho_u. */
static RelnStatus add_u(Verifier *c, int generator, const RelnEntry *t, Wide x, IntSum *s)
{
    const Sparse *rows = &c->u->actions[generator].rows;
    const int64_t *num = c->u->exact[generator].rows;

    for (int e = rows->start[t->i]; e < rows->start[t->i + 1]; e++)
        RELN_TRY(add(s, position(c, t->k, rows->index[e], t->j), x, num[e]));
    return RELN_OK;
}

static RelnStatus add_v(Verifier *c, int generator, const RelnEntry *t, Wide x)
{
    const Sparse *rows = &c->v->actions[generator].rows;
    const int64_t *num = c->v->exact[generator].rows;

    for (int e = rows->start[t->j]; e < rows->start[t->j + 1]; e++)
        RELN_TRY(add(&c->sum, position(c, t->k, t->i, rows->index[e]), x, num[e]));
    return RELN_OK;
}

/* D (rho_w T - T (rho_u x 1 + 1 x rho_v)), D the product of the denominators */
static RelnStatus lie_residual(Verifier *c, int g)
{
    const Wide du = c->u->exact[g].den, dv = c->v ? c->v->exact[g].den : 1, dw = c->w->exact[g].den;

    for (int e = 0; e < c->count; e++) {
        const RelnEntry *t = &c->entries[e];
        const Wide x = c->num[e];
        RELN_TRY(add_out(c, g, t, x * (du * dv)));
        RELN_TRY(add_u(c, g, t, -x * (dw * dv), &c->sum));
        if (c->v)
            RELN_TRY(add_v(c, g, t, -x * (dw * du)));
    }
    return RELN_OK;
}

/* D (rho_w T - T (rho_u x rho_v)), computed one side after the other */
static RelnStatus discrete_residual(Verifier *c, int g)
{
    const Wide du = c->u->exact[g].den, dv = c->v ? c->v->exact[g].den : 1, dw = c->w->exact[g].den;

    for (int e = 0; e < c->count; e++) {
        RELN_TRY(add_out(c, g, &c->entries[e], c->num[e] * (du * dv)));
        RELN_TRY(add_u(c, g, &c->entries[e], c->v ? c->num[e] : -c->num[e] * dw,
                       c->v ? &c->half : &c->sum));
    }
    for (size_t e = 0; c->v && e < c->half.slots; e++)
        if (c->half.key[e] != 0) {
            const uint64_t at = c->half.key[e] - 1, nv = (uint64_t)c->v->dim;
            const uint64_t nu = (uint64_t)c->u->dim;
            const RelnEntry t = {(int)(at / nv % nu), (int)(at % nv), (int)(at / nv / nu), 0};
            Wide x;
            if (__builtin_mul_overflow(c->half.value[e], -dw, &x))
                c->sum.overflow = true;
            else
                RELN_TRY(add_v(c, g, &t, x));
        }
    if (c->v && c->half.overflow)
        c->sum.overflow = true;
    if (c->v)
        (void)take_zero(&c->half);
    return RELN_OK;
}

static RelnStatus verify(RelnArena *scratch, Verifier *c, bool *holds)
{
    const RelnGroup *g = c->u->group;
    size_t slots = 64;

    while (slots < 8 * (size_t)c->count)
        slots *= 2;
    c->sum.arena = c->half.arena = scratch;
    RELN_TRY(make_table(&c->sum, slots));
    RELN_TRY(make_table(&c->half, c->v && g->n_discrete > 0 ? slots : 1));
    for (int i = 0; i < g->n_lie + g->n_discrete && *holds; i++) {
        RELN_TRY(i < g->n_lie ? lie_residual(c, i) : discrete_residual(c, i));
        *holds = take_zero(&c->sum);
    }
    return RELN_OK;
}

RelnStatus reln_exact_verify(const RelnRep *u, const RelnRep *v, const RelnRep *w, int count,
                             const RelnEntry *entries, const int64_t *num, bool *holds)
{
    Verifier c = {.u = u, .v = v, .w = w, .count = count, .entries = entries, .num = num};
    RelnArena scratch;
    RelnStatus status;

    *holds = u->exact && w->exact && (!v || v->exact);
    for (int e = 0; e < count && *holds; e++) /* bounds the numerators, so that a product with denominators
                                               * fits */
        *holds = num[e] < INT64_MAX / 2 && num[e] > -INT64_MAX / 2;
    if (!*holds)
        return RELN_OK;
    reln_arena_init(&scratch, u->group->ctx);
    status = verify(&scratch, &c, holds);
    reln_arena_clear(&scratch);
    return status;
}
