/* fn.c -- functions: subgraphs that are planned once and called often, and their derivatives. */
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
    fn->out = reln_arena_copy(&body->arena, outs, (size_t)n_out, sizeof *outs);
    return fn->out || reln_graph_nomem(body);
}

/* Readers come after what they read: one pass backwards finds what the results need. */
static bool check_reductions(RelnGraph *body, int n_out, RelnNode *const *outs)
{
    bool *needed = reln_graph_alloc(body, (size_t)body->nodes.count, sizeof *needed);

    if (!needed)
        return false;
    for (int i = 0; i < n_out; i++)
        if (outs[i])
            needed[outs[i]->id] = true;
    for (int id = body->nodes.count - 1; id >= 0; id--) {
        const RelnNode *z = body->nodes.items[id];

        for (int i = 0; i < z->n_in && needed[id]; i++)
            needed[z->in[i]->id] = true;
        if (needed[id] && z->op->flags & RELN_OP_REDUCE && z->domain == RELN_STEP &&
            z->in[0]->domain != RELN_STEP)
            return reln_graph_fail(body, RELN_ERR_UNSUPPORTED,
                                   "%s sums over the batch, which a function cannot: do it outside",
                                   z->op->name);
    }
    return true;
}

RelnFn *reln_fn_end(RelnGraph *body, int n_out, RelnNode *const *outs)
{
    if (!body || body->status != RELN_OK || !body->fn)
        return NULL;
    if (n_out < 1 || n_out > 64 || body->arguments.count > 64) {
        reln_graph_fail(body, RELN_ERR_ARG, "%d arguments and %d results, wanted 1 to 64 of each",
                        body->arguments.count, n_out);
        return NULL;
    }
    for (int i = 0; i < n_out; i++) {
        if (outs[i] && outs[i]->graph != body)
            reln_graph_fail(body, RELN_ERR_ARG, "result %d belongs to another graph", i);
        else if (outs[i] && outs[i]->domain == RELN_STEP)
            reln_graph_fail(body, RELN_ERR_ARG,
                            "result %d does not depend on samples: compute it outside", i);
    }
    return body->status == RELN_OK && check_reductions(body, n_out, outs) &&
                   fn_close(body->fn, n_out, outs)
               ? body->fn
               : NULL;
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
    }
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
    z->domain = out->domain == RELN_STEP ? RELN_STEP : z->in[0]->domain;
    z->needs_grad = z->in[0]->needs_grad && out->needs_grad;
    return true;
}

const RelnOp reln_op_call = {
    .name = "call", .n_in = -1, .flags = RELN_OP_FRESH, .infer = infer_call};
const RelnOp reln_op_result = {
    .name = "result", .n_in = 1, .flags = RELN_OP_FRESH, .infer = infer_result};

bool reln_call(RelnGraph *graph, RelnFn *fn, int n_in, RelnNode *const *in, RelnNode **out)
{
    RelnCallAttr attr = {fn};
    RelnNode *call, *args[64] = {0};
    RelnDomain domain = RELN_STEP;

    RELN_NEED(graph && (in || n_in <= 0) && out, reln_graph_null(graph, __func__));
    if (!fn || graph->status != RELN_OK)
        return false;
    if (fn->home != reln_graph_home(graph))
        return reln_graph_fail(graph, RELN_ERR_ARG,
                               "call of %s: the function belongs to another graph", fn->body->name);
    if (n_in != fn->n_in)
        return reln_graph_fail(graph, RELN_ERR_ARG, "call of %s: %d arguments, wanted %d",
                               fn->body->name, n_in, fn->n_in);
    for (int i = 0; i < n_in; i++) {
        if (!in[i])
            return false;
        domain = in[i]->domain != RELN_STEP ? in[i]->domain : domain;
    }
    for (int i = 0; i < n_in; i++)
        args[i] = fn->in[i]->domain != RELN_STEP ? reln_expand_domain(graph, in[i], domain) : in[i];
    call = reln_node(graph, &reln_op_call, n_in, args, &attr, sizeof attr, NULL);
    for (int i = 0; i < fn->n_out; i++) {
        RelnResultAttr index = {i};

        out[i] = reln_node(graph, &reln_op_result, 1, &call, &index, sizeof index, NULL);
        if (!out[i])
            return false;
    }
    return true;
}

/* ---- the derivative of a function ----------------------------------------------------------------------------- */

/* Nodes of one body made again in another, arguments mapped to arguments. */
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
        if (x->op == &reln_op_argument)
            map[id] = reln_argument(to, x->domain, reln_node_dims(x), x->rep, x->dtype);
        else
            map[id] = reln_node(to, x->op, x->n_in, in, x->attr, x->attr_size, x->rep);
        if (!map[id])
            return false;
    }
    return true;
}

static bool derive_body(const RelnFn *fn, uint64_t wanted, uint64_t given, RelnFn *out)
{
    RelnGraph *body = out->body;
    RelnNode **map = reln_graph_alloc(body, (size_t)fn->body->nodes.count, sizeof *map);
    RelnNode *ys[64] = {0}, *cots[64] = {0}, *xs[64] = {0}, *outs[64] = {0};
    int n_x = 0;

    if (!map || !copy_body(fn, body, map))
        return false;
    for (int i = 0; i < fn->n_out; i++) {
        const RelnNode *y = fn->out[i];

        ys[i] = map[y->id];
        if (given >> i & 1)
            cots[i] = reln_argument(body, y->domain, reln_node_dims(y), reln_dual(body, y->rep),
                                    y->dtype);
    }
    for (int i = 0; i < fn->n_in; i++)
        if (wanted >> i & 1)
            xs[n_x++] = map[fn->in[i]->id];
    return reln_vjp(body, fn->n_out, ys, cots, n_x, xs, outs) && fn_close(out, n_x, outs);
}

static RelnFn *derivative(RelnFn *fn, uint64_t wanted, uint64_t given)
{
    RelnFnVjp vjp = {wanted, given, NULL};

    for (int i = 0; i < fn->vjps.count; i++)
        if (fn->vjps.items[i].wanted == wanted && fn->vjps.items[i].given == given)
            return fn->vjps.items[i].fn;
    vjp.fn = fn_new(fn->home, fn->home, fn->body->name);
    if (!vjp.fn || !derive_body(fn, wanted, given, vjp.fn) ||
        !RELN_GRAPH_ADD(fn->home, &fn->vjps, vjp))
        return NULL;
    return vjp.fn;
}

void reln_call_vjp(RelnGraph *g, const RelnNode *z, RelnNode *const *cot, int n_cot,
                   const bool *depends, RelnNode **gin)
{
    RelnFn *fn = ((const RelnCallAttr *)z->attr)->fn;
    RelnNode *args[128] = {0}, *outs[64] = {0};
    uint64_t wanted = 0, given = 0;
    int n = 0, next = 0;

    for (int i = 0; i < n_cot; i++)
        given |= (uint64_t)(cot[i] != NULL) << i;
    for (int i = 0; i < z->n_in; i++) {
        args[n++] = z->in[i];
        wanted |= (uint64_t)(depends[z->in[i]->id] && z->in[i]->needs_grad) << i;
    }
    if (!given || !wanted)
        return;
    for (int i = 0; i < n_cot; i++)
        if (cot[i])
            args[n++] = cot[i];
    fn = derivative(fn, wanted, given);
    if (!fn || n > 64) {
        reln_graph_fail(g, RELN_ERR_UNSUPPORTED, "call: more than 64 arguments in a derivative");
        return;
    }
    if (!reln_call(g, fn, n, args, outs))
        return;
    for (int i = 0; i < z->n_in; i++)
        if (wanted >> i & 1)
            gin[i] = outs[next++];
}
