/* closed_exact.c -- spans of matrices that are fractions: closed modulo a prime, lifted to the rationals, and proved.
 *
 * Let V be the closed span over the rationals, and R the d matrices that are reconstructed from its image modulo a prime.
 * Words that are independent modulo the prime are independent, so dim V >= d. Integer arithmetic verifies that span R
 * contains the given matrices and is closed, so span R contains V, and dim V <= d. Hence V = span R.
 */
#include <stdlib.h>
#include <string.h>

#include "rep/closed.h"
#include "rep/exact.h"

/* Bound on the numbers of a reconstructed row, and on the common multiple of the leading numbers. */
#define LARGEST_NUMBER ((int64_t)1 << 31)
#define LARGEST_MULTIPLE ((int64_t)1 << 40)

/* ---- residues --------------------------------------------------------------------------------------------- */

static void mod_product(Space *s, const Word *a, const Word *b, Word *c)
{
    const int n = s->n;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            c[i * n + j].residue = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            const uint64_t f = a[i * n + k].residue;

            for (int j = 0; j < n && f != 0; j++)
                c[i * n + j].residue =
                    reln_mod_add(c[i * n + j].residue, reln_mod_mul(f, b[k * n + j].residue));
        }
}

static void mod_add(Space *s, Word *a, bool minus, const Word *b)
{
    for (int e = 0; e < s->n * s->n; e++)
        a[e].residue =
            reln_mod_add(a[e].residue, minus ? reln_mod_negate(b[e].residue) : b[e].residue);
}

static bool mod_has_trace(const Space *s, const Word *a)
{
    uint64_t trace = 0;

    for (int i = 0; i < s->n; i++)
        trace = reln_mod_add(trace, a[i * (s->n + 1)].residue);
    return trace != 0;
}

/* z -= f row */
static void mod_take(const Space *s, Word *z, uint64_t f, const Word *row)
{
    const uint64_t minus = reln_mod_negate(f);

    for (int e = 0; e < s->n * s->n; e++)
        if (row[e].residue != 0)
            z[e].residue = reln_mod_add(z[e].residue, reln_mod_mul(minus, row[e].residue));
}

/* A row is 0 at the pivots of the rows before it, so one pass in their order is enough. */
static RelnStatus mod_insert(Space *s, Word *z, bool *grew)
{
    const int n2 = s->n * s->n;
    uint64_t f;
    int at = 0;

    for (int t = 0; t < s->count; t++)
        if (z[s->pivots[t]].residue != 0)
            mod_take(s, z, z[s->pivots[t]].residue, reln_space_row(s, t));
    while (at < n2 && z[at].residue == 0)
        at++;
    if (at == n2)
        return RELN_OK;
    if (s->count == s->capacity)
        return reln_fail(s->arena->ctx, RELN_ERR_UNSUPPORTED,
                         "the closed span has more than %d dimensions", s->capacity);
    f = reln_mod_inverse(z[at].residue);
    for (int e = 0; e < n2; e++)
        reln_space_row(s, s->count)[e].residue = reln_mod_mul(f, z[e].residue);
    s->pivots[s->count++] = at;
    *grew = true;
    return RELN_OK;
}

static const Field residues = {mod_product, mod_add, mod_has_trace, mod_insert};

/* Makes each row 0 at the pivots of later rows, too. */
static void reduce_rows(const Space *s)
{
    for (int t = s->count - 2; t >= 0; t--)
        for (int u = t + 1; u < s->count; u++) {
            const uint64_t f = reln_space_row(s, t)[s->pivots[u]].residue;

            if (f != 0)
                mod_take(s, reln_space_row(s, t), f, reln_space_row(s, u));
        }
}

/* ---- whole numbers ---------------------------------------------------------------------------------------- */

static void whole_product(Space *s, const Word *a, const Word *b, Word *c)
{
    const int n = s->n;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            Wide sum = 0, term;

            for (int k = 0; k < n; k++)
                s->failed = s->failed ||
                            __builtin_mul_overflow(a[i * n + k].whole, b[k * n + j].whole, &term) ||
                            __builtin_add_overflow(sum, term, &sum);
            c[i * n + j].whole = sum;
        }
}

static void whole_add(Space *s, Word *a, bool minus, const Word *b)
{
    for (int e = 0; e < s->n * s->n; e++)
        s->failed =
            s->failed || (minus ? __builtin_sub_overflow(a[e].whole, b[e].whole, &a[e].whole)
                                : __builtin_add_overflow(a[e].whole, b[e].whole, &a[e].whole));
}

static bool whole_has_trace(const Space *s, const Word *a)
{
    Wide trace = 0;

    for (int i = 0; i < s->n; i++)
        trace += a[i * (s->n + 1)].whole;
    return trace != 0;
}

/* Tests whether z is in the span; no row is added. It is iff m z = sum_t z[pivot_t] (m / lead_t) row_t, with
 * m the common multiple of the leading numbers. A row is 0 at the pivots of all others, so subtracting one
 * leaves the other factors unchanged. */
static RelnStatus whole_insert(Space *s, Word *z, bool *grew)
{
    const int n2 = s->n * s->n;

    (void)grew;
    for (int e = 0; e < n2 && !s->failed; e++)
        s->failed = __builtin_mul_overflow(z[e].whole, s->common, &z[e].whole);
    for (int t = 0; t < s->count && !s->failed; t++) {
        const Word *row = reln_space_row(s, t);
        const Wide f = z[s->pivots[t]].whole / row[s->pivots[t]].whole;

        for (int e = 0; e < n2 && f != 0; e++) {
            Wide term;

            s->failed = s->failed || __builtin_mul_overflow(f, row[e].whole, &term) ||
                        __builtin_sub_overflow(z[e].whole, term, &z[e].whole);
        }
    }
    for (int e = 0; e < n2; e++)
        s->failed = s->failed || z[e].whole != 0;
    return RELN_OK;
}

static const Field wholes = {whole_product, whole_add, whole_has_trace, whole_insert};

static bool common_denominator(int count, const Word *row, int64_t *out)
{
    *out = 1;
    for (int e = 0; e < count; e++) {
        int64_t num, den;

        if (!reln_mod_reconstruct(row[e].residue, &num, &den))
            return false;
        *out *= den / reln_gcd(*out, den);
        if (*out > LARGEST_NUMBER)
            return false;
    }
    return true;
}

/* Writes a row's fractions times their common denominator. They have no common factor, since the leading
 * number was 1. */
static bool write_row(int count, const Word *row, Word *out)
{
    int64_t common;

    if (!common_denominator(count, row, &common))
        return false;
    for (int e = 0; e < count; e++) {
        int64_t num = 0, den = 1;

        (void)reln_mod_reconstruct(row[e].residue, &num, &den);
        if (__builtin_mul_overflow(num, common / den, &num) || num > LARGEST_NUMBER ||
            num < -LARGEST_NUMBER)
            return false;
        out[e].whole = num;
    }
    return true;
}

/* Writes the rows as whole numbers, sorted by pivot. Returns false if a number is too large. */
static bool lift_rows(const Space *from, Space *to)
{
    const int n2 = from->n * from->n;
    int64_t common = 1;

    for (int at = 0; at < n2; at++)
        for (int t = 0; t < from->count; t++)
            if (from->pivots[t] == at) {
                Word *row = reln_space_row(to, to->count);

                if (!write_row(n2, reln_space_row(from, t), row))
                    return false;
                common *= (int64_t)row[at].whole / reln_gcd(common, (int64_t)row[at].whole);
                if (common > LARGEST_MULTIPLE)
                    return false;
                to->pivots[to->count++] = at;
            }
    to->common = common;
    return true;
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

/* Reads matrices up to a factor, which does not change the span, as residues and as whole numbers. Returns
 * false if an entry is not a fraction. */
static RelnStatus read_matrices(RelnArena *arena, ReadNumber read, int count, int n,
                                const double *x, const Word **mod, const Word **whole, bool *good)
{
    const size_t n2 = (size_t)n * (size_t)n;
    Word *residue = reln_arena_alloc(arena, (size_t)count * n2, sizeof *residue);
    Word *number = reln_arena_alloc(arena, (size_t)count * n2, sizeof *number);
    int64_t *num = reln_arena_alloc(arena, n2, sizeof *num), den;

    if (!residue || !number || !num)
        return RELN_ERR_NOMEM;
    for (size_t i = 0; i < (size_t)count && *good; i++) {
        *good = reln_read_numbers(read, (ptrdiff_t)n2, x + i * n2, num, &den);
        for (size_t e = 0; e < n2 && *good; e++) {
            number[i * n2 + e].whole = num[e];
            residue[i * n2 + e].residue = reln_mod_fraction(num[e], 1);
        }
    }
    *mod = residue;
    *whole = number;
    return RELN_OK;
}

/* Returns whether gamma times the matrix read as its inverse is a multiple of the identity. */
static bool inverts(Space *s, const Word *gamma, const Word *inverse)
{
    const int n = s->n;

    whole_product(s, gamma, inverse, s->work);
    for (int e = 0; e < n * n; e++)
        s->failed = s->failed || s->work[e].whole != (e % (n + 1) == 0 ? s->work[0].whole : 0);
    return !s->failed && s->work[0].whole != 0;
}

static RelnStatus read_all(RelnArena *arena, const RelnGroup *g, const RelnClosing *of,
                           Closing *mod, Closing *whole, bool *good)
{
    *mod = *whole = (Closing){
        .count = of->count, .n_lie = g->n_lie, .n_discrete = g->n_discrete, .layers = of->layers};
    RELN_TRY(read_matrices(arena, reln_read_dyadic, of->count, g->n, of->matrices, &mod->matrices,
                           &whole->matrices, good));
    RELN_TRY(read_matrices(arena, reln_read_dyadic, g->n_lie, g->n, g->lie, &mod->lie, &whole->lie,
                           good));
    RELN_TRY(read_matrices(arena, reln_read_dyadic, g->n_discrete, g->n, g->discrete,
                           &mod->discrete, &whole->discrete, good));
    return read_matrices(arena, reln_read_fraction, g->n_discrete, g->n, g->inverse, &mod->inverse,
                         &whole->inverse, good);
}

/* ---- closing and proving ---------------------------------------------------------------------------------- */

static void put_ones(Space *s, Word one)
{
    for (int i = 0; i < s->n; i++)
        s->one[i * (s->n + 1)] = one;
}

static RelnStatus write_basis(RelnArena *arena, const Space *s, double **basis)
{
    const ptrdiff_t count = (ptrdiff_t)s->count * s->n * s->n;

    *basis = reln_arena_alloc(arena, (size_t)count, sizeof **basis);
    for (ptrdiff_t e = 0; e < count && *basis; e++)
        (*basis)[e] = (double)s->rows[e].whole;
    return *basis ? RELN_OK : RELN_ERR_NOMEM;
}

/* Verifies that the span of the whole rows is closed. The span of all matrices of a size needs no check. */
static RelnStatus prove(Space *s, const Closing *of, bool *exact)
{
    const ptrdiff_t n2 = (ptrdiff_t)s->n * s->n;

    for (int i = 0; i < of->n_discrete && *exact; i++)
        *exact = inverts(s, of->discrete + i * n2, of->inverse + i * n2);
    if (*exact && s->count < n2) {
        RELN_TRY(reln_space_close(s, of));
        *exact = !s->failed;
    }
    return RELN_OK;
}

RelnStatus reln_closed_exact(RelnArena *arena, const RelnGroup *group, const RelnClosing *of,
                             int *dim, double **basis, bool *exact)
{
    Closing mod, whole;
    Space s, z;

    *exact = true;
    RELN_TRY(read_all(arena, group, of, &mod, &whole, exact));
    if (!*exact)
        return RELN_OK;
    RELN_TRY(reln_space_init(arena, &residues, group->n, &s));
    RELN_TRY(reln_space_init(arena, &wholes, group->n, &z));
    put_ones(&s, (Word){.residue = 1});
    put_ones(&z, (Word){.whole = 1});
    RELN_TRY(reln_space_close(&s, &mod));
    reduce_rows(&s);
    *exact = lift_rows(&s, &z);
    if (*exact)
        RELN_TRY(prove(&z, &whole, exact));
    *dim = z.count;
    return *exact ? write_basis(arena, &z, basis) : RELN_OK;
}
