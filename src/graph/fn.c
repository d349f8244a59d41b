/* fn.c -- functions: subgraphs that are planned once and called many times, and their derivatives. */
#include <string.h>

#include "graph/graph.h"

static RelnFn *fn_new(RelnGraph *home, RelnGraph *parent, const char *name)
{
    RelnFn *fn = reln_arena_alloc(&home->arena, 1, sizeof *fn);
    RelnGraph *body = fn ? reln_graph_new(home->ctx, home->group, NULL, home->dtype) : NULL;

    if (!body) {
        reln_graph_nomem(parent);
        return NULL;
    }
    fn->home = home;
    fn->body = body;
    body->fn = fn;
    body->parent = parent;
    body->scope = parent->scope;
    if (!RELN_GRAPH_ADD(home, &home->fns, fn)) {
        reln_graph_destroy(body);
        return NULL;
    }
    body->name = reln_arena_printf(&body->arena, "%s", name);
    if (!body->name) {
        body->name = "?";
        reln_graph_nomem(body);
    }
    return fn;
}

RelnGraph *reln_fn_begin(RelnGraph *graph, const char *name)
{
    RelnFn *fn =
        graph && graph->status == RELN_OK ? fn_new(reln_graph_home(graph), graph, name) : NULL;

    return fn ? fn->body : NULL;
}

static bool fn_close(RelnFn *fn, int n_out, RelnNode *const *outs)
{
    RelnGraph *body = fn->body;

    for (int i = 0; i < n_out; i++)
        if (!outs[i])
            return false;
    fn->n_in = body->arguments.count;
    fn->n_out = n_out;
    fn->in = body->arguments.items;
    fn->captured = body->captured.items;
    /* samples that do not come from an argument are those of the batch */
    fn->placed = true;
    for (int i = 0; i < fn->n_in; i++)
        fn->placed = fn->placed && fn->in[i]->domain == RELN_STEP;
    for (int id = 0; id < body->nodes.count; id++)
        fn->placed = fn->placed || body->nodes.items[id]->domain > RELN_SAMPLES;
    fn->out = reln_arena_copy(&body->arena, outs, (size_t)n_out, sizeof *outs);
    return fn->out || reln_graph_nomem(body);
}

/* Returns whether z is a sum over the batch, or a sum of such sums. A call adds its part of the batch to the
 * total, so nothing inside the function can read the total. */
static bool is_total(const RelnNode *z, const bool *total)
{
    if (z->domain != RELN_STEP)
        return false;
    if (z->op->flags & RELN_OP_REDUCE)
        return z->in[0]->domain != RELN_STEP;
    return z->op->flags & RELN_OP_SUM && total[z->in[0]->id] && total[z->in[1]->id] &&
           memcmp(&z->in[0]->shape, &z->in[1]->shape, sizeof z->shape) == 0;
}

static bool check_totals(RelnGraph *body, int n_out, RelnNode *const *outs)
{
    bool *total = reln_graph_alloc(body, (size_t)body->nodes.count, sizeof *total);

    if (!total)
        return false;
    for (int id = 0; id < body->nodes.count; id++) {
        const RelnNode *z = body->nodes.items[id];

        total[id] = is_total(z, total);
        for (int i = 0; i < z->n_in && !total[id]; i++)
            if (total[z->in[i]->id])
                return reln_graph_fail(body, RELN_ERR_UNSUPPORTED,
                                       "%s reads a sum over the batch, which is not known inside a "
                                       "function: make it a "
                                       "result, and read it outside",
                                       z->op->name);
    }
    for (int i = 0; i < n_out; i++)
        if (outs[i] && outs[i]->domain == RELN_STEP && !total[outs[i]->id])
            return reln_graph_fail(body, RELN_ERR_ARG,
                                   "result %d does not depend on samples: compute it outside", i);
    return true;
}

RelnFn *reln_fn_end(RelnGraph *body, int n_out, RelnNode *const *outs)
{
    if (!body || body->status != RELN_OK || !body->fn)
        return NULL;
    if (body->ended) {
        reln_graph_fail(body, RELN_ERR_ARG, "the function has ended already, with %d results",
                        body->fn->n_out);
        return NULL;
    }
    if (n_out < 1 || n_out > RELN_INPUTS_MAX || body->arguments.count > RELN_INPUTS_MAX ||
        body->arguments.count < 1) {
        reln_graph_fail(body, RELN_ERR_ARG, "%d arguments and %d results, wanted 1 to %d of each",
                        body->arguments.count, n_out, RELN_INPUTS_MAX);
        return NULL;
    }
    for (int i = 0; i < n_out; i++)
        if (outs[i] && outs[i]->graph != body)
            reln_graph_fail(body, RELN_ERR_ARG, "result %d belongs to another graph", i);
    body->ended = body->status == RELN_OK && check_totals(body, n_out, outs) &&
                  fn_close(body->fn, n_out, outs);
    return body->ended ? body->fn : NULL;
}

/* ---- calls ---------------------------------------------------------------------------------------------------- */

static bool infer_call(RelnGraph *g, RelnNode *z)
{
    const RelnFn *fn = ((const RelnCallAttr *)z->attr)->fn;

    for (int i = 0; i < z->n_in; i++) {
        const RelnNode *x = z->in[i], *a = fn->in[i];

        if (memcmp(&x->shape, &a->shape, sizeof x->shape) != 0 || x->dtype != a->dtype ||
            x->rep != a->rep)
            return reln_graph_fail(
                g, RELN_ERR_SHAPE, "call of %s: argument %d is %s as %s, wanted %s as %s",
                fn->body->name, i, reln_shape_text(x), x->rep ? reln_rep_name(x->rep) : "indices",
                reln_shape_text(a), a->rep ? reln_rep_name(a->rep) : "indices");
        if (a->domain == RELN_STEP && x->domain != RELN_STEP)
            return reln_graph_fail(g, RELN_ERR_SHAPE,
                                   "call of %s: argument %d must not depend on samples",
                                   fn->body->name, i);
        if (fn->placed ? x->domain != a->domain : a->domain != RELN_STEP && x->domain != z->domain)
            return reln_graph_fail(g, RELN_ERR_SHAPE,
                                   "call of %s: argument %d is of %s, wanted one of %s",
                                   fn->body->name, i, reln_domain_name(g, x->domain),
                                   reln_domain_name(g, fn->placed ? a->domain : z->domain));
        if (x->dtype == RELN_I32 && x->target != a->target)
            return reln_graph_fail(
                g, RELN_ERR_ARG, "call of %s: argument %d numbers items of %s, wanted %s",
                fn->body->name, i, reln_domain_name(g, x->target), reln_domain_name(g, a->target));
    }
    z->domain = fn->placed ? RELN_SAMPLES : z->domain;
    memset(&z->shape, 0, sizeof z->shape);
    for (int a = 0; a < RELN_AXES; a++)
        z->shape.dims[a] = 1;
    z->dtype = fn->out[0]->dtype;
    z->rep = reln_rep_trivial(g->group, 1);
    return z->rep || reln_graph_nomem(g);
}

static bool infer_result(RelnGraph *g, RelnNode *z)
{
    const RelnFn *fn = ((const RelnCallAttr *)z->in[0]->attr)->fn;
    const RelnNode *out = fn->out[((const RelnResultAttr *)z->attr)->index];

    (void)g;
    z->shape = out->shape;
    z->dtype = out->dtype;
    z->rep = out->rep;
    z->domain = fn->placed || out->domain == RELN_STEP ? out->domain : z->in[0]->domain;
    z->target = out->target;
    z->needs_grad = z->in[0]->needs_grad && out->needs_grad;
    return true;
}

const RelnOp reln_op_call = {.name = "call",
                             .n_in = -1,
                             .flags = RELN_OP_FRESH | RELN_OP_DOMAINS | RELN_OP_DTYPES,
                             .infer = infer_call};
const RelnOp reln_op_result = {
    .name = "result", .n_in = 1, .flags = RELN_OP_FRESH, .infer = infer_result};

/* Collects the arguments of a call: the given ones, with the captured ones between them. Returns false
 * without a message when one is NULL. */
static bool all_arguments(RelnGraph *g, const RelnFn *fn, RelnNode *const *in, RelnNode **out)
{
    for (int i = 0; i < fn->n_in; i++) {
        out[i] = fn->captured[i] ? fn->captured[i] : *in++;
        if (!out[i])
            return false;
    }
    /* in a function that works on items, step-level values are passed unchanged to every item */
    if (!fn->placed) {
        RelnDomain domain = RELN_STEP;

        for (int i = 0; i < fn->n_in; i++)
            domain = out[i]->domain != RELN_STEP ? out[i]->domain : domain;
        for (int i = 0; i < fn->n_in; i++)
            if (fn->in[i]->domain != RELN_STEP)
                out[i] = reln_expand_domain(g, out[i], domain);
        return true;
    }
    for (int i = 0; i < fn->n_in; i++)
        if (out[i]->domain == RELN_STEP && fn->in[i]->domain != RELN_STEP)
            out[i] = reln_expand_domain(g, out[i], fn->in[i]->domain);
    return true;
}

/* Makes a call with all its arguments. */
static bool call_all(RelnGraph *graph, RelnFn *fn, RelnNode *const *args, RelnNode **out)
{
    RelnCallAttr attr = {fn};
    RelnNode *call = reln_node(graph, &reln_op_call, fn->n_in, args, &attr, sizeof attr, NULL);

    for (int i = 0; i < fn->n_out; i++) {
        RelnResultAttr index = {i};

        out[i] = reln_node(graph, &reln_op_result, 1, &call, &index, sizeof index, NULL);
        if (!out[i])
            return false;
    }
    return true;
}

bool reln_call(RelnGraph *graph, RelnFn *fn, int n_in, RelnNode *const *in, RelnNode **out)
{
    RelnNode **args;
    int declared = 0;

    RELN_NEED(graph && (in || n_in <= 0) && out, reln_graph_null(graph, __func__));
    if (!fn || graph->status != RELN_OK)
        return false;
    if (fn->home != reln_graph_home(graph))
        return reln_graph_fail(graph, RELN_ERR_ARG,
                               "call of %s: the function belongs to another graph", fn->body->name);
    for (int i = 0; i < fn->n_in; i++)
        declared += fn->captured[i] == NULL;
    if (n_in != declared)
        return reln_graph_fail(graph, RELN_ERR_ARG, "call of %s: %d arguments, wanted %d",
                               fn->body->name, n_in, declared);
    args = reln_graph_alloc(graph, (size_t)fn->n_in, sizeof *args);
    return args && all_arguments(graph, fn, in, args) && call_all(graph, fn, args, out);
}

/* ---- the derivative of a function ----------------------------------------------------------------------------- */

/* Copies the nodes of one body to another body, with the old arguments mapped to the new ones. */
static bool copy_body(const RelnFn *fn, RelnGraph *to, RelnNode **map)
{
    for (int id = 0; id < fn->body->nodes.count; id++) {
        const RelnNode *x = fn->body->nodes.items[id];
        RelnNode **in = reln_graph_alloc(to, (size_t)x->n_in, sizeof *in);

        if (!in)
            return false;
        for (int i = 0; i < x->n_in; i++)
            in[i] = map[x->in[i]->id];
        to->scope = x->scope;
        if (x->op == &reln_op_argument) {
            map[id] = reln_argument(to, x->domain, reln_node_dims(x), x->rep, x->dtype);
            if (map[id]) {
                map[id]->target = x->target;
                map[id]->needs_grad = x->needs_grad;
            }
        } else
            map[id] = reln_node(to, x->op, x->n_in, in, x->attr, x->attr_size, x->rep);
        if (!map[id])
            return false;
    }
    return true;
}

static bool derive_body(const RelnFn *fn, const RelnFnVjp *vjp)
{
    RelnGraph *body = vjp->fn->body;
    RelnNode **map = reln_graph_alloc(body, (size_t)fn->body->nodes.count, sizeof *map);
    RelnNode **ys = reln_graph_alloc(body, (size_t)fn->n_out, sizeof *ys);
    RelnNode **cots = reln_graph_alloc(body, (size_t)fn->n_out, sizeof *cots);
    RelnNode **xs = reln_graph_alloc(body, (size_t)fn->n_in, sizeof *xs);
    RelnNode **outs = reln_graph_alloc(body, (size_t)fn->n_in, sizeof *outs);
    int n_x = 0;

    if (!map || !ys || !cots || !xs || !outs || !copy_body(fn, body, map))
        return false;
    for (int i = 0; i < fn->n_out; i++) {
        const RelnNode *y = fn->out[i];

        ys[i] = map[y->id];
        if (vjp->given[i])
            cots[i] = reln_argument(body, y->domain, reln_node_dims(y), reln_dual(body, y->rep),
                                    y->dtype);
    }
    for (int i = 0; i < fn->n_in; i++)
        if (vjp->wanted[i])
            xs[n_x++] = map[fn->in[i]->id];
    return reln_vjp(body, fn->n_out, ys, cots, n_x, xs, outs) && fn_close(vjp->fn, n_x, outs);
}

static RelnFn *derivative(RelnGraph *g, RelnFn *fn, const bool *wanted, const bool *given)
{
    RelnArena *arena = &fn->home->arena;
    const size_t n_in = (size_t)fn->n_in * sizeof *wanted,
                 n_out = (size_t)fn->n_out * sizeof *given;
    RelnFnVjp vjp;

    for (int i = 0; i < fn->vjps.count; i++)
        if (memcmp(fn->vjps.items[i].wanted, wanted, n_in) == 0 &&
            memcmp(fn->vjps.items[i].given, given, n_out) == 0)
            return fn->vjps.items[i].fn;
    vjp.wanted = reln_arena_copy(arena, wanted, n_in, 1);
    vjp.given = vjp.wanted ? reln_arena_copy(arena, given, n_out, 1) : NULL;
    if (!vjp.given) {
        reln_graph_nomem(g);
        return NULL;
    }
    vjp.fn = fn_new(fn->home, fn->home, fn->body->name);
    if (!vjp.fn || !derive_body(fn, &vjp) || !RELN_GRAPH_ADD(fn->home, &fn->vjps, vjp))
        return NULL;
    return vjp.fn;
}

/* Collect the arguments whose cotangents are wanted, the results whose cotangents are given, and the arguments of the
 * derivative's call; false when the call has no derivative. */
static bool plan_vjp(const RelnNode *z, RelnNode *const *cot, int n_cot, const bool *depends,
                     bool *wanted, bool *given, RelnNode **args)
{
    bool any_wanted = false, any_given = false;
    int n = 0;

    for (int i = 0; i < z->n_in; i++) {
        args[n++] = z->in[i];
        wanted[i] = depends[z->in[i]->id] && z->in[i]->needs_grad;
        any_wanted = any_wanted || wanted[i];
    }
    for (int i = 0; i < n_cot; i++) {
        given[i] = cot[i] != NULL;
        any_given = any_given || given[i];
        if (cot[i])
            args[n++] = cot[i];
    }
    return any_wanted && any_given;
}

void reln_call_vjp(RelnGraph *g, const RelnNode *z, RelnNode *const *cot, int n_cot,
                   const bool *depends, RelnNode **gin)
{
    RelnFn *fn = ((const RelnCallAttr *)z->attr)->fn;
    const size_t most = (size_t)z->n_in + (size_t)n_cot;
    RelnNode **args = reln_graph_alloc(g, most, sizeof *args);
    RelnNode **outs = reln_graph_alloc(g, most, sizeof *outs);
    bool *wanted = reln_graph_alloc(g, most, sizeof *wanted);
    bool *given = reln_graph_alloc(g, most, sizeof *given);
    int next = 0;

    if (!args || !outs || !wanted || !given ||
        !plan_vjp(z, cot, n_cot, depends, wanted, given, args))
        return;
    if (most > RELN_INPUTS_MAX) {
        reln_graph_fail(g, RELN_ERR_UNSUPPORTED,
                        "call of %s: %zu arguments in its derivative, wanted at most %d",
                        fn->body->name, most, RELN_INPUTS_MAX);
        return;
    }
    fn = derivative(g, fn, wanted, given);
    if (!fn || !call_all(g, fn, args, outs))
        return;
    for (int i = 0; i < z->n_in; i++)
        if (wanted[i])
            gin[i] = outs[next++];
}
