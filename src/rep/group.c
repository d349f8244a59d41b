/* group.c -- groups from names and matrices, and random elements that can act in every rep. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algebra/family.h"
#include "algebra/sampler.h"
#include "reln/matrix.h"
#include "rep/exact.h"
#include "rep/rep.h"
#include "tensor/linalg.h"

/* A discrete generator within this distance of orthogonal uses its transpose as inverse. */
#define ORTHOGONAL 1e-14

/* A generator acts on a coordinate if its effect is above the first share of its size, and does not if it is
 * below the second. */
#define ACTS 1e-10
#define ACTS_NOT 1e-14

enum { MAX_GENERATORS = 4096, FACTORS = 3 };

/* ---- creating a group ------------------------------------------------------------------------------------- */

/* A Plan holds the generators of a group before it is created. */
typedef struct Plan {
    int n, n_lie, n_discrete;
    double *lie, *discrete;
} Plan;

static bool is_orthogonal(int n, const double *g)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double dot = 0;
            for (int k = 0; k < n; k++)
                dot += g[i * n + k] * g[j * n + k];
            if (!(fabs(dot - (i == j)) <= ORTHOGONAL))
                return false;
        }
    return true;
}

static RelnStatus invert(RelnGroup *g, double *inverse)
{
    const ptrdiff_t n2 = (ptrdiff_t)g->n * g->n;

    for (int i = 0; i < g->n_discrete; i++) {
        const double *x = g->discrete + i * n2;
        RelnStatus status = RELN_OK;
        if (is_orthogonal(g->n, x))
            reln_mat_transpose(g->n, g->n, x, inverse + i * n2);
        else
            status = reln_inverse(g->ctx, g->n, x, inverse + i * n2);
        if (status == RELN_ERR_NUMERIC)
            return reln_fail(g->ctx, RELN_ERR_ARG, "discrete generator %d of %s is not invertible",
                             i, g->name);
        RELN_TRY(status);
    }
    return RELN_OK;
}

/* Writes the size of each Lie generator. Scaling a Lie generator does not change the group, so its action is
 * measured in these units. */
static void measure_lie(const Plan *p, double *size)
{
    const ptrdiff_t n2 = (ptrdiff_t)p->n * p->n;

    for (int i = 0; i < p->n_lie; i++) {
        const double norm = reln_mat_norm(n2, p->lie + i * n2);
        size[i] = norm > 0 ? norm : 1;
    }
}

static RelnStatus fill_group(RelnGroup *g, const char *name, const Plan *p)
{
    const size_t n2 = (size_t)p->n * (size_t)p->n;
    const size_t n_lie = (size_t)p->n_lie, n_discrete = (size_t)p->n_discrete;
    double *inverse = reln_arena_alloc(&g->arena, n_discrete * n2, sizeof *inverse);
    double *size = reln_arena_alloc(&g->arena, n_lie, sizeof *size);

    g->n = p->n;
    g->n_lie = p->n_lie;
    g->n_discrete = p->n_discrete;
    g->name = reln_arena_copy(&g->arena, name, strlen(name) + 1, 1);
    g->lie = reln_arena_copy(&g->arena, p->lie, n_lie * n2, sizeof(double));
    g->discrete = reln_arena_copy(&g->arena, p->discrete, n_discrete * n2, sizeof(double));
    g->inverse = inverse;
    g->size = size;
    if (!g->name || !g->lie || !g->discrete || !inverse || !size)
        return RELN_ERR_NOMEM;
    measure_lie(p, size);
    g->dyadic = reln_all_dyadic((ptrdiff_t)(n_lie * n2), g->lie) &&
                reln_all_dyadic((ptrdiff_t)(n_discrete * n2), g->discrete);
    return invert(g, inverse);
}

static RelnStatus make_group(RelnCtx *ctx, const char *name, const Plan *plan, RelnGroup **out)
{
    RelnGroup *g = reln_alloc(ctx, 1, sizeof *g);
    RelnStatus status;

    if (!g)
        return RELN_ERR_NOMEM;
    g->ctx = ctx;
    reln_arena_init(&g->arena, ctx);
    status = fill_group(g, name, plan);
    if (status == RELN_OK)
        *out = g;
    else
        reln_group_destroy(g);
    return status;
}

void reln_group_destroy(RelnGroup *group)
{
    if (!group)
        return;
    reln_arena_clear(&group->arena);
    reln_free(group->ctx, group);
}

/* Checks that norms lie within 1e-100 .. 1e100, which keeps products of generators with maps finite and above
 * zero; algebras have the same limits. A Lie generator of zeros passes. */
static RelnStatus check_size(RelnCtx *ctx, const char *kind, int count, int n, const double *x)
{
    const ptrdiff_t n2 = (ptrdiff_t)n * n;

    for (int i = 0; i < count; i++) {
        const double largest = reln_largest(n2, x + i * n2);
        if (largest != 0 && !(largest >= 1e-100 && largest <= 1e100))
            return reln_fail(ctx, RELN_ERR_NUMERIC,
                             "%s generator %d has numbers of size %.2g, wanted 1e-100 to 1e100",
                             kind, i, largest);
    }
    return RELN_OK;
}

/* Returns how much row and column i differ from those of a generator that acts trivially. */
static double strength(int n, bool discrete, const double *m, ptrdiff_t i)
{
    double most = fabs(m[i * n + i] - (discrete ? 1 : 0));

    for (ptrdiff_t j = 0; j < n; j++)
        if (j != i)
            most = fmax(most, fmax(fabs(m[i * n + j]), fabs(m[j * n + i])));
    return most;
}

RelnStatus reln_settle_action(RelnCtx *ctx, const char *kind, int generator, int dim, double unit,
                              bool discrete, double *m)
{
    for (ptrdiff_t i = 0; i < dim; i++) {
        const double size = strength(dim, discrete, m, i);
        if (size > ACTS_NOT * unit && size < ACTS * unit)
            return reln_fail(ctx, RELN_ERR_NUMERIC,
                             "%s %d acts on coordinate %td by %.2g of its size: more than rounding "
                             "(%g), and too little to be told from nothing (%g)",
                             kind, generator, i, size / unit, ACTS_NOT, ACTS);
        for (ptrdiff_t j = 0; j < dim && size <= ACTS_NOT * unit; j++)
            m[i * dim + j] = m[j * dim + i] = i == j && discrete ? 1 : 0;
    }
    return RELN_OK;
}

static RelnStatus settle_actions(RelnCtx *ctx, const Plan *p)
{
    const ptrdiff_t n2 = (ptrdiff_t)p->n * p->n;

    for (int i = 0; i < p->n_lie; i++)
        RELN_TRY(reln_settle_action(ctx, "generator", i, p->n, reln_mat_norm(n2, p->lie + i * n2),
                                    false, p->lie + i * n2));
    for (int i = 0; i < p->n_discrete; i++)
        RELN_TRY(
            reln_settle_action(ctx, "discrete generator", i, p->n, 1, true, p->discrete + i * n2));
    return RELN_OK;
}

static RelnStatus check_finite(RelnCtx *ctx, const char *kind, int count, int n, const double *x)
{
    for (ptrdiff_t e = 0; e < (ptrdiff_t)count * n * n; e++)
        if (!isfinite(x[e]))
            return reln_fail(ctx, RELN_ERR_NUMERIC,
                             "%s generator %td holds a number that is not finite", kind,
                             e / ((ptrdiff_t)n * n));
    return RELN_OK;
}

RelnStatus reln_group_from_matrices(RelnCtx *ctx, const char *name, int n, int n_lie,
                                    const double *lie, int n_discrete, const double *discrete,
                                    RelnGroup **out)
{
    RELN_NEED(ctx && out, reln_null(ctx, __func__));

    RelnArena scratch;
    RelnStatus status = RELN_ERR_NOMEM;
    Plan plan = {n, n_lie, n_discrete, NULL, NULL};

    *out = NULL;
    if (n < 1 || n > RELN_ALGEBRA_MAX_N || n_lie < 0 || n_discrete < 0 || n_lie > MAX_GENERATORS ||
        n_discrete > MAX_GENERATORS || (n_lie > 0 && !lie) || (n_discrete > 0 && !discrete))
        return reln_fail(ctx, RELN_ERR_ARG,
                         "a group of %d Lie and %d discrete generators of size %d; sizes 1 to %d "
                         "and at most %d of a kind wanted",
                         n_lie, n_discrete, n, RELN_ALGEBRA_MAX_N, MAX_GENERATORS);
    RELN_TRY(check_finite(ctx, "lie", n_lie, n, lie));
    RELN_TRY(check_finite(ctx, "discrete", n_discrete, n, discrete));
    RELN_TRY(check_size(ctx, "lie", n_lie, n, lie));
    RELN_TRY(check_size(ctx, "discrete", n_discrete, n, discrete));
    reln_arena_init(&scratch, ctx);
    plan.lie = reln_arena_copy(&scratch, lie, (size_t)(n_lie * n * n), sizeof *lie);
    plan.discrete = reln_arena_copy(&scratch, discrete, (size_t)(n_discrete * n * n), sizeof *lie);
    if (plan.lie && plan.discrete)
        status = settle_actions(ctx, &plan);
    if (status == RELN_OK)
        status = make_group(ctx, name ? name : "group", &plan, out);
    reln_arena_clear(&scratch);
    return status;
}

/* ---- names ------------------------------------------------------------------------------------------------ */

/* A Part is one term of a name: the family of its Lie generators (NULL: none), and its discrete
 * generators. */
typedef struct Part {
    RelnTerm term; /* the term in the notation of the family */
    const RelnFamily *family;
    enum { OWN, CONNECTED, REFLECTIONS } discrete;
    int n, n_lie, n_discrete;
} Part;

static int minus_axes(const RelnTerm *term)
{
    return term->n_sizes == 2 ? term->size[0] : 0;
}

/* O(n) has one reflection, O(p,q) one of its first and one of its last axis. */
static int count_reflections(const Part *p)
{
    const int minus = minus_axes(&p->term);

    return minus > 0 && minus < p->n ? 2 : 1;
}

static RelnStatus read_none(RelnCtx *ctx, const char *name, const RelnTerm *term, Part *p)
{
    if (term->n_sizes != 1 || term->size[0] < 1)
        return reln_fail(ctx, RELN_ERR_ARG, "\"%.80s\": none:n with n >= 1 wanted", name);
    p->n = term->size[0];
    return RELN_OK;
}

/* O(1) is one reflection and no Lie generator. */
static RelnStatus read_family(RelnCtx *ctx, const char *name, Part *p)
{
    if (p->discrete == REFLECTIONS && p->term.n_sizes == 1 && p->term.size[0] == 1) {
        p->n = p->n_discrete = 1;
        return RELN_OK;
    }
    RELN_TRY(reln_family_of(ctx, name, &p->term, &p->family));
    assert(p->family);
    p->n = p->family->n(&p->term);
    p->n_lie = p->family->dim(&p->term);
    if (p->discrete == REFLECTIONS)
        p->n_discrete = count_reflections(p);
    else if (p->discrete == OWN && p->family->discrete)
        p->n_discrete =
            p->family->n_discrete; /* upper bound, corrected when they are made */
    return RELN_OK;
}

static RelnStatus read_part(RelnCtx *ctx, const char *name, const RelnTerm *term, Part *p)
{
    *p = (Part){.term = *term, .discrete = OWN};
    if (strcmp(term->family, "none") == 0)
        return read_none(ctx, name, term, p);
    if (strcmp(term->family, "lorentz") == 0) {
        if (term->n_sizes != 0)
            return reln_fail(ctx, RELN_ERR_ARG, "\"%.80s\": lorentz takes no size", name);
        p->term = (RelnTerm){"so", 2, {1, 3}};
        p->discrete = CONNECTED;
    } else if (strcmp(term->family, "o") == 0) {
        snprintf(p->term.family, sizeof p->term.family, "so");
        p->discrete = REFLECTIONS;
    } else if (!reln_family_find(term->family)) {
        char known[128];
        reln_family_list(known, sizeof known);
        return reln_fail(ctx, RELN_ERR_ARG,
                         "\"%.80s\": no group is called %s, wanted one of %s, o:n, o:p,q, lorentz, "
                         "none:n",
                         name, term->family, known);
    }
    return read_family(ctx, name, p);
}

static void put_identity_but(int n, int axis, double *out)
{
    reln_mat_identity(n, out);
    out[axis * n + axis] = -1;
}

/* Writes the discrete generators of a part, (n_discrete, n, n). */
static int part_discrete(const Part *p, double *out)
{
    if (p->discrete == REFLECTIONS) {
        put_identity_but(p->n, 0, out);
        if (p->n_discrete == 2)
            put_identity_but(p->n, p->n - 1, out + p->n * p->n);
        return p->n_discrete;
    }
    return p->n_discrete > 0 ? p->family->discrete(&p->term, out) : 0;
}

/* Writes the generators of a part into block (at, at). A Lie generator is 0 outside its block, a discrete one
 * is 1. */
static RelnStatus put_part(RelnArena *scratch, const Part *p, int at, Plan *plan)
{
    const ptrdiff_t n2 = (ptrdiff_t)p->n * p->n, sum2 = (ptrdiff_t)plan->n * plan->n;
    const int most = p->n_lie > p->n_discrete ? p->n_lie : p->n_discrete;
    double *block = reln_arena_alloc(scratch, (size_t)(most * n2), sizeof *block);
    int count;

    if (!block)
        return RELN_ERR_NOMEM;
    if (p->n_lie > 0)
        p->family->basis(&p->term, block);
    for (int i = 0; i < p->n_lie; i++)
        reln_block_put(p->n, block + i * n2, at, plan->n, plan->lie + plan->n_lie++ * sum2);
    memset(block, 0, (size_t)(most * n2) * sizeof *block);
    count = part_discrete(p, block);
    for (int i = 0; i < count; i++) {
        double *out = plan->discrete + plan->n_discrete++ * sum2;
        reln_mat_identity(plan->n, out);
        reln_block_put(p->n, block + i * n2, at, plan->n, out);
    }
    return RELN_OK;
}

static RelnStatus measure(RelnCtx *ctx, const char *name, int count, const RelnTerm *terms,
                          Part *parts, Plan *sum)
{
    for (int t = 0; t < count; t++) {
        RELN_TRY(read_part(ctx, name, &terms[t], &parts[t]));
        sum->n += parts[t].n;
        sum->n_lie += parts[t].n_lie;
        sum->n_discrete += parts[t].n_discrete;
    }
    if (sum->n > RELN_ALGEBRA_MAX_N || sum->n_lie > RELN_ALGEBRA_MAX_DIM)
        return reln_fail(ctx, RELN_ERR_ARG,
                         "\"%.80s\" has matrices of size %d and %d Lie generators, at most %d and "
                         "%d are possible",
                         name, sum->n, sum->n_lie, RELN_ALGEBRA_MAX_N, RELN_ALGEBRA_MAX_DIM);
    return RELN_OK;
}

static RelnStatus read_plan(RelnArena *scratch, const char *name, Plan *plan)
{
    RelnTerm *terms = reln_arena_alloc(scratch, RELN_MAX_TERMS, sizeof *terms);
    Part *parts = reln_arena_alloc(scratch, RELN_MAX_TERMS, sizeof *parts);
    Plan most = {0, 0, 0, NULL, NULL};
    int count = 0, at = 0;

    if (!terms || !parts)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_name_parse(scratch->ctx, name, terms, RELN_MAX_TERMS, &count));
    RELN_TRY(measure(scratch->ctx, name, count, terms, parts, &most));
    plan->n = most.n;
    plan->lie =
        reln_arena_alloc(scratch, (size_t)(most.n_lie * most.n * most.n), sizeof *plan->lie);
    plan->discrete = reln_arena_alloc(scratch, (size_t)(most.n_discrete * most.n * most.n),
                                      sizeof *plan->discrete);
    if (!plan->lie || !plan->discrete)
        return RELN_ERR_NOMEM;
    for (int t = 0; t < count; at += parts[t++].n)
        RELN_TRY(put_part(scratch, &parts[t], at, plan));
    return RELN_OK;
}

RelnStatus reln_group_create(RelnCtx *ctx, const char *name, RelnGroup **out)
{
    RELN_NEED(ctx && name && out, reln_null(ctx, __func__));

    Plan plan = {0, 0, 0, NULL, NULL};
    RelnArena scratch;
    RelnStatus status;

    *out = NULL;
    reln_arena_init(&scratch, ctx);
    status = read_plan(&scratch, name, &plan);
    if (status == RELN_OK)
        status = make_group(ctx, name, &plan, out);
    reln_arena_clear(&scratch);
    return status;
}

static RelnStatus embed(RelnArena *scratch, const RelnGroup *g, int n, RelnGroup **out)
{
    const ptrdiff_t n2 = (ptrdiff_t)g->n * g->n, to2 = (ptrdiff_t)n * n;
    const char *name = reln_arena_printf(scratch, "%s in gl:%d", g->name, n);
    Plan plan = {n, g->n_lie, g->n_discrete, NULL, NULL};

    plan.lie = reln_arena_alloc(scratch, (size_t)(g->n_lie * to2), sizeof *plan.lie);
    plan.discrete = reln_arena_alloc(scratch, (size_t)(g->n_discrete * to2), sizeof *plan.discrete);
    if (!name || !plan.lie || !plan.discrete)
        return RELN_ERR_NOMEM;
    for (int i = 0; i < g->n_lie; i++)
        reln_block_put(g->n, g->lie + i * n2, 0, n, plan.lie + i * to2);
    for (int i = 0; i < g->n_discrete; i++) {
        reln_mat_identity(n, plan.discrete + i * to2);
        reln_block_put(g->n, g->discrete + i * n2, 0, n, plan.discrete + i * to2);
    }
    return make_group(g->ctx, name, &plan, out);
}

RelnStatus reln_group_embed(const RelnGroup *group, int n, RelnGroup **out)
{
    RELN_NEED(group && out, reln_null(reln_group_ctx(group), __func__));

    RelnArena scratch;
    RelnStatus status;

    *out = NULL;
    if (n < group->n || n > RELN_ALGEBRA_MAX_N)
        return reln_fail(group->ctx, RELN_ERR_ARG, "%s embedded in size %d, %d to %d wanted",
                         group->name, n, group->n, RELN_ALGEBRA_MAX_N);
    reln_arena_init(&scratch, group->ctx);
    status = embed(&scratch, group, n, out);
    reln_arena_clear(&scratch);
    return status;
}

/* ---- reading its parts ------------------------------------------------------------------------------------ */

RelnCtx *reln_group_ctx(const RelnGroup *group)
{
    RELN_NEED(group, NULL);

    return group->ctx;
}

const char *reln_group_name(const RelnGroup *group)
{
    RELN_NEED(group, "");

    return group->name;
}

int reln_group_n(const RelnGroup *group)
{
    RELN_NEED(group, 0);

    return group->n;
}

int reln_group_n_lie(const RelnGroup *group)
{
    RELN_NEED(group, 0);

    return group->n_lie;
}

int reln_group_n_discrete(const RelnGroup *group)
{
    RELN_NEED(group, 0);

    return group->n_discrete;
}

const double *reln_group_lie(const RelnGroup *group)
{
    RELN_NEED(group, NULL);

    return group->lie;
}

const double *reln_group_discrete(const RelnGroup *group)
{
    RELN_NEED(group, NULL);

    return group->discrete;
}

/* ---- elements --------------------------------------------------------------------------------------------- */

/* g = exp(X1) exp(X2) exp(X3) gamma_a gamma_b ..., a < b < ... the members of the word. */
struct RelnElement {
    RelnCtx *ctx;
    const RelnGroup *group;
    RelnArena arena;
    double *coords; /* (3, n_lie) */
    bool *word;     /* (n_discrete): whether the generator is in the word */
    double *matrix, *inverse;
    double cond;
};

/* g <- g gamma, g^-1 <- gamma^-1 g^-1 */
static void append(RelnElement *e, int gamma, double *tmp)
{
    const int n = e->group->n;
    const size_t bytes = (size_t)(n * n) * sizeof *tmp;

    reln_mat_mul(n, n, n, e->matrix, e->group->discrete + gamma * n * n, tmp);
    memcpy(e->matrix, tmp, bytes);
    reln_mat_mul(n, n, n, e->group->inverse + gamma * n * n, e->inverse, tmp);
    memcpy(e->inverse, tmp, bytes);
}

static RelnStatus draw(RelnElement *e, RelnRng *rng, double cond)
{
    const RelnGroup *g = e->group;
    const size_t n2 = (size_t)(g->n * g->n);
    double *tmp = reln_arena_alloc(&e->arena, n2, sizeof *tmp);

    e->coords = reln_arena_alloc(&e->arena, (size_t)(FACTORS * g->n_lie), sizeof(double));
    e->word = reln_arena_alloc(&e->arena, (size_t)g->n_discrete, sizeof(bool));
    e->matrix = reln_arena_alloc(&e->arena, n2, sizeof(double));
    e->inverse = reln_arena_alloc(&e->arena, n2, sizeof(double));
    if (!tmp || !e->coords || !e->word || !e->matrix || !e->inverse)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_sample_factors(e->ctx, g->n, g->n_lie, g->lie, rng, cond, e->coords, e->matrix,
                                 e->inverse, &e->cond));
    for (int i = 0; i < g->n_discrete; i++) {
        e->word[i] = reln_rng_uniform(rng) < 0.5;
        if (e->word[i])
            append(e, i, tmp);
    }
    return g->n_discrete > 0 ? reln_cond(e->ctx, g->n, e->matrix, &e->cond) : RELN_OK;
}

RelnStatus reln_group_random(const RelnGroup *group, RelnRng *rng, double cond, RelnElement **out)
{
    RELN_NEED(group && rng && out, reln_null(reln_group_ctx(group), __func__));

    RelnElement *e = reln_alloc(group->ctx, 1, sizeof *e);
    RelnStatus status;

    *out = NULL;
    if (!e)
        return RELN_ERR_NOMEM;
    e->ctx = group->ctx;
    e->group = group;
    reln_arena_init(&e->arena, e->ctx);
    status = draw(e, rng, cond);
    if (status == RELN_OK)
        *out = e;
    else
        reln_element_destroy(e);
    return status;
}

void reln_element_destroy(RelnElement *element)
{
    if (!element)
        return;
    reln_arena_clear(&element->arena);
    reln_free(element->ctx, element);
}

const double *reln_element_matrix(const RelnElement *element)
{
    RELN_NEED(element, NULL);

    return element->matrix;
}

const double *reln_element_inverse(const RelnElement *element)
{
    RELN_NEED(element, NULL);

    return element->inverse;
}

double reln_element_cond(const RelnElement *element)
{
    RELN_NEED(element, 0);

    return element->cond;
}

/* Computes the same product in the rep. */
static RelnStatus act(RelnArena *scratch, const RelnRep *rep, const RelnElement *e, double *out)
{
    const int k = rep->dim, n_lie = rep->group->n_lie;
    const ptrdiff_t size = (ptrdiff_t)k * k;
    double *x = reln_arena_alloc(scratch, (size_t)size, sizeof *x);
    double *tmp = reln_arena_alloc(scratch, (size_t)size, sizeof *tmp);

    if (!x || !tmp)
        return RELN_ERR_NOMEM;
    reln_mat_identity(k, out);
    for (int f = 0; f < FACTORS && n_lie > 0; f++) {
        reln_combine(n_lie, size, e->coords + f * n_lie, rep->lie, tmp);
        RELN_TRY(reln_matrix_exp(e->ctx, k, tmp, x));
        reln_mat_mul(k, k, k, out, x, tmp);
        memcpy(out, tmp, (size_t)size * sizeof *out);
    }
    for (int i = 0; i < rep->group->n_discrete; i++)
        if (e->word[i]) {
            reln_mat_mul(k, k, k, out, rep->discrete + i * size, tmp);
            memcpy(out, tmp, (size_t)size * sizeof *out);
        }
    return RELN_OK;
}

RelnStatus reln_rep_act(const RelnRep *rep, const RelnElement *element, double *out)
{
    RelnArena scratch;
    RelnStatus status;

    RELN_NEED(element, RELN_ERR_ARG);
    RELN_NEED(rep && out, reln_null(element->ctx, __func__));
    if (rep->group != element->group)
        return reln_fail(element->ctx, RELN_ERR_ARG, "an element of %s in a rep of %s",
                         element->group->name, rep->group->name);
    reln_arena_init(&scratch, element->ctx);
    status = act(&scratch, rep, element, out);
    reln_arena_clear(&scratch);
    return status;
}
