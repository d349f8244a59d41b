/* powers.c -- symmetric and antisymmetric powers of a rep: coordinates are tuples of its coordinates. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "rep/make.h"

enum { MAX_POWER = 16 };

/* A Power lists index tuples in order: i1 <= i2 <= ... or i1 < i2 < ... */
typedef struct Power {
    const RelnRep *rep;
    int power, count;
    bool symmetric;
    int *tuples; /* (count, power) */
} Power;

/* Advances t to the next tuple; returns false past the last. */
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

/* Sorts t and returns its row; *sign is the sign of the permutation, 0 if an antisymmetric tuple repeats an
 * index. */
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

/* Derivative of x_i1 x_i2 ... : one factor after another is replaced by its image. */
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

/* A Poly is a product of linear forms: the coefficient of each tuple, and the list of its tuples. */
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

/* to = from * sum_j line_j x_j; the tuples of `from` are one shorter than those of p. Empties `from`. */
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

/* Row i1 i2 ... is (g x)_i1 (g x)_i2 ..., expanded factor by factor. level[s] has the tuples of length s. */
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

/* Returns the binomial coefficient n over k; -1 if it exceeds the limit of a rep. */
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

/* Makes the tuples of every length up to the power, including the empty one, and memory for products of their
 * forms. */
static RelnStatus power_levels(RelnArena *scratch, const Power *p, Power *level, Poly poly[2])
{
    int most = 1;

    for (int s = 0; s <= p->power; s++) {
        level[s] = (Power){p->rep, s, count_tuples(p->rep, s, p->symmetric), p->symmetric, NULL};
        assert(level[s].count > 0); /* at most C(20,10), because the last level fits into a rep */
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

    c->made = p.rep->exact;
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
    const RelnRep *known = reln_rep_recall(kind, rep, NULL, power);

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
    return reln_rep_remember(
        kind, rep, NULL, power,
        reln_rep_make(rep->group, p.count, fill_power, &p, "%s%d(%s)", name, power, rep->name));
}

const RelnRep *reln_rep_symmetric(const RelnRep *rep, int power)
{
    return rep ? make_power(rep, power, true) : NULL;
}

const RelnRep *reln_rep_antisymmetric(const RelnRep *rep, int power)
{
    return rep ? make_power(rep, power, false) : NULL;
}
