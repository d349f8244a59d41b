/* grad.c -- the reverse sweep: cotangents as nodes of the same graph. */
#include <string.h>

#include "graph/graph.h"

typedef struct Sweep {
    RelnGraph *g;
    bool *depends;   /* by id: whether it depends on one of the xs */
    RelnNode **cot;  /* by id: cotangent so far */
    int first, last; /* range of ids to visit */
} Sweep;

static void accumulate(Sweep *s, const RelnNode *x, RelnNode *cotangent)
{
    RelnNode **slot = &s->cot[x->id];

    if (cotangent)
        *slot = *slot ? reln_add(s->g, *slot, cotangent) : cotangent;
}

static void mark(Sweep *s, int n_x, RelnNode *const *xs)
{
    for (int i = 0; i < n_x; i++)
        s->depends[xs[i]->id] = true;
    for (int id = s->first; id <= s->last; id++) {
        const RelnNode *z = s->g->nodes.items[id];

        for (int i = 0; i < z->n_in && z->needs_grad; i++)
            s->depends[id] = s->depends[id] || s->depends[z->in[i]->id];
    }
}

/* The results of a call are the nodes right after it; from the cotangents of all results the sweep computes
 * those of the arguments. */
static void sweep_call(Sweep *s, const RelnNode *z, RelnNode **gin)
{
    const RelnFn *fn = ((const RelnCallAttr *)z->attr)->fn;

    reln_call_vjp(s->g, z, &s->cot[z->id + 1], fn->n_out, s->depends, gin);
}

static bool sweep_node(Sweep *s, const RelnNode *z)
{
    RelnNode **gin = reln_graph_alloc(s->g, (size_t)z->n_in, sizeof *gin);

    if (!gin)
        return false;
    s->g->scope = z->scope;
    if (z->op == &reln_op_call)
        sweep_call(s, z, gin);
    else if (z->op->vjp)
        z->op->vjp(s->g, z, s->cot[z->id], gin);
    for (int i = 0; i < z->n_in; i++)
        if (gin[i] && s->depends[z->in[i]->id])
            accumulate(s, z->in[i], reln_sum_like(s->g, gin[i], z->in[i]));
    return s->g->status == RELN_OK;
}

/* Checks the type of a cotangent: the dual rep, the same shape and dtype. */
static bool seed(Sweep *s, RelnNode *y, RelnNode *cotangent)
{
    const RelnRep *dual = reln_dual(s->g, y->rep);

    if (!dual)
        return false;
    if (cotangent->rep != dual || cotangent->dtype != y->dtype)
        return reln_graph_fail(
            s->g, RELN_ERR_REP, "vjp: the cotangent of a %s must be its dual, saw %s",
            reln_rep_name(y->rep), cotangent->rep ? reln_rep_name(cotangent->rep) : "indices");
    accumulate(s, y, reln_expand(s->g, cotangent, y));
    return s->g->status == RELN_OK;
}

static RelnNode *zeros_like(RelnGraph *g, const RelnNode *x)
{
    const RelnRep *dual = reln_dual(g, x->rep);
    RelnNode *zero = reln_cast(g, reln_scalar(g, 0.0), x->dtype);

    return dual ? reln_expand_zero(g, zero, x, dual) : NULL;
}

static bool sweep(Sweep *s, int n_y, RelnNode *const *ys, RelnNode *const *cotangents, int n_x,
                  RelnNode *const *xs, RelnNode **out)
{
    mark(s, n_x, xs);
    for (int j = 0; j < n_y; j++)
        if (cotangents[j] && !seed(s, ys[j], cotangents[j]))
            return false;
    for (int id = s->last; id >= s->first; id--) {
        const RelnNode *z = s->g->nodes.items[id];
        const bool has = z->op == &reln_op_call ? z->needs_grad : s->cot[id] != NULL;

        if (has && s->depends[id] && z->n_in > 0 && z->op != &reln_op_result && !sweep_node(s, z))
            return false;
    }
    for (int i = 0; i < n_x; i++)
        out[i] = s->cot[xs[i]->id] ? s->cot[xs[i]->id] : zeros_like(s->g, xs[i]);
    return s->g->status == RELN_OK;
}

/* Returns whether x is a node of numbers of this graph. For NULL the answer is false without a message: the
 * failed builder that returned NULL has recorded one. */
static bool want_number(RelnGraph *g, const RelnNode *x, const char *what, int index)
{
    if (!x)
        return false;
    return (x->graph == g && x->dtype != RELN_I32) ||
           reln_graph_fail(g, RELN_ERR_ARG, "vjp: %s %d is no number of this graph", what, index);
}

bool reln_vjp(RelnGraph *graph, int n_y, RelnNode *const *ys, RelnNode *const *cotangents, int n_x,
              RelnNode *const *xs, RelnNode **out)
{
    RELN_NEED(graph && ((ys && cotangents) || n_y <= 0) && ((xs && out) || n_x <= 0),
              reln_graph_null(graph, __func__));

    Sweep s = {.g = graph, .first = graph->nodes.count, .last = -1};
    const size_t count = (size_t)graph->nodes.count + 1;
    const RelnScope *const scope = graph->scope;
    const bool deriving = graph->deriving;
    bool done;

    for (int i = 0; i < n_x; i++)
        out[i] = NULL;
    for (int j = 0; j < n_y; j++) {
        if (ys[j] && !cotangents[j])
            continue; /* no cotangent for this y: it is ignored, and may hold indices */
        if (!want_number(graph, ys[j], "y", j))
            return false;
        s.last = ys[j]->id > s.last ? ys[j]->id : s.last;
    }
    for (int i = 0; i < n_x; i++) {
        if (!want_number(graph, xs[i], "x", i))
            return false;
        s.first = xs[i]->id < s.first ? xs[i]->id : s.first;
        s.last = xs[i]->id > s.last ? xs[i]->id : s.last;
    }
    if (graph->status != RELN_OK)
        return false;
    s.depends = reln_graph_alloc(graph, count, sizeof *s.depends);
    s.cot = reln_graph_alloc(graph, count, sizeof *s.cot);
    if (!s.depends || !s.cot)
        return false;
    graph->deriving = true;
    done = sweep(&s, n_y, ys, cotangents, n_x, xs, out);
    graph->deriving = deriving;
    graph->scope = scope;
    return done;
}

bool reln_grad(RelnGraph *graph, RelnNode *y, int n, RelnNode *const *xs, RelnNode **out)
{
    RELN_NEED(graph && ((xs && out) || n <= 0), reln_graph_null(graph, __func__));

    RelnNode *one;

    for (int i = 0; i < n; i++)
        out[i] = NULL;
    if (!y)
        return false;
    if (reln_shape_count(&y->shape) != 1 || !reln_is_invariant(y))
        return reln_graph_fail(graph, RELN_ERR_ARG,
                               "grad: wanted one invariant number for each item, saw %s as %s",
                               reln_shape_text(y), y->rep ? reln_rep_name(y->rep) : "indices");
    one = reln_expand(graph, reln_cast(graph, reln_scalar(graph, 1.0), y->dtype), y);
    return one && reln_vjp(graph, 1, &y, &one, n, xs, out);
}
