/* certify.c -- proves that a graph is equivariant, node by node: reps, constants, and the typing rule of
 * every op. */
#include "graph/certify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/graph.h"
#include "rep/exact.h"
#include "rep/settle.h"

/* ---- claims ----------------------------------------------------------------------------------------------- */

RelnClaim *reln_claim(RelnClaims *claims, const char *kind, const char *name, const char *rule,
                      const RelnRep *rep)
{
    RelnClaim *c;

    if (!reln_list_grow(claims->arena, (void **)&claims->items, claims->count, &claims->capacity,
                        sizeof *claims->items))
        return NULL;
    c = &claims->items[claims->count++];
    memset(c, 0, sizeof *c);
    c->kind = kind;
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->rule, sizeof c->rule, "%s", rule);
    snprintf(c->rep, sizeof c->rep, "%s", rep ? reln_rep_name(rep) : "");
    return c;
}

static bool known(const RelnClaims *claims, const RelnRep *rep)
{
    for (int i = 0; i < claims->count; i++)
        if (claims->items[i].of == rep)
            return true;
    return false;
}

RelnStatus reln_claim_rep(RelnClaims *claims, const RelnRep *rep)
{
    RelnClaim *c;
    RelnProof proof;

    if (known(claims, rep))
        return RELN_OK;
    RELN_TRY(reln_exact_homomorphism(rep, &proof));
    c = reln_claim(claims, "rep", reln_rep_name(rep), "homomorphism", NULL);
    if (!c)
        return RELN_ERR_NOMEM;
    c->of = rep;
    c->state = proof.holds                            ? RELN_CLAIM_PROVED
               : proof.rational && rep->group->dyadic ? RELN_CLAIM_FALSE
                                                      : RELN_CLAIM_FLOATS;
    snprintf(c->text, sizeof c->text, "%s", proof.text);
    return RELN_OK;
}

static bool rational(const RelnRep *u, const RelnRep *v, const RelnRep *w)
{
    return u->exact && w->exact && (!v || v->exact);
}

/* Fills the claim of a map from its settled form. */
static RelnStatus judge(RelnClaim *c, const RelnRep *u, const RelnRep *v, const RelnRep *w,
                        const RelnSettled *settled, const RelnEntry *entries, int units)
{
    bool holds = false;

    if (!settled->numerators) {
        c->state = rational(u, v, w) ? RELN_CLAIM_INEXACT : RELN_CLAIM_FLOATS;
        c->residual = settled->residual;
        snprintf(c->text, sizeof c->text, "%s",
                 rational(u, v, w) ? "no exact map near it is known" : "a basis of floats");
        return RELN_OK;
    }
    RELN_TRY(reln_settled_holds(u, v, w, settled, entries, units, &holds));
    if (!holds) {
        c->state = RELN_CLAIM_FALSE;
        snprintf(c->text, sizeof c->text,
                 "its fractions do not commute with the generators, or its doubles are not their "
                 "rounding");
    }
    return RELN_OK;
}

RelnStatus reln_claim_map(RelnClaims *claims, const char *kind, const char *name, const char *rule,
                          const RelnRep *u, const RelnRep *v, const RelnRep *w, int count,
                          const RelnEntry *entries)
{
    RelnClaim *c = reln_claim(claims, kind, name, rule, w);
    RelnSettled settled;
    RelnVerdict verdict;

    if (!c)
        return RELN_ERR_NOMEM;
    RELN_TRY(reln_settle(claims->arena, u, v, w, count, entries, &settled, &verdict));
    if (!verdict.equivariant) {
        c->state = RELN_CLAIM_FALSE;
        c->residual = verdict.residual;
        snprintf(c->text, sizeof c->text, "%s", verdict.text);
        return RELN_OK;
    }
    if (settled.count != count) { /* exact zeros are rounding errors here */
        c->state = RELN_CLAIM_INEXACT;
        c->residual = settled.residual;
        return RELN_OK;
    }
    return judge(c, u, v, w, &settled, entries, 4);
}

/* ---- constants of the graph ------------------------------------------------------------------------------- */

static const RelnChecked *find_checked(const RelnGraph *g, const RelnTensor3 *t, const RelnRep *u,
                                       const RelnRep *v, const RelnRep *w)
{
    for (int i = 0; i < g->checked.count; i++) {
        const RelnChecked *c = &g->checked.items[i];
        if (c->t == t && c->u == u && c->v == v && c->w == w && c->settled)
            return c;
    }
    return NULL;
}

static RelnStatus claim_tensor(RelnClaims *claims, RelnGraph *g, const RelnNode *z)
{
    const RelnTensor3 *t = z->op->constant(z);
    const RelnRep *u = z->in[0]->rep, *one = reln_rep_trivial(g->group, 1);
    const RelnRep *v = z->n_in > 1 ? z->in[1]->rep : one, *w = z->rep;
    const RelnChecked *checked = find_checked(reln_graph_home(g), t, u, v, w);
    const bool linear = t->j == 1 && v == one;
    char name[64];
    RelnClaim *c;

    snprintf(name, sizeof name, "%s %d: %dx%dx%d, %d entries", z->op->name, z->id, t->i, t->j, t->k,
             t->count);
    if (!checked)
        return reln_claim_map(claims, "constant", name, "intertwiner", u, linear ? NULL : v, w,
                              t->count, t->entries);
    c = reln_claim(claims, "constant", name, "intertwiner", w);
    return c ? judge(c, u, linear ? NULL : v, w, checked->settled, t->entries, 0) : RELN_ERR_NOMEM;
}

/* Claims that the channels of a constant of a rep are equivariant maps from an invariant. */
static RelnStatus claim_const(RelnClaims *claims, RelnGraph *g, const RelnNode *z)
{
    const double *values = ((const RelnConstAttr *)z->attr)->values;
    const int k = z->shape.dims[RELN_K], c = z->shape.dims[RELN_C];
    const ptrdiff_t columns = reln_shape_count(&z->shape) / k;
    RelnEntry *entries = reln_arena_alloc(claims->arena, (size_t)k, sizeof *entries);
    const RelnRep *one = reln_rep_trivial(g->group, 1);

    if (!entries || !one)
        return RELN_ERR_NOMEM;
    for (ptrdiff_t i = 0; i < columns; i++) {
        const double *v = values + i / c * k * c + i % c;
        char name[64];
        int count = 0;
        for (int a = 0; a < k; a++)
            if (v[a * c] != 0)
                entries[count++] = (RelnEntry){0, 0, a, v[a * c]};
        snprintf(name, sizeof name, "const %d, channel %td", z->id, i);
        RELN_TRY(reln_claim_map(claims, "constant", name, "fixed by the group", one, NULL, z->rep,
                                count, entries));
    }
    return RELN_OK;
}

/* ---- rules ------------------------------------------------------------------------------------------------ */

static const char *rule_text(const RelnNode *z)
{
    static const char *const texts[] = {
        [RELN_RULE_NONE] = "declared",
        [RELN_RULE_LINEAR] = "linear, the same for every coordinate",
        [RELN_RULE_FACTOR] = "a rep times invariants",
        [RELN_RULE_INVARIANTS] = "function of invariants",
        [RELN_RULE_PAIRING] = "pairing of dual reps, or sums weighed by invariants",
        [RELN_RULE_CONSTANT] = "constant intertwiner",
        [RELN_RULE_CONJUGATION] = "matrix function of a conjugation",
    };

    if (z->op == &reln_op_call || z->op == &reln_op_result)
        return "call of a function";
    return texts[z->op->rule];
}

static bool trivial(const RelnNode *x)
{
    return x->dtype == RELN_I32 ||
           (reln_is_invariant(x) && (!x->rep->exact || reln_exact_trivial(x->rep)));
}

static bool all_trivial(const RelnNode *z)
{
    for (int i = 0; i < z->n_in; i++)
        if (!trivial(z->in[i]))
            return false;
    return trivial(z);
}

/* A constant of zeros fits any rep. */
static bool is_zero(const RelnNode *x)
{
    const double *values =
        x->op == &reln_op_const ? ((const RelnConstAttr *)x->attr)->values : NULL;

    for (ptrdiff_t e = 0; values && e < reln_shape_count(&x->shape); e++)
        if (values[e] != 0)
            return false;
    return values != NULL;
}

/* Every input has the rep of z, or is trivial if `others` allows it; at least one input has the rep of z. */
static bool carried(const RelnNode *z, bool others)
{
    bool some = false;

    for (int i = 0; i < z->n_in; i++) {
        const RelnNode *x = z->in[i];
        if (x->dtype != RELN_I32 && (x->rep == z->rep || is_zero(x)))
            some = true;
        else if (x->dtype != RELN_I32 && !(others && trivial(x)))
            return false;
    }
    return some;
}

/* Returns whether z is a concatenation along K: its rep is the sum of the reps of its inputs. */
static bool is_sum(const RelnNode *z)
{
    const RelnRep *sum = z->n_in > 0 ? z->in[0]->rep : NULL;

    for (int i = 1; i < z->n_in && sum; i++)
        sum = z->in[i]->rep ? reln_rep_sum(sum, z->in[i]->rep) : NULL;
    return sum && z->rep == sum;
}

static bool is_conjugated(const RelnNode *z)
{
    const RelnRep *matrix = reln_rep_matrix(z->graph->group), *dual = reln_rep_dual(matrix);

    for (int i = 0; i < z->n_in; i++)
        if (z->in[i]->rep != matrix && z->in[i]->rep != dual)
            return false;
    return matrix && (z->rep == matrix || z->rep == dual);
}

static bool call_fits(const RelnNode *z)
{
    const RelnFn *fn;

    if (z->op == &reln_op_result) {
        fn = ((const RelnCallAttr *)z->in[0]->attr)->fn;
        return z->rep == fn->out[((const RelnResultAttr *)z->attr)->index]->rep;
    }
    fn = ((const RelnCallAttr *)z->attr)->fn;
    for (int i = 0; i < z->n_in; i++)
        if (z->in[i]->rep != fn->in[i]->rep)
            return false;
    return true;
}

static bool rule_holds(const RelnNode *z)
{
    if (z->op == &reln_op_call || z->op == &reln_op_result)
        return call_fits(z);
    if (z->op == &reln_op_param || z->op == &reln_op_state)
        return trivial(z);
    if (z->op->flags & RELN_OP_SOURCE)
        return true;
    switch (z->op->rule) {
    case RELN_RULE_LINEAR:
        return all_trivial(z) || carried(z, false) || is_sum(z);
    case RELN_RULE_FACTOR:
        return all_trivial(z) || carried(z, true);
    case RELN_RULE_INVARIANTS:
        return all_trivial(z);
    case RELN_RULE_PAIRING:
        return (z->in[1]->rep == reln_rep_dual(z->in[0]->rep) && trivial(z)) || carried(z, true);
    case RELN_RULE_CONSTANT:
        return z->op->constant != NULL;
    case RELN_RULE_CONJUGATION:
        return is_conjugated(z);
    case RELN_RULE_NONE:
        break;
    }
    return false;
}

static RelnStatus claim_node(RelnClaims *claims, RelnGraph *g, const RelnNode *z)
{
    char name[64];
    RelnClaim *c;

    snprintf(name, sizeof name, "%d %s", z->id, z->op->name);
    c = reln_claim(claims, "node", name, rule_text(z), z->rep);
    if (!c)
        return RELN_ERR_NOMEM;
    if (!rule_holds(z)) {
        c->state = RELN_CLAIM_FALSE;
        snprintf(c->text, sizeof c->text, "the reps of its inputs do not fit its rule");
    }
    if (z->rep)
        RELN_TRY(reln_claim_rep(claims, z->rep));
    if (z->op->constant)
        return claim_tensor(claims, g, z);
    return z->op == &reln_op_const && !trivial(z) ? claim_const(claims, g, z) : RELN_OK;
}

static RelnStatus claim_nodes(RelnClaims *claims, RelnGraph *g)
{
    for (int i = 0; i < g->nodes.count; i++)
        RELN_TRY(claim_node(claims, g, g->nodes.items[i]));
    return RELN_OK;
}

RelnStatus reln_claim_graph(RelnClaims *claims, RelnGraph *graph)
{
    RELN_TRY(claim_nodes(claims, graph));
    for (int i = 0; i < graph->fns.count; i++)
        RELN_TRY(claim_nodes(claims, graph->fns.items[i]->body));
    return RELN_OK;
}
