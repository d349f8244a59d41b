/* combine.c -- duals, sums and products of reps. */
#include <string.h>

#include "rep/make.h"

struct Memo {
    Memo *next;
    MemoKind kind;
    const RelnRep *a, *b;
    int power;
    const RelnRep *result;
};

const RelnRep *reln_rep_recall(MemoKind kind, const RelnRep *a, const RelnRep *b, int power)
{
    for (const Memo *m = a->group->memos; m; m = m->next)
        if (m->kind == kind && m->a == a && m->b == b && m->power == power)
            return m->result;
    return NULL;
}

const RelnRep *reln_rep_remember(MemoKind kind, const RelnRep *a, const RelnRep *b, int power,
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

    c->made = r->exact;
    for (int i = 0; i < c->group->n_lie; i++)
        minus_transposed(c->dim, -1, r->lie + i * size, c->lie + i * size);
    for (int i = 0; i < c->group->n_discrete; i++) {
        minus_transposed(c->dim, 1, r->inverse + i * size, c->discrete + i * size);
        minus_transposed(c->dim, 1, r->discrete + i * size, c->inverse + i * size);
    }
    return RELN_OK;
}

/* Returns the writable rep behind a constant pointer, from the list of the group, so that its dual can be
 * stored in it. */
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
    dual = reln_rep_make(rep->group, rep->dim, fill_dual, rep, "dual(%s)", rep->name);
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

/* Writes the two blocks of a direct sum. */
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

    c->made = a->exact && b->exact;
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

    c->made = a->exact && b->exact;
    for (int i = 0; i < c->group->n_lie; i++)
        reln_kron_sum(a->dim, a->lie + i * na, b->dim, b->lie + i * nb, c->lie + i * size);
    for (int i = 0; i < c->group->n_discrete; i++) {
        reln_kron(a->dim, a->discrete + i * na, b->dim, b->discrete + i * nb, false,
                  c->discrete + i * size);
        reln_kron(a->dim, a->inverse + i * na, b->dim, b->inverse + i * nb, false,
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
    known = reln_rep_recall(SUM, a, b, 0);
    if (known)
        return known;
    return reln_rep_remember(
        SUM, a, b, 0,
        reln_rep_make(a->group, a->dim + b->dim, fill_sum, &given, "%s+%s", a->name, b->name));
}

/* Sums are put in parentheses inside products. */
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
    known = reln_rep_recall(PRODUCT, a, b, 0);
    if (known)
        return known;
    if (__builtin_mul_overflow(a->dim, b->dim, &dim)) {
        reln_fail(a->group->ctx, RELN_ERR_UNSUPPORTED, "%d times %d coordinates in a product",
                  a->dim, b->dim);
        return NULL;
    }
    return reln_rep_remember(PRODUCT, a, b, 0,
                             reln_rep_make(a->group, dim, fill_product, &given, "%s%s%s*%s%s%s",
                                           open_sum(a), a->name, close_sum(a), open_sum(b), b->name,
                                           close_sum(b)));
}
