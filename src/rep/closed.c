/* closed.c -- the smallest algebra that contains the lifted data and is closed under the group and the layers.
 *
 * Let S be a basis of the span of the given matrices and all their images under the group. The Lie algebra that S generates
 * is spanned by brackets [s1, [s2, ... sk]], the associative algebra by words s1 s2 ... sk. So it is enough to multiply
 * with S from the left until nothing new appears. Both algebras are kept by the group, which acts by automorphisms.
 */
#include "rep/closed.h"

#include <math.h>
#include <string.h>

RelnStatus reln_space_init(RelnArena *arena, const Field *field, int n, Space *out)
{
    const size_t n2 = (size_t)n * (size_t)n;
    const int capacity = n * n < RELN_ALGEBRA_MAX_DIM ? n * n : RELN_ALGEBRA_MAX_DIM;

    *out = (Space){.field = field, .arena = arena, .n = n, .capacity = capacity};
    out->rows = reln_arena_alloc(arena, (size_t)capacity * n2, sizeof *out->rows);
    out->pivots = reln_arena_alloc(arena, (size_t)capacity, sizeof *out->pivots);
    out->one = reln_arena_alloc(arena, n2, sizeof *out->one);
    out->work = reln_arena_alloc(arena, 3 * n2, sizeof *out->work);
    return out->rows && out->pivots && out->one && out->work ? RELN_OK : RELN_ERR_NOMEM;
}

/* Returns whether the span contains all matrices of its size. */
static bool is_full(const Space *s)
{
    return s->count == s->n * s->n;
}

static Word *work(const Space *s, int i)
{
    return s->work + (ptrdiff_t)i * s->n * s->n;
}

static RelnStatus insert(Space *s, Word *z, bool *changed)
{
    bool grew = false;

    RELN_TRY(s->field->insert(s, z, &grew));
    *changed = *changed || grew;
    return RELN_OK;
}

static RelnStatus insert_copy(Space *s, const Word *z, bool *changed)
{
    memcpy(work(s, 0), z, (size_t)(s->n * s->n) * sizeof *z);
    return insert(s, work(s, 0), changed);
}

static RelnStatus insert_bracket(Space *s, const Word *a, const Word *b, bool *changed)
{
    s->field->product(s, a, b, work(s, 0));
    s->field->product(s, b, a, work(s, 1));
    s->field->add(s, work(s, 0), true, work(s, 1));
    return insert(s, work(s, 0), changed);
}

static RelnStatus insert_product(Space *s, const Word *a, const Word *b, bool *changed)
{
    s->field->product(s, a, b, work(s, 0));
    return insert(s, work(s, 0), changed);
}

/* a x b */
static RelnStatus insert_word(Space *s, const Word *a, const Word *x, const Word *b, bool *changed)
{
    s->field->product(s, a, x, work(s, 1));
    s->field->product(s, work(s, 1), b, work(s, 0));
    return insert(s, work(s, 0), changed);
}

/* abc + cba */
static RelnStatus insert_triple(Space *s, const Word *a, const Word *b, const Word *c,
                                bool *changed)
{
    s->field->product(s, a, b, work(s, 1));
    s->field->product(s, work(s, 1), c, work(s, 0));
    s->field->product(s, c, b, work(s, 1));
    s->field->product(s, work(s, 1), a, work(s, 2));
    s->field->add(s, work(s, 0), false, work(s, 2));
    return insert(s, work(s, 0), changed);
}

/* ---- the steps -------------------------------------------------------------------------------------------- */

/* Adds the images of the matrices under the group. Rows that are added are visited too. */
static RelnStatus close_under_group(Space *s, const Closing *of)
{
    const ptrdiff_t n2 = (ptrdiff_t)s->n * s->n;
    bool changed = false;

    for (int t = 0; t < s->count && !is_full(s); t++) {
        for (int i = 0; i < of->n_lie; i++)
            RELN_TRY(insert_bracket(s, of->lie + i * n2, reln_space_row(s, t), &changed));
        for (int i = 0; i < of->n_discrete; i++)
            RELN_TRY(insert_word(s, of->discrete + i * n2, reln_space_row(s, t),
                                 of->inverse + i * n2, &changed));
    }
    return RELN_OK;
}

/* Adds products, or brackets, with the first n_generators rows. */
static RelnStatus close_under_products(Space *s, int n_generators, unsigned layers)
{
    bool changed = false;

    for (int t = 0; t < s->count && !is_full(s); t++)
        for (int g = 0; g < n_generators; g++) {
            const Word *a = reln_space_row(s, g), *b = reln_space_row(s, t);

            if (layers & RELN_CLOSED_PRODUCT)
                RELN_TRY(insert_product(s, a, b, &changed));
            else if (g != t)
                RELN_TRY(insert_bracket(s, a, b, &changed));
        }
    return RELN_OK;
}

static RelnStatus close_under_triples(Space *s, bool *changed)
{
    for (int a = 0; a < s->count && !is_full(s); a++)
        for (int b = 0; b < s->count; b++)
            for (int c = 0; c <= a; c++)
                RELN_TRY(insert_triple(s, reln_space_row(s, a), reln_space_row(s, b),
                                       reln_space_row(s, c), changed));
    return RELN_OK;
}

static RelnStatus close_under_trace(Space *s, bool *changed)
{
    for (int t = 0; t < s->count; t++)
        if (s->field->has_trace(s, reln_space_row(s, t)))
            return insert_copy(s, s->one, changed);
    return RELN_OK;
}

RelnStatus reln_space_close(Space *s, const Closing *of)
{
    const ptrdiff_t n2 = (ptrdiff_t)s->n * s->n;
    bool changed = false;

    for (int i = 0; i < of->count; i++)
        RELN_TRY(insert_copy(s, of->matrices + i * n2, &changed));
    RELN_TRY(close_under_group(s, of));
    do {
        changed = false;
        RELN_TRY(close_under_products(s, s->count, of->layers));
        if (of->layers & RELN_CLOSED_TRIPLE)
            RELN_TRY(close_under_triples(s, &changed));
        if (of->layers & RELN_CLOSED_TRACE)
            RELN_TRY(close_under_trace(s, &changed));
    } while (changed && !is_full(s));
    return RELN_OK;
}

/* ---- the algebra ------------------------------------------------------------------------------------------ */

static RelnStatus check_given(const RelnGroup *g, const RelnClosing *of)
{
    const unsigned known = RELN_CLOSED_PRODUCT | RELN_CLOSED_TRIPLE | RELN_CLOSED_TRACE;
    bool zero = true;

    if (of->count < 1 || !of->matrices || (of->layers & ~known))
        return reln_fail(g->ctx, RELN_ERR_ARG,
                         "an algebra that holds %d matrices and is closed under layers %#x; wanted "
                         "1 or more, and layers joined of RELN_CLOSED_...",
                         of->count, of->layers);
    for (ptrdiff_t e = 0; e < (ptrdiff_t)of->count * g->n * g->n; e++) {
        if (!isfinite(of->matrices[e]))
            return reln_fail(g->ctx, RELN_ERR_NUMERIC, "matrix %td holds %g, not a finite number",
                             e / ((ptrdiff_t)g->n * g->n), of->matrices[e]);
        zero = zero && of->matrices[e] == 0;
    }
    if (zero)
        return reln_fail(g->ctx, RELN_ERR_ARG,
                         "an algebra that holds %d matrices, all of them 0; wanted one that is not",
                         of->count);
    return RELN_OK;
}

static RelnStatus make_algebra(RelnArena *scratch, const RelnGroup *g, const char *name, int dim,
                               const double *basis, RelnAlgebra **out)
{
    RelnBasisOptions options = {.name = name, .n_discrete = g->n_discrete, .discrete = g->discrete};

    if (!name)
        options.name = dim == g->n * g->n
                           ? reln_arena_printf(scratch, "gl:%d", g->n)
                           : reln_arena_printf(scratch, "closed span of %d in gl:%d", dim, g->n);
    if (!options.name)
        return RELN_ERR_NOMEM;
    return reln_algebra_from_basis(g->ctx, dim, g->n, basis, &options, out);
}

static RelnStatus closed(RelnArena *scratch, const RelnGroup *g, const RelnClosing *of, bool *exact,
                         RelnAlgebra **out)
{
    double *basis = NULL;
    int dim = 0;

    RELN_TRY(check_given(g, of));
    RELN_TRY(reln_closed_exact(scratch, g, of, &dim, &basis, exact));
    if (!*exact)
        RELN_TRY(reln_closed_real(scratch, g, of, &dim, &basis));
    return make_algebra(scratch, g, of->name, dim, basis, out);
}

RelnStatus reln_algebra_closed(const RelnGroup *group, const RelnClosing *of, bool *exact,
                               RelnAlgebra **out)
{
    RELN_NEED(group && of && out, reln_null(reln_group_ctx(group), __func__));

    RelnArena scratch;
    RelnStatus status;
    bool proved = false;

    *out = NULL;
    reln_arena_init(&scratch, group->ctx);
    status = closed(&scratch, group, of, &proved, out);
    reln_arena_clear(&scratch);
    if (exact)
        *exact = proved && status == RELN_OK;
    return status;
}
