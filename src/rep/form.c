/* form.c -- the invariant bilinear forms of a rep, and the default form that layers use. */
#include <math.h>
#include <string.h>

#include "rep/invariants.h"
#include "rep/make.h"
#include "tensor/linalg.h"

struct FormsNode {
    FormsNode *next;
    const RelnRep *rep;
    RelnForms forms;
    const double *form; /* NULL until it is first asked for, and if there is none */
    bool solved;        /* whether `forms` is valid */
};

static FormsNode *node_of(const RelnRep *rep)
{
    RelnGroup *g = rep->group;
    FormsNode *node = g->forms;

    while (node && node->rep != rep)
        node = node->next;
    if (node)
        return node;
    node = reln_arena_alloc(&g->arena, 1, sizeof *node);
    if (node) {
        *node = (FormsNode){.next = g->forms, .rep = rep};
        g->forms = node;
    }
    return node;
}

/* ---- all forms -------------------------------------------------------------------------------------------- */

/* Returns the first non-zero entry of map m: there it is 1, and every other map is 0. */
static ptrdiff_t pivot_of(const RelnMaps *maps, int m)
{
    const ptrdiff_t d = square(maps->dims[0]);
    ptrdiff_t e = 0;

    while (e < d - 1 && maps->values[m * d + e] == 0)
        e++;
    return e;
}

/* Transposition maps the space of forms to itself. Its matrix in the basis of maps has the entries M_m^T
 * at the pivots; its trace, a whole number, is the number of symmetric forms minus that of antisymmetric
 * ones. */
static int count_symmetric(const RelnMaps *maps)
{
    const int k = maps->dims[0];
    double trace = 0;

    for (int m = 0; m < maps->count; m++) {
        const ptrdiff_t e = pivot_of(maps, m);

        trace += maps->values[m * square(k) + e % k * k + e / k];
    }
    return (maps->count + (int)lround(trace)) / 2;
}

/* Computes a canonical basis of the span of M_m + sign M_m^T, whose dimension is known. */
static RelnStatus canonical_part(RelnArena *scratch, const RelnMaps *maps, double sign, int count,
                                 double *out)
{
    const int k = maps->dims[0];
    const ptrdiff_t d = square(k);
    double *rows = reln_arena_alloc(scratch, (size_t)(maps->count * d), sizeof *rows);
    ptrdiff_t *pivots = reln_arena_alloc(scratch, (size_t)count, sizeof *pivots);

    if (!rows || !pivots)
        return RELN_ERR_NOMEM;
    if (count == 0)
        return RELN_OK;
    if (count == maps->count) { /* every form is of this kind, and the maps are canonical */
        memcpy(out, maps->values, (size_t)(count * d) * sizeof *out);
        return RELN_OK;
    }
    for (int m = 0; m < maps->count; m++)
        for (ptrdiff_t e = 0; e < d; e++)
            rows[m * d + e] =
                maps->values[m * d + e] + sign * maps->values[m * d + e % k * k + e / k];
    RELN_TRY(reln_orthonormal_rows(scratch, maps->count, d, rows, count, out));
    return reln_echelon_rows(scratch, count, d, out, pivots);
}

static RelnStatus solve_forms(RelnArena *scratch, FormsNode *node)
{
    const RelnRep *rep = node->rep, *dual = reln_rep_dual(rep);
    const ptrdiff_t d = square(rep->dim);
    const RelnMaps *maps = NULL;
    int symmetric;
    double *values;

    if (!dual)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_maps_linear(rep, dual, &maps));
    symmetric = count_symmetric(maps);
    values = reln_arena_alloc(&rep->group->arena, (size_t)(maps->count * d), sizeof *values);
    if (!values)
        return RELN_ERR_NOMEM;
    RELN_TRY(canonical_part(scratch, maps, 1, symmetric, values));
    RELN_TRY(canonical_part(scratch, maps, -1, maps->count - symmetric, values + symmetric * d));
    node->forms = (RelnForms){symmetric, maps->count - symmetric, values};
    node->solved = true;
    return RELN_OK;
}

RelnStatus reln_rep_forms(const RelnRep *rep, const RelnForms **forms)
{
    RELN_NEED(rep && forms, reln_null(rep ? rep->group->ctx : NULL, __func__));

    FormsNode *node = node_of(rep);
    RelnStatus status = RELN_OK;
    RelnArena scratch;

    *forms = NULL;
    if (!node)
        return RELN_ERR_NOMEM;
    if (!node->solved) {
        reln_arena_init(&scratch, rep->group->ctx);
        status = solve_forms(&scratch, node);
        reln_arena_clear(&scratch);
    }
    if (status == RELN_OK)
        *forms = &node->forms;
    return status;
}

/* ---- the default form ------------------------------------------------------------------------------------- */

static RelnStatus keeps_dot(const RelnRep *rep, const double *one, bool *keeps)
{
    RelnVerdict verdict = {.equivariant = false};
    const RelnRep *dual = reln_rep_dual(rep);

    if (!dual)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_check_linear(rep, dual, one, &verdict));
    *keeps = verdict.equivariant;
    return RELN_OK;
}

static RelnStatus refuse(const RelnRep *rep, const RelnForms *forms)
{
    return reln_fail(
        rep->group->ctx, RELN_ERR_REP,
        "%s of %s has %d symmetric invariant forms (and %d antisymmetric), not one up to a factor",
        rep->name, rep->group->name, forms->symmetric, forms->antisymmetric);
}

/* Scales the form so that its largest entry is 1, and chooses its sign: more positive than negative
 * eigenvalues, or a positive first entry. Fails if an eigenvalue is 0. */
static RelnStatus normalise(RelnArena *scratch, const RelnRep *rep, double *form)
{
    const int k = rep->dim;
    const double largest = reln_largest(square(k), form);
    double *w = reln_arena_alloc(scratch, (size_t)k, sizeof *w);
    int above = 0, below = 0;

    if (!w)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t e = 0; e < square(k); e++)
        form[e] /= largest;
    RELN_TRY(reln_eigh(scratch->ctx, k, form, w, NULL));
    for (int i = 0; i < k; i++) {
        const double zero = RELN_INTERTWINER_TOLERANCE * fmax(fabs(w[0]), fabs(w[k - 1]));

        above += w[i] > zero;
        below += w[i] < -zero;
    }
    if (above + below < k)
        return reln_fail(scratch->ctx, RELN_ERR_REP,
                         "%s of %s has 1 symmetric invariant form up to a factor, and that is "
                         "degenerate: of rank %d, with %d coordinates",
                         rep->name, rep->group->name, above + below, k);
    for (ptrdiff_t e = 0; e < square(k) && below > above; e++)
        form[e] = 0 - form[e]; /* no negative zeros */
    return RELN_OK;
}

static RelnStatus find_form(RelnArena *scratch, const RelnRep *rep, const double **out)
{
    const size_t d = (size_t)square(rep->dim);
    double *form = reln_arena_alloc(scratch, d, sizeof *form);
    const RelnForms *forms = NULL;
    bool keeps = false;

    if (!form)
        return RELN_ERR_NOMEM;
    reln_mat_identity(rep->dim, form);
    RELN_TRY(keeps_dot(rep, form, &keeps));
    if (!keeps) {
        RELN_TRY(reln_rep_forms(rep, &forms));
        if (forms->symmetric != 1)
            return refuse(rep, forms);
        memcpy(form, forms->values, d * sizeof *form);
        RELN_TRY(normalise(scratch, rep, form));
    }
    *out = reln_arena_copy(&rep->group->arena, form, d, sizeof *form);
    return *out ? RELN_OK : RELN_ERR_NOMEM;
}

RelnStatus reln_rep_form(const RelnRep *rep, const double **form)
{
    RELN_NEED(rep && form, reln_null(rep ? rep->group->ctx : NULL, __func__));

    FormsNode *node = node_of(rep);
    RelnStatus status = RELN_OK;
    RelnArena scratch;

    *form = NULL;
    if (!node)
        return RELN_ERR_NOMEM;
    if (!node->form) {
        reln_arena_init(&scratch, rep->group->ctx);
        status = find_form(&scratch, rep, &node->form);
        reln_arena_clear(&scratch);
    }
    *form = node->form;
    return status;
}
