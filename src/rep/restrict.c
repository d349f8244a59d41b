/* restrict.c -- a rep restricted to a subgroup, whose generators are located in the group. */
#include <math.h>

#include "reln/matrix.h"
#include "rep/make.h"
#include "tensor/linalg.h"

enum { WORD_LIMIT = 64, LOG_ATTEMPTS = 4 };

/* A Search holds the memory of the search for h = word * exp(A) * exp(X). */
typedef struct Search {
    RelnCtx *ctx;
    const RelnRep *rep;
    const Span *span;
    Closure words;
    double *rho_words; /* (words, K, K) */
    double *a, *x;     /* (n_lie): coordinates of A and X */
    double *small[4];  /* (n, n) */
    double *large[3];  /* (K, K) */
} Search;

static RelnStatus search_room(Candidate *c, const RelnRep *rep, Search *s)
{
    const RelnGroup *g = rep->group;
    const size_t n2 = (size_t)square(g->n), size = (size_t)square(rep->dim);
    bool fine = true;

    *s = (Search){.ctx = c->group->ctx, .rep = rep};
    RELN_TRY(reln_group_span(rep->group, &s->span));
    RELN_TRY(reln_closure(c->scratch, g->n, g->n_discrete, g->discrete, WORD_LIMIT, &s->words));
    s->rho_words = reln_arena_alloc(c->scratch, (size_t)s->words.count * size, sizeof(double));
    s->a = reln_arena_alloc(c->scratch, (size_t)g->n_lie, sizeof(double));
    s->x = reln_arena_alloc(c->scratch, (size_t)g->n_lie, sizeof(double));
    for (int i = 0; i < 4; i++)
        fine = (s->small[i] = reln_arena_alloc(c->scratch, n2, sizeof(double))) && fine;
    for (int i = 0; i < 3; i++)
        fine = (s->large[i] = reln_arena_alloc(c->scratch, size, sizeof(double))) && fine;
    return fine && s->rho_words && s->a && s->x ? RELN_OK : RELN_ERR_NOMEM;
}

static void fill_rho_words(const Search *s)
{
    const ptrdiff_t size = square(s->rep->dim);

    reln_mat_identity(s->rep->dim, s->rho_words);
    for (int e = 1; e < s->words.count; e++)
        reln_mat_mul(s->rep->dim, s->rep->dim, s->rep->dim,
                     s->rep->discrete + s->words.generator[e] * size,
                     s->rho_words + s->words.parent[e] * size, s->rho_words + e * size);
}

/* x: coordinates of log(exp(-A) word^-1 h). The first attempt has A = 0; further attempts avoid elements
 * without a principal logarithm, such as half turns. *found says whether it lies in the span. */
static RelnStatus try_word(const Search *s, int word, int attempt, const double *h, bool *found)
{
    const RelnGroup *g = s->rep->group;
    const int n = g->n;
    RelnRng rng = reln_rng(0x776f7264ULL, (uint64_t)attempt);
    RelnStatus status;
    Kept before;

    *found = false;
    for (int i = 0; i < g->n_lie; i++)
        s->a[i] = attempt ? -0.5 * reln_rng_normal(&rng) / g->size[i] : 0;
    reln_combine(g->n_lie, square(n), s->a, g->lie, s->small[0]);
    RELN_TRY(reln_matrix_exp(s->ctx, n, s->small[0], s->small[1]));
    RELN_TRY(reln_solve(s->ctx, n, n, s->words.matrices + word * square(n), h, s->small[2]));
    reln_mat_mul(n, n, n, s->small[1], s->small[2], s->small[3]);
    reln_keep_message(s->ctx, &before);
    status = reln_matrix_log(s->ctx, n, s->small[3], s->small[0]);
    if (status == RELN_ERR_NUMERIC) {
        reln_put_back(s->ctx, &before);
        return RELN_OK;
    }
    RELN_TRY(status);
    *found = reln_span_coords(g, s->span, s->small[0], 1 + reln_mat_norm(square(n), s->small[0]),
                              s->x) <= SPAN_RESIDUAL;
    return RELN_OK;
}

/* rho(h) = rho(word) exp(rho(A)) exp(rho(X)); a holds -A */
static RelnStatus act_word(const Search *s, int word, double *out)
{
    const RelnRep *r = s->rep;
    const int k = r->dim;

    for (int i = 0; i < r->group->n_lie; i++)
        s->a[i] = -s->a[i];
    reln_combine(r->group->n_lie, square(k), s->a, r->lie, s->large[0]);
    RELN_TRY(reln_matrix_exp(s->ctx, k, s->large[0], s->large[1]));
    reln_mat_mul(k, k, k, s->rho_words + word * square(k), s->large[1], s->large[2]);
    reln_combine(r->group->n_lie, square(k), s->x, r->lie, s->large[0]);
    RELN_TRY(reln_matrix_exp(s->ctx, k, s->large[0], s->large[1]));
    reln_mat_mul(k, k, k, s->large[2], s->large[1], out);
    return RELN_OK;
}

static RelnStatus restrict_discrete(const Search *s, const RelnGroup *sub, int i, double *out)
{
    const double *h = sub->discrete + i * square(sub->n);
    const int attempts = s->rep->group->n_lie > 0 ? LOG_ATTEMPTS : 1;

    for (int attempt = 0; attempt < attempts; attempt++)
        for (int word = 0; word < s->words.count; word++) {
            bool found = false;
            RELN_TRY(try_word(s, word, attempt, h, &found));
            if (found)
                return act_word(s, word, out);
        }
    return reln_fail(s->ctx, RELN_ERR_REP,
                     "discrete generator %d of %s was not found in %s: no product of its discrete "
                     "generators with an exponential gives it",
                     i, sub->name, s->rep->group->name);
}

static RelnStatus restrict_lie(const Search *s, const RelnGroup *sub, int i, double *out)
{
    const RelnGroup *g = s->rep->group;
    const double *e = sub->lie + i * square(sub->n);
    const double rest = reln_span_coords(g, s->span, e, reln_mat_norm(square(sub->n), e), s->x);

    if (!(rest <= SPAN_RESIDUAL))
        return reln_fail(s->ctx, RELN_ERR_REP,
                         "generator %d of %s lies outside %s by %.2g (tolerance %g)", i, sub->name,
                         g->name, rest, SPAN_RESIDUAL);
    reln_combine(g->n_lie, square(s->rep->dim), s->x, s->rep->lie, out);
    return RELN_OK;
}

/* Sets rounding noise of sums of products to zero. */
static void sweep(ptrdiff_t count, double *x)
{
    const double noise = COORDINATE_NOISE * reln_largest(count, x);

    for (ptrdiff_t e = 0; e < count; e++)
        x[e] = fabs(x[e]) <= noise ? 0 : x[e];
}

static RelnStatus fill_restricted(const void *given, Candidate *c)
{
    const RelnRep *rep = given;
    const ptrdiff_t size = square(c->dim);
    Search s;

    RELN_TRY(search_room(c, rep, &s));
    fill_rho_words(&s);
    for (int i = 0; i < c->group->n_lie; i++) {
        RELN_TRY(restrict_lie(&s, c->group, i, c->lie + i * size));
        sweep(size, c->lie + i * size);
    }
    for (int i = 0; i < c->group->n_discrete; i++) {
        RELN_TRY(restrict_discrete(&s, c->group, i, c->discrete + i * size));
        sweep(size, c->discrete + i * size);
        RELN_TRY(reln_inverse(s.ctx, c->dim, c->discrete + i * size, c->inverse + i * size));
    }
    return RELN_OK;
}

const RelnRep *reln_rep_restrict(const RelnRep *rep, RelnGroup *subgroup)
{
    if (!rep || !subgroup || rep->group == subgroup)
        return subgroup ? rep : NULL;
    if (rep->group->n != subgroup->n) {
        reln_fail(subgroup->ctx, RELN_ERR_REP, "%s has %dx%d matrices, %s has %dx%d ones",
                  subgroup->name, subgroup->n, subgroup->n, rep->group->name, rep->group->n,
                  rep->group->n);
        return NULL;
    }
    return reln_rep_make(subgroup, rep->dim, fill_restricted, rep, "%s", rep->name);
}
