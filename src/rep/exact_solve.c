/* exact_solve.c -- the invariant tensors of three legs as fractions: a kernel modulo a prime, lifted to the rationals.
 *
 * The rank of integer equations modulo a prime is at most their rank, so there are no more solutions over the rationals than
 * modulo the prime. The caller verifies every reconstructed row in integers. The rows are independent, because their leading
 * ones are in different places. So the rows found are all solutions.
 */
#include <stdlib.h>
#include <string.h>

#include "rep/exact.h"

/* Bounds on the multiplications for one triple of blocks, and on its unknowns. */
#define BUDGET 3e8
enum { MAX_UNKNOWNS = 1 << 20 };
/* Bound on the numerators of a basis: 512 MiB. */
#define MAX_NUMBERS ((ptrdiff_t)1 << 27)

/* Columns holds the columns of one generator on one leg, as residues, in the coordinates of the block. */
typedef struct Columns {
    int *start, *index;
    uint64_t *value;
} Columns;

typedef struct Tensors {
    int size[3], stride[3];
    int n_lie;
    const int *order; /* order of the generators; Lie generators are numbered first */
    Columns *columns[3];
} Tensors;

/* ---- the generators on tensors ---------------------------------------------------------------------------- */

static void apply_lie(const Tensors *t, int generator, int at, uint64_t f, ModSum *sum)
{
    for (int l = 0; l < 3; l++) {
        const Columns *c = &t->columns[l][generator];
        const int a = at / t->stride[l] % t->size[l], rest = at - a * t->stride[l];

        for (int e = c->start[a]; e < c->start[a + 1]; e++)
            reln_mod_put(sum, rest + c->index[e] * t->stride[l], reln_mod_mul(f, c->value[e]));
    }
}

/* gamma t - t */
static void apply_discrete(const Tensors *t, int generator, int at, uint64_t f, ModSum *sum)
{
    const Columns *x = &t->columns[0][generator], *y = &t->columns[1][generator];
    const Columns *z = &t->columns[2][generator];
    const int a = at / t->stride[0], b = at / t->stride[1] % t->size[1], c = at % t->size[2];

    reln_mod_put(sum, at, reln_mod_negate(f));
    for (int i = x->start[a]; i < x->start[a + 1]; i++)
        for (int j = y->start[b]; j < y->start[b + 1]; j++)
            for (int k = z->start[c]; k < z->start[c + 1]; k++)
                reln_mod_put(sum,
                             x->index[i] * t->stride[0] + y->index[j] * t->stride[1] + z->index[k],
                             reln_mod_mul(f, reln_mod_mul(x->value[i],
                                                          reln_mod_mul(y->value[j], z->value[k]))));
}

static void apply(const void *self, int step, int at, uint64_t f, ModSum *sum)
{
    const Tensors *t = self;
    const int generator = t->order[step];

    if (generator < t->n_lie)
        apply_lie(t, generator, at, f, sum);
    else
        apply_discrete(t, generator, at, f, sum);
}

static RelnStatus block_columns(RelnArena *arena, const ExactLeg *leg, const int *local,
                                int generator, Columns *out)
{
    const Sparse *s = &leg->rep->actions[generator].columns;
    const ExactAction *exact = &leg->rep->exact[generator];
    const uint64_t inverse = reln_mod_fraction(1, exact->den);
    int count = 0;

    for (int a = 0; a < leg->size; a++)
        count += s->start[leg->coords[a] + 1] - s->start[leg->coords[a]];
    out->start = reln_arena_alloc(arena, (size_t)leg->size + 1, sizeof *out->start);
    out->index = reln_arena_alloc(arena, (size_t)count, sizeof *out->index);
    out->value = reln_arena_alloc(arena, (size_t)count, sizeof *out->value);
    if (!out->start || !out->index || !out->value)
        return RELN_ERR_NOMEM;
    count = 0;
    for (int a = 0; a < leg->size; a++) {
        for (int e = s->start[leg->coords[a]]; e < s->start[leg->coords[a] + 1]; e++) {
            out->index[count] = local[s->index[e]];
            out->value[count++] = reln_mod_mul(reln_mod_fraction(exact->columns[e], 1), inverse);
        }
        out->start[a + 1] = count;
    }
    return RELN_OK;
}

static RelnStatus leg_columns(RelnArena *arena, const ExactLeg *leg, Columns **out)
{
    const RelnGroup *g = leg->rep->group;
    const int n = g->n_lie + g->n_discrete;
    int *local = reln_arena_alloc(arena, (size_t)leg->rep->dim, sizeof *local);

    *out = reln_arena_alloc(arena, (size_t)n, sizeof **out);
    if (!local || !*out)
        return RELN_ERR_NOMEM;
    for (int a = 0; a < leg->size; a++)
        local[leg->coords[a]] = a;
    for (int i = 0; i < n; i++)
        RELN_TRY(block_columns(arena, leg, local, i, &(*out)[i]));
    return RELN_OK;
}

/* ---- the order of the generators -------------------------------------------------------------------------- */

static bool is_diagonal(int n, const double *m)
{
    for (int i = 0; i < n * n; i++)
        if (m[i] != 0 && i % (n + 1) != 0)
            return false;
    return true;
}

static bool commute(int n, const double *x, const double *y)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += x[i * n + k] * y[k * n + j] - y[i * n + k] * x[k * n + j];
            if (sum != 0)
                return false;
        }
    return true;
}

/* Diagonal generators come first: their kernels are spanned by unit tensors. Then come Lie generators that
 * commute with all before them: together they span a torus, which leaves few unknowns. */
static RelnStatus order_generators(RelnArena *arena, const RelnGroup *g, int **out)
{
    const int n = g->n_lie + g->n_discrete, n2 = g->n * g->n;
    bool *taken = reln_arena_alloc(arena, (size_t)n, sizeof *taken);
    int *order = reln_arena_alloc(arena, (size_t)n, sizeof *order), count = 0;

    if (!taken || !order)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < n; i++)
        if (is_diagonal(g->n, i < g->n_lie ? g->lie + i * n2 : g->discrete + (i - g->n_lie) * n2)) {
            taken[i] = true;
            order[count++] = i;
        }
    for (int i = 0; i < g->n_lie; i++) {
        bool fits = !taken[i];
        for (int s = 0; s < count && fits; s++)
            fits = order[s] >= g->n_lie || commute(g->n, g->lie + order[s] * n2, g->lie + i * n2);
        taken[i] = taken[i] || fits;
        if (fits)
            order[count++] = i;
    }
    for (int i = 0; i < n; i++)
        if (!taken[i])
            order[count++] = i;
    *out = order;
    return RELN_OK;
}

/* ---- back to fractions ------------------------------------------------------------------------------------ */

static bool common_denominator(const ModVector *row, int64_t *out)
{
    int64_t common = 1;

    for (int e = 0; e < row->count; e++) {
        int64_t num, den;
        if (!reln_mod_reconstruct(row->value[e], &num, &den))
            return false;
        common *= den / reln_gcd(common, den);
        if (common > INT32_MAX)
            return false;
    }
    *out = common;
    return true;
}

/* Writes a row as fractions with terms of up to 31 bits. */
static bool write_row(const ModVector *row, int32_t *num, int32_t *den)
{
    int64_t common = 1;

    if (!common_denominator(row, &common))
        return false;
    *den = (int32_t)common;
    for (int e = 0; e < row->count; e++) {
        int64_t p = 0, q = 1;
        (void)reln_mod_reconstruct(row->value[e], &p, &q);
        if (__builtin_mul_overflow(p, common / q, &p) || p > INT32_MAX || p < -INT32_MAX)
            return false;
        num[row->at[e]] = (int32_t)p;
    }
    return true;
}

static RelnStatus write_rows(RelnArena *arena, int count, ptrdiff_t length, const ModVector *rows,
                             ExactRows *out, bool *solved)
{
    if (count > MAX_NUMBERS / length)
        return reln_fail(arena->ctx, RELN_ERR_UNSUPPORTED,
                         "%d equivariant maps of %td entries each: more than 512 MiB", count,
                         length);
    out->count = count;
    out->num = reln_arena_alloc(arena, (size_t)(count * length), sizeof *out->num);
    out->den = reln_arena_alloc(arena, (size_t)count, sizeof *out->den);
    out->pivots = reln_arena_alloc(arena, (size_t)count, sizeof *out->pivots);
    if (!out->num || !out->den || !out->pivots)
        return RELN_ERR_NOMEM;
    for (int t = 0; t < count && *solved; t++) {
        out->pivots[t] = rows[t].at[0];
        *solved = write_row(&rows[t], out->num + t * length, &out->den[t]);
    }
    return RELN_OK;
}

static RelnStatus solve(RelnArena *scratch, RelnArena *arena, const ExactLeg legs[3],
                        ExactRows *out, bool *solved)
{
    const RelnGroup *g = legs[0].rep->group;
    Tensors t = {.n_lie = g->n_lie};
    ModProblem p = {
        .n_generators = g->n_lie + g->n_discrete, .apply = apply, .self = &t, .budget = BUDGET};
    ModVector *rows = NULL;
    int *order = NULL, count = 0;

    for (int l = 2, stride = 1; l >= 0; stride *= legs[l--].size) {
        t.size[l] = legs[l].size;
        t.stride[l] = stride;
        RELN_TRY(leg_columns(scratch, &legs[l], &t.columns[l]));
    }
    p.length = t.size[0] * t.stride[0];
    RELN_TRY(order_generators(scratch, g, &order));
    t.order = order;
    RELN_TRY(reln_mod_kernel(scratch, &p, &count, &rows, solved));
    return *solved ? write_rows(arena, count, p.length, rows, out, solved) : RELN_OK;
}

RelnStatus reln_exact_invariants(RelnArena *arena, const ExactLeg legs[3], ExactRows *out,
                                 bool *solved)
{
    RelnArena scratch;
    RelnStatus status;

    *out = (ExactRows){0};
    *solved = (double)legs[0].size * legs[1].size * legs[2].size <= MAX_UNKNOWNS;
    for (int l = 0; l < 3; l++)
        *solved = *solved && legs[l].rep->exact;
    if (!*solved)
        return RELN_OK;
    reln_arena_init(&scratch, arena->ctx);
    status = solve(&scratch, arena, legs, out, solved);
    reln_arena_clear(&scratch);
    return status;
}
