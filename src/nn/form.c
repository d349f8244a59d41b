/* form.c -- finds the bilinear form for features of a rep: chosen by the user, that of the algebra, or the
 * rep's default. */
#include <math.h>
#include <string.h>

#include "nn/nn.h"

#define KEPT 1e-6       /* largest residual of a form that settling its constant can correct */
#define ASYMMETRY 1e-12 /* asymmetry of a chosen form, relative to its largest entry, that counts as
                         * rounding */

/* ---- choosing the form --------------------------------------------------------------------------------------------- */

static bool is_symmetric(int k, const double *gram)
{
    double largest = 0, worst = 0;

    for (ptrdiff_t i = 0; i < k; i++)
        for (ptrdiff_t j = 0; j < k; j++) {
            largest = fmax(largest, fabs(gram[i * k + j]));
            worst = fmax(worst, fabs(gram[i * k + j] - gram[j * k + i]));
        }
    return worst <= ASYMMETRY * largest;
}

static bool is_identity(int k, const double *gram)
{
    for (ptrdiff_t e = 0; e < (ptrdiff_t)k * k; e++)
        if (gram[e] != (e % (k + 1) == 0))
            return false;
    return true;
}

/* Copies a failure of the context to the graph: "form: ...". */
static bool fail_as(const RelnNet *net, RelnStatus status, const char *advice)
{
    return reln_graph_fail(net->graph, status, "form: %s%s",
                           reln_ctx_error(reln_graph_ctx(net->graph)), advice);
}

/* Returns the form that the user chose for a rep; NULL when there is none. */
static const RelnRepForm *chosen(const RelnNet *net, const RelnRep *rep)
{
    for (int i = 0; i < net->n_forms && net->forms; i++)
        if (net->forms[i].rep == rep && net->forms[i].values)
            return &net->forms[i];
    return NULL;
}

static bool take_chosen(const RelnNet *net, const RelnRepForm *choice, NnForm *out)
{
    *out = (NnForm){NN_FORM_GRAM, choice->values};
    return is_symmetric(reln_rep_dim(choice->rep), choice->values) ||
           reln_graph_fail(net->graph, RELN_ERR_ARG,
                           "form: the one chosen for %s is not symmetric, so that B(x, x) is not "
                           "all of it; wanted a symmetric one",
                           reln_rep_name(choice->rep));
}

/* Tries the form of the algebra, if the rep has as many coordinates as the algebra and keeps the form. */
static bool try_algebra(const RelnNet *net, const RelnRep *rep, NnForm *out, bool *found)
{
    RelnVerdict verdict = {.residual = HUGE_VAL};
    const RelnRep *dual;
    const double *gram = NULL;
    RelnStatus status;

    *found = false;
    if (!net->algebra || reln_algebra_dim(net->algebra) != reln_rep_dim(rep))
        return true;
    status = reln_algebra_gram(net->algebra, net->form, &gram);
    if (status != RELN_OK)
        return reln_graph_fail(net->graph, status, "%s",
                               reln_ctx_error(reln_algebra_ctx(net->algebra)));
    dual = reln_dual(net->graph, rep);
    status = dual ? reln_check_linear(rep, dual, gram, &verdict) : RELN_ERR_NOMEM;
    if (status != RELN_OK)
        return fail_as(net, status, "");
    *found = verdict.residual <= KEPT;
    *out = (NnForm){NN_FORM_ALGEBRA, gram};
    return true;
}

static bool take_own(const RelnNet *net, const RelnRep *rep, NnForm *out)
{
    const double *gram = NULL;
    const RelnStatus status = reln_rep_form(rep, &gram);

    if (status != RELN_OK)
        return fail_as(net, status,
                       status == RELN_ERR_REP
                           ? "; wanted one in the net's forms, or the algebra of which x are "
                             "elements"
                           : "");
    *out = is_identity(reln_rep_dim(rep), gram) ? (NnForm){NN_FORM_DOT, NULL}
                                                : (NnForm){NN_FORM_GRAM, gram};
    return true;
}

bool reln_nn_find_form(const RelnNet *net, const RelnRep *rep, NnForm *out)
{
    const RelnRepForm *choice = chosen(net, rep);
    bool found = false;

    if (choice)
        return take_chosen(net, choice, out);
    if (!try_algebra(net, rep, out, &found))
        return false;
    return found || take_own(net, rep, out);
}

/* Returns whether all pivots of the elimination, without exchange of rows, have the same sign. */
static bool pivots_agree(int k, double *a)
{
    for (ptrdiff_t t = 0; t < k; t++) {
        if (!(a[t * k + t] * a[0] > 0))
            return false;
        for (ptrdiff_t i = t + 1; i < k; i++) {
            const double f = a[i * k + t] / a[t * k + t];

            for (ptrdiff_t j = t; j < k; j++)
                a[i * k + j] -= f * a[t * k + j];
        }
    }
    return true;
}

bool reln_nn_is_definite(const RelnNet *net, const RelnNode *x, bool *definite)
{
    NnForm form;
    const int k = x ? x->shape.dims[RELN_K] : 0;
    double *copy;

    *definite = true;
    if (!x || !reln_nn_find_form(net, x->rep, &form))
        return false;
    if (form.kind == NN_FORM_DOT)
        return true;
    copy = reln_graph_alloc(net->graph, (size_t)k * (size_t)k, sizeof *copy);
    if (!copy)
        return false;
    memcpy(copy, form.gram, (size_t)k * (size_t)k * sizeof *copy);
    *definite = pivots_agree(k, copy);
    return true;
}

/* ---- using the form ------------------------------------------------------------------------------------------------ */

/* s_c = x_c^T gram y_c */
static RelnNode *contracted(const RelnNet *net, const double *gram, RelnNode *x, RelnNode *y)
{
    const int k = x->shape.dims[RELN_K];
    RelnEntry *entries = reln_graph_alloc(net->graph, (size_t)k * (size_t)k, sizeof *entries);
    RelnTensor3 t = {k, k, 1, 0, entries};

    for (int i = 0; i < k && entries; i++)
        for (int j = 0; j < k; j++)
            if (gram[i * k + j] != 0.0)
                entries[t.count++] = (RelnEntry){i, j, 0, gram[i * k + j]};
    return entries ? reln_contract(net->graph, &t, x, y, reln_invariant(net->graph, 1)) : NULL;
}

/* Returns whether x and y are in dual reps, so that they pair without a form. */
static bool pairs(const RelnNet *net, const RelnNode *x, const RelnNode *y)
{
    return !net->algebra && x->rep != y->rep && y->rep == reln_dual(net->graph, x->rep);
}

RelnNode *reln_nn_form(const RelnNet *net, RelnNode *x, RelnNode *y)
{
    RELN_NEED(reln_nn_ready(net, true, __func__), NULL);

    NnForm form;

    if (!x || !y)
        return NULL;
    if (pairs(net, x, y))
        return reln_pair(net->graph, x, y);
    if (!reln_nn_find_form(net, x->rep, &form))
        return NULL;
    switch (form.kind) {
    case NN_FORM_ALGEBRA:
        return reln_form(net->graph, net->algebra, net->form, x, y);
    case NN_FORM_GRAM:
        return contracted(net, form.gram, x, y);
    case NN_FORM_DOT:
        break;
    }
    return reln_pair(net->graph, x, y);
}

/* Applies the identity as a map to the dual rep, which may be a different object because of rounding. */
static RelnNode *lower_dot(const RelnNet *net, RelnNode *x, const RelnRep *dual)
{
    const int k = x->shape.dims[RELN_K];
    double *one;

    if (dual == x->rep)
        return x;
    one = reln_graph_alloc(net->graph, (size_t)k * (size_t)k, sizeof *one);
    for (int i = 0; i < k && one; i++)
        one[i * k + i] = 1.0;
    return one ? reln_linear_map(net->graph, x, one, dual) : NULL;
}

RelnNode *reln_nn_lower(const RelnNet *net, RelnNode *x)
{
    RELN_NEED(reln_nn_ready(net, true, __func__), NULL);

    const RelnRep *dual = x ? reln_dual(net->graph, x->rep) : NULL;
    NnForm form;

    if (!dual || !reln_nn_find_form(net, x->rep, &form))
        return NULL;
    return form.kind == NN_FORM_DOT ? lower_dot(net, x, dual)
                                    : reln_linear_map(net->graph, x, form.gram, dual);
}
